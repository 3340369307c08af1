"""How far the runs are: a bar with the time that is left, or a line per method and fold where nobody looks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.progress import TextColumn, TimeRemainingColumn
from rich.text import Text

from ...commands.terminal import Bars
from .methods import METHODS
from .store import RunLog
from .tasks import TEST, Place, Task


class Display(Bars):
    """A bar over all runs of a phase; those that the log has already are counted as done."""

    def __init__(self, console: Console, phase: str, tasks: Sequence[Task], log: RunLog) -> None:
        super().__init__(console, TimeRemainingColumn(), TextColumn("[cyan]{task.fields[now]}"), transient=True)
        self._console = console
        self._left: Counter[Place] = Counter()
        self._seconds: defaultdict[Place, float] = defaultdict(float)
        self._valid: dict[Place, float] = {}
        self._phase = phase
        for task in tasks:
            if task.key in log:
                self._note(task.place, log[task.key])
            else:
                self._left[task.place] += 1
        done = len(tasks) - self._left.total()
        self._task = self._progress.add_task(phase, total=len(tasks), completed=done, now="")

    def done(self, task: Task, record: dict[str, Any]) -> None:
        """One run more is done."""
        place = task.place
        name = f"{place.data}, fold {place.fold}, {METHODS[place.method].name}"
        self._progress.update(self._task, advance=1, now=name)
        self._left[place] -= 1
        self._note(place, record)
        if "failed" in record:
            what = f"trial {task.number} failed and does not count"
            if task.kind == TEST:
                what = f"seed {task.number} failed, and leaves the method out"
            self._say(f"{name}: {what}: {record['failed']}")
        if self._left[place] == 0 and not self._console.is_terminal:
            best = f"best NDCG@10 on valid {self._valid[place]:.4f}" if place in self._valid else "every run failed"
            self._say(f"{name}: {best}, {self._seconds[place]:.1f} s")

    def _note(self, place: Place, record: dict[str, Any]) -> None:
        self._seconds[place] += record["seconds"]
        if "failed" not in record:
            self._valid[place] = max(record["valid"], self._valid.get(place, 0.0))

    def _say(self, text: str) -> None:
        self._console.print(Text(f"{self._phase}: {text}"), soft_wrap=True)
