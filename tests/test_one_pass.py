"""Kendall's tau and RankNet by one pass over the pairs, and arrays that kernels find something in."""

from __future__ import annotations

import numpy as np
import pytest

import boostsoft.metrics.expectation
from boostsoft import Metric, QueryGroups, SoftMetric
from boostsoft.metrics.prepared import PreparedQueries
from boostsoft.objectives import SoftObjective, reference_objective

RNG = np.random.default_rng(8)
SIZES = [7, 1, 40, 0, 6, 2, 9, 0]
GROUPS = QueryGroups.from_sizes(SIZES)
Y, S = RNG.integers(0, 3, GROUPS.n_docs), RNG.normal(size=GROUPS.n_docs)
S[48:51] += 3000.0  # exponentials of these scores are no numbers, and some are near one another
BINARY = (Y > 1).astype(float)
WEIGHTS = RNG.uniform(0.5, 2.0, len(SIZES))


def in_parts(y, mixed, scores, rows):
    """Metrics and losses, each by an objective of its own."""
    total = np.zeros((2, scores.size))
    for metric, weight in ((mixed.metric, 1.0), *mixed.mix):
        alone = SoftObjective(
            metric, noise=mixed.noise, sigma=mixed.sigma, hessian=mixed.hessian, query_weight=mixed.query_weight
        )
        total += weight * np.array(alone.gradient_curvature(alone.prepare(y, GROUPS, part=True), scores, rows))
    share = np.ones(scores.size) if rows is None else rows.copy()
    if mixed.query_weight is not None:
        share *= GROUPS.per_document(np.array(mixed.query_weight))
    wanted = total.copy()
    for name, weight in mixed.losses:
        loss = reference_objective(name, **({"gamma": "expected"} if name == "xendcg" else {}))
        slopes, bends = loss.gradient_curvature(loss.prepare(y, GROUPS), scores / mixed.sigma, share)
        factor = weight * np.sqrt((total[0] ** 2 / share).sum() / (slopes**2 / share).sum())
        wanted += factor * np.array([slopes, bends / mixed.sigma])
    return wanted


@pytest.mark.parametrize("rows", [None, RNG.uniform(0.5, 2.0, GROUPS.n_docs)])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("sigma", [1.0, 0.3])
@pytest.mark.parametrize("scores", [S, 2.0 * Y + 0.1 * RNG.normal(size=S.size)])  # in order the exact curvature counts
@pytest.mark.parametrize("hessian", ["flow", "constant", "exact"])
def test_tau_beside_ranknet_is_the_sum_of_both(hessian, scores, sigma, weights, rows):
    objective = SoftObjective(
        "ndcg@3", mix={"map": 0.5, "kendall": 0.3}, losses={"xendcg": 0.5, "ranknet": 0.7}, noise="gumbel", sigma=sigma,
        hessian=hessian, query_weight=weights,
    )  # fmt: skip
    found = objective.gradient_curvature(objective.prepare(Y, GROUPS), scores, rows)
    np.testing.assert_allclose(found, in_parts(Y, objective, scores, rows), rtol=1e-9, atol=1e-11)


@pytest.fixture
def no_other_pass(monkeypatch):
    def refuse(*_):
        raise AssertionError("a second pass over the pairs")

    monkeypatch.setattr(boostsoft.metrics.expectation, "soft_level_pairs", refuse)


@pytest.mark.usefixtures("no_other_pass")
@pytest.mark.parametrize(
    ("metric", "mix", "labels"), [("ndcg@3", {"kendall": 0.3}, Y), ("kendall", None, Y), ("auc", None, BINARY)]
)
def test_a_metric_of_the_same_pairs_takes_no_pass_of_its_own(metric, mix, labels):
    objective = SoftObjective(metric, mix=mix, losses={"ranknet": 0.7}, noise="gumbel")
    queries = objective.prepare(labels, GROUPS)
    found = objective.gradient_curvature(queries, S)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(objective.gradient_curvature(queries, S), found)


@pytest.mark.usefixtures("no_other_pass")
@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("kendall", {"noise": "gaussian"}),
        ("kendall", {"losses": {"xendcg": 0.7}}),
        (Metric("auc", pooled=True), {}),  # counts pairs across queries
        ("spearman", {}),  # weighs them
        ("auc", {}),  # of two classes where there are three labels
        ("pnr", {}),  # a quotient
    ],
)
def test_metrics_of_other_pairs_do(metric, options):
    objective = SoftObjective("ndcg@3", mix={metric: 0.3}, **{"noise": "gumbel", "losses": {"ranknet": 0.7}, **options})
    with pytest.raises(AssertionError, match="a second pass"):
        objective.gradient_curvature(objective.prepare(Y, GROUPS), S)


# documents that come by falling label have the places of both orders alike
FALLING = np.concatenate([-np.sort(-Y[GROUPS.offsets[q] : GROUPS.offsets[q + 1]]) for q in range(len(SIZES))])


@pytest.mark.parametrize("labels", [Y, FALLING])
@pytest.mark.parametrize("metric", [Metric("auc", pooled=True), "spearman", "auc", "pnr"])
def test_and_are_the_sum_too(metric, labels):
    near = np.where(np.abs(S) > 5.0, 0.0, S)
    objective = SoftObjective("ndcg@3", mix={metric: 0.3}, losses={"ranknet": 0.7}, noise="gumbel")
    found = objective.gradient_curvature(objective.prepare(labels, GROUPS), near)
    np.testing.assert_allclose(found, in_parts(labels, objective, near, None), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("sizes", [[0, 6], [6, 0], [0, 0, 6, 0], [6]])
@pytest.mark.parametrize("far", [1.0, 700.0])
def test_a_pooled_metric_of_one_query_among_empty_ones_has_a_pass_of_its_own(sizes, far):
    """Its one query is another one than RankNet's, and the kernels would look for it where there is nothing."""
    labels, scores = np.array([1.0, 0, 1, 0, 0, 1]), far * np.arange(6.0)[::-1]
    pooled, groups = Metric("auc", pooled=True), QueryGroups.from_sizes(sizes)
    both = SoftObjective("ndcg@3", mix={pooled: 0.5}, losses={"ranknet": 1.0}, noise="gumbel")
    found = both.gradient_curvature(both.prepare(labels, groups), scores)
    bare = SoftObjective("ndcg@3", mix={pooled: 0.5}, noise="gumbel")
    gradient, curvature = bare.gradient_curvature(bare.prepare(labels, groups), scores)
    loss = reference_objective("ranknet")
    slopes, bends = loss.gradient_curvature(loss.prepare(labels, groups), scores)
    factor = np.linalg.norm(gradient) / np.linalg.norm(slopes)
    np.testing.assert_allclose(found, [gradient + factor * slopes, curvature + factor * bends], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("loss", ["ranknet", "xendcg", "softmax", "listnet"])
def test_a_sigma_far_below_the_scores_leaves_losses_finite(loss):
    objective = SoftObjective("ndcg@3", losses={loss: 1.0}, sigma=1e-300)
    with np.errstate(all="raise", under="ignore"):
        found = objective.gradient_curvature(objective.prepare(Y, GROUPS), 1e150 * S)
    assert np.isfinite(found).all()


def everything(name):
    if name in ("lambdarank", "ranknet", "lambdaloss", "softlambda", "xendcg", "softmax", "listnet", "queryrmse"):
        objective = reference_objective(name, **({"gamma": "expected"} if name == "xendcg" else {}))
        return np.array(objective.gradient_curvature(objective.prepare(Y, GROUPS), S))
    if name == "softrank":
        return np.array(SoftMetric("ndcg@3", ranks="softrank").value_gradient_hessian(Y, S, group=SIZES)[1:])
    if name == "sampled":
        return SoftMetric("map", ranks="sampled", n_samples=20, seed=0).gradient(Y, S, group=SIZES)
    noise = "gaussian" if name in ("map", "kendall") else "gumbel"
    _, *derivatives = SoftMetric(name, noise=noise).value_gradient_hessian(Y, S, group=SIZES)
    objective = SoftObjective(name, noise=noise, mix={"kendall": 0.3}, losses={"ranknet": 1.0, "softmax": 1.0})
    found = objective.gradient_curvature(objective.prepare(Y, GROUPS), S)
    return np.array([*derivatives, SoftMetric(name, noise=noise).gradient(Y, S, group=SIZES), *found])


@pytest.mark.parametrize(
    "name",
    [
        "ndcg@3", "ndcg", "mrr", "err", "map", "auc", "kendall", "spearman", "lambdarank", "ranknet", "lambdaloss",
        "softlambda", "xendcg", "softmax", "listnet", "queryrmse", "softrank", "sampled",
    ],
)  # fmt: skip
def test_kernels_write_every_document(name, monkeypatch):
    """Whatever stands in the arrays that they are given, as what an iteration before has left."""
    wanted = everything(name)
    monkeypatch.setattr(PreparedQueries, "array", lambda queries: np.full(queries.members.n_docs, np.nan))
    np.testing.assert_array_equal(everything(name), wanted)


def test_what_is_made_once_is_of_one_objective():
    """Labels that one has prepared serve another of its kind."""
    queries = reference_objective("listnet").prepare(Y, GROUPS)
    for temperature in (1.0, 3.0, 1.0):
        objective = reference_objective("listnet", temperature=temperature)
        found = objective.gradient_curvature(queries, S)
        np.testing.assert_array_equal(found, objective.gradient_curvature(objective.prepare(Y, GROUPS), S))
