"""A small ranking task for the boosters' adapters."""

from __future__ import annotations

from typing import NamedTuple

import lightgbm as lgb
import numpy as np
import pytest

import boostsoft as bs
from boostsoft import QueryGroups

NOISES = ("gaussian", "gumbel", "logistic")


class Ranking(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    sizes: np.ndarray

    def dataset(self, **options):
        """For LightGBM."""
        return lgb.Dataset(self.X, self.y, group=self.sizes, **options)

    def matrix(self, kind=None, **options):
        """For XGBoost, which may not be there: a DMatrix, or another kind of it."""
        import xgboost as xgb

        return (kind or xgb.DMatrix)(self.X, self.y, group=self.sizes, **options)

    @property
    def query(self):
        return np.repeat(np.arange(self.sizes.size), self.sizes)

    @property
    def groups(self):
        return QueryGroups.from_sizes(self.sizes)


def ranking(seed=0, sizes=None):
    """Grades 0 to 3 that two of five features tell, with noise; query 3 has nothing relevant."""
    rng = np.random.default_rng(seed)
    sizes = np.asarray(rng.integers(5, 25, 30) if sizes is None else sizes)
    X = rng.normal(size=(sizes.sum(), 5))
    worth = X[:, 0] + 0.7 * np.abs(X[:, 1]) + 0.3 * rng.normal(size=len(X))
    y = np.digitize(worth, [0.8, 1.5, 2.5]).astype(float)
    y[np.repeat(np.arange(sizes.size), sizes) == 3] = 0.0
    return Ranking(X, y, sizes)


@pytest.fixture(scope="module")
def data():
    return ranking(0)


@pytest.fixture(scope="module")
def valid():
    return ranking(1, [12, 7, 30, 4, 9, 15, 22])


def spread_metric(**options):
    return bs.SoftMetric("ndcg@5", sigma=0.3, sigma_unit="spread", **options)


def logged_metrics():
    """By the names that boosters' logs give them."""
    return {
        "ndcg_hard@5": bs.Metric("ndcg@5"),
        "precision_hard@3": bs.Metric("precision@3", empty="skip", relevant_from=2),
        "ndcg_gaussian@5": spread_metric(),
        "dcg_logistic": bs.SoftMetric("dcg", noise="logistic"),
        "mine": bs.Metric("ndcg", name="mine"),
    }


# of an objective, for the task's 30 queries, and what it says of them
unsuitable_options = pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"query_weight": [1.0, 2.0]}, "query_weight must have one value per query, 30; got 2"),
        ({"query_weight": [-1.0] * 30}, "query_weight must not be negative"),
        ({"metric": bs.Metric("dcg@3", discount=[0.1, 0.5, 0.6])}, "the discount must not rise"),
        ({"metric": "cg"}, "there is nothing to learn"),
    ],
)
