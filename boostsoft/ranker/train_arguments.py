"""What a ranker gives its booster's own ``train``, for those who call that themselves."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from ..adapters.shared import as_booster
from ..arguments import as_array
from ..labels import read_labels
from ..queries import Queries, weigh
from ..query_groups import resolve_groups
from .features import Encoder, Features, checked_columns, find_column, ids_in
from .regularization import first_curvature
from .rows import Rows
from .settings import Settings
from .training import Trees
from .trial import settings_by_trial

CALLER = "SoftRanker.train_arguments"


def train_arguments(
    ranker: Any,
    settings: Settings,
    trees: Trees,
    X: Any,
    y: Any,
    group: Any,
    qid: Any,
    sample_weight: Any,
    query_weight: Any,
) -> dict[str, Any]:
    """The arguments of ``train`` for a data set of these labels, queries and weights, and of these features, if any."""
    ranker = copy(ranker)  # which stays without names of columns
    column = None
    if X is not None:
        X = checked_columns(CALLER, ranker, X, reset=True)
        column = find_column(CALLER, ranker, X, ranker.qid_column)
    if group is None and qid is None and column is not None:
        qid = ids_in(CALLER, X, column)
    if group is None and qid is None:
        raise ValueError(f"{CALLER}: group= (documents per query) or qid= (one id per row) must be given")
    n_docs = len(np.atleast_1d(as_array(CALLER, "y", y)))
    labels = read_labels(CALLER, y, n_docs)
    groups = resolve_groups(CALLER, n_docs, group, qid)
    queries, weights = weigh(CALLER, Queries(groups, None, None, named=True), sample_weight, query_weight)
    rows = Rows(_features(ranker, X, column, n_docs), labels, queries.groups, weights).that_weigh()
    chosen = (
        settings.on(rows.labels, rows.groups) if X is None else settings_by_trial(settings, trees, rows.in_their_mean())
    )
    with as_booster(chosen.n_jobs):
        curvature = first_curvature(chosen.objective, rows, trees, CALLER)
    return trees.arguments(chosen, chosen.objective, curvature)


def _features(ranker: Any, X: Any, column: int | None, n_docs: int) -> Features:
    """The features of an X that has been checked as fit would encode them, or none."""
    if X is None:
        return Features(np.empty((n_docs, 0)), None, (), from_sparse=False)
    if X.shape[0] != n_docs:
        raise ValueError(f"{CALLER}: X must have one row per label, {n_docs}; got {X.shape[0]}")
    return Encoder.learn(ranker, X, column).encode(CALLER, X)
