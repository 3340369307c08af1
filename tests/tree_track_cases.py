"""A track of random values, of which a query or two do not count."""

from __future__ import annotations

import numpy as np

from boostsoft import Metric, QueryGroups, SoftMetric
from boostsoft.tracks import TreeTrack

HARD = Metric("ndcg@10", empty="skip")
SOFT = SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread")
N_QUERIES, STEPS = 6, (2, 3, 5, 8)
WEIGHTS = np.array([1.0, 2.0, 0.5, 3.0, 1.5, 0.0])
MISSING = 4  # the query that the hard metric skips


def track(weights=WEIGHTS, **fields):
    """Random values of six queries; the hard metric skips one, and another weighs nothing."""
    rng = np.random.default_rng(0)
    per_query = rng.uniform(size=(len(STEPS), 2, N_QUERIES))
    beginning = rng.uniform(size=(2, N_QUERIES))
    per_query[:, 0, MISSING] = beginning[0, MISSING] = np.nan
    given = {
        "metrics": (HARD, SOFT),
        "steps": np.array(STEPS),
        "per_query": per_query,
        "beginning": beginning,
        "start": 1,
        "query_weight": weights,
        "spread": np.array([0.1, 0.2, 0.3, 0.4]),
        "groups": QueryGroups.from_sizes([2, 3, 1, 4, 2, 1]),
        "y_true": np.arange(13) % 3,
        "scores": rng.normal(size=13),
        "qid": np.array(["a", "b", "c", "d", "e", "f"]),
        "label": "a model",
    }
    return TreeTrack(**{**given, **fields})


def long_track(n_steps, n_queries):
    """Zeros, of queries that count and weigh alike."""
    return track(
        steps=np.arange(2, n_steps + 2), per_query=np.zeros((n_steps, 2, n_queries)),
        beginning=np.zeros((2, n_queries)), query_weight=np.ones(n_queries), spread=np.ones(n_steps), groups=None,
        y_true=None, scores=None, qid=None,
    )  # fmt: skip
