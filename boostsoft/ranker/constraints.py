"""Constraints of features by number, as the users of either booster write them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arguments import short
from .settings import FIT


def feature_sets(given: Any) -> list[list[int]] | None:
    """Sets of features by number, as plain lists, of LightGBM's and XGBoost's texts too; None if they are others."""
    if isinstance(given, str):
        with contextlib.suppress(json.JSONDecodeError):
            given = json.loads(given if given.strip().startswith("[[") else f"[{given}]")
    if not isinstance(given, (list, tuple)):
        return None
    sets = [list(one) for one in given if isinstance(one, (list, tuple, set, frozenset, np.ndarray))]
    if len(sets) < len(given) or not all(isinstance(at, (int, np.integer)) for one in sets for at in one):
        return None
    return [[int(at) for at in one] for one in sets]


def monotone_signs(name: str, given: Any) -> list[int]:
    """Whether scores rise, 1, or fall, -1, with each feature; ``name`` is what the booster calls the parameter.

    Of LightGBM's own "1,0,-1" and XGBoost's "(1,0,-1)", too: LightGBM takes "(1" and any word for 0 without telling.
    """
    listed = given.strip("()[] ") if isinstance(given, str) else given
    if isinstance(listed, str):
        listed = listed.split(",") if listed else []
    signs = np.full(1, np.nan)
    with contextlib.suppress(TypeError, ValueError):  # the words, and what is no sequence
        signs = np.atleast_1d(np.asarray(listed, dtype=np.float64))
    if signs.ndim != 1 or not np.isin(signs, (-1, 0, 1)).all():
        raise ValueError(
            f"{FIT}: {name} in booster_params must be -1, 0 or 1 for each feature, such as [1, 0, -1]; got "
            f"{short(given)}"
        )
    return [int(sign) for sign in signs]


def refuse_other_sets(name: str, sets: Sequence[Sequence[int]], n_features: int) -> None:
    """Raise if a set holds a feature that there is not."""
    for feature in (at for one in sets for at in one):
        if not 0 <= feature < n_features:
            raise ValueError(
                f"{FIT}: {name} in booster_params must be of the features of X, from 0 to {n_features - 1}; got "
                f"{feature}"
            )


def refuse_other_length(name: str, given: Any, n_features: int) -> None:
    """Raise if a list, or a text with commas, has not a number for each feature; none at all says nothing."""
    length = sum(bool(part.strip()) for part in given.split(",")) if isinstance(given, str) else np.size(given)
    if length not in (0, n_features):
        raise ValueError(
            f"{FIT}: {name} in booster_params must have a number for each of the {n_features} features of X; got "
            f"{length}"
        )
