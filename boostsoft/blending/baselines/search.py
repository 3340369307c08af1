"""What the searches of the hard metric share: values of blends, counted, and the best of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...arguments import FloatArray
from ...query_means import blocks, refuse_infinite
from ..problem import FIT, Problem, Solution, Stage, blended, unit

EVALUATIONS = 16_000  # by default, of searches that go on for as long as they are told
_CELLS = 4_000_000  # blended scores between two signs of progress


class HardSearch:
    """The hard metric of blends, how often it was computed, and the best blend so far.

    Attributes
    ----------
    problem : Problem
        What is searched.
    columns : (n_models, n_docs)
        The scores of each model, contiguous: moving one weight costs one pass over its column.
    evaluations : int
        How often the metric was computed.
    best, best_value : (n_models,), float
        The best weights so far, as they were tried, and their value.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.columns = np.ascontiguousarray(problem.scores.T)
        self.evaluations = 0
        self.best = problem.equal_weights
        self.best_value = -np.inf

    def blend(self, weights: FloatArray) -> FloatArray:
        """The scores of a blend, (n_docs,): rows that are alike stay tied, which BLAS does not promise."""
        return blended(self.columns.T, weights)

    def of_scores(self, scores: FloatArray) -> float:
        """Mean over the queries of the metric of blended scores."""
        self.evaluations += 1
        problem = self.problem
        values = problem.metric.evaluate(problem.prepared, scores, problem.query_weight)
        value = problem.prepared.mean(values, problem.query_weight)
        return -np.inf if np.isnan(value) else value  # no query counts

    def of_weights(self, weights: FloatArray) -> float:
        """Mean over the queries of the metric of a blend, which is kept if it is the best."""
        value = self.of_scores(self.blend(weights))
        if value > self.best_value:
            self.best, self.best_value = np.array(weights), value
        return value

    def of_many(self, weights: FloatArray, tell: Callable[[float], None]) -> None:
        """Try the rows of (n_blends, n_models)."""
        for begin, end in blocks(len(weights), self.columns.shape[1], _CELLS):
            for row in weights[begin:end]:
                self.of_weights(row)
            tell(end / len(weights))

    def refuse_infinite(self) -> None:
        """Raise if a blend was of infinite value, than which none is better; where it is met SciPy would hide it."""
        problem = self.problem
        if self.best_value == np.inf:
            values, counted = problem.hard_values(self.best), problem.prepared.counted(problem.query_weight)
            refuse_infinite(FIT, problem.metric.name, values, counted)

    def stage(self) -> Stage:
        """The best blend so far as a step of the path."""
        self.refuse_infinite()
        return Stage(np.nan, unit(self.best), np.nan, self.best_value)

    def solution(self, *earlier: Stage) -> Solution:
        """The best blend, after the stages that came before it."""
        return Solution(self.evaluations, (*earlier, self.stage()))


def drawn_weights(problem: Problem, rng: np.random.Generator, n: int) -> FloatArray:
    """Blends uniform on the simplex, (n, n_models); of signs drawn besides if weights below 0 are allowed."""
    weights: FloatArray = rng.dirichlet(np.ones(problem.n_models), size=n)
    if problem.free:
        weights *= rng.choice([-1.0, 1.0], size=weights.shape)
    return weights


def silent(_: Any) -> None:
    """Tell nobody."""
