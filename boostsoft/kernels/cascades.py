"""Whole lists of cascades (MRR, ERR, PFound) and of average precision, the discount a sum of exponentials.

As in ``mixture``, E[D] is a sum over terms mu z^count of products over documents. A cascade lets a document above let
through but 1 - c of the user, so that its factor is F_j = q_j + p_j z (1 - c_j). The gradient, once integrated by
parts, has the same form as a plain metric's: with f = 1 - z,

    gradient_m = sum over terms of mu f  integral of  w_m sum_j (c_m - c_j) w_j prod F_i,  i neither m nor j,

since what documents let through cancels within a pair. In average precision every relevant document above counts one
more: products carry their derivative by e with F_j = q_j + p_j z exp(e c_j), at e = 0, beside them (a dual number).
Every product is a sum of positive numbers, and ``A`` has no document picked, ``U`` one, and ``V`` one times its c.
"""

from __future__ import annotations

import numpy as np

from .compile import kernel, merged, routine
from .families import MARKED
from .mixture import scale_terms
from .odds import fill_odds, laws_from_odds
from .simd import LANES, add_lane_sums, lane_sum, load, pointer, splat, store
from .workspace import MOST_TERMS, arrays

STATES = 6  # vectors that are kept before each document


@merged
def _forward_absorbing(coef, low, m, z, laws, before, derive):
    """The products over documents low..low+m with one picked; what stands before each document is kept."""
    P, Q, W, _ = laws
    a, u, v = splat(1.0), splat(0.0), splat(0.0)
    for j in range(m):
        i, c = LANES * j, coef[low + j]
        f, w = load(Q, i) + load(P, i) * splat(z * (1.0 - c)), load(W, i)
        if derive:
            store(before, STATES * i, a)
            store(before, STATES * i + LANES, u)
            store(before, STATES * i + 2 * LANES, v)
        pick, v = w * a, v * f
        u, a = u * f + pick, a * f
        if c != 0.0:
            v = v + pick * splat(c)
    return v


@merged
def _backward_absorbing(coef, low, m, z, fall, x, laws, before, T, G):
    """Back over the documents: adds to each what it wins from, and loses to, the others."""
    P, Q, W, _ = laws
    a, u, v = x * splat(fall), splat(0.0), splat(0.0)
    for j in range(m - 1, -1, -1):
        i, at, c = LANES * j, LANES * (low + j), coef[low + j]
        a0, u0, v0 = load(before, STATES * i), load(before, STATES * i + LANES), load(before, STATES * i + 2 * LANES)
        store(G, at, load(G, at) + v0 * a + a0 * v)
        f = load(Q, i) + load(P, i) * splat(z * (1.0 - c))
        pick, v = load(W, i) * a, v * f
        if c != 0.0:
            store(T, at, load(T, at) + u0 * a + a0 * u)
            v = v + pick * splat(c)
        u, a = u * f + pick, a * f


@routine
def _pass_marked(u, v, a, du, dv, da, c, f, above, w):
    """The products of average precision with one more document."""
    pick, mark_pick = w * a, w * da
    more = (u * f + pick, v * f, a * f, du * f + mark_pick, dv * f, da * f)
    if c == 0.0:
        return more
    worth = splat(c)
    mark = above * worth
    return (
        more[0], more[1] + pick * worth, more[2],
        more[3] + u * mark, more[4] + v * mark + mark_pick * worth, more[5] + a * mark,
    )  # fmt: skip


@merged
def _forward_marked(coef, low, m, z, marks, laws, before, derive):
    """The same of average precision; the second of each pair is the derivative, from 1 + ``marks`` above on."""
    P, Q, W, _ = laws
    zero = splat(0.0)
    a, u, v, da, du, dv = splat(1.0), zero, zero, splat(1.0 + marks), zero, zero
    for j in range(m):
        i, c = LANES * j, coef[low + j]
        above, w = load(P, i) * splat(z), load(W, i)
        f = load(Q, i) + above
        if derive:
            at = STATES * i
            store(before, at, a)
            store(before, at + LANES, u)
            store(before, at + 2 * LANES, v)
            store(before, at + 3 * LANES, da)
            store(before, at + 4 * LANES, du)
            store(before, at + 5 * LANES, dv)
        u, v, a, du, dv, da = _pass_marked(u, v, a, du, dv, da, c, f, above, w)
    return dv


@merged
def _backward_marked(coef, low, m, z, fall, x, laws, before, T, G):
    """The way back of average precision."""
    P, Q, W, _ = laws
    zero = splat(0.0)
    a, u, v, da, du, dv = x * splat(fall), zero, zero, zero, zero, zero
    for j in range(m - 1, -1, -1):
        i, at, c = LANES * j, LANES * (low + j), coef[low + j]
        k = STATES * i
        a0, v0 = load(before, k), load(before, k + 2 * LANES)
        da0, dv0 = load(before, k + 3 * LANES), load(before, k + 5 * LANES)
        store(G, at, load(G, at) + v0 * da + dv0 * a + a0 * dv + da0 * v)
        if c != 0.0:
            u0, du0 = load(before, k + LANES), load(before, k + 4 * LANES)
            store(T, at, load(T, at) + u0 * da + du0 * a + a0 * du + da0 * u)
        above, w = load(P, i) * splat(z), load(W, i)
        u, v, a, du, dv, da = _pass_marked(u, v, a, du, dv, da, c, load(Q, i) + above, above, w)


@merged
def _let_through(coef, low, m, laws):
    """The most that documents low..low+m let through to what is below them, over the nodes."""
    P, Q, _, _ = laws
    product = splat(1.0)
    for j in range(m):
        product = product * (load(Q, LANES * j) + load(P, LANES * j) * splat(1.0 - coef[low + j]))
    return lane_sum(product)


@kernel
def cascade_block(
    law, family, filled, first, low, high, ranks, nobody, derive, least, growth, spread, faint_below, discount, f, at,
    i, place,
):  # fmt: skip
    """Value of a block of nodes over documents low..high, all above ``low`` being certain.

    The arguments are those of every block (``blocks``): the last four are the workspace.
    """
    space = arrays(f, at, i, place)
    _, _, _, laws, _, documents, _, _, nodes, by_odds, _, above = space
    u, coef, _ = documents
    x, weights, _, _, _, _, _ = nodes
    _, _, (T, G, factors), _, _, (_, _, found, second), _, (tables, before) = by_odds
    terms = pointer(tables, np.int64(tables[0]))
    fill_odds(law, x, u, low, high, factors, T, G)
    laws_from_odds(law, x, u, low, low, high, T, G, laws)
    n_terms, m = np.int64(terms[0]), high - low
    z, fall, scales = pointer(terms, 2), pointer(terms, 2 + MOST_TERMS), scale_terms(terms, low)
    through, marks = load(weights, 0) * splat(above[0]), above[1]
    total, nothing = splat(0.0), splat(0.0)
    if derive:
        for j in range(LANES * low, LANES * high, LANES):
            store(T, j, nothing)
            store(G, j, nothing)
    for c in range(-1, n_terms):  # the first is the constant, whose value does not fall
        rate, drop, worth = (z[c], fall[c], scales[c]) if c >= 0 else (1.0, 0.0, terms[1])
        if worth == 0.0:
            continue
        more, end = derive and c >= 0, through * splat(worth)
        if family == MARKED:
            total = total + end * _forward_marked(coef, low, m, rate, marks, laws, before, more)
            if more:
                _backward_marked(coef, low, m, rate, drop, end, laws, before, T, G)
        else:
            total = total + end * _forward_absorbing(coef, low, m, rate, laws, before, more)
            if more:
                _backward_absorbing(coef, low, m, rate, drop, end, laws, before, T, G)
    if derive:
        W, R = laws[2], laws[3]
        for j in range(low, high):
            w, r, k = load(W, LANES * (j - low)), load(R, LANES * (j - low)), 4 * (j - first)
            loss = w * load(G, LANES * j)
            slope = splat(coef[j]) * w * load(T, LANES * j) - loss
            add_lane_sums(found, k, slope, loss, nothing, nothing)
            if derive == 2:
                add_lane_sums(second, k, slope * r, nothing, nothing, nothing)
    if family != MARKED:
        above[2] = above[0] * _let_through(coef, low, m, laws)
    return lane_sum(total)
