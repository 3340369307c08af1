"""How far a training is, for whoever looks: rounds of all boosters, and the watched metric."""

from __future__ import annotations

from ..progress import Tell
from .watch import Watch


class Shown:
    """Counts rounds and tells a bar, a round that finds no split included.

    Parameters
    ----------
    tell : the bar, whose total is ``rounds`` times ``n_boosters``.
    rounds, n_boosters : how many rounds a booster has at most, and how many boosters there are.
    """

    def __init__(self, tell: Tell, rounds: int, n_boosters: int) -> None:
        self._tell, self._rounds, self._n_boosters = tell, rounds, n_boosters
        self._at = self._done = 0

    def begin(self, at: int) -> None:
        """A booster begins; one before it that stopped early counts as done."""
        self._at, self._done = at, 0

    def round(self, watch: Watch) -> None:
        """Another round is done."""
        self._done += 1
        words = [f"booster {self._at + 1} of {self._n_boosters}"] if self._n_boosters > 1 else []
        if watch.curves:
            words.append(f"{watch.metrics[0]} {watch.last:.4f}")
        self._tell(self._at * self._rounds + self._done, ", ".join(words))
