"""SoftRanker tells whoever comes from LGBMRanker or XGBRanker where their arguments are."""

from __future__ import annotations

import inspect
import re

import lightgbm as lgb
import pytest

from boostsoft import SoftRanker
from boostsoft.ranker.foreign import IN_FIT, IN_PREDICT

from . import ranker_cases
from .ranker_cases import both, fit, ranker

xgb = pytest.importorskip("xgboost")
data = ranker_cases.data  # a fixture
THEIRS = {"lightgbm": lgb.LGBMRanker, "xgboost": xgb.XGBRanker}


def parameters(method):
    return {name for name, one in inspect.signature(method).parameters.items() if one.kind != one.VAR_KEYWORD}


def of_constructor(theirs):
    """The parameters of an estimator that its own and its base classes have."""
    return set().union(*(parameters(one.__init__) for one in theirs.__mro__ if "__init__" in vars(one))) - {"args"}


@both
@pytest.mark.parametrize(("method", "told"), [("fit", IN_FIT), ("predict", IN_PREDICT)])
def test_every_argument_of_the_boosters_rankers_is_there_or_told(booster, method, told):
    theirs = parameters(getattr(THEIRS[booster], method))
    assert theirs <= {*parameters(getattr(SoftRanker, method)), *told}


@pytest.mark.parametrize("name", IN_FIT)
def test_what_to_say_in_place_is_told(name, data):
    assert name not in parameters(SoftRanker.fit)
    with pytest.raises(TypeError, match=rf"^SoftRanker.fit: has no {name}=: "):
        fit(ranker(), data, **{name: None})


@pytest.mark.parametrize("name", IN_PREDICT)
def test_what_to_say_in_place_is_told_by_predict(name, data):
    assert name not in parameters(SoftRanker.predict)
    with pytest.raises(TypeError, match=rf"^SoftRanker.predict: has no {name}=: "):
        ranker().predict(data.X, **{name: None})


def test_other_arguments_are_unexpected(data):
    with pytest.raises(TypeError, match="unexpected keyword argument 'gorup'"):
        fit(ranker(), data, gorup=None)
    with pytest.raises(TypeError, match="unexpected keyword argument 'Z'"):
        ranker().predict(data.X, Z=None)


@both
def test_every_parameter_of_the_boosters_rankers_is_there_or_told(booster):
    """And what is said to go into ``booster_params`` may."""
    for name in of_constructor(THEIRS[booster]) - parameters(SoftRanker.__init__):
        with pytest.raises(TypeError, match=rf"^SoftRanker: has no {name}=: ") as told:
            SoftRanker(booster, **{name: 1})
        if "booster_params" in str(told.value):
            SoftRanker(booster, booster_params={name: 1}).train_arguments([0, 1], group=[2])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"max_bin": 63}, "what only the booster knows goes into booster_params={'max_bin': ...}"),
        ({"colsample_bytree": 0.5}, "set the ranker's own colsample="),
        ({"booster": "xgboost", "min_child_weight": 2}, "set the ranker's own min_child_samples="),
        ({"min_child_weight": 2}, "what only the booster knows goes into booster_params={'min_child_weight': ...}"),
        ({"booster": "xgboost", "min_data_in_leaf": 5}, "set the ranker's own min_child_samples="),
        ({"booster": [], "objective": "lambdarank"}, "the ranker trains on its metric"),
        ({"importance_type": "split"}, "feature_importances_ are shares of the gain, and ranker.booster_ has the"),
        ({"n_estimator": 10}, "is n_estimators= meant?"),
        (
            {"metric": "dcg@10", "gain": "linear"},
            "it is an option of a metric, SoftRanker(metric=Metric(..., gain=...))",
        ),
        ({"k": 5}, "it is an option of a metric, SoftRanker(metric=Metric(..., k=...))"),
    ],
)
def test_the_constructor_tells_what_is_in_place_of_a_parameter(given, words):
    name = list(given)[-1]
    with pytest.raises(TypeError, match="^" + re.escape(f"SoftRanker: has no {name}=: {words}")):
        SoftRanker(**given)


def test_the_constructor_sends_arguments_of_fit_there():
    for name in parameters(SoftRanker.fit) - {"self", "X", "y"}:
        with pytest.raises(TypeError, match=rf"^SoftRanker: has no {name}=: give it to fit$"):
            SoftRanker(**{name: None})
    for name in set(IN_FIT) - parameters(SoftRanker.__init__):
        with pytest.raises(TypeError, match=rf"^SoftRanker: has no {name}=: ") as told:
            SoftRanker(**{name: None})
        assert "what only the booster knows" not in str(told.value)


def test_the_first_trees_are_where_predict_says(data):
    model = fit(ranker(random_state=1), data)
    found = next(model.staged_predict(data.X, every=3))
    assert found == pytest.approx(model.booster_.predict(data.X, num_iteration=3))
