"""Folds of a data set as its files lie: five parts taken in turn, folders Fold1 to FoldN, or one split."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..commands.experiment import N_PARTS, cyclic
from ..commands.part_files import five_files, part_file

DATA = "--data"
# the parts of one split, LETOR's names first
_ONE: Mapping[str, Sequence[str]] = {"train": ("train",), "vali": ("vali", "valid", "validation"), "test": ("test",)}
_SETS = ("", "set1.", "set2.")  # Yahoo's files say which of its two sets they are of
_FOLD = re.compile(r"Fold([1-9][0-9]{0,2})")


@dataclass(frozen=True)
class FoldFiles:
    """The files of one fold, none of them read yet; those to validate by may be missing if they were not asked for."""

    number: int
    train: tuple[Path, ...]
    valid: tuple[Path, ...]
    test: tuple[Path, ...]


def has_parts(folder: Path) -> bool:
    """Whether a folder has any of the parts that :func:`find_folds` knows."""
    files = [*five_files(DATA, folder, "S"), *_splits(folder).values()]
    return any(files) or any(_FOLD.fullmatch(path.name) for path in folder.iterdir())


def find_folds(folder: Path, *, validated: bool = True) -> list[FoldFiles]:
    """The folds of a folder; if they need not be validated, a split of train and test will do.

    Raises
    ------
    ValueError
        If it has neither S1 to S5, nor Fold1 to FoldN, nor train, vali and test; a fold is missing, or one of its
        files; or there are two splits in one folder, or two files of one part.
    """
    parts = [file for file in five_files(DATA, folder, "S") if file is not None]
    if len(parts) == N_PARTS:
        return [_cyclic_fold(parts, fold) for fold in range(N_PARTS)]
    folds = _numbered(folder)
    if folds:
        return [_one_fold(path, number, validated) for number, path in enumerate(folds, 1)]
    if _splits(folder):
        return [_one_fold(folder, 1, validated)]
    raise ValueError(
        f"{DATA}: {folder} must have S1.txt to S5.txt, or folders Fold1 to FoldN, or "
        f"{_listed(f'{name}.txt' for name in _needed(validated))}; each plain or with .gz"
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


def _one_fold(folder: Path, number: int, validated: bool) -> FoldFiles:
    splits = _splits(folder) or {"": {}}
    if len(splits) > 1:
        some = " and ".join(next(iter(files.values())).name for files in splits.values())
        raise ValueError(
            f"{DATA}: {folder} must have the parts of one split; {some} are there: give each a folder of its own"
        )
    [(prefix, files)] = splits.items()
    for part in _needed(validated):
        if part not in files:
            first, *others = [prefix + name for name in _ONE[part]]
            absent = f"{first} ({', '.join(f'or {name}' for name in others)})" if others else first
            wanted = _listed(prefix + name for name in _needed(validated))
            raise ValueError(f"{DATA}: {folder} must have {wanted} (.txt or .txt.gz); {absent} is not there")
    return FoldFiles(number, *((files[part],) if part in files else () for part in _ONE))


def _needed(validated: bool) -> list[str]:
    """The parts that a split must have."""
    return [part for part in _ONE if validated or part != "vali"]


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}"


def _splits(folder: Path) -> dict[str, dict[str, Path]]:
    """The files of each split that a folder has any of, by what their names begin with and by part."""
    found: dict[str, dict[str, Path]] = {}
    for prefix in _SETS:
        for part, names in _ONE.items():
            files = [file for name in names if (file := part_file(DATA, folder, prefix + name))]
            if len(files) > 1:
                one, other = files[0].name, files[1].name
                raise ValueError(f"{DATA}: {folder} must have one of {one} and {other}; both are there")
            if files:
                found.setdefault(prefix, {})[part] = files[0]
    return found
