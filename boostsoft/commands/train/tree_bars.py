"""Progress of an experiment on the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.progress import TaskID, TextColumn, TimeRemainingColumn

from ..experiment import Observer
from ..terminal import Bars


class TreeBars(Bars, Observer):
    """A progress bar per booster with the watched metrics; with ``runs``, one bar over all of them besides."""

    def __init__(self, console: Console, runs: int | None = None) -> None:
        columns = (TextColumn("[cyan]{task.fields[metrics]}"), TimeRemainingColumn())
        super().__init__(console, *columns, transient=False)
        self._all = None if runs is None else self._progress.add_task("all runs", total=runs, metrics="")
        self._current = TaskID(0)

    def begin(self, run: str, trees: int) -> None:
        """Show a new bar."""
        waiting = "first tree (some 20 s where no compiled kernels fit)"
        self._current = self._progress.add_task(run, total=trees, metrics=waiting)

    def tree(self, n: int, values: Mapping[str, float]) -> None:
        """Move the bar."""
        shown = "  ".join(f"{name} {value:.4f}" for name, value in values.items())
        self._progress.update(self._current, completed=n, metrics=shown)

    def end(self) -> None:
        """Fill the bar, whether or not training stopped early, or take it away if there are many runs."""
        if self._all is None:
            self._progress.update(self._current, total=self._progress.tasks[-1].completed)
        else:
            self._progress.remove_task(self._current)
            self._progress.advance(self._all)
