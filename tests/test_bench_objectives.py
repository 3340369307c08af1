"""What the contenders of the benchmark are given, what their cost is held against, and the processes it starts."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace

import numpy as np
import pytest

import boostsoft.lightgbm as bl
from boostsoft import SoftMetric
from boostsoft.bench import (
    accuracy,
    child_tasks,
    children,
    cold_start,
    nodes,
    objective_cost,
    peers,
)
from boostsoft.bench.boosting import CATBOOST_ITERATIONS, CatBoostIterations, LightGBMIterations, XGBoostIterations
from boostsoft.bench.objective_cost import LIGHTGBM, REFERENCE, measure_objectives
from boostsoft.bench.peers import Peers, find_peers
from boostsoft.bench.pools import synthetic_pool
from boostsoft.bench.settings import full, quick
from boostsoft.bench.timing import Rounds, Silent, Spread
from boostsoft.kernels.noise import LAWS


def test_peers_that_are_not_there_are_named_and_left_out(monkeypatch):
    real = importlib.import_module

    def without(name, *package):
        if name == "catboost":
            raise ModuleNotFoundError("No module named 'catboost'", name="catboost")
        if name == "ranx":
            raise ImportError("libwrong.so: not found")
        if name == "pytrec_eval":
            raise ModuleNotFoundError("No module named 'other'", name="other")
        return real(name, *package)

    monkeypatch.setattr(peers.importlib, "import_module", without)
    found = find_peers(["objective", "hard"])
    assert found.has("lightgbm")
    assert not found.has("catboost")
    assert found.missing == {
        "catboost": "not installed",
        "ranx": "cannot be imported: libwrong.so: not found",
        "pytrec_eval": "cannot be imported: No module named 'other'",
    }
    assert "left out: CatBoost (not installed), ranx (cannot" in found.in_words()
    assert find_peers(["cold"]) == Peers({}, {})

    names = {row["name"] for row in objectives(synthetic_pool(4, 10), found).rows}
    assert not any("CatBoost" in name for name in names)
    assert {"LightGBM lambdarank@30", "boostsoft gaussian"} <= names


def objectives(pool, found, **changes):
    settings = quick(4, 1, 0)
    for name, value in {"at_least": 0.0, "sigmas": (0.5,), **changes}.items():
        object.__setattr__(settings, name, value)
    return measure_objectives(pool, settings, found, Silent())


def test_an_objective_is_charged_without_its_tree():
    section = objectives(synthetic_pool(4), Peers({}, {}), rounds=3)
    seconds = section.rounds.seconds
    row = next(row for row in section.rows if row["name"] == "boostsoft gaussian")
    name = "boostsoft gaussian, k=10, sigma=0.5"
    net, other = seconds[name] - seconds[LIGHTGBM], seconds[REFERENCE] - seconds[LIGHTGBM]
    assert row["cost"].median == pytest.approx(np.median(net) / 4 * 1e6)
    wanted = [a / b for a, b in zip(net, other, strict=True) if b > 0] or [np.nan]
    assert row["reference"].median == pytest.approx(np.median(wanted), nan_ok=True)
    assert len(row["targets"]) == 3
    short = objectives(synthetic_pool(4, 10), Peers({}, {}), rounds=1)  # what was promised is for lists of 120
    assert {len(row["targets"]) for row in short.rows if "noise" in row} == {1}
    tree = next(row for row in section.rows if row["name"] == LIGHTGBM)
    assert tree["cost"].median == pytest.approx(np.median(seconds[LIGHTGBM]) / 4 * 1e6)
    assert "targets" not in tree


def test_what_objectives_are_given_and_held_against(monkeypatch):
    """Ours takes two seconds for 30 queries, lambdarank@30 four, StochasticRank forty for the first 20."""
    made, checked = [], []

    class Iterations:
        def __init__(self, pool, at_least=0.0):
            self.pool = pool

        def measure(self, objective, sigma=1.0, **parameters):
            made.append((self.pool.n_queries, getattr(objective, "rule", objective), sigma, parameters))
            return lambda: 1.0

    def interleaved(contenders, rounds, watcher=None):
        took = {name: 1.0 for name in (LIGHTGBM, objective_cost.XGBOOST, objective_cost.CATBOOST)}
        took |= {REFERENCE: 5.0, objective_cost.STOCHASTIC: 41.0}
        return Rounds({one.name: np.full(rounds, took.get(one.name, 3.0)) for one in contenders})

    def gradient_errors(pool, noises, sigmas, cutoffs, watcher):
        checked.append(pool.n_queries)
        return {(n, k, s): 1e-5 if n == "gaussian" else 1e-3 for n in noises for k in cutoffs for s in sigmas}

    for name in ("LightGBMIterations", "XGBoostIterations", "CatBoostIterations"):
        monkeypatch.setattr(objective_cost, name, Iterations)
    monkeypatch.setattr(objective_cost, "interleave", interleaved)
    monkeypatch.setattr(objective_cost, "gradient_errors", gradient_errors)
    sizes = {"dear_queries": 20, "checked_queries": 25, "sigmas": (0.5,), "cutoffs": (5, 10)}
    found = Peers({"xgboost": "3", "catboost": "1"}, {})
    section = measure_objectives(synthetic_pool(30), replace(full(30, 2, 0), **sizes), found, Silent())
    peers_ = [(n, rule, parameters) for n, rule, _, parameters in made if isinstance(rule, str)]
    pairs = {"lambdarank_pair_method": "topk"}
    stochastic = "StochasticRank:metric=NDCG;top=10;num_estimations="
    assert peers_ == [
        (30, "regression", {}),
        (30, "lambdarank", {"lambdarank_truncation_level": 10}),
        (30, "lambdarank", {"lambdarank_truncation_level": 30}),
        (30, "rank_xendcg", {}),
        (30, "reg:squarederror", {}),
        *((30, "rank:ndcg", {**pairs, "lambdarank_num_pair_per_sample": n}) for n in (10, 30)),
        *((20, loss, {}) for loss in (f"{stochastic}1", f"{stochastic}10", "YetiRank", "RMSE")),
    ]
    ours = [(rule.noise, rule.metric.k, sigma) for _, rule, sigma, _ in made if not isinstance(rule, str)]
    four = [(noise, k, 0.5) for noise in ("gaussian", "gumbel") for k in (5, 10)]
    assert ours == [*four, ("gaussian", None, 0.5), ("gumbel", 10, 0.5), ("gumbel", 10, 0.5), ("gaussian", 10, 0.5)]
    rows = {(row["noise"], row["k"]): row for row in section.rows if "noise" in row}
    assert list(rows) == [(noise, k) for noise, k, _ in four]
    for (noise, k), row in rows.items():
        cells = [row["cost"].median, row["reference"].median, row["stochastic"].median]
        assert cells == pytest.approx([2e6 / 30, 0.5, 1 / 30])
        met = [noise == "gaussian"] + [True] * 3 * (k == 10)
        assert [verdict.met for verdict in row["targets"]] == met
    [itself] = [row for row in section.rows if row["name"] == REFERENCE]
    assert "reference" not in itself
    assert checked == [25]
    assert "the worst of 25 queries" in section.note
    assert "first 20 queries" in section.note


def test_labels_that_lambdarank_refuses_leave_it_out():
    pool = synthetic_pool(4, 10)
    pool.labels[0] = 0.5
    section = objectives(pool, Peers({}, {}))
    assert "lambdarank" in " ".join(section.left_out)
    assert any(row["name"] == "boostsoft gaussian" and row["cost"].median for row in section.rows)
    assert all("reference" not in row for row in section.rows)


# ---------------------------------------------------------------------------------------------------------
# What the contenders are given
# ---------------------------------------------------------------------------------------------------------


class Spy:
    """An objective that keeps what it is called with."""

    def __init__(self, rule):
        self.rule, self.seen = rule, []

    def __call__(self, preds, data):
        self.seen.append(np.array(preds, dtype=float).ravel())
        return self.rule(preds, data)


@pytest.mark.parametrize("sigma", [0.2, 1.0])
@pytest.mark.parametrize("booster", ["lightgbm", "xgboost"])
def test_scores_stay_where_they_are_put(booster, sigma):
    pool = synthetic_pool(5, 12, seed=1)
    pytest.importorskip(booster)
    if booster == "lightgbm":
        spy, boosting = Spy(bl.objective("ndcg@10")), LightGBMIterations(pool, 0.0)
    else:
        import boostsoft.xgboost as bx

        spy, boosting = Spy(bx.objective("ndcg@10")), XGBoostIterations(pool, 0.0)
    measure = boosting.measure(spy, sigma)
    assert all(measure() > 0 for _ in range(3))
    assert len(spy.seen) == 3
    for scores in spy.seen:
        np.testing.assert_allclose(scores, pool.scores / sigma, atol=2e-6)


def test_catboost_is_timed_between_iterations_from_the_given_scores():
    catboost = pytest.importorskip("catboost")
    pool, baselines, ticks = synthetic_pool(5, 12), [], []
    real = catboost.CatBoost.fit

    def fit(self, data, callbacks):
        baselines.append(np.ravel(data.get_baseline()))
        np.testing.assert_array_equal(np.array(data.get_label(), float), pool.labels)
        ticks.append(callbacks[0]._ticks)
        return real(self, data, callbacks=callbacks)

    catboost.CatBoost.fit = fit
    try:
        seconds = CatBoostIterations(pool).measure("StochasticRank:metric=NDCG;top=10;num_estimations=1")()
    finally:
        catboost.CatBoost.fit = real
    np.testing.assert_allclose(baselines[0], pool.scores, atol=1e-6)
    assert len(ticks[0]) == CATBOOST_ITERATIONS + 1
    assert seconds == np.median(np.diff(ticks[0])) > 0


def test_the_gradients_error_is_seen(monkeypatch):
    pool = synthetic_pool(4, 20)
    assert 0 < accuracy.worst_error(pool, "ndcg@5", "gaussian", 0.3) < 1e-4
    real = accuracy.SoftObjective.gradient_curvature

    def wrong_in_one_query(self, queries, scores):
        gradient, curvature = real(self, queries, scores)
        gradient[20:40] *= 1.01
        return gradient, curvature

    monkeypatch.setattr(accuracy.SoftObjective, "gradient_curvature", wrong_in_one_query)
    assert accuracy.worst_error(pool, "ndcg@5", "gaussian", 0.3) == pytest.approx(0.01, rel=1e-3)


def test_both_gradients_are_of_the_noise_and_the_sigma(monkeypatch):
    pool = synthetic_pool(4, 20)
    exact = SoftMetric("ndcg@5", noise="gumbel", sigma=0.3, accuracy="high")
    gradient = 4 * 0.3 * exact.gradient(pool.labels, pool.scores, group=pool.sizes)
    asked = []

    def gradient_curvature(self, queries, scores):
        asked.append((self.noise, scores))
        return gradient, gradient

    monkeypatch.setattr(accuracy.SoftObjective, "gradient_curvature", gradient_curvature)
    assert accuracy.worst_error(pool, "ndcg@5", "gumbel", 0.3) < 1e-10
    [(noise, scores)] = asked
    assert noise == "gumbel"
    np.testing.assert_array_equal(scores, pool.scores / 0.3)


def test_gradients_that_nobody_promised_do_not_count_as_errors():
    """Two documents 12 sigma apart pull at each other with 1e-16; at 5 sigma with 1e-3, which is held to 1e-4."""
    pool = synthetic_pool(1, 2)
    pool.labels[:] = 0, 1
    pool.scores[:] = 1, 0
    assert accuracy.worst_error(pool, "ndcg@5", "gaussian", 1 / 12) < 1e-4
    assert 0 < accuracy.worst_error(pool, "ndcg@5", "gaussian", 1 / 5) < 1e-4


# ---------------------------------------------------------------------------------------------------------
# Nodes and cells
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", LAWS)
def test_where_every_node_sees_every_document_cells_are_a_product(noise):
    pool = synthetic_pool(1, 40)
    pool.scores[:] = 0.0
    count = nodes.count_cells(pool, "ndcg@7", noise, 1.0)
    seen = count.cells / (40 * 7)
    # nodes come in eights
    assert count.nodes <= seen < count.nodes + 8
    least = (pool.labels == pool.labels.min()).sum()
    documents = 40 * nodes.LAW_OPERATIONS[noise] + least * nodes.PLAIN_END + (40 - least) * nodes.PICKED_END
    cells = 7 * (least * nodes.PLAIN_CELL + (40 - least) * nodes.PICKED_CELL)
    assert count.operations < 2.0 * seen * (documents + cells)
    # at the first nodes all are far below, and under Gumbel noise have no law of their own there
    if noise == "gumbel":
        assert count.operations > count.nodes * (nodes.MOMENTS + 7 * nodes.MOMENTS_RANK)
        assert count.operations > 0.25 * seen * (documents + cells)
    else:
        assert count.operations > 0.999 * seen * 40 * (nodes.LAW_OPERATIONS[noise] + nodes.FAINT)
        assert count.operations > 0.5 * seen * (documents + cells)


@pytest.mark.parametrize("noise", LAWS)
def test_short_lists_need_few_nodes(noise):
    """In whole blocks of eight, and no more than the rule that follows a crowd would take."""
    short, longer = (nodes.count_cells(synthetic_pool(40, n), "ndcg@10", noise, 1.0) for n in (23, 24))
    assert short.nodes * 40 % 8 == 0
    assert 20 <= short.nodes < 60
    whole, cut = (nodes.count_cells(synthetic_pool(40, n), "ndcg@48", noise, 1.0) for n in (48, 49))
    assert whole.nodes < cut.nodes
    assert abs(short.nodes - longer.nodes) < 25
    # a row has no more ranks than documents before it
    alone = nodes.count_cells(synthetic_pool(1, 4), "ndcg@4", noise, 50.0)
    assert alone.cells == pytest.approx(10 * alone.nodes)


def test_spread_out_scores_need_fewer_cells_and_far_apart_ones_none():
    pool = synthetic_pool(3, 50)
    near, far = (nodes.count_cells(pool, "ndcg@10", "gaussian", sigma) for sigma in (1.0, 0.05))
    assert 20 <= near.nodes <= 60
    assert far.cells < 0.5 * near.cells
    assert nodes.count_cells(pool, "ndcg@10", "gaussian", 1e-9) == (0, 0, 0)


# ---------------------------------------------------------------------------------------------------------
# Processes
# ---------------------------------------------------------------------------------------------------------


def test_a_child_reports_and_a_failing_one_is_named():
    found = children.ask("hard")
    assert set(found) == {"import", "first", "second"}
    assert found["first"] > found["second"] > 0
    with pytest.raises(ChildProcessError, match=r"the process for 'memory' failed: .*noise"):
        children.ask("memory", documents=10, noise="pink", sigma=1.0)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot start the peak anew")
def test_memory_that_is_given_back_counts():
    np.ones(20_000_000)  # an earlier peak of 160 MB must not hide a later one
    before = child_tasks._restart_peak()
    np.ones(8_000_000)
    assert 55 < child_tasks._peak() - before < 90


def test_memory_is_unknown_where_the_system_does_not_tell(monkeypatch, tmp_path):
    monkeypatch.setattr(child_tasks, "_SELF", tmp_path / "none")
    monkeypatch.setitem(sys.modules, "resource", None)  # as on Windows
    assert np.isnan(child_tasks._memory(10, "gaussian", 1.0)["megabytes"])


@pytest.mark.parametrize("brought", [False, True])
def test_cold_start_compiles_once_into_a_new_folder_and_reads_it_afterwards(brought, monkeypatch, tmp_path):
    asked = []

    def ask(task, environment=None, installed=True):
        folder = (environment or {}).get("NUMBA_CACHE_DIR")
        asked.append((task, folder, installed))
        return {"import": 0.25, "first": 0.125 if installed or asked.count(asked[-1]) > 1 else 7.0}

    monkeypatch.setattr(cold_start, "ask", ask)
    monkeypatch.setattr(cold_start.cache, "COMPILED", tmp_path if brought else tmp_path / "missing")
    section = cold_start.measure_cold_start(full(None, 3, 0), Silent())
    ways = [True] * 4 + [False] * 4 if brought else [False] * 4
    assert [(task, way) for task, _, way in asked] == [
        *[("import", True)] * 3, *[("gradient", way) for way in ways], *[("hard", way) for way in ways],
    ]  # fmt: skip
    assert {folder for task, folder, _ in asked if task == "import"} == {None}
    assert len({folder for task, folder, _ in asked if task != "import"}) == len(ways) // 2
    compiling = section.rows[1 + brought]
    assert (compiling["cold"], compiling["warm"]) == (7.0, Spread(0.125, 0.125, 0.125))
    assert [verdict.met for verdict in compiling["targets"]] == [False, True]
    if brought:
        assert section.rows[1]["cold"] == 0.125
        assert all(verdict.met for verdict in section.rows[1]["targets"])
    assert ("As installed" in section.note) == brought
