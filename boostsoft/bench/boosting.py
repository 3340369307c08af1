"""One boosting iteration of every booster on one-feature data, so that the objective is nearly all of it.

The feature says nothing, a tree has two leaves and the learning rate is next to nothing, so that scores stay where
they are put: at the pool's, by init_score, base_margin or baseline. What the iteration costs with a plain regression
objective is subtracted by whoever asks. All boosters run on as many threads as boostsoft.
``at_least`` is how many seconds of iterations a measurement takes the mean of.
"""

from __future__ import annotations

import time
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.threads import n_threads
from .pools import Pool
from .timing import Measure, timed

RATE = 1e-9
CATBOOST_ITERATIONS = 3
MOST_OF_LAMBDARANK = 10_000  # documents per query; LightGBM refuses more


def _feature(pool: Pool) -> NDArray[np.float32]:
    """A coin for every document: the cheapest feature that can be split on."""
    return np.random.default_rng(pool.seed).integers(0, 2, (pool.labels.size, 1)).astype(np.float32)


class LightGBMIterations:
    """Iterations of LightGBM on a pool; one Dataset for each scale of the scores."""

    def __init__(self, pool: Pool, at_least: float) -> None:
        self._pool, self._at_least = pool, at_least
        self._datasets: dict[float, Any] = {}

    def measure(self, objective: Any, sigma: float = 1.0, **parameters: Any) -> Measure:
        """Seconds of an iteration with LightGBM's objective of a name, or a callable one that has a sigma of 1."""
        import lightgbm as lgb

        ours = callable(objective)
        settings = {
            "objective": "none" if ours else objective,
            "num_leaves": 2,
            "learning_rate": RATE,
            "metric": "None",
            "min_data_in_leaf": 1,
            "min_sum_hessian_in_leaf": 0.0,
            "num_threads": n_threads(),
            "verbosity": -1,
            **parameters,
        }

        @cache
        def booster() -> Any:  # made when first used: a peer that refuses the data is left out, not an error
            return lgb.Booster(settings, self._dataset(sigma))

        def update() -> None:
            booster().update(fobj=objective if ours else None)

        return timed(update, self._at_least)

    def _dataset(self, sigma: float) -> Any:
        import lightgbm as lgb

        if sigma not in self._datasets:
            pool = self._pool
            self._datasets[sigma] = lgb.Dataset(
                _feature(pool),
                pool.labels,
                group=pool.sizes,
                init_score=pool.scores / sigma,
                params={"feature_pre_filter": False, "min_data_in_bin": 1, "verbosity": -1, "num_threads": n_threads()},
            ).construct()
        return self._datasets[sigma]


class XGBoostIterations:
    """Iterations of XGBoost on a pool; one DMatrix for each scale of the scores."""

    def __init__(self, pool: Pool, at_least: float) -> None:
        self._pool, self._at_least = pool, at_least
        self._matrices: dict[float, Any] = {}

    def measure(self, objective: Any, sigma: float = 1.0, **parameters: Any) -> Measure:
        """Seconds of an iteration with XGBoost's objective of a name, or a callable one that has a sigma of 1."""
        import xgboost as xgb

        ours = callable(objective)
        settings = {
            "max_depth": 1,
            "eta": RATE,
            "tree_method": "hist",
            "base_score": 0.0,
            "disable_default_eval_metric": True,
            "nthread": n_threads(),
            **({} if ours else {"objective": objective}),
            **parameters,
        }

        @cache
        def booster() -> Any:
            return xgb.Booster(settings, [self._matrix(sigma)])

        def update() -> None:
            grown = booster().num_boosted_rounds()
            booster().update(self._matrix(sigma), grown, fobj=objective if ours else None)

        return timed(update, self._at_least)

    def _matrix(self, sigma: float) -> Any:
        import xgboost as xgb

        if sigma not in self._matrices:
            pool = self._pool
            self._matrices[sigma] = xgb.DMatrix(
                _feature(pool), pool.labels, group=pool.sizes, base_margin=pool.scores / sigma, nthread=n_threads()
            )
        return self._matrices[sigma]


class CatBoostIterations:
    """Iterations of CatBoost on a pool, timed between its callbacks."""

    def __init__(self, pool: Pool) -> None:
        self._source = pool

    def measure(self, objective: str) -> Measure:
        """Seconds of an iteration: the median of those after the first of a fit."""

        def fit() -> float:
            import catboost

            ticks: list[float] = []
            settings = {
                "loss_function": objective,
                "iterations": CATBOOST_ITERATIONS + 1,
                "depth": 1,
                "learning_rate": 1e-5,  # CatBoost takes 1e-7 for zero
                "boosting_type": "Plain",
                "leaf_estimation_iterations": 1,
                "thread_count": n_threads(),
                "metric_period": 10**6,
                "logging_level": "Silent",
                "allow_writing_files": False,
            }
            catboost.CatBoost(settings).fit(self._pool, callbacks=[_Ticker(ticks)])
            return float(np.median(np.diff(ticks)))

        return fit

    @cached_property
    def _pool(self) -> Any:
        import catboost

        pool = self._source
        return catboost.Pool(_feature(pool), pool.labels, group_id=pool.qid, baseline=pool.scores[:, None])


class _Ticker:
    """A CatBoost callback that notes the time after every iteration."""

    def __init__(self, ticks: list[float]) -> None:
        self._ticks = ticks

    def after_iteration(self, _: Any) -> bool:
        """Note the time and go on."""
        self._ticks.append(time.perf_counter())
        return True
