"""Tracks recorded while LightGBM trains: what the finished model gives tree by tree, and where it stops."""

from __future__ import annotations

import contextlib
import copy
import gc
import pickle
import threading
import weakref

import lightgbm as lgb
import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

import boostsoft as bs
import boostsoft.lightgbm as bl
from boostsoft.adapters import lightgbm_callback
from boostsoft.query_groups import QueryGroups
from boostsoft.tracks.stopping import StoppingRule

from . import live_cases
from .live_cases import HARD, NAMES, ROUNDS, SMALL, SOFT, Ranking, means, tracked, train

data, valid = live_cases.data, live_cases.valid  # fixtures


# LightGBM: the values

LINKS = {
    "lambdarank": {"objective": "lambdarank"},
    "ours": {"objective": bl.objective("ndcg@10")},
    "rank_xendcg": {"objective": "rank_xendcg"},
    "binary": {"objective": "binary", "sigmoid": 2.0},
    "cross_entropy": {"objective": "xentropy"},
    "cross_entropy_lambda": {"objective": "xentlambda"},
    "poisson": {"objective": "poisson"},
    "tweedie": {"objective": "tweedie"},
    "l2 of the root": {"objective": "regression", "reg_sqrt": True},
    "l1": {"objective": "l1"},
}


@pytest.mark.parametrize("name", LINKS)
def test_lightgbm_records_what_the_finished_model_gives(data, valid, name):
    binary = name in ("binary", "cross_entropy", "cross_entropy_lambda")
    data, valid = (Ranking(d.X, np.minimum(d.y, 1) if binary else d.y, d.sizes) for d in (data, valid))
    callback = tracked()
    booster = train(data, valid, [callback], params=LINKS[name])
    track = callback.track
    assert track.steps.tolist() == list(range(1, ROUNDS + 1))
    assert track.start == 0
    for at, trees in enumerate(track.steps):
        scores = booster.predict(valid.X, raw_score=True, num_iteration=trees)
        np.testing.assert_allclose(track.per_query[at], valid.expected(scores), rtol=0, atol=1e-9)
        assert track.spread[at] == pytest.approx(spread_of(scores, valid.sizes), rel=1e-9)
    np.testing.assert_allclose(track.scores, scores, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(track.beginning, valid.expected(np.zeros(valid.y.size)))
    assert (track.label, track.groups, track.y_true.tolist()) == (
        "valid", QueryGroups.from_sizes(valid.sizes), valid.y.tolist(),
    )  # fmt: skip


def spread_of(scores, sizes):
    parts = np.split(scores, np.cumsum(sizes)[:-1])
    return np.sqrt(sum(((part - part.mean()) ** 2).sum() for part in parts) / len(scores))


def test_lightgbm_without_its_private_method(data, valid, monkeypatch):
    given = {"valid_sets": [data_set := data.dataset(), valid.dataset(), data.dataset()]}
    given["valid_names"] = ["training", "valid", "again"]
    found = []
    for hidden in (False, True):
        callback = tracked()
        with monkeypatch.context() as patch:
            if hidden:
                patch.setattr("boostsoft.adapters.lightgbm_callback._SCORES", "no_such_method")
            lgb.train({**SMALL, "metric": "ndcg"}, data_set, 3, callbacks=[callback], **given)
        found.append({name: track.per_query for name, track in callback.tracks.items()})
    assert list(found[0]) == list(found[1]) == ["training", "valid", "again"]
    for name in found[0]:
        np.testing.assert_array_equal(found[0][name], found[1][name])


def test_a_record_that_was_never_due_is_told(data, valid):
    callback = tracked(every=ROUNDS)
    train(data, valid, [callback, lgb.early_stopping(2, verbose=False)])
    match = f"nothing is recorded yet; the first record was due after {ROUNDS} rounds, and there were 3"
    with pytest.raises(ValueError, match=match):
        _ = callback.track


def test_lightgbm_continues_a_model(data, valid):
    first = train(data, valid, [], rounds=4)
    callback = tracked()
    booster = train(data, valid, [callback], init_model=first)
    track = callback.track
    assert (track.start, track.steps.tolist()) == (4, list(range(5, 5 + ROUNDS)))
    np.testing.assert_allclose(track.beginning, valid.expected(first.predict(valid.X)), rtol=0, atol=1e-9)
    for at, trees in enumerate(track.steps):
        expected = valid.expected(booster.predict(valid.X, num_iteration=trees))
        np.testing.assert_allclose(track.per_query[at], expected, rtol=0, atol=1e-9)


def test_a_model_is_continued_by_trees_without_a_split_and_in_a_cross_validation(data, valid):
    """LightGBM counts no tree without a split, and lgb.cv none of the model that it continues."""
    first = train(data, valid, [], rounds=4)
    unsplit, stopped, folded = tracked(), tracked(stop=2), tracked()
    for callback, rounds in ((unsplit, ROUNDS), (stopped, 2)):
        unsplit_params = {"min_data_in_leaf": data.y.size}
        booster = train(data, valid, [callback], init_model=first, params=unsplit_params, keep_training_booster=True)
        assert booster.num_trees() == 4
        assert {len(values) for values in callback.evals_result["valid"].values()} == {rounds}
        with pytest.raises(ValueError, match="nothing is recorded yet; no tree was grown"):
            _ = callback.track
    assert booster.best_iteration == 4
    query = np.repeat(np.arange(data.sizes.size), data.sizes)
    folds = list(GroupKFold(3).split(data.X, groups=query))
    lgb.cv(SMALL, data.dataset(), 3, folds=folds, callbacks=[folded], init_model=first)
    assert [(track.start, track.steps.tolist()) for track in folded.tracks.values()] == 3 * [(4, [5, 6, 7])]


@pytest.mark.parametrize("params", [{}, LINKS["l2 of the root"]], ids=["lambdarank", "roots of either sign"])
def test_lightgbm_starts_from_init_score(data, valid, params):
    given = np.linspace(-1, 1, valid.y.size)
    callback = tracked()
    sets = [valid.dataset(init_score=given)]
    train_set = data.dataset(init_score=np.zeros(data.y.size))
    booster = lgb.train({**SMALL, **params}, train_set, ROUNDS, valid_sets=sets, callbacks=[callback])
    np.testing.assert_allclose(callback.track.beginning, valid.expected(given), rtol=0, atol=1e-9)
    scores = given + booster.predict(valid.X, raw_score=True)
    np.testing.assert_allclose(callback.track.per_query[-1], valid.expected(scores), rtol=0, atol=1e-9)


def test_a_query_of_lightgbm_weighs_the_mean_of_its_rows(data, valid):
    rows = np.random.default_rng(0).uniform(0.5, 2, valid.y.size)
    callback = tracked()
    booster = train(data, valid, [callback], valid_sets=[valid.dataset(weight=rows)])
    weights = [part.mean() for part in np.split(rows.astype(np.float32).astype(float), np.cumsum(valid.sizes)[:-1])]
    np.testing.assert_allclose(callback.track.query_weight, weights, rtol=1e-12)
    for at, metric in enumerate((HARD, SOFT)):
        expected = metric(valid.y, booster.predict(valid.X), group=valid.sizes, query_weight=weights)
        assert callback.track.mean[-1, at] == pytest.approx(expected, rel=1e-9)


def test_random_forests_are_scored_by_the_mean_over_their_trees(data, valid):
    params = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}
    in_score_units = bs.SoftMetric("ndcg@10", sigma=0.3)
    callback = tracked(in_score_units)
    booster = train(data, valid, [callback], params=params)
    for at, trees in enumerate(callback.track.steps):
        scores = booster.predict(valid.X, num_iteration=trees)
        expected = in_score_units.per_query(valid.y, scores, group=valid.sizes)
        np.testing.assert_allclose(callback.track.per_query[at, 0], expected, rtol=0, atol=1e-9)


def test_dart_is_recorded_as_the_model_was_then(data, valid):
    params = {"boosting": "dart", "drop_rate": 0.5, "skip_drop": 0.0, "drop_seed": 1}
    callback = tracked()
    booster = train(data, valid, [callback], params=params)
    shorter = [train(data, valid, [], params=params, rounds=t).predict(valid.X) for t in range(1, ROUNDS + 1)]
    for at, scores in enumerate(shorter):
        np.testing.assert_allclose(callback.track.per_query[at], valid.expected(scores), rtol=0, atol=1e-9)
    assert not np.allclose(shorter[2], booster.predict(valid.X, num_iteration=3))


def test_trees_that_lightgbm_cannot_grow_are_not_counted_nor_taken_back(data, valid):
    params = {"min_gain_to_split": 8, "learning_rate": 0.3}
    callback = tracked(stop=4)
    booster = train(data, valid, [callback], params=params, rounds=20, keep_training_booster=True)
    alone = train(data, valid, [], params=params, rounds=20, keep_training_booster=True)
    trees, track = alone.num_trees(), callback.track
    assert booster.num_trees() == trees == track.steps[-1]
    for values in callback.evals_result["valid"].values():
        # as many rounds without a tree as the patience
        assert len(values) == trees + 4
        assert set(values[trees:]) == {values[trees - 1]}


@pytest.mark.parametrize("every", [1, 5])
def test_steps_are_trees_where_some_rounds_grow_none(data, valid, every):
    """Random trees may find no split in one round and one in the next: LightGBM drops the first and goes on."""
    params = {"extra_trees": True, "min_data_in_leaf": data.y.size // 3, "seed": 3}
    plain, stopping = tracked(every=every), tracked(stop=60, confidence=0.5, every=every)
    booster = train(data, valid, [plain], params=params, rounds=90, keep_training_booster=True)
    track = plain.track
    assert track.steps[-1] == booster.num_trees() < 90
    for n_trees, values in zip(track.steps, track.per_query, strict=True):
        scores = booster.predict(valid.X, num_iteration=n_trees)
        np.testing.assert_allclose(values, valid.expected(scores), rtol=0, atol=1e-9)
    cut = train(data, valid, [stopping], params=params, rounds=90)
    best = stopping.track.steps[np.argmax(stopping.track.mean[:, 1])]
    assert cut.best_iteration == best <= stopping.track.steps[-1] < 90


def test_folds_have_trees_of_their_own(data):
    params = {**SMALL, "extra_trees": True, "min_data_in_leaf": data.y.size // 4, "seed": 3}
    query = np.repeat(np.arange(data.sizes.size), data.sizes)
    callback = tracked(stop=60, confidence=0.5)
    found = lgb.cv(
        params, data.dataset(), 80, folds=list(GroupKFold(3).split(data.X, groups=query)), callbacks=[callback],
        return_cvbooster=True,
    )  # fmt: skip
    boosters = found["cvbooster"].boosters
    grown = [booster.num_trees() for booster in boosters]
    assert [track.steps[-1] for track in callback.tracks.values()] == grown
    assert len(set(grown)) > 1
    curves = [callback.evals_result[name][NAMES[1]] for name in callback.tracks]
    mean = np.average(curves, axis=0, weights=[track.n_queries for track in callback.tracks.values()])
    assert found["cvbooster"].best_iteration == np.argmax(mean) + 1  # a round, as all is that lgb.cv counts


# LightGBM: what other callbacks see


def test_every_log_of_lightgbm_has_the_means(data, valid, capsys):
    record, callback = {}, tracked()
    others = [lgb.record_evaluation(record), lgb.log_evaluation(period=ROUNDS)]
    booster = train(data, valid, [*others, callback], params={"metric": "ndcg", "eval_at": [3], "verbose": 1})
    expected = means(callback.track)
    assert {name: record["valid"][name] for name in NAMES} == expected
    assert list(record["valid"]) == ["ndcg@3", *NAMES]
    assert callback.evals_result == {"valid": expected}
    assert booster.best_score["valid"][NAMES[1]] == expected[NAMES[1]][-1]
    assert f"valid's ndcg_gaussian@10: {expected[NAMES[1]][-1]:g}" in capsys.readouterr().out


def test_lightgbms_own_early_stopping_can_watch_it(data, valid):
    callback = tracked(SOFT)
    booster = train(data, valid, [lgb.early_stopping(3, verbose=False), callback], rounds=60)
    values = callback.track.mean[:, 0]
    assert booster.best_iteration == np.argmax(values) + 1 < len(values)


def test_the_same_numbers_as_feval(data, valid):
    record, callback = {}, tracked()
    train(data, valid, [lgb.record_evaluation(record)], feval=bl.feval(HARD, SOFT))
    train(data, valid, [callback])
    for name in NAMES:
        np.testing.assert_allclose(callback.evals_result["valid"][name], record["valid"][name], rtol=1e-12)


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
def test_the_ranker_of_lightgbm(data, valid):
    callback = tracked(stop=3)
    ranker = lgb.LGBMRanker(n_estimators=60, num_leaves=6, min_child_samples=5, n_jobs=1, verbose=-1, metric="None")
    ranker.fit(
        data.X, data.y, group=data.sizes, eval_set=[(data.X, data.y), (valid.X, valid.y)],
        eval_group=[data.sizes, valid.sizes], eval_names=["train", "valid"], callbacks=[callback],
    )  # fmt: skip
    track = callback.track
    assert track.label == "valid"
    assert track.n_steps < 60
    best = int(np.argmax(track.mean[:, 1])) + 1
    assert ranker.best_iteration_ == best
    np.testing.assert_allclose(track.per_query[best - 1], valid.expected(ranker.predict(valid.X)), rtol=0, atol=1e-9)


def test_training_data_is_recorded_where_it_is_seen_or_asked_for(data, valid):
    def names(metric, training, **options):
        callback = tracked(HARD, training=training)
        train_set = data.dataset()
        sets = {"valid_sets": [train_set, valid.dataset()], "valid_names": ["mine", "valid"], **options}
        booster = lgb.train({**SMALL, "metric": metric}, train_set, 2, callbacks=[callback], **sets)
        if "mine" in callback.tracks:
            expected = HARD.per_query(data.y, booster.predict(data.X), group=data.sizes)
            np.testing.assert_allclose(callback.tracks["mine"].per_query[-1, 0], expected, atol=1e-9)
        return list(callback.tracks)

    assert names("ndcg", None) == names("None", True) == ["mine", "valid"]
    assert names("None", None) == names("ndcg", False) == ["valid"]


@pytest.mark.parametrize("every", [2, 3, 100])
def test_records_of_every_few_trees(data, valid, every):
    record = {}
    callback = tracked(HARD, every=every)
    train(data, valid, [callback, lgb.record_evaluation(record)])
    every_tree = tracked(HARD)
    train(data, valid, [every_tree])
    steps = [trees for trees in range(1, ROUNDS + 1) if trees % every == 0 or trees == ROUNDS]
    assert callback.track.steps.tolist() == steps
    full = every_tree.track
    np.testing.assert_array_equal(callback.track.per_query, full.per_query[np.array(steps) - 1])
    logged = [HARD(valid.y, np.zeros(valid.y.size), group=valid.sizes)]  # the last record, or the beginning
    for trees in range(1, ROUNDS + 1):
        logged.append(full.mean[trees - 1, 0] if trees in steps else logged[-1])
    assert record["valid"]["ndcg_hard@10"] == callback.evals_result["valid"]["ndcg_hard@10"] == logged[1:]


@pytest.mark.parametrize("ended", [True, False])
def test_a_callback_records_one_training_at_a_time(data, valid, ended):
    """Of two at once, in threads or one within another, the later one has it: the other's trees are not mixed in."""
    callback = tracked(HARD)

    def another(env):
        if env.iteration == 2:
            with contextlib.nullcontext() if ended else pytest.raises(KeyboardInterrupt):
                train(data, valid, [callback] if ended else [callback, interrupt], rounds=12)

    with pytest.raises(ValueError, match="track_callback: another training has begun with this callback"):
        train(data, valid, [callback, another])
    assert callback.track.steps[-1] == (12 if ended else 4)


def test_a_callback_used_again_forgets(data, valid):
    callback = tracked(stop=2)
    train(data, valid, [callback], rounds=50)
    first = callback.track
    train(data, valid, [callback], rounds=50)
    np.testing.assert_array_equal(callback.track.per_query, first.per_query)
    train(data, valid, [callback], rounds=1)
    assert callback.track.n_steps == 1


def test_a_callback_used_again_forgets_that_it_was_about_to_stop(data, valid):
    callback = tracked(stop=2)

    def interrupt(env):
        if callback.stopped:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(data, valid, [callback, interrupt], rounds=50)
    n_steps = callback.track.n_steps
    train(data, valid, [callback], rounds=50)
    assert callback.track.n_steps == n_steps


class Writer:
    """Holds what no pickle can, as those that write to files do."""

    def __init__(self):
        self.lock = threading.Lock()

    def add_scalar(self, tag, value, step):
        pass


def interrupt(env):
    if env.iteration == 3:
        raise KeyboardInterrupt


@pytest.mark.parametrize("stored", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy], ids=["pickle", "copy"])
def test_a_record_is_kept_however_training_ended(data, valid, stored):
    cut, stopped = tracked(writer=Writer()), tracked(stop=10)
    with pytest.raises(KeyboardInterrupt):
        train(data, valid, [cut, interrupt])
    train(data, valid, [stopped, lgb.early_stopping(1, verbose=False)], rounds=50)  # which ends it, unknown to ours
    assert not stopped.stopped
    for callback in (cut, stopped):
        again = stored(callback)
        np.testing.assert_array_equal(again.track.per_query, callback.track.per_query)
        assert again.evals_result == callback.evals_result
        train(data, valid, [again], rounds=2)
        assert again.track.n_steps == 2 < callback.track.n_steps


# LightGBM: stopping


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("watch", [0, None])
def test_lightgbm_stops_where_the_rule_says(data, valid, watch, every, keep):
    everything = tracked(every=every)
    train(data, valid, [everything], rounds=60)
    metric = 1 if watch is None else watch
    stop = StoppingRule(4, 0.8).stop_at(everything.track, metric)
    assert stop is not None
    record, callback = {}, tracked(stop=4, confidence=0.8, watch=watch, every=every)
    booster = train(data, valid, [lgb.record_evaluation(record), callback], rounds=60, keep_training_booster=keep)
    track = callback.track
    assert callback.stopped
    assert track.steps[-1] == stop
    best = int(track.steps[np.argmax(track.mean[:, metric])])
    assert booster.best_iteration == best
    assert len(record["valid"][NAMES[metric]]) == stop
    assert (
        booster.best_score["valid"][NAMES[metric]]
        == record["valid"][NAMES[metric]][best - 1]
        == track.mean.max(axis=0)[metric]
    )
    if keep:
        assert booster.current_iteration() == stop
        scores = booster.predict(valid.X, num_iteration=stop)
        np.testing.assert_allclose(track.per_query[-1], valid.expected(scores), rtol=0, atol=1e-9)


def test_training_that_ends_without_stopping_has_a_best_tree_too(data, valid):
    callback = tracked(stop=1000)
    booster = train(data, valid, [callback], rounds=25)
    assert not callback.stopped
    assert booster.best_iteration == np.argmax(callback.track.mean[:, 1]) + 1


def test_a_continued_model_ends_with_its_last_tree_and_knows_its_best(data, valid):
    first = train(data, valid, [], rounds=4)
    callback = tracked(stop=1000, every=3)
    booster = train(data, valid, [callback], init_model=first)
    assert callback.track.steps.tolist() == [7, 10, 11]
    assert booster.best_iteration == callback.live.best_trees > 4


def test_a_cross_validation_that_ends_without_stopping_has_a_best_tree_too(data):
    folds = list(GroupKFold(2).split(data.X, groups=np.repeat(np.arange(data.sizes.size), data.sizes)))
    callback = tracked(stop=1000)
    found = lgb.cv(SMALL, data.dataset(), 5, folds=folds, callbacks=[callback], return_cvbooster=True)["cvbooster"]
    pooled = np.concatenate([track.per_query[:, 1] for track in callback.tracks.values()], axis=1).mean(axis=1)
    best = np.argmax(pooled) + 1
    assert [found.best_iteration, *(booster.best_iteration for booster in found.boosters)] == 3 * [best]


def test_a_continued_cross_validation_counts_the_trees_that_it_continues_among_the_best(data, valid):
    folds = list(GroupKFold(2).split(data.X, groups=np.repeat(np.arange(data.sizes.size), data.sizes)))
    first, callback = train(data, valid, [], rounds=4), tracked(stop=1000)
    lgb.cv(SMALL, data.dataset(), 5, folds=folds, callbacks=[callback], init_model=first)
    pooled = np.concatenate([track.per_query[:, 1] for track in callback.tracks.values()], axis=1).mean(axis=1)
    assert callback.live.best_trees == 4 + np.argmax(pooled) + 1


@pytest.mark.parametrize(("objective", "first"), [("binary", 800.0), ("binary", -800.0), ("poisson", -800.0)])
def test_predictions_that_are_rounded_to_their_bounds_have_a_score(data, valid, objective, first):
    data, valid = (Ranking(d.X, np.minimum(d.y, 1), d.sizes) for d in (data, valid))
    callback = tracked(HARD)
    sets = [valid.dataset(init_score=np.full(valid.y.size, first))]
    lgb.train({**SMALL, "objective": objective}, data.dataset(), 1, valid_sets=sets, callbacks=[callback])
    assert np.ptp(callback.track.scores) == 0.0


def test_training_data_is_nothing_to_stop_by(data, valid):
    train_set = data.dataset()
    callback = tracked(stop=3, training=True)
    sets = {"valid_sets": [train_set, valid.dataset()], "valid_names": ["training", "valid"]}
    lgb.train(SMALL, train_set, 60, callbacks=[callback], **sets)
    tracks = callback.tracks
    assert StoppingRule(3).stop_at(tracks["valid"], 1) == tracks["training"].steps[-1]
    with pytest.raises(ValueError, match="stop needs to know which data to watch"):
        lgb.train(SMALL, train_set, 9, callbacks=[tracked(stop=3, training=True)], valid_sets=[train_set])


def test_a_training_that_is_cut_short_is_let_go(data, valid):
    callback = tracked()
    booster = train(data, valid, [callback, lgb.early_stopping(1, min_delta=9.0, verbose=False)])
    assert len(callback.track.steps) == 2
    alive = weakref.ref(booster)
    del booster
    gc.collect()
    assert alive() is None


def test_what_to_stop_by_must_be_clear(data, valid):
    two = {"valid_sets": [valid.dataset(), data.dataset()], "valid_names": ["one", "two"]}
    with pytest.raises(
        ValueError, match="stop needs to know which data to watch: watch_data must be one of 'one', 'two'"
    ):
        train(data, valid, [tracked(stop=2)], **two)
    with pytest.raises(ValueError, match="watch_data must be one of 'one', 'two'; got 'three'"):
        train(data, valid, [tracked(stop=2, watch_data="three")], **two)
    callback = tracked(stop=2, watch_data="two")
    booster = train(data, valid, [callback], rounds=60, **two)
    for of, name in ((valid, "one"), (data, "two")):
        expected = of.expected(booster.predict(of.X))
        np.testing.assert_allclose(
            callback.tracks[name].per_query[booster.best_iteration - 1], expected, rtol=0, atol=1e-9
        )
    assert StoppingRule(2).stop_at(callback.tracks["two"], 1) == callback.tracks["one"].steps[-1]
    with pytest.raises(ValueError, match=r"there are several data sets: take one of \.tracks: 'one', 'two'"):
        callback.track  # noqa: B018


def test_lightgbms_cross_validation(data):
    query = np.repeat(np.arange(data.sizes.size), data.sizes)
    folds = list(GroupKFold(3).split(data.X, groups=query))
    everything, callback, record = tracked(), tracked(stop=3), {}
    options = {"folds": folds, "return_cvbooster": True}
    lgb.cv(SMALL, data.dataset(), 40, callbacks=[everything], **options)
    found = lgb.cv(SMALL, data.dataset(), 40, callbacks=[callback, lgb.record_evaluation(record)], **options)
    tracks = callback.tracks
    assert list(tracks) == ["fold 0", "fold 1", "fold 2"]
    pooled = [np.concatenate([track.per_query[at, 1] for track in everything.tracks.values()]) for at in range(40)]
    start = np.concatenate([track.beginning[1] for track in everything.tracks.values()])
    watch = StoppingRule(3).begin(0, start, np.ones(start.size))
    stop = next(at + 1 for at, values in enumerate(pooled) if watch.see(at + 1, values))
    assert tracks["fold 0"].steps[-1] == stop < 40
    assert found["cvbooster"].best_iteration == watch.best_trees
    for (_, held_out), booster, track in zip(folds, found["cvbooster"].boosters, tracks.values(), strict=True):
        sizes = np.unique(query[held_out], return_counts=True)[1]
        expected = HARD.per_query(data.y[held_out], booster.predict(data.X[held_out], num_iteration=stop), group=sizes)
        np.testing.assert_allclose(track.per_query[-1, 0], expected, rtol=0, atol=1e-9)
    of_folds = np.array([track.mean[:, 0] for track in tracks.values()])
    np.testing.assert_allclose(record["valid"]["ndcg_hard@10-mean"], of_folds.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(record["valid"]["ndcg_hard@10-stdv"], of_folds.std(axis=0), rtol=1e-9, atol=1e-15)


def test_one_machine_of_several_is_refused(data, valid):
    booster = train(data, valid, [], rounds=1)
    with pytest.raises(ValueError, match="each machine sees a part of the data only; got num_machines=2"):
        tracked()(lgb.callback.CallbackEnv(booster, {"num_machines": 2}, 0, 0, 3, []))


def test_what_lightgbm_is_refused(data, valid):
    with pytest.raises(
        TypeError, match=r"^boostsoft\.lightgbm\.track_callback: training must be True or False; got 'x'"
    ):
        bl.track_callback(training="x")
    with pytest.raises(ValueError, match=r"stop must be None with boosting='dart'"):
        train(data, valid, [tracked(stop=3)], params={"boosting_type": "dart"})
    with pytest.raises(ValueError, match=r"nothing to record on; give valid_sets"):
        train(data, valid, [tracked()], valid_sets=None, valid_names=None)
    own = data.dataset()
    with pytest.raises(ValueError, match=r"in fit\); the training data among them counts only with training=True$"):
        lgb.train({**SMALL, "metric": "None"}, own, 2, valid_sets=[own], callbacks=[tracked()])
    with pytest.raises(ValueError, match=r"'ndcg_hard@10' of 'valid' is in LightGBM's log already"):
        train(data, valid, [tracked()], feval=bl.feval(HARD))
    with pytest.raises(ValueError, match=r"two data sets are called 'valid'; give valid_names"):
        train(data, valid, [tracked()], valid_sets=[valid.dataset(), valid.dataset()], valid_names=["valid", "valid"])
    with pytest.raises(ValueError, match=r"the data has no groups"):
        train(data, valid, [tracked()], params={"objective": "l2"}, valid_sets=[lgb.Dataset(valid.X, valid.y)])
    query = np.repeat(np.arange(data.sizes.size), data.sizes)
    with pytest.raises(ValueError, match=r"the folds cut through"):
        lgb.cv({**SMALL, "objective": "l2"}, data.dataset(), 3, callbacks=[tracked()], stratified=False)
    assert query.size == data.y.size
    three = np.minimum(data.y, 2)
    many = {"objective": "multiclass", "num_class": 3}
    with pytest.raises(ValueError, match="model must have one score per document; got a LightGBM model of 3 cl"):
        train(Ranking(data.X, three, data.sizes), Ranking(data.X, three, data.sizes), [tracked()], params=many)


def test_a_cross_validation_that_evaluates_its_training_data(data):
    """LightGBM puts the training part of a fold in front of what the fold is tested on."""
    query = np.repeat(np.arange(data.sizes.size), data.sizes)
    folds = list(GroupKFold(3).split(data.X, groups=query))
    options = {"folds": folds, "feval": bl.feval("ndcg@5"), "callbacks": [alone := tracked(stop=3)]}
    lgb.cv(SMALL, data.dataset(), 40, **options)
    for training in (None, False):
        callback, record = tracked(stop=3, training=training), {}
        options["callbacks"] = [callback, lgb.record_evaluation(record)]
        found = lgb.cv(SMALL, data.dataset(), 40, eval_train_metric=True, return_cvbooster=True, **options)
        parts = [
            f"{part} {at}" for part in ("fold", "training fold")[: 2 if training is None else 1] for at in range(3)
        ]
        assert list(callback.tracks) == parts
        for name, track in alone.tracks.items():
            np.testing.assert_array_equal(callback.tracks[name].per_query, track.per_query)
        for at, ((fitted, _), booster) in enumerate(zip(folds, found["cvbooster"].boosters, strict=True)):
            n_trees = callback.tracks["fold 0"].steps[-1]
            scores = booster.predict(data.X[fitted], num_iteration=n_trees)
            expected = HARD.per_query(data.y[fitted], scores, qid=query[fitted])
            if training is None:
                np.testing.assert_allclose(
                    callback.tracks[f"training fold {at}"].per_query[-1, 0], expected, rtol=0, atol=1e-9
                )
    lgb.cv(SMALL, data.dataset(), 3, **{**options, "callbacks": [callback := tracked(training=True)]})
    assert list(callback.tracks)[3:] == ["training fold 0", "training fold 1", "training fold 2"]


@pytest.mark.parametrize("evaluated", [False, True])
def test_a_cross_validation_shows_scores_of_its_training_data_that_dart_drops_no_trees_for(
    data, evaluated, monkeypatch
):
    """Those of the data among the validation sets, if LightGBM evaluates it: asked for its own, dart drops trees."""
    seen, real = [], lightgbm_callback._Source

    def source(booster, index):
        seen.append(index)
        return real(booster, index)

    monkeypatch.setattr(lightgbm_callback, "_Source", source)
    folds = list(GroupKFold(3).split(data.X, groups=np.repeat(np.arange(data.sizes.size), data.sizes)))
    callback = tracked(training=True)
    lgb.cv(SMALL, data.dataset(), 2, folds=folds, eval_train_metric=evaluated, callbacks=[callback])
    assert "training fold 2" in callback.tracks
    assert seen == (3 * [2] + 3 * [1] if evaluated else 3 * [1] + 3 * [0])


@pytest.mark.parametrize("cv", [False, True])
def test_rows_stand_with_those_of_their_data_set(data, valid, cv):
    """By which lgb.early_stopping knows which of its min_delta belongs to which metric."""
    query = np.repeat(np.arange(data.sizes.size), data.sizes)
    seen = []
    deltas = 0.1 if cv else [0.1, 0.2, 0.3]  # before 4.6 lgb.cv has no list of them
    early = lgb.early_stopping(30, verbose=False, min_delta=deltas)
    callbacks = [early, bl.track_callback("mrr", progress=False), lambda env: seen.append(env.evaluation_result_list)]
    metrics = bl.feval(HARD, SOFT)
    if cv:
        folds = list(GroupKFold(3).split(data.X, groups=query))
        lgb.cv(SMALL, data.dataset(), 3, folds=folds, feval=metrics, eval_train_metric=True, callbacks=callbacks)
    else:
        sets = {"valid_sets": [valid.dataset(), data.dataset()], "valid_names": ["one", "two"]}
        train(data, valid, callbacks, feval=metrics, **sets)
    names = [tuple(row[1].split()[-2:]) if row[0] == "cv_agg" else tuple(row[:2]) for row in seen[-1]]
    parts = ("train", "valid") if cv else ("one", "two")
    assert sorted(names) == sorted((part, name) for part in parts for name in (*NAMES, "mrr_hard"))
    assert [name for part, name in names if part == names[0][0]] == [
        name for part, name in names if part != names[0][0]
    ]
    assert [part for part, _ in names] == 3 * [names[0][0]] + 3 * [names[3][0]]
    if not cv:
        assert [compare.keywords["delta"] for compare in early.cmp_op] == deltas * 2


def test_a_writer_is_told_of_a_tree_once(data, valid):
    told = []

    class Writer:
        def add_scalar(self, tag, value, step):
            told.append((tag, step))

    params = {"extra_trees": True, "min_data_in_leaf": data.y.size // 3, "seed": 3}
    callback = tracked(writer=Writer())
    booster = train(data, valid, [callback], params=params, rounds=40, keep_training_booster=True)
    assert booster.num_trees() < 40
    assert len(set(told)) == len(told) == len(NAMES) * booster.num_trees()


def test_a_cross_validation_does_not_lose_trees_of_dart(data):
    params = {**SMALL, "boosting": "dart", "objective": bl.objective("ndcg@10")}
    folds = list(GroupKFold(3).split(data.X, groups=np.repeat(np.arange(data.sizes.size), data.sizes)))
    refused = r"^boostsoft\.lightgbm\.track_callback: .* must not be evaluated with boosting='dart'"
    with pytest.raises(ValueError, match=refused):
        lgb.cv(params, data.dataset(), 2, folds=folds, callbacks=[tracked(training=True)])
