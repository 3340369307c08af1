"""Calls of metrics in the boosters' own ways, and what to give the boosters in place of a metric."""

from __future__ import annotations

from types import FrameType
from typing import NoReturn


def refuse_data_of_booster(caller: str, data: type) -> NoReturn:
    """Say what a booster is to be given in place of a metric."""
    library = "xgboost" if data.__module__.startswith("xgboost") else "lightgbm"
    adapter = "custom_metric" if library == "xgboost" else "feval"
    raise TypeError(
        f"{caller}: y_score must hold scores; got {data.__name__}. Give the booster "
        f"boostsoft.{library}.{adapter}(metric) to watch it, boostsoft.{library}.objective('ndcg@10') to train on one"
    )


def refuse_xgboosts_estimators(caller: str, frame: FrameType | None) -> None:
    """Raise if the call comes from a ``frame`` of XGBoost's scikit-learn interface, to which a metric is an error."""
    if frame is not None and frame.f_globals.get("__name__") == "xgboost.sklearn":
        raise TypeError(
            f"{caller}: eval_metric of XGBoost's estimators takes errors, most of which it minimises, and calls them "
            "without the queries, or query by query; give XGBRanker callbacks=[boostsoft.xgboost.TrackCallback(data, "
            "metric)], where data is a DMatrix with group= or qid=, and to stop early, behind it, "
            "xgboost.callback.EarlyStopping(rounds=, metric_name=, maximize=True)"
        )
