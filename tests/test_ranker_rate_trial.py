"""Whether a low learning rate would leave much to be learned is tried before it is taken by default."""

from __future__ import annotations

import re

import numpy as np
import pytest

from boostsoft import SoftRanker
from boostsoft.ranker import trial

from .ranker_cases import Task, both
from .test_ranker_trial import SMALL, ndcg, verdict

pytest.importorskip("xgboost")
ALONE = {**SMALL, "n_estimators": 100, "n_boosters": 1, "num_leaves": 7}


def made(n_features, noise):
    """Grades that hang on the sum of all features, and on noise."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1800, n_features))
    worth = X.sum(axis=1) / np.sqrt(n_features) + noise * rng.normal(size=1800)
    return Task(X, np.digitize(worth, np.quantile(worth, [0.6, 0.85, 0.95])), np.repeat(np.arange(60), 30))


@pytest.fixture(scope="module")
def much():
    return made(40, 0.0)


@pytest.fixture(scope="module")
def noisy():
    return made(4, 2.0)


def rate_of(data, booster="lightgbm", weight=None, **parameters):
    given = SoftRanker(booster, **{**ALONE, **parameters})
    return given.train_arguments(data.y, X=data.X, group=data.sizes, query_weight=weight)["params"]["learning_rate"]


@both
def test_the_rate_is_high_where_much_is_to_be_learned(booster, much, noisy):
    for data, expected in ((much, 0.3), (noisy, 0.1)):
        found = SoftRanker(booster, **ALONE).fit(data.X, data.y, qid=data.qid)
        said = SoftRanker(booster, **ALONE, learning_rate=expected, random_trees=found.random_trees_)
        said.fit(data.X, data.y, qid=data.qid)
        assert found.learning_rate_ == expected
        np.testing.assert_array_equal(found.predict(data.X), said.predict(data.X))


@pytest.mark.parametrize(
    ("n_estimators", "expected"), [(39, 0.1), (40, 0.3), (100, 0.3), (200, 0.15), (299, 30 / 299), (300, 0.1)]
)
def test_more_trees_want_less_and_few_are_not_tried(n_estimators, expected, much):
    assert rate_of(much, n_estimators=n_estimators) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n_trees", [20, 40])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_held_by_what_later_trees_gain_on_queries_that_were_not_learned(weighted, n_trees, much, monkeypatch):
    """The verdict turns where the factor, or the number of standard errors, passes what was computed here."""
    weights = np.random.default_rng(1).uniform(0.2, 2.0, 60) if weighted else np.ones(60)
    drawn = np.random.default_rng(3).permutation(60)
    judged = np.isin(much.qid, drawn[:30])
    half, rest = much.rows(~judged), much.rows(judged)
    model = SoftRanker(**{**ALONE, "n_estimators": n_trees}, learning_rate=0.45, random_trees=True, losses=None)
    model.set_params(random_state=3).fit(half.X, half.y, qid=half.qid, query_weight=weights[np.unique(half.qid)])
    steps = list(model.staged_predict(rest.X))
    of_trees = (0.0 * steps[0], steps[n_trees // 3 - 1], steps[-1])
    nothing, early, late = (ndcg(rest, scores) for scores in of_trees)
    share, errors = verdict(early - nothing, late - nothing, weights[np.unique(rest.qid)])
    assert share < 0.95
    assert errors > 3.5
    for factor, expected in ((1.0 - 1e-6, 0.3), (1.0 + 1e-6, 0.1)):
        by_errors = [(n, errors * factor if n == n_trees else least) for n, least in trial._LONG]
        for held in ({"_LONG": by_errors}, {"_LONG": [(n_trees, 2.0)], "_GROWTH": factor / share}):
            with monkeypatch.context() as patch:
                for name, value in held.items():
                    patch.setattr(trial, name, value)
                assert rate_of(much, weight=weights, random_trees=True, random_state=3) == expected


def test_all_trees_are_grown_only_where_half_of_them_leave_doubt(much, noisy, monkeypatch):
    grown, learn = [], trial._Trial.grown
    monkeypatch.setattr(trial._Trial, "grown", lambda its, n, *given: grown.append(n) or learn(its, n, *given))
    rates = [rate_of(data, random_trees=False) for data in (much, noisy)]
    assert (rates, grown) == ([0.3, 0.1], [20, 40, 20])


def test_none_is_made_where_it_decides_nothing(much, monkeypatch):
    first = SoftRanker(**ALONE, learning_rate=0.3).fit(much.X, much.y, qid=much.qid)
    monkeypatch.setattr(trial, "_learn_on", None)  # to call it raises
    assert SoftRanker(**ALONE).fit(much.X, much.y, qid=much.qid, init_model=first).learning_rate_ == 0.1
    assert rate_of(much, learning_rate=0.05) == 0.05
    assert rate_of(much.rows(much.qid < 19)) == 0.1
    for name in ("PLENTY", "PLENTY_RELEVANT"):
        monkeypatch.setattr(f"boostsoft.ranker.random_trees.{name}", 1)
    assert rate_of(much) == pytest.approx(0.1 * 2**0.5)


def test_plain_trees_are_tried_where_random_ones_have_failed(much, monkeypatch):
    """As they are grown: the trial's trees are those of the kind that was chosen."""
    kinds, learn_on = [], trial._learn_on
    monkeypatch.setattr(trial, "_learn_on", lambda its, random: kinds.append(random) or learn_on(its, random))
    for suits in (True, False):
        monkeypatch.setattr(trial, "_suit", lambda *_, suits=suits: suits)
        rate_of(much)
    rate_of(much, random_trees=False)
    assert kinds == [True, False, False]


@both
@pytest.mark.parametrize("options", [{"min_child_samples": 800}, {"reg_lambda": 1e12}])
def test_where_trees_find_no_split(booster, options, much):
    assert rate_of(much, booster, **options) == 0.1


def test_a_bar_counts_the_trees_of_trials(much, capsys):
    SoftRanker(**ALONE, progress=True).fit(much.X, much.y, qid=much.qid)
    written = re.sub(r"\x1b\[\d+m", "", capsys.readouterr().err)
    assert "10 trial" in written
    assert "training" in written[written.index("trial") :]
