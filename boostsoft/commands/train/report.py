"""Tables of what an experiment found, with their meaning in words."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from ...arguments import FloatArray
from ...drawing import metric_title, noise_title
from ...metrics.soft import WATCHED_SIGMA
from ...statistics import PairedInterval, counted_mean, fill_empty, paired_interval
from ...tracks.words import amount
from ..experiment import BASELINE, N_PARTS, OURS, Folds, Plan, Split
from ..terminal import ResultTable

_DIFFERENCE = ("difference", "95 % interval")
EMPTY_IN_WORDS = {"zero": "count 0", "skip": "left out", "one": "count 1"}


def verdict(interval: PairedInterval) -> str:
    """What an interval of ours minus lambdarank means, in plain words."""
    if interval.n < 2:
        return "Too few queries to compare."
    if interval.low == interval.high == 0:
        return f"{OURS} and {BASELINE} do equally well on every single query."
    if interval.sign:
        higher, side = (OURS, "above") if interval.sign > 0 else (BASELINE, "below")
        if interval.too_few:
            return f"{higher} is higher {interval.too_few}."
        return f"{higher} is higher: the whole interval is {side} 0."
    seen = 1.4 * (interval.high - interval.low) / 2  # (1.96 + .84) / 1.96 of the interval's reach
    size = f"{seen:.3g}" if seen >= 1 else f"{seen:.2g}"
    return (
        f"Not told apart: the interval holds 0; with {interval.n} queries a difference of {size} would show four "
        "times in five."
    )


def plan_summary(plan: Plan) -> str:
    """What ours trains on, and the settings that both arms share."""
    shared = plan.booster_parameters(OURS)
    settings = {"learning_rate": None, "num_leaves": None, "min_data_in_leaf": 20, **plan.parameters}
    listed = ", ".join(f"{name} {shared.get(name, default)}" for name, default in settings.items())
    up = "Each arm: up" if plan.baseline else "Up"
    beside = [f"{weight:g} {name}" for what in (plan.mix, plan.losses) for name, weight in (what or {}).items()]
    return (
        f"{OURS} trains on {' + '.join([f'soft {metric_title(plan.metric)}', *beside])}. "
        f"{up} to {amount(plan.trees, 'tree')}, {listed}, the rest as in LightGBM; {_kept(plan)}."
    )


def _kept(plan: Plan) -> str:
    if not plan.chooses_trees:
        return "all trees are kept, since dart changes earlier ones"
    stop = f"; training stops {amount(plan.early_stopping, 'tree')} after it" if plan.early_stopping else ""
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
        f"{noise_title(plan.noise)} of {WATCHED_SIGMA:g} times the spread of the scores.",
        plan_summary(plan),
        f"Trees kept: {kept}. Where the kernels were not compiled at installation, {OURS}'s time includes that, once.",
    ]


def _conclusion(split: Split, part: str) -> list[RenderableType]:
    if not split.plan.baseline:
        return []
    name = split.plan.names[0]
    if np.isnan(split.arms[0].values[part, name]).all():
        return [_bold(f"Nothing in {part} is relevant: there is nothing to compare by.")]
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
