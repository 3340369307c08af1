"""Which documents belong to which query."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arguments import (
    FloatArray,
    IntArray,
    as_array,
    finite_vector,
    real_numbers,
    refuse_negative,
    set_fields,
    shown,
    whole_number,
    whole_numbers,
)

_TEXTS: dict[str, Any] = {"U": str, "S": bytes}  # by NumPy's kinds
_NULS: dict[Any, Any] = {str: "\0", bytes: b"\0"}


@dataclass(frozen=True, eq=False)
class QueryGroups:
    """The partition of consecutive documents into queries.

    Build one with :meth:`from_sizes` (as LightGBM's ``group``), :meth:`from_query_ids` (one id per document,
    documents of a query adjacent) or :meth:`from_offsets` (as XGBoost's ``group_ptr``). Queries without
    documents are allowed.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n_queries + 1,)
        Documents of query ``q`` are ``offsets[q]:offsets[q + 1]``.

    Raises
    ------
    TypeError, ValueError
        If offsets are not whole numbers up to 2^53, do not start with 0, fall, or hold no query.

    Examples
    --------
    >>> from boostsoft import QueryGroups
    >>> QueryGroups.from_sizes([2, 3]).offsets
    array([0, 2, 5])
    >>> QueryGroups.from_query_ids(["a", "a", "b"]) == QueryGroups.from_sizes([2, 1])
    True
    """

    offsets: IntArray

    def __post_init__(self) -> None:
        offsets = whole_numbers("QueryGroups", "offsets", self.offsets)
        if offsets.size < 2 or offsets[0] != 0:
            raise ValueError(f"QueryGroups: offsets must start with 0 and hold a query at least; got {shown(offsets)}")
        falls = offsets[1:] < offsets[:-1]  # a difference could overflow
        if falls.any():
            at = int(np.argmax(falls))
            raise ValueError(
                f"QueryGroups: offsets must not fall; got {offsets[at]} then {offsets[at + 1]} at position {at + 1}"
            )
        offsets.setflags(write=False)
        set_fields(self, {"offsets": offsets})

    @classmethod
    def from_sizes(cls, sizes: ArrayLike, n_docs: int | None = None) -> QueryGroups:
        """Build from the number of documents of each query, checked against ``n_docs`` if given.

        Parameters
        ----------
        sizes : (n_queries,)
            Whole numbers of at least 0, one at least.
        n_docs : int, optional
            What they must add up to.

        Raises
        ------
        TypeError, ValueError
            If sizes are not as described or add up to another number.
        """
        return cls(_offsets_from_sizes("QueryGroups.from_sizes", "sizes", sizes, n_docs))

    @classmethod
    def from_query_ids(cls, qid: ArrayLike) -> QueryGroups:
        """Build from one query id per document; a query's documents must be adjacent.

        Parameters
        ----------
        qid : (n_docs,)
            Numbers, texts or dates, one at least; queries are in the order in which they appear.

        Raises
        ------
        TypeError, ValueError
            If ids are not as described, or one is missing (NaN, None, NaT) or infinite, or comes back after another
            query.
        """
        return cls(_offsets_from_ids("QueryGroups.from_query_ids", qid))

    @classmethod
    def from_offsets(cls, offsets: ArrayLike) -> QueryGroups:
        """Build from the place where each query begins, with the number of documents behind them.

        Parameters
        ----------
        offsets : (n_queries + 1,)
            Whole numbers that start with 0 and never fall.

        Raises
        ------
        TypeError, ValueError
            If offsets are not as described.
        """
        return cls(as_array("QueryGroups.from_offsets", "offsets", offsets))

    @cached_property
    def sizes(self) -> IntArray:
        """Documents of each query, shape (n_queries,), not to be written to."""
        sizes = np.diff(self.offsets)
        sizes.setflags(write=False)
        return sizes

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.offsets.size - 1)

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return int(self.offsets[-1])

    def per_document(self, values: ArrayLike) -> NDArray[Any]:
        """Repeat one value per query for each of its documents."""
        found = as_array("QueryGroups", "values", values)
        if found.shape != (self.n_queries,):
            raise ValueError(f"QueryGroups: values must be one per query, {self.n_queries}; got shape {found.shape}")
        return np.repeat(found, self.sizes)

    @cached_property
    def _filled(self) -> tuple[IntArray, IntArray]:
        """The queries that have documents, and where these begin."""
        filled = np.flatnonzero(self.sizes > 0)
        return filled, self.offsets[filled]

    def _reduced(self, reduce: np.ufunc, values: ArrayLike, initial: Any, dtype: Any = None) -> NDArray[Any]:
        """One value per query from those of its documents; ``initial`` for a query without documents."""
        values = real_numbers("QueryGroups", "values", values)
        if values.shape != (self.n_docs,):
            raise ValueError(f"QueryGroups: values must be one per document, {self.n_docs}; got shape {values.shape}")
        found = np.full(self.n_queries, initial)
        filled, starts = self._filled
        if filled.size:
            found[filled] = reduce.reduceat(values, starts, dtype=dtype)
        return found

    def sums(self, values: ArrayLike) -> FloatArray:
        """Sum one value per document over each query; 0 for a query without documents."""
        return self._reduced(np.add, values, 0.0)

    def means(self, values: ArrayLike) -> FloatArray:
        """Mean of one value per document over each query; 0 for a query without documents."""
        return self.sums(values) / np.maximum(self.sizes, 1)

    def counts(self, marks: ArrayLike) -> IntArray:
        """How many documents of each query are marked, by booleans."""
        marked = as_array("QueryGroups", "marks", marks)
        if marked.dtype != np.bool_:
            raise TypeError(f"QueryGroups: marks must hold booleans; got dtype {marked.dtype}")
        narrow = np.int32 if self.n_docs < 2**31 else np.int64  # half the memory is twice the speed
        return self._reduced(np.add, marked.view(np.int8), np.int64(0), narrow)

    def largest(self, values: ArrayLike, initial: float) -> FloatArray:
        """The largest value of each query; ``initial`` for a query without documents."""
        return self._reduced(np.maximum, values, initial)

    def smallest(self, values: ArrayLike, initial: float) -> FloatArray:
        """The smallest value of each query; ``initial`` for a query without documents."""
        return self._reduced(np.minimum, values, initial)

    def differ(self, values: ArrayLike) -> NDArray[np.bool_]:
        """Which queries have documents of different values."""
        different: NDArray[np.bool_] = self.largest(values, 0.0) > self.smallest(values, 0.0)
        return different

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QueryGroups) and np.array_equal(self.offsets, other.offsets)

    def __hash__(self) -> int:
        return hash(self.offsets.tobytes())

    def __reduce__(self) -> tuple[type[QueryGroups], tuple[IntArray]]:
        return QueryGroups, (self.offsets,)  # a copied array would be writable

    def __repr__(self) -> str:
        return f"QueryGroups({self.n_queries} queries, {self.n_docs} documents)"


def resolve_groups(caller: str, n_docs: int, group: Any = None, qid: Any = None) -> QueryGroups:
    """Build the groups from whichever of ``group`` (sizes or QueryGroups) and ``qid`` was given."""
    if group is not None and qid is not None:
        raise ValueError(f"{caller}: give group= (documents per query) or qid= (one id per document), not both")
    if isinstance(group, QueryGroups):
        if group.n_docs != n_docs:
            raise ValueError(
                f"{caller}: group must hold as many documents as there are labels, {n_docs}; got {group!r}"
            )
        return group
    if group is not None:
        return QueryGroups(_offsets_from_sizes(caller, "group", group, n_docs))
    if qid is not None:
        groups = QueryGroups(_offsets_from_ids(caller, qid))
        if groups.n_docs != n_docs:
            sizes = as_array(caller, "qid", qid)
            swapped = sizes.dtype.kind in "iu" and sizes.sum() == n_docs
            raise ValueError(
                f"{caller}: qid must have one id per document, {n_docs}; got {groups.n_docs}"
                f"{'. Documents per query are group=' if swapped else ''}"
            )
        return groups
    warn_of_one_query(caller, 4)  # this, the metric's check, the metric's method, the user's line
    return QueryGroups.from_sizes([n_docs])


def warn_of_one_query(caller: str, stacklevel: int) -> None:
    """Warn that no queries were given; ``stacklevel`` counts from whoever calls this, as ``warnings.warn`` does."""
    warnings.warn(f"{caller}: neither group= nor qid= was given: all rows are one query", stacklevel=stacklevel + 1)


def query_weights(caller: str, weights: Any, groups: QueryGroups, argument: str = "query_weight") -> FloatArray:
    """One non-negative weight per query, not all 0; ones if None."""
    if weights is None:
        return np.ones(groups.n_queries)
    vector = finite_vector(caller, argument, weights, groups.n_queries, "query")
    refuse_negative(caller, argument, vector)
    if not vector.any():
        raise ValueError(f"{caller}: {argument} must not be 0 for every query")
    return np.array(vector)  # the user's own may change while ours is kept


def _offsets_from_sizes(caller: str, argument: str, sizes: Any, n_docs: int | None) -> IntArray:
    counts = whole_numbers(caller, argument, sizes)
    wanted = None if n_docs is None else whole_number(caller, "n_docs", n_docs, 0)
    if counts.size == 0:
        raise ValueError(f"{caller}: {argument} must not be empty")
    refuse_negative(caller, argument, counts)
    offsets: IntArray = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    if wanted is not None and offsets[-1] != wanted:
        raise ValueError(
            f"{caller}: {argument} must add up to the number of documents, {wanted}; "
            f"got {counts.size} sizes that add up to {offsets[-1]}"
            f"{'. One id per document is qid=' if counts.size == wanted > 1 and argument == 'group' else ''}"
        )
    return offsets


def _offsets_from_ids(caller: str, qid: Any) -> IntArray:
    ids = read_ids(caller, qid)
    if ids.ndim != 1 or ids.size == 0:
        raise ValueError(f"{caller}: qid must be one-dimensional and not empty; got shape {ids.shape}")
    refuse_missing_ids(caller, ids)
    starts = run_starts(ids)
    names = ids[starts].tolist()
    if len(set(names)) < len(names):
        _refuse_second_run(caller, names, starts.tolist())
    offsets: IntArray = np.concatenate([starts, [ids.size]])
    return offsets


def read_ids(caller: str, qid: Any) -> NDArray[Any]:
    """Query ids as an array; those of a list as they are, where NumPy would make texts or floats of some of them.

    It leaves out the NULs at the end of a text, of polars' as well.
    """
    instants = _instants_of_zone(qid)
    if instants is not None:
        return _times_of_zone(qid, instants)
    ids = as_array(caller, "qid", qid)
    kind = _TEXTS.get(ids.dtype.kind)
    if kind is not None and hasattr(qid, "to_list"):
        return np.array(qid.to_list(), dtype=object) if _are_altered(kind, list(qid.unique())) else ids
    if not isinstance(qid, (list, tuple)):
        return ids
    if kind is not None:
        altered = _are_altered(kind, qid)
    else:
        whole = ids.dtype.kind == "f" and any(issubclass(one, (int, np.integer)) for one in set(map(type, qid)))
        altered = whole and any(isinstance(one, (int, np.integer)) and abs(one) > 2**53 for one in qid)
    return np.array(qid, dtype=object) if altered else ids


def _instants_of_zone(column: Any) -> IntArray | None:
    """The times of a column of pandas in a time zone, its own or Arrow's, as whole numbers; None of other columns."""
    dtype: Any = getattr(column, "dtype", None)
    if getattr(dtype, "tz", None) is not None:
        return np.asarray(column, dtype.base).view(np.int64)
    if getattr(getattr(dtype, "pyarrow_dtype", None), "tz", None) is None:
        return None
    numbers = getattr(column, "array", column).__arrow_array__().cast("int64")  # pandas would ask each for its zone
    return np.asarray(numbers.fill_null(np.iinfo(np.int64).min))


def _times_of_zone(column: Any, instants: IntArray) -> NDArray[Any]:
    """Times of a time zone as pandas' objects, one for all rows of a time: one of each row took five times as long.

    To make an object takes 3 µs, and as much its hash, which it then remembers.
    """
    _, first, place = np.unique(instants, return_index=True, return_inverse=True)
    distinct: NDArray[Any] = np.asarray(getattr(column, "array", column)[first], object)
    return distinct[place]


def _are_altered(kind: Any, values: Sequence[Any]) -> bool:
    """Whether NumPy's texts are others than these values: some are no texts, or end with NULs.

    The few types and all texts joined say so first: to ask each value took longer than to read it.
    """
    if not all(issubclass(one, kind) for one in set(map(type, values))):
        return True
    nul = _NULS[kind]
    return nul in kind().join(values) and any(text.endswith(nul) for text in values)


def order_within(groups: QueryGroups, keys: NDArray[Any]) -> IntArray:
    """The documents by ascending key within each query, those of equal keys in the order of the data."""
    return np.lexsort((keys, groups.per_document(np.arange(groups.n_queries))))


def run_starts(ids: NDArray[Any]) -> IntArray:
    """Where runs of one id begin."""
    return np.flatnonzero(np.append(True, ids[1:] != ids[:-1])[: ids.size])


def run_sizes(ids: NDArray[Any]) -> IntArray:
    """How long runs of one id are."""
    return np.diff(run_starts(ids), append=ids.size)


def places_of_ids(ids: NDArray[Any]) -> IntArray:
    """The place of each row's id among the distinct ones, in the order in which they first come.

    >>> places_of_ids(np.array(["b", "a", "b"]))
    array([0, 1, 0])
    """
    known: dict[Any, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in ids.tolist()], np.int64)


def _refuse_second_run(caller: str, names: list[Any], starts: list[int]) -> None:
    firsts: dict[Any, int] = {}
    for name, start in zip(names, starts, strict=True):
        if name in firsts:
            raise ValueError(
                f"{caller}: documents of a query must be adjacent; qid {name!r} of position {firsts[name]} "
                f"comes back at position {start} after another query: sort the rows by qid"
            )
        firsts[name] = start


def refuse_missing_ids(caller: str, ids: NDArray[Any], argument: str = "qid") -> None:
    """Raise if an id is NaN, infinite, NaT, None or another kind of NA."""
    missing = np.zeros(ids.size, dtype=np.bool_)
    if ids.dtype.kind in "fc":
        missing |= ~np.isfinite(ids)
    elif ids.dtype.kind == "V":  # records, and floats that are none of NumPy's
        missing |= ids != ids
    elif ids.dtype.kind in "Mm":
        missing |= np.isnat(ids)
    elif ids.dtype.kind in "OT":  # T: NumPy's texts of any length, among which a missing one may be anything
        values = ids.tolist()
        try:
            distinct = set(values)
        except TypeError as error:
            raise TypeError(f"{caller}: {argument} must hold numbers, texts or dates: {error}") from error
        if not set(map(type, distinct)) <= {str, int}:  # none of which is missing
            odd = {value for value in distinct if not _equals_itself(value) or _is_infinite(value)}
            if odd:
                missing |= [value in odd for value in values]
    if missing.any():
        at = int(np.argmax(missing))
        raise ValueError(f"{caller}: {argument} must not be missing or infinite; got {ids[at]} at position {at}")


def _equals_itself(value: Any) -> bool:
    same = value == value  # NaN and NaT give False, and pandas' NA gives NA
    return value is not None and isinstance(same, (bool, np.bool_)) and bool(same)


def _is_infinite(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and bool(np.isinf(value))
