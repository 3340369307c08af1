"""``python -m boostsoft bench`` from end to end on a tiny pool, and what it refuses."""

from __future__ import annotations

import io
import json
import platform
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from boostsoft import cli
from boostsoft.bench import growth, limits, peers, run, settings
from boostsoft.bench.command import PARTS
from boostsoft.bench.peers import Peers
from boostsoft.bench.pools import Pool, pool_of_files, synthetic_pool
from boostsoft.bench.progress import PartBar
from boostsoft.bench.results import Column, Section, Target
from boostsoft.bench.timing import Spread

from .narrow import text_of
from .refusals import bench_refuses

pytestmark = pytest.mark.filterwarnings("ignore:unsafe cast from uint64 to int64:Warning")


def letor_file(path):
    rng = np.random.default_rng(0)
    lines = [
        f"{rng.integers(0, 3)} qid:{q} " + " ".join(f"{i}:{x:.3f}" for i, x in enumerate(rng.normal(size=4), 1))
        for q in range(4)
        for _ in range(12)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def answer(task, environment=None, **arguments):
    """What processes of their own would report."""
    if task == "memory":
        return {"megabytes": 123.0}
    count = float(environment["NUMBA_NUM_THREADS"])
    seconds = {growth._TREE: 1e-6, growth.GAUSSIAN: 1e-4 / count, growth.GUMBEL: 2e-4 / count, growth.LAMBDARANK: 1e-4}
    return {"seconds": {name: [value] * arguments["rounds"] for name, value in seconds.items()}}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The folder and the printed text of a quick run over all parts but cold starts."""
    folder = tmp_path_factory.mktemp("bench")
    file = letor_file(folder / "real.txt")
    patch = pytest.MonkeyPatch()
    patch.setattr(growth, "ask", answer)
    patch.setattr(limits, "ask", answer)
    # ranx compiles for a minute: what the bench asks it is in test_peers_ranx.py
    patch.setattr(peers, "NEEDED", {**peers.NEEDED, "hard": set(peers.NEEDED["hard"]) - {"ranx"}})
    for name, values in (("_DOCUMENTS", (10, 40)), ("_CUTOFFS", (1, 10)), ("_SIGMAS", (0.1, 1.0)), ("_QUERIES", (8,))):
        patch.setattr(growth, name, values)
    small = settings.quick
    patch.setattr(settings, "quick", lambda *given: replace(small(*given), trees=3, leaves=4))
    arguments = ["bench", "--quick", "--queries", "8", "--rounds", "1", "--data", str(file), "--seed", "3"]
    arguments += ["--parts", "limits,growth,hard,training,objective", "--out", str(folder / "out")]
    shown = []
    patch.setattr(run.Console, "print", lambda self, *things: shown.extend(map(str, things)))
    try:
        assert cli.main(arguments) == 0
    finally:
        patch.undo()
    return folder / "out", "\n".join(shown)


@pytest.fixture(scope="module")
def report(done):
    return json.loads((done[0] / "bench.json").read_text())


def section(report, key):
    return next(found for found in report["sections"] if found["key"] == key)


def test_all_files_are_written(done):
    out, shown = done
    assert {path.name for path in out.iterdir()} == {"bench.json", "bench.md", "cost.png", "growth.png"}
    for name in ("cost.png", "growth.png"):
        with Image.open(out / name) as image:
            image.load()
            shades = np.asarray(image.convert("L"))
        assert shades.min() < 100
        assert np.mean(shades == 255) > 0.5
    assert "limits: about a minute on this machine; Ctrl-C stops" in shown
    assert re.search(r"Targets met: \d+ of \d+", shown)


def test_sections_come_in_the_order_of_the_full_run(report):
    assert [found["key"] for found in report["sections"]] == [
        "objective_synthetic", "objective_files", "value_synthetic", "roofline_synthetic",
        "training_synthetic", "training_files", "hard_synthetic", "hard_files",
        "growth_documents", "growth_cutoff", "growth_sigma", "growth_queries", "growth_threads",
        "long_query", "whole_list",
    ]  # fmt: skip
    assert report["settings"]["queries"] == 8
    assert report["settings"]["seed"] == 3
    assert list(report["settings"]["seconds"]) == ["objective", "training", "hard", "growth", "limits"]


def test_the_objectives_and_their_peers_are_there(report):
    rows = section(report, "objective_synthetic")["rows"]
    names = {row["name"] for row in rows}
    wanted = {"LightGBM regression", "LightGBM lambdarank@10", "LightGBM lambdarank@30", "LightGBM rank_xendcg"}
    wanted |= {"boostsoft gaussian", "boostsoft gumbel", "PL-Rank-3, 200 samples (ours)"}
    if "xgboost" in report["peers"]["versions"]:
        wanted |= {"XGBoost rank:ndcg, topk 10", "XGBoost rank:ndcg, topk 30", "boostsoft gaussian in XGBoost"}
    if "catboost" in report["peers"]["versions"]:
        wanted |= {"CatBoost StochasticRank, 1 sample", "CatBoost StochasticRank, 10 samples", "CatBoost YetiRank"}
    assert wanted <= names
    ours = [row for row in rows if row["name"] in ("boostsoft gaussian", "boostsoft gumbel")]
    assert len(ours) == 6
    assert all(0 <= row["error"] < 1e-4 for row in ours)
    assert all({"target", "met", "wish"} == set(verdict) for row in ours for verdict in row["targets"])
    files = section(report, "objective_files")
    assert "real.txt: 4 queries, 48 documents" in files["title"]
    assert all(len(row["targets"]) == 1 for row in files["rows"] if "targets" in row)  # of the error alone


def test_hard_metrics_agree_with_every_peer(report):
    for pool in ("synthetic", "files"):
        rows = [row for row in section(report, f"hard_{pool}")["rows"] if "difference" in row]
        assert {row["name"] for row in rows} >= {"scikit-learn", "LightGBM"}
        assert len(rows) == 2 * (2 + ("pytrec_eval" in report["peers"]["versions"]))
        assert all(row["difference"] < 1e-12 for row in rows)
        assert all(row["cost"]["median"] > 0 for row in rows)


def test_training_grows_the_same_trees(report):
    rows = section(report, "training_synthetic")["rows"]
    assert {row["name"] for row in rows} >= {"LightGBM lambdarank", "LightGBM, boostsoft gaussian"}
    assert {row["leaves"] for row in rows} == {4.0}
    assert all(row["wall"]["median"] > 0 for row in rows)
    assert "136 features" in section(report, "training_synthetic")["note"]
    assert "on 4 features" in section(report, "training_files")["note"]


def test_limits_take_memory_from_another_process(report):
    rows = section(report, "long_query")["rows"]
    assert len(rows) == 4
    assert {row["memory"] for row in rows} == {123.0}
    assert all(row["time"]["median"] > 0 for row in rows)


def test_threads_are_those_of_the_children(report):
    for row in section(report, "growth_threads")["rows"]:
        assert row["boostsoft gaussian"]["median"] == pytest.approx(100 / row["at"] - 1)


def test_the_tables_are_whole_and_name_no_host(done, report):
    text = (done[0] / "bench.md").read_text()
    assert text.count("\n## ") == len(report["sections"])
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        widths = {line.count("|") for line in table.splitlines()}
        assert len(widths) == 1
    assert f"{report['machine']['threads']} threads on" in text
    assert not platform.node() or platform.node() not in text + json.dumps(report)
    assert str(done[0].parent) not in text
    for found in report["sections"]:  # CatBoost may not be installed, and not all is held against a target
        assert set(found["units"]) - {key for row in found["rows"] for key in row} <= {"stochastic", "targets"}


# ---------------------------------------------------------------------------------------------------------
# Errors
# ---------------------------------------------------------------------------------------------------------

BAD = {
    "part": (["--parts", "objective,speed"], "--parts: must be some of objective,training,"),
    "no part": (["--parts", ""], "--parts: must be some of"),
    "rounds": (["--rounds", "0"], "--rounds: must be a whole number of at least 1; got '0'"),
    "queries": (["--queries", "many"], "--queries: must be a whole number of at least 1; got 'many'"),
    "documents": (["--documents", "1"], "--documents: must be a whole number of at least 2; got '1'"),
    "seed": (["--seed", "-1"], "--seed"),
    "missing file": (["--data", "{tmp}/none"], "--data: there is no file {tmp}/none"),
    "out is a file": (
        ["--out", "{tmp}/file/x", "--quick", "--queries", "2", "--parts", "hard"],
        "--out: {tmp}/file is a file, not a folder",
    ),
    "two leaves": (["--queries", "3", "--documents", "2"], "--queries: queries x documents must be at least 40, two"),
    "empty data": (["--data", ""], "--data: must name a file or a folder; got an empty text"),
    "files of no part": (
        ["--data", "{tmp}/file", "--parts", "cold,limits"],
        "--data: files are for the parts hard, objective, training only; got {tmp}/file",
    ),
    "no blend": (["--data", "{tmp}", "--quick"], "--data: {tmp} must have A1.txt to A5.txt or S1.txt to S5.txt"),
    "what": (["size"], "invalid choice: 'size'"),
    "no letor": (["--data", "{tmp}/file", "--quick", "--parts", "hard"], "{tmp}/file"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_line_and_leaves_nothing(tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run, "_run_part", lambda *_: pytest.fail("it was timed"))
    (tmp_path / "file").write_text("not a letor file\n")
    assert cli.main(["bench", *(argument.replace("{tmp}", str(tmp_path)) for argument in arguments)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("boostsoft: ")
    assert shown.err.count("\n") == 1
    assert message.replace("{tmp}", str(tmp_path)) in shown.err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("kinds", "options"),
    [
        (("quality", "defaults"), "--parts=hard --rounds=1 --queries=1 --documents=2"),
        (("speed", "defaults"), "--trials=1 --seeds=1 --average=1 --jobs=1 --settings=x --tune-only"),
        (("speed", "quality"), "--draws=1 --train-documents=1 --stop"),
        (("speed",), "--methods=xendcg --trees=1"),
    ],
)
def test_options_of_another_kind_are_refused(kinds, options, tmp_path, capsys, monkeypatch):
    for place in ("run.run_bench", "quality.run.run_quality", "defaults.run.run_defaults"):
        monkeypatch.setattr(f"boostsoft.bench.{place}", lambda *_: pytest.fail("it was run"))
    for kind in kinds:
        for option in options.split():
            name = option.partition("=")[0]
            bench_refuses([kind, option], f"{name}: bench {kind} does not take it", capsys, tmp_path / "out")


@pytest.mark.parametrize("name", ["bench.json", "bench.md", "cost.png", "growth.png"])
def test_a_folder_in_the_place_of_a_file_is_refused_before_anything_is_timed(tmp_path, capsys, monkeypatch, name):
    monkeypatch.setattr(run, "run_bench", lambda *_: pytest.fail("it was timed"))
    (tmp_path / name).mkdir()
    assert cli.main(["bench", "--quick", "--out", str(tmp_path)]) == 2
    assert f"--out: {tmp_path / name} must be a file; it is a folder" in capsys.readouterr().err


def test_costs_are_drawn_for_any_number_of_documents(tmp_path, monkeypatch):
    cost = Spread(2.0, 1.0, 3.0)
    rows = [{"name": "boostsoft gaussian", "sigma": 1.0, "k": 10, "cost": cost}]
    monkeypatch.setattr(
        run, "_run_part", lambda part, pools, *_: [Section(f"objective_{pools[0].key}", "", "", (), rows)]
    )
    arguments = ["bench", "--queries", "2", "--documents", "40", "--parts", "objective", "--out", str(tmp_path)]
    assert cli.main(arguments) == 0
    assert (tmp_path / "cost.png").is_file()


def test_an_interrupt_leaves_nothing(tmp_path, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "measure_hard", interrupted)
    out = tmp_path / "out"
    assert cli.main(["bench", "--quick", "--queries", "2", "--parts", "hard", "--out", str(out)]) == 130
    assert capsys.readouterr().err == "boostsoft: interrupted; no file is half written\n"
    assert not out.exists()


def test_speed_is_what_is_measured_unless_said(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(run, "run_bench", lambda *given: seen.append(given))
    for what in ([], ["speed"]):
        assert cli.main(["bench", *what, "--parts", "cold, hard,hard", "--out", str(tmp_path / "out")]) == 0
    assert seen[0] == seen[1]
    assert seen[0][0] == ("hard", "cold")


ALL_BUT_BLEND = ("objective", "training", "tracking", "hard", "growth", "limits", "cold")


@pytest.mark.parametrize(
    ("arguments", "parts", "files", "folders", "made"),
    [
        ([], ALL_BUT_BLEND, [], [], settings.full(None, None, 0)),
        (["--quick", "--seed", "4", "--queries", "7", "--rounds", "3"], ALL_BUT_BLEND, [], [], settings.quick(7, 3, 4)),
        (["--documents", "9", "--queries", "7"], ALL_BUT_BLEND, [], [],
         replace(settings.full(7, None, 0), documents=9)),
        (["--data", "b.txt", "a.txt"], ALL_BUT_BLEND, ["b.txt", "a.txt"], [], settings.full(None, None, 0)),
        (["--data", "one", "a.txt"], (*ALL_BUT_BLEND, "blend"), ["a.txt"], ["one"], settings.full(None, None, 0)),
        (["--data", "one", "--parts", "blend"], ("blend",), [], ["one"], settings.full(None, None, 0)),
    ],
)  # fmt: skip
def test_what_a_run_is_given(arguments, parts, files, folders, made, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one").mkdir()
    for name in ("a.txt", "b.txt", *(f"one/A{part}.txt" for part in range(1, 6))):
        (tmp_path / name).touch()
    seen = []
    monkeypatch.setattr(run, "run_bench", lambda *given: seen.append(given))
    assert cli.main(["bench", *arguments]) == 0
    assert seen == [(parts, [Path(file) for file in files], Path("boostsoft-bench"), made, [Path(f) for f in folders])]


MEASURES = {
    "objectives": "measure_objectives", "direct": "measure_direct", "training": "measure_training",
    "tracking": "measure_tracking", "hard": "measure_hard", "growth": "measure_growth", "limits": "measure_limits",
    "cold": "measure_cold_start", "blend": "measure_blending",
}  # fmt: skip


@pytest.mark.parametrize(
    ("part", "wanted"),
    [
        ("objective", ["objectives 6", "objectives 8", "objectives 9", "direct 6"]),
        ("training", ["training 2", "training 8", "training 9"]),
        ("tracking", ["tracking 2"]),
        ("hard", ["hard 6", "hard 8", "hard 9"]),
        ("growth", ["growth"]),
        ("limits", ["limits"]),
        ("cold", ["cold"]),
        ("blend", ["blend one", "blend two"]),
    ],
)
def test_what_each_part_measures(part, wanted, monkeypatch):
    """On pools of 6, 8 and 9 queries, the first of them synthetic: of that one, 2 are to be trained on."""
    made, found = replace(settings.quick(6, 1, 0), training_queries=2), Peers({}, {})
    printed, watchers = [], []

    def fake(name):
        def measure(*given):
            pools = [one for one in given if isinstance(one, Pool)]
            folders = [one for one in given if isinstance(one, Path)]
            assert made in given
            watchers.append(given[-1])
            assert (found in given) == (name not in ("direct", "limits", "cold", "blend"))
            key = " ".join([name, *(str(pool.n_queries) for pool in pools), *map(str, folders)])
            section = Section(key, key, "", (), [])
            return [section] if name in ("direct", "tracking", "growth", "limits", "blend") else section

        return measure

    for name, target in MEASURES.items():
        monkeypatch.setattr(run, target, fake(name))
    pools = [synthetic_pool(queries, 3) for queries in (6, 8, 9)]
    console = Console(file=io.StringIO())
    monkeypatch.setattr(console, "print", printed.append)
    sections = run._run_part(part, pools, made, found, console, [Path("one"), Path("two")])
    assert [section.key for section in sections] == wanted
    assert [text_of(table).split("\n")[0] for table in printed] == wanted
    assert all(isinstance(watcher, PartBar) for watcher in watchers)


def test_a_run_says_what_it_does_and_keeps_what_it_took(monkeypatch, tmp_path):
    """Parts of two seconds and of three; a minute and a half is told in minutes."""
    file, seen, shown = letor_file(tmp_path / "real.txt"), [], []
    clock = iter([10.0, 12.0, 20.0, 23.0])
    target = Target(1.0, "x")

    def part_of(part, pools, *given):
        seen.append((part, pools, *given))
        rows = [{"at": 10, "targets": [target.judge(0.5)]}]
        return [Section(f"{part}_documents", "A title", "", (Column("at", "documents", "plain"),), rows)]

    monkeypatch.setattr(run, "_run_part", part_of)
    monkeypatch.setattr(run, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    monkeypatch.setattr(run, "find_peers", lambda parts: seen.append(parts) or Peers({"ranx": "0.3"}, {}))
    monkeypatch.setattr(settings.Settings, "minutes", lambda self, *given: seen.append(given) or 1.6)
    monkeypatch.setattr(run.Console, "print", lambda self, *things: shown.extend(map(str, things)))
    made = replace(settings.quick(5, 1, 7), documents=9)
    folder = tmp_path / "aggregated"
    run.run_bench(["growth", "limits"], [file], tmp_path / "out", made, [folder])
    parts, minutes, growth_, limits_ = seen
    assert (parts, minutes) == (["growth", "limits"], (["growth", "limits"], 2, 1))
    assert [given[0] for given in (growth_, limits_)] == parts
    assert (growth_[2], growth_[-1]) == (made, [folder])
    ours, files = growth_[1]
    np.testing.assert_array_equal(ours.scores, synthetic_pool(5, 9, 7).scores)
    np.testing.assert_array_equal(files.scores, pool_of_files([file], 7).scores)
    report = json.loads((tmp_path / "out" / "bench.json").read_text())
    assert report["settings"]["seconds"] == {"growth": 2.0, "limits": 3.0}
    assert (report["settings"]["documents"], report["settings"]["seed"]) == (9, 7)
    assert [section["key"] for section in report["sections"]] == ["growth_documents", "limits_documents"]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"bench.json", "bench.md", "growth.png"}
    assert "Peers: ranx 0.3.\ngrowth, limits: about 2 minutes on this machine" in shown[0]
    assert shown[-2:] == ["Targets met: 2 of 2.", f"Written to {tmp_path / 'out'}: bench.json, bench.md, growth.png"]


def test_every_part_has_its_function_and_its_minutes():
    assert set(settings._MINUTES) == set(PARTS)
    assert {*run._PARTS, "blend"} == set(PARTS)


def test_the_pictures_are_of_the_synthetic_pool_and_of_all_curves(monkeypatch):
    drawn = []
    monkeypatch.setattr(run, "png", lambda figure: figure)
    monkeypatch.setattr(run, "cost_figure", lambda section: drawn.append(section.key))
    monkeypatch.setattr(run, "growth_figure", lambda sections: drawn.append([section.key for section in sections]))
    keys = ["objective_files", "objective_synthetic_40", "value_synthetic", "growth_documents", "growth_k", "hard"]
    pictures = run._pictures([Section(key, "", "", (), []) for key in keys])
    assert set(pictures) == {"cost.png", "growth.png"}
    for draw in pictures.values():
        draw()
    assert drawn == ["objective_synthetic_40", ["growth_documents", "growth_k"]]
    assert run._pictures([Section("hard_files", "", "", (), [])]) == {}


def test_help_names_every_part(capsys):
    with pytest.raises(SystemExit) as ending:
        cli.main(["bench", "--help"])
    assert ending.value.code == 0
    text = capsys.readouterr().out
    for part in PARTS:
        assert re.search(rf"^  {part} ", text, re.MULTILINE)


def test_a_picture_of_an_earlier_run_does_not_stay_beside_other_tables(tmp_path, monkeypatch):
    for name in ("cost.png", "growth.png", "mine.png"):
        (tmp_path / name).write_bytes(b"old")
    monkeypatch.setattr(run, "_run_part", lambda *given: [])
    run.run_bench(["hard"], [], tmp_path, settings.quick(8, 1, 0))
    assert {path.name for path in tmp_path.iterdir()} == {"bench.json", "bench.md", "mine.png"}
