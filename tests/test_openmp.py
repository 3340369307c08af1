"""What a booster calls runs on the booster's own threads, which spin while they wait."""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading

import lightgbm as lgb
import numpy as np
import pytest

import boostsoft as bs
import boostsoft.lightgbm as bl
from boostsoft.adapters.lightgbm_data import library as lightgbms
from boostsoft.adapters.xgboost_data import library as xgboosts
from boostsoft.kernels import openmp, processors, threads

from .cases import on_threads
from .test_threads import passes

xgb = pytest.importorskip("xgboost")
LIBRARIES = pytest.mark.parametrize("library", [lightgbms, xgboosts], ids=["lightgbm", "xgboost"])
LONG = np.full(12, 1e9)

pytestmark = pytest.mark.skipif(
    openmp.team(lightgbms(), 2) is None or openmp.team(xgboosts(), 2) is None, reason="OpenMP is not GNU's here"
)


@pytest.fixture(autouse=True)
def _plenty(monkeypatch):
    monkeypatch.setattr(threads, "processors", lambda *_: 8)


class Workers:
    """A run that remembers who has worked, once so many have met."""

    def __init__(self, n):
        self.meeting, self.lock = threading.Barrier(n, timeout=60), threading.Lock()
        self.seen, self.covered = set(), []

    def __call__(self, begin, end):
        with self.lock:
            new = threading.get_ident() not in self.seen
            self.seen.add(threading.get_ident())
            self.covered += range(begin, end)
        if new:
            self.meeting.wait()


@LIBRARIES
@pytest.mark.parametrize("n", [2, 3])
def test_work_is_done_by_the_librarys_threads(library, n, monkeypatch):
    on_threads(monkeypatch, n)
    known = {thread.ident for thread in threading.enumerate()}
    run = Workers(n)
    with threads.on_threads_of(library(), n):
        threads.over_queries(run, np.full(60, 1e9))
    assert sorted(run.covered) == list(range(60))
    assert len(run.seen) == n
    assert threading.get_ident() in run.seen
    assert len(run.seen - known) == n - 1  # none of Python's threads but the caller
    assert threads._crew()._running == 0


@LIBRARIES
def test_the_same_threads_work_for_booster_and_kernels(library, monkeypatch):
    """After the first call no thread is started: they are kept as long as nobody asks for another number."""
    on_threads(monkeypatch, 3)
    seen = []
    for _ in range(4):
        run = Workers(3)
        with threads.on_threads_of(library(), 3):
            threads.over_queries(run, np.full(60, 1e9))
        seen.append(run.seen)
    assert seen[1] == seen[2] == seen[3]


def test_no_more_work_than_are_allowed(monkeypatch):
    """The booster has four threads, two of which Numba's settings allow."""
    on_threads(monkeypatch, 2)
    run = Workers(2)
    with threads.on_threads_of(lightgbms(), 4):
        threads.over_queries(run, np.full(60, 1e9))
    assert len(run.seen) == 2
    assert sorted(run.covered) == list(range(60))


def test_the_caller_is_always_among_those_who_work():
    """Signals reach no other thread: left out, it would wait for the kernels' end."""
    team = openmp.team(lightgbms(), 4)
    for _ in range(50):
        seen = []
        team.run(lambda seen=seen: seen.append(threading.get_ident()), 2)
        assert threading.get_ident() in seen
        assert len(seen) == len(set(seen)) <= 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError, SystemExit])
def test_what_a_handler_raises_before_the_first_line_is_not_lost(error, monkeypatch):
    """Nobody but ctypes is there to catch it, which prints it and goes on."""
    printed = []
    monkeypatch.setattr(sys, "unraisablehook", printed.append)
    before = sys.unraisablehook

    def interrupted():
        if threading.current_thread() is threading.main_thread():
            raise error("out of time")

    for members in (1, 2, 4):
        with pytest.raises(error, match="out of time"):
            openmp.team(lightgbms(), 4).run(interrupted, members)
        assert sys.unraisablehook is before
    assert not printed


def test_what_a_handler_raises_behind_the_last_line_is_not_lost():
    """All work is done by then, and the training is to end all the same."""

    def late(frame, event, argument):
        if event == "return" and frame.f_code.co_name == "member":
            raise TimeoutError("out of time")

    sys.setprofile(late)
    try:
        with pytest.raises(TimeoutError, match="out of time"):
            openmp.team(lightgbms(), 4).run(lambda: None, 2)
    finally:
        sys.setprofile(None)


def test_what_others_could_not_raise_is_printed_as_before(monkeypatch):
    printed = []
    monkeypatch.setattr(sys, "unraisablehook", printed.append)

    class Broken:
        def __del__(self):
            raise ValueError("of its own")

    def works():
        if threading.current_thread() is threading.main_thread():
            Broken()

    openmp.team(lightgbms(), 4).run(works, 2)
    assert [str(one.exc_value) for one in printed] == ["of its own"]


def test_two_callers_share_the_processors(monkeypatch):
    on_threads(monkeypatch, 2)
    inside, go = threading.Barrier(2, timeout=60), threading.Event()

    def first(begin, end):
        if begin == 0:
            inside.wait()
        go.wait(60)

    caller = threading.Thread(target=threads.over_queries, args=(first, np.full(2, 1e9)))
    caller.start()
    inside.wait()
    run = Workers(1)
    with threads.on_threads_of(lightgbms(), 2):
        threads.over_queries(run, LONG)
    go.set()
    caller.join(60)
    assert len(run.seen) == 1
    assert sorted(run.covered) == list(range(12))


def test_threads_beyond_the_processors_are_left_alone(monkeypatch):
    """A booster in a container may have one for every processor of its host."""
    on_threads(monkeypatch, 2)
    monkeypatch.setattr(threads, "processors", lambda *_: 2)
    for size, ours in ((2, False), (64, True)):
        run = Workers(2)
        with threads.on_threads_of(lightgbms(), size):
            threads.over_queries(run, np.full(60, 1e9))
        helpers = {thread.ident for thread in threading.enumerate() if thread.name.startswith("boostsoft")}
        assert bool(run.seen & helpers) == ours


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_an_error_reaches_the_caller(error, monkeypatch):
    on_threads(monkeypatch, 2)

    def fail(begin, end):
        raise error(f"{begin}")

    with threads.on_threads_of(lightgbms(), 2):
        with pytest.raises(error):
            threads.over_queries(fail, LONG)
        threads.over_queries(Workers(1), LONG[:1])
    assert threads._crew()._running == 0


def test_libraries_without_such_threads():
    for without in (None, object(), ctypes.CDLL(None) if os.name == "posix" else None):
        team = openmp.team(without, 2)
        assert team is None or team.size == 2  # whoever is loaded already may have them
    assert openmp.team(None, 2) is None
    assert openmp.team(lightgbms(), 1) is None
    with threads.on_threads_of(None, 4):
        threads.over_queries(lambda begin, end: None, LONG)


@pytest.fixture(scope="module")
def by_itself(tmp_path_factory):
    """What a process finds that allows OpenMP three threads: the sizes of teams, then which teams are left."""
    path = tmp_path_factory.mktemp("openmp") / "found.json"
    passes(
        "-c",
        "import ctypes, json, pathlib, re\nimport lightgbm, xgboost\nfrom boostsoft.kernels import openmp\n"
        "from boostsoft.adapters.lightgbm_data import library as lightgbms\n"
        "from boostsoft.adapters.xgboost_data import library as xgboosts\n"
        "sizes = [openmp.team(lightgbms(), n).size for n in (None, 0, 2)]\n"
        "assert openmp.team(xgboosts(), 2) is not None\n"
        "found = set(re.findall(r'/.*libgomp.*', pathlib.Path('/proc/self/maps').read_text()))\n"
        "its = next((path for path in sorted(found) if 'xgboost' in path), sorted(found)[0])\n"
        "ctypes.CDLL(its, mode=ctypes.RTLD_GLOBAL)\n"
        "left = [openmp.team(library(), 2) is not None for library in (lightgbms, xgboosts)]\n"
        f"pathlib.Path({str(path)!r}).write_text(json.dumps([sizes, sorted(found), left]))\n",
        OMP_NUM_THREADS="3",
    )
    return json.loads(path.read_text(encoding="utf-8"))


def test_another_openmp_in_sight_of_all_may_be_the_boosters(by_itself):
    _, found, left = by_itself
    assert left.count(False) == len(found) - 1, (found, left)


def test_as_many_as_openmp_would_take(by_itself):
    assert by_itself[0] == [3, 3, 2]


@pytest.mark.skipif(processors.processors() < 2, reason="of one processor nothing is taken away")
@pytest.mark.parametrize("first", ["lightgbm", "boostsoft"])
def test_where_openmp_binds_threads_each_has_its_processor(first):
    """It leaves the thread that loads it one, of which alone the system then tells."""
    passes(
        "-c",
        f"import {first}\n"
        "import lightgbm, os\n"
        "from boostsoft.kernels import threads\n"
        "from boostsoft.adapters.lightgbm_data import library\n"
        "assert len(os.sched_getaffinity(0)) == 1 == threads.n_threads()\n"
        "if library().omp_get_num_procs() > 1:  # of an OpenMP that another one has bound before, one is left\n"
        "    with threads.on_threads_of(library(), 2):\n"
        "        assert threads.n_threads() >= 2\n"
        "        with threads.at_most(1):\n"
        "            assert threads.n_threads() == 1\n",
        OMP_PROC_BIND="true",
    )


@pytest.mark.skipif(processors.processors() < 2, reason="of one processor nothing is taken away")
def test_where_openmp_binds_threads_numbas_setting_counts():
    passes(
        "-c",
        "import boostsoft, lightgbm\n"
        "from boostsoft.kernels import threads\n"
        "from boostsoft.adapters.lightgbm_data import library\n"
        "with threads.on_threads_of(library(), 2):\n"
        "    assert threads.n_threads() == 1\n",
        OMP_PROC_BIND="true",
        NUMBA_NUM_THREADS="1",
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_does_without_them():
    """OpenMP's threads do not survive: whoever calls for them there waits for ever."""
    passes(
        "-c",
        "import os, numpy as np, lightgbm as lgb, boostsoft.lightgbm as bl\n"
        "from boostsoft.kernels import threads\n"
        "threads._NANOSECONDS_PER_THREAD, threads.processors = 1e-9, lambda *_: 8\n"
        "rng = np.random.default_rng(0)\n"
        "data = lgb.Dataset(rng.normal(size=(300, 3)), rng.integers(0, 3, 300), group=[10] * 30)\n"
        "objective = bl.objective('ndcg@5')\n"
        "lgb.train({'objective': objective, 'metric': 'None', 'verbose': -1, 'num_threads': 3}, data, 2)\n"
        "here = objective(np.arange(300.0), data)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    there = objective(np.arange(300.0), data)\n"
        "    os._exit(0 if np.array_equal(here, there) else 1)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0\n",
        NUMBA_NUM_THREADS="3",
    )


def test_a_training_is_the_same_on_any_threads(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 4)), rng.integers(0, 4, 400)
    monkeypatch.setattr(threads, "_NANOSECONDS_PER_THREAD", 1e-9)
    texts = []
    for n in (1, 2, 3):
        monkeypatch.setattr(threads, "_by_numba", lambda n=n: n)
        params = {"objective": bl.objective("ndcg@5"), "metric": "None", "verbose": -1, "num_threads": 2, "seed": 1}
        data = lgb.Dataset(X, y, group=[20] * 20)
        booster = lgb.train(
            {**params, "deterministic": True, "force_col_wise": True}, data, 5, valid_sets=[data],
            feval=bl.feval(bs.SoftMetric("ndcg@5", sigma=0.2)),
        )  # fmt: skip
        texts.append(booster.model_to_string())
    assert texts[0] == texts[1] == texts[2]
