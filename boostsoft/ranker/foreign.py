"""Arguments of the boosters' own rankers, and what they are called here."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from ..metrics.spec import OPTIONS
from . import lightgbm_trees
from .fitted import TREES

_Self = TypeVar("_Self")
_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")
_Method = Callable[Concatenate[_Self, _Given], _Found]

_START = (
    "a model to go on from is init_model=; to start from scores give them to the Dataset of "
    "lgb.train(**ranker.train_arguments(...))"
)
_MARGIN = (
    "a model to go on from is init_model=; to start from margins give them to the DMatrix of "
    "xgb.train(**ranker.train_arguments(...))"
)
_WEIGHTS = "give them to the DMatrix of xgb.train(**ranker.train_arguments(...))"
# arguments of LGBMRanker.fit and XGBRanker.fit, now or once, and what is to be said here
IN_FIT = {
    "init_score": _START,
    "eval_init_score": _START,
    "base_margin": _MARGIN,
    "base_margin_eval_set": _MARGIN,
    "xgb_model": "a model to go on from is init_model=",
    "eval_names": "evaluation sets are called valid_0, valid_1 and so on",
    "eval_at": "a metric has its cutoff, as in SoftRanker(eval_metric=['ndcg@5', 'ndcg@10'])",
    "eval_metric": "it is a parameter, SoftRanker(eval_metric=...)",
    "early_stopping_rounds": "it is a parameter, SoftRanker(early_stopping_rounds=...)",
    "sample_weight_eval_set": "weights are eval_query_weight=, one per query, or eval_sample_weight=, one per row",
    "feature_name": "names are those of the columns, if X is a frame",
    "categorical_feature": "categories are columns of dtype category, if X is a frame",
    "feature_weights": _WEIGHTS,
    "verbose": "SoftRanker(progress=True) shows a bar, and a log is a callback, lgb.log_evaluation() or "
    "xgb.callback.EvaluationMonitor()",
}  # fmt: skip
_FIRST_TREES = "next(ranker.staged_predict(X, every=n)) has the scores of the first n trees"
_OWN_SCORES = "scores are the booster's raw ones always"
_OF_BOOSTER = "ranker.booster_ has it, whose predict takes the columns that were features"
# the same of their predict
IN_PREDICT = {
    "num_iteration": _FIRST_TREES,
    "start_iteration": _FIRST_TREES,
    "iteration_range": _FIRST_TREES,
    "ntree_limit": _FIRST_TREES,
    "raw_score": _OWN_SCORES,
    "output_margin": _OWN_SCORES,
    "pred_leaf": _OF_BOOSTER,
    "pred_contrib": _OF_BOOSTER,
    "pred_contribs": _OF_BOOSTER,
    "pred_interactions": _OF_BOOSTER,
    "base_margin": "margins belong to data of ranker.booster_.predict(xgb.DMatrix(...))",
    "validate_features": "the columns of X are always compared with those of fit",
    "predict_disable_shape_check": "X must have the columns of fit",
    "group": "a score is of a row, whatever its query",
    "qid": "a score is of a row, whatever its query",
    "n_jobs": "it is a parameter, SoftRanker(n_jobs=...)",
}
_OF_FIT = (
    "group", "qid", "sample_weight", "query_weight", "eval_set", "eval_X", "eval_y", "eval_group", "eval_qid",
    "eval_sample_weight", "eval_query_weight", "init_model", "callbacks",
)  # fmt: skip
# the same of their constructors, beside what the boosters' modules have for their parameters
IN_PARAMETERS = {
    **dict.fromkeys(_OF_FIT, "give it to fit"),
    "class_weight": "weights are arguments of fit, sample_weight= or query_weight=",
    "enable_categorical": "columns of dtype category are split as such, if X is a frame",
    "feature_types": "categories are columns of dtype category, if X is a frame",
    "feature_weights": _WEIGHTS,
    "importance_type": "feature_importances_ are shares of the gain, and ranker.booster_ has the others",
    "missing": "what is missing is NaN",
}


def as_parameter(name: str, own: Iterable[str], booster: Any = "lightgbm", *_: Any, **__: Any) -> str:
    """Say what to do with another parameter, given the ranker's ``own`` and what it is constructed with."""
    trees = TREES.get(str(booster), lightgbm_trees)
    taken = {**lightgbm_trees.TAKEN, **trees.TAKEN}  # XGBoost does not know LightGBM's names
    if name in taken:
        return f"set the ranker's own {taken[name]}="
    if name in trees.SETTLED:
        return trees.SETTLED[name]
    if name in IN_FIT:
        return IN_FIT[name]
    if name in (*OPTIONS, "k"):
        return f"it is an option of a metric, SoftRanker(metric=Metric(..., {name}=...))"
    for nearest in difflib.get_close_matches(name, own, n=1, cutoff=0.8):
        return f"is {nearest}= meant?"
    return f"what only the booster knows goes into booster_params={{{name!r}: ...}}"


def telling(
    caller: str, words: Mapping[str, str], others: Callable[..., str] | None = None
) -> Callable[[_Method[_Self, _Given, _Found]], _Method[_Self, _Given, _Found]]:
    """Have a method tell whoever comes from a booster's own ranker where its arguments are.

    ``others`` says so of those that ``words`` lack, called with the name, the method's own and what that is called
    with; without it Python does.
    """

    def told(method: _Method[_Self, _Given, _Found]) -> _Method[_Self, _Given, _Found]:
        own = list(inspect.signature(method).parameters)[1:]

        @wraps(method)  # which is also where scikit-learn finds the parameters
        def checked(self: _Self, /, *args: _Given.args, **given: _Given.kwargs) -> _Found:
            for name in given:
                if name not in own and (name in words or others is not None):
                    said = words[name] if others is None or name in words else others(name, own, *args, **given)
                    raise TypeError(f"{caller}: has no {name}=: {said}")
            return method(self, *args, **given)

        return checked

    return told
