"""SoftRank (Taylor et al. 2008; SoftDCG of Levkov 2017): pairwise events treated as if they were independent.

The rank of document i is taken as 1 + the sum of independent indicators, "j ends above i" with probability
pi_ji = P(s_j + noise > s_i + noise), for every other j. Eight neighbouring documents i are the lanes of a vector;
a row holds P(c of the documents so far are above), c < K. Forward rows A and backward rows
C(c) = E[D | c above] - E[D | c + 1 above] give the derivative in every pi_ji at once:

    dE[D(R_i)] / dpi_ji = - sum over c of A_(j-1)(c) C_j(c).

A document's own score moves all of its pi: first and second derivatives of the row in it are carried along.
Forward rows are kept for about sqrt(n) documents at a time and made twice.
"""

from __future__ import annotations

import math

import numpy as np

from .compile import kernel, merged
from .pair_law import law_reach, pair_law
from .simd import LANES, lane_sum, larger, load, splat, store, where_negative
from .sorting import whole_order
from .underflow import all_tiny, as_before, flush_underflow, usual_scale

_EPS = 1e-18  # the order of a pair that noise turns round with less probability counts as certain


@kernel
def _above(law, higher, targets, sigma, self_mask):
    """P(j above), P(below), and the first and second derivative in s_j x sigma, for eight targets."""
    d = (splat(higher) - targets) / splat(sigma)
    tail, density, slope = pair_law(law, larger(d, splat(0.0) - d))
    body = splat(1.0) - tail
    other = splat(1.0) - self_mask
    return (
        where_negative(d, tail, body) * other,
        where_negative(d, body, tail) * other + self_mask,
        density * other,
        where_negative(d, splat(0.0) - slope, slope) * other,
    )


@merged
def _advance(old, new, at_old, at_new, ranks, p, q):
    """Row ``new`` from row ``old``; the cell before each row is 0."""
    for c in range(ranks):
        i = LANES * (c + 1)
        store(new, at_new + i, q * load(old, at_old + i) + p * load(old, at_old + i - LANES))


@merged
def _advance_slopes(rows, at, first, second, ranks, p, q, fall, bend):
    """The row's derivatives in the target's own score, in place, from the row before this document."""
    for c in range(ranks - 1, -1, -1):
        i = LANES * (c + 1)
        moved = load(rows, at + i - LANES) - load(rows, at + i)
        turned = load(first, i - LANES) - load(first, i)
        store(second, i, q * load(second, i) + p * load(second, i - LANES) + (fall + fall) * turned + bend * moved)
        store(first, i, q * load(first, i) + p * load(first, i - LANES) + fall * moved)


@merged
def _fill_laws(law, s, targets, block, n, sigma, laws, own):
    for j in range(n):
        for lane in range(LANES):
            own[lane] = 1.0 if block + lane == j else 0.0
        p, q, rise, bend = _above(law, s[j], targets, sigma, load(own, 0))
        store(laws[0], LANES * j, p)
        store(laws[1], LANES * j, q)
        store(laws[2], LANES * j, rise)
        store(laws[3], LANES * j, bend)


@kernel
def _block_value(law, s, g, low, high, block, ranks, discount, sigma, derive, sums, value):
    """Documents block..block+7 as targets; only documents low..high are uncertain, those before are above."""
    n, width = high - low, LANES * (ranks + 1)
    length = min(n, int(math.sqrt(n)) + 1)
    n_segments = (n + length - 1) // length
    laws = (np.zeros(LANES * n), np.zeros(LANES * n), np.zeros(LANES * n), np.zeros(LANES * n))
    rows, saved = np.zeros((length + 1) * width), np.zeros((n_segments + 1) * width)
    first, second, C = np.zeros(width), np.zeros(width), np.zeros(width)
    own, targets, gains = np.zeros(LANES), load(s, block), load(g, block)
    _fill_laws(law, s[low:high], targets, block - low, n, sigma, laws, own)
    for lane in range(LANES):
        rows[LANES + lane] = 1.0
    for j in range(n):
        at, to = (j % length) * width, (j % length + 1) * width
        if j % length == 0:
            for i in range(width):
                if j > 0:
                    rows[i] = rows[length * width + i]
                saved[j // length * width + i] = rows[i]
        p, q = load(laws[0], LANES * j), load(laws[1], LANES * j)
        if derive:
            rise, bend = load(laws[2], LANES * j), load(laws[3], LANES * j)
            _advance_slopes(rows, at, first, second, ranks, p, q, splat(0.0) - rise, bend)
        _advance(rows, rows, at, to, ranks, p, q)
    end = ((n - 1) % length + 1) * width
    worth, climb, curve = splat(0.0), splat(0.0), splat(0.0)
    for c in range(ranks):
        i, here = LANES * (c + 1), splat(discount[low + c])
        worth = worth + load(rows, end + i) * here
        climb = climb + load(first, i) * here
        curve = curve + load(second, i) * here
        fall = discount[low + c] - (discount[low + c + 1] if c + 1 < ranks else 0.0)
        store(C, LANES * c, splat(fall))
    value[0] += lane_sum(worth * gains)
    if not derive:
        return
    store(sums[0], block, load(sums[0], block) + climb * gains)
    store(sums[1], block, load(sums[1], block) + curve * gains)
    for j in range(n - 1, -1, -1):
        if (j + 1) % length == 0 and j < n - 1:
            start = j + 1 - length
            for i in range(width):
                rows[i] = saved[start // length * width + i]
            for m in range(length):
                at = LANES * (start + m)
                _advance(rows, rows, m * width, (m + 1) * width, ranks, load(laws[0], at), load(laws[1], at))
        p, q, at = load(laws[0], LANES * j), load(laws[1], LANES * j), (j % length) * width
        lost = splat(0.0)
        for c in range(ranks):
            here = load(C, LANES * c)
            lost = lost + load(rows, at + LANES * (c + 1)) * here
            store(C, LANES * c, q * here + p * load(C, LANES * (c + 1)))
        lost = lost * gains
        sums[0][low + j] -= lane_sum(lost * load(laws[2], LANES * j))
        sums[1][low + j] -= lane_sum(lost * load(laws[3], LANES * j))


@kernel
def _softrank_query(law, scores, gains, ranks, discount, sigma, derive, grad, hess):
    n = scores.size
    order = whole_order(scores, scores, False)
    s, g, value = np.zeros(n + LANES), np.zeros(n + LANES), np.zeros(1)
    for j in range(n + LANES):
        i = order[min(j, n - 1)]
        s[j], g[j] = scores[i], (gains[i] if j < n else 0.0)
    sums = (np.zeros(n + LANES), np.zeros(n + LANES))
    apart, low, high = law_reach(law, _EPS), 0, 0
    for block in range(0, n, LANES):
        bottom = s[min(block + LANES, n) - 1]
        while (s[low] - s[block]) / sigma > apart:
            low += 1
        while high < n and (bottom - s[high]) / sigma <= apart:
            high += 1
        if low >= ranks:
            break
        _block_value(
            law, s, g, low, high, block, min(ranks, high) - low, discount, sigma, derive, sums, value
        )  # fmt: skip
    if derive:
        for j in range(n):
            grad[order[j]], hess[order[j]] = sums[0][j], sums[1][j]
    return value[0]


@kernel
def softrank_queries(law, scores, gains, offsets, cutoffs, discount, sigma, derive, begin, end, value, grad, hess):
    """Queries begin..end: SoftRank's value, its gradient x sigma and its exact diagonal Hessian x sigma^2."""
    usual = usual_scale(sigma, discount)
    for q in range(begin, end):
        low, high = offsets[q], offsets[q + 1]
        if low == high:
            value[q] = 0.0
            continue
        d_low, d_high = (low, high) if derive else (0, 0)
        before = flush_underflow(usual and not all_tiny(gains, low, high))
        value[q] = _softrank_query(
            law, scores[low:high], gains[low:high], min(cutoffs[q], high - low), discount, sigma, derive,
            grad[d_low:d_high], hess[d_low:d_high],
        )  # fmt: skip
        as_before(before)
