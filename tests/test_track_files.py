"""Tracks in files: they come back to the last digit, are whole or as they were, and damage is named."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import zlib

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

from boostsoft import Metric, SoftMetric
from boostsoft.tracks import TreeTrack

from .memory import peak_memory
from .releases import left_out
from .tree_track_cases import HARD, SOFT, long_track, track


def equal(a, b):
    """Every field to the last bit."""
    for field in dataclasses.fields(TreeTrack):
        one, other = getattr(a, field.name), getattr(b, field.name)
        if isinstance(one, np.ndarray) and one.dtype.kind == "f":
            np.testing.assert_array_equal(one.view(np.int64), other.view(np.int64))
        elif isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other)
        else:
            assert one == other


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"groups": None, "y_true": None, "scores": None, "qid": None},
        {"qid": np.array([3, 1, 4, 15, 9, 26])},
        {"qid": np.array(["2020-01-01"] * 6, dtype="datetime64[D]")},
        {"metrics": (Metric("ndcg", k=[1, 2, 3, 4, 5, 6], gain=[0, 1, 5], empty="skip", name="mine"), SOFT)},
        {"metrics": (HARD, SoftMetric(HARD, ranks="sampled", seed=3))},
    ],
    ids=["all", "bare", "numbers", "days", "tables", "sampled"],
)
def test_files_come_back_to_the_last_bit(tmp_path, suffix, fields):
    saved = track(**fields)
    path = saved.save(tmp_path / f"a.{suffix}")
    assert path == tmp_path / f"a.{suffix}"
    equal(TreeTrack.load(str(path)), saved)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
@pytest.mark.parametrize(
    ("ids", "kind"),
    [
        (["x", "yy", "z", "a", "b", "c"], "U"),
        ([1, 2, 3, 4, 5, 2**40], "i"),
        ([1, 2, 3, 4, 5, np.int32(6)], "i"),
        ([0.5, 1, 2.0, 3, 4, 5], "f"),
        ([np.float32(0.5), np.int64(1), 2.0, 3, 4, 5], "f"),
    ],
)
def test_ids_in_objects_are_saved_as_what_they_are(tmp_path, suffix, ids, kind):
    path = track(qid=np.array(ids, dtype=object)).save(tmp_path / f"a.{suffix}")
    found = TreeTrack.load(path).qid
    assert (found.tolist(), found.dtype.kind) == (ids, kind)


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy 1 has no such texts")
def test_ids_in_numpys_texts_of_any_length_are_saved(tmp_path):
    ids = ["x", "yyy", "z", "", "b", "c"]
    path = track(qid=np.array(ids, dtype=np.dtypes.StringDType())).save(tmp_path / "a.npz")
    assert TreeTrack.load(path).qid.tolist() == ids


def test_a_parquet_file_is_a_table_for_others(tmp_path):
    found = track()
    table = pd.read_parquet(found.save(tmp_path / "a.parquet"))
    assert list(table.columns) == ["trees", "metric", "query", "value"]
    assert len(table) == 5 * 2 * 6
    at = (table.trees == 5) & (table["metric"] == "ndcg_gaussian@10")
    np.testing.assert_array_equal(table.value[at], found.per_query[2, 1])
    before = (table.trees == 1) & (table["metric"] == "ndcg_gaussian@10")
    np.testing.assert_array_equal(table.value[before], found.beginning[1])
    assert table["query"][at].tolist() == table["query"][before].tolist() == list(range(6))


OLD_ARROW = left_out(pyarrow.__version__, (16, 0), "pyarrow before 16 writes the footer's text a second time, in one")


@pytest.mark.parametrize("n_docs", [pytest.param(10_000_000, marks=OLD_ARROW), 20])
def test_a_parquet_file_of_many_documents_is_read_by_anyone(tmp_path, n_docs):
    """Readers take texts of 100 MB, and what is not per query is one of the footer's."""
    found = track(y_true=np.zeros(n_docs), scores=None, groups=None)
    path = found.save(tmp_path / "a.parquet")
    assert len(pd.read_parquet(path)) == 5 * 2 * 6
    equal(TreeTrack.load(path), found)


def test_before_pyarrow_16_the_footer_goes_with_the_schema(tmp_path, monkeypatch):
    monkeypatch.delattr(pyarrow.parquet.ParquetWriter, "add_key_value_metadata", raising=False)
    found = track(y_true=np.zeros(20_000), scores=None, groups=None)
    equal(TreeTrack.load(found.save(tmp_path / "a.parquet")), found)


def test_a_parquet_file_may_have_a_name_that_is_no_text(tmp_path):
    found, path = track(), tmp_path / os.fsdecode(b"\xff.parquet")
    equal(TreeTrack.load(found.save(path)), found)


def test_a_parquet_file_is_written_some_steps_at_a_time(tmp_path):
    found = long_track(300, 20_000)
    path = found.save(tmp_path / "a.parquet")
    assert peak_memory(lambda: found.save(path)) < found.per_query.nbytes
    equal(TreeTrack.load(path), found)


def test_a_parquet_file_is_read_some_rows_at_a_time(tmp_path):
    found = long_track(300, 20_000)
    path = found.save(tmp_path / "a.parquet")
    usual, counting = pyarrow.default_memory_pool(), pyarrow.proxy_memory_pool(pyarrow.system_memory_pool())
    pyarrow.set_memory_pool(counting)
    try:
        own = peak_memory(lambda: TreeTrack.load(path))
    finally:
        pyarrow.set_memory_pool(usual)
    assert own + counting.max_memory() < 2 * found.per_query.nbytes


def gain_of(label):
    return label + 1.0


@pytest.mark.parametrize("gain", [gain_of, lambda label: label, np.sqrt])
def test_a_metric_with_a_function_cannot_be_saved(tmp_path, gain):
    found = track(metrics=(Metric("ndcg@10", gain=gain, name="mine", empty="skip"), SOFT))
    with pytest.raises(ValueError, match=r"TreeTrack\.save: metrics must not have a function as an option; got Metric"):
        found.save(tmp_path / "a.npz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
@pytest.mark.parametrize("first", [np.int64(7), 2**64 - 1, -(2**63)])
def test_whole_numbers_that_are_objects_are_saved(tmp_path, suffix, first):
    ids = np.array([first, 1, 2, 3, 4, 5], dtype=object)
    assert TreeTrack.load(track(qid=ids).save(tmp_path / f"a.{suffix}")).qid.tolist() == ids.tolist()


@pytest.mark.parametrize("ids", [[2**64, 1, 2, 3, 4, 5], [-1, 2**63, 2, 3, 4, 5]])
def test_larger_ids_cannot_be_saved(tmp_path, ids):
    with pytest.raises(
        ValueError, match=r"TreeTrack\.save: qid must hold whole numbers of 64 bits; got \[.*, \.\.\.\]"
    ):
        track(qid=np.array(ids, dtype=object)).save(tmp_path / "a.npz")


def test_whole_numbers_among_fractions_are_saved_if_floats_hold_them(tmp_path):
    ids = np.array([0.5, 2**53, 2, 3, 4, 5], dtype=object)
    assert TreeTrack.load(track(qid=ids).save(tmp_path / "a.npz")).qid.tolist() == ids.tolist()
    ids[1] += 1  # as a float it would be another query
    with pytest.raises(ValueError, match=r"qid must hold only numbers or only texts; got 0.5 of type float and 90071"):
        track(qid=ids).save(tmp_path / "a.npz")


def test_ids_of_other_types_cannot_be_saved(tmp_path):
    ids = np.empty(6, dtype=object)
    ids[:] = [(1, 2)] * 6
    match = r"TreeTrack\.save: qid must hold only numbers or only texts; got \(1, 2\)"
    with pytest.raises(ValueError, match=match) as refused:
        track(qid=ids).save(tmp_path / "a.npz")
    given = {"dataclasses": dataclasses, "np": np, "track": track(qid=ids)}
    remedy = eval(str(refused.value).rpartition(": ")[2], given)
    assert TreeTrack.load(remedy.save(tmp_path / "a.npz")).qid.tolist() == ["(1, 2)"] * 6


def test_texts_that_would_become_others_cannot_be_saved(tmp_path):
    ids = np.array(["a\0", "a", "b", "c\0d", "e", "f"], dtype=object)
    match = r"TreeTrack\.save: qid must hold texts that do not end in a NUL character; got 'a\\x00'"
    with pytest.raises(ValueError, match=match):
        track(qid=ids).save(tmp_path / "a.npz")
    ids[0] = "g"
    assert TreeTrack.load(track(qid=ids).save(tmp_path / "a.npz")).qid.tolist() == ids.tolist()


def test_ids_of_several_types_cannot_be_saved(tmp_path):
    ids = np.empty(6, dtype=object)
    ids[:] = ["x0", "x1", 7, "x3", "x4", "x5"]
    match = r"TreeTrack\.save: qid must hold only numbers or only texts; got 'x0' of type str and 7 of type int"
    with pytest.raises(ValueError, match=match):
        track(qid=ids).save(tmp_path / "a.npz")


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_files_may_lie_at_home(tmp_path, suffix, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert track().save(f"~/a.{suffix}") == tmp_path / f"a.{suffix}"
    assert TreeTrack.load(f"~/a.{suffix}").n_steps == track().n_steps


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_a_file_is_whole_or_as_it_was(tmp_path, suffix, monkeypatch):
    path = track().save(tmp_path / f"a.{suffix}")
    before = path.read_bytes()

    def half_an_npz(file, **_):
        file.write(b"half")
        raise OSError("no space")

    class HalfATable(pyarrow.parquet.ParquetWriter):
        def write_table(self, *_):
            raise OSError("no space")

    monkeypatch.setattr(np, "savez", half_an_npz)
    monkeypatch.setattr(pyarrow.parquet, "ParquetWriter", HalfATable)
    with pytest.raises(OSError, match="no space"):
        track(label="another").save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_nothing_but_arrays_goes_into_an_npz(tmp_path, monkeypatch):
    """NumPy before 2.2 writes every word that it is given as an array."""
    save = np.savez

    def only_arrays(file, **arrays):
        assert all(isinstance(array, np.ndarray) for array in arrays.values())
        save(file, **arrays)

    monkeypatch.setattr(np, "savez", only_arrays)
    equal(TreeTrack.load(track().save(tmp_path / "a.npz")), track())


def test_other_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"TreeTrack\.save: path must end in \.npz or \.parquet; got 'a\.csv'"):
        track().save("a.csv")
    with pytest.raises(ValueError, match=r"TreeTrack\.load: path must end in \.npz or \.parquet"):
        TreeTrack.load(tmp_path / "a.txt")
    np.savez(tmp_path / "other.npz", x=np.ones(2))
    with pytest.raises(ValueError, match=r"other\.npz must hold a TreeTrack; got the arrays x"):
        TreeTrack.load(tmp_path / "other.npz")
    pd.DataFrame({"x": [1]}).to_parquet(tmp_path / "other.parquet")
    with pytest.raises(ValueError, match=r"other\.parquet must hold a TreeTrack; got the columns x"):
        TreeTrack.load(tmp_path / "other.parquet")
    np.savez(tmp_path / "later.npz", about=np.array(json.dumps({"version": 2})))
    with pytest.raises(ValueError, match=r"later\.npz must be of version 1; got 2"):
        TreeTrack.load(tmp_path / "later.npz")
    for about, got in (({}, "None"), ({"version": 0}, "0")):
        np.savez(tmp_path / "earlier.npz", about=np.array(json.dumps(about)))
        with pytest.raises(ValueError, match=rf"earlier\.npz must be of version 1; got {got}"):
            TreeTrack.load(tmp_path / "earlier.npz")


DAMAGED = {
    "empty": lambda whole: b"",
    "garbage": lambda whole: b"no archive " * 30,
    "half": lambda whole: whole[: len(whole) // 2],
    "end missing": lambda whole: whole[:-20],
    "scratched in the middle": lambda whole: _scratched(whole, len(whole) // 2),
    "scratched at the head": lambda whole: _scratched(whole, 10),
}


def _scratched(whole, at):
    return whole[:at] + b"\xff" * 200 + whole[at + 200 :]


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_named(tmp_path, suffix, damage):
    path = track().save(tmp_path / f"broken.{suffix}")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=rf"TreeTrack\.load: .*broken\.{suffix} is damaged, or no .* file: ") as caught:
        TreeTrack.load(path)
    assert type(caught.value) is ValueError
    assert "pickle" not in f"{caught.value}{caught.value.__cause__}"


def test_a_file_whose_words_are_nested_without_end_is_damaged(tmp_path):
    np.savez(tmp_path / "deep.npz", about=np.array("[" * 100_000))
    with pytest.raises(ValueError, match=r"TreeTrack\.load: .*deep\.npz is damaged, or no"):
        TreeTrack.load(tmp_path / "deep.npz")


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_no_damaged_byte_passes(tmp_path, suffix):
    """A byte that is read as another changes nothing, or the file is refused: not every Parquet reader looks."""
    path = track().save(tmp_path / f"scratched.{suffix}")
    wanted, whole = TreeTrack.load(path), path.read_bytes()
    refused = 0
    for at in [*range(0, len(whole) - 6, 5), *range(len(whole) - 6, len(whole))]:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :])
        try:
            found = TreeTrack.load(path)
        except ValueError:
            refused += 1
        else:
            for name in ("per_query", "steps", "beginning", "query_weight", "spread", "y_true", "scores", "qid"):
                np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)
            assert (found.metrics, found.start, found.label) == (wanted.metrics, wanted.start, wanted.label)
    assert refused > len(whole) / 40


def test_a_file_with_a_mark_of_encryption_is_damaged(tmp_path):
    path = track().save(tmp_path / "a.npz")
    whole = bytearray(path.read_bytes())
    whole[whole.index(b"PK\x01\x02") + 8] ^= 1  # a flag of the first array in the table of contents
    path.write_bytes(whole)
    with pytest.raises(ValueError, match=r"a\.npz is damaged, or no \.npz file: its 'steps' cannot be read"):
        TreeTrack.load(path)


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_a_file_that_is_not_there(tmp_path, suffix):
    (tmp_path / f"folder.{suffix}").mkdir()
    for name in ("none", "folder"):
        message = rf"^TreeTrack\.load: path must name an existing file; got '.*{name}\."
        with pytest.raises(FileNotFoundError, match=message):
            TreeTrack.load(tmp_path / f"{name}.{suffix}")


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_a_disk_that_fails_while_reading_is_not_called_a_damaged_file(tmp_path, suffix, monkeypatch):
    path = track().save(tmp_path / f"a.{suffix}")

    def fail(*_, **__):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(np.lib.npyio.NpzFile, "__getitem__", fail)
    monkeypatch.setattr(pyarrow.parquet, "ParquetFile", fail)
    with pytest.raises(OSError, match="Input/output error"):
        TreeTrack.load(path)


def test_a_file_of_which_a_part_is_missing_or_holds_objects_is_named(tmp_path):
    path = track().save(tmp_path / "a.npz")
    with np.load(path) as found:
        arrays = dict(found)
    np.savez(path, **{name: array for name, array in arrays.items() if name != "spread"})
    with pytest.raises(ValueError, match=r"TreeTrack\.load: .*a\.npz must hold a TreeTrack; it has no 'spread'"):
        TreeTrack.load(path)
    np.savez(path, **{**arrays, "qid": np.array([1, "a", None, 2, 3, 4], dtype=object)})
    with pytest.raises(ValueError, match=r"a\.npz is damaged, or no \.npz file: its 'qid' cannot be read") as caught:
        TreeTrack.load(path)
    assert "pickle" not in f"{caught.value}{caught.value.__cause__}"
    np.savez(path, **{**arrays, "about": np.array("{")})
    with pytest.raises(ValueError, match=r"a\.npz is damaged, or no \.npz file: its 'about' cannot be read"):
        TreeTrack.load(path)


def retold(path, change):
    """The file, with what it tells of itself in words as ``change`` makes it, and whole."""
    if path.suffix == ".npz":
        with np.load(path) as found:
            arrays = dict(found)
        np.savez(path, **{**arrays, "about": np.array(json.dumps(change(json.loads(str(arrays["about"])))))})
        return
    table = pyarrow.parquet.read_table(path)
    with pyarrow.parquet.ParquetFile(path) as found:
        text = json.dumps(change(json.loads(found.metadata.metadata[b"boostsoft.tree_track"]))).encode()
    checksum = zlib.crc32(text)
    for name in ("trees", "value"):
        checksum = zlib.crc32(np.ascontiguousarray(table[name].to_numpy()).data, checksum)
    footer = {b"boostsoft.tree_track": text, b"boostsoft.checksum": str(checksum).encode()}
    pyarrow.parquet.write_table(table.replace_schema_metadata(footer), path)


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda about: [about], r"must hold a TreeTrack; its ('about'|footer) is \[\{"),
        (lambda _: None, r"must hold a TreeTrack; its ('about'|footer) is None"),
        (lambda about: {**about, "version": 2, "shape": 3, "arrays": 3}, "must be of version 1; got 2"),
        (lambda about: {**about, "metrics": ["ndcg@10("]}, "must hold a TreeTrack; Metric.parse: cannot read"),
        (lambda about: {**about, "metrics": 3}, "must hold a TreeTrack; 'int' object is not iterable"),
        (lambda about: {**about, "metrics": [3]}, "must hold a TreeTrack; 'int' object"),
        (lambda about: {**about, "start": "x"}, "must hold a TreeTrack; TreeTrack: start must be a whole number"),
        (lambda about: {**about, "label": 3}, "must hold a TreeTrack; TreeTrack: label must be a text"),
    ],
)
def test_a_file_that_tells_what_no_track_does_is_named(tmp_path, suffix, change, message):
    path = track().save(tmp_path / f"a.{suffix}")
    retold(path, lambda about: about)
    equal(TreeTrack.load(path), track())
    retold(path, change)
    with pytest.raises(ValueError, match=rf"^TreeTrack\.load: .*a\.{suffix} {message}"):
        TreeTrack.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": 3}, "is damaged, .* rows for values of the shape 3"),
        ({"shape": None}, "is damaged, .* rows for values of the shape None"),
        ({"arrays": 3}, "is damaged, "),
        ({"arrays": {}}, "must hold a TreeTrack; it has no 'query_weight'"),
        ({"arrays": {"qid": 3}}, "is damaged, "),
        ({"arrays": {"qid": "@@"}}, "is damaged, .*No data left"),
    ],
    ids=str,
)
def test_a_parquet_file_whose_footer_holds_other_things_is_named(tmp_path, change, message):
    path = track().save(tmp_path / "a.parquet")
    retold(path, lambda about: {**about, **change})
    with pytest.raises(ValueError, match=rf"^TreeTrack\.load: .*a\.parquet {message}"):
        TreeTrack.load(path)
