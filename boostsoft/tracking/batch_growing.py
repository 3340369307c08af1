"""A model that is continued a few trees, again and again from where it stands, on one batch after another.

What the model scores on the pool is predicted once; a batch adds its own trees' scores. The model itself is read only.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..adapters.lightgbm_data import CATEGORIES, CUSTOM, OBJECTIVE, STOPPING, is_forest, refuse_classes
from ..adapters.xgboost_data import refuse_other_kinds, refuse_several_scores
from ..arguments import FloatArray, short
from ..ranker.lightgbm_trees import TAKEN
from ..stages import staged_lightgbm, staged_xgboost
from ..stages.blocks import refuse_no_trees, refuse_other_width
from .batch_data import CALLER, Batch
from .staged import STARTS, is_of, other_model, refuse_other_starts, soft_ranker

KNOWN = "a LightGBM Booster or LGBMRanker, an XGBoost Booster or XGBRanker, or a SoftRanker"
_ROUNDS = tuple(name for name, word in TAKEN.items() if word == "n_estimators")
_METRICS = tuple(name for name, word in TAKEN.items() if word == "eval_metric")
_GROWS = {"booster": "gbtree", "process_type": "default"}  # with others XGBoost forgets or changes the trees it has
_RANKING = ("lambdarank", "rank_xendcg", "xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart")


class NewTrees(NamedTuple):
    """Scores on the pool after the new trees, how many of these have a split, and whether there was what to learn."""

    scores: FloatArray
    n_trees: int
    taught: bool = True


class Grower(Protocol):
    """A model on a pool of documents.

    Attributes
    ----------
    before : (n_docs,) its scores there.
    n_features : how many columns it reads.
    by_order : whether it learns from the order of labels alone, so that equal labels teach it nothing.
    """

    before: FloatArray
    n_features: int
    by_order: bool

    def grow(self, batch: Batch) -> NewTrees:
        """Continue the model on a batch, from where it stood at first."""
        ...


def start_name(model: Any) -> str:
    """What the model's library calls a start of the scores; nothing for a SoftRanker, which has none."""
    if is_of(model, "lightgbm", "LGBMModel", "Booster"):
        return "init_score"
    if is_of(model, "xgboost", "XGBModel", "Booster"):
        return "base_margin"
    if soft_ranker(model) is not None:
        return ""
    raise other_model(CALLER, KNOWN, model)


def open_grower(
    model: Any,
    X: Any,
    n_trees: int,
    params: Mapping[str, Any] | None,
    own: str,
    starts: Mapping[str, FloatArray | None],
) -> Grower:
    """Check that the model, whose start is called its ``own`` name, can be continued, and score the pool."""
    refuse_other_starts(CALLER, starts, STARTS.get(own, "SoftRanker"), own)
    if params is not None:
        _check_params(params)
    kinds: dict[str, Any] = {"init_score": LightGBMGrower, "base_margin": XGBoostGrower, "": RankerGrower}
    grower: Grower = kinds[own](model, X, n_trees, params, starts.get(own))
    return grower


class LightGBMGrower:
    """Trees of ``lgb.train`` that start from the model's raw scores, as with ``init_model=``.

    They are kept apart from the model's own, so that a batch may have an ``init_score``, which ``init_model`` would
    override, and categories of its own.
    """

    def __init__(
        self, model: Any, X: Any, n_trees: int, params: Mapping[str, Any] | None, start: FloatArray | None
    ) -> None:
        self.booster = model.booster_ if is_of(model, "lightgbm", "LGBMModel") else model
        refuse_classes(CALLER, self.booster)
        refuse_no_trees(CALLER, self.booster.num_trees())
        self.n_features = int(self.booster.num_feature())
        refuse_other_width(CALLER, X, self.n_features)
        self.params, self.n_trees = self._settled(model, params), n_trees
        self.by_order = self.params["objective"] in _RANKING or _is_ours(self.params["objective"])
        self.pool = staged_lightgbm.as_lightgbm_reads(CALLER, self.booster, X)
        self.before = self._raw(self.booster, self.pool)
        if start is not None:
            self.before = self.before + start
        self.categorical = _categories(self.booster)

    def grow(self, batch: Batch) -> NewTrees:
        """Train new trees on the batch."""
        import lightgbm

        rows = staged_lightgbm.as_lightgbm_reads(CALLER, self.booster, batch.X)
        start = self._raw(self.booster, rows)
        data = lightgbm.Dataset(
            rows,
            batch.labels,
            group=batch.groups.sizes,
            weight=None if batch.weights is None else batch.groups.per_document(batch.weights),
            init_score=start if batch.start is None else start + batch.start,
            categorical_feature=self.categorical or "auto",
        )
        booster = lightgbm.train(self.params, data, self.n_trees)
        return NewTrees(self.before + self._raw(booster, self.pool), _splits(booster, 0))

    def _raw(self, booster: Any, X: Any) -> FloatArray:
        return np.asarray(booster.predict(X, raw_score=True), dtype=np.float64)

    def _settled(self, model: Any, params: Mapping[str, Any] | None) -> dict[str, Any]:
        found = dict(self.booster.params if params is None else params)
        for name in OBJECTIVE:
            if name in found:
                found.setdefault("objective", found.pop(name))
        if is_forest(found) or staged_lightgbm.is_averaged(self.booster):
            raise ValueError(f"{CALLER}: model must be boosted: a random forest's trees do not continue one another")
        if params is None and found.get("objective") in (None, *CUSTOM):
            objective = getattr(model, "objective", None)
            if not callable(objective):
                raise ValueError(
                    f"{CALLER}: model does not remember its objective (a function, or read from a text by LightGBM "
                    "before 4.7): give its parameters with it, params={'objective': ..., ...}"
                )
            found["objective"] = _AsTrainCalls(objective)
        elif "objective" not in found:
            raise ValueError(f"{CALLER}: params must hold the objective; got {', '.join(found) or 'none'}")
        dropped = (*_ROUNDS, *STOPPING, *_METRICS, *CATEGORIES, "verbose", "verbosity")
        kept = {name: value for name, value in found.items() if name not in dropped}
        return kept | {"metric": "None", "verbosity": -1}


class XGBoostGrower:
    """Rounds of ``xgb.train(xgb_model=...)``, which sets ``params`` over what the model remembers of its own."""

    def __init__(
        self, model: Any, X: Any, n_trees: int, params: Mapping[str, Any] | None, start: FloatArray | None
    ) -> None:
        self.model, self.n_trees = model, n_trees
        booster, self.pool = staged_xgboost.on_data(CALLER, model, X)
        self.n_features = int(booster.num_features())
        learner = json.loads(booster.save_config())["learner"]
        refuse_other_kinds(CALLER, "model", learner)
        refuse_several_scores(CALLER, learner)
        refuse_no_trees(CALLER, booster.num_boosted_rounds())
        best = None if booster is model else getattr(model, "best_iteration", None)
        self.booster = booster if best is None else booster[: best + 1]  # those that the estimator predicts with
        self.params, self.objective, self.by_order = _xgboost_params(params, learner["objective"]["name"])
        self.ranks = self.by_order or self.objective is not None  # a function may want the queries
        if start is not None:
            self.pool.set_base_margin(start)
        scores = self.booster.predict(self.pool, output_margin=True)
        self.pool.set_base_margin(scores)
        self.before = scores.astype(np.float64)

    def grow(self, batch: Batch) -> NewTrees:
        """Train new rounds on the batch."""
        import xgboost

        _, data = staged_xgboost.on_data(CALLER, self.model, batch.X)
        data.set_info(label=batch.labels)
        if self.ranks:
            data.set_info(group=batch.groups.sizes)
        if batch.weights is not None:  # of rows where there are no queries
            data.set_info(weight=batch.weights if self.ranks else batch.groups.per_document(batch.weights))
        if batch.start is not None:
            data.set_info(base_margin=batch.start)
        # otherwise what a continued training draws depends on what was trained before
        params = {"seed_per_iteration": True, **self.params}
        booster = xgboost.train(
            params, data, self.n_trees, xgb_model=self.booster, obj=self.objective, verbose_eval=False
        )
        first, last = self.booster.num_boosted_rounds(), booster.num_boosted_rounds()
        scores = booster.predict(self.pool, output_margin=True, iteration_range=(first, last))
        return NewTrees(scores.astype(np.float64), _splits(booster, first))


class RankerGrower:
    """Another :class:`SoftRanker` with the same parameters that continues the fitted one."""

    def __init__(self, model: Any, X: Any, n_trees: int, params: Mapping[str, Any] | None, start: None) -> None:
        from sklearn.base import clone

        self.model, self.pool, self.by_order = model, X, True
        self.before = model.predict(X)
        self.n_features = int(model.n_features_in_)
        self.ranker = clone(model).set_params(early_stopping_rounds=None, validation_fraction=None, n_boosters=1)
        self.ranker.set_params(**{**(params or {}), "n_estimators": n_trees})

    def grow(self, batch: Batch) -> NewTrees:
        """Fit on the batch, from the fitted trees."""
        rows = None if batch.weights is None else batch.groups.per_document(batch.weights)
        queries = {} if self.ranker.qid_column is not None else {"group": batch.groups}
        self.ranker.fit(batch.X, batch.labels, sample_weight=rows, init_model=self.model, **queries)
        return NewTrees(self.ranker.predict(self.pool), _splits(self.ranker.booster_, self.model.best_iteration_))


def _check_params(params: Mapping[str, Any]) -> None:
    if not isinstance(params, Mapping) or not all(isinstance(name, str) for name in params):
        raise TypeError(f"{CALLER}: params must be a dict of names and values; got {short(params)}")
    rounds = [name for name in params if name in _ROUNDS]
    if rounds:
        raise ValueError(f"{CALLER}: params must not hold {rounds[0]!r}: n_trees= says how many trees to grow")


def _xgboost_params(params: Mapping[str, Any] | None, remembered: str) -> tuple[dict[str, Any], Any, bool]:
    """Parameters without an objective that is a function, that function, and whether the objective ranks."""
    given = {name: value for name, value in (params or {}).items() if name not in STOPPING}
    for name, grows in _GROWS.items():
        if given.get(name, grows) != grows:
            raise ValueError(f"{CALLER}: params must leave {name} at {grows!r}, to go on; got {given[name]!r}")
    objective = given.get("objective")
    if callable(objective):
        del given["objective"]
        return {"disable_default_eval_metric": True, **given}, objective, _is_ours(objective)
    if objective is None and remembered == "reg:squarederror":
        raise ValueError(
            f"{CALLER}: model's objective is reg:squarederror, XGBoost's default, which a model trained on a function "
            "remembers too: give the objective, params={'objective': ...}"
        )
    return given, None, (objective or remembered).startswith("rank:")


def _is_ours(objective: Any) -> bool:
    """Whether an objective is of this package, all of which rank."""
    rule = getattr(objective, "rule", None) or getattr(getattr(objective, "function", None), "rule", None)
    return rule is not None


class _AsTrainCalls:
    """An objective of LGBMRanker's form, (y_true, y_pred[, weight[, group]]), as ``lgb.train`` calls it."""

    def __init__(self, function: Any) -> None:
        self.function, self.n = function, len(inspect.signature(function).parameters)

    def __call__(self, preds: Any, train_data: Any) -> Any:
        arguments = (train_data.get_label(), preds, train_data.get_weight(), train_data.get_group())
        return self.function(*arguments[: self.n])


def _categories(booster: Any) -> list[int]:
    """The features that a LightGBM model splits by category."""
    model = booster.dump_model(num_iteration=1)
    infos = model["feature_infos"]
    return [at for at, name in enumerate(model["feature_names"]) if infos.get(name, {}).get("values")]


def _splits(booster: Any, first: int) -> int:
    """How many trees from the ``first`` on have a split."""
    if hasattr(booster, "dump_model") and hasattr(booster, "num_trees"):
        return sum(tree["num_leaves"] > 1 for tree in booster.dump_model(start_iteration=first)["tree_info"])
    return sum(text.count("\n") > 1 for text in booster[first:].get_dump())
