"""The comparison of objectives is interrupted, goes on, freezes settings, and refuses what does not belong together."""

from __future__ import annotations

import hashlib
import json
import re
import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from types import SimpleNamespace

import pytest

from boostsoft.bench import peers
from boostsoft.bench.quality import data, protocol, run, store, workers
from boostsoft.bench.quality.comparison import Comparison
from boostsoft.bench.quality.frozen import Frozen
from boostsoft.bench.quality.methods import METHODS
from boostsoft.bench.quality.report import about_in_words
from boostsoft.bench.quality.space import Choice

from . import quality_cases
from .quality_cases import (
    arrays,
    assert_same,
    interrupt_after,
    letor_text,
    options,
    records,
    results,
)  # fmt: skip

folder, split, small = quality_cases.folder, quality_cases.split, quality_cases.small  # fixtures


@pytest.mark.parametrize("count", [5, 12, 15])
def test_an_interrupted_run_goes_on(small, folder, tmp_path, monkeypatch, capsys, count):
    given = options(folder, tmp_path / "out")
    first = interrupt_after(monkeypatch, count)
    with pytest.raises(KeyboardInterrupt):
        run.run_quality(given)
    assert len(first) == count
    done, of = (count, 12) if count < 12 else (count - 12, 8)
    assert f"{done} of {of} runs are done and kept; the same command goes on from there." in capsys.readouterr().out
    second = interrupt_after(monkeypatch, None)
    run.run_quality(given)
    assert not set(first) & set(second)
    assert len(second) == 20 - count
    assert results(tmp_path / "out") == results(small)
    assert_same(arrays(tmp_path / "out"), arrays(small))
    assert (tmp_path / "out" / "settings.json").read_bytes() == (small / "settings.json").read_bytes()


def test_the_best_of_a_place_counts_what_an_interrupted_run_did(folder, tmp_path, monkeypatch, capsys):
    given = options(folder, tmp_path / "out", tune_only=True)
    interrupt_after(monkeypatch, 5)  # of three trials of lambdarank on fold 1, two
    with pytest.raises(KeyboardInterrupt):
        run.run_quality(given)
    interrupt_after(monkeypatch, None)
    run.run_quality(given)
    said, found = capsys.readouterr().err, records(tmp_path / "out")
    for fold in (1, 2):
        for method in given.methods:
            trials = [found[f"tune/TINY/{fold}/{method}/{number}"] for number in range(given.trials)]
            best, seconds = max(trial["valid"] for trial in trials), sum(trial["seconds"] for trial in trials)
            line = f"TINY, fold {fold}, {METHODS[method].name}: best NDCG@10 on valid {best:.4f}, {seconds:.1f} s"
            assert said.count(line) == 1


def test_the_note_says_if_runs_had_other_threads(small, folder, tmp_path, capsys):
    out = copytree(small, tmp_path / "out")
    log, threads = out / "runs.jsonl", records(small)["test/TINY/1/lambdarank/0"]["threads"]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    lines[-1]["threads"] = threads + 1
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for where, text in ((small, f"{threads}"), (out, f"{threads} or {threads + 1}, as --jobs was changed")):
        run.run_quality(options(folder, where))
        assert f"threads per run: {text}, runs at a time: 1." in (where / "bench-quality.md").read_text()
        assert {"TINY", "In LightGBM"} <= set(capsys.readouterr().out.splitlines())


def test_a_line_cut_short_is_dropped_and_its_run_done_again(small, folder, tmp_path, monkeypatch):
    out = copytree(small, tmp_path / "out")
    log = out / "runs.jsonl"
    whole = log.read_bytes()
    last = whole.splitlines()[-1]
    log.write_bytes(whole[:-20])
    trained = interrupt_after(monkeypatch, None)
    run.run_quality(options(folder, out))
    assert trained == [json.loads(last)["key"]]
    assert results(out) == results(small)
    assert len(log.read_bytes().splitlines()) == 20


def test_a_test_run_without_its_arrays_is_done_again(small, folder, tmp_path, monkeypatch):
    out = copytree(small, tmp_path / "out")
    (out / "runs" / "TINY-fold1-lambdarank-seed0.npz").unlink()
    trained = interrupt_after(monkeypatch, None)
    run.run_quality(options(folder, out))
    assert trained == ["test/TINY/1/lambdarank/0"]
    assert_same(arrays(out), arrays(small))


def test_a_lost_process_is_one_line():
    class Pool:
        def submit(self, *_):
            future = Future()
            future.set_exception(BrokenProcessPool())
            return future

    with pytest.raises(ChildProcessError, match="what is done is kept, the same command goes on, and fewer --jobs"):
        list(workers._side_by_side(Pool(), [None]))


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_error_beside_processes_ends_the_run(error):
    with pytest.raises(error), workers.workers(2):
        raise error


def test_no_process_is_left_behind_by_one_that_is_killed():
    """They have its output, which ends when the last of them has ended."""
    code = (
        "import os, signal\n"
        "from boostsoft.bench.quality.workers import workers\n"
        "with workers(2) as run:\n"
        "    try:\n"
        "        list(run([None]))\n"
        "    except AttributeError:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr


GOOD = '{"key": "tune/a/1/b/0", "setting": {}, "valid": 0.5, "trees": 3, "seconds": 1}'


@pytest.mark.parametrize(
    "line",
    ['{"key": ', "[" * 100_000, GOOD.replace("valid", "vblid"), GOOD.replace("0.5", '"0.5"'), GOOD[:-2] + "NaN}"],
)
def test_a_damaged_log_is_an_error(tmp_path, line):
    (tmp_path / "runs.jsonl").write_text(f"{GOOD}\n{line}\n{GOOD}\n")
    with pytest.raises(ValueError, match=r"runs\.jsonl, line 2 must be a run's record"):
        store.RunLog(tmp_path)


def test_an_error_of_the_system_names_the_log(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    log = store.RunLog(tmp_path)
    monkeypatch.setattr(store.os, "fsync", full)
    outcome = SimpleNamespace(task=SimpleNamespace(key="tune/a/1/b/0"), values=None, record={})
    with pytest.raises(OSError, match=r"runs\.jsonl'$"):
        log.add(outcome)


@pytest.mark.parametrize("text", ["[]", "1", "null", '{"runs"', "[" * 100_000])
def test_a_damaged_protocol_is_an_error(tmp_path, text):
    (tmp_path / "protocol.json").write_text(text)
    with pytest.raises(ValueError, match=r"^bench quality: .*protocol\.json must "):
        protocol.Protocol(tmp_path)


@pytest.mark.parametrize("damage", [lambda whole: b"", lambda whole: whole[:-30], lambda whole: b"junk" * 30])
def test_damaged_values_are_an_error_that_says_what_to_do(small, folder, tmp_path, monkeypatch, damage):
    out = copytree(small, tmp_path / "out")
    path = out / "runs" / "TINY-fold1-lambdarank-seed0.npz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=r"seed0\.npz must hold the values of a run, and cannot be read; remove it"):
        run.run_quality(options(folder, out))
    path.unlink()
    trained = interrupt_after(monkeypatch, None)
    run.run_quality(options(folder, out))
    assert trained == ["test/TINY/1/lambdarank/0"]
    assert results(out) == results(small)


CHANGES = {
    "trees": ({"trees": 9}, "runs.options.trees was 8 and is 9"),
    "patience": ({"patience": 9}, "runs.options.patience was 60 and is 9"),
    "trials": ({"trials": 4}, "tuning.trials was 3 and is 4"),
    "seed": ({"seed": 1}, "tuning.seed was 0 and is 1"),
    "seeds": ({"seeds": 3}, r"testing.seeds was [0, 1] and is [0, 1, 2]"),
    "folds": ({"folds": 1}, "runs.data.TINY.S5.txt was"),
    "methods": ({"methods": ("soft-lightgbm",)}, "runs.methods.lambdarank was"),
}


@pytest.mark.parametrize(("changes", "message"), CHANGES.values(), ids=CHANGES.keys())
def test_other_options_are_refused(small, folder, tmp_path, monkeypatch, changes, message):
    out = copytree(small, tmp_path / "out")
    trained = interrupt_after(monkeypatch, None)
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        run.run_quality(options(folder, out, **changes))
    assert "holds another comparison" in str(error.value)
    assert results(out) == results(small)
    assert not trained or changes == {"trials": 4}


def test_other_data_spaces_and_versions_are_refused(small, folder, tmp_path, monkeypatch):
    out = copytree(small, tmp_path / "out")
    other = copytree(folder, tmp_path / "TINY")
    (other / "S2.txt").write_text(letor_text(2, seed=9))
    with pytest.raises(ValueError, match=r"runs\.data\.TINY\.S2\.txt was "):
        run.run_quality(options(other, out))
    method = replace(METHODS["soft-lightgbm"], own={"metric": Choice(("ndcg@3",))})
    monkeypatch.setitem(run.METHODS, "soft-lightgbm", method)
    with pytest.raises(ValueError, match=r"runs\.methods\.soft-lightgbm\.own\.mix was "):
        run.run_quality(options(folder, out))
    monkeypatch.undo()
    monkeypatch.setattr(run, "versions", lambda _: {**real_versions(), "lightgbm": "3.1"})
    with pytest.raises(ValueError, match=r"runs\.versions\.lightgbm was .* and is \"3\.1\""):
        run.run_quality(options(folder, out))


def test_data_may_be_mended_before_the_first_run_of_it(split, tmp_path):
    """No run is in the folder that the refused data could be mixed with; what has been searched is kept."""
    given = options(split, tmp_path / "out", methods=("lambdarank",))
    broken = {}
    for name in ("train", "test"):
        broken[name] = (split / f"{name}.txt").read_text()
        (split / f"{name}.txt").write_text("1 qid:1 what\n")
    with pytest.raises(ValueError, match=r"train\.txt"):
        run.run_quality(replace(given, trials=2))
    (split / "train.txt").write_text(broken["train"])
    with pytest.raises(ValueError, match=r"test\.txt"):
        run.run_quality(given)
    settings = (tmp_path / "out" / "settings.json").read_bytes()
    (split / "test.txt").write_text(broken["test"])
    with pytest.raises(ValueError, match=r"tuning\.trials was 3 and is 2"):
        run.run_quality(replace(given, trials=2))
    run.run_quality(given)
    assert (tmp_path / "out" / "settings.json").read_bytes() == settings
    kept = json.loads((tmp_path / "out" / "protocol.json").read_text())
    for section, name in (("runs", "train"), ("testing", "test")):
        expected = hashlib.sha256((split / f"{name}.txt").read_bytes()).hexdigest()
        assert kept[section]["data"]["SPLIT"][f"{name}.txt"] == expected


def test_settings_are_of_the_data_that_they_were_chosen_on(small, folder, tmp_path):
    """A folder with them alone is not taken over; one that is says nothing of the search that was there."""
    out = copytree(small, tmp_path / "out")
    (out / "runs.jsonl").unlink()
    with pytest.raises(ValueError, match=r"runs\.options\.trees was 8 and is 9"):
        run.run_quality(options(folder, out, trees=9))
    (out / "settings.json").unlink()
    run.run_quality(options(folder, out, trees=9, settings=small / "settings.json"))
    assert "tuning" not in json.loads((out / "protocol.json").read_text())


def test_settings_that_were_chosen_on_other_parts_are_refused(small, folder, tmp_path):
    """What is a test part now may be what they were chosen on."""
    turned = tmp_path / folder.name
    turned.mkdir()
    parts = sorted(folder.glob("S*.txt"))
    for at, part in enumerate(parts):
        (turned / part.name).write_bytes(parts[at - 1].read_bytes())
    with pytest.raises(ValueError, match=r"--settings: must have been chosen on the same parts; S\d\.txt of"):
        run.run_quality(options(turned, tmp_path / "out", settings=small / "settings.json"))
    assert not (tmp_path / "out").exists()


def test_the_version_is_of_the_sources_that_train_and_measure(tmp_path, monkeypatch):
    package = tmp_path / "boostsoft"
    for name in (*protocol._RUNS, "bench/quality/report.py", "metrics.py"):
        assert name == "metrics.py" or (protocol._PACKAGE / name).is_file()
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text("")
    monkeypatch.setattr(protocol, "_PACKAGE", package)
    changed, before = {}, protocol._sources()
    for name in ("bench/folds.py", "bench/quality/watch.py", "bench/quality/report.py", "metrics.py"):
        (package / name).write_text("other = True")
        changed[name] = protocol._sources() != before
        before = protocol._sources()
    assert [name for name, differs in changed.items() if not differs] == ["bench/quality/report.py"]


def real_versions():
    return protocol.versions(peers.import_peers({"lightgbm"}))


def test_settings_that_the_runs_do_not_give_are_refused(small, folder, tmp_path):
    out = copytree(small, tmp_path / "out")
    text = (out / "settings.json").read_text()
    (out / "settings.json").write_text(text.replace('"trial": 0', '"trial": 1'))
    with pytest.raises(ValueError, match=r"settings\.json is not what the runs beside it give"):
        run.run_quality(options(folder, out))


def test_another_number_of_models_is_refused_and_may_have_the_same_trials(small, folder, tmp_path, monkeypatch):
    out = copytree(small, tmp_path / "out")
    with pytest.raises(ValueError, match=r"is not what the runs beside it give, with this --average; use it with"):
        run.run_quality(options(folder, out, average=2))
    with pytest.raises(ValueError, match=r"--average: .* must give 2 settings of Place.*; got 1"):
        run.run_quality(options(folder, tmp_path / "other", average=2, settings=out / "settings.json"))
    assert not (tmp_path / "other").exists()
    (out / "settings.json").unlink()
    with pytest.raises(ValueError, match=r"testing\.settings_sha256 was"):
        run.run_quality(options(folder, out, average=2))
    trained = interrupt_after(monkeypatch, None)
    # of two settings that a file gives, the first is the one that is tested without --average
    run.run_quality(options(folder, tmp_path / "first", settings=out / "settings.json"))
    assert {key.split("/")[0] for key in trained} == {"test"}
    assert_same(arrays(tmp_path / "first"), arrays(small))
    with pytest.raises(ValueError, match=r"testing\.average was 1 and is 2"):
        run.run_quality(options(folder, tmp_path / "first", average=2, settings=out / "settings.json"))


# ---------------------------------------------------------------------------------------------------------
# Settings in a file, and test parts that nothing reads before it
# ---------------------------------------------------------------------------------------------------------


def test_no_test_part_is_read_before_the_settings_are_frozen(split, tmp_path, monkeypatch):
    events = []
    real_open, real_freeze, real_load = Path.open, run.freeze, data.load_letor

    def opened(file, *rest, **options):
        events.append(str(file))
        return real_open(file, *rest, **options)

    def loaded(paths, *rest, **options):
        events.extend(map(str, paths))
        return real_load(paths, *rest, **options)

    def freezing(*given):
        found = real_freeze(*given)
        events.append("frozen")
        return found

    monkeypatch.setattr(Path, "open", opened)
    monkeypatch.setattr(data, "load_letor", loaded)
    monkeypatch.setattr(run, "freeze", freezing)
    run.run_quality(options(split, tmp_path / "out"))
    at = events.index("frozen")
    assert not [event for event in events[:at] if "test.txt" in event]
    assert len([event for event in events[:at] if "train.txt" in event]) >= 2
    assert [event for event in events[at:] if event.endswith("test.txt")]


def test_tuning_alone_says_how_to_test(split, tmp_path, capsys):
    run.run_quality(options(split, tmp_path / "one", tune_only=True))
    assert "then run again with --settings FILE." in " ".join(capsys.readouterr().out.split())
    run.run_quality(options(split, tmp_path / "two", tune_only=True, average=2))
    assert "then run again with --settings FILE --average 2." in " ".join(capsys.readouterr().out.split())


def test_tuning_alone_and_testing_with_its_file(small, folder, split, tmp_path, monkeypatch, capsys):
    (split / "test.txt").write_text("nothing that can be read\n")
    tuned = tmp_path / "tuned"
    run.run_quality(options(split, tuned, tune_only=True))
    assert "commit this file, then run again with --settings FILE" in capsys.readouterr().out
    assert {path.name for path in tuned.iterdir()} == {"protocol.json", "runs.jsonl", "settings.json"}
    (split / "test.txt").write_text(letor_text(3))
    for out in (tuned, tmp_path / "other"):
        trained = interrupt_after(monkeypatch, None)
        run.run_quality(options(split, out, settings=tuned / "settings.json"))
        assert Counter(key.split("/")[0] for key in trained) == {"test": 4}
        report = json.loads((out / "bench-quality.json").read_text())
        expected = hashlib.sha256((tuned / "settings.json").read_bytes()).hexdigest()
        assert report["settings"]["settings_sha256"] == expected
    assert_same(arrays(tuned), arrays(tmp_path / "other"))
    changed = tmp_path / "changed.json"
    changed.write_text((tuned / "settings.json").read_text() + " ")
    with pytest.raises(ValueError, match=r"testing\.settings_sha256 was"):
        run.run_quality(options(split, tuned, settings=changed))


def test_the_settings_of_the_file_are_those_that_are_tested(split, tmp_path):
    run.run_quality(options(split, tmp_path / "tuned", tune_only=True))
    document = json.loads((tmp_path / "tuned" / "settings.json").read_text())
    document["settings"]["lambdarank"]["SPLIT"]["1"]["setting"]["trees"]["num_leaves"] = 3
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(document))
    run.run_quality(options(split, tmp_path / "out", settings=file))
    assert records(tmp_path / "out")["test/SPLIT/1/lambdarank/0"]["setting"]["trees"]["num_leaves"] == 3


def test_settings_that_were_chosen_with_other_trees_are_reported_so(small, folder, tmp_path):
    run.run_quality(options(folder, tmp_path / "out", settings=small / "settings.json", trees=2, trials=7))
    about = (tmp_path / "out" / "bench-quality.md").read_text()
    assert "3 settings per method and fold" in about
    assert "trained with up to 8 trees, ended after" in about
    assert "then trained with 2 seeds and up to 2 trees, queries in another order" in about
    assert "then trained with 2 seeds, queries in another order" in (small / "bench-quality.md").read_text()
    unsaid = about_in_words(Comparison(options(folder, tmp_path, trees=9), [], ()), Frozen({}, "sha", None, None))
    assert unsaid.startswith("Several settings per method and fold")
    assert "trained with up to 9 trees, ended after" in unsaid
    assert "then trained with 2 seeds, queries in another order" in unsaid


MISSING = {
    "method": (lambda found: found.pop("lambdarank"), "every method that is asked for; lambdarank is missing"),
    "data set": (lambda found: found["lambdarank"].pop("TINY"), "every data set that is asked for; TINY of method"),
    "fold": (lambda found: found["lambdarank"]["TINY"].pop("2"), "every fold that is asked for; 2 of method"),
    "setting": (lambda found: found["lambdarank"]["TINY"]["2"].pop("setting"), "must give trees and own of"),
    "parameters": (
        lambda found: found["lambdarank"]["TINY"]["2"].update(setting={"trees": 5, "own": {}}),
        "must give trees and own of .*got {'trees': 5, 'own': {}}",
    ),
    "entry": (lambda found: found["lambdarank"]["TINY"].update({"2": 1}), "must give trees and own of .*got 1"),
}


@pytest.mark.parametrize("changes", [{"protocol": []}, {"protocol": {"tuning": None}}, {"settings": {"lambdarank": 1}}])
def test_settings_of_another_form_are_refused(small, folder, tmp_path, changes):
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({**json.loads((small / "settings.json").read_text()), **changes}))
    with pytest.raises(ValueError, match=r"^--settings: .*settings\.json must "):
        run.run_quality(options(folder, tmp_path / "out", settings=file))


@pytest.mark.parametrize(
    ("others", "got"), [(5, "must give 2 settings of .*; got 1"), ([1], "trees and own of .*got 1")]
)
def test_further_settings_of_another_form_are_refused(small, folder, tmp_path, others, got):
    document = json.loads((small / "settings.json").read_text())
    for method in document["settings"].values():
        for entry in method["TINY"].values():
            entry["next"] = others
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=got):
        run.run_quality(options(folder, tmp_path / "out", settings=file, average=2))


@pytest.mark.parametrize(("change", "message"), MISSING.values(), ids=MISSING.keys())
def test_incomplete_settings_are_refused(small, folder, tmp_path, change, message):
    document = json.loads((small / "settings.json").read_text())
    change(document["settings"])
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=message):
        run.run_quality(options(folder, tmp_path / "out", settings=file))
    assert not (tmp_path / "out").exists()


def test_fingerprints_are_of_whole_files(tmp_path, monkeypatch):
    monkeypatch.setattr(data, "_CHUNK", 16)
    file = tmp_path / "S1.txt"
    file.write_bytes(b"1 qid:1 1:0.5 2:0.25\n" * 3)
    assert data._sha256(file) == hashlib.sha256(file.read_bytes()).hexdigest()
