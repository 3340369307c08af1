"""Compile kernels ahead of their first call: ``python -m boostsoft.ahead FOLDER``, which an installation runs.

It needs NumPy, SciPy and Numba only. What few call (the Hessian of pairs, SoftRank's and sampled ranks, the objective
with soft deltas: 20 seconds each) is left to their first call. A folder that already has the kernels of these sources,
for this processor and these versions of Numba and Python, is left as it is.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
import sys
import tempfile
from pathlib import Path

import numba
import numpy as np
from numba.core.registry import cpu_target

from .choices import Reference
from .kernels import cache
from .kernels.gate import gate_address
from .kernels.ranks import mean_ranks
from .kernels.workspace import MOST_CROWD
from .metrics import Metric, SoftMetric
from .objectives import SoftObjective, reference_objective
from .query_groups import QueryGroups

# metrics of ranks by odds and by rows, one of pairs: their kernels serve all of the kind
_METRICS = ("ndcg@2", "err@1", "map@1", "map", "kendall")
_WHOLE_LISTS, _LONG = ("dcg", "mrr"), MOST_CROWD + 1  # by exponentials, from so many documents on
_OBJECTIVES: tuple[Reference, ...] = ("lambdarank", "ranknet", "lambdaloss", "xendcg", "listnet", "queryrmse")
_MANIFEST = "made-for.txt"


def compile_kernels() -> None:
    """Call what has kernels, once, on the least of data."""
    groups = QueryGroups.from_sizes([3, 2])
    labels, scores = np.array([0, 1, 2, 0, 1]), np.array([0.3, 0.1, 0.2, 0.2, 0.1])
    for name in _METRICS:
        Metric(name).per_query(labels, scores, group=groups)
        SoftMetric(name).gradient(labels, scores, group=groups)
    for name in _WHOLE_LISTS:
        SoftMetric(name).gradient(np.arange(_LONG) % 2, np.arange(_LONG), group=[_LONG])
    for objective in (
        SoftObjective("ndcg@2", mix={"kendall": 0.5}),
        *(reference_objective(kind) for kind in _OBJECTIVES),
    ):
        objective.gradient_curvature(objective.prepare(labels, groups), scores)
    gate_address()
    mean_ranks(scores, groups.offsets, np.empty(scores.size))


def fits(folder: Path) -> bool:
    """Whether a folder has the kernels of these sources, for this processor and these versions."""
    manifest = folder / _MANIFEST
    return manifest.is_file() and manifest.read_bytes() == _made_for()


def ship(folder: Path) -> None:
    """Compile kernels into a folder, all or none, unless it has them already.

    Only what this process has not compiled yet is compiled: it should do nothing else.
    """
    if fits(folder):
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=folder.parent))
    try:
        with cache.shipping(beside):
            compile_kernels()
        (beside / _MANIFEST).write_bytes(_made_for())
        beside.chmod(0o755)
        shutil.rmtree(folder, ignore_errors=True)
        try:
            beside.rename(folder)
        except OSError:
            if not fits(folder):  # or another process was faster
                raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _made_for() -> bytes:
    """Everything that decides whether a folder of compiled kernels can be used, or has all of them."""
    target, processor, features = cpu_target.target_context.codegen().magic_tuple()
    calls = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    lines = {
        "numba": numba.__version__,
        "python": platform.python_version(),
        "target": target,
        "processor": processor,
        "features": features,
        "sources": cache.sources(cache.COMPILED.parent),
        "calls": calls,
    }
    return "".join(f"{name}: {value}\n" for name, value in lines.items()).encode()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m boostsoft.ahead FOLDER")
    if numba.config.DISABLE_JIT:  # a folder without a kernel would pass for complete from then on
        sys.exit("ahead: NUMBA_DISABLE_JIT must not be set; got 1")
    ship(Path(sys.argv[1]))
