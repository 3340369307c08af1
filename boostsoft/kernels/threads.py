"""Run a kernel over ranges of queries on several threads.

The kernels release the GIL, so plain threads do: no process-wide threading layer is set, several callers may run
at once, and a forked child starts its own. A query's result depends on nothing but the query, so that it is the
same for any number of threads.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import config
from numpy.typing import NDArray

_CHUNKS_PER_THREAD = 8
_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}


def n_threads() -> int:
    """Threads a kernel may use: Numba's own setting, NUMBA_NUM_THREADS, by default the processors allowed."""
    return int(config.NUMBA_NUM_THREADS)


def _pool(threads: int) -> ThreadPoolExecutor:
    key = (os.getpid(), threads)  # the threads of a parent do not survive a fork
    if key not in _pools:  # several callers may come here at once, and must leave with the same pool
        _pools.setdefault(key, ThreadPoolExecutor(threads, thread_name_prefix="boostsoft"))
    return _pools[key]


def over_queries(run: Callable[[int, int], None], costs: NDArray[np.float64]) -> None:
    """Call ``run(begin, end)`` on ranges that cover all queries, each of about equal cost."""
    n, threads = costs.size, n_threads()
    if n == 0:
        return
    if threads == 1 or n == 1:
        run(0, n)
        return
    total = np.cumsum(costs)
    shares = np.linspace(0.0, total[-1], threads * _CHUNKS_PER_THREAD + 1)[1:-1]
    cuts = np.unique(np.concatenate([[0], np.searchsorted(total, shares, side="left") + 1, [n]]))
    cuts = cuts[cuts <= n]
    pool = _pool(threads)
    tasks = [pool.submit(run, int(a), int(b)) for a, b in itertools.pairwise(cuts)]
    for task in tasks:
        task.result()
