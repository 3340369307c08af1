"""Soft metrics where scores are tied: which of the documents comes first in the data must not be seen."""

from __future__ import annotations

import numpy as np
import pytest

from boostsoft import SoftMetric

NOISES = ("gaussian", "gumbel", "logistic")
METRICS = ("ndcg@10", "ndcg@1", "ndcg", "precision@5", "map", "err@10", "mrr@10")


def lists(n):
    """All scores equal, few values of them, and all nearly equal; with grades."""
    rng = np.random.default_rng(n)
    y = rng.integers(0, 4, n)
    yield y, np.zeros(n)
    yield y, rng.integers(0, 3, n) * 0.7
    yield y, 1e-6 * rng.normal(size=n)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("noise", NOISES)
def test_the_order_of_tied_documents_does_not_matter(noise, name):
    metric, rng = SoftMetric(name, noise=noise), np.random.default_rng(0)
    for n in (10, 40):
        for y, scores in lists(n):
            orders = [rng.permutation(n) for _ in range(5)]
            values = [metric(y[order], scores[order], group=[n]) for order in orders]
            np.testing.assert_allclose(values, values[0], rtol=1e-13)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("noise", NOISES)
def test_the_gradient_at_ties_is_what_differences_say(noise, name):
    metric, step = SoftMetric(name, noise=noise), 1e-5
    for y, scores in lists(20):
        found, size = metric.gradient(y, scores, group=[20]), len(y)
        for document in range(4):
            moved = step * (np.arange(size) == document)
            up, down = (metric(y, scores + sign * moved, group=[size]) for sign in (1, -1))
            assert (up - down) / (2 * step) == pytest.approx(found[document], abs=2e-6 * np.abs(found).max())


@pytest.mark.parametrize("name", ["ndcg@10", "precision@5"])
@pytest.mark.parametrize("noise", NOISES)
def test_tied_documents_of_one_label_have_one_gradient_and_one_curvature(noise, name):
    """What the nodes of the fast rule leave out is taken from all alike, whichever rank each has in the data."""
    metric = SoftMetric(name, noise=noise, accuracy="fast")
    _, *found = metric.value_gradient_hessian(np.r_[np.ones(9), 0], np.r_[np.zeros(9), -3.0], group=[10])
    for derivative in found:
        np.testing.assert_allclose(derivative[:9], derivative[0], rtol=1e-11)
