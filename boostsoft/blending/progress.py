"""A progress bar of the share that is done, on terminals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .problem import Progress


@contextmanager
def bar(shown: bool, text: str) -> Iterator[Progress]:
    """What to tell how much is done; it shows a bar on stderr, if that is a terminal and it shall."""
    from rich.console import Console

    console = Console(stderr=True)
    if not shown or not console.is_terminal:
        yield lambda _: None
        return
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Bar(*columns, console=console, transient=True) as shown_bar:
        task = shown_bar.add_task(text, total=1.0)
        yield lambda done: shown_bar.update(task, completed=done)
