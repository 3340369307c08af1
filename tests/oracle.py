"""What the package must compute, written a second time: slowly, literally, from the definitions.

Nothing here comes from the package, and no algorithm is shared with it.

A  ``hard``                    a metric of one given order, by loops
   ``hard_expected_ties``      its mean over the orders of tied documents, by enumeration
B  ``plackett_luce``           mean over all n! orders under Gumbel noise, by closed-form probabilities
C  ``expected``                mean of a discount metric under any noise: one integral for each document
   ``expected_derivatives``    the same with its gradient and diagonal Hessian: one integral for each pair
D  ``monte_carlo``             mean of any metric over sampled noise
E  ``expected_orders``         mean of any metric over all n! orders under any noise, their probabilities
                               by repeated cumulative integration

One query at a time. Labels and scores are one-dimensional and of equal length; a higher score means a
higher rank. Documents are compared by t_i = s_i + sigma * eps_i with independent eps_i. Options of a metric
(gain, discount, relevant_from, max_label, p_break, p_rel, p) are keywords and have the package's defaults.
A query with nothing relevant has the value 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, permutations, product
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre
from scipy.integrate import quad
from scipy.special import expit, logsumexp, ndtr


class Smooth(NamedTuple):
    """An expectation, its gradient in the scores, and the diagonal of its Hessian."""

    value: float
    gradient: np.ndarray
    hessian: np.ndarray


# ---------------------------------------------------------------------------------------------------------
# A. Hard metrics: labels are given in rank order, best rank first
# ---------------------------------------------------------------------------------------------------------


def gain_of(label, gain="exp2") -> float:
    """2^label - 1 ("exp2"), label ("linear"), or gain[label] for a table of gains."""
    if isinstance(gain, str):
        return {"exp2": 2.0 ** float(label) - 1.0, "linear": float(label)}[gain]
    return float(gain[int(label)])


def discount_of(rank: int, discount="log2") -> float:
    """1/log2(1 + rank) ("log2"), 1/rank ("reciprocal"), or discount[rank - 1] (0 past its end)."""
    if isinstance(discount, str):
        return {"log2": 1.0 / math.log2(1 + rank), "reciprocal": 1.0 / rank}[discount]
    return float(discount[rank - 1]) if rank <= len(discount) else 0.0


def dcg(labels, k=None, *, gain="exp2", discount="log2") -> float:
    """Sum over the ranks r <= k of gain(label) * discount(r)."""
    return math.fsum(gain_of(y, gain) * discount_of(r, discount) for r, y in enumerate(labels[:k], 1))


def ideal_dcg(labels, k=None, *, gain="exp2", discount="log2") -> float:
    """The DCG of the order that sorts the gains downwards."""
    best_first = sorted(labels, key=lambda y: -gain_of(y, gain))
    return dcg(best_first, k, gain=gain, discount=discount)


def ndcg(labels, k=None, *, gain="exp2", discount="log2") -> float:
    """DCG divided by the ideal DCG at the same cutoff."""
    ideal = ideal_dcg(labels, k, gain=gain, discount=discount)
    return dcg(labels, k, gain=gain, discount=discount) / ideal if ideal > 0 else 0.0


def cg(labels, k=None, *, gain="exp2") -> float:
    """Sum of the gains of the ranks r <= k."""
    return math.fsum(gain_of(y, gain) for y in labels[:k])


def precision(labels, k=None, *, relevant_from=1) -> float:
    """Relevant documents among the first k, divided by k even where k > n; by n where there is no cutoff."""
    hits = sum(1 for y in labels[:k] if y >= relevant_from)
    return hits / (len(labels) if k is None else k)


def recall(labels, k=None, *, relevant_from=1) -> float:
    """Relevant documents among the first k, divided by all relevant documents of the query."""
    relevant = sum(1 for y in labels if y >= relevant_from)
    return sum(1 for y in labels[:k] if y >= relevant_from) / relevant if relevant else 0.0


def rbp(labels, k=None, *, p=0.8, relevant_from=1) -> float:
    """Sum over the relevant ranks r <= k of (1 - p) p^(r - 1)."""
    return math.fsum((1 - p) * p ** (r - 1) for r, y in enumerate(labels[:k], 1) if y >= relevant_from)


def mrr(labels, k=None, *, relevant_from=1) -> float:
    """1/rank of the first relevant document, 0 if that rank is past k."""
    for r, y in enumerate(labels[:k], 1):
        if y >= relevant_from:
            return 1.0 / r
    return 0.0


def err(labels, k=None, *, max_label=4) -> float:
    """Sum over r <= k of P_r/r * prod_{q<r} (1 - P_q), P = (2^label - 1) / 2^max_label."""
    total, still_looking = 0.0, 1.0
    for r, y in enumerate(labels[:k], 1):
        satisfied = (2.0 ** float(y) - 1.0) / 2.0**max_label
        total += still_looking * satisfied / r
        still_looking *= 1.0 - satisfied
    return total


def pfound(labels, k=None, *, p_break=0.15, p_rel=None) -> float:
    """Sum over r <= k of (1 - p_break)^(r - 1) pRel_r prod_{q<r} (1 - pRel_q); pRel = label/p_rel[label]."""
    total, looks = 0.0, 1.0
    for y in labels[:k]:
        found = float(y) if p_rel is None else float(p_rel[int(y)])
        total += looks * found
        looks *= (1.0 - found) * (1.0 - p_break)
    return total


def average_precision(labels, k=None, *, relevant_from=1) -> float:
    """Mean over all relevant documents of the query of the precision at their rank, 0 for ranks past k."""
    hits, total = 0, 0.0
    for r, y in enumerate(labels[:k], 1):
        if y >= relevant_from:
            hits += 1
            total += hits / r
    relevant = sum(1 for y in labels if y >= relevant_from)
    return total / relevant if relevant else 0.0


HARD: dict[str, Callable[..., float]] = {
    "dcg": dcg,
    "ndcg": ndcg,
    "cg": cg,
    "precision": precision,
    "recall": recall,
    "rbp": rbp,
    "mrr": mrr,
    "err": err,
    "pfound": pfound,
    "map": average_precision,
}
DISCOUNT_FAMILY = ("dcg", "ndcg", "cg", "precision", "recall", "rbp")


def hard(name: str, labels_in_rank_order: Sequence, k: int | None = None, **options) -> float:
    """The metric of one order: labels_in_rank_order[0] is the label of the document at rank 1."""
    return HARD[name](list(labels_in_rank_order), k, **options)


def in_rank_order(labels, scores, ties: str = "order") -> list:
    """Labels by falling score; tied documents as they came ("order") or worst label first ("worst")."""
    within = {"order": lambda i: i, "worst": lambda i: labels[i]}[ties]
    return [labels[i] for i in sorted(range(len(scores)), key=lambda i: (-scores[i], within(i)))]


def tie_blocks(scores) -> list[list[int]]:
    """Documents by falling score, documents of equal score together."""
    falling = sorted(range(len(scores)), key=lambda i: -scores[i])
    return [list(block) for _, block in groupby(falling, key=lambda i: scores[i])]


def hard_expected_ties(name: str, labels, scores, k: int | None = None, **options) -> float:
    """Mean over all orders of the tied documents, by enumeration: the product of (block size)! orders."""
    orders = list(product(*(permutations(block) for block in tie_blocks(scores))))
    values = (hard(name, [labels[i] for block in order for i in block], k, **options) for order in orders)
    return math.fsum(values) / len(orders)


def linear_form(name: str, labels, k: int | None = None, **options) -> tuple[np.ndarray, np.ndarray]:
    """Gains g (n,) and discounts D (n,) with metric = sum_i g_i D[rank_i - 1] for every order.

    Exists for DISCOUNT_FAMILY. D is 0 past k; all divisors (ideal DCG, k, number relevant) are inside D.
    """
    n = len(labels)
    gain, discount = options.get("gain", "exp2"), options.get("discount", "log2")
    p = options.get("p", 0.8)
    relevant = [float(y >= options.get("relevant_from", 1)) for y in labels]
    gains = [gain_of(y, gain) for y in labels] if name in ("dcg", "ndcg", "cg") else relevant
    weight_at_rank, divisor = {
        "dcg": (lambda r: discount_of(r, discount), 1.0),
        "ndcg": (lambda r: discount_of(r, discount), ideal_dcg(labels, k, gain=gain, discount=discount)),
        "cg": (lambda r: 1.0, 1.0),
        "precision": (lambda r: 1.0, n if k is None else k),
        "recall": (lambda r: 1.0, sum(relevant)),
        "rbp": (lambda r: (1 - p) * p ** (r - 1), 1.0),
    }[name]
    inside = n if k is None else min(k, n)
    discounts = [weight_at_rank(r) / divisor if r <= inside and divisor > 0 else 0.0 for r in range(1, n + 1)]
    return np.array(gains), np.array(discounts)


def hard_expected_ties_large(name: str, labels, scores, k: int | None = None, **options) -> float:
    """hard_expected_ties for DISCOUNT_FAMILY at any n: each block's gains meet its mean discount."""
    gains, discounts = linear_form(name, labels, k, **options)
    terms, first = [], 0
    for block in tie_blocks(scores):
        mean_discount = math.fsum(discounts[first : first + len(block)]) / len(block)
        terms += [gains[i] * mean_discount for i in block]
        first += len(block)
    return math.fsum(terms)


# ---------------------------------------------------------------------------------------------------------
# B. Plackett-Luce: every order has a closed-form probability
# ---------------------------------------------------------------------------------------------------------


def plackett_luce(name: str, labels, scores, sigma=1.0, k: int | None = None, **options) -> Smooth:
    """E[M] with P(order) = prod_r a_(r) / (a_(r) + ... + a_(n)), a = exp(s/sigma): n! terms, n <= 6 or 7.

    With l = log P: dE/ds = E[M dl/ds] and d2E/ds2 = E[M ((dl/ds)^2 + d2l/ds2)], no difference step.
    Accuracy: about 1e-15 of the metric's range (1e-15/sigma, 1e-15/sigma^2), absolute.
    """
    theta = (np.asarray(scores, float) - np.max(scores)) / sigma
    n = len(theta)
    values, gradients, hessians = [], [], []
    for order in permutations(range(n)):
        metric = hard(name, [labels[i] for i in order], k, **options)
        log_probability, slope, curvature = 0.0, np.zeros(n), np.zeros(n)
        for r in range(n):
            left = list(order[r:])
            log_total = logsumexp(theta[left])
            chosen_next = np.exp(theta[left] - log_total)
            log_probability += theta[order[r]] - log_total
            slope[order[r]] += 1.0
            slope[left] -= chosen_next
            curvature[left] -= chosen_next * (1.0 - chosen_next)
        weight = math.exp(log_probability) * metric
        values.append(weight)
        gradients.append(weight * slope)
        hessians.append(weight * (slope**2 + curvature))
    return Smooth(math.fsum(values), _fsum_rows(gradients) / sigma, _fsum_rows(hessians) / sigma**2)


def _fsum_rows(rows) -> np.ndarray:
    """Column sums without rounding on the way."""
    return np.array([math.fsum(column) for column in np.transpose(rows)])


# ---------------------------------------------------------------------------------------------------------
# The three noises, and panels of Gauss-Legendre nodes
# ---------------------------------------------------------------------------------------------------------


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


def _standardise(scores, sigma) -> np.ndarray:
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


def gauss_nodes(pieces: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights (P, order) of Gauss-Legendre on every panel."""
    nodes, weights = legendre.leggauss(order)
    half = 0.5 * (pieces[:, 1:] - pieces[:, :1])
    return 0.5 * (pieces[:, 1:] + pieces[:, :1]) + half * nodes, half * weights


def panel_integrator(theta: np.ndarray, noise: Noise) -> Callable:
    """Integrate vectorised functions by 20 nodes on every panel of half a sigma.

    12 nodes on the same panels must agree to 1e-9 of the integral of |function| (denormals excepted), or an
    ArithmeticError says so. The error of 20 nodes is then rounding: 1e-14 of the integral of |function|.
    """
    rules = [gauss_nodes(panels(theta, noise, 0.5), order) for order in (12, 20)]

    def integrate(function: Callable) -> float:
        coarse, fine = (weights.ravel() * function(nodes.ravel()) for nodes, weights in rules)
        if abs(coarse.sum() - fine.sum()) > 1e-9 * np.abs(fine).sum() + 1e-300:
            raise ArithmeticError(f"12 nodes give {coarse.sum()}, 20 nodes give {fine.sum()}")
        return float(fine.sum())

    return integrate


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


# ---------------------------------------------------------------------------------------------------------
# C. Discount metrics under any noise: Poisson-binomial ranks under an integral
# ---------------------------------------------------------------------------------------------------------


def count_law(above: Sequence[np.ndarray], below: Sequence[np.ndarray], size: int) -> np.ndarray:
    """P(exactly c of the documents are above), c < size: (size, Q), by convolution, one document at a time.

    above[j] and below[j] are document j's two probabilities at Q points; nothing is subtracted, so small
    probabilities keep their relative accuracy.
    """
    law = np.zeros((size, np.size(above[0]) if len(above) else 1))
    law[0] = 1.0
    for up, down in zip(above, below, strict=True):
        shifted = np.vstack([np.zeros((1, law.shape[1])), law[:-1]])
        law = law * down + shifted * up
    return law


def mean_over_count(
    density: np.ndarray, values: np.ndarray, x: np.ndarray, others: np.ndarray, noise: Noise
) -> np.ndarray:
    """density * E[values[C]] at every x, C = how many of the others are above x; values end in zeros.

    Counts without a value are not carried, nor points where the density has underflowed.
    """
    out = np.zeros_like(x)
    size = int(np.max(np.nonzero(values)[0], initial=-1)) + 1
    alive = density != 0
    if size > 0 and alive.any():
        at = x[alive]
        law = count_law([noise.sf(at - t) for t in others], [noise.cdf(at - t) for t in others], size)
        out[alive] = density[alive] * (values[:size] @ law)
    return out


def expected(
    name: str, labels, scores, noise="gaussian", sigma=1.0, k: int | None = None, *, rule="panels", **options
) -> float:
    """V = sum_i g_i int f(x - s_i) E[D(1 + how many others are above x)] dx, for DISCOUNT_FAMILY.

    rule: "panels" (20-point Gauss-Legendre on panels of sigma/2, checked against 12 points: n = 60 in half a
    second) or "quad" (scipy's adaptive quadrature: n up to 12). Accuracy of both: 1e-14 of the value.
    """
    gains, discounts = linear_form(name, labels, k, **options)
    theta, law = _standardise(scores, sigma), NOISES[noise]
    integrate = RULES[rule](theta, law)

    def discount_density(i: int) -> Callable:
        others = np.delete(theta, i)
        return lambda x: mean_over_count(law.pdf(x - theta[i]), discounts, x, others, law)

    return math.fsum(gains[i] * integrate(discount_density(i)) for i in range(len(theta)) if gains[i] != 0)


def pair_integrals(theta: np.ndarray, drops: np.ndarray, law: Noise, density: Callable, rule: str):
    """I_mj = int density(x - theta_m) f(x - theta_j) E[drops[C]] dx, C counts the others above x: (n, n)."""
    n, integrate = len(theta), RULES[rule](theta, law)
    out = np.zeros((n, n))

    def pair_density(m: int, j: int) -> Callable:
        others = np.delete(theta, [m, j])

        def at(x):
            return mean_over_count(density(x - theta[m]) * law.pdf(x - theta[j]), drops, x, others, law)

        return at

    for m in range(n):
        for j in range(n):
            if j != m:
                out[m, j] = integrate(pair_density(m, j))
    return out


def pair_matrix(
    name: str, labels, scores, noise="gaussian", sigma=1.0, k: int | None = None, *, rule="panels", **options
) -> np.ndarray:
    """J_mj = int w_m w_j E[D(R) - D(R+1) | both at x] dx: symmetric (n, n), w the densities of the scores.

    dV/ds_m = sum_j (g_m - g_j) J_mj: raising s_m matters where documents m and j meet at x, and then it
    swaps the ranks R and R + 1 between them. Relative accuracy 1e-12 for every entry above 1e-290.
    """
    _, discounts = linear_form(name, labels, k, **options)
    theta, law = _standardise(scores, sigma), NOISES[noise]
    return pair_integrals(theta, discounts[:-1] - discounts[1:], law, law.pdf, rule) / sigma


def expected_derivatives(
    name: str, labels, scores, noise="gaussian", sigma=1.0, k: int | None = None, *, rule="panels", **options
) -> Smooth:
    """`expected` with its gradient and diagonal Hessian: n(n - 1) integrals each, n = 12 in half a second.

    gradient_m = sum_j (g_m - g_j) J_mj with J as in pair_matrix; of J_mj's factors only w_m depends on s_m,
    so hessian_m = sum_j (g_m - g_j) int (dw_m/ds_m) w_j E[D(R) - D(R+1)] dx.
    Accuracy: 1e-12 relative to sum_j |g_m - g_j| J_mj (and its analogue), however small that is.
    """
    gains, discounts = linear_form(name, labels, k, **options)
    theta, law = _standardise(scores, sigma), NOISES[noise]
    drops = discounts[:-1] - discounts[1:]
    differences = gains[:, None] - gains[None, :]
    first = pair_integrals(theta, drops, law, law.pdf, rule)
    second = pair_integrals(theta, drops, law, lambda z: -law.pdf1(z), rule)
    return Smooth(
        expected(name, labels, scores, noise, sigma, k, rule=rule, **options),
        _fsum_rows((differences * first).T) / sigma,
        _fsum_rows((differences * second).T) / sigma**2,
    )


# ---------------------------------------------------------------------------------------------------------
# D. Monte Carlo
# ---------------------------------------------------------------------------------------------------------


def monte_carlo(
    name: str, labels, scores, noise="gaussian", sigma=1.0, k: int | None = None, n=20_000, seed=0, **options
) -> tuple[float, float]:
    """Mean of the metric over n noise draws and the standard error of that mean."""
    rng = np.random.default_rng(seed)
    eps = getattr(rng, NOISES[noise].draw)(size=(n, len(scores)))
    orders = np.argsort(-(np.asarray(scores, float) + sigma * eps), axis=1)
    distinct, counts = np.unique(orders, axis=0, return_counts=True)
    values = np.array([hard(name, [labels[i] for i in order], k, **options) for order in distinct])
    mean = math.fsum(counts * values) / n
    variance = math.fsum(counts * (values - mean) ** 2) / (n - 1)
    return mean, math.sqrt(variance / n)


# ---------------------------------------------------------------------------------------------------------
# E. Any metric under any noise: the probability of every order
# ---------------------------------------------------------------------------------------------------------


def cumulative_matrix(order: int) -> np.ndarray:
    """C with (C @ values at the Gauss nodes)[i] = integral from -1 to node i of the interpolant.

    Interpolant: sum_d (2d+1)/2 P_d(x) sum_j weight_j P_d(node_j) values_j, and
    the integral of P_d from -1 to x is (P_{d+1}(x) - P_{d-1}(x))/(2d+1), or x + 1 for d = 0.
    """
    nodes, weights = legendre.leggauss(order)
    table = legendre.legvander(nodes, order)
    upto = np.column_stack([nodes + 1.0, table[:, 2:] - table[:, :-2]])
    return 0.5 * upto @ (weights[:, None] * table[:, :order]).T


def integrate_orders(factors: np.ndarray, pieces: np.ndarray, order: int) -> dict[tuple[int, ...], float]:
    """Integral of prod_i factor_i(x_i) over x_(1) > x_(2) > ... > x_(n), for every order: (1) is on top.

    factors: (n, P, order) at the Gauss nodes. From the bottom up: with H(x) the integral of the tail below
    x, a document put on top of the tail gives int_{-inf}^x factor H.
    """
    n = len(factors)
    half = 0.5 * (pieces[:, 1:] - pieces[:, :1])
    inner, weights = cumulative_matrix(order).T, legendre.leggauss(order)[1]
    out: dict[tuple[int, ...], float] = {}

    def put_on_top(tail: tuple[int, ...], below: np.ndarray) -> None:
        for i in set(range(n)) - set(tail):
            integrand = half * factors[i] * below
            upto = np.concatenate([[0.0], np.cumsum(integrand @ weights)])
            if len(tail) == n - 1:
                out[(i, *tail)] = float(upto[-1])
            else:
                put_on_top((i, *tail), upto[:-1, None] + integrand @ inner)

    put_on_top((), np.ones(factors.shape[1:]))
    return out


def order_probabilities(scores, noise="gaussian", sigma=1.0) -> dict[tuple[int, ...], float]:
    """P(t_(1) > ... > t_(n)) for every order, best document first. Accuracy 1e-14, absolute; n <= 6."""
    theta, law = _standardise(scores, sigma), NOISES[noise]
    pieces = panels(theta, law, 0.5)
    nodes, _ = gauss_nodes(pieces, 16)
    return integrate_orders(np.array([law.pdf(nodes - t) for t in theta]), pieces, 16)


def order_derivatives(scores, noise="gaussian", sigma=1.0) -> Iterator[tuple[int, dict, dict]]:
    """For each document m: (m, dP/ds_m, d2P/ds_m2), both by order.

    P(order) is an integral of prod_i w_i, so document m's density is replaced by its derivative in s_m.
    """
    theta, law = _standardise(scores, sigma), NOISES[noise]
    pieces = panels(theta, law, 0.5)
    nodes, _ = gauss_nodes(pieces, 16)
    densities = np.array([law.pdf(nodes - t) for t in theta])
    for m, t in enumerate(theta):
        first, second = densities.copy(), densities.copy()
        first[m] = -law.pdf1(nodes - t) / sigma
        second[m] = law.pdf2(nodes - t) / sigma**2
        yield m, integrate_orders(first, pieces, 16), integrate_orders(second, pieces, 16)


def mean_over_orders(name: str, labels, weights: dict, k: int | None = None, **options) -> float:
    """Sum over the orders of weight * metric: E[M] for probabilities, its derivatives for theirs."""
    return math.fsum(weight * hard(name, [labels[i] for i in order], k, **options) for order, weight in weights.items())


def expected_orders(name: str, labels, scores, noise="gaussian", sigma=1.0, k: int | None = None, **options) -> Smooth:
    """Mean of any metric over all n! orders, gradient and diagonal Hessian included; n <= 6.

    Accuracy: 1e-13 of the metric's range (over sigma, over sigma^2), absolute.
    """
    value = mean_over_orders(name, labels, order_probabilities(scores, noise, sigma), k, **options)
    gradient, hessian = np.zeros(len(scores)), np.zeros(len(scores))
    for m, first, second in order_derivatives(scores, noise, sigma):
        gradient[m] = mean_over_orders(name, labels, first, k, **options)
        hessian[m] = mean_over_orders(name, labels, second, k, **options)
    return Smooth(value, gradient, hessian)


# ---------------------------------------------------------------------------------------------------------
# Queries to test with
# ---------------------------------------------------------------------------------------------------------

KINDS = ("generic", "ties", "all_equal_scores", "all_equal_labels", "no_relevant", "far_apart", "clustered")


def random_query(rng: np.random.Generator, n: int, kind: str = "generic") -> tuple[np.ndarray, np.ndarray]:
    """Labels (n,) int64 in 0..4 and scores (n,) float64, meant for sigma about 1.

    Labels: all equal and positive ("all_equal_labels"), all 0 ("no_relevant"), else graded, with a
    relevant document always and an irrelevant one where n > 1. Scores: rounded to multiples of 1 ("ties"),
    one value ("all_equal_scores"), gaps of 25 to 35 in random order ("far_apart"), groups 1e-3 wide whose
    centres are 6 apart ("clustered"), else normal.
    """
    labels = rng.integers(0, 5, n)
    picked = rng.permutation(n)
    labels[picked[1:2]] = 0
    labels[picked[:1]] = rng.integers(1, 5)
    if kind == "all_equal_labels":
        labels[:] = rng.integers(1, 5)
    if kind == "no_relevant":
        labels[:] = 0
    normal = rng.normal(size=n)
    scores = {
        "ties": np.round(normal),
        "all_equal_scores": np.full(n, normal[0]),
        "far_apart": rng.permutation(np.cumsum(rng.uniform(25, 35, n))),
        "clustered": 6.0 * rng.integers(0, 3, n) + 1e-3 * normal,
    }.get(kind, normal)
    return labels, scores
