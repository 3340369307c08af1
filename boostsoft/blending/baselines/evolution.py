"""Evolutionary search of the hard metric, alone or followed by Nelder and Mead's simplex."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arguments import FloatArray, whole_number
from ..problem import METHOD_PARAMS, Problem, Solution, TellShare
from .search import EVALUATIONS, HardSearch, drawn_weights, silent

SWITCH_AT = 0.75  # share of the evaluations after which Nelder and Mead go on
POPULATION = 50
_ENDLESS = 1e100  # in place of infinite values, which SciPy evaluates twice and subtracts from one another
_EDGE = 0.1  # of the first simplex, relative to the largest weight


def evolution(
    problem: Problem, rng: np.random.Generator, tell: TellShare = silent, *, evaluations: int = EVALUATIONS
) -> Solution:
    """LTR-GA: an evolutionary search with a population of 50 blends, one of which starts with equal weights.

    Differential evolution (Storn and Price 1997; SciPy) in the cube of all weights: the metric sees no more than
    their direction.

    Parameters
    ----------
    problem : Problem
        What to maximise.
    rng : Generator
        What to draw from.
    tell : callable
        Told the share of the evaluations that are done.
    evaluations : int
        Blends that are tried, 50 at least; whole generations of 50.
    """
    evaluations = whole_number(METHOD_PARAMS, "evaluations", evaluations, POPULATION)
    run = _Run(problem, evaluations, tell)
    _evolve(run, rng, evaluations)
    return run.search.solution()


def evolution_then_simplex(
    problem: Problem, rng: np.random.Generator, tell: TellShare = silent, *, evaluations: int = EVALUATIONS
) -> Solution:
    """LTR-MGA: :func:`evolution` for three quarters of the evaluations, then Nelder and Mead's simplex from its best.

    The simplex (Nelder and Mead 1965; Gao and Han 2012 for its steps in many dimensions; SciPy) starts with edges of
    a tenth of the largest weight. It ends before the evaluations do if it has shrunk to a point.

    Parameters
    ----------
    problem, rng, tell
        As in :func:`evolution`.
    evaluations : int
        Blends that are tried in all, 67 at least.
    """
    evaluations = whole_number(METHOD_PARAMS, "evaluations", evaluations, 67)
    run = _Run(problem, evaluations, tell)
    _evolve(run, rng, int(SWITCH_AT * evaluations))
    region = run.search.stage()
    _descend(run, evaluations - run.search.evaluations)
    return run.search.solution(region)


class _Run:
    """The function that SciPy minimises, and the cube that it looks in."""

    def __init__(self, problem: Problem, evaluations: int, tell: TellShare) -> None:
        self.search = HardSearch(problem)
        self._evaluations, self._tell = evaluations, tell
        self.bounds = [(-1.0 if problem.free else 0.0, 1.0)] * problem.n_models

    def __call__(self, weights: FloatArray) -> float:
        """Minus the metric; weights of 0 are no blend."""
        value = self.search.of_weights(weights) if weights.any() else -1.0
        if self.search.evaluations % POPULATION == 0:
            self._tell(min(1.0, self.search.evaluations / self._evaluations))
        return -value if np.isfinite(value) else -np.copysign(_ENDLESS, value)


def _evolve(run: _Run, rng: np.random.Generator, evaluations: int) -> None:
    from scipy.optimize import differential_evolution

    problem = run.search.problem
    drawn = drawn_weights(problem, rng, POPULATION - 1)
    first = np.vstack([problem.equal_weights, drawn])
    first /= np.abs(first).max(axis=1, keepdims=True)  # out to the walls of the cube, where there is room for direction
    generations = evaluations // POPULATION - 1
    if generations < 1:
        run.search.of_many(first, silent)
        return
    # by position: the generator has another keyword in older versions of SciPy; no tolerance, so that it goes on
    options: dict[str, Any] = {"init": first, "polish": False, "atol": -1.0}
    differential_evolution(run, run.bounds, (), "best1bin", generations, 1, 0.0, (0.5, 1.0), 0.7, rng, **options)


def _descend(run: _Run, evaluations: int) -> None:
    from scipy.optimize import minimize

    best = run.search.best
    edge = _EDGE * float(np.abs(best).max())
    steps = np.where(best + edge <= 1.0, edge, -edge)  # a corner beyond the cube would be clipped to the best again
    simplex = np.vstack([best, best + np.diag(steps)])
    options = {"maxfev": evaluations, "maxiter": evaluations, "initial_simplex": simplex, "adaptive": True}
    options |= {"xatol": 1e-4 * edge, "fatol": 0.0}
    minimize(run, best, method="Nelder-Mead", bounds=run.bounds, options=options)
