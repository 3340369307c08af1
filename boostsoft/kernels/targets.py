"""The kinds of processors that compiled kernels can be for: one just like this one, or any that has a level.

A level is what a wheel is built for that many kinds of processors share (``NUMBA_CPU_NAME=x86-64-v3 pip install .``):
one of the x86-64 psABI's, or Numba's ``generic``, which every processor of an architecture has. As every instruction of
a level is one of this processor, its code runs here; it is the same arithmetic, in shorter vectors perhaps.
"""

from __future__ import annotations

from numba import config

Target = tuple[str, str, str]
"""Numba's: the machine and system, the processor's name, and the features that it has (+) and lacks (-)."""

_V2 = {"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"}
_V3 = _V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}
_V4 = _V3 | {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}
_LEVELS: dict[str, set[str]] = {"x86-64-v4": _V4, "x86-64-v3": _V3, "x86-64-v2": _V2, "generic": set()}


def run_here(target: Target) -> list[Target]:
    """What a process with this target can run, fastest first; whoever names a processor gets no other."""
    machine, name, features = target
    has = {feature[1:] for feature in features.split(",") if feature.startswith("+")}
    levels = [level for level, needs in _LEVELS.items() if needs <= has and config.CPU_NAME in (None, level)]
    return [target, *((machine, level, "") for level in levels if (level, "") != (name, features))]
