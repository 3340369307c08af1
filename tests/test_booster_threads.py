"""Kernels that a booster calls run on no more threads than the booster: seen in real trainings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import distributed
import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn.model_selection import GroupKFold

import boostsoft as bs
import boostsoft.lightgbm as bl
import boostsoft.xgboost as bx
from boostsoft.adapters import lightgbm_data
from boostsoft.dask.xgboost import OnWorker
from boostsoft.kernels import threads

from .releases import older

OURS = 7  # what Numba allows
SIZES = [10] * 30
METRICS = ("ndcg@5", bs.SoftMetric("ndcg@5", sigma=0.2, sigma_unit="spread"))
QUIET = {"verbose": -1, "metric": "None", "min_data_in_leaf": 5}
ALIASES = ("num_threads", "num_thread", "nthread", "nthreads", "n_jobs")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(300, 3)), rng.integers(0, 3, 300)


@pytest.fixture
def seen(monkeypatch):
    """The threads that every call of a kernel may use, on a machine that has plenty and for work that takes long."""
    found, wanted = [], threads._wanted

    def seen_wanted(*work):
        found.append(wanted(*work))
        return found[-1]

    monkeypatch.setattr(threads, "_wanted", seen_wanted)
    monkeypatch.setattr(threads, "_by_numba", lambda: OURS)
    monkeypatch.setattr(threads, "_NANOSECONDS_PER_THREAD", 1e-9)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    return found


def only(seen):
    """The one number that all calls since the last time were allowed."""
    assert len(seen) >= 2
    assert len(set(seen)) == 1, seen
    allowed = seen[0]
    seen.clear()
    return allowed


def lgb_train(data, params, train=None):
    train = lgb.Dataset(data[0], data[1], group=SIZES) if train is None else train
    params = {**QUIET, "objective": bl.objective("ndcg@5"), **params}
    lgb.train(params, train, 2, valid_sets=[train], feval=bl.feval(*METRICS))


@pytest.mark.parametrize("name", ALIASES)
def test_lightgbm(name, data, seen):
    lgb_train(data, {name: 2})
    assert only(seen) == 2


def test_lightgbms_default(data, seen, monkeypatch):
    for params in ({}, {"num_threads": 0}, {"nthread": -1}):
        lgb_train(data, {"num_threads": 1})
        assert only(seen) == 1
        lgb_train(data, params)
        assert only(seen) == OURS
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    lgb_train(data, {})
    assert only(seen) == 3
    lgb_train(data, {"num_threads": 2})
    assert only(seen) == 2
    bs.SoftMetric("ndcg@5")(data[1], data[0][:, 0], group=SIZES)
    bs.SoftMetric("ndcg@5")(data[1], data[0][:, 0], group=SIZES)
    assert only(seen) == OURS  # OpenMP is the booster's: on its own a metric runs on Numba's threads


def test_a_dataset_of_an_earlier_training(data, seen):
    """It keeps the parameters of that time, and LightGBM runs on those of this time."""
    train = lgb.Dataset(data[0], data[1], group=SIZES)
    for count in (1, 2, 1):
        lgb_train(data, {"num_threads": count}, train)
        assert only(seen) == count


def test_lightgbm_that_does_not_export_its_number(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm.basic", None)
    for name in ALIASES:
        assert lightgbm_data.threads(SimpleNamespace(params={"verbose": -1, name: "2"})) == 2
    assert lightgbm_data.threads(SimpleNamespace(params={"num_threads": None, "n_jobs": 2})) == 2
    for params in (None, {}, {"num_threads": None}, {"num_threads": "many"}, {"num_threads": [2]}):
        assert lightgbm_data.threads(SimpleNamespace(params=params)) is None
    assert lightgbm_data.threads() is None


def test_lightgbms_cv(data, seen):
    train = lgb.Dataset(data[0], data[1], group=SIZES)
    folds = GroupKFold(3).split(data[0], groups=np.repeat(np.arange(30), 10))
    lgb.cv(
        {**QUIET, "objective": bl.objective("ndcg@5"), "nthread": 2}, train, 2, folds=folds, feval=bl.feval(*METRICS)
    )
    assert only(seen) == 2


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_lgbm_ranker(n_jobs, data, seen):
    ranker = lgb.LGBMRanker(
        objective=bl.sklearn_objective("ndcg@5"), n_estimators=2, n_jobs=n_jobs, verbose=-1, metric="None"
    )
    metric = bl.sklearn_eval_metric(*METRICS)
    ranker.fit(data[0], data[1], group=SIZES, eval_set=[data], eval_group=[SIZES], eval_metric=metric)
    assert only(seen) == n_jobs


@pytest.mark.parametrize("name", ["nthread", "n_jobs"])
def test_bx_train(name, data, seen):
    matrix = xgb.DMatrix(*data, group=SIZES)
    bx.train({name: 2}, matrix, 2, obj="ndcg@5", evals=[(matrix, "train")], verbose_eval=False)
    assert only(seen) == 2
    bx.train({name: 0}, matrix, 2, obj="ndcg@5", evals=[(matrix, "train")], verbose_eval=False)
    assert only(seen) == OURS


def test_a_callback_of_xgboost_sees_them(data, seen):
    matrix = xgb.DMatrix(*data, group=SIZES)
    for n in (1, 2):
        callback = bx.TrackCallback(matrix, *METRICS, progress=False)
        xgb.train({"objective": "rank:ndcg", "nthread": n}, matrix, 2, callbacks=[callback])
        assert only(seen) == n


def test_xgb_train_shows_its_parameters_to_nobody(data, seen, monkeypatch):
    """Of what it calls; its global configuration and OpenMP's variable can be seen."""
    matrix = xgb.DMatrix(*data, group=SIZES)
    more = {"obj": bx.objective("ndcg@5"), "custom_metric": bx.custom_metric(*METRICS), "evals": [(matrix, "train")]}
    params = {"nthread": 1, "base_score": 0, "disable_default_eval_metric": True}

    def allowed():
        xgb.train(params, matrix, 2, maximize=True, verbose_eval=False, **more)
        return only(seen)

    def configured():
        with xgb.config_context(nthread=2):
            return allowed()

    assert allowed() == OURS
    if not older(xgb.__version__, (3, 0)):
        with ThreadPoolExecutor(1) as other:  # the configuration is a thread's own, and never set back to 0
            assert other.submit(configured).result() == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert allowed() == 3
    bx.train({"nthread": 4}, matrix, 2, obj="ndcg@5", evals=[(matrix, "train")], verbose_eval=False)
    assert only(seen) == 4


@pytest.mark.parametrize("booster", ["lightgbm", "xgboost"])
def test_soft_ranker(booster, data, seen):
    qid = np.repeat(np.arange(30), 10)
    for n_jobs, allowed in ((2, 2), (1, 1), (None, OURS)):
        ranker = bs.SoftRanker(booster, n_estimators=2, n_jobs=n_jobs, min_child_samples=5)
        ranker.fit(*data, qid=qid, eval_set=[data], eval_qid=[qid])
        ranker.score(*data, qid=qid)
        assert only(seen) == allowed
        with pytest.warns(UserWarning, match="mean of 4 boosters"):
            bs.track_trees(ranker, *data, qid=qid)
        assert only(seen) == allowed


ALONE = """
import os, signal, sys, numpy as np, boostsoft as bs
rng = np.random.default_rng(0)
X, y = rng.normal(size=(12_000, 5)), rng.integers(0, 3, 12_000)

def fit():
    bs.SoftRanker(sys.argv[1], n_estimators=2, n_jobs=1, progress=False).fit(X, y, group=[40] * 300)

fit()
child = os.fork()
if child == 0:
    signal.alarm(60)  # ends it where it waits
    fit()
    os._exit(0)
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is nothing to fork")
@pytest.mark.parametrize("booster", ["lightgbm", "xgboost"])
def test_after_a_training_on_one_thread_a_forked_process_trains(booster):
    """A process in which OpenMP has had several waits for ever."""
    command = [sys.executable, "-W", "ignore", "-c", ALONE, booster]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (ended.stdout, ended.returncode) == ("0\n", 0), ended.stderr


@pytest.mark.parametrize("booster", ["lightgbm", "xgboost"])
def test_a_fitted_ranker_may_be_given_other_threads(booster, data):
    ranker = bs.SoftRanker(booster, n_estimators=2, n_jobs=2, min_child_samples=5).fit(*data, group=SIZES)
    scores = ranker.predict(data[0])
    for n_jobs, threads_ in ((1, "1"), (None, "0")):
        assert ranker.set_params(n_jobs=n_jobs, metric="map").n_jobs == n_jobs
        if booster == "xgboost":
            assert json.loads(ranker.booster_.save_config())["learner"]["generic_param"]["nthread"] == threads_
        np.testing.assert_array_equal(ranker.predict(data[0]), scores)
    with pytest.raises(ValueError, match=r"^SoftRanker\.set_params: n_jobs must not be 0"):
        ranker.set_params(n_jobs=0)
    assert ranker.n_jobs is None
    assert bs.SoftRanker(booster).set_params(n_jobs=0).n_jobs == 0  # fit will say


@pytest.fixture
def asked(monkeypatch):
    """The threads that the boosters are told to make matrices and to predict on."""
    found = []

    def note(kind, method, name):
        inner = getattr(kind, method)

        def noting(self, *arguments, **options):
            found.append(options.get(name))
            return inner(self, *arguments, **options)

        monkeypatch.setattr(kind, method, noting)

    note(lgb.Booster, "predict", "num_threads")
    for kind in (xgb.DMatrix, xgb.QuantileDMatrix):
        note(kind, "__init__", "nthread")
    return found


@pytest.mark.parametrize("booster", ["lightgbm", "xgboost"])
def test_the_boosters_own_work_for_a_soft_ranker(booster, data, asked):
    qid = np.repeat(np.arange(30), 10)
    ranker = bs.SoftRanker(booster, n_estimators=2, n_jobs=1, min_child_samples=5, n_boosters=2, subsample=0.5)
    ranker.fit(*data, qid=qid, eval_set=[data], eval_qid=[qid])
    ranker.predict(data[0])
    list(ranker.staged_predict(data[0]))
    with pytest.warns(UserWarning, match="mean of 2 boosters"):
        bs.track_trees(ranker, *data, qid=qid)
    assert len(asked) >= 4
    assert set(asked) == {1}


@pytest.mark.parametrize(("threads_", "allowed"), [(None, 3), (0, 3), (2, 2)])
def test_xgboost_on_a_worker_of_dask(threads_, allowed, data, seen, monkeypatch):
    monkeypatch.setattr(distributed, "get_worker", lambda: SimpleNamespace(state=SimpleNamespace(nthreads=3)))
    matrix = xgb.DMatrix(*data, group=SIZES)
    OnWorker(bx.objective("ndcg@5"), threads_)(data[0][:, 0], matrix)
    OnWorker(bx.custom_metric("ndcg@5"), threads_)(data[0][:, 0], matrix)
    assert only(seen) == allowed


def test_an_evaluation_by_dask_has_a_thread_for_each_part(data, seen):
    import dask.array as da

    import boostsoft.dask as bd

    score, label = (da.from_array(values, chunks=100) for values in (data[0][:, 0], data[1]))
    qid = da.from_array(np.repeat(np.arange(30), 10), chunks=100)
    bd.evaluate("ndcg@5", label, score, qid)
    assert only(seen) == 1
