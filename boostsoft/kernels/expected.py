"""The exact expectation of a ranking metric under noisy scores, with its gradient, for one query and for many.

Layers: a block of nodes (``block``), made of nodes (``quadrature``) and the recursion over documents
(``recursion``); here, a cluster of documents that can change places; a query, its clusters
(``query_expectation``); and the loop over queries that a thread runs without the GIL (``expect_queries``).

The error that is aimed at, relative to the query's largest value and gradient, enters as ``h``, the step of the
node rule, and ``tol``; both come from ``ACCURACY``. Documents further apart than the noise reaches (with
probability ``eps``, far below tol) are in different clusters: their order is certain, so that the clusters above
only move the ranks. Gradients below 1e-9 of the natural scale (gain range / sigma) are not resolved further.
"""

from __future__ import annotations

import math

import numpy as np

from .block import LANE_RANKS, block_value, workspace
from .compile import kernel, merged
from .families import ABSORBING, MARKED, PLAIN
from .noise import GAUSSIAN, pair_flow, pair_reach, reach
from .quadrature import (
    ANYWHERE,
    SMOOTH,
    TOP,
    cut_factor,
    fill_bins,
    next_node,
    start_nodes,
    step_factor,
    tail_origin,
    too_many_above,
)
from .recursion import remove_drift
from .simd import LANES

# accuracy -> (step for the Gaussian and logistic laws, step for the Gumbel law, tolerance);
# tests/test_accuracy.py measures the error that comes of them
ACCURACY = {"default": (0.35, 0.3, 1e-6), "high": (0.175, 0.15, 1e-10)}

_FLOW_FLOOR = 1e-9
_RULE_DIGITS = 7.0  # what the default step gives; the error falls exponentially in 1 / h


@kernel
def _pass_by(family, coef, low, high, before):
    """Let documents low..high be above for certain: what they let through and the marks they offer."""
    for j in range(low, high):
        if family == ABSORBING:
            before[0] *= 1.0 - coef[j]
        elif family == MARKED:
            before[1] += coef[j]


@kernel
def _certain_value(family, coef, discount, first, last, ranks, before):
    """The contribution of documents whose order is certain."""
    total = 0.0
    for j in range(first, min(last, ranks)):
        total += coef[j] * discount[j] * before[0] * (1.0 + before[1])
        _pass_by(family, coef, j, j + 1, before)
    _pass_by(family, coef, max(first, min(last, ranks)), last, before)
    return total


@merged
def _cluster_value(family, law, first, last, least, ranks, shape, h, eps, discount, before, derive, space):
    """The contribution of documents first..last that can change places with each other only."""
    u, coef, _ = space[5]
    centres, counts = space[7]
    x, weights, wide, state = space[8]
    spread = -math.log(eps)
    reach_left, reach_right = reach(law, eps)
    n = last - first
    h *= step_factor(law, shape, n) * cut_factor(law, shape, u, first, last, ranks - first)
    n_bins = fill_bins(u, first, last, centres, counts)
    origin = 0.0 if law == GAUSSIAN else tail_origin(law, centres, counts, n_bins)
    start_nodes(law, shape, n, u[first] + reach_right, origin, centres, counts, n_bins, state)
    total, low, high, bottom, done = 0.0, first, first, math.inf, False
    while not done:
        filled = 0
        while filled < LANES and not done:
            x[filled], weights[filled], above = next_node(law, shape, n, h, origin, centres, counts, n_bins, state)
            done = x[filled] < u[last - 1] - reach_left or too_many_above(above, ranks - first, -spread)
            filled += 1
        for i in range(filled, LANES):
            x[i], weights[i] = x[filled - 1], 0.0
        while low < last and u[low] > x[0] + reach_left:
            _pass_by(family, coef, low, low + 1, before)
            low += 1
        bottom = x[0]
        if low >= min(last, ranks):
            break
        high, bottom = max(high, low), x[filled - 1]
        while high < last and u[high] > x[filled - 1] - reach_right:
            high += 1
        if high == low:
            continue
        width = min(ranks - low, high - low)
        shift = LANES if width <= LANE_RANKS else 1
        if shift == 1:
            for i in range(LANES):
                wide[i], weights[i] = weights[i], 0.0
        for i in range(0, filled, shift):
            if shift == 1:
                x[0], weights[0] = x[i], wide[i]
            total += block_value(
                family, shift, law, x, weights, least, low, high, width, spread, discount, before, derive,
                space,
            )  # fmt: skip
    _pass_by(family, coef, low, last, before)
    covered = first
    while covered < last and u[covered] >= bottom + reach_left:
        covered += 1
    remove_drift(coef, least, first, covered, space[6])
    return total


@kernel
def _shape(smooth, first, last, ranks):
    """Where in a cluster the discount can jump, which decides how nodes crowd."""
    if not smooth:
        return ANYWHERE
    if ranks >= last:
        return SMOOTH
    return TOP if 2 * (ranks - first) <= last - first else ANYWHERE


@kernel
def _gap(higher, lower, sigma):
    """The distance of two scores in units of sigma; infinite is far enough."""
    if higher == lower:
        return 0.0
    difference = higher - lower
    return difference / sigma if difference < math.inf else higher / sigma - lower / sigma


@kernel
def _faintness(family, law, coef, gaps, discount, ranks, n):
    """The largest flow between neighbours of different gain, relative to the natural scale: 1e-9 to 1.

    About the largest gradient, unless many documents crowd; then it is an underestimate that only costs nodes.
    """
    top, largest, through = 0.0, 0.0, 1.0
    for j in range(n):
        top = max(top, coef[j])
    for j in range(min(ranks, n - 1)):
        fall = discount[j] - (discount[j + 1] if j + 1 < ranks else 0.0)
        largest = max(largest, through * abs(coef[j] - coef[j + 1]) * abs(fall) * pair_flow(law, gaps[j + 1]))
        if family == ABSORBING:  # what is above leaves so much for those below to change
            through *= 1.0 - coef[j]
    scale = top * discount[0]
    return min(max(largest / scale, _FLOW_FLOOR), 1.0) if scale > 0.0 else 1.0


@kernel
def _take_least(family, coef, first, last):
    """Take the least gain of a cluster off its documents and return it.

    A constant gain is worth the same in any order: what is left has no large terms that cancel.
    """
    if family != PLAIN:
        return 0.0
    least = coef[first]
    for j in range(first, last):
        least = min(least, coef[j])
    for j in range(first, last):
        coef[j] -= least
    return least


@kernel
def query_expectation(
    law, family, scores, gains, ranks, smooth, discount, sigma, h, tol, derive, space, grad, push, hess
):
    """One query's expected metric; with ``derive``, gradient, push and diagonal Hessian per document as well.

    In units of sigma: the gradient is grad / sigma, the Hessian hess / sigma^2; the flow is grad + 2 push.
    """
    u, coef, gaps = space[5]
    sums = space[6]
    n = scores.size
    order = np.argsort(-scores, kind="mergesort")
    for j in range(n):
        coef[j] = gains[order[j]]
        gaps[j] = _gap(scores[order[j - 1]], scores[order[j]], sigma) if j > 0 else math.inf
        for total in sums:
            total[j] = 0.0
    bottom = _take_least(family, coef, np.int64(0), n)
    value = 0.0
    for r in range(ranks):
        value += bottom * discount[r]
    faint = _faintness(family, law, coef, gaps, discount, ranks, n)
    eps = tol * min(0.01 * ranks / n, 3e-4) * faint
    # equal gains close together leave the rule's error where faint gradients are: these need more of its digits
    h *= _RULE_DIGITS / (_RULE_DIGITS + max(-math.log10(faint) - 4.0, 0.0))
    apart = pair_reach(law, eps)
    before = np.array([1.0, 0.0])
    first = np.int64(0)
    while first < ranks:
        u[first], last, uneven = 0.0, first + 1, False
        while last < n and gaps[last] <= apart:
            u[last] = -_gap(scores[order[first]], scores[order[last]], sigma)
            uneven = uneven or coef[last] != coef[first]
            last += 1
        if not uneven:  # any order of these documents is worth the same
            value += _certain_value(family, coef, discount, first, last, ranks, before)
        else:
            for j in range(last, min(last + LANES, u.size)):
                u[j] = u[last - 1]
            least = _take_least(family, coef, first, last)
            shape = _shape(smooth, first, last, ranks)
            for r in range(first, min(last, ranks)):
                value += least * discount[r]
            value += _cluster_value(
                family, law, first, last, least, ranks, shape, h, eps, discount, before, derive, space
            )
        first = last
    if derive:
        for j in range(n):
            i = order[j]
            grad[i], push[i], hess[i] = sums[0][j], sums[1][j], sums[2][j]
    return value


@kernel
def expect_queries(
    law, family, scores, gains, offsets, cutoffs, smooth, discount, sigma, h, tol, derive, begin, end,
    value, grad, push, hess,
):  # fmt: skip
    """Queries begin..end, written to their own places of ``value`` (per query) and the rest (per document)."""
    most, deepest = np.int64(1), np.int64(1)
    for q in range(begin, end):
        n = offsets[q + 1] - offsets[q]
        most = max(most, n)
        deepest = max(deepest, min(n, cutoffs[q]))
    space = workspace(most, deepest, -math.log(tol) + 40.0, family)
    for q in range(begin, end):
        low, high = offsets[q], offsets[q + 1]
        if low == high:
            value[q] = 0.0
            continue
        ranks = min(cutoffs[q], high - low)
        d_low, d_high = (low, high) if derive else (0, 0)
        value[q] = query_expectation(
            law, family, scores[low:high], gains[low:high], ranks, smooth, discount, sigma, h, tol, derive, space,
            grad[d_low:d_high], push[d_low:d_high], hess[d_low:d_high],
        )  # fmt: skip
