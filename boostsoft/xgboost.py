"""XGBoost: soft metrics as its objective, hard and soft ones as its evaluation.

>>> import numpy as np, xgboost as xgb, boostsoft as bs, boostsoft.xgboost as bx
>>> rng = np.random.default_rng(0)
>>> train = xgb.DMatrix(rng.normal(size=(200, 3)), rng.integers(0, 3, 200), group=[20] * 10)
>>> soft = bs.SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread")
>>> booster = xgb.train(
...     {"base_score": 0, "disable_default_eval_metric": True}, train, num_boost_round=3,
...     obj=bx.objective("ndcg@10"), custom_metric=bx.custom_metric("ndcg@10", soft),
...     evals=[(train, "train")], maximize=True, verbose_eval=False)
>>> booster.num_boosted_rounds()
3

Weights of a ranking DMatrix are per query; they multiply gradients and metrics alike. ``maximize=True`` tells early
stopping the direction; ``base_score=0`` keeps scores from starting at .5 (which changes no ranking).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .adapters import AnyMetric, MetricList, PreparedCache
from .metrics.hard import Metric
from .objectives import LambdaObjective, Objective, SoftObjective
from .query_groups import FloatArray, QueryGroups, finite_vector, query_weights

__all__ = ["custom_metric", "lambda_objective", "objective"]

# Gradient and curvature times a constant: the leaves' Newton steps stay, but XGBoost's stock lambda = 1 and
# min_child_weight = 1 are made for curvatures of about .25 per document. A query's sum to about .1, whatever its
# length, and without this stock trees hardly learn; with it they keep pace with rank:ndcg (README, "Curvature").
STOCK_UNIT = 16.0


def objective(
    metric: str | Metric = "ndcg@10",
    *,
    noise: str = "gaussian",
    sigma: float = 1.0,
    hessian: str = "flow",
    query_weight: Any = None,
) -> XGBoostObjective:
    """Build an objective for ``obj=`` of ``xgb.train`` and ``xgb.cv``.

    Parameters are those of :class:`boostsoft.objectives.SoftObjective`. XGBRanker refuses callable objectives.

    Raises
    ------
    ValueError
        While training: if the DMatrix has no groups, if its weights are all 0, or if no order of the documents
        is better than another.

    Notes
    -----
    ``xgb.cv`` keeps queries whole and drops their weights, under any objective.
    """
    return XGBoostObjective(SoftObjective(metric, noise=noise, sigma=sigma, hessian=hessian, query_weight=query_weight))


def lambda_objective(
    kind: str = "lambdarank",
    *,
    truncation_level: int = 30,
    norm: bool = True,
    sigmoid: float = 1.0,
    gain: Any = "exp2",
    query_weight: Any = None,
) -> XGBoostObjective:
    """Build LightGBM's LambdaRank, or RankNet, for ``obj=``: a reference to compare with.

    Parameters are those of :class:`boostsoft.objectives.LambdaObjective`. XGBoost's own ``rank:ndcg`` is another
    variant (it normalises otherwise and starts from pairs of its own choice).
    """
    return XGBoostObjective(
        LambdaObjective(
            kind, truncation_level=truncation_level, norm=norm, sigmoid=sigmoid, gain=gain, query_weight=query_weight
        )
    )


def custom_metric(*metrics: str | AnyMetric) -> XGBoostMetrics:
    """Build an evaluation for ``custom_metric=`` of ``xgb.train`` and ``xgb.cv``.

    Takes any number of specs, Metrics and SoftMetrics; names as in :func:`boostsoft.lightgbm.feval`.
    """
    return XGBoostMetrics(MetricList("boostsoft.xgboost.custom_metric", metrics))


class XGBoostObjective:
    """A callable ``(predt, dtrain) -> gradient, hessian`` of what XGBoost minimises."""

    def __init__(self, rule: Objective) -> None:
        self.rule = rule
        self._cache = PreparedCache()

    def __call__(self, predt: Any, dtrain: Any) -> tuple[FloatArray, FloatArray]:
        """Gradient and curvature of minus the soft metric."""
        caller = "boostsoft.xgboost.objective"
        groups, weights = _groups_and_weights(caller, dtrain)
        queries = self._cache.get(dtrain.get_label(), groups, self.rule.prepare)
        gradient, curvature = self.rule.gradient_curvature(
            queries, finite_vector(caller, "predictions", np.ravel(predt), groups.n_docs)
        )
        unit = STOCK_UNIT if isinstance(self.rule, SoftObjective) else 1.0
        rows = unit * groups.per_document(weights)
        return -gradient * rows, curvature * rows

    def __repr__(self) -> str:
        return f"boostsoft.xgboost.objective({self.rule!r})"


class XGBoostMetrics:
    """A callable ``(predt, dmatrix) -> [(name, value), ...]``."""

    def __init__(self, metrics: MetricList) -> None:
        self.metrics = metrics

    def __call__(self, predt: Any, dmatrix: Any) -> list[tuple[str, float]]:
        """Evaluate every metric on one data set."""
        groups, weights = _groups_and_weights(self.metrics.caller, dmatrix)
        return self.metrics.values(dmatrix.get_label(), groups, np.ravel(predt), weights)


def _groups_and_weights(caller: str, dmatrix: Any) -> tuple[QueryGroups, FloatArray]:
    if not hasattr(dmatrix, "get_uint_info"):
        raise TypeError(f"{caller}: is called by xgb.train and xgb.cv, with a DMatrix; got {type(dmatrix).__name__}")
    offsets = dmatrix.get_uint_info("group_ptr")
    if offsets.size == 0:
        raise ValueError(f"{caller}: the DMatrix has no groups; give it group= (documents per query) or qid=")
    groups = QueryGroups.from_offsets(offsets.astype(np.int64))
    weights = dmatrix.get_weight()
    return groups, query_weights(caller, weights if weights.size else None, groups)
