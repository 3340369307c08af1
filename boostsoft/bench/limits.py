"""Long lists: one query of 100,000 documents with a cutoff, and some metrics of lists of 1,000."""

from __future__ import annotations

import math
from typing import Any

from .children import ask
from .direct import gradient_measure
from .objective_cost import NOISES
from .pools import synthetic_pool
from .results import Column, Section, Target
from .settings import Settings
from .timing import Contender, Watcher, interleave

LONG_TIME = Target(1.0, "<= 1 s")
LONG_MEMORY = Target(300, "<= 300 MB")
WHOLE_TIME = Target(50, "<= 50 ms a query")
SIGMAS = (0.2, 1.0)
_LONG_COLUMNS = (
    Column("noise", "noise"),
    Column("sigma", "sigma / spread", "plain"),
    Column("time", "time, ms", "ms"),
    Column("memory", "added peak memory, MB", "MB"),
    Column("targets", "targets", "targets"),
)
LIST_METRICS = ("ndcg", "err", "map", "ndcg@100", "err@10", "map@10")
_WHOLE_COLUMNS = (
    Column("metric", "metric"),
    Column("noise", "noise"),
    Column("sigma", "sigma / spread", "plain"),
    Column("time", "ms per query", "ms"),
    Column("targets", "targets", "targets"),
)
_LONG_NOTE = (
    "Value, gradient and curvature of ndcg@10, labels prepared beforehand. Memory: in a fresh process, the peak over "
    "the call less what was in use before it, when inputs were there and kernels loaded."
)
_WHOLE_NOTE = "Value, gradient and curvature, labels prepared beforehand."


def measure_limits(settings: Settings, watcher: Watcher) -> list[Section]:
    """Both sections."""
    return [_long_query(settings, watcher), _whole_lists(settings, watcher)]


def _long_query(settings: Settings, watcher: Watcher) -> Section:
    pool = synthetic_pool(1, settings.longest, settings.seed)
    cases = {_name(noise, sigma): (noise, sigma) for noise in NOISES for sigma in SIGMAS}
    contenders = [
        Contender(name, gradient_measure(pool, "ndcg@10", *case, settings.at_least)) for name, case in cases.items()
    ]
    rounds = interleave(contenders, settings.rounds, watcher)
    watcher.begin(len(cases))
    rows = []
    for name, (noise, sigma) in cases.items():
        watcher.step(f"memory, {name}")
        memory = float(ask("memory", documents=settings.longest, noise=noise, sigma=sigma)["megabytes"])
        time = rounds.spread(name)
        row: dict[str, Any] = {"noise": noise, "sigma": sigma, "time": time.times(1e3), "memory": memory}
        if settings.longest >= 100_000:
            row["targets"] = [LONG_TIME.judge(time)]
            if not math.isnan(memory):
                row["targets"].append(LONG_MEMORY.judge(memory))
        rows.append(row)
    title = f"One query of {settings.longest:,} documents"
    return Section("long_query", title, _LONG_NOTE, _LONG_COLUMNS, rows, rounds)


def _whole_lists(settings: Settings, watcher: Watcher) -> Section:
    queries, documents = settings.whole_list
    pool = synthetic_pool(queries, documents, settings.seed)
    cases = {
        f"{metric}, {_name(noise, sigma)}": (metric, noise, sigma)
        for metric in LIST_METRICS
        for noise in NOISES
        for sigma in SIGMAS
    }
    contenders = [Contender(name, gradient_measure(pool, *case)) for name, case in cases.items()]
    rounds = interleave(contenders, settings.rounds, watcher)
    rows = []
    for name, (metric, noise, sigma) in cases.items():
        time = rounds.spread(name).times(1e3 / queries)
        targets = [] if "@" in metric else [WHOLE_TIME.judge(time)]
        rows.append({"metric": metric, "noise": noise, "sigma": sigma, "time": time, "targets": targets})
    title = f"Long lists ({pool.name})"
    return Section("whole_list", title, _WHOLE_NOTE, _WHOLE_COLUMNS, rows, rounds)


def _name(noise: str, sigma: float) -> str:
    return f"{noise}, sigma={sigma:g}"
