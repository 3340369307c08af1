"""Labels turned into what the kernels read: gains, discounts, cutoffs and divisors, once per data set."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..arguments import FloatArray, IntArray, finite_vector, of_type
from ..kernels.families import PAIRWISE, PLAIN, RETRIEVED
from ..kernels.shares import Work
from ..query_groups import QueryGroups, order_within
from ..query_means import relative_weights, weighted_mean
from .coefficients import coefficients, from_function
from .divisors import divisors, unequal_pairs
from .registry import REGISTRY
from .spec import DISCOUNTS, EMPTY

if TYPE_CHECKING:
    from .hard import Metric

Plan = TypeVar("Plan")

_WHOLE_LIST = np.iinfo(np.int64).max
_LARGEST_SUM = 1e300
_LEAST_IDEAL = 1e-300  # one over it is a number
_LEAST_ODDS = 1e-90  # the cube of a smaller weight of wrong pairs is no number any more


@dataclass(frozen=True, eq=False)
class PreparedQueries:
    """A metric on one set of labels.

    Attributes
    ----------
    caller, metric : who asked for it, and the metric's name, for messages.
    groups : the queries that the kernels see; all documents as one query if ``pooled``.
    members : the queries as the user gave them.
    family : how documents act on one another (``kernels.families``).
    gains : (n_docs,) coefficient of each document.
    weights : (n_docs,) of each document in a pairwise metric, otherwise empty.
    cutoffs : (n_queries,) last rank that counts, a huge number for the whole list.
    discount : (at least the deepest rank + 1,) weight of each rank, from rank 1.
    divisor, offset : (n_queries,) the value is offset + sum / divisor; the divisor is 1 for empty queries.
    odds : whether the value is offset - divisor / sum in place of that: concordant / discordant pairs.
    empty : (n_queries,) queries on which the metric is undefined, whose value is ``filler``.
    filler : the value of an empty query; NaN means that it does not count.
    smooth : whether the discount has no jumps, which the node rule may use.
    pooled : whether all queries count together.
    further : what else an objective trains on, on the same labels.
    read_by : what an objective reads labels by (``Objective.reads``); empty if a metric asked.
    by_gain : (n_docs,) the places of each query's documents by falling coefficient; empty until asked for.
    spare : (n_docs,) arrays that were handed back, for the next iteration.
    plans : what kernels need to know of these queries, whatever the scores are, by what it depends on besides.
    """

    caller: str
    metric: str
    groups: QueryGroups
    members: QueryGroups
    family: int
    gains: FloatArray
    weights: FloatArray
    cutoffs: IntArray
    discount: FloatArray
    divisor: FloatArray
    offset: FloatArray
    odds: bool
    empty: np.ndarray[Any, np.dtype[np.bool_]]
    filler: float
    smooth: bool
    pooled: bool
    further: tuple[PreparedQueries, ...] = ()
    read_by: tuple[Hashable, ...] = ()
    by_gain: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    spare: list[FloatArray] = field(default_factory=list)
    plans: dict[Any, Any] = field(default_factory=dict)

    @property
    def pairwise(self) -> bool:
        """Whether the metric is a sum over pairs."""
        return self.family in PAIRWISE

    def weigh(self, weights: FloatArray) -> PreparedQueries:
        """The same with documents that weigh as much as their queries, which matters if the metric is pooled."""
        if not self.pooled:
            return self
        shares = self.members.per_document(relative_weights(weights))
        pairs = unequal_pairs(self.gains, shares, self.groups)
        return replace(self, weights=shares, divisor=np.where(pairs > 0, pairs, 1.0), empty=pairs == 0)

    def take(self, queries: NDArray[np.bool_]) -> PreparedQueries:
        """Some of the queries, of a metric that is not pooled."""
        groups = QueryGroups.from_sizes(self.groups.sizes[queries])
        rows = self.groups.per_document(queries)
        of_rows = {name: getattr(self, name) for name in ("gains", "weights", "by_gain")}
        of_queries = {name: getattr(self, name) for name in ("cutoffs", "divisor", "offset", "empty")}
        return replace(
            self,
            groups=groups,
            members=groups,
            further=tuple(further.take(queries) for further in self.further),
            spare=[],
            plans={},
            **{name: values[rows] if values.size else values for name, values in of_rows.items()},
            **{name: values[queries] for name, values in of_queries.items()},
        )

    def sorted_by_gain(self) -> PreparedQueries:
        """The same with its documents sorted, for kernels that would sort them in every iteration."""
        order = order_within(self.groups, -self.gains) - self.groups.per_document(self.groups.offsets[:-1])
        return replace(self, by_gain=order)

    def array(self) -> FloatArray:
        """A place for a number of each document, whatever stands in it: an array that was handed back if there is one.

        Pages of a new one come from the system, one fault each: that took a tenth of an objective's time.
        """
        try:
            return self.spare.pop()
        except IndexError:
            return np.empty(self.members.n_docs)

    def once(self, key: Hashable, make: Callable[[], Plan]) -> Plan:
        """What ``make`` returns, which depends on the labels and the key only and must not be changed; made once."""
        if key not in self.plans:
            self.plans[key] = make()
        found: Plan = self.plans[key]
        return found

    def work(self, costs: Callable[..., FloatArray], *given: Any) -> Work:
        """The queries with what they cost, by a function of ``costs``; worked out once."""
        return self.once((costs, given), lambda: Work(costs(self, *given)))

    def hand_back(self, *arrays: FloatArray) -> None:
        """Leave arrays, which nobody else may have, to the next iteration."""
        self.spare.extend(arrays)

    def finish(self, raw: FloatArray, correction: FloatArray | float = 1.0) -> FloatArray:
        """Values of the queries from the kernels' sums."""
        if self.odds:
            with np.errstate(divide="ignore", over="ignore"):
                values = self.offset + self.divisor / np.maximum(-raw, 0.0)
        else:
            values = (self.offset + raw / self.divisor) * correction
        return np.where(self.empty, self.filler, values)

    def slopes(self, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of each value in its sum; 0 for empty queries, and where a value is infinite."""
        if not self.odds:
            return np.where(self.empty, 0.0, 1.0 / self.divisor), np.zeros(raw.size)
        dead = self.empty | (np.abs(raw) < _LEAST_ODDS)
        safe = np.where(dead, 1.0, raw)
        slope = self.divisor / safe**2
        return np.where(dead, 0.0, slope), np.where(dead, 0.0, -2.0 * slope / safe)

    def mean(self, values: FloatArray, weights: FloatArray) -> float:
        """Weighted mean over the queries that count; NaN if none does."""
        return weighted_mean(values, self.counted(weights))

    def counted(self, weights: FloatArray) -> FloatArray:
        """The weights, relative to the largest of them, 0 for the queries that do not count."""
        if self.pooled:
            weights = np.ones(1)
        return relative_weights(np.where(self.empty, 0.0, weights) if np.isnan(self.filler) else weights)


def prepare(metric: Metric, caller: str, y_true: Any, members: QueryGroups) -> PreparedQueries:
    """Check the labels and turn them into gains, discounts, cutoffs and divisors."""
    entry = REGISTRY[metric.metric]
    of_type(caller, "groups", members, QueryGroups)
    labels = finite_vector(caller, "y_true", y_true, members.n_docs)
    groups = QueryGroups.from_sizes([members.n_docs]) if metric.pooled else members
    gains = coefficients(metric, caller, labels, groups)
    cutoffs = _cutoffs(metric, caller, groups)
    deepest = 1 if entry.pairwise else int(np.minimum(cutoffs, groups.sizes).max(initial=1))
    if isinstance(metric.discount, str):  # to a power of two: what is computed from a discount serves the next data too
        deepest = 1 << (deepest - 1).bit_length()
    discount = _discount(metric, caller, deepest)
    if entry.divisor == "ideal" and gains.min() < 0:
        at = int(np.argmax(gains < 0))
        raise ValueError(f"{caller}: {metric.metric} needs gains of at least 0; got {gains[at]} for label {labels[at]}")
    if entry.family == PLAIN:
        _check_size(caller, gains, discount, groups)
    divisor, offset = divisors(metric, gains, cutoffs, discount, groups)
    if entry.divisor == "ideal":
        _check_ideal(caller, divisor)
    empty = divisor == 0 if entry.pairwise else groups.largest(gains, initial=0.0) <= 0
    return PreparedQueries(
        caller=caller,
        metric=metric.metric,
        groups=groups,
        members=members,
        family=RETRIEVED if metric.normalizer == "retrieved" else entry.family,
        gains=gains,
        weights=np.ones(labels.size if entry.pairwise else 0),
        cutoffs=cutoffs,
        discount=discount,
        divisor=np.where(empty | (divisor == 0), 1.0, divisor),
        offset=offset,
        odds=entry.divisor == "odds",
        empty=empty,
        filler=EMPTY[metric.empty],
        smooth=isinstance(metric.discount, str),
        pooled=metric.pooled,
    )


def _check_size(caller: str, gains: FloatArray, discount: FloatArray, groups: QueryGroups) -> None:
    """Sums over a query must stay in range, their products with a density too."""
    most, weight = max(float(gains.max()), -float(gains.min())), max(float(np.abs(discount).max()), 1.0)
    if most <= _LARGEST_SUM / weight / float(groups.sizes.max()):
        return
    with np.errstate(over="ignore"):
        sums = groups.sums(np.abs(gains)) * weight
    if np.any(sums > _LARGEST_SUM):
        at = int(np.argmax(sums > _LARGEST_SUM))
        raise ValueError(
            f"{caller}: the gains of a query, times the largest discount, must add up to at most {_LARGEST_SUM}; "
            f"got {sums[at]} for query {at}"
        )


def _check_ideal(caller: str, ideal: FloatArray) -> None:
    """Gradients are shares of the ideal sum."""
    tiny = (ideal > 0) & (ideal < _LEAST_IDEAL)
    if tiny.any():
        at = int(np.argmax(tiny))
        raise ValueError(
            f"{caller}: the gains of a query's best order, times their discounts, must add up to 0 or to at least "
            f"{_LEAST_IDEAL}; got {ideal[at]} for query {at}"
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
    if kind == "reciprocal":
        return 1.0 / ranks
    if kind == "persistence":
        return (1.0 - metric.p) * metric.p ** (ranks - 1.0)
    if kind == "patience":
        return np.array((1.0 - metric.p_break) ** (ranks - 1.0))
    if isinstance(metric.discount, tuple):
        if len(metric.discount) < deepest:
            raise ValueError(
                f"{caller}: discount must reach to rank {deepest}; got a table of {len(metric.discount)} ranks"
            )
        return np.append(np.array(metric.discount[:deepest]), 0.0)
    if isinstance(metric.discount, str):
        return np.array(DISCOUNTS[metric.discount](ranks))
    discount = from_function(caller, "discount", metric.discount, ranks[:deepest])
    if not np.isfinite(discount).all():
        at = int(np.argmin(np.isfinite(discount)))
        raise ValueError(f"{caller}: discount must be finite; rank {at + 1} gives {discount[at]}")
    return np.append(discount, 0.0)
