"""Curves of the mean over queries after each tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import FloatArray, fraction, of_type, one_of, short
from ..choices import BandKind
from ..drawing import (
    HARD_TITLE,
    LETTERS,
    QUIET,
    EndLabel,
    brief,
    frame,
    given_axes,
    head,
    label_ends,
    letters,
    literal,
    new_figure,
    value_range,
)
from ..metrics import SoftMetric
from ..metrics.hard import twin_in
from ..metrics.soft import AnyMetric
from ..statistics import N_BOOT, check_resamples
from ..tracks.checks import place_of
from ..tracks.tree_track import TreeTrack
from ..tracks.words import amount, number, per_cent
from .bands import BANDS, Band, band_of, best_step
from .labels import (
    FEW_STEPS,
    Look,
    Tracks,
    as_tracks,
    look_of,
    track_names,
    tree_axis,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MetricChoice = int | str | AnyMetric
MOST_BANDS = 3  # more of them hide each other
_BAND_WORDS = {
    "paired": "band: {} % interval of the difference from it",
    "mean": "band: {} % interval of the mean over queries",
}
_SIDES = (HARD_TITLE, "Soft: its expectation under noise")


@dataclass(frozen=True)
class _Curve:
    """One line: whose it is, its band (or None), and how it is drawn."""

    track: TreeTrack
    metric: int
    name: str
    colour: str
    style: dict[str, Any]
    band: Band | None

    @property
    def mean(self) -> FloatArray:
        values: FloatArray = self.track.mean[:, self.metric]
        return values


@dataclass(frozen=True)
class _BandChoice:
    """Which bands to draw."""

    kind: str
    level: float
    n_boot: int

    @property
    def words(self) -> str:
        return _BAND_WORDS[self.kind].format(per_cent(self.level))


def plot_curves(
    tracks: Tracks,
    metrics: MetricChoice | Sequence[MetricChoice] | None = None,
    *,
    band: BandKind | None = "paired",
    level: float = 0.95,
    n_boot: int = N_BOOT,
    ax: Axes | None = None,
) -> Axes:
    """Mean after each tree, of one or several tracks and metrics, with bootstrap bands over queries.

    Several tracks are told apart by colour, and their metrics by dashes; of one track each metric has its colour. Where
    there are more than seven, colours come again with other dashes, and what would still look alike has marks.
    Hard metrics are thin lines, soft ones thick; a ring marks the best step. Of more than three lines the bands are
    left out. The steep rise of the first few trees may start below the picture, which reaches from the lowest of the
    steps behind the second (of 75 and more, behind the first 1/25; of up to three, of the last) to the highest of all.
    Up to 15 steps are marked by dots; one alone is a dot in a ring. A mean that is NaN (no query counts) or infinite is
    not drawn, and the label says so; if all are, the range is 0 to 1. Lines have their names, last and best means in
    the margin; in narrow axes, such as three side by side, a legend has the names alone.

    Parameters
    ----------
    tracks : TreeTrack or sequence of TreeTrack
        What to draw; each is called by its ``label``.
    metrics : int, str or metric, or a sequence of them, optional
        By position, name or value, as in :meth:`TreeTrack.index`; all by default.
    band : "paired", "mean" or None
        The interval of the difference from the best step, drawn around the curve: it has no width at the best step,
        and steps far below the ring are worse (the ring was picked as the highest: where nothing differs, a sixth
        to nearly half of the steps lie below it with all of their band). Or the interval of the mean itself, which is
        wide, since queries differ, and says nothing on how steps compare. Or no band.
    level : float
        Level of the bands.
    n_boot : int
        Number of resamples behind them, 20 at least.
    ax : Axes, optional
        Where to draw: in a light figure, best of ``layout="constrained"``, since words stand beside the axes.

    Raises
    ------
    TypeError, ValueError
        If ``tracks`` holds something else, a track has no such metric, or an option is not as described.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import Metric, TreeTrack
    >>> from boostsoft.track_plots import plot_curves
    >>> track = TreeTrack(
    ...     metrics=(Metric("ndcg@10"),), steps=np.array([1, 2]), per_query=np.array([[[0.5, 0.7]], [[0.6, 1.0]]]),
    ...     beginning=np.array([[0.5, 0.5]]), start=0, query_weight=np.ones(2), spread=np.array([0.1, 0.2]),
    ...     groups=None, y_true=None, scores=None, qid=None)
    >>> axes = plot_curves(track)
    >>> [text.get_text() for text in axes.texts]
    ['ndcg@10', '0.8000; best with 2 trees']
    """
    found = as_tracks("plot_curves", tracks)
    bands = _band_choice("plot_curves", band, level, n_boot)
    axes = given_axes("plot_curves", ax, 8.0, 4.6)
    curves = []
    several = [_chosen(track, metrics) for track in found]
    crossed = len(found) > 1 and max(map(len, several)) > 1
    said = sorted({track.names[metric] for track, chosen in zip(found, several, strict=True) for metric in chosen})
    for i, (track, owner, chosen) in enumerate(zip(found, track_names(found), several, strict=True)):
        for j, metric in enumerate(chosen):
            name = track.names[metric]
            if len(found) > 1:
                name = owner if len(said) == 1 else f"{owner}: {name}"
            look = look_of(i, j, len(found)) if crossed else look_of(i + j)
            curves.append((track, metric, name, look))
    shown = bands if len(curves) <= MOST_BANDS else None
    _draw(axes, [_curve(*curve, shown) for curve in curves], bands)
    if len(found) > 1 and len(said) == 1:  # the lines have the names of their tracks
        axes.set_ylabel(f"mean {literal(*brief(said))} over queries", color=QUIET)
    return axes


def plot_hard_soft(
    track: TreeTrack, *, band: BandKind | None = "paired", level: float = 0.95, ax: Axes | None = None
) -> Axes:
    """The soft metric with its band over the light line of the hard one, which jumps and stands still.

    One step alone, and what is NaN or infinite, is drawn as in :func:`plot_curves`.

    Parameters
    ----------
    track : TreeTrack
        Must hold a soft metric; its hard twin is drawn if it is there, otherwise the first hard metric.
    band : "paired", "mean" or None
        Of the soft metric, as in :func:`plot_curves`.
    level : float
        Level of the band.
    ax : Axes, optional
        Where to draw: in a light figure, best of ``layout="constrained"``, since words stand beside the axes.

    Raises
    ------
    TypeError, ValueError
        If ``track`` is none, the track holds no hard or no soft metric, or an option is not as described.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import Metric, SoftMetric, TreeTrack
    >>> from boostsoft.track_plots import plot_hard_soft
    >>> track = TreeTrack(
    ...     metrics=(Metric("ndcg@10"), SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread")), steps=np.array([1, 2]),
    ...     per_query=np.array([[[0.5, 0.7], [0.5, 0.6]], [[0.6, 1.0], [0.6, 0.9]]]), beginning=np.full((2, 2), 0.5),
    ...     start=0, query_weight=np.ones(2), spread=np.ones(2), groups=None, y_true=None, scores=None, qid=None)
    >>> axes = plot_hard_soft(track)
    >>> [text.get_text() for text in axes.texts]
    ['ndcg@10', '0.8000; best with 2 trees', 'ndcg_gaussian@10', '0.7500; best with 2 trees']
    """
    hard, soft = _hard_and_soft("plot_hard_soft", of_type("plot_hard_soft", "track", track, TreeTrack))
    axes = given_axes("plot_hard_soft", ax, 8.0, 4.6)
    draw_soft_over_hard("plot_hard_soft", axes, track, hard, soft, band, level)
    return axes


def draw_soft_over_hard(
    caller: str, axes: Axes, track: TreeTrack, hard: int, soft: int, band: BandKind | None, level: float
) -> None:
    """A soft metric with its band over the light line of a hard one, by their places in the track."""
    bands = _band_choice(caller, band, level, N_BOOT)
    light = _Curve(track, hard, track.names[hard], QUIET, {"lw": 1.0, "alpha": 0.8}, None)
    _draw(axes, [light, _curve(track, soft, track.names[soft], look_of(0), bands)], bands)


def hard_soft_figure(tracks: Tracks, *, band: BandKind | None = "paired", level: float = 0.95) -> Figure:
    """The hard metric beside the soft one on one scale, a colour for each track.

    One step alone, and what is NaN or infinite, is drawn as in :func:`plot_curves`.

    Parameters
    ----------
    tracks : TreeTrack or sequence of TreeTrack
        Each must hold a hard and a soft metric.
    band : "paired", "mean" or None
        As in :func:`plot_curves`.
    level : float
        Level of the bands.

    Raises
    ------
    TypeError, ValueError
        If ``tracks`` holds something else, a track holds no hard or no soft metric, or an option is not as described.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import Metric, SoftMetric, TreeTrack
    >>> from boostsoft.track_plots import hard_soft_figure
    >>> track = TreeTrack(
    ...     metrics=(Metric("ndcg@10"), SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread")), steps=np.array([1, 2]),
    ...     per_query=np.array([[[0.5, 0.7], [0.5, 0.6]], [[0.6, 1.0], [0.6, 0.9]]]), beginning=np.full((2, 2), 0.5),
    ...     start=0, query_weight=np.ones(2), spread=np.ones(2), groups=None, y_true=None, scores=None, qid=None)
    >>> figure = hard_soft_figure(track)
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['Hard: the metric itself', 'Soft: its expectation under noise']
    """
    caller = "hard_soft_figure"
    found, bands = as_tracks(caller, tracks), _band_choice(caller, band, level, N_BOOT)
    pairs = [_hard_and_soft(caller, track) for track in found]
    bands = bands if len(found) <= MOST_BANDS else None
    figure = new_figure(11.5, 4.9)
    panels = figure.subplots(1, 2, sharey=True)
    drawn = []
    for side, axes in enumerate(panels):
        names = _names_of(found, [pair[side] for pair in pairs])
        owners = zip(found, pairs, names, map(look_of, range(len(found))), strict=True)
        drawn.append([_curve(track, pair[side], name, look, bands) for track, pair, name, look in owners])
        _draw_lines(axes, drawn[side])
    _set_range(panels[0], [curve for curves in drawn for curve in curves])
    for axes, curves, words in zip(panels, drawn, _SIDES, strict=True):
        _name_lines(axes, curves)
        axes.set_title(words, loc="left", fontsize=10, color=QUIET)
        axes.set_xlabel("trees", color=QUIET)
    panels[0].set_ylabel("mean over queries", color=QUIET)
    panels[1].tick_params(labelleft=False)
    hard = dict.fromkeys(track.names[pair[0]] for track, pair in zip(found, pairs, strict=True))
    head(figure, f"{literal(', '.join(brief(list(hard))))} after each tree")
    figure.supxlabel(_caption(bands if _shows_a_band(drawn[1]) else None), fontsize=9, color=QUIET)
    return figure


def _names_of(tracks: Sequence[TreeTrack], metrics: Sequence[int]) -> list[str]:
    """What to call one line of each track: the metric of one alone, else its owner, and the metric if they differ."""
    names = [track.names[metric] for track, metric in zip(tracks, metrics, strict=True)]
    owners = track_names(tracks)
    if len(tracks) == 1:
        return names
    if len(set(names)) == 1:
        return list(owners)
    return [f"{owner}: {name}" for owner, name in zip(owners, names, strict=True)]


def twin_of(track: TreeTrack, metric: int) -> int | None:
    """The place of the hard metric that the one at this place softens, if it was tracked too."""
    softened = track.metrics[metric]
    return twin_in(track.metrics, softened) if isinstance(softened, SoftMetric) else None


def _hard_and_soft(caller: str, track: TreeTrack) -> tuple[int, int]:
    """The places of the first soft metric that has its hard twin beside it, or else of the first of each kind."""
    softs = [i for i, metric in enumerate(track.metrics) if isinstance(metric, SoftMetric)]
    hards = [i for i in range(track.n_metrics) if i not in softs]
    if not softs or not hards:
        raise ValueError(f"{caller}: track must hold a hard and a soft metric; got {', '.join(track.names)}")
    twins = [(i, j) for j in softs if (i := twin_of(track, j)) is not None]
    return (twins or [(hards[0], softs[0])])[0]


def _band_choice(caller: str, band: BandKind | None, level: float, n_boot: int) -> _BandChoice | None:
    level, n_boot = fraction(caller, "level", level), check_resamples(caller, n_boot)
    return None if band is None else _BandChoice(one_of(caller, "band", band, (*BANDS, None)), level, n_boot)


def _chosen(track: TreeTrack, metrics: Any) -> list[int]:
    if metrics is None:
        return list(range(track.n_metrics))
    several = isinstance(metrics, Iterable) and not isinstance(metrics, str)
    chosen = [
        place_of("plot_curves", "metrics", track.metrics, metric) for metric in (metrics if several else [metrics])
    ]
    if not chosen:
        raise ValueError(f"plot_curves: metrics must hold a metric at least; got {short(metrics)}")
    return chosen


def _curve(track: TreeTrack, metric: int, name: str, look: Look, bands: _BandChoice | None) -> _Curve:
    soft = isinstance(track.metrics[metric], SoftMetric)
    style = {"lw": (2.0 if look.dashes == "-" else 1.6) if soft else 1.1, "ls": look.dashes}
    if look.mark:
        style |= {"marker": look.mark, "ms": 5, "markevery": max(1, track.n_steps // FEW_STEPS)}
    band = None if bands is None else band_of(track, metric, bands.kind, bands.level, bands.n_boot)
    return _Curve(track, metric, name, look.colour, style, band)


def _draw(axes: Axes, curves: Sequence[_Curve], bands: _BandChoice | None) -> None:
    _draw_lines(axes, curves)
    _set_range(axes, curves)
    room = _name_lines(axes, curves)
    caption = _caption(bands if _shows_a_band(curves) else None)
    axes.set_xlabel(fill(f"trees ({caption})", min(letters(axes), int(LETTERS * room))), color=QUIET)
    axes.set_ylabel("mean over queries", color=QUIET)


def _shows_a_band(curves: Iterable[_Curve]) -> bool:
    """One query alone has none: the ends are no numbers."""
    return any(curve.band is not None and np.isfinite(curve.band[0]).any() for curve in curves)


def _caption(bands: _BandChoice | None) -> str:
    return f"ring: the best step{'' if bands is None else f'; {bands.words}'}"


def _draw_lines(axes: Axes, curves: Sequence[_Curve]) -> None:
    for curve in curves:
        steps = curve.track.steps
        if curve.band is not None:
            axes.fill_between(steps, *curve.band, color=curve.colour, alpha=0.14, lw=0, zorder=1)
        points: dict[str, Any] = {"marker": "o", "ms": 3.5} if steps.size <= FEW_STEPS else {}
        axes.plot(steps, curve.mean, color=curve.colour, solid_capstyle="round", **(points | curve.style))
        best = best_step(curve.track, curve.metric)
        ring: dict[str, Any] = {"ms": 7, "mfc": "white", "mec": curve.colour, "mew": 1.6}
        axes.plot(steps[best], curve.mean[best], "o", **ring, zorder=5, clip_on=False)
    frame(axes)
    tree_axis(axes, [curve.track.steps for curve in curves])


def _set_range(axes: Axes, curves: Sequence[_Curve]) -> None:
    bands = [end for curve in curves if curve.band is not None for end in curve.band]
    axes.set_ylim(*value_range([*(curve.mean for curve in curves), *bands]))


def _name_lines(axes: Axes, curves: Sequence[_Curve]) -> float:
    """Name the lines; returns how many inches a caption may have."""
    labels = []
    for curve in curves:
        value, best = float(curve.mean[-1]), best_step(curve.track, curve.metric)
        trees, last = int(curve.track.steps[best]), best == curve.track.n_steps - 1
        peak = "best" if last else f"best {_in_words(curve.mean[best])}"
        text = f"{_in_words(value)}; {peak} with {amount(trees, 'tree')}"
        labels.append(EndLabel(value, curve.name, text, curve.colour, curve.style))
    return label_ends(axes, labels)


def _in_words(value: float) -> str:
    return "nan" if np.isnan(value) else number(value)
