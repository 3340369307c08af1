"""The first call in a fresh process, with an empty and with a filled cache of compiled kernels; and the import.

An installation brings kernels that were compiled with it: the first call is timed with them, where this package has
any that fit, and compiling.
"""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np

from ..kernels import cache
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
    "cache is the folder that NUMBA_CACHE_DIR names: a new one, compiled into once per row, then read {warm} times. "
    "{installed}"
)
_INSTALLED = (
    "As installed: with the kernels that were compiled when the package was built; an empty cache stays empty. "
    "Compiling: as where they do not fit the processor, or the version of Numba or Python."
)
_NOT_INSTALLED = "This copy of the package brings no compiled kernels (pip makes them): every first call compiles."


def measure_cold_start(settings: Settings, watcher: Watcher) -> Section:
    """Time imports and first calls."""
    warm_runs = max(2, min(settings.rounds, 5))
    ways = {"as installed": True, "compiling": False} if cache.COMPILED.is_dir() else {"compiling": False}
    watcher.begin(warm_runs + len(ways) * len(settings.cold_tasks) * (1 + warm_runs))
    rows: list[dict[str, Any]] = []
    imports = []
    for number in range(warm_runs):
        watcher.step(f"import boostsoft, {number + 1} of {warm_runs}")
        imports.append(ask("import")["import"])
    rows.append({"name": "import boostsoft", "warm": Spread.of(np.array(imports))})
    for task in settings.cold_tasks:
        for way, installed in ways.items():
            rows.append(_first_call(task, f"{TITLES[task]}, {way}", installed, warm_runs, watcher))
    note = _NOTE.format(warm=warm_runs, installed=_INSTALLED if True in ways.values() else _NOT_INSTALLED)
    return Section("cold_start", "Cold start", note, _COLUMNS, rows)


def _first_call(task: str, title: str, installed: bool, warm_runs: int, watcher: Watcher) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="boostsoft-bench-") as folder:
        place = {"NUMBA_CACHE_DIR": folder}
        watcher.step(f"{title}, empty cache")
        cold = float(ask(task, place, installed=installed)["first"])
        warm = []
        for number in range(warm_runs):
            watcher.step(f"{title}, filled cache, {number + 1} of {warm_runs}")
            warm.append(float(ask(task, place, installed=installed)["first"]))
    again = Spread.of(np.array(warm))
    return {"name": title, "cold": cold, "warm": again, "targets": [COLD.judge(cold), WARM.judge(again)]}
