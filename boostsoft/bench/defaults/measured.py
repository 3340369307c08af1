"""What was measured of a ranker on a data set: each test query's values, seconds, in every draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arguments import FloatArray, IntArray
from ...metrics import Metric
from ...statistics import counted_mean
from .draws import Draw

MAIN = "ndcg@10"
TESTED = ("ndcg@1", "ndcg@5", MAIN, "map")
_METRICS = {spec: Metric(spec, empty="skip") for spec in TESTED}  # queries without anything relevant count for nothing


@dataclass(frozen=True, eq=False)
class Run:
    """A ranker on a draw: by metric the values of the test queries, whose numbers are ``tested``.

    And how many documents it was fitted on, in how many seconds.
    """

    tested: IntArray
    values: Mapping[str, FloatArray]
    n_docs: int
    seconds: float


def measure(draw: Draw, fitted: Any, seconds: float) -> Run:
    """Score the test part."""
    test, scores = draw.test, fitted.predict(draw.test.X)
    values = {spec: metric.per_query(test.y, scores, group=test.sizes) for spec, metric in _METRICS.items()}
    return Run(draw.tested, values, draw.train.n_docs, seconds)


def per_query(runs: Sequence[Run], metric: str) -> FloatArray:
    """Of each query that a draw has tested its mean over these draws, in the order of their numbers.

    >>> one, other = {"map": np.array([0.5, 1.0])}, {"map": np.array([0.7])}
    >>> per_query([Run(np.array([2, 0]), one, 9, 0.1), Run(np.array([2]), other, 9, 0.1)], "map")
    array([1. , 0.6])
    """
    _, place = np.unique(np.concatenate([run.tested for run in runs]), return_inverse=True)
    sums = np.bincount(place, np.concatenate([run.values[metric] for run in runs]))
    means: FloatArray = sums / np.bincount(place)
    return means


def by_draw(runs: Sequence[Run], metric: str) -> FloatArray:
    """The mean of each draw."""
    return np.array([counted_mean(run.values[metric]) for run in runs])
