"""Discount metrics under any noise: Poisson-binomial ranks under an integral."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import combinations

import numpy as np

from .oracle_noise import NOISES, RULES, Noise, Smooth, fsum_rows, standardise
from .oracle_ties import linear_form


def at_points(theta: np.ndarray, *functions: Callable) -> Callable:
    """x -> for each function its values at x - theta, (n, Q)."""
    tables = _tables(theta.tobytes(), *functions)
    return lambda x: tables(x.tobytes())


@lru_cache(maxsize=64)
def _tables(theta: bytes, *functions: Callable) -> Callable:
    """Remembered, as a rule asks for the same points with every document and pair, and tests with every metric."""

    @cache
    def tables(points: bytes) -> tuple[np.ndarray, ...]:
        x = np.frombuffer(points)
        return tuple(np.array([function(x - t) for t in np.frombuffer(theta)]) for function in functions)

    return tables


def count_law(above: np.ndarray, below: np.ndarray, size: int) -> np.ndarray:
    """P(exactly c of the documents are above), c < size: (size, Q), by convolution, one document at a time.

    above[j] and below[j] are document j's two probabilities at Q points; nothing is subtracted, so small
    probabilities keep their relative accuracy.
    """
    law = np.zeros((size, above.shape[1]))
    law[0] = 1.0
    for seen, (up, down) in enumerate(zip(above, below, strict=True), 1):
        so_far = law[: seen + 1]  # no more of them can be above
        moved = so_far[:-1] * up
        so_far *= down
        so_far[1:] += moved
    return law


def mean_over_count(values: np.ndarray, above: np.ndarray, below: np.ndarray, alive: np.ndarray) -> np.ndarray:
    """E[values[C]] at those of the Q points that are alive, 0 at the others; values end in zeros.

    C is how many of the documents are above. Counts without a value are not carried. Of many points a few are taken
    at a time: their law stays in the processor's cache.
    """
    out, (points,) = np.zeros(alive.size), np.nonzero(alive)
    size = int(np.max(np.nonzero(values)[0], initial=-1)) + 1
    for begin in range(0, points.size if size else 0, 512):
        some = points[begin : begin + 512]
        out[some] = values[:size] @ count_law(above[:, some], below[:, some], size)
    return out


def expected(
    name: str, labels, scores, noise="gaussian", sigma=1.0, k: int | None = None, *, rule="panels", **options
) -> float:
    """V = sum_i g_i int f(x - s_i) E[D(1 + how many others are above x)] dx, for DISCOUNT_FAMILY.

    rule: "panels" (20-point Gauss-Legendre on panels of sigma/2, checked against 12 points: n = 60 in half a
    second) or "quad" (scipy's adaptive quadrature: n up to 12). Accuracy of both: 1e-14 of the value.
    """
    gains, discounts = linear_form(name, labels, k, **options)
    theta, law = standardise(scores, sigma), NOISES[noise]
    integrate, tables = RULES[rule](theta, law), at_points(theta, law.pdf, law.sf, law.cdf)

    def discount_density(i: int) -> Callable:
        def at(x):
            density, above, below = tables(x)
            others = np.arange(len(theta)) != i
            return density[i] * mean_over_count(discounts, above[others], below[others], density[i] != 0)

        return at

    return math.fsum(gains[i] * integrate(discount_density(i)) for i in range(len(theta)) if gains[i] != 0)


def pair_integrals(theta: np.ndarray, drops: np.ndarray, law: Noise, rule: str, *densities: Callable):
    """I_mj = int density(x - theta_m) f(x - theta_j) E[drops[C]] dx, C counts the others above x: an (n, n) each.

    Where f has underflowed, the densities, its multiples, have too.
    """
    n, integrate, tables = len(theta), RULES[rule](theta, law), at_points(theta, law.pdf, law.sf, law.cdf, *densities)
    out = [np.zeros((n, n)) for _ in densities]

    def where_they_meet(m: int, j: int) -> Callable:
        """x -> E[drops[C]], for the integrals of both directions and of every density."""
        others = ~np.isin(np.arange(n), (m, j))

        @cache
        def mean(points: bytes) -> np.ndarray:
            density, above, below, *_ = tables(np.frombuffer(points))
            return mean_over_count(drops, above[others], below[others], density[m] * density[j] != 0)

        return lambda x: mean(x.tobytes())

    def integrand(mean: Callable, which: int, m: int, j: int) -> Callable:
        def at(x):
            density, _, _, *given = tables(x)
            return given[which][m] * density[j] * mean(x)

        return at

    for m, j in combinations(range(n), 2):
        mean = where_they_meet(m, j)
        for which, matrix in enumerate(out):
            matrix[m, j] = integrate(integrand(mean, which, m, j))
            matrix[j, m] = integrate(integrand(mean, which, j, m))
    return out


def pair_matrix(
    name: str, labels, scores, noise="gaussian", sigma=1.0, k: int | None = None, *, rule="panels", **options
) -> np.ndarray:
    """J_mj = int w_m w_j E[D(R) - D(R+1) | both at x] dx: symmetric (n, n), w the densities of the scores.

    dV/ds_m = sum_j (g_m - g_j) J_mj: raising s_m matters where documents m and j meet at x, and then it
    swaps the ranks R and R + 1 between them. Relative accuracy 1e-12 for every entry above 1e-290.
    """
    _, discounts = linear_form(name, labels, k, **options)
    theta, law = standardise(scores, sigma), NOISES[noise]
    (first,) = pair_integrals(theta, discounts[:-1] - discounts[1:], law, rule, law.pdf)
    return first / sigma


def expected_derivatives(
    name: str, labels, scores, noise="gaussian", sigma=1.0, k: int | None = None, *, rule="panels", **options
) -> Smooth:
    """`expected` with its gradient and diagonal Hessian: n(n - 1) integrals each, n = 12 in half a second.

    gradient_m = sum_j (g_m - g_j) J_mj with J as in pair_matrix; of J_mj's factors only w_m depends on s_m,
    so hessian_m = sum_j (g_m - g_j) int (dw_m/ds_m) w_j E[D(R) - D(R+1)] dx.
    Accuracy: 1e-12 relative to sum_j |g_m - g_j| J_mj (and its analogue), however small that is.
    """
    gains, discounts = linear_form(name, labels, k, **options)
    drops = discounts[:-1] - discounts[1:]
    size = np.abs(drops).max(initial=0.0) or 1.0
    integrals = _pair_derivatives(standardise(scores, sigma).tobytes(), (drops / size).tobytes(), noise, rule)
    first, second = size * integrals
    differences = gains[:, None] - gains[None, :]
    return Smooth(
        expected(name, labels, scores, noise, sigma, k, rule=rule, **options),
        fsum_rows((differences * first).T) / sigma,
        fsum_rows((-differences * second).T) / sigma**2,  # s_m moves w_m against its argument
    )


@lru_cache(maxsize=64)
def _pair_derivatives(theta: bytes, drops: bytes, noise: str, rule: str) -> np.ndarray:
    """Remembered, as metrics that differ by a divisor have the same drops but for a factor."""
    law = NOISES[noise]
    return np.array(pair_integrals(np.frombuffer(theta), np.frombuffer(drops), law, rule, law.pdf, law.pdf1))
