"""``python -m boostsoft bench quality``: methods that fail, libraries that are missing, and what is refused."""

from __future__ import annotations

import json
import sys

import pytest

from boostsoft.bench import peers
from boostsoft.bench.quality import frozen, run, tasks
from boostsoft.bench.quality.display import Display
from boostsoft.bench.quality.jobs import Model
from boostsoft.bench.quality.methods import METHODS
from boostsoft.bench.quality.tasks import Place
from boostsoft.commands.terminal import silent_errors

from . import quality_cases
from .quality_cases import N_DOCS, N_QUERIES, TINY, letor_text, options, records
from .refusals import bench_refuses

pytest.importorskip("lightgbm")
folder, split = quality_cases.folder, quality_cases.split  # fixtures


def test_a_trial_that_a_library_refuses_does_not_count(split, tmp_path, monkeypatch, capsys):
    train = tasks.TRAINERS["lightgbm"]

    def moody(job):
        if refused(job):
            raise RuntimeError("no such leaf\nat 0x1")
        return train(job)

    monkeypatch.setitem(tasks.TRAINERS, "lightgbm", moody)
    stock = METHODS["lambdarank"].stock()
    refused = lambda job: job.method.id == "lambdarank" and job.setting == stock  # noqa: E731
    run.run_quality(options(split, tmp_path / "out"))
    chosen = json.loads((tmp_path / "out" / "settings.json").read_text())["settings"]["lambdarank"]["SPLIT"]["1"]
    assert chosen["trial"] != 0
    assert records(tmp_path / "out")["tune/SPLIT/1/lambdarank/0"]["failed"] == "no such leaf"
    shown = "tuning: SPLIT, fold 1, LightGBM lambdarank: trial 0 failed and does not count: no such leaf"
    assert shown in capsys.readouterr().err


def test_a_method_that_fails_in_every_trial_is_left_out(split, tmp_path, monkeypatch, capsys):
    """As one whose library is missing: hours of search of the others are not lost."""

    def refuse(job):
        if job.method.id in refused:
            raise RuntimeError("no such label")
        return Model(3, lambda X: X[:, 0])

    for trainer in ("lightgbm", "SoftRanker"):
        monkeypatch.setitem(tasks.TRAINERS, trainer, refuse)
    refused = ["lambdarank"]
    run.run_quality(options(split, tmp_path / "out"))
    why = "failed in every trial on SPLIT, fold 1: no such label"
    assert set(json.loads((tmp_path / "out" / "settings.json").read_text())["settings"]) == {"soft-lightgbm"}
    report = json.loads((tmp_path / "out" / "bench-quality.json").read_text())
    assert report["sections"][0]["left_out"] == {"LightGBM lambdarank": why}
    assert [row["method"] for row in report["sections"][0]["rows"]] == ["soft-lightgbm"]
    said = capsys.readouterr()
    assert f"Left out: LightGBM lambdarank {why}\n" in said.out
    assert "tuning: SPLIT, fold 1, LightGBM lambdarank: every run failed, 0.0 s\n" in said.err
    run.run_quality(options(split, tmp_path / "tuned", tune_only=True))
    said = " ".join(capsys.readouterr().out.split())  # however long the folder's name is
    assert "then run again with --settings FILE --methods soft-lightgbm." in said
    refused = TINY
    with pytest.raises(ValueError, match="no method could be trained"):
        run.run_quality(options(split, tmp_path / "other"))
    assert not (tmp_path / "other" / "settings.json").exists()


def test_a_method_that_fails_in_testing_is_left_out(split, tmp_path, monkeypatch, capsys):
    """A test part may have a value that XGBoost refuses: what the others were tested for is not lost."""
    (split / "test.txt").write_text(letor_text(3, n_queries=N_QUERIES - 1))
    trained = []

    def train(job):
        trained.append((job.method.id, job.seed))

        def predict(X):
            if len(X) < N_QUERIES * N_DOCS and job.method.id in refused and job.seed == 1:
                raise RuntimeError("no such value\nat 0x1")
            return X[:, 0]

        return Model(3, predict)

    for trainer in ("lightgbm", "SoftRanker"):
        monkeypatch.setitem(tasks.TRAINERS, trainer, train)
    refused, given = ["lambdarank"], options(split, tmp_path / "out", trials=1)
    run.run_quality(given)
    why = "failed in testing on SPLIT, fold 1, seed 1: no such value"
    said = capsys.readouterr()
    assert f"Left out: LightGBM lambdarank {why}\n" in said.out
    assert "testing: SPLIT, fold 1, LightGBM lambdarank: seed 1 failed, and leaves the method out: no such" in said.err
    report = json.loads((tmp_path / "out" / "bench-quality.json").read_text())
    assert report["sections"][0]["left_out"] == {"LightGBM lambdarank": why}
    assert [row["method"] for row in report["sections"][0]["rows"]] == ["soft-lightgbm"]
    trained.clear()
    run.run_quality(given)  # what failed is as done as what did not
    assert trained == []
    assert f"Left out: LightGBM lambdarank {why}\n" in capsys.readouterr().out
    refused = TINY
    with pytest.raises(ValueError, match="bench quality: no method could be tested; give other --methods, in another"):
        run.run_quality(options(split, tmp_path / "other", trials=1))


def test_what_lightgbm_writes_is_told_once_and_the_bar_goes_on(split, tmp_path, monkeypatch, capfd):
    """It writes of a label beyond its gains to the error stream, where the bar is."""
    with (split / "train.txt").open("a") as file:
        file.write("40 qid:199 1:1\n")
    real = Display.done

    def done(*given):
        with silent_errors():
            real(*given)

    monkeypatch.setattr(Display, "done", done)
    with open(2, "w", closefd=False) as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        run.run_quality(options(split, tmp_path / "out", methods=("lambdarank", "xendcg"), trials=1, seeds=1))
    said = capfd.readouterr()
    assert "[Fatal]" not in said.out + said.err
    assert "tuning: SPLIT, fold 1, LightGBM lambdarank: trial 0 failed and does not count: Label 40 is" in said.err


def test_a_lack_of_memory_is_no_failure_of_a_method(split, tmp_path, monkeypatch):
    """It may pass: what is done is kept, and the same command goes on."""
    called, lacking = [], {0, 3}  # one that tunes, and once the two methods are tuned one that tests

    def train(job):
        called.append(job.method.id)
        if len(called) - 1 in lacking:
            raise MemoryError("1 GB")
        return Model(3, lambda X: X[:, 0])

    for trainer in ("lightgbm", "SoftRanker"):
        monkeypatch.setitem(tasks.TRAINERS, trainer, train)
    given = options(split, tmp_path / "out", trials=1, seeds=1)
    for _ in lacking:
        with pytest.raises(MemoryError, match="1 GB"):
            run.run_quality(given)
    run.run_quality(given)
    report = json.loads((tmp_path / "out" / "bench-quality.json").read_text())
    assert report["sections"][0]["left_out"] == {}
    assert len(called) == len(lacking) + 2 * len(TINY)


def test_failures_name_the_first_fold_without_a_trial():
    places = [Place("TINY", fold, method) for fold in (1, 2, 3) for method in TINY]
    trials = [tasks.Task("tune", place, number, None, [{}], 1, 1, 1) for place in places for number in (0, 1)]
    fails = {("lambdarank", 1, 0), *(("lambdarank", fold, number) for fold in (2, 3) for number in (0, 1))}
    log = {t.key: {"failed": t.key} if (t.place.method, t.place.fold, t.number) in fails else {} for t in trials}
    found = {"lambdarank": "failed in every trial on TINY, fold 2: tune/TINY/2/lambdarank/0"}
    assert frozen.failures(log, trials) == found


def test_a_library_that_is_missing_is_named(split, tmp_path, monkeypatch, capsys):
    found = peers.Peers({"lightgbm": "4.7.0"}, {"catboost": "not installed"})
    monkeypatch.setattr(run, "import_peers", lambda _: found)
    run.run_quality(options(split, tmp_path / "out", methods=(*TINY, "yetirank"), trials=1, seeds=1))
    report = json.loads((tmp_path / "out" / "bench-quality.json").read_text())
    assert report["sections"][0]["left_out"] == {"CatBoost YetiRank": "CatBoost not installed"}
    assert "Left out: CatBoost YetiRank (CatBoost not installed)" in (tmp_path / "out" / "bench-quality.md").read_text()
    assert "left out: CatBoost (not installed)" in capsys.readouterr().out
    with pytest.raises(ValueError, match="none of yetirank can be trained; peers: "):
        run.run_quality(options(split, tmp_path / "other", methods=("yetirank",)))
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("of", "query", "name"), [("train", 100, "vali"), ("train", 100, "test"), ("vali", 200, "test")]
)
def test_parts_with_a_query_in_common_are_refused(split, tmp_path, of, query, name):
    """What is learnt by heart proves nothing."""
    shared = (split / f"{of}.txt").read_text().splitlines()[:12]
    with open(split / f"{name}.txt", "a") as file:
        file.write("\n".join(shared) + "\n")
    with pytest.raises(
        ValueError, match=rf"query {query} is in .*{of}.txt and in .*{name}.txt; parts must have queries of"
    ):
        run.run_quality(options(split, tmp_path / "out", trials=1, seeds=1, trees=2))


def test_a_part_that_is_there_twice_is_refused(split, tmp_path):
    (split / "test.txt.gz").write_bytes(b"")
    with pytest.raises(ValueError, match=r"SPLIT must have test.txt or test.txt.gz; both are there"):
        run.run_quality(options(split, tmp_path / "out"))


BAD = {
    "no data": (["quality"], "--data: bench quality needs folders of ranking data"),
    "a file": (["quality", "--data", "{folder}/S1.txt"], "--data: there is no folder {folder}/S1.txt"),
    "empty folder": (["quality", "--data", "{empty}"], "must have S1.txt to S5.txt, or folders Fold1 to FoldN, or"),
    "two of a name": (["quality", "--data", "{folder}", "{folder}"], "must have different names; got TINY twice"),
    "method": (["quality", "--data", "{folder}", "--methods", "lambdarank,best"], "--methods: must be some of soft-"),
    "both": (["quality", "--data", "{folder}", "--tune-only", "--settings", "x"], "use one of the two"),
    "trials of none": (
        ["quality", "--data", "{folder}", "--trials", "3", "--settings", "x"],
        "--trials: is of the search",
    ),
    "no settings": (["quality", "--data", "{folder}", "--settings", "{empty}/x"], "--settings: there is no file"),
    "bad settings": (["quality", "--data", "{folder}", "--settings", "{folder}/S1.txt"], "must be a file that bench"),
    "average": (["quality", "--data", "{folder}", "--trials", "2", "--average", "3"], "at most the number of --trials"),
    "trials": (["quality", "--trials", "0"], "--trials: must be a whole number of at least 1"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD.keys())
def test_what_is_refused(folder, tmp_path, capsys, arguments, message):
    bench_refuses(arguments, message, capsys, tmp_path / "out", folder=folder, empty=tmp_path)


def test_failures_in_tests_name_the_first_run():
    places = [Place("TINY", fold, "lambdarank") for fold in (1, 2, 3)]
    runs = [tasks.Task("test", place, number, None, [{}], 1, 1, 1) for place in places for number in (0, 1)]
    log = {run.key: {"failed": run.key} if run.place.fold > 1 else {} for run in runs}
    found = {"lambdarank": f"failed in testing on TINY, fold 2, seed 0: {runs[2].key}"}
    assert frozen.failures_in_tests(log, runs) == found


def test_settings_do_not_depend_on_the_order_of_places(tmp_path, monkeypatch):
    monkeypatch.setattr(frozen, "read_settings", lambda path, *_: path.read_bytes())
    chosen = {Place("TINY", fold, method): {"trial": fold} for method in ("xendcg", "lambdarank") for fold in (2, 1)}
    first = frozen.freeze(tmp_path, chosen, {}, 1)
    assert frozen.freeze(tmp_path, dict(reversed(chosen.items())), {}, 1) == first
