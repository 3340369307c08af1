"""The way from a user's scores to normalised ones, remembered by fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import FloatArray
from ..queries import Queries
from ..query_groups import QueryGroups
from .baselines import reciprocal_ranks
from .baselines.reciprocal import reciprocals
from .scores import LINEAR, Measures, normal_scores, normalized

RECIPROCAL = "reciprocal"  # besides the normalisations: what reciprocal rank fusion adds up


@dataclass(frozen=True, eq=False)
class Scale:
    """How scores are normalised.

    Attributes
    ----------
    how : a normalisation, or "reciprocal".
    directions : (n_models,), -1 where a lower score is better.
    reference : the one query that fit saw if it was told of none: documents to come belong to it, and are placed
        among its own one by one, so that it does not matter which of them come together.
    """

    how: str
    directions: FloatArray
    reference: tuple[Reference, ...] | None = None

    @classmethod
    def learn(cls, how: str, directions: FloatArray, matrix: FloatArray, queries: Queries) -> Scale:
        """From the rows of fit."""
        if queries.named:
            return cls(how, directions)
        own = queries.bring_together(_turned(matrix, directions))
        return cls(how, directions, tuple(Reference.of(column) for column in own.T))

    def apply(self, caller: str, matrix: FloatArray, queries: Queries) -> FloatArray:
        """Normalise rows, whose queries then stand together."""
        scores = queries.bring_together(_turned(matrix, self.directions))
        if not queries.named and self.reference is not None:
            placed = [own.place(self.how, column) for own, column in zip(self.reference, scores.T, strict=True)]
            return np.column_stack(placed)
        if self.how == RECIPROCAL:
            return reciprocal_ranks(scores, queries.groups)
        return normalized(caller, self.how, scores, queries.groups)


@dataclass(frozen=True, eq=False)
class Reference:
    """One model's scores of one query, to place others among.

    Attributes
    ----------
    n : documents of the query.
    known : the scores that there are, rising.
    measures : where they lie.
    """

    n: int
    known: FloatArray
    measures: Measures

    @classmethod
    def of(cls, scores: Any) -> Reference:
        """From the scores of a query, NaN where there is none."""
        column = np.ascontiguousarray(scores)
        measures = Measures.of(column, QueryGroups.from_sizes([column.size]))
        return cls(column.size, np.sort(column[~np.isnan(column)]), measures.first())

    def place(self, how: str, scores: FloatArray) -> FloatArray:
        """Normalise scores as if they were those of the query's own documents."""
        if how in LINEAR:
            return LINEAR[how](scores, self.measures)
        ranks = self._ranks(scores)
        if how == RECIPROCAL:
            return reciprocals(scores, ranks)
        return normal_scores(ranks, self.n)

    def _ranks(self, scores: FloatArray) -> FloatArray:
        """Those of the query's documents with the same score; half-way between the two that another lies between."""
        below, up_to = (np.searchsorted(self.known, scores, side) for side in ("left", "right"))
        ranks = self.known.size - (below + up_to) / 2 + 0.5
        left = (self.known.size + 1 + self.n) / 2
        return np.clip(np.where(np.isnan(scores), left, ranks), 1, self.n)


def _turned(matrix: FloatArray, directions: FloatArray) -> FloatArray:
    """Scores of which a higher one is better: a copy, which takes memory, only where one is not."""
    return matrix if (directions == 1).all() else matrix * directions
