"""How fine the rule of a query has to be: the error that is promised is relative to its largest gradient."""

from __future__ import annotations

import math

import numpy as np

from .compile import merged, routine
from .families import ABSORBING, MARKED, PLAIN
from .noise import GAUSSIAN, LOGISTIC, pair_flow, short_exponential
from .simd import LANES, larger, load, magnitude, splat, store

FLOW_FLOOR = 1e-9
# one document that moves among others: a Gaussian pair's flow at a greater distance; none from so far on
_ALONE, _FAR = math.sqrt(2.0), 60.0
_BESIDE = 0.5  # documents this near to another come to the cutoff as often
_ABOVE = 5.0  # documents further above a cutoff seldom come down to it
_TOGETHER = 1e-2  # documents this near to each other count as tied
_WORTH_LITTLE = 0.03  # of their number: documents with so few ranks of weight leave each a small share of them
# what may be left out, per tolerance: so much of K / n, and so much
NEGLIGIBLE, _NEGLIGIBLE_IN_CASCADES = (0.15, 5e-3), (0.01, 3e-4)
# of the K ranks those count that the first of them, or the best document of a cascade, leaves anything to: so many
# times what all discounts are worth together, and so many
_STEEPNESS, _MOST_IN_CASCADES = 2.25, 30.0
# documents that are many: if their largest gradient is below so much of what it was taken for, or the terms that it is
# a difference of above so many times itself, it is computed again, for so much of it
_MANY, _OVERRATED, _CANCELLED, _MORE_DIGITS = 33, 0.6, 2.0, 0.3
# decimal digits that the "fast" step gives, for the error falls exponentially in 1 / h; those of them that are not
# promised, under Gaussian and Gumbel noise where a cutoff lies in a list, under Gaussian noise otherwise, and the rest
_RULE_DIGITS, _FEW_SPARE, _SPARE, _MANY_SPARE = 7.5, 1.2, 1.7, 2.0


@routine
def _lift(gaps, ranks, j, lower, squares):
    """How far above the document at the cutoff the noise lets the cutoff lie, of j documents under Gaussian noise.

    They are taken for a normal crowd; ``lower`` and ``squares`` are sums of the distances of those behind the cutoff.
    """
    higher, i = 0.0, ranks - 1
    while i > 0 and higher + gaps[i] < _FAR:
        higher += gaps[i]
        lower, squares = lower - higher, squares + higher * higher
        i -= 1
    j -= i  # those before are certain
    mean = -lower / j
    t = math.sqrt(-2.0 * math.log((ranks - i) / j))
    quantile = t - (2.30753 + 0.27061 * t) / (1.0 + t * (0.99229 + 0.04481 * t))  # Abramowitz and Stegun, 26.2.22
    return max(mean + math.sqrt(max(squares / j - mean * mean, 0.0) + 1.0) * quantile, 0.0)


@routine
def ranks_worth(discount, ranks):
    """The largest discount, and the number of ranks of that weight that all are worth together."""
    largest, total = 0.0, 0.0
    for r in range(ranks):
        largest = max(largest, abs(discount[r]))
        total += abs(discount[r])
    return largest, total / largest if largest > 0.0 else 1.0


@routine
def _tied_from(coef, gaps, first, n):
    """The end of the documents that stand together from ``first`` on, and their least, greatest and mean gain."""
    low, high, total, span, last = coef[first], coef[first], coef[first], 0.0, first + 1
    while last < n and span + gaps[last] <= _TOGETHER:
        span += gaps[last]
        low, high, total = min(low, coef[last]), max(high, coef[last]), total + coef[last]
        last += 1
    return last, low, high, total / (last - first)


@routine
def _left(gaps, ranks, first, last, n):
    """How many are left behind the cutoff for each before it, at most 1, of a crowd around documents first..last."""
    begin, end, beside = first, last, 0.0
    while begin > 0 and beside + gaps[begin] < _BESIDE:
        beside += gaps[begin]
        begin -= 1
    beside = 0.0
    while end < n and end - ranks < ranks - begin and beside + gaps[end] < _BESIDE:
        beside += gaps[end]
        end += 1
    return min(1.0, (end - ranks) / max(ranks - begin, 1))


@routine
def _flow_over(law, gaps, ranks, j, distance, lower, squares):
    """The flow to a document that comes up to the cutoff over a crowd; j documents are before it in all."""
    if law == GAUSSIAN:
        return pair_flow(law, _ALONE * (distance + _lift(gaps, ranks, j, lower, squares)))
    first, above = ranks - 1, 0.0
    while first > 0 and above + gaps[first] < _ABOVE:
        above += gaps[first]
        first -= 1
    return pair_flow(law, distance) * (ranks - first) / (j - first)  # those before are certain


@routine
def _fill_shares(gaps, discount, ranks, n, shares):
    """What the ranks from each document's own on are worth to it, all documents being alike.

    Under noise with an exponential tail those at and behind it compete by the exponentials of their scores: one of many
    is seldom where a steep discount falls, however near its neighbours are.
    """
    for j in range(0, n, LANES):
        store(shares, j, short_exponential(splat(0.0) - load(gaps, j)))
    rivals, worth = 0.0, 0.0
    for j in range(n - 1, -1, -1):
        step = shares[j]
        rivals, worth = rivals + 1.0, worth + (abs(discount[j]) if j < ranks else 0.0)
        shares[j] = worth / rivals
        rivals, worth = rivals * step, worth * step


@routine
def _flow_from_behind(law, coef, gaps, discount, ranks, low, high, n):
    """That of the first document behind the cutoff whose gain is another than all of the crowd's at it, if it has one.

    It has to come all the way up among others.
    """
    j, distance, lower, squares = ranks, 0.0, 0.0, 0.0
    while j < n and low == high and distance < _FAR:
        last, lowest, highest, _ = _tied_from(coef, gaps, j, n)
        distance += gaps[j]
        if lowest < low or highest > low:
            if distance >= _FAR:
                break
            fellows, beside, i = 0.0, 0.0, j + 1
            while i < n and beside + gaps[i] < _BESIDE:  # they come up as soon as it does
                beside += gaps[i]
                fellows += 1.0
                i += 1
            flow = _flow_over(
                law, gaps, ranks, j + fellows, distance, lower + fellows * distance,
                squares + fellows * distance * distance,
            )  # fmt: skip
            flow *= _left(gaps, ranks, j, last, n)
            return max(highest - low, low - lowest) * abs(discount[ranks - 1]) * flow
        lower, squares = lower + distance, squares + distance * distance
        for i in range(j + 1, last):
            distance += gaps[i]
            lower, squares = lower + distance, squares + distance * distance
        j = last
    return 0.0


@routine
def faintness(family, law, coef, gaps, discount, heaviest, worth, ranks, n, shares):
    """The largest flow between neighbours of different gain, relative to the natural scale: 1e-9 to 1; and that scale.

    Or to the first such document behind the cutoff, which lies the higher the more documents crowd there. About the
    largest gradient, unless many of different gains crowd; then it is an underestimate that only costs nodes, or an
    overestimate where a steep discount leaves nearly all of them nothing (``overrated``).
    Documents that stand together may be in any order: if it mattered, the value would jump where scores are tied.
    ``worth`` is that of ``ranks_worth``, ``shares`` room for a number of each document.
    """
    shared = law != GAUSSIAN and worth < _WORTH_LITTLE * n  # whose rule has digits to spare there
    if shared:
        _fill_shares(gaps, discount, ranks, n, shares)
    top, largest, through, reached = 0.0, 0.0, 1.0, 0.0
    for j in range(n):
        top = max(top, coef[j])
    first, low_above, high_above, mean_above, size_above = np.int64(0), coef[0], coef[0], coef[0], np.int64(1)
    while first < n:
        last, low, high, mean = _tied_from(coef, gaps, first, n)
        if 0 < first <= ranks:  # of two crowds, one document of another gain moves among all of them
            apart = max(high_above - low, high - low_above) / max(size_above, last - first)
            flow = reached * pair_flow(law, gaps[first])
            if first == ranks:
                flow *= _left(gaps, ranks, first, last, n)
            if shared:
                flow = min(flow, through * shares[first - size_above])
            largest = max(largest, max(apart, abs(mean_above - mean)) * flow)
        if first >= ranks:
            break
        steepest, fall, left, size = 0.0, 0.0, 1.0, last - first
        for j in range(first, min(last, ranks)):  # the last one's fall is to the next document, if that is another
            steepest = max(steepest, fall)
            fall = abs(discount[j] - (discount[j + 1] if j + 1 < ranks else 0.0))
        if last > ranks:
            steepest = max(steepest, fall)
        deep = ranks
        if family == ABSORBING and mean * ranks > 1.0:  # whoever reads on does so for so many of them
            deep = min(ranks, first + 1 + np.int64(1.0 / mean))
        flow = pair_flow(law, 0.0) if last <= deep else _flow_over(law, gaps, deep, last, 0.0, 0.0, 0.0)
        if last > deep:  # few are left behind the cutoff: as many as can change places over it
            flow *= min(1.0, (last - deep) / (deep - first)) if deep < ranks else _left(gaps, ranks, first, last, n)
        flow *= steepest
        if shared:
            flow = min(flow, shares[first])
        largest = max(largest, through * (high - low) * flow)
        reached = through * fall
        if family == ABSORBING:  # what is above leaves so much for those below to change
            for j in range(first, last):
                left *= 1.0 - coef[j]
            reached *= left ** ((size - 1) / size)
            through *= left ** (min(size, ranks - first) / size)
        first, low_above, high_above, mean_above, size_above = last, low, high, mean, size
    largest = max(largest, through * _flow_from_behind(law, coef, gaps, discount, ranks, low_above, high_above, n))
    scale = top * heaviest
    return min(max(largest / scale, FLOW_FLOOR), 1.0) if scale > 0.0 else 1.0, scale


@routine
def overrated(family, law, gradient, push, n, scale, faint, scratch):
    """How faint a query is to be taken whose gradient was found to be less than it was taken for, or 0 if none was.

    Either it is far fainter, or it is a small difference of large terms, which ``push`` tells: where all but a few of a
    crowd have the same gain. Both need more of the rule's digits. Few documents, and laws with an exponential tail but
    in average precision, have digits enough.
    """
    if (law != GAUSSIAN and family != MARKED) or n < _MANY or faint <= FLOW_FLOOR or scale <= 0.0:
        return 0.0
    largest, terms = _largest(gradient, n, scratch), _largest(push, n, scratch)
    if largest >= _OVERRATED * faint * scale and terms <= _CANCELLED * largest:
        return 0.0
    return max(_MORE_DIGITS * largest / scale, FLOW_FLOOR)


@routine
def _largest(values, n, scratch):
    """The largest of n sizes."""
    sizes, rest = splat(0.0), n - n % LANES
    for j in range(0, rest, LANES):
        sizes = larger(sizes, magnitude(load(values, j)))
    store(scratch, 0, sizes)
    largest = 0.0
    for i in range(LANES):
        largest = max(largest, scratch[i])
    for j in range(rest, n):
        largest = max(largest, abs(values[j]))
    return largest


@merged
def precision(family, law, worth, ranks, n, h, tol, faint):
    """The rule's step, and the probability of what is left out, for a query of this faintness."""
    share, most = NEGLIGIBLE if family == PLAIN else _NEGLIGIBLE_IN_CASCADES
    counted = min(ranks, _STEEPNESS * worth if family == PLAIN else _MOST_IN_CASCADES)
    eps = tol * min(share * counted / n, most) * faint
    # equal gains close together leave the rule's error where faint gradients are: these need more of its digits
    spare = _MANY_SPARE
    if law != LOGISTIC and ranks < n:
        spare = _FEW_SPARE
    elif law == GAUSSIAN:
        spare = _SPARE
    h *= _RULE_DIGITS / (_RULE_DIGITS + max(-math.log10(faint) - spare, 0.0))
    return h, eps
