"""make_ranking_scorer: values, weights, any estimator, and what it asks of metadata routing."""

from __future__ import annotations

import copy
import pickle
from functools import partial

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from boostsoft import Metric, SoftBlender, SoftMetric, make_ranking_scorer

from .ranker_cases import ranker, shuffled, task
from .releases import left_out


@pytest.fixture(scope="module")
def data():
    return shuffled(task(0))


@pytest.fixture(scope="module")
def model(data):
    return Ridge().fit(data.X, data.y)


def test_value_is_the_metric_of_the_predictions(data, model):
    order = np.argsort(data.qid, kind="stable")
    scores = model.predict(data.X)
    for metric in ("ndcg@10", Metric("map", relevant_from=2), Metric("auc", empty="skip")):
        hard = Metric(metric) if isinstance(metric, str) else metric
        value = make_ranking_scorer(metric)(model, data.X, data.y, qid=data.qid)
        assert type(value) is float
        assert value == hard(data.y[order], scores[order], qid=data.qid[order])
    linear = make_ranking_scorer("ndcg@5", gain="linear")(model, data.X, data.y, qid=data.qid)
    assert linear == Metric("ndcg@5", gain="linear")(data.y[order], scores[order], qid=data.qid[order])


def test_weights_are_of_queries(data, model):
    scorer = make_ranking_scorer("map")
    per_query = [
        scorer(model, data.X[rows], data.y[rows], qid=data.qid[rows])
        for rows in (data.qid == q for q in np.unique(data.qid))
    ]
    weights = np.unique(data.qid) % 4
    found = scorer(model, data.X, data.y, qid=data.qid, sample_weight=data.qid % 4)
    assert found == pytest.approx(np.average(per_query, weights=weights), abs=1e-12)
    with pytest.raises(ValueError, match="make_ranking_scorer: sample_weight must be the same for all rows of a query"):
        scorer(model, data.X, data.y, qid=data.qid, sample_weight=np.arange(len(data.y)))


def test_permutation_importance_takes_a_scorer_that_has_the_ids(data, model):
    scorer = make_ranking_scorer()
    with pytest.raises(ValueError, match=r"as in permutation_importance, give functools.partial\(scorer, qid=qid\)$"):
        permutation_importance(model, data.X, data.y, scoring=scorer, n_repeats=2)
    found = permutation_importance(
        model, data.X, data.y, scoring=partial(scorer, qid=data.qid), n_repeats=2, random_state=0
    )
    by_hand = permutation_importance(
        model, data.X, data.y, scoring=lambda *given: scorer(*given, qid=data.qid), n_repeats=2, random_state=0
    )
    np.testing.assert_array_equal(found.importances, by_hand.importances)
    assert found.importances.std() > 0


def test_what_is_refused(data, model):
    scorer = make_ranking_scorer()
    with pytest.raises(ValueError, match=r"qid is missing: call set_score_request\(qid=True\) on the scorer"):
        scorer(model, data.X, data.y)
    with pytest.raises(ValueError, match="qid is missing"):  # its column is none of X
        scorer(ranker(n_estimators=2).fit(data.X, data.y, qid=data.qid), data.X, data.y)
    with pytest.raises(ValueError, match="qid must have one id per row"):
        scorer(model, data.X, data.y, qid=data.qid[:-1])
    with pytest.raises(TypeError, match="make_ranking_scorer: metric must be a string"):
        make_ranking_scorer(SoftMetric("ndcg@10"))
    with pytest.raises(ValueError, match="make_ranking_scorer: a metric must have one cutoff"):
        make_ranking_scorer("ndcg", k=[1, 2])
    with pytest.raises(ValueError, match="unknown metric 'mean'"):
        make_ranking_scorer("mean")


def test_routing_requests(data):
    asked = make_ranking_scorer("map").set_score_request(qid="query", sample_weight=False)
    for scorer in (asked, copy.deepcopy(asked), pickle.loads(pickle.dumps(asked))):
        requests = scorer.get_metadata_routing().score.requests
        assert requests == {"qid": "query", "sample_weight": False}
        with sklearn.config_context(enable_metadata_routing=True):
            params = {"query": data.qid, "groups": data.qid}
            found = cross_validate(
                Ridge(), data.X, data.y, scoring=scorer, cv=GroupKFold(3), params=params, error_score="raise"
            )
        assert np.all(found["test_score"] > 0.5)
    assert make_ranking_scorer().get_metadata_routing().score.requests == {"qid": None, "sample_weight": None}
    assert asked.set_score_request(sample_weight=True).get_metadata_routing().score.requests["qid"] == "query"


def test_several_scorers(data):
    with sklearn.config_context(enable_metadata_routing=True):
        scoring = {n: make_ranking_scorer(n).set_score_request(qid=True) for n in ("ndcg@3", "mrr")}
        model = ranker().set_fit_request(qid=True)
        params = {"qid": data.qid, "groups": data.qid}
        found = cross_validate(
            model, data.X, data.y, scoring=scoring, cv=GroupKFold(3), params=params, error_score="raise"
        )
    assert {"test_ndcg@3", "test_mrr"} <= set(found)


def inner_column(data):
    """The data with the query ids in the first column, and a ranker that knows."""
    return np.column_stack([data.qid, data.X]), ranker(qid_column=0, n_estimators=3)


def test_query_ids_in_a_column_are_found_within(data):
    X, model = inner_column(data)
    scorer, cv = make_ranking_scorer("map@5"), GroupKFold(2)
    options = {"cv": cv, "scoring": scorer, "error_score": "raise"}
    plain = cross_val_score(model, X, data.y, groups=data.qid, **options)
    reversed_columns = make_pipeline(FunctionTransformer(lambda X: X[:, ::-1]), ranker(qid_column=-1, n_estimators=3))
    for estimator in (
        make_pipeline(FunctionTransformer(), FunctionTransformer(), model),
        make_pipeline("passthrough", make_pipeline(model)),
        GridSearchCV(model, {"num_leaves": [6]}, cv=2, scoring=scorer),
    ):
        found = cross_val_score(estimator, X, data.y, groups=data.qid, **options)
        np.testing.assert_allclose(found, plain, rtol=1e-12)
    search = GridSearchCV(make_pipeline(FunctionTransformer(), model), {"softranker__num_leaves": [3, 6]}, **options)
    search.fit(X, data.y, groups=data.qid)
    assert search.score(X, data.y) == scorer(search.best_estimator_[-1], X, data.y)
    # the column is one of what reaches the ranker
    turned = reversed_columns.fit(X, data.y)
    assert scorer(turned, X, data.y) == pytest.approx(scorer(turned, X, data.y, qid=data.qid), abs=1e-15)
    fitted = model.fit(X, data.y)
    assert scorer(FrozenEstimator(fitted), X, data.y) == scorer(fitted, X, data.y)
    for piped in (make_pipeline(FunctionTransformer(), model).fit(X, data.y), turned):
        assert scorer(FrozenEstimator(piped), X, data.y) == scorer(piped, X, data.y)
    with pytest.raises(NotFittedError, match="This SoftRanker instance is not fitted"):
        scorer(make_pipeline(FunctionTransformer(), ranker(qid_column=0)), X, data.y)
    with pytest.raises(ValueError, match=r"^make_ranking_scorer: X: X has 1 features"):
        scorer(ranker(qid_column=0, n_estimators=3).fit(X, data.y), X[:, :1], data.y)
    with pytest.raises(ValueError, match=r"qid is missing: .* or a SoftRanker with qid_column"):
        scorer(make_pipeline(FunctionTransformer(), Ridge()).fit(data.X, data.y), data.X, data.y)


def test_a_blender_predicts_with_the_query_ids(data):
    scorer = make_ranking_scorer("map").set_score_request(qid=True)
    with sklearn.config_context(enable_metadata_routing=True):
        blender = SoftBlender(progress=False).set_fit_request(qid=True)
        search = GridSearchCV(blender, {"normalize": ["rank", "zscore"]}, cv=GroupKFold(2), scoring=scorer)
        search.fit(data.X, data.y, qid=data.qid, groups=data.qid)
        value = search.score(data.X, data.y, qid=data.qid)
    order = np.argsort(data.qid, kind="stable")
    scores = search.best_estimator_.predict(data.X, qid=data.qid)[order]
    assert value == pytest.approx(Metric("map")(data.y[order], scores, qid=data.qid[order]), abs=1e-15)
    assert scorer(search, data.X, data.y, qid=data.qid) == value


def test_a_blender_at_the_end_of_a_pipeline_predicts_with_the_query_ids(data):
    scorer = make_ranking_scorer("map").set_score_request(qid=True)
    with sklearn.config_context(enable_metadata_routing=True):
        blender = SoftBlender(progress=False).set_fit_request(qid=True).set_predict_request(qid=True)
        params = {"qid": data.qid, "groups": data.qid}
        alone, piped = (
            cross_val_score(
                estimator, data.X, data.y, cv=GroupKFold(2), params=params, scoring=scorer, error_score="raise"
            )
            for estimator in (
                blender,
                make_pipeline(FunctionTransformer(), FunctionTransformer(), blender),
            )
        )
    np.testing.assert_array_equal(piped, alone)
    fitted = make_pipeline(FunctionTransformer(), SoftBlender(progress=False)).fit(
        data.X, data.y, softblender__qid=data.qid
    )
    for wrapped in (FrozenEstimator(fitted), FrozenEstimator(FrozenEstimator(fitted))):
        assert scorer(wrapped, data.X, data.y, qid=data.qid) == scorer(fitted, data.X, data.y, qid=data.qid)


@left_out(sklearn.__version__, (1, 8), "scikit-learn before 1.8 does not hand on what a pipeline's own score asks for")
def test_a_search_over_a_pipeline_that_ends_in_a_blender(data):
    with sklearn.config_context(enable_metadata_routing=True):
        blender = SoftBlender(progress=False).set_fit_request(qid=True).set_predict_request(qid=True)
        search = GridSearchCV(
            make_pipeline(FunctionTransformer(), blender.set_score_request(qid=True)),
            {"softblender__normalize": ["rank"]}, cv=GroupKFold(2), error_score="raise",
        )  # fmt: skip
        nested = cross_val_score(
            search, data.X, data.y, cv=GroupKFold(2), params={"qid": data.qid, "groups": data.qid},
            scoring=make_ranking_scorer("map").set_score_request(qid=True), error_score="raise",
        )  # fmt: skip
    assert np.isfinite(nested).all()


@pytest.mark.parametrize("metric", [Metric("map"), SoftMetric("map", sigma=0.1)])
def test_metrics_are_functions_to_scikit_learns_scorers(metric, data):
    order = np.argsort(data.qid, kind="stable")
    X, y, qid = data.X[order], data.y[order], data.qid[order]
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(metric).set_score_request(qid=True)
        assert metric.name in repr(scorer)
        found = cross_val_score(Ridge(), X, y, scoring=scorer, cv=GroupKFold(3), params={"qid": qid, "groups": qid})
        assert np.isfinite(found).all()
        model = Ridge().fit(X, y)
        assert scorer(model, X, y, qid=qid) == metric(y, model.predict(X), qid=qid)


def test_two_classes_rank_by_how_sure_the_classifier_is(data):
    """Their predictions are 0 and 1, ties but for one cut."""
    X, y, qid = data.X, (data.y > 0).astype(int), data.qid
    order, scorer = np.argsort(qid, kind="stable"), make_ranking_scorer("auc")

    def auc(scores):
        return Metric("auc")(y[order], scores[order], qid=qid[order])

    linear, bayes = LogisticRegression().fit(X, y), GaussianNB().fit(X, y)  # which has no decision function
    assert scorer(linear, X, y, qid=qid) == auc(linear.decision_function(X)) != auc(linear.predict(X))
    assert scorer(bayes, X, y, qid=qid) == auc(bayes.predict_proba(X)[:, 1]) != auc(bayes.predict(X))
    ridge = RidgeClassifier().fit(X, y)  # which has no probabilities
    assert scorer(ridge, X, y, qid=qid) == auc(ridge.decision_function(X)) != auc(ridge.predict(X))
    search = GridSearchCV(LogisticRegression(), {"C": [0.1]}).fit(X, y)
    for wrapped in (search, make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)):
        assert scorer(wrapped, X, y, qid=qid) == auc(wrapped.decision_function(X))
    grades = GaussianNB().fit(X, data.y)  # of more than two classes the prediction is an order of its own
    assert np.unique(data.y).size > 2
    assert scorer(grades, X, y, qid=qid) == auc(grades.predict(X))


def test_repr():
    assert make_ranking_scorer().metric == Metric("ndcg@10")
    assert repr(make_ranking_scorer("mrr")) == f"make_ranking_scorer({Metric('mrr')!r})"
