"""The numbers of a chunk whose lines have equally many pairs, by Arrow: four times as fast as token by token."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

_GAPS = bytes.maketrans(b":\t", b"  ")


@cache
def available() -> bool:
    """Tell whether pyarrow can be imported; nothing but speed depends on it."""
    try:
        import pyarrow.csv
    except (ImportError, AttributeError):  # the latter where it was made for another NumPy
        return False
    return bool(pyarrow.csv)


def rectangle(text: bytes, width: int) -> tuple[NDArray[np.int32], NDArray[np.float64]] | None:
    """Indices and values, (n_lines, width) each, of lines of ``width`` pairs; None where Arrow reads no numbers.

    Arrow's conversion is correctly rounded as Python's is, and refuses more: a leading plus, say.
    """
    import pyarrow as pa
    from pyarrow import csv

    names = [str(column) for column in range(2 * width)]
    types = {name: pa.float64() if column % 2 else pa.int32() for column, name in enumerate(names)}
    size = len(text) + 1  # one block: lines are never cut
    try:
        table = csv.read_csv(
            pa.py_buffer(text.translate(_GAPS)),
            csv.ReadOptions(use_threads=False, block_size=size, column_names=names),
            csv.ParseOptions(delimiter=" ", quote_char=False, ignore_empty_lines=False),
            csv.ConvertOptions(column_types=types, null_values=[]),
        )
    except pa.ArrowInvalid:
        return None
    return _columns(table, 0, np.int32), _columns(table, 1, np.float64)


def _columns(table: Any, first: int, dtype: Any) -> NDArray[Any]:
    """Every second column, side by side, from their buffers: Arrow's own ``to_numpy`` imports pandas."""
    chosen = range(first, table.num_columns, 2)
    found = np.empty((table.num_rows, len(chosen)), dtype)
    for at, column in enumerate(chosen):
        values = table.column(column).chunk(0)
        found[:, at] = np.frombuffer(values.buffers()[1], dtype, table.num_rows)
    return found
