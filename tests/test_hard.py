"""Hard metrics: against the definitions, scikit-learn and LightGBM, and by hand; tied scores have their own file."""

from __future__ import annotations

import math
from itertools import pairwise, permutations

import lightgbm as lgb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import dcg_score, ndcg_score

from boostsoft import Metric, QueryGroups
from boostsoft.kernels.hard import TIES
from boostsoft.metrics.registry import REGISTRY

from . import oracle
from .cases import (
    TABLE,
    by_definition,
    cutoffs_of,
    every_metric,
    every_ranked,
    every_tie,
    metric,
    of_all_orders,
    of_order,
)
from .tie_means import mean_over_ties

CUTOFFS = (None, 1, 2, 3, 5, 100)
FORMS = {  # options that change a value, tried wherever a metric takes them
    "gain": ["linear", (0.0, 2.0, 2.5, 3.0, 10.0)],
    "discount": ["reciprocal", tuple(1.0 / r**2 for r in range(1, 9))],
    "relevant_from": [2, 0.5, 3.5],
    "p": [0.5],
    "p_rel": ["exp2", TABLE, (0.0, 0.0, 0.25, 1.0, 1.0)],
    "max_label": [4.5, 6],
    "p_break": [0.0, 0.5, 1.0],
    "normalizer": ["min", "retrieved", "k"],
}
few = settings(deadline=None, derandomize=True, max_examples=60)


def log_discount(rank):
    return 1 / math.log2(1 + rank)


def query(kind, n, seed):
    return oracle.random_query(np.random.default_rng(seed), n, kind)


def forms_of(name):
    """The defaults, then every other value of every option that the metric takes."""
    taken = [option for option in REGISTRY[name].options if option in FORMS]
    return [{}] + [{option: value} for option in taken for value in FORMS[option]]


# The definitions


def test_every_option_that_changes_a_value_is_tried():
    """But those of the tests below (ties, empty) and of test_pooled.py."""
    known = {option for entry in REGISTRY.values() for option in entry.own_options}
    assert known == {*FORMS, "pooled"}


@every_tie
def test_every_metric_is_its_definition(name, ties):
    queries = [query(kind, n, 10 * n) for kind in oracle.KINDS for n in (1, 2, 5)]
    labels, scores = (np.concatenate(column) for column in zip(*queries, strict=True))
    sizes = [len(y) for y, _ in queries]
    for k in cutoffs_of(name, CUTOFFS):
        for options in forms_of(name):
            found = metric(name, k, ties=ties, **options).per_query(labels, scores, group=sizes)
            wanted = [by_definition(name, y, s, k, ties, **options) for y, s in queries]
            np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-15, err_msg=str((k, options)))


@every_tie
@few
@given(
    documents=st.lists(st.tuples(st.integers(0, 4), st.integers(-2, 2)), min_size=1, max_size=6),
    k=st.none() | st.integers(1, 8),
    scale=st.sampled_from([1.0, 1e300, 1e-300, 5e-324]),
)
def test_ties_one_document_and_scores_of_any_size(name, ties, documents, k, scale):
    labels, scores = np.array([y for y, _ in documents]), np.array([s * scale for _, s in documents])
    found = metric(name, k, ties=ties)(labels, scores, group=[len(labels)])
    assert found == pytest.approx(by_definition(name, labels, scores, k, ties), rel=1e-13, abs=1e-15)


@every_tie
def test_long_queries(name, ties):
    for kind in ("generic", "ties", "all_equal_scores"):
        labels, scores = query(kind, 500, 3)
        for k in cutoffs_of(name, (None, 7, 499, 501)):
            if ties == "expected":
                wanted = mean_over_ties(name, labels, scores, k)
            else:
                wanted = by_definition(name, labels, scores, k, ties)
            found = metric(name, k, ties=ties)(labels, scores, group=[500])
            assert found == pytest.approx(wanted, rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("name", [name for name, entry in REGISTRY.items() if entry.gains == "probability"])
@pytest.mark.parametrize("ties", TIES)
def test_labels_that_are_probabilities(name, ties):
    labels, scores = [0.25, 1.0, 0.0, 0.1, 1.0], [2, 1, 2, 2, 0]
    for k in CUTOFFS:
        found = metric(name, k, p_rel="label", ties=ties)(labels, scores, group=[5])
        wanted = by_definition(name, labels, scores, k, ties, p_rel="label")
        assert found == pytest.approx(wanted, rel=1e-15, abs=1e-16)


# Other libraries


@pytest.mark.parametrize("kind", ["generic", "ties", "all_equal_scores", "all_equal_labels", "no_relevant"])
@pytest.mark.parametrize("k", [None, 1, 3, 10, 50])
def test_scikit_learn(kind, k):
    labels, scores = query(kind, 20, 5)
    for gain, truth in (("linear", labels), ("exp2", 2.0**labels - 1)):
        ours = [Metric(name, k=k, gain=gain)(labels, scores, group=[20]) for name in ("dcg", "ndcg")]
        theirs = [score([truth], [scores], k=k) for score in (dcg_score, ndcg_score)]
        np.testing.assert_allclose(ours, theirs, rtol=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
def test_lightgbm(weighted):
    """Trees of four leaves tie most documents; some queries have nothing relevant.

    These count 1 in LightGBM, whatever their weight, which we do not follow: the difference is taken off.
    """
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 40, 60)
    rows = rng.normal(size=(sizes.sum(), 3))
    labels = np.clip(np.round(rows[:, 0] + rng.normal(size=sizes.sum())), 0, 4) * np.repeat(rng.random(60) < 0.8, sizes)
    weights = rng.integers(1, 5, 60) if weighted else np.ones(60)
    data = lgb.Dataset(rows, labels, group=sizes, weight=np.repeat(weights, sizes) if weighted else None)
    params = {
        "objective": "lambdarank", "metric": "ndcg", "eval_at": [1, 3, 10, 50], "num_leaves": 4, "verbosity": -1,
        "num_threads": 1, "min_data_in_leaf": 5,
    }  # fmt: skip
    logged = {}
    booster = lgb.train(params, data, 3, valid_sets=[data], callbacks=[lgb.record_evaluation(logged)])
    scores = booster.predict(rows)
    assert len(np.unique(scores)) < 40
    empty = QueryGroups.from_sizes(sizes).sums(labels) == 0
    assert 10 < empty.sum() < 50
    for k in params["eval_at"]:
        metric = Metric("ndcg", k=k, ties="order", empty="one")
        ours = metric(labels, scores, group=sizes, query_weight=weights)
        excess = ((weights - 1) * empty).sum() / weights.sum()
        assert ours - excess == pytest.approx(logged["training"][f"ndcg@{k}"][-1], rel=1e-12)
        assert Metric("ndcg", k=k)(labels, scores, group=sizes, query_weight=weights) != pytest.approx(ours, rel=1e-6)


# By hand


def test_six_documents():
    """Grades 3 2 3 0 1 2 in rank order: the textbook's example of DCG."""
    grades, scores = [3, 2, 3, 0, 1, 2], [6, 5, 4, 3, 2, 1]
    linear = 3 + 2 / math.log2(3) + 3 / 2 + 0 + 1 / math.log2(6) + 2 / math.log2(7)
    ideal = 3 + 3 / math.log2(3) + 2 / 2 + 2 / math.log2(5) + 1 / math.log2(6)
    assert Metric("dcg@6", gain="linear")(grades, scores, group=[6]) == pytest.approx(linear, rel=1e-15)
    assert Metric("ndcg@6", gain="linear")(grades, scores, group=[6]) == pytest.approx(linear / ideal, rel=1e-15)
    exp2 = 7 + 3 / math.log2(3) + 7 / 2 + 0 + 1 / math.log2(6) + 3 / math.log2(7)
    assert Metric("dcg@6")(grades, scores, group=[6]) == pytest.approx(exp2, rel=1e-15)


def test_four_graded_documents():
    metric = Metric("dcg@4", gain="linear")
    in_order = 1 + 0.7 * log_discount(2) + 0.3 / 2 + 1 * log_discount(4)
    best = 1 + 1 * log_discount(2) + 0.7 / 2 + 0.3 * log_discount(4)
    found = metric([1, 0.7, 0.3, 1], [4, 3, 2, 1], group=[4])
    assert found == pytest.approx(in_order, rel=1e-15)
    assert round(found, 2) == 2.02
    assert metric([1, 0.7, 0.3, 1], [4, 2, 1, 3], group=[4]) == pytest.approx(best, rel=1e-15)
    assert round(best, 2) == 2.11
    ndcg = Metric("ndcg@4", gain="linear")
    assert ndcg([1, 0.7, 0.3, 1], [4, 3, 2, 1], group=[4]) == pytest.approx(in_order / best, rel=1e-15)


@pytest.mark.parametrize(
    ("metric", "labels", "value"),
    [
        (Metric("dcg@1"), [0, 4], 0.0),
        (Metric("dcg"), [1, 0, 1], 1 / math.log2(1 + 1) + 1 / math.log2(1 + 3)),
        (Metric("dcg", discount="reciprocal"), [0, 2, 1], 3 / 2 + 1 / 3),
        (Metric("dcg@2", discount=[1, 0.25, 9]), [2, 1, 3], 3 + 0.25 * 1),
        (Metric("dcg", gain=[0, 10, 100]), [1, 2], 10 + 100 * log_discount(2)),
        (Metric("ndcg@2"), [1, 0, 2], 1 / (3 + log_discount(2))),
        (Metric("cg@2"), [1, 2, 3], 1 + 3),
        (Metric("precision@3"), [1, 0, 2, 1], 2 / 3),
        (Metric("precision@10"), [1, 0, 2, 1], 3 / 10),
        (Metric("precision"), [1, 0, 2, 1], 3 / 4),
        (Metric("precision@2", relevant_from=2), [1, 2, 2], 1 / 2),
        (Metric("precision@2", relevant_from=1.5), [1.4, 1.5, 2], 1 / 2),
        (Metric("recall@2"), [1, 0, 2, 1], 1 / 3),
        (Metric("recall@10"), [1, 0, 2, 1], 1.0),
        (Metric("rbp"), [1, 0, 1], 0.2 * (1 + 0.8**2)),
        (Metric("rbp@2", p=0.5), [0, 1, 1], 0.5 * 0.5),
        (Metric("f1@2"), [1, 0, 2, 1], 2 * 1 / (2 + 3)),
        (Metric("f1@10"), [1, 0, 2, 1], 2 * 3 / (10 + 3)),
        (Metric("f1"), [1, 0, 2, 1], 2 * 3 / (4 + 3)),
        (Metric("mrr"), [0, 0, 1, 1], 1 / 3),
        (Metric("mrr@2"), [0, 0, 1, 1], 0.0),
        (Metric("mrr", relevant_from=2), [1, 2], 1 / 2),
        (Metric("err"), [2, 4], 3 / 16 + 13 / 16 * 15 / 16 / 2),
        (Metric("err@1", max_label=3), [2, 3], 3 / 8),
        (Metric("err", p_rel=[0, 1]), [0, 1, 1], 1 / 2),
        (Metric("err", p_rel="label"), [0.5, 0.5], 0.5 + 0.5 * 0.5 / 2),
        (Metric("err", p_rel=lambda y: y / 4), [2, 3], 2 / 4 + 2 / 4 * 3 / 4 / 2),
        (Metric("pfound"), [0.5, 0.25, 1.0], 0.5 + 0.85 * 0.5 * 0.25 + 0.85**2 * 0.5 * 0.75 * 1.0),
        (Metric("pfound@2", p_break=0), [0.5, 0.25, 1.0], 0.5 + 0.5 * 0.25),
        (Metric("pfound", p_break=1), [0.5, 1.0], 0.5),
        (Metric("pfound", p_rel="exp2"), [0, 4], 0.85 * 15 / 16),
        (Metric("map"), [1, 0, 2, 1], (1 / 1 + 2 / 3 + 3 / 4) / 3),
        (Metric("map@3"), [1, 0, 2, 1], (1 / 1 + 2 / 3) / 3),
        (Metric("map@2", normalizer="min"), [1, 0, 2, 1], 1 / 1 / 2),
        (Metric("map@9", normalizer="min"), [1, 0, 2, 1], (1 / 1 + 2 / 3 + 3 / 4) / 3),
        (Metric("map@3", normalizer="retrieved"), [1, 0, 2, 1], (1 / 1 + 2 / 3) / 2),
        (Metric("map@1", normalizer="retrieved"), [0, 1], 0.0),
        (Metric("map@9", normalizer="k"), [1, 0, 2, 1], (1 / 1 + 2 / 3 + 3 / 4) / 9),
        (Metric("map", normalizer="k"), [1, 0, 2, 1], (1 / 1 + 2 / 3 + 3 / 4) / 4),
        (Metric("bpref"), [1, 0, 2, 0, 0], (1 + 1 - 1 / 2) / 2),
        (Metric("bpref"), [0, 0, 0, 1], 1 - min(3, 1) / 1),
        (Metric("bpref"), [0, 1, 1, 1], 1 - 1 / 1),
        (Metric("bpref"), [-1, 1, -1, 0, 1], (1 + 1 - 1 / 1) / 2),
        (Metric("bpref@1"), [1, 0, 2, 0, 0], 1 / 2),
        (Metric("bpref", relevant_from=-1), [-1, -2, 0], (1 + 1) / 2),
        (Metric("auc"), [1, 0, 2, 0], 3 / 4),
        (Metric("auc", relevant_from=2), [1, 0, 2, 0], 1 / 3),
        (Metric("pnr"), [1, 0, 2, 0], 3 / 2),
        (Metric("pnr"), [2, 1, 0], math.inf),
        (Metric("pnr"), [0, 1, 2], 0.0),
        (Metric("pnr"), [0.5, 1e9, -3.5], 2 / 1),
        (Metric("kendall"), [2, 1, 0, -7], 1.0),
        (Metric("kendall"), [1, 0, 2, 0], (3 - 2) / math.sqrt(6 * 5)),
        (Metric("spearman"), [1, 5, 9], -1.0),
        (Metric("spearman"), [3, 1, 2], 1 - 6 * (0 + 1 + 1) / (3 * (9 - 1))),
        (Metric("spearman"), [1, 1, 0], (0.5 * 1 + 0 - 1 * -1) / math.sqrt(1.5 * 2)),
    ],
    ids=str,
)
def test_documents_in_rank_order(metric, labels, value):
    scores = -np.arange(len(labels))
    assert metric(labels, scores, group=[len(labels)]) == pytest.approx(value, rel=1e-15, abs=0)


@pytest.mark.parametrize("ties", TIES)
def test_negative_labels(ties):
    """A linear gain may be negative; no order is then worth 1."""
    labels, scores = [-1, 2, -3], [3, 2, 1]
    metric = Metric("dcg", gain="linear", ties=ties)
    assert metric(labels, scores, group=[3]) == pytest.approx(-1 + 2 * log_discount(2) - 3 / 2, rel=1e-15)
    assert Metric("cg@2", gain="linear", ties=ties)(labels, scores, group=[3]) == 1
    with pytest.raises(ValueError, match=r"ndcg needs gains of at least 0; got -1.0 for label -1.0"):
        Metric("ndcg", gain="linear", ties=ties)(labels, scores, group=[3])
    worst_first = Metric("dcg", gain="linear", ties="worst")([2, -3, 1], [0, 0, 0], group=[3])
    assert worst_first == pytest.approx(-3 + log_discount(2) + 2 / 2, rel=1e-15)


@pytest.mark.parametrize("discount", [(0.1, 0.5, 1.0, 0.2), (1.0, -1.0, 0.5, -2.0), (-1.0, -0.5, -0.1, -0.3)])
@pytest.mark.parametrize("k", [None, 1, 2, 3])
def test_the_best_order_is_the_best_under_any_discount(discount, k):
    """Discounts may rise or be negative: ndcg divides by the most that any order reaches, if that is not 0."""
    labels = [1, 3, 0, 2]
    orders = list(permutations(labels))
    reached = [oracle.hard("dcg", order, k, discount=discount) for order in orders]
    divisor = max(reached) or 1.0
    scores = -np.arange(4)
    found = [Metric("ndcg", k=k, discount=discount)(order, scores, group=[4]) for order in orders]
    np.testing.assert_allclose(found, np.array(reached) / divisor, rtol=1e-14, atol=1e-15)


@every_metric
def test_the_best_and_the_worst_order_are_the_extremes(name):
    """Falling labels are the best order and rising ones the worst, whatever is between."""
    labels = [4, 3, 1, 0, 0]
    for k in cutoffs_of(name, (1, 3)):
        orders = of_all_orders(name, labels, k)
        best = metric(name, k)(labels, [5, 4, 3, 2, 1], group=[5])
        worst = metric(name, k)(labels, [1, 2, 3, 4, 5], group=[5])
        assert (best, worst) == (pytest.approx(max(orders), rel=1e-14), pytest.approx(min(orders), abs=1e-15))
        assert best > worst


# Gains, discounts and probabilities in other forms


@pytest.mark.parametrize("k", [None, 7])
def test_functions_and_tables_are_the_named_ones(k):
    labels, scores = query("ties", 30, 2)
    plain = Metric("ndcg", k=k)(labels, scores, group=[30])
    for gain in (lambda y: 2**y - 1, lambda y: [2**v - 1 for v in y], [0, 1, 3, 7, 15], np.array([0, 1, 3, 7, 15.0])):
        assert Metric("ndcg", k=k, gain=gain)(labels, scores, group=[30]) == pytest.approx(plain, rel=1e-14)
    for discount in (lambda r: 1 / np.log2(1 + r), [log_discount(r) for r in range(1, 31)]):
        assert Metric("ndcg", k=k, discount=discount)(labels, scores, group=[30]) == pytest.approx(plain, rel=1e-14)


@pytest.mark.parametrize("k", [None, 7])
@pytest.mark.parametrize("name", [name for name, entry in REGISTRY.items() if entry.gains == "probability"])
def test_probabilities_as_functions_and_tables(name, k):
    labels, scores = query("ties", 30, 2)
    plain = metric(name, k, p_rel="exp2")(labels, scores, group=[30])
    functions = (lambda y: (2**y - 1) / 16, lambda y: [(2**v - 1) / 16 for v in y])
    for p_rel in (*functions, [0, 1 / 16, 3 / 16, 7 / 16, 15 / 16], np.array([0, 1, 3, 7, 15]) / 16):
        assert metric(name, k, p_rel=p_rel)(labels, scores, group=[30]) == pytest.approx(plain, rel=1e-14)
    found = metric(name, k, p_rel="label")((2.0**labels - 1) / 16, scores, group=[30])
    assert found == pytest.approx(plain, rel=1e-14)


@pytest.mark.parametrize(
    ("k", "sizes", "deepest"),
    [(None, [2, 3], 3), (2, [2, 3], 2), (9, [5, 0], 5), ([1, 2], [4, 2], 2), ([9, 9], [1, 0], 1)],
)
def test_a_discount_needs_to_reach_no_further_than_the_deepest_rank_that_counts(k, sizes, deepest):
    asked = []

    def discount(ranks):
        asked.extend(ranks)
        return 1.0 / ranks

    labels, scores = np.ones(sum(sizes)), np.arange(sum(sizes))
    wanted = Metric("dcg", k=k, discount="reciprocal")(labels, scores, group=sizes)
    assert Metric("dcg", k=k, discount=discount)(labels, scores, group=sizes) == wanted
    assert asked == list(range(1, deepest + 1))
    table = [1.0 / rank for rank in asked]
    assert Metric("dcg", k=k, discount=table)(labels, scores, group=sizes) == wanted
    if deepest > 1:
        with pytest.raises(
            ValueError, match=f"discount must reach to rank {deepest}; got a table of {deepest - 1} ranks"
        ):
            Metric("dcg", k=k, discount=table[:-1])(labels, scores, group=sizes)


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
