"""Metrics of one given order that compare pairs of documents: labels in rank order, best rank first, no ties.

None of them has a cutoff. A query on which the metric is undefined has the value 0.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np


def refuse_cutoff(k) -> None:
    if k is not None:
        raise ValueError(f"metrics of pairs have no cutoff, not {k}")


def unequal_pairs(labels) -> int:
    """Pairs of documents with different labels."""
    return sum(1 for a, b in combinations(labels, 2) if a != b)


def discordant(labels, k=None) -> int:
    """Pairs of documents in the wrong order: the smaller label above the larger one."""
    refuse_cutoff(k)
    return sum(1 for above, below in combinations(labels, 2) if above < below)


def auc(labels, k=None, *, relevant_from=1) -> float:
    """Share of the (relevant, irrelevant) pairs in the right order."""
    refuse_cutoff(k)
    relevant = [y >= relevant_from for y in labels]
    pairs = unequal_pairs(relevant)
    return (pairs - discordant(relevant)) / pairs if pairs else 0.0


def positives_over_negatives(pairs: float, wrong: float) -> float:
    """Concordant over discordant pairs: inf if none is discordant, 0 if there are no pairs at all."""
    if pairs == 0:
        return 0.0
    return pairs / wrong - 1.0 if wrong > 0 else math.inf


def pnr(labels, k=None) -> float:
    """Concordant over discordant pairs of documents with different labels."""
    return positives_over_negatives(unequal_pairs(labels), discordant(labels, k))


def kendall(labels, k=None) -> float:
    """(C - D) / sqrt(n0 (n0 - n1)): n0 pairs, n1 of them with equal labels."""
    wrong, unequal, n0 = discordant(labels, k), unequal_pairs(labels), math.comb(len(labels), 2)
    return (unequal - 2 * wrong) / math.sqrt(n0 * unequal) if unequal else 0.0


def average_ranks(values) -> list[float]:
    """Ranks from 1 for the smallest; equal values share the mean of theirs."""
    return [sum(1 for b in values if b < a) + (1 + sum(1 for b in values if b == a)) / 2 for a in values]


def spearman(labels, k=None) -> float:
    """Pearson's correlation of the labels' average ranks with the places, counted from the bottom."""
    refuse_cutoff(k)
    if len(set(labels)) < 2:
        return 0.0
    x, y = np.array(average_ranks(labels)), np.arange(len(labels), 0, -1.0)
    x, y = x - x.mean(), y - y.mean()
    return math.fsum(x * y) / math.sqrt(math.fsum(x * x) * math.fsum(y * y))


def pair_form(name: str, labels, *, relevant_from=1) -> np.ndarray:
    """W (n, n) with metric = constant + sum of W_ij over the pairs with document i above document j.

    For auc, discordant, kendall and spearman; labels in any order. The constant of all four is 0.
    """
    y = np.asarray(labels)
    bigger = (y[:, None] > y[None, :]).astype(float)
    if name == "discordant":
        return bigger.T
    if name == "auc":
        relevant = y >= relevant_from
        return np.outer(relevant, ~relevant) / max(1, unequal_pairs(relevant))
    if name == "kendall":
        return (bigger - bigger.T) / max(1.0, math.sqrt(math.comb(len(y), 2) * unequal_pairs(y)))
    if name == "spearman":
        centred = np.array(average_ranks(y)) - (len(y) + 1) / 2
        places = np.arange(len(y)) - (len(y) - 1) / 2
        spread = math.sqrt(math.fsum(centred**2) * math.fsum(places**2))
        weights = np.repeat(centred[:, None] / (spread or 1.0), len(y), axis=1)
        np.fill_diagonal(weights, 0.0)
        return weights
    raise KeyError(name)
