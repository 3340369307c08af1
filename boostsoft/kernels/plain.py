"""A block of eight nodes of a plain metric: most documents by their odds, the nearly certain ones by rows."""

from __future__ import annotations

from .block import fill_laws, sums_from, sweep
from .compile import kernel, merged, routine
from .families import PLAIN
from .moments import divide_by_moments, finish_by_moments, settle, start_by_moments
from .noise import GUMBEL
from .odds import (
    FAINT_TERMS,
    divide_picked,
    divide_plain,
    fill_odds,
    finish_polynomials,
    first_below,
    first_divisible,
    laws_from_odds,
    multiply_picked,
    multiply_plain,
    odds_reach,
    set_up_polynomials,
    start_with_faint,
    sum_faint,
)
from .recursion import close_row
from .simd import LANES, lane_sum, load, pointer, splat, store
from .workspace import GUARD, ODDS, PAD, arrays

_FEWEST_FAINT = 8  # fewer documents far below are not worth their polynomial


@routine
def cover(places, end, nobody):
    """Put nobody behind the end of a list, which is read in groups of up to four; returns what was there."""
    kept = (places[end], places[end + 1], places[end + 2])
    for c in range(3):
        places[end + c] = nobody
    return kept


@routine
def uncover(places, end, kept):
    """Put back what was there."""
    for c in range(3):
        places[end + c] = kept[c]


@routine
def uncertain(law, x, u, low, high, faint_below):
    """The first document whose odds are of use at all eight nodes, and the first of those far below, if they pay."""
    edge, limit = x[LANES - 1] + odds_reach(law), x[LANES - 1] - faint_below
    begin = low
    while begin < high and u[begin] > edge:
        begin += 1
    far = first_below(u, begin, high, limit)
    return begin, far if high - far >= _FEWEST_FAINT else high


@routine
def clear_polynomials(ranks, A0, A1):
    """Nothing before the first power, and no document picked."""
    nothing = splat(0.0)
    for i in range(0, LANES * PAD, LANES):
        store(A0, i, nothing)
    for i in range(0, LANES * (PAD + ranks), LANES):
        store(A1, i, nothing)


@merged
def start_polynomials(coef, lists, bounds, ends, ranks, T, V, A0):
    """A0 of the faint documents, which lie between the bounds' and the lists' ends; their picks, and the scale."""
    powers, picks = sum_faint(T, V, coef, lists[0], lists[1], (bounds[1], ends[0], bounds[3], ends[1]))
    return picks, start_with_faint(powers, ranks, A0)


@merged
def multiply_documents(coef, lists, bounds, nobody, ranks, T, V, A0, A1, scale):
    """Multiply both by the listed documents between the bounds; what all are to be divided by in a plain metric."""
    plain, picked = lists
    plain_begin, plain_end, picked_begin, picked_end = bounds
    kept_plain, kept_picked = cover(plain, plain_end, nobody), cover(picked, picked_end, nobody)
    scale = multiply_plain(T, plain, plain_begin, plain_end, ranks, A0, scale)
    scale = multiply_picked(T, V, coef, picked, picked_begin, picked_end, ranks, A0, A1, scale)
    uncover(plain, plain_end, kept_plain)
    uncover(picked, picked_end, kept_picked)
    return scale


@merged
def set_plain_terminal(discount, low, ranks, weights, back):
    """The discounts times the nodes' weights and their differences; nothing of a second pick; zeros behind."""
    at, nothing = load(weights, 0), splat(0.0)
    for c in range(ranks):
        here = discount[low + c]
        store(back[0], LANES * c, at * splat(here))
        store(back[3], LANES * c, at * splat(here - (discount[low + c + 1] if c + 1 < ranks else 0.0)))
        store(back[4], LANES * c, nothing)
    for c in range(ranks, ranks + 2):
        store(back[0], LANES * c, nothing)
        store(back[3], LANES * c, nothing)
        store(back[4], LANES * c, nothing)


@merged
def bare_value(A1, B1, ranks):
    """The value where all documents are in the polynomials."""
    total = splat(0.0)
    for i in range(0, LANES * ranks, LANES):
        total = total + load(A1, LANES * PAD + i) * load(B1, i)
    return lane_sum(total)


@merged
def set_head(law, x, low, known, mid, ranks, tail, space):
    """Laws of documents low..mid, from ``known`` on by their odds, and a first row: the tail's polynomials."""
    rows, laws, (u, _, _), (T, V, _) = space.rows, space.laws, space.documents, space.odds.laws
    fill_laws(law, LANES, x, u, low, known, laws)
    laws_from_odds(law, x, u, low, known, mid, T, V, laws)
    start, stop = space.limits
    for j in range(mid - low + 1):
        start[j], stop[j] = 0, LANES * ranks
    for state in range(len(tail)):
        for i in range(0, LANES * ranks, LANES):
            store(rows[state], GUARD + i, load(tail[state], LANES * PAD + i))
        close_row(rows[state], GUARD, 0, LANES * ranks)


@merged
def _head_value(law, x, weights, least, low, known, mid, ranks, derive, tail, space):
    """Documents low..mid by rows that begin with the tail's polynomials; leaves in ``back`` what the tail meets."""
    set_head(law, x, low, known, mid, ranks, tail, space)
    here = sums_from(space.sums, low)
    return sweep(
        ODDS, PLAIN, LANES, law, pointer(space.documents[1], low), least, weights, mid - low, LANES * ranks, derive,
        space.laws, space.limits, space.rows, space.saved, space.back, here,
    )  # fmt: skip


@kernel
def odds_block(
    law, family, filled, first, low, high, ranks, nobody, derive, least, growth, spread, faint_below, discount, f, at,
    i, place,
):  # fmt: skip
    """Value of a block of nodes over documents low..high, all above ``low`` being certain.

    The arguments are those of every block (``blocks``): the last four are the workspace.
    """
    space = arrays(f, at, i, place)
    u, coef, _ = space.documents
    x, weights, back, tally = space.nodes.x, space.nodes.weights, space.back, space.tally
    lists, before, (T, V, factors) = space.odds.lists, space.odds.plain_before, space.odds.laws
    tail, series, found, moments = space.odds.tail, space.odds.series, space.odds.found, space.odds.moments
    plain, picked = lists
    begin, far = uncertain(law, x, u, low, high, faint_below)
    brief = growth > 0.0  # the odds' shorter laws serve the rows too; without odds, rows have the full ones
    by_moments = law == GUMBEL and far < high
    seen = far if by_moments else high
    fill_odds(law, x, u, low if brief else begin, seen, factors, T, V)
    mid = first_divisible(T, begin, far, ranks, growth)
    plain_begin, plain_far, plain_end = before[mid - first], before[far - first], before[high - first]
    picked_begin, picked_far, picked_end = mid - first - plain_begin, far - first - plain_far, high - first - plain_end
    # what the benchmark counts: nodes; cells of rank x document x node; documents x nodes
    tally[0] += filled
    tally[1] += LANES * ranks * (plain_far - plain_begin)
    tally[2] += LANES * ranks * (picked_far - picked_begin)
    tally[3] += LANES * ranks * (mid - low)
    tally[4] += LANES * (seen - (low if brief else begin))
    tally[5] += LANES * ranks * (high - far)
    set_plain_terminal(discount, low, ranks, weights, back)
    bounds = (plain_begin, plain_far, picked_begin, picked_far)
    ends = (plain_end, picked_end)
    clear_polynomials(ranks, tail[0], tail[1])
    picks = (splat(0.0), splat(0.0), splat(0.0))
    if by_moments:
        scale = start_by_moments(x, u, far, ranks, moments, tail[0])
    else:
        picks, scale = start_polynomials(coef, lists, bounds, ends, ranks, T, V, tail[0])
    scale = multiply_documents(coef, lists, bounds, nobody, ranks, T, V, tail[0], tail[1], scale)
    if by_moments:
        finish_by_moments(scale, ranks, moments, tail[0], tail[1])
    else:
        finish_polynomials(picks, scale, ranks, tail[0], tail[1])
    if mid > low:
        value = _head_value(law, x, weights, least, low, low if brief else mid, mid, ranks, derive, tail, space)
    else:
        value = bare_value(tail[1], back[0], ranks)
    if derive and mid < high:
        E, F, K, _, _ = series
        exact = derive == 2
        set_up_polynomials(tail[0], tail[1], back[0], back[3], back[4], ranks, mid > low, E, F, K)
        if by_moments:
            settle(first, far, coef, before, found, exact, moments)
            divide_by_moments(weights, ranks, E, F, K, exact, moments)
        terms = ranks
        for _ in range(1 + (seen > far)):  # those near, and with few terms those far below
            kept_plain, kept_picked = cover(plain, plain_far, nobody), cover(picked, picked_far, nobody)
            divide_plain(law, x, u, T, V, plain, plain_begin, plain_far, terms, F, exact, found[0], found[1])
            divide_picked(
                law, x, u, weights, coef, T, V, picked, picked_begin, picked_far, terms, E, F, K, exact, found[2],
                found[3],
            )  # fmt: skip
            uncover(plain, plain_far, kept_plain)
            uncover(picked, picked_far, kept_picked)
            plain_begin, plain_far, picked_begin, picked_far = plain_far, plain_end, picked_far, picked_end
            terms = min(terms, FAINT_TERMS)
    return value


@routine
def list_documents(coef, first, last, least, odds, derive):
    """Sort a cluster's documents into those without gain and those with, each by falling score."""
    (plain, picked), before, found = odds.lists, odds.plain_before, odds.found
    n_plain, n_picked = 0, 0
    for j in range(first, last):
        before[j - first] = n_plain
        worthless = coef[j] == 0.0 and least == 0.0
        plain[n_plain], picked[n_picked] = j, j  # a branch would be guessed wrong half of the time
        n_plain, n_picked = n_plain + worthless, n_picked + (1 - worthless)
    before[last - first] = n_plain
    if derive:
        for i in range(n_plain + 4):
            found[0][i], found[1][i] = 0.0, 0.0
        for i in range(4 * (n_picked + 4)):
            found[2][i], found[3][i] = 0.0, 0.0


@routine
def collect_without_gain(plain, n_plain, found, sums):
    """Add what the fall of documents without gain costs."""
    gradient, push, hessian, _, _, _, _ = sums
    for i in range(n_plain):
        j = plain[i]
        gradient[j] -= found[0][i]
        push[j] += found[0][i]
        hessian[j] -= found[1][i]


@routine
def collect_documents(coef, first, last, least, odds, sums):
    """Add what the lists have gathered to the documents' sums."""
    (plain, picked), before, found = odds.lists, odds.plain_before, odds.found
    gradient, push, hessian, _, drift, curl, _ = sums
    n_plain = before[last - first]
    collect_without_gain(plain, n_plain, found, sums)
    for i in range(last - first - n_plain):
        j, at = picked[i], 4 * i
        gradient[j] += coef[j] * found[2][at + 1] - found[2][at]
        push[j] += found[2][at] + least * found[2][at + 1]
        drift[j] += found[2][at + 2]
        hessian[j] += found[3][at]
        curl[j] += found[3][at + 1]


@routine
def collect_acting(coef, first, last, odds, sums):
    """The same where documents act on those below (``absorbed``, ``counted``)."""
    (plain, picked), before, found = odds.lists, odds.plain_before, odds.found
    gradient, push, hessian, mass, drift, curl, level = sums
    n_plain = before[last - first]
    collect_without_gain(plain, n_plain, found, sums)
    for i in range(last - first - n_plain):
        j, at = picked[i], 4 * i
        gradient[j] += coef[j] * found[2][at + 1] - found[2][at]
        push[j] += found[2][at]
        drift[j] += found[2][at + 2]
        mass[j] += found[2][at + 3]
        hessian[j] += found[3][at]
        curl[j] += found[3][at + 1]
        level[j] += found[3][at + 2]
