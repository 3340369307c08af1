"""NDCG@10 of the validation part after each tree: when to stop, and how many trees to keep."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arguments import FloatArray
from ...datasets import RankingData
from ...metric_lists import MetricList
from ...metrics import Metric
from ...metrics.soft import watched_soft
from ...query_groups import QueryGroups

# Queries without anything relevant are left out of all means.
HARD = Metric("ndcg@10", empty="skip")
# What SoftRanker watches; in the study it chose better among settings than the hard metric, as among trees.
WATCHED = (watched_soft(HARD, "gumbel"), watched_soft(Metric("kendall", empty="skip"), "gumbel"))


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
