"""A progress bar for each part of the benchmark, with what is being timed; silent where nobody looks."""

from __future__ import annotations

from rich.console import Console
from rich.progress import TaskID, TextColumn, TimeElapsedColumn

from ..commands.terminal import Bars


class PartBar(Bars):
    """A ``timing.Watcher`` that shows one part; the bar starts anew whenever a set of measurements begins."""

    def __init__(self, console: Console, part: str) -> None:
        super().__init__(console, TimeElapsedColumn(), TextColumn("[cyan]{task.fields[now]}"), transient=True)
        self._part = part
        self._task: TaskID | None = None
        self._started = 0

    def begin(self, steps: int) -> None:
        """Show a new bar."""
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(self._part, total=steps, now="")
        self._started = 0

    def step(self, text: str) -> None:
        """Name what is being timed; what was before it is done."""
        if self._task is not None:
            self._progress.update(self._task, completed=self._started, now=text)
        self._started += 1
