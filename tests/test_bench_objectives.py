"""What the contenders of the benchmark are given, what their cost is held against, and the processes it starts."""

from __future__ import annotations

import importlib
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import boostsoft.lightgbm as bl
from boostsoft import Metric, SoftMetric
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
from boostsoft.bench.timing import Contender, Rounds, Silent, Spread
from boostsoft.kernels.expected import ACCURACY
from boostsoft.kernels.families import PLAIN
from boostsoft.kernels.noise import LAWS
from boostsoft.kernels.threads import n_threads
from boostsoft.kernels.workspace import ODDS
from boostsoft.objectives import SoftObjective

from .bench_cases import Told


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
    in_boosters = ("objective", "training", "tracking", "growth")
    assert all({"lightgbm", "xgboost"} <= {*peers.NEEDED[part]} for part in in_boosters)

    names = {row["name"] for row in objectives(synthetic_pool(4, 10), found).rows}
    assert not any("CatBoost" in name for name in names)
    assert {"LightGBM lambdarank@30", "boostsoft gaussian"} <= names


@pytest.mark.parametrize(
    ("versions", "missing", "words"),
    [
        ({}, {}, "nobody"),
        ({"sklearn": "1.5", "ranx": "0.3"}, {}, "scikit-learn 1.5, ranx 0.3"),
        ({}, {"ranx": "not installed"}, "nobody; left out: ranx (not installed)"),
    ],
)
def test_peers_in_words(versions, missing, words):
    assert Peers(versions, missing).in_words() == words


def test_versions_are_those_of_the_package_that_brings_a_peer(monkeypatch):
    """Or what it says itself, if no package is known to have brought it."""
    packages = {"xgboost-cpu": "3", "scikit-learn": "1.5", "pytrec_eval-terrier": "0.5", "pytrec_eval": "0.4"}

    def version(package):
        if package not in packages:
            raise importlib.metadata.PackageNotFoundError(package)
        return packages[package]

    modules = {"ranx": SimpleNamespace(__version__="0.3")}
    monkeypatch.setattr(peers.importlib, "import_module", lambda name: modules.get(name, SimpleNamespace()))
    monkeypatch.setattr(peers.importlib.metadata, "version", version)
    assert peers.import_peers(set(peers.KNOWN)).versions == {
        "lightgbm": "of unknown version", "xgboost": "3", "catboost": "of unknown version", "sklearn": "1.5",
        "ranx": "0.3", "pytrec_eval": "0.5",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (ModuleNotFoundError("No module named 'xgboost'", name="xgboost"), "not installed"),
        (ImportError("libomp.dylib is missing"), "cannot be imported: libomp.dylib is missing"),
        (ValueError("libxgboost.dylib could not be loaded\nsee there"), "cannot be imported: libxgboost.dylib could"),
    ],
)
def test_a_peer_that_cannot_be_imported_is_left_out_whatever_it_raises(monkeypatch, error, why):
    def fail(_):
        raise error

    monkeypatch.setattr(peers.importlib, "import_module", fail)
    found = peers.import_peers({"xgboost"})
    assert not found.has("xgboost")
    assert found.missing["xgboost"].startswith(why)
    assert "\n" not in found.missing["xgboost"]


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
    wanted = [a / b for a, b in zip(net, other, strict=True) if min(a, b) > 0] or [np.nan]
    assert row["reference"].median == pytest.approx(np.median(wanted), nan_ok=True)
    assert len(row["targets"]) == 3
    short = objectives(synthetic_pool(4, 10), Peers({}, {}), rounds=1)  # what was promised is for lists of 120
    assert {len(row["targets"]) for row in short.rows if "noise" in row} == {1}
    tree = next(row for row in section.rows if row["name"] == LIGHTGBM)
    assert tree["cost"].median == pytest.approx(np.median(seconds[LIGHTGBM]) / 4 * 1e6)
    assert "targets" not in tree


def test_what_objectives_are_given_and_held_against(monkeypatch):
    """Ours takes two seconds for 30 queries, lambdarank@30 four, StochasticRank forty for the first 20."""
    made, checked, strict, named = [], [], [], []

    class Iterations:
        def __init__(self, pool, at_least=0.0):
            self.pool = pool

        def measure(self, objective, sigma=1.0, **parameters):
            made.append((self.pool.n_queries, getattr(objective, "rule", objective), sigma, parameters))
            return lambda: 1.0

    def interleaved(contenders, rounds, watcher=None):
        took = {name: 1.0 for name in (LIGHTGBM, objective_cost.XGBOOST, objective_cost.CATBOOST)}
        took |= {REFERENCE: 5.0, objective_cost.STOCHASTIC: 41.0}
        strict.extend(one.name for one in contenders if not one.peer)
        named.extend(one.name for one in contenders if "k=" in one.name)
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
    places = [f", k={k}, sigma={sigma}" for _, k, sigma in ours if k]
    assert [name.endswith(place) for name, place in zip(named, places, strict=True)] == [True] * 7
    rows = {(row["noise"], row["k"]): row for row in section.rows if "noise" in row}
    assert list(rows) == [(noise, k) for noise, k, _ in four]
    for (noise, k), row in rows.items():
        cells = [row["cost"].median, row["reference"].median, row["stochastic"].median]
        assert cells == pytest.approx([2e6 / 30, 0.5, 1 / 30])
        met = [noise == "gaussian"] + [True] * 3 * (k == 10)
        assert [verdict.met for verdict in row["targets"]] == met
    [itself] = [row for row in section.rows if row["name"] == REFERENCE]
    assert "reference" not in itself
    assert {name.split(",")[0] for name in strict} == {  # all others may refuse the data
        *("boostsoft gaussian", "boostsoft gumbel", "boostsoft gaussian in XGBoost"), "PL-Rank-3", LIGHTGBM,
    }  # fmt: skip
    assert checked == [25]
    assert "the worst of 25 queries" in section.note
    assert "on 20 of the queries" in section.note


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
        self.rule, self.seen, self.sizes = rule, [], []

    def __call__(self, preds, data):
        self.seen.append(np.array(preds, dtype=float).ravel())
        self.sizes.append(data.get_group() if hasattr(data, "get_group") else np.diff(data.get_uint_info("group_ptr")))
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
    for scores, sizes in zip(spy.seen, spy.sizes, strict=True):
        np.testing.assert_allclose(scores, pool.scores / sigma, atol=2e-6)
        assert sizes.tolist() == pool.sizes.tolist()


@pytest.mark.parametrize("booster", ["lightgbm", "xgboost"])
def test_a_boosters_own_objective_has_its_parameters_and_a_tree_of_two_leaves(booster, monkeypatch):
    """All measurements at one sigma share their data, at the scores as they are if none is given."""
    library, given, updated = pytest.importorskip(booster), [], []

    class Booster:
        def __init__(self, settings, data):
            given.append((settings, data))

        def num_boosted_rounds(self):
            return 7

        def update(self, *grown, fobj):
            updated.append((grown[1:], fobj))

    monkeypatch.setattr(library, "Booster", Booster)
    boosting = (LightGBMIterations if booster == "lightgbm" else XGBoostIterations)(synthetic_pool(3, 5), 0.0)
    for sigma in ((1.0,), (0.5,), ()):
        measure = boosting.measure("own", *sigma, depth_of_it=4)
        assert all(measure() >= 0.0 for _ in range(2))
    assert len(given) == 3
    settings = given[0][0]
    assert (settings["objective"], settings["depth_of_it"]) == ("own", 4)
    assert settings["num_threads" if booster == "lightgbm" else "nthread"] == n_threads()
    assert settings.get("num_leaves", 2) == 2
    assert settings.get("max_depth", 1) == 1
    assert {"num_leaves", "max_depth"} & set(settings)
    first, other, again = (data[0] if booster == "xgboost" else data for _, data in given)
    assert first is again is not other
    assert updated == [((7,) if booster == "xgboost" else (), None)] * 6


def test_catboost_is_timed_between_iterations_from_the_given_scores():
    catboost = pytest.importorskip("catboost")
    pool, baselines, ticks = synthetic_pool(5, 12), [], []
    real = catboost.CatBoost.fit

    def fit(self, data, callbacks):
        baselines.append(np.ravel(data.get_baseline()))
        np.testing.assert_array_equal(np.array(data.get_label(), float), pool.labels)
        assert np.diff(np.flatnonzero(np.diff([-1, *data.get_group_id_hash()]))).tolist() == [12] * 4
        assert self.get_params()["loss_function"] == "StochasticRank:metric=NDCG;top=10;num_estimations=1"
        assert (self.get_params()["depth"], self.get_params()["thread_count"]) == (1, n_threads())
        assert self.get_params()["learning_rate"] == 1e-5
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


def test_errors_are_of_the_querys_largest_gradient_or_of_what_is_promised(monkeypatch):
    """Three queries: a large gradient, a tiny one that counts as 1e-8 of its natural scale, and equal labels."""
    pool = replace(synthetic_pool(3, 2), labels=np.array([1.0, 2, 1, 2, 1, 1]))
    exact, miss = np.array([0.5, -0.5, 1e-13, -1e-13, 0, 0]), np.zeros(6)

    def gradient(self, *_, **__):
        assert self.accuracy == "high"
        return exact / 3

    monkeypatch.setattr(accuracy.SoftMetric, "gradient", gradient)
    monkeypatch.setattr(accuracy.SoftObjective, "gradient_curvature", lambda *_: (exact + miss, None))
    assert accuracy.worst_error(pool, "ndcg", "gaussian", 1.0) < 1e-15
    miss[0] = 1e-3
    assert accuracy.worst_error(pool, "ndcg", "gaussian", 1.0) == pytest.approx(2e-3)
    miss[2] = -1e-9
    natural = (3 - 1) / (3 + 1 / np.log2(3))
    assert accuracy.worst_error(pool, "ndcg", "gaussian", 1.0) == pytest.approx(1e-9 / (1e-8 * natural))


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


@pytest.mark.parametrize(
    ("noise", "faint", "far"), [("gaussian", 140, 140 / 7 * 20), ("gumbel", 140, 6 * (430 + 32 * 7)), ("gumbel", 0, 0)]
)
def test_cells_and_ends_have_the_operations_of_their_kind(noise, faint, far, monkeypatch):
    """Of two queries: 6 nodes, 700 plain cells, 210 picked ones, 30 in rows, 100 documents near a node."""
    tally, rooms = 2.0 * np.array([6, 700, 210, 30, 100, faint]), []
    monkeypatch.setattr(nodes, "workspace", lambda *given: rooms.append(given) or (tally, {nodes.TALLY: 0}))
    monkeypatch.setattr(nodes, "expect_queries", lambda *_: None)
    found = nodes.count_cells(synthetic_pool(2, 9), "ndcg@7", noise, 1.0)
    law = {"gaussian": 48, "gumbel": 22}[noise]
    cells, ends = 4 * 700 + 12 * 210 + 25 * 30, (2 * 700 + 14 * 210) / 7
    assert found == pytest.approx((6, 700 + 210 + 30 + faint, cells + 100 * law + ends + far))
    assert rooms == [(ODDS, PLAIN, 9, 7, pytest.approx(40.0 - np.log(ACCURACY["fast"][1])))]


# ---------------------------------------------------------------------------------------------------------
# Processes
# ---------------------------------------------------------------------------------------------------------


def test_a_child_reports_and_a_failing_one_is_named():
    started = time.perf_counter()
    found = children.ask("hard", installed=True)
    assert set(found) == {"import", "first"}
    assert min(found.values()) > 0
    assert sum(found.values()) < time.perf_counter() - started
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


def test_memory_is_told_in_a_million_bytes(monkeypatch, tmp_path):
    """Linux counts 1,024 bytes, everywhere but where macOS counts single ones."""
    monkeypatch.setattr(child_tasks, "_SELF", tmp_path)
    (tmp_path / "status").write_text("VmPeak:\t 9000 kB\nVmHWM:\t    2000 kB\nVmRSS:\t 1000 kB\n")
    assert (child_tasks._restart_peak(), child_tasks._peak()) == (1.024, 2.048)
    assert (tmp_path / "clear_refs").read_text() == "5"
    usage = SimpleNamespace(RUSAGE_SELF=0, getrusage=lambda _: SimpleNamespace(ru_maxrss=3000))
    monkeypatch.setitem(sys.modules, "resource", usage)
    monkeypatch.setattr(child_tasks, "_SELF", tmp_path / "none")
    for system, megabytes in (("darwin", 0.003), ("freebsd", 3.072)):
        monkeypatch.setattr(child_tasks, "sys", SimpleNamespace(platform=system))
        assert (child_tasks._restart_peak(), child_tasks._peak()) == (megabytes, megabytes)


@pytest.mark.parametrize(
    ("first_call", "owner", "name"),
    [
        (child_tasks._first_gradient, SoftObjective, "gradient_curvature"),
        (child_tasks._first_hard, Metric, "per_query"),
    ],
)
def test_the_first_call_is_timed(first_call, owner, name, monkeypatch):
    """From the labels on: nothing of it is done before the clock runs."""
    done, real = [], getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *given, **named: done.append(name) or real(*given, **named))
    monkeypatch.setattr(child_tasks, "timed", lambda call: lambda: (done.append("clock"), call(), 7.0)[-1])
    assert first_call(installed=True) == {"first": 7.0}
    assert done == ["clock", name]


def test_memory_is_what_a_call_adds_to_that_of_one_before_it(monkeypatch):
    done, peak = [], [140.0, 90.0]

    def gradient_measure(pool, *given):
        return lambda: done.append((pool.sizes.tolist(), *given)) or 0.5

    monkeypatch.setattr("boostsoft.bench.direct.gradient_measure", gradient_measure)
    monkeypatch.setattr(child_tasks, "_restart_peak", lambda: done.append("from here") or 100.0)
    monkeypatch.setattr(child_tasks, "_peak", lambda: done.append("to here") or peak.pop(0))
    assert child_tasks._memory(30, "gumbel", 0.3) == {"megabytes": 40.0}
    given = ("ndcg@10", "gumbel", 0.3)
    assert done == [([120] * 4, *given), "from here", ([30], *given), "to here"]
    assert child_tasks._memory(30, "gumbel", 0.3)["megabytes"] == 0.0


def test_threads_are_asked_for_seconds_of_a_query(monkeypatch):
    given = []

    def thread_contenders(pool, sigma):
        given.append((pool, sigma))
        return [Contender("a", lambda: 2.0), Contender("b", lambda: 6.0)]

    monkeypatch.setattr("boostsoft.bench.growth.thread_contenders", thread_contenders)
    found = child_tasks._threads(queries=4, sigma=0.3, rounds=3, seed=5)
    assert found == {"seconds": {"a": [0.5] * 3, "b": [1.5] * 3}}
    [(pool, sigma)] = given
    assert sigma == 0.3
    np.testing.assert_array_equal(pool.labels, synthetic_pool(4, seed=5).labels)


def test_kernels_that_came_with_the_package_are_used_unless_said(monkeypatch, tmp_path):
    monkeypatch.setattr(cold_start.cache, "COMPILED", tmp_path)
    child_tasks._use_shipped(True)
    assert tmp_path == cold_start.cache.COMPILED
    child_tasks._use_shipped(False)
    assert not cold_start.cache.COMPILED.exists()


@pytest.mark.parametrize(("brought", "rounds", "warm"), [(False, 3, 3), (True, 3, 3), (False, 1, 2), (True, 9, 5)])
def test_cold_start_compiles_once_into_a_new_folder_and_reads_it_afterwards(
    brought, rounds, warm, monkeypatch, tmp_path
):
    asked, told = [], Told()

    def ask(task, environment=None, installed=True):
        folder = (environment or {}).get("NUMBA_CACHE_DIR")
        asked.append((task, folder, installed))
        return {"import": 0.25, "first": 0.125 if installed or asked.count(asked[-1]) > 1 else 7.0}

    monkeypatch.setattr(cold_start, "ask", ask)
    monkeypatch.setattr(cold_start.cache, "COMPILED", tmp_path if brought else tmp_path / "missing")
    section = cold_start.measure_cold_start(full(None, rounds, 0), told)
    ways = [True] * brought * (1 + warm) + [False] * (1 + warm)
    assert [(task, way) for task, _, way in asked] == [
        *[("import", True)] * warm, *[("gradient", way) for way in ways], *[("hard", way) for way in ways],
    ]  # fmt: skip
    assert told.steps == [len(told.texts)] == [len(asked)]
    assert section.rows[0] == {"name": "import boostsoft", "warm": Spread(0.25, 0.25, 0.25)}
    assert f"then read {warm} times" in section.note
    assert {folder for task, folder, _ in asked if task == "import"} == {None}
    assert len({folder for task, folder, _ in asked if task != "import"}) == 2 * (1 + brought)
    compiling = section.rows[1 + brought]
    assert (compiling["cold"], compiling["warm"]) == (7.0, Spread(0.125, 0.125, 0.125))
    assert [verdict.met for verdict in compiling["targets"]] == [False, True]
    if brought:
        assert section.rows[1]["cold"] == 0.125
        assert all(verdict.met for verdict in section.rows[1]["targets"])
    assert ("As installed" in section.note) == brought
