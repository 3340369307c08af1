"""Where to put the nodes of the integral over the threshold x: a trapezoid rule that follows the crowd.

Everything is in units of sigma, for one cluster of documents sorted by falling score, its first at u = 0. The
rule is uniform, with step h, in

    y = t - m(Lambda(x)),

where Lambda(x) is the expected number of documents above x, so that far from documents nodes are h apart and in
a crowd they close up to the width of an order statistic, as far as the discount can tell one from another:

- ``SMOOTH``, no cutoff in the cluster: m = 1.5 log(Lambda + 4);
- ``TOP``, a cutoff in the upper half: m = sqrt(Lambda + 4);
- ``ANYWHERE``, a cutoff further down, or a table of discounts: m = sqrt(Lambda + 4) - sqrt(n - Lambda + 4).

For the Gaussian law t = x; the exponential right tails of the other two are folded by x = x1 + t + exp(t), x1
where Lambda is about exp(-2). The weight of a node is h dx/dy.

Any smooth increasing map gives the same integral, so Lambda may be a stand-in as long as the weights are its
own exact derivatives: documents closer than ``BIN_WIDTH`` are counted at their mean.
"""

from __future__ import annotations

import math

import numpy as np

from .compile import kernel
from .noise import GAUSSIAN, GUMBEL, noise, reach
from .simd import lane_sum, load, splat

SMOOTH, TOP, ANYWHERE = 0, 1, 2
BIN_WIDTH = 0.5
_OFFSET = 4.0
_BIN_EPS = 1e-13
_NEWTON_STEPS = 60


@kernel
def fill_bins(u, first, last, centres, counts):
    """Group the sorted positions u[first:last] into bins; returns their number, padded with empty bins."""
    n_bins, j = 0, first
    while j < last:
        total, begin = 0.0, j
        while j < last and u[begin] - u[j] <= BIN_WIDTH:
            total += u[j]
            j += 1
        centres[n_bins] = total / (j - begin)
        counts[n_bins] = j - begin
        n_bins += 1
    for b in range(n_bins, n_bins + 8):
        centres[b], counts[b] = centres[n_bins - 1], 0.0
    return n_bins


@kernel
def tail_origin(law, centres, counts, n_bins):
    """x1 of the folded tail: log sum exp(u) + 2, where Lambda is exp(-2)."""
    total = 0.0
    for b in range(n_bins):
        total += counts[b] * math.exp(centres[b] - centres[0])
    return centres[0] + math.log(total) + 2.0


@kernel
def expected_above(law, x, centres, counts, begin, end, certain):
    """Lambda and dLambda/dx at x from bins begin..end, ``certain`` documents being above for sure."""
    above, density, point = splat(0.0), splat(0.0), splat(x)
    for b in range(begin, end, 8):
        p, _, w, _ = noise(law, point - load(centres, b))
        count = load(counts, b)
        above = above + count * p
        density = density + count * w
    return certain + lane_sum(above), -lane_sum(density)


@kernel
def position(law, t, origin):
    """X and dx/dt of the folded coordinate t."""
    if law == GAUSSIAN:
        return t, 1.0
    fold = math.exp(min(t, 700.0))
    return origin + t + fold, 1.0 + fold


@kernel
def folded(law, x, origin):
    """The coordinate t of a position x: the inverse of ``position``."""
    if law == GAUSSIAN:
        return x
    excess = x - origin
    t = min(excess, math.log(max(excess, 1.0)))
    for _ in range(_NEWTON_STEPS):
        step = (t + math.exp(t) - excess) / (1.0 + math.exp(t))
        t -= step
        if abs(step) < 1e-12 * (1.0 + abs(t)):
            break
    return t


@kernel
def crowding(shape, n, above, slope):
    """M(Lambda) and its derivative along x, for a cluster of n documents."""
    if shape == SMOOTH:
        return 1.5 * math.log(above + _OFFSET), 1.5 * slope / (above + _OFFSET)
    root = math.sqrt(above + _OFFSET)
    if shape == TOP:
        return root, 0.5 * slope / root
    rest = math.sqrt(max(n - above, 0.0) + _OFFSET)
    return root - rest, 0.5 * slope / root + 0.5 * slope / rest


@kernel
def step_factor(law, shape, n):
    """How much shorter the step is where the tail of n documents is steeper than the map follows.

    The best of n Gaussian draws varies by 1 / sqrt(2 log n), the worst of n Gumbel draws by 1 / log n.
    """
    if law == GAUSSIAN:
        return min(1.0, 3.2 / math.sqrt(2.0 * math.log(n)))
    if law == GUMBEL and shape == ANYWHERE:
        return min(1.0, 2.5 / math.log(n))
    return 1.0


@kernel
def cut_factor(law, shape, u, first, last, cut):
    """How much shorter the step is where a deep cutoff lies in a long, spread-out list.

    The count above x varies by the root of V, the sum of p q, there; the map's roots take it for the root of the
    documents above or below, which is too much where most of those are certain. ``u`` must be padded.
    """
    if shape == SMOOTH:
        return 1.0
    n = last - first
    k = min(cut, n // 2) if cut >= n else cut
    variance, point = splat(0.0), splat(u[first + k])
    for j in range(first, last, 8):
        p, q, _, _ = noise(law, point - load(u, j))
        variance = variance + p * q
    grip = 1.0 / math.sqrt(k + _OFFSET)
    if shape == ANYWHERE:
        grip += 1.0 / math.sqrt(n - k + _OFFSET)
    return min(1.0, 2.0 * grip * math.sqrt(lane_sum(variance) + _OFFSET))


@kernel
def next_node(law, shape, n, h, origin, centres, counts, n_bins, state):
    """Step down to the next node: returns x, its weight and Lambda there.

    ``state``: t and y of the last node, dt/dy there, the window of bins (first uncertain, first out of reach)
    and the number of documents in bins certainly above. y < 0 steps of h are counted by ``state[1]``.
    """
    target = state[1] - h
    right = state[0]
    left = -math.inf
    t = right - h * state[2]
    reach_left, reach_right = reach(law, _BIN_EPS)
    begin, end, certain = int(state[3]), int(state[4]), state[5]
    x_last, _ = position(law, right, origin)
    while begin < n_bins and centres[begin] > x_last + reach_left:
        certain += counts[begin]
        begin += 1
    x, stretch, above, slope, rise = 0.0, 1.0, 0.0, 0.0, 1.0
    for _ in range(_NEWTON_STEPS):
        x, stretch = position(law, t, origin)
        while end < n_bins and centres[end] > x - reach_right:
            end += 1
        above, slope = expected_above(law, x, centres, counts, begin, end, certain)
        height, incline = crowding(shape, n, above, slope * stretch)
        rise = 1.0 - incline
        miss = t - height - target
        if abs(miss) < 1e-9:  # Newton's next step would square this: the node is where the rule wants it
            t -= miss / rise
            break
        if miss > 0.0:
            right = t
        else:
            left = t
        t -= miss / rise
        if t <= left:
            t = 0.5 * (left + right)
        elif t >= right:
            t = 0.5 * (left + right) if left > -math.inf else right - h
    # the derivative is taken where the node is, not where the last trial was
    x, stretch = position(law, t, origin)
    above, slope = expected_above(law, x, centres, counts, begin, end, certain)
    _, incline = crowding(shape, n, above, slope * stretch)
    rise = 1.0 - incline
    state[0], state[1], state[2] = t, target, 1.0 / rise
    state[3], state[4], state[5] = begin, end, certain
    return x, h * stretch / rise, above


@kernel
def start_nodes(law, shape, n, x, origin, centres, counts, n_bins, state):
    """Set the state so that the first node lies one step below x."""
    t = folded(law, x, origin)
    _, stretch = position(law, t, origin)
    above, slope = expected_above(law, x, centres, counts, np.int64(0), n_bins, 0.0)
    height, incline = crowding(shape, n, above, slope * stretch)
    state[0], state[1], state[2] = t, t - height, 1.0 / (1.0 - incline)
    state[3], state[4], state[5] = 0, 0, 0.0


@kernel
def too_many_above(above, ranks, log_eps):
    """Whether fewer than ``ranks`` documents above has a probability below eps (Chernoff)."""
    spare = ranks - 1.0
    if above <= spare + 1.0:
        return False
    bound = spare - above
    if spare > 0.0:
        bound += spare * math.log(above / spare)
    return bound < log_eps
