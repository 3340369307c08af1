"""An experiment's curves and values as CSV text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

import numpy as np

from ...statistics import counted_mean, fill_empty
from ..experiment import BASELINE, N_PARTS, OURS, Folds, Split
from .report import EMPTY_IN_WORDS


def curve_csv(split: Split) -> str:
    """One row per arm, data set, metric and tree."""
    rows = (
        (tree, arm.name, part, metric, repr(float(value)))
        for arm in split.arms
        for (part, metric), curve in arm.curves.items()
        for tree, value in enumerate(curve, 1)
    )
    return _csv(("tree", "arm", "data", "metric", "value"), rows)


def folds_csv(folds: Folds) -> str:
    """One row per fold, seed and arm: the trees kept and the test metric for each way to count empty queries."""
    name = folds.plan.names[0]
    rows = (
        (
            *(run.fold, run.seed, run.arm, run.trees),
            *(repr(counted_mean(fill_empty(run.values, rule))) for rule in EMPTY_IN_WORDS),
        )
        for run in folds.runs
    )
    return _csv(("fold", "seed", "arm", "trees", *(f"{name}_empty_{rule}" for rule in EMPTY_IN_WORDS)), rows)


def per_query_csv(folds: Folds) -> str:
    """One row per seed and test query: both arms' values, empty queries counted as 0 and marked."""
    runs = {(run.fold, run.seed, run.arm): run for run in folds.runs}
    rows = []
    for fold in range(1, N_PARTS + 1):
        part = folds.test_part(fold)
        queries = part.qid[np.cumsum(part.sizes) - part.sizes]
        for seed in folds.seeds:
            ours, theirs = (runs[fold, seed, arm].values for arm in (OURS, BASELINE))
            for query, size, a, b in zip(queries, part.sizes, ours, theirs, strict=True):
                values = fill_empty(np.array([a, b]), "zero").tolist()
                rows.append((fold, seed, query, size, int(np.isnan(a)), *map(repr, values)))
    return _csv(("fold", "seed", "query", "documents", "empty", OURS, BASELINE), rows)


def _csv(header: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
