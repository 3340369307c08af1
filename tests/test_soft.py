"""Soft metrics as their users meet them: limits, invariances, and that their parts agree.

How exact the engine is, and where, is the matter of other tests; here the tolerances are the documented ones.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boostsoft import Metric, SoftMetric
from boostsoft.kernels.noise import LAWS
from boostsoft.metrics.registry import REGISTRY

from . import oracle
from .cases import (
    DYADIC_KINDS,
    EXACT,
    arguments,
    by_definition,
    cutoffs_of,
    dyadic_queries,
    dyadic_query,
    every_exact,
    every_metric,
    log_discount,
    metric,
    natural_scale,
    of_all_orders,
    of_order,
    soft_metric,
)
from .tie_means import mean_over_ties

TOLERANCE = {"default": 1e-6, "high": 1e-10}
few = settings(deadline=None, derandomize=True, max_examples=12)
every_exact_with_cutoff = pytest.mark.parametrize("name", [name for name in EXACT if not REGISTRY[name].pairwise])
every_noise = pytest.mark.parametrize("noise", LAWS)
every_accuracy = pytest.mark.parametrize("accuracy", TOLERANCE)


def assert_close(found, wanted, relative, absolute=0.0):
    """Every entry within ``relative`` of the largest."""
    bound = relative * np.abs(wanted).max() + absolute
    np.testing.assert_allclose(found, wanted, rtol=0, atol=bound)


# What the oracle gives, once for all laws, units and accuracies

hard_value, value_of_all_equal, value_of_every_order = map(cache, (by_definition, mean_over_ties, of_all_orders))


# Limits


@every_exact
@every_noise
@every_accuracy
def test_small_sigma_is_the_hard_metric_with_expected_ties(name, noise, accuracy):
    for kind in oracle.KINDS:
        labels, scores = dyadic_query(kind, 6, 1)
        for k in cutoffs_of(name):
            soft = soft_metric(name, k, noise=noise, sigma=1e-9, accuracy=accuracy)
            wanted = hard_value(name, tuple(labels), tuple(scores), k)
            found = soft(labels, scores, group=[6])
            assert found == pytest.approx(wanted, rel=TOLERANCE[accuracy], abs=1e-15), (kind, k)


@every_metric
@every_noise
def test_small_sigma_without_ties_is_the_hard_metric(name, noise):
    """Also of sampled ranks, every draw of which has the same order."""
    labels, scores = dyadic_query("generic", 40, 1)
    for k in cutoffs_of(name):
        wanted = metric(name, k)(labels, scores, group=[40])
        assert soft_metric(name, k, noise=noise, sigma=1e-9)(labels, scores, group=[40]) == pytest.approx(
            wanted, rel=1e-6
        )


@every_exact
@every_noise
def test_small_sigma_shares_ties_even_if_the_hard_twin_does_not(name, noise):
    labels, scores = [1, 0, 0, 1, 0], [0.0, 2.0, 2.0, 2.0, 2.0]
    wanted = by_definition(name, labels, scores, 2)
    for ties in REGISTRY[name].ties[1:]:
        soft = soft_metric(name, 2, ties=ties, noise=noise, sigma=1e-9)
        assert soft(labels, scores, group=[5]) == pytest.approx(wanted, rel=1e-6)
        assert soft.hard(labels, scores, group=[5]) != pytest.approx(wanted, rel=1e-3)


@every_exact
@every_noise
@every_accuracy
def test_large_sigma_is_the_mean_over_all_orders(name, noise, accuracy):
    """The gradient is a covariance of the metric and the noise's score function, whose deviation is at most 1.

    So it is at most the metric's deviation over sigma; of pnr, whose own is infinite, at most 2 / sigma: the
    discordant pairs deviate by half of all N, and the ratio's slope is N / (N / 2)^2.
    """
    labels, scores = dyadic_query("generic", 6, 2)
    for k in cutoffs_of(name):
        orders = value_of_every_order(name, tuple(labels), k)
        wanted = hard_value(name, tuple(labels), (0.0,) * 6, k)  # of pnr the ratio of the mean counts
        deviation = np.std(orders) if np.isfinite(orders).all() else 2.0
        for sigma in (1e12, 1e308):
            soft = soft_metric(name, k, noise=noise, sigma=sigma, accuracy=accuracy)
            value, gradient, _ = soft.value_gradient_hessian(labels, scores, group=[6])
            assert value == pytest.approx(wanted, rel=TOLERANCE[accuracy], abs=1e-11)
            bound = max(deviation, 1e-9 * natural_scale(soft, labels))  # some are the same in every order
            assert np.abs(gradient).max() <= bound / sigma
            assert gradient.any() or deviation < 1e-15


@every_noise
@every_accuracy
@pytest.mark.parametrize("k", [None, 1, 10, 100, 2500, 9999])
def test_five_thousand_equal_scores(noise, accuracy, k):
    """Every rank is equally likely: the mean discount times the sum of the gains."""
    n = 5000
    labels = np.random.default_rng(0).integers(0, 5, n)
    gains, discounts = 2.0**labels - 1, [log_discount(rank) for rank in range(1, min(k or n, n) + 1)]
    ideal = math.fsum(np.sort(gains)[::-1][: len(discounts)] * discounts)
    wanted = math.fsum(discounts) / n * gains.sum() / ideal
    soft = SoftMetric("ndcg", k=k, noise=noise, accuracy=accuracy, sigma=0.3)
    assert soft(labels, np.full(n, 0.1), group=[n]) == pytest.approx(wanted, rel=TOLERANCE[accuracy])


@every_exact
@every_noise
@pytest.mark.parametrize("relevant", [3, 200])
def test_three_hundred_equal_scores(name, noise, relevant):
    """Every order is as likely, whatever the metric."""
    labels = np.where(np.arange(300) < relevant, np.arange(300) % 4 + 1, 0)
    for k in cutoffs_of(name, (None, 1, 20)):
        wanted = value_of_all_equal(name, tuple(labels), (0.0,) * 300, k)
        found = soft_metric(name, k, noise=noise, sigma=0.3)(labels, np.full(300, 0.1), group=[300])
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-13)


@every_metric
@every_noise
@pytest.mark.parametrize("label", [0, 1, 3])
def test_one_document(name, noise, label):
    for k in cutoffs_of(name, (None, 1, 5)):
        soft = soft_metric(name, k, noise=noise)
        wanted = pytest.approx(of_order(name, [label], k), rel=1e-15)
        assert soft([label], [0.7], group=[1]) == wanted
        if REGISTRY[name].exact:
            value, gradient, hessian = soft.value_gradient_hessian([label], [0.7], group=[1])
            assert value == wanted
            assert gradient.tolist() == hessian.tolist() == [0.0]


@every_exact
@every_noise
@pytest.mark.parametrize("label", [0, 1, 3])
def test_equal_labels_leave_nothing_to_learn(name, noise, label):
    """Every order has the same value, and the gradient is 0."""
    _, scores = dyadic_query("ties", 7, 5)
    for k in cutoffs_of(name, (None, 1, 3, 10)):
        soft = soft_metric(name, k, noise=noise, sigma=0.5)
        value, gradient, hessian = soft.value_gradient_hessian([label] * 7, scores, group=[7])
        assert value == pytest.approx(of_order(name, [label] * 7, k), rel=1e-14)
        assert not gradient.any()
        assert not hessian.any()


@every_exact_with_cutoff
@every_noise
def test_a_cutoff_behind_the_last_document(name, noise):
    """It matters only to a divisor with k in it."""
    labels, scores = dyadic_query("ties", 6, 3)
    forms = [{}, *({"normalizer": choice} for choice in ("min", "k") if "normalizer" in REGISTRY[name].options)]
    for options in forms:
        first = soft_metric(name, 6, noise=noise, **options)(labels, scores, group=[6])
        for k in (None, 7, 2**53):
            share = of_order(name, labels, k, **options) / of_order(name, labels, 6, **options)
            found = soft_metric(name, k, noise=noise, **options)(labels, scores, group=[6])
            assert found == pytest.approx(first * share, rel=1e-6)


# Numbers of any size

sizes_of_numbers = st.sampled_from([0.0, 5e-324, 1e-300, 1e-8, 1.0, 37.0, 1e8, 1e300, 1.7e308])


@every_metric
@every_noise
@pytest.mark.parametrize("unit", ["score", "spread"])
@few
@given(
    documents=st.lists(
        st.tuples(st.integers(0, 4), sizes_of_numbers, st.sampled_from([-1, 1])), min_size=1, max_size=5
    ),
    sigma=sizes_of_numbers.filter(bool),
    k=st.none() | st.integers(1, 6),
)
def test_values_stay_between_the_worst_and_the_best_order(name, noise, unit, documents, sigma, k):
    labels, scores = [y for y, _, _ in documents], [size * sign for _, size, sign in documents]
    soft = soft_metric(name, k, noise=noise, sigma=sigma, sigma_unit=unit)
    orders = value_of_every_order(name, tuple(labels), k)
    low, high, found = min(orders), max(orders), soft(labels, scores, group=[len(labels)])
    assert low - 1e-6 * abs(low) - 1e-15 <= found <= high + 1e-6 * abs(high) + 1e-15
    assert np.isfinite(soft.gradient(labels, scores, group=[len(labels)])).all()


@every_noise
@pytest.mark.parametrize(
    ("scores", "sigma", "ratios"),
    [
        ([1e300, -1e300, 0.0], 1.0, [1e6, -1e6, 0]),
        ([1.7e308, -1.7e308, 1.7e308], 5e-324, [1e6, -1e6, 1e6]),
        ([1.7e308, -1.7e308, 0.0], 1.7e308, [1, -1, 0]),
        ([0.0, 1e-300, 2e-300], 1e-300, [0, 1, 2]),
        ([0.0, 1e-300, 2e-300], 1.0, [0, 0, 0]),
        ([0.0, 5e-324, 1e-323], 5e-324, [0, 1, 2]),
        ([0.0, 5e-324, 1e-323], 1.0, [0, 0, 0]),
        ([1.0, 1.0 + 2**-52, 1.0 - 2**-53], 2**-52, [0, 1, -0.5]),
        ([1.0, 1.0 + 2**-52, 1.0], 5e-324, [0, 1e6, 0]),
        ([0.0, 1.0, 1.0], 1e308, [0, 0, 0]),
    ],
)
def test_extreme_scores_and_sigmas(noise, scores, sigma, ratios):
    """What counts is the differences over sigma: here 0, of the order of 1, or beyond all bounds."""
    labels = [0, 1, 2]
    soft = SoftMetric("dcg@2", noise=noise, sigma=sigma)
    value, gradient, hessian = soft.value_gradient_hessian(labels, scores, group=[3])
    assert value == pytest.approx(SoftMetric("dcg@2", noise=noise)(labels, ratios, group=[3]), rel=1e-6)
    assert np.isfinite(gradient).all()
    assert np.isfinite(hessian).all()


@every_noise
@pytest.mark.parametrize("sigma", [0.05, 0.01, 1e-3, 1e-6])
def test_equal_documents_have_equal_gradients_of_pnr_however_rare_the_wrong_pairs(noise, sigma):
    """Or none, where they are so rare that they count as none and the value is infinite."""
    soft = SoftMetric("pnr", noise=noise, sigma=sigma)
    value, gradient, hessian = soft.value_gradient_hessian([0, 1, 1], [-1.0, 0.0, 0.0], group=[3])
    assert (gradient[1], hessian[1]) == (pytest.approx(gradient[2]), pytest.approx(hessian[2]))
    assert gradient[0] == pytest.approx(-2 * gradient[1])
    assert gradient.any() == math.isfinite(value)


def test_a_gradient_that_overflows_is_the_largest_float():
    gradient = SoftMetric("dcg", sigma=5e-324).gradient([1, 0], [0.0, 0.0], group=[2])
    np.testing.assert_array_equal(gradient, np.array([1, -1]) * np.finfo(float).max)


@every_metric
@every_noise
@pytest.mark.parametrize("unit", ["score", "spread"])
def test_gradients_that_underflow_are_no_error(name, noise, unit):
    """Of a caller who has NumPy raise at every one."""
    labels, weights = [0, 1] * 20, [1e-300, 1.0]
    soft = soft_metric(name, noise=noise, sigma_unit=unit)
    scores = np.linspace(0, 40, 40) ** 2
    wanted = soft.gradient(labels, scores, group=[20, 20], query_weight=weights)
    with np.errstate(all="raise"):
        found = soft.gradient(labels, scores, group=[20, 20], query_weight=weights)
    np.testing.assert_array_equal(found, wanted)


@every_noise
def test_huge_gains(noise):
    labels, scores = [990, 989, 0, 900], [0.1, 0.2, 0.3, 0.4]
    soft = SoftMetric("ndcg@3", noise=noise)
    value, gradient, hessian = soft.value_gradient_hessian(labels, scores, group=[4])
    relative = SoftMetric("ndcg@3", noise=noise, gain=lambda y: np.where(y > 0, np.exp2(y - 990), 0))
    wanted = relative.value_gradient_hessian(labels, scores, group=[4])
    # gains beyond 1e90 go by another engine, whose laws have more digits
    assert value == pytest.approx(wanted[0], rel=1e-9)
    np.testing.assert_allclose(gradient, wanted[1], rtol=1e-8)
    np.testing.assert_allclose(hessian, wanted[2], rtol=1e-8)


# Invariances: of exact ranks, for sampled ones hang on the places of query and document in the data


def all_of(soft, labels, scores):
    return soft.value_gradient_hessian(labels, scores, group=[len(labels)])


@every_exact
@every_noise
@every_accuracy
@pytest.mark.parametrize("kind", DYADIC_KINDS)
def test_the_order_of_the_documents_does_not_matter(name, noise, accuracy, kind):
    labels, scores = dyadic_query(kind, 12, 4)
    soft, tolerance = soft_metric(name, 5, noise=noise, sigma=0.5, accuracy=accuracy), TOLERANCE[accuracy]
    plain, natural = all_of(soft, labels, scores), natural_scale(soft, labels)
    for seed in range(3):
        shuffled = np.random.default_rng(seed).permutation(12)
        moved = all_of(soft, labels[shuffled], scores[shuffled])
        assert moved[0] == pytest.approx(plain[0], rel=tolerance)
        assert_close(moved[1], plain[1][shuffled], tolerance, 1e-14 * natural)
        assert_close(moved[2], plain[2][shuffled], 10 * tolerance, 1e-14 * natural)


@every_exact
@every_noise
@pytest.mark.parametrize("kind", DYADIC_KINDS)
def test_a_constant_added_to_the_scores_changes_no_bit(name, noise, kind):
    labels, scores = dyadic_query(kind, 12, 4)
    soft = soft_metric(name, 5, noise=noise, sigma=0.5)
    plain = all_of(soft, labels, scores)
    for shift in (-(2.0**30), 1.0, 1e9):
        for moved, still in zip(all_of(soft, labels, scores + shift), plain, strict=True):
            np.testing.assert_array_equal(moved, still, err_msg=f"{shift}")


@every_exact
@every_noise
@pytest.mark.parametrize("factor", [2.0**-1000, 2.0**500, 3.0, 1e-5])
def test_only_the_ratio_of_scores_and_sigma_matters(name, noise, factor):
    labels, scores = dyadic_query("generic", 12, 4)
    plain = all_of(soft_metric(name, 5, noise=noise, sigma=0.5), labels, scores)
    scaled = all_of(soft_metric(name, 5, noise=noise, sigma=0.5 * factor), labels, scores * factor)
    assert scaled[0] == pytest.approx(plain[0], rel=1e-12)
    assert_close(scaled[1] * factor, plain[1], 1e-12)
    if 1e-100 < factor < 1e100:
        assert_close(scaled[2] * factor * factor, plain[2], 1e-11)


@every_exact
@every_noise
def test_queries_do_not_see_each_other(name, noise):
    sizes, order = np.array([3, 1, 0, 9, 4]), [4, 2, 0, 3, 1]
    labels, scores = dyadic_queries(sizes)
    offsets = np.cumsum([0, *sizes])
    rows = np.concatenate([np.arange(offsets[q], offsets[q + 1]) for q in order])
    soft = soft_metric(name, 2, noise=noise, sigma=0.5)
    together = soft.per_query(labels, scores, group=sizes)
    np.testing.assert_array_equal(soft.per_query(labels[rows], scores[rows], group=sizes[order]), together[order])
    gradient = soft.gradient(labels, scores, group=sizes)
    np.testing.assert_array_equal(soft.gradient(labels[rows], scores[rows], group=sizes[order]), gradient[rows])
    for q, (a, b) in enumerate(pairwise(offsets)):
        if a < b:
            assert soft(labels[a:b], scores[a:b], group=[b - a]) == together[q]
            assert_close(soft.gradient(labels[a:b], scores[a:b], group=[b - a]) / 5, gradient[a:b], 1e-15)


@every_exact
@pytest.mark.parametrize("unit", ["score", "spread"])
@pytest.mark.parametrize("empty", ["zero", "one", "skip"])
def test_weight_two_is_the_query_twice(name, unit, empty):
    """Also if the query is empty, and also for the spread, which is pooled with the weights."""
    labels, scores = dyadic_queries([5, 4, 6], seed=1)
    soft = soft_metric(name, 3, sigma=0.5, sigma_unit=unit, empty=empty)
    for nothing_relevant in (False, True):
        labels[5:9] *= not nothing_relevant
        twice_rows = np.r_[0:9, 5:15]
        weighted = {"group": [5, 4, 6], "query_weight": [1, 2, 1]}
        twice = {"group": [5, 4, 4, 6]}
        found = soft(labels, scores, **weighted)
        assert found == pytest.approx(soft(labels[twice_rows], scores[twice_rows], **twice), rel=1e-14)
        assert found != pytest.approx(soft(labels, scores, group=[5, 4, 6]), rel=1e-4) or (empty == "skip")
        gradient = np.bincount(twice_rows, soft.gradient(labels[twice_rows], scores[twice_rows], **twice))
        assert_close(soft.gradient(labels, scores, **weighted), gradient, 1e-13)


@every_metric
@pytest.mark.parametrize("unit", ["score", "spread"])
def test_only_the_ratio_of_weights_matters(name, unit):
    labels, scores = dyadic_queries([5, 4, 6], seed=1)
    soft = soft_metric(name, 3, sigma=0.5, sigma_unit=unit)
    plain = {"group": [5, 4, 6], "query_weight": np.array([1.0, 0.0, 3.0])}
    for scale in (2.0**1022, 2.0**-1072):
        scaled = {"group": [5, 4, 6], "query_weight": plain["query_weight"] * scale}
        assert soft(labels, scores, **scaled) == soft(labels, scores, **plain)
        np.testing.assert_array_equal(soft.gradient(labels, scores, **scaled), soft.gradient(labels, scores, **plain))
    assert not soft.gradient(labels, scores, **plain)[5:9].any()


@pytest.mark.parametrize("spec", ["dcg", "dcg@3", "cg@3"])
@every_noise
@pytest.mark.parametrize("shift", [1e6, -1e6, 0.7])
def test_a_constant_added_to_the_gains_is_worth_the_same_in_any_order(spec, noise, shift):
    labels, scores = dyadic_query("generic", 9, 2)
    soft, constant = SoftMetric(spec, noise=noise, gain="linear", sigma=0.5), Metric(spec, gain="linear")
    if shift < 0:  # without a gain above 0 the query would be empty
        labels[0] = 2e6
    plain, moved = all_of(soft, labels, scores), all_of(soft, labels + shift, scores)
    worth = shift * constant(np.ones(9), scores, group=[9])
    assert moved[0] == pytest.approx(plain[0] + worth, rel=1e-6)
    assert_close(moved[1], plain[1], 1e-9)
    assert_close(moved[2], plain[2], 1e-9)


@pytest.mark.parametrize("spec", ["dcg", "dcg@3", "cg@3"])
@every_noise
def test_linear_in_the_gains(spec, noise):
    labels, scores = dyadic_query("ties", 9, 2)
    others = labels[::-1] + 0.25
    soft = SoftMetric(spec, noise=noise, gain="linear", sigma=0.5, accuracy="high")
    sums = [all_of(soft, y, scores) for y in (labels, others, 2 * labels + 3 * others)]
    for one, other, both in zip(*sums, strict=True):
        assert_close(both, 2 * np.asarray(one) + 3 * np.asarray(other), 1e-9)


@every_noise
@pytest.mark.parametrize("kind", ["generic", "ties"])
def test_a_symmetric_noise_does_not_know_up_from_down(noise, kind):
    """Scores and ranks turned around give the same value, but not under the Gumbel law, whose tails differ."""
    labels, scores = dyadic_query(kind, 8, 6)
    discount = np.linspace(1, 0.3, 8) ** 2
    options = {"noise": noise, "sigma": 1.0, "accuracy": "high"}
    upright = all_of(SoftMetric("dcg", discount=discount, **options), labels, scores)
    turned = all_of(SoftMetric("dcg", discount=discount[::-1], **options), labels, -scores)
    if noise == "gumbel":
        assert turned[0] != pytest.approx(upright[0], rel=1e-3)
    else:
        assert turned[0] == pytest.approx(upright[0], rel=1e-10)
        assert_close(-turned[1], upright[1], 1e-9)
        assert_close(turned[2], upright[2], 1e-8)


@every_exact
@every_noise
@every_accuracy
@pytest.mark.parametrize("kind", DYADIC_KINDS)
def test_the_gradient_sums_to_zero_over_every_query(name, noise, accuracy, kind):
    labels, scores = dyadic_query(kind, 30, 7)
    for k in cutoffs_of(name, (None, 1, 5)):
        soft = soft_metric(name, k, noise=noise, sigma=0.5, accuracy=accuracy)
        gradient = soft.gradient(labels, scores, group=[30])
        scale = max(np.abs(gradient).max(), 1e-4 * natural_scale(soft, labels))
        assert abs(gradient.sum()) <= 30 * TOLERANCE[accuracy] * scale


# The parts agree with each other and with the definition


OPTIONS = {  # but normalizer='retrieved', which has no exact form
    "gain": ["linear", (0.0, 2.0, 2.5, 3.0, 10.0), lambda y: [0.0, 2.0, 2.5, 3.0, 10.0][int(y)]],
    "discount": ["reciprocal", (1.0, 0.9, 0.2, 0.1)],
    "relevant_from": [2, 3.5],
    "p": [0.5],
    "p_rel": [(0.0, 0.25, 0.0, 1.0, 0.5), lambda y: (0.0, 0.25, 0.0, 1.0, 0.5)[int(y)]],
    "max_label": [6],
    "p_break": [0.0, 0.6],
    "normalizer": ["min", "k"],
}


@every_exact
@every_noise
def test_options_reach_the_soft_metric(name, noise):
    """Against the chances of all orders."""
    labels, scores = [0, 3, 4, 1], dyadic_query("generic", 4, 9)[1]
    chances = oracle.order_probabilities(scores, noise, 0.5)
    default = soft_metric(name, 2, noise=noise, sigma=0.5)(labels, scores, group=[4])
    for option in set(OPTIONS) & set(REGISTRY[name].options):
        for value in OPTIONS[option]:
            table = tuple(value(y) for y in range(5)) if callable(value) else value
            wanted = oracle.mean_over_orders(name, labels, chances, **arguments(name, 2, {option: table}))
            function = (lambda y, f=value: [f(v) for v in y]) if callable(value) else value
            found = soft_metric(name, 2, noise=noise, sigma=0.5, **{option: function})(labels, scores, group=[4])
            assert found == pytest.approx(wanted, rel=1e-6)
            assert default != pytest.approx(wanted, rel=1e-4)


def law_error(name):
    """What the shorter Gaussian law of pairs may be off."""
    return 4e-9 if REGISTRY[name].pairwise else 0.0


@every_metric
@pytest.mark.parametrize("unit", ["score", "spread"])
def test_the_methods_agree(name, unit):
    labels, scores = dyadic_queries([5, 1, 0, 6])
    weights = [1, 2, 3, 4]
    given = {"group": [5, 1, 0, 6], "query_weight": weights}
    soft = soft_metric(name, 3, sigma=0.5, sigma_unit=unit)
    values = soft.per_query(labels, scores, **given)
    assert soft(labels, scores, **given) == pytest.approx(np.average(values, weights=weights), rel=1e-14)
    np.testing.assert_array_equal(values, soft.per_query(labels, scores, **given))
    if unit == "score" and REGISTRY[name].exact:
        value, gradient, hessian = soft.value_gradient_hessian(labels, scores, **given)
        # pairs go another way with the Hessian, by a law of more digits
        assert value == pytest.approx(soft(labels, scores, **given), rel=1e-12, abs=law_error(name))
        rounding = law_error(name)
        np.testing.assert_allclose(gradient, soft.gradient(labels, scores, **given), rtol=rounding, atol=0.1 * rounding)
        assert gradient.shape == hessian.shape == (12,)
        np.testing.assert_array_equal(values, soft.per_query(labels, scores, group=[5, 1, 0, 6]))


@every_exact
@every_noise
@pytest.mark.parametrize("unit", ["score", "spread"])
def test_the_gradient_is_the_central_difference(name, noise, unit):
    """Over several weighted queries at once: in units of the spread each score moves the sigma of all."""
    labels, scores = dyadic_queries([4, 3, 1, 5], seed=2)
    labels[4:7] = 0
    given = {"group": [4, 3, 1, 5], "query_weight": [1, 3, 2, 0.5]}
    soft = soft_metric(name, 3, noise=noise, sigma=0.7, sigma_unit=unit, accuracy="high")
    step, steps = 1e-4, np.eye(13)
    up, down = ([soft(labels, scores + sign * step * row, **given) for row in steps] for sign in (1, -1))
    gradient = soft.gradient(labels, scores, **given)
    assert_close(gradient, (np.array(up) - down) / (2 * step), 2e-6)
    if unit == "spread":
        assert np.abs(gradient[4:7]).max() > 1e-6 * np.abs(gradient).max()  # nothing relevant, but the spread moves
    else:
        assert not gradient[4:7].any()


@every_exact
@every_noise
def test_the_hessian_is_the_central_difference_of_the_gradient(name, noise):
    labels, scores = dyadic_queries([4, 5], seed=2)
    soft = soft_metric(name, 3, noise=noise, sigma=0.7, accuracy="high")
    step, given = 1e-4, {"group": [4, 5], "query_weight": [1, 3]}
    up, down = (
        [soft.gradient(labels, scores + sign * step * row, **given)[i] for i, row in enumerate(np.eye(9))]
        for sign in (1, -1)
    )
    hessian = soft.value_gradient_hessian(labels, scores, **given)[2]
    assert_close(hessian, (np.array(up) - down) / (2 * step), 1e-5)


@every_exact_with_cutoff
@every_noise
def test_cutoffs_per_query(name, noise):
    sizes, cutoffs = [5, 1, 6, 0, 70], [2, 3, 100, 1, 60]
    labels, scores = dyadic_queries(sizes)
    soft = soft_metric(name, cutoffs, noise=noise, sigma=0.5)
    values = soft.per_query(labels, scores, group=sizes)
    gradient = soft.gradient(labels, scores, group=sizes)
    for q, (a, b) in enumerate(pairwise(np.cumsum([0, *sizes]))):
        if a < b:
            alone = soft_metric(name, cutoffs[q], noise=noise, sigma=0.5)
            assert values[q] == alone(labels[a:b], scores[a:b], group=[b - a])
            assert_close(gradient[a:b] * 5, alone.gradient(labels[a:b], scores[a:b], group=[b - a]), 1e-15)
        else:
            assert values[q] == 0


@every_metric
def test_empty_queries(name):
    """Query 2 has nothing relevant, query 3 no documents: a value by choice, and no gradient."""
    labels, scores, given = [1, 0, 0, 0], [0.1, 0.2, 0.3, 0.4], {"group": [2, 2, 0], "query_weight": [1, 2, 5]}
    alone = soft_metric(name, sigma=0.5)
    first, gradient = alone(labels[:2], scores[:2], group=[2]), alone.gradient(labels[:2], scores[:2], group=[2])
    for empty, filler, share in (("zero", 0.0, 1 / 8), ("one", 1.0, 1 / 8), ("skip", math.nan, 1.0)):
        soft = soft_metric(name, empty=empty, sigma=0.5)
        np.testing.assert_equal(soft.per_query(labels, scores, group=[2, 2, 0]), [first, filler, filler])
        wanted = first if empty == "skip" else (first + 7 * filler) / 8
        assert soft(labels, scores, **given) == pytest.approx(wanted, rel=1e-14)
        found = soft.gradient(labels, scores, **given)
        np.testing.assert_allclose(found, [*(gradient * share), 0, 0], rtol=1e-14)
        if REGISTRY[name].exact:
            value, again, hessian = soft.value_gradient_hessian(labels, scores, **given)
            assert value == pytest.approx(wanted, rel=1e-12, abs=law_error(name))
            np.testing.assert_allclose(again, found, rtol=law_error(name))
            assert not hessian[2:].any()


@every_metric
@pytest.mark.parametrize("unit", ["score", "spread"])
def test_nothing_but_empty_queries(name, unit):
    for empty, value in (("zero", 0.0), ("one", 1.0), ("skip", math.nan)):
        soft = soft_metric(name, empty=empty, sigma_unit=unit)
        np.testing.assert_equal(soft([0, 0, 0], [1, 2, 3], group=[2, 1]), value)
        np.testing.assert_array_equal(soft.gradient([0, 0, 0], [1, 2, 3], group=[2, 1]), [0, 0, 0])


@every_noise
@pytest.mark.parametrize("unit", ["score", "spread"])
def test_an_empty_query_with_negative_gains_counts_its_filler_and_has_no_gradient(noise, unit):
    labels, scores, given = [-1, -2, 3, 1], [0.1, 0.2, 0.2, 0.1], {"group": [2, 2]}
    for empty, filler in (("zero", 0.0), ("one", 1.0), ("skip", math.nan)):
        soft = SoftMetric("dcg", gain="linear", noise=noise, empty=empty, sigma_unit=unit)
        assert soft.per_query(labels, scores, **given)[0] == pytest.approx(filler, nan_ok=True)
        gradient = soft.gradient(labels, scores, **given)
        first_is_constant = SoftMetric("dcg", gain=[0, 1, 2, 3], noise=noise, empty=empty, sigma_unit=unit)
        np.testing.assert_array_equal(gradient, first_is_constant.gradient([0, 0, 3, 1], scores, **given))
