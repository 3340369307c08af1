"""Models that add nothing: constant ones, copies of one another, and reversed copies; what is said of them."""

from __future__ import annotations

import warnings

import numpy as np

from ..arguments import FloatArray
from ..query_groups import QueryGroups
from .scores import mean_ranks

_DIGITS = 9  # to which two columns agree that rank alike, in spreads
_NOTHING = 1e-10  # of the models' spreads: less is left by rounding of models that cancel
_FIRST = 1000  # documents that tell most columns apart


def copies(
    scores: FloatArray, groups: QueryGroups, weights: FloatArray, units: FloatArray
) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """Columns that differ only by a factor and by constants within the queries that weigh.

    In groups of two or more where the factor is above 0, and pairs of which the second is a first one reversed.
    ``units`` are the columns' spreads. They agree in every query's own units, too: beside a huge score all others look
    equal in spreads.
    """
    few = int(np.searchsorted(groups.offsets, _FIRST))
    if few < groups.n_queries // 2:  # those that differ there already need not be looked at further
        ahead = QueryGroups.from_offsets(groups.offsets[: few + 1])
        found, turned = copies(scores[: ahead.n_docs], ahead, weights[:few], units)
        left = np.zeros(units.size, bool)
        left[[at for group in (*found, *turned) for at in group]] = True
        units = np.where(left, units, 0.0)
    weighing = groups.per_document(weights > 0)
    mirror = groups.per_document(groups.sizes)[weighing] + 1.0
    alike: dict[tuple[bytes, bytes], list[int]] = {}
    opposite: dict[tuple[bytes, bytes], int] = {}
    reversed_: list[tuple[int, int]] = []
    for at in np.flatnonzero(units > 0).tolist():
        with np.errstate(over="ignore"):  # NumPy 1.26 sees one among the least numbers where there is none
            column = scores[:, at] / units[at]
        column = column - groups.per_document(groups.means(column))
        digits = np.round(column[weighing], _DIGITS)
        largest = groups.per_document(groups.largest(np.abs(column), 0.0))
        own = np.divide(column, largest, out=np.zeros(column.size), where=largest > 0)
        ranks = mean_ranks(np.round(own, _DIGITS), groups)[weighing]  # which differ by rounding are tied
        key = (digits + 0.0).tobytes(), ranks.tobytes()
        alike.setdefault(key, []).append(at)
        opposite.setdefault(((0.0 - digits).tobytes(), (mirror - ranks).tobytes()), at)
        if key in opposite:
            reversed_.append((opposite[key], at))
    return [group for group in alike.values() if len(group) > 1], reversed_


def is_rounding(left: float, weights: FloatArray, units: FloatArray | float) -> bool:
    """Whether a blend with a spread of ``left`` is rounding alone: its models, with spreads of ``units``, cancel."""
    most = float((np.abs(weights) * units).max())
    return most > 0.0 and left <= _NOTHING * most


def warn_of_copies(
    caller: str, groups: list[list[int]], reversed_: list[tuple[int, int]], names: list[str], stacklevel: int
) -> None:
    """Say which models leave each other's weights open; ``stacklevel`` counts from the caller, here and below."""
    for group in groups:
        listed = " and ".join(names[at] for at in group)
        warnings.warn(
            f"{caller}: {listed} rank all documents alike: only the sum of their weights is determined",
            stacklevel=stacklevel + 1,
        )
    for first, second in reversed_:
        warnings.warn(
            f"{caller}: {names[second]} ranks all documents in the opposite order of {names[first]}: only the "
            "difference of their weights is determined; name those of which a lower score is better in "
            "lower_is_better",
            stacklevel=stacklevel + 1,
        )


def warn_of_constants(
    caller: str, units: FloatArray, names: list[str], outcomes: tuple[str, str], stacklevel: int
) -> None:
    """Say which models rank nothing, and what comes of it if these are some of them, or all."""
    idle = np.flatnonzero(units == 0).tolist()
    if idle:
        listed = ", ".join(names[at] for at in idle)
        outcome = outcomes[len(idle) == units.size]
        warnings.warn(f"{caller}: constant within every query: {listed}; {outcome}", stacklevel=stacklevel + 1)


def warn_of_one_that_counts(caller: str, outcome: str, stacklevel: int) -> None:
    """Say that of several queries one alone decides."""
    words = f"{caller}: one query alone has a relevant document (and a weight): {outcome}"
    warnings.warn(words, stacklevel=stacklevel + 1)
