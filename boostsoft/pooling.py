"""Metrics of data that lies in parts: sums over one part, which add up to the spread and the mean over all.

Two rounds of sums are enough. The first gives the spread of the scores over all parts, for metrics with
``sigma_unit="spread"``; the second, with sigma in units of the scores, gives the mean over the queries of all parts.
"""

from __future__ import annotations

import numpy as np

from .arguments import FloatArray, changed
from .metrics.hard import Metric
from .metrics.prepared import PreparedQueries
from .metrics.soft import AnyMetric, SoftMetric, expected_ties
from .metrics.spread import spread
from .query_groups import QueryGroups

_LEAST, _LARGEST = 1e-150, 1e150  # of a spread whose square keeps its digits


def needs_spread(metric: AnyMetric) -> bool:
    """Whether sigma is in units of the scores' spread."""
    return isinstance(metric, SoftMetric) and metric.sigma_unit == "spread"


def refuse_undivided(caller: str, metric: AnyMetric) -> None:
    """Raise if the metric has options that only all queries together give a meaning.

    Examples
    --------
    >>> from boostsoft import Metric
    >>> refuse_undivided("evaluate", Metric("auc", pooled=True))
    Traceback (most recent call last):
    ValueError: evaluate: a metric of data in parts must not be pooled, since its pairs cross the parts; got auc_pooled
    """
    hard = metric.hard
    if hard.pooled:
        raise ValueError(
            f"{caller}: a metric of data in parts must not be pooled, since its pairs cross the parts; got {hard.name}"
        )
    refuse_many_cutoffs(caller, hard)


def refuse_many_cutoffs(caller: str, metric: Metric) -> None:
    """Raise if each query has a cutoff of its own."""
    if isinstance(metric.k, tuple):
        raise ValueError(
            f"{caller}: a metric of data in parts must have one cutoff for all queries, since no part knows its "
            f"place among the others; got {len(metric.k)} cutoffs"
        )


def spread_sums(caller: str, groups: QueryGroups, scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Of one part: its squared spread times its weight, and its weight, sum over queries of w n."""
    mass, found = float((weights * groups.sizes).sum()), spread(groups, scores, weights)
    if found > 0.0 and not _LEAST < found < _LARGEST:
        raise ValueError(
            f"{caller}: the spread of scores in parts must be between {_LEAST:g} and {_LARGEST:g}, since its square is "
            f"added up; got {found:g}"
        )
    return np.array([mass * found**2, mass])


def pooled_spread(sums: FloatArray) -> float:
    """The spread over all parts, from the total of their sums.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import QueryGroups
    >>> one = spread_sums("evaluate", QueryGroups.from_sizes([2]), np.array([0.0, 2.0]), np.ones(1))  # spread 1
    >>> two = spread_sums("evaluate", QueryGroups.from_sizes([2]), np.array([0.0, 0.0]), np.ones(1))  # spread 0
    >>> pooled_spread(one + two) == 0.5**0.5
    True
    """
    return float(np.sqrt(sums[0] / sums[1])) if sums[1] > 0 else 0.0


def in_score_units(metric: AnyMetric, over_all: float) -> AnyMetric:
    """The same metric with sigma in units of the scores, given their spread over all parts."""
    if not isinstance(metric, SoftMetric) or metric.sigma_unit == "score":
        return metric
    sigma = metric.sigma * over_all
    if sigma == 0.0:
        return expected_ties(metric.hard)
    return changed(metric, sigma=sigma, sigma_unit="score")


def mean_sums(metric: AnyMetric, queries: PreparedQueries, scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Of one part: the sum of the queries' weighted values, and that of the weights that count."""
    counted = np.where(queries.counted(weights) > 0, weights, 0.0)
    values = metric.evaluate(queries, scores, weights)
    return np.array([(counted * np.where(counted > 0, values, 0.0)).sum(), counted.sum()])


def pooled_mean(sums: FloatArray) -> float:
    """The mean over the queries of all parts; NaN if none counts."""
    return float(sums[0] / sums[1]) if sums[1] > 0 else float("nan")
