"""What every way to find blend weights works on, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..arguments import FloatArray
from ..choices import Constraint, Noise
from ..metrics.hard import Metric
from ..metrics.prepared import PreparedQueries
from ..metrics.soft import SoftMetric
from .mix import Mix

FIT = "SoftBlender.fit"  # what everyone calls who finds blend weights, and so what errors name
METHOD_PARAMS = f"{FIT}: method_params"

# told how much of the work is done, from 0 to 1; a method calls it as often as it likes
TellShare = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Problem:
    """Find the weights w for which the scores ``scores @ w`` rank best.

    Attributes
    ----------
    scores : (n_docs, n_models), normalised: higher is better, none missing; a query's documents are adjacent.
    prepared : the labels, as the metric's kernels read them; with the queries, and ``further`` those of the mix.
    query_weight : (n_queries,)
    metric : the hard metric, to be maximised in the weighted mean over queries.
    noise : law of the noise of the soft metric.
    sigmas : of the soft metric, in spreads of the blended scores, from wide to narrow; one at least.
    constraint : "simplex" (weights of at least 0 that add up to 1), "nonnegative" (the same up to their scale, which
        ranks no differently) or "free" (of either sign, with absolute values that add up to 1).
    l2 : what the squared distance of the weights from equal ones costs the mean, already over the number of queries.
    mix : metrics to maximise beside it, under the same noise, with their weights.
    """

    scores: FloatArray
    prepared: PreparedQueries
    query_weight: FloatArray
    metric: Metric
    noise: Noise
    sigmas: tuple[float, ...]
    constraint: Constraint
    l2: float
    mix: Mix = ()

    @property
    def n_models(self) -> int:
        """Number of weights."""
        return int(self.scores.shape[1])

    @property
    def free(self) -> bool:
        """Whether weights below 0 are allowed."""
        return self.constraint == "free"

    @property
    def equal_weights(self) -> FloatArray:
        """All the same."""
        return np.full(self.n_models, 1.0 / self.n_models)

    def blend(self, weights: FloatArray) -> FloatArray:
        """The blended scores, (n_docs,)."""
        return blended(self.scores, weights)

    def hard_value(self, weights: FloatArray) -> float:
        """The metric itself, in the mean over queries, of the blend."""
        return self.prepared.mean(self.hard_values(weights), self.query_weight)

    def hard_values(self, weights: FloatArray) -> FloatArray:
        """The metric itself for each query, (n_queries,)."""
        return self.metric.evaluate(self.prepared, self.blend(weights), self.query_weight)

    def soft_value_gradient(self, weights: FloatArray, sigma: float) -> tuple[float, float, FloatArray]:
        """The metric's expectation under noise of sigma spreads, the same with the mix's, and the latter's gradient."""
        blend = self.blend(weights)
        value, slopes = self._soft(self.metric, sigma).evaluate_with_gradient(self.prepared, blend, self.query_weight)
        total = value
        for (metric, share), further in zip(self.mix, self.prepared.further, strict=True):
            if further.counted(self.query_weight).any():
                more, rising = self._soft(metric, sigma).evaluate_with_gradient(further, blend, self.query_weight)
                total, slopes = total + share * more, slopes + share * rising
        return value, total, np.einsum("ij,i->j", self.scores, slopes)

    def _soft(self, metric: Metric, sigma: float) -> SoftMetric:
        return SoftMetric(metric, noise=self.noise, sigma=sigma, sigma_unit="spread", accuracy="fast")

    def reweighted(self, query_weight: FloatArray) -> Problem:
        """The same with other weights of the queries: counts of a resample, say.

        Queries of weight 0, of which a resample has more than a third, change nothing and take as long as others: they
        are left out, unless that leaves none or the metric is pooled.
        """
        kept = query_weight > 0
        every = (self.prepared, *self.prepared.further)
        if kept.all() or not kept.any() or any(one.pooled for one in every):
            return replace(self, query_weight=query_weight)
        rows = np.flatnonzero(self.prepared.members.per_document(kept))
        scores = self.scores.T.take(rows, axis=1).T  # in memory column by column, as they were
        return replace(self, scores=scores, prepared=self.prepared.take(kept), query_weight=query_weight[kept])


@dataclass(frozen=True, eq=False)
class Stage:
    """The state after a stage of a search.

    Attributes
    ----------
    sigma : of the soft metric that was maximised, in spreads; NaN where the hard one was.
    weights : (n_models,), normalised.
    soft : the soft metric there; NaN where sigma is.
    hard : the metric itself there.
    """

    sigma: float
    weights: FloatArray
    soft: float
    hard: float


@dataclass(frozen=True, eq=False)
class Solution:
    """What a method has found.

    Attributes
    ----------
    evaluations : how often what was maximised, the soft metric or the hard one, was computed of a blend.
    path : the stages of the search; the last one is what was found.
    """

    evaluations: int
    path: tuple[Stage, ...]

    @property
    def weights(self) -> FloatArray:
        """Those found, (n_models,), normalised (:func:`unit`)."""
        return self.path[-1].weights

    @property
    def value(self) -> float:
        """The hard metric on the training queries."""
        return self.path[-1].hard


def blended(scores: FloatArray, weights: FloatArray) -> FloatArray:
    """The scores of a blend, (n_docs,): rows that are alike stay tied.

    Without BLAS: it rounds some rows another way than others, and its threads spin for a while when they are done, on
    the cores where the metric's kernels go on.
    """
    sums: FloatArray = np.einsum("ij,j->i", scores, weights)
    return sums


def unit(weights: FloatArray) -> FloatArray:
    """Weights whose absolute values add up to 1; equal ones if all are 0."""
    size = float(np.abs(weights).sum())
    return weights / size if size > 0 else np.full(weights.size, 1.0 / weights.size)
