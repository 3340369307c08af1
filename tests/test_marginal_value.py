"""What batches are worth, against the boosters' own continued training and loops over queries."""

from __future__ import annotations

import math
from dataclasses import replace

import lightgbm as lgb
import numpy as np
import pytest
from scipy import stats

from boostsoft import Metric, SoftMetric
from boostsoft.tracking import batches as module
from boostsoft.tracking.batches import marginal_value

from .marginal_value_cases import (
    LABELS,
    NDCG,
    PARAMS,
    POOL,
    SCORE,
    SIZES,
    SPREAD,
    candidates,
    continued,
    documents,
    halves,
    lightgbm_model,
    value,
)
from .releases import older


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
    assert (
        found["empty"].problem == found["apart"].problem == "no query that counts has two labels: nothing to learn from"
    )
    assert found["small"].problem == "no tree could split"


def test_equal_labels_teach_a_regression_what_they_are():
    """Where it grows no tree something else forbids it."""
    batches = {"many": (POOL, np.ones(400), SIZES), "few": (POOL[:10], np.ones(10), [10])}
    found = {batch.name: batch for batch in value(lightgbm_model(objective="regression"), batches).batches}
    assert found["few"].n_trees == 0
    assert found["few"].problem == "no tree could split"
    assert found["many"].n_trees > 0


def test_a_batch_whose_only_order_has_no_weight_teaches_nothing():
    labels, weights = np.zeros(400), np.ones(20)
    labels[:10], weights[0] = 1.0, 0.0
    batch = {"X": documents(1)[0], "y": labels, "group": SIZES, "query_weight": weights}
    row = value(lightgbm_model(), {"unweighted": batch}).best
    assert (row.change, row.n_trees) == (0.0, 0)
    assert row.problem == "no query that counts has two labels: nothing to learn from"


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
    monkeypatch.setattr(module, "_grow", lambda *_: module.NewTrees(np.zeros(LABELS.size), 1))
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
