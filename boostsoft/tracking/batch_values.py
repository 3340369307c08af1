"""What candidate batches are worth, ranked."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ..arguments import FloatArray
from ..choices import Frame
from ..frames import as_frame
from ..metrics.soft import AnyMetric
from ..tracks.words import number, per_cent
from .tables import html_table, share, text_table

if TYPE_CHECKING:
    import pandas
    import polars


@dataclass(frozen=True)
class BatchValue:
    """What a few trees on one batch change on the pool.

    Attributes
    ----------
    name : object
        The batch's key, or its place in the list.
    n_queries, n_docs : int
        Of the batch.
    change, error : float
        Change of the soft metric, and its standard error, paired over the pool's queries.
    low, high : float
        Interval of the change, by Student's t; infinite with fewer than two queries.
    hard, hard_error : float
        The same of the hard metric.
    control : float
        Change of the soft metric if the scores only grew to their new spread: 0 in spread units, and in score units the
        part of ``change`` that is no improvement. NaN if the scores before or after have no spread.
    spread : float
        Pooled within-query standard deviation of the new scores.
    first : float
        Share of resamples of the pool's queries in which no batch changes more; shared among equals. NaN with fewer
        than two queries, whose resamples are all the same.
    n_trees : int
        New trees that have a split.
    problem : str
        Why nothing was learned, or the error in training; empty otherwise.
    """

    name: Any
    n_queries: int
    n_docs: int
    change: float
    error: float
    low: float
    high: float
    hard: float
    hard_error: float
    control: float
    spread: float
    first: float
    n_trees: int
    problem: str

    @property
    def failed(self) -> bool:
        """Whether training failed."""
        return bool(self.problem and np.isnan(self.spread))


@dataclass(frozen=True, eq=False)
class BatchValues:
    """Candidate batches and what they are worth; made by :func:`boostsoft.marginal_value`, printed best first.

    Attributes
    ----------
    batches : tuple of BatchValue
        In the order in which they were given.
    changes : ndarray, shape (n_batches, n_queries)
        Change of the soft metric in every query of the pool: what two batches are compared by. NaN where training
        failed, and for queries that do not count.
    metric : Metric or SoftMetric
        What they are ranked by.
    level : float
        Confidence of the intervals.
    before, hard_before : float
        The soft and the hard metric of the model as it was given.
    spread_before : float
        Spread of its scores.
    """

    batches: tuple[BatchValue, ...]
    changes: FloatArray
    metric: AnyMetric
    level: float
    before: float
    hard_before: float
    spread_before: float

    @property
    def order(self) -> tuple[int, ...]:
        """Places of the batches, the largest change first; equals in their order, failed ones last."""
        changes = np.array([batch.change for batch in self.batches])
        return tuple(np.argsort(-changes, kind="stable").tolist())  # NaN sorts behind all

    @property
    def ranked(self) -> tuple[BatchValue, ...]:
        """The batches, the largest change first."""
        return tuple(self.batches[at] for at in self.order)

    @property
    def best(self) -> BatchValue:
        """The batch of the largest change, which may be below 0."""
        return self.ranked[0]

    @overload
    def to_frame(self, kind: Literal["pandas"] = "pandas") -> pandas.DataFrame: ...
    @overload
    def to_frame(self, kind: Literal["polars"]) -> polars.DataFrame: ...
    def to_frame(self, kind: Frame = "pandas") -> Any:
        """One row per batch, best first: rank, place in the list, and the attributes of :class:`BatchValue`.

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
        order = self.order
        columns: dict[str, Any] = {"rank": list(range(1, len(order) + 1)), "place": list(order)}
        for field in fields(BatchValue):
            columns[field.name] = [getattr(self.batches[at], field.name) for at in order]
        return as_frame("BatchValues.to_frame", kind, columns)

    def __repr__(self) -> str:
        head, rows, notes = self._table()
        return "\n".join([text_table(head, rows), *notes])

    def _repr_html_(self) -> str:
        return html_table(*self._table())

    def _table(self) -> tuple[list[str], list[list[str]], list[str]]:
        interval = f"{per_cent(self.level)}% interval"
        head = ["batch", "queries", "documents", "trees", f"change of {self.metric.name}", "error", interval]
        head += ["first", f"change of {self.metric.hard.name}", "error", "control", ""]
        rows = [
            [
                str(batch.name),
                str(batch.n_queries),
                str(batch.n_docs),
                str(batch.n_trees),
                number(batch.change, sign=True),
                number(batch.error),
                "-" if batch.failed else f"[{number(batch.low, sign=True)}, {number(batch.high, sign=True)}]",
                share(batch.first),
                number(batch.hard, sign=True),
                number(batch.hard_error),
                number(batch.control, sign=True),
                f"failed: {batch.problem}" if batch.failed else batch.problem,
            ]
            for batch in self.ranked
        ]
        notes = [
            f"Before: {number(self.before)}, hard {number(self.hard_before)}. Errors are paired over the pool's "
            "queries. First: share of resamples in which the batch is best.",
            "Control: the change if the scores before had only grown to the new spread, which is no improvement.",
        ]
        return head, rows, notes
