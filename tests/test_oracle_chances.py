"""The oracle's chances of pairs, the metrics that need nothing else, and SoftRank's recursion."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from itertools import permutations, product

import numpy as np
import pytest

from . import oracle
from .oracle import (
    DISCOUNT_FAMILY,
    KINDS,
    NOISES,
    PAIR_FAMILY,
    expected_orders,
    expected_pairs,
    pair_probability,
    query,
)

NOISE_NAMES = sorted(NOISES)
GAPS = [0.0, 1e-12, 1e-3, 0.3, 0.999, 1.0, 1.001, 2.0, 7.0, 19.0, 36.0]


# The chance of a pair


@pytest.mark.parametrize("noise", NOISE_NAMES)
@pytest.mark.parametrize("d", GAPS)
def test_pair_probability_is_the_integral(noise, d):
    """At d = -36 the Gaussian's chance is 1e-143, and still has its digits."""
    for sign in (1, -1):
        closed = pair_probability(noise, sign * d)
        assert closed == pytest.approx(oracle.chance_by_integral(noise, sign * d)[0], rel=3e-13)
        by_orders = oracle.order_probabilities([sign * d, 0.0], noise)[0, 1]
        assert closed == pytest.approx(by_orders, abs=1e-13)


@pytest.mark.parametrize("d", [1e-9, 1e-4, 0.02, 0.5, 0.9999, 1.0, 1.3, 5.0, 40.0, 300.0, 700.0])
def test_logistic_pair_probability_in_sixty_digits(d):
    with localcontext() as context:
        context.prec = 60
        for x in (d, -d):
            e = Decimal(x).exp()
            truth = e * (e - 1 - Decimal(x)) / (e - 1) ** 2
            assert pair_probability("logistic", x) == pytest.approx(float(truth), rel=2e-15)


@pytest.mark.parametrize("noise", NOISE_NAMES)
def test_pair_probability_at_the_ends(noise):
    assert pair_probability(noise, 0) == 0.5
    assert pair_probability(noise, 1e-200) == 0.5
    assert pair_probability(noise, 1e5) == 1
    assert pair_probability(noise, -1e5) == 0
    for d in GAPS:
        assert pair_probability(noise, d) + pair_probability(noise, -d) == pytest.approx(1, rel=1e-15)


@pytest.mark.parametrize("noise", NOISE_NAMES)
def test_auc_is_the_mean_of_the_chances_of_its_pairs(noise):
    labels, scores = query("generic", 5, 31)
    for sigma in (0.1, 0.8, 30.0):
        pairs = [(a, b) for a, b in permutations(range(5), 2) if labels[a] >= 1 > labels[b]]
        chances = [pair_probability(noise, (scores[a] - scores[b]) / sigma) for a, b in pairs]
        truth = math.fsum(chances) / len(pairs)
        assert expected_orders("auc", labels, scores, noise, sigma).value == pytest.approx(truth, abs=1e-13)


# Metrics of pairs from the chances alone


@pytest.mark.parametrize(("name", "noise"), list(product(PAIR_FAMILY, NOISE_NAMES)))
@pytest.mark.parametrize("kind", ["generic", "ties", "clustered", "all_equal_scores", "all_equal_labels"])
def test_chances_of_pairs_are_enough(name, noise, kind):
    labels, scores = query(kind, 4, 32)
    for sigma in (0.7, 3.0):
        pairs, orders = (f(name, labels, scores, noise, sigma) for f in (expected_pairs, expected_orders))
        # pnr divides by the expected discordant pairs, a small number, and so do its errors.
        scale = 1 + (pairs.value**2 if name == "pnr" else 0)
        for power, (a, b) in enumerate(zip(pairs, orders, strict=True)):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * scale / sigma**power)


@pytest.mark.parametrize("name", PAIR_FAMILY)
def test_plackett_luce_is_gumbel_noise(name):
    labels, scores = query("generic", 6, 33)
    closed = oracle.plackett_luce(name, labels, scores, 0.9)
    for a, b in zip(closed, expected_pairs(name, labels, scores, "gumbel", 0.9), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize("noise", NOISE_NAMES)
def test_derivatives_of_pnr_match_differences(noise):
    """The ratio N/E[D] - 1 itself is differenced, so the chain rule is checked, not assumed."""
    labels, scores = query("generic", 6, 34)
    h, got = 1e-3, expected_pairs("pnr", labels, scores, noise, 0.9)

    def value(at):
        return oracle.unequal_pairs(labels) / expected_pairs("discordant", labels, at, noise, 0.9).value - 1

    assert got.value == pytest.approx(value(scores), rel=1e-15)
    for m, unit in enumerate(np.eye(6)):
        low, high = value(scores - h * unit), value(scores + h * unit)
        assert got.gradient[m] == pytest.approx((high - low) / (2 * h), abs=1e-4 * got.value)
        assert got.hessian[m] == pytest.approx((high - 2 * got.value + low) / h**2, abs=1e-4 * got.value)


def test_pnr_is_the_ratio_of_mean_counts_everywhere():
    labels, scores = [2, 1, 0], [0.4, 0.9, 0.0]
    by_hand = 3 / sum(pair_probability("gumbel", d) for d in (0.9 - 0.4, 0.0 - 0.4, 0.0 - 0.9)) - 1
    for got in (
        oracle.plackett_luce("pnr", labels, scores).value,
        expected_orders("pnr", labels, scores, "gumbel").value,
        expected_pairs("pnr", labels, scores, "gumbel").value,
    ):
        assert got == pytest.approx(by_hand, rel=1e-12)
    mean, error = oracle.monte_carlo("pnr", labels, scores, "gumbel", n=20_000, seed=3)
    assert abs(mean - by_hand) < 4 * error < 0.1
    with pytest.raises(ValueError, match="ratio of means"):
        oracle.mean_over_orders("pnr", labels, {(0, 1, 2): 1.0})


def test_the_standard_error_of_pnr_is_that_of_its_sampled_values():
    """60 samples of 500 draws: their spread is known to a tenth."""
    runs = np.array([oracle.monte_carlo("pnr", [2, 1, 0], [1.4, 0.6, 0.0], n=500, seed=seed) for seed in range(60)])
    assert runs[:, 1].mean() == pytest.approx(runs[:, 0].std(ddof=1), rel=0.3)


def test_pnr_of_a_sample_without_a_discordant_pair():
    assert oracle.monte_carlo("pnr", [2, 0], [1e3, 0.0], n=100) == (math.inf, math.inf)
    faultless = oracle.pnr_of_discordant([2, 0], oracle.Smooth(0.0, np.ones(2), np.ones(2)))
    assert faultless.value == math.inf
    assert not np.any(faultless.gradient)


@pytest.mark.parametrize("noise", NOISE_NAMES)
def test_tiny_chances_have_their_digits(noise):
    """Two documents 30 sigma apart in the right order: both derivatives of D follow from the law's closed form."""
    got = expected_pairs("discordant", [1, 0], [30.0, 0.0], noise)
    assert got.value == pytest.approx(pair_probability(noise, -30.0), rel=1e-12)
    if noise == "gumbel":
        chance = got.value
        slope = chance * (1 - chance)
        np.testing.assert_allclose(got.gradient, [-slope, slope], rtol=1e-12)
        np.testing.assert_allclose(got.hessian, [slope * (1 - 2 * chance)] * 2, rtol=1e-12)
    if noise == "gaussian":
        slope = math.exp(-(30.0**2) / 4) / (2 * math.sqrt(math.pi))
        np.testing.assert_allclose(got.gradient, [-slope, slope], rtol=1e-12)
        np.testing.assert_allclose(got.hessian, [15 * slope] * 2, rtol=1e-12)


def test_thirty_documents_within_four_standard_errors():
    labels, scores = query("ties", 30, 35)
    for name in ("kendall", "spearman"):
        mean, error = oracle.monte_carlo(name, labels, scores, "logistic", 0.8, n=2000, seed=4)
        assert abs(mean - expected_pairs(name, labels, scores, "logistic", 0.8).value) < 4 * error < 0.02


# SoftRank


@pytest.mark.parametrize("noise", NOISE_NAMES)
@pytest.mark.parametrize("name", DISCOUNT_FAMILY)
@pytest.mark.parametrize("k", [None, 1, 5])
def test_softrank_of_two_documents_is_the_expectation(noise, name, k):
    for labels, scores in (([0, 2], [0.3, 0.1]), ([1, 3], [0.3, 0.9]), ([1, 0], [0.5, 0.5]), ([2], [0.5])):
        exact = oracle.expected(name, labels, scores, noise, 0.4, k)
        assert oracle.softrank(name, labels, scores, noise, 0.4, k) == pytest.approx(exact, rel=1e-13, abs=1e-15)


def test_softrank_of_three_documents_by_hand():
    """Tied scores: every other document is above with chance 1/2, so ranks 1, 2, 3 have 1/4, 1/2, 1/4."""
    np.testing.assert_allclose(oracle.softrank_ranks(1, [0.3, 0.3, 0.3], "gaussian"), [1 / 4, 1 / 2, 1 / 4], rtol=1e-15)
    by_hand = 3 * (1 / 4 + 1 / 2 / math.log2(3) + 1 / 4 / 2)
    assert oracle.softrank("dcg", [0, 2, 0], [0.3] * 3) == pytest.approx(by_hand, rel=1e-15)
    a, b = pair_probability("gumbel", 2.0), pair_probability("gumbel", -1.0)
    law = [(1 - a) * (1 - b), a * (1 - b) + (1 - a) * b, a * b]
    np.testing.assert_allclose(oracle.softrank_ranks(0, [0.0, 2.0, -1.0], "gumbel"), law, rtol=1e-14)
    scored = oracle.softrank("recall", [1, 0, 0], [0.0, 4.0, -2.0], "gumbel", 2.0, 2)
    assert scored == pytest.approx(law[0] + law[1], rel=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_softrank_has_the_right_mean_rank_and_no_more(kind):
    """The mean rank is linear in the chances of pairs, hence exact; the law itself is none of an order's."""
    labels, scores = query(kind, 5, 36)
    mean_rank = {"discount": np.arange(1.0, 6.0)}
    exact = oracle.expected("dcg", labels, scores, "gaussian", 0.6, **mean_rank)
    assert oracle.softrank("dcg", labels, scores, "gaussian", 0.6, **mean_rank) == pytest.approx(exact, rel=1e-13)
    if kind == "all_equal_scores":
        assert (
            abs(oracle.softrank("ndcg", labels, scores, "gaussian", 0.6) - oracle.expected("ndcg", labels, scores))
            > 1e-3
        )


def test_softrank_loses_long_lists_of_tied_documents():
    """120 tied relevant documents: DCG@10 is 4.54 in every order; SoftRank puts every document near rank 60."""
    labels, scores = [1] * 120, [0.0] * 120
    assert oracle.hard_expected_ties_large("dcg", labels, scores, 10) == pytest.approx(4.5436, abs=1e-4)
    by_hand = 120 * math.fsum(math.comb(119, c) / 2**119 / math.log2(2 + c) for c in range(10))
    assert oracle.softrank("dcg", labels, scores, "gaussian", 1.0, 10) == pytest.approx(by_hand, rel=1e-12)
    assert by_hand == pytest.approx(5e-22, rel=0.2)


@pytest.mark.parametrize("name", ["mrr", "auc", "map"])
def test_softrank_is_for_discount_metrics_only(name):
    with pytest.raises(KeyError):
        oracle.softrank(name, [1, 0], [0.0, 1.0])
