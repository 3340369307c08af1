"""Reciprocal rank fusion: a blend without training."""

from __future__ import annotations

import numpy as np

from ...arguments import FloatArray
from ...query_groups import QueryGroups
from ..scores import mean_ranks

_K = 60.0  # how slowly a rank loses its weight; the source's


def reciprocal_ranks(matrix: FloatArray, groups: QueryGroups) -> FloatArray:
    """1 / (60 + rank) of each document in its query, model by model; 0 where a model has no score.

    Their sum over the models is reciprocal rank fusion: what equal weights make of them. Tied documents share the
    mean of their ranks.

    Source: Cormack, Clarke and Büttcher 2009, Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods.

    Parameters
    ----------
    matrix : (n_docs, n_models)
        Scores, higher is better, NaN where there is none.
    groups : QueryGroups
        Which documents belong to which query.

    Examples
    --------
    >>> from boostsoft import QueryGroups
    >>> scores = np.array([[3.0], [1.0], [np.nan]])
    >>> 1 / reciprocal_ranks(scores, QueryGroups.from_sizes([3]))[:2, 0]
    array([61., 62.])
    """
    shares = np.zeros(matrix.shape, order="F")
    for column in range(matrix.shape[1]):
        scores = np.ascontiguousarray(matrix[:, column])
        shares[:, column] = reciprocals(scores, mean_ranks(scores, groups))
    return shares


def reciprocals(scores: FloatArray, ranks: FloatArray) -> FloatArray:
    """The same of one model, whose ranks are known."""
    return np.where(np.isnan(scores), 0.0, 1.0 / (_K + ranks))
