"""Whole lists of a plain metric whose discount is a sum of exponentials: no ranks are needed.

Where D(1 + c) = sum_m mu_m z_m^c, the expectation of a discount over the count of documents above is a sum of products,

    E[D(1 + c)] = sum_m mu_m prod_j (q_j + p_j z_m),

one number per term and node where the recursion (``recursion``) carries a row of ranks. Forward, A0 and A1 are the
products over the documents so far with none and with one picked; backward, B0 and B1 over those behind. Moving a
document up costs 1 - z_m of its products. Nothing is subtracted, but that a few of the weights mu may be below 0.
``metrics.exponentials`` finds the terms; z = 1, a constant, is ``mu_0`` and costs nothing.

What stands before each document is kept for ``SEGMENT`` documents, within a core's own cache; of longer lists, between
segments only, and made a second time on the way back. Terms that die away fast are left out behind the documents that
are above for certain.
"""

from __future__ import annotations

import numpy as np

from .block import fill_laws
from .compile import kernel, merged, routine
from .noise import GUMBEL, second_ratio, short_exponential
from .odds import fill_odds, first_below, laws_from_odds
from .simd import LANES, add_lane_sums, lane_sum, load, pointer, splat, store
from .term_moments import divide_far, far_product, fill_far_products, nothing_far, set_up_far, settle_mixed
from .workspace import MOST_TERMS, SEGMENT, STATES, TERM_TABLE, arrays

AT_ONCE = 2  # terms whose products run side by side: each waits for its last document
_FEWEST_FAR = 6  # fewer documents far below are not worth their power series
_SPENT = 1e-18  # of the largest term, where a term has died away


@merged
def scale_terms(terms, low):
    """The weights of the terms where ``low`` documents are above for certain."""
    weights, rates, scales = (
        pointer(terms, 2 + 2 * MOST_TERMS),
        pointer(terms, 2 + 3 * MOST_TERMS),
        pointer(terms, 2 + 4 * MOST_TERMS),
    )
    for c in range(0, MOST_TERMS, LANES):
        store(scales, c, load(weights, c) * short_exponential(load(rates, c) * splat(-1.0 * low)))
    return scales


@routine
def terms_left(n_terms, scales):
    """How many terms, in the order of their rates, still count where all documents before them are above."""
    largest = 0.0
    for c in range(n_terms):
        largest = max(largest, abs(scales[c]))
    while n_terms > AT_ONCE and abs(scales[n_terms - 1]) + abs(scales[n_terms - 2]) < _SPENT * largest:
        n_terms -= AT_ONCE
    return n_terms


@merged
def fill_either(law, growth, x, u, low, high, factors, T, V, laws):
    """P, q, w, r of documents low..high at eight nodes: by their odds where these have digits enough."""
    if growth > 0.0:
        fill_odds(law, x, u, low, high, factors, T, V)
        laws_from_odds(law, x, u, low, low, high, T, V, laws)
    else:
        fill_laws(law, LANES, x, u, low, high, laws)


@routine
def first_far(law, x, u, low, high, faint_below):
    """The first document that is far below all eight nodes, where those go by their moments and are enough to pay."""
    far = first_below(u, low, high, x[LANES - 1] - faint_below) if law == GUMBEL else high
    return far if high - far >= _FEWEST_FAR else high


@routine
def _load_four(states, k):
    """Two products of each of two terms."""
    return load(states, k), load(states, k + LANES), load(states, k + 2 * LANES), load(states, k + 3 * LANES)


@routine
def _store_four(states, k, a0, a1, b0, b1):
    store(states, k, a0)
    store(states, k + LANES, a1)
    store(states, k + 2 * LANES, b0)
    store(states, k + 3 * LANES, b1)


@merged
def _forward_mixed(coef, low, high, za, zb, laws, at, states, begin, end, before, keep):
    """Products of two terms over documents low..high, on top of those at ``begin``; what stands before may be kept."""
    P, Q, W, _ = laws
    a0, a1, b0, b1 = _load_four(states, begin)
    for j in range(low, high):
        i = LANES * (j - at)
        p, q, cw = load(P, i), load(Q, i), load(W, i) * splat(coef[j])
        if keep:
            _store_four(before, STATES * LANES * (j - low), a0, a1, b0, b1)
        fa, fb = q + p * za, q + p * zb
        a1, b1 = a1 * fa + cw * a0, b1 * fb + cw * b0
        a0, b0 = a0 * fa, b0 * fb
    _store_four(states, end, a0, a1, b0, b1)


@merged
def _backward_mixed(coef, low, high, za, zb, fall_a, fall_b, laws, at, states, here, before, loss, gamma):
    """Back over the documents: adds what moving each one up costs, and what picking it is worth."""
    P, Q, W, _ = laws
    a0, a1, b0, b1 = _load_four(states, here)
    for j in range(high - 1, low - 1, -1):
        i, k = LANES * (j - at), LANES * j
        p, q, cw = load(P, i), load(Q, i), load(W, i) * splat(coef[j])
        c0, c1, d0, d1 = _load_four(before, STATES * LANES * (j - low))
        store(loss, k, load(loss, k) + fall_a * (c1 * a0 + c0 * a1) + fall_b * (d1 * b0 + d0 * b1))
        store(gamma, k, load(gamma, k) + c0 * a0 + d0 * b0)
        fa, fb = q + p * za, q + p * zb
        a1, b1 = a1 * fa + cw * a0, b1 * fb + cw * b0
        a0, b0 = a0 * fa, b0 * fb
    _store_four(states, here, a0, a1, b0, b1)


@merged
def _settle_near(law, coef, first, low, far, least, constant, node, discount, laws, loss, gamma, derive, found, second):
    """Add to documents low..far what moving them up and picking them is worth; returns what D's constant part is.

    And how far a pick is from the discount at the document's own rank, for ``remove_drift``. Far documents leave that
    out: little of their density is there.
    """
    W, R = laws[2], laws[3]
    total, nothing = splat(0.0), splat(0.0)
    for j in range(low, far):
        w, c = load(W, LANES * (j - low)), splat(coef[j])
        total = total + constant * w * c
        if derive:
            r, k = load(R, LANES * (j - low)), 4 * (j - first)
            lost, pull, rule = w * load(loss, LANES * j), w * load(gamma, LANES * j), w * node
            beyond = pull - splat(discount[j]) * rule
            add_lane_sums(found, k, c * pull * r - lost, lost + splat(least) * pull * r, rule * r, beyond)
            if derive == 2:
                r2 = second_ratio(law, w, r)
                add_lane_sums(second, k, c * pull * r2 - lost * r, rule * r2, nothing, nothing)
    return total


@kernel
def mixed_block(
    law, family, filled, first, low, high, ranks, nobody, derive, least, growth, spread, faint_below, discount, f, at,
    i, place,
):  # fmt: skip
    """Value of a block of nodes over documents low..high, all above ``low`` being certain.

    The arguments are those of every block (``blocks``): the last four are the workspace.
    """
    space = arrays(f, at, i, place)
    u, coef, _ = space.documents
    x, weights, laws = space.nodes.x, space.nodes.weights, space.laws
    (T, V, factors), (_, _, found, second) = space.odds.laws, space.odds.found
    (tables, before, states), moments, by_term = space.odds.terms, space.odds.moments, space.odds.by_term
    terms = pointer(tables, np.int64(tables[0]))
    far = first_far(law, x, u, low, high, faint_below)
    fill_either(law, growth, x, u, low, far, factors, T, V, laws)
    constant, scales = load(weights, 0) * splat(terms[1]), scale_terms(terms, low)
    n_terms, z, fall = terms_left(np.int64(terms[0]), scales), pointer(terms, 2), pointer(terms, 2 + MOST_TERMS)
    node, total, nothing, one = load(weights, 0), splat(0.0), splat(0.0), splat(1.0)
    n_segments, stride = max((far - low + SEGMENT - 1) // SEGMENT, 1), STATES * LANES * (MOST_TERMS + 1)
    back, term, series = stride * (n_segments + 1), STATES * LANES, pointer(terms, 2 + 5 * MOST_TERMS)
    nothing_far(n_terms, by_term)
    if far < high:
        total = constant * fill_far_products(x, u, far, n_terms, series, moments, by_term)
    for c in range(0, n_terms, AT_ONCE):
        a, b = node * splat(scales[c]), node * splat(scales[c + 1])
        (a0, a1), (b0, b1) = far_product(by_term, c), far_product(by_term, c + 1)
        _store_four(states, term * c, one, nothing, one, nothing)
        _store_four(states, back + term * c, a * a0, a * a1, b * b0, b * b1)
    if derive:
        for j in range(LANES * low, LANES * far, LANES):
            store(T, j, nothing)
            store(V, j, constant)
    s, turn = 0, 1
    while s >= 0:  # up to the last segment and, for the derivatives, down again
        begin, end = low + SEGMENT * s, min(low + SEGMENT * (s + 1), far)
        if s == n_segments - 1:
            turn = -1
        down = derive and turn < 0
        for c in range(0, n_terms, AT_ONCE):
            za, zb, here = splat(z[c]), splat(z[c + 1]), stride * s + term * c
            _forward_mixed(coef, begin, end, za, zb, laws, low, states, here, here + stride, before, down)
            if down:
                _backward_mixed(
                    coef, begin, end, za, zb, splat(fall[c]), splat(fall[c + 1]), laws, low, states, back + term * c,
                    before, T, V,
                )  # fmt: skip
        if turn < 0 and not derive:
            break
        s += turn
    for c in range(n_terms):
        k, weight = (
            stride * n_segments + term * (c - c % AT_ONCE) + 2 * LANES * (c % AT_ONCE),
            node * splat(scales[c]),
        )
        none, picked = load(states, k), load(states, k + LANES)
        far_none, far_one = far_product(by_term, c)
        total = total + weight * (picked * far_none + none * far_one)
        if derive and far < high:
            set_up_far(by_term, c, none, picked, weight, splat(fall[c]))
    if derive and far < high:
        settle_mixed(first, far, coef, least, found, second, derive == 2, moments)
        divide_far(weights, constant, n_terms, series, derive == 2, moments, by_term)
    return lane_sum(
        total
        + _settle_near(law, coef, first, low, far, least, constant, node, discount, laws, T, V, derive, found, second)
    )


@routine
def choose_terms(n, space):
    """Say which exponentials serve a list of n documents: those of the next power of two."""
    (tables, _, _), power = space.odds.terms, 0
    while (1 << power) < n:
        power += 1
    tables[0] = 1.0 + TERM_TABLE * power


@routine
def start_mixed(n, space):
    """Clear what blocks add to a cluster's documents."""
    _, _, found, second = space.odds.found
    for k in range(4 * n):
        found[k], second[k] = 0.0, 0.0


@routine
def collect_mixed(first, last, space):
    """Add what blocks have gathered to the documents' sums."""
    _, _, found, second = space.odds.found
    gradient, push, hessian, _, drift, curl, level = space.sums
    for j in range(first, last):
        k = 4 * (j - first)
        gradient[j] += found[k]
        push[j] += found[k + 1]
        drift[j] += found[k + 2]
        level[j] += found[k + 3]
        hessian[j] += second[k]
        curl[j] += second[k + 1]
