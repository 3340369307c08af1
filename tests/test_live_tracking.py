"""Tracks recorded while LightGBM and XGBoost train: what the finished model gives tree by tree, and where it stops."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
from typing import NamedTuple

import lightgbm as lgb
import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

import boostsoft as bs
import boostsoft.lightgbm as bl
import boostsoft.xgboost as bx
from boostsoft.lightgbm_callback import LightGBMTrack
from boostsoft.query_groups import QueryGroups
from boostsoft.tracks.live import LiveTrack
from boostsoft.tracks.stopping import StoppingRule

xgb = pytest.importorskip("xgboost")

HARD = bs.Metric("ndcg@10")
SOFT = bs.SoftMetric("ndcg@10", sigma=0.3, sigma_unit="spread")
NAMES = ["ndcg_hard@10", "ndcg_gaussian@10"]
QUIET = {"verbose": -1, "num_threads": 1, "deterministic": True, "force_row_wise": True}
SMALL = {**QUIET, "num_leaves": 6, "min_data_in_leaf": 5, "metric": "None", "objective": "lambdarank"}
ROUNDS = 7


class Ranking(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    sizes: np.ndarray

    def dataset(self, **options):
        return lgb.Dataset(self.X, self.y, group=self.sizes, free_raw_data=False, **options)

    def matrix(self, **options):
        return xgb.DMatrix(self.X, self.y, group=self.sizes, **options)

    def expected(self, scores):
        """Of both metrics, (n_metrics, n_queries)."""
        return np.stack([metric.per_query(self.y, scores, group=self.sizes) for metric in (HARD, SOFT)])


def ranking(seed, n_queries):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(4, 20, n_queries)
    X = rng.normal(size=(sizes.sum(), 5))
    worth = X[:, 0] + 0.7 * np.abs(X[:, 1]) + rng.normal(size=len(X))
    return Ranking(X, np.digitize(worth, [0.8, 1.5, 2.5]).astype(float), sizes)


@pytest.fixture(scope="module")
def data():
    return ranking(0, 40)


@pytest.fixture(scope="module")
def valid():
    return ranking(1, 15)


def tracked(*metrics, **options):
    return bl.track_callback(*(metrics or (HARD, SOFT)), progress=False, **options)


def train(data, valid, callbacks, rounds=ROUNDS, params=None, **options):
    given = {**SMALL, **(params or {})}
    options = {"valid_sets": [valid.dataset()], "valid_names": ["valid"], **options}
    return lgb.train(given, data.dataset(), rounds, callbacks=callbacks, **options)


def boost(data, callbacks, rounds=ROUNDS, params=None, **options):
    given = {"nthread": 1, "max_depth": 3, "objective": "rank:ndcg", **(params or {})}
    return xgb.train(given, data.matrix(), rounds, callbacks=callbacks, verbose_eval=False, **options)


def means(track):
    return {name: track.mean[:, at].tolist() for at, name in enumerate(NAMES)}


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
    given = {"valid_sets": [data_set := data.dataset(), valid.dataset()], "valid_names": ["training", "valid"]}
    found = []
    for hidden in (False, True):
        callback = tracked()
        with monkeypatch.context() as patch:
            if hidden:
                patch.setattr("boostsoft.lightgbm_callback._SCORES", "no_such_method")
            lgb.train({**SMALL, "metric": "ndcg"}, data_set, 3, callbacks=[callback], **given)
        found.append({name: track.per_query for name, track in callback.tracks.items()})
    assert list(found[0]) == list(found[1]) == ["training", "valid"]
    for name in found[0]:
        np.testing.assert_array_equal(found[0][name], found[1][name])


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


def test_lightgbm_starts_from_init_score(data, valid):
    given = np.linspace(-1, 1, valid.y.size)
    callback = tracked()
    sets = [valid.dataset(init_score=given)]
    train_set = data.dataset(init_score=np.zeros(data.y.size))
    booster = lgb.train(SMALL, train_set, ROUNDS, valid_sets=sets, callbacks=[callback])
    np.testing.assert_allclose(callback.track.beginning, valid.expected(given), rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        callback.track.per_query[-1], valid.expected(given + booster.predict(valid.X)), rtol=0, atol=1e-9
    )


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


def test_trees_that_lightgbm_cannot_grow_repeat_the_values_and_are_not_taken_back(data, valid):
    params = {"min_gain_to_split": 8, "learning_rate": 0.3}
    callback = tracked(stop=4)
    booster = train(data, valid, [callback], params=params, rounds=20, keep_training_booster=True)
    alone = train(data, valid, [], params=params, rounds=20, keep_training_booster=True)
    trees, track = alone.num_trees(), callback.track
    assert booster.num_trees() == trees < track.steps[-1] == StoppingRule(4).stop_at(track, 1)
    assert (track.per_query[trees - 1 :] == track.per_query[trees - 1]).all()


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


def test_a_callback_used_again_forgets(data, valid):
    callback = tracked(stop=2)
    train(data, valid, [callback], rounds=50)
    first = callback.track
    train(data, valid, [callback], rounds=50)
    np.testing.assert_array_equal(callback.track.per_query, first.per_query)
    train(data, valid, [callback], rounds=1)
    assert callback.track.n_steps == 1


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


def test_stopping_of_a_continued_model_counts_its_trees(data, valid):
    first = train(data, valid, [], rounds=4)
    callback = tracked(stop=3)
    booster = train(data, valid, [callback], rounds=60, init_model=first)
    track = callback.track
    assert callback.stopped
    assert booster.best_iteration == track.steps[np.argmax(track.mean[:, 1])] > 4
    model = boost(data, [], rounds=4)
    callback = bx.TrackCallback(valid.matrix(), HARD, SOFT, stop=3, progress=False)
    booster = boost(data, [callback], rounds=60, xgb_model=model)
    track = callback.track
    assert booster.num_boosted_rounds() == track.steps[-1] == StoppingRule(3).stop_at(track, 1)
    assert booster.best_iteration + 1 == track.steps[np.argmax(track.mean[:, 1])] > 4


def test_training_data_is_nothing_to_stop_by(data, valid):
    train_set = data.dataset()
    callback = tracked(stop=3, training=True)
    sets = {"valid_sets": [train_set, valid.dataset()], "valid_names": ["training", "valid"]}
    lgb.train(SMALL, train_set, 60, callbacks=[callback], **sets)
    tracks = callback.tracks
    assert StoppingRule(3).stop_at(tracks["valid"], 1) == tracks["training"].steps[-1]
    with pytest.raises(ValueError, match="stop needs to know which data to watch"):
        lgb.train(SMALL, train_set, 9, callbacks=[tracked(stop=3, training=True)], valid_sets=[train_set])


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


def test_what_lightgbm_is_refused(data, valid):
    with pytest.raises(ValueError, match=r"stop must be None with boosting='dart'"):
        train(data, valid, [tracked(stop=3)], params={"boosting_type": "dart"})
    with pytest.raises(ValueError, match=r"nothing to record on; give valid_sets"):
        train(data, valid, [tracked()], valid_sets=None, valid_names=None)
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
    with pytest.raises(ValueError, match="must be one-dimensional; got shape"):
        train(Ranking(data.X, three, data.sizes), Ranking(data.X, three, data.sizes), [tracked()], params=many)


# XGBoost


XGB_PARAMS = {
    "rank:ndcg": {},
    "rank:pairwise, forests": {"objective": "rank:pairwise", "num_parallel_tree": 2, "subsample": 0.6},
    "logistic": {"objective": "binary:logistic", "base_score": 0.3},
    "squared error": {"objective": "reg:squarederror"},  # whose base score is estimated from the data
    "ours": {"obj": bx.objective("ndcg@10"), "base_score": 0, "disable_default_eval_metric": True},
}


@pytest.mark.parametrize("among_evals", [False, True])
@pytest.mark.parametrize("name", XGB_PARAMS)
def test_xgboost_records_what_the_finished_model_gives(data, valid, name, among_evals):
    if name == "logistic":
        data, valid = (Ranking(d.X, np.minimum(d.y, 1), d.sizes) for d in (data, valid))
    params = dict(XGB_PARAMS[name])
    objective = {"obj": params.pop("obj")} if "obj" in params else {}
    matrix = valid.matrix()
    callback = bx.TrackCallback(matrix, HARD, SOFT, progress=False)
    evals = [(matrix, "other")] if among_evals else []
    booster = boost(data, [callback], params=params, evals=evals, **objective)
    track = callback.track
    assert (track.start, track.steps.tolist(), track.label) == (0, list(range(1, ROUNDS + 1)), "valid")
    for at, trees in enumerate(track.steps):
        scores = booster.predict(valid.matrix(), output_margin=True, iteration_range=(0, int(trees)))
        np.testing.assert_allclose(track.per_query[at], valid.expected(scores.astype(float)), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(track.beginning, valid.expected(np.zeros(valid.y.size)))
    alone = boost(data, [], params=params, evals=evals, **objective)
    np.testing.assert_array_equal(alone.predict(matrix), booster.predict(matrix))


def test_xgboost_continues_a_model_and_keeps_margins(data, valid):
    margin = np.linspace(-1, 1, valid.y.size).astype(np.float32)
    first = boost(data, [], rounds=3)
    for model, start in ((None, 0), (first, 3)):
        matrix = valid.matrix(base_margin=margin)
        callback = bx.TrackCallback(matrix, HARD, SOFT, progress=False)
        booster = boost(data, [callback], xgb_model=model)
        track = callback.track
        assert (track.start, track.steps.tolist()) == (start, list(range(start + 1, start + 1 + ROUNDS)))
        beginning = first.predict(matrix, output_margin=True) if start else margin
        np.testing.assert_allclose(track.beginning, valid.expected(beginning.astype(float)), rtol=0, atol=1e-9)
        for at, trees in enumerate(track.steps):
            fresh = valid.matrix(base_margin=margin)
            scores = booster.predict(fresh, output_margin=True, iteration_range=(0, int(trees))).astype(float)
            np.testing.assert_allclose(track.per_query[at], valid.expected(scores), rtol=0, atol=1e-9)


def test_query_weights_of_xgboost(data, valid):
    weights = np.random.default_rng(0).uniform(0.5, 2, valid.sizes.size).astype(np.float32)
    callback = bx.TrackCallback(valid.matrix(weight=weights), HARD, progress=False)
    boost(data, [callback])
    np.testing.assert_array_equal(callback.track.query_weight, weights)


def test_every_log_of_xgboost_has_the_means(data, valid, capfd):
    log, matrix = {}, valid.matrix()
    callback = bx.TrackCallback(matrix, HARD, SOFT, progress=False)
    booster = boost(
        data,
        [callback, xgb.callback.EvaluationMonitor()],
        evals=[(matrix, "valid")],
        evals_result=log,
        params={"eval_metric": "ndcg@3"},
    )
    expected = means(callback.track)
    assert list(log["valid"]) == ["ndcg@3", *NAMES]
    assert {name: log["valid"][name] for name in NAMES} == expected == callback.evals_result["valid"]
    assert len(log["valid"]["ndcg@3"]) == ROUNDS
    assert capfd.readouterr().out.endswith(f"valid-ndcg_gaussian@10:{expected[NAMES[1]][-1]:.5f}\n")
    assert booster.attr("best_iteration") is None


def test_our_train_and_several_data_sets(data, valid):
    log, sets = {}, [(data.matrix(), "train"), (valid.matrix(), "valid")]
    callback = bx.TrackCallback(sets, progress=False, stop=3, watch_data="valid")
    booster = bx.train({"nthread": 1}, data.matrix(), 40, callbacks=[callback], evals_result=log, verbose_eval=False)
    assert list(callback.tracks) == list(log) == ["train", "valid"]
    track = callback.tracks["valid"]
    assert booster.best_iteration == np.argmax(track.mean[:, 1])
    assert booster.best_score == track.mean[:, 1].max()


def test_the_ranker_of_xgboost(data, valid):
    callback = bx.TrackCallback(valid.matrix(), HARD, SOFT, stop=3, progress=False)
    ranker = xgb.XGBRanker(n_estimators=60, max_depth=3, n_jobs=1, callbacks=[callback])
    ranker.fit(data.X, data.y, group=data.sizes)
    track = callback.track
    assert track.n_steps < 60
    assert ranker.best_iteration == np.argmax(track.mean[:, 1])
    assert ranker.evals_result()["valid"] == means(track)
    expected = valid.expected(ranker.predict(valid.X).astype(float))  # up to the best tree
    np.testing.assert_allclose(track.per_query[ranker.best_iteration], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("every", [1, 3])
def test_xgboost_stops_where_the_rule_says(data, valid, every):
    everything = bx.TrackCallback(valid.matrix(), HARD, SOFT, every=every, progress=False)
    boost(data, [everything], rounds=60)
    stop = StoppingRule(4, 0.8).stop_at(everything.track, 1)
    assert stop is not None
    log = {}
    callback = bx.TrackCallback(valid.matrix(), HARD, SOFT, every=every, stop=4, confidence=0.8, progress=False)
    after = bx.TrackCallback(valid.matrix(), HARD, name="again", progress=False)
    booster = boost(data, [callback, after], rounds=60, evals_result=log)
    assert callback.stopped
    assert booster.num_boosted_rounds() == callback.track.steps[-1] == stop
    assert len(log["valid"][NAMES[1]]) == after.track.n_steps == stop  # those behind saw the last one
    best = int(callback.track.steps[np.argmax(callback.track.mean[:, 1])])
    assert (booster.best_iteration, booster.best_score) == (best - 1, callback.track.mean[:, 1].max())


@pytest.mark.parametrize("every", [2, 3, 100])
def test_records_of_every_few_trees_of_xgboost(data, valid, every):
    log, full = {}, bx.TrackCallback(valid.matrix(), HARD, name="full", progress=False)
    callback = bx.TrackCallback(valid.matrix(), HARD, every=every, stop=1000, progress=False)
    booster = boost(data, [callback, full], evals_result=log)
    steps = [trees for trees in range(1, ROUNDS + 1) if trees % every == 0 or trees == ROUNDS]
    assert callback.track.steps.tolist() == steps
    np.testing.assert_array_equal(callback.track.per_query, full.track.per_query[np.array(steps) - 1])
    logged = [HARD(valid.y, np.zeros(valid.y.size), group=valid.sizes)]
    for trees in range(1, ROUNDS + 1):
        logged.append(full.track.mean[trees - 1, 0] if trees in steps else logged[-1])
    assert log["valid"]["ndcg_hard@10"] == callback.evals_result["valid"]["ndcg_hard@10"] == logged[1:]
    assert booster.best_iteration == steps[int(np.argmax(callback.track.mean[:, 0]))] - 1


def test_dart_of_xgboost_is_recorded_as_the_model_was_then(data, valid):
    params = {"booster": "dart", "rate_drop": 0.5, "seed": 1}
    callback = bx.TrackCallback(valid.matrix(), HARD, SOFT, progress=False)
    boost(data, [callback], params=params)
    for at, trees in enumerate(callback.track.steps):
        scores = boost(data, [], params=params, rounds=int(trees)).predict(valid.matrix(), output_margin=True)
        np.testing.assert_allclose(callback.track.per_query[at], valid.expected(scores.astype(float)), atol=1e-9)


@pytest.mark.filterwarnings("ignore:.*You have manually specified the `updater` parameter")
def test_refreshed_trees_of_xgboost(data, valid):
    other = ranking(2, 30)
    params = {"process_type": "update", "updater": "refresh", "objective": "reg:squarederror"}
    model = boost(data, [], rounds=3, params={"objective": "reg:squarederror"})
    callback = bx.TrackCallback(valid.matrix(), HARD, SOFT, progress=False)
    booster = boost(other, [callback], rounds=3, params=params, xgb_model=model)
    assert (callback.track.start, callback.track.steps.tolist()) == (0, [1, 2, 3])
    for at, trees in enumerate(callback.track.steps):
        scores = booster.predict(valid.matrix(), output_margin=True, iteration_range=(0, int(trees)))
        np.testing.assert_allclose(callback.track.per_query[at], valid.expected(scores.astype(float)), atol=1e-9)


def test_a_linear_model_of_xgboost(data, valid):
    callback = bx.TrackCallback(valid.matrix(), HARD, SOFT, progress=False)
    params = {"booster": "gblinear", "max_depth": None, "updater": "coord_descent"}
    booster = boost(data, [callback], params=params)
    scores = booster.predict(valid.matrix(), output_margin=True).astype(float)
    np.testing.assert_allclose(callback.track.per_query[-1], valid.expected(scores), rtol=0, atol=1e-9)


def test_what_xgboost_is_refused(data, valid):
    matrix = valid.matrix()
    for booster in ("dart", "gblinear"):
        with pytest.raises(ValueError, match=f"stop must be None with booster='{booster}'"):
            boost(data, [bx.TrackCallback(matrix, stop=3)], params={"booster": booster, "max_depth": None})
    with pytest.raises(ValueError, match=r"'ndcg_hard@10' of 'valid' is in evals_log already, from custom_metric"):
        bx.train(
            {},
            data.matrix(),
            3,
            evals=[(matrix, "valid")],
            callbacks=[bx.TrackCallback(matrix, HARD)],
            verbose_eval=False,
        )
    with pytest.raises(ValueError, match=r"xgb\.cv is not supported; call xgb\.train for each fold"):
        xgb.cv({"objective": "rank:ndcg"}, data.matrix(), 3, callbacks=[bx.TrackCallback(matrix)])
    with pytest.raises(ValueError, match="the DMatrix has no groups"):
        boost(data, [bx.TrackCallback(xgb.DMatrix(valid.X, valid.y))])
    for wrong in ([], matrix.get_label(), [matrix], [(matrix, 1)], [(valid.X, "valid")], "valid"):
        with pytest.raises(TypeError, match="data must be a DMatrix or a list of"):
            bx.TrackCallback(wrong)
    with pytest.raises(ValueError, match=r"two data sets have one name; got \['a', 'a'\]"):
        bx.TrackCallback([(matrix, "a"), (matrix, "a")])


def test_the_class_is_one_of_xgboosts_and_made_when_it_is_asked_for():
    assert issubclass(bx.TrackCallback, xgb.callback.TrainingCallback)
    assert pickle.loads(pickle.dumps(bx.TrackCallback)) is bx.TrackCallback
    code = (
        "import sys, boostsoft.xgboost as bx, boostsoft.lightgbm as bl\n"
        "bl.track_callback()\n"
        "assert 'TrackCallback' in dir(bx)\n"
        "assert not {'xgboost', 'lightgbm', 'rich', 'matplotlib', 'pandas'} & set(sys.modules)\n"
        "assert not hasattr(bx, 'TrackCallbacks')\n"
        "sys.modules['xgboost'] = None\n"
        "try:\n"
        "    bx.TrackCallback\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("boostsoft.xgboost.TrackCallback: XGBoost is not installed: pip install 'boostsoft[")


# What both share


def live(*metrics, **options):
    return LiveTrack("example", metrics, **options)


def test_what_is_watched():
    both = (HARD, SOFT)
    assert live(*both).watched == live(*both, watch=1).watched == live(*both, watch=SOFT).watched == 1
    assert live(*both, watch="ndcg_hard@10").watched == live(*both, watch="ndcg@10").watched == 0
    assert live(*both, watch=-1).watched == live(*both, watch="ndcg_gaussian@10").watched == 1
    assert live("mrr", "map").watched == 0
    assert [metric.name for metric in live().metrics] == ["ndcg@10", "ndcg_gaussian@10"]
    assert live().metrics[1].sigma_unit == "spread"


@pytest.mark.parametrize(
    ("metrics", "options", "error", "message"),
    [
        (("ndcg@10",), {"every": 0}, ValueError, "every must be from 1"),
        (("ndcg@10",), {"watch": "map"}, ValueError, "watch must be one of 'ndcg@10' or its position; got 'map'"),
        (("ndcg@10",), {"watch": 1}, ValueError, "watch must be one of"),
        (("ndcg@10",), {"watch": True}, ValueError, "watch must be one of"),
        (("ndcg@10",), {"progress": "yes"}, ValueError, "progress must be True, False or 'auto'; got 'yes'"),
        (("ndcg@10",), {"writer": print}, TypeError, r"writer must have add_scalar\(tag, value, step\); got"),
        (("ndcg@10", "ndcg@10"), {}, ValueError, "two metrics are called 'ndcg_hard@10'"),
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


def test_nothing_recorded_is_said():
    with pytest.raises(ValueError, match=r"boostsoft\.lightgbm\.track_callback: nothing is recorded yet"):
        bl.track_callback().track  # noqa: B018
    assert isinstance(bl.track_callback("map"), LightGBMTrack)
    assert repr(bl.track_callback("map")).startswith("boostsoft.lightgbm.track_callback(Metric('map'")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_bar_shows_the_metric_with_its_error(data, valid, monkeypatch):
    monkeypatch.setattr("boostsoft.tracks.progress._PAUSE", 0.0)
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


@pytest.mark.parametrize(("progress", "terminal", "expected"), [("auto", False, 0), (False, True, 0), (True, False, 7)])
def test_when_the_bar_is_shown(data, valid, monkeypatch, progress, terminal, expected):
    monkeypatch.setattr("boostsoft.tracks.progress._PAUSE", 0.0)
    monkeypatch.setattr(sys, "stderr", shown := (Terminal() if terminal else io.StringIO()))
    boost(data, [bx.TrackCallback(valid.matrix(), HARD, progress=progress)])
    assert shown.getvalue().count("\r") == (expected and expected + 1)  # and once more at the end
    assert expected == 0 or "7 trees " in shown.getvalue()
