"""The benchmark's curves, long lists, values, roof, training runs and hard metrics, out of seconds that are given."""

from __future__ import annotations

import threading
from dataclasses import replace

import numba
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import boostsoft.lightgbm as bl
from boostsoft import Metric, SoftMetric
from boostsoft.bench import (
    accuracy,
    direct,
    figures,
    growth,
    hard_cost,
    limits,
    machine,
    nodes,
    peers,
    roofline,
    training_cost,
)
from boostsoft.bench.peers import Peers
from boostsoft.bench.pools import Pool, synthetic_pool
from boostsoft.bench.results import Column, Section
from boostsoft.bench.settings import full, quick
from boostsoft.bench.timing import Contender, Rounds, Silent, Spread
from boostsoft.drawing import BLUE, GREY

from .bench_cases import Told

TREES = {"LightGBM regression": 1.0, "XGBoost regression": 2.0}
SECONDS = {**TREES, growth.GAUSSIAN: 3.0, growth.GUMBEL: 4.0, growth.LAMBDARANK: 5.0, growth.XGBOOST: 7.0}


@pytest.fixture
def grown(monkeypatch):
    """The curves by key, what contenders were made of, what a child was asked, and what a watcher was told."""
    made, asked, told = [], [], Told()

    class Iterations:
        def __init__(self, pool, at_least):
            self.pool = pool

        def measure(self, objective, sigma=1.0, **parameters):
            made.append((self.pool, getattr(objective, "rule", objective), sigma, parameters))
            return lambda: 1.0

    def interleaved(contenders, rounds, watcher=None):
        watcher.begin(rounds)
        watcher.step("all")
        return Rounds({one.name: np.full(rounds, SECONDS[one.name]) for one in contenders})

    def ask(*given, **named):
        asked.append((*given, named))
        return {"seconds": {name: [value, value] for name, value in SECONDS.items() if "XGB" not in name}}

    for name, fake in (("LightGBMIterations", Iterations), ("XGBoostIterations", Iterations), ("ask", ask),
                       ("interleave", interleaved), ("n_threads", lambda: 3)):  # fmt: skip
        monkeypatch.setattr(growth, name, fake)
    settings = replace(full(50, 9, 5), longest=30_000, growth_documents=600)
    sections = growth.measure_growth(settings, Peers({"lightgbm": "4", "xgboost": "3"}, {}), told)
    return {section.key: section for section in sections}, made, asked, told


def test_the_places_of_the_growth_curves(grown):
    curves, made, _, told = grown
    places = {key.removeprefix("growth_"): [row["at"] for row in section.rows] for key, section in curves.items()}
    assert places == {
        "documents": [10, 30, 100, 300, 1000, 3000, 10_000, 30_000],
        "cutoff": [1, 3, 10, 30, 100],
        "sigma": [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0],
        "queries": [30, 100],
        "threads": [1, 2, 3],
    }
    pools = [pool for pool, what, *_ in made if what == "regression"]
    assert [pool.n_queries for pool in pools] == [60, 20, 6, 2, 1, 1, 1, 1, *[5] * 12, 30, 100]
    for pool, wanted in ((pools[0], (60, 10, 5)), (pools[8], (5, 120, 5)), (pools[-1], (100, 120, 5))):
        np.testing.assert_array_equal(pool.labels, synthetic_pool(*wanted).labels)
    assert told.steps == [3] * 23  # rounds, no more than three; the last are the processes
    assert told.texts[0] == "at 10: all"
    assert told.texts[7] == "at 30,000: all"


def test_what_is_compared_along_the_growth_curves(grown):
    curves, made, asked, _ = grown
    ours = [(rule.noise, rule.metric.k, sigma) for _, rule, sigma, _ in made if not isinstance(rule, str)]
    usual = [(10, 0.2)] * 8, [(k, 0.2) for k in (1, 3, 10, 30, 100)]
    cases = [*usual[0], *usual[1], *[(10, s) for s in (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)], *[(10, 0.2)] * 2]
    assert ours == [(noise, *case) for case in cases for noise in ("gaussian", "gumbel")]
    depths = [*[30] * 7, 1, 3, 10, 30, 100, *[30] * 9]  # LightGBM takes no query of 30,000
    assert [p["lambdarank_truncation_level"] for _, what, _, p in made if what == "lambdarank"] == depths
    pairs = [p["lambdarank_num_pair_per_sample"] for _, what, _, p in made if what == "rank:ndcg"]
    assert pairs == [*depths[:7], 30, *depths[7:]]
    for threads, (task, environment, named) in zip((1, 2, 3), asked, strict=True):
        assert task == "threads"
        assert environment == dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"), str(threads))
        assert named == {"queries": 50, "sigma": 0.2, "rounds": 3, "seed": 5}
    first, last = (curves["growth_documents"].rows[at] for at in (0, -1))
    costs = {growth.GAUSSIAN: 2e6, growth.GUMBEL: 3e6, growth.LAMBDARANK: 4e6, growth.XGBOOST: 5e6}
    assert {name: first[name].median for name in costs} == pytest.approx({name: c / 60 for name, c in costs.items()})
    assert growth.LAMBDARANK not in last
    assert [column.key for column in curves["growth_documents"].columns] == ["at", *growth.NAMES]
    for row in curves["growth_threads"].rows:
        assert {name: row[name].median for name in list(costs)[:3]} == dict(list(costs.items())[:3])


def test_a_peer_that_refuses_is_named_with_its_place_on_the_curve(monkeypatch):
    def refuse():
        raise ValueError("too long")

    def contenders(point, *_):
        theirs = Contender(growth.LAMBDARANK, refuse if point.at == 30 else lambda: 2.0, peer=True)
        return [Contender("LightGBM regression", lambda: 1.0), theirs]

    for name, fake in (("_contenders", contenders), ("_DOCUMENTS", (10, 30)), ("_CUTOFFS", (1,)), ("_SIGMAS", (0.1,)),
                       ("_QUERIES", (8,)), ("_threads_section", lambda *given: None)):  # fmt: skip
        monkeypatch.setattr(growth, name, fake)
    settings = replace(full(50, 1, 5), growth_documents=60)
    documents, *others, _ = growth.measure_growth(settings, Peers({}, {}), Silent())
    assert documents.left_out == {"lambdarank at 30": "too long"}
    assert [list(row) for row in documents.rows] == [["at", "lambdarank"], ["at"]]
    assert [other.left_out for other in others] == [{}] * 3


def test_what_a_child_times_on_its_threads(grown):
    made = grown[1]
    made.clear()
    found = growth.thread_contenders(synthetic_pool(2), 0.3)
    assert [one.name for one in found] == ["LightGBM regression", *growth.NAMES[:3]]
    tree, gaussian, gumbel, lambdarank = made
    assert (tree[1], lambdarank[1]) == ("regression", "lambdarank")
    assert [(rule.noise, rule.metric.k, sigma) for _, rule, sigma, _ in (gaussian, gumbel)] == [
        ("gaussian", 10, 0.3),
        ("gumbel", 10, 0.3),
    ]


@pytest.mark.parametrize(
    ("seconds", "megabytes", "met", "whole"),
    [(0.5, 250.0, [True, True], True), (1.5, 350.0, [False, False], False), (0.5, np.nan, [True], True)],
)
def test_long_lists_are_held_against_their_targets(seconds, megabytes, met, whole, monkeypatch):
    measured, asked, told = [], [], Told()

    def gradient_measure(pool, *given):
        measured.append((pool, *given))
        return lambda: seconds

    def ask(task, **named):
        asked.append((task, named))
        return {"megabytes": megabytes}

    monkeypatch.setattr(limits, "gradient_measure", gradient_measure)
    monkeypatch.setattr(limits, "ask", ask)
    settings = replace(full(None, 2, 5), longest=100_000)
    long, lists = limits.measure_limits(settings, told)
    cases = [(noise, sigma) for noise in ("gaussian", "gumbel") for sigma in (0.2, 1.0)]
    assert [(row["noise"], row["sigma"]) for row in long.rows] == cases
    for row in long.rows:
        assert row["time"].median == 1e3 * seconds
        assert [verdict.met for verdict in row["targets"]] == met
    assert asked == [("memory", {"documents": 100_000, "noise": noise, "sigma": sigma}) for noise, sigma in cases]
    np.testing.assert_array_equal(measured[0][0].labels, synthetic_pool(1, 100_000, 5).labels)
    assert [given[1:] for given in measured[:4]] == [("ndcg@10", *case, settings.at_least) for case in cases]
    np.testing.assert_array_equal(measured[4][0].labels, synthetic_pool(16, 1000, 5).labels)
    every = [(metric, *case) for metric in limits.LIST_METRICS for case in cases]
    assert [given[1:] for given in measured[4:]] == every
    assert [(row["metric"], row["noise"], row["sigma"]) for row in lists.rows] == every
    for row in lists.rows:
        assert row["time"].median == pytest.approx(1e3 * seconds / 16)
        assert [verdict.met for verdict in row["targets"]] == ([] if "@" in row["metric"] else [whole])
    assert told.steps == [4 * 3, 4, 24 * 3]


def test_a_shorter_list_is_held_against_nothing(monkeypatch):
    monkeypatch.setattr(limits, "gradient_measure", lambda *_: lambda: 1.0)
    monkeypatch.setattr(limits, "ask", lambda *_, **__: {"megabytes": 1.0})
    long, _ = limits.measure_limits(replace(full(None, 1, 0), longest=100), Silent())
    assert long.verdicts == []


def test_values_and_their_share_of_the_gradient(monkeypatch):
    pool, given = synthetic_pool(4, 12), []
    seconds = {"prepared gradient": 0.6, "prepared value": 0.3, "public gradient": 1.2, "public value": 0.39}
    rounds = Rounds({f"gumbel, sigma=0.5, {name}": np.full(3, value) for name, value in seconds.items()})
    prepared, public = (direct._value_row(pool, rounds, "gumbel", 0.5, call) for call in ("prepared", "public"))
    found = [(row["gradient"].median, row["value"].median, row["ratio"].median) for row in (prepared, public)]
    np.testing.assert_allclose(found, [(0.15e6, 0.075e6, 0.5), (0.3e6, 0.0975e6, 0.325)])
    assert [row["targets"][0].met for row in (prepared, public)] == [False, True]
    for call, row in (("prepared", prepared), ("public", public)):
        assert (row["noise"], row["sigma"], row["call"]) == ("gumbel", 0.5, call)
    monkeypatch.setattr(direct, "timed", lambda action, at_least: given.append(at_least) or action)
    gradient, value, all_of_it, values = (one.measure() for one in direct._contenders(pool, 0.25, "gumbel", 0.5))
    soft = SoftMetric("ndcg@10", noise="gumbel", sigma=0.5, accuracy="high")
    wanted = soft.value_gradient_hessian(pool.labels, pool.scores, group=pool.sizes)
    np.testing.assert_allclose(gradient[0], 4 * 0.5 * wanted[1], atol=1e-5)
    assert value.mean() == pytest.approx(wanted[0], rel=1e-6)
    np.testing.assert_allclose(all_of_it[1], 0.5 * wanted[1], atol=1e-7)
    np.testing.assert_allclose(values.mean(), wanted[0], rtol=1e-6)
    assert given == [0.25] * 4


def test_the_share_of_the_peak():
    pool, name = synthetic_pool(60, 30), "gaussian, sigma=0.5, prepared gradient"
    rounds = Rounds({name: np.full(3, 0.06), name.replace("gradient", "value"): np.ones(3)})
    row = direct._roof_row(pool, rounds, "gaussian", 0.5, 1e9)
    count = nodes.count_cells(pool.some(50), "ndcg@10", "gaussian", 0.5)
    assert (row["noise"], row["sigma"], row["cells"]) == ("gaussian", 0.5, count.cells)
    assert row["per_cell"] == pytest.approx(1e9 * 1e-3 / count.cells)
    assert row["share"] == pytest.approx(count.operations / 1e-3 / 1e9)
    far = Rounds({"gaussian, sigma=1e-09, prepared gradient": np.ones(1)})
    assert direct._roof_row(pool, far, "gaussian", 1e-9, 1e9)["per_cell"] is None


def test_the_peak_counts_every_operation_of_every_thread(monkeypatch):
    """128 multiply-adds for each of 1,024 numbers, over and over, by two threads at once, in the best of the trials."""
    ticks = iter(np.cumsum([0.0, 4.0, 0.0, 0.5, *[0.0, 2.0] * 10]))
    monkeypatch.setattr(roofline.time, "perf_counter", lambda: next(ticks))
    for module in ("bench.roofline", "kernels.threads"):
        monkeypatch.setattr(f"boostsoft.{module}.n_threads", lambda: 2)
    repeats, meeting = [], threading.Barrier(2, timeout=60)

    def polynomials(x, out, n):
        if n > 1:  # in a trial
            meeting.wait()
        repeats.append(n * x.size)

    compiled = getattr(roofline._polynomials, "targetoptions", {"nogil": True})  # without a JIT there is no roof
    assert compiled["nogil"]
    monkeypatch.setattr(roofline, "_polynomials", polynomials)
    assert roofline.peak_operations() == 2 * 2 * 128 * 1024 * 5_000 / 0.5
    assert sum(repeats[1:]) == 12 * 2 * 1024 * 5_000


def test_the_peak_is_that_of_the_kernels_vectors():
    """Which LLVM, left to itself, does not take: the loop's instructions must work on as wide ones as the kernels'."""
    x, out = np.linspace(0.1, 0.9, 1024), np.zeros(1024)
    roofline._polynomials(x, out, 1)
    powers = x[:, None] ** np.arange(16)
    wanted = 36 * x**16 + 4 * (0.5 + 0.3) * powers.sum(axis=1)
    np.testing.assert_allclose(out, wanted, rtol=1e-12)
    if not numba.config.DISABLE_JIT:
        anew = numba.njit(fastmath={"contract"}, error_model="numpy")(
            roofline._polynomials.py_func
        )  # a kept one has no text
        anew(x, out, 1)
        assert "".join(anew.inspect_llvm().values()).count("fmul contract <8 x double>") >= 8


def test_whole_training_runs_are_held_against_the_boosters_own(monkeypatch):
    seconds = {
        "LightGBM lambdarank": 2.0,
        "LightGBM, boostsoft gaussian": 2.1,
        "LightGBM, boostsoft gumbel": 3.0,
        "LightGBM rank_xendcg": 1.0,
        "XGBoost rank:ndcg, topk 10": 3.0,
        "XGBoost rank:ndcg, topk 32": 4.0,
        "XGBoost, boostsoft gaussian": 6.0,
    }

    def contender(self, name, objective, pairs=10):
        assert "topk" not in name or name.endswith(f"topk {pairs}")
        self.models[name] = "num_leaves=3\n"
        return Contender(name, lambda: seconds[name])

    monkeypatch.setattr(training_cost._Runs, "contender", contender)
    both = Peers({"lightgbm": "4", "xgboost": "3"}, {})
    for key in ("synthetic", "files"):
        pool = replace(synthetic_pool(2, 5), key=key)
        section = training_cost.measure_training(pool, full(None, 5, 0), both, Silent())
        rows = {row["name"]: row for row in section.rows}
        assert {name: row["wall"].median for name, row in rows.items()} == seconds
        ratios = {name: row["reference"].median for name, row in rows.items() if "reference" in row}
        assert list(ratios.values()) == pytest.approx([1.05, 1.5, 0.5, 0.75, 1.5])
        met = {name: row["targets"][0].met for name, row in rows.items() if "targets" in row}
        ours = dict(zip(list(seconds)[1:3], (True, False), strict=True))  # of lists of 120 documents and LightGBM
        assert met == (ours if key == "synthetic" else {})
        assert "each of 2 rounds" in section.note
        assert section.rounds.seconds["LightGBM lambdarank"].size == 2


@pytest.mark.parametrize("name", ["LightGBM, ours", "XGBoost, ours"])
def test_five_trees_warm_up_and_then_all_are_grown(name):
    pytest.importorskip(name.split(",")[0].lower())
    import boostsoft.xgboost as bx

    rule, grown = (bl if name.startswith("L") else bx).objective("ndcg@10"), []

    def objective(preds, data):  # LightGBM copies any other callable
        grown.append(len(preds))
        return rule(preds, data)

    runs = training_cost._Runs(synthetic_pool(10, 20), replace(full(None, None, 0), trees=7, leaves=3))
    contender = runs.contender(name, objective)
    contender.warm_up()
    assert grown == [200] * 5
    contender.measure()
    assert grown == [200] * (5 + 7)
    assert training_cost.leaves_per_tree(runs.models[name]) == 3.0
    assert not contender.peer
    assert runs.contender(name, "lambdarank").peer


def test_the_pairs_of_rank_ndcg_are_its_own_by_default():
    pytest.importorskip("xgboost")
    runs = training_cost._Runs(synthetic_pool(5, 60), replace(full(None, None, 0), trees=2, leaves=3))
    stock = runs._xgboost_run("rank:ndcg", 2, training_cost.STOCK_PAIRS)
    with pytest.MonkeyPatch.context() as patch:
        its = training_cost.xgboost_parameters
        patch.setattr(
            training_cost,
            "xgboost_parameters",
            lambda *args: {name: value for name, value in its(*args).items() if "pair" not in name},
        )
        assert runs._xgboost_run("rank:ndcg", 2, 0) == stock
    assert runs._xgboost_run("rank:ndcg", 2, training_cost.PAIRS) != stock


def test_both_boosters_learn_at_the_same_rate():
    ours, theirs = training_cost.lightgbm_parameters("lambdarank", full(None, None, 0)), "rank:ndcg"
    assert ours["learning_rate"] == training_cost.xgboost_parameters(theirs, full(None, None, 0))["eta"] == 0.1


def test_hard_metrics_are_as_many_times_faster():
    """A peer may run on the first queries alone."""
    pool = synthetic_pool(4, 10)
    values = Metric("ndcg@10").per_query(pool.labels[:20], pool.scores[:20], group=[10, 10])
    rival = hard_cost.Rival("scikit-learn", "ndcg@10", lambda: values + 0.25, Metric("ndcg@10"), pool.first(2))
    seconds = {"scikit-learn, ndcg@10": 2.0, **{hard_cost._own(rival.ours, call): took for call, took in (
        (hard_cost.PUBLIC, 0.08), (hard_cost.PREPARED, 0.02))}}  # fmt: skip
    rounds = Rounds({name: np.full(2, took) for name, took in seconds.items()})
    row = hard_cost._rival_row(rival, rounds, pool)
    found = [row["cost"].median, row["faster"].median, row["prepared"].median, row["difference"]]
    assert found == pytest.approx([1e6, 50.0, 200.0, 0.25])
    assert [verdict.met for verdict in row["targets"]] == [False, True]
    assert hard_cost._own_row(rival.ours, hard_cost.PUBLIC, rounds, pool)["cost"].median == pytest.approx(0.02e6)
    assert "targets" not in hard_cost._rival_row(replace(rival, name="LightGBM"), Rounds(
        {**rounds.seconds, "LightGBM, ndcg@10": np.ones(2)}), pool)  # fmt: skip


def test_a_peer_that_refuses_is_named_below_its_table(monkeypatch):
    def refuse():
        raise ValueError("too many documents")

    pool, few = synthetic_pool(2, 5), replace(full(None, 1, 0), at_least=0.0)
    rival = hard_cost.Rival("ranx", "map", refuse, Metric("map"), pool)
    monkeypatch.setattr(hard_cost, "find_rivals", lambda *given: [rival])
    hard = hard_cost.measure_hard(pool, few, Peers({}, {}), Silent())
    assert hard.left_out == {"ranx, map": "too many documents"}
    assert {row["name"] for row in hard.rows} == {hard_cost.PUBLIC, hard_cost.PREPARED}

    def contender(self, name, objective):
        self.models[name] = "num_leaves=3\n"
        return Contender(name, refuse if name.endswith("xendcg") else lambda: 1.0, peer=True)

    monkeypatch.setattr(training_cost._Runs, "contender", contender)
    training = training_cost.measure_training(pool, few, Peers({}, {}), Silent())
    assert training.left_out == {"LightGBM rank_xendcg": "too many documents"}
    assert len(training.rows) == 3


def test_hard_metrics_are_the_peers_on_queries_of_one_document_and_without_relevant_ones():
    labels, sizes = np.array([2.0, 0, 0, 0, 1, 0, 3, 0, 2, 2]), np.array([1, 1, 2, 4, 2])
    pool = Pool("files", "a", labels, np.random.default_rng(0).normal(size=10), sizes)
    installed = peers.import_peers({"sklearn", "pytrec_eval", "lightgbm"})  # ranx compiles for a minute
    found = hard_cost.find_rivals(pool, replace(full(None, None, 0), dear_queries=4), installed)
    assert {rival.name for rival in found} >= {"scikit-learn", "LightGBM"}
    for rival in found:
        assert rival.pool.n_queries == (4 if rival.name == "scikit-learn" else 5)
        ours = rival.ours.per_query(rival.pool.labels, rival.pool.scores, group=rival.pool.sizes)
        assert np.mean(rival.run()) == pytest.approx(ours.mean(), abs=1e-7)


def test_labels_that_are_no_grades_are_for_those_who_take_them():
    labels, sizes = np.array([0.5, 0, 1, 1.5]), np.array([2, 2])
    pool = Pool("files", "a", labels, np.random.default_rng(0).normal(size=4), sizes)
    found = hard_cost.find_rivals(pool, full(None, None, 0), peers.import_peers({"sklearn", "pytrec_eval"}))
    for rival in found:
        if rival.name == "pytrec_eval":
            with pytest.raises(ValueError, match="labels must be whole numbers"):
                rival.run()
        else:
            ours = rival.ours.per_query(pool.labels, pool.scores, group=pool.sizes)
            np.testing.assert_allclose(rival.run(), ours, rtol=1e-12)


def test_an_error_for_every_noise_cutoff_and_sigma(monkeypatch):
    monkeypatch.setattr(accuracy, "worst_error", lambda pool, metric, noise, sigma: (metric, noise, sigma))
    told = Told()
    found = accuracy.gradient_errors(synthetic_pool(1, 2), ("gaussian", "gumbel"), (0.1, 1.0), (5, 10), told)
    assert told.steps == [8]
    assert len(told.texts) == 8
    assert found[("gumbel", 5, 0.1)] == ("ndcg@5", "gumbel", 0.1)
    assert all(error == (f"ndcg@{k}", noise, sigma) for (noise, k, sigma), error in found.items())


def test_the_bars_of_costs_are_of_one_cutoff_and_of_no_tree():
    rows = [
        {"name": "boostsoft gaussian", "k": 10, "sigma": 0.5, "cost": Spread(2.0, 1.0, 3.0)},
        {"name": "boostsoft gaussian", "k": 5, "sigma": 0.5, "cost": Spread(1.5, 1.0, 3.0)},
        {"name": "LightGBM lambdarank@30", "cost": Spread(4.0, 3.5, 5.0)},
        {"name": "LightGBM regression", "tree": True, "cost": Spread(9.0, 9.0, 9.0)},
        {"name": "LightGBM rank_xendcg", "cost": Spread(-1.0, -2.0, 3.0)},
    ]
    low = [{**rows[0], "cost": Spread(2.0, -9.0, 3.0)}, rows[2]]
    assert figures.plot_costs(Section("key", "", "", (), low), ax=Figure().add_subplot()).get_xlim()[0] > 0.5
    axes = figures.plot_costs(Section("key", "", "", (), rows), ax=Figure().add_subplot())
    assert [(bar.get_width(), bar.get_y() + 0.35) for bar in axes.patches] == [(4.0, 0.0), (2.0, 1.0)]
    assert [to_hex(bar.get_facecolor(), keep_alpha=False).upper() for bar in axes.patches] == [GREY, BLUE]
    assert [list(line.get_xdata()) for line in axes.get_lines()] == [[3.5, 5.0], [1.0, 3.0]]
    assert [(text.get_text(), text.xy) for text in axes.texts] == [(" 4", (5.0, 0)), (" 2", (3.0, 1))]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["LightGBM lambdarank@30", "boostsoft gaussian, sigma 0.5"]
    assert axes.get_xscale() == "log"


def test_the_curves_of_growth_have_their_quartiles():
    rows = [
        {"at": 10, growth.GAUSSIAN: Spread(2.0, 1.0, 3.0), growth.LAMBDARANK: Spread(4.0, 3.0, 5.0)},
        {"at": 100_000, growth.GAUSSIAN: Spread(20.0, 10.0, 30.0), growth.LAMBDARANK: Spread(-1.0, -2.0, 5.0)},
        {"at": 10_000},
    ]
    section = Section("growth_documents", "Growth", "", (Column("at", "documents", "plain"),), rows)
    figure = figures.growth_figure([section, replace(section, title="Other")])
    axes = figure.axes[0]
    curves = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in axes.get_lines()}
    low = replace(section, rows=[{"at": 10, growth.GAUSSIAN: Spread(2.0, -9.0, 3.0)}, *rows[1:]])
    assert figures.plot_growth(low, ax=Figure().add_subplot()).get_ylim()[0] > 0.5  # not far below what is drawn
    assert curves == {growth.GAUSSIAN: ([10, 100_000], [2.0, 20.0]), growth.LAMBDARANK: ([10], [4.0])}
    band = {tuple(corner) for corner in axes.collections[0].get_paths()[0].vertices.tolist()}
    assert band == {(10.0, 1.0), (10.0, 3.0), (100_000.0, 10.0), (100_000.0, 30.0)}
    assert (axes.get_xscale(), axes.get_yscale(), axes.get_xlabel()) == ("log", "log", "documents")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["10", "100k", "10k"]
    assert [panel.get_title(loc="left") for panel in figure.axes] == ["Growth", "Other", "", "", "", ""]
    assert [panel.axison for panel in figure.axes] == [True] * 2 + [False] * 4
    assert [text.get_text() for text in figure.axes[-1].get_legend().get_texts()] == list(curves)


@pytest.mark.parametrize(
    ("features", "bits"), [({"avx512f": True, "avx2": True}, 512), ({"avx512f": False, "avx2": True}, 256), ({}, 128)]
)
def test_the_machine_in_words(features, bits, monkeypatch):
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_features", lambda: features)
    found = {**machine.describe_machine(), "threads": 2, "cores": 4}
    assert found["simd_bits"] == bits
    for load, busy in ((None, False), (0.0, False), (0.9, False), (1.1, True)):
        words = machine.in_words({**found, "load_before": load})
        assert words.startswith(f"2 threads on 4 cores, {bits}-bit vectors, ")
        assert words.endswith(f"; other work was running at the start (load {load})") == busy


# ---------------------------------------------------------------------------------------------------------
# Sizes
# ---------------------------------------------------------------------------------------------------------


def test_full_and_quick_sizes():
    run = full(None, None, 4)
    assert (run.queries, run.rounds, run.training_rounds, run.seed) == (2000, 5, 2, 4)
    assert run.sigmas == (0.05, 0.2, 0.5, 1.0)
    assert run.cutoffs == (5, 10, 30)
    assert (run.trees, run.leaves, run.longest) == (100, 63, 100_000)
    assert full(30, 1, 0).training_queries == 30
    assert full(30, 1, 0).training_rounds == 1
    look = quick(None, None, 0)
    parts = list(peers.NEEDED)
    assert look.minutes(parts, 1) < 0.2 * run.minutes(parts, 1)
    assert run.minutes(parts, 2) > run.minutes(parts, 1) > run.minutes(["hard"], 1)


def test_a_quick_look_is_as_small_as_it_is_asked_to_be():
    look = quick(7, 3, 5)
    assert (look.queries, look.rounds, look.seed, look.quick) == (7, 3, 5, True)
    assert (look.dear_queries, look.checked_queries, look.training_queries, look.tracked_pool) == (7, 7, 7, (7, 100))
    assert (look.longest, look.growth_documents, look.whole_list) == (10_000, 1200, (2, 1000))
    usual = quick(None, None, 0)
    assert (usual.queries, usual.rounds, usual.dear_queries, usual.checked_queries) == (200, 2, 20, 20)


def test_minutes_are_of_rounds_pools_folders_and_threads(monkeypatch):
    monkeypatch.setattr("boostsoft.bench.settings.n_threads", lambda: 2)
    run, part = full(2000, 5, 0), (0.4 + 0.05 * 5)
    assert run.minutes(["hard"], 1) == pytest.approx(part + 0.1)
    assert run.minutes(["hard"], 3) == pytest.approx(1.2 * part + 0.1)
    assert full(1000, 5, 0).minutes(["hard"], 1) == pytest.approx(0.75 * part + 0.1)
    assert run.minutes(["blend"], 1, 3) == pytest.approx(3 * (2.0 + 4.0 * 2) + 0.1)
    monkeypatch.setattr("boostsoft.bench.settings.n_threads", lambda: 4)
    assert run.minutes(["hard"], 1) == pytest.approx(part / 2 + 0.1)


def test_leaves_are_counted_from_either_boosters_text():
    xgb = pytest.importorskip("xgboost")
    lgb = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.normal(size=400)
    model = lgb.train({"num_leaves": 5, "verbosity": -1}, lgb.Dataset(X, y), 3)
    assert training_cost.leaves_per_tree(model.model_to_string()) == 5.0
    booster = xgb.train({"max_leaves": 4, "grow_policy": "lossguide", "max_depth": 0}, xgb.DMatrix(X, y), 3)
    assert training_cost.leaves_per_tree("\n".join(booster.get_dump())) == 4.0


def test_rounds_without_a_baseline_are_the_seconds_themselves():
    rounds = Rounds({"a": np.array([1.0, 3.0])})
    assert rounds.spread("a") == Spread(2.0, 1.5, 2.5)
