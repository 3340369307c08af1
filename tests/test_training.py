"""Every metric with an exact expectation trains both boosters, at stock parameters, on what it measures."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest

import boostsoft.lightgbm as bl
from boostsoft import Metric
from boostsoft.metrics.registry import REGISTRY

TRAINED = [name for name, entry in REGISTRY.items() if entry.exact]
SIZES = [20] * 40


def data(seed):
    """Grades 0 to 3 from a product and a sum of features, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(sum(SIZES), 5))
    signal = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(scale=0.3, size=sum(SIZES))
    return X, np.digitize(signal, [0.5, 1.2, 2.2]).astype(float)


def metric_of(name):
    options = {"p_rel": (0.0, 0.2, 0.5, 0.9)} if name == "pfound" else {}
    return Metric(name, k=None if REGISTRY[name].pairwise else 5, **options)


def share_won(metric, labels, scores):
    """How far from scoring all equal (0) to the best order (1); of pnr, of the share of pairs in order."""
    values = [metric(labels, s, group=SIZES) for s in (np.zeros(labels.size), scores, labels)]
    if metric.metric == "pnr":
        values = [value / (1 + value) if np.isfinite(value) else 1.0 for value in values]
    return (values[1] - values[0]) / (values[2] - values[0])


@pytest.mark.parametrize("name", TRAINED)
def test_lightgbm_learns_every_metric(name):
    metric, (X, y), (X_new, y_new) = metric_of(name), data(0), data(1)
    params = {"objective": bl.objective(metric), "metric": "None", "verbose": -1, "num_threads": 1, "num_leaves": 15}
    model = lightgbm.train(params, lightgbm.Dataset(X, y, group=SIZES), 40)
    if name == "pnr":  # the mean over queries is infinite as soon as one is in perfect order
        metric = Metric("pnr", pooled=True)
    assert share_won(metric, y, model.predict(X)) > 0.8
    assert share_won(metric, y_new, model.predict(X_new)) > 0.45


@pytest.mark.parametrize("name", TRAINED)
def test_xgboost_learns_every_metric(name):
    xgboost = pytest.importorskip("xgboost")
    import boostsoft.xgboost as bx

    metric, (X, y), (X_new, y_new) = metric_of(name), data(0), data(1)
    params = {"base_score": 0, "disable_default_eval_metric": True, "nthread": 1, "eta": 0.1}
    model = xgboost.train(params, xgboost.DMatrix(X, y, group=SIZES), 40, obj=bx.objective(metric))
    if name == "pnr":
        metric = Metric("pnr", pooled=True)
    assert share_won(metric, y, model.predict(xgboost.DMatrix(X))) > 0.8
    assert share_won(metric, y_new, model.predict(xgboost.DMatrix(X_new))) > 0.45
