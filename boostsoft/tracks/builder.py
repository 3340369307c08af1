"""A TreeTrack in the making: scores in, step by step, whoever grows or reads the trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import FloatArray, finite_vector, short
from ..metric_lists import read_metrics, refuse_equal_names
from ..metrics.hard import Metric
from ..metrics.prepared import prepare
from ..metrics.soft import AnyMetric, SoftMetric, watched_soft
from ..metrics.spread import spread
from ..pooling import in_score_units
from ..query_groups import QueryGroups
from .tree_track import TreeTrack

TRACKED: tuple[str | AnyMetric, ...] = ("ndcg@10", watched_soft("ndcg@10"))


def as_metrics(caller: str, metrics: Any) -> tuple[AnyMetric, ...]:
    """Metrics from specs, Metrics and SoftMetrics, or one of them; None is the default ones.

    Pooled ones have no value per query and raise.
    """
    metrics = TRACKED if metrics is None else metrics
    if not isinstance(metrics, (str, Metric, SoftMetric, Iterable)) or isinstance(metrics, Mapping):
        raise TypeError(f"{caller}: metrics must be a metric or several; got {short(metrics)}")
    given: Sequence[Any] = (metrics,) if isinstance(metrics, (str, Metric, SoftMetric)) else tuple(metrics)
    found = tuple(read_metrics(caller, given))
    refuse_equal_names(caller, [metric.name for metric in found])
    for metric in found:
        metric.hard.refuse_pooled(caller)
    return found


class TrackBuilder:
    """Collects the values of every query at each step, of labels that are prepared once.

    Parameters
    ----------
    caller : str
        Who is named in errors.
    metrics : sequence of Metric and SoftMetric
        As of :func:`as_metrics`.
    y_true : (n_docs,)
        Labels.
    groups : QueryGroups
        Their queries.
    weights : (n_queries,)
        Weight of each query.
    qid : (n_queries,), optional
        What the user calls each query.
    label : str
        Of the track.

    Examples
    --------
    >>> from boostsoft import QueryGroups
    >>> builder = TrackBuilder("example", as_metrics("example", "mrr"), [0, 1], QueryGroups.from_sizes([2]), np.ones(1))
    >>> builder.begin(0, [0.0, 0.0])
    array([[0.75]])
    >>> builder.add(1, [0.1, 0.2])
    array([[1.]])
    >>> builder.track().change
    array([[0.25]])
    """

    def __init__(
        self,
        caller: str,
        metrics: Sequence[AnyMetric],
        y_true: Any,
        groups: QueryGroups,
        weights: FloatArray,
        *,
        qid: NDArray[Any] | None = None,
        label: str = "",
    ) -> None:
        self.caller, self.metrics, self.groups, self.weights = caller, tuple(metrics), groups, weights
        self.qid, self.label = qid, label
        self.y_true = finite_vector(caller, "y", y_true, groups.n_docs)
        self._prepared = [prepare(metric.hard, caller, self.y_true, groups) for metric in self.metrics]
        self._values = np.empty((16, len(self.metrics), groups.n_queries))
        self._steps: list[int] = []
        self._spread: list[float] = []
        self._start: int | None = None
        self._beginning = self._values[0]
        self._scores = np.zeros(0)

    def begin(self, start: int, scores: Any) -> FloatArray:
        """Measure before the first step, at ``start`` trees; (n_metrics, n_queries)."""
        found, _ = self._measured(scores)
        self._start, self._beginning = start, found
        return found

    def add(self, trees: int, scores: Any) -> FloatArray:
        """Measure a step; (n_metrics, n_queries)."""
        found, spread_now = self._measured(scores)
        if len(self._steps) == len(self._values):
            longer = np.empty((2 * len(self._values), *found.shape))  # what is not written to takes no memory
            longer[: len(self._values)] = self._values
            self._values = longer
        self._values[len(self._steps)] = found
        self._spread.append(spread_now)
        self._steps.append(trees)  # at last: another thread may ask for the track, which has as many steps as this
        return found

    def track(self) -> TreeTrack:
        """What was measured up to now."""
        assert self._start is not None
        n = len(self._steps)
        return TreeTrack(
            metrics=self.metrics,
            steps=np.array(self._steps[:n], dtype=np.int64),
            per_query=self._values[:n],  # further steps are written behind these
            beginning=self._beginning,
            start=self._start,
            query_weight=self.weights,
            spread=np.array(self._spread[:n]),
            groups=self.groups,
            y_true=self.y_true,
            scores=self._scores,
            qid=self.qid,
            label=self.label,
        )

    def _measured(self, scores: Any) -> tuple[FloatArray, float]:
        """Values of every metric, and the scores' spread, which is that of all metrics in its units."""
        checked = finite_vector(self.caller, "scores", scores, self.groups.n_docs)
        self._scores = checked.copy()  # boosters hand out a buffer that they write to again
        over_all = spread(self.groups, checked, self.weights)
        values = [
            in_score_units(metric, over_all).evaluate(queries, checked, self.weights)
            for metric, queries in zip(self.metrics, self._prepared, strict=True)
        ]
        return np.stack(values), over_all
