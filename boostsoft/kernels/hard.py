"""Hard metrics of the discount family: sum of coefficient times the discount at the rank the scores give."""

from __future__ import annotations

import numpy as np

from .compile import kernel

EXPECTED, ORDER, WORST = 0, 1, 2
TIES = {"expected": EXPECTED, "order": ORDER, "worst": WORST}


@kernel
def _tied_value(coef, discount, first, last, ranks, ties):
    """The contribution of coef[first:last], documents of equal score at ranks first..last-1 (from 0)."""
    if ties == WORST:
        coef[first:last].sort()
    total = 0.0
    if ties == EXPECTED:
        gain, weight = 0.0, 0.0
        for j in range(first, last):
            gain += coef[j]
        for j in range(first, min(last, ranks)):
            weight += discount[j]
        return gain * weight / (last - first)
    for j in range(first, min(last, ranks)):
        total += coef[j] * discount[j]
    return total


@kernel
def hard_query(scores, gains, ranks, discount, ties):
    """One query's metric; equal scores count in expectation over their orders, in data order or worst first."""
    n = scores.size
    order = np.argsort(-scores, kind="mergesort")
    coef = gains[order]
    value, first = 0.0, 0
    while first < ranks:
        last = first + 1
        while last < n and scores[order[last]] == scores[order[first]]:
            last += 1
        value += _tied_value(coef, discount, first, last, ranks, ties)
        first = last
    return value


@kernel
def hard_queries(scores, gains, offsets, cutoffs, discount, ties, begin, end, value):
    """Queries begin..end, each written to its own place of ``value``."""
    for q in range(begin, end):
        low, high = offsets[q], offsets[q + 1]
        value[q] = hard_query(scores[low:high], gains[low:high], min(cutoffs[q], high - low), discount, ties)
