"""ListNet, softmax cross-entropy, XE-NDCG and the query-RMSE: references over whole lists, in O(n)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from ..arguments import FloatArray, Numbers, finite_vector, one_of, positive_number, set_fields, whole_number
from ..choices import Gamma
from ..kernels.curvature import TINY
from ..kernels.listwise import softmax_queries, squares_queries
from ..kernels.shares import Ranges
from ..kernels.threads import on_every_thread
from ..metrics.costs import listwise_costs
from ..metrics.hard import Metric
from ..metrics.prepared import PreparedQueries
from ..metrics.soft import as_metric
from ..metrics.spec import Gain
from ..query_groups import QueryGroups
from .base import Objective, kept_weights, read_labels, weighted
from .draws import uniform_draws

GAMMAS = get_args(Gamma)
_MOST_TERMS = 3


class _OfGains(Objective):
    """An objective that asks nothing of its labels but gains."""

    def prepare(
        self, y_true: Any, groups: QueryGroups, *, part: bool = False, caller: str | None = None
    ) -> PreparedQueries:
        """Check the labels once for all iterations.

        Raises
        ------
        ValueError
            If no query has documents of different gain (unless this is but ``part`` of the data), labels do not suit
            the gain, or ``query_weight`` does not suit the queries.
        """
        caller = caller or f"{type(self).__name__}.prepare"
        return read_labels(self, caller, y_true, groups, part)


@dataclass(frozen=True, init=False, repr=False)
class ListNetObjective(_OfGains):
    """ListNet (Cao et al. 2007): cross-entropy of the labels' and the scores' chances to be first.

    The loss of a query is -sum P_i log rho_i with P = softmax(gain / temperature) and rho = softmax(scores).

    Parameters
    ----------
    temperature : float
        Divides the gains: the lower, the more of P lies on the best document.
    gain : "linear", "exp2", table or callable
        What a label counts in P's exponent; the label itself by default, as in the paper.
    query_weight : (n_queries,), optional
        Multiplies gradient and curvature of each query.

    Raises
    ------
    TypeError, ValueError
        Naming an argument that is not as described.

    Notes
    -----
    Gradient and curvature are P - rho, minus the first derivative, and the diagonal of the second, rho (1 - rho). The
    gradient does not change if all scores of a query are raised, adds up to 0 over a query, and stays finite for any
    scores. A query of equal labels draws its scores together, so that its gradient is 0 at equal scores only; one of a
    single document has none. Where rho underflows, the curvature is 1e-12. The curvatures of a query add up to less
    than 1: XGBoost's stock ``min_child_weight=1`` lets no leaf be smaller than a query. Row weights of LightGBM
    multiply a document's gradient and curvature.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import QueryGroups
    >>> from boostsoft.objectives import ListNetObjective
    >>> objective = ListNetObjective()
    >>> queries = objective.prepare([1, 0], QueryGroups.from_sizes([2]))
    >>> gradient, curvature = objective.gradient_curvature(queries, np.zeros(2))
    >>> gradient.round(4), curvature
    (array([ 0.2311, -0.2311]), array([0.25, 0.25]))
    """

    temperature: float
    metric: Metric
    query_weight: tuple[float, ...] | None

    def __init__(self, *, temperature: float = 1.0, gain: Gain = "linear", query_weight: Any = None) -> None:
        set_fields(self, self._checked("ListNetObjective", temperature, gain, query_weight))

    @staticmethod
    def _checked(caller: str, temperature: Any, gain: Any, query_weight: Any) -> dict[str, Any]:
        return {
            "temperature": positive_number(caller, "temperature", temperature),
            "metric": as_metric(caller, "dcg", {"gain": gain}),
            "query_weight": kept_weights(caller, query_weight),
        }

    def unchecked(
        self, queries: PreparedQueries, scores: FloatArray, row_weight: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """What ``gradient_curvature`` returns, of numbers that have been checked."""
        targets = queries.once(("targets", self.temperature), lambda: self._targets(queries))
        found = _cross_entropy(queries, scores, targets, 1)
        return weighted(found, queries, self.query_weight, row_weight, _least(self.query_weight))

    def _targets(self, queries: PreparedQueries) -> FloatArray:
        with np.errstate(over="ignore", under="ignore"):  # far below the best is nothing
            targets: FloatArray = np.exp((queries.gains - _best(queries)) / self.temperature)
        return targets


@dataclass(frozen=True, init=False, repr=False)
class SoftmaxObjective(_OfGains):
    """Softmax cross-entropy (Bruch et al. 2019): that of the gains' shares and of the scores' chances to be first.

    The loss of a query is -sum P_i log rho_i with P = gain / sum gain and rho = softmax(scores); 0 without a gain.

    Parameters
    ----------
    gain : "exp2", "linear", table or callable
        Gain of a label, at least 0.
    query_weight : (n_queries,), optional
        Multiplies gradient and curvature of each query.

    Raises
    ------
    TypeError, ValueError
        Naming an argument that is not as described.

    Notes
    -----
    Gradient and curvature are P - rho, minus the first derivative, and the diagonal of the second, rho (1 - rho). A
    document without a gain has no target, unlike in ListNet and XE-NDCG, where each has a part of it: of many hundred
    documents the relevant ones have all. With one relevant document it is the multinomial logistic loss. The gradient
    does not change if all scores of a query are raised, adds up to 0 over a query and stays finite for any scores; a
    query without a gain or of a single document has none, and a curvature of 1e-12, as where rho underflows. The
    curvatures of a query add up to less than 1: XGBoost's stock ``min_child_weight=1`` lets no leaf be smaller than a
    query. Row weights of LightGBM multiply a document's gradient and curvature.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import QueryGroups
    >>> from boostsoft.objectives import SoftmaxObjective
    >>> objective = SoftmaxObjective()
    >>> queries = objective.prepare([1, 0, 0, 0], QueryGroups.from_sizes([4]))
    >>> objective.gradient_curvature(queries, np.zeros(4))
    (array([ 0.75, -0.25, -0.25, -0.25]), array([0.1875, 0.1875, 0.1875, 0.1875]))
    """

    metric: Metric
    query_weight: tuple[float, ...] | None

    def __init__(self, *, gain: Gain = "exp2", query_weight: Any = None) -> None:
        set_fields(self, self._checked("SoftmaxObjective", gain, query_weight))

    @staticmethod
    def _checked(caller: str, gain: Any, query_weight: Any) -> dict[str, Any]:
        return {
            "metric": as_metric(caller, "ndcg", {"gain": gain}),
            "query_weight": kept_weights(caller, query_weight),
        }

    def unchecked(
        self, queries: PreparedQueries, scores: FloatArray, row_weight: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """What ``gradient_curvature`` returns, of numbers that have been checked."""
        targets = queries.once("targets", lambda: _gain_shares(queries))
        found = _cross_entropy(queries, scores, targets, 1)
        return weighted(found, queries, self.query_weight, row_weight, _least(self.query_weight))


@dataclass(frozen=True, init=False, repr=False)
class XENDCGObjective(Objective):
    """XE-NDCG (Bruch 2021), LightGBM's ``rank_xendcg``: cross-entropy with targets that bound NDCG.

    The loss of a query is -sum P_i log rho_i with P_i = phi_i / sum phi, phi_i = gain_i + 1 - gamma_i, that is
    2^label - gamma, and rho = softmax(scores).

    Parameters
    ----------
    gamma : "uniform", "expected" or (n_docs,)
        From 0 to 1: drawn uniformly for every document and iteration, as in the paper and in LightGBM; 1/2, their
        mean, which leaves nothing to chance; or given, the same in every iteration.
    seed : int
        Of the uniform draws. They are a function of the seed, the document's place and the scores of its query, so
        that training repeats, on any number of threads, and every iteration that moves a score draws anew.
    terms : 1, 2 or 3
        Of the expansion of a Newton step: 1 is the loss's own gradient; 3 is LightGBM's, and the paper's. With 2
        nothing is learned from queries of two documents, where the first two terms cancel.
    gain : "exp2", "linear", table or callable
        Gain of a label, at least 0.
    query_weight : (n_queries,), optional
        Multiplies gradient and curvature of each query.

    Raises
    ------
    TypeError, ValueError
        Naming an argument that is not as described.

    Notes
    -----
    With g = P - rho, minus the loss's derivative, and D = rho (1 - rho), the diagonal of the Hessian, which is the
    curvature, and -O its remainder, the gradient is g + O g / D + O (O g / D) / D: divided by D, the first terms of the
    Newton step. Given the same gammas it equals LightGBM's, which computes in float32, to 1e-6 of the largest;
    LightGBM's own draws come from another generator. It does not change if all scores of a query are raised (given
    gamma), adds up to 0 over a query and stays finite for any scores. A query of equal labels draws its scores
    together, and with uniform gammas at random; one of a single document, or whose targets are all 0 (no gain, gammas
    of 1), has no gradient. Where rho underflows, the curvature is 1e-12. XGBoost's stock ``min_child_weight=1`` is
    more than a query's curvatures add up to. Row weights of LightGBM multiply a document's gradient and curvature, as
    in its own.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import QueryGroups
    >>> from boostsoft.objectives import XENDCGObjective
    >>> objective = XENDCGObjective(gamma="expected", terms=1)
    >>> queries = objective.prepare([1, 0], QueryGroups.from_sizes([2]))
    >>> objective.gradient_curvature(queries, np.zeros(2))
    (array([ 0.25, -0.25]), array([0.25, 0.25]))
    """

    gamma: Gamma | tuple[float, ...]
    seed: int
    terms: int
    metric: Metric
    query_weight: tuple[float, ...] | None

    def __init__(
        self,
        *,
        gamma: Gamma | Numbers = "uniform",
        seed: int = 0,
        terms: int = 3,
        gain: Gain = "exp2",
        query_weight: Any = None,
    ) -> None:
        set_fields(self, self._checked("XENDCGObjective", gamma, seed, terms, gain, query_weight))

    @staticmethod
    def _checked(caller: str, gamma: Any, seed: Any, terms: Any, gain: Any, query_weight: Any) -> dict[str, Any]:
        return {
            "gamma": _as_gamma(caller, gamma),
            "seed": whole_number(caller, "seed", seed, 0),
            "terms": whole_number(caller, "terms", terms, 1, _MOST_TERMS),
            "metric": as_metric(caller, "ndcg", {"gain": gain}),
            "query_weight": kept_weights(caller, query_weight),
        }

    def reads(self) -> tuple[Hashable, ...]:
        """The gammas, too, if there is one for each document."""
        return *super().reads(), self.gamma

    def prepare(
        self, y_true: Any, groups: QueryGroups, *, part: bool = False, caller: str = "XENDCGObjective.prepare"
    ) -> PreparedQueries:
        """Check the labels once for all iterations.

        Raises
        ------
        ValueError
            If a gain is negative, there are not as many gammas as documents, no query has documents of different gain
            (unless this is but ``part`` of the data), or ``query_weight`` does not suit the queries.
        """
        if isinstance(self.gamma, tuple):
            finite_vector(caller, "gamma", self.gamma, groups.n_docs)
        return read_labels(self, caller, y_true, groups, part)

    def unchecked(
        self, queries: PreparedQueries, scores: FloatArray, row_weight: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """What ``gradient_curvature`` returns, of numbers that have been checked."""
        targets, more = queries.gains, 0.5
        if self.gamma != "expected":
            drawn = self.gamma == "uniform"
            gamma = uniform_draws(self.seed, queries.groups, scores) if drawn else np.array(self.gamma)
            targets, more = targets + (1.0 - gamma), 0.0
        found = _cross_entropy(queries, scores, targets, self.terms, more)
        return weighted(found, queries, self.query_weight, row_weight, _least(self.query_weight))


@dataclass(frozen=True, init=False, repr=False)
class QueryRMSEObjective(_OfGains):
    """The query-RMSE (CatBoost's QueryRMSE): squared error once each query's mean residual is taken off.

    The loss of a query is sum w_i (r_i - mean r)^2 / 2 with r = gain - score, w the weights of its documents and
    mean r = sum w r / sum w: the scores of a query may lie anywhere, only their differences are to be those of the
    labels.

    Parameters
    ----------
    gain : "linear", "exp2", table or callable
        What the score's differences are to be: the label by default.
    query_weight : (n_queries,), optional
        Multiplies gradient and curvature of each query.

    Raises
    ------
    TypeError, ValueError
        Naming an argument that is not as described.

    Notes
    -----
    The gradient is w (r - mean r), as CatBoost's, and the curvature w, as CatBoost's: the Hessian is diag(w) -
    w w' / sum w, never above it. It does not change if all scores of a query are raised and adds up to 0 over a
    query. Row weights of LightGBM enter the mean. A query of equal labels draws its scores together, so that its
    gradient is 0 at equal scores only; one of a single document has none.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import QueryGroups
    >>> from boostsoft.objectives import QueryRMSEObjective
    >>> objective = QueryRMSEObjective()
    >>> queries = objective.prepare([3, 0, 0], QueryGroups.from_sizes([3]))
    >>> objective.gradient_curvature(queries, np.zeros(3))
    (array([ 2., -1., -1.]), array([1., 1., 1.]))
    """

    metric: Metric
    query_weight: tuple[float, ...] | None

    def __init__(self, *, gain: Gain = "linear", query_weight: Any = None) -> None:
        set_fields(self, self._checked("QueryRMSEObjective", gain, query_weight))

    @staticmethod
    def _checked(caller: str, gain: Any, query_weight: Any) -> dict[str, Any]:
        return {
            "metric": as_metric(caller, "dcg", {"gain": gain}),
            "query_weight": kept_weights(caller, query_weight),
        }

    def unchecked(
        self, queries: PreparedQueries, scores: FloatArray, row_weight: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """What ``gradient_curvature`` returns, of numbers that have been checked."""
        rows = np.ones(scores.size) if row_weight is None else np.array(row_weight)
        gradient = queries.array()

        def run(ranges: Ranges) -> None:
            squares_queries(scores, queries.gains, rows, queries.groups.offsets, ranges, gradient)

        on_every_thread(run, queries.work(listwise_costs))
        return weighted((gradient, rows), queries, self.query_weight, None)


def _best(queries: PreparedQueries) -> FloatArray:
    """The largest gain of each document's query."""
    return queries.groups.per_document(queries.groups.largest(queries.gains, initial=0.0))


def _gain_shares(queries: PreparedQueries) -> FloatArray:
    """Gains over the best of their query: neither too large to add up nor too small; 0 without a gain."""
    best, shares = _best(queries), np.zeros(queries.gains.size)
    with np.errstate(under="ignore"):  # far below the best is nothing
        np.divide(queries.gains, best, out=shares, where=best > 0.0)
    return shares


def _least(query_weight: tuple[float, ...] | None) -> float:
    """What the curvature of a cross-entropy, which the kernel has made large enough, may not fall below by weights."""
    return 0.0 if query_weight is None else TINY


def _as_gamma(caller: str, gamma: Any) -> str | tuple[float, ...]:
    if isinstance(gamma, str):
        return str(one_of(caller, "gamma", gamma, GAMMAS))
    values = finite_vector(caller, "gamma", gamma)
    if values.min() < 0.0 or values.max() > 1.0:
        raise ValueError(f"{caller}: gamma must be from 0 to 1; got {values.min()} to {values.max()}")
    return tuple(values.tolist())


def _cross_entropy(
    queries: PreparedQueries, scores: FloatArray, targets: FloatArray, terms: int, more: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    gradient, curvature = queries.array(), queries.array()

    def run(ranges: Ranges) -> None:
        softmax_queries(scores, targets, more, queries.groups.offsets, terms, ranges, gradient, curvature)

    on_every_thread(run, queries.work(listwise_costs))
    return gradient, curvature
