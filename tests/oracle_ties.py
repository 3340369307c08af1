"""Any metric by its name: of one order, and as the mean over the orders of tied documents."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import groupby, permutations, product

import numpy as np

from . import oracle_hard, oracle_pairs
from .oracle_hard import discount_of, gain_of, ideal_dcg
from .oracle_pairs import positives_over_negatives, unequal_pairs

HARD: dict[str, Callable[..., float]] = {
    "dcg": oracle_hard.dcg,
    "ndcg": oracle_hard.ndcg,
    "cg": oracle_hard.cg,
    "precision": oracle_hard.precision,
    "recall": oracle_hard.recall,
    "rbp": oracle_hard.rbp,
    "f1": oracle_hard.f1,
    "mrr": oracle_hard.mrr,
    "err": oracle_hard.err,
    "pfound": oracle_hard.pfound,
    "map": oracle_hard.average_precision,
    "bpref": oracle_hard.bpref,
    "auc": oracle_pairs.auc,
    "pnr": oracle_pairs.pnr,
    "kendall": oracle_pairs.kendall,
    "spearman": oracle_pairs.spearman,
    "discordant": oracle_pairs.discordant,
}
DISCOUNT_FAMILY = ("dcg", "ndcg", "cg", "precision", "recall", "rbp", "f1")
PAIR_FAMILY = ("auc", "pnr", "kendall", "spearman", "discordant")


def hard(name: str, labels_in_rank_order: Sequence, k: int | None = None, **options) -> float:
    """The metric of one order: labels_in_rank_order[0] is the label of the document at rank 1."""
    return HARD[name](list(labels_in_rank_order), k, **options)


def hard_of_orders(name: str, labels, orders: Iterable[Sequence[int]], k: int | None = None, **options) -> list[float]:
    """The metric of every order, once for each sequence of labels; an order has the best document's number first.

    In whatever order documents are past the cutoff: they are sorted there, for fewer sequences.
    """
    sequences = np.array(labels)[np.array(list(orders))]
    if k is not None and name not in PAIR_FAMILY:
        sequences[:, k:].sort(axis=1)

    @cache
    def of(sequence: tuple) -> float:
        return hard(name, sequence, k, **options)

    return [of(tuple(sequence)) for sequence in sequences.tolist()]


def in_rank_order(labels, scores, ties: str = "order") -> list:
    """Labels by falling score; tied documents as they came ("order") or worst label first ("worst")."""
    within = {"order": lambda i: i, "worst": lambda i: labels[i]}[ties]
    return [labels[i] for i in sorted(range(len(scores)), key=lambda i: (-scores[i], within(i)))]


def tie_blocks(scores) -> list[list[int]]:
    """Documents by falling score, documents of equal score together."""
    falling = sorted(range(len(scores)), key=lambda i: -scores[i])
    return [list(block) for _, block in groupby(falling, key=lambda i: scores[i])]


def hard_expected_ties(name: str, labels, scores, k: int | None = None, **options) -> float:
    """Mean over all orders of the tied documents, by enumeration: the product of (block size)! orders.

    pnr is the ratio of the mean counts: its own mean would be infinite as soon as one order is faultless.
    """
    if name == "pnr":
        wrong = hard_expected_ties("discordant", labels, scores, k, **options)
        return positives_over_negatives(unequal_pairs(labels), wrong)
    orders = product(*(permutations(block) for block in tie_blocks(scores)))
    values = hard_of_orders(name, labels, ([i for block in order for i in block] for order in orders), k, **options)
    return math.fsum(values) / len(values)


def linear_form(name: str, labels, k: int | None = None, **options) -> tuple[np.ndarray, np.ndarray]:
    """Gains g (n,) and discounts D (n,) with metric = sum_i g_i D[rank_i - 1] for every order.

    Exists for DISCOUNT_FAMILY. D is 0 past k; all divisors (ideal DCG, k, number relevant) are inside D.
    """
    n = len(labels)
    gain, discount = options.get("gain", "exp2"), options.get("discount", "log2")
    p = options.get("p", 0.8)
    relevant = [float(y >= options.get("relevant_from", 1)) for y in labels]
    gains = [gain_of(y, gain) for y in labels] if name in ("dcg", "ndcg", "cg") else relevant
    weight_at_rank, divisor = {
        "dcg": (lambda r: discount_of(r, discount), 1.0),
        "ndcg": (lambda r: discount_of(r, discount), ideal_dcg(labels, k, gain=gain, discount=discount)),
        "cg": (lambda r: 1.0, 1.0),
        "precision": (lambda r: 1.0, n if k is None else k),
        "recall": (lambda r: 1.0, sum(relevant)),
        "rbp": (lambda r: (1 - p) * p ** (r - 1), 1.0),
        "f1": (lambda r: 2.0, (n if k is None else k) + sum(relevant)),
    }[name]
    inside = n if k is None else min(k, n)
    discounts = [weight_at_rank(r) / divisor if r <= inside and divisor > 0 else 0.0 for r in range(1, n + 1)]
    return np.array(gains), np.array(discounts)


def hard_expected_ties_large(name: str, labels, scores, k: int | None = None, **options) -> float:
    """hard_expected_ties for DISCOUNT_FAMILY at any n: each block's gains meet its mean discount."""
    gains, discounts = linear_form(name, labels, k, **options)
    terms, first = [], 0
    for block in tie_blocks(scores):
        mean_discount = math.fsum(discounts[first : first + len(block)]) / len(block)
        terms += [gains[i] * mean_discount for i in block]
        first += len(block)
    return math.fsum(terms)
