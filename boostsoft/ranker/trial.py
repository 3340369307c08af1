"""A trial on half of the queries, which the other half judges: of what no count of documents tells.

Whether random trees suit the features: random thresholds hardly tell features of few values apart, as codes and counts,
and trees that see parts of the data are slower at it too. So where "auto" would grow random trees, a few of them and as
many plain ones are grown; and more of both where plain ones go on learning, since where features count together they
are slow to find the first of them. And whether 100 trees of a low rate are too few, as where labels hold no noise or
many features each say a little: then more trees of a high rate still gain (notebooks/11_signal.ipynb).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..adapters.shared import as_booster
from ..arguments import FloatArray, IntArray, changed
from ..metrics.prepared import prepare
from ..objectives.base import NothingToLearnError
from ..progress import Tell, bar
from ..queries import n_relevant, split_queries
from ..query_groups import QueryGroups
from ..query_means import mean_errors, weighted_means
from . import rate
from .features import are_mostly_rare
from .regularization import first_curvature
from .rows import Rows
from .settings import FIT, Settings, known
from .training import Job, Trees
from .watch import Watch

_TREES, _RATE = 10, 0.3
# Lists of documents, below which half of them tell next to nothing; and queries, whatever their length
_LEAST, _FEWEST = 20, 4
# Few queries tell trees apart poorly, however long they are: so they judge by random parts of theirs, until there are
# so many lists, of so many documents at least
_LISTS, _LENGTH = 100, 50
_MOST = 100_000  # documents, about: of more, which are there where few are relevant, every so many queries do
# Plain trees are taken if random ones learn less than so much of what they learn, by more than so many standard errors:
# .4 to .9 of it, by 3 to 27, on made-up data of codes, switches and whole numbers; on real data mostly .95 to 1.4, and
# otherwise by less. Where it is doubtful the halves change places, and all queries tell
_SHARE, _ERRORS, _DOUBTFUL = 0.95, 3.0, 1.0
# Much is to be learned if all trees at such a rate gain more than the first third of them, by that factor and by so
# many standard errors as above: by 1.03 to 1.05 of 40 on the digits, 1.4 where 1,500 features count; noise ends that
# before. On real data 20 of them mostly fall short already, so that 40 are grown only where these do not
_FAST, _GROWTH, _LONG = 0.45, 1.02, ((20, 2.0), (40, _ERRORS))


def settings_by_trial(settings: Settings, trees: Trees, rows: Rows, continued: bool = False) -> Settings:
    """Settings for training data whose features are known, too; ``continued`` as :meth:`Settings.on`.

    How long trees from zero go on learning says nothing of those that continue others.
    """
    settings = replace(settings, rare=are_mostly_rare(rows.features, settings.min_child_samples))
    found = settings.on(rows.labels, rows.groups, continued)
    random = known(found.random_trees)
    tries_kind = found.random_by_data and random
    tries_rate = not continued and settings.learning_rate is None
    tries_rate &= rate.is_tried(rows.groups.n_docs, n_relevant(rows.labels, rows.groups), random, settings.n_estimators)
    if _tell_nothing(rows) or not (tries_kind or tries_rate):
        return found
    one, other = _halves(settings, rows)
    try:
        with bar(found.progress, "trial", None, counts=True) as tell:
            trial = _Trial(found, trees, one, other, tell)
            unsuited = tries_kind and not (_suit(trial) and _suit_later(trial))
            slow = tries_rate and _learn_on(trial, random and not unsuited)
    except NothingToLearnError:  # as where one query alone has anything relevant
        return found
    return settings.on(rows.labels, rows.groups, continued, unsuited=unsuited, slow=slow)


def _tell_nothing(rows: Rows) -> bool:
    """Whether the queries are too few to be judged by half of them."""
    sizes = rows.groups.sizes[rows.groups.sizes > 0]
    return sizes.size < _FEWEST or int(np.maximum(sizes // _LENGTH, 1).sum()) < _LEAST


def _halves(settings: Settings, rows: Rows) -> tuple[Rows, Rows]:
    """Two halves of the queries, or of every so many where documents are many."""
    thin = math.ceil(rows.groups.n_docs / _MOST)
    one, other = split_queries(FIT, rows.groups, 0.5, settings.seed)
    return rows.take(one[::thin]), rows.take(other[::thin])


def _suit(trial: _Trial) -> bool:
    """Whether random trees learn about as much of the training data as plain ones."""
    tried = _kinds(trial, _TREES, _RATE)
    if _are_the_same(tried):
        return False
    return not _is_behind(trial, tried, _TREES, _RATE)


def _suit_later(trial: _Trial) -> bool:
    """The same of more trees, if plain ones are still learning then."""
    (n, errors), (most, _) = _LONG
    if trial.n_estimators < most or not _gain_later(trial, False, n, errors):
        return True
    return not _is_behind(trial, _kinds(trial, most, _FAST), most, _FAST)


def _kinds(trial: _Trial, n: int, learning_rate: float) -> FloatArray:
    """What n random and plain trees gain, as :meth:`_Trial.gained`."""
    return trial.gained([trial.grown(n, learning_rate, random) for random in (True, False)])


def _are_the_same(tried: FloatArray) -> bool:
    """Whether random trees are the plain ones, as where no feature has more than two values."""
    return bool(tried[0].any()) and np.array_equal(tried[0], tried[1])


def _is_behind(trial: _Trial, tried: FloatArray, n: int, learning_rate: float) -> bool:
    """Whether random trees have gained too little; where that is doubtful the halves change places."""
    behind = _errors_behind(tried, _SHARE)
    if _DOUBTFUL < behind <= _ERRORS:
        behind = _errors_behind(np.hstack([tried, _kinds(trial.turned(), n, learning_rate)]), _SHARE)
    return behind > _ERRORS  # not of NaN, where nothing is to be told


def _learn_on(trial: _Trial, random: bool) -> bool:
    """Whether trees go on learning what holds for other queries, too."""
    return all(_gain_later(trial, random, n, errors) for n, errors in _LONG)


def _gain_later(trial: _Trial, random: bool, n: int, errors: float) -> bool:
    """Whether n trees gain that much more than the first third of them, by so many standard errors."""
    booster = trial.grown(n, _FAST, random)
    first = trial.trees.n_trees(booster) // 3
    if first == 0:  # there is nothing to split
        return False
    return _errors_behind(trial.gained([trial.trees.first(booster, first), booster]), 1.0 / _GROWTH) > errors


def _errors_behind(gained: FloatArray, share: float) -> float:
    """By how many standard errors the first gain less than the second; 0 if not less than that share of it."""
    first, second, counted = gained
    by_first, by_second = weighted_means(gained[:2], counted)
    if not by_first < share * by_second:
        return 0.0
    [error] = mean_errors((second - first)[None], counted)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float((by_second - by_first) / error)


class _Trial:
    """Trees of one booster, on the metrics alone, that learn some queries and are judged by others.

    Parameters
    ----------
    settings : of the training that it is for.
    trees : the booster's module.
    learned, judged : the queries.
    tell : what is told how many trees there are.
    """

    def __init__(self, settings: Settings, trees: Trees, learned: Rows, judged: Rows, tell: Tell) -> None:
        # as of several boosters: LightGBM 4.3 trains but once on what does not keep its features
        rare = are_mostly_rare(learned.features, settings.min_child_samples)
        objective = changed(settings.objective, losses=())
        self._settings = replace(settings, objective=objective, n_boosters=2, rare=rare)
        self.trees, self._learned, self._judged = trees, learned, judged
        self._lists = _lists(judged, settings.seed)
        self._tell, self._grown, self._boosters = tell, 0, dict[tuple[int, float, bool], Any]()
        with as_booster(settings.n_jobs):
            self._curvature = first_curvature(self._settings.objective, learned, trees)
        self._data = trees.data(self._settings, learned, [], None)

    @property
    def n_estimators(self) -> int:
        """How many trees the training is to have."""
        return self._settings.n_estimators

    def turned(self) -> _Trial:
        """The one in which the queries have changed places."""
        return _Trial(self._settings, self.trees, self._judged, self._learned, self._tell)

    def grown(self, n: int, learning_rate: float, random: bool) -> Any:
        """A booster of so many trees, or of all that the training is to have; it is kept."""
        asked = n, learning_rate, random
        if asked not in self._boosters:
            self._boosters[asked] = self._train(*asked)
        return self._boosters[asked]

    def _train(self, n: int, learning_rate: float, random: bool) -> Any:
        settings = replace(
            self._settings,
            n_estimators=min(n, self._settings.n_estimators),
            learning_rate=learning_rate,
            random_trees=random,
        )
        job = Job(settings, settings.objective, self._curvature, self._learned, [], None, Watch("", [], None))
        booster = self.trees.train(replace(job, data=self._data, noted=False))
        self._grown += settings.n_estimators
        self._tell(self._grown)
        return booster

    def gained(self, boosters: Sequence[Any]) -> FloatArray:
        """What two boosters gain over equal scores in each list to judge by, and its weight; (3, n_lists)."""
        settings, judged, (order, groups, weights) = self._settings, self._judged, self._lists
        metric = settings.objective.metric
        metric = changed(metric, pooled=False) if metric.pooled else metric  # whose values are of single queries
        scores = [self.trees.predict(booster, judged.features, settings.n_jobs)[order] for booster in boosters]
        with as_booster(settings.n_jobs):
            prepared = prepare(metric, FIT, judged.labels[order], groups)
            equal = np.zeros(judged.labels.size)
            nothing, *values = (metric.evaluate(prepared, its, weights) for its in (equal, *scores))
        with np.errstate(invalid="ignore"):  # pnr is infinite for a query in perfect order
            first, second = (value - nothing for value in values)
        counts = np.isfinite(first) & np.isfinite(second)
        return np.where(counts, [first, second, weights], 0.0)


def _lists(judged: Rows, seed: int) -> tuple[IntArray, QueryGroups, FloatArray]:
    """The order in which rows stand as lists to judge by, the lists, and the weight of each.

    They are the queries, or where these are few random parts of the longer ones, which share their query's weight.
    """
    groups = judged.groups
    length = max(_LENGTH, groups.n_docs / _LISTS) if np.count_nonzero(groups.sizes) < _LISTS else math.inf
    n_parts = np.maximum(groups.sizes // length, 1.0).astype(np.int64)
    chance = np.random.default_rng(seed).random(groups.n_docs) * groups.per_document(n_parts > 1)
    order: IntArray = np.lexsort((chance, groups.per_document(np.arange(groups.n_queries))))
    query = np.repeat(np.arange(groups.n_queries), n_parts)
    part = np.arange(query.size) - (np.cumsum(n_parts) - n_parts)[query]
    size, n = groups.sizes[query], n_parts[query]
    return order, QueryGroups.from_sizes((part + 1) * size // n - part * size // n), judged.query_weight[query] / n
