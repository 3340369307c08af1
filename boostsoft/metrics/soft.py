"""Soft ranking metrics: the exact expectation of a hard one when the scores carry noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels.expected import ACCURACY, expect_queries
from ..kernels.noise import GUMBEL, LAWS
from ..kernels.threads import over_queries
from ..query_groups import FloatArray, QueryGroups, one_of, positive_number
from .hard import Metric, _check_call
from .prepared import PreparedQueries, prepare
from .spec import check_name, parse_call

SIGMA_UNITS = ("score", "spread")
RANKS = ("exact",)
_LARGEST = np.finfo(np.float64).max


@dataclass(frozen=True)
class Expectation:
    """What the kernels give for a set of queries: sums over ranks, not yet divided, in units of sigma.

    ``gradient`` / sigma and ``hessian`` / sigma^2 are derivatives with respect to the scores; ``push`` is the
    downward part L of the flow, U = gradient + push the upward part. All (n_docs,), empty if not asked for.
    """

    values: FloatArray
    gradient: FloatArray
    push: FloatArray
    hessian: FloatArray


def expectation(
    prepared: PreparedQueries, scores: FloatArray, noise: str, sigma: float, accuracy: str, derive: bool
) -> Expectation:
    """Run the kernel over all queries; ``derive`` asks for the derivatives as well."""
    law = LAWS[noise]
    general, gumbel, tol = ACCURACY[accuracy]
    step = gumbel if law == GUMBEL else general
    raw = np.zeros(prepared.groups.n_queries)
    gradient, push, hessian = (np.zeros(scores.size if derive else 0) for _ in range(3))

    def run(begin: int, end: int) -> None:
        expect_queries(
            law, prepared.family, scores, prepared.gains, prepared.groups.offsets, prepared.cutoffs, prepared.smooth,
            prepared.discount, sigma, step, tol, derive, begin, end, raw, gradient, push, hessian,
        )  # fmt: skip

    over_queries(run, prepared.costs)
    return Expectation(raw, gradient, push, hessian)


@dataclass(frozen=True, init=False, repr=False)
class SoftMetric:
    r"""The expectation of a ranking metric when every score carries independent noise.

    Document i scores s_i + sigma eps_i, eps_i drawn independently from the noise's law; sorting gives random
    ranks R_i, and the soft metric is V = sum_i gain_i E[D(R_i)] / divisor, computed without sampling together
    with its exact gradient and diagonal Hessian (Taylor et al. 2008 for soft ranks; the README for the mathematics).

    Parameters
    ----------
    metric : str or Metric
        ``"ndcg@10"``, or a :class:`Metric`, whose options may also be given here as keywords.
    noise : "gaussian", "gumbel" or "logistic"
        Thurstone's law, Plackett-Luce with weights exp(s / sigma), or i.i.d. logistic noise.
    sigma : float
        Scale of the noise, above 0, in ``sigma_unit``.
    sigma_unit : "score" or "spread"
        The unit of the scores, or the pooled within-query standard deviation of the scores: then rescaling the
        scores changes nothing, and the gradient accounts for that. A spread of 0 gives the hard value, ties in
        expectation, and gradient 0.
    ranks : "exact"
        How the ranks are distributed.
    accuracy : "default" or "high"
        Error of value and gradient relative to the query's largest: 1e-6 (of the larger of that and 1e-9 of the
        natural scale, the range of gains over sigma) or 1e-10 (1e-4 of the natural scale).
    name : str, optional
        In place of ``ndcg_gaussian@10``.

    Notes
    -----
    Ties are no special case: tied documents share their ranks in expectation. As sigma falls to 0 the soft metric
    becomes its hard twin with ``ties="expected"``. A gradient that overflows is returned as the largest float.

    Examples
    --------
    >>> from boostsoft import SoftMetric
    >>> soft = SoftMetric("ndcg@10", noise="gumbel", sigma=0.5)
    >>> y, s = [1, 0, 0], [0.0, 0.0, 0.0]
    >>> round(soft(y, s, group=[3]), 6)  # (1 + 1 / log2(3) + 1 / 2) / 3
    0.71031
    >>> soft.gradient(y, s, group=[3]).round(6) + 0.0
    array([ 0.23677 , -0.118385, -0.118385])
    """

    metric: Metric
    noise: str
    sigma: float
    sigma_unit: str
    ranks: str
    accuracy: str
    custom_name: str | None

    def __init__(
        self,
        metric: str | Metric,
        *,
        noise: str = "gaussian",
        sigma: float = 1.0,
        sigma_unit: str = "score",
        ranks: str = "exact",
        accuracy: str = "default",
        name: str | None = None,
        **options: Any,
    ) -> None:
        checked = {
            "metric": as_metric("SoftMetric", metric, options),
            "noise": one_of("SoftMetric", "noise", noise, LAWS),
            "sigma": positive_number("SoftMetric", "sigma", sigma),
            "sigma_unit": one_of("SoftMetric", "sigma_unit", sigma_unit, SIGMA_UNITS),
            "ranks": one_of("SoftMetric", "ranks", ranks, RANKS),
            "accuracy": one_of("SoftMetric", "accuracy", accuracy, ACCURACY),
            "custom_name": check_name("SoftMetric", name),
        }
        for field, value in checked.items():
            object.__setattr__(self, field, value)

    @classmethod
    def parse(cls, text: str) -> SoftMetric:
        """Read a metric back from its repr, unless an option is a function."""
        soft = parse_call("SoftMetric.parse", text, {"Metric": Metric, "SoftMetric": SoftMetric})
        if not isinstance(soft, SoftMetric):
            raise ValueError(f"SoftMetric.parse: {text!r} is not the repr of a SoftMetric")
        return soft

    @property
    def hard(self) -> Metric:
        """The hard twin."""
        return self.metric

    @property
    def name(self) -> str:
        """``ndcg_gaussian@10``: the metric comes first, since XGBoost guesses the direction from it."""
        cutoff = f"@{self.metric.k}" if isinstance(self.metric.k, int) else ""
        return self.custom_name or f"{self.metric.metric}_{self.noise}{cutoff}"

    @property
    def higher_is_better(self) -> bool:
        """Every metric here is to be maximised."""
        return True

    def __repr__(self) -> str:
        named = "" if self.custom_name is None else f", name={self.custom_name!r}"
        return (
            f"SoftMetric({self.metric!r}, noise={self.noise!r}, sigma={self.sigma!r}, "
            f"sigma_unit={self.sigma_unit!r}, ranks={self.ranks!r}, accuracy={self.accuracy!r}{named})"
        )

    def __call__(
        self, y_true: Any, y_score: Any, *, group: Any = None, qid: Any = None, query_weight: Any = None
    ) -> float:
        """Mean over queries; arguments as in :meth:`Metric.__call__`."""
        groups, scores, weights = _check_call("SoftMetric", y_true, y_score, group, qid, query_weight)
        prepared = prepare(self.metric, "SoftMetric", y_true, groups)
        return prepared.mean(self.evaluate(prepared, scores, weights), weights)

    def per_query(
        self, y_true: Any, y_score: Any, *, group: Any = None, qid: Any = None, query_weight: Any = None
    ) -> FloatArray:
        """Value of each query, shape (n_queries,); ``query_weight`` matters to the spread alone."""
        caller = "SoftMetric.per_query"
        groups, scores, weights = _check_call(caller, y_true, y_score, group, qid, query_weight)
        return self.evaluate(prepare(self.metric, caller, y_true, groups), scores, weights)

    def gradient(
        self, y_true: Any, y_score: Any, *, group: Any = None, qid: Any = None, query_weight: Any = None
    ) -> FloatArray:
        """Gradient of the mean with respect to the scores, shape (n_docs,); it sums to 0 over every query."""
        caller = "SoftMetric.gradient"
        groups, scores, weights = _check_call(caller, y_true, y_score, group, qid, query_weight)
        return self._derivatives(prepare(self.metric, caller, y_true, groups), scores, weights)[1]

    def value_gradient_hessian(
        self, y_true: Any, y_score: Any, *, group: Any = None, qid: Any = None, query_weight: Any = None
    ) -> tuple[float, FloatArray, FloatArray]:
        """The mean, its gradient and the exact diagonal of its Hessian, shapes (), (n_docs,), (n_docs,).

        Raises
        ------
        ValueError
            If sigma is in units of the spread: the diagonal would need the whole Hessian.
        """
        caller = "SoftMetric.value_gradient_hessian"
        if self.sigma_unit == "spread":
            raise ValueError(
                f"{caller}: the exact diagonal Hessian is offered for sigma_unit='score' only; got 'spread'"
            )
        groups, scores, weights = _check_call(caller, y_true, y_score, group, qid, query_weight)
        return self._derivatives(prepare(self.metric, caller, y_true, groups), scores, weights)

    def scale(self, groups: QueryGroups, scores: FloatArray, weights: FloatArray) -> float:
        """Sigma in units of the scores."""
        return self.sigma if self.sigma_unit == "score" else self.sigma * spread(groups, scores, weights)

    def evaluate(self, prepared: PreparedQueries, scores: FloatArray, weights: FloatArray) -> FloatArray:
        """Values of the queries on checked scores: what the methods above and the boosters' adapters call."""
        sigma = self.scale(prepared.groups, scores, weights)
        if sigma == 0.0:
            return expected_ties(self.metric).evaluate(prepared, scores)
        found = expectation(prepared, scores, self.noise, sigma, self.accuracy, derive=False)
        return prepared.finish(found.values)

    def _derivatives(
        self, prepared: PreparedQueries, scores: FloatArray, weights: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        groups, sigma = prepared.groups, self.scale(prepared.groups, scores, weights)
        if sigma == 0.0:
            values = expected_ties(self.metric).evaluate(prepared, scores)
            return prepared.mean(values, weights), np.zeros(scores.size), np.zeros(scores.size)
        found = expectation(prepared, scores, self.noise, sigma, self.accuracy, derive=True)
        counted = prepared.counted(weights)
        counted = np.where(prepared.empty, 0.0, counted / max(float(counted.sum()), 1.0))
        share = groups.per_document(counted / prepared.divisor)
        gradient, hessian = found.gradient * share, found.hessian * share
        if self.sigma_unit == "spread":
            gradient = _without_growth(groups, scores, weights, gradient)
        with np.errstate(over="ignore"):
            gradient = np.clip(gradient / sigma, -_LARGEST, _LARGEST)
            hessian = np.clip(hessian / sigma / sigma, -_LARGEST, _LARGEST)
        return prepared.mean(prepared.finish(found.values), weights), gradient, hessian


def as_metric(caller: str, metric: str | Metric, options: dict[str, Any]) -> Metric:
    """A Metric from its spec and options, or the one given, which takes no more options."""
    if isinstance(metric, Metric):
        if options:
            raise TypeError(f"{caller}: give {next(iter(options))} to the Metric, which has its options already")
        return metric
    if isinstance(metric, str):
        return Metric(metric, **options)
    raise TypeError(f"{caller}: metric must be a string such as 'ndcg@10' or a Metric; got {metric!r}")


def expected_ties(metric: Metric) -> Metric:
    """The limit of the soft metric as sigma falls to 0."""
    return Metric(metric.spec, **{**metric.options, "ties": "expected"})


def spread(groups: QueryGroups, scores: FloatArray, weights: FloatArray) -> float:
    """Pooled within-query standard deviation of the scores: sqrt(sum w_q SS_q / sum w_q n_q)."""
    return _standardise(groups, scores, weights)[0]


def _standardise(groups: QueryGroups, scores: FloatArray, weights: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """The spread, the deviations from the queries' means in units of it, and each document's share of the weight.

    Scores are counted from the first of their query, so that equal ones deviate by exactly 0, and scaled by powers
    of two, which is exact, so that neither their differences overflow nor their squares over- or underflow.
    """
    share = groups.per_document(weights / (float(weights.max()) or 1.0))
    share = share / (float(share.sum()) or 1.0)
    shrink = 100 if float(np.abs(scores).max()) > 1e270 else 0
    unit = np.ldexp(scores, -shrink)
    unit = unit - groups.per_document(unit[np.minimum(groups.offsets[:-1], unit.size - 1)])
    unit = unit - groups.per_document(groups.sums(unit) / np.maximum(groups.sizes, 1))
    exponent = int(np.frexp(np.abs(unit).max())[1])
    unit = np.ldexp(unit, -exponent)
    deviation = float(np.sqrt((share * unit * unit).sum()))
    return float(np.ldexp(deviation, exponent + shrink)), unit / (deviation or 1.0), share


def _without_growth(groups: QueryGroups, scores: FloatArray, weights: FloatArray, gradient: FloatArray) -> FloatArray:
    """Take out of a gradient the part that only scales the scores.

    The metric is homogeneous: s . dV/ds + sigma dV/dsigma = 0, so moving sigma with the spread adds
    -(s . g) / spread times the spread's own gradient, w_q (s - mean) / (sum of w n x spread).
    """
    _, deviation, share = _standardise(groups, scores, weights)
    growth: FloatArray = gradient - float((deviation * gradient).sum()) * share * deviation
    return growth
