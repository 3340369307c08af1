"""SoftRanker.staged_predict: the scores of the first trees to the last bit, by a few looks at X."""

from __future__ import annotations

from copy import copy

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from boostsoft.ranker.fitted import TREES
from boostsoft.stages import blocks

from . import ranker_cases
from .ranker_cases import both, fit, ranker

xgb = pytest.importorskip("xgboost")
data, valid = ranker_cases.data, ranker_cases.valid  # fixtures
LIBRARIES = {"lightgbm": lgb, "xgboost": xgb}


@pytest.fixture
def two_trees(monkeypatch, data):
    """A block holds the leaves of no more trees."""
    monkeypatch.setattr(blocks, "_BYTES", 2 * 16 * len(data.y))


@pytest.fixture
def predictions(monkeypatch):
    """The options of every call of a booster's predict, by either library."""
    found = []
    for library in LIBRARIES.values():

        def predict(self, *arguments, inner=library.Booster.predict, **options):
            found.append(options)
            return inner(self, *arguments, **options)

        monkeypatch.setattr(library.Booster, "predict", predict)
    return found


def of_first(model, X, n):
    """What the ranker predicts if it has no other trees."""
    short = copy(model)
    short.booster_ = TREES[model.booster].first(model.booster_, n)
    return short.predict(X)


def check(model, X, every=1):
    steps = [*range(every, model.best_iteration_, every), model.best_iteration_]
    stages = list(model.staged_predict(X, every=every))
    for stage, n in zip(stages, steps, strict=True):
        assert stage.dtype == np.float64
        np.testing.assert_array_equal(stage, of_first(model, X, n))
    np.testing.assert_array_equal(stages[-1], model.predict(X))


@both
@pytest.mark.parametrize("every", [1, 2, 3, 7, 8, 9])
@pytest.mark.usefixtures("two_trees")
def test_stages_are_the_scores_of_the_first_trees(booster, every, data):
    check(fit(ranker(booster), data), data.X, every)


def kinds_of_matrix(X):
    few = np.where(np.abs(X) < 0.5, 0.0, X)
    holes = np.where(np.abs(X) < 0.1, np.nan, X)
    names = list("abcd")
    return {
        "holes": holes,
        "by column": np.asfortranarray(X),
        "float32": X.astype(np.float32),
        "whole numbers": (10 * X).astype(np.int64),
        "csr": sparse.csr_array(few),
        "csc float32": sparse.csc_matrix(few.astype(np.float32)),
        "frame": pd.DataFrame(holes, columns=names),
        "categories": pd.DataFrame(holes, columns=names).assign(c=pd.Categorical(np.where(X[:, 0] > 0, "x", "y"))),
    }


@both
@pytest.mark.parametrize("kind", kinds_of_matrix(np.zeros((1, 4))))
@pytest.mark.usefixtures("two_trees")
def test_stages_of_any_matrix(booster, kind, data):
    X = kinds_of_matrix(data.X)[kind]
    check(fit(ranker(booster), data._replace(X=X)), X)


@both
@pytest.mark.usefixtures("two_trees")
def test_stages_of_several_boosters_stopped_early_and_of_a_training_that_went_on(booster, data, valid):
    watch = {"eval_set": [(valid.X, valid.y)], "eval_qid": [valid.qid]}
    stopped = ranker(booster, n_boosters=2, n_estimators=30, learning_rate=0.5, early_stopping_rounds=2)
    fit(stopped, data, **watch)
    assert stopped.best_iteration_ < stopped.n_iter_
    check(stopped, data.X)
    check(fit(ranker(booster, n_estimators=3), data, init_model=stopped), data.X, every=2)


@pytest.mark.parametrize(
    ("booster", "params"),
    [("lightgbm", {"linear_tree": True}), ("xgboost", {"num_parallel_tree": 3})],
    ids=["linear leaves", "several trees a round"],
)
@pytest.mark.usefixtures("two_trees")
def test_stages_of_other_trees(booster, params, data):
    check(fit(ranker(booster, booster_params=params, subsample=0.5), data), data.X, every=2)


@pytest.mark.parametrize(("every", "n_calls"), [(1, 2), (3, 2), (8, 1), (9, 1)])
def test_lightgbm_reads_x_for_many_trees_at_a_time(every, n_calls, data, predictions):
    """For the first stage, and for the leaves of a block of the trees behind it."""
    model = fit(ranker(), data)
    predictions.clear()
    list(model.staged_predict(data.X, every=every))
    assert len(predictions) == n_calls


def test_xgboost_makes_no_matrix_of_its_own_for_the_last_stage_alone(data, monkeypatch):
    model = fit(ranker("xgboost"), data)
    monkeypatch.setattr("boostsoft.ranker.xgboost_trees.as_dmatrix", None)
    [scores] = model.staged_predict(data.X, every=8)
    np.testing.assert_array_equal(scores, model.predict(data.X))


@both
def test_a_stage_that_is_not_asked_for_is_not_predicted(booster, data, predictions):
    model = fit(ranker(booster), data)
    predictions.clear()
    next(model.staged_predict(data.X, every=3))
    assert len(predictions) == 1


@pytest.mark.parametrize(("threads", "wanted"), [(None, [None] * 2), (1, [1] * 2)])
def test_stages_take_the_threads_of_the_ranker(threads, wanted, data, predictions):
    model = fit(ranker(n_jobs=threads), data)
    predictions.clear()
    list(model.staged_predict(data.X))
    assert [options.get("num_threads") for options in predictions] == wanted


def test_blocks_are_of_few_trees_and_a_sparse_matrix_has_few_values():
    """Of a model whose text is long, too."""
    assert next(blocks.tree_blocks(0, 1000, n_docs=1, bytes_each=16, n_values=1)) == (0, 256)
    assert [blocks.n_values(X) for X in (np.eye(3), sparse.csr_array(np.eye(3)))] == [9, 3]
