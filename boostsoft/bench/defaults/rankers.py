"""The rankers that are compared, each by its library's defaults: what fits it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...choices import BoosterName
from ...commands.terminal import silent_errors
from ...ranker import SoftRanker
from .draws import Draw

_PATIENCE = 50
Fit = Callable[["Job"], Any]  # returns what has a ``predict``


@dataclass(frozen=True, eq=False)
class Job:
    """What is fitted: a draw, with a seed, so many trees, and whether the validation part stops them."""

    draw: Draw
    seed: int
    trees: int
    stop: bool

    def query_ids(self, part: str) -> Any:
        """A number for each document's query, which rises from query to query."""
        sizes = getattr(self.draw, part).sizes
        return np.repeat(np.arange(sizes.size), sizes)


@dataclass(frozen=True)
class Ranker:
    """A ranker: its id in options, its name in tables, the library that grows its trees, and how it is fitted."""

    id: str
    name: str
    library: str
    fit: Fit
    ours: bool = False


def _soft(library: BoosterName) -> Fit:
    def fit(job: Job) -> Any:
        train, valid = job.draw.train, job.draw.valid
        watched: dict[str, Any] = {}
        ranker = SoftRanker(library, n_estimators=job.trees, random_state=job.seed, progress=False)
        if job.stop:
            ranker.set_params(early_stopping_rounds=_PATIENCE)
            watched = {"eval_set": [(valid.X, valid.y)], "eval_group": [valid.sizes]}
        return ranker.fit(train.X, train.y, group=train.sizes, **watched)

    return fit


def _lightgbm(objective: str) -> Fit:
    def fit(job: Job) -> Any:
        import lightgbm as lgb

        # what LGBMRanker does, whose names for the validation part change from release to release
        params = {"objective": objective, "eval_at": [10], "seed": job.seed, "verbose": -1}
        train = lgb.Dataset(job.draw.train.X, job.draw.train.y, group=job.draw.train.sizes, params=params)
        if not job.stop:
            with silent_errors():  # the report says why it is left out
                return lgb.train(params, train, job.trees)
        valid = train.create_valid(job.draw.valid.X, job.draw.valid.y, group=job.draw.valid.sizes)
        stopping = lgb.early_stopping(_PATIENCE, verbose=False)
        with silent_errors():
            return lgb.train(params, train, job.trees, valid_sets=[valid], callbacks=[stopping])

    return fit


def _xgboost(job: Job) -> Any:
    import xgboost as xgb

    train, valid = job.draw.train, job.draw.valid
    stopping: dict[str, Any] = {}
    watched: dict[str, Any] = {}
    if job.stop:
        stopping = {"early_stopping_rounds": _PATIENCE, "eval_metric": "ndcg@10"}
        watched = {"eval_set": [(valid.X, valid.y)], "eval_qid": [job.query_ids("valid")], "verbose": False}
    ranker = xgb.XGBRanker(n_estimators=job.trees, random_state=job.seed, **stopping)
    return ranker.fit(train.X, train.y, qid=job.query_ids("train"), **watched)


def _catboost(job: Job) -> Any:
    import catboost

    watched: dict[str, Any] = {}
    if job.stop:
        valid = catboost.Pool(job.draw.valid.X, job.draw.valid.y, group_id=job.query_ids("valid"))
        watched = {"eval_set": valid, "early_stopping_rounds": _PATIENCE}
    ranker = catboost.CatBoostRanker(
        iterations=job.trees, random_seed=job.seed, verbose=False, allow_writing_files=False
    )
    train = job.draw.train
    return ranker.fit(train.X, train.y, group_id=job.query_ids("train"), **watched)


LAMBDARANK, RANK_NDCG = "lambdarank", "xgb-ndcg"
RANKERS: Mapping[str, Ranker] = {
    ranker.id: ranker
    for ranker in (
        Ranker("soft-lightgbm", "SoftRanker in LightGBM", "lightgbm", _soft("lightgbm"), ours=True),
        Ranker("soft-xgboost", "SoftRanker in XGBoost", "xgboost", _soft("xgboost"), ours=True),
        Ranker(LAMBDARANK, "LGBMRanker", "lightgbm", _lightgbm("lambdarank")),
        Ranker("xendcg", "LGBMRanker, rank_xendcg", "lightgbm", _lightgbm("rank_xendcg")),
        Ranker(RANK_NDCG, "XGBRanker", "xgboost", _xgboost),
        Ranker("catboost", "CatBoostRanker", "catboost", _catboost),
    )
}
