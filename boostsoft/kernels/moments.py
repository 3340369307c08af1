"""Documents far below a threshold under Gumbel noise, all at once, by sums over them that no node changes.

With e = exp(u - x) such a document's odds are t = exp(e) - 1, and w / q is e: at every node the same function of e,
which is exp(u_f - x), a number of the node, times exp(u - u_f), one of the document. All that these documents add to
a block is a power series in e; summed over them, from document f on, its powers are the node's times the moments

    M_m(f) = sum over i >= f of exp(m (u_i - u_f)) = 1 + exp(m (u_(f+1) - u_f)) M_m(f+1),

and the same with coefficients, for what they are worth picked: a block takes no exponential and no cell for them.
Powers of the odds are t^d = sum over m >= d of (d! S(m, d) / m!) e^m, S the Stirling numbers of the second kind.

**The way back.** What the fall of a document costs at a node, e sum of F_d (-t)^d, is a polynomial in e, too. Its
coefficients, times the node's powers and summed over nodes, wait until the threshold has come so near that document f
is no longer far below: then they are summed for it, and times exp(m (u_(f+1) - u_f)) they are those of document f + 1.

Eight powers leave about the sum of e^9 of a product, a pick or a gradient.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compile import routine
from .noise import exponential, short_exponential
from .simd import LANES, add_lane_sums, combinations, lane_sum, load, pointer, rising_powers, splat, store
from .workspace import MOMENTS_WAITING, PAD

POWERS = LANES  # of e, from the first on: as many as there are lanes
# what waits for documents, a vector of powers each: the fall's cost, its own pick's part, pulls, the rule's drift; then
# the slopes of these four
FALL, OWN, PULL, DRIFT, BENT = 0, LANES, 2 * LANES, 3 * LANES, 4 * LANES
# scratch, a vector of nodes each: powers of e of the first far document; these times moments, and what comes of both
_POWERS, COUNTS, GAINS, ODDS_SUMS, PICK_SUMS = (POWERS * LANES * part for part in range(5))


def _powers_of_odds() -> NDArray[np.float64]:
    """Row d: the coefficients of e^0 .. e^POWERS in (exp(e) - 1)^d, d = 0 .. POWERS."""
    growth = np.array([0.0, *(1.0 / math.factorial(m) for m in range(1, POWERS + 1))])
    rows = [np.eye(POWERS + 1)[0]]
    for _ in range(POWERS):
        rows.append(np.convolve(rows[-1], growth)[: POWERS + 1])
    return np.array(rows)


_SIGNS = (-1.0) ** np.arange(POWERS + 1)
_POWERS_OF_ODDS = _powers_of_odds()
DENSITY = _SIGNS / [math.factorial(m) for m in range(POWERS + 1)]  # exp(-e), from e^0 on


def _to_powers(lead: int) -> Any:
    """Coefficients of e^1 .. e^POWERS from those of (-t)^0 .. (-t)^(POWERS-1), times e^lead."""
    columns = [np.append(np.zeros(lead), _SIGNS[d] * _POWERS_OF_ODDS[d])[1 : POWERS + 1] for d in range(POWERS)]
    return combinations(tuple(map(tuple, np.transpose(columns).tolist())))


def _times(factor: tuple[float, ...]) -> Any:
    """A polynomial in e times one without a constant, cut off behind e^POWERS."""
    rows = [[factor[m - d] if 0 <= m - d < len(factor) else 0.0 for d in range(POWERS)] for m in range(POWERS)]
    return combinations(tuple(map(tuple, rows)))


# from sums of e^1 .. e^POWERS: signed ones of t^1 .. t^POWERS, and those of e (-t)^0 .. e (-t)^(POWERS-1)
_sum_odds = combinations(tuple(map(tuple, _SIGNS[:-1, None] * _POWERS_OF_ODDS[1:, 1:])))
_sum_picks = combinations(tuple(map(tuple, _SIGNS[:-1, None] * _POWERS_OF_ODDS[:-1, :-1])))
_once, _twice = _to_powers(1), _to_powers(2)  # e F, and e^2 K
_slope, _second_slope = (
    _times((1.0, -1.0)),
    _times((1.0, -3.0, 1.0)),
)  # times r = 1 - e, and r2 = r^2 + r - 1 (``noise``)
_densities = combinations(tuple((float(c),) for c in DENSITY[:-1]))  # w = e exp(-e)


@routine
def fill_moments(u, coef, first, last, moments):
    """Moments of documents j..last, without and with gain, for every j from ``first`` on; nothing waits yet."""
    falls, counted, gained, waiting, _, waits_from = moments
    for j in range(first + 1, last + 1, LANES):
        store(falls, j, exponential(load(u, j) - load(u, j - 1)))
    one, count, gain = splat(1.0), splat(0.0), splat(0.0)
    for j in range(last - 1, first - 1, -1):
        fall = rising_powers(falls[j + 1])
        count, gain = one + fall * count, splat(coef[j]) + fall * gain
        store(counted, LANES * j, count)
        store(gained, LANES * j, gain)
    for i in range(0, MOMENTS_WAITING, LANES):
        store(waiting, i, splat(0.0))
    waits_from[0] = last


@routine
def sum_moments(x, u, far, moments):
    """The powers of e at the document ``far``, and their sums over the documents from it on, without and with gain."""
    _, counted, gained, _, scratch, _ = moments
    e = short_exponential(splat(u[far]) - load(x, 0))
    power = e
    for m in range(POWERS):
        i = LANES * m
        store(scratch, _POWERS + i, power)
        store(scratch, COUNTS + i, power * splat(counted[LANES * far + m]))
        store(scratch, GAINS + i, power * splat(gained[LANES * far + m]))
        power = power * e


@routine
def start_by_moments(x, u, far, ranks, moments, A0):
    """Set A0 to the product of 1 + t z over the documents from ``far`` on; returns that of 1 + t.

    From the logarithm's derivative: c a_c = sum over d of (-1)^(d-1) a_(c-d) sum of t^d.
    """
    scratch = moments[4]
    sum_moments(x, u, far, moments)
    _sum_odds(pointer(scratch, ODDS_SUMS), pointer(scratch, COUNTS))
    _sum_picks(pointer(scratch, PICK_SUMS), pointer(scratch, GAINS))
    s1, s2, s3, s4, s5, s6, s7, s8 = _eight(scratch, ODDS_SUMS)
    zero = splat(0.0)
    a1, a2, a3, a4, a5, a6, a7, a8 = splat(1.0), zero, zero, zero, zero, zero, zero, zero
    for c in range(ranks):
        store(A0, LANES * (PAD + c), a1)
        older = (s2 * a2 + s3 * a3 + s4 * a4) + (s5 * a5 + s6 * a6) + (s7 * a7 + s8 * a8)
        following = (older + s1 * a1) * splat(1.0 / (c + 1.0))
        a1, a2, a3, a4, a5, a6, a7, a8 = following, a1, a2, a3, a4, a5, a6, a7
    return short_exponential(load(scratch, COUNTS))


@routine
def _eight(array, at):
    return (
        load(array, at), load(array, at + LANES), load(array, at + 2 * LANES), load(array, at + 3 * LANES),
        load(array, at + 4 * LANES), load(array, at + 5 * LANES), load(array, at + 6 * LANES),
        load(array, at + 7 * LANES),
    )  # fmt: skip


@routine
def finish_by_moments(scale, ranks, moments, A0, A1):
    """Divide A0 and A1 by ``scale``, and add to A1 the picks of the documents that A0 was started with."""
    q0, q1, q2, q3, q4, q5, q6, q7 = _eight(moments[4], PICK_SUMS)
    share, zero = splat(1.0) / scale, splat(0.0)
    a1, a2, a3, a4, a5, a6, a7 = zero, zero, zero, zero, zero, zero, zero
    for i in range(LANES * PAD, LANES * (PAD + ranks), LANES):
        a = load(A0, i) * share
        store(A0, i, a)
        picked = (q0 * a + q1 * a1 + q2 * a2 + q3 * a3) + (q4 * a4 + q5 * a5 + q6 * a6 + q7 * a7)
        store(A1, i, load(A1, i) * share + picked)
        a1, a2, a3, a4, a5, a6, a7 = a, a1, a2, a3, a4, a5, a6


@routine
def _let_wait(moments, series, coefficients):
    """Add to a series that waits its coefficients at eight nodes, times the powers of e there."""
    _, _, _, waiting, scratch, _ = moments
    for m in range(0, POWERS, 4):
        i, k = _POWERS + LANES * m, LANES * m
        add_lane_sums(
            waiting, series + m,
            load(scratch, i) * load(coefficients, k),
            load(scratch, i + LANES) * load(coefficients, k + LANES),
            load(scratch, i + 2 * LANES) * load(coefficients, k + 2 * LANES),
            load(scratch, i + 3 * LANES) * load(coefficients, k + 3 * LANES),
        )  # fmt: skip


@routine
def leave(weights, exact, moments):
    """Let wait what scratch has by powers of e: a fall's cost, its own pick's part of it, a pick; and the rule's drift.

    In place of ``GAINS``, ``ODDS_SUMS`` and ``PICK_SUMS``, times the density; ``COUNTS`` is room.
    """
    scratch = moments[4]
    fall, own, picked = pointer(scratch, GAINS), pointer(scratch, ODDS_SUMS), pointer(scratch, PICK_SUMS)
    at = pointer(scratch, COUNTS)
    _let_wait(moments, FALL, fall)
    _let_wait(moments, OWN, own)
    _slope(at, picked)
    _let_wait(moments, PULL, at)
    if exact:
        _slope(at, fall)
        _let_wait(moments, BENT + FALL, at)
        _slope(at, own)
        _let_wait(moments, BENT + OWN, at)
        _second_slope(at, picked)
        _let_wait(moments, BENT + PULL, at)
    _densities(picked, weights)
    _slope(at, picked)
    _let_wait(moments, DRIFT, at)
    if exact:
        _second_slope(at, picked)
        _let_wait(moments, BENT + DRIFT, at)


@routine
def divide_by_moments(weights, ranks, E, F, K, exact, moments):
    """What ``divide_plain`` and ``divide_picked`` (``odds``) add to each document, left to wait for all far ones."""
    scratch = moments[4]
    for d in range(LANES * ranks, LANES * POWERS, LANES):
        store(E, d, splat(0.0))
        store(F, d, splat(0.0))
        store(K, d, splat(0.0))
    _once(pointer(scratch, GAINS), F)
    _twice(pointer(scratch, ODDS_SUMS), K)
    _once(pointer(scratch, PICK_SUMS), E)
    leave(weights, exact, moments)


@routine
def pass_on(moments, at, j):
    """Four series that wait for document j, which then wait for the one behind it."""
    falls, _, _, waiting, _, _ = moments
    step = rising_powers(falls[j + 1])
    fall, own, pull, drift = (
        load(waiting, at),
        load(waiting, at + OWN),
        load(waiting, at + PULL),
        load(waiting, at + DRIFT),
    )
    store(waiting, at, fall * step)
    store(waiting, at + OWN, own * step)
    store(waiting, at + PULL, pull * step)
    store(waiting, at + DRIFT, drift * step)
    return fall, own, pull, drift


@routine
def settle(first, end, coef, before, found, exact, moments):
    """Give the documents before ``end`` what has waited for them; from then on it waits for those behind."""
    zero, waits_from = splat(0.0), moments[5]
    for j in range(waits_from[0], end):
        fall, own, pull, drift = pass_on(moments, FALL, j)
        i, c = before[j - first], splat(coef[j])
        plain = before[j + 1 - first] > i
        k = 4 * (j - first - i)
        if plain:
            found[0][i] += lane_sum(fall)
        else:
            add_lane_sums(found[2], k, fall - c * own, pull, drift, zero)
        if exact:
            fall, own, pull, drift = pass_on(moments, BENT, j)
            if plain:
                found[1][i] += lane_sum(fall)
            else:
                add_lane_sums(found[3], k, c * (pull + own) - fall, drift, zero, zero)
    waits_from[0] = end
