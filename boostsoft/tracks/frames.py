"""Columns as a DataFrame of whichever library is asked for and installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..arguments import one_of

KINDS = ("pandas", "polars")


def as_frame(caller: str, kind: str, columns: dict[str, Any]) -> Any:
    """Build a DataFrame of pandas or polars from columns of equal length.

    Raises
    ------
    ValueError
        If ``kind`` is neither.
    ImportError
        If the library is not installed.

    Examples
    --------
    >>> as_frame("example", "pandas", {"trees": [1, 2]}).shape
    (2, 1)
    """
    name = one_of(caller, "kind", kind, KINDS)
    return optional(caller, name, name).DataFrame(columns)


def optional(caller: str, module: str, extra: str) -> Any:
    """An optional dependency, or an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{caller}: {module.partition('.')[0]} is not installed: pip install 'boostsoft[{extra}]' ({error})"
        ) from error
