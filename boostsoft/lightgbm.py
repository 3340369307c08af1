"""LightGBM: soft metrics as its objective, hard and soft ones as its evaluation.

>>> import lightgbm as lgb, numpy as np, boostsoft as bs, boostsoft.lightgbm as bl
>>> rng = np.random.default_rng(0)
>>> X, y = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
>>> train = lgb.Dataset(X, y, group=[20] * 10)
>>> soft = bs.SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread")
>>> booster = lgb.train(
...     {"objective": bl.objective("ndcg@10"), "metric": "None", "verbose": -1},
...     train, num_boost_round=3, valid_sets=[train], feval=bl.feval("ndcg@10", soft))
>>> booster.num_trees()
3

LightGBM copies these objects and tells what they are by counting the parameters of their call, so that they are
small classes with plain ``__call__`` signatures. Row weights multiply a document's gradient and curvature; in a
metric a query weighs the mean of its rows' weights, as in LightGBM's own ndcg. They run on no more threads than
LightGBM does (``num_threads``, ``n_jobs``).
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from .adapters import AnyMetric, MetricList, PreparedCache, as_booster, threads_in
from .metrics.hard import Metric
from .objectives import LambdaObjective, Objective, SoftObjective
from .query_groups import FloatArray, QueryGroups, finite_vector

__all__ = [
    "feval",
    "lambda_objective",
    "objective",
    "sklearn_eval_metric",
    "sklearn_lambda_objective",
    "sklearn_objective",
]

_THREADS = ("num_threads", "num_thread", "nthread", "nthreads", "n_jobs")


def objective(
    metric: str | Metric = "ndcg@10",
    *,
    noise: str = "gaussian",
    sigma: float = 1.0,
    hessian: str = "flow",
    query_weight: Any = None,
    accuracy: str = "fast",
) -> LightGBMObjective:
    """Build an objective for ``params["objective"]`` of ``lgb.train`` and ``lgb.cv``.

    Parameters are those of :class:`boostsoft.objectives.SoftObjective`. Set ``params["metric"] = "None"`` and
    watch :func:`feval`; LightGBM's other parameters keep their meaning and defaults.

    Raises
    ------
    ValueError
        While training: if the Dataset has no groups or has positions, if folds of ``lgb.cv`` cut through queries
        (pass ``folds=GroupKFold(n)``), if no order of the documents is better than another, or if
        ``bagging_by_query`` is on, with which LightGBM trains stumps under any custom objective.

    Notes
    -----
    Two things cannot be seen from here. LightGBM itself turns NaN labels and weights into 0. And a Dataset that
    was constructed before training keeps the parameters of that time: ``bagging_by_query`` given later is missed.
    """
    return LightGBMObjective(
        SoftObjective(metric, noise=noise, sigma=sigma, hessian=hessian, query_weight=query_weight, accuracy=accuracy)
    )


def sklearn_objective(
    metric: str | Metric = "ndcg@10",
    *,
    noise: str = "gaussian",
    sigma: float = 1.0,
    hessian: str = "flow",
    query_weight: Any = None,
    accuracy: str = "fast",
) -> SklearnObjective:
    """Build an objective for ``lgb.LGBMRanker(objective=..., metric="None")``.

    Without ``metric="None"`` LGBMRanker also evaluates its own ndcg@1 to 5, which can stop training early. It does
    not show its parameters to an objective: leave out ``bagging_by_query``, with which it would train stumps.
    """
    return SklearnObjective(
        SoftObjective(metric, noise=noise, sigma=sigma, hessian=hessian, query_weight=query_weight, accuracy=accuracy)
    )


def lambda_objective(kind: str = "lambdarank", **options: Any) -> LightGBMObjective:
    """Build LambdaRank or RankNet for ``params["objective"]``: a reference, equal to LightGBM's own ``lambdarank``.

    Parameters are those of :class:`boostsoft.objectives.LambdaObjective`: ``truncation_level``, ``norm``, ``sigmoid``,
    ``gain`` and ``query_weight``.
    """
    return LightGBMObjective(LambdaObjective(kind, **options))


def sklearn_lambda_objective(kind: str = "lambdarank", **options: Any) -> SklearnObjective:
    """Build LambdaRank or RankNet for ``lgb.LGBMRanker(objective=..., metric="None")``."""
    return SklearnObjective(LambdaObjective(kind, **options))


def feval(*metrics: str | AnyMetric) -> LightGBMMetrics:
    """Build an evaluation for ``feval=`` of ``lgb.train`` and ``lgb.cv``.

    Takes any number of specs, Metrics and SoftMetrics. Hard metrics are logged as ``ndcg_hard@10``, soft ones as
    ``ndcg_gaussian@10``; equal names raise.
    """
    return LightGBMMetrics(MetricList("boostsoft.lightgbm.feval", metrics))


def sklearn_eval_metric(*metrics: str | AnyMetric) -> SklearnMetrics:
    """Build an evaluation for ``eval_metric=`` of ``LGBMRanker.fit``."""
    return SklearnMetrics(MetricList("boostsoft.lightgbm.sklearn_eval_metric", metrics))


class LightGBMObjective:
    """A callable ``(preds, train_data) -> gradient, hessian`` of what LightGBM minimises."""

    def __init__(self, rule: Objective) -> None:
        self.rule = rule
        self._cache = PreparedCache()

    def __call__(self, preds: Any, train_data: Any) -> tuple[FloatArray, FloatArray]:
        """Gradient and curvature of minus the soft metric."""
        caller = "boostsoft.lightgbm.objective"
        _refuse_other_calls(caller, "sklearn_objective", train_data)
        _refuse_traps(caller, train_data)
        with as_booster(_threads(train_data)):
            return _descent(
                self.rule, self._cache, train_data.get_label(), preds, train_data.get_weight(), train_data.get_group()
            )

    def __repr__(self) -> str:
        return f"boostsoft.lightgbm.objective({self.rule!r})"


class SklearnObjective:
    """A callable ``(y_true, y_pred, weight, group) -> gradient, hessian`` of what LGBMRanker minimises."""

    def __init__(self, rule: Objective) -> None:
        self.rule = rule
        self._cache = PreparedCache()

    def __call__(self, y_true: Any, y_pred: Any, weight: Any, group: Any) -> tuple[FloatArray, FloatArray]:
        """Gradient and curvature of minus the soft metric."""
        with as_booster(_threads()):
            return _descent(self.rule, self._cache, y_true, y_pred, weight, group)

    def __repr__(self) -> str:
        return f"boostsoft.lightgbm.sklearn_objective({self.rule!r})"


class LightGBMMetrics:
    """A callable ``(preds, eval_data) -> [(name, value, True), ...]``."""

    def __init__(self, metrics: MetricList) -> None:
        self.metrics = metrics

    def __call__(self, preds: Any, eval_data: Any) -> list[tuple[str, float, bool]]:
        """Evaluate every metric on one data set."""
        _refuse_other_calls(self.metrics.caller, "sklearn_eval_metric", eval_data)
        _refuse_cut_queries(self.metrics.caller, eval_data)
        with as_booster(_threads(eval_data)):
            return _logged(self.metrics, eval_data.get_label(), preds, eval_data.get_weight(), eval_data.get_group())


class SklearnMetrics:
    """A callable ``(y_true, y_pred, weight, group) -> [(name, value, True), ...]``."""

    def __init__(self, metrics: MetricList) -> None:
        self.metrics = metrics

    def __call__(self, y_true: Any, y_pred: Any, weight: Any, group: Any) -> list[tuple[str, float, bool]]:
        """Evaluate every metric on one data set."""
        with as_booster(_threads()):
            return _logged(self.metrics, y_true, y_pred, weight, group)


def _descent(
    rule: Objective, cache: PreparedCache, labels: Any, preds: Any, weight: Any, group: Any
) -> tuple[FloatArray, FloatArray]:
    caller = "boostsoft.lightgbm.objective"
    groups = _groups(caller, labels, group)
    queries = cache.get(labels, groups, rule.prepare)
    gradient, curvature = rule.gradient_curvature(queries, finite_vector(caller, "predictions", preds, groups.n_docs))
    if weight is not None:
        rows = _row_weights(caller, weight, groups)
        gradient, curvature = gradient * rows, curvature * rows
    return -gradient, curvature


def _logged(metrics: MetricList, labels: Any, preds: Any, weight: Any, group: Any) -> list[tuple[str, float, bool]]:
    groups = _groups(metrics.caller, labels, group)
    weights = np.ones(groups.n_queries)
    if weight is not None:
        rows = _row_weights(metrics.caller, weight, groups)
        weights = groups.sums(rows) / np.maximum(groups.sizes, 1)
    return [(name, value, True) for name, value in metrics.values(labels, groups, preds, weights)]


def _threads(data: Any = None) -> int | None:
    """The threads that LightGBM runs on, None for its default.

    It keeps one number for the whole process, set whenever a booster is made. Its library exports it, to be read
    only; no function returns it. The parameters of the Dataset are second best: one that was constructed before keeps
    those of its first training, and LGBMRanker shows its metrics no Dataset.
    """
    library = getattr(sys.modules.get("lightgbm.basic"), "_LIB", None)
    try:
        return ctypes.c_int.in_dll(library, "LGBM_DEFAULT_NUM_THREADS").value  # type: ignore[arg-type]
    except (AttributeError, TypeError, ValueError):  # no library, or not exported
        return threads_in(getattr(data, "params", None) or {}, _THREADS)


def _groups(caller: str, labels: Any, group: Any) -> QueryGroups:
    if group is None:
        raise ValueError(f"{caller}: the data has no groups; give lgb.Dataset or fit group= (documents per query)")
    return QueryGroups.from_sizes(group, np.asarray(labels).size)


def _row_weights(caller: str, weight: Any, groups: QueryGroups) -> FloatArray:
    rows = finite_vector(caller, "weight", weight, groups.n_docs)
    if np.any(rows < 0):
        raise ValueError(f"{caller}: weight must not be negative; got {rows.min()}")
    if not rows.any():
        raise ValueError(f"{caller}: weight must not be 0 for every row")
    return rows


def _refuse_other_calls(caller: str, twin: str, data: Any) -> None:
    if not hasattr(data, "get_group"):
        raise TypeError(
            f"{caller}: is called by lgb.train and lgb.cv, with a Dataset; got {type(data).__name__}. "
            f"LGBMRanker takes boostsoft.lightgbm.{twin}"
        )


def _refuse_traps(caller: str, train_data: Any) -> None:
    if train_data.get_position() is not None:
        raise ValueError(f"{caller}: the Dataset has positions; correcting position bias is not supported")
    if str((train_data.params or {}).get("bagging_by_query")).lower() in ("true", "+", "1"):
        raise ValueError(
            f"{caller}: bagging_by_query=True trains stumps under any custom objective; leave it out and build a "
            "new Dataset, for this one remembers it (bagging_fraction and feature_fraction work)"
        )
    _refuse_cut_queries(caller, train_data)


def _refuse_cut_queries(caller: str, data: Any) -> None:
    rows, whole = getattr(data, "used_indices", None), getattr(data, "reference", None)
    if rows is None or whole is None or whole.get_group() is None:
        return
    sizes = np.asarray(whole.get_group(), dtype=np.int64)
    kept = np.bincount(np.repeat(np.arange(sizes.size), sizes)[np.asarray(rows)], minlength=sizes.size)
    cut = np.flatnonzero((kept > 0) & (kept < sizes))
    if cut.size:
        q = int(cut[0])
        raise ValueError(
            f"{caller}: the folds cut through {cut.size} queries (query {q} has {kept[q]} of its {sizes[q]} "
            "documents here); give lgb.cv whole queries: folds=sklearn.model_selection.GroupKFold(n)"
        )
