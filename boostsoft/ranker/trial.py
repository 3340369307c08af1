"""A trial of random trees: whether they suit the features, which no count of documents tells.

Random thresholds hardly tell features of few values apart, as codes and counts, and trees that see parts of the data
are slower at it too. So where "auto" would grow random trees, a few of them and as many plain ones are grown on half of
the queries, at a high rate, and the other half tells which learn (notebooks/11_signal.ipynb).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..adapters.shared import as_booster
from ..arguments import FloatArray, changed
from ..metrics.prepared import prepare
from ..objectives.base import NothingToLearnError
from ..queries import split_queries
from ..query_means import mean_errors, weighted_means
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


def settle(settings: Settings, trees: Trees, rows: Rows, continued: bool = False) -> Settings:
    """Settings for training data whose features are known, too; ``continued`` as :meth:`Settings.on`."""
    found = settings.on(rows.labels, rows.groups, continued)
    if found.by_data and found.random_trees and not _suit(found, trees, rows):
        return settings.on(rows.labels, rows.groups, continued, unsuited=True)
    return found


def _suit(settings: Settings, trees: Trees, rows: Rows) -> bool:
    """Whether random trees learn about as much of the training data as plain ones."""
    if np.count_nonzero(rows.groups.sizes) < _LEAST:
        return True
    thin = math.ceil(rows.groups.n_docs / _MOST)
    halves = split_queries(FIT, rows.groups, 0.5, settings.seed)
    one, other = (rows.take(queries[::thin]) for queries in halves)
    try:
        tried = _tried(settings, trees, one, other)
        behind = _errors_behind(tried)
        if _DOUBTFUL < behind <= _ERRORS:
            behind = _errors_behind(np.hstack([tried, _tried(settings, trees, other, one)]))
    except NothingToLearnError:  # as where one query alone has anything relevant
        return True
    return not behind > _ERRORS  # NaN, where nothing is to be told


def _errors_behind(tried: FloatArray) -> float:
    """By how many standard errors random trees gain less than plain ones; 0 if they gain nearly as much."""
    random, plain, counted = tried
    by_random, by_plain = weighted_means(tried[:2], counted)
    if not by_random < _SHARE * by_plain:
        return 0.0
    [error] = mean_errors((plain - random)[None], counted)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float((by_plain - by_random) / error)


def _tried(settings: Settings, trees: Trees, learned: Rows, judged: Rows) -> FloatArray:
    """What random and plain trees gain in each query to judge by over no tree, and its weight; (3, n_queries)."""
    scores = _grown(settings, trees, learned, judged)
    metric, weights = settings.objective.metric, judged.query_weight
    metric = changed(metric, pooled=False) if metric.pooled else metric  # whose values are of single queries
    with as_booster(settings.n_jobs):
        prepared = prepare(metric, FIT, judged.labels, judged.groups)
        nothing, *values = (metric.evaluate(prepared, its, weights) for its in scores)
    with np.errstate(invalid="ignore"):  # pnr is infinite for a query in perfect order
        random, plain = (value - nothing for value in values)
    counts = np.isfinite(random) & np.isfinite(plain)
    return np.where(counts, [random, plain, weights], 0.0)


def _grown(settings: Settings, trees: Trees, learned: Rows, judged: Rows) -> list[FloatArray]:
    """Scores of the documents to judge by: of no tree, of random trees and of plain ones."""
    objective = changed(settings.objective, losses=())
    settings = replace(
        settings,
        objective=objective,
        n_estimators=min(_TREES, settings.n_estimators),
        learning_rate=_RATE,
        n_boosters=1,
        early_stopping_rounds=None,
    )
    with as_booster(settings.n_jobs):
        curvature = first_curvature(objective, learned, trees)
    data = trees.data(settings, learned, [], None)
    found = [np.zeros(judged.labels.size)]
    for random in (True, False):
        its = replace(settings, random_trees=random)
        booster = trees.train(Job(its, objective, curvature, learned, [], None, Watch("", [], None), data=data))
        found.append(trees.predict(booster, judged.features, settings.n_jobs))
    return found
