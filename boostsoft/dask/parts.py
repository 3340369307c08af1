"""Dask collections by their partitions: whole queries and their numbers of documents.

The workers look at their partitions and send back an outline (ids and sizes of queries); the client compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np

from ..arguments import FloatArray, IntArray, as_array, finite_vector, refuse_masked, refuse_negative, short
from ..metrics import Metric
from ..metrics.prepared import prepare
from ..objectives import NothingToLearnError, Objective
from ..objectives.base import NOTHING
from ..pooling import refuse_undivided
from ..query_groups import QueryGroups, read_ids
from ..tracks.live import Recording

_REMEDY = "boostsoft.dask.repartition_by_query(frame) makes queries whole"


@dataclass(frozen=True)
class Outline:
    """What the client knows of one partition: rows of each collection, queries in order, and what is wrong.

    Of the columns of categories it knows a digest of these, by column.
    """

    rows: dict[str, int]
    ids: list[Any]
    sizes: IntArray
    learnable: bool
    wrong: str
    categories: dict[Any, str] = field(default_factory=dict)


def require_dask(caller: str) -> Any:
    """Import Dask, or say which extra brings it."""
    try:
        import dask
        import dask.array
        import dask.dataframe
        import distributed  # noqa: F401
    except ImportError as error:
        raise ImportError(f"{caller}: Dask is not installed: pip install 'boostsoft[dask]' ({error})") from error
    return dask


def parts_of(caller: str, argument: str, collection: Any) -> list[Any]:
    """The partitions of a Dask array, series or frame, as delayed objects in order."""
    dask = require_dask(caller)
    kinds = dask.array.Array, dask.dataframe.DataFrame, dask.dataframe.Series, dask.dataframe.Index
    if not isinstance(collection, kinds):  # which a Bag or a delayed object is not, for all its methods
        raise TypeError(
            f"{caller}: {argument} must be a Dask array, series or frame; got {type(collection).__name__} "
            "(dask.dataframe.from_pandas and dask.array.from_array make one)"
        )
    delayed = collection.to_delayed()
    if isinstance(delayed, np.ndarray):
        if delayed.ndim == 2 and delayed.shape[1] != 1:
            raise ValueError(
                f"{caller}: {argument} must have chunks of all its columns; got {delayed.shape[1]} chunks "
                "of columns (rechunk({1: -1}) joins them)"
            )
        return list(delayed.ravel())
    return list(delayed)


def on_parts(caller: str, collections: Mapping[str, Any], look: Callable[..., Any], *arguments: Any) -> list[Any]:
    """Call a function on the workers with one partition of each collection, a dict by name; the results, in order."""
    dask = require_dask(caller)
    parts = {name: parts_of(caller, name, value) for name, value in collections.items()}
    counts = {name: len(found) for name, found in parts.items()}
    if len(set(counts.values())) > 1:
        raise ValueError(f"{caller}: all data must have the same partitions; got {_listed(counts)} partitions")
    delayed = dask.delayed(look, pure=False)
    by_part = (dict(zip(parts, found, strict=True)) for found in zip(*parts.values(), strict=True))
    return list(dask.compute(*(delayed(part, *arguments) for part in by_part)))


def refuse_undivided_rule(caller: str, rule: Objective | None) -> None:
    """Raise if an objective needs all queries at once."""
    metric, weight = getattr(rule, "metric", None), getattr(rule, "query_weight", None)
    mixed = [also for also, _ in getattr(rule, "mix", ())]
    for one in mixed if metric is None else [metric, *mixed]:
        refuse_undivided(caller, one)
    if weight is not None:
        raise ValueError(
            f"{caller}: the objective must not have query_weight, since no worker knows the place of its queries among "
            f"the others; give weights, one per row; got {len(weight)} weights"
        )


def refuse_recording(caller: str, callbacks: Any) -> None:
    """Raise if a callback would record metrics per query: it would do so on a worker, on what lies there."""
    recording = next((one for one in callbacks or () if isinstance(one, Recording)), None)
    if recording is not None:
        raise ValueError(
            f"{caller}: callbacks must not record metrics per query, since a worker sees a part of the data only, and "
            f"what it records stays there: boostsoft.track_trees does it afterwards; got {recording!r}"
        )


def check_parts(
    caller: str, collections: dict[str, Any], rule: Objective | None = None, *, weigh_queries: bool = False
) -> list[Outline]:
    """Outline every partition, and raise unless queries are whole and all collections have the same rows.

    ``collections`` hold ``qid`` and may hold others, ``weight`` among them; ``rule`` checks the labels, ``y``, as it
    will while training. ``weigh_queries``: all rows of a query must have the same weight.
    """
    outlines: list[Outline] = on_parts(caller, collections, _outline, rule, weigh_queries)
    for place, found in enumerate(outlines):
        if found.wrong:
            raise ValueError(f"{caller}: partition {place}: {found.wrong}")
    _refuse_split(caller, outlines)
    _refuse_unlike_categories(caller, outlines)
    if not any(found.learnable for found in outlines):
        if rule is None:
            raise ValueError(f"{caller}: weight must not be 0 for every row")
        raise NothingToLearnError(NOTHING.format(caller, "whose order matters"))
    return outlines


def group_sizes(qid: Any) -> Any:
    """Documents per query as a Dask array chunked as the partitions are: ``group=`` of ``DaskLGBMRanker.fit``.

    Parameters
    ----------
    qid : Dask array or series
        Query ids of any type, one per row; whole queries.

    Returns
    -------
    dask.array.Array
        Of int64, (n_queries,).

    Raises
    ------
    TypeError
        If ``qid`` is no Dask collection.
    ValueError
        If the rows of a query are not adjacent within one partition.

    Examples
    --------
    >>> import dask.array as da, numpy as np
    >>> import boostsoft.dask as bd
    >>> bd.group_sizes(da.from_array(np.array([7, 7, 7, 9, 9]), chunks=((3, 2),))).compute()
    array([3, 2])
    """
    return sizes_of(check_parts("boostsoft.dask.group_sizes", {"qid": qid}))


def client_of(caller: str, given: Any) -> Any:
    """The client given, or the current one."""
    require_dask(caller)
    from distributed import Client, default_client

    try:
        client = default_client() if given is None else given
    except ValueError:
        raise ValueError(f"{caller}: client must be given, since no distributed.Client is open; got None") from None
    if not isinstance(client, Client) or client.asynchronous:
        raise TypeError(f"{caller}: client must be a distributed.Client that is not asynchronous; got {short(client)}")
    return client


def refuse_wrong_labels(caller: str, argument: str, labels: Any, metrics: Sequence[Metric]) -> None:
    """Raise if labels are not finite, which LightGBM would take for 0, or if one of the metrics refuses them."""
    for place, wrong in enumerate(on_parts(caller, {"y": labels}, _wrong_labels, metrics)):
        if wrong:
            raise ValueError(f"{caller}: {argument}: partition {place}: {wrong}")


def _wrong_labels(part: dict[str, Any], metrics: Sequence[Metric]) -> str:
    try:
        labels = as_array("labels", "y", part["y"]).ravel()
        if labels.size:
            finite_vector("labels", "y", labels)
            single = QueryGroups.from_sizes(np.ones(labels.size, dtype=np.int64))  # a label is right in any query
            for metric in metrics:
                prepare(metric, "labels", labels, single)
    except (TypeError, ValueError) as error:
        return str(error).removeprefix("labels: ")
    return ""


def keep(caller: str, collections: dict[str, Any]) -> dict[str, Any]:
    """Persist, by the current client, what is looked at several times: frames and arrays apart, as Dask wants it."""
    dask = require_dask(caller)
    for name, collection in collections.items():
        parts_of(caller, name, collection)
        if name == "X" and collection.ndim != 2:
            raise ValueError(f"{caller}: X must have a column per feature; got {collection.ndim} dimension")
    kept: dict[str, Any] = {}
    for framed in (True, False):
        alike = {name: found for name, found in collections.items() if hasattr(found, "expr") is framed}
        kept |= zip(alike, dask.persist(*alike.values()), strict=True)
    return {name: kept[name] for name in collections}


def sizes_of(outlines: Sequence[Outline]) -> Any:
    """Documents per query as a Dask array chunked as the partitions are."""
    dask = require_dask("boostsoft.dask.group_sizes")
    chunks = tuple(found.sizes.size for found in outlines)
    return dask.array.from_array(np.concatenate([found.sizes for found in outlines]), chunks=(chunks,))


def numbers_of(outlines: Sequence[Outline]) -> Any:
    """One whole number per document that rises from query to query, as a Dask array chunked as the partitions are."""
    dask = require_dask("boostsoft.dask.train_xgboost")
    chunks, first = [], 0
    for found in outlines:
        numbers = np.arange(first, first + found.sizes.size)
        whole = dask.delayed(np.repeat)(numbers, found.sizes)
        chunks.append(dask.array.from_delayed(whole, shape=(int(found.sizes.sum()),), dtype=np.int64))
        first += found.sizes.size
    return dask.array.concatenate(chunks)


def _outline(part: dict[str, Any], rule: Objective | None, weigh_queries: bool) -> Outline:
    """Look at one partition; runs on a worker, and returns what is wrong in place of raising it there."""
    rows = {name: int(value.shape[0]) for name, value in part.items()}  # a sparse matrix has no len()
    nothing: dict[str, Any] = {"rows": rows, "ids": [], "sizes": np.zeros(0, np.int64), "learnable": False}
    if len(set(rows.values())) > 1:
        return Outline(**nothing, wrong=f"all data must have the same rows; got {_listed(rows)} rows")
    if rows["qid"] == 0:
        return Outline(**nothing, wrong=f"must not be empty; {_REMEDY} and leaves no partition empty")
    try:
        qid = read_ids("QueryGroups.from_query_ids", part["qid"])
        groups = QueryGroups.from_query_ids(qid)
        refuse_masked("objective", "X", part.get("X"))
        weights = _checked_weights(part.get("weight"), groups, weigh_queries)
        if rule is None:
            learnable = bool(weights.any())
        else:
            learnable = _learnable(rule, as_array("objective", "y", part["y"]).ravel(), groups, weights)
    except (TypeError, ValueError) as error:
        return Outline(**nothing, wrong=str(error).removeprefix("QueryGroups.from_query_ids: "))
    ids = qid[groups.offsets[:-1]].tolist()
    return Outline(rows, ids, groups.sizes, learnable, "", _categories(part.get("X")))


def _categories(frame: Any) -> dict[Any, str]:
    """A digest of the categories of each column that has any, in the order of their codes."""
    dtypes = dict(frame.dtypes) if hasattr(frame, "dtypes") else {}
    lists = {name: dtype.categories for name, dtype in dtypes.items() if hasattr(dtype, "categories")}
    return {name: sha256(repr(found.to_list()).encode()).hexdigest() for name, found in lists.items()}


def _learnable(rule: Objective, labels: Any, groups: QueryGroups, weights: FloatArray) -> bool:
    """Whether a query that weighs has an order to learn; labels are checked in all of them."""
    weighing = groups.sums(weights) > 0
    try:
        rule.prepare(labels, groups, caller="objective")
        if weighing.any() and not weighing.all():
            rule.prepare(labels[groups.per_document(weighing)], QueryGroups.from_sizes(groups.sizes[weighing]))
    except NothingToLearnError:
        return False
    return bool(weighing.any())


def _checked_weights(weight: Any, groups: QueryGroups, weigh_queries: bool) -> FloatArray:
    if weight is None:
        return np.ones(groups.n_docs)
    rows = finite_vector("weight", "rows", weight, groups.n_docs)
    refuse_negative("weight", "rows", rows)
    firsts = groups.per_document(rows[groups.offsets[:-1]])
    if weigh_queries and np.any(rows != firsts):
        at = int(np.argmax(rows != firsts))
        raise ValueError(
            "weight must be the same for all rows of a query, since XGBoost weighs queries; "
            f"got {firsts[at]} and {rows[at]} (row {at}) in one"
        )
    return rows


def _refuse_split(caller: str, outlines: Sequence[Outline]) -> None:
    homes: dict[Any, list[int]] = {}
    for place, found in enumerate(outlines):
        for name in found.ids:
            homes.setdefault(name, []).append(place)
    split = {name: places for name, places in homes.items() if len(places) > 1}
    if split:
        name, places = next(iter(split.items()))
        where = f"{', '.join(map(str, places[:-1]))} and {places[-1]}"
        raise ValueError(
            f"{caller}: a query must lie within one partition; qid {name!r} is in partitions {where} "
            f"({len(split)} of {len(homes)} queries are split); {_REMEDY}"
        )


def _refuse_unlike_categories(caller: str, outlines: Sequence[Outline]) -> None:
    """Raise if a column's categories differ: a booster takes their codes, which would mean another one elsewhere.

    Or if it has some in one partition only: Dask does not look whether the parts of a frame are of its types.
    """
    first = outlines[0].categories
    for place, found in enumerate(outlines):
        for name in first | found.categories:
            if found.categories.get(name) != first.get(name):
                raise ValueError(
                    f"{caller}: column {name!r} of X must have the same categories in all partitions; those of "
                    f"partition {place} are not those of 0: X.categorize() makes them one"
                )


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in counts.items())
