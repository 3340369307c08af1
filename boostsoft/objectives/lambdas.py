"""LambdaRank, RankNet and LambdaLoss: references over pairs of documents at their present ranks."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ..arguments import FloatArray, as_flag, non_negative_number, one_of, positive_number, set_fields, whole_number
from ..choices import LambdaKind
from ..kernels.curvature import NO_CURVATURE, Curvature
from ..kernels.families import PAIRS
from ..kernels.lambdas import LAMBDALOSS, LAMBDARANK, RANKNET, lambda_queries
from ..kernels.noise import GUMBEL
from ..kernels.pair_levels import ranknet_level_queries
from ..kernels.shares import Ranges, Work
from ..kernels.threads import on_every_thread
from ..metrics.costs import lambda_costs, ranknet_costs, refuse_slow
from ..metrics.expectation import pairs_in_order, places_for
from ..metrics.hard import Metric
from ..metrics.prepared import PreparedQueries
from ..metrics.soft import as_metric
from ..metrics.spec import DISCOUNTS, Gain
from ..query_groups import QueryGroups
from .base import Objective, kept_weights, read_labels, refuse_falling_gain, weighted

LAMBDA_KINDS = get_args(LambdaKind)
_NO_TRUNCATION = 2**53


@dataclass(frozen=True, init=False, repr=False)
class LambdaObjective(Objective):
    r"""LambdaRank, as LightGBM's ``lambdarank`` computes it, or RankNet (Burges 2010): references to compare with.

    Parameters
    ----------
    kind : "lambdarank" or "ranknet"
        Pairs weighed by the NDCG that swapping them would change, or all alike.
    truncation_level : int, optional
        Of lambdarank, 30 by default: a pair counts if one of its documents is among so many first ranks, and the ideal
        DCG is cut off there (LightGBM's ``lambdarank_truncation_level``).
    norm : bool, optional
        Of lambdarank, True by default: LightGBM's ``lambdarank_norm``, which divides a pair's weight by .01 + its score
        distance and scales a query's sums.
    sigmoid : float
        Steepness of the logistic slope (LightGBM's ``sigmoid``).
    gain : "exp2", "linear", table or callable
        Gain of a label (LightGBM's ``label_gain``), at least 0 and rising with the label.
    query_weight : (n_queries,), optional
        Multiplies gradient and curvature of each query.

    Raises
    ------
    TypeError, ValueError
        Naming an argument that is not as described.

    Notes
    -----
    Gradient and curvature of lambdarank equal LightGBM's to 1e-6 of the largest: its table of the logistic function,
    2^20 steps over 50 / sigmoid, is read the same way, and it adds up in float32. The cost is O(truncation_level x n)
    for lambdarank, O(n^2) for ranknet.

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

    kind: LambdaKind
    truncation_level: int
    norm: bool
    sigmoid: float
    metric: Metric
    query_weight: tuple[float, ...] | None

    def __init__(
        self,
        kind: LambdaKind = "lambdarank",
        *,
        truncation_level: int | None = None,
        norm: bool | None = None,
        sigmoid: float = 1.0,
        gain: Gain = "exp2",
        query_weight: Any = None,
    ) -> None:
        set_fields(self, self._checked("LambdaObjective", kind, truncation_level, norm, sigmoid, gain, query_weight))

    @staticmethod
    def _checked(
        caller: str, kind: Any, truncation_level: Any, norm: Any, sigmoid: Any, gain: Any, query_weight: Any
    ) -> dict[str, Any]:
        one_of(caller, "kind", kind, LAMBDA_KINDS)
        if kind == "ranknet" and (truncation_level, norm) != (None, None):
            raise TypeError(f"{caller}: truncation_level and norm belong to lambdarank; ranknet weighs all pairs alike")
        depth = 30 if truncation_level is None else whole_number(caller, "truncation_level", truncation_level, 1)
        return {
            "kind": kind,
            "truncation_level": depth,
            "norm": norm is None or as_flag(caller, "norm", norm),
            "sigmoid": positive_number(caller, "sigmoid", sigmoid),
            "metric": as_metric(caller, "ndcg", {"k": depth, "gain": gain}),
            "query_weight": kept_weights(caller, query_weight),
        }

    def _arguments(self) -> dict[str, Any]:
        own = () if self.kind == "lambdarank" else ("truncation_level", "norm")  # which ranknet does not take
        return {name: value for name, value in super()._arguments().items() if name not in own}

    def reads(self) -> tuple[Hashable, ...]:
        """The kind, too: ranknet needs documents in the order of their gains."""
        return *super().reads(), self.kind

    def prepare(
        self, y_true: Any, groups: QueryGroups, *, part: bool = False, caller: str = "LambdaObjective.prepare"
    ) -> PreparedQueries:
        """Check the labels once for all iterations.

        Raises
        ------
        ValueError
            If a higher label has a lower gain, no query has documents of different gain (unless this is but ``part``
            of the data), labels do not suit the gain, ``query_weight`` does not suit the queries, or a query would
            take more than ten minutes on one core.
        """
        queries = _prepared(caller, self, y_true, groups, part)
        if self.kind == "lambdarank":
            _refuse_deep(caller, queries, self.truncation_level)
            return queries
        refuse_slow(f"{caller}: ranknet goes through too many pairs", queries, ranknet_costs(queries), "lambdarank")
        return queries.sorted_by_gain()

    def unchecked(
        self, queries: PreparedQueries, scores: FloatArray, row_weight: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """What ``gradient_curvature`` returns, of numbers that have been checked."""
        if self.kind == "lambdarank":
            found = _pairs(LAMBDARANK, queries, scores, self.truncation_level, self.norm, self.sigmoid)
        else:
            found = _all_pairs(queries, scores, self.sigmoid)[:2]
        # 0 where LightGBM's is: with a little in its place, splits that tie there would not tie here
        return weighted(found, queries, self.query_weight, row_weight, least=0.0)


@dataclass(frozen=True, init=False, repr=False)
class LambdaLossObjective(Objective):
    r"""LambdaLoss, the NDCG-Loss2++ of Wang et al. (2018): a bound of NDCG's loss, and a reference to compare with.

    With G = gain / ideal DCG, D(r) = 1 / log2(1 + r) and r_i the rank of document i by the present scores, the loss
    of a query, to be lowered while the ranks stand, is

        sum over pairs of gain_i > gain_j of
        (G_i - G_j) (\|D(r_i) - D(r_j)\| + mu (D(d) - D(d + 1))) log(1 + exp(-sigmoid (s_i - s_j))),  d = \|r_i - r_j\|.

    Parameters
    ----------
    mu : float
        Weight of the ranks' distance, at least 0; with 0 the pairs weigh as in LambdaRank.
    truncation_level : int, optional
        A pair counts if one of its documents is among so many first ranks, and the ideal DCG is cut off there; by
        default all pairs count, as in the paper.
    sigmoid : float
        Steepness of the logistic slope.
    gain : "exp2", "linear", table or callable
        Gain of a label, at least 0 and rising with the label.
    query_weight : (n_queries,), optional
        Multiplies gradient and curvature of each query.

    Raises
    ------
    TypeError, ValueError
        Naming an argument that is not as described.

    Notes
    -----
    Gradient and curvature are minus the first derivative, and the diagonal of the second, of the loss at fixed ranks;
    tied documents are ranked in the order of the data. The paper's base-2 logarithm would multiply both by 1.44.
    Queries of equal gains, or of one document, get a gradient of 0 and 1e-12 of curvature. Row weights of LightGBM
    multiply a document's gradient and curvature. The cost is O(truncation_level x n), O(n^2) by default.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import QueryGroups
    >>> from boostsoft.objectives import LambdaLossObjective
    >>> objective = LambdaLossObjective(mu=10.0)
    >>> queries = objective.prepare([1, 0], QueryGroups.from_sizes([2]))
    >>> gradient, curvature = objective.gradient_curvature(queries, np.zeros(2))
    >>> gradient.round(4), curvature.round(4)
    (array([ 2.0299, -2.0299]), array([1.0149, 1.0149]))
    """

    mu: float
    truncation_level: int | None
    sigmoid: float
    metric: Metric
    query_weight: tuple[float, ...] | None

    def __init__(
        self,
        *,
        mu: float = 10.0,
        truncation_level: int | None = None,
        sigmoid: float = 1.0,
        gain: Gain = "exp2",
        query_weight: Any = None,
    ) -> None:
        set_fields(self, self._checked("LambdaLossObjective", mu, truncation_level, sigmoid, gain, query_weight))

    @staticmethod
    def _checked(
        caller: str, mu: Any, truncation_level: Any, sigmoid: Any, gain: Any, query_weight: Any
    ) -> dict[str, Any]:
        depth = None if truncation_level is None else whole_number(caller, "truncation_level", truncation_level, 1)
        return {
            "mu": non_negative_number(caller, "mu", mu),
            "truncation_level": depth,
            "sigmoid": positive_number(caller, "sigmoid", sigmoid),
            "metric": as_metric(caller, "ndcg", {"k": depth, "gain": gain}),
            "query_weight": kept_weights(caller, query_weight),
        }

    def prepare(
        self, y_true: Any, groups: QueryGroups, *, part: bool = False, caller: str = "LambdaLossObjective.prepare"
    ) -> PreparedQueries:
        """Check the labels once for all iterations.

        Raises
        ------
        ValueError
            If a higher label has a lower gain, no query has documents of different gain (unless this is but ``part``
            of the data), labels do not suit the gain, ``query_weight`` does not suit the queries, or a query would
            take more than ten minutes on one core.
        """
        queries = _prepared(caller, self, y_true, groups, part)
        _refuse_deep(caller, queries, self._depth)
        return queries

    @property
    def _depth(self) -> int:
        return _NO_TRUNCATION if self.truncation_level is None else self.truncation_level

    def unchecked(
        self, queries: PreparedQueries, scores: FloatArray, row_weight: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """What ``gradient_curvature`` returns, of numbers that have been checked."""
        found = _pairs(LAMBDALOSS, queries, scores, self._depth, False, self.sigmoid, self.mu)
        return weighted(found, queries, self.query_weight, row_weight)


def _prepared(
    caller: str, objective: LambdaObjective | LambdaLossObjective, y_true: Any, groups: QueryGroups, part: bool
) -> PreparedQueries:
    queries = read_labels(objective, caller, y_true, groups, part)
    refuse_falling_gain(caller, objective.metric, y_true, queries)
    return with_every_discount(queries)


def _refuse_deep(caller: str, queries: PreparedQueries, depth: int) -> None:
    refuse_slow(
        f"{caller}: truncation_level must be smaller", queries, lambda_costs(queries, depth), "truncation_level=30"
    )


def with_every_discount(queries: PreparedQueries) -> PreparedQueries:
    """The same with the discounts of all ranks, also behind the truncation."""
    longest = int(queries.groups.sizes.max())
    return replace(queries, discount=np.array(DISCOUNTS["log2"](np.arange(1.0, longest + 2.0))), plans={})


def ranknet_and_tau(
    ranknet: PreparedQueries, tau: PreparedQueries, scores: FloatArray, wanted: Curvature
) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
    """Gradient and curvature of RankNet's loss and of tau (``may_share``), by one pass over the pairs.

    Scores in units of sigma. The chances of wrong pairs add up to RankNet's gradient; their densities to its curvature
    and to tau's gradient.
    """
    found = places_for(tau, derive=True, bend=False)
    slopes, bends, left = _all_pairs(ranknet, scores, 1.0, (wanted, found.gradient, found.push))
    pairs_in_order(tau, GUMBEL, scores, 1.0, True, wanted, ranknet.work(ranknet_costs), left, found)
    return (slopes, bends), (found.gradient, found.push)


def may_share(tau: PreparedQueries, ranknet: PreparedQueries) -> bool:
    """Whether a metric counts just the pairs that RankNet does, each once; found out once per data set.

    A metric that takes all queries as one has other queries, be they but one and empty ones.
    """
    if tau.family != PAIRS or tau.odds or tau.groups != ranknet.groups:
        return False
    return tau.once("pairs", lambda: _same_pairs(tau, ranknet))


def _same_pairs(tau: PreparedQueries, ranknet: PreparedQueries) -> bool:
    starts = np.zeros(tau.gains.size, np.bool_)
    starts[tau.groups.offsets[:-1][tau.groups.sizes > 0]] = True
    first, second = (_steps_down(queries, starts) for queries in (tau, ranknet))
    return np.array_equal(tau.by_gain, ranknet.by_gain) and np.array_equal(first, second)


def _steps_down(queries: PreparedQueries, starts: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Where the documents of a query, by falling gain, go on with another gain than the one before."""
    falling = queries.gains[queries.by_gain + queries.groups.per_document(queries.groups.offsets[:-1])]
    steps: NDArray[np.bool_] = (np.diff(falling, prepend=np.nan) != 0.0) & ~starts
    return steps


_NO_TAU = NO_CURVATURE, np.zeros(0), np.zeros(0)


def _all_pairs(
    queries: PreparedQueries,
    scores: FloatArray,
    sigmoid: float,
    tau: tuple[Curvature, FloatArray, FloatArray] = _NO_TAU,
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """RankNet's pairs, eight at a time but in queries whose scores are too far apart for their exponentials.

    These queries are the third, of which tau, if it is wanted, remains to be done.
    """
    gradient, curvature = queries.array(), queries.array()
    gains, offsets = queries.gains, queries.groups.offsets
    left, work = np.zeros(queries.groups.n_queries, np.bool_), queries.work(ranknet_costs)
    one, nothing = np.ones(left.size), np.zeros(1)

    def run(ranges: Ranges) -> None:
        ranknet_level_queries(scores, gains, offsets, queries.by_gain, sigmoid, ranges, gradient, curvature, left, *tau)

    def run_left(ranges: Ranges) -> None:
        lambda_queries(
            RANKNET, scores, gains, offsets, one, nothing, 0.0, _NO_TRUNCATION, False, sigmoid, left, ranges, gradient,
            curvature,
        )  # fmt: skip

    on_every_thread(run, work)
    if left.any():
        costs = np.where(left, lambda_costs(queries, _NO_TRUNCATION), 0.0)
        refuse_slow(f"{queries.caller}: ranknet goes through too many pairs", queries, costs, "lambdarank")
        on_every_thread(run_left, Work(costs))
    return gradient, curvature, left


def _pairs(
    kind: int, queries: PreparedQueries, scores: FloatArray, depth: int, norm: bool, sigmoid: float, mu: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    gradient, curvature = queries.array(), queries.array()
    depth = min(depth, int(queries.groups.sizes.max()))
    inverse_ideal = 1.0 / queries.divisor
    every = np.ones(queries.groups.n_queries, np.bool_)

    def run(ranges: Ranges) -> None:
        lambda_queries(
            kind, scores, queries.gains, queries.groups.offsets, inverse_ideal, queries.discount, mu, depth, norm,
            sigmoid, every, ranges, gradient, curvature,
        )  # fmt: skip

    on_every_thread(run, queries.work(lambda_costs, depth))
    return gradient, curvature
