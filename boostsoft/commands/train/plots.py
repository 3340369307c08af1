"""Plots of training curves and of paired differences.

The ``plot_`` functions draw into ``ax`` (a new figure if None) and return it; the ``_figure`` functions compose whole
pictures. No window is opened and no global state of matplotlib is touched; a notebook shows a new figure where a cell
ends with it. Blue and vermilion are told apart by colour-blind readers (Okabe and Ito 2008), and every line carries
its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...drawing import (
    BLUE,
    HARD_TITLE,
    INK,
    QUIET,
    VERMILION,
    EndLabel,
    frame,
    given_axes,
    head,
    label_ends,
    metric_title,
    new_figure,
    noise_title,
    value_range,
)
from ...statistics import PairedInterval, paired_interval
from ...track_plots.labels import signed
from ...tracks.words import amount
from ..experiment import BASELINE, N_PARTS, OURS, Folds, Split

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {OURS: BLUE, BASELINE: VERMILION}


def curves_figure(split: Split) -> Figure:
    """Hard and soft metric on the validation part after each tree, side by side on one scale.

    Parameters
    ----------
    split : Split
        What was trained.
    """
    figure = new_figure(10.5, 4.9)
    hard, soft = figure.subplots(1, 2, sharey=True)
    plot_curve(split, "hard", ax=hard)
    plot_curve(split, "soft", ax=soft)
    soft.tick_params(labelleft=False)
    head(figure, f"{metric_title(split.plan.metric)} on the validation queries, tree by tree")
    return figure


def plot_curve(split: Split, kind: str = "hard", *, ax: Axes | None = None) -> Axes:
    """One metric on the validation part after each tree for every arm, the number of trees kept ringed.

    Parameters
    ----------
    split : Split
        What was trained.
    kind : "hard" or "soft"
        The metric itself, drawn as thin steps, or its expectation under noise, drawn as a line.
    ax : Axes, optional
        Where to draw.
    """
    axes = given_axes("plot_curve", ax, 6.0, 4.6)
    name = split.plan.names[("hard", "soft").index(kind)]
    curves = {arm.name: arm.curves["valid", name] for arm in split.arms}
    style: dict[str, Any] = {"lw": 1.0, "drawstyle": "steps-mid"} if kind == "hard" else {"lw": 2.2}
    for owner, curve in curves.items():
        axes.plot(np.arange(1, curve.size + 1), curve, color=COLOURS[owner], solid_capstyle="round", **style)
    frame(axes)
    axes.set_ylim(*value_range([arm.curves["valid", found] for arm in split.arms for found in split.plan.names]))
    axes.set_xlim(0, max(curve.size for curve in curves.values()))
    axes.locator_params(axis="x", integer=True)
    axes.set_xlabel("trees (ring: as many as are kept)", color=QUIET)
    axes.set_title(_KIND_TITLES[kind].format(noise_title(split.plan.noise)), loc="left", fontsize=10, color=QUIET)
    labels = []
    for arm in split.arms:
        curve, colour = curves[arm.name], COLOURS[arm.name]
        value = float(curve[arm.trees - 1])
        _ring(axes, arm.trees, value, colour)
        text = f"{value:.3f} with {amount(arm.trees, 'tree')}"
        labels.append(EndLabel(float(curve[-1]), arm.name, text, colour, style))
    label_ends(axes, labels)
    return axes


_KIND_TITLES = {"hard": HARD_TITLE, "soft": "Soft: its expectation under {}"}


def _ring(axes: Axes, trees: int, value: float, colour: str) -> None:
    axes.plot([trees, trees], [0, value], color=colour, lw=0.9, ls=(0, (1, 3)), alpha=0.7, zorder=1)
    axes.plot(trees, value, "o", ms=7.5, mfc="white", mec=colour, mew=1.8, zorder=5, clip_on=False)


def differences_figure(folds: Folds) -> Figure:
    """The paired difference of each fold and of all, with its interval."""
    figure = new_figure(8.5, 4.6)
    plot_fold_differences(folds, ax=figure.add_subplot())
    title = f"Test {metric_title(folds.plan.metric)}: {OURS} minus {BASELINE}"
    head(figure, title)
    return figure


def plot_fold_differences(folds: Folds, *, ax: Axes | None = None) -> Axes:
    """The paired difference of each fold and of all queries with 95 % intervals, and each seed as a small dot.

    Parameters
    ----------
    folds : Folds
        The runs; queries without a relevant document count 0.
    ax : Axes, optional
        Where to draw.
    """
    axes = given_axes("plot_fold_differences", ax, 8.0, 4.4)
    rows = [(f"fold {fold}", [fold]) for fold in range(1, N_PARTS + 1)] + [("all folds", [])]
    for place, (_, chosen) in zip(range(len(rows), 0, -1), rows, strict=True):
        ours, theirs = (folds.values(arm, "zero", folds=chosen) for arm in (OURS, BASELINE))
        _draw_interval(axes, place, paired_interval(ours, theirs), strong=not chosen)
        if len(folds.seeds) > 1:
            by_seed = [_seed_difference(folds, chosen, seed) for seed in folds.seeds]
            axes.plot(by_seed, np.full(len(by_seed), place - 0.25), "|", ms=6, mew=1.0, color=QUIET)
    frame(axes, grid="x")
    axes.set_yticks(range(len(rows), 0, -1), [name for name, _ in rows], color=INK)
    axes.set_ylim(0.4, len(rows) + 0.9)
    _divide_at_zero(axes)
    seeds = "; ticks: single seeds" if len(folds.seeds) > 1 else ""
    axes.set_xlabel(f"difference, with its 95 % interval over queries{seeds}", color=QUIET)
    return axes


def _divide_at_zero(axes: Axes) -> None:
    """Draw the line of no difference, with room on both sides to say which arm is higher there."""
    low, high = axes.get_xlim()
    low, high = min(low, -0.4 * high, -1e-4), max(high, -0.4 * low, 1e-4)
    axes.set_xlim(low, high)
    axes.axvline(0, color=INK, lw=0.9, zorder=1)
    for arm, text, side, ha in ((BASELINE, "← {} higher", -6, "right"), (OURS, "{} higher →", 6, "left")):
        place: dict[str, Any] = {
            "xycoords": ("data", "axes fraction"),
            "xytext": (side, 0),
            "textcoords": "offset points",
        }
        axes.annotate(text.format(arm), (0, 1), va="top", ha=ha, fontsize=10, color=COLOURS[arm], **place)
    axes.xaxis.set_major_formatter(signed)


def _draw_interval(axes: Axes, place: float, interval: PairedInterval, *, strong: bool) -> None:
    colour = {1: COLOURS[OURS], -1: COLOURS[BASELINE], 0: INK}[interval.sign]
    if interval.n > 1:
        axes.plot(
            [interval.low, interval.high],
            [place, place],
            color=colour,
            lw=3.4 if strong else 1.6,
            solid_capstyle="round",
        )
    axes.plot(interval.mean, place, "o", ms=10 if strong else 6.5, color=colour)
    axes.annotate(
        f"{interval.mean:+.4f}",
        (1.02, place),
        xycoords=("axes fraction", "data"),
        va="center",
        fontsize=10,
        color=colour,
        fontweight="bold" if strong else "normal",
    )


def _seed_difference(folds: Folds, chosen: list[int], seed: int) -> float:
    ours, theirs = (folds.values(arm, "zero", folds=chosen, seeds=[seed]) for arm in (OURS, BASELINE))
    return float((ours - theirs).mean())
