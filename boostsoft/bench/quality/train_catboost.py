"""CatBoost: symmetric trees under its own objectives."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arguments import FloatArray
from ...datasets import RankingData
from .data import prepared
from .jobs import Job, Model
from .watch import Watch

# its own NDCG ends the training; it counts queries without anything relevant as 1, which moves all values alike
_STOP = "NDCG:top=10;type=Exp"


def train(job: Job) -> Model:
    """Grow trees until CatBoost finds nothing better; which number of them is best is measured afterwards."""
    import catboost

    train_set, valid_set = prepared(_pools, job.train, job.valid)
    model = catboost.CatBoost(parameters(job))
    model.fit(train_set, eval_set=valid_set)
    watch = Watch(job.valid, None)
    for scores in model.staged_predict(valid_set, thread_count=job.threads):
        watch.add(scores)
    trees = watch.best

    def predict(X: FloatArray) -> FloatArray:
        found: FloatArray = model.predict(X, ntree_end=trees, thread_count=job.threads)
        return found

    return Model(trees, predict)


def parameters(job: Job) -> dict[str, Any]:
    """CatBoost's parameters of a run."""
    return {
        "loss_function": loss(job),
        "eval_metric": _STOP,
        "iterations": job.trees,
        "od_type": "Iter",
        "od_wait": job.patience,
        "use_best_model": False,
        "random_seed": job.seed,
        "thread_count": job.threads,
        "allow_writing_files": False,
        "logging_level": "Silent",
        **job.setting["trees"],
    }


def loss(job: Job) -> str:
    """The objective with its parameters, as CatBoost writes them."""
    options = {**job.method.fixed, **job.setting["own"]}
    text = ";".join(f"{name}={value}" for name, value in options.items())
    return f"{job.method.objective}:{text}" if text else f"{job.method.objective}"


def _pools(train: RankingData, valid: RankingData) -> tuple[Any, Any]:
    import catboost

    train_set, valid_set = (
        catboost.Pool(part.X, part.y, group_id=np.repeat(np.arange(part.n_queries), part.sizes))
        for part in (train, valid)
    )
    return train_set, valid_set
