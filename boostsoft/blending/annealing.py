"""Which sigmas to go through, by the number of training queries."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..metrics.prepared import PreparedQueries
from ..query_groups import FloatArray, as_array, positive_number

# of sigma = FACTOR n^(-1/5), at most WIDEST: what did best on held-out queries of MQ2007-agg, MQ2008-agg and
# TREC-robust03 is .6 to .8 at 50 training queries and .5 from 470 to 1,000
FACTOR, WIDEST = 1.75, 1.0


def sigmas(caller: str, sigma: Any, prepared: PreparedQueries, query_weight: FloatArray) -> tuple[float, ...]:
    """The sigmas to go through, in spreads of the blended scores: those given, or the automatic one and its double."""
    if isinstance(sigma, str):
        if sigma != "auto":
            raise ValueError(f"{caller}: sigma must be 'auto', a number or falling numbers; got {sigma!r}")
        narrow = automatic_sigma(counting_queries(prepared, query_weight))
        return (2.0 * narrow, narrow)
    if np.ndim(sigma) == 0:
        return (positive_number(caller, "sigma", sigma),)
    given = tuple(positive_number(caller, "sigma", value) for value in as_array(caller, "sigma", sigma).tolist())
    if not given or any(narrow >= wide for wide, narrow in pairwise(given)):
        raise ValueError(f"{caller}: sigma must fall from stage to stage; got {sigma!r}")
    return given


def automatic_sigma(n_queries: float) -> float:
    r"""1.75 n^(-1/5), at most 1: in spreads of the blended scores.

    n^(-1/5) is how the bandwidth of a smoothed step function falls with the data (Horowitz 1992, A smoothed maximum
    score estimator); the factor is from held-out queries.

    >>> round(automatic_sigma(50), 3), round(automatic_sigma(1000), 3)
    (0.8, 0.44)
    """
    return float(min(WIDEST, FACTOR * max(n_queries, 1.0) ** -0.2))


def counting_queries(prepared: PreparedQueries, query_weight: FloatArray) -> float:
    """Number of queries that tell rankings apart, of equal weight; (sum w)^2 / sum w^2 of unequal ones."""
    idle = prepared.empty.all() if prepared.pooled else prepared.empty
    weights = np.where(idle, 0.0, query_weight)
    weights = weights / (float(weights.max(initial=0.0)) or 1.0)
    return float(weights.sum() ** 2 / (float((weights**2).sum()) or 1.0))
