"""Files that are whole or not there: written under a temporary name beside their own, then renamed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from operator import methodcaller
from pathlib import Path
from uuid import uuid4

_KEPT = 40  # characters of a file's name in its temporary one, which may not have more than 255 bytes


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` make the file, and give it its name once it is complete; a link leads to the file as ever."""
    if path.exists() and not path.is_file():  # a file would take the place of a device or a pipe
        write(path)
        return
    target = Path(os.path.realpath(path))
    # no two threads, nor processes of two machines, have one name
    temporary = target.with_name(f".{target.name[:_KEPT]}.{uuid4().hex}.tmp")
    try:
        write(temporary)
        if target.exists():  # who may read it stays as it is
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except OSError as error:  # of a name that nobody knows, or of none
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files by name into a folder, which is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_whole(folder / name, methodcaller("write_bytes", content))
