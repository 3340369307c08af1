"""Sampled expectations: seeded by query, unbiased in value and gradient, for any metric."""

from __future__ import annotations

import numpy as np
import pytest

import boostsoft as bs
from boostsoft.kernels.noise import LAWS
from boostsoft.metrics import expectation as expectation_module
from boostsoft.metrics.registry import REGISTRY

from . import oracle
from .cases import on_threads

NOISES = tuple(LAWS)
EXACT = [name if entry.pairwise else f"{name}@3" for name, entry in REGISTRY.items() if entry.exact]
LABELS, SCORES = np.array([0, 2, 1, 0, 1, 3, 0]), np.array([0.2, -0.4, 1.0, 0.7, 0.2, 0.5, -1.5])


def options_of(name):
    return {"p_rel": [0.0, 0.2, 0.5, 0.8]} if name.startswith("pfound") else {}


def sampled(name, seed=0, n_samples=2000, **options):
    return bs.SoftMetric(name, ranks="sampled", n_samples=n_samples, seed=seed, **{**options_of(name), **options})


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", EXACT)
def test_values_and_gradients_scatter_about_the_exact_ones(name, noise):
    """Over 30 seeds: the mean within four standard errors of the exact value, of every derivative too."""
    exact = bs.SoftMetric(name, noise=noise, sigma=0.8, **options_of(name))
    wanted = np.append(exact(LABELS, SCORES, group=[7]), exact.gradient(LABELS, SCORES, group=[7]))
    runs = []
    for seed in range(30):
        soft = sampled(name, seed, 400, noise=noise, sigma=0.8)
        runs.append(np.append(soft(LABELS, SCORES, group=[7]), soft.gradient(LABELS, SCORES, group=[7])))
    error = np.std(runs, axis=0, ddof=1) / np.sqrt(30)
    assert (error > 0).all()
    bias = 0.05 if name == "pnr" else 0.0  # a ratio of means is biased by about its variance, O(1 / n_samples)
    assert (np.abs(np.mean(runs, axis=0) - wanted) < 4 * error + bias * np.abs(wanted).max()).all()


@pytest.mark.parametrize(("name", "n", "most"), [("ndcg", 100, 2.0), ("ndcg@10", 100, 0.6), ("dcg@5", 20, 0.5)])
def test_placements_scatter_no_more_than_the_covariance(name, n, most):
    """By gains as they are, a whole list's gradient of a hundred draws was thirty times as long as the exact one."""
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 3, n), rng.normal(size=n)
    off = {}
    for noise in ("gumbel", "logistic"):
        exact = bs.SoftMetric(name, noise=noise, sigma=0.7).gradient(labels, scores, group=[n])
        found = [
            sampled(name, seed, 100, noise=noise, sigma=0.7).gradient(labels, scores, group=[n]) for seed in range(30)
        ]
        off[noise] = np.sqrt(np.square(np.array(found) - exact).mean() / np.square(exact).mean())
    assert off["gumbel"] < most
    assert off["gumbel"] < 1.1 * off["logistic"]


@pytest.mark.parametrize("name", ["map", "kendall", "ndcg@3"])
def test_two_draws_are_unbiased(name):
    """Four thousand copies of a query, each with its own stream: a divisor n in place of n - 1 would halve it."""
    copies = 4000
    soft = sampled(name, n_samples=2, noise="logistic")
    found = copies * soft.gradient(np.tile(LABELS, copies), np.tile(SCORES, copies), group=[7] * copies)
    found = found.reshape(copies, 7)
    wanted = bs.SoftMetric(name, noise="logistic").gradient(LABELS, SCORES, group=[7])
    error = found.std(axis=0, ddof=1) / np.sqrt(copies)
    assert (np.abs(wanted) > 5 * error).any()
    assert (np.abs(found.mean(axis=0) - wanted) < 4 * error).all()


@pytest.mark.parametrize("name", ["bpref", "map"])
def test_metrics_without_an_exact_expectation_are_sampled(name):
    options = {"normalizer": "retrieved", "k": 3} if name == "map" else {}
    soft = sampled(name, n_samples=20_000, noise="gumbel", sigma=0.7, **options)
    k = options.pop("k", None)
    wanted = oracle.plackett_luce(name, LABELS[:6], SCORES[:6], 0.7, k, **options)
    # a value in [0, 1] has a standard deviation of at most 1/2
    assert soft(LABELS[:6], SCORES[:6], group=[6]) == pytest.approx(wanted.value, abs=4 * 0.5 / np.sqrt(20_000))
    many = [
        sampled(name, seed, 2000, noise="gumbel", sigma=0.7, **({"k": k} if k else {}), **options) for seed in range(20)
    ]
    runs = np.array([metric.gradient(LABELS[:6], SCORES[:6], group=[6]) for metric in many])
    error = runs.std(axis=0, ddof=1) / np.sqrt(20)
    assert (np.abs(runs.mean(axis=0) - wanted.gradient) < 4.5 * error).all()


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", ["bpref", "map", "mrr", "ndcg@3"])
def test_a_query_with_nothing_relevant_has_no_gradient_and_changes_no_other(name, noise):
    """Its sums may divide by the number of relevant documents, which is 0."""
    soft = sampled(name, n_samples=50, noise=noise)
    gradient = soft.gradient(np.append(LABELS, [0, 0, 0]), np.append(SCORES, [0.3, 0.0, -0.2]), group=[7, 3])
    assert gradient[7:].tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(2.0 * gradient[:7], soft.gradient(LABELS, SCORES, group=[7]), rtol=1e-12)


def test_placement_rewards_are_less_noisy_than_scores_of_the_noise():
    """One relevant document: mrr is its reciprocal rank, and so is this dcg, which takes PL-Rank-3."""
    labels, scores = np.append(1, np.zeros(19)), np.random.default_rng(1).normal(size=20)
    runs = {"mrr": [], "dcg": []}
    for seed in range(40):
        for name, options in (("mrr", {}), ("dcg", {"gain": "linear", "discount": "reciprocal"})):
            soft = sampled(name, seed, 100, noise="gumbel", **options)
            runs[name].append(soft.gradient(labels, scores, group=[20]))
    assert np.std(runs["dcg"], axis=0).max() < 0.5 * np.std(runs["mrr"], axis=0).max()


@pytest.mark.parametrize("name", ["ndcg@3", "map", "kendall", "bpref"])
@pytest.mark.parametrize("noise", NOISES)
def test_a_query_draws_by_its_seed_and_place_whatever_the_threads(name, noise, monkeypatch):
    rng = np.random.default_rng(3)
    sizes = [5, 9, 1, 14, 8, 3]
    labels, scores = rng.integers(0, 3, 40), rng.normal(size=40)
    soft = sampled(name, 5, 50, noise=noise)
    found = []
    for count in (1, 2, 5):
        on_threads(monkeypatch, count)
        found.append((soft.per_query(labels, scores, group=sizes), soft.gradient(labels, scores, group=sizes)))
    for values, gradient in found[1:]:
        np.testing.assert_array_equal(values, found[0][0])
        np.testing.assert_array_equal(gradient, found[0][1])
    # later queries do not change earlier ones; another seed, and another place, do
    np.testing.assert_array_equal(soft.per_query(labels[:14], scores[:14], group=[5, 9]), found[0][0][:2])
    assert (sampled(name, 6, 50, noise=noise).per_query(labels, scores, group=sizes) != found[0][0])[:2].any()
    shifted = soft.per_query(np.append(labels[:9], labels[:9]), np.append(scores[:9], scores[:9]), group=[9, 9])
    assert shifted[0] != shifted[1]


@pytest.mark.parametrize("cells", [1, 70])
@pytest.mark.parametrize("name", ["ndcg", "map"])
def test_blocks_of_draws_give_the_same_sums(name, cells, monkeypatch):
    """Noise is drawn in blocks, of one draw at least; a stream cut elsewhere is the same stream."""
    whole = sampled(name, n_samples=97, noise="gumbel").gradient(LABELS, SCORES, group=[7])
    monkeypatch.setattr(expectation_module, "_CELLS_AT_A_TIME", cells)
    np.testing.assert_allclose(
        sampled(name, n_samples=97, noise="gumbel").gradient(LABELS, SCORES, group=[7]), whole, rtol=1e-12
    )


def test_scores_far_below_the_best_are_ordered_by_their_noise():
    """2^53 sigma below it: a tie must not go to whoever comes first."""
    soft = sampled("mrr", noise="gumbel", sigma=1e-6, n_samples=2000)
    assert soft([0, 1, 0], [1e12, 0.0, 0.0], group=[3]) == pytest.approx((1 / 2 + 1 / 3) / 2, abs=0.01)


def test_extreme_scores_leave_finite_gradients():
    scores = np.array([1e300, 0.0, -1e300, 5.0])
    for noise in NOISES:
        gradient = sampled("ndcg@2", noise=noise, n_samples=20).gradient([0, 1, 2, 0], scores, group=[4])
        assert np.isfinite(gradient).all()


def test_gradients_that_underflow_are_no_error():
    """Of a caller who has NumPy raise at every one."""
    soft = sampled("dcg", noise="gumbel", n_samples=3)
    for best in np.arange(710.0, 740.0):
        with np.errstate(all="raise"):
            assert np.isfinite(soft.gradient([0, 0, 2], [0.0, best, best - 2.0], group=[3])).all()


def test_noise_wider_than_any_number_leaves_ties():
    soft = sampled("mrr", noise="gaussian", sigma=37.0, sigma_unit="spread", n_samples=4000)
    assert soft([0, 1], [1.7e308, -1.7e308], group=[2]) == pytest.approx(3 / 4, abs=0.03)


@pytest.mark.parametrize("noise", NOISES)
def test_scores_whose_difference_is_no_number_are_as_far_apart_as_they_are(noise):
    near, far = (
        sampled("mrr", noise=noise, sigma=unit, n_samples=50).per_query([0, 1], [1.2 * unit, -1.2 * unit], group=[2])
        for unit in (1.0, 1e308)
    )
    assert far == near
    assert 0.5 < near < 0.7


@pytest.mark.parametrize("noise", ["gaussian", "gumbel"])
@pytest.mark.parametrize("far", [1e12, 1e16, 1e20, -1e20, 1e300])
def test_one_score_far_from_all_others_leaves_these_their_noise(far, noise):
    labels, scores = [0, 0, 1, 2, 3], np.array([far, 0.0, 0.1, 0.2, 0.3])
    near = np.array([99.0 * np.sign(far), 0.0, 0.1, 0.2, 0.3])
    for name in ("ndcg", "kendall"):
        soft = sampled(name, noise=noise, sigma=0.3, n_samples=300)
        assert soft(labels, scores, group=[5]) == pytest.approx(soft(labels, near, group=[5]), abs=1e-12)
        gradients = [soft.gradient(labels, given, group=[5]) for given in (scores, near)]
        np.testing.assert_allclose(*gradients, rtol=1e-9, atol=1e-12)


def test_spread_units_make_it_blind_to_the_scale():
    soft = sampled("ndcg@3", noise="gaussian", sigma=0.5, sigma_unit="spread")
    assert soft(LABELS, 8.0 * SCORES, group=[7]) == pytest.approx(soft(LABELS, SCORES, group=[7]), rel=1e-12)
    assert soft(LABELS, np.zeros(7), group=[7]) == bs.Metric("ndcg@3")(LABELS, np.zeros(7), group=[7])
