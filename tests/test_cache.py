"""Compiled kernels on disk: shared by processes, never stale, and not in the way where nothing can be written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.caching import FunctionCache, IndexDataCacheFile

from boostsoft.kernels import cache
from boostsoft.kernels.threads import over_queries

from .releases import left_out

FOLDER = Path(cache.__file__).parent
# the cheapest of the package's own kernels, and what its cache was good for: hits, misses
METRIC = """
from boostsoft import Metric
from boostsoft.kernels.hard import hard_queries
value = Metric("precision@1")([0, 1], [0.1, 0.2], group=[2])
print(value, *(sum(getattr(hard_queries.stats, name).values()) for name in ("cache_hits", "cache_misses")))
"""
RECIPE = ("cache.py", "compile.py", "interrupts.py", "targets.py")
# a package of three files: f calls g
SMALL = {
    "__init__.py": "",
    "f.py": "from .compile import kernel\nfrom .g import g\n\n\n@kernel\ndef f(x):\n    return g(x) + 1\n",
    "g.py": "from .compile import kernel\n\n\n@kernel\ndef g(x):\n    return x * 10\n",
    **{name: (FOLDER / name).read_text(encoding="utf-8") for name in RECIPE},
}
CALL = """
from small.cache import warn_if_not_kept
from small.f import f
print(f(4), sum(f.stats.cache_hits.values()))
warn_if_not_kept()
warn_if_not_kept()
"""
NOWHERE = {"HOME": os.devnull, "XDG_CACHE_HOME": os.path.join(os.devnull, "cache"), "LOCALAPPDATA": os.devnull}


def start(code, path, **environment):
    """Run code by itself with a package in this folder; warnings are shown."""
    kept = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    return subprocess.Popen(
        [sys.executable, "-B", "-W", "default::RuntimeWarning", "-c", code],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**kept, "PYTHONPATH": str(path), **environment}, cwd=path,
    )  # fmt: skip


def ended(process):
    """What it has said, and what it complained of."""
    out, error = process.communicate(timeout=240)
    assert process.returncode == 0, error
    return out.split(), error


def call(small, **environment):
    """The value of f(4), hits of the cache, and complaints."""
    (value, hits), error = ended(start(CALL, small.parent, **environment))
    return int(value), int(hits), error


def write_small(folder):
    """Write a copy of the recipe with two kernels of its own."""
    (folder / "small").mkdir()
    for name, text in SMALL.items():
        (folder / "small" / name).write_text(text, encoding="utf-8")
    return folder / "small"


@pytest.fixture
def small(tmp_path):
    return write_small(tmp_path)


def edit(path, old, new):
    """Change a file, but neither its time nor its size, as an installer may."""
    before, text = path.stat(), path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_mtime_ns, path.stat().st_size) == (before.st_mtime_ns, before.st_size)


def make_read_only(folder):
    """So that root, too, can keep nothing in it: where ``__pycache__`` would be there is a file."""
    (folder / "__pycache__").write_text("", encoding="utf-8")


def test_processes_that_start_at_once_share_an_empty_cache(small, tmp_path):
    folder = str(tmp_path / "cache")
    at_once = [start(CALL, tmp_path, NUMBA_CACHE_DIR=folder) for _ in range(5)]
    for process in at_once:
        (value, _), error = ended(process)
        assert (value, error) == ("41", "")
    assert call(small, NUMBA_CACHE_DIR=folder) == (41, 1, "")


def test_an_edit_of_any_file_makes_every_kernel_stale(small, tmp_path):
    folder = str(tmp_path / "cache")
    assert call(small, NUMBA_CACHE_DIR=folder) == (41, 0, "")
    edit(small / "g.py", "10", "20")
    assert call(small, NUMBA_CACHE_DIR=folder) == (81, 0, "")
    os.utime(small / "g.py")  # another time, the same content
    assert call(small, NUMBA_CACHE_DIR=folder) == (81, 1, "")
    (small / "h.py").write_text("", encoding="utf-8")
    assert call(small, NUMBA_CACHE_DIR=folder) == (81, 0, "")


@pytest.mark.skipif(os.name == "nt", reason="files cannot be limited")
def test_code_of_older_sources_is_not_taken_for_what_a_full_disk_left_out(small, tmp_path):
    """Numba writes the index first: after an upgrade it would name the new sources, and the file hold the old code."""
    folder = str(tmp_path / "cache")
    assert call(small, NUMBA_CACHE_DIR=folder) == (41, 0, "")
    edit(small / "g.py", "10", "20")
    limited = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    limited += "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
    (value, _), _ = ended(start(limited + CALL, tmp_path, NUMBA_CACHE_DIR=folder))
    assert value == "81"
    assert call(small, NUMBA_CACHE_DIR=folder)[0] == 81
    assert call(small, NUMBA_CACHE_DIR=folder) == (81, 1, "")


def test_code_of_another_numba_is_not_taken(small, tmp_path):
    """Whose process may replace the code between another's look at the index and its look at the code."""
    folder = tmp_path / "cache"
    assert call(small, NUMBA_CACHE_DIR=str(folder)) == (41, 0, "")
    indexes = {path: path.read_bytes() for path in folder.rglob("*.nbi")}
    other = "import numba\nnumba.__version__ = '0.0.1'\n" + CALL
    assert ended(start(other, tmp_path, NUMBA_CACHE_DIR=str(folder))) == (["41", "0"], "")
    for path, content in indexes.items():
        path.write_bytes(content)
    assert [call(small, NUMBA_CACHE_DIR=str(folder))[1] for _ in range(2)] == [0, 1]


@left_out(numba.__version__, (0, 61), "Numba before 0.61 keeps no kernels of a package within a .zip")
def test_an_archive_with_another_file_makes_every_kernel_stale(small, tmp_path):
    """Numba keeps kernels of a package within a .zip, whose folders hold no files that could be listed."""

    def from_archive():
        shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path, "small")
        packed = {"PYTHONPATH": str(tmp_path / "packed.zip"), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        (tmp_path / "elsewhere").mkdir(exist_ok=True)
        return ended(start(CALL, tmp_path / "elsewhere", **packed))

    assert from_archive() == (["41", "0"], "")
    edit(small / "g.py", "10", "20")
    assert [from_archive() for _ in range(2)] == [(["81", "0"], ""), (["81", "1"], "")]


def test_a_frozen_program_is_its_own_stamp(tmp_path, monkeypatch):
    program = tmp_path / "program"
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", str(program))
    stamps = set()
    for content in (b"one", b"two"):
        program.write_bytes(content)
        stamps.add(cache.sources.__wrapped__(tmp_path / "library" / "small"))
    assert len(stamps) == 2


def test_an_installation_that_cannot_be_written_to(small, tmp_path):
    make_read_only(small)
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "home"), "LOCALAPPDATA": str(tmp_path / "home")}
    assert [call(small, **home) for _ in range(2)] == [(41, 0, ""), (41, 1, "")]  # kept in the user's own cache
    assert any((tmp_path / "home").rglob("*.nbc"))


def test_nothing_can_be_written_anywhere(small):
    make_read_only(small)
    value, hits, error = call(small, **NOWHERE)
    assert (value, hits) == (41, 0)
    assert error.count("compiled kernels cannot be kept") == 1
    assert "NUMBA_CACHE_DIR" in error


def test_a_folder_whose_name_is_no_text(tmp_path):
    """Numba encodes it, for its name in other folders."""
    folder = tmp_path / os.fsdecode(b"latin \xe9")
    try:
        folder.mkdir()
    except (OSError, UnicodeError):
        pytest.skip("this file system names by text only")
    value, hits, error = call(write_small(folder), NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert (value, hits) == (41, 0)
    assert error.count("compiled kernels cannot be kept") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere Numba looks for it in another way")
@pytest.mark.parametrize("kept", ["del os.environ['XDG_CACHE_HOME']", ""])
def test_without_a_home_folder_none_is_made(kept, small):
    """Numba would make one where the process happens to be, ~ or numba."""
    make_read_only(small)
    homeless = f"import os\nos.path.expanduser = lambda path: path\n{kept}\n"
    (value, _), error = ended(start(homeless + CALL, small.parent, XDG_CACHE_HOME=""))
    assert value == "41"
    assert error.count("cannot be kept, and every process compiles them anew") == 1
    assert os.listdir(small.parent) == ["small"]


def test_the_package_works_where_nothing_can_be_written(tmp_path):
    """A container with a read-only installation and no home folder."""
    ignored = shutil.ignore_patterns("__pycache__", "compiled")
    shutil.copytree(FOLDER.parent, tmp_path / "boostsoft", ignore=ignored)
    make_read_only(tmp_path / "boostsoft" / "kernels")
    out, error = ended(start(METRIC, tmp_path, **NOWHERE))
    assert out == ["1.0", "0", "1"]
    assert error.count("RuntimeWarning") == error.count("cannot be kept, and every process") == 1


DAMAGES = {  # a file of a kernel, and its content afterwards
    "a": ("nbi", lambda whole: b""),  # after a power cut
    "b": ("nbi", lambda whole: b"\x80\x04?"),
    "c": ("nbc", lambda whole: b"\x80\x04?"),
    "d": ("nbc", None),  # no file at all
    "e": ("nbc", lambda whole: with_another_byte(whole, whole.index(b"\x7fELF") + 4)),  # code may run as anything
}


def with_another_byte(whole, at):
    return whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]


def test_files_that_cannot_be_read_are_made_again(small, tmp_path):
    """Of five kernels, each damaged in its own way, and of one that is whole."""
    folder, names = tmp_path / "cache", [*DAMAGES, "whole"]
    for i, name in enumerate(names):
        text = f"from .compile import kernel\n\n\n@kernel\ndef {name}(x):\n    return x + {i}\n"
        (small / f"{name}.py").write_text(text, encoding="utf-8")
    calls = [
        f"from small.{name} import {name}\nprint({name}(4), sum({name}.stats.cache_hits.values()))" for name in names
    ]

    def found():
        out, error = ended(start("\n".join(calls), tmp_path, NUMBA_CACHE_DIR=str(folder)))
        assert (out[::2], error) == ([str(4 + i) for i in range(len(names))], "")
        return dict(zip(names, map(int, out[1::2]), strict=True))

    assert found() == dict.fromkeys(names, 0)
    for name, (ending, damage) in DAMAGES.items():
        (path,) = folder.rglob(f"{name}.{name}-*.{ending}")
        whole = path.read_bytes()
        path.unlink()
        if damage is not None:
            path.write_bytes(damage(whole))
    assert found() == {**dict.fromkeys(names, 0), "whole": 1}
    assert found() == dict.fromkeys(names, 1)


def test_no_damaged_byte_of_a_kept_kernel_passes(tmp_path):
    files = cache._Files(str(tmp_path), "f", "stamp")
    files.save("types", b"code" * 9)
    assert files.load("types") == b"code" * 9
    (path,) = tmp_path.glob("*.nbc")
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :])
        try:
            found = files.load("types")
        except Exception:  # what is kept is then made again, too
            continue
        assert found in (None, b"code" * 9)


def test_a_full_disk_is_worth_a_warning(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FunctionCache, "save_overload", full)
    monkeypatch.setattr(cache, "_not_kept", [])
    monkeypatch.setattr(cache, "_told", [])
    files = object.__new__(cache.KernelCache)
    run = partial(over_queries, lambda begin, end: files.save_overload(None, None), np.ones(1))
    with pytest.warns(RuntimeWarning, match="No space left on device"):
        run()
    with warnings.catch_warnings(record=True) as more:
        warnings.simplefilter("always")
        run()
    assert more == []


def test_two_processes_that_write_at_once_do_not_mix_up_their_types(tmp_path, monkeypatch):
    """Both have read the index while it was empty; the first to write it is the last to write its code."""
    one, two = (cache._Files(str(tmp_path), "f", "stamp") for _ in range(2))
    save_data, load_index, late = IndexDataCacheFile._save_data, IndexDataCacheFile._load_index, [True]

    def slowly(self, name, data):
        if late.pop() if late else False:
            two.save("types of two", "code of two")
        save_data(self, name, data)

    with monkeypatch.context() as at_once:
        at_once.setattr(IndexDataCacheFile, "_load_index", lambda _: {})
        at_once.setattr(IndexDataCacheFile, "_save_data", slowly)
        one.save("types of one", "code of one")
    assert IndexDataCacheFile._load_index is load_index
    assert one.load("types of one") == "code of one"
    assert one.load("types of two") == "code of two"


def test_a_cache_can_be_emptied(tmp_path):
    files = cache._Files(str(tmp_path), "f", "stamp")
    files.save("types", "code")
    assert files.load("types") == "code"
    files.flush()
    assert files.load("types") is None
