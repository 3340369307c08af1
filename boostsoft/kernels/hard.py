"""Hard metrics of the ranked families (``families``): what the order of the scores is worth.

Equal scores count in expectation over their orders (``ties``), in the order of the data, or with the least
coefficient first.
"""

from __future__ import annotations

import numpy as np

from .compile import kernel
from .families import ABSORBING, JUDGED, PLAIN, RETRIEVED
from .shares import claim, longest_query
from .simd import LANES, keep_alive, pointer
from .sorting import rank_order
from .ties import absorbing_block, credit, judged_block, marked_block, plain_block

EXPECTED, ORDER, WORST = 0, 1, 2
TIES = {"expected": EXPECTED, "order": ORDER, "worst": WORST}
_STATE = 5  # numbers: three of what is above a rank, two totals


@kernel
def _block_value(family, coef, discount, first, last, ranks, before, totals, laws, value):
    """The value so far and that of documents first..last of equal score, on average over their orders."""
    if family == PLAIN:
        return value + plain_block(coef, discount, first, last, ranks)
    elif family == ABSORBING:
        return value + absorbing_block(coef, discount, first, last, ranks, before, laws)
    elif family == JUDGED:
        return value + judged_block(coef, first, last, ranks, before, totals, laws)
    return marked_block(coef, discount, first, last, ranks, before, laws, value, family == RETRIEVED)


@kernel
def _document_value(family, c, weight, before, totals):
    """What one document is worth at a rank of this discount; ``before`` is brought up to date.

    ``before``: the product of 1 - coefficient, the relevant and the irrelevant documents down to here.
    """
    if family == PLAIN:
        return c * weight
    if family == ABSORBING:
        value = before[0] * c * weight
        before[0] *= 1.0 - c
        return value
    relevant = 1.0 if c > 0.0 else 0.0  # two numbers, no branch: it would be guessed wrong half of the time
    before[1] += relevant
    if family == JUDGED:
        before[2] += 1.0 if c == 0.0 else 0.0
        return relevant * credit(before[2], totals)
    return relevant * before[1] * weight


@kernel
def hard_queries(family, scores, gains, offsets, cutoffs, discount, ties, ranges, value):
    """The queries of ``ranges`` (``shares``), not yet divided by their divisors, each to its own place of ``value``."""
    begin, end = claim(ranges)
    while begin < end:
        longest = longest_query(offsets, begin, end)
        zero, more = np.int64(0), longest + LANES  # a literal 0 would compile the callees once more
        numbers, places = np.empty(4 * more + _STATE), np.empty(3 * more, np.int64)
        s, coef, laws = pointer(numbers, zero), pointer(numbers, more), pointer(numbers, 2 * more)
        before, totals, weight = pointer(numbers, 4 * more), pointer(numbers, 4 * more + 3), pointer(discount, zero)
        chosen, order, other = pointer(places, zero), pointer(places, more), pointer(places, 2 * more)
        rising = ties == WORST or (ties == EXPECTED and family == ABSORBING)
        for q in range(begin, end):
            n, own = offsets[q + 1] - offsets[q], pointer(gains, offsets[q])
            ranks, total, first = min(cutoffs[q], n), 0.0, zero
            before[0], before[1], before[2], totals[0], totals[1] = 1.0, 0.0, 0.0, 0.0, 0.0
            if family == JUDGED:
                for j in range(n):
                    totals[0] += own[j] > 0.0
                    totals[1] += own[j] == 0.0
            if ranks > 0:
                n = rank_order(pointer(scores, offsets[q]), own, n, ranks, rising, s, coef, chosen, order, other)
                for j in range(n):
                    coef[j] = own[chosen[j]]
            while first < ranks:
                last = first + 1
                while last < n and s[last] == s[first]:
                    last += 1
                if ties == EXPECTED and last > first + 1:
                    total = _block_value(family, coef, weight, first, last, ranks, before, totals, laws, total)
                else:
                    for j in range(first, min(last, ranks)):
                        total += _document_value(family, coef[j], weight[j], before, totals)
                first = last
            if family == RETRIEVED:
                total = total / before[1] if before[1] > 0.0 else 0.0
            value[q] = total
        keep_alive(numbers)
        keep_alive(places)
        begin, end = claim(ranges)
