"""The training objective of this library: the exact gradient of a soft metric and a positive curvature."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arguments import FloatArray, one_of, positive_number, set_fields, short
from ..choices import Accuracy, Hessian, Noise
from ..kernels.curvature import CONSTANT, CURVATURES, EXACT, TINY, Curvature
from ..kernels.expected import ACCURACY
from ..kernels.families import PLAIN
from ..kernels.noise import LAWS
from ..kernels.shares import Ranges
from ..kernels.sums import add_part
from ..kernels.threads import on_every_thread
from ..metrics.costs import sum_costs
from ..metrics.expectation import expectation
from ..metrics.hard import Metric
from ..metrics.prepared import PreparedQueries, prepare
from ..metrics.soft import MetricWeights, as_metric, refuse_inexact
from ..query_groups import QueryGroups, query_weights
from .base import NOTHING, NothingToLearnError, Objective, by_rows, kept_weights, refuse_rising_discount, shares
from .convex import LOSSES, checked_losses, length, one_over
from .lambdas import may_share, ranknet_and_tau

# U + L over-estimates the curvature: it counts every pull as if none met another. With a quarter of it the training
# curves at learning rates of .05 and .1 run with those of LightGBM's lambdarank (notebooks/curvature.ipynb has the
# table).
FLOW_SCALE = 0.25
_FARTHEST = 1e300  # scores from 0, in units of sigma: the difference of two is a number


@dataclass(frozen=True, init=False, repr=False)
class SoftObjective(Objective):
    r"""Maximise a soft metric: its gradient and a positive curvature per document, in the scores' units.

    Parameters
    ----------
    metric : str or Metric
        What to train on, ``"ndcg@10"`` by default: any metric with an exact expectation.
    mix : mapping from metrics to weights, optional
        What else to train on, under the same noise: ``{"kendall": 0.3}`` adds .3 times Kendall's tau to the metric.
        Gradients and curvatures are added up, each metric's times its weight.
    losses : mapping from "xendcg", "ranknet", "softmax", "listnet", "queryrmse" to weights, optional
        Convex losses to train on beside the metrics (:func:`reference_objective`, ``gamma="expected"``), on scores in
        units of sigma: at every tree, the gradient of each is made as long as that of the metrics, over all documents
        of the call (one of weight 2 is two), times its weight, and its curvature is scaled with it
        (notebooks/08_objectives.ipynb has what came of it).
    noise : "gaussian", "gumbel" or "logistic"
        The law of the noise.
    sigma : float
        Its scale in units of the scores. Training is equivariant to it: scores come out in units of sigma, and
        nothing else changes, so 1 will do; what is tuned is the learning rate.
    hessian : "flow", "exact" or "constant"
        The curvature: a quarter of U + L, where the gradient is U - L, pulls up minus pushes down, with gains
        counted from the least of the query (Notes); the negative exact diagonal, floored at \|gradient\| / sigma (under
        Gumbel and logistic noise nearly always the floor, so that all steps are of one length); or
        1 / sigma^2, which is returned as 1.
    query_weight : (n_queries,), optional
        Multiplies gradient and curvature of each query.
    accuracy : "fast", "default" or "high"
        How near the gradient is to the exact one, relative to the query's largest: 1e-4 (1e-7 is typical), 1e-6 or
        1e-10. Trees do not tell them apart; "default" is SoftMetric's and costs a quarter more.

    Raises
    ------
    TypeError, ValueError
        Naming an argument that is not as described, or a metric without an exact expectation: bpref, and map with
        ``normalizer="retrieved"``. Labels and weights are checked by :meth:`prepare`, and a query that would take more
        than ten minutes is refused as in :class:`boostsoft.SoftMetric`.

    Notes
    -----
    Returned are sigma^2 times the gradient of the **sum** over queries and sigma^2 times the curvature. The
    Newton step, their quotient, is in units of the scores; that both are free of sigma's unit keeps a booster's
    own regularisation (``lambda``, minimum Hessians) independent of sigma.

    With c the coefficients (gains, relevance, probabilities), the gradient of every metric is a sum over pairs,
    sum_j (c_m - c_j) J_mj, J >= 0; with T = sum_j J_mj and G = sum_j c_j J_mj, U + L = (c_m - 2 min c) T + G is at
    least sum_j \|c_m - c_j\| J_mj, hence at least \|gradient\|, and no step exceeds 4 sigma. Metrics of
    pairs (auc, pnr, kendall, spearman) have U and L themselves: the pulls and pushes of a document's own pairs.

    pnr is trained by its equivalent pnr / (1 + pnr), the share of pairs in order, since pnr itself is unbounded: a
    query that is nearly in order would outweigh all others. A pooled metric counts once for every query.

    A metric with a cutoff learns from the documents near the top; the whole order of a list, mixed in, steadies
    training where queries are few (notebooks/08_objectives.ipynb has the study). What is mixed in need not be able to
    learn anything from the labels, the metric itself must.

    The noise hides documents that are several sigma from their place: the exact gradient vanishes there, that of a
    convex loss does not. RankNet costs O(n^2) in the length of a list, 14 ms for 10,000 documents. Where the documents
    are spread over workers (Dask), each makes the gradients of its own part alike.

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
    mix: tuple[tuple[Metric, float], ...]
    losses: tuple[tuple[str, float], ...]
    noise: Noise
    sigma: float
    hessian: Hessian
    query_weight: tuple[float, ...] | None
    accuracy: Accuracy

    def __init__(
        self,
        metric: str | Metric = "ndcg@10",
        *,
        mix: MetricWeights | None = None,
        losses: Mapping[str, float] | None = None,
        noise: Noise = "gaussian",
        sigma: float = 1.0,
        hessian: Hessian = "flow",
        query_weight: Any = None,
        accuracy: Accuracy = "fast",
    ) -> None:
        given = metric, mix, losses, noise, sigma, hessian, query_weight, accuracy
        set_fields(self, self._checked("SoftObjective", *given))

    @staticmethod
    def _checked(
        caller: str,
        metric: Any,
        mix: Any,
        losses: Any,
        noise: Any,
        sigma: Any,
        hessian: Any,
        query_weight: Any,
        accuracy: Any,
    ) -> dict[str, Any]:
        return {
            "metric": _trainable(caller, metric),
            "mix": checked_mix(caller, mix),
            "losses": checked_losses(caller, losses),
            "noise": one_of(caller, "noise", noise, LAWS),
            "sigma": positive_number(caller, "sigma", sigma),
            "hessian": one_of(caller, "hessian", hessian, CURVATURES),
            "query_weight": kept_weights(caller, query_weight),
            "accuracy": one_of(caller, "accuracy", accuracy, ACCURACY),
        }

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), "mix": dict(self.mix) or None, "losses": dict(self.losses) or None}

    def reads(self) -> tuple[Hashable, ...]:
        """The metrics of the mix and the losses, too, whatever their weights."""
        return *super().reads(), *(metric for metric, _ in self.mix), *(name for name, _ in self.losses)

    def prepare(
        self, y_true: Any, groups: QueryGroups, *, part: bool = False, caller: str = "SoftObjective.prepare"
    ) -> PreparedQueries:
        """Check the labels once for all iterations.

        Raises
        ------
        ValueError
            If no order of any query is better than another (unless this is but ``part`` of the data), the discount
            rises or falls below 0, for which the flow is no curvature, labels do not suit the metric, or
            ``query_weight`` is not one number of at least 0 per query, some above 0.
        """
        queries = _prepared(caller, self.metric, y_true, groups)
        further = [_prepared(caller, metric, y_true, groups) for metric, _ in self.mix]
        for name, _ in self.losses:
            further.append(LOSSES[name].prepare(y_true, groups, part=True, caller=f"{caller}: losses[{name!r}]"))
        weights = query_weights(caller, self.query_weight, groups)
        if not part and not _teaches(queries, weights):
            raise NothingToLearnError(NOTHING.format(caller, f"whose order changes {short(self.metric)}"))
        further = [replace(also, spare=queries.spare) for also in further]
        return replace(queries, further=tuple(further), read_by=self.reads())

    def unchecked(
        self, queries: PreparedQueries, scores: FloatArray, row_weight: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """What ``gradient_curvature`` returns, of numbers that have been checked."""
        metrics, losses = (queries, *queries.further[: len(self.mix)]), queries.further[len(self.mix) :]
        with np.errstate(under="ignore"):  # as in by_rows
            scaled = self._in_units(scores, queries) if losses else scores
            known = self._by_one_pass(metrics, losses, scaled)
            gradient, curvature = known[queries] if queries in known else self._slopes(queries, scores)
            for (_, weight), further in zip(self.mix, metrics[1:], strict=True):
                slopes, bends = known[further] if further in known else self._slopes(further, scores)
                _add(queries, gradient, curvature, slopes, bends, weight, weight)
            gradient, curvature = by_rows(gradient, curvature, row_weight)
            if losses:
                self._add_losses(gradient, curvature, losses, scaled, row_weight, known)
            if scaled is not scores:
                queries.hand_back(scaled)
        return gradient, curvature

    def _in_units(self, scores: FloatArray, queries: PreparedQueries) -> FloatArray:
        """Scores in units of sigma, clipped so that no difference of two overflows."""
        if self.sigma == 1.0:
            return scores
        with np.errstate(over="ignore"):
            scaled = np.divide(scores, self.sigma, out=queries.array())
        return np.clip(scaled, -_FARTHEST, _FARTHEST, out=scaled)

    def _by_one_pass(
        self, metrics: tuple[PreparedQueries, ...], losses: tuple[PreparedQueries, ...], scores: FloatArray
    ) -> dict[PreparedQueries, tuple[FloatArray, FloatArray]]:
        """What RankNet's pass over all pairs gives: its own gradient and curvature, and those of a metric like tau."""
        names = [name for name, _ in self.losses]
        if self.noise != "gumbel" or self.hessian == "exact" or "ranknet" not in names:
            return {}
        ranknet = losses[names.index("ranknet")]
        tau = next((metric for metric in metrics if may_share(metric, ranknet)), None)
        if tau is None:
            return {}
        own, also = ranknet_and_tau(ranknet, tau, scores, self._wanted(tau))
        return {ranknet: own, tau: also}

    def _add_losses(
        self,
        gradient: FloatArray,
        curvature: FloatArray,
        losses: tuple[PreparedQueries, ...],
        scores: FloatArray,
        row_weight: FloatArray | None,
        known: Mapping[PreparedQueries, tuple[FloatArray, FloatArray]],
    ) -> None:
        """Add the losses, each made as long as the gradient is: by what weighs something only.

        Scores in units of sigma; gradient and curvature that are known already lack the weights only.
        """
        share = shares(losses[0], self.query_weight)
        if row_weight is not None:
            share = row_weight if share is None else share * row_weight
        inverse = one_over(share)
        wanted = length(gradient, inverse)
        for (name, weight), queries in zip(self.losses, losses, strict=True):
            if queries in known:
                slopes, bends = by_rows(*known[queries], share)
            else:
                slopes, bends = LOSSES[name].unchecked(queries, scores, share)
            own = length(slopes, inverse)
            if own == 0.0:
                queries.hand_back(slopes, bends)
            else:
                scale = weight * wanted / own
                _add(queries, gradient, curvature, slopes, bends, scale, scale / self.sigma)  # which is free of sigma

    def _slopes(self, queries: PreparedQueries, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradient and curvature of one metric, times the queries' weights."""
        weights = query_weights(queries.caller, self.query_weight, queries.members)
        queries = queries.weigh(weights)
        wanted = self._wanted(queries)
        derive = 2 if wanted.kind == EXACT else 1
        found = expectation(queries, scores, self.noise, self.sigma, self.accuracy, derive, wanted)
        if queries.pooled and wanted.kind == CONSTANT:  # to the kernels all documents are one query
            return found.gradient, np.maximum(queries.members.per_document(weights), TINY)
        return found.gradient, found.push

    def _wanted(self, queries: PreparedQueries) -> Curvature:
        """Which curvature, and what it is multiplied by in every query."""
        weights = query_weights(queries.caller, self.query_weight, queries.members)
        if queries.pooled:
            weights = np.full(1, float(weights.sum()))
        share = np.where(queries.empty, 0.0, weights) / queries.divisor
        # in metrics of pairs and plain ones the kernels have counted from the least gain already
        counted = queries.pairwise or queries.family == PLAIN
        least = np.zeros(weights.size) if counted else queries.groups.smallest(queries.gains, 0.0)
        return Curvature(CURVATURES[self.hessian], FLOW_SCALE, self.sigma, share, weights, least)


def _add(
    queries: PreparedQueries,
    gradient: FloatArray,
    curvature: FloatArray,
    slopes: FloatArray,
    bends: FloatArray,
    weight: float,
    bend_weight: float,
) -> None:
    """Add a part, which is nobody else's and is handed back, times its weights."""

    def run(ranges: Ranges) -> None:
        add_part(gradient, curvature, slopes, bends, weight, bend_weight, queries.groups.offsets, ranges)

    on_every_thread(run, queries.work(sum_costs))
    queries.hand_back(slopes, bends)


def _trainable(caller: str, metric: Any) -> Metric:
    hard = as_metric(caller, metric, {})
    refuse_inexact(caller, hard, "train on another metric, ndcg or map say, and watch this one")
    if isinstance(hard.discount, tuple):  # of a function only the data's ranks tell
        deepest = max(hard.k) if isinstance(hard.k, tuple) else hard.k
        refuse_rising_discount(caller, hard, np.array(hard.discount[:deepest]))
    return hard


def checked_mix(caller: str, mix: Any) -> tuple[tuple[Metric, float], ...]:
    """Metrics with exact expectations and their weights, from a mapping or None."""
    if mix is None:
        return ()
    if not isinstance(mix, Mapping):
        raise TypeError(f"{caller}: mix must be a mapping from metrics to weights; got {short(mix)}")
    found: dict[Metric, float] = {}
    for given, weight in mix.items():
        metric = _trainable(f"{caller}: mix", given)  # by its name or not, it is one metric
        found[metric] = found.get(metric, 0.0) + positive_number(caller, f"mix[{given!r}]", weight)
    return tuple(found.items())


def _prepared(caller: str, metric: Metric, y_true: Any, groups: QueryGroups) -> PreparedQueries:
    queries = prepare(metric, caller, y_true, groups)
    refuse_rising_discount(caller, metric, queries.discount[:-1])  # the last one is behind the deepest rank
    return queries.sorted_by_gain() if queries.pairwise else queries


def _teaches(queries: PreparedQueries, weights: FloatArray) -> bool:
    """Whether some order of documents of queries that weigh is better than another."""
    if not queries.pooled:
        return bool(np.any(_learnable(queries) & (weights > 0)))
    gains = queries.gains[queries.members.per_document(weights) > 0]
    return bool(gains.size and gains.min() < gains.max())


def _learnable(queries: PreparedQueries) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Queries with documents of different gain whose first and last ranks count differently, (n_queries,)."""
    sizes, discount, differ = queries.groups.sizes, queries.discount, queries.groups.differ(queries.gains)
    if queries.pairwise:
        return differ
    last = np.where(sizes > queries.cutoffs, 0.0, discount[np.clip(sizes - 1, 0, discount.size - 1)])
    learnable: np.ndarray[Any, np.dtype[np.bool_]] = differ & (discount[0] > last) & ~queries.empty
    return learnable
