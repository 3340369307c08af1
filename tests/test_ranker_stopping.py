"""SoftRanker's weights, evaluation and early stopping."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import boostsoft as bs
from boostsoft import Metric, QueryGroups, SoftMetric
from boostsoft.ranker import lightgbm_trees, xgboost_trees
from boostsoft.ranker.rows import Rows
from boostsoft.ranker.watch import Watch

from . import ranker_cases
from .ranker_cases import SOFT, both, fit, ranker, task, watched

xgb = pytest.importorskip("xgboost")
data, valid = ranker_cases.data, ranker_cases.valid  # fixtures


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
        ({}, {"eval_set": "ok", "eval_group": [[1]]}, r"eval_set\[0\]: give eval_group or eval_qid, not both"),
    ],
)
def test_evaluation_sets_are_checked(parameters, arguments, message, data, valid):
    sets = {"ok": [(valid.X, valid.y)], "bare": [(valid.X, valid.y)], "narrow": [(valid.X[:, :3], valid.y)]}
    name = arguments.get("eval_set")
    if isinstance(name, str):
        arguments = {"eval_qid": [valid.qid] if name == "ok" else None, **arguments, "eval_set": sets[name]}
    with pytest.raises(ValueError, match=message):
        fit(ranker(**parameters), data, **arguments)


@both
def test_features_and_labels_of_evaluation_sets_apart(booster, data, valid):
    """As LightGBM has them from 4.7 on: a tuple of each, or one pair."""
    two, queries = [(valid.X, valid.y), (data.X, data.y)], [valid.qid, data.qid]
    expected = fit(ranker(booster), data, eval_set=two, eval_qid=queries).evals_result_
    X, y = zip(*two, strict=True)
    assert fit(ranker(booster), data, eval_X=X, eval_y=y, eval_qid=queries).evals_result_ == expected
    alone = fit(ranker(booster), data, eval_X=valid.X, eval_y=valid.y, eval_qid=[valid.qid]).evals_result_
    assert alone == {"valid_0": expected["valid_0"]}


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"eval_X": ()}, ValueError, "eval_X and eval_y belong together; eval_y is missing"),
        ({"eval_y": []}, ValueError, "eval_X and eval_y belong together; eval_X is missing"),
        ({"eval_X": (), "eval_y": (), "eval_set": []}, ValueError, "give eval_set, or eval_X and eval_y, not both"),
        ({"eval_X": ([[0.0]],), "eval_y": ()}, ValueError, "eval_X and eval_y must be of as many sets; got 1 and 0"),
        (
            {"eval_X": ([[0.0]],), "eval_y": [[1]]},
            TypeError,
            "eval_X and eval_y must both be tuples, of several sets, or neither; got tuple and list",
        ),
    ],
)
def test_features_and_labels_apart_are_checked(arguments, kind, message, data):
    with pytest.raises(kind, match=rf"^SoftRanker\.fit: {message}$"):
        fit(ranker(), data, **arguments)


@both
def test_a_metric_that_becomes_infinite_is_not_stopped_by(booster, data, valid):
    """pnr is infinite once a query is in perfect order: the first such tree would be kept."""
    evaluated = {"eval_set": [(valid.X, valid.y)], "eval_qid": [valid.qid]}
    with pytest.raises(ValueError, match=r"SoftRanker.fit: .* pnr.* is infinite with \d+ trees: watch auc or kendall"):
        fit(ranker(booster, eval_metric="pnr", early_stopping_rounds=5), data, **evaluated)
    assert fit(ranker(booster, eval_metric="pnr"), data, **evaluated).n_iter_ > 0  # which only records it


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


def test_weighted_queries_are_watched_while_a_model_of_another_metric_goes_on(data):
    """XGBoost ends the process where it evaluates such a metric with weights of queries."""
    model = xgb.XGBRegressor(n_estimators=3).fit(data.X, data.y)
    weights = np.where(data.qid % 3, 1.0, 2.0)
    found = fit(ranker("xgboost", validation_fraction=0.3), data, sample_weight=weights, init_model=model)
    assert list(found.evals_result_["valid_0"]) == [SOFT]


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
