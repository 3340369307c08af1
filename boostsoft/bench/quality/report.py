"""The tested runs put together, and the files that show them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...atomic import Content
from ...drawing import png
from ..differences import differences_figure
from ..machine import in_words
from ..peers import KNOWN, Peers
from ..results import Section
from ..tables import as_json, section_markdown, summary
from .analysis import TO_LAMBDARANK, Tested, pooled, quality_sections
from .comparison import Comparison
from .frozen import Frozen
from .methods import METHODS
from .options import FILES
from .store import RunLog
from .tasks import TESTED, Place, Task

_TITLE = "Test NDCG@10 less LightGBM lambdarank's"
_ABOUT = (
    "{trials} settings per method and fold, drawn from the same points of a unit cube for every method, the first one "
    "its stock setting (YetiRank's with an L2 of 3, the default of CatBoost's other losses); trained with up to "
    "{trees} trees, ended after {patience} without anything better on the validation part, and chosen by the same "
    "(hard NDCG@10; ours: soft NDCG@10 plus soft tau, as SoftRanker watches). Ours is SoftRanker: several boosters, "
    "each of up to so many trees, below 20,000 documents and where trees are random. {tested} SHA-256 of the settings: "
    "`{sha}`. Gains are 2^label - 1 (CatBoost's YetiRank and QueryRMSE have none: they take labels as they are); ERR "
    "stops at a label with probability (2^label - 1) / 2^highest."
)
_BEST = (
    "The best of each fold was then trained with {seeds} seeds{but}, queries in another order each time, and tested."
)
_MEAN = (
    "The {average} best of each fold were then trained with {seeds} seeds{but}, queries in another order each time, "
    "and the mean of their scores was tested (in units of their spread on the validation part; trees and times are "
    "those of all {average})."
)


def tested(comparison: Comparison, log: RunLog, tests: Iterable[Task]) -> dict[str, dict[str, Tested]]:
    """The tested runs by data set and method, folds put together."""
    by_place: dict[Place, list[str]] = defaultdict(list)
    for task in tests:
        by_place[task.place].append(task.key)
    return {
        found.name: {
            method: pooled([_fold(log, by_place[Place(found.name, fold.number, method)]) for fold in found.folds])
            for method in comparison.methods
        }
        for found in comparison.sets
    }


def threads_in_words(log: RunLog, tests: Iterable[Task]) -> str:
    """How many threads the tested runs had: an interrupted comparison may go on with other --jobs."""
    threads = sorted({log[task.key]["threads"] for task in tests})
    return " or ".join(map(str, threads)) + (", as --jobs was changed" if len(threads) > 1 else "")


def sections_of(
    comparison: Comparison, found: Mapping[str, Mapping[str, Tested]], peers: Peers, threads: str
) -> list[Section]:
    """All tables; methods whose library is missing, or that failed, are named in them."""
    left_out = {}
    for method in map(METHODS.__getitem__, comparison.options.methods):
        if method.id not in comparison.methods:
            failed = comparison.failed.get(method.id)
            left_out[method.name] = failed or f"{KNOWN[method.library][0]} {peers.missing[method.library]}"
    return quality_sections(found, comparison.options.jobs, threads, left_out)


def report_files(
    comparison: Comparison,
    frozen: Frozen,
    protocol: Mapping[str, Any],
    sections: Sequence[Section],
    machine: dict[str, Any],
    peers: Peers,
) -> dict[str, Content]:
    """The report as Markdown, as JSON, and as a picture if lambdarank is among the methods."""
    about = about_in_words(comparison, frozen)
    facts = {"settings_sha256": frozen.sha256, "protocol": protocol, "about": about}
    table, page, picture = FILES
    files: dict[str, Content] = {
        table: as_json(machine, peers, facts, sections).encode(),
        page: _markdown(in_words(machine), peers.in_words(), about, sections).encode(),
    }
    tables = [section for section in sections if section.key.startswith("quality_")]
    if any(TO_LAMBDARANK in row for section in tables for row in section.rows):
        files[picture] = lambda: png(differences_figure(tables, TO_LAMBDARANK, _TITLE))
    return files


def about_in_words(comparison: Comparison, frozen: Frozen) -> str:
    """How everything was tuned and tested."""
    options = comparison.options
    return _ABOUT.format(
        trials=frozen.trials or "Several",
        trees=frozen.trees or options.trees,
        patience=options.patience,
        tested=(_BEST if options.average == 1 else _MEAN).format(
            average=options.average,
            seeds=options.seeds,
            but=f" and up to {options.trees} trees" if frozen.trees not in (None, options.trees) else "",
        ),
        sha=frozen.sha256,
    )


def _fold(log: RunLog, keys: Sequence[str]) -> Tested:
    values = [log.values(key) for key in keys]
    records = [log[key] for key in keys]
    return Tested(
        {metric: np.array([found[metric] for found in values]) for metric in TESTED},
        np.array([record["trees"] for record in records], float),
        np.array([record["seconds"] for record in records]),
    )


def _markdown(machine: str, peers: str, about: str, sections: Sequence[Section]) -> str:
    head = ["# boostsoft bench quality", f"{machine}.\n\nLibraries: {peers}.", about, summary(sections)]
    return "\n\n".join([*head, *(section_markdown(section) for section in sections)]) + "\n"
