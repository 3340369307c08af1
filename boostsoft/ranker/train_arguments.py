"""What a ranker gives its booster's own ``train``, for those who call that themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..adapters.shared import as_booster
from ..arguments import as_array
from ..labels import read_labels
from ..queries import Queries, weigh
from ..query_groups import resolve_groups
from .features import Features
from .regularization import first_curvature
from .rows import Rows
from .settings import Settings
from .training import Trees

CALLER = "SoftRanker.train_arguments"


def train_arguments(
    settings: Settings, trees: Trees, y: Any, group: Any, qid: Any, sample_weight: Any, query_weight: Any
) -> dict[str, Any]:
    """The arguments of ``train`` for a data set of these labels, queries and weights."""
    if group is None and qid is None:
        raise ValueError(f"{CALLER}: group= (documents per query) or qid= (one id per row) must be given")
    n_docs = len(np.atleast_1d(as_array(CALLER, "y", y)))
    labels = read_labels(CALLER, y, n_docs)
    groups = resolve_groups(CALLER, n_docs, group, qid)
    queries, weights = weigh(CALLER, Queries(groups, None, None, named=True), sample_weight, query_weight)
    no_features = Features(np.empty((n_docs, 0)), None, (), from_sparse=False)
    rows = Rows(no_features, labels, queries.groups, weights).that_weigh()
    chosen = settings.on(rows.labels, rows.groups)
    with as_booster(chosen.n_jobs):
        curvature = first_curvature(chosen.objective, rows, trees, CALLER)
    return trees.arguments(chosen, chosen.objective, curvature)
