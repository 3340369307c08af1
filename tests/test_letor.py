"""What load_letor reads: small files, both parsers of a chunk, and real sets."""

from __future__ import annotations

import gzip
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import sklearn.datasets
from hypothesis import given, settings
from hypothesis import strategies as st

from boostsoft import progress
from boostsoft._letor import arrow, chunk, reader
from boostsoft._letor.lines import Lines
from boostsoft.datasets import RankingData, load_letor, read_group_file

from . import letor_cases
from .letor_cases import SMALL, assert_same, letor_text
from .real_data import real_folder

SMALL_X = np.array([[0.5, 0.0, -2e-3], [1.0, np.nan, np.nan], [0.0, 7.0, 0.0]])
write = letor_cases.write  # a fixture


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("zipped", [False, True])
def test_a_pipe_is_read_to_its_end(tmp_path, zipped):
    """As a shell's <(zcat train.txt.gz) is: how far it is read cannot be told."""
    content, pipe = b"1 qid:1 1:2\n" * 5000, tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(pipe.write_bytes, gzip.compress(content) if zipped else content)
        assert load_letor(pipe).n_docs == 5000
        written.result(60)


def test_what_is_shown_ends_with_all_of_it(write, capsys):
    load_letor([write(b"1 qid:1 1:2\n" * 3000, name) for name in ("a", "b")], progress=True)
    assert "100%" in capsys.readouterr().err.split("\r")[-1]


# ---------------------------------------------------------------------------------------------------------
# load_letor: what it reads
# ---------------------------------------------------------------------------------------------------------


def test_small_file(write):
    data = load_letor(write(SMALL), comments=True)
    expected = RankingData(
        SMALL_X,
        np.array([2.0, 0.0, 1.0]),
        np.array([10, 10, 4]),
        np.array([2, 1]),
        ("docid = A-1 inc = 1", "", "docid = B"),
    )
    assert_same(data, expected)
    assert load_letor(str(write(SMALL))).comments is None


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text.rstrip(b"\n"),
        lambda text: b"\xef\xbb\xbf" + text,
        lambda text: text.replace(b" 1:", b"  1:"),
        lambda text: text.replace(b" ", b"\t"),
        lambda text: text.replace(b"NULL", b"null").replace(b"nan", b"NaN"),
        lambda text: text.replace(b"NULL", b"NuLl").replace(b"nan", b"NULL"),
        lambda text: text.replace(b"qid:4", b"qid:+04"),
        gzip.compress,
        lambda text: gzip.compress(text[:60]) + gzip.compress(text[60:]),
    ],
)
@pytest.mark.parametrize("name", ["set.txt", "set"])
def test_variations_read_the_same(write, change, name):
    assert_same(load_letor(write(change(SMALL), name)), load_letor(write(SMALL, "plain")))


@pytest.mark.parametrize("chunk_lines", [1, 2, 3])
def test_chunks_do_not_matter(write, monkeypatch, chunk_lines):
    path = write(SMALL)
    whole = load_letor(path, comments=True)
    monkeypatch.setattr(reader, "CHUNK_LINES", chunk_lines)
    assert_same(load_letor(path, comments=True), whole)


@pytest.mark.parametrize("there", [True, False])
def test_long_files_are_read_by_arrow_where_it_is_there(write, monkeypatch, there):
    path = write(letor_text(0, 1).encode())
    whole = load_letor(path)
    calls = []
    monkeypatch.setattr(reader, "CHUNK_LINES", 20)
    monkeypatch.setattr(reader, "MANY_LINES", 40)
    monkeypatch.setattr(arrow, "available", lambda: there)
    rectangle = arrow.rectangle
    monkeypatch.setattr(arrow, "rectangle", lambda *given: calls.append(given) or rectangle(*given))
    assert_same(load_letor(path), whole)
    assert len(calls) == there * len(range(20, len(whole.y), 20))  # all chunks but the first


def test_a_missing_pyarrow_is_no_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
    assert not arrow.available.__wrapped__()
    monkeypatch.undo()
    assert arrow.available.__wrapped__()


@pytest.mark.parametrize("together", [1, 16, 32, 1000])
@pytest.mark.parametrize(
    "rows", [("1:1 2:2",) * 5, ("2:1", "", "1:3"), ("",) * 3, ("1:1 2:2", "1:3 2:4", "1:5", "2:6")]
)
def test_how_many_chunks_are_put_together_does_not_matter(write, monkeypatch, rows, together):
    """Of one width and of several, and chunks with columns of their own among them."""
    lines = [f"{at} qid:1 {row} 3:{at}\n" for at, row in enumerate(rows)]
    expected = [{int(index): float(value) for index, value in re.findall(r"(\d):(\d)", line)} for line in lines]
    monkeypatch.setattr(reader, "CHUNK_LINES", 1)
    monkeypatch.setattr(reader, "TOGETHER", together)
    data = load_letor(write("".join(lines).encode()))
    np.testing.assert_array_equal(data.X, [[row.get(index, 0.0) for index in (1, 2, 3)] for row in expected])
    np.testing.assert_array_equal(data.y, range(len(rows)))


def test_what_was_read_is_freed_as_x_is_filled(write):
    collected = reader.Reader("test", with_qid=True, n_features=None, comments=False, dtype=np.float64)
    collected.read(write(SMALL))
    X, y = collected.arrays(0.0)
    assert (len(X), len(y), collected.blocks, collected.chunks) == (3, 3, [], [])


def test_absent_features(write):
    path = write(b"1 qid:1 1:1 2:2\n0 qid:1 3:3\n0 qid:1\n")
    np.testing.assert_array_equal(load_letor(path).X, [[1, 2, 0], [0, 0, 3], [0, 0, 0]])
    nan = np.nan
    np.testing.assert_array_equal(load_letor(path, absent=nan).X, [[1, 2, nan], [nan, nan, 3], [nan] * 3])


def test_n_features_widens_dense_and_sparse_blocks(write, monkeypatch):
    monkeypatch.setattr(reader, "CHUNK_LINES", 1)
    data = load_letor(write(b"1 qid:1 1:1 2:2\n0 qid:1 2:3\n"), n_features=3, absent=-1)
    np.testing.assert_array_equal(data.X, [[1, 2, -1], [-1, 3, -1]])
    assert len(data.feature_names) == 3


@pytest.mark.parametrize("chunk_lines", [1, 2048])
def test_features_of_half_the_size(write, monkeypatch, chunk_lines):
    monkeypatch.setattr(reader, "CHUNK_LINES", chunk_lines)
    path = write(b"0.1 qid:1 1:0.1 2:3e38\n0 qid:1 2:1e-320 3:NULL\n")
    wide, narrow = load_letor(path, absent=-0.3), load_letor(path, absent=-0.3, dtype="float32")
    assert (wide.X.dtype, narrow.X.dtype, narrow.y.dtype) == (np.float64, np.float32, np.float64)
    np.testing.assert_array_equal(narrow.X, wide.X.astype(np.float32))
    assert narrow.y[0] == 0.1
    read = reader.Reader("test", with_qid=True, n_features=None, comments=False, dtype=np.float32)
    read.read(path)
    assert {block.values.dtype for block in read.blocks + read.chunks} == {np.dtype(np.float32)}  # not at the end only


def test_document_without_features(write):
    assert load_letor(write(b"1 qid:1\n0 qid:1\n")).X.shape == (2, 0)


def test_query_ids_are_integers_only_if_all_are(write):
    assert load_letor(write(b"1 qid:3\n0 qid:-2\n")).qid.dtype == np.int64
    assert load_letor(write(b"1 qid:3\n0 qid:q7\n")).qid.tolist() == ["3", "q7"]
    huge = b"9" * 20  # no int64
    assert load_letor(write(b"1 qid:3\n0 qid:%s\n" % huge)).qid.tolist() == ["3", huge.decode()]
    for last, kind in ((2**63 - 1, "i"), (2**63, "U"), (-(2**63), "i"), (-(2**63) - 1, "U")):
        qid = load_letor(write(b"1 qid:3\n0 qid:%d\n" % last)).qid
        assert (qid.dtype.kind, str(qid[1])) == (kind, str(last))


def test_query_ids_that_differ_in_a_zero_byte_are_different(write):
    data = load_letor(write(b"1 qid:a 1:1\n0 qid:a\0 1:2\n"))
    assert (data.qid.tolist(), data.sizes.tolist()) == (["a", "a\\x00"], [1, 1])


def test_several_files_are_one_set(write):
    one, two = write(b"1 qid:3 1:1 # a\n", "one"), write(b"2 qid:3 1:2 # b\n0 qid:1 2:5 # c\n", "two")
    data = load_letor(one, two, comments=True)
    assert data.sizes.tolist() == [2, 1], "a query that crosses the border of two files is one"
    np.testing.assert_array_equal(data.X, [[1, 0], [2, 0], [0, 5]])
    assert data.comments == ("a", "b", "c")
    assert_same(load_letor([one, two], comments=True), data)
    assert_same(load_letor((str(one),), two, comments=True), data)


def test_comment_bytes_need_not_be_text(write):
    assert load_letor(write(b"1 qid:1 1:1 # caf\xc3\xa9 \xff\n"), comments=True).comments == ("café \\xff",)


def test_group_files(write):
    one, two = write(b"1 1:1\n0 2:1\n2 1:3\n", "one"), write(b"1 1:4 # x\n", "two")
    sizes_one, sizes_two = write(b"1\r\n\n2\n", "one.query"), write(gzip.compress(b"1"), "two.query.gz")
    assert read_group_file(sizes_one).tolist() == [1, 2]
    data = load_letor(one, two, group=[sizes_one, sizes_two], comments=True)
    assert data.sizes.tolist() == [1, 2, 1]
    assert data.qid.tolist() == [0, 1, 1, 2]
    assert data.qid.dtype == data.sizes.dtype == np.int64
    np.testing.assert_array_equal(data.X, [[1, 0], [0, 1], [3, 0], [4, 0]])
    assert data.comments == ("", "", "", "x")
    assert load_letor(one, group=sizes_one).n_queries == 2


def test_as_scikit_learn_reads_it(write):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 7)) * (rng.random((300, 7)) < 0.5) * 10.0 ** rng.integers(-30, 30, size=(300, 7))
    y, qid = rng.integers(0, 5, 300), np.sort(rng.integers(0, 40, 300))
    path = write(b"")
    sklearn.datasets.dump_svmlight_file(X, y, str(path), zero_based=False, query_id=qid, comment="made up")
    expected_X, expected_y, expected_qid = sklearn.datasets.load_svmlight_file(
        str(path), query_id=True, zero_based=False
    )
    data = load_letor(path)
    np.testing.assert_array_equal(data.X, expected_X.toarray())
    np.testing.assert_array_equal(data.y, expected_y)
    np.testing.assert_array_equal(data.qid, expected_qid)
    np.testing.assert_array_equal(data.sizes, np.unique(qid, return_counts=True)[1])


# ---------------------------------------------------------------------------------------------------------
# The two parsers of a chunk
# ---------------------------------------------------------------------------------------------------------


def assert_same_block(fast: chunk.Block, careful: chunk.Block):
    index = fast.columns
    if index is None:
        index = np.tile(np.arange(1, fast.counts[0] + 1), len(fast.counts))
    np.testing.assert_array_equal(index, careful.columns)
    np.testing.assert_array_equal(fast.y, careful.y)
    np.testing.assert_array_equal(fast.counts, careful.counts)
    np.testing.assert_array_equal(fast.values, careful.values)
    assert fast.qids == careful.qids or not fast.qids


@pytest.mark.parametrize(
    ("body", "with_qid"),
    [
        (b"2 qid:10 1:0.5 2:NULL 3:-1e-7", True),
        (b"2 qid:query-a 3:0.5 300:nan", True),
        (b"2\tqid:10\t1:0.5\t2:7", True),
        (b"1 10:0.89 11:0.75", False),
    ],
)
@pytest.mark.parametrize("by_arrow", [False, True])
def test_usual_lines_take_the_fast_parser(body, with_qid, by_arrow, monkeypatch):
    """Under Arrow without the tokens' help."""
    if by_arrow:
        monkeypatch.setattr(chunk, "_pairs_by_token", None)
    fast = chunk.parse_fast([body] * 3, with_qid, None, by_arrow=by_arrow)
    assert fast is not None
    assert_same_block(fast, chunk.parse_careful(Lines([1, 2, 3], [body] * 3, []), with_qid, None, ""))


LINES = [
    b"2 qid:1 1:0.5 2:NULL 3:-1e-7",
    b"0 qid:q 1:1 2:2 3:3",
    b"-1.5 qid:22 2:nan 300:4",
    b"1 qid:3",
]
BYTES = st.sampled_from(list(b"0123456789:.-+eEnaNUL_qidf \t"))


@st.composite
def damaged_chunks(draw):
    """Good lines with a few bytes replaced, inserted or deleted."""
    bodies = []
    for line in draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=3)):
        damaged = bytearray(line)
        for _ in range(draw(st.integers(0, 2))):
            start = draw(st.integers(0, len(damaged)))
            damaged[start : start + draw(st.integers(0, 2))] = bytes(draw(st.lists(BYTES, max_size=2)))
        bodies.append(bytes(damaged).strip() or b"1 qid:9")
    return bodies


@settings(max_examples=1000, deadline=None, derandomize=True)
@given(damaged_chunks(), st.booleans(), st.sampled_from([None, 3]), st.booleans())
def test_what_the_fast_parser_accepts_the_careful_one_reads_alike(bodies, with_qid, n_features, by_arrow):
    fast = chunk.parse_fast(bodies, with_qid, n_features, by_arrow=by_arrow)
    if fast is not None:
        lines = Lines(list(range(len(bodies))), bodies, [])
        assert_same_block(fast, chunk.parse_careful(lines, with_qid, n_features, ""))


NUMBERS = b"0.1 .5 5. -0 1e-7 1E+30 007 +1.5 nan -NaN 4.9406564584124654e-324 1e-400 9007199254740993"
NUMBERS += b" 0.30000000000000004 123456789012345678901234567890 2.2250738585072011e-308"
NO_NUMBERS = [b"1e999", b"1_0", b"e5", b"na", b"--1", b"0x10", b"1,5", b'"1"', b""]


@pytest.mark.parametrize("value", [*NUMBERS.split(), *NO_NUMBERS])
def test_arrow_reads_a_value_as_python_does_or_not_at_all(value):
    bodies = [b"1 qid:1 1:%s 2:0.25" % value, b"0 qid:1 1:3 2:4"]
    by_token, by_arrow = (chunk.parse_fast(bodies, True, None, by_arrow=way) for way in (False, True))
    assert (by_token is None) == (by_arrow is None)
    if by_token is not None:
        assert by_arrow.values.tobytes() == by_token.values.tobytes() or np.isnan(by_token.values[0])
        assert_same_block(by_arrow, chunk.parse_careful(Lines([1, 2], bodies, []), True, None, ""))


@pytest.mark.parametrize("index", [b"0", b"2", b"01", b"1.0", b"1e0", b"2147483648", b"-1", b"3"])
def test_arrow_reads_an_index_as_python_does_or_not_at_all(index):
    bodies = [b"1 qid:1 %s:1 3:0.25" % index, b"0 qid:1 1:3 3:4"]
    by_token, by_arrow = (chunk.parse_fast(bodies, True, None, by_arrow=way) for way in (False, True))
    assert (by_token is None) == (by_arrow is None)
    if by_token is not None:
        assert_same_block(by_arrow, by_token)


@pytest.mark.parametrize("by_arrow", [False, True])
@pytest.mark.parametrize("last", [b"1:5 3:6", b"2:5 3:6"])
def test_equally_many_features_need_not_be_those_of_the_first_line(last, by_arrow):
    bodies = [b"1 qid:1 1:3 2:4", b"0 qid:1 " + last]
    fast = chunk.parse_fast(bodies, True, None, by_arrow=by_arrow)
    assert fast is not None
    assert_same_block(fast, chunk.parse_careful(Lines([1, 2], bodies, []), True, None, ""))


@pytest.mark.parametrize("n_features", [None, 2, 3])
def test_usual_lines_are_read_at_once(n_features):
    """Some five times as fast as one by one."""
    bodies = [b"2 qid:1 1:0.5 2:NULL", b"0 qid:1 1:null\t2:-1e-3", b"1 qid:2 1:nan 2:7"]
    found = chunk.parse_fast(bodies, True, n_features)
    assert found is not None
    assert found.columns is None
    assert chunk.parse_fast([*bodies, b"1 qid:2 2:7", b"0 qid:3"], True, n_features) is not None
    assert chunk.parse_fast([b"1 1:2 2:3"], False, n_features) is not None


# ---------------------------------------------------------------------------------------------------------
# Real files
# ---------------------------------------------------------------------------------------------------------


def literal_parse(files, n_features):
    """The slow oracle: one dict per line."""
    X, y, qid = [], [], []
    for file in files:
        for line in gzip.decompress(file.read_bytes()).decode().splitlines():
            label, query, *pairs = line.split("#")[0].split()
            values = dict(pair.split(":") for pair in pairs)
            row = [values.get(str(i), "0").replace("NULL", "nan") for i in range(1, n_features + 1)]
            X.append([float(value) for value in row])
            y.append(float(label))
            qid.append(int(query.removeprefix("qid:")))
    return np.array(X), np.array(y), np.array(qid)


@pytest.mark.parametrize(
    ("name", "n_queries", "n_docs", "n_features", "labels", "sizes"),
    [
        ("MQ2008", 784, 15211, 46, [12279, 2001, 931], (5, 8, 121)),
        ("OHSUMED", 106, 16140, 45, [11303, 2585, 2252], (35, 147, 320)),
        ("OHSUMED-raw", 106, 16140, 45, [11303, 2585, 2252], (35, 147, 320)),
        ("MQ2007-agg", 1692, 69623, 21, [51632, 14128, 3863], (6, 40, 147)),
        ("MQ2008-agg", 784, 15211, 25, [12279, 2001, 931], (5, 8, 121)),
    ],
)
def test_real_letor_sets(name, n_queries, n_docs, n_features, labels, sizes):
    files = sorted(real_folder(name).glob("*.txt.gz"))
    assert len(files) == 5
    data = load_letor(files, comments=True)
    assert (data.n_queries, *data.X.shape) == (n_queries, n_docs, n_features)
    assert np.bincount(data.y.astype(int)).tolist() == labels
    assert (data.sizes.min(), np.median(data.sizes), data.sizes.max()) == sizes
    assert len(set(zip(data.qid.tolist(), data.docids(), strict=True))) > 0.9 * n_docs
    n_first = load_letor(files[0]).n_docs
    X, y, qid = literal_parse(files[:1], n_features)
    np.testing.assert_array_equal(data.X[:n_first], X)
    np.testing.assert_array_equal(data.y[:n_first], y)
    np.testing.assert_array_equal(data.qid[:n_first], qid)
    assert np.isnan(X).any() == name.endswith("-agg")


def test_aggregation_sets_join_on_query_and_document():
    features, ranks = (
        load_letor(sorted(real_folder(name).glob("*.txt.gz")), comments=True) for name in ("MQ2008", "MQ2008-agg")
    )
    labels = [
        dict(zip(zip(data.qid.tolist(), data.docids(), strict=True), data.y, strict=True)) for data in (features, ranks)
    ]
    assert len(labels[0]) == features.n_docs
    assert labels[0] == labels[1]


@pytest.mark.parametrize(("part", "labels"), [("train", [2792, 1458, 665, 55, 30]), ("test", None)])
def test_real_mslr_sample(part, labels):
    file = real_folder("MSLR-sample") / f"{part}.txt.gz"
    data = load_letor(file)
    X, y, qid = literal_parse([file], 136)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    np.testing.assert_array_equal(data.qid, qid)
    assert (data.n_queries, data.n_docs) == (43, 5000)
    assert labels is None or np.bincount(data.y.astype(int)).tolist() == labels


@pytest.mark.parametrize(("part", "n_queries", "n_docs"), [("train", 201, 3005), ("test", 50, 768)])
def test_real_lightgbm_example(part, n_queries, n_docs):
    file = real_folder("lightgbm-rank") / f"rank.{part}"
    data = load_letor(file, group=f"{file}.query", n_features=300)
    expected_X, expected_y = sklearn.datasets.load_svmlight_file(str(file), n_features=300, zero_based=False)
    assert (data.n_queries, data.n_docs) == (n_queries, n_docs)
    np.testing.assert_array_equal(data.X, expected_X.toarray())
    np.testing.assert_array_equal(data.y, expected_y)
    assert set(data.y) == {0, 1, 2, 3, 4}
    np.testing.assert_array_equal(data.sizes, np.loadtxt(f"{file}.query"))


def test_a_bar_over_the_bytes_of_all_files(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("boostsoft.progress._PAUSE", 0.0)
    files = [tmp_path / name for name in ("a.txt", "b.txt")]
    for number, file in enumerate(files):
        file.write_text("".join(f"1 qid:{number} 1:{i}\n" for i in range(3000)), encoding="utf-8")
    load_letor(*files)
    assert capsys.readouterr() == ("", "")  # too small to be worth one, and no terminal
    load_letor(*files, progress=True)
    out, err = capsys.readouterr()
    assert not out
    assert "load_letor" in err
    assert re.findall(r"(\d+)%", err) == ["34", "84", "100"]  # after 2,048 of the 3,000 lines of each, and at the end
    with pytest.raises(ValueError, match="load_letor: progress must be True, False or 'auto'; got 'no'"):
        load_letor(*files, progress="no")


@pytest.mark.parametrize(("least", "given", "shown"), [(1000, "auto", False), (10, "auto", True), (1000, True, True)])
def test_on_a_terminal_a_bar_is_shown_for_large_files_only(tmp_path, monkeypatch, least, given, shown):
    seen, bar = [], progress.bar

    def watched(is_shown, *arguments):
        seen.append(is_shown)
        return bar(False, *arguments)

    monkeypatch.setattr(progress, "_on_terminal", lambda: True)
    monkeypatch.setattr(progress, "bar", watched)
    monkeypatch.setattr(progress, "_LONG", least)
    file = tmp_path / "a.txt"
    file.write_text("1 qid:1 1:2\n", encoding="utf-8")
    load_letor(file, progress=given)
    assert seen == [shown]


@pytest.mark.parametrize("values", [[0.5, 0.25], [0.1 * at for at in range(300)]], ids=["repeated", "distinct"])
def test_values_that_repeat_and_that_differ(tmp_path, values):
    X = np.resize(values, (100, 3))
    lines = (f"1 qid:1 1:{a!r} 2:{b!r} 3:{c!r}\n" for a, b, c in X.tolist())
    path = tmp_path / "a.txt"
    path.write_text("".join(lines))
    np.testing.assert_array_equal(load_letor(path).X, X)
