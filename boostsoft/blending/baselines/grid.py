"""Every blend on a grid, and blends drawn at random."""

from __future__ import annotations

from itertools import combinations, product
from math import comb

import numpy as np

from ...arguments import FloatArray, whole_number
from ..problem import FIT, METHOD_PARAMS, Problem, Solution, TellShare, unit
from .search import EVALUATIONS, HardSearch, drawn_weights, silent

MOST_MODELS = 4
MOST_BLENDS = 5_000_000  # whose weights take a gigabyte while they are listed


def grid_search(
    problem: Problem, rng: np.random.Generator | None = None, tell: TellShare = silent, *, steps: int = 20
) -> Solution:
    """Try every blend whose weights are multiples of 1 / steps; of equally good ones the first.

    C(steps + m - 1, m - 1) blends of m models: 21, 231 and 1,771 of 2, 3 and 4 models at 20 steps. Where weights may
    be negative, with every choice of signs: 80, 1,602 and 21,440.

    Parameters
    ----------
    problem : Problem
        Of 4 models at most: beyond, the grid is too coarse or too large to mean anything.
    rng : Generator, optional
        Not needed: nothing is drawn.
    tell : callable
        Told the share of the work that is done.
    steps : int
        Parts that the whole is cut into: of so many as make 5 million blends at most.

    Raises
    ------
    ValueError
        If there are more than 4 models, or more blends.
    """
    steps = whole_number(METHOD_PARAMS, "steps", steps, 1)
    m = problem.n_models
    if m > MOST_MODELS:
        raise ValueError(
            f"{FIT}: models must be at most {MOST_MODELS} for method='grid', which tries all blends; got {m}. Other "
            "methods search among more"
        )
    if comb(steps + m - 1, m - 1) * (2**m if problem.free else 1) > MOST_BLENDS:
        raise ValueError(
            f"{METHOD_PARAMS}: steps must make at most {MOST_BLENDS:,} blends of {m} models; got {steps}, with more"
        )
    search = HardSearch(problem)
    grid = compositions(steps, m) / steps
    search.of_many(with_signs(grid) if problem.free else grid, tell)
    return search.solution()


def random_search(
    problem: Problem, rng: np.random.Generator, tell: TellShare = silent, *, evaluations: int = EVALUATIONS
) -> Solution:
    """Try equal weights, then blends drawn uniformly from the simplex; their signs too if those are free.

    Source: Bergstra and Bengio 2012, Random search for hyper-parameter optimization.

    Parameters
    ----------
    problem : Problem
        What to maximise.
    rng : Generator
        What to draw from.
    tell : callable
        Told the share of the work that is done.
    evaluations : int
        Blends that are tried.
    """
    evaluations = whole_number(METHOD_PARAMS, "evaluations", evaluations, 1)
    search = HardSearch(problem)
    search.of_many(np.vstack([problem.equal_weights, drawn_weights(problem, rng, evaluations - 1)]), tell)
    return search.solution()


def equal_weights(problem: Problem, rng: np.random.Generator | None = None, tell: TellShare = silent) -> Solution:
    """All models weigh the same, whatever the labels: what fusion without training does."""
    search = HardSearch(problem)
    search.of_weights(unit(problem.equal_weights))
    tell(1.0)
    return search.solution()


def compositions(total: int, parts: int) -> FloatArray:
    """All ways to write a number as an ordered sum of whole numbers from 0, one a row.

    >>> compositions(2, 2)
    array([[0., 2.],
           [1., 1.],
           [2., 0.]])
    """
    chosen = list(combinations(range(total + parts - 1), parts - 1))
    bars = np.array(chosen, np.int64).reshape(len(chosen), parts - 1)
    ends = np.full((len(bars), 1), total + parts - 1)
    edges = np.hstack([np.full((len(bars), 1), -1), bars, ends])
    return (np.diff(edges) - 1).astype(np.float64)


def with_signs(weights: FloatArray) -> FloatArray:
    """Every row with every choice of signs, each once.

    >>> with_signs(np.array([[0.0, 1.0]]))
    array([[ 0., -1.],
           [ 0.,  1.]])
    """
    signs = np.array(list(product([-1.0, 1.0], repeat=weights.shape[1])))
    return np.unique((weights[:, None, :] * signs).reshape(-1, weights.shape[1]) + 0.0, axis=0)
