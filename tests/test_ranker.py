"""SoftRanker's training: parameters, weights, early stopping, stages, continued training, copies."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import joblib
import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import boostsoft as bs
import boostsoft.lightgbm as bl
import boostsoft.xgboost as bx
from boostsoft import Metric, QueryGroups, SoftMetric, SoftRanker
from boostsoft.kernels.curvature import CURVATURES
from boostsoft.objectives import SoftObjective
from boostsoft.queries import n_relevant
from boostsoft.ranker import lightgbm_trees, xgboost_trees
from boostsoft.ranker.fitted import encoded
from boostsoft.ranker.rows import Rows
from boostsoft.ranker.settings import check_settings
from boostsoft.ranker.watch import Watch

from . import ranker_cases
from .ranker_cases import PLAIN, both, fit, ranker, task
from .releases import IS_QUIET, older

xgb = pytest.importorskip("xgboost")
data, valid = ranker_cases.data, ranker_cases.valid  # fixtures

SOFT = "ndcg_gaussian@10"


def watched(booster, data, valid, **parameters):
    """A ranker whose early stopping ends well before its last tree."""
    model = ranker(booster, n_estimators=80, learning_rate=0.5, early_stopping_rounds=4, **parameters)
    return fit(model, data, eval_set=[(valid.X, valid.y)], eval_qid=[valid.qid])


# ---- the adapters underneath -------------------------------------------------------------------------------------


@pytest.mark.parametrize("hessian", CURVATURES)
@pytest.mark.parametrize("noise", ["gaussian", "gumbel"])
def test_equals_lightgbm_with_the_adapter(data, noise, hessian):
    objective = bl.objective("map@7", noise=noise, sigma=0.7, hessian=hessian)
    params = {
        "objective": objective, "metric": "None", "verbosity": -1, "num_leaves": 6, "min_data_in_leaf": 5,
        "num_threads": 1, "deterministic": True, "force_row_wise": True, "seed": 3, "feature_fraction": 0.6,
        "bagging_fraction": 0.7, "bagging_freq": 1,
    }  # fmt: skip
    booster = lgb.train(params, lgb.Dataset(data.X, data.y, group=data.sizes), 8)
    model = ranker(metric="map@7", noise=noise, sigma=0.7, hessian=hessian, colsample=0.6, subsample=0.7)
    assert np.array_equal(fit(model.set_params(random_state=3), data).predict(data.X), booster.predict(data.X))


@pytest.mark.parametrize("hessian", CURVATURES)
def test_equals_xgboost_with_the_adapter(data, hessian):
    objective = bx.objective("map@7", sigma=0.7, hessian=hessian)
    dtrain = xgb.DMatrix(data.X, data.y, group=data.sizes)
    average = objective(np.zeros(len(data.y)), dtrain)[1].mean()
    params = {
        "base_score": 0, "disable_default_eval_metric": True, "tree_method": "hist", "grow_policy": "lossguide",
        "max_leaves": 6, "max_depth": 0, "eta": 0.1, "min_child_weight": 5 * average, "lambda": 3.0 * average,
        "colsample_bytree": 0.6, "subsample": 0.7, "seed": 3, "seed_per_iteration": True, "nthread": 1,
    }  # fmt: skip
    booster = xgb.train(params, dtrain, 8, obj=objective)
    model = ranker("xgboost", metric="map@7", sigma=0.7, hessian=hessian, colsample=0.6, subsample=0.7)
    scores = fit(model.set_params(random_state=3, reg_lambda=3.0), data).predict(data.X)
    assert scores.dtype == np.float64
    assert np.array_equal(scores, booster.predict(xgb.DMatrix(data.X)))


@both
def test_the_booster_serves_alone(booster, data):
    model = fit(ranker(booster), data)
    plain = data.X if booster == "lightgbm" else xgb.DMatrix(data.X)
    assert type(model.booster_) is (lgb.Booster if booster == "lightgbm" else xgb.Booster)
    assert np.array_equal(model.predict(data.X), model.booster_.predict(plain))


def test_boosters_learn_about_the_same(data):
    found = [fit(ranker(b, n_estimators=30), data).score(data.X, data.y, qid=data.qid) for b in ("lightgbm", "xgboost")]
    assert found[0] == pytest.approx(found[1], abs=0.02)
    assert min(found) > 0.9


# ---- parameters --------------------------------------------------------------------------------------------------

PARAMETERS = {
    "n_estimators": (7, None, None),
    "learning_rate": (0.3, ("learning_rate", 0.3), ("learning_rate", 0.3)),
    "num_leaves": (4, ("num_leaves", 4), ("max_leaves", 4)),
    "max_depth": (3, ("max_depth", 3), ("max_depth", 3)),
    "min_child_samples": (11, ("min_data_in_leaf", 11), ("min_child_weight", 11 * 4.0)),
    "reg_lambda": (2.0, ("lambda_l2", 2.0 * 0.25), ("reg_lambda", 2.0 * 4.0)),
    "colsample": (0.5, ("feature_fraction", 0.5), ("colsample_bytree", 0.5)),
    "subsample": (0.5, ("bagging_fraction", 0.5), ("subsample", 0.5)),
    "random_trees": (True, ("extra_trees", True), ("subsample", 0.7)),
    "n_jobs": (2, ("num_threads", 2), ("nthread", 2)),
    "random_state": (5, ("seed", 5), ("seed", 5)),
    "booster_params": ({"max_bin": 9}, ("max_bin", 9), ("max_bin", 9)),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_parameter_reaches_the_booster(name):
    value, in_lightgbm, in_xgboost = PARAMETERS[name]
    settings = check_settings(SoftRanker(**{**PLAIN, name: value}))
    if in_lightgbm is not None:
        assert lightgbm_trees.parameters(settings, 0.25)[in_lightgbm[0]] == in_lightgbm[1]
        assert xgboost_trees.parameters(settings, 0.25)[in_xgboost[0]] == in_xgboost[1]


@both
@pytest.mark.parametrize("name", [name for name in PARAMETERS if name not in ("n_jobs", "random_state")])
def test_every_parameter_changes_the_trees(booster, name, data):
    before = fit(ranker(booster, num_leaves=12), data).predict(data.X)
    after = fit(ranker(booster, num_leaves=12).set_params(**{name: PARAMETERS[name][0]}), data).predict(data.X)
    assert not np.array_equal(before, after)


@both
@pytest.mark.parametrize(
    "change",
    [{"metric": "map"}, {"mix": {"kendall": 1.0}}, {"noise": "gumbel"}, {"sigma": 2.0}, {"hessian": "constant"}],
)
def test_the_objective_changes_the_trees(booster, change, data):
    before, after = (fit(ranker(booster, **p), data).predict(data.X) for p in ({}, change))
    assert not np.array_equal(before, after)


def labelled(sizes, n_relevant):
    """Labels, of which so many are above 0, and the queries; these documents are spread evenly over all."""
    n_docs = sum(sizes)
    marks = np.diff(np.arange(n_docs + 1) * n_relevant // n_docs)
    return marks.astype(float), QueryGroups.from_sizes(sizes)


def test_what_is_mixed_in_by_default():
    assert check_settings(SoftRanker()).objective == SoftObjective("ndcg@10", mix={"kendall": 0.3}, noise="gumbel")
    for metric in ("kendall", "auc", "pnr", "spearman"):
        assert check_settings(SoftRanker(metric=metric)).objective.mix == ()
    for turned in (Metric("ndcg@10", gain=[0, 3, 1]), Metric("err", p_rel=[0.0, 0.5, 0.4])):  # tau would say otherwise
        assert check_settings(SoftRanker(metric=turned)).objective.mix == ()
    for rising in (Metric("ndcg@10", gain=[0, 3, 3]), Metric("err", p_rel=[0.0, 0.5, 0.5])):
        assert check_settings(SoftRanker(metric=rising)).objective.mix == ((Metric("kendall"), 0.3),)
    assert check_settings(SoftRanker(mix=None)).objective.mix == ()
    assert check_settings(SoftRanker(mix={"map": 2})).objective.mix == ((Metric("map"), 2.0),)
    with pytest.raises(ValueError, match=r"SoftRanker.fit: mix must be 'auto' or a mapping .*'kendall'"):
        check_settings(SoftRanker(mix="kendall"))
    with pytest.raises(TypeError, match="random_trees must be True or False; got 1"):
        check_settings(SoftRanker(random_trees=1))
    with pytest.raises(ValueError, match=r"random_trees must be 'auto' or a flag, True or False; got 'yes'"):
        check_settings(SoftRanker(random_trees="yes"))


@pytest.mark.parametrize(
    ("n_docs", "n_relevant", "n_estimators", "random", "expected"),
    [
        (200_000, 5_000, 100, "auto", 0.2),
        (10**6, 9_000, 100, "auto", 0.2),
        (200_000, 5_000, 1, "auto", 0.2),
        (200_000, 5_000, 160, "auto", 0.125),
        (200_000, 5_000, 200, "auto", 0.1),
        (200_000, 5_000, 800, "auto", 0.1),
        (200_000, 5_000, 100, False, 0.2),
        (200_000, 5_000, 100, True, 0.1),
        (112_500, 9_000, 100, False, 0.15),
        (112_500, 9_000, 1, False, 0.15),
        (112_500, 9_000, 125, False, 0.12),
        (112_500, 9_000, 150, False, 0.1),
        (100_000, 9_000, 100, False, 0.02**0.5),
        (50_000, 9_000, 100, False, 0.02**0.5),
        (50_000, 9_000, 125, False, 0.8 * 0.02**0.5),
        (50_000, 9_000, 142, False, 0.1),
        (49_999, 9_000, 1, False, 0.1),
        (200_000, 4_999, 100, False, 0.1),
    ],
)
def test_rate_by_default_is_higher_where_data_is_plenty_and_trees_are_few(
    n_docs, n_relevant, n_estimators, random, expected
):
    rows = labelled([n_docs], n_relevant)
    for booster, trees in (("lightgbm", lightgbm_trees), ("xgboost", xgboost_trees)):
        model = SoftRanker(booster, n_estimators=n_estimators, random_trees=random)
        found = trees.parameters(check_settings(model).on(*rows), 1.0)
        assert found["learning_rate"] == pytest.approx(expected, rel=1e-15)
        given = check_settings(model.set_params(learning_rate=0.3)).on(*rows)
        assert trees.parameters(given, 1.0)["learning_rate"] == 0.3


@both
def test_the_rate_that_was_taken_is_told(booster):
    """Half a tree's way at .2 is that of a tree at .1, on the same data."""
    y, groups = labelled([10] * 20_000, 5_000)
    X = np.random.default_rng(3).normal(size=(y.size, 1)) + y[:, None]
    models = [
        SoftRanker(booster, n_estimators=1, learning_rate=rate, metric="ndcg@3", mix=None, losses=None)
        for rate in ("auto", 0.1)
    ]
    far, near = (model.fit(X, y, group=groups.sizes) for model in models)
    assert (far.learning_rate_, near.learning_rate_) == (0.2, 0.1)
    scores = [model.predict(X[:200]) for model in (far, near)]
    np.testing.assert_allclose(scores[0], 2.0 * scores[1], rtol=1e-5)
    assert np.ptp(scores[1]) > 0.0


@pytest.mark.parametrize(
    ("n_docs", "n_relevant", "expected"),
    [(49_999, 9_000, True), (50_000, 5_000, False), (50_000, 4_999, True), (1_000_000, 4_999, True)],
)
def test_random_trees_by_default_where_documents_or_relevant_ones_are_few(n_docs, n_relevant, expected):
    rows = labelled([n_docs], n_relevant)
    assert lightgbm_trees.parameters(check_settings(SoftRanker()).on(*rows), 1.0).get("extra_trees", False) is expected
    found = xgboost_trees.parameters(check_settings(SoftRanker("xgboost", subsample=0.5)).on(*rows), 1.0)
    assert found["subsample"] == pytest.approx(0.35 if expected else 0.5)
    assert found.get("colsample_bynode", 1.0) == (0.5 if expected else 1.0)
    for given in (True, False):
        settings = check_settings(SoftRanker(random_trees=given)).on(*rows)
        assert lightgbm_trees.parameters(settings, 0.25).get("extra_trees", False) is given


@pytest.mark.parametrize(
    ("options", "sizes", "expected"),
    [
        # a fifth of the documents is relevant
        ({}, [50] * 1000, {"xendcg": 0.5, "ranknet": 0.5}),
        ({}, [50] * 400, {"xendcg": 0.5, "ranknet": 0.5}),
        ({}, [50] * 399 + [49], {}),  # random trees
        ({"random_trees": False}, [50] * 10, {"xendcg": 0.5, "ranknet": 0.5}),
        ({"random_trees": True}, [50] * 399, {}),
        ({"random_trees": True}, [50] * 1000, {"xendcg": 0.5, "ranknet": 0.5}),
        ({}, [5_000] * 10, {"xendcg": 0.5, "ranknet": 0.5}),
        ({}, [5_001] * 10, {"xendcg": 0.5}),
        ({"metric": "ndcg"}, [50] * 1000, {"xendcg": 0.5, "ranknet": 0.5}),
        ({"metric": Metric("ndcg@10", gain="linear")}, [50] * 1000, {}),
        ({"metric": Metric("ndcg@10", gain=[0, 1, 3, 7])}, [50] * 1000, {"xendcg": 0.5, "ranknet": 0.5}),
        ({"metric": Metric("ndcg@10", gain=[0, 1, 3, 8])}, [50] * 1000, {}),
        ({"metric": "map"}, [50] * 1000, {}),
        ({"losses": None}, [50] * 1000, {}),
        ({"losses": {"listnet": 2.0}}, [50] * 1000, {"listnet": 2.0}),
        ({"losses": {"listnet": 2.0}}, [50] * 10, {"listnet": 2.0}),
    ],
)
def test_convex_losses_by_default_where_they_help(options, sizes, expected):
    checked = check_settings(SoftRanker(**options, sigma=2.0))
    found = checked.on(*labelled(sizes, sum(sizes) // 5)).objective
    assert dict(found.losses) == expected
    bare = check_settings(SoftRanker(**{**options, "losses": None}, sigma=2.0)).objective
    assert found == SoftObjective(
        bare.metric, mix=dict(bare.mix), losses=expected, noise=bare.noise, sigma=2.0, hessian=bare.hessian
    )


RARE = {"xendcg": 0.5, "softmax": 1.0, "ranknet": 1.0}


@pytest.mark.parametrize(
    ("options", "sizes", "n_relevant", "expected"),
    [
        ({}, [500] * 100, 1_000, {"xendcg": 0.5, "ranknet": 0.5}),
        ({}, [500] * 100, 999, RARE),
        ({"random_trees": False}, [500] * 10, 99, RARE),
        ({}, [5_001] * 10, 999, {"xendcg": 0.5, "softmax": 1.0}),
        ({}, [500] * 10, 99, {}),
    ],
)
def test_softmax_stands_beside_where_relevant_documents_are_rare(options, sizes, n_relevant, expected):
    assert dict(check_settings(SoftRanker(**options)).on(*labelled(sizes, n_relevant)).objective.losses) == expected


def test_relevant_documents_are_those_above_the_least_label_of_their_query():
    groups = QueryGroups.from_sizes([3, 0, 2, 1, 2])
    assert n_relevant(np.array([0.0, 1.0, 4.0, 2.0, 2.0, 3.0, -2.0, -1.0]), groups) == 3
    assert n_relevant(np.empty(0), QueryGroups.from_sizes([0])) == 0


@both
def test_a_fit_of_many_documents_trains_on_convex_losses_too(booster):
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(20_000, 2)), [100] * 200
    y = np.digitize(X[:, 0] + rng.normal(size=20_000), [0.5, 1.5, 2.5])
    options = {"booster": booster, "n_estimators": 2, "n_jobs": 1}
    found = SoftRanker(**options).fit(X, y, group=group)
    assert found.losses_ == {"xendcg": 0.5, "ranknet": 0.5}
    said, bare = (SoftRanker(losses=losses, **options).fit(X, y, group=group) for losses in (found.losses_, None))
    assert bare.losses_ == {}
    np.testing.assert_array_equal(found.predict(X), said.predict(X))
    assert not np.array_equal(found.predict(X), bare.predict(X))


@both
def test_a_fit_of_many_documents_but_few_relevant_ones_trains_on_softmax_too(booster):
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(20_000, 2)), rng.permutation(np.arange(20_000) % 200)
    y = (X[:, 0] > 2.1).astype(float)
    assert 300 < y.sum() < 400
    assert SoftRanker(booster, n_estimators=1, n_jobs=1).fit(X, y, qid=qid).losses_ == RARE


def test_losses_are_by_data_or_a_mapping():
    with pytest.raises(ValueError, match=r"SoftRanker.fit: losses must be 'auto' or a mapping .*'ranknet'"):
        check_settings(SoftRanker(losses="ranknet"))
    with pytest.raises(TypeError, match="losses must be a mapping"):
        check_settings(SoftRanker(losses=0.5))


@both
@pytest.mark.parametrize("weighted", [False, True])
def test_a_leaf_gets_the_curvature_of_forty_documents(booster, weighted, data):
    weights = np.where(data.qid % 2, 1.0, 3.0) if weighted else None
    found, none = (
        ranker(booster, reg_lambda=value, num_leaves=2, n_estimators=1).fit(
            data.X, data.y, qid=data.qid, sample_weight=weights
        )
        for value in (40.0, 0.0)
    )
    shares = None if weights is None else weights / weights.mean()
    dataset = lgb.Dataset(data.X, data.y, weight=shares, group=data.sizes).construct()
    _, curvature = bl.objective("ndcg@10")(np.zeros(len(data.y)), dataset)
    assert found.reg_lambda_ == pytest.approx(40.0 * curvature.mean(), rel=1e-7 if weighted else 1e-12)
    assert none.reg_lambda_ == 0.0
    (steps, crowds), (full, same) = leaves(found.booster_), leaves(none.booster_)
    np.testing.assert_allclose(crowds, same, rtol=1e-6)
    assert crowds.max() < (16 if booster == "xgboost" else 1) * curvature.sum()
    added = found.reg_lambda_ * (16 if booster == "xgboost" else 1)
    np.testing.assert_allclose(steps, full * crowds / (crowds + added), rtol=1e-5)


def leaves(booster):
    """Value and curvature of a tree's leaves, as the booster itself has them."""
    frame = booster.trees_to_dataframe()
    if isinstance(booster, lgb.Booster):
        frame = frame[frame["left_child"].isna()]
        return frame["value"].to_numpy(), frame["weight"].to_numpy()
    frame = frame[frame["Feature"] == "Leaf"]
    return frame["Gain"].to_numpy(), frame["Cover"].to_numpy()


@both
def test_random_trees_are_on_in_a_small_fit(booster, data):
    few, said, plain = (
        fit(ranker(booster, random_trees=value), data).predict(data.X) for value in ("auto", True, False)
    )
    np.testing.assert_array_equal(few, said)
    assert not np.array_equal(few, plain)


@both
def test_continued_training_repeats_whatever_was_trained_before(booster, data, valid):
    start = fit(ranker(booster, random_trees=True), data)
    first, again, copied = (
        fit(ranker(booster, random_trees=True), valid, init_model=model).predict(data.X)
        for model in (start, start, pickle.loads(pickle.dumps(start)))
    )
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, copied)


def test_threads_below_0_are_counted_from_behind():
    cpus = joblib.cpu_count()
    assert [check_settings(SoftRanker(n_jobs=n)).n_jobs for n in (-1, -2, -cpus)] == [cpus, max(cpus - 1, 1), 1]


def test_a_number_of_threads_is_meant_as_it_stands_whoever_calls():
    """joblib itself gives one to a worker among workers; what is counted from behind goes by it."""
    with joblib.parallel_config(backend="sequential"):
        assert [check_settings(SoftRanker(n_jobs=n)).n_jobs for n in (3, -1)] == [3, 1]


def test_depth_without_a_limit():
    settings = check_settings(SoftRanker(max_depth=-1))
    assert lightgbm_trees.parameters(settings, 0.25)["max_depth"] == -1
    assert xgboost_trees.parameters(settings, 1.0)["max_depth"] == 0
    assert "bagging_freq" not in lightgbm_trees.parameters(settings, 0.25)


def test_every_alias_of_lightgbm_is_known():
    from lightgbm.basic import _ConfigAliases

    known = {**lightgbm_trees.TAKEN, **lightgbm_trees.SETTLED}
    names = [
        "num_iterations", "learning_rate", "num_leaves", "max_depth", "min_data_in_leaf", "lambda_l2",
        "feature_fraction", "bagging_fraction", "bagging_freq", "metric", "early_stopping_round", "num_threads", "seed",
        "objective", "verbosity", "boosting", "bagging_by_query", "categorical_feature", "first_metric_only",
        "early_stopping_min_delta", "eval_at", "label_gain", "lambdarank_truncation_level", "lambdarank_norm",
        "lambdarank_position_bias_regularization", "objective_seed", "sigmoid", "scale_pos_weight", "is_unbalance",
        "boost_from_average", "num_class", "alpha", "fair_c", "poisson_max_delta_step", "tweedie_variance_power",
        "reg_sqrt", "pos_bagging_fraction", "neg_bagging_fraction",
    ]  # fmt: skip
    assert _ConfigAliases.get(*names) <= set(known)


@pytest.mark.parametrize("name", [*lightgbm_trees.TAKEN, *lightgbm_trees.SETTLED])
def test_a_clash_with_lightgbm(name, data):
    with pytest.raises(ValueError, match=rf"^SoftRanker.fit: booster_params must not hold '{name}': "):
        fit(ranker(booster_params={name: 1}), data)


@pytest.mark.parametrize("name", [*xgboost_trees.TAKEN, *xgboost_trees.SETTLED])
def test_a_clash_with_xgboost(name, data):
    with pytest.raises(ValueError, match=rf"^SoftRanker.fit: booster_params must not hold '{name}': "):
        fit(ranker("xgboost", booster_params={name: 1}), data)


@pytest.mark.parametrize("name", ["booster", "rate_drop", "one_drop", "skip_drop"])
def test_trees_of_xgboost_are_not_dropped(name, data):
    """What makes a dart of a gbtree from XGBoost 3.4 on."""
    with pytest.raises(ValueError, match=rf"booster_params must not hold '{name}': the ranker's trees add up: gbtree"):
        fit(ranker("xgboost", booster_params={name: 0}), data)


def test_what_lightgbm_does_not_know_is_refused(data, monkeypatch):
    rule = r"^SoftRanker.fit: booster_params must hold parameters of LightGBM; "
    with pytest.raises(ValueError, match=rf"{rule}got 'min_gain_to_spilt': is 'min_gain_to_split' meant\?$"):
        fit(ranker(booster_params={"min_gain_to_spilt": 1e9}), data)
    with pytest.raises(ValueError, match=r"LightGBM; got 'xyzzy'$"):
        fit(ranker(booster_params={"xyzzy": 1}), data)
    fit(ranker(booster_params={"min_split_gain": 0.0, "max_bin": 9, "monotonic_cst": [0, 0, 0, 1]}), data)
    monkeypatch.delattr("lightgbm.basic._ConfigAliases._get_all_param_aliases")  # another version's way
    fit(ranker(booster_params={"min_gain_to_spilt": 1e9}), data)


def test_the_most_leaves_that_lightgbm_takes(data):
    most = {"num_leaves": 131_072, "n_estimators": 1}
    assert ranker(**most).fit(data.X, data.y, qid=data.qid).booster_.num_trees() == 1
    with pytest.raises(ValueError, match=r"num_leaves must be at most 131,072 in LightGBM; got 131,073"):
        ranker(**{**most, "num_leaves": 131_073}).fit(data.X, data.y, qid=data.qid)


def test_xgboost_reads_data_on_the_threads_that_it_is_given(data):
    model = ranker("xgboost").fit(data.X, data.y, qid=data.qid)
    features = encoded("test", model, data.X)[1]
    assert xgboost_trees.as_dmatrix(features, 1).nthread == 1


@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_matrix])
def test_xgboost_reads_what_it_predicts_as_it_is(form, data, monkeypatch):
    """Scores are those of a DMatrix, which takes twice the memory of the data."""
    X = form(data.X)
    model = ranker("xgboost").fit(X, data.y, qid=data.qid)
    plain = model.booster_.predict(xgb.DMatrix(X if sparse.issparse(X) else data.X), output_margin=True)

    def none(*_, **__):
        raise AssertionError("a DMatrix was made")

    monkeypatch.setattr(xgb, "DMatrix", none)
    np.testing.assert_array_equal(model.predict(X), plain)
    monkeypatch.setattr(xgboost_trees, "_on_cpu", lambda _: False)
    with pytest.raises(AssertionError):
        model.predict(X)


def test_histograms_by_column_are_had_for_the_asking(data):
    """By row they are otherwise: LightGBM would try which is faster, and add up in another order."""
    given = {"force_col_wise": True}
    usual = lightgbm_trees.parameters(check_settings(SoftRanker()), 0.01)
    assert (usual["force_row_wise"], usual["deterministic"]) == (True, True)
    assert "force_row_wise" not in lightgbm_trees.parameters(check_settings(SoftRanker(booster_params=given)), 0.01)
    by_column, by_row = (ranker(booster_params=more).fit(data.X, data.y, qid=data.qid) for more in (given, {}))
    np.testing.assert_allclose(by_column.predict(data.X), by_row.predict(data.X), rtol=1e-6, atol=1e-9)


def test_what_exact_trees_of_xgboost_ignore_is_refused(data):
    exact = {"random_trees": False, "booster_params": {"tree_method": "exact"}}
    with pytest.raises(ValueError, match=r"^SoftRanker.fit: random_trees must be False with tree_method='exact'"):
        fit(ranker("xgboost", **{**exact, "random_trees": True}), data)
    for depth, leaves in ((-1, 31), (3, 7)):
        with pytest.raises(ValueError, match=rf"fit: max_depth must .* num_leaves be .*; got max_depth={depth} and n"):
            fit(ranker("xgboost", **exact, max_depth=depth, num_leaves=leaves), data)
    model = fit(ranker("xgboost", **exact, max_depth=3, num_leaves=8), data)
    assert max(tree.count("leaf=") for tree in model.booster_.get_dump()) == 8


def test_what_xgboost_does_not_know_is_warned_of(data):
    with pytest.warns(UserWarning, match="max_bins"):
        fit(ranker("xgboost", booster_params={"max_bins": 9}), data)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"booster": "catboost"}, ValueError, "booster must be one of 'lightgbm', 'xgboost'; got 'catboost'"),
        ({"metric": "ndgc"}, ValueError, "unknown metric 'ndgc'"),
        ({"metric": "bpref"}, ValueError, "no exact expectation"),
        ({"metric": Metric("ndcg", k=[1, 2])}, ValueError, "one cutoff for all queries"),
        ({"eval_metric": Metric("ndcg", k=[1, 2])}, ValueError, "one cutoff for all queries"),
        ({"eval_metric": ["map", "map"]}, ValueError, "two metrics are called 'map_hard'"),
        ({"eval_metric": 3}, TypeError, "eval_metric"),
        ({"noise": "laplace"}, ValueError, "noise must be one of"),
        ({"sigma": 0}, ValueError, "sigma must be finite and above 0"),
        ({"hessian": "none"}, ValueError, "hessian must be one of"),
        ({"n_estimators": 0}, ValueError, "n_estimators must be from 1"),
        ({"n_estimators": 2.5}, TypeError, "n_estimators must be a whole number"),
        ({"learning_rate": -1}, ValueError, "learning_rate must be finite and above 0; got -1"),
        ({"learning_rate": "slow"}, ValueError, "learning_rate must be 'auto' or a number above 0; got 'slow'"),
        ({"num_leaves": 1}, ValueError, "num_leaves must be from 2"),
        ({"num_leaves": 2**32 + 8}, ValueError, "num_leaves must be up to 2"),
        ({"max_depth": 0}, ValueError, "max_depth must be -1, for no limit, or at least 1; got 0"),
        ({"max_depth": -2}, ValueError, "max_depth must be from -1"),
        ({"max_depth": 2**32 + 2}, ValueError, "max_depth must be up to 2"),
        ({"min_child_samples": -1}, ValueError, "min_child_samples must be from 0"),
        ({"min_child_samples": 2**31}, ValueError, "min_child_samples must be up to 2"),
        ({"reg_lambda": -0.1}, ValueError, "reg_lambda must not be negative; got -0.1"),
        ({"reg_lambda": "auto"}, TypeError, "reg_lambda must be a number; got 'auto'"),
        ({"reg_lambda": None}, TypeError, "reg_lambda must be a number"),
        ({"n_boosters": "many"}, ValueError, "n_boosters must be 'auto' or a whole number; got 'many'"),
        ({"n_boosters": 0}, ValueError, "n_boosters must be from 1 to 2"),
        ({"n_boosters": 1.5}, TypeError, "n_boosters must be a whole number; got 1.5"),
        ({"colsample": 1.1}, ValueError, "colsample must be a share above 0 and up to 1; got 1.1"),
        ({"subsample": 0}, ValueError, "subsample must be a share above 0 and up to 1; got 0"),
        ({"booster_params": [1]}, TypeError, "booster_params must be a dict"),
        ({"booster_params": {1: 2}}, TypeError, "booster_params must be a dict of names and values; got {1: 2}"),
        ({"early_stopping_rounds": 0}, ValueError, "early_stopping_rounds must be from 1"),
        ({"early_stopping_rounds": 3}, ValueError, "give eval_set or validation_fraction"),
        ({"validation_fraction": 1.0}, ValueError, "validation_fraction must be below 1; got 1.0"),
        ({"n_jobs": 0}, ValueError, "n_jobs must not be 0"),
        ({"n_jobs": 2**32 + 1}, ValueError, "n_jobs must be up to 2"),
        ({"random_state": -1}, ValueError, "random_state must be a seed from 0"),
        (
            {"random_state": "x"},
            ValueError,
            r"^SoftRanker\.fit: random_state must be a seed from 0 to 2\^31 - 1, .*; got 'x'",
        ),
        ({"random_state": 2**31}, ValueError, r"random_state must be a seed from 0 to 2\^31 - 1, .*; got 2147483648"),
    ],
    ids=str,
)
def test_parameters_are_checked_in_fit(parameters, error, message, data):
    with pytest.raises(error, match=message):
        fit(ranker(**parameters), data)


@pytest.mark.parametrize(
    "parameters",
    [{"metric": "ndgc"}, {"metric": 3}, {"mix": {"ndgc": 1.0}}, {"mix": {"map": -1.0}}, {"losses": {"l2": 1.0}},
     {"hessian": "none"}, {"eval_metric": "ndgc"}, {"mix": None, "metric": "bpref"}],
    ids=str,
)  # fmt: skip
def test_errors_of_parameters_name_the_ranker(parameters, data):
    with pytest.raises((ValueError, TypeError), match=r"^SoftRanker\.fit: (?!objective)"):
        fit(ranker(**parameters), data)


@both
@pytest.mark.parametrize("label", [126, 200], ids=["objective", "parameters"])
def test_labels_whose_gains_are_too_large_are_told(booster, label, data):
    """By the ranker, and before XGBoost refuses parameters that grow with them."""
    y = np.where(np.arange(len(data.y)) == 7, label, data.y)
    model = ranker(booster, metric="dcg@10")
    message = r"gradients must lie within \+-1e\+\d\d.*Large labels have huge gains"
    with pytest.raises(ValueError, match=rf"^SoftRanker\.fit: {message}"):
        fit(model, data._replace(y=y))
    with pytest.raises(ValueError, match=rf"^SoftRanker\.train_arguments: {message}"):
        model.train_arguments(y, qid=data.qid)


@pytest.mark.filterwarnings("ignore:SoftRanker.fit. no tree has a split:UserWarning")
def test_warnings_of_the_objective_name_the_ranker(data):
    model = ranker(booster_params={"min_child_weight": 100.0})
    with pytest.warns(UserWarning, match=r"^SoftRanker\.fit: no tree can be split with min_child_weight=100"):
        fit(model, data)
    given = model.train_arguments(data.y, qid=data.qid)
    with pytest.warns(UserWarning, match=r"^boostsoft\.lightgbm\.objective: no tree can be split"):
        lgb.train(**given, train_set=lgb.Dataset(data.X, data.y, group=data.sizes))


@both
def test_a_fit_that_fails_leaves_the_ranker_as_it_was(booster, data):
    other = {"lightgbm": "xgboost", "xgboost": "lightgbm"}[booster]
    model = fit(ranker(booster, reg_lambda=40.0), data)
    before, attributes = model.predict(data.X), {name for name in vars(model) if name.endswith("_")}
    kept = {name: getattr(model, name) for name in attributes - {"booster_"}}
    model.set_params(booster=other, losses={"ranknet": 1.0})
    with pytest.raises(ValueError, match="there is nothing to learn"):
        fit(model, data._replace(y=np.zeros(len(data.y))))
    with pytest.raises(ValueError, match="there is nothing to learn"):
        model.fit(data.X[:, :2], np.zeros(len(data.y)), qid=data.qid)
    assert np.array_equal(model.predict(data.X), before)
    assert {name: getattr(model, name) for name in kept} == kept
    assert {name for name in vars(model) if name.endswith("_")} == attributes


def test_without_xgboost(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(ImportError, match=r"^SoftRanker.fit: XGBoost is not installed: pip install 'boostsoft\[xgb"):
        fit(ranker("xgboost"), data)


@both
def test_random_state_repeats(booster, data):
    model = ranker(booster, subsample=0.5, colsample=0.5)
    runs = [fit(clone(model).set_params(random_state=seed), data).predict(data.X) for seed in (1, 1, 2, None, 0)]
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])
    assert np.array_equal(runs[3], runs[4])
    drawn = [fit(model.set_params(random_state=np.random.RandomState(s)), data).predict(data.X) for s in (4, 4, 5)]
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])


@pytest.mark.parametrize("booster", [pytest.param("lightgbm", marks=IS_QUIET), "xgboost"])
def test_nothing_is_printed(booster, data, capfd):
    with pytest.warns(UserWarning, match="no tree has a split"):
        model = fit(ranker(booster, min_child_samples=10_000), data)
    fit(ranker(booster), data, init_model=model).predict(data.X)
    assert capfd.readouterr() == ("", "")


def test_xgboost_shows_warnings_alone_whatever_is_configured(data, capfd):
    with xgb.config_context(verbosity=3):
        fit(ranker("xgboost"), data)
    assert capfd.readouterr() == ("", "")


@both
def test_where_no_tree_splits_all_scores_are_0(booster, data):
    with pytest.warns(UserWarning, match="no tree has a split"):
        model = fit(ranker(booster, min_child_samples=10_000), data)
    assert not model.predict(data.X).any()
    assert not model.feature_importances_.any()
    *_, last = model.staged_predict(data.X)
    assert not last.any()


@both
def test_trees_without_a_split_are_warned_of(booster, data):
    told = r"^SoftRanker.fit: no tree has a split, so that {}: .* \d+ documents .* min_child_samples, which is 10000,"
    with pytest.warns(UserWarning, match=told.format("all scores are equal")) as caught:
        ranker(booster, min_child_samples=10_000).fit(data.X, data.y, qid=data.qid)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    start = fit(ranker(booster), data)
    with pytest.warns(UserWarning, match=told.format("init_model is as it was")):
        fit(ranker(booster, min_child_samples=10_000), data, init_model=start)


@both
@pytest.mark.parametrize("value", [0.0, 1e-40, 1e-35, -1e-35, float(np.float32(1e-35)), np.nan], ids=str)
def test_columns_of_one_value_are_no_error(booster, value, data):
    with pytest.warns(UserWarning, match="no tree has a split"):
        ones = ranker(booster).fit(np.ones((len(data.y), 2)), data.y, qid=data.qid)
    for X in (np.full((len(data.y), 2), value), sparse.csr_array(np.full((len(data.y), 2), value))):
        with pytest.warns(UserWarning, match="no tree has a split"):
            model = ranker(booster).fit(X, data.y, qid=data.qid)
        assert not model.predict(data.X[:, :2]).any()
        assert (model.best_iteration_, model.n_features_in_) == (ones.best_iteration_, 2)


def test_categories_that_are_all_missing_are_no_error(data):
    frame = pd.DataFrame({"c": pd.Categorical([None] * len(data.y), categories=["a", "b"])})
    with pytest.warns(UserWarning, match="no tree has a split"):
        assert not ranker().fit(frame, data.y, qid=data.qid).predict(frame).any()


# ---- weights -----------------------------------------------------------------------------------------------------


def repeated(data, times):
    """Each query so many times, under new ids."""
    rows = np.concatenate([np.flatnonzero(times[data.qid - data.qid.min()] > time) for time in range(times.max())])
    copies = np.concatenate(
        [np.full(int((times[data.qid - data.qid.min()] > time).sum()), 1000 * time) for time in range(times.max())]
    )
    return data.rows(rows), data.qid[rows] + copies


@both
def test_weight_2_is_the_query_twice(booster, data):
    times = np.random.default_rng(0).integers(0, 4, 30)
    # LightGBM counts rows in a leaf, of which weights make none more; each value is a bin of its own
    model = ranker(booster, min_child_samples=0, n_estimators=3, booster_params={"max_bin": 1000})
    if booster == "lightgbm":
        model.set_params(booster_params={"max_bin": 1000, "min_data_in_bin": 1})
    coarse = data._replace(X=np.round(data.X, 1))
    many, qid = repeated(coarse, times)
    weighted = fit(clone(model), coarse, sample_weight=times[data.qid - data.qid.min()])
    twice = clone(model).fit(many.X, many.y, qid=qid)
    assert len(np.unique(twice.predict(coarse.X))) > 3
    np.testing.assert_allclose(weighted.predict(coarse.X), twice.predict(coarse.X), rtol=1e-4, atol=1e-5)
    assert weighted.score(
        coarse.X, coarse.y, qid=data.qid, sample_weight=times[data.qid - data.qid.min()]
    ) == pytest.approx(weighted.score(many.X, many.y, qid=qid))


@both
def test_without_queries_weight_2_is_the_row_twice(booster, data):
    times = np.random.default_rng(0).integers(0, 3, len(data.y))
    rows = np.repeat(np.arange(len(data.y)), times)
    with pytest.warns(UserWarning, match="all rows are one query"):
        weighted = ranker(booster).fit(data.X, data.y, sample_weight=times)
    with pytest.warns(UserWarning, match="all rows are one query"):
        twice = ranker(booster).fit(data.X[rows], data.y[rows])
    assert np.array_equal(weighted.predict(data.X), twice.predict(data.X))
    assert weighted.score(data.X, data.y, sample_weight=times) == twice.score(data.X[rows], data.y[rows])


@both
def test_the_scale_of_weights_is_none(booster, data):
    weights = np.where(data.qid % 2 == 0, 1.0, 4.0)
    found = [fit(ranker(booster), data, sample_weight=scale * weights).predict(data.X) for scale in (1.0, 0.25)]
    np.testing.assert_allclose(*found, rtol=1e-6)
    assert not np.array_equal(found[0], fit(ranker(booster), data).predict(data.X))


@both
@pytest.mark.parametrize("options", [{}, {"validation_fraction": 0.4, "early_stopping_rounds": 3}], ids=["all", "part"])
def test_constant_weights_change_nothing(booster, options, data):
    model = ranker(booster, reg_lambda=40.0, **options)
    plain = fit(clone(model), data)
    for weight in (1e-30, 1e-4, 1.0 / len(data.y), 0.1, 1.0, 7.0):
        weighted = fit(clone(model), data, sample_weight=np.full(len(data.y), weight))
        assert np.array_equal(weighted.predict(data.X), plain.predict(data.X))
        assert (weighted.reg_lambda_, weighted.evals_result_) == (plain.reg_lambda_, plain.evals_result_)


@both
def test_small_weights_are_as_good_as_large_ones(booster, data):
    weights = np.where(data.qid % 2 == 0, 1.0, 4.0)
    scores = [
        fit(ranker(booster, reg_lambda=40.0), data, sample_weight=scale * weights).predict(data.X)
        for scale in (2.0**-20, 1.0)
    ]
    assert np.unique(scores[0]).size > 3
    np.testing.assert_array_equal(*scores)


def test_weights_of_mean_one_are_what_lightgbm_gets(data):
    weights = np.where(np.arange(len(data.sizes)) % 2 == 0, 0.5, 1.5)
    rows = Rows(None, data.y, QueryGroups.from_sizes(data.sizes), weights).in_their_mean()
    each = rows.groups.per_document(rows.weights)
    assert each.mean() == pytest.approx(1.0, rel=1e-12)
    uneven = Rows(None, np.zeros(8), QueryGroups.from_sizes([2, 6]), np.array([9.0, 1.0])).in_their_mean()
    assert uneven.weights.tolist() == [3.0, 1 / 3]
    again = Rows(None, np.zeros(40), QueryGroups.from_sizes([10] * 4), np.array([0.5, 1.5, 1.25, 0.75]))
    assert again.in_their_mean().weights.tolist() == again.weights.tolist()


def test_both_boosters_weigh_validation_queries(data):
    weights = np.where(data.qid % 2 == 0, 1.0, 9.0)
    for booster in ("lightgbm", "xgboost"):
        model = ranker(booster, validation_fraction=0.4, eval_metric="map", random_state=7)
        fit(model, data, sample_weight=weights)
        from boostsoft.queries import split_queries

        held_out = split_queries("test", bs.QueryGroups.from_query_ids(data.qid), 0.4, 7)[1]
        part = data.rows(np.isin(data.qid, 100 + held_out))
        per_query = Metric("map").per_query(part.y, model.predict(part.X), qid=part.qid)
        mean = np.average(per_query, weights=np.where((100 + held_out) % 2 == 0, 1.0, 9.0))
        assert model.evals_result_["valid_0"]["map_hard"][-1] == pytest.approx(mean, abs=1e-12)


# ---- evaluation and early stopping -------------------------------------------------------------------------------


@both
def test_early_stopping_keeps_the_best(booster, data, valid):
    model = watched(booster, data, valid)
    curve = model.evals_result_["valid_0"][SOFT]
    best = int(np.argmax(curve)) + 1
    assert list(model.evals_result_) == ["valid_0"]
    assert list(model.evals_result_["valid_0"]) == [SOFT]
    assert (model.best_iteration_, model.n_iter_, len(curve)) == (best, best + 4, best + 4)
    assert model.n_iter_ < 80
    soft = SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread")
    expected = soft(valid.y, model.predict(valid.X), qid=valid.qid)
    assert model.best_score_ == max(curve) == pytest.approx(expected, abs=1e-6)
    short = fit(clone(model).set_params(n_estimators=best, early_stopping_rounds=None), data)
    assert np.array_equal(model.predict(data.X), short.predict(data.X))
    assert np.array_equal(model.feature_importances_, short.feature_importances_)


@both
def test_the_first_metric_on_the_last_set_is_watched(booster, data, valid):
    model = ranker(booster, n_estimators=60, learning_rate=0.5, early_stopping_rounds=3, eval_metric=["map@3", "ndcg"])
    sets = [(data.X, data.y), (valid.X, valid.y)]
    fit(model, data, eval_set=sets, eval_qid=[data.qid, valid.qid])
    assert {name: list(curves) for name, curves in model.evals_result_.items()} == {
        name: ["map_hard@3", "ndcg_hard"] for name in ("valid_0", "valid_1")
    }
    assert model.best_iteration_ == int(np.argmax(model.evals_result_["valid_1"]["map_hard@3"])) + 1
    assert model.best_score_ == Metric("map@3")(valid.y, model.predict(valid.X), qid=valid.qid)


@both
def test_stopping_by_queries_that_tell_nothing_is_warned_of(booster, data, valid):
    model = ranker(booster, n_estimators=6, early_stopping_rounds=2, eval_metric=["map", "ndcg"])
    sets = [(data.X, data.y), (valid.X, 0 * valid.y)]
    told = r"^SoftRanker.fit: no query of eval_set\[1\] .* Metric\('map', .* early_stopping_rounds"
    with pytest.warns(UserWarning, match=told) as caught:
        fit(model, data, eval_set=sets, eval_qid=[data.qid, valid.qid])
    assert len(caught) == 1
    fit(model, data, eval_set=sets[::-1], eval_qid=[valid.qid, data.qid])  # the last one is watched
    fit(model.set_params(early_stopping_rounds=None), data, eval_set=sets, eval_qid=[data.qid, valid.qid])
    # one query differs, and may be the one that is held out or not
    dull = data._replace(y=np.where(data.qid == data.qid[0], data.y, 0))
    with pytest.warns(UserWarning, match="no query of validation_fraction=0.1"):
        fit(ranker(booster, n_estimators=4, early_stopping_rounds=2, validation_fraction=0.1), dull)


@both
def test_what_metrics_do_not_take_is_refused_before_training(booster, data, valid, monkeypatch):
    monkeypatch.delattr({"lightgbm": lightgbm_trees, "xgboost": xgboost_trees}[booster], "train")
    sets = [(data.X, data.y), (valid.X, valid.y + 2)]
    with pytest.raises(ValueError, match=r"^SoftRanker\.fit: eval_set\[1\]: err needs probabilities .* label 5\.0 "):
        fit(ranker(booster, eval_metric=["ndcg", "err"]), data, eval_set=sets, eval_qid=[data.qid, valid.qid])
    share = r"^SoftRanker\.fit: validation_fraction=0\.3: "
    with pytest.raises(ValueError, match=rf"{share}err needs probabilities"):
        fit(ranker(booster, eval_metric="err", validation_fraction=0.3), data._replace(y=data.y + 4))
    with pytest.raises(ValueError, match=r"eval_set\[0\]: sample_weight must not be zero for every row"):
        fit(ranker(booster), data, eval_set=sets[:1], eval_qid=[data.qid], eval_sample_weight=[data.y * 0.0])
    alone = np.where(data.qid == data.qid[0], 1.0, 0.0)
    with pytest.raises(ValueError, match=r"two queries at least that have documents and a weight above 0; got 1"):
        fit(ranker(booster, validation_fraction=0.3), data, sample_weight=alone)


def test_no_evaluation_sets_may_be_given_as_empty_lists(data):
    model = fit(ranker(), data, eval_set=[], eval_qid=[], eval_query_weight=())
    assert (model.best_score_, model.evals_result_) == (None, {})
    with pytest.raises(ValueError, match="eval_qid belongs to eval_set, which is missing"):
        fit(ranker(), data, eval_qid=[data.qid])


@both
def test_an_evaluation_set_alone_stops_nothing(booster, data, valid):
    model = ranker(booster, eval_metric="ndcg@10")
    fit(model, data, eval_set=(valid.X, valid.y), eval_group=[valid.sizes])
    assert (model.best_iteration_, model.n_iter_) == (8, 8)
    assert model.best_score_ == model.evals_result_["valid_0"]["ndcg_hard@10"][-1]
    assert model.best_score_ == model.score(valid.X, valid.y, qid=valid.qid)
    assert fit(ranker(booster), data).best_score_ is None


def test_both_boosters_log_alike(data, valid):
    curves = []
    for booster in ("lightgbm", "xgboost"):
        model = ranker(booster, eval_metric=["ndcg@5", SoftMetric("map", noise="gumbel")])
        curves.append(fit(model, data, eval_set=[(valid.X, valid.y)], eval_qid=[valid.qid]).evals_result_)
    assert [list(c["valid_0"]) for c in curves] == [["ndcg_hard@5", "map_gumbel"]] * 2
    for curve in curves:
        assert all(type(value) is float for value in curve["valid_0"]["map_gumbel"])


@both
@pytest.mark.parametrize("by", ["qid", "group"])
def test_validation_fraction_holds_out_whole_queries(booster, by, data):
    seen = []

    def gain(labels):
        seen.append(labels.copy())
        return labels

    marked = data.y + (data.qid - data.qid.min()) / 100  # a label tells its query
    model = ranker(booster, validation_fraction=0.25, eval_metric=Metric("ndcg", gain=gain), early_stopping_rounds=2)
    queries = {"qid": data.qid} if by == "qid" else {"group": data.sizes}
    model.fit(data.X, marked, **queries)
    held_out = np.unique(np.round(seen[0] % 1 * 100))
    assert len(held_out) == round(0.25 * 30)
    assert len(seen[0]) == data.sizes[held_out.astype(int)].sum()
    assert list(model.evals_result_) == ["valid_0"]


@both
@pytest.mark.parametrize(
    "parameters", [{}, {"reg_lambda": 40.0, "validation_fraction": 0.3, "losses": {"xendcg": 0.5}}]
)
def test_queries_of_weight_0_are_left_out(booster, parameters, data):
    """Not even the bins of their features are there, nor do they count in a leaf or in the weights' mean."""
    weights = np.resize([1.0, 0.0, 3.0], len(data.sizes))
    rows = np.repeat(weights, data.sizes)
    X = np.where(rows[:, None] > 0, data.X, 1e3 * data.X)
    model, left_out = (ranker(booster, min_child_samples=5, **parameters) for _ in range(2))
    model.fit(X, data.y, group=data.sizes, query_weight=weights)
    kept = rows > 0
    left_out.fit(X[kept], data.y[kept], group=data.sizes[weights > 0], query_weight=weights[weights > 0])
    assert np.unique(model.predict(data.X)).size > 3
    np.testing.assert_array_equal(model.predict(data.X), left_out.predict(data.X))
    assert model.evals_result_ == left_out.evals_result_


def test_validation_queries_follow_the_seed(data):
    def curve(seed):
        model = ranker(validation_fraction=0.3, random_state=seed)
        return fit(model, data).evals_result_

    assert curve(1) == curve(1)
    assert curve(1) != curve(2)


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        ({}, {"eval_qid": [[1]]}, "eval_qid belongs to eval_set"),
        ({"validation_fraction": 0.2}, {"eval_set": "ok"}, "give eval_set or validation_fraction, not both"),
        ({}, {"eval_set": [1, 2]}, r"eval_set must be a list of pairs \(X, y\)"),
        (
            {},
            {"eval_set": "ok", "eval_qid": [[1], [2]]},
            "eval_qid must be a list with one entry per pair .*, 1; got 2",
        ),
        ({}, {"eval_set": "ok", "eval_qid": [[1]]}, r"eval_set\[0\]: qid must have one id per row"),
        ({}, {"eval_set": "bare"}, r"eval_set\[0\]: queries are missing"),
        ({}, {"eval_set": "narrow"}, "X has 3 features"),
    ],
)
def test_evaluation_sets_are_checked(parameters, arguments, message, data, valid):
    sets = {"ok": [(valid.X, valid.y)], "bare": [(valid.X, valid.y)], "narrow": [(valid.X[:, :3], valid.y)]}
    name = arguments.get("eval_set")
    if isinstance(name, str):
        arguments = {"eval_qid": [valid.qid] if name == "ok" else None, **arguments, "eval_set": sets[name]}
    with pytest.raises(ValueError, match=message):
        fit(ranker(**parameters), data, **arguments)


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
@pytest.mark.parametrize("kept", ["booster", "estimator", "file"])
def test_a_booster_of_xgboost_goes_on_from_its_best_iteration(kept, data, tmp_path):
    """What comes after is not served by XGBoost's own estimators, which also read where the best one was."""
    start = xgb.XGBRanker(n_estimators=30, early_stopping_rounds=3, objective="rank:ndcg", learning_rate=0.9)
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


@both
def test_copies_predict_the_same(booster, data, valid, tmp_path):
    model = watched(booster, data, valid, metric=Metric("ndcg@10", gain="linear"))
    joblib.dump(model, tmp_path / "model")
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), joblib.load(tmp_path / "model")):
        assert np.array_equal(other.predict(valid.X), model.predict(valid.X))
        assert other.get_params() == model.get_params()
        assert other.score(valid.X, valid.y, qid=valid.qid) == model.score(valid.X, valid.y, qid=valid.qid)
        assert (other.evals_result_, other.best_iteration_) == (model.evals_result_, model.best_iteration_)
    blank = clone(model)
    assert blank.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        blank.predict(valid.X)
    with pytest.raises(NotFittedError):
        _ = blank.feature_importances_


@both
@pytest.mark.parametrize("n_boosters", [1, 2])
def test_sigma_is_only_the_unit_of_the_scores(booster, n_boosters, data):
    """However small: XGBoost takes no split that gains less than 1e-6."""
    scores = {
        sigma: ranker(booster, sigma=sigma, n_boosters=n_boosters, reg_lambda=5.0)
        .fit(data.X, data.y, qid=data.qid)
        .predict(data.X)
        for sigma in (1.0, 1e-4, 1e-8)
    }
    assert np.ptp(scores[1.0]) > 0.1
    for sigma in (1e-4, 1e-8):
        np.testing.assert_allclose(scores[sigma] / sigma, scores[1.0], rtol=1e-3, atol=1e-3 * np.ptp(scores[1.0]))


@both
def test_a_pickle_opens_in_another_process(booster, data, tmp_path):
    model = fit(ranker(booster), data)
    (tmp_path / "model").write_bytes(pickle.dumps((model, data.X)))
    code = (
        f"import pickle; m, X = pickle.load(open({str(tmp_path / 'model')!r}, 'rb')); print(repr(m.predict(X).sum()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{model.predict(data.X).sum()!r}\n"


@both
def test_importances_are_shares_of_the_gain(booster, data):
    model = fit(ranker(booster), data)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.feature_importances_.argmax() == 0
    if booster == "lightgbm":
        gains = model.booster_.feature_importance("gain")
    else:
        gains = np.array([model.booster_.get_score(importance_type="total_gain").get(f"f{i}", 0) for i in range(4)])
    np.testing.assert_allclose(model.feature_importances_, gains / gains.sum())


def test_repr_and_parameters():
    model = SoftRanker("xgboost", metric="map", num_leaves=7)
    assert repr(model) == "SoftRanker(booster='xgboost', metric='map', num_leaves=7)"
    assert model.set_params(num_leaves=9).get_params()["num_leaves"] == 9


def test_a_value_that_is_reached_again_is_no_better():
    watch = Watch("valid_0", ["map"], 2, start=3)
    assert [watch.see([("valid_0", "map", value)], 4 + at) for at, value in enumerate([0.25, 0.5, 0.5, 0.5])] == [
        False, False, False, True,
    ]  # fmt: skip
    assert (watch.best_trees, watch.value(watch.best_trees)) == (5, 0.5)


def test_rounding_is_no_better():
    """As of XGBoost's trees without a split, which move a soft metric by its last digits."""
    watch = Watch("valid_0", ["map"], 2)
    values = [0.25, 0.5, 0.5 + 1e-15, 0.5 + 2e-15]
    assert [watch.see([("valid_0", "map", value)], at) for at, value in enumerate(values, 1)] == [
        False, False, False, True,
    ]  # fmt: skip
    assert (watch.best_trees, watch.value(watch.best_trees)) == (2, 0.5)


def test_rounds_without_a_tree_are_no_values_but_end_the_training_too():
    watch = Watch("valid_0", ["map"], 2, start=3)
    stops = [watch.see([("valid_0", "map", 0.5)], trees) for trees in (3, 4, 4, 5, 5, 5)]
    assert stops == [False, False, False, False, False, True]
    assert watch.curves == {"valid_0": {"map": [0.5, 0.5]}}
    assert watch.best_trees == 4
    forever = Watch("valid_0", ["map"], None)
    assert not any(forever.see([("valid_0", "map", 0.5)], 1) for _ in range(9))


def test_a_sum_is_watched_and_its_first_value_kept():
    watch = Watch("valid_0", ["ndcg", "kendall"], 2)
    steps = [(0.5, 0.1), (0.4, 0.3), (0.6, 0.0), (0.6, 0.05)]
    stops = [
        watch.see([("valid_0", "kendall", tau), ("valid_0", "ndcg", ndcg), ("valid_0", "map", at)], at)
        for at, (ndcg, tau) in enumerate(steps, 1)
    ]
    assert stops == [False, False, False, True]
    assert (watch.best_trees, watch.value(2), watch.last) == (2, 0.4, 0.6)


@both
def test_the_order_of_the_whole_list_is_watched_where_it_is_trained_on(booster, data):
    valid = task(11, 12)  # here the two numbers of trees differ under XGBoost 3.2, 3.4 and LightGBM alike
    model = ranker(booster, n_estimators=80, learning_rate=0.5, early_stopping_rounds=4, mix="auto", noise="gumbel")
    fit(model, data, eval_set=[(valid.X, valid.y)], eval_qid=[valid.qid])
    curves = model.evals_result_["valid_0"]
    assert list(curves) == ["ndcg_gumbel@10", "kendall_gumbel"]
    ndcg, tau = curves.values()
    best = int(np.argmax(np.add(ndcg, tau)))
    assert best != int(np.argmax(ndcg))
    assert (model.best_iteration_, model.n_iter_) == (best + 1, best + 5)
    assert model.best_score_ == ndcg[best]
    for name, value in zip(("ndcg@10", "kendall"), (ndcg, tau), strict=True):
        soft = SoftMetric(name, noise="gumbel", sigma=0.2, sigma_unit="spread")
        assert value[best] == pytest.approx(soft(valid.y, model.predict(valid.X), qid=valid.qid), abs=1e-6)
    # given by the user, the first alone is watched
    given = [SoftMetric(name, noise="gumbel", sigma=0.2, sigma_unit="spread") for name in ("ndcg@10", "kendall")]
    model.set_params(eval_metric=given).fit(
        data.X, data.y, qid=data.qid, eval_set=[(valid.X, valid.y)], eval_qid=[valid.qid]
    )
    ndcg, _ = model.evals_result_["valid_0"].values()
    assert model.best_iteration_ == int(np.argmax(ndcg)) + 1 != best + 1
    for others in ({"mix": {"map": 0.5}}, {"metric": "kendall"}, {"eval_metric": "ndcg@10"}):
        other = fit(
            ranker(booster, **{"mix": "auto", **others}), data, eval_set=[(valid.X, valid.y)], eval_qid=[valid.qid]
        )
        assert len(other.evals_result_["valid_0"]) == 1


@both
def test_without_early_stopping_the_score_is_that_of_all_trees(booster, data, valid):
    model = ranker(booster, n_estimators=40, learning_rate=0.5)
    curve = fit(model, data, eval_set=[(valid.X, valid.y)], eval_qid=[valid.qid]).evals_result_["valid_0"][SOFT]
    assert model.best_score_ == curve[-1] < max(curve)


def test_what_is_settled_by_the_data_keeps_the_curvature_and_the_noise(data):
    settings = check_settings(SoftRanker(hessian="exact", noise="logistic", random_trees=False))
    assert [metric.noise for metric in settings.evaluated] == ["logistic", "logistic"]
    objective = settings.on(data.y, QueryGroups.from_sizes(data.sizes)).objective
    assert (objective.losses, objective.hessian) == ((("xendcg", 0.5), ("ranknet", 0.5)), "exact")


@both
def test_labels_may_be_clicks_over_propensities(booster):
    """No grades: any numbers from 0 on, with the gain as they are."""
    data = task(0, 40)
    rng = np.random.default_rng(0)
    looks = 1.0 / (1.0 + np.concatenate([rng.permutation(size) for size in data.sizes]))
    clicks = rng.binomial(200, looks * (0.1 + 0.3 * data.y)) / looks / 200
    fitted = ranker(booster, metric=Metric("dcg@10", gain="linear")).fit(data.X, clicks, qid=data.qid)
    test = task(1, 40)
    on_grades = ranker(booster, metric=Metric("ndcg@10")).fit(data.X, data.y, qid=data.qid)
    found, best = (Metric("ndcg@10")(test.y, one.predict(test.X), qid=test.qid) for one in (fitted, on_grades))
    assert found > 0.95 * best > 0.6


def test_xgboost_goes_on_with_other_trees_than_before():
    """It keeps what it is not told: without a word on nodes' features, half of them would do for plain trees, too."""
    data = task(0, 40)
    start = ranker("xgboost", random_trees=True).fit(data.X, data.y, qid=data.qid)
    more = ranker("xgboost", random_trees=False).fit(data.X, data.y, qid=data.qid, init_model=start)
    plain = xgb.DMatrix(data.X, data.y, group=data.sizes, base_margin=start.predict(data.X))
    given = ranker("xgboost", random_trees=False).train_arguments(data.y, group=data.sizes)
    alone = xgb.train(**given, dtrain=plain)
    added = more.predict(data.X) - start.predict(data.X)
    expected = alone.predict(plain, output_margin=True) - start.predict(data.X)
    np.testing.assert_allclose(added, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("telling", [1, 4, 5])
def test_few_queries_to_stop_by_are_told(telling, data, valid):
    """A query whose documents have one label tells nothing, one of weight 0 is not there."""
    X, y, qid = valid.X, valid.y.copy(), valid.qid
    names = np.unique(qid)
    y[np.isin(qid, names[telling:])] = 1
    stopped = ranker(n_estimators=3, early_stopping_rounds=2)
    given = {"eval_set": [(X, y)], "eval_qid": [qid]}
    if telling == 5:
        fit(stopped, data, **given)  # without a warning, which would be an error
        weights = np.where(qid == names[0], 0.0, 1.0)
        given, telling = {**given, "eval_sample_weight": [weights]}, 4
    queries = "only 1 query of .* has" if telling == 1 else f"only {telling} queries of .* have"
    with pytest.warns(UserWarning, match=rf"^SoftRanker.fit: {queries} documents whose order changes Metric") as warned:
        fit(stopped, data, **given)
    assert warned[0].filename == fit.__code__.co_filename  # the caller of SoftRanker.fit


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


def test_weighted_queries_are_watched_while_a_model_of_another_metric_goes_on(data):
    """XGBoost ends the process where it evaluates such a metric with weights of queries."""
    model = xgb.XGBRegressor(n_estimators=3).fit(data.X, data.y)
    weights = np.where(data.qid % 3, 1.0, 2.0)
    found = fit(ranker("xgboost", validation_fraction=0.3), data, sample_weight=weights, init_model=model)
    assert list(found.evals_result_["valid_0"]) == [SOFT]


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


# ---- queries without documents -----------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("n_boosters", [1, 2])
def test_a_query_without_documents_keeps_its_weight_in_what_is_evaluated(booster, n_boosters, data):
    sizes = np.insert(data.sizes, 3, 0)
    weights = np.random.default_rng(0).uniform(1, 2, sizes.size)
    weights[3] = 9.0
    model = ranker(booster, n_boosters=n_boosters, eval_metric="ndcg@10")
    pair = {"eval_set": [(data.X, data.y)], "eval_group": [sizes], "eval_query_weight": [weights]}
    model.fit(data.X, data.y, qid=data.qid, **pair)
    wanted = model.score(data.X, data.y, group=sizes, query_weight=weights)
    assert model.best_score_ == pytest.approx(wanted, abs=1e-6)
    if n_boosters == 1:
        assert model.evals_result_["valid_0"]["ndcg_hard@10"][-1] == pytest.approx(wanted, abs=1e-6)


@both
@pytest.mark.parametrize("n_boosters", [1, 3])
def test_curves_of_trees_that_split_nothing(booster, n_boosters, data):
    """As many values as trees: XGBoost's that split nothing are none, LightGBM keeps one."""
    flat = data._replace(X=np.ones((len(data.y), 2)))
    with pytest.warns(UserWarning, match="no tree has a split"):
        model = fit(ranker(booster, n_boosters=n_boosters), flat, eval_set=[(flat.X, flat.y)], eval_qid=[flat.qid])
    values = [len(curve) for curves in model.evals_result_.values() for curve in curves.values()]
    assert sum(values) == model.n_iter_
    assert 0.0 < model.best_score_ < 1.0
