"""What is measured in a process of its own (``children``): imports, first calls, memory, numbers of threads.

The parent starts ``python -c`` with a task and its arguments as JSON and reads a JSON object from its last line. Tasks
import what they need, so that a process loads no more than what it measures.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .timing import interleave, timed

_SELF = Path("/proc/self")


def answer(import_seconds: float) -> None:
    """In the child: do the task named on the command line and write what it found."""
    task, arguments = sys.argv[1], json.loads(sys.argv[2])
    found = {"import": import_seconds, **_TASKS[task](**arguments)}
    sys.stdout.write(json.dumps(found) + "\n")


def _nothing() -> dict[str, Any]:
    return {}


def _first_gradient(installed: bool) -> dict[str, Any]:
    """Seconds of the first value, gradient and curvature in a process."""
    _use_shipped(installed)
    from ..objectives import SoftObjective
    from .pools import synthetic_pool

    pool = synthetic_pool(queries=2, documents=20)

    def call() -> None:
        objective = SoftObjective("ndcg@10")
        objective.gradient_curvature(objective.prepare(pool.labels, pool.groups), pool.scores)

    return {"first": timed(call)()}


def _first_hard(installed: bool) -> dict[str, Any]:
    """Seconds of the first hard metric in a process."""
    _use_shipped(installed)
    from ..metrics.hard import Metric
    from .pools import synthetic_pool

    pool = synthetic_pool(queries=2, documents=20)

    return {"first": timed(lambda: Metric("ndcg@10").per_query(pool.labels, pool.scores, group=pool.sizes))()}


def _use_shipped(yes: bool) -> None:
    """Whether kernels that came with the package may be used, in place of compiling them."""
    from ..kernels import cache

    if not yes:
        cache.COMPILED = cache.COMPILED / "nothing"


def _memory(documents: int, noise: Any, sigma: float) -> dict[str, Any]:
    """Added peak memory of one query's gradient, in MB, inputs not counted, kernels compiled and threads started."""
    from .direct import gradient_measure
    from .pools import synthetic_pool

    gradient_measure(synthetic_pool(queries=4), "ndcg@10", noise, sigma)()
    measure = gradient_measure(synthetic_pool(1, documents), "ndcg@10", noise, sigma)
    before = _restart_peak()
    measure()
    return {"megabytes": max(_peak() - before, 0.0)}


def _threads(queries: int, sigma: float, rounds: int, seed: int) -> dict[str, Any]:
    """Seconds per query of ours and of lambdarank, by rounds, on the threads that the environment allows."""
    from .growth import thread_contenders
    from .pools import synthetic_pool

    found = interleave(thread_contenders(synthetic_pool(queries, seed=seed), sigma), rounds)
    return {"seconds": {name: (seconds / queries).tolist() for name, seconds in found.seconds.items()}}


_TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "import": _nothing,
    "gradient": _first_gradient,
    "hard": _first_hard,
    "memory": _memory,
    "threads": _threads,
}


def _restart_peak() -> float:
    """Let the peak count from now on, where the system can, and return the memory in use, in MB.

    ru_maxrss alone will not do on Linux: it begins with the peak of the process that forked this one, and loading
    LLVM raises it for good.
    """
    try:
        (_SELF / "clear_refs").write_text("5")
        return _status("VmRSS")
    except OSError:
        return _peak()


def _peak() -> float:
    """Peak memory in MB, NaN where the system does not tell."""
    if _SELF.is_dir():
        return _status("VmHWM")
    try:
        import resource
    except ImportError:  # on Windows
        return math.nan
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def _status(field: str) -> float:
    found = re.search(rf"^{field}:\s+(\d+) kB", (_SELF / "status").read_text(), re.MULTILINE)
    return float(found[1]) * 1024 / 1e6 if found else float(np.nan)
