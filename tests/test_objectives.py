"""The training objective: its gradient, its three curvatures, and what it refuses to train on."""

from __future__ import annotations

import copy
import pickle
from itertools import product

import numpy as np
import pytest

import boostsoft as bs
import boostsoft.lightgbm as bl
from boostsoft import QueryGroups
from boostsoft.kernels.curvature import CURVATURES
from boostsoft.metrics.prepared import prepare
from boostsoft.metrics.registry import REGISTRY
from boostsoft.objectives import (
    REFERENCES,
    LambdaObjective,
    NothingToLearnError,
    SoftLambdaObjective,
    SoftObjective,
    reference_objective,
)

from . import oracle

NOISES = ("gaussian", "gumbel", "logistic")
P_REL = (0.0, 0.2, 0.5, 0.9)  # the test's labels are grades 0 to 3
METRICS = [
    bs.Metric(name, k=None if entry.pairwise else 5, **({"p_rel": P_REL} if name == "pfound" else {}))
    for name, entry in REGISTRY.items()
    if entry.exact
]
every_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.metric)
SIZES = [1, 7, 12, 5, 20, 30]
GROUPS = QueryGroups.from_sizes(SIZES)


def ranking(seed=0):
    """Labels 0 to 3 and scores of six queries: a single document, nothing relevant, all of one grade, ties."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, GROUPS.n_docs)
    scores = rng.normal(size=GROUPS.n_docs)
    query = GROUPS.per_document(np.arange(len(SIZES)))
    labels[query == 1] = 0
    labels[query == 3] = 2
    scores[query == 2] = np.round(scores[query == 2])
    return labels, scores


def evaluate(objective, labels, scores, groups=GROUPS):
    return objective.gradient_curvature(objective.prepare(labels, groups), np.asarray(scores, dtype=float))


def per_query(values, groups=GROUPS):
    return np.split(values, groups.offsets[1:-1])


# The gradient


@pytest.mark.parametrize("sigma", [0.3, 1.0, 7.0])
@pytest.mark.parametrize("noise", NOISES)
@every_metric
def test_gradient_is_sigma_squared_times_the_slope_of_the_sum(metric, noise, sigma):
    labels, scores = ranking()
    gradient, _ = evaluate(SoftObjective(metric, noise=noise, sigma=sigma, accuracy="high"), labels, scores)
    soft = bs.SoftMetric(metric, noise=noise, sigma=sigma, accuracy="high")
    wanted = len(SIZES) * soft.gradient(labels, scores, group=SIZES)
    if metric.metric == "pnr":  # trained is pnr / (1 + pnr)
        wanted /= GROUPS.per_document((1 + soft.per_query(labels, scores, group=SIZES)) ** 2)
    assert np.abs(gradient).max() > 1e-3
    np.testing.assert_allclose(gradient, sigma**2 * wanted, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("metric", ["ndcg", "dcg", "precision", "recall", "rbp"])
def test_gradient_and_curvatures_agree_with_the_oracle(metric, noise):
    """U + L is sum_j (g_m + g_j - 2 least) J_mj; the gradient is sum_j (g_m - g_j) J_mj."""
    labels, scores = np.array([3, 1, 1, 2, 1, 3, 0 if metric != "ndcg" else 1]), ranking(1)[1][:7]
    sigma, k, groups = 0.7, 3, QueryGroups.from_sizes([7])
    truth = oracle.expected_derivatives(metric, labels, scores, noise, sigma, k)
    gains, _ = oracle.linear_form(metric, labels, k)
    pairs = oracle.pair_matrix(metric, labels, scores, noise, sigma, k)
    flow = ((gains[:, None] + gains[None, :] - 2 * gains.min()) * pairs).sum(axis=1)
    exact = np.maximum(-truth.hessian, np.abs(truth.gradient) / sigma)
    for hessian, curvature in (("flow", 0.25 * flow / sigma), ("exact", exact)):
        spec = f"{metric}@{k}"
        found = evaluate(SoftObjective(spec, noise=noise, sigma=sigma, hessian=hessian), labels, scores, groups)
        for ours, theirs in zip(found, (sigma**2 * truth.gradient, sigma**2 * curvature), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5 * np.abs(theirs).max())


@pytest.mark.parametrize("noise", NOISES)
@every_metric
def test_gradient_sums_to_zero_over_every_query(metric, noise):
    labels, scores = ranking()
    gradient, _ = evaluate(SoftObjective(metric, noise=noise, accuracy="default"), labels, scores)
    for part in per_query(gradient):
        assert abs(part.sum()) <= 1e-6 * np.abs(part).max()


@pytest.mark.parametrize("hessian", CURVATURES)
def test_a_query_contributes_the_same_among_ten_and_among_a_thousand(hessian):
    labels, scores = ranking()
    objective = SoftObjective("ndcg@10", hessian=hessian)
    alone = evaluate(objective, labels, scores)
    rng = np.random.default_rng(1)
    for others in (10, 1000):
        more = evaluate(
            objective,
            np.concatenate([labels, rng.integers(0, 4, 6 * others)]),
            np.concatenate([scores, rng.normal(size=6 * others)]),
            QueryGroups.from_sizes([*SIZES, *[6] * others]),
        )
        for few, many in zip(alone, more, strict=True):
            np.testing.assert_array_equal(few, many[: labels.size])


@pytest.mark.parametrize("hessian", CURVATURES)
def test_permuting_the_documents_permutes_the_results(hessian):
    labels, scores = ranking()
    rng = np.random.default_rng(2)
    order = np.concatenate([begin + rng.permutation(n) for begin, n in zip(GROUPS.offsets, SIZES, strict=False)])
    objective = SoftObjective("ndcg@5", noise="gumbel", hessian=hessian, accuracy="default")
    for before, after in zip(
        evaluate(objective, labels, scores), evaluate(objective, labels[order], scores[order]), strict=True
    ):
        np.testing.assert_allclose(before[order], after, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("hessian", CURVATURES)
@pytest.mark.parametrize("noise", NOISES)
def test_results_are_in_the_unit_of_the_scores(noise, hessian):
    """Scores and sigma times 10: gradient times 10, curvature as it was, so the Newton step times 10."""
    labels, scores = ranking()
    gradient, curvature = evaluate(SoftObjective(noise=noise, hessian=hessian), labels, scores)
    wide, same = evaluate(SoftObjective(noise=noise, hessian=hessian, sigma=10.0), labels, 10.0 * scores)
    np.testing.assert_allclose(wide, 10.0 * gradient, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(same, curvature, rtol=1e-9, atol=1e-12)


# The curvature


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("least", [0, 1])
@pytest.mark.parametrize("name", ["mrr", "err", "pfound", "map"])
def test_flow_of_cascades_and_average_precision_is_the_oracles(name, least, noise):
    """The gradient of document m is c_m T - G with T and G free of c_m: two values of c_m give both."""
    labels, scores = np.array([2, least, 1, least, 3]), ranking(1)[1][:5]
    k, sigma, groups = 3, 0.7, QueryGroups.from_sizes([5])
    table = {"mrr": (0.0, 1.0, 1.0, 1.0), "map": (0.0, 1.0, 1.0, 1.0)}.get(name, (0.1, 0.3, 0.5, 0.8))
    if name in ("mrr", "map") and least:
        return  # all relevant: nothing to learn
    options = {"p_rel": table} if name in ("err", "pfound") else {"normalizer": "k"} if name == "map" else {}
    c = np.array(table)[labels]
    flow = np.zeros(5)
    for m in range(5):
        ends = []
        for extreme in (0, 1):
            if name in ("err", "pfound"):
                changed, how = np.where(np.arange(5) == m, extreme, c), {"p_rel": "label"}
            else:
                changed, how = np.where(np.arange(5) == m, extreme, labels), options
            ends.append(oracle.expected_orders(name, changed, scores, noise, sigma, k, **how).gradient[m])
        down, total = -ends[0], ends[1] - ends[0]
        flow[m] = (c[m] - 2 * c.min()) * total + down
    metric = bs.Metric(f"{name}@{k}", **options)
    gradient, curvature = evaluate(SoftObjective(metric, noise=noise, sigma=sigma), labels, scores, groups)
    np.testing.assert_allclose(curvature, 0.25 * sigma * flow, rtol=0, atol=1e-6 * flow.max())
    assert (flow >= np.abs(gradient) / sigma**2 * (1 - 1e-6)).all()


@pytest.mark.parametrize("accuracy", ["fast", "default", "high"])
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", ["ndcg", "ndcg@2", "precision@1", "rbp", "mrr", "err", "pfound", "map@4"])
def test_documents_of_one_gain_that_are_far_from_the_rest_damp_each_other(name, noise, accuracy):
    """Their order is worth nothing, yet pairs of equal gain are in the flow: as if the rest were within reach."""
    options = {"pfound": {"p_rel": P_REL}, "map@4": {"normalizer": "k"}}
    metric, labels = bs.Metric(name, **options.get(name, {})), np.array([2, 2, 2, 0, 1, 0])
    near, groups = np.array([0.0, 0.3, -0.4]), QueryGroups.from_sizes([6])

    def found(distance, accuracy, hessian="flow"):
        scores = np.r_[near, near[::-1] - distance]
        return evaluate(SoftObjective(metric, noise=noise, accuracy=accuracy, hessian=hessian), labels, scores, groups)

    _, wanted = found(25.0 if noise != "gaussian" else 11.0, "high")  # the rest no longer count, but are not apart
    gradient, curvature = found(1e5, accuracy)
    assert (wanted[:3] > 1e-3).all()
    np.testing.assert_allclose(curvature, wanted, rtol=1e-4, atol=1e-9)
    assert not gradient[:3].any()
    np.testing.assert_array_equal(gradient, found(1e5, accuracy, "constant")[0])


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", ["auc", "pnr", "kendall", "spearman"])
def test_flow_of_pairs_is_the_sum_of_their_pulls(name, noise):
    labels, scores = np.array([2, 0, 1, 0, 3, 1, 1]), ranking(1)[1][:7]
    sigma, step, n = 0.7, 1e-5, 7
    levels = {"auc": labels >= 1, "spearman": [np.mean(np.flatnonzero(np.sort(labels) == y)) for y in labels]}
    weight = np.abs(np.subtract.outer(*[np.asarray(levels.get(name, labels), dtype=float)] * 2))
    weight = weight if name == "spearman" else np.sign(weight)
    gaps = np.subtract.outer(scores, scores) / sigma
    above = np.vectorize(lambda d: oracle.pair_probability(noise, float(d)))
    density = (above(gaps + step) - above(gaps - step)) / (2 * step)
    total = weight.sum() / 2
    divisor = {
        "auc": total,
        "pnr": total,
        "kendall": 0.5 * np.sqrt(total * n * (n - 1) / 2),
        "spearman": n * np.std(levels["spearman"]) * np.sqrt((n * n - 1) / 12),
    }[name]
    wanted = 0.25 * (weight * density).sum(axis=1) / divisor
    _, curvature = evaluate(SoftObjective(name, noise=noise, sigma=sigma), labels, scores, QueryGroups.from_sizes([n]))
    np.testing.assert_allclose(curvature, wanted, rtol=1e-7)


@pytest.mark.parametrize("spread", [0.0, 1e-3, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("hessian", CURVATURES)
@pytest.mark.parametrize("noise", NOISES)
def test_curvature_is_positive_and_finite(noise, hessian, spread):
    labels, scores = ranking()
    for metric in METRICS:
        gradient, curvature = evaluate(SoftObjective(metric, noise=noise, hessian=hessian), labels, spread * scores)
        assert np.isfinite(gradient).all()
        assert np.isfinite(curvature).all()
        assert (curvature > 0).all()
        assert (curvature.astype(np.float32) > 0).all(), "the boosters keep it in single precision"


@pytest.mark.parametrize(("hessian", "longest_step"), [("flow", 4.0), ("exact", 1.0)])
@pytest.mark.parametrize("noise", NOISES)
@every_metric
def test_newton_steps_are_bounded_in_units_of_sigma(metric, noise, hessian, longest_step):
    """U + L is at least |U - L|, of which a quarter is taken; the exact diagonal is floored at |gradient|."""
    labels, scores = ranking()
    sigma = 3.0
    for spread in (0.1, 3.0, 30.0):
        found = evaluate(SoftObjective(metric, noise=noise, hessian=hessian, sigma=sigma), labels, spread * scores)
        gradient, curvature = found
        assert np.abs(gradient).max() > 0
        assert (np.abs(gradient) <= longest_step * sigma * curvature * (1 + 1e-9)).all()


@pytest.mark.parametrize("noise", NOISES)
def test_exact_curvature_is_minus_the_diagonal_of_the_hessian_above_its_floor(noise):
    """The middle document passes from the worst to the best; where pull and push balance, the floor is low."""
    sizes, sigma = [3] * 21, 0.8
    labels = np.tile([0, 1, 2], 21)
    scores = np.column_stack([np.zeros(21), np.linspace(0, 4, 21), np.full(21, 4.0)]).ravel()
    objective = SoftObjective("ndcg", noise=noise, sigma=sigma, hessian="exact", accuracy="default")
    gradient, curvature = evaluate(objective, labels, scores, QueryGroups.from_sizes(sizes))
    soft = bs.SoftMetric("ndcg", noise=noise, sigma=sigma)
    _, _, diagonal = soft.value_gradient_hessian(labels, scores, group=sizes)
    summed, floor = -(sigma**2) * 21 * diagonal, np.abs(gradient) / sigma
    assert 2 < (summed > floor).sum() < 50
    np.testing.assert_allclose(curvature, np.maximum(summed, floor), rtol=1e-10)


@pytest.mark.parametrize(
    "metric", ["ndcg@10", "kendall", "auc", bs.Metric("auc", pooled=True), bs.Metric("pnr", pooled=True)], ids=str
)
def test_constant_curvature_is_the_weight_of_the_query(metric):
    labels, scores = ranking()
    weights = [1.0, 2.0, 0.0, 1.0, 3.0, 0.25]
    _, plain = evaluate(SoftObjective(metric, hessian="constant"), labels, scores)
    _, weighted = evaluate(SoftObjective(metric, hessian="constant", query_weight=weights), labels, scores)
    np.testing.assert_array_equal(plain, np.ones(labels.size))
    np.testing.assert_array_equal(weighted, np.repeat(np.maximum(weights, 1e-12), SIZES))


@pytest.mark.parametrize("hessian", ["flow", "exact", "constant"])
def test_a_pooled_metric_steps_as_far_as_one_of_queries(hessian):
    """Whatever the number of queries; half as far, say, since documents of other queries hold a score in its place."""
    labels, scores = ranking()
    labels, scores = np.tile(labels, 20), np.tile(scores, 20)
    groups = QueryGroups.from_sizes(SIZES * 20)
    steps = []
    for pooled in (False, True):
        objective = SoftObjective(bs.Metric("auc", pooled=pooled, relevant_from=2), hessian=hessian)
        gradient, curvature = objective.gradient_curvature(objective.prepare(labels, groups), scores)
        steps.append(np.abs(gradient / curvature).max())
    assert 0.05 < steps[1] / steps[0] < 20.0


@pytest.mark.parametrize("hessian", ["flow", "exact"])
def test_queries_without_anything_to_order_have_no_gradient_and_the_least_curvature(hessian):
    labels, scores = ranking()
    gradient, curvature = evaluate(SoftObjective("ndcg@10", hessian=hessian), labels, scores)
    for q in (0, 1):
        assert not per_query(gradient)[q].any()
        assert (per_query(curvature)[q] == 1e-12).all()
    assert np.abs(per_query(gradient)[3]).max() < 1e-12, "all of one grade"


@pytest.mark.parametrize("hessian", CURVATURES)
@pytest.mark.parametrize("noise", NOISES)
def test_newton_steps_raise_the_metric(noise, hessian):
    labels, scores = ranking()
    objective, soft = SoftObjective(noise=noise, hessian=hessian), bs.SoftMetric("ndcg@10", noise=noise)
    queries = objective.prepare(labels, GROUPS)
    values = [soft(labels, scores, group=SIZES)]
    for _ in range(10):
        gradient, curvature = objective.gradient_curvature(queries, scores)
        scores = scores + 0.2 * gradient / curvature
        values.append(soft(labels, scores, group=SIZES))
    assert (np.diff(values) > 0).all()


# Weights


@pytest.mark.parametrize("hessian", CURVATURES)
def test_weight_two_is_the_query_twice(hessian):
    labels, scores = ranking()
    weights = np.array([1.0, 1.0, 2.0, 1.0, 2.0, 1.0])
    weighted = evaluate(SoftObjective(hessian=hessian, query_weight=weights), labels, scores)
    twice = np.concatenate([np.arange(labels.size), *(per_query(np.arange(labels.size))[q] for q in (2, 4))])
    copies = evaluate(
        SoftObjective(hessian=hessian),
        labels[twice],
        scores[twice],
        QueryGroups.from_sizes([*SIZES, SIZES[2], SIZES[4]]),
    )
    for ours, theirs in zip(weighted, copies, strict=True):
        np.testing.assert_allclose(ours, np.bincount(twice, weights=theirs), rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("hessian", CURVATURES)
@pytest.mark.parametrize("noise", NOISES)
def test_numbers_that_underflow_are_no_error(noise, hessian):
    """Of a caller who has NumPy raise at every one."""
    labels, scores = ranking()
    rows = np.full(labels.size, 1e-300)
    mix, losses, weights = {"kendall": 0.3}, {"ranknet": 0.5, "xendcg": 0.5}, np.geomspace(1e-300, 1, 6)
    objective = SoftObjective(mix=mix, losses=losses, noise=noise, sigma=0.1, hessian=hessian, query_weight=weights)
    queries = objective.prepare(labels, GROUPS)
    wanted = objective.gradient_curvature(queries, 30 * scores, rows)
    with np.errstate(all="raise"):
        found = objective.gradient_curvature(queries, 30 * scores, rows)
    np.testing.assert_array_equal(found, wanted)


def test_weight_zero_silences_a_query():
    labels, scores = ranking()
    gradient, curvature = evaluate(SoftObjective(query_weight=[1, 1, 1, 1, 0, 1]), labels, scores)
    assert not per_query(gradient)[4].any()
    assert (per_query(curvature)[4] == 1e-12).all()
    assert per_query(gradient)[5].any()


# What is refused


@pytest.mark.parametrize(
    ("metric", "labels", "options"),
    [
        ("ndcg@10", [2, 2, 2, 1, 1, 1], {}),
        ("ndcg@10", [0, 0, 0, 0, 0, 0], {}),
        ("precision@2", [1, 2, 3, 0, 0, 0], {}),
        ("cg", [0, 1, 2, 2, 1, 0], {}),
        ("recall@3", [0, 1, 2, 2, 1, 0], {}),
        ("precision", [0, 1, 2, 2, 1, 0], {}),
        (bs.Metric("dcg@2", discount=[0.0, 0.0]), [0, 1, 2, 2, 1, 0], {}),
        (bs.Metric("dcg", gain="linear"), [0, -1, 0, -1, -2, -3], {}),
        ("ndcg@10", [1, 1, 1, 0, 1, 2], {"query_weight": [1, 0]}),
        ("map", [1, 2, 1, 0, 0, 0], {}),
        (bs.Metric("pfound", p_break=0.0), [1, 0, 1, 0, 0.5, 1], {}),
        ("auc", [1, 2, 3, 0, 0, 0], {}),
        ("kendall", [1, 1, 1, 2, 2, 2], {}),
        (bs.Metric("dcg", discount=[1.0, 1.0, 1.0]), [0, 1, 2, 2, 1, 0], {}),
    ],
    ids=str,
)
def test_nothing_to_learn_is_named(metric, labels, options):
    told = r"^SoftObjective\.prepare: there is nothing to learn: no query .* documents whose order changes Metric\("
    with pytest.raises(ValueError, match=told):
        SoftObjective(metric, **options).prepare(labels, QueryGroups.from_sizes([3, 3]))


def test_single_documents_are_nothing_to_learn_from():
    with pytest.raises(ValueError, match="nothing to learn"):
        SoftObjective().prepare([0, 1, 2], QueryGroups.from_sizes([1, 1, 1]))


@pytest.mark.parametrize(
    ("metric", "labels"),
    [
        ("recall@2", [0, 1, 2]),
        ("cg@1", [0, 1, 2]),
        ("ndcg", [1, 1, 2]),
        (bs.Metric("dcg@2", discount=[1, 1]), [0, 1, 2]),
    ],
    ids=str,
)
def test_one_query_to_learn_from_is_enough(metric, labels):
    groups = QueryGroups.from_sizes([0, 1, 3, 2])
    gradient, _ = evaluate(SoftObjective(metric), [0, *labels, 1, 1], np.zeros(6), groups)
    assert gradient[3] > 0, "the best document of the one query is to rise"


@pytest.mark.parametrize("discount", [[0.1, 0.5, 0.6], [1.0, 0.5, -0.1], [1.0, 0.0, 0.5]])
def test_a_discount_that_rises_or_is_negative_is_refused(discount):
    """A table at once, a function where the ranks are known."""
    told = ": the discount must not rise with the rank nor be negative; got \\["
    for metric in (bs.Metric("dcg@3", discount=discount), bs.Metric("dcg", k=[1, 3], discount=discount)):
        with pytest.raises(ValueError, match="^SoftObjective" + told):
            SoftObjective(metric)
        with pytest.raises(ValueError, match=r"^boostsoft\.lightgbm\.objective: mix" + told):
            bl.objective("ndcg@3", mix={metric: 0.3})
    late = bs.Metric("dcg@3", discount=lambda rank: np.array(discount)[rank.astype(int) - 1])
    with pytest.raises(ValueError, match=r"^SoftObjective\.prepare" + told):
        SoftObjective(late).prepare([0, 1, 2, 0], QueryGroups.from_sizes([4]))


def test_a_discount_is_judged_by_the_ranks_that_count():
    rising_later = bs.Metric("dcg@2", discount=lambda rank: np.where(rank < 3, 1.0 / rank, rank))
    for metric in (rising_later, bs.Metric("dcg@2", discount=[1.0, 0.5, 0.7])):
        gradient, _ = evaluate(SoftObjective(metric), [0, 1, 2], np.zeros(3), QueryGroups.from_sizes([3]))
        assert gradient[0] < 0 < gradient[2]


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ([0, np.nan, 1], {}, "y_true must be finite; got nan at position 1"),
        ([0, 1, 1], {"query_weight": [1.0, 1.0]}, "query_weight must have one value per query, 1; got 2"),
        ([0, 1, 1], {"query_weight": [-1.0]}, "query_weight must not be negative; got -1.0 at position 0"),
        ([0, 1, 1], {"query_weight": [0.0]}, "query_weight must not be 0 for every query"),
        ([0, 1], {}, "y_true must have one value per document, 3; got 2"),
    ],
)
def test_bad_labels_and_weights_are_named(labels, options, message):
    with pytest.raises(ValueError, match=rf"^SoftObjective\.prepare: {message}"):
        SoftObjective(**options).prepare(labels, QueryGroups.from_sizes([3]))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metric": "ndgc@10"}, ValueError, "^SoftObjective: unknown metric 'ndgc@10'"),
        ({"metric": 3}, TypeError, "SoftObjective: metric must be a string such as 'ndcg@10' or a Metric; got 3$"),
        (
            {"metric": bs.SoftMetric("ndcg@10")},
            TypeError,
            r"or a Metric; got SoftMetric.*; give its hard twin, \.hard,",
        ),
        ({"noise": "cauchy"}, ValueError, "SoftObjective: noise must be one of 'gaussian'"),
        ({"hessian": "newton"}, ValueError, "SoftObjective: hessian must be one of 'flow'"),
        ({"sigma": 0.0}, ValueError, "SoftObjective: sigma must be finite and above 0"),
        ({"sigma": "1"}, TypeError, "SoftObjective: sigma must be a number"),
        ({"query_weight": [1.0, np.inf]}, ValueError, "SoftObjective: query_weight must be finite"),
    ],
)
def test_bad_options_are_named_at_once(options, error, message):
    with pytest.raises(error, match=message):
        SoftObjective(**options)


@pytest.mark.parametrize("metric", ["bpref", bs.Metric("map@3", normalizer="retrieved")], ids=str)
def test_metrics_without_an_exact_expectation_are_refused(metric):
    with pytest.raises(ValueError, match="has no exact expectation here"):
        SoftObjective(metric)


def test_a_pooled_metric_counts_once_for_every_query():
    labels, scores = ranking()
    pooled = bs.Metric("auc", pooled=True)
    gradient, curvature = evaluate(SoftObjective(pooled), labels, scores)
    alone = evaluate(SoftObjective("auc"), labels, scores, QueryGroups.from_sizes([labels.size]))
    np.testing.assert_allclose(gradient, 6 * alone[0], rtol=1e-12)
    np.testing.assert_allclose(curvature, 6 * alone[1], rtol=1e-12)
    weights = np.array([1.0, 0.0, 3.0, 1.0, 1.0, 1.0])
    weighted, _ = evaluate(SoftObjective(pooled, query_weight=weights), labels, scores)
    slope = bs.SoftMetric(pooled).gradient(labels, scores, group=SIZES, query_weight=weights)
    np.testing.assert_allclose(weighted, 7 * slope, rtol=1e-12)
    twice, _ = evaluate(SoftObjective(pooled, query_weight=2 * weights), labels, scores)
    np.testing.assert_allclose(twice, 2 * weighted, rtol=1e-12)


@pytest.mark.parametrize("metric", [bs.Metric("dcg", gain="linear"), bs.Metric("pfound")], ids=["dcg", "pfound"])
def test_labels_that_change_once_they_are_prepared_change_nothing(metric):
    objective, labels, scores = SoftObjective(metric), np.array([1.0, 0.0, 0.5]), np.zeros(3)
    queries = objective.prepare(labels, QueryGroups.from_sizes([3]))
    wanted = objective.gradient_curvature(queries, scores)
    labels[:] = 0.0, 1.0, 1.0
    np.testing.assert_array_equal(objective.gradient_curvature(queries, scores), wanted)


def test_objectives_are_values():
    one = SoftObjective(bs.Metric("ndcg@5", gain="linear"), sigma=2, query_weight=np.array([1, 2]))
    assert one == SoftObjective(bs.Metric("ndcg@5", gain="linear"), sigma=2.0, query_weight=[1.0, 2.0])
    assert hash(one) == hash(copy.deepcopy(one))
    assert one == pickle.loads(pickle.dumps(one))
    assert one != SoftObjective(bs.Metric("ndcg@5", gain="linear"), sigma=2.0)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"metric": bs.Metric("ndcg@5", gain=[0, 1, 3]), "query_weight": [1, 2], "hessian": "exact", "sigma": 0.5},
        {"metric": "map", "mix": {"kendall": 0.3, "mrr": 2}, "losses": {"softmax": 0.5}, "noise": "gumbel"},
    ],
    ids=["defaults", "numbers", "several"],
)
def test_the_text_makes_an_equal_objective(options):
    one = SoftObjective(**options)
    assert eval(repr(one), {"SoftObjective": SoftObjective, "Metric": bs.Metric}) == one


@pytest.mark.parametrize("name", REFERENCES)
def test_queries_must_be_known(name):
    for objective in (SoftObjective(), reference_objective(name)):
        told = rf"^{type(objective).__name__}\.prepare: groups must be a QueryGroups; got list"
        with pytest.raises(TypeError, match=told):
            objective.prepare([1, 0], [2])


@pytest.mark.parametrize("kind", [SoftObjective, SoftLambdaObjective])
def test_queries_on_which_a_metric_is_undefined_are_left_alone(kind):
    """No gain of the second is above 0, so that its value is that of ``empty``, whatever its order."""
    objective = kind(bs.Metric("dcg@2", gain="linear"))
    queries = objective.prepare([2, 0, -1, -3], QueryGroups.from_sizes([2, 2]))
    gradient, curvature = objective.gradient_curvature(queries, np.zeros(4))
    assert gradient[0] > 0
    assert gradient[2:].tolist() == [0, 0]
    assert curvature[2:].max() < 1e-9
    soft = bs.SoftMetric(objective.metric)
    assert soft.gradient([2, 0, -1, -3], np.zeros(4), group=[2, 2])[2:].tolist() == [0, 0]


# Clicks


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("metric", ["dcg", "cg"])
def test_clicks_by_propensity_have_the_gradient_of_those_who_look_everywhere(metric, noise):
    """In expectation over what is looked at and clicked, all of it enumerated; the ranking shown has no say."""
    rng = np.random.default_rng(3)
    looks, attracts, scores = np.array([0.3, 1.0, 0.2, 0.5]), np.array([0.9, 0.1, 0.6, 0.3]), rng.normal(size=4)
    objective = SoftObjective(bs.Metric(f"{metric}@2", gain="linear"), noise=noise, accuracy="high")
    groups = QueryGroups.from_sizes([4])

    def gradient(labels):
        return objective.gradient_curvature(objective.prepare(labels, groups, part=True), scores)[0]

    weighted, plain = np.zeros(4), np.zeros(4)
    for clicked in map(np.array, product([0.0, 1.0], repeat=4)):
        chance = np.prod(np.where(clicked > 0, looks * attracts, 1 - looks * attracts))
        weighted += chance * gradient(clicked / looks)
        plain += chance * gradient(clicked)
    expected = gradient(attracts)
    np.testing.assert_allclose(weighted, expected, rtol=1e-9, atol=1e-12)
    assert not np.allclose(plain, expected, rtol=0.1)


@pytest.mark.parametrize("kind", ["soft", *REFERENCES])
def test_what_is_no_score_of_every_document_is_refused(kind):
    """Kernels would read past the end of the array."""
    rule = SoftObjective("ndcg@5") if kind == "soft" else reference_objective(kind)
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 4, 90), rng.normal(size=90).astype(np.float32).astype(np.float64)
    queries = rule.prepare(labels, QueryGroups.from_sizes([30] * 3), caller="mine")
    expected = rule.gradient_curvature(queries, scores)
    for same in (scores.astype(np.float32), scores.tolist(), scores.astype(">f8")):
        np.testing.assert_array_equal(rule.gradient_curvature(queries, same), expected)
    for wrong, told in ((scores[:10], "90"), (np.append(scores[1:], np.nan), "finite"), (scores[None], "shape")):
        with pytest.raises(ValueError, match=f"mine: scores must .*{told}"):
            rule.gradient_curvature(queries, wrong)
    for wrong, told in (([1.0], "90"), (np.full(90, -1.0), "0")):
        with pytest.raises(ValueError, match=f"mine: row_weight must .*{told}"):
            rule.gradient_curvature(queries, scores, wrong)


def test_scores_are_refused_by_the_name_of_what_reads_them():
    queries = SoftObjective().prepare([1, 0, 0, 1], QueryGroups.from_sizes([2, 2]))
    with pytest.raises(ValueError, match=r"^SoftObjective.gradient_curvature: scores must"):
        SoftObjective().gradient_curvature(queries, np.zeros(3))


@pytest.mark.parametrize("metric", ["auc", "pnr"])
@pytest.mark.parametrize("pooled", [False, True])
def test_queries_that_do_not_weigh_teach_nothing(metric, pooled):
    groups, rule = QueryGroups.from_sizes([2, 2, 1]), bs.Metric(metric, pooled=pooled)
    with pytest.raises(NothingToLearnError):
        SoftObjective(rule, query_weight=[1, 0, 1]).prepare([1, 1, 0, 1, 1], groups)
    between = SoftObjective(rule, query_weight=[1, 0, 1])
    if pooled:  # documents of two queries are a pair as well
        gradient, _ = between.gradient_curvature(between.prepare([1, 1, 0, 1, 0], groups), np.zeros(5))
        assert np.flatnonzero(gradient).tolist() == [0, 1, 4]


OTHERS = [
    (SoftObjective("ndcg@10"), SoftObjective("map")),
    (SoftObjective("ndcg@10"), SoftObjective("ndcg@2")),
    (SoftObjective("ndcg@10"), SoftObjective(bs.Metric("ndcg@10", gain="linear"))),
    (SoftObjective("ndcg@10"), SoftObjective("ndcg@10", mix={"map": 1.0})),
    (SoftObjective("ndcg@10", mix={"kendall": 1.0}), SoftObjective("ndcg@10", mix={"map": 1.0})),
    (SoftObjective("ndcg@10", mix={"map": 1.0}), SoftObjective("ndcg@10", losses={"xendcg": 1.0})),
    (SoftObjective("ndcg@10", losses={"ranknet": 1.0}), SoftObjective("ndcg@10", losses={"xendcg": 1.0})),
    (SoftObjective("ndcg@30"), LambdaObjective()),
    (LambdaObjective(), LambdaObjective("ranknet")),
    (LambdaObjective(truncation_level=2), LambdaObjective(truncation_level=3)),
    (reference_objective("xendcg"), reference_objective("xendcg", gamma=[0.1, 0.2, 0.3, 0.4])),
    (reference_objective("listnet"), reference_objective("queryrmse")),
]


@pytest.mark.parametrize(("these", "those"), OTHERS, ids=str)
def test_queries_of_another_objective_are_refused(these, those):
    labels, groups = [1, 0, 2, 0], QueryGroups.from_sizes([4])
    for one, two in ((these, those), (those, these)):
        name = type(one).__name__
        with pytest.raises(ValueError, match=rf"^{name}\.gradient_curvature: queries must be what {name}\("):
            one.gradient_curvature(two.prepare(labels, groups), np.zeros(4))


def test_queries_serve_objectives_that_read_labels_alike():
    """Noise, sigma, weights and curvature are not what labels are read by."""
    labels, groups, scores = [1, 0, 2, 0], QueryGroups.from_sizes([4]), np.array([0.1, 0.3, 0.2, 0.0])
    first = SoftObjective("ndcg@10", mix={"kendall": 0.3}, losses={"xendcg": 0.5})
    other = SoftObjective(
        "ndcg@10", noise="gumbel", sigma=2.0, hessian="exact", mix={"kendall": 1.0}, losses={"xendcg": 1.0}
    )
    wanted = other.gradient_curvature(other.prepare(labels, groups), scores)
    np.testing.assert_array_equal(other.gradient_curvature(first.prepare(labels, groups), scores), wanted)


@pytest.mark.parametrize("queries", [None, [1, 0]])
def test_what_is_no_prepared_queries_is_refused(queries):
    with pytest.raises(TypeError, match=r"^SoftObjective\.gradient_curvature: queries must be a PreparedQueries; got"):
        SoftObjective().gradient_curvature(queries, np.zeros(2))


def test_what_a_metric_prepared_is_refused():
    groups = QueryGroups.from_sizes([2])
    queries = prepare(bs.Metric("ndcg"), "here", [1, 0], groups)
    with pytest.raises(ValueError, match=r"queries must be what SoftObjective.* has prepared; got those of 'ndcg'$"):
        SoftObjective("ndcg").gradient_curvature(queries, np.zeros(2))
