"""Models that add nothing: constant ones, copies of one another, and reversed copies."""

from __future__ import annotations

import numpy as np

from ..arguments import FloatArray
from ..metrics.spread import spread
from ..query_groups import QueryGroups

_DIGITS = 9  # to which two columns agree that rank alike, in spreads


def spreads(scores: FloatArray, groups: QueryGroups, weights: FloatArray | None) -> FloatArray:
    """The pooled within-query standard deviation of each column; 0 if it is constant within every query that weighs."""
    weights = np.ones(groups.n_queries) if weights is None else weights
    return np.array([spread(groups, np.ascontiguousarray(column), weights) for column in scores.T])


def copies(
    scores: FloatArray, groups: QueryGroups, weights: FloatArray, units: FloatArray
) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """Columns that differ only by a factor and by constants within the queries that weigh.

    In groups of two or more where the factor is above 0, and pairs of which the second is a first one reversed.
    """
    weighing = groups.per_document(weights > 0)
    alike: dict[bytes, list[int]] = {}
    opposite: dict[bytes, int] = {}
    reversed_: list[tuple[int, int]] = []
    for at in np.flatnonzero(units > 0).tolist():
        with np.errstate(over="ignore"):  # NumPy 1.26 sees one among the least numbers where there is none
            column = scores[:, at] / units[at]
        column = column - groups.per_document(groups.sums(column) / np.maximum(groups.sizes, 1))
        digits = np.round(column[weighing], _DIGITS)
        key = (digits + 0.0).tobytes()
        alike.setdefault(key, []).append(at)
        opposite.setdefault((0.0 - digits).tobytes(), at)
        if key in opposite:
            reversed_.append((opposite[key], at))
    return [group for group in alike.values() if len(group) > 1], reversed_
