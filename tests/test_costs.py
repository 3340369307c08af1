"""What a query costs is estimated before it runs: hours are refused in words, minutes are not."""

from __future__ import annotations

import re
from contextlib import nullcontext

import lightgbm as lgb
import numpy as np
import pytest

import boostsoft as bs
import boostsoft.lightgbm as bl
from boostsoft import QueryGroups
from boostsoft.kernels.families import MARKED, PLAIN
from boostsoft.metrics import costs
from boostsoft.objectives import reference_objective

N = 3000


@pytest.fixture
def labels_and_scores():
    rng = np.random.default_rng(0)
    return rng.integers(0, 3, N), rng.normal(size=N)


@pytest.fixture
def seconds(monkeypatch):
    """Set the limit: what follows takes tenths of a second and is refused as hours would be."""
    return lambda limit: monkeypatch.setattr(costs, "LIMIT_SECONDS", limit)


REFUSED = {
    "gradient": (bs.SoftMetric("ndcg@2000").gradient, "SoftMetric.gradient", "ndcg", 2000),
    "value": (bs.SoftMetric("ndcg@2000"), "SoftMetric", "ndcg", 2000),
    "all digits": (bs.SoftMetric("ndcg", accuracy="high"), "SoftMetric", "ndcg", N),
    "a table": (bs.SoftMetric("dcg", discount=1 / np.arange(1, N + 1)), "SoftMetric", "dcg", N),
    "derivatives": (bs.SoftMetric("map@2000").value_gradient_hessian, "SoftMetric.value_gradient_hessian", "map", 2000),
    "per query": (bs.SoftMetric("rbp@2999", noise="gumbel").per_query, "SoftMetric.per_query", "rbp", 2999),
    "softrank": (bs.SoftMetric("dcg", ranks="softrank").gradient, "SoftMetric.gradient", "dcg", N),
}


@pytest.mark.parametrize("name", REFUSED)
def test_hours_are_refused_with_n_and_k_and_the_remedy(name, labels_and_scores, seconds):
    call, caller, metric, k = REFUSED[name]
    seconds(0.01)
    labels, scores = labels_and_scores
    words = rf"{caller}: metric must have a cutoff.*{metric} of query 1, n = {N} documents x k = {k} ranks.*{metric}@10"
    with pytest.raises(ValueError, match=words) as caught:
        call(np.r_[1, labels], np.r_[0.0, scores], group=[1, N])
    assert ("ranks='exact'" in str(caught.value)) == (name == "softrank")


@pytest.mark.parametrize("ranks", ["exact", "softrank"])
def test_the_remedy_helps(ranks, labels_and_scores, seconds):
    seconds({"exact": 0.01, "softrank": 0.5}[ranks])
    labels, scores = labels_and_scores
    with pytest.raises(ValueError, match="ndcg@10"):
        bs.SoftMetric("ndcg@2000", ranks=ranks)(labels, scores, group=[N])
    assert 0 < bs.SoftMetric("ndcg@10", ranks=ranks)(labels, scores, group=[N]) < 1


@pytest.mark.parametrize("ranks", ["exact", "softrank"])
def test_documents_out_of_reach_cost_nothing(ranks, labels_and_scores, seconds):
    """The estimate without a look at the scores is no reason to refuse."""
    seconds(0.01)
    labels, scores = labels_and_scores
    with pytest.raises(ValueError, match="minutes"):
        bs.SoftMetric("ndcg@2000", ranks=ranks, sigma=1.0)(labels, scores, group=[N])
    soft = bs.SoftMetric("ndcg@2000", ranks=ranks, sigma=1e-5)
    assert soft(labels, scores, group=[N]) == pytest.approx(soft.hard(labels, scores, group=[N]), rel=1e-3)


def test_the_sum_of_many_queries_is_no_reason(labels_and_scores, seconds):
    seconds(0.01)
    labels, scores = labels_and_scores
    assert 0 < bs.SoftMetric("ndcg@60")(labels, scores, group=[100] * 30) < 1


@pytest.mark.parametrize("name", ["ndcg", "rbp", "mrr", "map", "precision"])
def test_whole_lists_are_not_refused(name, labels_and_scores, seconds):
    """By exponentials, linear in the documents."""
    seconds(0.01)
    labels, scores = labels_and_scores
    soft = bs.SoftMetric(name)
    value = soft(labels, scores, group=[N])
    seconds(600.0)
    assert value == pytest.approx(bs.SoftMetric(name, accuracy="high")(labels, scores, group=[N]), rel=1e-6)


@pytest.mark.parametrize("name", ["auc", "kendall", "pnr", "spearman"])
def test_pairs_are_never_refused(name, labels_and_scores, seconds):
    """Long queries go by a grid, linear in the documents."""
    seconds(1e-6)
    labels, scores = labels_and_scores
    assert np.isfinite(bs.SoftMetric(name)(labels, scores, group=[N]))


def test_it_is_refused_while_training(labels_and_scores, seconds):
    seconds(0.01)
    labels, scores = labels_and_scores
    data = lgb.Dataset(scores[:, None], labels, group=[N], params={"verbose": -1})
    params = {"objective": bl.objective("ndcg@2000"), "metric": "None", "verbose": -1, "num_threads": 1}
    with pytest.raises(ValueError, match=rf"objective: metric .*n = {N} documents.*ndcg@10"):
        lgb.train(params, data, 1)


# n, k (0: whole list), sigma -> minutes on one core by rows, measured
MEASURED = {
    (100_000, 0, 1.0): 0.16, (300_000, 0, 1.0): 1.5, (100_000, 1000, 1.0): 0.14, (100_000, 10, 1.0): 0.003,
    (1_000_000, 10, 1.0): 0.03, (1_000_000, 0, 1e-4): 0.2,
}  # fmt: skip


@pytest.mark.parametrize(("n", "k", "sigma"), MEASURED)
def test_what_takes_minutes_is_not_refused(n, k, sigma):
    assert MEASURED[n, k, sigma] < 2.0
    assert _estimate("ndcg", n, k, sigma, "exact") < costs.LIMIT_SECONDS


@pytest.mark.parametrize(
    ("n", "k", "ranks"), [(3_000_000, 0, "exact"), (500_000, 250_000, "exact"), (20_000, 0, "softrank")]
)
def test_what_takes_hours_is_refused(n, k, ranks):
    assert _estimate("ndcg", n, k, 1.0, ranks) > costs.LIMIT_SECONDS


def _estimate(name, n, k, sigma, ranks):
    scores = np.random.default_rng(0).normal(size=n)
    return costs._seconds(k or n, scores, True, PLAIN, "gaussian", sigma, ranks)


@pytest.mark.parametrize(
    ("smooth", "family", "taken", "refused"), [(False, PLAIN, 90_000, 120_000), (True, MARKED, 400_000, 600_000)]
)
def test_tables_and_average_precision_by_rows_are_refused_sooner(smooth, family, taken, refused):
    """Measured: nodes of a table grow by the root of the documents, and average precision carries twice as much."""
    for n, long in ((taken, False), (refused, True)):
        scores = np.random.default_rng(0).normal(size=n)
        assert (costs._seconds(n, scores, smooth, family, "gumbel", 1.0, "exact") > costs.LIMIT_SECONDS) is long


@pytest.mark.parametrize(
    ("metric", "n", "long"), [("ndcg", 2400, False), ("ndcg", 2600, True), ("ndcg@10", 9000, False)]
)
def test_soft_lambdas_of_all_ranks_are_refused_sooner(metric, n, long):
    """Beyond some 25 ranks what a pair needs leaves the cores' own caches: up to eight times as long for each."""
    objective, groups = reference_objective("softlambda", metric=metric), QueryGroups.from_sizes([n])
    with pytest.raises(ValueError, match="metric must have a smaller cutoff") if long else nullcontext():
        objective.prepare(np.arange(n) % 3, groups)


@pytest.mark.parametrize(("seconds_", "words"), [(601.0, "11 minutes"), (7199.0, "120 minutes"), (9000.0, "2.5 hours")])
def test_durations_are_spoken(seconds_, words):
    assert costs._spoken(seconds_) == words


def test_the_limit_is_the_ten_minutes_that_docstrings_promise():
    assert "more than ten minutes" in bs.SoftMetric.__doc__
    assert costs._spoken(costs.LIMIT_SECONDS) == "10 minutes"


def test_the_message_as_it_reads(labels_and_scores, seconds):
    seconds(0.01)
    labels, scores = labels_and_scores
    with pytest.raises(ValueError, match="limit") as caught:
        bs.SoftMetric("ndcg@2000")(labels, scores, group=[N])
    text = re.sub(r"\d+ minutes", "M minutes", str(caught.value))
    assert text == (
        "SoftMetric: metric must have a cutoff, or a smaller one, for a query this long: ndcg of query 0, n = 3000 "
        "documents x k = 2000 ranks, would take about M minutes on one core, and M minutes is the limit; take ndcg@10"
    )


@pytest.mark.parametrize(
    ("kind", "options", "text"),
    [
        ("lambdaloss", {}, "LambdaLossObjective.prepare: truncation_level must be smaller"),
        ("lambdarank", {"truncation_level": N}, "LambdaObjective.prepare: truncation_level must be smaller"),
        ("ranknet", {}, "LambdaObjective.prepare: ranknet goes through too many pairs"),
    ],
)
def test_pairs_that_take_too_long_are_refused(labels_and_scores, seconds, kind, options, text):
    (labels, scores), objective = labels_and_scores, reference_objective(kind, **options)
    groups = QueryGroups.from_sizes([N])
    objective.gradient_curvature(objective.prepare(labels, groups), scores)
    seconds(1e-3)
    with pytest.raises(ValueError, match=rf"^{text} for a query this long: query 0, n = 3000 documents, would take"):
        objective.prepare(labels, groups)


def test_pairs_too_far_apart_for_the_quick_way_are_refused_by_their_own_cost(labels_and_scores, seconds):
    (labels, scores), objective = labels_and_scores, reference_objective("ranknet")
    queries = objective.prepare(labels, QueryGroups.from_sizes([N]))
    seconds(0.01)
    objective.gradient_curvature(queries, scores)
    with pytest.raises(ValueError, match=r"^LambdaObjective\.prepare: ranknet goes through too many pairs for a query"):
        objective.gradient_curvature(queries, 1e3 * scores)
