"""Losses over a whole list: cross-entropy of two distributions over its documents, and squared error within it.

**Cross-entropy.** With P the targets of a query over their sum and rho = softmax(scores), the loss is
-sum P_i log rho_i, its gradient rho - P and the diagonal of its Hessian H rho (1 - rho). ListNet (Cao et al. 2007)
and XE-NDCG (Bruch 2021) differ in the targets. With H = D - O, D the diagonal, a Newton step is

    inverse(H) g = inverse(D) (g + O inverse(D) g + (O inverse(D))^2 g + ...),

of which ``terms`` are kept, as the gradient that is divided by D: (O inverse(D) g)_i = rho_i times the sum of
g_j / (1 - rho_j) over the other documents. All of them add up to 0.

**Squared error**, sum w_i (r_i - mean)^2 / 2 with r = target - score and mean their mean weighted by w: the query-RMSE.
"""

from __future__ import annotations

import math

import numpy as np

from .compile import kernel, routine
from .curvature import TINY
from .noise import exponential
from .shares import claim, longest_query
from .simd import LANES, keep_alive, lane_sum, load, pointer, splat, store

_LEAST_TARGET = 1e-300  # one over it is a number
_FARTHEST = 1e300  # that two scores are apart: their mean's difference from either is a number
_PARTS = 7  # arrays that a query needs, each as long as it and a vector


@routine
def _two_highest(scores):
    top, second = (0, 1) if scores[0] >= scores[1] else (1, 0)
    for i in range(2, scores.size):
        if scores[i] > scores[top]:
            top, second = i, top
        elif scores[i] > scores[second]:
            second = i
    return top, second


@routine
def _sum(values, n):
    total = splat(0.0)
    for i in range(0, n, LANES):
        total = total + load(values, i)
    return lane_sum(total)


@routine
def _any_target(targets, low, high, more):
    for i in range(low, high):
        if targets[i] + more >= _LEAST_TARGET:
            return True
    return False


@routine
def _softmax_query(scores, targets, more, terms, numbers, grad, curvature):
    """One query of two documents at least; arrays of ``numbers`` are 0 behind its last document.

    At most the top document is more than half of all: its 1 - rho is taken from the others, and what it is divided by
    it, rho_j / (1 - rho_top), from their share among themselves, which no distance of the top makes vanish.
    """
    n = scores.size
    size, zero, one = n + LANES, np.int64(0), splat(1.0)
    share, aim, rho = pointer(numbers, zero), pointer(numbers, size), pointer(numbers, 2 * size)
    step, spare, total_step = pointer(numbers, 3 * size), pointer(numbers, 4 * size), pointer(numbers, 5 * size)
    bend = pointer(numbers, 6 * size)
    top, second = _two_highest(scores)
    for i in range(n):
        share[i], aim[i] = scores[i] - scores[second], targets[i] + more
    for i in range(n, size):
        share[i], aim[i] = 0.0, 0.0
    for i in range(0, n, LANES):
        store(share, i, exponential(load(share, i)))
    share[top] = 0.0
    for i in range(n, size):
        share[i] = 0.0
    total, mass = _sum(share, n), _sum(aim, n)
    before = math.exp(scores[second] - scores[top])
    everything = 1.0 + before * total
    lift, among, unit = splat(before / everything), splat(1.0 / total), splat(1.0 / mass)
    for i in range(0, n, LANES):
        part = load(share, i)
        r = part * lift
        rest, difference = one - r, r - load(aim, i) * unit
        store(share, i, part * among)
        store(rho, i, r)
        store(step, i, difference)
        store(total_step, i, difference)
        store(spare, i, one / rest)
        store(bend, i, r * rest)
    rho[top] = 1.0 / everything
    step[top] = rho[top] - aim[top] / mass
    total_step[top], spare[top], bend[top] = step[top], 0.0, rho[top] * (before * total / everything)
    for _ in range(terms - 1):
        largest, others = splat(step[top]), splat(0.0)
        for i in range(0, n, LANES):
            divided = load(step, i) * load(spare, i)
            others = others + divided
            store(step, i, divided)
        others = splat(lane_sum(others))
        for i in range(0, n, LANES):
            further = load(rho, i) * (others - load(step, i)) + load(share, i) * largest
            store(step, i, further)
            store(total_step, i, load(total_step, i) + further)
    for i in range(n):
        grad[i], curvature[i] = -total_step[i], max(bend[i], TINY)


@kernel
def softmax_queries(scores, targets, more, offsets, terms, ranges, grad, curvature):
    """The queries of ``ranges`` (``shares``): what lowers the cross-entropy, and the Hessian's diagonal.

    The latter at least ``TINY``, where rho underflows. All targets are ``more`` than they are given as; a query of
    which all are 0 has no gradient.
    """
    begin, end = claim(ranges)
    while begin < end:
        longest = longest_query(offsets, begin, end)
        numbers = np.empty(_PARTS * (longest + LANES))
        for q in range(begin, end):
            low, high = offsets[q], offsets[q + 1]
            if high - low > 1 and _any_target(targets, low, high, more):
                _softmax_query(
                    scores[low:high], targets[low:high], more, terms, numbers, grad[low:high], curvature[low:high]
                )
            else:
                for i in range(low, high):
                    grad[i], curvature[i] = 0.0, TINY
        keep_alive(numbers)
        begin, end = claim(ranges)


@kernel
def squares_queries(scores, targets, weights, offsets, ranges, grad):
    """The queries of ``ranges`` (``shares``): the direction that lowers the squared error, w (r - mean)."""
    begin, end = claim(ranges)
    while begin < end:
        for q in range(begin, end):
            low, high = offsets[q], offsets[q + 1]
            share, mean = 0.0, 0.0
            for i in range(low, high):
                # scores far from 0 lose no digits of their differences, which may be none that a float can hold
                grad[i] = targets[i] - min(max(scores[i] - scores[low], -_FARTHEST), _FARTHEST)
                share += weights[i]
                if weights[i] > 0.0:
                    mean += (grad[i] - mean) * (weights[i] / share)
            for i in range(low, high):
                grad[i] = weights[i] * (grad[i] - mean)
        begin, end = claim(ranges)
