"""The user's arrays as rows whose queries stand together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arguments import FloatArray, IntArray
from ..labels import read_labels
from ..queries import Queries, read_queries, weigh
from ..query_groups import QueryGroups
from .features import Encoder, Features, ids_in


@dataclass(frozen=True)
class Rows:
    """A data set whose queries stand together.

    Attributes
    ----------
    features : of n_docs rows.
    labels : (n_docs,)
    groups : the queries.
    weights : (n_queries,) or None.
    """

    features: Features
    labels: FloatArray
    groups: QueryGroups
    weights: FloatArray | None

    @property
    def query_weight(self) -> FloatArray:
        """The weight of each query, 1 where none are given."""
        return np.ones(self.groups.n_queries) if self.weights is None else self.weights

    def take(self, queries: IntArray) -> Rows:
        """Some of the queries."""
        chosen = np.zeros(self.groups.n_queries, dtype=np.bool_)
        chosen[queries] = True
        rows = np.flatnonzero(self.groups.per_document(chosen))
        weights = None if self.weights is None else self.weights[chosen]
        groups = QueryGroups.from_sizes(self.groups.sizes[chosen])
        return Rows(self.features.rows(rows), self.labels[rows], groups, weights)

    def that_weigh(self) -> Rows:
        """Without the queries of weight 0: nothing is to depend on them, not even a feature's bins.

        Nor on those without documents, whose weights XGBoost would take for other queries'.
        """
        if self.weights is None:
            return self
        kept = (self.weights != 0.0) & (self.groups.sizes > 0)
        return self if kept.all() else self.take(np.flatnonzero(kept))

    def in_their_mean(self) -> Rows:
        """The same with weights of mean 1 over the documents, and without any if all are equal.

        A booster's thresholds on the curvature of a leaf are numbers, under which small weights would fall.
        """
        if self.weights is None:
            return self
        each = self.groups.per_document(self.weights)
        if each.min() == each.max():  # not divided: the mean of equal numbers may be off by a digit
            return replace(self, weights=None)
        return replace(self, weights=self.weights / each.mean())

    def of_usual_size(self) -> Rows:
        """The same with weights whose largest is about 1, in the same ratios: boosters keep single precision."""
        if self.weights is None or not self.weights.any():
            return self
        _, exponent = np.frexp(self.weights.max())
        return replace(self, weights=np.ldexp(self.weights, -exponent))


_ROUNDED = 1e-3  # of what labels are apart, by which float32 may move them


def read_rows(
    caller: str, encoder: Encoder, X: Any, y: Any, group: Any, qid: Any, sample_weight: Any, query_weight: Any
) -> tuple[Rows, bool]:
    """Rows from an X that scikit-learn's checks have passed, and its y; and whether queries were named."""
    labels = read_labels(caller, y, X.shape[0])
    _refuse_merged(caller, labels)
    queries, weights = weigh(caller, find_queries(caller, encoder, X, group, qid), sample_weight, query_weight)
    features = encoder.encode(caller, X).rows(queries.order)
    return Rows(features, queries.bring_together(labels), queries.groups, weights), queries.named


def _refuse_merged(caller: str, labels: FloatArray) -> None:
    """Raise if labels that differ are one to the boosters, which keep them as float32, by more than rounding."""
    large = np.abs(labels) > 2.0**24
    with np.errstate(over="ignore", invalid="ignore"):  # beyond float32 they are refused elsewhere
        kept = labels.astype(np.float32).astype(np.float64)
        moved, reach = float(np.abs(kept - labels).max()), float(labels.max() - labels.min())
    n_kept, n_given = np.unique(kept).size, np.unique(labels).size
    # times, say, beside a 0 that stands for none, move by little of what labels are apart
    if n_kept == n_given or not (moved > _ROUNDED * reach or (large.any() and 2 * n_kept < n_given)):
        return
    if large.any():
        got = f"whole numbers above 2^24 do not; got {labels[large.argmax()]:.0f}"
    else:
        got = f"got labels from {labels.min():g} to {labels.max():g}, {reach:g} apart, which it moves by {moved:.1g}"
    raise ValueError(
        f"{caller}: y must stay distinct in float32, the precision in which boosters keep it: {got}: subtract what all "
        "labels share"
    )


def find_queries(caller: str, encoder: Encoder, X: Any, group: Any, qid: Any) -> Queries:
    """Queries from ``group``, ``qid`` or the column of X that holds the ids."""
    if encoder.qid_column is not None:
        if group is not None or qid is not None:
            raise ValueError(f"{caller}: qid_column says where the query ids are: leave out group= and qid=")
        qid = ids_in(caller, X, encoder.qid_column)
    return read_queries(caller, X.shape[0], group, qid)
