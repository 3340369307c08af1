"""Cascades and average precision with a cutoff by odds, as by rows; what few relevant documents may cost nobody."""

from __future__ import annotations

import numpy as np
import pytest

import boostsoft as bs
from boostsoft.kernels.workspace import ABSORBED, COUNTED, ROWS
from boostsoft.metrics import expectation as expectation_module
from boostsoft.metrics.expectation import expectation
from boostsoft.metrics.prepared import prepare

METRICS = {
    "mrr": {"relevant_from": 2},
    "err": {"max_label": 4},
    "pfound": {"p_rel": (0.0, 0.01, 0.1, 0.4)},
    "map": {"relevant_from": 2},
}


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
@pytest.mark.parametrize("name", METRICS)
def test_odds_give_what_rows_give(noise, name, monkeypatch):
    """In one crowd, with ties, in clusters whose tops absorb a part, out of reach, and with documents far below."""
    rng = np.random.default_rng(0)
    sizes = [60, 33, 128, 300, 5, 400]
    labels, scores = rng.choice(4, size=sum(sizes), p=[0.7, 0.15, 0.1, 0.05]), rng.normal(size=sum(sizes))
    scores[60:93] = np.round(scores[60:93])
    scores[93:221] += 20.0 * rng.integers(0, 16, 128)
    scores[221:521] *= 20.0
    scores[526:] -= 5.0 * (np.arange(400) > 20)
    spots = np.split(np.arange(scores.size), np.cumsum(sizes)[:-1])
    for cutoff in (1, 3, 10, 100):
        metric = bs.Metric(f"{name}@{cutoff}", **METRICS[name])
        queries = prepare(metric, "test", labels, bs.QueryGroups.from_sizes(sizes))
        for accuracy, value_error, error in (("default", 1e-7, 1e-6), ("fast", 1e-5, 1e-4)):
            got = expectation(queries, scores, noise, 0.4, accuracy, derive=2)
            wanted = expectation(queries, scores, noise, 0.4, "high", derive=2)
            np.testing.assert_allclose(got.values, wanted.values, rtol=value_error, atol=1e-12)
            alone = expectation(queries, scores, noise, 0.4, accuracy, derive=0)
            np.testing.assert_allclose(alone.values, got.values, rtol=1e-12, atol=1e-15)
            for part, more in (("gradient", 1), ("push", 1), ("hessian", 10)):
                for query in spots:
                    exact, found = getattr(wanted, part)[query], getattr(got, part)[query]
                    np.testing.assert_allclose(found, exact, rtol=0, atol=more * error * max(np.abs(exact).max(), 1e-9))
    monkeypatch.setattr(expectation_module, "_engines", lambda queries, *_: np.full(len(sizes), ROWS, np.int8))
    queries.plans.clear()
    by_rows = expectation(queries, scores, noise, 0.4, "fast", derive=1).gradient
    assert not np.array_equal(by_rows[spots[5]], got.gradient[spots[5]])  # it was another way


@pytest.mark.parametrize(("metric", "engine"), [("mrr", ABSORBED), ("map", COUNTED)])
def test_which_queries_go_by_odds(metric, engine):
    """Not those to ten digits, nor long whole lists, nor so deep ones that odds would cost more."""
    sizes = [5, 120, 300]
    labels, groups = np.ones(sum(sizes)), bs.QueryGroups.from_sizes(sizes)
    for cutoff, by_odds in (("@10", [1, 2]), ("@2", [0, 1, 2]), ("@100", [2]), ("@200", []), ("", [])):
        queries = prepare(bs.Metric(metric + cutoff), "test", labels, groups)
        for tol, wanted in ((1e-6, by_odds), (1e-10, [])):
            engines = expectation_module._engines(queries, expectation_module._terms(queries, tol), tol)
            assert np.flatnonzero(engines == engine).tolist() == wanted


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
@pytest.mark.parametrize("name", ["ndcg@1", "ndcg@10", "mrr@10", "err@3", "map@10", "ndcg"])
def test_one_relevant_document_anywhere(noise, name):
    """Behind the cutoff all of it depends on whether that one comes up: its gradient is as exact as any."""
    rng = np.random.default_rng(3)
    n = 200
    groups, floor = bs.QueryGroups.from_sizes([n]), 1e-9
    scores = -np.sort(-rng.normal(size=n))
    for place in (0, 1, 9, 10, 15, 40, 120, 199):
        labels = np.zeros(n)
        labels[place] = 1.0
        queries = prepare(bs.Metric(name), "test", labels, groups)
        natural = np.ptp(queries.gains) * queries.discount[0]
        for sigma in (0.02, 0.1, 0.3, 1.0):
            wanted = expectation(queries, scores, noise, sigma, "high", derive=1)
            for accuracy, bound in (("default", 1e-6), ("fast", 1e-4)):
                got = expectation(queries, scores, noise, sigma, accuracy, derive=1)
                assert got.values[0] == pytest.approx(wanted.values[0], rel=bound, abs=bound * 1e-6 * natural)
                largest = max(np.abs(wanted.gradient).max(), floor * natural)
                assert np.abs(got.gradient - wanted.gradient).max() <= bound * largest


def test_what_cannot_come_before_the_cutoff_is_left_out():
    """Equal gains above, all others out of reach behind: the order of the former is worth nothing, and known."""
    scores = np.r_[np.linspace(0.0, -9.0, 30), np.linspace(-9.5, -40.0, 60)]
    labels = np.r_[np.ones(30), np.tile([0.0, 1.0], 30)]
    soft = bs.SoftMetric("ndcg@3", sigma=0.5)
    value, gradient, hessian = soft.value_gradient_hessian(labels, scores, group=[90])
    assert value == pytest.approx(1.0, rel=1e-12)
    assert not gradient.any()
    assert not hessian.any()
    near = bs.SoftMetric("ndcg@29", sigma=0.5)
    assert near.gradient(labels, scores, group=[90]).any()
