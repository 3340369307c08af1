"""Scores of fitted models, whatever they are fitted with."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arguments import FloatArray, finite_vector, short
from ..decisions import decisions


def model_scores(caller: str, models: Any, X: Any) -> FloatArray:
    """The prediction of each model for the rows of X, as columns.

    A model is anything with ``predict(X)`` that returns one score per row: a Booster or an estimator of LightGBM, an
    estimator of XGBoost or scikit-learn, a SoftRanker; or a Booster of XGBoost. Of a classifier of two classes it is
    how sure it is of the second.
    """
    return np.column_stack([_scores(caller, at, model, X) for at, model in enumerate(models)])


def check_models(caller: str, models: Any) -> None:
    """Raise unless it is a list of models."""
    if not isinstance(models, (list, tuple)) or not models:
        raise TypeError(f"{caller}: models must be a list of fitted models; got {short(models)}")
    for at, model in enumerate(models):
        if isinstance(model, type):
            raise TypeError(f"{caller}: models[{at}] must be a fitted model; got the class {model.__name__}")
        if not callable(getattr(model, "predict", None)):
            raise TypeError(f"{caller}: models[{at}] must have a method predict; got {short(model)}")


def names_of_models(models: Any) -> list[str]:
    """What they are called in messages and pictures."""
    return [f"models[{at}] ({type(model).__name__})" for at, model in enumerate(models)]


def _scores(caller: str, at: int, model: Any, X: Any) -> FloatArray:
    from sklearn.exceptions import NotFittedError  # takes a second to load

    try:
        found = _predict(model, X)
    except NotFittedError as error:
        raise NotFittedError(f"{caller}: models[{at}] must have been fitted; {error}") from error
    return finite_vector(caller, f"predictions of models[{at}]", found)


def _predict(model: Any, X: Any) -> Any:
    if hasattr(model, "inplace_predict"):  # a Booster of XGBoost predicts from a DMatrix only, but for this method
        return model.inplace_predict(X)
    decided = decisions(model, X)
    return model.predict(X) if decided is None else decided
