"""NDCG@10 of the validation part after each tree: when to stop, and how many trees to keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arguments import FloatArray
from ...datasets import RankingData
from ...metric_lists import MetricList
from ...metrics import Metric
from ...metrics.soft import watched_soft
from ...metrics.spread import spread
from ...queries import n_relevant
from ...query_groups import QueryGroups
from ...ranker import random_trees
from .methods import AUTO, RANDOM, Method, Setting

# Queries without anything relevant are left out of all means.
HARD = Metric("ndcg@10", empty="skip")
# What SoftRanker watches; in the study it chose better among settings than the hard metric, as among trees.
WATCHED = (watched_soft(HARD, "gumbel"), watched_soft(Metric("kendall", empty="skip"), "gumbel"))


def grown(library: str, trees: Mapping[str, Any], n_docs: int, n_relevant: int) -> dict[str, Any]:
    """The library's parameters of the trees in a setting, on training data of so many documents, so many relevant.

    >>> grown("lightgbm", {"num_leaves": 7, "random_trees": "auto"}, 30_000, 9_000)
    {'num_leaves': 7, 'extra_trees': True}
    >>> grown("lightgbm", {"num_leaves": 7, "random_trees": "auto"}, 60_000, 9_000)
    {'num_leaves': 7}
    """
    random = trees.get(RANDOM) == AUTO and random_trees.helps(n_docs, n_relevant)
    found = {name: value for name, value in trees.items() if name != RANDOM}
    return {**found, **random_trees.RANDOM_TREES[library]} if random else found


@dataclass(frozen=True, eq=False)
class Job:
    """What a trainer is given: a method with its setting, and the data."""

    method: Method
    setting: Setting
    train: RankingData
    valid: RankingData
    seed: int
    trees: int
    patience: int
    threads: int

    def grown(self, library: str) -> dict[str, Any]:
        """The library's parameters of the setting's trees on this data."""
        relevant = n_relevant(self.train.y, QueryGroups.from_sizes(self.train.sizes))
        return grown(library, self.setting["trees"], self.train.n_docs, relevant)

    def watch(self) -> Watch:
        """A new watch of the validation part."""
        return Watch(self.valid, self.patience)


@dataclass(frozen=True, eq=False)
class Model:
    """What a trainer returns: the number of trees kept, and the scores that they give to features."""

    trees: int
    predict: Callable[[FloatArray], FloatArray]


def mean_model(models: Sequence[Model], valid: RankingData) -> Model:
    """The mean of models: scores in units of their spread on the validation part; its trees are those of all."""
    if len(models) == 1:
        return models[0]
    groups = QueryGroups.from_sizes(valid.sizes)
    weights = np.ones(groups.n_queries)
    # scores that are all equal tell nothing, in any unit
    units = [spread(groups, model.predict(valid.X), weights) or 1.0 for model in models]

    def predict(X: FloatArray) -> FloatArray:
        scores: FloatArray = np.mean([model.predict(X) / unit for model, unit in zip(models, units, strict=True)], 0)
        return scores

    return Model(sum(model.trees for model in models), predict)


class Watch:
    """Values of the metric to stop by, one per tree."""

    def __init__(self, valid: RankingData, patience: int | None) -> None:
        self._labels, self._groups = valid.y, QueryGroups.from_sizes(valid.sizes)
        self._metric = MetricList("bench quality", [HARD])
        self._patience = patience
        self.values: list[float] = []

    def add(self, scores: Any) -> float:
        """Note the value after one more tree."""
        raw, weights = np.array(scores, np.float64).ravel(), np.ones(self._groups.n_queries)
        [(_, value)] = self._metric.values(self._labels, self._groups, raw, weights)
        self.values.append(value)
        return value

    @property
    def best(self) -> int:
        """Trees that gave the highest value, the fewest if several did."""
        return int(np.argmax(self.values)) + 1

    @property
    def exhausted(self) -> bool:
        """Whether so many trees brought nothing better."""
        return self._patience is not None and len(self.values) - self.best >= self._patience


def hard_ndcg(data: RankingData, scores: FloatArray) -> float:
    """Mean NDCG@10 over the queries that have something relevant."""
    return float(HARD(data.y, scores, group=data.sizes))


def judged(ours: bool, data: RankingData, scores: FloatArray) -> float:
    """What chooses among settings: hard NDCG@10; ours, what SoftRanker watches."""
    metrics = WATCHED if ours else (HARD,)
    return float(sum(metric(data.y, scores, group=data.sizes) for metric in metrics))
