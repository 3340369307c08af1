from __future__ import annotations

import gzip
import os
import re
from pathlib import Path

import lightgbm
import numpy as np
import pytest
import sklearn.datasets
from hypothesis import given, settings
from hypothesis import strategies as st

from boostsoft import _letor
from boostsoft.datasets import RankingData, load_digits_ranking, load_letor, read_group_file

SMALL = b"""# a header

2 qid:10 1:0.5 3:-2e-3 # docid = A-1 inc = 1
0 qid:10 1:1 2:NULL 3:nan
   # only a comment
1 qid:4\t2:7 # docid = B
"""
SMALL_X = np.array([[0.5, 0.0, -2e-3], [1.0, np.nan, np.nan], [0.0, 7.0, 0.0]])


@pytest.fixture
def write(tmp_path):
    def write_file(content: bytes, name: str = "set.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write_file


def real_folder(name: str) -> Path:
    """The folder of a real data set; absent data skip the test, unless BOOSTSOFT_DATA promised them."""
    promised = os.environ.get("BOOSTSOFT_DATA")
    folder = Path(promised or Path(__file__).parents[2] / "shared" / "data") / name
    if folder.is_dir():
        return folder
    if promised:
        pytest.fail(f"BOOSTSOFT_DATA is set, but {folder} does not exist")
    return pytest.skip(f"real data not found at {folder} (set BOOSTSOFT_DATA)")


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


def assert_same(left: RankingData, right: RankingData):
    for name in ("X", "y", "qid", "sizes"):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name), strict=True)
    assert left.comments == right.comments
    assert left.feature_names == right.feature_names


# ---------------------------------------------------------------------------------------------------------
# RankingData
# ---------------------------------------------------------------------------------------------------------


def make_data(counts=(2, 1, 3), **changes) -> RankingData:
    n_docs = sum(counts)
    fields = {
        "X": np.arange(2.0 * n_docs).reshape(n_docs, 2),
        "y": np.arange(float(n_docs)),
        "qid": np.repeat(np.arange(len(counts)) + 50, counts),
        "sizes": np.array(counts),
        "comments": tuple(f"docid = d{i}" for i in range(n_docs)),
    }
    return RankingData(**{**fields, **changes})


def test_ranking_data_counts_and_default_names():
    data = make_data()
    assert (data.n_queries, data.n_docs) == (3, 6)
    assert data.feature_names == ("feature_1", "feature_2")
    assert repr(data) == "RankingData(n_queries=3, n_docs=6, n_features=2)"
    assert make_data(feature_names=("a", "b")).feature_names == ("a", "b")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": np.zeros(6)}, r"X must have two dimensions, got shape \(6,\)"),
        ({"y": np.zeros(5)}, r"y must have shape \(6,\) as X, got \(5,\)"),
        ({"qid": np.zeros(7)}, r"qid must have shape \(6,\) as X, got \(7,\)"),
        ({"sizes": np.array([2, 2])}, "sum to the 6 rows of X, got 2 sizes with sum 4"),
        ({"sizes": np.array([2, 0, 4])}, "sizes must be at least 1"),
        ({"sizes": np.array([3, 3])}, "qid must not change within a query, got 51 at row 2"),
        ({"comments": ("a",)}, "comments must have length 6, got 1"),
        ({"feature_names": ("a",)}, "feature_names must have length 2, got 1"),
    ],
)
def test_ranking_data_refuses_what_does_not_fit(changes, message):
    with pytest.raises(ValueError, match="^RankingData: .*" + message):
        make_data(**changes)


@pytest.mark.parametrize(
    ("queries", "rows", "sizes"),
    [
        ([2, 0], [3, 4, 5, 0, 1], [3, 2]),
        ([False, True, True], [2, 3, 4, 5], [1, 3]),
        (np.array([1], np.uint8), [2], [1]),
    ],
)
def test_select_queries(queries, rows, sizes):
    data = make_data()
    chosen = data.select_queries(queries)
    expected = RankingData(
        data.X[rows], data.y[rows], data.qid[rows], np.array(sizes), tuple(data.comments[i] for i in rows)
    )
    assert_same(chosen, expected)
    chosen.X[:] = -1
    assert data.X.min() == 0, "the selection must be a copy"


def test_select_queries_without_comments():
    assert make_data(comments=None).select_queries([0]).comments is None


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ([True, False], r"mask must have shape \(3,\), got \(2,\)"),
        ([False, False, False], "at least one query"),
        ([], "at least one query"),
        ([0.0], "integers, got dtype float64"),
        ([[0]], r"one-dimensional.*shape \(1, 1\)"),
        ([0, 3], r"within 0\.\.2, got 3"),
        ([-1], r"within 0\.\.2, got -1"),
        ([0, 1, 1], "distinct, got 1 more than once"),
    ],
)
def test_select_queries_refuses(queries, message):
    with pytest.raises(ValueError, match=r"^RankingData\.select_queries: queries .*" + message):
        make_data().select_queries(queries)


def test_docids():
    assert make_data().docids() == ("d0", "d1", "d2", "d3", "d4", "d5")
    assert make_data((1,), comments=("inc = 1 docid=GX-1 x",)).docids() == ("GX-1",)
    with pytest.raises(ValueError, match=r"docids: comments must be present .*got None"):
        make_data(comments=None).docids()
    with pytest.raises(ValueError, match=r"docids: every comment must .* got 'nodocid = 3' at row 1"):
        make_data((2,), comments=("docid = 1", "nodocid = 3")).docids()


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
    monkeypatch.setattr(_letor, "CHUNK_LINES", chunk_lines)
    assert_same(load_letor(path, comments=True), whole)


def test_absent_features(write):
    path = write(b"1 qid:1 1:1 2:2\n0 qid:1 3:3\n0 qid:1\n")
    np.testing.assert_array_equal(load_letor(path).X, [[1, 2, 0], [0, 0, 3], [0, 0, 0]])
    nan = np.nan
    np.testing.assert_array_equal(load_letor(path, absent=nan).X, [[1, 2, nan], [nan, nan, 3], [nan] * 3])


def test_n_features_widens_dense_and_sparse_blocks(write, monkeypatch):
    monkeypatch.setattr(_letor, "CHUNK_LINES", 1)
    data = load_letor(write(b"1 qid:1 1:1 2:2\n0 qid:1 2:3\n"), n_features=3, absent=-1)
    np.testing.assert_array_equal(data.X, [[1, 2, -1], [-1, 3, -1]])
    assert len(data.feature_names) == 3


def test_document_without_features(write):
    assert load_letor(write(b"1 qid:1\n0 qid:1\n")).X.shape == (2, 0)


def test_query_ids_are_integers_only_if_all_are(write):
    assert load_letor(write(b"1 qid:3\n0 qid:-2\n")).qid.dtype == np.int64
    assert load_letor(write(b"1 qid:3\n0 qid:q7\n")).qid.tolist() == ["3", "q7"]
    huge = b"9" * 20  # no int64
    assert load_letor(write(b"1 qid:3\n0 qid:%s\n" % huge)).qid.tolist() == ["3", huge.decode()]


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
# load_letor: what it refuses
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"abc qid:1 1:1", "the label must be a finite number, got 'abc'"),
        (b"1_0 qid:1 1:1", "the label must be a finite number, got '1_0'"),
        (b"inf qid:1 1:1", "the label must be a finite number, got 'inf'"),
        (b"NaN qid:1 1:1", "the label must be a finite number, got 'NaN'"),
        (b"1e999 qid:1 1:1", "the label must be a finite number, got '1e999'"),
        (b"qid:1 1:1", "the label must be a finite number, got 'qid:1'"),
        (b"\x00\xff\x01", r"the label must be a finite number, got '\\x00\\\\xff\\x01'"),
        (b"x" * 99, "the label must be a finite number, got 'x{57}...'"),
        (b"1 1:1", r"qid:<id> must follow the label \(or pass group=\), got '1:1'"),
        (b"1", "qid:<id> must follow the label .* got ''"),
        (b"1 qid: 1:1", "qid:<id> must follow the label .* got 'qid:'"),
        (b"1 qid:1 qid:2 1:1", "a query id must come once.* got 'qid:2'"),
        (b"1 qid:1 1:1 2", "a feature must be written index:value, got '2'"),
        (b"1 qid:1 1:", "a feature must be written index:value, got '1:'"),
        (b"1 qid:1 :5", "a feature must be written index:value, got ':5'"),
        (b"1 qid:1 1:2:3 4", "a feature must be written index:value, got '1:2:3'"),
        (b"1 qid:1 1: 2:5", "a feature must be written index:value, got '1:'"),
        (b"1 qid:1 1:x", "a feature must be written index:value, got '1:x'"),
        (b"1 qid:1 1:1_0", "a feature must be written index:value, got '1:1_0'"),
        (b"1 qid:1 1:-NULL", "a feature must be written index:value, got '1:-NULL'"),
        (b"1 qid:1 1:NULL0", "a feature must be written index:value, got '1:NULL0'"),
        (b"1 qid:1 1.0:2", r"a feature must be written index:value, got '1\.0:2'"),
        (b"1 qid:1 1e0:2", "a feature must be written index:value, got '1e0:2'"),
        (b"1 qid:1 1:1,2:1", "a feature must be written index:value, got '1:1,2:1'"),
        (b"1 qid:1 %s:1" % (b"9" * 5000), "a feature must be written index:value, got '9999"),
        (b"1 qid:1 0:1", r"feature indices must be within 1\.\.2147483647, got '0:1'"),
        (b"1 qid:1 -1:1", r"feature indices must be within 1\.\.2147483647, got '-1:1'"),
        (b"1 qid:1 2147483648:1", r"feature indices must be within 1\.\.\d+, got '2147483648:1'"),
        (b"1 qid:1 2:1 1:1", "feature indices must increase within a line, got '1:1' after 2"),
        (b"1 qid:1 2:1 2:1", "feature indices must increase within a line, got '2:1' after 2"),
        (b"1 qid:1 1:inf", "a feature must be finite.* got '1:inf'"),
        (b"1 qid:1 1:-1e999", "a feature must be finite.* got '1:-1e999'"),
        (b"1 qid:1 10:1", "feature indices must be at most n_features=9, got '10:1'"),
    ],
)
@pytest.mark.parametrize("chunk_lines", [2, 2048])
def test_bad_line_is_named(write, monkeypatch, line, message, chunk_lines):
    monkeypatch.setattr(_letor, "CHUNK_LINES", chunk_lines)
    path = write(b"# a header\n\n1 qid:1 1:1 9:1\n" + line + b"\n0 qid:1 1:1 9:1\n")
    with pytest.raises(ValueError, match=f"^load_letor: {re.escape(str(path))}, line 4: {message}"):
        load_letor(path, n_features=9)


def test_dense_chunk_beyond_n_features_is_named(write):
    path = write(b"1 qid:1 1:1 2:2\n0 qid:1 1:1 2:2\n")
    with pytest.raises(ValueError, match=r"line 1: .* at most n_features=1, got '2:2'"):
        load_letor(path, n_features=1)


def test_indices_that_only_add_up_to_a_dense_chunk_are_named(write):
    path = write(b"1 qid:1 1:1 2:2\n0 qid:1 1:1\n0 qid:1 2:2 1:1 2:2\n")
    with pytest.raises(ValueError, match=r"line 3: .* must increase within a line, got '1:1' after 2"):
        load_letor(path)


def test_qid_beside_group_is_named(write):
    path, group = write(b"1 1:1\n1 qid:3 1:1\n"), write(b"2\n", "query")
    with pytest.raises(ValueError, match=r"set\.txt, line 2: .*not with group=, got 'qid:3'"):
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
    n_lines = content.count(b"\n")
    with pytest.raises(ValueError, match=f"^load_letor: .*{name}: no documents in {n_lines} lines"):
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
    packed = bytearray(gzip.compress(SMALL))
    packed[-6] ^= 1  # in the checksum
    with pytest.raises(ValueError, match=r"bad\.gz, line \d+: the gzip data are damaged.*CRC"):
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
    with pytest.raises(FileNotFoundError, match=r"load_letor: .*absent\.txt"):
        load_letor(write(b"1 1:1\n"), group=absent)


@pytest.mark.parametrize("size", [b"0", b"-1", b"2.5", b"a", b"1 2", b"9" * 30])
def test_bad_group_size_is_named(write, size):
    path = write(b"1\n\n" + size + b"\n", "query")
    message = rf"query, line 3: a group size must be an integer of at least 1, got '{re.escape(size.decode())}'"
    with pytest.raises(ValueError, match="^read_group_file: .*" + message):
        read_group_file(path)
    with pytest.raises(ValueError, match="^load_letor: .*" + message):
        load_letor(write(b"1 1:1\n"), group=path)


def test_empty_group_file_is_named(write):
    with pytest.raises(ValueError, match=r"^read_group_file: .*query: no group sizes"):
        read_group_file(write(b"\n", "query"))


def test_group_sum_names_both_numbers(write):
    with pytest.raises(ValueError, match=r"group file .*query must sum to the 3 documents of .*set\.txt, got 4"):
        load_letor(write(b"1 1:1\n" * 3), group=write(b"2\n2\n", "query"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": []}, "path must name at least one file, got an empty list"),
        ({"group": ["a", "b"]}, r"group must name one file per data file \(1\), got 2"),
        ({"group": []}, r"group must name one file per data file \(1\), got 0"),
        ({"n_features": 0}, "n_features must be an integer of at least 1, got 0"),
        ({"n_features": 2.0}, "n_features must be an integer of at least 1, got 2.0"),
        ({"n_features": True}, "n_features must be an integer of at least 1, got True"),
        ({"absent": np.inf}, "absent must be a finite number or nan, got inf"),
        ({"absent": "0"}, "absent must be a finite number or nan, got '0'"),
    ],
)
def test_bad_argument_is_named(write, arguments, message):
    with pytest.raises(ValueError, match="^load_letor: " + message):
        load_letor(**{"path": write(SMALL), **arguments})


# ---------------------------------------------------------------------------------------------------------
# The two parsers of a chunk
# ---------------------------------------------------------------------------------------------------------


def assert_same_block(fast: _letor.Block, careful: _letor.Block):
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
def test_usual_lines_take_the_fast_parser(body, with_qid):
    fast = _letor._parse_fast([body] * 3, with_qid, None)
    assert fast is not None
    assert_same_block(fast, _letor._parse_careful(_letor.Lines([1, 2, 3], [body] * 3, []), with_qid, None, ""))


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
@given(damaged_chunks(), st.booleans(), st.sampled_from([None, 3]))
def test_what_the_fast_parser_accepts_the_careful_one_reads_alike(bodies, with_qid, n_features):
    fast = _letor._parse_fast(bodies, with_qid, n_features)
    if fast is not None:
        lines = _letor.Lines(list(range(len(bodies))), bodies, [])
        assert_same_block(fast, _letor._parse_careful(lines, with_qid, n_features, ""))


# ---------------------------------------------------------------------------------------------------------
# Real files
# ---------------------------------------------------------------------------------------------------------


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


# ---------------------------------------------------------------------------------------------------------
# The embedded task
# ---------------------------------------------------------------------------------------------------------

DIGITS = sklearn.datasets.load_digits()


@pytest.fixture(scope="module", params=[False, True], ids=["binary", "graded"])
def digits(request):
    return load_digits_ranking(graded=request.param), request.param


def parts(splits):
    return splits.train, splits.valid, splits.test


def examples_of(data: RankingData):
    return np.array([comment.split("examples = ")[1].split() for comment in data.comments]).astype(int)


def test_digits_shape(digits):
    splits, graded = digits
    assert [data.n_queries for data in parts(splits)] == [300, 100, 100]
    for data in parts(splits):
        assert data.X.shape[1] == 32 * (1 + graded) == len(set(data.feature_names))
        assert np.isfinite(data.X).all()
        assert data.X.std(0).min() > 0
        assert data.sizes.min() >= 20
        assert data.sizes.max() <= 100
        assert len(set(data.sizes)) > 40
        none_relevant = np.add.reduceat(data.y, np.cumsum(data.sizes) - data.sizes) == 0
        assert none_relevant.mean() <= 0.05
        for grade in range(1, 2 + graded):
            assert 0.08 < (data.y == grade).mean() < 0.12


def test_digits_labels_are_the_digits(digits):
    splits, graded = digits
    for data in parts(splits):
        shown = DIGITS.target[np.array(data.docids(), int)]
        examples = examples_of(data)
        np.testing.assert_array_equal(examples[:, 0], data.qid)
        wanted = DIGITS.target[examples]
        expected = (shown == wanted[:, 0]) * (2.0 if graded else 1.0)
        if graded:
            assert (wanted[:, 0] != wanted[:, 1]).all()
            expected += shown == wanted[:, 1]
        np.testing.assert_array_equal(data.y, expected)


def test_digits_sets_share_no_image_and_queries_repeat_none(digits):
    splits, _ = digits
    images = [{*map(int, data.docids()), *examples_of(data).ravel().tolist()} for data in parts(splits)]
    assert not images[0] & images[1]
    assert not images[0] & images[2]
    assert not images[1] & images[2]
    for data in parts(splits):
        candidates = np.array(data.docids(), int)
        assert len(set(zip(data.qid, candidates, strict=True))) == data.n_docs
        assert not (candidates[:, None] == examples_of(data)).any()
        assert len(set(data.qid)) == data.n_queries


def test_digits_features_are_what_their_names_say(digits):
    splits, graded = digits
    data = splits.test
    rows = np.arange(0, data.n_docs, 97)
    for place, prefix in enumerate(("first_", "second_") if graded else ("",)):
        a = DIGITS.images[examples_of(data)[rows, place]] / 16
        b = DIGITS.images[np.array(data.docids(), int)[rows]] / 16
        column = {
            name.removeprefix(prefix): data.X[rows, i]
            for i, name in enumerate(data.feature_names)
            if name.startswith(prefix)
        }
        centre = lambda images: np.einsum("nij,j->n", images, np.arange(8)) / images.sum((1, 2))  # noqa: E731
        blur = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]]) / 16
        blurred = np.array(
            [[(np.pad(d, 1)[i : i + 3, j : j + 3] * blur).sum() for i in range(8) for j in range(8)] for d in (*a, *b)]
        )
        expected = {
            "cosine_pixels": [
                np.vdot(p, q) / np.sqrt(np.vdot(p, p) * np.vdot(q, q)) for p, q in zip(a, b, strict=True)
            ],
            "euclidean_pixels": [np.linalg.norm(p - q) for p, q in zip(a, b, strict=True)],
            "euclidean_blurred": np.linalg.norm(blurred[: len(a)] - blurred[len(a) :], axis=1),
            "correlation_rows": [np.corrcoef(p.sum(1), q.sum(1))[0, 1] for p, q in zip(a, b, strict=True)],
            "manhattan_columns": np.abs(a.sum(1) - b.sum(1)).sum(1),
            "manhattan_quadrant_ne": np.abs((a - b)[:, :4, 4:].sum((1, 2))),
            "manhattan_quadrant_sw": np.abs((a - b)[:, 4:, :4].sum((1, 2))),
            "manhattan_centre_x": np.abs(centre(a) - centre(b)),
            "manhattan_centre_y": np.abs(centre(a.transpose(0, 2, 1)) - centre(b.transpose(0, 2, 1))),
            "ink_of_example": a.sum((1, 2)),
            "ink_of_candidate": b.sum((1, 2)),
        }
        for name, values in expected.items():
            np.testing.assert_allclose(column[name], values, rtol=1e-9, atol=1e-9, err_msg=name)


def test_digits_features_do_not_see_the_labels(monkeypatch):
    size = {"n_queries": (20, 5, 5)}
    before = load_digits_ranking(**size)
    other = sklearn.datasets.load_digits()
    other.target = np.random.default_rng(0).permutation(other.target)
    monkeypatch.setattr(sklearn.datasets, "load_digits", lambda: other)
    after = load_digits_ranking(**size)
    for left, right in zip(parts(before), parts(after), strict=True):
        np.testing.assert_array_equal(left.X, right.X)
        assert left.comments == right.comments
        assert (left.y != right.y).any()


def test_digits_depend_on_the_seed_alone(monkeypatch):
    size = {"n_queries": (20, 5, 5), "graded": True}
    first = load_digits_ranking(seed=1, **size)
    np.random.seed(123)  # noqa: NPY002
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    for left, right in zip(parts(first), parts(load_digits_ranking(seed=1, **size)), strict=True):
        assert_same(left, right)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    assert load_digits_ranking(seed=2, **size).test.comments != first.test.comments
    wider = load_digits_ranking(seed=1, n_queries=(30, 5, 5), graded=True)
    assert_same(wider.test, first.test)
    assert not np.array_equal(first.valid.sizes, first.test.sizes), "each set has draws of its own"


def mean_ndcg(data: RankingData, score) -> float:
    """NDCG@10 with gain 2^label - 1 and a query with nothing relevant counting 0."""
    ends = np.cumsum(data.sizes)[:-1]
    discount = 1 / np.log2(np.arange(2, 12))
    total = 0.0
    for y, s in zip(np.split(data.y, ends), np.split(score, ends), strict=True):
        gain = 2**y - 1
        ideal = np.sort(gain)[::-1][:10] @ discount
        total += gain[np.argsort(-s, kind="stable")][:10] @ discount / max(ideal, 1.0)
    return total / data.n_queries


def test_a_learned_model_beats_every_single_feature(digits):
    splits, _ = digits
    train, test = splits.train, splits.test
    best = max(mean_ndcg(test, sign * column) for column in test.X.T for sign in (1, -1))
    data = lightgbm.Dataset(train.X, train.y, group=train.sizes)
    params = {"objective": "lambdarank", "num_leaves": 15, "num_threads": 1, "verbose": -1}
    learned = mean_ndcg(test, lightgbm.train(params, data, num_boost_round=50).predict(test.X))
    assert 0.6 < best < learned - 0.03
    assert learned < 0.9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
        ({"seed": 1.5}, "seed must be an integer of at least 0, got 1.5"),
        ({"n_queries": (1, 2)}, r"n_queries must have three entries .* got \(1, 2\)"),
        ({"n_candidates": 30}, r"n_candidates two, got .* and 30"),
        ({"n_queries": (1, 0, 2)}, "n_queries must be an integer of at least 1, got 0"),
        ({"n_queries": (1, 360, 2)}, r"n_queries must be at most \(1079, 359, 359\), got \(1, 360, 2\)"),
        ({"n_candidates": (30, 20)}, r"n_candidates must be \(least, largest\) up to 357, got \(30, 20\)"),
        ({"n_candidates": (30, 358)}, r"n_candidates must be \(least, largest\) up to 357, got \(30, 358\)"),
        ({"n_candidates": (0, 20)}, "n_candidates must be an integer of at least 1, got 0"),
    ],
)
def test_digits_bad_argument_is_named(arguments, message):
    with pytest.raises(ValueError, match="^load_digits_ranking: .*" + message):
        load_digits_ranking(**arguments)


def test_digits_largest_sizes_work():
    splits = load_digits_ranking(n_queries=(1, 359, 1), n_candidates=(1, 357), graded=True)
    assert splits.valid.n_queries == 359
    assert load_digits_ranking(n_queries=(1, 1, 1), n_candidates=(357, 357), graded=True).test.n_docs == 357
