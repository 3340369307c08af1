"""SoftRanker against the adapters underneath, its copies, and what it tells of itself."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import joblib
import lightgbm as lgb
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import boostsoft.lightgbm as bl
import boostsoft.xgboost as bx
from boostsoft import Metric, SoftRanker
from boostsoft.kernels.curvature import CURVATURES
from boostsoft.ranker import xgboost_trees

from . import ranker_cases
from .ranker_cases import both, fit, ranker, task, watched

xgb = pytest.importorskip("xgboost")
data, valid = ranker_cases.data, ranker_cases.valid  # fixtures


@pytest.mark.parametrize("hessian", CURVATURES)
@pytest.mark.parametrize("noise", ["gaussian", "gumbel"])
def test_equals_lightgbm_with_the_adapter(data, noise, hessian):
    objective = bl.objective("map@7", noise=noise, sigma=0.7, hessian=hessian)
    params = {
        "objective": objective, "metric": "None", "verbosity": -1, "num_leaves": 6, "min_data_in_leaf": 5,
        "num_threads": 1, "deterministic": True, "force_row_wise": True, "seed": 3, "feature_fraction": 0.6,
        "bagging_fraction": 0.7, "bagging_freq": 1,
    }  # fmt: skip
    booster = lgb.train(params, lgb.Dataset(data.X, data.y, group=data.sizes), 8)
    model = ranker(metric="map@7", noise=noise, sigma=0.7, hessian=hessian, colsample=0.6, subsample=0.7)
    assert np.array_equal(fit(model.set_params(random_state=3), data).predict(data.X), booster.predict(data.X))


@pytest.mark.parametrize("hessian", CURVATURES)
def test_equals_xgboost_with_the_adapter(data, hessian):
    objective = bx.objective("map@7", sigma=0.7, hessian=hessian)
    dtrain = xgb.DMatrix(data.X, data.y, group=data.sizes)
    average = objective(np.zeros(len(data.y)), dtrain)[1].mean()
    params = {
        "base_score": 0, "disable_default_eval_metric": True, "tree_method": "hist", "grow_policy": "lossguide",
        "max_leaves": 6, "max_depth": 0, "eta": 0.1, "min_child_weight": 5 * average, "lambda": 3.0 * average,
        "colsample_bytree": 0.6, "subsample": 0.7, "seed": 3, "seed_per_iteration": True, "nthread": 1,
    }  # fmt: skip
    booster = xgb.train(params, dtrain, 8, obj=objective)
    model = ranker("xgboost", metric="map@7", sigma=0.7, hessian=hessian, colsample=0.6, subsample=0.7)
    scores = fit(model.set_params(random_state=3, reg_lambda=3.0), data).predict(data.X)
    assert scores.dtype == np.float64
    assert np.array_equal(scores, booster.predict(xgb.DMatrix(data.X)))


@both
def test_the_booster_serves_alone(booster, data):
    model = fit(ranker(booster), data)
    plain = data.X if booster == "lightgbm" else xgb.DMatrix(data.X)
    assert type(model.booster_) is (lgb.Booster if booster == "lightgbm" else xgb.Booster)
    assert np.array_equal(model.predict(data.X), model.booster_.predict(plain))


def test_boosters_learn_about_the_same(data):
    found = [fit(ranker(b, n_estimators=30), data).score(data.X, data.y, qid=data.qid) for b in ("lightgbm", "xgboost")]
    assert found[0] == pytest.approx(found[1], abs=0.02)
    assert min(found) > 0.9


@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_matrix])
def test_xgboost_reads_what_it_predicts_as_it_is(form, data, monkeypatch):
    """Scores are those of a DMatrix, which takes twice the memory of the data."""
    values = data.X.copy()
    values[3, 1] = np.nan  # missing
    X = form(values)
    model = ranker("xgboost").fit(X, data.y, qid=data.qid)
    plain = model.booster_.predict(xgb.DMatrix(X if sparse.issparse(X) else values), output_margin=True)

    def none(*_, **__):
        raise AssertionError("a DMatrix was made")

    monkeypatch.setattr(xgb, "DMatrix", none)
    np.testing.assert_array_equal(model.predict(X), plain)
    monkeypatch.setattr(xgboost_trees, "_on_cpu", lambda _: False)
    with pytest.raises(AssertionError):
        model.predict(X)


@both
def test_copies_predict_the_same(booster, data, valid, tmp_path):
    model = watched(booster, data, valid, metric=Metric("ndcg@10", gain="linear"))
    joblib.dump(model, tmp_path / "model")
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), joblib.load(tmp_path / "model")):
        assert np.array_equal(other.predict(valid.X), model.predict(valid.X))
        assert other.get_params() == model.get_params()
        assert other.score(valid.X, valid.y, qid=valid.qid) == model.score(valid.X, valid.y, qid=valid.qid)
        assert (other.evals_result_, other.best_iteration_) == (model.evals_result_, model.best_iteration_)
    blank = clone(model)
    assert blank.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        blank.predict(valid.X)
    with pytest.raises(NotFittedError):
        _ = blank.feature_importances_


@both
@pytest.mark.parametrize("n_boosters", [1, 2])
def test_sigma_is_only_the_unit_of_the_scores(booster, n_boosters, data):
    """However small: XGBoost takes no split that gains less than 1e-6."""
    scores = {
        sigma: ranker(booster, sigma=sigma, n_boosters=n_boosters, reg_lambda=5.0)
        .fit(data.X, data.y, qid=data.qid)
        .predict(data.X)
        for sigma in (1.0, 1e-4, 1e-8)
    }
    assert np.ptp(scores[1.0]) > 0.1
    for sigma in (1e-4, 1e-8):
        np.testing.assert_allclose(scores[sigma] / sigma, scores[1.0], rtol=1e-3, atol=1e-3 * np.ptp(scores[1.0]))


def test_pickles_open_in_another_process(data, tmp_path):
    models = [fit(ranker(booster), data) for booster in ("lightgbm", "xgboost")]
    for model in models:
        (tmp_path / model.booster).write_bytes(pickle.dumps((model, data.X)))
    code = (
        "import pickle, sys\n"
        "for path in sys.argv[1:]:\n"
        "    model, X = pickle.load(open(path, 'rb'))\n"
        "    print(repr(model.predict(X).sum()))\n"
    )
    command = [sys.executable, "-c", code, *(tmp_path / model.booster for model in models)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [repr(model.predict(data.X).sum()) for model in models]


@both
def test_importances_are_shares_of_the_gain(booster, data):
    model = fit(ranker(booster), data)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.feature_importances_.argmax() == 0
    if booster == "lightgbm":
        gains = model.booster_.feature_importance("gain")
    else:
        gains = np.array([model.booster_.get_score(importance_type="total_gain").get(f"f{i}", 0) for i in range(4)])
    np.testing.assert_allclose(model.feature_importances_, gains / gains.sum())


def test_repr_and_parameters():
    model = SoftRanker("xgboost", metric="map", num_leaves=7)
    assert repr(model) == "SoftRanker(booster='xgboost', metric='map', num_leaves=7)"
    assert model.set_params(num_leaves=9).get_params()["num_leaves"] == 9


@both
def test_labels_may_be_clicks_over_propensities(booster):
    """No grades: any numbers from 0 on, with the gain as they are."""
    data = task(0, 40)
    rng = np.random.default_rng(0)
    looks = 1.0 / (1.0 + np.concatenate([rng.permutation(size) for size in data.sizes]))
    clicks = rng.binomial(200, looks * (0.1 + 0.3 * data.y)) / looks / 200
    fitted = ranker(booster, metric=Metric("dcg@10", gain="linear")).fit(data.X, clicks, qid=data.qid)
    test = task(1, 40)
    on_grades = ranker(booster, metric=Metric("ndcg@10")).fit(data.X, data.y, qid=data.qid)
    found, best = (Metric("ndcg@10")(test.y, one.predict(test.X), qid=test.qid) for one in (fitted, on_grades))
    assert found > 0.95 * best > 0.6
