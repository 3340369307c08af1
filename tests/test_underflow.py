"""Numbers below the normal ones are 0 within the engine, and nowhere else."""

from __future__ import annotations

import platform

import numpy as np
import pytest

from boostsoft import SoftMetric
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
