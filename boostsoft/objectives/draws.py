"""Uniform draws that are a function of what they are drawn for: the same in every run and on any number of threads."""

from __future__ import annotations

import numpy as np

from ..arguments import FloatArray
from ..kernels.draws import draw_queries
from ..kernels.threads import over_queries
from ..query_groups import QueryGroups

_COST, _COST_PER_DOCUMENT = 10.0, 2.0  # nanoseconds


def uniform_draws(seed: int, groups: QueryGroups, scores: FloatArray) -> FloatArray:
    """A number from [0, 1) for each document, by the seed, its place and all scores of its query.

    They change with any score of the query and with nothing in other queries. SplitMix64 (Steele et al. 2014) mixes.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import QueryGroups
    >>> from boostsoft.objectives.draws import uniform_draws
    >>> bool((uniform_draws(0, QueryGroups.from_sizes([3]), np.zeros(3)) < 1).all())
    True
    """
    words = (scores + 0.0).view(np.uint64)  # + 0.0: -0.0 is the same score as 0.0
    drawn = np.empty(scores.size)

    def run(begin: int, end: int) -> None:
        with np.errstate(over="ignore"):  # words wrap around; NumPy says so where nothing is compiled
            draw_queries(seed, words, groups.offsets, begin, end, drawn)

    over_queries(run, _COST + _COST_PER_DOCUMENT * groups.sizes.astype(np.float64))
    return drawn
