"""A booster's own callbacks in ``fit``."""

from __future__ import annotations

from typing import Any

from ..arguments import short
from .settings import FIT, Settings
from .training import Trees


def read_callbacks(settings: Settings, trees: Trees, given: Any) -> tuple[Any, ...]:
    """The callbacks, checked: they know one booster, whose trees follow each other in one curve."""
    if given is None:
        return ()
    if not isinstance(given, (list, tuple)) or not all(map(trees.is_callback, given)):
        raise TypeError(f"{FIT}: callbacks must be a list of {trees.CALLBACKS}; got {short(given)}")
    if given and settings.n_boosters != 1:
        raise ValueError(
            f"{FIT}: callbacks follow the trees of one booster: set n_boosters=1; got {settings.n_boosters} boosters"
        )
    return tuple(given)
