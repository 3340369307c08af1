"""Tables of the tested runs: each data set, the pool of all, and what an objective changes in the same trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arguments import FloatArray
from ...statistics import counted_mean, paired_interval
from ..results import ABOVE_0, Column, Section, Target, difference_cells, seed_cells
from ..timing import Spread
from .methods import LAMBDARANK, LIBRARIES, METHODS, ONE_BOOSTER, OURS, ours_first
from .tasks import TESTED

_TO = "to_lambdarank"
TO_LAMBDARANK = f"{_TO}_interval"  # the key of a row's difference from lambdarank
MAIN, POOL = "ndcg@10", "all data sets"
BEST = Target(0.0, "NDCG@10 >= best other's", at_least=True)
ABOVE = Target(ABOVE_0, "95 % interval above 0 to lambdarank", at_least=True)
_HEADINGS = {"ndcg@1": "NDCG@1", "ndcg@5": "NDCG@5", "ndcg@10": "NDCG@10", "map": "MAP", "err@10": "ERR@10"}
_COLUMNS = (
    Column("name", "trained by"),
    *(Column(f"{metric}_text", heading, "figures") for metric, heading in _HEADINGS.items()),
    Column("less_text", "@10: ours less it [95 %]", "figures"),
    Column("seeds_text", "seeds, sd", "figures"),
    Column("trees", "trees", "number"),
    Column("median", "a run, s", "s"),
    Column("targets", "targets", "targets"),
)
_BOOSTER_COLUMNS = (
    Column("data", "data"),
    Column("name", "objective"),
    Column("ndcg@10_text", "NDCG@10", "figures"),
    Column("less_text", "ours less it [95 %]", "figures"),
    Column("map_text", "MAP", "figures"),
    Column("map_less_text", "ours less it [95 %]", "figures"),
)
_NOTE = (
    "Test queries of all folds; {counted:,} of {queries:,} have something relevant, the others are left out of every "
    "mean. Values are means over seeds ({seeds}); paired intervals over queries by the bootstrap, on those means. "
    "Ours is {ours}. Seeds: NDCG@10 over them. Time: training a run, median; threads per run: {threads}, runs at a "
    "time: {jobs}."
)
_BOOSTER_NOTE = (
    "Searched alike, under ours (of one booster, if that is among the methods) and under the library's own objectives."
)


@dataclass(frozen=True, eq=False)
class Tested:
    """The tested runs of one method on one data set, or on several.

    Attributes
    ----------
    values : mapping
        Of each metric, (n_seeds, n_queries); NaN where nothing is relevant.
    trees, seconds : (n_runs,)
        Of each run.
    """

    values: Mapping[str, FloatArray]
    trees: FloatArray
    seconds: FloatArray

    def mean(self, metric: str) -> float:
        """Over queries that count, and seeds."""
        return counted_mean(self.values[metric])

    def per_query(self, metric: str) -> FloatArray:
        """Means over seeds, (n_queries,)."""
        means: FloatArray = self.values[metric].mean(axis=0)
        return means


def pooled(parts: Sequence[Tested]) -> Tested:
    """Several data sets, or folds, as one."""
    return Tested(
        {metric: np.concatenate([part.values[metric] for part in parts], axis=1) for metric in TESTED},
        np.concatenate([part.trees for part in parts]),
        np.concatenate([part.seconds for part in parts]),
    )


def quality_sections(
    found: Mapping[str, Mapping[str, Tested]], jobs: int, threads: str, left_out: Mapping[str, str]
) -> list[Section]:
    """All tables, of tested runs by data set and method."""
    everything = dict(found)
    if len(found) > 1:
        methods = next(iter(found.values()))
        everything[POOL] = {method: pooled([by[method] for by in found.values()]) for method in methods}
    facts = {"jobs": jobs, "threads": threads}
    sections = [_section(name, tested, facts, left_out) for name, tested in everything.items()]
    _judge_pool(sections[-1].rows)
    boosters = [_booster_section(library, everything) for library in ("lightgbm", "xgboost")]
    return [*sections, *(section for section in boosters if section is not None)]


def _section(name: str, tested: Mapping[str, Tested], facts: Mapping[str, Any], left_out: Mapping[str, str]) -> Section:
    ours = ours_first(list(tested))
    rows = [_row(method, tested, ours) for method in tested]
    _judge_best(rows, ours)
    main = next(iter(tested.values())).values[MAIN]
    note = _NOTE.format(
        counted=int(np.isfinite(main[0]).sum()),
        queries=main.shape[1],
        seeds=main.shape[0],
        ours=METHODS[ours].name if ours else "not among them",
        **facts,
    )
    return Section(f"quality_{name}", name, note, _COLUMNS, rows, left_out=left_out)


def _row(method: str, tested: Mapping[str, Tested], ours: str | None) -> dict[str, Any]:
    runs = tested[method]
    row: dict[str, Any] = {
        "name": METHODS[method].name,
        "method": method,
        "ours": METHODS[method].ours,
        **seed_cells(np.array([counted_mean(values) for values in runs.values[MAIN]])),
        "trees": float(runs.trees.mean()),
        "seconds": Spread.of(runs.seconds),
        "median": float(np.median(runs.seconds)),
    }
    for metric in TESTED:
        row[metric] = runs.mean(metric)
        row[f"{metric}_text"] = f"{row[metric]:.4f}"
    if ours not in (None, method):
        row |= _less("less", tested, str(ours), method, MAIN)
    if LAMBDARANK in tested and method != LAMBDARANK:
        row |= _less(_TO, tested, method, LAMBDARANK, MAIN)
    return row


def _less(key: str, tested: Mapping[str, Tested], first: str, second: str, metric: str) -> dict[str, Any]:
    interval = paired_interval(tested[first].per_query(metric), tested[second].per_query(metric))
    return difference_cells(interval, f"{key}_interval", f"{key}_text")


def _judge_best(rows: Sequence[dict[str, Any]], ours: str | None) -> None:
    others = [row[MAIN] for row in rows if not METHODS[row["method"]].ours]
    for row in rows:
        if row["method"] == ours and others:
            row["targets"] = [BEST.judge(row[MAIN] - max(others))]


def _judge_pool(rows: Sequence[Any]) -> None:
    ours = ours_first([row["method"] for row in rows])
    for row in rows:
        if row["method"] == ours and TO_LAMBDARANK in row:
            row["targets"] = [*row.get("targets", []), ABOVE.judge(row[TO_LAMBDARANK][1])]


def _booster_section(library: str, everything: Mapping[str, Mapping[str, Tested]]) -> Section | None:
    """Ours and the others in one library; None unless both are there."""
    rows = []
    for name, tested in everything.items():
        inside = [method for method in tested if METHODS[method].library == library]
        ours = next((method.id for method in (*ONE_BOOSTER, *OURS) if method.id in inside), None)
        if ours is None or all(METHODS[method].ours for method in inside):
            continue
        for method in inside:
            row = {"data": name, **_row(method, {other: tested[other] for other in inside}, ours)}
            if method != ours:
                row |= _less("map_less", tested, ours, method, "map")
            rows.append(row)
    title = f"In {LIBRARIES[library].name}"
    return Section(f"in_{library}", title, _BOOSTER_NOTE, _BOOSTER_COLUMNS, rows) if rows else None
