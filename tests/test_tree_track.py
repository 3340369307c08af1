"""TreeTrack: means, changes and their errors against sums written out, and files that come back to the last digit."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import errno
import json
import math
import pickle
import sys
import zlib
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet
import pytest

from boostsoft import Metric, QueryGroups, SoftMetric
from boostsoft.metric_lists import logged_name
from boostsoft.tracks import TreeTrack, WorstQuery
from boostsoft.tracks.builder import TrackBuilder, as_metrics

from .memory import peak_memory
from .releases import left_out

HARD = Metric("ndcg@10", empty="skip")
SOFT = SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread")
N_QUERIES, STEPS = 6, (2, 3, 5, 8)
WEIGHTS = np.array([1.0, 2.0, 0.5, 3.0, 1.5, 0.0])
MISSING = 4  # the query that the hard metric skips


def track(weights=WEIGHTS, **fields):
    """Random values of six queries; the hard metric skips one, and another weighs nothing."""
    rng = np.random.default_rng(0)
    per_query = rng.uniform(size=(len(STEPS), 2, N_QUERIES))
    beginning = rng.uniform(size=(2, N_QUERIES))
    per_query[:, 0, MISSING] = beginning[0, MISSING] = np.nan
    given = {
        "metrics": (HARD, SOFT),
        "steps": np.array(STEPS),
        "per_query": per_query,
        "beginning": beginning,
        "start": 1,
        "query_weight": weights,
        "spread": np.array([0.1, 0.2, 0.3, 0.4]),
        "groups": QueryGroups.from_sizes([2, 3, 1, 4, 2, 1]),
        "y_true": np.arange(13) % 3,
        "scores": rng.normal(size=13),
        "qid": np.array(["a", "b", "c", "d", "e", "f"]),
        "label": "a model",
    }
    return TreeTrack(**{**given, **fields})


def measured(weights):
    """A track of real scores, built step by step, and the scores."""
    rng = np.random.default_rng(1)
    labels, groups = rng.integers(0, 4, 30), QueryGroups.from_sizes([10, 7, 13])
    labels[10:17] = 0
    scores = rng.normal(size=(4, 30))
    builder = TrackBuilder("test", as_metrics("test", [HARD, SOFT]), labels, groups, np.array(weights))
    builder.begin(0, scores[0])
    for trees in (1, 2, 3):
        builder.add(trees, scores[trees])
    return builder.track(), labels, groups, scores


def literal_means(values, weights):
    """Weighted mean over the queries that are there, one by one."""
    pairs = [(w, v) for w, v in zip(weights, values, strict=True) if not math.isnan(v)]
    return sum(w * v for w, v in pairs) / sum(w for w, _ in pairs)


@pytest.mark.parametrize("weights", [[1.0, 1.0, 1.0], [0.3, 2.0, 0.7], [0.0, 1.0, 2.0]])
def test_means_are_those_of_the_metrics_to_the_last_bit(weights):
    found, labels, groups, scores = measured(weights)
    for at, metric in enumerate(found.metrics):
        means = [metric(labels, row, group=groups, query_weight=weights) for row in scores]
        assert found.mean[:, at].tolist() == means[1:]
        assert found.beginning_mean[at] == means[0]
        np.testing.assert_array_equal(found.change[:, at], np.diff(means))


def test_built_values_are_those_of_the_metrics():
    found, labels, groups, scores = measured([1.0, 2.0, 3.0])
    for step in (1, 2, 3):
        np.testing.assert_array_equal(found.per_query[step - 1, 0], HARD.per_query(labels, scores[step], group=groups))
        soft = SOFT.per_query(labels, scores[step], group=groups, query_weight=[1, 2, 3])
        np.testing.assert_array_equal(found.per_query[step - 1, 1], soft)
    np.testing.assert_array_equal(found.scores, scores[3])
    assert np.isnan(found.per_query[:, 0, 1]).all()


def test_the_builder_keeps_more_steps_than_it_has_room_for():
    builder = TrackBuilder("test", as_metrics("test", "mrr"), [0, 1], QueryGroups.from_sizes([2]), np.ones(1))
    builder.begin(0, [1.0, 0.0])
    buffer = np.zeros(2)
    for trees in range(1, 40):
        buffer[:] = [0.0, trees % 2]
        builder.add(trees, buffer)
    last = builder.track()
    buffer[:] = 7.0
    assert last.per_query[:, 0, 0].tolist() == [1.0 if trees % 2 else 0.75 for trees in range(1, 40)]
    assert last.scores.tolist() == builder.track().scores.tolist() == [0.0, 1.0]
    assert last.spread.tolist() == [0.5 * (trees % 2) for trees in range(1, 40)]


def test_errors_of_a_change_are_paired():
    found = track()
    before = np.concatenate([found.beginning[None], found.per_query[:-1]])
    for step in range(len(STEPS)):
        for metric in range(2):
            differences = found.per_query[step, metric] - before[step, metric]
            used = [q for q in range(N_QUERIES) if WEIGHTS[q] > 0 and not math.isnan(differences[q])]
            mean = literal_means(differences[used], WEIGHTS[used])
            squares = sum((WEIGHTS[q] * (differences[q] - mean)) ** 2 for q in used)
            n, total = len(used), sum(WEIGHTS[used])
            assert found.change[step, metric] == pytest.approx(mean, rel=1e-12)
            assert found.change_error[step, metric] == pytest.approx(
                math.sqrt(n / (n - 1) * squares) / total, rel=1e-12
            )
    assert used == [0, 1, 2, 3, 4]


def test_equal_weights_give_the_standard_error():
    found = track(np.full(N_QUERIES, 3.0))
    differences = found.per_query[1, 1] - found.per_query[0, 1]
    assert found.change_error[1, 1] == pytest.approx(differences.std(ddof=1) / math.sqrt(N_QUERIES), rel=1e-12)


def test_one_query_has_no_error():
    found = track(np.array([0.0, 0, 0, 0, 1, 2]))
    assert np.isnan(found.change_error[:, 0]).all()
    assert np.isfinite(found.change_error[:, 1]).all()


def test_one_query_has_no_band():
    low, high = track(np.array([0.0, 0, 0, 0, 1, 2])).band(n_boot=50)
    assert np.all(low[:, 0] == -np.inf)
    assert np.all(high[:, 0] == np.inf)
    assert np.isfinite([low[:, 1], high[:, 1]]).all()


def test_no_query_has_no_mean():
    found = track(np.array([0.0, 0, 0, 0, 1, 0]))
    assert np.isnan(found.mean[:, 0]).all()
    assert np.isnan(found.band()[0][:, 0]).all()
    assert found.worst_queries(metric=0) == ()


def test_infinite_values_are_means_without_error():
    per_query = track().per_query.copy()
    per_query[2, 1, 0] = np.inf
    found = track(per_query=per_query)
    assert np.isinf(found.mean[2, 1])
    assert np.isnan(found.change_error[2, 1])
    assert np.isfinite(found.change_error[[0, 1]]).all()
    assert np.isnan(found.band(n_boot=50)[0][2, 1])
    assert found.worst_queries(step=2, metric=1)[-1].value == np.inf


def test_what_stays_infinite_changes_by_no_number_and_warns_of_nothing():
    per_query = track().per_query.copy()
    per_query[1:3, 1, 0] = np.inf
    found = track(per_query=per_query)
    assert np.isnan(found.change[2, 1])
    assert np.isnan(found.changes(1)[2, 0])
    assert np.isnan(found.worst_queries(step=2, metric=1)[-1].change)


def test_the_band_is_of_resampled_queries():
    found = track()
    low, high = found.band(level=0.8, n_boot=200, seed=3)
    for metric, n in ((0, 4), (1, 5)):  # the queries that count
        used = [q for q in range(N_QUERIES) if WEIGHTS[q] > 0 and not (metric == 0 and q == MISSING)]
        assert len(used) == n
        rng, means = np.random.default_rng(3), []
        for _ in range(200):
            drawn = [used[at] for at in rng.integers(n, size=n)]
            means.append([literal_means(found.per_query[step, metric, drawn], WEIGHTS[drawn]) for step in range(4)])
        np.testing.assert_allclose(low[:, metric], np.quantile(means, 0.1, axis=0), rtol=1e-12)
        np.testing.assert_allclose(high[:, metric], np.quantile(means, 0.9, axis=0), rtol=1e-12)
    assert np.all(low <= found.mean)
    assert np.all(found.mean <= high)


def test_blocks_change_nothing(monkeypatch):
    whole = track()
    expected = (whole.mean, whole.change_error, *whole.band(n_boot=50))
    monkeypatch.setattr("boostsoft.query_means._CELLS", 7)
    monkeypatch.setattr("boostsoft.query_means._DRAWN", 7)
    monkeypatch.setattr("boostsoft.query_means._COUNTED", 5)
    parts = track()
    for found, value in zip((parts.mean, parts.change_error, *parts.band(n_boot=50)), expected, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-13)


def test_the_same_resamples_serve_all_steps():
    found = track()
    constant = track(per_query=np.repeat(found.per_query[:1], len(STEPS), axis=0))
    resampled = constant.resampled(1, n_boot=20)
    assert resampled.shape == (20, 4)
    np.testing.assert_allclose(resampled, np.repeat(resampled[:, :1], 4, axis=1), rtol=1e-13)
    assert np.ptp(resampled[:, 0]) > 0
    assert not np.array_equal(resampled, constant.resampled(1, n_boot=20, seed=1))


def test_the_worst_queries_come_first():
    found = track()
    values = found.per_query[2, 1]
    change = values - found.per_query[1, 1]
    counted = [0, 1, 2, 3, 4]  # the last weighs nothing
    by_value = sorted(counted, key=lambda q: values[q])
    worst = found.worst_queries(step=2, metric="ndcg_gaussian@10")
    assert [query for query, *_ in worst] == by_value
    q = by_value[0]
    assert worst[0] == WorstQuery(q, "abcdef"[q], [2, 3, 1, 4, 2, 1][q], values[q], change[q])
    assert type(worst[0].qid) is str
    by_change = found.worst_queries(step=2, metric=1, n=2, by="change")
    assert [worst.query for worst in by_change] == sorted(counted, key=lambda q: change[q])[:2]
    assert MISSING not in [worst.query for worst in found.worst_queries()]
    first = found.worst_queries(step=0, metric=1, n=1)[0]
    assert first.change == found.per_query[0, 1, first.query] - found.beginning[1, first.query]
    assert found.worst_queries(step=-4, metric=1, n=1)[0] == first
    second = found.worst_queries(step=1, metric=1, n=1)[0]
    assert second.change == found.per_query[1, 1, second.query] - found.per_query[0, 1, second.query]


def test_queries_that_do_equally_badly_keep_their_order():
    values = np.tile([0.5, 0.25, 1.0], 200)[None, None]
    found = track(
        np.ones(600), metrics=(SOFT,), steps=[1], per_query=values, beginning=values[0], start=0, spread=np.ones(1),
        groups=None, y_true=None, scores=None, qid=None,
    )  # fmt: skip
    wanted = [*range(1, 600, 3), *range(0, 600, 3)]
    assert [worst.query for worst in found.worst_queries(n=400)] == wanted


def test_by_default_the_ten_worst_of_the_last_step_by_their_value_and_a_band_of_95_percent():
    values = np.random.default_rng(0).uniform(size=(3, 1, 12))
    found = track(
        np.ones(12), metrics=(SOFT,), steps=[1, 2], per_query=values[1:], beginning=values[0], start=0,
        spread=np.ones(2), groups=None, y_true=None, scores=None, qid=None,
    )  # fmt: skip
    assert [worst.query for worst in found.worst_queries()] == np.argsort(values[2, 0])[:10].tolist()
    np.testing.assert_array_equal(found.band(), found.band(level=0.95, n_boot=1000, seed=0))


def test_resamples_are_of_the_queries_that_count_wherever_they_are():
    values, weights = np.random.default_rng(0).uniform(size=(3, 1, 6)), np.array([0.0, 1, 2, 0, 1, 3])
    fields = {"metrics": (SOFT,), "steps": [1, 2], "start": 0, "spread": np.ones(2), "groups": None, "qid": None}
    whole, kept = (
        track(weights[at], per_query=values[1:, :, at], beginning=values[0][:, at], **fields)
        for at in (slice(None), weights > 0)
    )
    np.testing.assert_array_equal(whole.resampled(), kept.resampled())


def test_ids_and_documents_may_be_unknown():
    worst = track(qid=None, groups=None).worst_queries(n=1)[0]
    assert (worst.qid, worst.n_docs) == (None, None)


@pytest.mark.parametrize(
    ("unit", "step", "kind"),
    [("D", 1, datetime.date), ("ns", 1000, datetime.datetime), ("ns", 1, np.datetime64)],
)
def test_ids_that_are_times_stay_times(unit, step, kind):
    ids = np.datetime64("2024-01-01", unit) + step * np.arange(1, 7)
    worst = track(qid=ids).worst_queries(n=1)[0]
    assert type(worst.qid) is kind
    assert np.datetime64(worst.qid) == ids[worst.query]


def test_a_metric_has_a_position_a_name_and_a_value():
    found = track()
    assert found.names == ("ndcg@10", "ndcg_gaussian@10")
    assert [found.index(metric) for metric in (0, 1, -1, -2, "ndcg_gaussian@10", HARD, SOFT)] == [0, 1, 1, 0, 1, 0, 1]
    assert (found.n_steps, found.n_metrics, found.n_queries) == (4, 2, 6)
    assert repr(found) == ("TreeTrack('a model', ndcg@10, ndcg_gaussian@10; 4 steps from 2 to 8 trees, 6 queries)")
    assert repr(track(label="")).startswith("TreeTrack(ndcg@10, ")


@pytest.mark.parametrize(
    ("metric", "error", "match"),
    [
        (2, ValueError, r"one of the 2 \('ndcg@10', 'ndcg_gaussian@10'\); got 2"),
        ("mrr", ValueError, "one of 'ndcg@10', 'ndcg_gaussian@10'; got 'mrr'"),
        (Metric("ndcg@10"), ValueError, r"one of .*; got Metric\("),
        (0.5, TypeError, "a position, a name or a metric; got 0.5"),
        (True, TypeError, "a position, a name or a metric; got True"),
    ],
)
def test_an_unknown_metric_is_refused(metric, error, match):
    with pytest.raises(error, match=f"TreeTrack: metric must be {match}"):
        track().index(metric)


@pytest.mark.parametrize(("kind", "library"), [("pandas", pd), ("polars", pl)])
def test_frames_hold_the_means(kind, library):
    found = track()
    frame = found.to_frame(kind)
    assert isinstance(frame, library.DataFrame)
    assert list(frame.columns) == ["trees", "metric", "mean", "change", "change_error"]
    rows = np.array([[*row] for row in frame.to_numpy()], dtype=object)
    assert rows[:3, :3].tolist() == [
        [2, "ndcg@10", found.mean[0, 0]],
        [2, "ndcg_gaussian@10", found.mean[0, 1]],
        [3, "ndcg@10", found.mean[1, 0]],
    ]
    assert rows[-1].tolist() == [8, "ndcg_gaussian@10", found.mean[3, 1], found.change[3, 1], found.change_error[3, 1]]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_hold_the_values(kind):
    found = track()
    frame = found.to_frame(kind, per_query=True)
    assert list(frame.columns) == ["trees", "metric", "query", "qid", "value"]
    assert frame.shape[0] == 4 * 2 * 6
    rows = frame.to_numpy()
    assert rows[6 + 1].tolist() == [2, "ndcg_gaussian@10", 1, "b", found.per_query[0, 1, 1]]
    assert rows[12 + 3].tolist() == [3, "ndcg@10", 3, "d", found.per_query[1, 0, 3]]
    assert "qid" not in track(qid=None).to_frame(kind, per_query=True).columns


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_hold_ids_as_what_they_are(kind):
    whole, longer, mixed = [3, 1, 7, 5, 2**60, -4], [2**70, 1, 2, 3, 4, 5], ["a", 1, 2, 3, 4, 5]
    wide = [2**63 + 1, -1, 2, 3, 4, 5]  # of which NumPy makes floats
    for ids in (whole, longer, wide, mixed):
        frame = track(qid=np.array(ids, dtype=object)).to_frame(kind, per_query=True)
        assert frame["qid"].to_list()[:6] == ids
        assert (str(frame["qid"].dtype).lower() == "int64") == (ids is whole)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_memory_that_a_frame_of_values_takes(kind):
    """Ids that are texts are held once."""
    values = np.random.default_rng(0).uniform(size=(51, 2, 300))
    ids = np.array([f"the query of number {at:08}" for at in range(300)])
    many = track(
        per_query=values[1:], steps=np.arange(2, 52), beginning=values[0], spread=np.ones(50), qid=ids,
        query_weight=np.ones(300), groups=None, y_true=None, scores=None,
    )  # fmt: skip
    numbers = dataclasses.replace(many, qid=np.arange(300))
    for one in (many, numbers):
        one.to_frame(kind, per_query=True)
    taken = [peak_memory(lambda one=one: one.to_frame(kind, per_query=True)) for one in (many, numbers)]
    assert taken[0] < 1.5 * taken[1]


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow"])
def test_a_library_that_is_not_there_is_named_with_its_extra(name, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, name, None)
    extra = "parquet" if name == "pyarrow" else name
    with pytest.raises(ImportError, match=rf"{name} is not installed: pip install 'boostsoft\[{extra}\]'"):
        track().save(tmp_path / "a.parquet") if name == "pyarrow" else track().to_frame(name)
    assert not list(tmp_path.iterdir())


def equal(a, b):
    """Every field to the last bit."""
    for field in fields(TreeTrack):
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
    found = track(y_true=np.zeros(9_000_000), scores=None, groups=None)
    equal(TreeTrack.load(found.save(tmp_path / "a.parquet")), found)


def long_track(n_steps, n_queries):
    """Zeros, of queries that count and weigh alike."""
    return track(
        steps=np.arange(2, n_steps + 2), per_query=np.zeros((n_steps, 2, n_queries)),
        beginning=np.zeros((2, n_queries)), query_weight=np.ones(n_queries), spread=np.ones(n_steps), groups=None,
        y_true=None, scores=None, qid=None,
    )  # fmt: skip


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


def test_a_track_in_the_making_is_not_copied():
    """And later steps, behind its own, leave it as it was."""
    builder = TrackBuilder("test", as_metrics("test", "mrr"), [0, 1], QueryGroups.from_sizes([2]), np.ones(1))
    builder.begin(0, [0.0, 0.0])
    for trees in range(1, 20):
        builder.add(trees, [0.2, 0.1])
    early = builder.track()
    assert np.shares_memory(early.per_query, builder.track().per_query)
    for trees in range(20, 40):
        builder.add(trees, [0.1, 0.2])
    assert (early.n_steps, early.mean.max()) == (19, 0.5)
    assert builder.track().mean[:, 0].tolist() == [0.5] * 19 + [1.0] * 20


def test_errors_of_changes_take_no_copy_of_the_values():
    found = long_track(1000, 20_000)
    assert peak_memory(lambda: found.change_error) < found.per_query.nbytes / 2
    np.testing.assert_array_equal(found.change_error, 0.0)


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
    with pytest.raises(ValueError, match=r"TreeTrack\.save: qid must hold only numbers or only texts; got \(1, 2\)"):
        track(qid=ids).save(tmp_path / "a.npz")


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


def test_arrays_are_read_only_and_the_callers_are_not():
    values = np.random.default_rng(0).uniform(size=(4, 2, 6))
    found = track(per_query=values, beginning=values[0])
    for array in (found.per_query, found.steps, found.mean, found.change):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert values.flags.writeable


@pytest.mark.parametrize("copied", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy], ids=["pickle", "copy"])
def test_arrays_of_copies_are_read_only(copied):
    found, whole = copied(track()), track()
    for field in fields(found):
        value = getattr(found, field.name)
        if isinstance(value, np.ndarray):
            assert not value.flags.writeable
            np.testing.assert_array_equal(value, getattr(whole, field.name))
        else:
            assert value == getattr(whole, field.name)


def test_scores_alone_need_no_documents_of_queries():
    assert track(groups=None, y_true=None).scores.size == 13


def test_a_track_can_be_changed_into_another():
    assert replace(track(), label="other").label == "other"


def with_nan(step, metric, query):
    per_query = track().per_query.copy()
    per_query[step, metric, query] = np.nan
    return per_query


REFUSED = {
    "steps must rise from above start=1; got 1 at position 0": {"steps": [1, 3, 5, 8]},
    "steps must rise from above start=1; got 3 at position 2": {"steps": [2, 3, 3, 8]},
    r"steps must have the shape \(n_steps\), \(4,\); got \(3,\)": {"steps": [2, 3, 5]},
    r"steps must be whole numbers up to 2\^53; got 3\.5 at position 1": {"steps": [2, 3.5, 5, 8]},
    r"spread must have the shape \(n_steps\), \(4,\); got \(2,\)": {"spread": [1, 2]},
    r"spread must have the shape \(n_steps\), \(4,\); got \(1,\)": {"spread": None},
    r"beginning must have the shape \(n_metrics, n_queries\), \(2, 6\); got \(1, 6\)": {"beginning": np.ones((1, 6))},
    r"query_weight must have the shape \(n_queries\), \(6,\); got \(5,\)": {"query_weight": np.ones(5)},
    "query_weight must not be negative; got -1": {"query_weight": [1, 1, 1, 1, 1, -1]},
    "query_weight must not be 0 for every query": {"query_weight": np.zeros(6)},
    r"qid must have the shape \(n_queries\), \(6,\); got \(2,\)": {"qid": ["a", "b"]},
    r"y_true must have the shape \(n_docs\), \(13,\); got \(12,\)": {"y_true": np.ones(12)},
    r"scores must have the shape \(n_docs\), \(13,\); got \(12,\)": {"scores": np.ones(12)},
    r"per_query must have the shape .*; got \(4, 6\)": {"per_query": np.ones((4, 6))},
    r"per_query must have the shape .*; got \(0, 2, 6\)": {"per_query": np.ones((0, 2, 6))},
    "metrics must be as many as in per_query, 2; got 1": {"metrics": [HARD]},
    "two metrics are called 'ndcg@10'": {"metrics": [HARD, Metric("ndcg@10")]},
    r"groups must hold 6 queries; got QueryGroups\(1 queries": {"groups": QueryGroups.from_sizes([13])},
    "start must be from 0": {"start": -1},
    "per_query must be NaN at all steps or at none; query 4 of ndcg@10 differs from the beginning at step 0": {
        "per_query": np.ones((4, 2, 6))
    },
    "per_query must be NaN at all steps or at none; query 2 of ndcg_gaussian@10 differs from the beginning at step 3": {
        "per_query": with_nan(step=3, metric=1, query=2)
    },
}


@pytest.mark.parametrize(("match", "wrong"), REFUSED.items(), ids=[str(at) for at in range(len(REFUSED))])
def test_what_does_not_fit_is_refused(match, wrong):
    with pytest.raises(ValueError, match=f"TreeTrack: {match}"):
        track(**wrong)


@pytest.mark.parametrize(
    ("match", "wrong"),
    [
        ("metrics must be Metrics and SoftMetrics; got 'mrr'", {"metrics": [HARD, "mrr"]}),
        ("groups must be QueryGroups or None; got", {"groups": [2, 3]}),
        ("label must be a text; got 3", {"label": 3}),
        ("spread must hold numbers; got dtype <U1", {"spread": list("abcd")}),
    ],
)
def test_other_types_are_refused(match, wrong):
    with pytest.raises(TypeError, match=f"TreeTrack: {match}"):
        track(**wrong)


def test_methods_name_what_they_refuse():
    for method in ("save", "load"):
        with pytest.raises(TypeError, match=rf"^TreeTrack\.{method}: path must be a path; got 5$"):
            getattr(track(), method)(5)
    with pytest.raises(TypeError, match=r"^TreeTrack\.to_frame: per_query must be True or False; got 'all'$"):
        track().to_frame(per_query="all")


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda t: t.band(level=1.0), "band: level must be below 1; got 1.0"),
        (lambda t: t.band(level=0), "band: level must be finite and above 0"),
        (lambda t: t.band(n_boot=19), "band: n_boot must be from 20 "),
        (lambda t: t.resampled(n_boot=0), "resampled: n_boot must be from 1 "),
        (lambda t: t.worst_queries(step=4), "worst_queries: step must be below the number of steps, 4; got 4"),
        (lambda t: t.worst_queries(step=-5), "worst_queries: step must be from -4"),
        (lambda t: t.worst_queries(by="name"), "worst_queries: by must be one of 'value', 'change'; got 'name'"),
        (lambda t: t.worst_queries(n=0), "worst_queries: n must be from 1"),
        (lambda t: t.to_frame("arrow"), "to_frame: kind must be one of 'pandas', 'polars'; got 'arrow'"),
    ],
)
def test_wrong_arguments_are_refused(call, match):
    with pytest.raises(ValueError, match=rf"TreeTrack\.\w+: .*{match.partition(': ')[2] or match}"):
        call(track())


def test_a_metric_by_its_name_in_a_boosters_log():
    found = track()
    hard = next(at for at, metric in enumerate(found.metrics) if isinstance(metric, Metric))
    assert found.index(logged_name(found.metrics[hard])) == found.index(found.names[hard]) == hard
    assert logged_name(found.metrics[hard]) not in found.names


def test_a_track_keeps_what_it_was_given():
    rng = np.random.default_rng(0)
    weights, labels, scores = WEIGHTS.copy(), np.arange(13.0) % 3, rng.normal(size=13)
    found = track(weights=weights, y_true=labels, scores=scores)
    kept = {name: getattr(found, name).copy() for name in ("query_weight", "y_true", "scores", "mean")}
    weights[:3], labels[:], scores[:] = 0.0, 9.0, 9.0
    for name, value in kept.items():
        np.testing.assert_array_equal(getattr(found, name), value)
    np.testing.assert_array_equal(replace(found, label="anew").mean, kept["mean"])


@pytest.mark.parametrize(
    ("fields", "error", "told"),
    [
        ({"metrics": 5}, TypeError, "metrics must be Metrics and SoftMetrics; got 5"),
        (
            {"spread": np.array([0.1, -0.2, 0.3, 0.4])},
            ValueError,
            "spread must not be negative; got -0.2",
        ),
    ],
)
def test_what_is_no_track_is_refused(fields, error, told):
    with pytest.raises(error, match=f"TreeTrack: {told}"):
        track(**fields)
