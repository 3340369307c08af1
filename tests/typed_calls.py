"""Calls of a user who checks types strictly: mypy reads them with the package, nothing runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import boostsoft as bs
import boostsoft.lightgbm as bl

if TYPE_CHECKING:
    from typing_extensions import assert_type

    import boostsoft.xgboost as bx


def legal(scores: NDArray[np.float64]) -> None:
    """None of these is to be an error."""
    by_name: dict[str, float] = {"kendall": 0.3}
    by_value: dict[bs.Metric, float] = {bs.Metric("kendall"): 0.3}
    by_either: dict[str | bs.Metric, float] = {"kendall": 0.3, bs.Metric("auc"): 1}
    bl.objective(mix=by_name)
    bl.sklearn_objective(mix=by_value)
    bx.objective(mix=by_either, losses={"xendcg": 1})
    bx.objective(mix={"kendall": 1})
    bl.objective(mix={bs.Metric("kendall"): 0.3, "auc": 0.2})
    bs.blend_surface([[1.0, 2.0, 3.0]], [1.0], group=[1], models=[0, 1, 2], random_state=None)
    bs.blend_curve([[1.0, 2.0]], [1.0], group=[1], random_state=np.random.default_rng(0))
    soft = bs.SoftMetric("ndcg@10", sigma=1, gain="linear")
    metrics: list[bs.Metric | bs.SoftMetric] = [soft, soft.hard]
    for metric in metrics:
        assert_type(metric([0, 1, 2, 0], scores, group=[2, 2]), float)
        assert_type(metric.per_query([0, 1, 2, 0], scores, qid=["a", "a", "b", "b"]), NDArray[np.float64])
    assert_type(bs.SoftRanker().fit(scores[:, None], scores).predict(scores[:, None]), NDArray[np.float64])
    assert_type(bs.SoftBlender().fit(scores[:, None], scores), bs.SoftBlender)
