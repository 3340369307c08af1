"""Sigma in units of the scores' spread: what the spread is, and that rescaling the scores changes nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from boostsoft import Metric, QueryGroups, SoftMetric
from boostsoft.kernels.families import PLAIN
from boostsoft.kernels.noise import LAWS
from boostsoft.metrics.registry import REGISTRY
from boostsoft.metrics.spread import spread, spreads
from boostsoft.pooling import in_score_units

from .cases import EXACT, dyadic_queries, every_exact, every_metric, metric, soft_metric

every_noise = pytest.mark.parametrize("noise", LAWS)


def assert_close(found, wanted, relative):
    """Every entry within ``relative`` of the largest."""
    np.testing.assert_allclose(found, wanted, rtol=0, atol=relative * np.abs(wanted).max())


def test_the_spread_is_the_pooled_standard_deviation_within_queries():
    scores, groups = np.array([1.0, 3.0, 7.0, 10.0, 13.0, 5.0]), QueryGroups.from_sizes([2, 0, 3, 1, 0])
    assert spread(groups, scores, np.ones(5)) == pytest.approx(math.sqrt((2 * 1 + 2 * 9 + 0) / 6), rel=1e-15)
    weights = np.array([1.0, 9.0, 0.5, 2.0, 9.0])
    wanted = math.sqrt((1 * 2 * 1 + 0.5 * 2 * 9 + 0) / (1 * 2 + 0.5 * 3 + 2 * 1))
    assert spread(groups, scores, weights) == pytest.approx(wanted, rel=1e-15)
    assert spread(groups, scores + 2.0**40, weights) == pytest.approx(wanted, rel=1e-15)
    assert spread(groups, scores, weights * 0) == 0
    assert spread(groups, scores, np.full(5, 1.7e308)) == spread(groups, scores, np.ones(5))


@pytest.mark.parametrize("factor", [2.0**1020, 2.0**-1074, 1e300, 1e-200])
def test_the_spread_of_huge_and_tiny_scores(factor):
    scores, groups = np.array([1.0, 3.0, -7.0, 10.0, -13.0, 5.0]), QueryGroups.from_sizes([2, 3, 1])
    plain = spread(groups, scores, np.ones(3))
    assert spread(groups, scores * factor, np.ones(3)) == pytest.approx(
        plain * factor, rel=0.03 if factor < 1e-300 else 1e-14
    )


def test_the_spread_of_huge_scores_below_0():
    """Whose sums over a query overflow."""
    scores, groups = np.array([-1.0, -13.0, -13.0, -13.0]), QueryGroups.from_sizes([4])
    wanted = spread(groups, scores, np.ones(1)) * 2.0**1020
    assert spread(groups, scores * 2.0**1020, np.ones(1)) == pytest.approx(wanted, rel=1e-14)


def test_the_spread_of_tiny_differences_beside_a_huge_score():
    scores = np.array([1e200, 1e200, 3e-200, 1e-200])
    found = spread(QueryGroups.from_sizes([2, 2]), scores, np.ones(2))
    assert found == pytest.approx(math.sqrt(2 / 4) * 1e-200, rel=1e-14)


@pytest.mark.parametrize("far", [-1e160, -1e200, -1.7e308])
def test_a_query_of_weight_0_takes_no_digits_from_the_spread(far):
    labels, scores = [1, 0, 0, 1, 0, 0], np.array([far, 1.0, 2.0, 0.0, 1.0, 2.0])
    groups = QueryGroups.from_sizes([3, 3])
    assert spread(groups, scores, np.array([0.0, 1.0])) == pytest.approx(math.sqrt(2 / 3), rel=1e-14)
    assert spreads(groups, scores[:, None], np.array([0.0, 1.0]))[0] == pytest.approx(math.sqrt(2 / 3), rel=1e-14)
    soft = SoftMetric("ndcg", sigma=0.5, sigma_unit="spread")
    given = {"group": [3, 3], "query_weight": [0, 1]}
    near = np.concatenate([[0.0], scores[1:]])
    assert soft(labels, scores, **given) == pytest.approx(soft(labels, near, **given), rel=1e-12)
    gradients = [soft.gradient(labels, s, **given) for s in (scores, near)]
    np.testing.assert_allclose(*gradients, rtol=1e-9)
    assert np.abs(gradients[1]).max() > 0.01


@every_metric
@every_noise
def test_sigma_in_units_of_the_spread(name, noise):
    labels, scores = dyadic_queries([4, 1, 5], seed=3)
    given = {"group": [4, 1, 5], "query_weight": [1, 2, 0.5]}
    sigma = 0.7 * spread(QueryGroups.from_sizes([4, 1, 5]), scores, np.array([1, 2, 0.5]))
    by_spread = soft_metric(name, 3, noise=noise, sigma=0.7, sigma_unit="spread")
    by_score = soft_metric(name, 3, noise=noise, sigma=sigma)
    np.testing.assert_array_equal(
        by_spread.per_query(labels, scores, **given), by_score.per_query(labels, scores, **given)
    )
    assert by_spread(labels, scores, **given) == by_score(labels, scores, **given)


@every_metric
@every_noise
@pytest.mark.parametrize("factor", [1e-300, 1e-3, 7.0, 1e6, 1e300])
def test_rescaling_the_scores_changes_nothing_in_units_of_the_spread(name, noise, factor):
    labels, scores = dyadic_queries([4, 1, 9], seed=3)
    soft = soft_metric(name, 3, noise=noise, sigma=0.7, sigma_unit="spread")
    value, gradient = soft(labels, scores, group=[4, 1, 9]), soft.gradient(labels, scores, group=[4, 1, 9])
    assert soft(labels, scores * factor, group=[4, 1, 9]) == pytest.approx(value, rel=1e-12)
    assert_close(soft.gradient(labels, scores * factor, group=[4, 1, 9]) * factor, gradient, 1e-11)


@every_exact
@every_noise
def test_the_gradient_is_orthogonal_to_the_scores_in_units_of_the_spread(name, noise):
    """Moving along the scores only scales them."""
    sizes = [4, 1, 9]
    labels, scores = dyadic_queries(sizes, seed=3)
    groups = QueryGroups.from_sizes(sizes)
    deviations = scores - groups.per_document(groups.sums(scores) / groups.sizes)
    soft = soft_metric(name, 3, noise=noise, sigma=0.7, sigma_unit="spread")
    for weights in (None, [1.0, 2.0, 0.5]):
        gradient = soft.gradient(labels, scores, group=sizes, query_weight=weights)
        assert abs(gradient @ deviations) <= 1e-12 * np.abs(gradient).max() * np.abs(deviations).sum()
        assert np.abs(groups.sums(gradient)).max() <= 1e-12 * np.abs(gradient).max()


@every_metric
@pytest.mark.parametrize("ties", ["expected", "order"])
@pytest.mark.parametrize("levels", [(0.0, 0.0, 0.0), (0.1, 0.7, 0.3), (1e300, -1.7e308, 5e-324)])
def test_without_a_spread_the_value_is_the_hard_one_and_the_gradient_zero(name, ties, levels):
    """Every query at a level of its own, as after a stump, and every query with one document."""
    labels, scores = np.array([0, 1, 2, 0, 0, 1, 0]), np.repeat(levels, [3, 3, 1])
    for soft in (soft_metric(name, 2, sigma=s, sigma_unit="spread", ties=ties) for s in (1e-300, 0.2, 1e300)):
        wanted = metric(name, 2).per_query(labels, scores, group=[3, 3, 1])
        np.testing.assert_array_equal(soft.per_query(labels, scores, group=[3, 3, 1]), wanted)
        assert soft(labels, scores, group=[3, 3, 1]) == pytest.approx(wanted.mean(), rel=1e-15)
        assert not soft.gradient(labels, scores, group=[3, 3, 1]).any()
        single = soft.per_query(labels, np.arange(7.0), group=[1] * 7)
        np.testing.assert_array_equal(single, metric(name, 2).per_query(labels, np.arange(7.0), group=[1] * 7))
        assert not soft.gradient(labels, np.arange(7.0), group=[1] * 7).any()


@pytest.mark.parametrize(
    ("name", "ranks"),
    [*((name, "exact") for name in EXACT), *((name, "softrank") for name in EXACT if REGISTRY[name].family == PLAIN)],
)
def test_noise_wider_than_any_number_leaves_ties(name, ranks):
    """Even where the distance of two scores is beyond all floats, too."""
    labels, scores = [1, 0, 2, 1], [1.7e308, -1.7e308, 0.0, 1.0]
    soft = soft_metric(name, 3, sigma=4.0, sigma_unit="spread", ranks=ranks)
    tied = soft_metric(name, 3, ranks=ranks)
    assert soft(labels, scores, group=[4]) == tied(labels, np.zeros(4), group=[4])
    assert not soft.gradient(labels, scores, group=[4]).any()


@pytest.mark.parametrize(
    "options",
    [
        {"noise": "gumbel", "accuracy": "high"},
        {"ranks": "softrank"},
        {"ranks": "sampled", "n_samples": 7, "seed": 3},
    ],
    ids=repr,
)
def test_a_metric_of_data_in_parts_changes_its_unit_alone(options):
    hard = Metric("ndcg@5", gain="linear", ties="worst")
    by_spread = SoftMetric(hard, sigma=0.25, sigma_unit="spread", **options)
    assert in_score_units(by_spread, 3.0) == SoftMetric(hard, sigma=0.75, **options)
    assert in_score_units(by_spread, 0.0) == Metric("ndcg@5", gain="linear", ties="expected")
