"""Which sigma to take: by four measures of what a soft metric is good for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from .arguments import (
    Flags,
    FloatArray,
    IntArray,
    Numbers,
    RandomState,
    finite_vector,
    generator_of,
    non_negative_number,
    one_of,
    whole_number,
)
from .blending.annealing import several_count, share_of_a_query
from .blending.mixtures import Mixtures, read_mixtures
from .blending.problem import Problem
from .blending.scores import NORMALIZATIONS, directions, score_matrix
from .blending.soft_value import SoftValue
from .blending.solve import climb, starts
from .choices import Noise, Normalize, Progress, SigmaMethod, SigmaUnit
from .kernels.noise import LAWS
from .metrics.hard import Metric
from .metrics.soft import SIGMA_UNITS, SoftMetric, as_metric
from .metrics.spread import spread, spreads
from .progress import shows, watched
from .queries import read_queries, weigh
from .query_groups import warn_of_one_query
from .query_means import degrees_of_freedom, mean_errors, t_quantile, weighted_means
from .smoothness import approximation_error, smoothness_error

__all__ = ["SigmaChoice", "choose_sigma"]

GRID = tuple((2.0 ** np.arange(-4.0, 1.5, 0.5)).tolist())  # 1/16 to 2
MOST_PAIRS = 5  # of models, whose mixtures are drawn as curves
_CURVE = 51  # points of each
_LEVEL = 0.95  # of the intervals that tell two models apart
_LEAST_DEVIATION = 1e-12  # of differences: what rounding leaves of equal ones
_ROUNDING = 1e-12  # share of a curve's height
_SAME = 1e-6  # what a value may change by if a system's scores are halved: doubled, the largest would be infinite


@dataclass(frozen=True, eq=False)
class SigmaChoice:
    """A sigma and what speaks for it.

    Attributes
    ----------
    sigma : what was chosen, in ``sigma_unit``. Of equals it is the least.
    method : by which measure.
    sigmas : (n,), those that were compared, rising, each once; of "residual" the one.
    table : what was measured at each of them, by name, (n,) each. "held-out": ``value``, the hard metric. "tradeoff":
        ``smoothness`` (the roughness), ``approximation`` (the misfit) and ``total``. "sensitivity": ``queries`` (the
        median), ``against`` (the share of decided pairs that are told apart the other way round) and ``rescaling`` (the
        largest change of a value by halved scores). "residual": ``residual``, which is sigma.
    metric : the hard metric; None of "residual", which has none.
    sigma_unit : "spread" or "score", of ``sigma`` and ``sigmas``; what the method of residuals finds is in spreads.
    """

    sigma: float
    method: SigmaMethod
    sigmas: FloatArray
    table: Mapping[str, FloatArray]
    metric: Metric | None = None
    sigma_unit: SigmaUnit = "spread"


def choose_sigma(
    S: Any,
    y: Any = None,
    *,
    method: SigmaMethod = "held-out",
    group: Any = None,
    qid: Any = None,
    sample_weight: Any = None,
    query_weight: Any = None,
    metric: str | Metric = "ndcg@10",
    noise: Noise = "gaussian",
    sigmas: Numbers = GRID,
    sigma_unit: SigmaUnit = "spread",
    normalize: Normalize = "rank",
    lower_is_better: Flags = False,
    smoothness_weight: float = 0.2,
    n_folds: int = 5,
    l2: float = 1.0,
    random_state: RandomState | None = 0,
    progress: Progress = "auto",
) -> SigmaChoice:
    r"""Choose the noise of a soft metric for these scores.

    - ``"tradeoff"`` (Levkov 2017, with a weight of 1/5): the least smoothness_weight x roughness + misfit of the curve
      along 51 mixtures of two models, in the mean over pairs of models. Roughness is how far the soft curve is from a
      polynomial over 11 points (:func:`boostsoft.smoothness_error`, "polynomial") over its variance, relative to that
      of the hard curve; misfit is what it leaves unexplained of the hard one (:func:`boostsoft.approximation_error`
      over that one's variance). Pairs whose hard curve is constant are left out; a soft curve that is constant has
      roughness 0 and misfit 1.
    - ``"sensitivity"``: where the fewest queries tell two models apart: the least median, over pairs that the hard
      metric tells apart, of (effect of the hard metric / effect of the soft one)^2, infinite where the soft one points
      the other way, an effect being the mean over the standard deviation of the differences query by query, both by
      weight (:func:`boostsoft.compare`). Of these pairs (by the 95 % interval of Student's law) none may be told apart
      the other way round, and halving a model's scores must not change its value, as it does in units of the score.
    - ``"residual"``: the noise that the scores have. S holds the scores of models that were each trained on a random
      half of the queries: their deviations from their mean, each model at the same spread, are as large as those of
      a model trained on all from one draw of the queries to the next. In spreads of the mean; needs no labels.
    - ``"held-out"``: blend weights are fitted at each sigma, from wide to narrow, and measured on held-out queries,
      by the hard metric.

    Parameters
    ----------
    S : (n_docs, n_models)
        Scores, NaN where a model has none. Two models at least.
    y : (n_docs,), optional
        Labels, which "residual" does not need.
    method : "held-out", "tradeoff", "sensitivity" or "residual"
        By which measure.
    group, qid, sample_weight, query_weight : optional
        The queries and their weights, as in :meth:`SoftBlender.fit`.
    metric, noise
        Of the soft metric.
    sigmas, sigma_unit : floats, "spread" or "score"
        Which to compare, in any order, and their unit, which of "held-out" is the spread. "residual" compares none.
    normalize, lower_is_better
        What is done to the scores first, as in :class:`SoftBlender`. "residual" takes finite scores as they are, but
        for their direction: it measures how far they are off, which ranks do not tell.
    smoothness_weight : float
        Of "tradeoff", at least 0.
    n_folds, l2
        Of "held-out": into how many parts the queries that tell rankings apart are cut (each of one at least), and the
        price of unequal weights, at least 0.
    random_state : int, RandomState or Generator, optional
        Of the folds, and of the pairs of models if there are more than five; None is 0.
    progress : "auto", True or False
        Whether to show how far it is: "auto" where stderr is a terminal, True in notebooks and logs too.

    Returns
    -------
    SigmaChoice
        ``sigma``, and the measures at all ``sigmas``, by name in ``table``: ``value`` of "held-out", ``smoothness``,
        ``approximation`` and ``total`` of "tradeoff", ``queries``, ``against`` and ``rescaling`` of "sensitivity".

    Raises
    ------
    TypeError, ValueError
        If no sigma passes the conditions of "sensitivity", or the hard metric tells no two models apart; if the hard
        curves of "tradeoff" are all constant; if, of "held-out", fewer than two queries tell rankings apart; if models
        of "residual" are constant; if the metric is infinite for a query; or if an argument is not as described.

    Warns
    -----
    UserWarning
        If neither ``group`` nor ``qid`` is given; with "held-out" also if models rank all documents alike or in
        opposite orders.

    Notes
    -----
    "held-out" is what blends were tried with (``SoftBlender(sigma="auto")`` sums up its choices by the number of
    queries, without its cost; here the metric stands alone, as with ``mix=None``); the others say what a sigma does to
    a measurement, and not which blend generalises.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import choose_sigma
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 400)
    >>> S = y[:, None] + [1.0, 3.0] * rng.normal(size=(400, 2))
    >>> choice = choose_sigma(S, y, method="sensitivity", group=np.full(40, 10), sigmas=[0.1, 0.5])
    >>> choice.table["queries"].shape
    (2,)
    """
    caller = "choose_sigma"
    one_of(caller, "method", method, ("residual", *_MEASURES))
    shown = shows(caller, progress)
    matrix, names = score_matrix(caller, S)
    n_models = len(names)
    if n_models < 2:
        raise ValueError(f"{caller}: S must have two models at least; got {n_models}")
    grid = _grid(caller, sigmas)
    one_of(caller, "noise", noise, LAWS)
    one_of(caller, "normalize", normalize, NORMALIZATIONS)
    one_of(caller, "sigma_unit", sigma_unit, SIGMA_UNITS)
    metric = as_metric(caller, metric, {})
    options = {
        "smoothness_weight": non_negative_number(caller, "smoothness_weight", smoothness_weight),
        "n_folds": whole_number(caller, "n_folds", n_folds, 2),
        "l2": non_negative_number(caller, "l2", l2),
        "shown": shown,
    }
    rng = generator_of(caller, random_state)
    if method == "residual":
        signs = directions(caller, lower_is_better, n_models)
        return _residual(caller, matrix, names, signs, group, qid, sample_weight, query_weight)
    if method == "held-out" and sigma_unit == "score":
        raise ValueError(f"{caller}: sigma_unit must be 'spread' with method='held-out', as in a blend; got 'score'")
    mixed = read_mixtures(
        caller, S, y, [("S", at) for at in range(n_models)], group=group, qid=qid, sample_weight=sample_weight,
        query_weight=query_weight, metric=metric, normalize=normalize, lower_is_better=lower_is_better, noise=noise,
        sigma=float(grid[0]), sigma_unit=sigma_unit, open_ends=method == "held-out",
    )  # fmt: skip
    best, table = _MEASURES[method](mixed, grid, rng, options)
    return SigmaChoice(float(grid[best]), method, grid, table, metric, sigma_unit)


Found = tuple[int, dict[str, FloatArray]]


def _tradeoff(mixed: Mixtures, grid: FloatArray, rng: np.random.Generator, options: Mapping[str, Any]) -> Found:
    t = np.linspace(0.0, 1.0, _CURVE)
    found = []
    for i, j in _pairs(mixed, rng):
        mixtures = np.zeros((_CURVE, mixed.scores.shape[1]))
        mixtures[:, i], mixtures[:, j] = 1.0 - t, t
        hard = mixed.mean(mixed.values(mixed.soft.hard, mixtures))
        if _is_constant(hard):
            continue
        text = f"choose_sigma, models {i} and {j}"
        with closing(watched(grid, grid.size, text, options["shown"])) as sigmas:
            curves = [mixed.mean(mixed.values(_at(mixed, sigma), mixtures)) for sigma in sigmas]
        rough = _roughness(hard)
        found.append(
            [
                [_roughness(soft) / rough if rough > 0 else 0.0 for soft in curves],
                [approximation_error(soft, hard).error / float(hard.var()) for soft in curves],
            ]
        )
    if not found:
        raise ValueError("choose_sigma: the metric must change along the mixture of two models; it is constant")
    smoothness, approximation = np.mean(found, axis=0)
    total = options["smoothness_weight"] * smoothness + approximation
    return _least(total), {"smoothness": smoothness, "approximation": approximation, "total": total}


def _least(values: FloatArray) -> int:
    """The place of the first value that is the least but for rounding."""
    least = values.min()
    return int(np.flatnonzero(values <= least + _ROUNDING * abs(least))[0])


def _roughness(curve: FloatArray) -> float:
    return 0.0 if _is_constant(curve) else smoothness_error(curve, "polynomial") / float(curve.var())


def _is_constant(curve: FloatArray) -> bool:
    """Whether it moves by no more than rounding; its standard deviation is hardly ever 0, for the mean is rounded."""
    return bool(np.ptp(curve) <= _ROUNDING * np.abs(curve).max())


def _sensitivity(mixed: Mixtures, grid: FloatArray, rng: np.random.Generator, options: Mapping[str, Any]) -> Found:
    alone = np.eye(mixed.scores.shape[1])
    hard = mixed.values(mixed.soft.hard, alone)
    effects = _effects(mixed, hard)
    signs = _signs(mixed, effects)
    decided = signs != 0
    if not decided.any():
        raise ValueError("choose_sigma: the hard metric must tell two models apart; it does so for no pair")
    queries, against, change = np.empty((3, grid.size))
    for at, sigma in enumerate(watched(grid, grid.size, "choose_sigma", options["shown"])):
        soft, halved = (mixed.values(_at(mixed, sigma), factor * alone) for factor in (1.0, 0.5))
        change[at] = float(np.nanmax(np.abs(halved - soft)))
        its = _effects(mixed, soft)
        against[at] = np.mean((_signs(mixed, its) == -signs)[decided])
        ratios = its[decided] / effects[decided]
        with np.errstate(divide="ignore"):
            queries[at] = np.median(np.where(ratios > 0, ratios**-2.0, np.inf))
    eligible = np.flatnonzero((against == 0.0) & (change <= _SAME))
    if eligible.size == 0:
        raise ValueError(
            "choose_sigma: no sigma agrees with the hard metric on all pairs that it tells apart, and leaves values "
            f"alone when scores are halved (largest change {change.min():.2g} at least); sigma_unit='spread' does "
            "the latter"
        )
    best = int(eligible[_least(queries[eligible])])  # which may be infinite for all
    return best, {"queries": queries, "against": against, "rescaling": change}


def _signs(mixed: Mixtures, effects: FloatArray) -> FloatArray:
    """Which of two models is better, pair by pair: 1, -1, or 0 if the interval of Student's law holds 0."""
    freedom = degrees_of_freedom(mixed.prepared.counted(mixed.query_weight))
    least = t_quantile((1.0 + _LEVEL) / 2.0, freedom)  # infinite for one query, which has no interval
    return np.where(np.abs(effects) > least, np.sign(effects), 0.0)


def _effects(mixed: Mixtures, values: FloatArray) -> FloatArray:
    """Mean over its standard error of the differences of two models, pair by pair; NaN of one query."""
    counted = mixed.prepared.counted(mixed.query_weight)
    models = np.ascontiguousarray(values.T)
    # of one model and those behind it: of all pairs at once it would be many times the scores
    return np.concatenate([_effect(models[i] - models[i + 1 :], counted) for i in range(len(models) - 1)])


def _effect(differences: FloatArray, counted: FloatArray) -> FloatArray:
    errors = np.maximum(mean_errors(differences, counted), _LEAST_DEVIATION)
    effects: FloatArray = weighted_means(differences, counted) / errors
    return effects


def _held_out(mixed: Mixtures, grid: FloatArray, rng: np.random.Generator, options: Mapping[str, Any]) -> Found:
    if not several_count(mixed.prepared, mixed.query_weight):
        raise ValueError("choose_sigma: two queries must have a relevant document to hold one of them out; got 1")
    sizes = spreads(mixed.prepared.members, mixed.scores, mixed.query_weight)
    problem = Problem(
        mixed.scores / np.where(sizes > 0, sizes, 1.0), mixed.prepared, mixed.query_weight, mixed.soft.hard,
        mixed.soft.noise, (float(grid[-1]),), "simplex", 0.0,
    )  # fmt: skip
    telling = np.flatnonzero((mixed.query_weight > 0) & ~mixed.prepared.empty)  # two at least: no fold holds them all
    n_folds = min(options["n_folds"], telling.size)
    fold = np.zeros(mixed.query_weight.size, dtype=np.int64)
    fold[telling] = rng.permutation(telling.size) % n_folds
    values = np.empty((fold.size, grid.size))
    for part in range(n_folds):
        train = problem.reweighted(np.where(fold != part, mixed.query_weight, 0.0))
        train = replace(train, l2=options["l2"] * share_of_a_query(train.prepared, train.query_weight))
        weights = starts(SoftValue(train, float(grid[-1])), rng, 1)[0]
        for at in watched(range(grid.size - 1, -1, -1), grid.size, f"choose_sigma, fold {part + 1}", options["shown"]):
            weights = climb(SoftValue(train, float(grid[at])), weights)
            values[fold == part, at] = problem.hard_values(weights)[fold == part]
    mixed.refuse_infinite(mixed.soft.hard, values)
    mean = mixed.mean(values)
    return int(np.argmax(mean)), {"value": mean}


def _residual(
    caller: str,
    matrix: FloatArray,
    names: list[str],
    signs: FloatArray,
    group: Any,
    qid: Any,
    sample_weight: Any,
    query_weight: Any,
) -> SigmaChoice:
    for column, name in zip(matrix.T, names, strict=True):
        finite_vector(caller, name, column)
    queries, weights = weigh(caller, read_queries(caller, matrix.shape[0], group, qid), sample_weight, query_weight)
    if not queries.named:
        warn_of_one_query(caller, 3)
    groups, matrix = queries.groups, queries.bring_together(matrix)
    weights = np.ones(groups.n_queries) if weights is None else weights
    sizes = spreads(groups, matrix, weights)
    if not sizes.all():
        raise ValueError(f"{caller}: {names[int(np.argmin(sizes))]} is constant within every query")
    alike = matrix / sizes * signs
    mean = alike.mean(axis=1)
    size = spread(groups, mean, weights)
    if size == 0.0:
        raise ValueError(f"{caller}: the mean of the models is constant within every query: they share no signal")
    left = spreads(groups, alike - mean[:, None], weights)
    sigma = float(np.sqrt((left**2).sum() / (left.size - 1)) / size)
    return SigmaChoice(sigma, "residual", np.array([sigma]), {"residual": np.array([sigma])})


_MEASURES: dict[str, Callable[[Mixtures, FloatArray, np.random.Generator, Mapping[str, Any]], Found]] = {
    "held-out": _held_out,
    "tradeoff": _tradeoff,
    "sensitivity": _sensitivity,
}


def _at(mixed: Mixtures, sigma: float) -> SoftMetric:
    soft = mixed.soft
    return SoftMetric(soft.hard, noise=soft.noise, sigma=sigma, sigma_unit=soft.sigma_unit, accuracy="fast")


def _pairs(mixed: Mixtures, rng: np.random.Generator) -> list[IntArray]:
    every = np.array(list(combinations(range(mixed.scores.shape[1]), 2)))
    return list(every if len(every) <= MOST_PAIRS else rng.choice(every, MOST_PAIRS, replace=False))


def _grid(caller: str, sigmas: Any) -> FloatArray:
    grid = np.unique(finite_vector(caller, "sigmas", sigmas))
    if grid[0] <= 0:
        raise ValueError(f"{caller}: sigmas must be above 0; got {grid[0]}")
    return grid


def __dir__() -> list[str]:
    return __all__  # completion is not to offer what this is made of
