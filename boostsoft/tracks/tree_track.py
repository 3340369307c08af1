"""TreeTrack: the metrics of every query after each tree, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args, overload

import numpy as np
from numpy.typing import NDArray

from ..arguments import (
    FloatArray,
    IntArray,
    PathLike,
    Whole,
    as_flag,
    as_path,
    fraction,
    one_of,
    set_fields,
    whole_number,
)
from ..choices import Frame, WorstBy
from ..frames import Repeated, as_frame
from ..metrics.soft import AnyMetric
from ..query_groups import QueryGroups
from ..query_means import bootstrap_means, central, change_errors, counted_weights, weighted_means
from ..statistics import N_BOOT, check_resamples
from . import files
from .checks import check_step, checked, place_of, read_only

if TYPE_CHECKING:
    import pandas
    import polars

ORDERS = get_args(WorstBy)


class WorstQuery(NamedTuple):
    """A query at one step, as :meth:`TreeTrack.worst_queries` lists them.

    Attributes
    ----------
    query : int
        Its place among the track's queries, from 0.
    qid : object
        What the user calls it; None where the track has no ids.
    n_docs : int or None
        Its documents; None where the track has no groups.
    value : float
        The metric of the query at the step.
    change : float
        That value minus the one at the step before, at the first step minus the one at the beginning.

    Examples
    --------
    >>> from boostsoft.tracks import WorstQuery
    >>> worst = WorstQuery(query=3, qid="cats", n_docs=12, value=0.25, change=-0.125)
    >>> f"{worst.qid}, {worst.n_docs} documents: {worst.value} ({worst.change:+})"
    'cats, 12 documents: 0.25 (-0.125)'
    """

    query: int
    qid: Any
    n_docs: int | None
    value: float
    change: float


@dataclass(frozen=True, eq=False)
class TreeTrack:
    r"""Metrics of every query after each tree of a model.

    Made by :func:`boostsoft.track_trees` and by the boosters' callbacks; the arrays are read-only.

    Attributes
    ----------
    metrics : tuple of Metric and SoftMetric
        What was measured; their names differ.
    steps : ndarray of int64, shape (n_steps,)
        Number of trees at each step, rising.
    per_query : ndarray, shape (n_steps, n_metrics, n_queries)
        The values; NaN, at all steps, where a metric's ``empty="skip"`` leaves a query out. Not copied; all else is.
    beginning : ndarray, shape (n_metrics, n_queries)
        The values before the first step, at ``start`` trees.
    start : int
        Number of trees that the beginning has.
    query_weight : ndarray, shape (n_queries,)
        Weight of each query in the means.
    spread : ndarray, shape (n_steps,)
        Pooled within-query standard deviation of the scores at each step.
    groups : QueryGroups or None
        The documents of each query.
    y_true, scores : ndarray of shape (n_docs,), or None
        The labels, and the scores at the last step.
    qid : ndarray of shape (n_queries,), or None
        What the user calls each query.
    label : str
        What the model or the data is called in plots.
    mean : ndarray, shape (n_steps, n_metrics)
        Weighted mean over the queries that count, in units of the metric; NaN if none does.
    beginning_mean : ndarray, shape (n_metrics,)
        The same before the first step.
    change : ndarray, shape (n_steps, n_metrics)
        The mean at each step minus that at the step before, the first minus ``beginning_mean``.
    change_error : ndarray, shape (n_steps, n_metrics)
        Standard error of ``change``, paired over queries (Notes); NaN if fewer than two queries count.

    Raises
    ------
    TypeError, ValueError
        If shapes do not fit, steps do not rise, two metrics have one name, or a query is NaN at some steps only.

    Notes
    -----
    The standard error of a weighted mean of differences d over the n queries that count and weigh more than 0 is the
    ratio estimator's (Cochran 1977, section 6.4),

    .. math:: \operatorname{SE}(\bar d) = \sqrt{\frac{n}{n - 1} \sum_q w_q^2 (d_q - \bar d)^2} \Big/ \sum_q w_q,
              \qquad \bar d = \sum_q w_q d_q \Big/ \sum_q w_q.

    Of equal weights it is the standard deviation (ddof 1) over the root of n. It is that of drawing queries: another
    training would have grown other trees.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import Metric, TreeTrack
    >>> track = TreeTrack(
    ...     metrics=(Metric("ndcg@10"),), steps=np.array([1, 2]), per_query=np.array([[[0.5, 0.75]], [[0.625, 1]]]),
    ...     beginning=np.array([[0.5, 0.5]]), start=0, query_weight=np.ones(2), spread=np.array([0.1, 0.2]),
    ...     groups=None, y_true=None, scores=None, qid=np.array(["a", "b"]))
    >>> track.mean.tolist(), track.change.tolist(), track.change_error.tolist()
    ([[0.625], [0.8125]], [[0.125], [0.1875]], [[0.125], [0.0625]])
    >>> track.worst_queries(n=1)
    (WorstQuery(query=0, qid='a', n_docs=None, value=0.625, change=0.125),)
    """

    metrics: tuple[AnyMetric, ...]
    steps: IntArray
    per_query: FloatArray
    beginning: FloatArray
    start: int
    query_weight: FloatArray
    spread: FloatArray
    groups: QueryGroups | None = None
    y_true: FloatArray | None = None
    scores: FloatArray | None = None
    qid: NDArray[Any] | None = None
    label: str = ""

    def __post_init__(self) -> None:
        set_fields(self, checked({field.name: getattr(self, field.name) for field in fields(self)}))

    def __reduce__(self) -> tuple[type[TreeTrack], tuple[Any, ...]]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))  # copied arrays would be writable

    @property
    def names(self) -> tuple[str, ...]:
        """The metrics' names: ``("ndcg@10", "ndcg_gaussian@10")``."""
        return tuple(metric.name for metric in self.metrics)

    @property
    def n_steps(self) -> int:
        """Number of steps."""
        return int(self.per_query.shape[0])

    @property
    def n_metrics(self) -> int:
        """Number of metrics."""
        return int(self.per_query.shape[1])

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.per_query.shape[2])

    @cached_property
    def mean(self) -> FloatArray:
        """Weighted mean over the queries that count, as the metrics themselves give it; (n_steps, n_metrics)."""
        return self._by_metric(lambda metric: weighted_means(self.per_query[:, metric], self.counted(metric)))

    @cached_property
    def beginning_mean(self) -> FloatArray:
        """The mean before the first step, (n_metrics,)."""
        means = [weighted_means(self.beginning[[metric]], self.counted(metric)) for metric in range(self.n_metrics)]
        return read_only(np.concatenate(means))

    @cached_property
    def change(self) -> FloatArray:
        """The mean at each step minus that at the step before, the first minus the beginning; (n_steps, n_metrics)."""
        with np.errstate(invalid="ignore"):  # of infinite means
            return read_only(np.diff(self.mean, axis=0, prepend=self.beginning_mean[None]))

    @cached_property
    def change_error(self) -> FloatArray:
        """Standard error of ``change``, paired over queries, (n_steps, n_metrics); NaN if fewer than two count."""
        return self._by_metric(lambda at: change_errors(self.beginning[at], self.per_query[:, at], self.counted(at)))

    def changes(self, metric: int | str | AnyMetric = 0) -> FloatArray:
        """What each step changed in each query, (n_steps, n_queries); ``metric`` as in :meth:`index`."""
        at = self.index(metric)
        with np.errstate(invalid="ignore"):
            return np.diff(self.per_query[:, at], axis=0, prepend=self.beginning[None, at])

    def counted(self, metric: int | str | AnyMetric = 0) -> FloatArray:
        """Weight of each query in the metric's mean, (n_queries,), relative to the largest; 0 for those left out.

        ``metric`` is as in :meth:`index`.
        """
        return counted_weights(self.beginning[self.index(metric)], self.query_weight)

    def band(self, level: float = 0.95, n_boot: int = N_BOOT, seed: int = 0) -> tuple[FloatArray, FloatArray]:
        """Confidence band of the mean: percentiles over resampled queries.

        Parameters
        ----------
        level : float
            Share of such intervals, in (0, 1), that hold the true mean of one step where queries are many. Of few,
            percentiles are too narrow: at .95 some .92 hold it with 20 queries, .9 with 10, .83 with 5; of a metric
            that is 1 for a tenth of the queries and 0 for the rest, .87 with 20, .64 with 10. Of queries that differ in
            weight their effective number counts, (sum w)^2 / sum w^2.
        n_boot : int
            Number of resamples, 20 at least, the same for all steps. Bands of few are too narrow: at .95 those of 20
            hold .87, of 100 .93, of 1,000 .95 where queries are many.
        seed : int
            Seed of the resampling.

        Returns
        -------
        low, high : ndarray, shape (n_steps, n_metrics)
            NaN where no query counts or one is infinite; minus and plus infinity where a single query counts.

        Raises
        ------
        TypeError, ValueError
            If level is not between 0 and 1, ``n_boot`` is below 20 or ``seed`` below 0.
        """
        level = fraction("TreeTrack.band", "level", level)
        n_boot = check_resamples("TreeTrack.band", n_boot)
        seed = whole_number("TreeTrack.band", "seed", seed, 0)
        found = np.empty((2, self.n_steps, self.n_metrics))
        for metric in range(self.n_metrics):
            found[:, :, metric] = central(self.resampled(metric, n_boot, seed), level)
            if np.count_nonzero(self.counted(metric)) == 1:  # all resamples are the same
                found[:, :, metric] = [[-np.inf], [np.inf]]
        return found[0], found[1]

    def resampled(self, metric: int | str | AnyMetric = 0, n_boot: int = N_BOOT, seed: int = 0) -> FloatArray:
        """Means over resampled queries, (n_boot, n_steps): the same resamples for all steps.

        ``metric`` is as in :meth:`index`; ``n_boot``, 1 at least, is the number of resamples, and ``seed`` draws them.
        """
        caller = "TreeTrack.resampled"
        at, n_boot = self.index(metric), whole_number(caller, "n_boot", n_boot, 1)
        seed = whole_number(caller, "seed", seed, 0)
        return bootstrap_means(self.per_query[:, at], self.counted(at), n_boot, seed)

    def worst_queries(
        self, step: Whole = -1, metric: int | str | AnyMetric = 0, n: int = 10, by: WorstBy = "value"
    ) -> tuple[WorstQuery, ...]:
        """The queries that do worst at a step, the worst first; ties in order of the queries.

        Parameters
        ----------
        step : int
            Position among the steps, from the end if negative: not the number of trees.
        metric : int, str or metric
            By position, name or value.
        n : int
            How many at most. Queries that do not count, or weigh 0, are left out.
        by : "value" or "change"
            Least value, or largest loss against the step before.

        Returns
        -------
        tuple of WorstQuery
            Empty if no query counts.

        Raises
        ------
        TypeError, ValueError
            If there is no such step or metric, or ``n`` or ``by`` is not as described.
        """
        caller = "TreeTrack.worst_queries"
        at, n = self.index(metric), whole_number(caller, "n", n, 1)
        one_of(caller, "by", by, ORDERS)
        step = check_step(caller, step, self.n_steps)
        values = self.per_query[step, at]
        with np.errstate(invalid="ignore"):
            change = values - (self.per_query[step - 1, at] if step else self.beginning[at])
        queries = np.flatnonzero(self.counted(at) > 0)
        order = queries[np.argsort((values if by == "value" else change)[queries], kind="stable")[:n]]
        return tuple(self._worst(query, values, change) for query in order.tolist())

    def index(self, metric: int | str | AnyMetric) -> int:
        """The position of a metric, given by position, name or value.

        Parameters
        ----------
        metric : int, str, Metric or SoftMetric
            A position, from the end if negative; one of ``names``, or what a booster's log calls it
            (``ndcg_hard@10``); or one of ``metrics``.

        Raises
        ------
        TypeError
            If it is something else.
        ValueError
            If the track has no such metric.
        """
        return place_of("TreeTrack", "metric", self.metrics, metric)

    @overload
    def to_frame(self, kind: Literal["pandas"] = "pandas", per_query: bool = False) -> pandas.DataFrame: ...
    @overload
    def to_frame(self, kind: Literal["polars"], per_query: bool = False) -> polars.DataFrame: ...
    def to_frame(self, kind: Frame = "pandas", per_query: bool = False) -> Any:
        """One row per step and metric: trees, metric, mean, change, change_error.

        Parameters
        ----------
        kind : "pandas" or "polars"
            Whose DataFrame.
        per_query : bool
            One row per step, metric and query in place of that: trees, metric, query, qid (if ids are known), value.

        Raises
        ------
        ValueError
            If ``kind`` is neither.
        ImportError
            If the library is not installed.
        """
        per_query = as_flag("TreeTrack.to_frame", "per_query", per_query)
        shape = self.per_query.shape
        repeats = shape[2] if per_query else 1
        columns: dict[str, Any] = {
            "trees": np.repeat(self.steps, shape[1] * repeats),
            "metric": Repeated(list(self.names), np.tile(np.repeat(np.arange(shape[1]), repeats), shape[0])),
        }
        if per_query:
            columns["query"] = np.tile(np.arange(shape[2]), shape[0] * shape[1])
            if self.qid is not None:
                columns["qid"] = Repeated(_for_a_frame(self.qid), columns["query"])
            columns["value"] = self.per_query.ravel()
        else:
            columns |= {name: getattr(self, name).ravel() for name in ("mean", "change", "change_error")}
        return as_frame("TreeTrack.to_frame", kind, columns)

    def save(self, path: PathLike) -> Path:
        """Write to ``.npz``, or to ``.parquet`` with one row per step, metric and query, which needs pyarrow.

        The file is complete or not there. Metrics are kept as their repr: one with a function as an option raises
        ValueError, as does another suffix, or ids that are neither all numbers nor all texts. A Parquet file of more
        than some 3 million documents written by pyarrow before 16 is read by :meth:`load` only.
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return files.save(values, as_path("TreeTrack.save", "path", path))

    @classmethod
    def load(cls, path: PathLike) -> TreeTrack:
        """Read back what :meth:`save` wrote, to the last digit.

        Parameters
        ----------
        path : str or Path
            A file that ends in ``.npz`` or ``.parquet``.

        Raises
        ------
        ValueError
            If it ends otherwise, is damaged, holds no TreeTrack, or one of another version.
        OSError
            If it cannot be read.
        ImportError
            If it is a Parquet file and pyarrow is not installed.
        """
        return files.load(as_path("TreeTrack.load", "path", path), cls)

    def __repr__(self) -> str:
        named = f"{self.label!r}, " if self.label else ""
        return (
            f"TreeTrack({named}{', '.join(self.names)}; {self.n_steps} steps from {self.steps[0]} to "
            f"{self.steps[-1]} trees, {self.n_queries} queries)"
        )

    def _by_metric(self, one: Callable[[int], FloatArray]) -> FloatArray:
        return read_only(np.stack([one(metric) for metric in range(self.n_metrics)], axis=1))

    def _worst(self, query: int, values: FloatArray, change: FloatArray) -> WorstQuery:
        qid = None if self.qid is None else self.qid[query]
        return WorstQuery(
            query,
            _plain(qid),
            None if self.groups is None else int(self.groups.sizes[query]),
            float(values[query]),
            float(change[query]),
        )


def _for_a_frame(qid: NDArray[Any]) -> NDArray[Any]:
    """Query ids as what they are to both libraries: objects that are whole numbers as these, which polars cannot tell.

    And texts as objects: a text of each row would be made of an array of texts.
    """
    if qid.dtype.kind == "U":
        return qid.astype(object)
    if qid.dtype == object and {type(one) for one in qid} == {int}:
        numbers = np.array(qid.tolist())
        return numbers if numbers.dtype.kind in "iu" else qid
    return qid


def _plain(qid: Any) -> Any:
    """An id as Python's own value; a time that is finer than that holds stays as it is, and is no bare number."""
    if not isinstance(qid, np.generic):
        return qid
    if isinstance(qid, (np.datetime64, np.timedelta64)) and isinstance(qid.item(), int):
        coarse = qid.astype(f"{qid.dtype.kind}8[us]")
        return coarse.item() if coarse == qid else qid
    return qid.item()
