"""TreeTrack: means, changes and their errors against sums written out."""

from __future__ import annotations

import copy
import datetime
import math
import pickle
from dataclasses import fields, replace

import numpy as np
import pytest

from boostsoft import Metric, QueryGroups
from boostsoft.metric_lists import logged_name
from boostsoft.tracks import WorstQuery
from boostsoft.tracks.builder import TrackBuilder, as_metrics

from .memory import peak_memory
from .tree_track_cases import HARD, MISSING, N_QUERIES, SOFT, STEPS, WEIGHTS, long_track, track


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
    monkeypatch.setattr("boostsoft.query_means._HELD", 7)
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
        ("spread must hold numbers; got dtype object", {"spread": None}),
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
        (lambda t: t.band(seed=-1), "band: seed must be from 0 "),
        (lambda t: t.resampled(n_boot=0), "resampled: n_boot must be from 1 "),
        (lambda t: t.worst_queries(step=4), "worst_queries: step must be from -4 to 3; got 4"),
        (lambda t: t.worst_queries(step=-5), "worst_queries: step must be from -4 to 3; got -5"),
        (lambda t: t.worst_queries(by="name"), "worst_queries: by must be one of 'value', 'change'; got 'name'"),
        (lambda t: t.worst_queries(n=0), "worst_queries: n must be from 1"),
        (lambda t: t.to_frame("arrow"), "to_frame: kind must be one of 'pandas', 'polars'; got 'arrow'"),
    ],
)
def test_wrong_arguments_are_refused(call, match):
    with pytest.raises(ValueError, match=rf"^TreeTrack\.{match}"):
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
        ({"scores": np.arange(13) + 1j}, TypeError, "scores must hold numbers; got dtype complex128"),
        ({"scores": np.arange(13).astype("m8[s]")}, TypeError, "scores must hold numbers; got dtype timedelta64"),
        ({"y_true": ["1"] * 13}, TypeError, "y_true must hold numbers; got dtype <U1"),
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
