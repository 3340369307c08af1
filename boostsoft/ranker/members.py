"""Several boosters in one: what each is trained on, and how many there are by default.

On few documents the mean of several boosters ranks better than any one of them, the more so the less alike they are:
one is trained on the metric, the next on the labels themselves (query-RMSE) with smaller trees, and so on in turn. On
more documents random trees are steady but slow to learn, the booster's own quick but unsteady, and which is better
depends on how noisy the labels are: the mean of one booster of each is as good as the better of the two. On many the
booster's own are better, and so is the mean of one that sees all of the data and one whose trees see parts of it. Each
is trained by itself, from zero, as if there was no other. Its trees are put behind those of the ones before, so that
one booster holds them all, and its scores are their mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..arguments import FloatArray
from ..metrics.coefficients import coefficients, falls
from ..metrics.hard import Metric
from ..metrics.registry import REGISTRY
from ..metrics.spec import Table, is_gain
from ..objectives import Objective, QueryRMSEObjective, SoftObjective
from ..query_groups import QueryGroups
from .convex_losses import FEW

# by default on few documents (notebooks/10_boosters.ipynb), and on more: there two that differ in nothing but that
# trees are random in one (notebooks/11_signal.ipynb); more gain about .001
SEVERAL, TWO = 4, 2
_MANY = 1_000_000  # documents, from which on one takes a minute
_SMALLER = 4  # times fewer leaves
_FITTED = 0.6  # the spread of scores that are fitted to targets, over that of the targets: some .3 to .8


@dataclass(frozen=True)
class Member:
    """One of several boosters.

    Attributes
    ----------
    on_metric : whether it is trained on the ranker's objective, or on the labels.
        On labels random trees are so by what they see: random thresholds tell few values, as of counts and codes,
        hardly apart (NDCG@10 was .1 lower on made-up data), and half of the boosters must do without.
    smaller : whether its trees have a quarter of the leaves.
    plain : whether its trees are the booster's own where the ranker's are random.
    parts : whether its trees are random by what they see where the ranker's are the booster's own.
    """

    on_metric: bool
    smaller: bool
    plain: bool = False
    parts: bool = False

    def leaves(self, num_leaves: int) -> int:
        """How many leaves its trees have where the ranker's have so many."""
        return max(num_leaves // _SMALLER, 2) if self.smaller else num_leaves

    def objective(self, objective: SoftObjective) -> Objective:
        """What it is trained on."""
        if self.on_metric:
            return objective
        return QueryRMSEObjective(gain=worth(objective.metric) or "linear")

    def unit(self, scores: float, targets: float) -> float:
        """By what its scores are multiplied to be about as far apart as the first booster's.

        ``scores`` is the spread of those, ``targets`` that of what query-RMSE fits: labels, or the user's own gains.
        """
        return 1.0 if self.on_metric or scores == 0.0 else scores / (_FITTED * targets)


def worth(metric: Metric) -> Table | None:
    """What the user says that labels are worth, by the option that the metric reads; None if they are numbers."""
    said = metric.p_rel if "p_rel" in REGISTRY[metric.metric].options else metric.gain
    return None if isinstance(said, str) or is_gain(said, "exp2") else said


def is_turned(metric: Metric) -> bool:
    """Whether a higher label is worth less somewhere in the user's table."""
    table = worth(metric)
    return isinstance(table, tuple) and falls(np.arange(float(len(table))), np.array(table))


def is_turned_on(caller: str, metric: Metric, labels: FloatArray) -> bool:
    """Whether a higher one of these labels is worth less."""
    distinct = np.unique(labels)
    return falls(distinct, coefficients(metric, caller, distinct, QueryGroups.from_sizes([distinct.size])))


_TURNS = (
    Member(on_metric=True, smaller=False),
    Member(on_metric=False, smaller=True),
    Member(on_metric=True, smaller=True),
    Member(on_metric=False, smaller=False),
)
_PLAIN, _PARTS = replace(_TURNS[0], plain=True), replace(_TURNS[0], parts=True)


def members(n: int, n_docs: int, random: bool, by_data: bool) -> list[Member]:
    """The kinds of n boosters on so many documents, where trees are ``random`` or not, which the data may decide."""
    turns: tuple[Member, ...] = _TURNS
    if n_docs >= FEW and (random or by_data):
        turns = (_TURNS[0], _PLAIN if random else _PARTS, *_TURNS[1:])
    return [turns[at % len(turns)] for at in range(n)]


def n_copies(kinds: Sequence[Member], num_leaves: int, random: bool) -> int:
    """How many of the boosters repeat an earlier one where nothing is drawn at random but ``random`` trees."""
    drawn = [member for member in kinds if not member.parts and (not random or member.plain)]
    return len(drawn) - len({(member.on_metric, member.leaves(num_leaves)) for member in drawn})


def chosen(n_docs: int, random: bool, by_data: bool) -> int:
    """How many boosters there are by default."""
    if n_docs < FEW:
        return SEVERAL
    return TWO if random or (by_data and n_docs < _MANY) else 1
