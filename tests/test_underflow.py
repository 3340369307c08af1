"""Numbers below the normal ones are 0 within the engine, and nowhere else."""

from __future__ import annotations

import platform

import numpy as np
import pytest

from boostsoft import Metric, SoftMetric
from boostsoft.kernels.compile import kernel
from boostsoft.kernels.threads import at_most
from boostsoft.kernels.underflow import as_before, flush_underflow

SMALL, FRACTION = np.array([1e-308]), np.array([0.1])


@kernel
def products(x, y, wanted, found):
    """Before, while and after underflow is flushed, where that is wanted."""
    for k in range(0, 6, 3):
        found[k] = x[0] * y[0]
        before = flush_underflow(wanted[k // 3])
        found[k + 1] = x[0] * y[0]
        as_before(before)
        found[k + 2] = x[0] * y[0]


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the switch of x86")
def test_it_is_flushed_from_here_to_there():
    found = np.full(6, np.nan)
    products(SMALL, FRACTION, np.array([True, False]), found)
    assert (found != 0.0).tolist() == [True, False, True, True, True, True]


@pytest.mark.parametrize("noise", ["gumbel", "gaussian"])
def test_the_engine_leaves_its_threads_as_they_were(noise):
    rng = np.random.default_rng(0)
    with at_most(1):  # this one
        SoftMetric("ndcg@10", noise=noise).gradient(rng.integers(0, 3, 20), rng.normal(size=20), group=[12, 8])
    assert (SMALL * FRACTION)[0] == SMALL[0] / 10.0 > 0.0


@pytest.mark.parametrize(("metric", "options"), [("kendall", {"noise": "gumbel"}), ("ndcg@5", {"ranks": "softrank"})])
def test_kernels_beside_the_engine_leave_their_threads_as_they_were(metric, options):
    rng = np.random.default_rng(0)
    with at_most(1):  # this one
        SoftMetric(metric, **options).gradient(rng.integers(0, 3, 20), rng.normal(size=20), group=[12, 8])
    assert (SMALL * FRACTION)[0] == SMALL[0] / 10.0 > 0.0


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the switch of x86")
def test_softrank_does_not_count_with_chances_below_the_normal_numbers():
    """That of a document among n tied ones to be the first is 2^-(n - 1) there, where events are independent."""
    soft = SoftMetric("cg@1", ranks="softrank")
    normal, below = (soft([1] * n, [0.0] * n, group=[n]) for n in (1000, 1060))
    np.testing.assert_allclose(normal, 1000 * 2.0**-999, rtol=1e-12)
    assert below == 0.0


@pytest.mark.parametrize("ranks", ["exact", "softrank"])
@pytest.mark.parametrize("noise", ["gumbel", "gaussian"])
@pytest.mark.parametrize("tiny", ["gains", "discounts"])
def test_gains_and_discounts_that_small_lose_nothing(tiny, noise, ranks):
    rng = np.random.default_rng(0)
    labels, scores, small = rng.integers(0, 3, 40), rng.normal(size=40), 2.0**-1015
    other = np.repeat([1.0, small], 20) if tiny == "gains" else 1.0  # of the second of two queries
    unit = small if tiny == "discounts" else 1.0
    plain, shrunk = (
        SoftMetric(Metric("dcg@2", gain="linear", discount=weights), noise=noise, ranks=ranks).gradient(
            y, scores, group=[20, 20]
        )
        for weights, y in (([1.0, 0.5], labels), ([unit, 0.5 * unit], labels * other))
    )
    np.testing.assert_allclose(shrunk, plain * other * unit, rtol=1e-6, atol=1e-10 * small)
