"""The chosen settings, and the file that holds them: written once, before any test part is read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...atomic import write_files
from ...json_text import json_text
from .methods import Setting
from .store import RunLog
from .tasks import Place, Task

FILE = "settings.json"
_KEPT = ("setting", "valid", "judged", "trees")
_ABOUT = "boostsoft bench quality: the settings that are best on the validation parts"


@dataclass(frozen=True, eq=False)
class Frozen:
    """Settings by place, best first, the SHA-256 of their file; what it says of trials, trees and data, if it does."""

    settings: Mapping[Place, Sequence[Setting]]
    sha256: str
    trials: int | None
    trees: int | None
    data: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def refuse_other_files(self, found: Mapping[str, Mapping[str, str]]) -> None:
        """Raise if the parts that they were chosen on were other files than these, by their SHA-256.

        What is called a test part now may be what they were chosen on.
        """
        for name, parts in found.items():
            for part, digest in parts.items():
                if self.data.get(name, {}).get(part, digest) != digest:
                    raise ValueError(
                        f"--settings: must have been chosen on the same parts; {part} of {name} was another file"
                    )


def failures(log: RunLog, trials: Sequence[Task]) -> dict[str, str]:
    """The methods that failed in every trial on a fold, which leaves none to choose: the first such fold, and why."""
    trained = {task.place for task in trials if "failed" not in log[task.key]}
    found: dict[str, str] = {}
    for task in trials:
        if task.place not in trained:
            where = f"{task.place.data}, fold {task.place.fold}"
            found.setdefault(task.place.method, f"failed in every trial on {where}: {log[task.key]['failed']}")
    return found


def failures_in_tests(log: RunLog, tests: Sequence[Task]) -> dict[str, str]:
    """The methods of which a tested run failed, which leaves no mean over folds and seeds: the first one, and why."""
    found: dict[str, str] = {}
    for task in tests:
        if "failed" in log[task.key]:
            where = f"{task.place.data}, fold {task.place.fold}, seed {task.number}"
            found.setdefault(task.place.method, f"failed in testing on {where}: {log[task.key]['failed']}")
    return found


def choose(log: RunLog, trials: Sequence[Task], average: int) -> dict[Place, dict[str, Any]]:
    """The best trial of each place on its validation part, the first one if several are; the next best under "next".

    Raises
    ------
    ValueError
        If a method has failed in so many trials on a fold that there are not as many as are averaged.
    """
    done: dict[Place, list[dict[str, Any]]] = {task.place: [] for task in trials}
    failed: dict[Place, str] = {}
    for task in sorted(trials, key=lambda task: task.number):
        record = log[task.key]
        if "failed" in record:
            failed[task.place] = record["failed"]
        else:
            done[task.place].append({"trial": task.number, **{name: record[name] for name in _KEPT}})
    chosen = {}
    for place, entries in done.items():
        if len(entries) < average:
            raise ValueError(
                f"bench quality: {place.method} failed in all but {len(entries)} trials, of which --average {average} "
                f"needs more, on {place.data}, fold {place.fold}: {failed[place]}; name the other methods with "
                "--methods, in another folder"
            )
        best, *others = sorted(entries, key=lambda entry: -entry["judged"])[:average]
        chosen[place] = {**best, "next": others} if others else best
    return chosen


def freeze(
    folder: Path, chosen: Mapping[Place, Mapping[str, Any]], protocol: Mapping[str, Any], average: int
) -> Frozen:
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
    content = json_text({"about": _ABOUT, "settings": settings, "protocol": searched}).encode()
    path = folder / FILE
    if path.is_file():
        if path.read_bytes() != content:
            raise ValueError(
                f"--out: {path} is not what the runs beside it give, with this --average; use it with --settings, or "
                "remove it"
            )
    else:
        write_files(folder, {FILE: content})
    return read_settings(path, list(chosen), average)


def read_settings(path: Path, places: Sequence[Place], average: int) -> Frozen:
    """Read as many settings of each of these places.

    Raises
    ------
    ValueError
        If the file cannot be read as such, has fewer, or a method, data set or fold is missing in it.
    """
    if not path.is_file():
        raise ValueError(f"--settings: there is no file {path}")
    content = path.read_bytes()
    try:
        document = json.loads(content)
        settings = document["settings"]
        protocol = document.get("protocol", {})
        trials = protocol.get("tuning", {}).get("trials")
        trees = protocol.get("runs", {}).get("options", {}).get("trees")
        data = {name: dict(parts) for name, parts in protocol.get("runs", {}).get("data", {}).items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"--settings: {path} must be a file that bench quality wrote: {error!r}") from error
    found = {place: _some(settings, place, path, average) for place in places}
    return Frozen(found, hashlib.sha256(content).hexdigest(), trials, trees, data)


def _some(settings: Any, place: Place, path: Path, average: int) -> list[Setting]:
    found = settings
    for kind, key in (("method", place.method), ("data set", place.data), ("fold", str(place.fold))):
        if not isinstance(found, dict) or key not in found:
            of = "" if kind == "method" else f" of method {place.method}"
            raise ValueError(f"--settings: {path} must hold every {kind} that is asked for; {key}{of} is missing")
        found = found[key]
    others = found.get("next", []) if isinstance(found, dict) else []
    entries = [found, *(others if isinstance(others, list) else [])][:average]
    if len(entries) < average:
        raise ValueError(
            f"--average: {path} must give {average} settings of {place}, as bench quality writes with --average "
            f"{average}; got {len(entries)}"
        )
    return [_trained_with(entry.get("setting") if isinstance(entry, dict) else entry, place, path) for entry in entries]


def _trained_with(setting: Any, place: Place, path: Path) -> Setting:
    if not isinstance(setting, dict) or not all(isinstance(setting.get(name), dict) for name in ("trees", "own")):
        raise ValueError(f"--settings: {path} must give trees and own of {place}; got {setting!r}")
    return {"trees": setting["trees"], "own": setting["own"]}
