"""What hatchling calls when it makes a wheel: the kernels are compiled for processors like this one and put into it.

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


class Kernels(BuildHookInterface):
    """Compile ahead of the first call; where that fails, say so: the package compiles at its first call instead."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before the files of the wheel are chosen."""
        done = subprocess.run(
            [sys.executable, "-B", "-m", "boostsoft.ahead", str(Path(self.root, COMPILED))],
            cwd=self.root,
            env={**os.environ, "PYTHONSAFEPATH": ""},  # else an installed boostsoft is found, or none
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
