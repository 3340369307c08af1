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
from .mixture import AT_ONCE, fill_either, scale_terms, terms_left
from .simd import LANES, add_lane_sums, lane_sum, load, pointer, splat, store
from .workspace import MOST_TERMS, SEGMENT, STATES, arrays


@routine
def _load_state(states, k):
    """Products and, behind them, their derivatives."""
    return (
        load(states, k), load(states, k + LANES), load(states, k + 2 * LANES),
        load(states, k + 3 * LANES), load(states, k + 4 * LANES), load(states, k + 5 * LANES),
    )  # fmt: skip


@routine
def _store_state(states, k, state):
    store(states, k, state[0])
    store(states, k + LANES, state[1])
    store(states, k + 2 * LANES, state[2])
    store(states, k + 3 * LANES, state[3])
    store(states, k + 4 * LANES, state[4])
    store(states, k + 5 * LANES, state[5])


@routine
def _load_three(states, k):
    """The products of a term: none picked, one, and one times its c."""
    return load(states, k), load(states, k + LANES), load(states, k + 2 * LANES)


@routine
def _store_three(states, k, a, u, v):
    store(states, k, a)
    store(states, k + LANES, u)
    store(states, k + 2 * LANES, v)


@routine
def _pass_absorbing(a, u, v, f, pick, worth):
    """The products of a cascade with one more document."""
    return a * f, u * f + pick, v * f + pick * worth


@merged
def _forward_alone(coef, low, high, laws, at, states, begin, end):
    """The products of the constant, z = 1, over documents low..high, on top of those at ``begin``."""
    P, Q, W, _ = laws
    a, u, v = _load_three(states, begin)
    for j in range(low, high):
        i, worth = LANES * (j - at), splat(coef[j])
        f = load(Q, i) + load(P, i) * (splat(1.0) - worth)
        a, u, v = _pass_absorbing(a, u, v, f, load(W, i) * a, worth)
    _store_three(states, end, a, u, v)


@merged
def _forward_absorbing(coef, low, high, za, zb, laws, at, states, begin, end, before, keep):
    """The products of two terms side by side; what stands before each document may be kept."""
    P, Q, W, _ = laws
    a, u, v = _load_three(states, begin)
    d, e, g = _load_three(states, begin + STATES * LANES)
    for j in range(low, high):
        i, worth = LANES * (j - at), splat(coef[j])
        p, q, w = load(P, i) * (splat(1.0) - worth), load(Q, i), load(W, i)
        if keep:
            _store_state(before, STATES * LANES * (j - low), (a, u, v, d, e, g))
        a, u, v = _pass_absorbing(a, u, v, q + p * za, w * a, worth)
        d, e, g = _pass_absorbing(d, e, g, q + p * zb, w * d, worth)
    _store_three(states, end, a, u, v)
    _store_three(states, end + STATES * LANES, d, e, g)


@merged
def _backward_absorbing(coef, low, high, za, zb, laws, at, states, here, before, T, G):
    """Back over the documents: adds to each what it wins from, and loses to, the others."""
    P, Q, W, _ = laws
    a, u, v = _load_three(states, here)
    d, e, g = _load_three(states, here + STATES * LANES)
    for j in range(high - 1, low - 1, -1):
        i, k, c = LANES * (j - at), LANES * j, coef[j]
        a0, u0, v0, d0, e0, g0 = _load_state(before, STATES * LANES * (j - low))
        store(G, k, load(G, k) + (v0 * a + a0 * v) + (g0 * d + d0 * g))
        if c != 0.0:
            store(T, k, load(T, k) + (u0 * a + a0 * u) + (e0 * d + d0 * e))
        worth = splat(c)
        p, q, w = load(P, i) * (splat(1.0) - worth), load(Q, i), load(W, i)
        a, u, v = _pass_absorbing(a, u, v, q + p * za, w * a, worth)
        d, e, g = _pass_absorbing(d, e, g, q + p * zb, w * d, worth)
    _store_three(states, here, a, u, v)
    _store_three(states, here + STATES * LANES, d, e, g)


@routine
def _pass_marked(state, c, f, above, w):
    """The products of average precision with one more document."""
    a, u, v, da, du, dv = state
    pick, mark_pick = w * a, w * da
    more = (a * f, u * f + pick, v * f, da * f, du * f + mark_pick, dv * f)
    if c == 0.0:
        return more
    worth = splat(c)
    mark = above * worth
    return (
        more[0], more[1], more[2] + pick * worth,
        more[3] + a * mark, more[4] + u * mark, more[5] + v * mark + mark_pick * worth,
    )  # fmt: skip


@merged
def _forward_marked(coef, low, high, z, laws, at, states, begin, end, before, keep):
    """The same of average precision."""
    P, Q, W, _ = laws
    state = _load_state(states, begin)
    for j in range(low, high):
        i = LANES * (j - at)
        above = load(P, i) * splat(z)
        if keep:
            _store_state(before, STATES * LANES * (j - low), state)
        state = _pass_marked(state, coef[j], load(Q, i) + above, above, load(W, i))
    _store_state(states, end, state)


@merged
def _backward_marked(coef, low, high, z, laws, at, states, here, before, T, G):
    """The way back of average precision."""
    P, Q, W, _ = laws
    state = _load_state(states, here)
    for j in range(high - 1, low - 1, -1):
        i, k, c = LANES * (j - at), STATES * LANES * (j - low), coef[j]
        a, u, v, da, du, dv = state
        a0, v0 = load(before, k), load(before, k + 2 * LANES)
        da0, dv0 = load(before, k + 3 * LANES), load(before, k + 5 * LANES)
        store(G, LANES * j, load(G, LANES * j) + v0 * da + dv0 * a + a0 * dv + da0 * v)
        if c != 0.0:
            u0, du0 = load(before, k + LANES), load(before, k + 4 * LANES)
            store(T, LANES * j, load(T, LANES * j) + u0 * da + du0 * a + a0 * du + da0 * u)
        above = load(P, i) * splat(z)
        state = _pass_marked(state, c, load(Q, i) + above, above, load(W, i))
    _store_state(states, here, state)


@merged
def _start_states(n_terms, scales, fall, node, through, marks, n_segments, states):
    """No document passed: forward in the first place, backward in the last, where they have their weights."""
    nothing = splat(0.0)
    for c in range(n_terms + 1):
        ahead, back = STATES * LANES * c, STATES * LANES * ((n_segments + 1) * (MOST_TERMS + 1) + c)
        for i in range(0, STATES * LANES, LANES):
            store(states, ahead + i, nothing)
            store(states, back + i, nothing)
        store(states, ahead, splat(1.0))
        store(states, ahead + 3 * LANES, splat(1.0 + marks))
        if c > 0:
            store(states, back, node * splat(through * scales[c - 1] * fall[c - 1]))


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
    u, coef, _ = space.documents
    x, weights, laws, above = space.nodes.x, space.nodes.weights, space.laws, space.certain
    (T, G, factors), (_, _, found, second) = space.odds.laws, space.odds.found
    tables, before, states = space.odds.terms
    terms = pointer(tables, np.int64(tables[0]))
    fill_either(law, growth, x, u, low, high, factors, T, G, laws)
    fall, scales = pointer(terms, 2 + MOST_TERMS), scale_terms(terms, low)
    n_terms = terms_left(np.int64(terms[0]), scales)
    node, through, nothing = load(weights, 0), above[0], splat(0.0)
    n_segments, term, stride = (high - low + SEGMENT - 1) // SEGMENT, STATES * LANES, STATES * LANES * (MOST_TERMS + 1)
    last = stride * (n_segments + 1)
    _start_states(n_terms, scales, fall, node, through, above[1], n_segments, states)
    if derive:
        for j in range(LANES * low, LANES * high, LANES):
            store(T, j, nothing)
            store(G, j, nothing)
    s, turn = 0, 1
    while s >= 0:  # up to the last segment and, for the derivatives, down again
        begin, end = low + SEGMENT * s, min(low + SEGMENT * (s + 1), high)
        if s == n_segments - 1:
            turn = -1
        down = derive and turn < 0
        if family == MARKED:
            for c in range(n_terms + 1):  # the first is the constant, whose value does not fall
                z, here, back = terms[1 + c] if c > 0 else 1.0, stride * s + term * c, last + term * c
                _forward_marked(coef, begin, end, z, laws, low, states, here, here + stride, before, down)
                if down and c > 0:
                    _backward_marked(coef, begin, end, z, laws, low, states, back, before, T, G)
        else:
            _forward_alone(coef, begin, end, laws, low, states, stride * s, stride * s + stride)
            for c in range(1, n_terms, AT_ONCE):
                za, zb, here, back = splat(terms[1 + c]), splat(terms[2 + c]), stride * s + term * c, last + term * c
                _forward_absorbing(coef, begin, end, za, zb, laws, low, states, here, here + stride, before, down)
                if down:
                    _backward_absorbing(coef, begin, end, za, zb, laws, low, states, back, before, T, G)
        if turn < 0 and not derive:
            break
        s += turn
    total = nothing
    for c in range(n_terms + 1):
        k = stride * n_segments + term * c + (5 * LANES if family == MARKED else 2 * LANES)
        total = total + load(states, k) * node * splat(through * (scales[c - 1] if c > 0 else terms[1]))
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
        above[2] = above[0] * _let_through(coef, low, high - low, laws)
    return lane_sum(total)
