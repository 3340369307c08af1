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

from .compile import routine
from .noise import GAUSSIAN, GUMBEL, logarithm, short_exponential
from .simd import LANES, lane_sum, larger, load, root, smaller, splat, store, where_negative
from .workspace import MOST_BINS

SMOOTH, TOP, ANYWHERE = 0, 1, 2
BIN_WIDTH = 1.5
VARIANCES = (1.0, math.pi**2 / 6.0, math.pi**2 / 3.0)  # of the three laws
_LINEAR, _CUBIC = 1.5976, 0.070566  # Phi(z) is about 1 / (1 + exp(-1.5976 z - .070566 z^3))
_OFFSET = 4.0
_NEWTON_STEPS = 60
# from so many ranks on the step at a cutoff is found where the count passes it: so far around its document, so often
_DEEP, _AROUND, _NARROWINGS = 16, 3.0, 3
_CUT_WIDTHS = (2.6, 2.2, 2.75)  # of the order statistic, over the step, by law
_FEW_BEHIND = 2.4  # documents behind a cutoff that are few
_NOTHING_LEFT = 40.0  # exp(-40) of a document adds nothing to a sum of theirs
# the count of documents above, and its variance, are not exact: to end by them they are trusted this far
CERTAIN_SHARE, MORE_SCATTER = 0.95, 0.5
_ROUNDING = 1e-16
_MANY = 100.0  # documents whose bin, as it begins to count, would move the nodes by more than the miss allowed


@routine
def fill_bins(law, u, first, last, bins):
    """Group the sorted positions u[first:last] into at most MOST_BINS bins; returns their number.

    A bin is a crowd of its documents' mean and variance, drawn as one document of that much wider noise. For a law with
    an exponential tail, narrow bins are drawn where exp(u) has its mean, with the law's own noise: seen from far above,
    all bins from one on are then ``rest`` times exp(centre), and ``fall`` is that exponential over the one of the bin
    before. Without such rests it is 0.
    """
    centres, rates, counts, rests, falls = bins
    width = max(BIN_WIDTH, (u[first] - u[last - 1]) / (MOST_BINS - 1))
    summed = law != GAUSSIAN and width == BIN_WIDTH
    n_bins, j = 0, first
    while j < last:
        total, squares, begin = 0.0, 0.0, j
        while j < last and u[begin] - u[j] <= width:
            offset = u[j] - u[begin]
            total += offset
            squares += offset * offset
            j += 1
        mean = total / (j - begin)
        scatter = max(squares / (j - begin) - mean * mean, 0.0)
        centres[n_bins] = u[begin] + mean + (0.5 * scatter if summed else 0.0)
        rates[n_bins] = 1.0 if summed else 1.0 / math.sqrt(1.0 + scatter / VARIANCES[law])
        counts[n_bins] = j - begin
        n_bins += 1
    rests[0] = 0.0
    if summed:
        rests[n_bins - 1] = counts[n_bins - 1]
        for b in range(n_bins - 2, -1, -1):
            falls[b + 1] = math.exp(centres[b + 1] - centres[b])
            rests[b] = counts[b] + rests[b + 1] * falls[b + 1]
    return n_bins


@routine
def tail_origin(u, first, last):
    """x1 of the folded tail: log sum exp(u) + 2, where Lambda is exp(-2); from the documents themselves."""
    top, total, j = splat(u[first]), splat(0.0), first
    while j + LANES <= last and u[first] - u[j] < _NOTHING_LEFT:
        total = total + short_exponential(load(u, j) - top)
        j += LANES
    rest = lane_sum(total)
    while j < last and u[first] - u[j] < _NOTHING_LEFT:
        rest += math.exp(u[j] - u[first])
        j += 1
    return u[first] + math.log(rest) + 2.0


@routine
def _stand_in(law, z):
    """A tail probability, its slope, and the slope's own: near the law's, for where nodes lie need only be smooth."""
    if law != GAUSSIAN:
        return _by_exponential(law, short_exponential(splat(0.0) - z))
    bend = splat(_CUBIC) * z
    square = bend * z
    linear = splat(_LINEAR)
    p = splat(1.0) / (splat(1.0) + short_exponential(z * (linear + square)))
    slope = linear + square + square + square
    q = splat(1.0) - p
    w = p * q
    return p, w * slope, w * (splat(6.0) * bend - slope * slope * (q - p))


@routine
def _by_exponential(law, e):
    """The same of the laws with an exponential tail, by e = exp(-z)."""
    if law == GUMBEL:
        rest = splat(1.0) / (splat(1.0) + splat(0.25) * e)  # (1 + e / 4)^-4 for exp(-e)
        q = rest * rest
        w = e * q * q * rest
        return splat(1.0) - q * q, w, w * (splat(1.25) * e * rest - splat(1.0))
    q = splat(1.0) / (splat(1.0) + e)
    p = e * q
    w = p * q
    return p, w, w * (p - q)


@routine
def fineness(law, n, miss_allowed):
    """How near a node must come to its place, and how far above and below a bin of n counts, in its own widths.

    The last step to a node is taken without a look at where it leads: what it leaves is of the order of its square.
    """
    miss = max(miss_allowed, _ROUNDING)
    span = -math.log(0.1 * miss * min(1.0, _MANY / n))
    above = below = span
    if law == GAUSSIAN:
        above = below = stand_in_reach(span)
    elif law == GUMBEL:
        above = 0.25 * span + math.log(4.0)
    return 0.5 * math.sqrt(miss), above, below


@routine
def stand_in_reach(span):
    """Where the Gaussian's stand-in is exp(-span)."""
    z = math.sqrt(2.0 * span)
    for _ in range(3):
        z -= (_LINEAR * z + _CUBIC * z * z * z - span) / (_LINEAR + 3.0 * _CUBIC * z * z)
    return z


@routine
def near_bins(bins, n_bins, top, bottom, fine):
    """The bins that are uncertain between two positions: the first, the one behind the last; documents before.

    And whether those behind count by their rests, exp(-z) together, which leaves the square of that.
    """
    centres, rates, counts, rests, _ = bins
    begin, certain = 0, 0.0
    _, over, under = fine
    if rests[0] > 0.0:
        under = 0.5 * under
    while begin < n_bins and (centres[begin] - top) * rates[begin] > over:
        certain += counts[begin]
        begin += 1
    end = begin
    while end < n_bins and (bottom - centres[end]) * rates[end] < under:
        end += 1
    return begin, end, certain, rests[0] > 0.0 and end < n_bins


@routine
def _expected_above(law, x, bins, near):
    """Lambda, -dLambda/dx, its derivative and the variance of the count above at eight positions x."""
    centres, rates, counts, rests, falls = bins
    begin, end, certain, more = near
    above, density, change, variance = splat(certain), splat(0.0), splat(0.0), splat(0.0)
    if rests[0] > 0.0:  # from bin to bin the exponential falls by a factor that no node changes
        e = short_exponential(splat(centres[begin]) - x)
        for b in range(begin, end):
            p, w, bend = _by_exponential(law, e)
            count = splat(counts[b])
            above = above + count * p
            variance = variance + count * p * (splat(1.0) - p)
            density = density + count * w
            change = change + count * bend
            e = e * splat(falls[b + 1])
        if more:
            rest = splat(rests[end]) * e
            above, density, change, variance = above + rest, density + rest, change - rest, variance + rest
        return above, density, change, variance
    for b in range(begin, end):
        rate = splat(rates[b])
        p, w, bend = _stand_in(law, (x - splat(centres[b])) * rate)
        count = splat(counts[b])
        above = above + count * p
        variance = variance + count * p * (splat(1.0) - p)
        count = count * rate
        density = density + count * w
        change = change + count * rate * bend
    return above, density, change, variance


@routine
def node_place(law, t, origin):
    """X and dx/dt of the folded coordinate t."""
    if law == GAUSSIAN:
        return t, splat(1.0)
    fold = short_exponential(t)
    return splat(origin) + t + fold, splat(1.0) + fold


@routine
def _place(law, t, origin):
    return t if law == GAUSSIAN else origin + t + math.exp(min(t, 700.0))


@routine
def folded(law, x, origin):
    """The coordinate t of a position x: the inverse of ``node_place``."""
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


@routine
def _crowding(shape, n, above, density, change):
    """M(Lambda), minus its derivative along x and that one's, for a cluster of n documents."""
    if shape == SMOOTH:
        more = splat(1.5) / (above + splat(_OFFSET))
        slope = density * more
        return splat(1.5) * logarithm(above + splat(_OFFSET)), slope, slope * slope * splat(1.0 / 1.5) + change * more
    top = root(above + splat(_OFFSET))
    inverse = splat(1.0) / top
    half = splat(0.5) * inverse
    slope = density * half
    bend = slope * slope * inverse + change * half
    if shape == TOP:
        return top, slope, bend
    rest = root(larger(splat(n * 1.0) - above, splat(0.0)) + splat(_OFFSET))
    inverse = splat(1.0) / rest
    half = splat(0.5) * inverse
    more = density * half
    return top - rest, slope + more, bend + change * half - more * more * inverse


@routine
def height_at(law, shape, n, origin, t, bins, near):
    """Position x, y, dy/dt, its derivative, dx/dt, Lambda and the count's variance at eight coordinates t."""
    x, stretch = node_place(law, t, origin)
    above, density, change, variance = _expected_above(law, x, bins, near)
    height, incline, bend = _crowding(shape, n, above, density, change)
    bend = bend * stretch * stretch
    if law != GAUSSIAN:
        bend = bend + incline * (stretch - splat(1.0))
    return x, t - height, splat(1.0) + incline * stretch, bend, stretch, above, variance


@routine
def step_factor(law, shape, n):
    """How much shorter the step is where the tail of n documents is steeper than the map follows.

    The best of n Gaussian draws varies by 1 / sqrt(2 log n), the worst of n Gumbel draws by 1 / log n; the
    Gumbel density itself falls more steeply on its left.
    """
    if law == GAUSSIAN:
        far = math.sqrt(2.0 * math.log(n))
        return min(1.0, 3.0 / far) * min(1.0, math.sqrt(3.5 / far))  # from 460 documents on somewhat less than that
    if law == GUMBEL:
        return min(0.9, 2.5 / math.log(n)) if shape == ANYWHERE else 0.9
    return 1.0


@routine
def node_step(law, shape, n, h, cut, x, origin, bins, n_bins, fine, scratch):
    """The step from node to node among n documents, the one behind the cutoff at x; ``cut`` counts those before it."""
    step = h * step_factor(law, shape, n)
    if shape == SMOOTH:
        return step
    if cut < _DEEP or cut >= n:
        return step * _cut_factor(shape, n, cut, _scatter_above(law, x, fine, bins, n_bins))
    return min(step, h * _cut_width(law, shape, n, cut, x, origin, bins, n_bins, fine, scratch))


@routine
def _cut_width(law, shape, n, cut, x, origin, bins, n_bins, fine, scratch):
    """How far the map goes, over what the default step should be, while the count above passes a deep cutoff.

    The order statistic there is as wide as the count's standard deviation over its slope, and where few documents of
    a crowd are left behind the cutoff (a gap in the scores follows), as that of a Gamma variate of so many.
    """
    at = _crossing(law, cut - 0.5, x, n, bins, n_bins, fine, scratch)
    above, density, _, variance = _expected_above(law, splat(at), bins, near_bins(bins, n_bins, at, at, fine))
    _, stretch = node_place(law, splat(folded(law, at, origin)), origin)
    _, incline, _ = _crowding(shape, n, above, density, density)
    scatter = lane_sum(variance) / LANES
    rise = lane_sum((splat(1.0) + incline * stretch) / (density * stretch)) / LANES
    return _CUT_WIDTHS[law] * scatter / math.sqrt(scatter + _FEW_BEHIND) * rise


@routine
def _crossing(law, count, x, n, bins, n_bins, fine, scratch):
    """Where so many of n documents are expected above, which is not far from x: by ninths."""
    reach = math.log(n) + _AROUND
    low, width = x - reach, 2.0 * reach / (LANES + 1)
    for _ in range(_NARROWINGS):
        for i in range(LANES):
            scratch[i] = low + (i + 1.0) * width
        near = near_bins(bins, n_bins, scratch[LANES - 1], scratch[0], fine)
        above, _, _, _ = _expected_above(law, load(scratch, 0), bins, near)
        low += width * lane_sum(where_negative(splat(count) - above, splat(1.0), splat(0.0)))
        width /= LANES + 1
    return low


@routine
def cut_place(n, cut):
    """Where the cutoff's document is among n; a table of discounts that no cutoff ends has one in the middle."""
    return cut if cut < n else n // 2


@routine
def _cut_factor(shape, n, cut, variance):
    """How much shorter the step is where a cutoff lies in a long, spread-out list; the shape is not SMOOTH.

    The count above the cutoff's document varies by the root of its variance; the map's roots take it for the root
    of the documents above or below, which is too much where most of those are certain.
    """
    k = cut_place(n, cut)
    grip = 1.0 / math.sqrt(k + _OFFSET)
    if shape == ANYWHERE:
        grip += 1.0 / math.sqrt(n - k + _OFFSET)
    return min(1.0, 2.0 * grip * math.sqrt(variance + _OFFSET))


@routine
def next_nodes(law, shape, n, h, fine, origin, bins, n_bins, state, scratch, x, weights, above, variance):
    """Step down to the next eight nodes: their x, weights, Lambda and the variance of the count above.

    ``state``: t, y and dt/dy of the last node. Steps of second order from a straight line, halved where they would
    leave what is known to hold the node; y never rises slower than t. Position and weight of the last step's end are
    taken from where it begins.
    """
    for i in range(LANES):
        scratch[i] = i + 1.0
    target = splat(state[1]) - splat(h) * load(scratch, 0)
    t = splat(state[0]) + splat(state[2]) * (target - splat(state[1]))
    right, left = splat(state[0]), splat(state[0]) + (target - splat(state[1]))
    near = near_bins(bins, n_bins, _place(law, state[0], origin), _place(law, state[0] - LANES * h, origin), fine)
    tolerance = splat(fine[0])
    zero, one, half = splat(0.0), splat(1.0), splat(0.5)
    at, step, rise, bend, stretch, crowd, scatter = t, t, t, t, t, t, t
    for _ in range(_NEWTON_STEPS):
        at, height, rise, bend, stretch, crowd, scatter = height_at(law, shape, n, origin, t, bins, near)
        miss = height - target
        inverse = one / rise
        step = zero - miss * inverse
        turn = half * step * bend * inverse
        step = step * (one - larger(smaller(turn, half), zero - half))
        if lane_sum(where_negative(tolerance - larger(miss, zero - miss), one, zero)) == 0.0:
            break
        right = where_negative(zero - miss, t, right)
        left = where_negative(miss, t, left)
        t = t + step
        middle = half * (left + right)
        t = where_negative(t - left, middle, where_negative(right - t, middle, t))
    rise = rise + bend * step
    if law != GAUSSIAN:
        fold = stretch - one
        at = at + step * (stretch + half * fold * step)
        stretch = stretch + fold * step
    else:
        at = at + step
    store(x, 0, at)
    store(weights, 0, splat(h) * stretch / rise)
    store(above, 0, crowd)
    store(variance, 0, scatter)
    store(scratch, 0, t + step)
    state[0] = scratch[LANES - 1]
    store(scratch, 0, rise)
    state[1], state[2] = state[1] - LANES * h, 1.0 / scratch[LANES - 1]


@routine
def start_nodes(law, shape, n, x, origin, state):
    """Set the state so that the first node lies one step below x, with next to nothing above x: y = t - m(0)."""
    height = math.sqrt(_OFFSET)
    if shape == SMOOTH:
        height = 1.5 * math.log(_OFFSET)
    elif shape == ANYWHERE:
        height -= math.sqrt(n + _OFFSET)
    state[0] = folded(law, x, origin)
    state[1], state[2] = state[0] - height, 1.0


@routine
def _scatter_above(law, x, fine, bins, n_bins):
    """The variance of the count above x."""
    _, _, _, variance = _expected_above(law, splat(x), bins, near_bins(bins, n_bins, x, x, fine))
    return lane_sum(variance) / LANES


@routine
def nodes_wanted(x, above, variance, ranks, bottom, log_eps, scratch):
    """How many of eight nodes count, from the first, and whether the last of these ends the cluster.

    It does where it lies below ``bottom``, or where the probability that fewer than ``ranks`` documents are above it is
    below eps.
    """
    slack = _slack_of_fewer(load(above, 0) * splat(CERTAIN_SHARE), load(variance, 0), ranks, log_eps)
    store(scratch, 0, smaller(slack, load(x, 0) - splat(bottom)))
    for i in range(LANES):
        if scratch[i] < 0.0:
            return i + 1, True
    return LANES, False


@routine
def _slack_of_fewer(above, variance, ranks, log_eps):
    """Negative where the probability that fewer than ``ranks`` documents are above is below eps.

    By Bennett's bound (1962), which is sharp where most documents are certain, or by Chernoff's for a Poisson count,
    which is where none is.
    """
    one, fewer = splat(1.0), splat(ranks - 1.0)
    variance = variance + splat(MORE_SCATTER)
    excess = larger(above - fewer, splat(0.0))
    ratio = excess / variance
    bound = variance * ((one + ratio) * logarithm(one + ratio) - ratio)
    if ranks > 1:
        bound = larger(bound, excess + fewer * logarithm(fewer / larger(above, fewer)))
    else:
        bound = larger(bound, excess)
    return splat(-log_eps) - bound
