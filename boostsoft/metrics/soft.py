"""Soft ranking metrics: the exact expectation of a hard one when the scores carry noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, get_args

import numpy as np

from ..arguments import FloatArray, changed, one_of, positive_number, set_fields, short, whole_number
from ..choices import Accuracy, Noise, Ranks, SigmaUnit
from ..kernels.expected import ACCURACY
from ..kernels.families import PLAIN
from ..kernels.noise import LAWS
from .expectation import Expectation, expectation, sampled_expectation, softrank_expectation
from .hard import Metric, check_call, read_metric
from .prepared import PreparedQueries, prepare
from .registry import REGISTRY
from .spec import CutoffOptions, Unpack, check_name, parse_call
from .spread import Deviations, spread

SIGMA_UNITS = get_args(SigmaUnit)
RANKS = get_args(Ranks)
_OWN = ("noise", "sigma", "sigma_unit", "ranks", "accuracy", "n_samples", "seed", "name")
WATCHED_SIGMA = 0.2  # of the scores' spread: where trees are watched and nothing else is said
_GIVE_HARD = "; give its hard twin, .hard, and what is asked for of the noise beside it"
_LARGEST = np.finfo(np.float64).max


@dataclass(frozen=True, init=False, repr=False)
class SoftMetric:
    r"""The expectation of a ranking metric when every score carries independent noise.

    Document i scores s_i + sigma eps_i, eps_i drawn independently from the noise's law; sorting gives random
    ranks, and the soft metric is the metric's mean over them, computed without sampling together with its exact
    gradient and diagonal Hessian (Taylor et al. 2008 for soft ranks; the README for the mathematics).

    Parameters
    ----------
    metric : str or Metric
        ``"ndcg@10"``, or a :class:`Metric`.
    noise : "gaussian", "gumbel" or "logistic"
        Thurstone's law, Plackett-Luce with weights exp(s / sigma), or i.i.d. logistic noise.
    sigma : float
        Scale of the noise, above 0, in ``sigma_unit``.
    sigma_unit : "score" or "spread"
        The unit of the scores, or the pooled within-query standard deviation of the scores: then rescaling the
        scores changes nothing, and the gradient accounts for that. A spread of 0 gives the hard value, ties in
        expectation, and gradient 0.
    ranks : "exact", "softrank" or "sampled"
        The exact expectation, of all metrics but bpref and map with ``normalizer="retrieved"``; SoftRank's value
        (Taylor et al. 2008; SoftDCG), which takes pairwise events as independent, of dcg, ndcg, cg, precision,
        recall, f1 and rbp; or the mean over draws of the noise (NoisedSoftDCG), of any metric.
    accuracy : "default", "high" or "fast"
        By default value and gradient are within 1e-6 of the query's largest, or of 1e-8 of the natural scale where that
        is larger: the range of the gains, for a gradient over sigma. "high" is within 1e-10, with 1e-4 of the natural
        scale in place of 1e-8; "fast", which is what objectives take, within 1e-4. Metrics of pairs and SoftRank are
        within 1e-12 of the largest in each; auc, kendall and spearman under Gaussian noise within 2e-9 of a pair,
        unless "high". In long lists a pair is off by up to 1e-17 of a pair besides: pnr, and gradients that small, have
        fewer digits where nearly all pairs are certain to be in order. Under a table of discounts that rises again,
        where ranks cancel, the error is relative to the gradient of one that falls by as much wherever this one rises
        or falls. Of pfound with ``p_break`` near 0, where ranks cancel too, the gradient is off by as much as 1e-8 of
        the natural scale ("fast": 1e-6) where a hit is all but certain. Climbs to the worst case found up to .96 of
        the bound; a Gaussian gradient that turns out fainter than it was taken for is computed again for that. With
        negative gains, whose value may be near 0, the value's error is relative to what it would be if they were
        counted from the least one.
    n_samples, seed : int, optional
        Draws per query (100; 2 at least) and what seeds them (0), with ``ranks="sampled"`` only. Query q draws from its
        own stream, seeded by (seed, q): the result does not depend on threads.
    name : str, optional
        In place of ``ndcg_gaussian@10`` (``ndcg_softrank@10``, ``ndcg_sampled@10``).
    **options
        Of the :class:`Metric`, if it is given as a string.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, or there are no such ``ranks`` of the metric.
    ValueError
        When called: as :class:`Metric`, or if a query is estimated to take more than ten minutes on one core, as too
        many documents times ranks do under exact ranks and SoftRank's. The remedy is a cutoff, or a smaller one.

    Warns
    -----
    UserWarning
        When called with neither ``group`` nor ``qid``: all documents are then one query.

    Notes
    -----
    With coefficients g (gains, relevance) and discounts D, R_i the random rank of document i, a sum over ranks has
    the expectation

        V = sum_i g_i E[D(R_i)] / divisor,
        E[D(R_i)] = integral of w_i(x) E[D(1 + sum over j != i of B_j(x))] dx,

    where w_i(x) = f((x - s_i) / sigma) / sigma is the density of the noisy score of i and the independent B_j(x) are 1
    with the chance 1 - F((x - s_j) / sigma) that j lies above x; f and F are those of the noise. In cascades (mrr, err,
    pfound) and map the same expectation also holds what the documents above let through or mark. Metrics of pairs are
    sums of P(s_i + sigma eps_i > s_j + sigma eps_j). Units, range, ``empty`` and the mean over queries are those of
    :class:`Metric`.

    The spread is one number for all queries, sqrt(sum_q w_q SS_q / sum_q w_q n_q): SS_q is the sum of squared
    deviations of the scores of query q from their mean, n_q the number of its documents and w_q its weight.

    Ties are no special case: tied documents share their ranks in expectation. As sigma falls to 0 the soft metric
    becomes its hard twin with ``ties="expected"``; SoftRank's value does not where scores are tied, since its ranks
    are no permutation: 120 tied relevant documents have a dcg@10 of 5.5e-22, and their mean over orders is 4.54.
    pnr is E[pairs in order] / E[the others], for the ratio itself has no finite mean; chances below 1e-17 may count
    as 0. A gradient that overflows is returned as the largest float.

    Sampled gradients are PL-Rank-3 (Oosterhuis 2022), of gains less their mean, for sums of gain x discount under
    Gumbel noise, and otherwise the covariance of the metric with the noise's score function, which is noisier with a
    cutoff.

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
    noise: Noise
    sigma: float
    sigma_unit: SigmaUnit
    ranks: Ranks
    accuracy: Accuracy
    n_samples: int | None
    seed: int | None
    custom_name: str | None

    def __init__(
        self,
        metric: str | Metric,
        *,
        noise: Noise = "gaussian",
        sigma: float = 1.0,
        sigma_unit: SigmaUnit = "score",
        ranks: Ranks = "exact",
        accuracy: Accuracy = "default",
        n_samples: int | None = None,
        seed: int | None = None,
        name: str | None = None,
        **options: Unpack[CutoffOptions],
    ) -> None:
        _refuse_misspelt(options)
        checked: dict[str, Any] = {
            "metric": as_metric("SoftMetric", metric, options),
            "noise": one_of("SoftMetric", "noise", noise, LAWS),
            "sigma": positive_number("SoftMetric", "sigma", sigma),
            "sigma_unit": one_of("SoftMetric", "sigma_unit", sigma_unit, SIGMA_UNITS),
            "ranks": one_of("SoftMetric", "ranks", ranks, RANKS),
            "accuracy": one_of("SoftMetric", "accuracy", accuracy, ACCURACY),
            "n_samples": _sampling_number("n_samples", n_samples, 100, 2, ranks),
            "seed": _sampling_number("seed", seed, 0, 0, ranks),
            "custom_name": check_name("SoftMetric", name),
        }
        _check_ranks(checked["metric"], checked["ranks"])
        set_fields(self, checked)

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
        return self.custom_name or self.metric.label(self.noise if self.ranks == "exact" else self.ranks)

    @property
    def higher_is_better(self) -> bool:
        """Every metric here is to be maximised."""
        return True

    @property
    def __name__(self) -> str:
        """The name, for those who ask functions for theirs, as ``sklearn.metrics.make_scorer`` does."""
        return self.name

    def __repr__(self) -> str:
        named = "" if self.custom_name is None else f", name={self.custom_name!r}"
        if self.ranks == "sampled":
            named = f", n_samples={self.n_samples!r}, seed={self.seed!r}{named}"
        return (
            f"SoftMetric({self.metric!r}, noise={self.noise!r}, sigma={self.sigma!r}, "
            f"sigma_unit={self.sigma_unit!r}, ranks={self.ranks!r}, accuracy={self.accuracy!r}{named})"
        )

    def __call__(
        self, y_true: Any, y_score: Any, *, group: Any = None, qid: Any = None, query_weight: Any = None
    ) -> float:
        """Mean over queries, NaN if none counts; arguments as in :meth:`Metric.__call__`."""
        labels, groups, scores, weights = check_call("SoftMetric", y_true, y_score, group, qid, query_weight)
        prepared = prepare(self.metric, "SoftMetric", labels, groups)
        return prepared.mean(self.evaluate(prepared, scores, weights), weights)

    def per_query(
        self, y_true: Any, y_score: Any, *, group: Any = None, qid: Any = None, query_weight: Any = None
    ) -> FloatArray:
        """Value of each query, shape (n_queries,), NaN where ``empty="skip"`` leaves one out.

        Arguments are as when called; ``query_weight`` matters to the spread alone. ``pooled=True`` raises ValueError.
        """
        caller = "SoftMetric.per_query"
        labels, groups, scores, weights = check_call(caller, y_true, y_score, group, qid, query_weight)
        self.metric.refuse_pooled(caller)
        return self.evaluate(prepare(self.metric, caller, labels, groups), scores, weights)

    def gradient(
        self, y_true: Any, y_score: Any, *, group: Any = None, qid: Any = None, query_weight: Any = None
    ) -> FloatArray:
        """Gradient of the mean with respect to the scores, shape (n_docs,).

        Arguments are as when called. Its sum over a query, or over all documents if the metric is pooled, is 0 to its
        error.
        """
        caller = "SoftMetric.gradient"
        labels, groups, scores, weights = check_call(caller, y_true, y_score, group, qid, query_weight)
        return self._derivatives(prepare(self.metric, caller, labels, groups), scores, weights, derive=1)[1]

    def value_gradient_hessian(
        self, y_true: Any, y_score: Any, *, group: Any = None, qid: Any = None, query_weight: Any = None
    ) -> tuple[float, FloatArray, FloatArray]:
        """The mean, its gradient and the exact diagonal of its Hessian, shapes (), (n_docs,), (n_docs,).

        Arguments are as when called.

        Raises
        ------
        ValueError
            If sigma is in units of the spread: the diagonal would need the whole Hessian. If ranks are sampled: there
            is no estimate of it.
        """
        caller = "SoftMetric.value_gradient_hessian"
        if self.ranks == "sampled":
            raise ValueError(f"{caller}: ranks='sampled' has a value and a gradient only; use per_query and gradient")
        if self.sigma_unit == "spread":
            raise ValueError(
                f"{caller}: the exact diagonal Hessian is offered for sigma_unit='score' only; got 'spread'"
            )
        labels, groups, scores, weights = check_call(caller, y_true, y_score, group, qid, query_weight)
        return self._derivatives(prepare(self.metric, caller, labels, groups), scores, weights, derive=2)

    def evaluate(self, prepared: PreparedQueries, scores: FloatArray, weights: FloatArray) -> FloatArray:
        """Values of the queries on checked scores: what the methods above and the boosters' adapters call."""
        sigma = self.sigma * (1.0 if self.sigma_unit == "score" else spread(prepared.members, scores, weights))
        if sigma == 0.0:
            return expected_ties(self.metric).evaluate(prepared, scores, weights)
        queries = prepared.weigh(weights)
        return queries.finish(self._sums(queries, scores, sigma, derive=0).values)

    def evaluate_with_gradient(
        self, prepared: PreparedQueries, scores: FloatArray, weights: FloatArray
    ) -> tuple[float, FloatArray]:
        """The mean and its gradient on checked scores: what a search over blends calls."""
        return self._derivatives(prepared, scores, weights, derive=1)[:2]

    def _sums(self, queries: PreparedQueries, scores: FloatArray, sigma: float, derive: int) -> Expectation:
        if sigma == np.inf:  # sigma x spread is beyond floats: such noise leaves ties, but inf / inf is no distance
            scores, sigma = np.zeros(scores.size), 1.0
        if self.ranks == "softrank":
            return softrank_expectation(queries, scores, self.noise, sigma, derive > 0)
        if self.n_samples is not None and self.seed is not None:
            return sampled_expectation(queries, scores, self.noise, sigma, self.n_samples, self.seed, derive > 0)
        return expectation(queries, scores, self.noise, sigma, self.accuracy, derive)

    def _derivatives(
        self, prepared: PreparedQueries, scores: FloatArray, weights: FloatArray, derive: int
    ) -> tuple[float, FloatArray, FloatArray]:
        """Mean, gradient and, with ``derive`` = 2, the diagonal Hessian, which is empty otherwise."""
        deviations = Deviations.of(prepared.members, scores, weights) if self.sigma_unit == "spread" else None
        sigma = self.sigma * (1.0 if deviations is None else deviations.spread)
        if sigma == 0.0:
            values = expected_ties(self.metric).evaluate(prepared, scores, weights)
            return prepared.mean(values, weights), np.zeros(scores.size), np.zeros(0)  # spreads have no Hessian
        queries = prepared.weigh(weights)
        found = self._sums(queries, scores, sigma, derive)
        counted = queries.counted(weights)
        counted = counted / max(float(counted.sum()), 1.0)
        slope, bend = queries.slopes(found.values)
        share = queries.groups.per_document(counted * slope)
        with np.errstate(over="ignore", under="ignore"):  # a document far from all others is hardly pulled
            gradient = found.gradient * share
            hessian = found.hessian * share if derive == 2 else np.zeros(0)
            if queries.odds and derive == 2:
                hessian += found.gradient**2 * queries.groups.per_document(counted * bend)
        if deviations is not None:
            with np.errstate(under="ignore"):
                gradient = deviations.without_growth(queries.groups, scores, gradient)
        with np.errstate(over="ignore", under="ignore"):
            gradient = np.clip(gradient / sigma, -_LARGEST, _LARGEST)
            hessian = np.clip(hessian / sigma / sigma, -_LARGEST, _LARGEST)
        return queries.mean(queries.finish(found.values), weights), gradient, hessian


AnyMetric = Metric | SoftMetric
SomeMetrics = str | AnyMetric | Iterable[str | AnyMetric]  # one, or several
# of metrics or their names; Any, since keys are of one type to type checkers: {Metric("kendall"): .3, "auc": .2} is a
# dict[object, float], and no dict[str, float] a mapping from str | Metric
MetricWeights = Mapping[Any, float]


def watched_soft(metric: str | Metric, noise: Noise = "gaussian") -> SoftMetric:
    """The soft metric to watch a training by: a growth of the scores, which alone is no progress, leaves it alone."""
    return SoftMetric(metric, noise=noise, sigma=WATCHED_SIGMA, sigma_unit="spread")


def _sampling_number(argument: str, value: Any, default: int, least: int, ranks: str) -> int | None:
    """A whole number that means something to sampled ranks only, and None otherwise."""
    if ranks == "sampled":
        return default if value is None else whole_number("SoftMetric", argument, value, least)
    if value is not None:
        raise ValueError(
            f"SoftMetric: {argument} belongs to ranks='sampled'; got {argument}={value!r}, ranks={ranks!r}"
        )
    return None


def refuse_inexact(caller: str, metric: Metric, remedy: str) -> None:
    """Raise if the metric's expectation has no exact form here."""
    if not REGISTRY[metric.metric].exact:
        raise ValueError(f"{caller}: {metric.metric} has no exact expectation here; {remedy}")
    if metric.normalizer == "retrieved":
        raise ValueError(
            f"{caller}: {metric.metric} with normalizer='retrieved' has no exact expectation here, since its divisor "
            f"is random; another normalizer has, and {remedy}"
        )


def _check_ranks(metric: Metric, ranks: str) -> None:
    """Refuse what has no such soft version, and name what has."""
    remedy = "ranks='sampled' estimates it"
    if ranks == "exact":
        refuse_inexact("SoftMetric", metric, remedy)
    if ranks == "softrank" and REGISTRY[metric.metric].family != PLAIN:
        known = ", ".join(name for name, other in REGISTRY.items() if other.family == PLAIN)
        raise ValueError(f"SoftMetric: ranks='softrank' is defined for {known}; got {metric.metric}; {remedy}")


def _refuse_misspelt(options: Mapping[str, Any]) -> None:
    """Raise if an option is nearly one of a SoftMetric's own, which none of a metric's is."""
    for option in options:
        meant = get_close_matches(option, _OWN, 1)
        if meant:
            raise TypeError(f"SoftMetric: {option} must be spelt {meant[0]}; it takes {', '.join(_OWN)}")


def as_metric(caller: str, metric: str | Metric, options: Mapping[str, Any]) -> Metric:
    """A Metric from its spec and options, or the one given, which takes no more options."""
    if isinstance(metric, Metric):
        if options:
            raise TypeError(f"{caller}: give {next(iter(options))} to the Metric, which has its options already")
        return metric
    if isinstance(metric, str):
        return read_metric(caller, metric, options)
    raise TypeError(
        f"{caller}: metric must be a string such as 'ndcg@10' or a Metric; got {short(metric)}"
        f"{_GIVE_HARD if isinstance(metric, SoftMetric) else ''}"
    )


def expected_ties(metric: Metric) -> Metric:
    """The limit of the soft metric as sigma falls to 0."""
    return changed(metric, ties="expected")
