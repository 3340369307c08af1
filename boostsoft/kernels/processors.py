"""What a process may use: processors, by its affinity and a container's quota, which Numba does not see, and memory."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import sys
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")


def processors(bound: int | None = None) -> int:
    """Processors that the calling thread may use, or its team that has ``bound`` of them, by the quota; 1 at least."""
    if bound is not None:
        allowed = bound
    else:
        try:
            allowed = len(os.sched_getaffinity(0))
        except AttributeError:  # of Linux only
            allowed = os.cpu_count() or 1
    return max(1, min(allowed, math.ceil(min(quota(CGROUPS), allowed))))


@functools.cache
def quota(cgroups: Path) -> float:
    """Processors' worth of time that the control group (version 2, or 1) grants; infinite without a limit."""
    try:
        granted, period = (cgroups / "cpu.max").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        try:
            granted, period = (
                (cgroups / "cpu" / f"cpu.cfs_{name}_us").read_text(encoding="ascii") for name in ("quota", "period")
            )
        except OSError:
            return math.inf
    try:
        share = int(granted) / int(period)
    except (ValueError, ZeroDivisionError):  # "max"
        return math.inf
    return share if share > 0 else math.inf  # version 1 says -1 for none


def granted_memory(cgroups: Path) -> int:
    """Bytes that the control group (version 2, or 1) may have; very many without a limit."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):  # of another version, or "max"
            return int((cgroups / name).read_text(encoding="ascii"))
    return sys.maxsize
