"""Hard metrics against those that others wrote, each on what it reads, built outside the timer."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..arguments import FloatArray, IntArray
from ..kernels.threads import n_threads
from ..metrics.hard import Metric
from ..metrics.prepared import prepare
from ..query_groups import query_weights
from .peers import Peers
from .pools import Pool
from .results import Column, Section, Target
from .settings import Settings
from .timing import Contender, Rounds, Watcher, interleave, ratio, timed

TARGETS = {
    "ranx": (Target(10, ">= 10x", at_least=True), Target(10, "prepared >= 10x", at_least=True)),
    "scikit-learn": (Target(100, ">= 100x", at_least=True), Target(100, "prepared >= 100x", at_least=True)),
}
_COLUMNS = (
    Column("metric", "metric"),
    Column("name", "by"),
    Column("cost", "µs per query", "µs"),
    Column("faster", "boostsoft is faster by", "ratio"),
    Column("prepared", "with labels prepared", "ratio"),
    Column("difference", "mean differs by", "error"),
    Column("targets", "targets", "targets"),
)
_NOTE = (
    "Values of all queries. Outside the timer: ranx's Qrels and Run, pytrec_eval's evaluator and dictionaries, "
    "LightGBM's Dataset. scikit-learn: its function called query by query, on {dear} of the queries. boostsoft: "
    "Metric.per_query, which checks and prepares the labels in every call; with labels prepared: what it does at every "
    "evaluation of a training run. Ties and queries with nothing relevant are counted as the peer does, pytrec_eval's "
    "ndcg with the label itself for a gain."
)
PUBLIC, PREPARED = "boostsoft", "boostsoft, labels prepared"


@dataclass(frozen=True)
class Rival:
    """A peer's metric: ``run`` gives its mean or its values; ``ours`` is the metric that must agree."""

    name: str
    metric: str
    run: Callable[[], Any]
    ours: Metric
    pool: Pool


def measure_hard(pool: Pool, settings: Settings, peers: Peers, watcher: Watcher) -> Section:
    """Time hard metrics on a pool, and compare their means."""
    rivals = find_rivals(pool, settings, peers)
    contenders = [
        contender for metric in _our_metrics(rivals) for contender in _own_contenders(metric, pool, settings.at_least)
    ]
    contenders += [
        Contender(f"{rival.name}, {rival.metric}", timed(rival.run, settings.at_least), peer=True) for rival in rivals
    ]
    rounds = interleave(contenders, settings.rounds, watcher)
    left = [rival for rival in rivals if f"{rival.name}, {rival.metric}" in rounds.seconds]
    rows = [_own_row(Metric(name), call, rounds, pool) for name in ("ndcg@10", "map") for call in (PUBLIC, PREPARED)]
    rows += [_rival_row(rival, rounds, pool) for rival in left]
    note = _NOTE.format(dear=min(settings.dear_queries, pool.n_queries))
    title = f"Hard metrics ({pool.name})"
    return Section(f"hard_{pool.key}", title, note, _COLUMNS, rows, rounds, rounds.left_out)


def find_rivals(pool: Pool, settings: Settings, peers: Peers) -> list[Rival]:
    """What the installed peers compute of ndcg@10 and average precision."""
    rivals: list[Rival] = []
    for name, build in (("ranx", _ranx), ("sklearn", _sklearn), ("pytrec_eval", _trec_eval), ("lightgbm", _lightgbm)):
        if peers.has(name):
            rivals += build(pool.some(settings.dear_queries) if name == "sklearn" else pool)
    return rivals


def _grades(pool: Pool) -> IntArray:
    """The labels of a peer that has whole ones alone."""
    if np.any(pool.labels % 1.0 != 0.0):
        raise ValueError("labels must be whole numbers for it")
    return pool.labels.astype(np.int64)


def _ranx(pool: Pool) -> list[Rival]:
    import numba
    import ranx

    @cache
    def built() -> tuple[Any, Any]:
        labels, scores = (_dictionaries(pool, values) for values in (_grades(pool), pool.scores))
        return ranx.Qrels(labels), ranx.Run(scores)

    def run(metric: str) -> Any:
        before = numba.get_num_threads()
        try:  # ranx sets Numba's threads and leaves them so; its kernels warn of their own types
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "unsafe cast")
                return ranx.evaluate(*built(), metric, threads=n_threads())
        finally:
            numba.set_num_threads(before)

    return [
        Rival("ranx", "ndcg@10", lambda: run("ndcg_burges@10"), Metric("ndcg@10"), pool),
        Rival("ranx", "map", lambda: run("map"), Metric("map"), pool),
    ]


def _sklearn(pool: Pool) -> list[Rival]:
    from sklearn.metrics import average_precision_score, ndcg_score

    cuts = np.cumsum(pool.sizes)[:-1]
    gains = [part[None] for part in np.split(2.0**pool.labels - 1.0, cuts)]
    relevant = np.split(pool.labels >= 1.0, cuts)
    scores = np.split(pool.scores, cuts)

    def ndcg() -> list[float]:
        return [
            ndcg_score(g, s[None], k=10) if g.size > 1 else float(g[0, 0] > 0)
            for g, s in zip(gains, scores, strict=True)
        ]

    def precision() -> list[float]:
        return [average_precision_score(r, s) if r.any() else 0.0 for r, s in zip(relevant, scores, strict=True)]

    return [
        Rival("scikit-learn", "ndcg@10", ndcg, Metric("ndcg@10"), pool),
        Rival("scikit-learn", "map", precision, Metric("map"), pool),
    ]


def _trec_eval(pool: Pool) -> list[Rival]:
    import pytrec_eval

    @cache
    def run_of_scores() -> Any:
        return _dictionaries(pool, pool.scores)

    @cache
    def evaluator(measure: str) -> Any:
        return pytrec_eval.RelevanceEvaluator(_dictionaries(pool, _grades(pool)), {measure})

    def run(measure: str) -> list[float]:
        found = evaluator(measure).evaluate(run_of_scores())
        return [values[measure.replace(".", "_")] for values in found.values()]

    return [
        Rival("pytrec_eval", "ndcg@10", lambda: run("ndcg_cut.10"), Metric("ndcg@10", gain="linear"), pool),
        Rival("pytrec_eval", "map", lambda: run("map"), Metric("map"), pool),
    ]


def _lightgbm(pool: Pool) -> list[Rival]:
    import lightgbm as lgb

    quiet = {"verbosity": -1, "num_threads": n_threads()}

    @cache
    def booster(metric: str) -> Any:
        data = lgb.Dataset(
            np.zeros((pool.labels.size, 1)), pool.labels, group=pool.sizes, init_score=pool.scores, params=quiet
        )
        return lgb.Booster({"objective": "none", "metric": metric, "eval_at": [10], **quiet}, data)

    def run(metric: str) -> float:
        return float(booster(metric).eval_train()[0][2])

    options: dict[str, Any] = {"ties": "order", "empty": "one"}
    ours = Metric("map@10", normalizer="min", **options)
    return [
        Rival("LightGBM", "ndcg@10", lambda: run("ndcg"), Metric("ndcg@10", **options), pool),
        Rival("LightGBM", "map@10", lambda: run("map"), ours, pool),
    ]


def _dictionaries(pool: Pool, values: Any) -> dict[str, dict[str, Any]]:
    cuts = np.cumsum(pool.sizes)[:-1]
    parts = [part.tolist() for part in np.split(values, cuts)]
    return {f"q{q}": {f"d{i}": value for i, value in enumerate(part)} for q, part in enumerate(parts)}


def _our_metrics(rivals: list[Rival]) -> list[Metric]:
    return list(dict.fromkeys([Metric("ndcg@10"), Metric("map"), *(rival.ours for rival in rivals)]))


def _own(metric: Metric, call: str) -> str:
    return f"{call}, {metric!r}"


def _own_contenders(metric: Metric, pool: Pool, at_least: float) -> list[Contender]:
    groups = pool.groups
    queries, weights = prepare(metric, "bench", pool.labels, groups), query_weights("bench", None, groups)
    return [
        Contender(
            _own(metric, PUBLIC),
            timed(lambda: metric.per_query(pool.labels, pool.scores, group=pool.sizes), at_least),
        ),
        Contender(_own(metric, PREPARED), timed(lambda: metric.evaluate(queries, pool.scores, weights), at_least)),
    ]


def _own_row(metric: Metric, call: str, rounds: Rounds, pool: Pool) -> dict[str, Any]:
    cost = rounds.spread(_own(metric, call)).times(1e6 / pool.n_queries)
    return {"metric": metric.spec, "name": call, "cost": cost}


def _rival_row(rival: Rival, rounds: Rounds, pool: Pool) -> dict[str, Any]:
    theirs = rounds.seconds[f"{rival.name}, {rival.metric}"] / rival.pool.n_queries
    public, prepared = (ratio(theirs, rounds.seconds[_own(rival.ours, c)] / pool.n_queries) for c in (PUBLIC, PREPARED))
    values: FloatArray = rival.ours.per_query(rival.pool.labels, rival.pool.scores, group=rival.pool.sizes)
    row = {
        "metric": rival.metric,
        "name": rival.name,
        "cost": rounds.spread(f"{rival.name}, {rival.metric}").times(1e6 / rival.pool.n_queries),
        "faster": public,
        "prepared": prepared,
        "difference": abs(float(np.mean(rival.run())) - float(values.mean())),
    }
    if rival.name in TARGETS:
        row["targets"] = [t.judge(found) for t, found in zip(TARGETS[rival.name], (public, prepared), strict=True)]
    return row
