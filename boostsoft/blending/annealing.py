"""Which sigmas to go through, by the number of training queries and the length of their lists."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import ndtri

from ..arguments import FloatArray, as_array, positive_number, refuse_other_text, short
from ..metrics.prepared import PreparedQueries
from ..query_means import effective_number, relative_weights
from .scores import normal_scores

# of sigma = FACTOR n^(-1/5), at most WIDEST: what did best on held-out queries of MQ2007-agg and MQ2008-agg, lists of
# some 40 and 20 documents, is .6 to .8 at 50 training queries and .5 from 470 to 1,000
FACTOR, WIDEST = 1.75, 1.0
_QUARTER_TO_HALF = float(ndtri(0.75))


def sigmas(caller: str, sigma: Any, prepared: PreparedQueries, query_weight: FloatArray) -> tuple[float, ...]:
    """The sigmas to go through, in spreads of the blended scores: those given, or the automatic one and its double."""
    if isinstance(sigma, str):
        refuse_other_text(caller, "sigma", sigma, "a number or falling numbers")
        narrow = automatic_sigma(prepared, query_weight)
        return (2.0 * narrow, narrow)
    if np.ndim(sigma) == 0:
        return (positive_number(caller, "sigma", sigma),)
    given = tuple(positive_number(caller, "sigma", value) for value in as_array(caller, "sigma", sigma).tolist())
    if not given or any(narrow >= wide for wide, narrow in pairwise(given)):
        raise ValueError(f"{caller}: sigma must fall from stage to stage; got {short(sigma)}")
    return given


def automatic_sigma(prepared: PreparedQueries, query_weight: FloatArray) -> float:
    r"""1.75 n^(-1/5), at most 1, times how little scores crowd at the cutoff: in spreads of the blended scores.

    n^(-1/5), of the queries that count, is how the bandwidth of a smoothed step function falls with the data (Horowitz
    1992, A smoothed maximum score estimator); the factor is from held-out queries.
    """
    by_queries = FACTOR * max(counting_queries(prepared, query_weight), 1.0) ** -0.2
    return float(min(WIDEST, by_queries) * room_at_cutoff(prepared, query_weight))


def room_at_cutoff(prepared: PreparedQueries, query_weight: FloatArray) -> float:
    r"""How far scores around the cutoff lie apart, at most 1: the mean over queries.

    Of a query: the distance of the k-th from the 2k-th of n normal scores, relative to that of the upper quarter from
    the half. Of 40 documents, 10 are a quarter; among 500, the first ten and twenty are half as far apart, and the same
    noise would bring documents from far below among the first ten.
    """
    n, k = prepared.groups.sizes.astype(np.float64), prepared.cutoffs.astype(np.float64)
    long = n > 4 * k
    room = np.ones(n.size)
    gap = normal_scores(k[long], n[long]) - normal_scores(2 * k[long], n[long])
    room[long] = np.minimum(gap / _QUARTER_TO_HALF, 1.0)
    weights = _counted(prepared, query_weight)
    return float((weights * room).sum() / (float(weights.sum()) or 1.0))


def counting_queries(prepared: PreparedQueries, query_weight: FloatArray) -> float:
    """Number of queries that tell rankings apart; of unequal weights, of as many equal ones."""
    return effective_number(_counted(prepared, query_weight))


def several_count(prepared: PreparedQueries, query_weight: FloatArray) -> bool:
    """Whether more than one query tells rankings apart, so that other draws of the queries would be others."""
    return int(np.count_nonzero(_counted(prepared, query_weight))) > 1


def share_of_a_query(prepared: PreparedQueries, query_weight: FloatArray) -> float:
    """Share in the metric's mean of one query that tells rankings apart: 1 / n unless others count, as 0 or 1."""
    counted = prepared.counted(query_weight)
    telling = float(np.where(prepared.empty, 0.0, counted).sum()) / float(counted.sum())
    return telling / counting_queries(prepared, query_weight)


def _counted(prepared: PreparedQueries, query_weight: FloatArray) -> FloatArray:
    """Weights of the queries that tell rankings apart, 0 of the others, in units of the largest."""
    return relative_weights(np.where(prepared.empty, 0.0, query_weight))  # one for all queries if the metric is pooled
