"""The machine's peak: how many floating-point operations a second a plain Numba loop reaches on all our threads."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numba import njit

from ..kernels.threads import n_threads, over_queries

_LENGTH = 1024  # float64: 8 KiB, in the nearest cache
_DEGREE = 16
_CHAINS = 4
_REPEATS = 10_000
_TRIALS = 12
_NANOSECONDS = 3e7  # of a thread in a trial, roughly: less work than a thread is worth would all go to one


@njit(nogil=True, fastmath={"contract"}, error_model="numpy", cache=True)  # type: ignore[untyped-decorator]
def _polynomials(x: Any, out: Any, repeats: Any) -> None:
    """Four polynomials in every x: one load and one store for 64 fused multiply-adds, four independent chains."""
    for _ in range(repeats):
        for i in range(x.size):
            t = x[i]
            a, b, c, d = 1.0, 2.0, 3.0, 4.0
            for _ in range(_DEGREE):
                a = a * t + 0.5
                b = b * t + 0.25
                c = c * t + 0.125
                d = d * t + 0.0625
            out[i] = a + b + c + d


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
