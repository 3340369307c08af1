"""A trial on half of the queries, which the other half judges: of what no count of documents tells.

Whether random trees suit the features: random thresholds hardly tell features of few values apart, as codes and counts,
and trees that see parts of the data are slower at it too. So where "auto" would grow random trees, a few of them and as
many plain ones are grown. And whether 100 trees of a low rate are too few, as where labels hold no noise or many
features each say a little: then more trees of a high rate still gain (notebooks/11_signal.ipynb).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..adapters.shared import as_booster
from ..arguments import FloatArray, changed
from ..metrics.prepared import prepare
from ..objectives.base import NothingToLearnError
from ..queries import n_relevant, split_queries
from ..query_means import mean_errors, weighted_means
from . import rate
from .regularization import first_curvature
from .rows import Rows
from .settings import FIT, Settings
from .training import Job, Trees
from .watch import Watch

_TREES, _RATE = 10, 0.3
_LEAST = 20  # queries, below which half of them tell next to nothing
_MOST = 100_000  # documents, about: of more, which are there where few are relevant, every so many queries do
# Plain trees are taken if random ones learn less than so much of what they learn, by more than so many standard errors:
# .4 to .9 of it, by 3 to 27, on made-up data of codes, switches and whole numbers; on real data mostly .95 to 1.4, and
# otherwise by less. Where it is doubtful the halves change places, and all queries tell
_SHARE, _ERRORS, _DOUBTFUL = 0.95, 3.0, 1.0
# Much is to be learned if so many trees at such a rate gain more than the first third of them, by that factor and by so
# many standard errors as above: by 1.03 to 1.05 on the digits, 1.4 where 1,500 features count; noise ends that before
_LONG, _FAST, _GROWTH = 40, 0.45, 1.02
_Data = tuple[Any, float]  # as the booster takes it, and the average curvature of a document before the first tree


def settle(settings: Settings, trees: Trees, rows: Rows, continued: bool = False) -> Settings:
    """Settings for training data whose features are known, too; ``continued`` as :meth:`Settings.on`."""
    found = settings.on(rows.labels, rows.groups, continued)
    tries_kind = found.by_data and bool(found.random_trees)
    tries_rate = settings.learning_rate is None and rate.is_tried(
        rows.groups.n_docs, n_relevant(rows.labels, rows.groups), bool(found.random_trees), settings.n_estimators
    )
    if np.count_nonzero(rows.groups.sizes) < _LEAST or not (tries_kind or tries_rate):
        return found
    one, other = _halves(settings, rows)
    try:
        data = _data(found, trees, one)
        unsuited = tries_kind and not _suit(found, trees, one, other, data)
        kind = replace(found, random_trees=bool(found.random_trees) and not unsuited)
        slow = tries_rate and _learn_on(kind, trees, one, other, data)
    except NothingToLearnError:  # as where one query alone has anything relevant
        return found
    return settings.on(rows.labels, rows.groups, continued, unsuited=unsuited, slow=slow)


def _halves(settings: Settings, rows: Rows) -> tuple[Rows, Rows]:
    """Two halves of the queries, or of every so many where documents are many."""
    thin = math.ceil(rows.groups.n_docs / _MOST)
    one, other = split_queries(FIT, rows.groups, 0.5, settings.seed)
    return rows.take(one[::thin]), rows.take(other[::thin])


def _suit(settings: Settings, trees: Trees, one: Rows, other: Rows, data: _Data) -> bool:
    """Whether random trees learn about as much of the training data as plain ones."""
    tried = _tried(settings, trees, one, other, data)
    behind = _errors_behind(tried, _SHARE)
    if _DOUBTFUL < behind <= _ERRORS:
        behind = _errors_behind(
            np.hstack([tried, _tried(settings, trees, other, one, _data(settings, trees, other))]), _SHARE
        )
    return not behind > _ERRORS  # NaN, where nothing is to be told


def _learn_on(settings: Settings, trees: Trees, learned: Rows, judged: Rows, data: _Data) -> bool:
    """Whether trees go on learning what holds for other queries, too."""
    settings = _of_trial(settings, _LONG, _FAST)
    booster = _booster(settings, trees, learned, data)
    first = trees.n_trees(booster) // 3
    if first == 0:  # there is nothing to split
        return False
    scores = [trees.predict(its, judged.features, settings.n_jobs) for its in (trees.first(booster, first), booster)]
    return _errors_behind(_gained(settings, judged, scores), 1.0 / _GROWTH) > _ERRORS


def _errors_behind(gained: FloatArray, share: float) -> float:
    """By how many standard errors the first gain less than the second; 0 if not less than that share of it."""
    first, second, counted = gained
    by_first, by_second = weighted_means(gained[:2], counted)
    if not by_first < share * by_second:
        return 0.0
    [error] = mean_errors((second - first)[None], counted)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float((by_second - by_first) / error)


def _tried(settings: Settings, trees: Trees, learned: Rows, judged: Rows, data: _Data) -> FloatArray:
    """What random and plain trees gain in each query to judge by over no tree, and its weight; (3, n_queries)."""
    settings = _of_trial(settings, _TREES, _RATE)
    scores = []
    for random in (True, False):
        booster = _booster(replace(settings, random_trees=random), trees, learned, data)
        scores.append(trees.predict(booster, judged.features, settings.n_jobs))
    return _gained(settings, judged, scores)


def _gained(settings: Settings, judged: Rows, scores: Sequence[FloatArray]) -> FloatArray:
    """What two arrays of scores gain in each query over equal ones, and its weight; (3, n_queries)."""
    metric, weights = settings.objective.metric, judged.query_weight
    metric = changed(metric, pooled=False) if metric.pooled else metric  # whose values are of single queries
    with as_booster(settings.n_jobs):
        prepared = prepare(metric, FIT, judged.labels, judged.groups)
        equal = np.zeros(judged.labels.size)
        nothing, *values = (metric.evaluate(prepared, its, weights) for its in (equal, *scores))
    with np.errstate(invalid="ignore"):  # pnr is infinite for a query in perfect order
        first, second = (value - nothing for value in values)
    counts = np.isfinite(first) & np.isfinite(second)
    return np.where(counts, [first, second, weights], 0.0)


def _of_trial(settings: Settings, n_estimators: int, learning_rate: float) -> Settings:
    """Of so many trees at most, in one booster on the metrics alone, which nothing stops."""
    return replace(
        settings,
        objective=changed(settings.objective, losses=()),
        n_estimators=min(n_estimators, settings.n_estimators),
        learning_rate=learning_rate,
        n_boosters=1,
        early_stopping_rounds=None,
    )


def _data(settings: Settings, trees: Trees, learned: Rows) -> _Data:
    settings = _of_trial(settings, _TREES, _RATE)
    with as_booster(settings.n_jobs):
        curvature = first_curvature(settings.objective, learned, trees)
    # as for several boosters: LightGBM 4.3 trains but once on what does not keep its features
    return trees.data(replace(settings, n_boosters=2), learned, [], None), curvature


def _booster(settings: Settings, trees: Trees, learned: Rows, data: _Data) -> Any:
    made, curvature = data
    return trees.train(Job(settings, settings.objective, curvature, learned, [], None, Watch("", [], None), data=made))
