"""Two systems to compare, and tracks of given values."""

from __future__ import annotations

import numpy as np

from boostsoft import Metric, QueryGroups, SoftMetric
from boostsoft.tracks import TreeTrack

SIZES = [8] * 60
SPREAD = SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread")
SCORE = SoftMetric("ndcg@10", sigma=1.0, name="ndcg_score")


def scores(seed=0, gain=0.3):
    """Labels, a system, and one that is somewhat better and spreads its scores more."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, sum(SIZES))
    a = y + rng.normal(size=y.size)
    return y, a, 2 * (a + gain * y + 0.5 * rng.normal(size=y.size))


def track_of(values, *, metrics=("ndcg@10",), y=None, score=None, sizes=None, weights=None, spread=1.0, **other):
    """A track of values (n_steps, n_metrics, n_queries)."""
    values = np.asarray(values, dtype=float)
    n = values.shape[2]
    return TreeTrack(
        metrics=tuple(Metric(m) if isinstance(m, str) else m for m in metrics),
        steps=np.arange(1, len(values) + 1),
        per_query=values,
        beginning=np.where(np.isnan(values[0]), np.nan, 0.0),
        start=0,
        query_weight=np.ones(n) if weights is None else np.asarray(weights, dtype=float),
        spread=np.full(len(values), spread),
        groups=None if sizes is None else QueryGroups.from_sizes(sizes),
        y_true=None if y is None else np.asarray(y, dtype=float),
        scores=score,
        qid=other.pop("qid", None),
        **other,
    )
