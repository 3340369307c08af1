"""``python -m boostsoft``, and the command ``boostsoft``.

LightGBM's OpenMP threads spin for milliseconds whenever one waits for another, on cores that the engine's threads or
another program could use: 40 trees on two busy cores took 33 to 62 s spinning and 11 to 14 s sleeping. OpenMP reads
the policy when it is loaded, so it is set before that, in this process only and unless the user has set it.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from typing import Any


def run() -> int:
    """Set the policy, then load and run the command line; returns its exit code."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    if isinstance(sys.stdout, io.TextIOWrapper):  # a name that its encoding lacks shall not end a finished run
        sys.stdout.reconfigure(errors="backslashreplace")
    from .commands.options import interrupted

    try:
        signal.signal(signal.SIGTERM, _interrupt)  # else children are left, and files under a temporary name
        from .cli import main
    except KeyboardInterrupt:  # loading takes seconds
        return interrupted()
    return main()


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(run())
