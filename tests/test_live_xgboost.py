"""Tracks recorded while XGBoost trains: what the finished model gives tree by tree, and where it stops."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import boostsoft.xgboost as bx
from boostsoft.tracks.stopping import StoppingRule

from . import live_cases
from .live_cases import HARD, NAMES, ROUNDS, SOFT, Ranking, boost, means, ranking
from .processes import passes_alone

xgb = pytest.importorskip("xgboost")
data, valid = live_cases.data, live_cases.valid  # fixtures

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
    assert list(log["valid"]) == [*NAMES, "ndcg@3"]  # in front: what comes last is watched by early stopping
    assert {name: log["valid"][name] for name in NAMES} == expected == callback.evals_result["valid"]
    assert len(log["valid"]["ndcg@3"]) == ROUNDS
    assert f"\tvalid-ndcg_gaussian@10:{expected[NAMES[1]][-1]:.5f}\t" in capfd.readouterr().out.splitlines()[-1]
    assert booster.attr("best_iteration") is None


def stopped(booster):
    return booster.best_iteration, booster.best_score, booster.num_boosted_rounds()


@pytest.mark.parametrize("name", ["valid", "train", "mine"])
def test_a_recorder_does_not_move_what_early_stopping_watches(data, valid, name):
    matrix, training = valid.matrix(), data.matrix()
    given = {"params": {"eval_metric": ["ndcg@5", "ndcg@3"]}, "rounds": 60, "early_stopping_rounds": 3}
    given["evals"] = [(training, "train"), (matrix, "valid")]
    alone = stopped(boost(data, [], **given))
    assert alone[0] + 4 == alone[2] < 60
    sets = [(training, name), (training, "another")]
    for recorders in ([bx.TrackCallback(sets, progress=False)], [bx.TrackCallback([one]) for one in sets]):
        log = {}
        assert stopped(boost(data, recorders, evals_result=log, **given)) == alone
        assert list(log)[-2:] == ["train", "valid"]
        assert list(log["valid"])[-1] == list(log["train"])[-1] == "ndcg@3"
        assert list(log[name])[:2] == NAMES


def test_a_recorder_does_not_move_what_the_ranker_of_xgboost_watches(data, valid):
    given = {"n_estimators": 60, "max_depth": 3, "n_jobs": 1, "eval_metric": "ndcg@3", "early_stopping_rounds": 3}
    fits = []
    for callbacks in ([], [bx.TrackCallback(data.matrix(), progress=False, name="validation_0")]):
        ranker = xgb.XGBRanker(callbacks=callbacks, **given)
        ranker.fit(data.X, data.y, group=data.sizes, eval_set=[(valid.X, valid.y)], eval_group=[valid.sizes], verbose=0)
        fits.append((ranker.best_iteration, ranker.best_score))
    assert fits[0] == fits[1]
    assert fits[0][0] < 56
    assert list(ranker.evals_result()["validation_0"]) == [*NAMES, "ndcg@3"]


@pytest.mark.parametrize("several", [False, True])
def test_without_evals_early_stopping_watches_the_last_set_that_is_recorded(data, valid, several):
    sets = [(data.matrix(), "train"), (valid.matrix(), "valid")]
    callbacks = [bx.TrackCallback([one]) for one in sets] if several else [bx.TrackCallback(sets)]
    log = {}
    booster = boost(data, callbacks, rounds=60, early_stopping_rounds=3, maximize=True, evals_result=log)
    assert list(log) == ["train", "valid"]
    curve = log["valid"][NAMES[1]]
    assert booster.best_iteration == np.argmax(curve) == len(curve) - 4


def test_a_recorded_metric_is_not_minimised(data, valid):
    train, held = data.matrix(), valid.matrix()
    match = "boostsoft.xgboost.TrackCallback: an EarlyStopping callback would minimise 'err_hard@10'"
    callbacks = [bx.TrackCallback(held, "err@10"), xgb.callback.EarlyStopping(rounds=3)]
    with pytest.raises(ValueError, match=match):
        xgb.train({"objective": "rank:ndcg"}, train, 5, callbacks=callbacks)
    # what it minimises rightly is XGBoost's own
    callbacks = [bx.TrackCallback(held, "err@10"), xgb.callback.EarlyStopping(rounds=3)]
    params = {"objective": "rank:ndcg", "eval_metric": "rmse"}
    xgb.train(params, train, 5, evals=[(held, "valid")], callbacks=callbacks, verbose_eval=False)


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


class Rounds(xgb.callback.TrainingCallback):
    """How many rounds have ended."""

    seen = 0

    def after_iteration(self, model, epoch, evals_log):
        self.seen += 1
        return False


@pytest.mark.parametrize("every", [1, 3])
def test_xgboost_stops_where_the_rule_says(data, valid, every):
    everything = bx.TrackCallback(valid.matrix(), HARD, SOFT, every=every, progress=False)
    boost(data, [everything], rounds=60)
    stop = StoppingRule(4, 0.5).stop_at(everything.track, 1)  # later than with the usual confidence where every is 1
    assert stop is not None
    log, after = {}, Rounds()
    callback = bx.TrackCallback(valid.matrix(), HARD, SOFT, every=every, stop=4, confidence=0.5, progress=False)
    booster = boost(data, [callback, after], rounds=60, evals_result=log)
    assert callback.stopped
    assert booster.num_boosted_rounds() == callback.track.steps[-1] == stop
    assert len(log["valid"][NAMES[1]]) == after.seen == stop  # those behind saw the last one
    best = int(callback.track.steps[np.argmax(callback.track.mean[:, 1])])
    assert (booster.best_iteration, booster.best_score) == (best - 1, callback.track.mean[:, 1].max())
    assert boost(data, [callback], rounds=60).num_boosted_rounds() == stop  # used again, it forgets


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


def test_train_leaves_to_the_callback_what_it_records_of_the_metrics_by_default(data, valid):
    matrix, log = valid.matrix(), {}
    for recorded in ((HARD, SOFT), (HARD,), (SOFT,)):  # ndcg@10, hard and soft, is also what is evaluated by default
        callback = bx.TrackCallback(matrix, *recorded, progress=False)
        booster = bx.train(
            {"nthread": 1, "max_depth": 3},
            data.matrix(),
            ROUNDS,
            evals=[(matrix, "valid")],
            evals_result=log,
            callbacks=[callback],
            early_stopping_rounds=ROUNDS,
            verbose_eval=False,
        )
        assert list(log["valid"]) == (NAMES[1:] if recorded == (SOFT,) else NAMES)
        assert booster.best_iteration == int(np.argmax(log["valid"][NAMES[-1]]))  # the soft one in any case
        for at, metric in enumerate(recorded):
            logged = log["valid"][NAMES[(HARD, SOFT).index(metric)]]
            np.testing.assert_array_equal(logged, callback.track.mean[:, at])


def test_what_xgboost_is_refused(data, valid):
    matrix = valid.matrix()
    for booster, options in (("dart", {"rate_drop": 0.5}), ("gblinear", {"max_depth": None})):
        with pytest.raises(ValueError, match=f"stop must be None with booster='{booster}'"):
            boost(data, [bx.TrackCallback(matrix, stop=3)], params={"booster": booster, **options})
    with pytest.raises(ValueError, match=r"'ndcg_hard@10' of 'valid' is in evals_log already, from custom_metric"):
        bx.train(
            {},
            data.matrix(),
            3,
            custom_metric=HARD,
            evals=[(matrix, "valid")],
            callbacks=[bx.TrackCallback(matrix, HARD)],
            verbose_eval=False,
        )
    several = {"objective": "multi:softprob", "num_class": 4}
    with pytest.raises(ValueError, match="model must have one score per document; got an XGBoost model with"):
        xgb.train(several, xgb.DMatrix(data.X, data.y), 2, callbacks=[bx.TrackCallback(matrix)])
    with pytest.raises(ValueError, match=r"xgb\.cv is not supported; call xgb\.train for each fold"):
        xgb.cv({"objective": "rank:ndcg"}, data.matrix(), 3, callbacks=[bx.TrackCallback(matrix)])
    with pytest.raises(ValueError, match="the DMatrix has no groups"):
        boost(data, [bx.TrackCallback(xgb.DMatrix(valid.X, valid.y))])
    with pytest.raises(ValueError, match="TrackCallback: the DMatrix has no labels; give it label="):
        boost(data, [bx.TrackCallback(xgb.DMatrix(valid.X, group=valid.sizes))])
    for wrong in ([], matrix.get_label(), [matrix], [(matrix, 1)], [(valid.X, "valid")], "valid"):
        with pytest.raises(TypeError, match="data must be a DMatrix or a list of"):
            bx.TrackCallback(wrong)
    with pytest.raises(ValueError, match=r"two data sets have one name; got \['a', 'a'\]"):
        bx.TrackCallback([(matrix, "a"), (matrix, "a")])


class Writer:
    """Like TensorBoard's, which holds an open file."""

    def __init__(self):
        self.means = []
        self.never_pickled = lambda: None

    def add_scalar(self, tag, value, step):
        self.means.append(value)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, clone], ids=["copy", "deepcopy", "clone"])
def test_a_copy_shares_the_data_and_has_recorded_nothing(data, valid, copied):
    writer = Writer()
    callback = bx.TrackCallback(valid.matrix(), HARD, SOFT, stop=3, progress=False, writer=writer)
    if copied is clone:
        ranker = xgb.XGBRanker(n_estimators=5, callbacks=[callback]).fit(data.X, data.y, group=data.sizes)
        again = clone(ranker).callbacks[0]
    else:
        boost(data, [callback])
        again = copied(callback)
    before = callback.track
    assert not again.stopped
    assert not again.evals_result
    with pytest.raises(ValueError, match="nothing is recorded yet"):
        again.track  # noqa: B018
    recorded = len(writer.means)
    boost(data, [again], rounds=2)
    assert again.track.n_steps == 2
    assert len(writer.means) == recorded + 4
    assert callback.track.n_steps == before.n_steps > 2


def test_a_pickle_has_the_record_and_says_that_it_has_no_data(data, valid):
    callback = bx.TrackCallback(valid.matrix(), HARD, SOFT, stop=3, progress=True, writer=Writer())
    ranker = xgb.XGBRanker(n_estimators=5, callbacks=[callback]).fit(data.X, data.y, group=data.sizes)
    stored = pickle.loads(pickle.dumps(ranker)).callbacks[0]
    np.testing.assert_array_equal(stored.track.per_query, callback.track.per_query)
    assert stored.evals_result == callback.evals_result
    assert repr(stored) == repr(callback)
    with pytest.raises(ValueError, match=r"TrackCallback: a pickle has the record without the data: .*'valid'"):
        boost(data, [stored])
    for copied in (stored, copy.deepcopy(stored)):
        with pytest.raises(ValueError, match="a pickle has the record without the data"):
            boost(data, [copied])


def test_a_worker_is_told_why_it_cannot_record(data, valid, monkeypatch):
    """It gets a pickle, whose own remedy, a new callback, would be none."""
    stored = pickle.loads(pickle.dumps(bx.TrackCallback(valid.matrix(), HARD, progress=False)))
    monkeypatch.setattr("boostsoft.adapters.xgboost_callback.over_workers", lambda: np.sum)
    with pytest.raises(ValueError, match=r"TrackCallback: each machine sees a part of the data only; train on one"):
        boost(data, [stored])


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
    printed = passes_alone(code)
    assert printed.startswith("boostsoft.xgboost.TrackCallback: XGBoost is not installed: pip install 'boostsoft[")


@pytest.mark.parametrize("at", [0, 2])
def test_a_callback_of_xgboost_records_one_training_at_a_time(data, valid, at):
    callback, calls = bx.TrackCallback(valid.matrix(), HARD), []

    def another(*_):
        calls.append(1)
        if len(calls) == at + 1:
            boost(data, [callback], rounds=4)
        return "constant", 0.0

    train = data.matrix()
    with pytest.raises(ValueError, match="TrackCallback: another training has begun with this callback"):
        boost(data, [callback], evals=[(train, "train")], custom_metric=another)
    assert callback.track.steps.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(("every", "steps"), [(4, [4]), (40, [1])])
def test_a_model_that_is_cut_is_not_taken_for_that_of_the_last_round(data, valid, every, steps):
    """By XGBoost's own stopping, which stands in front; what was recorded before stays."""
    callback = bx.TrackCallback(valid.matrix(), HARD, every=every)
    stop = xgb.callback.EarlyStopping(rounds=6, save_best=True, maximize=True, data_name="train")
    booster = xgb.train(
        {"disable_default_eval_metric": True}, data.matrix(), 30, evals=[(data.matrix(), "train")],
        custom_metric=lambda *_: ("constant", 0.0), callbacks=[stop, callback], verbose_eval=False,
    )  # fmt: skip
    assert booster.num_boosted_rounds() == 1
    found = callback.track.steps.tolist()
    if found[-1] == 7:  # XGBoost before 3.2 calls this one first
        return
    assert found == steps
    [log] = callback.evals_result["valid"].values()
    assert len(log) == 6
    assert len(set(log)) == (1 if every == 40 else 2)  # of rounds, which no longer are what the model has
    if every == 40:
        scores = booster.predict(valid.matrix(), output_margin=True)
        assert callback.track.mean[-1, 0] == pytest.approx(HARD(valid.y, scores, group=valid.sizes), abs=1e-9)


@pytest.mark.parametrize("every", [1, 4, 40])
def test_the_last_step_is_that_of_its_trees_where_another_callback_ends_the_training(data, valid, every):
    """XGBoost does not call those behind the one that ends it."""
    callback = bx.TrackCallback(valid.matrix(), HARD, every=every)
    stop = xgb.callback.EarlyStopping(rounds=6, maximize=True, data_name="train")
    booster = xgb.train(
        {"disable_default_eval_metric": True}, data.matrix(), 30, evals=[(data.matrix(), "train")],
        custom_metric=lambda *_: ("constant", 0.0), callbacks=[stop, callback], verbose_eval=False,
    )  # fmt: skip
    assert booster.num_boosted_rounds() == 7
    assert callback.track.steps[-1] == 7
    for step, mean in zip(callback.track.steps, callback.track.mean[:, 0], strict=True):
        margins = booster.predict(valid.matrix(), output_margin=True, iteration_range=(0, int(step)))
        assert mean == pytest.approx(HARD(valid.y, margins, group=valid.sizes), abs=1e-9)
    [log] = callback.evals_result["valid"].values()
    assert len(log) == 7
    assert log[-1] == callback.track.mean[-1, 0]


@pytest.mark.parametrize("ended", [False, True])
@pytest.mark.parametrize("every", [1, 4, 40])
def test_a_continued_model_has_one_value_per_round_whoever_ends_the_training(data, valid, every, ended):
    first = boost(data, [], rounds=3)
    callback = bx.TrackCallback(valid.matrix(), HARD, every=every)
    stop = [xgb.callback.EarlyStopping(rounds=6, maximize=True, data_name="train")] if ended else []
    booster = xgb.train(
        {"disable_default_eval_metric": True}, data.matrix(), 30 if ended else 7, evals=[(data.matrix(), "train")],
        xgb_model=first, custom_metric=lambda *_: ("constant", 0.0), callbacks=[*stop, callback], verbose_eval=False,
    )  # fmt: skip
    assert booster.num_boosted_rounds() == 3 + 7
    assert callback.track.steps[-1] == 3 + 7
    [log] = callback.evals_result["valid"].values()
    assert len(log) == 7
    margins = booster.predict(valid.matrix(), output_margin=True)
    assert log[-1] == callback.track.mean[-1, 0] == pytest.approx(HARD(valid.y, margins, group=valid.sizes), abs=1e-9)
