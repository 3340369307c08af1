"""Training objectives: the gradient of a soft metric and a positive curvature, both summed over queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .kernels.noise import LAWS
from .metrics.hard import Metric
from .metrics.prepared import PreparedQueries, prepare
from .metrics.soft import as_metric, expectation
from .query_groups import FloatArray, QueryGroups, finite_vector, one_of, positive_number, query_weights

HESSIANS = ("flow", "exact", "constant")

# U + L over-estimates the curvature: it counts every pull as if none met another. With a quarter of it the training
# curves at learning rates of .05 and .1 run with those of LightGBM's lambdarank (the README has the table).
FLOW_SCALE = 0.25
_TINY = 1e-12


@dataclass(frozen=True, init=False, eq=True)
class SoftObjective:
    r"""Maximise a soft metric: its gradient and a positive curvature per document, in the scores' units.

    Parameters
    ----------
    metric : str or Metric
        What to train on, ``"ndcg@10"`` by default.
    noise : "gaussian", "gumbel" or "logistic"
        The law of the noise.
    sigma : float
        Its scale in units of the scores. Training is equivariant to it: scores come out in units of sigma, and
        nothing else changes, so 1 will do; what is tuned is the learning rate.
    hessian : "flow", "exact" or "constant"
        The curvature: a quarter of U + L, where the gradient is U - L, pulls up minus pushes down, with gains
        counted from the least of the query; the negative exact diagonal, floored at \|gradient\| / sigma (under
        Gumbel and logistic noise nearly always the floor, so that all steps are of one length); or 1.
    query_weight : (n_queries,), optional
        Multiplies gradient and curvature of each query.

    Notes
    -----
    Returned are sigma^2 times the gradient of the **sum** over queries and sigma^2 times the curvature. The
    Newton step, their quotient, is in units of the scores; that both are free of sigma's unit keeps a booster's
    own regularisation (``lambda``, minimum Hessians) independent of sigma.

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

    def __init__(
        self,
        metric: str | Metric = "ndcg@10",
        *,
        noise: str = "gaussian",
        sigma: float = 1.0,
        hessian: str = "flow",
        query_weight: Any = None,
    ) -> None:
        caller = "objective"
        checked = {
            "metric": as_metric(caller, metric, {}),
            "noise": one_of(caller, "noise", noise, LAWS),
            "sigma": positive_number(caller, "sigma", sigma),
            "hessian": one_of(caller, "hessian", hessian, HESSIANS),
            "query_weight": None
            if query_weight is None
            else tuple(finite_vector(caller, "query_weight", query_weight).tolist()),
        }
        for field, value in checked.items():
            object.__setattr__(self, field, value)

    def prepare(self, y_true: Any, groups: QueryGroups) -> PreparedQueries:
        """Check the labels once for all iterations.

        Raises
        ------
        ValueError
            If no order of any query is better than another, or the discount rises or falls below 0, for which
            the flow is no curvature.
        """
        queries = prepare(self.metric, "objective", y_true, groups)
        discount = queries.discount[: int(np.minimum(queries.cutoffs, groups.sizes).max(initial=1))]
        if np.any(np.diff(discount) > 0) or discount[-1] < 0:
            raise ValueError(
                "objective: the discount must not rise with the rank nor be negative; "
                f"got {discount[:5].tolist()} ... for {self.metric!r}"
            )
        weights = query_weights("objective", self.query_weight, groups)
        if not np.any(_learnable(queries) & (weights > 0)):
            raise ValueError(
                "objective: there is nothing to learn: no query (of positive weight) has documents whose order "
                f"changes {self.metric!r}"
            )
        return queries

    def gradient_curvature(self, queries: PreparedQueries, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sigma^2 times the gradient of the summed metric, and the positive curvature, each (n_docs,)."""
        found = expectation(queries, scores, self.noise, self.sigma, "default", derive=True)
        weights = query_weights("objective", self.query_weight, queries.groups)
        share = queries.groups.per_document(np.where(queries.empty, 0.0, weights) / queries.divisor)
        if self.hessian == "flow":
            curvature = FLOW_SCALE * share * (found.gradient + 2.0 * found.push)
        elif self.hessian == "exact":
            curvature = share * np.maximum(-found.hessian, np.abs(found.gradient))
        else:
            curvature = queries.groups.per_document(weights)
        return self.sigma * share * found.gradient, np.maximum(curvature, _TINY)


def _learnable(queries: PreparedQueries) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Queries with documents of different gain whose first and last ranks count differently, (n_queries,)."""
    sizes, discount = queries.groups.sizes, queries.discount
    last = np.where(sizes > queries.cutoffs, 0.0, discount[np.clip(sizes - 1, 0, discount.size - 1)])
    spread = np.zeros(sizes.size)
    filled = np.flatnonzero(sizes > 0)
    if filled.size:
        starts = queries.groups.offsets[filled]
        spread[filled] = np.maximum.reduceat(queries.gains, starts) - np.minimum.reduceat(queries.gains, starts)
    learnable: np.ndarray[Any, np.dtype[np.bool_]] = (spread > 0) & (discount[0] > last) & ~queries.empty
    return learnable
