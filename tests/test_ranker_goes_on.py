"""SoftRanker's stages and continued training."""

from __future__ import annotations

import pickle

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from boostsoft import SoftMetric, SoftRanker

from . import ranker_cases
from .ranker_cases import SOFT, both, fit, ranker, task, watched
from .releases import older

xgb = pytest.importorskip("xgboost")
data, valid = ranker_cases.data, ranker_cases.valid  # fixtures


@both
def test_continued_training_repeats_whatever_was_trained_before(booster, data, valid):
    start = fit(ranker(booster, random_trees=True), data)
    first, again, copied = (
        fit(ranker(booster, random_trees=True), valid, init_model=model).predict(data.X)
        for model in (start, start, pickle.loads(pickle.dumps(start)))
    )
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, copied)


# ---- stages, continued training, copies --------------------------------------------------------------------------


@both
@pytest.mark.parametrize("every", [1, 3, 4, 100])
def test_stages_end_in_predict(booster, every, data, valid):
    model = watched(booster, data, valid)
    stages = list(model.staged_predict(valid.X, every=every))
    trees = [*range(every, model.best_iteration_, every), model.best_iteration_]
    assert len(stages) == len(trees)
    assert np.array_equal(stages[-1], model.predict(valid.X))
    for stage, n in zip(stages, trees, strict=True):
        short = fit(clone(model).set_params(n_estimators=n, early_stopping_rounds=None), data)
        np.testing.assert_allclose(stage, short.predict(valid.X), rtol=1e-6, atol=1e-6)


@both
def test_stages_are_the_users_to_change(booster, data):
    model = fit(ranker(booster), data)
    for stage, scores in zip(list(model.staged_predict(data.X)), model.staged_predict(data.X), strict=True):
        np.testing.assert_array_equal(scores, stage)
        scores *= 2.0


def test_stages_are_counted_from_1(data):
    model = fit(ranker(), data)
    with pytest.raises(ValueError, match="staged_predict: every must be from 1"):
        next(model.staged_predict(data.X, every=0))


@both
@pytest.mark.parametrize("source", ["ranker", "booster", "file", "path"])
def test_training_goes_on(booster, source, data, tmp_path):
    start = fit(ranker(booster, n_estimators=3), data)
    if source == "ranker":
        given = start
    elif source == "booster":
        given = start.booster_
    else:
        given = tmp_path / "model.json"
        start.booster_.save_model(given)
        given = str(given) if source == "file" else given
    model = fit(ranker(booster, n_estimators=5), data, init_model=given)
    assert (model.best_iteration_, model.n_iter_) == (8, 5)
    np.testing.assert_allclose(model.predict(data.X), fit(ranker(booster), data).predict(data.X), rtol=1e-5, atol=1e-6)
    assert start.best_iteration_ == 3
    assert len(list(model.staged_predict(data.X))) == 8


@both
@pytest.mark.parametrize("options", [{"random_trees": True}, {"colsample": 0.5}], ids=str)
def test_training_that_goes_on_draws_anew(booster, options, data):
    """Not what the first trees have drawn, over and over."""
    if booster == "xgboost" and "colsample" in options and older(xgb.__version__, (3, 0)):
        pytest.skip("XGBoost before 3.0 draws the columns of a first tree whatever the seed")
    options = {"learning_rate": 1e-9, "n_boosters": 1, **options}  # so that trees differ by what is drawn alone
    model = None
    for _ in range(4):
        model = fit(ranker(booster, n_estimators=1, **options), data, init_model=model)
    stages = np.array([np.zeros(len(data.y)), *model.staged_predict(data.X)])
    assert len({tree.tobytes() for tree in np.diff(stages, axis=0).round(14)}) > 1


def test_training_that_goes_on_draws_anew_by_a_seed_of_the_boosters_own(data):
    options = {"learning_rate": 1e-9, "colsample": 0.5, "booster_params": {"feature_fraction_seed": 3}}
    model = None
    for _ in range(4):
        model = fit(ranker(n_estimators=1, **options), data, init_model=model)
    stages = np.array([np.zeros(len(data.y)), *model.staged_predict(data.X)])
    assert len({tree.tobytes() for tree in np.diff(stages, axis=0).round(14)}) > 1


@both
def test_training_goes_on_from_the_best(booster, data, valid):
    start = watched(booster, data, valid)
    model = ranker(booster, n_estimators=30, learning_rate=0.5, early_stopping_rounds=3)
    fit(model, data, eval_set=[(valid.X, valid.y)], eval_qid=[valid.qid], init_model=start)
    best = int(np.argmax(model.evals_result_["valid_0"][SOFT])) + 1
    assert model.best_iteration_ == start.best_iteration_ + best
    assert model.n_iter_ == best + 3
    expected = SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread")(valid.y, model.predict(valid.X), qid=valid.qid)
    assert model.best_score_ == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("objective", ["binary:logistic", "count:poisson", "reg:squarederror"])
def test_a_model_of_another_objective_goes_on(objective, data):
    clicks = xgb.DMatrix(data.X, data.y > 1)
    start = xgb.train({"objective": objective, "base_score": 0.3}, clicks, 3)
    model = fit(ranker("xgboost", n_estimators=5), data, init_model=start)
    first = list(model.staged_predict(data.X))[2]
    np.testing.assert_array_equal(first, start.predict(clicks, output_margin=True))
    scores = model.booster_.predict(xgb.DMatrix(data.X), output_margin=True)
    np.testing.assert_array_equal(model.predict(data.X), scores)


@pytest.mark.filterwarnings("ignore:The XGBRanker or classes from which:FutureWarning")  # before 3.0, of scikit-learn
@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("kept", ["booster", "estimator", "file"])
def test_a_booster_of_xgboost_goes_on_from_its_best_iteration(kept, rounds, data, tmp_path):
    """What comes after is not served by XGBoost's own estimators, which also read where the best one was."""
    start = xgb.XGBRanker(n_estimators=30, early_stopping_rounds=rounds, objective="rank:ndcg", learning_rate=0.9)
    noise = np.random.default_rng(0).integers(0, 3, data.y.size)
    start.fit(data.X, data.y, qid=data.qid, eval_set=[(data.X, noise)], eval_qid=[data.qid])
    best, trees = start.best_iteration + 1, start.get_booster().num_boosted_rounds()
    assert best < trees < 30
    first = best if kept == "estimator" else trees  # all of a booster predict, if nobody else says how many
    start.save_model(tmp_path / "start.json")
    given = {"booster": start.get_booster(), "estimator": start, "file": tmp_path / "start.json"}[kept]
    model = fit(ranker("xgboost", n_estimators=2), data, init_model=given)
    assert (model.best_iteration_, model.n_iter_) == (first + 2, 2)
    assert start.best_iteration + 1 == best
    np.testing.assert_allclose(
        list(model.staged_predict(data.X))[best - 1], start.predict(data.X), rtol=1e-6, atol=1e-6
    )
    model.booster_.save_model(tmp_path / "model.json")
    assert model.booster_.attr("best_iteration") is None
    served = xgb.XGBRanker()
    served.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(served.predict(data.X), model.predict(data.X))


def test_a_booster_of_lightgbm_goes_on_from_its_best_iteration(data):
    start = lgb.train({"objective": "regression", "verbosity": -1}, lgb.Dataset(data.X, data.y), 6)
    start.best_iteration = 4
    model = fit(ranker(n_estimators=2), data, init_model=start)
    assert (model.best_iteration_, model.n_iter_) == (6, 2)
    np.testing.assert_array_equal(list(model.staged_predict(data.X))[3], start.predict(data.X))


@both
def test_a_booster_goes_on_with_its_own_features_only(booster, data):
    frame = pd.DataFrame(data.X, columns=["a", "b b", "Column_9", "d"])
    start = fit(ranker(booster, n_estimators=3), data._replace(X=frame)).booster_
    assert fit(ranker(booster), data._replace(X=frame), init_model=start).n_iter_ == 8
    turned = data._replace(X=frame[["a", "Column_9", "b b", "d"]])
    with pytest.raises(
        ValueError,
        match=r"init_model must .* the features of X, in their order; feature 1 was 'b.b', and is 'Column_9'$",
    ):
        fit(ranker(booster), turned, init_model=start)
    unnamed = fit(ranker(booster, n_estimators=3), data).booster_
    assert fit(ranker(booster), turned, init_model=unnamed).n_iter_ == 8


@both
def test_the_boosters_own_rankers_go_on_and_rankers_of_a_derived_class(booster, data):
    class Derived(SoftRanker):
        pass

    own = lgb.LGBMRanker(n_estimators=3, verbose=-1) if booster == "lightgbm" else xgb.XGBRanker(n_estimators=3)
    queries = {"group": np.bincount(data.qid)} if booster == "lightgbm" else {"qid": data.qid}
    with pytest.raises(NotFittedError, match=r"eed to call fit"):
        fit(ranker(booster), data, init_model=own)
    with pytest.raises(
        NotFittedError, match=r"^SoftRanker.fit: init_model must have been fitted; this Derived is not$"
    ):
        fit(ranker(booster), data, init_model=Derived())
    for start in (own.fit(data.X, data.y, **queries), fit(ranker(booster, n_estimators=3), data)):
        model = Derived(**ranker(booster, n_estimators=2).get_params())
        model.fit(data.X, data.y, qid=data.qid, init_model=start)
        assert model.best_iteration_ == 5
        np.testing.assert_allclose(list(model.staged_predict(data.X))[2], start.predict(data.X), rtol=1e-6)


@pytest.mark.parametrize("options", [{"booster": "dart", "rate_drop": 0.5}, {"booster": "gblinear"}], ids=str)
def test_only_trees_that_stay_go_on(options, data, tmp_path):
    start = xgb.train({"objective": "rank:ndcg", **options}, xgb.DMatrix(data.X, data.y, qid=data.qid), 3)
    start.save_model(tmp_path / "model.json")
    saved = str(tmp_path / "model.json")
    stays = options["booster"] == "dart" and not older(
        xgb.__version__, (3, 4)
    )  # from there on a file has its trees alone
    for given in (start,) if stays else (start, saved):
        with pytest.raises(ValueError, match=f"^SoftRanker.fit: init_model must be a gbtree; {options['booster']} "):
            fit(ranker("xgboost"), data, init_model=given)
    if stays:
        goes_on = fit(ranker("xgboost"), data, init_model=saved)
        np.testing.assert_array_equal(list(goes_on.staged_predict(data.X))[2], start.predict(xgb.DMatrix(data.X)))


def test_a_random_forest_of_lightgbm_does_not_go_on(data, tmp_path):
    """LightGBM would add its trees up, whose mean is the score."""
    params = {"objective": "lambdarank", "boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5, "verbose": -1}
    forest = lgb.train(params, lgb.Dataset(data.X, data.y, group=data.sizes), 3)
    forest.save_model(tmp_path / "forest.txt")
    for given in (forest, tmp_path / "forest.txt"):
        with pytest.raises(ValueError, match=r"^SoftRanker.fit: init_model must be boosted; a random forest scores by"):
            fit(ranker(), data, init_model=given)


def test_what_cannot_go_on(data):
    model = fit(ranker(), data)
    kinds = "a SoftRanker, a Booster of xgboost, an estimator that has one or a file"
    with pytest.raises(TypeError, match=f"^SoftRanker.fit: init_model must be {kinds}; got <lightgbm"):
        fit(ranker("xgboost"), data, init_model=model)
    with pytest.raises(ValueError, match="init_model must have been trained on the 3 features of X; got one of 4"):
        ranker().fit(data.X[:, :3], data.y, qid=data.qid, init_model=model.booster_)
    with pytest.raises(ValueError, match="init_model must have been fitted on the columns of X, in their order"):
        ranker(qid_column=1).fit(
            np.column_stack([data.X[:, 0], data.qid, data.X[:, 1:]]),
            data.y,
            init_model=ranker(qid_column=0).fit(np.column_stack([data.qid, data.X]), data.y),
        )
    with pytest.raises(NotFittedError):
        fit(ranker(), data, init_model=ranker())


@pytest.mark.parametrize("options", [{}, {"max_bin": 3}])
def test_xgboost_goes_on_with_other_trees_than_before(options):
    """It keeps what it is not told: without a word on nodes' features, half of them would do for plain trees, too.

    And few bins do not tell on which side of the first trees' thresholds a document is.
    """
    data = task(0, 40)
    start = ranker("xgboost", random_trees=True).fit(data.X, data.y, qid=data.qid)
    other = ranker("xgboost", random_trees=False, booster_params=options)
    more = clone(other).fit(data.X, data.y, qid=data.qid, init_model=start)
    plain = xgb.DMatrix(data.X, data.y, group=data.sizes, base_margin=start.predict(data.X))
    given = other.train_arguments(data.y, group=data.sizes)
    alone = xgb.train(**given, dtrain=plain)
    added = more.predict(data.X) - start.predict(data.X)
    expected = alone.predict(plain, output_margin=True) - start.predict(data.X)
    np.testing.assert_allclose(added, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [{"gamma": 1e6}, {"max_delta_step": 1e-3}, {"max_bin": 2}, {"reg_alpha": 1e6}],
    ids=lambda one: next(iter(one)),
)
def test_a_booster_in_memory_goes_on_as_one_from_a_file(data, tmp_path, options):
    """It would hand its parameters and its metrics on."""
    model = xgb.XGBRegressor(n_estimators=3, **options).fit(data.X, data.y)
    model.save_model(tmp_path / "model.json")
    from_file, *others = (
        fit(ranker("xgboost"), data, init_model=start).predict(data.X)
        for start in (tmp_path / "model.json", model, model.get_booster())
    )
    for found in others:
        np.testing.assert_array_equal(found, from_file)


def test_trees_that_read_another_value_as_missing_are_refused(data):
    model = xgb.XGBRanker(n_estimators=2, missing=-999).fit(data.X, data.y, qid=data.qid)
    with pytest.raises(ValueError, match=r"init_model must have been trained with missing=nan, .* got missing=-999"):
        fit(ranker("xgboost"), data, init_model=model)


@both
def test_a_model_of_several_classes_does_not_go_on(booster, data):
    quiet = {"n_estimators": 1} | ({"verbose": -1} if booster == "lightgbm" else {})
    model = {"lightgbm": lgb.LGBMClassifier, "xgboost": xgb.XGBClassifier}[booster](**quiet).fit(data.X, data.y)
    wanted = r"SoftRanker.fit: init_model: model must have one score per document; got an? \w+ model "
    with pytest.raises(ValueError, match=wanted):
        fit(ranker(booster), data, init_model=model)


@both
def test_a_file_that_holds_no_model_does_not_go_on(booster, data, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"fit: init_model must be a model or an existing file; got '.*none'"):
        fit(ranker(booster), data, init_model=tmp_path / "none")
    (tmp_path / "note").write_text("hello")
    wanted = f"^SoftRanker.fit: init_model must be a file that {booster} has written; got '.*note': "
    with pytest.raises(ValueError, match=wanted) as error:
        fit(ranker(booster), data, init_model=str(tmp_path / "note"))
    assert "\n" not in str(error.value)


def test_a_booster_of_named_features_goes_on_from_a_frame_in_xgboost(data):
    frame = pd.DataFrame(data.X, columns=list("abcd"))
    start = ranker("xgboost").fit(frame, data.y, qid=data.qid).booster_
    with pytest.raises(
        ValueError, match=r"fit: X must be a frame, .* whose features have names, 'a' and so on; got none"
    ):
        fit(ranker("xgboost"), data, init_model=start)


def test_a_model_of_categories_does_not_go_on_from_their_codes_in_xgboost(data):
    kinds = pd.Categorical(data.y % 3)
    frame = pd.DataFrame({"kind": kinds, "x": data.X[:, 0]})
    model = xgb.XGBRanker(n_estimators=2, enable_categorical=True).fit(frame, data.y, qid=data.qid)
    for codes in (frame.assign(kind=kinds.codes), np.column_stack([kinds.codes, data.X[:, 0]])):
        with pytest.raises(ValueError, match=r"fit: init_model must have been trained without .*XGBRanker"):
            ranker("xgboost").fit(codes, data.y, qid=data.qid, init_model=model)
