"""The error of the objective's gradient, against the same metric at ``accuracy="high"``, in the run that times it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arguments import FloatArray
from ..choices import Noise
from ..metrics.soft import SoftMetric
from ..objectives import SoftObjective
from .pools import Pool
from .timing import Watcher

FLOOR = 1e-8


def gradient_errors(
    pool: Pool, noises: Sequence[Noise], sigmas: Sequence[float], cutoffs: Sequence[int], watcher: Watcher
) -> dict[tuple[Noise, int, float], float]:
    """Worst error over the queries of a pool, by noise, cutoff and sigma (in units of the scores' spread)."""
    cases = [(noise, k, sigma) for noise in noises for k in cutoffs for sigma in sigmas]
    watcher.begin(len(cases))
    errors = {}
    for noise, k, sigma in cases:
        watcher.step(f"error of the {noise} gradient, k={k}, sigma={sigma:g}")
        errors[noise, k, sigma] = worst_error(pool, f"ndcg@{k}", noise, sigma)
    return errors


def worst_error(pool: Pool, metric: str, noise: Noise, sigma: float) -> float:
    """Largest difference of two gradients over the largest gradient of the query, the worst of all queries.

    A largest gradient below 1e-8 of its natural scale, the range of gains over sigma, counts as that: where documents
    are so far apart, accuracy is promised for no less (README, "Error").
    """
    objective = SoftObjective(metric, noise=noise)
    groups, scores = pool.groups, pool.scores / sigma
    queries = objective.prepare(pool.labels, groups)
    found, _ = objective.gradient_curvature(queries, scores)
    exact = SoftMetric(metric, noise=noise, accuracy="high").gradient(pool.labels, scores, group=pool.sizes)
    exact = exact * groups.n_queries  # of the mean over queries; objectives are sums
    gains = groups.largest(queries.gains, 0.0) - groups.smallest(queries.gains, 0.0)
    natural = gains * queries.discount[0] / queries.divisor
    scale = np.maximum(groups.largest(np.abs(exact), 0.0), FLOOR * natural)
    miss = groups.largest(np.abs(found - exact), 0.0)
    error: FloatArray = np.divide(miss, scale, out=np.zeros(miss.size), where=scale > 0)
    return float(error.max())
