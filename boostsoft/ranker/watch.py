"""What is seen after every tree, and when to stop."""

from __future__ import annotations

from collections.abc import Iterable


class Watch:
    """Records every metric on every validation set; says to stop when one of them has not risen for some trees.

    Parameters
    ----------
    dataset, metric : str
        What is watched.
    rounds : int or None
        Steps without a better value after which to stop; None trains all.

    Attributes
    ----------
    curves : data set -> metric -> one value per step.
    best_trees : trees of the booster at the best value; None before there is one.
    best_value : what it was.
    """

    def __init__(self, dataset: str, metric: str, rounds: int | None) -> None:
        self.dataset, self.metric, self.rounds = dataset, metric, rounds
        self.curves: dict[str, dict[str, list[float]]] = {}
        self.best_trees: int | None = None
        self.best_value = float("-inf")
        self._waited = 0

    def see(self, values: Iterable[tuple[str, str, float]], trees: int) -> bool:
        """Record (data set, metric, value) of a booster of so many trees; whether to stop."""
        for dataset, metric, value in values:
            self.curves.setdefault(dataset, {}).setdefault(metric, []).append(float(value))
        value = self.last
        self._waited += 1
        if value > self.best_value:
            self.best_trees, self.best_value, self._waited = trees, value, 0
        return self.rounds is not None and self._waited >= self.rounds

    @property
    def last(self) -> float:
        """The last value of what is watched."""
        return self.curves[self.dataset][self.metric][-1]
