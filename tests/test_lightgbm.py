"""The LightGBM adapters under lgb.train, lgb.cv and LGBMRanker: values, weights, copies and traps."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import lightgbm as lgb
import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

import boostsoft as bs
import boostsoft.adapters
import boostsoft.lightgbm as bl
from boostsoft import QueryGroups
from boostsoft.datasets import load_digits_ranking
from boostsoft.kernels.curvature import CURVATURES
from boostsoft.objectives import SoftObjective

from .cases import on_threads

NOISES = ("gaussian", "gumbel", "logistic")
QUIET = {"metric": "None", "verbose": -1, "num_threads": 1, "deterministic": True, "force_row_wise": True}
SMALL = {**QUIET, "num_leaves": 6, "min_data_in_leaf": 5}


class Ranking(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    sizes: np.ndarray

    def dataset(self, **options):
        return lgb.Dataset(self.X, self.y, group=self.sizes, **options)

    @property
    def query(self):
        return np.repeat(np.arange(self.sizes.size), self.sizes)

    @property
    def groups(self):
        return QueryGroups.from_sizes(self.sizes)


def ranking(seed=0, sizes=None):
    """Grades 0 to 3 that two of five features tell, with noise; query 3 has nothing relevant."""
    rng = np.random.default_rng(seed)
    sizes = np.asarray(rng.integers(5, 25, 30) if sizes is None else sizes)
    X = rng.normal(size=(sizes.sum(), 5))
    worth = X[:, 0] + 0.7 * np.abs(X[:, 1]) + 0.3 * rng.normal(size=len(X))
    y = np.digitize(worth, [0.8, 1.5, 2.5]).astype(float)
    y[np.repeat(np.arange(sizes.size), sizes) == 3] = 0.0
    return Ranking(X, y, sizes)


@pytest.fixture(scope="module")
def data():
    return ranking(0)


@pytest.fixture(scope="module")
def valid():
    return ranking(1, [12, 7, 30, 4, 9, 15, 22])


def train(data, objective=None, rounds=8, params=None, **options):
    given = {**SMALL, **(params or {}), "objective": objective or bl.objective("ndcg@5")}
    return lgb.train(given, data if isinstance(data, lgb.Dataset) else data.dataset(), rounds, **options)


def rank_again(data, **options):
    """The same with LGBMRanker."""
    names = {"num_leaves": 6, "min_child_samples": 5, "n_estimators": 8, "metric": "None", "verbose": -1, "n_jobs": 1}
    return lgb.LGBMRanker(**{"objective": bl.sklearn_objective("ndcg@5"), **names, **options})


def spread_metric(**options):
    return bs.SoftMetric("ndcg@5", sigma=0.3, sigma_unit="spread", **options)


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


def test_a_saved_model_predicts_without_this_library(data, tmp_path):
    booster = train(data)
    booster.save_model(tmp_path / "model.txt")
    np.save(tmp_path / "X.npy", data.X)
    script = (
        "import sys; sys.modules['boostsoft'] = None\n"
        "import lightgbm, numpy\n"
        "try:\n    import boostsoft\n"
        "except ImportError:\n    booster = lightgbm.Booster(model_file='model.txt')\n"
        "numpy.save('y.npy', booster.predict(numpy.load('X.npy')))\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, capture_output=True)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), booster.predict(data.X))


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
    metrics = {
        "ndcg_hard@5": bs.Metric("ndcg@5"),
        "precision_hard@3": bs.Metric("precision@3", empty="skip", relevant_from=2),
        "ndcg_gaussian@5": spread_metric(),
        "dcg_logistic": bs.SoftMetric("dcg", noise="logistic"),
        "mine": bs.Metric("ndcg", name="mine"),
    }
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


def test_the_users_object_is_untouched_by_training(data):
    objective = bl.objective("ndcg@5")
    before = pickle.dumps(objective)
    train(data, objective)
    assert objective._cache._entries == []
    assert pickle.dumps(objective) == before
    assert repr(objective).startswith("boostsoft.lightgbm.objective(SoftObjective(metric=Metric('ndcg@5'")
    assert repr(bl.sklearn_objective("ndcg@5")).startswith("boostsoft.lightgbm.sklearn_objective(SoftObjective(")


def test_labels_are_prepared_once_per_data_set(data, monkeypatch):
    """Also in a cross-validation, where as many sets as folds take turns."""
    calls, prepare = [], boostsoft.adapters.prepare

    def counted(*arguments):
        calls.append(arguments)
        return prepare(*arguments)

    monkeypatch.setattr(boostsoft.adapters, "prepare", counted)
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


def test_metrics_refuse_cut_queries_under_any_objective(data):
    with pytest.raises(ValueError, match=r"boostsoft.lightgbm.feval: the folds cut through 27 queries"):
        lgb.cv({**SMALL, "objective": "regression"}, data.dataset(), 3, feval=bl.feval("ndcg@5"))


# Traps


def test_bagging_by_query_is_refused(data):
    params = {"bagging_by_query": True, "bagging_fraction": 0.5, "bagging_freq": 1}
    with pytest.raises(ValueError, match=r"bagging_by_query=True trains stumps .* build a new Dataset"):
        train(data, params=params)
    with pytest.raises(ValueError, match="bagging_by_query=True"):
        train(data.dataset(params={"bagging_by_query": "true"}))
    with pytest.raises(ValueError, match="bagging_by_query=True"):
        lgb.cv({**SMALL, **params, "objective": bl.objective()}, data.dataset(), 3, folds=GroupKFold(3))
    assert train(data, params={"bagging_by_query": False}).num_trees() == 8


def test_positions_are_refused(data):
    with pytest.raises(ValueError, match="objective: the Dataset has positions; correcting position bias is not supp"):
        train(data.dataset(position=np.arange(data.y.size) % 5))


def test_missing_groups_are_named(data):
    with pytest.raises(ValueError, match=r"boostsoft.lightgbm.objective: the data has no groups; give lgb.Dataset"):
        train(lgb.Dataset(data.X, data.y))
    with pytest.raises(ValueError, match=r"boostsoft.lightgbm.objective: the data has no groups"):
        lgb.LGBMRegressor(objective=bl.sklearn_objective(), verbose=-1).fit(data.X, data.y)
    dataset = lgb.Dataset(data.X, data.y)
    with pytest.raises(ValueError, match=r"boostsoft.lightgbm.feval: the data has no groups"):
        train(dataset, "regression", valid_sets=[dataset], feval=bl.feval("ndcg@5"))


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"query_weight": [1.0, 2.0]}, "query_weight must have one value per query, 30; got 2"),
        ({"query_weight": [-1.0] * 30}, "query_weight must not be negative"),
        ({"metric": bs.Metric("dcg@3", discount=[0.1, 0.5, 0.6])}, "the discount must not rise"),
        ({"metric": "cg"}, "there is nothing to learn"),
    ],
)
def test_options_that_do_not_suit_the_data_are_named(data, options, message):
    with pytest.raises(ValueError, match=f"objective: {message}"):
        train(data, bl.objective(**options))


def test_labels_all_equal_are_named(data):
    with pytest.raises(ValueError, match="objective: there is nothing to learn"):
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


def test_names_of_hard_and_soft_metrics():
    names = bl.feval(
        "ndcg@5", "ndcg", bs.Metric("ndcg", k=[1, 2], name="own"), bs.SoftMetric("rbp@3", noise="gumbel")
    ).metrics.names
    assert names == ["ndcg_hard@5", "ndcg_hard", "own", "rbp_gumbel@3"]


def test_the_adapter_of_the_other_interface_is_named(data):
    with pytest.raises(TypeError, match=r"LGBMRanker takes boostsoft.lightgbm.sklearn_objective"):
        rank_again(data, objective=bl.objective()).fit(data.X, data.y, group=data.sizes)
    with pytest.raises(TypeError, match=r"LGBMRanker takes boostsoft.lightgbm.sklearn_eval_metric"):
        bl.feval("ndcg@5")(data.y, data.y)
