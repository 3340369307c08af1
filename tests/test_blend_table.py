"""Tables of scores, CSV and Parquet, as ``python -m boostsoft blend`` reads them."""

from __future__ import annotations

import contextlib
import gzip
import os
import sys
import threading

import numpy as np
import pandas as pd
import pytest

from boostsoft.commands.blend import scores
from boostsoft.commands.blend.scores import Names, Scores, read_table

from .memory import peak_memory

TEXT = """qid,docid,label,bm25,lm
q2,a,1,12.5,-3
q1,a,,4,
q2,b,,1e1,NA
q1,"b",,7,-2.5
q3,c,2,,0
"""
NAN = np.nan


@pytest.fixture
def write(tmp_path):
    def write_file(content, name="scores.csv"):
        path = tmp_path / name
        raw = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return path

    return write_file


def assert_text(found: Scores):
    """What TEXT says, queries together in the order in which they begin."""
    assert found.models == ("bm25", "lm")
    assert found.qid.tolist() == ["q2", "q2", "q1", "q1", "q3"]
    assert found.docid.tolist() == ["a", "b", "a", "b", "c"]
    np.testing.assert_array_equal(found.y, [1.0, 0.0, NAN, NAN, 2.0])
    np.testing.assert_array_equal(found.S, [[12.5, -3], [10, NAN], [4, NAN], [7, -2.5], [NAN, 0]])
    assert found.sizes.tolist() == [2, 2, 1]


@pytest.mark.parametrize("name", ["scores.csv", "scores.csv.gz", "scores.tsv", "scores.tsv.gz", "s.TSV", "s.tsv.csv"])
def test_a_table_by_hand(write, name):
    tabs = name.lower().endswith((".tsv", ".tsv.gz"))
    text = TEXT.replace(",", "\t") if tabs else TEXT
    assert_text(read_table(write(text, name), Names()))


def test_a_parquet_file_may_have_a_name_that_is_no_text(tmp_path):
    path = tmp_path / os.fsdecode(b"\xff.parquet")
    path.write_bytes(pd.DataFrame({"qid": [1, 1], "label": [0, 1], "bm25": [0.5, 0.25]}).to_parquet())
    assert read_table(path, Names()).S.tolist() == [[0.5], [0.25]]


def test_parquet_from_a_pipe_is_refused_by_name(tmp_path):
    whole, pipe = pd.DataFrame({"qid": [1], "label": [1], "bm25": [0.5]}).to_parquet(), tmp_path / "p.parquet"
    os.mkfifo(pipe)

    def feed():
        with contextlib.suppress(BrokenPipeError):  # whether anything is read before it is refused
            pipe.write_bytes(whole)

    writer = threading.Thread(target=feed)
    writer.start()
    with pytest.raises(ValueError, match=rf"^blend: cannot read {pipe}: "):
        read_table(pipe, Names())
    writer.join()


def test_marks_blank_lines_and_spaces(write):
    assert_text(read_table(write(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n\r\n").replace(",", " , ").encode()
                                 .replace(b' "b" ', b'b')), Names()))  # fmt: skip


def test_columns_read_at_once_are_those_read_value_by_value(write, monkeypatch):
    at_once = ["1", "", "-2.5", "1e-3", "nan", " 7 ", "0.1"]
    looked_at = ["1_0", "NA", "inf"]
    assert scores._all_numbers(at_once) is not None
    assert all(scores._all_numbers([*at_once, text]) is None for text in looked_at)
    path = write("qid,label,a\n" + "".join(f"q{row},1,{text}\n" for row, text in enumerate(at_once)))
    found = read_table(path, Names())
    monkeypatch.setattr(scores, "_all_numbers", lambda values: None)
    again = read_table(path, Names())
    np.testing.assert_array_equal(found.S, again.S)
    assert found.qid.tolist() == again.qid.tolist()


def test_a_table_is_read_alike_in_any_number_of_parts(write, monkeypatch):
    """Ids stay texts, and a column that is not numbers alone somewhere is looked at value by value."""
    rows = [f"{row // 3:03},0{row},{row % 3},{0.1 * row},{mark}" for row, mark in enumerate(["1", "NA", "", "-2"] * 5)]
    path = write("\n".join(["qid,docid,label,a,b", *rows]))
    found = [read_table(path, Names())]
    for size in (1, 7, 20):
        monkeypatch.setattr(scores, "_ROWS", size)
        found.append(read_table(path, Names()))
    for one in found:
        assert one.qid.tolist() == [f"{row // 3:03}" for row in range(20)]
        assert one.docid.tolist() == [f"0{row}" for row in range(20)]
        np.testing.assert_array_equal(one.y, np.arange(20) % 3)
        np.testing.assert_array_equal(one.S, np.column_stack([0.1 * np.arange(20), [1, NAN, NAN, -2] * 5]))
    path.write_text(path.read_text().replace(",-2", ",1e999"))
    with pytest.raises(ValueError, match="line 5: column 'b' must hold finite numbers; got '1e999'"):
        read_table(path, Names())


@pytest.mark.parametrize("word", ["", " ", "NA", "na", "NaN", "null", "NULL", "None", "none"])
def test_words_for_a_missing_number(write, word):
    found = read_table(write(f"qid,label,x\n1,{word},{word}\n1,1,2\n"), Names())
    np.testing.assert_array_equal(found.S, [[NAN], [2.0]])
    assert found.y.tolist() == [0.0, 1.0]


def test_a_missing_label_is_0_where_the_others_of_its_query_are_0_too(write):
    found = read_table(write("qid,label,x\n1,,3\n2,,1\n1,0,2\n"), Names())
    np.testing.assert_array_equal(found.y, [0.0, 0.0, NAN])


def test_a_row_index_is_known_in_any_column(write):
    text = "qid,label," + ",".join(f"x{at}" for at in range(10)) + ",Unnamed: 12\n" + "1,1" + ",0" * 11 + "\n"
    with pytest.raises(ValueError, match="column 13 has the name 'Unnamed: 12' of a row index"):
        read_table(write(text), Names())


def test_memory_that_a_table_takes(write, tmp_path):
    rows, models = 10_000, 10
    values = np.random.default_rng(0).normal(size=(rows, models))
    table = pd.DataFrame(values, columns=[f"m{at}" for at in range(models)]).assign(qid=np.arange(rows) // 10, label=1)
    text = table.to_csv(index=False)
    path = write(text)
    assert peak_memory(lambda: read_table(path, Names())) < 4 * len(text)
    table.to_parquet(tmp_path / "scores.parquet", index=False)
    read_table(tmp_path / "scores.parquet", Names())  # pyarrow imports what it reads with
    assert peak_memory(lambda: read_table(tmp_path / "scores.parquet", Names())) < 6 * values.nbytes


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "scores.PQ"  # as .parquet is
    columns = {
        "qid": ["q2", "q1", "q2", "q1", "q3"],
        "docid": ["a", "a", "b", "b", "c"],
        "label": pa.array([1, None, None, None, 2], pa.int8()),
        "bm25": pa.array([12.5, 4, 10, 7, None], pa.float32()),
        "lm": [-3.0, NAN, None, -2.5, 0.0],
    }
    parquet.write_table(pa.table(columns), path)
    assert_text(read_table(path, Names()))
    parquet.write_table(pa.table(columns)[:0], path)
    with pytest.raises(ValueError, match=r"scores\.PQ: no rows$"):
        read_table(path, Names())
    path.write_bytes(b"PAR1 no")
    with pytest.raises(ValueError, match=r"^blend: cannot read "):
        read_table(path, Names())


def test_ids_of_a_parquet_file(tmp_path):
    """Texts may be kept as bytes, and a query may be a number or missing."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "scores.parquet"
    columns = {"qid": [b"1", b"1"], "docid": [b"a", b"b"], "label": [1, 0], "x": [1.0, 2.0]}
    parquet.write_table(pa.table(columns), path)
    found = read_table(path, Names())
    assert (found.qid.tolist(), found.docid.tolist()) == (["1", "1"], ["a", "b"])
    parquet.write_table(pa.table({**columns, "qid": [7.0, 12.0], "docid": [1.5, 2.0]}), path)  # beside a missing one
    found = read_table(path, Names())
    assert (found.qid.tolist(), found.docid.tolist()) == (["7", "12"], ["1.5", "2"])
    path.rename(path.with_suffix(".PARQUET"))
    assert read_table(path.with_suffix(".PARQUET"), Names()).qid.tolist() == ["7", "12"]
    twice = pa.Table.from_arrays([*map(pa.array, columns.values()), pa.array([1.0, 2.0])], names=[*columns, "x"])
    parquet.write_table(twice, path)
    with pytest.raises(
        ValueError, match=r"cannot read .*: columns must have different names; got qid, docid, label, x, x"
    ):
        read_table(path, Names())
    for ids, said in (([1.0, NAN], "nan"), (["q", None], "None")):
        parquet.write_table(pa.table({**columns, "qid": ids}), path)
        with pytest.raises(ValueError, match=rf"row 2: column 'qid' must have one word without blanks; got {said}"):
            read_table(path, Names())


def test_a_damaged_parquet_file_is_named(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "scores.parquet"
    parquet.write_table(pa.table({"qid": ["q"] * 2, "docid": ["ä", "ö"], "label": [1, 0], "x": [1.0, 2.0]}), path)
    whole, refused = path.read_bytes(), 0
    for at in range(0, len(whole), 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        failed = ""
        try:
            read_table(path, Names())
        except ValueError as error:
            failed = str(error)
            refused += 1
        assert not failed or (failed.startswith("blend: ") and str(path) in failed)
    assert refused > len(whole) // 6


def test_an_error_of_the_system_is_its_own(tmp_path):
    """It says what is wrong with the file, not with what is in it."""
    pytest.importorskip("pyarrow")
    for name in ("absent.parquet", "absent.csv"):
        with pytest.raises(FileNotFoundError, match=name):
            read_table(tmp_path / name, Names())


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"^blend: pyarrow is not installed: pip install .boostsoft\[parquet\]"):
        read_table(tmp_path / "scores.parquet", Names())


def test_columns_by_name(write):
    path = write("query,grade,url,note,x,y\n7,1,u1,good,1,2\n7,0,u2,bad,3,4\n")
    found = read_table(path, Names(qid="query", label="grade", docid="url", scores=("y", "x")))
    assert found.models == ("y", "x")
    np.testing.assert_array_equal(found.S, [[2, 1], [4, 3]])
    assert found.docid.tolist() == ["u1", "u2"]
    with pytest.raises(ValueError, match="must have a column 'z'; it has query, grade, url, note, x, y"):
        read_table(path, Names(qid="query", label="grade", scores=("x", "z")))
    with pytest.raises(ValueError, match="must have a column 'ulr'; it has query, grade, url, note, x, y"):
        read_table(path, Names(qid="query", label="grade", docid="ulr", scores=("x",)))
    rows = read_table(path, Names(qid="query", label="grade", scores=("x",)))
    assert rows.docid.tolist() == ["1", "2"]


@pytest.mark.parametrize("name", ["doc", "DocNo", "document_id", "item", "product-id", "id", "did"])
def test_numbers_of_documents_are_no_model_unless_said(write, name):
    path = write(f"qid,{name},label,x\n1,7,1,1\n1,8,0,2\n")
    with pytest.raises(ValueError, match=rf"column '{name}' has the name of documents, not .*: say --docid {name}, or"):
        read_table(path, Names())
    assert read_table(path, Names(docid=name)).docid.tolist() == ["7", "8"]
    assert read_table(path, Names(scores=(name, "x"))).models == (name, "x")


@pytest.mark.parametrize("name", ["doc_length", "idf", "bm25_doc", "no_stopwords", "grid"])
def test_scores_may_have_names_that_are_like_those_of_documents(write, name):
    assert read_table(write(f"qid,docid,label,{name}\n1,a,1,1\n1,b,0,2\n"), Names()).models == (name,)


@pytest.mark.parametrize(
    ("names", "column"),
    [
        (Names(scores=("label", "x")), "label"),
        (Names(qid="label"), "label"),
        (Names(docid="qid"), "qid"),
        (Names(scores=("x", "x")), "x"),
    ],
)
def test_a_column_has_one_use(write, names, column):
    with pytest.raises(ValueError, match=rf"column '{column}' must be one of query, label, document and a score"):
        read_table(write("qid,docid,label,x\n1,a,1,1\n1,b,0,2\n"), names)


HEAD = "qid,docid,label,x\n"
BAD = {
    "no column": ("query,docid,label,x\n1,a,1,1\n", "must have a column 'qid'; it has query, docid, label, x"),
    "no scores": ("qid,docid,label\n1,a,1\n", "must have columns of scores besides docid, label, qid"),
    "no rows": (HEAD, ": no rows"),
    "empty": ("", ": no rows"),
    "twice": (HEAD + "1,a,1,1\n\n1,b,1,1\n1,a,0,2\n",
              "line 5: a document must come once in a query; got 'a' of query '1' again; it is in line 2"),
    "text": (HEAD + "1,a,1,1\n1,b,1,high\n", "line 3: column 'x' must hold numbers; got 'high'. --scores names"),
    "word for a label": (HEAD + "1,a,1,1\n1,b,True,2\n",
                         "line 3: column 'label' must hold numbers; got 'True'. --label names the column of labels"),
    "underscore": (HEAD + "1,a,1,1_0\n", "line 2: column 'x' must hold numbers; got '1_0'"),
    "infinite": (HEAD + "1,a,inf,1\n", "line 2: column 'label' must hold finite numbers; got 'inf'"),
    "long": (HEAD + "1,a,1,1\n1,b,1,2,\n", "line 3: a line must have 4 columns as the header; got 5"),
    "short": (HEAD + "1,a,1,1\n1,b,1\n", "line 3: a line must have 4 columns as the header; got 3"),
    "quote": (HEAD + '1,"a,1,1\n', "unexpected end of data"),
    "no query": (HEAD + ",a,1,1\n", "line 2: column 'qid' must have one word without blanks; got ''"),
    "two words": (HEAD + "1,a b,1,1\n", "line 2: column 'docid' must have one word without blanks; got 'a b'"),
    "same names": ("qid,docid,label,x,x\n1,a,1,1,1\n", "line 1: columns must have different names"),
    "no text": (b"\xff\xfe\x00", "is not a text of UTF-8"),
    "no text later": (HEAD.encode() + b"1,a,1,1\n" * 4000 + b"\xff", f"in position {len(HEAD) + 32_000}"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD.keys())
def test_bad_tables_name_file_and_line(write, content, message):
    path = write(content)
    with pytest.raises(ValueError, match=r"^blend: ") as failure:
        read_table(path, Names())
    assert str(path) in str(failure.value)
    assert message in str(failure.value)


def test_damaged_gzip(write):
    path = write(TEXT, "scores.csv.gz")
    whole = path.read_bytes()
    for damaged in (whole[:-9], whole[:12] + b"\xff" * 9 + whole[21:]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="is not a text of UTF-8, plain or gzip"):
            read_table(path, Names())
