"""What the soft way maximises: the soft metric of a blend and what is mixed in, less what unequal weights cost."""

from __future__ import annotations

import numpy as np

from ..arguments import FloatArray
from .problem import Problem, unit


class SoftValue:
    r"""The soft metric of a blend in the weights, with the mix's, less a penalty, with its exact gradient.

    value(w) = V(S w) - l2 sum_j (w_j / \|w\|_1 - 1 / m)^2, where V is the soft metric with sigma in spreads of the
    blended scores, plus those of the mix by their weights. None of it changes with the size of w: only its direction
    counts. The gradient of V is S^T (dV / d scores), one matrix product.

    Parameters
    ----------
    problem : Problem
        Scores, labels and l2.
    sigma : float
        In spreads of the blended scores.

    Attributes
    ----------
    evaluations : int
        How often the metric was computed; asking again for the last weights costs nothing.
    """

    def __init__(self, problem: Problem, sigma: float) -> None:
        self.problem, self.sigma = problem, sigma
        self.evaluations = 0
        self._last: tuple[bytes, float, FloatArray, float] = (b"", 0.0, np.empty(0), 0.0)

    def value_and_gradient(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient; where all weights are 0, those of equal ones, as :func:`unit` has it."""
        weights = weights if weights.any() else unit(weights)
        key = weights.tobytes()
        if key != self._last[0]:
            soft, total, gradient = self.problem.soft_value_gradient(weights, self.sigma)
            cost, growth = inequality(weights)
            l2 = self.problem.l2
            self._last = (key, total - l2 * cost, gradient - l2 * growth, soft)
            self.evaluations += 1
        return self._last[1], self._last[2]

    def soft(self, weights: FloatArray) -> float:
        """The soft metric alone."""
        self.value_and_gradient(weights)
        return self._last[3]


def inequality(weights: FloatArray) -> tuple[float, FloatArray]:
    r"""Squared distance of w / \|w\|_1 from equal weights, and its gradient in w.

    >>> inequality(np.array([3.0, 1.0]))
    (0.125, array([ 0.0625, -0.1875]))
    """
    size = float(np.abs(weights).sum())
    share = weights / size
    away = share - 1.0 / weights.size
    outwards = np.where(weights < 0, -1.0, 1.0)
    return float(away @ away), 2.0 * (away - (away @ share) * outwards) / size
