"""The benchmark's own arithmetic: pools, interleaving, statistics, targets and tables."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from boostsoft.bench import (
    blending,
    cold_start,
    direct,
    hard_cost,
    limits,
    live_cost,
    objective_cost,
    tracking,
    training_cost,
)
from boostsoft.bench.peers import Peers
from boostsoft.bench.pools import PROPORTIONS, Pool, pool_of_files, synthetic_pool
from boostsoft.bench.progress import PartBar
from boostsoft.bench.results import ABOVE_0, Column, Section, Target, cell_text
from boostsoft.bench.tables import as_json, markdown, section_markdown, section_table, summary
from boostsoft.bench.timing import Contender, Rounds, Spread, interleave, ratio, timed
from boostsoft.metrics.spread import spread

from .bench_cases import Told
from .narrow import text_of


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
    assert not np.array_equal(first.features()[:, -1], other.features()[:, -1])  # which is noise


def test_the_first_queries_of_a_pool():
    pool = synthetic_pool(6, 10, seed=5)
    part = pool.first(2)
    assert part.n_queries == 2
    assert np.array_equal(part.labels, pool.labels[:20])
    assert np.array_equal(part.scores, pool.scores[:20])
    assert np.array_equal(part.features(), pool.features()[:20])
    assert pool.first(99).n_queries == 6


def test_some_queries_are_from_all_over_the_pool():
    sizes = np.arange(1, 8)
    X = np.arange(56).reshape(28, 2)
    pool = Pool("files", "a", np.repeat(sizes, sizes).astype(float), np.arange(28.0), sizes, 0, X)
    part = pool.some(3)
    assert part.sizes.tolist() == [1, 3, 5]
    assert part.labels.tolist() == [1, 3, 3, 3, 5, 5, 5, 5, 5]
    assert part.scores.tolist() == [0, 3, 4, 5, 10, 11, 12, 13, 14]
    assert np.array_equal(part.features()[:, 0], 2 * part.scores)
    assert pool.some(7) is pool


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
    assert pool.seed == 3
    assert np.array_equal(pool_of_files(files, seed=3).scores, pool.scores)
    assert not np.array_equal(pool_of_files(files, seed=4).scores, pool.scores)


def test_scores_that_have_no_spread_are_left_as_they_are():
    assert np.isfinite(synthetic_pool(3, 1).scores).all()


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
    order, told = [], Told()
    seconds = {"a": iter([100.0, 1.0, 2.0, 6.0]), "b": iter([100.0, 2.0, 2.0, 2.0])}

    def measure(name):
        order.append(name)
        return next(seconds[name])

    rounds = interleave([Contender(name, lambda name=name: measure(name)) for name in "ab"], 3, told)
    assert order == list("abababab")
    assert rounds.seconds["a"].tolist() == [1.0, 2.0, 6.0]
    assert told.steps == [8]
    assert told.texts[:3] == ["a, warming up", "b, warming up", "a, round 1 of 3"]
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


def test_a_ratio_to_or_of_nothing_says_nothing_and_meets_no_target():
    found = ratio(np.array([1.0, 2.0, 3.0, -4.0, 0.0]), np.array([0.0, 1.0, -1.0, 1.0, 1.0]))
    assert found == Spread(2.0, 2.0, 2.0)
    for above, below in ((1.0, 0.0), (-1.0, 1.0)):
        nothing = ratio(np.full(1, above), np.full(1, below))
        assert np.isnan(nothing.median)
        assert not Target(1.0, "<= 1x").judge(nothing).met


def test_an_action_is_repeated_until_there_is_something_to_measure():
    clock, calls = Clock(), []

    def action():
        calls.append(clock.now)
        clock.now += 0.3

    assert timed(action, 1.0, clock)() == pytest.approx(0.3)
    assert len(calls) == 4
    assert timed(action, 0.0, clock)() == pytest.approx(0.3)
    assert len(calls) == 5


@pytest.mark.parametrize("collects", [True, False])
def test_nothing_is_collected_meanwhile(collects, monkeypatch):
    """And afterwards it is as before, even where what is timed fails."""
    seen, state = [], [collects]
    monkeypatch.setattr("boostsoft.bench.timing.gc.isenabled", lambda: state[0])
    monkeypatch.setattr("boostsoft.bench.timing.gc.disable", lambda: state.__setitem__(0, False))
    monkeypatch.setattr("boostsoft.bench.timing.gc.enable", lambda: state.__setitem__(0, True))
    timed(lambda: seen.append(state[0]))()
    with pytest.raises(ZeroDivisionError):
        timed(lambda: seen.append(state[0]) or 1 / 0)()
    assert (seen, state) == ([False, False], [collects])


def test_a_bar_counts_what_is_done_and_names_what_is_going_on():
    """A step is done when the next one starts; every set of measurements has a bar of its own."""
    bar, shown = PartBar(Console(file=io.StringIO()), "hard"), []

    def look():
        shown.append(re.findall(r"hard|[0-9]+/[0-9]+|[a-z]$", text_of(bar._progress), re.MULTILINE))

    for steps, names in ((3, "abc"), (2, "de")):
        bar.begin(steps)
        for name in names:
            bar.step(name)
            look()
    assert shown == [["hard", f"{at}/{of}", name] for at, of, name in (
        (0, 3, "a"), (1, 3, "b"), (2, 3, "c"), (0, 2, "d"), (1, 2, "e"))]  # fmt: skip
    stream = io.StringIO()
    with PartBar(Console(file=stream, force_terminal=True, _environ={}), "hard") as bar:
        bar.begin(1)
    assert stream.getvalue().endswith("\x1b[2K")  # nothing of it is left on the terminal


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


MEASURES = (blending, cold_start, direct, hard_cost, limits, live_cost, objective_cost, tracking, training_cost)
NAMED = [one for module in MEASURES for one in vars(module).values() if isinstance(one, Target)]
OF_PEERS = [one for two in hard_cost.TARGETS.values() for one in two]


@pytest.mark.parametrize("target", [*NAMED, *OF_PEERS], ids=lambda target: target.text)
def test_a_target_is_held_against_as_it_is_written(target):
    side, over, under = re.search(r"(<=|>=|above) (-?[\d.]+(?:e-\d)?)(?:/(\d+))?", target.text).groups()
    assert target.limit == pytest.approx(float(over) / float(under or 1), abs=1e-300)
    assert target.at_least is (side != "<=")


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
