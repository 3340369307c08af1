"""Figures that a notebook shows by themselves, though they belong to no window and to no global list."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


class Picture(Figure):
    """A white figure, whatever the style sheet: its text is dark."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"facecolor": "white", "layout": "constrained", **options})
        FigureCanvasAgg(self)

    def add_subplot(self, *args: Any, **options: Any) -> Any:
        """Axes as white as the figure."""
        return super().add_subplot(*args, **{"facecolor": "white", **options})

    def _repr_png_(self) -> bytes:
        stream = io.BytesIO()
        self.savefig(stream, format="png")
        return stream.getvalue()


class PictureAxes(Axes):
    """The axes of such a figure: a cell that ends with them shows it."""

    def _repr_png_(self) -> bytes | None:
        figure = self.get_figure()
        return figure._repr_png_() if isinstance(figure, Picture) else None
