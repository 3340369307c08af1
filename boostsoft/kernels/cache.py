"""Compiled kernels kept on disk: Numba's own cache, with five differences.

- **There from the start.** An installation brings the kernels compiled on the machine that built it (``COMPILED``);
  they are used by the same kind of processor, or by all that have a level (:mod:`.targets`), with the same sources and
  the same versions of Numba and Python.
- **No stale code.** A kernel's machine code contains that of the kernels it calls, but Numba recompiles it only when
  its own source file changes: after an upgrade, or an edit, of another file the old code would run on. Here every
  kernel, a test's too, is stamped with all source files of this folder and of its own.
- **No mix-up.** Two processes that compile one function for different types at the same time may write both under
  one number, so that one's types lead to the other's code. Here the types are part of the file's name.
- **No damaged code.** Machine code of which a byte has changed still runs, and gives other values or ends the process.
  Here it has a checksum.
- **Never in the way.** Where nothing can be written (a read-only installation, no home folder; a full disk), or what
  is there cannot be read, kernels are compiled anew in every process, and a warning says so once.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import sys
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
from numba.core import config
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from .targets import Target, run_here

COMPILED = Path(__file__).parent / "compiled"

# the folder of :func:`shipping`, or none
_shipping_to: list[Path] = []
# why kernels were not kept, and what was said of it
_not_kept: list[str] = []
_told: list[str] = []


def keep(dispatcher: Any) -> Any:
    """Let a compiled function be kept; with the compiler off, it is a plain one."""
    if hasattr(dispatcher, "py_func"):
        try:
            dispatcher._cache = _cache_of(dispatcher.py_func)  # as its enable_caching does with Numba's
        except (RuntimeError, ValueError) as error:  # Numba finds no folder to write to, or its name is no text
            dispatcher._cache = NoCache(dispatcher.py_func, error)
    return dispatcher


def _cache_of(function: Any) -> KernelCache:
    """The cache, but for one that Numba makes where the process happens to be, as ~ or numba, for want of a home."""
    found = KernelCache(function)
    if os.path.isabs(found.cache_path) or config.CACHE_DIR:
        return found
    with contextlib.suppress(OSError):
        os.removedirs(found.cache_path)
    raise RuntimeError("there is no home folder")


@contextlib.contextmanager
def shipping(folder: Path) -> Iterator[None]:
    """Read what is called inside from an installation's folder, or compile it and write it there, not to the cache."""
    _shipping_to.append(folder)
    try:
        yield
    finally:
        _shipping_to.clear()


@functools.cache
def sources(folder: Path) -> str:
    """A digest of the names and contents of a folder's modules, or of the file that holds them all."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")) or _one_file(folder):
        digest.update(f"{path.name} {path.stat().st_size} ".encode() + path.read_bytes())
    return digest.hexdigest()


def _one_file(folder: Path) -> list[Path]:
    """The program, if it is frozen, or the archive that a folder is in."""
    if getattr(sys, "frozen", False):
        return [Path(sys.executable)]
    return [path for path in folder.parents if path.is_file()]


def _stamp(function: Any) -> tuple[str, ...]:
    """What a function's machine code depends on: this folder's sources, and those of its own."""
    folders = {Path(__file__).parent, Path(function.__code__.co_filename).parent}
    return tuple(map(sources, sorted(folders)))


def _shipped(function: Any, folder: Path) -> _Files:
    """Where an installation has a function's compiled code."""
    python = f"py{sys.version_info[0]}{sys.version_info[1]}"
    name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}-{python}"
    return _Files(str(folder), name, _stamp(function))


def _shipping_key(types: Any, target: Target) -> tuple[Any, ...]:
    """What the code was compiled for: types, and a kind of processor. Its files know the sources and the versions."""
    return tuple(types), target


def _load_shipped(function: Any, types: Any, target_context: Any, folder: Path) -> Any:
    """What a folder, of the installation, has for these types and runs on this processor, None if nothing."""
    try:
        target_context.refresh()
        files = _shipped(function, folder)
        for target in run_here(target_context.codegen().magic_tuple()):
            found = files.load(_shipping_key(types, target))
            if found is not None:
                return CompileResult._rebuild(target_context, *found)
    except Exception:  # whatever is wrong with a file, the kernel can be compiled
        pass
    return None


class KernelCache(FunctionCache):
    """The cache of one function."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file = _Files(self._impl.locator.get_cache_path(), self._impl.filename_base, _stamp(function))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was shipped or kept for these types, None if there is nothing that can be read."""
        shipped = _load_shipped(self._py_func, sig, target_context, _shipping_to[-1] if _shipping_to else COMPILED)
        if shipped is not None or _shipping_to:
            return shipped
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever is wrong with a file, the kernel can be compiled again, and kept in its place
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep it, if possible."""
        if _shipping_to:
            key = _shipping_key(sig, data.codegen.magic_tuple())
            _shipped(self._py_func, _shipping_to[-1]).save(key, data._reduce())
            return
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _not_kept.append(str(error))


class NoCache(NullCache):
    """In place of a cache where there is no folder to write to: what was shipped can be read."""

    def __init__(self, function: Any, reason: Exception) -> None:
        self._function, self._reason = function, str(reason)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was shipped for these types."""
        return _load_shipped(self._function, sig, target_context, COMPILED)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Remember that it is not kept."""
        _not_kept.append(self._reason)


class _Files:
    """One index and one file of code for each combination of types.

    Numba's index is of one version of the sources, but it is written before the code, which may then not fit on the
    disk, and another version's process may replace the code of the same types: so that tells its sources, too.
    """

    def __init__(self, folder: str, base: str, stamp: Any) -> None:
        self._folder, self._base, self._stamp = folder, base, stamp

    def _of(self, key: Any) -> IndexDataCacheFile:
        name = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        return IndexDataCacheFile(self._folder, f"{self._base}-{name}", self._stamp)

    def load(self, key: Any) -> Any:
        mark, code = self._of(key).load(key) or (None, b"")
        return pickle.loads(code) if mark == self._mark(code) else None

    def _mark(self, code: bytes) -> tuple[int, str, Any]:
        return zlib.crc32(code), numba.__version__, self._stamp

    def save(self, key: Any, data: Any) -> None:
        files, code = self._of(key), dumps(data)
        checked = self._mark(code), code
        try:
            files.save(key, checked)
        except OSError:
            raise
        except Exception:  # an index that cannot be read
            files.flush()
            files.save(key, checked)

    def flush(self) -> None:
        for path in Path(self._folder).glob(f"{self._base}-*.nbi"):
            with contextlib.suppress(OSError):
                path.unlink()


def warn_if_not_kept() -> None:
    """Warn once of kernels that could not be kept; not while one compiles, where Numba swallows warnings."""
    if _not_kept and not _told:
        _told.append(_not_kept[0])
        warnings.warn(
            "boostsoft: compiled kernels cannot be kept, and every process compiles them anew, 10 to 20 seconds: "
            f"{_not_kept[0]}. Set the environment variable NUMBA_CACHE_DIR to a folder that can be written to",
            RuntimeWarning,
            stacklevel=2,
        )
