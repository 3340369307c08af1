"""The whole picture of a track: the curve, and under it what each tree did."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from ..arguments import of_type
from ..drawing import INK, as_sentence, brief, head, literal, new_figure
from ..tracks.checks import place_or_first_soft
from ..tracks.effects import TreeEffects, effects_of
from ..tracks.tree_track import TreeTrack
from ..tracks.words import per_cent
from .changes import draw_changes
from .curves import MetricChoice, draw_soft_over_hard, plot_curves, twin_of
from .labels import PALETTE, remark

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LETTERS = 90  # of a heading
_LETTERS_OF_ADVICE = 120  # in a line


def track_figure(track: TreeTrack, metric: MetricChoice | None = None, *, level: float = 0.95) -> Figure:
    """The curve with its band over the change by tree, the advice in words, and where the best number of trees may be.

    One step alone is drawn as in :func:`plot_curves` and :func:`plot_changes`.

    Parameters
    ----------
    track : TreeTrack
        What to draw.
    metric : int, str or metric, optional
        By position, name or value; by default the first soft metric, with the light line of its hard twin, or the
        first of all.
    level : float
        Level of the band and of all intervals.

    Raises
    ------
    TypeError, ValueError
        If ``track`` is none or has no such metric, the metric counts no query or is infinite for one, or level is not
        between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import Metric, SoftMetric, TreeTrack
    >>> from boostsoft.track_plots import track_figure
    >>> track = TreeTrack(
    ...     metrics=(Metric("ndcg@10"), SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread")), steps=np.array([1, 2]),
    ...     per_query=np.array([[[0.6, 0.6], [0.5, 0.6]], [[0.8, 0.8], [0.6, 0.9]]]), beginning=np.full((2, 2), 0.5),
    ...     start=0, query_weight=np.ones(2), spread=np.ones(2), groups=None, y_true=None, scores=None, qid=None)
    >>> figure = track_figure(track, "ndcg@10")
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['Keep all 2 trees: with fewer, more than 0.0015 may be given up', 'Change of ndcg@10 by tree']
    """
    of_type("track_figure", "track", track, TreeTrack)
    chosen = place_or_first_soft("track_figure", "metric", track.metrics, metric)
    effects = effects_of("track_figure", track, chosen, level)
    figure = new_figure(10.0, 7.4)
    top, bottom = figure.subplots(2, 1, height_ratios=[1.2, 1], gridspec_kw={"hspace": 0.1})
    twin = twin_of(track, chosen) if metric is None else None
    if twin is None:
        plot_curves(track, chosen, level=level, ax=top)
    else:
        draw_soft_over_hard("track_figure", top, track, twin, chosen, "paired", level)
    draw_changes(bottom, effects)
    heading = literal(*brief([track.label or "What each tree adds"], _LETTERS))
    head(figure, heading)
    said = fill(literal(as_sentence(effects.advice)), _LETTERS_OF_ADVICE)
    top.set_title(said, loc="left", fontsize=10.5, color=INK, pad=18)  # over the name of a line that ends at the top
    if effects.queries > 1 and track.n_steps > 1:  # one query alone gives no interval, one step no choice
        _mark_best(top, effects, PALETTE[0])
    return figure


def _mark_best(axes: Axes, effects: TreeEffects, colour: str) -> None:
    """A bar along the bottom: between what numbers of trees the best may lie."""
    low, high = axes.get_ylim()
    height = low + 0.05 * (high - low)
    ends = np.clip([effects.best_low, effects.best_high], *axes.get_xlim())  # the beginning may be left of the axis
    axes.plot(ends, [height, height], "|-", color=colour, lw=1.6, ms=7, mew=1.6, zorder=6)
    text = f"best number of trees: {per_cent(effects.level)} % interval {effects.best_low:,} to {effects.best_high:,}"
    if ends[1] <= sum(axes.get_xlim()) / 2:
        remark(axes, text, (ends[1], height), (8, 0), "left", "center")
    else:  # over the bar, and inside the axes: behind them lines have their names
        remark(axes, text, (axes.get_xlim()[1], height), (0, 5), "right", "bottom")
