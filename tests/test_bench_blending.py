"""The comparison of blends, ``python -m boostsoft bench --parts blend``, on a tiny set, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from boostsoft import Metric, cli
from boostsoft.bench import blending, run, settings
from boostsoft.bench.timing import Silent
from boostsoft.blending import SoftBlender
from boostsoft.statistics import paired_interval

from .bench_cases import Time, Told
from .refusals import bench_refuses

N_MODELS, N_QUERIES = 4, 12


def letor_text(part, seed=0):
    """Ranks that four rankers of different quality give to a dozen documents, some of them NULL."""
    rng = np.random.default_rng([seed, part])
    lines = []
    for query in range(N_QUERIES):
        y = rng.choice(3, 12, p=[0.6, 0.25, 0.15])
        for label, *scores in zip(
            y, *(y * quality + rng.normal(size=12) for quality in (0.2, 0.6, 1, 1.4)), strict=True
        ):
            ranks = " ".join(
                f"{j}:{'NULL' if rng.random() < 0.2 else round(9 - 2 * s)}" for j, s in enumerate(scores, 1)
            )
            lines.append(f"{label} qid:{100 * part + query} {ranks}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "TINY-agg"
    path.mkdir()
    for part in range(1, 6):
        (path / f"A{part}.txt").write_text(letor_text(part))
    return path


def small(draws=2, seeds=2, **changes):
    found = settings.quick(None, 2 * seeds, 3)
    return replace(found, evaluations=100, draws=draws, few_queries=20, blend_queries=None, **changes)


@pytest.fixture(scope="module")
def told():
    return Told()


@pytest.fixture(scope="module")
def sections(folder, told):
    return list(blending.measure_blending(folder, small(), told))


def row(section, method):
    return next(found for found in section.rows if found["method"] == method)


def test_every_method_has_a_row_in_both_tables(sections):
    assert [section.key for section in sections] == ["blend_tiny_agg", "blend_few_tiny_agg"]
    for section in sections:
        assert [found["method"] for found in section.rows] == list(blending.NAMES)
        for found in section.rows:
            assert 0.3 < found["ndcg"] < 1.0
            assert 0.2 < found["map"] < 1.0
            assert found["seconds"].median > 0
        assert row(section, "coordinate-ascent")["share"] == (1.0, 1.0, 1.0)
        assert [row(section, name)["evaluations"] for name in ("ltr-ga", "random", "rrf", "equal")] == [100, 100, 1, 1]
        assert row(section, "ltr-mga")["evaluations"] <= 100
        assert len(section.verdicts) == 2


def test_a_bar_counts_every_fit(sections, told):
    """Of five folds and two seeds, and of two draws."""
    assert told.steps == [5 * 2 * len(blending.NAMES), 2 * len(blending.NAMES)]
    assert len(told.texts) == sum(told.steps)


def test_each_query_is_tested_once_per_seed(folder, sections):
    """Equal weights need no training: their values are those of all parts."""
    parts = blending.read_blends(folder).parts
    values = {"ndcg": [], "map": []}
    for part in parts:
        blender = SoftBlender(method="equal", lower_is_better=True).fit(part.X, part.y, group=part.sizes)
        scores = blender.predict(part.X, group=part.sizes)
        for name, metric in (("ndcg", Metric("ndcg@10")), ("map", Metric("map"))):
            values[name] += metric.per_query(part.y, scores, group=part.sizes).tolist()
    for name, found in values.items():
        assert len(found) == 5 * N_QUERIES
        assert row(sections[0], "equal")[name] == pytest.approx(np.mean(found), abs=1e-12)


def test_a_fold_by_hand(folder, sections):
    """Fold 2, seed 4: parts 2, 3 and 4 train."""
    parts = blending.read_blends(folder).parts[1:4]
    X, y, sizes = (np.concatenate([getattr(part, name) for part in parts]) for name in ("X", "y", "sizes"))
    blender = SoftBlender("ndcg@10", method="random", lower_is_better=True, random_state=4,
                          method_params={"evaluations": 100}).fit(X, y, group=sizes)  # fmt: skip
    weights = row(sections[0], "random")["weights"]
    assert len(weights) == 2 * 5
    np.testing.assert_array_equal(weights[5 + 1], blender.weights_)


def test_differences_and_targets(sections):
    for section in sections:
        ours = row(section, "soft")
        for found in section.rows[1:]:
            for name in ("ndcg", "map"):
                mean, low, high = found[f"{name}_interval"]
                assert mean == pytest.approx(ours[name] - found[name], abs=1e-12)
                assert low <= mean <= high
                assert found[f"{name}_less"] == f"{mean:+.4f} [{low:+.4f}, {high:+.4f}]"
        best = max(section.rows[1:], key=lambda found: found["ndcg"])
        assert [bool(found.get("targets")) for found in section.rows] == [
            found is ours or found is best for found in section.rows
        ]
    least = {"blend_tiny_agg": -0.002, "blend_few_tiny_agg": 0.0}
    for section in sections:
        best = max(section.rows[1:], key=lambda found: found["ndcg"])
        assert best["targets"][0].met == (best["ndcg_interval"][1] >= least[section.key])
        ours = section.rows[0]
        assert ours["targets"][0].met == (ours["share"].median <= 0.05)


def test_spread_over_seeds_and_over_draws(sections):
    folds, few = sections
    found = row(folds, "random")
    assert len(found["seeds"]) == 2
    assert found["seeds_text"] == f"{np.std(found['seeds'], ddof=1):.4f}"
    assert np.mean(found["seeds"]) == pytest.approx(found["ndcg"])
    draws = np.array(row(few, "soft")["draws"]) - np.array(row(few, "equal")["draws"])
    mean, low, high = row(few, "equal")["draws_interval"]
    assert mean == pytest.approx(draws.mean())
    assert high - mean == pytest.approx(mean - low) == pytest.approx(12.7062 * draws.std(ddof=1) / np.sqrt(2), rel=1e-5)
    assert "draws_interval" not in row(few, "soft")
    shown = [{column.key: column.heading for column in section.columns} for section in sections]
    assert shown[1] == {**{key: shown[0][key] for key in shown[0] if key != "seeds_text"}, "draws_text": "over draws"}


def test_no_fold_tests_what_it_trains_on(folder, monkeypatch):
    seen = []

    def watched(method, train, test, lower, given, seed):
        seen.append((method, seed, {q // 100 for q in train.qid.tolist()}, {q // 100 for q in test.qid.tolist()}))
        values = {name: np.ones(test.n_queries) for name in blending.METRICS}
        return blending.Outcome(values, 1.0 if method == "soft" else 40.0, 1, np.ones(4))

    monkeypatch.setattr(blending, "_fit", watched)
    section = blending._folds(blending.read_blends(folder), small(), Silent())
    assert [found["targets"][0].met for found in section.rows[:2]] == [True, True]  # a fortieth; no worse than equal
    assert [found["share"].median for found in section.rows] == [1 / 40] + [1.0] * 6
    for method in blending.NAMES:
        for seed in (3, 4):
            parts = [(train, test) for name, at, train, test in seen if (name, at) == (method, seed)]
            assert parts == [({f, f % 5 + 1, (f + 1) % 5 + 1}, {(f + 3) % 5 + 1}) for f in range(1, 6)]


def test_a_fit_takes_as_long_as_it_does_without_its_test(folder, monkeypatch):
    time, blends = Time(), blending.read_blends(folder)

    class Blender(SoftBlender):
        def fit(self, *given, **named):
            time.go_by(7.0)
            return super().fit(*given, **named)

        def predict(self, *given, **named):
            time.go_by(100.0)
            return super().predict(*given, **named)

    monkeypatch.setattr(blending, "time", time)
    monkeypatch.setattr(blending, "SoftBlender", Blender)
    assert blending._fit("equal", *blends.parts[:2], blends.lower, small(), 0).seconds == 7.0


def test_few_queries_train_and_the_others_test(folder, monkeypatch):
    seen = []

    def watched(method, train, test, lower, given, seed):
        seen.append((set(train.qid.tolist()), set(test.qid.tolist()), seed))
        values = {name: np.full(test.n_queries, float(method in ("soft", "ltr-ga"))) for name in blending.METRICS}
        return blending.Outcome(values, 1.0, 1, np.ones(N_MODELS))

    monkeypatch.setattr(blending, "_fit", watched)
    blends = blending.read_blends(folder)
    section = blending._few(blends, small(draws=3), Silent())
    everybody = set(np.concatenate([part.qid for part in blends.parts]).tolist())
    for train, test, _ in seen:
        assert len(train) == 20
        assert train | test == everybody
        assert not train & test
    assert len({frozenset(train) for train, _, _ in seen}) == 3
    assert [seed for *_, seed in seen] == np.repeat([3, 4, 5], len(blending.NAMES)).tolist()
    assert row(section, "soft")["ndcg"] == 1.0
    assert row(section, "equal")["ndcg_interval"] == [1.0, 1.0, 1.0]
    assert paired_interval([1.0, 1.0], [0.0, 0.0]).low == 1.0
    assert [found.met for found in row(section, "ltr-ga")["targets"]] == [False]  # as good is no win
    seen.clear()
    blending._few(blends, replace(small(), few_queries=50), Silent())
    assert {(len(train), len(test)) for train, test, _ in seen} == {(30, 30)}  # no more than half


def test_the_command_writes_both_tables(folder, tmp_path, monkeypatch):
    tiny = small(draws=1, seeds=1)
    monkeypatch.setattr(settings, "quick", lambda *given: tiny)
    shown = []
    monkeypatch.setattr(run.Console, "print", lambda self, *things: shown.extend(map(str, things)))
    arguments = ["bench", "--quick", "--parts", "blend", "--data", str(folder), "--out", str(tmp_path / "out")]
    assert cli.main(arguments) == 0
    report = json.loads((tmp_path / "out" / "bench.json").read_text())
    assert [section["key"] for section in report["sections"]] == ["blend_tiny_agg", "blend_few_tiny_agg"]
    assert len(report["sections"][0]["rows"][0]["weights"][0]) == N_MODELS
    text = (tmp_path / "out" / "bench.md").read_text()
    assert "| reciprocal rank fusion |" in text
    assert "Peers: nobody." in text
    assert "blend: about" in shown[0]


BAD = {
    "no folder": (["--parts", "blend"], "--data: the part blend needs folders, and the others read files only"),
    "folder": (["--parts", "hard", "--data", "{folder}"], "--data: the part blend needs folders"),
    "no parts": (["--parts", "blend", "--data", "{empty}"], "must have A1.txt to A5.txt or S1.txt to S5.txt"),
    "four parts": (["--parts", "blend", "--data", "{four}"], "must have A1.txt to A5.txt or S1.txt to S5.txt"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD.keys())
def test_what_is_refused(folder, tmp_path, capsys, arguments, message):
    four = tmp_path / "four"
    four.mkdir()
    for part in range(1, 5):
        (four / f"A{part}.txt").write_text("1 qid:1 1:1\n")
    bench_refuses(arguments, message, capsys, tmp_path / "out", folder=folder, empty=tmp_path, four=four)


def test_scores_are_read_as_scores(tmp_path, folder):
    for part in range(1, 6):
        (tmp_path / f"S{part}.txt").write_bytes((folder / f"A{part}.txt").read_bytes())
    assert not blending.read_blends(tmp_path).lower
    assert blending.read_blends(folder).lower
    assert [part.n_queries for part in blending.read_blends(folder, 3).parts] == [3] * 5
    assert [part.n_queries for part in blending.read_blends(folder, 99).parts] == [N_QUERIES] * 5


def test_parts_of_a_sparse_file_are_made_equally_wide(tmp_path):
    for part in range(1, 6):
        last = "" if part == 2 else " 3:5"
        (tmp_path / f"S{part}.txt").write_text(f"1 qid:{part} 1:2 2:3\n0 qid:{part} 1:1{last}\n")
    parts = blending.read_blends(tmp_path).parts
    assert [part.X.shape for part in parts] == [(2, 3)] * 5
    assert parts[1].X.tolist() == [[2, 3, 0], [1, 0, 0]]


def test_topics_for_every_part_are_needed(tmp_path):
    def write(topics):
        for run_ in "ab":
            lines = [f"{q} Q0 d 1 1.0 {run_}\n" for q in range(topics)]
            (tmp_path / "runs" / f"{run_}.txt").write_text("".join(lines))
        (tmp_path / "qrels.txt").write_text("".join(f"{q} 0 d 1\n" for q in range(topics)))

    (tmp_path / "runs").mkdir()
    write(5)
    assert [part.n_queries for part in blending.read_blends(tmp_path).parts] == [1] * 5
    write(4)
    with pytest.raises(ValueError, match=r"--data: .*qrels\.txt and the runs must have 5 topics in common; got 4"):
        blending.read_blends(tmp_path)


def test_trec_runs_are_dealt_out_by_topic(tmp_path):
    """Of documents that some run has among its first hundred: ``far`` is 101st in the only run that found it."""
    runs = tmp_path / "robust" / "runs"
    runs.mkdir(parents=True)
    lines = {"a": [], "b": []}
    for topic in range(401, 412):
        lines["a"] += [f"{topic} Q0 d{rank} {rank} {-rank} a" for rank in range(1, 101)]
        lines["a"].append(f"{topic} Q0 far 101 -101 a")
        lines["b"] += [f"{topic} Q0 d{rank} 0 {1e9 * rank} b" for rank in (7, 2000)]
    for name, text in lines.items():
        (runs / name).write_text("\n".join(text) + "\n")
    qrels = [f"{topic} 0 {doc} 1" for topic in range(401, 412) for doc in ("d7", "d2000", "far", "nowhere")]
    (tmp_path / "robust" / "qrels.txt").write_text("\n".join(qrels) + "\n")
    blends = blending.read_blends(tmp_path / "robust")
    assert (blends.key, blends.lower) == ("robust", False)
    assert [part.n_queries for part in blends.parts] == [3, 2, 2, 2, 2]
    first = blends.parts[0]
    assert np.unique(first.qid).tolist() == [401, 406, 411]
    assert first.sizes.tolist() == [101] * 3
    assert first.y.sum() == 2 * 3
    here = first.X[first.qid == 406]
    assert sorted(here[~np.isnan(here[:, 1]), 1]) == [7e9, 2e12]
    assert np.nanmin(here[:, 0]) == -100
