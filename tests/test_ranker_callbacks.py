"""SoftRanker.fit's callbacks."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest

import boostsoft.lightgbm as bl
import boostsoft.xgboost as bx

from . import ranker_cases
from .ranker_cases import both, fit, ranker, task
from .releases import IS_QUIET

xgb = pytest.importorskip("xgboost")
data, valid = ranker_cases.data, ranker_cases.valid  # fixtures

SOFT = "ndcg_gaussian@10"
RATE = 0.5  # at which early stopping ends well before 80 trees


def trained(booster, data, valid, callbacks, n=80, **parameters):
    model = ranker(booster, n_estimators=n, learning_rate=RATE, **parameters)
    return fit(model, data, eval_set=[(valid.X, valid.y)], eval_qid=[valid.qid], callbacks=callbacks)


def stopping(booster, rounds, **options):
    if booster == "lightgbm":
        return lgb.early_stopping(rounds, verbose=False, **options)
    return xgb.callback.EarlyStopping(rounds=rounds, **options)


class SeesRounds(xgb.callback.TrainingCallback):
    """Keeps what XGBoost shows, the numbers of trees and the values."""

    def __init__(self):
        self.seen = []

    def after_iteration(self, model, epoch, evals_log):
        log = evals_log.get("valid_0", {SOFT: [None]})
        self.seen.append((model.num_boosted_rounds(), log[SOFT][-1]))
        return False


def sees_rounds(booster):
    if booster == "xgboost":
        found = SeesRounds()
        return found, found.seen
    seen = []

    def callback(env):
        rows = env.evaluation_result_list
        seen.append((env.model.num_trees(), rows[0][2] if rows else None))

    return callback, seen


@both
def test_callbacks_see_every_round(booster, data, valid):
    callback, seen = sees_rounds(booster)
    model = trained(booster, data, valid, [callback], n=6)
    trees, values = zip(*seen, strict=True)
    assert trees == (1, 2, 3, 4, 5, 6)
    np.testing.assert_allclose(values, model.evals_result_["valid_0"][SOFT], atol=1e-6)
    np.testing.assert_array_equal(model.predict(data.X), trained(booster, data, valid, None, n=6).predict(data.X))


@both
def test_callbacks_need_no_evaluation_set(booster, data):
    callback, seen = sees_rounds(booster)
    fit(ranker(booster), data, callbacks=(callback,))
    assert [trees for trees, _ in seen] == list(range(1, 9))


@both
def test_the_last_round_is_seen_where_the_ranker_stops(booster, data, valid):
    callback, seen = sees_rounds(booster)
    model = trained(booster, data, valid, [callback], early_stopping_rounds=4)
    assert len(seen) == model.n_iter_ == model.best_iteration_ + 4 < 80
    assert len(model.evals_result_["valid_0"][SOFT]) == model.n_iter_


def test_the_last_round_is_seen_by_callbacks_of_lightgbm_that_come_late(data, valid):
    callback, seen = sees_rounds("lightgbm")
    callback.order = 100
    model = trained("lightgbm", data, valid, [callback], early_stopping_rounds=4)
    assert len(seen) == model.n_iter_ < 80


def test_the_round_is_kept_in_which_a_callback_of_lightgbm_ends_the_training(data, valid):
    """Callbacks without an order come before those of LightGBM's own."""

    def ends(env):
        if env.iteration == 2:
            raise lgb.callback.EarlyStopException(env.iteration, env.evaluation_result_list)

    model = trained("lightgbm", data, valid, [ends])
    assert model.n_iter_ == len(model.evals_result_["valid_0"][SOFT]) == 3


@both
def test_early_stopping_of_the_booster_keeps_what_the_rankers_own_does(booster, data, valid):
    ours = trained(booster, data, valid, None, early_stopping_rounds=4)
    theirs = trained(booster, data, valid, [stopping(booster, 4)])
    assert theirs.n_iter_ == ours.n_iter_ < 80
    assert theirs.best_iteration_ == ours.best_iteration_ == ours.n_iter_ - 4
    assert theirs.best_score_ == ours.best_score_ == max(theirs.evals_result_["valid_0"][SOFT])
    assert theirs.evals_result_ == ours.evals_result_
    np.testing.assert_array_equal(theirs.predict(valid.X), ours.predict(valid.X))
    np.testing.assert_array_equal(list(theirs.staged_predict(valid.X))[-1], ours.predict(valid.X))


@both
def test_a_best_tree_is_kept_where_the_training_was_not_stopped(booster, data, valid):
    model = trained(booster, data, valid, [stopping(booster, 60)], n=50)
    assert model.best_iteration_ == 1 + int(np.argmax(model.evals_result_["valid_0"][SOFT])) < model.n_iter_ == 50


@both
def test_the_ranker_decides_where_both_stop(booster, data, valid):
    alone = trained(booster, data, valid, None, early_stopping_rounds=4)
    both_stop = trained(booster, data, valid, [stopping(booster, 9)], early_stopping_rounds=4)
    assert (both_stop.best_iteration_, both_stop.n_iter_) == (alone.best_iteration_, alone.n_iter_)


@both
def test_best_trees_of_a_model_that_goes_on_are_counted_from_its_first(booster, data, valid):
    start = fit(ranker(booster, n_estimators=5, learning_rate=0.01), data)
    model = ranker(booster, n_estimators=80, learning_rate=RATE)
    given = {"eval_set": [(valid.X, valid.y)], "eval_qid": [valid.qid], "init_model": start}
    fit(model, data, callbacks=[stopping(booster, 4)], **given)
    assert model.best_iteration_ == 5 + model.n_iter_ - 4
    assert model.best_score_ == model.evals_result_["valid_0"][SOFT][model.n_iter_ - 5]


def test_trees_that_xgboost_itself_cuts_off_were_grown(data, valid):
    cut = trained("xgboost", data, valid, [stopping("xgboost", 4, save_best=True)])
    kept = trained("xgboost", data, valid, [stopping("xgboost", 4)])
    assert (cut.best_iteration_, cut.n_iter_, cut.best_score_) == (kept.best_iteration_, kept.n_iter_, kept.best_score_)


# random trees on few documents: LightGBM drops those without a split, and goes on
SOME_ROUNDS_GROW_NONE = {"random_trees": True, "min_child_samples": 25, "num_leaves": 6}


@pytest.mark.parametrize("save_best", [False, True])
def test_an_early_stopping_of_xgboost_begins_anew_with_every_fit(save_best, data, valid):
    """As LightGBM's does: a search over parameters fits often with one and the same."""
    stop = stopping("xgboost", 4, save_best=save_best)
    first, again = (trained("xgboost", data, valid, [stop]) for _ in range(2))
    assert (again.best_iteration_, again.n_iter_) == (first.best_iteration_, first.n_iter_)
    assert len(stop.stopping_history["valid_0"][SOFT]) == first.n_iter_


def test_the_score_is_that_of_the_trees_that_are_left(data, valid):
    """XGBoost cuts off the tree at which the ranker's own early stopping has seen its best."""
    cuts = stopping("xgboost", 1, save_best=True, min_delta=0.05)
    model = trained("xgboost", data, valid, [cuts], early_stopping_rounds=20)
    [curve] = model.evals_result_["valid_0"].values()
    assert model.best_iteration_ < 1 + int(np.argmax(curve))
    assert model.best_score_ == curve[model.best_iteration_ - 1]


@pytest.mark.parametrize("tracked", [False, True])
def test_rounds_of_lightgbm_that_grow_no_tree_are_not_counted(tracked):
    """Also where a track looks on, which counts trees if it is to stop."""
    given = [stopping("lightgbm", 200), *([bl.track_callback("ndcg@10")] if tracked else [])]
    model = trained("lightgbm", task(0, 6), task(1, 6), given, **SOME_ROUNDS_GROW_NONE)
    curve = model.evals_result_["valid_0"][SOFT]
    assert len(curve) == model.n_iter_ < 80
    assert model.best_score_ == curve[model.best_iteration_ - 1] == max(curve)
    assert model.best_iteration_ < model.n_iter_


def test_tracks_are_recorded_and_stop(data, valid):
    track = bl.track_callback("ndcg@10", stop=5)
    model = trained("lightgbm", data, valid, [track])
    assert track.stopped
    assert model.n_iter_ == len(track.track.steps) == len(model.evals_result_["valid_0"][SOFT]) < 80
    means = track.track.mean[:, 0]
    assert model.best_iteration_ == 1 + int(np.argmax(means))
    assert model.score(valid.X, valid.y, qid=valid.qid) == pytest.approx(means.max(), abs=1e-9)

    matrix = xgb.DMatrix(valid.X, valid.y, group=valid.sizes)
    track = bx.TrackCallback(matrix, "ndcg@10", stop=5)
    model = fit(ranker("xgboost", n_estimators=80, learning_rate=RATE), data, callbacks=[track])
    assert track.stopped
    assert model.n_iter_ == len(track.track.steps) < 80
    assert model.best_iteration_ == 1 + int(np.argmax(track.track.mean[:, 0]))


def test_a_track_counts_trees_where_rounds_grow_none():
    track = bl.track_callback("ndcg@10", stop=200)
    model = trained("lightgbm", task(0, 6), task(1, 6), [track], **SOME_ROUNDS_GROW_NONE)
    assert len(track.track.steps) == model.n_iter_ < 80
    assert model.best_iteration_ == 1 + int(np.argmax(track.track.mean[:, 0])) < model.n_iter_


def test_trees_that_a_callback_cuts_off_were_grown_without_an_evaluation_set(data, valid):
    track = bx.TrackCallback(xgb.DMatrix(valid.X, valid.y, group=valid.sizes), "ndcg@10")
    model = ranker("xgboost", n_estimators=80, learning_rate=RATE)
    fit(model, data, callbacks=[track, stopping("xgboost", 4, save_best=True)])
    assert model.n_iter_ == model.best_iteration_ + 4 == len(track.track.steps) < 80
    assert model.best_score_ is None
    assert model.evals_result_ == {}


@both
def test_what_a_callback_changes_counts(booster, data):
    rates = [0.5 / (1 + at) for at in range(8)]
    if booster == "lightgbm":
        callback = lgb.reset_parameter(learning_rate=rates)
    else:
        callback = xgb.callback.LearningRateScheduler(rates)
    changed = fit(ranker(booster), data, callbacks=[callback])
    assert (changed.predict(data.X) != fit(ranker(booster), data).predict(data.X)).any()
    assert changed.best_iteration_ == 8


@IS_QUIET
def test_the_boosters_logs_are_shown(data, valid, capfd):
    log = {}
    trained("lightgbm", data, valid, [lgb.log_evaluation(), lgb.record_evaluation(log)], n=3)
    assert capfd.readouterr().out.count(f"valid_0's {SOFT}: ") == 3
    assert len(log["valid_0"][SOFT]) == 3
    trained("xgboost", data, valid, [xgb.callback.EvaluationMonitor()], n=3)
    assert capfd.readouterr().out.count(f"valid_0-{SOFT}:") == 3


def test_xgboost_watches_the_first_metric(data, valid):
    parameters = {"eval_metric": ["ndcg@10", "kendall"]}
    ours = trained("xgboost", data, valid, None, early_stopping_rounds=4, **parameters)
    theirs = trained("xgboost", data, valid, [stopping("xgboost", 4)], **parameters)
    assert theirs.best_iteration_ == ours.best_iteration_
    assert list(theirs.evals_result_["valid_0"]) == ["ndcg_hard@10", "kendall_hard"]


def test_the_worst_tree_is_not_kept(data, valid):
    with pytest.raises(ValueError, match=r"^SoftRanker.fit: an EarlyStopping callback would minimise 'err_hard@10'"):
        trained("xgboost", data, valid, [stopping("xgboost", 4)], eval_metric="err@10")
    model = trained("xgboost", data, valid, [stopping("xgboost", 4, maximize=True)], eval_metric="err@10")
    assert model.best_score_ == max(model.evals_result_["valid_0"]["err_hard@10"])


@both
def test_a_callback_that_raises_leaves_the_ranker_as_it_was(booster, data):
    class Pruned(Exception):
        pass

    def prune(env):
        raise Pruned

    class Prune(xgb.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            raise Pruned

    model = ranker(booster)
    before = dict(model.__dict__)
    with pytest.raises(Pruned):
        fit(model, data, callbacks=[prune if booster == "lightgbm" else Prune()])
    assert model.__dict__ == before


@pytest.mark.parametrize("n_boosters", [2, "auto"])
def test_several_boosters_have_no_callbacks(n_boosters, data):
    callback, _ = sees_rounds("lightgbm")
    model = ranker(n_boosters=n_boosters, random_trees=True)
    n = 2 if n_boosters == 2 else 4
    with pytest.raises(ValueError, match=rf"callbacks follow the trees of one booster: set n_boosters=1; got {n} "):
        fit(model, data, callbacks=[callback])
    fit(model, data, callbacks=[])


@both
def test_what_is_no_callback_is_refused(booster, data):
    wrong = xgb.callback.EvaluationMonitor() if booster == "lightgbm" else lgb.log_evaluation()
    kind = "functions" if booster == "lightgbm" else "xgboost.callback.TrainingCallback"
    with pytest.raises(TypeError, match=f"SoftRanker.fit: callbacks must be a list of {kind}.*; got "):
        fit(ranker(booster), data, callbacks=[wrong])
    callback, _ = sees_rounds(booster)
    with pytest.raises(TypeError, match=r"SoftRanker.fit: callbacks must be a list"):
        fit(ranker(booster), data, callbacks=callback)
    with pytest.raises(TypeError, match=r"SoftRanker.fit: callbacks must be a list of .*; got \[None\]"):
        fit(ranker(booster), data, callbacks=[None])


# ---- arguments of the boosters' own fit --------------------------------------------------------------------------
