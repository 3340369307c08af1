"""Ranks within queries against SciPy's, ties and missing scores included."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata

from boostsoft import QueryGroups
from boostsoft.blending.scores import mean_ranks

SIZES = [1, 0, 2, 7, 40, 256, 257, 3000, 0, 5]


def expected(scores, groups):
    ranks = np.empty(scores.size)
    for low, high in zip(groups.offsets[:-1], groups.offsets[1:], strict=True):
        here = slice(low, high)
        known = ~np.isnan(scores[here])
        ranks[here][known] = rankdata(-scores[here][known], method="average")
        ranks[here][~known] = (known.sum() + 1 + high - low) / 2
    return ranks


@pytest.mark.parametrize("missing", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("different", [1, 6, 10**6])
def test_ranks_are_scipys(missing, different):
    rng = np.random.default_rng(different)
    groups = QueryGroups.from_sizes(SIZES)
    scores = rng.integers(0, different, groups.n_docs) - 0.5 * different
    scores[rng.random(groups.n_docs) < missing] = np.nan
    np.testing.assert_array_equal(mean_ranks(scores, groups), expected(scores, groups))


def test_zeros_of_either_sign_and_infinite_ends_are_ranked():
    groups = QueryGroups.from_sizes([6])
    scores = np.array([0.0, -0.0, np.inf, -np.inf, 1e308, np.nan])
    np.testing.assert_array_equal(mean_ranks(scores, groups), [3.5, 3.5, 1.0, 5.0, 2.0, 6.0])
