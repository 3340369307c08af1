"""Few documents at a time: a cluster of a plain metric, at nodes that are equally far apart.

Short lists, and longer ones whose scores are spread out: a block of eight nodes meets few documents. Then nodes need
not follow a crowd (``quadrature``): they are one step apart in the law's coordinate t, from where its noise reaches at
the top to where it does at the bottom, in whole blocks. Nor does it pay to divide documents out (``plain``): all go
through the rows of the recursion, row j with its first j + 1 ranks only. What blocks add to the documents' sums stays
in eight lanes up to the last.
"""

from __future__ import annotations

import math

from .compile import kernel, merged, routine
from .families import PLAIN
from .noise import GAUSSIAN, GUMBEL, LOGISTIC, reach, second_ratio
from .odds import fill_odds, laws_from_odds
from .plain import set_plain_terminal
from .quadrature import folded, node_place, tail_origin
from .recursion import remove_drift, step_back_plain
from .simd import LANES, add_lane_sums, lane_sum, larger, load, splat, store
from .workspace import SHORT_SUMS, arrays

_STEEP = 0.25  # of the first rank's weight, that of the second where the first alone counts
_MANY_BEFORE = 4  # times as many documents as behind a cutoff: its order statistic is about that of the worst
_WIDEST_BLOCK = 8 * 1.64  # steps of the rule: ``_longer_step`` of two documents


@routine
def largest_crowd(law, u, first, last, ranks, h, eps, most):
    """How many documents a block of nodes may meet at the most, of a cluster sorted by falling score.

    Counted up to ``most`` + 1. A block ends where the documents above it are certain to fill all ranks.
    """
    left, right = reach(law, eps)
    width = left + right + _WIDEST_BLOCK * h + 1.0  # the folded tail adds no more than 1 where documents are
    crowd, end = 1, first
    for j in range(first, min(last, ranks)):
        while end < last and end - j <= most and u[j] - u[end] <= width:
            end += 1
        crowd = max(crowd, end - j)
    return crowd


@routine
def _sharpness(u, first, last, ranks, crowd, discount):
    """One over the variance of the order statistic that the integrand follows most closely, for Gaussian noise.

    The best of n draws varies by about 1 / sqrt(.8 + log n), the one at a cutoff by the root of
    1 / sqrt(k (n - k)) in a crowd, and of 1 / (2 scatter) by the variance of the count above it. A discount that falls
    steeply at once is a cutoff behind the first rank.
    """
    n, cut = last - first, ranks - first
    best = 0.8 + math.log(crowd)
    if cut >= n:
        if discount[first + 1] > _STEEP * discount[first]:
            return best
        cut = 1
    before, behind = 0.0, 0.0  # the scatter at the last document before the cutoff, and at the first behind it
    for j in range(first, min(last, ranks + crowd)):
        before += _scatter_of(u[j] - u[first + cut - 1])
        behind += _scatter_of(u[j] - u[first + cut])
    return max(best, min(math.sqrt(cut * (n - cut) * 1.0), 2.0 * max(before, behind)))


@routine
def _scatter_of(gap):
    """About p (1 - p), of a document so far from a threshold."""
    share = 1.0 / (1.0 + 0.32 * gap * gap)
    return 0.25 * share * share


@routine
def _longer_step(law, u, first, last, ranks, crowd, discount):
    """How much longer the step may be than the rule's."""
    step = 2.0 / math.sqrt(_sharpness(u, first, last, ranks, crowd, discount))
    if law == GUMBEL:  # its left flank is steep however many there are, and the worst of n draws varies by 1 / log n
        if _MANY_BEFORE * (last - ranks) <= last - first and crowd > 1:
            step = min(step, 2.5 / math.log(crowd))
        return min(0.85, 0.87 * step)
    return min(1.15, step) if law == LOGISTIC else step


@merged
def _forward_short(coef, low, m, width, stride, laws, A0, A1):
    """Rows 0..m of documents low..low+m; row j has ranks 0..j."""
    P, Q, W, _ = laws
    store(A0, 0, splat(1.0))
    store(A1, 0, splat(0.0))
    for j in range(m):
        p, q, cw = load(P, LANES * j), load(Q, LANES * j), load(W, LANES * j) * splat(coef[low + j])
        old, new, end = j * stride, (j + 1) * stride, LANES * min(j + 1, width)
        b0, b1 = splat(0.0), splat(0.0)
        for i in range(0, end, LANES):
            a0, a1 = load(A0, old + i), load(A1, old + i)
            store(A0, new + i, q * a0 + p * b0)
            store(A1, new + i, q * a1 + p * b1 + cw * a0)
            b0, b1 = a0, a1
        if j + 1 < width:
            store(A0, new + end, p * b0)
            store(A1, new + end, splat(0.0))


@merged
def _backward_short(law, coef, first, low, m, width, stride, at, exact, laws, rows, back, added):
    """Back over the rows; adds to each document's eight lanes: loss, pull r, drift, and the curvature's two."""
    P, Q, W, R = laws
    A0, A1, _, _ = rows
    B1, _, _, C1, C0, _, _ = back
    for j in range(m - 1, -1, -1):
        p, q, w, r = load(P, LANES * j), load(Q, LANES * j), load(W, LANES * j), load(R, LANES * j)
        c = splat(coef[low + j])
        end = LANES * min(j + 1, width)
        gamma, loss, _ = step_back_plain(A0, A1, j * stride, B1, C1, C0, 0, end, LANES, p, q, w * c, True)
        loss, pull, w_at = w * loss, w * gamma, w * at
        i = SHORT_SUMS * (low + j - first)
        store(added, i, load(added, i) + loss)
        store(added, i + LANES, load(added, i + LANES) + pull * r)
        store(added, i + 2 * LANES, load(added, i + 2 * LANES) + w_at * r)
        if exact:
            r2 = second_ratio(law, w, r)
            store(added, i + 3 * LANES, load(added, i + 3 * LANES) + (c * pull * r2 - loss * r))
            store(added, i + 4 * LANES, load(added, i + 4 * LANES) + w_at * r2)


@merged
def _collect_short(coef, first, last, least, exact, added, found, sums):
    """Sum the lanes and add them to the documents' sums."""
    gradient, push, hessian, _, drift, curl, _ = sums
    nothing = splat(0.0)
    for j in range(first, last):
        i = SHORT_SUMS * (j - first)
        store(found, 0, nothing)
        add_lane_sums(found, 0, load(added, i), load(added, i + LANES), load(added, i + 2 * LANES), nothing)
        gradient[j] += coef[j] * found[1] - found[0]
        push[j] += found[0] + least * found[1]
        drift[j] += found[2]
        if exact:
            hessian[j] += lane_sum(load(added, i + 3 * LANES))
            curl[j] += lane_sum(load(added, i + 4 * LANES))


@routine
def _first_certain(u, first, last, edge):
    """The first document of a cluster that is below an edge."""
    while first < last and u[first] >= edge:
        first += 1
    return first


@kernel
def short_cluster(law, first, last, ranks, crowd, derive, least, h, eps, discount, f, at, i, place):
    """The contribution of documents first..last, which can change places with each other only; called by address.

    A block of nodes meets ``crowd`` of them at the most: none from ``ranks`` + crowd on.
    """
    space = arrays(f, at, i, place)
    rows, back, laws, sums, tally = space.rows, space.back, space.laws, space.sums, space.tally
    u, coef, _ = space.documents
    x, weights, added = space.nodes.x, space.nodes.weights, space.odds.few
    (T, V, factors), (_, _, found, _) = space.odds.laws, space.odds.found
    A0, A1, _, _ = rows
    left, right = reach(law, eps)
    origin = 0.0 if law == GAUSSIAN else tail_origin(u, first, last)
    top = folded(law, u[first] + right, origin)
    span = top - folded(law, u[last - 1] - left, origin)
    n_blocks = int(span / (LANES * h * _longer_step(law, u, first, last, ranks, crowd, discount))) + 1
    h = span / (LANES * n_blocks)
    for lane in range(LANES):
        x[lane] = top - (lane + 0.5) * h
    t, nothing = load(x, 0), splat(0.0)
    met = min(last, ranks + crowd)
    if derive:
        for k in range(0, SHORT_SUMS * (met - first), LANES):
            store(added, k, nothing)
    total, low, high, covered = nothing, first, first, last
    for _ in range(n_blocks):
        node, stretch = node_place(law, t, origin)
        t = t - splat(LANES * h)
        store(x, 0, node)
        store(weights, 0, splat(h) * stretch)
        low = _first_certain(u, low, last, x[0] + left)
        if low >= min(last, ranks):
            covered = low
            break
        high = _first_certain(u, max(high, low), last, x[LANES - 1] - right)
        m, width = high - low, min(ranks - low, high - low)
        if m == 0:
            continue
        tally[0] += LANES  # what the benchmark counts: nodes, cells of rows, documents x nodes
        tally[3] += LANES * (width * m - width * (width - 1) // 2)
        tally[4] += LANES * m
        fill_odds(law, x, u, low, high, factors, T, V)
        laws_from_odds(law, x, u, low, low, high, T, V, laws)
        set_plain_terminal(discount, low, width, weights, back)
        stride = LANES * (width + 1)
        _forward_short(coef, low, m, width, stride, laws, A0, A1)
        fewer = nothing
        for k in range(0, LANES * width, LANES):
            total = total + load(A1, m * stride + k) * load(back[0], k)
            fewer = larger(fewer, load(A0, m * stride + k))
        if derive:
            _backward_short(
                law, coef, first, low, m, width, stride, load(weights, 0), derive == 2, laws, rows, back, added
            )
        if ranks < last and lane_sum(fewer) < eps:  # enough documents are above, and further down all the more
            covered = _first_certain(u, first, last, x[LANES - 1] + left)
            break
    if derive:
        _collect_short(coef, first, met, least, derive == 2, added, found, sums)
        remove_drift(PLAIN, False, u, coef, least, first, covered, ranks, discount, sums)
    return lane_sum(total)
