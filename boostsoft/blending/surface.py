"""A ranking metric over the mixtures of three models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import Flags, FloatArray, RandomState, Whole, as_array, short, whole_number
from ..choices import Auto, Noise, Normalize, Progress, SigmaUnit
from ..metrics.hard import Metric
from ..metrics.soft import AnyMetric, SoftMetric
from ..progress import shows
from ..statistics import N_BOOT
from .baselines.grid import compositions
from .interval import percentiles
from .mixtures import largest, read_mixtures, read_resampling


@dataclass(frozen=True, eq=False)
class SurfaceOptimum:
    """The best mixture of three models.

    Attributes
    ----------
    weights : (3,), of several best ones the nearest to their mean.
    value : of the metric at the best of the grid, on the queries that chose it: too high by .02 with 30 queries, .005
        (soft) to .013 (hard) with 100, .000 to .002 with 300.
    interval : (3, 2), the central 95 % of each weight of the best mixture on resampled queries; NaN if one query alone
        has a relevant document, and from 0 to 1 where all mixtures are equally good.
    """

    weights: FloatArray
    value: float
    interval: FloatArray


@dataclass(frozen=True, eq=False)
class BlendSurface:
    """A metric and its soft twin over a grid of mixtures of three models.

    Attributes
    ----------
    weights : (n_mixtures, 3), every one with weights that are multiples of 1 / (n - 1) and add up to 1.
    hard, soft : (n_mixtures,), means over queries.
    hard_values, soft_values : (n_queries, n_mixtures), the values behind them.
    hard_optimum, soft_optimum : SurfaceOptimum, with ``weights``, ``value`` and the weights' ``interval``.
    metric : the hard metric.
    soft_metric : its soft twin, with noise and sigma.
    """

    weights: FloatArray
    hard: FloatArray
    soft: FloatArray
    hard_values: FloatArray
    soft_values: FloatArray
    hard_optimum: SurfaceOptimum
    soft_optimum: SurfaceOptimum
    metric: Metric
    soft_metric: SoftMetric

    def __repr__(self) -> str:
        hard, soft = (
            f"{best.value:.4f} at ({', '.join(f'{weight:.3g}' for weight in best.weights)})"
            for best in (self.hard_optimum, self.soft_optimum)
        )
        return f"BlendSurface({self.metric.name}, {len(self.weights)} mixtures; best hard {hard}, soft {soft})"


def blend_surface(
    S: Any,
    y: Any,
    *,
    group: Any = None,
    qid: Any = None,
    sample_weight: Any = None,
    query_weight: Any = None,
    metric: str | AnyMetric = "ndcg@10",
    models: Sequence[Whole] | NDArray[np.integer[Any]] = (0, 1, 2),
    n: int = 21,
    normalize: Normalize = "none",
    lower_is_better: Flags = False,
    noise: Noise = "gaussian",
    sigma: float | Auto = "auto",
    sigma_unit: SigmaUnit = "spread",
    n_boot: int = N_BOOT,
    random_state: RandomState | None = 0,
    progress: Progress = "auto",
) -> BlendSurface:
    """Hard and soft metric over mixtures of three models, with the best mixture of each.

    Of models a, b and c the mixtures are w_1 S_a + w_2 S_b + w_3 S_c, for all w whose entries are multiples of
    1 / (n - 1), at least 0 and 1 in sum; S is what ``normalize`` makes of the scores.

    Parameters
    ----------
    S, y, group, qid, sample_weight, query_weight, metric
        As in :func:`blend_curve`.
    models : three ints
        The models, by their columns, from the end if negative.
    n : int
        Mixtures along an edge of the triangle, 2 at least: n (n + 1) / 2 in all.
    normalize, lower_is_better, noise, sigma, sigma_unit, n_boot, random_state, progress
        As in :func:`blend_curve`.

    Returns
    -------
    BlendSurface
        Both metrics at each mixture, and the optima. Where several mixtures are best (within 1e-12), the optimum is the
        one nearest to the mean of them, which need not be as good itself.

    Raises
    ------
    TypeError, ValueError
        As :func:`blend_curve`, or if there are not three models.

    Warns
    -----
    UserWarning
        As :func:`blend_curve`.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import blend_surface
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 300)
    >>> S = y[:, None] + rng.normal(size=(300, 3))
    >>> surface = blend_surface(S, y, group=np.full(30, 10), n=4)
    >>> surface.weights.shape, surface.hard.shape
    ((10, 3), (10,))
    """
    caller = "blend_surface"
    steps = whole_number(caller, "n", n, 2)
    resampling, shown = read_resampling(caller, n_boot, random_state), shows(caller, progress)
    if as_array(caller, "models", models).shape != (3,):
        raise ValueError(f"{caller}: models must be three columns of S; got {short(models)}")
    mixed = read_mixtures(
        caller, S, y, [("models", at) for at in models], group=group, qid=qid, sample_weight=sample_weight,
        query_weight=query_weight, metric=metric, normalize=normalize, lower_is_better=lower_is_better, noise=noise,
        sigma=sigma, sigma_unit=sigma_unit,
    )  # fmt: skip
    weights = compositions(steps - 1, 3) / (steps - 1)
    hard, soft = (mixed.watched_values(metric, weights, shown) for metric in (mixed.soft.hard, mixed.soft))
    return BlendSurface(
        weights=weights,
        hard=mixed.mean(hard),
        soft=mixed.mean(soft),
        hard_values=hard,
        soft_values=soft,
        hard_optimum=_optimum(weights, mixed.mean(hard), mixed.resampled(hard, *resampling), mixed.one_decides),
        soft_optimum=_optimum(weights, mixed.mean(soft), mixed.resampled(soft, *resampling), mixed.one_decides),
        metric=mixed.soft.hard,
        soft_metric=mixed.soft,
    )


def _optimum(weights: FloatArray, mean: FloatArray, resamples: FloatArray, open_end: bool) -> SurfaceOptimum:
    if open_end:
        interval = np.full((3, 2), np.nan)
    elif largest(mean).all():  # no mixture is better than another
        interval = np.tile([0.0, 1.0], (3, 1))
    else:
        interval = percentiles(np.array([_summit(weights, row) for row in resamples]))
    return SurfaceOptimum(_summit(weights, mean), float(mean.max()), interval)


def _summit(weights: FloatArray, values: FloatArray) -> FloatArray:
    """The best mixture, of several the nearest to their mean."""
    best = weights[largest(values)]
    far = ((best - best.mean(axis=0)) ** 2).sum(axis=1)
    nearest: FloatArray = best[np.argmin(far)]
    return nearest
