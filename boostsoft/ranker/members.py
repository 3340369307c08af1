"""Several boosters in one: what each is trained on, and how many there are by default.

On few documents the mean of several boosters ranks better than any one of them, the more so the less alike they are:
one is trained on the metric, the next on the labels themselves (query-RMSE) with smaller trees, and so on in turn. Each
is trained by itself, from zero, as if there was no other. Its trees are put behind those of the ones before, so that
one booster holds them all, and its scores are their mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..arguments import FloatArray
from ..objectives import Objective, QueryRMSEObjective, SoftObjective
from .convex_losses import FEW

# by default on few documents; on more the gain is about .001 (notebooks/10_boosters.ipynb)
SEVERAL = 4
_SMALLER = 4  # times fewer leaves
_FITTED = 0.6  # the spread of scores that are fitted to labels, over that of the labels: some .3 to .8


@dataclass(frozen=True)
class Member:
    """One of several boosters.

    Attributes
    ----------
    on_metric : whether it is trained on the ranker's objective, or on the labels.
    smaller : whether its trees have a quarter of the leaves.
    """

    on_metric: bool
    smaller: bool

    def leaves(self, num_leaves: int) -> int:
        """How many leaves its trees have where the ranker's have so many."""
        return max(num_leaves // _SMALLER, 2) if self.smaller else num_leaves

    def objective(self, objective: SoftObjective) -> Objective:
        """What it is trained on."""
        if self.on_metric:
            return objective
        gain = objective.metric.gain  # the user's own says what labels are worth; otherwise they are numbers themselves
        return QueryRMSEObjective(gain="linear" if gain == "exp2" else gain)

    def unit(self, scores: float, labels: float) -> float:
        """By what its scores are multiplied to be about as far apart as the first booster's.

        ``scores`` is the spread of those, ``labels`` that of the labels.
        """
        return 1.0 if self.on_metric or scores == 0.0 else scores / (_FITTED * labels)


_TURNS = (Member(True, False), Member(False, True), Member(True, True), Member(False, False))


def members(n: int) -> list[Member]:
    """The kinds of n boosters."""
    return [_TURNS[at % len(_TURNS)] for at in range(n)]


def chosen(n_docs: int) -> int:
    """How many boosters there are by default on training data of so many documents."""
    return SEVERAL if n_docs < FEW else 1


@dataclass(frozen=True, eq=False)
class Own:
    """What a booster calls with its scores, called with those of one booster of several alone.

    Attributes
    ----------
    call : an objective or metrics, (scores, data set) -> anything.
    share : by what its own scores are multiplied in the mean.
    before : the scores of the boosters before it, (n_docs,), by the id of the data set; empty for the first.
    """

    call: Callable[[Any, Any], Any]
    share: float
    before: Mapping[int, FloatArray]

    def __call__(self, scores: Any, data: Any) -> Any:
        """Call with its own scores."""
        before = self.before[id(data)] if self.before else 0.0
        return self.call((scores - before) / self.share, data)
