"""A small ranking task that LightGBM and XGBoost train on while a callback measures."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest

import boostsoft as bs
import boostsoft.lightgbm as bl

from . import booster_cases

xgb = pytest.importorskip("xgboost")

HARD = bs.Metric("ndcg@10")
SOFT = bs.SoftMetric("ndcg@10", sigma=0.3, sigma_unit="spread")
NAMES = ["ndcg_hard@10", "ndcg_gaussian@10"]
QUIET = {"verbose": -1, "num_threads": 1, "deterministic": True, "force_row_wise": True}
SMALL = {**QUIET, "num_leaves": 6, "min_data_in_leaf": 5, "metric": "None", "objective": "lambdarank"}
ROUNDS = 7


class Ranking(booster_cases.Ranking):
    def dataset(self, **options):
        return super().dataset(free_raw_data=False, **options)

    def expected(self, scores):
        """Of both metrics, (n_metrics, n_queries)."""
        return np.stack([metric.per_query(self.y, scores, group=self.sizes) for metric in (HARD, SOFT)])


def ranking(seed, n_queries):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(4, 20, n_queries)
    X = rng.normal(size=(sizes.sum(), 5))
    worth = X[:, 0] + 0.7 * np.abs(X[:, 1]) + rng.normal(size=len(X))
    return Ranking(X, np.digitize(worth, [0.8, 1.5, 2.5]).astype(float), sizes)


@pytest.fixture(scope="module")
def data():
    return ranking(0, 40)


@pytest.fixture(scope="module")
def valid():
    return ranking(1, 15)


def tracked(*metrics, **options):
    return bl.track_callback(*(metrics or (HARD, SOFT)), progress=False, **options)


def train(data, valid, callbacks, rounds=ROUNDS, params=None, **options):
    given = {**SMALL, **(params or {})}
    options = {"valid_sets": [valid.dataset()], "valid_names": ["valid"], **options}
    return lgb.train(given, data.dataset(), rounds, callbacks=callbacks, **options)


def boost(data, callbacks, rounds=ROUNDS, params=None, **options):
    given = {"nthread": 1, "max_depth": 3, "objective": "rank:ndcg", **(params or {})}
    return xgb.train(given, data.matrix(), rounds, callbacks=callbacks, verbose_eval=False, **options)


def means(track):
    return {name: track.mean[:, at].tolist() for at, name in enumerate(NAMES)}
