"""Metrics of one given order, by loops: labels come in rank order, best rank first; one strict order, no ties.

A query on which the metric is undefined (nothing relevant) has the value 0.
"""

from __future__ import annotations

import math


def gain_of(label, gain="exp2") -> float:
    """2^label - 1 ("exp2"), label ("linear"), or gain[label] for a table of gains."""
    if isinstance(gain, str):
        return {"exp2": 2.0 ** float(label) - 1.0, "linear": float(label)}[gain]
    return float(gain[int(label)])


def discount_of(rank: int, discount="log2") -> float:
    """1/log2(1 + rank) ("log2"), 1/rank ("reciprocal"), or discount[rank - 1] (0 past its end)."""
    if isinstance(discount, str):
        return {"log2": 1.0 / math.log2(1 + rank), "reciprocal": 1.0 / rank}[discount]
    return float(discount[rank - 1]) if rank <= len(discount) else 0.0


def dcg(labels, k=None, *, gain="exp2", discount="log2") -> float:
    """Sum over the ranks r <= k of gain(label) * discount(r)."""
    return math.fsum(gain_of(y, gain) * discount_of(r, discount) for r, y in enumerate(labels[:k], 1))


def ideal_dcg(labels, k=None, *, gain="exp2", discount="log2") -> float:
    """The DCG of the order that sorts the gains downwards."""
    best_first = sorted(labels, key=lambda y: -gain_of(y, gain))
    return dcg(best_first, k, gain=gain, discount=discount)


def ndcg(labels, k=None, *, gain="exp2", discount="log2") -> float:
    """DCG divided by the ideal DCG at the same cutoff."""
    ideal = ideal_dcg(labels, k, gain=gain, discount=discount)
    return dcg(labels, k, gain=gain, discount=discount) / ideal if ideal > 0 else 0.0


def cg(labels, k=None, *, gain="exp2") -> float:
    """Sum of the gains of the ranks r <= k."""
    return math.fsum(gain_of(y, gain) for y in labels[:k])


def precision(labels, k=None, *, relevant_from=1) -> float:
    """Relevant documents among the first k, divided by k even where k > n; by n where there is no cutoff."""
    hits = sum(1 for y in labels[:k] if y >= relevant_from)
    return hits / (len(labels) if k is None else k)


def recall(labels, k=None, *, relevant_from=1) -> float:
    """Relevant documents among the first k, divided by all relevant documents of the query."""
    relevant = sum(1 for y in labels if y >= relevant_from)
    return sum(1 for y in labels[:k] if y >= relevant_from) / relevant if relevant else 0.0


def rbp(labels, k=None, *, p=0.8, relevant_from=1) -> float:
    """Sum over the relevant ranks r <= k of (1 - p) p^(r - 1)."""
    return math.fsum((1 - p) * p ** (r - 1) for r, y in enumerate(labels[:k], 1) if y >= relevant_from)


def mrr(labels, k=None, *, relevant_from=1) -> float:
    """1/rank of the first relevant document, 0 if that rank is past k."""
    for r, y in enumerate(labels[:k], 1):
        if y >= relevant_from:
            return 1.0 / r
    return 0.0


def probability_of(label, p_rel="exp2", max_label=4) -> float:
    """(2^label - 1) / 2^max_label ("exp2"), label ("label"), or p_rel[label] for a table."""
    if isinstance(p_rel, str):
        return {"exp2": (2.0 ** float(label) - 1.0) / 2.0**max_label, "label": float(label)}[p_rel]
    return float(p_rel[int(label)])


def err(labels, k=None, *, p_rel="exp2", max_label=4) -> float:
    """Sum over r <= k of P_r/r * prod_{q<r} (1 - P_q)."""
    total, still_looking = 0.0, 1.0
    for r, y in enumerate(labels[:k], 1):
        satisfied = probability_of(y, p_rel, max_label)
        total += still_looking * satisfied / r
        still_looking *= 1.0 - satisfied
    return total


def pfound(labels, k=None, *, p_break=0.15, p_rel="label", max_label=4) -> float:
    """Sum over r <= k of (1 - p_break)^(r - 1) P_r prod_{q<r} (1 - P_q)."""
    total, looks = 0.0, 1.0
    for y in labels[:k]:
        found = probability_of(y, p_rel, max_label)
        total += looks * found
        looks *= (1.0 - found) * (1.0 - p_break)
    return total


def f1(labels, k=None, *, relevant_from=1) -> float:
    """2 hits / (k + relevant), hits the relevant documents among the first k; without a cutoff k is n."""
    relevant = sum(1 for y in labels if y >= relevant_from)
    hits = sum(1 for y in labels[:k] if y >= relevant_from)
    return 2 * hits / ((len(labels) if k is None else k) + relevant) if relevant else 0.0


def average_precision(labels, k=None, *, relevant_from=1, normalizer="relevant") -> float:
    """Sum over the relevant ranks r <= k of (relevant among the first r)/r, divided by one of

    "relevant": all relevant documents; "min": min(k, relevant); "retrieved": the relevant among the first k;
    "k": k, or n where there is no cutoff.
    """
    hits, total = 0, 0.0
    for r, y in enumerate(labels[:k], 1):
        if y >= relevant_from:
            hits += 1
            total += hits / r
    relevant = sum(1 for y in labels if y >= relevant_from)
    depth = len(labels) if k is None else k
    divisor = {"relevant": relevant, "min": min(depth, relevant), "retrieved": hits, "k": depth}[normalizer]
    return total / divisor if hits else 0.0


def bpref(labels, k=None, *, relevant_from=1) -> float:
    """Mean over the R relevant documents of 1 - min(nonrelevant above, R)/min(R, N); 1 where none is above.

    N counts the documents judged nonrelevant. A negative label says "not judged": such a document has a rank,
    and is above nobody. Relevant documents past rank k earn 0 and still count in R.
    """
    relevant = sum(1 for y in labels if y >= relevant_from)
    nonrelevant = sum(1 for y in labels if 0 <= y < relevant_from)
    total, above = 0.0, 0
    for y in labels[:k]:
        if y >= relevant_from:
            total += 1.0 - min(above, relevant) / min(relevant, nonrelevant) if above else 1.0
        elif y >= 0:
            above += 1
    return total / relevant if relevant else 0.0
