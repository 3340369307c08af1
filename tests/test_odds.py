"""Documents of small odds taken together, against the product over them one by one."""

from __future__ import annotations

import numpy as np
import pytest

from boostsoft.kernels.compile import kernel
from boostsoft.kernels.odds import finish_polynomials, multiply_picked, multiply_plain, start_with_faint, sum_faint
from boostsoft.kernels.simd import LANES
from boostsoft.kernels.workspace import PAD

RANKS, NEAR, FAR = 9, 7, 40


@kernel
def polynomials(T, V, coef, plain, picked, ends, near, ranks, A0, A1):
    powers, picks = sum_faint(T, V, coef, plain, picked, ends)
    scale = start_with_faint(powers, ranks, A0)
    scale = multiply_plain(T, plain, near[0], near[1], ranks, A0, scale)
    scale = multiply_picked(T, V, coef, picked, near[2], near[3], ranks, A0, A1, scale)
    finish_polynomials(picks, scale, ranks, A0, A1)


def by_documents(T, V, coef, ranks):
    """T0 and T1 of every node by the recursion over documents, padded as the kernels want them."""
    A0, A1 = np.zeros((2, ranks, LANES))
    A0[0] = 1.0
    for t, v, c in zip(T, V, coef, strict=True):
        p, q = t / (1.0 + t), 1.0 / (1.0 + t)
        up0, up1 = (np.vstack([np.zeros((1, LANES)), a[:-1]]) for a in (A0, A1))
        A0, A1 = q * A0 + p * up0, q * A1 + p * up1 + c * v * q * A0
    return A0, A1


@pytest.mark.parametrize("faint", [1e-3, 1e-2])
def test_small_odds_count_together(faint):
    rng = np.random.default_rng(0)
    n = NEAR + FAR
    T = np.vstack([rng.uniform(0.1, 5.0, (NEAR, LANES)), rng.uniform(0.1 * faint, faint, (FAR, LANES))])
    V = T * rng.uniform(0.5, 3.0, (n, LANES))
    coef = np.where(rng.random(n) < 0.4, rng.uniform(0.5, 4.0, n), 0.0)
    wanted = by_documents(T, V, coef, RANKS)
    picked, plain = (np.flatnonzero(which) for which in (coef > 0, coef == 0))
    nobody = np.zeros((4, LANES))
    T, V, coef = np.vstack([T, nobody]), np.vstack([V, nobody]), np.append(coef, np.zeros(4))
    bounds = []
    lists = []
    for places in (plain, picked):
        near = places[places < NEAR]
        padded = np.concatenate([near, np.full(-near.size % 4, n)])
        lists.append(np.concatenate([padded, places[places >= NEAR]]))
        bounds.append((padded.size, lists[-1].size))
    A0, A1 = np.zeros((2, LANES * (PAD + RANKS)))
    ends = (*bounds[0], *bounds[1])
    near = (0, bounds[0][0], 0, bounds[1][0])
    polynomials(T.ravel(), V.ravel(), coef, *lists, ends, near, RANKS, A0, A1)
    for found, expected in zip((A0, A1), wanted, strict=True):
        error = np.abs(found.reshape(-1, LANES)[PAD:] - expected).max() / expected.max()
        assert error < FAR * faint**4  # the fourth powers are what is left out of the logarithm
        assert error > 1e-3 * FAR * faint**4 or error < 1e-14
