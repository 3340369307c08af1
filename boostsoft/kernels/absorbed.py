"""A block of eight nodes of a cascade with a cutoff (MRR, ERR, PFound): most documents by their odds, as in ``plain``.

A document above lets 1 - c of the user through, so that its factor is q + p (1 - c) z = q (1 + s z) with s = t (1 - c):
all that is said of odds (``odds``) holds for s in place of t, but for the product of q, which divides the polynomials.
Moving a document up costs 1 - (1 - c) z = (1 - z) + c z of its products: the second part takes two polynomials more.
"""

from __future__ import annotations

from .block import sums_from, sweep
from .compile import kernel, merged, routine
from .families import ABSORBING
from .odds import (
    FAINT_TERMS,
    divide_one_by_one,
    divide_plain,
    fill_odds,
    finish_polynomials,
    first_divisible,
    set_up_polynomials,
)
from .plain import (
    bare_value,
    clear_polynomials,
    cover,
    multiply_documents,
    set_head,
    set_plain_terminal,
    start_polynomials,
    uncertain,
    uncover,
)
from .simd import LANES, load, pointer, splat, store
from .workspace import PAD, ROWS, arrays


@merged
def _let_through(coef, begin, high, T, S):
    """S = t (1 - c) of documents begin..high, in place of their odds."""
    for j in range(begin, high):
        store(S, LANES * j, load(T, LANES * j) * splat(1.0 - coef[j]))


@merged
def _fill_densities(begin, high, T, V, W):
    """Their densities w = v q; returns the product of 1 / q."""
    one = splat(1.0)
    whole = one
    for j in range(begin, high):
        over = one + load(T, LANES * j)
        store(W, LANES * j, load(V, LANES * j) / over)
        whole = whole * over
    return whole


@merged
def _clear_picked_behind(ranks, B0):
    """Behind the last document nothing is picked any more."""
    for c in range(ranks + 2):
        store(B0, LANES * c, splat(0.0))


@merged
def acting_head(family, law, x, weights, low, known, mid, ranks, derive, tail, space):
    """Documents low..mid by rows that begin with the tail's polynomials; leaves in ``back`` what the tail meets."""
    set_head(law, x, low, known, mid, ranks, tail, space)
    here = sums_from(space.sums, low)
    return sweep(
        ROWS, family, LANES, law, pointer(space.documents[1], low), 0.0, weights, mid - low, LANES * ranks, derive,
        space.laws, space.limits, space.rows, space.saved, space.back, here,
    )  # fmt: skip


@routine
def _set_up_passed(A0, A1, B1, B0, ranks, G, H):
    """The coefficients in -s of what a document that moves up takes from those below it, over its c."""
    base = LANES * PAD
    for d in range(ranks):
        g, h = splat(0.0), splat(0.0)
        for c in range(d, ranks):
            a0, up1 = load(A0, base + LANES * (c - d)), load(B1, LANES * (c + 1))
            g = g + load(A1, base + LANES * (c - d)) * up1 + a0 * load(B0, LANES * (c + 1))
            h = h + a0 * up1
        store(G, LANES * d, g)
        store(H, LANES * d, h * splat(d + 1.0))


@kernel
def absorbed_block(
    law, family, filled, first, low, high, ranks, nobody, derive, least, growth, spread, faint_below, discount, f, at,
    i, place,
):  # fmt: skip
    """Value of a block of nodes over documents low..high, all above ``low`` being certain.

    The arguments are those of every block (``blocks``): the last four are the workspace.
    """
    space = arrays(f, at, i, place)
    u, coef, _ = space.documents
    x, weights, back, through = space.nodes.x, space.nodes.weights, space.back, space.certain[0]
    (plain, picked), before, (T, V, factors) = space.odds.lists, space.odds.plain_before, space.odds.laws
    (A0, A1), series, found = space.odds.tail, space.odds.series, space.odds.found
    S, _, W, _ = space.laws  # by document; the head's laws lie before those of the documents that are read
    begin, far = uncertain(law, x, u, low, high, faint_below)
    brief = growth > 0.0  # the odds' shorter laws serve the rows too; without odds, rows have the full ones
    fill_odds(law, x, u, low if brief else begin, high, factors, T, V)
    _let_through(coef, begin, high, T, S)
    mid = first_divisible(S, begin, far, ranks, growth)
    whole = _fill_densities(mid, high, T, V, W)
    plain_begin, plain_far, plain_end = before[mid - first], before[far - first], before[high - first]
    picked_begin, picked_far, picked_end = mid - first - plain_begin, far - first - plain_far, high - first - plain_end
    set_plain_terminal(discount, low, ranks, weights, back)
    _clear_picked_behind(ranks, back[1])
    bounds = (plain_begin, plain_far, picked_begin, picked_far)
    clear_polynomials(ranks, A0, A1)
    picks, scale = start_polynomials(coef, (plain, picked), bounds, (plain_end, picked_end), ranks, S, V, A0)
    multiply_documents(coef, (plain, picked), bounds, nobody, ranks, S, V, A0, A1, scale)
    finish_polynomials(picks, whole * splat(1.0 / through), ranks, A0, A1)
    if mid > low:
        known = low if brief else mid
        value = acting_head(ABSORBING, law, x, weights, low, known, mid, ranks, derive, (A0, A1), space)
    else:
        value = bare_value(A1, back[0], ranks)
    if derive and mid < high:
        E, F, K, G, H = series
        exact = derive == 2
        set_up_polynomials(A0, A1, back[0], back[3], back[4], ranks, mid > low, E, F, K)
        _set_up_passed(A0, A1, back[0], back[1], ranks, G, H)
        terms = ranks
        for _ in range(1 + (high > far)):  # those near, and with few terms those far below
            kept = cover(plain, plain_far, nobody)
            divide_plain(law, x, u, S, V, plain, plain_begin, plain_far, terms, F, exact, found[0], found[1])
            uncover(plain, plain_far, kept)
            divide_one_by_one(
                law, x, u, weights, coef, S, V, W, picked, picked_begin, picked_far, terms, series, found[2], found[3]
            )
            plain_begin, plain_far, picked_begin, picked_far = plain_far, plain_end, picked_far, picked_end
            terms = min(terms, FAINT_TERMS)
    return value
