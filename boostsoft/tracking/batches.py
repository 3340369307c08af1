"""Training in small steps: which of several candidate batches does a model the most good."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arguments import FloatArray, finite_vector, fraction, whole_number
from ..choices import Progress
from ..extras import reason
from ..metrics.prepared import PreparedQueries, prepare
from ..metrics.soft import AnyMetric, watched_soft
from ..metrics.spread import spread
from ..progress import shows, watched
from ..query_groups import query_weights
from ..query_means import (
    STILL,
    bootstrap_means,
    counted_weights,
    degrees_of_freedom,
    mean_error,
    moved,
    refuse_infinite,
    t_quantile,
    weighted_mean,
)
from ..stages.blocks import refuse_other_width
from ..statistics import N_BOOT, check_resamples
from ..tracks.builder import as_metrics
from .batch_data import CALLER, Batch, read_batches
from .batch_growing import Grower, NewTrees, open_grower, start_name
from .batch_values import BatchValue, BatchValues
from .staged import feature_matrix, model_queries

WATCHED = watched_soft("ndcg@10")


def marginal_value(
    model: Any,
    batches: Any,
    X: Any,
    y: Any,
    qid: Any = None,
    *,
    group: Any = None,
    metric: str | AnyMetric = WATCHED,
    n_trees: int = 5,
    params: Mapping[str, Any] | None = None,
    init_score: Any = None,
    base_margin: Any = None,
    query_weight: Any = None,
    level: float = 0.95,
    n_boot: int = N_BOOT,
    seed: int = 0,
    progress: Progress = "auto",
) -> BatchValues:
    """Continue a model a few trees on each candidate batch, and rank the batches by what that adds on other queries.

    Every batch starts from the given model, which stays as it is. Its value is the change of a soft metric on the pool
    (X, y), which sees a step too small to swap documents; the hard metric's change stands beside it, and the control:
    what the soft metric would show if the scores had only grown.

    Parameters
    ----------
    model : object
        A fitted LightGBM Booster or LGBMRanker, XGBoost Booster or XGBRanker, or SoftRanker. It is continued from the
        trees that its ``predict`` uses.
    batches : list or mapping of batches
        Each is ``(X, y, group)``, or a dict of ``X``, ``y``, ``group`` or ``qid``, and perhaps ``query_weight`` and the
        start of its scores, ``init_score`` (LightGBM) or ``base_margin`` (XGBoost). The keys of a mapping are names.
    X, y : (n_docs, n_features), (n_docs,)
        The pool to measure on: documents and labels that no batch holds.
    qid, group : optional
        The pool's queries by either; a SoftRanker with ``qid_column`` finds them in X.
    metric : SoftMetric, Metric or str
        What to rank by; in units of the spread by default.
    n_trees : int
        Trees (rounds) to grow on each batch.
    params : dict, optional
        Training parameters in place of the model's own, as ``lgb.train`` takes them, with their ``objective``; over
        those that the model remembers, as ``xgb.train`` does with ``xgb_model``, or as a SoftRanker's ``set_params``
        takes them. An XGBoost model that was read from a file has forgotten all but its objective. A model trained on
        a function needs it as ``params={"objective": function}``, unless it is an LGBMRanker, which knows it.
    init_score, base_margin : (n_docs,), optional
        What the pool's scores start from, for LightGBM and XGBoost.
    query_weight : (n_queries,), optional
        Weight of each query of the pool.
    level : float
        Confidence of the intervals.
    n_boot, seed : int
        Resamples behind ``first``, 20 at least, and their seed. Training takes the seed in the model's parameters.
    progress : "auto", True or False
        Whether to show how far it is: "auto" where stderr is a terminal, True in notebooks and logs too.

    Returns
    -------
    BatchValues
        Prints as a table, best first; ``to_frame()`` makes it a DataFrame. ``batches`` are in the order given,
        ``ranked`` by their change, ``best`` is the first of these. Each has

        - ``name``, ``n_queries``, ``n_docs``, and ``n_trees``, the new trees that have a split;
        - ``change`` of the soft metric's mean on the pool with its standard ``error``, paired over queries (the formula
          is that of :class:`boostsoft.TreeTrack`), and the interval ``low``, ``high`` by Student's t; ``hard`` and
          ``hard_error``, the same of the hard metric;
        - ``control``, the change if the scores only grew to their new ``spread``;
        - ``first``, the share of resamples of the pool's queries in which no batch changes more;
        - ``problem``, why nothing was learned.

        ``changes`` are those of every query, (n_batches, n_queries); ``before``, ``hard_before`` and ``spread_before``
        are of the model as it was given.

    Raises
    ------
    TypeError, ValueError
        Before any training: if the model is of another kind, has no trees, several scores per document, is a random
        forest, XGBoost's gblinear or its dart, which changes the trees that it has; if parameters lack an objective; if
        the pool or a batch does not fit. If training fails on every batch, the first batch's error is raised.

    Notes
    -----
    A batch on which training fails, or after which the metric is infinite, has NaN for its values, the error in
    ``problem``, and the last rank; the others are not lost. A batch in which no query has two labels, or none of weight
    above 0, teaches a ranking objective nothing: its change is 0, and it is not trained on. A batch may also be too
    small for the model's parameters (LightGBM wants 20 documents in a leaf): then no tree has a split, ``n_trees`` is
    0, and so is the change.

    With LightGBM's ``linear_tree`` the first new tree has constants in its leaves, as whenever LightGBM starts from an
    ``init_score``.

    Errors are those of the pool's queries, not of the batch: another draw of documents would teach something else. The
    best of many batches looks better than it is, and ``first`` is surer of it than it should be: among batches that
    are worth the same, the one that comes first has .75 of 2, .58 of 4, .46 of 8 and .38 of 16 in the mean.

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np
    >>> from boostsoft import marginal_value
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1200, 3))
    >>> y = np.digitize(X[:, 0] + X[:, 1], [0.5, 1.5])
    >>> wrong = rng.permutation(y[400:800])
    >>> start = lgb.Dataset(X[:400, :], y[:400], group=[20] * 20)
    >>> model = lgb.train({"objective": "lambdarank", "verbosity": -1}, start, 3)
    >>> batches = {"good": (X[400:800], y[400:800], [20] * 20), "wrong": (X[400:800], wrong, [20] * 20)}
    >>> values = marginal_value(model, batches, X[800:], y[800:], group=[20] * 20)
    >>> [batch.name for batch in values.ranked], values.best.change > 0
    (['good', 'wrong'], True)
    """
    n_trees, level = whole_number(CALLER, "n_trees", n_trees, 1), fraction(CALLER, "level", level)
    n_boot, seed = check_resamples(CALLER, n_boot), whole_number(CALLER, "seed", seed, 0)
    start, shown = start_name(model), shows(CALLER, progress)
    pool = _pool(model, X, y, group, qid, metric, query_weight)
    n_docs = pool.labels.size
    starts = {
        name: None if given is None else finite_vector(CALLER, name, given, n_docs)
        for name, given in (("init_score", init_score), ("base_margin", base_margin))
    }
    grower = open_grower(model, feature_matrix(CALLER, X, n_docs), n_trees, params, start, starts)
    found = read_batches(batches, model, start)
    for batch in found:
        refuse_other_width(f"{CALLER}: batches[{batch.name!r}]", batch.X, grower.n_features)
    measure = _Measure(pool, grower.before, level)
    with closing(watched(found, len(found), CALLER, shown)) as all_batches:
        grown = [_grow(grower, batch, measure) for batch in all_batches]
    if all(isinstance(result, Exception) for result in grown):
        raise next(result for result in grown if isinstance(result, Exception))
    return _values(found, grown, measure, n_boot, seed)


@dataclass(frozen=True, eq=False)
class _Pool:
    """What is measured, on which labels."""

    metric: AnyMetric
    labels: FloatArray
    queries: PreparedQueries
    weights: FloatArray


def _pool(model: Any, X: Any, y: Any, group: Any, qid: Any, metric: Any, query_weight: Any) -> _Pool:
    measured = as_metrics(CALLER, metric)
    if len(measured) != 1:
        raise ValueError(f"{CALLER}: metric must be one metric, for batches to be ranked by; got {len(measured)}")
    labels = finite_vector(CALLER, "y", y)
    groups, _ = model_queries(CALLER, model, X, labels.size, group, qid)
    queries = prepare(measured[0].hard, CALLER, labels, groups)
    return _Pool(measured[0], labels, queries, query_weights(CALLER, query_weight, groups))


def _grow(grower: Grower, batch: Batch, measure: _Measure) -> NewTrees | Exception:
    """What the model scores after the batch, or what went wrong: one batch must not lose the others."""
    if grower.by_order and not batch.ordered:
        return NewTrees(grower.before, 0, taught=False)
    try:
        grown = grower.grow(batch)
        caller = f"{CALLER}: batches[{batch.name!r}]"
        finite = finite_vector(caller, "scores", grown.scores)
        measure.refuse_infinite(caller, measure.per_query(finite))
        return NewTrees(finite, grown.n_trees)
    except Exception as error:
        return error


class _Measure:
    """Differences that a batch makes to the pool, query by query."""

    def __init__(self, pool: _Pool, before: FloatArray, level: float) -> None:
        self.pool, self.scores, self.level = pool, before, level
        self.spread = self._spread(before)
        self.soft, self.hard = self.per_query(before), self.per_query(before, hard=True)
        self.counted = counted_weights(self.soft, pool.weights)
        self.refuse_infinite(CALLER, self.soft)
        self.t = t_quantile((1 + level) / 2, degrees_of_freedom(self.counted))

    def per_query(self, scores: FloatArray, hard: bool = False) -> FloatArray:
        """Values of the soft metric, or of its hard twin."""
        metric = self.pool.metric.hard if hard else self.pool.metric
        return metric.evaluate(self.pool.queries, scores, self.pool.weights)

    def refuse_infinite(self, caller: str, values: FloatArray) -> None:
        """Raise if the metric is infinite for a query that counts."""
        refuse_infinite(caller, self.pool.metric.name, values, self.counted)

    def mean(self, values: FloatArray) -> float:
        """Mean over the queries that count."""
        return weighted_mean(values, self.counted)

    def batch(self, batch: Batch, result: NewTrees | Exception) -> tuple[BatchValue, FloatArray]:
        """The batch's row, but for ``first``, and the change of every query."""
        known: dict[str, Any] = {
            "name": batch.name,
            "n_queries": batch.groups.n_queries,
            "n_docs": batch.labels.size,
            "first": np.nan,
        }
        if isinstance(result, Exception):
            names = ("change", "error", "low", "high", "hard", "hard_error", "control", "spread")
            missing: dict[str, Any] = dict.fromkeys(names, np.nan)
            problem = f"{type(result).__name__}: {reason(result)}"
            return BatchValue(**known, **missing, n_trees=0, problem=problem), self.soft * np.nan
        after = result.scores if result.n_trees else self.scores  # a tree without a split moves all alike, and rounds
        gain, hard = moved(self.soft, self.per_query(after)), moved(self.hard, self.per_query(after, hard=True))
        error, hard_error = (mean_error(values, self.counted) for values in (gain, hard))
        change, reach = self.mean(gain), np.inf if np.isnan(error) else self.t * error
        problem = ""
        if result.n_trees == 0:
            split, order = "no tree could split", "no query that counts has two labels: nothing to learn from"
            problem = split if result.taught else order
        row = BatchValue(
            **known, change=change, error=error, low=change - reach, high=change + reach, hard=self.mean(hard),
            hard_error=hard_error, control=self.control(after), spread=self._spread(after), n_trees=result.n_trees,
            problem=problem,
        )  # fmt: skip
        return row, gain

    def control(self, after: FloatArray) -> float:
        """What the metric shows if the scores before only grow to the new spread; NaN if either has none."""
        grown = self._spread(after)
        if not (self.spread > 0 and grown > 0):
            return np.nan
        return self.mean(moved(self.soft, self.per_query(self.scores * (grown / self.spread))))

    def _spread(self, scores: FloatArray) -> float:
        return spread(self.pool.queries.members, scores, self.pool.weights)


def _values(
    batches: list[Batch], grown: list[NewTrees | Exception], measure: _Measure, n_boot: int, seed: int
) -> BatchValues:
    rows, changes = zip(*(measure.batch(*pair) for pair in zip(batches, grown, strict=True)), strict=True)
    firsts = _firsts(np.stack(changes), measure.counted, n_boot, seed)
    found = tuple(replace(row, first=share) for row, share in zip(rows, firsts.tolist(), strict=True))
    return BatchValues(
        batches=found,
        changes=np.stack(changes),
        metric=measure.pool.metric,
        level=measure.level,
        before=measure.mean(measure.soft),
        hard_before=measure.mean(measure.hard),
        spread_before=measure.spread,
    )


def _firsts(changes: FloatArray, counted: FloatArray, n_boot: int, seed: int) -> FloatArray:
    """Share of resamples of the queries in which each batch comes first; shared among equals."""
    shares, trained = np.full(len(changes), np.nan), np.flatnonzero(~np.isnan(changes[:, counted > 0]).any(axis=1))
    if np.count_nonzero(counted) < 2:
        return shares
    means = bootstrap_means(changes[trained], counted, n_boot, seed)
    best = means >= means.max(axis=1, keepdims=True) - STILL
    shares[trained] = (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
    return shares
