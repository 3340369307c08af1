"""The exact expectation of a ranking metric under noisy scores, with its gradient, for one query and for many.

Layers: the recursion over documents (``recursion``) or its short cut (``odds``); a block of eight nodes by rows
(``block``), with the short cut (``plain``, ``absorbed``, ``counted``; ``moments`` of documents far below) or, of whole
lists, by exponentials (``mixture``, ``cascades``; ``term_moments``), and all blocks of a cluster where documents are
few (``short``), called by address (``blocks``); the nodes (``quadrature``); here, a cluster of documents that can
change places, a query, and the loop over queries that a thread runs without the GIL.

The error that is aimed at, relative to the query's largest value and gradient, enters as ``h``, the step of the
node rule, and ``tol``; both come from ``ACCURACY``. Documents further apart than the noise reaches (with
probability ``eps``, far below tol) are in different clusters: their order is certain, so that the clusters above
only move the ranks. Gradients below 1e-9 of the natural scale (gain range / sigma) are not resolved further.
"""

from __future__ import annotations

import math

import numpy as np

from .blocks import call_block
from .compile import kernel, merged, routine
from .curvature import FLOW, to_curvature
from .families import ABSORBING, MARKED, PLAIN
from .mixture import choose_terms, collect_mixed, start_mixed
from .moments import POWERS, fill_moments, settle
from .noise import GAUSSIAN, GUMBEL, pair_reach, reach
from .odds import faint_reach
from .plain import collect_acting, collect_documents, list_documents
from .precision import faintness, overrated, precision, ranks_worth
from .quadrature import (
    ANYWHERE,
    SMOOTH,
    TOP,
    cut_place,
    fill_bins,
    fineness,
    next_nodes,
    node_step,
    nodes_wanted,
    start_nodes,
    tail_origin,
)
from .recursion import remove_drift
from .shares import claim
from .short import largest_crowd
from .simd import LANES, pointer
from .sorting import falling_order
from .term_moments import settle_mixed
from .underflow import all_tiny, as_before, flush_underflow, usual_scale
from .workspace import ABSORBED, BY_ODDS, CASCADES, COUNTED, MIXED, MOST_CROWD, MOST_MET, ODDS, arrays

# accuracy -> (step, tolerance); tests/test_accuracy.py measures the error that comes of them
ACCURACY = {"default": (0.4, 1e-6), "high": (0.17, 1e-10), "fast": (0.5, 1e-5)}

_ABSORBED = 1e-20  # what documents above for certain let through that is nothing
# how much rounding errors (1e-16) may grow where documents are divided out: at most, and per tolerance and faintness
_MOST_GROWTH, _GROWTH = 1e9, 1e14
# what the odds' law leaves of the natural scale in a gradient where equal gains cancel, and as much for every rank of
# a product that documents are divided out of
_ODDS_ERROR = 1e-10
ODDS_DIGITS = 1e-8  # below this tolerance the odds are not exact enough: all documents go through rows
_MOST_GAIN = 1e40
MISS = 1e-1  # how far a node may lie from its place, per tolerance and faintness
# documents that a block may meet for rows to cost less than odds: in a narrow cluster, which has few blocks, fewer, and
# in a wide one more (width for Gaussian noise, and for that of the other laws, whose blocks reach far down)
_MOST_IN_NARROW, _NARROW = 23, 6.0
_MOST_IN_WIDE, _WIDE, _WIDER = 48, 12.0, 50.0
# odds whose fourth powers, summed over the list, stay below this many tolerances: documents that can count together
_FAINT_ODDS = 0.1
# the same of the ninth powers, where they count together by their moments
_FAR_ODDS = 0.1
_FAR_IN_TERMS = 3.0  # so much larger odds where a discount is a sum of exponentials


@routine
def _pass_by(family, coef, low, high, before):
    """Let documents low..high be above for certain: what they let through and the marks they offer."""
    for j in range(low, high):
        if family == ABSORBING:
            before[0] *= 1.0 - coef[j]
        elif family == MARKED:
            before[1] += coef[j]


@routine
def _certain_value(family, coef, discount, first, last, ranks, before):
    """The contribution of documents whose order is certain."""
    total = 0.0
    for j in range(first, min(last, ranks)):
        total += coef[j] * discount[j] * before[0] * (1.0 + before[1])
        _pass_by(family, coef, j, j + 1, before)
    _pass_by(family, coef, max(first, min(last, ranks)), last, before)
    return total


@routine
def _cluster_value(
    block, engine, family, law, first, last, least, ranks, shape, h, eps, growth, fine, faint_below, discount, nobody,
    derive, space, room,
):  # fmt: skip
    """The contribution of documents first..last that can change places with each other only."""
    (u, coef, _), bins, before, odds = space.documents, space.bins, space.certain, space.odds
    x, weights, above, variance, _, scratch, state = space.nodes
    spread = -math.log(eps)
    reach_left, reach_right = reach(law, eps)
    n = last - first
    n_bins = fill_bins(law, u, first, last, bins)
    origin = 0.0 if law == GAUSSIAN else tail_origin(u, first, last)
    cut = u[first + cut_place(n, ranks - first)]
    h = node_step(law, shape, n, h, ranks - first, cut, origin, bins, n_bins, fine, scratch)
    start_nodes(law, shape, n, u[first] + reach_right, origin, state)
    mixed = engine == MIXED or engine == CASCADES
    if mixed and derive:
        start_mixed(n, space)
    if engine in BY_ODDS:
        list_documents(coef, first, last, least, odds, derive)
    by_moments = law == GUMBEL and faint_below < math.inf and (engine == ODDS or engine == MIXED)
    if by_moments:
        fill_moments(u, coef, first, last, odds.moments)
    total, low, high, bottom, done = 0.0, first, first, math.inf, False
    while not done:
        next_nodes(law, shape, n, h, fine, origin, bins, n_bins, state, scratch, x, weights, above, variance)
        filled, done = nodes_wanted(x, above, variance, ranks - first, u[last - 1] - reach_left, -spread, scratch)
        for i in range(filled, LANES):
            x[i], weights[i] = x[filled - 1], 0.0
        while low < last and u[low] > x[0] + reach_left:
            _pass_by(family, coef, low, low + 1, before)
            low += 1
        bottom = x[0]
        if low >= min(last, ranks) or before[0] < _ABSORBED:
            break
        high, bottom = max(high, low), x[filled - 1]
        while high < last and u[high] > x[filled - 1] - reach_right:
            high += 1
        if high == low:
            continue
        width = min(ranks - low, high - low)
        total += call_block(
            block, law, family, filled, first, low, high, width, nobody, derive, least, growth, spread, faint_below,
            pointer(discount, 0), *room,
        )  # fmt: skip
        if engine == CASCADES and family == ABSORBING and before[2] < _ABSORBED:
            break
    _pass_by(family, coef, low, last, before)
    if derive:
        if by_moments and engine == MIXED:
            settle_mixed(first, high, coef, least, odds.found[2], odds.found[3], derive == 2, odds.moments)
        if mixed:
            collect_mixed(first, last, space)
        if engine == ODDS:
            if by_moments:
                settle(first, high, coef, odds.plain_before, odds.found, derive == 2, odds.moments)
            collect_documents(coef, first, last, least, odds, space.sums)
        if engine == ABSORBED or engine == COUNTED:
            collect_acting(coef, first, last, odds, space.sums)
        covered = first
        while covered < last and u[covered] >= bottom + reach_left:
            covered += 1
        remove_drift(family, engine == MIXED, u, coef, least, first, covered, ranks, discount, space.sums)
    return total


@routine
def rule_shape(smooth, first, last, ranks):
    """Where in a cluster the discount can jump, which decides how nodes crowd."""
    if not smooth:
        return ANYWHERE
    if ranks >= last:
        return SMOOTH
    return TOP if 2 * (ranks - first) <= last - first else ANYWHERE


@routine
def score_gap(higher, lower, sigma):
    """The distance of two scores in units of sigma; infinite is far enough."""
    if higher == lower:
        return 0.0
    difference = higher - lower
    return difference / sigma if difference < math.inf else higher / sigma - lower / sigma


@routine
def _take_least(family, coef, first, last):
    """Take the least gain of a cluster off its documents and return it.

    A constant gain is worth the same in any order: what is left has no large terms that cancel.
    """
    if family != PLAIN:
        return 0.0
    least = coef[first]
    for j in range(first, last):
        least = min(least, coef[j])
    for j in range(first, last):
        coef[j] -= least
    return least


@routine
def _place_cluster(documents, scores, order, sigma, first, n, ranks, apart):
    """Positions of the cluster that begins with ``first``, its end, and whether its order is worth anything."""
    u, coef, gaps = documents
    u[first], last, uneven = 0.0, first + 1, False
    while last < n and gaps[last] <= apart:
        u[last] = -score_gap(scores[order[first]], scores[order[last]], sigma)
        if coef[last] != coef[first]:  # and not so far behind the cutoff that it cannot come before it
            uneven = uneven or last < ranks or u[ranks - 1] - u[last] <= apart
        last += 1
    return last, uneven


@merged
def _sort_documents(scores, gains, sigma, space):
    """Put a query's documents in falling order, with the gaps between neighbours; their sums begin at 0."""
    u, coef, gaps = space.documents
    order = space.order
    falling_order(scores, u, coef, order, space.limits[0])
    for j in range(scores.size):
        coef[j] = gains[order[j]]
        gaps[j] = score_gap(scores[order[j - 1]], scores[order[j]], sigma) if j > 0 else math.inf
        for total in space.sums:
            total[j] = 0.0


@merged
def _add_constant(value, gain, discount, first, last):
    """Add what a gain that all documents have is worth at ranks first..last, whatever their order."""
    for r in range(first, last):
        value += gain * discount[r]
    return value


@merged
def _odds_limits(law, engine, coef, ranks, n, tol, faint):
    """How much rounding errors may grow where documents are divided out, and from which distance on odds are faint.

    A growth of 0 where odds are not exact enough: then none is divided out.
    """
    bounded = tol > ODDS_DIGITS
    for j in range(n):
        bounded = bounded and coef[j] <= _MOST_GAIN  # beyond, its products with those of odds might overflow
    by_odds = bounded and tol * faint > _ODDS_ERROR * ranks
    growth, faint_below = 0.0, math.inf
    if by_odds:
        growth = min(_MOST_GROWTH, _GROWTH * tol * faint)
        faint_below = faint_reach(law, math.sqrt(math.sqrt(_FAINT_ODDS * tol * faint / n)))
    if law == GUMBEL and ((by_odds and engine == ODDS) or (bounded and engine == MIXED)):
        widest = _FAR_IN_TERMS if engine == MIXED else 1.0
        faint_below = faint_reach(law, widest * (_FAR_ODDS * tol * faint / n) ** (1.0 / (POWERS + 1.0)))
    return growth, faint_below


@routine
def _most_in_rows(law, width):
    """How many documents a block may meet, in a cluster of this width, for all to go through rows (``short``)."""
    if width < _NARROW:
        return _MOST_IN_NARROW
    if width > (_WIDE if law == GAUSSIAN else _WIDER):
        return _MOST_IN_WIDE
    return MOST_CROWD


@merged
def _add_uneven(
    value, block, short, engine, law, family, first, last, ranks, smooth, h, eps, growth, fine, faint_below, discount,
    nobody, derive, space, room,
):  # fmt: skip
    """Add the contribution of a cluster whose order matters: by ``short`` (0 for never) if few meet in a block."""
    u, coef, _ = space.documents
    for j in range(last, last + LANES):
        u[j] = u[last - 1]
    least = _take_least(family, coef, first, last)
    value = _add_constant(value, least, discount, first, min(last, ranks))
    most = _most_in_rows(law, u[first] - u[last - 1])
    crowd = most + 1
    if short != 0:
        crowd = largest_crowd(law, u, first, last, ranks, h, eps, most)
    if crowd <= most and min(last, ranks + crowd) - first <= MOST_MET:
        value += call_block(
            short, law, first, last, min(ranks, last), crowd, derive, least, h, eps, pointer(discount, 0), *room
        )
    else:
        shape = rule_shape(smooth, first, last, ranks)
        value += _cluster_value(
            block, engine, family, law, first, last, least, ranks, shape, h, eps, growth, fine, faint_below, discount,
            nobody, derive, space, room,
        )  # fmt: skip
    return value


@merged
def _add_even(value, kept, family, coef, discount, first, last, ranks, before, gradient):
    """The contribution of a cluster whose order is worth nothing, after the flow of its pairs has been found.

    ``kept`` is what ``before`` was in front of it.
    """
    before[0], before[1] = kept
    for j in range(first, last):
        gradient[j] = 0.0
    return value + _certain_value(family, coef, discount, first, last, ranks, before)


@merged
def _query_expectation(
    block, short, engine, law, family, scores, gains, ranks, smooth, discount, sigma, h, tol, nobody, derive, undamped,
    most, space, room, grad, push, hess,
):  # fmt: skip
    """One query's expected metric; with ``derive``, gradient, push and diagonal Hessian per document as well.

    And, if its largest gradient was taken for far more than it is, how faint the query is to be taken in place of that
    (``overrated``), else 0; ``most`` is how faint it is at the most.
    In units of sigma: the gradient is grad / sigma, the Hessian hess / sigma^2; the flow is grad + 2 push. The push of
    documents whose order is worth nothing is left out where their gain is ``undamped`` or less.
    """
    _, coef, gaps = space.documents
    gradient, push_down, hessian, _, _, _, _ = space.sums
    order, before = space.order, space.certain
    n = scores.size
    if engine == MIXED or engine == CASCADES:
        choose_terms(n, space)
    _sort_documents(scores, gains, sigma, space)
    bottom = _take_least(family, coef, np.int64(0), n)
    value = _add_constant(0.0, bottom, discount, 0, ranks)
    heaviest, worth = ranks_worth(discount, ranks)
    faint, scale = faintness(family, law, coef, gaps, discount, heaviest, worth, ranks, n, space.laws[0])
    faint = min(faint, most)
    h, eps = precision(family, law, worth, ranks, n, h, tol, faint)
    fine = fineness(law, n, MISS * tol * faint)
    growth, faint_below = _odds_limits(law, engine, coef, ranks, n, tol, faint)
    if not (smooth and tol > ODDS_DIGITS and tol * faint > _ODDS_ERROR):
        short = 0
    apart = pair_reach(law, eps)
    before[0], before[1] = 1.0, 0.0
    first = np.int64(0)
    while first < ranks and before[0] >= _ABSORBED:
        last, uneven = _place_cluster(space.documents, scores, order, sigma, first, n, ranks, apart)
        if uneven or (last - first > 1 and coef[first] > undamped):
            kept, known = (before[0], before[1]), value
            value = _add_uneven(
                value, block, short, engine, law, family, first, last, ranks, smooth, h, eps, growth, fine, faint_below,
                discount, nobody, derive, space, room,
            )  # fmt: skip
            if not uneven:
                value = _add_even(known, kept, family, coef, discount, first, last, ranks, before, gradient)
        else:  # any order of these documents is worth the same
            value += _certain_value(family, coef, discount, first, last, ranks, before)
        first = last
    fainter = 0.0
    if derive:
        fainter = overrated(family, law, gradient, push_down, n, scale, faint, space.nodes.scratch)
        for j in range(n):
            i = order[j]
            grad[i], push[i] = gradient[j], push_down[j]
            if derive == 2:
                hess[i] = hessian[j]
    return value, fainter


@kernel
def expect_queries(
    block, short, engine, law, family, scores, gains, offsets, cutoffs, smooth, discount, sigma, h, tol, derive,
    wanted, ranges, value, grad, push, hess, nobody, numbers, at, places, places_at,
):  # fmt: skip
    """The queries of ``ranges`` (``shares``), written to their own places: ``value`` per query, the rest per document.

    ``wanted`` is what becomes of the derivatives then (``curvature``).
    ``block`` is the address of the engine's function for eight nodes (``blocks``), ``short`` that of the one for few
    documents at a time, or 0; the last four are the workspace.
    """
    space = arrays(numbers, at, places, places_at)
    room = (pointer(numbers, 0), pointer(at, 0), pointer(places, 0), pointer(places_at, 0))
    usual = usual_scale(sigma, discount)
    before = flush_underflow(usual)
    begin, end = claim(ranges)
    while begin < end:
        for q in range(begin, end):
            low, high = offsets[q], offsets[q + 1]
            if low == high:
                value[q] = 0.0
                continue
            ranks = min(cutoffs[q], high - low)
            d_low, d_high = (low, high) if derive else (0, 0)
            undamped = math.inf
            if wanted.kind == FLOW:
                undamped = 0.0 if family == PLAIN else wanted.least[q]
            most, tiny = 1.0, all_tiny(gains, low, high)
            if tiny:
                as_before(before)
            for _ in range(2):
                value[q], most = _query_expectation(
                    block, short, engine, law, family, scores[low:high], gains[low:high], ranks, smooth, discount,
                    sigma, h, tol, nobody, derive, undamped, most, space, room, grad[d_low:d_high],
                    push[d_low:d_high], hess[d_low:d_high],
                )  # fmt: skip
                if most == 0.0:
                    break
            to_curvature(wanted, q, d_low, d_high, gains, grad, push, hess)
            if tiny:
                flush_underflow(usual)
        begin, end = claim(ranges)
    as_before(before)
