"""Runs side by side: one row for each topic and document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ..arguments import FloatArray, IntArray, written
from ..choices import Pool, Topics
from ..progress import bar_of_files
from ..query_groups import run_sizes
from ..text_files import as_ids, id_texts
from .lines import QRELS, RUN, Codes, Entries, distinct, read_entries

Mask = NDArray[np.bool_]

POOLS = get_args(Pool)
TOPICS = get_args(Topics)


@dataclass(frozen=True, eq=False, repr=False)
class TrecRuns:
    """The scores that several systems gave to the documents of the same topics.

    Attributes
    ----------
    S : ndarray of shape (n_docs, n_runs), float64
        Scores as the runs have them, higher is better; np.nan where a run has not retrieved the document.
    y : ndarray of shape (n_docs,), float64
        Labels; np.nan throughout a topic without a judgement.
    qid : ndarray of shape (n_docs,), int64 or str
        Topic of each row; rows of a topic are adjacent. Texts if any is no number or, as 051, not
        written as numbers are.
    docid : ndarray of shape (n_docs,), object
        Document of each row, rising within a topic.
    runs : tuple of n_runs str
        What the runs are called.
    judged : ndarray of shape (n_docs,), bool
        Whether somebody has judged the document.
    unanswered : int
        How many topics are judged of which no run has a document: they are left out.
    """

    S: NDArray[np.float64]
    y: NDArray[np.float64]
    qid: NDArray[Any]
    docid: NDArray[Any]
    runs: tuple[str, ...]
    judged: NDArray[np.bool_]
    unanswered: int

    def __repr__(self) -> str:
        return f"TrecRuns(n_queries={self.sizes.size}, n_docs={self.y.size}, n_runs={len(self.runs)})"

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Documents per topic, in row order."""
        return run_sizes(self.qid)


class Keys:
    """One number for each topic and document, which sorts by topic, then by document."""

    def __init__(self, topics: Codes, documents: Codes) -> None:
        self.ids, self._topic_place = _sorted_topics(list(topics))
        self.names, self._document_place = _sorted_documents(list(documents))

    def of(self, entries: Entries) -> IntArray:
        """The key of each line."""
        return self._topic_place[entries.topics] * len(self.names) + self._document_place[entries.documents]

    def topics(self, keys: IntArray) -> IntArray:
        """The topic of each key, a place among ``ids``."""
        return keys // len(self.names)

    def documents(self, keys: IntArray) -> IntArray:
        """The document of each key, a place among ``names``."""
        return keys % len(self.names)


def read_table(
    paths: Sequence[Path], qrels: Path | None, caller: str, *, pool: str, topics: str, unjudged: float, progress: Any
) -> TrecRuns:
    """Read runs, and judgements if there are any, into one row for each topic and document."""
    topic_codes, document_codes = Codes(), Codes()
    with bar_of_files(caller, paths if qrels is None else [*paths, qrels], progress) as tell:
        runs = []
        for done, path in enumerate(paths, 1):
            runs.append(read_entries(path, RUN, topic_codes, document_codes, caller))
            tell(done, 0)
        n_retrieved = len(topic_codes)
        lines = None if qrels is None else read_entries(qrels, QRELS, topic_codes, document_codes, caller)
    keys = Keys(topic_codes, document_codes)
    known = [keys.of(entries) for entries in runs]
    rows = distinct(np.concatenate(known))
    judged_topics, asked, labels = np.zeros(len(keys.ids), np.bool_), np.zeros(0, np.int64), np.zeros(0)
    unanswered = len(topic_codes) - n_retrieved  # which only the judgements name
    if lines is not None:
        kept = lines.topics < n_retrieved  # topics of which no run has a document are left out
        asked, labels = keys.of(lines)[kept], lines.values[kept]
        labels = np.where(labels < 0, min(unjudged, 0.0), labels)
        judged_topics[keys.topics(asked)] = True
        if topics == "judged":
            rows = rows[judged_topics[keys.topics(rows)]]
            if rows.size == 0:
                raise ValueError(f"{caller}: {qrels} must judge a topic of the runs; got none in common")
        if pool == "judged":
            rows = distinct(np.concatenate([rows, asked]))
    topic = keys.topics(rows)
    y, judged = np.where(judged_topics[topic], unjudged, np.nan), np.zeros(rows.size, np.bool_)
    at, found = _places(rows, asked)
    y[at], judged[at] = labels[found], True
    run_names = name_runs(paths, [entries.tag for entries in runs], caller)
    return TrecRuns(
        _side_by_side(rows, known, runs), y, keys.ids[topic], keys.names[keys.documents(rows)], run_names, judged,
        unanswered,
    )  # fmt: skip


def _side_by_side(rows: IntArray, known: Sequence[IntArray], runs: Sequence[Entries]) -> FloatArray:
    """A column of scores for each run, NaN where it has none."""
    S = np.full((rows.size, len(runs)), np.nan, order="F")
    for column, (entries, key) in enumerate(zip(runs, known, strict=True)):
        at, found = _places(rows, key)
        S[at, column] = entries.values[found]
    return S


def _places(rows: IntArray, keys: IntArray) -> tuple[IntArray, Mask]:
    """Where keys are among the sorted rows, and which of them are."""
    at = np.minimum(np.searchsorted(rows, keys), rows.size - 1)
    found: Mask = rows[at] == keys
    return at[found], found


def _sorted_topics(texts: list[bytes]) -> tuple[NDArray[Any], IntArray]:
    """Topic ids in order, and the place of each code in it; as numbers if that is how all of them are written.

    051 stays a text: written as 51 it would be a topic that no judgement knows.
    """
    names, ids = id_texts(texts), as_ids(texts)
    order = np.lexsort((names, ids))
    alike = bool((ids.astype(np.str_) == names).all())
    return (ids if alike else names)[order], inverse(order)


def _sorted_documents(texts: list[bytes]) -> tuple[NDArray[Any], IntArray]:
    """Document ids in order, as objects: one long id would widen an array of strings for all."""
    order = np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)
    names = np.empty(len(texts), object)
    names[:] = [texts[code].decode("utf-8", "backslashreplace") for code in order.tolist()]
    return names, inverse(order)


def inverse(order: NDArray[Any]) -> IntArray:
    """Where each number is in an order of them."""
    places = np.empty(order.size, np.int64)
    places[order] = np.arange(order.size)
    return places


def name_runs(paths: Sequence[Path], tags: Sequence[str | None], caller: str) -> tuple[str, ...]:
    """What to call the runs: their tag, or the file's name where a file has several or two files have the same."""
    files = [written(path.name.removesuffix(".gz")) for path in paths]
    names = [file if tag is None or list(tags).count(tag) > 1 else tag for file, tag in zip(files, tags, strict=True)]
    for at, name in enumerate(names):
        if name in names[:at]:
            raise ValueError(
                f"{caller}: runs must differ in their tag or their file's name; got {name!r} of "
                f"{paths[names.index(name)]} and {paths[at]}"
            )
    return tuple(names)
