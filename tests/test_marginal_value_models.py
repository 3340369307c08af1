"""Batches for rankers, objectives that are functions, XGBoost and SoftRanker, against their own continued training."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest

import boostsoft.lightgbm as bl
from boostsoft import SoftRanker
from boostsoft.tracking.batches import marginal_value

from .marginal_value_cases import (
    LABELS,
    NDCG,
    POOL,
    SIZES,
    SPREAD,
    candidates,
    continued,
    documents,
    lightgbm_model,
    value,
    xgboost_model,
)


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
        assert found.batches[1].problem.startswith("no query that counts has two labels")


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
    assert found.batches[1].problem.startswith("no query that counts has two labels")
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
    assert found.batches[1].problem.startswith("no query that counts has two labels")


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
    assert found.batches[1].problem.startswith("no query that counts has two labels")
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
