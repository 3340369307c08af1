"""What LightGBM calls: an objective and metrics, each by the interface of lgb.train and by that of LGBMRanker."""

from __future__ import annotations

from functools import partial
from math import nan
from typing import Any

import numpy as np

from ..arguments import FloatArray, finite_vector
from ..metric_lists import MetricList, PreparedCache
from ..metrics.hard import Metric
from ..metrics.prepared import PreparedQueries
from ..metrics.registry import REGISTRY
from ..objectives import Objective
from ..pooling import needs_spread
from .lightgbm_data import (
    Training,
    begins,
    library,
    machines,
    read_groups,
    refuse_bagged_queries,
    refuse_cut_queries,
    refuse_dropped_trees,
    refuse_traps,
    row_weights,
    threads,
    training_behind,
    weights_of_queries,
)
from .lightgbm_warnings import warn_of_few_leaves, warn_of_what_is_not_read
from .shared import as_booster, refuse_large_gradients, refuse_no_gradient, refuse_tables_of_scores

CLASSES = "num_class"
_LARGEST = 1e37  # a gradient: LightGBM keeps it in float32, which ends at 3e38


def refuse_gradients(caller: str, gradient: FloatArray) -> None:
    """Raise if gradients are beyond what LightGBM can compute with."""
    refuse_large_gradients(caller, gradient, 1.0, "LightGBM", _LARGEST)


class _ObjectiveCall:
    """What both interfaces to an objective have: it, labels prepared once, and a name in errors."""

    def __init__(self, rule: Objective, built_by: str, twin: str, caller: str | None = None) -> None:
        self.rule, self._name, self._twin = rule, f"boostsoft.lightgbm.{built_by}", twin
        self.caller = self._name if caller is None else caller
        self._cache: PreparedCache[PreparedQueries] = PreparedCache()

    def _gradient_curvature(
        self, training: Training, labels: Any, preds: Any, weight: Any, group: Any
    ) -> tuple[FloatArray, FloatArray]:
        refuse_tables_of_scores(self.caller, preds, CLASSES)
        groups = read_groups(self.caller, labels, group)
        queries = self._cache.get(labels, groups, partial(self.rule.prepare, caller=self.caller))
        scores = finite_vector(self.caller, "predictions", preds, groups.n_docs)
        rows = None if weight is None else row_weights(self.caller, weight, groups)
        gradient, curvature = self.rule.unchecked(queries, scores, rows)
        refuse_gradients(self.caller, gradient)
        if begins(training):
            if rows is not None and machines(training.params) == 1 and np.all(scores == scores[:1]):
                refuse_no_gradient(self.caller, gradient)
            warn_of_few_leaves(self.caller, training.params, groups.n_docs, float(curvature.sum()))
            warn_of_what_is_not_read(self.caller, training.params, self.rule, _gain(self.rule))
        return np.negative(gradient, out=gradient), curvature

    def __repr__(self) -> str:
        return f"{self._name}({self.rule!r})"


class LightGBMObjective(_ObjectiveCall):
    """A callable ``(preds, train_data) -> gradient, hessian`` of what LightGBM minimises.

    ``caller`` is who signs errors and warnings, where it is not who has built it.
    """

    def __init__(self, rule: Objective, built_by: str = "objective", caller: str | None = None) -> None:
        super().__init__(rule, built_by, f"sklearn_{built_by}", caller)

    def __call__(self, preds: Any, train_data: Any) -> tuple[FloatArray, FloatArray]:
        """Gradient and curvature of what is minimised."""
        _refuse_other_calls(self.caller, self._twin, train_data)
        training = training_behind(train_data)
        refuse_traps(self.caller, train_data, training.params)
        given = train_data.get_label(), preds, train_data.get_weight(), train_data.get_group()
        with as_booster(threads(train_data), library()):
            return self._gradient_curvature(training, *given)


class SklearnObjective(_ObjectiveCall):
    """A callable ``(y_true, y_pred, weight, group) -> gradient, hessian`` of what LGBMRanker minimises."""

    def __init__(self, rule: Objective, built_by: str = "sklearn_objective") -> None:
        super().__init__(rule, built_by, built_by.removeprefix("sklearn_"))

    def __call__(
        self, y_true: Any, y_pred: Any, weight: Any = None, group: Any = None
    ) -> tuple[FloatArray, FloatArray]:
        """Gradient and curvature of what is minimised."""
        _refuse_datasets(self.caller, self._twin, y_pred)
        training = training_behind()
        refuse_bagged_queries(self.caller, training.params)
        with as_booster(threads(), library()):
            return self._gradient_curvature(training, y_true, y_pred, weight, group)


class _MetricsCall:
    """What both interfaces to metrics have."""

    def __init__(self, metrics: MetricList) -> None:
        self.metrics = metrics

    def _logged(
        self, training: Training, labels: Any, preds: Any, weight: Any, group: Any
    ) -> list[tuple[str, float, bool]]:
        refuse_tables_of_scores(self.metrics.caller, preds, CLASSES)
        groups = read_groups(self.metrics.caller, labels, group)
        if weight is not None and machines(training.params) > 1 and not np.any(weight):
            return [(name, nan, True) for name in self.metrics.names]  # the weight is in the rows of other machines
        weights = weights_of_queries(self.metrics.caller, weight, groups)
        return [(name, value, True) for name, value in self.metrics.values(labels, groups, preds, weights)]

    def __repr__(self) -> str:
        return repr(self.metrics)


class LightGBMMetrics(_MetricsCall):
    """A callable ``(preds, eval_data) -> [(name, value, True), ...]``."""

    def __call__(self, preds: Any, eval_data: Any) -> list[tuple[str, float, bool]]:
        """Evaluate every metric on one data set."""
        _refuse_other_calls(self.metrics.caller, "sklearn_eval_metric", eval_data)
        refuse_cut_queries(self.metrics.caller, eval_data)
        training = training_behind(eval_data)
        _refuse_to_evaluate(self.metrics, training)
        given = eval_data.get_label(), preds, eval_data.get_weight(), eval_data.get_group()
        with as_booster(threads(eval_data), library()):
            return self._logged(training, *given)


class SklearnMetrics(_MetricsCall):
    """A callable ``(y_true, y_pred, weight, group) -> [(name, value, True), ...]``."""

    def __call__(
        self, y_true: Any, y_pred: Any, weight: Any = None, group: Any = None
    ) -> list[tuple[str, float, bool]]:
        """Evaluate every metric on one data set."""
        _refuse_datasets(self.metrics.caller, "feval", y_pred)
        training = training_behind()
        _refuse_to_evaluate(self.metrics, training)
        with as_booster(threads(), library()):
            return self._logged(training, y_true, y_pred, weight, group)


def _gain(rule: Objective) -> Any:
    """What labels are worth to an objective, None where it has no gains."""
    metric = getattr(rule, "metric", None)
    return metric.gain if isinstance(metric, Metric) and "gain" in REGISTRY[metric.metric].options else None


def _refuse_to_evaluate(metrics: MetricList, training: Training) -> None:
    if training.shows_training_scores:
        refuse_dropped_trees(metrics.caller, training.params)
    _refuse_part_of_a_spread(metrics, training)


def _refuse_part_of_a_spread(metrics: MetricList, training: Training) -> None:
    """LightGBM shows a metric the rows of one machine, whose spread is not that of all."""
    n = machines(training.params)
    if n > 1 and any(map(needs_spread, metrics.metrics)):
        raise ValueError(
            f"{metrics.caller}: metrics must not be in units of the spread where LightGBM trains on several machines, "
            f"each of which shows a metric its own rows; got {metrics.names} on {n} machines "
            "(boostsoft.dask.evaluate pools over all)"
        )


def _refuse_datasets(caller: str, twin: str, data: Any) -> None:
    if hasattr(data, "get_group"):
        raise TypeError(
            f"{caller}: is called by LGBMRanker, with labels, predictions, weights and groups; got a "
            f"{type(data).__name__}. lgb.train and lgb.cv take boostsoft.lightgbm.{twin}"
        )


def _refuse_other_calls(caller: str, twin: str, data: Any) -> None:
    if not hasattr(data, "get_init_score"):  # XGBoost's DMatrix has most of what else a Dataset has
        raise TypeError(
            f"{caller}: is called by lgb.train and lgb.cv, with a Dataset; got {type(data).__name__}. "
            f"LGBMRanker takes boostsoft.lightgbm.{twin}, XGBoost what boostsoft.xgboost builds"
        )
