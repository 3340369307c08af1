"""LightGBM's traps: folds of lgb.cv that cut queries, and what else its adapters refuse."""

from __future__ import annotations

import re
import warnings

import lightgbm as lgb
import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

import boostsoft as bs
import boostsoft.lightgbm as bl
from boostsoft.adapters import lightgbm_data, lightgbm_warnings
from boostsoft.adapters.lightgbm_data import Training
from boostsoft.adapters.shared import refuse_large_gradients

from . import booster_cases
from .booster_cases import Ranking, spread_metric, unsuitable_options
from .lightgbm_cases import SMALL, rank_again, train

data, valid = booster_cases.data, booster_cases.valid  # fixtures


# Cross-validation


def test_cross_validation_by_query(data):
    metrics = {"ndcg_hard@5": bs.Metric("ndcg@5"), "ndcg_gaussian@5": spread_metric()}
    params = {**SMALL, "objective": bl.objective("ndcg@5")}
    weights = np.random.default_rng(0).integers(1, 8, data.y.size) / 4.0
    folds = list(GroupKFold(3).split(data.X, data.y, groups=data.query))
    log = lgb.cv(
        params, data.dataset(weight=weights), 5, folds=folds, feval=bl.feval(*metrics.values()), return_cvbooster=True
    )
    for name, metric in metrics.items():
        values = []
        for booster, (_, rows) in zip(log["cvbooster"].boosters, folds, strict=True):
            _, sizes = np.unique(data.query[rows], return_counts=True)
            means = np.array([weights[rows][data.query[rows] == q].mean() for q in np.unique(data.query[rows])])
            scores = booster.predict(data.X[rows])
            values.append(metric(data.y[rows], scores, group=sizes, query_weight=means))
        assert log[f"valid {name}-mean"][-1] == pytest.approx(np.mean(values), rel=1e-9)
        assert log[f"valid {name}-mean"][-1] > 0.7


def test_a_scikit_learn_splitter_keeps_queries_whole(data):
    log = lgb.cv(
        {**SMALL, "objective": bl.objective("ndcg@5")}, data.dataset(), 5, folds=GroupKFold(3), feval=bl.feval("ndcg@5")
    )
    assert len(log["valid ndcg_hard@5-mean"]) == 5


@pytest.mark.parametrize("constructed", [False, True])
@pytest.mark.parametrize(
    "split", [{}, {"stratified": False}, {"stratified": False, "shuffle": False, "nfold": 4}], ids=str
)
def test_cross_validation_that_cuts_queries_is_refused(data, split, constructed):
    params = {**SMALL, "objective": bl.objective("ndcg@5")}
    dataset = data.dataset(free_raw_data=False)
    with pytest.raises(ValueError, match=r"objective: the folds cut through \d+ queries .* folds=.*GroupKFold\(n\)$"):
        lgb.cv(params, dataset.construct() if constructed else dataset, 3, feval=bl.feval("ndcg@5"), **split)


def test_a_fold_of_a_file_whose_groups_were_never_asked_for_is_named(data, tmp_path):
    """LightGBM hands them on to a fold only if Python has them; under its own objective all is NaN then."""
    file = str(tmp_path / "data.bin")
    data.dataset(params=SMALL).save_binary(file)
    folds = list(GroupKFold(3).split(data.X, data.y, groups=data.query))
    params, named = (
        {**SMALL, "objective": bl.objective("ndcg@5")},
        r"the data has no groups: LightGBM .* get_group\(\) of",
    )
    with pytest.raises(ValueError, match=rf"^boostsoft\.lightgbm\.objective: {named}"):
        lgb.cv(params, lgb.Dataset(file), 3, folds=folds)
    whole = lgb.Dataset(file, params=SMALL).construct()
    whole.get_group()
    assert len(lgb.cv(params, whole, 3, folds=folds, feval=bl.feval("ndcg@5"))["valid ndcg_hard@5-mean"]) == 3


def test_metrics_refuse_cut_queries_under_any_objective(data):
    with pytest.raises(ValueError, match=r"boostsoft.lightgbm.feval: the folds cut through 27 queries \(query 0 has "):
        lgb.cv({**SMALL, "objective": "regression"}, data.dataset(), 3, feval=bl.feval("ndcg@5"))


def test_a_subset_with_rows_more_than_once_is_refused(data):
    first, rest = range(data.sizes[0]), range(data.sizes[0], data.y.size)
    for rows, told in (
        ([0, 0, *first[1:-1]], r"cut through 1 queries \(query 0 has 21 of its 22 documents"),
        ([*first, *first], r"hold each row once; got rows of 1 queries more .* \(query 0 has 44 rows for its 22 "),
    ):
        with pytest.raises(ValueError, match=told):
            train(data.dataset().subset([*rows, *rest]))


def test_queries_are_looked_at_once_per_data_set(data, monkeypatch):
    seen, look = [], lightgbm_data._refuse_parts_of_queries

    def counted(*given):
        seen.append(given)
        look(*given)

    monkeypatch.setattr(lightgbm_data, "_refuse_parts_of_queries", counted)
    whole = data.dataset().construct()
    part = whole.subset(range(sum(data.sizes[:20])))
    for _ in range(2):
        train(part, valid_sets=[part], feval=bl.feval("ndcg@5"))
    assert len(seen) == 1
    whole.set_group([data.y.size])
    with pytest.raises(ValueError, match="cut through 1 queries"):
        train(part)


def test_a_subset_of_a_dataset_that_was_freed_trains(data):
    whole = data.dataset(free_raw_data=False).construct()
    part = whole.subset(range(sum(data.sizes[:20]))).construct()
    whole.set_categorical_feature([3])  # frees it; another min_data_in_leaf would construct both anew
    assert train(part, params={"min_data_in_leaf": 20}).num_trees() == 8


# Traps


def test_bagging_by_query_is_refused(data):
    params = {"bagging_by_query": True, "bagging_fraction": 0.5, "bagging_freq": 1}
    used = data.dataset()
    train(used)
    for text in (True, "true", "+"):
        for dataset in (data.dataset(), used):
            with pytest.raises(ValueError, match=r"objective: bagging_by_query=True trains stumps .*; leave it out \("):
                train(dataset, params={**params, "bagging_by_query": text})
    with pytest.raises(ValueError, match="bagging_by_query=True"):
        lgb.cv({**SMALL, **params, "objective": bl.objective()}, data.dataset(), 3, folds=GroupKFold(3))
    assert train(data, params={"bagging_by_query": False}).num_trees() == 8
    booster = train(data.dataset(params=params))  # LightGBM does not read it there
    assert booster.trees_to_dataframe().groupby("tree_index").size().min() > 1


def test_a_dataset_that_was_trained_on_by_dart_is_any_boostings(data):
    dart = {"boosting": "dart", "drop_rate": 0.5, "skip_drop": 0.0}
    used = data.dataset()
    train(used, params=dart)
    assert train(used, valid_sets=[used], feval=bl.feval("ndcg@5")).num_trees() == 8
    used = data.dataset()
    train(used)
    with pytest.raises(ValueError, match=r"feval: the training data must not be evaluated with boosting='dart'"):
        train(used, params=dart, valid_sets=[used], feval=bl.feval("ndcg@5"))


def test_training_data_that_refers_to_other_data_is_known_for_what_it_is(data):
    """As validation data does: bins of an older Dataset, some of its rows; in lgb.cv it has scores of its own."""
    dart = {"boosting": "dart", "drop_rate": 0.5, "skip_drop": 0.0}
    older = data.dataset().construct()
    same_bins = lgb.Dataset(data.X, data.y, group=data.sizes, reference=older)
    for dataset in (same_bins, older.subset(np.arange(sum(data.sizes[:10])))):
        with pytest.raises(ValueError, match=r"feval: the training data must not be evaluated with boosting='dart'"):
            train(dataset, params=dart, valid_sets=[dataset], feval=bl.feval("ndcg@5"))
    folds = {"folds": GroupKFold(3), "feval": bl.feval("ndcg@5")}
    params = {**SMALL, **dart, "objective": bl.objective("ndcg@5")}
    assert len(lgb.cv(params, data.dataset(), 3, **folds)) == 2
    assert (
        len(lgb.cv(params, data.dataset(), 3, eval_train_metric=True, **folds)) == 4
    )  # evaluated as if it were others


def test_where_no_booster_is_seen_the_dataset_tells_what_it_is(data, valid):
    """A user may call a metric: validation data refers to training data, which alone is refused."""
    params = {"boosting": "dart", "objective": "none", "verbose": -1}
    dataset = data.dataset(params=params).construct()
    other = valid.dataset(params=params, reference=dataset).construct()
    rng = np.random.default_rng(0)
    scores = rng.normal(size=valid.y.size)
    expected = bs.Metric("ndcg@5")(valid.y, scores, group=valid.sizes)
    assert bl.feval("ndcg@5")(scores, other) == [("ndcg_hard@5", pytest.approx(expected), True)]
    with pytest.raises(ValueError, match=r"feval: the training data must not be evaluated with boosting='dart'"):
        bl.feval("ndcg@5")(np.zeros(data.y.size), dataset)


def test_a_wrapped_metric_may_have_the_training_data_at_hand(data, valid):
    """Where dart shows it validation data only."""
    dataset, evaluate = data.dataset(), bl.feval("ndcg@5")

    def wrapped(predictions, shown):
        assert shown is not dataset
        return evaluate(predictions, shown)

    train(dataset, params={"boosting": "dart"}, valid_sets=[valid.dataset(reference=dataset)], feval=wrapped)


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
def test_the_training_is_seen_through_functions_around_ours(data):
    """A user may log or time what is called: the Booster is then some calls further away."""

    def inside(call, times):
        return (lambda *given: inside(call, times - 1)(*given)) if times else call

    def around(y_true, y_pred, weight, group):
        return inside(metrics, 1)(y_true, y_pred, weight, group)

    metrics = bl.sklearn_eval_metric("ndcg@5")
    ranker, seen = rank_again(data, boosting_type="dart"), {"eval_group": [data.sizes], "eval_metric": around}
    with pytest.raises(ValueError, match="the training data must not be evaluated with boosting='dart'"):
        ranker.fit(data.X, data.y, group=data.sizes, eval_set=[(data.X, data.y)], **seen)

    objective = bl.sklearn_objective("ndcg@5")

    def around_objective(y_true, y_pred, weight, group):
        return inside(objective, 1)(y_true, y_pred, weight, group)

    bagged = rank_again(data, bagging_by_query=True, objective=around_objective)
    with pytest.raises(ValueError, match="bagging_by_query=True trains stumps"):
        bagged.fit(data.X, data.y, group=data.sizes)


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
def test_what_lgbmranker_trains_with_is_seen(data):
    """It shows its parameters to no objective and no Dataset to a metric; the Booster that calls knows both."""
    with pytest.raises(ValueError, match=r"sklearn_objective: bagging_by_query=True trains stumps"):
        rank_again(data, bagging_by_query=True).fit(data.X, data.y, group=data.sizes)
    ranker, watched = rank_again(data, boosting_type="dart"), {"eval_metric": bl.sklearn_eval_metric("ndcg@5")}
    seen = {"eval_group": [data.sizes], **watched}
    with pytest.raises(
        ValueError, match=r"sklearn_eval_metric: the training data must not be evaluated with boosting="
    ):
        ranker.fit(data.X, data.y, group=data.sizes, eval_set=[(data.X, data.y)], **seen)
    ranker.fit(data.X, data.y, group=data.sizes, eval_set=[(data.X.copy(), data.y.copy())], **seen)
    assert ranker.booster_.num_trees() == 8


def test_a_model_of_several_classes_is_refused(data):
    told = r"model must have one score per document; got 5 of each: leave num_class out$"
    several = {**SMALL, "num_class": 5}
    with pytest.raises(ValueError, match=rf"^boostsoft\.lightgbm\.objective: {told}"):
        train(data, params=several)
    with pytest.raises(ValueError, match=rf"^boostsoft\.lightgbm\.sklearn_objective: {told}"):
        rank_again(data, num_class=5).fit(data.X, data.y, group=data.sizes)
    data_set = data.dataset()
    given = {"valid_sets": [data_set], "feval": bl.feval("ndcg@5")}
    with pytest.raises(ValueError, match=rf"^boostsoft\.lightgbm\.feval: {told}"):
        lgb.train({**several, "objective": "multiclass"}, data_set, 3, **given)
    with pytest.raises(ValueError, match=rf"^boostsoft\.lightgbm\.sklearn_eval_metric: {told}"):
        bl.sklearn_eval_metric("ndcg@5")(data.y, np.zeros((data.y.size, 5)), None, data.sizes)


def test_positions_are_refused(data):
    message = "objective: the Dataset has positions; correcting position bias is not supp"
    dataset, again = (data.dataset(position=np.arange(data.y.size) % 5) for _ in range(2))
    with pytest.raises(ValueError, match=message):
        train(dataset)
    with pytest.raises(ValueError, match=message):  # which its folds have lost
        lgb.cv({**SMALL, "objective": bl.objective()}, again, 3, folds=GroupKFold(3))


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("pnr", "pnr_hard is inf, by which early stopping keeps the first tree: watch auc or kendall in place of pnr"),
        (bs.Metric("ndcg@5", empty="skip"), "ndcg_hard@5 is nan, by which early stopping keeps the first tree: no q"),
    ],
)
def test_a_mean_beside_which_none_is_better_is_told_once(data, metric, said):
    """Of one query in order pnr is infinite, and of queries without anything relevant none counts."""
    labels = np.zeros(data.y.size)
    if metric == "pnr":
        labels[: data.sizes[0]] = np.argsort(np.argsort(data.X[: data.sizes[0], 0]))
    rows = lgb.Dataset(data.X, labels, group=data.sizes, init_score=data.X[:, 0].copy())
    booster = lgb.Booster({"objective": "none", "verbose": -1}, rows)
    evaluate = bl.feval(metric)
    with pytest.warns(UserWarning, match=f"^boostsoft.lightgbm.feval: {said}") as told:
        assert len([booster.eval_train(feval=evaluate) for _ in range(2)]) == 2
    assert len(told) == 1


def test_weights_that_leave_nothing_to_learn_are_told_of(data):
    """Of all queries the only one with documents of different label weighs nothing."""
    labels = np.where(data.query == data.query[0], data.y, 1.0)
    weights = (data.query != data.query[0]).astype(float)
    rows = lgb.Dataset(data.X, labels, group=data.sizes, weight=weights)
    with pytest.raises(
        ValueError, match=r"^boostsoft.lightgbm.objective: there is nothing to learn: no query \(of posi"
    ):
        train(rows)


def test_missing_groups_are_named(data):
    with pytest.raises(ValueError, match=r"boostsoft.lightgbm.objective: the data has no groups; give lgb.Dataset"):
        train(lgb.Dataset(data.X, data.y))
    with pytest.raises(ValueError, match=r"boostsoft.lightgbm.sklearn_objective: the data has no groups"):
        lgb.LGBMRegressor(objective=bl.sklearn_objective(), verbose=-1).fit(data.X, data.y)
    dataset = lgb.Dataset(data.X, data.y)
    with pytest.raises(ValueError, match=r"boostsoft.lightgbm.feval: the data has no groups"):
        train(dataset, "regression", valid_sets=[dataset], feval=bl.feval("ndcg@5"))
    with pytest.raises(ValueError, match=r"boostsoft.lightgbm.objective: the data has no groups"):
        train(data.dataset().subset(range(data.y.size)).subset(range(data.y.size)))  # LightGBM forgets them
    with pytest.raises(ValueError, match=r"boostsoft.lightgbm.objective: the data has no groups"):
        train(lgb.Dataset(data.X, data.y).subset(range(data.y.size)))


@pytest.mark.parametrize(
    ("weight", "message"),
    [(-1.0, "weight must not be negative; got -1.0"), (0.0, "weight must not be 0 for every row")],
)
def test_bad_row_weights_are_named(data, weight, message):
    rows = np.full(data.y.size, weight)
    with pytest.raises(ValueError, match=f"boostsoft.lightgbm.objective: {message}"):
        train(data.dataset(weight=rows))
    with pytest.raises(ValueError, match=f"boostsoft.lightgbm.sklearn_eval_metric: {message}"):
        bl.sklearn_eval_metric("ndcg@5")(data.y, data.y, rows, data.sizes)


def test_an_infinite_weight_is_refused(data):
    """LightGBM keeps a number in its place, beside which all other documents count for nothing."""
    weight = np.r_[np.ones(3), np.inf, np.ones(data.y.size - 4)]
    message = "weight must be finite; got inf, which LightGBM keeps as 1e38, at position 3"
    with pytest.raises(ValueError, match=f"^boostsoft.lightgbm.objective: {message}$"):
        train(data.dataset(weight=weight))
    with pytest.raises(ValueError, match=f"^boostsoft.lightgbm.feval: {message}$"):
        train(data, "lambdarank", valid_sets=[data.dataset(weight=weight)], feval=bl.feval("ndcg@5"))


def test_bad_values_are_named(data):
    objective, evaluate = bl.sklearn_objective(), bl.sklearn_eval_metric("ndcg@5")
    for call, caller in ((objective, "objective"), (evaluate, "boostsoft.lightgbm.sklearn_eval_metric")):
        with pytest.raises(ValueError, match=f"{caller}: y_true must be finite; got nan at position 2"):
            call(np.array([0.0, 1.0, np.nan]), np.zeros(3), None, [3])
        with pytest.raises(ValueError, match=f"{caller}: predictions must be finite; got inf at position 0"):
            call(np.array([0.0, 1.0, 2.0]), np.array([np.inf, 0.0, 0.0]), None, [3])
        with pytest.raises(ValueError, match="must add up to the number of documents, 3; got 1 sizes"):
            call(np.array([0.0, 1.0, 2.0]), np.zeros(3), None, [4])
        with pytest.raises(ValueError, match=f"{caller}: weight must have one value per document, 3; got 2"):
            call(np.array([0.0, 1.0, 2.0]), np.zeros(3), np.ones(2), [3])


@unsuitable_options
def test_options_that_do_not_suit_the_data_are_named(data, options, message):
    with pytest.raises(ValueError, match=rf"^boostsoft\.lightgbm\.objective: {message}"):
        train(data, bl.objective(**options))


def test_labels_all_equal_are_named(data):
    with pytest.raises(ValueError, match=r"^boostsoft\.lightgbm\.objective: there is nothing to learn"):
        train(Ranking(data.X, np.ones(data.y.size), data.sizes))


@pytest.mark.parametrize("build", [bl.feval, bl.sklearn_eval_metric], ids=lambda build: build.__name__)
@pytest.mark.parametrize(
    ("metrics", "error", "message"),
    [
        ((), ValueError, "give at least one metric"),
        (("ndcg@5", bs.Metric("ndcg@5", gain="linear")), ValueError, "two metrics are called 'ndcg_hard@5'; .* name="),
        ((bs.SoftMetric("ndcg"), bs.SoftMetric("ndcg", sigma=2)), ValueError, "are called 'ndcg_gaussian'"),
        (("ndgc@5",), ValueError, "unknown metric 'ndgc@5'"),
        ((5,), TypeError, "a metric must be a string, a Metric or a SoftMetric; got 5"),
    ],
    ids=str,
)
def test_bad_metrics_are_named_at_once(build, metrics, error, message):
    with pytest.raises(error, match=message):
        build(*metrics)


def test_what_builds_metrics_says_that_it_is_to_be_called(data):
    with pytest.raises(TypeError, match=r"an array; a booster takes what boostsoft.lightgbm.feval\('ndcg@10'\)"):
        train(data, feval=bl.feval, valid_sets=[data.dataset()])
    with pytest.raises(TypeError, match=r"got the state of a training; .* what .*track_callback\('ndcg@10'\)"):
        train(data, callbacks=[bl.track_callback], valid_sets=[data.dataset()])


def test_names_of_hard_and_soft_metrics():
    names = bl.feval(
        "ndcg@5", "ndcg", bs.Metric("ndcg", k=[1, 2], name="own"), bs.SoftMetric("rbp@3", noise="gumbel")
    ).metrics.names
    assert names == ["ndcg_hard@5", "ndcg_hard", "own", "rbp_gumbel@3"]


def test_the_adapter_of_the_other_interface_is_named(data):
    for name, given in (("objective", ()), ("reference_objective", ("lambdarank",))):
        with pytest.raises(TypeError, match=rf"LGBMRanker takes boostsoft.lightgbm.sklearn_{name}, X"):
            rank_again(data, objective=getattr(bl, name)(*given)).fit(data.X, data.y, group=data.sizes)
    with pytest.raises(TypeError, match=r"LGBMRanker takes boostsoft.lightgbm.sklearn_eval_metric"):
        bl.feval("ndcg@5")(data.y, data.y)


def test_the_adapter_of_the_other_booster_is_named(data):
    pytest.importorskip("xgboost")
    for adapter in (bl.objective(), bl.reference_objective("lambdarank"), bl.feval("ndcg@5")):
        with pytest.raises(TypeError, match=r"with a Dataset; got DMatrix.* XGBoost what boostsoft.xgboost builds$"):
            adapter(data.y, data.matrix())


@pytest.mark.parametrize("metric", [bs.Metric("ndcg@5"), bs.SoftMetric("ndcg@5")])
def test_a_metric_in_place_of_an_adapter_names_the_adapter(data, metric):
    dataset = data.dataset()
    for call in (
        lambda: train(data, metric),
        lambda: train(dataset, "regression", valid_sets=[dataset], feval=metric),
    ):
        with pytest.raises(
            TypeError, match=r"Metric: y_score .* got Dataset. Give .* boostsoft.lightgbm.feval\(metric"
        ):
            call()
    xgb = pytest.importorskip("xgboost")
    with pytest.raises(TypeError, match=r"got DMatrix. Give .* boostsoft.xgboost.custom_metric\(metric"):
        xgb.train({}, data.matrix(), 1, obj=metric)


def test_the_adapter_of_lightgbms_own_interface_is_named(data):
    for own, given in (("objective", ()), ("reference_objective", ("lambdarank",))):
        with pytest.raises(TypeError, match=rf"\.sklearn_{own}: is called by LGBMRanker, .*got a Dataset.*\.{own}$"):
            train(data, getattr(bl, f"sklearn_{own}")(*given))
    dataset = data.dataset()
    with pytest.raises(TypeError, match=r"sklearn_eval_metric: is called by LGBMRanker, .*got a Dataset.*\.feval$"):
        train(dataset, "regression", valid_sets=[dataset], feval=bl.sklearn_eval_metric("ndcg@5"))
    with pytest.raises(ValueError, match="the data has no groups"):
        bl.sklearn_objective()(data.y, data.y)


@pytest.mark.parametrize(
    ("group", "told"),
    [
        (np.full((10, 1), 3), "must be one-dimensional"),
        (np.full((2, 5), 3), "must be one-dimensional"),
        (np.ma.masked_equal([3] * 9 + [30], 30), "must not have masked entries"),
        (np.full(10, 2.5), "must be whole numbers"),
        (np.full(9, 3), "must add up to the number of documents, 30"),
    ],
)
def test_sizes_of_queries_are_no_table_and_all_known(group, told):
    with pytest.raises(ValueError, match=rf"^boostsoft\.lightgbm\.sklearn_objective: group {told}"):
        bl.sklearn_objective("ndcg@5")(np.arange(30) % 3, np.arange(30.0), None, group)


@pytest.mark.parametrize("call", [bl.sklearn_objective("ndcg@5"), bl.sklearn_eval_metric("ndcg@5")])
def test_labels_must_not_be_masked(call):
    labels = np.arange(30) % 3
    call(labels, np.arange(30.0), None, [3] * 10)  # the same ones, which are remembered
    with pytest.raises(ValueError, match=r"^boostsoft\.lightgbm\.sklearn_\w+: y_true must not have masked entries"):
        call(np.ma.masked_equal(labels, 2), np.arange(30.0), None, [3] * 10)


@pytest.mark.parametrize("name", ["min_sum_hessian_in_leaf", "min_child_weight"])
def test_a_leaf_that_asks_for_much_of_all_curvature_is_told_of(data, name):
    """As a pipeline of lambdarank may have it, whose curvatures are larger."""
    total = bl.objective("ndcg@5")(np.zeros(data.y.size), data.dataset().construct())[1].sum()
    least = 0.1 * total  # of 6 leaves
    room = f"{total / 24:.1g}"
    told = rf"objective: {name}=\S+ may leave a tree fewer than 6 leaves, since .* a curvature of .* or give {room}$"
    with pytest.warns(UserWarning, match=told):
        train(data, params={name: least})
    with pytest.warns(UserWarning, match=told):
        train(data, params={name: least, "num_leaves": None, "max_leaves": 6})
    with pytest.warns(UserWarning, match=rf"sklearn_objective: {name}="):
        rank_again(data, **{name: least}).fit(data.X, data.y, group=data.sizes)
    train(data, params={name: float(room)})
    train(data, objective="lambdarank", params={name: least})


def test_light_weights_are_told_of_where_they_leave_few_leaves(data):
    """As weights that sum to 1 do, under LightGBM's own least curvature of a leaf."""
    total = bl.objective("ndcg@5")(np.zeros(data.y.size), data.dataset().construct())[1].sum()
    light = np.full(data.y.size, 0.01 / total)
    told = (
        r"objective: min_sum_hessian_in_leaf=0.001 may leave a tree fewer than 6 leaves, since .* a curvature of 0.01; "
        r"let the weights' mean be 1 if there are any, or give min_sum_hessian_in_leaf=1e-06$"
    )
    with pytest.warns(UserWarning, match=told):
        train(data.dataset(weight=light))
    with pytest.warns(UserWarning, match=r"sklearn_objective: min_child_weight=0.001 may .* give min_child_weight=1e-"):
        rank_again(data).fit(data.X, data.y, group=data.sizes, sample_weight=light)
    for given in ({"min_sum_hessian_in_leaf": 1e-6}, {"min_data_in_leaf": data.y.size // 4}):
        train(data.dataset(weight=light), params=given)  # of which there are 4 leaves at most


def test_continued_training_is_told_as_much_as_new_one(data):
    """At its first tree only, also where none grows."""
    first = train(data)
    with pytest.warns(UserWarning, match=r"no tree can be split|not read, since lambdarank's: sigmoid") as told_of:
        train(data, params={"sigmoid": 2.0, "min_sum_hessian_in_leaf": 1e9}, init_model=first)
    assert len(told_of) == 2


def test_where_no_leaf_can_have_its_least_curvature_it_is_told(data):
    total = bl.objective("ndcg@5")(np.zeros(data.y.size), data.dataset().construct())[1].sum()
    scale = 1e-3 / total  # by weights: LightGBM's default then wants as much of each leaf as all have together
    light = lgb.Dataset(data.X, data.y, group=data.sizes, weight=np.full(data.y.size, scale))
    told = (
        r"objective: no tree can be split with min_sum_hessian_in_leaf=0.001, since .* a curvature of 0.001; give min"
    )
    params = {"objective": bl.objective("ndcg@5"), "metric": "None", "verbose": -1}
    with pytest.warns(UserWarning, match=told) as told_of:
        stump = lgb.train(params, light, 1)
    assert stump.dump_model()["tree_info"][0]["num_leaves"] == 1
    least = float(re.search(r"give min_sum_hessian_in_leaf=(\S+), and", str(told_of[0].message))[1])
    grown = lgb.train({**params, "min_sum_hessian_in_leaf": least}, light, 1)
    assert grown.dump_model()["tree_info"][0]["num_leaves"] > 1
    # of two names LightGBM says which counts; LGBMRanker has always one of its own
    ranked = rank_again(data, min_sum_hessian=least)
    ranked.fit(data.X, data.y, group=data.sizes, sample_weight=np.full(data.y.size, scale))
    assert ranked.booster_.dump_model()["tree_info"][0]["num_leaves"] > 1


def test_one_machine_of_several_does_not_tell_what_all_have(data, monkeypatch):
    on_two = Training({"num_machines": 2}, False, train(data, "lambdarank"))
    monkeypatch.setattr("boostsoft.adapters.lightgbm_calls.training_behind", lambda *_: on_two)
    dataset = data.dataset().construct()
    dataset.set_weight(np.full(data.y.size, 1e-9))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bl.objective("ndcg@5")(np.zeros(data.y.size), dataset)


def test_parameters_of_lambdarank_that_are_not_read_are_told_of(data):
    """As someone leaves them who changes the objective and nothing else."""
    gains = list(range(5))
    given = {"label_gain": gains, "lambdarank_truncation_level": 5, "sigmoid": 2.0}
    with pytest.warns(UserWarning, match="not read") as told_of:
        train(data, params=given)
    told = sorted(str(warning.message) for warning in told_of)
    assert len(told) == 2
    assert re.match(
        r"boostsoft.lightgbm.objective: label_gain is not read, and gain='exp2' is trained on; give", told[0]
    )
    assert told[1] == (
        "boostsoft.lightgbm.objective: not read, since lambdarank's: lambdarank_truncation_level, sigmoid; a cutoff is "
        "the metric's, as in 'ndcg@10'"
    )
    with pytest.warns(UserWarning, match="sklearn_objective: label_gain is not read"):
        rank_again(data, label_gain=gains).fit(data.X, data.y, group=data.sizes)
    # of those that it has or does not have
    train(data, objective=bl.objective(bs.Metric("ndcg@5", gain=gains)), params={"label_gain": gains})
    train(data, objective=bl.objective("map"), params={"label_gain": gains})
    train(data, params={"label_gain": "0,1,3,7,15"})  # what is trained on, written out
    texts = {"lambdarank_norm": " True", "lambdarank_truncation_level": "30", "sigmoid": "1.0"}
    train(data, objective=bl.reference_objective("lambdarank"), params=texts)
    with pytest.warns(UserWarning, match="not read, since lambdarank's: lambdarank_norm$"):
        train(data, objective=bl.reference_objective("lambdarank"), params={**texts, "lambdarank_norm": "false"})
    train(data, objective=bl.reference_objective("lambdarank", norm=False), params={"lambdarank_norm": "-"})
    linear = bl.objective(bs.Metric("ndcg@5", gain="linear"))
    train(data, objective=linear, params={"label_gain": gains})
    with pytest.warns(UserWarning, match="label_gain is not read, and gain='linear' is trained on"):
        train(data, objective=linear, params={"label_gain": "0,1,3,7,15"})
    with pytest.warns(UserWarning, match="label_gain is not read, and gain='exp2' is trained on"):
        train(data, params={"label_gain": list(range(1100))})  # 2^1024 is no float
    train(data, objective="lambdarank", params=given)
    train(data, params=dict.fromkeys(given))


def test_a_spread_of_one_machine_of_several_is_refused(data, monkeypatch):
    """Where LightGBM trains on several, without boostsoft.dask: a metric is shown the rows of one."""

    def on_two(*_):
        return Training({"num_machines": 2}, False)

    monkeypatch.setattr("boostsoft.adapters.lightgbm_calls.training_behind", on_two)
    told = r"{}: metrics must not be in units of the spread .*; got \['ndcg_gaussian@5'\] on 2 machines"
    dataset = data.dataset().construct()
    shown = data.y, np.zeros(data.y.size), None, data.sizes
    with pytest.raises(ValueError, match=told.format("boostsoft.lightgbm.feval")):
        bl.feval(spread_metric())(np.zeros(data.y.size), dataset)
    with pytest.raises(ValueError, match=told.format("boostsoft.lightgbm.sklearn_eval_metric")):
        bl.sklearn_eval_metric(spread_metric())(*shown)
    assert bl.sklearn_eval_metric("ndcg@5")(*shown)[0][0] == "ndcg_hard@5"  # of its own rows, as LightGBM's own


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, 1),
        ({"num_machines": None}, 1),
        ({"num_machines": "auto"}, 1),
        ({"num_machine": 2}, 2),
        ({"num_machines": "3"}, 3),
    ],
)
def test_how_many_machines_there_are_by_any_name(given, expected):
    assert lightgbm_data.machines(given) == expected


def test_the_depth_of_a_tree_bounds_its_leaves(data):
    """All have room for two, not for 31."""
    _, curvature = bl.sklearn_objective("ndcg@5")(data.y, np.zeros(data.y.size), None, data.sizes)
    light = np.full(data.y.size, 0.01 / curvature.sum())
    options = {**SMALL, "num_leaves": 31, "min_data_in_leaf": 1, "objective": bl.objective("ndcg@5")}
    with pytest.warns(UserWarning, match="may leave a tree fewer than 31 leaves"):
        lgb.train(options, data.dataset(weight=light), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lgb.train({**options, "max_depth": 1}, data.dataset(weight=light), 1)


@pytest.mark.parametrize(("n_docs", "leaves"), [(660, 31), (600, 30)])
def test_a_tree_has_as_many_leaves_as_lightgbm_gives_it_unasked(n_docs, leaves):
    """31, each of 20 documents at least."""
    light = np.full(n_docs, 4e-7 / n_docs)
    data = lgb.Dataset(np.arange(n_docs)[:, None], np.arange(n_docs) % 3, group=[n_docs // 20] * 20, weight=light)
    objective = bl.reference_objective("queryrmse")  # whose curvature is the weights
    params = {"objective": objective, "metric": "None", "verbose": -1, "min_sum_hessian_in_leaf": 1e-8}
    with pytest.warns(UserWarning, match=f"may leave a tree fewer than {leaves} leaves"):
        lgb.train(params, data, 1)


def test_each_level_of_a_tree_doubles_its_leaves(data):
    """All have room for ten leaves: for the eight of three levels, not for the sixteen of four."""
    _, curvature = bl.sklearn_objective("ndcg@5")(data.y, np.zeros(data.y.size), None, data.sizes)
    light = data.dataset(weight=np.full(data.y.size, 2 * 10 * 1e-3 / curvature.sum()))
    options = {**SMALL, "num_leaves": 31, "min_data_in_leaf": 1, "objective": bl.objective("ndcg@5")}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lgb.train({**options, "max_depth": 3}, light, 1)
    with pytest.warns(UserWarning, match="may leave a tree fewer than 16 leaves"):
        lgb.train({**options, "max_depth": 4}, light, 1)


@pytest.mark.parametrize("build", [bl.objective, bl.sklearn_objective], ids=lambda build: build.__name__)
def test_an_objective_is_built_before_it_is_given(build, data):
    name = f"boostsoft.lightgbm.{build.__name__}"
    with pytest.raises(TypeError, match=rf"^{name}: takes one argument by position.* a booster takes what {name}\("):
        train(data, build)
    with pytest.raises(TypeError, match=rf"^{name}: takes one argument"):
        build("ndcg@10", "gumbel")


def test_a_reference_objective_is_built_before_it_is_given(data):
    with pytest.raises(TypeError, match=r"^boostsoft.lightgbm.reference_objective: takes one argument by position"):
        train(data, bl.reference_objective)


def test_gradients_beyond_single_precision_are_refused(data):
    """Without a word LightGBM would take them for infinite."""
    labels = data._replace(y=50 * data.y)
    objectives = bl.objective("dcg@5"), bl.objective("ndcg@5")
    with pytest.raises(ValueError, match=r"gradients must lie within \+-1e\+37.* LightGBM .* got \d\.\d+e\+4\d"):
        train(labels, objectives[0])
    assert np.ptp(train(labels, objectives[1]).predict(labels.X)) > 0.1


@pytest.mark.parametrize("gradient", [[1.0, -1e38], [1e38, 0.0], [np.nan, 1.0], [1.0, -np.inf]])
def test_gradients_are_large_in_either_direction_and_nan_is_none(gradient):
    refuse_large_gradients("example", np.array([9e36, -9e36]), 1.0, "LightGBM", 1e37)
    with pytest.raises(ValueError, match=r"^example: gradients must lie within"):
        refuse_large_gradients("example", np.array(gradient), 1.0, "LightGBM", 1e37)


def test_of_a_parameters_aliases_the_shortest_counts():
    """As for LightGBM: no warning is of a value that is not in use."""
    params = {"min_sum_hessian_per_leaf": 1e9, "min_hessian": 1e-9}
    assert lightgbm_warnings._least_curvature(params) == ("min_hessian", 1e-9)
