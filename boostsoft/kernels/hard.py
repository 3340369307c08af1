"""Hard metrics of the ranked families (``families``): what the order of the scores is worth.

Equal scores count in expectation over their orders (``ties``), in the order of the data, or with the least
coefficient first.
"""

from __future__ import annotations

import numpy as np

from .compile import kernel, merged
from .families import ABSORBING, JUDGED, PLAIN, RETRIEVED
from .ties import absorbing_block, credit, judged_block, marked_block, plain_block

EXPECTED, ORDER, WORST = 0, 1, 2
TIES = {"expected": EXPECTED, "order": ORDER, "worst": WORST}


@merged
def _block_value(family, coef, discount, first, last, ranks, before, totals, value):
    """The value so far and that of documents first..last of equal score, on average over their orders."""
    if family == PLAIN:
        return value + plain_block(coef, discount, first, last, ranks)
    elif family == ABSORBING:
        return value + absorbing_block(coef, discount, first, last, ranks, before)
    elif family == JUDGED:
        return value + judged_block(coef, first, last, ranks, before, totals)
    return marked_block(coef, discount, first, last, ranks, before, value, family == RETRIEVED)


@kernel
def _document_value(family, c, weight, before, totals):
    """What one document is worth at a rank of this discount; ``before`` is brought up to date.

    ``before``: the product of 1 - coefficient, the relevant and the irrelevant documents down to here.
    """
    if family == PLAIN:
        return c * weight
    value = 0.0
    if family == ABSORBING:
        value = before[0] * c * weight
        before[0] *= 1.0 - c
    elif c > 0.0:
        before[1] += 1.0
        value = credit(before[2], totals) if family == JUDGED else before[1] * weight
    elif c == 0.0:
        before[2] += 1.0
    return value


@kernel
def rank_order(scores, gains, rising):
    """Documents by falling score; equal ones as they come or, if ``rising``, by rising coefficient."""
    order = np.argsort(-scores, kind="mergesort")
    if not rising:
        return order
    for j in range(1, scores.size):
        if scores[order[j]] == scores[order[j - 1]]:
            by_gain = np.argsort(gains, kind="mergesort")
            return by_gain[np.argsort(-scores[by_gain], kind="mergesort")]
    return order


@kernel
def hard_query(family, scores, gains, ranks, discount, ties):
    """One query's metric, not yet divided by its divisor."""
    n = scores.size
    order = rank_order(scores, gains, ties == WORST or (ties == EXPECTED and family == ABSORBING))
    coef = gains[order]
    before, totals = np.array([1.0, 0.0, 0.0]), np.zeros(2)
    if family == JUDGED:
        for j in range(n):
            totals[0] += coef[j] > 0.0
            totals[1] += coef[j] == 0.0
    value, first = 0.0, np.int64(0)  # a literal would compile the callees once more
    while first < ranks:
        last = first + 1
        while last < n and scores[order[last]] == scores[order[first]]:
            last += 1
        if ties == EXPECTED and last > first + 1:
            value = _block_value(family, coef, discount, first, last, ranks, before, totals, value)
        else:
            for j in range(first, min(last, ranks)):
                value += _document_value(family, coef[j], discount[j], before, totals)
        first = last
    if family == RETRIEVED:
        return value / before[1] if before[1] > 0.0 else 0.0
    return value


@kernel
def hard_queries(family, scores, gains, offsets, cutoffs, discount, ties, begin, end, value):
    """Queries begin..end, each written to its own place of ``value``."""
    for q in range(begin, end):
        low, high = offsets[q], offsets[q + 1]
        value[q] = hard_query(family, scores[low:high], gains[low:high], min(cutoffs[q], high - low), discount, ties)
