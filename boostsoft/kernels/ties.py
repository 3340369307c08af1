"""What a block of documents of equal score is worth on average over its orders, without enumerating them.

A block holds documents ``first .. last - 1`` (ranks from 0) of one query, of which ``ranks`` count; ``coef`` is
in rank order. ``law`` is room for as many numbers and one more, ``laws`` for twice as many. Sources: McSherry and
Najork 2008 for average precision; the others follow from the law of a random subset, the hypergeometric one.
"""

from __future__ import annotations

import math

import numpy as np

from .compile import kernel
from .simd import pointer

_NEGLIGIBLE = 1e-20


@kernel
def plain_block(coef, discount, first, last, ranks):
    """Every document is worth its coefficient times the mean discount."""
    gain, weight = 0.0, 0.0
    for j in range(first, last):
        gain += coef[j]
    for j in range(first, min(last, ranks)):
        weight += discount[j]
    return gain * weight / (last - first)


@kernel
def _log_choose(n, k):
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


@kernel
def draw_law(total, marked, drawn, law):
    """P(h of the drawn are marked) into ``law`` for h = low .. high, and (low, high): what holds all but 1e-16."""
    mean = drawn * marked / total
    # their deviation: of one much wider the first term would underflow, where most are drawn
    half = 9.0 * math.sqrt(mean * (1.0 - marked / total) * (1.0 - drawn / total)) + 30.0
    low = max(0, drawn + marked - total, int(mean - half))
    high = min(marked, drawn, int(mean + half))
    term = math.exp(
        _log_choose(marked, low) + _log_choose(total - marked, drawn - low) - _log_choose(total, drawn)
    )  # fmt: skip
    mass = 0.0
    for h in range(low, high + 1):
        law[h - low] = term
        mass += term
        term *= (marked - h) * (drawn - h) / ((h + 1.0) * (total - marked - drawn + h + 1.0))
    for h in range(high - low + 1):
        law[h] /= mass  # the logarithms of large factorials leave an error that is common to all terms
    return low, high


@kernel
def subset_means(coef, first, last, most, means):
    """Mean over subsets of h <= ``most`` documents of the product of 1 - coef, for h = 0, 1, ...; the last h kept.

    The coefficients rise: then the means of large subsets, once negligible, stay so, and are left out.
    """
    means[0], kept, seen = 1.0, 0, 0
    for j in range(first, last):
        seen += 1
        through = 1.0 - coef[j]
        if kept == seen - 1 and kept < most:
            means[seen] = means[kept] * through
            grown = means[seen] > _NEGLIGIBLE
        else:
            grown = False
        for h in range(kept, 0, -1):
            share = h / seen
            means[h] = (1.0 - share) * means[h] + share * through * means[h - 1]
        kept += grown
    return kept


@kernel
def absorbing_block(coef, discount, first, last, ranks, before, laws):
    """With E_i the mean product of 1 - coef over i documents: sum over ranks of D (E_(i-1) - E_i).

    The coefficients rise within the block.
    ``before[0]`` is the product over the documents above, and afterwards includes the block.
    """
    n, drawn, relevant_from, through = last - first, min(last, ranks) - first, first, 1.0
    while relevant_from < last and coef[relevant_from] == 0.0:
        relevant_from += 1
    relevant = last - relevant_from
    for j in range(relevant_from, last):
        through *= 1.0 - coef[j]
    means, law = laws, pointer(laws, relevant + 1)
    kept = subset_means(coef, relevant_from, last, drawn, means)
    value, old = 0.0, 1.0
    for i in range(1, drawn + 1):
        low, high = draw_law(n, relevant, i, law)
        new = 0.0
        for h in range(low, min(high, kept) + 1):
            new += law[h - low] * means[h]
        value += discount[first + i - 1] * (old - new)
        old = new
        if old < _NEGLIGIBLE:
            break
    value *= before[0]
    before[0] *= through
    return value


@kernel
def _precisions(hits, above, drawn, sums):
    """Sum of precisions at the relevant ranks, if ``hits`` of the drawn ranks are relevant, on average."""
    slope = (hits - 1.0) / (drawn - 1.0) if drawn > 1 else 0.0
    return hits / drawn * ((above + 1.0) * sums[0] + slope * sums[1])


@kernel
def marked_block(coef, discount, first, last, ranks, before, law, value, retrieved):
    """Average precision so far plus the block's; ``before[1]`` counts the relevant documents above.

    With ``retrieved``, a block across the cutoff gives the mean of the sum divided by the relevant documents
    within the cutoff, whose number is then random.
    """
    n, drawn, relevant = last - first, min(last, ranks) - first, np.int64(0)
    for j in range(first, last):
        relevant += coef[j] > 0.0
    sums = (0.0, 0.0)
    for i in range(drawn):
        sums = (sums[0] + discount[first + i], sums[1] + i * discount[first + i])
    if drawn == n or not retrieved:
        before[1] += relevant
        slope = (relevant - 1.0) / (n - 1.0)
        return value + relevant / n * ((before[1] - relevant + 1.0) * sums[0] + slope * sums[1])
    low, high = draw_law(n, relevant, drawn, law)
    mean = 0.0
    for h in range(low, high + 1):
        if before[1] + h > 0.0:
            mean += law[h - low] * (value + _precisions(h, before[1], drawn, sums)) / (before[1] + h)
    before[1] = 1.0  # the division is done
    return mean


@kernel
def credit(against, totals):
    """What bpref gives a relevant document with so many irrelevant ones above; totals are R and N."""
    if against == 0.0 or totals[0] == 0.0:
        return 1.0
    return 1.0 - min(against, totals[0]) / min(totals[0], totals[1])


@kernel
def judged_block(coef, first, last, ranks, before, totals, law):
    """Bpref's credits of a block: the irrelevant documents of the block that end above are random."""
    n, drawn = last - first, min(last, ranks) - first
    relevant, irrelevant = np.int64(0), np.int64(0)  # literals would compile draw_law once more
    for j in range(first, last):
        relevant += coef[j] > 0.0
        irrelevant += coef[j] == 0.0
    value = 0.0
    if drawn == n:  # of a relevant document and the irrelevant ones, any order is as likely
        for h in range(irrelevant + 1):
            value += relevant / (irrelevant + 1.0) * credit(before[2] + h, totals)
    elif relevant > 0:
        for i in range(drawn):
            low, high = draw_law(n - 1, irrelevant, i, law)
            for h in range(low, high + 1):
                value += relevant / n * law[h - low] * credit(before[2] + h, totals)
    before[2] += irrelevant
    return value
