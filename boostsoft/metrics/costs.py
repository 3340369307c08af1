"""What the kernels cost per query, in nanoseconds on one core, and the refusal of what would take too long.

Rough models, measured on the machines of 2025 from 2 to 30,000 documents, mostly within a factor of 2, at
``accuracy="high"`` of 4. They share the work between threads, say whether a second thread pays, and tell minutes from
hours.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..arguments import FloatArray, IntArray
from ..kernels.families import MARKED
from ..kernels.workspace import BY_ODDS, CASCADES, MIXED, MOST_CROWD, ODDS

if TYPE_CHECKING:
    from .prepared import PreparedQueries

# A query that would take longer, with its gradient, on one core is refused.
LIMIT_SECONDS = 600.0
# Documents of a query whose pairs are all kept: 800 MB.
MOST_PAIRED = 10_000
# Documents further apart, in units of sigma, do not change places, and none is seen by a node that far away.
_REACH = {"gaussian": 9.0, "gumbel": 42.0, "logistic": 42.0}
_PAIR_REACH = {"gaussian": 12.5, "gumbel": 42.0, "logistic": 42.0}


def hard_costs(queries: PreparedQueries) -> FloatArray:
    """Of hard metrics, pairwise ones included: the time it takes to sort."""
    sizes = queries.groups.sizes.astype(np.float64)
    return 200.0 + 7.0 * sizes * np.log2(sizes + 1.0)


def exact_costs(queries: PreparedQueries, engines: NDArray[np.int8]) -> FloatArray:
    """Of the exact expectation with its derivatives, by the engine of each query."""
    sizes = queries.groups.sizes.astype(np.float64)
    if queries.pairwise:
        return 500.0 + sizes * np.minimum(sizes, 500.0)
    ranks = np.minimum(queries.cutoffs, sizes)
    by_odds = 3e3 + 45.0 * ranks**2 + (100.0 + 4.0 * ranks) * sizes
    few = (engines == ODDS) & (sizes <= MOST_CROWD)
    by_rows = 2e3 + sizes * _per_document(queries.cutoffs, sizes, queries.smooth, queries.family)
    cascades = 2e3 + (2000.0 if queries.family == MARKED else 1000.0) * sizes
    engine = [few, np.isin(engines, BY_ODDS), engines == MIXED, engines == CASCADES]
    costs = [400.0 + sizes * (120.0 + 12.0 * ranks), by_odds, 3e3 + 900.0 * sizes, cascades]
    return np.select(engine, costs, by_rows)


def softrank_costs(queries: PreparedQueries) -> FloatArray:
    """Of SoftRank's value with its derivatives: every document goes over every other."""
    sizes = queries.groups.sizes.astype(np.float64)
    return 1e3 + 1.5 * sizes**2 * np.minimum(queries.cutoffs, sizes)


def sampled_costs(queries: PreparedQueries, n_samples: int) -> FloatArray:
    """Of the mean over draws of the noise."""
    return 2e4 + 60.0 * n_samples * queries.groups.sizes.astype(np.float64)


def lambda_costs(queries: PreparedQueries, depth: int) -> FloatArray:
    """Of LambdaRank's pairs."""
    sizes = queries.groups.sizes.astype(np.float64)
    return 1e3 + 13.0 * sizes * np.minimum(sizes, depth)


def ranknet_costs(queries: PreparedQueries) -> FloatArray:
    """Of RankNet's: all pairs, eight at a time."""
    sizes = queries.groups.sizes.astype(np.float64)
    return 500.0 + 10.0 * sizes + 0.3 * sizes**2


def sum_costs(queries: PreparedQueries) -> FloatArray:
    """Of adding something to two numbers of every document."""
    return 1.0 + 1.7 * queries.groups.sizes.astype(np.float64)


def listwise_costs(queries: PreparedQueries) -> FloatArray:
    """Of a softmax over every list."""
    return 100.0 + 20.0 * queries.groups.sizes.astype(np.float64)


def soft_lambda_costs(queries: PreparedQueries) -> FloatArray:
    """Of expected discount differences: every pair of documents at every rank, if all are within reach."""
    sizes = queries.groups.sizes.astype(np.float64)
    ranks = np.minimum(queries.cutoffs, sizes)
    beyond_caches = np.clip(ranks / 25.0, 1.0, 8.0)
    return 25e3 + 5.0 * beyond_caches * sizes**2 * (ranks + 4.0)


def refuse_long_pairs(caller: str, queries: PreparedQueries) -> None:
    """Raise if the pairs of one query would take too long, or too much memory, to go through at every rank."""
    sizes = queries.groups.sizes
    if np.any(sizes > MOST_PAIRED):
        at = int(np.argmax(sizes))
        raise ValueError(
            f"{caller}: a query must have at most {MOST_PAIRED} documents, since all their pairs are kept; "
            f"got {sizes[at]} for query {at}"
        )
    refuse_slow(
        f"{caller}: metric must have a smaller cutoff", queries, soft_lambda_costs(queries), f"{queries.metric}@10"
    )


def refuse_slow(rule: str, queries: PreparedQueries, costs: FloatArray, remedy: str) -> None:
    """Raise if one query would take longer than ``LIMIT_SECONDS``, whatever its scores are."""
    if np.any(costs > LIMIT_SECONDS * 1e9):
        at = int(np.argmax(costs))
        raise ValueError(
            f"{rule} for a query this long: query {at}, n = {queries.groups.sizes[at]} documents, would take about "
            f"{_spoken(1e-9 * float(costs[at]))} on one core, and {_spoken(LIMIT_SECONDS)} is the limit; take {remedy}"
        )


def _per_document(cutoffs: IntArray | int, crowd: FloatArray, smooth: bool, family: int) -> FloatArray:
    """A document's cost among so many within reach: nodes times the ranks that it may have.

    Nodes close up to the width of an order statistic if a cutoff lies among these documents, more so where a discount
    may jump at any rank. The count of documents above a node varies by the square root of their number, and so many
    ranks are carried on, in average precision twice as many ways.
    """
    inner = np.minimum(cutoffs, crowd)
    whole = 5.0 * np.log(np.maximum(crowd, 1.0)) if smooth else 12.0 * np.sqrt(inner)
    nodes = 45.0 + np.where(inner < crowd, 3.0 * np.sqrt(inner), whole)
    return (4.0 if family == MARKED else 1.2) * nodes * (np.minimum(inner, 4.0 * np.sqrt(crowd)) + 4.0)


def refuse_long(
    queries: PreparedQueries, costs: FloatArray, scores: FloatArray, noise: str, sigma: float, ranks: str
) -> None:
    """Raise if one query would take longer than ``LIMIT_SECONDS``: its n documents times k ranks are too many."""
    for q in np.flatnonzero(costs > LIMIT_SECONDS * 1e9):
        own = scores[int(queries.groups.offsets[q]) : int(queries.groups.offsets[q + 1])]
        cutoff = int(queries.cutoffs[q])
        seconds = _seconds(cutoff, own, queries.smooth, queries.family, noise, sigma, ranks)
        if not queries.pairwise and seconds > LIMIT_SECONDS:
            remedy = f"{queries.metric}@10" + (", or ranks='exact', which costs less" if ranks == "softrank" else "")
            raise ValueError(
                f"{queries.caller}: metric must have a cutoff, or a smaller one, for a query this long: "
                f"{queries.metric} of query {q}, n = {own.size} documents x k = {min(cutoff, own.size)} ranks, would "
                f"take about {_spoken(seconds)} on one core, and {_spoken(LIMIT_SECONDS)} is the limit; take {remedy}"
            )


def _seconds(cutoff: int, scores: FloatArray, smooth: bool, family: int, noise: str, sigma: float, ranks: str) -> float:
    """Of one query, from its scores: documents out of each other's reach do not add to each other's cost."""
    if ranks == "softrank":
        crowd = _within(sigma * _PAIR_REACH[noise], scores)
        return float(1.5e-9 * (crowd * np.minimum(cutoff, crowd)).sum())
    crowd = _within(sigma * _REACH[noise], scores)
    return float(1e-9 * _per_document(cutoff, crowd, smooth, family).sum())


def _within(reach: float, scores: FloatArray) -> FloatArray:
    """For each score the number of those so near to it, itself included."""
    ordered = np.sort(scores)
    with np.errstate(over="ignore"):
        low, high = ordered - reach, ordered + reach
    return (np.searchsorted(ordered, high, side="right") - np.searchsorted(ordered, low)).astype(np.float64)


def _spoken(seconds: float) -> str:
    hours = seconds / 3600.0
    return f"{hours:.3g} hours" if hours >= 2.0 else f"{math.ceil(seconds / 60.0)} minutes"
