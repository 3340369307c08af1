"""The change that each tree makes, with its error."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import IntArray, of_type
from ..drawing import BLUE, INK, QUIET, VERMILION, brief, frame, given_axes, inches, letters, literal
from ..query_means import STILL
from ..tracks.checks import place_or_first_soft
from ..tracks.effects import TreeEffects, effects_of
from ..tracks.tree_track import TreeTrack
from ..tracks.words import number, per_cent
from .curves import MetricChoice
from .labels import MINUS, remark, signed, tree_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UNSURE = "#8C8C8C"
COLOURS = {"unsure": UNSURE, "helps": BLUE, "hurts": VERMILION}
_CUT_SHARE = 33  # one of so many steps, and two at least, may lie beyond the range; they are marked at its edge
_LEAST_TO_CUT = 8  # steps
_NEAR = 0.6  # of the range: what reaches no further beyond is shown in full
_INCHES_FOR_CHANCE = 6.0  # wide axes have room to say how many steps would seem to hurt
_BOLD, _GAPS = 1.2, 6  # width of a bold letter, and what is free around the counts, in letters
_SHARE_BESIDE_OTHERS = 0.85  # of the width that axes have before their figure is laid out
_WIDTH = 560.0  # width of the picture in points, nearly


def plot_changes(
    track: TreeTrack, metric: MetricChoice | None = None, *, level: float = 0.95, ax: Axes | None = None
) -> Axes:
    """Change of the mean with each step, with intervals: which trees help, and which hurt.

    A step hurts (vermilion) if its whole interval is below 0, and helps (blue) if it is above. The first steps may
    change far more than all others: what leaves the range is marked at its edge, the largest with its value. Where
    fewer than two queries count there are no intervals: the dots stand alone, and no step is sure.

    Parameters
    ----------
    track : TreeTrack
        What to draw, of one step or of thousands.
    metric : int, str or metric, optional
        By position, name or value; by default the first soft metric, or the first of all.
    level : float
        Level of the intervals of the paired change over queries. Where no step changes anything, a share of
        (1 - level) / 2 of them still seems to hurt: the picture says how many that would be.
    ax : Axes, optional
        Where to draw: in a light figure, best of ``layout="constrained"``, since words stand beside the axes.

    Raises
    ------
    TypeError, ValueError
        If ``track`` is none or has no such metric, the metric counts no query or is infinite for one, or level is not
        between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import Metric, SoftMetric, TreeTrack
    >>> from boostsoft.track_plots import plot_changes
    >>> track = TreeTrack(
    ...     metrics=(Metric("ndcg@10"), SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread")), steps=np.array([1, 2]),
    ...     per_query=np.array([[[0.5, 0.7], [0.5, 0.6]], [[0.6, 1.0], [0.6, 0.9]]]), beginning=np.full((2, 2), 0.5),
    ...     start=0, query_weight=np.ones(2), spread=np.ones(2), groups=None, y_true=None, scores=None, qid=None)
    >>> axes = plot_changes(track)
    >>> axes.get_title(loc="left"), [text.get_text() for text in axes.texts]
    ('Change of ndcg_gaussian@10 by tree', ['0 help', '2 unsure', '0 hurt (by chance alone 0.05)'])
    """
    of_type("plot_changes", "track", track, TreeTrack)
    chosen = place_or_first_soft("plot_changes", "metric", track.metrics, metric)
    effects = effects_of("plot_changes", track, chosen, level)
    axes = given_axes("plot_changes", ax, 8.0, 3.6)
    draw_changes(axes, effects)
    return axes


def draw_changes(axes: Axes, effects: TreeEffects) -> None:
    """Draw the changes, with what is said over, beside and below them."""
    kinds = step_kinds(effects)
    for order, (kind, colour) in enumerate(COLOURS.items(), 2):
        _draw_steps(axes, effects, kinds == kind, colour, order)
    frame(axes)
    axes.axhline(0, color=INK, lw=0.8, zorder=1.5)
    axes.set_ylim(*change_range(effects))
    tree_axis(axes, [effects.steps])
    axes.yaxis.set_major_formatter(signed)
    bars = f" (bars: {per_cent(effects.level)} % intervals, paired over queries)"
    caption = f"trees{bars if effects.queries > 1 else ''}"
    axes.set_xlabel(fill(caption, int(_SHARE_BESIDE_OTHERS * letters(axes))), color=QUIET)
    axes.set_ylabel("change of the mean", color=QUIET)
    _mark_beyond(axes, effects, kinds)
    _say_counts(axes, effects, kinds, raised=bool((effects.change > axes.get_ylim()[1]).any()))


def tree_by_tree(start: int, steps: IntArray) -> bool:
    """Whether every step is of one tree.

    >>> tree_by_tree(0, np.array([1, 2])), tree_by_tree(0, np.array([20]))
    (True, False)
    """
    return bool((np.diff(steps, prepend=start) == 1).all())


def step_kinds(effects: TreeEffects) -> NDArray[np.str_]:
    """``"helps"``, ``"hurts"`` or ``"unsure"`` for each step: its interval above 0, below 0, or neither."""
    return np.where(effects.low > STILL, "helps", np.where(effects.high < -STILL, "hurts", "unsure"))


def change_range(effects: TreeEffects) -> tuple[float, float]:
    """A range of changes that holds nearly all intervals, and 0: all of them unless a few lie far beyond."""
    lows, highs = (np.where(np.isfinite(end), end, effects.change) for end in (effects.low, effects.high))
    lows, highs = np.sort(lows[np.isfinite(lows)]), np.sort(highs[np.isfinite(highs)])[::-1]
    if not highs.size:
        return -1.0, 1.0
    few = max(2, highs.size // _CUT_SHARE) if highs.size >= _LEAST_TO_CUT else 0
    low, high = min(float(lows[few]), 0.0), max(float(highs[few]), 0.0)
    room = max(high - low, 1e-9)
    low = min(float(lows[0]), 0.0) if lows[0] > low - _NEAR * room else low
    high = max(float(highs[0]), 0.0) if highs[0] < high + _NEAR * room else high
    room = high - low if high - low > STILL else 0.01
    return low - 0.08 * room, high + 0.08 * room


def _draw_steps(axes: Axes, effects: TreeEffects, chosen: Any, colour: str, order: float) -> None:
    share = _WIDTH / max(effects.steps.size, 1)  # points that a step has
    x, strong = effects.steps[chosen], colour != UNSURE
    width = float(np.clip(0.55 * share, 0.6 if strong else 0.5, 1.6))
    alpha = (0.55 if share > 4 else 0.75) if strong else 0.35
    axes.vlines(x, effects.low[chosen], effects.high[chosen], color=colour, lw=width, alpha=alpha, zorder=order)
    size = float(np.clip(0.9 * share, 1.5, 5.0) if strong else np.clip(0.6 * share, 1.0, 3.5))
    axes.plot(x, effects.change[chosen], "o", ms=size, mew=0, color=colour, zorder=order + 0.5)


def _mark_beyond(axes: Axes, effects: TreeEffects, kinds: NDArray[np.str_]) -> None:
    """A triangle at the edge for each step whose change lies beyond it, and the value of the farthest."""
    low, high = axes.get_ylim()
    for edge, beyond, marker in ((high, effects.change > high, "^"), (low, effects.change < low, "v")):
        at = np.flatnonzero(beyond)
        if not at.size:
            continue
        for kind in np.unique(kinds[at]):
            x = effects.steps[at[kinds[at] == kind]]
            axes.plot(x, np.full(x.size, edge), marker, ms=5, mew=0, color=COLOURS[kind], clip_on=False, zorder=6)
        far = int(at[np.argmax(np.abs(effects.change[at]))])
        others = f", {at.size - 1} more beyond" if at.size > 1 else ""
        text = f"{_change_in_words(effects, far)}{others}"
        trees, up = effects.steps[at], 1 if edge == high else 3
        if trees.max() <= sum(axes.get_xlim()) / 2:
            remark(axes, text, (int(trees.max()), edge), (8, up), "left", "bottom")
        else:
            remark(axes, text, (int(trees.min()), edge), (-8, up), "right", "bottom")


def _change_in_words(effects: TreeEffects, at: int) -> str:
    before, last = effects.steps[at - 1] if at else effects.start, effects.steps[at]
    which = f"tree {last:,}" if last == before + 1 else f"trees {before + 1:,} to {last:,}"
    return f"{number(effects.change[at], sign=True).replace('-', MINUS)} with {which}"


def _say_counts(axes: Axes, effects: TreeEffects, kinds: NDArray[np.str_], *, raised: bool) -> None:
    """A line over the picture, raised over a remark at its edge: what is drawn, and how many steps of each kind.

    Narrow axes, as of two pictures side by side, have no room for both: the counts are in a line of their own.
    """
    what = "tree" if tree_by_tree(effects.start, effects.steps) else "step"
    chance = f"{effects.by_chance:.0f}" if effects.by_chance >= 10 else f"{effects.by_chance:.2g}"
    wide = inches(axes) >= _INCHES_FOR_CHANCE
    by_chance = f" (by chance alone {chance})" if wide else ""
    title, pad = f"Change of {literal(*brief([effects.metric], 20))} by {what}", 20 if raised else 9
    said = (("helps", "help"), ("unsure", "unsure"), ("hurts", f"hurt{by_chance}"))
    counts = [(f"{(kinds == kind).sum():,} {words}", COLOURS[kind]) for kind, words in said]
    width = len(title) + _BOLD * sum(len(text) for text, _ in counts) + _GAPS
    below = not wide and width > _SHARE_BESIDE_OTHERS * letters(axes)
    title += "\n" * below  # the line that the counts are written into
    shown: Any = axes.set_title(title, loc="left", fontsize=10, color=QUIET, pad=pad)
    for place, (text, colour) in enumerate(counts):
        at, gap = (0, 0) if below and not place else (1, 10)
        shown = axes.annotate(
            text, (at, 0), xycoords=shown, xytext=(gap, 0), textcoords="offset points",
            va="bottom", fontsize=10, color=colour, fontweight="bold", annotation_clip=False,
        )  # fmt: skip
        shown.set_in_layout(False)  # a line longer than the picture would take its width from the axes, in vain
