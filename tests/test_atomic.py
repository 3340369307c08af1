"""Files that are whole or not there: threads, links, pipes and long names."""

from __future__ import annotations

import errno
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from boostsoft.atomic import write_files, write_whole


def test_threads_that_write_one_file_do_not_mix_it(tmp_path):
    """Each of two begins before the other ends."""
    meet = threading.Barrier(2, timeout=60)

    def slowly(text):
        def write(path):
            with path.open("w") as file:
                file.write(text)
                file.flush()
                meet.wait()
                file.write(text)

        write_whole(tmp_path / "one", write)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(slowly, ["a" * 5, "b" * 9]))
    assert (tmp_path / "one").read_text() in ("a" * 10, "b" * 18)
    assert os.listdir(tmp_path) == ["one"]


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "file")
    for text in (b"first", b"second"):
        write_files(tmp_path, {"link": text})
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "elsewhere" / "file").read_bytes() == text
    assert os.listdir(tmp_path / "elsewhere") == ["file"]


def test_who_may_read_a_file_stays_as_it_is(tmp_path):
    write_files(tmp_path, {"file": b"first"})
    (tmp_path / "file").chmod(0o600)
    write_files(tmp_path, {"file": b"second"})
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600


def test_no_file_takes_the_place_of_a_pipe_or_a_folder(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_files(tmp_path, {"pipe": b"text"})
        assert pipe.is_fifo()
        assert os.read(reader, 9) == b"text"
    finally:
        os.close(reader)
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError, match=r"folder'$"):
        write_files(tmp_path, {"folder": b"text"})


def test_a_file_that_is_mounted_is_written_in_its_place(tmp_path, monkeypatch):
    def busy(*_):
        raise OSError(errno.EBUSY, "Device or resource busy")

    (tmp_path / "file").write_bytes(b"old")
    monkeypatch.setattr(os, "replace", busy)
    write_files(tmp_path, {"file": b"new"})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"new"}


def test_a_file_to_be_read_only_leaves_nothing_behind_on_windows(tmp_path, monkeypatch):
    real = os.unlink

    def unlink(path, **_):
        if not os.stat(path).st_mode & 0o200:
            raise PermissionError(errno.EACCES, "Access is denied", path)
        real(path)

    def replace(_, target):
        raise PermissionError(errno.EACCES, "Access is denied", target)

    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "file").chmod(0o400)
    monkeypatch.setattr(os, "unlink", unlink)
    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(PermissionError, match=re.escape(f"'{tmp_path / 'file'}'")):
        write_files(tmp_path, {"file": b"new"})
    assert os.listdir(tmp_path) == ["file"]


def test_nothing_is_left_behind_where_modes_cannot_be_changed(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    def full(path):
        path.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "chmod", refuse)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "file", full)
    assert not list(tmp_path.iterdir())


def test_a_picture_that_cannot_be_drawn_costs_itself(tmp_path):
    def draw():
        raise RuntimeError("no LaTeX")

    for name in ("a.png", "old.png", "old.txt"):
        (tmp_path / name).write_bytes(b"old")
    files = {"a.png": draw, "b.txt": b"text", "c.txt": lambda: b"made", "d.png": lambda: b"drawn"}
    with pytest.raises(RuntimeError, match="no LaTeX"):
        write_files(tmp_path, files, ["old.png"])
    wanted = {"b.txt": b"text", "c.txt": b"made", "d.png": b"drawn", "old.txt": b"old"}  # no picture of an earlier run
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == wanted
    (tmp_path / "d.png").write_bytes(b"kept")
    with pytest.raises(RuntimeError, match="no LaTeX"):
        write_files(tmp_path, {"d.png": draw})  # of nothing else: it is as it was
    assert (tmp_path / "d.png").read_bytes() == b"kept"


def test_an_error_names_the_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=re.escape(f"No such file or directory: '{tmp_path / 'no' / 'file'}'")):
        write_whole(tmp_path / "no" / "file", lambda path: path.write_bytes(b"text"))

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match=re.escape(f"No space left on device: '{tmp_path / 'file'}'")) as caught:
        write_whole(tmp_path / "file", full)
    assert caught.value.errno == errno.ENOSPC

    def tells(_):  # as pyarrow does of a folder that is not there
        raise OSError(errno.ENOENT, "Failed to open local file '.file.tmp'. Detail: [errno 2] No such file")

    with pytest.raises(OSError, match=re.escape(f"] No such file or directory: '{tmp_path / 'file'}'")):
        write_whole(tmp_path / "file", tells)

    def refuses(_):  # and of other things
        raise OSError("in words only")

    with pytest.raises(OSError, match=r"^in words only$"):
        write_whole(tmp_path / "file", refuses)
    assert not list(tmp_path.iterdir())


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    name = "ä" * 127
    write_files(tmp_path, {name: b"text"})
    assert (tmp_path / name).read_bytes() == b"text"
