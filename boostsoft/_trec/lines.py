"""The lines of one TREC file: a run, or judgements.

As in `_letor`, a file is parsed at once (17 runs, 1.5 million lines, in four seconds), and only if anything is
unusual line by line, which names the line and the text of a mistake. What the first way accepts, the second reads
alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..arguments import FloatArray, IntArray
from ..text_files import GZIP_ERRORS, INTEGER, LineError, is_gzip, number_in, read_lines, show, unzipped

_DIGITS = 9  # of a judgement at most


@dataclass(frozen=True)
class Form:
    """A kind of file: its columns, which of them is the number, and whether that is whole."""

    columns: tuple[str, ...]
    value: int
    whole: bool

    def number(self, text: bytes) -> float:
        """The number of a line; a LineError says what is wrong with it."""
        if self.whole:
            if not INTEGER.fullmatch(text) or abs(int(text)) >= 10**_DIGITS:
                raise LineError(f"the judgement must be a whole number of up to {_DIGITS} digits; got {show(text)}")
            return float(int(text))
        number = number_in(text)
        if number is None or not math.isfinite(number):
            raise LineError(f"the score must be a finite number; got {show(text)}")
        return number


RUN = Form(("topic", "Q0", "document", "rank", "score", "run"), value=4, whole=False)
QRELS = Form(("topic", "iteration", "document", "judgement"), value=3, whole=True)
_TOPIC, _DOCUMENT = 0, 2


class Codes(dict[bytes, int]):
    """Text -> number, from 0 in the order of appearance."""

    def __missing__(self, text: bytes) -> int:
        self[text] = number = len(self)
        return number

    def of(self, texts: list[bytes]) -> IntArray:
        """The number of each text."""
        return np.fromiter(map(self.__getitem__, texts), np.int64, len(texts))


class Entries(NamedTuple):
    """The lines of a file: codes of topic and document, the number, and the last column's text if all agree on it."""

    topics: IntArray
    documents: IntArray
    values: FloatArray
    tag: str | None


def read_entries(path: Path, form: Form, topics: Codes, documents: Codes, caller: str) -> Entries:
    """Read a plain or gzip file; blank lines are skipped, a document twice in a topic is a ValueError."""
    n = len(form.columns)
    content = _content(path)
    tokens = None if content is None else content.split()
    values = None if content is None or tokens is None else _parse_fast(content, tokens, form)
    rows: list[tuple[int, list[bytes]]] | None = None
    if tokens is None or values is None:
        rows = list(_careful_lines(path, form, caller))
        tokens = [field for _, fields in rows for field in fields]
        values = np.array([form.number(fields[form.value]) for _, fields in rows])
    if not tokens:
        raise ValueError(f"{caller}: {path}: no lines")
    tags = set(tokens[n - 1 :: n])
    tag = tags.pop().decode("utf-8", "backslashreplace") if len(tags) == 1 else None
    entries = Entries(topics.of(tokens[_TOPIC::n]), documents.of(tokens[_DOCUMENT::n]), values, tag)
    keys = entries.topics * len(documents) + entries.documents
    if distinct(keys).size < keys.size:
        _refuse_twice(_careful_lines(path, form, caller) if rows is None else rows, path, caller)  # a pipe is read once
    return entries


def _content(path: Path) -> bytes | None:
    """The whole text; None of a pipe, and where reading it line by line will say what is wrong."""
    if not path.is_file():
        return None
    raw = path.read_bytes()
    if path.suffix == ".gz" and not is_gzip(raw):
        return None
    try:
        return unzipped(raw)
    except GZIP_ERRORS:
        return None


def _parse_fast(text: bytes, tokens: list[bytes], form: Form) -> FloatArray | None:
    """The numbers of all lines at once, or None when any line needs the careful parser."""
    n = len(form.columns)
    numbers = tokens[form.value :: n]
    if not _all_have(n, text) or b"_" in b" ".join(numbers):
        return None  # float() would read 1_0 as 10
    try:
        values = np.fromiter(map(int if form.whole else float, numbers), np.float64, len(numbers))
    except (ValueError, OverflowError):
        return None
    fits = np.abs(values) < 10**_DIGITS if form.whole else np.isfinite(values)
    return values if fits.all() else None


def _all_have(n: int, text: bytes) -> bool:
    """Whether every line has n words, or none, by counting where words begin: splitting each takes five times it."""
    letters = np.frombuffer(text, np.uint8)
    blank = (letters == 32) | (letters - np.uint8(9) < 5)  # as bytes.split() has it
    begin = ~blank
    begin[1:] &= blank[:-1]
    words, ends = np.flatnonzero(begin), np.flatnonzero(letters == 10)
    counts = np.diff(np.searchsorted(words, ends), prepend=0, append=words.size)
    return bool(((counts == n) | (counts == 0)).all())


def _careful_lines(path: Path, form: Form, caller: str) -> Iterator[tuple[int, list[bytes]]]:
    """Line number and columns of every line, checked; a mistake is a ValueError that names the line."""
    for at, line in enumerate(read_lines(path, caller), 1):
        fields = line.split()
        if not fields:
            continue
        try:
            if len(fields) != len(form.columns):
                raise LineError(
                    f"a line must have {len(form.columns)} columns ({' '.join(form.columns)}); got {len(fields)}: "
                    f"{show(line.strip())}"
                )
            form.number(fields[form.value])
        except LineError as error:
            raise ValueError(f"{caller}: {path}, line {at}: {error}") from None
        yield at, fields


def _refuse_twice(rows: Iterable[tuple[int, list[bytes]]], path: Path, caller: str) -> None:
    """Raise for the first document that comes twice in a topic."""
    first: dict[tuple[bytes, bytes], int] = {}
    for at, fields in rows:
        topic, document = pair = fields[_TOPIC], fields[_DOCUMENT]
        if first.setdefault(pair, at) != at:
            raise ValueError(
                f"{caller}: {path}, line {at}: a document must come once in a topic; got {show(document)} of "
                f"topic {show(topic)} again; it is in line {first[pair]}"
            )


def distinct(keys: IntArray) -> IntArray:
    """Each key once, rising: NumPy's unique hashes, which takes four times as long."""
    ordered = np.sort(keys)
    found: IntArray = ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])]
    return found
