"""Scores of several models side by side: checked, and brought to one scale within every query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ..arguments import FloatArray, as_array, naming, one_of, refuse_lazy, short
from ..frames import as_checkable, is_frame, refuse_same_names, refuse_texts
from ..kernels.ranks import mean_ranks as ranks_of_queries
from ..kernels.threads import over_queries
from ..query_groups import QueryGroups

MISSING_SHARE = 0.25  # how far below the lowest a missing score lies under "minmax", in ranges of the scores
SHAPE = " must have one row per document, one column per model"  # a rule for messages
_NANOSECONDS = 60.0  # that a score takes, roughly: most of it is sorting


def score_matrix(caller: str, S: Any) -> tuple[FloatArray, list[str]]:
    """Scores as floats of shape (n_docs, n_models), NaN where a model has none, and what to call the columns.

    Arrays and frames of pandas and polars are taken; anything else, infinite scores included, raises.
    """
    from sklearn.utils import check_array  # takes a second to load

    refuse_lazy(caller, "S", S)
    refuse_same_names(caller, "S", S)
    refuse_texts(caller, "S", S)
    given = as_checkable(caller, "S", S)
    with naming(caller, "S", SHAPE):
        matrix: FloatArray = check_array(given, dtype=np.float64, order="C", ensure_all_finite=False, input_name="S")
    names = column_names(S, matrix.shape[1])
    refuse_infinite_scores(caller, matrix, names)
    return matrix, names


def column_names(S: Any, n_columns: int) -> list[str]:
    """``column 'bm25'`` of a frame, ``column 3`` of an array."""
    columns = S.columns if is_frame(S) else getattr(S, "column_names", range(n_columns))  # the latter of Arrow
    return [f"column {name!r}" for name in columns]


def refuse_infinite_scores(caller: str, matrix: FloatArray, names: Sequence[str]) -> None:
    """Raise if a score is infinite, naming its place."""
    wrong = np.isinf(matrix)
    if wrong.any():
        row, column = (int(place) for place in np.unravel_index(int(np.argmax(wrong)), matrix.shape))
        raise ValueError(
            f"{caller}: scores must be finite, or NaN where a model has none; got {matrix[row, column]} in "
            f"{names[column]}, row {row}"
        )


def refuse_unscored(caller: str, matrix: FloatArray, names: Sequence[str]) -> None:
    """Raise if a model has no score at all."""
    silent = np.isnan(matrix).all(axis=0)
    if silent.any():
        raise ValueError(
            f"{caller}: every model must have a score for some document; {names[int(np.argmax(silent))]} is NaN "
            "everywhere"
        )


def directions(caller: str, lower_is_better: Any, n_models: int) -> FloatArray:
    """-1 for the models of which a lower score is better, 1 for the others, from one bool or one per model."""
    mask = as_array(caller, "lower_is_better", lower_is_better)
    if mask.dtype.kind != "b" or mask.shape not in ((), (n_models,)):
        raise ValueError(
            f"{caller}: lower_is_better must be True, False or one of them per model, {n_models}; "
            f"got {short(lower_is_better)}"
        )
    return np.where(np.broadcast_to(mask, n_models), -1.0, 1.0)


def normalized(caller: str, how: str, matrix: FloatArray, groups: QueryGroups) -> FloatArray:
    r"""Scores brought to one scale, query by query and model by model; higher is better, none is missing.

    Of a query of n documents, r of which the model has scored:

    - ``"rank"``: Phi^-1((n + 1/2 - rank) / n), the normal scores of the ranks (rankits, Bliss 1967; Phi is the
      normal distribution function): ranks at either end are further apart than those in the middle. Tied documents
      share the mean of their ranks, and those without a score the mean of the ranks left, (r + 1 + n) / 2.
    - ``"zscore"``: (score - mean) / standard deviation of those scored; a missing score lies one deviation below the
      lowest of them.
    - ``"minmax"``: (score - lowest) / (highest - lowest); a missing score is -1/4.
    - ``"none"``: the score; a missing one lies one standard deviation of those scored below the lowest of them.

    Scores that are all alike are 0, but for ``"none"`` and, beside missing ones, for ``"rank"``; and so is everything
    of a model that has scored no document of the query: it moves none of them.

    Parameters
    ----------
    caller : str
        Who asks, for messages.
    how : "rank", "zscore", "minmax" or "none"
        Which scale.
    matrix : (n_docs, n_models)
        Scores, higher is better, NaN where there is none (:func:`score_matrix`).
    groups : QueryGroups
        Which documents belong to which query.

    Examples
    --------
    >>> scores = np.array([[5.0], [3.0], [1.0], [np.nan]])
    >>> normalized("example", "minmax", scores, QueryGroups.from_sizes([4])).ravel()
    array([ 1.  ,  0.5 ,  0.  , -0.25])
    """
    one_of(caller, "normalize", how, NORMALIZATIONS)
    result = np.empty(matrix.shape, order="F")
    n = groups.per_document(groups.sizes)

    def run(begin: int, end: int) -> None:
        for column in range(begin, end):  # one at a time: (n_docs,) temporaries, not (n_docs, n_models)
            scores = np.ascontiguousarray(matrix[:, column])
            if how == "rank":
                result[:, column] = normal_scores(mean_ranks(scores, groups), n)
            else:
                result[:, column] = LINEAR[how](scores, Measures.of(scores, groups))

    over_queries(run, np.full(matrix.shape[1], _NANOSECONDS * matrix.shape[0]))  # here, over columns
    return result


def normal_scores(ranks: FloatArray, n: Any) -> FloatArray:
    """Phi^-1((n + 1/2 - rank) / n), from the nearer end: ranks that mirror each other have opposite scores exactly."""
    below: FloatArray = ndtri(np.minimum(ranks - 0.5, n + 0.5 - ranks) / n)
    return np.where(2 * ranks < n + 1, -below, below)


def mean_ranks(scores: FloatArray, groups: QueryGroups) -> FloatArray:
    """Rank of each document in its query from 1, ties and missing ones at the mean of the ranks that they share."""
    ranks = np.empty(scores.size)
    ranks_of_queries(scores, groups.offsets, ranks)
    return ranks


@dataclass(frozen=True, eq=False)
class Measures:
    """Where one model's scores of a query lie, one value per document; seen from the lowest, equal ones differ by 0.

    Attributes
    ----------
    silent : whether the model has scored no document of the query.
    lowest : score; 0 where silent.
    half_height : half of how far the highest is from the lowest; the whole could overflow.
    mean, deviation : of the scores that there are, as shares of the way from the lowest to the highest.
    """

    silent: NDArray[np.bool_]
    lowest: FloatArray
    half_height: FloatArray
    mean: FloatArray
    deviation: FloatArray

    @classmethod
    def of(cls, scores: FloatArray, groups: QueryGroups) -> Measures:
        """Measure each query."""
        known = ~np.isnan(scores)
        counts = groups.counts(known)
        silent = groups.per_document(counts == 0)
        lowest = groups.smallest(np.where(known, scores, np.inf), np.inf)
        lowest = np.where(silent, 0.0, groups.per_document(lowest))
        moved = np.where(known, scores / 2.0 - lowest / 2.0, 0.0)
        half_height = groups.per_document(groups.largest(moved, 0.0))
        share = _over(moved, half_height)
        mean = groups.per_document(groups.sums(share) / np.maximum(counts, 1))
        away = np.where(known, share - mean, 0.0)
        deviation = np.sqrt(groups.sums(away * away) / np.maximum(counts, 1))
        return cls(silent, lowest, half_height, mean, groups.per_document(deviation))

    def first(self) -> Measures:
        """Those of the first document's query, of shape (1,)."""
        return Measures(self.silent[:1], self.lowest[:1], self.half_height[:1], self.mean[:1], self.deviation[:1])

    def share(self, scores: FloatArray) -> FloatArray:
        """How far scores are from the lowest towards the highest, from 0 to 1; 0 if missing."""
        return _over(np.where(np.isnan(scores), 0.0, scores / 2.0 - self.lowest / 2.0), self.half_height)


def _zscore(scores: FloatArray, measures: Measures) -> FloatArray:
    values = _over(measures.share(scores) - measures.mean, measures.deviation)
    return np.where(np.isnan(scores), np.where(measures.silent, 0.0, values - 1.0), values)


def _minmax(scores: FloatArray, measures: Measures) -> FloatArray:
    return np.where(np.isnan(scores) & ~measures.silent, -MISSING_SHARE, measures.share(scores))


def _none(scores: FloatArray, measures: Measures) -> FloatArray:
    with np.errstate(over="ignore"):
        below = measures.lowest - 2.0 * (measures.deviation * measures.half_height)
    return np.where(np.isnan(scores), np.maximum(below, np.finfo(np.float64).min), scores)


def _over(values: FloatArray, unit: FloatArray) -> FloatArray:
    return np.divide(values, unit, out=np.zeros(values.shape), where=unit > 0)


LINEAR: dict[str, Callable[[FloatArray, Measures], FloatArray]] = {"zscore": _zscore, "minmax": _minmax, "none": _none}
NORMALIZATIONS = ("rank", *LINEAR)
