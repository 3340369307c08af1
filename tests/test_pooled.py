"""Metrics of pairs over all queries together: one value, documents that weigh as much as their queries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from boostsoft import Metric, QueryGroups, SoftMetric
from boostsoft.kernels.hard import TIES
from boostsoft.kernels.noise import LAWS
from boostsoft.metrics.prepared import prepare
from boostsoft.metrics.registry import REGISTRY

from . import oracle
from .cases import by_definition, dyadic_queries
from .tie_means import mean_over_ties

POOLED = [name for name, entry in REGISTRY.items() if "pooled" in entry.options]
SIZES, WEIGHTS = np.array([4, 0, 7, 1, 5]), np.array([0.5, 9.0, 2.0, 3.0, 0.0])
every_pooled = pytest.mark.parametrize("name", POOLED)
every_noise = pytest.mark.parametrize("noise", LAWS)
every_unit = pytest.mark.parametrize("unit", ["score", "spread"])


def data(seed=0):
    labels, scores = dyadic_queries(SIZES, seed)
    return labels, np.round(2 * scores) / 2  # scores of different queries tie as well


def weighted_pairs(labels, scores, weights, half):
    """Concordant and discordant pairs of documents, each the product of two weights; a tied one half of each."""
    right = wrong = 0.0
    for i in range(len(labels)):
        for j in range(len(labels)):
            if labels[i] > labels[j]:
                share = 1.0 if scores[i] > scores[j] else (half if scores[i] == scores[j] else 0.0)
                right += share * weights[i] * weights[j]
                wrong += (1 - share) * weights[i] * weights[j]
    return right, wrong


@every_pooled
@pytest.mark.parametrize("ties", TIES)
def test_without_weights_it_is_the_metric_of_all_documents(name, ties):
    for seed in range(4):
        labels, scores = data(seed)
        found = Metric(name, pooled=True, ties=ties)(labels, scores, group=SIZES)
        if ties == "expected":
            wanted = mean_over_ties(name, labels, scores)
        else:
            wanted = by_definition(name, labels, scores, ties=ties)
        assert found == pytest.approx(wanted, rel=1e-14)
        assert found == Metric(name, ties=ties)(labels, scores, group=[SIZES.sum()])
        assert found != pytest.approx(Metric(name, ties=ties)(labels, scores, group=SIZES), rel=1e-3)


@pytest.mark.parametrize("relevant_from", [1, 3])
def test_scikit_learns_area_with_sample_weights(relevant_from):
    for seed in range(4):
        labels, scores = data(seed)
        for weights in (np.ones(5), WEIGHTS):
            wanted = roc_auc_score(labels >= relevant_from, scores, sample_weight=np.repeat(weights, SIZES))
            metric = Metric("auc", pooled=True, relevant_from=relevant_from)
            found = metric(labels, scores, group=SIZES, query_weight=weights)
            assert found == pytest.approx(wanted, rel=1e-13)


@pytest.mark.parametrize(("ties", "half"), [("expected", 0.5), ("worst", 0.0)])
def test_a_pair_weighs_the_product_of_its_documents(ties, half):
    labels, scores = data(1)
    given = {"group": SIZES, "query_weight": WEIGHTS}
    right, wrong = weighted_pairs(labels, scores, np.repeat(WEIGHTS, SIZES), half)
    assert Metric("pnr", pooled=True, ties=ties)(labels, scores, **given) == pytest.approx(right / wrong, rel=1e-13)
    right, wrong = weighted_pairs(labels >= 2, scores, np.repeat(WEIGHTS, SIZES), half)
    auc = Metric("auc", pooled=True, ties=ties, relevant_from=2)
    assert auc(labels, scores, **given) == pytest.approx(right / (right + wrong), rel=1e-13)


@every_pooled
def test_weight_two_is_the_query_twice(name):
    """Of the exact soft metric too: a document and its twin are never a pair, being of one label."""
    labels, scores = data(2)
    rows = np.r_[0:11, 4:17]
    twice = {"group": [4, 0, 7, 7, 1, 5]}
    for metric in (Metric(name, pooled=True), SoftMetric(name, pooled=True, sigma=0.7)):
        found = metric(labels, scores, group=SIZES, query_weight=[1, 1, 2, 1, 1])
        assert found == pytest.approx(metric(labels[rows], scores[rows], **twice), rel=1e-13)
        assert found != pytest.approx(metric(labels, scores, group=SIZES), rel=1e-3)


@every_pooled
@pytest.mark.parametrize("factor", [2.0**-400, 0.1, 2.0**400])
def test_only_the_ratio_of_weights_matters(name, factor):
    labels, scores = data(3)
    for metric in (Metric(name, pooled=True), SoftMetric(name, pooled=True), SoftMetric(name, pooled=True).gradient):
        plain = metric(labels, scores, group=SIZES, query_weight=WEIGHTS)
        scaled = metric(labels, scores, group=SIZES, query_weight=WEIGHTS * factor)
        np.testing.assert_allclose(scaled, plain, rtol=1e-12)


@every_pooled
def test_the_first_query_may_weigh_nothing(name):
    labels, scores = data(3)
    for metric in (Metric(name, pooled=True), SoftMetric(name, pooled=True), SoftMetric(name, pooled=True).gradient):
        found = metric(labels, scores, group=SIZES, query_weight=[0, 9, 2, 3, 1])
        wanted = metric(labels[4:], scores[4:], group=SIZES[1:], query_weight=[9, 2, 3, 1])
        np.testing.assert_allclose(found[4:] if np.ndim(found) else found, wanted, rtol=1e-12)


@every_pooled
def test_queries_without_pairs_of_their_own_count_and_nothing_but_one_class_is_empty(name):
    """The order of queries, and how documents share them, does not matter without weights."""
    labels, scores = [1, 1, 0, 0], [4.0, 1.0, 2.0, 3.0]
    wanted = by_definition(name, labels, scores)
    for sizes in ([4], [2, 2], [1, 1, 1, 1], [0, 4], [3, 0, 1]):
        assert Metric(name, pooled=True)(labels, scores, group=sizes) == wanted
    assert Metric(name)(labels, scores, group=[2, 2]) == 0
    for empty, filler in (("zero", 0.0), ("one", 1.0), ("skip", math.nan)):
        for metric in (Metric(name, pooled=True, empty=empty), SoftMetric(name, pooled=True, empty=empty)):
            np.testing.assert_equal(metric([1, 1, 1], [1, 2, 3], group=[2, 1]), filler)
            # one class weighs nothing
            np.testing.assert_equal(metric(labels, scores, group=[2, 2], query_weight=[1, 0]), filler)
        gradient = SoftMetric(name, pooled=True, empty=empty).gradient
        assert not gradient([1, 1, 1], [1, 2, 3], group=[2, 1]).any()
        assert not gradient(labels, scores, group=[2, 2], query_weight=[1, 0]).any()


# Soft


@every_pooled
@every_noise
def test_the_exact_one_is_the_oracles(name, noise):
    labels, scores = data(4)
    wanted = oracle.expected_pairs(name, labels, scores, noise, 0.7)
    found = SoftMetric(name, pooled=True, noise=noise, sigma=0.7).value_gradient_hessian(labels, scores, group=SIZES)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-10 * np.abs(want).max())


@every_pooled
@every_noise
def test_small_sigma_is_the_hard_metric_with_expected_ties(name, noise):
    labels, scores = data(5)
    for weights in (None, WEIGHTS):
        given = {"group": SIZES, "query_weight": weights}
        wanted = Metric(name, pooled=True)(labels, scores, **given)
        for ties in TIES:
            soft = SoftMetric(name, pooled=True, ties=ties, noise=noise, sigma=1e-6)
            assert soft(labels, scores, **given) == pytest.approx(wanted, rel=1e-9)


@every_pooled
@every_noise
@every_unit
def test_the_gradient_is_the_central_difference(name, noise, unit):
    labels, scores = data(6)
    given = {"group": SIZES, "query_weight": WEIGHTS + 0.25}
    soft = SoftMetric(name, pooled=True, noise=noise, sigma=0.7, sigma_unit=unit)
    step, steps = 1e-4, np.eye(17)
    up, down = ([soft(labels, scores + sign * step * row, **given) for row in steps] for sign in (1, -1))
    gradient = soft.gradient(labels, scores, **given)
    np.testing.assert_allclose(gradient, (np.array(up) - down) / (2 * step), rtol=0, atol=2e-6 * np.abs(gradient).max())


@every_pooled
def test_the_hessian_is_the_central_difference_of_the_gradient(name):
    labels, scores = data(6)
    given = {"group": SIZES, "query_weight": WEIGHTS + 0.25}
    soft, step = SoftMetric(name, pooled=True, sigma=0.7), 1e-4
    up, down = (
        [soft.gradient(labels, scores + sign * step * row, **given)[i] for i, row in enumerate(np.eye(17))]
        for sign in (1, -1)
    )
    value, gradient, hessian = soft.value_gradient_hessian(labels, scores, **given)
    # with the Hessian, pairs go another way, by a law of more digits
    assert value == pytest.approx(soft(labels, scores, **given), rel=4e-9)
    np.testing.assert_allclose(gradient, soft.gradient(labels, scores, **given), rtol=4e-9, atol=1e-9)
    np.testing.assert_allclose(hessian, (np.array(up) - down) / (2 * step), rtol=0, atol=1e-5 * np.abs(hessian).max())


@every_pooled
@every_unit
def test_sampled_ranks_agree_with_the_exact_ones(name, unit):
    """5,000 draws of all documents at once; the values' standard errors are below 1 % of them."""
    labels, scores = data(7)
    given = {"group": SIZES, "query_weight": WEIGHTS + 0.25}
    exact = SoftMetric(name, pooled=True, sigma_unit=unit)
    sampled = SoftMetric(name, pooled=True, sigma_unit=unit, ranks="sampled", n_samples=5000)
    assert sampled(labels, scores, **given) == pytest.approx(exact(labels, scores, **given), rel=0.03)
    wanted = exact.gradient(labels, scores, **given)
    np.testing.assert_allclose(
        sampled.gradient(labels, scores, **given), wanted, rtol=0, atol=0.25 * np.abs(wanted).max()
    )


@every_pooled
def test_without_a_spread_the_value_is_the_hard_one(name):
    """Every query at one level of its own: all the difference is between queries, which the spread leaves out."""
    labels, scores = data(8)
    scores = np.repeat([0.5, 0.0, -1.0, 2.0, 0.5], SIZES)
    soft = SoftMetric(name, pooled=True, sigma_unit="spread")
    wanted = Metric(name, pooled=True)(labels, scores, group=SIZES, query_weight=WEIGHTS)
    assert soft(labels, scores, group=SIZES, query_weight=WEIGHTS) == wanted
    queries = prepare(soft.hard, "example", labels, QueryGroups.from_sizes(SIZES))
    value, gradient = soft.evaluate_with_gradient(queries, np.array(scores), WEIGHTS)
    assert value == wanted
    assert not gradient.any()
