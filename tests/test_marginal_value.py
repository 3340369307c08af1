"""What batches are worth, against the boosters' own continued training and loops over queries."""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import lightgbm as lgb
import numpy as np
import pytest
from scipy import stats

import boostsoft.lightgbm as bl
from boostsoft import Metric, SoftMetric, SoftRanker
from boostsoft.tracking import batches as module
from boostsoft.tracking.batches import marginal_value

from .releases import older

SIZES = [20] * 20
SPREAD = SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread")
SCORE = SoftMetric("ndcg@10", sigma=0.2, name="ndcg_score")
NDCG = Metric("ndcg@10")
PARAMS = {"objective": "lambdarank", "learning_rate": 0.05, "num_leaves": 7, "seed": 3, "verbosity": -1}


def documents(seed, n=400):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.digitize(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n), [0.5, 1.5]).astype(float)


POOL, LABELS = documents(9)


def lightgbm_model(n=4, **more):
    X, y = documents(0)
    return lgb.train({**PARAMS, **more}, lgb.Dataset(X, y, group=SIZES), n)


def candidates():
    """A good batch, one with shuffled labels, one without relevant documents, and one too small for a split."""
    X, y = documents(1)
    wrong = np.random.default_rng(0).permutation(y)
    return {
        "wrong": (X, wrong, SIZES),
        "empty": (X, np.zeros(400), SIZES),
        "good": {"X": X, "y": y, "qid": np.repeat(np.arange(20), 20)},
        "small": (X[:20], y[:20], [20]),
    }


def halves():
    X, y = documents(1)
    return [(X[:200], y[:200], [20] * 10), (X[200:], y[200:], [20] * 10)]


def value(model, batches, **more):
    return marginal_value(model, batches, POOL, LABELS, **{"group": SIZES, "progress": False, **more})


def continued(model, X, y, sizes=SIZES, n=5, params=PARAMS):
    """LightGBM's own continued training; the booster's scores of the pool."""
    booster = lgb.train(params, lgb.Dataset(X, y, group=sizes), n, init_model=model)
    assert booster.num_trees() == model.num_trees() + n
    return booster.predict(POOL)


def test_changes_are_those_of_lightgbms_own_continued_training():
    model = lightgbm_model()
    found = value(model, candidates())
    by_name = {batch.name: batch for batch in found.batches}
    for name, at in (("wrong", 0), ("good", 2)):
        X = documents(1)[0]
        y = candidates()[name]["y"] if name == "good" else candidates()[name][1]
        after, before = continued(model, X, y), model.predict(POOL)
        gap = SPREAD.per_query(LABELS, after, group=SIZES) - SPREAD.per_query(LABELS, before, group=SIZES)
        hard = NDCG.per_query(LABELS, after, group=SIZES) - NDCG.per_query(LABELS, before, group=SIZES)
        row = by_name[name]
        assert found.changes[at] == pytest.approx(gap, abs=1e-9)
        assert (row.change, row.error) == pytest.approx((gap.mean(), stats.sem(gap)), rel=1e-6)
        assert (row.hard, row.hard_error) == pytest.approx((hard.mean(), stats.sem(hard)), rel=1e-6)
        low, high = stats.t.interval(0.95, 19, gap.mean(), stats.sem(gap))
        assert (row.low, row.high) == pytest.approx((low, high), rel=1e-6)
        pooled = math.sqrt(np.mean([np.var(part) for part in np.split(after, 20)]))
        assert row.spread == pytest.approx(pooled, rel=1e-9)
        assert (row.n_trees, row.n_queries, row.n_docs) == (5, 20, 400)
    assert found.before == pytest.approx(SPREAD(LABELS, model.predict(POOL), group=SIZES))
    assert found.hard_before == pytest.approx(NDCG(LABELS, model.predict(POOL), group=SIZES))


def test_ranking():
    found = value(lightgbm_model(), candidates())
    assert [found.batches[at].name for at in found.order] == ["good", "empty", "small", "wrong"]
    assert found.best.name == "good"
    assert found.best.change > 0 > found.ranked[-1].change
    assert found.best.first > 0.9
    assert sum(batch.first for batch in found.batches) == pytest.approx(1.0)


def test_batches_that_teach_nothing():
    batches = {**candidates(), "apart": (POOL, np.repeat(np.arange(20.0), 20), SIZES)}
    found = {batch.name: batch for batch in value(lightgbm_model(), batches).batches}
    for name in ("empty", "small", "apart"):
        row = found[name]
        assert (row.change, row.error, row.hard, row.n_trees, row.failed) == (0.0, 0.0, 0.0, 0, False)
    assert found["empty"].problem == found["apart"].problem == "no query has two labels: nothing to learn from"
    assert found["small"].problem == "no tree could split"


def test_equal_labels_teach_nothing_under_rank_xendcg():
    """Its targets are drawn at random, so that LightGBM would learn from them."""
    model = lightgbm_model(objective="rank_xendcg")
    row = value(model, {"equal": (documents(1)[0], np.ones(400), SIZES)}).best
    assert (row.change, row.hard, row.n_trees) == (0.0, 0.0, 0)


def test_first_is_a_share_of_resamples():
    found = value(lightgbm_model(), halves(), n_boot=4000)
    rng, wins = np.random.default_rng(5), 0
    for _ in range(4000):
        at = rng.integers(20, size=20)
        wins += found.changes[0, at].sum() > found.changes[1, at].sum()
    assert 0.02 < found.batches[0].first < 0.98
    assert found.batches[0].first == pytest.approx(wins / 4000, abs=0.03)
    same = value(lightgbm_model(), [halves()[0], halves()[0]])
    assert [batch.first for batch in same.batches] == [0.5, 0.5]


def test_batches_that_differ_by_rounding_share_the_first_place():
    changes = np.random.default_rng(0).normal(size=30) + np.array([[0.0], [1e-12], [-5.0]])
    np.testing.assert_array_equal(module._firsts(changes, np.ones(30), 200, 0), [0.5, 0.5, 0.0])


def test_one_query_ranks_batches_without_a_share():
    """All of its resamples are the same: none is another draw."""
    found = value(lightgbm_model(), candidates(), query_weight=[1] + 19 * [0])
    assert all(math.isnan(batch.first) and math.isnan(batch.error) for batch in found.batches)
    assert {(batch.low, batch.high) for batch in found.batches} == {(-math.inf, math.inf)}
    assert found.best.change == max(batch.change for batch in found.batches)


def test_the_control():
    model = lightgbm_model()
    X, y = documents(1)
    in_spread = value(model, [(X, y, SIZES)]).best
    assert in_spread.control == 0.0
    in_score = value(model, [(X, y, SIZES)], metric=SCORE).best
    before, after = model.predict(POOL), continued(model, X, y)

    def pooled(scores):
        return math.sqrt(np.mean([np.var(part) for part in np.split(scores, 20)]))

    grown = before * (pooled(after) / pooled(before))
    spurious = SCORE(LABELS, grown, group=SIZES) - SCORE(LABELS, before, group=SIZES)
    assert in_score.control == pytest.approx(spurious, rel=1e-6)
    assert spurious > 0.05  # more than half of what the metric shows
    assert in_score.change < 2 * spurious


def test_the_model_stays_as_it_is():
    model = lightgbm_model()
    text = model.model_to_string()
    first, second = value(model, candidates()), value(model, candidates())
    assert model.model_to_string() == text
    np.testing.assert_array_equal(first.changes, second.changes)


def test_parameters_are_the_models_own_unless_given():
    X, y = documents(1)
    model, other = lightgbm_model(), {**PARAMS, "learning_rate": 0.5}
    own, given = value(model, [(X, y, SIZES)]), value(model, [(X, y, SIZES)], params=other, n_trees=2)
    for found, after in ((own, continued(model, X, y)), (given, continued(model, X, y, n=2, params=other))):
        assert found.best.hard == pytest.approx(NDCG(LABELS, after, group=SIZES) - found.hard_before, abs=1e-9)
    assert own.best.change != pytest.approx(given.best.change, rel=0.1)
    if older(lgb.__version__, (4, 7)):
        return  # a model read from a text does not remember its objective
    reread = lgb.Booster(model_str=model.model_to_string())
    np.testing.assert_allclose(value(reread, [(X, y, SIZES)]).changes, own.changes, atol=1e-12)


@pytest.mark.parametrize("name", ["boosting", "boosting_type", "boost"])
@pytest.mark.parametrize("forest", ["rf", "random_forest"])
def test_parameters_of_a_random_forest(name, forest):
    params = {**PARAMS, name: forest, "bagging_fraction": 0.5, "bagging_freq": 1}
    with pytest.raises(ValueError, match="model must be boosted: a random forest's trees do not continue one another"):
        value(lightgbm_model(), [(*documents(1), SIZES)], params=params)


def test_parameters_of_what_is_watched_and_of_data_are_left_out(recwarn):
    params = {**PARAMS, "early_stopping_round": 1, "metrics": "ndcg", "cat_feature": "0"}
    batch = [(*documents(1), SIZES)]
    assert value(lightgbm_model(), batch, params=params).best == value(lightgbm_model(), batch).best
    assert not recwarn.list


@pytest.mark.parametrize("name", ["application", "objective_type", "loss"])
def test_an_objective_by_its_other_names(name):
    X, y = documents(1)
    params = {**PARAMS, "objective": "rank_xendcg"}
    others = {name if key == "objective" else key: given for key, given in params.items()}
    there, here = (value(lightgbm_model(), [(X, y, SIZES)], params=given).best for given in (params, others))
    assert there.change == here.change != value(lightgbm_model(), [(X, y, SIZES)]).best.change


def test_parameters_of_the_objective_are_kept():
    X, y = documents(1)
    params = {**PARAMS, "lambdarank_truncation_level": 1, "sigmoid": 5.0, "label_gain": [0, 1, 2]}
    model = lightgbm_model(**params)
    found, after = value(model, [(X, y, SIZES)]), continued(model, X, y, params=params)
    assert found.best.hard == pytest.approx(NDCG(LABELS, after, group=SIZES) - found.hard_before, abs=1e-9)
    with pytest.raises(ValueError, match="params must hold the objective; got sigmoid"):
        value(model, [(X, y, SIZES)], params={"sigmoid": 2.0})


def test_weights_of_the_pool_and_of_a_batch():
    X, y = documents(1)
    weights = np.arange(20.0)
    plain = value(lightgbm_model(), [(X, y, SIZES)])
    found = value(lightgbm_model(), [(X, y, SIZES)], query_weight=weights, metric=SCORE).best
    gap = value(lightgbm_model(), [(X, y, SIZES)], metric=SCORE).changes[0]
    assert found.change == pytest.approx(np.average(gap, weights=weights))
    mean, n = np.average(gap, weights=weights), 19
    error = math.sqrt(n / (n - 1) * np.sum((weights * (gap - mean)) ** 2)) / weights.sum()
    assert found.error == pytest.approx(error)
    batch = {"X": X, "y": y, "group": SIZES, "query_weight": weights}
    heavy = value(lightgbm_model(), [batch])
    data = lgb.Dataset(X, y, group=SIZES, weight=np.repeat(weights, 20))
    after = lgb.train(PARAMS, data, 5, init_model=lightgbm_model()).predict(POOL)
    assert heavy.best.hard == pytest.approx(NDCG(LABELS, after, group=SIZES) - heavy.hard_before, abs=1e-9)
    assert np.abs(heavy.changes - plain.changes).max() > 0.01


def everything_but(names, found):
    """The numbers of every batch, and of the model as it was given."""
    rows = [
        [vars(batch)[name] for name in vars(batch) if name not in ("name", "problem", *names)]
        for batch in found.batches
    ]
    return np.array([*np.ravel(rows), found.before, found.hard_before])


def test_queries_that_do_not_count_are_as_if_not_there():
    weights, model, options = np.arange(3.0, 18.0), lightgbm_model(), {"level": 0.5, "n_boot": 40, "progress": False}
    for metric in (SPREAD, SCORE):
        there = value(model, halves(), query_weight=[*(5 * [0]), *weights], metric=metric, **options)
        pool = POOL[100:], LABELS[100:]
        gone = marginal_value(model, halves(), *pool, group=SIZES[5:], query_weight=weights, metric=metric, **options)
        np.testing.assert_allclose(everything_but((), there), everything_but((), gone), rtol=1e-9)
        assert there.spread_before == pytest.approx(gone.spread_before, rel=1e-12)
    skip = SoftMetric("ndcg@10", sigma=0.2, empty="skip")
    empty = np.where(np.arange(400) < 100, 0.0, LABELS)
    there = marginal_value(model, halves(), POOL, empty, group=SIZES, metric=skip, **options)
    gone = marginal_value(model, halves(), *pool, group=SIZES[5:], metric=skip, **options)
    of_all = ("spread", "control")
    np.testing.assert_allclose(everything_but(of_all, there), everything_but(of_all, gone), rtol=1e-9)
    assert np.isnan(there.changes[:, :5]).all()


@pytest.mark.filterwarnings("error")
def test_an_infinite_value_of_a_query_of_weight_0():
    model, batches = lightgbm_model(), [candidates()["wrong"]]
    scores, metric = model.predict(POOL), Metric("pnr")
    labels = np.where(np.arange(400) < 20, scores > np.median(scores[:20]), LABELS)  # no wrong pair in the first query
    with pytest.raises(ValueError, match="marginal_value: pnr must be finite for every query; query 0 has an infinite"):
        marginal_value(model, batches, POOL, labels, group=SIZES, metric=metric, progress=False)
    weights = np.where(np.arange(20) > 0, 1.0, 0.0)
    weighed = marginal_value(
        model, batches, POOL, labels, group=SIZES, metric=metric, query_weight=weights, progress=False
    )
    left_out = marginal_value(model, batches, POOL[20:], labels[20:], group=SIZES[1:], metric=metric, progress=False)
    assert weighed.batches[0].change == pytest.approx(left_out.batches[0].change)
    assert weighed.batches[0].error == pytest.approx(left_out.batches[0].error)


def test_level_and_resamples():
    found = value(lightgbm_model(), halves(), level=0.5, n_boot=20)
    row = found.batches[0]
    assert (row.low, row.high) == pytest.approx(stats.t.interval(0.5, 19, row.change, row.error))
    assert (found.level, str(found).count("50% interval")) == (0.5, 1)
    assert "99.5% interval" in str(replace(found, level=0.995))
    assert value(lightgbm_model(), halves()).batches == value(lightgbm_model(), halves(), n_boot=1000, seed=0).batches
    shares = {value(lightgbm_model(), halves(), n_boot=20, seed=seed).batches[0].first for seed in range(4)}
    assert len(shares) > 1
    assert all(20 * share == pytest.approx(round(20 * share)) for share in shares)


def test_a_model_whose_scores_are_all_equal_has_no_control():
    model = lightgbm_model(2, min_data_in_leaf=300)
    assert np.ptp(model.predict(POOL)) == 0.0
    found = value(model, [(*documents(1), SIZES)], params=PARAMS)
    assert (found.best.n_trees, found.spread_before) == (5, 0.0)
    assert found.best.change > 0
    assert math.isnan(found.best.control)


def test_a_batch_that_leaves_no_spread_has_no_control(monkeypatch):
    monkeypatch.setattr(module, "_grow", lambda *_: module.Grown(np.zeros(LABELS.size), 1))
    found = value(lightgbm_model(), [(*documents(1), SIZES)]).best
    assert found.change < 0
    assert math.isnan(found.control)


def test_starts_of_scores():
    X, y = documents(1)
    model, start = lightgbm_model(), documents(2)[0][:, 2]
    batch = {"X": X, "y": y, "group": SIZES, "init_score": X[:, 2]}
    found = value(model, [batch], init_score=start)
    data = lgb.Dataset(X, y, group=SIZES, init_score=model.predict(X) + X[:, 2])
    after = start + model.predict(POOL) + lgb.train(PARAMS, data, 5).predict(POOL)
    assert found.hard_before == pytest.approx(NDCG(LABELS, start + model.predict(POOL), group=SIZES))
    assert found.best.hard == pytest.approx(NDCG(LABELS, after, group=SIZES) - found.hard_before, abs=1e-9)


def test_trees_behind_the_best_iteration_are_left_out():
    model = lightgbm_model(8)
    model.best_iteration = 4
    X, y = documents(1)
    assert value(model, [(X, y, SIZES)]).best.change == value(lightgbm_model(4), [(X, y, SIZES)]).best.change


def test_categories():
    """A category keeps its meaning: told by number, and in a frame of pandas whose batch knows others."""
    pandas = pytest.importorskip("pandas")
    X = documents(1)[0]
    codes = np.random.default_rng(0).integers(0, 6, 400).astype(float)
    with_codes = np.column_stack([X[:, 2:], codes])
    labels = (codes % 2) + (X[:, 2] > 1)  # odd categories are relevant: no threshold tells them
    train = lgb.Dataset(with_codes, labels, group=SIZES, categorical_feature=[2])
    params = {**PARAMS, "min_data_per_group": 5, "cat_smooth": 1}
    model = lgb.train(params, train, 2)
    found = marginal_value(model, [(with_codes, labels, SIZES)], with_codes, labels, group=SIZES, progress=False)
    again = lgb.train(
        params, lgb.Dataset(with_codes, labels, group=SIZES, categorical_feature=[2]), 5, init_model=model
    )
    after = NDCG(labels, again.predict(with_codes), group=SIZES)
    assert found.best.hard == pytest.approx(after - found.hard_before, abs=1e-9)

    frame = pandas.DataFrame(with_codes, columns=list("abc"))
    frame["c"] = pandas.Categorical.from_codes(codes.astype(int), list("uvwxyz"))
    model = lgb.train(params, lgb.Dataset(frame, labels, group=SIZES), 2)
    reordered = frame.assign(c=frame["c"].cat.set_categories(list("zyxwvu")))
    there, back = (
        marginal_value(model, [(batch, labels, SIZES)], frame, labels, group=SIZES, progress=False).best.change
        for batch in (frame, reordered)
    )
    assert back == pytest.approx(there, abs=0.005)
    assert there > 0.01


def test_categories_of_an_xgboost_model_that_stopped_early():
    pandas = pytest.importorskip("pandas")
    xgboost = pytest.importorskip("xgboost", minversion="3.1")  # before, a booster goes by codes
    X, codes = documents(1)[0], np.random.default_rng(0).integers(0, 6, 400)
    frame = pandas.DataFrame(X[:, :2]).add_prefix("x").assign(c=pandas.Categorical.from_codes(codes, list("uvwxyz")))
    turned = frame.assign(c=frame["c"].cat.set_categories(list("zyxwvu")))
    labels = (codes % 2) + (X[:, 0] > 1)
    options = {"n_jobs": 1, "n_estimators": 12, "early_stopping_rounds": 3, "enable_categorical": True}
    valid = {"eval_set": [(frame, np.random.default_rng(2).permutation(labels))], "eval_group": [SIZES]}
    model = xgboost.XGBRanker(**options).fit(frame, labels, group=SIZES, **valid, verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    there, back = (
        marginal_value(model, [(batch, labels, SIZES)], pool, labels, group=SIZES, progress=False)
        for pool, batch in ((frame, frame), (turned, turned))
    )
    assert there.hard_before == back.hard_before == NDCG(labels, model.predict(frame), group=SIZES)
    assert there.best.change == back.best.change


# ---------------------------------------------------------------------------------------------------------
# Other models
# ---------------------------------------------------------------------------------------------------------


def test_lgbm_ranker():
    X, y = documents(0)
    options = {"learning_rate": 0.05, "num_leaves": 7, "random_state": 3, "verbosity": -1}
    ranker = lgb.LGBMRanker(n_estimators=4, **options).fit(X, y, group=SIZES)
    X, y = documents(1)
    assert value(ranker, [(X, y, SIZES)]).best.change == pytest.approx(
        value(lightgbm_model(), [(X, y, SIZES)]).best.change, abs=1e-9
    )


def test_objectives_that_are_functions():
    X, y = documents(0)
    objective = bl.objective("ndcg@10")
    options = {"learning_rate": 0.05, "num_leaves": 7, "verbosity": -1}
    booster = lgb.train({**options, "objective": objective, "metric": "None"}, lgb.Dataset(X, y, group=SIZES), 4)
    ranker = lgb.LGBMRanker(objective=bl.sklearn_objective("ndcg@10"), n_estimators=4, metric="None", **options)
    ranker.fit(X, y, group=SIZES)
    X, y = documents(1)
    batches = [(X, y, SIZES), (X, np.zeros(400), SIZES)]
    with pytest.raises(ValueError, match="model does not remember its objective"):
        value(booster, batches)
    with pytest.raises(ValueError, match="model does not remember its objective"):
        value(lgb.Booster(model_str=booster.model_to_string()), batches)
    given = {**options, "objective": objective}
    after = continued(booster, X, y, params=given)
    for found in (value(booster, batches, params=given), value(ranker, batches)):
        assert found.batches[0].hard == pytest.approx(NDCG(LABELS, after, group=SIZES) - found.hard_before, abs=1e-9)
        assert found.batches[1].problem.startswith("no query has two labels")


def squares(y_true, y_pred):
    return y_pred - y_true, np.ones(y_true.size)


def test_a_function_of_ones_own_may_learn_from_equal_labels():
    X, y = documents(0)
    ranker = lgb.LGBMRanker(objective=squares, n_estimators=4, metric="None", verbosity=-1).fit(X, y, group=SIZES)
    found = value(ranker, [(X, np.zeros(400), SIZES)]).best
    assert (found.problem, found.n_trees) == ("", 5)
    params = {"objective": lambda scores, data: squares(data.get_label(), scores)}
    found = value(xgboost_model(), [(X, np.zeros(400), SIZES)], params=params).best
    assert (found.problem, found.n_trees) == ("", 5)


def xgboost_model(n=4, **more):
    xgb = pytest.importorskip("xgboost")
    X, y = documents(0)
    params = {"objective": "rank:ndcg", "eta": 0.1, "max_depth": 3, "seed": 1, **more}
    return xgb.train(params, xgb.DMatrix(X, y, group=SIZES), n)


def test_a_function_of_the_users_own_sees_the_queries_of_a_batch():
    seen = []

    def squared(preds, dtrain):
        seen.append(np.diff(dtrain.get_uint_info("group_ptr")).tolist())
        return preds - dtrain.get_label(), np.ones(preds.size)

    value(xgboost_model(), [(*documents(1), SIZES)], params={"objective": squared})
    assert seen == [SIZES] * 5


def test_xgboost_goes_on_by_its_own_continued_training():
    xgb = pytest.importorskip("xgboost")
    model = xgboost_model()
    raw = bytes(model.save_raw())
    found = value(model, candidates())
    assert bytes(model.save_raw()) == raw
    X, y = documents(1)
    params = {"objective": "rank:ndcg", "eta": 0.1, "max_depth": 3, "seed": 1}
    again = xgb.train(params, xgb.DMatrix(X, y, group=SIZES), 5, xgb_model=model)
    pool = xgb.DMatrix(POOL)
    before, after = (NDCG(LABELS, booster.predict(pool), group=SIZES) for booster in (model, again))
    good = found.batches[2]
    assert (good.name, good.n_trees) == ("good", 5)
    assert good.hard == pytest.approx(after - before, abs=1e-9)
    soft = [SPREAD(LABELS, booster.predict(pool), group=SIZES) for booster in (model, again)]
    assert good.change == pytest.approx(soft[1] - soft[0], abs=1e-5)
    assert found.best.name == "good"
    assert found.batches[1].problem.startswith("no query has two labels")
    given = value(model, candidates(), params={"eta": 0.5})
    assert given.batches[2].change != pytest.approx(good.change, rel=0.05)
    with pytest.raises(TypeError, match="params must be a dict of names and values"):
        value(model, candidates(), params={1: 0.5})
    # what it goes on with ranks, whatever it began with
    begun = xgboost_model(objective="reg:pseudohubererror")
    again = xgb.train(params, xgb.DMatrix(X, y, group=SIZES), 5, xgb_model=begun)
    before, after = (NDCG(LABELS, booster.predict(pool), group=SIZES) for booster in (begun, again))
    ranking = value(begun, {"good": candidates()["good"]}, params={"objective": "rank:ndcg"}).best
    assert ranking.hard == pytest.approx(after - before, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_trees_of_xgboost_without_a_split_change_nothing(seed):
    """Each of their leaves moves all scores alike, which float32 rounds."""
    pytest.importorskip("xgboost")
    X, y = documents(seed)
    row = value(xgboost_model(), {"all": (X, y, SIZES)}, params={"gamma": 1e9}).best
    assert row.problem == "no tree could split"
    assert (row.change, row.error, row.hard, row.n_trees) == (0.0, 0.0, 0.0, 0)


def test_xgboost_with_weights_and_margins():
    xgb = pytest.importorskip("xgboost")
    model = xgboost_model()
    X, y = documents(1)
    weights = np.arange(1.0, 21.0)
    margins = POOL[:, 2].astype(np.float32), X[:, 2].astype(np.float32)
    batch = {"X": X, "y": y, "group": SIZES, "query_weight": weights, "base_margin": margins[1]}
    found = value(model, [batch], base_margin=margins[0])
    data = xgb.DMatrix(X, y, group=SIZES, weight=weights, base_margin=margins[1])
    again = xgb.train({"objective": "rank:ndcg", "eta": 0.1, "max_depth": 3, "seed": 1}, data, 5, xgb_model=model)
    pool = xgb.DMatrix(POOL, base_margin=margins[0])
    assert found.hard_before == pytest.approx(NDCG(LABELS, model.predict(pool), group=SIZES))
    after = NDCG(LABELS, again.predict(pool), group=SIZES)
    assert found.best.hard == pytest.approx(after - found.hard_before, abs=1e-9)


def test_xgb_ranker_goes_on_from_its_best_iteration():
    xgb = pytest.importorskip("xgboost")
    X, y = documents(0)
    options = {"learning_rate": 0.1, "max_depth": 3, "random_state": 1}
    ranker = xgb.XGBRanker(n_estimators=8, **options).fit(X, y, group=SIZES)
    ranker.get_booster().set_attr(best_iteration="3")
    short = xgb.XGBRanker(n_estimators=4, **options).fit(X, y, group=SIZES)
    batch = [(*documents(1), SIZES)]
    np.testing.assert_allclose(value(ranker, batch).changes, value(short, batch).changes, atol=1e-6)


def test_an_xgboost_model_must_have_trees_and_one_score():
    batch = [(*documents(1), SIZES)]
    with pytest.raises(ValueError, match="model must have one score per document; got an XGBoost model"):
        value(xgboost_model(objective="multi:softprob", num_class=3), batch)
    with pytest.raises(ValueError, match="model must have trees; got none"):
        value(xgboost_model(0), batch)


def test_xgboost_trained_on_a_function():
    xgb = pytest.importorskip("xgboost")
    import boostsoft.xgboost as bx

    X, y = documents(0)
    model = bx.train({"eta": 0.1}, xgb.DMatrix(X, y, group=SIZES), 4, verbose_eval=False)
    batches = [(*documents(1), SIZES), (X, np.ones(400), SIZES)]
    with pytest.raises(ValueError, match="model's objective is reg:squarederror, XGBoost's default"):
        value(model, batches)
    found = value(model, batches, params={"objective": bx.objective("ndcg@10")})
    X, y = documents(1)
    again = bx.train({"eta": 0.1}, xgb.DMatrix(X, y, group=SIZES), 5, xgb_model=model, verbose_eval=False)
    after = NDCG(LABELS, again.predict(xgb.DMatrix(POOL)), group=SIZES)
    assert found.batches[0].hard == pytest.approx(after - found.hard_before, abs=1e-9)
    assert found.batches[1].problem.startswith("no query has two labels")


@pytest.mark.parametrize("booster", ["lightgbm", "xgboost"])
def test_soft_ranker(booster):
    pytest.importorskip(booster)
    X, y = documents(0)
    ranker = SoftRanker(booster=booster, n_estimators=4, num_leaves=7, validation_fraction=0.3, early_stopping_rounds=9)
    ranker.fit(X, y, group=SIZES)
    before = ranker.predict(POOL)
    found = value(ranker, candidates(), n_trees=3)
    np.testing.assert_array_equal(ranker.predict(POOL), before)
    again = SoftRanker(booster=booster, n_estimators=3, num_leaves=7)
    again.fit(*documents(1), group=SIZES, init_model=ranker)
    after = NDCG(LABELS, again.predict(POOL), group=SIZES)
    good = found.batches[2]
    assert good.hard == pytest.approx(after - NDCG(LABELS, before, group=SIZES), abs=1e-9)
    assert good.n_trees == 3
    assert found.batches[1].problem.startswith("no query has two labels")
    given = value(ranker, candidates(), n_trees=3, params={"learning_rate": 0.9})
    assert given.batches[2].spread > 1.5 * good.spread  # bolder steps


@pytest.mark.parametrize("n_boosters", ["auto", 2])
def test_a_soft_ranker_weighs_the_queries_of_a_batch(n_boosters):
    options = {"n_estimators": 3, "num_leaves": 7, "n_boosters": n_boosters}
    ranker = SoftRanker(**options).fit(*documents(0), group=SIZES)
    (X, y), weights = documents(1), np.arange(20.0)
    found = value(ranker, [{"X": X, "y": y, "group": SIZES, "query_weight": weights}], n_trees=3)
    again = SoftRanker(**{**options, "n_boosters": 1})  # one goes on
    again.fit(X, y, group=SIZES, query_weight=weights, init_model=ranker)
    assert found.best.hard == pytest.approx(
        NDCG(LABELS, again.predict(POOL), group=SIZES) - found.hard_before, abs=1e-9
    )


def test_soft_ranker_with_query_ids_in_its_features():
    X, y = documents(0)
    ids = np.repeat(np.arange(20.0), 20)
    ranker = SoftRanker(n_estimators=4, qid_column=4).fit(np.column_stack([X, ids]), y)
    X, y = documents(1)
    batch = {"X": np.column_stack([X, ids]), "y": y}
    found = marginal_value(ranker, [batch], np.column_stack([POOL, ids]), LABELS, progress=False)
    plain = SoftRanker(n_estimators=4).fit(*documents(0), group=SIZES)
    assert found.best.change == pytest.approx(value(plain, [(X, y, SIZES)]).best.change, abs=1e-12)


# ---------------------------------------------------------------------------------------------------------
# Failures, what is shown, and what is refused
# ---------------------------------------------------------------------------------------------------------


def test_a_batch_that_fails_does_not_lose_the_others():
    batches = candidates()
    batches["negative"] = (batches["good"]["X"], batches["good"]["y"] - 1, SIZES)  # lambdarank refuses such labels
    found = value(lightgbm_model(), batches)
    assert found.ranked[-1].name == "negative"
    assert found.ranked[-1].failed
    assert found.ranked[-1].problem.startswith("LightGBMError: ")
    assert math.isnan(found.ranked[-1].change)
    assert math.isnan(found.ranked[-1].first)
    assert found.best == value(lightgbm_model(), candidates()).best
    assert [line.split()[:7] for line in str(found).splitlines() if "failed: LightGBMError: " in line] == [
        ["negative", "20", "400", "0", "-", "-", "-"]
    ]
    with pytest.raises(lgb.basic.LightGBMError):
        value(lightgbm_model(), [batches["negative"]])


@pytest.mark.filterwarnings("error")
def test_an_infinite_value_is_a_failure_of_its_batch():
    batches = {"wrong": candidates()["wrong"], "all": (POOL, LABELS, SIZES)}  # the latter leaves no wrong pair
    settings = {"metric": Metric("pnr"), "params": {**PARAMS, "learning_rate": 0.5, "min_data_in_leaf": 1}}
    found = value(lightgbm_model(), batches, n_trees=20, **settings)
    assert [(row.name, row.failed) for row in found.ranked] == [("wrong", False), ("all", True)]
    assert "batches['all']: pnr must be finite for every query; query" in found.ranked[1].problem
    assert found.best.first == 1.0


def test_scores_beyond_all_numbers_are_a_failure_of_their_batch():
    found = value(xgboost_model(), candidates(), params={"eta": 3e38})
    assert found.batches[2].failed
    assert found.batches[2].problem.startswith("ValueError: marginal_value: batches['good']: scores must be finite")
    assert found.best.name == "empty"


def test_a_generator_of_batches():
    X, y = documents(1)
    found = value(lightgbm_model(), ((X[i : i + 200], y[i : i + 200], [20] * 10) for i in (0, 200)))
    assert [batch.name for batch in found.batches] == [0, 1]


def test_table_and_frame():
    found = value(lightgbm_model(), candidates())
    assert repr(found) == str(found)
    lines = str(found).splitlines()
    assert lines[0].split()[:6] == ["batch", "queries", "documents", "trees", "change", "of"]
    assert [line.split()[0] for line in lines[1:5]] == ["good", "empty", "small", "wrong"]
    assert lines[2].endswith("no query has two labels: nothing to learn from")
    assert found._repr_html_().count("<tr>") == 5
    for kind in ("pandas", "polars"):
        pytest.importorskip(kind)
        frame = found.to_frame(kind)
        assert type(frame).__module__.startswith(kind)
        assert frame["rank"].to_list() == [1, 2, 3, 4]
        assert frame["place"].to_list() == list(found.order) == [2, 1, 3, 0]
        assert frame["change"].to_list() == [batch.change for batch in found.ranked]


def test_every_cell_of_the_table():
    found = value(lightgbm_model(), {"good": candidates()["good"]}, metric=SCORE)
    head, row, before, _ = str(found).splitlines()
    names = (
        "batch queries documents trees change of ndcg_score error 95% interval first change of ndcg@10 error control"
    )
    assert head.split() == names.split()
    good = found.best
    cells = ["good", "20", "400", "5", f"{good.change:+.4f}", f"{good.error:.4f}", f"[{good.low:+.4f},"]
    cells += [f"{good.high:+.4f}]", "100%", f"{good.hard:+.4f}", f"{good.hard_error:.4f}", f"{good.control:+.4f}"]
    assert row.split() == cells
    assert before.startswith(f"Before: {found.before:.4f}, hard {found.hard_before:.4f}. ")


def test_equal_batches_keep_their_order():
    found = value(lightgbm_model(), candidates())
    many = replace(found, batches=100 * (found.best, found.batches[1]))
    assert many.order == (*range(0, 200, 2), *range(1, 200, 2))


def test_a_bar_is_shown_only_if_asked_for(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    for progress in (True, False):
        value(lightgbm_model(), halves(), progress=progress)
        assert ("marginal_value" in capsys.readouterr().err) is progress


def test_frame_without_the_library(monkeypatch):
    found = value(lightgbm_model(), candidates())
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"BatchValues\.to_frame: pandas is not installed"):
        found.to_frame()


def test_query_ids_by_place():
    model, batches = lightgbm_model(), candidates()
    qid = np.repeat(np.arange(20), 20)
    found = marginal_value(model, batches, POOL, LABELS, qid, progress=False)
    assert [batch.change for batch in found.batches] == [batch.change for batch in value(model, batches).batches]


def test_every_batch_is_checked_before_any_training(monkeypatch):
    monkeypatch.setattr(module, "_grow", None)
    X, y = documents(1)
    good, model = (X, y, SIZES), lightgbm_model()
    for wrong, error, says in [
        ((X, y), TypeError, r"batches\[1\]: a batch must be \(X, y, group\) or a dict .*; got 2 parts"),
        (
            (X, y, np.repeat(np.arange(20), 20)),
            ValueError,
            r"the third part of a batch must be group sizes; got",
        ),
        ((X, y, [20] * 19), ValueError, r"batches\[1\]: group must add up to the number of documents, 400"),
        ((X[:, :3], y, SIZES), ValueError, r"batches\[1\]: X must have the 4 features of the model; got 3"),
        ((X[1:], y, SIZES), ValueError, r"batches\[1\]: X must have one row per label, 400; got 399"),
        ((X, y * np.nan, SIZES), ValueError, r"batches\[1\]: y must be finite"),
        ({"X": X, "y": y}, ValueError, r"batches\[1\]: group= \(documents per query\) or qid= .* must be given"),
        ({"X": X, "group": SIZES}, ValueError, r"batches\[1\]: a batch must hold 'y'"),
        ({"X": X, "y": None, "group": SIZES}, ValueError, r"batches\[1\]: a batch must hold 'y'"),
        (
            {"X": X, "y": y, "group": SIZES, "init_score": y[1:]},
            ValueError,
            r"batches\[1\]: init_score must have .* 400;",
        ),
        ({"X": X, "y": y, "groups": SIZES}, ValueError, r"batches\[1\]: a batch knows no 'groups'"),
        ({"X": X, "y": y, "group": SIZES, "base_margin": y}, ValueError, r"base_margin is not for a Booster"),
    ]:
        with pytest.raises(error, match=says):
            value(model, [good, wrong])


def test_what_is_refused():
    X, y = documents(1)
    batch, model = [(X, y, SIZES)], lightgbm_model()
    with pytest.raises(TypeError, match=r"model must be a LightGBM Booster or LGBMRanker, .*; got dict$"):
        value({}, batch)
    with pytest.raises(ValueError, match="batches must hold one at least"):
        value(model, [])
    with pytest.raises(TypeError, match="batches must be a list or a mapping of batches; got ndarray"):
        value(model, X)
    with pytest.raises(ValueError, match="metric must be one metric"):
        value(model, batch, metric=["ndcg@10", "map"])
    with pytest.raises(ValueError, match="n_trees must be from 1"):
        value(model, batch, n_trees=0)
    with pytest.raises(ValueError, match="level must be below 1; got 95"):
        value(model, batch, level=95)
    with pytest.raises(ValueError, match="seed must be from 0"):
        value(model, batch, seed=-1)
    with pytest.raises(ValueError, match="marginal_value: init_score must have one value per document, 400; got 399"):
        value(model, batch, init_score=LABELS[1:])
    with pytest.raises(ValueError, match="n_boot must be from 20 "):
        value(model, batch, n_boot=19)
    with pytest.raises(ValueError, match=r"group= \(documents per query\) or qid= .* must be given"):
        value(model, batch, group=None)
    with pytest.raises(ValueError, match="X must have the 4 features of the model; got 3"):
        marginal_value(model, batch, POOL[:, :3], LABELS, group=SIZES)
    with pytest.raises(ValueError, match="params must not hold 'n_estimators': n_trees= says"):
        value(model, batch, params={**PARAMS, "n_estimators": 3})
    with pytest.raises(ValueError, match="params must not hold 'num_iterations': n_trees= says"):
        value(model, batch, params={**PARAMS, "num_iterations": 3})
    with pytest.raises(ValueError, match="params must hold the objective; got learning_rate"):
        value(model, batch, params={"learning_rate": 0.1})
    with pytest.raises(TypeError, match="params must be a dict of names and values"):
        value(model, batch, params="lambdarank")
    with pytest.raises(ValueError, match="base_margin belongs to XGBoost"):
        value(model, batch, base_margin=LABELS)
    with pytest.raises(ValueError, match="model must have one score per document; got a LightGBM model of 3 classes"):
        value(lightgbm_model(objective="multiclass", num_class=3), batch)
    forest = lightgbm_model(boosting="rf", bagging_fraction=0.5, bagging_freq=1)
    for params in (None, PARAMS):  # be the trees to come boosted
        with pytest.raises(ValueError, match="random forest"):
            value(forest, batch, params=params)
    with pytest.raises(ValueError, match="pnr must be finite for every query"):
        value(model, [(X[:20], y[:20], [20])], metric="pnr", group=[2] * 200)


@pytest.mark.parametrize(
    ("booster", "says"), [("gblinear", "gblinear has no trees"), ("dart", "dart changes the trees")]
)
def test_xgboosts_other_boosters_are_refused(booster, says):
    xgb = pytest.importorskip("xgboost")
    X, y = documents(0)
    params = {"objective": "rank:ndcg", "booster": booster, **({"rate_drop": 0.5} if booster == "dart" else {})}
    model = xgb.train(params, xgb.DMatrix(X, y, group=SIZES), 2)
    with pytest.raises(ValueError, match=f"model must be a gbtree; {says}"):
        value(model, [(X, y, SIZES)])


@pytest.mark.parametrize("other", [{"booster": "dart"}, {"booster": "gblinear"}, {"process_type": "update"}], ids=str)
def test_xgboosts_parameters_must_let_the_trees_stand(other):
    """With more new rounds than there were, a start from nothing would look like a continuation."""
    xgb = pytest.importorskip("xgboost")
    X, y = documents(0)
    model = xgb.train({"objective": "rank:ndcg"}, xgb.DMatrix(X, y, group=SIZES), 2)
    name, given = next(iter(other.items()))
    with pytest.raises(ValueError, match=f"params must leave {name} at '.*', to go on; got '{given}'"):
        value(model, [(X, y, SIZES)], params=other)
    same = {"booster": "gbtree", "process_type": "default"}
    assert value(model, [(X, y, SIZES)], params=same).best.change == value(model, [(X, y, SIZES)]).best.change


@pytest.mark.parametrize("sampled", [{"subsample": 0.6}, {"colsample_bytree": 0.5}])
def test_equal_batches_are_worth_the_same_however_trees_are_sampled(sampled):
    xgb = pytest.importorskip("xgboost")
    X, y = documents(0)
    model = xgb.train({"objective": "rank:ndcg", "seed": 7, **sampled}, xgb.DMatrix(X, y, group=SIZES), 5)
    batch = candidates()["good"]
    found = [marginal_value(model, {"a": batch, "b": batch}, POOL, LABELS, group=SIZES) for _ in range(2)]
    changes = {row.change for values in found for row in values.batches}
    assert len(changes) == 1
    assert {row.first for values in found for row in values.batches} == {0.5}


def test_how_xgboost_draws_may_be_given(monkeypatch):
    xgb = pytest.importorskip("xgboost")
    model, real, seen = xgboost_model(), xgb.train, []

    def train(params, *given, **options):
        seen.append(params["seed_per_iteration"])
        return real(params, *given, **options)

    monkeypatch.setattr(xgb, "train", train)
    for given in (None, {"seed_per_iteration": False}):
        marginal_value(model, [candidates()["good"]], POOL, LABELS, group=SIZES, params=given)
    assert seen == [True, False]


def test_weights_of_queries_are_those_of_rows_where_xgboost_does_not_rank():
    xgb = pytest.importorskip("xgboost")
    X, y = documents(0)
    model = xgb.train({"objective": "reg:squaredlogerror"}, xgb.DMatrix(X, y), 3)
    weights = np.linspace(0.5, 2.0, 20)
    one = dict(candidates()["good"], query_weight=weights)
    found = value(model, {"one": one}, n_trees=2).batches[0]
    data = xgb.DMatrix(one["X"], one["y"], weight=np.repeat(weights, 20))
    more = xgb.train({"objective": "reg:squaredlogerror", "seed_per_iteration": True}, data, 2, xgb_model=model)
    pool = xgb.DMatrix(POOL)
    after, before = (NDCG(LABELS, booster.predict(pool, output_margin=True), group=SIZES) for booster in (more, model))
    assert found.hard == pytest.approx(after - before, abs=1e-12)
    assert found.hard != 0


def test_xgboosts_scores_are_margins_before_and_after():
    xgb = pytest.importorskip("xgboost")
    X, y = documents(0)
    params = {"objective": "binary:logistic", "eta": 1.0}
    model = xgb.train(params, xgb.DMatrix(X, np.minimum(y, 1)), 3)
    batch, pool = documents(1), xgb.DMatrix(POOL)
    batch = batch[0], np.minimum(batch[1], 1)
    found = value(model, [(*batch, SIZES)], n_trees=2)
    more = xgb.train(params, xgb.DMatrix(*batch), 2, xgb_model=model)
    margins = [booster.predict(pool, output_margin=True).reshape(20, 20) for booster in (model, more)]
    before, after = (np.sqrt(each.var(axis=1).mean()) for each in margins)
    assert found.spread_before == pytest.approx(before, rel=1e-6)
    assert found.batches[0].spread == pytest.approx(after, rel=1e-6)


def test_a_failure_is_told_in_one_line():
    xgb = pytest.importorskip("xgboost")
    X, y = documents(0)
    model = xgb.train({"objective": "reg:squaredlogerror"}, xgb.DMatrix(X, y), 3)
    below = (X, np.where(y > 0, y, -5.0), SIZES)  # labels below -1
    found = marginal_value(model, {"below": below, "good": candidates()["good"]}, POOL, LABELS, group=SIZES)
    told = next(row.problem for row in found.batches if row.name == "below")
    assert told.startswith("XGBoostError: ")
    assert "\n" not in told
    assert "Stack trace" not in told
