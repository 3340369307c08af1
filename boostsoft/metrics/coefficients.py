"""From labels to one coefficient per document: gains, relevance, probabilities, or the labels' own order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import FloatArray, IntArray, as_array, short
from ..query_groups import QueryGroups, order_within
from .registry import REGISTRY
from .spec import GAINS, PROBABILITIES, TableOption

if TYPE_CHECKING:
    from .hard import Metric

_SINGLE = float(np.finfo(np.float32).eps)


def coefficients(metric: Metric, caller: str, labels: FloatArray, groups: QueryGroups) -> FloatArray:
    """The ``gains`` of the metric's registry entry, shape (n_docs,)."""
    kind = REGISTRY[metric.metric].gains
    if kind in ("binary", "judged"):
        relevant = (labels >= _least_relevant(metric.relevant_from)).astype(np.float64)
        return np.where((labels < 0) & (relevant == 0), -1.0, relevant) if kind == "judged" else relevant
    if kind == "probability":
        return _probabilities(metric, caller, labels)
    if kind == "levels":
        return _ranks_of_labels(labels, groups)[0]
    if kind == "positions":
        return _ranks_of_labels(labels, groups)[1]
    return _from_option(caller, "gain", metric.gain, GAINS, labels)


def falls(labels: FloatArray, gains: FloatArray) -> bool:
    """Whether a higher one of these labels is worth less, by what each document has."""
    _, first = np.unique(labels, return_index=True)
    return bool((np.diff(gains[first]) < 0).any())


def _least_relevant(threshold: float) -> float:
    """A little less where it is no whole number: boosters keep labels in single precision, and 5/6 as .8333333."""
    return threshold if threshold == np.floor(threshold) else threshold - abs(threshold) * _SINGLE


def _probabilities(metric: Metric, caller: str, labels: FloatArray) -> FloatArray:
    known = {name: partial(formula, largest=metric.max_label) for name, formula in PROBABILITIES.items()}
    found = _from_option(caller, "p_rel", metric.p_rel, known, labels)
    wrong = (found < 0.0) | (found > 1.0)
    if wrong.any():
        at = int(np.argmax(wrong))
        how = f"p_rel={short(metric.p_rel)}"
        if metric.p_rel == "exp2":
            how = f"max_label={metric.max_label}, {how}"
        raise ValueError(
            f"{caller}: {metric.metric} needs probabilities from 0 to 1; "
            f"label {labels[at]} at position {at} gives {found[at]} with {how}"
        )
    return found


def _from_option(
    caller: str, argument: str, option: TableOption, known: Mapping[str, Callable[[Any], Any]], labels: FloatArray
) -> FloatArray:
    """A named formula, a table by label, or a user's function, applied to the labels."""
    if isinstance(option, tuple):
        table = np.array(option)
        wrong = (labels != np.floor(labels)) | (labels < 0) | (labels >= table.size)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ValueError(
                f"{caller}: with a {argument} table of {table.size} entries labels must be whole numbers from 0 to "
                f"{table.size - 1}; got {labels[at]} at position {at}"
            )
        return np.ascontiguousarray(table[labels.astype(np.int64)])
    with np.errstate(over="ignore"):
        if isinstance(option, str):
            found: FloatArray = known[option](labels)
            found = found.copy() if found is labels else found  # a large array more costs more than the formula
        else:
            found = from_function(caller, argument, option, labels)
    if not np.isfinite(found).all():
        at = int(np.argmin(np.isfinite(found)))
        raise ValueError(
            f"{caller}: {argument} {option!r} must be finite; label {labels[at]} at position {at} gives {found[at]}"
        )
    return found


def from_function(caller: str, argument: str, function: Any, points: FloatArray) -> FloatArray:
    """What a user's function makes of a copy of the points: one number for each."""
    point = "rank" if argument == "discount" else "label"
    try:
        values = function(points.copy())
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"{caller}: {argument} must be a function of the array of {point}s (numpy.vectorize makes one of a "
            f"function of one {point}); on {points.size} {point}s, which are float64, it raised "
            f"{type(error).__name__}: {error}"
        ) from error
    found = as_array(caller, argument, values)
    if found.dtype.kind not in "fiub" or found.shape != points.shape:
        raise ValueError(
            f"{caller}: {argument} must return one number per {point}, shape {points.shape}; got dtype {found.dtype}, "
            f"shape {found.shape}"
        )
    return np.array(found, dtype=np.float64)


def _ranks_of_labels(labels: FloatArray, groups: QueryGroups) -> tuple[FloatArray, FloatArray]:
    """Place of each label among the distinct ones of its query (0, 1, ...), and its average rank (from 1)."""
    order = order_within(groups, labels)
    firsts: IntArray = groups.per_document(groups.offsets[:-1])  # a query keeps its place in the sorted order
    new_query = np.arange(labels.size) == firsts
    new = new_query | np.append(True, labels[order][1:] != labels[order][:-1])
    run = np.cumsum(new) - 1
    starts = np.flatnonzero(new)
    ends = np.append(starts[1:], labels.size)
    levels, positions = np.empty(labels.size), np.empty(labels.size)
    levels[order] = run - run[firsts]
    positions[order] = (0.5 * (starts + ends + 1.0))[run] - firsts
    return levels, positions
