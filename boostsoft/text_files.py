"""What readers of text files share: paths, lines of plain and gzip files, numbers and ids in them, errors by line."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from .arguments import PathLike, as_file, short, written

_TOLD = 2048  # lines
_UTF8 = b"\xef\xbb\xbf"
INTEGER = re.compile(rb"[+-]?[0-9]{1,99}")  # int() itself refuses thousands of digits
GZIP_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile)  # of data that are damaged or cut short
_UNREAD = {b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "Zstandard"}  # by their first bytes


class LineError(ValueError):
    """What is wrong with one line; the caller adds which file and line it is."""


def as_paths(caller: str, argument: str, paths: PathLike | Iterable[PathLike] | None) -> list[Path]:
    """The paths of one file, several, or none, as a list: all are looked for before any is read."""
    if paths is None:
        return []
    several = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    if not isinstance(several, Iterable):
        raise TypeError(f"{caller}: {argument} must be a path or several; got {short(several)}")
    return [as_file(caller, argument, path) for path in several]


def printable(text: str) -> str:
    r"""Return a text for a terminal, with what would steer it, and what is no text, written out; line ends stay.

    >>> print(printable("a\x1b[31mb"))
    a\x1b[31mb
    """
    return "".join(repr(sign)[1:-1] if category(sign) == "Cc" and sign != "\n" else sign for sign in written(text))


def show(text: bytes) -> str:
    """Return bytes as a quoted string that fits an error message."""
    shown = text.decode("utf-8", "backslashreplace")
    return repr(shown if len(shown) <= 60 else shown[:57] + "...")


def is_gzip(head: bytes) -> bool:
    """Whether a file that begins like this is gzip: by content, so that the name does not matter."""
    return head[:2] == b"\x1f\x8b"


def unzipped(content: bytes) -> bytes:
    """The text of a plain or gzip file without a mark of UTF-8; one of ``GZIP_ERRORS`` if gzip cannot read it."""
    return (gzip.decompress(content) if is_gzip(content) else content).removeprefix(_UTF8)


def read_lines(path: Path, caller: str, tell: Callable[[int], None] | None = None) -> Iterator[bytes]:
    """Yield the lines of a plain or gzip file; what gzip cannot read is a ValueError with the line.

    ``tell`` hears now and then how many bytes of the file have been read.
    """
    number = 0
    with path.open("rb") as raw:
        zipped = is_gzip(raw.peek(2))
        other = next((kind for head, kind in _UNREAD.items() if raw.peek(len(head)).startswith(head)), None)
        if other is not None:
            raise ValueError(f"{caller}: {path} is compressed by {other}; plain text and gzip are read")
        if path.suffix == ".gz" and not zipped and raw.peek(1):
            raise ValueError(f"{caller}: {path}, line 1: the name ends in .gz but the content is not gzip")
        lines = gzip.GzipFile(fileobj=raw) if zipped else raw  # another buffer would lose lines to an error
        told = tell if raw.seekable() else None  # a pipe has no place
        try:
            for number, line in enumerate(lines, 1):
                yield line.removeprefix(_UTF8) if number == 1 else line
                if told is not None and number % _TOLD == 0:
                    told(raw.tell())
        except GZIP_ERRORS as error:
            raise ValueError(
                f"{caller}: {path}, line {number + 1}: the gzip data are damaged or cut short: {error}"
            ) from error


def number_in(token: bytes) -> float | None:
    """Return a number (inf and nan included), None for anything else."""
    try:
        return None if b"_" in token else float(token)
    except ValueError:
        return None


def as_ids(qids: list[bytes]) -> NDArray[Any]:
    """Return int64 when every id is an integer that fits, else strings."""
    if all(map(INTEGER.fullmatch, qids)):
        whole = [int(qid) for qid in qids]
        if all(-(2**63) <= number < 2**63 for number in whole):
            return np.array(whole, np.int64)
    return id_texts(qids)


def id_texts(ids: list[bytes]) -> NDArray[np.str_]:
    """Return strings; a zero byte, which NumPy would drop from the end of one, is written out as what is no UTF-8."""
    return np.array([text.replace(b"\0", b"\\x00").decode("utf-8", "backslashreplace") for text in ids], np.str_)
