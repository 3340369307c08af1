"""What all pictures share: colours, an empty figure, its frame, names and labels that fit, and the image as bytes.

No window is opened and no global state of matplotlib is touched; a notebook shows a new figure, or its axes, where a
cell ends with it. The colours are told apart by colour-blind readers (Okabe and Ito 2008).
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .arguments import FloatArray, written
from .query_means import STILL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, QUIET, GREY, HAIR = "#222222", "#6B6B6B", "#999999", "#E3E3E3"
BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
PINK, SKY, ORANGE = "#CC79A7", "#56B4E9", "#E69F00"
DPI = 200
HARD_TITLE = "Hard: the metric itself"  # of a panel
_TWO_LINES, _ONE_LINE = 27.0, 13.5  # heights of a label, in points
_MOST_TWO_LINES = 5
_SHARE_OF_WIDTH = 0.93  # that axes have of their figure
_LEAST_LETTERS = 6.0  # points
_LETTERS_BESIDE, _LETTERS_ABOVE = 4.0, 6.0  # of a name, for each inch of the axes
LETTERS = 13.5  # of a heading or a caption, likewise
_VALUES, _LEAST_PICTURE = 0.8, 1.5  # inches: what an axis of values takes, and what lines need
_WIDTH_OF_LETTER = 0.55  # of its size
_COLUMN = 1.4  # times what axes have before the layout of several columns


def png(figure: Figure) -> bytes:
    """The figure as a PNG image."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=DPI, facecolor="white")
    return stream.getvalue()


def new_figure(width: float, height: float) -> Figure:
    """An empty figure that belongs to no window and to no global list; a notebook shows it."""
    from .pictures import Picture  # with matplotlib

    return Picture(figsize=(width, height))


def new_axes(width: float, height: float) -> Axes:
    """The axes of a new figure; a notebook shows it where a cell ends with them."""
    from .pictures import PictureAxes

    axes: Axes = new_figure(width, height).add_subplot(axes_class=PictureAxes)
    return axes


def given_axes(caller: str, ax: Any, width: float, height: float) -> Axes:
    """The axes to draw into, or those of a new figure of this size."""
    if ax is None:
        return new_axes(width, height)
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):  # a figure, or the array that subplots returns
        raise TypeError(f"{caller}: ax must be one of matplotlib's Axes; got {type(ax).__name__}")
    if ax.name != "rectilinear":
        raise TypeError(f"{caller}: ax must be flat, with a left and a lower edge; got axes that are {ax.name}")
    return ax


def head(figure: Figure, text: str) -> None:
    """Write a heading."""
    figure.suptitle(text, x=0.01, ha="left", fontsize=14, color=INK)


def frame(axes: Axes, grid: Any = "y") -> None:
    """A quiet frame: the lower edge and hairlines."""
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(QUIET)
    axes.grid(axis=grid, color=HAIR, lw=0.7)
    axes.tick_params(colors=QUIET, length=0)
    axes.set_axisbelow(True)


class EndLabel(NamedTuple):
    """The name of a line, with a word on its value, at the height where it ends."""

    height: float
    name: str
    text: str
    colour: str
    style: Mapping[str, Any]


def label_ends(axes: Axes, labels: Sequence[EndLabel]) -> float:
    """Write the labels into the right margin, each at the height of its line's end or as near as the others allow.

    Where that would leave no room for the lines, a legend has their names. Returns how many inches a caption may have.
    """
    low, high = axes.get_ylim()
    short = len(labels) > _MOST_TWO_LINES
    width, height = np.asarray(axes.get_window_extent().size) / axes.figure.dpi
    line = (_ONE_LINE if short else _TWO_LINES) / (72 * height) * (high - low)
    gap = min(line, (high - low) / max(len(labels) - 1, 1))  # many labels are closer, and smaller
    size = max(9.0 * gap / line, _LEAST_LETTERS)
    wanted = [label.height if np.isfinite(label.height) else low for label in labels]
    most = int(width * (_LETTERS_BESIDE if short else _LETTERS_ABOVE))
    names = map(literal, brief([label.name for label in labels], most))
    heights = within(apart(np.clip(wanted, low, high), gap), gap, low, high)
    beside = max(len(label.text) + short * (2 + min(most, len(label.name))) for label in labels)
    left = float(column(axes) - _VALUES - _WIDTH_OF_LETTER * size / 72 * beside)
    if left < _LEAST_PICTURE:
        _legend(axes, labels)
        return column(axes) - _VALUES
    for label, name, height in zip(labels, names, heights, strict=True):
        place: dict[str, Any] = {"xy": (1.015, height), "xycoords": ("axes fraction", "data")}
        place |= {"textcoords": "offset points", "color": label.colour, "annotation_clip": False}
        if short:
            axes.annotate(f"{name}  {label.text}", xytext=(0, 0), va="center", fontsize=size, **place)
        else:
            axes.annotate(name, xytext=(0, 1), va="bottom", fontsize=10, fontweight="bold", **place)
            axes.annotate(label.text, xytext=(0, -1), va="top", fontsize=9, **place)
    return left + 1.75 * _VALUES  # to both sides of the axes


def _legend(axes: Axes, labels: Sequence[EndLabel]) -> None:
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=label.colour, **label.style) for label in labels]
    names = [literal(name) for name in brief([label.name for label in labels], max(8, letters(axes) * 2 // 3))]
    size = 8.0 if len(labels) <= _MOST_TWO_LINES else _LEAST_LETTERS
    style: dict[str, Any] = {"framealpha": 0.75, "edgecolor": "none", "labelcolor": "linecolor"}
    axes.legend(lines, names, loc="best", fontsize=size, **style).set_in_layout(False)  # many are higher than the axes


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


def within(heights: FloatArray, gap: float, low: float, high: float) -> FloatArray:
    """Heights that are a gap apart, moved as little as it takes to lie between two ends, if there is room for all.

    >>> within(np.array([0.0, 3.0, 1.0]), 1.0, 0.5, 2.5)
    array([0.5, 2.5, 1.5])
    """
    rank = np.argsort(np.argsort(heights, kind="stable"), kind="stable")
    found: FloatArray = np.minimum(np.maximum(heights, low + gap * rank), high - gap * (heights.size - 1 - rank))
    return found


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


def brief(names: Sequence[str], most: int = 28) -> list[str]:
    """Names of at most so many letters, since longer ones leave no room for the picture.

    What is left out is the middle or, of those that would then be alike, what they begin with.

    >>> brief(["ndcg@10", "relevance_by_editors_v2"], 10), brief(["search_ndcg_visits", "search_err_visits"], 10)
    (['ndcg@10', 'relev…s_v2'], ['…ndcg_vis…', '…err_visi…'])
    >>> brief(["model_v1_of_production", "model_v11_of_production"], 12)
    ['…v1_of_prod…', '…v11_of_pro…']
    """
    found = {
        name: name if len(name) <= most else f"{name[: most // 2]}…{name[len(name) - (most - 1) // 2 :]}"
        for name in names
    }
    for _ in found:  # each time fewer are alike
        shared = {words: [name for name in found if found[name] == words] for words in found.values()}
        alike = [group for group in shared.values() if len(group) > 1]
        for group in alike:
            first = (i for i, letters in enumerate(zip(*group, strict=False)) if len(set(letters)) > 1)
            start = next(first, min(map(len, group)) - 1)
            word = start
            while word and group[0][word - 1].isalnum():
                word -= 1
            start = word if start - word < most // 2 else start  # where the word or number begins, if that is near
            tails = [f"…{name[start:]}" if start else name for name in group]
            found |= {name: _cut(tail, most) for name, tail in zip(group, tails, strict=True)}
        if not alike:
            break
    return [found[name] for name in names]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def inches(axes: Axes) -> float:
    """How wide axes are or, before a layout is made of a figure of one column, will be."""
    spec, figure = axes.get_subplotspec(), axes.figure
    alone = spec is not None and spec.get_gridspec().ncols == 1
    if not alone:
        return float(axes.get_window_extent().width / figure.dpi)
    width = float(figure.bbox.width / figure.dpi)
    return min(_SHARE_OF_WIDTH * width, max(1.2 * width - 1.4, 0.5 * width))  # what is beside takes more of a small one


def column(axes: Axes) -> float:
    """How wide, in inches, axes and all that stands beside them may be."""
    spec = axes.get_subplotspec()
    several = spec is not None and spec.get_gridspec().ncols > 1
    return (_COLUMN if several else 1.0) * inches(axes)


def letters(axes: Axes) -> int:
    """How many letters of a heading, or of a caption below, are as wide as the axes."""
    return int(LETTERS * inches(axes))


def literal(text: str) -> str:
    r"""A text that is drawn as it stands: what is between two dollar signs matplotlib reads as mathematics, or fails.

    >>> print(literal("from $5 to $10"))
    from \$5 to \$10
    """
    return written(text).replace("$", r"\$")


def as_sentence(words: str) -> str:
    """The same with a capital in front, and one sign in place of +-; a full stop is left to the caller.

    >>> print(as_sentence("keep 3 trees: +0.2 (+-0.1)"))
    Keep 3 trees: +0.2 (\N{PLUS-MINUS SIGN}0.1)
    """
    return words[:1].upper() + words[1:].replace("+-", "\N{PLUS-MINUS SIGN}")


def metric_title(spec: str) -> str:
    """How a metric is written in prose.

    >>> metric_title("ndcg@10"), metric_title("precision@5")
    ('NDCG@10', 'Precision@5')
    """
    name, at, cutoff = spec.partition("@")
    return (name.upper() if len(name) <= 4 else name.capitalize()) + at + cutoff


def noise_title(noise: str) -> str:
    """How a law of noise is written in prose: two of the three are named after people.

    >>> noise_title("gumbel"), noise_title("logistic")
    ('Gumbel noise', 'logistic noise')
    """
    return f"{noise if noise == 'logistic' else noise.capitalize()} noise"
