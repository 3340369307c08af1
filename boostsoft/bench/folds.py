"""Folds of a data set as its files lie: five parts taken in turn, folders Fold1 to FoldN, or one split."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..experiment import N_PARTS, cyclic
from ..part_files import five_files, part_file

DATA = "--data"
_ONE = ("train", "vali", "test")  # the parts of one split
_FOLD = re.compile(r"Fold([1-9][0-9]{0,2})")


@dataclass(frozen=True)
class FoldFiles:
    """The files of one fold; none of them is read yet."""

    number: int
    train: tuple[Path, ...]
    valid: tuple[Path, ...]
    test: tuple[Path, ...]


def has_parts(folder: Path) -> bool:
    """Whether a folder has one of the parts that :func:`find_folds` knows, so that it lacks the others, if any."""
    files = five_files(DATA, folder, "S") + [part_file(DATA, folder, name) for name in _ONE]
    return any(files) or any(_FOLD.fullmatch(path.name) for path in folder.iterdir())


def find_folds(folder: Path) -> list[FoldFiles]:
    """The folds of a folder.

    Raises
    ------
    ValueError
        If it has neither S1 to S5, nor Fold1 to FoldN, nor train, vali and test; or a fold lacks a file.
    """
    parts = [file for file in five_files(DATA, folder, "S") if file is not None]
    if len(parts) == N_PARTS:
        return [_cyclic_fold(parts, fold) for fold in range(N_PARTS)]
    folds = _numbered(folder)
    if folds:
        return [_one_fold(path, number) for number, path in enumerate(folds, 1)]
    if any(part_file(DATA, folder, name) for name in _ONE):
        return [_one_fold(folder, 1)]
    raise ValueError(
        f"{DATA}: {folder} must have S1.txt to S5.txt, or folders Fold1 to FoldN, or train.txt, vali.txt and "
        "test.txt; each plain or with .gz"
    )


def _cyclic_fold(parts: Sequence[Path], fold: int) -> FoldFiles:
    train, valid, test = cyclic(fold)
    return FoldFiles(fold + 1, tuple(parts[i] for i in train), (parts[valid],), (parts[test],))


def _numbered(folder: Path) -> list[Path]:
    found = {int(match[1]): path for path in folder.iterdir() if (match := _FOLD.fullmatch(path.name))}
    missing = next((number for number in range(1, max(found, default=0)) if number not in found), None)
    if missing is not None:
        raise ValueError(f"{DATA}: {folder} must have Fold1 to Fold{max(found)}; Fold{missing} is not there")
    return [found[number] for number in sorted(found)]


def _one_fold(folder: Path, number: int) -> FoldFiles:
    files = {name: part_file(DATA, folder, name) for name in _ONE}
    train, valid, test = files.values()
    if train is None or valid is None or test is None:
        absent = next(name for name, file in files.items() if file is None)
        raise ValueError(f"{DATA}: {folder} must have train, vali and test (.txt or .txt.gz); {absent} is not there")
    return FoldFiles(number, (train,), (valid,), (test,))
