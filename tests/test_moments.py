"""Documents far below under Gumbel noise, together by their moments, against the same documents one by one."""

from __future__ import annotations

import numpy as np
import pytest

import boostsoft as bs
from boostsoft.kernels.compile import kernel
from boostsoft.kernels.moments import (
    divide_by_moments,
    fill_moments,
    finish_by_moments,
    settle,
    start_by_moments,
)
from boostsoft.kernels.simd import LANES, pointer
from boostsoft.kernels.term_moments import term_series
from boostsoft.kernels.workspace import MOMENTS_SCRATCH, MOMENTS_WAITING, PAD
from boostsoft.metrics.expectation import expectation
from boostsoft.metrics.prepared import prepare

from .cases import on_threads
from .test_odds import by_documents

N = 40
NEAREST = 2.5  # of e = exp(-2.5) = .08


@kernel
def all_far(u, coef, x, weights, starts, series, before, found, exact, room, A0, A1):
    """Two blocks of nodes: the polynomials of the second, and what both leave for every document."""
    falls, counted, gained, waiting, scratch, waits_from = room
    moments = (
        pointer(falls, 0), pointer(counted, 0), pointer(gained, 0), pointer(waiting, 0), pointer(scratch, 0),
        pointer(waits_from, 0),
    )  # fmt: skip
    n, ranks = coef.size - LANES, A0.size // LANES - PAD
    fill_moments(pointer(u, 0), pointer(coef, 0), np.int64(0), n, moments)
    for block in range(2):
        nodes = pointer(x, LANES * block)
        scale = start_by_moments(nodes, u, starts[block], ranks, moments, pointer(A0, 0))
        finish_by_moments(scale, ranks, moments, pointer(A0, 0), pointer(A1, 0))
        settle(np.int64(0), starts[block], coef, before, found, exact, moments)
        E, F, K = pointer(series, 0), pointer(series, A0.size), pointer(series, 2 * A0.size)
        divide_by_moments(pointer(weights, LANES * block), ranks, E, F, K, exact, moments)
        if block == 0:
            A1[:] = 0.0
    settle(np.int64(0), n, coef, before, found, exact, moments)


@pytest.fixture(scope="module", params=[5, 12])
def case(request):
    """Documents, nodes and series; what the kernel finds, with the first three documents near the second block."""
    rng, ranks = np.random.default_rng(3), request.param
    u = -np.sort(rng.exponential(4.0, N))
    u[7], u[30:] = u[6], u[30:] - 100.0  # a tie; and documents so far behind that the others are nothing to them
    coef = np.where(rng.random(N) < 0.4, rng.uniform(0.5, 4.0, N), 0.0)
    coef[:2] = 0.0, 1.5
    starts = np.array([0, 3])
    x = np.concatenate([u[s] + NEAREST + np.sort(rng.exponential(1.0, LANES))[::-1] for s in starts])
    weights = rng.uniform(0.1, 1.0, 2 * LANES)
    series = rng.normal(size=(3, PAD + ranks, LANES))
    padded = np.append(u, np.full(LANES, u[-1])), np.append(coef, np.zeros(LANES))
    before = np.concatenate([[0], np.cumsum(coef == 0.0)])
    found = tuple(np.zeros(size * (N + LANES)) for size in (1, 1, 4, 4))
    room = (
        np.zeros(N + 2 * LANES), np.zeros(LANES * N), np.zeros(LANES * N), np.zeros(MOMENTS_WAITING),
        np.zeros(MOMENTS_SCRATCH), np.zeros(1, np.int64),
    )  # fmt: skip
    A0, A1 = np.zeros((2, LANES * (PAD + ranks)))
    all_far(*padded, x, weights, starts, series.copy().ravel(), before, found, True, room, A0, A1)
    rows = [A.reshape(-1, LANES)[PAD:] for A in (A0, A1)]
    return u, coef, starts, x.reshape(2, LANES), weights.reshape(2, LANES), series[:, :ranks], before, found, rows


def test_the_polynomials(case):
    u, coef, starts, x, _, _, _, _, rows = case
    e = np.exp(u[starts[1] :, None] - x[1])
    wanted = by_documents(np.expm1(e), e, coef[starts[1] :], rows[0].shape[0])
    for found, expected in zip(rows, wanted, strict=True):
        error = np.abs(found - expected).max() / expected.max()
        assert error < (e**9).sum(axis=0).max()
        assert error > 0.1 * (e**9).sum(axis=0).max() or rows[0].shape[0] < 9


def test_what_waits_for_documents(case):
    """In the order of ``divide_plain`` and ``divide_picked``: loss, pull r, rule r; slopes."""
    u, coef, starts, x, weights, (E, F, K), before, found, _ = case
    wanted, bound = np.zeros((N, 5)), np.zeros(N)
    for block in range(2):
        for j in range(starts[block], N):
            e = np.exp(u[j] - x[block])
            t, r, r2 = np.expm1(e), 1.0 - e, 1.0 - 3.0 * e + e * e
            g, h, k = (sum(s[d] * (-t) ** d for d in range(E.shape[0])) for s in (E, F, K))
            loss, pull, rule = e * (h - coef[j] * e * k), e * g, weights[block] * e / (1.0 + t)
            sums = loss, pull * r, rule * r, coef[j] * pull * r2 - loss * r, rule * r2
            wanted[j] += [term.sum() for term in sums]
            bound[j] += 200.0 * (e**9).sum() + 1e-12 * e.sum()
    for j in range(N):
        i = before[j]
        if coef[j] == 0.0:
            got, expected = [found[0][i], -found[1][i]], wanted[j, [0, 3]]
        else:
            i = 4 * (j - i)
            got, expected = [*found[2][i : i + 3], *found[3][i : i + 2]], wanted[j]
        np.testing.assert_allclose(got, expected, rtol=0, atol=bound[j])
    assert np.all(np.abs(wanted[:30, 0]) > 100 * bound[:30])  # else the bound would allow anything
    assert np.all(np.abs(wanted[:30, 3]) > 20 * bound[:30])


@pytest.mark.parametrize("z", [1e-12, 0.1, 0.5, 0.97])
def test_series_of_terms(z):
    """Of log F, w / F and its square, whose nearest singularities are at least pi away from 0."""
    e = 0.3
    factor = z + (1.0 - z) * np.exp(-e)
    picked = e * np.exp(-e) / factor
    wanted = np.log(factor), picked, picked**2
    found = term_series(np.array([0.7, z]))[:, 1] @ e ** np.arange(1.0, 9.0)
    assert np.all(np.abs(found - wanted) < np.array([10.0, 10.0, 500.0]) * (e / np.pi) ** 9)


@pytest.mark.parametrize("spread", [0.5, 5.0, 50.0])
@pytest.mark.parametrize(("name", "cutoffs"), [("ndcg", [10, 3]), ("ndcg", [400, 400]), ("rbp", [400, 400])])
def test_push_and_hessian_of_long_lists(name, cutoffs, spread, monkeypatch):
    """Which the errors measured in test_accuracy.py leave out; one query after another, the second of fewer ranks."""
    on_threads(monkeypatch, 1)
    rng = np.random.default_rng(0)
    sizes = [400, 300]
    labels, scores = rng.integers(0, 4, sum(sizes)), spread * rng.normal(size=sum(sizes))
    labels[:200] += 2
    scores[:200] += 1e4  # a cluster of its own, without documents of the query's least gain
    queries = prepare(bs.Metric(name, k=cutoffs), "test", labels, bs.QueryGroups.from_sizes(sizes))
    got, wanted = (expectation(queries, scores, "gumbel", 1.0, accuracy, 2) for accuracy in ("default", "high"))
    np.testing.assert_allclose(got.values, wanted.values, rtol=1e-7)
    for derivative in ("gradient", "push", "hessian"):
        for q in (slice(0, 400), slice(400, 700)):
            expected = getattr(wanted, derivative)[q]
            np.testing.assert_allclose(
                getattr(got, derivative)[q], expected, rtol=0, atol=1e-6 * np.abs(expected).max()
            )
