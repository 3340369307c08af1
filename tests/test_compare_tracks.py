"""Comparisons of tracks: steps, metrics and queries that they share."""

from __future__ import annotations

import inspect
import math
from dataclasses import fields

import numpy as np
import pytest

from boostsoft import Metric
from boostsoft.kernels.expected import expect_queries
from boostsoft.tracking.compared import ComparedMetric
from boostsoft.tracking.comparison import compare

from .compare_cases import SCORE, SIZES, SPREAD, scores, track_of


def tracks_of_scores(y, *systems, **more):
    """One track per system, as if it were the last step, with a step of nothing before it."""
    metrics = (Metric("ndcg@10"), SPREAD, SCORE)
    for score in systems:
        values = [[metric.per_query(y, score, group=SIZES) for metric in metrics]]
        spread = math.sqrt(np.mean([np.var(part) for part in np.split(score, len(SIZES))]))
        yield track_of(
            [np.zeros((3, len(SIZES))), *values], metrics=metrics, y=y, score=score, sizes=SIZES, spread=spread, **more
        )


def test_tracks_and_score_vectors_give_the_same():
    y, a, b = scores(seed=8)
    first, second = tracks_of_scores(y, a, b)
    of_tracks = compare(first, second)
    of_scores = compare(a, b, y_true=y, group=SIZES, metrics=["ndcg@10", SPREAD, SCORE])
    assert len(of_tracks.rows) == len(of_scores.rows) == 5
    for row, other in zip(of_tracks.rows, of_scores.rows, strict=True):
        for field in fields(ComparedMetric):
            assert getattr(row, field.name) == pytest.approx(getattr(other, field.name), nan_ok=True), field.name
    assert of_tracks.labels == ("a (2 trees)", "b (2 trees)")


def test_scores_without_labels_have_no_control():
    values = np.random.default_rng(0).random((2, 2, 60))
    track = track_of(values, metrics=(SPREAD, SCORE), score=np.arange(float(sum(SIZES))), sizes=SIZES)
    found = compare(track, track, step_a=0)
    assert [row.kind for row in found.rows] == ["soft", "control", "soft"]
    assert found.rows[1].identical


def test_two_steps_of_one_track():
    y, a, b = scores(seed=9)
    _, track = tracks_of_scores(y, a, b, label="forest")
    found = compare(track, track, step_a=0)
    assert found.labels == ("forest (1 tree)", "forest (2 trees)")
    assert str(found).startswith("a: forest (1 tree), b: forest (2 trees)\nmetric ")
    assert "a: forest (1 tree), b: forest (2 trees)" in found._repr_html_()
    assert compare(track, track).labels == ("forest (a, 2 trees)", "forest (b, 2 trees)")
    assert found.rows[0].difference == pytest.approx(Metric("ndcg@10")(y, b, group=SIZES))
    # of the last step only the scores are known: b's are scaled back to a's spread, which here is the same
    assert found.row("ndcg_score", "control").difference == 0.0
    neither = compare(track, track, step_a=0, step_b=0)
    assert [row.kind for row in neither.rows] == ["hard", "soft", "control", "soft"]
    assert "No control of ndcg_score: it needs labels" in str(neither)
    assert "Control of ndcg_gaussian@10: 0 by its unit, not computed" in str(neither)
    control = neither.row("ndcg_gaussian@10", "control")
    assert (control.a, control.difference, control.identical) == (neither.rows[1].a, 0.0, True)


def test_control_of_b_when_only_its_scores_are_known():
    y, _, b = scores(seed=9)
    values = np.stack([metric.per_query(y, b, group=SIZES) for metric in (Metric("ndcg@10"), SCORE)])
    first = track_of([values], metrics=("ndcg@10", SCORE), spread=0.5)
    second = track_of([values], metrics=("ndcg@10", SCORE), spread=2.0, y=y, score=b, sizes=SIZES)
    shrunk = SCORE.per_query(y, b / 4.0, group=SIZES)
    control = compare(first, second).row("ndcg_score", "control")
    assert control.difference == pytest.approx((values[1] - shrunk).mean(), rel=1e-9)


def test_a_control_compiles_no_kernel_for_a_tracks_arrays():
    """They are read-only, another type to Numba, for which an installation has no kernels."""
    y, _, b = scores(seed=9)
    values = np.stack([metric.per_query(y, b, group=SIZES) for metric in (Metric("ndcg@10"), SCORE)])
    track = track_of([values, values], metrics=("ndcg@10", SCORE), y=y, score=b, sizes=SIZES)
    assert compare(track, track, step_a=0).row("ndcg_score", "control")
    at = [*inspect.signature(expect_queries.py_func).parameters].index("scores")
    assert [types[at].mutable for types in expect_queries.signatures] == [True]


def test_differences_of_a_billionth_are_rounding_however_small_the_values_are():
    base = np.linspace(0.1, 0.5, 9)[None, None]
    assert compare(track_of(base), track_of(base + 0.9e-9)).rows[0].identical
    assert not compare(track_of(base), track_of(base + 1.1e-9)).rows[0].identical


def test_metrics_of_tracks_that_stand_in_another_order():
    values = np.random.default_rng(0).random((2, 1, 3, 40))
    a = track_of(values[0], metrics=("ndcg@10", "map", "mrr"))
    b = track_of(values[1], metrics=("mrr", "ndcg@10", "map"))
    found = compare(a, b, metrics=["map", "mrr"])
    gaps = values[1, 0, [2, 0]].mean(axis=1) - values[0, 0, [1, 2]].mean(axis=1)
    assert [row.metric for row in found.rows] == ["map", "mrr"]
    assert [row.difference for row in found.rows] == pytest.approx(gaps.tolist())
    assert [row.metric for row in compare(a, b).rows] == ["ndcg@10", "map", "mrr"]
    assert compare(a, b).rows[0].difference == pytest.approx((values[1, 0, 1] - values[0, 0, 0]).mean())


def test_half_of_three_queries_is_one():
    """Two of three queries agree with their sum; of the three pairs one would."""
    base = np.full((1, 1, 3), 0.5)
    row = compare(track_of(base), track_of(base + np.array([0.1, 0.1, -0.15])), n_boot=4000).rows[0]
    assert row.agrees_half == pytest.approx(2 / 3, abs=0.03)


def test_tracks_of_other_lengths():
    values = np.random.default_rng(0).random((5, 1, 40))
    found = compare(track_of(values[:2]), track_of(values, spread=np.arange(1.0, 6.0)), step_a=0, step_b=3)
    assert found.spreads == (1.0, 4.0)
    assert found.rows[0].difference == pytest.approx((values[3] - values[0]).mean())
    last = compare(track_of(values[:2]), track_of(values)).rows[0]
    assert last.difference == pytest.approx((values[4] - values[1]).mean())
    with pytest.raises((ValueError, IndexError), match="compare: step_b must"):
        compare(track_of(values), track_of(values[:2]), step_b=3)


def test_metrics_of_tracks_by_name():
    y, a, b = scores(seed=8)
    first, second = tracks_of_scores(y, a, b)
    for one in ("ndcg@10", 0, Metric("ndcg@10")):
        assert [row.metric for row in compare(first, second, metrics=one).rows] == ["ndcg@10"]
    alone = compare(first, second, metrics=[SPREAD]).rows[0]
    assert math.isnan(alone.agrees_half)  # without its twin there is nothing to agree with
    less = track_of(second.per_query[:, :1], spread=second.spread[0])
    assert [row.metric for row in compare(first, less).rows] == ["ndcg@10"]
    with pytest.raises(ValueError, match=r"compare: b must have been measured with SoftMetric"):
        compare(first, less, metrics=SPREAD)
    with pytest.raises(ValueError, match="compare: metrics must be one of"):
        compare(first, second, metrics="map")
    with pytest.raises(ValueError, match="metrics must name one at least, and none twice"):
        compare(first, second, metrics=[0, "ndcg@10"])
    with pytest.raises(ValueError, match="metrics must name one at least, and none twice"):
        compare(first, second, metrics=[])
    with pytest.raises(ValueError, match="a and b must share a metric"):
        compare(less, track_of(less.per_query, metrics=("map",)))


def test_tracks_of_other_queries():
    values = np.random.default_rng(0).random((1, 1, 4))
    plain = track_of(values)
    with pytest.raises(ValueError, match="a and b must have the same queries; got 4 and 3"):
        compare(plain, track_of(values[:, :, :3]))
    with pytest.raises(ValueError, match="same query weights"):
        compare(plain, track_of(values, weights=[1, 2, 1, 1]))
    with pytest.raises(ValueError, match="their qid differ"):
        compare(track_of(values, qid=np.arange(4)), track_of(values, qid=np.arange(1, 5)))
    with pytest.raises(ValueError, match="their y_true differ"):
        compare(track_of(values, y=[0, 1, 0, 1], sizes=[1] * 4), track_of(values, y=[0, 1, 0, 0], sizes=[1] * 4))
    with pytest.raises(ValueError, match="same documents per query"):
        compare(track_of(values, sizes=[1, 1, 1, 1]), track_of(values, sizes=[1, 2, 1, 1]))
    with pytest.raises(ValueError, match="step_a must be from -1 to 0; got 1"):
        compare(plain, plain, step_a=1)
