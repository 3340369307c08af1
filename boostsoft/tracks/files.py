"""A TreeTrack on disk: ``.npz``, or ``.parquet`` with one row per step, metric and query."""

from __future__ import annotations

import base64
import contextlib
import errno
import io
import json
import math
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..arguments import refuse_absent, short, shown
from ..atomic import write_whole
from ..extras import optional
from ..metrics.hard import Metric
from ..metrics.soft import AnyMetric, SoftMetric
from ..query_groups import QueryGroups
from ..query_means import blocks

_Track = TypeVar("_Track")
SUFFIXES = (".npz", ".parquet")
_VERSION = 1
_KEY, _CHECKSUM = b"boostsoft.tree_track", b"boostsoft.checksum"
_PART, _LONGEST = 2**26, 2**31 - 1  # bytes of a text in a footer: readers take 100 MB at most unless they are told
_COLUMNS = ("trees", "metric", "query", "value")
_VALUES = ("steps", "per_query", "beginning")  # what those of a Parquet file hold
_REST = ("query_weight", "spread", "y_true", "scores", "qid")
_NEEDED = (*_VALUES, "query_weight", "spread", "metrics", "start", "label")
# what zipfile and NumPy raise of an array that is not as it was written
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError)


def save(track: Mapping[str, Any], path: str | Path) -> Path:
    """Write the fields of a TreeTrack, under a temporary name first, and return the path."""
    caller, path = "TreeTrack.save", Path(path)
    write = {".npz": _write_npz, ".parquet": _write_parquet}[_suffix(caller, path)]
    about = {
        "version": _VERSION,
        "metrics": [_text(caller, metric) for metric in track["metrics"]],
        "start": track["start"],
        "label": track["label"],
    }
    arrays = {name: track[name] for name in (*_VALUES, *_REST) if track[name] is not None}
    if "qid" in arrays:
        arrays["qid"] = _plain_ids(caller, arrays["qid"])
    if track["groups"] is not None:
        arrays["offsets"] = track["groups"].offsets
    write_whole(path, lambda target: write(target, about, arrays))
    return path


def load(path: str | Path, make: Callable[..., _Track]) -> _Track:
    """Make a TreeTrack of the fields that a file holds."""
    caller, path = "TreeTrack.load", Path(path)
    read = {".npz": _read_npz, ".parquet": _read_parquet}[_suffix(caller, path)]
    refuse_absent(caller, "path", path)
    about, arrays = read(caller, path)
    missing = [name for name in _NEEDED if name not in {**about, **arrays}]
    if missing:
        raise ValueError(f"{caller}: {path} must hold a TreeTrack; it has no {missing[0]!r}")
    offsets = arrays.pop("offsets", None)
    try:
        fields = {
            **arrays,
            "metrics": tuple(_metric(text) for text in about["metrics"]),
            "start": about["start"],
            "label": about["label"],
            "groups": None if offsets is None else QueryGroups.from_offsets(offsets),
        }
        return make(**fields)
    except (AttributeError, TypeError, ValueError) as error:  # whole, but not as save writes it
        raise ValueError(f"{caller}: {path} must hold a TreeTrack; {error}") from error


def _about(caller: str, path: Path, where: str, text: str | bytes) -> dict[str, Any]:
    """What a file tells beside arrays, as far as this version can read it."""
    try:
        about = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(caller, path, f"its {where} cannot be read") from error
    if not isinstance(about, dict):
        raise ValueError(f"{caller}: {path} must hold a TreeTrack; its {where} is {short(about)}")
    if about.get("version") != _VERSION:
        raise ValueError(f"{caller}: {path} must be of version {_VERSION}; got {about.get('version')!r}")
    return about


def _write_npz(target: Path, about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    with target.open("wb") as file:
        # no word of pickles: before NumPy 2.2 that would be one more array
        np.savez(file, **arrays, about=np.array(json.dumps(about)))  # type: ignore[arg-type]


def _read_npz(caller: str, path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            raise _damaged(caller, path, "it is no zip archive, or the end is missing")
        file.seek(0)
        try:
            found = np.load(file, allow_pickle=False)
        except _UNREADABLE as error:
            raise _damaged(caller, path, "its table of contents cannot be read") from error
        with found:
            if "about" not in found:
                raise ValueError(f"{caller}: {path} must hold a TreeTrack; got the arrays {', '.join(found.files)}")
            arrays = {name: _member(caller, path, found, name) for name in found.files}
    return _about(caller, path, "'about'", str(arrays.pop("about"))), arrays


def _member(caller: str, path: Path, found: Mapping[str, Any], name: str) -> NDArray[Any]:
    try:
        array: NDArray[Any] = found[name]
    except (*_UNREADABLE, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # which a place before the file's beginning is
            raise
        # None: NumPy would advise to allow pickles, which run whatever code a file holds
        raise _damaged(caller, path, f"its {name!r} cannot be read") from None
    return array


def _damaged(caller: str, path: Path, why: str) -> ValueError:
    return ValueError(f"{caller}: {path} is damaged, or no {path.suffix} file: {why}")


def _write_parquet(target: Path, about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """The rows start with the beginning, at ``start`` trees; what is not per query goes into the footer.

    Some steps at a time, since a row takes four times what its value does.
    """
    arrow, parquet = (optional("TreeTrack.save", name, "parquet") for name in ("pyarrow", "pyarrow.parquet"))
    per_query = arrays["per_query"]
    n_metrics, n_queries = per_query.shape[1:]
    rows = n_metrics * n_queries  # of a step
    trees = np.concatenate([[about["start"]], arrays["steps"]])
    values = [arrays["beginning"][None], *(per_query[first:last] for first, last in blocks(len(per_query), rows))]
    rest = {name: _encoded(array) for name, array in arrays.items() if name not in _VALUES}
    text = json.dumps({**about, "shape": (trees.size, n_metrics, n_queries), "arrays": rest}).encode()
    checksum = _checksum(text, (np.repeat(each, rows) for each in trees), values)
    parts = [text[first : first + _PART] for first in range(0, len(text), _PART)]
    footer = {**dict(zip(_part_keys(len(parts)), parts, strict=True)), _CHECKSUM: str(checksum).encode()}
    types = (arrow.int64(), arrow.dictionary(arrow.int32(), arrow.string()), arrow.int64(), arrow.float64())
    schema = arrow.schema(list(zip(_COLUMNS, types, strict=True)))
    # before pyarrow 16 with the schema, which files hold twice
    apart = hasattr(parquet.ParquetWriter, "add_key_value_metadata")
    with target.open("wb") as file, parquet.ParquetWriter(  # not every name that the system has is one to pyarrow
        file, schema if apart else schema.with_metadata(footer), use_dictionary=["trees", "metric"],
        column_encoding={"query": "DELTA_BINARY_PACKED"},
    ) as writer:  # fmt: skip
        done, names = 0, [_metric(metric).name for metric in about["metrics"]]
        for part in values:
            metric = np.tile(np.repeat(np.arange(n_metrics, dtype=np.int32), n_queries), len(part))
            columns = (
                np.repeat(trees[done : done + len(part)], rows),
                arrow.DictionaryArray.from_arrays(metric, names),
                np.tile(np.arange(n_queries), len(part) * n_metrics),
                part.ravel(),
            )
            writer.write_table(arrow.table(dict(zip(_COLUMNS, columns, strict=True)), schema=schema))
            done += len(part)
        if apart:
            writer.add_key_value_metadata(footer)


def _read_parquet(caller: str, path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    parquet = optional(caller, "pyarrow.parquet", "parquet")
    with path.open("rb") as file:
        with _reading(caller, path):
            # before pyarrow 16 the footer's text was written in one, of more than readers take unasked
            found = parquet.ParquetFile(file, thrift_string_size_limit=_LONGEST)
            footer, names = found.metadata.metadata or {}, found.schema_arrow.names
        if _KEY not in footer:
            raise ValueError(f"{caller}: {path} must hold a TreeTrack; got the columns {', '.join(names)}")
        text = b"".join(footer.get(key, b"") for key in _part_keys(len(footer)))
        about = _about(caller, path, "footer", text)
        with _reading(caller, path):
            trees, values = _contents(found, text, about.get("shape"), footer.get(_CHECKSUM))
            arrays = {name: _decoded(array) for name, array in dict(about.get("arrays", {})).items()}
    return about, {**arrays, "steps": trees[1:], "per_query": values[1:], "beginning": values[0]}


@contextlib.contextmanager
def _reading(caller: str, path: Path) -> Iterator[None]:
    """What is raised inside says that a Parquet file is damaged, unless it is the system's."""
    arrow = optional(caller, "pyarrow", "parquet")
    try:
        yield
    except (EOFError, OSError, TypeError, ValueError, arrow.ArrowException) as error:
        if isinstance(error, OSError) and error.errno is not None:  # not pyarrow's
            raise
        raise _damaged(caller, path, str(error).strip()) from error


def _contents(found: Any, text: bytes, shape: Any, wanted: bytes | None) -> tuple[NDArray[Any], NDArray[Any]]:
    """The numbers of trees, and the values; a ValueError if they are not what was written, of the checksum ``wanted``.

    A group of rows at a time: pyarrow's table of all takes four times what the values do.
    """
    if not {"trees", "value"} <= set(found.schema_arrow.names):
        raise ValueError("its columns have other names")
    if not isinstance(shape, list) or math.prod(shape) != found.metadata.num_rows:
        raise ValueError(f"it has {found.metadata.num_rows} rows for values of the shape {shape}")
    checksum, trees, values, done = zlib.crc32(text), [], np.empty(found.metadata.num_rows), 0
    for part in _column(found, "trees"):
        checksum = zlib.crc32(part.data, checksum)
        trees.append(np.unique(part))  # they rise
    for part in _column(found, "value"):
        checksum = zlib.crc32(part.data, checksum)
        values[done : done + part.size] = part
        done += part.size
    if wanted != str(checksum).encode():
        raise ValueError("its checksum is that of other contents")
    return np.unique(np.concatenate(trees)), values.reshape(shape)


def _column(found: Any, name: str) -> Iterator[NDArray[Any]]:
    for group in range(found.num_row_groups):
        yield np.ascontiguousarray(found.read_row_group(group, columns=[name])[name].to_numpy())


def _part_keys(n: int) -> Iterator[bytes]:
    """Under what the footer holds the parts of its text, each short enough for every reader."""
    return (_KEY + (b".%d" % at if at else b"") for at in range(n))


def _checksum(text: bytes, trees: Iterable[NDArray[Any]], values: Iterable[NDArray[Any]]) -> int:
    """Parquet files are written and read without one, or with one by some releases of pyarrow only."""
    found = zlib.crc32(text)
    for part in chain(trees, values):
        found = zlib.crc32(np.ascontiguousarray(part).data, found)
    return found


def _suffix(caller: str, path: Path) -> str:
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{caller}: path must end in {' or '.join(SUFFIXES)}; got {str(path)!r}")
    return path.suffix


def _text(caller: str, metric: AnyMetric) -> str:
    """The metric's repr, if the metric can be read back from it."""
    try:
        same = _metric(repr(metric)) == metric
    except ValueError:
        same = False
    if not same:
        raise ValueError(f"{caller}: metrics must not have a function as an option; got {metric!r}")
    return repr(metric)


def _metric(text: str) -> AnyMetric:
    return SoftMetric.parse(text) if text.startswith("SoftMetric(") else Metric.parse(text)


def _plain_ids(caller: str, qid: NDArray[Any]) -> NDArray[Any]:
    """Query ids of a type that a file can hold; objects if they are texts or numbers."""
    if qid.dtype.kind not in "OT":
        return qid
    values = qid.tolist()
    if all(isinstance(value, str) for value in values):
        texts = np.array(values, np.str_)
        lost = next((value for value, text in zip(values, texts.tolist(), strict=True) if value != text), None)
        if lost is not None:  # where NumPy's texts end
            raise ValueError(f"{caller}: qid must hold texts that do not end in a NUL character; got {lost!r}")
        return texts
    if all(isinstance(value, (int, np.integer)) for value in values):
        for dtype in (np.int64, np.uint64):
            if np.iinfo(dtype).min <= min(values) and max(values) <= np.iinfo(dtype).max:
                return qid.astype(dtype)
        raise ValueError(f"{caller}: qid must hold whole numbers of 64 bits; got {shown(qid)}")
    if all(isinstance(value, (int, float, np.integer, np.floating)) for value in values):
        floats = qid.astype(np.float64)
        if (floats == qid).all():
            return floats
    first: dict[type, Any] = {}
    for value in values:
        first.setdefault(type(value), value)
    got = " and ".join(f"{value!r} of type {kind.__name__}" for kind, value in first.items())
    raise ValueError(
        f"{caller}: qid must hold only numbers or only texts; got {got}. With texts in their place the track can be "
        "saved: dataclasses.replace(track, qid=np.array([str(one) for one in track.qid]))"
    )


def _encoded(array: NDArray[Any]) -> str:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return base64.b64encode(file.getvalue()).decode()


def _decoded(text: str) -> NDArray[Any]:
    found: NDArray[Any] = np.load(io.BytesIO(base64.b64decode(text)), allow_pickle=False)
    return found
