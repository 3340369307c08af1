"""Labels turned into what the kernels read: gains, discounts, cutoffs and divisors, once per data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..query_groups import FloatArray, IntArray, QueryGroups, as_array, finite_vector
from .registry import REGISTRY
from .spec import DISCOUNTS, GAINS

if TYPE_CHECKING:
    from .hard import Metric

_WHOLE_LIST = np.iinfo(np.int64).max
_LARGEST_SUM = 1e300


@dataclass(frozen=True, eq=False)
class PreparedQueries:
    """A metric on one set of labels.

    Attributes
    ----------
    gains : (n_docs,) coefficient of each document.
    cutoffs : (n_queries,) last rank that counts, a huge number for the whole list.
    discount : (at least the deepest rank + 1,) weight of each rank, from rank 1.
    divisor : (n_queries,) 1 for empty queries, whose value is ``filler``.
    empty : (n_queries,) queries without a relevant document.
    filler : the value of an empty query; NaN means that it does not count.
    smooth : whether the discount has no jumps, which the node rule may use.
    """

    groups: QueryGroups
    family: int
    gains: FloatArray
    cutoffs: IntArray
    discount: FloatArray
    divisor: FloatArray
    empty: np.ndarray[Any, np.dtype[np.bool_]]
    filler: float
    smooth: bool

    @property
    def costs(self) -> FloatArray:
        """A rough cost of each query, to share the work between threads."""
        sizes = self.groups.sizes
        cells: IntArray = sizes * np.minimum(np.minimum(self.cutoffs, sizes), 200)
        return cells.astype(np.float64) + 10.0

    def finish(self, raw: FloatArray) -> FloatArray:
        """Values of the queries from the kernels' sums."""
        return np.where(self.empty, self.filler, raw / self.divisor)

    def mean(self, values: FloatArray, weights: FloatArray) -> float:
        """Weighted mean over the queries that count; NaN if none does."""
        counted = self.counted(weights)
        if not counted.any():
            return float("nan")
        return float((counted * np.where(counted > 0, values, 0.0)).sum() / counted.sum())

    def counted(self, weights: FloatArray) -> FloatArray:
        """The weights, relative to the largest of them, 0 for the queries that do not count."""
        counted: FloatArray = np.where(self.empty, 0.0, weights) if np.isnan(self.filler) else weights
        largest = float(counted.max(initial=0.0))
        return counted / largest if largest > 0 else counted


def prepare(metric: Metric, caller: str, y_true: Any, groups: QueryGroups) -> PreparedQueries:
    """Check the labels and turn them into gains, discounts, cutoffs and divisors."""
    entry = REGISTRY[metric.metric]
    labels = finite_vector(caller, "y_true", y_true, groups.n_docs)
    gains = _gains(metric, caller, labels)
    cutoffs = _cutoffs(metric, caller, groups)
    deepest = int(np.minimum(cutoffs, groups.sizes).max(initial=1))
    discount = _discount(metric, caller, max(deepest, 1))
    empty = groups.sums((gains > 0).astype(np.float64)) == 0
    if entry.divisor == "ideal" and np.any(gains < 0):
        at = int(np.argmax(gains < 0))
        raise ValueError(f"{caller}: {metric.metric} needs gains of at least 0; got {gains[at]} for label {labels[at]}")
    _check_size(caller, gains, discount, groups)
    divisor = _divisor(entry.divisor, gains, cutoffs, discount, groups)
    return PreparedQueries(
        groups=groups,
        family=entry.family,
        gains=gains,
        cutoffs=cutoffs,
        discount=discount,
        divisor=np.where(empty | (divisor == 0), 1.0, divisor),
        empty=empty,
        filler={"zero": 0.0, "one": 1.0, "skip": float("nan")}[metric.empty],
        smooth=isinstance(metric.discount, str),
    )


def _gains(metric: Metric, caller: str, labels: FloatArray) -> FloatArray:
    if REGISTRY[metric.metric].gains == "binary":
        return (labels >= metric.relevant_from).astype(np.float64)
    if isinstance(metric.gain, tuple):
        table = np.array(metric.gain)
        wrong = (labels != np.floor(labels)) | (labels < 0) | (labels >= table.size)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ValueError(
                f"{caller}: with a gain table of {table.size} entries labels must be 0 to {table.size - 1}; "
                f"got {labels[at]} at position {at}"
            )
        return np.ascontiguousarray(table[labels.astype(np.int64)])
    with np.errstate(over="ignore"):
        if isinstance(metric.gain, str):
            gains = np.array(GAINS[metric.gain](labels))
        else:
            gains = _from_function(caller, "gain", metric.gain, labels)
    if not np.isfinite(gains).all():
        at = int(np.argmin(np.isfinite(gains)))
        raise ValueError(
            f"{caller}: gain {metric.gain!r} must be finite; label {labels[at]} at position {at} gives {gains[at]}"
        )
    return gains


def _from_function(caller: str, argument: str, function: Any, points: FloatArray) -> FloatArray:
    """What a user's function makes of a copy of the points: one number for each."""
    found = as_array(caller, argument, function(points.copy()))
    if found.dtype.kind not in "fiub" or found.shape != points.shape:
        raise ValueError(
            f"{caller}: {argument} must return one number per {'label' if argument == 'gain' else 'rank'}, "
            f"shape {points.shape}; got dtype {found.dtype}, shape {found.shape}"
        )
    return np.array(found, dtype=np.float64)


def _check_size(caller: str, gains: FloatArray, discount: FloatArray, groups: QueryGroups) -> None:
    """Sums over a query must stay in range, their products with a density too."""
    with np.errstate(over="ignore"):
        sums = groups.sums(np.abs(gains)) * max(float(np.abs(discount).max()), 1.0)
    if np.any(sums > _LARGEST_SUM):
        at = int(np.argmax(sums > _LARGEST_SUM))
        raise ValueError(
            f"{caller}: the gains of a query, times the largest discount, must add up to at most {_LARGEST_SUM}; "
            f"got {sums[at]} for query {at}"
        )


def _cutoffs(metric: Metric, caller: str, groups: QueryGroups) -> IntArray:
    if isinstance(metric.k, tuple):
        if len(metric.k) != groups.n_queries:
            raise ValueError(f"{caller}: k must have one cutoff per query, {groups.n_queries}; got {len(metric.k)}")
        return np.array(metric.k, dtype=np.int64)
    return np.full(groups.n_queries, _WHOLE_LIST if metric.k is None else metric.k, dtype=np.int64)


def _discount(metric: Metric, caller: str, deepest: int) -> FloatArray:
    """The discounts of ranks 1..deepest, and one more that the kernels may look at."""
    kind = REGISTRY[metric.metric].discount
    ranks = np.arange(1, deepest + 2, dtype=np.float64)
    if kind == "none":
        return np.ones(deepest + 1)
    if kind == "persistence":
        return (1.0 - metric.p) * metric.p ** (ranks - 1.0)
    if isinstance(metric.discount, tuple):
        if len(metric.discount) < deepest:
            raise ValueError(
                f"{caller}: discount must reach to rank {deepest}; got a table of {len(metric.discount)} ranks"
            )
        return np.append(np.array(metric.discount[:deepest]), 0.0)
    if isinstance(metric.discount, str):
        return np.array(DISCOUNTS[metric.discount](ranks))
    discount = _from_function(caller, "discount", metric.discount, ranks[:deepest])
    if not np.isfinite(discount).all():
        at = int(np.argmin(np.isfinite(discount)))
        raise ValueError(f"{caller}: discount must be finite; rank {at + 1} gives {discount[at]}")
    return np.append(discount, 0.0)


def _divisor(kind: str, gains: FloatArray, cutoffs: IntArray, discount: FloatArray, groups: QueryGroups) -> FloatArray:
    if kind == "none":
        return np.ones(groups.n_queries)
    if kind == "relevant":
        return groups.sums(gains)
    if kind == "cutoff":
        return np.where(cutoffs == _WHOLE_LIST, groups.sizes, cutoffs).astype(np.float64)
    ideal = np.zeros(groups.n_queries)
    for q in range(groups.n_queries):
        best = np.sort(gains[groups.offsets[q] : groups.offsets[q + 1]])[::-1]
        weights = np.zeros(best.size)  # ranks behind the cutoff weigh 0, which is more than a negative discount
        ranks = min(int(cutoffs[q]), best.size)
        weights[:ranks] = discount[:ranks]
        ideal[q] = best @ np.sort(weights)[::-1]
    return ideal
