"""``DaskLGBMRanker`` on whole queries, watched while it trains."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..adapters.lightgbm_calls import LightGBMObjective, SklearnMetrics, SklearnObjective
from ..adapters.lightgbm_data import STOPPING, refuse_bagged_queries
from ..arguments import FloatArray, short
from ..metrics.prepared import PreparedQueries
from ..metrics.soft import AnyMetric
from ..objectives import Objective
from ..pooling import needs_spread, refuse_many_cutoffs
from ..query_groups import QueryGroups
from .parts import (
    check_parts,
    client_of,
    keep,
    refuse_recording,
    refuse_undivided_rule,
    refuse_wrong_labels,
    require_dask,
    sizes_of,
)
from .watch import run_watched

_CALLER = "boostsoft.dask.fit_lightgbm"


def fit_lightgbm(ranker: Any, X: Any, y: Any, qid: Any, *, sample_weight: Any = None, **arguments: Any) -> Any:
    """Fit a ``DaskLGBMRanker`` to whole queries.

    Parameters
    ----------
    ranker : lightgbm.DaskLGBMRanker
        Such as ``DaskLGBMRanker(objective=bl.sklearn_objective("ndcg@10"), metric="None", time_out=1)``: with
        ``time_out=1`` its workers wait minutes for one another, not hours; each must compute its gradients in less.
    X, y, qid, sample_weight : Dask frames, series or arrays, of the same partitions
        Features, labels, query ids of any type, and weights, one per row; whole queries. They are persisted.
    **arguments
        As ``DaskLGBMRanker.fit``, eval sets included: their metrics are those of the rows of one worker, and
        :func:`boostsoft.dask.evaluate` gives those of all.

    Returns
    -------
    lightgbm.DaskLGBMRanker
        ``ranker``, fitted. If training fails, it is as it was.

    Raises
    ------
    TypeError
        If ``ranker`` is no DaskLGBMRanker, its objective is made for ``lgb.train``, data is no Dask collection, or
        ``group`` is given, which is found from ``qid``.
    ValueError
        Before training: if a query is split over partitions or its rows are not adjacent; a partition is empty; a
        column's categories differ between partitions; labels of ``eval_set`` or ``eval_y`` are not finite, or none of
        a metric's; the objective finds nothing to learn, or has weights or cutoffs per query, which no worker can tell
        apart, as a metric may not have any; early stopping, ``bagging_by_query`` or a ``track_callback`` is asked for,
        or a metric in units of the spread.
    RuntimeError
        If a worker is lost while training, or one failed and left the others waiting. (Where a client trains several
        rankers at once those that wait are not named, and wait ``time_out`` minutes or longer.)

    Examples
    --------
    On a cluster, with a Dask frame of features, labels and query ids:

    .. code-block:: python

        import lightgbm as lgb, boostsoft.dask as bd, boostsoft.lightgbm as bl
        from distributed import Client

        client = Client("tcp://scheduler:8786")
        frame = bd.repartition_by_query(frame, npartitions=64).persist()
        X, y, qid = frame[features], frame["label"], frame["qid"]
        ranker = lgb.DaskLGBMRanker(objective=bl.sklearn_objective("ndcg@10"), metric="None", time_out=1)
        ranker = bd.fit_lightgbm(ranker, X, y, qid)
        bd.evaluate("ndcg@10", y, ranker.predict(X), qid)
        ranker.to_local().booster_.save_model("model.txt")
    """
    if "group" in arguments:
        raise TypeError(
            f"{_CALLER}: group must be left out, since it is found from qid; got {short(arguments['group'])}"
        )
    _check_ranker(ranker, arguments)
    objective = ranker.objective
    rule: Objective | None = objective.rule if isinstance(objective, SklearnObjective) else None
    refuse_undivided_rule(_CALLER, rule)
    client = client_of(_CALLER, ranker.client)
    named = {"X": X, "y": y, "qid": qid} | ({} if sample_weight is None else {"weight": sample_weight})
    with client.as_current():
        data = keep(_CALLER, named)
        outlines = check_parts(_CALLER, data, rule)
        for argument, labels in _eval_labels(arguments):
            refuse_wrong_labels(_CALLER, argument, labels, [metric.hard for metric in _metrics(arguments)])
    trained = type(ranker)(**ranker.get_params())
    if isinstance(objective, SklearnObjective):
        trained.set_params(objective=PartObjective(objective))

    def fit() -> None:
        group = sizes_of(outlines)
        trained.fit(data["X"], data["y"], sample_weight=data.get("weight"), group=group, **arguments)

    run_watched(_CALLER, client, fit, task="_train_part")
    trained.set_params(objective=objective)
    vars(ranker).update(vars(trained))
    return ranker


class PartObjective:
    """An objective on the part of the data that one worker has, in which there may be nothing to learn."""

    def __init__(self, objective: SklearnObjective) -> None:
        self.objective = copy(objective)
        self.objective.rule = _PartRule(objective.rule)

    def __call__(self, y_true: Any, y_pred: Any, weight: Any, group: Any) -> tuple[FloatArray, FloatArray]:
        """Gradient and curvature of what is minimised."""
        if weight is not None and not np.any(weight):
            return np.zeros(len(y_pred)), np.zeros(len(y_pred))
        return self.objective(y_true, y_pred, weight, group)


@dataclass(frozen=True)
class _PartRule(Objective):
    rule: Objective

    def __getattr__(self, name: str) -> Any:
        """The attributes of the objective, which warnings of parameters read."""
        if name == "rule":  # not there yet, in a copy
            raise AttributeError(name)
        return getattr(self.rule, name)

    def prepare(
        self, y_true: Any, groups: QueryGroups, *, part: bool = True, caller: str = "objective"
    ) -> PreparedQueries:
        return self.rule.prepare(y_true, groups, part=part, caller=caller)

    def unchecked(
        self, queries: PreparedQueries, scores: FloatArray, row_weight: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        return self.rule.unchecked(queries, scores, row_weight)


def _check_ranker(ranker: Any, arguments: dict[str, Any]) -> None:
    require_dask(_CALLER)
    import lightgbm

    if not isinstance(ranker, lightgbm.DaskLGBMRanker):
        raise TypeError(f"{_CALLER}: ranker must be a lightgbm.DaskLGBMRanker; got {type(ranker).__name__}")
    if isinstance(ranker.objective, LightGBMObjective):
        raise TypeError(f"{_CALLER}: a ranker takes boostsoft.lightgbm.sklearn_objective; got {ranker.objective!r}")
    params = ranker.get_params()
    stops = [name for name in STOPPING if params.get(name)]
    stops += [repr(one) for one in arguments.get("callbacks") or () if getattr(one, "stopping_rounds", None)]
    if stops:
        raise ValueError(
            f"{_CALLER}: early stopping must be left out, since under Dask it stops one worker and the others wait for "
            f"it; got {stops[0]}"
        )
    refuse_recording(_CALLER, arguments.get("callbacks"))
    if callable(ranker.objective):
        refuse_bagged_queries(_CALLER, params)
    for metric in _metrics(arguments):
        if needs_spread(metric):
            raise ValueError(
                f"{_CALLER}: eval_metric must not be in units of the spread, since LightGBM shows a metric the rows of "
                f"one worker; boostsoft.dask.evaluate pools it over all; got {metric.name}"
            )
        refuse_many_cutoffs(_CALLER, metric.hard)


def _metrics(arguments: Mapping[str, Any]) -> list[AnyMetric]:
    """Those of ours that eval sets are shown to."""
    given = arguments.get("eval_metric")
    several = given if isinstance(given, (list, tuple)) else [given]
    return [metric for one in several if isinstance(one, SklearnMetrics) for metric in one.metrics.metrics]


def _eval_labels(arguments: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The labels of each set to evaluate on, with the argument that they are in."""
    pairs, labels = arguments.get("eval_set") or (), arguments.get("eval_y")
    if not isinstance(pairs, (list, tuple)) or not all(isinstance(pair, (list, tuple)) for pair in pairs):
        raise TypeError(f"{_CALLER}: eval_set must be a list of (X, y); got {short(pairs)}")
    wrong = next((len(pair) for pair in pairs if len(pair) != 2), None)
    if wrong is not None:
        raise ValueError(f"{_CALLER}: eval_set must be a list of (X, y); got {wrong} of them in one")
    alone = [] if labels is None else labels if isinstance(labels, (list, tuple)) else [labels]
    return [("eval_set", y) for _, y in pairs] + [("eval_y", y) for y in alone]
