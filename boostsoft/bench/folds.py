"""Folds of a data set as its files lie: five parts taken in turn, folders Fold1 to FoldN, or one split."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..datasets import RankingData
from ..experiment import N_PARTS, cyclic

_FOLD = re.compile(r"Fold([1-9][0-9]{0,2})")


@dataclass(frozen=True)
class FoldFiles:
    """The files of one fold; none of them is read yet."""

    number: int
    train: tuple[Path, ...]
    valid: tuple[Path, ...]
    test: tuple[Path, ...]


def part_file(folder: Path, name: str) -> Path | None:
    """The file of that name, plain or gzip, but not both, which need not be alike."""
    found = [path for suffix in (".txt", ".txt.gz") if (path := folder / (name + suffix)).is_file()]
    if len(found) > 1:
        raise ValueError(f"--data: {folder} must have {name}.txt or {name}.txt.gz; both are there")
    return found[0] if found else None


def five_files(folder: Path, letter: str) -> list[Path] | None:
    """The five parts of a folder, ``letter`` and 1 to 5; None unless all are there."""
    files = [part_file(folder, f"{letter}{number}") for number in range(1, N_PARTS + 1)]
    found = [file for file in files if file is not None]
    return found if len(found) == N_PARTS else None


def fit_width(data: RankingData, width: int) -> RankingData:
    """The same with columns of 0 added, or without the last columns, which no training document has."""
    missing = width - data.X.shape[1]
    if missing == 0:
        return data
    X = data.X[:, :width] if missing < 0 else np.pad(data.X, ((0, 0), (0, missing)))
    return replace(data, X=np.ascontiguousarray(X), feature_names=())


def find_folds(folder: Path) -> list[FoldFiles]:
    """The folds of a folder.

    Raises
    ------
    ValueError
        If it has neither S1 to S5, nor Fold1 to FoldN, nor train, vali and test; or a fold lacks a file.
    """
    parts = five_files(folder, "S")
    if parts is not None:
        return [_cyclic_fold(parts, fold) for fold in range(N_PARTS)]
    folds = _numbered(folder)
    if folds:
        return [_one_fold(path, number) for number, path in enumerate(folds, 1)]
    if any(part_file(folder, name) for name in ("train", "vali", "test")):
        return [_one_fold(folder, 1)]
    raise ValueError(
        f"--data: {folder} must have S1.txt to S5.txt, or folders Fold1 to FoldN, or train.txt, vali.txt and "
        "test.txt; each plain or with .gz"
    )


def _cyclic_fold(parts: Sequence[Path], fold: int) -> FoldFiles:
    train, valid, test = cyclic(fold)
    return FoldFiles(fold + 1, tuple(parts[i] for i in train), (parts[valid],), (parts[test],))


def _numbered(folder: Path) -> list[Path]:
    found = {int(match[1]): path for path in folder.iterdir() if (match := _FOLD.fullmatch(path.name))}
    missing = next((number for number in range(1, max(found, default=0)) if number not in found), None)
    if missing is not None:
        raise ValueError(f"--data: {folder} must have Fold1 to Fold{max(found)}; Fold{missing} is not there")
    return [found[number] for number in sorted(found)]


def _one_fold(folder: Path, number: int) -> FoldFiles:
    files = {name: part_file(folder, name) for name in ("train", "vali", "test")}
    train, valid, test = files.values()
    if train is None or valid is None or test is None:
        absent = next(name for name, file in files.items() if file is None)
        raise ValueError(f"--data: {folder} must have train, vali and test (.txt or .txt.gz); {absent} is not there")
    return FoldFiles(number, (train,), (valid,), (test,))
