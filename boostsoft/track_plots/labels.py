"""What the plots of tracks share: colours, names of tracks, axes of trees, remarks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import IntArray, short
from ..drawing import BLUE, GREEN, INK, ORANGE, PINK, QUIET, SKY, VERMILION, letters
from ..tracks.tree_track import TreeTrack

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PALETTE = (BLUE, VERMILION, GREEN, PINK, SKY, ORANGE, INK)
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.6)), (0, (1, 1.4)), (0, (6, 1.6, 1.2, 1.6)))
MARKS = ("", "s", "^", "D", "v", "P", "X", "*")
Tracks = TreeTrack | Iterable[TreeTrack]
FEW_STEPS = 15  # each of so few is marked by a dot
MINUS = "\N{MINUS SIGN}"
_TICK_LETTERS = 40  # that the labels of an axis may have together


class Look(NamedTuple):
    """How a line is drawn; without a mark it is the line alone."""

    colour: str
    dashes: Any
    mark: str


def look_of(i: int, j: int | None = None, n: int = 1) -> Look:
    """How line i is drawn or, if each of n owners has several, line j of owner i.

    Owners differ in colour and their lines in dashes; of single lines, each way to dash comes for all colours before
    the next. Where both come round again, other marks are set.
    """
    rounds, colour = divmod(i, len(PALETTE))
    if j is None:
        rounds, j, n = 0, rounds, 1
    again, dashes = divmod(j, len(DASHES))
    marks = rounds + again * -(-n // len(PALETTE))
    return Look(PALETTE[colour], DASHES[dashes], MARKS[marks % len(MARKS)])


def as_tracks(caller: str, tracks: Any) -> tuple[TreeTrack, ...]:
    """One track or several as a tuple."""
    if isinstance(tracks, TreeTrack):
        return (tracks,)
    found = tuple(tracks) if isinstance(tracks, Iterable) else (tracks,)
    wrong = [track for track in found if not isinstance(track, TreeTrack)]
    if wrong or not found:
        got = wrong[0] if wrong else tracks
        raise TypeError(f"{caller}: tracks must be a TreeTrack or a sequence of them; got {short(got)}")
    return found


def track_names(tracks: Sequence[TreeTrack]) -> tuple[str, ...]:
    """What each track is called; a number where it has no label or shares it.

    >>> from types import SimpleNamespace as Track
    >>> track_names([Track(label="a"), Track(label="b"), Track(label="a")]), track_names([Track(label="")])
    (('a (1)', 'b', 'a (2)'), ('model',))
    """
    labels = [track.label or "model" for track in tracks]
    alone = {label for label in labels if labels.count(label) == 1}
    taken = set(alone)
    return tuple(label if label in alone else _numbered(label, taken) for label in labels)


def _numbered(label: str, taken: set[str]) -> str:
    """The label with the first number that makes a name of its own, which is then taken."""
    name = next(name for i in count(1) if (name := f"{label} ({i})") not in taken)
    taken.add(name)
    return name


def tree_axis(axes: Axes, steps: Sequence[IntArray]) -> None:
    """An axis of whole trees, a little longer than the steps reach."""
    first, last = min(int(found[0]) for found in steps), max(int(found[-1]) for found in steps)
    room = max(0.012 * (last - first), 0.4 if last - first < 30 else 0.0)
    axes.set_xlim(first - room, last + room)
    shown = np.unique(np.concatenate(steps))
    longest = len(f"{last:,}")
    gap = float(np.diff(shown).min(initial=last)) * letters(axes) / max(last - first, 1)  # the last may come early
    if shown.size * longest <= _TICK_LETTERS and gap > 2 * longest:
        axes.set_xticks(shown)
    else:
        axes.locator_params(axis="x", integer=True)
    axes.xaxis.set_major_formatter(_whole)


def _whole(value: float, _: float) -> str:
    return f"{value:,.0f}"


def remark(axes: Axes, text: str, xy: tuple[float, float], offset: tuple[float, float], ha: str, va: str) -> None:
    """Small words beside a point, legible over lines."""
    paper = {"boxstyle": "square,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.85}
    axes.annotate(
        text, xy, xytext=offset, textcoords="offset points", ha=ha, va=va, fontsize=9, color=QUIET, bbox=paper,
        annotation_clip=False, zorder=7,
    )  # fmt: skip


def signed(value: float, _: float = 0.0) -> str:
    """A number with its sign, and no digits that a reader does not need; ticks come with their place.

    >>> signed(0.25), signed(0.0)
    ('+0.25', '0')
    """
    return f"{value:+g}".replace("-", MINUS) if abs(value) > 1e-12 else "0"
