"""What a metric's sum is divided by, and what it is counted from: offset + sum / divisor, one of each per query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arguments import FloatArray, IntArray
from ..query_groups import QueryGroups, order_within
from .registry import REGISTRY

if TYPE_CHECKING:
    from .hard import Metric


# so many first documents are looked at for the distinct gains, one number after the other: they mostly have all
_SAMPLED = (512, 8192)
_FEW = 64  # distinct gains up to which counting them is faster than sorting


def divisors(
    metric: Metric, gains: FloatArray, cutoffs: IntArray, discount: FloatArray, groups: QueryGroups
) -> tuple[FloatArray, FloatArray]:
    """Divisor and offset of the metric's registry entry, each (n_queries,)."""
    kind, none = REGISTRY[metric.metric].divisor, np.zeros(groups.n_queries)
    if kind in ("pairs", "odds"):
        pairs = unequal_pairs(gains, np.ones(gains.size), groups)
        return pairs, none + (1.0 if kind == "pairs" else -1.0)
    if kind == "tau":
        return _tau(gains, groups)
    if kind == "rho":
        return _rho(gains, groups), none
    if kind == "ideal":
        return ideal_values(gains, cutoffs, discount, groups), none
    return _rank_divisor(kind, metric, gains, cutoffs, groups), none


def _rank_divisor(kind: str, metric: Metric, gains: FloatArray, cutoffs: IntArray, groups: QueryGroups) -> FloatArray:
    if kind == "normalizer":
        kind = {"relevant": "relevant", "min": "min", "retrieved": "none", "k": "cutoff"}[metric.normalizer]
    if kind == "none":
        return np.ones(groups.n_queries)
    # a cutoff behind the list counts as it stands: precision@10 of five documents divides by 10
    k = np.where(metric.k is None, groups.sizes, cutoffs).astype(np.float64)
    relevant = groups.sums(gains if gains.min() >= 0 else np.maximum(gains, 0.0))  # 1 each, and -1 if not judged
    return {"relevant": relevant, "cutoff": k, "f1": 0.5 * (k + relevant), "min": np.minimum(k, relevant)}[kind]


def ideal_values(gains: FloatArray, cutoffs: IntArray, discount: FloatArray, groups: QueryGroups) -> FloatArray:
    """The largest sum of gain x discount that an order of each query can reach."""
    # never below 0 then: the last one, behind the deepest rank, is not
    falls = np.all(discount[:-1] >= discount[1:])
    for sampled in _SAMPLED if falls else ():
        levels = np.unique(gains[:sampled])[::-1]
        ideal = _ideal_of_levels(gains, levels, cutoffs, discount, groups) if levels.size <= _FEW else None
        if ideal is not None:
            return ideal
    return _ideal_by_sorting(gains, cutoffs, discount, groups)


def _ideal_of_levels(
    gains: FloatArray, levels: FloatArray, cutoffs: IntArray, discount: FloatArray, groups: QueryGroups
) -> FloatArray | None:
    """The same without sorting, if there are no other gains than these, which fall; None otherwise.

    The best order has the c documents of at least a level's gain first: that is worth (gain - the next level's) x the
    discounts of c ranks, summed over levels. No term is negative, so that nothing cancels.
    """
    sums = np.append(0.0, np.cumsum(discount, dtype=np.longdouble)).astype(np.float64)
    ideal, above, counted = np.zeros(groups.n_queries), np.zeros(groups.n_queries, np.int64), 0
    for level, following in zip(levels, np.append(levels[1:], 0.0), strict=True):
        marks = gains == level
        counted += int(np.count_nonzero(marks))
        if level > 0.0:
            above += groups.counts(marks)
            ideal += (level - following) * sums[np.minimum(above, cutoffs)]
    return ideal if counted == gains.size else None


def _ideal_by_sorting(gains: FloatArray, cutoffs: IntArray, discount: FloatArray, groups: QueryGroups) -> FloatArray:
    """The same for gains and discounts of any kind; ranks behind the cutoff weigh 0, which may be more than others."""
    ideal = np.zeros(groups.n_queries)
    ranked = np.minimum(cutoffs, groups.sizes)
    by_shape = np.lexsort((ranked, groups.sizes))
    new = np.flatnonzero(np.diff(groups.sizes[by_shape]) | np.diff(ranked[by_shape])) + 1
    for queries in np.split(by_shape, new):  # lists of one size and cutoff are a matrix
        size, ranks = groups.sizes[queries[0]], ranked[queries[0]]
        best = np.sort(gains[groups.offsets[queries, None] + np.arange(size)], axis=1)[:, ::-1]
        weights = np.zeros(size)
        weights[:ranks] = discount[:ranks]
        ideal[queries] = np.einsum("qi,i->q", best, np.sort(weights)[::-1])
    return ideal


def unequal_pairs(levels: FloatArray, weights: FloatArray, groups: QueryGroups) -> FloatArray:
    """Sum of w_i w_j over the pairs of each query whose levels (0, 1, ...) differ."""
    n_levels = groups.largest(levels, initial=0.0).astype(np.int64) + 1
    cells = groups.per_document(np.cumsum(n_levels) - n_levels) + levels.astype(np.int64)
    weight_of = np.bincount(cells, weights=weights, minlength=int(n_levels.sum()))
    query_of: IntArray = np.repeat(np.arange(groups.n_queries), n_levels)
    below = np.append(0.0, np.cumsum(weight_of)[:-1])  # a level's weight taken off that of all would cancel
    below -= below[np.cumsum(n_levels) - n_levels][query_of]
    pairs: FloatArray = np.bincount(query_of, weights=weight_of * below, minlength=groups.n_queries).astype(np.float64)
    return pairs


def _tau(levels: FloatArray, groups: QueryGroups) -> tuple[FloatArray, FloatArray]:
    """Tau-b without tied scores is (N - 2 discordant) / sqrt(n0 N), N the pairs of different label."""
    unequal = unequal_pairs(levels, np.ones(levels.size), groups)
    pairs = 0.5 * groups.sizes * (groups.sizes - 1.0)
    root = np.sqrt(pairs * unequal)
    return 0.5 * root, np.divide(unequal, root, out=np.zeros(groups.n_queries), where=root > 0)


def _rho(positions: FloatArray, groups: QueryGroups) -> FloatArray:
    """Rho is cov / (sd sd'), and the sum is n cov; the scores' ranks have the variance (n^2 - 1) / 12."""
    sizes = groups.sizes.astype(np.float64)
    mean = groups.per_document(0.5 * (sizes + 1.0))
    squares = groups.sums((positions - mean) ** 2)
    divisor: FloatArray = np.sqrt(squares * sizes * np.maximum(sizes**2 - 1.0, 0.0) / 12.0)
    return divisor


def tie_correction(kind: str, scores: FloatArray, groups: QueryGroups) -> FloatArray:
    """SciPy's tau-b or rho of tied scores over the mean of their orders', for each query; 0 if all are equal."""
    queries: IntArray = groups.per_document(np.arange(groups.n_queries))
    ranked = scores[order_within(groups, scores)]
    new = np.append(True, (ranked[1:] != ranked[:-1]) | (queries[1:] != queries[:-1]))
    starts = np.flatnonzero(new)
    tied = np.diff(np.append(starts, scores.size)).astype(np.float64)
    power = 2 if kind == "tau" else 3  # pairs n (n - 1), or the variance n^3 - n
    lost = np.bincount(queries[starts], weights=tied**power - tied, minlength=groups.n_queries)
    sizes = groups.sizes.astype(np.float64)
    whole = sizes**power - sizes
    left = whole - lost
    factor: FloatArray = np.sqrt(np.divide(whole, left, out=np.zeros(groups.n_queries), where=left > 0))
    return factor
