"""What must be measured in a process of its own, asked of one: ``child_tasks`` has what it then does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_PACKAGE_PARENT = Path(__file__).resolve().parents[2]
_CODE = (
    "import time; started = time.perf_counter(); import boostsoft; seconds = time.perf_counter() - started; "
    "from boostsoft.bench.child_tasks import answer; answer(seconds)"
)


def ask(task: str, environment: Mapping[str, str] | None = None, **arguments: Any) -> dict[str, Any]:
    """Run a task in a fresh process and return what it reports.

    Raises
    ------
    ChildProcessError
        With the last line of its errors, if it fails.
    """
    path = os.pathsep.join(filter(None, [str(_PACKAGE_PARENT), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [sys.executable, "-c", _CODE, task, json.dumps(arguments)],
        env={**os.environ, "PYTHONPATH": path, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise ChildProcessError(f"bench: the process for {task!r} failed: {lines[-1]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found
