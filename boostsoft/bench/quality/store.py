"""The log of the runs that are done, one JSON line each, and the values per query of the tested ones."""

from __future__ import annotations

import io
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from ...arguments import FloatArray
from ...atomic import naming_file, write_files
from .tasks import TESTED, Outcome

_LOG, _ARRAYS = "runs.jsonl", "runs"
_NUMBERS = ("valid", "trees", "seconds")  # of a run that has not failed


class RunLog:
    """Runs by key. A line that an interrupt cut short is dropped, and its run done again."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, folder / _LOG
        self._records = _read(self._path)

    def __contains__(self, key: str) -> bool:
        if key not in self._records:
            return False
        return key.startswith("tune/") or "failed" in self._records[key] or self._arrays(key).is_file()

    def __getitem__(self, key: str) -> dict[str, Any]:
        return self._records[key]

    def has(self, kind: str) -> bool:
        """Whether a run of that kind is done."""
        return any(key.startswith(f"{kind}/") for key in self._records)

    def add(self, outcome: Outcome) -> None:
        """Keep a run: first its arrays, then its line."""
        key = outcome.task.key
        if outcome.values is not None:
            stream = io.BytesIO()
            np.savez_compressed(stream, **outcome.values)  # type: ignore[arg-type]
            write_files(self._folder / _ARRAYS, {self._arrays(key).name: stream.getvalue()})
        line = json.dumps(outcome.record, allow_nan=False) + "\n"
        with naming_file(self._path), self._path.open("ab") as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())
        self._records[key] = outcome.record

    def values(self, key: str) -> dict[str, FloatArray]:
        """Values per query of a tested run."""
        path = self._arrays(key)
        try:
            with path.open("rb") as file, np.load(file) as found:
                return {name: found[name] for name in TESTED}
        except Exception as error:  # zipfile and NumPy have many
            raise ValueError(
                f"bench quality: {path} must hold the values of a run, and cannot be read; remove it, and the same "
                "command does the run again"
            ) from error

    def _arrays(self, key: str) -> Path:
        _, data, fold, method, seed = key.split("/")
        return self._folder / _ARRAYS / f"{data}-fold{fold}-{method}-seed{seed}.npz"


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """The records of a log, by key; what follows the last line's end is cut off the file."""
    if not path.is_file():
        return {}
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        os.truncate(path, len(whole))
    records = {}
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            record = json.loads(line)
            records[record["key"]] = record
            if "failed" not in record and not all(math.isfinite(record[name]) for name in _NUMBERS):
                raise ValueError(f"{', '.join(_NUMBERS)} must be finite")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"bench quality: {path}, line {number} must be a run's record: {error!r}") from error
    return records
