"""A metric along the mixtures of two models, and over those of three."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import FloatArray, Texts, of_type, one_of
from ..blending import BlendCurve, BlendSurface
from ..choices import CurveKind
from ..drawing import (
    BLUE,
    HARD_TITLE,
    INK,
    QUIET,
    VERMILION,
    as_sentence,
    frame,
    given_axes,
    head,
    inches,
    letters,
    new_figure,
)
from ..tracks.words import number
from .shared import HARD, SOFT, model_names, noise_words, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KIND_COLOURS = {HARD: VERMILION, SOFT: BLUE}
_LINES: dict[str, dict[str, Any]] = {HARD: {"lw": 1.0, "zorder": 3}, SOFT: {"lw": 2.6, "zorder": 4}}
_ROW, _BAR = 0.09, 0.03  # of an optimum, its words above its bar: height, and the bar's place in it, in axes
_NARROW = 3.0  # inches
_LEAST_ROW = 22.0  # points
_BETWEEN = 12  # letters that the names of the ends and of the axis are apart together, bold ones being wider
_KIND_WORDS = {HARD: "thin: the metric itself", SOFT: "broad: its expectation under {}"}
_DARKEST = 0.1  # share of the mixtures below the darkest colour: one poor model alone would take up the whole scale
_HEIGHT = float(np.sqrt(3.0) / 2.0)
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, _HEIGHT]])
_TWO = ("the first model", "the second")
_THREE = (*_TWO, "the third")


def blend_curve_figure(curve: BlendCurve, *, names: Texts | None = None) -> Figure:
    """The metric along the mixture of two models, with a heading.

    Parameters
    ----------
    curve : BlendCurve
        What :func:`boostsoft.blend_curve` returns.
    names : two str, optional
        What the models are called.

    Raises
    ------
    TypeError, ValueError
        If ``curve`` is none, or there are not two names.

    Examples
    --------
    >>> import numpy as np, boostsoft as bs
    >>> from boostsoft.blend_plots import blend_curve_figure
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 200)
    >>> S = y[:, None] + rng.normal(size=(200, 3))
    >>> curve = bs.blend_curve(S, y, group=[20] * 10, n=5, n_boot=20)
    >>> [axes.get_xlabel() for axes in blend_curve_figure(curve, names=("BM25", "trees")).axes]
    ['share of trees']
    """
    of_type("blend_curve_figure", "curve", curve, BlendCurve)
    first, second = model_names("blend_curve_figure", names, _TWO)
    figure = new_figure(9.5, 5.4)
    plot_blend_curve(curve, names=names, ax=figure.add_subplot())
    between = "of the mixture of two models" if names is None else f"between {first} and {second}"
    head(figure, f"{title(curve)} {between}")
    return figure


def plot_blend_curve(
    curve: BlendCurve,
    *,
    names: Texts | None = None,
    kinds: CurveKind | Collection[CurveKind] = (HARD, SOFT),
    ax: Axes | None = None,
) -> Axes:
    """Hard and soft metric along the mixture (1 - t) S_i + t S_j, each with its best mixture ringed.

    Parameters
    ----------
    curve : BlendCurve
        Both metrics at every t, with their bands, and the optimum of each with its interval.
    names : two str, optional
        What the models are called.
    kinds : "hard", "soft" or several of them
        Which to draw; the band is that of the last.
    ax : Axes, optional
        Where to draw: in a light figure, best of ``layout="constrained"``, since words stand beside the axes.

    Raises
    ------
    TypeError, ValueError
        If ``curve`` is none, or ``names``, ``kinds`` or ``ax`` is not as described.

    Examples
    --------
    >>> import numpy as np, boostsoft as bs
    >>> from boostsoft.blend_plots import plot_blend_curve
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 200)
    >>> S = y[:, None] + rng.normal(size=(200, 3))
    >>> curve = bs.blend_curve(S, y, group=[20] * 10, n=5, n_boot=20)
    >>> plot_blend_curve(curve).get_ylabel()
    'NDCG@10, mean over queries'
    """
    caller = "plot_blend_curve"
    of_type(caller, "curve", curve, BlendCurve)
    called = model_names(caller, names, _TWO)
    given = (kinds,) if isinstance(kinds, str) else of_type(caller, "kinds", kinds, Collection)
    kinds = list(dict.fromkeys(one_of(caller, "kinds", kind, (HARD, SOFT)) for kind in given))
    if not kinds:
        raise ValueError(f"{caller}: kinds must hold 'hard' or 'soft'; got none")
    axes = given_axes(caller, ax, 8.5, 5.0)
    for kind in kinds:
        axes.plot(curve.t, getattr(curve, kind), color=KIND_COLOURS[kind], solid_capstyle="round", **_LINES[kind])
    band = getattr(curve, f"{kinds[-1]}_interval")
    axes.fill_between(curve.t, band[:, 0], band[:, 1], color=KIND_COLOURS[kinds[-1]], alpha=0.13, lw=0, zorder=1)
    frame(axes)
    axes.set_xlim(float(curve.t[0]), float(curve.t[-1]))
    low, high = axes.get_ylim()
    row = max(_ROW, _LEAST_ROW / (72 * axes.get_window_extent().height / axes.figure.dpi))
    room = row * len(kinds)
    axes.set_ylim(low - room / (1.0 - room) * (high - low), high)
    for place, kind in enumerate(kinds):
        _draw_optimum(axes, curve, kind, row * place + _BAR)
    _label_ends(axes, curve.t, called)
    words = "; ".join(_KIND_WORDS[kind].format(noise_words(curve)) for kind in kinds)
    axes.set_ylabel(f"{title(curve)}, mean over queries", color=QUIET)
    if np.isfinite(band).all():  # one query alone has none
        words += "; band and bars: 95 % over queries"
    words = textwrap.fill(as_sentence(words), letters(axes))
    axes.set_title(words, loc="left", fontsize=9.5, color=QUIET)
    return axes


def _draw_optimum(axes: Axes, curve: BlendCurve, kind: CurveKind, height: float) -> None:
    """Ring the best mixture, and draw the interval of its t near the bottom."""
    best, colour = getattr(curve, f"{kind}_optimum"), KIND_COLOURS[kind]
    axes.plot(best.t, best.value, "o", ms=8, mfc="white", mec=colour, mew=2.0, zorder=6, clip_on=False)
    bottom, top = axes.get_ylim()
    at = bottom + height * (top - bottom)
    axes.plot([best.t, best.t], [at, best.value], color=colour, lw=0.9, ls=(0, (1, 3)), alpha=0.7, zorder=2)
    axes.plot([best.low, best.high], [at, at], color=colour, lw=4.0, solid_capstyle="round", zorder=5, clip_on=False)
    axes.plot(best.t, at, "|", ms=9, mew=1.6, color=colour, zorder=6, clip_on=False)
    text = f"{kind}: {number(best.value)} at {best.t:.2f}"
    if not np.isnan(best.low):  # one query alone has no interval
        text += f" [{best.low:.2f}, {best.high:.2f}]"
    place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "fontsize": 9.5}
    right = best.t < 0.5 * (curve.t[0] + curve.t[-1])
    side, ha = (0.995, "right") if right else (0.005, "left")
    axes.annotate(text, (side, at), xytext=(0, 4), va="bottom", ha=ha, color=colour, **place)


def _label_ends(axes: Axes, t: FloatArray, names: Sequence[str]) -> None:
    ticks = np.linspace(float(t[0]), float(t[-1]), 5)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    for name, at, ha in ((names[0], 0.0, "left"), (names[1], 1.0, "right")):
        place: dict[str, Any] = {"xycoords": "axes fraction", "xytext": (0, -20), "textcoords": "offset points"}
        axes.annotate(name, (at, 0), va="top", ha=ha, fontsize=10, fontweight="bold", color=INK, **place)
    words = f"share of {names[1]}"
    beside = sum(map(len, (*names, words))) + _BETWEEN < letters(axes)
    axes.set_xlabel(words, color=QUIET, labelpad=10 if beside else 24)


def blend_surface_figure(surface: BlendSurface, *, names: Texts | None = None) -> Figure:
    """Hard and soft metric over the mixtures of three models, side by side in the same colours.

    Parameters
    ----------
    surface : BlendSurface
        What :func:`boostsoft.blend_surface` returns.
    names : three str, optional
        What the models are called.

    Raises
    ------
    TypeError, ValueError
        If ``surface`` is none, or there are not three names.

    Examples
    --------
    >>> import numpy as np, boostsoft as bs
    >>> from boostsoft.blend_plots import blend_surface_figure
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 200)
    >>> S = y[:, None] + rng.normal(size=(200, 3))
    >>> surface = bs.blend_surface(S, y, group=[20] * 10, models=(0, 1, 2), n=5)
    >>> len(blend_surface_figure(surface).axes)  # two triangles, each with its scale of colours
    4
    """
    of_type("blend_surface_figure", "surface", surface, BlendSurface)
    model_names("blend_surface_figure", names, _THREE)
    figure = new_figure(12.6, 5.6)
    for kind, axes in zip((HARD, SOFT), figure.subplots(1, 2), strict=True):
        plot_blend_surface(surface, kind, names=names, ax=axes)
    head(figure, f"{title(surface)} of mixtures of three models")
    return figure


def plot_blend_surface(
    surface: BlendSurface, kind: CurveKind = SOFT, *, names: Texts | None = None, ax: Axes | None = None
) -> Axes:
    """One metric over the triangle of mixtures: each corner is one model alone, the ring the best mixture.

    Parameters
    ----------
    surface : BlendSurface
        Weights of each mixture and both metrics there, with the optimum of each.
    kind : "soft" or "hard"
        Which metric.
    names : three str, optional
        What the models are called.
    ax : Axes, optional
        Where to draw: in a light figure, best of ``layout="constrained"``, since words stand beside the axes.

    Raises
    ------
    TypeError, ValueError
        If ``surface`` is none, or ``kind``, ``names`` or ``ax`` is not as described.

    Examples
    --------
    >>> import numpy as np, boostsoft as bs
    >>> from boostsoft.blend_plots import plot_blend_surface
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 200)
    >>> S = y[:, None] + rng.normal(size=(200, 3))
    >>> surface = bs.blend_surface(S, y, group=[20] * 10, models=(0, 1, 2), n=5)
    >>> [text.get_text() for text in plot_blend_surface(surface, names=("BM25", "trees", "dense")).texts][:3]
    ['BM25', 'trees', 'dense']
    """
    of_type("plot_blend_surface", "surface", surface, BlendSurface)
    corners = model_names("plot_blend_surface", names, _THREE, 16)
    one_of("plot_blend_surface", "kind", kind, (HARD, SOFT))
    axes = given_axes("plot_blend_surface", ax, 6.4, 5.6)
    places, values = surface.weights @ _CORNERS, getattr(surface, kind)
    low, high = float(np.quantile(values, _DARKEST)), float(values.max())
    style: dict[str, Any] = {"shading": "gouraud", "cmap": "cividis", "vmin": low, "vmax": high, "rasterized": True}
    image = axes.tripcolor(places[:, 0], places[:, 1], values, **style)
    if high - low > 1e-9:  # of copies of one model no more than rounding is left
        levels = np.linspace(low, high, 8)[1:-1]
        axes.tricontour(places[:, 0], places[:, 1], values, levels=levels, colors="white", linewidths=0.6, alpha=0.7)
    outline = np.vstack([_CORNERS, _CORNERS[:1]])
    axes.plot(outline[:, 0], outline[:, 1], color=INK, lw=0.9, zorder=3)
    best = getattr(surface, f"{kind}_optimum")
    at = best.weights @ _CORNERS
    axes.plot(*at, "o", ms=10, mfc="none", mec="white", mew=4.0, zorder=4, clip_on=False)
    axes.plot(*at, "o", ms=10, mfc="none", mec=VERMILION, mew=2.2, zorder=5, clip_on=False)
    mixture = ", ".join(f"{name} {share:.2f}" for name, share in zip(corners, best.weights, strict=True))
    words = HARD_TITLE if kind == HARD else f"Soft: under {noise_words(surface)}"
    lines = [textwrap.fill(text, letters(axes)) for text in (words, f"best {number(best.value)}: {mixture}")]
    pad = 6.0 if inches(axes) > _NARROW else 16.0  # in few inches the name of a corner is above its axes
    axes.set_title("\n".join(lines), loc="left", fontsize=9.0, color=QUIET, pad=pad)
    _name_corners(axes, corners)
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.75, pad=0.03, extend="min" if values.min() < low else "neither")
    bar.set_label(f"{title(surface)}, mean over queries", color=QUIET)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=QUIET, length=0)
    return axes


def _name_corners(axes: Axes, names: Sequence[str]) -> None:
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_xlim(-0.08, 1.08)
    axes.set_ylim(-0.08, _HEIGHT + 0.08)
    for name, corner, (dy, va) in zip(names, _CORNERS, ((-9, "top"), (-9, "top"), (8, "bottom")), strict=True):
        place: dict[str, Any] = {"xytext": (0, dy), "textcoords": "offset points", "ha": "center", "va": va}
        axes.annotate(name, corner, fontsize=10.5, fontweight="bold", color=INK, **place)
