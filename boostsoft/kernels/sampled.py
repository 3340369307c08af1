"""Sampled expectations: hard metrics of noisy scores, and PL-Rank-3 for their gradient under Gumbel noise.

NoisedSoftDCG (Levkov 2017) is the mean over draws; PL-Rank-3 (Oosterhuis 2022) the gradient of a discount metric
under the Plackett-Luce law from the same draws, with every placement's reward shared out exactly.
"""

from __future__ import annotations

import math

import numpy as np

from .compile import kernel
from .families import DISTANCES, PAIRS
from .hard import EXPECTED, hard_queries
from .pairwise import sorted_value
from .sorting import whole_order


@kernel
def hard_draws(family, draws, gains, weights, ranks, discount, values):
    """The raw value of one query for every row of noisy scores; scores that coincide count as tied."""
    offsets, cutoffs, ranges = np.array([0, gains.size]), np.array([ranks]), np.array([0, 0, 1])
    for t in range(draws.shape[0]):
        if family == PAIRS or family == DISTANCES:
            order = whole_order(draws[t], gains, False)
            values[t] = sorted_value(family, draws[t][order], gains[order], weights[order], EXPECTED)
        else:
            ranges[0] = 0
            hard_queries(family, draws[t], gains, offsets, cutoffs, discount, EXPECTED, ranges, values[t : t + 1])


@kernel
def _log_add(a, b):
    top = max(a, b)
    return top + math.log1p(math.exp(min(a, b) - top))


@kernel
def plackett_luce_gradient(logits, draws, gains, ranks, discount, gradient):
    """Add to ``gradient`` PL-Rank-3's estimate in the logits (scores / sigma), summed over the draws.

    Of a document d at rank r, with K = ``ranks``: the reward placed below r, plus exp(logit) times
    sum over x <= min(r, K) of (gain_d D(x) - reward placed from x on) / sum of exp(logit) over those left at x.
    The sums are kept relative to the last denominator, so that nothing over- or underflows.
    """
    n = logits.size
    left = np.zeros(n)
    for t in range(draws.shape[0]):
        order = whole_order(draws[t], gains, False)
        total = -math.inf
        for r in range(n - 1, -1, -1):
            total = _log_add(total, logits[order[r]])
            left[r] = total
        reward, here, share, loss = 0.0, 0.0, 0.0, 0.0
        for r in range(ranks):
            reward += gains[order[r]] * discount[r]
        for r in range(n):
            d = order[r]
            if r < ranks:
                shrink = math.exp(left[r] - left[r - 1]) if r > 0 else 0.0
                share, loss = share * shrink + discount[r], loss * shrink + reward
                here = left[r]
                reward -= gains[d] * discount[r]
                gradient[d] += reward
            gradient[d] += math.exp(logits[d] - here) * (gains[d] * share - loss)
