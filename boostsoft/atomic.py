"""Files that are whole or not there: written under a temporary name beside their own, then renamed."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import methodcaller
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

    Pictures come last, by themselves: if one cannot be drawn, or for want of room, nothing else is lost. Files of
    ``all_names`` that are not among them go: of an earlier run, they would pass for results of this one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for pictures in (False, True):
        chosen = {folder / name: content for name, content in files.items() if name.endswith(".png") == pictures}
        made = {path: content() if callable(content) else content for path, content in chosen.items()}
        _write_all([(path, methodcaller("write_bytes", content)) for path, content in made.items()])
    for name in set(all_names).difference(files):
        (folder / name).unlink(missing_ok=True)


def _write_all(files: Sequence[tuple[Path, Callable[[Path], object]]]) -> None:
    begun: list[tuple[Path, Path, Path]] = []
    try:
        for path, write in files:
            with naming_file(path):
                if _is_stream(path):  # whose place a file would take
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
                temporary.unlink()


def _is_stream(path: Path) -> bool:
    """Whether a path is a device, a pipe, or what a process has open, as /dev/stdout is, to a file too."""
    if path.exists() and not path.is_file():
        return True
    parent = os.path.realpath(path.parent)
    return path.is_symlink() and (parent == "/dev" or (parent.startswith("/proc/") and parent.endswith("/fd")))


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
