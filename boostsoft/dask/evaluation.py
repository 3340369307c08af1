"""A metric of scores that lie in partitions, over the queries of all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arguments import FloatArray, as_array, finite_vector
from ..kernels.threads import at_most
from ..metrics.hard import Metric
from ..metrics.prepared import prepare
from ..metrics.soft import SoftMetric, as_metric
from ..pooling import in_score_units, mean_sums, needs_spread, pooled_mean, pooled_spread, refuse_undivided, spread_sums
from ..query_groups import QueryGroups
from .parts import check_parts, keep, on_parts, require_dask

_CALLER = "boostsoft.dask.evaluate"


def evaluate(metric: str | Metric | SoftMetric, y_true: Any, y_score: Any, qid: Any, *, weight: Any = None) -> float:
    """Mean of a metric over the queries of all partitions, computed where they lie.

    Parameters
    ----------
    metric : str, Metric or SoftMetric
        With ``sigma_unit="spread"`` the spread is that of all partitions together.
    y_true, y_score, qid : Dask arrays or series, of the same partitions
        Labels, scores (what ``predict`` of either engine returns) and query ids; whole queries.
    weight : Dask array or series, optional
        One per row; a query weighs the mean of its rows'.

    Raises
    ------
    TypeError
        If data is no Dask collection or holds no numbers, or the metric is of another kind.
    ValueError
        If a query is split over partitions, labels or scores are not finite, weights are negative or all 0, or the
        metric is pooled or has one cutoff per query.

    Examples
    --------
    >>> import dask.array as da, numpy as np
    >>> import boostsoft.dask as bd
    >>> qid, y = da.from_array(np.array([1, 1, 2, 2]), chunks=2), da.from_array(np.array([0, 1, 1, 0]), chunks=2)
    >>> bd.evaluate("precision@1", y, da.from_array(np.array([0.1, 0.2, 0.3, 0.4]), chunks=2), qid)
    0.5
    """
    require_dask(_CALLER)
    chosen = metric if isinstance(metric, SoftMetric) else as_metric(_CALLER, metric, {})
    refuse_undivided(_CALLER, chosen)
    named = {"qid": qid, "y_true": y_true, "y_score": y_score} | ({} if weight is None else {"weight": weight})
    kept = keep(_CALLER, named)
    check_parts(_CALLER, kept)

    def total(sums: Callable[..., FloatArray], *arguments: Any) -> FloatArray:
        found = on_parts(_CALLER, kept, _sums_or_why_not, sums, *arguments)
        for place, one in enumerate(found):
            if isinstance(one, tuple):
                kind, wrong = one
                raise kind(f"{_CALLER}: partition {place}: {wrong}")
        added: FloatArray = np.array(found).sum(axis=0)
        return added

    over_all = pooled_spread(total(_spread_sums)) if needs_spread(chosen) else 0.0
    return pooled_mean(total(_mean_sums, in_score_units(chosen, over_all)))


def _sums_or_why_not(
    part: dict[str, Any], sums: Callable[..., FloatArray], *arguments: Any
) -> FloatArray | tuple[type[Exception], str]:
    """Runs on a worker, and returns what is wrong in place of raising it there."""
    try:
        return sums(part, *arguments)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        return kind, str(error).removeprefix(f"{_CALLER}: ")


def _spread_sums(part: dict[str, Any]) -> FloatArray:
    groups, scores, weights = _checked(part)
    return spread_sums(_CALLER, groups, scores, weights)


def _mean_sums(part: dict[str, Any], metric: Metric | SoftMetric) -> FloatArray:
    groups, scores, weights = _checked(part)
    labels = as_array(_CALLER, "y_true", part["y_true"]).ravel()
    with at_most(1):  # a worker's threads have a part each
        return mean_sums(metric, prepare(metric.hard, _CALLER, labels, groups), scores, weights)


def _checked(part: dict[str, Any]) -> tuple[QueryGroups, FloatArray, FloatArray]:
    groups = QueryGroups.from_query_ids(part["qid"])
    scores = finite_vector(_CALLER, "y_score", as_array(_CALLER, "y_score", part["y_score"]).ravel(), groups.n_docs)
    if "weight" not in part:
        return groups, scores, np.ones(groups.n_queries)
    return groups, scores, groups.means(np.asarray(part["weight"], dtype=np.float64))
