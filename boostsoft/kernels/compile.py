"""The one recipe by which every kernel is compiled, with the reason for each setting.

- kept on disk (``cache``): compiling the engine takes seconds; it happens once per machine and version.
- ``nogil=True``: the threads of ``kernels.threads`` run kernels side by side.
- ``error_model="numpy"``: no division-by-zero branch inside vectorised loops.
- ``fastmath={"contract"}``: a multiply followed by an add may become one fused instruction. Nothing else is
  allowed: re-association would undo the ordering that keeps tiny gradients exact, and the kernels rely on
  infinities (a gap of ``inf`` is a gap that is never closed).
- ``boundscheck`` stays off (the default): indices come from checked offsets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

from .cache import keep
from .interrupts import uninterrupted

_RECIPE: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
}

_UNREACHABLE: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": True}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function on its first call and keep the result on disk."""
    return keep(uninterrupted(njit(**_RECIPE)(function)))


def routine(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that kernels call, and Python never may, always put in its caller's place.

    What Python would need of it is half of its compile time, and it need not be kept on disk. Left as a function of
    its own, a process that has just compiled would run one copy of it and a later one another, from inside the
    kernel that was kept; they round differently.
    """
    return njit(**_RECIPE, **_UNREACHABLE)(function)


def merged(function: Callable[..., Any]) -> Callable[..., Any]:
    """Put a function into its caller before types are inferred.

    Each compiled function optimises everything below it again, so a chain of six costs six times; the middle of
    a chain is merged into its one caller.
    """
    return njit(inline="always")(function)
