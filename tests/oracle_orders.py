"""Any metric as a mean over orders: all n! of them with their probabilities, or sampled ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.polynomial import legendre

from .oracle_chances import pnr_of_discordant
from .oracle_noise import NOISES, Smooth, fsum_rows, gauss_nodes, panels, standardise
from .oracle_pairs import positives_over_negatives, unequal_pairs
from .oracle_ties import hard_of_orders

# Plackett-Luce: every order has a closed-form probability


def plackett_luce(name: str, labels, scores, sigma=1.0, k: int | None = None, **options) -> Smooth:
    """E[M] with P(order) = prod_r a_(r) / (a_(r) + ... + a_(n)), a = exp(s/sigma): n! terms, n <= 6 or 7.

    With l = log P: dE/ds = E[M dl/ds] and d2E/ds2 = E[M ((dl/ds)^2 + d2l/ds2)], no difference step.
    Accuracy: about 1e-15 of the metric's range (1e-15/sigma, 1e-15/sigma^2), absolute.
    """
    if name == "pnr":
        return pnr_of_discordant(labels, plackett_luce("discordant", labels, scores, sigma, k, **options))
    theta = (np.asarray(scores, float) - np.max(scores)) / sigma
    n = len(theta)
    orders = np.array(list(permutations(range(n))))
    log_probability, slope, curvature = np.zeros(len(orders)), np.zeros(orders.shape), np.zeros(orders.shape)
    every = np.arange(len(orders))
    for r in range(n):
        left = orders[:, r:]
        most = theta[left].max(axis=1)
        log_total = most + np.log(np.exp(theta[left] - most[:, None]).sum(axis=1))
        chosen_next = np.exp(theta[left] - log_total[:, None])
        log_probability += theta[left[:, 0]] - log_total
        slope[every, left[:, 0]] += 1.0
        slope[every[:, None], left] -= chosen_next
        curvature[every[:, None], left] -= chosen_next * (1.0 - chosen_next)
    weights = np.exp(log_probability) * hard_of_orders(name, labels, orders, k, **options)
    gradients, hessians = weights[:, None] * slope, weights[:, None] * (slope**2 + curvature)
    return Smooth(math.fsum(weights), fsum_rows(gradients) / sigma, fsum_rows(hessians) / sigma**2)


# Monte Carlo


def monte_carlo(
    name: str, labels, scores, noise="gaussian", sigma=1.0, k: int | None = None, n=20_000, seed=0, **options
) -> tuple[float, float]:
    """Mean of the metric over n noise draws and the standard error of that mean; pnr: ratio of mean counts."""
    if name == "pnr":
        wrong, error = monte_carlo("discordant", labels, scores, noise, sigma, k, n, seed, **options)
        pairs = unequal_pairs(labels)
        return positives_over_negatives(pairs, wrong), pairs * error / wrong**2 if wrong > 0 else math.inf
    rng = np.random.default_rng(seed)
    eps = getattr(rng, NOISES[noise].draw)(size=(n, len(scores)))
    orders = np.argsort(-(np.asarray(scores, float) + sigma * eps), axis=1)
    values = np.array(hard_of_orders(name, labels, orders, k, **options))
    mean = math.fsum(values) / n
    variance = math.fsum((values - mean) ** 2) / (n - 1)
    return mean, math.sqrt(variance / n)


# Any noise: the probability of every order by repeated cumulative integration


def cumulative_matrix(order: int) -> np.ndarray:
    """C with (C @ values at the Gauss nodes)[i] = integral from -1 to node i of the interpolant.

    Interpolant: sum_d (2d+1)/2 P_d(x) sum_j weight_j P_d(node_j) values_j, and
    the integral of P_d from -1 to x is (P_{d+1}(x) - P_{d-1}(x))/(2d+1), or x + 1 for d = 0.
    """
    nodes, weights = legendre.leggauss(order)
    table = legendre.legvander(nodes, order)
    upto = np.column_stack([nodes + 1.0, table[:, 2:] - table[:, :-2]])
    return 0.5 * upto @ (weights[:, None] * table[:, :order]).T


def integrate_orders(factors: np.ndarray, pieces: np.ndarray, order: int) -> dict[tuple[int, ...], np.ndarray]:
    """Integral of prod_i factor_i(x_i) over x_(1) > x_(2) > ... > x_(n), for every order: (1) is on top.

    factors: (V, n, P, order) at the Gauss nodes, V products at once. From the bottom up: with H(x) the integral of
    the tail below x, a document put on top of the tail gives int_{-inf}^x factor H.
    """
    n = factors.shape[1]
    half = 0.5 * (pieces[:, 1:] - pieces[:, :1])
    inner, weights = cumulative_matrix(order).T, legendre.leggauss(order)[1]
    out: dict[tuple[int, ...], np.ndarray] = {}

    def put_on_top(tail: tuple[int, ...], below: np.ndarray) -> None:
        for i in set(range(n)) - set(tail):
            integrand = half * factors[:, i] * below
            upto = np.cumsum(integrand @ weights, axis=-1)
            if len(tail) == n - 1:
                out[(i, *tail)] = upto[:, -1]
            else:
                before = np.zeros_like(upto)
                before[:, 1:] = upto[:, :-1]
                put_on_top((i, *tail), before[..., None] + integrand @ inner)

    put_on_top((), np.ones_like(factors[:, 0]))
    return out


def order_probabilities(scores, noise="gaussian", sigma=1.0) -> dict[tuple[int, ...], float]:
    """P(t_(1) > ... > t_(n)) for every order, best document first. Accuracy 1e-14, absolute; n <= 6."""
    return {order: float(weights[0]) for order, weights in order_weights(tuple(scores), noise, sigma, 0).items()}


def order_derivatives(scores, noise="gaussian", sigma=1.0) -> Iterator[tuple[int, dict, dict]]:
    """For each document m: (m, dP/ds_m, d2P/ds_m2), both by order."""
    found, n = order_weights(tuple(scores), noise, sigma, 2), len(scores)
    for m in range(n):
        yield m, *({order: float(w[1 + n * which + m]) for order, w in found.items()} for which in (0, 1))


@lru_cache(maxsize=64)  # metrics one after the other ask for the same
def order_weights(scores: tuple[float, ...], noise: str, sigma: float, derive: int) -> dict[tuple, np.ndarray]:
    """By order: its probability P; with derive=2, dP/ds_m of every document, then d2P/ds_m2 of every one.

    P is an integral of prod_i w_i, so document m's density is replaced by its derivative in s_m.
    """
    theta, law = standardise(scores, sigma), NOISES[noise]
    pieces = panels(theta, law, 0.5)
    nodes, _ = gauss_nodes(pieces, 16)
    densities = np.array([law.pdf(nodes - t) for t in theta])
    products = [densities]
    for change in (lambda z: -law.pdf1(z) / sigma, lambda z: law.pdf2(z) / sigma**2)[:derive]:
        for m, t in enumerate(theta):
            products.append(densities.copy())
            products[-1][m] = change(nodes - t)
    return integrate_orders(np.array(products), pieces, 16)


def mean_over_orders(name: str, labels, weights: dict, k: int | None = None, **options) -> float:
    """Sum over the orders of weight * metric: E[M] for probabilities, its derivatives for theirs.

    Not for pnr, which is no mean over orders: take "discordant" and `pnr_of_discordant`.
    """
    if name == "pnr":
        raise ValueError("pnr is a ratio of means, not a mean over orders")
    return math.fsum(np.array(list(weights.values())) * hard_of_orders(name, labels, weights, k, **options))


def expected_orders(name: str, labels, scores, noise="gaussian", sigma=1.0, k: int | None = None, **options) -> Smooth:
    """Mean of any metric over all n! orders, gradient and diagonal Hessian included; n <= 6.

    Accuracy: 1e-13 of the metric's range (over sigma, over sigma^2), absolute.
    """
    if name == "pnr":
        return pnr_of_discordant(labels, expected_orders("discordant", labels, scores, noise, sigma, k, **options))
    weights, n = order_weights(tuple(scores), noise, sigma, 2), len(scores)
    metrics = np.array(hard_of_orders(name, labels, weights, k, **options))
    sums = fsum_rows(np.array(list(weights.values())) * metrics[:, None])
    return Smooth(float(sums[0]), sums[1 : n + 1], sums[n + 1 :])
