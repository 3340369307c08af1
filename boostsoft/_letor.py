"""Reading LETOR / SVMlight text (private: `boostsoft.datasets.load_letor` is the public face).

Three layers: a parser for one chunk of lines -> a loop over chunks and files -> arrays. The chunk parser
exists twice. `_parse_fast` converts all numbers of a chunk at once and answers None when anything is unusual;
`_parse_careful` goes line by line, knows every variation, and names the line and the text of a mistake. What
the fast one accepts, the careful one reads alike (a test holds them together): only speed depends on which
one ran.
"""

from __future__ import annotations

import gzip
import math
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Lines per chunk: 2,048 lines of 136 features are 2 MB of text; 8,192 were 10 % slower, 256 no faster.
CHUNK_LINES = 2048
MAX_INDEX = 2**31 - 1
NAME_BYTES = 80  # of a feature's name in RankingData: more than its column, of ten documents or fewer
PathLike: TypeAlias = str | os.PathLike[str]

_INTEGER = re.compile(rb"[+-]?[0-9]{1,99}")  # int() itself refuses thousands of digits
_SPACES = bytes.maketrans(b"\t", b" ")
_NUMBER_BYTES = b"0123456789.+-eEnaNA"  # of a finite number or nan: deleting them leaves the punctuation


class Lines(NamedTuple):
    """The documents of a chunk as text: 1-based line numbers, text before '#', text after it."""

    numbers: list[int]
    bodies: list[bytes]
    comments: list[bytes]


class Block(NamedTuple):
    """The documents of a chunk: counts[i] features of document i; columns None means 1..counts[0] in each."""

    y: NDArray[np.float64]
    qids: list[bytes]
    counts: NDArray[np.int64]
    columns: NDArray[np.int32] | None
    values: NDArray[np.float64]


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


class LineError(ValueError):
    """What is wrong with one line; the caller adds which file and line it is."""


class _Memo(dict[bytes, Any]):
    """Text -> number: files repeat texts, so that looking up is 1.2 to 4 times as fast as converting."""

    def __init__(self, convert: type[float] | type[int]) -> None:
        self.convert = convert

    def __missing__(self, token: bytes) -> float:
        value = self[token] = self.convert(token)
        return value


def as_paths(paths: PathLike | Sequence[PathLike] | None) -> list[Path]:
    """One path, several, or none, as a list."""
    if paths is None:
        return []
    return [Path(paths)] if isinstance(paths, (str, os.PathLike)) else [Path(path) for path in paths]


def written(name: str) -> str:
    """Return a file's name with what is no text in it written out."""
    return name.encode("utf-8", "backslashreplace").decode()


def show(text: bytes) -> str:
    """Return bytes as a quoted string that fits an error message."""
    shown = text.decode("utf-8", "backslashreplace")
    return repr(shown if len(shown) <= 60 else shown[:57] + "...")


# ---------------------------------------------------------------------------------------------------------
# Lines of a file
# ---------------------------------------------------------------------------------------------------------


def read_lines(path: Path, caller: str) -> Iterator[bytes]:
    """Yield the lines of a plain or gzip file; what gzip cannot read is a ValueError with the line."""
    if not path.exists() or path.is_dir():
        raise FileNotFoundError(f"{caller}: path must name an existing file, got {str(path)!r}")
    number = 0
    with path.open("rb") as raw:
        zipped = raw.peek(2)[:2] == b"\x1f\x8b"  # by content, so that the name does not matter
        if path.suffix == ".gz" and not zipped and raw.peek(1):
            raise ValueError(f"{caller}: {path}, line 1: the name ends in .gz but the content is not gzip")
        lines = gzip.GzipFile(fileobj=raw) if zipped else raw  # another buffer would lose lines to an error
        try:
            for number, line in enumerate(lines, 1):
                yield line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(
                f"{caller}: {path}, line {number + 1}: the gzip data are damaged or cut short: {error}"
            ) from error


def _split(lines: list[bytes], first: int, place: str) -> Lines:
    """Separate comments and drop lines without a document; `first` is the number of the first line."""
    numbers, bodies, comments = [], [], []
    for number, line in enumerate(lines, first):
        body, _, comment = line.partition(b"#")
        if b"\r" in comment.rstrip():  # lines of an old Mac: the comment would hide those that follow
            raise ValueError(
                f"{place}, line {number}: a line must end with a line feed, got a carriage return within "
                f"{show(comment.strip())}"
            )
        body = body.strip()
        if body:
            numbers.append(number)
            bodies.append(body)
            comments.append(comment)
    return Lines(numbers, bodies, comments)


# ---------------------------------------------------------------------------------------------------------
# The fast parser of a chunk
# ---------------------------------------------------------------------------------------------------------


def _parse_fast(bodies: list[bytes], with_qid: bool, n_features: int | None) -> Block | None:
    """Parse a chunk at once, or return None when any line needs the careful parser."""
    n_heads = 2 if with_qid else 1
    fields = [body.split(None, n_heads) for body in bodies]
    if min(map(len, fields)) < n_heads:
        return None
    labels = [field[0] for field in fields]
    qids = [field[1] for field in fields] if with_qid else []
    if b"_" in b" ".join(labels) or not all(len(q) > 4 and q.startswith(b"qid:") for q in qids):
        return None  # float() would read 1_0 as 10
    rests = [field[n_heads] if len(field) > n_heads else b"" for field in fields]
    counts = [rest.count(b":") for rest in rests]
    text = b"\n".join(rests).replace(b":NULL", b":nan").replace(b":null", b":nan")
    skeletons = {count: b" ".join([b":"] * count) for count in set(counts)}
    if text.translate(_SPACES, _NUMBER_BYTES) != b"\n".join([skeletons[count] for count in counts]):
        return None  # something else than one space between pairs of numbers
    tokens = text.replace(b":", b" ").split()
    if len(tokens) != 2 * sum(counts):
        return None  # an empty index or value
    sizes = np.array(counts, np.int64)
    try:
        y = np.fromiter(map(float, labels), np.float64, len(labels))
        values = np.fromiter(map(_Memo(float).__getitem__, tokens[1::2]), np.float64, len(tokens) // 2)
        wide = _fast_index(tokens[0::2], sizes)
    except (ValueError, OverflowError):
        return None
    if not np.isfinite(y).all() or np.isinf(values).any() or not _index_fits(wide, sizes, n_features):
        return None
    index = None if wide is None else wide.astype(np.int32)
    return Block(y, [qid[4:] for qid in qids], sizes, index, values)


def _fast_index(tokens: list[bytes], counts: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return the feature indices, not cut to 32 bits yet, or None when every document has 1..counts[0]."""
    width = int(counts[0])
    if (counts == width).all() and tokens == [b"%d" % i for i in range(1, width + 1)] * len(counts):
        return None
    return np.fromiter(map(_Memo(int).__getitem__, tokens), np.int64, len(tokens))


def _index_fits(index: NDArray[np.int64] | None, counts: NDArray[np.int64], n_features: int | None) -> bool:
    """Tell whether the indices are >= 1, increase within each document and stay within n_features."""
    if index is None:
        return n_features is None or int(counts[0]) <= n_features
    rising = np.ones(len(index), np.bool_)
    rising[1:] = index[1:] > index[:-1]
    starts = (np.cumsum(counts) - counts)[counts > 0]
    rising[starts] = index[starts] >= 1
    return bool(rising.all() and (index <= (MAX_INDEX if n_features is None else n_features)).all())


# ---------------------------------------------------------------------------------------------------------
# The careful parser of a line
# ---------------------------------------------------------------------------------------------------------


def number_in(token: bytes) -> float | None:
    """Return a number (inf and nan included), None for anything else."""
    try:
        return None if b"_" in token else float(token)
    except ValueError:
        return None


def _parse_careful(lines: Lines, with_qid: bool, n_features: int | None, place: str) -> Block:
    """Parse line by line; a mistake is a ValueError that begins with `place` and the line number."""
    y, qids, counts = [], [], []
    index: list[int] = []
    values: list[float] = []
    for number, body in zip(lines.numbers, lines.bodies, strict=True):
        try:
            label, qid, pairs = _parse_line(body, with_qid, n_features)
        except LineError as error:
            raise ValueError(f"{place}, line {number}: {error}") from None
        y.append(label)
        qids.append(qid)
        counts.append(len(pairs))
        index += [i for i, _ in pairs]
        values += [value for _, value in pairs]
    return Block(np.array(y), qids, np.array(counts, np.int64), np.array(index, np.int32), np.array(values))


def _parse_line(body: bytes, with_qid: bool, n_features: int | None) -> tuple[float, bytes, list[tuple[int, float]]]:
    """Parse one document into label, query id and (index, value) pairs."""
    token, *fields = body.split()
    label = number_in(token)
    if label is None or not math.isfinite(label):
        raise LineError(f"the label must be a finite number, got {show(token)}")
    qid = b""
    if with_qid:
        head = fields.pop(0) if fields else b""
        if not head.startswith(b"qid:") or head == b"qid:":
            raise LineError(f"qid:<id> must follow the label (or pass group=), got {show(head)}")
        qid = head[4:]
    pairs: list[tuple[int, float]] = []
    for field in fields:
        pairs.append(_parse_pair(field, pairs[-1][0] if pairs else 0))
        if n_features is not None and pairs[-1][0] > n_features:
            raise LineError(f"feature indices must be at most n_features={n_features}, got {show(field)}")
    return label, qid, pairs


def _parse_pair(field: bytes, previous: int) -> tuple[int, float]:
    """Parse index:value; `previous` is the index before it on the line, 0 for the first."""
    if field.startswith(b"qid:"):
        raise LineError(f"a query id must come once, after the label, and not with group=, got {show(field)}")
    left, colon, right = field.partition(b":")
    value = math.nan if right.upper() == b"NULL" else number_in(right)
    if not colon or value is None or not _INTEGER.fullmatch(left):
        raise LineError(f"a feature must be written index:value, got {show(field)}")
    if math.isinf(value):
        raise LineError(f"a feature must be finite, or NULL or nan where missing, got {show(field)}")
    index = int(left)
    if not 1 <= index <= MAX_INDEX:
        raise LineError(f"feature indices must be within 1..{MAX_INDEX}, got {show(field)}")
    if index <= previous:
        raise LineError(f"feature indices must increase within a line, got {show(field)} after {previous}")
    return index, value


# ---------------------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------------------


class Reader:
    """Collects the blocks, runs and comments of the files that `read` is given one after another."""

    def __init__(self, caller: str, *, with_qid: bool, n_features: int | None, comments: bool) -> None:
        self.caller, self.with_qid, self.n_features = caller, with_qid, n_features
        self.blocks: list[Block] = []
        self.runs: list[Run] = []
        self.widest = Widest(0, None, 0)
        self.comments: list[str] | None = [] if comments else None

    def read(self, path: Path) -> int:
        """Read one file and return its number of documents."""
        source = read_lines(path, self.caller)
        first, n_docs = 1, 0
        while chunk := list(islice(source, CHUNK_LINES)):
            lines = _split(chunk, first, f"{self.caller}: {path}")
            first += len(chunk)
            n_docs += len(lines.bodies)
            if lines.bodies:
                self._add(lines, path)
        if n_docs == 0:
            raise ValueError(f"{self.caller}: {path}: no documents in {first - 1} lines")
        return n_docs

    def _add(self, lines: Lines, path: Path) -> None:
        block = _parse_fast(lines.bodies, self.with_qid, self.n_features)
        if block is None:
            place = f"{self.caller}: {path}"
            block = _parse_careful(lines, self.with_qid, self.n_features, place)
        self.blocks.append(block._replace(qids=[]))
        width, document = _widest(block)
        if width > self.widest.largest:
            self.widest = Widest(width, path, lines.numbers[document])
        if self.with_qid:
            self._add_runs(block.qids, lines.numbers, path)
        if self.comments is not None:
            self.comments += [text.strip().decode("utf-8", "backslashreplace") for text in lines.comments]

    def _add_runs(self, qids: list[bytes], numbers: list[int], path: Path) -> None:
        start = 0
        for i in range(1, len(qids) + 1):
            if i == len(qids) or qids[i] != qids[start]:
                self.runs.append(Run(qids[start], path, numbers[start], i - start))
                start = i

    def labels(self) -> NDArray[np.float64]:
        """Return the labels of all documents."""
        return np.concatenate([block.y for block in self.blocks])

    def features(self, absent: float) -> NDArray[np.float64]:
        """Return X (n_docs, n_features). Memory peaks here, at about twice the size of X for dense files."""
        width = self.widest.largest if self.n_features is None else self.n_features
        n_docs = sum(len(block.y) for block in self.blocks)
        self._refuse_too_large(n_docs, width)
        X = np.empty((n_docs, width))
        end = 0
        for block in self.blocks:
            start, end = end, end + len(block.y)
            if block.columns is None:
                n_first = int(block.counts[0])
                X[start:end, :n_first] = block.values.reshape(end - start, n_first)
                X[start:end, n_first:] = absent
            else:
                X[start:end] = absent
                X[np.repeat(np.arange(start, end), block.counts), block.columns - 1] = block.values
        return X

    def _refuse_too_large(self, n_docs: int, width: int) -> None:
        """A system may promise memory that it has not, and end the process when it is written to."""
        size, available = (8 * n_docs + NAME_BYTES) * width, available_memory()
        if available is None or size <= available:
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
            f"{self.caller}: {again.path}, line {again.line}: the documents of a query must be contiguous, "
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
    return int(block.columns[at]), int(np.searchsorted(np.cumsum(block.counts), at, side="right"))


def available_memory() -> int | None:
    """Bytes that can be had without swapping: on Linux what the kernel estimates, else all there is, if known."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on Windows
        return None


def as_ids(qids: list[bytes]) -> NDArray[Any]:
    """Return int64 when every id is an integer that fits, else strings."""
    if all(map(_INTEGER.fullmatch, qids)):
        whole = [int(qid) for qid in qids]
        if all(-(2**63) <= number < 2**63 for number in whole):
            return np.array(whole, np.int64)
    return id_texts(qids)


def id_texts(ids: list[bytes]) -> NDArray[np.str_]:
    """Return strings; a zero byte, which NumPy would drop from the end of one, is written out as what is no UTF-8."""
    return np.array([text.replace(b"\0", b"\\x00").decode("utf-8", "backslashreplace") for text in ids], np.str_)
