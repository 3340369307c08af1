"""A small ranking task for the ranker's tests."""

from __future__ import annotations

from typing import NamedTuple

import lightgbm as lgb
import numpy as np
import pytest

from boostsoft.ranker import SoftRanker

BOOSTERS = ("lightgbm", "xgboost")
both = pytest.mark.parametrize("booster", BOOSTERS)


class Task(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray

    @property
    def sizes(self):
        return np.unique(self.qid, return_counts=True)[1]

    def rows(self, rows):
        return Task(self.X[rows], self.y[rows], self.qid[rows])


def task(seed=0, n_queries=30, first_id=100):
    """Grades 0 to 3 that two of four features tell, with noise; sorted by query."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 25, n_queries)
    X = rng.normal(size=(sizes.sum(), 4))
    worth = X[:, 0] + 0.7 * np.abs(X[:, 1]) + 0.5 * rng.normal(size=len(X))
    return Task(X, np.digitize(worth, [0.8, 1.5, 2.5]), np.repeat(first_id + np.arange(n_queries), sizes))


@pytest.fixture(scope="module")
def data():
    return task(0)


@pytest.fixture(scope="module")
def valid():
    return task(1, 12)


def shuffled(data, seed=1):
    """The same rows in another order, of queries and within them."""
    return data.rows(np.random.default_rng(seed).permutation(len(data.y)))


# the metric alone on trees that see everything: what the boosters do by themselves can be compared
PLAIN = {"mix": None, "losses": None, "noise": "gaussian", "random_trees": False, "reg_lambda": 0.0, "n_boosters": 1}


def ranker(booster="lightgbm", **parameters):
    small = {"n_estimators": 8, "num_leaves": 6, "min_child_samples": 5, "n_jobs": 1}
    return SoftRanker(booster, **{**PLAIN, **small, **parameters})


def fit(model, data, **arguments):
    return model.fit(data.X, data.y, qid=data.qid, **arguments)


SOFT = "ndcg_gaussian@10"


def watched(booster, data, valid, **parameters):
    """A ranker whose early stopping ends well before its last tree."""
    model = ranker(booster, n_estimators=80, learning_rate=0.5, early_stopping_rounds=4, **parameters)
    return fit(model, data, eval_set=[(valid.X, valid.y)], eval_qid=[valid.qid])


def leaves(booster):
    """Value and curvature of a tree's leaves, as the booster itself has them."""
    frame = booster.trees_to_dataframe()
    if isinstance(booster, lgb.Booster):
        frame = frame[frame["left_child"].isna()]
        return frame["value"].to_numpy(), frame["weight"].to_numpy()
    frame = frame[frame["Feature"] == "Leaf"]
    return frame["Gain"].to_numpy(), frame["Cover"].to_numpy()


def colours(data, seed=3):
    """A feature in colours, of which red and blue are good, with holes."""
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "green", "blue", "grey"], len(data.y)).astype(object)
    y = data.y + 2 * np.isin(colour, ["red", "blue"])
    colour[::11] = None
    return colour, y
