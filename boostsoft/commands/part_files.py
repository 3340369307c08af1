"""The parts of a data set as LETOR's folders name them, each a plain or gzip file, brought to one width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..datasets import RankingData
from .experiment import N_PARTS


def part_file(option: str, folder: Path, name: str) -> Path | None:
    """The file of that name, plain or gzip, but not both, which need not be alike."""
    found = [path for suffix in (".txt", ".txt.gz") if (path := folder / (name + suffix)).is_file()]
    if len(found) > 1:
        raise ValueError(f"{option}: {folder} must have {name}.txt or {name}.txt.gz; both are there")
    return found[0] if found else None


def five_files(option: str, folder: Path, letter: str) -> list[Path | None]:
    """The five parts of a folder, ``letter`` and 1 to 5; None in place of one that is not there."""
    return [part_file(option, folder, f"{letter}{number}") for number in range(1, N_PARTS + 1)]


def fit_width(data: RankingData, width: int) -> RankingData:
    """The same with columns of 0 added, or without the last columns, which no training document has."""
    missing = width - data.X.shape[1]
    if missing == 0:
        return data
    X = data.X[:, :width] if missing < 0 else np.pad(data.X, ((0, 0), (0, missing)))
    return replace(data, X=np.ascontiguousarray(X), feature_names=())


def equally_wide(parts: Sequence[RankingData]) -> list[RankingData]:
    """The parts with columns of 0 where the last features occur in other files only."""
    width = max(part.X.shape[1] for part in parts)
    return [fit_width(part, width) for part in parts]
