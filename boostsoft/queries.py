"""Which rows belong to which query, in whatever order they come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arguments import FloatArray, IntArray, as_array, finite_vector, refuse_negative, whole_numbers
from .query_groups import (
    QueryGroups,
    places_of_ids,
    query_weights,
    read_ids,
    refuse_missing_ids,
    resolve_groups,
    run_starts,
)


@dataclass(frozen=True, eq=False)
class Queries:
    """The queries of some rows.

    Attributes
    ----------
    groups : the queries once the rows are in ``order``.
    order : the rows, those of a query together; None if they stand together already.
    ids : the id of each query, in the order of ``groups``; None if there are sizes only.
    named : whether the user said which query a row belongs to; otherwise all rows are one.
    """

    groups: QueryGroups
    order: IntArray | None
    ids: NDArray[Any] | None
    named: bool

    def bring_together(self, rows: Any) -> Any:
        """An array's rows with the documents of a query together."""
        return rows if self.order is None else rows[self.order]

    def in_order(self, values: FloatArray) -> FloatArray:
        """One value per query in the order in which their rows first come, brought into the order of ``groups``."""
        if self.order is None:
            return values
        found = np.empty_like(values)
        found[np.argsort(self.order[self.groups.offsets[:-1]])] = values
        return found

    def name(self, query: int) -> str:
        """What the user calls a query."""
        return f"query {query}" if self.ids is None else f"qid {self.ids[query : query + 1].tolist()[0]!r}"


def read_queries(caller: str, n_docs: int, group: Any, qid: Any) -> Queries:
    """Queries from sizes, from ids in any order, or all rows as one."""
    if group is not None and qid is not None:
        resolve_groups(caller, n_docs, group, qid)  # says which of them to give
    if qid is not None:
        return _from_ids(caller, n_docs, qid)
    if group is None:
        return Queries(QueryGroups.from_sizes([n_docs]), None, None, named=False)
    _refuse_uncut(caller, n_docs, group)
    return Queries(resolve_groups(caller, n_docs, group), None, None, named=True)


def weigh(
    caller: str, queries: Queries, sample_weight: Any, query_weight: Any = None
) -> tuple[Queries, FloatArray | None]:
    """The queries and the weight of each, (n_queries,), from one weight per row or per query.

    Without queries there is one, whose weight would mean nothing: then weights of rows are counts, as scikit-learn has
    it, and a row of weight 2 is there twice.
    """
    if query_weight is not None:
        if sample_weight is not None:
            raise ValueError(f"{caller}: give sample_weight, one per row, or query_weight, one per query, not both")
        weights = queries.in_order(query_weights(caller, query_weight, queries.groups))
        if not weights[queries.groups.sizes > 0].any():
            raise ValueError(f"{caller}: query_weight must not be 0 for every query that has documents")
        return queries, weights
    if sample_weight is None:
        return queries, None
    n_docs, n_queries = queries.groups.n_docs, queries.groups.n_queries
    if as_array(caller, "sample_weight", sample_weight).shape == (n_queries,) != (n_docs,):  # as XGBRanker takes them
        raise ValueError(
            f"{caller}: sample_weight must have one value per row, {n_docs}; got {n_queries}, one per query, as "
            "query_weight= has"
        )
    weights = finite_vector(caller, "sample_weight", sample_weight, n_docs, "row")
    refuse_negative(caller, "sample_weight", weights)
    if not weights.any():
        raise ValueError(f"{caller}: sample_weight must not be zero for every row")
    if queries.named:
        return queries, _per_query(caller, queries.bring_together(weights), queries)
    return _repeated(caller, weights), None


def split_queries(caller: str, groups: QueryGroups, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """The training queries and the validation queries, drawn at random, both rising."""
    filled = np.flatnonzero(groups.sizes > 0)
    if filled.size < 2:
        raise ValueError(
            f"{caller}: validation_fraction needs two queries at least that have documents and a weight above 0; "
            f"got {filled.size}"
        )
    n_valid = min(max(round(share * filled.size), 1), filled.size - 1)
    drawn = np.random.default_rng(seed).permutation(filled)
    return np.sort(drawn[n_valid:]), np.sort(drawn[:n_valid])


def n_relevant(labels: FloatArray, groups: QueryGroups) -> int:
    """How many documents have a label above the least of their query."""
    return int(np.count_nonzero(labels > groups.per_document(groups.smallest(labels, 0.0))))


def _from_ids(caller: str, n_docs: int, qid: Any) -> Queries:
    ids = read_ids(caller, qid)
    if ids.shape != (n_docs,):
        raise ValueError(f"{caller}: qid must have one id per row, {n_docs}; got shape {ids.shape}")
    refuse_missing_ids(caller, ids)
    starts = run_starts(ids)
    sizes = np.diff(starts, append=n_docs)
    runs = _rising(ids[starts])
    first = run_starts(ids[starts[runs]])  # of the runs of each query
    if first.size == starts.size:
        offsets = np.append(starts, n_docs)
        return Queries(QueryGroups.from_offsets(offsets), None, ids[starts], named=True)
    groups = QueryGroups.from_sizes(np.add.reduceat(sizes[runs], first))
    begins = starts[runs] - np.cumsum(sizes[runs]) + sizes[runs]  # less where the run is to begin
    order: IntArray = np.repeat(begins, sizes[runs]) + np.arange(n_docs)
    return Queries(groups, order, ids[starts[runs[first]]], named=True)


def _rising(ids: NDArray[Any]) -> IntArray:
    """The places of ids in rising order, those of equal ones in their own."""
    if ids.dtype != object:
        return np.argsort(ids, kind="stable")
    place = places_of_ids(ids)  # each id is looked up once: of many texts in any order that takes longest
    firsts = np.flatnonzero(np.diff(np.maximum.accumulate(place), prepend=-1))
    rank = np.empty(firsts.size, np.int64)
    rank[_sorted(ids[firsts].tolist())] = np.arange(firsts.size)
    return np.argsort(rank[place], kind="stable")


def _sorted(ids: list[Any]) -> list[int]:
    """The places of different ids in rising order."""
    try:
        return sorted(range(len(ids)), key=ids.__getitem__)
    except TypeError:  # ids of several types have no order: that of their appearance will do
        return list(range(len(ids)))


def _refuse_uncut(caller: str, n_docs: int, group: Any) -> None:
    """Group sizes that describe other rows than these: a fold of a cross-validation cuts rows, not sizes."""
    sizes = group.sizes if isinstance(group, QueryGroups) else whole_numbers(caller, "group", group)
    if sizes.size and sizes.sum() != n_docs:
        remedy = "A cross-validation cuts rows and leaves group whole: give it qid=, one id per row"
        if sizes.size == n_docs:
            remedy = "One id per row is qid="
        raise ValueError(
            f"{caller}: group must add up to the number of rows, {n_docs}; got {sizes.size} sizes that add up to "
            f"{sizes.sum()}. {remedy}"
        )


def _per_query(caller: str, weights: FloatArray, queries: Queries) -> FloatArray:
    """The weight that all rows of a query have; 0 for a query without rows."""
    groups = queries.groups
    first = weights[np.minimum(groups.offsets[:-1], weights.size - 1)]
    unequal = weights != groups.per_document(first)
    if unequal.any():
        row = int(np.argmax(unequal))
        query = int(np.searchsorted(groups.offsets, row, side="right")) - 1
        raise ValueError(
            f"{caller}: sample_weight must be the same for all rows of a query; {queries.name(query)} has "
            f"{first[query]} and {weights[row]}"
        )
    return np.where(groups.sizes > 0, first, 0.0)


def _repeated(caller: str, counts: FloatArray) -> Queries:
    """One query of rows that are there as often as their weight says."""
    if np.any(counts != np.floor(counts)):
        at = int(np.argmax(counts != np.floor(counts)))
        raise ValueError(
            f"{caller}: sample_weight must be whole numbers where all rows are one query, since they count its rows; "
            f"got {counts[at]} at position {at}. Weights of queries need qid= or group="
        )
    order: IntArray = np.repeat(np.arange(counts.size), counts.astype(np.int64))
    return Queries(QueryGroups.from_sizes([order.size]), order, None, named=False)
