"""What a comparison searches and trains: spaces, stock settings, numbers of trees, CatBoost's losses."""

from __future__ import annotations

import gc
import json
import weakref
from collections import Counter
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from boostsoft import QueryGroups
from boostsoft.bench import folds
from boostsoft.bench.quality import (
    data,
    methods,
    tasks,
    train_catboost,
    train_lightgbm,
    train_ranker,
    train_xgboost,
)
from boostsoft.bench.quality.jobs import Job, Model, grown
from boostsoft.bench.quality.methods import METHODS, ONE_BOOSTER, OURS
from boostsoft.bench.quality.space import Choice, Depth, LogInteger, LogUniform, draw
from boostsoft.bench.quality.tasks import Place
from boostsoft.bench.quality.watch import Watch, hard_ndcg
from boostsoft.datasets import RankingData
from boostsoft.ranker import SoftRanker
from boostsoft.ranker.random_trees import RANDOM_TREES
from boostsoft.ranker.settings import check_settings

from . import quality_cases
from .bench_cases import Time

lgb = pytest.importorskip("lightgbm")
folder = quality_cases.folder  # a fixture


# ---------------------------------------------------------------------------------------------------------
# What is searched
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", [LogUniform(0.02, 0.2), LogInteger(4, 64), LogInteger(5, 100), Depth(4, 64)], ids=str)
def test_spaces_keep_their_bounds_and_rise(space):
    found = [space.at(u) for u in np.linspace(0.0, 1.0, 1001)[:-1]]
    low, high = (2, 6) if isinstance(space, Depth) else (space.low, space.high)
    assert (min(found), max(found)) == (low, pytest.approx(high, rel=5e-3))
    assert all(low <= value <= high for value in found)
    assert found == sorted(found)


def test_numbers_are_uniform_in_their_logarithm():
    u = np.random.default_rng(0).random(20_000)
    rates = np.array([LogUniform(0.02, 0.2).at(x) for x in u])
    assert np.mean(rates < np.sqrt(0.02 * 0.2)) == pytest.approx(0.5, abs=0.015)
    leaves = np.array([LogInteger(4, 64).at(x) for x in u])
    assert np.mean(leaves == 4) == pytest.approx(np.log(5 / 4) / np.log(65 / 4), abs=0.015)
    assert np.mean(leaves == 64) == pytest.approx(np.log(65 / 64) / np.log(65 / 4), abs=0.003)
    values = Counter(Choice((3, 5, 10)).at(x) for x in u)
    assert all(count / u.size == pytest.approx(1 / 3, abs=0.015) for count in values.values())


def test_a_trial_is_the_same_point_for_every_method():
    for fold, trial in ((1, 1), (1, 2), (3, 7)):
        point = draw(5, fold, trial)
        settings = {method: METHODS[method].setting(point) for method in METHODS}
        rates = {settings[name]["trees"][method.searched.trees[0][0]] for name, method in METHODS.items()}
        leaves = {
            settings[name]["trees"][method.searched.trees[1][0]]
            for name, method in METHODS.items()
            if method.library != "catboost"
        }
        assert len(rates) == len(leaves) == 1
        assert settings["yetirank"]["trees"]["depth"] == min(max(round(np.log2(leaves.pop())), 2), 6)
        assert settings["soft-lightgbm"]["own"] == settings["soft-xgboost"]["own"]
        share = point[4]
        assert settings["lambdarank"]["own"]["lambdarank_truncation_level"] == (3, 5, 10, 20, 30, 100)[int(6 * share)]
    points = {tuple(draw(seed, fold, trial)) for seed in (0, 1) for fold in (1, 2) for trial in (1, 2)}
    assert len(points) == 8


def test_a_further_parameter_of_ours_leaves_the_other_draws_alone():
    method, point = METHODS["soft-lightgbm"], draw(0, 1, 1)
    before = method.setting(point)
    wider = replace(
        method,
        own={**method.own, "sigma": LogUniform(0.5, 2.0, stock=1.0)},
        trees={**method.trees, "subsample": LogUniform(0.5, 1.0), "random_trees": True, "num_leaves": 7},
    )
    after = wider.setting(point)
    assert after["own"] == {**before["own"], "sigma": LogUniform(0.5, 2.0).at(point[6])}
    assert after["trees"]["subsample"] == LogUniform(0.5, 1.0).at(point[15])
    assert {**after["trees"], "num_leaves": before["trees"]["num_leaves"]}.items() > before["trees"].items()
    assert (after["trees"]["num_leaves"], after["trees"]["random_trees"]) == (7, True)
    assert "subsample" not in wider.stock()["trees"]
    assert wider.stock()["own"]["sigma"] == 1.0


def test_trial_0_is_the_stock_setting():
    assert METHODS["lambdarank"].stock() == {
        "trees": {
            "learning_rate": 0.1,
            "num_leaves": 31,
            "min_data_in_leaf": 20,
            "lambda_l2": 0.0,
            "min_sum_hessian_in_leaf": 1e-3,
        },
        "own": {"lambdarank_truncation_level": 30},
    }
    assert METHODS["soft-xgboost"].stock() == {
        "trees": {"learning_rate": 0.1, "num_leaves": 31, "min_child_samples": 20, "reg_lambda": 40.0},
        "own": {"mix": {"kendall": 0.3}, "noise": "gumbel"},
    }
    assert METHODS["xgb-ndcg"].stock()["trees"] == {
        "grow_policy": "depthwise",
        "max_depth": 6,
        "eta": 0.3,
        "max_leaves": 0,
        "min_child_weight": 1.0,
        "reg_lambda": 1.0,
    }
    assert METHODS["stochasticrank"].stock()["own"] == {"sigma": 1.0}


@pytest.mark.parametrize(
    ("n_docs", "n_relevant", "random"),
    [(49_999, 9_000, True), (50_000, 5_000, False), (50_000, 4_999, True), (30_000, 100, True)],
)
def test_trees_are_random_where_the_ranker_would_grow_them_so(n_docs, n_relevant, random):
    """The others that have our trees: as in SoftRanker, on little data only."""
    labels = np.repeat([2.0, 0.0], [n_relevant, n_docs - n_relevant])
    for method in METHODS.values():
        if "random_trees" in method.trees:
            ranker = SoftRanker(booster=method.library)
            trees = method.setting(draw(0, 1, 1))["trees"]
            assert grown(method.library, trees, n_docs, n_relevant) == {
                **{name: value for name, value in trees.items() if name != "random_trees"},
                **(RANDOM_TREES[method.library] if random else {}),
            }
            assert check_settings(ranker).on(labels, QueryGroups.from_sizes([n_docs])).random_trees is random
    frozen = {"num_leaves": 7, "extra_trees": True}  # of a settings file that says so
    assert grown("lightgbm", frozen, n_docs, n_relevant) == frozen


@pytest.mark.parametrize(("n_relevant", "random"), [(4_999, True), (5_000, False)])
def test_a_job_counts_the_relevant_documents(n_relevant, random):
    y = np.repeat([1.0, 0.0], [n_relevant, 50_000 - n_relevant])
    train = RankingData(X=np.zeros((50_000, 1)), y=y, qid=np.zeros(50_000, dtype=np.int64), sizes=np.array([50_000]))
    for name, trainer in (("lambdarank-random", train_lightgbm), ("xgb-ndcg-random", train_xgboost)):
        method = METHODS[name]
        found = trainer.parameters(Job(method, method.stock(), train, train, 0, 3, 60, 1))
        assert all((found.get(key) == value) is random for key, value in RANDOM_TREES[method.library].items())


def test_stock_settings_are_the_libraries_own(folder):
    """A booster with trial 0's parameters is the one without any."""
    train, valid = data.training_data(folds.find_folds(folder)[0])
    job = Job(METHODS["lambdarank"], METHODS["lambdarank"].stock(), train, valid, 0, 3, 60, 1)
    plain = {"objective": "lambdarank", "deterministic": True, "force_row_wise": True, "verbosity": -1, "seed": 0}
    model = lgb.train({**plain, "num_threads": 1}, lgb.Dataset(train.X, train.y, group=train.sizes), 3)
    found = tasks.TRAINERS["lightgbm"](job)
    np.testing.assert_array_equal(
        found.predict(valid.X), model.predict(valid.X, num_iteration=found.trees, raw_score=True)
    )
    xgb = pytest.importorskip("xgboost")
    job = Job(METHODS["xgb-ndcg"], METHODS["xgb-ndcg"].stock(), train, valid, 0, 3, 60, 1)
    matrix = xgb.QuantileDMatrix(train.X, train.y, group=train.sizes)
    model = xgb.train({"objective": "rank:ndcg", "base_score": 0.0, "seed": 0, "nthread": 1}, matrix, 3)
    found = tasks.TRAINERS["xgboost"](job)
    expected = model.predict(xgb.DMatrix(valid.X), iteration_range=(0, found.trees))
    np.testing.assert_array_equal(found.predict(valid.X), expected)


@pytest.mark.parametrize("method", [method.id for method in (*OURS, *ONE_BOOSTER)])
def test_ours_is_the_ranker(folder, method):
    """Trial 0 has its defaults, the number of boosters included; but one where that is asked for."""
    pytest.importorskip(METHODS[method].library)
    train, valid = data.training_data(folds.find_folds(folder)[0])
    found = tasks.TRAINERS["SoftRanker"](Job(METHODS[method], METHODS[method].stock(), train, valid, 3, 5, 60, 1))
    boosters = {"n_boosters": 1} if method.endswith("-one") else {}
    ranker = SoftRanker(
        METHODS[method].library,
        n_estimators=5,
        random_state=3,
        early_stopping_rounds=60,
        **boosters,
    ).fit(train.X, train.y, group=train.sizes, eval_set=[(valid.X, valid.y)], eval_group=[valid.sizes])
    np.testing.assert_array_equal(found.predict(valid.X), ranker.predict(valid.X))
    assert found.trees == ranker.best_iteration_
    assert ranker.n_boosters_ == boosters.get("n_boosters", 4)


# ---------------------------------------------------------------------------------------------------------
# How many trees are kept
# ---------------------------------------------------------------------------------------------------------


def test_the_trees_kept_are_those_of_the_best_round(monkeypatch):
    """Random trees may find no split in one round and one in the next: LightGBM drops the first and goes on."""
    rng = np.random.default_rng(0)
    parts = []
    for _ in range(2):
        X = rng.normal(size=(200, 2))
        y = np.digitize(X[:, 0] + rng.normal(size=200), [0, 1]).astype(float)
        parts.append(RankingData(X=X, y=y, qid=np.repeat(np.arange(20), 10), sizes=np.full(20, 10)))
    watches, watch = [], Job.watch
    monkeypatch.setattr(Job, "watch", lambda job: watches.append(watch(job)) or watches[-1])
    setting = METHODS["lambdarank-random"].stock()
    setting = {**setting, "own": {**setting["own"], "min_data_in_leaf": 60}}
    found = train_lightgbm.train(Job(METHODS["lambdarank-random"], setting, *parts, 3, 60, 40, 1))
    assert found.trees < watches[0].best
    assert hard_ndcg(parts[1], found.predict(parts[1].X)) == pytest.approx(max(watches[0].values), abs=1e-12)


TRAINED_WITH = {
    "soft-lightgbm": (
        train_ranker,
        {"random_state": 7, "n_jobs": 3, "early_stopping_rounds": 11, "n_estimators": 23, "booster": "lightgbm"},
    ),
    "lambdarank": (train_lightgbm, {"seed": 7, "num_threads": 3, "deterministic": True, "force_row_wise": True}),
    "xgb-ndcg": (
        train_xgboost,
        {"seed": 7, "nthread": 3, "tree_method": "hist", "grow_policy": "lossguide", "max_depth": 0},
    ),
    "queryrmse": (train_catboost, {"random_seed": 7, "thread_count": 3, "od_wait": 11, "iterations": 23}),
}


@pytest.mark.parametrize("method", TRAINED_WITH)
def test_a_run_is_trained_with_its_seed_patience_and_threads(folder, method):
    """However little of it shows in the models of small data."""
    train, valid = data.training_data(folds.find_folds(folder)[0])
    setting = METHODS[method].setting(draw(0, 1, 1))
    trainer, wanted = TRAINED_WITH[method]
    found = trainer.parameters(Job(METHODS[method], setting, train, valid, 7, 23, 11, 3))
    assert {name: found.get(name) for name in wanted} == wanted


def test_a_watch_keeps_the_best_and_ends(folder):
    _, valid = data.training_data(folds.find_folds(folder)[0])
    watch = Watch(valid, 2)
    good, bad = valid.y, -valid.y
    values = [watch.add(scores) for scores in (bad, good)]
    assert values == [hard_ndcg(valid, bad), 1.0]
    assert (watch.best, watch.exhausted) == (2, False)
    watch.add(good)
    assert (watch.best, watch.exhausted) == (2, False)
    watch.add(good)
    assert (watch.best, watch.exhausted) == (2, True)


@pytest.mark.parametrize("method", ["lambdarank", "soft-lightgbm-one", "xgb-ndcg", "soft-xgboost-one", "yetirank"])
def test_trees_up_to_the_best_are_kept(folder, method):
    pytest.importorskip(METHODS[method].library)
    train, valid = data.training_data(folds.find_folds(folder)[0])
    setting = METHODS[method].setting(draw(0, 3, 2))
    setting["trees"][METHODS[method].searched.trees[0][0]] = 0.5  # so that the best comes early
    full = tasks.TRAINERS[METHODS[method].trainer](Job(METHODS[method], setting, train, valid, 0, 60, 10**6, 1))
    short = tasks.TRAINERS[METHODS[method].trainer](Job(METHODS[method], setting, train, valid, 0, full.trees, 60, 1))
    assert short.trees == full.trees < 60
    np.testing.assert_allclose(full.predict(valid.X), short.predict(valid.X), rtol=1e-6)
    if METHODS[method].library == "catboost":
        return
    patient = tasks.TRAINERS[METHODS[method].trainer](Job(METHODS[method], setting, train, valid, 0, 60, 1, 1))
    assert patient.trees <= full.trees


def test_one_fold_is_kept_and_no_order_of_it(folder, monkeypatch):
    """Each library's own form of the data holds its rows too: of large ones memory has not room for many."""
    parts = []

    def noted(real):
        def made(*args, **options):
            found = real(*args, **options)
            parts.append(weakref.ref(found))
            return found

        return made

    def alive():
        gc.collect()
        return [part() is not None for part in parts]

    first, second = folds.find_folds(folder)[:2]
    data.training_data(second)  # nothing of the first is there
    monkeypatch.setattr(data, "load_letor", noted(data.load_letor))
    trained = [name for name in ("lambdarank", "xgb-ndcg", "yetirank") if find_spec(METHODS[name].library)]

    def run(kind, fold, method):
        place, setting = Place("TINY", fold.number, method), METHODS[method].stock()
        tasks.run_task(tasks.Task(kind, place, 0, fold, [setting], 2, 60, 1))

    for method in trained:
        run("tune", first, method)
    assert alive() == [True, True]
    run("tune", second, "lambdarank")
    assert alive() == [False, False, True, True]
    monkeypatch.setattr(RankingData, "select_queries", noted(RankingData.select_queries))
    for method in trained:
        run("test", second, method)
    orders = [False] * len(trained)
    assert sorted(alive()[2:]) == [*orders, True, True, True]  # training, validation and test part


# ---------------------------------------------------------------------------------------------------------
# CatBoost
# ---------------------------------------------------------------------------------------------------------


CATBOOST = [name for name, method in METHODS.items() if method.library == "catboost"]


def catboost_job(folder, method, setting, **fixed):
    train, valid = data.training_data(folds.find_folds(folder)[0])
    found = METHODS[method]
    return Job(replace(found, fixed={**found.fixed, **fixed}), setting, train, valid, 0, 6, 60, 1)


@pytest.mark.parametrize("method", CATBOOST)
def test_catboost_trains_every_loss(folder, method):
    pytest.importorskip("catboost")
    job = catboost_job(folder, method, METHODS[method].stock())
    model = tasks.TRAINERS["catboost"](job)
    assert 1 <= model.trees <= 6
    assert hard_ndcg(job.valid, model.predict(job.valid.X)) > hard_ndcg(job.valid, -model.predict(job.valid.X))


@pytest.mark.parametrize("method", [name for name in CATBOOST if METHODS[name].own])
def test_catboost_does_not_pass_over_what_is_searched(folder, method):
    """It takes any name in a loss, and ignores those that it does not know."""
    pytest.importorskip("catboost")
    found = set()
    for u in (0.0, 0.5, 0.99):
        setting = METHODS[method].stock()
        setting["own"] = {name: space.at(u) for name, space in METHODS[method].own.items()}
        found.add(tasks.TRAINERS["catboost"](catboost_job(folder, method, setting)).predict(np.eye(4) * 2).tobytes())
    assert len(found) > 1


@pytest.mark.parametrize(("method", "gain"), [("stochasticrank", "type"), ("yetirank-ndcg", "dcg_type")])
def test_catboost_has_exponential_gains(folder, method, gain):
    pytest.importorskip("catboost")
    assert METHODS[method].fixed[gain] == "Exp"
    jobs = [catboost_job(folder, method, METHODS[method].stock(), **{gain: kind}) for kind in ("Exp", "Base")]
    exponential, linear = (tasks.TRAINERS["catboost"](job).predict(np.eye(4) * 2) for job in jobs)
    assert not np.allclose(exponential, linear)


def test_the_loss_is_written_as_catboost_reads_it(folder):
    setting = {"trees": {}, "own": {"sigma": 0.5}}
    text = "StochasticRank:metric=NDCG;top=10;type=Exp;sigma=0.5"
    assert train_catboost.loss(catboost_job(folder, "stochasticrank", setting)) == text
    assert train_catboost.loss(catboost_job(folder, "queryrmse", {"trees": {}, "own": {}})) == "QueryRMSE"


@pytest.mark.parametrize("kind", ["tune", "test"])
def test_what_a_trainer_refuses_fails_with_its_setting(folder, kind):
    files = folds.find_folds(folder)[0]
    setting = {"trees": {"num_leaves": -5}, "own": {}}
    failed = tasks.run_task(tasks.Task(kind, Place("TINY", 1, "lambdarank"), 0, files, [setting], 3, 60, 1))
    assert failed.values is None
    assert "num_leaves" in failed.record["failed"]
    assert failed.record["setting"] == setting
    assert not {"valid", "trees"} & set(failed.record)


@pytest.mark.parametrize("kind", ["tune", "test"])
@pytest.mark.parametrize("error", [None, ValueError("no")])
def test_a_run_takes_as_long_as_its_training(folder, monkeypatch, kind, error):
    """Whether it fails or not; what was read before counts as little as what is measured afterwards."""
    time, train = Time(), tasks.data.training_data

    def read(files):
        time.go_by(100.0)
        return train(files)

    def trainer(job):
        time.go_by(7.0)
        if error:
            raise error
        return Model(1, lambda X: time.go_by(1000.0) or X[:, 0])

    monkeypatch.setattr(tasks, "time", time)
    monkeypatch.setattr(tasks.data, "training_data", read)
    monkeypatch.setitem(tasks.TRAINERS, "lightgbm", trainer)
    files = folds.find_folds(folder)[0]
    done = tasks.run_task(tasks.Task(kind, Place("TINY", 1, "lambdarank"), 0, files, [{}], 3, 60, 1))
    assert ("failed" in done.record) is bool(error)
    assert done.record["seconds"] == 7.0


@pytest.mark.parametrize("kind", ["tune", "test"])
def test_models_that_refuse_to_score_fail(folder, monkeypatch, kind):
    """As XGBoost does where float32 has no such feature, which may be in the test part alone."""

    def refuse(X):
        raise ValueError("too large a value")

    monkeypatch.setitem(tasks.TRAINERS, "lightgbm", lambda job: Model(1, refuse))
    files = folds.find_folds(folder)[0]
    failed = tasks.run_task(tasks.Task(kind, Place("TINY", 1, "lambdarank"), 0, files, [{}], 3, 60, 1))
    assert failed.record["failed"] == "too large a value"


RANDOM = {methods.RANDOM, *(name for found in RANDOM_TREES.values() for name in found)}  # then by the library's names


@pytest.mark.parametrize(("name", "how_many"), [("mq2008_ohsumed.json", 1), ("mq2008_ohsumed_three.json", 3)])
def test_the_readmes_settings_are_of_these_methods(name, how_many):
    """Those that were frozen for MQ2008 and OHSUMED: of every method and fold, within the spaces, best first."""
    file = Path(methods.__file__).parent / "settings" / name
    document = json.loads(file.read_text(encoding="utf-8"))
    settings, searched_then = document["settings"], document["protocol"]["runs"]["methods"]
    assert set(settings) == set(METHODS)
    for name, method in METHODS.items():
        searched = (method.setting(draw(0, 1, 1)), method.stock())
        known = {
            # random trees by their name here, or by the library's
            "trees": {
                n
                for found in searched
                for n in (*found["trees"], *grown(method.library, found["trees"], n_docs=1, n_relevant=1))
            },
            "own": {n for found in searched for n in found["own"]},
        }
        then, now = searched_then[name], method.described()
        assert then["fixed"] == now["fixed"]
        for half in ("trees", "own"):
            spaces = [{n: space for n, space in of[half].items() if n not in RANDOM} for of in (then, now)]
            assert spaces[0] == spaces[1]
        assert set(settings[name]) == {"MQ2008", "OHSUMED"}
        for folds_ in settings[name].values():
            assert set(folds_) == {"1", "2", "3", "4", "5"}
            for best in folds_.values():
                found = [best, *best.get("next", [])]
                assert len({entry["trial"] for entry in found}) == how_many
                judged = [entry.get("judged", entry["valid"]) for entry in found]
                assert judged == sorted(judged, reverse=True)
                for entry in found:
                    assert set(entry["setting"]["trees"]) <= known["trees"]
                    assert set(entry["setting"]["own"]) <= known["own"]
