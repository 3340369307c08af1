"""Scores of an XGBoost model after each of its rounds.

XGBoost adds up leaf values in single precision, tree after tree. The first round is predicted as a whole, with what
it starts from (``base_score`` in the objective's units, or base_margin); the same additions follow here, with the
leaves and the values of a slice of the model at a time: the scores are those of
``predict(iteration_range=(0, t), output_margin=True)``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..adapters.xgboost_data import booster_kind, make_dmatrix, refuse_several_scores
from ..arguments import FloatArray
from .blocks import by_tree, refuse_no_trees, refuse_other_width, tree_blocks

_BYTES_PER_LEAF = 16  # a float32 of XGBoost's, turned round, and an index


def on_data(caller: str, model: Any, X: Any) -> tuple[Any, Any]:
    """The booster, and X as a DMatrix, read as the booster's training data was."""
    import xgboost

    booster = model.get_booster() if isinstance(model, xgboost.XGBModel) else model
    refuse_other_width(caller, X, int(booster.num_features()))
    options: dict[str, Any] = {"enable_categorical": True}
    if isinstance(model, xgboost.XGBModel):
        options |= {"missing": model.missing, "nthread": model.n_jobs}
    if isinstance(X, np.ndarray) and not X.dtype.isnative:  # XGBoost would read the bytes the other way round
        X = X.astype(X.dtype.newbyteorder("="))
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        options |= {"feature_names": booster.feature_names, "feature_types": booster.feature_types}
    elif hasattr(X, "get_columns"):  # polars, whose names older versions do not see
        options |= {"feature_names": list(X.columns)}
    data = make_dmatrix(caller, X, **options)
    if _categories(data) is None or (known := _categories(booster)) is None:
        return booster, data
    # predict goes by names of categories, but slices of the booster have forgotten them: give the codes of training
    return booster, make_dmatrix(caller, X, **options, feature_types=known)


def _categories(holder: Any) -> Any:
    """The names of categories that a booster or a DMatrix has kept; None without any, and before XGBoost 3.1."""
    found = holder.get_categories() if hasattr(holder, "get_categories") else None
    return None if found is None or found.empty() else found


def stages(caller: str, booster: Any, data: Any, base_margin: FloatArray | None) -> tuple[int, Iterator[FloatArray]]:
    """The number of rounds, and the scores after 0, 1, 2, ... of them."""
    learner = json.loads(booster.save_config())["learner"]
    if booster_kind(learner) == "gblinear":
        raise ValueError(f"{caller}: model must have trees; got a linear model, XGBoost's gblinear")
    refuse_several_scores(caller, learner)
    n_rounds = int(booster.num_boosted_rounds())
    refuse_no_trees(caller, n_rounds)
    if base_margin is not None:
        data.set_base_margin(base_margin)
    return n_rounds, _scores(booster, data, n_rounds, base_margin)


def _scores(booster: Any, data: Any, n_rounds: int, base_margin: FloatArray | None) -> Iterator[FloatArray]:
    n_docs = int(data.num_row())
    yield np.zeros(n_docs) if base_margin is None else base_margin.astype(np.float32).astype(np.float64)
    scores = booster.predict(data, output_margin=True, iteration_range=(0, 1))
    yield scores.astype(np.float64)
    first = _Slice(booster, 0, 1)
    size, values = _BYTES_PER_LEAF * first.trees_per_round, int(data.num_nonmissing())
    for begin, end in tree_blocks(1, n_rounds, n_docs, size, values):
        part = _Slice(booster, begin, end)
        leaves = by_tree(part.booster.predict(data, pred_leaf=True), n_docs)
        for tree, leaf in enumerate(leaves):
            scores = scores + part.values(tree)[leaf.astype(np.intp)]
            if (tree + 1) % part.trees_per_round == 0:
                yield scores.astype(np.float64)


class _Slice:
    """Some rounds of a booster: XGBoost tells leaves from the first round on only."""

    def __init__(self, booster: Any, begin: int, end: int) -> None:
        self.booster = booster[begin:end]
        model = json.loads(bytes(self.booster.save_raw("json")))["learner"]["gradient_booster"]
        trees = model.get("gbtree", model)["model"]
        self._weights = model.get("weight_drop", trees.get("weight_drop"))  # dart's, one per tree; below from 3.4 on
        self._trees = trees["trees"]
        self.trees_per_round = len(self._trees) // (end - begin)

    def values(self, tree: int) -> NDArray[np.float32]:
        """What a tree gives by node, as far as they are leaves."""
        values = np.array(self._trees[tree]["split_conditions"], dtype=np.float32)
        return values if self._weights is None else values * np.float32(self._weights[tree])
