"""Evaluation sets: given, or split off by query."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..metrics.prepared import prepare
from ..objectives.base import NothingToLearnError, prepare_labels
from ..queries import split_queries
from .features import Encoder, checked_columns
from .rows import Rows, read_rows
from .settings import FIT, Settings

_FEW_QUERIES = 5  # to stop by: with 3 .008 of NDCG@10 was lost on MQ2008-agg, with 10 nothing


def evaluation_pairs(eval_set: Any, eval_X: Any, eval_y: Any) -> list[Any]:
    """Pairs (X, y), given as such or as features and labels apart: a tuple of each, or one pair."""
    if eval_X is None and eval_y is None:
        return _pairs(eval_set)
    if eval_set is not None:
        raise ValueError(f"{FIT}: give eval_set, or eval_X and eval_y, not both")
    if eval_X is None or eval_y is None:
        raise ValueError(
            f"{FIT}: eval_X and eval_y belong together; {'eval_X' if eval_X is None else 'eval_y'} is missing"
        )
    if isinstance(eval_X, tuple) != isinstance(eval_y, tuple):
        kinds = f"{type(eval_X).__name__} and {type(eval_y).__name__}"
        raise TypeError(f"{FIT}: eval_X and eval_y must both be tuples, of several sets, or neither; got {kinds}")
    if not isinstance(eval_X, tuple):
        return [(eval_X, eval_y)]
    if len(eval_X) != len(eval_y):
        raise ValueError(f"{FIT}: eval_X and eval_y must be of as many sets; got {len(eval_X)} and {len(eval_y)}")
    return list(zip(eval_X, eval_y, strict=True))


def evaluation_sets(
    ranker: Any, encoder: Encoder, named: bool, pairs: list[Any], beside: Mapping[str, Any]
) -> list[Rows]:
    """The pairs that were given to fit, with their queries and weights; ``named``: training knows its queries."""
    for argument, given in beside.items():
        if not pairs and given is not None and not _is_empty(given):
            raise ValueError(f"{FIT}: {argument} belongs to eval_set, which is missing")
    lists = [_parallel(argument, given, len(pairs)) for argument, given in beside.items()]
    sets = []
    for at, (pair, *queries) in enumerate(zip(pairs, *lists, strict=True)):
        caller = f"{FIT}: eval_set[{at}]"
        if queries[0] is not None and queries[1] is not None:
            raise ValueError(f"{caller}: give eval_group or eval_qid, not both")
        X = checked_columns(caller, ranker, pair[0], reset=False)
        rows, knows = read_rows(caller, encoder, X, pair[1], *queries)
        if named and not knows:
            raise ValueError(f"{caller}: queries are missing: give eval_qid or eval_group, as training has its own")
        sets.append(rows)
    return sets


def hold_out(settings: Settings, train: Rows, sets: list[Rows]) -> tuple[Rows, list[Rows]]:
    """Training rows, all of which weigh, and evaluation sets, the validation queries split off if they are to be."""
    if settings.validation_fraction is not None:
        if sets:
            raise ValueError(f"{FIT}: give eval_set or validation_fraction, not both")
        kept, held_out = split_queries(FIT, train.groups, settings.validation_fraction, settings.seed)
        return train.take(kept), [train.take(held_out)]
    if settings.early_stopping_rounds is not None and not sets:
        raise ValueError(f"{FIT}: early_stopping_rounds needs queries to watch: give eval_set or validation_fraction")
    return train, sets


def check_watched(settings: Settings, sets: Sequence[Rows]) -> None:
    """Raise if a set has labels that the metrics do not take, before a tree is grown for it."""
    for at, rows in enumerate(sets):
        caller = f"{FIT}: {_title(settings, at)}"
        for metric in settings.evaluated:
            prepare(metric.hard, caller, rows.labels, rows.groups)


def warn_of_blind_stopping(settings: Settings, sets: Sequence[Rows]) -> None:
    """Warn if early stopping watches next to no queries on which a ranking is better than another."""
    if settings.early_stopping_rounds is None:
        return
    metric, rows = settings.evaluated[0].hard, sets[-1]
    differ = rows.groups.differ(rows.labels) & (True if rows.weights is None else rows.weights > 0)
    telling = int(np.count_nonzero(differ))
    try:
        prepare_labels(metric, FIT, rows.labels, rows.groups, rows.weights, part=False)
    except NothingToLearnError:
        telling = 0
    if telling < _FEW_QUERIES:
        few = "no query" if telling == 0 else "only 1 query" if telling == 1 else f"only {telling} queries"
        warnings.warn(
            f"{FIT}: {few} of {_title(settings, len(sets) - 1)} {'have' if telling > 1 else 'has'} documents whose "
            f"order changes {metric!r}, by which early_stopping_rounds chooses the trees to keep",
            stacklevel=5,
        )


def _title(settings: Settings, at: int) -> str:
    share = settings.validation_fraction
    return f"eval_set[{at}]" if share is None else f"validation_fraction={share}"


def _pairs(eval_set: Any) -> list[Any]:
    if eval_set is None:
        return []
    if not isinstance(eval_set, (tuple, list)):
        raise TypeError(f"{FIT}: eval_set must be a list of pairs (X, y); got {type(eval_set).__name__}")
    of_pairs = bool(eval_set) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in eval_set)
    pairs = [eval_set] if isinstance(eval_set, tuple) and not of_pairs else list(eval_set)
    if not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs):
        raise ValueError(f"{FIT}: eval_set must be a list of pairs (X, y)")
    return pairs


def _is_empty(given: Any) -> bool:
    return isinstance(given, (list, tuple)) and not given


def _parallel(argument: str, given: Any, n: int) -> Sequence[Any]:
    if given is None:
        return [None] * n
    if not isinstance(given, (list, tuple)) or len(given) != n:
        got = f"{len(given)} entries" if isinstance(given, (list, tuple)) else type(given).__name__
        raise ValueError(f"{FIT}: {argument} must be a list with one entry per pair of eval_set, {n}; got {got}")
    return given
