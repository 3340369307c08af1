"""Scores of CatBoost's models, and of others with staged_predict, after each of their trees."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy import special

from ..arguments import FloatArray, finite_vector
from ..stages.blocks import refuse_no_trees, refuse_other_width


def of_catboost(caller: str, model: Any, X: Any) -> tuple[int, Iterator[FloatArray]]:
    """The number of trees, and the raw scores after 0, 1, 2, ... of them."""
    n_trees = int(model.tree_count_ or 0)
    refuse_no_trees(caller, n_trees)
    refuse_other_width(caller, X, len(model.feature_names_))
    # the base class's: those of rankers take no type, and those of classifiers give classes
    base = sys.modules["catboost"].CatBoost
    staged = base.staged_predict(model, X, prediction_type="RawFormulaVal")
    return n_trees, _after(caller, np.zeros(X.shape[0]), staged)


def of_estimator(caller: str, model: Any, X: Any) -> tuple[None, Iterator[FloatArray]]:
    """The scores after 0, 1, 2, ... trees of a model with staged_predict; of a classifier, its decisions.

    Before the first tree all documents score alike, unless the model says what it starts from (scikit-learn's
    ``init_``).
    """
    n_features = getattr(model, "n_features_in_", None)
    if n_features is not None:
        refuse_other_width(caller, X, int(n_features))
    decides = hasattr(model, "staged_decision_function")
    stages = model.staged_decision_function(X) if decides else model.staged_predict(X)
    return None, _after(caller, _start(model, X, decides), stages)


def _start(model: Any, X: Any, decides: bool) -> FloatArray:
    """What scikit-learn's gradient boosting starts from: its ``init_``, an estimator or "zero"; 0 for other models."""
    first: Any = getattr(model, "init_", None)
    if decides and hasattr(first, "predict_proba"):
        chances = first.predict_proba(X)
        if chances.shape[1] == 2:
            smallest = np.finfo(np.float64).eps
            odds: FloatArray = special.logit(np.clip(chances[:, 1], smallest, 1.0 - smallest))
            return odds / 2.0 if model.loss == "exponential" else odds
    elif not decides and hasattr(first, "predict"):
        return np.asarray(first.predict(X))
    return np.zeros(X.shape[0])


def _after(caller: str, start: Any, staged: Iterable[Any]) -> Iterator[FloatArray]:
    """The start and the stages, checked: one finite score per document, in memory of its own."""
    n_docs, n_trees = len(start), 0
    yield np.array(start, dtype=np.float64)
    for n_trees, scores in enumerate(staged, start=1):
        found = np.asarray(scores)
        if found.size != n_docs:
            raise ValueError(f"{caller}: model must have one score per document, {n_docs}; got shape {found.shape}")
        yield finite_vector(caller, f"scores after {n_trees} trees", np.array(found.reshape(n_docs)))
    refuse_no_trees(caller, n_trees)
