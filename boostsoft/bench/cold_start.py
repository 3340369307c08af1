"""The first call in a fresh process, with an empty and with a filled cache of compiled kernels; and the import."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np

from .children import ask
from .results import Column, Section, Target
from .settings import Settings
from .timing import Spread, Watcher

COLD = Target(6.0, "cold <= 6 s")
WARM = Target(0.5, "warm <= 0.5 s")
TITLES = {"gradient": "first gradient, ndcg@10, gaussian", "hard": "first hard metric, ndcg@10"}
_COLUMNS = (
    Column("name", "in a fresh process"),
    Column("cold", "empty cache, s", "s"),
    Column("warm", "filled cache, s", "s"),
    Column("targets", "targets", "targets"),
)
_NOTE = (
    "Each in a process of its own, the start of Python not counted; the first call does not include the import. The "
    "cache is the folder that NUMBA_CACHE_DIR names: a new one, compiled into once per row, then read {warm} times."
)


def measure_cold_start(settings: Settings, watcher: Watcher) -> Section:
    """Time imports and first calls."""
    warm_runs = max(2, min(settings.rounds, 5))
    watcher.begin(warm_runs + len(settings.cold_tasks) * (1 + warm_runs))
    rows: list[dict[str, Any]] = []
    imports = []
    for number in range(warm_runs):
        watcher.step(f"import boostsoft, {number + 1} of {warm_runs}")
        imports.append(ask("import")["import"])
    rows.append({"name": "import boostsoft", "warm": Spread.of(np.array(imports))})
    for task in settings.cold_tasks:
        with tempfile.TemporaryDirectory(prefix="boostsoft-bench-") as folder:
            place = {"NUMBA_CACHE_DIR": folder}
            watcher.step(f"{TITLES[task]}, compiling")
            cold = float(ask(task, place)["first"])
            warm = []
            for number in range(warm_runs):
                watcher.step(f"{TITLES[task]}, from the cache, {number + 1} of {warm_runs}")
                warm.append(float(ask(task, place)["first"]))
        again = Spread.of(np.array(warm))
        targets = [COLD.judge(cold), WARM.judge(again)]
        rows.append({"name": TITLES[task], "cold": cold, "warm": again, "targets": targets})
    return Section("cold_start", "Cold start", _NOTE.format(warm=warm_runs), _COLUMNS, rows)
