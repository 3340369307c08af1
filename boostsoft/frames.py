"""DataFrames of pandas and polars: what the user's are, and columns as one of whichever is asked for and installed.

The user's are read by what they can do, not by what they are, so that neither library is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from .arguments import IntArray, as_array, one_of, time_in
from .choices import Frame
from .extras import optional

KINDS = get_args(Frame)
_NARROW = ("float16", "float32", "int8", "int16", "uint8", "uint16", "bool", "boolean")  # in pandas, polars or both


class Repeated(NamedTuple):
    """A column of few values, and the place among them of each row's."""

    values: Any
    at: IntArray


def as_frame(caller: str, kind: str, columns: dict[str, Any]) -> Any:
    """Build a DataFrame of pandas or polars from columns of equal length, some of them :class:`Repeated`.

    Raises
    ------
    ValueError
        If ``kind`` is neither.
    ImportError
        If the library is not installed.

    Examples
    --------
    >>> as_frame("example", "pandas", {"trees": [1, 2]}).shape
    (2, 1)
    """
    name = one_of(caller, "kind", kind, KINDS)
    library = optional(caller, name, name)
    made = library.Series if name == "pandas" else partial(_of_polars, library)
    found = {column: _repeated(made, values) for column, values in columns.items()}
    if name == "polars":
        found = {column: _of_polars(library, values) for column, values in found.items()}
    return library.DataFrame(found)


def _repeated(made: Callable[[Any], Any], values: Any) -> Any:
    """A column whose texts the library makes out of its own: out of Python's they take ten times as long."""
    if not isinstance(values, Repeated):
        return values
    few = made(values.values)
    if isinstance(few.dtype, np.dtype):  # pandas' own array around it would be copied once more
        return few.to_numpy()[values.at]
    return few.gather(values.at) if hasattr(few, "gather") else few.array.take(values.at)


def _of_polars(library: Any, values: Any) -> Any:
    """A column of polars, which takes objects of several types, the first a text, if it is told only."""
    try:
        return library.Series(values)
    except TypeError:
        return library.Series(list(values), dtype=library.Object)


def is_frame(X: Any) -> bool:
    """Whether X is a pandas or polars DataFrame."""
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "get_columns"))


def refuse_same_names(caller: str, argument: str, X: Any) -> None:
    """Raise if two columns of a frame have one name: scikit-learn's own error names neither function nor argument."""
    names = list(X.columns) if is_frame(X) else []
    if len(set(names)) < len(names):
        again = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"{caller}: {argument}: columns must have different names; got {again!r} {names.count(again)} times"
        )


def as_checkable(caller: str, argument: str, X: Any) -> Any:
    """X as scikit-learn's checks are to read it: as an array, unless it is sparse, a frame or one of Arrow's tables.

    They would read what lies under a mask, and make floats of times and durations without their unit, the lowest of
    missing ones, and of texts that are digits.
    """
    if hasattr(X, "toarray"):  # sparse
        return X
    if is_frame(X):
        for name, column in zip(X.columns, columns_of(X), strict=True):
            if is_of_times(column):
                raise TypeError(
                    f"{caller}: {argument} must hold numbers; column {name!r} has dtype {column.dtype}; turn it into a "
                    "number"
                )
        return X
    schema: Any = getattr(X, "schema", None)
    for column in schema if hasattr(schema, "types") else ():  # Arrow's
        if is_of_words(column.type):
            raise TypeError(
                f"{caller}: {argument} must hold numbers; column {column.name!r} has type {column.type}; give a "
                "frame of pandas or polars, where it can be a category, or leave it out"
            )
    if _number_types(X) is not None:
        return X
    array = as_array(caller, argument, X)
    found = time_in(array)
    if found is not None:
        raise TypeError(
            f"{caller}: {argument} must hold numbers; got an array of {found}, whose unit would be left out"
        )
    if array.dtype.kind in "US":
        raise TypeError(
            f"{caller}: {argument} must hold numbers; got texts (dtype {array.dtype}); turn them into numbers"
        )
    return X if hasattr(X, "__dataframe__") else array  # a table of Arrow has names


def _number_types(X: Any) -> list[np.dtype[Any]] | None:
    """What columns are in NumPy if X is one of Arrow's tables and all of them are numbers."""
    schema: Any = getattr(X, "schema", None)
    if not hasattr(X, "column_names") or not hasattr(schema, "types"):
        return None
    try:
        kinds = [np.dtype(kind.to_pandas_dtype()) for kind in schema.types]
    except NotImplementedError:  # pandas has nothing like it
        return None
    return kinds if all(kind.kind in "iufb" for kind in kinds) else None


def table_matrix(X: Any) -> NDArray[Any] | None:
    """One of Arrow's tables of numbers as an array, as :func:`number_matrix`; None if X is none."""
    kinds = _number_types(X)
    if not kinds:
        return None
    matrix = np.empty(X.shape, np.result_type(np.float32, *map(float_of, kinds)), order="F")
    for at in range(len(kinds)):
        matrix[:, at] = X.column(at).to_numpy(zero_copy_only=False)
    return matrix


def is_of_words(kind: Any) -> bool:
    """Whether a type of Arrow or polars is one of texts or categories."""
    return str(kind).lower().startswith(("string", "large_string", "dictionary", "categorical", "enum"))


def columns_of(frame: Any) -> list[Any]:
    """The columns of a pandas or polars DataFrame."""
    return [column_of(frame, position) for position in range(frame.shape[1])]


def column_of(frame: Any, position: int) -> Any:
    """A column of a pandas or polars DataFrame."""
    return frame.to_series(position) if hasattr(frame, "get_columns") else frame.iloc[:, position]


def is_of_times(column: Any) -> bool:
    """Whether a column holds times or durations, by its type or, of objects, NumPy's own, which floats are made of."""
    if hasattr(column.dtype, "is_temporal"):  # polars
        return bool(column.dtype.is_temporal())
    kind = getattr(column.dtype, "kind", "")
    return kind in ("m", "M") or (kind == "O" and time_in(column.to_numpy()) is not None)


def is_of_texts(column: Any) -> bool:
    """Whether a column holds texts, of which those that are digits would become floats."""
    if hasattr(column.dtype, "is_temporal"):  # polars
        return str(column.dtype) in ("String", "Utf8")
    return getattr(column.dtype, "kind", "O") in "OU" and any(isinstance(value, str) for value in column.to_numpy())


def refuse_texts(caller: str, argument: str, X: Any) -> None:
    """Raise if a column of a frame holds texts."""
    for name, column in zip(X.columns, columns_of(X), strict=True) if is_frame(X) else ():
        if is_of_texts(column):
            raise TypeError(
                f"{caller}: {argument} must hold numbers; column {name!r} has dtype {column.dtype}; turn it "
                "into numbers"
            )


def float_of(dtype: Any) -> type[np.floating[Any]]:
    """The float that holds every number of a column: the single one, in half the memory, where that does."""
    own = getattr(dtype, "numpy_dtype", dtype)  # of those of pandas and Arrow
    name = own.name if isinstance(own, np.dtype) else str(own)  # NumPy's text has the order of bytes in it
    return np.float32 if name.lower() in _NARROW else np.float64


def number_matrix(frame: Any) -> NDArray[Any] | None:
    """A frame of numbers as one array, in pandas a view where it can be; None if a column holds something else.

    Of the narrowest float that holds every column, missing values as NaN.
    """
    kind = np.result_type(np.float32, *map(float_of, frame.dtypes))
    if hasattr(frame, "get_columns"):
        # which have no numbers of 128 bits
        numeric = all(dtype.is_numeric() or str(dtype) == "Boolean" for dtype in frame.dtypes)
        numeric &= not any(str(dtype).endswith("128") for dtype in frame.dtypes)
        if not numeric:
            return None
        if all(dtype == frame.dtypes[0] and dtype.is_float() for dtype in frame.dtypes):
            return np.asarray(frame.to_numpy(), kind)
        matrix = np.empty(frame.shape, kind, order="F")
        for at in range(frame.shape[1]):  # whole numbers would first be a matrix of their own
            matrix[:, at] = frame.to_series(at).to_numpy()
        return matrix
    numeric = all(getattr(dtype, "kind", "O") in "iufb" for dtype in frame.dtypes)
    return np.asarray(frame.to_numpy(dtype=kind, na_value=np.nan)) if numeric else None
