"""Gradients over pairs: LambdaRank and RankNet (Burges 2010), LambdaLoss (Wang et al. 2018), and soft deltas.

For every pair of documents of different gain of which at least one is among the first ``truncation`` ranks, with
the better one at score distance d above the other,

    p = 1 / (1 + exp(sigmoid d)),  delta = |gain difference| |discount difference| / ideal DCG,

the better document is pulled up and the other pushed down by sigmoid p delta, and both get the curvature
sigmoid^2 p (1 - p) delta. With ``norm`` delta is divided by .01 + |d| (unless all scores are equal), and a query's
sums are scaled by log2(1 + S) / S, S the sum of all pulls and pushes. This is LightGBM's ``lambdarank``.

- ``RANKNET``: delta = 1 for every pair.
- ``LAMBDALOSS``: NDCG-Loss2++, the discount difference and mu times that of the ranks' distance r and of r + 1.
- ``SOFT``: the expected discount difference of the two in place of that at their present ranks (``soft_deltas``).
"""

from __future__ import annotations

import math

import numpy as np

from .compile import kernel
from .shares import claim
from .sorting import whole_order

RANKNET, LAMBDARANK, LAMBDALOSS, SOFT = 0, 1, 2, 3
# LightGBM reads p from a table of 2^20 steps over sigmoid d = -25 .. 25, rounding down
_STEPS, _REACH = 2.0**20, 25.0


@kernel
def _table_probability(d, sigmoid):
    """P at the distance d rounded down to the table, in LightGBM's order of arithmetic, which decides ties."""
    lowest = -_REACH / sigmoid
    per_unit = _STEPS / (-2.0 * lowest)
    # within the table first: compiled, the floor is a whole number, which most floats are too large for
    step = math.floor(min(max((d - lowest) * per_unit, 0.0), _STEPS - 1.0))
    return 1.0 / (1.0 + math.exp(sigmoid * (step / per_unit + lowest)))


@kernel
def lambda_query(kind, scores, gains, inverse_ideal, discount, mu, apart, truncation, norm, sigmoid, grad, curvature):
    """One query; ``apart`` is (n * n,) the expected discount differences by place b * n + a, a above b, if ``SOFT``."""
    n, total = scores.size, 0.0
    order = whole_order(scores, scores, False)
    uneven = norm and scores[order[0]] != scores[order[n - 1]]
    for a in range(min(n - 1, truncation)):
        for b in range(a + 1, n):
            high, low = order[a], order[b]
            if gains[high] == gains[low]:
                continue
            if gains[high] < gains[low]:
                high, low = low, high
            d, delta = scores[high] - scores[low], 1.0
            if kind == LAMBDARANK:
                delta = (gains[high] - gains[low]) * (discount[a] - discount[b]) * inverse_ideal
            elif kind == LAMBDALOSS:
                by_distance = discount[b - a - 1] - discount[b - a]
                delta = (gains[high] - gains[low]) * (discount[a] - discount[b] + mu * by_distance) * inverse_ideal
            elif kind == SOFT:
                delta = (gains[high] - gains[low]) * apart[b * n + a] * inverse_ideal
            if kind == LAMBDARANK:
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
    kind, scores, gains, offsets, inverse_ideal, discount, mu, truncation, norm, sigmoid, chosen, ranges, grad,
    curvature,
):  # fmt: skip
    """The chosen of the queries of ``ranges`` (``shares``), of any kind but ``SOFT``.

    The direction to raise scores in, and a curvature of at least 0.
    """
    nothing = np.zeros(1)
    begin, end = claim(ranges)
    while begin < end:
        for q in range(begin, end):
            low, high = offsets[q], offsets[q + 1]
            if not chosen[q]:
                continue
            grad[low:high], curvature[low:high] = 0.0, 0.0
            if high - low > 1:
                lambda_query(
                    kind, scores[low:high], gains[low:high], inverse_ideal[q], discount, mu, nothing, truncation, norm,
                    sigmoid, grad[low:high], curvature[low:high],
                )  # fmt: skip
        begin, end = claim(ranges)
