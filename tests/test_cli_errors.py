"""The command line: what it refuses, fails of and is interrupted in, in one line each, with nothing half-written."""

from __future__ import annotations

import errno
import gzip
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import lightgbm as lgb
import pytest

from boostsoft import cli
from boostsoft.atomic import write_files
from boostsoft.commands import options, terminal
from boostsoft.commands import train as train_command
from boostsoft.commands.options import stop

from . import cli_cases
from .cli_cases import SMALL_TREES, split_arguments, twice
from .letor_cases import letor_text

parts = cli_cases.parts  # fixture

BAD = {
    "no command": ([], "required: {demo,train,track,blend,bench}"),
    "no option": (["train", "--trees", "9", "--leafs", "3"], "--leafs 3 (see python -m boostsoft train --help)"),
    "no option at all": (["--tree", "train"], "--tree (see python -m boostsoft --help)"),
    "no data": (["train"], "give --train and --valid files, or --folds"),
    "no valid": (["train", "--train", "{S1}"], "give --train and --valid files, or --folds"),
    "both": (["train", "--folds", "{dir}", "--train", "{S1}"], "give --folds or --train, not both"),
    "folds and test": (["train", "--folds", "{dir}", "--test", "{S1}"], "give --folds or --test, not both"),
    "missing file": (["train", "--train", "{S1}", "--valid", "{tmp}/none"], "existing file; got '{tmp}/none'"),
    "missing folder": (["train", "--folds", "{tmp}/none"], "there is no folder {tmp}/none"),
    "no parts": (["train", "--folds", "{tmp}"], "must have S1.txt or S1.txt.gz; neither is there"),
    "metric": (
        ["train", "--folds", "{dir}", "--metric", "foo@3"],
        "argument --metric: unknown metric 'foo@3'; known are",
    ),
    "infinite": (["train", "--folds", "{dir}", "--metric", "pnr"], "pnr is infinite for a query in perfect order"),
    "inexact": (["train", "--folds", "{dir}", "--metric", "bpref"], "objective: bpref has no exact expectation here"),
    "cutoff": (["train", "--folds", "{dir}", "--metric", "ndcg@0"], "got 'ndcg@0'"),
    "noise": (["train", "--folds", "{dir}", "--noise", "pink"], "invalid choice: 'pink'"),
    "mix": (["train", "--mix", "kendall"], "--mix: must be NAME=WEIGHT; got 'kendall'"),
    "mixed without a name": (["train", "--mix", "=1"], "--mix: must be NAME=WEIGHT; got '=1'"),
    "mixed": (["train", "--folds", "{dir}", "--mix", "kendal=1"], "objective: mix: unknown metric 'kendal'"),
    "losses": (["train", "--losses", "xendcg=0"], "--losses: must be a number above 0; got '0'"),
    "loss": (["train", "--folds", "{dir}", "--losses", "x=1"], "objective: losses must be one of 'xendcg', "),
    "trees": (["demo", "--trees", "0"], "--trees: must be a whole number of at least 1; got '0'"),
    "leaves": (["train", "--leaves", "1"], "--leaves: must be a whole number of at least 2; got '1'"),
    "no number": (["demo", "--trees", "1e3"], "--trees: must be a whole number of at least 1; got '1e3'"),
    "huge number": (["demo", "--seed", "10000000000"], "--seed: must be a whole number from 0 to 2147483647; got"),
    "a number of many digits": (["demo", "--trees", "9" * 5000], "--trees: must be a whole number of at least 1"),
    "many leaves": (["train", "--leaves", "131073"], "--leaves: must be a whole number from 2 to 131072; got '131073'"),
    "none and one": (["train", "--folds", "{dir}", "--mix", "none", "map=2"], "--mix: none must stand alone; got map"),
    "no losses and one": (
        ["train", "--folds", "{dir}", "--losses", "ranknet=2", "--losses", "none"],
        "--losses: none must",
    ),
    "mixed twice": (["train", "--folds", "{dir}", "--mix", "map=1", "--mix", "map=2"], "--mix: map is given twice"),
    "lost twice": (
        ["train", "--folds", "{dir}", "--losses", "xendcg=1", "xendcg=2"],
        "--losses: xendcg is given twice",
    ),
    "set twice": (["train", "--folds", "{dir}", "--set", "max_bin=7", "--set", "max_bins=8"], "max_bin is given twice"),
    "gains": (["train", "--folds", "{dir}", "--set", "label_gain=0,1"], "label_gain cannot be set: boostsoft and both"),
    "no rate": (["train", "--learning-rate", "x"], "--learning-rate: must be a number above 0; got 'x'"),
    "infinite rate": (["train", "--learning-rate", "inf"], "--learning-rate: must be a number above 0; got 'inf'"),
    "rate": (["train", "--folds", "{dir}", "--learning-rate", "nan"], "must be a number above 0; got 'nan'"),
    "seeds": (["train", "--train", "{S1}", "--valid", "{S3}", "--seeds", "2"], "--seeds goes with --folds"),
    "baseline": (["train", "--folds", "{dir}", "--no-baseline"], "--no-baseline does not go with --folds"),
    "no value": (["train", "--folds", "{dir}", "--set", "max_bin"], "expected KEY=VALUE; got 'max_bin'"),
    "empty value": (["train", "--folds", "{dir}", "--set", "max_bin="], "expected KEY=VALUE; got 'max_bin='"),
    "seed": (["train", "--folds", "{dir}", "--set", "random_seed=3"], "random_seed cannot be set: use --seed"),
    "verbosity": (["train", "--folds", "{dir}", "--set", "verbose=1"], "verbose cannot be set: the command has its"),
    "no parameter": (["train", "--folds", "{dir}", "--set", "leafs=3"], "LightGBM has no parameter 'leafs'"),
    "settled": (["train", "--folds", "{dir}", "--set", "n_estimators=3"], "n_estimators cannot be set: use --trees"),
    "objective": (
        ["train", "--folds", "{dir}", "--set", "application=l2"],
        "application cannot be set: both arms",
    ),
    "metrics": (["train", "--folds", "{dir}", "--set", "metrics=auc"], "metrics cannot be set: --metric says what"),
    "stopping": (
        ["train", "--folds", "{dir}", "--set", "early_stopping_rounds=3"],
        "early_stopping_rounds cannot be set: use --early-stopping",
    ),
    "no folder": (["demo", "--out", ""], "--out: must name a folder; got an empty text"),
    "blank folder": (["demo", "--out", " "], "--out: must name a folder; got an empty text"),
    "one file twice": (
        ["train", "--train", "{S3}", "{S1}", "--valid", "{dir}/../{dir_name}/S1.txt"],
        "S1.txt is given as --train and as --valid",
    ),
    "out is a file": (["demo", "--out", "{S1}/x"], "--out: {S1} is a file, not a folder"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_line_and_leaves_nothing(parts, tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    places = {"dir": parts, "dir_name": parts.name, "tmp": tmp_path, "S1": parts / "S1.txt", "S3": parts / "S3.txt"}

    def placed(text):
        return re.sub(r"\{(dir|dir_name|tmp|S1|S3)\}", lambda found: str(places[found[1]]), text)

    assert cli.main([placed(argument) for argument in arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("boostsoft: ")
    assert shown.err.endswith("\n")
    assert placed(message) in shown.err
    assert shown.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def five_parts(folder, texts):
    for i, text in enumerate(texts, 1):
        (folder / f"S{i}.txt").write_text(text)
    return ["train", "--folds", str(folder), "--out", str(folder / "out")]


def test_a_query_in_two_parts_is_refused(tmp_path, capsys):
    texts = [letor_text(i, 10 * min(i, 4), 3) for i in range(1, 6)]
    assert cli.main(five_parts(tmp_path, texts)) == 2
    assert capsys.readouterr().err == "boostsoft: --folds: query 40 is in S4 and in S5\n"
    assert not (tmp_path / "out").exists()


def test_a_part_there_twice_is_refused(tmp_path, capsys):
    (tmp_path / "S1.txt").write_text("1 qid:1 1:1\n")
    (tmp_path / "S1.txt.gz").write_bytes(gzip.compress(b"1 qid:1 1:1\n"))
    assert cli.main(["train", "--folds", str(tmp_path)]) == 2
    assert "both are there" in capsys.readouterr().err


def test_folders_of_folds_are_told_how_to_be_given(tmp_path, capsys):
    (tmp_path / "Fold1").mkdir()
    assert cli.main(["train", "--folds", str(tmp_path)]) == 2
    assert capsys.readouterr().err.endswith("; for the parts of Fold1 give --train, --valid and --test\n")


def test_parts_without_any_feature_are_refused(tmp_path, capsys):
    assert cli.main(five_parts(tmp_path, [f"1 qid:{i}\n0 qid:{i}\n" for i in range(5)])) == 2
    assert capsys.readouterr().err == f"boostsoft: train: no line of {tmp_path} has a feature, index:value\n"


def test_negative_labels_are_refused(tmp_path, capsys):
    arguments = twice(tmp_path, "1 qid:1 1:1\n-1 qid:1 1:2\n")
    assert cli.main(arguments) == 2
    assert "boostsoft: lambdarank needs whole labels from 0 to 30; got -1.0; --no-baseline" in capsys.readouterr().err


def test_negative_labels_of_folds_are_refused(tmp_path, capsys):
    texts = [letor_text(i, 10 * i, 3).replace("2 qid", "-1 qid" if i == 4 else "2 qid") for i in range(1, 6)]
    assert cli.main(five_parts(tmp_path, texts)) == 2
    assert "boostsoft: lambdarank needs whole labels from 0 to 30; got -1.0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["demo"], "model.txt"),
        (["train", "--train", "{dir}/S1.txt", "--valid", "{dir}/S3.txt"], "curve.csv"),
        (["train", "--folds", "{dir}"], "folds.csv"),
        (["bench"], "bench.json"),
    ],
)
def test_a_folder_in_the_way_of_a_file(parts, tmp_path, capsys, arguments, name):
    taken = tmp_path / name
    taken.mkdir()
    given = [argument.format(dir=parts) for argument in arguments]
    assert cli.main([*given, "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"boostsoft: --out: {taken} must be a file; it is a folder\n"


def test_a_folder_that_cannot_be_written_to(tmp_path, capsys, monkeypatch):
    def refuse(*, dir):
        assert dir == tmp_path
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    assert cli.main(["demo", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == f"boostsoft: --out: cannot write to {tmp_path}: Permission denied\n"


def test_a_lack_of_memory_is_one_line(parts, capsys, monkeypatch):
    def too_much(*_):
        raise MemoryError("Unable to allocate 7 TiB")

    monkeypatch.setattr(train_command, "_read_folder", too_much)
    assert cli.main(["train", "--folds", str(parts)]) == 2
    assert capsys.readouterr().err == "boostsoft: not enough memory: Unable to allocate 7 TiB\n"


def test_lines_without_any_feature_are_refused(tmp_path, capfd):
    assert cli.main(twice(tmp_path, "1 qid:1\n0 qid:1\n")) == 2
    told = f"train: no line of {tmp_path / 'train.txt'} has a feature, index:value"
    assert capfd.readouterr().err == f"boostsoft: {told}\n"
    assert {path.name for path in tmp_path.iterdir()} == {"train.txt", "valid.txt"}


def test_features_that_cannot_split_the_documents_are_one_line(tmp_path, capfd):
    """LightGBM would say it with a place in its source, and train lambdarank all the same."""
    arguments = twice(tmp_path, "1 qid:1 1:1 2:0\n0 qid:1 1:0 2:1\n1 qid:2 1:3 2:1\n0 qid:2 1:1 2:2\n")
    assert cli.main(arguments) == 2
    told = "train: no feature can split the 4 documents: each is constant, or leaves fewer than min_data_in_leaf (20) "
    assert capfd.readouterr().err == f"boostsoft: {told}of them on one side; --set min_data_in_leaf=1\n"
    assert cli.main([*arguments, "--trees", "3", "--set", "min_data_in_leaf=1"]) == 0


def test_results_are_shown_if_they_cannot_be_written(parts, tmp_path, capsys, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", "somewhere")

    monkeypatch.setattr(terminal, "write_files", full)
    assert cli.main([*split_arguments(parts), "--out", str(tmp_path / "out"), *SMALL_TREES]) == 2
    shown = capsys.readouterr()
    assert "Trees kept: boostsoft" in " ".join(shown.out.split())
    assert "Written to" not in shown.out
    assert shown.err == "boostsoft: [Errno 28] No space left on device: 'somewhere'\n"


def test_a_picture_that_cannot_be_drawn_costs_nothing_else(parts, tmp_path, capsys, monkeypatch):
    def draw(_):
        raise RuntimeError("latex could not be found")

    monkeypatch.setattr(train_command, "curves_figure", draw)
    with pytest.raises(RuntimeError, match="latex could not be found"):
        cli.main([*split_arguments(parts), "--out", str(tmp_path), *SMALL_TREES])
    assert sorted(os.listdir(tmp_path)) == ["curve.csv", "model.txt"]
    assert "Trees kept: boostsoft" in " ".join(capsys.readouterr().out.split())


def test_a_result_that_is_locked_is_refused_before_the_work(parts, tmp_path, capsys, monkeypatch):
    """As Windows has it of a file that is open elsewhere; here of one that nobody may write to."""
    (tmp_path / "model.txt").write_text("old")
    monkeypatch.setattr(options, "_REPLACES", False)
    real = Path.open

    def locked(path, mode="r", *rest, **named):
        if path.name == "model.txt" and "+" in mode:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, mode, *rest, **named)

    monkeypatch.setattr(Path, "open", locked)
    assert cli.main([*split_arguments(parts), "--out", str(tmp_path), *SMALL_TREES]) == 2
    assert capsys.readouterr().err == f"boostsoft: --out: cannot write to {tmp_path / 'model.txt'}: Permission denied\n"


def test_an_earlier_runs_picture_goes_though_the_report_cannot_be_shown(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "curve.png").write_bytes(b"old")
    monkeypatch.setattr(terminal, "page", lambda: SimpleNamespace(print=full))
    with pytest.raises(OSError, match="No space left"):
        terminal.finish("report", tmp_path, {"weights.json": b"new"}, ("weights.json", "curve.png"))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"weights.json": b"new"}


def test_a_value_that_lightgbm_refuses_is_one_line(parts, tmp_path, capfd):
    arguments = [*split_arguments(parts), "--out", str(tmp_path / "out"), "--set", "max_bins=1"]
    assert cli.main(arguments) == 2
    assert capfd.readouterr().err == "boostsoft: --set: LightGBM needs max_bin > 1; got 1\n"
    assert cli.main([*arguments[:-1], "boosting=foo"]) == 2
    assert capfd.readouterr().err == "boostsoft: --set: LightGBM knows no boosting 'foo'\n"
    assert cli.main([*arguments[:-1], "max_bin=many"]) == 2
    assert capfd.readouterr().err == "boostsoft: --set: max_bin must be a whole number; got 'many'\n"
    assert cli.main([*arguments[:-1], "max_bin=15", "--set", "lambda_l2=many"]) == 2
    assert capfd.readouterr().err == "boostsoft: --set: lambda_l2 must be a number; got 'many'\n"
    assert cli.main([*arguments[:-1], "tree_learner=foo"]) == 2
    assert capfd.readouterr().err == "boostsoft: --set: LightGBM knows no tree learner 'foo'\n"
    assert cli.main([*arguments[:-1], "extra_trees=1"]) == 2
    assert capfd.readouterr().err == "boostsoft: --set: extra_trees must be true or false; got '1'\n"


@pytest.mark.parametrize("setting", ["monotone_constraints=1,1", "feature_contri=1", "max_bin_by_feature=9,9,9,9,9"])
def test_a_list_that_does_not_fit_the_features_is_one_line(setting, parts, tmp_path, capfd):
    name, _, value = setting.partition("=")
    for arguments in (split_arguments(parts), ["train", "--folds", str(parts)]):
        assert cli.main([*arguments, "--out", str(tmp_path / "out"), "--set", setting]) == 2
        told = f"boostsoft: --set: {name} must have a value for each of the 4 features; got '{value}'\n"
        assert capfd.readouterr().err == told


def test_a_value_that_lightgbm_refuses_is_refused_before_anything_is_read(parts, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(train_command, "load_letor", None)
    for data in (split_arguments(parts), ["train", "--folds", str(parts)]):
        assert cli.main([*data, "--out", str(tmp_path / "out"), "--set", "max_bins=1"]) == 2
        assert capfd.readouterr().err == "boostsoft: --set: LightGBM needs max_bin > 1; got 1\n"


@pytest.mark.parametrize("told", ["No device", "Check failed: (num_data) > (0) at a.cpp, line 3 ."])
def test_an_error_of_no_parameter_is_left_to_training(told, monkeypatch):
    """It may be due to the two rows that are tried."""

    def fails(*_):
        raise lgb.basic.LightGBMError(told)

    monkeypatch.setattr(lgb, "Booster", fails)
    train_command._check_tree_parameters({"max_bin": "15"})


def test_a_random_forest_is_refused_before_anything_is_read(parts, tmp_path, capfd):
    arguments = [*split_arguments(parts), "--out", str(tmp_path / "out"), "--set", "boosting=rf"]
    assert cli.main(arguments) == 2
    assert capfd.readouterr().err == (
        "boostsoft: train: boosting must not be rf, which LightGBM has for its own objectives only\n"
    )


def test_an_error_while_training_leaves_nothing(tmp_path, capsys):
    assert cli.main(twice(tmp_path, "".join(f"0 qid:{i // 50} 1:{i}\n" for i in range(100)))) == 2
    assert "there is nothing to learn" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"train.txt", "valid.txt"}


def test_an_interrupt_while_training_leaves_nothing(tmp_path, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(train_command, "run_split", interrupted)
    assert cli.main(["demo", "--out", str(tmp_path / "out")]) == 130
    assert capsys.readouterr().err == "boostsoft: interrupted; no file is half written\n"
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_lightgbm_is_one_line(tmp_path, capsys, monkeypatch):
    def fails(*_):
        raise lgb.basic.LightGBMError("it\nfailed at /src/c_api.cpp, line 12 .\n")

    monkeypatch.setattr(train_command, "run_split", fails)
    assert cli.main(["demo", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == "boostsoft: it failed\n"


def test_an_error_of_catboost_is_one_line(tmp_path, capsys, monkeypatch):
    class CatBoostError(Exception):
        """Whose name the library's own has."""

    def fails(*_):
        raise CatBoostError("a category\nmust be a text")

    monkeypatch.setitem(sys.modules, "catboost", SimpleNamespace(CatBoostError=CatBoostError))
    monkeypatch.setattr(train_command, "run_split", fails)
    assert cli.main(["demo", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == "boostsoft: a category must be a text\n"


def test_an_error_of_ours_is_shown_whole(tmp_path, monkeypatch):
    def fails(*_):
        raise RuntimeError("a mistake")

    monkeypatch.setattr(train_command, "run_split", fails)
    with pytest.raises(RuntimeError, match="a mistake"):
        cli.main(["demo", "--out", str(tmp_path / "out")])


def assert_interrupted(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "boostsoft: interrupted; no file is half written\n")


def test_an_interrupt_while_the_commands_are_loaded_is_one_line():
    code = (
        "import sys, importlib.abc, boostsoft\n"
        "class Interrupted(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'boostsoft.commands.experiment':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from boostsoft.__main__ import run\n"
        "sys.exit(run())\n"
    )
    assert_interrupted(code)


def test_to_be_terminated_is_to_be_interrupted():
    code = (
        "import os, signal, sys, time\n"
        "from boostsoft import __main__\nfrom boostsoft.commands import train\n"
        "train.demo = lambda options: (os.kill(os.getpid(), signal.SIGTERM), time.sleep(60))\n"
        "sys.argv = ['boostsoft', 'demo']\n"
        "sys.exit(__main__.run())\n"
    )
    assert_interrupted(code)


def test_a_closed_stream_changes_no_exit_code(parts, tmp_path):
    """As of a service, or of pythonw: Python then has None in the stream's place."""
    code = (
        "import os, sys\n"
        "kept = {'stdout': (1, os.dup(1), sys.stdout), 'stderr': (2, os.dup(2), sys.stderr)}\n"
        "def close(name):\n    os.close(kept[name][0])\n    setattr(sys, name, None)\n"
        "def reopen(name):\n    os.dup2(kept[name][1], kept[name][0])\n    setattr(sys, name, kept[name][2])\n"
        "close('stdout'), close('stderr')\n"
        "from boostsoft import cli\n"  # while both are closed
        "reopen('stdout'), reopen('stderr')\n"
        "for name in kept:\n"
        "    close(name)\n"
        "    codes = [cli.main([*sys.argv[1:], '--out', name]), cli.main(['track', 'none.txt', '-'])]\n"
        "    reopen(name)\n"
        "    assert codes == [0, 2], (name, codes)\n"
    )
    train = [*split_arguments(parts), *SMALL_TREES, "--trees", "2"]
    subprocess.run([sys.executable, "-c", code, *train], cwd=tmp_path, stdin=subprocess.DEVNULL, check=True)


def test_where_nothing_can_be_written_the_exit_code_says_it(monkeypatch):
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sys, "stderr", Full())
    assert stop("a message", 2) == 2


@pytest.mark.skipif(not hasattr(os, "symlink") or os.name == "nt", reason="links need rights on Windows")
@pytest.mark.parametrize("target", ["nothing", "link"])
def test_a_link_to_nothing_is_refused_before_training(target, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(train_command, "_compare", None)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / target)
    for place in (link, link / "deep"):
        assert cli.main(["demo", "--out", str(place)]) == 2
        assert capsys.readouterr().err == f"boostsoft: --out: {link} is a link to nothing\n"


def test_files_are_whole_or_not_there(tmp_path, monkeypatch):
    real = os.replace

    def second_fails(source, target):
        if target.name == "b":
            raise KeyboardInterrupt
        real(source, target)

    monkeypatch.setattr(os, "replace", second_fails)
    (tmp_path / "b").write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        write_files(tmp_path, {"a": b"new", "b": b"new", "c": b"new"})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"new", "b": b"old"}
    with pytest.raises(TypeError):  # before all are complete none has its name
        write_files(tmp_path, {"a": b"newer", "b": "no bytes"})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"new", "b": b"old"}
