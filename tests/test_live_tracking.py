"""What tracking while LightGBM and XGBoost train shares: what is watched and refused, stopping, and the bar."""

from __future__ import annotations

import inspect
import io
import pickle
import sys
from contextlib import contextmanager

import numpy as np
import pytest

import boostsoft as bs
import boostsoft.lightgbm as bl
import boostsoft.xgboost as bx
from boostsoft.adapters.lightgbm_callback import LightGBMTrack
from boostsoft.tracks.builder import TrackBuilder, as_metrics
from boostsoft.tracks.live import LiveTrack
from boostsoft.tracks.stopping import StoppingRule

from . import live_cases
from .live_cases import HARD, SOFT, boost, tracked, train

data, valid = live_cases.data, live_cases.valid  # fixtures


def live(*metrics, **options):
    return LiveTrack("example", metrics, **options)


def test_what_is_watched():
    both = (HARD, SOFT)
    assert live(*both).watched == live(*both, watch=1).watched == live(*both, watch=SOFT).watched == 1
    assert live(*both, watch="ndcg_hard@10").watched == live(*both, watch="ndcg@10").watched == 0
    assert live(*both, watch=-1).watched == live(*both, watch="ndcg_gaussian@10").watched == 1
    assert live(*both, watch=np.int64(1)).watched == 1  # as TreeTrack.index takes it
    assert live("mrr", "map").watched == 0
    assert [metric.name for metric in live().metrics] == ["ndcg@10", "ndcg_gaussian@10"]
    assert live().metrics[1].sigma_unit == "spread"


def test_by_default_stopping_is_sure_of_nine_in_ten(valid):
    for callback in (bl.track_callback(HARD, stop=3), bx.TrackCallback(valid.matrix(), HARD, stop=3)):
        assert callback.live.rule == StoppingRule(3, confidence=0.9)


def test_labels_of_a_booster_are_read_as_they_were_written():
    """In its float32 .7 is a little less."""
    recorded = live(bs.Metric("precision@1", relevant_from=0.7), bs.Metric("dcg@1", gain="linear"))
    recorded.add("valid", np.array([0.0, 0.7], np.float32), bs.QueryGroups.from_sizes([2]), [0.0, 1.0])
    recorded.step(1, lambda _: np.array([0.0, 1.0]))
    assert recorded.evals_result["valid"] == {"precision_hard@1": [1.0], "dcg_hard@1": [0.7]}
    assert recorded.tracks()["valid"].y_true.tolist() == [0.0, 0.7]


class Scalars(list):
    def add_scalar(self, tag, value, step):
        self.append((tag, value, step))


def test_a_writer_gets_each_mean_under_its_name_at_all_trees():
    recorded = live(HARD, writer=Scalars())
    recorded.begin(4, None)
    recorded.add("valid", [0, 1], bs.QueryGroups.from_sizes([2]), None)
    recorded.step(1, lambda _: np.array([0.0, 1.0]))
    assert recorded._writer == [("ndcg_hard_at_10/valid", 1.0, 5)]


@pytest.mark.parametrize(
    ("metrics", "options", "error", "message"),
    [
        (("ndcg@10",), {"every": 0}, ValueError, "every must be from 1"),
        (("ndcg@10",), {"stop": 0}, ValueError, "stop must be from 1 to 2\\^53; got 0"),
        (("ndcg@10",), {"stop": "3"}, TypeError, "stop must be a whole number or a StoppingRule; got '3'"),
        (("ndcg@10",), {"stop": True}, TypeError, "stop must be a whole number or a StoppingRule; got True"),
        (("ndcg@10",), {"stop": 3, "confidence": 1.0}, ValueError, "confidence must be below 1; got 1.0"),
        (("ndcg@10",), {"confidence": 1.0}, ValueError, "confidence must be below 1; got 1.0"),
        (("ndcg@10",), {"stop": 3, "confidence": 0}, ValueError, "confidence must be finite and above 0; got 0"),
        (("ndcg@10",), {"watch": "map"}, ValueError, "watch must be one of 'ndcg@10'; got 'map'"),
        (("ndcg@10",), {"watch": 1}, ValueError, "watch must be one of"),
        (("ndcg@10", "map"), {"watch": True}, TypeError, "watch must be a position, a name or a metric; got True"),
        (("ndcg@10",), {"progress": "yes"}, ValueError, "progress must be True, False or 'auto'; got 'yes'"),
        (("ndcg@10",), {"writer": print}, TypeError, r"writer must have add_scalar\(tag, value, step\); got"),
        (("ndcg@10", "ndcg@10"), {}, ValueError, "two metrics are called 'ndcg@10'"),
        (("ndcg@10", bs.Metric("map", name="ndcg_hard@10")), {}, ValueError, "two .* 'ndcg_hard@10'"),
        (("ndcg@10", bs.Metric("map", name="ndcg@10")), {}, ValueError, "two metrics are called 'ndcg@10'"),
        ((bs.Metric("auc", pooled=True),), {}, ValueError, "pooled=True gives one value for all queries together"),
        ((3,), {}, TypeError, "a metric must be a string"),
    ],
)
def test_what_is_refused(metrics, options, error, message):
    with pytest.raises(error, match=f"^example: {message}"):
        live(*metrics, **options)


def test_stopping_by_a_metric_that_grows_with_the_scores_warns(valid):
    growing = bs.SoftMetric("ndcg@10", sigma=0.3)
    with pytest.warns(UserWarning, match=r"rises merely because scores grow with every tree") as caught:
        bl.track_callback(growing, stop=5)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=r"rises merely because scores grow") as caught:
        bx.TrackCallback(valid.matrix(), growing, stop=5)
    assert caught[0].filename == __file__
    bl.track_callback(HARD, growing, stop=5, watch=0)
    bl.track_callback(growing)


def test_a_callback_has_no_track_before_the_training(data, valid):
    """Or if there are several; what looks at all attributes of an object is not stopped by it."""
    callbacks = [bl.track_callback(HARD), bx.TrackCallback(valid.matrix(), HARD), tracked()]
    train(data, valid, [callbacks[-1]])
    recorded = LiveTrack("example", [HARD])
    for name in ("one", "two"):
        recorded.add(name, [0, 1], bs.QueryGroups.from_sizes([2]), [0.0, 1.0])
    recorded.look_at(["one", "two"])
    recorded.step(1, lambda _: np.array([0.0, 1.0]))
    callbacks.append(LightGBMTrack(recorded, None))
    assert [hasattr(callback, "track") for callback in callbacks] == [False, False, True, False]
    assert [hasattr(callback, "tracks") for callback in callbacks] == [False, False, True, True]
    assert "stopped" in dict(inspect.getmembers(callbacks[0]))


def test_nothing_recorded_is_said():
    with pytest.raises(ValueError, match=r"boostsoft\.lightgbm\.track_callback: nothing is recorded yet"):
        bl.track_callback().track  # noqa: B018
    assert isinstance(bl.track_callback("map"), LightGBMTrack)
    assert repr(bl.track_callback("map")).startswith("boostsoft.lightgbm.track_callback(Metric('map'")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_bar_shows_the_metric_with_its_error(data, valid, monkeypatch):
    monkeypatch.setattr("boostsoft.progress._PAUSE", 0.0)
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.setattr(sys, "stderr", shown := Terminal())
    callback = bl.track_callback(HARD, SOFT, stop=3)
    train(data, valid, [callback], rounds=60)
    track = callback.track
    lines = shown.getvalue().split("\r")[1:]
    assert len(lines) == track.n_steps
    last, best = track.per_query[-1, 1], np.argmax(track.mean[:, 1])
    for text in (
        f"{track.n_steps}/60",
        f"ndcg_gaussian@10\x1b[0m {last.mean():.4f} ± {last.std(ddof=1) / np.sqrt(last.size):.4f}",
        f"last 3: {last.mean() - track.mean[-4, 1]:+.4f} ±",
        f"best {track.mean[best, 1]:.4f} at {best + 1}",
    ):
        assert text in lines[-1], (text, lines[-1])
    assert lines[-1].endswith("\n")
    assert all(len(line) < 250 and "\n" not in line for line in lines[:-1])


def test_the_bar_weighs_the_queries(monkeypatch):
    monkeypatch.setattr("boostsoft.progress._PAUSE", 0.0)
    monkeypatch.setattr(sys, "stderr", shown := Terminal())
    recorded = live("mrr", stop=1, progress=True)
    recorded.add("valid", [0, 1, 1, 0], bs.QueryGroups.from_sizes([2, 2]), [0.0, 1.0, 1.0, 0.0], [3.0, 1.0])
    recorded.step(1, lambda _: np.array([0.0, 1.0, 0.0, 1.0]))
    assert "0.8750 ± 0.1875, last 1: -0.1250 ± 0.1875, best 0.8750 at 1" in shown.getvalue()


def test_a_copy_and_a_pickle_leave_the_bar_to_the_one_that_shows_it(monkeypatch):
    monkeypatch.setattr("boostsoft.progress._PAUSE", 1e9)
    monkeypatch.setattr(sys, "stderr", shown := Terminal())
    recorded = live("mrr", progress=True)

    def begin(one):
        one.add("valid", [0, 1], bs.QueryGroups.from_sizes([2]), [0.0, 1.0])
        one.step(1, lambda _: np.array([1.0, 0.0]))

    begin(recorded)
    assert pickle.loads(pickle.dumps(recorded.without_outputs())).evals_result == recorded.evals_result
    before = shown.getvalue()
    begin(recorded.empty())
    assert shown.getvalue() > before  # at once: it has written nothing itself


def test_of_no_rounds_nothing_is_shown(monkeypatch):
    monkeypatch.setattr(sys, "stderr", shown := Terminal())
    recorded = live("mrr", progress=True)
    recorded.add("valid", [0, 1], bs.QueryGroups.from_sizes([2]), [0.0, 1.0])
    recorded.finish(lambda _: np.zeros(2), 0)
    assert not shown.getvalue()


def test_the_last_round_is_shown_at_once(monkeypatch):
    monkeypatch.setattr("boostsoft.progress._PAUSE", 1e9)
    monkeypatch.setattr(sys, "stderr", shown := Terminal())
    recorded = live("mrr", progress=True)
    recorded.begin(0, 3)
    recorded.add("valid", [0, 1], bs.QueryGroups.from_sizes([2]), [0.0, 1.0])
    for done in (1, 2, 3):
        recorded.step(done, lambda _: np.array([1.0, 0.0]))
    assert [f"{done}/3" in shown.getvalue() for done in (1, 2, 3)] == [True, False, True]


def test_a_track_is_of_data_whose_model_has_grown_a_tree():
    recorded = live("mrr")
    for name in ("still", "grown"):
        recorded.add(name, [0, 1], bs.QueryGroups.from_sizes([2]), [0.0, 1.0])
    recorded.look_at(["still", "grown"])
    recorded.step(1, lambda _: np.array([1.0, 0.0]), ["still", "grown"].index)
    assert list(recorded.tracks()) == ["grown"]


@contextmanager
def at_every_line_of(method, act):
    """As another thread may, which comes between any two lines."""

    def trace(frame, event, _):
        if frame.f_code is not method.__code__:
            return None
        if event == "line":
            act()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def begun():
    builder = TrackBuilder("test", as_metrics("test", HARD), [0, 1, 2, 0], bs.QueryGroups.from_sizes([4]), np.ones(1))
    builder.begin(0, np.zeros(4))
    return builder


def add_to(builder, step):
    builder.add(step, np.roll([0.3, 0.1, 0.2, 0.5], step) * step)


def is_beginning_of(track, whole):
    np.testing.assert_array_equal(track.per_query, whole.per_query[: track.n_steps])
    np.testing.assert_array_equal(track.spread, whole.spread[: track.n_steps])


def test_a_track_can_be_taken_while_a_step_is_added():
    """What is taken is whole, of the steps up to then."""
    builder, taken = begun(), []
    add_to(builder, 1)
    with at_every_line_of(TrackBuilder.add, lambda: taken.append(builder.track())):
        for step in range(2, 20):
            add_to(builder, step)
    assert len(taken) > 18
    for track in taken:
        is_beginning_of(track, builder.track())


def test_a_step_can_be_added_while_a_track_is_taken():
    builder, steps = begun(), iter(range(2, 100))
    add_to(builder, 1)
    with at_every_line_of(TrackBuilder.track, lambda: add_to(builder, next(steps))):
        track = builder.track()
    assert 1 <= track.n_steps < builder.track().n_steps
    is_beginning_of(track, builder.track())


def test_rounds_without_trees_are_told_from_records_that_were_not_due():
    recorded = live("mrr", every=5)
    with pytest.raises(ValueError, match=r"^example: nothing is recorded yet; train with this callback first$"):
        recorded.tracks()
    recorded.begin(0, 2)
    recorded.add("valid", [0, 1], bs.QueryGroups.from_sizes([2]), [0.0, 1.0])
    for done, why in ((1, "the first record was due after 5 rounds, and there were 1"), (2, "no tree was grown")):
        recorded.step(done, lambda _: np.zeros(2), lambda _: 0)
        with pytest.raises(ValueError, match=f"^example: nothing is recorded yet; {why}$"):
            recorded.tracks()


@pytest.mark.parametrize(("progress", "terminal", "expected"), [("auto", False, 0), (False, True, 0), (True, False, 7)])
def test_when_the_bar_is_shown(data, valid, monkeypatch, progress, terminal, expected):
    monkeypatch.setattr("boostsoft.progress._PAUSE", 0.0)
    monkeypatch.setattr(sys, "stderr", shown := (Terminal() if terminal else io.StringIO()))
    boost(data, [bx.TrackCallback(valid.matrix(), HARD, progress=progress)])
    assert shown.getvalue().count("\r") == (expected and expected + 1)  # and once more at the end
    assert expected == 0 or "7 trees " in shown.getvalue()


@pytest.mark.parametrize("progress", ["auto", True])
def test_a_process_without_an_error_stream(data, valid, monkeypatch, progress):
    """One that was started without a console has None in its place."""
    monkeypatch.setattr(sys, "stderr", None)
    callback = bx.TrackCallback(valid.matrix(), HARD, progress=progress)
    boost(data, [callback])
    assert callback.track.n_steps == 7


def test_each_metric_counts_its_own_queries_by_their_weight():
    rng = np.random.default_rng(0)
    sizes, weights = np.full(12, 6), rng.lognormal(sigma=2, size=12)
    labels = rng.integers(0, 3, 72)
    labels[:24] = 0  # four queries that the second metric leaves out
    recorded = live(SOFT, bs.Metric("map", empty="skip"), stop=StoppingRule(1, confidence=0.01), progress=False)
    recorded.begin(0, 5)
    recorded.add("valid", labels, bs.QueryGroups.from_sizes(sizes), None, weights)
    for done in range(1, 6):
        scores = rng.normal(size=72)
        recorded.step(done, lambda _, scores=scores: scores)
    track = recorded.tracks()["valid"]
    for at, name in enumerate(("ndcg_gaussian@10", "map_hard")):
        assert recorded.evals_result["valid"][name] == track.mean[:, at].tolist()
    assert recorded.best_mean == track.mean[:, 0].max()
    assert recorded.best_trees == track.steps[np.argmax(track.mean[:, 0])]


def test_stopping_of_a_continued_model_counts_its_trees(data, valid):
    first = train(data, valid, [], rounds=4)
    callback = tracked(stop=3)
    booster = train(data, valid, [callback], rounds=60, init_model=first)
    track = callback.track
    assert callback.stopped
    assert booster.best_iteration == track.steps[np.argmax(track.mean[:, 1])] > 4
    assert booster.best_score["valid"]["ndcg_gaussian@10"] == track.mean[:, 1].max()
    model = boost(data, [], rounds=4)
    callback = bx.TrackCallback(valid.matrix(), HARD, SOFT, stop=3, progress=False)
    booster = boost(data, [callback], rounds=60, xgb_model=model)
    track = callback.track
    assert booster.num_boosted_rounds() == track.steps[-1] == StoppingRule(3).stop_at(track, 1)
    assert booster.best_iteration + 1 == track.steps[np.argmax(track.mean[:, 1])] > 4
