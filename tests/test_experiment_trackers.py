"""The curves in MLflow's autologging and in TensorBoard's event files, through the real packages."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest

import boostsoft as bs
import boostsoft.lightgbm as bl
import boostsoft.xgboost as bx

xgb = pytest.importorskip("xgboost")

HARD = bs.Metric("ndcg@10")
SOFT = bs.SoftMetric("ndcg@10", sigma=0.3, sigma_unit="spread")
SIZES = [12] * 15
QUIET = {"metric": "None", "verbose": -1, "num_threads": 1, "num_leaves": 6, "objective": "lambdarank"}


def ranking(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(sum(SIZES), 4))
    return X, np.digitize(X[:, 0] + rng.normal(scale=0.5, size=len(X)), [0.5, 1.5]).astype(float)


def train_lightgbm(callback, rounds):
    train = lgb.Dataset(*ranking(0), group=SIZES)
    valid = lgb.Dataset(*ranking(1), group=SIZES, reference=train)
    return lgb.train(QUIET, train, rounds, valid_sets=[valid], valid_names=["valid"], callbacks=[callback])


def train_xgboost(callback, rounds):
    params = {"objective": "rank:ndcg", "nthread": 1}
    data = xgb.DMatrix(*ranking(0), group=SIZES)
    return xgb.train(params, data, rounds, callbacks=[callback], verbose_eval=False)


def callbacks(booster, **options):
    options = {"progress": False, **options}
    if booster == "lightgbm":
        return bl.track_callback(HARD, SOFT, **options), train_lightgbm
    return bx.TrackCallback(xgb.DMatrix(*ranking(1), group=SIZES), HARD, SOFT, **options), train_xgboost


@pytest.fixture
def mlflow(tmp_path, monkeypatch):
    """MLflow with a store of files that ends with the test."""
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed (pip install mlflow-skinny)")
    known = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    yield mlflow
    mlflow.set_tracking_uri(known)


# what MLflow and the packages behind it warn of is not ours
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("stop", [None, 3])
@pytest.mark.parametrize("booster", ["lightgbm", "xgboost"])
def test_mlflow_logs_the_curves_of_its_own_accord(mlflow, booster, stop):
    callback, train = callbacks(booster, stop=stop)
    flavour = getattr(__import__(f"mlflow.{booster}"), booster)
    flavour.autolog(log_models=False, log_datasets=False)
    try:
        with mlflow.start_run() as run:
            model = train(callback, 40 if stop else 5)
    finally:
        flavour.autolog(disable=True)
    track, client = callback.track, mlflow.tracking.MlflowClient()
    assert callback.stopped == (stop is not None)
    for at, name in enumerate(("ndcg_hard_at_10", "ndcg_gaussian_at_10")):
        history = client.get_metric_history(run.info.run_id, f"valid-{name}")
        history.sort(key=lambda metric: metric.step)
        curve = [metric.value for metric in history]
        expected = track.mean[:, at].tolist()
        if stop and booster == "lightgbm":  # MLflow adds the best once more
            expected.append(expected[model.best_iteration - 1])
        assert curve == expected
        assert [metric.step for metric in history] == list(range(len(expected)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("booster", ["lightgbm", "xgboost"])
def test_mlflow_logs_the_model_and_not_its_trials(mlflow, booster):
    """Nor are parameters logged twice, which MLflow refuses: of several boosters the first one's."""
    flavour = getattr(__import__(f"mlflow.{booster}"), booster)
    flavour.autolog(log_models=False, log_datasets=False)
    X, y = (np.concatenate(parts) for parts in zip(*map(ranking, range(6)), strict=True))
    options = {"n_estimators": 12, "num_leaves": 4, "min_child_samples": 5, "n_jobs": 1}
    rounds = {}
    try:
        for n in (1, 4):
            with mlflow.start_run() as run:
                model = bs.SoftRanker(booster, n_boosters=n, **options).fit(X, y, group=6 * SIZES)
            logged = mlflow.get_run(run.info.run_id).data.params
            rounds[n] = int(logged["num_boost_round"])
            rate = next(float(logged[name]) for name in ("learning_rate", "eta") if name in logged)
            assert rate == pytest.approx(model.learning_rate_ / n)
    finally:
        flavour.autolog(disable=True)
    assert rounds == {1: 12, 4: 12}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize("booster", ["lightgbm", "xgboost"])
def test_tensorboard_shows_the_curves(tmp_path, booster, every):
    written = pytest.importorskip("tensorboardX", reason="tensorboardX is not installed (pip install tensorboardX)")
    reader = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="TensorBoard, which reads the file back, is not installed (pip install tensorboard)",
    )
    with written.SummaryWriter(str(tmp_path)) as writer:
        callback, train = callbacks(booster, every=every, writer=writer)
        train(callback, 5)
    seen = reader.EventAccumulator(str(tmp_path))
    seen.Reload()
    tags = ["ndcg_hard_at_10/valid", "ndcg_gaussian_at_10/valid"]
    assert seen.Tags()["scalars"] == tags
    track = callback.track
    assert track.steps.tolist() == ([1, 2, 3, 4, 5] if every == 1 else [2, 4, 5])
    for at, tag in enumerate(tags):
        assert [event.step for event in seen.Scalars(tag)] == track.steps.tolist()
        assert [event.value for event in seen.Scalars(tag)] == track.mean[:, at].astype(np.float32).tolist()


class Written:
    def __init__(self):
        self.rows = []

    def add_scalar(self, tag, value, step):
        self.rows.append((tag, value, step))


def test_any_writer_will_do():
    callback, train = callbacks("lightgbm", writer=Written(), every=2)
    train(callback, 3)
    mean = callback.track.mean
    assert callback.live._writer.rows == [
        ("ndcg_hard_at_10/valid", mean[0, 0], 2),
        ("ndcg_gaussian_at_10/valid", mean[0, 1], 2),
        ("ndcg_hard_at_10/valid", mean[1, 0], 3),
        ("ndcg_gaussian_at_10/valid", mean[1, 1], 3),
    ]
