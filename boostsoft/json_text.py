"""Results as JSON: numbers that are not finite, for which it has no word, are null."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def json_text(document: Any) -> str:
    """A document with its line end, for people too."""
    return json.dumps(as_plain(document), indent=1) + "\n"


def as_plain(value: Any) -> Any:
    """Only what JSON has.

    >>> as_plain({1: (np.float64(0.5), float("nan")), "b": np.array([1, 2])})
    {'1': [0.5, None], 'b': [1, 2]}
    """
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    elif isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): as_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
