"""The chosen settings, and the file that holds them: written once, before any test part is read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...report import write_files
from .methods import Setting
from .store import RunLog
from .tasks import Place, Task

FILE = "settings.json"
_ABOUT = "boostsoft bench quality: the settings with the best hard NDCG@10 on the validation parts"


@dataclass(frozen=True, eq=False)
class Frozen:
    """Settings by place, the SHA-256 of their file, and of how many trials they are the best, if it says so."""

    settings: Mapping[Place, Setting]
    sha256: str
    trials: int | None


def choose(log: RunLog, trials: Sequence[Task]) -> dict[Place, dict[str, Any]]:
    """The best trial of each place on its validation part, the first one if several are.

    Raises
    ------
    ValueError
        If a method has failed in all trials on a fold.
    """
    best: dict[Place, dict[str, Any]] = {}
    failed: dict[Place, str] = {}
    for task in sorted(trials, key=lambda task: task.number):
        record = log[task.key]
        if "failed" in record:
            failed[task.place] = record["failed"]
        elif task.place not in best or record["valid"] > best[task.place]["valid"]:
            best[task.place] = {
                "trial": task.number,
                "setting": record["setting"],
                "valid": record["valid"],
                "trees": record["trees"],
            }
    for place in failed.keys() - best.keys():
        raise ValueError(
            f"bench quality: {place.method} failed in every trial on {place.data}, fold {place.fold}: {failed[place]}; "
            "name the other methods with --methods, in another folder"
        )
    return best


def freeze(folder: Path, chosen: Mapping[Place, Mapping[str, Any]], protocol: Mapping[str, Any]) -> Frozen:
    """Write the file, or find that it says the same already.

    Raises
    ------
    ValueError
        If the folder has such a file, with other content.
    """
    settings: dict[str, Any] = {}
    for place, entry in sorted(chosen.items(), key=lambda item: (item[0].method, item[0].data, item[0].fold)):
        settings.setdefault(place.method, {}).setdefault(place.data, {})[str(place.fold)] = entry
    searched = {section: protocol[section] for section in ("runs", "tuning") if section in protocol}
    content = (json.dumps({"about": _ABOUT, "settings": settings, "protocol": searched}, indent=1) + "\n").encode()
    path = folder / FILE
    if path.is_file():
        if path.read_bytes() != content:
            raise ValueError(f"--out: {path} is not what the runs beside it give; use it with --settings, or remove it")
    else:
        write_files(folder, {FILE: content})
    return read_settings(path, list(chosen))


def read_settings(path: Path, places: Sequence[Place]) -> Frozen:
    """Read the settings of these places.

    Raises
    ------
    ValueError
        If the file cannot be read as such, or a method, data set or fold is missing in it.
    """
    if not path.is_file():
        raise ValueError(f"--settings: there is no file {path}")
    content = path.read_bytes()
    try:
        document = json.loads(content)
        settings = document["settings"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"--settings: {path} must be a file that bench quality wrote: {error!r}") from error
    found = {place: _one(settings, place, path) for place in places}
    trials = document.get("protocol", {}).get("tuning", {}).get("trials")
    return Frozen(found, hashlib.sha256(content).hexdigest(), trials)


def _one(settings: Any, place: Place, path: Path) -> Setting:
    found = settings
    for kind, key in (("method", place.method), ("data set", place.data), ("fold", str(place.fold))):
        if not isinstance(found, dict) or key not in found:
            of = "" if kind == "method" else f" of method {place.method}"
            raise ValueError(f"--settings: {path} must hold every {kind} that is asked for; {key}{of} is missing")
        found = found[key]
    setting = found.get("setting") if isinstance(found, dict) else None
    if not isinstance(setting, dict) or not {"trees", "own"} <= set(setting):
        raise ValueError(f"--settings: {path} must give trees and own of {place}, got {setting!r}")
    return {"trees": setting["trees"], "own": setting["own"]}
