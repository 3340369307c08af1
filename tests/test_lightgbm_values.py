"""The numbers of the LightGBM adapters: gradients, curvatures and metrics, weighted and logged."""

from __future__ import annotations

import copy
import itertools

import lightgbm as lgb
import numpy as np
import pytest

import boostsoft as bs
import boostsoft.lightgbm as bl
from boostsoft.kernels.curvature import CURVATURES
from boostsoft.objectives import SoftObjective

from . import booster_cases
from .booster_cases import Ranking, logged_metrics, spread_metric
from .lightgbm_cases import train

data, valid = booster_cases.data, booster_cases.valid  # fixtures


# The objective's numbers


@pytest.mark.parametrize("hessian", CURVATURES)
def test_objective_is_minus_the_gradient_of_the_sum_and_the_curvature(data, hessian):
    options = {"noise": "gumbel", "sigma": 2.0, "hessian": hessian, "accuracy": "default"}
    soft = SoftObjective("ndcg@5", **options)
    scores = np.random.default_rng(5).normal(size=data.y.size)
    gradient, curvature = soft.gradient_curvature(soft.prepare(data.y, data.groups), scores)
    adapter = bl.objective("ndcg@5", **options)
    sklearn = bl.sklearn_objective("ndcg@5", **options)
    for found in (adapter(scores, data.dataset().construct()), sklearn(data.y, scores, None, data.sizes)):
        np.testing.assert_array_equal(found[0], -gradient)
        np.testing.assert_array_equal(found[1], curvature)
    slope = bs.SoftMetric("ndcg@5", noise="gumbel", sigma=2.0).gradient(data.y, scores, group=data.sizes)
    np.testing.assert_allclose(-gradient, -(2.0**2) * data.sizes.size * slope, rtol=1e-12, atol=1e-15)


def test_query_weight_reaches_the_objective(data):
    weights = np.linspace(0.5, 2.0, data.sizes.size)
    scores, dataset = np.zeros(data.y.size), data.dataset().construct()
    plain = bl.objective()(scores, dataset)
    for build in (bl.objective, bl.sklearn_objective):
        adapter = build(query_weight=weights)
        arguments = (scores, dataset) if build is bl.objective else (data.y, scores, None, data.sizes)
        for weighted, unweighted in zip(adapter(*arguments), plain, strict=True):
            np.testing.assert_allclose(weighted, unweighted * weights[data.query], rtol=1e-12, atol=1e-11)


def test_row_weights_multiply_the_gradient_and_the_curvature_of_their_document(data):
    rng = np.random.default_rng(5)
    scores, rows = rng.normal(size=data.y.size), rng.integers(0, 5, data.y.size) / 2.0
    weighted = data.dataset(weight=rows).construct()
    plain = bl.objective()(scores, data.dataset().construct())
    for found in (
        bl.objective()(scores, weighted),
        bl.sklearn_objective()(data.y, scores, rows, data.sizes),
    ):
        for ours, unweighted in zip(found, plain, strict=True):
            np.testing.assert_array_equal(ours, unweighted * rows)


def test_weight_two_is_the_query_twice(data):
    """On features of one decimal, so that the bins do not depend on how often a row occurs."""
    X, y, sizes, query = np.round(data.X, 1), data.y, data.sizes, data.query
    twice = np.concatenate([np.arange(y.size), np.flatnonzero(query == 1), np.flatnonzero(query == 4)])
    params = {"min_data_in_leaf": 1, "min_data_in_bin": 1, "min_sum_hessian_in_leaf": 0.05}
    options = {
        "valid_names": ["training"],
        "feval": bl.feval("ndcg@5", bs.SoftMetric("ndcg@5"), spread_metric(name="spread")),
    }
    logs = [{}, {}]
    rows = lgb.Dataset(X, y, group=sizes, weight=np.where((query == 1) | (query == 4), 2.0, 1.0))
    copies = lgb.Dataset(X[twice], y[twice], group=[*sizes, sizes[1], sizes[4]])
    one, two = (
        train(part, params=params, valid_sets=[part], callbacks=[lgb.record_evaluation(log)], **options)
        for part, log in zip((rows, copies), logs, strict=True)
    )
    np.testing.assert_allclose(one.predict(X), two.predict(X), rtol=1e-4, atol=1e-5)
    assert np.abs(one.predict(X) - train(lgb.Dataset(X, y, group=sizes), params=params).predict(X)).max() > 0.05
    for name, values in logs[0]["training"].items():
        np.testing.assert_allclose(values, logs[1]["training"][name], rtol=1e-5)


# The metrics' numbers


def test_logged_values_are_the_metrics_of_the_same_trees(data, valid):
    metrics = logged_metrics()
    log, sets = {}, {"training": data, "valid_1": valid}
    dataset = data.dataset()
    booster = train(
        dataset,
        valid_sets=[dataset, valid.dataset(reference=dataset)],
        feval=bl.feval(*metrics.values()),
        callbacks=[lgb.record_evaluation(log)],
    )
    assert log.keys() == sets.keys()
    for name, part in sets.items():
        assert list(log[name]) == list(metrics)
        for logged, metric in metrics.items():
            trees = range(1, booster.num_trees() + 1)
            scores = [booster.predict(part.X, raw_score=True, num_iteration=t) for t in trees]
            values = [metric(part.y, score, group=part.sizes) for score in scores]
            assert np.ptp(values) > 0.003
            np.testing.assert_allclose(log[name][logged], values, rtol=0, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_ties_in_order_and_one_for_empty_queries_is_lightgbms_own_ndcg(data, valid, weighted):
    """But for the weight of the empty queries: LightGBM counts each as 1 whatever its weight, we weigh it.

    Queries weigh the mean of their rows' weights in both; LightGBM keeps that mean in single precision.
    """
    rng = np.random.default_rng(3)
    weights = [rng.uniform(0.2, 3.0, part.y.size) if weighted else None for part in (data, valid)]
    log = {}
    dataset = data.dataset(weight=weights[0])
    cutoffs = (1, 5, 10)
    train(
        dataset,
        params={"metric": "ndcg", "eval_at": cutoffs},
        valid_sets=[dataset, valid.dataset(reference=dataset, weight=weights[1])],
        feval=bl.feval(*(bs.Metric(f"ndcg@{k}", ties="order", empty="one") for k in cutoffs)),
        callbacks=[lgb.record_evaluation(log)],
    )
    for name, part, rows in zip(("training", "valid_1"), (data, valid), weights, strict=True):
        means = np.ones(part.sizes.size) if rows is None else part.groups.sums(rows) / part.sizes
        empty = part.groups.sums(part.y) == 0
        assert empty.any()
        surplus = (means[empty] - 1).sum() / means.sum()
        for k in cutoffs:
            ours, theirs = np.array(log[name][f"ndcg_hard@{k}"]), log[name][f"ndcg@{k}"]
            assert np.ptp(theirs) > 0.01
            np.testing.assert_allclose(ours - surplus, theirs, rtol=0, atol=1e-7 if weighted else 1e-12)


def test_a_query_weighs_the_mean_of_its_rows(data):
    rng = np.random.default_rng(3)
    rows, scores = rng.integers(0, 8, data.y.size) / 4.0, rng.normal(size=data.y.size)
    means = np.bincount(data.query, weights=rows) / data.sizes
    metrics = (bs.Metric("ndcg@5"), bs.SoftMetric("ndcg@5", sigma_unit="spread"))
    expected = [metric(data.y, scores, group=data.sizes, query_weight=means) for metric in metrics]
    for found in (
        bl.feval(*metrics)(scores, data.dataset(weight=rows).construct()),
        bl.sklearn_eval_metric(*metrics)(data.y, scores, rows, data.sizes),
    ):
        assert [name for name, _, _ in found] == ["ndcg_hard@5", "ndcg_gaussian@5"]
        assert all(higher_is_better is True for _, _, higher_is_better in found)
        np.testing.assert_allclose([value for _, value, _ in found], expected, rtol=1e-12)


def test_a_query_without_rows_weighs_nothing():
    y, scores, rows = np.array([1.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0]), np.array([1.0, 1.0, 3.0])
    ((_, found, _),) = bl.sklearn_eval_metric("precision@1")(y, scores, rows, [2, 0, 1])
    assert found == 0.75


def test_labels_are_read_as_written():
    """LightGBM keeps labels in single precision, in which .7 is below .7."""
    sizes, y = [4, 4], np.array([0.7, 0.1, 0.2, 0.3, 0.0, 0.7, 0.4, 0.1])
    dataset = lgb.Dataset(np.arange(8.0)[:, None], y, group=sizes).construct()
    assert dataset.get_label().dtype == np.float32
    scores = np.arange(8.0)
    for metric in (bs.Metric("recall@3", relevant_from=0.7), bs.Metric("dcg", gain="linear")):
        ((_, value, _),) = bl.feval(metric)(scores, dataset)
        assert value == metric(y, scores, group=sizes) > 0
    gradient, _ = bl.objective(bs.Metric("precision@2", relevant_from=0.7))(scores, dataset)
    assert gradient[0] < 0, "the relevant document is to rise"


def test_all_fractions_are_relevant_from_themselves_on():
    """Of either sign, as a booster's single precision has them and as these are then written out."""
    for over, under in itertools.product(range(-30, 31), range(1, 31)):
        least = over / under
        kept = float(np.float32(least))
        written = float(str(np.float32(least)))
        metric = bs.Metric("precision@1", relevant_from=least)
        assert [metric([label], [0.0], group=[1]) for label in (least, kept, written)] == [1.0] * 3
        below = np.nextafter(least, -np.inf) if least == int(least) else least - 1e-6 * abs(least)
        assert metric([below], [0.0], group=[1]) == 0.0


@pytest.mark.parametrize("least", [1 / 9, 5 / 6, 0.1 * 3, 1 / 3, 0.7])
def test_a_fraction_is_relevant_from_itself_on(least):
    """In single precision, as boosters and some users keep labels, 5/6 is written .8333333, which is less."""
    y = np.array([least, 0.0, np.nextafter(np.float32(least), np.float32(0)), least * (1 - 1e-6), least + 0.05, 0.1])
    y[2] -= 1e-6
    scores, sizes, metric = np.arange(6.0), [6], bs.Metric("precision@6", relevant_from=least)
    dataset = lgb.Dataset(np.arange(6.0)[:, None], y, group=sizes).construct()
    assert metric(y, scores, group=sizes) == metric(y.astype(np.float32), scores, group=sizes) == 2 / 6
    assert bl.feval(metric)(scores, dataset)[0][1] == 2 / 6
    told = bs.Metric("map", relevant_from=least)
    ranker = bs.SoftRanker(metric=told, eval_metric=told, n_estimators=3, n_boosters=1, random_trees=False)
    labels = np.tile([least, 0.0], 200)
    X = (labels / least + np.random.default_rng(0).normal(size=400))[:, None]
    ranker.fit(X, labels, group=[10] * 40, eval_set=[(X, labels)], eval_group=[[10] * 40])
    (hard,) = ranker.evals_result_["valid_0"].values()
    assert hard[-1] == pytest.approx(ranker.score(X, labels, group=[10] * 40), abs=1e-12)
    assert hard[-1] > 0.4


def test_float_labels_train(data):
    graded = Ranking(data.X, np.round(1 / (1 + np.exp(-data.X[:, 0])), 2), data.sizes)
    metric = bs.Metric("ndcg@5", gain="linear")
    log, dataset = {}, graded.dataset()
    booster = train(
        dataset,
        bl.objective(metric),
        20,
        valid_sets=[dataset],
        feval=bl.feval(metric),
        callbacks=[lgb.record_evaluation(log)],
    )
    reached = metric(graded.y, booster.predict(graded.X), group=graded.sizes)
    assert reached > 0.97 > 0.8 > metric(graded.y, np.zeros(graded.y.size), group=graded.sizes)
    np.testing.assert_allclose(log["training"]["ndcg_hard@5"][-1], reached, rtol=1e-12)


@pytest.mark.parametrize(("losses", "share"), [(None, 0.1), ({"xendcg": 0.5, "ranknet": 0.5}, 0.5)])
def test_curvature_is_the_share_of_lambdaranks_that_regularization_is_said_to_need(losses, share):
    rng = np.random.default_rng(0)
    labels = rng.choice(5, 2400, p=[0.5, 0.3, 0.1, 0.05, 0.05])
    data = lgb.Dataset(np.zeros((2400, 1)), labels, group=[40] * 60, params={"verbose": -1}).construct()
    objectives = (
        bl.objective("ndcg@10", noise="gumbel", mix={"kendall": 0.3}, losses=losses),
        bl.reference_objective("lambdarank"),
    )
    ours, theirs = (objective(np.zeros(2400), data)[1].mean() for objective in objectives)
    assert share / 2 < ours / theirs < share * 2


def test_early_stopping_maximises(data, valid):
    log, dataset = {}, data.dataset()
    booster = train(
        dataset,
        rounds=200,
        params={"learning_rate": 0.3},
        valid_sets=[valid.dataset(reference=dataset)],
        feval=bl.feval(spread_metric()),
        callbacks=[lgb.early_stopping(10, verbose=False), lgb.record_evaluation(log)],
    )
    values = log["valid_0"]["ndcg_gaussian@5"]
    assert 2 < booster.best_iteration < 150
    assert booster.best_iteration == 1 + np.argmax(values)
    assert len(values) == booster.best_iteration + 10
    assert booster.best_score["valid_0"]["ndcg_gaussian@5"] == max(values) > values[0]


def test_results_do_not_alias_the_predictions(data):
    """LightGBM hands over one buffer and overwrites it in the next iteration."""
    buffer, dataset = np.random.default_rng(0).normal(size=data.y.size), data.dataset().construct()
    objective, evaluate = bl.objective(), bl.feval("ndcg@5", spread_metric())
    kept = [*objective(buffer, dataset), evaluate(buffer, dataset)]
    before = copy.deepcopy(kept)
    given = buffer.copy()
    buffer[:] = np.random.default_rng(1).normal(size=data.y.size)
    other = objective(buffer, dataset)
    for now, then in zip(kept[:2], before[:2], strict=True):
        np.testing.assert_array_equal(now, then)
    assert kept[2] == before[2] == evaluate(given, dataset)
    assert np.abs(other[0] - kept[0]).max() > 1e-3
    assert evaluate(buffer, dataset) != kept[2]


@pytest.mark.parametrize("build", [bl.objective, bl.sklearn_objective], ids=lambda build: build.__name__)
def test_the_objective_has_every_option(build):
    options = {
        "mix": {"kendall": 0.5}, "losses": {"xendcg": 0.5}, "noise": "gumbel", "sigma": 2.0, "hessian": "exact",
        "query_weight": [1.0, 2.0], "accuracy": "high",
    }  # fmt: skip
    assert build("map", **options).rule == SoftObjective("map", **options)
