"""What speaks for a sigma."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import of_type
from ..drawing import BLUE, GREEN, INK, QUIET, VERMILION, frame, given_axes, head, letters, metric_title, new_figure
from ..sigma import SigmaChoice

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# method of choose_sigma -> what it compares: key of the table, name, colour; the last decides
_SIGMA_LINES: dict[str, list[tuple[str, str, str]]] = {
    "tradeoff": [
        ("smoothness", "roughness", VERMILION),
        ("approximation", "misfit", GREEN),
        ("total", "weighted sum", BLUE),
    ],
    "sensitivity": [("queries", "queries needed", BLUE)],
    "held-out": [("value", "held-out value", BLUE)],
}
_METHOD_WORDS = {"tradeoff": "trade-off", "sensitivity": "sensitivity", "held-out": "held-out queries"}
_SIGMA_TITLES = {
    "tradeoff": "How rough the soft {metric} is, and how far from the hard one",
    "sensitivity": "Queries that tell two models apart, relative to the hard {metric}",
    "held-out": "Hard {metric} on held-out queries of weights found at each sigma",
}
_UNITS = {"spread": "spreads", "score": "units of the scores"}


def sigma_figure(choice: SigmaChoice) -> Figure:
    """What speaks for the sigma that was chosen, with a heading.

    Parameters
    ----------
    choice : SigmaChoice
        What :func:`boostsoft.choose_sigma` returns.

    Raises
    ------
    TypeError, ValueError
        If ``choice`` is none, or is by "residual", which compares no sigmas.

    Examples
    --------
    >>> import numpy as np, boostsoft as bs
    >>> from boostsoft.blend_plots import sigma_figure
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 200)
    >>> S = y[:, None] + rng.normal(size=(200, 3))
    >>> choice = bs.choose_sigma(S, y, method="tradeoff", group=[20] * 10, sigmas=[0.1, 0.5])
    >>> sigma_figure(choice).axes[0].get_xlabel()
    'sigma, in spreads (ring: chosen)'
    """
    _check_several("sigma_figure", choice)
    figure = new_figure(8.5, 4.8)
    plot_sigma_choice(choice, ax=figure.add_subplot())
    head(figure, f"Sigma by {_METHOD_WORDS[choice.method]}: {choice.sigma:.3g}")
    return figure


def plot_sigma_choice(choice: SigmaChoice, *, ax: Axes | None = None) -> Axes:
    """What was measured at each sigma: roughness, misfit and their weighted sum, or what else decided.

    Parameters
    ----------
    choice : SigmaChoice
        By "tradeoff", "sensitivity" or "held-out".
    ax : Axes, optional
        Where to draw: in a light figure, best of ``layout="constrained"``, since words stand beside the axes.

    Raises
    ------
    TypeError, ValueError
        If ``choice`` is none, or is by "residual", which compares no sigmas, or ``ax`` is no Axes.

    Examples
    --------
    >>> import numpy as np, boostsoft as bs
    >>> from boostsoft.blend_plots import plot_sigma_choice
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 200)
    >>> S = y[:, None] + rng.normal(size=(200, 3))
    >>> choice = bs.choose_sigma(S, y, method="tradeoff", group=[20] * 10, sigmas=[0.1, 0.5])
    >>> plot_sigma_choice(choice).get_xscale()
    'log'
    """
    _check_several("plot_sigma_choice", choice)
    axes = given_axes("plot_sigma_choice", ax, 8.5, 4.6)
    lines = _SIGMA_LINES[choice.method]
    axes.set_xscale("log")
    for (key, name, colour), mark in zip(lines, "os^", strict=False):
        decides = key == lines[-1][0]
        values = np.where(np.isfinite(choice.table[key]), choice.table[key], np.nan)
        style: dict[str, Any] = {"lw": 2.6 if decides else 1.4, "ms": 5.0 if decides else 3.5}
        axes.plot(choice.sigmas, values, f"{mark}-", color=colour, label=name, zorder=4 - decides, **style)
    best = float(choice.table[lines[-1][0]][np.argmin(np.abs(choice.sigmas - choice.sigma))])
    axes.plot(choice.sigma, best, "o", ms=11, mfc="none", mec=INK, mew=1.8, zorder=6)
    axes.axvline(choice.sigma, color=INK, lw=0.9, ls=(0, (1, 3)), zorder=1)
    frame(axes)
    if len(lines) > 1:
        axes.legend(frameon=False, labelcolor="linecolor", loc="best")
    ticks = choice.sigmas[:: max(1, len(choice.sigmas) // 6)]
    axes.set_xticks(ticks, [f"{tick:.2g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel(f"sigma, in {_UNITS[choice.sigma_unit]} (ring: chosen)", color=QUIET)
    axes.set_title(fill(_title(choice), letters(axes)), loc="left", fontsize=9.5, color=QUIET)
    return axes


def _title(choice: SigmaChoice) -> str:
    metric = "metric" if choice.metric is None else metric_title(choice.metric.spec)
    return _SIGMA_TITLES[choice.method].format(metric=metric)


def _check_several(caller: str, choice: SigmaChoice) -> None:
    of_type(caller, "choice", choice, SigmaChoice)
    if choice.method not in _SIGMA_LINES:
        raise ValueError(f"{caller}: choice must compare several sigmas; got one by {choice.method!r}")
