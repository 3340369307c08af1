"""Files that are whole or not there: written under a temporary name beside their own, then renamed."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from uuid import uuid4

_KEPT = 40  # characters of a file's name in its temporary one, which may not have more than 255 bytes

# what a file is to hold, or what makes it when its turn comes
Content = bytes | Callable[[], bytes]


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` make the file, and give it its name once it is complete; a link leads to the file as ever."""
    _write_all([(path, write)])


def write_files(folder: Path, files: Mapping[str, Content], all_names: Iterable[str] = ()) -> None:
    """Write files by name into a folder, made if it is not there; none has its name before all are complete.

    Pictures come last, each by itself: if one cannot be drawn, or for want of room, nothing else is lost. Pictures of
    other files, and files of ``all_names`` that are not among these, go: they would pass for results of this run.

    Raises
    ------
    Exception
        What the first picture that could not be drawn or written has raised, when the others are there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {name: content for name, content in files.items() if name.endswith(".png")}
    rest = {name: content for name, content in files.items() if name not in pictures}
    _write_all([(folder / name, _writes(content)) for name, content in rest.items()])
    for name in {*all_names, *(pictures if rest else ())}.difference(rest):
        if (folder / name).is_file():
            (folder / name).unlink()
    failed = []
    for name, content in pictures.items():
        try:
            _write_all([(folder / name, _writes(content))])
        except Exception as error:
            failed.append(error)
    if failed:
        raise failed[0]


def _writes(content: Content) -> Callable[[Path], object]:
    """What writes a content to a path, once it is made."""
    return lambda path: path.write_bytes(content() if callable(content) else content)


def _write_all(files: Sequence[tuple[Path, Callable[[Path], object]]]) -> None:
    begun: list[tuple[Path, Path, Path]] = []
    try:
        for path, write in files:
            with naming_file(path):
                if path.exists() and not path.is_file():  # a file would take the place of a device or a pipe
                    write(path)
                    continue
                target = Path(os.path.realpath(path))
                # no two threads, nor processes of two machines, have one name
                temporary = target.with_name(f".{target.name[:_KEPT]}.{uuid4().hex}.tmp")
                begun.append((path, target, temporary))
                write(temporary)
        for path, target, temporary in begun:
            with naming_file(path):
                if target.exists():  # who may read it stays as it is
                    shutil.copymode(target, temporary)
                _rename(temporary, target)
    finally:
        for _, _, temporary in begun:
            with contextlib.suppress(OSError):
                temporary.chmod(0o600)  # Windows keeps files that are to be read only
            with contextlib.suppress(OSError):
                temporary.unlink()


def _rename(temporary: Path, target: Path) -> None:
    try:
        os.replace(temporary, target)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        shutil.copyfile(temporary, target)  # a file that is mounted by itself, as into a container


@contextlib.contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Let an error of the system name this file, and not the one that is written in its place."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        # not the error's own words, into which pyarrow puts all of its message
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
