"""A block of eight nodes of average precision with a cutoff: most documents by their odds, as in ``plain``.

A document at rank r is worth D(r) (1 + the relevant ones above it). How many of the c documents above are relevant is
the power of z of the relevant documents' own product R: marking one of them multiplies its coefficients by that
power, so that four polynomials (no document picked, one picked; the same with one above marked) are those of the
plain metric, with the relevant documents multiplied apart from the others and then once with and once without it.

Where a relevant document is divided out, 1 / (1 + t z) takes its mark along: the coefficient (-t)^d counts d marks.
"""

from __future__ import annotations

from .absorbed import acting_head
from .block import set_terminal
from .compile import kernel, merged, routine
from .families import MARKED
from .odds import (
    FAINT_TERMS,
    divide_one_by_one,
    divide_plain,
    fill_odds,
    finish_polynomials,
    first_divisible,
    multiply_picked,
    multiply_plain,
    start_with_faint,
    sum_faint,
)
from .plain import bare_value, cover, uncertain, uncover
from .simd import LANES, load, splat, store
from .workspace import PAD, arrays


@merged
def _multiply_apart(coef, lists, bounds, ends, nobody, ranks, T, V, A, R0, R1):
    """The polynomials of documents without gain, A, and of relevant ones, none or one of them picked, R0 and R1.

    Of the listed ones between the bounds, and of the faint ones from there to the ends. The latter are finished:
    returned is what A is to be divided by.
    """
    plain, picked = lists
    plain_begin, plain_end, picked_begin, picked_end = bounds
    nothing = splat(0.0)
    for i in range(0, LANES * PAD, LANES):
        store(A, i, nothing)
        store(R0, i, nothing)
    for i in range(0, LANES * (PAD + ranks), LANES):
        store(R1, i, nothing)
    powers, _ = sum_faint(T, V, coef, plain, picked, (plain_end, ends[0], picked_end, picked_end))
    scale = start_with_faint(powers, ranks, A)
    powers, picks = sum_faint(T, V, coef, plain, picked, (plain_end, plain_end, picked_end, ends[1]))
    relevant_scale = start_with_faint(powers, ranks, R0)
    kept_plain, kept_picked = cover(plain, plain_end, nobody), cover(picked, picked_end, nobody)
    scale = multiply_plain(T, plain, plain_begin, plain_end, ranks, A, scale)
    relevant_scale = multiply_picked(T, V, coef, picked, picked_begin, picked_end, ranks, R0, R1, relevant_scale)
    uncover(plain, plain_end, kept_plain)
    uncover(picked, picked_end, kept_picked)
    finish_polynomials(picks, relevant_scale, ranks, R0, R1)
    return scale


@routine
def _join(A, share, marks, ranks, A0, A1, M0, M1):
    """Multiply both of the relevant documents' polynomials by the others', with and without their marks, in place."""
    first, last = LANES * PAD, LANES * (PAD + ranks - 1)
    for c in range(last, first - LANES, -LANES):
        a0, a1, m0, m1, mark = splat(0.0), splat(0.0), splat(0.0), splat(0.0), splat(marks)
        for b in range(first, c + LANES, LANES):
            a = load(A, first + c - b)
            none, one = load(A0, b) * a, load(A1, b) * a
            a0, a1, m0, m1 = a0 + none, a1 + one, m0 + mark * none, m1 + mark * one
            mark = mark + splat(1.0)
        store(A0, c, a0 * share)
        store(A1, c, a1 * share)
        store(M0, c, m0 * share)
        store(M1, c, m1 * share)


@routine
def _set_up_counted(tail, back, ranks, headed, series):
    """The coefficients in -t, from the polynomials and what follows behind them.

    E: of a document's own pick; F, L: of what its fall costs the others, one without gain and a relevant one; K: of
    what of the latter is its own pick; G, H: the same two for the mark that it takes from them, where it falls.
    """
    A0, A1, M0, M1 = tail
    B1, B0, BM, C1, C0, CM, CM0 = back
    E, F, K, G, H, L = series
    base, zero = LANES * PAD, splat(0.0)
    for d in range(ranks):
        e, marked_e, f, marked_f, k, marked_k, g, h = zero, zero, zero, zero, zero, zero, zero, zero
        for i in range(LANES * d, LANES * ranks, LANES):
            at = base + i - LANES * d
            a0, a1, m0, m1 = load(A0, at), load(A1, at), load(M0, at), load(M1, at)
            b1, bm, c1, cm, up = load(B1, i), load(BM, i), load(C1, i), load(CM, i), load(BM, i + LANES)
            e, marked_e = e + b1 * a0 + bm * m0, marked_e + bm * a0
            f, marked_f = f + c1 * a1 + cm * m1, marked_f + cm * a1
            k, marked_k = k + c1 * a0 + cm * m0, marked_k + cm * a0
            g, h = g + up * a1, h + up * a0
            if headed:
                c0 = load(C0, i)
                f, marked_f = f + load(CM0, i) * a0 + c0 * m0, marked_f + c0 * a0
                g = g + load(B0, i + LANES) * a0
        times, powers, at = splat(1.0 * d), splat(1.0 + d), LANES * d
        store(E, at, e + times * marked_e)
        store(F, at, f)
        store(L, at, f + times * marked_f)
        store(K, at, powers * (k + times * marked_k))
        store(G, at, zero - g)
        store(H, at, zero - powers * h)


@routine
def _fill_picked_densities(picked, begin, end, T, V, W):
    """The densities w = v q of the listed documents."""
    one = splat(1.0)
    for i in range(begin, end):
        j = LANES * picked[i]
        store(W, j, load(V, j) / (one + load(T, j)))


@kernel
def counted_block(
    law, family, filled, first, low, high, ranks, nobody, derive, least, growth, spread, faint_below, discount, f, at,
    i, place,
):  # fmt: skip
    """Value of a block of nodes over documents low..high, all above ``low`` being certain.

    The arguments are those of every block (``blocks``): the last four are the workspace.
    """
    space = arrays(f, at, i, place)
    u, coef, _ = space.documents
    x, weights, back = space.nodes.x, space.nodes.weights, space.back
    (plain, picked), before, (T, V, factors) = space.odds.lists, space.odds.plain_before, space.odds.laws
    (A0, A1), series, found, (A, M0, M1, L) = space.odds.tail, space.odds.series, space.odds.found, space.odds.marked
    tail = (A0, A1, M0, M1)
    begin, far = uncertain(law, x, u, low, high, faint_below)
    brief = growth > 0.0  # the odds' shorter laws serve the rows too; without odds, rows have the full ones
    fill_odds(law, x, u, low if brief else begin, high, factors, T, V)
    mid = first_divisible(T, begin, far, ranks, growth / ranks)  # a mark for each power: so much more is lost
    plain_begin, plain_far, plain_end = before[mid - first], before[far - first], before[high - first]
    picked_begin, picked_far, picked_end = mid - first - plain_begin, far - first - plain_far, high - first - plain_end
    set_terminal(MARKED, LANES, discount, low, ranks, weights, back)
    bounds = (plain_begin, plain_far, picked_begin, picked_far)
    scale = _multiply_apart(coef, (plain, picked), bounds, (plain_end, picked_end), nobody, ranks, T, V, A, A0, A1)
    _join(A, splat(1.0) / scale, space.certain[1], ranks, A0, A1, M0, M1)
    if mid > low:
        known = low if brief else mid
        value = acting_head(MARKED, law, x, weights, low, known, mid, ranks, derive, tail, space)
    else:
        value = bare_value(A1, back[0], ranks) + bare_value(M1, back[0], ranks)
    if derive and mid < high:
        E, F, K, G, H = series
        _, _, W, _ = space.laws  # by document; the head's laws lie before those of the documents that are read
        _set_up_counted(tail, back, ranks, mid > low, (E, F, K, G, H, L))
        _fill_picked_densities(picked, picked_begin, picked_end, T, V, W)
        terms = ranks
        for _ in range(1 + (high > far)):  # those near, and with few terms those far below
            kept = cover(plain, plain_far, nobody)
            divide_plain(law, x, u, T, V, plain, plain_begin, plain_far, terms, F, derive == 2, found[0], found[1])
            uncover(plain, plain_far, kept)
            divide_one_by_one(
                law, x, u, weights, coef, T, V, W, picked, picked_begin, picked_far, terms, (E, L, K, G, H), found[2],
                found[3],
            )  # fmt: skip
            plain_begin, plain_far, picked_begin, picked_far = plain_far, plain_end, picked_far, picked_end
            terms = min(terms, FAINT_TERMS)
    return value
