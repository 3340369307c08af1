"""What is seen after every tree, and when to stop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from ..metrics.spec import NOT_PNR
from ..query_means import STILL
from .settings import FIT


class Watch:
    """Records every metric on every validation set; says to stop when the sum of those watched no longer rises.

    Parameters
    ----------
    dataset : str
        The validation set that is watched; "" if there is none, and trees are only counted.
    metrics : sequence of str
        The metrics whose sum is watched.
    rounds : int or None
        Trees without a better value, or rounds without a tree, after which to stop; None trains all.
    start : int
        Trees that the booster has before.

    Attributes
    ----------
    curves : data set -> metric -> one value per tree. A round that finds no split, as of random trees, may grow none.
    best_trees : trees of the booster at the best value; None before there is one.
    chosen : trees of the booster that a callback has said to keep; None unless one has.
    """

    def __init__(self, dataset: str, metrics: Sequence[str], rounds: int | None, start: int = 0) -> None:
        self.dataset, self.metrics, self.rounds = dataset, metrics, rounds
        self.curves: dict[str, dict[str, list[float]]] = {}
        self.best_trees: int | None = None
        self.chosen: int | None = None
        self._highest = float("-inf")
        self._start = self._trees = start
        self._waited = self._idle = 0

    def see(self, values: Iterable[tuple[str, str, float]], trees: int) -> bool:
        """Record (data set, metric, value) of a booster of so many trees; whether to stop."""
        if trees == self._trees:
            self._idle += 1
            return self.rounds is not None and self._idle >= self.rounds
        self._trees, self._idle = trees, 0
        for dataset, metric, value in values:
            self.curves.setdefault(dataset, {}).setdefault(metric, []).append(float(value))
        if not self.dataset:
            return False
        value = sum(self.curves[self.dataset][metric][-1] for metric in self.metrics)
        self._waited += 1
        if self.rounds is not None and value == inf:  # beside which no other is better
            raise ValueError(
                f"{FIT}: early_stopping_rounds needs a metric that is finite for every query; "
                f"{self.metrics[0]} is infinite with {trees} trees: {NOT_PNR}"
            )
        if value > self._highest + STILL:
            self.best_trees, self._highest, self._waited = trees, value, 0
        return self.rounds is not None and self._waited >= self.rounds

    def forget(self) -> None:
        """Take back all values: the trees were none."""
        self.curves.clear()
        self.best_trees, self.chosen, self._trees = None, None, self._start

    @property
    def trees(self) -> int:
        """How many the booster had when its last value was seen."""
        return self._trees

    def value(self, trees: int) -> float | None:
        """What the first metric was with so many trees of the booster; None before there was one."""
        values = self.curves.get(self.dataset, {}).get(self.metrics[0], [])[: trees - self._start]
        return values[-1] if values else None

    @property
    def last(self) -> float:
        """The last value of the first metric."""
        return self.curves[self.dataset][self.metrics[0]][-1]
