"""A discount as a sum of exponentials: as good as it is asked to be, at every rank, or not at all."""

from __future__ import annotations

import numpy as np
import pytest

import boostsoft as bs
from boostsoft.kernels.workspace import MOST_TERMS, SEGMENT
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
    z, falls, weights, rates, _ = found[2 : 2 + 5 * MOST_TERMS].reshape(5, MOST_TERMS)
    assert not weights[n_terms:].any()
    np.testing.assert_allclose(z[:n_terms], np.exp(-rates[:n_terms]) * (weights[:n_terms] != 0))
    np.testing.assert_allclose(falls[:n_terms], -np.expm1(-rates[:n_terms]))
    assert (np.diff(rates[weights != 0]) > 0).all()  # those that die out first stand last, where the kernel drops them
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


def test_terms_that_die_out_are_no_error():
    """Of a caller who has NumPy raise at every underflow."""
    discount = DISCOUNTS["log2"](np.arange(1.0, 1026))
    with np.errstate(all="raise"):
        assert exponentials(discount, 3e-7) is not None  # a tolerance that nobody else asks for: tables are kept


def test_what_is_no_such_sum():
    falling = 1 / np.arange(1.0, 66)
    for discount in (
        np.linspace(1, 0.5, 65),
        np.append(np.ones(30), np.zeros(35)),
        np.append(1.0, np.zeros(64)),
        falling - falling[-1],
        np.repeat(falling, 2)[:65],
    ):
        assert exponentials(discount, 2e-5) is None


def test_what_is_constant_has_no_terms_and_what_nearly_is_some():
    """Ratios of r^-.001 differ by .0007: no exponential alone."""
    found = exponentials(np.ones(65), 2e-5)
    assert found[:2].tolist() == [0.0, 1.0]
    ranks = np.arange(1.0, 66)
    found = exponentials(ranks**-0.001, 2e-5)
    weights, rates = found[2 : 2 + 5 * MOST_TERMS].reshape(5, MOST_TERMS)[2:4]
    np.testing.assert_allclose(np.exp(-np.outer(ranks - 1, rates)) @ weights + found[1], ranks**-0.001, rtol=1e-6)


def test_a_discount_in_another_unit_has_as_many_terms():
    one, thousand = (exponentials(unit * DISCOUNTS["log2"](np.arange(1.0, 66)), 2e-5) for unit in (1.0, 1000.0))
    assert thousand is not None
    assert thousand[0] == one[0]


def test_a_table_for_each_power_of_two_that_is_needed():
    discount = DISCOUNTS["log2"](np.arange(1.0, 130))
    found = tables_of(discount, np.array([33, 64, 65, 100]), 2e-5)
    assert sorted(found) == [6, 7]
    assert np.array_equal(found[6], exponentials(discount[:65], 2e-5))
    assert tables_of(np.linspace(1, 0.5, 129), np.array([100]), 2e-5) == {}


METRICS = {
    "ndcg": {},
    "dcg": {"discount": "reciprocal"},
    "rbp": {"p": 0.95},
    "mrr": {"relevant_from": 3},
    "err": {"max_label": 5},  # what every document lets through is well above 0
    "pfound": {"p_rel": (0.0, 0.01, 0.1, 0.4)},
    "map": {},
}


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
@pytest.mark.parametrize("name", METRICS)
def test_whole_lists_are_those_by_rows(noise, name, monkeypatch):
    """Of several powers of two: in clusters, with ties, out of reach, and so long a cluster that its top is certain."""
    rng = np.random.default_rng(0)
    sizes = [70, 33, 128, 300, 40, 9]
    labels, scores = rng.choice(4, size=sum(sizes), p=[0.8, 0.1, 0.06, 0.04]), rng.normal(size=sum(sizes))
    labels[::8] = 3
    scores[70:103] = np.round(scores[70:103])
    scores[103:231] += 20.0 * rng.integers(0, 4, 128)
    scores[231:531] *= 20.0
    queries = prepare(bs.Metric(name, **METRICS[name]), "test", labels, bs.QueryGroups.from_sizes(sizes))
    for accuracy, value_error, error in (("default", 2e-8, 1e-6), ("fast", 1e-6, 1e-4)):
        got = expectation(queries, scores, noise, 0.4, accuracy, derive=2)
        wanted = expectation(queries, scores, noise, 0.4, "high", derive=2)
        np.testing.assert_allclose(got.values, wanted.values, rtol=value_error)
        alone = expectation(queries, scores, noise, 0.4, accuracy, derive=0)
        np.testing.assert_allclose(alone.values, got.values, rtol=1e-14)
        for query in np.split(np.arange(scores.size), np.cumsum(sizes)[:-1]):
            for part, more in (("gradient", 1), ("push", 1), ("hessian", 10)):
                exact, found = getattr(wanted, part)[query], getattr(got, part)[query]
                np.testing.assert_allclose(found, exact, rtol=0, atol=more * error * np.abs(exact).max())
    by_exponentials = got.gradient
    monkeypatch.setattr(expectation_module, "_terms", lambda *_: {})
    queries.plans.clear()
    by_rows = expectation(queries, scores, noise, 0.4, "fast", derive=2).gradient
    for query in np.split(np.arange(scores.size), np.cumsum(sizes)[:-1]):  # it was another way
        cascade = name in ("mrr", "err", "pfound", "map")
        assert np.array_equal(by_rows[query], by_exponentials[query]) == (query.size == 9 and not cascade)


@pytest.mark.parametrize("name", ["precision", "recall", "cg"])
def test_a_constant_discount_is_worth_the_same_in_any_order(name):
    labels, scores = np.arange(2000) % 3, np.sin(np.arange(2000.0))
    value, gradient, hessian = bs.SoftMetric(name, sigma=0.3).value_gradient_hessian(labels, scores, group=[2000])
    assert value == pytest.approx(bs.Metric(name)(labels, scores, group=[2000]), rel=1e-9)
    assert np.abs(gradient).max() <= 1e-9 * value
    assert np.abs(hessian).max() <= 1e-9 * value


@pytest.mark.parametrize("name", ["ndcg", "err", "map"])
def test_lists_of_several_segments(name):
    """Products of which not all are kept, over documents of which none is certain, and over some that are."""
    rng = np.random.default_rng(1)
    assert 2 * SEGMENT < 2500
    labels = rng.choice(4, size=5000, p=[0.9, 0.05, 0.03, 0.02])
    scores = np.r_[rng.normal(size=2500), rng.normal(0.0, 10.0, 2500)]
    queries = prepare(bs.Metric(name, **METRICS[name]), "test", labels, bs.QueryGroups.from_sizes([2500, 2500]))
    got = expectation(queries, scores, "gaussian", 1.0, "default", derive=2)
    wanted = expectation(queries, scores, "gaussian", 1.0, "high", derive=2)
    np.testing.assert_allclose(got.values, wanted.values, rtol=1e-7)
    for query in (slice(2500), slice(2500, 5000)):
        for part, error in (("gradient", 1e-6), ("push", 1e-6), ("hessian", 1e-5)):
            exact, found = getattr(wanted, part)[query], getattr(got, part)[query]
            np.testing.assert_allclose(found, exact, rtol=0, atol=error * np.abs(exact).max())


@pytest.mark.parametrize("name", ["mrr", "mrr@10", "err", "err@10"])
def test_what_nobody_reaches_changes_nothing(name):
    """Documents far below a thousand that answer for certain, or nearly: a cascade ends where nothing passes."""
    rng = np.random.default_rng(2)
    labels = np.r_[np.full(1000, 4), rng.integers(0, 5, 500)]
    scores = np.r_[rng.normal(size=1000), np.arange(-600.0, -100)]
    soft, top = bs.SoftMetric(name), (labels[:1000], scores[:1000])
    assert soft(labels, scores, group=[1500]) == pytest.approx(soft(*top, group=[1000]), rel=1e-6)
    gradient = soft.gradient(labels, scores, group=[1500])
    np.testing.assert_allclose(gradient[:1000], soft.gradient(*top, group=[1000]), atol=1e-9)
    assert not gradient[1000:].any()


@pytest.mark.parametrize("name", ["dcg", "map@5"])
def test_queries_that_are_prepared_once_serve_every_accuracy(name):
    """What is planned for one (engines, exponentials to its digits) is not what another needs."""
    rng = np.random.default_rng(0)
    labels, scores, groups = rng.integers(0, 3, 94), rng.normal(size=94), bs.QueryGroups.from_sizes([64, 30])
    queries = prepare(bs.Metric(name), "test", labels, groups)
    for accuracy in ("fast", "default", "high", "fast"):
        fresh = prepare(bs.Metric(name), "test", labels, groups)
        found, wanted = (expectation(given, scores, "gaussian", 0.3, accuracy, derive=1) for given in (queries, fresh))
        np.testing.assert_array_equal(found.values, wanted.values)
        np.testing.assert_array_equal(found.gradient, wanted.gradient)
