"""An XGBoost DMatrix, and what it tells: its queries and their weights; the threads; and who else trains."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from ..arguments import FloatArray
from ..frames import is_frame, number_matrix
from ..kernels.interrupts import held_back
from ..query_groups import QueryGroups, query_weights
from .shared import callers, first_whole, warn_of_least_curvature

THREADS = ("nthread", "n_jobs")
# how the names of metrics begin that XGBoost's EarlyStopping takes for ones to maximise if it is not told
_MAXIMISED_BY_NAME = ("auc", "pre", "map", "ndcg")


def groups_and_weights(caller: str, dmatrix: Any) -> tuple[QueryGroups, FloatArray]:
    """The queries and the weight of each."""
    if not hasattr(dmatrix, "get_uint_info"):
        raise TypeError(f"{caller}: is called by xgb.train and xgb.cv, with a DMatrix; got {type(dmatrix).__name__}")
    offsets = dmatrix.get_uint_info("group_ptr")
    if offsets.size < 2:  # 1 of group=[]
        raise ValueError(f"{caller}: the DMatrix has no groups; give it group= (documents per query) or qid=")
    groups = QueryGroups.from_offsets(offsets.astype(np.int64))
    weights = dmatrix.get_weight()
    if weights.size and not weights.any():
        if over_workers() is not None:  # others may have the weight
            return groups, np.zeros(groups.n_queries)
        raise ValueError(f"{caller}: weight of the DMatrix must not be 0 for all queries; got {weights.size} zeros")
    return groups, query_weights(caller, weights if weights.size else None, groups, "weight of the DMatrix")


def labels_of(caller: str, dmatrix: Any) -> Any:
    """The label of each row."""
    labels = dmatrix.get_label()
    if labels.size == 0:
        raise ValueError(f"{caller}: the DMatrix has no labels; give it label=")
    return labels


def make_dmatrix(caller: str, X: Any, *, bins: int | None = None, **options: Any) -> Any:
    """A DMatrix of X, with ``bins`` one that keeps but the bin of each number, to train on.

    An error names a number which is none in single precision, as which XGBoost keeps it.
    """
    import xgboost

    try:
        if bins is None:
            return xgboost.DMatrix(X, **options)
        with held_back():  # what Ctrl-C raises in a callback of XGBoost's is lost, and it goes on without data
            return xgboost.QuantileDMatrix(X, max_bin=bins, **options)
    except xgboost.core.XGBoostError:
        _refuse_infinite(caller, number_matrix(X) if is_frame(X) else X)
        raise


def _refuse_infinite(caller: str, X: Any) -> None:
    if sparse.issparse(X):
        entries = X.tocoo()
        values, columns = entries.data, entries.col
    elif isinstance(X, np.ndarray):
        values, columns = X, np.broadcast_to(np.arange(X.shape[1]), X.shape)
    else:
        return
    with np.errstate(over="ignore"):
        infinite = np.isinf(values.astype(np.float32))
    if infinite.any():
        raise ValueError(
            f"{caller}: X must be within the range of float32, as which XGBoost keeps features; got "
            f"{values[infinite][0]} in feature {columns[infinite][0]}, counted from 0"
        )


def over_workers() -> Callable[[FloatArray], FloatArray] | None:
    """What adds up arrays over the workers of a distributed training; None outside of one."""
    collective = sys.modules.get("xgboost.collective")  # whoever trains has imported it
    if collective is None or collective.get_world_size() == 1:
        return None
    return partial(collective.allreduce, op=collective.Op.SUM)


def threads() -> int | None:
    """XGBoost's global number of threads (``xgboost.config_context``), None for its default."""
    xgboost = sys.modules.get("xgboost")  # whoever trains has imported it
    return None if xgboost is None else first_whole(xgboost.get_config(), THREADS)


def library() -> Any:
    """XGBoost's shared library, None if it cannot be found."""
    return getattr(sys.modules.get("xgboost.core"), "_LIB", None)  # whoever trains has imported it


def is_empty(dmatrix: Any) -> bool:
    """Whether a worker of a distributed training got no part of this data."""
    return bool(dmatrix.num_row() == 0)


def warn_if_no_split(caller: str, curvature: float) -> None:
    """Warn if no tree of the training in which XGBoost calls a function of its user's can have two leaves.

    XGBoost shows no Booster: it is looked for among those who have called. A dart or a gblinear says nothing.
    """
    booster_type = getattr(sys.modules.get("xgboost.core"), "Booster", ())
    for seen in callers():
        booster = seen.get("self")
        if isinstance(booster, booster_type):
            settings = json.loads(booster.save_config())["learner"]["gradient_booster"].get("tree_train_param", {})
            least = float(settings.get("min_child_weight", 0.0))
            if curvature < 2.0 * least:
                warn_of_least_curvature(caller, "min_child_weight", least, curvature)
            break


def callbacks_of_training() -> tuple[Any, list[str]]:
    """XGBoost's container of callbacks, where it calls in a training, and the names of its data sets; else None."""
    kind = getattr(sys.modules.get("xgboost.callback"), "CallbackContainer", ())
    for seen in callers():
        found = seen.get("self")
        if isinstance(found, kind):
            return found, ["train", "test"] if found.is_cv else [name for _, name in seen.get("evals") or ()]
    return None, []


def maximised_by_name(name: str) -> bool:
    """Whether XGBoost's EarlyStopping takes a metric for one to maximise if it is not told."""
    return name.startswith(_MAXIMISED_BY_NAME) and name != "mape"


def refuse_to_minimise(caller: str, callbacks: Iterable[Any], log: Mapping[str, dict[str, bool]]) -> None:
    """Raise if an EarlyStopping callback would keep the worst tree by one of our metrics.

    ``log`` is data set -> metric -> whether it is ours, in the order of XGBoost's log, which watches what comes last.
    """
    stopping = getattr(sys.modules.get("xgboost.callback"), "EarlyStopping", ())
    for stop in callbacks:
        if not isinstance(stop, stopping) or not log:
            continue
        data = log.get(stop.data or list(log)[-1], {})  # what is not there XGBoost refuses
        name = stop.metric_name or next(reversed(data), "")
        if data.get(name) and not (maximised_by_name(name) if stop.maximize is None else stop.maximize):
            raise ValueError(
                f"{caller}: an EarlyStopping callback would minimise {name!r}, which is to be maximised: give it "
                f"maximize=True; got maximize={stop.maximize!r}"
            )


def import_xgboost(caller: str) -> Any:
    """XGBoost, or an error that says how to get it."""
    try:
        import xgboost
    except ImportError as error:
        raise ImportError(
            f"{caller}: XGBoost is not installed: pip install 'boostsoft[xgboost-cpu]' (or 'boostsoft[xgboost]')"
        ) from error
    return xgboost


def refuse_other_kinds(caller: str, argument: str, learner: dict[str, Any]) -> None:
    """Raise if a booster, of this configuration, cannot be continued with its trees as they are."""
    kind = booster_kind(learner)
    if kind != "gbtree":
        why = "has no trees" if kind == "gblinear" else "changes the trees that it had when it goes on"
        raise ValueError(f"{caller}: {argument} must be a gbtree; {kind} {why}")


def refuse_several_scores(caller: str, learner: dict[str, Any]) -> None:
    """Raise if a booster, of this configuration, scores several classes or targets."""
    sizes = {name: int(learner["learner_model_param"].get(name, 1)) for name in ("num_class", "num_target")}
    if max(sizes.values()) > 1:
        raise ValueError(f"{caller}: model must have one score per document; got an XGBoost model with {sizes}")


def booster_kind(learner: dict[str, Any]) -> str:
    """Which of gbtree, dart and gblinear a booster is, from its configuration.

    From XGBoost 3.4 on dart is a gbtree that drops trees.
    """
    found = learner["gradient_booster"]
    drops = found.get("dart_train_param", {})
    if float(drops.get("rate_drop", 0.0)) > 0.0 or int(drops.get("one_drop", 0)) > 0:
        return "dart"
    return str(found["name"])
