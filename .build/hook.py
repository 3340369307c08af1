"""What hatchling calls when it makes a wheel: the kernels are compiled for this machine and put into it.

Where ``NUMBA_CPU_NAME`` is a level that many processors share (``boostsoft/kernels/targets.py``), for all of these.

In an editable installation they lie beside their sources, as an extension module would, until these change.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPILED = "boostsoft/kernels/compiled"


def _none_but_a_levels_features() -> dict[str, str]:
    """Where NUMBA_CPU_NAME is a level of x86-64: this machine's own, which Numba would add, are left out."""
    return {"NUMBA_CPU_FEATURES": ""} if os.environ.get("NUMBA_CPU_NAME", "").startswith("x86-64") else {}


class Kernels(BuildHookInterface):
    """Compile ahead of the first call; where that fails, say so: the package compiles at its first call instead."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before the files of the wheel are chosen."""
        done = subprocess.run(
            [sys.executable, "-B", "-m", "boostsoft.ahead", str(Path(self.root, COMPILED))],
            cwd=self.root,
            # were that path safe, an installed boostsoft would be found, or none
            env={**_none_but_a_levels_features(), **os.environ, "PYTHONSAFEPATH": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            if version == "editable":  # they are where they are looked for
                return
            build_data["artifacts"].append(f"/{COMPILED}/*")
        else:
            reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
            self.app.display_warning(f"boostsoft: kernels not compiled ahead, first calls will compile them: {reason}")
