"""Ours: SoftRanker, on either booster."""

from __future__ import annotations

from typing import Any

from ...ranker import SoftRanker
from .jobs import Job, Model


def train(job: Job) -> Model:
    """Grow trees until nothing better comes."""
    ranker = SoftRanker(**parameters(job)).fit(
        job.train.X,
        job.train.y,
        group=job.train.sizes,
        eval_set=[(job.valid.X, job.valid.y)],
        eval_group=[job.valid.sizes],
    )
    return Model(ranker.best_iteration_, ranker.predict)


def parameters(job: Job) -> dict[str, Any]:
    """SoftRanker's arguments of a run."""
    return {
        "booster": job.method.library,
        "n_estimators": job.trees,
        "early_stopping_rounds": job.patience,
        "n_jobs": job.threads,
        "progress": False,  # the study shows its own
        "random_state": job.seed,
        **job.method.fixed,
        **job.setting["trees"],
        **job.setting["own"],
    }
