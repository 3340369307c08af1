"""What is refused of XGBoost: what would end the process, or keep the worst tree."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..arguments import short
from .xgboost_calls import XGBoostMetrics
from .xgboost_data import import_xgboost, maximised_by_name, refuse_to_minimise

TRAIN = "boostsoft.xgboost.train"
_WEIGHS_QUERIES = re.compile(r"(ndcg|map|pre|auc|aucpr)([@-]|$)")  # of XGBoost's own metrics


def as_evals(evals: Any) -> list[tuple[Any, str]]:
    """``evals`` as a list; raise unless it is one of data sets and their names, each of its own.

    XGBoost writes the values of two sets of one name in turns into one curve.
    """
    found = [] if evals is None else list(evals) if isinstance(evals, Iterable) else [evals]
    for one in found:
        if not (isinstance(one, (tuple, list)) and len(one) == 2 and hasattr(one[0], "get_uint_info")):
            raise TypeError(
                f"{TRAIN}: evals must be pairs of a DMatrix and a name, [(data, 'valid')]; got {short(one)}"
            )
    names = [str(name) for _, name in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{TRAIN}: the names in evals must differ; got {twice!r} more than once")
    return found


def refuse_metrics_of_documents(params: Mapping[str, Any], start: Any, evals: Sequence[tuple[Any, str]]) -> None:
    """Raise if XGBoost would evaluate a metric of single documents where queries have weights: the process would end.

    It asks for a weight per document then, and aborts.
    """
    weighted = [name for data, name in evals if data.get_weight().size and data.get_uint_info("group_ptr").size]
    if not weighted:
        return
    found = own_metrics(params, start)
    wrong = next((name for name in found if not _WEIGHS_QUERIES.match(name)), None)
    if wrong is not None:
        raise ValueError(
            f"{TRAIN}: {wrong!r} must not be evaluated on {weighted[0]!r}, whose weights are per "
            "query: XGBoost would end the process; leave it out of eval_metric, and give a model that is continued as "
            "xgb.Booster(model_file=model.save_raw()), without its metrics"
        )


def refuse_stopping_by_another(
    params: Mapping[str, Any], start: Any, evals: Sequence[tuple[Any, str]], metrics: XGBoostMetrics | None
) -> None:
    """Raise if XGBoost's early stopping would maximise an error of its own, which is the last metric in its log.

    So it is where none of ours comes behind it: where a TrackCallback records them, in front of what is from ``evals``.
    """
    last = next(reversed(own_metrics(params, start)), None) if evals and metrics is None else None
    if last is not None and not maximised_by_name(last):
        raise ValueError(
            f"{TRAIN}: early_stopping_rounds would keep the worst tree by {last!r}, the last metric in "
            "XGBoost's log, where a TrackCallback records ours: leave it out of eval_metric, or give, in place of "
            "early_stopping_rounds, xgboost.callback.EarlyStopping(rounds=, metric_name=, maximize=)"
        )


def own_metrics(params: Mapping[str, Any], start: Any) -> list[str]:
    """What XGBoost itself evaluates, in its order."""
    # in memory a model to continue keeps its own
    kept = json.loads(start.save_config())["learner"].get("metrics", ()) if hasattr(start, "save_config") else ()
    off = params["disable_default_eval_metric"]
    off = off and str(off).lower() not in ("false", "0")  # as XGBoost reads texts
    given = params.get("eval_metric") or (() if off else _own_metric(start))
    named = [given] if isinstance(given, str) else given
    return list(dict.fromkeys([*(metric["name"] for metric in kept), *named]))


def refuse_called_metrics(caller: str, params: Mapping[str, Any]) -> None:
    """Raise if ``eval_metric`` holds something else than names, such as a function."""
    given = params.get("eval_metric")
    named = given if isinstance(given, Iterable) and not isinstance(given, str) else [given or ""]
    for one in named:
        if not isinstance(one, str):
            raise TypeError(
                f"{caller}: eval_metric must name metrics of XGBoost's own; got {short(one)} (what is called goes into "
                "custom_metric=)"
            )


def _own_metric(start: Any) -> str:
    """What XGBoost evaluates unless told otherwise: the metric of the objective that it knows of."""
    if start is None:
        return "rmse"
    if not hasattr(start, "save_config"):
        start = import_xgboost(TRAIN).Booster(model_file=start)
    objective = json.loads(start.save_config())["learner"]["objective"]["name"]
    return "ndcg" if objective.startswith("rank:") else f"the metric of {objective}"


def refuse_minimising(
    callbacks: Sequence[Any],
    evals: Sequence[tuple[Any, str]],
    metrics: XGBoostMetrics | None,
    caller: str = TRAIN,
) -> None:
    """Raise, before a tree is grown, if an EarlyStopping callback would keep the worst tree in place of the best."""
    from .xgboost_callback import TrackCallback

    ours = () if metrics is None else metrics.metrics.names
    log: dict[str, dict[str, bool]] = {name: dict.fromkeys(ours, True) for _, name in evals if ours}
    for callback in callbacks:
        if isinstance(callback, TrackCallback):
            callback.join(log, {name: dict.fromkeys(names, True) for name, names in callback.logged.items()})
    refuse_to_minimise(caller, callbacks, log)


def recorders_first(callbacks: Iterable[Any]) -> list[Any]:
    """Callbacks, each TrackCallback in front of those that read what it logs: they would see the round before."""
    from .xgboost_callback import TrackCallback

    return sorted(callbacks, key=lambda callback: not isinstance(callback, TrackCallback))


def recorded_metrics(callbacks: Sequence[Any], evals: Sequence[tuple[Any, str]]) -> set[str]:
    """Names of the metrics that a TrackCallback logs on one of these data sets."""
    from .xgboost_callback import TrackCallback

    ours = [callback.logged for callback in callbacks if isinstance(callback, TrackCallback)]
    return {name for logged in ours for _, data in evals for name in logged.get(data, ())}
