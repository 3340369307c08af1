"""The spread of the scores: the unit in which a soft metric does not change when the scores are rescaled."""

from __future__ import annotations

import numpy as np

from ..query_groups import FloatArray, QueryGroups


def spread(groups: QueryGroups, scores: FloatArray, weights: FloatArray) -> float:
    """Pooled within-query standard deviation of the scores: sqrt(sum w_q SS_q / sum w_q n_q)."""
    return _standardise(groups, scores, weights)[0]


def _standardise(groups: QueryGroups, scores: FloatArray, weights: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """The spread, the deviations from the queries' means in units of it, and each document's share of the weight.

    Scores are counted from the first of their query, so that equal ones deviate by exactly 0, and scaled by powers
    of two, which is exact, so that neither their differences overflow nor their squares over- or underflow.
    """
    share = groups.per_document(weights / (float(weights.max()) or 1.0))
    share = share / (float(share.sum()) or 1.0)
    shrink = 100 if float(np.abs(scores).max()) > 1e270 else 0
    unit = np.ldexp(scores, -shrink)
    unit = unit - groups.per_document(unit[np.minimum(groups.offsets[:-1], unit.size - 1)])
    unit = unit - groups.per_document(groups.sums(unit) / np.maximum(groups.sizes, 1))
    exponent = int(np.frexp(np.abs(unit).max())[1])
    unit = np.ldexp(unit, -exponent)
    deviation = float(np.sqrt((share * unit * unit).sum()))
    return float(np.ldexp(deviation, exponent + shrink)), unit / (deviation or 1.0), share


def without_growth(groups: QueryGroups, scores: FloatArray, weights: FloatArray, gradient: FloatArray) -> FloatArray:
    """Take out of a gradient the part that only scales the scores.

    The metric is homogeneous: s . dV/ds + sigma dV/dsigma = 0, so moving sigma with the spread adds
    -(s . g) / spread times the spread's own gradient, w_q (s - mean) / (sum of w n x spread).
    """
    _, deviation, share = _standardise(groups, scores, weights)
    growth: FloatArray = gradient - float((deviation * gradient).sum()) * share * deviation
    return growth
