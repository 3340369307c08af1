"""The mean over the orders of tied documents at any n, where enumeration ends: rank by rank, without closed forms.

Documents are drawn into the ranks of a block without replacement. One query at a time, labels of at least 0.
"""

from __future__ import annotations

import math

import numpy as np

from boostsoft.kernels.families import ABSORBING, PLAIN
from boostsoft.metrics.registry import REGISTRY

from . import oracle
from .cases import arguments
from .oracle_hard import probability_of


def mean_over_ties(name, labels, scores, k=None, **options):
    """As ``cases.by_definition``, for long queries."""
    given = arguments(name, k, options)
    family = REGISTRY[name].family
    if family == PLAIN:
        return oracle.hard_expected_ties_large(name, labels, scores, **given)
    if REGISTRY[name].pairwise:
        return _of_pairs(name, labels, scores, **options)
    cutoff = min(given.pop("k") or len(labels), len(labels))
    blocks = [np.asarray(labels)[block] for block in oracle.tie_blocks(scores)]
    if family == ABSORBING:
        return math.fsum(_of_cascade(blocks, cutoff, *_cascade(name, **given)))
    return _of_walk(name, blocks, cutoff, len(labels) if k is None else k, **given)


def cascade_by_rank(name, labels, scores, depth):
    """Of a metric that absorbs, what each of the first ranks adds: its mean at every cutoff up to there by one walk."""
    given = arguments(name, depth, {})
    blocks = [np.asarray(labels)[block] for block in oracle.tie_blocks(scores)]
    return _of_cascade(blocks, given.pop("k"), *_cascade(name, **given))


def _of_pairs(name, labels, scores, **options):
    """A pair of equal scores is in either order as often as in the other."""
    if name == "pnr":
        wrong, pairs = _of_pairs("discordant", labels, scores), oracle.unequal_pairs(labels)
        return pairs / wrong - 1 if wrong else math.inf
    above = 0.5 * (1 + np.sign(np.subtract.outer(scores, scores)))
    return float((oracle.pair_form(name, labels, **options) * above).sum())


def _cascade(name, p_rel="exp2", max_label=4, p_break=0.15, relevant_from=1):
    """Probability of a label, and worth of a rank."""
    if name == "mrr":
        return lambda label: float(label >= relevant_from), lambda rank: 1 / rank
    worth = (lambda rank: 1 / rank) if name == "err" else (lambda rank: (1 - p_break) ** (rank - 1))
    return lambda label: probability_of(label, p_rel, max_label), worth


def _of_cascade(blocks, cutoff, probability, worth):
    """What each rank adds.

    The reader passes i documents with chance E_i and stops at the next one with chance F_i, on average over sets.
    """
    added, rank, through = [], 0, 1.0
    for block in blocks:
        drawn = min(len(block), cutoff - rank)
        if drawn <= 0:
            break
        i = np.arange(1, drawn + 1)
        passes, stops = (np.arange(drawn + 1) == 0) * 1.0, np.zeros(drawn + 1)
        for seen, label in enumerate(block, 1):
            p = probability(label)  # this document is among the first i, at place i, or left out
            left_out = np.maximum(1 - i / seen, 0)
            stops[1:] = (i - 1) / seen * (1 - p) * stops[:-1] + p / seen * passes[:-1] + left_out * stops[1:]
            passes[1:] = i / seen * (1 - p) * passes[:-1] + left_out * passes[1:]
        added += [through * worth(rank + j) * stops[j] for j in i]
        rank, through = rank + len(block), through * math.prod(1 - probability(label) for label in block)
    return added


def _of_walk(name, blocks, cutoff, depth, relevant_from=1, normalizer="relevant"):
    """map and bpref: the chance of h relevant documents among the ranks drawn, and what was earned until then."""
    everything = np.concatenate(blocks)
    relevant, irrelevant = (everything >= relevant_from).sum(), (everything < relevant_from).sum()
    rank, above, earned = 0, 0, 0.0
    for block in blocks:
        n, r = len(block), int((block >= relevant_from).sum())
        hits = np.arange(r + 1)
        chance, sums = (hits == 0) * 1.0, (hits == 0) * earned
        for i in range(min(n, cutoff - rank)):
            if name == "map":
                credit = (above + hits + 1) / (rank + i + 1)
            else:
                against = np.minimum(rank + i - above - hits, relevant)
                credit = 1 - np.maximum(against, 0) / max(min(relevant, irrelevant), 1)
            step = np.maximum(r - hits, 0) / (n - i)  # the next one is relevant
            moved, kept = step * (sums + chance * credit), (1 - step) * sums
            chance, sums = np.r_[0.0, (step * chance)[:-1]] + (1 - step) * chance, np.r_[0.0, moved[:-1]] + kept
        if rank + n >= cutoff:
            break
        rank, above, earned = rank + n, above + r, sums[r]
    if normalizer == "retrieved":
        return math.fsum(sums[above + hits > 0] / (above + hits)[above + hits > 0])
    return math.fsum(sums) / {"relevant": relevant, "min": min(depth, relevant), "k": depth}[normalizer]
