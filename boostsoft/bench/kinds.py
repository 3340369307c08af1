"""The kinds of ``python -m boostsoft bench``: which options not every kind takes, and which methods are named."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

SPEED, QUALITY, DEFAULTS = "speed", "quality", "defaults"
_TAKEN_BY: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("parts", "rounds", "queries", "documents"), (SPEED,)),
    **dict.fromkeys(("methods", "trees"), (QUALITY, DEFAULTS)),
    **dict.fromkeys(("trials", "seeds", "average", "jobs", "settings", "tune_only"), (QUALITY,)),
    **dict.fromkeys(("draws", "train_documents", "stop"), (DEFAULTS,)),
}


def refuse_others(kind: str, given: argparse.Namespace) -> None:
    """Raise if an option of other kinds of bench was given."""
    for name, kinds in _TAKEN_BY.items():
        if kind not in kinds and getattr(given, name) not in (None, False):
            raise ValueError(f"--{name.replace('_', '-')}: bench {kind} does not take it; see bench --help")


def chosen(text: str | None, known: Mapping[str, object]) -> tuple[str, ...]:
    """Ids separated by commas, each once, in the order of the full comparison; all of them for None."""
    names = list(known) if text is None else [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise ValueError(f"--methods: must be some of {','.join(known)}; got {name!r}")
    return tuple(one for one in known if one in names)
