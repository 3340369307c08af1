"""XGBoost and its own objectives, trees grown leaf by leaf."""

from __future__ import annotations

from typing import Any

from ...datasets import RankingData
from .data import prepared
from .jobs import Job, Model
from .watch import Watch


def train(job: Job) -> Model:
    """Grow trees until nothing better comes."""
    import xgboost as xgb

    watch = job.watch()

    def measure(predt: Any, _: Any) -> tuple[str, float]:
        return "stop", watch.add(predt)

    train_set, valid_set = prepared(_matrices, job.train, job.valid, job.threads)
    booster = xgb.train(
        parameters(job),
        train_set,
        job.trees,
        evals=[(valid_set, "valid")],
        custom_metric=measure,
        callbacks=[_stop(watch)],
        verbose_eval=False,
    )
    trees = watch.best
    return Model(trees, lambda X: booster.predict(xgb.DMatrix(X), iteration_range=(0, trees), output_margin=True))


def parameters(job: Job) -> dict[str, Any]:
    """XGBoost's parameters of a run."""
    return {
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_depth": 0,
        "base_score": 0.0,
        "disable_default_eval_metric": True,
        "seed": job.seed,
        "nthread": job.threads,
        "verbosity": 0,
        **job.method.fixed,
        **job.grown("xgboost"),
        "objective": job.method.objective,
        **job.setting["own"],
    }


def _stop(watch: Watch) -> Any:
    """A callback that ends the training when the watch says so."""
    import xgboost as xgb

    class Stop(xgb.callback.TrainingCallback):  # type: ignore[misc]
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            return watch.exhausted

    return Stop()


def _matrices(train: RankingData, valid: RankingData, threads: int) -> tuple[Any, Any]:
    import xgboost as xgb

    train_set = xgb.QuantileDMatrix(train.X, train.y, group=train.sizes, nthread=threads)
    return train_set, xgb.DMatrix(valid.X, valid.y, group=valid.sizes, nthread=threads)
