"""Compiled kernels kept on disk: Numba's own cache, with three differences.

- **No stale code.** A kernel's machine code contains that of the kernels it calls, but Numba recompiles it only when
  its own source file changes: after an upgrade, or an edit, of another file the old code would run on. Here every
  kernel, a test's too, is stamped with all source files of this folder and of its own.
- **No mix-up.** Two processes that compile one function for different types at the same time may write both under
  one number, so that one's types lead to the other's code. Here the types are part of the file's name.
- **Never in the way.** Where nothing can be written (a read-only installation, no home folder; a full disk), or what
  is there cannot be read, kernels are compiled anew in every process, and a warning says so once.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import warnings
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

# why kernels were not kept, and what was said of it
_not_kept: list[str] = []
_told: list[str] = []


def keep(dispatcher: Any) -> Any:
    """Let a compiled function be kept; with the compiler off, it is a plain one."""
    if hasattr(dispatcher, "py_func"):
        try:
            dispatcher._cache = KernelCache(dispatcher.py_func)  # as its enable_caching does with Numba's
        except RuntimeError as error:  # Numba finds no folder to write to
            dispatcher._cache = NoCache(error)
    return dispatcher


@functools.cache
def sources(folder: Path) -> str:
    """A digest of the names and contents of a folder's modules."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(f"{path.name} {path.stat().st_size} ".encode() + path.read_bytes())
    return digest.hexdigest()


class KernelCache(FunctionCache):
    """The cache of one function."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        locator = self._impl.locator
        folders = {Path(__file__).parent, Path(function.__code__.co_filename).parent}
        stamp = (locator.get_source_stamp(), *map(sources, sorted(folders)))
        self._cache_file = _Files(locator.get_cache_path(), self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was kept for these types, None if there is nothing that can be read."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever is wrong with a file, the kernel can be compiled again, and kept in its place
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep it, if possible."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _not_kept.append(str(error))


class NoCache(NullCache):
    """In place of a cache where there is no folder to write to."""

    def __init__(self, reason: Exception) -> None:
        self._reason = str(reason)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Remember that it is not kept."""
        _not_kept.append(self._reason)


class _Files:
    """One index and one file of code for each combination of types."""

    def __init__(self, folder: str, base: str, stamp: Any) -> None:
        self._folder, self._base, self._stamp = folder, base, stamp

    def _of(self, key: Any) -> IndexDataCacheFile:
        name = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        return IndexDataCacheFile(self._folder, f"{self._base}-{name}", self._stamp)

    def load(self, key: Any) -> Any:
        return self._of(key).load(key)

    def save(self, key: Any, data: Any) -> None:
        files = self._of(key)
        try:
            files.save(key, data)
        except OSError:
            raise
        except Exception:  # an index that cannot be read
            files.flush()
            files.save(key, data)

    def flush(self) -> None:
        for path in Path(self._folder).glob(f"{self._base}-*.nbi"):
            with contextlib.suppress(OSError):
                path.unlink()


def warn_if_not_kept() -> None:
    """Warn once of kernels that could not be kept; not while one compiles, where Numba swallows warnings."""
    if _not_kept and not _told:
        _told.append(_not_kept[0])
        warnings.warn(
            "boostsoft: compiled kernels cannot be kept, and every process compiles them anew, some 15 seconds: "
            f"{_not_kept[0]}. Set the environment variable NUMBA_CACHE_DIR to a folder that can be written to",
            RuntimeWarning,
            stacklevel=2,
        )
