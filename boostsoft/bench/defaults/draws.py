"""Draws of queries: 60 % to train on, 20 % to validate, 20 % to test, anew with each seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ...arguments import IntArray
from ...datasets import RankingData, load_digits_ranking, load_letor
from ..folds import find_folds, has_parts

_SHARES = (0.6, 0.8)  # where the validation and the test part begin
_TEXTS = (".txt", ".txt.gz")
_LEAST = 5  # queries, so that each part has one
_DIGITS = 60  # documents of a query of the digits, on average
_MOST_DIGITS = (1079, 200, 250)  # queries to train on at most, to validate and to test


@dataclass(frozen=True, eq=False)
class Draw:
    """A draw: three parts, and for each query of the last one a number that is its own in all draws of the set.

    Of the digits it is that of the image, whose documents are others in each draw: its queries tell less than as many
    of other images.
    """

    train: RankingData
    valid: RankingData
    test: RankingData
    tested: IntArray


@dataclass(frozen=True)
class DataSet:
    """A set that is drawn from, by seed, and what was read for it, in words."""

    name: str
    draw: Callable[[int], Draw]
    read: str = ""


def data_sets(paths: Sequence[Path], documents: int | None) -> Iterator[DataSet]:
    """The sets of these files and folders, each read when it is reached; the digit images if there are none.

    Raises
    ------
    ValueError
        At once if a folder is none of ranking data, or two sets have one name; when it is reached if a set has too few
        queries or nothing relevant.
    """
    if not paths:
        return iter([DataSet("digits", lambda seed: _digits(seed, documents))])
    found = []
    for folder in paths:
        if folder.is_dir():
            found.append((folder.resolve().name, _files_in(folder)))
    files = [path for path in paths if not path.is_dir()]
    if files:
        found.append((", ".join(path.name for path in files), files))
    names = [name for name, _ in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"--data: sets must have different names; got {twice} twice")
    return (_of_files(name, files, documents) for name, files in found)


def _of_files(name: str, files: Sequence[Path], documents: int | None) -> DataSet:
    whole = load_letor(list(files))
    if whole.n_queries < _LEAST:
        raise ValueError(f"--data: {name} must have {_LEAST} queries at least; got {whole.n_queries}")
    if whole.y.max() <= 0:
        raise ValueError(f"--data: {name} must have relevant documents; all labels are 0 or below")
    listed = ", ".join(path.name for path in files)
    read = f"Read: {listed}; {whole.n_queries:,} queries, {whole.n_docs:,} documents."
    return DataSet(name, lambda seed: _split(whole, seed, documents), read)


def _files_in(folder: Path) -> list[Path]:
    """The parts of a folder, or whatever files of text it has if none is called so."""
    if not has_parts(folder):
        plain = sorted(path for path in folder.iterdir() if path.name.endswith(_TEXTS) and path.is_file())
        if plain:
            return plain
    first = find_folds(folder, validated=False)[0]
    return [*first.train, *first.valid, *first.test]


def _split(whole: RankingData, seed: int, documents: int | None) -> Draw:
    order = np.random.default_rng(seed).permutation(whole.n_queries)
    train, valid, test = np.split(order, [round(share * whole.n_queries) for share in _SHARES])
    if documents is not None:
        train = train[: max(1, np.searchsorted(np.cumsum(whole.sizes[train]), documents, side="right"))]
    judged = _turned(whole.select_queries(valid), seed)
    return Draw(whole.select_queries(train), judged, whole.select_queries(test), test)


def _turned(data: RankingData, seed: int) -> RankingData:
    """The same with the documents of each query in an order of chance.

    Of tied scores the boosters' own NDCG takes the order of the rows: where that follows the labels, their early
    stopping keeps a tree or none.
    """
    chance = np.random.default_rng([seed, 1]).random(data.n_docs)
    rows = np.lexsort((chance, np.repeat(np.arange(data.n_queries), data.sizes)))
    return replace(data, X=data.X[rows], y=data.y[rows], qid=data.qid[rows], comments=None)


def _digits(seed: int, documents: int | None) -> Draw:
    """The task of the demo; its parts share no image."""
    most, valid, test = _MOST_DIGITS
    n_train = 300 if documents is None else min(most, max(1, documents // _DIGITS))
    parts = load_digits_ranking(seed=seed, n_queries=(n_train, valid, test))
    images = parts.test.qid[np.cumsum(parts.test.sizes) - 1]
    return Draw(parts.train, parts.valid, parts.test, images)
