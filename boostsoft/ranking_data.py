"""The one form in which ranking data arrives, from files or from the embedded task."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arguments import as_array, finite_vector, of_type, real_numbers, refuse_masked, set_fields, whole_numbers

_DOCID = re.compile(r"\bdocid\s*=\s*(\S+)")


@dataclass(frozen=True, eq=False, repr=False)
class RankingData:
    """Documents with features and labels, the documents of a query in adjacent rows.

    Parameters
    ----------
    X : ndarray of shape (n_docs, n_features), float64 or float32
        Features; np.nan where missing. Numbers of other types become float64.
    y : ndarray of shape (n_docs,), float64
        Relevance labels, finite. Numbers of other types become float64.
    qid : ndarray of shape (n_docs,), int64 or str
        The id of each document's query.
    sizes : ndarray of shape (n_queries,), int64
        Documents per query, in row order: what LightGBM calls `group`.
    comments : tuple of n_docs str, optional
        Free text about each document.
    feature_names : tuple of n_features str
        Default: feature_1, feature_2, ..., numbered from 1 as in the files.

    Raises
    ------
    TypeError
        If one of the first four is no array, or X, y or sizes hold no numbers.
    ValueError
        If entries are masked, a label is not finite, the shapes disagree, a size is below 1, or a query's rows have
        different ids.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft.datasets import RankingData
    >>> y, qid, sizes = np.array([0.0, 2.0, 1.0]), np.array([7, 7, 9]), np.array([2, 1])
    >>> data = RankingData(X=np.eye(3), y=y, qid=qid, sizes=sizes)
    >>> data
    RankingData(n_queries=2, n_docs=3, n_features=3)
    >>> data.select_queries([1]).y
    array([1.])
    """

    X: NDArray[Any]
    y: NDArray[np.float64]
    qid: NDArray[Any]
    sizes: NDArray[np.int64]
    comments: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("X", "y", "qid", "sizes"):
            of_type("RankingData", name, getattr(self, name), np.ndarray)
            refuse_masked("RankingData", name, getattr(self, name))
        if self.X.ndim != 2:
            raise ValueError(f"RankingData: X must have two dimensions; got shape {self.X.shape}")
        n_docs, n_features = self.X.shape
        for name, array in (("y", self.y), ("qid", self.qid)):
            if array.shape != (n_docs,):
                raise ValueError(f"RankingData: {name} must have shape ({n_docs},) as X; got {array.shape}")
        sizes = whole_numbers("RankingData", "sizes", self.sizes)
        y = finite_vector("RankingData", "y", self.y) if n_docs else self.y.astype(np.float64)
        set_fields(self, {"X": _as_floats(self.X), "y": y, "sizes": sizes})
        if (self.sizes < 1).any() or int(self.sizes.sum()) != n_docs:
            raise ValueError(
                f"RankingData: sizes must be at least 1 and sum to the {n_docs} rows of X; "
                f"got {self.sizes.size} sizes with sum {self.sizes.sum()}"
            )
        changes = self.qid != np.repeat(self.qid[self._starts()], self.sizes)
        if changes.any():
            row = int(changes.argmax())
            raise ValueError(f"RankingData: qid must not change within a query; got {self.qid[row]} at row {row}")
        try:
            ids, counts = np.unique(self.qid[self._starts()], return_counts=True)
        except TypeError as error:
            raise TypeError("RankingData: qid must be all numbers or all strings; got both") from error
        if ids.size < self.sizes.size:
            raise ValueError(f"RankingData: qid must differ between queries; got {ids[counts > 1][0]} for two of them")
        if self.comments is not None and len(self.comments) != n_docs:
            raise ValueError(f"RankingData: comments must have length {n_docs}; got {len(self.comments)}")
        if not self.feature_names:
            set_fields(self, {"feature_names": tuple(f"feature_{i + 1}" for i in range(n_features))})
        if len(self.feature_names) != n_features:
            raise ValueError(f"RankingData: feature_names must have length {n_features}; got {len(self.feature_names)}")

    def __repr__(self) -> str:
        n_features = self.X.shape[1]
        return f"RankingData(n_queries={self.n_queries}, n_docs={self.n_docs}, n_features={n_features})"

    @property
    def n_docs(self) -> int:
        """Number of documents (rows)."""
        return len(self.y)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.sizes)

    def _starts(self) -> NDArray[np.int64]:
        return np.cumsum(self.sizes) - self.sizes

    def docids(self) -> tuple[str, ...]:
        """Return the document ids that the comments state as `docid = ...`, one per row.

        Raises
        ------
        ValueError
            If there are no comments, or one of them states no docid.
        """
        if self.comments is None:
            raise ValueError("RankingData.docids: comments must be present (load_letor(comments=True)); got None")
        matches = [_DOCID.search(comment) for comment in self.comments]
        if None in matches:
            row = matches.index(None)
            raise ValueError(
                f"RankingData.docids: every comment must state 'docid = ...'; got {self.comments[row]!r} at row {row}"
            )
        return tuple(match[1] for match in matches if match)

    def select_queries(self, queries: ArrayLike) -> RankingData:
        """Return the data of some queries.

        Parameters
        ----------
        queries : array-like of shape (n_queries,), bool, or array-like of int
            A mask, or distinct positions 0..n_queries - 1; the result has them in the given order.

        Returns
        -------
        RankingData
            A copy of those rows.

        Raises
        ------
        ValueError
            If nothing is selected, the mask has another length, or a position is outside or repeated (one
            query twice would read as a single longer query where ids are used).
        """
        chosen = _query_positions(as_array("RankingData.select_queries", "queries", queries), self.n_queries)
        sizes = self.sizes[chosen]
        offset_in_result = np.cumsum(sizes) - sizes
        rows = np.arange(sizes.sum()) + np.repeat(self._starts()[chosen] - offset_in_result, sizes)
        comments = None if self.comments is None else tuple(self.comments[row] for row in rows.tolist())
        return RankingData(self.X[rows], self.y[rows], self.qid[rows], sizes, comments, self.feature_names)


def _query_positions(queries: NDArray[Any], n_queries: int) -> NDArray[np.int64]:
    """Turn a mask or positions into checked positions."""
    name = "RankingData.select_queries: queries"
    if queries.dtype == np.bool_:
        if queries.shape != (n_queries,):
            raise ValueError(f"{name} as a mask must have shape ({n_queries},); got {queries.shape}")
        if not queries.any():
            raise ValueError(f"{name} as a mask must be True for at least one query; it is False for all {n_queries}")
        queries = np.flatnonzero(queries)
    if queries.ndim != 1 or queries.size == 0 or queries.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must select at least one query by a mask or a one-dimensional array of integers; "
            f"got dtype {queries.dtype} and shape {queries.shape}"
        )
    outside = (queries < 0) | (queries >= n_queries)
    if outside.any():
        raise ValueError(f"{name} must be within 0..{n_queries - 1}; got {queries[outside][0]}")
    values, counts = np.unique(queries, return_counts=True)
    if len(values) < len(queries):
        raise ValueError(f"{name} must be distinct; got {values[counts > 1][0]} more than once")
    return queries.astype(np.int64)


def _as_floats(X: NDArray[Any]) -> NDArray[Any]:
    """Features in one of the two types that readers of files give."""
    numbers = real_numbers("RankingData", "X", X)
    return numbers if numbers.dtype in (np.float64, np.float32) else numbers.astype(np.float64)
