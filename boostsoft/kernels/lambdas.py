"""LambdaRank's and RankNet's gradients (Burges 2010), as LightGBM's ``lambdarank`` computes them.

For every pair of documents of different gain of which at least one is among the first ``truncation`` ranks, with
the better one at score distance d above the other,

    p = 1 / (1 + exp(sigmoid d)),  delta = |gain difference| |discount difference| / ideal DCG,

the better document is pulled up and the other pushed down by sigmoid p delta, and both get the curvature
sigmoid^2 p (1 - p) delta. With ``norm`` delta is divided by .01 + |d| (unless all scores are equal), and a query's
sums are scaled by log2(1 + S) / S, S the sum of all pulls and pushes. RankNet: delta = 1 for every pair.
"""

from __future__ import annotations

import math

import numpy as np

from .compile import kernel

# LightGBM reads p from a table of 2^20 steps over sigmoid d = -25 .. 25, rounding down
_STEPS, _REACH = 2.0**20, 25.0


@kernel
def _table_probability(d, sigmoid):
    """P at the distance d rounded down to the table, in LightGBM's order of arithmetic, which decides ties."""
    lowest = -_REACH / sigmoid
    per_unit = _STEPS / (-2.0 * lowest)
    step = min(max(math.floor((d - lowest) * per_unit), 0.0), _STEPS - 1.0)
    return 1.0 / (1.0 + math.exp(sigmoid * (step / per_unit + lowest)))


@kernel
def _lambda_query(by_metric, scores, gains, inverse_ideal, discount, truncation, norm, sigmoid, grad, curvature):
    n, total = scores.size, 0.0
    order = np.argsort(-scores, kind="mergesort")
    uneven = norm and scores[order[0]] != scores[order[n - 1]]
    for a in range(min(n - 1, truncation)):
        for b in range(a + 1, n):
            high, low = order[a], order[b]
            if gains[high] == gains[low]:
                continue
            if gains[high] < gains[low]:
                high, low = low, high
            d, delta = scores[high] - scores[low], 1.0
            if by_metric:
                delta = (gains[high] - gains[low]) * (discount[a] - discount[b]) * inverse_ideal
                p = _table_probability(d, sigmoid)
            else:
                p = 1.0 / (1.0 + math.exp(min(sigmoid * d, 709.0)))
            if uneven:
                delta /= 0.01 + abs(d)
            pull, bend = sigmoid * p * delta, sigmoid * sigmoid * p * (1.0 - p) * delta
            grad[high] += pull
            grad[low] -= pull
            curvature[high] += bend
            curvature[low] += bend
            total += 2.0 * pull
    if norm and total > 0.0:
        scale = math.log2(1.0 + total) / total
        for i in range(n):
            grad[i] *= scale
            curvature[i] *= scale


@kernel
def lambda_queries(
    by_metric, scores, gains, offsets, inverse_ideal, discount, truncation, norm, sigmoid, begin, end, grad, curvature
):
    """Queries begin..end: the direction that raises the metric, and a positive curvature; RankNet unless by metric."""
    for q in range(begin, end):
        low, high = offsets[q], offsets[q + 1]
        if high - low > 1:
            _lambda_query(
                by_metric, scores[low:high], gains[low:high], inverse_ideal[q], discount, truncation, norm, sigmoid,
                grad[low:high], curvature[low:high],
            )  # fmt: skip
