"""Tables of made-up values, and the folds of folders, for the comparison of objectives."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest

from boostsoft.bench import blending, folds
from boostsoft.bench.quality import analysis, data

from . import quality_cases
from .quality_cases import five_parts

folder, split = quality_cases.folder, quality_cases.split  # fixtures


# ---------------------------------------------------------------------------------------------------------
# Tables of made-up values
# ---------------------------------------------------------------------------------------------------------


def made_up(**means):
    """A method's values: so much above a common noise on every query, the first query without a relevant document."""
    found = {}
    for method, mean in means.items():
        values = mean + 0.01 * np.random.default_rng(0).normal(size=(3, 50))
        values[:, 0] = np.nan
        spec = {metric: values + 0.01 * i for i, metric in enumerate(("ndcg@1", "ndcg@5", "ndcg@10", "map", "err@10"))}
        spec["map"] = 2 * values
        found[method.replace("_", "-")] = analysis.Tested(spec, np.array([10.0, 20.0, 60.0]), np.array([1.0, 2.0, 6.0]))
    return found


def test_tables_and_targets():
    sections = analysis.quality_sections(
        {
            "A": made_up(soft_lightgbm=0.5, soft_xgboost=0.4, lambdarank=0.45, xendcg=0.3),
            "B": made_up(soft_lightgbm=0.5, soft_xgboost=0.4, lambdarank=0.48, xendcg=0.52),
        },
        jobs=2,
        threads="1",
        left_out={},
    )
    assert [section.key for section in sections] == ["quality_A", "quality_B", "quality_all data sets", "in_lightgbm"]
    first, second, pool, boosters = sections
    verdicts = [[str(verdict) for verdict in section.verdicts] for section in sections]
    assert verdicts == [
        ["NDCG@10 >= best other's: met"],
        ["NDCG@10 >= best other's: missed"],
        ["NDCG@10 >= best other's: met", "95 % interval above 0 to lambdarank: met"],
        [],
    ]
    row = {row["method"]: row for row in first.rows}
    assert row["lambdarank"]["less_interval"] == pytest.approx([0.05] * 3)
    assert row["lambdarank"]["less_text"] == "+0.0500 [+0.0500, +0.0500]"
    assert row["soft-xgboost"]["less_interval"][0] == pytest.approx(0.1)
    assert row["soft-xgboost"]["to_lambdarank_interval"][0] == pytest.approx(-0.05)
    assert "less_interval" not in row["soft-lightgbm"]
    assert (row["xendcg"]["trees"], row["xendcg"]["median"], row["xendcg"]["seconds"].median) == (30.0, 2.0, 2.0)
    assert "49 of 50 have something relevant" in first.note
    assert "threads per run: 1, runs at a time: 2" in first.note
    pooled = {row["method"]: row for row in pool.rows}
    assert "98 of 100 have" in pool.note
    for name in pooled:
        parts = [next(row for row in section.rows if row["method"] == name)["ndcg@10"] for section in (first, second)]
        assert pooled[name]["ndcg@10"] == pytest.approx(np.mean(parts))
    assert {(row["data"], row["method"]) for row in boosters.rows} == {
        (name, method) for name in ("A", "B", "all data sets") for method in ("soft-lightgbm", "lambdarank", "xendcg")
    }
    other = next(row for row in boosters.rows if (row["data"], row["method"]) == ("B", "xendcg"))
    assert other["map_less_interval"] == pytest.approx([-0.04] * 3)


def test_a_pool_has_the_trees_and_seconds_of_all_runs():
    one = made_up(lambdarank=0.5)["lambdarank"]
    pool = analysis.pooled([one, analysis.Tested(one.values, np.array([5.0]), np.array([7.0]))])
    assert (pool.trees.tolist(), pool.seconds.tolist()) == ([10, 20, 60, 5], [1, 2, 6, 7])


def test_a_loss_misses_the_target_of_the_pool():
    found = made_up(soft_lightgbm=0.4, lambdarank=0.5)
    [section, _] = analysis.quality_sections({"A": found}, 1, "1", {})
    assert [verdict.met for verdict in section.verdicts] == [False, False]


def test_an_interval_that_holds_0_misses_the_target_of_the_pool():
    found = made_up(soft_lightgbm=0.505, lambdarank=0.5)
    for values in found["soft-lightgbm"].values.values():
        values += 0.1 * np.random.default_rng(1).normal(size=values.shape)
        values += 0.005 - np.nanmean(values - found["lambdarank"].values["ndcg@10"])
    [section, _] = analysis.quality_sections({"A": found}, 1, "1", {})
    mean, low, high = section.rows[0]["to_lambdarank_interval"]
    assert low < 0 < mean < high
    assert [verdict.met for verdict in section.verdicts] == [True, False]


@pytest.mark.parametrize("target", [analysis.ABOVE, blending.WINS])
def test_an_interval_of_nothing_but_0_is_not_above_it(target):
    assert (target.judge(0.0).met, target.judge(1e-9).met) == (False, True)


@pytest.mark.filterwarnings("error")
def test_test_parts_without_anything_relevant_give_no_numbers():
    found = made_up(soft_lightgbm=0.5, lambdarank=0.4)
    for tested in found.values():
        for values in tested.values.values():
            values[:] = np.nan
    [section, _] = analysis.quality_sections({"A": found}, 1, "1", {})
    assert "0 of 50 have something relevant" in section.note
    assert [row["ndcg@10_text"] for row in section.rows] == ["nan", "nan"]
    assert [verdict.met for verdict in section.verdicts] == [False, False]


def test_ours_in_xgboost_stands_in_where_lightgbm_is_not_asked_for():
    [section, booster] = analysis.quality_sections({"A": made_up(soft_xgboost=0.5, xgb_ndcg=0.4)}, 1, "1", {})
    assert section.rows[1]["less_interval"][0] == pytest.approx(0.1)
    assert booster.key == "in_xgboost"
    assert [str(verdict) for verdict in section.verdicts] == ["NDCG@10 >= best other's: met"]


def test_one_booster_of_ours_is_held_against_the_others_of_its_library():
    found = made_up(soft_lightgbm=0.6, soft_lightgbm_one=0.5, lambdarank=0.4, xgb_ndcg=0.3)
    [section, booster] = analysis.quality_sections({"A": found}, 1, "1", {})
    less = {row["method"]: row.get("less_interval", [None])[0] for row in booster.rows}
    assert less == {
        "soft-lightgbm": pytest.approx(-0.1),
        "soft-lightgbm-one": None,
        "lambdarank": pytest.approx(0.1),
    }
    assert [row.get("less_interval", [None])[0] for row in section.rows] == pytest.approx([None, 0.1, 0.2, 0.3])


# ---------------------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------------------


def test_five_parts_take_turns(folder):
    found = folds.find_folds(folder)
    names = [[[path.name for path in getattr(fold, part)] for part in ("train", "valid", "test")] for fold in found]
    assert names[0] == [["S1.txt", "S2.txt", "S3.txt"], ["S4.txt"], ["S5.txt"]]
    assert names[3] == [["S4.txt", "S5.txt", "S1.txt"], ["S2.txt"], ["S3.txt"]]
    assert [fold.number for fold in found] == [1, 2, 3, 4, 5]
    assert sorted(fold[2][0] for fold in names) == [f"S{i}.txt" for i in range(1, 6)]


def test_folders_of_folds(split, tmp_path):
    numbered = tmp_path / "NUMBERED"
    shutil.copytree(split, numbered / "Fold2")
    with pytest.raises(ValueError, match="must have Fold1 to Fold2; Fold1 is not there"):
        folds.find_folds(numbered)
    for number in (1, 10):
        shutil.copytree(split, numbered / f"Fold{number}")
    with pytest.raises(ValueError, match="must have Fold1 to Fold10; Fold3 is not there"):
        folds.find_folds(numbered)
    shutil.move(numbered / "Fold10", numbered / "Fold3")
    found = folds.find_folds(numbered)
    assert [(fold.number, fold.valid[0].parent.name) for fold in found] == [(1, "Fold1"), (2, "Fold2"), (3, "Fold3")]
    (numbered / "Fold2" / "vali.txt").unlink()
    with pytest.raises(ValueError, match=r"Fold2 must have train, vali and test .*; vali .* is not there"):
        folds.find_folds(numbered)
    assert data.find_sets([numbered.parent / "SPLIT"])[0].folds[0].test[0].name == "test.txt"
    assert len(data.find_sets([split, five_parts(tmp_path / "PARTS")], 1)) == 2


@pytest.mark.parametrize(
    ("names", "ending"),
    [
        (("set1.train", "set1.valid", "set1.test"), ".txt"),  # Yahoo's
        (("set2.train", "set2.valid", "set2.test"), ".txt.gz"),
        (("train", "valid", "test"), ".txt.gz"),
        (("train", "validation", "test"), ".txt"),
    ],
)
def test_one_split_by_other_names(tmp_path, names, ending):
    for name in names:
        (tmp_path / f"{name}{ending}").touch()
    assert folds.has_parts(tmp_path)
    [fold] = folds.find_folds(tmp_path)
    assert fold == folds.FoldFiles(1, *((tmp_path / f"{name}{ending}",) for name in names))


UNCLEAR = {
    "two sets": (
        ("set1.train", "set1.valid", "set1.test", "set2.train"),
        "must have the parts of one split; set1.train.txt and set2.train.txt are there: give each a folder of its own",
    ),
    "a set beside a split": (("train", "set2.test"), "of one split; train.txt and set2.test.txt are there"),
    "two validation parts": (("train", "vali", "valid", "test"), "must have one of vali.txt and valid.txt; both are"),
    "no validation part": (("train", "test"), "vali and test (.txt or .txt.gz); vali (or valid, or validation) is not"),
    "a set without one": (
        ("set1.train", "set1.test"),
        "set1.train, set1.vali and set1.test (.txt or .txt.gz); set1.vali (or set1.valid, or set1.validation) is not",
    ),
    "no test part": (("train", "valid"), "vali and test (.txt or .txt.gz); test is not there"),
}


@pytest.mark.parametrize(("names", "message"), UNCLEAR.values(), ids=UNCLEAR.keys())
def test_unclear_splits_are_refused(tmp_path, names, message):
    for name in names:
        (tmp_path / f"{name}.txt").touch()
    with pytest.raises(ValueError, match=f"^--data: {re.escape(str(tmp_path))} .*{re.escape(message)}"):
        folds.find_folds(tmp_path)


def test_parts_of_other_widths(tmp_path):
    lines = {"train": "1 qid:1 1:2 2:3\n0 qid:1 1:1\n", "vali": "1 qid:2 1:2 3:3\n0 qid:2 1:1\n"}
    lines["test"] = "1 qid:3 1:2 4:5\n0 qid:3 2:1\n"
    for name, text in lines.items():
        (tmp_path / f"{name}.txt").write_text(text)
    [fold] = folds.find_folds(tmp_path)
    train, valid = data.training_data(fold)
    assert train.X.tolist() == [[2, 3, 0], [1, 0, 0]]
    assert valid.X.tolist() == [[2, 0, 3], [1, 0, 0]]
    assert data.test_data(fold).X.tolist() == [[2, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize("part", ["train", "vali", "test"])
def test_a_part_without_anything_relevant_is_an_error(split, part):
    (split / f"{part}.txt").write_text("0 qid:2 1:2\n0 qid:2 1:1\n")
    read = data.test_data if part == "test" else data.training_data
    with pytest.raises(ValueError, match=rf"{part}\.txt must have relevant documents"):
        read(folds.find_folds(split)[0])
