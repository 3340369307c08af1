"""Metrics under distinct names, evaluated together, on labels that are prepared once for many iterations."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from .arguments import FloatArray, finite_vector, short
from .metrics.hard import Metric
from .metrics.prepared import PreparedQueries, prepare
from .metrics.soft import AnyMetric, SoftMetric, as_metric
from .metrics.spec import NOT_PNR
from .pooling import in_score_units, mean_sums, needs_spread, pooled_mean, pooled_spread, refuse_undivided, spread_sums
from .query_groups import QueryGroups

# Label sets remembered at a time: 32, or 128 that have no more documents together than this. The training and
# validation sets of a cross-validation take turns, and one that is forgotten is prepared anew at every tree.
_KEPT, _KEPT_SMALL, _KEPT_DOCUMENTS = 32, 128, 4_000_000

_Made = TypeVar("_Made")

# What boosters call metrics and callbacks with, by an attribute that metrics lack
_OF_BOOSTERS = {"shape": "an array", "begin_iteration": "the state of a training"}


class PreparedCache(Generic[_Made]):
    """The last few label sets and what was made of them; empty in copies and pickles."""

    def __init__(self) -> None:
        self._entries: list[tuple[Any, QueryGroups, _Made]] = []

    def get(self, labels: Any, groups: QueryGroups, build: Callable[[Any, QueryGroups], _Made]) -> _Made:
        """What ``build`` made of these labels, made now if it is the first time."""
        for known_labels, known_groups, made in self._entries:
            if known_groups == groups and np.array_equal(known_labels, labels):
                return made
        made = build(as_written(labels), groups)
        entries = [(np.array(labels), groups, made), *self._entries]
        many = sum(its.n_docs for _, its, _ in entries) > _KEPT_DOCUMENTS
        self._entries = entries[: _KEPT if many else _KEPT_SMALL]
        return made

    def __reduce__(self) -> tuple[type[PreparedCache[_Made]], tuple[()]]:
        return PreparedCache, ()


def as_written(labels: Any) -> Any:
    """Labels as the user wrote them: in a booster's float32, .7 is a little less and misses ``relevant_from=0.7``."""
    array = np.asarray(labels)
    if array.dtype != np.float32 or np.array_equal(array, np.floor(array)):
        return array
    distinct, places = np.unique(array, return_inverse=True)
    return np.array([float(str(label)) for label in distinct])[places]


def logged_name(metric: AnyMetric) -> str:
    """The name in a booster's log: hard metrics say so, not to collide with the booster's own."""
    if isinstance(metric, SoftMetric) or metric.custom_name is not None:
        return metric.name
    return metric.label("hard")


def read_metrics(caller: str, metrics: Iterable[Any]) -> list[AnyMetric]:
    """Metrics from specs, Metrics and SoftMetrics, one at least."""
    found: list[AnyMetric] = []
    for metric in metrics:
        if isinstance(metric, str):
            found.append(as_metric(caller, metric, {}))
        elif isinstance(metric, (Metric, SoftMetric)):
            found.append(metric)
        else:
            got = short(metric)
            kind = next((kind for mark, kind in _OF_BOOSTERS.items() if hasattr(metric, mark)), None)
            if kind is not None and caller.startswith("boostsoft."):  # a booster called the adapter itself
                got = f"{kind}; a booster takes what {caller}('ndcg@10') returns"
            raise TypeError(f"{caller}: a metric must be a string, a Metric or a SoftMetric; got {got}")
    if not found:
        raise ValueError(f"{caller}: give at least one metric, such as 'ndcg@10'")
    return found


def refuse_equal_names(caller: str, names: Iterable[str]) -> None:
    """Raise if two metrics have one name."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{caller}: two metrics are called {twice[0]!r}; tell them apart with name=")


class MetricList:
    """Metrics under distinct names, evaluated together on one data set after another.

    ``warns`` is for those that a booster may stop by, which keeps the first tree where a mean is infinite or NaN.
    """

    def __init__(self, caller: str, metrics: Sequence[str | AnyMetric], *, warns: bool = False) -> None:
        self.caller = caller
        self.metrics = read_metrics(caller, metrics)
        self.names = [logged_name(metric) for metric in self.metrics]
        refuse_equal_names(caller, self.names)
        self._cache: PreparedCache[list[PreparedQueries]] = PreparedCache()
        self._warns = warns

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Whatever the pickle's version kept of data sets, they are read anew."""
        self.__dict__.update(state, _cache=PreparedCache())

    def __repr__(self) -> str:
        return f"{self.caller}({', '.join(map(repr, self.metrics))})"

    def values(self, labels: Any, groups: QueryGroups, scores: Any, weights: FloatArray) -> list[tuple[str, float]]:
        """Name and mean of each metric."""
        checked = finite_vector(self.caller, "predictions", scores, groups.n_docs)
        found = []
        for name, metric, queries in zip(self.names, self.metrics, self._prepared(labels, groups), strict=True):
            found.append((name, queries.mean(metric.evaluate(queries, checked, weights), weights)))
        self._warn_unless_finite(found)
        return found

    def pooled_values(
        self,
        labels: Any,
        groups: QueryGroups | None,
        scores: Any,
        weights: FloatArray,
        total: Callable[[FloatArray], FloatArray],
    ) -> list[tuple[str, float]]:
        """Name and mean of each metric over all parts of the data, of which this is one, or none if ``groups`` is None.

        ``total`` adds up a part's sums over all parts. Every part calls it as often, in the same order.
        """
        for metric in self.metrics:
            refuse_undivided(self.caller, metric)
        nothing, over_all = np.zeros(2), 0.0
        checked = np.zeros(0) if groups is None else finite_vector(self.caller, "predictions", scores, groups.n_docs)
        if any(needs_spread(metric) for metric in self.metrics):
            over_all = pooled_spread(
                total(nothing if groups is None else spread_sums(self.caller, groups, checked, weights))
            )
        prepared = [None] * len(self.metrics) if groups is None else self._prepared(labels, groups)
        found = []
        for name, metric, queries in zip(self.names, self.metrics, prepared, strict=True):
            sums = nothing
            if queries is not None:
                sums = mean_sums(in_score_units(metric, over_all), queries, checked, weights)
            found.append((name, pooled_mean(total(sums))))
        self._warn_unless_finite(found)
        return found

    def _prepared(self, labels: Any, groups: QueryGroups) -> list[PreparedQueries]:
        """The labels as each metric reads them."""
        return self._cache.get(
            labels, groups, lambda *read: [prepare(metric.hard, self.caller, *read) for metric in self.metrics]
        )

    def _warn_unless_finite(self, found: Iterable[tuple[str, float]]) -> None:
        """Say so once, if it is to be said."""
        name, value = next(((name, value) for name, value in found if not np.isfinite(value)), ("", 0.0))
        if name and self._warns:
            self._warns = False
            why = "no query counts" if np.isnan(value) else NOT_PNR
            warnings.warn(
                f"{self.caller}: {name} is {value}, by which early stopping keeps the first tree: {why}", stacklevel=2
            )
