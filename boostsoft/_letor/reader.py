"""Chunk after chunk and file after file, and the arrays of all of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..kernels.processors import CGROUPS, granted_memory
from ..text_files import as_ids, read_lines, show
from . import arrow
from .chunk import Block, parse_careful, parse_fast, together
from .lines import Lines, without_comments

# Lines per chunk: 2,048 lines of 136 features are 2 MB of text; 8,192 were 10 % slower, 256 no faster.
CHUNK_LINES = 2048
# Documents of a file from which on it pays to import Arrow, a quarter of a second.
MANY_LINES = 10_000
# Bytes of values put into one block: so many go back to the system when they are freed, 2 MB of a chunk would not.
TOGETHER = 2**26
NAME_BYTES = 80  # of a feature's name in RankingData: more than its column, of ten documents or fewer


class Run(NamedTuple):
    """Adjacent documents with the same query id, and the place where they begin."""

    qid: bytes
    path: Path
    line: int
    size: int


class Widest(NamedTuple):
    """The largest feature index, 0 if there is none, and the line that has it."""

    largest: int
    path: Path | None
    line: int


class Reader:
    """Collects the blocks, runs and comments of the files that `read` is given one after another."""

    def __init__(self, caller: str, *, with_qid: bool, n_features: int | None, comments: bool, dtype: Any) -> None:
        self.caller, self.with_qid, self.n_features, self.dtype = caller, with_qid, n_features, np.dtype(dtype)
        self.blocks: list[Block] = []
        self.chunks: list[Block] = []  # the last ones, not put together yet
        self.runs: list[Run] = []
        self._first: dict[bytes, Run] = {}
        self.widest = Widest(0, None, 0)
        self.comments: list[str] | None = [] if comments else None

    def read(self, path: Path, tell: Callable[[int], None] | None = None) -> int:
        """Read one file and return its number of documents; ``tell`` hears how many bytes have been read."""
        source = read_lines(path, self.caller, tell)
        first, n_docs = 1, 0
        while chunk := list(islice(source, CHUNK_LINES)):
            lines = without_comments(chunk, first, f"{self.caller}: {path}")
            first += len(chunk)
            n_docs += len(lines.bodies)
            if lines.bodies:
                self._add(lines, path, by_arrow=n_docs >= MANY_LINES and arrow.available())
        if n_docs == 0:
            n_lines = "1 line" if first == 2 else f"{first - 1} lines"
            raise ValueError(f"{self.caller}: {path}: no documents in {n_lines}")
        return n_docs

    def _add(self, lines: Lines, path: Path, *, by_arrow: bool) -> None:
        block = parse_fast(lines.bodies, self.with_qid, self.n_features, by_arrow=by_arrow)
        if block is None:
            place = f"{self.caller}: {path}"
            block = parse_careful(lines, self.with_qid, self.n_features, place)
        values = self._narrowed(block, lines, path)
        self.chunks.append(block._replace(qids=[], values=values))
        if sum(chunk.values.nbytes for chunk in self.chunks) >= TOGETHER:
            self._put_together()
        width, document = _widest(block)
        if width > self.widest.largest:
            self.widest = Widest(width, path, lines.numbers[document])
        if self.with_qid:
            self._add_runs(block.qids, lines.numbers, path)
        if self.comments is not None:
            self.comments += [text.strip().decode("utf-8", "backslashreplace") for text in lines.comments]

    def _narrowed(self, block: Block, lines: Lines, path: Path) -> NDArray[Any]:
        """The values in the type asked for; one that is infinite there is a ValueError."""
        with np.errstate(over="ignore"):
            values = block.values.astype(self.dtype, copy=False)
        infinite = np.isinf(values)
        if infinite.any():
            at = int(infinite.argmax())
            raise ValueError(
                f"{self.caller}: {path}, line {lines.numbers[_document_of(block, at)]}: a feature must be finite as "
                f"{self.dtype}; got {block.values[at]!s} (dtype=np.float64 holds it)"
            )
        return values

    def _put_together(self) -> None:
        self.blocks += together(self.chunks)
        self.chunks.clear()

    def _add_runs(self, qids: list[bytes], numbers: list[int], path: Path) -> None:
        start = 0
        for i in range(1, len(qids) + 1):
            if i == len(qids) or qids[i] != qids[start]:
                self._add_run(Run(qids[start], path, numbers[start], i - start))
                start = i

    def _add_run(self, run: Run) -> None:
        """One that comes back is told at once; ``queries`` knows which other texts are the same number."""
        first = self._first.setdefault(run.qid, run)
        if first is not run and self.runs[-1].qid != run.qid:
            self._refuse_return(first, run)
        self.runs.append(run)

    def arrays(self, absent: float) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return X (n_docs, n_features) and the labels; the blocks are freed as X is filled."""
        self._put_together()
        width = self.widest.largest if self.n_features is None else self.n_features
        y = np.concatenate([block.y for block in self.blocks])
        self._refuse_too_large(len(y), width)
        X = np.empty((len(y), width), self.dtype)
        end = 0
        self.blocks.reverse()
        while self.blocks:
            block = self.blocks.pop()
            start, end = end, end + len(block.y)
            if block.columns is None:
                n_first = int(block.counts[0])
                X[start:end, :n_first] = block.values.reshape(end - start, n_first)
                X[start:end, n_first:] = absent
            else:
                X[start:end] = absent
                X[np.repeat(np.arange(start, end), block.counts), block.columns - 1] = block.values
        return X, y

    def _refuse_too_large(self, n_docs: int, width: int) -> None:
        """A system may promise memory that it has not, and end the process when it is written to."""
        size, available = (self.dtype.itemsize * n_docs + NAME_BYTES) * width, available_memory()
        if available is None:
            return
        available += sum(block.values.nbytes for block in self.blocks)  # which are freed meanwhile
        if size <= available:
            return
        wide = f"{self.widest.path}, line {self.widest.line}: the largest feature index is {width}"
        if self.n_features is not None:
            wide = f"n_features={width}"
        raise ValueError(
            f"{self.caller}: {wide}: X is dense and must fit into memory: of {n_docs} documents it would take, "
            f"with the names of its columns, {size / 1e9:.1f} GB of the {available / 1e9:.1f} GB available"
        )

    def queries(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the ids and sizes of the queries; one that comes back after another is a ValueError."""
        ids = as_ids([run.qid for run in self.runs])
        first_of: dict[int | str, Run] = {}
        sizes: dict[int | str, int] = {}
        previous = None
        for qid, run in zip(ids.tolist(), self.runs, strict=True):
            first = first_of.setdefault(qid, run)
            if first is not run and qid != previous:
                self._refuse_return(first, run)
            sizes[qid] = sizes.get(qid, 0) + run.size
            previous = qid
        return np.array(list(sizes), ids.dtype), np.array(list(sizes.values()), np.int64)

    def _refuse_return(self, first: Run, again: Run) -> NoReturn:
        raise ValueError(
            f"{self.caller}: {again.path}, line {again.line}: the documents of a query must be contiguous; "
            f"got qid {show(again.qid)} again after another query; it began at {first.path}, "
            f"line {first.line}"
        )


def _widest(block: Block) -> tuple[int, int]:
    """The largest feature index of a chunk, 0 if there is none, and the first document that has it."""
    if block.columns is None:
        return int(block.counts[0]), 0
    if not block.columns.size:
        return 0, 0
    at = int(block.columns.argmax())
    return int(block.columns[at]), _document_of(block, at)


def _document_of(block: Block, value: int) -> int:
    """The document, of its chunk, that has this one of the values."""
    return int(np.searchsorted(np.cumsum(block.counts), value, side="right"))


def available_memory() -> int | None:
    """Bytes that can be had without swapping: on Linux what the kernel estimates, else all there is, if known."""
    with suppress(OSError):  # only Linux has it
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return min(int(line.split()[1]) * 1024, granted_memory(CGROUPS))
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on Windows
        return None
