"""When to stop adding trees: as soon as the last of them together no longer improve the metric."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arguments import FloatArray, fraction, non_negative_number, of_type, set_fields, whole_number
from ..metrics.soft import AnyMetric
from ..metrics.spec import NOT_PNR
from ..query_means import STILL, counted_weights, degrees_of_freedom, mean_error, moved, t_quantile, weighted_mean
from .checks import place_of
from .tree_track import TreeTrack


class Gain(NamedTuple):
    """A change of the mean over queries, with its paired standard error."""

    mean: float
    error: float


@dataclass(frozen=True)
class StoppingRule:
    r"""Stop once the last ``patience`` trees together no longer improve the watched metric.

    With d the change in each query between T - m trees and T trees, m being the patience, training stops at T if

    .. math:: \bar d - \text{min\_delta} \le t \cdot \operatorname{SE}(\bar d),

    that is: unless a one-sided paired test at this confidence says that the mean rose by more than ``min_delta``; t is
    the quantile of Student's law at ``confidence``. Mean and standard error are those of the metric's weighted mean
    over the queries that count (the ratio estimator's error, ddof 1; the formula is that of :class:`TreeTrack`, under
    Notes), the degrees of freedom those of :func:`tree_effects`: n - 1 for n queries of one weight, fewer otherwise.

    Parameters
    ----------
    patience : int
        How many trees to look back, m. With records of every n-th tree, to the last record at least m trees ago. The
        values before the first tree count too, so that T = start + m is the first that can stop.
    confidence : float
        In (0, 1). At .5 (t = 0) training stops when the mean has not risen at all; the higher, the earlier it stops.
    min_delta : float
        A rise of the mean that is not worth m trees, at least 0, in units of the metric.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described; by :meth:`begin` and :meth:`stop_at`, if fewer than two queries count;
        or if what is watched becomes infinite, as pnr does once a query is in perfect order.

    Notes
    -----
    Where nothing changes, .10 of the tests at .9 find a rise, of 2 queries and of 1,000, if they have one weight; of
    lognormal weights of sigma 1 and 2 .12 and .09 of 5 queries, .13 and .15 of 20, .11 and .15 of 100 (normal changes,
    by simulation). The test is repeated after every tree, each time on its own: if m trees truly add g with error e,
    training stops at a given tree with probability Phi(t - g / e) where queries are many, so that a patience whose
    trees add less than a few errors ends by chance: at a rate of .05 one of 50 was .0004 behind the best of 300 trees
    on five sets, one of 20 .005 (notebooks/tracking.ipynb). What counts as best is not part of the test: it is the
    highest mean seen. A query that moves by less than 1e-9 stands still.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft.tracks import StoppingRule
    >>> watch = StoppingRule(patience=1, confidence=0.9).begin(0, np.array([0.5, 0.5]), np.ones(2))
    >>> watch.see(1, np.array([0.75, 0.875]))  # .3125 +- .0625: beyond 3.08 errors
    False
    >>> watch.see(2, np.array([0.75, 1.125]))  # .125 +- .125
    True
    >>> watch.gain, watch.best_trees
    (Gain(mean=0.125, error=0.125), 2)
    """

    patience: int
    confidence: float = 0.9
    min_delta: float = 0.0

    def __post_init__(self) -> None:
        caller = "StoppingRule"
        checked = {
            "patience": whole_number(caller, "patience", self.patience, 1),
            "confidence": fraction(caller, "confidence", self.confidence),
            "min_delta": non_negative_number(caller, "min_delta", self.min_delta),
        }
        set_fields(self, checked)

    def begin(self, start: int, values: FloatArray, weights: FloatArray) -> StoppingWatch:
        """Begin with the values of the queries, (n_queries,), at ``start`` trees, and the queries' weights."""
        return StoppingWatch(self, start, values, weights)

    def gives_up(self, gain: Gain, freedom: float) -> bool:
        """Whether this change, whose error has so many degrees of freedom, is a reason to stop; not if it is NaN."""
        return gain.mean - self.min_delta <= t_quantile(self.confidence, freedom) * gain.error

    def stop_at(self, track: TreeTrack, metric: int | str | AnyMetric = 0) -> int | None:
        """The number of trees at which training would have stopped; None if at none of the track's steps.

        Parameters
        ----------
        track : TreeTrack
            What to follow.
        metric : int, str or metric
            By position, name or value; another raises, as in :meth:`TreeTrack.index`.
        """
        of_type("StoppingRule.stop_at", "track", track, TreeTrack)
        at = place_of("StoppingRule.stop_at", "metric", track.metrics, metric)
        watch = self.begin(track.start, track.beginning[at], track.query_weight)
        for n_trees, values in zip(track.steps.tolist(), track.per_query[:, at], strict=True):
            if watch.see(n_trees, values):
                return int(n_trees)
        return None


class StoppingWatch:
    """A rule at work: fed the values of the queries step by step.

    Attributes
    ----------
    best_trees : trees of the highest mean so far, the first of equals; None before the first step.
    best_mean : what it was.
    gain : the last change over the patience; None while there are not that many trees.
    """

    def __init__(self, rule: StoppingRule, start: int, values: FloatArray, weights: FloatArray) -> None:
        self.rule = rule
        self._counted = counted_weights(values, weights)
        counted = int((self._counted > 0).sum())
        if counted < 2:
            raise ValueError(
                f"StoppingRule: at least 2 queries must count, or the change has no error; got {counted} "
                f"of {values.size}"
            )
        self._freedom = degrees_of_freedom(self._counted)
        self._seen = deque([(start, values)])
        self.best_trees: int | None = None
        self.best_mean = float("-inf")
        self.gain: Gain | None = None

    def see(self, n_trees: int, values: FloatArray) -> bool:
        """Whether to stop at this number of trees, which must rise from call to call."""
        if n_trees <= self._seen[-1][0]:
            raise ValueError(f"StoppingRule: the number of trees must rise; got {n_trees} after {self._seen[-1][0]}")
        mean = weighted_mean(values, self._counted)
        if mean == np.inf:  # beside which no other is better
            raise ValueError(
                f"StoppingRule: what is watched must be finite for every query; with {n_trees} trees query "
                f"{int(np.argmax(np.isinf(values) & (self._counted > 0)))} has an infinite value: {NOT_PNR}"
            )
        if self.best_trees is None or mean > self.best_mean + STILL:
            self.best_trees, self.best_mean = n_trees, mean
        self._seen.append((n_trees, values))
        since = n_trees - self.rule.patience
        while self._seen[1][0] <= since:
            self._seen.popleft()
        before, earlier = self._seen[0]
        if before > since:
            return False
        change = moved(earlier, values)
        self.gain = Gain(weighted_mean(change, self._counted), mean_error(change, self._counted))
        return self.rule.gives_up(self.gain, self._freedom)
