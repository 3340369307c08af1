"""From the user's X to a matrix of numbers, the same way in fit and in predict.

Frames are read by what they can do, not by what they are, so that neither pandas nor polars is imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..arguments import naming, refuse_lazy, short, whole_number
from ..frames import (
    as_checkable,
    column_of,
    columns_of,
    float_of,
    is_frame,
    is_of_texts,
    is_of_times,
    number_matrix,
    refuse_same_names,
    table_matrix,
)
from ..query_groups import read_ids

_MOST_IN_FLOAT32 = 2**24
_MANY_COLUMNS = 1000
_COUNTED = 2**18  # entries at a time
# beside categories the numbers of so few rows are read all at once: reading 100 columns one by one takes longer than
# scoring 50 documents; of more rows that would be a second copy of the numbers
_FEW_ROWS = 4096
_SURELY = 10  # times the documents of a leaf: LightGBM counts in a sample, and not on which side of zero they are
CHECKS = {"dtype": [np.float64, np.float32], "accept_sparse": "csr", "ensure_all_finite": "allow-nan"}


@dataclass(frozen=True)
class Features:
    """A matrix as the boosters take it.

    Attributes
    ----------
    matrix : (n_docs, n_features), dense or CSR; categories as their codes, missing values as NaN.
    names : of the features, None if they have none.
    categorical : positions of the features that hold codes.
    from_sparse : whether the training data was sparse, so that XGBoost has taken zeros as missing.
    """

    matrix: Any
    names: tuple[str, ...] | None
    categorical: tuple[int, ...]
    from_sparse: bool

    def rows(self, rows: Any) -> Features:
        """Some of the rows; all as they are for None."""
        return self if rows is None else Features(self.matrix[rows], self.names, self.categorical, self.from_sparse)


def are_mostly_rare(features: Features, least: int) -> bool:
    """Whether most of many columns hold values in fewer documents than the ``least`` of a leaf.

    Hardly any leaf is split by such a one, the words of a text, say, and LightGBM takes several times as long with them
    as where it is told to leave them out. Not if no column is sure to stay, for without any it ends with an error.
    """
    matrix = features.matrix
    if not sparse.issparse(matrix) or matrix.shape[1] < _MANY_COLUMNS:
        return False
    filled = _filled(matrix)
    stays = (filled >= _SURELY * least) & (filled <= matrix.shape[0] - least)
    return bool(stays.any() and 2 * np.count_nonzero(filled < least) > filled.size)


def _filled(matrix: Any) -> NDArray[np.int64]:
    """In how many rows each column of a sparse matrix is not zero; by blocks, since counting copies what it counts."""
    filled = np.zeros(matrix.shape[1], np.int64)
    for begin in range(0, matrix.data.size, _COUNTED):
        part = slice(begin, begin + _COUNTED)
        filled += np.bincount(matrix.indices[part][matrix.data[part] != 0], minlength=filled.size)
    return filled


@dataclass(frozen=True)
class Encoder:
    """How columns become features.

    Attributes
    ----------
    qid_column : position of the column of X that holds the query ids, None if there is none.
    names : of all columns of X, None if they have none.
    categories : the categories of each categorical column, by its position.
    sparse : whether X of fit was sparse.
    """

    qid_column: int | None
    names: tuple[str, ...] | None
    categories: dict[int, tuple[Any, ...]]
    sparse: bool

    @classmethod
    def learn(cls, ranker: Any, X: Any, qid_column: int | None) -> Encoder:
        """Remember the columns of the X of fit, by the names that the ranker has of them (:func:`checked_columns`)."""
        names = getattr(ranker, "feature_names_in_", None)
        categories = {}
        if is_frame(X):
            for position, column in enumerate(columns_of(X)):
                if _is_categorical(column) and position != qid_column:
                    categories[position] = _categories(column)
        return cls(qid_column, None if names is None else tuple(names), categories, bool(sparse.issparse(X)))

    def encode(self, caller: str, X: Any) -> Features:
        """The features of an X that scikit-learn's checks have passed (:func:`checked_columns`)."""
        positions = self._feature_positions(X.shape[1])
        if is_frame(X):
            matrix = self._from_frame(caller, X)
        elif self.categories:
            raise ValueError(
                f"{caller}: X must be a frame, as in fit, since {self._title(min(self.categories))} holds categories; "
                f"got {type(X).__name__}"
            )
        else:
            matrix = X if self.qid_column is None else X[:, positions]
        names = None if self.names is None else tuple(self.names[position] for position in positions)
        categorical = tuple(at for at, position in enumerate(positions) if position in self.categories)
        return Features(matrix, names, categorical, self.sparse)

    @cached_property
    def _places(self) -> dict[int, dict[Any, float]]:
        """The code of each category of each categorical column: to list them takes longer than to score a few rows."""
        return {
            position: {category: float(at) for at, category in enumerate(categories)}
            for position, categories in self.categories.items()
        }

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_places"}

    def spread_out(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """One value per feature as one per column of X: 0 for the query ids."""
        return values if self.qid_column is None else np.insert(values, self.qid_column, 0.0)

    def _feature_positions(self, n_columns: int) -> list[int]:
        return [position for position in range(n_columns) if position != self.qid_column]

    def _from_frame(self, caller: str, X: Any) -> NDArray[Any]:
        positions = self._feature_positions(X.shape[1])
        plain = [position for position in positions if position not in self.categories]
        at_once = bool(plain) and (not self.categories or X.shape[0] <= _FEW_ROWS)
        numbers = number_matrix(X if len(plain) == X.shape[1] else _select(X, plain)) if at_once else None
        if numbers is not None and not self.categories:
            return self._checked(caller, numbers)
        kinds: list[Any] = [_float_of_codes(categories) for categories in self.categories.values()]
        kinds += [float_of(column_of(X, at).dtype) for at in plain] if numbers is None else [numbers.dtype]
        matrix = np.empty((X.shape[0], len(positions)), np.result_type(np.float32, *kinds))
        if numbers is not None:
            matrix[:, np.searchsorted(positions, plain)] = numbers
        for at, position in enumerate(positions):
            title = self._title(position)
            if position in self.categories:
                matrix[:, at] = _codes(caller, title, column_of(X, position), self._places[position])
            elif numbers is None:
                matrix[:, at] = _numbers(caller, title, column_of(X, position))
        return self._checked(caller, matrix)

    def _checked(self, caller: str, matrix: NDArray[Any]) -> NDArray[Any]:
        from sklearn.utils import check_array  # takes a second to load, and the command line has no frames

        with naming(caller, "X"):
            checked: NDArray[Any] = check_array(matrix, input_name="X", **CHECKS)
        return checked

    def _title(self, position: int) -> str:
        return f"column {position}" if self.names is None else f"column {self.names[position]!r}"


def checked_columns(caller: str, ranker: Any, X: Any, *, reset: bool) -> Any:
    """X after scikit-learn's checks of shape and names: an array, a CSR matrix, or the frame itself.

    With ``reset`` it is the X of fit, and sets the ranker's ``n_features_in_`` and ``feature_names_in_``.
    """
    from sklearn.utils import check_array
    from sklearn.utils.validation import validate_data

    refuse_lazy(caller, "X", X)
    if hasattr(X, "get_label"):  # a Dataset or a DMatrix
        raise TypeError(
            f"{caller}: X must be an array, a sparse matrix or a DataFrame, with labels and queries beside it; got "
            f"{type(X).__name__}"
        )
    least = 2 if reset else 1  # one document alone has nothing to be ranked against
    if not is_frame(X):
        given = as_checkable(caller, "X", X)
        own = getattr(given, "dtype", np.float64)  # of narrow whole numbers, too, half the memory holds all
        floats = [np.float32, np.float64] if float_of(own) is np.float32 else [np.float64, np.float32]
        numbers = table_matrix(given)
        with naming(caller, "X"):
            if numbers is not None:
                validate_data(ranker, given, reset=reset, skip_check_array=True)
                return check_array(numbers, ensure_min_samples=least, input_name="X", estimator=ranker, **CHECKS)
            checked = validate_data(ranker, given, reset=reset, ensure_min_samples=least, **{**CHECKS, "dtype": floats})
        return _one_of_each(sparse.csr_matrix(checked)) if sparse.issparse(checked) else checked
    refuse_same_names(caller, "X", X)
    with naming(caller, "X"):
        validate_data(ranker, X, reset=reset, skip_check_array=True)
        if X.shape[0] < least or X.shape[1] == 0:
            check_array(np.empty(X.shape), ensure_min_samples=least, input_name="X", estimator=ranker)  # raises
    return X


def _one_of_each(matrix: Any) -> Any:
    """A CSR matrix, which LightGBM knows and SciPy's arrays not, whose entries of one place are added up."""
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def find_column(caller: str, ranker: Any, X: Any, column: Any) -> int | None:
    """The position of ``qid_column`` in X, of whose names the ranker knows those that are text."""
    if column is None:
        return None
    if X.shape[1] == 1:
        raise ValueError(f"{caller}: X must have a feature besides qid_column; got one column")
    if isinstance(column, str):
        names = list(X.columns if is_frame(X) else getattr(ranker, "feature_names_in_", ()))
        if column not in names:
            raise ValueError(
                f"{caller}: qid_column must be a column of X; got {column!r} and "
                f"{f'columns {names}' if names else 'an X without column names'}"
            )
        return int(names.index(column))
    if isinstance(column, bool) or not isinstance(column, (int, np.integer)):
        raise TypeError(f"{caller}: qid_column must be the name or the number of a column of X; got {short(column)}")
    n_columns = X.shape[1]
    position = int(whole_number(caller, "qid_column", column, -n_columns, n_columns - 1) % n_columns)
    names = list(X.columns) if is_frame(X) else []
    if column in names and names.index(column) != position:
        raise ValueError(
            f"{caller}: qid_column must tell one column; got {column}, the name of column {names.index(column)} and "
            f"the number of column {names[position]!r}: make the names texts"
        )
    return position


def ids_in(caller: str, X: Any, position: int) -> NDArray[Any]:
    """The query ids that stand in a column of X."""
    if is_frame(X):
        return read_ids(caller, column_of(X, position))
    column = X[:, [position]]
    ids = np.ravel(column.toarray() if sparse.issparse(column) else column)
    bits = np.finfo(ids.dtype).nmant + 1  # of a whole number that is a float's; 2^bits may have been the next one
    large = np.abs(ids) >= 2.0**bits
    if large.any():
        raise ValueError(
            f"{caller}: query ids in an array of {ids.dtype} must be below 2^{bits}; got {ids[np.argmax(large)]:.0f}: "
            "give X as a frame, or the ids as qid="
        )
    return ids


def _select(frame: Any, positions: list[int]) -> Any:
    return frame[:, positions] if hasattr(frame, "get_columns") else frame.iloc[:, positions]


def _is_categorical(column: Any) -> bool:
    return str(column.dtype).startswith(("category", "Categorical", "Enum"))


def _categories(column: Any) -> tuple[Any, ...]:
    """Pandas' own, so that codes are its codes; in polars, which may share them among columns, those that occur."""
    if hasattr(column.cat, "categories"):
        return tuple(column.cat.categories.to_list())
    return tuple(sorted(column.unique().drop_nulls().to_list()))


def _float_of_codes(categories: tuple[Any, ...]) -> type[np.floating[Any]]:
    return np.float32 if len(categories) <= _MOST_IN_FLOAT32 else np.float64


def _codes(caller: str, title: str, column: Any, places: dict[Any, float]) -> NDArray[np.float64]:
    """The codes of fit; what fit has not seen is missing, and raises if it is numbers for texts or the reverse."""
    values, positions = _values(column)
    codes = np.array([places.get(value, np.nan) for value in values])
    unseen = np.isnan(codes)
    if places and unseen.any():
        known = {_is_text(category) for category in places}
        for value in [values[at] for at in np.unique(positions[unseen[positions]])]:
            if _is_text(value) not in known and (_is_text(value) or (isinstance(value, Number) and value == value)):
                raise ValueError(
                    f"{caller}: {title} held categories in fit, {next(iter(places))!r} for one, of another type than "
                    f"{value!r}; give the values themselves, not their codes"
                )
    found: NDArray[np.float64] = codes[positions]
    return found


def _values(column: Any) -> tuple[list[Any], NDArray[np.integer[Any]]]:
    """Values, and which of them each row holds: categories (in pandas and None), or those of all rows."""
    if _is_categorical(column) and hasattr(column.cat, "codes"):
        categories, codes = column.cat.categories, column.cat.codes.to_numpy()
        if codes.size >= len(categories):
            return [*categories.to_list(), None], codes  # -1, the last, where missing
        held, positions = np.unique(codes, return_inverse=True)
        return [
            None if code < 0 else value for code, value in zip(held, categories[held].to_list(), strict=True)
        ], positions
    if _is_categorical(column) and hasattr(column, "to_physical"):  # polars
        _, first, positions = np.unique(column.to_physical().to_numpy(), return_index=True, return_inverse=True)
        return column.gather(first).to_list(), positions
    values = column.to_list()
    return values, np.arange(len(values))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _numbers(caller: str, title: str, column: Any) -> NDArray[np.float64]:
    dtype, text = column.dtype, str(column.dtype)
    refused = f"{caller}: X must hold numbers and categories; {title} has dtype {text}"
    if _is_categorical(column):
        raise ValueError(f"{caller}: {title} held numbers in fit; got dtype {text}")
    if getattr(dtype, "kind", "O") == "c" or is_of_times(column):
        raise ValueError(f"{refused}; turn it into a number")
    if hasattr(dtype, "is_numeric"):  # polars
        if not (dtype.is_numeric() or text in ("Boolean", "Null")):
            raise ValueError(f"{refused}; make it a category or leave it out")
        numbers: NDArray[np.float64] = column.cast(float).to_numpy()
        return numbers
    if is_of_texts(column):
        raise ValueError(f"{refused}; make it a category or leave it out")
    try:
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{refused}; make it a category or leave it out: {error}") from error
    return numbers
