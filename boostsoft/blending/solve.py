"""Blend weights by the exact gradient of the soft metric: annealing, and several starts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arguments import FloatArray
from ..metrics.spread import spread, spreads
from .alike import is_rounding
from .baselines.search import drawn_weights, silent
from .problem import Problem, Solution, Stage, TellShare, unit
from .soft_value import SoftValue

# A climb ends when a step gains less than this share of the value: the last one (with 1e-6 it takes twice as many
# steps, to weights that are as good on other queries), and those that only lead there.
TOLERANCE, ON_THE_WAY = 1e-4, 1e-2
MOST_STEPS = 100
FIRST_STEP = 0.6  # length of the first step, relative to that of equal weights: L-BFGS cannot know the scale
ROUNDING = 1e-12  # a gradient of that share of the value is none: models that rank alike leave 1e-17 to 2e-14
_TYPICAL_EVALUATIONS = 8  # of a climb, for the progress that is shown


def soft_ascent(problem: Problem, rng: np.random.Generator, tell: TellShare = silent, *, n_starts: int = 1) -> Solution:
    """Climb the soft metric at each sigma in turn, from wide to narrow, each from where the one before ended.

    L-BFGS-B (Byrd, Lu, Nocedal and Zhu 1995; SciPy) under w >= 0, or without bounds if weights are free: what the
    metric sees of a blend is its direction, so that the simplex is the non-negative weights divided by their sum.

    Parameters
    ----------
    problem : Problem
        What to maximise, and the sigmas.
    rng : Generator
        Draws further starts.
    tell : callable
        Told the share of the work that is done.
    n_starts : int
        Starts at the widest sigma, each of which goes on to the last, where the best one is taken: equal weights, below
        0 if that is better and allowed; the model that is best by itself, half of the blend; and blends drawn at
        random. Where models cancel at equal weights the first is left out.
    """
    values = [SoftValue(problem, sigma) for sigma in problem.sigmas]
    begins = starts(values[0], rng, n_starts)
    paths = [_descent(values, start, _part(tell, at, len(begins))) for at, start in enumerate(begins)]
    best = max(paths, key=lambda path: values[-1].value_and_gradient(path[-1])[0])
    path = tuple(_stage(value, weights) for value, weights in zip(values, best, strict=True))
    tell(1.0)
    return Solution(sum(value.evaluations for value in values), path)


def _descent(values: list[SoftValue], start: FloatArray, tell: TellShare) -> list[FloatArray]:
    """Where the climb at each sigma ends that begins where the one before ended."""
    path = [start]
    for at, value in enumerate(values):
        tolerance = TOLERANCE if value is values[-1] else ON_THE_WAY
        path.append(climb(value, path[-1], _part(tell, at, len(values)), tolerance))
    return path[1:]


def climb(value: SoftValue, start: FloatArray, tell: TellShare = silent, tolerance: float = TOLERANCE) -> FloatArray:
    """The weights, normalised, that a climb from others ends at; these themselves if nothing changes the metric."""
    from scipy.optimize import minimize

    m = start.size
    origin = unit(start) * m  # of entries around 1
    height, slope = value.value_and_gradient(origin)
    if not value.problem.free:
        slope = np.where((origin <= 0) & (slope < 0), 0.0, slope)
    with np.errstate(over="ignore"):  # of a tiny sigma
        steepness = float(np.linalg.norm(slope))
    if not ROUNDING * abs(height) < steepness < np.inf:
        return unit(start)
    # the first step of L-BFGS-B is the gradient itself: measure the value in units that make that a sensible one
    scale = FIRST_STEP * float(np.linalg.norm(origin)) / steepness
    before = value.evaluations

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        found, gradient = value.value_and_gradient(weights)
        done = value.evaluations - before
        tell(done / (done + _TYPICAL_EVALUATIONS))
        return -scale * found, -scale * gradient

    bounds = None if value.problem.free else [(0.0, None)] * m
    options: dict[str, Any] = {"maxiter": MOST_STEPS, "ftol": tolerance, "gtol": 0.0}
    return unit(minimize(loss, origin, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x)


def starts(value: SoftValue, rng: np.random.Generator, n: int) -> list[FloatArray]:
    """Where to climb from, at least one: equal weights, unless models cancel there, then others as asked for."""
    problem = value.problem
    found = [problem.equal_weights]
    if problem.free:  # no slope leads from one sign to the other if all models rank alike
        both = (found[0], -found[0])
        found = [max(both, key=lambda weights: value.value_and_gradient(weights)[0])]
    cancels = _cancels(problem)
    if n > 1 or cancels:
        alone = np.eye(problem.n_models)
        best = int(np.argmax([problem.hard_value(weights) for weights in alone]))
        found.append((alone[best] + problem.equal_weights) / 2.0)
    if cancels:  # what is left is rounding, which in units of its spread would pass for a ranking
        del found[0]
    return [*found, *drawn_weights(problem, rng, n - len(found))]


def _cancels(problem: Problem) -> bool:
    """Whether nothing is left of the models at equal weights, as of one and its reverse."""
    equal = problem.equal_weights
    members, weights = problem.prepared.members, problem.query_weight
    left = spread(members, problem.blend(equal), weights)
    largest = max(abs(float(problem.scores.max())), abs(float(problem.scores.min())))
    if not is_rounding(left, equal, largest):  # no spread is more than the largest
        return False
    return is_rounding(left, equal, spreads(members, problem.scores, weights))


def _stage(value: SoftValue, weights: FloatArray) -> Stage:
    return Stage(value.sigma, weights, value.soft(weights), value.problem.hard_value(weights))


def _part(tell: TellShare, at: int, parts: int) -> TellShare:
    return lambda done: tell((at + done) / parts)
