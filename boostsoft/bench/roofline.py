"""The machine's peak: how many floating-point operations a second fused multiply-adds reach on all our threads.

In vectors as the kernels have them: left to itself, LLVM takes half of them on processors of 512 bits.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numba import njit

from ..kernels.simd import LANES, load, splat, store
from ..kernels.threads import n_threads, over_queries

_LENGTH = 1024  # float64: 8 KiB, in the nearest cache
_DEGREE = 16
_CHAINS = 8  # fewer wait for each other
_REPEATS = 5_000
_TRIALS = 12
_NANOSECONDS = 3e7  # of a thread in a trial, roughly: less work than a thread is worth would all go to one


@njit(nogil=True, fastmath={"contract"}, error_model="numpy", cache=True)  # type: ignore[untyped-decorator]
def _polynomials(x: Any, out: Any, repeats: Any) -> None:
    """Eight polynomials in every x: one load and one store for 128 fused multiply-adds, in eight independent chains."""
    half, third = splat(0.5), splat(0.3)
    for _ in range(repeats):
        for i in range(0, x.size, LANES):
            t = load(x, i)
            a, b, c, d = splat(1.0), splat(2.0), splat(3.0), splat(4.0)
            e, f, g, h = splat(5.0), splat(6.0), splat(7.0), splat(8.0)
            for _ in range(_DEGREE):
                a, b, c, d = a * t + half, b * t + half, c * t + half, d * t + half
                e, f, g, h = e * t + third, f * t + third, g * t + third, h * t + third
            store(out, i, (a + b + c + d) + (e + f + g + h))


def peak_operations() -> float:
    """Operations a second, a multiply-add counting two, the best of some trials of about 30 ms."""
    threads = n_threads()
    x = np.linspace(0.1, 0.9, _LENGTH)
    out = [np.zeros(_LENGTH) for _ in range(threads)]
    _polynomials(x, out[0], 1)

    def run(begin: int, end: int) -> None:
        for place in range(begin, end):
            _polynomials(x, out[place], _REPEATS)

    best = np.inf
    for _ in range(_TRIALS):
        started = time.perf_counter()
        over_queries(run, np.full(threads, _NANOSECONDS))
        best = min(best, time.perf_counter() - started)
    return threads * _REPEATS * _LENGTH * _DEGREE * _CHAINS * 2.0 / best
