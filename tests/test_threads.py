"""Threads: whose settings count, how many run at once, and what a fork leaves."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest

from boostsoft.kernels import processors, threads

from .cases import on_threads

LONG = np.full(12, 1e9)  # a second each, as far as over_queries knows
TIMEOUT = 60


def passes(*code, **environment):
    """Run Python by itself, with these settings of threads only; a hang, a warning or an error is a failure."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("NUM_THREADS")}
    done = subprocess.run(
        # Python 3.12 and later warn of any fork of a process with threads, which is what is tested
        [sys.executable, "-W", "error", "-W", "ignore:This process:DeprecationWarning", *code],
        env={**kept, **environment}, capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


# Settings


def test_numbas_settings_are_read_and_none_is_made():
    passes(
        "-c",
        "import os, threading, numba, numpy as np, boostsoft as bs\n"
        "from boostsoft.kernels.threads import n_threads\n"
        "assert n_threads() == 3\n"  # by the environment, whatever the machine has
        "if hasattr(os, 'sched_setaffinity'):\n"  # and however few of its processors are left
        "    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
        "assert n_threads() == 3\n"
        "bs.Metric('precision@1')([0, 1], [0.1, 0.2], group=[2])\n"
        "try:\n    layer = numba.threading_layer()\n"
        "except ValueError:\n    layer = None\n"
        "assert layer is None, 'a threading layer was launched'\n"
        "numba.set_num_threads(2)\n"
        "assert n_threads() == 2\n"
        "bs.Metric('precision@1')([0, 1], [0.1, 0.2], group=[2])\n"
        "assert numba.get_num_threads() == 2 and numba.config.NUMBA_NUM_THREADS == 3\n"
        "found = []\n"
        "other = threading.Thread(target=lambda: found.append(n_threads()))\n"
        "other.start(); other.join()\n"
        "assert found == [3]\n",  # Numba's mask belongs to the thread that set it
        NUMBA_NUM_THREADS="3",
    )


def test_the_affinity_of_now_counts_unless_numba_is_told():
    """Of Linux; numba's own variable is read late anywhere."""
    passes(
        "-c",
        "import os, numba\nfrom boostsoft.kernels.threads import n_threads\n"
        "if hasattr(os, 'sched_setaffinity'):\n"
        "    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
        "    assert n_threads() == 1\n"
        "numba.config.NUMBA_NUM_THREADS = numba.config.NUMBA_DEFAULT_NUM_THREADS + 5\n"
        "assert n_threads() == numba.config.NUMBA_DEFAULT_NUM_THREADS + 5\n",
    )


@pytest.mark.parametrize(
    ("files", "share"),
    [
        ({}, np.inf),
        ({"cpu.max": "max 100000\n"}, np.inf),
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "?"}, np.inf),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, np.inf),
        ({"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 0.5),
        ({"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "0\n"}, np.inf),
    ],
)
def test_a_containers_quota(files, share, tmp_path, monkeypatch):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="ascii")
    assert processors.quota(tmp_path) == share
    monkeypatch.setattr(processors, "CGROUPS", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(7), raising=False)
    assert processors.processors() == (7 if share == np.inf else np.ceil(share))
    assert processors.processors(5) == (5 if share == np.inf else np.ceil(share))


def test_a_containers_memory(tmp_path):
    assert processors.granted_memory(tmp_path) == sys.maxsize
    (tmp_path / "memory.max").write_text("max\n", encoding="ascii")
    assert processors.granted_memory(tmp_path) == sys.maxsize
    (tmp_path / "memory.max").write_text("1048576\n", encoding="ascii")
    assert processors.granted_memory(tmp_path) == 2**20
    (tmp_path / "memory.max").unlink()
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("4096\n", encoding="ascii")
    assert processors.granted_memory(tmp_path) == 4096


@pytest.mark.parametrize(("chosen", "allowed"), [({}, 1), ({"NUMBA_NUM_THREADS": "3"}, 3)])
def test_no_more_threads_than_processors_are_allowed_unless_chosen(chosen, allowed, monkeypatch):
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    for name, value in chosen.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(threads.numba, "threading_layer", lambda: "workqueue")
    monkeypatch.setattr(threads.numba, "get_num_threads", lambda: 3)
    monkeypatch.setattr(threads.config, "NUMBA_NUM_THREADS", threads.config.NUMBA_DEFAULT_NUM_THREADS)
    monkeypatch.setattr(threads, "processors", lambda *_: 1)
    assert threads.n_threads() == allowed


def test_at_most_nests_and_ends(monkeypatch):
    monkeypatch.setattr(threads, "_by_numba", lambda: 6)
    for nothing in (None, 0, -1):
        with threads.at_most(nothing):
            assert (threads.n_threads(), threads.limit()) == (6, None)
    with threads.at_most(4):
        assert threads.n_threads() == threads.limit() == 4
        with contextlib.suppress(KeyError), threads.at_most(2):
            assert threads.n_threads() == 2
            with threads.at_most(3), threads.at_most(None), threads.at_most(0):
                assert threads.n_threads() == 2
            raise KeyError
        assert threads.n_threads() == 4
        with ThreadPoolExecutor(1) as other:
            assert other.submit(threads.n_threads).result() == 6
    with threads.at_most(9):
        assert threads.n_threads() == 6
    assert threads.limit() is None


# How many run


class Counted:
    """A run that counts how many of it are at work at once, and who has worked."""

    def __init__(self, wait=0.0, meeting=None):
        self.now = self.most = 0
        self.names, self.ranges = set(), []
        self.lock, self.wait, self.meeting = threading.Lock(), wait, meeting

    def __call__(self, begin, end):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.names.add(threading.current_thread().name)
            self.ranges.append((begin, end))
        if self.meeting is not None:
            self.meeting.wait()
        time.sleep(self.wait)
        with self.lock:
            self.now -= 1

    def assert_covers(self, n):
        assert sorted(q for begin, end in self.ranges for q in range(begin, end)) == list(range(n))


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_one_caller_runs_on_so_many_threads(n, monkeypatch):
    on_threads(monkeypatch, n)
    monkeypatch.setattr(threads, "_crews", {})
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    run = Counted(meeting=threading.Barrier(n, timeout=TIMEOUT))  # passes if and only if n come at a time
    threads.over_queries(run, np.full(4 * n * n, 1e9))
    run.assert_covers(4 * n * n)
    assert run.most == len(run.names) == n
    assert threading.current_thread().name in run.names


def test_little_work_stays_with_its_caller(monkeypatch):
    monkeypatch.setattr(threads, "_by_numba", lambda: 4)
    run = Counted()
    threads.over_queries(run, np.full(100, 1e3))
    assert (run.ranges, run.names) == ([(0, 100)], {threading.current_thread().name})
    run = Counted()
    threads.over_queries(run, np.full(100, 1e6))
    assert len(run.ranges) > 8


def test_callers_share_the_processors(monkeypatch):
    """A helper does not go on once another caller works: two callers run on two threads, not on three."""
    on_threads(monkeypatch, 2)
    monkeypatch.setattr(threads, "_crews", {})
    arrived, go = threading.Barrier(3, timeout=TIMEOUT), threading.Event()
    by_helper, lock, seen = [], threading.Lock(), 0

    def first(begin, end):
        nonlocal seen
        with lock:
            seen += 1
            mine = seen
        if mine <= 2:  # the caller and its helper are at work, both
            arrived.wait()
            go.wait(TIMEOUT)
        elif threading.current_thread().name.startswith("boostsoft"):
            by_helper.append((begin, end))
        else:
            time.sleep(0.01)  # while a helper that did go on would take the next one

    def second(begin, end):
        if begin == 0:
            go.set()
            caller.join(TIMEOUT)  # until the first call has ended

    caller = threading.Thread(target=threads.over_queries, args=(first, LONG), name="caller")
    caller.start()
    arrived.wait()
    threads.over_queries(second, LONG[:1])
    assert not caller.is_alive()
    assert seen == 12
    assert by_helper == []


def test_many_callers_at_once_and_one_within_another(monkeypatch):
    on_threads(monkeypatch, 3)
    runs = [Counted(0.001) for _ in range(8)]

    def outer(begin, end):
        for q in range(begin, end):
            threads.over_queries(runs[q], LONG)

    whole = Counted()
    with ThreadPoolExecutor(4) as callers:
        calls = [
            callers.submit(threads.over_queries, outer, LONG[:8]),
            callers.submit(threads.over_queries, whole, LONG),
        ]
        for call in calls:
            call.result(TIMEOUT)
    for run in (*runs, whole):
        run.assert_covers(12)


@pytest.mark.parametrize(("within", "members"), [(2, 1), (3, 1), (6, 4)])
def test_a_call_within_another_leaves_its_members_of_the_team_out(within, members):
    """Those of the booster's team that run already count, but the caller of the moment always works."""
    asked, crew = [], threads._Crew()

    class Team:
        size = 8

        @staticmethod
        def run(member, n):
            asked.append(n)
            member()

    token = threads._team.set(Team())
    try:
        crew.work(threads._Job(lambda _: crew.work(threads._Job(lambda _: None, within)), 2))
    finally:
        threads._team.reset(token)
    assert asked == [2, members]
    assert crew._running == 0


def test_helpers_are_few_and_asleep(monkeypatch):
    monkeypatch.setattr(threads, "_crews", {})
    known = {thread.ident for thread in threading.enumerate()}
    for n in (2, 3, 7, 4, 16, 5, 1, 2) * 3:
        on_threads(monkeypatch, n)
        threads.over_queries(Counted(0.0005), LONG)
    added = [thread for thread in threading.enumerate() if thread.ident not in known]
    assert len(threads._crews) == 1
    assert 1 <= len(added) <= max(os.cpu_count(), numba.config.NUMBA_NUM_THREADS)
    assert threads._crew()._running == 0
    before = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - before < 0.1  # nobody spins


def test_without_another_thread_the_caller_does_it_all(monkeypatch):
    """The system may give no more threads, and none start while the interpreter ends."""
    on_threads(monkeypatch, 3)

    def none_left(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "start_new_thread", none_left)
    monkeypatch.setattr(threads, "_crews", {})
    run = Counted()
    threads.over_queries(run, LONG)
    run.assert_covers(12)
    assert run.names == {threading.current_thread().name}


def test_a_metric_can_be_computed_while_the_interpreter_ends():
    passes(
        "-c",
        "import atexit, numpy as np\nfrom boostsoft.kernels import threads\n"
        "threads._NANOSECONDS_PER_THREAD, done = 1e-9, []\n"
        "run = lambda begin, end: done.append(end - begin)\n"
        "threads.over_queries(run, np.ones(20))\n"
        "def last():\n"
        "    threads.over_queries(run, np.ones(20))\n"
        "    assert sum(done) == 40\n"
        "atexit.register(last)\n",
        NUMBA_NUM_THREADS="3",
    )


@pytest.mark.parametrize("who", ["caller", "helper"])
def test_an_error_ends_the_call_when_all_have_stopped(who, monkeypatch):
    on_threads(monkeypatch, 2)
    work, me = Counted(meeting=threading.Barrier(2, timeout=TIMEOUT)), threading.current_thread()
    ended = []

    def fail(begin, end):
        work(begin, end)
        if (threading.current_thread() is me) == (who == "caller"):
            raise ZeroDivisionError(f"{begin} to {end}")
        time.sleep(0.2)
        ended.append(begin)

    with pytest.raises(ZeroDivisionError, match=r"\d to \d"):
        threads.over_queries(fail, LONG)
    assert len(ended) == 1  # whose arrays the caller may now forget
    assert len(work.ranges) == 2
    assert threads._crew()._running == 0


def test_an_interrupt_at_any_call_leaves_helpers_and_their_number_as_they_were():
    """As a signal's handler may raise there; what held a lock of Python's own would hold it for ever.

    From Python 3.14 on also between a lock's entering and the first line that it guards, "c_return" here.
    """
    passes(
        "-c",
        "import sys, time, numpy as np\nfrom boostsoft.kernels import threads\n"
        "threads._NANOSECONDS_PER_THREAD = 1e-9\n"
        "def interrupt_at(number, wanted):\n"
        "    left = [number]\n"
        "    def profile(frame, event, _):\n"
        "        if event == wanted:\n"
        "            left[0] -= 1\n"
        "            if left[0] < 0:\n"
        "                sys.setprofile(None)\n"
        "                raise KeyboardInterrupt\n"
        "    return profile\n"
        "def call(profile=None):\n"
        "    done = []\n"
        "    def run(begin, end):\n"
        "        done.append(end - begin)\n"
        "        time.sleep(0.0005)\n"
        "    sys.setprofile(profile)\n"
        "    try:\n"
        "        threads.over_queries(run, np.ones(8))\n"
        "    finally:\n"
        "        sys.setprofile(None)\n"
        "    assert sum(done) == 8\n"
        "call()\n"
        "for event in ('call', 'return', 'c_return'):\n"
        "    number, interrupted = 0, True\n"
        "    while interrupted:\n"
        "        interrupted = False\n"
        "        try:\n"
        "            call(interrupt_at(number, event))\n"
        "        except KeyboardInterrupt:\n"
        "            interrupted = True\n"
        "        assert threads._crew()._running == 0, (event, number)\n"
        "        call()\n"
        "        assert threads._crew()._running == 0, (event, number)\n"
        "        number += 1\n"
        "    assert number > 20, (event, number)\n",
        NUMBA_NUM_THREADS="3",
    )


# Processes

WORK = """
import multiprocessing, os, sys, threading
import numpy as np
from boostsoft import SoftMetric
from boostsoft.kernels import threads
sizes = np.random.default_rng(1).integers(1, 60, 30)
rng = np.random.default_rng(2)
labels, scores = rng.integers(0, 4, sizes.sum()), rng.normal(size=sizes.sum())
soft = SoftMetric("ndcg@5", noise="gumbel", sigma=0.5)

def meet():
    meeting = threading.Barrier(2, timeout=60)  # passes if a helper is at work beside the caller
    threads.over_queries(lambda begin, end: meeting.wait(), np.ones(2))

def work(alone=True):
    threads._NANOSECONDS_PER_THREAD = 1e-9  # here, since joblib's workers do not run what is above
    if alone and threads.n_threads() > 1:
        meet()
    return soft.gradient(labels, scores, group=sizes).tobytes(), threads.n_threads()
"""
PROCESSES = """
def main():
    here = work()
    assert here[1] == 2 and threads._crew()._helpers
    for method in multiprocessing.get_all_start_methods():
        # a fork may come while another thread holds the lock; no child may wait for that
        with threads._crew()._lock:
            pool = multiprocessing.get_context(method).Pool(2)
        found = pool.map_async(work, [True] * 4).get(120)
        pool.close(), pool.join()
        assert found == [here] * 4, method
    assert work() == here

if __name__ == "__main__":
    main()
"""
JOBLIB = """
def main():
    import joblib
    here = work()
    found = joblib.Parallel(n_jobs=2, backend="loky", timeout=120)(joblib.delayed(work)() for _ in range(4))
    # joblib gives each worker its share of the processors, in NUMBA_NUM_THREADS too
    assert found == [(here[0], max(1, joblib.cpu_count() // 2))] * 4, [count for _, count in found]
    with joblib.parallel_config("loky", inner_max_num_threads=2):  # more than their share, on two processors
        found = joblib.Parallel(n_jobs=2, timeout=120)(joblib.delayed(work)() for _ in range(4))
    assert found == [(here[0], 2)] * 4, [count for _, count in found]
    found = joblib.Parallel(n_jobs=2, backend="threading")(joblib.delayed(work)(alone=False) for _ in range(4))
    assert found == [here] * 4

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(("end", "environment"), [(PROCESSES, {"NUMBA_NUM_THREADS": "2"}), (JOBLIB, {})])
def test_the_same_bits_in_processes_of_a_parent_that_has_threads(end, environment, tmp_path):
    """Forked ones inherit locks and a pool without its threads; spawned ones start from nothing."""
    (tmp_path / "work.py").write_text(WORK + end, encoding="utf-8")
    passes(str(tmp_path / "work.py"), **environment)
