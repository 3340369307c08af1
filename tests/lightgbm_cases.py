"""Small LightGBM models under our objective, by both of its interfaces."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np

import boostsoft.lightgbm as bl

QUIET = {"metric": "None", "verbose": -1, "num_threads": 1, "deterministic": True, "force_row_wise": True}
SMALL = {**QUIET, "num_leaves": 6, "min_data_in_leaf": 5}


def training_data():
    """Twenty queries of twenty documents, of grades 0 to 4 that three of six features tell."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 6))
    y = np.clip(np.round(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(scale=0.5, size=400)), 0, 4)
    return X, y, [20] * 20


def train(data, objective=None, rounds=8, params=None, **options):
    given = {**SMALL, **(params or {}), "objective": objective or bl.objective("ndcg@5")}
    return lgb.train(given, data if isinstance(data, lgb.Dataset) else data.dataset(), rounds, **options)


def rank_again(data, **options):
    """The same with LGBMRanker."""
    names = {"num_leaves": 6, "min_child_samples": 5, "n_estimators": 8, "metric": "None", "verbose": -1, "n_jobs": 1}
    return lgb.LGBMRanker(**{"objective": bl.sklearn_objective("ndcg@5"), **names, **options})
