"""The LightGBM adapters at work: training, scores that do not start at 0, LGBMRanker, copies."""

from __future__ import annotations

import copy
import inspect
import pickle
from concurrent.futures import ThreadPoolExecutor

import lightgbm as lgb
import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

import boostsoft as bs
import boostsoft.lightgbm as bl
import boostsoft.metric_lists
from boostsoft.datasets import load_digits_ranking
from boostsoft.kernels.curvature import CURVATURES
from boostsoft.query_groups import QueryGroups

from . import booster_cases
from .booster_cases import NOISES, ranking, spread_metric
from .cases import on_threads
from .lightgbm_cases import QUIET, SMALL, rank_again, train

data, valid = booster_cases.data, booster_cases.valid  # fixtures


# Training


@pytest.mark.parametrize("hessian", CURVATURES)
@pytest.mark.parametrize("noise", NOISES)
def test_stock_parameters_learn(data, noise, hessian):
    ndcg = bs.Metric("ndcg@10", empty="skip")
    start = ndcg(data.y, np.zeros(data.y.size), group=data.sizes)
    booster = lgb.train({"objective": bl.objective(noise=noise, hessian=hessian), **QUIET}, data.dataset(), 30)
    reached = ndcg(data.y, booster.predict(data.X), group=data.sizes)
    assert start < 0.6
    assert reached > (0.9 if hessian == "constant" else 0.95)


@pytest.mark.parametrize("hessian", CURVATURES)
@pytest.mark.parametrize("noise", NOISES)
def test_stock_parameters_learn_the_digits(noise, hessian):
    digits = load_digits_ranking(n_queries=(40, 5, 5), n_candidates=(20, 40)).train
    ndcg = bs.Metric("ndcg@10", empty="skip")
    start = ndcg(digits.y, np.zeros(digits.n_docs), group=digits.sizes)
    dataset = lgb.Dataset(digits.X, digits.y, group=digits.sizes)
    booster = lgb.train({"objective": bl.objective(noise=noise, hessian=hessian), **QUIET}, dataset, 30)
    reached = ndcg(digits.y, booster.predict(digits.X), group=digits.sizes)
    assert start < 0.3
    assert reached > (0.75 if hessian == "constant" else 0.95)


def test_default_objective_keeps_up_with_lambdarank(data):
    ndcg, valid = bs.Metric("ndcg@10"), ranking(2, [15] * 200)
    theirs, ours = (
        ndcg(valid.y, lgb.train({**QUIET, "objective": of}, data.dataset(), 30).predict(valid.X), group=valid.sizes)
        for of in ("lambdarank", bl.objective("ndcg@10"))
    )
    assert ours > theirs - 0.03, (ours, theirs)


def test_a_query_of_more_than_ten_thousand_documents_and_labels_above_31_train():
    """lambdarank refuses both."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_050, 3))
    y = np.clip(np.round(12 * X[:, 0] + 30), 0, 60)
    metric = bs.Metric("ndcg@10", gain="linear")
    params = {"objective": bl.objective(metric), **QUIET}
    booster = lgb.train(params, lgb.Dataset(X, y, group=[len(y)]), 5)
    assert y.max() == 60
    assert metric(y, np.zeros(len(y)), group=[len(y)]) < 0.6
    assert metric(y, booster.predict(X), group=[len(y)]) > 0.9


@pytest.mark.parametrize(
    "params",
    [
        {"bagging_fraction": 0.6, "bagging_freq": 1, "feature_fraction": 0.8},
        {"data_sample_strategy": "goss", "learning_rate": 0.3},
        {"boosting": "dart"},
        {"linear_tree": True, "lambda_l2": 1.0},
    ],
    ids=lambda params: next(iter(params)),
)
def test_other_ways_of_boosting_work(data, params):
    ndcg = bs.Metric("ndcg@5", empty="skip")
    dataset = data.dataset(params={"linear_tree": True} if "linear_tree" in params else {})
    booster = train(dataset, rounds=20, params=params)
    assert ndcg(data.y, booster.predict(data.X), group=data.sizes) > 0.9


def test_dart_does_not_lose_trees_to_a_look_at_its_training_data(data):
    """It drops trees to show these scores and puts back what it dropped before the next tree only."""
    dart, ndcg = {"boosting": "dart", "drop_rate": 0.5, "skip_drop": 0.0, "drop_seed": 1}, bs.Metric("ndcg@5")
    for metrics in (bl.feval("ndcg@5"), None):
        dataset, callbacks = data.dataset(), [] if metrics else [bl.track_callback("ndcg@5", training=True)]
        with pytest.raises(
            ValueError, match=r"must not be evaluated with boosting='dart' .*; evaluate a copy, train\."
        ):
            lgb.train(
                {"objective": bl.objective("ndcg@5"), **QUIET, **dart}, dataset, 5, valid_sets=[dataset], feval=metrics,
                callbacks=callbacks,
            )  # fmt: skip
    for objective, copied in (
        ("lambdarank", False),
        (bl.objective("ndcg@5"), True),
    ):  # its own one drops before it grows
        dataset, log = data.dataset(), {}
        seen = dataset.create_valid(data.X, data.y, group=data.sizes) if copied else dataset
        booster = lgb.train(
            {"objective": objective, **QUIET, **dart}, dataset, 12, valid_sets=[seen], valid_names=["seen"],
            feval=bl.feval(ndcg), callbacks=[lgb.record_evaluation(log)],
        )  # fmt: skip
        value = ndcg(data.y, booster.predict(data.X), group=data.sizes)
        assert value == pytest.approx(log["seen"]["ndcg_hard@5"][-1], abs=1e-12)
        assert value > 0.8


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("hessian", CURVATURES)
def test_sigma_is_only_the_unit_of_the_scores(data, noise, hessian):
    one, ten = (
        train(data, bl.objective(sigma=sigma, noise=noise, hessian=hessian), 8).predict(data.X) for sigma in (1.0, 10.0)
    )
    assert np.ptp(one) > 0.02
    np.testing.assert_allclose(ten, 10.0 * one, rtol=1e-4, atol=1e-4)


def test_training_does_not_depend_on_threads(data, monkeypatch):
    alone = train(data, rounds=4).predict(data.X)
    for ours, theirs in ((3, 2), (4, 1)):
        on_threads(monkeypatch, ours)
        np.testing.assert_allclose(
            train(data, rounds=4, params={"num_threads": theirs}).predict(data.X), alone, rtol=1e-9
        )


def test_trainings_run_side_by_side(data, valid):
    objective = bl.objective("ndcg@5")
    sets = [data, valid, data, valid]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda part: train(part, objective).predict(part.X), sets))
    for part, predictions in zip(sets, together, strict=True):
        np.testing.assert_array_equal(predictions, train(part, objective).predict(part.X))


# Scores that do not start at 0


def test_continued_training_is_uninterrupted_training(data, valid, tmp_path):
    through, log, dataset = train(data, rounds=12), {}, data.dataset(free_raw_data=False)
    first = train(data, rounds=5)
    first.save_model(tmp_path / "model.txt")
    for start in (first, tmp_path / "model.txt"):
        both = train(
            dataset,
            rounds=7,
            init_model=start,
            valid_sets=[dataset, valid.dataset(reference=dataset)],
            feval=bl.feval(spread_metric()),
            callbacks=[lgb.record_evaluation(log)],
        )
        assert both.num_trees() == 12
        np.testing.assert_allclose(both.predict(data.X), through.predict(data.X), rtol=1e-9)
        for name, part in (("training", data), ("valid_1", valid)):
            value = spread_metric()(part.y, through.predict(part.X, num_iteration=6), group=part.sizes)
            np.testing.assert_allclose(log[name]["ndcg_gaussian@5"][0], value, rtol=1e-9)


def test_initial_scores_are_seen(data):
    start, seen = np.random.default_rng(0).normal(size=data.y.size), []
    objective = bl.objective("ndcg@5")

    def spy(predictions, dataset):
        seen.append(predictions.copy())
        return objective(predictions, dataset)

    log, dataset = {}, data.dataset(init_score=start)
    booster = train(
        dataset, spy, valid_sets=[dataset], feval=bl.feval("ndcg@5"), callbacks=[lgb.record_evaluation(log)]
    )
    np.testing.assert_array_equal(seen[0], start)
    np.testing.assert_allclose(seen[3], start + booster.predict(data.X, num_iteration=3), rtol=1e-9, atol=1e-12)
    value = bs.Metric("ndcg@5")(data.y, start + booster.predict(data.X, num_iteration=1), group=data.sizes)
    assert log["training"]["ndcg_hard@5"][0] == pytest.approx(value, rel=1e-12)


# LGBMRanker


def test_ranker_trains_the_same_model(data):
    ranker = rank_again(data, deterministic=True, force_row_wise=True).fit(data.X, data.y, group=data.sizes)
    np.testing.assert_array_equal(ranker.predict(data.X), train(data).predict(data.X))


def test_ranker_logs_and_stops_early(data, valid):
    evaluation = (
        {"eval_X": valid.X, "eval_y": valid.y}
        if "eval_X" in inspect.signature(lgb.LGBMRanker.fit).parameters
        else {"eval_set": [(valid.X, valid.y)]}
    )
    weights = np.random.default_rng(0).integers(1, 8, valid.y.size) / 4.0
    ranker = rank_again(data, n_estimators=200, learning_rate=0.3).fit(
        data.X,
        data.y,
        group=data.sizes,
        eval_group=[valid.sizes],
        eval_sample_weight=[weights],
        eval_metric=bl.sklearn_eval_metric("ndcg@5", spread_metric()),
        callbacks=[lgb.early_stopping(10, first_metric_only=True, verbose=False)],
        **evaluation,
    )
    log = ranker.evals_result_["valid_0"]
    assert list(log) == ["ndcg_hard@5", "ndcg_gaussian@5"]
    assert 2 < ranker.best_iteration_ == 1 + np.argmax(log["ndcg_hard@5"]) < 150
    means = np.bincount(valid.query, weights=weights) / valid.sizes
    for name, metric in (("ndcg_hard@5", bs.Metric("ndcg@5")), ("ndcg_gaussian@5", spread_metric())):
        value = metric(valid.y, ranker.predict(valid.X), group=valid.sizes, query_weight=means)
        assert log[name][ranker.best_iteration_ - 1] == pytest.approx(value, rel=1e-12)


def test_ranker_weights_rows(data):
    rows = np.where(data.query < 15, 3.0, 0.5)
    ranker = rank_again(data).fit(data.X, data.y, group=data.sizes, sample_weight=rows)
    direct = train(data.dataset(weight=rows))
    np.testing.assert_allclose(ranker.predict(data.X), direct.predict(data.X), rtol=1e-9)
    assert np.abs(direct.predict(data.X) - train(data).predict(data.X)).max() > 0.05


def test_ranker_takes_a_data_frame(data):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(data.X, columns=list("abcde"))
    ranker = rank_again(data).fit(frame, pd.Series(data.y), group=pd.Series(data.sizes))
    assert ranker.feature_name_ == list("abcde")
    np.testing.assert_allclose(ranker.predict(frame), train(data).predict(data.X), rtol=1e-9)


def test_ranker_continues_and_copies(data):
    from sklearn.base import clone

    first = rank_again(data, n_estimators=5).fit(data.X, data.y, group=data.sizes)
    both = clone(first).fit(data.X, data.y, group=data.sizes, init_model=pickle.loads(pickle.dumps(first)))
    np.testing.assert_allclose(both.predict(data.X), train(data, rounds=10).predict(data.X), rtol=1e-9)


# Copies and what is kept


BUILDERS = (bl.objective, bl.sklearn_objective, bl.feval, bl.sklearn_eval_metric)


@pytest.mark.parametrize("build", BUILDERS, ids=lambda build: build.__name__)
@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))], ids=["copy", "pickle"]
)
def test_adapters_can_be_copied_and_give_the_same(data, build, copied):
    metric = bs.Metric("ndcg@5", gain=np.array([0.0, 1.0, 2.0, 5.0]))
    adapter = build(metric)
    dataset, scores = data.dataset().construct(), np.random.default_rng(0).normal(size=data.y.size)
    arguments = (scores, dataset) if build in (bl.objective, bl.feval) else (data.y, scores, None, data.sizes)
    before = adapter(*arguments)
    after = copied(adapter)(*arguments)
    assert len(pickle.dumps(adapter)) < 2_000, "the labels stay behind"
    if build in (bl.feval, bl.sklearn_eval_metric):
        assert before == after
    else:
        np.testing.assert_array_equal(before, after)


def test_metrics_pickled_by_an_older_version_read_labels_anew(data):
    """What it remembered of them may have had another form, or none."""
    groups, scores = QueryGroups.from_sizes(data.sizes), np.random.default_rng(0).normal(size=data.y.size)
    kind = boostsoft.metric_lists.MetricList
    metrics = kind("feval", ["ndcg@5"])
    old = kind.__new__(kind)
    old.__setstate__({name: value for name, value in vars(metrics).items() if name != "_cache"})
    weights = np.ones(data.sizes.size)
    assert old.values(data.y, groups, scores, weights) == metrics.values(data.y, groups, scores, weights)


def test_the_users_object_is_untouched_by_training(data):
    objective = bl.objective("ndcg@5")
    before = pickle.dumps(objective)
    train(data, objective)
    assert objective._cache._entries == []
    assert pickle.dumps(objective) == before
    assert repr(objective).startswith("boostsoft.lightgbm.objective(SoftObjective(metric=Metric('ndcg@5'")
    assert repr(bl.sklearn_objective("ndcg@5")).startswith("boostsoft.lightgbm.sklearn_objective(SoftObjective(")
    for build in (bl.feval, bl.sklearn_eval_metric):
        shown = f"boostsoft.lightgbm.{build.__name__}({bs.Metric('map')!r}, {bs.SoftMetric('ndcg@5')!r})"
        assert repr(build("map", bs.SoftMetric("ndcg@5"))) == shown


def test_labels_are_prepared_once_per_data_set(data, monkeypatch):
    """Also in a cross-validation, where as many sets as folds take turns."""
    calls, prepare = [], boostsoft.metric_lists.prepare

    def counted(*arguments):
        calls.append(arguments)
        return prepare(*arguments)

    monkeypatch.setattr(boostsoft.metric_lists, "prepare", counted)
    lgb.cv(
        {**SMALL, "objective": bl.objective("ndcg@5")},
        data.dataset(),
        4,
        folds=GroupKFold(10),
        feval=bl.feval("ndcg@5", spread_metric()),
        eval_train_metric=True,
    )
    assert len(calls) == 2 * 10 * 2


def test_new_labels_under_the_same_groups_are_noticed(data):
    adapter, metric, scores = bl.sklearn_eval_metric("ndcg@5"), bs.Metric("ndcg@5"), data.X[:, 0]
    for labels, sizes in ((data.y, data.sizes), (data.y[::-1], data.sizes), (data.y, data.sizes[::-1])):
        ((_, value, _),) = adapter(labels, scores, None, sizes)
        assert value == metric(labels, scores, group=sizes)


def test_labels_that_change_in_their_place_are_noticed(data):
    adapter, metric, scores = bl.sklearn_eval_metric("ndcg@5"), bs.Metric("ndcg@5"), data.X[:, 0]
    labels = data.y.copy()
    adapter(labels, scores, None, data.sizes)
    labels[:] = data.y[::-1]
    ((_, value, _),) = adapter(labels, scores, None, data.sizes)
    assert value == metric(labels, scores, group=data.sizes)


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"boosting": " DART"}, "must not be evaluated with boosting='dart'"),
        ({"bagging_by_query": " TRUE "}, "bagging_by_query=True trains stumps"),
    ],
)
def test_parameters_are_read_as_lightgbm_reads_them(params, told, data):
    dataset = data.dataset()
    with pytest.raises(ValueError, match=told):
        lgb.train(
            {"objective": bl.objective("ndcg@5"), **QUIET, **params}, dataset, 2, valid_sets=[dataset],
            feval=bl.feval("ndcg@5"),
        )  # fmt: skip


def test_metrics_read_the_labels_of_a_set_once(monkeypatch, data):
    """Continuous ones take a while: each is written out and read back."""
    read = []
    as_written = boostsoft.metric_lists.as_written
    monkeypatch.setattr(boostsoft.metric_lists, "as_written", lambda labels: read.append(1) or as_written(labels))
    feval = bl.feval("ndcg@5", "map", bs.SoftMetric("mrr"))
    for dataset, n_read in ((data.dataset(), 1), (data.dataset(), 1)):
        scores = np.zeros(dataset.construct().num_data())
        values = [value for _, value, _ in feval(scores, dataset)]
        assert len(read) == n_read
    y, groups = data.dataset().construct().get_label(), data.sizes
    for value, metric in zip(values, (bs.Metric("ndcg@5"), bs.Metric("map"), bs.SoftMetric("mrr")), strict=True):
        assert value == metric(y, scores, group=groups)


def test_more_sets_than_usual_are_remembered_if_they_are_small():
    """As a cross-validation of many folds has them, in turn."""
    for n_docs, n_sets, n_built in ((10, 100, 100), (10, 129, 258), (200_000, 33, 66)):
        cache, calls, groups = boostsoft.metric_lists.PreparedCache(), [], bs.QueryGroups.from_sizes([n_docs])
        labels = np.zeros(n_docs)
        for at in (*range(n_sets), *range(n_sets)):
            labels[0] = at
            cache.get(labels, groups, lambda *given, calls=calls: calls.append(given))
        assert len(calls) == n_built
