"""LightGBM and its own objectives, on one binned data set for all runs on the same rows."""

from __future__ import annotations

from typing import Any

from ...commands.terminal import silent_errors
from ...datasets import RankingData
from .data import prepared
from .jobs import Job, Model


def train(job: Job) -> Model:
    """Grow trees until nothing better comes."""
    import lightgbm as lgb

    watch = job.watch()

    def measure(preds: Any, _: Any) -> list[tuple[str, float, bool]]:
        return [("stop", watch.add(preds), True)]

    grown: list[int] = []  # trees after each round, which may find no split and grow none

    def stop(env: Any) -> None:
        grown.append(env.model.current_iteration())
        if watch.exhausted:
            raise lgb.callback.EarlyStopException(watch.best - 1, [])

    with silent_errors():  # what it refuses is told with the run
        train_set, valid_set = prepared(_datasets, job.train, job.valid)
        booster = lgb.train(
            parameters(job), train_set, job.trees, valid_sets=[valid_set], feval=measure, callbacks=[stop]
        )
    trees = grown[watch.best - 1]
    return Model(trees, lambda X: booster.predict(X, num_iteration=trees, raw_score=True))


def parameters(job: Job) -> dict[str, Any]:
    """LightGBM's parameters of a run."""
    return {
        "metric": "None",
        "seed": job.seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": job.threads,
        "verbosity": -1,
        **_BINNING,
        **job.method.fixed,
        **job.grown("lightgbm"),
        "objective": job.method.objective,
        **job.setting["own"],
    }


# so that one binned data set serves every min_data_in_leaf
_BINNING = {"feature_pre_filter": False}


def _datasets(train: RankingData, valid: RankingData) -> tuple[Any, Any]:
    import lightgbm as lgb

    settled = {**_BINNING, "verbosity": -1}
    train_set = lgb.Dataset(train.X, train.y, group=train.sizes, params=settled, free_raw_data=False).construct()
    valid_set = lgb.Dataset(
        valid.X, valid.y, group=valid.sizes, reference=train_set, params=settled, free_raw_data=False
    ).construct()
    return train_set, valid_set
