"""SoftRanker among scikit-learn's tools: its own checks, pipelines, cross-validation and searches with query ids."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.inspection import partial_dependence
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from boostsoft import Metric, SoftRanker, make_ranking_scorer
from boostsoft.datasets import load_letor

from .ranker_cases import BOOSTERS, both, ranker, shuffled, task
from .real_data import real_folder
from .releases import left_out

pytest.importorskip("xgboost")


@pytest.fixture(scope="module")
def data():
    return shuffled(task(0))


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


# none is exempt; min_child_samples=1 splits the small data of the checks, which 20 leaves whole, and then rows that
# count twice are as good as rows that are there twice only where none is left out at random
SPLIT = {"min_child_samples": 1, "random_trees": False}


@pytest.mark.filterwarnings("ignore:SoftRanker.fit. neither group= nor qid= was given:UserWarning")
@pytest.mark.filterwarnings("ignore:SoftRanker.fit. no tree has a split:UserWarning")
@parametrize_with_checks([SoftRanker(b, n_estimators=5, n_jobs=1, **more) for b in BOOSTERS for more in ({}, SPLIT)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def by_hand(model, data, metric="ndcg@10", n=3):
    """The same folds without scikit-learn's routing."""
    found = []
    for train, test in GroupKFold(n).split(data.X, groups=data.qid):
        model.fit(data.X[train], data.y[train], qid=data.qid[train])
        order = test[np.argsort(data.qid[test], kind="stable")]
        found.append(Metric(metric)(data.y[order], model.predict(data.X[order]), qid=data.qid[order]))
    return found


@both
def test_cross_validation(booster, data, routing):
    model = ranker(booster).set_fit_request(qid=True).set_score_request(qid=True)
    params = {"qid": data.qid, "groups": data.qid}
    found = cross_validate(model, data.X, data.y, cv=GroupKFold(3), params=params, error_score="raise")
    np.testing.assert_allclose(found["test_score"], by_hand(ranker(booster), data), rtol=1e-12)


@both
def test_a_pipeline_takes_evaluation_sets_through_its_steps(booster, data, routing):
    asked, valid = {"qid": True, "eval_X": True, "eval_y": True, "eval_qid": True}, task(1)
    scaler, model = StandardScaler(), ranker(booster, early_stopping_rounds=2)
    steps = make_pipeline(scaler, model.set_fit_request(**asked), transform_input=["eval_X"])
    steps.fit(data.X, data.y, qid=data.qid, eval_X=(valid.X,), eval_y=(valid.y,), eval_qid=[valid.qid])
    by_hand = ranker(booster, early_stopping_rounds=2).fit(
        scaler.transform(data.X), data.y, qid=data.qid,
        eval_set=[(scaler.transform(valid.X), valid.y)], eval_qid=[valid.qid],
    )  # fmt: skip
    assert steps[-1].evals_result_ == by_hand.evals_result_


@left_out(sklearn.__version__, (1, 8), "the Pipeline of scikit-learn before 1.8 asks for weights of its own")
@both
def test_cross_validation_of_a_pipeline_with_weights(booster, data, routing):
    weights = data.qid - 99.0
    model = ranker(booster).set_fit_request(qid=True, sample_weight=True)
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    model = make_pipeline(scaler, model.set_score_request(qid=True, sample_weight=True))
    params = {"qid": data.qid, "groups": data.qid, "sample_weight": weights}
    found = cross_validate(model, data.X, data.y, cv=GroupKFold(3), params=params, error_score="raise")
    for score, (train, test) in zip(found["test_score"], GroupKFold(3).split(data.X, groups=data.qid), strict=True):
        scaler = StandardScaler().fit(data.X[train])
        plain = ranker(booster).fit(
            scaler.transform(data.X[train]), data.y[train], qid=data.qid[train], sample_weight=weights[train]
        )
        X = scaler.transform(data.X[test])
        assert score == plain.score(X, data.y[test], qid=data.qid[test], sample_weight=weights[test])


@both
def test_search(booster, data, routing):
    model = ranker(booster).set_fit_request(qid=True).set_score_request(qid=True)
    grid = {"num_leaves": [3, 8], "metric": ["ndcg@10", Metric("map")], "noise": ["gaussian", "gumbel"]}
    scorer = make_ranking_scorer("ndcg@10").set_score_request(qid=True)
    search = GridSearchCV(model, grid, scoring=scorer, cv=GroupKFold(3), error_score="raise")
    search.fit(data.X, data.y, qid=data.qid, groups=data.qid)
    results = search.cv_results_
    for at, params in enumerate(results["params"]):
        expected = np.mean(by_hand(ranker(booster, **params), data))
        assert results["mean_test_score"][at] == pytest.approx(expected)
    best = ranker(booster, **search.best_params_).fit(data.X, data.y, qid=data.qid)
    assert search.score(data.X, data.y, qid=data.qid) == pytest.approx(
        make_ranking_scorer("ndcg@10")(best, data.X, data.y, qid=data.qid)
    )


def test_what_is_not_routed_is_said(data, routing):
    params = {"qid": data.qid, "groups": data.qid}
    with pytest.raises(UnsetMetadataPassedError, match="qid"):
        cross_validate(ranker(), data.X, data.y, cv=GroupKFold(3), params=params, error_score="raise")
    model = ranker().set_fit_request(qid=True).set_score_request(qid=False)
    with pytest.raises(ValueError, match=r"score: qid \(or group\) must be given"):
        cross_validate(model, data.X, data.y, cv=GroupKFold(3), params=params, error_score="raise")


def test_group_sizes_in_a_fold_name_the_remedy(routing):
    ordered = task(0)
    model = ranker().set_fit_request(group=True).set_score_request(group=True)
    params = {"group": ordered.sizes, "groups": ordered.qid}
    with pytest.raises(ValueError, match=r"group must add up .* One id per row is qid=$"):
        ranker().fit(ordered.X, ordered.y, group=ordered.qid)
    with pytest.raises(ValueError, match=r"group must add up .* A cross-validation cuts rows .* give it qid="):
        cross_validate(model, ordered.X, ordered.y, cv=GroupKFold(3), params=params, error_score="raise")


@both
def test_query_ids_in_a_column_need_no_routing(booster, data):
    X = np.column_stack([data.qid, data.X])
    model = ranker(booster, qid_column=0)
    found = cross_val_score(model, X, data.y, groups=data.qid, cv=GroupKFold(3), error_score="raise")
    np.testing.assert_allclose(found, by_hand(ranker(booster), data), rtol=1e-12)
    scorer = make_ranking_scorer("map@5")
    found = cross_val_score(model, X, data.y, groups=data.qid, cv=GroupKFold(3), scoring=scorer, error_score="raise")
    np.testing.assert_allclose(found, by_hand(ranker(booster), data, "map@5"), rtol=1e-12)


@both
def test_parallel_search(booster, data, routing):
    model = ranker(booster).set_fit_request(qid=True).set_score_request(qid=True)
    runs = [
        GridSearchCV(model, {"num_leaves": [3, 8]}, cv=GroupKFold(2), error_score="raise", n_jobs=n_jobs)
        .fit(data.X, data.y, qid=data.qid, groups=data.qid)
        .cv_results_["mean_test_score"]
        for n_jobs in (1, 2)
    ]
    assert np.array_equal(*runs)


@both
def test_real_data(booster, routing):
    part = load_letor(real_folder("MQ2008") / "S1.txt.gz")
    mixed = np.random.default_rng(0).permutation(part.n_docs)
    X, y, qid = part.X[mixed], part.y[mixed], part.qid[mixed]
    model = SoftRanker(booster, n_estimators=20, n_boosters=2, n_jobs=2)
    model.set_fit_request(qid=True).set_score_request(qid=True)
    scoring = {name: make_ranking_scorer(name).set_score_request(qid=True) for name in ("ndcg@10", "map")}
    pipeline = make_pipeline(StandardScaler(), model)
    params = {"qid": qid, "groups": qid}
    found = cross_validate(pipeline, X, y, cv=GroupKFold(3), scoring=scoring, params=params, error_score="raise")
    assert 0.4 < found["test_ndcg@10"].mean() < 0.6  # queries without a relevant document count 0
    search = GridSearchCV(model, {"num_leaves": [4, 31]}, cv=GroupKFold(3), error_score="raise")
    search.fit(X, y, qid=qid, groups=qid)
    assert search.score(X, y, qid=qid) > found["test_ndcg@10"].mean()


def test_tags():
    tags = sklearn.utils.get_tags(SoftRanker())
    assert (tags.estimator_type, tags.input_tags.sparse, tags.input_tags.allow_nan) == (None, True, True)
    assert (tags.input_tags.categorical, tags.target_tags.required, tags.non_deterministic) == (True, True, False)


class SaysItIsARegressor(SoftRanker):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor"
        return tags


@both
def test_partial_dependence_takes_a_class_that_says_it_is_a_regressor(booster, data):
    with pytest.raises(ValueError, match="must be a fitted regressor"):
        partial_dependence(ranker(booster).fit(data.X, data.y, qid=data.qid), data.X, [0])
    own = ranker(booster).get_params()
    model = SaysItIsARegressor(**own).fit(data.X, data.y, qid=data.qid)
    found = partial_dependence(model, data.X, [0], grid_resolution=5)
    for value, mean in zip(found["grid_values"][0], found["average"][0], strict=True):
        moved = np.column_stack([np.full(len(data.y), value), data.X[:, 1:]])
        assert mean == pytest.approx(model.predict(moved).mean())
