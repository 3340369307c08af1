"""A discount as a sum of exponentials: as good as it is asked to be, at every rank, or not at all."""

from __future__ import annotations

import numpy as np
import pytest

import boostsoft as bs
from boostsoft.kernels.workspace import MOST_TERMS
from boostsoft.metrics import expectation as expectation_module
from boostsoft.metrics.expectation import expectation
from boostsoft.metrics.exponentials import exponentials, tables_of
from boostsoft.metrics.prepared import prepare

DISCOUNTS = {
    "log2": lambda r: 1 / np.log2(1 + r),
    "reciprocal": lambda r: 1 / r,
    "persistence": lambda r: 0.2 * 0.8 ** (r - 1),
}


def table(name, n, tol):
    """Weights and rates of the terms, the constant first, which has the rate 0."""
    found = exponentials(DISCOUNTS[name](np.arange(1.0, n + 2)), tol)
    assert found is not None
    n_terms, constant = int(found[0]), found[1]
    z, falls, weights, rates, _ = found[2:].reshape(5, MOST_TERMS)
    assert not weights[n_terms:].any()
    np.testing.assert_allclose(z[:n_terms], np.exp(-rates[:n_terms]) * (weights[:n_terms] != 0))
    np.testing.assert_allclose(falls[:n_terms], -np.expm1(-rates[:n_terms]))
    return n_terms, np.append(constant, weights[:n_terms]), np.append(0.0, rates[:n_terms])


@pytest.mark.parametrize("tol", [2e-5, 2e-7])
@pytest.mark.parametrize("n", [64, 1024, 32_768])
@pytest.mark.parametrize("name", DISCOUNTS)
def test_discounts_and_their_falls_at_every_rank(name, n, tol):
    n_terms, weights, rates = table(name, n, tol)
    ranks = np.arange(1.0, min(n, 900 if name == "persistence" else n) + 1)
    wanted, falls = (DISCOUNTS[name](ranks), DISCOUNTS[name](ranks) - DISCOUNTS[name](ranks + 1))
    terms = np.exp(-np.outer(ranks - 1, rates))
    np.testing.assert_allclose(terms @ weights, wanted, rtol=1.1 * tol)
    np.testing.assert_allclose(terms @ (weights * -np.expm1(-rates)), falls, rtol=1.1 * tol)
    assert n_terms <= (2 if name == "persistence" else 3 + 2.6 * np.log(n))
    assert np.abs(weights).sum() < 2  # hardly anything cancels


def test_what_is_no_such_sum():
    for discount in (np.ones(65), np.linspace(1, 0.5, 65), np.append(np.ones(30), np.zeros(35))):
        assert exponentials(discount, 2e-5) is None


def test_a_table_for_each_power_of_two_that_is_needed():
    discount = DISCOUNTS["log2"](np.arange(1.0, 130))
    found = tables_of(discount, np.array([33, 64, 65, 100]), 2e-5)
    assert sorted(found) == [6, 7]
    assert np.array_equal(found[6], exponentials(discount[:65], 2e-5))
    assert tables_of(np.ones(129), np.array([100]), 2e-5) == {}


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
@pytest.mark.parametrize(("name", "options"), [("ndcg", {}), ("dcg", {"discount": "reciprocal"}), ("rbp", {"p": 0.95})])
def test_whole_lists_are_those_by_rows(noise, name, options, monkeypatch):
    """Lists of several powers of two, one whose documents lie in clusters, ties, documents that are out of reach."""
    rng = np.random.default_rng(0)
    sizes = [70, 33, 128, 300, 40]
    labels, scores = rng.choice(4, size=sum(sizes)), rng.normal(size=sum(sizes))
    scores[70:103] = np.round(scores[70:103])
    scores[103:231] += 20.0 * rng.integers(0, 4, 128)
    queries = prepare(bs.Metric(name, **options), "test", labels, bs.QueryGroups.from_sizes(sizes))
    for accuracy, value_error, error in (("default", 1e-8, 1e-6), ("fast", 1e-6, 1e-4)):
        got = expectation(queries, scores, noise, 0.4, accuracy, derive=2)
        wanted = expectation(queries, scores, noise, 0.4, "high", derive=2)
        np.testing.assert_allclose(got.values, wanted.values, rtol=value_error)
        for query in np.split(np.arange(scores.size), np.cumsum(sizes)[:-1]):
            largest = np.abs(wanted.gradient[query]).max()
            np.testing.assert_allclose(got.gradient[query], wanted.gradient[query], rtol=0, atol=error * largest)
            largest = np.abs(wanted.hessian[query]).max()
            np.testing.assert_allclose(got.hessian[query], wanted.hessian[query], rtol=0, atol=10 * error * largest)
    by_exponentials = got.gradient
    monkeypatch.setattr(expectation_module, "_terms", lambda *_: {})
    by_rows = expectation(queries, scores, noise, 0.4, "fast", derive=2).gradient
    assert not np.array_equal(by_rows, by_exponentials)  # it was another way
