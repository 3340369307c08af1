"""How far the weights would move if other queries of the same kind had been drawn."""

from __future__ import annotations

import numpy as np

from ..arguments import FloatArray
from ..query_means import central
from .annealing import counting_queries
from .problem import Problem, TellShare
from .soft_value import SoftValue
from .solve import climb

LEVEL = 0.95


def bootstrap_weights(
    problem: Problem, weights: FloatArray, n_boot: int, rng: np.random.Generator, tell: TellShare
) -> FloatArray:
    """Weights on queries drawn anew with replacement, as many as count, (n_boot, n_models).

    Each climb starts from the weights of all queries, at the last sigma: the soft metric has one summit there on all
    data tried, so that no earlier stage is needed.
    """
    counting = np.flatnonzero(problem.prepared.counted(problem.query_weight))
    n, counts = counting.size, np.zeros(problem.query_weight.size)
    found = np.empty((n_boot, weights.size))
    for draw in range(n_boot):
        counts[counting] = rng.multinomial(n, np.full(n, 1.0 / n))
        again = problem.reweighted(counts * problem.query_weight)
        tells = counting_queries(again.prepared, again.query_weight) > 0  # or the price alone would set the weights
        found[draw] = climb(SoftValue(again, problem.sigmas[-1]), weights) if tells else weights
        tell((draw + 1) / n_boot)
    return found


def percentiles(values: FloatArray) -> FloatArray:
    """The ends of the central 95 %, (n, 2) of (n_boot, n)."""
    ends: FloatArray = central(values, LEVEL).T
    return ends
