"""How queries are shared out: every one once, the costly ranges first, and ranges that several threads take."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from boostsoft.kernels import shares, threads
from boostsoft.kernels.compile import kernel
from boostsoft.kernels.shares import Work, as_ranges, claim, has_left, shared_out

from .cases import on_threads


@kernel
def take(ranges, taken, mine):
    """Mark the queries of every range that is claimed."""
    begin, end = claim(ranges)
    while begin < end:
        for q in range(begin, end):
            taken[q] += 1
            mine[q] = True
        begin, end = claim(ranges)


def flat(rounds):
    return [range_ for ranges in rounds for range_ in ranges]


def covered(rounds):
    return sorted(q for begin, end in flat(rounds) for q in range(begin, end))


@pytest.mark.parametrize("n_threads", [1, 2, 3, 16])
@pytest.mark.parametrize("n", [1, 2, 7, 500])
def test_every_query_is_in_one_range(n, n_threads):
    rng = np.random.default_rng(n)
    for costs in (np.full(n, 1e4), rng.exponential(1e5, n), np.zeros(n), np.r_[np.full(n - 1, 1.0), 1e9]):
        for kinds in (None, rng.integers(0, 3, n).astype(np.int8)):
            rounds = shared_out(costs, n_threads, kinds)
            assert covered(rounds) == list(range(n))
            assert kinds is None or all(len(set(kinds[begin:end])) == 1 for begin, end in flat(rounds))


def test_one_thread_goes_on_from_the_first_to_the_last():
    assert shared_out(np.full(50, 1e3), 1) == [[(0, 50)]]
    assert shared_out(np.full(4, 1e3), 1, np.array([0, 0, 1, 1], np.int8)) == [[(0, 2), (2, 4)]]


def test_the_costly_ranges_come_first_and_the_last_ones_are_small():
    costs = np.random.default_rng(0).exponential(1e4, 2000)
    (ranges,) = shared_out(costs, 4)
    shares_ = np.array([costs[begin:end].sum() for begin, end in ranges])
    assert np.all(np.diff(shares_) <= 0)
    np.testing.assert_allclose(shares_[:4], costs.sum() / 8, rtol=0.05)
    assert shares_[-1] < costs.sum() / 4 / 16 * 1.1
    assert len(ranges) <= 4 * 8


def test_a_long_query_is_among_the_first():
    costs = np.full(1000, 1e4)
    costs[700] = 1e6
    begin, end = shared_out(costs, 8)[0][0]
    assert begin <= 700 < end


def test_python_sees_to_signals_between_rounds():
    """A thread is in a kernel for no longer than twice the longest share, and a query."""
    rounds = shared_out(np.full(3000, 1e6), 2)
    assert len(rounds) > 10
    for ranges in rounds:
        assert sum(end - begin for begin, end in ranges) * 1e6 <= 2 * 2 * shares._LONGEST
    assert len(shared_out(np.full(3000, 1e6), 1)) > 10


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_kernels_take_every_range_once(n_threads, monkeypatch):
    on_threads(monkeypatch, n_threads)
    monkeypatch.setattr(threads, "_crews", {})
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    n = 3000
    taken, by_thread, lock = np.zeros(n, np.int64), [], threading.Lock()
    meeting = threading.Barrier(n_threads, timeout=60)

    def run(ranges):
        mine = np.zeros(n, np.bool_)
        meeting.wait()
        take(ranges, taken, mine)
        with lock:
            by_thread.append(mine)

    threads.on_every_thread(run, Work(np.full(n, 1e4)))
    assert taken.tolist() == [1] * n
    assert np.sum(by_thread, axis=0).tolist() == [1] * n


def test_each_kind_is_its_own_sweep(monkeypatch):
    on_threads(monkeypatch, 2)
    kinds = np.random.default_rng(0).integers(0, 3, 400).astype(np.int8)
    taken, wrong = np.zeros(400, np.int64), []

    def run(kind, ranges):
        mine = np.zeros(400, np.bool_)
        take(ranges, taken, mine)
        wrong.extend(np.flatnonzero(mine & (kinds != kind)))

    threads.on_every_thread_by_kind(run, Work(np.full(400, 1e5), kinds))
    assert taken.tolist() == [1] * 400
    assert wrong == []


def test_an_array_of_ranges():
    ranges = as_ranges([(3, 9), (0, 3)])
    taken, mine = np.zeros(9, np.int64), np.zeros(9, np.bool_)
    assert has_left(ranges)
    take(ranges, taken, mine)
    assert not has_left(ranges)
    assert taken.tolist() == [1] * 9
    take(ranges, taken, mine)
    assert taken.tolist() == [1] * 9


def test_work_is_shared_out_once_and_taken_again():
    kinds = np.random.default_rng(0).integers(0, 2, 300).astype(np.int8)
    work = Work(np.full(300, 1e5), kinds)
    for n_threads in (1, 2, 1):
        taken, mine = np.zeros(300, np.int64), np.zeros(300, np.bool_)
        for kind, ranges in work.parts(n_threads):
            mine[:] = False
            take(ranges, taken, mine)
            assert set(kinds[mine]) == {kind}
        assert taken.tolist() == [1] * 300
    assert work.parts(2)[0][1] is not work.parts(2)[0][1]


def test_an_error_ends_a_sweep(monkeypatch):
    on_threads(monkeypatch, 2)
    calls = []

    def run(ranges):
        calls.append(ranges)
        raise ZeroDivisionError("once")

    with pytest.raises(ZeroDivisionError, match="once"):
        threads.on_every_thread(run, Work(np.full(100, 1e9)))
    assert len(calls) <= 2
    assert threads._crew()._running == 0
