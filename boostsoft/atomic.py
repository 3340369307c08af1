"""Files that are whole or not there: written under a temporary name beside their own, then renamed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from operator import methodcaller
from pathlib import Path


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` make the file, and give it its name once it is complete."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files by name into a folder, which is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_whole(folder / name, methodcaller("write_bytes", content))
