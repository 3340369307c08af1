"""The node rule by itself: it integrates, follows the crowd, and needs as few nodes as the README says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from boostsoft.kernels.expected import ACCURACY
from boostsoft.kernels.noise import GUMBEL, LAWS, reach
from boostsoft.kernels.quadrature import (
    ANYWHERE,
    SMOOTH,
    TOP,
    fill_bins,
    next_node,
    start_nodes,
    step_factor,
    tail_origin,
    too_many_above,
)

SCIPY = {"gaussian": stats.norm, "gumbel": stats.gumbel_r, "logistic": stats.logistic}


def nodes(noise, shape, u, cutoff=math.inf):
    """Nodes and weights for one cluster of sorted positions, from the top to where nothing is left to see."""
    law, n = LAWS[noise], u.size
    centres, counts, state = np.zeros(n + 16), np.zeros(n + 16), np.zeros(6)
    general, gumbel, _ = ACCURACY["default"]
    h = (gumbel if law == GUMBEL else general) * step_factor(law, shape, n)
    n_bins = fill_bins(u, 0, n, centres, counts)
    origin = 0.0 if noise == "gaussian" else tail_origin(law, centres, counts, n_bins)
    left, right = reach(law, 1e-10)
    start_nodes(law, shape, n, u[0] + right, origin, centres, counts, n_bins, state)
    found = []
    while not found or found[-1][0] > u[-1] - left:
        x, weight, above = next_node(law, shape, n, h, origin, centres, counts, n_bins, state)
        found.append((x, weight))
        if too_many_above(above, cutoff, math.log(1e-10)):
            break
    return np.array(found).T


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
@pytest.mark.parametrize("n", [120, 1000, 5000])
@pytest.mark.parametrize("sigma", [0.2, 1.0, 10.0])
def test_a_cutoff_of_ten_needs_35_to_65_nodes_for_any_list(noise, n, sigma):
    x, _ = nodes(noise, TOP, positions(n, sigma), cutoff=10.0)
    assert 30 <= x.size <= 65


def test_nodes_close_up_where_documents_crowd():
    crowd, _ = nodes("gaussian", TOP, np.zeros(5000))
    alone, _ = nodes("gaussian", TOP, np.zeros(2))
    assert np.abs(np.diff(crowd)).min() < 0.2 * np.abs(np.diff(alone)).min()
