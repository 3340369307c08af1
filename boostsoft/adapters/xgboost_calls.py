"""What XGBoost calls: an objective and metrics, by the interface of xgb.train."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..arguments import FloatArray, finite_vector
from ..metric_lists import MetricList, PreparedCache
from ..metrics.prepared import PreparedQueries
from ..objectives import Objective
from .shared import as_booster, refuse_large_gradients, refuse_no_gradient, refuse_tables_of_scores, stock_unit
from .xgboost_data import (
    callbacks_of_training,
    groups_and_weights,
    is_empty,
    labels_of,
    library,
    over_workers,
    refuse_to_minimise,
    threads,
    warn_if_no_split,
)

CLASSES = "num_class, num_target and further columns of labels"
_LARGEST = 1e18  # a gradient: XGBoost squares sums of them in float32, which ends at 3e38


def refuse_gradients(caller: str, gradient: FloatArray, unit: float) -> None:
    """Raise if gradients, times the unit, are beyond what XGBoost can compute with."""
    refuse_large_gradients(caller, gradient, unit, "XGBoost", _LARGEST)


class XGBoostObjective:
    """A callable ``(predt, dtrain) -> gradient, hessian`` of what XGBoost minimises.

    ``caller`` is who signs errors, where it is not who has built it: SoftRanker, which also tells of trees that cannot
    be split in terms of its own parameters.
    """

    def __init__(
        self, rule: Objective, built_by: str = "objective", unit: float | None = None, caller: str | None = None
    ) -> None:
        self.rule, self._name = rule, f"boostsoft.xgboost.{built_by}"
        self.caller, self._warns = self._name if caller is None else caller, caller is None
        self._unit = stock_unit(rule) if unit is None else unit
        self._cache: PreparedCache[PreparedQueries] = PreparedCache()

    def __call__(self, predt: Any, dtrain: Any) -> tuple[FloatArray, FloatArray]:
        """Gradient and curvature of what is minimised."""
        part = over_workers() is not None
        if part and is_empty(dtrain):
            return np.zeros(0), np.zeros(0)
        refuse_tables_of_scores(self.caller, predt, CLASSES)
        groups, weights = groups_and_weights(self.caller, dtrain)
        labels = labels_of(self.caller, dtrain)
        queries = self._cache.get(labels, groups, partial(self.rule.prepare, part=part, caller=self.caller))
        scores = finite_vector(self.caller, "predictions", np.ravel(predt), groups.n_docs)
        rows = groups.per_document(weights) if np.any(weights != 1.0) else None
        with as_booster(threads(), library()):
            gradient, curvature = self.rule.unchecked(queries, scores, rows)
        refuse_gradients(self.caller, gradient, self._unit)
        if not part and (self._warns or rows is not None) and np.all(scores == scores[:1]):
            if rows is not None:
                refuse_no_gradient(self.caller, gradient)
            if self._warns:
                warn_if_no_split(self.caller, self._unit * float(curvature.sum()))
        return np.multiply(gradient, -self._unit, out=gradient), np.multiply(curvature, self._unit, out=curvature)

    def __repr__(self) -> str:
        return f"{self._name}({self.rule!r})"


class XGBoostMetrics:
    """A callable ``(predt, dmatrix) -> [(name, value), ...]``."""

    def __init__(self, metrics: MetricList) -> None:
        self.metrics = metrics

    def __call__(self, predt: Any, dmatrix: Any) -> list[tuple[str, float]]:
        """Evaluate every metric on one data set, on the parts of all workers together."""
        self._refuse_to_minimise()
        total = over_workers()
        if total is not None and is_empty(dmatrix):
            return self.metrics.pooled_values(None, None, None, np.zeros(0), total)
        refuse_tables_of_scores(self.metrics.caller, predt, CLASSES)
        groups, weights = groups_and_weights(self.metrics.caller, dmatrix)
        labels = labels_of(self.metrics.caller, dmatrix)
        with as_booster(threads(), library()):
            if total is None:
                return self.metrics.values(labels, groups, np.ravel(predt), weights)
            return self.metrics.pooled_values(labels, groups, np.ravel(predt), weights, total)

    def _refuse_to_minimise(self) -> None:
        """Raise if XGBoost's early stopping would; whoever calls in a function of theirs may log what they like."""
        training, names = callbacks_of_training()
        if training is not None and training.metric is self:
            log = {name: dict.fromkeys(self.metrics.names, True) for name in names}
            refuse_to_minimise(self.metrics.caller, training.callbacks, log)

    def __repr__(self) -> str:
        return repr(self.metrics)
