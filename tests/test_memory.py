"""Memory that a call adds: the system grants so much more address space, kernels' own allocations included."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the limit is not kept")
# a process of its own for every question, forked where the kernels are loaded, or compiled, and nothing else was asked
CODE = """
import json, os, resource, sys, traceback, numpy as np
from boostsoft import SoftMetric

def answer(spec, q, n, megabytes):
    soft, rng = SoftMetric(spec), np.random.default_rng(0)
    labels, scores, sizes = rng.integers(0, 4, q * n).astype(float), rng.normal(size=q * n), np.full(q, n)
    with open("/proc/self/statm") as pages:
        used = int(pages.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + int(megabytes * 1e6), resource.RLIM_INFINITY))
    try:
        assert np.isfinite(soft.gradient(labels, scores, group=sizes)).all()
    except MemoryError:
        return "too little"
    return "fits"

def ask(question):
    reader, writer = os.pipe()
    if os.fork() == 0:
        try:
            os.write(writer, answer(*question).encode())
        except BaseException:
            traceback.print_exc()
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as said:
        found = said.read()
    os.wait()
    return found

rng = np.random.default_rng(0)
for spec in ("ndcg@10", "map@10"):
    SoftMetric(spec).gradient(rng.integers(0, 4, 300), rng.normal(size=300), group=[3] * 100)
print(json.dumps([ask(question) for question in json.loads(sys.argv[1])]))
"""


def array_megabytes(q, n):
    """Arguments checked, gains, shares, gradient and the like: a dozen numbers per document, ten per query."""
    return 8e-6 * (14 * q * n + 12 * q) + 20


LONG, MANY = (1, 100_000), ((5_000, 40), (50_000, 4))
ENOUGH = [
    *((spec, *LONG, 300) for spec in ("ndcg@10", "map@10")),
    *(("ndcg@10", *size, array_megabytes(*size)) for size in MANY),
]
TOO_LITTLE = [("ndcg@10", *LONG, 5), *(("ndcg@10", *size, array_megabytes(*size) / 4) for size in MANY)]


@pytest.fixture(scope="module")
def answers():
    """Whether the gradient of a metric of q queries of n documents needs no more than so much."""
    asked = [*ENOUGH, *TOO_LITTLE]
    one = {"NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore:This process:DeprecationWarning", "-c", CODE, json.dumps(asked)],
        env={**os.environ, **one}, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return dict(zip(asked, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("question", ENOUGH, ids=str)
def test_long_and_many_queries_take_no_more_than_arrays_of_their_documents(question, answers):
    assert answers[question] == "fits"


@pytest.mark.parametrize("question", TOO_LITTLE, ids=str)
def test_the_limit_is_kept(question, answers):
    assert answers[question] == "too little"
