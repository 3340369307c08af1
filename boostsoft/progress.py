"""Bars on the terminal: how much is done, and the watched metric as it moves. Silent where nobody looks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

_WIDTH = 24
_PAUSE = 0.1  # seconds between two looks

Item = TypeVar("Item")


def shows(caller: str, progress: Any) -> bool:
    """Whether a bar may be shown."""
    if not isinstance(progress, bool) and progress != "auto":
        raise ValueError(f"{caller}: progress must be True, False or 'auto'; got {progress!r}")
    return bool(progress)


@contextmanager
def bar(shown: bool, text: str, total: float | None = 1.0, counts: bool = False) -> Iterator[Callable[[float], None]]:
    """What to tell how much of the total is done, a share or a count; shows a bar if stderr is a terminal."""
    console = None
    if shown:
        from rich.console import Console

        console = Console(stderr=True)
    if console is None or not console.is_terminal:
        yield lambda _: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    done_of = MofNCompleteColumn() if counts else TaskProgressColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), done_of, TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(text, total=total)
        yield lambda done: progress.update(task, completed=done)


def watched(items: Iterable[Item], total: int | None, text: str, shown: bool) -> Iterator[Item]:
    """Go through the items with a bar; ``total`` is None if only their end will tell."""
    with bar(shown, text, total, counts=True) as tell:
        for done, item in enumerate(items, 1):
            yield item
            tell(done)


class MetricBar:
    """A line that is written over: a bar, the trees, and the metric with its standard error.

    It holds no cursor and no thread and redirects nothing: training that ends by an exception, or by another
    callback's early stopping, which nobody tells this one about, leaves nothing behind but the line.

    Parameters
    ----------
    progress : bool or "auto"
        Whether to show it; "auto" if the standard error stream is a terminal.
    """

    def __init__(self, caller: str, progress: Any) -> None:
        shows(caller, progress)
        self._wanted = progress
        self._next = 0.0
        self._console: Any = None

    def due(self, last: bool) -> bool:
        """Whether to show the next value; ``last`` ones are shown whenever they come."""
        terminal = sys.stderr is not None and sys.stderr.isatty()  # without a console there is no such stream
        if not (terminal if self._wanted == "auto" else self._wanted):
            return False
        return last or time.monotonic() >= self._next

    def show(self, done: int, total: int | None, name: str, value: str) -> None:
        """Write the line anew."""
        from rich.console import Console
        from rich.control import Control
        from rich.segment import ControlType
        from rich.text import Text

        if self._console is None:
            self._console = Console(stderr=True, force_terminal=True, force_jupyter=False)
        full = round(_WIDTH * done / total) if total else 0
        line = Text.assemble(
            ("━" * full, "green"), ("━" * (_WIDTH - full if total else 0), "bright_black"),
            f" {done}/{total} " if total else f"{done} trees ", (name, "cyan"), f" {value}",
        )  # fmt: skip
        line.truncate(self._console.width - 1, overflow="ellipsis", pad=True)
        self._console.control(Control(ControlType.CARRIAGE_RETURN))
        self._console.print(line, end="", soft_wrap=True, highlight=False)
        self._next = time.monotonic() + _PAUSE

    def close(self) -> None:
        """End the line."""
        if self._console is not None:
            self._console.print()
            self._console = None
