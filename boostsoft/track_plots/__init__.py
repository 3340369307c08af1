"""Plots of what each tree adds: curves with bands, hard beside soft, the change by tree.

The ``plot_`` functions draw into ``ax`` (a new figure if None) and return it; the ``_figure`` functions compose whole
pictures, which :func:`boostsoft.drawing.png` turns into bytes. No window is opened and no global state of matplotlib
is touched; a notebook shows a new figure where a cell ends with it. Colours are Okabe and Ito's (2008), told apart by
colour-blind readers, and every line carries its name.
"""

from .changes import plot_changes
from .comparison import plot_comparison
from .curves import hard_soft_figure, plot_curves, plot_hard_soft
from .overview import track_figure

__all__ = ["hard_soft_figure", "plot_changes", "plot_comparison", "plot_curves", "plot_hard_soft", "track_figure"]


def __dir__() -> list[str]:
    return __all__  # completion is not to offer the modules behind these
