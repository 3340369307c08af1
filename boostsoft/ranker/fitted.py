"""What a fitted ranker knows of its trees and columns, for itself and for whoever scores or tracks it."""

from __future__ import annotations

from typing import Any

from . import lightgbm_trees, xgboost_trees
from .features import Features, checked_columns, ids_in
from .training import Trees

TREES: dict[str, Trees] = {lightgbm_trees.NAME: lightgbm_trees, xgboost_trees.NAME: xgboost_trees}


def encoded(caller: str, ranker: Any, X: Any) -> tuple[Trees, Features]:
    """The module of its booster, and the features that it makes of an X."""
    _check(ranker)
    return TREES[ranker._trees], ranker._encoder.encode(caller, checked_columns(caller, ranker, X, reset=False))


def query_ids(caller: str, ranker: Any, X: Any) -> Any:
    """The query ids in X if a column of it holds them; of a model that is no SoftRanker there are none."""
    _check(ranker)
    column = getattr(getattr(ranker, "_encoder", None), "qid_column", None)
    return None if column is None else ids_in(caller, checked_columns(caller, ranker, X, reset=False), column)


def _check(ranker: Any) -> None:
    from sklearn.utils.validation import check_is_fitted  # takes a second to load, and the command line has no ranker

    check_is_fitted(ranker)
