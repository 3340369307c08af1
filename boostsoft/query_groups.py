"""Which documents belong to which query, and the one place where the user's arrays are checked.

Everything behind this module may assume contiguous float64 arrays, finite values and offsets that add up.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


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
        offsets = _whole_numbers(self.offsets, "QueryGroups", "offsets")
        if offsets.size == 0 or offsets[0] != 0:
            raise ValueError(f"QueryGroups: offsets must start with 0; got {_head(offsets)}")
        if np.any(np.diff(offsets) < 0):
            at = int(np.argmax(np.diff(offsets) < 0))
            raise ValueError(
                f"QueryGroups: offsets must not fall; got {offsets[at]} then {offsets[at + 1]} at position {at + 1}"
            )
        offsets.setflags(write=False)
        object.__setattr__(self, "offsets", offsets)

    @classmethod
    def from_sizes(cls, sizes: ArrayLike, n_docs: int | None = None) -> QueryGroups:
        """Build from the number of documents of each query, checked against ``n_docs`` if given."""
        counts = _whole_numbers(sizes, "QueryGroups.from_sizes", "sizes")
        if np.any(counts < 0):
            at = int(np.argmax(counts < 0))
            raise ValueError(
                f"QueryGroups.from_sizes: sizes must not be negative; got {counts[at]} at position {at}"
            )
        if n_docs is not None and int(counts.sum()) != n_docs:
            raise ValueError(
                f"QueryGroups.from_sizes: sizes must add up to the number of documents, {n_docs}; "
                f"got {counts.size} sizes that add up to {int(counts.sum())}"
            )
        return cls(np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]))

    @classmethod
    def from_query_ids(cls, qid: ArrayLike) -> QueryGroups:
        """Build from one query id per document; a query's documents must be adjacent."""
        ids = np.asarray(qid)
        if ids.ndim != 1 or ids.size == 0:
            raise ValueError(
                f"QueryGroups.from_query_ids: qid must be one-dimensional and not empty; got shape {ids.shape}"
            )
        if ids.dtype.kind == "f" and not np.isfinite(ids).all():
            at = int(np.argmin(np.isfinite(ids)))
            raise ValueError(f"QueryGroups.from_query_ids: qid must be finite; got {ids[at]} at position {at}")
        starts = np.concatenate([[0], np.flatnonzero(ids[1:] != ids[:-1]) + 1])
        firsts: dict[Any, int] = {}
        for start in starts.tolist():
            name = ids[start].item() if hasattr(ids[start], "item") else ids[start]
            if name in firsts:
                raise ValueError(
                    f"QueryGroups.from_query_ids: documents of a query must be adjacent; qid {name!r} of position "
                    f"{firsts[name]} comes back at position {start} after another query"
                )
            firsts[name] = start
        return cls(np.concatenate([starts, [ids.size]]))

    @classmethod
    def from_offsets(cls, offsets: ArrayLike) -> QueryGroups:
        """Build from the place where each query begins, with the number of documents behind them."""
        return cls(np.asarray(offsets))

    @property
    def sizes(self) -> IntArray:
        """Documents of each query, shape (n_queries,)."""
        return np.diff(self.offsets)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.offsets.size - 1)

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return int(self.offsets[-1])

    def per_document(self, values: NDArray[Any]) -> NDArray[Any]:
        """Repeat one value per query for each of its documents."""
        return np.repeat(values, self.sizes)

    def sums(self, values: FloatArray) -> FloatArray:
        """Sum one value per document over each query; 0 for a query without documents."""
        totals = np.zeros(self.n_queries)
        filled = np.flatnonzero(self.sizes > 0)
        if filled.size:
            totals[filled] = np.add.reduceat(values, self.offsets[filled])
        return totals

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QueryGroups) and np.array_equal(self.offsets, other.offsets)

    def __hash__(self) -> int:
        return hash(self.offsets.tobytes())

    def __repr__(self) -> str:
        return f"QueryGroups({self.n_queries} queries, {self.n_docs} documents)"


def resolve_groups(caller: str, n_docs: int, group: Any = None, qid: Any = None) -> QueryGroups:
    """Groups from whichever of ``group`` (sizes or QueryGroups) and ``qid`` was given."""
    if group is not None and qid is not None:
        raise ValueError(f"{caller}: give group= (documents per query) or qid= (one id per document), not both")
    if isinstance(group, QueryGroups):
        if group.n_docs != n_docs:
            raise ValueError(f"{caller}: group holds {group.n_docs} documents; got {n_docs} labels")
        return group
    if group is not None:
        return QueryGroups.from_sizes(group, n_docs)
    if qid is not None:
        groups = QueryGroups.from_query_ids(qid)
        if groups.n_docs != n_docs:
            raise ValueError(f"{caller}: qid must have one id per document, {n_docs}; got {groups.n_docs}")
        return groups
    warnings.warn(f"{caller}: neither group= nor qid= was given: all rows are one query", stacklevel=3)
    return QueryGroups.from_sizes([n_docs])


def finite_vector(caller: str, argument: str, values: Any, n: int | None = None, what: str = "document") -> FloatArray:
    """A contiguous float64 vector of finite numbers, of length ``n`` if given."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        kind = array.dtype
        raise TypeError(f"{caller}: {argument} must hold numbers; got dtype {kind}")
    if array.ndim != 1:
        raise ValueError(f"{caller}: {argument} must be one-dimensional; got shape {array.shape}")
    if n is not None and array.size != n:
        raise ValueError(f"{caller}: {argument} must have one value per {what}, {n}; got {array.size}")
    if array.size == 0:
        raise ValueError(f"{caller}: {argument} must not be empty")
    vector: FloatArray = np.ascontiguousarray(array, dtype=np.float64)
    if not np.isfinite(vector).all():
        at = int(np.argmin(np.isfinite(vector)))
        raise ValueError(f"{caller}: {argument} must be finite; got {vector[at]} at position {at}")
    return vector


def query_weights(caller: str, weights: Any, groups: QueryGroups) -> FloatArray:
    """One non-negative weight per query, not all 0; ones if None."""
    if weights is None:
        return np.ones(groups.n_queries)
    vector = finite_vector(caller, "query_weight", weights, groups.n_queries, "query")
    if np.any(vector < 0):
        at = int(np.argmax(vector < 0))
        raise ValueError(f"{caller}: query_weight must not be negative; got {vector[at]} at position {at}")
    if not vector.any():
        raise ValueError(f"{caller}: query_weight must not be 0 for every query")
    return vector


def positive_number(caller: str, argument: str, value: Any) -> float:
    """A finite float above 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{caller}: {argument} must be a number; got {value!r}")
    if not 0.0 < float(value) < np.inf:
        raise ValueError(f"{caller}: {argument} must be finite and above 0; got {value!r}")
    return float(value)


def one_of(caller: str, argument: str, value: Any, known: Any) -> str:
    """One of the known names."""
    if value not in known:
        raise ValueError(f"{caller}: {argument} must be one of {', '.join(map(repr, known))}; got {value!r}")
    return str(value)


def _whole_numbers(values: ArrayLike, caller: str, argument: str) -> IntArray:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{caller}: {argument} must be one-dimensional; got shape {array.shape}")
    if array.size and array.dtype.kind not in "iu" and (
        array.dtype.kind != "f" or not np.isfinite(array).all() or np.any(array != np.floor(array))
    ):
        raise TypeError(f"{caller}: {argument} must be whole numbers; got {_head(array)} of dtype {array.dtype}")
    return np.array(array, dtype=np.int64)


def _head(array: NDArray[Any]) -> str:
    shown = ", ".join(str(value) for value in array[:5].tolist())
    return f"[{shown}{', ...' if array.size > 5 else ''}]"
