"""Hard metrics: against the definitions, scikit-learn and LightGBM, and by hand; tied scores have their own file."""

from __future__ import annotations

import math
from itertools import permutations

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
from .cases import TABLE, by_definition, cutoffs_of, every_metric, every_tie, log_discount, metric, of_all_orders
from .oracle import query
from .oracle_hard import discount_of
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
few = settings(deadline=None, derandomize=True, max_examples=30)


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
        (Metric("bpref", relevant_from=-1), [-1, -2, -1], (1 + 1) / 2),
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


@pytest.mark.parametrize(
    "discount", [(0.1, 0.5, 1.0, 0.2), (1.0, -1.0, 0.5, -2.0), (1.0, 0.5, -1.0, -2.0), (-1.0, -0.5, -0.1, -0.3)]
)
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


def test_the_best_orders_of_equally_long_lists_are_each_up_to_its_own_cutoff():
    labels, scores, discount = [1, 3, 0, 2], [4, 3, 2, 1], (0.1, 0.5, 1.0, 0.2)
    together = Metric("ndcg", k=[1, 3, 2], discount=discount)
    alone = [Metric("ndcg", k=k, discount=discount)(labels, scores, group=[4]) for k in (1, 3, 2)]
    np.testing.assert_allclose(together.per_query(3 * labels, 3 * scores, group=[4, 4, 4]), alone, rtol=1e-14)


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


@pytest.mark.parametrize("at", [100, 600, 9_000])
def test_a_gain_that_no_early_document_has(at):
    """The distinct gains are looked for among the first documents; one may be met only later."""
    labels = np.zeros(12_000)
    labels[::7], labels[at] = 1, 4
    falling = -np.arange(40.0)[None].repeat(300, axis=0)
    expected = ndcg_score(2.0 ** labels.reshape(300, 40) - 1, falling, k=10)
    assert Metric("ndcg@10")(labels, falling.ravel(), group=[40] * 300) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("k", [None, 4])
@pytest.mark.parametrize("discount", ["log2", (0.1, 0.5, 0.2, 0.6, 0.3, 0.9, 0.4)])
def test_ideal_of_many_gains_in_lists_of_all_sizes(discount, k):
    """More distinct gains than are counted one by one: lists of one size are sorted together, wherever they stand."""
    rng = np.random.default_rng(4)
    sizes = rng.permutation([0, 1, 1, 2, 3, 5, 5, 5, 7] * 8)
    labels, scores, start = np.maximum(rng.normal(0.7, 1, sizes.sum()), 0), rng.normal(size=sizes.sum()), 0
    found = Metric("ndcg", k=k, gain="linear", discount=discount, empty="zero").per_query(labels, scores, group=sizes)
    weights = [discount_of(r, discount) for r in range(1, 8)]
    for value, n in zip(found, sizes, strict=True):
        gains, order = labels[start : start + n], np.argsort(-scores[start : start + n])
        depth = min(n, k or n)
        ranked = [weights[r] if r < depth else 0.0 for r in range(n)]
        best = math.fsum(a * b for a, b in zip(sorted(gains), sorted(ranked), strict=True))
        dcg = math.fsum(gains[d] * w for d, w in zip(order, ranked, strict=True))
        assert value == pytest.approx(dcg / best if best > 0 else 0.0, rel=1e-13)
        start += n
