"""A progress bar for each part of the benchmark, with what is being timed; silent where nobody looks."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn


class PartBar:
    """A ``timing.Watcher`` that shows one part; the bar starts anew whenever a set of measurements begins."""

    def __init__(self, console: Console, part: str) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("[cyan]{task.fields[now]}"),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._part = part
        self._task: TaskID | None = None
        self._started = 0

    def __enter__(self) -> PartBar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

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
