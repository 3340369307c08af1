"""The node rule by itself: it integrates, follows the crowd, and needs as few nodes as the README says."""

from __future__ import annotations

import math
from textwrap import dedent

import numpy as np
import pytest
from scipy import stats

from boostsoft.kernels.compile import kernel
from boostsoft.kernels.expected import ACCURACY
from boostsoft.kernels.noise import GAUSSIAN, LAWS, reach
from boostsoft.kernels.quadrature import (
    ANYWHERE,
    SMOOTH,
    TOP,
    _expected_above,
    fill_bins,
    fineness,
    near_bins,
    next_nodes,
    nodes_wanted,
    start_nodes,
    step_factor,
    tail_origin,
)
from boostsoft.kernels.simd import LANES, load, store
from boostsoft.kernels.workspace import MOST_BINS

from .processes import passes_alone

SCIPY = {"gaussian": stats.norm, "gumbel": stats.gumbel_r, "logistic": stats.logistic}
EPS = 1e-10


@kernel
def walk(law, shape, u, n, h, miss, cutoff, log_eps, room, bins, found, weights):
    """Nodes of one cluster from its top to where nothing is left to see; returns their number."""
    x, weight, above, variance, scratch, state = room
    left, right = reach(law, math.exp(log_eps))
    n_bins = fill_bins(law, u, 0, n, bins)
    origin = 0.0 if law == GAUSSIAN else tail_origin(u, 0, n)
    fine = fineness(law, n, miss)
    start_nodes(law, shape, n, u[0] + right, origin, state)
    h *= step_factor(law, shape, n)
    count = 0
    while count + 8 <= found.size:
        next_nodes(law, shape, n, h, fine, origin, bins, n_bins, state, scratch, x, weight, above, variance)
        wanted, done = nodes_wanted(x, above, variance, cutoff, u[n - 1] - left, log_eps, scratch)
        for i in range(wanted):
            found[count], weights[count] = x[i], weight[i]
            count += 1
        if done:
            return count
    return -1


def room_for_bins():
    return tuple(np.zeros(MOST_BINS + 1) for _ in range(5))


def nodes(noise, shape, u, cutoff=1e9, miss=1e-9):
    """Nodes and weights for one cluster of sorted positions, from the top to where nothing is left to see."""
    bins = room_for_bins()
    room = (*(np.zeros(8) for _ in range(5)), np.zeros(3))
    found, weights = np.zeros(4000), np.zeros(4000)
    padded = np.concatenate([u, np.full(8, u[-1])])
    step, _ = ACCURACY["default"]
    count = walk(LAWS[noise], shape, padded, u.size, step, miss, cutoff, math.log(EPS), room, bins, found, weights)
    assert count > 0
    return found[:count], weights[:count]


def positions(n, sigma):
    u = -np.sort(-np.random.default_rng(0).normal(size=n)) / sigma
    return u - u[0]


@pytest.mark.parametrize("noise", LAWS)
@pytest.mark.parametrize("shape", [SMOOTH, TOP, ANYWHERE])
def test_a_density_integrates_to_one(noise, shape):
    u = positions(40, 0.3)
    x, weight = nodes(noise, shape, u)
    assert np.all(np.diff(x) < 0)
    assert np.all(weight > 0)
    for document in (u[0], u[20], u[-1]):
        assert weight @ SCIPY[noise].pdf(x - document) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("noise", LAWS)
@pytest.mark.parametrize("shape", [SMOOTH, TOP, ANYWHERE])
@pytest.mark.parametrize("sigma", [0.02, 0.3, 3.0])
def test_a_node_lies_as_near_its_place_as_it_was_asked_to(noise, shape, sigma):
    """The last step is not looked at: without its second order, or with a wrong one, it is off by the root of that."""
    u = positions(60, sigma)
    wanted, wanted_weights = nodes(noise, shape, u, miss=1e-15)
    for miss in (1e-9, 1e-7):
        x, weights = nodes(noise, shape, u, miss=miss)
        n = min(x.size, wanted.size)
        assert n >= wanted.size - 1
        # what is cut off the stand-ins shifts whole blocks by as much, document by document
        near = 10.0 * miss * (1.0 + np.abs(wanted[0] - wanted[:n]))
        assert np.all(np.abs(x[:n] - wanted[:n]) < near)
        assert np.all(np.abs(weights[:n] / wanted_weights[:n] - 1.0) < near)


@pytest.mark.parametrize("noise", LAWS)
@pytest.mark.parametrize("n", [120, 1000, 5000])
@pytest.mark.parametrize("sigma", [0.2, 1.0, 10.0])
def test_a_cutoff_of_ten_needs_25_to_64_nodes_for_any_list(noise, n, sigma):
    x, _ = nodes(noise, TOP, positions(n, sigma), cutoff=10.0)
    assert 25 <= x.size <= 64


def test_nodes_close_up_where_documents_crowd():
    crowd, _ = nodes("gaussian", TOP, np.zeros(5000))
    alone, _ = nodes("gaussian", TOP, np.zeros(2))
    assert np.abs(np.diff(crowd)).min() < 0.2 * np.abs(np.diff(alone)).min()


@kernel
def counted_above(law, u, n, x, bins, found):
    """Lambda, its slope, that one's and the variance at eight positions, next to each other in ``found``."""
    n_bins = fill_bins(law, u, 0, n, bins)
    near = near_bins(bins, n_bins, x[LANES - 1], x[0], fineness(law, n, 1e-9))
    above, density, change, variance = _expected_above(law, load(x, 0), bins, near)
    store(found, 0, above)
    store(found, LANES, density)
    store(found, 2 * LANES, change)
    store(found, 3 * LANES, variance)


@pytest.mark.parametrize("noise", list(LAWS))
@pytest.mark.parametrize("reach_of_list", [0.5, 40.0, 4000.0])
def test_the_count_above_and_its_derivatives(noise, reach_of_list):
    """By differences, in and far above a list, whose bins are one, many narrow ones, or as many wide ones as may be."""
    u = -np.sort(np.random.default_rng(0).uniform(0.0, reach_of_list, 600))
    u -= u[0]
    bins = room_for_bins()

    def at(x):
        found = np.zeros(4 * LANES)
        counted_above(LAWS[noise], u, u.size, x, bins, found)
        return found.reshape(4, LANES)

    step = 1e-4
    for middle in (3.0, 0.0, 0.3 * u[-1]):
        x = middle + np.linspace(-2.0, 2.0, LANES)
        above, density, change, variance = at(x)
        (above_after, density_after, *_), (above_before, density_before, *_) = at(x + step), at(x - step)
        np.testing.assert_allclose(density, (above_before - above_after) / (2 * step), rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(change, (density_after - density_before) / (2 * step), rtol=1e-5, atol=1e-7)
        assert np.all((variance > 0) & (variance < above))
    far = 12.0 + reach_of_list / 50.0  # from there each is hardly ever above
    above, _, _, variance = at(far + np.linspace(0.0, 1.0, LANES))
    np.testing.assert_allclose(variance, above, rtol=0.01, atol=1e-12)


@kernel
def wanted(x, above, variance, ranks, bottom, log_eps, scratch):
    return nodes_wanted(x, above, variance, ranks, bottom, log_eps, scratch)


def wanted_where(chances, ranks, x=0.0, bottom=-1.0):
    """How many of eight nodes count where documents are above with such chances at each, and whether that is all."""
    above, variance = np.sum(chances, axis=1), np.sum(chances * (1.0 - chances), axis=1)
    return wanted(np.broadcast_to(x, 8).copy(), above, variance, ranks, bottom, math.log(EPS), np.zeros(8))


def fewer_than(chances, ranks):
    """The probability that fewer documents than that are above, by the distribution of their number."""
    number = np.ones(1)
    for chance in chances:
        number = np.convolve(number, [1.0 - chance, chance])
    return number[:ranks].sum()


UNCERTAIN = np.random.default_rng(0).uniform(0.0, 1.0, 400) ** 2


# the number expected above is trusted to 95 %, which costs nodes where some are certain: there it may end later
@pytest.mark.parametrize(
    ("certain", "chances", "ranks", "latest"),
    [
        *((0, UNCERTAIN, ranks, EPS**2.5) for ranks in (1, 2, 10, 40)),
        *((9, UNCERTAIN, ranks, 0.0) for ranks in (2, 10, 40)),
        *((0, np.full(800, 0.05), ranks, EPS**1.2) for ranks in (1, 2)),
    ],
)
def test_a_cluster_ends_where_enough_documents_are_above(certain, chances, ranks, latest):
    """One more of them at every node: not before the ranks are filled, nor long after."""
    above = np.concatenate([np.ones(certain), chances])
    for begin in range(certain + 1, above.size - 8, 8):
        rows = np.where(np.arange(above.size) < begin + np.arange(8)[:, None], above, 0.0)
        count, done = wanted_where(rows, ranks)
        if done:
            break
        assert count == 8
    assert done
    assert fewer_than(above[: begin + count - 1], ranks) < EPS
    assert latest < fewer_than(above[: begin + count - 2], ranks) or latest == 0.0


def test_a_cluster_ends_below_its_last_document():
    nothing = np.zeros((8, 3))
    assert wanted_where(nothing, 1) == (8, False)
    assert wanted_where(nothing, 1, x=-np.arange(8.0), bottom=-4.5) == (6, True)
    assert wanted_where(nothing, 1, x=-np.arange(8.0), bottom=-7.0) == (8, False)


def test_a_table_without_a_cutoff_needs_as_many_nodes_as_a_cutoff_in_the_middle():
    """Counted in plain Python, by a block that does nothing."""
    code = """
        import math
        import numpy as np
        from boostsoft import Metric, QueryGroups
        from boostsoft.kernels.curvature import NO_CURVATURE
        from boostsoft.kernels.expected import ACCURACY, expect_queries
        from boostsoft.kernels.shares import as_ranges
        from boostsoft.kernels.simd import LANES
        from boostsoft.kernels.workspace import ROWS, workspace
        from boostsoft.metrics.prepared import prepare

        n, counted = 400, []
        rng = np.random.default_rng(0)
        labels, scores = rng.integers(0, 3, n).astype(float), 5.0 * rng.normal(size=n)
        for k in (None, n // 2):
            metric = Metric("dcg", k=k, discount=1.0 / np.log2(np.arange(2.0, n + 2.0)))
            queries = prepare(metric, "test", labels, QueryGroups.from_sizes([n]))
            step, tol = ACCURACY["default"]
            found = []

            def block(law, family, filled, *rest):
                found.append(filled)
                return 0.0

            room = workspace(ROWS, queries.family, n, min(n, int(queries.cutoffs[0])), 40.0 - math.log(tol))
            out = [np.zeros(1), *(np.zeros(n) for _ in range(3))]
            expect_queries(
                block, 0, ROWS, 0, queries.family, scores, queries.gains, queries.groups.offsets, queries.cutoffs,
                queries.smooth, queries.discount, 1.0, step, tol, 0, NO_CURVATURE, as_ranges([(0, 1)]), *out,
                n + LANES - 1, *room,
            )
            counted.append(sum(found))
        assert 100 < counted[1] < counted[0] < 2.0 * counted[1], counted  # behind a cutoff none are needed
    """
    passes_alone(dedent(code), NUMBA_DISABLE_JIT="1")
