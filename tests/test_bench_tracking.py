"""The benchmark of tracking: what is measured beside what, on which trees and queries, and the arithmetic after it."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from boostsoft import cli
from boostsoft.bench import live_cost, run, settings, tracking
from boostsoft.bench.peers import Peers
from boostsoft.bench.pools import synthetic_pool
from boostsoft.bench.settings import full, quick
from boostsoft.bench.timing import Rounds, Silent

TINY = {"tracked_trees": 6, "tracked_pool": (10, 60), "leaves": 3, "live_trees": 3, "rounds": 2}
BOTH = Peers({"lightgbm": "4", "xgboost": "3"}, {})
ALONE = Peers({"lightgbm": "4"}, {"xgboost": "not installed"})
NAMES = ["ndcg@10", "ndcg_gaussian@10"]


def tiny(quick_run=False):
    return replace(full(None, None, 0), quick=quick_run, **TINY)


# ---------------------------------------------------------------------------------------------------------
# A finished model
# ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def finished():
    """The section, and every TreeTrack that was made for it."""
    tracks, patch, real = [], pytest.MonkeyPatch(), tracking.track_trees
    patch.setattr(tracking, "track_trees", lambda *given, **named: tracks.append(real(*given, **named)))
    try:
        return tracking.measure_finished(tiny(), Silent()), tracks
    finally:
        patch.undo()


def test_all_trees_and_documents_are_tracked(finished):
    _, (warm, *tracks) = finished
    assert warm.n_queries == 2
    assert len(tracks) == 2
    for track in tracks:
        assert track.steps.tolist() == [1, 2, 3, 4, 5, 6]
        assert (track.n_queries, track.scores.size) == (10, 600)
        assert list(track.names) == NAMES
        assert track.metrics[1].sigma_unit == "spread"


def test_tracking_is_held_against_one_prediction_and_a_call_of_each_metric(finished):
    section, _ = finished
    calls = [f"6 calls of {name}" for name in NAMES]
    assert [row["name"] for row in section.rows] == [tracking.TRACK, tracking.STAGED, tracking.PREDICTION, *calls]
    seconds = section.rounds.seconds
    least = seconds[tracking.PREDICTION] + seconds[calls[0]] + seconds[calls[1]]
    row = section.rows[0]
    assert row["ratio"].median == pytest.approx(np.median(seconds[tracking.TRACK] / least))
    assert [verdict.met for verdict in row["targets"]] == [row["ratio"].median <= 3.0]
    parts = [found["ratio"].low for found in section.rows[2:]]
    assert sum(parts) <= 1.0 + 1e-9
    assert all("targets" not in found for found in section.rows[1:])
    assert "6 trees of 3 leaves on 136 features, 600 documents" in section.note


def test_a_quick_look_is_held_against_nothing():
    section = tracking.measure_finished(replace(tiny(True), rounds=1), Silent())
    assert section.verdicts == []


@pytest.mark.parametrize(("seconds", "met"), [(5.9, True), (6.1, False)])
def test_the_target_is_for_tracking_alone(monkeypatch, seconds, met):
    """Three times what a prediction takes, a second here, and the calls, of half a second each."""
    took = {tracking.TRACK: seconds, tracking.STAGED: 9.0 if met else 1.0, tracking.PREDICTION: 1.0}

    def interleaved(contenders, rounds, watcher):
        return Rounds({one.name: np.full(rounds, took.get(one.name, 0.5)) for one in contenders})

    monkeypatch.setattr(tracking, "interleave", interleaved)
    section = tracking.measure_finished(tiny(), Silent())
    assert [verdict.met for verdict in section.verdicts] == [met]
    assert [row["ratio"].median for row in section.rows[1:]] == [took[tracking.STAGED] / 2, 0.5, 0.25, 0.25]


def test_calls_at_some_steps_stand_for_all(monkeypatch):
    pool, seen = synthetic_pool(3, 4), []
    stages = [np.full(12, value) for value in (1.0, 2.0)]

    def fake_timed(action):
        return lambda: action() or 0.5

    monkeypatch.setattr(tracking, "timed", fake_timed)
    measure = tracking._call_measure(
        lambda labels, scores, group: seen.append((labels, scores, group)), pool, stages, 10
    )
    assert measure() == 2.5
    assert [scores[0] for _, scores, _ in seen] == [1.0, 2.0]
    assert all(labels is pool.labels and group is pool.sizes for labels, _, group in seen)


def test_the_sampled_scores_are_the_models_own(monkeypatch):
    monkeypatch.setattr(tracking, "_SAMPLE", 3)
    pool = synthetic_pool(10, 60)
    X = pool.features()
    model = tracking._finished_model(pool, X, tiny())
    assert model.num_trees() == 6
    stages = tracking._sampled_stages(model, X, 6)
    for trees, scores in zip((2, 4, 6), stages, strict=True):
        np.testing.assert_array_equal(scores, model.predict(X, num_iteration=trees, raw_score=True))


@pytest.mark.parametrize(("queries", "used"), [(30, 3), (5, 1)])
def test_the_tracked_model_is_grown_on_a_tenth_of_the_queries(queries, used, monkeypatch):
    pool, grown = synthetic_pool(queries, 4), []
    monkeypatch.setattr("lightgbm.train", lambda *given: grown.append(given))
    tracking._finished_model(pool, pool.features(), tiny())
    [(parameters, data, trees)] = grown
    assert data.data.shape == (4 * used, 136)
    assert data.label.tolist() == pool.labels[: 4 * used].tolist()
    assert data.group.tolist() == [4] * used
    assert (parameters["num_leaves"], trees) == (3, 6)


# ---------------------------------------------------------------------------------------------------------
# A model in training
# ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def live():
    """The section, and every callback that was made for it."""
    pytest.importorskip("xgboost")
    callbacks, patch = [], pytest.MonkeyPatch()

    def kept(real):
        def build(*given, **named):
            callbacks.append(real(*given, **named))
            return callbacks[-1]

        return build

    for library, name in ((live_cost.soft_lightgbm, "track_callback"), (live_cost.soft_xgboost, "TrackCallback")):
        patch.setattr(library, name, kept(getattr(library, name)), raising=False)
    try:
        return live_cost.measure_live(synthetic_pool(20, 30), tiny(), BOTH, Silent()), callbacks
    finally:
        patch.undo()


def rows_of(section):
    return {row["name"]: row for row in section.rows}


def test_each_training_runs_without_and_with_the_callback(live):
    rows = rows_of(live[0])
    lambdarank, ndcg = "LightGBM lambdarank", "XGBoost rank:ndcg, topk 10"
    ours = ["LightGBM, boostsoft gaussian", "XGBoost, boostsoft gaussian"]
    assert set(rows) == {
        name + suffix
        for name in (lambdarank, ndcg, *ours)
        for suffix in ("", ", tracked", ", its own ndcg@10")
        if name not in ours or suffix != ", its own ndcg@10"
    }
    assert live[0].left_out == {}
    assert "3 trees of at most 3 leaves on 136 features; every tree is measured on 4 other queries" in live[0].note
    assert live[0].note.endswith("within each of 2 rounds.")


def test_every_tree_is_recorded(live):
    tracks = [callback.track for callback in live[1]]
    assert [track.n_steps for track in tracks] == [2] * 4 + [3] * 8  # two trees warm up
    for track in tracks:
        assert list(track.names) == NAMES
        np.testing.assert_array_equal(track.y_true, synthetic_pool(4, seed=1).labels)


def test_the_callback_is_held_against_the_training_without_it(live):
    section, seconds, trees = live[0], live[0].rounds.seconds, 3
    for name, row in rows_of(section).items():
        assert row["tree"].median == pytest.approx(np.median(seconds[name]) * 1e3 / trees)
        without = name.replace(", tracked", "").replace(", its own ndcg@10", "")
        if name == without:
            assert not {"ratio", "inside", "share", "targets"} & set(row)
            continue
        assert row["ratio"].median == pytest.approx(np.median(seconds[name] / seconds[without]))
        assert ("targets" in row) == ("inside" in row) == name.endswith(", tracked")
        if "targets" in row:
            assert 0 < row["inside"].median < row["tree"].high
            assert [v.met for v in row["targets"]] == [row["ratio"].median <= 1.05, row["share"].median <= 0.05]


def test_time_inside_the_callback(monkeypatch):
    now = iter([10.0, 11.0, 20.0, 22.5])
    monkeypatch.setattr(live_cost.time, "perf_counter", lambda: next(now))
    clock = live_cost._Clock()
    assert clock.around(lambda a, b: a - b)(5, b=3) == 2
    with pytest.raises(ZeroDivisionError):
        clock.around(lambda: 1 / 0)()
    assert clock.seconds == 3.5


@pytest.mark.parametrize("own", [True, False])
def test_the_boosters_own_metric_is_that_of_the_callback(own, monkeypatch):
    pytest.importorskip("xgboost")
    given = []
    for library in ("lightgbm", "xgboost"):
        monkeypatch.setattr(f"{library}.train", lambda parameters, *_, **named: given.append((parameters, named)))
    runs = live_cost._Runs(synthetic_pool(5, 4), tiny())
    for run_ in (runs._lightgbm_run, runs._xgboost_run):
        run_("own", live_cost.OWN if own else "", 3, live_cost._Clock())
    (lightgbm, at_all), (xgboost, there) = given
    assert (lightgbm["metric"], lightgbm["eval_at"]) == ("ndcg" if own else "None", [10])
    assert xgboost.get("eval_metric") == ("ndcg@10" if own else None)
    assert at_all["callbacks"] == there["callbacks"] == []
    assert at_all["valid_sets"] == [runs._lightgbm_data()[1]]
    assert there["evals"] == [(runs._xgboost_data()[1], "valid")]


def test_every_step_of_the_callback_is_timed(monkeypatch):
    """A second before the training, two after a tree and four after the training; eight before a tree are not its."""
    pytest.importorskip("xgboost")
    now = [0.0]

    def step(seconds):
        def take(*_):
            now[0] += seconds

        return take

    class Callback:
        before_training, after_iteration, after_training = step(1), step(2), step(4)
        before_iteration = step(8)

    def track_callback(*_, **__):
        call = step(16)
        call.order = 5
        return call

    def train_xgboost(*_, callbacks, **__):
        for callback in callbacks:
            for name in ("before_training", "before_iteration", "after_iteration", "after_training"):
                getattr(callback, name)()

    def train_lightgbm(*_, callbacks, **__):
        for callback in callbacks:
            assert (callback.order, callback.before_iteration) == (5, False)
            callback("environment")

    monkeypatch.setattr(live_cost.soft_lightgbm, "track_callback", track_callback)
    monkeypatch.setattr(live_cost.soft_xgboost, "TrackCallback", lambda *_, **__: Callback(), raising=False)
    monkeypatch.setattr("lightgbm.train", train_lightgbm)
    monkeypatch.setattr("xgboost.train", train_xgboost)
    runs = live_cost._Runs(synthetic_pool(5, 4), tiny())
    made = [*runs.contenders("LightGBM", "own"), *runs.contenders("XGBoost", "own")]
    runs._lightgbm_data(), runs._xgboost_data()
    monkeypatch.setattr(live_cost, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    for contender in made:
        contender.warm_up()
    assert runs.inside == {}
    assert [contender.measure() for contender in made] == [0.0, 16.0, 0.0, 15.0]
    assert runs.inside == {"LightGBM, tracked": [16.0], "XGBoost, tracked": [7.0]}
    assert [contender.peer for contender in made] == [True, False, True, False]
    assert not any(contender.peer for contender in runs.contenders("LightGBM, ours", lambda *_: None))


def test_the_time_inside_over_the_rest(monkeypatch):
    runs = {"LightGBM lambdarank": 8.0, "LightGBM lambdarank, tracked": 10.0, "LightGBM, boostsoft gaussian": 1.0}

    class Rounds:
        seconds = {name: np.array([value, value]) for name, value in runs.items()}  # noqa: RUF012
        left_out = {}  # noqa: RUF012

        def spread(self, name):
            return live_cost.Spread.of(self.seconds[name])

    made = []
    real = live_cost._Runs
    monkeypatch.setattr(live_cost, "_Runs", lambda *given: made.append(real(*given)) or made[-1])

    def interleaved(*_):
        made[0].inside["LightGBM lambdarank, tracked"] = [2.0, 2.0]
        return Rounds()

    monkeypatch.setattr(live_cost, "interleave", interleaved)
    rows = rows_of(live_cost.measure_live(synthetic_pool(5, 10), tiny(), ALONE, Silent()))
    assert list(rows) == list(runs)
    row = rows["LightGBM lambdarank, tracked"]
    assert (row["ratio"].median, row["share"].median) == (1.25, 0.25)
    assert row["inside"].median == pytest.approx(2e3 / 3)


def test_without_xgboost_lightgbm_is_measured_alone():
    section = live_cost.measure_live(synthetic_pool(10, 30), replace(tiny(True), rounds=1), ALONE, Silent())
    assert {name.split(",")[0].split(" ")[0] for name in rows_of(section)} == {"LightGBM"}
    assert len(section.rows) == 5
    assert section.verdicts == []


def test_queries_that_lambdarank_refuses_leave_it_out():
    pool = synthetic_pool(1, 10_001)
    pool = replace(pool, X=np.random.default_rng(0).normal(size=(pool.labels.size, 2)))
    section = live_cost.measure_live(pool, replace(tiny(True), rounds=1), ALONE, Silent())
    names = ["LightGBM, boostsoft gaussian", "LightGBM, boostsoft gaussian, tracked"]
    assert [row["name"] for row in section.rows] == names
    assert list(section.left_out) == ["LightGBM lambdarank", "LightGBM lambdarank, its own ndcg@10"]
    assert all("exceeds upper limit" in why for why in section.left_out.values())


# ---------------------------------------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------------------------------------


def test_the_part_from_the_command_line(tmp_path, monkeypatch):
    small = settings.quick
    monkeypatch.setattr(settings, "quick", lambda *given: replace(small(*given), **{**TINY, "rounds": 1}))
    monkeypatch.setattr(run.Console, "print", lambda self, *things: None)
    arguments = ["bench", "--quick", "--queries", "10", "--parts", "tracking", "--out", str(tmp_path / "out")]
    assert cli.main(arguments) == 0
    report = json.loads((tmp_path / "out" / "bench.json").read_text())
    assert [section["key"] for section in report["sections"]] == ["tracking_finished", "tracking_live"]
    assert "10 queries x 120 documents" in report["sections"][1]["title"]
    assert list(report["settings"]["seconds"]) == ["tracking"]


def test_sizes():
    run_, look = full(None, None, 0), quick(None, None, 0)
    assert (run_.tracked_trees, run_.tracked_pool, run_.live_trees) == (1000, (1000, 100), 25)
    assert look.tracked_trees < run_.tracked_trees
    assert look.minutes(["tracking"], 1) < run_.minutes(["tracking"], 1)
