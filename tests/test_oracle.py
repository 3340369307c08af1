"""The oracle's expectations against closed forms and scipy, and its own parts against each other."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from itertools import permutations

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import multivariate_normal

from . import oracle
from .oracle import (
    DISCOUNT_FAMILY,
    HARD,
    KINDS,
    NOISES,
    PAIR_FAMILY,
    expected,
    expected_derivatives,
    expected_orders,
    hard,
    query,
)

NOISE_NAMES = sorted(NOISES)
CASCADES = ("mrr", "err", "pfound", "map", "bpref")
MEANS = [name for name in HARD if name != "pnr"]


def log_discount(rank):
    return 1 / math.log2(1 + rank)


def options_for(name):
    """Options pfound needs for graded labels: a table from the label to its probability."""
    return {"p_rel": [0.0, 0.1, 0.3, 0.6, 0.9]} if name == "pfound" else {}


def cutoff(name, k):
    """Metrics of pairs have none."""
    return None if name in PAIR_FAMILY else k


def assert_smooth_close(left, right, sigma=1.0, atol=1e-12, rtol=0.0):
    """Value, gradient and Hessian agree, each in its own unit: 1, 1/sigma, 1/sigma^2."""
    for power, (a, b) in enumerate(zip(left, right, strict=True)):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol / sigma**power)


# Two documents: everything is a function of d = (s_2 - s_1)/sigma


def chance_second_is_above(noise, d):
    """P(t_2 > t_1) and its first two derivatives, for d > 0: the law of the difference of two draws."""
    if noise == "gaussian":
        slope = math.exp(-d * d / 4) / (2 * math.sqrt(math.pi))
        return ndtr(d / math.sqrt(2)), slope, -d / 2 * slope
    if noise == "gumbel":
        slope = 0.25 / math.cosh(d / 2) ** 2
        return 1 / (1 + math.exp(-d)), slope, -slope * math.tanh(d / 2)
    e = math.exp(-d)
    slope = e * ((d - 2) + (d + 2) * e) / (1 - e) ** 3
    bend = e * ((3 - d) - (3 + 2 * d) * e) / (1 - e) ** 3 - 3 * e * slope / (1 - e)
    return (1 - (1 + d) * e) / (1 - e) ** 2, slope, bend


@pytest.mark.parametrize("noise", NOISE_NAMES)
@pytest.mark.parametrize(("rule", "sigma"), [("panels", 1e-3), ("panels", 1.0), ("panels", 250.0), ("quad", 1.0)])
@pytest.mark.parametrize("d", [2.0, 7.0, 19.0, 36.0])
def test_two_documents(noise, rule, sigma, d):
    """At d = 36 the Gaussian's gradient is 1e-141, and still has its digits. No rule knows of sigma."""
    labels, scores = [0, 2], [0.0, d * sigma]
    chance, slope, bend = chance_second_is_above(noise, d)
    swap = 3 * (1 - log_discount(2))
    got = expected_derivatives("dcg", labels, scores, noise, sigma, rule=rule)
    assert got.value == pytest.approx(3 * log_discount(2) + swap * chance, rel=1e-13)
    np.testing.assert_allclose(got.gradient, np.array([-1, 1]) * swap * slope / sigma, rtol=2e-12)
    np.testing.assert_allclose(got.hessian, np.array([1, 1]) * swap * bend / sigma**2, rtol=2e-12)


@pytest.mark.parametrize("noise", NOISE_NAMES)
@pytest.mark.parametrize("name", CASCADES)
def test_two_documents_cascades(noise, name):
    labels, scores, sigma, d = [0, 1], [0.0, 0.6], 0.3, 2.0
    best, worst = hard(name, [1, 0], None), hard(name, [0, 1], None)
    chance, slope, bend = ((best - worst) * x for x in chance_second_is_above(noise, d))
    truth = worst + chance, np.array([-slope, slope]) / sigma, np.array([bend, bend]) / sigma**2
    assert_smooth_close(expected_orders(name, labels, scores, noise, sigma), truth, sigma)


# Equal scores and other closed forms


@pytest.mark.parametrize("noise", NOISE_NAMES)
@pytest.mark.parametrize("rule", sorted(oracle.RULES))
def test_equal_scores_average_the_discounts(noise, rule):
    for sigma in (1e-3, 1e3):
        got = expected("dcg", [0, 1, 0, 0], [5.0] * 4, noise, sigma, rule=rule)
        assert got == pytest.approx(sum(log_discount(r) for r in (1, 2, 3, 4)) / 4, rel=1e-13)
        got = expected("precision", [3, 1, 0, 0], [5.0] * 4, noise, sigma, 3, rule=rule)
        assert got == pytest.approx(2 * (3 / 4) / 3, rel=1e-13)


@pytest.mark.parametrize("noise", NOISE_NAMES)
def test_one_document(noise):
    for name, value in (("dcg", 7), ("ndcg", 1), ("cg", 7), ("precision", 1), ("recall", 1), ("rbp", 0.2), ("f1", 1)):
        for got in (
            expected_derivatives(name, [3], [0.7], noise, 0.1),
            expected_orders(name, [3], [0.7], noise, 0.1),
        ):
            assert_smooth_close(got, (value, [0], [0]), 0.1, atol=1e-13)
    assert expected_orders("err", [3], [0.7], noise).value == pytest.approx(7 / 16, abs=1e-13)


@pytest.mark.parametrize("kind", ["generic", "clustered", "all_equal_scores"])
def test_top_of_sixty_documents_is_a_softmax(kind):
    labels, scores = query(kind, 60, 3)
    weights = np.exp(scores - scores.max())
    truth = np.sum(weights * (2.0**labels - 1)) / np.sum(weights)
    assert expected("cg", labels, scores, "gumbel", 1.0, 1) == pytest.approx(truth, rel=1e-13)


@pytest.mark.parametrize("noise", NOISE_NAMES)
def test_expected_ranks_sum_over_pairs(noise):
    """E[rank] = 1 + sum of pairwise chances: the mean over the discount D(r) = r, at n = 40."""
    labels, scores = [1] + [0] * 39, np.array([0.0] + [0.1 * j + 1 for j in range(39)])
    truth = 1 + math.fsum(chance_second_is_above(noise, s)[0] for s in scores[1:])
    got = expected("dcg", labels, scores, noise, 1.0, discount=np.arange(1.0, 41.0))
    assert got == pytest.approx(truth, rel=1e-13)


def test_gaussian_orders_of_three_match_scipy():
    """P(t_1 > t_2 > t_3) is a bivariate normal probability of the differences."""
    scores, sigma = np.array([0.3, 0.0, 0.8]), 0.7
    probabilities = oracle.order_probabilities(scores, "gaussian", sigma)
    for (a, b, c), p in probabilities.items():
        mean = [scores[b] - scores[a], scores[c] - scores[b]]
        cov = sigma**2 * np.array([[2.0, -1.0], [-1.0, 2.0]])
        assert p == pytest.approx(multivariate_normal(mean, cov).cdf([0, 0]), abs=1e-7)


# Plackett-Luce against the two integrals


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", DISCOUNT_FAMILY)
@pytest.mark.parametrize("k", [None, 2])
def test_plackett_luce_is_gumbel_noise(kind, name, k):
    labels, scores = query(kind, 4, 5)
    for sigma in (0.4, 3.0):
        closed = oracle.plackett_luce(name, labels, scores, sigma, k)
        assert_smooth_close(expected_derivatives(name, labels, scores, "gumbel", sigma, k), closed, sigma)


@pytest.mark.parametrize("name", HARD)
def test_plackett_luce_is_the_mean_over_gumbel_orders(name):
    labels, scores = query("generic", 5, 6)
    options, k = options_for(name), cutoff(name, 3)
    closed = oracle.plackett_luce(name, labels, scores, 0.8, k, **options)
    assert_smooth_close(expected_orders(name, labels, scores, "gumbel", 0.8, k, **options), closed, 0.8)


def test_order_probabilities_are_plackett_luce():
    scores, sigma = np.array([0.1, -0.4, 2.0, 0.0, 0.9]), 0.7
    probabilities = oracle.order_probabilities(scores, "gumbel", sigma)
    assert len(probabilities) == math.factorial(5)
    weights = np.exp(scores / sigma)
    for order, p in probabilities.items():
        closed = math.prod(weights[order[r]] / weights[list(order[r:])].sum() for r in range(5))
        assert p == pytest.approx(closed, abs=1e-14)


def decimal_plackett_luce_gradient(name, labels, scores, k):
    """The gradient of plackett_luce in 120 digits."""
    n = len(scores)
    with localcontext() as context:
        context.prec = 120
        weights = [Decimal(float(s)).exp() for s in scores]
        gradient = [Decimal(0)] * n
        for order in permutations(range(n)):
            probability, slope = Decimal(1), [Decimal(0)] * n
            for r in range(n):
                total = sum(weights[i] for i in order[r:])
                probability *= weights[order[r]] / total
                slope[order[r]] += 1
                for i in order[r:]:
                    slope[i] -= weights[i] / total
            metric = Decimal(hard(name, [labels[i] for i in order], k))
            gradient = [g + metric * probability * s for g, s in zip(gradient, slope, strict=True)]
    return [float(g) for g in gradient]


def test_tiny_gradients_have_their_digits():
    """cg has gains and discounts without rounding, so 120-digit enumeration is the truth to all digits."""
    labels, scores = [1, 0, 2, 1], np.array([0.0, 45.0, 20.5, 81.0])
    for k in (1, 2, 3):
        truth = decimal_plackett_luce_gradient("cg", labels, scores, k)
        assert 0 < np.abs(truth).min() < 1e-15
        got = expected_derivatives("cg", labels, scores, "gumbel", 1.0, k)
        np.testing.assert_allclose(got.gradient, truth, rtol=1e-12)


def decimal_logistic(z):
    """1/(1 + e^-z), as precise for z = -50 as for z = 50."""
    return 1 / (1 + (-z).exp())


def test_tiny_logistic_gradients_have_their_digits():
    """Documents at 50 and 50.5 swap ranks 2 and 3 only when the one at 0 is above both: chance 1e-22.

    The truth is the trapezoid rule of step 1/4 in 50 digits, whose relative error is exp(-8 pi^2).
    """
    scores, gains = [Decimal(0), Decimal(50), Decimal("50.5")], [0, 1, 3]
    with localcontext() as context:
        context.prec = 50
        truth = [Decimal(0)] * 3
        for step in range(-60 * 4, 111 * 4):
            z = [Decimal(step) / 4 - s for s in scores]
            above, below = [decimal_logistic(-x) for x in z], [decimal_logistic(x) for x in z]
            for m, j, other in permutations(range(3)):
                meet = above[m] * below[m] * above[j] * below[j] * above[other] / 4
                truth[m] += (gains[m] - gains[j]) * meet
    truth = [float(t) for t in truth]
    assert 1e-23 < abs(truth[2]) < 1e-18
    got = expected_derivatives("cg", [0, 1, 2], [0.0, 50.0, 50.5], "logistic", 1.0, 2)
    np.testing.assert_allclose(got.gradient, truth, rtol=1e-12)


# Pair integrals, cumulative orders, quadrature rules and differences against each other


@pytest.mark.parametrize("noise", NOISE_NAMES)
@pytest.mark.parametrize("sigma", [0.01, 0.05, 1.0, 1e3])
def test_pair_integrals_match_the_enumerated_orders(noise, sigma):
    labels, scores = query("generic", 4, 8)
    for name, k in (("ndcg", None), ("precision", 2)):
        pairs = expected_derivatives(name, labels, scores, noise, sigma, k)
        assert_smooth_close(expected_orders(name, labels, scores, noise, sigma, k), pairs, sigma)


@pytest.mark.parametrize("noise", NOISE_NAMES)
@pytest.mark.parametrize("kind", ["ties", "far_apart", "clustered"])
def test_kinds_of_queries_match_the_enumerated_orders(noise, kind):
    labels, scores = query(kind, 4, 9)
    pairs = expected_derivatives("ndcg", labels, scores, noise, 1.0, 3)
    assert_smooth_close(expected_orders("ndcg", labels, scores, noise, 1.0, 3), pairs)


@pytest.mark.parametrize("noise", NOISE_NAMES)
@pytest.mark.parametrize("sigma", [0.02, 0.6, 40.0])
def test_both_quadrature_rules_agree(noise, sigma):
    labels, scores = query("generic", 3, 10)  # how many are above is counted before any rule
    fixed = expected_derivatives("ndcg", labels, scores, noise, sigma, 2)
    adaptive = expected_derivatives("ndcg", labels, scores, noise, sigma, 2, rule="quad")
    assert_smooth_close(fixed, adaptive, atol=0, rtol=1e-10)


def test_a_needle_is_reported_not_missed():
    theta = np.array([0.0])
    integrate = oracle.panel_integrator(theta, NOISES["gaussian"])
    assert integrate(NOISES["gaussian"].pdf) == pytest.approx(1, abs=1e-14)
    with pytest.raises(ArithmeticError, match="12 nodes"):
        integrate(lambda x: np.exp(-(((x - 0.1) / 0.01) ** 2)))


@pytest.mark.parametrize("noise", NOISE_NAMES)
def test_derivatives_match_differences(noise):
    """Sixth-order central differences of the order probabilities, step 0.05: error 1e-8 of the metric."""
    labels, scores = query("generic", 4, 11)
    h, steps = 0.05, (-3, -2, -1, 0, 1, 2, 3)
    slope_weights = np.array([-1, 9, -45, 0, 45, -9, 1]) / (60 * h)
    bend_weights = np.array([2, -27, 270, -490, 270, -27, 2]) / (180 * h * h)
    analytic = {m: derivatives for m, *derivatives in oracle.order_derivatives(scores, noise)}
    for m in range(4):
        moved = [oracle.order_probabilities(scores + h * step * (np.arange(4) == m), noise) for step in steps]
        for name in MEANS:
            options, k = options_for(name), cutoff(name, 3)
            values = [oracle.mean_over_orders(name, labels, p, k, **options) for p in moved]
            got = [oracle.mean_over_orders(name, labels, w, k, **options) for w in analytic[m]]
            scale = hard("cg", labels) if name in ("dcg", "cg", "discordant") else 1
            assert np.ptp(values) > 1e-3
            np.testing.assert_allclose(got, [slope_weights @ values, bend_weights @ values], atol=3e-8 * scale)


@pytest.mark.parametrize("noise", NOISE_NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_sum_to_zero_and_pairs_are_symmetric(noise, kind):
    labels, scores = query(kind, 4, 12)
    pairs = oracle.pair_matrix("ndcg", labels, scores, noise, 1.0, 3)
    assert (pairs >= 0).all()
    np.testing.assert_allclose(pairs, pairs.T, rtol=1e-13)
    gains, _ = oracle.linear_form("ndcg", labels, 3)
    got = expected_derivatives("ndcg", labels, scores, noise, 1.0, 3)
    np.testing.assert_allclose(got.gradient, ((gains[:, None] - gains) * pairs).sum(axis=1), rtol=1e-12)
    assert abs(math.fsum(got.gradient)) <= 1e-14 * np.abs(got.gradient).max()
    for name in CASCADES:
        total = math.fsum(expected_orders(name, labels[:3], scores[:3], noise, **options_for(name)).gradient)
        assert abs(total) < 1e-13


# Limits and invariances


@pytest.mark.parametrize("noise", NOISE_NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_noise_is_the_hard_metric_and_much_noise_is_every_order(noise, kind):
    labels, scores = query(kind, 4, 13)
    least_gap = min([1.0, *np.diff(np.unique(scores))])
    quiet = oracle.order_probabilities(scores, noise, least_gap / 60)
    loud = oracle.order_probabilities(scores, noise, 1e12)
    for name in MEANS:
        options, k = options_for(name), cutoff(name, 2)
        ties = oracle.hard_expected_ties(name, labels, scores, k, **options)
        assert oracle.mean_over_orders(name, labels, quiet, k, **options) == pytest.approx(ties, abs=1e-12)
        mixed = oracle.hard_expected_ties(name, labels, np.zeros(4), k, **options)
        assert oracle.mean_over_orders(name, labels, loud, k, **options) == pytest.approx(mixed, abs=1e-9)


@pytest.mark.parametrize("noise", NOISE_NAMES)
def test_scale_and_shift(noise):
    labels, scores = query("generic", 4, 14)
    scores = np.round(scores * 64) / 64
    base = expected_derivatives("ndcg", labels, scores, noise, 0.5, 2)
    scaled = expected_derivatives("ndcg", labels, 1024 * scores, noise, 512.0, 2)
    assert_smooth_close((scaled[0], scaled[1] * 1024, scaled[2] * 1024**2), base, atol=1e-15)
    assert_smooth_close(expected_derivatives("ndcg", labels, scores + 2.0**30, noise, 0.5, 2), base, atol=1e-15)


# Monte Carlo


@pytest.mark.parametrize("noise", NOISE_NAMES)
@pytest.mark.parametrize("name", HARD)
def test_monte_carlo_within_four_standard_errors(noise, name):
    labels, scores = query("generic", 5, 15)
    options, k = options_for(name), cutoff(name, 3)
    mean, error = oracle.monte_carlo(name, labels, scores, noise, 0.9, k, n=20_000, seed=1, **options)
    truth = expected_orders(name, labels, scores, noise, 0.9, k, **options).value
    assert 0 < error < 0.01 * max(1, hard("dcg", labels))
    assert abs(mean - truth) < 4 * error


@pytest.mark.parametrize("noise", NOISE_NAMES)
def test_monte_carlo_of_thirty_documents(noise):
    labels, scores = query("generic", 30, 16)
    mean, error = oracle.monte_carlo("ndcg", labels, scores, noise, 0.5, 10, n=3000, seed=2)
    assert abs(mean - expected("ndcg", labels, scores, noise, 0.5, 10)) < 4 * error < 0.02


# Random queries


@pytest.mark.parametrize("n", [1, 2, 6])
def test_random_query(n):
    for kind in KINDS:
        labels, scores = query(kind, n, 17)
        assert labels.shape == scores.shape == (n,)
        assert labels.dtype == np.int64
        assert scores.dtype == np.float64
        assert labels.min() >= 0
        assert labels.max() <= 4
        assert (labels.max() > 0) == (kind != "no_relevant")
        if n > 1 and kind not in ("all_equal_labels", "no_relevant"):
            assert labels.min() == 0
    assert len(set(query("all_equal_labels", n, 18)[0])) == 1
    assert len(set(query("all_equal_scores", n, 18)[1])) == 1
    assert np.all(np.diff(np.sort(query("far_apart", n, 18)[1])) >= 25)
    assert len(set(query("ties", 12, 18)[1])) < 12
