"""Bars: how much is done, and the watched metric as it moves. Silent where nobody looks."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import parent_process
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any, Protocol, TypeVar

import numpy as np

from .arguments import short

_WIDTH, _NARROW = 24, 50  # columns of a bar, and of a page that has room for the numbers alone
PAGE = 110  # columns, where nothing says how many there are
_PAUSE = 0.1  # seconds between two looks
_LONG = 20_000_000  # bytes, which take a second or two to read
_PATIENCE = 0.3  # seconds before a bar on a terminal is worth a look
_open: list[str] = []  # what the bar that is shown is of: another one would write over it

Item = TypeVar("Item")


class Tell(Protocol):
    """What to tell how much is done, and more in words."""

    def __call__(self, done: float, words: str = "") -> None:
        """Show it, where somebody looks."""


def shows(caller: str, progress: Any) -> bool:
    """Whether a bar is shown: True everywhere, in a notebook and a log too; "auto" where stderr is a terminal.

    And not beside others: by "auto" no worker process or thread writes over the bar of another one.
    """
    if not isinstance(progress, (bool, np.bool_)) and not (isinstance(progress, str) and progress == "auto"):
        raise ValueError(f"{caller}: progress must be True, False or 'auto'; got {short(progress)}")
    return _on_terminal() and _is_alone() if isinstance(progress, str) else bool(progress)


def _on_terminal() -> bool:
    """Whether a line can be written over where somebody looks; an editor's shell only adds to what is there."""
    try:
        if not sys.stderr.isatty():
            return False
    except (AttributeError, ValueError):  # no such stream, as without a console; a stand-in for one; one that is closed
        return False
    return os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def _is_alone() -> bool:
    return parent_process() is None and current_thread() is main_thread()


@contextmanager
def bar(shown: bool, text: str, total: float | None = 1.0, counts: bool = False) -> Iterator[Tell]:
    """What to tell how much of the total is done, a share or a count; shows a bar if it is to be ``shown``.

    One within another is silent.
    """
    if not shown or _open:
        yield lambda done, words="": None
        return
    _open.append(text)
    try:
        with (_terminal_bar if _on_terminal() else _bar_in_lines)(text, total, counts) as tell:
            yield tell
    finally:
        _open.clear()


@contextmanager
def _bar_in_lines(text: str, total: float | None, counts: bool) -> Iterator[Tell]:
    line = Line()
    try:
        yield lambda done, words="": line.write_if_due(done, total, counts, f"{text} {words}".rstrip())
    finally:
        line.close()


@contextmanager
def _terminal_bar(text: str, total: float | None, counts: bool) -> Iterator[Tell]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    done_of = MofNCompleteColumn() if counts else TaskProgressColumn()
    words = TextColumn("[cyan]{task.fields[words]}")
    columns = (TextColumn("{task.description}"), BarColumn(), done_of, words, TimeRemainingColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    task = progress.add_task(text, total=total, words="")
    due = time.monotonic() + _PATIENCE

    def tell(done: float, words: str = "") -> None:
        if not progress.live.is_started and time.monotonic() >= due:
            progress.start()
        progress.update(task, completed=done, words=words)

    try:
        yield tell
    finally:
        if progress.live.is_started:
            progress.stop()


def watched(items: Iterable[Item], total: int | None, text: str, shown: bool) -> Generator[Item, None, None]:
    """Go through the items with a bar; ``total`` is None if only their end will tell.

    To be gone through by a for statement, or closed: under a name, or in a comprehension, it outlives an error whose
    traceback is kept, and the bar with it.
    """
    with bar(shown, text, total, counts=True) as tell:
        for done, item in enumerate(items, 1):
            yield item
            tell(done)


@contextmanager
def bar_of_files(caller: str, paths: Sequence[Path], progress: Any) -> Iterator[Callable[[int, int], None]]:
    """What to tell which of the files is read, and how many of its bytes; "auto" shows a bar of long ones only."""
    sizes = [path.stat().st_size if path.is_file() else 0 for path in paths]
    shown = shows(caller, progress) and (not isinstance(progress, str) or sum(sizes) >= _LONG)
    with bar(shown, caller, float(sum(sizes)) or None) as tell:
        yield lambda at, done: tell(sum(sizes[:at]) + done)
        tell(float(sum(sizes)))


class Line:
    """A line that is written over: a bar, how much is done, and words.

    It holds no cursor and no thread and redirects nothing: work that ends by an exception, as LightGBM's early stopping
    is, leaves nothing behind but the line, and two spaces before what comes next.
    """

    def __init__(self) -> None:
        self._next, self._length = 0.0, 0
        self._console: Any = None

    @property
    def due(self) -> bool:
        """Whether the last one was written long enough ago."""
        return time.monotonic() >= self._next

    def write_if_due(self, done: float, total: float | None, counts: bool, words: str) -> None:
        """Write how much of a total is done, a count or a share; the end whenever it comes."""
        if self.due or done == total:
            share = done / total if total else None
            if counts:
                said = f"{done:g}/{total:g}" if total else f"{done:g}"
            else:
                said = "" if share is None else f"{share:.0%}"
            self.write(share, said, words)

    def write(self, share: float | None, done: str, name: str, value: str = "") -> None:
        """Write the line anew; without a share, which is not known then, there is no bar."""
        from rich.console import Console

        if self._console is None:
            page = None if _on_terminal() else PAGE
            self._console = Console(stderr=True, force_terminal=True, force_jupyter=False, width=page)
        console, room = self._console, self._console.width - 3
        line = _styled(console, room, share, done, name, value)
        length = line.cell_len
        line.pad_right(max(min(self._length, room) - length, 0) + 2)  # the window may have become narrower
        self._length = length
        console.file.write("\r")  # Rich writes none where the terminal is said to be dumb
        console.print(line, end="", soft_wrap=True, highlight=False)
        self._next = time.monotonic() + _PAUSE

    def close(self) -> None:
        """End the line."""
        if self._console is not None:
            self._console.print()
            self._console, self._length = None, 0


def _styled(console: Any, room: int, share: float | None, done: str, name: str, value: str) -> Any:
    """The text of a line, in characters and colours that the console has."""
    from rich.text import Text

    ascii_only = console.options.ascii_only
    mark = "-" if ascii_only else "━"
    left = " " if console.no_color or console.color_system is None else mark  # colour alone tells them apart
    width = 0 if share is None or console.width < _NARROW else _WIDTH
    full = round(width * (share or 0.0))
    line = Text.assemble(
        (mark * full, "green"), (left * (width - full), "bright_black"),
        f" {done} " if width else f"{done} ".lstrip(), (name, "cyan"), f" {value}",
    )  # fmt: skip
    if ascii_only:
        line = Text(line.plain.replace("±", "+-"), spans=line.spans)
    line.truncate(room, overflow="crop" if ascii_only else "ellipsis")
    return line


class MetricBar:
    """The trees so far, and the metric with its standard error.

    Training may end by another callback's early stopping, which nobody tells this one about.

    Parameters
    ----------
    progress : bool or "auto"
        Whether to show it, as in :func:`shows`.
    """

    def __init__(self, caller: str, progress: Any) -> None:
        shows(caller, progress)
        self._caller, self._wanted = caller, progress
        self._line = Line()

    def due(self, last: bool) -> bool:
        """Whether to show the next value; ``last`` ones are shown whenever they come."""
        return not _open and shows(self._caller, self._wanted) and (last or self._line.due)

    def show(self, done: int, total: int | None, name: str, value: str) -> None:
        """Write the line anew."""
        self._line.write(done / total if total else None, f"{done}/{total}" if total else f"{done} trees", name, value)

    def close(self) -> None:
        """End the line."""
        self._line.close()
