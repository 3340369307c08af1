"""What load_letor refuses: the message names the file, the line and what it found there."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import sys

import numpy as np
import pytest

from boostsoft._letor import reader
from boostsoft.datasets import load_letor, read_group_file

from . import letor_cases
from .letor_cases import SMALL

write = letor_cases.write  # a fixture


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"abc qid:1 1:1", "the label must be a finite number; got 'abc'"),
        (b"1_0 qid:1 1:1", "the label must be a finite number; got '1_0'"),
        (b"inf qid:1 1:1", "the label must be a finite number; got 'inf'"),
        (b"NaN qid:1 1:1", "the label must be a finite number; got 'NaN'"),
        (b"1e999 qid:1 1:1", "the label must be a finite number; got '1e999'"),
        (b"qid:1 1:1", "the label must be a finite number; got 'qid:1'"),
        (b"\x00\xff\x01", r"the label must be a finite number; got '\\x00\\\\xff\\x01'"),
        (b"x" * 60, "the label must be a finite number; got 'x{60}'"),
        (b"x" * 61, "the label must be a finite number; got 'x{57}...'"),
        (b"1 1:1", r"qid:<id> must follow the label \(load_letor takes group= in its place\); got '1:1'"),
        (b"1", "qid:<id> must follow the label .* got ''"),
        (b"1 qid: 1:1", "qid:<id> must follow the label .* got 'qid:'"),
        (b"1 qid:1 qid:2 1:1", "a query id must come once.* got 'qid:2'"),
        (b"1 qid:1 1:1 2", "a feature must be written index:value; got '2'"),
        (b"1 qid:1 1:", "a feature must be written index:value; got '1:'"),
        (b"1 qid:1 :5", "a feature must be written index:value; got ':5'"),
        (b"1 qid:1 1:2:3 4", "a feature must be written index:value; got '1:2:3'"),
        (b"1 qid:1 1: 2:5", "a feature must be written index:value; got '1:'"),
        (b"1 qid:1 1:x", "a feature must be written index:value; got '1:x'"),
        (b"1 qid:1 1:1_0", "a feature must be written index:value; got '1:1_0'"),
        (b"1 qid:1 1:-NULL", "a feature must be written index:value; got '1:-NULL'"),
        (b"1 qid:1 1:NULL0", "a feature must be written index:value; got '1:NULL0'"),
        (b"1 qid:1 1.0:2", r"a feature must be written index:value; got '1\.0:2'"),
        (b"1 qid:1 1e0:2", "a feature must be written index:value; got '1e0:2'"),
        (b"1 qid:1 1:1,2:1", "a feature must be written index:value; got '1:1,2:1'"),
        (b"1 qid:1 %s:1" % (b"9" * 5000), "a feature must be written index:value; got '9999"),
        (
            b"1 qid:1 0:1",
            r"feature indices must be within 1\.\.\d+; got '0:1' \(scikit-learn's .* zero_based=False\)",
        ),
        (b"1 qid:1 -1:1", r"feature indices must be within 1\.\.2147483647; got '-1:1'$"),
        (b"1 qid:1 2147483648:1", r"feature indices must be within 1\.\.\d+; got '2147483648:1'"),
        (b"1 qid:1 4294967298:1", r"feature indices must be within 1\.\.\d+; got '4294967298:1'"),
        (b"1 qid:1 99999999999999999999:1", r"feature indices must be within 1\.\.\d+; got '99999999999999999999:1'"),
        (b"1 qid:1 2:1 1:1", "feature indices must increase within a line; got '1:1' after 2"),
        (b"1 qid:1 2:1 2:1", "feature indices must increase within a line; got '2:1' after 2"),
        (b"1 qid:1 1:inf", "a feature must be finite.* got '1:inf'"),
        (b"1 qid:1 1:-1e999", "a feature must be finite.* got '1:-1e999'"),
        (b"1 qid:1 10:1", "feature indices must be at most n_features=9; got '10:1'"),
    ],
)
@pytest.mark.parametrize("chunk_lines", [2, 2048])
def test_bad_line_is_named(write, monkeypatch, line, message, chunk_lines):
    monkeypatch.setattr(reader, "CHUNK_LINES", chunk_lines)
    path = write(b"# a header\n\n1 qid:1 1:1 9:1\n" + line + b"\n0 qid:1 1:1 9:1\n")
    with pytest.raises(ValueError, match=f"^load_letor: {re.escape(str(path))}, line 4: {message}"):
        load_letor(path, n_features=9)


@pytest.mark.parametrize(("pack", "kind"), [(bz2.compress, "bzip2"), (lzma.compress, "xz"), (None, "Zstandard")])
def test_what_else_compresses_is_named(write, pack, kind):
    text = b"1 qid:1 1:1\n0 qid:1 1:2\n"
    path = write(b"\x28\xb5\x2f\xfd" + text if pack is None else pack(text))
    with pytest.raises(ValueError, match=f"{path.name} is compressed by {kind}; plain text and gzip are read$"):
        load_letor(path)


def test_lines_of_an_old_mac_are_told_of(write):
    path = write(b"1 qid:1 1:1\r0 qid:1 1:2\r")
    with pytest.raises(ValueError, match="line 1: a line must end with a line feed; got a carriage return within '1 q"):
        load_letor(path)


@pytest.mark.parametrize("end", [b"\r", b"\r\n"])
@pytest.mark.parametrize("first", [b"# a header", b"1 qid:1 1:1 # A"])
def test_no_comment_hides_the_lines_that_follow_a_carriage_return(write, first, end):
    path = write(b"1 qid:1 1:1\n" + first + b"\r0 qid:1 1:2" + end)
    with pytest.raises(
        ValueError, match=r"line 2: a line must end with a line feed; got a carriage return within '.*0"
    ):
        load_letor(path)
    assert load_letor(write(b"1 qid:1 1:1 # A\r\r\n0 qid:1 1:2 #\r\n")).y.tolist() == [1.0, 0.0]


def test_dense_chunk_beyond_n_features_is_named(write):
    path = write(b"1 qid:1 1:1 2:2\n0 qid:1 1:1 2:2\n")
    with pytest.raises(ValueError, match=r"line 1: .* at most n_features=1; got '2:2'"):
        load_letor(path, n_features=1)


@pytest.mark.parametrize("lines", [b"1 qid:1 1:1 2:2\n\n0 qid:1 1:3 2:-4e38\n", b"1 qid:1\n\n0 qid:1 2:-4e38 3:1\n"])
def test_a_feature_beyond_the_type_is_named(write, lines):
    path = write(lines)
    message = r"line 3: a feature must be finite as float32; got -4e\+38 \(dtype=np.float64 holds it\)$"
    with pytest.raises(ValueError, match=message):
        load_letor(path, dtype=np.float32)
    assert load_letor(path).X.min() == -4e38


def test_indices_that_only_add_up_to_a_dense_chunk_are_named(write):
    path = write(b"1 qid:1 1:1 2:2\n0 qid:1 1:1\n0 qid:1 2:2 1:1 2:2\n")
    with pytest.raises(ValueError, match=r"line 3: .* must increase within a line; got '1:1' after 2"):
        load_letor(path)


def test_a_query_that_comes_back_is_named_before_the_rest_is_read(write, monkeypatch):
    monkeypatch.setattr(reader, "CHUNK_LINES", 1)
    path = write(b"1 qid:1 1:1\n1 qid:1 1:2\n1 qid:2 1:1\n0 qid:1 1:2\nrubbish\n")
    with pytest.raises(ValueError, match=r"line 4: .* must be contiguous; got qid '1' again .* line 1$"):
        load_letor(path)


def test_a_matrix_may_take_the_place_of_what_was_read(write, monkeypatch):
    monkeypatch.setattr(reader, "NAME_BYTES", 0)
    monkeypatch.setattr(reader, "available_memory", lambda: 8)
    path = write(b"0 qid:1 1:1 2:1\n1 qid:1 1:1 2:2\n")
    assert load_letor(path).X.shape == (2, 2)
    with pytest.raises(ValueError, match="must fit into memory"):
        load_letor(path, n_features=3)


@pytest.mark.parametrize(("n_features", "named"), [(None, "set\\.txt, line 2"), (10**9, "n_features=1000000000")])
def test_a_matrix_beyond_the_memory_is_refused_before_it_is_made(write, monkeypatch, n_features, named):
    monkeypatch.setattr(reader, "available_memory", lambda: 2**30)
    path = write(b"0 qid:1 1:1\n1 qid:1 1000000000:1\n0 qid:1 3:1\n")
    with pytest.raises(ValueError, match=rf"^load_letor: .*{named}.* 3 documents .* 104\.0 GB .* 1\.1 GB"):
        load_letor(path, n_features=n_features)


@pytest.mark.parametrize("at_once", [True, False])
def test_the_largest_index_is_one_of_32_bits(write, monkeypatch, at_once):
    """One more would be another feature's, cut to 32 bits."""
    monkeypatch.setattr(reader, "available_memory", lambda: 2**30)
    if not at_once:
        monkeypatch.setattr(reader, "parse_fast", lambda *_, **__: None)
    with pytest.raises(ValueError, match="line 1: the largest feature index is 2147483647: X is dense"):
        load_letor(write(b"0 qid:1 2147483647:1\n"))
    with pytest.raises(ValueError, match=r"feature indices must be within 1\.\.2147483647; got '2147483648:1'$"):
        load_letor(write(b"0 qid:1 2147483648:1\n"))


def test_of_several_lines_with_the_largest_index_the_first_is_named(write, monkeypatch):
    monkeypatch.setattr(reader, "available_memory", lambda: 2**9)
    files = [write(b"0 qid:1 2:1\n0 qid:1 9:1\n0 qid:1 9:1\n", "one.txt"), write(b"0 qid:2 9:1\n", "two.txt")]
    with pytest.raises(ValueError, match=r"one\.txt, line 2: the largest feature index is 9"):
        load_letor(files)


def test_where_the_memory_is_not_known_nothing_is_refused(write, monkeypatch):
    monkeypatch.setattr(reader, "available_memory", lambda: None)
    assert load_letor(write(b"0 qid:1 1:1 5:1\n")).X.shape == (1, 5)


def test_the_memory_that_is_available():
    found = reader.available_memory()
    assert found is None or 2**20 < found < 2**50
    if sys.platform == "linux":  # where both are bytes
        whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        assert whole / 500 < found <= whole


@pytest.mark.skipif(sys.platform != "linux", reason="control groups are Linux's")
def test_the_memory_of_a_container(monkeypatch):
    monkeypatch.setattr(reader, "granted_memory", lambda _: 2**20)
    assert reader.available_memory() == 2**20


def test_the_memory_where_the_kernel_estimates_nothing(monkeypatch):
    def unreadable(*_, **__):
        raise FileNotFoundError

    monkeypatch.setattr(reader.Path, "read_text", unreadable)
    found = reader.available_memory()
    assert found is None or 2**20 < found < 2**50
    if sys.platform == "linux":
        assert found == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    monkeypatch.delattr(os, "sysconf")  # as on Windows
    assert reader.available_memory() is None


def test_qid_beside_group_is_named(write):
    path, group = write(b"1 1:1\n1 qid:3 1:1\n"), write(b"2\n", "query")
    with pytest.raises(ValueError, match=r"set\.txt, line 2: .*not with group=; got 'qid:3'"):
        load_letor(path, group=group)


def test_query_that_comes_back_is_named(write):
    path = write(b"#\n1 qid:7\n0 qid:7\n1 qid:8\n\n1 qid:7\n0 qid:7\n")
    with pytest.raises(ValueError, match=r"set\.txt, line 6: .* qid '7' again .* at .*set\.txt, line 2$"):
        load_letor(path)


def test_query_that_comes_back_in_another_file_is_named(write):
    one, two = write(b"#\n1 qid:7\n1 qid:8\n", "one"), write(b"1 qid:8\n1 qid:07\n", "two")
    with pytest.raises(ValueError, match=r"two, line 2: .* qid '07' again .* at .*one, line 2$"):
        load_letor(one, two)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# nothing\n"])
@pytest.mark.parametrize("name", ["empty.txt", "empty.gz"])
def test_file_without_documents_is_named(write, content, name):
    full = write(b"1 qid:1 1:1\n")
    path = write(gzip.compress(content) if content and name.endswith(".gz") else content, name)
    n_lines = {0: "0 lines", 1: "1 line", 2: "2 lines"}[content.count(b"\n")]
    with pytest.raises(ValueError, match=f"^load_letor: .*{name}: no documents in {n_lines}$"):
        load_letor(full, path)


@pytest.mark.parametrize("part", [0.3, 0.99])
def test_truncated_gzip_is_named(write, part):
    rng = np.random.default_rng(0)
    whole = b"".join(b"%d qid:%d 1:%r\n" % (i % 3, i, float(rng.random())) for i in range(5000))
    packed = gzip.compress(whole)
    path = write(packed[: int(len(packed) * part)], "part.gz")
    with pytest.raises(ValueError, match=r"part\.gz, line \d+: the gzip data are damaged") as caught:
        load_letor(path)
    line = int(re.search(r"line (\d+)", str(caught.value))[1])
    assert abs(line / 5000 - part) < 0.1


def test_corrupt_gzip_is_named(write):
    packed, n_lines = bytearray(gzip.compress(SMALL)), len(SMALL.splitlines())
    packed[-6] ^= 1  # in the checksum
    with pytest.raises(ValueError, match=rf"bad\.gz, line {n_lines + 1}: the gzip data are damaged.*CRC"):
        load_letor(write(bytes(packed), "bad.gz"))


def test_gz_name_without_gzip_content_is_named(write):
    with pytest.raises(ValueError, match=r"set\.gz, line 1: the name ends in \.gz but"):
        load_letor(write(SMALL, "set.gz"))


def test_missing_file_is_named(tmp_path, write):
    absent = tmp_path / "absent.txt"
    for path in (absent, tmp_path):
        with pytest.raises(FileNotFoundError, match=f"load_letor: .*{re.escape(repr(str(path)))}"):
            load_letor(path)
    with pytest.raises(FileNotFoundError, match=r"read_group_file: .*absent\.txt"):
        read_group_file(absent)
    with pytest.raises(TypeError, match="read_group_file: path must be a path; got None"):
        read_group_file(None)
    with pytest.raises(FileNotFoundError, match=r"load_letor: group must name an existing file; got '.*absent\.txt'"):
        load_letor(write(b"1 1:1\n"), group=absent)
    with pytest.raises(FileNotFoundError, match=r"load_letor: path must name an existing file; got '.*absent\.txt'"):
        load_letor(write(b"not read\n"), absent)


@pytest.mark.parametrize("size", [b"0", b"-1", b"2.5", b"a", b"1 2", b"9" * 30])
def test_bad_group_size_is_named(write, size):
    path = write(b"1\n\n" + size + b"\n", "query")
    message = rf"query, line 3: a group size must be an integer of at least 1; got '{re.escape(size.decode())}'"
    with pytest.raises(ValueError, match="^read_group_file: .*" + message):
        read_group_file(path)
    with pytest.raises(ValueError, match="^load_letor: .*" + message):
        load_letor(write(b"1 1:1\n"), group=path)


def test_empty_group_file_is_named(write):
    with pytest.raises(ValueError, match=r"^read_group_file: .*query: no group sizes"):
        read_group_file(write(b"\n", "query"))


def test_group_sum_names_both_numbers(write):
    for sizes, total in ((b"2\n2\n", 4), (b"2\n", 2)):
        with pytest.raises(
            ValueError, match=rf"group file .*query must sum to the 3 documents of .*set\.txt; got {total}"
        ):
            load_letor(write(b"1 1:1\n" * 3), group=write(sizes, "query"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": []}, "path must name at least one file; got an empty list"),
        ({"group": [__file__] * 2}, r"group must name one file per data file \(1\); got 2"),
        ({"group": []}, r"group must name one file per data file \(1\); got 0"),
        ({"comments": "no"}, "comments must be True or False; got 'no'"),
        ({"n_features": 0}, r"n_features must be from 1 to 2\^53; got 0"),
        ({"n_features": 2.0}, "n_features must be a whole number; got 2.0"),
        ({"n_features": True}, "n_features must be a whole number; got True"),
        ({"absent": np.inf}, "absent must be a finite number or nan; got inf"),
        ({"absent": "0"}, "absent must be a number; got '0'"),
        ({"absent": True}, "absent must be a number; got True"),
        ({"absent": -1e39, "dtype": np.float32}, r"absent must be finite as float32; got -1e\+39"),
        ({"dtype": np.float16}, "dtype must be np.float64 or np.float32; got <class 'numpy.float16'>"),
        ({"dtype": "single precision"}, "dtype must be np.float64 or np.float32; got 'single precision'"),
        ({"group": 5}, "group must be a path or several; got 5"),
        ({"group": [5]}, "group must be a path; got 5"),
    ],
)
def test_bad_argument_is_named(write, arguments, message):
    with pytest.raises((TypeError, ValueError), match="^load_letor: " + message):
        load_letor(**{"path": write(SMALL), **arguments})
