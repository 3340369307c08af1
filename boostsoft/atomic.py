"""Files that are whole or not there: written under a temporary name beside their own, then renamed."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import methodcaller
from pathlib import Path
from uuid import uuid4

_KEPT = 40  # characters of a file's name in its temporary one, which may not have more than 255 bytes


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` make the file, and give it its name once it is complete; a link leads to the file as ever."""
    _write_all([(path, write)])


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files by name into a folder, made if it is not there; none has its name before all are complete.

    Pictures come last, by themselves: for want of room for one nothing else is lost.
    """
    folder.mkdir(parents=True, exist_ok=True)
    given = [(folder / name, methodcaller("write_bytes", content)) for name, content in files.items()]
    for pictures in (False, True):
        _write_all([(path, write) for path, write in given if (path.suffix == ".png") == pictures])


def _write_all(files: Sequence[tuple[Path, Callable[[Path], object]]]) -> None:
    begun: list[tuple[Path, Path, Path]] = []
    try:
        for path, write in files:
            with _named(path):
                if path.exists() and not path.is_file():  # a file would take the place of a device or a pipe
                    write(path)
                    continue
                target = Path(os.path.realpath(path))
                # no two threads, nor processes of two machines, have one name
                temporary = target.with_name(f".{target.name[:_KEPT]}.{uuid4().hex}.tmp")
                begun.append((path, target, temporary))
                write(temporary)
        for path, target, temporary in begun:
            with _named(path):
                if target.exists():  # who may read it stays as it is
                    shutil.copymode(target, temporary)
                os.replace(temporary, target)
    finally:
        for _, _, temporary in begun:
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Let an error of the system name this file, and not the one that is written in its place."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        # not the error's own words, into which pyarrow puts all of its message
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
