"""``python -m boostsoft bench defaults`` on a tiny set: the draws, the fits, the report, what is refused."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from rich.console import Console
from sklearn.metrics import ndcg_score

from boostsoft import cli
from boostsoft.bench import peers
from boostsoft.bench.defaults import draws, rankers
from boostsoft.bench.defaults import run as defaults_run
from boostsoft.bench.defaults.measured import TESTED, Run
from boostsoft.bench.defaults.options import Options
from boostsoft.bench.defaults.rankers import RANKERS, Job
from boostsoft.bench.defaults.report import section_of, to
from boostsoft.bench.differences import differences_figure
from boostsoft.bench.results import Section
from boostsoft.bench.tables import section_table
from boostsoft.commands.terminal import silent_errors
from boostsoft.drawing import BLUE, GREY
from boostsoft.statistics import paired_interval

from . import quality_cases
from .bench_cases import Time
from .quality_cases import N_DOCS, N_QUERIES, letor_text
from .refusals import bench_refuses

lgb = pytest.importorskip("lightgbm")
folder = quality_cases.folder  # fixture
ALL = "soft-lightgbm,soft-xgboost,lambdarank,xendcg,xgb-ndcg"


def run(arguments, out):
    assert cli.main(["bench", "defaults", *map(str, arguments), "--out", str(out)]) == 0
    return json.loads((out / "bench-defaults.json").read_text())["sections"]


@pytest.fixture(scope="module")
def done(folder, tmp_path_factory):
    """The folder of a run of three draws."""
    out = tmp_path_factory.mktemp("defaults") / "out"
    run(["--data", folder, "--draws", 3, "--trees", 5, "--seed", 7, "--methods", ALL], out)
    return out


@pytest.fixture(scope="module")
def rows(done):
    (section,) = json.loads((done / "bench-defaults.json").read_text())["sections"]
    return {row["method"]: row for row in section["rows"]}


def the_draws(folder, seeds):
    (found,) = draws.data_sets([folder], None)
    return [found.draw(seed) for seed in seeds]


# The draws


def test_a_draw_cuts_the_queries_in_three(folder):
    first, again, other = the_draws(folder, (0, 0, 1))
    ids = [set(part.qid.tolist()) for part in (first.train, first.valid, first.test)]
    assert [len(found) for found in ids] == [24, 8, 8]
    assert len(set.union(*ids)) == 5 * N_QUERIES
    np.testing.assert_array_equal(first.train.qid, again.train.qid)
    assert set(first.test.qid.tolist()) != set(other.test.qid.tolist())
    numbers = {}
    for draw in (first, other):  # one number for a query of the set, whatever the draw
        for number, qid in zip(draw.tested.tolist(), draw.test.qid[::N_DOCS].tolist(), strict=True):
            assert numbers.setdefault(number, qid) == qid


def test_documents_to_stop_by_are_in_an_order_of_chance(tmp_path):
    """Where they come by label, the boosters' own NDCG of tied scores is best before the first tree."""
    lines = [f"{(doc < 2) * 1} qid:{query} 1:{doc} 2:{query}" for query in range(30) for doc in range(8)]
    (tmp_path / "all.txt").write_text("\n".join(lines) + "\n")
    (found,) = draws.data_sets([tmp_path], None)
    draw, again = found.draw(0), found.draw(0)
    assert (draw.train.y.reshape(-1, 8)[:, :2] == 1).all()
    placed = draw.valid.y.reshape(-1, 8)
    assert (placed.sum(axis=1) == 2).all()
    assert not (placed[:, :2] == 1).all()
    np.testing.assert_array_equal(draw.valid.y == 1, draw.valid.X[:, 0] < 2)
    np.testing.assert_array_equal(draw.valid.qid, draw.valid.X[:, 1])
    np.testing.assert_array_equal(draw.valid.X, again.valid.X)


def test_so_many_documents_to_train_on(folder):
    (found,) = draws.data_sets([folder], 5 * N_DOCS + 1)
    draw, whole = found.draw(0), the_draws(folder, [0])[0]
    np.testing.assert_array_equal(draw.train.qid, whole.train.qid[: 5 * N_DOCS])
    np.testing.assert_array_equal(draw.test.qid, whole.test.qid)
    (found,) = draws.data_sets([folder], 5 * N_DOCS)
    assert found.draw(0).train.n_docs == 5 * N_DOCS
    (found,) = draws.data_sets([folder], 1)
    assert found.draw(0).train.n_queries == 1


def test_files_are_one_set_together_and_folders_each_their_own(folder, tmp_path):
    found = list(draws.data_sets([folder / "S1.txt", folder, folder / "S2.txt"], None))
    assert [one.name for one in found] == ["TINY", "S1.txt, S2.txt"]
    assert {id // 100 for id in np.concatenate([found[1].draw(0).train.qid, found[1].draw(0).test.qid])} == {1, 2}


def test_a_folder_without_parts_is_all_of_its_files(tmp_path):
    for part in (1, 2, 3):
        (tmp_path / f"A{part}.txt").write_text(letor_text(part))
    (tmp_path / "notes.md").write_text("no data")
    (found,) = draws.data_sets([tmp_path], None)
    assert found.read == f"Read: A1.txt, A2.txt, A3.txt; {3 * N_QUERIES} queries, {3 * N_QUERIES * N_DOCS} documents."
    draw = found.draw(0)
    assert sum(part.n_queries for part in (draw.train, draw.valid, draw.test)) == 3 * N_QUERIES


@pytest.mark.parametrize("name", ["S4.txt", "train.txt", "Fold2"])  # vali.txt is not missed: a draw makes its own
def test_a_folder_that_lacks_a_part_is_not_read_without_it(tmp_path, name):
    (tmp_path / "A1.txt").write_text(letor_text(1))
    (tmp_path / name).mkdir() if name == "Fold2" else (tmp_path / name).write_text(letor_text(2))
    known = r"S1.txt to S5.*, or train.txt and test.txt;|Fold1 to Fold2|train and test \("
    with pytest.raises(ValueError, match=f"must have ({known})"):
        draws.data_sets([tmp_path], None)


def test_train_and_test_alone_are_a_set_for_a_draw_makes_parts_of_its_own(tmp_path):
    for part, name in enumerate(("train", "test", "more"), 1):
        (tmp_path / f"{name}.txt").write_text(letor_text(part))
    (found,) = draws.data_sets([tmp_path], None)
    assert found.read == f"Read: train.txt, test.txt; {2 * N_QUERIES} queries, {2 * N_QUERIES * N_DOCS} documents."


def test_folders_are_looked_into_before_a_fit(folder, tmp_path):
    with pytest.raises(ValueError, match=r"must have S1.txt to S5.txt"):
        draws.data_sets([folder, tmp_path], None)


def test_digits_where_no_data_is_given():
    (found,) = draws.data_sets([], 1200)
    one, other = found.draw(0), found.draw(1)
    assert found.name == "digits"
    assert one.train.n_queries == 20
    assert 1000 < one.train.n_docs < 1400
    for draw in (one, other):  # an image is one query to both, whatever documents it is given
        assert draw.tested.tolist() == list(dict.fromkeys(draw.test.qid.tolist()))
    assert set(one.tested.tolist()) & set(other.tested.tolist())
    assert not np.array_equal(one.test.X[:10], other.test.X[:10])


# What is measured


def ndcg_by_scikit_learn(test, scores):
    """NDCG@10 of each query, of gains 2^label - 1; NaN where nothing is relevant."""
    ends = np.cumsum(test.sizes)[:-1]
    pairs = zip(np.split(2.0**test.y - 1.0, ends), np.split(scores, ends), strict=True)
    return np.array([ndcg_score([gains], [s], k=10) if gains.any() else np.nan for gains, s in pairs])


def test_values_are_those_of_the_library_itself(folder, rows):
    seeds = (7, 8, 9)
    given = {"lambdarank": "lambdarank", "xendcg": "rank_xendcg"}
    values = {method: {} for method in given}
    for seed, draw in zip(seeds, the_draws(folder, seeds), strict=True):
        means = {}
        for method, objective in given.items():
            ranker = lgb.LGBMRanker(objective=objective, n_estimators=5, random_state=seed, verbose=-1)
            ranker.fit(draw.train.X, draw.train.y, group=draw.train.sizes)
            found = ndcg_by_scikit_learn(draw.test, ranker.predict(draw.test.X))
            means[method] = np.nanmean(found)
            for qid, value in zip(draw.test.qid[::N_DOCS].tolist(), found, strict=True):
                values[method].setdefault(qid, []).append(value)
        for method, mean in means.items():
            assert rows[method]["draws"][seed - 7] == pytest.approx(mean, abs=1e-12)
    by_query = {method: {qid: np.mean(found) for qid, found in of.items()} for method, of in values.items()}
    for method, of in by_query.items():
        assert rows[method]["ndcg@10"] == pytest.approx(np.nanmean(list(of.values())), abs=1e-12)
    mean, low, high = rows["xendcg"]["to_lambdarank_interval"]
    wanted = [by_query["xendcg"][qid] - by_query["lambdarank"][qid] for qid in by_query["xendcg"]]
    assert mean == pytest.approx(np.nanmean(wanted), abs=1e-12)
    spread = paired_interval(wanted, np.zeros(len(wanted)) * np.array(wanted))
    assert (low, high) == pytest.approx((spread.low, spread.high), abs=0.1 * (spread.high - spread.low))


def test_every_ranker_has_its_row_and_is_held_against_both(rows):
    assert list(rows) == ALL.split(",")
    assert {method for method, row in rows.items() if row["ours"]} == {"soft-lightgbm", "soft-xgboost"}
    for base in ("lambdarank", "xgb-ndcg"):
        assert {method for method, row in rows.items() if f"to_{base}_interval" not in row} == {base}
    assert rows["lambdarank"]["to_xgb-ndcg_interval"][0] == pytest.approx(
        -rows["xgb-ndcg"]["to_lambdarank_interval"][0], abs=1e-15
    )
    for row in rows.values():
        assert len(row["draws"]) == 3
        assert 0.2 < row["ndcg@1"] < row["ndcg@10"] < 1


@pytest.mark.parametrize("method", RANKERS)
def test_the_validation_part_stops_every_ranker_in_silence(method, capfd):
    pytest.importorskip(RANKERS[method].library)
    (found,) = draws.data_sets([], 600)
    draw = found.draw(0)
    draw = replace(draw, valid=draw.valid.select_queries(np.arange(draw.valid.n_queries) < 40))
    stopped = RANKERS[method].fit(Job(draw, 0, 400, stop=True))
    best = getattr(stopped, "best_iteration_", None) or getattr(stopped, "best_iteration", None)
    assert 0 < best < 400
    assert stopped.predict(draw.test.X).std() > 0
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("method", "seed_of"),
    [
        ("lambdarank", lambda fitted: fitted.params["seed"]),
        ("xgb-ndcg", lambda fitted: fitted.random_state),
        ("catboost", lambda fitted: fitted.get_param("random_seed")),
    ],
)
def test_the_others_have_the_seed_of_the_draw_and_stop_by_ndcg_at_10(folder, method, seed_of):
    pytest.importorskip(RANKERS[method].library)
    fitted = RANKERS[method].fit(Job(the_draws(folder, [0])[0], 3, 4, stop=True))
    assert seed_of(fitted) == 3
    watched = {"lambdarank": "best_score", "xgb-ndcg": "evals_result_"}.get(method)
    if watched:  # CatBoost's own choice is its default
        assert [list(of) for of in getattr(fitted, watched).values()] == [["ndcg@10"]]


def test_trees_and_draws_where_none_are_given(monkeypatch):
    seen = []
    monkeypatch.setattr("boostsoft.bench.defaults.run.run_defaults", seen.append)
    for more in ([], ["--stop"], ["--quick"], ["--quick", "--stop"], ["--quick", "--trees", "7", "--draws", "3"]):
        assert cli.main(["bench", "defaults", *more]) == 0
    assert [(found.trees, found.draws) for found in seen] == [(100, 4), (800, 4), (20, 1), (20, 1), (7, 3)]


def test_ours_is_the_ranker_by_default(folder, monkeypatch):
    made = []

    class Watched(rankers.SoftRanker):
        def fit(self, *arrays, **options):
            made.append((self.get_params(), sorted(options)))
            return super().fit(*arrays, **options)

    monkeypatch.setattr(rankers, "SoftRanker", Watched)
    draw = the_draws(folder, [0])[0]
    for stop in (False, True):
        RANKERS["soft-xgboost"].fit(Job(draw, 3, 6, stop=stop))
    stock = rankers.SoftRanker.__bases__[0]().get_params()
    changed = [{name: value for name, value in given.items() if value != stock[name]} for given, _ in made]
    own = {"booster": "xgboost", "n_estimators": 6, "random_state": 3, "progress": False}
    assert changed == [own, {**own, "early_stopping_rounds": 50}]
    assert [names for _, names in made] == [["group"], ["eval_group", "eval_set", "group"]]


# The report


def test_the_files_and_the_page(done, rows):
    assert {path.name for path in done.iterdir()} == {"bench-defaults.json", "bench-defaults.md", "bench-defaults.png"}
    with Image.open(done / "bench-defaults.png") as image:
        assert image.width > image.height > 300
    text = (done / "bench-defaults.md").read_text()
    files = "S1.txt, S2.txt, S3.txt, S4.txt, S5.txt"
    assert f"Read: {files}; {5 * N_QUERIES} queries, {5 * N_QUERIES * N_DOCS} documents. Draws" in text
    assert "Draws of queries: 3. Trained on 288 documents in the mean, 5 trees" in text
    for row in rows.values():
        assert f"| {row['name']} | {row['ndcg@1']:.4f} | " in text


def section_with(*draws, methods=("lambdarank", "xendcg", "xgb-ndcg")):
    """The table of rankers that all have these values of two queries, by draw."""
    runs = [Run(np.arange(2), dict.fromkeys(TESTED, np.array(values)), 9, 0.1) for values in draws]
    options = Options((), Path(), methods, len(draws), 0, None, 5, False)
    return section_of("set", dict.fromkeys(methods, runs), {}, options)


def test_documents_are_a_mean_and_seconds_a_median_over_draws():
    values = dict.fromkeys(TESTED, np.array([0.5, 0.25]))
    runs = [Run(np.arange(2), values, *of) for of in ((10, 1.0), (20, 2.0), (60, 6.0))]
    options = Options((), Path(), ("lambdarank",), 3, 0, None, 5, False)
    section = section_of("set", {"lambdarank": runs}, {}, options)
    assert "Trained on 30 documents in the mean, 5 trees, all else" in section.note
    assert section.rows[0]["seconds"] == 2.0
    stopped = section_of("set", {"lambdarank": runs}, {}, replace(options, stop=True))
    assert "in the mean, up to 5 trees, stopped by the validation part, all else" in stopped.note


def test_figures_have_their_headings_on_a_narrow_terminal():
    """And no ranker is held against itself, by the figures of the row above it."""
    section = section_with([0.5, 0.25])
    console = Console(width=48, file=io.StringIO())
    console.print(section_table(section))
    lines = console.file.getvalue().splitlines()
    assert lines[lines.index("XGBRanker") + 1 :][:6] == [
        "  NDCG@1: 0.3750",
        "  NDCG@5: 0.3750",
        "  NDCG@10: 0.3750",
        "  MAP: 0.3750",
        "  @10, less LGBMRanker [95 %]: +0.0000 [+0.0000,",
        "+0.0000]",
    ]
    assert sum("less XGBRanker" in line for line in lines) == 2


def test_draws_without_anything_relevant_have_no_share_in_the_spread():
    (row, *_) = section_with([0.5, 0.25], [np.nan, np.nan], [0.5, np.nan]).rows
    assert row["draws_text"] == f"{np.std([0.375, 0.5], ddof=1):.4f}"
    (row, *_) = section_with([0.5, 0.25], [np.nan, np.nan]).rows
    assert row["draws_text"] == "-"


def test_what_is_measured_is_kept_whatever_becomes_of_the_next_set(folder, tmp_path, capsys):
    out, given = tmp_path / "out", tmp_path / "alike.txt"
    given.write_text("".join(f"0 qid:{query} 1:{row}\n" for query in range(6) for row in range(3)))
    arguments = ["bench", "defaults", "--data", str(folder), str(given), "--quick", "--methods", "lambdarank,xendcg"]
    assert cli.main([*arguments, "--trees", "2", "--out", str(out)]) == 2
    assert "alike.txt must have relevant documents" in capsys.readouterr().err
    assert [found["title"] for found in json.loads((out / "bench-defaults.json").read_text())["sections"]] == ["TINY"]
    assert (out / "bench-defaults.png").exists()


def test_a_folder_in_place_of_a_file_is_refused_before_a_fit(folder, tmp_path, capsys):
    place = tmp_path / "bench-defaults.md"
    place.mkdir()
    assert cli.main(["bench", "defaults", "--data", str(folder), "--out", str(tmp_path)]) == 2
    assert f"--out: {place} must be a file; it is a folder" in capsys.readouterr().err


def test_every_dot_of_the_picture_has_its_name():
    """Also where a ranker could not be fitted on the last data set."""
    sets = [section_with([0.5, 0.25]), section_with([0.5, 0.25], methods=("lambdarank", "xgb-ndcg"))]
    figure = differences_figure(sets, to("lambdarank"), "title")
    first, last = figure.axes
    dots = [[line.get_ydata()[0] for line in axes.lines if line.get_marker() == "o"] for axes in (first, last)]
    names = {label.get_position()[1]: label.get_text() for label in first.get_yticklabels()}
    assert [[names[place] for place in found] for found in dots] == [
        ["LGBMRanker, rank_xendcg", "XGBRanker"],
        ["XGBRanker"],
    ]
    low, high = first.get_ylim()
    assert low < min(names) <= max(names) < high


def test_the_picture_draws_intervals_and_ours_in_blue():
    """Four data sets in two lines of three; all panels have one order of names, of what has a difference anywhere."""
    rows = [{"name": "a", "ours": True, "less": [0.1, -0.2, 0.3]}, {"name": "b", "ours": False, "less": [0.2, 0, 0.4]}]
    found = Section("key", "One set", "", (), [*rows, {"name": "itself", "ours": False}])
    sets = [found, replace(found, rows=[rows[1]]), replace(found, rows=[]), found, found]
    figure = differences_figure(sets, "less", "All of them")
    assert [bool(axes.lines) for axes in figure.axes] == [True] * 4 + [False] * 2
    assert [axes.axison for axes in figure.axes] == [True] * 4 + [False] * 2
    assert [text.get_text() for text in figure.texts] == ["All of them"]
    first, second, *_ = figure.axes
    assert [label.get_text() for label in first.get_yticklabels()] == ["a", "b"]
    assert (first.get_title(loc="left"), first.get_xlabel()) == ("One set", "difference, with its 95 % interval")
    assert [(text.get_text(), text.xy) for text in first.texts] == [("+0.1000", (0.1, 2)), ("+0.2000", (0.2, 1))]
    dots = [line for line in first.lines if line.get_marker() == "o"]
    assert [(*line.get_xdata(), *line.get_ydata(), line.get_color()) for line in dots] == [
        (0.1, 2, BLUE), (0.2, 1, GREY),
    ]  # fmt: skip
    assert list(first.lines[-1].get_xdata()) == [0, 0]  # no difference
    assert first.get_shared_y_axes().joined(first, second)
    bars = [line for line in first.lines if len(line.get_xdata()) == 2 and line.get_marker() == "None"][:2]
    assert [list(line.get_xdata()) for line in bars] == [[-0.2, 0.3], [0, 0.4]]
    assert [line.get_color() for line in bars] == [BLUE, GREY]
    assert bars[0].get_linewidth() > bars[1].get_linewidth()
    one_line = differences_figure([found], "less", "title")
    assert figure.get_figheight() == 2 * one_line.get_figheight()
    more = [{**rows[0], "name": name} for name in "abcd"]
    assert differences_figure([replace(found, rows=more)], "less", "").get_figheight() > one_line.get_figheight()


def test_what_is_not_installed_is_named(folder, tmp_path, monkeypatch):
    kept = peers.import_peers(["lightgbm"])
    missing = peers.Peers(kept.versions, {"catboost": "not installed"})
    monkeypatch.setattr("boostsoft.bench.defaults.run.import_peers", lambda names: missing)
    arguments = ["--data", folder, "--quick", "--methods", "lambdarank,catboost"]
    (section,) = run(arguments, tmp_path / "out")
    assert section["left_out"] == {"CatBoostRanker": "CatBoost not installed"}
    assert not (tmp_path / "out" / "bench-defaults.png").exists()  # one ranker alone has no difference


def test_seeds_go_on_from_0_where_no_library_takes_more(folder, tmp_path, monkeypatch):
    seeds = []

    def fit(draw, method, seed, options):
        seeds.append(seed)
        return Run(draw.tested, dict.fromkeys(TESTED, np.ones(draw.tested.size)), 9, 0.1)

    monkeypatch.setattr("boostsoft.bench.defaults.run._run", fit)
    run(["--data", folder, "--draws", 3, "--seed", 2**31 - 1, "--methods", "lambdarank"], tmp_path / "out")
    assert seeds == [2**31 - 1, 0, 1]


def test_a_bar_counts_the_fits_that_are_done(folder, tmp_path, monkeypatch):
    seen, made = [], []

    class Watched(defaults_run._Bar):
        def __init__(self, *given):
            super().__init__(*given)
            made.append(self)

    def fit(draw, method, seed, options):
        [bar] = made[0]._progress.tasks
        seen.append((bar.completed, bar.total, bar.fields["now"]))
        return Run(draw.tested, dict.fromkeys(TESTED, np.ones(draw.tested.size)), 9, 0.1)

    monkeypatch.setattr(defaults_run, "_Bar", Watched)
    monkeypatch.setattr(defaults_run, "_run", fit)
    run(["--data", folder, "--draws", 2, "--methods", "lambdarank,xendcg"], tmp_path / "out")
    names = ["LGBMRanker", "LGBMRanker, rank_xendcg"]
    assert seen == [(done, 4, name) for done, name in enumerate([*names, *names[::-1]])]


def test_a_bar_goes_on_while_lightgbm_is_silent(folder, tmp_path, monkeypatch, capfd):
    """It stood still for as long as LightGBM trained."""

    class Watched(defaults_run._Bar):
        def step(self, name):
            super().step(name)
            with silent_errors():
                self._progress.console.print(f"now {name}")

    monkeypatch.setattr(defaults_run, "_Bar", Watched)
    with open(2, "w", closefd=False) as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        run(["--data", folder, "--draws", 1, "--trees", 1, "--methods", "lambdarank"], tmp_path / "out")
    assert capfd.readouterr().err == "now LGBMRanker\n"


def test_a_ranker_that_fails_is_named_and_the_others_are_measured(tmp_path, capfd):
    """LGBMRanker has gains for labels up to 30; ours takes any."""
    path = tmp_path / "large.txt"
    path.write_text(letor_text(1).replace("\n2 ", "\n40 ").replace("\n1 ", "\n1 "))
    (section,) = run(
        ["--data", path, "--quick", "--trees", "2", "--methods", "soft-lightgbm,lambdarank"], tmp_path / "o"
    )
    assert [row["method"] for row in section["rows"]] == ["soft-lightgbm"]
    assert "label" in section["left_out"]["LGBMRanker"].lower()
    assert "[Fatal]" not in "".join(capfd.readouterr())


def test_rankers_take_turns_and_one_that_has_failed_has_none(folder, tmp_path, monkeypatch):
    fitted = []

    def fit(draw, method, seed, options):
        fitted.append((seed, method))
        if method == "xendcg" and seed == 8:
            raise ValueError("no")
        return Run(draw.tested, dict.fromkeys(TESTED, np.ones(draw.tested.size)), 9, 0.1)

    monkeypatch.setattr("boostsoft.bench.defaults.run._run", fit)
    arguments = ["--data", folder, "--draws", 3, "--seed", 7, "--methods", "soft-lightgbm,lambdarank,xendcg"]
    (section,) = run(arguments, tmp_path / "out")
    assert fitted == [
        *((7, "soft-lightgbm"), (7, "lambdarank"), (7, "xendcg")),
        *((8, "lambdarank"), (8, "xendcg"), (8, "soft-lightgbm")),
        *((9, "soft-lightgbm"), (9, "lambdarank")),
    ]
    assert section["left_out"] == {"LGBMRanker, rank_xendcg": "no"}


def test_a_fit_takes_as_long_as_it_does_without_its_test(folder, monkeypatch):
    time, (draw,) = Time(), the_draws(folder, [0])

    class Fitted:
        def predict(self, X):
            time.go_by(100.0)
            return X[:, 0]

    monkeypatch.setattr(defaults_run, "time", time)
    monkeypatch.setitem(RANKERS, "xendcg", replace(RANKERS["xendcg"], fit=lambda job: time.go_by(7.0) or Fitted()))
    options = Options((), Path("out"), ("xendcg",), draws=1, seed=0, documents=None, trees=3, stop=False)
    assert defaults_run._run(draw, "xendcg", 0, options).seconds == 7.0


def test_a_picture_of_an_earlier_run_does_not_stay(folder, tmp_path):
    out = tmp_path / "out"
    for methods, shown in (("lambdarank,xendcg", True), ("lambdarank", False)):
        run(["--data", folder, "--quick", "--trees", "2", "--methods", methods], out)
        assert (out / "bench-defaults.png").exists() == shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["defaults", "--data", "{missing}"], "--data: there is no file or folder {missing}"),
        (["defaults", "--methods", "soft"], "--methods: must be some of soft-lightgbm,soft-xgboost,lambdarank,xendcg,"),
        (["defaults", "--data", "{empty}"], "{empty} must have S1.txt to S5.txt, or folders Fold1 to FoldN"),
        (["defaults", "--data", "{whole}", "{again}"], "--data: sets must have different names; got WHOLE twice"),
        (["defaults", "--data", "{short}"], "--data: short.txt must have 5 queries at least; got 4"),
        (
            ["defaults", "--data", "{alike}"],
            "--data: alike.txt must have relevant documents; all labels are 0 or below",
        ),
        (
            ["defaults", "--data", "{one}", "--methods", "lambdarank", "--quick"],
            "bench defaults: no draw of one.txt has anything relevant to test on: give more --draws",
        ),
        (
            ["defaults", "--data", "{one}", "--methods", "soft-lightgbm", "--quick", "--seed", "2"],
            "bench defaults: no ranker could be fitted on one.txt: SoftRanker.fit: there is nothing to learn",
        ),
    ],
    ids=str,
)
def test_bad_input_is_one_line_and_leaves_nothing(tmp_path, capsys, arguments, message):
    places = {name: tmp_path / name for name in ("missing", "empty")}
    places["empty"].mkdir()
    for name, parent in (("whole", "one"), ("again", "other")):
        (tmp_path / parent).mkdir()
        places[name] = quality_cases.three_files(tmp_path / parent / "WHOLE")
    texts = {"short": letor_text(1, n_queries=4)}
    for name, relevant in (("alike", None), ("one", 4)):  # in which query the first document is relevant
        rows = ((int(query == relevant and row == 0), query, row) for query in range(10) for row in range(3))
        texts[name] = "".join(f"{label} qid:{query} 1:{row}\n" for label, query, row in rows)
    for name, text in texts.items():
        places[name] = tmp_path / f"{name}.txt"
        places[name].write_text(text)
    if arguments[0] == "defaults" and "--methods" not in arguments:
        arguments = [*arguments, "--methods", "lambdarank"]  # no other library is imported
    bench_refuses(arguments, message, capsys, tmp_path / "out", **places)


def test_help_names_every_ranker(capsys):
    with pytest.raises(SystemExit):
        cli.main(["bench", "--help"])
    assert f"Its methods: {', '.join(RANKERS)}." in capsys.readouterr().out
