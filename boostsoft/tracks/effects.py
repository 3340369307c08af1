"""The effect of each tree: what it changed and how sure that is, which trees hurt, and how many to keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from ..arguments import FloatArray, IntArray, fraction, non_negative_number, of_type, whole_number
from ..choices import Frame
from ..frames import as_frame
from ..metrics.soft import AnyMetric
from ..query_means import (
    STILL,
    bootstrap_means,
    central,
    change_errors,
    degrees_of_freedom,
    mean_error,
    mean_errors,
    refuse_infinite,
    t_quantile,
    weighted_means,
)
from ..statistics import N_BOOT, check_resamples
from .checks import place_of
from .tree_track import TreeTrack
from .words import amount, number, per_cent

_SEED, _MARGIN = 0, 0.005

if TYPE_CHECKING:
    import pandas
    import polars


@dataclass(frozen=True, eq=False)
class TreeEffects:
    r"""What each step of a :class:`TreeTrack` did to one metric.

    Attributes
    ----------
    metric : str
        Name of the metric.
    level : float
        Confidence of all intervals below; that of ``best`` holds it where the curve has a summit, and ends too early
        where it flattens out towards its end: there .35, .49 and .86 of them held the best of 200 made-up trees with
        30, 100 and 1,000 queries, at 95 %.
    allowed : float
        What ``keep`` may give up: the margin times mean(best) - mean(beginning).
    queries : int
        Queries that count.
    freedom : float
        Degrees of freedom of Student's t in what follows: queries - 1 if all weigh the same, fewer otherwise.
    start : int
        Trees at the beginning.
    steps : ndarray of int64, shape (n_steps,)
        Number of trees at each step.
    mean, change, error : ndarray, shape (n_steps,)
        The metric, its change against the step before, and the standard error of the change, paired over queries.
    low, high : ndarray, shape (n_steps,)
        Interval of each change, by Student's t; infinite with fewer than two queries, and too narrow where few of them
        move (:func:`boostsoft.compare` has figures).
    best : int
        Trees of the highest mean, the fewest if several have it; the beginning is a candidate too.
    best_low, best_high : int
        Interval of ``best``: percentiles over resampled queries. It is wide where the curve is flat, and from the
        beginning to the last step with fewer than two queries, which tell nothing.
    keep : int
        The fewest trees that give up no more than is allowed with the one-sided confidence ``level``: mean(best) -
        mean(keep) plus t(level) times its standard error, paired over queries, is at most ``allowed``. Few queries,
        which cannot show that, leave it at the best.
    given_up, given_up_error : float
        mean(best) - mean(keep), which is at least 0, and its standard error.
    lost, lost_error : float
        mean(best) - mean(last step): what the trees behind the best have cost, and its standard error, as of two steps
        that were not picked.
    lost_by_chance : float
        Up to where ``lost`` may come of the best having been picked for its mean: the ``level`` quantile, over
        resampled queries, of the largest mean(step) - mean(last step), each less its own mean, from ``best_low`` to
        ``best_high``; t(level) times ``lost_error`` at least. NaN with fewer than two queries.

    Notes
    -----
    Errors are those of drawing queries; that another training would have grown other trees is not in them. Of many
    trees that change nothing, ``by_chance`` are expected among ``hurting``. The best was picked for its mean, which is
    therefore a little too high on these queries, and so is ``lost``: confirm a truncation on other queries.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import Metric, TreeTrack
    >>> from boostsoft.tracks import tree_effects
    >>> values = np.array([[0.5, 0.5], [0.75, 1.0], [0.5, 0.75]])  # at the beginning, with one tree, and with two
    >>> track = TreeTrack(
    ...     metrics=(Metric("ndcg@10"),), steps=np.array([1, 2]), per_query=values[1:, None], beginning=values[:1],
    ...     start=0, query_weight=np.ones(2), spread=np.ones(2), groups=None, y_true=None, scores=None, qid=None)
    >>> effects = tree_effects(track)
    >>> effects.change.tolist(), effects.error.tolist()
    ([0.375, -0.25], [0.125, 0.0])
    >>> effects.best, effects.hurting.tolist(), effects.lost
    (1, [2], 0.25)
    """

    metric: str
    level: float
    allowed: float
    queries: int
    freedom: float
    start: int
    steps: IntArray
    mean: FloatArray
    change: FloatArray
    error: FloatArray
    low: FloatArray
    high: FloatArray
    best: int
    best_low: int
    best_high: int
    keep: int
    given_up: float
    given_up_error: float
    lost: float
    lost_error: float
    lost_by_chance: float

    @property
    def hurting(self) -> IntArray:
        """The steps whose interval is below 0, as numbers of trees."""
        return self.steps[self._hurts]

    @property
    def _hurts(self) -> NDArray[np.bool_]:
        return self.high < -STILL

    @property
    def best_in_words(self) -> str:
        """The best number of trees and its interval, which one query alone does not give."""
        interval = f" ({self.best_low:,} to {self.best_high:,})" if self.queries > 1 else ""
        return f"{self.best:,}{interval}"

    @property
    def by_chance(self) -> float:
        """How many steps would be ``hurting`` by chance if no tree changed anything."""
        return self.steps.size * (1.0 - self.level) / 2.0 if self.queries > 1 else 0.0

    @property
    def advice(self) -> str:
        """How many of the measured numbers of trees to keep, and what that gives up, with standard errors.

        What is within ``t(level)`` standard errors of 0, or lost within what chance may show, is said to be not told
        from 0.
        """
        last = int(self.steps[-1])
        said, unsure = [], []
        if self.best > self.keep:
            said.append(_said("next", self.best - self.keep, "add", self.given_up, self.given_up_error))
            reach = t_quantile(self.level, self.freedom) * self.given_up_error
            unsure.append(self.given_up_error > STILL and self.given_up <= reach)
        if last > self.best:
            place = "last" if said else "next"
            said.append(_said(place, last - self.best, "lose", self.lost, self.lost_error))
            unsure.append(self.lost_error > STILL and self.lost <= self.lost_by_chance)
        if said:
            if unsure == [True, True]:
                said[1] += " (neither told from 0)"
            elif any(unsure):
                said[unsure.index(True)] += " (not told from 0)"
            return f"keep {amount(self.keep, 'tree')}: {', '.join(said)}"
        all_of = "" if last == 1 else "all "
        given_up = f", more than {number(self.allowed)} may be given up"
        lower = given_up if self.queries > 1 else f" {self.metric} is lower on the only query"
        return f"keep {all_of}{amount(last, 'tree')}: with {self._fewer}{lower}"

    @property
    def _fewer(self) -> str:
        """Less than the last step, as far as that was measured."""
        if self.steps.size == 1:
            return f"{self.start:,}" if self.start else "none"
        if self.steps.size < int(self.steps[-1]) - self.start:
            return f"each of the {self.steps.size:,} smaller numbers measured"
        return f"{self.start:,} to {int(self.steps[-1]) - 1:,}" if self.start else "fewer"

    @overload
    def to_frame(self, kind: Literal["pandas"] = "pandas") -> pandas.DataFrame: ...
    @overload
    def to_frame(self, kind: Literal["polars"]) -> polars.DataFrame: ...
    def to_frame(self, kind: Frame = "pandas") -> Any:
        """One row per step: trees, mean, change, error, low, high, hurts.

        Parameters
        ----------
        kind : "pandas" or "polars"
            Whose DataFrame.

        Raises
        ------
        ValueError
            If ``kind`` is neither.
        ImportError
            If the library is not installed.
        """
        columns = {name: getattr(self, name) for name in ("mean", "change", "error", "low", "high")}
        return as_frame("TreeEffects.to_frame", kind, {"trees": self.steps, **columns, "hurts": self._hurts})

    def __repr__(self) -> str:
        hurting = ", ".join(map(str, self.hurting[:10].tolist())) + (", ..." if self.hurting.size > 10 else "")
        reach = f"{per_cent(self.level)}% interval {self.best_low:,} to {self.best_high:,}"
        reach = reach if self.queries > 1 else "one query gives no interval"
        return (
            f"{self.metric}: {self.advice}\n"
            f"best with {amount(self.best, 'tree')} ({reach})\n"
            f"steps that hurt: {self.hurting.size:,} of {self.steps.size:,}{f' (to {hurting})' if hurting else ''}; "
            f"by chance {self.by_chance:.2g}"
        )


def tree_effects(
    track: TreeTrack,
    metric: int | str | AnyMetric = 0,
    *,
    level: float = 0.95,
    n_boot: int = N_BOOT,
    seed: int = _SEED,
    margin: float = _MARGIN,
) -> TreeEffects:
    """What each step did to a metric, which steps hurt, and how many trees to keep.

    Parameters
    ----------
    track : TreeTrack
        The metric after each tree.
    metric : int, str or metric
        By position, name or value.
    level : float
        Confidence of the intervals and of the truncation advice, in (0, 1).
    n_boot, seed : int
        Resamples behind the interval of the best number of trees, 20 at least, and their seed.
    margin : float
        What the truncation advice may give up, as a share of what the trees gained over the beginning, at least 0.

    Returns
    -------
    TreeEffects
        Its attributes say what is computed.

    Raises
    ------
    TypeError, ValueError
        If ``track`` is something else, no query counts, the metric is infinite for a query, or an option is out of
        range.

    Notes
    -----
    Errors are those of :class:`TreeTrack` (the ratio estimator's, Cochran 1977, section 6.4). The interval of a
    step is change +- t error, t the (1 + level) / 2 quantile of Student's law. Its degrees of freedom are the
    effective number of queries less one, (sum of w)^2 / (sum of w^2) - 1 (Kish 1965), n - 1 for n queries of one
    weight. That of the best number of trees is the central ``level`` of the numbers that are best on queries drawn
    anew with replacement (Efron 1979), every step on the same draws. What moves by less than 1e-9 stands still.

    That the best was picked is allowed for in what is said of ``lost`` (after White 2000, among the steps that may be
    the best). Of 30 models of which no tree changed anything, a loss beyond t(level) errors was seen in .3 to .4 of
    draws of 30 and 100 queries, one above ``lost_by_chance`` in .03; real losses of .010 and .013 on 100 and 300
    queries in .27 and .57. ``lost`` itself is too high: .027 and .020 there.

    Trees are given up where that is shown to cost little (a test of non-inferiority), not where it is not shown to
    cost anything: few queries show nothing. Of 300 trees of ``lambdarank`` and ``rank:ndcg`` on five sets, the advice
    of validation queries was .0002 of NDCG@10 behind the best number on test queries, the fewest trees not told from
    the best .0065 (notebooks/tracking.ipynb).

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import Metric, TreeTrack
    >>> from boostsoft.tracks import tree_effects
    >>> values = np.array([[0.4, 0.5, 0.6], [0.8, 0.7, 0.9], [0.81, 0.7, 0.9], [0.61, 0.5, 0.6]])
    >>> track = TreeTrack(
    ...     metrics=(Metric("ndcg@10"),), steps=np.array([1, 2, 3]), per_query=values[1:, None],
    ...     beginning=values[:1], start=0, query_weight=np.ones(3), spread=np.ones(3),
    ...     groups=None, y_true=None, scores=None, qid=None)
    >>> effects = tree_effects(track)
    >>> effects.advice
    'keep 2 trees: the next one loses 0.2333 +- 0.0333'
    >>> effects.hurting
    array([3])
    """
    caller = "tree_effects"
    of_type(caller, "track", track, TreeTrack)
    return effects_of(caller, track, place_of(caller, "metric", track.metrics, metric), level, n_boot, seed, margin)


def effects_of(
    caller: str,
    track: TreeTrack,
    at: int,
    level: float,
    n_boot: int = N_BOOT,
    seed: int = _SEED,
    margin: float = _MARGIN,
    resampled: FloatArray | None = None,
) -> TreeEffects:
    """The same for whoever is named in errors; from means of :func:`resampled_steps` where they are known already."""
    level = fraction(caller, "level", level)
    counted = track.counted(at)
    values = np.where(counted > 0, _all_steps(track, at), 0.0)
    n_counted = _check_counted(caller, track.names[at], values, counted)
    error, freedom = change_errors(values[0], values[1:], counted), degrees_of_freedom(counted)
    reach = np.where(np.isnan(error), np.inf, t_quantile((1.0 + level) / 2.0, freedom) * error)
    means = weighted_means(values, counted)
    trees = np.concatenate([[track.start], track.steps])
    best = first_best(means)
    margin = non_negative_number(caller, "margin", margin)
    allowed = margin * float(means[best] - means[0])
    keep = _fewest(means, values, counted, best, t_quantile(level, freedom), allowed)
    shortfall = mean_errors(values[best] - values[[keep, -1]], counted)
    n_boot, seed = check_resamples(caller, n_boot), whole_number(caller, "seed", seed, 0)
    low, high, by_chance = int(trees[0]), int(trees[-1]), np.nan
    if n_counted > 1:
        resampled = bootstrap_means(values, counted, n_boot, seed) if resampled is None else resampled
        low, high = _best_interval(trees, resampled, level)
        may_be_best = ((trees >= low) & (trees <= high)) | (trees == trees[-1])
        by_chance = max(_picked((resampled - means)[:, may_be_best], level), t_quantile(level, freedom) * shortfall[1])
    changes = np.diff(means)
    return TreeEffects(
        metric=track.names[at], level=level, allowed=allowed, queries=n_counted, freedom=freedom,
        start=track.start, steps=track.steps,
        mean=means[1:], change=changes, error=error, low=changes - reach, high=changes + reach,
        best=int(trees[best]), best_low=low, best_high=high, keep=int(trees[keep]),
        given_up=float(means[best] - means[keep]), given_up_error=float(shortfall[0]),
        lost=max(float(means[best] - means[-1]), 0.0), lost_error=float(shortfall[1]),
        lost_by_chance=float(by_chance),
    )  # fmt: skip


def resampled_steps(track: TreeTrack, at: int) -> FloatArray:
    """Means of a metric over resampled queries, those of :func:`effects_of`, that at the beginning first."""
    return bootstrap_means(_all_steps(track, at), track.counted(at), N_BOOT, _SEED)


def _all_steps(track: TreeTrack, at: int) -> FloatArray:
    return np.concatenate([track.beginning[None, at], track.per_query[:, at]])


def first_best(means: FloatArray) -> int:
    """The place of the highest mean, the first of those that rounding alone tells apart.

    >>> first_best(np.array([0.5, 0.75, 0.75 + 1e-15]))
    1
    """
    return int(np.argmax(means >= means.max() - STILL))


def _check_counted(caller: str, name: str, values: FloatArray, counted: FloatArray) -> int:
    """How many queries count; their values must be finite."""
    queries = np.flatnonzero(counted > 0)
    if queries.size == 0:
        raise ValueError(f"{caller}: {name} must count a query at least; all are left out or weigh 0")
    refuse_infinite(caller, name, values, counted)
    return int(queries.size)


def _fewest(means: FloatArray, values: FloatArray, counted: FloatArray, best: int, t: float, allowed: float) -> int:
    """The first candidate whose shortfall, and t standard errors of it, are no more than is allowed."""
    shortfall = means[best] - means[:best]
    for candidate in np.flatnonzero(shortfall <= allowed).tolist():
        reach = t * mean_error(values[best] - values[candidate], counted)  # NaN, of a single query
        if shortfall[candidate] + reach <= allowed:
            return int(candidate)
    return best


def _best_interval(trees: IntArray, means: FloatArray, level: float) -> tuple[int, int]:
    """Percentiles of the number of trees that is best in a resample, each a number that there is."""
    largest = means.max(axis=1, keepdims=True)
    low, high = central(trees[np.argmax(means >= largest - STILL, axis=1)], level, "inverted_cdf")  # the fewest
    return int(low), int(high)


def _picked(errors: FloatArray, level: float) -> float:
    """Up to where the highest of several steps is above the last one by chance, by their errors in resamples."""
    return float(np.quantile((errors - errors[:, -1:]).max(axis=1), level))


def _said(place: str, n: int, verb: str, value: float, error: float) -> str:
    """What some trees do.

    >>> _said("next", 5, "add", 0.0043, 0.0026), _said("last", 1, "lose", 0.0, 0.0)
    ('the next 5 add 0.0043 +- 0.0026', 'the last one changes nothing')
    """
    trees, ending = (f"the {place} one", "s") if n == 1 else (f"the {place} {n:,}", "")
    if abs(value) <= STILL and not error > STILL:
        return f"{trees} change{ending} nothing"
    return f"{trees} {verb}{ending} {_with_error(value, error)}"


def _with_error(value: float, error: float) -> str:
    """A number and its standard error, to the first digit of a small error and the fourth of one above 1.

    >>> _with_error(0.00021, 0.00034), _with_error(0.0000211, 0.00000123), _with_error(590.428, 53.93769)
    ('0.0002 +- 0.0003', '0.000021 +- 0.000001', '590.43 +- 53.94')
    >>> _with_error(0.5, float("nan")), _with_error(0.2, 0.0)
    ('0.5000 (of unknown error)', '0.2000 +- 0.0000')
    """
    if np.isnan(error):
        return f"{number(value)} (of unknown error)"
    if error < STILL:
        return f"{number(value)} +- {number(0.0)}"
    size = int(np.floor(np.log10(error)))
    decimals = max(4, -size) if size < 0 else max(0, 3 - size)
    return f"{value:,.{decimals}f} +- {error:,.{decimals}f}"
