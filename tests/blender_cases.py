"""Noisy views of labels, as data and as a problem to solve, for the tests of blending."""

from __future__ import annotations

import numpy as np
import pytest

from boostsoft import Metric, QueryGroups
from boostsoft.blending import SoftBlender
from boostsoft.blending.mix import with_mix
from boostsoft.blending.problem import Problem
from boostsoft.metrics.prepared import prepare


def blends(seed=0, n_queries=25, quality=(1.0, 0.5, 0.2)):
    """Scores that follow the labels more or less, labels, and documents per query."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(6, 16, n_queries)
    y = rng.choice(3, sizes.sum(), p=[0.6, 0.3, 0.1])
    S = y[:, None] * np.array(quality) + rng.normal(size=(y.size, len(quality)))
    return S, y, sizes


def problem(constraint="simplex", l2=0.0, sigmas=(0.5,), seed=0, noise="gaussian", mix=(), **more):
    S, y, sizes = blends(seed, **more)
    groups, metric = QueryGroups.from_sizes(sizes), Metric("ndcg@10")
    mix, prepared = with_mix("t", mix, prepare(metric, "t", y, groups), y, np.ones(sizes.size))
    return Problem(S, prepared, np.ones(sizes.size), metric, noise, sigmas, constraint, l2, mix)


@pytest.fixture(scope="module")
def data():
    return blends()


@pytest.fixture(scope="module")
def fitted(data):
    S, y, sizes = data
    return SoftBlender().fit(S, y, group=sizes)
