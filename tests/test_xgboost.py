"""The XGBoost adapters under xgb.train and xgb.cv: values, weights, copies and traps."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

import boostsoft as bs
import boostsoft.xgboost as bx
from boostsoft.adapters.shared import STOCK_UNIT
from boostsoft.datasets import load_digits_ranking
from boostsoft.kernels.curvature import CURVATURES
from boostsoft.objectives import SoftObjective

from . import booster_cases
from .booster_cases import NOISES, Ranking, logged_metrics, ranking, spread_metric, unsuitable_options
from .cases import on_threads

xgb = pytest.importorskip("xgboost")

STOCK = {"base_score": 0, "nthread": 1, "disable_default_eval_metric": True}
SMALL = {**STOCK, "max_depth": 3, "tree_method": "hist"}
PRINTED = 5.1e-7  # XGBoost prints values of custom metrics with six decimals and reads them back
data, valid = booster_cases.data, booster_cases.valid  # fixtures


def train(data, objective=None, rounds=8, params=None, **options):
    matrix = data.matrix() if isinstance(data, Ranking) else data
    return xgb.train(
        {**SMALL, **(params or {})},
        matrix,
        rounds,
        obj=objective or bx.objective("ndcg@5"),
        verbose_eval=False,
        **options,
    )


def scores_of(booster, data, rounds=0):
    return booster.predict(xgb.DMatrix(data.X), output_margin=True, iteration_range=(0, rounds))


# Training


@pytest.mark.parametrize("hessian", CURVATURES)
@pytest.mark.parametrize("noise", NOISES)
def test_stock_parameters_learn(data, noise, hessian):
    ndcg = bs.Metric("ndcg@10", empty="skip")
    start = ndcg(data.y, np.zeros(data.y.size), group=data.sizes)
    booster = xgb.train(STOCK, data.matrix(), 30, obj=bx.objective(noise=noise, hessian=hessian))
    assert start < 0.6
    assert ndcg(data.y, scores_of(booster, data), group=data.sizes) > 0.95


@pytest.mark.parametrize("hessian", CURVATURES)
@pytest.mark.parametrize("noise", NOISES)
def test_stock_parameters_learn_the_digits(noise, hessian):
    digits = load_digits_ranking(n_queries=(40, 5, 5), n_candidates=(20, 40)).train
    part = Ranking(digits.X, digits.y, digits.sizes)
    ndcg = bs.Metric("ndcg@10", empty="skip")
    booster = xgb.train(STOCK, part.matrix(), 30, obj=bx.objective(noise=noise, hessian=hessian))
    assert ndcg(part.y, np.zeros(part.y.size), group=part.sizes) < 0.3
    reached = ndcg(part.y, scores_of(booster, part), group=part.sizes)
    assert reached > (0.75 if hessian == "constant" else 0.95)


def test_default_objective_keeps_up_with_rank_ndcg(data):
    ndcg, valid = bs.Metric("ndcg@10"), ranking(2, [15] * 200)
    theirs = xgb.train({"objective": "rank:ndcg", "nthread": 1}, data.matrix(), 30)
    ours = xgb.train(STOCK, data.matrix(), 30, obj=bx.objective("ndcg@10"))
    theirs, ours = (ndcg(valid.y, scores_of(booster, valid), group=valid.sizes) for booster in (theirs, ours))
    assert ours > theirs - 0.03, (ours, theirs)


def test_a_query_of_more_than_ten_thousand_documents_and_labels_above_31_train():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_050, 3))
    y = np.clip(np.round(12 * X[:, 0] + 30), 0, 60)
    big = Ranking(X, y, np.array([len(y)]))
    metric = bs.Metric("ndcg@10", gain="linear")
    booster = train(big, bx.objective(metric), 20)
    assert y.max() == 60
    assert metric(y, np.zeros(len(y)), group=big.sizes) < 0.6
    assert metric(y, scores_of(booster, big), group=big.sizes) > 0.8


@pytest.mark.parametrize(
    "params",
    [{"subsample": 0.6, "colsample_bynode": 0.8}, {"booster": "dart", "rate_drop": 0.1}, {"tree_method": "exact"}],
    ids=lambda params: next(iter(params)),
)
def test_other_ways_of_boosting_work(data, params):
    booster = train(data, rounds=20, params=params)
    ndcg = bs.Metric("ndcg@5", empty="skip")
    assert ndcg(data.y, scores_of(booster, data), group=data.sizes) > 0.9


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("hessian", CURVATURES)
def test_sigma_is_only_the_unit_of_the_scores(data, noise, hessian):
    one, ten = (
        scores_of(train(data, bx.objective(sigma=sigma, noise=noise, hessian=hessian)), data) for sigma in (1.0, 10.0)
    )
    assert np.ptp(one) > 0.1
    np.testing.assert_allclose(ten, 10.0 * one, rtol=1e-3, atol=1e-3 * np.ptp(one))


def test_a_sigma_that_costs_splits_warns():
    with pytest.warns(UserWarning, match=r"sigma should be 0.03 or more; got 0.01: .* train with sigma=1") as told:
        bx.objective("ndcg@5", sigma=0.01)
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bx.objective("ndcg@5", sigma=0.03)


def test_the_unit_of_the_curvature_suits_stock_regularisation(data):
    """One constant times gradient and curvature: another lambda would do the same to leaf values."""
    stock = scores_of(train(data, rounds=1, params={"min_child_weight": 0}), data)
    unit = STOCK_UNIT
    objective = bx.objective("ndcg@5")

    def plain(predictions, matrix):
        return tuple(values / unit for values in objective(predictions, matrix))

    scaled = scores_of(train(data, plain, rounds=1, params={"min_child_weight": 0, "reg_lambda": 1.0 / unit}), data)
    np.testing.assert_allclose(scaled, stock, rtol=1e-4, atol=1e-6)
    weak = scores_of(train(data, plain, rounds=1), data)
    assert np.ptp(stock) > 1.5 * np.ptp(weak)


def test_training_does_not_depend_on_threads(data, monkeypatch):
    alone = scores_of(train(data, rounds=4), data)
    for ours, theirs in ((3, 2), (4, 1)):
        on_threads(monkeypatch, ours)
        np.testing.assert_allclose(
            scores_of(train(data, rounds=4, params={"nthread": theirs}), data), alone, rtol=1e-4, atol=1e-5
        )


# The objective's numbers


@pytest.mark.parametrize("kind", [xgb.DMatrix, xgb.QuantileDMatrix])
@pytest.mark.parametrize("hessian", CURVATURES)
def test_objective_is_minus_the_gradient_of_the_sum_and_the_curvature(data, hessian, kind):
    soft = SoftObjective("ndcg@5", noise="gumbel", sigma=2.0, hessian=hessian)
    scores = np.random.default_rng(5).normal(size=data.y.size)
    gradient, curvature = soft.gradient_curvature(soft.prepare(data.y, data.groups), scores)
    adapter = bx.objective("ndcg@5", noise="gumbel", sigma=2.0, hessian=hessian)
    found = adapter(scores, data.matrix(kind))
    np.testing.assert_array_equal(found[0], -gradient * STOCK_UNIT)
    np.testing.assert_array_equal(found[1], curvature * STOCK_UNIT)
    np.testing.assert_array_equal(adapter(scores[:, None], data.matrix(kind)), found)


def test_query_weights_multiply_gradient_and_curvature(data):
    weights = np.random.default_rng(5).integers(0, 8, data.sizes.size) / 4.0
    more = np.linspace(0.5, 2.0, data.sizes.size)
    scores = np.random.default_rng(6).normal(size=data.y.size)
    plain = bx.objective()(scores, data.matrix())
    found = bx.objective(query_weight=more)(scores, data.matrix(weight=weights))
    for ours, unweighted in zip(found, plain, strict=True):
        np.testing.assert_allclose(ours, unweighted * np.repeat(weights * more, data.sizes), rtol=1e-12, atol=1e-10)


def test_weighted_numbers_that_underflow_are_no_error(data):
    matrix = data.matrix(weight=np.full(len(data.sizes), 1e-30))
    scores = 1e3 * np.random.default_rng(0).normal(size=data.y.size)
    objective = bx.reference_objective("ranknet", sigmoid=0.5)
    wanted = objective(scores, matrix)
    with np.errstate(all="raise"):
        found = objective(scores, matrix)
    np.testing.assert_array_equal(found, wanted)


def test_weight_two_is_the_query_twice(data):
    X, y, sizes = np.round(data.X, 1), data.y, data.sizes
    starts = data.groups.offsets
    twice = np.concatenate([np.arange(y.size), np.arange(starts[1], starts[2]), np.arange(starts[4], starts[5])])
    weight = np.where(np.isin(np.arange(sizes.size), [1, 4]), 2.0, 1.0)
    rows = xgb.DMatrix(X, y, group=sizes, weight=weight)
    copies = xgb.DMatrix(X[twice], y[twice], group=[*sizes, sizes[1], sizes[4]])
    logs = [{}, {}]
    metrics = bx.custom_metric("ndcg@5", spread_metric())
    one, two = (
        train(
            part,
            params={"tree_method": "exact"},
            evals=[(part, "all")],
            evals_result=log,
            custom_metric=metrics,
            maximize=True,
        )
        for part, log in zip((rows, copies), logs, strict=True)
    )
    rounded = Ranking(X, y, sizes)
    np.testing.assert_allclose(scores_of(one, rounded), scores_of(two, rounded), rtol=1e-3, atol=1e-4)
    unweighted = train(rounded, params={"tree_method": "exact"})
    assert np.abs(scores_of(one, rounded) - scores_of(unweighted, rounded)).max() > 0.05
    for name, values in logs[0]["all"].items():
        np.testing.assert_allclose(values, logs[1]["all"][name], rtol=0, atol=1e-5)


# The metrics' numbers


def test_logged_values_are_the_metrics_of_the_same_trees(data, valid):
    metrics = logged_metrics()
    log, sets = {}, {"train": data, "valid": valid}
    matrix, custom = data.matrix(xgb.QuantileDMatrix), bx.custom_metric(*metrics.values())
    booster = train(
        matrix,
        evals=[(matrix, "train"), (valid.matrix(xgb.QuantileDMatrix, ref=matrix), "valid")],
        evals_result=log,
        custom_metric=custom,
        maximize=True,
    )
    assert log.keys() == sets.keys()
    for name, part in sets.items():
        assert list(log[name]) == list(metrics)
        for logged, metric in metrics.items():
            scores = [scores_of(booster, part, rounds) for rounds in range(1, 9)]
            values = [metric(part.y, score, group=part.sizes) for score in scores]
            assert np.ptp(values) > 0.003
            np.testing.assert_allclose(log[name][logged], values, rtol=0, atol=PRINTED)
            assert dict(custom(scores[-1], part.matrix()))[logged] == values[-1]


@pytest.mark.parametrize("weighted", [False, True])
def test_ties_in_order_and_one_for_empty_queries_is_xgboosts_own_ndcg(data, valid, weighted):
    """But for the weight of the empty queries: XGBoost counts each as 1 whatever its weight, we weigh it."""
    rng = np.random.default_rng(3)
    weights = [rng.uniform(0.2, 3.0, part.sizes.size) if weighted else None for part in (data, valid)]
    matrices = [part.matrix(weight=weight) for part, weight in zip((data, valid), weights, strict=True)]
    cutoffs, log = (1, 5, 10), {}
    metrics = bx.custom_metric(*(bs.Metric(f"ndcg@{k}", ties="order", empty="one") for k in cutoffs))
    booster = train(
        matrices[0],
        params={"eval_metric": [f"ndcg@{k}" for k in cutoffs]},
        evals=list(zip(matrices, ("train", "valid"), strict=True)),
        evals_result=log,
    )
    for name, part, matrix, weight in zip(("train", "valid"), (data, valid), matrices, weights, strict=True):
        weight = np.ones(part.sizes.size) if weight is None else weight
        empty = part.groups.sums(part.y) == 0
        assert empty.any()
        surplus = (weight[empty] - 1).sum() / weight.sum()
        for rounds in range(1, 9):
            ours = dict(metrics(scores_of(booster, part, rounds), matrix))
            for k in cutoffs:
                theirs = log[name][f"ndcg@{k}"][rounds - 1]
                assert ours[f"ndcg_hard@{k}"] - surplus == pytest.approx(theirs, abs=1e-6 if weighted else 1e-12)


def test_queries_weigh_in_metrics(data):
    weights = np.random.default_rng(3).integers(0, 8, data.sizes.size) / 4.0
    scores = np.random.default_rng(4).normal(size=data.y.size)
    metrics = (bs.Metric("ndcg@5"), bs.SoftMetric("ndcg@5", sigma_unit="spread"))
    found = bx.custom_metric(*metrics)(scores, data.matrix(weight=weights))
    expected = [metric(data.y, scores, group=data.sizes, query_weight=weights) for metric in metrics]
    assert found == [("ndcg_hard@5", expected[0]), ("ndcg_gaussian@5", expected[1])]


def test_labels_are_read_as_written():
    """XGBoost keeps labels in single precision, in which .7 is below .7."""
    sizes, y = [4, 4], np.array([0.7, 0.1, 0.2, 0.3, 0.0, 0.7, 0.4, 0.1])
    matrix, scores = xgb.DMatrix(np.arange(8.0)[:, None], y, group=sizes), np.arange(8.0)
    for metric in (bs.Metric("recall@3", relevant_from=0.7), bs.Metric("dcg", gain="linear")):
        ((_, value),) = bx.custom_metric(metric)(scores, matrix)
        assert value == metric(y, scores, group=sizes) > 0
    gradient, _ = bx.objective(bs.Metric("precision@2", relevant_from=0.7))(scores, matrix)
    assert gradient[0] < 0, "the relevant document is to rise"


@pytest.mark.parametrize("metric", [spread_metric(), bs.Metric("dcg@5", name="mine")], ids=["ndcg", "mine"])
def test_early_stopping_maximises(data, valid, metric):
    log, custom = {}, bx.custom_metric(metric)
    booster = train(
        data,
        rounds=200,
        evals=[(valid.matrix(), "valid")],
        evals_result=log,
        custom_metric=custom,
        maximize=True,
        early_stopping_rounds=10,
    )
    (values,) = log["valid"].values()
    assert 2 < booster.best_iteration < 150
    assert booster.best_iteration == np.argmax(values)
    assert len(values) == booster.best_iteration + 1 + 10
    assert booster.best_score == max(values) > values[0]


@pytest.mark.parametrize("given", [{"early_stopping_rounds": 3}, {"callbacks": [xgb.callback.EarlyStopping(rounds=3)]}])
def test_the_worst_tree_is_not_kept_for_want_of_a_direction(data, given):
    """XGBoost minimises what it does not know by name, and would say nothing."""
    match = (
        "boostsoft.xgboost.custom_metric: an EarlyStopping callback would minimise 'err_hard@5', which is to be "
        "maximised: give it maximize=True; got maximize=None"
    )
    custom = bx.custom_metric("ndcg@5", "err@5")
    with pytest.raises(ValueError, match=match):
        train(data, rounds=5, evals=[(data.matrix(), "train")], custom_metric=custom, **given)
    with pytest.raises(ValueError, match=match):
        xgb.cv(SMALL, data.matrix(), 5, nfold=3, obj=bx.objective("ndcg@5"), custom_metric=custom, **given)
    train(data, rounds=5, evals=[(data.matrix(), "train")], custom_metric=bx.custom_metric("err@5", "ndcg@5"), **given)


def test_pnr_is_stopped_by_soft_kendall(data, valid):
    """Of a query nearly in order soft pnr is as large as the rest of the world."""
    log = {}
    bx.train({}, data.matrix(), 3, obj="pnr", evals=[(valid.matrix(), "v")], evals_result=log, verbose_eval=False)
    assert list(log["v"]) == ["pnr_hard", "kendall_gaussian"]


def test_pnr_may_be_infinite_in_front_of_what_is_watched():
    """Without a warning, which would be of what early stopping does not look at."""
    y = np.tile([0.0, 1.0, 2.0], 20)
    matrix, log = xgb.DMatrix(y[:, None], y, group=[3] * 20), {}
    bx.train(
        {}, matrix, 5, obj="pnr", evals=[(matrix, "v")], evals_result=log, early_stopping_rounds=9, verbose_eval=False
    )
    assert np.isinf(log["v"]["pnr_hard"][-1])


def test_evaluation_of_other_queries_than_the_cutoffs_are_for_asks_for_a_metric(data, valid):
    cutoffs = bs.Metric("ndcg", k=np.full(data.sizes.size, 5))
    given = {"obj": cutoffs, "evals": [(data.matrix(), "train"), (valid.matrix(), "v")], "verbose_eval": False}
    told = f"custom_metric must say .* {data.sizes.size}, and a data set others; got {valid.sizes.size} queries in 'v'"
    with pytest.raises(ValueError, match=rf"^boostsoft\.xgboost\.train: {told}$"):
        bx.train({}, data.matrix(), 2, **given)
    assert bx.train({}, data.matrix(), 2, **given, custom_metric="ndcg@5").num_boosted_rounds() == 2


@pytest.mark.parametrize("weight", [None, 1.0])
@pytest.mark.parametrize("called", [bx.custom_metric("ndcg@5"), bs.Metric("map"), ["ndcg", bs.Metric("map")], [max]])
def test_what_is_called_is_no_name_of_a_metric(called, weight, data):
    matrix = data.matrix() if weight is None else data.matrix(weight=np.full(data.sizes.size, weight))
    told = (
        r"^boostsoft\.xgboost\.train: eval_metric must name metrics of XGBoost's own; got .* goes into custom_metric=\)"
    )
    with pytest.raises(TypeError, match=told):
        bx.train({"eval_metric": called}, matrix, 2, evals=[(matrix, "a")])


@pytest.mark.parametrize("metric", [bs.Metric("kendall"), bs.SoftMetric("ndcg@5", sigma=0.2, sigma_unit="spread")])
@pytest.mark.parametrize("estimator", [xgb.XGBRanker, xgb.XGBRegressor])
def test_a_metric_is_no_error_of_xgboosts_estimators(estimator, metric, data, valid):
    """They would call it without queries, and minimise what they do not know."""
    named = [{"qid": data.query}, {"eval_qid": [valid.query]}] if estimator is xgb.XGBRanker else [{}, {}]
    model = estimator(n_estimators=2, eval_metric=metric)
    with pytest.raises(
        TypeError, match=r"^(Soft)?Metric: eval_metric of XGBoost's estimators .* callbacks=\[boostsoft\.xgboost"
    ):
        model.fit(data.X, data.y, eval_set=[(valid.X, valid.y)], verbose=False, **named[0], **named[1])


def test_what_records_comes_before_what_reads(data):
    """A callback that reads the log would see the round before."""
    seen = []

    class Reads(xgb.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            seen.append(evals_log["t"]["ndcg_hard@5"][-1])
            return False

    matrix = data.matrix()
    track = bx.TrackCallback(matrix, "ndcg@5", name="t")
    bx.train({}, matrix, 3, callbacks=[Reads(), track], verbose_eval=False)
    assert seen == pytest.approx(track.track.mean[:, 0], abs=1e-12)


def test_what_is_no_list_is_named(data):
    weighted = data.matrix(weight=np.ones(data.sizes.size))
    with pytest.raises(
        TypeError, match=r"^boostsoft\.xgboost\.train: callbacks must be a list of callbacks; got boostsoft"
    ):
        bx.train({}, weighted, 2, callbacks=bx.TrackCallback(weighted, "ndcg@5"))


@pytest.mark.parametrize("part", ["train", "test"])
def test_the_worst_tree_of_a_named_part_is_not_kept_by_cross_validation(data, part):
    stop = xgb.callback.EarlyStopping(rounds=3, data_name=part)
    metric = bx.custom_metric("err@5")
    with pytest.raises(ValueError, match="an EarlyStopping callback would minimise 'err_hard@5'"):
        xgb.cv(SMALL, data.matrix(), 2, nfold=3, obj=bx.objective("ndcg@5"), custom_metric=metric, callbacks=[stop])


def test_results_do_not_alias_the_predictions(data):
    buffer, matrix = np.random.default_rng(0).normal(size=data.y.size), data.matrix()
    objective, custom = bx.objective(), bx.custom_metric("ndcg@5", spread_metric())
    kept = [*objective(buffer, matrix), custom(buffer, matrix)]
    before, given = copy.deepcopy(kept), buffer.copy()
    buffer[:] = np.random.default_rng(1).normal(size=data.y.size)
    other = objective(buffer, matrix)
    for now, then in zip(kept[:2], before[:2], strict=True):
        np.testing.assert_array_equal(now, then)
    assert kept[2] == before[2] == custom(given, matrix)
    assert np.abs(other[0] - kept[0]).max() > 1e-3
    assert custom(buffer, matrix) != kept[2]


# Scores that do not start at 0


def test_continued_training_is_uninterrupted_training(data):
    through, first = train(data, rounds=12), train(data, rounds=5)
    log, matrix = {}, data.matrix()
    both = train(
        matrix,
        rounds=7,
        xgb_model=first,
        evals=[(matrix, "train")],
        evals_result=log,
        custom_metric=bx.custom_metric("ndcg@5"),
        maximize=True,
    )
    assert both.num_boosted_rounds() == 12
    np.testing.assert_allclose(scores_of(both, data), scores_of(through, data), rtol=1e-4, atol=1e-5)
    value = bs.Metric("ndcg@5")(data.y, scores_of(through, data, 6), group=data.sizes)
    assert log["train"]["ndcg_hard@5"][0] == pytest.approx(value, abs=PRINTED)


@pytest.mark.parametrize("base", [0.0, 0.5])
def test_base_margin_and_base_score_are_seen(data, base):
    start, seen = np.random.default_rng(0).normal(size=data.y.size).astype(np.float32), []
    objective, custom = bx.objective("ndcg@5"), bx.custom_metric("ndcg@5")

    def spy(predictions, matrix):
        seen.append(predictions.copy())
        return objective(predictions, matrix)

    train(data.matrix(), spy, rounds=1, params={"base_score": base})
    np.testing.assert_array_equal(seen.pop(), np.full(data.y.size, base, np.float32))
    log, matrix = {}, data.matrix(base_margin=start)
    booster = train(
        matrix,
        spy,
        evals=[(matrix, "train")],
        evals_result=log,
        custom_metric=custom,
        maximize=True,
        params={"base_score": base},
    )
    np.testing.assert_array_equal(seen[0], start)
    scores = booster.predict(matrix, output_margin=True)
    value = bs.Metric("ndcg@5")(data.y, scores, group=data.sizes)
    assert log["train"]["ndcg_hard@5"][-1] == pytest.approx(value, abs=PRINTED)


def test_groups_may_be_given_as_query_ids(data):
    qid = np.repeat(np.arange(data.sizes.size), data.sizes)
    by_id = train(xgb.DMatrix(data.X, data.y, qid=qid))
    np.testing.assert_array_equal(scores_of(by_id, data), scores_of(train(data), data))


# Copies and what is kept


@pytest.mark.parametrize("build", [bx.objective, bx.custom_metric], ids=lambda build: build.__name__)
@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))], ids=["copy", "pickle"]
)
def test_adapters_can_be_copied_and_give_the_same(data, build, copied):
    adapter = build(bs.Metric("ndcg@5", gain=np.array([0.0, 1.0, 2.0, 5.0])))
    matrix, scores = data.matrix(), np.random.default_rng(0).normal(size=data.y.size)
    before, after = adapter(scores, matrix), copied(adapter)(scores, matrix)
    assert len(pickle.dumps(adapter)) < 2_000, "the labels stay behind"
    if build is bx.custom_metric:
        assert before == after
    else:
        np.testing.assert_array_equal(before, after)


def test_one_objective_serves_several_data_sets(data, valid):
    objective = bx.objective("ndcg@5")
    for part in (data, valid, data):
        np.testing.assert_array_equal(scores_of(train(part, objective), part), scores_of(train(part), part))
    assert repr(objective).startswith("boostsoft.xgboost.objective(SoftObjective(metric=Metric('ndcg@5'")
    assert repr(bx.custom_metric("map")) == f"boostsoft.xgboost.custom_metric({bs.Metric('map')!r})"


# Cross-validation


def test_cross_validation_keeps_queries_whole(data):
    objective, custom, seen = bx.objective("ndcg@5"), bx.custom_metric("ndcg@5", spread_metric()), []
    known = {tuple(labels) for labels in np.split(data.y, data.groups.offsets[1:-1])}

    def spy(predictions, matrix):
        starts = matrix.get_uint_info("group_ptr")
        seen.append([tuple(labels) for labels in np.split(matrix.get_label(), starts[1:-1])])
        return objective(predictions, matrix)

    log = xgb.cv(
        SMALL, data.matrix(), 5, nfold=3, obj=spy, custom_metric=custom, maximize=True, as_pandas=False, seed=1
    )
    assert len(seen) == 3 * 5
    for queries in seen:
        assert len(queries) == 20
        assert set(queries) <= known
    for name in ("ndcg_hard@5", "ndcg_gaussian@5"):
        assert len(log[f"test-{name}-mean"]) == 5
        assert log[f"test-{name}-mean"][-1] > 0.6


def test_cross_validation_that_cuts_queries_is_refused(data):
    rows = np.arange(data.y.size)
    for split in ({"folds": [(rows[:200], rows[200:])]}, {"stratified": True}):
        with pytest.raises(xgb.core.XGBoostError, match="slice does not support group"):
            xgb.cv(SMALL, data.matrix(), 2, obj=bx.objective(), **split)


# Traps


def test_weights_that_leave_nothing_to_learn_are_told_of(data):
    labels, weights = np.where(data.query == data.query[0], data.y, 1.0), np.ones(data.sizes.size)
    weights[0] = 0.0
    rows = xgb.DMatrix(data.X, labels, group=data.sizes, weight=weights)
    with pytest.raises(
        ValueError, match=r"^boostsoft.xgboost.objective: there is nothing to learn: no query \(of posit"
    ):
        bx.train({}, rows, 2, verbose_eval=False)


def test_missing_groups_are_named(data):
    matrix = xgb.DMatrix(data.X, data.y)
    with pytest.raises(ValueError, match=r"boostsoft.xgboost.objective: the DMatrix has no groups; give it group="):
        train(matrix)
    with pytest.raises(ValueError, match=r"boostsoft.xgboost.custom_metric: the DMatrix has no groups"):
        bx.custom_metric("ndcg@5")(data.y, matrix)
    with pytest.raises(ValueError, match=r"boostsoft.xgboost.custom_metric: the DMatrix has no groups"):
        bx.custom_metric("ndcg@5")(data.y, xgb.DMatrix(data.X, data.y, group=[]))


def test_missing_labels_are_named(data):
    matrix = xgb.DMatrix(data.X, group=data.sizes)
    with pytest.raises(ValueError, match=r"boostsoft.xgboost.objective: the DMatrix has no labels; give it label="):
        train(matrix)
    with pytest.raises(ValueError, match=r"boostsoft.xgboost.custom_metric: the DMatrix has no labels"):
        bx.custom_metric("ndcg@5")(data.y, matrix)


def test_bad_weights_and_labels_are_named(data):
    with pytest.raises(ValueError, match=r"boostsoft.xgboost.objective: weight of the DMatrix must not be 0 for all"):
        train(data.matrix(weight=np.zeros(data.sizes.size)))
    with pytest.raises(xgb.core.XGBoostError, match="Weights must be positive"):
        data.matrix(weight=-np.ones(data.sizes.size))
    with pytest.raises(xgb.core.XGBoostError, match="Size of weight must equal to the number of query groups"):
        train(data.matrix(weight=np.ones(data.y.size)))
    callback = bx.TrackCallback(data.matrix(weight=np.ones(data.y.size)))  # which XGBoost itself never looks at
    with pytest.raises(ValueError, match=r"weight of the DMatrix must have one value per query, 30; got 4"):
        train(data, callbacks=[callback])
    with pytest.raises(xgb.core.XGBoostError, match="Label contains NaN"):
        xgb.DMatrix(data.X, np.where(data.y == 3, np.nan, data.y), group=data.sizes)


def test_bad_predictions_are_named(data):
    scores = np.zeros(data.y.size)
    scores[2] = np.nan
    with pytest.raises(
        ValueError, match=r"boostsoft.xgboost.objective: predictions must be finite; got nan at position 2"
    ):
        bx.objective()(scores, data.matrix())
    with pytest.raises(ValueError, match=r"boostsoft.xgboost.custom_metric: predictions must be finite"):
        bx.custom_metric("ndcg@5")(scores, data.matrix())


@unsuitable_options
def test_options_that_do_not_suit_the_data_are_named(data, options, message):
    with pytest.raises(ValueError, match=rf"^boostsoft\.xgboost\.objective: {message}"):
        train(data, bx.objective(**options))


@pytest.mark.parametrize("name", ["num_class", "num_target"])
def test_a_model_of_several_classes_or_targets_is_refused(data, name):
    told = (
        "model must have one score per document; got {} of each: leave num_class, num_target and further columns of "
        "labels out$"
    )
    with pytest.raises(ValueError, match=rf"^boostsoft\.xgboost\.objective: {told.format(2)}"):
        train(data, params={name: 2})
    of_classes = {"objective": "multi:softprob", "num_class": 5, "disable_default_eval_metric": True}
    given = {"evals": [(data.matrix(), "train")], "custom_metric": bx.custom_metric("ndcg@5"), "maximize": True}
    with pytest.raises(ValueError, match=rf"^boostsoft\.xgboost\.custom_metric: {told.format(5)}"):
        xgb.train(of_classes, data.matrix(), 3, verbose_eval=False, **given)


def test_labels_all_equal_are_named(data):
    with pytest.raises(ValueError, match=r"^boostsoft\.xgboost\.objective: there is nothing to learn"):
        train(Ranking(data.X, np.ones(data.y.size), data.sizes))


@pytest.mark.parametrize(
    ("metrics", "error", "message"),
    [
        ((), ValueError, "boostsoft.xgboost.custom_metric: give at least one metric"),
        (("ndcg@5", bs.Metric("ndcg@5", gain="linear")), ValueError, "two metrics are called 'ndcg_hard@5'; .* name="),
        (("ndgc@5",), ValueError, "unknown metric 'ndgc@5'"),
        ((5,), TypeError, "a metric must be a string, a Metric or a SoftMetric; got 5"),
    ],
    ids=str,
)
def test_bad_metrics_are_named_at_once(metrics, error, message):
    with pytest.raises(error, match=message):
        bx.custom_metric(*metrics)


def test_being_called_with_something_else_is_named(data):
    for adapter in (bx.objective(), bx.custom_metric("ndcg@5")):
        with pytest.raises(TypeError, match=r"is called by xgb.train and xgb.cv, with a DMatrix; got ndarray"):
            adapter(data.y, data.y)


def test_the_objective_has_every_option():
    options = {
        "mix": {"kendall": 0.5}, "losses": {"xendcg": 0.5}, "noise": "gumbel", "sigma": 2.0, "hessian": "exact",
        "query_weight": [1.0, 2.0], "accuracy": "high",
    }  # fmt: skip
    assert bx.objective("map", **options).rule == SoftObjective("map", **options)


def test_where_no_leaf_can_have_its_least_curvature_it_is_told(data):
    """Of little weight all documents together have less than XGBoost's default asks of each leaf."""
    matrix = data.matrix()
    total = bx.objective("ndcg@5")(np.zeros(data.y.size), matrix)[1].sum()
    matrix.set_weight(np.full(len(data.sizes), 1.0 / total))
    told = r"objective: no tree can be split with min_child_weight=1, since .* a curvature of 1; give min_child_weight="
    with pytest.warns(UserWarning, match=told + r"\S+, and an L2 far below that curvature") as told_of:
        stump = bx.train({}, matrix, 2, obj="ndcg@5", verbose_eval=False)
    assert (stump.trees_to_dataframe().Feature == "Leaf").all()
    matrix.set_weight(np.full(len(data.sizes), 1.9 / total))  # enough for one leaf, and not for two
    with pytest.warns(UserWarning, match="no tree can be split with min_child_weight=1, since .* a curvature of 1.9;"):
        stump = bx.train({}, matrix, 1, obj="ndcg@5", verbose_eval=False)
    assert (stump.trees_to_dataframe().Feature == "Leaf").all()
    matrix.set_weight(np.full(len(data.sizes), 1.0 / total))
    least = float(str(told_of[0].message).split("give min_child_weight=")[1].split(",")[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        settings = {"min_child_weight": least, "lambda": least}
        grown = bx.train(settings, matrix, 2, obj="ndcg@5", verbose_eval=False)
        assert (grown.trees_to_dataframe().Feature != "Leaf").any()
        xgb.train({**settings, "base_score": 0, "booster": "dart"}, matrix, 1, obj=bx.objective("ndcg@5"))
        matrix.set_weight(np.ones(len(data.sizes)))
        bx.train({}, matrix, 2, obj="ndcg@5", verbose_eval=False)
    with pytest.warns(UserWarning, match=f"no tree can be split with min_child_weight={total:.6g}, since"):
        stump = bx.train({"min_child_weight": total}, matrix, 2, obj="ndcg@5", verbose_eval=False)
    assert (stump.trees_to_dataframe().Feature == "Leaf").all()


def test_a_training_that_comes_to_rest_is_told_nothing(data):
    """Curvature falls as documents come apart: that the first trees had splits is what counts."""
    matrix, objective, seen = data.matrix(), bx.objective("ndcg@5"), []

    def watched(predt, dtrain):
        gradient, curvature = objective(predt, dtrain)
        seen.append(float(curvature.sum()))
        return gradient, curvature

    total = objective(np.zeros(data.y.size), matrix)[1].sum()
    matrix.set_weight(np.full(len(data.sizes), 2.5 / total))  # XGBoost's default asks 1 of each leaf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        xgb.train({"base_score": 0, "disable_default_eval_metric": True, "eta": 1, "lambda": 0}, matrix, 8, obj=watched)
    assert seen[0] > 2.0 > seen[-1]


def test_of_the_part_of_one_worker_nothing_is_told(data, monkeypatch):
    monkeypatch.setattr("boostsoft.adapters.xgboost_calls.over_workers", lambda: lambda sums: sums)
    matrix = data.matrix()
    matrix.set_weight(np.full(len(data.sizes), 1e-9))
    objective = bx.objective("ndcg@5")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        xgb.train({"base_score": 0, "disable_default_eval_metric": True}, matrix, 1, obj=objective)


@pytest.mark.parametrize("trainer", [xgb.train, bx.train])
def test_gradients_beyond_what_xgboost_can_square_are_refused(data, trainer):
    """Without a word it would grow trees of one leaf, or return NaN."""
    labels = data._replace(y=40 * data.y)
    with pytest.raises(ValueError, match=r"gradients must lie within \+-1e\+18.* XGBoost .* got \d\.\d+e\+36"):
        trainer(SMALL, labels.matrix(), 2, obj=bx.objective("dcg@5"), verbose_eval=False)
    assert np.ptp(trainer(SMALL, labels.matrix(), 2, obj=bx.objective("ndcg@5")).predict(labels.matrix())) > 0.1
