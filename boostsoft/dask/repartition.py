"""A Dask frame repartitioned so that every query is whole."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ..arguments import IntArray, short, whole_number
from .parts import require_dask


def repartition_by_query(frame: Any, qid: str = "qid", *, npartitions: int | None = None) -> Any:
    """Move the rows of a Dask frame so that every query is whole within one partition, its rows adjacent.

    Queries keep the order in which they first appear, rows that within their query, and the index its values. No
    partition is empty, and none has more rows than its share and the longest query together. A frame that is sorted by
    query only moves rows across the partitions' borders.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        Its query ids are computed now, the rest when needed: ``persist()`` it first where reading is slow.
    qid : str
        The column of the query ids.
    npartitions : int, optional
        As many as ``frame`` has by default; fewer come back if there are fewer queries, or few and long ones.

    Returns
    -------
    dask.dataframe.DataFrame
        The same rows and columns.

    Raises
    ------
    TypeError
        If ``frame`` is no Dask DataFrame, or ``npartitions`` no whole number.
    ValueError
        If ``qid`` is no column of it, an id is missing, there are no rows, or ``npartitions`` is below 1.
    ImportError
        If Dask is not installed.

    Examples
    --------
    >>> import dask.dataframe as dd, pandas as pd
    >>> import boostsoft.dask as bd
    >>> frame = dd.from_pandas(pd.DataFrame({"qid": [1, 1, 2, 2, 2, 3], "y": range(6)}), npartitions=2)
    >>> [part["qid"].compute().tolist() for part in frame.partitions]  # query 2 is split
    [[1, 1, 2], [2, 2, 3]]
    >>> [part["qid"].compute().tolist() for part in bd.repartition_by_query(frame).partitions]
    [[1, 1], [2, 2, 2, 3]]
    """
    caller = "boostsoft.dask.repartition_by_query"
    dask = require_dask(caller)
    if not isinstance(frame, dask.dataframe.DataFrame):
        raise TypeError(f"{caller}: frame must be a Dask DataFrame; got {type(frame).__name__}")
    if not isinstance(qid, Hashable):
        raise TypeError(f"{caller}: qid must be the name of a column; got {short(qid)}")
    if list(frame.columns).count(qid) != 1:
        raise ValueError(f"{caller}: qid must be one column of the frame; got {qid!r} for {list(frame.columns)}")
    wanted = frame.npartitions if npartitions is None else whole_number(caller, "npartitions", npartitions, 1)
    counts = dask.compute(*(dask.delayed(_count)(part) for part in frame[qid].to_delayed()))
    target = _targets(caller, counts, wanted)
    sources: list[list[Any]] = [[] for _ in range(max(target.values()) + 1)]
    for part, (ids, _) in zip(frame.to_delayed(), counts, strict=True):
        homes = np.array([target[name] for name in ids], dtype=np.int64)
        pieces = dask.delayed(_split)(part, qid, homes)
        for home in np.unique(homes).tolist():
            sources[home].append(pieces[home])
    joined = [dask.delayed(_join)(pieces, qid) for pieces in sources]
    return dask.dataframe.from_delayed(joined, meta=frame._meta)  # unverified, its arrays cannot be computed


def _count(column: Any) -> tuple[list[Any], IntArray]:
    """The ids of one partition in order of appearance, with their rows."""
    codes, ids = column.factorize(use_na_sentinel=True)
    if (codes < 0).any():
        return [None], np.zeros(1, np.int64)
    return ids.tolist(), np.bincount(codes, minlength=len(ids))


def _targets(caller: str, counts: Sequence[tuple[list[Any], IntArray]], npartitions: int) -> dict[Any, int]:
    """The partition of each query: blocks of queries in order of appearance, of about as many rows."""
    rows: dict[Any, int] = {}
    for place, (ids, sizes) in enumerate(counts):
        for name, size in zip(ids, sizes.tolist(), strict=True):
            if name is None:
                raise ValueError(f"{caller}: qid must not be missing; partition {place} has rows without one")
            rows[name] = rows.get(name, 0) + size
    if not rows:
        raise ValueError(f"{caller}: frame must not be empty")
    sizes = np.array(list(rows.values()), dtype=np.float64)
    middles = np.cumsum(sizes) - sizes / 2.0
    homes = np.unique((middles * npartitions / sizes.sum()).astype(np.int64), return_inverse=True)[1]
    return dict(zip(rows, homes.tolist(), strict=True))


def _split(part: Any, qid: str, homes: IntArray) -> dict[int, Any]:
    """The rows of one partition by the partition they move to; ``homes`` are those of its ids as they appear."""
    places = homes[part[qid].factorize()[0]]
    return {home: part[places == home] for home in np.unique(places).tolist()}


def _join(pieces: Sequence[Any], qid: str) -> Any:
    """Pieces of several partitions as one, a query's rows adjacent and in their old order."""
    from dask.dataframe.dispatch import concat

    whole = concat(list(pieces)) if len(pieces) > 1 else pieces[0]
    return whole.iloc[np.argsort(whole[qid].factorize()[0], kind="stable")]
