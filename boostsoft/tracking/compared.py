"""What a comparison found, as a table."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ..choices import Frame, RowKind
from ..frames import as_frame
from ..tracks.words import number, per_cent
from .tables import chance, count, html_table, share, text_table

if TYPE_CHECKING:
    import pandas
    import polars


@dataclass(frozen=True)
class ComparedMetric:
    r"""One row of a :class:`Comparison`.

    Attributes
    ----------
    metric : str
        Name of the metric.
    kind : "hard", "soft" or "control"
        Whether it is a hard or a soft metric, or the control of a soft one: a's own scores, rescaled to b's spread,
        against a. A control is 0 in spread units; in score units it is what a soft metric gains without any change of
        the ranking.
    n : int
        Queries that count.
    a, b : float
        Both means.
    difference, error : float
        b - a, and its standard error, paired over queries (the ratio estimator's, if they differ in weight).
    low, high : float
        Interval of the difference: percentiles over resampled queries, too narrow where few count: at .95 it holds .9
        with 10 queries, .92 with 20. Of weights it is the effective number, (sum w)^2 / sum w^2, that counts.
    t, p_t, p_wilcoxon : float
        The paired t statistic, its two-sided p-value with n - 1 degrees of freedom (of queries that differ in weight,
        Kish's effective number less 1), and that of Wilcoxon's signed-rank test, which leaves out queries without a
        difference; NaN if queries differ in weight, which it does not know.
    sd, effect : float
        Standard deviation of the differences, error times sqrt(n), and the difference over it.
    same_sign : float
        Share of resamples with the sign of the difference; those of difference 0 count half. NaN with fewer than two
        queries, whose resamples are all the same.
    queries_needed : float
        Queries with which a two-sided test at 1 - level finds this difference with the chance ``power``:
        ((z(1 - alpha / 2) + z(power)) / effect)^2, rounded up.
    gain, gain_low, gain_high : float
        The effect over the hard twin's, and percentiles of that over the same resamples: 2 needs a quarter of the
        queries, 1 as many, and below 0 the two metrics disagree. NaN where the hard effect is 0. The interval is
        wide where that is near 0, or has no ends: a resample without a hard effect counts half as infinite, half as
        minus infinite.
    agrees_half, agrees_small : float
        Share of samples of half of the queries, and of ``small`` ones, drawn without replacement, in which this metric
        has the sign of the **hard** metric's difference on all queries; samples of difference 0 count half. NaN
        where there is no such sample: one query alone counts, or fewer than ``small``. The hard metric has the
        advantage of sharing its own noise with that sign.
    identical : bool
        Whether no query differs by more than rounding (1e-9, of values above 1 times the largest): then the difference
        is 0, and what would divide by its standard deviation is NaN.
    """

    metric: str
    kind: RowKind
    n: int
    a: float
    b: float
    difference: float
    error: float
    low: float
    high: float
    t: float
    p_t: float
    p_wilcoxon: float
    sd: float
    effect: float
    same_sign: float
    queries_needed: float
    gain: float
    gain_low: float
    gain_high: float
    agrees_half: float
    agrees_small: float
    identical: bool


@dataclass(frozen=True)
class Comparison:
    """Two systems in every metric; made by :func:`boostsoft.compare`, printed as a table.

    Attributes
    ----------
    rows : tuple of ComparedMetric
        In the order of the metrics, each soft one followed by its control where the scores are known.
    labels : (str, str)
        What a and b are called.
    spreads : (float, float)
        Pooled within-query standard deviation of both systems' scores.
    level, power : float
        Of the intervals and tests, and of ``queries_needed``.
    n_boot : int
        Number of resamples.
    small : int
        Queries of a small sample.
    notes : tuple of str
        What a reader should know: controls that could not be made, systems that do not differ.
    """

    rows: tuple[ComparedMetric, ...]
    labels: tuple[str, str]
    spreads: tuple[float, float]
    level: float
    power: float
    n_boot: int
    small: int
    notes: tuple[str, ...]

    def row(self, metric: str, kind: RowKind | None = None) -> ComparedMetric:
        """The row of a metric by name; of its control with ``kind="control"``."""
        for row in self.rows:
            if row.metric == metric and (row.kind == kind or (kind is None and row.kind != "control")):
                return row
        known = ", ".join(f"{row.metric!r} ({row.kind})" for row in self.rows)
        raise ValueError(f"Comparison.row: metric must be one of {known}; got {metric!r}, kind={kind!r}")

    @overload
    def to_frame(self, kind: Literal["pandas"] = "pandas") -> pandas.DataFrame: ...
    @overload
    def to_frame(self, kind: Literal["polars"]) -> polars.DataFrame: ...
    def to_frame(self, kind: Frame = "pandas") -> Any:
        """One row per metric and control, one column per attribute of :class:`ComparedMetric`.

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
        names = [field.name for field in fields(ComparedMetric)]
        return as_frame(
            "Comparison.to_frame", kind, {name: [getattr(row, name) for row in self.rows] for name in names}
        )

    def __repr__(self) -> str:
        head, rows, notes = self._table()
        return "\n".join([*self._called(), text_table(head, rows), *notes])

    def _repr_html_(self) -> str:
        head, rows, notes = self._table()
        return html_table(head, rows, [*self._called(), *notes])

    def _called(self) -> list[str]:
        """What a and b are called, where they have names."""
        return [] if self.labels == ("a", "b") else [f"a: {self.labels[0]}, b: {self.labels[1]}"]

    def _table(self) -> tuple[list[str], list[list[str]], list[str]]:
        head = ["metric", "a", "b", "b - a", f"{per_cent(self.level)}% interval", "t", "p (t)", "p (Wilcoxon)"]
        head += ["mean / sd", "same sign", "queries needed", "x hard", "agrees, half", f"agrees, {self.small}"]
        notes = [
            f"b - a over queries; interval, same sign: {self.n_boot} resamples. Queries needed: power {self.power:g}, "
            f"alpha {1 - self.level:.2g}. x hard: mean / sd over the hard metric's.",
            "Agrees: samples of that many queries in which the metric has the sign of hard b - a on all queries.",
        ]
        if any(row.kind == "control" for row in self.rows):
            notes.append(
                f"Control: scores rescaled from a's spread, {self.spreads[0]:.3g}, to b's, {self.spreads[1]:.3g}; "
                "the ranking is the same, so this is no improvement. What scores of another shape change is not in it."
            )
        return head, [self._cells(row) for row in self.rows], [*notes, *self.notes]

    def _cells(self, row: ComparedMetric) -> list[str]:
        ratio = "" if np.isnan(row.gain) else f"{row.gain:.2f} [{row.gain_low:.2f}, {row.gain_high:.2f}]"
        return [
            f"  control of {row.metric}" if row.kind == "control" else row.metric,
            number(row.a),
            number(row.b),
            number(row.difference, sign=True),
            f"[{number(row.low, sign=True)}, {number(row.high, sign=True)}]",
            number(row.t, 2),
            chance(row.p_t),
            chance(row.p_wilcoxon),
            number(row.effect, 3, sign=True),
            share(row.same_sign),
            count(row.queries_needed),
            ratio,
            share(row.agrees_half),
            share(row.agrees_small),
        ]
