"""Models trained here are plain LightGBM and XGBoost models: served alone, explained by SHAP, pruned by Optuna."""

from __future__ import annotations

import subprocess
import sys
import warnings

import lightgbm as lgb
import numpy as np
import pytest

import boostsoft as bs
import boostsoft.lightgbm as bl
import boostsoft.xgboost as bx

xgb = pytest.importorskip("xgboost")

SIZES = [20] * 20
QUIET = {"verbose": -1, "num_threads": 1, "metric": "None", "num_leaves": 7}


def ranking(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 4))
    return X, np.digitize(X[:, 0] * X[:, 1] + X[:, 2], [0.5, 1.5]).astype(float)


@pytest.fixture(scope="module")
def models():
    X, y = ranking(0)
    return {
        "lightgbm": lgb.train({**QUIET, "objective": bl.objective("map@10")}, lgb.Dataset(X, y, group=SIZES), 10),
        "xgboost": bx.train({"max_depth": 3}, xgb.DMatrix(X, y, group=SIZES), 10, obj="map@10"),
    }


def scores_of(model, X):
    return model.predict(X) if isinstance(model, lgb.Booster) else model.predict(xgb.DMatrix(X), output_margin=True)


SERVE = """
import sys
sys.modules["boostsoft"] = None  # not to be imported
import lightgbm, xgboost, numpy as np
try:
    import boostsoft
except ImportError:
    X = np.load("X.npy")
    for file in sys.argv[1:]:
        if file.endswith(".txt"):
            scores = lightgbm.Booster(model_file=file).predict(X)
        else:
            scores = xgboost.Booster(model_file=file).predict(xgboost.DMatrix(X))
        np.save(f"{file}.npy", scores)
"""


def test_a_process_without_this_library_serves_the_models(models, tmp_path):
    X, y = ranking(1)
    np.save(tmp_path / "X.npy", X[:20])
    plain = xgb.train({"base_score": 0.0}, xgb.DMatrix(X, y, group=SIZES), 4, obj=bx.objective("ndcg@5"))
    files = {"m.txt": models["lightgbm"], "m.json": models["xgboost"], "m.ubj": models["xgboost"], "plain.json": plain}
    for file, model in files.items():
        model.save_model(tmp_path / file)
    subprocess.run([sys.executable, "-W", "error", "-c", SERVE, *files], cwd=tmp_path, check=True)
    for file, model in files.items():
        np.testing.assert_array_equal(np.load(tmp_path / f"{file}.npy"), scores_of(model, X[:20]), err_msg=file)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("kind", ["lightgbm", "xgboost"])
def test_shap_explains_the_scores(models, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shap = pytest.importorskip("shap")
    X = ranking(1)[0][:50]
    explainer = shap.TreeExplainer(models[kind])
    values = explainer.shap_values(X)
    assert values.shape == X.shape
    total = values.sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, scores_of(models[kind], X), atol=1e-5)
    assert np.abs(values[:, :3]).mean() > 3 * np.abs(values[:, 3]).mean(), "the fourth feature means nothing"


def study(optuna):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.GridSampler({"rate": [0.3, 1e-6]})
    # the first trial sets the mark, the second hardly learns and must be stopped
    return optuna.create_study(
        direction="maximize", sampler=sampler, pruner=optuna.pruners.MedianPruner(n_startup_trials=1, n_warmup_steps=3)
    )


def run(optuna, objective):
    done = study(optuna)
    done.enqueue_trial({"rate": 0.3})
    done.enqueue_trial({"rate": 1e-6})
    done.optimize(objective, n_trials=2)
    states = [trial.state.name for trial in done.trials]
    assert states == ["COMPLETE", "PRUNED"]
    assert len(done.trials[1].intermediate_values) < 20
    assert done.best_trial.params["rate"] == 0.3


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
@pytest.mark.parametrize("metric", [bs.Metric("mrr@10"), bs.SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread")])
def test_optuna_prunes_lightgbm_on_our_metrics(metric):
    optuna = pytest.importorskip("optuna")
    integration = pytest.importorskip("optuna_integration")
    name = "mrr_hard@10" if isinstance(metric, bs.Metric) else metric.name

    def objective(trial):
        rate = trial.suggest_categorical("rate", [0.3, 1e-6])
        log = {}
        callbacks = [integration.LightGBMPruningCallback(trial, name, "valid_0"), lgb.record_evaluation(log)]
        params = {**QUIET, "objective": bl.objective(), "learning_rate": rate, "min_data_in_leaf": 5}
        start = np.random.default_rng(0).normal(size=400)  # a start in disorder, which must be unlearnt
        fresh = lgb.Dataset(*ranking(0), group=SIZES, init_score=start)
        held = lgb.Dataset(*ranking(1), group=SIZES, init_score=start, reference=fresh)
        lgb.train(params, fresh, 20, valid_sets=[held], feval=bl.feval(metric), callbacks=callbacks)
        return log["valid_0"][name][-1]

    run(optuna, objective)


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
@pytest.mark.parametrize("metric", [bs.Metric("mrr@10"), bs.SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread")])
def test_optuna_prunes_xgboost_on_our_metrics(metric):
    optuna = pytest.importorskip("optuna")
    integration = pytest.importorskip("optuna_integration")
    name = "mrr_hard@10" if isinstance(metric, bs.Metric) else metric.name
    start = np.random.default_rng(0).normal(size=400)
    train, valid = (xgb.DMatrix(*ranking(seed), group=SIZES, base_margin=start) for seed in (0, 1))

    def objective(trial):
        rate = trial.suggest_categorical("rate", [0.3, 1e-6])
        log = {}
        bx.train(
            {"eta": rate, "max_depth": 3}, train, 20, custom_metric=metric, evals=[(valid, "valid")], evals_result=log,
            callbacks=[integration.XGBoostPruningCallback(trial, f"valid-{name}")], verbose_eval=False,
        )  # fmt: skip
        return log["valid"][name][-1]

    run(optuna, objective)
