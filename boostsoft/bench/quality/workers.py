"""Runs one after the other in this process, or side by side in several that share the cores."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from threading import Thread
from typing import Any

from ...kernels.threads import n_threads
from .tasks import Outcome, Task, run_task

Runner = Callable[[Sequence[Task]], Iterator[Outcome]]


def threads_per_job(jobs: int) -> int:
    """Threads of each of so many processes."""
    return max(1, n_threads() // jobs)


@contextmanager
def workers(jobs: int) -> Iterator[Runner]:
    """A function that does tasks and gives their outcomes as they come, on so many processes."""
    if jobs == 1:
        yield lambda tasks: map(run_task, tasks)
        return
    others = set(active_children())
    with _environment(_settings(threads_per_job(jobs))):
        # fresh interpreters: OpenMP's and Numba's threads do not survive a fork
        pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_follow_the_parent)
        try:
            yield lambda tasks: _side_by_side(pool, tasks)
        except BaseException:
            for process in set(active_children()) - others:
                process.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def _side_by_side(pool: ProcessPoolExecutor, tasks: Sequence[Task]) -> Iterator[Outcome]:
    try:
        for future in as_completed([pool.submit(run_task, task) for task in tasks]):
            yield future.result()
    except BrokenProcessPool as error:
        raise ChildProcessError(
            "bench quality: a process was lost, perhaps for want of memory; what is done is kept, the same command "
            "goes on, and fewer --jobs need less"
        ) from error


def _follow_the_parent() -> None:
    """Leave interrupts to it, and end when it has ended in any other way: a pool's processes wait for ever."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_after, args=[parent_process()], daemon=True).start()


def _end_after(parent: Any) -> None:
    parent.join()
    os._exit(1)


def _settings(threads: int) -> dict[str, str]:
    """What libraries read when they are loaded: threads, and that waiting ones sleep."""
    return {
        "NUMBA_NUM_THREADS": str(threads),
        "OMP_NUM_THREADS": str(threads),
        "OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY", "passive"),
    }


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """Environment variables for the processes that are started inside."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
