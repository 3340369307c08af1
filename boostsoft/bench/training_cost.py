"""Whole training runs: 100 trees of 63 leaves on 136 features, our objective next to the boosters' own."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np

from .. import lightgbm as soft_lightgbm
from .. import xgboost as soft_xgboost
from ..kernels.threads import n_threads
from .peers import Peers
from .pools import Pool
from .results import Column, Section, Target
from .settings import Settings
from .timing import Contender, Watcher, interleave, ratio, timed

WALL = Target(1.1, "<= 1.1x lambdarank")
PAIRS, STOCK_PAIRS = 10, 32  # how many documents at the top rank:ndcg pairs with all others, and by default
_REFERENCES = {"LightGBM": "LightGBM lambdarank", "XGBoost": f"XGBoost rank:ndcg, topk {STOCK_PAIRS}"}
_COLUMNS = (
    Column("name", "objective"),
    Column("wall", "wall time, s", "s"),
    Column("reference", "x the booster's own", "ratio"),
    Column("leaves", "leaves per tree", "number"),
    Column("targets", "targets", "targets"),
)
_NOTE = (
    "{trees} trees of at most {leaves} leaves on {features} features, learning rate .1, no evaluation; the data is "
    "binned beforehand. Ratios to LightGBM's lambdarank and to XGBoost's rank:ndcg at their stock truncations, 30 and "
    "{pairs}, within each of {rounds} rounds."
)


class _Runs:
    """Training runs on one set of features; the last model of each, to count its leaves."""

    def __init__(self, pool: Pool, settings: Settings) -> None:
        self._pool, self._settings = pool, settings
        self.models: dict[str, Any] = {}
        X = pool.features()
        self.n_features = X.shape[1]
        self._lightgbm = cache(lambda: lightgbm_data(pool, X))
        self._xgboost = cache(lambda: xgboost_data(pool, X))

    def contender(self, name: str, objective: Any, pairs: int = PAIRS) -> Contender:
        """A run of the booster that the name begins with, and so many pairs of rank:ndcg; five trees warm up."""

        def train(trees: int) -> None:
            if name.startswith("LightGBM"):
                self.models[name] = self._lightgbm_run(objective, trees)
            else:
                self.models[name] = self._xgboost_run(objective, trees, pairs)

        trees = self._settings.trees
        measure = timed(lambda: train(trees))
        return Contender(name, measure, peer=not callable(objective), warm_up=lambda: train(min(trees, 5)))

    def _lightgbm_run(self, objective: Any, trees: int) -> str:
        import lightgbm as lgb

        parameters = lightgbm_parameters(objective, self._settings)
        booster = lgb.train(parameters, self._lightgbm(), trees)
        return str(booster.model_to_string())

    def _xgboost_run(self, objective: Any, trees: int, pairs: int) -> str:
        import xgboost as xgb

        parameters = xgboost_parameters(objective, self._settings, pairs)
        booster = xgb.train(parameters, self._xgboost(), trees, obj=objective if callable(objective) else None)
        return "\n".join(booster.get_dump())


def lightgbm_parameters(objective: Any, settings: Settings) -> dict[str, Any]:
    """Trees of LightGBM without an evaluation, as large as XGBoost's below."""
    return {
        "objective": objective,
        "metric": "None",
        "num_leaves": settings.leaves,
        "learning_rate": 0.1,
        "num_threads": n_threads(),
        "verbosity": -1,
    }


def xgboost_parameters(objective: Any, settings: Settings, pairs: int = PAIRS) -> dict[str, Any]:
    """Trees of XGBoost grown as LightGBM's; an objective of its own pairs so many documents at the top with all."""
    top = {"lambdarank_pair_method": "topk", "lambdarank_num_pair_per_sample": pairs}
    return {
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_depth": 0,
        "max_leaves": settings.leaves,
        "eta": 0.1,
        "base_score": 0,
        "disable_default_eval_metric": True,
        "nthread": n_threads(),
        **({} if callable(objective) else {"objective": objective, **top}),
    }


def measure_training(pool: Pool, settings: Settings, peers: Peers, watcher: Watcher) -> Section:
    """Time whole training runs on a pool."""
    runs = _Runs(pool, settings)
    contenders = [
        runs.contender("LightGBM lambdarank", "lambdarank"),
        runs.contender("LightGBM, boostsoft gaussian", soft_lightgbm.objective("ndcg@10")),
        runs.contender("LightGBM, boostsoft gumbel", soft_lightgbm.objective("ndcg@10", noise="gumbel")),
        runs.contender("LightGBM rank_xendcg", "rank_xendcg"),
    ]
    if peers.has("xgboost"):
        contenders += [runs.contender(f"XGBoost rank:ndcg, topk {n}", "rank:ndcg", n) for n in (PAIRS, STOCK_PAIRS)]
        contenders.append(runs.contender("XGBoost, boostsoft gaussian", soft_xgboost.objective("ndcg@10")))
    rounds = interleave(contenders, settings.training_rounds, watcher)
    rows = []
    for name in rounds.seconds:
        row: dict[str, Any] = {"name": name, "wall": rounds.spread(name), "leaves": leaves_per_tree(runs.models[name])}
        reference = _REFERENCES["LightGBM" if name.startswith("LightGBM") else "XGBoost"]
        if reference in rounds.seconds and name != reference:
            row["reference"] = ratio(rounds.seconds[name], rounds.seconds[reference])
            if pool.key == "synthetic" and name.startswith("LightGBM, "):
                row["targets"] = [WALL.judge(row["reference"])]
        rows.append(row)
    note = _NOTE.format(
        trees=settings.trees,
        leaves=settings.leaves,
        features=runs.n_features,
        pairs=STOCK_PAIRS,
        rounds=settings.training_rounds,
    )
    title = f"Training ({pool.name})"
    return Section(f"training_{pool.key}", title, note, _COLUMNS, rows, rounds, rounds.left_out)


def leaves_per_tree(model: str) -> float:
    r"""Mean number of leaves, from LightGBM's text or XGBoost's dump of a model.

    >>> leaves_per_tree("num_leaves=3\n...\nnum_leaves=5\n")
    4.0
    >>> leaves_per_tree("0:[f0<1] yes=1,no=2\n\t1:leaf=.5\n\t2:leaf=-.5\n")
    2.0
    """
    stated = re.findall(r"^num_leaves=(\d+)$", model, re.MULTILINE)
    if stated:
        return float(np.mean([int(count) for count in stated]))
    trees = len(re.findall(r"^0:", model, re.MULTILINE))
    return len(re.findall(r":leaf=", model)) / max(trees, 1)


def lightgbm_data(pool: Pool, X: Any) -> Any:
    """The pool as LightGBM trains on it, binned."""
    import lightgbm as lgb

    parameters = {"verbosity": -1, "num_threads": n_threads()}
    return lgb.Dataset(X, pool.labels, group=pool.sizes, params=parameters).construct()


def xgboost_data(pool: Pool, X: Any) -> Any:
    """The pool as XGBoost trains on it, binned."""
    import xgboost as xgb

    return xgb.QuantileDMatrix(X, pool.labels, group=pool.sizes, nthread=n_threads())
