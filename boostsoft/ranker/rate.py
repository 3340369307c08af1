"""The learning rate by default: how far each tree goes."""

from __future__ import annotations

import math

from . import random_trees

# On plenty of data 100 trees of .1 stop on their way: 200,000 documents rank better with .2, 50,000 to 120,000 with
# .14, by .004 to .011 where labels are noisy; two million with .3, by .001 to .007, but 500,000 to a million do not.
# The 100 to 800 trees that validation stops after want .1 (notebooks/11_signal.ipynb). So the rate is to be this much
# for so many trees, and less for more of them
_LEAST, _MORE, _MOST, _TREES = 0.1, 0.1 * math.sqrt(2.0), 0.2, 100
# Where the last 27 of 40 trees at .45 still gain on queries that were not learned, 100 trees of .1 to .2 are too few
_FAST, _TRIED = 0.3, 40
# Between these numbers of documents the rate stays at .2: it rises to it, and on to .3, as their square root
_PLENTY, _HUGE = 200_000, 1_000_000


def chosen(n_docs: int, n_relevant: int, random: bool, n_estimators: int, slow: bool = False) -> float:
    """The rate for so many trees on training data of so many documents, so many of them relevant.

    ``slow`` says that a trial has shown that trees learn long what holds for other queries, too.
    """
    if slow:
        most = _FAST
    elif random or random_trees.helps(n_docs, n_relevant):
        return _LEAST
    else:
        rising, on = (_MOST * math.sqrt(n_docs / documents) for documents in (_PLENTY, _HUGE))
        most = max(_MORE, min(_MOST, rising), min(_FAST, on))
    return min(most, max(_LEAST, most * _TREES / n_estimators))


def is_tried(n_docs: int, n_relevant: int, random: bool, n_estimators: int) -> bool:
    """Whether a trial is to tell if .1, which is the rate by the size of the data, is too low for so many trees.

    It grows some trees itself: a training of fewer is not to wait for them.
    """
    few = random or random_trees.helps(n_docs, n_relevant)
    return few and _TRIED <= n_estimators < _TREES * _FAST / _LEAST
