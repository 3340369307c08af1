"""The weights of a fitted blender."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..arguments import Texts, of_type
from ..blending import SoftBlender
from ..blending.interval import LEVEL
from ..blending.models import names_of_models
from ..drawing import BLUE, INK, QUIET, VERMILION, frame, given_axes, head, letters, new_figure
from .shared import model_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_LEAST_LETTERS = 30  # in a line of the caption, however long the names beside the axes are


def weights_figure(blender: SoftBlender, *, names: Texts | None = None) -> Figure:
    """The weights of a fitted blender, with a heading.

    Parameters
    ----------
    blender : SoftBlender
        Fitted.
    names : n_models str, optional
        What the models are called.

    Raises
    ------
    TypeError, ValueError
        If ``blender`` is none, or is not fitted, or there are not as many names as models.

    Examples
    --------
    >>> import numpy as np, boostsoft as bs
    >>> from boostsoft.blend_plots import weights_figure
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 200)
    >>> S = y[:, None] + rng.normal(size=(200, 3))
    >>> blender = bs.SoftBlender(n_boot=20, random_state=0).fit(S, y, group=[20] * 10)
    >>> weights_figure(blender).axes[0].get_xlabel()
    'weight, with its 95 % interval over resampled queries'
    """
    check_is_fitted(of_type("weights_figure", "blender", blender, SoftBlender))
    model_names("weights_figure", names, _known_names(blender))
    figure = new_figure(8.0, 1.6 + 0.27 * len(blender.weights_))
    plot_weights(blender, names=names, ax=figure.add_subplot())
    head(figure, "Weights of the blend")
    return figure


def plot_weights(blender: SoftBlender, *, names: Texts | None = None, ax: Axes | None = None) -> Axes:
    """The weights of a fitted blender from the largest down, each with its interval over queries.

    Parameters
    ----------
    blender : SoftBlender
        Fitted: ``weights_``, and ``weights_interval_`` if there is one.
    names : n_models str, optional
        What the models are called; otherwise as the columns that it was fitted on, or as the models that it was given.
    ax : Axes, optional
        Where to draw: in a light figure, best of ``layout="constrained"``, since words stand beside the axes.

    Raises
    ------
    TypeError, ValueError
        If ``blender`` is none, or is not fitted, there are not as many names as models, or ``ax`` is no Axes.

    Examples
    --------
    >>> import numpy as np, boostsoft as bs
    >>> from boostsoft.blend_plots import plot_weights
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 200)
    >>> S = y[:, None] + rng.normal(size=(200, 3))
    >>> blender = bs.SoftBlender(n_boot=20, random_state=0).fit(S, y, group=[20] * 10)
    >>> [label.get_text() for label in plot_weights(blender, names=("BM25", "trees", "dense")).get_yticklabels()]
    ['BM25', 'trees', 'dense']
    """
    check_is_fitted(of_type("plot_weights", "blender", blender, SoftBlender))
    weights = blender.weights_
    labels = model_names("plot_weights", names, _known_names(blender), 40)
    axes = given_axes("plot_weights", ax, 8.0, 1.6 + 0.27 * len(weights))
    order = np.argsort(-weights, kind="stable")
    intervals = getattr(blender, "weights_interval_", None)
    if intervals is not None and np.isnan(intervals).all():  # one query tells nothing of others
        intervals = None
    for place, at in zip(range(len(weights) - 1, -1, -1), order.tolist(), strict=True):
        colour = BLUE if weights[at] > 0 else QUIET if weights[at] == 0 else VERMILION
        if intervals is not None:
            axes.plot(intervals[at], [place, place], color=colour, lw=3.0, alpha=0.45, solid_capstyle="round")
        axes.plot(weights[at], place, "o", ms=6.5, color=colour, clip_on=False, zorder=4)
    frame(axes, grid="x")
    axes.axvline(0.0, color=INK, lw=0.9, zorder=1)
    equal = 1.0 / len(weights)
    axes.axvline(equal, color=QUIET, lw=0.9, ls=(0, (1, 2)), zorder=1)
    axes.annotate(" equal", (equal, 1), xycoords=("data", "axes fraction"), va="bottom", fontsize=9, color=QUIET)
    axes.set_yticks(range(len(weights) - 1, -1, -1), [labels[at] for at in order], color=INK)
    axes.set_ylim(-0.6, len(weights) - 0.4)
    words = "" if intervals is None else f", with its {100 * LEVEL:g} % interval over resampled queries"
    none = " (grey: no weight)" if (weights == 0).any() else ""
    room = max(_LEAST_LETTERS, letters(axes) - int(1.4 * max(map(len, labels))))
    axes.set_xlabel(fill(f"weight{words}{none}", room), color=QUIET)
    return axes


def _known_names(blender: SoftBlender) -> list[str]:
    """Those of the columns of scores; where models give the scores, its columns are features."""
    if blender.models is not None:
        return names_of_models(blender.models)
    return list(getattr(blender, "feature_names_in_", [f"model {at}" for at in range(len(blender.weights_))]))
