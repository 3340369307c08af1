"""Data sets and their folds: training and validation parts for the search, test parts only when it is over."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from ...commands.part_files import equally_wide, fit_width
from ...datasets import RankingData, load_letor
from ..folds import FoldFiles, find_folds

_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")
_CHUNK = 1 << 20
_ORDER = 1_000_003  # keeps the orders of the seeds apart from the draws of the search


@dataclass(frozen=True)
class DataSet:
    """A folder of ranking data: its name and its folds."""

    name: str
    folder: Path
    folds: Sequence[FoldFiles]


def find_sets(folders: Sequence[Path], most: int | None = None) -> list[DataSet]:
    """The data sets of these folders, with so many folds at most.

    Raises
    ------
    ValueError
        If there is no such folder, two have one name, or the files are not there.
    """
    sets: list[DataSet] = []
    for folder in folders:
        if not folder.is_dir():
            raise ValueError(f"--data: there is no folder {folder}")
        name = folder.resolve().name
        if name in (found.name for found in sets):
            raise ValueError(f"--data: folders must have different names; got {name} twice")
        sets.append(DataSet(name, folder, find_folds(folder)[:most]))
    return sets


class Latest(Generic[_Given, _Made]):
    """A function whose last result is kept, and let go before the next is made: there may be memory for one alone.

    >>> ones = Latest(np.ones)
    >>> ones(2) is ones(2)
    True
    >>> ones(2, dtype=int).dtype == ones(2, dtype=float).dtype
    False
    """

    def __init__(self, make: Callable[_Given, _Made]) -> None:
        self._make = make
        self._kept: dict[Hashable, _Made] = {}

    def __call__(self, *args: _Given.args, **kwargs: _Given.kwargs) -> _Made:
        """What it makes of these."""
        key = (args, tuple(kwargs.items()))
        if key not in self._kept:
            self.forget()
            self._kept[key] = self._make(*args, **kwargs)
        return self._kept[key]

    def forget(self) -> None:
        """Let it go."""
        self._kept.clear()


@Latest
def training_data(files: FoldFiles) -> tuple[RankingData, RankingData]:
    """Training and validation part of a fold, equally wide."""
    train, valid = load_letor(list(files.train)), load_letor(list(files.valid))
    for part, paths in ((train, files.train), (valid, files.valid)):
        _refuse_irrelevant(part, paths)
    _refuse_shared(train, files.train, valid, files.valid)
    train, valid = equally_wide([train, valid])
    return train, valid


def reordered(files: FoldFiles, seed: int) -> RankingData:
    """The training part with its queries in the seed's order, made anew for each run: none takes another's binning."""
    train, _ = training_data(files)
    return train.select_queries(np.random.default_rng([seed, files.number, _ORDER]).permutation(train.n_queries))


@Latest
def prepared(make: Callable[..., tuple[Any, Any]], *given: Any) -> tuple[Any, Any]:
    """What a library makes of the two parts, for all runs on the same rows."""
    return make(*given)


@Latest
def test_data(files: FoldFiles) -> RankingData:
    """The test part of a fold, as wide as its training part."""
    test = load_letor(list(files.test))
    _refuse_irrelevant(test, files.test)
    train, valid = training_data(files)
    for part, paths in ((train, files.train), (valid, files.valid)):
        _refuse_shared(part, paths, test, files.test)
    return fit_width(test, train.X.shape[1])


def _refuse_irrelevant(part: RankingData, paths: Sequence[Path]) -> None:
    """Raise if all rankings of a part are as good."""
    if part.y.max() <= 0:
        raise ValueError(f"bench quality: {paths[0]} must have relevant documents; all labels are 0 or below")


def _refuse_shared(one: RankingData, ones: Sequence[Path], other: RankingData, others: Sequence[Path]) -> None:
    """Raise if two parts have a query in common, which would be learnt by heart."""
    shared = {*map(str, np.unique(one.qid))} & {*map(str, np.unique(other.qid))}
    if shared:
        raise ValueError(
            f"bench quality: query {min(shared)} is in {', '.join(map(str, ones))} and in "
            f"{', '.join(map(str, others))}; parts must have queries of their own"
        )


def fingerprints(sets: Iterable[DataSet], *parts: str) -> dict[str, dict[str, str]]:
    """SHA-256 of the files of some parts ("train", "valid", "test"), by data set and name within its folder."""
    return {found.name: _set_fingerprints(found, parts) for found in sets}


def _set_fingerprints(found: DataSet, parts: Sequence[str]) -> dict[str, str]:
    files = sorted({path for fold in found.folds for part in parts for path in getattr(fold, part)})
    return {path.relative_to(found.folder).as_posix(): _sha256(path) for path in files}


def _sha256(path: Path) -> str:
    whole = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            whole.update(chunk)
    return whole.hexdigest()
