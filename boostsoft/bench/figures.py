"""Pictures of a run: what an objective costs per query, and the growth curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..commands.experiment import OURS
from ..drawing import BLUE, GREEN, GREY, INK, QUIET, SKY, VERMILION, frame, head, new_figure
from .growth import GAUSSIAN, GUMBEL, LAMBDARANK, NAMES, XGBOOST
from .results import Section, significant
from .timing import Spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINES: dict[str, dict[str, Any]] = {
    GAUSSIAN: {"color": BLUE, "marker": "o"},
    GUMBEL: {"color": SKY, "marker": "s"},
    LAMBDARANK: {"color": VERMILION, "marker": "^"},
    XGBOOST: {"color": GREEN, "marker": "v"},
}


def cost_figure(section: Section) -> Figure:
    """Bars of the cost per query, the dearest below; ours at a cutoff of 10, and of the whole list."""
    figure = new_figure(9.0, 6.8)
    plot_costs(section, ax=figure.add_subplot())
    head(figure, section.title)
    return figure


def plot_costs(section: Section, *, ax: Axes) -> Axes:
    """Draw a bar for each objective, not for trees alone, with its quartiles, on a logarithmic scale."""
    rows = [row for row in section.rows if row.get("k", 10) == 10 and row["cost"].median > 0 and "tree" not in row]
    rows.sort(key=lambda row: -float(row["cost"].median))
    least = _least([row["cost"] for row in rows])
    places = np.arange(len(rows))
    for place, row in zip(places, rows, strict=True):
        cost: Spread = row["cost"]
        mine = str(row["name"]).startswith(OURS)
        ax.barh(place, cost.median, height=0.7, color=BLUE if mine else GREY)
        ax.plot([max(cost.low, least), cost.high], [place, place], color=INK, lw=1.2)
        ax.annotate(f" {significant(cost.median)}", (cost.high, place), va="center", fontsize=9, color=INK)
    labels = [row["name"] + (f", sigma {row['sigma']:g}" if "sigma" in row else "") for row in rows]
    ax.set_yticks(places, labels, color=INK)
    frame(ax, grid="x")
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(_plain)
    ax.minorticks_off()
    ax.set_xlabel("µs per query and boosting iteration, less the tree's", color=QUIET)
    return ax


def growth_figure(sections: Sequence[Section]) -> Figure:
    """A panel for each growth curve."""
    figure = new_figure(13.0, 7.6)
    panels = np.ravel(figure.subplots(2, 3))
    for section, axes in zip(sections, panels, strict=False):
        plot_growth(section, ax=axes)
    for axes in panels[len(sections) :]:
        axes.set_axis_off()
    handles = {line.get_label(): line for axes in panels for line in axes.get_lines()}
    panels[-1].legend(handles.values(), handles.keys(), loc="center", frameon=False, labelcolor=INK)
    head(figure, "µs per query and boosting iteration, less the tree's")
    return figure


def plot_growth(section: Section, *, ax: Axes) -> Axes:
    """Draw the medians of one curve with their quartiles; both axes are logarithmic."""
    from matplotlib.ticker import LogLocator

    for name in NAMES:
        points = [(row["at"], row[name]) for row in section.rows if name in row and row[name].median > 0]
        if not points:
            continue
        at = [place for place, _ in points]
        ax.plot(at, [cost.median for _, cost in points], label=name, ms=4.5, lw=1.6, **_LINES[name])
        least = _least([cost for _, cost in points])
        low, high = ([max(getattr(cost, end), least) for _, cost in points] for end in ("low", "high"))
        ax.fill_between(at, low, high, color=_LINES[name]["color"], alpha=0.15, lw=0)
    frame(ax, grid="both")
    ax.set_xscale("log")
    ax.set_yscale("log")
    bottom, top = ax.get_ylim()
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if top < 500 * bottom else (1.0,)))
    ax.yaxis.set_major_formatter(_plain)
    ax.set_xticks([row["at"] for row in section.rows], [_plain(row["at"]) for row in section.rows])
    ax.minorticks_off()
    ax.set_title(section.title, loc="left", fontsize=11, color=INK)
    ax.set_xlabel(section.columns[0].heading, color=QUIET)
    return ax


def _least(costs: Sequence[Spread]) -> float:
    """Where a logarithmic axis ends below: a quartile less the tree's may be 0 and less, where other work goes on."""
    return 0.5 * min((cost.median for cost in costs), default=1.0)


def _plain(value: float, _: Any = None) -> str:
    return f"{value:g}" if value < 10_000 else f"{value / 1000:,g}k"
