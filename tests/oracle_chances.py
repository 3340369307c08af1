"""What follows from the chances of pairs alone: metrics of pairs, exactly; discount metrics as SoftRank has them."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from .oracle_noise import NOISES, Smooth, pair_probability, panel_integrator, standardise
from .oracle_pairs import pair_form, positives_over_negatives, unequal_pairs
from .oracle_ties import linear_form


def pnr_of_discordant(labels, wrong: Smooth) -> Smooth:
    """N/E[D] - 1 with its derivatives, from those of E[D]; N counts the pairs of different label."""
    pairs, n = unequal_pairs(labels), len(labels)
    value = positives_over_negatives(pairs, wrong.value)
    if pairs == 0 or math.isinf(value):
        return Smooth(value, np.zeros(n), np.zeros(n))
    slope, bend = -pairs / wrong.value**2, 2 * pairs / wrong.value**3
    return Smooth(value, slope * wrong.gradient, bend * wrong.gradient**2 + slope * wrong.hessian)


@lru_cache(maxsize=2048)
def chance_by_integral(noise: str, d: float) -> tuple[float, float, float]:
    """P(t_i > t_j) and its two derivatives in d = (s_i - s_j)/sigma, as integrals over the place of t_j.

    Remembered, as tests ask for the same pairs with every metric.
    """
    law, d = NOISES[noise], float(d)
    integrate = panel_integrator(np.array([0.0, d]), law)
    return (
        integrate(lambda x: law.pdf(x) * law.sf(x - d)),
        integrate(lambda x: law.pdf(x) * law.pdf(x - d)),
        -integrate(lambda x: law.pdf(x) * law.pdf1(x - d)),
    )


def expected_pairs(name: str, labels, scores, noise="gaussian", sigma=1.0, **options) -> Smooth:
    """Mean of a metric of pairs (PAIR_FAMILY) with gradient and diagonal Hessian: 3 integrals for each pair.

    Metrics of pairs are sums of W_ij over the pairs with i above j, so only the chances of pairs matter.
    Accuracy: 1e-13 relative to the sum of the terms' sizes, however small that is; any n (n = 20 in 1 s).
    """
    if name == "pnr":
        return pnr_of_discordant(labels, expected_pairs("discordant", labels, scores, noise, sigma, **options))
    weights, theta, n = pair_form(name, labels, **options), standardise(scores, sigma), len(labels)
    chance = np.zeros((3, n, n))
    for i in range(n):
        for j in range(n):
            if i != j and (weights[i, j] != 0 or weights[j, i] != 0):
                chance[:, i, j] = chance_by_integral(noise, theta[i] - theta[j])
    value = math.fsum((weights * chance[0]).ravel())
    # Raising s_m raises P(m above j) by the derivative in d and lowers P(j above m).
    gradient = [math.fsum(weights[m] * chance[1, m] - weights[:, m] * chance[1, :, m]) for m in range(n)]
    hessian = [math.fsum(weights[m] * chance[2, m] + weights[:, m] * chance[2, :, m]) for m in range(n)]
    return Smooth(value, np.array(gradient) / sigma, np.array(hessian) / sigma**2)


def softrank_ranks(j: int, theta, noise: str) -> np.ndarray:
    """SoftRank's law of document j's rank: p[r - 1] for rank r, as if the others were above j independently."""
    n = len(theta)
    law = np.zeros(n)
    law[0] = 1.0
    for i in range(n):
        if i == j:
            continue
        above = pair_probability(noise, theta[i] - theta[j])
        below = pair_probability(noise, theta[j] - theta[i])
        law = np.array([(law[r - 1] * above if r > 0 else 0.0) + law[r] * below for r in range(n)])
    return law


def softrank(name: str, labels, scores, noise="gaussian", sigma=1.0, k: int | None = None, **options) -> float:
    """SoftRank (Taylor et al. 2008) of a metric of DISCOUNT_FAMILY: sum_j g_j sum_r D(r) p_j(r).

    Not an expectation over orders: p_j takes the events "i is above j" as independent, which they are not for
    three documents or more (all of them hang on t_j). Exact for n <= 2.
    """
    gains, discounts = linear_form(name, labels, k, **options)
    theta = standardise(scores, sigma)
    laws = [softrank_ranks(j, theta, noise) for j in range(len(theta))]
    return math.fsum(g * d * p for g, law in zip(gains, laws, strict=True) for d, p in zip(discounts, law, strict=True))
