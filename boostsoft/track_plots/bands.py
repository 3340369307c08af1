"""Bootstrap bands of a curve: of the mean itself, or of its difference from the best step."""

from __future__ import annotations

from typing import get_args

import numpy as np

from ..arguments import FloatArray
from ..choices import BandKind
from ..query_means import central
from ..statistics import N_BOOT
from ..tracks.effects import first_best
from ..tracks.tree_track import TreeTrack

BANDS = get_args(BandKind)
Band = tuple[FloatArray, FloatArray]


def best_step(track: TreeTrack, metric: int) -> int:
    """Position of the step with the highest mean, the first if several have it; 0 where no mean is a number."""
    return first_best(track.mean[:, metric])


def band_of(track: TreeTrack, metric: int, kind: str, level: float, n_boot: int = N_BOOT) -> Band:
    """Ends of the band at each step, each (n_steps,).

    A band of the mean is as wide as queries differ, at every step alike. Steps share their queries, so that the
    difference between two is known far better: the paired band holds, at each step, mean(best step) + the
    percentiles of mean(step) - mean(best step) over resampled queries. It has no width at the best step. That step was
    picked as the highest: of steps that are all equally good a sixth to nearly half have all of the band below it.

    >>> from boostsoft import Metric
    >>> track = TreeTrack(
    ...     metrics=(Metric("ndcg@10"),), steps=np.array([1, 2]), per_query=np.array([[[0.5, 0.7]], [[0.6, 0.8]]]),
    ...     beginning=np.array([[0.5, 0.5]]), start=0, query_weight=np.ones(2), spread=np.array([0.1, 0.2]),
    ...     groups=None, y_true=None, scores=None, qid=None)
    >>> [ends.round(6).tolist() for ends in band_of(track, 0, "paired", 0.95)]  # the step adds .1 to either query
    [[0.6, 0.7], [0.6, 0.7]]
    >>> [ends.round(6).tolist() for ends in band_of(track, 0, "mean", 0.95)]
    [[0.5, 0.6], [0.7, 0.8]]
    """
    return band_of_means(track, metric, kind, level, track.resampled(metric, n_boot))


def band_of_means(track: TreeTrack, metric: int, kind: str, level: float, means: FloatArray) -> Band:
    """The same from the means over resampled queries, (n_boot, n_steps).

    One query that counts is all that a resample can hold, and says nothing of others: the ends are NaN.
    """
    if np.count_nonzero(track.counted(metric)) == 1:
        return np.full(track.n_steps, np.nan), np.full(track.n_steps, np.nan)
    shift = 0.0
    if kind == "paired":
        best = best_step(track, metric)
        with np.errstate(invalid="ignore"):  # of infinite means
            means = means - means[:, [best]]
        shift = float(track.mean[best, metric])
    low, high = central(means, level)
    return low + shift, high + shift
