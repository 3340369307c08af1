"""Run a kernel over ranges of queries on several threads.

The kernels release the GIL, so plain threads do: no process-wide threading layer is set, several callers may run at
once, and a forked child starts its own. A query's result depends on nothing but the query, so that it is the same
for any number of threads.

The calling thread works too, with as many sleeping helpers as its allowance has left (``n_threads``). Helpers are
shared by all callers of a process: one starts, or goes on to its next ranges, only while no more threads are running
kernels than its caller may use. Two callers at once therefore share the processors rather than doubling the load.
What a booster calls runs on the booster's own threads instead (``openmp``).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Any

import numba
import numpy as np
from numba import config
from numpy.typing import NDArray

from . import openmp
from .cache import warn_if_not_kept
from .processors import processors
from .shares import Ranges, Work, has_left, shared_out

# Two threads took 100 to 150 us longer than half of one thread's time, from calling the helper and waiting for it:
# level with one at 400 us of work on two idle cores, at 800 us on two busy ones. In the unit of ``costs``.
_NANOSECONDS_PER_THREAD = 400e3
_limit: ContextVar[int | None] = ContextVar("boostsoft_threads", default=None)
_team: ContextVar[openmp.Team | None] = ContextVar("boostsoft_team", default=None)
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
    if chosen:
        return threads
    team = _team.get()
    if team is not None and threads == config.NUMBA_NUM_THREADS:  # nothing is set
        return processors(team.processors)  # where OpenMP binds threads, Numba's default too was what the caller has
    return min(threads, processors())


@contextlib.contextmanager
def on_threads_of(library: Any, threads: int | None) -> Iterator[None]:
    """Let kernels that are called inside run on the threads of a booster: its library, and how many it says it has.

    Not if they are more than the processors, as in a container without ``num_threads``: all would have to take turns.
    """
    team = openmp.team(library, threads if threads is not None and threads > 0 else limit())
    token = _team.set(team if team is not None and team.size <= processors(team.processors) else None)
    try:
        yield
    finally:
        _team.reset(token)


def over_queries(run: Callable[[int, int], None], costs: NDArray[np.float64]) -> None:
    """Call ``run(begin, end)`` on ranges that cover all queries; ``costs`` in nanoseconds, roughly, shares the work."""
    if costs.size == 0:
        return
    threads = _wanted(costs.size, float(costs.sum()))
    ranges = deque(itertools.chain.from_iterable(shared_out(costs, threads)))

    def work(go_on: Callable[[], bool]) -> None:
        while go_on():
            try:
                range_ = ranges.popleft()
            except IndexError:  # others have taken the last
                return
            run(*range_)

    _crew().work(_Job(work, min(threads, len(ranges))))
    warn_if_not_kept()


def on_every_thread(run: Callable[[Ranges], None], work: Work) -> None:
    """Call ``run(ranges)`` on every thread, for a kernel that takes ranges from there (``shares.claim``)."""
    on_every_thread_by_kind(lambda _, ranges: run(ranges), work)


def on_every_thread_by_kind(run: Callable[[int, Ranges], None], work: Work) -> None:
    """Call ``run(kind, ranges)`` on every thread for each kind of query."""
    if work.costs.size == 0:
        return
    threads = _wanted(work.costs.size, work.total)
    parts = work.parts(threads)

    def each(go_on: Callable[[], bool]) -> None:
        for kind, ranges in parts:
            if not go_on():
                return
            if has_left(ranges):
                run(kind, ranges)

    _crew().work(_Job(each, min(threads, sum(ranges.size // 2 for _, ranges in parts))))
    warn_if_not_kept()


def _wanted(queries: int, nanoseconds: float) -> int:
    """Threads for which there is enough to do."""
    return max(1, int(min(n_threads(), queries, nanoseconds / _NANOSECONDS_PER_THREAD)))


class _Job:
    """One call: what each thread does, as long as it is told to go on; on how many, and how many helpers are at it.

    ``counted`` are the threads by which its caller has raised the number of those that run.
    """

    def __init__(self, work: Callable[[Callable[[], bool]], None], threads: int) -> None:
        self.work, self.threads = work, threads
        self.counted = self.helping = 0
        self.closed = False
        self.ended: SimpleQueue[None] = SimpleQueue()  # an entry from each helper that is done
        self.error: BaseException | None = None


class _Crew:
    """The helpers of one process, and how many threads of it are running kernels.

    Signals may raise at any call in Python, and what holds a lock then holds it for ever: so helpers are started,
    called and waited for by what is in C, a lock, queues and the start of a thread.
    """

    def __init__(self) -> None:
        self._most = max(os.cpu_count() or 1, int(config.NUMBA_NUM_THREADS))
        self._calls: SimpleQueue[_Job] = SimpleQueue()
        self._lock = threading.RLock()  # which knows its holder
        self._running = self._helpers = 0

    def work(self, job: _Job) -> None:
        """Return when all of a job is done, or raise the first error."""
        team = _team.get() if job.threads > 1 else None
        try:
            if team is None:
                self._work_with_helpers(job)
            else:
                self._work_on_team(job, team)
        except BaseException as error:
            job.error = error
        while True:  # an interrupt is kept until all have ended; here, for even to enter a function may raise one
            try:
                if job.error is not None:
                    self._let_go()
                with self._lock:
                    self._running -= job.counted
                    job.counted = 0
                    job.closed = True  # to helpers that have not begun
                while job.helping:
                    job.ended.get()
                break
            except BaseException as error:
                job.error = error
        if job.error is not None:
            raise job.error

    def _let_go(self) -> None:
        """Free this thread's lock: from Python 3.14 on a signal may raise where it is held and guards nothing yet."""
        try:
            while True:
                self._lock.release()
        except RuntimeError:  # it has no more
            return

    def _work_with_helpers(self, job: _Job) -> None:
        with self._lock:
            self._running += 1
            job.counted = 1  # in the line behind, where no signal comes between
        self._call_helpers(job)
        job.work(lambda: job.error is None)

    def _work_on_team(self, job: _Job, team: openmp.Team) -> None:
        def member() -> None:
            try:
                job.work(lambda: job.error is None)
            except BaseException as error:
                job.error = error

        with self._lock:
            members = max(1, min(job.threads - self._running, team.size))
            self._running += members
            job.counted = members
        team.run(member, members)

    def _call_helpers(self, job: _Job) -> None:
        wanted = min(job.threads - 1, self._most)
        # RuntimeError: the interpreter is about to end, or the system gives no more threads; the caller does without
        with contextlib.suppress(RuntimeError), self._lock:
            while self._helpers < wanted:
                start_new_thread(self._help_callers, (self._helpers,))
                self._helpers += 1
        for _ in range(min(wanted, self._helpers)):
            self._calls.put(job)

    def _help_callers(self, number: int) -> None:
        threading.current_thread().name = f"boostsoft_{number}"
        while True:
            self._help(self._calls.get())

    def _help(self, job: _Job) -> None:
        with self._lock:
            if job.closed or self._running >= job.threads:
                return
            self._running += 1
            job.helping += 1
        try:
            job.work(lambda: job.error is None and self._running <= job.threads)
        except BaseException as error:
            job.error = error
        finally:
            with self._lock:
                self._running -= 1
                job.helping -= 1
            job.ended.put(None)


def _crew() -> _Crew:
    """The crew of this process; the threads and locks of a parent do not survive a fork."""
    found = _crews.get(os.getpid())
    if found is None:  # several callers may come here at once, and must leave with the same crew
        found = _crews.setdefault(os.getpid(), _Crew())
    return found
