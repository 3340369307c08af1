"""What the plots of tracks share: colours, names at the ends of lines, ranges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import FloatArray, IntArray
from ..plots import QUIET, brief, literal
from ..tracks.effects import STILL
from ..tracks.tree_track import TreeTrack

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#222222")
Tracks = TreeTrack | Sequence[TreeTrack]
_TWO_LINES, _ONE_LINE = 27.0, 13.5  # heights of a label, in points
_MOST_TWO_LINES = 5
_LETTERS_BESIDE, _LETTERS_ABOVE = 4.0, 6.0  # of a name, for each inch of the axes
FEW_STEPS = 15  # each of so few is marked by a dot
_TICK_LETTERS = 40  # that the labels of an axis may have together


class EndLabel(NamedTuple):
    """The name of a line, with a word on its value, at the height where it ends."""

    height: float
    name: str
    text: str
    colour: str


def colour_of(i: int) -> str:
    """The i-th colour; they come round again."""
    return PALETTE[i % len(PALETTE)]


def as_tracks(caller: str, tracks: Any) -> tuple[TreeTrack, ...]:
    """One track or several as a tuple."""
    if isinstance(tracks, TreeTrack):
        return (tracks,)
    found = tuple(tracks) if isinstance(tracks, Iterable) else (tracks,)
    wrong = [track for track in found if not isinstance(track, TreeTrack)]
    if wrong or not found:
        got = wrong[0] if wrong else tracks
        raise TypeError(f"{caller}: tracks must be a TreeTrack or a sequence of them; got {got!r}")
    return found


def as_track(caller: str, track: Any) -> TreeTrack:
    """The track, if it is one."""
    if not isinstance(track, TreeTrack):
        raise TypeError(f"{caller}: track must be a TreeTrack; got {track!r}")
    return track


def track_names(tracks: Sequence[TreeTrack]) -> tuple[str, ...]:
    """What each track is called; a number where it has no label or shares it.

    >>> from types import SimpleNamespace as Track
    >>> track_names([Track(label="a"), Track(label="b"), Track(label="a")]), track_names([Track(label="")])
    (('a (1)', 'b', 'a (2)'), ('model',))
    """
    labels = [track.label or "model" for track in tracks]
    shared = {label for label in labels if labels.count(label) > 1}
    return tuple(
        f"{label} ({labels[:i].count(label) + 1})" if label in shared else label for i, label in enumerate(labels)
    )


def label_ends(axes: Axes, labels: Sequence[EndLabel]) -> None:
    """Write the labels into the right margin, each at the height of its line's end or as near as the others allow."""
    low, high = axes.get_ylim()
    short = len(labels) > _MOST_TWO_LINES
    width, height = np.asarray(axes.get_window_extent().size) / axes.figure.dpi
    gap = (_ONE_LINE if short else _TWO_LINES) / (72 * height) * (high - low)
    wanted = [label.height if np.isfinite(label.height) else low for label in labels]
    most = int(width * (_LETTERS_BESIDE if short else _LETTERS_ABOVE))
    names = map(literal, brief([label.name for label in labels], most))
    for label, name, height in zip(labels, names, apart(np.clip(wanted, low, high), gap), strict=True):
        place: dict[str, Any] = {"xy": (1.015, height), "xycoords": ("axes fraction", "data")}
        place |= {"textcoords": "offset points", "color": label.colour, "annotation_clip": False}
        if short:
            axes.annotate(f"{name}  {label.text}", xytext=(0, 0), va="center", fontsize=9, **place)
        else:
            axes.annotate(name, xytext=(0, 1), va="bottom", fontsize=10, fontweight="bold", **place)
            axes.annotate(label.text, xytext=(0, -1), va="top", fontsize=9, **place)


def apart(heights: ArrayLike, gap: float) -> FloatArray:
    """The heights nearest to those given (least squares) of which no two are closer than ``gap``.

    >>> apart([0.5, 3.0, 0.5], 1.0)
    array([0., 3., 1.])
    """
    wanted = np.asarray(heights, dtype=np.float64)
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(wanted.size)
    blocks: list[list[float]] = []  # of neighbours that touch: mean of what is wanted less the steps, how many
    for value in wanted[order] - steps:
        blocks.append([value, 1.0])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, count = blocks.pop()
            above = blocks[-1]
            above[:] = [(above[0] * above[1] + mean * count) / (above[1] + count), above[1] + count]
    placed = np.empty(wanted.size)
    placed[order] = np.repeat([mean for mean, _ in blocks], [int(count) for _, count in blocks]) + steps
    return placed


def value_range(curves: Sequence[FloatArray]) -> tuple[float, float]:
    """From what the curves reach after a few trees to their top, with room: the first steep rise may start below."""
    later = [curve[min(curve.size - 1, max(2, curve.size // 25)) :] for curve in curves]
    tops = np.concatenate([np.ravel(curve) for curve in curves])
    values = np.concatenate(later)
    values, tops = values[np.isfinite(values)], tops[np.isfinite(tops)]
    if not tops.size:
        return 0.0, 1.0
    low, high = float(values.min() if values.size else tops.min()), float(tops.max())
    room = high - low if high - low > STILL else 0.1
    return low - 0.06 * room, high + 0.07 * room


def tree_axis(axes: Axes, steps: Sequence[IntArray]) -> None:
    """An axis of whole trees, a little longer than the steps reach."""
    first, last = min(int(found[0]) for found in steps), max(int(found[-1]) for found in steps)
    room = max(0.012 * (last - first), 0.4 if last - first < 30 else 0.0)
    axes.set_xlim(first - room, last + room)
    shown = np.unique(np.concatenate(steps))
    if shown.size * len(f"{last:,}") <= _TICK_LETTERS:
        axes.set_xticks(shown)
    else:
        axes.locator_params(axis="x", integer=True)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def remark(axes: Axes, text: str, xy: tuple[float, float], offset: tuple[float, float], ha: str, va: str) -> None:
    """Small words beside a point, legible over lines."""
    paper = {"boxstyle": "square,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.85}
    axes.annotate(
        text, xy, xytext=offset, textcoords="offset points", ha=ha, va=va, fontsize=9, color=QUIET, bbox=paper,
        annotation_clip=False, zorder=7,
    )  # fmt: skip


def signed(value: float) -> str:
    """A number with its sign, and no digits that a reader does not need.

    >>> signed(0.25), signed(0.0)
    ('+0.25', '0')
    """
    return f"{value:+g}".replace("-", "\N{MINUS SIGN}") if abs(value) > 1e-12 else "0"
