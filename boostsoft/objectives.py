"""Training objectives: the gradient of a soft metric and a positive curvature, both summed over queries.

``SoftObjective`` is this library's; ``LambdaObjective`` gives LightGBM's LambdaRank and RankNet, for comparison.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from .kernels.curvature import CURVATURES, EXACT, curvature_queries
from .kernels.expected import ACCURACY
from .kernels.families import PLAIN
from .kernels.lambdas import lambda_queries
from .kernels.noise import LAWS
from .kernels.threads import over_queries
from .metrics.costs import lambda_costs
from .metrics.expectation import Expectation, expectation
from .metrics.hard import Metric
from .metrics.prepared import PreparedQueries, prepare
from .metrics.soft import as_metric, refuse_inexact
from .metrics.spec import DISCOUNTS
from .query_groups import (
    FloatArray,
    QueryGroups,
    finite_vector,
    one_of,
    positive_number,
    query_weights,
    whole_number,
)

# U + L over-estimates the curvature: it counts every pull as if none met another. With a quarter of it the training
# curves at learning rates of .05 and .1 run with those of LightGBM's lambdarank (the README has the table).
FLOW_SCALE = 0.25
_TINY = 1e-12
LAMBDA_KINDS = ("lambdarank", "ranknet")
_NOTHING = "{}: there is nothing to learn: no query (of positive weight) has documents whose order changes {}"


class NothingToLearnError(ValueError):
    """No order of the documents is better than another."""


class Objective(Protocol):
    """What the boosters' adapters ask of an objective."""

    def prepare(self, y_true: Any, groups: QueryGroups, *, part: bool = False) -> PreparedQueries:
        """Check the labels once for all iterations; ``part`` of the data may have nothing to learn."""
        ...

    def gradient_curvature(self, queries: PreparedQueries, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The direction to raise each score in, and a positive curvature, each (n_docs,)."""
        ...


@dataclass(frozen=True, init=False, eq=True)
class SoftObjective:
    r"""Maximise a soft metric: its gradient and a positive curvature per document, in the scores' units.

    Parameters
    ----------
    metric : str or Metric
        What to train on, ``"ndcg@10"`` by default: any metric with an exact expectation.
    noise : "gaussian", "gumbel" or "logistic"
        The law of the noise.
    sigma : float
        Its scale in units of the scores. Training is equivariant to it: scores come out in units of sigma, and
        nothing else changes, so 1 will do; what is tuned is the learning rate.
    hessian : "flow", "exact" or "constant"
        The curvature: a quarter of U + L, where the gradient is U - L, pulls up minus pushes down, with gains
        counted from the least of the query (Notes); the negative exact diagonal, floored at \|gradient\| / sigma (under
        Gumbel and logistic noise nearly always the floor, so that all steps are of one length); or 1.
    query_weight : (n_queries,), optional
        Multiplies gradient and curvature of each query.
    accuracy : "fast", "default" or "high"
        How near the gradient is to the exact one, relative to the query's largest: 1e-4 (1e-8 is typical), 1e-6 or
        1e-10. Trees do not tell them apart; "default" is SoftMetric's and costs a quarter more.

    Notes
    -----
    Returned are sigma^2 times the gradient of the **sum** over queries and sigma^2 times the curvature. The
    Newton step, their quotient, is in units of the scores; that both are free of sigma's unit keeps a booster's
    own regularisation (``lambda``, minimum Hessians) independent of sigma.

    With c the coefficients (gains, relevance, probabilities), the gradient of every metric is a sum over pairs,
    sum_j (c_m - c_j) J_mj, J >= 0; with T = sum_j J_mj and G = sum_j c_j J_mj, U + L = (c_m - 2 min c) T + G is at
    least sum_j \|c_m - c_j\| J_mj, hence at least \|gradient\|, and no step exceeds sigma / FLOW_SCALE. Metrics of
    pairs (auc, pnr, kendall, spearman) have U and L themselves: the pulls and pushes of a document's own pairs.

    pnr is trained by its equivalent pnr / (1 + pnr), the share of pairs in order, since pnr itself is unbounded: a
    query that is nearly in order would outweigh all others. A pooled metric counts once for every query.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import QueryGroups
    >>> from boostsoft.objectives import SoftObjective
    >>> objective = SoftObjective("ndcg@10")
    >>> queries = objective.prepare([1, 0], QueryGroups.from_sizes([2]))
    >>> gradient, curvature = objective.gradient_curvature(queries, np.zeros(2))
    >>> bool(gradient[0] > 0 and abs(gradient.sum()) < 1e-6 and (curvature > 0).all())
    True
    """

    metric: Metric
    noise: str
    sigma: float
    hessian: str
    query_weight: tuple[float, ...] | None
    accuracy: str

    def __init__(
        self,
        metric: str | Metric = "ndcg@10",
        *,
        noise: str = "gaussian",
        sigma: float = 1.0,
        hessian: str = "flow",
        query_weight: Any = None,
        accuracy: str = "fast",
    ) -> None:
        caller = "objective"
        hard = as_metric(caller, metric, {})
        refuse_inexact(caller, hard, "train on another metric, ndcg or map say, and watch this one")
        checked = {
            "metric": hard,
            "noise": one_of(caller, "noise", noise, LAWS),
            "sigma": positive_number(caller, "sigma", sigma),
            "hessian": one_of(caller, "hessian", hessian, CURVATURES),
            "query_weight": _kept_weights(caller, query_weight),
            "accuracy": one_of(caller, "accuracy", accuracy, ACCURACY),
        }
        for field, value in checked.items():
            object.__setattr__(self, field, value)

    def prepare(self, y_true: Any, groups: QueryGroups, *, part: bool = False) -> PreparedQueries:
        """Check the labels once for all iterations.

        Raises
        ------
        ValueError
            If no order of any query is better than another (unless this is but ``part`` of the data), or the
            discount rises or falls below 0, for which the flow is no curvature.
        """
        queries = prepare(self.metric, "objective", y_true, groups)
        depth = 1 if queries.pairwise else int(np.minimum(queries.cutoffs, groups.sizes).max(initial=1))
        discount = queries.discount[:depth]
        if np.any(np.diff(discount) > 0) or discount[-1] < 0:
            raise ValueError(
                "objective: the discount must not rise with the rank nor be negative; "
                f"got {discount[:5].tolist()} ... for {self.metric!r}"
            )
        weights = query_weights("objective", self.query_weight, groups)
        if not part and not np.any(_learnable(queries) & (queries.pooled | (weights > 0))):
            raise NothingToLearnError(_NOTHING.format("objective", repr(self.metric)))
        return queries

    def gradient_curvature(self, queries: PreparedQueries, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sigma^2 times the gradient of the summed metric, and the positive curvature, each (n_docs,)."""
        weights = query_weights("objective", self.query_weight, queries.members)
        queries = queries.weigh(weights)
        if queries.pooled:
            weights = np.full(1, float(weights.size))
        share = np.where(queries.empty, 0.0, weights) / queries.divisor
        # in metrics of pairs and plain ones the kernels have counted from the least gain already
        counted = queries.pairwise or queries.family == PLAIN
        least = np.zeros(weights.size) if counted else _over_queries(np.minimum, queries)
        kind = CURVATURES[self.hessian]

        def finish(begin: int, end: int, found: Expectation) -> None:
            curvature_queries(
                kind, FLOW_SCALE, found.gradient, found.push, found.hessian, queries.gains, least,
                queries.groups.offsets, share, weights, begin, end,
            )  # fmt: skip

        derive = 2 if kind == EXACT else 1
        found = expectation(queries, scores, self.noise, self.sigma, self.accuracy, derive, finish)
        found.gradient[:] *= self.sigma
        return found.gradient, found.push


def _kept_weights(caller: str, weights: Any) -> tuple[float, ...] | None:
    """Query weights as an objective keeps them: a value that compares and hashes."""
    return None if weights is None else tuple(finite_vector(caller, "query_weight", weights).tolist())


def _over_queries(reduce: np.ufunc, queries: PreparedQueries) -> FloatArray:
    """The least or the largest gain of each query, 0 for one without documents."""
    reduced = np.zeros(queries.groups.n_queries)
    filled = np.flatnonzero(queries.groups.sizes > 0)
    if filled.size:
        reduced[filled] = reduce.reduceat(queries.gains, queries.groups.offsets[filled])
    return reduced


def _learnable(queries: PreparedQueries) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Queries with documents of different gain whose first and last ranks count differently, (n_queries,)."""
    sizes, discount = queries.groups.sizes, queries.discount
    spread = _over_queries(np.maximum, queries) - _over_queries(np.minimum, queries)
    if queries.pairwise:
        return np.asarray(spread > 0)
    last = np.where(sizes > queries.cutoffs, 0.0, discount[np.clip(sizes - 1, 0, discount.size - 1)])
    learnable: np.ndarray[Any, np.dtype[np.bool_]] = (spread > 0) & (discount[0] > last) & ~queries.empty
    return learnable


@dataclass(frozen=True, init=False, eq=True)
class LambdaObjective:
    r"""LambdaRank, as LightGBM's ``lambdarank`` computes it, or RankNet (Burges 2010): references to compare with.

    Parameters
    ----------
    kind : "lambdarank" or "ranknet"
        Pairs weighed by the NDCG that swapping them would change, or all alike.
    truncation_level : int
        Of lambdarank: a pair counts if one of its documents is among so many first ranks, and the ideal DCG is cut
        off there (LightGBM's ``lambdarank_truncation_level``).
    norm : bool
        Of lambdarank: LightGBM's ``lambdarank_norm``, which divides a pair's weight by .01 + its score distance and
        scales a query's sums.
    sigmoid : float
        Steepness of the logistic slope (LightGBM's ``sigmoid``).
    gain : "exp2", "linear", table or callable
        Gain of a label (LightGBM's ``label_gain``), at least 0 and rising with the label.
    query_weight : (n_queries,), optional
        Multiplies gradient and curvature of each query.

    Notes
    -----
    Gradient and curvature equal LightGBM's to 1e-6 of the largest: its table of the logistic function, 2^20 steps
    over 50 / sigmoid, is read the same way, and it adds up in float32. The cost is O(truncation_level x n).

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import QueryGroups
    >>> from boostsoft.objectives import LambdaObjective
    >>> objective = LambdaObjective("ranknet")
    >>> queries = objective.prepare([1, 0], QueryGroups.from_sizes([2]))
    >>> gradient, curvature = objective.gradient_curvature(queries, np.zeros(2))
    >>> gradient, curvature
    (array([ 0.5, -0.5]), array([0.25, 0.25]))
    """

    kind: str
    truncation_level: int
    norm: bool
    sigmoid: float
    metric: Metric
    query_weight: tuple[float, ...] | None

    def __init__(
        self,
        kind: str = "lambdarank",
        *,
        truncation_level: int = 30,
        norm: bool = True,
        sigmoid: float = 1.0,
        gain: Any = "exp2",
        query_weight: Any = None,
    ) -> None:
        caller = "lambda_objective"
        depth = whole_number(caller, "truncation_level", truncation_level, 1)
        if not isinstance(norm, (bool, np.bool_)):
            raise TypeError(f"{caller}: norm must be True or False; got {norm!r}")
        checked = {
            "kind": one_of(caller, "kind", kind, LAMBDA_KINDS),
            "truncation_level": depth,
            "norm": bool(norm),
            "sigmoid": positive_number(caller, "sigmoid", sigmoid),
            "metric": Metric("ndcg", k=depth, gain=gain),
            "query_weight": _kept_weights(caller, query_weight),
        }
        for field, value in checked.items():
            object.__setattr__(self, field, value)

    def prepare(self, y_true: Any, groups: QueryGroups, *, part: bool = False) -> PreparedQueries:
        """Check the labels once for all iterations.

        Raises
        ------
        ValueError
            If a higher label has a lower gain, or no query has documents of different gain (unless this is but
            ``part`` of the data).
        """
        queries = prepare(self.metric, "lambda_objective", y_true, groups)
        order = np.argsort(np.asarray(y_true), kind="stable")
        if np.any(np.diff(queries.gains[order]) < 0):
            raise ValueError(f"lambda_objective: gain must not fall with the label; got {self.metric.gain!r}")
        weights = query_weights("lambda_objective", self.query_weight, groups)
        spread = _over_queries(np.maximum, queries) - _over_queries(np.minimum, queries)
        if not part and not np.any((spread > 0) & (weights > 0)):
            raise NothingToLearnError(_NOTHING.format("lambda_objective", f"gain {self.metric.gain!r}"))
        longest = int(groups.sizes.max(initial=1))
        discount = np.array(DISCOUNTS["log2"](np.arange(1.0, longest + 1.0)))
        return replace(queries, discount=discount)  # of every rank, also behind the truncation

    def gradient_curvature(self, queries: PreparedQueries, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The direction to raise each score in, and the positive curvature, each (n_docs,)."""
        weights = query_weights("lambda_objective", self.query_weight, queries.groups)
        gradient, curvature = np.zeros(scores.size), np.zeros(scores.size)
        by_metric = self.kind == "lambdarank"
        depth = self.truncation_level if by_metric else max(int(queries.groups.sizes.max(initial=1)), 1)
        inverse_ideal = 1.0 / queries.divisor

        def run(begin: int, end: int) -> None:
            lambda_queries(
                by_metric, scores, queries.gains, queries.groups.offsets, inverse_ideal, queries.discount, depth,
                self.norm and by_metric, self.sigmoid, begin, end, gradient, curvature,
            )  # fmt: skip

        over_queries(run, lambda_costs(queries, depth))
        share = queries.groups.per_document(weights)
        return gradient * share, np.maximum(curvature * share, _TINY)
