"""Losses of the literature, per query, and what others compute of them: literal and slow."""

from __future__ import annotations

import math
import struct

import numpy as np
from scipy.special import log_softmax, softmax

from .oracle_orders import order_probabilities
from .oracle_ties import linear_form


def _log2_discount(rank: int) -> float:
    return 1.0 / math.log2(1.0 + rank)


def lambdaloss(labels, scores, ranks, mu=10.0, sigmoid=1.0, level=None) -> float:
    """NDCG-Loss2++ (Wang et al. 2018, their equations for rho and delta) at fixed ranks 1..n; natural logarithm."""
    gains = [2.0**label - 1.0 for label in labels]
    top = sorted(gains, reverse=True)[:level]
    ideal = math.fsum(gain * _log2_discount(rank) for rank, gain in enumerate(top, 1))
    terms = []
    for i in range(len(labels)):
        for j in range(len(labels)):
            if gains[i] > gains[j] and (level is None or min(ranks[i], ranks[j]) <= level):
                rho = abs(_log2_discount(ranks[i]) - _log2_discount(ranks[j]))
                apart = abs(ranks[i] - ranks[j])
                delta = abs(_log2_discount(apart) - _log2_discount(apart + 1))
                weight = (rho + mu * delta) * (gains[i] - gains[j]) / ideal
                terms.append(weight * np.logaddexp(0.0, -sigmoid * (scores[i] - scores[j])))
    return math.fsum(terms)


def listnet(labels, scores, temperature=1.0) -> float:
    """Cross-entropy of the top-one chances (Cao et al. 2007)."""
    return -float(softmax(np.asarray(labels) / temperature) @ log_softmax(scores))


def cross_entropy(labels, scores) -> float:
    """Softmax cross-entropy with the shares of the gains (Bruch et al. 2019); some gain is above 0."""
    gains = [2.0**label - 1.0 for label in labels]
    return -math.fsum(gain * chance for gain, chance in zip(gains, log_softmax(scores), strict=True)) / math.fsum(gains)


def xendcg(labels, scores, gammas) -> float:
    """Cross-entropy with the share of 2^label - gamma (Bruch 2021)."""
    phi = 2.0 ** np.asarray(labels) - gammas
    return -float(phi / phi.sum() @ log_softmax(scores))


def xendcg_newton(labels, scores, gammas, terms) -> tuple[np.ndarray, np.ndarray]:
    """(gradient, diagonal of the Hessian): ``terms`` terms of D inverse(H) gradient, H = D - O, by matrices."""
    phi, rho = 2.0 ** np.asarray(labels) - gammas, softmax(scores)
    hessian = np.diag(rho) - np.outer(rho, rho)
    diagonal = np.diag(np.diag(hessian))
    ratio = (diagonal - hessian) @ np.linalg.inv(diagonal)
    gradient = rho - phi / phi.sum()
    return sum(np.linalg.matrix_power(ratio, t) @ gradient for t in range(terms)), np.diag(hessian)


def lightgbm_gammas(sizes, iteration=0, seed=5) -> np.ndarray:
    """What rank_xendcg draws in one iteration: 15 bits of a linear congruential generator, one for each query."""
    gammas = []
    for q, n in enumerate(sizes):
        state = seed + q
        draws = []
        for _ in range(n * (iteration + 1)):
            state = (214013 * state + 2531011) % 2**32
            draws.append(((state >> 16) & 0x7FFF) / 32768.0)
        gammas += draws[n * iteration :]
    return np.array(gammas)


def draws(seed, sizes, scores) -> list[float]:
    """By whole numbers without bound: SplitMix64 of the seed and the place, and of the query's scores as bits."""
    mask = 2**64 - 1

    def mixed(word):
        word = (word + 0x9E3779B97F4A7C15) & mask
        word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & mask
        word = (word ^ (word >> 27)) * 0x94D049BB133111EB & mask
        return word ^ (word >> 31)

    found: list[float] = []
    for size in sizes:
        begin = len(found)
        places = [mixed((begin + i + mixed(seed)) & mask) for i in range(size)]
        bits = [int.from_bytes(struct.pack("<d", score + 0.0), "little") for score in scores[begin : begin + size]]
        total = mixed(sum(mixed(word ^ place) for word, place in zip(bits, places, strict=True)) & mask)
        found += [(mixed(place ^ total) >> 11) / 2**53 for place in places]
    return found


def queryrmse(labels, scores, weights) -> float:
    """Half the weighted squared error around the query's weighted mean residual."""
    residual = np.asarray(labels) - scores
    return 0.5 * float(weights @ (residual - np.average(residual, weights=weights)) ** 2)


def softlambda(name, labels, scores, noise, sigma, k, sigmoid=1.0) -> tuple[np.ndarray, np.ndarray]:
    """(direction, curvature): each pair weighs its metric's mean change by a swap, over all n! orders; n <= 6."""
    n = len(labels)
    gains, discounts = linear_form(name, labels, k)
    discounts = np.concatenate([discounts, np.zeros(n)])[:n]
    deltas = np.zeros((n, n))
    for order, probability in order_probabilities(scores, noise, sigma).items():
        worth = np.empty(n)
        worth[list(order)] = discounts
        deltas += probability * np.abs(np.subtract.outer(gains, gains) * np.subtract.outer(worth, worth))
    direction, curvature = np.zeros(n), np.zeros(n)
    for i in range(n):
        for j in range(n):
            if gains[i] > gains[j]:
                p = 1.0 / (1.0 + math.exp(sigmoid * (scores[i] - scores[j])))
                direction[[i, j]] += np.array([1.0, -1.0]) * sigmoid * p * deltas[i, j]
                curvature[[i, j]] += sigmoid**2 * p * (1.0 - p) * deltas[i, j]
    return direction, curvature
