"""The three laws of noise, the chance that one document is above another, and panels of Gauss-Legendre nodes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre
from scipy.integrate import quad
from scipy.special import expit, ndtr


class Smooth(NamedTuple):
    """An expectation, its gradient in the scores, and the diagonal of its Hessian."""

    value: float
    gradient: np.ndarray
    hessian: np.ndarray


def fsum_rows(rows) -> np.ndarray:
    """Column sums without rounding on the way."""
    return np.array([math.fsum(column) for column in np.transpose(rows)])


@dataclass(frozen=True)
class Noise:
    """A law of eps: density and its first two derivatives, cdf, and sf = 1 - cdf without the subtraction.

    reach: (left, right), in units of sigma, how far past the outermost scores an integral must go to leave
    out less than 1e-17 of it, relative to itself; fade: (left, right), where the density has underflowed.
    """

    pdf: Callable[[np.ndarray], np.ndarray]
    pdf1: Callable[[np.ndarray], np.ndarray]
    pdf2: Callable[[np.ndarray], np.ndarray]
    cdf: Callable[[np.ndarray], np.ndarray]
    sf: Callable[[np.ndarray], np.ndarray]
    reach: tuple[float, float]
    fade: tuple[float, float]
    draw: str


def _normal_pdf(z):
    return np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)


def _logistic_pdf(z):
    return expit(z) * expit(-z)


def _hazard(z):
    """exp(-z) without overflow: below z = -40 the Gumbel density and cdf are exactly 0 anyway."""
    return np.exp(-np.maximum(z, -40.0))


def _gumbel_pdf(z):
    return _hazard(z) * np.exp(-_hazard(z))


NOISES = {
    "gaussian": Noise(
        pdf=_normal_pdf,
        pdf1=lambda z: -z * _normal_pdf(z),
        pdf2=lambda z: (z * z - 1.0) * _normal_pdf(z),
        cdf=ndtr,
        sf=lambda z: ndtr(-z),
        reach=(14.0, 14.0),
        fade=(39.0, 39.0),
        draw="normal",
    ),
    "logistic": Noise(
        pdf=_logistic_pdf,
        pdf1=lambda z: -np.tanh(0.5 * z) * _logistic_pdf(z),
        pdf2=lambda z: (1.0 - 6.0 * _logistic_pdf(z)) * _logistic_pdf(z),
        cdf=expit,
        sf=lambda z: expit(-z),
        reach=(60.0, 60.0),
        fade=(750.0, 750.0),
        draw="logistic",
    ),
    "gumbel": Noise(
        pdf=_gumbel_pdf,
        pdf1=lambda z: (_hazard(z) - 1.0) * _gumbel_pdf(z),
        pdf2=lambda z: ((_hazard(z) - 1.0) ** 2 - _hazard(z)) * _gumbel_pdf(z),
        cdf=lambda z: np.exp(-_hazard(z)),
        sf=lambda z: -np.expm1(-_hazard(z)),
        reach=(7.0, 60.0),
        fade=(7.0, 750.0),
        draw="gumbel",
    ),
}


def logistic_difference(d: float) -> float:
    """P(t_i > t_j) under logistic noise, e^d (e^d - 1 - d)/(e^d - 1)^2, d = (s_i - s_j)/sigma.

    Rewritten so that nothing cancels or overflows: near 0 as 1/2 + (sinh d - d)/(2 sinh(d/2))^2, the numerator
    from its series (terms of one sign); far from 0 with exponentials of -|d| only.
    """
    if abs(d) < 1:
        tail = math.fsum(d**power / math.factorial(power) for power in range(3, 23, 2))
        return 0.5 + (tail / (2.0 * math.sinh(d / 2)) ** 2 if abs(d) > 1e-100 else 0.0)
    e = math.exp(-abs(d))
    return (1.0 - (1.0 + d) * e) / (1.0 - e) ** 2 if d > 0 else e * (e - 1.0 - d) / (1.0 - e) ** 2


def pair_probability(noise: str, d: float) -> float:
    """P(t_i > t_j) for two documents d = (s_i - s_j)/sigma apart. Relative accuracy 1e-15, however small it is."""
    laws = {"gaussian": lambda x: float(ndtr(x / math.sqrt(2))), "gumbel": lambda x: float(expit(x))}
    return {**laws, "logistic": logistic_difference}[noise](float(d))


def standardise(scores, sigma) -> np.ndarray:
    """Scores in units of sigma, the best at 0: large offsets cost no digits."""
    scores = np.asarray(scores, float)
    return (scores - scores.max()) / sigma


def intervals(theta: np.ndarray, noise: Noise) -> list[tuple[float, float]]:
    """Disjoint intervals that hold every point where some density has not underflowed and that matters."""
    low, high = theta.min() - noise.reach[0], theta.max() + noise.reach[1]
    merged: list[list[float]] = []
    for t in sorted(theta):
        a, b = max(low, t - noise.fade[0]), min(high, t + noise.fade[1])
        if merged and a <= merged[-1][1]:
            merged[-1][1] = b
        else:
            merged.append([a, b])
    return [(a, b) for a, b in merged]


def panels(theta: np.ndarray, noise: Noise, width: float) -> np.ndarray:
    """The intervals cut at the documents and the midpoints of neighbours, then to at most `width`: (P, 2).

    Cuts closer than width/4 to the one before are left out: they would only multiply the panels.
    """
    falling = np.sort(theta)
    marks = np.sort(np.concatenate([falling, 0.5 * (falling[1:] + falling[:-1])]))
    pieces: list[tuple[float, float]] = []
    for a, b in intervals(theta, noise):
        cuts = [a]
        for mark in marks:
            if cuts[-1] + 0.25 * width < mark < b - 0.25 * width:
                cuts.append(mark)
        for c, d in pairwise([*cuts, b]):
            edges = np.linspace(c, d, math.ceil((d - c) / width) + 1)
            pieces += pairwise(edges)
    return np.array(pieces)


@cache
def leggauss(order: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss-Legendre between -1 and 1, which NumPy finds anew each time."""
    return legendre.leggauss(order)


def gauss_nodes(pieces: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights (P, order) of Gauss-Legendre on every panel."""
    nodes, weights = leggauss(order)
    half = 0.5 * (pieces[:, 1:] - pieces[:, :1])
    return 0.5 * (pieces[:, 1:] + pieces[:, :1]) + half * nodes, half * weights


def panel_integrator(theta: np.ndarray, noise: Noise) -> Callable:
    """Integrate vectorised functions by 20 nodes on every panel of half a sigma.

    12 nodes on the same panels must agree to 1e-9 of the integral of |function| (denormals excepted), or an
    ArithmeticError says so. The error of 20 nodes is then rounding: 1e-14 of the integral of |function|.
    """
    rules = _half_sigma_panels(theta.tobytes(), noise)

    def integrate(function: Callable) -> float:
        coarse, fine = (weights.ravel() * function(nodes.ravel()) for nodes, weights in rules)
        if abs(coarse.sum() - fine.sum()) > 1e-9 * np.abs(fine).sum() + 1e-300:
            raise ArithmeticError(f"12 nodes give {coarse.sum()}, 20 nodes give {fine.sum()}")
        return float(fine.sum())

    return integrate


@lru_cache(maxsize=64)
def _half_sigma_panels(theta: bytes, noise: Noise) -> list[tuple[np.ndarray, np.ndarray]]:
    """Remembered, as tests ask for the same scores with every metric."""
    pieces = panels(np.frombuffer(theta), noise, 0.5)
    return [gauss_nodes(pieces, order) for order in (12, 20)]


def quad_integrator(theta: np.ndarray, noise: Noise) -> Callable:
    """The same by scipy's adaptive quadrature on every panel of four sigma (slow).

    Every panel is asked for a relative 1e-10, which the adaptive Gauss-Kronrod rule undercuts by far.
    """
    pieces = panels(theta, noise, 4.0)

    def integrate(function: Callable) -> float:
        def at(x: float) -> float:
            return float(function(np.array([x]))[0])

        return math.fsum(quad(at, a, b, epsabs=0.0, epsrel=1e-10, limit=200)[0] for a, b in pieces)

    return integrate


RULES = {"panels": panel_integrator, "quad": quad_integrator}
