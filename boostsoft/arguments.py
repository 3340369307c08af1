"""The one place where the user's numbers, names, paths and arrays are checked, and what keeps them once they are.

Everything behind it may assume contiguous float64 arrays and finite values.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from numbers import Number
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Whole = int | np.integer[Any]  # as argmax gives, which is no int to type checkers
RandomState = Whole | np.random.RandomState | np.random.Generator  # what draws may be seeded by
Given = TypeVar("Given")


class HasArray(Protocol):
    """An array of any library, or a column of a frame."""

    def __array__(self) -> NDArray[Any]:
        """As NumPy asks for it."""


Numbers = Sequence[float] | HasArray  # ArrayLike would take one number, and texts
Flags = bool | Sequence[bool] | HasArray  # one for all, or one each
Texts = Sequence[str] | HasArray
PathLike = str | os.PathLike[str]

AUTO = "auto"  # the text of an argument that takes more than texts
_LARGEST_WHOLE = 2.0**53  # beyond, floats are no whole numbers any more and sums may overflow
_LISTED = re.compile(r" instead:\narray=.*\.\n(?=Reshape)", re.DOTALL)  # by scikit-learn, whatever its length
LARGEST_INT32 = 2**31 - 1  # what every booster takes as a whole number, and every generator as a seed


def finite_vector(caller: str, argument: str, values: Any, n: int | None = None, what: str = "document") -> FloatArray:
    """Return a contiguous float64 vector of finite numbers, of length ``n`` if given; it may be ``values``.

    An array that is read-only, to Numba another type, would have the kernels compiled once more, and they rely on
    alignment: either is copied.
    """
    array = real_numbers(caller, argument, values)
    if array.ndim != 1:
        raise ValueError(f"{caller}: {argument} must be one-dimensional; got shape {array.shape}")
    if n is not None and array.size != n:
        raise ValueError(f"{caller}: {argument} must have one value per {what}, {n}; got {array.size}")
    if array.size == 0:
        raise ValueError(f"{caller}: {argument} must not be empty")
    with np.errstate(over="ignore"):  # a longer float may overflow, and is then refused
        vector: FloatArray = np.require(array, np.float64, ["C", "A", "W"])
    if not np.isfinite(vector).all():
        at = int(np.argmin(np.isfinite(vector)))
        raise ValueError(f"{caller}: {argument} must be finite; got {array[at]} at position {at}")
    if array.dtype.kind in "iu" and array.dtype.itemsize == vector.itemsize:
        _refuse_merged(caller, argument, array, vector)
    return vector


def _refuse_merged(caller: str, argument: str, whole: NDArray[Any], vector: FloatArray) -> None:
    """Raise if whole numbers beyond 2^53 are equal as floats and otherwise not: they would be ties."""
    if max(abs(int(whole.max())), abs(int(whole.min()))) <= _LARGEST_WHOLE:
        return
    order = np.argsort(whole)
    merged = (np.diff(vector[order]) == 0) & (whole[order[1:]] != whole[order[:-1]])
    if merged.any():
        at = order[int(np.argmax(merged)) :][:2]
        raise ValueError(
            f"{caller}: {argument} must differ as float64 where they differ, which beyond 2^53 whole numbers may not: "
            f"subtract the least of them; got {whole[at[0]]} and {whole[at[1]]}"
        )


def refuse_negative(caller: str, argument: str, values: FloatArray | IntArray) -> None:
    """Raise if one of some numbers is below 0."""
    if np.any(values < 0):
        at = int(np.argmax(values < 0))
        raise ValueError(f"{caller}: {argument} must not be negative; got {values[at]} at position {at}")


def finite_number(caller: str, argument: str, value: Any) -> float:
    """Return a finite float."""
    number = real_number(caller, argument, value)
    if not np.isfinite(number):
        raise ValueError(f"{caller}: {argument} must be finite; got {short(value)}")
    return number


def positive_number(caller: str, argument: str, value: Any) -> float:
    """Return a finite float above 0."""
    number = real_number(caller, argument, value)
    if not 0.0 < number < np.inf:
        raise ValueError(f"{caller}: {argument} must be finite and above 0; got {short(value)}")
    return number


def non_negative_number(caller: str, argument: str, value: Any) -> float:
    """Return a finite float of at least 0."""
    number = finite_number(caller, argument, value)
    if number < 0.0:
        raise ValueError(f"{caller}: {argument} must not be negative; got {short(value)}")
    return number


def fraction(caller: str, argument: str, value: Any) -> float:
    """Return a float above 0 and below 1, such as the level of an interval."""
    number = positive_number(caller, argument, value)
    if number >= 1.0:
        raise ValueError(f"{caller}: {argument} must be below 1; got {short(value)}")
    return number


def whole_number(caller: str, argument: str, value: Any, least: int, most: int | None = None) -> int:
    """Return an int from ``least`` to ``most``, to 2^53 if that is None."""
    if isinstance(value, (bool, np.timedelta64)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{caller}: {argument} must be a whole number; got {short(value)}")
    if not least <= value <= (_LARGEST_WHOLE if most is None else most):
        end = "2^53" if most is None else most
        raise ValueError(f"{caller}: {argument} must be from {least} to {end}; got {short(value)}")
    return int(value)


def of_type(caller: str, argument: str, value: Any, kind: type) -> Any:
    """Return a value of a class."""
    if not isinstance(value, kind):
        raise TypeError(f"{caller}: {argument} must be a {kind.__name__}; got {type(value).__name__}")
    return value


def one_of(caller: str, argument: str, value: Any, known: Any) -> Any:
    """One of the known names, which type checkers may take for the Literal of them."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{caller}: {argument} must be one of {', '.join(map(repr, known))}; got {short(value)}")
    return str(value)


def refuse_other_text(caller: str, argument: str, value: str, otherwise: str) -> None:
    """Raise if a text is not "auto", the only one that an argument, which takes more than texts, knows."""
    if value != AUTO:
        raise ValueError(f"{caller}: {argument} must be {AUTO!r} or {otherwise}; got {short(value)}")


def as_flag(caller: str, argument: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{caller}: {argument} must be True or False; got {short(value)}")
    return bool(value)


def as_path(caller: str, argument: str, path: Any) -> Path:
    """A path, of a text or a path object; one that begins with ~ is in the home folder."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{caller}: {argument} must be a path; got {short(path)}")
    return from_home(path)


def from_home(path: PathLike) -> Path:
    """A path whose ~ or ~user is written out, as shells and pandas do: a new folder called ~ is what nobody wants."""
    return Path(os.path.expanduser(path))  # Path's own raises of a ~name that is no user's, which a shell leaves


def as_file(caller: str, argument: str, path: Any) -> Path:
    """The path of a file that is there."""
    file = as_path(caller, argument, path)
    refuse_absent(caller, argument, file)
    return file


def refuse_absent(caller: str, argument: str, path: Path) -> None:
    """Raise if there is no file at a path; a pipe is one."""
    if not path.exists() or path.is_dir():
        raise FileNotFoundError(f"{caller}: {argument} must name an existing file; got {str(path)!r}")


def written(name: str) -> str:
    """Return a name, a file's say, with what is no text in it written out."""
    return name.encode("utf-8", "backslashreplace").decode()


def set_fields(frozen: object, values: Mapping[str, Any]) -> None:
    """Give a frozen dataclass its fields once they are checked; only its own constructor may."""
    for field, value in values.items():
        object.__setattr__(frozen, field, value)


def changed(given: Given, **values: Any) -> Given:
    """A copy of an object, frozen or not, with other values of some fields, which are right already."""
    found = copy(given)
    set_fields(found, values)
    return found


def seed_of(caller: str, random_state: RandomState | None, most: int = 2**32 - 1) -> int:
    """The seed that a ``random_state`` stands for; None is 0, so that runs repeat unless told otherwise."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(LARGEST_INT32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(LARGEST_INT32))
    whole = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, (bool, np.timedelta64))
    if not whole or not 0 <= random_state <= most:
        raise ValueError(
            f"{caller}: random_state must be a seed from 0 to 2^{most.bit_length()} - 1, a RandomState or a Generator; "
            f"got {short(random_state)}"
        )
    return int(random_state)


def generator_of(caller: str, random_state: Any) -> np.random.Generator:
    """What to draw from: the generator itself that is given, or a new one with the seed."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(seed_of(caller, random_state))


def real_number(caller: str, argument: str, value: Any) -> float:
    """Return a float, which may be infinite or NaN."""
    if isinstance(value, (bool, np.timedelta64)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{caller}: {argument} must be a number; got {short(value)}")
    try:
        return float(value)
    except OverflowError:  # an int of more than 308 digits
        return float("inf")


def refuse_masked(caller: str, argument: str, values: Any) -> None:
    """Raise if entries of a NumPy array, or of a list of them, are masked: what lies under the mask would be read."""
    arrays = values if isinstance(values, (list, tuple)) else [values]
    kinds = set(map(type, arrays))  # few, where to ask every number of a list took longer than to read it
    if not any(issubclass(kind, np.ma.MaskedArray) for kind in kinds):
        return
    if any(isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array) for array in arrays):
        raise ValueError(f"{caller}: {argument} must not have masked entries; got {short(values)}")


def time_in(array: NDArray[Any]) -> Any:
    """The type of the first time or duration in an array, None if there is none; Python's own are no floats anyway."""
    if array.dtype != object:
        return array.dtype if array.dtype.kind in "mM" else None
    return next((value.dtype for value in array.flat if isinstance(value, (np.datetime64, np.timedelta64))), None)


@contextmanager
def naming(caller: str, argument: str, rule: str = "") -> Iterator[None]:
    """Have the errors of scikit-learn's checks name the function and the argument, and the rule if they don't.

    Without the array that they print, which may have thousands of rows.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{caller}: {argument}{rule}: {_LISTED.sub('. ', str(error))}") from error


def refuse_lazy(caller: str, argument: str, values: Any) -> None:
    """Raise if a polars or Dask frame is not computed yet, to ask which for anything else may be work, or not made."""
    if hasattr(values, "collect") and hasattr(values, "lazy"):
        found = f"{type(values).__name__}, which .collect() makes one"
    elif hasattr(values, "__dask_graph__") and hasattr(values, "columns"):
        found = "frame of Dask, which .compute() makes one (boostsoft.dask trains on its partitions)"
    elif isinstance(values, Mapping) and not hasattr(values, "dtype"):  # as one of SciPy's sparse matrices has
        found = f"{type(values).__name__}, of whose columns pandas.DataFrame(...) makes one"
    else:
        return
    raise TypeError(f"{caller}: {argument} must be a DataFrame or an array; got a {found}")


def as_array(caller: str, argument: str, values: Any) -> NDArray[Any]:
    """Whatever NumPy can read as an array without ignoring a mask."""
    if type(values) is np.ndarray and values.ndim:
        return values
    refuse_masked(caller, argument, values)
    refuse_lazy(caller, argument, values)
    try:
        found = np.asanyarray(values)  # any: of an array's kind, with the mask that its own conversion may give it
    except MemoryError:
        raise
    except Exception as error:  # whatever the library says whose array it is: Torch's and polars' errors are their own
        raise ValueError(f"{caller}: {argument} must be an array; got {short(values)}: {error}") from error
    refuse_masked(caller, argument, found)
    array = np.asarray(found)
    if array.ndim == 0 and array.dtype == object and isinstance(values, Iterable):
        remedy = "toarray()" if hasattr(values, "toarray") else "list()"  # SciPy's sparse ones have it
        raise TypeError(f"{caller}: {argument} must be an array; got {short(values)}, of which {remedy} makes one")
    own = getattr(getattr(values, "dtype", None), "numpy_dtype", None)
    return array if array.dtype != object or own is None or own.kind not in "fiub" else _numbers_of_column(values, own)


def real_numbers(caller: str, argument: str, values: Any) -> NDArray[Any]:
    """Return an array of real numbers, of any shape and type."""
    array = _of_numbers(as_array(caller, argument, values))
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{caller}: {argument} must hold numbers; got dtype {array.dtype}{_first_other(array)}")
    return array


def _numbers_of_column(column: Any, own: np.dtype[Any]) -> NDArray[Any]:
    """A pandas column of a type that may lack values, whose numbers pandas before 2.2 hands out as objects."""
    found: NDArray[Any] = (
        column.to_numpy(dtype=np.float64, na_value=np.nan) if column.isna().any() else column.to_numpy(dtype=own)
    )
    return found


def _of_numbers(array: NDArray[Any]) -> NDArray[Any]:
    """Objects that are numbers, as a frame of mixed columns hands them out, as an array of numbers."""
    if array.dtype != object or not all(map(_is_number, array.flat)):
        return array
    found: NDArray[Any] = np.array(array.tolist())
    try:
        return found.astype(np.float64) if found.dtype == object else found  # decimals, fractions
    except (TypeError, ValueError, OverflowError):
        return array


def _is_number(value: Any) -> bool:
    # NumPy's durations pass for Python's whole numbers
    return isinstance(value, (Number, np.bool_)) and not isinstance(value, np.timedelta64)


def _first_other(array: NDArray[Any]) -> str:
    """Which of some objects is no number, for messages."""
    if array.dtype == object and array.ndim == 1:
        for at, value in enumerate(array.tolist()):
            if not _is_number(value):
                return f", {short(value)} at position {at}"
    return ""


def whole_numbers(caller: str, argument: str, values: Any) -> IntArray:
    """Return a vector of whole numbers up to 2^53."""
    array = _of_numbers(as_array(caller, argument, values))
    if array.ndim != 1:
        raise ValueError(f"{caller}: {argument} must be one-dimensional; got shape {array.shape}")
    if array.size and array.dtype.kind not in "iuf":
        raise TypeError(f"{caller}: {argument} must be whole numbers; got {shown(array)} of dtype {array.dtype}")
    with np.errstate(over="ignore"):
        numbers = array.astype(np.float64)
    wrong = (numbers != np.floor(numbers)) | (np.abs(numbers) > _LARGEST_WHOLE)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(f"{caller}: {argument} must be whole numbers up to 2^53; got {array[at]} at position {at}")
    return np.array(array, dtype=np.int64)


def shown(array: NDArray[Any]) -> str:
    """The first few entries of an array, for messages."""
    first = ", ".join(str(value) for value in array[:5].tolist())
    return f"[{first}{', ...' if array.size > 5 else ''}]"


def short(value: Any) -> str:
    """A value as Python writes it, or the beginning of that, for messages."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:197]}..."
