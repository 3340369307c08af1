"""The spread of the scores: the unit in which a soft metric does not change when the scores are rescaled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arguments import FloatArray
from ..query_groups import QueryGroups
from ..query_means import relative_weights


def spread(members: QueryGroups, scores: FloatArray, weights: FloatArray) -> float:
    """Pooled within-query standard deviation of the scores: sqrt(sum w_q SS_q / sum w_q n_q)."""
    return Deviations.of(members, scores, weights).spread


def spreads(members: QueryGroups, scores: FloatArray, weights: FloatArray) -> FloatArray:
    """That of each column of scores."""
    share = _shares(members, weights)
    columns = (np.ascontiguousarray(column) for column in scores.T)
    return np.array([Deviations(members, *_centred(members, column, share), share).spread for column in columns])


@dataclass(frozen=True, eq=False)
class Deviations:
    """How far scores lie from the mean of their query.

    Attributes
    ----------
    members : the queries.
    unit, exponent : (n_docs,) deviations in units of 2^exponent; 0 where a document has no share.
    share : (n_docs,) each document's share of the weight of all.
    """

    members: QueryGroups
    unit: FloatArray
    exponent: int
    share: FloatArray

    @classmethod
    def of(cls, members: QueryGroups, scores: FloatArray, weights: FloatArray) -> Deviations:
        """Those of scores, with a weight for each query."""
        share = _shares(members, weights)
        return cls(members, *_centred(members, scores, share), share)

    @property
    def spread(self) -> float:
        """Of all queries together."""
        return float(np.ldexp(self._root(), self.exponent))

    def without_growth(self, ranked: QueryGroups, scores: FloatArray, gradient: FloatArray) -> FloatArray:
        """Take out of a gradient, at a spread above 0, the part that only scales the scores.

        The metric is homogeneous: s . dV/ds + sigma dV/dsigma = 0, so moving sigma with the spread adds
        -(s . g) / spread times the spread's own gradient, w_q (s - mean) / (sum of w n x spread). In s . g scores are
        counted from the mean of what is ``ranked`` together: a query, or all documents of a pooled metric. Shifting
        that changes nothing either: what its gradients sum up to is the node rule's error, and goes as well.
        """
        gradient = gradient - ranked.per_document(ranked.means(gradient))
        deviation = float(self._root())
        same = ranked is self.members
        counted, other = (self.unit, self.exponent) if same else _centred(ranked, scores)
        slope = float(np.ldexp((counted * gradient).sum() / deviation, other - self.exponent))
        growth: FloatArray = gradient - slope * self.share * (self.unit / deviation)
        return growth

    def _root(self) -> float:
        root: float = np.sqrt((self.share * self.unit * self.unit).sum())
        return root


def _shares(members: QueryGroups, weights: FloatArray) -> FloatArray:
    """Each document's share of the weight of all."""
    share = members.per_document(relative_weights(weights))
    shares: FloatArray = share / (float(share.sum()) or 1.0)
    return shares


def _centred(groups: QueryGroups, scores: FloatArray, share: FloatArray | None = None) -> tuple[FloatArray, int]:
    """Deviations from the queries' means in units of 2^exponent, and the exponent; 0 where there is no ``share``.

    Scores are counted from the first of their query, so that equal ones deviate by exactly 0, and scaled by powers
    of two, which is exact, so that neither their differences overflow nor their squares over- or underflow.
    """
    shrink = 100 if _largest(scores) > 1e270 else 0
    unit = np.ldexp(scores, -shrink) if shrink else scores
    unit = unit - groups.per_document(unit[np.minimum(groups.offsets[:-1], unit.size - 1)])
    unit = unit - groups.per_document(groups.means(unit))
    if share is not None and (share == 0.0).any():  # the digits of the others are kept
        unit = np.where(share > 0.0, unit, 0.0)
    exponent = int(np.frexp(_largest(unit))[1])
    return np.ldexp(unit, -exponent, out=unit), exponent + shrink


def _largest(values: FloatArray) -> float:
    """The largest absolute value, without an array of them all."""
    return max(float(values.max()), -float(values.min()))
