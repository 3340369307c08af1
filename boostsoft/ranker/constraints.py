"""Constraints of features by number, as the users of either booster write them."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from ..arguments import short
from .settings import FIT


def feature_sets(given: Any) -> list[list[int]] | None:
    """Sets of features by number, as plain lists; None if they are something else."""
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
