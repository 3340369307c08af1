"""Several boosters in one: each is trained as if there was no other, and the scores are their mean."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest

import boostsoft.lightgbm as bl
import boostsoft.xgboost as bx
from boostsoft import Metric, QueryGroups, SoftMetric, SoftRanker
from boostsoft.objectives import QueryRMSEObjective, SoftObjective
from boostsoft.ranker import lightgbm_trees, xgboost_trees
from boostsoft.ranker.members import Member, members, n_copies
from boostsoft.ranker.settings import check_settings
from boostsoft.ranker.training import Own

from .ranker_cases import PLAIN, Task, both, fit, ranker, task
from .releases import older

xgb = pytest.importorskip("xgboost")
OPTIONS = {"num_leaves": 12, "n_estimators": 10, "random_trees": True, "noise": "gumbel"}


@pytest.fixture(scope="module")
def data():
    return task(0, 40)


@pytest.fixture(scope="module")
def valid():
    return task(1, 20)


def spread(values, qid):
    """Pooled within-query standard deviation, from its definition."""
    return np.sqrt(np.mean([(v - values[qid == q].mean()) ** 2 for v, q in zip(values, qid, strict=True)]))


def parts(model, data):
    """Scores that each booster of several adds, in the order in which they were grown."""
    steps = np.array(list(model.staged_predict(data.X)))[9::10]
    return np.diff(steps, axis=0, prepend=0.0)


# ---- what they are -----------------------------------------------------------------------------------------------


def test_each_turn_is_another_kind():
    few = [
        Member(on_metric=True, smaller=False),
        Member(on_metric=False, smaller=True),
        Member(on_metric=True, smaller=True),
        Member(on_metric=False, smaller=False),
    ]
    for n_docs, random, by_data in ((19_999, True, True), (19_999, False, False), (20_000, False, False)):
        assert members(1, n_docs, random, by_data) == few[:1]
        assert members(6, n_docs, random, by_data) == [*few, *few[:2]]
    more = [few[0], Member(on_metric=True, smaller=False, plain=True), *few[1:]]
    for by_data in (True, False):
        assert members(7, 20_000, True, by_data) == [*more, *more[:2]]
    many = [few[0], Member(on_metric=True, smaller=False, parts=True), *few[1:]]
    assert members(7, 50_000, False, True) == [*many, *many[:2]]
    assert [Member(True, True).leaves(n) for n in (2, 8, 31)] == [2, 2, 7]
    assert Member(True, False).leaves(31) == 31


def test_what_they_are_trained_on():
    soft, table = SoftObjective("map"), SoftObjective(Metric("dcg@3", gain=[0.0, 5.0, 6.0]))
    assert Member(True, True).objective(soft) is soft
    assert Member(False, True).objective(soft) == QueryRMSEObjective()
    assert Member(False, True).objective(SoftObjective("ndcg@10")) == QueryRMSEObjective()  # labels, not 2^label - 1
    written = SoftObjective(Metric("ndcg@10", gain=[0.0, 1.0, 3.0, 7.0]))
    assert Member(False, True).objective(written) == QueryRMSEObjective()
    assert Member(False, False).objective(table) == QueryRMSEObjective(gain=[0.0, 5.0, 6.0])


@pytest.mark.parametrize(
    ("n_docs", "random", "expected"),
    [
        (19_999, True, 4),
        (19_999, False, 4),
        (20_000, True, 2),
        (20_000, False, 1),
        (49_999, "auto", 2),
        (50_000, False, 1),
        (999_999, "auto", 2),
        (1_000_000, "auto", 1),
        (200_000, True, 2),
    ],
)  # fmt: skip
def test_how_many_by_default(n_docs, random, expected):
    rows = (np.arange(n_docs) % 2.0, QueryGroups.from_sizes([n_docs]))
    assert check_settings(SoftRanker(random_trees=random)).on(*rows).n_boosters == expected
    assert check_settings(SoftRanker(random_trees=random, n_boosters=3)).on(*rows).n_boosters == 3
    assert check_settings(SoftRanker(random_trees=random)).on(*rows, continued=True).n_boosters == 1


def test_two_where_few_are_relevant():
    labels = np.zeros(200_000)
    labels[::50] = 1.0
    assert check_settings(SoftRanker()).on(labels, QueryGroups.from_sizes([200_000])).n_boosters == 2


# ---- how they are trained ----------------------------------------------------------------------------------------


@both
def test_the_mean_of_boosters_trained_by_themselves(booster, data):
    model = fit(ranker(booster, n_boosters=4, random_state=5, reg_lambda=10.0, **OPTIONS), data)
    assert (model.n_boosters_, model.best_iteration_, model.n_iter_) == (4, 40, 40)
    found = parts(model, data)
    np.testing.assert_allclose(found.sum(axis=0), model.predict(data.X), rtol=1e-5, atol=1e-6)
    alone = fit(ranker(booster, random_state=5, reg_lambda=10.0, **OPTIONS), data).predict(data.X)
    close = {"rtol": 1e-6, "atol": 1e-8} if booster == "lightgbm" else {"rtol": 1e-4, "atol": 1e-5}
    np.testing.assert_allclose(4 * found[0], alone, **close)
    small = {**OPTIONS, "num_leaves": 3}
    if booster == "lightgbm":  # XGBoost goes on with the random numbers of the trees before
        third = fit(ranker(booster, random_state=7, reg_lambda=10.0, **small), data).predict(data.X)
        np.testing.assert_allclose(4 * found[2], third, **close)
        for at, leaves in ((1, 3), (3, 12)):
            labels = on_labels(data, leaves, 5 + at)
            unit = spread(alone, data.qid) / (0.6 * spread(data.y, data.qid))
            np.testing.assert_allclose(4 * found[at], unit * labels, **close)
    assert np.corrcoef(found)[0, 1:].min() > 0.5
    assert len({tuple(np.round(part, 6)) for part in found}) == 4


@both
def test_on_many_documents_the_second_has_the_boosters_own_trees(booster, data, monkeypatch):
    monkeypatch.setattr("boostsoft.ranker.members.FEW", data.y.size)
    model = fit(ranker(booster, n_boosters="auto", random_state=5, reg_lambda=10.0, **OPTIONS), data)
    assert (model.n_boosters_, model.best_iteration_) == (2, 20)
    found = np.diff(np.array(list(model.staged_predict(data.X)))[9::10], axis=0, prepend=0.0)
    options = {**OPTIONS, "reg_lambda": 10.0}
    close = {"rtol": 1e-6, "atol": 1e-8} if booster == "lightgbm" else {"rtol": 1e-4, "atol": 1e-5}
    for part, random, seed in zip(found, (True, False), (5, 6), strict=True):
        alone = fit(ranker(booster, **{**options, "random_trees": random, "random_state": seed}), data)
        np.testing.assert_allclose(2 * part, alone.predict(data.X), **close)


@both
def test_on_plenty_of_documents_the_second_sees_parts_of_them(booster, data, monkeypatch):
    for name in ("members.FEW", "random_trees.PLENTY"):
        monkeypatch.setattr(f"boostsoft.ranker.{name}", data.y.size)
    monkeypatch.setattr("boostsoft.ranker.random_trees.PLENTY_RELEVANT", 1)
    options = {**OPTIONS, "reg_lambda": 10.0, "learning_rate": 0.2}
    model = fit(ranker(booster, **{**options, "n_boosters": "auto", "random_trees": "auto", "random_state": 5}), data)
    assert (model.n_boosters_, model.best_iteration_) == (2, 20)
    found = np.diff(np.array(list(model.staged_predict(data.X)))[9::10], axis=0, prepend=0.0)
    by_node = {"lightgbm": "feature_fraction_bynode"}.get(booster)
    sees = {"subsample": 0.7, "booster_params": {by_node: 0.5}} if by_node else {"random_trees": True}  # which are that
    close = {"rtol": 1e-6, "atol": 1e-8} if booster == "lightgbm" else {"rtol": 1e-4, "atol": 1e-5}
    first, second = (
        fit(ranker(booster, **{**options, "random_trees": False, "random_state": seed, **own}), data).predict(data.X)
        for own, seed in (({}, 5), (sees, 6))
    )
    np.testing.assert_allclose(2 * found[0], first, **close)
    if booster == "lightgbm" or older(xgb.__version__, (3, 4)):
        np.testing.assert_allclose(2 * found[1], second, **close)
    else:  # its draws are numbered on from those of the trees before
        assert 0.5 < np.corrcoef(found[1], second)[0, 1] < 0.999
        assert 0.5 < np.corrcoef(*found)[0, 1] < 0.999


def on_labels_parameters(num_leaves, seed):
    """Of LightGBM on query-RMSE, as a ranker would train it."""
    return {
        "objective": bl.reference_objective("queryrmse"), "metric": "None", "verbosity": -1, "num_threads": 1,
        "deterministic": True, "force_row_wise": True, "num_leaves": num_leaves, "seed": seed, "bagging_fraction": 0.7,
        "bagging_freq": 1, "feature_fraction_bynode": 0.5, "min_data_in_leaf": 5, "lambda_l2": 10.0,
        "learning_rate": 0.1,
    }  # fmt: skip


def on_labels(data, num_leaves, seed):
    """Scores of LightGBM on query-RMSE."""
    dataset = lgb.Dataset(data.X, data.y, group=data.sizes)
    return lgb.train(on_labels_parameters(num_leaves, seed), dataset, 10).predict(data.X)


def test_what_random_trees_are_on_labels():
    """Rows and features at random, as in XGBoost, where random thresholds would tell few values hardly apart."""
    settings = replace(check_settings(SoftRanker(random_trees=True, subsample=0.5)), learning_rate=0.1)
    sampled = replace(settings, sampled=True)
    first, second = (lightgbm_trees.parameters(its, 0.25) for its in (settings, sampled))
    wanted = {"bagging_fraction": 0.35, "bagging_freq": 1, "feature_fraction_bynode": 0.5}
    assert {**first, **wanted} == {**second, "extra_trees": True}
    assert xgboost_trees.parameters(settings, 0.25) == xgboost_trees.parameters(sampled, 0.25)
    plain = lightgbm_trees.parameters(replace(sampled, random_trees=False), 0.25)
    assert {**plain, "extra_trees": True} == first
    own = replace(sampled, more={"colsample_bynode": 0.2, "data_sample_strategy": "goss"})
    kept = lightgbm_trees.parameters(own, 0.25)
    assert (kept["bagging_fraction"], kept["colsample_bynode"]) == (0.5, 0.2)
    assert "feature_fraction_bynode" not in kept


def few_values(seed, n_queries=80):
    """What a document is worth hangs on a code of 40, whose order says nothing."""
    rng = np.random.default_rng(seed)
    code, other = rng.integers(0, 40, 20 * n_queries), rng.normal(size=20 * n_queries)
    worth = np.random.default_rng(7).normal(size=40)[code] + 0.3 * other
    return Task(np.column_stack([code, other]), np.digitize(worth, [0.5, 1.2]), np.repeat(np.arange(n_queries), 20))


def test_features_of_few_values_are_learned():
    """With random thresholds in all boosters it was .71, with plain trees it is .94."""
    train, test = few_values(0), few_values(1)
    model = SoftRanker(n_estimators=60).fit(train.X, train.y, qid=train.qid)
    assert model.score(test.X, test.y, qid=test.qid) > 0.8


def test_xgboost_on_labels(data):
    """Its objective multiplies what is ours by 16, what is not by nothing: so must what is added to a curvature."""
    options = {**OPTIONS, "random_trees": False, "num_leaves": 16, "reg_lambda": 10.0}
    first, second = parts(fit(ranker("xgboost", n_boosters=2, **options), data), data)
    dtrain = xgb.DMatrix(data.X, data.y, group=data.sizes)
    params = {
        "base_score": 0, "tree_method": "hist", "grow_policy": "lossguide", "max_leaves": 4, "max_depth": 0, "eta": 0.1,
        "min_child_weight": 5.0, "lambda": 10.0, "nthread": 1,
    }  # fmt: skip
    labels = xgb.train(params, dtrain, 10, obj=bx.reference_objective("queryrmse")).predict(dtrain)
    unit = spread(2 * first, data.qid) / (0.6 * spread(data.y, data.qid))
    np.testing.assert_allclose(2 * second, unit * labels, rtol=1e-4, atol=1e-4)


def test_categories_get_what_suits_the_curvature(data):
    """LightGBM adds 10 to the curvature of a category, which is made for some .25 per document."""
    codes = np.digitize(data.X[:, 0], np.linspace(-1.5, 1.5, 9))  # more than are split one against all
    frame = pd.DataFrame({"kind": pd.Categorical(codes), "other": data.X[:, 1]})
    model = fit(ranker(n_boosters=2, **{**OPTIONS, "num_leaves": 12}), data._replace(X=frame))
    first, second = np.diff(np.array(list(model.staged_predict(frame)))[9::10], axis=0, prepend=0.0)
    params = {**on_labels_parameters(3, 1), "lambda_l2": 0.0, "cat_l2": 10.0, "cat_smooth": 10.0}
    train = lgb.Dataset(np.column_stack([codes, data.X[:, 1]]), data.y, group=data.sizes, categorical_feature=[0])
    labels = lgb.train(params, train, 10).predict(np.column_stack([codes, data.X[:, 1]]))
    unit = spread(2 * first, data.qid) / (0.6 * spread(data.y, data.qid))
    np.testing.assert_allclose(2 * second, unit * labels, rtol=1e-6, atol=1e-8)
    settings = check_settings(SoftRanker(**PLAIN))
    assert lightgbm_trees.parameters(settings, 0.25)["cat_l2"] == 10.0 / 16.0


@both
def test_weights_and_row_order_are_those_of_one_booster(booster, data):
    weights = np.where(data.qid % 3, 1.0, 2.0)
    options = {"n_boosters": 2, **OPTIONS}
    weighted = fit(ranker(booster, **options), data, sample_weight=weights).predict(data.X)
    scaled = fit(ranker(booster, **options), data, sample_weight=7.0 * weights).predict(data.X)
    np.testing.assert_allclose(weighted, scaled, rtol=1e-4, atol=1e-5)
    assert not np.allclose(weighted, fit(ranker(booster, **options), data).predict(data.X))
    some = data.qid % 4 > 0
    zero = fit(ranker(booster, **options), data, sample_weight=some * 1.0).predict(data.X)
    rest = fit(ranker(booster, **options), data.rows(some)).predict(data.X)
    np.testing.assert_array_equal(zero, rest)


@both
def test_weight_2_is_the_query_twice_for_all_boosters(booster, data):
    """How far apart scores and labels are, by which later boosters are brought to one scale, is by weight too."""
    times = np.where(data.qid % 5 == 0, 4, 1)
    rows = np.concatenate([np.flatnonzero(times > time) for time in range(4)])
    copies = np.concatenate([np.full(int((times > time).sum()), 1000 * time) for time in range(4)])
    # LightGBM counts rows in a leaf, of which weights make none more; each value is a bin of its own
    bins = {"max_bin": 1000, **({"min_data_in_bin": 1} if booster == "lightgbm" else {})}
    plain = {"n_boosters": 4, "num_leaves": 12, "n_estimators": 3, "min_child_samples": 0, "booster_params": bins}
    coarse = data._replace(X=np.round(data.X, 1))
    many = coarse.rows(rows)
    weighted = fit(ranker(booster, **plain), coarse, sample_weight=times)
    twice = ranker(booster, **plain).fit(many.X, many.y, qid=many.qid + copies)
    np.testing.assert_allclose(weighted.predict(coarse.X), twice.predict(coarse.X), rtol=1e-4, atol=1e-5)


@both
def test_sigma_is_the_unit_of_the_scores_of_all(booster, data):
    one, ten = (fit(ranker(booster, n_boosters=4, sigma=sigma, **OPTIONS), data).predict(data.X) for sigma in (1, 8))
    np.testing.assert_allclose(8 * one, ten, rtol=1e-3, atol=1e-3)


@both
@pytest.mark.parametrize("times", [0.01, 100.0])
def test_the_unit_of_the_gains_does_not_matter(booster, data, times):
    """NDCG does not depend on it: no booster may count for more than its share in the mean."""
    gains = np.array([0.0, 1.0, 3.0, 8.0])  # 7 at the end would be those of the default
    one, other = (
        fit(ranker(booster, metric=Metric("ndcg@10", gain=unit * gains), n_boosters=4, **OPTIONS), data)
        for unit in (1.0, times)
    )
    np.testing.assert_allclose(one.predict(data.X), other.predict(data.X), rtol=1e-3, atol=1e-4)
    spreads = [spread(part, data.qid) for part in parts(other, data)]
    assert max(spreads) < 2 * min(spreads)


@both
def test_each_is_stopped_by_itself(booster, data, valid):
    options = {**OPTIONS, "n_estimators": 60, "learning_rate": 0.3, "early_stopping_rounds": 4}
    watch = {"eval_set": [(valid.X, valid.y)], "eval_qid": [valid.qid]}
    one, two, three = (fit(ranker(booster, n_boosters=n, **options), data, **watch) for n in (1, 2, 3))
    [curve] = one.evals_result_["valid_0"].values()
    [longer] = two.evals_result_["valid_0"].values()
    [longest] = three.evals_result_["valid_0"].values()
    close = {"rel": 1e-6} if booster == "lightgbm" else {"rel": 1e-3}
    assert longer[: len(curve)] == pytest.approx(curve, **close)
    assert longest[: len(longer)] == pytest.approx(longer, **close)
    assert (one.n_iter_, two.n_iter_, three.n_iter_) == (len(curve), len(longer), len(longest))
    assert one.best_iteration_ == np.argmax(curve) + 1
    assert two.best_iteration_ == one.best_iteration_ + np.argmax(longer[len(curve) :]) + 1
    assert three.best_iteration_ == two.best_iteration_ + np.argmax(longest[len(longer) :]) + 1
    # the second one's own scores, which the curve is of: what its trees add
    steps = list(two.staged_predict(valid.X))
    own = steps[-1] - steps[one.best_iteration_ - 1]
    watched = check_settings(two).evaluated[0]
    assert watched(valid.y, own, qid=valid.qid) == pytest.approx(max(longer[len(curve) :]), **close)


@both
@pytest.mark.parametrize("metric", ["ndcg@10", Metric("map", ties="worst"), SoftMetric("ndcg@10", sigma=0.5)])
def test_metrics_of_each_are_those_that_it_has_by_itself(booster, data, valid, metric):
    """Documents that are equal in its own trees are so, whatever the trees before say of them."""
    options = {**OPTIONS, "random_trees": False, "num_leaves": 8, "n_estimators": 6, "eval_metric": metric}
    watch = {"eval_set": [(data.X, data.y), (valid.X, valid.y)], "eval_qid": [data.qid, valid.qid]}
    many = fit(ranker(booster, n_boosters=3, **options), data, **watch)
    third = fit(ranker(booster, **{**options, "num_leaves": 2, "random_state": 2}), data, **watch)
    for name in ("valid_0", "valid_1"):
        [[curve], [alone]] = (model.evals_result_[name].values() for model in (many, third))
        assert curve[12:] == pytest.approx(alone, abs=1e-6)


@pytest.mark.parametrize("n_boosters", [1, 4])
def test_a_round_without_a_tree_has_no_value(n_boosters):
    """LightGBM drops a tree without a split, as random ones on few documents have, and goes on."""
    few = task(0, 6)
    valid = task(1, 6)
    options = {**OPTIONS, "n_estimators": 60, "min_child_samples": 25, "n_boosters": n_boosters}
    watch = {"eval_set": [(valid.X, valid.y)], "eval_qid": [valid.qid]}
    model = fit(ranker(**options), few, **watch)
    [curve] = model.evals_result_["valid_0"].values()
    assert len(curve) == model.n_iter_ == model.best_iteration_ < 60 * n_boosters
    stopped = fit(ranker(**options, early_stopping_rounds=30), few, **watch)
    [curve] = stopped.evals_result_["valid_0"].values()
    assert len(curve) == stopped.n_iter_ >= stopped.best_iteration_


@both
def test_the_best_score_is_that_of_all_trees(booster, data, valid):
    options = {**OPTIONS, "eval_metric": ["map", "ndcg@5"], "n_boosters": 3}
    watch = {"eval_set": [(data.X, data.y), (valid.X, valid.y)], "eval_qid": [data.qid, valid.qid]}
    weights = np.where(valid.qid % 2, 1.0, 3.0)
    for stopping in ({}, {"early_stopping_rounds": 3}):
        model = ranker(booster, **options, **stopping)
        fit(model, data, **watch, eval_sample_weight=[np.ones(len(data.y)), weights])
        scores = model.predict(valid.X)
        assert model.best_score_ == pytest.approx(
            Metric("map")(valid.y, scores, qid=valid.qid, query_weight=np.where(np.unique(valid.qid) % 2, 1.0, 3.0))
        )
        assert {len(v) for by_name in model.evals_result_.values() for v in by_name.values()} == {model.n_iter_}


@both
def test_one_booster_serves_and_is_copied(booster, data):
    model = fit(ranker(booster, n_boosters=3, **OPTIONS), data)
    plain = data.X if booster == "lightgbm" else xgb.DMatrix(data.X)
    np.testing.assert_array_equal(model.predict(data.X), model.booster_.predict(plain))
    np.testing.assert_array_equal(model.predict(data.X), pickle.loads(pickle.dumps(model)).predict(data.X))
    again = fit(ranker(booster, n_boosters=3, **OPTIONS), data)
    np.testing.assert_array_equal(model.predict(data.X), again.predict(data.X))
    assert model.feature_importances_.sum() == pytest.approx(1.0)


@both
def test_importances_are_the_mean_of_the_boosters_shares_whatever_unit_labels_are_in(booster):
    """Those of query-RMSE gain in squares of the labels."""
    data = task(0, 40)
    found = []
    for size in (0.01, 1.0, 100.0):
        model = ranker(booster, metric="kendall", n_boosters=2, **OPTIONS).fit(data.X, size * data.y, qid=data.qid)
        found.append(model.feature_importances_)
        assert found[-1].sum() == pytest.approx(1.0)
    np.testing.assert_allclose(found[0], found[1], atol=0.02)
    np.testing.assert_allclose(found[2], found[1], atol=0.02)
    trees = 10 if booster == "lightgbm" else model.booster_.num_boosted_rounds() // 2
    if booster == "lightgbm":
        first = model.booster_.feature_importance("gain", trees)
        both_gains = model.booster_.feature_importance("gain")
    else:
        names = model.booster_.feature_names or [f"f{at}" for at in range(data.X.shape[1])]
        gains = [part.get_score(importance_type="total_gain") for part in (model.booster_[:trees], model.booster_)]
        first, both_gains = (np.array([its.get(name, 0.0) for name in names]) for its in gains)
    second = both_gains - first
    np.testing.assert_allclose(found[2], (first / first.sum() + second / second.sum()) / 2, rtol=1e-3)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)


@both
def test_one_booster_goes_on(booster, data):
    start = fit(ranker(booster, n_boosters=4, **OPTIONS), data)
    more = fit(ranker(booster, n_boosters="auto", **OPTIONS), data, init_model=start)
    assert (more.n_boosters_, more.best_iteration_, more.n_iter_) == (1, 50, 10)
    last = fit(ranker(booster, n_boosters=1, **OPTIONS), data, init_model=start)
    np.testing.assert_array_equal(more.predict(data.X), last.predict(data.X))
    with pytest.raises(ValueError, match="n_boosters must be 1 with init_model, which one booster goes on from; got 2"):
        fit(ranker(booster, n_boosters=2, **OPTIONS), data, init_model=start)


@both
def test_nothing_to_split_by(booster, data):
    flat = data._replace(X=np.ones((len(data.y), 2)))
    with pytest.warns(UserWarning, match="no tree has a split, so that all scores are equal") as said:
        model = fit(ranker(booster, n_boosters=4), flat)
    assert len(said) == 1
    assert np.ptp(model.predict(flat.X)) == 0.0


@pytest.mark.parametrize("scale", [1e-3, 1e-6, 1e-12])
def test_small_labels_lose_no_booster(scale, data):
    """Gains of splits fall with the square of what is fitted, and XGBoost takes none below 1e-6."""
    metric = Metric("ndcg@10", gain="linear")
    options = {**OPTIONS, "metric": metric, "n_boosters": 4}
    usual = fit(ranker("xgboost", **options), data).predict(data.X)
    small = fit(ranker("xgboost", **options), data._replace(y=data.y * scale)).predict(data.X)
    np.testing.assert_allclose(small, usual, atol=2e-3 * np.ptp(usual))


@both
@pytest.mark.parametrize("name", ["err", "pfound", "ndcg"])
def test_labels_are_worth_what_the_metric_says(booster, name, data):
    """Where a higher label is worse, boosters on the labels, and the order of the whole list, would work against it."""
    table = [0.9, 0.4, 0.1, 0.0]
    worth = {"gain": table} if name == "ndcg" else {"p_rel": table}
    metric = Metric(f"{name}@10", **worth)
    assert check_settings(SoftRanker(metric=metric)).objective.mix == ()
    assert Member(False, True).objective(SoftObjective(metric)) == QueryRMSEObjective(gain=table)
    options = {**OPTIONS, "metric": metric, "n_boosters": 4, "mix": "auto"}
    model = fit(ranker(booster, **options), data)
    its = parts(model, data)
    assert all(metric(data.y, part, qid=data.qid) > metric(data.y, -part, qid=data.qid) for part in its)
    assert metric(data.y, model.predict(data.X), qid=data.qid) > metric(data.y, np.zeros(len(data.y)), qid=data.qid)


def test_what_labels_are_worth_by_default():
    for metric in (Metric("err"), Metric("pfound"), Metric("err", p_rel="label"), Metric("map")):
        assert Member(False, True).objective(SoftObjective(metric)) == QueryRMSEObjective()
    rising = Metric("err", p_rel=[0.0, 0.1, 0.1, 0.9])
    assert check_settings(SoftRanker(metric=rising)).objective.mix == ((Metric("kendall"), 0.3),)


@both
@pytest.mark.parametrize(
    ("n_boosters", "options", "copies"),
    [
        (4, {}, 0),
        (6, {}, 2),
        (4, {"num_leaves": 2}, 2),
        (6, {"random_trees": True}, 0),
        (6, {"subsample": 0.9}, 0),
        (6, {"colsample": 0.9}, 0),
        (6, {"booster_params": {"max_bin": 15}}, 0),
    ],
    ids=str,
)
def test_boosters_that_are_copies(booster, n_boosters, options, copies, data):
    plain = {"num_leaves": 12, "n_estimators": 3, "random_trees": False, **options}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ranker(booster, n_boosters=n_boosters, **plain).fit(data.X, data.y, qid=data.qid)
    wanted = f"{copies} of {n_boosters} boosters are copies of others, since nothing in them is drawn at random"
    found = [warning for warning in said if wanted in str(warning.message)]
    assert len(found) == bool(copies)
    assert all(f"give n_boosters={n_boosters - copies}," in str(warning.message) for warning in found)
    assert all(warning.filename == __file__ for warning in found)
    if not copies:
        assert not any("copies" in str(warning.message) for warning in said)


@pytest.mark.parametrize(
    ("seed", "options"),
    [
        ("extra_seed", {}),
        ("bagging_fraction_seed", {"subsample": 0.5, "random_trees": False}),
        ("feature_fraction_seed", {"colsample": 0.5, "random_trees": False}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_seed_of_the_boosters_own_makes_no_copies(seed, options, data):
    """Boosters of one kind, the first and the fifth, are to draw differently, as they do by random_state."""
    model = fit(ranker(n_boosters=5, booster_params={seed: 3}, **{**OPTIONS, **options}), data)
    first, *_, fifth = parts(model, data)
    assert not np.allclose(first, fifth, rtol=1e-6, atol=1e-9)
    alone = fit(ranker(booster_params={seed: 3}, random_state=8, **{**OPTIONS, **options}), data).predict(data.X)
    np.testing.assert_allclose(5 * first, alone, rtol=1e-6, atol=1e-8)


def test_the_seed_behind_the_last_one_is_the_first():
    largest = 2**31 - 1
    given = {"extra_seed": str(largest), "bagging_seed": 1000}
    anew = check_settings(SoftRanker(random_state=largest, booster_params=given)).drawing_anew(3)
    assert (anew.seed, anew.more) == (2, {"extra_seed": 2, "bagging_seed": 1003})


def test_copies_among_plain_boosters_beside_random_ones():
    """Of seven on many documents the second and the seventh are plain and on the metric; random ones are all drawn."""
    assert n_copies(members(6, 20_000, True, True), 31, True) == 0
    assert n_copies(members(7, 20_000, True, True), 31, True) == 1
    assert n_copies(members(12, 20_000, True, True), 31, True) == 2


def test_copies_among_plain_boosters_beside_those_that_see_parts():
    """Of seven on plenty of documents the seventh, which sees parts anew, is no copy, but the sixth is of the first."""
    assert n_copies(members(5, 50_000, False, True), 31, False) == 0
    assert n_copies(members(7, 50_000, False, True), 31, False) == 1


@both
def test_a_booster_that_splits_nothing_is_left_out(booster, data):
    """Labels that hardly differ give nothing to split by, what the metric makes of them does."""
    limit = {"min_gain_to_split": 1e-3} if booster == "lightgbm" else {"gamma": 0.5}
    faint = data._replace(y=(data.y > 0) * 1e-4)
    options = {**OPTIONS, "metric": Metric("map", relevant_from=5e-5), "booster_params": limit}
    with pytest.warns(
        UserWarning, match="fit: 1 of 2 boosters have no tree with a split and count for nothing"
    ) as said:
        model = fit(ranker(booster, n_boosters=2, **options), faint)
    assert len(said) == 1
    assert model.best_iteration_ == 10
    np.testing.assert_allclose(2 * model.predict(data.X), fit(ranker(booster, **options), faint).predict(data.X), 1e-4)


@pytest.mark.parametrize("sigma", [1.0, 1e4])
def test_no_booster_is_lost_that_gains_little_beside_another(sigma, data):
    """XGBoost adds up gains in float32, and those on labels do not grow with sigma."""
    model = fit(ranker("xgboost", **{**OPTIONS, "n_boosters": 4, "sigma": sigma}), data)
    assert (model.best_iteration_, model.n_iter_) == (40, 40)
    usual = fit(ranker("xgboost", **{**OPTIONS, "n_boosters": 4}), data)
    assert np.corrcoef(model.predict(data.X), usual.predict(data.X))[0, 1] > 0.9


def test_new_trees_are_seen_on_a_model_of_large_gains(data):
    large = xgb.train({}, xgb.DMatrix(data.X, data.y, weight=np.full(len(data.y), 1e9)), 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit(ranker("xgboost", **{**OPTIONS, "n_boosters": 1}), data, init_model=large)
    assert model.booster_.num_boosted_rounds() == 15


def test_the_objective_of_one_of_several_shows_no_scores():
    """Trackers of experiments keep its repr."""
    objective = bl.objective("ndcg@10")
    assert repr(Own(objective, 0.25, lambda _: np.zeros(3))) == f"Own(call={objective!r}, share=0.25)"


@both
def test_later_boosters_are_trained_on_the_data_of_the_first_and_shown_no_validation_sets(
    booster, data, valid, monkeypatch
):
    """Made once; and a booster would predict all trees before anew for sets that nobody would look at."""
    module = {"lightgbm": lgb, "xgboost": xgb}[booster]
    trained, shown, train = [], [], module.train

    def watched(params, given, *rest, **options):
        trained.append(given)
        shown.append(len(options["valid_sets" if booster == "lightgbm" else "evals"]))
        return train(params, given, *rest, **options)

    for name in ("train", {"lightgbm": "engine.train", "xgboost": "training.train"}[booster]):
        monkeypatch.setattr(f"{booster}.{name}", watched)
    fit(ranker(booster, n_boosters=3, **OPTIONS), data, eval_set=[(valid.X, valid.y)], eval_qid=[valid.qid])
    assert shown == [1, 0, 0]
    assert all(given is trained[0] for given in trained)


def test_gains_of_a_first_booster_without_trees_are_none():
    """Of no tree: LightGBM takes 0 for all."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    booster = lgb.train({"verbose": -1}, lgb.Dataset(X, y), 4)
    half, whole = (booster.feature_importance("gain", n) for n in (2, 4))
    np.testing.assert_allclose(lightgbm_trees.gains(booster, (0, 2, 4)), [half, whole - half])
