"""Gradient and Hessian, per document of one query, of two losses over pairs: LightGBM's lambdarank, and RankNet."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

from .oracle_hard import dcg, discount_of, gain_of

TABLE_SIZE, TABLE_REACH = 2**20, 25.0


def misorder_chance(margin: float, sigmoid: float, table: bool) -> float:
    """1/(1 + e^(sigmoid margin)); with table=True the margin is first moved down to LightGBM's grid.

    The grid's 2^20 points go from -25/sigmoid to 25/sigmoid, so margins move by up to 4.8e-5/sigmoid.
    """
    if table:
        lowest = -TABLE_REACH / sigmoid
        per_unit = TABLE_SIZE / (-2 * lowest)
        index = min(max(int((margin - lowest) * per_unit), 0), TABLE_SIZE - 1)
        margin = index / per_unit + lowest
    return float(expit(-sigmoid * margin))


def lambdarank(
    labels, scores, *, truncation_level=30, norm=True, sigmoid=1.0, gain="exp2", table=True
) -> tuple[np.ndarray, np.ndarray]:
    """(gradient, Hessian) of what LightGBM minimises as objective="lambdarank"; the Hessian is not negative.

    Every pair of different labels with a document among the first `truncation_level` (tied scores: in the
    order of the data) weighs gain difference * |discount difference| / ideal DCG at that level, where the
    ideal order is by label, whatever the table of gains says. norm=True divides a pair's weight by
    0.01 + |score difference|, unless all scores are equal, and multiplies the query by log2(1 + sum)/sum at
    the end, sum = twice the sum of the pairs' gradients before that.
    table=False takes the sigmoid exactly where LightGBM reads a table of it.
    """
    n = len(labels)
    order = sorted(range(n), key=lambda i: -scores[i])
    ideal = dcg(sorted(labels, reverse=True), truncation_level, gain=gain)
    by_margin = norm and scores[order[0]] != scores[order[-1]]
    gradient, hessian, total = np.zeros(n), np.zeros(n), 0.0
    for a in range(min(n - 1, truncation_level)):
        for b in range(a + 1, n):
            i, j = order[a], order[b]
            if labels[i] == labels[j] or ideal == 0:
                continue
            high, low = (i, j) if labels[i] > labels[j] else (j, i)
            margin = float(scores[high]) - float(scores[low])
            weight = (gain_of(labels[high], gain) - gain_of(labels[low], gain)) / ideal
            weight *= abs(discount_of(a + 1) - discount_of(b + 1))
            weight /= 0.01 + abs(margin) if by_margin else 1.0
            chance = misorder_chance(margin, sigmoid, table)
            gradient[high] -= sigmoid * weight * chance
            gradient[low] += sigmoid * weight * chance
            hessian[[high, low]] += sigmoid**2 * weight * chance * (1.0 - chance)
            total += 2 * sigmoid * weight * chance
    factor = math.log2(1.0 + total) / total if norm and total > 0 else 1.0
    return factor * gradient, factor * hessian


def ranknet(labels, scores, sigmoid=1.0) -> tuple[np.ndarray, np.ndarray]:
    """(gradient, Hessian) of the sum of log(1 + exp(-sigmoid (s_high - s_low))) over pairs of different labels."""
    n = len(labels)
    gradient, hessian = np.zeros(n), np.zeros(n)
    for high in range(n):
        for low in range(n):
            if labels[high] > labels[low]:
                margin = float(scores[high]) - float(scores[low])
                chance = misorder_chance(margin, sigmoid, table=False)
                gradient[high] -= sigmoid * chance
                gradient[low] += sigmoid * chance
                hessian[[high, low]] += sigmoid**2 * chance * (1.0 - chance)
    return gradient, hessian
