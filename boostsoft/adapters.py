"""What the boosters' adapters share: names in a log, labels prepared once for many iterations, threads, and a unit."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, wraps
from types import FrameType
from typing import Any, ParamSpec, TypeVar

import numpy as np

from .arguments import FloatArray, finite_vector
from .kernels.threads import at_most, limit, on_threads_of
from .metrics.hard import Metric
from .metrics.prepared import PreparedQueries, prepare
from .metrics.soft import AnyMetric, SoftMetric, as_metric
from .objectives import Objective, SoftObjective
from .pooling import in_score_units, mean_sums, needs_spread, pooled_mean, pooled_spread, refuse_undivided, spread_sums
from .query_groups import QueryGroups

_Given = ParamSpec("_Given")
_Built = TypeVar("_Built")
_FRAMES = 8  # between a Booster and what it calls: a library's own wrappers, and a user's
# Label sets remembered at a time, and how many, of so many documents together, if they are small: the training and
# validation sets of a cross-validation take turns, and one that is forgotten is prepared anew at every tree.
_KEPT, _KEPT_SMALL, _KEPT_DOCUMENTS = 32, 128, 4_000_000

# Gradient and curvature times a constant: the leaves' Newton steps stay, but XGBoost's stock lambda = 1 and
# min_child_weight = 1 are made for curvatures of about .25 per document. A query's sum to about .1, whatever its
# length, and without this stock trees hardly learn; with it they keep pace with rank:ndcg (notebooks/boosters.ipynb).
STOCK_UNIT = 16.0


class PreparedCache:
    """The last few label sets and what was made of them; empty in copies and pickles."""

    def __init__(self) -> None:
        self._entries: list[tuple[Any, QueryGroups, PreparedQueries]] = []

    def get(
        self, labels: Any, groups: QueryGroups, build: Callable[[Any, QueryGroups], PreparedQueries]
    ) -> PreparedQueries:
        """What ``build`` made of these labels, made now if it is the first time."""
        for known_labels, known_groups, queries in self._entries:
            if known_groups == groups and np.array_equal(known_labels, labels):
                return queries
        queries = build(as_written(labels), groups)
        entries = [(np.array(labels), groups, queries), *self._entries]
        many = sum(its.n_docs for _, its, _ in entries) > _KEPT_DOCUMENTS
        self._entries = entries[: _KEPT if many else _KEPT_SMALL]
        return queries

    def __reduce__(self) -> tuple[type[PreparedCache], tuple[()]]:
        return PreparedCache, ()


def stock_unit(rule: Objective) -> float:
    """By what gradient and curvature are multiplied: ours, for stock parameters made for some .25 per document."""
    return STOCK_UNIT if isinstance(rule, SoftObjective) else 1.0


def built(build: Callable[_Given, _Built]) -> Callable[_Given, _Built]:
    """A builder of objectives, which says so where a booster calls it in place of what it builds."""

    @wraps(build)
    def checked(*args: _Given.args, **options: _Given.kwargs) -> _Built:
        if len(args) > 1:
            name = f"{build.__module__}.{build.__name__}"
            raise TypeError(
                f"{name}: takes one argument by position, what to train on; got {len(args)}: a booster takes what "
                f"{name}(...) returns"
            )
        return build(*args, **options)

    return checked


def as_written(labels: Any) -> Any:
    """Labels as the user wrote them: in a booster's float32, .7 is a little less and misses ``relevant_from=0.7``."""
    array = np.asarray(labels)
    if array.dtype != np.float32 or np.array_equal(array, np.floor(array)):
        return array
    distinct, places = np.unique(array, return_inverse=True)
    return np.array([float(str(label)) for label in distinct])[places]


def warn_of_least_curvature(caller: str, name: str, least: float, curvature: float) -> None:
    """Warn that two leaves cannot both have what the parameter ``name`` asks of each."""
    warnings.warn(
        f"{caller}: no tree can be split with {name}={least:g}, since all documents together have a curvature of "
        f"{curvature:.3g}; give {name}={1e-4 * curvature:.0g}, and an L2 far below that curvature",
        stacklevel=3,
    )


def callers() -> Iterator[Mapping[str, Any]]:
    """The variables of whoever has called the function that asks, and of their callers, as far as a booster may be."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(_FRAMES):
        if frame is None:
            return
        yield frame.f_locals
        frame = frame.f_back


@contextlib.contextmanager
def as_booster(threads: int | None, library: Any = None) -> Iterator[None]:
    """Run kernels inside on no more threads than the booster that calls them, and on its own if ``library`` is its.

    ``threads`` is the booster's setting. Where it is not known or says "default" (0 and below), a limit that is set
    already stands, otherwise OMP_NUM_THREADS, which is the default of both boosters.
    """
    if (threads is None or threads < 1) and limit() is None:
        threads = whole(os.environ.get("OMP_NUM_THREADS", "").split(",")[0])
    with at_most(threads), on_threads_of(library, threads):
        yield


def first_whole(params: Mapping[str, Any], names: Sequence[str]) -> int | None:
    """The first of a parameter's names that has a value, as a whole number."""
    return next((whole(params[name]) for name in names if params.get(name) is not None), None)


def whole(value: Any) -> int | None:
    """A booster's parameter as an int; None for what is no number, which the booster itself refuses."""
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


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
            got = repr(metric)
            if hasattr(metric, "shape") and caller.startswith("boostsoft."):  # a booster called the adapter itself
                got = f"an array; a booster takes what {caller}('ndcg@10') returns"
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
    """Metrics under distinct names, evaluated together on one data set after another."""

    def __init__(self, caller: str, metrics: Sequence[str | AnyMetric]) -> None:
        self.caller = caller
        self.metrics = read_metrics(caller, metrics)
        self.names = [logged_name(metric) for metric in self.metrics]
        refuse_equal_names(caller, self.names)
        self._caches = [PreparedCache() for _ in self.metrics]

    def __repr__(self) -> str:
        return f"{self.caller}({', '.join(map(repr, self.metrics))})"

    def values(self, labels: Any, groups: QueryGroups, scores: Any, weights: FloatArray) -> list[tuple[str, float]]:
        """Name and mean of each metric."""
        checked = finite_vector(self.caller, "predictions", scores, groups.n_docs)
        found = []
        for name, metric, cache in zip(self.names, self.metrics, self._caches, strict=True):
            queries = cache.get(labels, groups, partial(prepare, metric.hard, self.caller))
            found.append((name, queries.mean(metric.evaluate(queries, checked, weights), weights)))
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
            over_all = pooled_spread(total(nothing if groups is None else spread_sums(groups, checked, weights)))
        found = []
        for name, metric, cache in zip(self.names, self.metrics, self._caches, strict=True):
            sums = nothing
            if groups is not None:
                queries = cache.get(labels, groups, partial(prepare, metric.hard, self.caller))
                sums = mean_sums(in_score_units(metric, over_all), queries, checked, weights)
            found.append((name, pooled_mean(total(sums))))
        return found
