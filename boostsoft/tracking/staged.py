"""Scores of a finished model after each of its trees, whichever library grew them; and what it, X and queries may be.

A model is known by its class, which exists only if its library has been imported: none is imported here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import FloatArray, as_array, finite_vector, refuse_lazy, refuse_masked, time_in
from ..query_groups import QueryGroups, read_ids, resolve_groups
from ..ranker import xgboost_trees
from ..ranker.fitted import encoded, query_ids
from ..ranker.settings import check_threads
from ..stages import staged_lightgbm, staged_xgboost
from . import staged_other

KNOWN = (
    "a LightGBM Booster or LGBMRanker, an XGBoost Booster or XGBRanker, a CatBoost model, a SoftRanker or another "
    "model with staged_predict"
)
STARTS = {"init_score": "LightGBM", "base_margin": "XGBoost"}


@dataclass(frozen=True)
class Stages:
    """A model on the documents of X.

    Attributes
    ----------
    n_trees : how many it has; None if only its end will tell.
    scores : after 0, 1, 2, ... trees, each (n_docs,) of its own memory; every tree is evaluated once.
    """

    n_trees: int | None
    scores: Iterator[FloatArray]


def open_model(
    caller: str, model: Any, X: Any, n_docs: int, *, init_score: Any = None, base_margin: Any = None
) -> Stages:
    """Check that X suits the model, and the model the method; nothing is predicted yet.

    Raises
    ------
    TypeError
        If the model is of no known kind.
    ValueError
        If it has no trees (or is gblinear) or several scores per document, if X has another number of features or
        rows, or if ``init_score`` is given to another model than LightGBM's, ``base_margin`` than XGBoost's.
    """
    X = feature_matrix(caller, X, n_docs)
    starts = {"init_score": init_score, "base_margin": base_margin}
    ranker = soft_ranker(model)
    if ranker is not None:
        refuse_other_starts(caller, starts, "SoftRanker", "")
        return Stages(*_of_ranker(caller, ranker, X))
    if is_of(model, "lightgbm", "LGBMModel"):
        model = model.booster_
    if is_of(model, "lightgbm", "Booster"):
        refuse_other_starts(caller, starts, "LightGBM", "init_score")
        return Stages(*staged_lightgbm.stages(caller, model, X, _start(caller, "init_score", init_score, n_docs)))
    if is_of(model, "xgboost", "XGBModel", "Booster"):
        refuse_other_starts(caller, starts, "XGBoost", "base_margin")
        margin = _start(caller, "base_margin", base_margin, n_docs)
        return Stages(*staged_xgboost.stages(caller, *staged_xgboost.on_data(caller, model, X), margin))
    refuse_other_starts(caller, starts, type(model).__name__, "")
    if is_of(model, "catboost", "CatBoost"):
        return Stages(*staged_other.of_catboost(caller, model, X))
    if callable(getattr(type(model), "staged_predict", None)):  # lgb.CVBooster claims to have any method
        return Stages(*staged_other.of_estimator(caller, model, X))
    raise other_model(caller, KNOWN, model)


def other_model(caller: str, known: str, model: Any) -> TypeError:
    """The error of a model that is none of the ``known`` ones."""
    file = isinstance(model, (str, os.PathLike))
    read = "; a file is read by lgb.Booster(model_file=...) or xgb.Booster(model_file=...)" if file else ""
    return TypeError(f"{caller}: model must be {known}; got {type(model).__name__}{read}")


def model_queries(
    caller: str, model: Any, X: Any, n_docs: int, group: Any, qid: Any
) -> tuple[QueryGroups, NDArray[Any] | None]:
    """The queries by ``group``, by ``qid`` or by a SoftRanker's column of X, and what the user calls each."""
    if group is None and qid is None:
        ranker = soft_ranker(model)
        qid = query_ids(caller, ranker, X) if hasattr(ranker, "booster_") else None
        if qid is None:
            raise ValueError(f"{caller}: group= (documents per query) or qid= (one id per document) must be given")
    groups = resolve_groups(caller, n_docs, group, qid)
    return groups, None if qid is None else read_ids(caller, qid)[groups.offsets[:-1]]


def threads_of(caller: str, model: Any) -> int | None:
    """The threads that a SoftRanker was given, None for its default and other models."""
    ranker = soft_ranker(model)
    return None if ranker is None else check_threads(caller, ranker.n_jobs)


def _of_ranker(caller: str, ranker: Any, X: Any) -> tuple[int, Iterator[FloatArray]]:
    """The ranker's booster on the features that it makes of X."""
    trees, features = encoded(caller, ranker, X)
    threads = threads_of(caller, ranker)
    if trees.NAME == "lightgbm":
        return staged_lightgbm.stages(caller, ranker.booster_, features.matrix, None, threads)
    return staged_xgboost.stages(caller, ranker.booster_, xgboost_trees.as_dmatrix(features, threads), None)


def soft_ranker(model: Any) -> Any:
    """The model if it is a SoftRanker, else None."""
    module = sys.modules.get("boostsoft.ranker.estimator")
    return model if module is not None and isinstance(model, module.SoftRanker) else None


def is_of(model: Any, library: str, *names: str) -> bool:
    """Whether the model is of one of the classes of a library, if that has been imported."""
    module = sys.modules.get(library)
    kinds = [getattr(module, name, None) for name in names]
    return any(isinstance(kind, type) and isinstance(model, kind) for kind in kinds)


def feature_matrix(caller: str, X: Any, n_docs: int) -> Any:
    """X if it has rows and columns, an array if it can become one."""
    refuse_lazy(caller, "X", X)
    refuse_masked(caller, "X", X)
    found = X if hasattr(X, "shape") else as_array(caller, "X", X)
    if hasattr(X, "get_label") or len(found.shape) != 2:
        shape = "" if hasattr(X, "get_label") else f" of shape {found.shape}"
        raise ValueError(
            f"{caller}: X must have a row per document and a column per feature: an array, a sparse matrix or a "
            f"DataFrame; got {type(X).__name__}{shape}"
        )
    if found.shape[0] != n_docs:
        raise ValueError(f"{caller}: X must have one row per label, {n_docs}; got {found.shape[0]}")
    if isinstance(found, np.ndarray) and (found.dtype.kind == "c" or time_in(found) is not None):
        raise TypeError(f"{caller}: X must hold numbers; got an array of {found.dtype}")  # boosters make floats of them
    return found


def _start(caller: str, argument: str, values: Any, n_docs: int) -> FloatArray | None:
    return None if values is None else finite_vector(caller, argument, values, n_docs)


def refuse_other_starts(caller: str, starts: Mapping[str, Any], kind: str, own: str) -> None:
    """Raise if a start of the scores is given under another library's name."""
    for name, value in starts.items():
        if value is not None and name != own:
            remedy = f"give {own}=" if own else "leave it out"
            raise ValueError(f"{caller}: {name} belongs to {STARTS[name]}; the model is of {kind}: {remedy}")
