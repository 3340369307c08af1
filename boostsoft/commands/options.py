"""What commands have in common: options with a least value, a folder that can be written to, how they end."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ..arguments import LARGEST_INT32, from_home
from ..metrics.spec import parse_spec
from ..text_files import printable

FAILED, INTERRUPTED = 2, 130
_REPLACES = os.name != "nt"  # Windows takes no file's place that is open elsewhere, or to be read only


def stop(message: str, code: int) -> int:
    """Say in one line on stderr why a command ends; returns its exit code."""
    with contextlib.suppress(AttributeError, OSError):  # no such stream, or nowhere to write: the code says it, too
        sys.stderr.write(f"boostsoft: {printable(' '.join(message.split()))}\n")
    return code


def interrupted() -> int:
    """End after Ctrl-C."""
    return stop("interrupted; no file is half written", INTERRUPTED)


def add_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], Any], *, help: str, description: str, epilog: str
) -> argparse.ArgumentParser:
    """Add a command to the subparsers of the command line, whose texts are shown as they are written."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def whole(least: int, most: int = LARGEST_INT32) -> Callable[[str], int]:
    """Build the parser of a whole number from ``least`` to ``most``."""

    def parse(text: str) -> int:
        number = int(text) if re.fullmatch(r"[0-9]{1,99}", text) else -1
        if not least <= number <= most:
            rule = f"of at least {least}" if number <= most else f"from {least} to {most}"
            raise argparse.ArgumentTypeError(f"must be a whole number {rule}; got {text!r}")
        return number

    return parse


def positive(text: str) -> float:
    """Read a finite number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number above 0; got {text!r}")
    return value


def path_name(text: str) -> Path:
    """Read the name of a file or a folder; of --save=~/track.npz the shell leaves the ~ to whoever is called."""
    if not text.strip():  # of a variable that was never set
        raise argparse.ArgumentTypeError("must name a file or a folder; got an empty text")
    return from_home(text)


def folder_name(text: str) -> Path:
    """Read the name of a folder."""
    if not text.strip():
        raise argparse.ArgumentTypeError("must name a folder; got an empty text")
    return path_name(text)


def weighted(text: str) -> tuple[str, float]:
    """Read NAME=WEIGHT."""
    name, equals, weight = (part.strip() for part in text.partition("="))
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"must be NAME=WEIGHT; got {text!r}")
    return name, positive(weight)


def weighted_or_none(text: str) -> tuple[str, float] | None:
    """Read NAME=WEIGHT, or the word for nothing at all."""
    return None if text.strip() == "none" else weighted(text)


def named_weights(option: str, pairs: Sequence[tuple[str, float] | None]) -> dict[str, float]:
    """NAME=WEIGHT of all uses of an option, no name twice; nothing where ``none`` was given by itself."""
    given = [pair for pair in pairs if pair is not None]
    if given and len(given) < len(pairs):
        raise ValueError(f"{option}: none must stand alone; got {given[0][0]} beside it")
    return named_once(option, given)


def named_once(option: str, pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """NAME=... of all uses of an option, no name twice."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{option}: {name} is given twice")
        found[name] = value
    return found


def metric_name(text: str) -> str:
    """Read a metric's name, and a cutoff behind it."""
    try:
        parse_spec("metric", text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("metric: ")) from error
    return text


def check_folder(folder: Path, *names: str, option: str = "--out") -> None:
    """Refuse a folder that cannot be written to, or where files of these names cannot be; it is not made yet."""
    nearest = folder
    while not os.path.lexists(nearest) and nearest != nearest.parent:
        nearest = nearest.parent
    if not os.path.exists(nearest):
        raise ValueError(f"{option}: {nearest} is a link to nothing")
    if not nearest.is_dir():
        raise ValueError(f"{option}: {nearest} is a file, not a folder")
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        raise ValueError(f"{option}: cannot write to {nearest}: {error.strerror}") from error
    for name in names:
        path = folder / name
        if path.is_dir():
            raise ValueError(f"{option}: {path} must be a file; it is a folder")
        if not _REPLACES and path.exists():
            try:
                path.open("r+b").close()
            except OSError as error:
                raise ValueError(f"{option}: cannot write to {path}: {error.strerror}") from error
