"""How commands show things: a console of a known width, bars, tables whose numbers are never cut, the last words."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, TypeVar

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, JustifyMethod, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from ..atomic import Content, write_files
from ..progress import PAGE
from ..text_files import printable

PLUS_MINUS = "\N{PLUS-MINUS SIGN}"
_WIDE, _NARROW = 3, 2  # blanks between two columns

Shown = TypeVar("Shown", bound="Bars")


def page(width: int = PAGE) -> Console:
    """The standard output; a file has no width, so that ``width`` holds there."""
    console = Console()
    return console if console.is_terminal else Console(width=width)


def plus_minus(console: Console) -> str:
    """The sign before a standard error, in characters that the console's encoding has."""
    return "+-" if console.options.ascii_only else PLUS_MINUS


@contextmanager
def silent_errors() -> Iterator[None]:
    """Drop what a library in C writes to the error stream, if there is one."""
    if sys.stderr is None:
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def error_console() -> Iterator[Console]:
    """A console on the error stream that goes on inside :func:`silent_errors`, for bars over such work."""
    try:
        silenced = sys.stderr is not None and sys.stderr.fileno() == 2
    except (OSError, ValueError):  # no file has its number, or it is closed
        silenced = False
    if not silenced:
        yield Console(stderr=True)
        return
    with os.fdopen(os.dup(2), "w", encoding=sys.stderr.encoding, errors=sys.stderr.errors) as own:
        yield Console(file=own)


class Bars:
    """Bars shown inside a ``with`` block: what is done, how much of it, then ``columns``; on terminals only."""

    def __init__(self, console: Console, *columns: ProgressColumn, transient: bool) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            *columns,
            console=console,
            transient=transient,
        )
        self._shown = console.is_terminal  # elsewhere a bar that is stopped writes a line end, before Rich 14

    def __enter__(self: Shown) -> Shown:
        if self._shown:
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._progress.stop()


class Field(NamedTuple):
    """A column: its heading, its alignment, and for prose, which may be wrapped, the least width."""

    heading: str
    justify: JustifyMethod = "right"
    least: int | None = None


class ResultTable:
    """Rows of labels and values; no value is ever cut, however narrow the terminal is.

    The columns stand side by side where they fit, at need under headings of two lines and closer to each other. Where
    they do not fit, blocks of as many columns as do stand below each other, each with the labels; and where not even
    one column fits beside the labels, each value has a line of its own.

    Parameters
    ----------
    labels : headings of the columns that say what a row is; an empty label repeats the one above it
    values : headings of the others, to the right, or Fields
    """

    def __init__(self, labels: Sequence[str], values: Sequence[str | Field]) -> None:
        self._n_labels = len(labels)
        self._fields = [Field(heading, "left") for heading in labels]
        self._fields += [field if isinstance(field, Field) else Field(field) for field in values]
        self._rows: list[tuple[list[str], str]] = []
        self._ends: set[int] = set()

    def add_row(self, *cells: str, style: str = "") -> None:
        """Add a row; the last cells may be left out."""
        self._rows.append(([*map(printable, cells), *[""] * (len(self._fields) - len(cells))], style))

    def add_section(self) -> None:
        """Leave a line empty below the last row."""
        self._ends.add(len(self._rows) - 1)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        width, columns = options.max_width, range(self._n_labels, len(self._fields))
        for folded in (False, True):
            if self._width(columns, _WIDE, folded) <= width:
                yield from self._below_each_other([self._table(columns, _WIDE, folded)])
                return
        blocks = self._blocks(columns, width)
        if all(self._width(block, _NARROW, folded=True) <= width for block in blocks):
            yield from self._below_each_other([self._table(block, _NARROW, folded=True) for block in blocks])
        else:
            yield from self._below_each_other([Group(*self._lines())])

    @staticmethod
    def _below_each_other(parts: Sequence[RenderableType]) -> Iterator[RenderableType]:
        """Each with an empty line after it, which a table with edges has of itself."""
        for part in parts:
            yield part
            if not (isinstance(part, Table) and part.show_edge):
                yield Text()

    def _blocks(self, columns: Sequence[int], width: int) -> list[list[int]]:
        blocks: list[list[int]] = []
        for column in columns:
            if blocks and self._width([*blocks[-1], column], _NARROW, folded=True) <= width:
                blocks[-1].append(column)
            else:
                blocks.append([column])
        return blocks

    def _width(self, columns: Sequence[int], gap: int, folded: bool) -> int:
        """How wide the labels and some columns are; a wide table has a blank at either edge."""
        chosen = [*range(self._n_labels), *columns]
        edges = 2 if gap == _WIDE else 0
        return sum(self._column_width(column, folded) for column in chosen) + gap * (len(chosen) - 1) + edges

    def _column_width(self, column: int, folded: bool) -> int:
        field = self._fields[column]
        heading = max(map(cell_len, _two_lines(field.heading) if folded else [field.heading]))
        return max(heading, field.least or max((cell_len(cells[column]) for cells, _ in self._rows), default=0))

    def _table(self, columns: Sequence[int], gap: int, folded: bool) -> Table:
        chosen = [*range(self._n_labels), *columns]
        wide = gap == _WIDE
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=wide, padding=(0, 1) if wide else (0, 1, 0, 0))
        for column in chosen:
            field = self._fields[column]
            text = "\n".join(_two_lines(field.heading)) if folded else field.heading
            prose = field.least is not None
            table.add_column(
                Text(text), justify=field.justify, overflow="fold", no_wrap=not prose, min_width=field.least
            )
        for at, (cells, style) in enumerate(self._rows):
            table.add_row(*(Text(cells[column]) for column in chosen), style=style, end_section=at in self._ends)
        return table

    def _lines(self) -> Iterator[Text]:
        """Each row as a name, and "heading: value" below it."""
        labels = [""] * self._n_labels
        for cells, style in self._rows:
            labels = [own or above for own, above in zip(cells, labels, strict=False)]
            yield Text(" ".join(labels), style=style)
            for field, cell in list(zip(self._fields, cells, strict=True))[self._n_labels :]:
                if cell:
                    yield Text(f"  {field.heading}: {cell}", style=style)


def _two_lines(heading: str) -> list[str]:
    """A heading on at most two lines, of which the longer is as short as can be.

    >>> _two_lines("95 % interval"), _two_lines("keep")
    (['95 %', 'interval'], ['keep'])
    """
    words = heading.split()
    cuts = [[" ".join(words[:at]), " ".join(words[at:])] for at in range(1, len(words))]
    return min(cuts, key=lambda lines: max(map(cell_len, lines)), default=[heading])


def finish(shown: RenderableType, out: Path, files: Mapping[str, Content], all_names: Iterable[str] = ()) -> None:
    """End a command: write its files, show its report, whatever becomes of them, and say where the files are."""
    console = page()
    try:
        write_files(out, files, all_names)
    finally:
        console.print(shown)
    console.print(Text(printable(f"Written to {out}: {', '.join(files)}")))
