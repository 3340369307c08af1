"""How far apart two documents' discounts are expected to be under noise: E|D(R_i) - D(R_j)|, exactly, for every pair.

Since the discount D falls with the rank, |D(R_i) - D(R_j)| = D(R_i) + D(R_j) - 2 D(the lower of the two ranks). The
lower of two documents is the one whose noisy score is x while the other's is above x; with N the number of the others
above x, independent given x, its rank is 2 + N:

    E[D(lower)] = integral of (w_i p_j + w_j p_i) E[D(2 + N)] dx,    E[D(R_i)] = integral of w_i E[D(1 + N_i)] dx.

At a node the law of N without i and j is the prefix before i, followed by the documents between i and j, met by what
those behind j make of the discounts: with i fixed and j going down the list one more document enters the prefix for
every pair. Nothing is divided or subtracted, so that no digits are lost but in the last line's difference. For n
documents within reach of each other, k ranks and Q nodes (some 20 to 60) the cost is O(Q n^2 k), the memory O(n^2).

The nodes are those of ``quadrature``, eight in a vector, for clusters of documents that can change places.
"""

from __future__ import annotations

import math

import numpy as np

from .compile import kernel, merged, routine
from .expected import MISS, rule_shape, score_gap
from .lambdas import SOFT, lambda_query
from .noise import GAUSSIAN, noise, pair_reach, reach
from .precision import NEGLIGIBLE
from .quadrature import cut_place, fill_bins, fineness, next_nodes, node_step, nodes_wanted, start_nodes, tail_origin
from .simd import LANES, lane_sum, load, splat, store
from .sorting import whole_order
from .workspace import MOST_BINS


@routine
def _fill_laws(law, x, u, low, high, p, q, w):
    """p, q and w of documents low..high at eight thresholds."""
    at = load(x, 0)
    for j in range(low, high):
        above, below, density, _ = noise(law, at - splat(u[j]))
        store(p, LANES * (j - low), above)
        store(q, LANES * (j - low), below)
        store(w, LANES * (j - low), density)


@routine
def _fill_behind(discount, low, width, ranks, m, p, q, behind):
    """Rows j = m..0: E[D(2 + c + N)], N the number of documents j..m above, by c; each with a 0 at its end."""
    size = LANES * (width + 1)
    for c in range(width):
        store(behind, m * size + LANES * c, splat(discount[low + c + 1] if low + c + 1 < ranks else 0.0))
    store(behind, m * size + LANES * width, splat(0.0))
    for j in range(m - 1, -1, -1):
        above, below, at = load(p, LANES * j), load(q, LANES * j), j * size
        for c in range(0, LANES * width, LANES):
            value = below * load(behind, at + size + c) + above * load(behind, at + size + c + LANES)
            store(behind, at + c, value)
        store(behind, at + LANES * width, splat(0.0))


@routine
def _pass_document(row, width, above, below):
    """The law of the count, with one document more."""
    for c in range(LANES * (width - 1), 0, -LANES):
        store(row, c, below * load(row, c) + above * load(row, c - LANES))
    store(row, 0, below * load(row, 0))


@routine
def _pass_and_meet(row, width, above, below, behind, at):
    """The same, and the sum of the law before it x row ``at`` of what follows behind."""
    total, here = splat(0.0), load(row, LANES * (width - 1))
    for c in range(LANES * (width - 1), 0, -LANES):
        before = load(row, c - LANES)
        total = total + here * load(behind, at + c)
        store(row, c, below * here + above * before)
        here = before
    store(row, 0, below * here)
    return total + here * load(behind, at)


@kernel
def _block(law, x, weights, u, gains, low, high, start, n, ranks, discount, room, expected, lower):
    """Add eight nodes' share to E[D(R_i)] and E[D(lower)]; documents before ``low`` are above for certain.

    ``u`` counts from the cluster's first document, which has place ``start`` in the query; ``lower`` lies at b * n + a
    for the places a < b.
    """
    p, q, w, behind, prefix, row = room
    m = high - low
    width = min(ranks - start - low, m)
    _fill_laws(law, x, u, low, high, p, q, w)
    _fill_behind(discount, start + low, width, ranks, m, p, q, behind)
    size = LANES * (width + 1)
    for c in range(0, LANES * width, LANES):
        store(prefix, c, splat(0.0))
    store(prefix, 0, splat(1.0))
    for i in range(m):
        place = start + low + i
        for c in range(0, LANES * width, LANES):
            store(row, c, load(prefix, c))
        own_above = load(p, LANES * i) * load(weights, 0)
        own_density = load(w, LANES * i) * load(weights, 0)
        for j in range(i + 1, m):
            above, below = load(p, LANES * j), load(q, LANES * j)
            if gains[place] == gains[start + low + j]:
                _pass_document(row, width, above, below)
            else:
                met = _pass_and_meet(row, width, above, below, behind, (j + 1) * size)
                share = lane_sum((own_density * above + own_above * load(w, LANES * j)) * met)
                lower[(start + low + j) * n + place] += share
        total = splat(0.0)
        for c in range(width):
            total = total + load(row, LANES * c) * splat(discount[start + low + c])
        own = lane_sum(own_density * total)
        expected[place] += own
        for a in range(start + low):
            lower[place * n + a] += own
        _pass_document(prefix, width, load(p, LANES * i), load(q, LANES * i))


@merged
def _cluster(law, u, gains, start, size, n, ranks, smooth, discount, h, eps, miss_allowed, room, expected, lower):
    """The documents from place ``start`` on, ``size`` of them, that can change places with each other only."""
    centres, rates, counts = np.zeros(MOST_BINS + 1), np.zeros(MOST_BINS + 1), np.zeros(MOST_BINS + 1)
    bins = (centres, rates, counts, np.zeros(MOST_BINS + 1), np.zeros(MOST_BINS + 1))
    x, weights, above, variance = np.zeros(LANES), np.zeros(LANES), np.zeros(LANES), np.zeros(LANES)
    scratch, state = np.zeros(LANES), np.zeros(3)
    left, right = reach(law, eps)
    n_bins = fill_bins(law, u, 0, size, bins)
    origin = 0.0 if law == GAUSSIAN else tail_origin(u, 0, size)
    fine = fineness(law, n, miss_allowed)
    shape = rule_shape(smooth, start, start + size, ranks)
    cut = u[cut_place(size, ranks - start)]
    h = node_step(law, shape, size, h, ranks - start, cut, origin, bins, n_bins, fine, scratch)
    start_nodes(law, shape, size, u[0] + right, origin, state)
    low, high, done = 0, 0, False
    while not done:
        next_nodes(law, shape, size, h, fine, origin, bins, n_bins, state, scratch, x, weights, above, variance)
        filled, done = nodes_wanted(x, above, variance, ranks - start, u[size - 1] - left, math.log(eps), scratch)
        for i in range(filled, LANES):
            x[i], weights[i] = x[filled - 1], 0.0
        while low < size and u[low] > x[0] + left:
            low += 1
        if start + low >= min(start + size, ranks):
            break
        high = max(high, low)
        while high < size and u[high] > x[filled - 1] - right:
            high += 1
        if high > low:
            _block(law, x, weights, u, gains, low, high, start, n, ranks, discount, room, expected, lower)


@kernel
def discount_differences(law, scores, gains, ranks, smooth, discount, sigma, h, tol, apart):
    """E|D(R_i) - D(R_j)| of two documents of different gain by their places a < b in rank order, at b * n + a.

    ``discount`` has at least ``ranks`` entries and must not rise; ranks behind ``ranks`` count 0. ``apart`` comes with
    zeros. Returns E[D(R_i)] by place.
    """
    n = scores.size
    order = whole_order(scores, scores, False)
    u, placed, expected = np.zeros(n + LANES), np.zeros(n), np.zeros(n)
    for j in range(n):
        placed[j] = gains[order[j]]
    share, most = NEGLIGIBLE
    eps = tol * min(share * ranks / n, most)
    gap_allowed, wide = pair_reach(law, eps), LANES * (min(ranks, n) + 2)
    longest, last, first = 1, 1, 0
    while last <= n:
        if last == n or score_gap(scores[order[last - 1]], scores[order[last]], sigma) > gap_allowed:
            longest = max(longest, last - first)
            first = last
        last += 1
    laws = LANES * (longest + 1)
    room = (
        np.zeros(laws), np.zeros(laws), np.zeros(laws),
        np.zeros((longest + 1) * LANES * (min(ranks, longest) + 1)), np.zeros(wide), np.zeros(wide),
    )  # fmt: skip
    first = 0
    while first < min(n, ranks):
        last = first + 1
        u[0] = 0.0
        while last < n and score_gap(scores[order[last - 1]], scores[order[last]], sigma) <= gap_allowed:
            u[last - first] = -score_gap(scores[order[first]], scores[order[last]], sigma)
            last += 1
        size = last - first
        if size == 1:
            expected[first] = discount[first]
            for a in range(first):
                apart[first * n + a] = discount[first]
        else:
            for j in range(size, size + LANES):
                u[j] = u[size - 1]
            _cluster(
                law, u, placed, first, size, n, ranks, smooth, discount, h, eps, MISS * tol, room, expected, apart
            )  # fmt: skip
        first = last
    for b in range(n):
        for a in range(b):
            apart[b * n + a] = max(expected[a] + expected[b] - 2.0 * apart[b * n + a], 0.0)
    return expected


@kernel
def soft_lambda_queries(
    law, scores, gains, offsets, cutoffs, smooth, inverse_ideal, discount, sigma, h, tol, norm, sigmoid, begin, end,
    grad, curvature,
):  # fmt: skip
    """Queries begin..end: LambdaRank's direction and curvature with expected discount differences."""
    for q in range(begin, end):
        low, high = offsets[q], offsets[q + 1]
        n = high - low
        if n < 2:
            continue
        apart = np.zeros(n * n)
        discount_differences(
            law, scores[low:high], gains[low:high], min(cutoffs[q], n), smooth, discount, sigma, h, tol, apart
        )
        lambda_query(
            SOFT, scores[low:high], gains[low:high], inverse_ideal[q], discount, 0.0, apart, n, norm, sigmoid,
            grad[low:high], curvature[low:high],
        )  # fmt: skip
