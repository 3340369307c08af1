"""Coordinate ascent on the hard metric: one weight at a time, along a line of growing steps."""

from __future__ import annotations

import numpy as np

from ...arguments import FloatArray, non_negative_number, whole_number
from ..problem import METHOD_PARAMS, Problem, Solution, Stage, TellShare, unit
from .search import HardSearch, drawn_weights, silent

# Steps from .001 to 4.096 of the sum of the weights, each twice the one before: the last all but drop the others.
STEPS = 0.001 * 2.0 ** np.arange(13)


def coordinate_ascent(
    problem: Problem, rng: np.random.Generator, tell: TellShare = silent, *, restarts: int = 5, tolerance: float = 0.0
) -> Solution:
    r"""Climb along one model's weight after the other until a round over all models gains nothing.

    From equal weights, and from drawn ones in every further start: for each model in a random order, its weight is
    set to 0 and moved by .001, .002, .004, ... both ways; the best is kept, and the weights are brought back to a sum
    of 1. The blended scores are not computed anew: they are moved by delta S_j, one pass over one column. The best
    end of all starts is returned.

    Source: Metzler and Croft 2007, Linear feature-based models for information retrieval; the line of steps is
    RankLib's.

    Parameters
    ----------
    problem : Problem
        What to maximise.
    rng : Generator
        Draws the order of the models and the further starts.
    tell : callable
        Told the share of the work that is done, start by start.
    restarts : int
        Number of starts.
    tolerance : float
        A round that gains no more than this ends the climb.
    """
    restarts = whole_number(METHOD_PARAMS, "restarts", restarts, 1)
    tolerance = non_negative_number(METHOD_PARAMS, "tolerance", tolerance)
    search = HardSearch(problem)
    best: list[Stage] = []
    for start in range(restarts):
        weights = drawn_weights(problem, rng, 1)[0] if start else problem.equal_weights
        path = _climb(search, weights, rng, tolerance)
        search.refuse_infinite()
        if not best or path[-1].hard > best[-1].hard:
            best = path
        tell((start + 1) / restarts)
    return Solution(search.evaluations, tuple(best))


def _climb(search: HardSearch, weights: FloatArray, rng: np.random.Generator, tolerance: float) -> list[Stage]:
    """One start: its weights and their value after every round."""
    value = search.of_weights(weights)
    path = [Stage(np.nan, weights, np.nan, value)]
    while True:
        scores = search.blend(weights)  # once a round, so that rounding does not add up
        for model in rng.permutation(weights.size):
            delta, found = _best_move(search, scores, model, float(weights[model]), value)
            if found > value:
                weights = weights.copy()
                weights[model] += delta
                size = float(np.abs(weights).sum())
                scores, weights = (scores + delta * search.columns[model]) / size, unit(weights)
                value = found
        value = search.of_weights(weights)  # anew: moved scores may break ties that are none
        if not value > path[-1].hard + tolerance:  # both are infinite if no query counts
            return path
        path.append(Stage(np.nan, weights, np.nan, value))


def _best_move(search: HardSearch, scores: FloatArray, model: int, weight: float, value: float) -> tuple[float, float]:
    """How far to move one weight, and what that is worth; no further than needed."""
    column, moved = search.columns[model], np.empty(scores.size)
    best = (0.0, value)
    for delta in _moves(weight, search.problem.free):
        if abs(weight + delta) + (1.0 - abs(weight)) <= 0.0:
            continue  # nothing would be left
        np.multiply(column, delta, out=moved)
        np.add(moved, scores, out=moved)
        found = search.of_scores(moved)
        if found > best[1]:
            best = (delta, found)
    return best


def _moves(weight: float, free: bool) -> list[float]:
    """Steps up and down, then to 0; none below 0 unless weights are free.

    >>> [round(move, 3) for move in _moves(0.002, free=False)][-3:]
    [4.096, -0.001, -0.002]
    """
    down = STEPS if free else STEPS[weight > STEPS]
    return [*STEPS.tolist(), *(-down).tolist(), *([-weight] if weight else [])]
