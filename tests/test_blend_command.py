"""``python -m boostsoft blend`` from end to end, and what it refuses."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import re
import warnings
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from boostsoft import Metric, cli
from boostsoft.blending import SoftBlender, baselines, blend_curve
from boostsoft.commands import blend as blend_command
from boostsoft.commands.blend import report, work
from boostsoft.datasets import load_trec_runs
from boostsoft.statistics import paired_interval

from .narrow import WIDTHS, assert_no_number_is_cut, on_a_terminal

QUALITY = {"weak": 0.3, "good": 1.0, "other": 1.2}


def write_runs(folder, n_topics=14, names=("weak", "good", "other"), backwards=()):
    """TREC runs of different quality and scale, judgements on all topics but the last."""
    rng, n_docs = np.random.default_rng(0), 12
    runs, judged = {name: [] for name in names}, []
    for topic in range(1, n_topics + 1):
        y = rng.choice(3, n_docs, p=[0.6, 0.25, 0.15])
        y[0] = 2
        for scale, name in enumerate(names):
            scores = (y * QUALITY[name] + rng.normal(size=n_docs)) * 1000.0**scale
            for place in rng.permutation(n_docs)[: n_docs - 2 * scale]:
                score = float(-scores[place] if name in backwards else scores[place])
                runs[name].append(f"{topic} Q0 D{place} 1 {score!r} {name}")
        judged += [f"{topic} 0 D{place} {label}" for place, label in enumerate(y) if topic < n_topics]
    for name, lines in runs.items():
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
    (folder / "qrels").write_text("\n".join(judged) + "\n")
    return [str(folder / f"{name}.txt") for name in names], str(folder / "qrels")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def done(files, tmp_path_factory):
    """The folder of a run over three runs, and what was printed."""
    out, shown = tmp_path_factory.mktemp("blend") / "out", io.StringIO()
    runs, qrels = files
    patch = pytest.MonkeyPatch()
    patch.setattr("sys.stdout", shown)
    try:
        arguments = ["blend", *runs, "--qrels", qrels, "--out", str(out), "--resamples", "20", "--folds", "4"]
        assert cli.main([*arguments, "--seed", "3", "--depth", "9", "--name", "fused"]) == 0
    finally:
        patch.undo()
    return out, shown.getvalue()


@pytest.fixture(scope="module")
def fitted(files):
    data = load_trec_runs(files[0], qrels=files[1])
    return data, SoftBlender(n_boot=20, random_state=3).fit(data.S, data.y, group=data.sizes)


@pytest.fixture(autouse=True)
def undrawn(monkeypatch):
    """Pictures are made, but drawn in ``done`` alone."""
    monkeypatch.setattr("boostsoft.commands.blend.png", lambda figure: str(figure).encode())


def blend(tmp_path, *arguments):
    out = tmp_path / "out"
    assert cli.main(["blend", *map(str, arguments), "--out", str(out), "--resamples", "0"]) == 0
    return json.loads((out / "weights.json").read_text(), parse_constant=pytest.fail)  # JSON has no NaN


# ---------------------------------------------------------------------------------------------------------
# What is written
# ---------------------------------------------------------------------------------------------------------


def test_all_files_are_written(done):
    out, shown = done
    assert {path.name for path in out.iterdir()} == {"weights.json", "curve.png", "weights.png", "fused.run"}
    for name in ("curve.png", "weights.png"):
        with Image.open(out / name) as image:
            shades = np.asarray(image.convert("L"))
        assert shades.min() < 100
        assert np.mean(shades == 255) > 0.3
    assert f"Written to {out}: weights.json" in " ".join(shown.split())


def test_the_weights_are_those_of_the_estimator(done, fitted):
    found, (data, blender) = json.loads((done[0] / "weights.json").read_text()), fitted
    assert [model["name"] for model in found["models"]] == ["weak", "good", "other"]
    np.testing.assert_array_equal([model["weight"] for model in found["models"]], blender.weights_)
    ends = [[model["low"], model["high"]] for model in found["models"]]
    np.testing.assert_array_equal(ends, blender.weights_interval_)
    assert found["training"] == {
        "queries": 13,
        "documents": 13 * 12,
        "value": blender.score(data.S, data.y, group=data.sizes),
    }
    assert found["settings"]["metric"] == "ndcg@10"
    assert found["settings"]["random_state"] == 3
    assert found["sigma"] == blender.sigma_
    assert found["mix"] == blender.mix_ == {"kendall": 1.0}
    assert "Queries are few: 1.00 x Kendall is maximised beside NDCG@10." in " ".join(done[1].split())
    missing_last = np.where(np.isnan(data.S), -np.inf, data.S)[:, 1]
    missing_last = np.where(np.isinf(missing_last), -1e9, missing_last)
    alone = Metric("ndcg@10")(data.y, missing_last, group=data.sizes)
    assert found["models"][1]["alone"] == pytest.approx(alone, abs=1e-12)


def test_the_fused_run_has_every_topic_in_the_order_of_the_blend(files, done, fitted):
    data, blender = load_trec_runs(files[0], qrels=files[1], topics="all"), fitted[1]
    scores = blender.predict(data.S, group=data.sizes)
    lines = [line.split() for line in (done[0] / "fused.run").read_text().splitlines()]
    assert {line[5] for line in lines} == {"fused"}
    retrieved = ~np.isnan(data.S).all(axis=1)
    for topic in range(1, 15):
        own = (data.qid == topic) & retrieved
        order = np.lexsort((data.docid[own].astype(str), -scores[own]))
        wanted = data.docid[own][order][:9].tolist()
        mine = [line for line in lines if line[0] == str(topic)]
        assert [line[2] for line in mine] == wanted
        assert [int(line[3]) for line in mine] == list(range(1, len(wanted) + 1))
        np.testing.assert_array_equal([float(line[4]) for line in mine], scores[own][order][:9])


def test_documents_of_the_judgements_alone_are_not_fused(tmp_path):
    runs, qrels = write_runs(tmp_path, n_topics=4)
    with open(qrels, "a") as file:
        file.write("1 0 NOWHERE 2\n")
    blend(tmp_path, *runs, "--qrels", qrels, "--folds", "0")
    assert "NOWHERE" not in (tmp_path / "out" / "fused.run").read_text()


METHODS = {
    "blend": "soft", "equal weights": "equal", "reciprocal rank fusion": "rrf", "best of them in training": "rival",
}  # fmt: skip


def test_held_out_values_by_hand(done, fitted):
    """Fold by fold: the weights of the other queries."""
    found, (data, _) = json.loads((done[0] / "weights.json").read_text())["held_out"], fitted
    assert list(found) == ["blend", "best model", "equal weights", "reciprocal rank fusion", "best of them in training"]
    order = np.random.default_rng(3).permutation(13)
    values = {name: np.empty(13) for name in ("soft", "equal", "rrf", "rival")}
    scores = SoftBlender(method="equal").fit(data.S, data.y, qid=data.qid).normalize_scores(data.S, qid=data.qid)
    alone = np.array([Metric("ndcg@10").per_query(data.y, column, qid=data.qid) for column in scores.T])
    for fold in range(4):
        held = np.isin(np.arange(13), order[fold::4])
        best = alone[alone[:, ~held].mean(axis=1).argmax()]
        known = [(best[~held].mean(), best[held])]
        test = np.isin(np.repeat(np.arange(13), data.sizes), order[fold::4])
        for method in ("soft", "equal", "rrf"):
            value = values[method]
            blender = SoftBlender(method=method, random_state=3).fit(data.S[~test], data.y[~test], qid=data.qid[~test])
            predicted = blender.predict(data.S[test], qid=data.qid[test])
            value[held] = Metric("ndcg@10").per_query(data.y[test], predicted, qid=data.qid[test])
            known.append((blender.score(data.S[~test], data.y[~test], qid=data.qid[~test]), value[held]))
        values["rival"][held] = max(known[:1] + known[2:], key=lambda pair: pair[0])[1]  # without the blend
    for name, method in METHODS.items():
        assert found[name]["mean"] == pytest.approx(values[method].mean(), abs=1e-12)
    interval = paired_interval(values["soft"], values["rrf"])
    assert found["reciprocal rank fusion"]["blend_less_it"] == pytest.approx(interval.mean, abs=1e-12)
    assert found["reciprocal rank fusion"]["low"] == pytest.approx(interval.low, abs=1e-12)
    assert found["reciprocal rank fusion"]["high"] == pytest.approx(interval.high, abs=1e-12)


def test_the_best_model_is_the_best_of_the_other_queries(tmp_path, capsys):
    """The only relevant document has ranks 1, 1, 3 by x and 2, 2, 1 by y: x for the third query, y for the others."""
    rows = [
        f"{query},{document},{int(document == 0)},{x},{y}"
        for query, ranks in enumerate([(1, 2), (1, 2), (3, 1)])
        for document, (x, y) in enumerate([(-ranks[0], -ranks[1]), (-1.5, -1.5), (-2.5, -2.5)])
    ]
    found = blend(tmp_path, table_of(tmp_path, *rows), "--folds", "9")
    assert found["held_out"]["best model"]["mean"] == pytest.approx((2 / np.log2(3) + 1 / np.log2(4)) / 3)
    assert "NDCG@10 on held-out queries, 3 folds" in capsys.readouterr().out


@pytest.mark.parametrize("method", ["soft", "coordinate-ascent", "ltr-mga", "grid", "random", "equal"])
def test_a_model_without_a_score_to_train_on_has_no_weight(tmp_path, method, monkeypatch):
    """Model y knows query a alone, which is held out once; x, the lower the better, is right everywhere."""
    if method in ("ltr-mga", "random"):
        monkeypatch.setitem(baselines.METHODS[method].__kwdefaults__, "evaluations", 100)  # the usual ones take seconds
    rows = [
        f"{query},{document},{int(document == 0)},{document},{-document if query == 'a' else ''}"
        for query in "abc"
        for document in range(3)
    ]
    options = ["--scores", "y,x", "--folds", "3", "--lower-is-better", "x", "--method", method]
    found = blend(tmp_path, table_of(tmp_path, *rows), *options)
    assert found["held_out"]["blend"]["mean"] == 1.0


def test_methods_without_training_are_fitted_once(tmp_path, monkeypatch):
    """Their weights are the same in every fold; the blend has its own in each, of the same seed and without a bar."""
    fitted, fit = [], SoftBlender.fit

    def noted(self, *args, **kwargs):
        fitted.append((self.method, self.random_state, self.progress))
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(SoftBlender, "fit", noted)
    rows = [f"{query},{document},{document % 2},{document},{-document}" for query in "abcd" for document in range(3)]
    blend(tmp_path, table_of(tmp_path, *rows), "--folds", "3", "--seed", "7")
    once = {("soft", 7, "auto"), ("equal", 7, False), ("rrf", 7, False)}
    assert Counter(fitted) == {**dict.fromkeys(once, 1), ("soft", 7, False): 3}


@pytest.mark.parametrize("elsewhere", ["", "0"], ids=["no score", "one score for all"])
def test_a_model_that_tells_nothing_in_the_other_queries_is_not_fused(tmp_path, elsewhere):
    """Model y is right in query a alone, x wrong everywhere: what was found without a is x, with a both cancel out."""
    rows = [
        f"{query},{document},{int(document == 0)},{document},{-document if query == 'a' else elsewhere}"
        for query in "abc"
        for document in range(3)
    ]
    found = blend(tmp_path, table_of(tmp_path, *rows), "--folds", "3")["held_out"]
    for name in ("equal weights", "reciprocal rank fusion"):
        assert found[name]["mean"] == pytest.approx(1 / np.log2(4))


def test_each_lead_of_the_blend_is_resampled_once(tmp_path, monkeypatch, capsys):
    """For the table, the words below it and weights.json, which show the same."""
    calls = []
    monkeypatch.setattr(work, "paired_interval", lambda *values: calls.append(values) or paired_interval(*values))
    rows = [f"{query},{document},{document % 2},{document},{-document}" for query in "abcd" for document in range(3)]
    found = blend(tmp_path, table_of(tmp_path, *rows), "--folds", "2")["held_out"]
    assert len(calls) == len(found) - 1 == 4
    shown = capsys.readouterr().out
    for (name, values), call in zip(list(found.items())[1:], calls, strict=True):
        interval = paired_interval(*call)
        assert (values["blend_less_it"], values["low"], values["high"]) == (interval.mean, interval.low, interval.high)
        assert f"{interval.low:+.4f} to {interval.high:+.4f}" in shown, name


def test_one_fold_holds_nothing_out_and_two_do(tmp_path):
    rows = [
        f"{query},{document},{int(document == 0)},{-document},{document}" for query in "abc" for document in range(3)
    ]
    one, two = (blend(tmp_path, table_of(tmp_path, *rows), "--folds", folds) for folds in "12")
    assert one["held_out"] == {}
    assert two["held_out"]["best model"]["mean"] == 1.0


def test_a_model_that_knows_no_training_query_is_not_the_best_one(tmp_path):
    """Ties earn something by chance, here more than the model that ranks the wrong way round."""
    rows = [
        f"{query},{document},{int(document == 0)},{document},{-document if query == 'a' else ''}"
        for query in "abc"
        for document in range(3)
    ]
    found = blend(tmp_path, table_of(tmp_path, *rows), "--folds", "3")
    worst, chance = 1 / np.log2(4), (1 + 1 / np.log2(3) + 1 / np.log2(4)) / 3
    assert found["held_out"]["best model"]["mean"] == pytest.approx((worst + 2 * chance) / 3)


@pytest.mark.parametrize("width", WIDTHS)
def test_no_number_is_cut_on_a_narrow_terminal(files, tmp_path, capsys, monkeypatch, width):
    monkeypatch.chdir(tmp_path)
    arguments = ["blend", *files[0], "--qrels", files[1], "--out", "out", "--folds", "2", "--resamples", "20"]
    arguments += ["--method", "equal"]
    assert cli.main(arguments) == 0
    wide = capsys.readouterr().out
    on_a_terminal(monkeypatch, width)
    assert cli.main(arguments) == 0
    assert_no_number_is_cut(capsys.readouterr().out, wide, width)


def test_what_is_shown(done):
    shown = " ".join(done[1].split())
    assert "13 queries with labels, 156 documents; 1 without labels is fused only." in shown
    assert "NDCG@10 on held-out queries, 4 folds" in shown
    found = json.loads((done[0] / "weights.json").read_text())
    for model in found["models"]:
        assert re.search(
            rf"{model['name']} {model['weight']:.4f} {model['low']:.4f} to {model['high']:.4f} {model['alone']:.4f}",
            shown,
        )
    for name, row in found["held_out"].items():
        cells = f"{name} {row['mean']:.4f}"
        if name != "blend":
            cells += f" {row['blend_less_it']:+.4f} {row['low']:+.4f} to {row['high']:+.4f}"
        assert cells in shown
    assert f"on the queries that it was trained on: {found['training']['value']:.4f}." in shown
    leads = {name: (row["low"], row["high"]) for name, row in found["held_out"].items() if name != "blend"}
    assert len(set(leads.values())) == 4
    name, (low, high) = min(leads.items(), key=lambda item: item[1][0])
    assert low < 0 < high
    rival = f"the {name}" if name.startswith("best") else name
    assert f"The blend is not told from {rival} by 13 queries: its lead is between {low:+.4f}" in shown


def test_the_heaviest_model_is_first_whatever_its_sign(capsys):
    models = ("a", "b", "c")
    blender = SimpleNamespace(weights_=np.array([0.1, -0.8, 0.3]))
    found = SimpleNamespace(blender=blender, alone=np.array([0.25, 0.5, 0.75]))
    Console().print(report._weights_table(found, SimpleNamespace(models=models), "NDCG@10"))
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row for row in rows if row[:1] and row[0] in models] == [
        ["b", "-0.8000", "-", "0.5000"],
        ["c", "0.3000", "-", "0.7500"],
        ["a", "0.1000", "-", "0.2500"],
    ]


GAINS = {"best model": 0.1, "equal weights": 0.0, "best of them in training": 0.6}


@pytest.mark.parametrize(
    ("gain", "n", "words"),
    [
        (0.1, 9, "The blend is higher than all of these in these 9 queries, too few to say so of others."),
        (-0.1, 3, "The blend is lower than the best model in these 3 queries, too few to say so of others."),
        (0.1, 10, "The blend is higher than all of these: every interval is above 0."),
        (-0.1, 10, "The blend is lower than the best model: the whole interval is below 0."),
        (0.0, 3, "The blend is not told from the best model by 3 queries: its lead is between +0.0000 "),
    ],
)
def test_verdict(gain, n, words):
    lead, large = (paired_interval(np.full(n, 0.5 + much), np.full(n, 0.5)) for much in (gain, 0.2))
    assert report._verdict({"equal weights": large, "best model": lead}).startswith(words)


def test_the_verdict_claims_no_more_than_the_table():
    """What was best in training may stay behind all that it is one of."""
    of = {name: paired_interval(np.arange(20) / 20 + gain, np.arange(20)[::-1] / 20) for name, gain in GAINS.items()}
    assert [lead.sign for lead in of.values()] == [0, 0, 1]
    told = report._verdict(of)
    assert told.startswith("The blend is not told from equal weights by 20 queries: its lead is between -0")
    of["reciprocal rank fusion"] = paired_interval(np.zeros(20), np.ones(20))
    assert report._verdict(of) == "The blend is lower than reciprocal rank fusion: the whole interval is below 0."


# ---------------------------------------------------------------------------------------------------------
# Options
# ---------------------------------------------------------------------------------------------------------


def as_table(files, path):
    """The same scores as a table, its rows shuffled."""
    data = load_trec_runs(files[0], qrels=files[1], topics="all")
    rows = np.random.default_rng(1).permutation(data.y.size)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["query", "doc", "grade", *data.runs, "comment"])
        for row in rows.tolist():
            scores = ["" if np.isnan(score) else repr(score) for score in data.S[row].tolist()]
            grade = "" if np.isnan(data.y[row]) else data.y[row]
            writer.writerow([data.qid[row], data.docid[row], grade, *scores, "some words"])
    return path


def test_a_table_gives_what_runs_give(files, done, tmp_path):
    path = as_table(files, tmp_path / "scores.csv")
    names = ["--qid", "query", "--label", "grade", "--docid", "doc", "--scores", "weak,good,other"]
    found = blend(tmp_path, path, *names, "--folds", "0", "--seed", "3", "--depth", "9", "--name", "fused")
    wanted = json.loads((done[0] / "weights.json").read_text())
    for mine, theirs in zip(found["models"], wanted["models"], strict=True):
        assert mine["weight"] == pytest.approx(theirs["weight"], abs=1e-6)
        assert (mine["low"], mine["high"]) == (None, None)
    assert found["held_out"] == {}
    runs = [(folder / "fused.run").read_text().splitlines() for folder in (done[0], tmp_path / "out")]
    by_topic = [
        sorted((line.split()[:4] for line in lines), key=lambda line: (line[0], int(line[3]))) for lines in runs
    ]
    assert by_topic[0] == by_topic[1]


def test_options_reach_the_estimator(files, tmp_path):
    data = load_trec_runs(files[0], qrels=files[1])
    runs, qrels = files
    options = {"metric": "map@5", "normalize": "zscore", "constraint": "free", "noise": "gumbel", "sigma": 0.4}
    arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
    found = blend(tmp_path, *runs, "--qrels", qrels, *arguments, "--folds", "0")
    blender = SoftBlender(**options, random_state=0).fit(data.S, data.y, group=data.sizes)
    np.testing.assert_array_equal([model["weight"] for model in found["models"]], blender.weights_)
    assert {name: found["settings"][name] for name in options} == options
    assert found["sigma"] == 0.4


def test_lower_is_better(tmp_path):
    runs, qrels = write_runs(tmp_path, backwards=("good",))
    plain = blend(tmp_path, *runs, "--qrels", qrels, "--folds", "0")["models"]
    told = blend(tmp_path, *runs, "--qrels", qrels, "--folds", "0", "--lower-is-better", "good")["models"]
    assert plain[1]["weight"] == 0.0
    assert told[1]["weight"] > 0.2
    everything = blend(tmp_path, *runs, "--qrels", qrels, "--folds", "0", "--lower-is-better", "all")["models"]
    assert everything[1]["weight"] > 0.8


def test_two_models_are_the_ends_of_the_curve(tmp_path, monkeypatch):
    seen = []
    real = blend_command._pictures
    monkeypatch.setattr(blend_command, "_pictures", lambda found, scores: seen.append(found) or real(found, scores))
    runs, qrels = write_runs(tmp_path, names=("good", "other"))
    options = ["--folds", "0", "--method", "grid", "--normalize", "zscore", "--noise", "gumbel", "--sigma", "0.4"]
    found = blend(tmp_path, *runs, "--qrels", qrels, *options)
    blend_, data = seen[0], load_trec_runs(runs, qrels=qrels)
    by_hand = blend_curve(data.S, data.y, group=data.sizes, n=51, normalize="zscore", noise="gumbel", sigma=0.4)
    np.testing.assert_allclose(blend_.curve.soft, by_hand.soft, rtol=1e-12)
    np.testing.assert_allclose(blend_.curve.hard, by_hand.hard, rtol=1e-12)
    assert blend_.curve_names == ("good", "other")
    assert blend_.curve.hard[0] == pytest.approx(found["models"][0]["alone"], abs=1e-12)
    assert blend_.curve.hard[-1] == pytest.approx(found["models"][1]["alone"], abs=1e-12)
    weight = found["models"][1]["weight"]  # a multiple of 1/20: not on the curve of 51 points, unless of 1/10
    assert blend_.curve.hard_optimum.value >= found["training"]["value"] - 0.02
    assert 0.0 <= weight <= 1.0


def test_of_more_models_the_curve_ends_at_the_blend(files, tmp_path, monkeypatch):
    seen = []
    real = blend_command._pictures
    monkeypatch.setattr(blend_command, "_pictures", lambda found, scores: seen.append(found) or real(found, scores))
    found = blend(tmp_path, *files[0], "--qrels", files[1], "--folds", "0")
    best = max(found["models"], key=lambda model: model["alone"])
    assert seen[0].curve_names == (best["name"], "the blend")
    assert seen[0].curve.hard[0] == pytest.approx(best["alone"], abs=1e-12)
    assert seen[0].curve.hard[-1] == pytest.approx(found["training"]["value"], abs=1e-12)


def test_the_gain_may_be_linear_as_in_trec_eval(files, tmp_path, capsys):
    runs, qrels = files
    found = blend(tmp_path, *runs, "--qrels", qrels, "--gain", "linear", "--folds", "0", "--method", "equal")
    told = " ".join(capsys.readouterr().out.split())
    assert "Weights for NDCG@10 with linear gain" in told
    assert "its gain is the label" not in told
    assert (found["settings"]["metric"], found["settings"]["gain"]) == ("ndcg@10", "linear")
    data = load_trec_runs(runs, qrels=qrels)  # the first has all documents
    assert not np.isnan(data.S[:, 0]).any()
    linear = Metric("ndcg@10", gain="linear")(data.y, data.S[:, 0], group=data.sizes)
    assert found["models"][0]["alone"] == pytest.approx(linear, abs=1e-12)
    found = blend(tmp_path, *runs, "--qrels", qrels, "--folds", "0", "--method", "equal")
    assert "its gain is the label, where here it is 2^label - 1" in " ".join(capsys.readouterr().out.split())
    assert found["settings"]["gain"] == "exp2"
    out = ["--out", str(tmp_path / "new")]
    assert cli.main(["blend", *runs, "--qrels", qrels, "--metric", "map", "--gain", "linear", *out]) == 2
    assert capsys.readouterr().err == "boostsoft: --gain: map has none\n"


def test_documents_may_be_relevant_from_a_higher_label_on(files, tmp_path, capsys):
    runs, qrels = files
    options = ["--qrels", qrels, "--metric", "map", "--folds", "0", "--method", "equal"]
    found = blend(tmp_path, *runs, *options, "--relevant-from", "2")
    assert "Weights for MAP from label 2, of scores" in " ".join(capsys.readouterr().out.split())
    assert (found["settings"]["metric"], found["settings"]["relevant_from"]) == ("map", 2)
    data = load_trec_runs(runs, qrels=qrels)
    wanted = Metric("map", relevant_from=2)(data.y, data.S[:, 0], group=data.sizes)
    assert found["models"][0]["alone"] == pytest.approx(wanted, abs=1e-12)
    assert "from label" not in (blend(tmp_path, *runs, *options), capsys.readouterr().out)[1]
    out = ["--out", str(tmp_path / "new")]
    assert cli.main(["blend", *runs, "--qrels", qrels, "--relevant-from", "2", *out]) == 2
    assert capsys.readouterr().err == "boostsoft: --relevant-from: ndcg@10 has none\n"


def test_judged_topics_that_no_run_answers_are_said(tmp_path, capsys):
    runs, qrels = write_runs(tmp_path)
    blend(tmp_path, *runs, "--qrels", qrels, "--folds", "0", "--method", "equal")
    assert "Left out" not in capsys.readouterr().out
    with open(qrels, "a", encoding="utf-8") as file:
        file.write("98 0 D1 1\n98 0 D2 0\n99 0 D1 1\n")
    blend(tmp_path, *runs, "--qrels", qrels, "--folds", "0", "--method", "equal")
    assert "Left out: 2 judged topics of which no run has a document." in " ".join(capsys.readouterr().out.split())
    assert load_trec_runs(runs, qrels=qrels).unanswered == 2
    assert load_trec_runs(runs).unanswered == 0


def test_for_want_of_room_for_a_picture_no_weights_are_lost(files, tmp_path, capsys, monkeypatch):
    real = Path.write_bytes

    def full(path, content):
        if content.startswith(b"Figure("):  # what stands for one here
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    runs, qrels = files
    arguments = [*runs, "--qrels", qrels, "--folds", "0", "--method", "equal", "--out", str(tmp_path / "out")]
    assert cli.main(["blend", *arguments]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"weights.json", "fused.run"}


def test_a_metric_without_a_soft_twin_has_no_curve(files, tmp_path):
    runs, qrels = files
    blend(tmp_path, *runs, "--qrels", qrels, "--metric", "bpref", "--method", "coordinate-ascent", "--folds", "0")
    without = {"weights.json", "weights.png", "fused.run"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == without
    # nor the one of an earlier run
    (tmp_path / "out" / "curve.png").touch()
    (tmp_path / "out" / "mine.png").touch()
    blend(tmp_path, *runs, "--qrels", qrels, "--metric", "bpref", "--method", "coordinate-ascent", "--folds", "0")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {*without, "mine.png"}


def test_warnings_are_notes(tmp_path, capsys):
    runs, qrels = write_runs(tmp_path, names=("good", "other"))
    copy = tmp_path / "copy.txt"
    copy.write_text((tmp_path / "good.txt").read_text().replace(" good\n", " copy\n"))
    with warnings.catch_warnings(record=True) as caught:
        found = blend(tmp_path, *runs, copy, "--qrels", qrels, "--folds", "3")
    assert caught == []
    assert len(found["notes"]) == 1
    assert "good and copy rank all documents alike: only the sum of their weights" in found["notes"][0]
    assert "Note: SoftBlender.fit:" in capsys.readouterr().out


# ---------------------------------------------------------------------------------------------------------
# Errors
# ---------------------------------------------------------------------------------------------------------

BAD = {
    "nothing": ([], "the following arguments are required: FILE"),
    "no qrels": (["{weak}", "{good}"], "blend: give --qrels with several runs, or one table"),
    "no table": (["{tmp}/none.csv"], "blend: FILE must name an existing file; got '{tmp}/none.csv'"),
    "folder": (["{tmp}"], "blend: FILE must name an existing file; got '{tmp}'\n"),
    "depth": (["{weak}", "--depth", "0"], "--depth: must be a whole number of at least 1; got '0'"),
    "no run": (["{weak}", "{tmp}/none", "--qrels", "{qrels}"], "existing file; got '{tmp}/none'"),
    "no judgements": (["{weak}", "--qrels", "{tmp}/none"], "existing file; got '{tmp}/none'"),
    "columns of runs": (["{weak}", "--qrels", "{qrels}", "--label", "x"], "blend: --label is of a table"),
    "one run": (["{weak}", "--qrels", "{qrels}"], "blend: at least two models must be given; got weak only"),
    "twice": (["{weak}", "{weak}", "--qrels", "{qrels}"], "load_trec_runs: runs must differ"),
    "metric": (["{weak}", "{good}", "--qrels", "{qrels}", "--metric", "foo"], "--metric: unknown metric 'foo'"),
    "inexact": (["{weak}", "{good}", "--qrels", "{qrels}", "--metric", "bpref"], "bpref has no exact expectation"),
    "infinite": (["{weak}", "{good}", "--qrels", "{qrels}", "--metric", "pnr"], "blend: pnr is infinite for a"),
    "sigma": (["{weak}", "--sigma", "0"], "--sigma: must be a number above 0; got '0'"),
    "resamples": (["{weak}", "--resamples", "19"], "--resamples: must be 0 (none) or at least 20; got '19'"),
    "method": (["{weak}", "--method", "magic"], "invalid choice: 'magic'"),
    "names": (["{weak}", "--scores", "a,,b"], "--scores: must be different names separated by commas; got 'a,,b'"),
    "names over two lines": (["{weak}", "--scores", "a\nb"], "--scores: must be different names separated by commas"),
    "names twice": (["{weak}", "--scores", "a, a"], "--scores: must be different names separated"),
    "lower": (
        ["{weak}", "{good}", "--qrels", "{qrels}", "--lower-is-better", "bad"],
        "--lower-is-better: there is no model 'bad'; there are weak, good",
    ),
    "lower all and one": (
        ["{weak}", "{good}", "--qrels", "{qrels}", "--lower-is-better", "all,weak"],
        "--lower-is-better: there is no model 'all'; there are weak, good",
    ),
    "tag": (["{weak}", "--name", "two words"], "--name: must be one word of text without blanks; got 'two words'"),
    "no text": (["{weak}", "--name", "x\udcff"], "--name: must be one word of text without blanks; got 'x\\udcff'"),
    "out": (["{weak}", "--out", "{weak}/x"], "--out: {weak} is a file, not a folder"),
    "run as table": (["{weak}"], "blend: {weak}, line 2:"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_line_and_leaves_nothing(files, tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    places = {"tmp": tmp_path, "weak": files[0][0], "good": files[0][1], "qrels": files[1]}
    if message.endswith("line 2:"):
        message = "must have a column 'qid'"
    assert cli.main(["blend", *(argument.format(**places) for argument in arguments)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("boostsoft: ")
    assert message.format(**places) in shown.err
    assert shown.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_the_way_of_a_file(files, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(blend_command, "_read", lambda _: pytest.fail("it went to work"))
    taken = tmp_path / "out" / "weights.json"
    taken.mkdir(parents=True)
    assert cli.main(["blend", *files[0], "--qrels", files[1], "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == f"boostsoft: --out: {taken} must be a file; it is a folder\n"


def table_of(tmp_path, *rows):
    path = tmp_path / "scores.csv"
    path.write_text("\n".join(["qid,docid,label,x,y", *rows]) + "\n")
    return str(path)


def test_a_table_from_a_pipe(tmp_path):
    """As a shell's <(zcat scores.csv.gz) is."""
    rows = [f"{query},{document},{document % 2},{document},{-document}" for query in "ab" for document in range(3)]
    end, begin = os.pipe()
    os.write(begin, Path(table_of(tmp_path, *rows)).read_bytes())
    os.close(begin)
    try:
        found = blend(tmp_path, f"/dev/fd/{end}", "--folds", "0")
    finally:
        os.close(end)
    assert [model["name"] for model in found["models"]] == ["x", "y"]


def test_labels_that_say_too_little(tmp_path, capsys):
    out = ["--out", str(tmp_path / "out")]
    unlabelled = table_of(tmp_path, "1,a,,1,2", "2,b,,2,1")
    assert cli.main(["blend", unlabelled, *out]) == 2
    assert "blend: at least 2 queries must have labels; got 0" in capsys.readouterr().err
    one = table_of(tmp_path, "1,a,1,1,2", "1,b,0,2,1", "2,c,,1,1")
    assert cli.main(["blend", one, *out]) == 2
    assert "blend: at least 2 queries must have labels; got 1" in capsys.readouterr().err
    nothing = table_of(tmp_path, "1,a,0,1,2", "1,b,0,2,1", "2,c,0,1,1", "2,d,0,2,3")
    assert cli.main(["blend", nothing, *out]) == 2
    assert "none has a relevant document" in capsys.readouterr().err
    fold = table_of(tmp_path, "1,a,1,1,2", "1,b,0,2,1", "2,c,0,1,1", "2,d,0,2,3")
    assert cli.main(["blend", fold, *out]) == 2  # of five folds two have a query
    assert " of 2; --folds 0 leaves them out)" in capsys.readouterr().err
    silent = table_of(tmp_path, "1,a,1,1,", "1,b,0,2,", "2,c,1,1,", "2,d,0,2,")
    assert cli.main(["blend", silent, *out]) == 2
    assert "; y is NaN everywhere" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "__index_level_0__"])
def test_a_row_index_of_pandas_is_no_model(tmp_path, capsys, name):
    path = tmp_path / "scores.csv"
    path.write_text(f"{name},qid,label,x,y\n" + "".join(f"{i},{i // 2},{i % 2},{i},{-i}\n" for i in range(8)))
    out = ["--out", str(tmp_path / "out"), "--resamples", "0"]
    assert cli.main(["blend", str(path), *out]) == 2
    assert capsys.readouterr().err == (
        f"boostsoft: blend: {path}: column 1 has the name {name!r} of a row index: write the table with index=False, "
        "or name the columns to blend by --scores\n"
    )
    assert cli.main(["blend", str(path), *out, "--scores", "x,y"]) == 0


def test_a_name_that_holds_a_comma_is_quoted(tmp_path, capsys):
    path = tmp_path / "scores.csv"
    path.write_text('qid,label,"lm, big",x,y\n' + "".join(f"{i // 2},{i % 2},{i},{-i},{i}\n" for i in range(8)))
    some = ["--folds", "0", "--scores", 'x, "lm, big"']
    found = blend(tmp_path, str(path), *some, "--lower-is-better", '"lm, big"')
    assert [model["name"] for model in found["models"]] == ["x", "lm, big"]
    capsys.readouterr()
    assert cli.main(["blend", str(path), *some, "--lower-is-better", "lm"]) == 2
    assert capsys.readouterr().err.endswith("""there is no model 'lm'; there are x, "lm, big"\n""")
    assert cli.main(["blend", str(path), "--scores", "lm"]) == 2
    assert capsys.readouterr().err.endswith("""it has qid, label, "lm, big", x, y\n""")


def test_a_run_without_a_judged_topic_is_named(files, tmp_path, capsys):
    stranger = tmp_path / "stranger.txt"
    stranger.write_text("14 Q0 D1 1 2.5 strange\n999 Q0 D1 1 2.5 strange\n")
    assert cli.main(["blend", *files[0], str(stranger), "--qrels", files[1], "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == (
        f"boostsoft: blend: {stranger}: the run must have a topic that {files[1]} judges; got none in common\n"
    )


def test_what_the_weights_apply_to_is_said(files, tmp_path, capsys):
    runs, qrels = files
    for method, words in (("rrf", "of reciprocal ranks"), ("equal", "of scores normalised by rank")):
        blend(tmp_path, *runs, "--qrels", qrels, "--folds", "0", "--method", method)
        assert f"Weights for NDCG@10, {words}" in " ".join(capsys.readouterr().out.split())


def test_a_model_alone_is_not_what_trec_eval_gives(done, tmp_path, capsys):
    """Documents that a run left out have a chance below its list; trec_eval leaves them out."""
    words = "documents that a model does not have are ranked by chance below its own, where trec_eval leaves them out"
    assert words in " ".join(done[1].split())
    runs, qrels = write_runs(tmp_path)
    found = blend(tmp_path, *runs, "--qrels", qrels, "--metric", "map", "--folds", "0", "--method", "equal")
    capsys.readouterr()
    whole = [f"{query},{document},{document % 2},{document},{-document}" for query in "ab" for document in range(3)]
    blend(tmp_path, table_of(tmp_path, *whole), "--folds", "0", "--method", "equal")
    assert "ranked by chance" not in capsys.readouterr().out
    data = load_trec_runs(runs, qrels=qrels)
    left_out = np.isnan(data.S[:, 2])
    assert left_out.any()
    ranked = Metric("map", ties="expected")(data.y, np.where(left_out, -1e9, data.S[:, 2]), group=data.sizes)
    assert found["models"][2]["alone"] == pytest.approx(ranked, abs=1e-12)


def test_help_ends_well(capsys):
    with pytest.raises(SystemExit) as ending:
        cli.main(["blend", "--help"])
    assert ending.value.code == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "--lower-is-better" in words
    assert "trec_eval" in words
    assert "in spreads of the blend, usually .05 to 2" in words
