"""What is compared in one command, and the runs that it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .data import DataSet
from .frozen import Frozen
from .methods import METHODS, Setting
from .options import Options
from .space import draw
from .tasks import TEST, TUNE, Place, Task
from .workers import threads_per_job


@dataclass(frozen=True)
class Comparison:
    """Options, data sets, the methods whose libraries are installed, and why others of them failed."""

    options: Options
    sets: Sequence[DataSet]
    methods: Sequence[str]
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def threads(self) -> int:
        """Threads of a run."""
        return threads_per_job(self.options.jobs)

    @property
    def places(self) -> list[Place]:
        """Every method on every fold."""
        return [
            Place(found.name, fold.number, method)
            for found in self.sets
            for fold in found.folds
            for method in self.methods
        ]

    def task(self, kind: str, place: Place, number: int, *settings: Setting) -> Task:
        """A run of this comparison."""
        found = next(found for found in self.sets if found.name == place.data)
        files = next(fold for fold in found.folds if fold.number == place.fold)
        return Task(kind, place, number, files, settings, self.options.trees, self.options.patience, self.threads)

    def trials(self) -> list[Task]:
        """The search."""
        return [
            self.task(TUNE, place, number, self._trial(place, number))
            for place in self.places
            for number in range(self.options.trials)
        ]

    def tests(self, frozen: Frozen) -> list[Task]:
        """The tested runs."""
        first = self.options.seed
        return [
            self.task(TEST, place, seed, *frozen.settings[place])
            for place in self.places
            for seed in range(first, first + self.options.seeds)
        ]

    def _trial(self, place: Place, number: int) -> Setting:
        method = METHODS[place.method]
        return method.setting(draw(self.options.seed, place.fold, number)) if number else method.stock()
