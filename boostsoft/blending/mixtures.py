"""Hard and soft metric of many mixtures of the same models, and how sure their best one is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import AUTO, FloatArray, Whole, one_of, positive_number, seed_of, whole_number
from ..kernels.noise import LAWS
from ..labels import read_labels
from ..metrics.hard import Metric, refuse_cutoffs_per_query
from ..metrics.prepared import PreparedQueries, prepare
from ..metrics.soft import SIGMA_UNITS, AnyMetric, SoftMetric, as_metric, refuse_inexact
from ..metrics.spread import spread, spreads
from ..progress import watched
from ..queries import read_queries, weigh
from ..query_groups import warn_of_one_query
from ..query_means import bootstrap_means, refuse_infinite, weighted_means
from ..statistics import check_resamples
from .alike import copies, is_rounding, warn_of_constants, warn_of_copies, warn_of_one_that_counts
from .annealing import automatic_sigma, counting_queries, several_count
from .problem import blended
from .scores import directions, normalized, refuse_unscored, score_matrix

_ROUNDING = 1e-12
_LARGEST = 1e300  # a thousand times which is still a number
_PARTS = np.arange(1.0, 1001.0)  # of which the weights of a grid are whole numbers
_STACKLEVEL = 3  # warnings name the user's line


@dataclass(frozen=True, eq=False)
class Mixtures:
    """Some columns of the scores with what is needed to measure their mixtures.

    Attributes
    ----------
    scores : (n_docs, n_chosen), normalised, the documents of a query together.
    prepared : the labels.
    query_weight : (n_queries,)
    soft : the soft metric; its hard twin is what was asked for.
    """

    scores: FloatArray
    prepared: PreparedQueries
    query_weight: FloatArray
    soft: SoftMetric

    def values(self, metric: AnyMetric, mixtures: Iterable[FloatArray]) -> FloatArray:
        """The metric of each query at each row of weights, (n_queries, n_mixtures); finite where queries count."""
        units = spreads(self.prepared.members, self.scores, self.query_weight)
        if isinstance(metric, Metric) and np.abs(self.scores).max(initial=0.0) < _LARGEST:
            mixtures = map(_in_whole_numbers, mixtures)
        blends = (self._blend(weights, units) for weights in mixtures)
        values = np.column_stack([metric.evaluate(self.prepared, blend, self.query_weight) for blend in blends])
        self.refuse_infinite(metric, values)
        return values

    def _blend(self, weights: FloatArray, units: FloatArray) -> FloatArray:
        """The scores of a mixture; 0 where models cancel, since what rounding leaves of them is no ranking."""
        blend = blended(self.scores, weights)
        left = spread(self.prepared.members, blend, self.query_weight)
        return np.zeros(blend.size) if is_rounding(left, weights, units) else blend

    def watched_values(self, metric: AnyMetric, mixtures: FloatArray, shown: bool) -> FloatArray:
        """The same with a bar, if one may be shown."""
        text = f"{self.prepared.caller}, {metric.name}"
        with closing(watched(mixtures, len(mixtures), text, shown)) as rows:
            return self.values(metric, rows)

    def refuse_infinite(self, metric: AnyMetric, values: FloatArray) -> None:
        """Raise if a query that counts has an infinite value: no mixture could be told from another by the mean."""
        refuse_infinite(self.prepared.caller, metric.name, values.T, self.prepared.counted(self.query_weight))

    def mean(self, values: FloatArray) -> FloatArray:
        """Mean over the queries that count, (n_mixtures,) of (n_queries, n_mixtures)."""
        return weighted_means(values.T, self.prepared.counted(self.query_weight))

    @property
    def one_decides(self) -> bool:
        """Whether one query alone tells mixtures apart, so that resamples say nothing of the best one."""
        return not several_count(self.prepared, self.query_weight)

    def resampled(self, values: FloatArray, n_boot: int, seed: int) -> FloatArray:
        """The mean on queries drawn anew, (n_boot, n_mixtures); the same draws for the same seed.

        NaN if one query alone counts: it is all that can be drawn, and says nothing of others.
        """
        if np.count_nonzero(self.prepared.counted(self.query_weight)) < 2:
            return np.full((n_boot, values.shape[1]), np.nan)
        return bootstrap_means(values.T, self.prepared.counted(self.query_weight), n_boot, seed)


def _in_whole_numbers(weights: FloatArray) -> FloatArray:
    """The same mixture in whole numbers, if it is one: votes and grades, so added up, tie where they are equal.

    >>> _in_whole_numbers(np.array([0.3, 0.7])), _in_whole_numbers(np.array([0.3, np.pi]))
    (array([3., 7.]), array([0.3       , 3.14159265]))
    """
    multiples = weights * _PARTS[:, None]
    whole = np.rint(multiples)
    fits = (np.abs(multiples - whole) <= _ROUNDING * _PARTS[:, None]).all(axis=1)
    return whole[fits.argmax()] if fits.any() else weights


def read_mixtures(
    caller: str,
    S: Any,
    y: Any,
    columns: Sequence[tuple[str, Whole]],
    *,
    group: Any,
    qid: Any,
    sample_weight: Any,
    query_weight: Any,
    metric: str | AnyMetric,
    normalize: str,
    lower_is_better: Any,
    noise: str,
    sigma: Any,
    sigma_unit: str,
    open_ends: bool = True,
) -> Mixtures:
    """Check what a curve, a surface and a choice of sigma are given; ``columns`` with the arguments that named them.

    Warns, with ``open_ends``, of what leaves the best mixture open.
    """
    matrix, names = score_matrix(caller, S)
    chosen = [_column(caller, argument, at, matrix.shape[1]) for argument, at in columns]
    hard = metric.hard if isinstance(metric, SoftMetric) else as_metric(caller, metric, {})
    refuse_cutoffs_per_query(caller, hard)
    hard.refuse_pooled(caller)
    refuse_inexact(caller, hard, "take another metric, ndcg or map say")
    labels = read_labels(caller, y, matrix.shape[0])
    queries = read_queries(caller, matrix.shape[0], group, qid)
    queries, given = weigh(caller, queries, sample_weight, query_weight)
    if not queries.named:
        warn_of_one_query(caller, _STACKLEVEL)
    weights = np.ones(queries.groups.n_queries) if given is None else given
    rows = (matrix * directions(caller, lower_is_better, matrix.shape[1]))[:, chosen]
    refuse_unscored(caller, rows, [names[at] for at in chosen])
    prepared = prepare(hard, caller, queries.bring_together(labels), queries.groups)
    if counting_queries(prepared, weights) == 0:
        raise ValueError(f"{caller}: a query must have documents worth telling apart; none has a relevant document")
    scores = normalized(caller, normalize, queries.bring_together(rows), queries.groups)
    if open_ends and queries.named and not several_count(prepared, weights):
        warn_of_one_that_counts(caller, "what suits it may suit no other", _STACKLEVEL)
    if open_ends:
        units, called = spreads(queries.groups, scores, weights), [names[at] for at in chosen]
        warn_of_copies(caller, *copies(scores, queries.groups, weights, units), called, _STACKLEVEL)
        warn_of_constants(caller, units, called, ("of no effect", "no mixture ranks anything"), _STACKLEVEL)
    soft = _soft_twin(caller, metric, hard, noise, sigma, sigma_unit, prepared, weights)
    return Mixtures(scores, prepared, weights, soft)


def read_resampling(caller: str, n_boot: Any, random_state: Any) -> tuple[int, int]:
    """Check how often queries are drawn anew, and the seed: what :meth:`Mixtures.resampled` takes."""
    draws = check_resamples(caller, n_boot)
    return draws, seed_of(caller, random_state)


def largest(values: FloatArray) -> NDArray[np.bool_]:
    """Where values are the largest there is, but for rounding: hard metrics are often equally good at many mixtures."""
    highest = float(values.max())
    return np.asarray(values >= highest - _ROUNDING * max(1.0, abs(highest)))


def _column(caller: str, argument: str, at: Whole, n_models: int) -> int:
    column = whole_number(caller, argument, at, -(2**53))
    if not -n_models <= column < n_models:
        raise ValueError(
            f"{caller}: {argument} must be the position of a column of S, from {-n_models} to {n_models - 1}; "
            f"got {column}"
        )
    return column


def _soft_twin(
    caller: str, metric: Any, hard: Metric, noise: Any, sigma: Any, unit: Any, prepared: PreparedQueries,
    weights: FloatArray,
) -> SoftMetric:  # fmt: skip
    """The soft metric that was given, which has its own noise, or that of a hard one."""
    law, unit = one_of(caller, "noise", noise, LAWS), one_of(caller, "sigma_unit", unit, SIGMA_UNITS)
    if not isinstance(metric, SoftMetric):
        return SoftMetric(hard, noise=law, sigma=_sigma(caller, sigma, unit, prepared, weights), sigma_unit=unit)
    if law != "gaussian" or unit != "spread" or not (isinstance(sigma, str) and sigma == AUTO):
        raise TypeError(f"{caller}: give noise, sigma and sigma_unit to the SoftMetric, which has its own already")
    return metric


def _sigma(caller: str, sigma: Any, unit: str, prepared: PreparedQueries, weights: FloatArray) -> float:
    if not isinstance(sigma, str):
        return positive_number(caller, "sigma", sigma)
    if sigma != AUTO or unit != "spread":
        raise ValueError(
            f"{caller}: sigma must be a number, or {AUTO!r} in units of the spread; got {sigma!r}, sigma_unit={unit!r}"
        )
    return automatic_sigma(prepared, weights)
