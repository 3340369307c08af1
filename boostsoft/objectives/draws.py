"""Uniform draws that are a function of what they are drawn for: the same in every run and on any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import FloatArray
from ..query_groups import QueryGroups

Words = NDArray[np.uint64]
_STRIDE = np.uint64(0x9E3779B97F4A7C15)


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
    places = _mixed(np.arange(scores.size, dtype=np.uint64) + _mixed(np.array([seed], dtype=np.uint64)))
    words = _mixed((scores + 0.0).view(np.uint64) ^ places)  # + 0.0: -0.0 is the same score as 0.0
    totals = np.zeros(groups.n_queries, dtype=np.uint64)
    filled = np.flatnonzero(groups.sizes > 0)
    totals[filled] = np.add.reduceat(words, groups.offsets[filled])
    drawn: Any = (_mixed(places ^ groups.per_document(_mixed(totals))) >> np.uint64(11)) * 2.0**-53
    return np.asarray(drawn, dtype=np.float64)


def _mixed(words: Words) -> Words:
    """Every bit a mixture of all: SplitMix64's step."""
    words = words + _STRIDE
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
