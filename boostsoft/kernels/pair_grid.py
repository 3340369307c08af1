"""Pairs of a long query under noise, in time linear in its documents: one integral in place of all pairs.

Given a threshold x, document i sits at x with density w_i(x) and j is above with probability p_j(x), so that

    E[discordant] = integral of  sum_i w_i sum over j of lower level of p_j,

and with W the sum of the densities of the lower levels, W' that of the higher ones, a document is pulled up by the
integral of w_m W and pushed down by that of w_m W'. Sums by level are shared by all documents at a node. The
integrands are entire or analytic in a strip, and the trapezoid rule on a plain grid is exact to rounding at the
steps below. Documents further apart than the noise reaches fall into clusters with grids of their own.

A pair weighs 1 (``PAIRS``) or the difference of the coefficients (``DISTANCES``); levels are the distinct
coefficients in rising order.
"""

from __future__ import annotations

import numpy as np

from .compile import kernel, merged
from .families import DISTANCES
from .noise import GUMBEL, LOGISTIC, noise, reach
from .simd import LANES, lane_sum, load, splat, store

_EPS = 1e-17
# errors of exp(-(2 pi / h)^2 / 4) for the Gaussian, exp(-2 pi a / h) with a strip of half width a = pi (logistic) or
# pi / 2 (Gumbel): all 1e-17, times a power of 2 pi / h for each derivative
_STEP, _GUMBEL_STEP = 0.5, 0.25
# a document at a node, twice, against a pair: nanoseconds measured at n = 1,000 to 100,000
_NODE_COST, _PAIR_COST, _LOGISTIC_PAIR_COST, _LEVEL_COST = 6.0, 4.5, 9.0, 2.0


@kernel
def _step(law):
    return _GUMBEL_STEP if law == GUMBEL else _STEP


@kernel
def grid_pays(law, s, n, sigma, n_levels, pairs):
    """Whether the grid is cheaper than so many pairs within reach."""
    left, right = reach(law, _EPS)
    span = 0.0
    for j in range(1, n):
        span += min((s[j - 1] - s[j]) / sigma, left + right)
    nodes = (left + right) / _step(law)
    grid = _NODE_COST * n * nodes + _LEVEL_COST * (span / _step(law) + nodes) * n_levels
    return grid < (_LOGISTIC_PAIR_COST if law == LOGISTIC else _PAIR_COST) * pairs


@kernel
def dense_levels(c, n):
    """Place of each coefficient among the distinct ones, and these in rising order."""
    order = np.argsort(c[:n], kind="mergesort")
    level, value, last = np.zeros(n, np.int64), np.zeros(n), 0
    for i in range(n):
        if i > 0 and c[order[i]] != c[order[i - 1]]:
            last += 1
        level[order[i]], value[last] = last, c[order[i]]
    return level, value[: last + 1]


@merged
def _sum_levels(law, u, level, omega, low, high, at, above, sums):
    """P and w of documents low..high by level, on top of those certainly above."""
    P, W = sums
    for i in range(above.size):
        store(P, LANES * i, splat(above[i]))
        store(W, LANES * i, splat(0.0))
    for j in range(low, high):
        p, _, w, _ = noise(law, splat(u[j]) - at)
        i, weight = LANES * level[j], splat(omega[j])
        store(P, i, load(P, i) + weight * p)
        store(W, i, load(W, i) + weight * w)


@merged
def _add_up(family, value, sums):
    """In place: P over lower levels, W over lower ones, and W over higher ones, each times its pairs' weights."""
    P, W, higher = sums
    n, zero = value.size, splat(0.0)
    p_sum, w_sum, p_moment, w_moment = zero, zero, zero, zero
    for i in range(n - 1, -1, -1):
        at, c = LANES * i, splat(value[i])
        store(higher, at, w_moment - c * w_sum if family == DISTANCES else w_sum)
        w_sum, w_moment = w_sum + load(W, at), w_moment + c * load(W, at)
    w_sum, w_moment = zero, zero
    for i in range(n):
        at, c = LANES * i, splat(value[i])
        p, w = load(P, at), load(W, at)
        store(P, at, c * p_sum - p_moment if family == DISTANCES else p_sum)
        store(W, at, c * w_sum - w_moment if family == DISTANCES else w_sum)
        p_sum, p_moment = p_sum + p, p_moment + c * p
        w_sum, w_moment = w_sum + w, w_moment + c * w


@merged
def _collect(law, u, level, omega, low, high, at, h, derive, sums, out):
    """What these nodes give to the discordance, and to each document's gradient, push and second derivative."""
    P, W, higher = sums
    gradient, push, hessian = out
    total = splat(0.0)
    for j in range(low, high):
        _, _, w, r = noise(law, splat(u[j]) - at)
        i, w = LANES * level[j], w * splat(h * omega[j])
        total = total + w * load(P, i)
        if derive:
            up, down = w * load(W, i), w * load(higher, i)
            gradient[j] += lane_sum(up - down)
            push[j] += lane_sum(down)
            hessian[j] += lane_sum(r * (up - down))
    return lane_sum(total)


@kernel
def grid_discordance(law, family, s, level, value, omega, n, sigma, derive, out):
    """Expected weight of the discordant pairs of one query; arguments by falling score; ``out`` is added to."""
    left, right = reach(law, _EPS)
    h, size = _step(law), LANES * value.size
    u, above, nodes = np.zeros(n), np.zeros(value.size), np.zeros(LANES)
    sums = (np.zeros(size), np.zeros(size), np.zeros(size))
    total, first = 0.0, 0
    while first < n:
        u[first], last = 0.0, first + 1
        while last < n and (s[last - 1] - s[last]) / sigma <= left + right:
            u[last] = (s[first] - s[last]) / sigma
            last += 1
        low, high, t, end = first, first, -right, u[last - 1] + left
        while t < end:
            for lane in range(LANES):
                nodes[lane] = t + h * lane
            while low < last and u[low] < t - left:
                above[level[low]] += omega[low]
                low += 1
            while high < last and u[high] <= nodes[LANES - 1] + right:
                high += 1
            at = load(nodes, 0)
            _sum_levels(law, u, level, omega, low, high, at, above, (sums[0], sums[1]))
            _add_up(family, value, sums)
            total += _collect(law, u, level, omega, low, high, at, h, derive, sums, out)
            t += LANES * h
        while low < last:
            above[level[low]] += omega[low]
            low += 1
        first = last
    return total


@kernel
def all_distances(level, value, omega, n):
    """The differences of the coefficients of all pairs, times their weights."""
    weights = np.zeros(value.size)
    for j in range(n):
        weights[level[j]] += omega[j]
    total, seen, moment = 0.0, 0.0, 0.0
    for i in range(value.size):
        total += weights[i] * (value[i] * seen - moment)
        seen += weights[i]
        moment += weights[i] * value[i]
    return total
