"""What a run shows and writes: progress bars, tables with their meaning in words, CSV text, files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from .arguments import FloatArray
from .atomic import write_files
from .experiment import BASELINE, N_PARTS, OURS, Folds, Observer, Plan, Split
from .statistics import FEW_PAIRS, PairedInterval, counted_mean, fill_empty, paired_interval
from .terminal import ResultTable, page

if TYPE_CHECKING:
    from typing import Self

_DIFFERENCE = ("difference", "95 % interval")
EMPTY_IN_WORDS = {"zero": "count 0", "skip": "left out", "one": "count 1"}


def metric_title(spec: str) -> str:
    """How a metric is written in prose.

    >>> metric_title("ndcg@10"), metric_title("precision@5")
    ('NDCG@10', 'Precision@5')
    """
    name, at, cutoff = spec.partition("@")
    return (name.upper() if len(name) <= 4 else name.capitalize()) + at + cutoff


# ---------------------------------------------------------------------------------------------------------
# Progress
# ---------------------------------------------------------------------------------------------------------


class Bars:
    """Bars shown inside a ``with`` block: what is done, how much of it, then ``columns``; on terminals only."""

    def __init__(self, console: Console, *columns: ProgressColumn, transient: bool) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            *columns,
            console=console,
            transient=transient,
        )
        self._shown = console.is_terminal  # elsewhere a bar that is stopped writes a line end, before Rich 14

    def __enter__(self) -> Self:
        if self._shown:
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._progress.stop()


class TreeBars(Bars, Observer):
    """A progress bar per booster with the watched metrics; with ``runs``, one bar over all of them besides."""

    def __init__(self, console: Console, runs: int | None = None) -> None:
        columns = (TextColumn("[cyan]{task.fields[metrics]}"), TimeRemainingColumn())
        super().__init__(console, *columns, transient=False)
        self._all = None if runs is None else self._progress.add_task("all runs", total=runs, metrics="")
        self._current = TaskID(0)

    def begin(self, run: str, trees: int) -> None:
        """Show a new bar."""
        waiting = "first tree (a fresh install compiles for some seconds)"
        self._current = self._progress.add_task(run, total=trees, metrics=waiting)

    def tree(self, n: int, values: Mapping[str, float]) -> None:
        """Move the bar."""
        shown = "  ".join(f"{name} {value:.4f}" for name, value in values.items())
        self._progress.update(self._current, completed=n, metrics=shown)

    def end(self) -> None:
        """Fill the bar, whether or not training stopped early, or take it away if there are many runs."""
        if self._all is None:
            self._progress.update(self._current, total=self._progress.tasks[-1].completed)
        else:
            self._progress.remove_task(self._current)
            self._progress.advance(self._all)


# ---------------------------------------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------------------------------------


def verdict(interval: PairedInterval) -> str:
    """What an interval of ours minus lambdarank means, in plain words."""
    if interval.n < 2:
        return "Too few queries to compare."
    if interval.low == interval.high == 0:
        return f"{OURS} and {BASELINE} do equally well on every single query."
    if interval.sign:
        higher, side = (OURS, "above") if interval.sign > 0 else (BASELINE, "below")
        if interval.n < FEW_PAIRS:
            return f"{higher} is higher in these {interval.n} queries, too few to say so of others."
        return f"{higher} is higher: the whole interval is {side} 0."
    seen = 1.4 * (interval.high - interval.low) / 2  # (1.96 + .84) / 1.96 of the interval's reach
    return (
        f"Not told apart: the interval holds 0; with {interval.n} queries a difference of {seen:.3f} would show four "
        "times in five."
    )


def plan_summary(plan: Plan) -> str:
    """What ours trains on, and the settings that both arms share."""
    shared = plan.booster_parameters(OURS)
    settings = {"learning_rate": None, "num_leaves": None, "min_data_in_leaf": 20, **plan.parameters}
    listed = ", ".join(f"{name} {shared.get(name, default)}" for name, default in settings.items())
    beside = [f"{weight:g} {name}" for what in (plan.mix, plan.losses) for name, weight in (what or {}).items()]
    return (
        f"{OURS} trains on {' + '.join([f'soft {metric_title(plan.metric)}', *beside])}. "
        f"Each arm: up to {plan.trees} trees, {listed}, the rest as in LightGBM; {_kept(plan)}."
    )


def _kept(plan: Plan) -> str:
    if not plan.chooses_trees:
        return "all trees are kept, since dart changes earlier ones"
    stop = f"; training stops {plan.early_stopping} trees after it" if plan.early_stopping else ""
    return f"kept is the number of trees with the best hard {metric_title(plan.metric)} on valid{stop}"


def split_report(split: Split) -> RenderableType:
    """Table of both metrics on all parts, what was trained, and what the difference means."""
    plan, last = split.plan, list(split.parts)[-1]
    table = ResultTable(["part", "metric"], [*plan.arms, *_DIFFERENCE] if plan.baseline else plan.arms)
    for part in split.parts:
        for kind, name in zip(("hard", "soft"), plan.names, strict=True):
            values = [fill_empty(arm.values[part, name], "zero") for arm in split.arms]
            style = "bold" if (part, kind) == (last, "hard") else ""
            table.add_row(part if kind == "hard" else "", kind, *_cells(values), style=style)
        table.add_section()
    title = Text(f"{metric_title(plan.metric)}, mean over queries", style="italic")
    return Group(title, table, *_paragraphs(_split_notes(split)), *_conclusion(split, last))


def _split_notes(split: Split) -> list[str]:
    plan = split.plan
    kept = ", ".join(f"{arm.name} {arm.trees} ({arm.seconds:.1f} s)" for arm in split.arms)
    sizes = ", ".join(f"{part} {data.n_queries}" for part, data in split.parts.items())
    nothing = {part: np.isnan(split.arms[0].values[part, plan.names[0]]) for part in split.parts}
    empty = sum(int(of_part.sum()) for of_part in nothing.values())
    blind = plan.chooses_trees and bool(nothing["valid"].all())
    kept += "; all trees, since nothing in valid is relevant to choose by" if blind else ""
    return [
        f"Queries: {sizes}; {empty} of them have nothing relevant and count 0. Soft: the expected metric under "
        f"{plan.noise} noise of 0.2 times the spread of the scores.",
        plan_summary(plan),
        f"Trees kept: {kept}. Where the kernels were not compiled at installation, {OURS}'s time includes that, once.",
    ]


def _conclusion(split: Split, part: str) -> list[RenderableType]:
    if not split.plan.baseline:
        return []
    name = split.plan.names[0]
    interval = paired_interval(*(fill_empty(arm.values[part, name], "zero") for arm in split.arms))
    chosen = ""
    if part == "valid" and split.plan.chooses_trees:
        chosen = " The number of trees was chosen on these queries: a test part would be fairer."
    caveat = " The interval is over queries; another seed or other training queries may move it."
    return [
        _bold(f"Hard {metric_title(split.plan.metric)} on {part}: {verdict(interval)}"),
        Text((chosen + caveat)[1:]),
    ]


def folds_report(folds: Folds) -> RenderableType:
    """Pooled table for the three ways to count empty queries, one row per fold, and what it means."""
    title = metric_title(folds.plan.metric)
    interval = paired_interval(folds.values(OURS, "zero"), folds.values(BASELINE, "zero"))
    caveat = "The interval is over queries; how much the seeds move it is seen in the differences by seed."
    return Group(
        Text(f"Test {title} over all folds: queries with nothing relevant count 0, not, or 1", style="italic"),
        _pooled_table(folds),
        Text("By fold, such queries counted as 0", style="italic"),
        _fold_table(folds),
        *_paragraphs(_folds_notes(folds)),
        _bold(f"Test {title}: {verdict(interval)}"),
        Text(caveat),
    )


def _pooled_table(folds: Folds) -> ResultTable:
    table = ResultTable(["empty"], ["queries", OURS, BASELINE, *_DIFFERENCE])
    for rule, words in EMPTY_IN_WORDS.items():
        values = [folds.values(arm, rule) for arm in (OURS, BASELINE)]
        counted = int((~np.isnan(values[0])).sum())
        table.add_row(words, str(counted), *_cells(values), style="bold" if rule == "zero" else "")
    return table


def _fold_table(folds: Folds) -> ResultTable:
    table = ResultTable(["fold"], ["trees kept", OURS, BASELINE, *_DIFFERENCE])
    for fold in range(1, N_PARTS + 1):
        trees = [
            np.mean([run.trees for run in folds.runs if (run.fold, run.arm) == (fold, arm)]) for arm in (OURS, BASELINE)
        ]
        values = [folds.values(arm, "zero", folds=[fold]) for arm in (OURS, BASELINE)]
        table.add_row(str(fold), f"{trees[0]:.0f} / {trees[1]:.0f}", *_cells(values))
    return table


def _folds_notes(folds: Folds) -> list[str]:
    values = folds.values(OURS, "skip")
    seeds = "1 seed" if len(folds.seeds) == 1 else f"{len(folds.seeds)} seeds"
    per_seed = ", ".join(
        f"{np.mean(folds.values(OURS, 'zero', seeds=[s]) - folds.values(BASELINE, 'zero', seeds=[s])):+.4f}"
        for s in folds.seeds
    )
    seconds = ", ".join(f"{arm} {sum(r.seconds for r in folds.runs if r.arm == arm):.0f} s" for arm in (OURS, BASELINE))
    return [
        f"{values.size} queries, each tested once per seed and averaged over {seeds}; {np.isnan(values).sum()} have "
        f"nothing relevant. Difference by seed: {per_seed}. Training took {seconds}.",
        plan_summary(folds.plan),
    ]


def _cells(values: list[FloatArray]) -> list[str]:
    """Means per arm and, of two arms, the paired difference and its interval."""
    means = [f"{counted_mean(found):.4f}" for found in values]
    if len(values) < 2:
        return means
    interval = paired_interval(*values)
    ends = f"{interval.low:+.4f} to {interval.high:+.4f}" if interval.n > 1 else "-"
    return [*means, f"{interval.mean:+.4f}", ends]


def _paragraphs(texts: Iterable[str]) -> list[RenderableType]:
    return [Text(text + "\n") for text in texts]


def _bold(text: str) -> Text:
    return Text(text, style="bold")


# ---------------------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------------------


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


def finish(shown: RenderableType, out: Path, files: Mapping[str, bytes]) -> None:
    """End a command: write its files, show its report, whatever becomes of them, and say where the files are."""
    console = page()
    try:
        write_files(out, files)
    finally:
        console.print(shown)
    console.print(Text(f"Written to {out}: {', '.join(files)}"))
