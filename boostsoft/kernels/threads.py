"""Run a kernel over ranges of queries on several threads.

The kernels release the GIL, so plain threads do: no process-wide threading layer is set, several callers may run at
once, and a forked child starts its own. A query's result depends on nothing but the query, so that it is the same
for any number of threads.

The calling thread works too, with as many sleeping helpers as its allowance has left (``n_threads``). Helpers are
shared by all callers of a process: one starts, or goes on to its next range, only while no more threads are running
kernels than its caller may use. Two callers at once therefore share the processors rather than doubling the load.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import numba
import numpy as np
from numba import config
from numpy.typing import NDArray

from .cache import warn_if_not_kept
from .processors import processors

_CHUNKS_PER_THREAD = 8
# Two threads took 100 to 150 us longer than half of one thread's time, from calling the helper and waiting for it:
# level with one at 400 us of work on two idle cores, at 800 us on two busy ones. In the unit of ``costs``.
_NANOSECONDS_PER_THREAD = 400e3
_limit: ContextVar[int | None] = ContextVar("boostsoft_threads", default=None)
_crews: dict[int, _Crew] = {}


@contextlib.contextmanager
def at_most(threads: int | None) -> Iterator[None]:
    """Let kernels that are called inside run on no more than so many threads; None or below 1 leaves it as it is."""
    known = _limit.get()
    if threads is None or threads < 1:
        threads = known
    token = _limit.set(threads if known is None or threads is None else min(known, threads))
    try:
        yield
    finally:
        _limit.reset(token)


def limit() -> int | None:
    """What :func:`at_most` allows here, None outside of one."""
    return _limit.get()


def n_threads() -> int:
    """Threads that a kernel may use: Numba's settings, and no more than :func:`at_most`."""
    numbas, ours = _by_numba(), _limit.get()
    return numbas if ours is None else min(numbas, ours)


def _by_numba() -> int:
    """What ``numba.set_num_threads`` (of the calling thread) or NUMBA_NUM_THREADS say; else the processors allowed.

    Asking Numba for the first launches its threading layer. That is done only if it has been: setting launches it
    too, so without a layer nothing was set.
    """
    try:
        numba.threading_layer()
        threads = int(numba.get_num_threads())
    except ValueError:
        threads = int(config.NUMBA_NUM_THREADS)
    chosen = "NUMBA_NUM_THREADS" in os.environ or config.NUMBA_NUM_THREADS != config.NUMBA_DEFAULT_NUM_THREADS
    return threads if chosen else min(threads, processors())


def over_queries(run: Callable[[int, int], None], costs: NDArray[np.float64]) -> None:
    """Call ``run(begin, end)`` on ranges that cover all queries; ``costs`` in nanoseconds, roughly, shares the work."""
    if costs.size == 0:
        return
    total = np.cumsum(costs)
    threads = max(1, int(min(n_threads(), costs.size, total[-1] / _NANOSECONDS_PER_THREAD)))
    _crew().work(_Job(run, _ranges(total, threads), threads))
    warn_if_not_kept()


def _ranges(total: NDArray[np.float64], threads: int) -> deque[tuple[int, int]]:
    """Ranges of about equal cost, several for each thread; ``total`` is the cost up to and with each query."""
    n = total.size
    if threads == 1:
        return deque([(0, n)])
    shares = np.linspace(0.0, total[-1], threads * _CHUNKS_PER_THREAD + 1)[1:-1]
    cuts = np.unique(np.concatenate([[0], np.searchsorted(total, shares, side="left") + 1, [n]]))
    return deque(itertools.pairwise(cuts[cuts <= n].tolist()))


class _Job:
    """One call: the ranges that are left, and how many helpers are at them."""

    def __init__(self, run: Callable[[int, int], None], ranges: deque[tuple[int, int]], threads: int) -> None:
        self.run, self.ranges, self.threads = run, ranges, threads
        self.helping, self.closed = 0, False
        self.error: BaseException | None = None

    def next(self) -> tuple[int, int] | None:
        """The next range, None if others have taken the last."""
        try:
            return self.ranges.popleft()
        except IndexError:
            return None


class _Crew:
    """The helpers of one process, and how many threads of it are running kernels."""

    def __init__(self) -> None:
        most = max(os.cpu_count() or 1, int(config.NUMBA_NUM_THREADS))
        self._pool = ThreadPoolExecutor(most, thread_name_prefix="boostsoft")
        self._changed = threading.Condition()
        self._running = 0

    def work(self, job: _Job) -> None:
        """Return when all ranges of a job are done, or raise the first error."""
        with self._changed:
            self._running += 1
        try:
            self._call_helpers(job, min(job.threads, len(job.ranges)) - 1)
            while (range_ := job.next()) is not None:
                job.run(*range_)
        finally:
            job.ranges.clear()
            with self._changed:
                self._running -= 1
                job.closed = True  # to helpers that have not begun
                self._changed.wait_for(lambda: job.helping == 0)
        if job.error is not None:
            raise job.error

    def _call_helpers(self, job: _Job, helpers: int) -> None:
        # RuntimeError: the interpreter is about to end, or the system gives no more threads; the caller does without
        with contextlib.suppress(RuntimeError):
            for _ in range(helpers):
                self._pool.submit(self._help, job)

    def _help(self, job: _Job) -> None:
        with self._changed:
            if job.closed or self._running >= job.threads:
                return
            self._running += 1
            job.helping += 1
        try:
            while self._running <= job.threads and (range_ := job.next()) is not None:
                job.run(*range_)
        except BaseException as error:
            job.error = error
            job.ranges.clear()
        finally:
            with self._changed:
                self._running -= 1
                job.helping -= 1
                self._changed.notify_all()


def _crew() -> _Crew:
    """The crew of this process; the threads and locks of a parent do not survive a fork."""
    found = _crews.get(os.getpid())
    if found is None:  # several callers may come here at once, and must leave with the same crew
        found = _crews.setdefault(os.getpid(), _Crew())
    return found
