"""A booster's own threads: those of the OpenMP library that it is linked to.

After each of its loops OpenMP's threads spin for some milliseconds, waiting for the next one. Threads of ours would
have to share the processors with them: with sixteen of each, a gradient took four times as long. What a booster calls
between two trees runs on its own threads instead, which start at once.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import config

from .gate import gate_address

_FORK = "GOMP_parallel"
_MEMBER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_PARALLEL = ctypes.CFUNCTYPE(None, _MEMBER, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)
_COUNT = ctypes.CFUNCTYPE(ctypes.c_int)
# OpenMP's threads do not survive a fork: whoever calls for them in a child waits for ever
_process = os.getpid()


class Team(NamedTuple):
    """A booster's threads.

    Attributes
    ----------
    size : how many it runs on.
    parallel : the library's function that runs something on them.
    number : the address of the one that says who is who.
    processors : how many processors they have together; where OpenMP binds each to some, the caller has fewer.
    """

    size: int
    parallel: Any
    number: int
    processors: int

    def run(self, work: Callable[[], None], members: int) -> None:
        """Call ``work``, which must not raise, on so many of the threads at once, the calling one among them.

        All come: with another number than before OpenMP would end and start threads.

        Raises
        ------
        BaseException
            What the handler of a signal has raised: one can come before the first line of ``work`` or behind its last,
            where nobody but ctypes is there to catch, which would only print it.
        """
        ended: list[None] = []
        lost: list[BaseException | None] = []

        def member(_: Any) -> None:
            work()
            ended.append(None)

        call = _MEMBER(member)
        job = np.array([0, members - 1, _address(call), self.number], np.int64)
        with _caught(member, lost):
            self.parallel(_MEMBER(gate_address()), job.ctypes.data, self.size, 0)
        if lost or len(ended) < 1 + min(int(job[0]), members - 1):
            raise next(filter(None, lost), KeyboardInterrupt())


@contextlib.contextmanager
def _caught(callback: Callable[[Any], None], lost: list[BaseException | None]) -> Iterator[None]:
    """Gather what ctypes would print of what a callback raises; on the main thread, where Python handles signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = sys.unraisablehook

    def gather(unraisable: Any) -> None:
        # from Python 3.13 on it is named in the message only
        if unraisable.object is callback or repr(callback) in (unraisable.err_msg or ""):
            lost.append(unraisable.exc_value)
        else:
            before(unraisable)

    try:
        sys.unraisablehook = gather
        yield
    finally:
        sys.unraisablehook = before


def team(library: Any, threads: int | None) -> Team | None:
    """The threads of a booster's library, so many or as many as OpenMP would take; None if it has no such threads.

    That is so where it has been built without OpenMP, or with another one than GNU's, whose functions Clang's has too
    on Linux. Where another OpenMP is in sight of all libraries, as PyTorch's is, either may be the booster's: none is
    taken, since threads of the wrong one would spin beside the right one's. Where nothing is compiled they would be of
    no use.
    """
    if library is None or os.getpid() != _process or config.DISABLE_JIT:
        return None
    parallel, count = _function(library, _FORK), _function(library, "omp_get_max_threads")
    in_sight = _function(_everybody(), _FORK)
    if parallel is None or count is None or (in_sight is not None and _address(in_sight) != _address(parallel)):
        return None
    size = threads if threads is not None and threads > 0 else ctypes.cast(count, _COUNT)()
    number, processors = _function(library, "omp_get_thread_num"), _function(library, "omp_get_num_procs")
    if size < 2 or number is None or processors is None:
        return None
    return Team(size, ctypes.cast(parallel, _PARALLEL), _address(number), ctypes.cast(processors, _COUNT)())


@cache
def _everybody() -> Any:
    """What all libraries see first, which on Windows there is not."""
    return ctypes.CDLL(None) if os.name == "posix" else None


def _function(library: Any, name: str) -> Any:
    try:
        return library[name]
    except (AttributeError, TypeError):
        return None


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0
