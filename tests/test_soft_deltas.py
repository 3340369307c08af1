"""LambdaRank with expected deltas: the mean over all orders, its accuracy, its limits and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from boostsoft import QueryGroups
from boostsoft.kernels.expected import ACCURACY
from boostsoft.kernels.noise import LAWS
from boostsoft.kernels.soft_deltas import discount_differences
from boostsoft.metrics import costs
from boostsoft.objectives import LambdaObjective, SoftLambdaObjective

from . import oracle
from .test_reference_objectives import alone, query


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
@pytest.mark.parametrize(("metric", "k"), [("ndcg", 3), ("ndcg", None), ("dcg", 1), ("precision", 2), ("rbp", None)])
def test_softlambda_averages_the_deltas_over_all_orders(noise, metric, k):
    labels = np.array([0, 3, 1, 0, 2])
    spec = metric if k is None else f"{metric}@{k}"
    for scores in (np.array([0.3, -0.4, 0.3, 1.1, 0.0]), np.zeros(5), np.array([0.0, 0.1, 4.0, 40.0, 40.2])):
        objective = SoftLambdaObjective(spec, noise=noise, sigma=0.7, sigmoid=0.8, accuracy="high")
        found = alone(objective, labels, scores)
        direction, curvature = oracle.softlambda(metric, labels, scores, noise, 0.7, k, 0.8)
        wanted = direction, np.maximum(curvature, 1e-12)
        for ours, theirs in zip(found, wanted, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9 * np.abs(theirs).max())


@pytest.mark.parametrize("noise", LAWS)
@pytest.mark.parametrize("spread", [0.01, 1.0, 5.0, 50.0])
def test_expected_discount_differences_are_as_accurate_as_they_say(noise, spread):
    rng = np.random.default_rng(11)
    n, discount = 90, 1.0 / np.log2(np.arange(2.0, 93.0))
    scores, gains = spread * rng.normal(size=n), rng.permutation(n).astype(float)
    for ranks in (1, 10, n):
        found = {}
        for accuracy, (step, tol) in ACCURACY.items():
            apart = np.zeros(n * n)
            expected = discount_differences(LAWS[noise], scores, gains, ranks, True, discount, 1.0, step, tol, apart)
            found[accuracy] = np.concatenate([apart, expected])
        assert expected.sum() == pytest.approx(discount[:ranks].sum(), rel=1e-4)
        for accuracy, tolerance in (("fast", 1e-4), ("default", 1e-6)):
            np.testing.assert_allclose(found[accuracy], found["high"], rtol=0, atol=tolerance)


def test_softlambda_becomes_lambdarank_without_noise():
    labels, scores = query(9, 12)
    scores = np.linspace(-1.0, 1.0, 12)[np.argsort(scores, kind="stable")]
    for norm in (True, False):
        soft = alone(SoftLambdaObjective("ndcg", sigma=1e-3, norm=norm), labels, scores)
        hard = alone(LambdaObjective(truncation_level=12, norm=norm), labels, scores)
        for ours, theirs in zip(soft, hard, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4 * np.abs(theirs).max())


def test_softlambda_is_the_mean_over_draws_in_a_long_list():
    rng = np.random.default_rng(12)
    n, k, draws = 40, 8, 4000
    labels, scores = rng.integers(0, 2, n), rng.normal(size=n)
    discount = np.where(np.arange(n) < k, 1 / np.log2(np.arange(n) + 2), 0.0)
    mean = np.zeros((n, n))
    for noise in rng.normal(size=(draws, n)):
        worth = discount[np.argsort(np.argsort(-(scores + noise)))]
        mean += np.abs(worth[:, None] - worth[None, :]) / draws
    p = 1 / (1 + np.exp(scores[:, None] - scores[None, :]))
    pulls = np.where(labels[:, None] > labels[None, :], p * mean, 0.0)
    found, _ = alone(SoftLambdaObjective(f"dcg@{k}"), labels, scores)
    np.testing.assert_allclose(found, pulls.sum(axis=1) - pulls.sum(axis=0), atol=0.03 * np.abs(found).max())


def test_queries_too_long_for_all_their_pairs_are_refused(monkeypatch):
    labels, groups = np.arange(10_003) % 2, QueryGroups.from_sizes([2, 10_001])
    with pytest.raises(ValueError, match=r"a query must have at most 10000 documents, .*; got 10001 for query 1"):
        SoftLambdaObjective().prepare(labels, groups)
    SoftLambdaObjective().prepare(labels[1:], QueryGroups.from_sizes([2, 10_000]))
    monkeypatch.setattr(costs, "LIMIT_SECONDS", 1e-3)
    with pytest.raises(ValueError, match=r"metric must have a smaller cutoff .*query 1, n = 90 .*take ndcg@10"):
        SoftLambdaObjective("ndcg").prepare(labels[:92], QueryGroups.from_sizes([2, 90]))
