"""The node rule by itself: it integrates, follows the crowd, and needs as few nodes as the README says."""

from __future__ import annotations

import math

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
    fill_bins,
    fineness,
    next_nodes,
    start_nodes,
    step_factor,
    tail_origin,
    too_many_above,
)
from boostsoft.kernels.workspace import MOST_BINS

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
        for i in range(8):
            found[count], weights[count] = x[i], weight[i]
            count += 1
            if x[i] < u[n - 1] - left or too_many_above(above[i], variance[i], cutoff, log_eps):
                return count
    return -1


def nodes(noise, shape, u, cutoff=math.inf, miss=1e-9):
    """Nodes and weights for one cluster of sorted positions, from the top to where nothing is left to see."""
    bins = tuple(np.zeros(MOST_BINS + 1) for _ in range(5))
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
def test_a_cutoff_of_ten_needs_25_to_60_nodes_for_any_list(noise, n, sigma):
    x, _ = nodes(noise, TOP, positions(n, sigma), cutoff=10.0)
    assert 25 <= x.size <= 60


def test_nodes_close_up_where_documents_crowd():
    crowd, _ = nodes("gaussian", TOP, np.zeros(5000))
    alone, _ = nodes("gaussian", TOP, np.zeros(2))
    assert np.abs(np.diff(crowd)).min() < 0.2 * np.abs(np.diff(alone)).min()
