"""LightGBM's files of splits and bins to force: it passes over what it cannot read, and crashes at too many splits."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from ..arguments import short
from .settings import FIT

SPLITS = ("forcedsplits_filename", "fs", "forced_splits_filename", "forced_splits_file", "forced_splits")
BINS = "forcedbins_filename"


def refuse_files(more: Mapping[str, Any], num_leaves: int) -> None:
    """Raise if a file is none or no JSON, or if it forces splits that trees of so many leaves, or data, cannot have."""
    for name in (*SPLITS, BINS):
        path = more.get(name)
        if path and not os.path.isfile(path):  # of which LightGBM would say so in its log, and go on without
            raise ValueError(f"{FIT}: {name} in booster_params must be a file; got {path!r}")
        if path and name == BINS:
            _read(name, path)
        elif path:
            _refuse_splits(name, list(_splits(name, _read(name, path))), num_leaves)


def n_forced(more: Mapping[str, Any]) -> int:
    """How many splits files that are not refused force."""
    given = [(name, more[name]) for name in SPLITS if more.get(name)]
    return max((sum(1 for _ in _splits(name, _read(name, path))) for name, path in given), default=0)


def _refuse_splits(name: str, splits: list[Mapping[str, Any]], num_leaves: int) -> None:
    """LightGBM would write into memory that is not its own; of features it refuses only those that are too large."""
    features = [split.get("feature", 0) for split in splits]
    below = [feature for feature in features if isinstance(feature, (int, float)) and feature < 0]
    if below:
        raise ValueError(f"{FIT}: {name} in booster_params must split features counted from 0; got {below[0]}")
    if len(splits) >= num_leaves:
        raise ValueError(
            f"{FIT}: num_leaves must be at least {len(splits) + 1} for the {len(splits)} splits that {name} in "
            f"booster_params forces; got {num_leaves}"
        )


def _read(name: str, path: Any) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except ValueError as error:  # LightGBM would go on without
        raise ValueError(f"{FIT}: {name} in booster_params must be a file of JSON; got {path!r}: {error}") from error


def _splits(name: str, root: Any) -> Iterator[Mapping[str, Any]]:
    """All splits, as LightGBM counts them: the root whatever it says, others if they have a feature and a threshold."""
    if not isinstance(root, dict):
        raise ValueError(f"{FIT}: {name} in booster_params must hold a JSON object, a split; got {short(root)}")
    yield root
    for child in (root.get("left"), root.get("right")):
        if isinstance(child, dict) and {"feature", "threshold"} <= child.keys():
            yield from _splits(name, child)
