"""Compile kernels ahead of their first call: ``python -m boostsoft.ahead FOLDER``, which an installation runs.

As many processes as there are processors, four at most, share the work: each takes a part that no other has taken.
What the first one does at the end, all calls that should compile nothing later, finds their kernels in the folder and
compiles what a process that failed has left.

They are compiled for all processors of a level where this one has one with wide vectors (:mod:`.kernels.targets`).
It needs NumPy, SciPy and Numba only. A folder that already has the kernels of these sources, for this processor and
these versions of Numba and Python, is left as it is.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numba
import numpy as np
from numba.core.registry import cpu_target

from .choices import Reference
from .kernels import cache
from .kernels.blocks import block_address
from .kernels.gate import gate_address
from .kernels.processors import processors
from .kernels.ranks import mean_ranks
from .kernels.targets import Target, to_install
from .kernels.workspace import ABSORBED, CASCADES, COUNTED, MIXED, MOST_CROWD, ODDS, SHORT
from .metrics import Metric, SoftMetric
from .objectives import REFERENCES, Objective, SoftObjective, reference_objective
from .query_groups import QueryGroups

# metrics of ranks by odds and by rows, one of pairs: their kernels serve all of the kind
_METRICS = ("ndcg@2", "err@1", "map@1", "map", "kendall")
_WHOLE_LISTS, _LONG = ("dcg", "mrr"), MOST_CROWD + 1  # by exponentials, from so many documents on
_MANIFEST, _TAKEN = "made-for.txt", "taken"
# the longest part is a fifth of the work, and every process takes some 300 MB
_MOST_PROCESSES = 4

_GROUPS = QueryGroups.from_sizes([3, 2])
_LABELS, _SCORES = np.array([0, 1, 2, 0, 1]), np.array([0.3, 0.1, 0.2, 0.2, 0.1])


def _hard(name: str) -> None:
    Metric(name).per_query(_LABELS, _SCORES, group=_GROUPS)


def _soft(name: str) -> None:
    SoftMetric(name).gradient(_LABELS, _SCORES, group=_GROUPS)


def _whole_list(name: str) -> None:
    SoftMetric(name).gradient(np.arange(_LONG) % 2, np.arange(_LONG), group=[_LONG])


def _pairs() -> None:
    _hard("kendall")
    SoftMetric("kendall").value_gradient_hessian(_LABELS, _SCORES, group=_GROUPS)


def _softrank() -> None:
    SoftMetric("ndcg@2", ranks="softrank").gradient(_LABELS, _SCORES, group=_GROUPS)


def _sampled() -> None:
    SoftMetric("ndcg@2", noise="gumbel", ranks="sampled", n_samples=2).gradient(_LABELS, _SCORES, group=_GROUPS)


def _objective(objective: Objective) -> None:
    objective.gradient_curvature(objective.prepare(_LABELS, _GROUPS), _SCORES)


def _reference(kind: Reference) -> None:
    _objective(reference_objective(kind))


def _calls() -> Iterator[Callable[[], object]]:
    """All that has kernels, once, on the least of data."""
    for name in _METRICS:
        yield partial(_hard, name)
        yield partial(_soft, name)
    for name in _WHOLE_LISTS:
        yield partial(_whole_list, name)
    yield from (_pairs, _softrank, _sampled)
    yield partial(_objective, SoftObjective("ndcg@2", mix={"kendall": 0.5}))
    for kind in REFERENCES:
        yield partial(_reference, kind)
    yield gate_address
    yield lambda: mean_ranks(_SCORES, _GROUPS.offsets, np.empty(_SCORES.size))


def _parts() -> list[Callable[[], object]]:
    """What takes nearly all of the time, long ones first, hardly a kernel in two of them."""
    return [
        partial(_soft, "map"),
        _pairs,
        partial(_reference, "softlambda"),
        partial(block_address, ODDS),
        _softrank,
        partial(_hard, "ndcg@2"),
        *(partial(block_address, engine) for engine in (ABSORBED, COUNTED, SHORT, MIXED, CASCADES)),
        _sampled,
        partial(_soft, "kendall"),
        *(partial(_reference, kind) for kind in ("lambdarank", "ranknet", "xendcg")),
    ]


def take_parts(folder: Path) -> None:
    """Compile, into a folder, the parts that no process has taken."""
    with cache.shipping(folder):
        for k, part in enumerate(_parts()):
            try:
                (folder / f"{k}.{_TAKEN}").touch(exist_ok=False)
            except FileExistsError:
                continue
            part()


@contextmanager
def _helpers(folder: Path) -> Iterator[None]:
    """Let other processes take parts, too, and end with them; one that fails leaves its part undone."""
    call = f"from pathlib import Path; from boostsoft.ahead import take_parts; take_parts(Path({str(folder)!r}))"
    helpers: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(min(processors(), _MOST_PROCESSES) - 1):
            helpers.append(subprocess.Popen(_python("-c", call)))
        yield
        for helper in helpers:
            helper.wait()
    finally:
        for helper in helpers:
            helper.kill()
            helper.wait()


def compile_kernels(folder: Path) -> None:
    """Compile all kernels into a folder."""
    with _helpers(folder):
        take_parts(folder)
    for path in folder.glob(f"*.{_TAKEN}"):
        path.unlink()
    with cache.shipping(folder):
        for call in _calls():
            call()


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
        compile_kernels(beside)
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


def _own() -> Target:
    """What this process compiles for."""
    own: Target = cpu_target.target_context.codegen().magic_tuple()
    return own


def _python(*arguments: str) -> list[str]:
    """A command of Python, which leaves no files behind if this one does not."""
    return [sys.executable, *(["-B"] if sys.dont_write_bytecode else []), *arguments]


def _made_for() -> bytes:
    """Everything that decides whether a folder of compiled kernels can be used, or has all of them."""
    target, processor, features = to_install(_own())
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


def main(folder: Path) -> int:
    """Ship kernels into a folder, by a process of its own if this one compiles for another kind of processor."""
    try:
        _, name, features = wanted = to_install(_own())
    except ValueError as error:
        sys.exit(f"ahead: {error}")
    if wanted == _own():
        ship(folder)
        return 0
    told = {**os.environ, "NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features}
    return subprocess.run(_python("-m", "boostsoft.ahead", str(folder)), env=told, check=False).returncode


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m boostsoft.ahead FOLDER")
    if numba.config.DISABLE_JIT:  # a folder without a kernel would pass for complete from then on
        sys.exit("ahead: NUMBA_DISABLE_JIT must not be set; got 1")
    sys.exit(main(Path(sys.argv[1])))
