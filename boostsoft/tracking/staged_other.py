"""Scores of CatBoost's models, and of others with staged_predict, after each of their trees."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..arguments import FloatArray, finite_vector
from .blocks import refuse_no_trees, refuse_other_width


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
    if hasattr(model, "staged_decision_function"):
        return None, _after(caller, np.zeros(X.shape[0]), model.staged_decision_function(X))
    first: Any = getattr(model, "init_", None)  # an estimator, "zero" or nothing
    start = first.predict(X) if hasattr(first, "predict") else np.zeros(X.shape[0])
    return None, _after(caller, start, model.staged_predict(X))


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
