"""Scores of several models side by side: from TREC runs with judgements, or from one table of CSV or Parquet."""

from __future__ import annotations

import csv
import io
import math
import re
from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arguments import FloatArray, IntArray
from ...datasets import load_trec_runs
from ...extras import optional
from ...query_groups import places_of_ids, run_sizes
from ...text_files import GZIP_ERRORS, unzipped

PARQUET = (".parquet", ".pq")
# as pandas calls it in CSV, when it reads that, and in Parquet
_INDEX = re.compile(r"|Unnamed: [0-9]+|__index_level_[0-9]+__")
_DOCUMENT = re.compile(r"(doc|document|item|product)?[ _-]?(id|no)|doc|document|item|product|did", re.IGNORECASE)
_ROWS = 2**12  # of a table of CSV, read at once
_MISSING = {"", "na", "nan", "null", "none"}


@dataclass(frozen=True, eq=False)
class Scores:
    """What is blended.

    Attributes
    ----------
    S : (n_docs, n_models)
        NaN where a model has no score.
    y : (n_docs,)
        Labels; NaN throughout a query without a label, which is not trained on.
    qid, docid : (n_docs,)
        Query and document of each row.
    models : n_models names
    unanswered : how many queries have labels and no score at all: they are left out
    """

    S: FloatArray
    y: FloatArray
    qid: NDArray[Any]
    docid: NDArray[Any]
    models: tuple[str, ...]
    unanswered: int = 0

    @property
    def sizes(self) -> IntArray:
        """Documents per query; those of one query are adjacent."""
        return run_sizes(self.qid)

    def rows(self, chosen: NDArray[np.bool_]) -> Scores:
        """Some of the rows."""
        return Scores(self.S[chosen], self.y[chosen], self.qid[chosen], self.docid[chosen], self.models)

    def columns(self, chosen: NDArray[np.bool_]) -> Scores:
        """Some of the models."""
        models = tuple(compress(self.models, chosen.tolist()))
        return Scores(self.S[:, chosen], self.y, self.qid, self.docid, models)


@dataclass(frozen=True)
class Names:
    """The columns of a table; scores None means all others, docid None "docid" if there is one."""

    qid: str = "qid"
    label: str = "label"
    docid: str | None = None
    scores: tuple[str, ...] | None = None


def listed(names: Iterable[str]) -> str:
    """Names in a message as they are typed in an option, separated by commas."""
    return ", ".join(f'"{name}"' if "," in name else name for name in names)


def read_runs(paths: Sequence[Path], qrels: Path) -> Scores:
    """Read TREC runs with all their topics, judged or not."""
    data = load_trec_runs(list(paths), qrels=qrels, topics="all")
    judged = data.S[~np.isnan(data.y)]
    for path, scores in zip(paths, judged.T, strict=True):
        if np.isnan(scores).all():
            raise ValueError(f"blend: {path}: the run must have a topic that {qrels} judges; got none in common")
    return Scores(data.S, data.y, data.qid, data.docid, data.runs, data.unanswered)


def read_table(path: Path, names: Names) -> Scores:
    """Read a table with a row for each query and document; labels and scores may be missing.

    A missing label counts as 0 in a query that has others. Without a column of documents they are called by their
    row.
    """
    docids = names.docid or "docid"
    columns, place = _parquet(path) if path.suffix.lower() in PARQUET else _csv(path, {names.qid, docids})
    for name in (names.qid, names.label, names.docid, *(names.scores or ())):
        if name is not None and name not in columns:
            raise ValueError(f"blend: {path} must have a column {name!r}; it has {listed(columns)}")
    known = {names.qid, names.label, docids}
    _refuse_two_uses([names.qid, names.label, docids, *(names.scores or ())], path)
    models = names.scores or tuple(name for name in columns if name not in known)
    _refuse_index(columns, models, path)
    if names.scores is None:
        _refuse_documents(models, path)
    if not models:
        raise ValueError(f"blend: {path} must have columns of scores besides {listed(sorted(known))}")
    qid = _ids(columns[names.qid], names.qid, path, place)
    if docids in columns:
        docid = _ids(columns[docids], docids, path, place)
        _refuse_twice(qid, docid, path, place)
    else:
        docid = np.array([str(row) for row in range(1, qid.size + 1)], object)
    y = _numbers(columns[names.label], names.label, path, place, "--label names the column of labels")
    said = "--scores names the columns to blend"
    S = np.column_stack([_numbers(columns[name], name, path, place, said) for name in models])
    codes = places_of_ids(qid)
    order = np.argsort(codes, kind="stable")  # queries together, in the order in which they begin
    return Scores(S[order], _labels(y, codes)[order], qid[order], docid[order], models)


def _refuse_two_uses(names: Sequence[str], path: Path) -> None:
    """A label among the scores would be blended with them, and nothing would look as good."""
    for at, name in enumerate(names):
        if name in names[:at]:
            raise ValueError(
                f"blend: {path}: column {name!r} must be one of query, label, document and a score; got two"
            )


def _refuse_index(columns: Columns, models: Sequence[str], path: Path) -> None:
    """Row numbers, which pandas writes beside the columns unless told otherwise, order the documents too."""
    for at, name in enumerate(columns, 1):
        if name in models and _INDEX.fullmatch(name):
            raise ValueError(
                f"blend: {path}: column {at} has the name {name!r} of a row index: write the table with index=False, "
                "or name the columns to blend by --scores"
            )


def _refuse_documents(models: Sequence[str], path: Path) -> None:
    """Documents whose ids are numbers would be a model like the others, unless --scores says that they are."""
    for name in models:
        if _DOCUMENT.fullmatch(name):
            raise ValueError(
                f"blend: {path}: column {name!r} has the name of documents, not of scores: say --docid {name}, or "
                "name the columns to blend by --scores"
            )


Values = Sequence[Any] | NDArray[Any]
Columns = Mapping[str, Values]
Place = Callable[[int], str]


def _csv(path: Path, ids: Container[str]) -> tuple[Columns, Place]:
    """The columns, and how to name the place of a row: texts of ``ids``, numbers of what holds nothing else.

    Some rows at a time: a text takes six times what it does in the file.
    """
    tabs = path.name.lower().removesuffix(".gz").endswith(".tsv")
    lines = array("q")
    try:
        content = unzipped(path.read_bytes())
        content.decode()  # where it is none an error names the place in the file, not one in a chunk of it
        text = io.TextIOWrapper(io.BytesIO(content), "utf-8", newline="")
        reader = csv.reader(text, delimiter="\t" if tabs else ",", strict=True)
        header = [name.strip() for name in next(reader, [])]
        parts = list(_parts(reader, header, ids, lines))
    except csv.Error as error:
        raise ValueError(f"blend: {path}, line {reader.line_num}: {error}") from None
    except (UnicodeDecodeError, *GZIP_ERRORS) as error:
        raise ValueError(f"blend: {path} is not a text of UTF-8, plain or gzip: {error}") from error
    if len(set(header)) < len(header):
        raise ValueError(f"blend: {path}, line 1: columns must have different names; got {listed(header)}")
    if not lines:
        raise ValueError(f"blend: {path}: no rows")
    columns = {name: _joined(values) for name, values in zip(header, zip(*parts, strict=True), strict=True)}
    return columns, lambda row: f"line {lines[row]}"


def _parts(reader: Any, header: Sequence[str], ids: Container[str], lines: array[int]) -> Iterator[list[Values]]:
    """The columns of some rows after the others, all as wide as the header; the line of each goes to ``lines``."""
    rows: list[list[str]] = []
    for row in filter(None, reader):
        if len(row) != len(header):
            raise csv.Error(f"a line must have {len(header)} columns as the header; got {len(row)}")
        rows.append(row)
        lines.append(reader.line_num)
        if len(rows) == _ROWS:
            yield _part(header, ids, rows)
            rows = []
    if rows:
        yield _part(header, ids, rows)


def _part(header: Sequence[str], ids: Container[str], rows: Sequence[Sequence[str]]) -> list[Values]:
    """The columns of some rows."""
    found: list[Values] = []
    for name, texts in zip(header, zip(*rows, strict=True), strict=True):
        if name in ids:  # those of a query's rows are one text
            known: dict[str, str] = {}
            found.append([known.setdefault(text, text) for text in texts])
        else:
            numbers = _all_numbers(texts)
            found.append(texts if numbers is None else numbers)
    return found


def _joined(parts: Sequence[Values]) -> Values:
    """A column of its parts: an array if all are."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return [value for part in parts for value in _plain(part)]


def _parquet(path: Path) -> tuple[Columns, Place]:
    arrow, parquet = (optional("blend", name, "parquet") for name in ("pyarrow", "pyarrow.parquet"))
    try:
        with path.open("rb") as file:  # not every name that the system has is one to pyarrow
            names = parquet.read_schema(file).names
            if len(set(names)) < len(names):
                raise ValueError(f"columns must have different names; got {listed(names)}")
            table = parquet.read_table(file)
        columns = {name: _values(arrow, table.column(name)) for name in table.column_names}
    except (arrow.ArrowException, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.filename is not None:  # the system's, not pyarrow's
            raise
        raise ValueError(f"blend: cannot read {path}: {error}") from error
    if not table.num_rows:
        raise ValueError(f"blend: {path}: no rows")
    return columns, lambda row: f"row {row + 1}"


def _values(arrow: Any, column: Any) -> Values:
    """Python's own values; floats, of which there are most, as an array."""
    floats = arrow.types.is_floating(column.type)
    found: Values = column.to_numpy().astype(np.float64, copy=False) if floats else column.to_pylist()
    return found


def _plain(values: Values) -> Sequence[Any]:
    found: Sequence[Any] = values.tolist() if isinstance(values, np.ndarray) else values
    return found


def _ids(values: Values, name: str, path: Path, place: Place) -> NDArray[Any]:
    """Ids as texts: each one word, since a TREC run separates its columns by blanks."""
    plain = _plain(values)
    ids = np.empty(len(values), object)
    if set(map(type, plain)) <= {str, int}:
        ids[:] = texts = list(map(str, plain))
        if " ".join(texts).split() == texts:
            return ids
    for row, value in enumerate(plain):
        if isinstance(value, float) and value.is_integer():  # as which pandas keeps whole numbers beside missing ones
            value = int(value)
        text = value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
        ids[row] = text = "" if value is None or value != value else text.strip()
        if len(text.split()) != 1:
            raise ValueError(
                f"blend: {path}, {place(row)}: column {name!r} must have one word without blanks; got {value!r}"
            )
    return ids


def _numbers(values: Values, name: str, path: Path, place: Place, remedy: str) -> FloatArray:
    quickly = _all_numbers(values)
    if quickly is not None:
        return quickly
    numbers = np.empty(len(values))
    for row, value in enumerate(_plain(values)):
        text = value.strip() if isinstance(value, str) else value
        if text is None or (isinstance(text, str) and text.lower() in _MISSING):
            numbers[row] = math.nan
            continue
        try:
            numbers[row] = float("x" if isinstance(text, str) and "_" in text else text)  # float() would read 1_0
        except (TypeError, ValueError):
            raise ValueError(
                f"blend: {path}, {place(row)}: column {name!r} must hold numbers; got {value!r}. {remedy}"
            ) from None
        if math.isinf(numbers[row]):
            raise ValueError(f"blend: {path}, {place(row)}: column {name!r} must hold finite numbers; got {value!r}")
    return numbers


def _all_numbers(values: Values) -> FloatArray | None:
    """The numbers of a column, at once; None if that takes a closer look, or there is a mistake to name."""
    if isinstance(values, np.ndarray):
        numbers = values
    elif set(map(type, values)) == {str} and "_" not in "".join(values):  # float() would read 1_0
        try:
            numbers = np.array([float(text or "nan") for text in values])
        except ValueError:
            return None
    else:
        return None
    return None if np.isinf(numbers).any() else numbers


def _labels(y: FloatArray, codes: IntArray) -> FloatArray:
    """Missing labels as 0 in queries that have others."""
    labelled = np.bincount(codes, ~np.isnan(y)) > 0
    return np.where(np.isnan(y) & labelled[codes], 0.0, y)


def _refuse_twice(qid: NDArray[Any], docid: NDArray[Any], path: Path, place: Place) -> None:
    first: dict[tuple[str, str], int] = {}
    for row, pair in enumerate(zip(qid.tolist(), docid.tolist(), strict=True)):
        if first.setdefault(pair, row) != row:
            raise ValueError(
                f"blend: {path}, {place(row)}: a document must come once in a query; got {pair[1]!r} of query "
                f"{pair[0]!r} again; it is in {place(first[pair])}"
            )
