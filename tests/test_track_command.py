"""``python -m boostsoft track`` on small files: what it writes, says and refuses."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from PIL import Image

from boostsoft import Metric, SoftMetric, cli
from boostsoft.__main__ import run as run_as_command
from boostsoft.commands import track as track_command
from boostsoft.datasets import load_letor
from boostsoft.tracking import track_trees
from boostsoft.tracks.effects import tree_effects
from boostsoft.tracks.tree_track import TreeTrack

from .letor_cases import letor_text
from .narrow import WIDTHS, assert_no_number_is_cut, on_a_terminal
from .tracked import track_of

N_FEATURES = 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data, the second file compressed and without the last feature, and a model of each library."""
    folder = tmp_path_factory.mktemp("track")
    (folder / "a.txt").write_text(letor_text(1, 100))
    (folder / "b.txt.gz").write_bytes(gzip.compress(letor_text(2, 200, n_features=3).encode()))
    train = load_letor(folder / "a.txt")
    (folder / "note.txt").write_text("not a model\n")

    lgb = pytest.importorskip("lightgbm")
    settings = {"objective": "lambdarank", "num_leaves": 4, "min_data_in_leaf": 5, "verbosity": -1, "num_threads": 1}
    booster = lgb.train(settings, lgb.Dataset(train.X, train.y, group=train.sizes), 6)
    booster.save_model(folder / "lightgbm.txt")
    return folder


@pytest.fixture(scope="module")
def xgboost_models(folder):
    xgb = pytest.importorskip("xgboost")
    train = load_letor(folder / "a.txt")
    matrix = xgb.DMatrix(train.X, train.y)
    matrix.set_group(train.sizes)
    booster = xgb.train({"objective": "rank:ndcg", "max_depth": 2, "nthread": 1}, matrix, 5)
    booster.save_model(folder / "xgboost.json")
    booster.save_model(folder / "xgboost.ubj")
    return booster


def files_of(folder):
    return [str(folder / "a.txt"), str(folder / "b.txt.gz")]


def data_of(folder):
    return load_letor([folder / "a.txt", folder / "b.txt.gz"], n_features=N_FEATURES)


def run(capsys, *arguments):
    code = cli.main(["track", *map(str, arguments)])
    return code, capsys.readouterr()


def row_of(text, name):
    (row,) = (line.split() for line in text.splitlines() if line.split()[:1] == [name])
    return row


def expected_track(model, folder, metrics, **options):
    data = data_of(folder)
    return track_trees(model, data.X, data.y, qid=data.qid, metrics=metrics, **options)


def assert_table_is(text, track):
    for i, name in enumerate(track.names):
        effects = tree_effects(track, i)
        row = row_of(text, name)
        assert row[1] == f"{track.mean[-1, i]:.4f}"
        values = track.per_query[-1, i]
        assert row[2:4] == ["±", f"{values.std(ddof=1) / np.sqrt(values.size):.4f}"]
        means = dict(
            zip([track.start, *track.steps.tolist()], [track.beginning_mean[i], *track.mean[:, i]], strict=True)
        )
        assert row[4] == f"{means[effects.best]:.4f}"
        assert row[5:9] == [str(effects.best), f"({effects.best_low}", "to", f"{effects.best_high})"]
        assert row[9:] == [str(effects.keep), str(effects.hurting.size), "of", str(track.n_steps)]
        advice = effects.advice[1:].replace("+-", "±")
        assert f"{name}: {effects.advice[0].upper()}{advice}." in " ".join(text.split())


def test_everything_into_a_folder(folder, tmp_path, capsys):
    pytest.importorskip("plotly")
    lgb = pytest.importorskip("lightgbm")
    out = tmp_path / "deep" / "out"
    code, shown = run(capsys, folder / "lightgbm.txt", *files_of(folder), "--metric", "ndcg@5", "--out", out)
    assert (code, shown.err) == (0, "")
    assert {path.name for path in out.iterdir()} == {"report.html", "track.png", "track.npz"}
    metrics = [Metric("ndcg@5"), SoftMetric("ndcg@5", sigma=0.2, sigma_unit="spread")]
    expected = expected_track(lgb.Booster(model_file=folder / "lightgbm.txt"), folder, metrics)
    found = TreeTrack.load(out / "track.npz")
    assert found.metrics == expected.metrics
    assert found.label == "lightgbm"
    np.testing.assert_array_equal(found.per_query, expected.per_query)
    np.testing.assert_array_equal(found.qid, [*range(100, 114), *range(200, 214)])
    assert_table_is(shown.out, expected)
    assert shown.out.startswith(f"lightgbm: 6 trees on 28 queries, {expected.groups.n_docs} documents\n")
    parts = np.split(expected.y_true, expected.groups.offsets[1:-1])
    alike = sum(np.unique(labels).size == 1 for labels in parts)
    words = " ".join(shown.out.split())
    assert f"{alike} queries with documents of one label only" in words
    assert "Of 6 steps that do nothing, 0.15 would seem to hurt." in words
    assert "No report.html" not in words
    text = (out / "report.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', text)[1])
    assert data["tracks"][0]["metrics"]["ndcg@5"]["mean"] == expected.mean[:, 0].tolist()
    with Image.open(out / "track.png") as image:
        assert image.format == "PNG"
    for name in ("report.html", "track.png", "track.npz"):
        assert f"Written: {out / name}\n" in shown.out.replace("\n/", "/")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are texts")
@pytest.mark.parametrize(
    ("specs", "drawn"), [(("bpref@10", "ndcg@10"), "bpref@10"), (("map", "ndcg@10"), "map_gaussian")]
)
def test_the_picture_is_of_the_first_metric(specs, drawn, tmp_path, monkeypatch):
    metrics = track_command.tracked_metrics(specs, "gaussian", 0.2)
    figures = []
    monkeypatch.setattr(track_command, "png", lambda figure: figures.append(figure) or b"")
    track_command._write_png(track_of(metrics=tuple(metrics)), tmp_path / "x.png")
    (figure,) = figures
    assert figure.axes[1].get_title(loc="left").startswith(f"Change of {drawn} ")


def test_a_model_whose_name_is_no_text(folder, xgboost_models, tmp_path, capsys):
    pytest.importorskip("plotly")
    model, out = tmp_path / os.fsdecode(b"m\xff.json"), tmp_path / "out"
    model.write_bytes((folder / "xgboost.json").read_bytes())
    code, shown = run(capsys, model, *files_of(folder), "--out", out)
    assert (code, shown.err) == (0, "")
    assert TreeTrack.load(out / "track.npz").label == r"m\udcff"
    assert r"<title>m\udcff" in (out / "report.html").read_text(encoding="utf-8")


def test_names_of_files_do_not_steer_the_terminal(folder, tmp_path, capsys):
    model = tmp_path / "m\x1b[31m.txt"
    model.write_bytes((folder / "lightgbm.txt").read_bytes())
    code, shown = run(capsys, model, *files_of(folder), "--save", tmp_path / "s\x1b[2J.npz")
    assert (code, shown.err) == (0, "")
    assert shown.out.startswith("m\\x1b[31m: 6 trees")
    assert "s\\x1b[2J.npz" in "".join(shown.out.split())
    assert "\x1b" not in shown.out


def test_single_files_and_options(folder, tmp_path, capsys):
    pytest.importorskip("plotly")
    pytest.importorskip("pyarrow")
    lgb = pytest.importorskip("lightgbm")
    files = {"--report": tmp_path / "r.html", "--png": tmp_path / "p.png", "--save": tmp_path / "s.parquet"}
    options = ["--metric", "map", "--metric", "bpref", "--metric", "map", "--noise", "gumbel", "--sigma", "0.5"]
    options += ["--every", "2", "--start", "1", "--label", "my <model>"]
    written = [text for option in files.items() for text in option]
    code, shown = run(capsys, folder / "lightgbm.txt", *files_of(folder), *options, *written)
    assert code == 0
    assert shown.out.startswith("my <model>: 6 trees on 28 queries, ")
    assert sorted(tmp_path.iterdir()) == sorted(files.values())
    found = TreeTrack.load(files["--save"])
    soft = SoftMetric("map", noise="gumbel", sigma=0.5, sigma_unit="spread")
    assert found.metrics == (Metric("map"), soft, Metric("bpref"))  # bpref has no exact expectation
    assert found.steps.tolist() == [3, 5, 6]
    assert (found.start, found.label) == (1, "my <model>")
    expected = expected_track(
        lgb.Booster(model_file=folder / "lightgbm.txt"), folder, found.metrics, every=2, start=1, label="my <model>"
    )
    np.testing.assert_array_equal(found.per_query, expected.per_query)
    assert "<h1>my &lt;model&gt;</h1>" in files["--report"].read_text(encoding="utf-8")


@pytest.mark.parametrize("width", WIDTHS)
def test_no_number_is_cut_on_a_narrow_terminal(folder, capsys, monkeypatch, width):
    arguments = [folder / "lightgbm.txt", folder / "a.txt", "--metric", "precision@10", "--metric", "ndcg@10"]
    wide = run(capsys, *arguments)[1].out
    on_a_terminal(monkeypatch, width)
    assert_no_number_is_cut(run(capsys, *arguments)[1].out, wide, width)


def test_one_query_has_no_errors_to_speak_of(folder, tmp_path, capsys):
    pytest.importorskip("lightgbm")
    alone = tmp_path / "alone.txt"
    first = (folder / "a.txt").read_text().splitlines(keepends=True)
    alone.write_text("".join(line for line in first if line.split()[1] == first[0].split()[1]))
    code, shown = run(capsys, folder / "lightgbm.txt", alone)
    assert (code, shown.err) == (0, "")
    assert "One query gives no standard error and no interval: no step is sure to hurt." in " ".join(shown.out.split())
    assert "would seem to hurt" not in " ".join(shown.out.split())
    assert not re.search(r"\(\d+ to \d+\)", shown.out)
    alone.write_text("".join(line for line in first if line.split()[1] in ("qid:100", "qid:101")))
    two = run(capsys, folder / "lightgbm.txt", alone)[1].out
    assert "would seem to hurt" in " ".join(two.split())
    assert re.search(r"\(\d+ to \d+\)", two)


def test_a_track_is_saved_into_a_new_folder(folder, tmp_path, capsys):
    path = tmp_path / "deep" / "track.npz"
    assert run(capsys, folder / "lightgbm.txt", folder / "a.txt", "--save", path)[0] == 0
    assert TreeTrack.load(path).n_steps == 6


def test_files_beside_a_folder(folder, tmp_path, capsys):
    out, picture = tmp_path / "out", tmp_path / "p.png"
    every = ["--every", "99"]
    code, shown = run(capsys, folder / "lightgbm.txt", folder / "a.txt", *every, "--png", picture, "--out", out)
    assert code == 0
    assert picture.read_bytes() == (out / "track.png").read_bytes()
    assert "Of 1 step that does nothing, 0.025 would seem to hurt" in " ".join(shown.out.split())


def test_the_table_is_shown_if_a_file_cannot_be_written(folder, tmp_path, capsys, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "somewhere")

    monkeypatch.setitem(track_command._WRITERS, "png", full)
    code, shown = run(capsys, folder / "lightgbm.txt", folder / "a.txt", "--png", tmp_path / "p.png")
    assert code == 2
    assert row_of(shown.out, "ndcg@10")
    assert "Written" not in shown.out
    assert shown.err == "boostsoft: [Errno 28] No space left on device: 'somewhere'\n"


def test_nothing_is_written_unless_asked_for(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, shown = run(capsys, folder / "lightgbm.txt", folder / "a.txt")
    assert (code, shown.err) == (0, "")
    assert {"ndcg@10", "ndcg_gaussian@10"} <= set(shown.out.split())
    assert "Written" not in shown.out
    assert "report" not in shown.out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["xgboost.json", "xgboost.ubj"])
def test_xgboost_models(folder, xgboost_models, capsys, name):
    code, shown = run(capsys, folder / name, *files_of(folder))
    assert code == 0, shown.err
    assert_table_is(
        shown.out, expected_track(xgboost_models, folder, track_command.tracked_metrics(["ndcg@10"], "gaussian", 0.2))
    )


def test_absent_features_may_be_missing_ones(folder, xgboost_models, tmp_path, capsys):
    gaps = tmp_path / "gaps.txt"
    gaps.write_text(re.sub(r" 1:\S+", "", (folder / "a.txt").read_text()))
    found = []
    for absent in ("0", "nan"):
        save = tmp_path / f"{absent}.npz"
        assert run(capsys, folder / "xgboost.json", gaps, "--absent", absent, "--save", save)[0] == 0
        data = load_letor(gaps, n_features=N_FEATURES, absent=float(absent))
        expected = track_trees(xgboost_models, data.X, data.y, qid=data.qid)
        found.append(TreeTrack.load(save).scores)
        np.testing.assert_array_equal(found[-1], expected.scores)
    assert not np.array_equal(*found)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
@pytest.mark.parametrize("kind", ["lightgbm.txt", "xgboost.json", "model.cbm"])
def test_a_model_may_have_a_name_that_is_no_unicode(kind, folder, xgboost_models, tmp_path, capsys):
    """Neither LightGBM nor CatBoost opens such a file; on Windows, no name beyond the code page either."""
    if kind == "model.cbm":
        catboost = pytest.importorskip("catboost")
        train = load_letor(folder / "a.txt")
        model = catboost.CatBoost({"iterations": 2, "verbose": False, "allow_writing_files": False})
        model.fit(train.X, train.y).save_model(str(folder / kind))
    named = tmp_path / f"m\udcff{kind}"
    named.write_bytes((folder / kind).read_bytes())
    code, shown = run(capsys, named, folder / "a.txt")
    assert (code, shown.err) == (0, "")
    assert shown.out.startswith("m\\udcff")


def test_catboost_models(folder, capsys):
    catboost = pytest.importorskip("catboost")
    train = load_letor(folder / "a.txt")
    pool = catboost.Pool(train.X, train.y, group_id=np.repeat(np.arange(train.n_queries), train.sizes))
    settings = {"loss_function": "QueryRMSE", "iterations": 4, "depth": 2, "thread_count": 1}
    model = catboost.CatBoost({**settings, "verbose": False, "allow_writing_files": False}).fit(pool)
    model.save_model(str(folder / "model.cbm"))
    code, shown = run(capsys, folder / "model.cbm", *files_of(folder))
    assert code == 0, shown.err
    assert "model: 4 trees on 28 queries" in shown.out
    metrics = track_command.tracked_metrics(["ndcg@10"], "gaussian", 0.2)
    assert_table_is(shown.out, expected_track(model, folder, metrics))
    content = (folder / "model.cbm").read_bytes()
    for missing in (1, 8, 16, len(content) // 2, len(content) - 6):
        (folder / "cut.cbm").write_bytes(content[:-missing])
        code, shown = run(capsys, folder / "cut.cbm", folder / "a.txt")
        assert (code, shown.out) == (2, "")
        assert shown.err == f"boostsoft: track: cannot read the model {folder / 'cut.cbm'}: it is cut off\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_model_may_come_from_a_pipe(folder, tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    content = (folder / "lightgbm.txt").read_bytes()
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(content))
    writer.start()
    code, shown = run(capsys, tmp_path / "pipe", folder / "a.txt")
    writer.join()
    assert (code, shown.err) == (0, "")


def test_without_plotly_a_folder_has_no_page_and_says_so(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly", None)
    code, shown = run(capsys, folder / "lightgbm.txt", folder / "a.txt", "--out", tmp_path)
    assert code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"track.png", "track.npz"}
    assert "No report.html: pip install 'boostsoft[report]'" in shown.out


# ---------------------------------------------------------------------------------------------------------
# Errors
# ---------------------------------------------------------------------------------------------------------

BAD = {
    "no data": (["{models}/lightgbm.txt"], "the following arguments are required: DATA"),
    "missing model": (["{tmp}/none", "{data}"], "track: MODEL must name an existing file; got '{tmp}/none'"),
    "missing data": (["{models}/lightgbm.txt", "{tmp}/none"], "{tmp}/none"),
    "model is a folder": (["{tmp}", "{data}"], "track: MODEL must be a file; got the folder {tmp}"),
    "no model": (["{models}/note.txt", "{data}"], "track: MODEL must be a LightGBM text model, an XGBoost JSON"),
    "damaged lightgbm": (
        ["{tmp}/damaged.txt", "{data}"],
        "the model {tmp}/damaged.txt: it is cut off",
    ),
    "data are no letor": (["{models}/lightgbm.txt", "{models}/note.txt"], "boostsoft: load_letor: {models}/note.txt"),
    "more features": (["{models}/lightgbm.txt", "{tmp}/wide.txt"], "wide.txt"),
    "metric": (
        ["{models}/lightgbm.txt", "{data}", "--metric", "ndgc@10"],
        "argument --metric: unknown metric 'ndgc@10'",
    ),
    "infinite metric": (["{models}/lightgbm.txt", "{data}", "--metric", "pnr"], "use auc or kendall"),
    "cutoff": (["{models}/lightgbm.txt", "{data}", "--metric", "ndcg@0"], "ndcg@0"),
    "noise": (["{models}/lightgbm.txt", "{data}", "--noise", "cauchy"], "--noise: invalid choice: 'cauchy'"),
    "sigma": (["{models}/lightgbm.txt", "{data}", "--sigma", "0"], "--sigma: must be a number above 0; got '0'"),
    "every": (["{models}/lightgbm.txt", "{data}", "--every", "0"], "--every: must be a whole number of at least 1"),
    "late start": (["{models}/lightgbm.txt", "{data}", "--start", "6"], "start must be below the number of trees"),
    "save": (["{models}/lightgbm.txt", "{data}", "--save", "x.csv"], "--save: must end in .npz or .parquet; got x.csv"),
    "png of another kind": (
        ["{models}/lightgbm.txt", "{data}", "--png", "a.svg"],
        "--png: must end in .png; got a.svg",
    ),
    "page of another kind": (
        ["{models}/lightgbm.txt", "{data}", "--report", "a.pdf"],
        "--report: must end in .html or .htm; got a.pdf",
    ),
    "the second of two files": (
        ["{models}/lightgbm.txt", "{data}", "--png", "a.png", "--save", "x.csv"],
        "--save: must end in .npz or .parquet; got x.csv",
    ),
    "one file for two": (
        ["{models}/lightgbm.txt", "{data}", "--out", ".", "--save", "deep/../track.npz"],
        "--save and --out: must be different files; got deep/../track.npz and track.npz",
    ),
    "one file for two in one folder": (
        ["{models}/lightgbm.txt", "{data}", "--out", ".", "--save", "track.npz"],
        "--save and --out: must be different files; got track.npz and track.npz",
    ),
    "a folder in the way": (
        ["{models}/lightgbm.txt", "{data}", "--out", "{tmp}/out"],
        "--out: {tmp}/out/track.png must be a file; it is a folder",
    ),
    "report is a folder": (["{models}/lightgbm.txt", "{data}", "--report", "{tmp}"], "--report: must be a file; got"),
    "png in a file": (
        ["{models}/lightgbm.txt", "{data}", "--png", "{tmp}/damaged.txt/x.png"],
        "--png: {tmp}/damaged.txt is a file, not a folder",
    ),
    "out is a file": (
        ["{models}/lightgbm.txt", "{data}", "--out", "{tmp}/damaged.txt"],
        "--out: {tmp}/damaged.txt is a file, not a folder",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_line_and_leaves_nothing(folder, tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "damaged.txt").write_text("tree\nversion=v4\nnum_class=1\n")
    (tmp_path / "out" / "track.png").mkdir(parents=True)
    (tmp_path / "wide.txt").write_text("1 qid:1 1:1 9:1\n0 qid:1 1:2\n")
    places = {"{models}": str(folder), "{tmp}": str(tmp_path), "{data}": str(folder / "a.txt")}

    def placed(text):
        for name, path in places.items():
            text = text.replace(name, path)
        return text

    code, shown = run(capsys, *map(placed, arguments))
    assert (code, shown.out) == (2, "")
    assert shown.err.startswith("boostsoft: ")
    assert len(shown.err) < 400 + 2 * len(str(folder))
    assert shown.err.count("\n") == 1
    assert placed(message) in shown.err
    assert {path.name for path in tmp_path.iterdir()} == {"damaged.txt", "wide.txt", "out"}
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["track.png"]


DAMAGES = {
    "a line is missing": (rb"leaf_value=.*", b"", "Tree model string format error"),
    "a line is cut off": (rb"(leaf_value=\S+) .*", rb"\1", "Check failed"),
    "its end is missing": (
        rb"(?s)\nend of parameters.*",
        b"",
        "it is cut off: the line 'end of parameters' is missing",
    ),
    "a tree is missing": (rb"Tree=1\n(.|\n)*?(?=Tree=2\n)", b"", "it is damaged: of its 6 trees it has 5"),
}


def tracked_in_a_process(models, data):
    """Of each model the command's exit code and errors, in a process that LightGBM may end, and all output."""
    code = (
        "import sys; from boostsoft import cli\n"
        "def track(model):\n"
        "    print('--', file=sys.stderr, flush=True)\n"
        "    return cli.main(['track', model, sys.argv[1]])\n"
        "print(list(map(track, sys.argv[2:])))\n"
    )
    command = [sys.executable, "-c", code, data, *models]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    *out, codes = done.stdout.splitlines()
    return json.loads(codes), out, done.stderr.split("--\n")[1:]


def test_damaged_lightgbm_models_and_one_whose_training_is_told_oddly(folder, tmp_path):
    """What a model was trained with is not read: there a line without brackets would have LightGBM end the process."""
    content = (folder / "lightgbm.txt").read_bytes()
    before, rest = content.split(b"\nparameters:\n")
    odd = tmp_path / "lightgbm.txt"  # called as the whole one is, for their outputs to be the same
    odd.write_bytes(before + b"\nparameters:\nno brackets" + rest[rest.index(b"\nend of p") :])
    damaged = [tmp_path / f"{number}.txt" for number in range(len(DAMAGES))]
    for model, (lost, kept, _) in zip(damaged, DAMAGES.values(), strict=True):
        model.write_bytes(re.sub(lost, kept, content, count=1))
    codes, out, errors = tracked_in_a_process([odd, folder / "lightgbm.txt", *damaged], folder / "a.txt")
    assert codes == [0, 0] + [2] * len(DAMAGES)
    assert out[: len(out) // 2] == out[len(out) // 2 :]
    assert "ndcg@10" in " ".join(out)
    assert errors[:2] == ["", ""]
    for model, told, (_, _, message) in zip(damaged, errors[2:], DAMAGES.values(), strict=True):
        assert f"boostsoft: track: cannot read the model {model}: {message}" in told


def test_a_lightgbm_model_with_other_ends_of_lines(folder, tmp_path):
    lgb = pytest.importorskip("lightgbm")
    content = (folder / "lightgbm.txt").read_bytes()
    (tmp_path / "model.txt").write_bytes(content.replace(b"\n", b"\r\n"))
    X = np.random.default_rng(0).normal(size=(50, N_FEATURES))
    found, expected = (
        track_command.read_model(tmp_path / "model.txt")[0],
        lgb.Booster(model_file=folder / "lightgbm.txt"),
    )
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))


def test_a_lightgbm_model_may_have_words_in_any_encoding(folder, tmp_path, capsys):
    content = (folder / "lightgbm.txt").read_bytes()
    (tmp_path / "model.txt").write_bytes(content.replace(b"Column_0", b"L\xe4nge"))
    code, shown = run(capsys, tmp_path / "model.txt", folder / "a.txt")
    assert (code, shown.err) == (0, "")
    assert row_of(shown.out, "ndcg@10") == row_of(
        run(capsys, folder / "lightgbm.txt", folder / "a.txt")[1].out, "ndcg@10"
    )


def test_a_model_of_a_library_that_is_not_installed(folder, xgboost_models, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    code, shown = run(capsys, folder / "xgboost.json", folder / "a.txt")
    assert (code, shown.out) == (2, "")
    assert shown.err.startswith("boostsoft: track: XGBoost is not installed")


def test_damaged_models_of_other_libraries(tmp_path, capsys):
    for library, head in (("xgboost", b'{"learner": 3}'), ("catboost", b"CBM1 and nothing else")):
        pytest.importorskip(library)
        (tmp_path / "model").write_bytes(head)
        code, shown = run(capsys, tmp_path / "model", tmp_path / "data")
        assert code == 2
        assert shown.err.startswith(f"boostsoft: track: cannot read the model {tmp_path / 'model'}: ")
        assert shown.err.count("\n") == 1
        assert "Stack trace" not in shown.err


def test_a_json_model_of_another_library_is_named(tmp_path, capsys):
    pytest.importorskip("xgboost")
    model = tmp_path / "model.json"
    for content, advice in (
        ('{"features_info": {}, "oblivious_trees": []}', "it is a CatBoost model as JSON: of CatBoost, .cbm is read"),
        ('{"name": "tree", "tree_info": []}', "it has no 'learner', as all XGBoost models have"),
    ):
        model.write_text(content)
        code, shown = run(capsys, model, tmp_path / "data")
        assert code == 2
        assert shown.err == f"boostsoft: track: cannot read the model {model}: {advice}\n"


def test_a_file_with_more_features_than_the_model(folder, tmp_path, capsys):
    (tmp_path / "wide.txt").write_text("1 qid:1 1:1 99:2\n0 qid:1 1:2\n")
    code, shown = run(capsys, folder / "lightgbm.txt", tmp_path / "wide.txt")
    assert code == 2
    assert f"indices must be at most {N_FEATURES}, as many as the model has; got '99:2'" in shown.err


@pytest.mark.parametrize("absent", ["0", "nan"])
@pytest.mark.parametrize(("most", "which"), [(N_FEATURES - 1, "Feature {0}"), (N_FEATURES - 2, "Features {1} to {0}")])
def test_files_that_lack_the_last_features_are_told(folder, tmp_path, capsys, most, which, absent):
    """They may be sparse; or those of another data set."""
    lines = [f"{i % 3} qid:{i // 9} " + " ".join(f"{j}:{i + j}" for j in range(1, most + 1)) for i in range(90)]
    (tmp_path / "narrow.txt").write_text("\n".join(lines) + "\n")
    code, shown = run(capsys, folder / "lightgbm.txt", tmp_path / "narrow.txt", "--absent", absent)
    assert code == 0
    told = f"{which.format(N_FEATURES, N_FEATURES - 1)} of the model's {N_FEATURES}: no document has a value but 0"
    words = " ".join(shown.out.split())
    assert told in words
    assert ("with an empty column in front, np.pad(X, ((0, 0), (1, 0)))." in words) == (most == N_FEATURES - 1)
    _, whole = run(capsys, folder / "lightgbm.txt", folder / "a.txt")
    assert "of the model's" not in whole.out


def test_an_output_that_has_only_ascii(folder, tmp_path, monkeypatch, capfd):
    written = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    arguments = [folder / "lightgbm.txt", folder / "a.txt", "--label", "modèle", "--png", tmp_path / "x.png"]
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # that of the process that tests stays
    monkeypatch.setattr(sys, "argv", ["boostsoft", "track", *map(str, arguments)])
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", written)
        assert run_as_command() == 0
    assert capfd.readouterr().err == ""
    shown = written.buffer.getvalue().decode("ascii")
    assert re.search(r"ndcg@10[ |]+0\.[0-9]{4} \+- 0\.[0-9]{4} ", shown)
    assert "mod\\xe8le: 6 trees" in shown


@pytest.mark.parametrize(
    ("module", "arguments", "message"),
    [
        ("plotly", ["--report", "r.html"], "track --report: plotly is not installed: pip install 'boostsoft[report]'"),
        (
            "pyarrow",
            ["--save", "t.parquet"],
            "track --save: pyarrow is not installed: pip install 'boostsoft[parquet]'",
        ),
    ],
)
def test_what_is_not_installed_is_named_before_the_work(
    folder, tmp_path, capsys, monkeypatch, module, arguments, message
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(track_command, "track_trees", lambda *_, **__: pytest.fail("it went to work"))
    code, shown = run(capsys, folder / "lightgbm.txt", folder / "a.txt", *arguments)
    assert (code, shown.out) == (2, "")
    assert shown.err.startswith(f"boostsoft: {message}")
    assert shown.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_leaves_nothing(folder, tmp_path, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(track_command, "track_trees", interrupted)
    code, shown = run(capsys, folder / "lightgbm.txt", folder / "a.txt", "--out", tmp_path / "out")
    assert code == 130
    assert shown.err == "boostsoft: interrupted; no file is half written\n"
    assert list(tmp_path.iterdir()) == []


def test_help_gives_examples(capsys):
    with pytest.raises(SystemExit) as ending:
        cli.main(["track", "--help"])
    assert ending.value.code == 0
    text = capsys.readouterr().out
    assert "--report report.html" in text
    assert "CatBoost .cbm" in text
