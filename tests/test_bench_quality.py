"""``python -m boostsoft bench quality`` on tiny sets: the search, the tested runs, the report, the command."""

from __future__ import annotations

import hashlib
import io
import json
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from rich.console import Console
from sklearn.metrics import ndcg_score

from boostsoft import Metric, SoftMetric, cli
from boostsoft.bench import folds
from boostsoft.bench.quality import data, frozen, jobs, run, tasks, train_lightgbm, workers
from boostsoft.bench.quality.comparison import Comparison
from boostsoft.bench.quality.display import Display
from boostsoft.bench.quality.jobs import Job, Model
from boostsoft.bench.quality.methods import METHODS
from boostsoft.bench.quality.space import draw
from boostsoft.bench.quality.tasks import Place
from boostsoft.bench.quality.watch import HARD
from boostsoft.commands.experiment import concatenate
from boostsoft.ranker import SoftRanker
from boostsoft.statistics import paired_interval

from . import quality_cases
from .quality_cases import (
    N_DOCS,
    N_QUERIES,
    TINY,
    TREES,
    arrays,
    assert_same,
    options,
    records,
    results,
)  # fmt: skip

lgb = pytest.importorskip("lightgbm")
folder, split, small = quality_cases.folder, quality_cases.split, quality_cases.small  # fixtures


@pytest.fixture(scope="module")
def done(folder, tmp_path_factory):
    """The folder of a run that nothing interrupted."""
    out = tmp_path_factory.mktemp("done") / "out"
    run.run_quality(options(folder, out, methods=(*TINY, "xgb-ndcg", "soft-xgboost")))
    return out


def test_every_run_is_recorded_once(done):
    lines = [json.loads(line)["key"] for line in (done / "runs.jsonl").read_text().splitlines()]
    methods = ("soft-lightgbm", "soft-xgboost", "lambdarank", "xgb-ndcg")
    assert sorted(lines) == sorted(
        f"{kind}/TINY/{fold}/{method}/{number}"
        for fold in (1, 2)
        for method in methods
        for kind, count in (("tune", 3), ("test", 2))
        for number in range(count)
    )
    assert len(list((done / "runs").iterdir())) == 2 * 4 * 2


def test_two_runs_of_each_method_come_first(done):
    keys, methods = list(records(done)), ("soft-lightgbm", "soft-xgboost", "lambdarank", "xgb-ndcg")
    for number in (0, 1):
        assert set(keys[4 * number :][:4]) == {f"tune/TINY/1/{method}/{number}" for method in methods}


def test_what_is_left_is_estimated_from_second_runs(folder, split, tmp_path, monkeypatch, capsys):
    """The first ones compile, and stop early: here a run of TINY takes a minute, of SPLIT two, the first ones hours."""
    done = []

    def timed(task):
        done.append(task.key)
        seconds = 9999.0 if task.number == 0 else {"TINY": 60.0, "SPLIT": 120.0}[task.place.data]
        record = {"key": task.key, "setting": {"trees": {}, "own": {}}, "valid": 0.5, "judged": 0.5, "trees": 3}
        return tasks.Outcome(task, {**record, "seconds": seconds}, None)

    monkeypatch.setattr(workers, "run_task", timed)
    given = replace(options(folder, tmp_path / "out", trials=5, folds=1, tune_only=True), data=(folder, split))
    run.run_quality(given)
    assert "tuning: 12 runs are left, about 18 minutes on 1 x " in capsys.readouterr().out
    assert [key.split("/")[1] for key in done[:8]] == ["TINY"] * 4 + ["SPLIT"] * 4  # each read once


def test_the_chosen_setting_is_the_best_on_valid(done):
    found, log = json.loads((done / "settings.json").read_text())["settings"], records(done)
    for method, of_data in found.items():
        for fold, chosen in of_data["TINY"].items():
            trials = [log[f"tune/TINY/{fold}/{method}/{number}"] for number in range(3)]
            best = max(range(3), key=lambda number: trials[number]["judged"])
            assert chosen["trial"] == best
            for name in ("valid", "judged", "setting"):
                assert chosen[name] == trials[best][name]
            for seed in range(2):
                assert log[f"test/TINY/{fold}/{method}/{seed}"]["setting"] == chosen["setting"]
    assert len({chosen["trial"] for of_data in found.values() for chosen in of_data["TINY"].values()}) > 1


def test_the_first_of_equal_trials_is_chosen():
    place = Place("TINY", 1, "lambdarank")
    trials = [tasks.Task("tune", place, number, None, [{}], 1, 1, 1) for number in (2, 0, 1)]
    values = {"0": 0.4, "1": 0.5, "2": 0.5}
    log = {t.key: {"valid": 0.3, "judged": values[t.key[-1]], "setting": {"at": t.number}, "trees": 3} for t in trials}
    chosen = {"trial": 1, "setting": {"at": 1}, "valid": 0.3, "judged": 0.5, "trees": 3}
    assert frozen.choose(log, trials, 1)[place] == chosen


def test_the_next_best_are_chosen_in_order():
    place = Place("TINY", 1, "lambdarank")
    trials = [tasks.Task("tune", place, number, None, [{}], 1, 1, 1) for number in range(5)]
    values = (0.4, 0.5, None, 0.6, 0.5)
    log = {
        task.key: {"failed": "no"}
        if value is None
        else {"valid": 0.3, "judged": value, "setting": {"at": task.number}, "trees": 3}
        for task, value in zip(trials, values, strict=True)
    }
    best = frozen.choose(log, trials, 3)[place]
    assert [entry["trial"] for entry in (best, *best["next"])] == [3, 1, 4]
    assert best["next"][0] == {"trial": 1, "setting": {"at": 1}, "valid": 0.3, "judged": 0.5, "trees": 3}
    assert len(frozen.choose(log, trials, 4)[place]["next"]) == 3
    with pytest.raises(ValueError, match="failed in all but 4 trials, of which --average 5 needs more, on TINY, fold"):
        frozen.choose(log, trials, 5)


def test_the_mean_of_the_best(split, tmp_path):
    """Three models trained by hand, their scores in units of their spread on the validation part, added up."""
    out = tmp_path / "out"
    run.run_quality(options(split, out, methods=("lambdarank",), average=3, seeds=1))
    chosen = json.loads((out / "settings.json").read_text())["settings"]["lambdarank"]["SPLIT"]["1"]
    entries, log = [chosen, *chosen["next"]], records(out)
    assert sorted(entry["trial"] for entry in entries) == [0, 1, 2]
    assert [entry["valid"] for entry in entries] == sorted((entry["valid"] for entry in entries), reverse=True)
    record = log["test/SPLIT/1/lambdarank/0"]
    assert [record["setting"], *record["next"]] == [entry["setting"] for entry in entries]
    train, valid, test = (data.load_letor(split / f"{part}.txt") for part in ("train", "vali", "test"))
    train = train.select_queries(np.random.default_rng([0, 1, 1_000_003]).permutation(train.n_queries))
    plain = {"objective": "lambdarank", "deterministic": True, "force_row_wise": True, "seed": 0, "verbosity": -1}
    mean, trees = np.zeros(test.n_docs), 0
    for entry in entries:
        parameters = {**plain, **entry["setting"]["trees"], **entry["setting"]["own"], "feature_pre_filter": False}
        model = lgb.train(parameters, lgb.Dataset(train.X, train.y, group=train.sizes), TREES)
        after = [model.predict(valid.X, num_iteration=n) for n in range(1, TREES + 1)]
        kept = 1 + int(np.argmax([HARD(valid.y, scores, group=valid.sizes) for scores in after]))
        centred = [scores - scores.mean() for scores in np.split(after[kept - 1], N_QUERIES)]
        mean += model.predict(test.X, num_iteration=kept) / (np.std(centred) or 1.0)
        trees += kept
    assert record["trees"] == trees
    values = arrays(out)["SPLIT-fold1-lambdarank-seed0/ndcg@10"]
    np.testing.assert_allclose(values, HARD.per_query(test.y, mean, group=test.sizes), atol=1e-12)
    text = (out / "bench-quality.md").read_text()
    assert "The 3 best of each fold were then trained with 1 seeds" in text
    assert "The best of each fold" not in text


def test_a_model_that_says_nothing_does_not_spoil_the_mean(split):
    valid = data.load_letor(split / "vali.txt")
    scores = jobs.mean_model([Model(2, lambda X: X[:, 0]), Model(1, lambda X: np.full(len(X), 7.0))], valid)
    assert scores.trees == 3
    np.testing.assert_array_equal(np.argsort(scores.predict(valid.X)), np.argsort(valid.X[:, 0]))


def test_every_run_has_the_trees_and_the_patience_of_the_comparison(folder, tmp_path):
    given = options(folder, tmp_path, methods=("lambdarank",), trees=70, patience=11, jobs=10**6)
    comparison = Comparison(given, data.find_sets(given.data), given.methods)
    assert {(task.trees, task.patience, task.threads) for task in comparison.trials()} == {(70, 11, 1)}


def test_trial_0_is_stock_and_the_others_are_drawn(done):
    for key, record in records(done).items():
        kind, _, fold, method, number = key.split("/")
        if kind == "tune":
            drawn = METHODS[method].setting(draw(0, int(fold), int(number)))
            assert record["setting"] == (METHODS[method].stock() if number == "0" else drawn)


def test_seeds_and_orders_of_queries(split, tmp_path, monkeypatch):
    """The search trains in the order of the file with seed 0, each tested run with a seed and an order of its own."""
    seen = []

    def watching(real):
        def watched(job):
            seen.append((job.method.id, job.seed, tuple(job.train.qid[::N_DOCS].tolist()), job.train.y.sum()))
            return real(job)

        return watched

    for name in ("SoftRanker", "lightgbm"):
        monkeypatch.setitem(tasks.TRAINERS, name, watching(tasks.TRAINERS[name]))
    run.run_quality(options(split, tmp_path / "out", trials=1, seed=4))
    as_read = tuple(range(100, 100 + N_QUERIES))
    assert [entry[:3] for entry in seen[:2]] == [("soft-lightgbm", 0, as_read), ("lambdarank", 0, as_read)]
    tested = {entry[:2]: entry[2] for entry in seen[2:]}
    assert tested.keys() == {(method, seed) for method in TINY for seed in (4, 5)}
    orders = {seed: {tested[method, seed] for method in TINY} for seed in (4, 5)}
    assert [len(found) for found in orders.values()] == [1, 1]
    assert len({as_read, *orders[4], *orders[5]}) == 3
    assert all(sorted(order) == list(as_read) for order in tested.values())
    assert len({entry[3] for entry in seen}) == 1


def test_each_fold_has_orders_of_its_own(folder):
    first, second = folds.find_folds(folder)[:2]
    orders = [data.reordered(fold, 3).qid[::N_DOCS].tolist() for fold in (first, second)]
    places = [sorted(order).index for order in orders]
    one, other = ([place(qid) for qid in order] for place, order in zip(places, orders, strict=True))
    assert one != other


def test_values_per_query_are_those_of_a_plain_refit(done, folder):
    """Fold 2, seed 1 of lambdarank: parts 2, 3 and 4 train, their queries in the seed's order, part 1 tests."""
    record = records(done)["test/TINY/2/lambdarank/1"]
    train = concatenate([data.load_letor(folder / f"S{part}.txt") for part in (2, 3, 4)])
    train = train.select_queries(np.random.default_rng([1, 2, 1_000_003]).permutation(train.n_queries))
    test = data.load_letor(folder / "S1.txt")
    plain = {"objective": "lambdarank", "deterministic": True, "force_row_wise": True, "seed": 1, "verbosity": -1}
    parameters = {**plain, **record["setting"]["trees"], **record["setting"]["own"], "feature_pre_filter": False}
    model = lgb.train(parameters, lgb.Dataset(train.X, train.y, group=train.sizes), record["trees"])
    scores = np.split(model.predict(test.X), N_QUERIES)
    with np.load(done / "runs" / "TINY-fold2-lambdarank-seed1.npz") as found:
        values = dict(found)
    assert set(values) == {"ndcg@1", "ndcg@5", "ndcg@10", "map", "err@10"}
    for k in (1, 5, 10):
        for labels, score, value in zip(np.split(test.y, N_QUERIES), scores, values[f"ndcg@{k}"], strict=True):
            if labels.max() > 0:
                assert value == pytest.approx(ndcg_score([2**labels - 1], [score], k=k), abs=1e-12)
            else:
                assert np.isnan(value)
    assert np.isnan(values["map"]).tolist() == [True] + [False] * (N_QUERIES - 1)
    err = Metric("err@10", empty="skip", max_label=2).per_query(test.y, np.concatenate(scores), group=test.sizes)
    np.testing.assert_allclose(values["err@10"], err, atol=1e-12)


def test_err_takes_the_highest_label_with_its_fraction(split, monkeypatch):
    """2.75 in the test part: chances of (2^2.75 - 1) / 2^2 would be above 1."""
    (split / "test.txt").write_text("2.75 qid:900 1:2\n0 qid:900 1:1\n")
    monkeypatch.setitem(tasks.TRAINERS, "lightgbm", lambda job: Model(1, lambda X: X[:, 0]))
    files = folds.find_folds(split)[0]
    outcome = tasks.run_task(tasks.Task("test", Place("SPLIT", 1, "lambdarank"), 0, files, [{}], 1, 1, 1))
    assert outcome.values["err@10"].tolist() == pytest.approx([(2**2.75 - 1) / 2**2.75])


def test_the_report(done, folder):
    report = json.loads((done / "bench-quality.json").read_text())
    assert [found["key"] for found in report["sections"]] == ["quality_TINY", "in_lightgbm", "in_xgboost"]
    rows = {row["method"]: row for row in report["sections"][0]["rows"]}
    values = arrays(done)
    for method, row in rows.items():
        by_seed = [
            np.nanmean(np.concatenate([values[f"TINY-fold{fold}-{method}-seed{seed}/ndcg@10"] for fold in (1, 2)]))
            for seed in (0, 1)
        ]
        assert row["seeds"] == pytest.approx(by_seed)
        assert row["ndcg@10"] == pytest.approx(np.mean(by_seed))
        assert row["seeds_text"] == f"{np.std(by_seed, ddof=1):.4f}"
    means = {
        method: np.concatenate(
            [
                np.mean([values[f"TINY-fold{fold}-{method}-seed{seed}/ndcg@10"] for seed in (0, 1)], axis=0)
                for fold in (1, 2)
            ]
        )
        for method in rows
    }
    interval = paired_interval(means["soft-lightgbm"], means["lambdarank"])
    assert rows["lambdarank"]["less_interval"] == pytest.approx([interval.mean, interval.low, interval.high])
    assert rows["soft-lightgbm"]["to_lambdarank_interval"] == rows["lambdarank"]["less_interval"]
    text = (done / "bench-quality.md").read_text()
    settings = (done / "settings.json").read_bytes()
    assert hashlib.sha256(settings).hexdigest() == report["settings"]["settings_sha256"]
    assert report["settings"]["settings_sha256"] in text
    assert "14 of 16 have something relevant" in text
    for line in ("| LightGBM lambdarank |", "## In LightGBM", "## In XGBoost", "NDCG@10 >= best other's: "):
        assert line in text
    assert {line.count("|") for line in text.splitlines() if line.startswith("| ")} == {12, 7}
    assert str(folder.parent) not in text + json.dumps(report)
    with Image.open(done / "bench-quality.png") as image:
        shades = np.asarray(image.convert("L"))
    assert shades.min() < 100
    assert np.mean(shades == 255) > 0.5


def test_processes_give_what_one_gives(small, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    run.run_quality(options(folder, tmp_path / "out", jobs=2, trees=TREES))
    assert results(tmp_path / "out").keys() == results(small).keys()
    assert_same(arrays(tmp_path / "out"), arrays(small))
    assert (tmp_path / "out" / "settings.json").read_bytes() == (small / "settings.json").read_bytes()
    assert "OMP_NUM_THREADS" not in workers.os.environ


def test_the_others_stop_and_are_chosen_by_the_hard_metric(done, folder):
    train, valid = data.training_data(folds.find_folds(folder)[0])
    kept = set()
    for number in range(3):
        record = records(done)[f"tune/TINY/1/lambdarank/{number}"]
        job = Job(METHODS["lambdarank"], record["setting"], train, valid, 0, TREES, 60, record["threads"])
        model = lgb.train(train_lightgbm.parameters(job), lgb.Dataset(train.X, train.y, group=train.sizes), TREES)
        scores = [model.predict(valid.X, num_iteration=n, raw_score=True) for n in range(1, TREES + 1)]
        values = [HARD(valid.y, score, group=valid.sizes) for score in scores]
        assert record["trees"] == 1 + np.argmax(values)
        assert record["valid"] == record["judged"] == pytest.approx(values[record["trees"] - 1], abs=1e-12)
        kept.add(record["trees"])
    assert kept != {TREES}


@pytest.mark.parametrize("method", ["soft-lightgbm", "soft-xgboost"])
def test_ours_stops_and_is_chosen_by_what_the_ranker_watches(done, folder, method):
    train, valid = data.training_data(folds.find_folds(folder)[0])
    for number in range(3):
        record = records(done)[f"tune/TINY/1/{method}/{number}"]
        ranker = SoftRanker(
            METHODS[method].library,
            n_estimators=TREES,
            early_stopping_rounds=60,
            n_jobs=record["threads"],
            **record["setting"]["trees"],
            **record["setting"]["own"],
        ).fit(train.X, train.y, group=train.sizes, eval_set=[(valid.X, valid.y)], eval_group=[valid.sizes])
        assert ranker.n_boosters_ > 1
        assert record["trees"] == ranker.best_iteration_
        scores = ranker.predict(valid.X)
        assert record["valid"] == pytest.approx(HARD(valid.y, scores, group=valid.sizes), abs=1e-12)
        watched = [
            SoftMetric(Metric(name, empty="skip"), noise="gumbel", sigma=0.2, sigma_unit="spread")
            for name in ("ndcg@10", "kendall")
        ]
        by_hand = sum(metric(valid.y, scores, group=valid.sizes) for metric in watched)
        assert record["judged"] == pytest.approx(by_hand, abs=1e-12)


# ---------------------------------------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------------------------------------


def test_the_command_reads_its_options(folder, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(run, "run_quality", seen.append)
    monkeypatch.chdir(tmp_path)
    base = ["bench", "quality", "--data", str(folder)]
    assert cli.main(base) == 0
    assert (
        cli.main(
            [*base, "--quick", "--trees", "7", "--trials", "9", "--methods", "xendcg,lambdarank,xendcg", "--seed", "3"]
        )
        == 0
    )
    assert cli.main([*base, "--settings", "x.json", "--jobs", "2", "--seeds", "4", "--out", "o"]) == 0
    assert cli.main([*base, "--average", "20"]) == 0
    assert cli.main([*base, "--average", "21", "--settings", "x.json"]) == 0
    full, quick, other = seen[:3]
    assert [given.average for given in seen] == [1, 1, 1, 20, 21]
    assert (full.trials, full.seeds, full.trees, full.folds, full.patience, full.jobs) == (20, 5, 500, None, 60, 1)
    assert full.methods == tuple(METHODS)
    assert full.out.name == "boostsoft-quality"
    assert (quick.trials, quick.seeds, quick.trees, quick.folds, quick.seed) == (9, 1, 7, 2, 3)
    assert quick.methods == ("lambdarank", "xendcg")
    assert (other.settings.name, other.jobs, other.seeds, other.out.name) == ("x.json", 2, 4, "o")


def test_the_estimate_of_a_search_counts_its_tests_models_and_processes(folder, tmp_path, monkeypatch, capsys):
    """Six trials of a minute and four tests of three models each, in two processes: 9 minutes."""

    def timed(task):
        if task.kind == "test":
            raise KeyboardInterrupt
        record = {"key": task.key, "setting": {"trees": {}, "own": {}}, "valid": 0.5, "judged": 0.5, "trees": 3}
        return tasks.Outcome(task, {**record, "seconds": 60.0}, None)

    monkeypatch.setattr(run, "workers", lambda jobs: nullcontext(lambda given: map(timed, given)))
    with pytest.raises(KeyboardInterrupt):
        run.run_quality(options(folder, tmp_path / "out", trials=5, folds=1, average=3, jobs=2))
    assert "tuning: 10 runs are left, about 9 minutes on 2 x " in capsys.readouterr().out


def test_a_bar_counts_what_is_done(tmp_path):
    """From the log, then run by run."""
    trials = [tasks.Task("tune", Place("TINY", 1, "lambdarank"), i, None, [{}], 1, 1, 1) for i in range(3)]
    record = {"valid": 0.5, "seconds": 1.0}
    shown = Display(Console(file=io.StringIO()), "tuning", trials, {trials[0].key: record})
    [bar] = shown._progress.tasks
    assert (bar.completed, bar.total) == (1, 3)
    shown.done(trials[1], record)
    assert (bar.completed, bar.fields["now"]) == (2, "TINY, fold 1, LightGBM lambdarank")


def test_processes_share_the_threads(monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    wanted = {"NUMBA_NUM_THREADS": "3", "OMP_NUM_THREADS": "3", "OMP_WAIT_POLICY": "passive"}
    assert workers._settings(3) == wanted
    assert workers.threads_per_job(1_000_000) == 1


def test_quick_runs_from_the_command(folder, tmp_path, capsys):
    arguments = ["bench", "quality", "--quick", "--data", str(folder), "--trees", "3", "--out", str(tmp_path / "out")]
    assert cli.main([*arguments, "--methods", "lambdarank,xendcg"]) == 0
    shown = capsys.readouterr()
    assert "tuning: 8 runs are left, about a minute on 1 x " in shown.out
    assert "No target was measured." in shown.out
    assert "tuning: TINY, fold 2, LightGBM lambdarank: best NDCG@10 on valid 0." in shown.err
    assert (tmp_path / "out" / "bench-quality.png").is_file()


def test_the_runs_that_are_left_are_counted_as_they_are_logged(folder, tmp_path, capsys):
    given = options(folder, tmp_path / "out", methods=("lambdarank",), average=2)
    run.run_quality(given)
    shown, done = capsys.readouterr().out, len(records(tmp_path / "out"))
    assert f"tuning: {done - 2} runs are left" in shown  # however many models each is
    assert "testing: 2 runs are left" in shown


def test_every_tested_run_pays_for_its_bins(split, tmp_path, monkeypatch):
    binned, real = [], lgb.Dataset.construct
    monkeypatch.setattr(lgb.Dataset, "construct", lambda self: binned.append(self._handle is None) or real(self))
    given = options(split, tmp_path / "out", methods=("lambdarank", "xendcg", "xendcg-random"), trials=1, seeds=1)
    found, train = {}, tasks.TRAINERS["lightgbm"]  # a trial, then the tested run

    def counted(job):
        binned.clear()
        model = train(job)
        found.setdefault(job.method.id, []).append(any(binned))
        return model

    monkeypatch.setitem(tasks.TRAINERS, "lightgbm", counted)
    run.run_quality(given)
    assert [tested for _, tested in found.values()] == [True, True, True]


def test_no_estimate_where_nothing_is_left(folder, tmp_path, capsys):
    run.run_quality(options(folder, tmp_path / "out", trials=1, seeds=1, folds=1))
    shown = capsys.readouterr().out
    assert "tuning: 2 runs are left" in shown
    assert "testing: " not in shown
