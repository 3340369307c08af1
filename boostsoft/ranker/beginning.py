"""Where a training starts: with no tree, or with those of another model."""

from __future__ import annotations

import os
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..arguments import short
from ..extras import reason
from ..frames import is_frame
from .features import Encoder
from .settings import FIT
from .training import Trees


def beginning(own: Any, X: Any, init_model: Any, trees: Trees, encoder: Encoder) -> tuple[Any, Encoder]:
    """The booster to continue, if any, and what encodes X: for a ranker, of the class ``own``, its own encoder."""
    if init_model is None:
        return None, encoder
    if isinstance(init_model, own):
        check_is_fitted(init_model, msg=f"{FIT}: init_model must have been fitted; this %(name)s is not")
        theirs: Encoder = init_model._encoder
        if (theirs.names, theirs.qid_column) != (encoder.names, encoder.qid_column):
            raise ValueError(f"{FIT}: init_model must have been fitted on the columns of X, in their order")
        init_model, encoder = init_model.booster_, theirs
    elif encoder.categories:
        raise ValueError(
            f"{FIT}: X has columns of categories, whose codes only a SoftRanker remembers: give it as init_model; "
            f"got {type(init_model).__name__}"
        )
    start = _load(trees, init_model)
    if start is None:
        raise TypeError(
            f"{FIT}: init_model must be a SoftRanker, a Booster of {trees.NAME}, an estimator that has one or a "
            f"file; got {short(init_model)}"
        )
    if not encoder.categories and "c" in (getattr(start, "feature_types", None) or ()):  # XGBoost's
        raise ValueError(
            f"{FIT}: init_model must have been trained without categories, whose codes only a SoftRanker remembers; "
            f"got {type(init_model).__name__}"
        )
    # LightGBM would take numbers for codes
    if is_frame(X) and not encoder.categories and getattr(start, "pandas_categorical", None):
        raise ValueError(
            f"{FIT}: init_model must know no categories by name, since X is a frame of numbers: continue a SoftRanker "
            f"that was fitted on categories; got {type(init_model).__name__}"
        )
    return start, encoder


def _load(trees: Trees, init_model: Any) -> Any:
    if not isinstance(init_model, (str, os.PathLike)):
        return trees.load(init_model)
    if not os.path.isfile(init_model):
        raise FileNotFoundError(f"{FIT}: init_model must be a model or an existing file; got {str(init_model)!r}")
    try:
        return trees.load(init_model)
    except Exception as error:
        if str(error).startswith(FIT):  # ours, of a model that cannot be continued
            raise
        raise ValueError(
            f"{FIT}: init_model must be a file that {trees.NAME} has written; got {str(init_model)!r}: {reason(error)}"
        ) from error
