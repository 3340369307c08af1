"""``xgboost.dask.train`` on whole queries, with weights and metrics over all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..adapters.shared import as_booster, first_whole
from ..adapters.xgboost_calls import XGBoostMetrics, XGBoostObjective
from ..adapters.xgboost_data import THREADS, import_xgboost
from ..adapters.xgboost_refusals import refuse_minimising
from ..metrics.hard import Metric
from ..metrics.soft import SomeMetrics
from ..objectives import Objective
from ..pooling import refuse_undivided
from ..xgboost import settled_params, trained_objective, watched_metrics
from .parts import check_parts, client_of, keep, numbers_of, refuse_recording, refuse_undivided_rule
from .watch import run_watched

_CALLER = "boostsoft.dask.train_xgboost"


def train_xgboost(
    client: Any,
    params: Mapping[str, Any],
    X: Any,
    y: Any,
    qid: Any,
    num_boost_round: int = 10,
    *,
    weight: Any = None,
    obj: str | Metric | XGBoostObjective | None = None,
    custom_metric: SomeMetrics | XGBoostMetrics | None = None,
    evals: Mapping[str, tuple[Any, ...]] | None = None,
    early_stopping_rounds: int | None = None,
    missing: float = np.nan,
    **arguments: Any,
) -> dict[str, Any]:
    """``xgboost.dask.train`` on whole queries.

    Parameters
    ----------
    client : distributed.Client or None
        Of the cluster to train on; the current one if None.
    params
        As ``xgboost.dask.train``; ``base_score=0`` (a model that is continued keeps its own) and
        ``disable_default_eval_metric`` are set unless given.
    X, y, qid : Dask frames, series or arrays, of the same partitions
        Features, labels and query ids of any type; whole queries. They are persisted.
    num_boost_round : int
        As ``xgboost.dask.train``.
    weight : Dask array or series, optional
        One per row, the same for all rows of a query: XGBoost weighs queries. They multiply gradients and metrics; bins
        are found as if all rows weighed alike, unlike those of a DMatrix with weights.
    obj, custom_metric
        As :func:`boostsoft.xgboost.train`: what to train on and what to evaluate, on the queries of all workers.
    evals : dict from name to (X, y, qid) or (X, y, qid, weight), optional
        What to evaluate on.
    early_stopping_rounds : int, optional
        Stop once the last metric on the last set has not risen for so many rounds.
    missing : float
        The value of X that stands for a missing one. Columns of categories are taken as such.
    **arguments
        ``verbose_eval``, ``xgb_model``, ``callbacks``, ``coll_cfg``: as ``xgboost.dask.train``; ``xgb_model`` may be
        what this function has returned, too.

    Returns
    -------
    dict
        ``booster`` and ``history``: what ``xgboost.dask.train`` returns and ``xgboost.dask.predict`` takes.

    Raises
    ------
    TypeError
        If ``client`` is no synchronous Client, data is no Dask collection, or an argument is not as described.
    ValueError
        Before training: if a query is split over partitions or its rows are not adjacent; a partition is empty; the
        weights differ within a query, or a column's categories between partitions; the objective finds nothing to
        learn; objective or metrics have weights or cutoffs per query or are pooled, which no worker can do alone; or a
        callback is a ``TrackCallback``, or an EarlyStopping that would minimise one of these metrics.
    RuntimeError
        If a worker is lost while training.

    Notes
    -----
    Gradients are those of one machine, but for an objective with ``losses=``: each worker measures on its own part how
    long the losses' gradients are beside the metric's. The draws of ``reference_objective("xendcg")`` are of a row's
    place within its part. The warning of a ``min_child_weight`` that no split reaches is of one machine only.

    Examples
    --------
    On a cluster, with a Dask frame of features, labels and query ids:

    .. code-block:: python

        import boostsoft.dask as bd, xgboost.dask
        from distributed import Client

        client = Client("tcp://scheduler:8786")
        frame = bd.repartition_by_query(frame, npartitions=64).persist()
        X, y, qid = frame[features], frame["label"], frame["qid"]
        found = bd.train_xgboost(client, {"eta": 0.1}, X, y, qid, 100, evals={"train": (X, y, qid)})
        bd.evaluate("ndcg@10", y, xgboost.dask.predict(client, found, X), qid)
        found["booster"].save_model("model.json")
    """
    client = client_of(_CALLER, client)
    xgboost = import_xgboost(_CALLER)
    import xgboost.dask as engine

    rule = trained_objective(obj, _CALLER)
    refuse_undivided_rule(_CALLER, rule.rule)
    metrics = watched_metrics(custom_metric, rule, _CALLER)
    for metric in metrics.metrics.metrics:
        refuse_undivided(_CALLER, metric)
    callbacks = list(arguments.pop("callbacks", None) or ())
    refuse_recording(_CALLER, callbacks)
    if not isinstance(evals or {}, Mapping):
        raise TypeError(f"{_CALLER}: evals must be a dict from name to (X, y, qid); got a {type(evals).__name__}")
    sets = {name: _named(name, given) for name, given in (evals or {}).items()}
    train = _named("train", (X, y, qid) if weight is None else (X, y, qid, weight))
    with client.as_current():
        dtrain = _matrix(engine, client, train, rule.rule, missing)
        watched = [
            (dtrain if _same(found, train) else _matrix(engine, client, found, None, missing), name)
            for name, found in sets.items()
        ]
    refuse_minimising(callbacks, watched, metrics, _CALLER)
    if early_stopping_rounds is not None:  # its own argument would minimise what it does not know by name
        callbacks.append(xgboost.callback.EarlyStopping(rounds=early_stopping_rounds, maximize=True))

    if isinstance(arguments.get("xgb_model"), Mapping):  # as this function returned it
        arguments["xgb_model"] = arguments["xgb_model"]["booster"]
    settled = settled_params(params, arguments.get("xgb_model"), _CALLER)
    threads = first_whole(params, THREADS)

    def run() -> Any:
        return engine.train(
            client, settled, dtrain, num_boost_round, evals=watched, obj=OnWorker(rule, threads),
            custom_metric=OnWorker(metrics, threads), callbacks=callbacks, **arguments,
        )  # fmt: skip

    result: dict[str, Any] = run_watched(_CALLER, client, run)
    return result


class OnWorker:
    """An objective or metrics, called with a DMatrix whose weights lie one per row in ``label_lower_bound``.

    They run on as many threads as XGBoost does there: ``threads``, or by default those of the worker.
    """

    def __init__(self, inner: XGBoostObjective | XGBoostMetrics, threads: int | None) -> None:
        self.inner, self.threads = inner, threads

    def __call__(self, predt: Any, dmatrix: Any) -> Any:
        """What ``inner`` returns."""
        from distributed import get_worker

        with as_booster(self.threads or get_worker().state.nthreads):
            return self.inner(predt, _Weighted(dmatrix))


class _Weighted:
    """What the adapters read of a DMatrix, its weights one per query."""

    def __init__(self, dmatrix: Any) -> None:
        self._dmatrix = dmatrix

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dmatrix, name)

    def get_weight(self) -> Any:
        rows = self._dmatrix.get_float_info("label_lower_bound")
        if rows.size == 0:
            return rows
        return rows[self._dmatrix.get_uint_info("group_ptr")[:-1].astype(np.int64)]


def _named(name: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, (tuple, list)) or len(given) not in (3, 4):
        found = f"{len(given)} of them" if isinstance(given, (tuple, list)) else type(given).__name__
        raise TypeError(f"{_CALLER}: evals must be (X, y, qid) or (X, y, qid, weight); got {found} for {name!r}")
    return dict(zip(("X", "y", "qid", "weight"), given, strict=False))


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(one[name] is other[name] for name in one)


def _matrix(engine: Any, client: Any, named: dict[str, Any], rule: Objective | None, missing: float) -> Any:
    y = named["y"]
    if getattr(y, "ndim", 1) == 2 and len(getattr(y, "columns", ())) == 1:  # XGBoost wants a series
        named = {**named, "y": y[y.columns[0]]}
    data = keep(_CALLER, named)
    outlines = check_parts(_CALLER, data, rule, weigh_queries=True)
    numbers = numbers_of(outlines)
    columns = getattr(data["X"], "columns", None)
    return engine.DaskDMatrix(
        client, data["X"], data["y"], qid=numbers, label_lower_bound=data.get("weight"),
        feature_names=None if columns is None else [str(name) for name in columns],  # of parts without rows, too
        missing=missing, enable_categorical=True,
    )  # fmt: skip
