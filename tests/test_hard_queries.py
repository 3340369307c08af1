"""Hard metrics over queries: empty ones, weights, cutoffs of their own, and what changes no value."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from boostsoft import Metric
from boostsoft.kernels.hard import TIES
from boostsoft.metrics.registry import REGISTRY

from . import oracle
from .cases import every_metric, every_ranked, every_tie, log_discount, metric, of_all_orders, of_order
from .oracle import query

# Empty queries


@every_metric
def test_queries_without_anything_relevant(name):
    """Query 2 has nothing relevant, query 3 no documents."""
    labels, scores, sizes, weights = [1, 0, 0, 0], [0.1, 0.2, 0.3, 0.4], [2, 2, 0], [1, 2, 5]
    first = of_order(name, [0, 1])
    for empty, filler in (("zero", 0), ("one", 1)):
        hard = metric(name, empty=empty)
        np.testing.assert_allclose(hard.per_query(labels, scores, group=sizes), [first, filler, filler], rtol=1e-15)
        assert hard(labels, scores, group=sizes) == pytest.approx((first + 2 * filler) / 3, rel=1e-15)
        weighted = hard(labels, scores, group=sizes, query_weight=weights)
        assert weighted == pytest.approx((first + 7 * filler) / 8, rel=1e-15)
    skip = metric(name, empty="skip")
    np.testing.assert_allclose(skip.per_query(labels, scores, group=sizes), [first, np.nan, np.nan], rtol=1e-15)
    assert skip(labels, scores, group=sizes) == pytest.approx(first, rel=1e-15)
    assert skip(labels, scores, group=sizes, query_weight=weights) == pytest.approx(first, rel=1e-15)


@every_metric
def test_nothing_but_empty_queries(name):
    for empty, value in (("zero", 0.0), ("one", 1.0), ("skip", math.nan)):
        hard = metric(name, 2, empty=empty)
        np.testing.assert_equal(hard([0, 0, 0], [1, 2, 3], group=[2, 1]), value)
        np.testing.assert_equal(hard.per_query([0, 0, 0], [1, 2, 3], group=[2, 1]), [value, value])
    skip = metric(name, empty="skip")
    assert math.isnan(skip([1, 0], [1, 1], group=[1, 1], query_weight=[0, 1]))


def test_a_query_is_empty_if_no_gain_is_above_zero():
    labels, scores = [-1, -2, 1, 0], [1, 2, 3, 4]
    found = Metric("dcg", gain="linear", empty="one").per_query(labels, scores, group=[2, 2])
    np.testing.assert_allclose(found, [1, log_discount(2)], rtol=1e-15)
    found = Metric("precision@1", relevant_from=-1, empty="one").per_query(labels, scores, group=[2, 2])
    np.testing.assert_array_equal(found, [0, 1])
    found = Metric("dcg", gain=[1, 0, 0], empty="skip").per_query([0, 1, 2, 2], scores, group=[2, 2])
    np.testing.assert_allclose(found, [log_discount(2), np.nan], rtol=1e-15)


@every_tie
@pytest.mark.parametrize("labels", [[2, 2, 2], [1], [0], [0, 0]], ids=str)
def test_what_is_undefined(name, ties, labels):
    """Nothing relevant; a metric of pairs also if there is no pair: equal labels, one class, one document."""
    undefined = not any(labels) or REGISTRY[name].pairwise
    scores = [0.5] * len(labels)
    for empty, filler in (("zero", 0.0), ("one", 1.0), ("skip", math.nan)):
        found = metric(name, ties=ties, empty=empty).per_query(labels, scores, group=[len(labels)])
        np.testing.assert_equal(np.isnan(found[0]), undefined and empty == "skip")
        if undefined:
            np.testing.assert_equal(found, [filler])
        else:
            assert found == pytest.approx(of_order(name, labels), rel=1e-15)


def test_relevance_and_classes_are_what_relevant_from_makes_of_the_labels():
    labels, scores = [3, 1, 2], [1, 2, 3]
    for name in [name for name, entry in REGISTRY.items() if "relevant_from" in entry.options]:
        for relevant_from, defined in ((1, not REGISTRY[name].pairwise), (2, True), (3.5, False)):
            value = metric(name, relevant_from=relevant_from, empty="skip")(labels, scores, group=[3])
            assert math.isfinite(value) == defined, (name, relevant_from)


def test_documents_that_are_not_judged_are_nothing_at_all():
    """They take ranks, which bpref does not look at, and are neither relevant nor irrelevant."""
    labels, scores = [-1, 1, -2, 0, 1, 0, -1], [7, 6, 5, 4, 3, 2, 1]
    judged = [i for i, label in enumerate(labels) if label >= 0]
    found = Metric("bpref")(labels, scores, group=[7])
    assert found == Metric("bpref")([labels[i] for i in judged], [scores[i] for i in judged], group=[4])
    assert found == (1 + 1 - 1 / 2) / 2
    assert math.isnan(Metric("bpref", empty="skip")([-1, -1, 0], [1, 2, 3], group=[3]))
    assert Metric("bpref")([1, 1, -1], [1, 2, 3], group=[3]) == 1


def test_the_mean_of_a_perfect_query_is_infinite_only_for_pairs_over_pairs():
    labels, scores, sizes = [1, 0, 0, 1], [2, 1, 2, 1], [2, 2]
    np.testing.assert_array_equal(Metric("pnr").per_query(labels, scores, group=sizes), [math.inf, 0])
    assert Metric("pnr")(labels, scores, group=sizes) == math.inf
    assert Metric("pnr")(labels, scores, group=sizes, query_weight=[0, 1]) == 0
    assert Metric("pnr", ties="worst")(labels, [1, 1, 1, 1], group=sizes) == 0
    assert Metric("pnr", ties="order")(labels, [1, 1, 1, 1], group=sizes) == math.inf
    assert Metric("pnr")(labels, [1, 1, 1, 1], group=sizes) == 1


# Weights and cutoffs per query


@every_metric
def test_weights(name):
    labels, scores = query("ties", 12, 5)
    sizes, weights = [3, 4, 1, 4], np.array([0.5, 0.0, 3.0, 1.0])
    values = metric(name).per_query(labels, scores, group=sizes)
    assert np.isfinite(values).all()
    found = metric(name)(labels, scores, group=sizes, query_weight=weights)
    assert found == pytest.approx(weights @ values / weights.sum(), rel=1e-14)
    assert metric(name)(labels, scores, group=sizes) == pytest.approx(values.mean(), rel=1e-14)


@pytest.mark.parametrize("scale", [2.0**1000, 2.0**-1070])
def test_huge_and_tiny_weights(scale):
    labels, scores, sizes = [1, 0, 0, 1], [1, 2, 3, 4], [2, 2]
    plain = Metric("ndcg")(labels, scores, group=sizes, query_weight=[1, 3])
    assert Metric("ndcg")(labels, scores, group=sizes, query_weight=np.array([1, 3]) * scale) == plain
    equal = Metric("ndcg")(labels, scores, group=sizes, query_weight=[1.7e308, 1.7e308])
    assert equal == Metric("ndcg")(labels, scores, group=sizes)


@every_tie
def test_weight_two_is_the_query_twice(name, ties):
    labels, scores = query("ties", 7, 1)
    hard = metric(name, 3, ties=ties)
    weighted = hard(labels, scores, group=[4, 3], query_weight=[2, 1])
    twice = hard(np.r_[labels[:4], labels], np.r_[scores[:4], scores], group=[4, 4, 3])
    assert weighted == pytest.approx(twice, rel=1e-15)


@every_ranked
@pytest.mark.parametrize("ties", TIES)
def test_cutoffs_per_query(name, ties):
    sizes, cutoffs = [5, 1, 6, 4], [2, 3, 100, 1]
    labels, scores = query("ties", sum(sizes), 4)
    together = metric(name, cutoffs, ties=ties).per_query(labels, scores, group=sizes)
    offsets = np.cumsum([0, *sizes])
    alone = [
        metric(name, k, ties=ties)(labels[a:b], scores[a:b], group=[b - a])
        for k, a, b in zip(cutoffs, offsets[:-1], offsets[1:], strict=True)
    ]
    np.testing.assert_array_equal(together, alone)


# Invariances


@pytest.mark.parametrize(
    ("name", "ties"), [(name, ties) for name, entry in REGISTRY.items() for ties in entry.ties if ties != "order"]
)
def test_the_order_of_the_data_does_not_matter(name, ties):
    labels, scores = query("ties", 9, 3)
    hard = metric(name, 4, ties=ties)
    for seed in range(5):
        shuffled = np.random.default_rng(seed).permutation(9)
        found = hard(labels[shuffled], scores[shuffled], group=[9])
        assert found == pytest.approx(hard(labels, scores, group=[9]), rel=1e-14)


@every_tie
def test_only_the_order_of_the_scores_matters(name, ties):
    labels, scores = query("ties", 9, 3)
    hard = metric(name, 4, ties=ties)
    plain = hard(labels, scores, group=[9])
    for moved in (scores + 7, scores * 1e300, scores * 1e-300, np.arctan(scores), np.exp(scores), scores + 0.0):
        assert hard(labels, moved, group=[9]) == plain
    assert hard([4, 0, 0, 0, 0], [5, 4, 3, 2, 1], group=[5]) != hard([4, 0, 0, 0, 0], [1, 2, 3, 4, 5], group=[5])


@pytest.mark.parametrize("name", [name for name, entry in REGISTRY.items() if entry.gains in ("levels", "positions")])
def test_only_the_order_of_the_labels_matters(name):
    labels, scores = query("ties", 9, 3)
    plain = metric(name)(labels, scores, group=[9])
    for moved in (labels - 7, labels * 1e300, np.exp(labels), labels * 5e-324):
        assert metric(name)(moved, scores, group=[9]) == plain


@every_metric
def test_queries_do_not_see_each_other(name):
    sizes = np.array([3, 1, 0, 5, 2])
    labels, scores = query("ties", sizes.sum(), 6)
    offsets = np.cumsum([0, *sizes])
    together = metric(name, 2).per_query(labels, scores, group=sizes)
    order = [4, 2, 0, 3, 1]
    rows = np.concatenate([np.arange(offsets[q], offsets[q + 1]) for q in order])
    moved = metric(name, 2).per_query(labels[rows], scores[rows], group=sizes[order])
    np.testing.assert_array_equal(moved, together[order])
    parts = [(a, b) for a, b in pairwise(offsets) if b > a]
    alone = [metric(name, 2)(labels[a:b], scores[a:b], group=[b - a]) for a, b in parts]
    np.testing.assert_array_equal(together[sizes > 0], alone)


@every_metric
def test_values_lie_between_those_of_the_worst_and_the_best_order(name):
    for kind in oracle.KINDS:
        labels, scores = query(kind, 5, 2)
        orders = of_all_orders(name, labels, 3)
        expected = metric(name, 3)(labels, scores, group=[5])
        worst = metric(name, 3, ties="worst")(labels, scores, group=[5])
        assert min(orders) - 1e-15 <= worst <= expected + 1e-15 <= max(orders) + 2e-15
