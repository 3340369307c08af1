"""The command line, run in this process on small files: what it writes and says."""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import os
import re
import sys

import lightgbm as lgb
import numpy as np
import pytest
from PIL import Image

import boostsoft as bs
import boostsoft.lightgbm as bl
from boostsoft import cli
from boostsoft.commands import options
from boostsoft.commands import train as train_command
from boostsoft.commands.experiment import Observer, Plan, run_folds, run_split, train_arm
from boostsoft.commands.train.tree_bars import TreeBars
from boostsoft.datasets import RankingData, load_digits_ranking, load_letor
from boostsoft.ranker.convex_losses import BESIDE_RARE

from . import cli_cases
from .bench_cases import Time
from .cli_cases import SMALL_TREES, part_file, split_arguments, twice
from .letor_cases import letor_text
from .narrow import on_a_terminal

parts = cli_cases.parts  # fixture


def rows_of(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


def curves_of(path):
    curves = {}
    for row in rows_of(path):
        curves.setdefault((row["arm"], row["data"], row["metric"]), {})[int(row["tree"])] = float(row["value"])
    return curves


def assert_picture(path, size):
    with Image.open(path) as image:
        image.load()
        assert image.format == "PNG"
        assert image.size == pytest.approx(size, abs=1)  # older releases of matplotlib round down
        shades = np.asarray(image.convert("L"))
    assert shades.min() < 100  # ink
    assert np.mean(shades == 255) > 0.5  # paper


def assert_curves_are_the_models(out, split, hard, soft):
    """Every point of our curve, recomputed from the saved model's predictions; the kept trees are the best."""
    curves = curves_of(out / "curve.csv")
    model = lgb.Booster(model_file=out / "model.txt")
    names = [f"{hard.metric}_hard@{hard.k}", soft.name]
    assert int(np.argmax(list(curves["boostsoft", "valid", names[0]].values()))) + 1 == model.num_trees()
    for part in ("train", "valid"):
        data = split[part]
        for trees in range(1, model.num_trees() + 1):
            scores = model.predict(data.X, num_iteration=trees)
            for name, metric in zip(names, (hard, soft), strict=True):
                value = metric(data.y, scores, group=data.sizes)
                assert curves["boostsoft", part, name][trees] == pytest.approx(value, abs=1e-9)
    return curves, model


def test_demo(tmp_path, capsys):
    out = tmp_path / "deep" / "demo"
    assert cli.main(["demo", "--out", str(out), "--trees", "4", "--seed", "3"]) == 0
    assert {path.name for path in out.iterdir()} == {"model.txt", "curve.csv", "curve.png"}
    splits = load_digits_ranking(seed=3)
    split = {"train": splits.train, "valid": splits.valid}
    soft = bs.SoftMetric("ndcg@10", noise="gumbel", sigma=0.2, sigma_unit="spread")
    curves, model = assert_curves_are_the_models(out, split, bs.Metric("ndcg@10"), soft)
    assert {len(curve) for curve in curves.values()} == {4}
    objective = bl.objective("ndcg@10", noise="gumbel", mix={"kendall": 0.3}, losses={"xendcg": 0.5, "ranknet": 0.5})
    train = lgb.Dataset(splits.train.X, splits.train.y, group=splits.train.sizes)
    again = lgb.train({"objective": objective, "verbosity": -1, "seed": 3}, train, model.num_trees())
    np.testing.assert_allclose(again.predict(splits.test.X), model.predict(splits.test.X), rtol=1e-9)
    assert {arm for arm, _, _ in curves} == {"boostsoft", "lambdarank"}
    assert model.feature_name()[0] == "cosine_pixels"
    assert "[seed: 3]" in (out / "model.txt").read_text().splitlines()
    assert_picture(out / "curve.png", (2100, 980))

    shown = capsys.readouterr()
    assert shown.err == ""  # no terminal, no bars
    value = bs.Metric("ndcg@10")(splits.test.y, model.predict(splits.test.X), group=splits.test.sizes)
    line = next(line for line in shown.out.splitlines() if line.startswith(" test"))
    assert line.split()[1:3] == ["hard", f"{value:.4f}"]
    told = " ".join(shown.out.split())
    assert "learning_rate 0.1, num_leaves 31, min_data_in_leaf 20" in told
    assert "boostsoft trains on soft NDCG@10 + 0.3 kendall + 0.5 xendcg + 0.5 ranknet." in told
    assert "training stops" not in told
    assert "Hard NDCG@10 on test: " in shown.out


def test_options_that_are_repeated_add_up(parts, tmp_path, capsys):
    first, second, valid = (str(part_file(parts, i)) for i in (1, 2, 3))
    shared = ["--valid", valid, "--trees", "2", "--no-baseline", *SMALL_TREES]
    texts = []
    once = ["--train", first, second, "--mix", "map=2", "kendall=1", "--losses", "ranknet=1", "xendcg=2"]
    twice = ["--train", first, "--train", second, "--mix", "map=2", "--mix", "kendall=1"]
    twice += ["--losses", "ranknet=1", "--losses", "xendcg=2"]
    for name, given in (("a", once), ("b", twice)):
        assert cli.main(["train", *given, *shared, "--out", str(tmp_path / name)]) == 0
        texts.append((tmp_path / name / "model.txt").read_text())
        shown = " ".join(capsys.readouterr().out.split())
        assert "trains on soft NDCG@10 + 2 map + 1 kendall + 1 ranknet + 2 xendcg." in shown
    assert texts[0] == texts[1]


def test_a_folder_may_begin_at_home(parts, tmp_path, monkeypatch, capsys):
    """Of --out=~/results the shell leaves the first letter as it is."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    arguments = [*split_arguments(parts), "--trees", "2", "--no-baseline", *SMALL_TREES]
    assert cli.main([*arguments, "--out=~/results"]) == 0
    assert (tmp_path / "results" / "model.txt").is_file()


def test_every_file_and_folder_may_begin_at_home(tmp_path, monkeypatch):
    """Read as --report=~/page.html is, a page would lie in a new folder called ~."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    named = {"FILE", "DIR", "MODEL", "DATA"}
    commands = next(action for action in cli._parser()._actions if isinstance(action.choices, dict)).choices
    found = {
        (command, action.dest): action.type("~/it")
        for command, parser in commands.items()
        for action in parser._actions
        if action.metavar in named
    }
    assert {command for command, _ in found} == {"demo", "train", "track", "blend", "bench"}
    assert {"model", "report", "save", "qrels", "files", "folds", "valid", "data"} <= {name for _, name in found}
    assert set(found.values()) == {tmp_path / "it"}


def test_a_name_that_begins_as_a_users_home_is_a_name(tmp_path, capsys, monkeypatch):
    """Where there is no such user; a shell leaves it, too."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "~no such user").write_text("no folder")
    assert cli.main(["demo", "--out", "~no such user"]) == 2
    assert capsys.readouterr().err == "boostsoft: --out: ~no such user is a file, not a folder\n"


def test_train_on_files(parts, tmp_path, capsys):
    arguments = [*split_arguments(parts), "--metric", "recall@2", "--noise", "gumbel", "--learning-rate", "0.2"]
    arguments += ["--leaves", "9", "--set", "num_leaf=4", "--set", "min_data_in_leaf=5", "--seed", "7"]
    arguments += ["--trees", "30", "--early-stopping", "5"]
    assert cli.main([*arguments, "--out", str(tmp_path / "a")]) == 0
    assert cli.main([*arguments, "--out", str(tmp_path / "b")]) == 0
    for name in ("model.txt", "curve.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()

    split = {
        "train": load_letor([part_file(parts, i) for i in (1, 2, 3)]),
        "valid": load_letor(part_file(parts, 4)),
        "test": load_letor(part_file(parts, 5), n_features=4),
    }
    hard = bs.Metric("recall@2")
    soft = bs.SoftMetric(hard, noise="gumbel", sigma=0.2, sigma_unit="spread")
    curves, model = assert_curves_are_the_models(tmp_path / "a", split, hard, soft)
    assert len(curves["boostsoft", "valid", "recall_hard@2"]) == min(model.num_trees() + 5, 30)

    objective = bl.objective("recall@2", noise="gumbel", mix={"kendall": 0.3})  # losses stand beside NDCG alone
    parameters = {"objective": objective, "learning_rate": 0.2, "num_leaves": 4}
    parameters |= {"min_data_in_leaf": 5, "seed": 7, "deterministic": True, "force_row_wise": True, "verbosity": -1}
    train = split["train"]
    by_hand = lgb.train(parameters, lgb.Dataset(train.X, train.y, group=train.sizes), model.num_trees())
    scores = model.predict(split["test"].X)
    np.testing.assert_array_equal(scores, by_hand.predict(split["test"].X))
    value = hard(split["test"].y, scores, group=split["test"].sizes)
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith(" test"))
    assert line.split()[2] == f"{value:.4f}"


def test_train_on_more_than_the_metric(parts, tmp_path, capsys):
    arguments = ["train", "--train", str(part_file(parts, 1)), "--valid", str(part_file(parts, 2)), "--no-baseline"]
    arguments += [
        "--trees",
        "4",
        "--early-stopping",
        "0",
        "--noise",
        "gaussian",
        "--mix",
        "kendall=0.3",
        "--losses",
        "xendcg=0.5",
        "ranknet=1",
    ]
    assert cli.main([*arguments, "--out", str(tmp_path)]) == 0
    assert "soft NDCG@10 + 0.3 kendall + 0.5 xendcg + 1 ranknet." in " ".join(capsys.readouterr().out.split())
    train, valid = (load_letor(part_file(parts, i)) for i in (1, 2))
    objective = bl.objective("ndcg@10", mix={"kendall": 0.3}, losses={"xendcg": 0.5, "ranknet": 1.0})
    parameters = {"objective": objective, "seed": 0, "deterministic": True, "force_row_wise": True, "verbosity": -1}
    model = lgb.Booster(model_file=tmp_path / "model.txt")
    by_hand = lgb.train(parameters, lgb.Dataset(train.X, train.y, group=train.sizes), model.num_trees())
    np.testing.assert_array_equal(model.predict(valid.X), by_hand.predict(valid.X))


RARE = "".join(f"{int(at == 0)} qid:1 1:{at} 2:{at % 7}\n" for at in range(80))


@pytest.mark.parametrize(
    ("given", "text", "expected"),
    [
        ([], None, {"noise": "gumbel", "mix": {"kendall": 0.3}, "losses": {"xendcg": 0.5, "ranknet": 0.5}}),
        ([], RARE, {"noise": "gumbel", "mix": {"kendall": 0.3}, "losses": BESIDE_RARE}),
        (["--mix", "none", "--losses", "none", "--noise", "gaussian"], None, {}),
        (["--mix", "none"], None, {"noise": "gumbel", "losses": {"xendcg": 0.5, "ranknet": 0.5}}),
        (["--losses", "none"], None, {"noise": "gumbel", "mix": {"kendall": 0.3}}),
        (["--metric", "auc"], None, {"noise": "gumbel"}),  # a metric of pairs has no tau beside it
    ],
)
@pytest.mark.parametrize("folds", [True, False])
def test_what_is_trained_on_by_default_is_what_softranker_trains_on(
    parts, tmp_path, monkeypatch, given, text, expected, folds
):
    """On plain trees, which train's are."""
    if text is not None:
        parts = tmp_path / "parts"
        parts.mkdir()
        for at in range(1, 6):
            (parts / f"S{at}.txt").write_text(text.replace("qid:1", f"qid:{at}"))
    objectives = []
    build = bl.objective
    monkeypatch.setattr(bl, "objective", lambda *what, **how: objectives.append(build(*what, **how)) or objectives[-1])
    arguments = ["train", "--folds", str(parts)] if folds else [*split_arguments(parts)]
    if text is not None and not folds:
        files = [str(parts / f"S{at}.txt") for at in (1, 2, 3)]
        arguments = ["train", "--train", *files[:2], "--valid", files[2]]
    assert cli.main([*arguments, *given, "--trees", "1", "--out", str(tmp_path / "out"), *SMALL_TREES]) == 0
    metric = given[-1] if "--metric" in given else "ndcg@10"
    assert repr(objectives[-1]) == repr(build(metric, **expected))
    if not given:
        data = load_letor(sorted(parts.glob("S*"))[0])
        its = bs.SoftRanker(n_boosters=1, random_trees=False).train_arguments(data.y, group=data.sizes)
        assert repr(its["params"]["objective"]) == repr(objectives[-1])


def test_relevant_documents_are_few_or_not_in_all_parts_together():
    labels = np.arange(80) == 0, np.arange(80) % 2
    rare, plain = (RankingData(np.zeros((80, 1)), y.astype(float), np.ones(80), np.array([80])) for y in labels)
    for parts, expected in (([rare, plain, plain], {"xendcg": 0.5, "ranknet": 0.5}), ([rare, rare], BESIDE_RARE)):
        assert train_command._with_losses(Plan(), parts).losses == expected


def test_without_baseline_and_without_a_test_part(parts, tmp_path, capsys):
    arguments = ["train", "--train", str(part_file(parts, 1)), "--valid", str(part_file(parts, 2))]
    arguments += ["--no-baseline", "--trees", "5", "--early-stopping", "0", "--out", str(tmp_path), *SMALL_TREES]
    (tmp_path / "curve.csv").write_text("old")
    (tmp_path / "mine.txt").write_text("mine")
    assert cli.main(arguments) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"model.txt", "curve.csv", "curve.png", "mine.txt"}
    curves = curves_of(tmp_path / "curve.csv")
    assert {arm for arm, _, _ in curves} == {"boostsoft"}
    assert {len(curve) for curve in curves.values()} == {5}
    shown = capsys.readouterr().out
    assert "lambdarank" not in shown
    assert "difference" not in shown


def test_with_a_baseline_but_no_test_part_says_that_valid_was_used_twice(parts, tmp_path, capsys):
    arguments = ["train", "--train", str(part_file(parts, 1)), "--valid", str(part_file(parts, 2))]
    assert cli.main([*arguments, "--trees", "3", "--out", str(tmp_path), *SMALL_TREES]) == 0
    assert "chosen on these queries" in " ".join(capsys.readouterr().out.split())


@pytest.fixture(scope="module")
def folds_run(parts, tmp_path_factory):
    """The folder of a run over the folds, and what was printed."""
    out, shown = tmp_path_factory.mktemp("folds"), io.StringIO()
    arguments = ["train", "--folds", str(parts), "--seeds", "2", "--seed", "5", "--trees", "4", "--out", str(out)]
    with contextlib.redirect_stdout(shown):
        assert cli.main([*arguments, *SMALL_TREES]) == 0
    return out, shown.getvalue()


@pytest.fixture(scope="module")
def folds_out(folds_run):
    return folds_run[0]


def test_folds_test_every_query_once_per_seed(parts, folds_out):
    rows = rows_of(folds_out / "per_query.csv")
    expected = [(seed, 100 * i + q) for i in range(1, 6) for q in range(14) for seed in (5, 6)]
    assert sorted((int(row["seed"]), int(row["query"])) for row in rows) == sorted(expected)
    # fold 1 is tested on S5, fold 2 on S1, ...
    assert {(int(row["fold"]), int(row["query"]) // 100) for row in rows} == {(1, 5), (2, 1), (3, 2), (4, 3), (5, 4)}
    sizes = {}
    for i in range(1, 6):
        data = load_letor(part_file(parts, i))
        sizes |= dict(zip(np.unique(data.qid).tolist(), data.sizes.tolist(), strict=True))
    assert all(sizes[int(row["query"])] == int(row["documents"]) for row in rows)
    empty = [row for row in rows if row["empty"] == "1"]
    assert {int(row["query"]) for row in empty} >= {100, 200, 300, 400, 500}
    assert all(row["boostsoft"] == row["lambdarank"] == "0.0" for row in empty)
    for arm in ("boostsoft", "lambdarank"):  # the seeds differ
        assert len({tuple(row[arm] for row in rows if row["seed"] == seed) for seed in ("5", "6")}) == 2
    assert_picture(folds_out / "differences.png", (1700, 920))


def test_a_bar_counts_the_runs_of_all_folds_seeds_and_arms(parts, tmp_path, monkeypatch):
    counted = []

    class Bars(TreeBars):
        def __init__(self, console, runs=None):
            counted.append(runs)
            super().__init__(console, runs)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(train_command, "TreeBars", Bars)
    monkeypatch.setattr(train_command, "run_folds", interrupted)
    assert cli.main(["train", "--folds", str(parts), "--seeds", "3", "--out", str(tmp_path / "out")]) == 130
    assert counted == [5 * 3 * 2]


def test_fold_means_are_those_of_their_queries(folds_out):
    queries, runs = rows_of(folds_out / "per_query.csv"), rows_of(folds_out / "folds.csv")
    assert len(runs) == 5 * 2 * 2
    for run in runs:
        mine = [q for q in queries if (q["fold"], q["seed"]) == (run["fold"], run["seed"])]
        values = np.array([float(q[run["arm"]]) for q in mine])
        empty = np.array([q["empty"] == "1" for q in mine])
        for rule, wanted in (
            ("zero", values.mean()),
            ("skip", values[~empty].mean()),
            ("one", np.where(empty, 1.0, values).mean()),
        ):
            assert float(run[f"ndcg_hard@10_empty_{rule}"]) == pytest.approx(wanted, abs=1e-12)
        assert 1 <= int(run["trees"]) <= 4


def test_a_fold_by_hand(parts, folds_out):
    """Fold 4, seed 6, lambdarank: parts 4, 5 and 1 train, 2 is watched, 3 is tested."""
    read = [load_letor(part_file(parts, i), n_features=4) for i in (4, 5, 1, 2, 3)]
    X, y, sizes = (np.concatenate([getattr(part, name) for part in read[:3]]) for name in ("X", "y", "sizes"))
    parameters = {"objective": "lambdarank", "learning_rate": 0.1, "num_leaves": 4, "min_data_in_leaf": 5, "seed": 6}
    parameters |= {"feature_fraction": 0.8, "verbosity": -1, "deterministic": True, "force_row_wise": True}
    booster = lgb.train(parameters, lgb.Dataset(X, y, group=sizes), 4)
    ndcg = bs.Metric("ndcg@10")

    def after(trees, data):
        return ndcg(data.y, booster.predict(data.X, num_iteration=trees), group=data.sizes)

    best = 1 + int(np.argmax([after(trees, read[3]) for trees in range(1, 5)]))
    run = next(
        row
        for row in rows_of(folds_out / "folds.csv")
        if (row["fold"], row["seed"], row["arm"]) == ("4", "6", "lambdarank")
    )
    assert int(run["trees"]) == best
    assert float(run["ndcg_hard@10_empty_zero"]) == pytest.approx(after(best, read[4]), abs=1e-12)


def test_folds_report_agrees_with_the_files(folds_run):
    out, shown = folds_run
    rows = rows_of(out / "per_query.csv")
    ours, theirs = (np.array([float(row[arm]) for row in rows]) for arm in ("boostsoft", "lambdarank"))
    kept = np.array([row["empty"] == "0" for row in rows])
    lines = {line.split("   ")[0].strip(): line.split() for line in shown.splitlines()}
    for label, chosen in (("count 0", np.full(140, True)), ("left out", kept)):
        wanted = [f"{chosen.sum() // 2}", f"{ours[chosen].mean():.4f}", f"{theirs[chosen].mean():.4f}"]
        assert lines[label][2:5] == wanted
        assert float(lines[label][5]) == pytest.approx((ours - theirs)[chosen].mean(), abs=6e-5)
    by_seed = [(ours - theirs)[[row["seed"] == seed for row in rows]].mean() for seed in ("5", "6")]
    words = " ".join(shown.split())
    assert f"Difference by seed: {by_seed[0]:+.4f}, {by_seed[1]:+.4f}." in words
    assert "feature_fraction 0.8, min_data_in_leaf 5," in words or "min_data_in_leaf 5, feature_fraction 0.8," in words
    assert "averaged over 2 seeds;" in words


class Diary(Observer):
    def __init__(self):
        self.notes = []

    def begin(self, run, trees):
        self.notes.append((run, trees))

    def tree(self, n, values):
        self.notes.append((n, dict(values)))

    def end(self):
        self.notes.append("end")


def test_an_observer_sees_every_tree(parts):
    read = [load_letor(part_file(parts, i), n_features=4) for i in range(1, 6)]
    plan, diary = Plan(trees=2, leaves=4), Diary()
    split = run_split(plan, {"train": read[0], "valid": read[1]}, diary)
    curves = [arm.curves for arm in split.arms]
    seen = [[(n, {name: found["valid", name][n - 1] for name in plan.names}) for n in (1, 2)] for found in curves]
    assert diary.notes == [("boostsoft", 2), *seen[0], "end", ("lambdarank", 2), *seen[1], "end"]

    diary = Diary()
    run_folds(Plan(trees=1, leaves=4, baseline=False), read, [3], diary)
    assert diary.notes[:: 1 + 2] == [(f"fold {fold}, seed 3, boostsoft", 1) for fold in range(1, 6)]
    assert diary.notes[1][1].keys() == {"ndcg_hard@10"}


def test_an_arm_takes_as_long_as_its_trees(parts, monkeypatch):
    time = Time()

    class Slow(Observer):
        def begin(self, run, trees):
            time.go_by(100.0)

        def tree(self, n, values):
            time.go_by(7.0)

        def end(self):
            time.go_by(1000.0)

    monkeypatch.setattr("boostsoft.commands.experiment.time", time)
    split = {part: load_letor(part_file(parts, i)) for part, i in (("train", 1), ("valid", 4))}
    plan = Plan(trees=3, leaves=4, early_stopping=0, parameters={"min_data_in_leaf": 5})
    assert train_arm("lambdarank", plan, split, Slow()).seconds == 3 * 7.0


def test_only_the_hard_metric_on_valid_stops_training(parts):
    train = load_letor([part_file(parts, i) for i in (1, 2, 3)])
    split = {"train": train, "valid": load_letor(part_file(parts, 4))}
    plan = Plan(learning_rate=0.05, leaves=4, trees=60, early_stopping=8, parameters={"min_data_in_leaf": 5})
    found = train_arm("lambdarank", plan, split, Observer())
    hard, soft = (found.curves["valid", name] for name in plan.names)
    assert hard.size == found.trees + 8 < 60
    assert hard.argmax() + 1 == found.trees
    # had the soft metric a say, it would have stopped training sooner: there it stands still for eight trees
    assert any(soft[i] > soft[i + 1 : i + 9].max() for i in range(found.trees - 8) if soft[i] == soft[: i + 1].max())


def test_set_wins_over_the_folds_feature_fraction(parts, monkeypatch):
    plans = []
    monkeypatch.setattr(train_command, "_compare_folds", lambda plan, *_: plans.append(plan))
    assert cli.main(["train", "--folds", str(parts)]) == 0
    assert cli.main(["train", "--folds", str(parts), "--set", "colsample_bytree=0.5"]) == 0
    assert [plan.booster_parameters("lambdarank")["feature_fraction"] for plan in plans] == ["0.8", "0.5"]


def test_defaults_are_those_that_the_help_tells(parts, monkeypatch):
    found = 0
    (commands,) = (action for action in cli._parser()._actions if isinstance(action, argparse._SubParsersAction))
    for name in ("demo", "train", "track", "blend"):
        for action in commands.choices[name]._actions:
            assert action.help, (name, action.dest)
            told = re.search(r"\(([^ ()]+)\)$", action.help)
            if told and action.default is not None:
                assert str(action.default) == told[1].removeprefix("./"), (name, action.dest)
                found += 1
    assert found > 20
    seeds = []
    monkeypatch.setattr(train_command, "_compare_folds", lambda _, __, n_seeds, ___: seeds.append(n_seeds))
    assert cli.main(["train", "--folds", str(parts)]) == 0
    assert seeds == [1]


def test_bars_are_on_stderr(parts, tmp_path, capsys, monkeypatch):
    on_a_terminal(monkeypatch, 110)
    assert cli.main([*split_arguments(parts), "--out", str(tmp_path), *SMALL_TREES, "--trees", "2"]) == 0
    shown = capsys.readouterr()
    assert "2/2" in shown.err
    assert "2/2" not in shown.out


def test_labels_beyond_the_gains_of_lambdarank_need_no_baseline(tmp_path, capsys):
    text = letor_text(1, 1, 12)
    assert cli.main([*twice(tmp_path, text.replace("2 qid", "30 qid")), "--trees", "2", *SMALL_TREES]) == 0
    arguments = [*twice(tmp_path, text.replace("2 qid", "31 qid")), "--trees", "2"]
    assert cli.main(arguments) == 2
    assert "needs whole labels from 0 to 30; got 31.0; --no-baseline leaves it out" in capsys.readouterr().err
    assert cli.main([*arguments, "--no-baseline", *SMALL_TREES]) == 0


def test_fractional_labels_need_no_baseline(tmp_path, capsys):
    arguments = [*twice(tmp_path, letor_text(1, 1, 12).replace("2 qid", "1.5 qid")), "--trees", "2"]
    assert cli.main(arguments) == 2
    assert "lambdarank needs whole labels from 0 to 30; got 1.5; --no-baseline leaves it out" in capsys.readouterr().err
    assert cli.main([*arguments, "--no-baseline", *SMALL_TREES]) == 0


def test_a_valid_part_with_nothing_relevant_ends_no_training(parts, tmp_path, capsys):
    (tmp_path / "valid.txt").write_text(re.sub(r"(?m)^\d", "0", (parts / "S4.txt").read_text()))
    arguments = ["train", "--train", str(parts / "S1.txt"), "--valid", str(tmp_path / "valid.txt")]
    arguments += ["--out", str(tmp_path / "out"), *SMALL_TREES, "--trees", "8", "--early-stopping", "2"]
    assert cli.main(arguments) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert re.search(
        r"Trees kept: boostsoft 8 \(.*\); all trees, since nothing in valid is relevant to choose by", words
    )
    assert lgb.Booster(model_file=tmp_path / "out" / "model.txt").num_trees() == 8


@pytest.mark.parametrize("setting", ["feature_fraction=0.5", "monotone_constraints=1,0,0,0", "max_bin=15"])
def test_a_value_that_lightgbm_takes_is_silent(setting, capfd):
    train_command._check_tree_parameters(train_command._tree_parameters([setting]))
    assert capfd.readouterr() == ("", "")


def test_dart_keeps_all_trees_and_the_report_says_so(parts, tmp_path, capsys):
    arguments = [*split_arguments(parts), "--out", str(tmp_path / "out"), *SMALL_TREES, "--trees", "6"]
    assert cli.main([*arguments, "--early-stopping", "1", "--set", "boosting_type=dart"]) == 0
    shown = capsys.readouterr()
    words = " ".join(shown.out.split())
    assert shown.err == ""
    assert "the rest as in LightGBM; all trees are kept, since dart changes earlier ones." in words
    assert "training stops" not in words
    assert "Trees kept: boostsoft 6 (" in words
    assert lgb.Booster(model_file=tmp_path / "out" / "model.txt").num_trees() == 6


def test_dart_writes_the_model_that_its_curve_shows(parts, tmp_path):
    """LightGBM drops trees to show the scores of the training data, the last of which it would not put back."""
    settings = [word for setting in ("boosting=dart", "drop_rate=0.5", "skip_drop=0") for word in ("--set", setting)]
    out = tmp_path / "out"
    assert cli.main([*split_arguments(parts), "--out", str(out), *SMALL_TREES, "--trees", "9", *settings]) == 0
    curves, model = curves_of(out / "curve.csv"), lgb.Booster(model_file=out / "model.txt")
    files = [part_file(parts, i) for i in range(1, 5)]
    for part, data in (("train", bs.load_letor(files[:3])), ("valid", bs.load_letor(files[3:]))):
        value = bs.Metric("ndcg@10")(data.y, model.predict(data.X), group=data.sizes)
        assert curves["boostsoft", part, "ndcg_hard@10"][9] == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(("set_before", "policy"), [(None, "passive"), ("active", "active")])
def test_what_is_set_before_the_commands_are_loaded(set_before, policy, monkeypatch):
    """Threads that sleep, unless the user wants others, and a stream that writes any name."""
    from boostsoft import __main__ as program

    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    if set_before is not None:
        monkeypatch.setenv("OMP_WAIT_POLICY", set_before)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr(cli, "main", lambda: sys.stdout.write("\u2265\n"))
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, "ascii"))
    program.run()
    sys.stdout.flush()
    assert written.getvalue().split() == [b"\\u2265"]
    assert os.environ["OMP_WAIT_POLICY"] == policy


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as ending:
        cli.main(["--version"])
    assert ending.value.code == 0
    assert capsys.readouterr().out == f"boostsoft {bs.__version__}\n"


def test_a_weight_may_stand_apart_from_its_name():
    assert options.weighted(" map = 2 ") == ("map", 2.0)
    assert options.weighted_or_none(" none ") is None


def test_help_ends_well(capsys):
    with pytest.raises(SystemExit) as ending:
        cli.main(["train", "--help"])
    assert ending.value.code == 0
    shown = capsys.readouterr().out
    assert "five folds:" in shown
    assert "dense" in shown


def test_folds_and_splits_have_folders_of_their_own(parts, tmp_path, monkeypatch):
    """In one folder the model and the curve of an earlier split would pass for those of the folds."""
    monkeypatch.chdir(tmp_path)
    few = ["--trees", "2"]
    files = ["--train", str(part_file(parts, 1)), "--valid", str(part_file(parts, 2))]
    assert cli.main(["train", *files, *few]) == 0
    assert cli.main(["train", "--folds", str(parts), *few]) == 0
    found = {path.name: sorted(file.name for file in path.iterdir()) for path in tmp_path.iterdir()}
    assert found == {
        "boostsoft-folds": ["differences.png", "folds.csv", "per_query.csv"],
        "boostsoft-train": ["curve.csv", "curve.png", "model.txt"],
    }


def test_without_lightgbms_list_of_names_parameters_stay_as_they_are(monkeypatch):
    """It is private, and may move."""
    assert train_command._tree_parameters(["num_leaf=5"]) == {"num_leaves": "5"}
    monkeypatch.delattr("lightgbm.basic._ConfigAliases._get_all_param_aliases")
    assert train_command._tree_parameters(["num_leaf=5"]) == {"num_leaf": "5"}


@pytest.mark.parametrize("seed", range(3))
def test_the_trees_kept_are_those_of_the_best_point_of_the_curve(seed):
    """Random trees may find no split in one round and one in the next: LightGBM drops the first and goes on."""
    rng = np.random.default_rng(seed)
    sizes = np.full(20, 10)
    parts = {}
    for name in ("train", "valid", "test"):
        X = rng.normal(size=(200, 2))
        y = np.digitize(X[:, 0] + rng.normal(size=200), [0, 1]).astype(float)
        parts[name] = RankingData(X=X, y=y, qid=np.repeat(np.arange(20), sizes), sizes=sizes)
    parameters = {"extra_trees": "true", "min_data_in_leaf": "60"}
    plan = Plan(trees=60, early_stopping=40, parameters=parameters, seed=seed)
    for arm in run_split(plan, parts).arms:
        curve = arm.curves["valid", plan.names[0]]
        assert len(curve) < 60
        assert arm.trees == np.argmax(curve) + 1
        assert arm.values["valid", plan.names[0]].mean() == pytest.approx(curve.max(), abs=1e-12)
        assert lgb.Booster(model_str=arm.model).num_trees() == arm.trees


def test_no_early_stopping_trains_all_trees_and_keeps_the_best():
    rng = np.random.default_rng(0)
    X, sizes = rng.normal(size=(200, 2)), np.full(20, 10)
    y = np.digitize(X[:, 0] + rng.normal(size=200), [0, 1]).astype(float)
    part = RankingData(X=X, y=y, qid=np.repeat(np.arange(20), sizes), sizes=sizes)
    noise = RankingData(X=X, y=rng.permutation(y), qid=part.qid, sizes=sizes)
    plan = Plan(trees=15, early_stopping=0, baseline=False)
    [arm] = run_split(plan, {"train": part, "valid": noise}).arms
    curve = arm.curves["valid", plan.names[0]]
    assert len(curve) == 15
    assert arm.trees == np.argmax(curve) + 1 < 10
