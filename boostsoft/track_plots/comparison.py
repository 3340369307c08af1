"""What two systems differ in, metric by metric."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from ..drawing import INK, QUIET, brief, column, frame, given_axes, letters, literal
from ..tracking.compared import ComparedMetric, Comparison
from ..tracks.words import per_cent
from .changes import COLOURS
from .labels import signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NARROW = 5.0  # inches, of all that is beside each other
_NAME, _LINE = 14, 26  # letters there, of a name and below the axes


def plot_comparison(comparison: Comparison, *, ax: Axes | None = None) -> Axes:
    """The difference of two systems in every metric with its interval, and how many queries it takes to see it.

    A difference is blue if its interval is above 0, vermilion if it is below. Controls, which show what a mere change
    of scale does, are hollow. With one query a difference has no interval, without any it is NaN and not drawn; either
    way, and where no query differs, no number stands beside it. All have one scale: metrics of different units are
    better drawn apart.

    Parameters
    ----------
    comparison : Comparison
        What :func:`boostsoft.compare` found.
    ax : Axes, optional
        Where to draw: in a light figure, best of ``layout="constrained"``, since words stand beside the axes.

    Raises
    ------
    TypeError
        If ``comparison`` or ``ax`` is something else.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import compare
    >>> from boostsoft.track_plots import plot_comparison
    >>> y, a = np.array([0, 1, 0, 1, 2, 0]), np.array([2.0, 1.0, 3.0, 1.0, 2.0, 0.0])
    >>> axes = plot_comparison(compare(a, a + y, y_true=y, group=[2, 2, 2], metrics=["ndcg@10"]))
    >>> [label.get_text() for label in axes.get_yticklabels()], axes.get_xlabel()
    (['ndcg@10'], 'b minus a, 95 % intervals')
    """
    if not isinstance(comparison, Comparison):
        raise TypeError(
            f"plot_comparison: comparison must be what boostsoft.compare returns; got {type(comparison).__name__}"
        )
    rows = comparison.rows
    axes = given_axes("plot_comparison", ax, 8.5, 1.3 + 0.42 * len(rows))
    narrow = column(axes) < _NARROW
    for place, row in zip(range(len(rows), 0, -1), rows, strict=True):
        _draw_row(axes, place, row)
    frame(axes, grid="x")
    axes.axvline(0, color=INK, lw=0.9, zorder=1)
    axes.set_yticks(range(len(rows), 0, -1), _names(rows, narrow), color=INK)
    axes.set_ylim(0.4, len(rows) + 0.6)
    axes.locator_params(axis="x", nbins=3 if narrow else 6)
    axes.xaxis.set_major_formatter(signed)
    first, second = map(literal, brief(comparison.labels))
    words = f"{second} minus {first}, {per_cent(comparison.level)} % intervals"
    axes.set_xlabel(fill(words, _LINE if narrow else letters(axes)), color=QUIET)
    if not narrow:
        axes.set_title("Difference over queries", loc="left", fontsize=10, color=QUIET)
    axes.annotate(
        f"mean / sd;{chr(10) if narrow else ' '}queries needed", (1.02, 1), xycoords="axes fraction", xytext=(0, 6),
        textcoords="offset points", va="bottom", fontsize=9, color=QUIET, annotation_clip=False,
    )  # fmt: skip
    return axes


def _names(rows: Sequence[ComparedMetric], narrow: bool) -> list[str]:
    names = map(literal, brief([row.metric for row in rows], *([_NAME] if narrow else [])))
    return [
        f"control of{chr(10) if narrow else ' '}{name}" if row.kind == "control" else name
        for name, row in zip(names, rows, strict=True)
    ]


def _draw_row(axes: Axes, place: float, row: ComparedMetric) -> None:
    kind = "helps" if row.low > 0 else "hurts" if row.high < 0 else "unsure"
    colour = INK if kind == "unsure" else COLOURS[kind]
    control = row.kind == "control"
    width = 2.6 if row.kind == "soft" else 1.4
    if np.isfinite([row.low, row.high]).all():
        axes.plot([row.low, row.high], [place, place], color=colour, lw=width, solid_capstyle="round")
    axes.plot(row.difference, place, "o", ms=7, mfc="white" if control else colour, mec=colour, mew=1.5, zorder=3)
    if control or np.isnan(row.effect):
        return
    needed = f"; {row.queries_needed:,.0f}" if np.isfinite(row.queries_needed) else ""
    axes.annotate(
        f"{signed(round(row.effect, 3))}{needed}", (1.02, place), xycoords=("axes fraction", "data"), va="center",
        fontsize=9.5, color=colour, annotation_clip=False,
    )  # fmt: skip
