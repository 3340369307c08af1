"""The kinds of processors that compiled kernels can be for: one just like this one, or any that has a level.

A level is a set of instructions that many kinds share: one of the x86-64 psABI's, or what Numba calls ``generic``, the
least of an architecture. As all instructions of a level are this processor's, too, its code runs here, and gives the
same bits on every processor that has it. Code for the two levels with wide vectors takes no longer than code for one
kind of processor (measured: Emerald Rapids', Skylake's, Haswell's and Zen 3's, all on the first of them), so
installations are compiled for them.
"""

from __future__ import annotations

from numba import config

Target = tuple[str, str, str]
"""Numba's: the machine and system, the processor's name, and the features that it has (+) and lacks (-)."""

_V2 = {"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"}
_V3 = _V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}
_V4 = _V3 | {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}
_LEVELS: dict[str, set[str]] = {"x86-64-v4": _V4, "x86-64-v3": _V3, "x86-64-v2": _V2, "generic": set()}
_WIDE = ("x86-64-v4", "x86-64-v3")


def run_here(target: Target) -> list[Target]:
    """What a process with this target can run, fastest first; whoever names a processor gets no other."""
    machine, name, features = target
    has = {feature[1:] for feature in features.split(",") if feature.startswith("+")}
    levels = [level for level, needs in _LEVELS.items() if needs <= has and config.CPU_NAME in (None, level)]
    return [target, *((machine, level, "") for level in levels if (level, "") != (name, features))]


def to_install(target: Target) -> Target:
    """What an installation by such a process is compiled for: the level that was asked for, or the best wide one.

    Raises
    ------
    ValueError
        If a level was asked for that this processor lacks: kernels run once as they are compiled.
    """
    own, *levels = run_here(target)
    _, name, features = own
    if name in _LEVELS and features and not levels:
        raise ValueError(f"NUMBA_CPU_NAME must be a level that this processor has; got {name}")
    return next((level for level in levels if level[1] in (name, *_WIDE)), own)
