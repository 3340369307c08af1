"""What tracking costs: here a finished model, measured after each of its 1,000 trees; the callback in ``live_cost``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arguments import FloatArray
from ..kernels.threads import n_threads
from ..tracking.staged import open_model
from ..tracking.trees import track_trees
from ..tracks.builder import TRACKED, as_metrics
from .live_cost import measure_live
from .peers import Peers
from .pools import Pool, synthetic_pool
from .results import Column, Section, Target
from .settings import Settings
from .timing import Contender, Watcher, interleave, ratio, timed

FINISHED = Target(3.0, "<= 3x")
TRACK, PREDICTION, STAGED = "track_trees", "one prediction with all trees", "scores after each tree alone"
_QUIET = {"verbosity": -1}
_SAMPLE = 20  # steps that stand for all in the timing of metric calls
_FINISHED_COLUMNS = (
    Column("name", "what"),
    Column("time", "s", "s"),
    Column("ratio", "x (prediction + calls)", "ratio"),
    Column("targets", "targets", "targets"),
)
_FINISHED_NOTE = (
    "LightGBM, {trees:,} trees of {leaves} leaves on {features} features, {documents:,} documents; ndcg@10, hard and "
    "soft (sigma .2 of the spread), after every tree. The calls are those of the metrics themselves, each of which "
    "checks and prepares the labels anew, at the scores of {sample} steps."
)


def measure_tracking(pool: Pool, settings: Settings, peers: Peers, watcher: Watcher) -> list[Section]:
    """Both sections: a finished model, and one in training on the pool."""
    return [measure_finished(settings, watcher), measure_live(pool, settings, peers, watcher)]


def measure_finished(settings: Settings, watcher: Watcher) -> Section:
    """Time track_trees, and what it cannot do without: one prediction, and a call of each metric after every tree."""
    pool = synthetic_pool(*settings.tracked_pool, settings.seed)
    X = pool.features()
    watcher.begin(1)
    watcher.step(f"growing {settings.tracked_trees:,} trees")
    model = _finished_model(pool, X, settings)
    trees = model.num_trees()  # fewer if nothing was left to learn
    stages = _sampled_stages(model, X, trees)
    calls = {
        f"{trees:,} calls of {metric.name}": _call_measure(metric, pool, stages, trees)
        for metric in as_metrics("bench", TRACKED)
    }
    few = pool.first(2)
    contenders = [
        Contender(
            TRACK, timed(lambda: _track(model, X, pool)), warm_up=lambda: _track(model, X[: few.labels.size], few)
        ),
        Contender(STAGED, timed(lambda: _read_stages(model, X))),
        Contender(PREDICTION, timed(lambda: model.predict(X, raw_score=True, num_threads=n_threads()))),
        *(Contender(name, measure) for name, measure in calls.items()),
    ]
    rounds = interleave(contenders, settings.training_rounds, watcher)
    least = sum((rounds.seconds[name] for name in calls), rounds.seconds[PREDICTION])
    rows: list[dict[str, Any]] = [{"name": name, "time": rounds.spread(name)} for name in rounds.seconds]
    for row in rows:
        row["ratio"] = ratio(rounds.seconds[row["name"]], least)
    if not settings.quick:
        rows[0]["targets"] = [FINISHED.judge(rows[0]["ratio"])]
    note = _FINISHED_NOTE.format(
        trees=trees, leaves=settings.leaves, features=X.shape[1], documents=pool.labels.size, sample=len(stages)
    )
    return Section("tracking_finished", "Tracking a finished model", note, _FINISHED_COLUMNS, rows, rounds)


def _finished_model(pool: Pool, X: Any, settings: Settings) -> Any:
    """A model grown on a tenth of the queries: what its trees cost to read depends on their shape alone."""
    import lightgbm as lgb

    part = pool.first(max(pool.n_queries // 10, 1))
    parameters = {"objective": "lambdarank", "num_leaves": settings.leaves, "learning_rate": 0.05, **_QUIET}
    data = lgb.Dataset(X[: part.labels.size], part.labels, group=part.sizes, params=_QUIET)
    return lgb.train({**parameters, "num_threads": n_threads()}, data, settings.tracked_trees)


def _track(model: Any, X: Any, pool: Pool) -> None:
    track_trees(model, X, pool.labels, group=pool.sizes, progress=False)


def _read_stages(model: Any, X: Any) -> None:
    for _ in open_model("bench", model, X, len(X)).scores:
        pass


def _sampled_stages(model: Any, X: Any, trees: int) -> list[FloatArray]:
    """Scores at evenly spaced steps, the last among them."""
    kept = set(np.linspace(trees, 0, min(_SAMPLE, trees), endpoint=False).round().astype(int).tolist())
    return [scores for at, scores in enumerate(open_model("bench", model, X, len(X)).scores) if at in kept]


def _call_measure(metric: Any, pool: Pool, stages: list[FloatArray], trees: int) -> Callable[[], float]:
    """Seconds of a call after each tree, from calls at some of them."""

    def call_all() -> None:
        for scores in stages:
            metric(pool.labels, scores, group=pool.sizes)

    once = timed(call_all)
    return lambda: once() * trees / len(stages)
