"""The learning rate by default: how far each tree goes."""

from __future__ import annotations

from . import random_trees

# On data that is plenty 100 trees of .1 stop on their way and rank better with .2; the 100 to 800 that validation stops
# after do not (notebooks/11_signal.ipynb). So the rate times the trees is to be 20, within these bounds
_LEAST, _MOST, _WAY = 0.1, 0.2, 20.0


def chosen(n_docs: int, n_relevant: int, random: bool, n_estimators: int) -> float:
    """The rate for so many trees on training data of so many documents, so many of them relevant."""
    if random or random_trees.helps(n_docs, n_relevant):
        return _LEAST
    return min(_MOST, max(_LEAST, _WAY / n_estimators))
