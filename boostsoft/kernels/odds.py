"""The plain recursion without rows: documents that can be divided out again, by their odds of being above.

Over documents with odds t = p / q of being above the threshold, the recursion is a product of polynomials in z,
the count: T0 = prod (1 + t z) with no document picked, T1 with one, times prod q. A document's own factor can be
divided out again, 1 / (1 + t z) = sum of (-t z)^d, so that what a sum over ranks against "all but this
document" is worth is a polynomial in -t, with coefficients shared by all documents:

    sum_c B(c) [T0 / (1 + t z)](c) = sum_d e_d (-t)^d,    e_d = sum_c B(c) T0(c - d).

That takes one multiplication per rank and document where the recursion backwards takes ten, and no row is stored.
The series alternates, and loses digits where t is large: documents for which it loses too many are left to the
recursion with rows (``recursion``), which is always right.

**How much it loses.** Let L = T0 / (1 + t z), whose coefficients are log-concave: L(c - d) / L(c) <= rho^-d with
rho = L(k-1) / L(k-2) >= S / (k - 1), S the sum of the odds but for the k - 2 largest. Rounding errors grow at most
like the larger of 1 and (t / rho)^(k-1), and never beyond t^(k-1).

**Documents far below.** Where all odds are small, prod (1 + t z) = exp(S1 z - S2 z^2 / 2 + S3 z^3 / 3) but for the
sum of t^4, S_m the sum of t^m, and the first three powers of -t divide a document out: no cell per rank is needed.
"""

from __future__ import annotations

import math

from .compile import routine
from .noise import GAUSSIAN, GUMBEL, gaussian_odds, gumbel_odds, second_ratio, short_exponential
from .quadrature import stand_in_reach
from .simd import LANES, add_lane_sums, lane_sum, larger, load, smaller, splat, store, where_negative
from .workspace import PAD

# beyond, a document is as good as certain, and left to the recursion with rows
MOST_ODDS = 1e4
_CERTAIN = 700.0  # exp(-z) of a document that is surely above; float64 holds the odds of no more
FAINT_TERMS = 3  # powers of small odds that count


@routine
def odds_reach(law):
    """How far above a threshold a document's odds reach MOST_ODDS."""
    if law == GAUSSIAN:
        return 3.719  # where the Gaussian tail is 1 / (1 + MOST_ODDS)
    elif law == GUMBEL:
        return math.log(math.log(MOST_ODDS))
    return math.log(MOST_ODDS)


@routine
def fill_odds(law, x, u, low, high, factors, T, V):
    """Odds t = p / q, and v = w / q, of documents low..high at eight thresholds."""
    at = load(x, 0)
    if law == GAUSSIAN:
        for j in range(low, high):
            t, v = gaussian_odds(at - splat(u[j]))
            store(T, LANES * j, t)
            store(V, LANES * j, v)
    else:
        origin = splat(u[low])
        for j in range(low, high, LANES):
            store(factors, j, short_exponential(load(u, j) - origin))
        here = short_exponential(origin - at)
        for j in range(low, high):
            e = here * splat(factors[j])
            if law == GUMBEL:
                e = smaller(e, splat(_CERTAIN))
                store(T, LANES * j, gumbel_odds(e))
                store(V, LANES * j, e)
            else:
                store(T, LANES * j, e)
                store(V, LANES * j, e / (splat(1.0) + e))


@routine
def law_ratio(law, at, position, v):
    """The ratio -f'/f, which two laws give by v alone."""
    if law == GAUSSIAN:
        return at - splat(position)
    elif law == GUMBEL:
        return splat(1.0) - v
    return splat(1.0) - v - v


@routine
def laws_from_odds(law, x, u, low, begin, end, T, V, laws):
    """P, q, w, r of documents begin..end, whose odds are there, at their places behind ``low``."""
    P, Q, W, R = laws
    at = load(x, 0)
    for j in range(begin, end):
        t, v, i = load(T, LANES * j), load(V, LANES * j), LANES * (j - low)
        q = splat(1.0) / (splat(1.0) + t)
        store(P, i, t * q)
        store(Q, i, q)
        store(W, i, v * q)
        store(R, i, law_ratio(law, at, u[j], v))


@routine
def first_divisible(T, low, high, ranks, growth):
    """The first document of low..high from which on all can be divided out with errors growing below ``growth``."""
    if growth < 4.0 * ranks:
        return high
    if ranks == 1:
        return low
    root = (growth / (4.0 * ranks)) ** (1.0 / (ranks - 1.0))
    rest, j = splat(0.0), high
    # from the least odds upwards; the ranks - 2 largest so far do not count in the rest
    while j > low:
        j -= 1
        if j + ranks - 1 < high:
            rest = rest + load(T, LANES * (j + ranks - 1))
        limit = larger(rest * splat(root / (ranks - 1.0)), splat(root))
        if lane_sum(where_negative(limit - load(T, LANES * j), splat(1.0), splat(0.0))) > 0.0:
            return j + 1
    return low


@routine
def sum_faint(T, V, coef, plain, picked, ends):
    """Three powers of the small odds of the listed documents, and their picks by rank: sum of v (-t)^m."""
    nothing = splat(0.0)
    s1, s2, s3, q0, q1, q2 = nothing, nothing, nothing, nothing, nothing, nothing
    plain_begin, plain_end, picked_begin, picked_end = ends
    for i in range(plain_begin, plain_end):
        t = load(T, LANES * plain[i])
        square = t * t
        s1, s2, s3 = s1 + t, s2 + square, s3 + square * t
    for i in range(picked_begin, picked_end):
        j = picked[i]
        t, v = load(T, LANES * j), load(V, LANES * j) * splat(coef[j])
        square = t * t
        s1, s2, s3 = s1 + t, s2 + square, s3 + square * t
        q0, q1, q2 = q0 + v, q1 - v * t, q2 + v * square
    return (s1, s2, s3), (q0, q1, q2)


@routine
def start_with_faint(powers, ranks, A0):
    """Set A0 to the product of 1 + t z over documents of small odds, by their powers; returns that of 1 + t.

    From the logarithm's derivative: c a_c = S1 a_(c-1) - S2 a_(c-2) + S3 a_(c-3).
    """
    s1, s2, s3 = powers
    a1, a2, a3 = splat(1.0), splat(0.0), splat(0.0)
    for c in range(ranks):
        store(A0, LANES * (PAD + c), a1)
        a1, a2, a3 = (s1 * a1 - s2 * a2 + s3 * a3) * splat(1.0 / (c + 1.0)), a1, a2
    return short_exponential(s1 - splat(0.5) * s2 + splat(1.0 / 3.0) * s3)


@routine
def finish_polynomials(picks, scale, ranks, A0, A1):
    """Divide A0 and A1 by ``scale``, and add to A1 the picks of documents of small odds."""
    q0, q1, q2 = picks
    share, a1, a2 = splat(1.0) / scale, splat(0.0), splat(0.0)
    for i in range(LANES * PAD, LANES * (PAD + ranks), LANES):
        a = load(A0, i) * share
        store(A0, i, a)
        store(A1, i, load(A1, i) * share + (q0 * a + q1 * a1 + q2 * a2))
        a1, a2 = a, a1


@routine
def first_below(u, begin, end, limit):
    """The first document of begin..end, by falling position, that is below a limit; ``end`` if there is none."""
    while begin < end:
        middle = (begin + end) // 2
        if u[middle] < limit:
            end = middle
        else:
            begin = middle + 1
    return end


@routine
def faint_reach(law, odds):
    """How far below a threshold a document's odds are about as small as that."""
    span = -math.log(odds)
    return stand_in_reach(span) if law == GAUSSIAN else span


@routine
def _pair_products(a, b):
    return a + b, a * b


@routine
def multiply_plain(T, index, begin, end, ranks, A0, scale):
    """A0 times (1 + t z) for the documents index[begin:end], four at a time; returns ``scale`` times 1 + t."""
    one = splat(1.0)
    for i in range(begin, end, 4):
        ta, tb = load(T, LANES * index[i]), load(T, LANES * index[i + 1])
        tc, td = load(T, LANES * index[i + 2]), load(T, LANES * index[i + 3])
        scale = scale * ((one + ta) * (one + tb)) * ((one + tc) * (one + td))
        sa, ma = _pair_products(ta, tb)
        sc, mc = _pair_products(tc, td)
        e1, e2, e3, e4 = sa + sc, ma + mc + sa * sc, ma * sc + mc * sa, ma * mc
        at = LANES * (PAD + ranks - 1)
        a0, a1 = load(A0, at), load(A0, at - LANES)
        a2, a3 = load(A0, at - 2 * LANES), load(A0, at - 3 * LANES)
        for c in range(at, LANES * (PAD - 1), -LANES):
            a4 = load(A0, c - 4 * LANES)
            store(A0, c, a0 + e1 * a1 + e2 * a2 + (e3 * a3 + e4 * a4))
            a0, a1, a2, a3 = a1, a2, a3, a4
    return scale


@routine
def multiply_picked(T, V, coef, index, begin, end, ranks, A0, A1, scale):
    """The same with one of the documents picked, weight coef v, in A1; A0 and A1 times (1 + t z)."""
    one = splat(1.0)
    for i in range(begin, end, 4):
        ja, jb, jc, jd = index[i], index[i + 1], index[i + 2], index[i + 3]
        ta, tb, tc, td = load(T, LANES * ja), load(T, LANES * jb), load(T, LANES * jc), load(T, LANES * jd)
        va, vb = load(V, LANES * ja) * splat(coef[ja]), load(V, LANES * jb) * splat(coef[jb])
        vc, vd = load(V, LANES * jc) * splat(coef[jc]), load(V, LANES * jd) * splat(coef[jd])
        scale = scale * ((one + ta) * (one + tb)) * ((one + tc) * (one + td))
        sa, ma = _pair_products(ta, tb)
        sc, mc = _pair_products(tc, td)
        e1, e2, e3, e4 = sa + sc, ma + mc + sa * sc, ma * sc + mc * sa, ma * mc
        wa, xa = va + vb, va * tb + vb * ta
        wc, xc = vc + vd, vc * td + vd * tc
        g0, g1 = wa + wc, xa + xc + wa * sc + wc * sa
        g2, g3 = xa * sc + xc * sa + wa * mc + wc * ma, xa * mc + xc * ma
        at = LANES * (PAD + ranks - 1)
        a0, a1 = load(A0, at), load(A0, at - LANES)
        a2, a3 = load(A0, at - 2 * LANES), load(A0, at - 3 * LANES)
        b0, b1 = load(A1, at), load(A1, at - LANES)
        b2, b3 = load(A1, at - 2 * LANES), load(A1, at - 3 * LANES)
        for c in range(at, LANES * (PAD - 1), -LANES):
            a4, b4 = load(A0, c - 4 * LANES), load(A1, c - 4 * LANES)
            store(A0, c, a0 + e1 * a1 + e2 * a2 + (e3 * a3 + e4 * a4))
            picked = g0 * a0 + g1 * a1 + (g2 * a2 + g3 * a3)
            store(A1, c, b0 + e1 * b1 + e2 * b2 + (e3 * b3 + e4 * b4) + picked)
            a0, a1, a2, a3, b0, b1, b2, b3 = a1, a2, a3, a4, b1, b2, b3, b4
    return scale


@routine
def set_up_polynomials(A0, A1, B1, C1, C0, ranks, headed, E, F, K):
    """The coefficients in -t that documents are divided out by, from the polynomials and what follows behind them."""
    base = LANES * PAD
    for d in range(ranks):
        e, f, k = splat(0.0), splat(0.0), splat(0.0)
        for c in range(d, ranks):
            a0, c1 = load(A0, base + LANES * (c - d)), load(C1, LANES * c)
            e = e + load(B1, LANES * c) * a0
            k = k + c1 * a0
            f = f + load(A1, base + LANES * (c - d)) * c1
            if headed:
                f = f + load(C0, LANES * c) * a0
        store(E, LANES * d, e)
        store(F, LANES * d, f)
        store(K, LANES * d, k * splat(d + 1.0))


@routine
def divide_plain(law, x, u, T, V, index, begin, end, ranks, F, exact, loss, second):
    """Add what the fall of documents without gain costs, four at a time, in the order of the list."""
    zero, at = splat(0.0), load(x, 0)
    for i in range(begin, end, 4):
        ja, jb, jc, jd = index[i], index[i + 1], index[i + 2], index[i + 3]
        ta, tb = zero - load(T, LANES * ja), zero - load(T, LANES * jb)
        tc, td = zero - load(T, LANES * jc), zero - load(T, LANES * jd)
        ha, hb, hc, hd = zero, zero, zero, zero
        for d in range(LANES * (ranks - 1), -1, -LANES):
            f = load(F, d)
            ha, hb, hc, hd = f + ta * ha, f + tb * hb, f + tc * hc, f + td * hd
        va, vb, vc, vd = load(V, LANES * ja), load(V, LANES * jb), load(V, LANES * jc), load(V, LANES * jd)
        ha, hb, hc, hd = ha * va, hb * vb, hc * vc, hd * vd
        add_lane_sums(loss, i, ha, hb, hc, hd)
        if exact:
            ra, rb = law_ratio(law, at, u[ja], va), law_ratio(law, at, u[jb], vb)
            rc, rd = law_ratio(law, at, u[jc], vc), law_ratio(law, at, u[jd], vd)
            add_lane_sums(second, i, ha * ra, hb * rb, hc * rc, hd * rd)


@routine
def _finish_picked(law, x, u, weights, j, coef, t, v, g, h, k, exact, sums, second, i):
    at = load(x, 0)
    r = law_ratio(law, at, u[j], v)
    w = v / (splat(1.0) - t)  # t comes negated
    c = splat(coef[j])
    loss = v * (h - c * v * k)
    pull = v * g
    rule = w * load(weights, 0)
    add_lane_sums(sums, 4 * i, loss, pull * r, rule * r, splat(0.0))
    if exact:
        r2 = second_ratio(law, w, r)
        add_lane_sums(second, 4 * i, c * pull * r2 - loss * r, rule * r2, splat(0.0), splat(0.0))


@routine
def divide_picked(law, x, u, weights, coef, T, V, index, begin, end, ranks, E, F, K, exact, sums, second):
    """Add loss, pull and the rule's drift of documents with gain, two at a time, in the order of the list."""
    zero = splat(0.0)
    for i in range(begin, end, 2):
        ja, jb = index[i], index[i + 1]
        ta, tb = zero - load(T, LANES * ja), zero - load(T, LANES * jb)
        ga, ha, ka, gb, hb, kb = zero, zero, zero, zero, zero, zero
        for d in range(LANES * (ranks - 1), -1, -LANES):
            e, f, k = load(E, d), load(F, d), load(K, d)
            ga, ha, ka = e + ta * ga, f + ta * ha, k + ta * ka
            gb, hb, kb = e + tb * gb, f + tb * hb, k + tb * kb
        _finish_picked(law, x, u, weights, ja, coef, ta, load(V, LANES * ja), ga, ha, ka, exact, sums, second, i)
        _finish_picked(law, x, u, weights, jb, coef, tb, load(V, LANES * jb), gb, hb, kb, exact, sums, second, i + 1)


@routine
def divide_one_by_one(law, x, u, weights, coef, S, V, W, index, begin, end, ranks, series, sums, second):
    """Add loss, pull and the rule's drift of documents with gain that act on those below, in the order of the list.

    In units of its own density a document's pick is worth E; its fall costs F less K of its own pick; and what it takes
    from those below, over its coefficient, is G less H.
    """
    E, F, K, G, H = series
    zero, at, node = splat(0.0), load(x, 0), load(weights, 0)
    for i in range(begin, end):
        j = index[i]
        s, v, w, c = zero - load(S, LANES * j), load(V, LANES * j), load(W, LANES * j), splat(coef[j])
        e, f, k, g, h = zero, zero, zero, zero, zero
        for d in range(LANES * (ranks - 1), -1, -LANES):
            e, f, k = load(E, d) + s * e, load(F, d) + s * f, load(K, d) + s * k
            g, h = load(G, d) + s * g, load(H, d) + s * h
        r, own = law_ratio(law, at, u[j], v), c * v
        r2 = second_ratio(law, w, r)
        loss, passed, gamma, rule = v * (f - own * k), v * (g - own * h), v * e, w * node
        add_lane_sums(sums, 4 * i, loss, gamma * r - passed, rule * r, rule)
        add_lane_sums(second, 4 * i, c * (gamma * r2 - passed * r) - loss * r, rule * r2, gamma, zero)
