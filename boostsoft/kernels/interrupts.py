"""Ctrl-C waits while a kernel compiles, and while XGBoost makes a matrix for training.

LLVM and XGBoost call back into Python there, through ctypes, which prints what is raised in a callback and goes on: the
interrupt would be lost, or the kernel or the matrix left half made.
"""

from __future__ import annotations

import contextlib
import functools
import signal
import threading
from collections.abc import Iterator
from typing import Any


def uninterrupted(dispatcher: Any) -> Any:
    """Let a function be compiled to the end before Ctrl-C is seen; with the compiler off, it is a plain one."""
    if hasattr(dispatcher, "py_func"):
        compile_types = dispatcher.compile

        @functools.wraps(compile_types)
        def compile_whole(types: Any) -> Any:
            with held_back():
                return compile_types(types)

        dispatcher.compile = compile_whole
    return dispatcher


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Handle Ctrl-C behind the block, if the program handles it and this is the thread that would."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(*came[0])
