"""Expected pairs of a list whose documents nearly all matter to one another: every pair once, eight at a time.

Documents are taken by falling coefficient, so that those worth less than one are all behind it: of each pair the
first is the better one, nothing is compared, and pairs of equal coefficients are never met. Scores are not sorted:
the chance that the noise brings a pair into the wrong order is the law's at a distance of either sign.

RankNet's loss of a pair falls by just that chance, under Gumbel noise, as the pair comes apart.
"""

from __future__ import annotations

import numpy as np

from .compile import kernel, routine
from .curvature import to_curvature
from .families import DISTANCES
from .noise import GAUSSIAN, GUMBEL, exponential
from .pair_law import gaussian_pair, law_reach, logistic_pair
from .shares import claim, longest_query
from .simd import LANES, keep_alive, lane_sum, load, magnitude, pointer, splat, store, where_negative
from .sorting import falling_order

_EPS = 1e-30  # as far as the noise reaches
# up to how many documents this is cheaper than the grid
_LONGEST_GAUSSIAN, _LONGEST_GUMBEL, _LONGEST_LOGISTIC = 300, 6000, 450
_FURTHEST = 8.0  # how many times its reach the scores may be apart: up to there exponentials of Gumbel are numbers
_PARTS, _PLACES = 8, 2  # arrays of numbers and of places that a query needs, each as long as it and a vector
_EXPONENTS = 600.0  # how far apart scores may be whose exponentials are all numbers


@routine
def _all_matter(law, scores, sigma):
    """Whether to go through all pairs of a query."""
    n = scores.size
    longest = _LONGEST_GAUSSIAN if law == GAUSSIAN else _LONGEST_GUMBEL if law == GUMBEL else _LONGEST_LOGISTIC
    if n > longest:
        return False
    low, high = scores[0], scores[0]
    for j in range(1, n):
        low, high = min(low, scores[j]), max(high, scores[j])
    return (high - low) / sigma <= _FURTHEST * law_reach(law, _EPS)


@routine
def _wrong(law, mine, others):
    """The chance that the second of two ends above the first, and its density; by scores, of Gumbel by their exp."""
    if law == GUMBEL:
        inverse = splat(1.0) / (mine + others)
        tail = others * inverse
        return tail, tail * (mine * inverse)
    distance = mine - others
    if law == GAUSSIAN:
        tail, density, _ = gaussian_pair(distance)
        return tail, density
    tail, density, _ = logistic_pair(magnitude(distance))
    return where_negative(distance, splat(1.0) - tail, tail), density


@routine
def _sum_pairs(law, distances, n, x, c, omega, up, down):
    """Minus the weight of wrong pairs (``pairwise``), and what pulls each document up and down."""
    slope, base = splat(1.0 if distances else 0.0), splat(0.5 if distances else 0.0)
    same = splat(1.0) - slope
    total, first = 0.0, 0
    for i in range(n):
        if i == first:  # the first of its coefficient
            while first < n and c[first] == c[i]:
                first += 1
        mine, worth, own = splat(x[i]), splat(c[i]), splat(omega[i])
        pull, lost = splat(0.0), splat(0.0)
        for j in range(first, n, LANES):
            tail, density = _wrong(law, mine, load(x, j))
            weight = (same + slope * (worth - load(c, j))) * load(omega, j)
            lost = lost + weight * (tail - base)
            density = weight * density
            pull = pull + density
            store(down, j, load(down, j) + own * density)
        up[i] = omega[i] * lane_sum(pull)
        total -= omega[i] * lane_sum(lost)
    return total


@routine
def _arrange(law, scores, gains, weights, by_gain, sigma, numbers, places):
    """Scores, by their exponentials of Gumbel, coefficients and weights by falling coefficient; sums of 0.

    ``by_gain`` is that order, or empty: then it is found.
    """
    n = scores.size
    size, zero = n + LANES, np.int64(0)
    x, c, omega = pointer(numbers, zero), pointer(numbers, size), pointer(numbers, 2 * size)
    down, bent = pointer(numbers, 4 * size), pointer(numbers, 5 * size)
    order = pointer(places, zero)
    if by_gain.size == n:
        for j in range(n):
            order[j] = by_gain[j]
    else:
        falling_order(gains, pointer(numbers, 6 * size), pointer(numbers, 7 * size), order, pointer(places, size))
    top = scores[0]
    for j in range(1, n):
        top = max(top, scores[j])
    for j in range(n):
        i = order[j]
        x[j], c[j], omega[j], down[j], bent[j] = (scores[i] - top) / sigma, gains[i], weights[i], 0.0, 0.0
    if law == GUMBEL:
        for j in range(n, size):
            x[j] = 0.0
        for j in range(0, n, LANES):
            store(x, j, exponential(load(x, j)))
    for j in range(n, size):  # rows begin anywhere, and read to the end of a vector
        x[j], c[j], omega[j], down[j], bent[j] = x[n - 1], c[n - 1], 0.0, 0.0, 0.0
    return x, c, omega, pointer(numbers, 3 * size), down, bent, order


@routine
def _query(law, family, scores, gains, weights, by_gain, sigma, derive, grad, push, numbers, places):
    n = scores.size
    x, c, omega, up, down, _, order = _arrange(law, scores, gains, weights, by_gain, sigma, numbers, places)
    value = _sum_pairs(law, family == DISTANCES, n, x, c, omega, up, down)
    if derive:
        for j in range(n):
            i = order[j]
            grad[i], push[i] = up[j] - down[j], down[j]
    return value


@routine
def _sum_losses(n, x, c, omega, up, down, bent):
    """What RankNet pulls each document up and down by, and the second derivatives; ``omega`` is 1, or 0 behind n."""
    first = 0
    for i in range(n):
        if i == first:
            while first < n and c[first] == c[i]:
                first += 1
        mine, pull, bend = splat(x[i]), splat(0.0), splat(0.0)
        for j in range(first, n, LANES):
            others = load(x, j)
            inverse = load(omega, j) / (mine + others)
            tail = others * inverse
            density = tail * (mine * inverse)
            pull, bend = pull + tail, bend + density
            store(down, j, load(down, j) + tail)
            store(bent, j, load(bent, j) + density)
        up[i] = lane_sum(pull)
        bent[i] += lane_sum(bend)


@kernel
def ranknet_level_queries(scores, gains, offsets, by_gain, sigmoid, ranges, grad, curvature, left):
    """RankNet's direction and curvature (``lambdas``) of the queries of ``ranges`` whose scores are not too far apart.

    ``by_gain`` has the places of each query's documents by falling gain, or is empty: then they are found.
    The others are marked in ``left``.
    """
    begin, end = claim(ranges)
    while begin < end:
        longest = longest_query(offsets, begin, end)
        numbers, places = np.empty(_PARTS * (longest + LANES)), np.empty(_PLACES * (longest + LANES), np.int64)
        ones = np.ones(longest)
        for q in range(begin, end):
            low, high = offsets[q], offsets[q + 1]
            n = high - low
            if n < 2:
                continue
            own = scores[low:high]
            if (own.max() - own.min()) * sigmoid > _EXPONENTS:
                left[q] = True
                continue
            x, c, omega, up, down, bent, order = _arrange(
                GUMBEL, own, gains[low:high], ones[:n], by_gain[low:high], 1.0 / sigmoid, numbers, places
            )
            _sum_losses(n, x, c, omega, up, down, bent)
            for j in range(n):
                i = low + order[j]
                grad[i], curvature[i] = sigmoid * (up[j] - down[j]), sigmoid * sigmoid * bent[j]
        keep_alive(numbers)
        keep_alive(places)
        begin, end = claim(ranges)


@kernel
def soft_level_pairs(
    law, family, scores, gains, weights, offsets, sigma, by_gain, derive, wanted, ranges, value, grad, push, hess,
    left,
):  # fmt: skip
    """Of the queries of ``ranges`` whose documents nearly all matter to one another: as ``pairwise.soft_pairs``.

    ``by_gain`` has the places of each query's documents by falling coefficient, or is empty: then they are found.
    The others are marked in ``left``.
    """
    begin, end = claim(ranges)
    while begin < end:
        longest = longest_query(offsets, begin, end)
        numbers, places = np.empty(_PARTS * (longest + LANES)), np.empty(_PLACES * (longest + LANES), np.int64)
        for q in range(begin, end):
            low, high = offsets[q], offsets[q + 1]
            if low == high:
                value[q] = 0.0
            elif _all_matter(law, scores[low:high], sigma):
                d_low, d_high = (low, high) if derive else (0, 0)
                value[q] = _query(
                    law, family, scores[low:high], gains[low:high], weights[low:high], by_gain[low:high], sigma, derive,
                    grad[d_low:d_high], push[d_low:d_high], numbers, places,
                )  # fmt: skip
                to_curvature(wanted, q, d_low, d_high, gains, grad, push, hess)
            else:
                left[q] = True
        keep_alive(numbers)
        keep_alive(places)
        begin, end = claim(ranges)
