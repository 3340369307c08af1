"""Pairwise families: pairs of documents in the wrong order, counted in O(n log n) or expected under noise.

The raw value of a query is minus the weight of its discordant pairs (``PAIRS``, every pair of different
coefficients; coefficients are the whole numbers 0, 1, 2, ...), or half the weight of the concordant less the
discordant ones (``DISTANCES``, a pair weighs the difference of its coefficients): two forms that differ by a
constant, so that their derivatives are the same. A pair also weighs the product of its documents' weights.

Under noise a pair is certain but for the tail of ``pair_law``: the raw value of the sorted order, less
sum over pairs (i above j) of weight_ij tail(d_ij), weight_ij < 0 for a discordant pair. Pairs further apart than
the noise reaches are left out, so that the cost is the number of pairs within reach; where that is large, an
integral takes their place (``pair_grid``), whose cost is linear in the documents. Where nearly all documents matter to
one another and no Hessian is asked for, pairs are gone through by level before (``pair_levels``); most calls need
nothing else, and compile nothing else.
"""

from __future__ import annotations

import numpy as np

from .compile import kernel, routine
from .curvature import to_curvature
from .families import DISTANCES, PAIRS
from .hard import EXPECTED, ORDER, WORST
from .pair_grid import all_distances, dense_levels, grid_discordance, grid_pays
from .pair_law import LEAST_TAIL, law_reach, pair_law
from .shares import claim
from .simd import LANES, lane_sum, larger, load, smaller, splat, store, where_negative
from .sorting import whole_order


@kernel
def _count_below(tree, level):
    """Sum of the weights at levels below this one: a Fenwick tree."""
    total, at = 0.0, level
    while at > 0:
        total += tree[at]
        at -= at & -at
    return total


@kernel
def _insert(tree, level, weight):
    at = level + 1
    while at < tree.size:
        tree[at] += weight
        at += at & -at


@kernel
def _tied_pairs(levels, weights, first, last, at_level):
    """The weight of pairs of different levels within a block of equal scores; ``at_level`` is 0 before and after."""
    total, seen = 0.0, 0.0
    for j in range(first, last):
        level = int(levels[j])
        total += weights[j] * (seen - at_level[level])
        at_level[level] += weights[j]
        seen += weights[j]
    for j in range(first, last):
        at_level[int(levels[j])] = 0.0
    return total


@kernel
def _discordance(scores, levels, weights, ties):
    """Weight of the pairs whose lower level has the higher score; arguments are in rank order."""
    n, most = scores.size, 0
    for j in range(n):
        most = max(most, int(levels[j]))
    tree, at_level = np.zeros(most + 2), np.zeros(most + 1)
    share = 1.0 if ties == WORST else 0.5
    total, first = 0.0, 0
    while first < n:
        last = first + 1
        while last < n and ties != ORDER and scores[last] == scores[first]:
            last += 1
        if last > first + 1:
            total += share * _tied_pairs(levels, weights, first, last, at_level)
        for j in range(first, last):
            total += weights[j] * _count_below(tree, int(levels[j]))
        for j in range(first, last):
            _insert(tree, int(levels[j]), weights[j])
        first = last
    return total


@kernel
def _distance(scores, coef, ties):
    """Half of sum over documents of coefficient x (documents below - documents above); worst ties come sorted so."""
    n, total, first = scores.size, 0.0, 0
    while first < n:
        last = first + 1
        while last < n and scores[last] == scores[first]:
            last += 1
        for j in range(first, last):
            above, below = (first, n - last) if ties == EXPECTED else (j, n - 1 - j)
            total += 0.5 * coef[j] * (below - above)
        first = last
    return total


@kernel
def sorted_value(family, scores, coef, weights, ties):
    """The raw value of one query whose documents are in rank order."""
    if family == PAIRS:
        return -_discordance(scores, coef, weights, ties)
    return _distance(scores, coef, ties)


@kernel
def hard_pairs(family, scores, gains, weights, offsets, ties, ranges, value):
    """Raw values of the queries of ``ranges`` (``shares``), each written to its own place of ``value``."""
    begin, end = claim(ranges)
    while begin < end:
        for q in range(begin, end):
            low, high = offsets[q], offsets[q + 1]
            order = whole_order(scores[low:high], gains[low:high], ties == WORST)
            value[q] = sorted_value(
                family, scores[low:high][order], gains[low:high][order], weights[low:high][order], ties
            )  # fmt: skip
        begin, end = claim(ranges)


@routine
def _pair_weights(family, own, others):
    """1, 0, -1 by the sign of the difference of the coefficients, or that difference."""
    difference = splat(own) - others
    if family == DISTANCES:
        return difference
    one = splat(1.0)
    return where_negative(difference, splat(-1.0), where_negative(splat(0.0) - difference, one, splat(0.0)))


@kernel
def _document_pairs(law, family, i, last, s, c, omega, place, sigma, derive, sums):
    """Document i with those below it, down to ``last``; returns what the tails take from the value."""
    gradient, push, hessian = sums
    zero = splat(0.0)
    lost, up, down, bend = zero, zero, zero, zero
    for j in range(i + 1, last, LANES):
        tail, density, slope = pair_law(law, (splat(s[i]) - load(s, j)) / splat(sigma))
        weight = _pair_weights(family, c[i], load(c, j)) * load(omega, j) * splat(omega[i])
        weight = where_negative(load(place, j) - splat(float(last)), weight, zero)
        lost = lost + weight * tail
        if derive:
            pull = weight * density
            curl = weight * slope
            up = up + larger(pull, zero)
            down = down - smaller(pull, zero)
            bend = bend + curl
            store(gradient, j, load(gradient, j) - pull)
            store(push, j, load(push, j) + larger(pull, zero))
            store(hessian, j, load(hessian, j) + curl)
    if derive:
        gradient[i] += lane_sum(up - down)
        push[i] += lane_sum(down)
        hessian[i] += lane_sum(bend)
    return lane_sum(lost)


@kernel
def _pairs_within_reach(law, s, n, sigma):
    apart, last, pairs = law_reach(law, LEAST_TAIL), 1, 0
    for i in range(n):
        while last < n and (s[i] - s[last]) / sigma <= apart:
            last += 1
        pairs += last - i - 1
    return pairs


@kernel
def _soft_query(law, family, scores, gains, weights, sigma, derive, grad, push, hess):
    n = scores.size
    order = whole_order(scores, gains, False)
    s, c, omega = np.zeros(n + LANES), np.zeros(n + LANES), np.zeros(n + LANES)
    place = np.arange(n + LANES, dtype=np.float64)  # where a vector of eight passes the last within reach
    for j in range(n + LANES):
        i = order[min(j, n - 1)]
        s[j], c[j], omega[j] = scores[i], gains[i], weights[i]
    size = n + LANES if derive else 1
    sums = (np.zeros(size), np.zeros(size), np.zeros(size))
    level, steps = dense_levels(c, n)
    if grid_pays(law, s, n, sigma, steps.size, _pairs_within_reach(law, s, n, sigma)):
        value = 0.5 * all_distances(level, steps, omega, n) if family == DISTANCES else 0.0
        value -= grid_discordance(law, family, s, level, steps, omega, n, sigma, derive, sums)
    else:
        value = sorted_value(family, s[:n], c[:n], omega[:n], ORDER)
        apart, last = law_reach(law, LEAST_TAIL), 1
        for i in range(n):
            while last < n and (s[i] - s[last]) / sigma <= apart:
                last += 1
            value -= _document_pairs(law, family, i, last, s, c, omega, place, sigma, derive, sums)
    if derive:
        for j in range(n):
            i = order[j]
            grad[i], push[i] = sums[0][j], sums[1][j]
            if hess.size == n:  # it may be empty
                hess[i] = sums[2][j]
    return value


@kernel
def soft_pairs(
    law, family, scores, gains, weights, offsets, sigma, derive, wanted, ranges, value, grad, push, hess, chosen
):  # fmt: skip
    """Expected raw values of the chosen of the queries of ``ranges`` (``shares``).

    With ``derive``, gradient, push and Hessian as well.

    In units of sigma, as ``expected.expect_queries``; a raised score pulls up with sum of weight x density over
    the documents of less coefficient, and down (``push``) over those of more. ``wanted`` is what becomes of them then
    (``curvature``).
    """
    begin, end = claim(ranges)
    while begin < end:
        for q in range(begin, end):
            if not chosen[q]:
                continue
            low, high = offsets[q], offsets[q + 1]
            if low == high:
                value[q] = 0.0
                continue
            d_low, d_high = (low, high) if derive else (0, 0)
            value[q] = _soft_query(
                law, family, scores[low:high], gains[low:high], weights[low:high], sigma, derive,
                grad[d_low:d_high], push[d_low:d_high], hess[d_low:d_high],
            )  # fmt: skip
            to_curvature(wanted, q, d_low, d_high, gains, grad, push, hess)
        begin, end = claim(ranges)
