"""TREC runs and judgements side by side, and runs written."""

from __future__ import annotations

import gzip
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from boostsoft import Metric
from boostsoft._trec import lines, runs
from boostsoft.datasets import TrecRuns, load_trec_runs, write_trec_run

from .memory import peak_memory
from .real_data import real_folder

A = b"""7\tQ0\td2\t1\t12.5\talpha

7 Q0 d1 2 -1e1 alpha
12 Q0 d9 1 3 alpha
"""
B = b"9 Q0 d5 1 0 beta\n7 Q0 d3 1 6.6e9 beta\r\n7 Q0 d2 2 4 beta"
QRELS = b"7 0 d1 2\n7 0 d2 0\n7 0 d8 1\n12 0 d9 -1\n99 0 d9 1\n"


@pytest.fixture
def write(tmp_path):
    def write_file(content, name):
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write_file


@pytest.fixture
def files(write):
    return [write(A, "a.gz"), write(B, "b.txt")], write(QRELS, "qrels")


def same(left: TrecRuns, right: TrecRuns):
    for name in ("S", "y", "qid", "docid", "judged"):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name), strict=True)
    assert left.runs == right.runs


def literal(paths, qrels):
    """The slow oracle: (topic, document) -> a score of each run, and -> the label."""
    scores, labels = {}, {}
    for column, path in enumerate(paths):
        for line in path.read_text().splitlines():
            topic, _, document, _, score, _ = line.split()
            scores.setdefault((int(topic), document), {})[column] = float(score)
    for line in qrels.read_text().splitlines():
        topic, _, document, label = line.split()
        labels[int(topic), document] = max(float(label), 0.0)
    return scores, labels


def test_reversed_rows_break_ties_as_trec_eval_does(write):
    """trec_eval puts the larger document id first; the loader sorts them rising."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run = write(b"7 Q0 d1 1 2 a\n7 Q0 d2 2 2 a\n7 Q0 d3 3 1 a\n", "a")
    data = load_trec_runs(run, qrels=write(b"7 0 d1 1\n7 0 d2 0\n7 0 d3 1\n", "qrels"))
    evaluator = pytrec_eval.RelevanceEvaluator({"7": {"d1": 1, "d2": 0, "d3": 1}}, {"map"})
    theirs = evaluator.evaluate({"7": {"d1": 2.0, "d2": 2.0, "d3": 1.0}})["7"]["map"]
    ordered = Metric("map", ties="order")
    assert ordered(data.y[::-1], data.S[::-1, 0], group=data.sizes[::-1]) == pytest.approx(theirs)
    assert ordered(data.y, data.S[:, 0], group=data.sizes) != pytest.approx(theirs)
    assert "falling" in load_trec_runs.__doc__


def rows_of(data):
    """(topic, document) -> scores and label."""
    return {
        (int(topic), document): ({j: s for j, s in enumerate(row) if not np.isnan(s)}, label)
        for topic, document, row, label in zip(data.qid, data.docid, data.S.tolist(), data.y, strict=True)
    }


# ---------------------------------------------------------------------------------------------------------
# Reading
# ---------------------------------------------------------------------------------------------------------

NAN = np.nan


def test_judged_topics_with_judged_documents(files):
    data = load_trec_runs(files[0], qrels=files[1])
    assert data.runs == ("alpha", "beta")
    assert data.qid.tolist() == [7, 7, 7, 7, 12]
    assert data.docid.tolist() == ["d1", "d2", "d3", "d8", "d9"]
    wanted = [[-10.0, NAN], [12.5, 4.0], [NAN, 6.6e9], [NAN, NAN], [3.0, NAN]]
    np.testing.assert_array_equal(data.S, wanted)
    assert data.y.tolist() == [2.0, 0.0, 0.0, 1.0, 0.0]
    assert data.judged.tolist() == [True, True, False, True, True]
    assert data.sizes.tolist() == [4, 1]
    assert repr(data) == "TrecRuns(n_queries=2, n_docs=5, n_runs=2)"


def test_retrieved_documents_only(files):
    data = load_trec_runs(files[0], qrels=files[1], pool="retrieved", unjudged=-1)
    assert data.docid.tolist() == ["d1", "d2", "d3", "d9"]
    assert data.y.tolist() == [2.0, 0.0, -1.0, -1.0]  # the last was judged to be spam


def test_spam_counts_as_what_nobody_has_judged_if_that_is_no_irrelevance(write):
    run = write(b"7 Q0 d1 1 4 a\n7 Q0 d2 1 3 a\n7 Q0 d3 1 2 a\n7 Q0 d4 1 1 a\n", "a")
    qrels = write(b"7 0 d1 1\n7 0 d2 -2\n7 0 d3 -1\n", "qrels")
    for unjudged, wanted in ((0, [1, 0, 0, 0]), (-1, [1, -1, -1, -1]), (-5, [1, -5, -5, -5]), (2, [1, 0, 0, 2])):
        assert load_trec_runs(run, qrels=qrels, unjudged=unjudged).y.tolist() == wanted


def test_what_is_left_out_may_be_last(write):
    """A judged document behind all that were retrieved, and a topic behind all that were judged."""
    run, qrels = write(b"7 Q0 d1 1 2.5 a\n9 Q0 d1 1 1 a\n", "a"), write(b"7 0 d1 1\n7 0 d9 2\n", "qrels")
    assert rows_of(load_trec_runs(run, qrels=qrels, pool="retrieved")) == {(7, "d1"): ({0: 2.5}, 1.0)}


def test_all_topics_have_no_label_where_nobody_judged(files):
    data = load_trec_runs(*files[0], qrels=files[1], topics="all")
    assert data.qid.tolist() == [7, 7, 7, 7, 9, 12]
    np.testing.assert_array_equal(data.y, [2.0, 0.0, 0.0, 1.0, NAN, 0.0])
    bare = load_trec_runs(*files[0])
    assert bare.docid.tolist() == ["d1", "d2", "d3", "d5", "d9"]
    assert np.isnan(bare.y).all()
    assert not bare.judged.any()


def random_files(write, seed=0, zipped=""):
    rng = np.random.default_rng(seed)
    paths = []
    for run in range(3):
        text = []
        for topic in rng.permutation(5)[:4]:
            for rank, document in enumerate(rng.permutation(30)[: rng.integers(1, 20)]):
                text.append(
                    f"{topic} Q0 D-{document} {rank} {float(rng.normal() * 10.0 ** rng.integers(-5, 6))!r} run{run}"
                )
        paths.append(write("\n".join(text).encode() + b"\n", f"run{run}{zipped}"))
    judged = [f"{topic} 0 D-{document} {rng.integers(-1, 3)}" for topic in range(6) for document in range(0, 40, 3)]
    return paths, write("\n".join(judged).encode(), "judgements")


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_random_files_against_a_literal_reading(write, seed):
    paths, qrels = random_files(write, seed)
    scores, labels = literal(paths, qrels)
    topics = {topic for topic, _ in scores}
    wanted = {pair: (found, labels.get(pair, 0.0)) for pair, found in scores.items()}
    wanted |= {pair: ({}, label) for pair, label in labels.items() if pair not in scores and pair[0] in topics}
    data = load_trec_runs(paths, qrels=qrels)
    assert rows_of(data) == wanted
    assert list(zip(data.qid.tolist(), data.docid, strict=True)) == sorted(wanted)


@pytest.mark.parametrize("content", [A, B, QRELS, b"\xef\xbb\xbf" + A, b"\n\n" + A, A.replace(b"\n", b"\r\n")])
def test_both_parsers_read_alike(write, monkeypatch, content):
    form = lines.QRELS if content is QRELS else lines.RUN
    path = write(content, "file")

    def read():
        topics, documents = lines.Codes(), lines.Codes()
        found = lines.read_entries(path, form, topics, documents, "t")
        return [np.asarray(part).tolist() for part in found], topics, documents

    monkeypatch.setattr(lines, "_careful_lines", lambda *_: pytest.fail("it has nothing unusual"))
    fast = read()
    monkeypatch.undo()
    monkeypatch.setattr(lines, "_parse_fast", lambda *_: None)
    assert read() == fast


@pytest.mark.parametrize("n_columns", [[6], [0, 6, 6], [5, 7], [6, 12, 0], [3, 9]])
@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n"])
def test_lines_are_counted_without_splitting_them(n_columns, end):
    text = b"\n".join(b" \tab" * n for n in n_columns) + end
    assert lines._all_have(6, text) == (set(n_columns) <= {0, 6})


def test_blanks_of_counted_lines_are_those_of_split():
    for byte in range(256):
        text = b"a%cb" % byte
        assert lines._all_have(2, text) == all(len(line.split()) in (0, 2) for line in text.split(b"\n")), byte


def test_zipped_and_plain_files_and_their_order(write):
    plain, qrels = random_files(write)
    zipped, _ = random_files(write, zipped=".gz")
    data = load_trec_runs(plain, qrels=qrels)
    same(data, load_trec_runs(zipped, qrels=qrels))
    turned = load_trec_runs(plain[::-1], qrels=qrels)
    np.testing.assert_array_equal(turned.S, data.S[:, ::-1])
    np.testing.assert_array_equal(turned.docid, data.docid)


def test_topics_are_texts_unless_all_are_different_numbers(write):
    def topics(*ids):
        text = "".join(f"{topic} Q0 d 1 1 r\n" for topic in ids)
        return load_trec_runs(write(text.encode(), "run")).qid

    assert topics("10", "9").tolist() == [9, 10]
    assert topics("10", "9").dtype == np.int64
    assert topics("MB10", "MB9").tolist() == ["MB10", "MB9"]
    assert topics("10", "9", "x").tolist() == ["10", "9", "x"]
    assert topics("7", "07").tolist() == ["07", "7"]
    assert topics("101", "051", "0100").tolist() == ["051", "0100", "101"], "by number, as they are written"
    assert topics("+2", "10").tolist() == ["+2", "10"]


def test_names_of_runs(write):
    def run(name, *tags):
        text = "".join(f"{topic} Q0 d 1 1 {tag}\n" for topic, tag in enumerate(tags))
        return write(text.encode(), name)

    assert load_trec_runs(run("one.gz", "x"), run("two", "y", "z"), run("three", "w")).runs == ("x", "two", "w")
    assert load_trec_runs(run("one.gz", "x"), run("two", "x"), run("three", "y")).runs == ("one", "two", "y")
    path = run("one", "x")
    with pytest.raises(ValueError, match=re.escape(f"got 'one' of {path} and {path}")):
        load_trec_runs(path, path)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are texts")
def test_a_run_whose_name_is_no_text(write):
    path = write(b"7 Q0 d1 1 1 x\n7 Q0 d2 1 1 y\n", os.fsdecode(b"r\xff"))
    assert load_trec_runs(path).runs == (r"r\udcff",)


# ---------------------------------------------------------------------------------------------------------
# Bad files
# ---------------------------------------------------------------------------------------------------------

GOOD = b"7 Q0 d1 1 1.5 x\n"
BAD_RUNS = {
    "five columns": (GOOD + b"7 Q0 d2 1 1.5\n" + b"7 Q0 d3 1 1.5 x x\n", r"line 2: a line must have 6 columns"),
    "seven columns": (GOOD + b"7 Q0 d3 1 1.5 x x\n", r"line 2: a line must have 6 columns .*; got 7: '7 Q0 d3"),
    "score": (b"\n" + GOOD + b"7 Q0 d2 1 high x\n", r"line 3: the score must be a finite number; got 'high'"),
    "underscore": (b"7 Q0 d2 1 1_0 x\n", r"line 1: the score must be a finite number; got '1_0'"),
    "infinite": (GOOD + b"7 Q0 d2 1 -inf x\n", r"line 2: the score must be a finite number; got '-inf'"),
    "nan": (GOOD + b"7 Q0 d2 1 nan x\n", r"line 2: the score must be a finite number; got 'nan'"),
    "twice": (
        GOOD + b"\n8 Q0 d1 1 1 x\n7 Q0 d1 2 1 x\n",
        r"line 4: a document must come once in a topic; got 'd1' of topic '7' again; it is in line 1",
    ),
    "nothing": (b"\n \n", r"file: no lines"),
    "empty": (b"", r"file: no lines"),
}


@pytest.mark.parametrize(("content", "message"), BAD_RUNS.values(), ids=BAD_RUNS.keys())
def test_bad_runs_name_file_and_line(write, content, message):
    path = write(content, "file")
    with pytest.raises(ValueError, match=f"^load_trec_runs: {re.escape(str(path.parent))}.*{message}"):
        load_trec_runs(write(GOOD, "good"), path)


def test_bytes_that_are_no_blanks_separate_no_columns(write):
    """The words of the two lines would be as many as of two good ones."""
    path = write(b"7 Q0 d\0d 1 12.5\n\0 7 Q0 d2 2 1.5 x\n", "run")
    with pytest.raises(ValueError, match=r"line 1: a line must have 6 columns .*; got 5"):
        load_trec_runs(path)
    assert load_trec_runs(write(b"7\x0bQ0\x0cd\x1f1 1 1 x\n", "run")).docid.tolist() == ["d\x1f1"]


def test_topics_that_differ_in_zero_bytes_are_different(write):
    data = load_trec_runs(write(b"a Q0 d 1 1 x\na\0 Q0 d 1 2 x\n", "run"))
    assert (data.qid.tolist(), data.sizes.tolist()) == (["a", "a\\x00"], [1, 1])


def test_a_pipe_is_read_once(tmp_path):
    """As a shell's <(zcat run.gz) is."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for content in (GOOD, GOOD + GOOD):
        with ThreadPoolExecutor(1) as pool:
            written = pool.submit(pipe.write_bytes, content)
            if content == GOOD:
                assert load_trec_runs(pipe).S.tolist() == [[1.5]]
            else:
                with pytest.raises(ValueError, match="line 2: a document must come once in a topic"):
                    load_trec_runs(pipe)
            written.result(60)


BAD_QRELS = {
    "fraction": (b"7 0 d1 0.5\n", r"qrels, line 1: the judgement must be a whole number of up to 9 digits; got '0.5'"),
    "columns": (b"7 0 d1 1\n7 d2 1\n", r"qrels, line 2: a line must have 4 columns \(topic iteration document"),
    "twice": (b"7 0 d1 1\n7 0 d1 1\n", r"qrels, line 2: a document must come once in a topic"),
    "others": (b"8 0 d1 1\n", r"qrels must judge a topic of the runs; got none in common"),
    "long": (b"7 0 d1 12345678901\n", r"qrels, line 1: the judgement must be a whole number"),
    "beyond floats": (b"7 0 d1 1" + b"0" * 400, r"qrels, line 1: the judgement must be a whole number"),
}


@pytest.mark.parametrize(("content", "message"), BAD_QRELS.values(), ids=BAD_QRELS.keys())
def test_bad_judgements_name_file_and_line(write, content, message):
    with pytest.raises(ValueError, match=message):
        load_trec_runs(write(GOOD, "good"), qrels=write(content, "qrels"))


@pytest.mark.parametrize("at_once", [True, False])
def test_judgements_have_up_to_nine_digits_however_they_are_read(write, monkeypatch, at_once):
    """Zeros in front are none."""
    if not at_once:
        monkeypatch.setattr(lines, "_parse_fast", lambda *_: None)
    good = write(GOOD, "good")
    qrels = write(b"7 0 d1 999999999\n7 0 d2 0000000002", "qrels")
    assert load_trec_runs(good, qrels=qrels).y.tolist() == [999_999_999.0, 2.0]
    for text in (b"1000000000", b"-1000000000"):
        qrels = write(b"7 0 d1 " + text, "qrels")
        message = rf"line 1: the judgement must be a whole number of up to 9 digits; got '{text.decode()}'"
        with pytest.raises(ValueError, match=message):
            load_trec_runs(good, qrels=qrels)


def test_damaged_and_missing_files(write, tmp_path):
    path = write(A * 50, "cut.gz")
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(ValueError, match=r"cut\.gz, line \d+: the gzip data are damaged or cut short"):
        load_trec_runs(path)
    path = tmp_path / "plain.gz"
    path.write_bytes(A)
    with pytest.raises(ValueError, match=r"plain\.gz, line 1: the name ends in \.gz but the content is not gzip"):
        load_trec_runs(path)
    with pytest.raises(FileNotFoundError, match=r"load_trec_runs: path must name an existing file; got '.*none'"):
        load_trec_runs(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match=r"load_trec_runs: qrels must name an existing file; got '.*none'"):
        load_trec_runs(write(b"not read", "run"), qrels=tmp_path / "none")


def test_a_bar_over_the_files(write, capsys, monkeypatch):
    monkeypatch.setattr("boostsoft.progress._PAUSE", 0.0)
    runs = [write(b"1 Q0 d1 1 2.5 %s\n" % name.encode(), name) for name in ("a", "b", "c")]
    qrels = write(b"1 0 d1 1\n1 0 d22 0\n", "qrels")
    load_trec_runs(runs, qrels=qrels)
    assert capsys.readouterr() == ("", "")  # too small to be worth one, and no terminal
    load_trec_runs(runs, qrels=qrels, progress=True)
    out, err = capsys.readouterr()
    assert not out
    assert "load_trec_runs" in err
    assert re.findall(r"(\d+)%", err) == ["24", "48", "72", "100"]  # after each run of 16 bytes; the judgements have 19
    with pytest.raises(ValueError, match="load_trec_runs: progress must be True, False or 'auto'; got 'no'"):
        load_trec_runs(runs, progress="no")


def test_bad_options(files):
    for options, message in (
        ({"pool": "all"}, "pool must be one of 'judged', 'retrieved'; got 'all'"),
        ({"topics": "none"}, "topics must be one of 'judged', 'all'; got 'none'"),
        ({"unjudged": np.nan}, "unjudged must be finite"),
    ):
        with pytest.raises(ValueError, match=message):
            load_trec_runs(files[0], qrels=files[1], **options)
    with pytest.raises(ValueError, match="at least one file"):
        load_trec_runs([])


# ---------------------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------------------


def test_a_written_run_by_hand(tmp_path):
    path = tmp_path / "fused"
    write_trec_run(path, [9, 9, 9, 7], ["b", "a", "c", "x"], [0.5, 0.5, 2.0, 1e-30], run="mine", depth=2)
    assert path.read_text() == "9 Q0 c 1 2.0 mine\n9 Q0 b 2 0.5 mine\n7 Q0 x 1 1e-30 mine\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["fused"]
    write_trec_run(path, ["b", "c", "a"], ["x", "y", "z"], [1.0, 2.0, 3.0])
    assert path.read_text().split()[::6] == ["b", "c", "a"], "topics keep their order"


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_a_run_is_written_alike_in_any_number_of_parts(tmp_path, monkeypatch, at_once):
    monkeypatch.setattr(runs, "_LINES", at_once)
    write_trec_run(tmp_path / "fused", [9, 9, 9, 9, 7], list("badcx"), [0.5, 1.0, 0.25, 2.0, 3.0], run="mine", depth=3)
    assert (tmp_path / "fused").read_text() == (
        "9 Q0 c 1 2.0 mine\n9 Q0 a 2 1.0 mine\n9 Q0 b 3 0.5 mine\n7 Q0 x 1 3.0 mine\n"
    )


def test_a_topic_has_a_thousand_documents_at_most_by_default(tmp_path):
    write_trec_run(tmp_path / "fused", np.zeros(1001, int), np.arange(1001), np.arange(1001.0))
    assert len((tmp_path / "fused").read_text().splitlines()) == 1000


@pytest.mark.parametrize("distinct", [3, 10_000])
def test_a_written_run_in_order_whatever_is_equal(tmp_path, distinct):
    rng = np.random.default_rng(distinct)
    topics = rng.permutation(np.repeat(["b", "a"], 500))
    documents = np.array([f"d{at}" for at in rng.permutation(1000)])
    scores = rng.integers(-distinct, distinct, 1000) / distinct * 1.7e308
    write_trec_run(tmp_path / "run", topics, documents, scores, depth=400)
    expected = []
    for topic in dict.fromkeys(topics.tolist()):
        rows = sorted(((scores[at], documents[at]) for at in np.flatnonzero(topics == topic)), reverse=True)
        for rank, (score, document) in enumerate(rows[:400], 1):
            expected.append(f"{topic} Q0 {document} {rank} {float(score)!r} boostsoft")
    assert (tmp_path / "run").read_text().splitlines() == expected


def test_memory_that_a_written_run_takes(tmp_path):
    ids = np.array([f"the-document-of-number-{at:010}" for at in range(20_000)], object)
    topics, scores = np.repeat(["a-topic-of-some-length", "another"], 10_000), np.arange(20_000.0)
    taken = peak_memory(lambda: write_trec_run(tmp_path / "run", topics, ids, scores, depth=20_000))
    assert taken < 4.5 * (tmp_path / "run").stat().st_size


def test_the_same_run_is_the_same_gzip_whenever_it_is_written(tmp_path):
    write_trec_run(tmp_path / "fused.gz", [7], ["a"], [1.0])
    assert (tmp_path / "fused.gz").read_bytes()[4:8] == bytes(4), "no time"


def test_ids_of_bytes_are_texts(tmp_path):
    """As HDF5 has them."""
    for qid, docid in ((np.array([b"7"]), np.array([b"a"])), ([b"7"], [b"a"])):
        write_trec_run(tmp_path / "fused", qid, docid, [1.0])
        assert (tmp_path / "fused").read_text() == "7 Q0 a 1 1.0 boostsoft\n"


@pytest.mark.parametrize("name", ["fused", "fused.gz"])
def test_what_is_written_can_be_read(write, tmp_path, name):
    data = load_trec_runs(random_files(write)[0])
    scores = np.random.default_rng(0).normal(size=data.y.size) / 3
    write_trec_run(tmp_path / name, data.qid, data.docid, scores)
    again = load_trec_runs(tmp_path / name)
    np.testing.assert_array_equal(again.S[:, 0], scores)
    assert again.docid.tolist() == data.docid.tolist()
    assert again.runs == ("boostsoft",)


def test_runs_may_lie_at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    write_trec_run("~/fused", [7], ["a"], [1.0])
    assert load_trec_runs("~/fused").runs == ("boostsoft",)
    assert (tmp_path / "fused").is_file()


def test_an_interrupted_run_is_not_there(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_trec_run(tmp_path / "fused", [1], ["a"], [1.0])
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written(tmp_path):
    path = tmp_path / "fused"
    for arguments, message in (
        (([1], ["a"], [np.nan]), "scores must be finite; got nan at position 0"),
        (([1, 1], ["a"], [1.0]), "qid must have one id per score, 1; got 2"),
        (([1], ["a b"], [1.0]), "docid must be one word of text without blanks; got 'a b'"),
        (([""], ["a"], [1.0]), "qid must be one word of text without blanks; got ''"),
        ((["7"], ["a\n"], [1.0]), r"docid must be one word of text without blanks; got 'a\\n'"),
        (([" 7"], ["a"], [1.0]), "qid must be one word of text without blanks; got ' 7'"),
        (([7, 8], np.array([["a"], ["b"]]), [1.0, 2.0]), r"docid must be one-dimensional; got shape \(2, 1\)"),
        ((pd.DataFrame({"topic": [7]}), ["a"], [1.0]), r"qid must be one-dimensional; got shape \(1, 1\)"),
        (("ab", ["x", "y"], [1.0, 2.0]), r"qid must be one-dimensional; got shape \(\)"),  # not topics a and b
        ((b"ab", ["x", "y"], [1.0, 2.0]), r"qid must be one-dimensional; got shape \(\)"),
        ((7, ["x"], [1.0]), r"qid must be one-dimensional; got shape \(\)"),
        (([7], ["\ud800"], [1.0]), r"write_trec_run: docid must be one word of text without blanks; got '\\ud800'"),
        (([1, np.nan], ["a", "b"], [1.0, 2.0]), "qid must not be missing or infinite; got nan at position 1"),
        (([1, 1], ["a", None], [1.0, 2.0]), "docid must not be missing or infinite; got None at position 1"),
        (([1, 2, 1], ["a", "a", "a"], [1.0, 2.0, 3.0]), "docid must be distinct in each topic; got 'a' twice in '1'"),
    ):
        with pytest.raises(ValueError, match=message):
            write_trec_run(path, *arguments)
    with pytest.raises(ValueError, match="run must be one word"):
        write_trec_run(path, [1], ["a"], [1.0], run="two words")
    with pytest.raises(ValueError, match="depth must be from 1"):
        write_trec_run(path, [1], ["a"], [1.0], depth=0)
    assert not path.exists()


# ---------------------------------------------------------------------------------------------------------
# Real runs
# ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def robust():
    folder = real_folder("TREC-robust03")
    return load_trec_runs(sorted((folder / "runs").iterdir()), qrels=folder / "qrels.txt.gz"), folder


def test_robust_2003(robust):
    data, _ = robust
    assert data.sizes.size == 100
    assert int(data.judged.sum()) == 128_796
    assert [int((data.y[data.judged] == label).sum()) for label in range(3)] == [122_722, 5_667, 407]
    assert not data.y[~data.judged].any()
    assert len(data.runs) == 17
    assert {"InexpC2", "uic0301"} < set(data.runs)
    retrieved = (~np.isnan(data.S)).sum(axis=0)
    assert retrieved[data.runs.index("NLPR03vb10")] == 1004
    assert sorted(retrieved)[2:4] == [99_969, 100_000]
    assert 1e9 < np.nanmax(np.abs(data.S)) < 1e10


def test_a_real_run_scores_as_trec_eval_says(robust):
    """Precision and the divisors of recall and map hold, unfound relevant documents included."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    data, folder = robust
    column = data.runs.index("aplrob03a")
    run, judged = {}, {}
    text = gzip.decompress((folder / "runs" / "input.aplrob03a.gz").read_bytes()).decode()
    for line in text.splitlines():
        topic, _, document, _, score, _ = line.split()
        run.setdefault(topic, {})[document] = float(score)
    for line in gzip.decompress((folder / "qrels.txt.gz").read_bytes()).decode().splitlines():
        topic, _, document, label = line.split()
        judged.setdefault(topic, {})[document] = int(label)
    peer = pytrec_eval.RelevanceEvaluator(judged, {"P_10", "recall_100", "ndcg_cut_10", "map_cut_100"}).evaluate(run)
    scores = np.where(np.isnan(data.S[:, column]), np.nanmin(data.S[:, column]) - 1.0, data.S[:, column])
    topics = [str(topic) for topic in np.unique(data.qid)]
    for ours, name in (
        (Metric("precision@10"), "P_10"),
        (Metric("recall@100"), "recall_100"),
        (Metric("ndcg@10", gain="linear"), "ndcg_cut_10"),
        (Metric("map@100"), "map_cut_100"),
    ):
        values = ours.per_query(data.y, scores, group=data.sizes)
        theirs = np.array([peer[topic][name] for topic in topics])
        # tied documents, 32-bit floats included: trec_eval's order is one of those that ours averages over
        assert np.mean(np.abs(values - theirs) < 1e-12) > 0.9
        assert np.mean(values) == pytest.approx(np.mean(theirs), abs=1e-3)
