"""What a part of the benchmark returns: sections of rows, and targets that figures are held against."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..arguments import FloatArray
from ..statistics import PairedInterval
from .timing import Rounds, Spread

ABOVE_0 = math.ulp(0.0)  # the limit of a figure that must be more than 0: the least number that is


@dataclass(frozen=True)
class Verdict:
    """A target and whether a figure meets it; a wish counts for nothing."""

    target: str
    met: bool
    wish: bool = False

    def __str__(self) -> str:
        return f"{'wish ' * self.wish}{self.target}: {'met' if self.met else 'missed'}"


@dataclass(frozen=True)
class Target:
    """A bound on a figure, and how it is written.

    >>> str(Target(1.0, "<= 1x lambdarank").judge(0.8))
    '<= 1x lambdarank: met'
    >>> str(Target(10, ">= 10x faster", at_least=True).judge(9.5))
    '>= 10x faster: missed'
    """

    limit: float
    text: str
    at_least: bool = False
    wish: bool = False

    def judge(self, figure: float | Spread) -> Verdict:
        """Hold a figure, or the median of one, against the bound; NaN misses it."""
        value = figure.median if isinstance(figure, Spread) else figure
        met = value >= self.limit if self.at_least else value <= self.limit
        return Verdict(self.text, met, self.wish)


@dataclass(frozen=True)
class Column:
    """A column of a table: the key of its cells, its heading, and the unit that its numbers are in.

    Of cells that are texts: "text" names the row, "figures" are numbers of it.
    """

    key: str
    heading: str
    unit: str = "text"


@dataclass(frozen=True)
class Section:
    """A table with what it means.

    Attributes
    ----------
    key : str
        Unique name of the section, for the JSON file.
    title, note : str
        What is measured, and how.
    columns : sequence of Column
        The columns shown; rows may hold further keys, which only the JSON file has.
    rows : sequence of mappings
        Cells by key: text, numbers, Spreads, or lists of Verdicts.
    rounds : Rounds, optional
        The raw seconds.
    left_out : mapping
        Contenders or methods that are not in the table, and why.
    """

    key: str
    title: str
    note: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    rounds: Rounds | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def verdicts(self) -> list[Verdict]:
        """All targets held against in this section."""
        return [cell for row in self.rows for cell in row.get("targets", [])]


def significant(value: float) -> str:
    """A number to three significant digits, from 100 on to a whole one; below .001 and from 1e7 on two and an exponent.

    >>> [significant(v) for v in (0.0, 0.98765, 12.34, 1234.5, 0.0000123, float("nan"))]
    ['0', '0.988', '12.3', '1,234', '1.2e-05', '-']
    """
    if math.isnan(value):
        return "-"
    if value == 0:
        return "0"
    if not 1e-3 <= abs(value) < 1e7:
        return f"{value:.1e}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    decimals = 2 - math.floor(math.log10(abs(value)))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if float(text) == round(float(text)) else text


def signed_interval(interval: PairedInterval) -> str:
    """A difference with its interval.

    >>> signed_interval(PairedInterval(0.00123, -0.001, 0.0041, 9, 0.95))
    '+0.0012 [-0.0010, +0.0041]'
    """
    return f"{interval.mean:+.4f} [{interval.low:+.4f}, {interval.high:+.4f}]"


def difference_cells(interval: PairedInterval, numbers: str, text: str) -> dict[str, Any]:
    """The cells of a difference, under these keys: mean and ends as numbers, and all of it as text."""
    return {numbers: [interval.mean, interval.low, interval.high], text: signed_interval(interval)}


def seed_cells(means: FloatArray) -> dict[str, Any]:
    """The cells of a method's means, one per seed: the numbers, and their standard deviation as text."""
    return {"seeds": means.tolist(), "seeds_text": f"{means.std(ddof=1):.4f}" if means.size > 1 else "-"}


def cell_text(cell: Any, unit: str) -> str:
    """A cell as a table shows it: a median with its quartiles in square brackets."""
    if cell is None:
        return ""
    if unit == "targets":
        return "; ".join(map(str, cell))
    if isinstance(cell, Spread):
        if math.isnan(cell.median):
            return "-"
        low, middle, high = (_number(value, unit) for value in (cell.low, cell.median, cell.high))
        return f"{middle} [{low}, {high}]"
    return cell if isinstance(cell, str) else _number(cell, unit)


def _number(value: float, unit: str) -> str:
    if unit == "count":
        return f"{value:,}"
    if unit == "plain":
        return f"{value:,g}"
    if unit == "error":
        return f"{value:.0e}"
    if unit == "share":
        return f"{100 * value:.0f} %"
    return significant(value)
