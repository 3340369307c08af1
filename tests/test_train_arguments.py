"""``SoftRanker.train_arguments``: the boosters' own ``train`` grows with them what ``fit`` grows."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold

import boostsoft.xgboost as bx
from boostsoft import Metric, QueryGroups, SoftRanker

from .ranker_cases import both, task

xgb = pytest.importorskip("xgboost")
SMALL = {"n_estimators": 6, "num_leaves": 6, "min_child_samples": 5, "n_jobs": 1, "n_boosters": 1}
NDCG, TAU = "ndcg_gumbel@10", "kendall_gumbel"


@pytest.fixture(scope="module")
def data():
    return task(0, 30)


@pytest.fixture(scope="module")
def valid():
    return task(1, 20)


def dataset(data, weight=None, **arguments):
    rows = None if weight is None else np.repeat(weight, data.sizes)
    return lgb.Dataset(data.X, data.y, group=data.sizes, weight=rows, **arguments)


def matrix(data, weight=None):
    return xgb.DMatrix(data.X, data.y, group=data.sizes, weight=weight)


def trees(booster):
    return booster.get_dump() if isinstance(booster, xgb.Booster) else booster.model_to_string().split("parameters:")[0]


def grown(booster, given, data, weight=None):
    """The booster of each ``train`` that takes the arguments."""
    if booster == "lightgbm":
        return [lgb.train(**given, train_set=dataset(data, weight))]
    return [train(**given, dtrain=matrix(data, weight)) for train in (xgb.train, bx.train)]


@both
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"random_state": 3, "subsample": 0.8, "colsample": 0.5, "learning_rate": 0.3, "max_depth": 2},
        {"metric": Metric("map@5"), "mix": None, "noise": "gaussian", "hessian": "exact", "random_trees": False},
        {"losses": {"softmax": 1.0}, "sigma": 2.0, "reg_lambda": 3.0, "booster_params": {"max_bin": 15}},
    ],
    ids=["defaults", "trees", "metric", "losses"],
)
def test_train_grows_the_trees_of_fit(booster, parameters, data):
    ranker = SoftRanker(booster, **{**SMALL, **parameters})
    found = grown(booster, ranker.train_arguments(data.y, X=data.X, group=data.sizes), data)
    expected = trees(ranker.fit(data.X, data.y, qid=data.qid).booster_)
    for one in found:
        assert trees(one) == expected


@both
def test_weights_count_as_in_fit(booster, data):
    weight = 1.0 + np.arange(30) % 3
    weight /= np.average(weight, weights=data.sizes)
    ranker = SoftRanker(booster, **SMALL)
    given = ranker.train_arguments(data.y, group=data.sizes, query_weight=weight)
    by_row = ranker.train_arguments(data.y, qid=data.qid, sample_weight=np.repeat(weight, data.sizes))
    ranker.fit(data.X, data.y, qid=data.qid, query_weight=weight)
    name, unit = {"lightgbm": ("lambda_l2", 1), "xgboost": ("reg_lambda", 16)}[booster]
    assert given["params"][name] == by_row["params"][name] == pytest.approx(ranker.reg_lambda_ * unit, rel=1e-12)
    assert given["params"][name] != ranker.train_arguments(data.y, qid=data.qid)["params"][name]
    for one in grown(booster, given, data, weight):
        np.testing.assert_allclose(predicted(one, data), ranker.predict(data.X), rtol=1e-6)


def predicted(booster, data):
    return booster.predict(data.X if isinstance(booster, lgb.Booster) else matrix(data))


@both
def test_queries_without_weight_do_not_count(booster, data):
    weight = np.arange(30) % 2.0
    kept = data.rows(np.repeat(weight > 0, data.sizes))
    ranker = SoftRanker(booster, **SMALL)
    given = ranker.train_arguments(data.y, group=data.sizes, query_weight=weight)["params"]
    alone = ranker.train_arguments(kept.y, group=kept.sizes)["params"]
    assert {**given, "objective": None} == {**alone, "objective": None}


def test_what_auto_stands_for_is_of_this_data():
    def params(relevant, n_docs):
        y = np.zeros(n_docs)
        y[np.linspace(0, n_docs - 1, relevant).astype(int)] = 1
        found = SoftRanker().train_arguments(y, group=np.full(n_docs // 100, 100))["params"]
        return dict(found["objective"].rule.losses), found.get("extra_trees", False)

    assert params(6_000, 10_000) == ({}, True)
    assert params(6_000, 20_000) == ({"xendcg": 0.5, "ranknet": 0.5}, True)
    assert params(6_000, 60_000) == ({"xendcg": 0.5, "ranknet": 0.5}, False)
    assert params(300, 60_000) == ({"xendcg": 0.5, "softmax": 1.0, "ranknet": 1.0}, True)


def test_the_regularization_is_in_the_curvature_of_the_losses_that_auto_stands_for():
    y, sizes = np.arange(20_000) % 3 // 2, np.full(200, 100)
    auto, same, without = (
        SoftRanker(losses=losses).train_arguments(y, group=sizes)["params"]["lambda_l2"]
        for losses in ("auto", {"xendcg": 0.5, "ranknet": 0.5}, None)
    )
    assert auto == same
    assert auto > 1.1 * without


@both
def test_of_several_boosters_they_are_those_of_the_first(booster, data):
    one, several = (
        SoftRanker(booster, **{**SMALL, "n_boosters": n}).train_arguments(data.y, group=data.sizes) for n in (1, "auto")
    )
    assert trees(grown(booster, one, data)[0]) == trees(grown(booster, several, data)[0])


def test_lightgbm_watches_the_first_metric(data, valid):
    given = SoftRanker(**SMALL).train_arguments(data.y, group=data.sizes)
    train, log = dataset(data), {}
    found = lgb.train(
        **given,
        train_set=train,
        valid_sets=[dataset(valid, reference=train)],
        callbacks=[lgb.record_evaluation(log), lgb.early_stopping(3, first_metric_only=True, verbose=False)],
    )
    assert list(log["valid_0"]) == [NDCG, TAU]
    assert found.best_iteration == 1 + np.argmax(log["valid_0"][NDCG])


def test_xgboost_watches_the_first_metric(data, valid):
    fast = {**SMALL, "n_estimators": 30, "learning_rate": 0.5}
    given = SoftRanker("xgboost", **fast).train_arguments(data.y, group=data.sizes)
    for train in (xgb.train, bx.train):
        log = {}
        found = train(
            **given, dtrain=matrix(data), evals=[(matrix(valid), "valid")], early_stopping_rounds=30, evals_result=log,
            verbose_eval=False,
        )  # fmt: skip
        values = log["valid"]
        assert list(values) == [TAU, NDCG]
        assert np.argmax(values[TAU]) != np.argmax(values[NDCG])  # so that the two can be told apart
        assert found.best_iteration == np.argmax(values[NDCG])


def test_cross_validation_by_the_boosters_own(data):
    folds = [(a, b) for a, b in GroupKFold(3).split(data.X, groups=data.qid)]
    given = SoftRanker(**SMALL).train_arguments(data.y, group=data.sizes)
    assert len(lgb.cv(**given, train_set=dataset(data), folds=folds)[f"valid {NDCG}-mean"]) == 6
    given = SoftRanker("xgboost", **SMALL).train_arguments(data.y, group=data.sizes)
    found = xgb.cv(**given, dtrain=matrix(data), nfold=3, as_pandas=False, verbose_eval=False)
    assert len(found[f"test-{NDCG}-mean"]) == 6


def test_arrays_of_any_kind_and_a_ranker_that_stays_as_it_was(data):
    ranker = SoftRanker(**SMALL)
    before = dict(vars(ranker))
    named = pd.Series(data.qid).map("query {}".format)
    forms = [
        {"group": QueryGroups.from_sizes(data.sizes)}, {"group": list(data.sizes)}, {"qid": named},
        {"qid": named.astype("category")},
    ]  # fmt: skip
    found = [ranker.train_arguments(pd.Series(data.y), **queries)["params"]["lambda_l2"] for queries in forms]
    assert len(set(found)) == 1
    assert vars(ranker) == before


@pytest.mark.parametrize(
    ("y", "queries", "message"),
    [
        ([0, 1, 0], {}, r"group= \(documents per query\) or qid= \(one id per row\) must be given"),
        ([0, 1, 0], {"group": [3], "qid": [1, 1, 1]}, r"give group= .* or qid= .* not both"),
        ([0, 1, 0], {"group": [2]}, r"group must add up to the number of documents, 3"),
        ([0, 1, 0], {"qid": [1, 2, 1]}, r"documents of a query must be adjacent"),
        ([0, 1, np.nan], {"group": [3]}, r"y must .* finite"),
        (1.0, {"group": [1]}, r"y must"),
        (None, {"group": [1]}, r"y to be passed"),
        ([1, 1, 1], {"group": [3]}, r"there is nothing to learn"),
        ([0, 1, 0], {"group": [3], "query_weight": [-1.0]}, r"query_weight must not be negative"),
        ([0, 1, 0], {"group": [3], "sample_weight": [1, 1, 2]}, r"sample_weight must be the same for all rows"),
    ],
)
def test_errors_name_the_method(y, queries, message):
    with pytest.raises(ValueError, match=rf"SoftRanker.train_arguments:? .*{message}"):
        SoftRanker().train_arguments(y, **queries)


def test_parameters_are_checked_as_in_fit():
    with pytest.raises(ValueError, match=r"num_leaves must"):
        SoftRanker(num_leaves=1).train_arguments([0, 1], group=[2])
    with pytest.raises(ValueError, match=r"booster_params must not hold 'objective'"):
        SoftRanker(booster_params={"objective": "lambdarank"}).train_arguments([0, 1], group=[2])


@both
def test_where_no_tree_can_be_split_the_objective_tells(booster, data):
    """``fit`` says so in terms of the ranker; here nobody else does."""
    given = SoftRanker(booster, **SMALL).train_arguments(data.y, group=data.sizes)
    if booster == "lightgbm":
        given["params"]["min_sum_hessian_in_leaf"] = 1e9
    else:
        given["params"]["min_child_weight"] = 1e9
    with pytest.warns(UserWarning, match="no tree can be split with min_.*=1e.09"):
        grown(booster, given, data)


def test_query_ids_may_stand_in_X(data):
    X = np.column_stack([data.qid, data.X])
    ranker = SoftRanker(**SMALL, qid_column=0)
    given, named = (
        ranker.train_arguments(data.y, X=X),
        SoftRanker(**SMALL).train_arguments(data.y, X=data.X, qid=data.qid),
    )
    assert given["params"] | {"objective": 0} == named["params"] | {"objective": 0}
    with pytest.raises(ValueError, match=r"group= .* or qid= .* must be given"):
        ranker.train_arguments(data.y)
