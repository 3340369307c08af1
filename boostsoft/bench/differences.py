"""The picture of a comparison: each method's test NDCG@10 less another's, with intervals, a panel per data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..drawing import BLUE, GREY, INK, QUIET, frame, head, new_figure
from .results import Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 3


def differences_figure(sections: Sequence[Section], key: str, title: str) -> Figure:
    """A panel for each table whose rows have intervals under ``key``, one of them at least."""
    shown = [section for section in sections if any(key in row for row in section.rows)]
    columns = min(_COLUMNS, len(shown))
    lines = -(-len(shown) // columns)
    names = list(dict.fromkeys(row["name"] for section in shown for row in section.rows if key in row))
    height = 1.4 + 0.38 * (len(names) + 1)
    figure = new_figure(2.6 + 3.4 * columns, lines * height)
    panels = figure.subplots(lines, columns, sharey=True, squeeze=False).ravel()
    for section, axes in zip(shown, panels, strict=False):
        plot_differences(section, key, names, ax=axes)
    for axes in panels[len(shown) :]:
        axes.set_axis_off()
    head(figure, title)
    return figure


def plot_differences(section: Section, key: str, names: Sequence[str], *, ax: Axes) -> Axes:
    """Draw a dot with its 95 % interval over queries for each method, those of all panels in one order from the top."""
    for row in section.rows:
        if key not in row:
            continue
        place = len(names) - names.index(row["name"])
        mean, low, high = row[key]
        ours = row["ours"]
        colour = BLUE if ours else GREY
        ax.plot([low, high], [place, place], color=colour, lw=2.6 if ours else 1.8, solid_capstyle="round")
        ax.plot(mean, place, "o", ms=7, color=colour)
        ax.annotate(
            f"{mean:+.4f}", (mean, place), (0, 6), textcoords="offset points", ha="center", fontsize=8, color=INK
        )
    ax.axvline(0, color=INK, lw=0.9, zorder=1)
    frame(ax, grid="x")
    ax.set_yticks(range(len(names), 0, -1), names, color=INK)
    ax.set_ylim(0.5, len(names) + 0.7)
    ax.locator_params(axis="x", nbins=4)
    ax.set_title(section.title, loc="left", fontsize=11, color=INK)
    ax.set_xlabel("difference, with its 95 % interval", color=QUIET)
    return ax
