"""Other libraries: optional ones are imported where they are used, not before; what their errors say."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def optional(caller: str, module: str, extra: str) -> Any:
    """An optional dependency, or an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{caller}: {module.partition('.')[0]} is not installed: pip install 'boostsoft[{extra}]' ({error})"
        ) from error


def reason(error: Exception) -> str:
    """What an error says, in one line; XGBoost's go on with the stack."""
    return " ".join(str(error).partition("Stack trace")[0].split())
