"""From a query's raw derivatives to what a booster is given: the weighted gradient and a positive curvature."""

from __future__ import annotations

from .compile import kernel

FLOW, EXACT, CONSTANT = 0, 1, 2
CURVATURES = {"flow": FLOW, "exact": EXACT, "constant": CONSTANT}
_TINY = 1e-12


@kernel
def curvature_queries(kind, scale, gradient, push, hessian, gains, least, offsets, share, weights, begin, end):
    """Queries begin..end in place: ``gradient`` times the query's share, ``push`` becomes the curvature.

    The flow U + L is (c_m - 2 c_least) T + G, given gradient = c_m T - G and push = G; ``least`` is 0 where gains
    have been counted from the least already. It is never below the gradient, nor any curvature below ``_TINY``.
    """
    for q in range(begin, end):
        for i in range(offsets[q], offsets[q + 1]):
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
            gradient[i] = share[q] * slope
            push[i] = max(curvature, _TINY)
