"""Soft metrics as their users meet them: limits, invariances, units of sigma, forms of input, threads.

How exact the engine is, and where, is the matter of other tests; here the tolerances are the documented ones.
"""

from __future__ import annotations

import copy
import math
import multiprocessing
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise, permutations

import numba
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boostsoft import Metric, QueryGroups, SoftMetric
from boostsoft.kernels import threads
from boostsoft.kernels.noise import LAWS
from boostsoft.metrics.prepared import prepare
from boostsoft.metrics.registry import REGISTRY
from boostsoft.metrics.spread import spread
from boostsoft.query_groups import finite_vector

from . import oracle

TOLERANCE = {"default": 1e-6, "high": 1e-10}
KINDS = ("generic", "ties", "clustered")
few = settings(deadline=None, derandomize=True, max_examples=25)
every_metric = pytest.mark.parametrize("name", REGISTRY)
every_noise = pytest.mark.parametrize("noise", LAWS)
every_accuracy = pytest.mark.parametrize("accuracy", TOLERANCE)


def log_discount(rank):
    return 1 / math.log2(1 + rank)


def query(kind, n, seed=0):
    """Labels and scores; the scores are multiples of 1/1024, so that sums and shifts are exact."""
    labels, scores = oracle.random_query(np.random.default_rng(seed), n, kind)
    return labels, np.round(scores * 1024) / 1024


def queries(sizes, seed=0):
    """Several queries of different kinds, one after another."""
    parts = [query(KINDS[i % 3], n, seed + i) for i, n in enumerate(sizes) if n > 0]
    return (np.concatenate(column) for column in zip(*parts, strict=True))


def natural_scale(metric, labels):
    """The largest gradient that one change of places could give, in units of 1 / sigma."""
    prepared = prepare(metric.hard, "test", labels, QueryGroups.from_sizes([len(labels)]))
    return np.ptp(prepared.gains) * prepared.discount[0] / prepared.divisor[0]


def values_of_all_orders(name, labels, k=None, **options):
    return [oracle.hard(name, [labels[i] for i in order], k, **options) for order in permutations(range(len(labels)))]


def assert_close(found, wanted, relative, absolute=0.0):
    """Every entry within ``relative`` of the largest."""
    bound = relative * np.abs(wanted).max() + absolute
    np.testing.assert_allclose(found, wanted, rtol=0, atol=bound)


# Limits


@every_metric
@every_noise
@every_accuracy
@pytest.mark.parametrize("kind", oracle.KINDS)
def test_small_sigma_is_the_hard_metric_with_expected_ties(name, noise, accuracy, kind):
    for k in (None, 1, 3, 9):
        labels, scores = query(kind, 6, 1)
        soft = SoftMetric(name, k=k, noise=noise, sigma=1e-9, accuracy=accuracy)
        wanted = oracle.hard_expected_ties(name, labels, scores, k)
        assert soft(labels, scores, group=[6]) == pytest.approx(wanted, rel=TOLERANCE[accuracy], abs=1e-15)


@every_metric
@every_noise
@pytest.mark.parametrize("ties", ["order", "worst"])
def test_small_sigma_shares_ties_even_if_the_hard_twin_does_not(name, noise, ties):
    labels, scores = [1, 0, 1, 0], [0.0, 2.0, 2.0, 2.0]
    soft = SoftMetric(f"{name}@2", ties=ties, noise=noise, sigma=1e-9)
    wanted = oracle.hard_expected_ties(name, labels, scores, 2)
    assert soft(labels, scores, group=[4]) == pytest.approx(wanted, rel=1e-6)
    assert soft.hard(labels, scores, group=[4]) != pytest.approx(wanted, rel=1e-3)


@every_metric
@every_noise
@every_accuracy
def test_large_sigma_is_the_mean_over_all_orders(name, noise, accuracy):
    labels, scores = query("generic", 6, 2)
    for k in (None, 1, 3, 9):
        wanted = np.mean(values_of_all_orders(name, labels, k))
        for sigma in (1e12, 1e308):
            soft = SoftMetric(name, k=k, noise=noise, sigma=sigma, accuracy=accuracy)
            value, gradient, _ = soft.value_gradient_hessian(labels, scores, group=[6])
            assert value == pytest.approx(wanted, rel=TOLERANCE[accuracy])
            assert np.abs(gradient).max() <= natural_scale(soft, labels) / sigma


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


@every_metric
@every_noise
@pytest.mark.parametrize("label", [0, 1, 3])
def test_one_document(name, noise, label):
    for k in (None, 1, 5):
        soft = SoftMetric(name, k=k, noise=noise)
        value, gradient, hessian = soft.value_gradient_hessian([label], [0.7], group=[1])
        assert value == pytest.approx(oracle.hard(name, [label], k), rel=1e-15)
        assert gradient.tolist() == hessian.tolist() == [0.0]


@every_metric
@every_noise
@pytest.mark.parametrize("label", [0, 1, 3])
def test_equal_labels_leave_nothing_to_learn(name, noise, label):
    """Every order has the same value, and the gradient is 0."""
    _, scores = query("ties", 7, 5)
    for k in (None, 1, 3, 10):
        soft = SoftMetric(name, k=k, noise=noise, sigma=0.5)
        value, gradient, hessian = soft.value_gradient_hessian([label] * 7, scores, group=[7])
        assert value == pytest.approx(oracle.hard(name, [label] * 7, k), rel=1e-14)
        assert not gradient.any()
        assert not hessian.any()


@every_metric
@every_noise
def test_a_cutoff_behind_the_last_document(name, noise):
    labels, scores = query("ties", 6, 3)
    found = [SoftMetric(name, k=k, noise=noise).per_query(labels, scores, group=[6])[0] for k in (6, 7, 2**53)]
    assert found[1] == pytest.approx(found[0] * (6 / 7 if name == "precision" else 1), rel=1e-6)
    assert found[2] == pytest.approx(found[0] * (6 / 2**53 if name == "precision" else 1), rel=1e-6)
    assert SoftMetric(name, noise=noise)(labels, scores, group=[6]) == pytest.approx(found[0], rel=1e-6)


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
    soft = SoftMetric(name, k=k, noise=noise, sigma=sigma, sigma_unit=unit)
    orders = values_of_all_orders(name, labels, k)
    assert min(orders) * (1 - 1e-6) <= soft(labels, scores, group=[len(labels)]) <= max(orders) * (1 + 1e-6)
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


def test_a_gradient_that_overflows_is_the_largest_float():
    gradient = SoftMetric("dcg", sigma=5e-324).gradient([1, 0], [0.0, 0.0], group=[2])
    np.testing.assert_array_equal(gradient, np.array([1, -1]) * np.finfo(float).max)


@every_noise
def test_huge_gains(noise):
    labels, scores = [990, 989, 0, 900], [0.1, 0.2, 0.3, 0.4]
    soft = SoftMetric("ndcg@3", noise=noise)
    value, gradient, hessian = soft.value_gradient_hessian(labels, scores, group=[4])
    relative = SoftMetric("ndcg@3", noise=noise, gain=lambda y: np.where(y > 0, np.exp2(y - 990), 0))
    wanted = relative.value_gradient_hessian(labels, scores, group=[4])
    assert value == pytest.approx(wanted[0], rel=1e-12)
    np.testing.assert_allclose(gradient, wanted[1], rtol=1e-9)
    np.testing.assert_allclose(hessian, wanted[2], rtol=1e-9)


# Invariances


def all_of(soft, labels, scores):
    return soft.value_gradient_hessian(labels, scores, group=[len(labels)])


@every_metric
@every_noise
@every_accuracy
@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_the_documents_does_not_matter(name, noise, accuracy, kind):
    labels, scores = query(kind, 12, 4)
    soft, tolerance = SoftMetric(f"{name}@5", noise=noise, sigma=0.5, accuracy=accuracy), TOLERANCE[accuracy]
    plain, natural = all_of(soft, labels, scores), natural_scale(soft, labels)
    for seed in range(3):
        shuffled = np.random.default_rng(seed).permutation(12)
        moved = all_of(soft, labels[shuffled], scores[shuffled])
        assert moved[0] == pytest.approx(plain[0], rel=tolerance)
        assert_close(moved[1], plain[1][shuffled], tolerance, 1e-14 * natural)
        assert_close(moved[2], plain[2][shuffled], 10 * tolerance, 1e-14 * natural)


@every_metric
@every_noise
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shift", [-(2.0**30), 1.0, 1e9])
def test_a_constant_added_to_the_scores_changes_no_bit(name, noise, kind, shift):
    labels, scores = query(kind, 12, 4)
    soft = SoftMetric(f"{name}@5", noise=noise, sigma=0.5)
    for moved, plain in zip(all_of(soft, labels, scores + shift), all_of(soft, labels, scores), strict=True):
        np.testing.assert_array_equal(moved, plain)


@every_metric
@every_noise
@pytest.mark.parametrize("factor", [2.0**-1000, 2.0**500, 3.0, 1e-5])
def test_only_the_ratio_of_scores_and_sigma_matters(name, noise, factor):
    labels, scores = query("generic", 12, 4)
    plain = all_of(SoftMetric(f"{name}@5", noise=noise, sigma=0.5), labels, scores)
    scaled = all_of(SoftMetric(f"{name}@5", noise=noise, sigma=0.5 * factor), labels, scores * factor)
    assert scaled[0] == pytest.approx(plain[0], rel=1e-12)
    assert_close(scaled[1] * factor, plain[1], 1e-12)
    if 1e-100 < factor < 1e100:
        assert_close(scaled[2] * factor * factor, plain[2], 1e-11)


@every_metric
@every_noise
def test_queries_do_not_see_each_other(name, noise):
    sizes, order = np.array([3, 1, 0, 9, 4]), [4, 2, 0, 3, 1]
    labels, scores = queries(sizes)
    offsets = np.cumsum([0, *sizes])
    rows = np.concatenate([np.arange(offsets[q], offsets[q + 1]) for q in order])
    soft = SoftMetric(f"{name}@2", noise=noise, sigma=0.5)
    together = soft.per_query(labels, scores, group=sizes)
    np.testing.assert_array_equal(soft.per_query(labels[rows], scores[rows], group=sizes[order]), together[order])
    gradient = soft.gradient(labels, scores, group=sizes)
    np.testing.assert_array_equal(soft.gradient(labels[rows], scores[rows], group=sizes[order]), gradient[rows])
    for q, (a, b) in enumerate(pairwise(offsets)):
        if a < b:
            assert soft(labels[a:b], scores[a:b], group=[b - a]) == together[q]
            assert_close(soft.gradient(labels[a:b], scores[a:b], group=[b - a]) / 5, gradient[a:b], 1e-15)


@every_metric
@pytest.mark.parametrize("unit", ["score", "spread"])
@pytest.mark.parametrize("empty", ["zero", "one", "skip"])
def test_weight_two_is_the_query_twice(name, unit, empty):
    """Also if the query is empty, and also for the spread, which is pooled with the weights."""
    labels, scores = queries([5, 4, 6], seed=1)
    soft = SoftMetric(f"{name}@3", sigma=0.5, sigma_unit=unit, empty=empty)
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
    labels, scores = queries([5, 4, 6], seed=1)
    soft = SoftMetric(f"{name}@3", sigma=0.5, sigma_unit=unit)
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
    labels, scores = query("generic", 9, 2)
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
    labels, scores = query("ties", 9, 2)
    others = labels[::-1] + 0.25
    soft = SoftMetric(spec, noise=noise, gain="linear", sigma=0.5, accuracy="high")
    sums = [all_of(soft, y, scores) for y in (labels, others, 2 * labels + 3 * others)]
    for one, other, both in zip(*sums, strict=True):
        assert_close(both, 2 * np.asarray(one) + 3 * np.asarray(other), 1e-9)


@every_noise
@pytest.mark.parametrize("kind", ["generic", "ties"])
def test_a_symmetric_noise_does_not_know_up_from_down(noise, kind):
    """Scores and ranks turned around give the same value, but not under the Gumbel law, whose tails differ."""
    labels, scores = query(kind, 8, 6)
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


@every_metric
@every_noise
@every_accuracy
@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_sums_to_zero_over_every_query(name, noise, accuracy, kind):
    labels, scores = query(kind, 30, 7)
    for k in (None, 1, 5):
        soft = SoftMetric(name, k=k, noise=noise, sigma=0.5, accuracy=accuracy)
        gradient = soft.gradient(labels, scores, group=[30])
        scale = max(np.abs(gradient).max(), 1e-4 * natural_scale(soft, labels))
        assert abs(gradient.sum()) <= 30 * TOLERANCE[accuracy] * scale


# The parts agree with each other and with the definition


@every_metric
@every_noise
def test_options_reach_the_soft_metric(name, noise):
    forms = {
        "gain": ["linear", (0.0, 2.0, 2.5, 3.0, 10.0), lambda y: [0.0, 2.0, 2.5, 3.0, 10.0][int(y)]],
        "discount": ["reciprocal", (1.0, 0.9, 0.2, 0.1)],
        "relevant_from": [2, 3.5],
        "p": [0.5],
    }
    labels, scores = query("generic", 4, 9)
    labels[:] = [0, 3, 4, 1]
    for option in set(forms) & set(REGISTRY[name].options):
        for value in forms[option]:
            wanted = oracle.expected(
                name, labels, scores, noise, 0.5, 3, **{option: forms[option][1] if callable(value) else value}
            )
            function = (lambda y, f=value: [f(v) for v in y]) if callable(value) else value
            soft = SoftMetric(f"{name}@3", noise=noise, sigma=0.5, **{option: function})
            assert soft(labels, scores, group=[4]) == pytest.approx(wanted, rel=1e-6)
            default = SoftMetric(f"{name}@3", noise=noise, sigma=0.5)
            assert default(labels, scores, group=[4]) != pytest.approx(wanted, rel=1e-4)


@every_metric
@pytest.mark.parametrize("unit", ["score", "spread"])
def test_the_methods_agree(name, unit):
    labels, scores = queries([5, 1, 0, 6])
    weights = [1, 2, 3, 4]
    given = {"group": [5, 1, 0, 6], "query_weight": weights}
    soft = SoftMetric(f"{name}@3", sigma=0.5, sigma_unit=unit)
    values = soft.per_query(labels, scores, **given)
    assert soft(labels, scores, **given) == pytest.approx(np.average(values, weights=weights), rel=1e-14)
    if unit == "score":
        value, gradient, hessian = soft.value_gradient_hessian(labels, scores, **given)
        assert value == pytest.approx(soft(labels, scores, **given), rel=1e-12)
        np.testing.assert_array_equal(gradient, soft.gradient(labels, scores, **given))
        assert gradient.shape == hessian.shape == (12,)
        np.testing.assert_array_equal(values, soft.per_query(labels, scores, group=[5, 1, 0, 6]))


@every_metric
@every_noise
@pytest.mark.parametrize("unit", ["score", "spread"])
def test_the_gradient_is_the_central_difference(name, noise, unit):
    """Over several weighted queries at once: in units of the spread each score moves the sigma of all."""
    labels, scores = queries([4, 3, 1, 5], seed=2)
    labels[4:7] = 0
    given = {"group": [4, 3, 1, 5], "query_weight": [1, 3, 2, 0.5]}
    soft = SoftMetric(f"{name}@3", noise=noise, sigma=0.7, sigma_unit=unit, accuracy="high")
    step, steps = 1e-4, np.eye(13)
    up, down = ([soft(labels, scores + sign * step * row, **given) for row in steps] for sign in (1, -1))
    gradient = soft.gradient(labels, scores, **given)
    assert_close(gradient, (np.array(up) - down) / (2 * step), 2e-6)
    if unit == "spread":
        assert np.abs(gradient[4:7]).max() > 1e-6 * np.abs(gradient).max()  # nothing relevant, but the spread moves
    else:
        assert not gradient[4:7].any()


@every_metric
@every_noise
def test_the_hessian_is_the_central_difference_of_the_gradient(name, noise):
    labels, scores = queries([4, 5], seed=2)
    soft = SoftMetric(f"{name}@3", noise=noise, sigma=0.7, accuracy="high")
    step, given = 1e-4, {"group": [4, 5], "query_weight": [1, 3]}
    up, down = (
        [soft.gradient(labels, scores + sign * step * row, **given)[i] for i, row in enumerate(np.eye(9))]
        for sign in (1, -1)
    )
    hessian = soft.value_gradient_hessian(labels, scores, **given)[2]
    assert_close(hessian, (np.array(up) - down) / (2 * step), 1e-5)


@every_metric
@every_noise
def test_cutoffs_per_query(name, noise):
    sizes, cutoffs = [5, 1, 6, 0, 70], [2, 3, 100, 1, 60]
    labels, scores = queries(sizes)
    soft = SoftMetric(name, k=cutoffs, noise=noise, sigma=0.5)
    values = soft.per_query(labels, scores, group=sizes)
    gradient = soft.gradient(labels, scores, group=sizes)
    for q, (a, b) in enumerate(pairwise(np.cumsum([0, *sizes]))):
        if a < b:
            alone = SoftMetric(f"{name}@{cutoffs[q]}", noise=noise, sigma=0.5)
            assert values[q] == alone(labels[a:b], scores[a:b], group=[b - a])
            assert_close(gradient[a:b] * 5, alone.gradient(labels[a:b], scores[a:b], group=[b - a]), 1e-15)
        else:
            assert values[q] == 0


@every_metric
def test_empty_queries(name):
    """Query 2 has nothing relevant, query 3 no documents: a value by choice, and no gradient."""
    labels, scores, given = [1, 0, 0, 0], [0.1, 0.2, 0.3, 0.4], {"group": [2, 2, 0], "query_weight": [1, 2, 5]}
    alone = SoftMetric(name, sigma=0.5)
    first, gradient = alone(labels[:2], scores[:2], group=[2]), alone.gradient(labels[:2], scores[:2], group=[2])
    for empty, filler, share in (("zero", 0.0, 1 / 8), ("one", 1.0, 1 / 8), ("skip", math.nan, 1.0)):
        soft = SoftMetric(name, empty=empty, sigma=0.5)
        np.testing.assert_equal(soft.per_query(labels, scores, group=[2, 2, 0]), [first, filler, filler])
        wanted = first if empty == "skip" else (first + 7 * filler) / 8
        assert soft(labels, scores, **given) == pytest.approx(wanted, rel=1e-14)
        found = soft.value_gradient_hessian(labels, scores, **given)
        assert found[0] == pytest.approx(wanted, rel=1e-12)
        np.testing.assert_allclose(found[1], [*(gradient * share), 0, 0], rtol=1e-14)
        assert not found[2][2:].any()


@every_metric
@pytest.mark.parametrize("unit", ["score", "spread"])
def test_nothing_but_empty_queries(name, unit):
    for empty, value in (("zero", 0.0), ("one", 1.0), ("skip", math.nan)):
        soft = SoftMetric(name, empty=empty, sigma_unit=unit)
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


# Sigma in units of the spread


def test_the_spread_is_the_pooled_standard_deviation_within_queries():
    scores, groups = np.array([1.0, 3.0, 7.0, 10.0, 13.0, 5.0]), QueryGroups.from_sizes([2, 0, 3, 1])
    assert spread(groups, scores, np.ones(4)) == pytest.approx(math.sqrt((2 * 1 + 2 * 9 + 0) / 6), rel=1e-15)
    weights = np.array([1.0, 9.0, 0.5, 2.0])
    wanted = math.sqrt((1 * 2 * 1 + 0.5 * 2 * 9 + 0) / (1 * 2 + 0.5 * 3 + 2 * 1))
    assert spread(groups, scores, weights) == pytest.approx(wanted, rel=1e-15)
    assert spread(groups, scores + 2.0**40, weights) == pytest.approx(wanted, rel=1e-15)
    assert spread(groups, scores, weights * 0) == 0


@pytest.mark.parametrize("factor", [2.0**1020, 2.0**-1074, 1e300, 1e-200])
def test_the_spread_of_huge_and_tiny_scores(factor):
    scores, groups = np.array([1.0, 3.0, -7.0, 10.0, -13.0, 5.0]), QueryGroups.from_sizes([2, 3, 1])
    plain = spread(groups, scores, np.ones(3))
    assert spread(groups, scores * factor, np.ones(3)) == pytest.approx(
        plain * factor, rel=0.03 if factor < 1e-300 else 1e-14
    )


def test_the_spread_of_tiny_differences_beside_a_huge_score():
    scores = np.array([1e200, 1e200, 3e-200, 1e-200])
    found = spread(QueryGroups.from_sizes([2, 2]), scores, np.ones(2))
    assert found == pytest.approx(math.sqrt(2 / 4) * 1e-200, rel=1e-14)


@every_metric
@every_noise
def test_sigma_in_units_of_the_spread(name, noise):
    labels, scores = queries([4, 1, 5], seed=3)
    given = {"group": [4, 1, 5], "query_weight": [1, 2, 0.5]}
    sigma = 0.7 * spread(QueryGroups.from_sizes([4, 1, 5]), scores, np.array([1, 2, 0.5]))
    by_spread = SoftMetric(f"{name}@3", noise=noise, sigma=0.7, sigma_unit="spread")
    by_score = SoftMetric(f"{name}@3", noise=noise, sigma=sigma)
    np.testing.assert_array_equal(
        by_spread.per_query(labels, scores, **given), by_score.per_query(labels, scores, **given)
    )
    assert by_spread(labels, scores, **given) == by_score(labels, scores, **given)


@every_metric
@every_noise
@pytest.mark.parametrize("factor", [1e-300, 1e-3, 7.0, 1e6, 1e300])
def test_rescaling_the_scores_changes_nothing_in_units_of_the_spread(name, noise, factor):
    labels, scores = queries([4, 1, 9], seed=3)
    soft = SoftMetric(f"{name}@3", noise=noise, sigma=0.7, sigma_unit="spread")
    value, gradient = soft(labels, scores, group=[4, 1, 9]), soft.gradient(labels, scores, group=[4, 1, 9])
    assert soft(labels, scores * factor, group=[4, 1, 9]) == pytest.approx(value, rel=1e-12)
    assert_close(soft.gradient(labels, scores * factor, group=[4, 1, 9]) * factor, gradient, 1e-11)


@every_metric
@every_noise
def test_the_gradient_is_orthogonal_to_the_scores_in_units_of_the_spread(name, noise):
    """Moving along the scores only scales them."""
    sizes = [4, 1, 9]
    labels, scores = queries(sizes, seed=3)
    groups = QueryGroups.from_sizes(sizes)
    deviations = scores - groups.per_document(groups.sums(scores) / groups.sizes)
    soft = SoftMetric(f"{name}@3", noise=noise, sigma=0.7, sigma_unit="spread")
    for weights in (None, [1.0, 2.0, 0.5]):
        gradient = soft.gradient(labels, scores, group=sizes, query_weight=weights)
        assert abs(gradient @ deviations) <= 1e-12 * np.abs(gradient).max() * np.abs(deviations).sum()
        assert np.abs(groups.sums(gradient)).max() <= 1e-5 * np.abs(gradient).max()


@every_metric
@pytest.mark.parametrize("ties", ["expected", "order"])
@pytest.mark.parametrize("levels", [(0.0, 0.0, 0.0), (0.1, 0.7, 0.3), (1e300, -1.7e308, 5e-324)])
def test_without_a_spread_the_value_is_the_hard_one_and_the_gradient_zero(name, ties, levels):
    """Every query at a level of its own, as after a stump, and every query with one document."""
    labels, scores = np.array([0, 1, 2, 0, 0, 1, 0]), np.repeat(levels, [3, 3, 1])
    for soft in (SoftMetric(f"{name}@2", sigma=s, sigma_unit="spread", ties=ties) for s in (1e-300, 0.2, 1e300)):
        wanted = Metric(f"{name}@2").per_query(labels, scores, group=[3, 3, 1])
        np.testing.assert_array_equal(soft.per_query(labels, scores, group=[3, 3, 1]), wanted)
        assert soft(labels, scores, group=[3, 3, 1]) == pytest.approx(wanted.mean(), rel=1e-15)
        assert not soft.gradient(labels, scores, group=[3, 3, 1]).any()
        single = soft.per_query(labels, np.arange(7.0), group=[1] * 7)
        np.testing.assert_array_equal(single, Metric(f"{name}@2").per_query(labels, np.arange(7.0), group=[1] * 7))
        assert not soft.gradient(labels, np.arange(7.0), group=[1] * 7).any()


# Threads, processes


def on_threads(monkeypatch, n):
    monkeypatch.setattr(threads, "n_threads", lambda: n)


@every_metric
@pytest.mark.parametrize("unit", ["score", "spread"])
def test_the_same_bits_on_any_number_of_threads(name, unit, monkeypatch):
    sizes = np.random.default_rng(1).integers(0, 60, 60)
    labels, scores = queries(sizes)
    for noise in LAWS:
        soft = SoftMetric(f"{name}@5", noise=noise, sigma=0.5, sigma_unit=unit)
        found = []
        for n in (1, 2, 3):
            on_threads(monkeypatch, n)
            found.append((soft.per_query(labels, scores, group=sizes), soft.gradient(labels, scores, group=sizes)))
        for other in found[1:]:
            np.testing.assert_array_equal(other[0], found[0][0])
            np.testing.assert_array_equal(other[1], found[0][1])


def test_the_same_bits_for_several_callers_at_once(monkeypatch):
    on_threads(monkeypatch, 3)
    monkeypatch.setattr(threads, "_pools", {})  # so that the callers meet over a pool's first use
    sizes = np.random.default_rng(1).integers(1, 60, 30)
    labels, scores = queries(sizes)
    calls = [(SoftMetric(name, noise=noise, sigma=s), s) for name in REGISTRY for noise in LAWS for s in (0.1, 1.0)]

    def run(call):
        soft, factor = call
        return soft.value_gradient_hessian(labels, scores * factor, group=sizes)

    with ThreadPoolExecutor(6) as callers:
        at_once = list(callers.map(run, calls))
    assert len(threads._pools) == 1
    for (value, gradient, hessian), call in zip(at_once, calls, strict=True):
        alone = run(call)
        assert value == alone[0]
        np.testing.assert_array_equal(gradient, alone[1])
        np.testing.assert_array_equal(hessian, alone[2])


def test_callers_that_meet_leave_with_the_same_pool(monkeypatch):
    """Everyone is still making a pool when the first one puts his down."""
    meeting, delays = threading.Barrier(3, timeout=60), [0.0, 0.05, 0.1]

    def slow_pool(*args, **kwargs):
        meeting.wait()
        time.sleep(delays.pop())
        return object()

    monkeypatch.setattr(threads, "_pools", {})
    monkeypatch.setattr(threads, "ThreadPoolExecutor", slow_pool)
    with ThreadPoolExecutor(3) as callers:
        pools = list(callers.map(threads._pool, [2, 2, 2]))
    assert pools[0] is pools[1] is pools[2]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_the_same_bits_in_another_process(method, monkeypatch):
    """A forked child inherits a pool whose threads do not run in it."""
    on_threads(monkeypatch, 2)
    sizes = np.random.default_rng(1).integers(1, 60, 30)
    labels, scores = queries(sizes)
    soft = SoftMetric("ndcg@5", noise="gumbel", sigma=0.5)
    here = soft.gradient(labels, scores, group=sizes)
    with multiprocessing.get_context(method).Pool(1) as pool:
        there = pool.apply_async(soft.gradient, (labels, scores), {"group": sizes}).get(timeout=120)
        hard = pool.apply_async(soft.hard.per_query, (labels, scores), {"group": sizes}).get(timeout=120)
    np.testing.assert_array_equal(there, here)
    np.testing.assert_array_equal(hard, soft.hard.per_query(labels, scores, group=sizes))


# Forms of input

LABELS, SCORES, SIZES = [1, 0, 1, 0, 0], [0.5, 0.25, -1.0, 2.0, 0.75], [2, 3]


def read_only(values, dtype):
    array = np.array(values, dtype)
    array.setflags(write=False)
    return array


def strided(values, dtype):
    wide = np.full((len(values), 3), 99, dtype)
    wide[:, 1] = values
    return wide[:, 1]


FORMS = {
    "list": (list, list, list),
    "tuple": (tuple, tuple, tuple),
    "float32": (np.float32, np.float32, np.float32),
    "float16": (np.float16, np.float16, np.float16),
    "longdouble": (np.longdouble, np.longdouble, np.longdouble),
    "small integers": (np.uint8, np.float64, np.uint8),
    "bool": (np.bool_, np.float64, np.int64),
    "big endian": (">i4", ">f8", ">i8"),
}


def as_form(values, form):
    return form(values) if form in (list, tuple) else np.array(values, form)


@pytest.mark.parametrize("call", [Metric("ndcg"), SoftMetric("ndcg"), SoftMetric("ndcg").gradient], ids=str)
@pytest.mark.parametrize(
    "given",
    [
        *[
            tuple(as_form(v, f) for v, f in zip((LABELS, SCORES, SIZES), forms, strict=True))
            for forms in FORMS.values()
        ],
        (read_only(LABELS, int), read_only(SCORES, float), read_only(SIZES, int)),
        (strided(LABELS, int), strided(SCORES, float), strided(SIZES, int)),
        (np.array(LABELS[::-1])[::-1], np.array(SCORES[::-1])[::-1], np.array(SIZES[::-1])[::-1]),
        (pd.Series(LABELS, index=[9, 8, 7, 6, 5]), pd.Series(SCORES), pd.Series(SIZES)),
        (pd.Series(LABELS, dtype="Int8"), pd.Series(SCORES, dtype="Float64"), pd.Series(SIZES, dtype="Int64")),
        (pd.Series(LABELS, dtype="boolean"), pd.Series(SCORES, dtype="float32"), pd.Index(SIZES)),
    ],
    ids=[*FORMS, "read-only", "strided", "reversed", "pandas", "nullable", "nullable bool"],
)
def test_forms_of_input(call, given):
    labels, scores, sizes = given
    before = [np.array(values) for values in given]
    found = call(labels, scores, group=sizes)
    np.testing.assert_array_equal(found, call(np.array(LABELS), np.array(SCORES), group=np.array(SIZES)))
    for values, copied in zip(given, before, strict=True):
        np.testing.assert_array_equal(np.array(values), copied)


def test_every_form_of_input_is_of_one_type_to_the_kernels():
    """To Numba a read-only array, which pandas gives, is of another type; and the kernels rely on alignment."""
    unaligned = np.frombuffer(bytearray(b"x" + np.array(SCORES).tobytes()), np.uint8)[1:].view(np.float64)
    assert not unaligned.flags.aligned
    forms = [read_only(SCORES, float), strided(SCORES, float), pd.Series(SCORES), unaligned, np.array(SCORES, ">f4")]
    assert {numba.typeof(finite_vector("f", "x", form)) for form in forms} == {numba.float64[::1]}
    assert all(finite_vector("f", "x", form).flags.aligned for form in forms)
    groups = QueryGroups.from_sizes(SIZES)
    copies = [groups, copy.deepcopy(groups), pickle.loads(pickle.dumps(groups)), QueryGroups.from_query_ids([1] * 5)]
    assert len({numba.typeof(each.offsets) for each in copies}) == 1
    for options in (
        {},
        {"gain": "linear"},
        {"gain": [0, 1]},
        {"gain": np.sqrt, "discount": np.reciprocal},
        {"k": [1, 2]},
    ):
        prepared = prepare(Metric("ndcg", **options), "test", read_only(LABELS, float), groups)
        types = [numba.typeof(array) for array in (prepared.gains, prepared.discount, prepared.cutoffs)]
        assert types == [numba.float64[::1], numba.float64[::1], numba.int64[::1]]


def test_a_plain_vector_is_not_copied():
    plain = np.array(SCORES)
    assert finite_vector("f", "x", plain) is plain


def test_integer_scores_and_polars():
    soft = SoftMetric("ndcg")
    wanted = soft([1.0, 0.0, 2.0], [3.0, 5.0, 4.0], group=[3])
    assert soft([1, 0, 2], [3, 5, 4], group=[3]) == wanted
    assert soft([1, 0, 2], np.array([3, 5, 4], np.uint8), group=[3]) == wanted
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"label": [1, 0, 2], "score": [3.0, 5.0, 4.0], "query": ["a", "a", "a"]})
    assert soft(frame["label"], frame["score"], qid=frame["query"]) == wanted


@pytest.mark.parametrize("unit", ["score", "spread"])
def test_inputs_are_never_modified(unit):
    labels, scores = queries([5, 4, 0, 6])
    labels = labels.astype(float)
    arrays = labels, scores, np.array([5, 4, 0, 6]), np.array([1.0, 2.0, 3.0, 4.0])
    before = [array.copy() for array in arrays]
    for noise in LAWS:
        soft = SoftMetric("dcg", gain="linear", noise=noise, sigma_unit=unit)
        for method in (soft, soft.per_query, soft.gradient, soft.hard):
            method(labels, scores, group=arrays[2], query_weight=arrays[3])
    for array, copied in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copied)
        assert array.flags.writeable


def test_what_is_returned_belongs_to_the_caller():
    labels, scores = np.array([1.0, 0.0]), np.array([0.5, 0.5])
    soft = SoftMetric("dcg", gain="linear")
    first = soft.gradient(labels, scores, group=[2])
    kept = first.copy()
    first[:] = 0
    np.testing.assert_array_equal(soft.gradient(labels, scores, group=[2]), kept)
    assert not np.shares_memory(soft.gradient(labels, scores, group=[2]), scores)
