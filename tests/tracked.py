"""Tracks made of numbers, for what draws and shows them: no model, no kernel."""

from __future__ import annotations

import numpy as np

from boostsoft import Metric, QueryGroups, SoftMetric
from boostsoft.tracks.tree_track import TreeTrack

HARD = Metric("ndcg@10")
SOFT = SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread")


def track_of(n_steps=40, n_queries=30, metrics=(HARD, SOFT), *, seed=0, every=1, start=0, fall=0.0, **given):
    """A track that rises steeply and flattens, or falls; later metrics move less, and each step moves by chance."""
    rng = np.random.default_rng(seed)
    steps = start + every * np.arange(1, n_steps + 1)
    level = rng.uniform(0.3, 0.6, n_queries)
    rise = 0.2 * (1 - np.exp(-np.arange(n_steps + 1) / 3)) - fall * np.arange(n_steps + 1)
    values = np.empty((n_steps + 1, len(metrics), n_queries))
    for i in range(len(metrics)):
        wander = rng.normal(0, 0.004 / (i + 1), (n_steps + 1, n_queries)).cumsum(axis=0)
        values[:, i] = level - 0.02 * i + rise[:, None] + wander
    sizes = rng.integers(2, 9, n_queries)
    groups = QueryGroups.from_sizes(sizes)
    labels = rng.integers(0, 3, groups.n_docs).astype(float)
    labels[groups.offsets[:-1]], labels[groups.offsets[:-1] + 1] = 0.0, 1.0  # no query of one label
    fields = {
        "metrics": metrics, "steps": steps, "per_query": values[1:], "beginning": values[0], "start": start,
        "query_weight": np.ones(n_queries), "spread": np.ones(n_steps), "groups": groups, "y_true": labels,
        "scores": rng.normal(size=groups.n_docs), "qid": 1000 + np.arange(n_queries), "label": "rising",
    }  # fmt: skip
    return TreeTrack(**{**fields, **given})
