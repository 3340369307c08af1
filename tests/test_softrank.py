"""SoftRank and SoftDCG: against a literal listing of the recursion, with its derivatives, and where it departs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import boostsoft as bs
from boostsoft.kernels.families import PLAIN
from boostsoft.kernels.noise import LAWS
from boostsoft.metrics.registry import REGISTRY

from . import oracle

NAMES = [name for name, entry in REGISTRY.items() if entry.family == PLAIN]
NOISES = tuple(LAWS)


def soft(name, **options):
    return bs.SoftMetric(name, ranks="softrank", **options)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", oracle.KINDS)
def test_values_are_those_of_the_literal_recursion(name, noise, kind):
    for seed, (n, k, sigma) in enumerate([(2, None, 1.0), (6, 3, 0.4), (9, None, 3.0), (20, 5, 0.7), (17, 30, 0.02)]):
        labels, scores = oracle.query(kind, n, seed)
        wanted = oracle.softrank(name, labels, scores, noise, sigma, k)
        found = soft(name, k=k, noise=noise, sigma=sigma)(labels, scores, group=[n])
        assert found == pytest.approx(wanted, rel=1e-11, abs=1e-14)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("k", [None, 1, 4])
@pytest.mark.parametrize("spread", [0.3, 1.0, 30.0])
def test_derivatives_are_differences_of_the_literal_recursion(noise, k, spread):
    """Eleven documents: two blocks of targets; at the wide spread, some are certain of their places."""
    labels, scores = oracle.query("generic", 11, 5)
    scores, sigma, step = spread * scores, 0.8, 2e-4
    scores[3] = scores[8]

    def value(shift):
        return oracle.softrank("ndcg", labels, scores + shift, noise, sigma, k)

    found, gradient, hessian = soft("ndcg", k=k, noise=noise, sigma=sigma).value_gradient_hessian(
        labels, scores, group=[11]
    )
    assert found == pytest.approx(value(0.0), rel=1e-12)
    for m in range(11):
        unit = step * (np.arange(11) == m)
        high, middle, low = value(unit), value(0.0), value(-unit)
        assert gradient[m] == pytest.approx((high - low) / (2 * step), abs=1e-7)
        assert hessian[m] == pytest.approx((high + low - 2 * middle) / step**2, abs=1e-6)
    assert abs(gradient.sum()) < 1e-14


@pytest.mark.parametrize("noise", NOISES)
def test_two_documents_are_the_exact_expectation(noise):
    """With one other document there is one event, and nothing to be independent of."""
    labels, scores = [2, 1], [0.3, 0.9]
    exact = bs.SoftMetric("dcg", noise=noise, sigma=0.5, accuracy="high").value_gradient_hessian(
        labels, scores, group=[2]
    )
    found = soft("dcg", noise=noise, sigma=0.5).value_gradient_hessian(labels, scores, group=[2])
    for got, wanted in zip(found, exact, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-10)


def chance_of_passing(noise, gap):
    """That a document is above another one whose score is so much higher, in units of sigma."""
    if noise == "gaussian":
        return 0.5 * math.erfc(gap / 2.0)
    fall = math.exp(-gap)
    return fall / (1.0 + fall) if noise == "gumbel" else fall * (gap - 1.0 + fall) / (1.0 - fall) ** 2


@pytest.mark.parametrize(("noise", "gap"), [("gaussian", 10.0), ("gumbel", 30.0), ("logistic", 30.0)])
def test_a_crowd_far_above_is_passed_by_its_chance_alone(noise, gap):
    """Eight documents below eight, which fill all ranks that count unless one of them changes places, or more do."""
    above, chance = np.arange(16) < 8, chance_of_passing(noise, gap)
    fewer = [sum(math.comb(7, c) for c in range(passed)) / 2.0**7 for passed in range(9)]
    worth = sum(math.comb(8, passed) * chance**passed * fewer[passed] for passed in range(1, 9))
    found = soft("cg@8", noise=noise, gain="linear")(~above, np.where(above, gap, 0.0), group=[16])
    assert found == pytest.approx(8 * worth, rel=1e-9, abs=0)


@pytest.mark.parametrize(("noise", "gap"), [("gaussian", 8.0), ("gumbel", 22.0), ("logistic", 24.0)])
def test_a_crowd_far_below_takes_the_top_by_its_chance(noise, gap):
    """Eight documents above eight: one is first if neither the seven beside it nor one from below are above it."""
    above = np.arange(16) < 8
    found = soft("cg@1", noise=noise, gain="linear")(above, np.where(above, gap, 0.0), group=[16])
    assert found == pytest.approx(8 / 2**7 * (1 - chance_of_passing(noise, gap)) ** 8, rel=1e-11, abs=0)


@pytest.mark.parametrize("noise", NOISES)
def test_without_ties_little_noise_leaves_the_hard_metric_and_with_ties_it_does_not(noise):
    labels, scores = oracle.query("generic", 9, 1)
    hard = bs.Metric("ndcg@5")(labels, scores, group=[9])
    assert soft("ndcg@5", noise=noise, sigma=1e-9)(labels, scores, group=[9]) == pytest.approx(hard, rel=1e-12)
    # every rank is 1 + Binomial(119, 1/2): ten ranks at the top are out of its reach
    tied = np.zeros(120)
    top = [(math.comb(119, c) / 2.0**119) / math.log2(2 + c) for c in range(10)]
    wanted = 120 * math.fsum(top)
    assert soft("dcg@10", noise=noise, sigma=1e-9)(tied + 1, tied, group=[120]) == pytest.approx(wanted, rel=1e-10)
    assert 4e-22 < wanted < 6e-22
    assert bs.Metric("dcg@10")(tied + 1, tied, group=[120]) == pytest.approx(
        sum(1 / math.log2(1 + r) for r in range(1, 11))
    )


def test_long_queries_keep_rows_in_segments_and_many_queries_their_places():
    """Documents far below change nothing, though they make the query long; queries do not see each other."""
    rng = np.random.default_rng(2)
    labels, scores = rng.integers(0, 4, 40), rng.normal(size=40)
    far = np.arange(300.0) * -1e-3 - 1e6
    metric = soft("ndcg@12", sigma=0.5)
    alone = metric.gradient(labels, scores, group=[40])
    sizes = [3, 340, 1, 40]
    all_labels = np.concatenate([[1, 0, 2], labels, np.zeros(300), [1], labels])
    all_scores = np.concatenate([[0.0, 1.0, 2.0], scores, far, [0.0], scores])
    together = 4 * metric.gradient(all_labels, all_scores, group=sizes)
    np.testing.assert_allclose(together[3:43], alone, rtol=1e-10, atol=1e-16)
    np.testing.assert_array_equal(together[-40:], alone)


def test_spread_units_and_names():
    labels, scores = oracle.query("generic", 9, 1)
    metric = soft("ndcg@5", sigma=0.3, sigma_unit="spread")
    assert metric.name == "ndcg_softrank@5"
    assert metric(labels, 7.0 * scores, group=[9]) == pytest.approx(metric(labels, scores, group=[9]), rel=1e-12)
    gradient = metric.gradient(labels, scores, group=[9])
    assert abs(gradient @ scores) < 1e-12, "rescaling the scores changes nothing"
