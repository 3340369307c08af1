"""Plots of blends: a metric along a mixture of two models and over mixtures of three, the weights, and the sigma.

As in ``track_plots``, the ``plot_`` functions draw into ``ax`` (a new figure if None) and return it, the ``_figure``
functions compose whole pictures, and no window is opened: a notebook shows what a cell ends with. Of the curves of a
mixture the hard metric's is vermilion and thin, the soft one's blue and broad.
"""

from .mixtures import blend_curve_figure, blend_surface_figure, plot_blend_curve, plot_blend_surface
from .sigma import plot_sigma_choice, sigma_figure
from .weights import plot_weights, weights_figure

__all__ = [
    "blend_curve_figure",
    "blend_surface_figure",
    "plot_blend_curve",
    "plot_blend_surface",
    "plot_sigma_choice",
    "plot_weights",
    "sigma_figure",
    "weights_figure",
]


def __dir__() -> list[str]:
    return __all__  # completion is not to offer the modules behind these
