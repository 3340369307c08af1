"""Our kernels without a booster: the value alone against the gradient, and how near they come to the machine's peak."""

from __future__ import annotations

from typing import Any

from ..choices import Noise
from ..metrics.hard import Metric
from ..metrics.prepared import prepare
from ..metrics.soft import SoftMetric
from ..objectives import SoftObjective
from ..query_groups import query_weights
from .nodes import FAINT, LAW_OPERATIONS, MOMENTS, MOMENTS_RANK, PICKED_CELL, PLAIN_CELL, ROW_CELL, count_cells
from .objective_cost import NOISES
from .pools import Pool
from .results import Column, Section, Target
from .roofline import peak_operations
from .settings import Settings
from .timing import Contender, Measure, Rounds, Watcher, interleave, ratio, timed

METRIC = "ndcg@10"
VALUE_ONLY = Target(1 / 3, "<= 1/3 of the gradient")
_SAMPLE = 50  # queries whose nodes are counted

_VALUE_COLUMNS = (
    Column("noise", "noise"),
    Column("sigma", "sigma / spread", "plain"),
    Column("call", "call"),
    Column("gradient", "gradient, µs per query", "µs"),
    Column("value", "value only, µs per query", "µs"),
    Column("ratio", "ratio", "ratio"),
    Column("targets", "targets", "targets"),
)
_ROOF_COLUMNS = (
    Column("noise", "noise"),
    Column("sigma", "sigma / spread", "plain"),
    Column("nodes", "nodes per query", "number"),
    Column("cells", "cells per query", "number"),
    Column("operations", "operations per query", "number"),
    Column("per_cell", "ns per cell", "ns"),
    Column("share", "share of the peak", "share"),
)
_VALUE_NOTE = (
    "The value of every query against value, gradient and curvature, ndcg@10, without a booster. Prepared: at an "
    "objective's accuracy, and labels are checked once, as in training. Public: at a metric's accuracy, by "
    "SoftMetric.per_query and SoftMetric.value_gradient_hessian, which check and sort the labels anew in every call."
)
_ROOF_NOTE = (
    "Cells are documents x ranks x nodes, as the engine counts them itself, with padding to eight nodes; operations "
    "are the additions and multiplications in them ({plain} for a document without gain, {picked} for one with gain, "
    "{row} for a nearly certain one; one far below takes {faint} for all ranks; under Gumbel noise all of them "
    "together take {moments} at a node and {moments_rank} for each rank) and in the noise's law at every document and "
    "node ({gaussian} gaussian, {gumbel} gumbel); the search for nodes and the sorting are not counted. The peak is "
    "what a loop of fused multiply-adds reaches in this run, on as many threads: {peak:.0f} billion operations a "
    "second in float64."
)


def measure_direct(pool: Pool, settings: Settings, watcher: Watcher) -> list[Section]:
    """The sections on value-only calls and on the roofline."""
    cases = [(noise, sigma) for noise in NOISES for sigma in settings.sigmas]
    contenders = [contender for case in cases for contender in _contenders(pool, settings.at_least, *case)]
    rounds = interleave(contenders, settings.rounds, watcher)
    rows = [_value_row(pool, rounds, *case, call) for case in cases for call in ("prepared", "public")]
    title = f"Value only ({pool.name})"
    value = Section(f"value_{pool.key}", title, _VALUE_NOTE, _VALUE_COLUMNS, rows, rounds)
    peak = peak_operations()
    roof = [_roof_row(pool, rounds, *case, peak) for case in cases]
    note = _ROOF_NOTE.format(
        plain=PLAIN_CELL, picked=PICKED_CELL, row=ROW_CELL, faint=FAINT, moments=MOMENTS, moments_rank=MOMENTS_RANK,
        peak=peak / 1e9, **LAW_OPERATIONS,
    )  # fmt: skip
    return [value, Section(f"roofline_{pool.key}", f"Roofline ({pool.name})", note, _ROOF_COLUMNS, roof)]


def gradient_measure(pool: Pool, metric: str, noise: Noise, sigma: float, at_least: float = 0.0) -> Measure:
    """Seconds of value, gradient and curvature with labels prepared beforehand."""
    objective = SoftObjective(metric, noise=noise)
    queries, scores = objective.prepare(pool.labels, pool.groups), pool.scores / sigma
    return timed(lambda: objective.gradient_curvature(queries, scores), at_least)


def _contenders(pool: Pool, at_least: float, noise: Noise, sigma: float) -> list[Contender]:
    soft, scores, groups = SoftMetric(METRIC, noise=noise), pool.scores / sigma, pool.groups
    as_objective = SoftMetric(METRIC, noise=noise, accuracy=SoftObjective(METRIC).accuracy)
    queries = prepare(Metric(METRIC), "bench", pool.labels, groups)
    weights = query_weights("bench", None, groups)
    measures = {
        "prepared gradient": gradient_measure(pool, METRIC, noise, sigma, at_least),
        "prepared value": timed(lambda: as_objective.evaluate(queries, scores, weights), at_least),
        "public gradient": timed(lambda: soft.value_gradient_hessian(pool.labels, scores, group=pool.sizes), at_least),
        "public value": timed(lambda: soft.per_query(pool.labels, scores, group=pool.sizes), at_least),
    }
    return [Contender(_name(noise, sigma, what), measure) for what, measure in measures.items()]


def _name(noise: str, sigma: float, what: str) -> str:
    return f"{noise}, sigma={sigma:g}, {what}"


def _value_row(pool: Pool, rounds: Rounds, noise: str, sigma: float, call: str) -> dict[str, Any]:
    gradient, value = (_name(noise, sigma, f"{call} {what}") for what in ("gradient", "value"))
    share = ratio(rounds.seconds[value], rounds.seconds[gradient])
    return {
        "noise": noise,
        "sigma": sigma,
        "call": call,
        "gradient": rounds.spread(gradient).times(1e6 / pool.n_queries),
        "value": rounds.spread(value).times(1e6 / pool.n_queries),
        "ratio": share,
        "targets": [VALUE_ONLY.judge(share)],
    }


def _roof_row(pool: Pool, rounds: Rounds, noise: str, sigma: float, peak: float) -> dict[str, Any]:
    sample = pool.some(_SAMPLE)
    count = count_cells(sample, METRIC, noise, sigma)
    seconds = rounds.spread(_name(noise, sigma, "prepared gradient")).median / pool.n_queries
    return {
        "noise": noise,
        "sigma": sigma,
        "nodes": count.nodes,
        "cells": count.cells,
        "operations": count.operations,
        "per_cell": 1e9 * seconds / count.cells if count.cells else None,
        "share": count.operations / seconds / peak,
    }
