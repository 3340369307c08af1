"""A chunk of lines as arrays.

The parser exists twice. `parse_fast` converts all numbers of a chunk at once (by Arrow where it may) and answers None
when anything is unusual; `parse_careful` goes line by line, knows every variation, and names the line and the text of a
mistake. What the fast one accepts, the careful one reads alike (a test holds them together): only speed depends on
which one ran.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..arguments import LARGEST_INT32
from ..text_files import INTEGER, LineError, number_in, show
from . import arrow
from .lines import Lines

_SAMPLE = 4096  # values
_SPACES = bytes.maketrans(b"\t", b" ")
_NUMBER_BYTES = b"0123456789.+-eEnaNA"  # of a finite number or nan: deleting them leaves the punctuation


# Feature indices, not cut to 32 bits yet, or None when every document has 1..counts[0]; values.
_Pairs: TypeAlias = tuple[NDArray[np.int64] | None, NDArray[np.float64]]


class Block(NamedTuple):
    """The documents of a chunk: counts[i] features of document i; columns None means 1..counts[0] in each."""

    y: NDArray[np.float64]
    qids: list[bytes]
    counts: NDArray[np.int64]
    columns: NDArray[np.int32] | None
    values: NDArray[Any]  # float64 as they are parsed


class _Memo(dict[bytes, Any]):
    """Text -> number: files repeat texts, so that looking up is 1.2 to 4 times as fast as converting."""

    def __init__(self, convert: type[float] | type[int]) -> None:
        self.convert = convert

    def __missing__(self, token: bytes) -> float:
        value = self[token] = self.convert(token)
        return value


def _converter(tokens: list[bytes]) -> Callable[[bytes], float]:
    """What converts values fastest: where most differ, to look each up takes twice as long as to convert it."""
    sample = tokens[:_SAMPLE]
    return float if len(set(sample)) > len(sample) // 2 else _Memo(float).__getitem__


def parse_fast(bodies: list[bytes], with_qid: bool, n_features: int | None, *, by_arrow: bool = False) -> Block | None:
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
    sizes = np.array(counts, np.int64)
    try:
        y = np.fromiter(map(float, labels), np.float64, len(labels))
        pairs = _pairs_by_arrow(text, sizes) if by_arrow else None
        wide, values = _pairs_by_token(text, sizes) if pairs is None else pairs
    except (ValueError, OverflowError):
        return None
    if not np.isfinite(y).all() or np.isinf(values).any() or not _index_fits(wide, sizes, n_features):
        return None
    index = None if wide is None else wide.astype(np.int32)
    return Block(y, [qid[4:] for qid in qids], sizes, index, values)


def _pairs_by_arrow(text: bytes, counts: NDArray[np.int64]) -> _Pairs | None:
    """None where documents have not equally many, or where the other way must say whether they are numbers."""
    width = int(counts[0])
    found = arrow.rectangle(text, width) if width and (counts == width).all() else None
    if found is None:
        return None
    index, values = found
    usual = bool((index == np.arange(1, width + 1)).all())
    return None if usual else index.ravel().astype(np.int64), values.ravel()


def _pairs_by_token(text: bytes, counts: NDArray[np.int64]) -> _Pairs:
    """A ValueError or OverflowError where one is no number."""
    tokens = text.replace(b":", b" ").split()
    if len(tokens) != 2 * counts.sum():
        raise ValueError("an empty index or value")
    values = np.fromiter(map(_converter(tokens[1::2]), tokens[1::2]), np.float64, len(tokens) // 2)
    return _fast_index(tokens[0::2], counts), values


def _fast_index(tokens: list[bytes], counts: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The feature indices, or None when every document has 1..counts[0]."""
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
    return bool(rising.all() and (index <= (LARGEST_INT32 if n_features is None else n_features)).all())


def together(blocks: list[Block]) -> list[Block]:
    """Adjacent blocks as one, or as they are where some have columns or widths of their own."""
    if len({None if block.columns is not None else int(block.counts[0]) for block in blocks}) != 1:
        return list(blocks)
    y, counts, values = (
        np.concatenate([getattr(block, name) for block in blocks]) for name in ("y", "counts", "values")
    )
    columns = [block.columns for block in blocks if block.columns is not None]
    return [Block(y, [], counts, np.concatenate(columns) if columns else None, values)]


def parse_careful(lines: Lines, with_qid: bool, n_features: int | None, place: str) -> Block:
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
        raise LineError(f"the label must be a finite number; got {show(token)}")
    qid = b""
    if with_qid:
        head = fields.pop(0) if fields else b""
        if not head.startswith(b"qid:") or head == b"qid:":
            raise LineError(f"qid:<id> must follow the label (load_letor takes group= in its place); got {show(head)}")
        qid = head[4:]
    pairs: list[tuple[int, float]] = []
    for field in fields:
        pairs.append(_parse_pair(field, pairs[-1][0] if pairs else 0))
        if n_features is not None and pairs[-1][0] > n_features:
            raise LineError(f"feature indices must be at most n_features={n_features}; got {show(field)}")
    return label, qid, pairs


def _parse_pair(field: bytes, previous: int) -> tuple[int, float]:
    """Parse index:value; `previous` is the index before it on the line, 0 for the first."""
    if field.startswith(b"qid:"):
        raise LineError(f"a query id must come once, after the label, and not with group=; got {show(field)}")
    left, _, right = field.partition(b":")  # without a colon right is no number
    value = math.nan if right.upper() == b"NULL" else number_in(right)
    if value is None or not INTEGER.fullmatch(left):
        raise LineError(f"a feature must be written index:value; got {show(field)}")
    if math.isinf(value):
        raise LineError(f"a feature must be finite, or NULL or nan where missing; got {show(field)}")
    index = int(left)
    if not 1 <= index <= LARGEST_INT32:
        remedy = " (scikit-learn's dump_svmlight_file counts from 1 with zero_based=False)" if index == 0 else ""
        raise LineError(f"feature indices must be within 1..{LARGEST_INT32}; got {show(field)}{remedy}")
    if index <= previous:
        raise LineError(f"feature indices must increase within a line; got {show(field)} after {previous}")
    return index, value
