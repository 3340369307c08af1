"""A ranking metric along the mixture of two models."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from ..arguments import Flags, FloatArray, IntArray, RandomState, Whole, whole_number
from ..choices import Auto, Noise, Normalize, Progress, SigmaUnit
from ..metrics.hard import Metric
from ..metrics.soft import AnyMetric, SoftMetric
from ..progress import shows
from ..statistics import N_BOOT
from .interval import percentiles
from .mixtures import largest, read_mixtures, read_resampling


@dataclass(frozen=True)
class CurveOptimum:
    """The best mixture of two models.

    Attributes
    ----------
    t : share of the second model; the middle of the longest stretch of best ones if there are several, the first of
        two that are as long; of an even number the lower middle. Values within 1e-12 are equal.
    value : of the metric there, on the queries that chose it: too high by .017, .009 and .000 (hard) or .006, .003 and
        .000 (soft) with 30, 100 and 300 queries of five pairs of rankers of MQ2007-agg.
    low, high : the central 95 % of the best t on resampled queries; NaN if one query alone has a relevant
        document, and from 0 to 1 where all mixtures are equally good. Of the soft metric it held the best t of all
        queries in .93, .95 and .97 of draws there; of the hard one, a step function, in .74, .81 and .90.
    """

    t: float
    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class BlendCurve:
    """A metric and its soft twin at mixtures (1 - t) S_i + t S_j.

    Attributes
    ----------
    t : (n,), from 0 to 1.
    hard, soft : (n,), means over queries.
    hard_values, soft_values : (n_queries, n), the values behind them.
    hard_interval, soft_interval : (n, 2), the central 95 % of the mean on resampled queries, t by t; NaN if one query
        alone counts.
    hard_optimum, soft_optimum : CurveOptimum, with ``t``, ``value`` and the interval of t, ``low`` and ``high``.
    metric : the hard metric.
    soft_metric : its soft twin, with noise and sigma.
    """

    t: FloatArray
    hard: FloatArray
    soft: FloatArray
    hard_values: FloatArray
    soft_values: FloatArray
    hard_interval: FloatArray
    soft_interval: FloatArray
    hard_optimum: CurveOptimum
    soft_optimum: CurveOptimum
    metric: Metric
    soft_metric: SoftMetric

    def __repr__(self) -> str:
        hard, soft = (f"{best.value:.4f} at t = {best.t:g}" for best in (self.hard_optimum, self.soft_optimum))
        return f"BlendCurve({self.metric.name}, {self.t.size} mixtures; best hard {hard}, soft {soft})"


def blend_curve(
    S: Any,
    y: Any,
    *,
    group: Any = None,
    qid: Any = None,
    sample_weight: Any = None,
    query_weight: Any = None,
    metric: str | AnyMetric = "ndcg@10",
    i: Whole = 0,
    j: Whole = 1,
    n: int = 101,
    normalize: Normalize = "none",
    lower_is_better: Flags = False,
    noise: Noise = "gaussian",
    sigma: float | Auto = "auto",
    sigma_unit: SigmaUnit = "spread",
    n_boot: int = N_BOOT,
    random_state: RandomState | None = 0,
    progress: Progress = "auto",
) -> BlendCurve:
    """Hard and soft metric along the mixture of two models, with the best mixture of each.

    Parameters
    ----------
    S : (n_docs, n_models)
        Scores, NaN where a model has none.
    y : (n_docs,)
        Labels.
    group, qid, sample_weight, query_weight : optional
        The queries and their weights, as in :meth:`SoftBlender.fit`.
    metric : str, Metric or SoftMetric
        What to measure: a metric with an exact expectation. A SoftMetric is the soft curve, and its ``hard`` metric the
        other one; noise and sigma are then its own.
    i, j : int
        The models, by their columns, from the end if negative: the mixture is (1 - t) S_i + t S_j.
    n : int
        Values of t, evenly from 0 to 1; 2 at least.
    normalize : "none", "rank", "zscore" or "minmax"
        What is mixed: the scores as they are, or brought to one scale in each query (:class:`SoftBlender`).
    lower_is_better : bool or (n_models,) bools
        Of which models a lower score is better.
    noise, sigma, sigma_unit
        Of the soft metric. In units of the spread it sees no more of a mixture than its direction; in units of the
        score it rises and falls with the size of the mixed scores. "auto" as in :class:`SoftBlender`.
    n_boot : int
        Resamples of the queries, 20 at least; both metrics see the same. Intervals of few are too narrow: those of 20
        hold some .87, of 100 .93, where queries are many.
    random_state : int, RandomState or Generator, optional
        Seed of the resampling; None is 0.
    progress : "auto", True or False
        Whether to show how far it is: "auto" where stderr is a terminal, True in notebooks and logs too.

    Returns
    -------
    BlendCurve
        The curves, their bands and optima. Hard curves go in steps: where several t are best, the optimum is the middle
        of the longest stretch of them, the first of two that are as long.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described; the metric is pooled, has no exact expectation or is infinite for a query; a
        score is infinite, or one of the models has none at all; or no query has a relevant document.

    Warns
    -----
    UserWarning
        If neither ``group`` nor ``qid`` is given: all rows are then one query; if one query alone has a relevant
        document; if the models rank all documents alike, or in opposite orders, or one has the same score for all
        documents of a query.

    Notes
    -----
    A resample draws queries and keeps their values: the spread of the scores is that of all queries. Where models
    cancel, as one and its reverse in the middle, all documents are tied: less than 1e-10 of their spreads is rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import blend_curve
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 300)
    >>> S = y[:, None] + rng.normal(size=(300, 2))
    >>> curve = blend_curve(S, y, group=np.full(30, 10), n=11)
    >>> bool(curve.hard[5] > max(curve.hard[0], curve.hard[-1]))  # two noisy views are better than one
    True
    """
    caller = "blend_curve"
    steps = whole_number(caller, "n", n, 2)
    resampling, shown = read_resampling(caller, n_boot, random_state), shows(caller, progress)
    mixed = read_mixtures(
        caller, S, y, (("i", i), ("j", j)), group=group, qid=qid, sample_weight=sample_weight,
        query_weight=query_weight, metric=metric, normalize=normalize, lower_is_better=lower_is_better, noise=noise,
        sigma=sigma, sigma_unit=sigma_unit,
    )  # fmt: skip
    t = np.linspace(0.0, 1.0, steps)
    mixtures = np.column_stack([1.0 - t, t])
    hard, soft = (mixed.watched_values(metric, mixtures, shown) for metric in (mixed.soft.hard, mixed.soft))
    again = [mixed.resampled(values, *resampling) for values in (hard, soft)]
    return BlendCurve(
        t=t,
        hard=mixed.mean(hard),
        soft=mixed.mean(soft),
        hard_values=hard,
        soft_values=soft,
        hard_interval=percentiles(again[0]),
        soft_interval=percentiles(again[1]),
        hard_optimum=_optimum(t, mixed.mean(hard), again[0], mixed.one_decides),
        soft_optimum=_optimum(t, mixed.mean(soft), again[1], mixed.one_decides),
        metric=mixed.soft.hard,
        soft_metric=mixed.soft,
    )


def _optimum(t: FloatArray, mean: FloatArray, resamples: FloatArray, open_end: bool) -> CurveOptimum:
    at = summit(mean)
    if open_end:
        low = high = np.nan
    elif largest(mean).all():  # no mixture is better than another
        low, high = t[0], t[-1]
    else:
        low, high = percentiles(np.array([[t[summit(curve)]] for curve in resamples]))[0]
    return CurveOptimum(float(t[at]), float(mean[at]), float(low), float(high))


def summit(curve: FloatArray) -> int:
    """The middle of the longest stretch of largest values, the first of several: hard curves go in steps."""
    runs: list[IntArray] = []
    for best, places in groupby(range(curve.size), key=largest(curve).__getitem__):
        if best:
            runs.append(np.array(list(places)))
    longest = max(runs, key=len)
    return int(longest[(longest.size - 1) // 2])
