"""LambdaRank with soft deltas: pairs weighed by what their order is expected to change under noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import FloatArray, as_flag, one_of, positive_number, set_fields, short
from ..choices import Accuracy, Noise
from ..kernels.expected import ACCURACY
from ..kernels.families import PLAIN
from ..kernels.noise import LAWS
from ..kernels.soft_deltas import soft_lambda_queries
from ..kernels.threads import over_queries
from ..metrics.costs import refuse_long_pairs, soft_lambda_costs
from ..metrics.hard import Metric
from ..metrics.prepared import PreparedQueries
from ..metrics.registry import REGISTRY
from ..metrics.soft import as_metric
from ..query_groups import QueryGroups
from .base import Objective, kept_weights, read_labels, refuse_rising_discount, weighted


@dataclass(frozen=True, init=False, repr=False)
class SoftLambdaObjective(Objective):
    r"""LambdaRank (Burges 2010) with E\|delta metric\| under noise in place of the change at the present ranks.

    With R_i the random rank of document i by the noisy scores s + sigma eps, and p_ij = 1 / (1 +
    exp(sigmoid (s_i - s_j))), i the one of more gain,

        direction_i = sum over j of (g_i - g_j) sigmoid p_ij E\|D(R_i) - D(R_j)\| / divisor:

    a pair weighs what swapping the two would change in a noisy ranking, averaged over all of them.

    Parameters
    ----------
    metric : str or Metric
        A sum of gain x discount over ranks, ``"ndcg@10"`` by default: dcg, ndcg, cg, precision, recall, f1 or rbp.
    noise : "gaussian", "gumbel" or "logistic"
        The law of the noise.
    sigma : float
        Its scale in units of the scores. As it falls to 0, the deltas become those of the present ranks.
    sigmoid : float
        Steepness of the logistic slope; it does not follow sigma.
    norm : bool
        Divide a pair's weight by .01 + its score distance and scale a query's sums, as LightGBM's
        ``lambdarank_norm``.
    query_weight : (n_queries,), optional
        Multiplies gradient and curvature of each query.
    accuracy : "fast", "default" or "high"
        How near the expectations are to the exact ones: 1e-4, 1e-6 or 1e-10 of the first rank's discount.

    Raises
    ------
    TypeError, ValueError
        Naming an argument that is not as described.

    Notes
    -----
    Exact, up to ``accuracy``, is E\|D(R_i) - D(R_j)\| = E[D(R_i)] + E[D(R_j)] - 2 E[D(the lower rank)], by one
    integral for each pair. The direction itself is a heuristic, as LambdaRank's is: it is the gradient of no known
    loss, and :class:`SoftObjective` follows the gradient of the expected metric itself. Tied scores have deltas above
    0. Curvature is sigmoid^2 p (1 - p) delta over a document's pairs. Ranks beyond the cutoff are worth 0, where
    LightGBM's ``lambdarank`` keeps their discounts. Queries of equal gains, or of one document, get a gradient of 0 and
    1e-12 of curvature. Row weights of LightGBM multiply a document's gradient and curvature.

    A query of n documents within reach of the noise costs O(Q n^2 k), Q = 20 to 60 nodes, and 8 n^2 + 64 n k bytes: 50
    us for 20 documents and .3 to .9 ms for 120 at k = 10, 7 to 20 times LightGBM's ``lambdarank``. More than 10,000
    documents are refused, and some 2,500 where all ranks count, for the time that they would take.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import QueryGroups
    >>> from boostsoft.objectives import SoftLambdaObjective
    >>> objective = SoftLambdaObjective("ndcg@10", sigma=0.5)
    >>> queries = objective.prepare([1, 0], QueryGroups.from_sizes([2]))
    >>> gradient, curvature = objective.gradient_curvature(queries, np.zeros(2))
    >>> gradient.round(4), curvature.round(4)  # half of the discounts' difference, which is sure
    (array([ 0.1845, -0.1845]), array([0.0923, 0.0923]))
    """

    metric: Metric
    noise: Noise
    sigma: float
    sigmoid: float
    norm: bool
    query_weight: tuple[float, ...] | None
    accuracy: Accuracy

    def __init__(
        self,
        metric: str | Metric = "ndcg@10",
        *,
        noise: Noise = "gaussian",
        sigma: float = 1.0,
        sigmoid: float = 1.0,
        norm: bool = False,
        query_weight: Any = None,
        accuracy: Accuracy = "fast",
    ) -> None:
        given = metric, noise, sigma, sigmoid, norm, query_weight, accuracy
        set_fields(self, self._checked("SoftLambdaObjective", *given))

    @staticmethod
    def _checked(
        caller: str,
        metric: Any,
        noise: Any,
        sigma: Any,
        sigmoid: Any,
        norm: Any,
        query_weight: Any,
        accuracy: Any,
    ) -> dict[str, Any]:
        hard = as_metric(caller, metric, {})
        if REGISTRY[hard.metric].family != PLAIN:
            raise ValueError(
                f"{caller}: metric must be a sum of gain x discount over ranks, such as 'ndcg@10'; got {short(hard)}"
            )
        return {
            "metric": hard,
            "noise": one_of(caller, "noise", noise, LAWS),
            "sigma": positive_number(caller, "sigma", sigma),
            "sigmoid": positive_number(caller, "sigmoid", sigmoid),
            "norm": as_flag(caller, "norm", norm),
            "query_weight": kept_weights(caller, query_weight),
            "accuracy": one_of(caller, "accuracy", accuracy, ACCURACY),
        }

    def prepare(
        self, y_true: Any, groups: QueryGroups, *, part: bool = False, caller: str = "SoftLambdaObjective.prepare"
    ) -> PreparedQueries:
        """Check the labels once for all iterations.

        Raises
        ------
        ValueError
            If no query has documents of different gain (unless this is but ``part`` of the data), the discount rises
            or falls below 0, a query is too long for its pairs to be gone through, labels do not suit the metric, or
            ``query_weight`` does not suit the queries.
        """
        queries = read_labels(self, caller, y_true, groups, part)
        refuse_rising_discount(caller, self.metric, queries.discount[:-1])
        refuse_long_pairs(caller, queries)
        return queries

    def unchecked(
        self, queries: PreparedQueries, scores: FloatArray, row_weight: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """What ``gradient_curvature`` returns, of numbers that have been checked."""
        gradient, curvature = np.zeros(scores.size), np.zeros(scores.size)
        inverse = np.where(queries.empty, 0.0, 1.0 / queries.divisor)
        step, tol = ACCURACY[self.accuracy]

        def run(begin: int, end: int) -> None:
            soft_lambda_queries(
                LAWS[self.noise], scores, queries.gains, queries.groups.offsets, queries.cutoffs, queries.smooth,
                inverse, queries.discount, self.sigma, step, tol, self.norm, self.sigmoid, begin, end, gradient,
                curvature,
            )  # fmt: skip

        over_queries(run, soft_lambda_costs(queries))
        return weighted((gradient, curvature), queries, self.query_weight, row_weight)
