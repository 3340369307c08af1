"""What was measured as tables, and the files that show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from ...atomic import Content
from ...drawing import png
from ...statistics import counted_mean, paired_interval
from ..differences import differences_figure
from ..machine import in_words
from ..peers import Peers
from ..results import Column, Section, difference_cells
from ..tables import as_json, section_markdown
from .measured import MAIN, TESTED, Run, by_draw, per_query
from .options import FILES, Options
from .rankers import LAMBDARANK, RANK_NDCG, RANKERS

_BASES = (LAMBDARANK, RANK_NDCG)
_HEADINGS = {"ndcg@1": "NDCG@1", "ndcg@5": "NDCG@5", MAIN: "NDCG@10", "map": "MAP"}
_COLUMNS = (
    Column("name", "ranker"),
    *(Column(f"{metric}_text", heading, "figures") for metric, heading in _HEADINGS.items()),
    *(Column(f"to_{base}_text", f"@10, less {RANKERS[base].name} [95 %]", "figures") for base in _BASES),
    Column("draws_text", "draws, sd", "figures"),
    Column("seconds", "a fit, s", "s"),
)
_NOTE = (
    "Draws of queries: {draws}. Trained on {train:,} documents in the mean, {how}, all else by each library's "
    "defaults. A value is each test query's mean over the draws that test it, then the mean over those of the "
    "{tested:,} test queries that have something relevant. Intervals: paired over these queries, by the bootstrap. "
    "Draws: NDCG@10 over them. Time: median."
)


def section_of(
    name: str, runs: Mapping[str, Sequence[Run]], left_out: Mapping[str, str], options: Options, read: str = ""
) -> Section:
    """The table of a data set, for which this was ``read``."""
    how = (
        f"up to {options.trees:,} trees, stopped by the validation part" if options.stop else f"{options.trees:,} trees"
    )
    draws = next(iter(runs.values()))
    note = _NOTE.format(
        draws=len(draws),
        train=round(np.mean([run.n_docs for run in draws])),
        tested=per_query(draws, MAIN).size,
        how=how,
    )
    rows = [_row(method, runs) for method in runs]
    return Section(f"defaults_{name}", name, f"{read} {note}".strip(), _COLUMNS, rows, left_out=left_out)


def _row(method: str, runs: Mapping[str, Sequence[Run]]) -> dict[str, Any]:
    own, ranker = runs[method], RANKERS[method]
    draws, seconds = by_draw(own, MAIN), [run.seconds for run in own]
    tested = draws[~np.isnan(draws)]  # not those without anything relevant to test on
    row: dict[str, Any] = {
        "name": ranker.name,
        "method": method,
        "ours": ranker.ours,
        "draws": draws.tolist(),
        "draws_text": f"{tested.std(ddof=1):.4f}" if tested.size > 1 else "-",
        "seconds": float(np.median(seconds)),
    }
    for metric in TESTED:
        row[metric] = counted_mean(per_query(own, metric))
        row[f"{metric}_text"] = f"{row[metric]:.4f}"
    for base in _BASES:
        if base in runs and base != method:
            interval = paired_interval(per_query(own, MAIN), per_query(runs[base], MAIN))
            row |= difference_cells(interval, to(base), f"to_{base}_text")
    return row


def to(base: str) -> str:
    """The key of a row's difference from a ranker."""
    return f"to_{base}_interval"


def report_files(
    options: Options, sections: Sequence[Section], machine: dict[str, Any], peers: Peers
) -> dict[str, Content]:
    """The report as Markdown, as JSON, and as a picture of what there is to be compared."""
    facts = {name: value for name, value in asdict(options).items() if name not in ("data", "out")}
    head = ["# boostsoft bench defaults", f"{in_words(machine)}.\n\nLibraries: {peers.in_words()}."]
    text = "\n\n".join([*head, *map(section_markdown, sections)]) + "\n"
    table, page, picture = FILES
    files: dict[str, Content] = {table: as_json(machine, peers, facts, sections).encode(), page: text.encode()}
    base = next((base for base in _BASES if any(to(base) in row for section in sections for row in section.rows)), None)
    if base is not None:
        title = f"Test NDCG@10 less that of {RANKERS[base].name}"
        files[picture] = lambda: png(differences_figure(sections, to(base), title))
    return files
