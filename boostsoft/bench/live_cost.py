"""What the callback costs while a booster trains: whole runs with it and without, and what it takes itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .. import lightgbm as soft_lightgbm
from .. import xgboost as soft_xgboost
from ..kernels.threads import n_threads
from .boosting import MOST_OF_LAMBDARANK
from .peers import Peers
from .pools import Pool, synthetic_pool
from .results import Column, Section, Target
from .settings import Settings
from .timing import Contender, Spread, Watcher, interleave, ratio
from .training_cost import lightgbm_data, lightgbm_parameters, xgboost_data, xgboost_parameters

LIVE = Target(1.05, "<= 1.05x")
INSIDE = Target(0.05, "itself <= .05")
CALLBACK, OWN = ", tracked", ", its own ndcg@10"
_COLUMNS = (
    Column("name", "training"),
    Column("tree", "ms per tree", "ms"),
    Column("ratio", "x without it", "ratio"),
    Column("inside", "inside the callback, ms per tree", "ms"),
    Column("share", "that over the rest", "ratio"),
    Column("targets", "targets", "targets"),
)
_NOTE = (
    "{trees} trees of at most {leaves} leaves on {features} features; every tree is measured on {queries:,} other "
    "queries: tracked, in ndcg@10, hard and soft (sigma .2 of the spread), or in the booster's own ndcg@10. Without, "
    "the booster is given the same queries and measures nothing. Ratios within each of {rounds} rounds."
)


def measure_live(pool: Pool, settings: Settings, peers: Peers, watcher: Watcher) -> Section:
    """Time training runs with the callback at every tree, and without it."""
    runs = _Runs(pool, settings)
    contenders = [
        *runs.contenders("LightGBM lambdarank", "lambdarank", own=True),
        *runs.contenders("LightGBM, boostsoft gaussian", soft_lightgbm.objective("ndcg@10")),
    ]
    if peers.has("xgboost"):
        contenders += runs.contenders("XGBoost rank:ndcg, topk 10", "rank:ndcg", own=True)
        contenders += runs.contenders("XGBoost, boostsoft gaussian", soft_xgboost.objective("ndcg@10"))
    rounds = interleave(contenders, settings.rounds, watcher)
    trees, rows = settings.live_trees, []
    for name in rounds.seconds:
        row: dict[str, Any] = {"name": name, "tree": rounds.spread(name).times(1e3 / trees)}
        without = name.removesuffix(CALLBACK).removesuffix(OWN)
        if name != without and without in rounds.seconds:
            row["ratio"] = ratio(rounds.seconds[name], rounds.seconds[without])
        if name in runs.inside:
            inside = np.array(runs.inside[name])
            row["inside"] = Spread.of(inside).times(1e3 / trees)
            row["share"] = ratio(inside, rounds.seconds[name] - inside)
            if not settings.quick and "ratio" in row:
                row["targets"] = [LIVE.judge(row["ratio"]), INSIDE.judge(row["share"])]
        rows.append(row)
    note = _NOTE.format(
        trees=trees,
        leaves=settings.leaves,
        features=runs.X.shape[1],
        queries=runs.valid.n_queries,
        rounds=settings.rounds,
    )
    title = f"Tracking while training ({pool.name})"
    return Section("tracking_live", title, note, _COLUMNS, rows, rounds, rounds.left_out)


class _Runs:
    """Training runs on one set of features, with a fifth as many other queries to measure on.

    Attributes
    ----------
    inside : seconds spent in the callback, for each name and round that counts.
    """

    def __init__(self, pool: Pool, settings: Settings) -> None:
        self.valid = synthetic_pool(max(pool.n_queries // 5, 2), seed=settings.seed + 1)
        self.X, self._settings = pool.features(), settings
        self._longest = int(pool.sizes.max())
        self.inside: dict[str, list[float]] = {}
        self._lightgbm_data = cache(lambda: _lightgbm_data(pool, self.X, self.valid))
        self._xgboost_data = cache(lambda: _xgboost_data(pool, self.X, self.valid))

    def contenders(self, name: str, objective: Any, *, own: bool = False) -> list[Contender]:
        """A run that measures nothing, one that is tracked and, if ``own``, one with the booster's own metric."""
        suffixes = ["", CALLBACK, OWN] if own else ["", CALLBACK]
        if objective == "lambdarank" and self._longest > MOST_OF_LAMBDARANK:
            suffixes.remove(CALLBACK)  # the others are a peer's, which say themselves why they are left out
        return [self._contender(name + suffix, objective, suffix) for suffix in suffixes]

    def _contender(self, name: str, objective: Any, suffix: str) -> Contender:
        run = self._lightgbm_run if name.startswith("LightGBM") else self._xgboost_run
        trees = self._settings.live_trees

        def measure() -> float:
            started, clock = time.perf_counter(), _Clock()
            run(objective, suffix, trees, clock)
            seconds = time.perf_counter() - started
            if suffix == CALLBACK:
                self.inside.setdefault(name, []).append(clock.seconds)
            return seconds

        peer = not callable(objective) and suffix != CALLBACK
        return Contender(name, measure, peer, warm_up=lambda: run(objective, suffix, min(trees, 2), _Clock()))

    def _lightgbm_run(self, objective: Any, suffix: str, trees: int, clock: _Clock) -> None:
        import lightgbm as lgb

        train, valid = self._lightgbm_data()
        evaluation = {"metric": "ndcg" if suffix == OWN else "None", "eval_at": [10]}
        parameters = {**lightgbm_parameters(objective, self._settings), **evaluation}
        callbacks = []
        if suffix == CALLBACK:
            callback = soft_lightgbm.track_callback(progress=False)
            clocked = clock.around(callback)
            clocked.__dict__.update(order=callback.order, before_iteration=False)
            callbacks = [clocked]
        lgb.train(parameters, train, trees, valid_sets=[valid], callbacks=callbacks)

    def _xgboost_run(self, objective: Any, suffix: str, trees: int, clock: _Clock) -> None:
        import xgboost as xgb

        train, valid = self._xgboost_data()
        evaluation = {"eval_metric": "ndcg@10"} if suffix == OWN else {}
        parameters = {**xgboost_parameters(objective, self._settings), **evaluation}
        callbacks = []
        if suffix == CALLBACK:
            callback = soft_xgboost.TrackCallback(valid, progress=False)
            for step in ("before_training", "after_iteration", "after_training"):
                setattr(callback, step, clock.around(getattr(callback, step)))
            callbacks = [callback]
        xgb.train(
            parameters, train, trees, evals=[(valid, "valid")], verbose_eval=False, callbacks=callbacks,
            obj=objective if callable(objective) else None,
        )  # fmt: skip


class _Clock:
    """Seconds spent in what it is put around."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The same call, timed."""

        def clocked(*arguments: Any, **named: Any) -> Any:
            started = time.perf_counter()
            try:
                return call(*arguments, **named)
            finally:
                self.seconds += time.perf_counter() - started

        return clocked


def _lightgbm_data(pool: Pool, X: Any, valid: Pool) -> tuple[Any, Any]:
    import lightgbm as lgb

    train, parameters = lightgbm_data(pool, X), {"verbosity": -1, "num_threads": n_threads()}
    other = lgb.Dataset(valid.features(), valid.labels, group=valid.sizes, reference=train, params=parameters)
    return train, other.construct()


def _xgboost_data(pool: Pool, X: Any, valid: Pool) -> tuple[Any, Any]:
    import xgboost as xgb

    return xgboost_data(pool, X), xgb.DMatrix(valid.features(), valid.labels, group=valid.sizes, nthread=n_threads())
