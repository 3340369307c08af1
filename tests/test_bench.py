"""The benchmark's own arithmetic: pools, interleaving, statistics, targets, and what each contender is given."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import boostsoft.lightgbm as bl
from boostsoft import Metric, SoftMetric
from boostsoft.bench import (
    accuracy,
    child_tasks,
    children,
    cold_start,
    direct,
    figures,
    growth,
    hard_cost,
    limits,
    machine,
    nodes,
    objective_cost,
    peers,
    roofline,
    training_cost,
)
from boostsoft.bench.boosting import CATBOOST_ITERATIONS, CatBoostIterations, LightGBMIterations, XGBoostIterations
from boostsoft.bench.objective_cost import LIGHTGBM, REFERENCE, measure_objectives
from boostsoft.bench.peers import Peers, find_peers
from boostsoft.bench.pools import PROPORTIONS, Pool, pool_of_files, synthetic_pool
from boostsoft.bench.results import ABOVE_0, Column, Section, Target, cell_text
from boostsoft.bench.settings import full, quick
from boostsoft.bench.tables import as_json, markdown, section_markdown, section_table, summary
from boostsoft.bench.timing import Contender, Rounds, Silent, Spread, interleave, ratio, timed
from boostsoft.drawing import BLUE, GREY
from boostsoft.kernels.noise import LAWS
from boostsoft.metrics.spread import spread

from .narrow import text_of

# ---------------------------------------------------------------------------------------------------------
# Pools
# ---------------------------------------------------------------------------------------------------------


def test_the_synthetic_pool_has_the_shape_of_mslr():
    pool = synthetic_pool()
    assert pool.sizes.tolist() == [120] * 2000
    shares = np.bincount(pool.labels.astype(int), minlength=5) / pool.labels.size
    np.testing.assert_allclose(shares, (0.52, 0.32, 0.13, 0.02, 0.01), atol=3e-3)
    assert sum(PROPORTIONS) == pytest.approx(1.0)
    assert spread(pool.groups, pool.scores, np.ones(2000)) == pytest.approx(1.0, abs=1e-12)
    assert np.abs(np.corrcoef(pool.scores, pool.labels)[0, 1]) < 0.01


def test_a_seed_settles_the_pool():
    first, again, other = (synthetic_pool(20, 30, seed) for seed in (5, 5, 6))
    for name in ("labels", "scores"):
        assert np.array_equal(getattr(first, name), getattr(again, name))
        assert not np.array_equal(getattr(first, name), getattr(other, name))
    assert np.array_equal(first.features(), again.features())


def test_the_first_queries_of_a_pool():
    pool = synthetic_pool(6, 10)
    part = pool.first(2)
    assert part.n_queries == 2
    assert np.array_equal(part.labels, pool.labels[:20])
    assert np.array_equal(part.scores, pool.scores[:20])
    assert pool.first(99).n_queries == 6


def test_features_tell_the_grade():
    pool = synthetic_pool(50)
    X = pool.features()
    assert X.shape == (6000, 136)
    assert np.corrcoef(X[:, 0], pool.labels)[0, 1] > 0.3
    assert abs(np.corrcoef(X[:, -1], pool.labels)[0, 1]) < 0.05


def test_a_pool_of_files(tmp_path):
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    files[0].write_text("2 qid:1 1:0.5 2:1\n0 qid:1 1:0.25 2:3\n1 qid:2 1:7 2:0\n")
    files[1].write_text("0 qid:3 1:1 2:1\n4 qid:3 1:2 2:5\n")
    pool = pool_of_files(files, seed=3)
    assert pool.labels.tolist() == [2, 0, 1, 0, 4]
    assert pool.sizes.tolist() == [2, 1, 2]
    assert pool.qid.tolist() == [0, 0, 1, 2, 2]
    assert pool.features()[:, 0].tolist() == [0.5, 0.25, 7, 1, 2]
    assert pool.name == "a.txt, b.txt: 3 queries, 5 documents"  # no folders
    assert spread(pool.groups, pool.scores, np.ones(3)) == pytest.approx(1.0, abs=1e-12)
    assert pool.first(1).features().shape == (2, 2)


# ---------------------------------------------------------------------------------------------------------
# Timing
# ---------------------------------------------------------------------------------------------------------


class Clock:
    """A clock that moves when told."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_contenders_take_turns_and_the_first_round_does_not_count():
    order, told = [], []
    seconds = {"a": iter([100.0, 1.0, 2.0, 6.0]), "b": iter([100.0, 2.0, 2.0, 2.0])}

    def measure(name):
        order.append(name)
        return next(seconds[name])

    class Told:
        def begin(self, steps):
            told.append(steps)

        def step(self, text):
            told.append(text)

    rounds = interleave([Contender(name, lambda name=name: measure(name)) for name in "ab"], 3, Told())
    assert order == list("abababab")
    assert rounds.seconds["a"].tolist() == [1.0, 2.0, 6.0]
    assert told[:4] == [8, "a, warming up", "b, warming up", "a, round 1 of 3"]
    assert rounds.spread("a") == Spread(2.0, 1.5, 4.0)
    assert rounds.spread("a", "b") == Spread(0.0, -0.5, 2.0)
    # within rounds .5, 1 and 3: the ratio of the medians would have the same median, but not the same quartiles
    assert ratio(rounds.seconds["a"], rounds.seconds["b"]) == Spread(1.0, 0.75, 2.0)


def test_something_else_may_warm_up():
    order = []
    contender = Contender("a", lambda: order.append("measured") or 1.0, warm_up=lambda: order.append("warmed"))
    interleave([contender], 2)
    assert order == ["warmed", "measured", "measured"]


def test_a_peer_that_refuses_is_named_and_left_out_and_ours_never_is():
    def refuse():
        raise RuntimeError("too many documents\nsecond line")

    rounds = interleave([Contender("peer", refuse, peer=True), Contender("ours", lambda: 1.0)], 2)
    assert rounds.left_out == {"peer": "too many documents"}
    assert list(rounds.seconds) == ["ours"]
    with pytest.raises(RuntimeError, match="too many"):
        interleave([Contender("ours", refuse)], 2)


def test_a_ratio_to_nothing_says_nothing():
    found = ratio(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, -1.0]))
    assert found == Spread(2.0, 2.0, 2.0)
    assert np.isnan(ratio(np.ones(1), np.zeros(1)).median)


def test_an_action_is_repeated_until_there_is_something_to_measure():
    clock, calls = Clock(), []

    def action():
        calls.append(clock.now)
        clock.now += 0.3

    assert timed(action, 1.0, clock)() == pytest.approx(0.3)
    assert len(calls) == 4
    assert timed(action, 0.0, clock)() == pytest.approx(0.3)
    assert len(calls) == 5


# ---------------------------------------------------------------------------------------------------------
# Results
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "value", "met"),
    [
        (Target(1.0, "x"), 1.0, True),
        (Target(1.0, "x"), 1.01, False),
        (Target(10, "x", at_least=True), 10.0, True),
        (Target(10, "x", at_least=True), 9.9, False),
        (Target(1.0, "x"), float("nan"), False),
        (Target(1.0, "x", at_least=True), float("nan"), False),
        (Target(ABOVE_0, "x", at_least=True), 0.0, False),
        (Target(ABOVE_0, "x", at_least=True), 1e-300, True),
        (Target(1.0, "x"), Spread(0.9, 0.1, 5.0), True),
        (Target(1.0, "x"), Spread(1.1, 0.1, 5.0), False),
    ],
)
def test_targets(target, value, met):
    assert target.judge(value).met is met


@pytest.mark.parametrize(
    ("cell", "unit", "text"),
    [
        (Spread(12.345, 11.0, 13.999), "µs", "12.3 [11, 14]"),
        (Spread(float("nan"), 1.0, 2.0), "ratio", "-"),
        (Spread(1.0, 0.95, 1.25), "ratio", "1 [0.950, 1.25]"),
        (3.2e-7, "error", "3e-07"),
        (0.125, "share", "12 %"),
        (100_000, "count", "100,000"),
        (0.05, "plain", "0.05"),
        (12_000, "plain", "12,000"),
        (-0.5, "ratio", "-0.500"),
        (-1234.5, "ratio", "-1,234"),
        (0.00123, "ratio", "0.00123"),
        (1.25e7, "ratio", "1.2e+07"),
        (0.0, "ratio", "0"),
        (None, "µs", ""),
        ("ranx", "text", "ranx"),
        ([Target(1.0, "<= 1x").judge(2.0), Target(0.5, "<= 0.5x", wish=True).judge(0.4)], "targets",
         "<= 1x: missed; wish <= 0.5x: met"),
    ],
)  # fmt: skip
def test_cells(cell, unit, text):
    assert cell_text(cell, unit) == text


def a_section():
    columns = (Column("name", "by"), Column("cost", "µs", "µs"), Column("targets", "targets", "targets"))
    rows = [{"name": "a", "cost": Spread(1.5, 1.0, 2.0), "targets": [Target(1.0, "<= 1").judge(1.5)]}, {"name": "b"}]
    rounds = Rounds({"a": np.array([1.0, 2.0])})
    return Section("key", "Title", "Note.", columns, rows, rounds, left_out={"c": "refused"})


def test_a_section_as_markdown():
    section = a_section()
    assert section_markdown(section).splitlines() == [
        "## Title",
        "",
        "Note.",
        "",
        "| by | µs | targets |",
        "| --- | ---: | --- |",
        "| a | 1.50 [1, 2] | <= 1: missed |",
        "| b |  |  |",
        "",
        "Left out: c (refused).",
    ]
    assert summary([section]) == "Targets met: 0 of 1."
    head = ["# boostsoft bench", "", "2 threads.", "", "Peers: nobody.", ""]
    lines = markdown("2 threads", "nobody", [section, section]).splitlines()
    assert lines[:6] == head
    assert lines[8] == "Targets met: 0 of 2."
    assert "\n".join(lines).count(section_markdown(section)) == 2


def test_a_section_on_a_terminal():
    """Numbers end below each other; targets are broken into lines."""
    lines = [line.rstrip() for line in text_of(section_table(a_section()), 120).splitlines()]
    assert [line for line in lines if line and set(line) != {" ", "─"}] == [
        "Title",
        "Note.",
        " by            µs   targets",
        " a    1.50 [1, 2]   <= 1: missed",
        " b",
        "Left out: c (refused).",
    ]
    rows = [{"name": "a", "cost": 1.0, "targets": [Target(1.0, "<= 1 of the other").judge(0.5)] * 3}]
    narrow = text_of(section_table(replace(a_section(), rows=rows)), 40).splitlines()
    assert max(map(len, narrow)) <= 40
    assert any(line.split()[:3] == ["a", "1", "<="] for line in narrow)


def test_a_section_as_json():
    found = json.loads(
        as_json({"cores": 2}, Peers({"xgboost": "3"}, {"ranx": "not installed"}), {"k": 1}, [a_section()])
    )
    assert found["peers"] == {"versions": {"xgboost": "3"}, "left_out": {"ranx": "not installed"}}
    assert (found["machine"], found["settings"]) == ({"cores": 2}, {"k": 1})
    [section] = found["sections"]
    assert (section["key"], section["title"], section["note"]) == ("key", "Title", "Note.")
    assert section["units"] == {"name": "text", "cost": "µs", "targets": "targets"}
    assert section["seconds"] == {"a": [1.0, 2.0]}
    assert section["left_out"] == {"c": "refused"}
    missed = {"target": "<= 1", "met": False, "wish": False}
    cost = {"median": 1.5, "low": 1.0, "high": 2.0}
    assert section["rows"] == [{"name": "a", "cost": cost, "targets": [missed]}, {"name": "b"}]


def test_wishes_are_counted_apart():
    row = {"targets": [Target(1.0, "a").judge(0.9), Target(0.5, "b", wish=True).judge(0.9), Target(1.0, "c").judge(2)]}
    assert summary([Section("key", "", "", (), [row])]) == "Targets met: 1 of 2; wishes: 0 of 1."
    only = {"targets": [Target(0.5, "b", wish=True).judge(0.4)]}
    assert summary([Section("key", "", "", (), [only])]) == "No target was measured."


# ---------------------------------------------------------------------------------------------------------
# Peers
# ---------------------------------------------------------------------------------------------------------


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


# ---------------------------------------------------------------------------------------------------------
# Curves, long lists, values and the roof, from seconds that are given
# ---------------------------------------------------------------------------------------------------------


class Told:
    """A watcher that keeps what it is told."""

    def __init__(self):
        self.steps, self.texts = [], []

    def begin(self, steps):
        self.steps.append(steps)

    def step(self, text):
        self.texts.append(text)


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
    seconds = {"prepared gradient": 0.6, "prepared value": 0.3, "public gradient": 1.2, "public value": 0.3}
    rounds = Rounds({f"gumbel, sigma=0.5, {name}": np.full(3, value) for name, value in seconds.items()})
    prepared, public = (direct._value_row(pool, rounds, "gumbel", 0.5, call) for call in ("prepared", "public"))
    found = [(row["gradient"].median, row["value"].median, row["ratio"].median) for row in (prepared, public)]
    np.testing.assert_allclose(found, [(0.15e6, 0.075e6, 0.5), (0.3e6, 0.075e6, 0.25)])
    assert [row["targets"][0].met for row in (prepared, public)] == [False, True]
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
    count = nodes.count_cells(pool.first(50), "ndcg@10", "gaussian", 0.5)
    assert row["cells"] == count.cells
    assert row["per_cell"] == pytest.approx(1e9 * 1e-3 / count.cells)
    assert row["share"] == pytest.approx(count.operations / 1e-3 / 1e9)
    far = Rounds({"gaussian, sigma=1e-09, prepared gradient": np.ones(1)})
    assert direct._roof_row(pool, far, "gaussian", 1e-9, 1e9)["per_cell"] is None


def test_the_peak_counts_every_operation_of_every_thread(monkeypatch):
    """64 multiply-adds for each of 1,024 numbers, over and over, by each of two threads, in the best of the trials."""
    ticks = iter(np.cumsum([0.0, 4.0, 0.0, 0.5, *[0.0, 2.0] * 10]))
    monkeypatch.setattr(roofline.time, "perf_counter", lambda: next(ticks))
    monkeypatch.setattr(roofline, "n_threads", lambda: 2)
    repeats = []
    monkeypatch.setattr(roofline, "_polynomials", lambda x, out, n: repeats.append(n * x.size))
    assert roofline.peak_operations() == 2 * 2 * 64 * 1024 * 10_000 / 0.5
    assert sum(repeats[1:]) == 12 * 2 * 1024 * 10_000


def test_whole_training_runs_are_held_against_the_boosters_own(monkeypatch):
    seconds = {
        "LightGBM lambdarank": 2.0,
        "LightGBM, boostsoft gaussian": 2.1,
        "LightGBM, boostsoft gumbel": 3.0,
        "LightGBM rank_xendcg": 1.0,
        "XGBoost rank:ndcg, topk 10": 4.0,
        "XGBoost, boostsoft gaussian": 6.0,
    }

    def contender(self, name, objective):
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
        assert list(ratios.values()) == pytest.approx([1.05, 1.5, 0.5, 1.5])
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
