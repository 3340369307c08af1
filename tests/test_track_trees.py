"""track_trees: its scores are the boosters' own after every tree, and its values those of other libraries."""

from __future__ import annotations

import contextlib
import json
import re
import warnings
from pathlib import Path

import catboost
import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xgboost as xgb
from scipy import sparse
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import ndcg_score

from boostsoft import Metric, SoftMetric, SoftRanker, load_letor
from boostsoft.adapters.xgboost_data import booster_kind
from boostsoft.stages import blocks, staged_xgboost
from boostsoft.stages.staged_lightgbm import as_lightgbm_reads
from boostsoft.tracking import track_trees
from boostsoft.tracking.staged import open_model

SIZES = [20] * 12
GROUP = np.array(SIZES)
N_DOCS, N_TREES = sum(SIZES), 9
QID = np.repeat(np.arange(100, 100 + len(SIZES)), SIZES)


def documents(seed=0):
    """Four numbers with holes, and a column of ten categories; grades that three of them tell."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_DOCS, 5))
    X[:, 4] = rng.integers(0, 10, N_DOCS)
    worth = X[:, 0] + 0.5 * X[:, 1] + (X[:, 4] % 3 == 0) + 0.5 * rng.normal(size=N_DOCS)
    X[:, :4][rng.random((N_DOCS, 4)) < 0.1] = np.nan
    return X, np.digitize(worth, [0.5, 1.5, 2.5])


X, Y = documents()
MARGIN = np.random.default_rng(1).normal(size=N_DOCS)


def lightgbm_model(data=X, labels=Y, n_trees=N_TREES, categorical=(4,), **params):
    dataset = lgb.Dataset(data, labels, group=SIZES, categorical_feature=list(categorical))
    given = {"objective": "lambdarank", "num_leaves": 6, "min_data_in_leaf": 5, "verbose": -1, "num_threads": 1}
    return lgb.train({**given, **params}, dataset, n_trees)


def xgboost_model(data=X, labels=Y, n_trees=N_TREES, types=("float",) * 4 + ("c",), **params):
    dataset = xgb.DMatrix(data, labels, feature_types=types, enable_categorical=True)
    objective = params.get("objective", "rank:ndcg")
    if objective.startswith("rank"):
        dataset.set_group(SIZES)
    given = {"objective": objective, "max_depth": 3, "base_score": 0.0, "nthread": 1}
    return xgb.train({**given, **params}, dataset, n_trees)


def staged(model, data=X, **starts):
    """The scores after 0, 1, 2, ... trees, with a block of two trees at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "_BYTES", 2 * 16 * N_DOCS)
        return list(open_model("test", model, data, N_DOCS, **starts).scores)


def small(**options):
    """What track_trees needs beside a model."""
    return {"group": GROUP, "metrics": "ndcg@10", "progress": False, **options}


def ndcg_by_query(scores):
    """scikit-learn's ndcg@10 of each query, with gains 2^label - 1; 0 without a relevant document."""
    ends = np.cumsum(SIZES)
    return [
        ndcg_score([2.0 ** Y[end - size : end] - 1.0], [scores[end - size : end]], k=10)
        for size, end in zip(SIZES, ends, strict=True)
    ]


LIGHTGBM = {
    "gbdt": {},
    "dart": {"boosting": "dart", "drop_rate": 0.5},
    "goss": {"data_sample_strategy": "goss"},
    "linear": {"objective": "regression", "linear_tree": True},
    "average": {"objective": "regression"},
    "binary": {"objective": "binary"},
    "one_hot": {"max_cat_to_onehot": 20},
    "stumps": {"objective": "regression", "min_data_in_leaf": 200},
}


@pytest.mark.parametrize("params", LIGHTGBM.values(), ids=LIGHTGBM)
def test_scores_are_lightgbms_to_the_last_bit(params):
    model = lightgbm_model(labels=(Y > 1) if params.get("objective") == "binary" else Y, **params)
    found = staged(model)
    assert len(found) == model.num_trees() + 1
    assert not found[0].any()
    for trees, scores in enumerate(found[1:], start=1):
        np.testing.assert_array_equal(scores, model.predict(X, num_iteration=trees, raw_score=True))


def test_a_lightgbm_forest_is_averaged_as_its_predict_does():
    model = lightgbm_model(boosting="rf", bagging_fraction=0.5, bagging_freq=1)
    for trees, scores in enumerate(staged(model)[1:], start=1):
        np.testing.assert_array_equal(scores, model.predict(X, num_iteration=trees))


XGBOOST = {
    "gbtree": {},
    "dart": {"booster": "dart", "rate_drop": 0.5},
    "parallel": {"num_parallel_tree": 3, "subsample": 0.5},
    "lossguide": {"grow_policy": "lossguide", "max_leaves": 5},
    "approx": {"tree_method": "approx"},
}
XGBOOST_STARTS = {
    "base_score": {"base_score": 0.37},
    "average": {"base_score": None},
    "dart": {"booster": "dart", "rate_drop": 0.5, "base_score": 0.37},
    "logistic": {"objective": "binary:logistic", "base_score": 0.3},
    "poisson": {"objective": "count:poisson", "base_score": 0.3},
}


@pytest.mark.parametrize("margin", [None, MARGIN], ids=["", "base_margin"])
@pytest.mark.parametrize("params", XGBOOST.values(), ids=XGBOOST)
def test_scores_are_xgboosts_to_the_last_bit_at_base_score_0(params, margin):
    model = xgboost_model(**params)
    found = staged(model, base_margin=margin)
    expected = xgboost_scores(model, margin)
    assert len(found) == N_TREES + 1
    np.testing.assert_array_equal(found[0], 0.0 if margin is None else np.float32(margin))
    np.testing.assert_array_equal(found[1:], expected)


@pytest.mark.parametrize("params", XGBOOST_STARTS.values(), ids=XGBOOST_STARTS)
def test_scores_are_xgboosts_whatever_it_starts_from(params):
    model = xgboost_model(labels=Y > 1, **params)
    np.testing.assert_allclose(staged(model)[1:], xgboost_scores(model, None), rtol=0, atol=1e-5)


def xgboost_scores(model, margin):
    """XGBoost's own, after 1, 2, ... rounds."""
    data = xgb.DMatrix(X, base_margin=margin, feature_types=model.feature_types, enable_categorical=True)
    return [model.predict(data, output_margin=True, iteration_range=(0, t)) for t in range(1, N_TREES + 1)]


def test_init_score_is_added():
    model = lightgbm_model()
    for trees, scores in enumerate(staged(model, init_score=MARGIN)[1:], start=1):
        np.testing.assert_array_equal(scores, model.predict(X, num_iteration=trees, raw_score=True) + MARGIN)
    np.testing.assert_array_equal(staged(model, init_score=MARGIN)[0], MARGIN)


class Rewritten:
    """A dart model of XGBoost, written as it is from 3.4 on: a gbtree whose trees have weights."""

    def __init__(self, booster):
        self.booster = booster

    def __getattr__(self, name):
        return getattr(self.booster, name)

    def __getitem__(self, rounds):
        return Rewritten(self.booster[rounds])

    def save_raw(self, raw_format):
        model = json.loads(bytes(self.booster.save_raw(raw_format)))
        found = model["learner"]["gradient_booster"]
        if found["name"] == "dart":
            weighed = found["gbtree"]["model"] | {"weight_drop": found["weight_drop"]}
            model["learner"]["gradient_booster"] = {"name": "gbtree", "model": weighed}
        return json.dumps(model).encode()


def test_dart_of_xgboost_before_and_after_it_became_a_gbtree():
    params = {"objective": "rank:ndcg", "booster": "dart", "rate_drop": 0.5, "seed": 1}
    model = xgb.train(params, xgb.DMatrix(X, Y, group=SIZES), 8)
    data = xgb.DMatrix(X)
    for booster in (model, Rewritten(model)):
        n_rounds, scores = staged_xgboost.stages("f", booster, data, None)
        assert n_rounds == 8
        np.testing.assert_allclose(list(scores)[-1], model.predict(data, output_margin=True), rtol=1e-5)
    learner = json.loads(model.save_config())["learner"]
    later = {"dart_train_param": {"rate_drop": "0.5", "one_drop": "0"}, "name": "gbtree"}
    never = {"dart_train_param": {"rate_drop": "0", "one_drop": "0"}, "name": "gbtree"}
    always = {"dart_train_param": {"rate_drop": "0", "one_drop": "1"}, "name": "gbtree"}
    kinds = [booster_kind({"gradient_booster": given}) for given in (later, never, always)]
    assert [booster_kind(learner), *kinds] == ["dart", "dart", "gbtree", "dart"]


@pytest.mark.parametrize("kind", ["CatBoost", "CatBoostRanker", "CatBoostClassifier"])
def test_scores_are_catboosts(kind):
    params = {"iterations": 6, "depth": 3, "verbose": False, "thread_count": 1, "allow_writing_files": False}
    model = catboost.CatBoost(params) if kind == "CatBoost" else getattr(catboost, kind)(**params)
    model.fit(X, Y > 1, **({"group_id": QID} if kind == "CatBoostRanker" else {}))
    found = staged(model)
    assert len(found) == 7
    for trees, scores in enumerate(found[1:], start=1):
        expected = catboost.CatBoost.predict(model, X, "RawFormulaVal", ntree_end=trees)
        np.testing.assert_allclose(scores, expected, rtol=1e-12)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_wrappers_for_scikit_learn_are_their_boosters(library):
    if library == "lightgbm":
        data, model = X, lgb.LGBMRanker(n_estimators=5, num_leaves=5, n_jobs=1, verbose=-1)
    else:
        data = np.where(np.isnan(X), -7.0, X)
        model = xgb.XGBRanker(n_estimators=5, max_depth=3, n_jobs=1, missing=-7.0, base_score=0.0)
    model.fit(data, Y, **({"group": SIZES} if library == "lightgbm" else {"qid": QID}))
    np.testing.assert_array_equal(staged(model, data)[-1], model.predict(data))


@pytest.mark.parametrize("booster", ["lightgbm", "xgboost"])
def test_scores_are_the_rankers(booster):
    ranker = SoftRanker(booster, n_estimators=5, num_leaves=5, min_child_samples=5, n_jobs=1).fit(X, Y, qid=QID)
    np.testing.assert_array_equal(staged(ranker)[1:], list(ranker.staged_predict(X)))


def test_a_ranker_finds_the_query_ids_in_its_own_column():
    data = np.column_stack([QID, X])
    small = {"n_estimators": 2, "num_leaves": 5, "min_child_samples": 5, "n_jobs": 1}
    ranker = SoftRanker(**small, n_boosters=3, qid_column=0).fit(data, Y)
    with pytest.warns(UserWarning, match="^track_trees: the model is the mean of 3 boosters, .*n_boosters=1") as said:
        track = track_trees(ranker, data, Y, metrics="ndcg@10", progress=False)
    assert said[0].filename == __file__
    assert track.qid.tolist() == np.unique(QID).tolist()
    assert track.mean[-1, 0] == ranker.score(data, Y)


filled = np.nan_to_num(X)


def test_two_boosters_are_several():
    small = {"n_estimators": 2, "num_leaves": 5, "min_child_samples": 5, "n_jobs": 1}
    two = SoftRanker(**small, n_boosters=2).fit(X, Y, qid=QID)
    with pytest.warns(UserWarning, match="^track_trees: the model is the mean of 2 boosters, .*n_boosters=1"):
        track_trees(two, X, Y, qid=QID)


def test_scores_are_those_of_staged_predict():
    model = HistGradientBoostingRegressor(max_iter=4).fit(X, Y)
    np.testing.assert_array_equal(staged(model)[1:], list(model.staged_predict(X)))
    assert np.ptp(staged(model)[0]) == 0


def test_a_first_model_of_scikit_learns_boosting_is_the_beginning():
    model = GradientBoostingRegressor(n_estimators=4, init=LinearRegression()).fit(filled, Y)
    found = staged(model, filled)
    np.testing.assert_allclose(found[0], LinearRegression().fit(filled, Y).predict(filled), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(found[1:], list(model.staged_predict(filled)))


@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
def test_a_classifier_may_start_from_another(loss):
    model = GradientBoostingClassifier(n_estimators=4, loss=loss, init=LogisticRegression()).fit(filled, Y > 1)
    with_none = GradientBoostingClassifier(n_estimators=1, learning_rate=1e-12, loss=loss, init=LogisticRegression())
    np.testing.assert_allclose(
        staged(model, filled)[0], with_none.fit(filled, Y > 1).decision_function(filled), rtol=0, atol=1e-5
    )


def test_a_classifier_ranks_by_its_decision():
    model = GradientBoostingClassifier(n_estimators=4).fit(filled, Y > 1)
    np.testing.assert_array_equal(staged(model, filled)[-1], model.decision_function(filled))


def kinds_of_matrix():
    """The same numbers in other containers."""
    numbers = pd.DataFrame(filled, columns=list("abcde"))
    return {
        "float32": filled.astype(np.float32),
        "fortran": np.asfortranarray(filled),
        "foreign bytes": filled.astype(">f4"),
        "rows": filled.tolist(),
        "pandas": numbers,
        "nullable": numbers.convert_dtypes(),
        "polars": pl.DataFrame(filled, schema=list("abcde")),
        "float32 in pandas": numbers.astype(np.float32),
        "float32 in polars": pl.DataFrame(filled.astype(np.float32), schema=list("abcde")),
        "csr_matrix": sparse.csr_matrix(filled),
        "csc_array": sparse.csc_array(filled),
    }


@pytest.mark.parametrize("kind", kinds_of_matrix())
def test_lightgbm_reads_any_matrix(kind):
    data = kinds_of_matrix()[kind]
    model = lightgbm_model(filled, categorical=())
    expected = model.predict(filled.astype(np.float32) if "float32" in kind else filled, raw_score=True)
    np.testing.assert_array_equal(staged(model, data)[-1], expected)


@pytest.mark.parametrize("kind", [np.int64, np.uint32, np.longdouble, object], ids=str)
def test_lightgbm_reads_other_numbers_as_float32(kind):
    """In float32 whole numbers beyond 2^24 become others, of which LightGBM's predict goes another way."""
    large = 2**24 + np.random.default_rng(0).integers(0, 40, (N_DOCS, 2))
    labels = large[:, 0] % 2 + (large[:, 1] > 2**24 + 20)
    model = lightgbm_model(large.astype(np.float64), labels, categorical=())
    data = large.astype(kind)
    assert (model.predict(data) != model.predict(large.astype(np.float64))).any()
    for trees, found in enumerate(staged(model, data)[1:], start=1):
        np.testing.assert_array_equal(found, model.predict(data, num_iteration=trees, raw_score=True))


def test_lightgbm_reads_arrow_tables():
    pytest.importorskip("cffi")  # by which LightGBM before 4.7 reads them
    model = lightgbm_model(filled, categorical=())
    table = pa.table(dict(zip("abcde", filled.T, strict=True)))
    np.testing.assert_array_equal(staged(model, table)[-1], model.predict(filled, raw_score=True))


@pytest.mark.parametrize("given", ["polars", "enum", "text in polars", "arrow", "text in arrow"])
def test_lightgbm_reads_categories_of_pandas_alone(given):
    """Its own error, "Unsupported Arrow type: dictionary", names neither the column nor what can be done."""
    words = np.array(["x", "y", "z"])[np.arange(N_DOCS) % 3]
    frame = pd.DataFrame(filled[:, :2], columns=list("ab")).assign(c=pd.Categorical(words))
    model = lightgbm_model(frame, categorical="c")
    of_polars = pl.from_pandas(frame)
    X = {
        "polars": of_polars,
        "enum": of_polars.with_columns(pl.col("c").cast(pl.Enum(["x", "y", "z"]))),
        "text in polars": of_polars.with_columns(pl.col("c").cast(pl.String)),
        "arrow": pa.Table.from_pandas(frame),
        "text in arrow": pa.table({"a": filled[:, 0], "b": filled[:, 1], "c": words}),
    }[given]
    with pytest.raises(TypeError, match=r"^test: X must hold numbers; column 'c' has type .*X\.to_pandas\(\)"):
        staged(model, X)
    if "text" not in given:
        np.testing.assert_array_equal(staged(model, X.to_pandas()), staged(model, frame))


def test_xgboost_reads_arrays_and_sparse_matrices_by_place_whatever_names_it_knows():
    model = xgboost_model(pd.DataFrame(filled, columns=list("abcde")), types=None)
    for X in (filled, sparse.csr_array(filled)):
        named = xgb.DMatrix(X, feature_names=list("abcde"))
        np.testing.assert_array_equal(staged(model, X)[-1], model.predict(named, output_margin=True))


@pytest.mark.parametrize("kind", kinds_of_matrix())
def test_xgboost_reads_any_matrix(kind):
    data = kinds_of_matrix()[kind]
    by_name = any(library in kind for library in ("pandas", "nullable", "polars"))
    of_zeros = kind.startswith("cs")  # absent entries are missing to XGBoost, in training as here
    source = data if of_zeros else pd.DataFrame(filled, columns=list("abcde")) if by_name else filled
    model = xgboost_model(source, types=None)
    expected = model.predict(xgb.DMatrix(source), output_margin=True)
    np.testing.assert_array_equal(staged(model, data)[-1], expected)


def frame_of_categories():
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    frame["kind"] = pd.Categorical(np.array(list("pqrstuvwxy"))[X[:, 4].astype(int)])
    return frame


def test_lightgbm_reads_categories_by_name():
    frame = frame_of_categories()
    model = lightgbm_model(frame, categorical=("kind",))
    turned = frame.assign(kind=frame["kind"].cat.reorder_categories(list("yxwvutsrqp")))
    np.testing.assert_array_equal(staged(model, turned)[-1], model.predict(frame, raw_score=True))


def test_lightgbm_takes_no_numbers_for_categories():
    """A category of the number 20 is not the twentieth."""
    frame = frame_of_categories()
    frame["kind"] = pd.Categorical(10 * X[:, 4].astype(int))
    model = lightgbm_model(frame, categorical=("kind",))
    numbers = frame.astype({"kind": int})
    for read in (model.predict, lambda data: staged(model, data)):
        with pytest.raises(ValueError, match="categorical_feature do not match"):
            read(numbers)


def test_xgboost_reads_categories():
    frame = frame_of_categories()
    model = xgboost_model(frame, types=None)
    data = xgb.DMatrix(frame, enable_categorical=True)
    np.testing.assert_array_equal(staged(model, frame)[-1], model.predict(data, output_margin=True))


@pytest.mark.skipif(not hasattr(xgb.Booster, "get_categories"), reason="XGBoost before 3.1 goes by codes")
@pytest.mark.parametrize("params", [{}, {"booster": "dart", "rate_drop": 0.5}, {"num_parallel_tree": 2}], ids=str)
def test_xgboost_reads_categories_by_name(params):
    frame = frame_of_categories()
    model = xgboost_model(frame, types=None, **params)
    turned = frame.assign(kind=frame["kind"].cat.reorder_categories(list("yxwvutsrqp")))
    for trees, found in enumerate(staged(model, turned)[1:], start=1):
        expected = model.predict(xgb.DMatrix(turned, enable_categorical=True), iteration_range=(0, trees))
        np.testing.assert_array_equal(found, expected)


def test_an_array_goes_to_a_model_of_a_frame():
    frame = pd.DataFrame(filled, columns=list("abcde"))
    model = xgboost_model(frame, types=None)
    np.testing.assert_array_equal(staged(model, filled)[-1], model.predict(xgb.DMatrix(frame), output_margin=True))


def early_stopped(library):
    """A model that stopped on labels which training cannot predict, its best number of trees, and that it has."""
    noise = np.random.default_rng(5).permutation(Y)
    if library == "lightgbm":  # which drops the trees behind the best one unless told to keep them
        data = lgb.Dataset(X, Y, group=SIZES)
        params = {"objective": "lambdarank", "metric": "ndcg", "num_leaves": 5, "verbose": -1, "num_threads": 1}
        valid, stop = data.create_valid(X, noise, group=SIZES), [lgb.early_stopping(4, verbose=False)]
        model = lgb.train(params, data, 30, valid_sets=[valid], callbacks=stop, keep_training_booster=True)
        return model, model.best_iteration, model.num_trees()
    model = xgb.XGBRanker(n_estimators=30, max_depth=3, n_jobs=1, early_stopping_rounds=4)
    model.fit(X, Y, qid=QID, eval_set=[(X, noise)], eval_qid=[QID], verbose=False)
    return model, model.best_iteration + 1, model.get_booster().num_boosted_rounds()


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_all_trees_of_an_early_stopped_model_are_tracked(library):
    model, best, n_trees = early_stopped(library)
    assert best < n_trees
    found = staged(model)
    assert len(found) == n_trees + 1
    np.testing.assert_allclose(found[best], model.predict(X), rtol=0, atol=1e-5)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_every_tree_is_evaluated_once(library, monkeypatch):
    model = lightgbm_model() if library == "lightgbm" else xgboost_model()
    kind, evaluated = type(model), []
    own = kind.predict

    def predict(self, data, **options):
        if library == "lightgbm":
            evaluated.extend(range(options["start_iteration"], options["start_iteration"] + options["num_iteration"]))
        else:
            begin, end = options.get("iteration_range", (0, self.num_boosted_rounds()))
            evaluated.extend(range(begin, end))
        return own(self, data, **options)

    monkeypatch.setattr(kind, "predict", predict)
    staged(model)
    assert len(evaluated) == N_TREES


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_wide_data_is_not_read_for_every_tree_however_many_documents(library, monkeypatch):
    """Of 64 values per document and 16 bytes per leaf four trees at a time, whose leaves are a quarter of X."""
    wide = np.hstack([X] * 13)[:, :64]
    wide[np.isnan(wide)] = 0.0
    make, booster = {"lightgbm": (lightgbm_model, lgb.Booster), "xgboost": (xgboost_model, xgb.Booster)}[library]
    model = make(data=wide, **({"categorical": ()} if library == "lightgbm" else {"types": None}))
    predict, read = booster.predict, []

    def counted(self, *args, pred_leaf=False, **options):
        read.append(pred_leaf)
        return predict(self, *args, pred_leaf=pred_leaf, **options)

    monkeypatch.setattr(blocks, "_BYTES", 1)  # as good as none, as 64 MB are of millions of documents
    monkeypatch.setattr(booster, "predict", counted)
    scores = list(open_model("test", model, wide, N_DOCS).scores)
    assert len(scores) == N_TREES + 1
    assert sum(read) == {"lightgbm": 3, "xgboost": 2}[library]  # the first tree of XGBoost is predicted as it is


def test_values_are_scikit_learns_at_every_step():
    model = lightgbm_model()
    track = track_trees(model, X, Y, **small(label="mine"))
    assert track.steps.tolist() == list(range(1, N_TREES + 1))
    for trees, values in zip(track.steps, track.per_query[:, 0], strict=True):
        np.testing.assert_allclose(values, ndcg_by_query(model.predict(X, num_iteration=trees)), rtol=1e-12)
    np.testing.assert_allclose(track.beginning[0], ndcg_by_query(np.zeros(N_DOCS)), rtol=1e-12)
    np.testing.assert_array_equal(track.scores, model.predict(X))
    np.testing.assert_array_equal(track.y_true, Y)
    assert track.groups.sizes.tolist() == SIZES
    assert (track.names, track.label, track.start, track.qid) == (("ndcg@10",), "mine", 0, None)


@pytest.mark.parametrize("label", [None, 7])
def test_a_label_is_refused_before_anything_is_measured(label, monkeypatch):
    monkeypatch.setattr("boostsoft.tracking.trees.open_model", None)
    with pytest.raises(TypeError, match=r"^track_trees: label must be a str; got"):
        track_trees(lightgbm_model(), X, Y, **small(label=label))


def test_values_are_the_metrics_own():
    weights = np.random.default_rng(2).uniform(0.5, 2, len(SIZES))
    metrics = [
        SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread"),
        SoftMetric("ndcg@10", sigma=0.2, name="in_scores"),
        Metric("err@5"),
    ]
    model = lightgbm_model()
    track = track_trees(model, X, Y, **small(metrics=metrics, query_weight=weights))
    for step, trees in enumerate(track.steps):
        scores = model.predict(X, num_iteration=trees)
        centred = scores.reshape(-1, 20) - scores.reshape(-1, 20).mean(axis=1, keepdims=True)
        assert track.spread[step] == pytest.approx(np.sqrt(weights @ (centred**2).mean(axis=1) / weights.sum()))
        for at, metric in enumerate(metrics):
            assert track.mean[step, at] == metric(Y, scores, group=GROUP, query_weight=weights)


def test_the_default_is_hard_and_soft_in_units_of_the_spread():
    track = track_trees(lightgbm_model(n_trees=2), X, Y, group=GROUP, progress=False)
    assert track.metrics == (Metric("ndcg@10"), SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread"))


@pytest.mark.parametrize(
    ("every", "start", "steps"),
    [(1, 0, range(1, 10)), (4, 0, [4, 8, 9]), (3, 2, [5, 8, 9]), (4, 1, [5, 9]), (5, 1, [6, 9])],
)
def test_steps_go_up_to_the_last_tree(every, start, steps):
    model = lightgbm_model()
    track = track_trees(model, X, Y, **small(every=every, start=start))
    assert track.steps.tolist() == list(steps)
    before = model.predict(X, num_iteration=start) if start else np.zeros(N_DOCS)
    np.testing.assert_allclose(track.beginning[0], ndcg_by_query(before), rtol=1e-12)
    np.testing.assert_allclose(track.per_query[-1, 0], ndcg_by_query(model.predict(X)), rtol=1e-12)


def test_the_last_stage_of_any_model_is_a_step():
    model = GradientBoostingRegressor(n_estimators=5).fit(filled, Y)
    track = track_trees(model, filled, Y, **small(every=2))
    assert track.steps.tolist() == [2, 4, 5]
    np.testing.assert_array_equal(track.scores, model.predict(filled))


def test_queries_by_id_keep_their_ids():
    track = track_trees(lightgbm_model(n_trees=2), X, Y, qid=pd.Series(QID), metrics="ndcg@10", progress=False)
    assert track.qid.tolist() == list(range(100, 112))


@pytest.mark.parametrize(
    "names", [["a", 7, "7", *range(10, 19)], [0.5, *range(2**60, 2**60 + 11)]], ids=["texts too", "a float too"]
)
def test_ids_of_a_list_stay_as_they_are(names):
    """Of which NumPy would make texts, or floats that are one."""
    qid = np.repeat(np.array(names, dtype=object), SIZES).tolist()
    track = track_trees(lightgbm_model(n_trees=1), X, Y, qid=qid, metrics="ndcg@10", progress=False)
    assert track.qid.tolist() == names
    assert [type(one) for one in track.qid.tolist()] == [type(one) for one in names]


def test_skipped_queries_are_nan():
    labels = np.where(QID == 103, 0, Y)
    track = track_trees(lightgbm_model(), X, labels, **small(metrics=Metric("ndcg@10", empty="skip")))
    assert np.isnan(track.per_query[:, 0, 3]).all()
    assert np.isfinite(np.delete(track.per_query, 3, axis=2)).all()
    assert track.mean[-1, 0] == track.metrics[0](labels, track.scores, group=GROUP)


def refused(match, model=None, data=X, labels=Y, error=ValueError, **options):
    with pytest.raises(error, match=f"track_trees: {match}"):
        track_trees(lightgbm_model(n_trees=2) if model is None else model, data, labels, **small(**options))


def test_queries_must_be_given():
    refused(r"group= \(documents per query\) or qid= \(one id per document\) must be given", group=None)
    refused("give group= .* not both", qid=QID)
    refused("documents of a query must be adjacent", group=None, qid=np.roll(QID, 5))
    refused("group must add up to", group=[3])
    refused("y must be one-dimensional", labels=Y[:, None])
    refused("y must be finite; got nan at position 0", labels=np.full(N_DOCS, np.nan))


def test_a_model_of_a_file_that_lightgbm_has_read_has_an_empty_column_in_front(tmp_path):
    file, sizes = tmp_path / "data", tmp_path / "data.query"
    rows = (" ".join(f"{at}:{value}" for at, value in enumerate(row, 1)) for row in np.nan_to_num(X))
    file.write_text("".join(f"{label:g} {row}\n" for label, row in zip(Y, rows, strict=True)))
    sizes.write_text("".join(f"{size}\n" for size in SIZES))
    booster = lgb.train({"objective": "lambdarank", "verbosity": -1, "min_data_in_leaf": 5}, lgb.Dataset(str(file)), 3)
    data = load_letor(file, group=sizes)
    told = "; if a booster has read SVMlight files itself, its column 0 is an empty one: np.pad(X, ((0, 0), (1, 0)))"
    with pytest.raises(ValueError, match=f"X must have the 6 features of the model; got 5{re.escape(told)}$"):
        track_trees(booster, data.X, data.y, group=data.sizes)
    track = track_trees(booster, np.pad(data.X, ((0, 0), (1, 0))), data.y, group=data.sizes)
    np.testing.assert_array_equal(track.scores, booster.predict(str(file)))
    assert track.spread[-1] > 0


@pytest.mark.parametrize("make", [lightgbm_model, xgboost_model])
def test_x_must_be_as_wide_as_the_model_and_as_long_as_the_labels(make):
    model = make(n_trees=2)
    refused("X must have the 5 features of the model; got 3$", model, X[:, :3])
    refused("X must have the 5 features of the model; got 4$", model, pd.DataFrame(X[:, :4]))
    refused("X must have the 5 features of the model; got 6$", model, pd.DataFrame(X).assign(qid=QID))
    refused("X must have one row per label, 240; got 239", model, X[1:])
    refused("X must have one row per label, 239; got 240", model, labels=Y[1:], group=None, qid=QID[1:])
    refused("X must not have masked entries; got masked_array", model, np.ma.masked_invalid(X))
    for other in (X + 1j, X.astype("m8[s]"), X.astype("M8[s]")):
        refused(f"X must hold numbers; got an array of {other.dtype}".replace("[", "."), model, other, error=TypeError)
    refused("X must have a row per document .*; got ndarray of shape", model, X[:, 0])
    for queries in ({"group": None, "qid": QID}, {"group": [N_DOCS]}):
        refused("X must have one row per label, 241; got 240", model, labels=np.append(Y, 0), **queries)


def test_frames_of_flags_are_made_numbers_once():
    """Not by LightGBM, which would do it at every block of trees."""
    flags = X > 0
    model = lgb.train({"verbosity": -1}, lgb.Dataset(flags.astype(np.float32), Y), 3)
    holes = flags.astype(np.float32)
    holes[::3, 1] = np.nan
    in_polars = pl.DataFrame(flags, schema=list("abcde"))
    for frame, numbers in (
        (in_polars, flags),
        (pd.DataFrame(flags).astype("boolean"), flags),
        (pd.DataFrame(flags), flags),
        (pd.DataFrame(holes).astype("boolean"), holes),
        (in_polars.with_columns(pl.Series("b", [None if np.isnan(v) else v > 0 for v in holes[:, 1]])), holes),
    ):
        found = as_lightgbm_reads("test", model, frame)
        assert (type(found), found.dtype) == (np.ndarray, np.float32)
        np.testing.assert_array_equal(found, numbers)
        np.testing.assert_array_equal(staged(model, frame)[-1], model.predict(numbers.astype(np.float32)))


def test_other_models_check_their_width_too():
    refused("X must have the 5 features of the model; got 4", GradientBoostingRegressor().fit(filled, Y), X[:, :4])
    model = catboost.CatBoost({"iterations": 2, "verbose": False, "allow_writing_files": False}).fit(X, Y)
    refused("X must have the 5 features of the model; got 4", model, X[:, :4])


def test_a_lazy_frame_must_be_collected():
    with pytest.raises(TypeError, match=r"^track_trees: X must be a DataFrame or an array; got a LazyFrame, which"):
        track_trees(lightgbm_model(), pl.DataFrame(filled).lazy(), Y, **small())
    dd = pytest.importorskip("dask.dataframe")  # whose frames have a shape, of which the length is not known
    lazy = dd.from_pandas(pd.DataFrame(filled), npartitions=2)
    refused("X must be a DataFrame or an array; got a frame of Dask", data=lazy, error=TypeError)


def test_containers_of_the_boosters_are_no_matrix():
    refused("X must have a row per document .*; got Dataset", data=lgb.Dataset(X))
    refused("X must have a row per document .*; got DMatrix", data=xgb.DMatrix(X))
    refused("X must have a row per document .*; got Pool", data=catboost.Pool(X))


def test_models_without_an_order_of_trees_are_refused():
    with warnings.catch_warnings(), contextlib.suppress(FutureWarning):
        warnings.simplefilter("ignore")
        linear = xgb.train({"booster": "gblinear"}, xgb.DMatrix(filled, Y), 2)
    refused("model must have trees; got a linear model, XGBoost's gblinear", linear, filled)
    refused("model must be a LightGBM Booster .*; got RandomForestRegressor", RandomForestRegressor(), error=TypeError)
    refused("model must be .*; got dict$", {}, error=TypeError)
    for path in ("model.txt", Path("model.txt")):
        refused(r"model must be .*; got .*; a file is read by lgb\.Booster\(model_file=", path, error=TypeError)
    refused("model must be .*; got CVBooster", lgb.CVBooster(), error=TypeError)


def test_models_without_trees_are_refused():
    dataset = lgb.Dataset(X, Y, group=SIZES, params={"verbose": -1})
    refused("model must have trees; got none", lgb.Booster({"verbose": -1}, dataset))
    refused("model must have trees; got none", xgboost_model(n_trees=0))
    refused("model must have trees; got none", catboost.CatBoostRegressor())
    refused("model must have trees; got none", NoStages())


class NoStages:
    """A model that has not one tree."""

    def staged_predict(self, data):
        return iter(())


class Wide:
    """A model of two scores per document."""

    def staged_predict(self, data):
        yield np.zeros((len(data), 2))


def test_models_of_several_scores_are_refused():
    several = {"objective": "multiclass", "num_class": 4}
    refused("model must have one score per document; got a LightGBM model of 4 classes", lightgbm_model(**several))
    several = {"objective": "multi:softprob", "num_class": 4}
    refused("model must have one score per document; got an XGBoost model", xgboost_model(**several, base_score=None))
    targets = xgb.train({"nthread": 1}, xgb.DMatrix(X, np.column_stack([Y, Y])), 2)
    refused("model must have one score per document; got an XGBoost model with .*'num_target': 2", targets)
    refused(r"model must have one score per document, 240; got shape \(240, 2\)", Wide())


def test_scores_of_a_model_that_writes_to_one_array_are_kept():
    class OneArray:
        def staged_predict(self, data):
            scores = np.zeros(len(data))
            for _ in range(3):
                scores += 1.0
                yield scores

    np.testing.assert_array_equal(np.array(staged(OneArray()))[:, 0], [0.0, 1.0, 2.0, 3.0])


def test_infinite_scores_are_refused():
    class Infinite:
        def staged_predict(self, data):
            yield np.zeros(len(data))
            yield np.full(len(data), np.inf)

    refused("scores after 2 trees must be finite", Infinite())


def test_a_start_goes_to_its_own_library():
    refused("base_margin belongs to XGBoost; the model is of LightGBM: give init_score=", base_margin=MARGIN)
    refused(
        "init_score belongs to LightGBM; the model is of XGBoost: give base_margin=",
        xgboost_model(n_trees=2),
        init_score=MARGIN,
    )
    model = GradientBoostingRegressor(n_estimators=2).fit(filled, Y)
    refused("init_score belongs to LightGBM; .* leave it out", model, filled, init_score=MARGIN)
    model = SoftRanker(n_estimators=2, min_child_samples=5, n_jobs=1, n_boosters=1).fit(X, Y, qid=QID)
    refused("init_score belongs to LightGBM; the model is of SoftRanker: leave it out", model, init_score=MARGIN)
    refused("init_score must have one value per document, 240; got 3", init_score=[1, 2, 3])


def test_steps_must_be_within_the_model():
    refused("start must be below the number of trees of the model, 2; got 2", start=2)
    refused("every must be from 1", every=0)
    refused("start must be from 0", start=-1)
    model = GradientBoostingRegressor(n_estimators=2).fit(filled, Y)
    refused("start must be below the number of trees of the model, 2; got 5", model, filled, start=5)


def test_a_start_behind_the_trees_is_refused_before_any_is_evaluated(monkeypatch):
    model = lightgbm_model(n_trees=2)
    monkeypatch.setattr(lgb.Booster, "predict", None)
    refused("start must be below the number of trees of the model, 2; got 2", model, start=2)


def test_metrics_must_have_values_per_query_and_names_of_their_own():
    refused("pooled=True gives one value for all queries together", metrics=["ndcg@10", Metric("auc", pooled=True)])
    refused("two metrics are called 'ndcg@10'", metrics=["ndcg@10", "ndcg@10"])
    refused("a metric must be a string", metrics=[3], error=TypeError)
    refused("give at least one metric", metrics=[])


def test_a_bar_is_shown_where_somebody_looks(monkeypatch, capsys):
    model = lightgbm_model(n_trees=2)
    track_trees(model, X, Y, **small(progress="auto"))
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("boostsoft.progress._PATIENCE", 0.0)
    shown = track_trees(model, X, Y, **small(progress="auto"))
    out, err = capsys.readouterr()
    assert not out
    assert "track_trees" in err
    assert shown.n_steps == 2
    track_trees(model, X, Y, **small(progress=False))
    assert capsys.readouterr() == ("", "")


def test_no_metrics_are_the_default_ones():
    model = lightgbm_model()
    assert (
        track_trees(model, X, Y, qid=QID, metrics=None, progress=False).names
        == track_trees(model, X, Y, qid=QID, progress="auto").names
    )
    with pytest.raises(TypeError, match="track_trees: metrics must be a metric or several; got 3"):
        track_trees(model, X, Y, qid=QID, metrics=3)
    with pytest.raises(ValueError, match="track_trees: progress must be True, False or 'auto'; got 'no'"):
        track_trees(model, X, Y, qid=QID, progress="no")


def test_arrays_that_are_used_again_do_not_change_a_track():
    rng = np.random.default_rng(0)
    X, y, sizes, weights = rng.normal(size=(60, 2)), rng.integers(0, 3, 60).astype(float), [10] * 6, np.ones(6)
    booster = lgb.train({"verbosity": -1, "min_data_in_leaf": 2}, lgb.Dataset(X, y), 2)
    found, same = (
        track_trees(booster, X, labels, group=sizes, metrics=["ndcg@5"], query_weight=each, progress=False)
        for labels, each in ((y, weights), (y.copy(), weights.copy()))
    )
    y[:], weights[:3] = 0.0, 0.0
    np.testing.assert_array_equal(found.mean, same.mean)
    np.testing.assert_array_equal(found.y_true, same.y_true)
