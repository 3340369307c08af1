"""Losses over a whole list: cross-entropy of two distributions over its documents, and squared error within it.

**Cross-entropy.** With P the targets of a query over their sum and rho = softmax(scores), the loss is
-sum P_i log rho_i, its gradient rho - P and the diagonal of its Hessian H rho (1 - rho). ListNet (Cao et al. 2007)
and XE-NDCG (Bruch 2021) differ in the targets. With H = D - O, D the diagonal, a Newton step is

    inverse(H) g = inverse(D) (g + O inverse(D) g + (O inverse(D))^2 g + ...),

of which ``terms`` are kept, as the gradient that is divided by D: (O inverse(D) g)_i = rho_i times the sum of
g_j / (1 - rho_j) over the other documents. All of them add up to 0.

**Squared error**, sum w_i (r_i - mean)^2 / 2 with r = target - score and mean their mean weighted by w: the query-RMSE.
"""

from __future__ import annotations

import math

import numpy as np

from .compile import kernel

_LEAST_SUM = 1e-15  # of the targets


@kernel
def _softmax_query(scores, targets, terms, grad, curvature):
    """One query of two documents at least.

    At most the top document is more than half of all: its 1 - rho is taken from the others, and what it is divided by
    it, rho_j / (1 - rho_top), from their share among themselves, which no distance of the top makes vanish.
    """
    n, top, mass, total = scores.size, 0, 0.0, 0.0
    for i in range(n):
        mass += targets[i]
        if scores[i] > scores[top]:
            top = i
    second = 1 if top == 0 else 0
    for i in range(n):
        if i != top and scores[i] > scores[second]:
            second = i
    share, rho, step = np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        share[i] = math.exp(scores[i] - scores[second]) if i != top else 0.0
        total += share[i]
    before = math.exp(scores[second] - scores[top])
    everything = 1.0 + before * total
    for i in range(n):
        rho[i] = 1.0 / everything if i == top else before * share[i] / everything
        share[i] /= total
        step[i] = rho[i] - targets[i] / max(mass, _LEAST_SUM)
        grad[i] = -step[i]
        curvature[i] = rho[i] * (before * total / everything if i == top else 1.0 - rho[i])
    for _ in range(terms - 1):
        others = 0.0
        for i in range(n):
            if i != top:
                step[i] /= 1.0 - rho[i]
                others += step[i]
        largest = step[top]
        for i in range(n):
            step[i] = rho[i] * (others if i == top else others - step[i]) + share[i] * largest
            grad[i] -= step[i]


@kernel
def softmax_queries(scores, targets, offsets, terms, begin, end, grad, curvature):
    """Queries begin..end: the direction that lowers the cross-entropy, and the Hessian's diagonal."""
    for q in range(begin, end):
        low, high = offsets[q], offsets[q + 1]
        if high - low > 1:
            _softmax_query(scores[low:high], targets[low:high], terms, grad[low:high], curvature[low:high])


@kernel
def squares_queries(scores, targets, weights, offsets, begin, end, grad):
    """Queries begin..end: the direction that lowers the squared error, w (r - mean)."""
    for q in range(begin, end):
        low, high = offsets[q], offsets[q + 1]
        share, mean = 0.0, 0.0
        for i in range(low, high):
            grad[i] = targets[i] - (scores[i] - scores[low])  # scores far from 0 lose no digits of their differences
            share += weights[i]
            if weights[i] > 0.0:
                mean += (grad[i] - mean) * (weights[i] / share)
        for i in range(low, high):
            grad[i] = weights[i] * (grad[i] - mean)
