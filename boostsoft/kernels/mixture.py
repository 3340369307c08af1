"""Whole lists of a plain metric whose discount is a sum of exponentials: no ranks are needed.

Where D(1 + c) = sum_m mu_m z_m^c, the expectation of a discount over the count of documents above is a sum of products,

    E[D(1 + c)] = sum_m mu_m prod_j (q_j + p_j z_m),

one number per term and node where the recursion (``recursion``) carries a row of ranks. Forward, A0 and A1 are the
products over the documents so far with none and with one picked; backward, B0 and B1 over those behind. Moving a
document up costs 1 - z_m of its products. Nothing is subtracted, but that a few of the weights mu may be below 0.
``metrics.exponentials`` finds the terms; z = 1, a constant, is ``mu_0`` and costs nothing.
"""

from __future__ import annotations

import numpy as np

from .block import fill_laws
from .compile import kernel, merged, routine
from .noise import second_ratio, short_exponential
from .odds import fill_odds, laws_from_odds
from .simd import LANES, add_lane_sums, lane_sum, load, pointer, splat, store
from .workspace import MOST_TERMS, TERM_TABLE, arrays

_AT_ONCE = 2  # terms whose products run side by side: each waits for its last document


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


@merged
def _forward_mixed(coef, low, m, za, zb, laws, before, derive):
    """Products of two terms over documents low..low+m; what stands before each document is kept."""
    P, Q, W, _ = laws
    a0, a1, b0, b1 = splat(1.0), splat(0.0), splat(1.0), splat(0.0)
    for j in range(m):
        i = LANES * j
        p, q, cw = load(P, i), load(Q, i), load(W, i) * splat(coef[low + j])
        if derive:
            store(before, 4 * i, a0)
            store(before, 4 * i + LANES, a1)
            store(before, 4 * i + 2 * LANES, b0)
            store(before, 4 * i + 3 * LANES, b1)
        fa, fb = q + p * za, q + p * zb
        a1, b1 = a1 * fa + cw * a0, b1 * fb + cw * b0
        a0, b0 = a0 * fa, b0 * fb
    return a1, b1


@merged
def _backward_mixed(coef, low, m, za, zb, fall_a, fall_b, xa, xb, laws, before, loss, gamma):
    """Back over the documents: adds what moving each one up costs, and what picking it is worth."""
    P, Q, W, _ = laws
    a0, a1, b0, b1 = xa, splat(0.0), xb, splat(0.0)
    for j in range(m - 1, -1, -1):
        i, at = LANES * j, LANES * (low + j)
        p, q, cw = load(P, i), load(Q, i), load(W, i) * splat(coef[low + j])
        c0, c1 = load(before, 4 * i), load(before, 4 * i + LANES)
        d0, d1 = load(before, 4 * i + 2 * LANES), load(before, 4 * i + 3 * LANES)
        store(loss, at, load(loss, at) + fall_a * (c1 * a0 + c0 * a1) + fall_b * (d1 * b0 + d0 * b1))
        store(gamma, at, load(gamma, at) + c0 * a0 + d0 * b0)
        fa, fb = q + p * za, q + p * zb
        a1, b1 = a1 * fa + cw * a0, b1 * fb + cw * b0
        a0, b0 = a0 * fa, b0 * fb


@kernel
def mixed_block(
    law, family, filled, first, low, high, ranks, nobody, derive, least, growth, spread, faint_below, discount, f, at,
    i, place,
):  # fmt: skip
    """Value of a block of nodes over documents low..high, all above ``low`` being certain.

    The arguments are those of every block (``blocks``): the last four are the workspace.
    """
    space = arrays(f, at, i, place)
    _, _, _, laws, _, documents, _, _, nodes, by_odds, _, _ = space
    u, coef, _ = documents
    x, weights, _, _, _, _, _ = nodes
    _, _, (T, V, factors), _, _, (_, _, found, second), _, (tables, before) = by_odds
    terms = pointer(tables, np.int64(tables[0]))
    if growth > 0.0:
        fill_odds(law, x, u, low, high, factors, T, V)
        laws_from_odds(law, x, u, low, low, high, T, V, laws)
    else:
        fill_laws(law, LANES, x, u, low, high, laws)
    n_terms, constant, m = np.int64(terms[0]), load(weights, 0) * splat(terms[1]), high - low
    z, fall = pointer(terms, 2), pointer(terms, 2 + MOST_TERMS)
    scales = scale_terms(terms, low)
    node, total, nothing = load(weights, 0), splat(0.0), splat(0.0)
    if derive:
        for j in range(LANES * low, LANES * high, LANES):
            store(T, j, nothing)
            store(V, j, constant)
    for c in range(0, n_terms, _AT_ONCE):
        za, zb, xa, xb = splat(z[c]), splat(z[c + 1]), node * splat(scales[c]), node * splat(scales[c + 1])
        a1, b1 = _forward_mixed(coef, low, m, za, zb, laws, before, derive)
        total = total + a1 * xa + b1 * xb
        if derive:
            _backward_mixed(coef, low, m, za, zb, splat(fall[c]), splat(fall[c + 1]), xa, xb, laws, before, T, V)
    W, R = laws[2], laws[3]
    for j in range(low, high):
        w = load(W, LANES * (j - low))
        c = splat(coef[j])
        total = total + constant * w * c
        if derive:
            r, k = load(R, LANES * (j - low)), 4 * (j - first)
            loss, pull, rule = w * load(T, LANES * j), w * load(V, LANES * j), w * node
            add_lane_sums(found, k, c * pull * r - loss, loss + splat(least) * pull * r, rule * r, nothing)
            if derive == 2:
                r2 = second_ratio(law, w, r)
                add_lane_sums(second, k, c * pull * r2 - loss * r, rule * r2, nothing, nothing)
    return lane_sum(total)


@routine
def choose_terms(n, space):
    """Say which exponentials serve a list of n documents: those of the next power of two."""
    tables, power = space[9][7][0], 0
    while (1 << power) < n:
        power += 1
    tables[0] = 1.0 + TERM_TABLE * power


@routine
def start_mixed(n, space):
    """Clear what blocks add to a cluster's documents."""
    found, second = space[9][5][2], space[9][5][3]
    for k in range(4 * n):
        found[k], second[k] = 0.0, 0.0


@routine
def collect_mixed(first, last, space):
    """Add what blocks have gathered to the documents' sums."""
    found, second = space[9][5][2], space[9][5][3]
    gradient, push, hessian, _, drift, curl, _ = space[6]
    for j in range(first, last):
        k = 4 * (j - first)
        gradient[j] += found[k]
        push[j] += found[k + 1]
        drift[j] += found[k + 2]
        hessian[j] += second[k]
        curl[j] += second[k + 1]
