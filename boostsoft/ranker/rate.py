"""The learning rate by default: how far each tree goes."""

from __future__ import annotations

import math

from . import random_trees

# On plenty of data 100 trees of .1 stop on their way: 200,000 documents rank better with .2, 50,000 to 120,000 with
# .14, by .004 to .011 where labels are noisy. The 100 to 800 trees that validation stops after want .1
# (notebooks/11_signal.ipynb). So the rate is to be this much for so many trees, and less for more of them
_LEAST, _MORE, _MOST, _TREES = 0.1, 0.1 * math.sqrt(2.0), 0.2, 100
_PLENTY = 200_000  # documents from which on it is highest; half of them have the half of its square


def chosen(n_docs: int, n_relevant: int, random: bool, n_estimators: int) -> float:
    """The rate for so many trees on training data of so many documents, so many of them relevant."""
    if random or random_trees.helps(n_docs, n_relevant):
        return _LEAST
    most = min(_MOST, max(_MORE, _MOST * math.sqrt(n_docs / _PLENTY)))
    return min(most, max(_LEAST, most * _TREES / n_estimators))
