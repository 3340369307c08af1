"""What a folder of results was made with; a run that would mix it with something else is refused."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import boostsoft

from ...atomic import write_files
from ...json_text import json_text
from ..peers import Peers

_FILE = "protocol.json"
_PACKAGE = Path(boostsoft.__file__).parent
_RUNS = [
    "bench/folds.py",
    *(
        f"bench/quality/{name}.py"
        for name in (
            "data",
            "jobs",
            "tasks",
            "train_catboost",
            "train_lightgbm",
            "train_ranker",
            "train_xgboost",
            "watch",
        )
    ),
]


class Protocol:
    """Sections of entries, each written when it is first entered and compared whenever it is entered again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        path = folder / _FILE
        self.sections: dict[str, Any] = _read(path) if path.is_file() else {}

    def enter(self, section: str, entries: Mapping[str, Any]) -> None:
        """Keep a section.

        Raises
        ------
        ValueError
            If the folder has it already and an entry differs.
        """
        new = json.loads(json.dumps(entries))
        if section in self.sections:
            different = next(_differences(section, self.sections[section], new), None)
            if different is not None:
                raise ValueError(
                    f"--out: {self._folder} holds another comparison: {different}; give another folder, or the "
                    "options and data it was begun with"
                )
            return
        self.sections[section] = new
        write_files(self._folder, {_FILE: json_text(self.sections).encode()})


def versions(peers: Peers) -> dict[str, str]:
    """Of everything that decides on the results; of this package also its sources."""
    return {
        "python": platform.python_version(),
        "numpy": importlib.metadata.version("numpy"),
        "numba": importlib.metadata.version("numba"),
        **peers.versions,
        "boostsoft": f"{boostsoft.__version__}, sources {_sources()}",
    }


def _sources() -> str:
    """A digest of the package's modules; of the benchmark's, those that train and measure a run."""
    whole = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        name = path.relative_to(_PACKAGE).as_posix()
        if not name.startswith("bench/") or name in _RUNS:
            whole.update(f"{name}\n".encode() + path.read_bytes())
    return whole.hexdigest()[:12]


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"bench quality: {path} must be JSON: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"bench quality: {path} must hold what the folder was made with; got {_short(found)}")
    return found


def _differences(name: str, old: Any, new: Any) -> Iterator[str]:
    """The entries that differ, in words."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from _differences(f"{name}.{key}", old.get(key), new.get(key))
    elif old != new:
        yield f"{name} was {_short(old)} and is {_short(new)}"


def _short(value: Any) -> str:
    if value is None:
        return "absent"
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
