"""Batches that fail, what a ranking of batches shows, and what is refused."""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import lightgbm as lgb
import numpy as np
import pytest

from boostsoft import Metric
from boostsoft.tracking import batches as module
from boostsoft.tracking.batches import marginal_value

from .marginal_value_cases import (
    LABELS,
    PARAMS,
    POOL,
    SCORE,
    SIZES,
    candidates,
    documents,
    halves,
    lightgbm_model,
    value,
    xgboost_model,
)


def test_a_batch_that_fails_does_not_lose_the_others():
    batches = candidates()
    batches["negative"] = (batches["good"]["X"], batches["good"]["y"] - 1, SIZES)  # lambdarank refuses such labels
    found = value(lightgbm_model(), batches)
    assert found.ranked[-1].name == "negative"
    assert found.ranked[-1].failed
    assert found.ranked[-1].problem.startswith("LightGBMError: ")
    assert math.isnan(found.ranked[-1].change)
    assert math.isnan(found.ranked[-1].first)
    assert found.best == value(lightgbm_model(), candidates()).best
    assert [line.split()[:7] for line in str(found).splitlines() if "failed: LightGBMError: " in line] == [
        ["negative", "20", "400", "0", "-", "-", "-"]
    ]
    with pytest.raises(lgb.basic.LightGBMError):
        value(lightgbm_model(), [batches["negative"]])


@pytest.mark.filterwarnings("error")
def test_an_infinite_value_is_a_failure_of_its_batch():
    batches = {"wrong": candidates()["wrong"], "all": (POOL, LABELS, SIZES)}  # the latter leaves no wrong pair
    settings = {"metric": Metric("pnr"), "params": {**PARAMS, "learning_rate": 0.5, "min_data_in_leaf": 1}}
    found = value(lightgbm_model(), batches, n_trees=20, **settings)
    assert [(row.name, row.failed) for row in found.ranked] == [("wrong", False), ("all", True)]
    assert "batches['all']: pnr must be finite for every query; query" in found.ranked[1].problem
    assert found.best.first == 1.0


def test_scores_beyond_all_numbers_are_a_failure_of_their_batch():
    found = value(xgboost_model(), candidates(), params={"eta": 3e38})
    assert found.batches[2].failed
    assert found.batches[2].problem.startswith("ValueError: marginal_value: batches['good']: scores must be finite")
    assert found.best.name == "empty"


def test_a_generator_of_batches():
    X, y = documents(1)
    found = value(lightgbm_model(), ((X[i : i + 200], y[i : i + 200], [20] * 10) for i in (0, 200)))
    assert [batch.name for batch in found.batches] == [0, 1]


def test_table_and_frame():
    found = value(lightgbm_model(), candidates())
    assert repr(found) == str(found)
    lines = str(found).splitlines()
    assert lines[0].split()[:6] == ["batch", "queries", "documents", "trees", "change", "of"]
    assert [line.split()[0] for line in lines[1:5]] == ["good", "empty", "small", "wrong"]
    assert lines[2].endswith("no query that counts has two labels: nothing to learn from")
    assert found._repr_html_().count("<tr>") == 5
    for kind in ("pandas", "polars"):
        pytest.importorskip(kind)
        frame = found.to_frame(kind)
        assert type(frame).__module__.startswith(kind)
        assert frame["rank"].to_list() == [1, 2, 3, 4]
        assert frame["place"].to_list() == list(found.order) == [2, 1, 3, 0]
        assert frame["change"].to_list() == [batch.change for batch in found.ranked]


def test_every_cell_of_the_table():
    found = value(lightgbm_model(), {"good": candidates()["good"]}, metric=SCORE)
    head, row, before, _ = str(found).splitlines()
    names = (
        "batch queries documents trees change of ndcg_score error 95% interval first change of ndcg@10 error control"
    )
    assert head.split() == names.split()
    good = found.best
    cells = ["good", "20", "400", "5", f"{good.change:+.4f}", f"{good.error:.4f}", f"[{good.low:+.4f},"]
    cells += [f"{good.high:+.4f}]", "100%", f"{good.hard:+.4f}", f"{good.hard_error:.4f}", f"{good.control:+.4f}"]
    assert row.split() == cells
    assert before.startswith(f"Before: {found.before:.4f}, hard {found.hard_before:.4f}. ")


def test_equal_batches_keep_their_order():
    found = value(lightgbm_model(), candidates())
    many = replace(found, batches=100 * (found.best, found.batches[1]))
    assert many.order == (*range(0, 200, 2), *range(1, 200, 2))


def test_a_bar_is_shown_only_if_asked_for(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    for progress in (True, False):
        value(lightgbm_model(), halves(), progress=progress)
        assert ("marginal_value" in capsys.readouterr().err) is progress


def test_frame_without_the_library(monkeypatch):
    found = value(lightgbm_model(), candidates())
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"BatchValues\.to_frame: pandas is not installed"):
        found.to_frame()


def test_query_ids_by_place():
    model, batches = lightgbm_model(), candidates()
    qid = np.repeat(np.arange(20), 20)
    found = marginal_value(model, batches, POOL, LABELS, qid, progress=False)
    assert [batch.change for batch in found.batches] == [batch.change for batch in value(model, batches).batches]


def test_queries_of_one_document_are_no_ids():
    X, y = documents(1)
    found = value(lightgbm_model(), [(X, y, np.ones(400, int)), candidates()["wrong"]])
    assert found.batches[0].n_queries == 400
    assert found.batches[0].problem == "no query that counts has two labels: nothing to learn from"


def test_every_batch_is_checked_before_any_training(monkeypatch):
    monkeypatch.setattr(module, "_grow", None)
    X, y = documents(1)
    good, model = (X, y, SIZES), lightgbm_model()
    for wrong, error, says in [
        ((X, y), TypeError, r"batches\[1\]: a batch must be \(X, y, group\) or a dict .*; got 2 parts"),
        (
            (X, y, np.repeat(np.arange(20), 20)),
            ValueError,
            r"the third part of a batch must be group sizes; got",
        ),
        ((X, y, np.repeat(list("abcdefghij"), 40)), ValueError, r"the third part of a batch must be group"),
        ((X, y, [20] * 19), ValueError, r"batches\[1\]: group must add up to the number of documents, 400"),
        ((X[:, :3], y, SIZES), ValueError, r"batches\[1\]: X must have the 4 features of the model; got 3"),
        ((X[1:], y, SIZES), ValueError, r"batches\[1\]: X must have one row per label, 400; got 399"),
        ((X, y * np.nan, SIZES), ValueError, r"batches\[1\]: y must be finite"),
        ({"X": X, "y": y}, ValueError, r"batches\[1\]: group= \(documents per query\) or qid= .* must be given"),
        ({"X": X, "group": SIZES}, ValueError, r"batches\[1\]: a batch must hold 'y'"),
        ({"X": X, "y": None, "group": SIZES}, ValueError, r"batches\[1\]: a batch must hold 'y'"),
        (
            {"X": X, "y": y, "group": SIZES, "init_score": y[1:]},
            ValueError,
            r"batches\[1\]: init_score must have .* 400;",
        ),
        ({"X": X, "y": y, "groups": SIZES}, ValueError, r"batches\[1\]: a batch knows no 'groups'"),
        ({"X": X, "y": y, "group": SIZES, "base_margin": y}, ValueError, r"base_margin belongs to XGBoost; "),
    ]:
        with pytest.raises(error, match=says):
            value(model, [good, wrong])


def test_what_is_refused():
    X, y = documents(1)
    batch, model = [(X, y, SIZES)], lightgbm_model()
    with pytest.raises(TypeError, match=r"model must be a LightGBM Booster or LGBMRanker, .*; got dict$"):
        value({}, batch)
    with pytest.raises(ValueError, match="batches must hold one at least"):
        value(model, [])
    with pytest.raises(TypeError, match="batches must be a list or a mapping of batches; got ndarray"):
        value(model, X)
    with pytest.raises(ValueError, match="metric must be one metric"):
        value(model, batch, metric=["ndcg@10", "map"])
    with pytest.raises(ValueError, match="n_trees must be from 1"):
        value(model, batch, n_trees=0)
    with pytest.raises(ValueError, match="level must be below 1; got 95"):
        value(model, batch, level=95)
    with pytest.raises(ValueError, match="seed must be from 0"):
        value(model, batch, seed=-1)
    with pytest.raises(ValueError, match="marginal_value: init_score must have one value per document, 400; got 399"):
        value(model, batch, init_score=LABELS[1:])
    with pytest.raises(ValueError, match="n_boot must be from 20 "):
        value(model, batch, n_boot=19)
    with pytest.raises(ValueError, match=r"group= \(documents per query\) or qid= .* must be given"):
        value(model, batch, group=None)
    with pytest.raises(ValueError, match="X must have the 4 features of the model; got 3"):
        marginal_value(model, batch, POOL[:, :3], LABELS, group=SIZES)
    with pytest.raises(ValueError, match="params must not hold 'n_estimators': n_trees= says"):
        value(model, batch, params={**PARAMS, "n_estimators": 3})
    with pytest.raises(ValueError, match="params must not hold 'num_iterations': n_trees= says"):
        value(model, batch, params={**PARAMS, "num_iterations": 3})
    with pytest.raises(ValueError, match="params must hold the objective; got learning_rate"):
        value(model, batch, params={"learning_rate": 0.1})
    with pytest.raises(TypeError, match="params must be a dict of names and values"):
        value(model, batch, params="lambdarank")
    with pytest.raises(ValueError, match="base_margin belongs to XGBoost"):
        value(model, batch, base_margin=LABELS)
    with pytest.raises(ValueError, match="model must have one score per document; got a LightGBM model of 3 classes"):
        value(lightgbm_model(objective="multiclass", num_class=3), batch)
    forest = lightgbm_model(boosting="rf", bagging_fraction=0.5, bagging_freq=1)
    for params in (None, PARAMS):  # be the trees to come boosted
        with pytest.raises(ValueError, match="random forest"):
            value(forest, batch, params=params)
    with pytest.raises(ValueError, match="pnr must be finite for every query"):
        value(model, [(X[:20], y[:20], [20])], metric="pnr", group=[2] * 200)


@pytest.mark.parametrize(
    ("booster", "says"), [("gblinear", "gblinear has no trees"), ("dart", "dart changes the trees")]
)
def test_xgboosts_other_boosters_are_refused(booster, says):
    xgb = pytest.importorskip("xgboost")
    X, y = documents(0)
    params = {"objective": "rank:ndcg", "booster": booster, **({"rate_drop": 0.5} if booster == "dart" else {})}
    model = xgb.train(params, xgb.DMatrix(X, y, group=SIZES), 2)
    with pytest.raises(ValueError, match=f"model must be a gbtree; {says}"):
        value(model, [(X, y, SIZES)])


@pytest.mark.parametrize("other", [{"booster": "dart"}, {"booster": "gblinear"}, {"process_type": "update"}], ids=str)
def test_xgboosts_parameters_must_let_the_trees_stand(other):
    """With more new rounds than there were, a start from nothing would look like a continuation."""
    xgb = pytest.importorskip("xgboost")
    X, y = documents(0)
    model = xgb.train({"objective": "rank:ndcg"}, xgb.DMatrix(X, y, group=SIZES), 2)
    name, given = next(iter(other.items()))
    with pytest.raises(ValueError, match=f"params must leave {name} at '.*', to go on; got '{given}'"):
        value(model, [(X, y, SIZES)], params=other)
    same = {"booster": "gbtree", "process_type": "default"}
    assert value(model, [(X, y, SIZES)], params=same).best.change == value(model, [(X, y, SIZES)]).best.change


def test_a_failure_is_told_in_one_line():
    xgb = pytest.importorskip("xgboost")
    X, y = documents(0)
    model = xgb.train({"objective": "reg:squaredlogerror"}, xgb.DMatrix(X, y), 3)
    below = (X, np.where(y > 0, y, -5.0), SIZES)  # labels below -1
    found = marginal_value(model, {"below": below, "good": candidates()["good"]}, POOL, LABELS, group=SIZES)
    told = next(row.problem for row in found.batches if row.name == "below")
    assert told.startswith("XGBoostError: ")
    assert "\n" not in told
    assert "Stack trace" not in told
