"""Expected pairs of a list whose documents nearly all matter to one another: every pair once, eight at a time.

Documents are taken by falling coefficient, so that those worth less than one are all behind it: of each pair the
first is the better one, nothing is compared, and pairs of equal coefficients are never met. Scores are not sorted:
the chance that the noise brings a pair into the wrong order is the law's at a distance of either sign.

RankNet's loss of a pair falls by just that chance, under Gumbel noise, as the pair comes apart.
"""

from __future__ import annotations

import numpy as np

from .compile import kernel, routine
from .curvature import NONE, to_curvature
from .families import DISTANCES
from .noise import GAUSSIAN, GUMBEL, brief_gaussian, exponential
from .pair_law import LEAST_TAIL, SQRT_HALF, gaussian_pair, law_reach, logistic_pair
from .shares import claim, longest_query
from .simd import LANES, keep_alive, lane_sum, load, magnitude, pointer, splat, store, where_negative
from .sorting import falling_order
from .underflow import all_tiny, as_before, flush_underflow, usual_scale

# up to how many pairs per document of a query this is cheaper than the grid
_MOST_GAUSSIAN, _MOST_EXACT, _MOST_GUMBEL, _MOST_LOGISTIC = 170.0, 95.0, 3500.0, 170.0
_FURTHEST = 8.0  # how many times its reach the scores may be apart: up to there exponentials of Gumbel are numbers
_PARTS, _PLACES = 8, 2  # arrays of numbers and of places that a query needs, each as long as it and a vector
_EXPONENTS = 600.0  # how far apart scores may be whose exponentials are all numbers


@routine
def _within_reach(law, scores, sigma):
    """Whether the noise reaches far enough for most pairs to count."""
    low, high = scores[0], scores[0]
    for j in range(1, scores.size):
        low, high = min(low, scores[j]), max(high, scores[j])
    return (high - low) / sigma <= _FURTHEST * law_reach(law, LEAST_TAIL)


@routine
def _few_enough(law, exact, n, gains, order):
    """Whether going through all pairs of different coefficients is cheaper than the grid; ``order`` is by these."""
    if law == GAUSSIAN:
        most = _MOST_EXACT if exact else _MOST_GAUSSIAN
    else:
        most = _MOST_GUMBEL if law == GUMBEL else _MOST_LOGISTIC
    if n <= 2.5 * most:  # of as many coefficients as documents the grid costs more
        return True
    pairs, first = 0.0, 0
    for j in range(n):
        if gains[order[j]] != gains[order[first]]:
            first = j
        pairs += first
    return pairs <= most * n


@routine
def _wrong(law, exact, mine, others):
    """The chance that the second of two ends above the first, and its density; by scores, of Gumbel by their exp."""
    if law == GUMBEL:
        inverse = splat(1.0) / (mine + others)
        tail = others * inverse
        return tail, tail * (mine * inverse)
    distance = mine - others
    if law == GAUSSIAN:
        if exact:
            tail, density, _ = gaussian_pair(distance)
            return tail, density
        tail, density = brief_gaussian(distance * splat(SQRT_HALF))
        return tail, density * splat(SQRT_HALF)
    tail, density, _ = logistic_pair(magnitude(distance))
    return where_negative(distance, splat(1.0) - tail, tail), density


@routine
def _sum_pairs(law, exact, distances, n, x, c, omega, up, down):
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
            tail, density = _wrong(law, exact, mine, load(x, j))
            weight = (same + slope * (worth - load(c, j))) * load(omega, j)
            lost = lost + weight * (tail - base)
            density = weight * density
            pull = pull + density
            store(down, j, load(down, j) + own * density)
        up[i] = omega[i] * lane_sum(pull)
        total -= omega[i] * lane_sum(lost)
    return total


@routine
def _order_of(gains, by_gain, numbers, places):
    """The places by falling coefficient: ``by_gain``, or if that is empty they are found."""
    n = gains.size
    size, order = n + LANES, pointer(places, np.int64(0))
    if by_gain.size == n:
        for j in range(n):
            order[j] = by_gain[j]
    else:
        falling_order(gains, pointer(numbers, 6 * size), pointer(numbers, 7 * size), order, pointer(places, size))
    return order


@routine
def _arrange(law, scores, gains, weights, order, sigma, numbers):
    """Scores, by their exponentials of Gumbel, coefficients and weights by falling coefficient; sums of 0."""
    n = scores.size
    size, zero = n + LANES, np.int64(0)
    x, c, omega = pointer(numbers, zero), pointer(numbers, size), pointer(numbers, 2 * size)
    down, bent = pointer(numbers, 4 * size), pointer(numbers, 5 * size)
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
    return x, c, omega, pointer(numbers, 3 * size), down, bent


@routine
def _query(law, exact, family, scores, gains, weights, order, sigma, derive, grad, push, numbers):
    n = scores.size
    x, c, omega, up, down, _ = _arrange(law, scores, gains, weights, order, sigma, numbers)
    value = _sum_pairs(law, exact, family == DISTANCES, n, x, c, omega, up, down)
    if derive:
        for j in range(n):
            i = order[j]
            grad[i], push[i] = up[j] - down[j], down[j]
    return value


@routine
def _sum_losses(n, x, c, omega, up, down, raised, bent):
    """Sum the chances of wrong pairs and their densities: ``up`` and ``raised`` of the better, ``down`` and ``bent``.

    ``omega`` is 1, or 0 behind n.
    """
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
        raised[i] = lane_sum(bend)


@kernel
def ranknet_level_queries(
    scores, gains, offsets, by_gain, sigmoid, ranges, grad, curvature, left, wanted, tau_grad, tau_push
):
    """RankNet's direction and curvature (``lambdas``) of the queries of ``ranges`` whose scores are not too far apart.

    The densities of its pairs are what pulls them apart under Gumbel noise (``soft_level_pairs``, every document of
    weight 1), in units of 1 / sigmoid: they are written, too, if a curvature is ``wanted`` of them.
    ``by_gain`` has the places of each query's documents by falling gain, or is empty: then they are found.
    The others are marked in ``left``.
    """
    beside = wanted.kind != NONE
    begin, end = claim(ranges)
    while begin < end:
        longest = longest_query(offsets, begin, end)
        numbers, places = np.empty(_PARTS * (longest + LANES)), np.empty(_PLACES * (longest + LANES), np.int64)
        ones = np.ones(longest)
        for q in range(begin, end):
            low, high = offsets[q], offsets[q + 1]
            n = high - low
            if n == 0:
                continue
            own = scores[low:high]
            if (own.max() - own.min()) * sigmoid > _EXPONENTS:
                left[q] = True
                continue
            order = _order_of(gains[low:high], by_gain[low:high], numbers, places)
            x, c, omega, up, down, bent = _arrange(
                GUMBEL, own, gains[low:high], ones[:n], order, 1.0 / sigmoid, numbers
            )
            raised = pointer(numbers, 6 * (n + LANES))
            _sum_losses(n, x, c, omega, up, down, raised, bent)
            for j in range(n):
                i = low + order[j]
                grad[i], curvature[i] = sigmoid * (up[j] - down[j]), sigmoid * sigmoid * (raised[j] + bent[j])
                if beside:
                    tau_grad[i], tau_push[i] = raised[j] - bent[j], bent[j]
            if beside:
                to_curvature(wanted, q, low, high, gains, tau_grad, tau_push, tau_grad)
        keep_alive(numbers)
        keep_alive(places)
        begin, end = claim(ranges)


@kernel
def soft_level_pairs(
    law, family, scores, gains, weights, offsets, sigma, exact, by_gain, derive, wanted, ranges, value, grad, push,
    hess, left,
):  # fmt: skip
    """Of the queries of ``ranges`` whose documents nearly all matter to one another: as ``pairwise.soft_pairs``.

    Unless ``exact``, the Gaussian law is a relative 2e-9 off (tails below 1e-12 up to 2e-5).

    ``by_gain`` has the places of each query's documents by falling coefficient, or is empty: then they are found.
    The others are marked in ``left``.
    """
    usual = usual_scale(sigma, weights)
    begin, end = claim(ranges)
    while begin < end:
        longest = longest_query(offsets, begin, end)
        numbers, places = np.empty(_PARTS * (longest + LANES)), np.empty(_PLACES * (longest + LANES), np.int64)
        for q in range(begin, end):
            low, high = offsets[q], offsets[q + 1]
            if low == high:
                value[q] = 0.0
                continue
            left[q] = not _within_reach(law, scores[low:high], sigma)
            if left[q]:
                continue
            order = _order_of(gains[low:high], by_gain[low:high], numbers, places)
            left[q] = not _few_enough(law, exact, high - low, gains[low:high], order)
            if left[q]:
                continue
            d_low, d_high = (low, high) if derive else (0, 0)
            before = flush_underflow(usual and not all_tiny(gains, low, high))
            value[q] = _query(
                law, exact, family, scores[low:high], gains[low:high], weights[low:high], order, sigma, derive,
                grad[d_low:d_high], push[d_low:d_high], numbers,
            )  # fmt: skip
            as_before(before)
            to_curvature(wanted, q, d_low, d_high, gains, grad, push, hess)
        keep_alive(numbers)
        keep_alive(places)
        begin, end = claim(ranges)
