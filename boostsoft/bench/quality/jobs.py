"""What trainers are given and return: a method with its setting and data, and a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arguments import FloatArray
from ...datasets import RankingData
from ...metrics.spread import spread
from ...queries import n_relevant
from ...query_groups import QueryGroups
from ...ranker import random_trees
from .methods import AUTO, RANDOM, Method, Setting
from .watch import Watch


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
