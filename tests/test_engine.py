"""The exact engine against the oracle, which shares nothing with it, and against closed forms."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import norm

import boostsoft as bs
from boostsoft.metrics import expectation as expectation_module
from boostsoft.metrics.expectation import expectation
from boostsoft.metrics.prepared import prepare
from boostsoft.metrics.registry import REGISTRY

from . import oracle
from .cases import natural_scale
from .oracle import query

NOISES = ("gaussian", "gumbel", "logistic")
RATIOS = (1e-3, 0.1, 1.0, 4.0, 30.0, 1e3)  # spread of the scores over sigma


EXACT = [name for name, entry in REGISTRY.items() if entry.exact]


def options_of(name):
    """pfound's labels are probabilities; the test's are grades."""
    return {"p_rel": [level / 5 for level in range(5)]} if name == "pfound" else {}


def spread_of(scores):
    return float(np.std(scores)) or 1.0


def assert_within(got, wanted, natural, tol, floor):
    """The stated error: ``tol`` of the larger of the query's largest and ``floor`` of the natural scale."""
    bound = tol * max(np.abs(wanted).max(), floor * natural)
    assert np.abs(np.asarray(got) - wanted).max() <= bound + 1e-300


def spec_of(name, k):
    return name if k is None else f"{name}@{k}"


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", [name for name in REGISTRY if name in oracle.DISCOUNT_FAMILY])
@pytest.mark.parametrize("kind", oracle.KINDS)
def test_value_gradient_and_hessian_are_the_oracles(name, noise, kind):
    for seed, (n, k) in enumerate([(2, None), (3, 1), (5, 3), (6, None), (4, 9)]):
        labels, scores = query(kind, n, seed)
        ratio = RATIOS[(seed + len(kind)) % len(RATIOS)]
        sigma = spread_of(scores) / ratio
        metric = bs.Metric(spec_of(name, k))
        natural = natural_scale(metric, labels)
        value, gradient, hessian = oracle.expected_derivatives(name, labels, scores, noise, sigma, k)
        for accuracy, tol, floor in (("default", 1e-6, 1e-9), ("high", 1e-10, 1e-4)):
            soft = bs.SoftMetric(metric, noise=noise, sigma=sigma, accuracy=accuracy)
            found = soft.value_gradient_hessian(labels, scores, group=[n])
            assert found[0] == pytest.approx(value, rel=tol, abs=tol * 1e-3 * natural)
            assert_within(found[1], gradient, natural / sigma, tol, floor)
            assert_within(found[2], hessian, natural / sigma**2, 1e3 * tol, 1e3 * floor)


@pytest.mark.parametrize("name", EXACT)
def test_gumbel_is_plackett_luce_by_enumeration(name):
    """All n! orders, several cutoffs: value, gradient and diagonal Hessian."""
    for seed, (n, k) in enumerate([(5, None), (5, 1), (6, 2), (5, 4), (3, 9)]):
        labels, scores = query("generic", n, seed)
        k, options = None if REGISTRY[name].pairwise else k, options_of(name)
        wanted = oracle.plackett_luce(name, labels, scores, 0.7, k, **options)
        soft = bs.SoftMetric(spec_of(name, k), noise="gumbel", sigma=0.7, accuracy="high", **options)
        for got, want in zip(soft.value_gradient_hessian(labels, scores, group=[n]), wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-10 * max(1.0, np.abs(want).max()))


@cache
def oracle_of(kind, n, seed, ratio, noise, k):
    """Labels, scores, sigma, and NDCG's value and derivatives: asked for once for each way."""
    labels, scores = query(kind, n, seed)
    sigma = spread_of(scores) / ratio
    return labels, scores, sigma, oracle.expected_derivatives("ndcg", labels, scores, noise, sigma, k)


@pytest.fixture(params=["short", "long"])
def way(request, monkeypatch):
    """By the way for short lists, or by that for long ones."""
    if request.param == "long":
        monkeypatch.setattr(expectation_module, "ODDS_DIGITS", 1.0)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("kind", oracle.KINDS)
def test_short_lists_by_either_way_are_the_oracles(noise, kind):
    for seed, (n, k) in enumerate([(2, None), (3, 2), (6, 3), (7, None), (8, 7), (8, 1)]):
        ratio = RATIOS[(seed + len(kind)) % len(RATIOS)]
        labels, scores, sigma, (value, gradient, hessian) = oracle_of(kind, n, 40 + seed, ratio, noise, k)
        metric = bs.Metric(spec_of("ndcg", k))
        natural = natural_scale(metric, labels)
        found = bs.SoftMetric(metric, noise=noise, sigma=sigma).value_gradient_hessian(labels, scores, group=[n])
        assert found[0] == pytest.approx(value, rel=1e-6, abs=1e-9 * natural)
        assert_within(found[1], gradient, natural / sigma, 1e-6, 1e-9)
        assert_within(found[2], hessian, natural / sigma**2, 1e-3, 1e-6)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("ratio", RATIOS)
def test_every_regime_of_sigma(noise, ratio):
    for seed in range(4):
        labels, scores, sigma, (_, gradient, _) = oracle_of("generic", 6, 10 + seed, ratio, noise, 3)
        metric = bs.Metric("ndcg@3")
        got = bs.SoftMetric(metric, noise=noise, sigma=sigma).gradient(labels, scores, group=[6])
        assert_within(got, gradient, natural_scale(metric, labels) / sigma, 1e-6, 1e-9)


@pytest.mark.parametrize("noise", NOISES)
def test_pairs_are_in_closed_form(noise):
    """Which of two comes first, at distances up to where the noise does not reach any more."""
    d = np.linspace(1.0, 30.0, 300)
    e = np.exp(-d)
    tail, density = {
        "gaussian": (norm.sf(d / np.sqrt(2.0)), norm.pdf(d / np.sqrt(2.0)) / np.sqrt(2.0)),
        "gumbel": (e / (1.0 + e), e / (1.0 + e) ** 2),
        "logistic": (e * (d - 1.0 + e) / (1.0 - e) ** 2, e * (d - 2.0 + (d + 2.0) * e) / (1.0 - e) ** 3),
    }[noise]
    groups, scores = bs.QueryGroups.from_sizes([2] * d.size), np.column_stack([d, np.zeros(d.size)]).ravel()
    queries = prepare(bs.Metric("precision@1"), "test", np.tile([1, 0], d.size), groups)
    for accuracy, tol in (("default", 1e-6), ("fast", 1e-4)):
        found = expectation(queries, scores, noise, 1.0, accuracy, derive=1)
        np.testing.assert_allclose(found.values, 1.0 - tail, rtol=tol)
        assert np.all(np.abs(found.gradient[::2] - density) < tol * np.maximum(density, 1e-8))
        assert np.all(np.abs(found.gradient[1::2] + density) < tol * np.maximum(density, 1e-8))


@pytest.mark.parametrize("noise", NOISES)
def test_flow_is_the_sum_over_pairs(noise):
    labels, scores = query("generic", 6, 3)
    wanted = oracle.pair_matrix("dcg", labels, scores, noise, 0.6, 4)
    groups = bs.QueryGroups.from_sizes([6])
    queries = prepare(bs.Metric("dcg@4"), "test", labels, groups)
    found = expectation(queries, scores, noise, 0.6, "high", derive=1)
    gains = queries.gains - queries.gains.min()
    np.testing.assert_allclose(found.push / 0.6, wanted @ gains, rtol=1e-9, atol=1e-15)  # L
    np.testing.assert_allclose((found.gradient + found.push) / 0.6, gains * wanted.sum(1), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["mrr", "err", "pfound", "map"])
@pytest.mark.parametrize("noise", NOISES)
def test_cascades_and_average_precision_are_the_oracles(name, noise):
    options = options_of(name)
    for seed, (n, k, sigma) in enumerate([(5, None, 0.5), (4, 2, 1.0), (3, 1, 0.1), (5, 3, 20.0), (4, None, 0.02)]):
        labels, scores = query("ties" if seed == 1 else "generic", n, seed)
        value, gradient, hessian = oracle.expected_orders(name, labels, scores, noise, sigma, k, **options)
        soft = bs.SoftMetric(spec_of(name, k), noise=noise, sigma=sigma, accuracy="high", **options)
        found = soft.value_gradient_hessian(labels, scores, group=[n])
        assert found[0] == pytest.approx(value, abs=1e-10)
        np.testing.assert_allclose(found[1], gradient, rtol=0, atol=1e-9 / sigma)
        np.testing.assert_allclose(found[2], hessian, rtol=0, atol=1e-7 / sigma**2)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("normalizer", ["min", "k"])
def test_other_normalizers_of_average_precision(normalizer, noise):
    labels, scores = query("generic", 5, 1)
    wanted = oracle.expected_orders("map", labels, scores, noise, 0.7, 2, normalizer=normalizer)
    soft = bs.SoftMetric("map@2", normalizer=normalizer, noise=noise, sigma=0.7, accuracy="high")
    for got, want in zip(soft.value_gradient_hessian(labels, scores, group=[5]), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-8)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", [name for name in EXACT if not REGISTRY[name].pairwise])
def test_many_samples_agree(name, noise):
    """Twelve documents by 40,000 draws, whose mean is within 4.5 of its standard errors."""
    options = options_of(name)
    labels, scores = query("generic", 12, 6)
    mean, error = oracle.monte_carlo(name, labels, scores, noise, 0.8, 5, n=40_000, seed=1, **options)
    soft = bs.SoftMetric(spec_of(name, 5), noise=noise, sigma=0.8, **options)
    assert 0 < error < 0.1
    assert soft(labels, scores, group=[12]) == pytest.approx(mean, abs=4.5 * error)


@pytest.mark.parametrize("n", [1, 2, 60, 1000])
def test_gumbel_top_one_is_the_softmax(n):
    rng = np.random.default_rng(n)
    gains, scores, sigma = rng.random(n), rng.normal(size=n), 0.4
    p = softmax(scores / sigma)
    value = p @ gains
    soft = bs.SoftMetric("cg@1", gain="linear", noise="gumbel", sigma=sigma, accuracy="high")
    found = soft.value_gradient_hessian(gains, scores, group=[n])
    assert found[0] == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(found[1], p * (gains - value) / sigma, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found[2], p * (gains - value) * (1 - 2 * p) / sigma**2, rtol=0, atol=1e-9)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("k", [None, 1, 10])
def test_five_thousand_equal_scores(noise, k):
    n = 5000
    labels = np.random.default_rng(0).integers(0, 5, n)
    metric = bs.Metric(spec_of("dcg", k))
    gains = 2.0**labels - 1
    soft = bs.SoftMetric(metric, noise=noise, sigma=0.3)
    value, gradient, _ = soft.value_gradient_hessian(labels, np.full(n, 7.0), group=[n])
    ranks = np.arange(1, (n if k is None else k) + 1)
    assert value == pytest.approx(gains.mean() * (1 / np.log2(1 + ranks)).sum(), rel=1e-6)
    # all pairs are alike, so that the gradient is a multiple of gain - mean gain
    slope = gradient @ (gains - gains.mean()) / ((gains - gains.mean()) ** 2).sum()
    np.testing.assert_allclose(gradient, slope * (gains - gains.mean()), rtol=0, atol=1e-6 * np.abs(gradient).max())
    assert slope > 0
    if noise == "gumbel" and k == 1:
        assert slope == pytest.approx(1 / n / 0.3, rel=1e-6)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("ratio", [0.01, 2.0, 50.0])
def test_both_layouts_of_the_rows_agree(noise, ratio):
    """A discount table that ends in zeros reaches beyond the ranks that share a row; the cutoff does not."""
    n, k = 90, 40
    labels, scores = query("generic", n, 5)
    table = np.append(1 / np.log2(1 + np.arange(1, k + 1)), np.zeros(n - k))
    arguments = {"noise": noise, "sigma": spread_of(scores) / ratio, "accuracy": "high"}
    short = bs.SoftMetric(f"dcg@{k}", **arguments).value_gradient_hessian(labels, scores, group=[n])
    long = bs.SoftMetric("dcg", discount=table, **arguments).value_gradient_hessian(labels, scores, group=[n])
    assert long[0] == pytest.approx(short[0], rel=1e-10)
    for got, wanted in zip(long[1:], short[1:], strict=True):
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-8 * np.abs(wanted).max())


@pytest.mark.parametrize("noise", NOISES)
def test_rows_that_do_not_fit_are_made_twice(noise):
    """A long query goes through checkpoints; documents far below a cutoff change nothing for those above."""
    rng = np.random.default_rng(8)
    labels, scores = rng.integers(0, 3, 30), rng.normal(size=30)
    far = np.full(2500, -1e6)
    soft = bs.SoftMetric("dcg@30", noise=noise, sigma=0.5)
    short = soft.gradient(labels, scores, group=[30])
    long = soft.gradient(np.append(labels, rng.integers(0, 3, 2500)), np.append(scores, far), group=[2530])
    np.testing.assert_allclose(long[:30], short, rtol=0, atol=1e-6 * np.abs(short).max())
    crowd = rng.normal(size=2500)
    crowd_labels = rng.integers(0, 3, 2500)
    gradient = soft.gradient(crowd_labels, crowd, group=[2500])
    for m in rng.integers(0, 2500, 5):
        step = np.zeros(2500)
        step[m] = 1e-4
        precise = bs.SoftMetric("dcg@30", noise=noise, sigma=0.5, accuracy="high")
        rise = precise(crowd_labels, crowd + step, group=[2500]) - precise(crowd_labels, crowd - step, group=[2500])
        assert gradient[m] == pytest.approx(rise / 2e-4, abs=1e-6 * np.abs(gradient).max())


@pytest.mark.parametrize(("n", "k"), [(32, 10), (33, 10), (48, None), (48, 47), (49, None), (70, 64)])
def test_a_list_of_any_length_is_worth_the_same_alone_and_among_longer_ones(n, k):
    """Around the lengths where the way changes."""
    labels, scores = query("generic", n, 3)
    wanted = oracle.expected("ndcg", labels, scores, "gaussian", 0.5, k)
    more_labels, more_scores = query("generic", 150, 4)
    soft = bs.SoftMetric(spec_of("ndcg", k), sigma=0.5)
    alone = soft.per_query(labels, scores, group=[n])
    among = soft.per_query(np.append(more_labels, labels), np.append(more_scores, scores), group=[150, n])
    assert alone[0] == among[1] == pytest.approx(wanted, rel=1e-6)
    gradient = soft.gradient(labels, scores, group=[n])
    both = soft.gradient(np.append(more_labels, labels), np.append(more_scores, scores), group=[150, n])
    assert np.array_equal(gradient, 2.0 * both[150:])


def test_sixty_documents_against_the_oracle():
    labels, scores = query("generic", 60, 2)
    for noise, k in (("gaussian", None), ("logistic", 10), ("gumbel", 50)):
        wanted = oracle.expected("ndcg", labels, scores, noise, 0.5, k)
        got = bs.SoftMetric(spec_of("ndcg", k), noise=noise, sigma=0.5)(labels, scores, group=[60])
        assert got == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", EXACT)
def test_the_limit_of_little_noise_is_the_hard_metric(name, noise):
    for kind in ("generic", "ties", "all_equal_scores"):
        labels, scores = query(kind, 7, 4)
        k, options = None if REGISTRY[name].pairwise else 3, options_of(name)
        wanted = oracle.hard_expected_ties(name, labels, scores, k, **options)
        soft = bs.SoftMetric(spec_of(name, k), noise=noise, sigma=1e-9, **options)
        assert soft(labels, scores, group=[7]) == pytest.approx(wanted, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("noise", NOISES)
def test_gains_of_any_size_give_the_same_in_proportion(noise):
    """Products of odds and gains stay within the range of floats."""
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 3, 300), rng.normal(size=300)
    for name, sigma, unit in itertools.product(("dcg@48", "dcg@160"), (10.0, 0.3), (1e38, 1e290)):
        usual, huge = (
            bs.SoftMetric(name, gain=(0.0, size, 3.0 * size), noise=noise, sigma=sigma) for size in (1.0, unit)
        )
        wanted = usual.value_gradient_hessian(labels, scores, group=[300])
        found = huge.value_gradient_hessian(labels, scores, group=[300])
        assert found[0] == pytest.approx(unit * wanted[0], rel=1e-9)
        np.testing.assert_allclose(found[1] / unit, wanted[1], rtol=0, atol=1e-6 * np.abs(wanted[1]).max())
