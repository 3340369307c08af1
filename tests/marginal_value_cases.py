"""A pool, candidate batches, and small models to continue."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest

from boostsoft import Metric, SoftMetric
from boostsoft.tracking.batches import marginal_value

SIZES = [20] * 20
SPREAD = SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread")
SCORE = SoftMetric("ndcg@10", sigma=0.2, name="ndcg_score")
NDCG = Metric("ndcg@10")
PARAMS = {"objective": "lambdarank", "learning_rate": 0.05, "num_leaves": 7, "seed": 3, "verbosity": -1}


def documents(seed, n=400):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.digitize(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n), [0.5, 1.5]).astype(float)


POOL, LABELS = documents(9)


def lightgbm_model(n=4, **more):
    X, y = documents(0)
    return lgb.train({**PARAMS, **more}, lgb.Dataset(X, y, group=SIZES), n)


def candidates():
    """A good batch, one with shuffled labels, one without relevant documents, and one too small for a split."""
    X, y = documents(1)
    wrong = np.random.default_rng(0).permutation(y)
    return {
        "wrong": (X, wrong, SIZES),
        "empty": (X, np.zeros(400), SIZES),
        "good": {"X": X, "y": y, "qid": np.repeat(np.arange(20), 20)},
        "small": (X[:20], y[:20], [20]),
    }


def halves():
    X, y = documents(1)
    return [(X[:200], y[:200], [20] * 10), (X[200:], y[200:], [20] * 10)]


def value(model, batches, **more):
    return marginal_value(model, batches, POOL, LABELS, **{"group": SIZES, "progress": False, **more})


def continued(model, X, y, sizes=SIZES, n=5, params=PARAMS):
    """LightGBM's own continued training; the booster's scores of the pool."""
    booster = lgb.train(params, lgb.Dataset(X, y, group=sizes), n, init_model=model)
    assert booster.num_trees() == model.num_trees() + n
    return booster.predict(POOL)


def xgboost_model(n=4, **more):
    xgb = pytest.importorskip("xgboost")
    X, y = documents(0)
    params = {"objective": "rank:ndcg", "eta": 0.1, "max_depth": 3, "seed": 1, **more}
    return xgb.train(params, xgb.DMatrix(X, y, group=SIZES), n)
