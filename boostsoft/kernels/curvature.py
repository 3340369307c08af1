"""From a query's raw derivatives to what a booster is given: the weighted gradient and a positive curvature."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compile import routine

FLOW, EXACT, CONSTANT, NONE = 0, 1, 2, 3
CURVATURES = {"flow": FLOW, "exact": EXACT, "constant": CONSTANT}
TINY = 1e-12  # no curvature is less: boosters divide by it


class Curvature(NamedTuple):
    """Which one; its scale; sigma; and per query its share, its weight and the least gain."""

    kind: int
    scale: float
    sigma: float
    share: NDArray[np.float64]
    weights: NDArray[np.float64]
    least: NDArray[np.float64]


NO_CURVATURE = Curvature(NONE, 1.0, 1.0, *(np.zeros(1) for _ in range(3)))


@routine
def to_curvature(wanted, q, low, high, gains, gradient, push, hessian):
    """A query's derivatives in place: ``gradient`` times sigma and its share, ``push`` becomes the curvature.

    The flow U + L is (c_m - 2 c_least) T + G, given gradient = c_m T - G and push = G; ``least`` is 0 where gains
    have been counted from the least already. It is never below the gradient, nor any curvature below ``TINY``.
    """
    kind, scale, sigma, share, weights, least = wanted
    if kind == NONE:
        return
    for i in range(low, high):
        slope = gradient[i]
        if kind == FLOW:
            flow = slope + 2.0 * push[i]
            if least[q] > 0.0 and gains[i] > 0.0:
                flow -= 2.0 * least[q] * (slope + push[i]) / gains[i]
            curvature = scale * share[q] * max(flow, abs(slope))
        elif kind == EXACT:
            curvature = share[q] * max(-hessian[i], abs(slope))
        else:
            curvature = weights[q]
        gradient[i] = share[q] * slope * sigma
        push[i] = max(curvature, TINY)
