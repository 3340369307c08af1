"""A booster's own callbacks in ``fit``, and what arguments of its own ranker's ``fit`` are called here."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from ..arguments import short
from .settings import FIT, Settings
from .training import Trees

_Self = TypeVar("_Self")
_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")

_START = "trees to start from are init_model=, and scores belong to data of lgb.train(**ranker.train_arguments(...))"
_MARGIN = "trees to start from are init_model=, and margins belong to data of xgb.train(**ranker.train_arguments(...))"
_PAIRS = "evaluation sets are eval_set=[(X, y)]"
# arguments of LGBMRanker.fit and XGBRanker.fit, now or once, and what is to be said here
IN_PLACE = {
    "init_score": _START,
    "eval_init_score": _START,
    "base_margin": _MARGIN,
    "base_margin_eval_set": _MARGIN,
    "xgb_model": "trees to start from are init_model=",
    "eval_X": _PAIRS,
    "eval_y": _PAIRS,
    "eval_names": "evaluation sets are called valid_0, valid_1 and so on",
    "eval_at": "a metric has its cutoff, as in SoftRanker(eval_metric=['ndcg@5', 'ndcg@10'])",
    "eval_metric": "it is a parameter, SoftRanker(eval_metric=...)",
    "early_stopping_rounds": "it is a parameter, SoftRanker(early_stopping_rounds=...)",
    "sample_weight_eval_set": "weights are eval_query_weight=, one per query, or eval_sample_weight=, one per row",
    "feature_name": "names are those of the columns, if X is a frame",
    "categorical_feature": "categories are columns of dtype category, if X is a frame",
    "feature_weights": "they belong to data of xgb.train(**ranker.train_arguments(...))",
    "verbose": "SoftRanker(progress=True) shows a bar, and a log is a callback, lgb.log_evaluation() or "
    "xgb.callback.EvaluationMonitor()",
}  # fmt: skip


def telling(
    fit: Callable[Concatenate[_Self, _Given], _Found],
) -> Callable[Concatenate[_Self, _Given], _Found]:
    """A ``fit`` that tells whoever comes from a booster's own ranker where its arguments are."""

    @wraps(fit)
    def checked(self: _Self, /, *args: _Given.args, **given: _Given.kwargs) -> _Found:
        for name in given:
            if name in IN_PLACE:
                raise TypeError(f"{FIT}: has no {name}=: {IN_PLACE[name]}")
        return fit(self, *args, **given)

    return checked


def read_callbacks(settings: Settings, trees: Trees, given: Any) -> tuple[Any, ...]:
    """The callbacks, checked: they know one booster, whose trees follow each other in one curve."""
    if given is None:
        return ()
    if not isinstance(given, (list, tuple)) or not all(map(trees.is_callback, given)):
        raise TypeError(f"{FIT}: callbacks must be a list of {trees.CALLBACKS}; got {short(given)}")
    if given and settings.n_boosters != 1:
        raise ValueError(
            f"{FIT}: callbacks follow the trees of one booster: set n_boosters=1; got {settings.n_boosters} boosters"
        )
    return tuple(given)
