"""What the figures were taken on, as far as it matters to them: cores, vector width, versions, other work."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from typing import Any

import boostsoft

from ..kernels.threads import n_threads

_WIDTHS = (("avx512f", 512), ("avx2", 256))


def describe_machine() -> dict[str, Any]:
    """Threads used, SIMD width, versions, and the load before anything was started; no names."""
    import llvmlite.binding

    features = llvmlite.binding.get_host_cpu_features()
    width = next((bits for name, bits in _WIDTHS if features.get(name)), 128)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "threads": n_threads(),
        "cores": os.cpu_count(),
        "simd_bits": width,
        "load_before": load,
        "system": platform.system(),
        "python": platform.python_version(),
        "boostsoft": boostsoft.__version__,
        "numba": importlib.metadata.version("numba"),
        "numpy": importlib.metadata.version("numpy"),
    }


def in_words(machine: dict[str, Any]) -> str:
    """The machine in one line, with a warning if other work was running."""
    text = (
        f"{machine['threads']} threads on {machine['cores']} cores, {machine['simd_bits']}-bit vectors, "
        f"{machine['system']}, Python {machine['python']}, Numba {machine['numba']}, NumPy {machine['numpy']}"
    )
    load = machine["load_before"]
    if load is not None and load > 0.25 * (machine["cores"] or 1):
        text += f"; other work was running at the start (load {load:.1f})"
    return text
