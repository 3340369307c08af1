"""A worker that dies in the middle of training: the call raises in time, and the estimator is as it was."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("distributed")
pytest.importorskip("lightgbm")
pytest.importorskip("xgboost")

# A program of its own: what hangs in it cannot hold pytest up, and its objectives travel to the workers by value.
PROGRAM = '''
import json, os, re, signal, sys, time

import dask
import dask.dataframe as dd
import lightgbm as lgb
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster, get_worker, wait

import boostsoft.dask as bd
import boostsoft.lightgbm as bl
import boostsoft.xgboost as bx


class Dying:
    """Worker 1 dies at the third tree ("closed": its sockets too, from which LightGBM reads for ever), or raises."""

    def __init__(self, how):
        self.how, self.trees = how, 0

    def step(self):
        self.trees += 1
        if self.trees < 3 or get_worker().name != 1:
            return
        if self.how == "closed":
            from lightgbm.basic import _LIB

            _LIB.LGBM_NetworkFree()
            time.sleep(0.5)
        if self.how == "raised":
            raise ValueError("out of luck")
        os.kill(os.getpid(), signal.SIGKILL)


class DyingRanker(bl.SklearnObjective):
    def __init__(self, inner, how):
        super().__init__(inner.rule)
        self.dying = Dying(how)

    def __call__(self, y_true, y_pred, weight, group):
        self.dying.step()
        return super().__call__(y_true, y_pred, weight, group)


class DyingRule(bx.XGBoostObjective):
    def __init__(self, inner, how):
        super().__init__(inner.rule)
        self.dying = Dying(how)

    def __call__(self, predt, dtrain):
        self.dying.step()
        return super().__call__(predt, dtrain)


def told(call):
    """How long a call took to raise, and what it said."""
    began = time.monotonic()
    try:
        call()
    except RuntimeError as error:
        return {"seconds": time.monotonic() - began, "said": str(error)}


def spread(client, seed):
    """New data on both workers."""
    rng = np.random.default_rng(seed)
    whole = pd.DataFrame(rng.normal(size=(800, 3)), columns=["a", "b", "c"])
    whole = whole.assign(y=rng.integers(0, 3, 800), qid=np.repeat(np.arange(40), 20))
    client.wait_for_workers(2, timeout=240)
    frame = dd.from_pandas(whole, npartitions=4).persist()
    wait(frame)
    return frame


def fail(client, frame, how):
    """Train until worker 1 dies or raises, and look at the ranker."""
    X, y, qid = frame[["a", "b", "c"]], frame["y"], frame["qid"]
    ranker = lgb.DaskLGBMRanker(metric="None", n_estimators=1000, time_out=1, verbose=-1)
    ranker.set_params(objective=DyingRanker(bl.sklearn_objective("ndcg@10"), how))
    found = told(lambda: bd.fit_lightgbm(ranker, X, y, qid))
    found["partial"] = hasattr(ranker, "booster_") or ranker.objective.dying.how != how
    advice = re.search(r"client.restart_workers\\((.*?)\\)", found["said"])
    return ranker, {**found, "advised": json.loads(advice[1].replace("'", '"')) if advice else []}


def scenario(client, frame, how):
    """Lose worker 1, free the workers that wait, and fit the same ranker again."""
    ranker, found = fail(client, frame, how)
    if found["advised"]:
        client.restart_workers(found["advised"], timeout=240)
    client.wait_for_workers(2, timeout=240)
    ranker.set_params(objective=bl.sklearn_objective("ndcg@10"), n_estimators=2)
    for attempt in range(3):  # on a busy machine LightGBM may meet a socket of the training before that still closes
        try:
            fitted = bd.fit_lightgbm(ranker, frame[["a", "b", "c"]], frame["y"], frame["qid"])
            return {**found, "again": fitted.booster_.num_trees()}
        except (lgb.basic.LightGBMError, RuntimeError) as error:  # the other if a worker is left waiting by it
            if attempt == 2 or not re.search("Socket|network interface", str(error)):
                raise
            client.restart_workers(list(client.nthreads()), timeout=240)


def main():
    # a worker that is away a second time, this long after the first, would be given up for good
    dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="2GiB", dashboard_address=":0", silence_logs=50
    ) as cluster, Client(cluster) as client:
        found = {how: scenario(client, spread(client, seed), how) for seed, how in enumerate(("killed", "closed"))}
        frame = spread(client, 2)
        X, y, qid = frame[["a", "b", "c"]], frame["y"], frame["qid"]
        rule = DyingRule(bx.objective("ndcg@10"), "killed")
        found["xgboost"] = told(lambda: bd.train_xgboost(client, {}, X, y, qid, 1000, obj=rule))
        found["raised"] = fail(client, spread(client, 3), "raised")[1]
        print("FOUND", json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
'''


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    program = tmp_path_factory.mktemp("lost") / "scenario.py"
    program.write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(program)], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("FOUND "))
    return json.loads(line.removeprefix("FOUND "))


@pytest.mark.parametrize("how", ["killed", "closed"])
def test_lightgbm_raises_and_leaves_no_partial_model(found, how):
    """Whether the other worker is told of the loss or, its sockets closed without a reset, waits for ever."""
    lost = found[how]
    assert lost["said"].startswith("boostsoft.dask.fit_lightgbm: lost the worker at tcp://127.0.0.1:")
    assert "no model was made" in lost["said"]
    assert lost["seconds"] < 60
    assert lost["partial"] is False
    assert lost["again"] == 2


def test_workers_that_still_wait_are_named_with_the_remedy(found):
    """After a raise they always wait; after a death that depends on what they were sending when the sockets closed."""
    for how in ("killed", "closed"):
        free = "The workers that are left are free again." in found[how]["said"]
        assert free is not bool(found[how]["advised"])
    failed = found["raised"]
    assert failed["said"].startswith("boostsoft.dask.fit_lightgbm: training failed: out of luck. The workers tcp://127")
    assert failed["advised"]
    assert failed["partial"] is False


def test_xgboost_raises(found):
    assert found["xgboost"]["said"].startswith("boostsoft.dask.train_xgboost: lost the worker at tcp://127.0.0.1:")
    assert found["xgboost"]["seconds"] < 60
