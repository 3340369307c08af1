"""What an experiment's figures are turned into: words, tables and CSV text; by arithmetic, without training."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from rich.console import Console

from boostsoft.commands.experiment import Arm, FoldRun, Folds, Plan, Split
from boostsoft.commands.train import report, report_csv
from boostsoft.commands.train.tree_bars import TreeBars
from boostsoft.datasets import RankingData
from boostsoft.statistics import PairedInterval

from .narrow import WIDTHS, assert_no_number_is_cut, text_of

NAN = float("nan")
HARD, SOFT = "ndcg_hard@10", "ndcg_gaussian@10"


def data_of(n_queries, first=0):
    qid = np.arange(first, first + n_queries)
    return RankingData(np.zeros((n_queries, 1)), np.zeros(n_queries), qid, np.ones(n_queries, dtype=np.int64))


def split_of(ours, theirs, **options):
    """A split whose test part has the given values per query; 3 trees, the second is kept."""
    curve = np.array([0.25, 0.5, 0.375])
    arms = []
    for name, values in (("boostsoft", ours), ("lambdarank", theirs)):
        values = np.array(values, dtype=float)
        curves = {(part, metric): curve for part in ("train", "valid") for metric in (HARD, SOFT)}
        found = {(part, metric): values for part in ("train", "valid", "test") for metric in (HARD, SOFT)}
        arms.append(Arm(name, 2, "tree", curves, found, 1.0))
    parts = {part: data_of(len(ours)) for part in ("train", "valid", "test")}
    plan = Plan(**options)
    return Split(plan, parts, tuple(arms[: len(plan.arms)]))


def folds_of(ours, theirs):
    """Five folds of the same values; ours and theirs map a seed to the values of the queries."""
    runs = [
        FoldRun(fold, seed, arm, 10 * fold + (arm == "lambdarank"), np.array(values[seed], dtype=float), 1.0)
        for fold in range(1, 6)
        for seed in ours
        for arm, values in (("boostsoft", ours), ("lambdarank", theirs))
    ]
    n = len(next(iter(ours.values())))
    parts = tuple(data_of(n, first=10 * part) for part in range(1, 6))
    return Folds(Plan(), parts, tuple(ours), tuple(runs))


# ---------------------------------------------------------------------------------------------------------
# Words and tables
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "n", "words"),
    [
        (0.001, 0.2, 50, "boostsoft is higher: the whole interval is above 0."),
        (-0.2, -0.001, 50, "lambdarank is higher: the whole interval is below 0."),
        (0.2, 0.2, 10, "boostsoft is higher: the whole interval is above 0."),
        (-0.01, 0.03, 50, "Not told apart: the interval holds 0; with 50 queries a difference of 0.028 would show"),
        (0.0, 0.0, 50, "equally well on every single query"),
        (0.001, 0.2, 9, "boostsoft is higher in these 9 queries, too few to say so of others."),
        (-0.2, -0.001, 2, "lambdarank is higher in these 2 queries, too few to say so of others."),
        (-np.inf, np.inf, 1, "Too few queries to compare."),
    ],
)
def test_verdict(low, high, n, words):
    assert words in report.verdict(PairedInterval((low + high) / 2, low, high, n, 0.95))


def test_the_verdict_on_queries_that_hardly_differ():
    few = PairedInterval(0.1, 0.001, 0.2, 200, 0.95, differing=8)
    assert report.verdict(few) == (
        "boostsoft is higher in these 200 queries, of which 8 differ, too few to say so of others."
    )
    assert "a difference of 0.00028 would" in report.verdict(PairedInterval(0.0, -0.0002, 0.0002, 90_000, 0.95))


@pytest.mark.parametrize(("low", "high", "size"), [(-0.01, 0.03, "0.028"), (-0.8, 1.0, "1.26"), (-1.0, 0.3, "0.91")])
def test_verdict_says_how_small_a_difference_would_show(low, high, size):
    found = report.verdict(PairedInterval(0.01, low, high, 50, 0.95))
    assert f"a difference of {size} would show four times in five" in found


def test_split_report():
    ours, theirs = [0.5, 0.75, NAN, 1.0], [0.25, 0.5, NAN, 0.75]
    shown = text_of(report.split_report(split_of(ours, theirs, seed=1, parameters={"max_bin": 15})))
    lines = [line.split() for line in shown.splitlines() if line.startswith(" test")]
    # (0.5 + 0.75 + 0 + 1) / 4, (0.25 + 0.5 + 0 + 0.75) / 4 and their difference
    assert lines[0][1:5] == ["hard", "0.5625", "0.3750", "+0.1875"]
    words = " ".join(shown.split())
    assert "train 4, valid 4, test 4; 3 of them have nothing relevant and count 0" in words
    assert "max_bin 15" in words
    assert "Trees kept: boostsoft 2 (1.0 s), lambdarank 2 (1.0 s)." in words
    assert "Hard NDCG@10 on test: boostsoft is higher" in words


def test_where_nothing_is_relevant_nothing_is_judged():
    words = " ".join(text_of(report.split_report(split_of([NAN, NAN, NAN], [NAN, NAN, NAN]))).split())
    assert "Nothing in test is relevant: there is nothing to compare by." in words
    assert "equally well" not in words


def uneven_split(parts=("train", "valid", "test"), **options):
    """Four queries a part, one of them empty in train and two elsewhere; ours is higher hard, and lower soft."""
    plan, values = Plan(**options), {}
    for step, part in enumerate(parts):
        empty = [NAN, NAN] if step else [NAN, 1.0]
        values[part, plan.names[0]] = np.array([0.5, 0.25 * step, *empty])
        values[part, plan.names[1]] = np.array([0.25, 0.125 * step, *empty])
    arms = []
    for name, trees, shift in (("boostsoft", 2, 0.125), ("lambdarank", 3, 0.0)):
        found = {key: value + shift * (1 if key[1] == plan.names[0] else -1) for key, value in values.items()}
        arms.append(Arm(name, trees, "tree", {}, found, 0.5 * trees))
    return Split(plan, {part: data_of(4) for part in parts}, tuple(arms[: len(plan.arms)]))


def test_each_row_of_a_split_is_of_its_part_and_metric():
    split = uneven_split(noise="gumbel")
    shown = text_of(report.split_report(split))
    lines = shown.splitlines()
    assert lines[0] == "NDCG@10, mean over queries"
    rows = [line.split()[-7:-3] for line in lines if "  hard  " in line or "  soft  " in line]
    # means of (0.5 or 0.25, 0.25 or 0.125 per step, the empty ones) and +- 0.125 in those that are not empty
    assert rows == [
        ["hard", "0.4688", "0.3750", "+0.0938"],
        ["soft", "0.2188", "0.3125", "-0.0938"],
        ["hard", "0.2500", "0.1875", "+0.0625"],
        ["soft", "0.0312", "0.0938", "-0.0625"],
        ["hard", "0.3125", "0.2500", "+0.0625"],
        ["soft", "0.0625", "0.1250", "-0.0625"],
    ]
    words = " ".join(shown.split())
    assert "; 5 of them have nothing relevant and count 0. Soft: the expected metric under Gumbel noise" in words
    assert "Trees kept: boostsoft 2 (1.0 s), lambdarank 3 (1.5 s)." in words
    assert "Hard NDCG@10 on test: Not told apart: the interval holds 0; with 4 queries a difference of" in words
    assert "\nThe interval is over queries; another seed" in shown
    stream = io.StringIO()
    Console(file=stream, force_terminal=True, width=80).print(report.split_report(split))
    (bold,) = (line for line in stream.getvalue().splitlines() if "\x1b[1m" in line and "hard" in line)
    assert "0.3125" in bold


def test_the_valid_part_was_used_to_choose_trees_unless_all_are_kept():
    chosen = "The number of trees was chosen on these queries"
    assert chosen not in text_of(report.split_report(uneven_split()))
    shown = text_of(report.split_report(uneven_split(("train", "valid"))))
    assert f"\n{chosen}" in shown
    assert "Hard NDCG@10 on valid: " in shown
    dart = uneven_split(("train", "valid"), parameters={"boosting": "dart"})
    assert chosen not in text_of(report.split_report(dart))


def test_a_valid_part_without_anything_relevant_could_not_choose():
    said = "all trees, since nothing in valid is relevant to choose by"
    assert said not in " ".join(text_of(report.split_report(split_of([0.5, NAN], [0.5, NAN]))).split())
    assert said in " ".join(text_of(report.split_report(split_of([NAN, NAN], [NAN, NAN]))).split())


def test_one_arm_is_compared_with_nothing():
    shown = text_of(report.split_report(uneven_split(baseline=False)))
    assert not [word for word in ("difference", "interval", "lambdarank") if word in shown]
    assert "0.3125" in shown


def test_plan_summary():
    plan = Plan(
        mix={"kendall": 0.3}, losses={"ranknet": 0.5}, trees=7, learning_rate=0.2, early_stopping=5,
        parameters={"num_leaves": "9", "max_bin": "15"},
    )  # fmt: skip
    assert report.plan_summary(plan) == (
        "boostsoft trains on soft NDCG@10 + 0.3 kendall + 0.5 ranknet. Each arm: up to 7 trees, learning_rate 0.2, "
        "num_leaves 9, min_data_in_leaf 20, max_bin 15, the rest as in LightGBM; kept is the number of trees with the "
        "best hard NDCG@10 on valid; training stops 5 trees after it."
    )
    assert "Each arm: up to 1 tree, " in report.plan_summary(Plan(trees=1))
    assert "on soft NDCG@10. Up to 1 tree, " in report.plan_summary(Plan(trees=1, baseline=False))
    assert report.plan_summary(Plan(early_stopping=1)).endswith("training stops 1 tree after it.")
    assert report.plan_summary(Plan(early_stopping=0)).endswith("with the best hard NDCG@10 on valid.")
    dart = Plan(parameters={"boosting_type": "dart"})
    assert report.plan_summary(dart).endswith("; all trees are kept, since dart changes earlier ones.")


def test_reports_fit_a_terminal():
    values = np.random.default_rng(0).random((2, 40))
    split = report.split_report(split_of(*values))
    folds = report.folds_report(folds_of({0: values[0], 1: values[1]}, {0: values[1], 1: values[0]}))
    for shown in (split, folds):
        assert "…" not in text_of(shown)
        assert max(map(len, text_of(shown).splitlines())) <= 80


@pytest.mark.parametrize("width", WIDTHS)
def test_no_number_is_cut_on_a_narrow_terminal(width):
    values = np.random.default_rng(0).random((2, 40))
    split = report.split_report(split_of(*values))
    folds = report.folds_report(folds_of({0: values[0], 1: values[1]}, {0: values[1], 1: values[0]}))
    for shown in (split, folds):
        assert_no_number_is_cut(text_of(shown, width), text_of(shown, 110), width)


def test_folds_pool_and_average():
    ours = {0: [0.5, NAN, 1.0], 1: [0.25, NAN, 0.5]}
    theirs = {0: [0.25, NAN, 0.5], 1: [0.25, NAN, 0.25]}
    folds = folds_of(ours, theirs)
    assert folds.values("boostsoft", "zero").tolist() == [0.375, 0.0, 0.75] * 5
    assert folds.values("boostsoft", "one", folds=[2]).tolist() == [0.375, 1.0, 0.75]
    assert folds.values("lambdarank", "zero", folds=[1], seeds=[0]).tolist() == [0.25, 0.0, 0.5]
    shown = text_of(report.folds_report(folds))
    rows = {line[:9].strip(): line.split() for line in shown.splitlines()}
    assert rows["count 0"][2:6] == ["15", "0.3750", "0.2083", "+0.1667"]
    assert rows["left out"][2:6] == ["10", "0.5625", "0.3125", "+0.2500"]
    assert rows["count 1"][2:6] == ["15", "0.7083", "0.5417", "+0.1667"]
    assert rows["3"][1:4] == ["30", "/", "31"]
    assert "Difference by seed: +0.2500, +0.0833." in " ".join(shown.split())
    assert "5 have nothing relevant" in " ".join(shown.split())


def test_each_row_of_the_folds_is_of_its_fold():
    """In fold f, with trees 10 f, 20 f and 60 f for the three seeds: (f + 1) / 10 of ours, f / 10 of lambdarank."""
    runs = [
        FoldRun(fold, seed, arm, (10 if ours else 20) * fold * trees, np.array([(fold + ours) / 10, NAN]), 1.0 + ours)
        for fold in range(1, 6)
        for seed, trees in enumerate((1, 2, 6))
        for arm, ours in (("boostsoft", 1), ("lambdarank", 0))
    ]
    parts = tuple(data_of(2, first=10 * part) for part in range(1, 6))
    shown = text_of(report.folds_report(Folds(Plan(), parts, (0, 1, 2), tuple(runs))))
    rows = [line.split()[:7] for line in shown.splitlines() if " / " in line]
    assert rows[1] == ["2", "60", "/", "120", "0.1500", "0.1000", "+0.0500"]
    assert rows[4] == ["5", "150", "/", "300", "0.3000", "0.2500", "+0.0500"]
    words = " ".join(shown.split())
    assert "averaged over 3 seeds; 5 have nothing relevant." in words
    assert "Training took boostsoft 30 s, lambdarank 15 s." in words
    few = "Test NDCG@10: boostsoft is higher in these 10 queries, of which 5 differ, too few to say so of others."
    assert few in words  # the other five have nothing relevant


def test_folds_of_one_query_have_no_interval():
    shown = text_of(report.folds_report(folds_of({3: [0.5]}, {3: [0.25]})))
    rows = [line.split() for line in shown.splitlines() if " / " in line]
    assert rows[0][-2:] == ["+0.2500", "-"]
    assert "averaged over 1 seed;" in " ".join(shown.split())


# ---------------------------------------------------------------------------------------------------------
# CSV text
# ---------------------------------------------------------------------------------------------------------


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_curve_csv_is_tidy():
    text = report_csv.curve_csv(split_of([0.5], [0.25]))
    assert "\r" not in text
    rows = rows_of(text)
    assert list(rows[0]) == ["tree", "arm", "data", "metric", "value"]
    assert len(rows) == 3 * 2 * 2 * 2
    assert len({tuple(row.values())[:4] for row in rows}) == len(rows)
    assert rows[1] == {"tree": "2", "arm": "boostsoft", "data": "train", "metric": HARD, "value": "0.5"}


def test_folds_csv_and_per_query_csv():
    folds = folds_of({7: [0.5, NAN]}, {7: [0.1, NAN]})
    run = rows_of(report_csv.folds_csv(folds))[3]
    assert run == {
        "fold": "2",
        "seed": "7",
        "arm": "lambdarank",
        "trees": "21",
        f"{HARD}_empty_zero": "0.05",
        f"{HARD}_empty_skip": "0.1",
        f"{HARD}_empty_one": "0.55",
    }
    third = rows_of(report_csv.folds_csv(folds_of({7: [1 / 3]}, {7: [0.0]})))[0]
    assert third[f"{HARD}_empty_zero"] == repr(1 / 3)
    rows = rows_of(report_csv.per_query_csv(folds))
    assert [(row["fold"], row["query"]) for row in rows[:4]] == [("1", "50"), ("1", "51"), ("2", "10"), ("2", "11")]
    assert (rows[0]["boostsoft"], rows[0]["lambdarank"], rows[0]["empty"]) == ("0.5", "0.1", "0")
    assert (rows[1]["boostsoft"], rows[1]["lambdarank"], rows[1]["empty"]) == ("0.0", "0.0", "1")


def test_bars_where_nobody_looks_write_nothing(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("rich.progress.Progress.stop", lambda self: self.console.print())  # as before Rich 14
    with TreeBars(Console(file=stream)) as bars:
        bars.begin("a", 3)
        bars.tree(1, {"valid": 0.5})
        bars.end()
    assert not stream.getvalue()


def test_bars_show_the_metrics_and_end_full():
    stream = io.StringIO()
    with TreeBars(Console(file=stream, force_terminal=True, width=100), runs=2) as bars:
        for run in ("one", "two"):
            bars.begin(run, 10)
            bars.tree(3, {HARD: 0.25})
            bars.end()
    _, _, last = stream.getvalue().rpartition("all runs")
    assert "2/2" in last
    assert "one" not in last  # those that are done make room
    stream = io.StringIO()
    with TreeBars(Console(file=stream, force_terminal=True, width=100)) as bars:
        bars.begin("boostsoft", 10)
        bars.tree(3, {HARD: 0.25})
        bars.end()
    assert f"{HARD} 0.2500" in stream.getvalue()
    assert "boostsoft" in stream.getvalue()
    assert "3/3" in stream.getvalue()  # stopped early
