"""Memory that a call adds: the system grants so much more address space, kernels' own allocations included."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the limit is not kept")
CODE = """
import resource, numpy as np
from boostsoft import SoftMetric
soft, rng = SoftMetric("{spec}"), np.random.default_rng(0)
soft.gradient(rng.integers(0, 4, 300), rng.normal(size=300), group=[3] * 100)  # the kernels are loaded, or compiled
labels, scores, sizes = rng.integers(0, 4, {q} * {n}).astype(float), rng.normal(size={q} * {n}), np.full({q}, {n})
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int({megabytes} * 1e6), resource.RLIM_INFINITY))
assert np.isfinite(soft.gradient(labels, scores, group=sizes)).all()
"""


def fits(spec, q, n, megabytes):
    """Whether the gradient of q queries of n documents needs no more than so much."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CODE.format(spec=spec, q=q, n=n, megabytes=megabytes)],
        env={**os.environ, "NUMBA_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}, capture_output=True, text=True,
        check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0 or "MemoryError" in done.stderr, done.stderr
    return done.returncode == 0


def test_the_limit_is_kept():
    assert not fits("ndcg@10", 1, 100_000, 5)


@pytest.mark.parametrize("spec", ["ndcg@10", "map@10"])
def test_a_query_of_a_hundred_thousand_documents(spec):
    assert fits(spec, 1, 100_000, 300)


@pytest.mark.parametrize(("q", "n"), [(5_000, 40), (50_000, 4)])
def test_many_queries_take_no_more_than_arrays_of_their_documents(q, n):
    """Arguments checked, gains, shares, gradient and the like: a dozen numbers per document, ten per query."""
    megabytes = 8e-6 * (14 * q * n + 12 * q) + 20
    assert fits("ndcg@10", q, n, megabytes)
    assert not fits("ndcg@10", q, n, megabytes / 4)
