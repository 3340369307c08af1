"""Candidate batches as the user gives them, checked before anything is trained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import FloatArray, finite_vector
from ..query_groups import QueryGroups, query_weights
from .staged import STARTS, feature_matrix, model_queries, refuse_other_starts

CALLER = "marginal_value"
_KEYS = ("X", "y", "group", "qid", "query_weight", "init_score", "base_margin")


@dataclass(frozen=True, eq=False)
class Batch:
    """Documents with labels that a model may be continued on.

    Attributes
    ----------
    name : what the user calls it, or its place.
    X, labels, groups : the documents, their labels and queries.
    weights : (n_queries,) or None.
    start : (n_docs,) what the scores start from, or None.
    """

    name: Any
    X: Any
    labels: FloatArray
    groups: QueryGroups
    weights: FloatArray | None
    start: FloatArray | None

    @property
    def ordered(self) -> bool:
        """Whether a query that counts has two labels: otherwise no order of documents is better than another."""
        differ = self.groups.differ(self.labels)
        return bool((differ if self.weights is None else differ & (self.weights > 0)).any())


def read_batches(batches: Any, model: Any, start: str) -> list[Batch]:
    """Batches from a list or from a mapping of names; ``start`` is what the model's library calls a start of scores."""
    if isinstance(batches, Mapping):
        named = list(batches.items())
    elif isinstance(batches, Iterable) and not isinstance(batches, (str, bytes, np.ndarray)):
        named = list(enumerate(batches))
    else:
        raise TypeError(f"{CALLER}: batches must be a list or a mapping of batches; got {type(batches).__name__}")
    if not named:
        raise ValueError(f"{CALLER}: batches must hold one at least")
    return [_read(name, batch, model, start) for name, batch in named]


def _read(name: Any, batch: Any, model: Any, start: str) -> Batch:
    caller = f"{CALLER}: batches[{name!r}]"
    parts = _parts(caller, batch)
    labels = finite_vector(caller, "y", parts["y"])
    groups, _ = model_queries(caller, model, parts["X"], labels.size, parts.get("group"), parts.get("qid"))
    weights = parts.get("query_weight")
    refuse_other_starts(caller, {name: parts.get(name) for name in STARTS}, STARTS.get(start, "SoftRanker"), start)
    begun = parts.get(start) if start else None
    return Batch(
        name=name,
        X=feature_matrix(caller, parts["X"], labels.size),
        labels=labels,
        groups=groups,
        weights=None if weights is None else query_weights(caller, weights, groups),
        start=None if begun is None else finite_vector(caller, start, begun, labels.size),
    )


def _parts(caller: str, batch: Any) -> dict[str, Any]:
    if isinstance(batch, Mapping):
        unknown = [key for key in batch if key not in _KEYS]
        missing = [key for key in ("X", "y") if batch.get(key) is None]
        if unknown or missing:
            problem = f"knows no {unknown[0]!r}" if unknown else f"must hold {missing[0]!r}"
            raise ValueError(f"{caller}: a batch {problem}; its keys are {', '.join(_KEYS)}")
        return dict(batch)
    if isinstance(batch, (tuple, list)) and len(batch) == 3:
        _refuse_ids(caller, *batch[1:])
        return dict(zip(("X", "y", "group"), batch, strict=True))
    raise TypeError(f"{caller}: a batch must be (X, y, group) or a dict with X, y and group or qid; got {_kind(batch)}")


def _refuse_ids(caller: str, y: Any, group: Any) -> None:
    """Raise if what should be sizes has an entry for each document."""
    if group is not None and np.ndim(group) == 1 and np.size(group) == np.size(y) > 1:
        ids = np.asarray(group)
        if ids.dtype.kind not in "iuf" or ids.sum() != ids.size:
            raise ValueError(
                f"{caller}: the third part of a batch must be group sizes; got one entry for each of {ids.size} "
                "documents: give query ids as a dict of X, y and qid"
            )


def _kind(batch: Any) -> str:
    return f"{len(batch)} parts" if isinstance(batch, (tuple, list)) else type(batch).__name__
