"""Two systems to compare, as tracks or as score vectors, brought into one form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import FloatArray, Whole, finite_vector, real_numbers, short
from ..metrics.hard import Metric, apart_from, twin_in
from ..metrics.prepared import PreparedQueries, prepare
from ..metrics.soft import AnyMetric, SoftMetric
from ..metrics.spread import spread
from ..query_groups import query_weights, resolve_groups
from ..tracks import TreeTrack
from ..tracks.builder import as_metrics
from ..tracks.checks import check_step, place_of
from ..tracks.words import amount

CALLER = "compare"


@dataclass(frozen=True, eq=False)
class Systems:
    """Two systems on the same queries.

    Attributes
    ----------
    metrics : what was measured, names distinct.
    values : (2, n_metrics, n_queries) of a and b.
    weights : (n_queries,).
    labels : what a and b are called.
    spreads : pooled within-query standard deviation of the scores of a and b.
    scores : of a and b; None where they are not known.
    queries : of each hard metric that the control needs, its labels prepared; empty if there are none.
    """

    metrics: tuple[AnyMetric, ...]
    values: FloatArray
    weights: FloatArray
    labels: tuple[str, str]
    spreads: tuple[float, float]
    scores: tuple[FloatArray | None, FloatArray | None]
    queries: dict[Metric, PreparedQueries]

    def control(self, metric: SoftMetric) -> tuple[FloatArray, FloatArray] | None:
        """Values of a system before and after its scores were rescaled from a's spread to b's.

        The system is a, or b scaled back if a's scores are not known. If neither's are, or the labels are not, a's own
        values for a metric in units of the spread, else None; None if one spread is 0.
        """
        queries, (a, b), (before, after) = self.queries.get(metric.hard), self.scores, self.spreads
        if not (before > 0 and after > 0):
            return None
        if queries is None or (a is None and b is None):
            own = self.values[0, self.metrics.index(metric)]
            return (own, own) if metric.sigma_unit == "spread" else None
        if a is not None:
            pair = a, a * (after / before)
        elif b is not None:
            pair = b * (before / after), b
        first, second = (metric.evaluate(queries, scores, self.weights) for scores in pair)
        return first, second


def _finite_scores(argument: str, scores: Any, n: int | None = None) -> FloatArray:
    vector = real_numbers(CALLER, argument, scores)
    if vector.ndim == 1 and np.isnan(vector).any():
        at = int(np.argmax(np.isnan(vector)))
        raise ValueError(
            f"{CALLER}: {argument} must be finite; got {vector[at]} at position {at}: "
            "documents that a run leaves out need a score below its others, or that of a fitted SoftBlender's "
            "normalize_scores"
        )
    return finite_vector(CALLER, argument, vector, n)


def from_scores(a: Any, b: Any, metrics: Any, y_true: Any, group: Any, qid: Any, query_weight: Any) -> Systems:
    """Measure two score vectors; the hard twin of every soft metric joins the metrics."""
    if y_true is None or (group is None and qid is None):
        raise ValueError(f"{CALLER}: two score vectors need y_true and the queries, group= or qid=")
    first = _finite_scores("a", a)
    second = _finite_scores("b", b, first.size)
    labels = finite_vector(CALLER, "y_true", y_true, first.size)
    groups = resolve_groups(CALLER, first.size, group, qid)
    weights = query_weights(CALLER, query_weight, groups)
    chosen = _with_twins(as_metrics(CALLER, metrics))
    queries = {hard: prepare(hard, CALLER, labels, groups) for hard in {metric.hard for metric in chosen}}
    values = [
        [metric.evaluate(queries[metric.hard], scores, weights) for metric in chosen] for scores in (first, second)
    ]
    return Systems(
        metrics=chosen,
        values=np.array(values),
        weights=weights,
        labels=("a", "b"),
        spreads=(spread(groups, first, weights), spread(groups, second, weights)),
        scores=(first, second),
        queries=queries,
    )


def from_tracks(a: TreeTrack, b: TreeTrack, metrics: Any, step_a: Whole, step_b: Whole) -> Systems:
    """Take one step of each track; scores are known of last steps only."""
    _check_same(a, b)
    step_a, step_b = check_step(CALLER, step_a, a.n_steps, "step_a"), check_step(CALLER, step_b, b.n_steps, "step_b")
    places = _common(a, b, metrics)
    found = tuple(a.metrics[first] for first, _ in places)
    scores = _last_scores("a", a, step_a), _last_scores("b", b, step_b)
    labels = next((track.y_true for track in (a, b) if track.y_true is not None), None)
    groups = next((track.groups for track in (a, b) if track.groups is not None), None)
    queries = {}
    if labels is not None and groups is not None:
        softs = [metric.hard for metric in found if isinstance(metric, SoftMetric)]
        queries = {hard: prepare(hard, CALLER, labels, groups) for hard in softs}
    return Systems(
        metrics=found,
        values=np.stack(
            [a.per_query[step_a, [first for first, _ in places]], b.per_query[step_b, [last for _, last in places]]]
        ),
        weights=a.query_weight,
        labels=_labels(("a", a, step_a), ("b", b, step_b)),
        spreads=(float(a.spread[step_a]), float(b.spread[step_b])),
        scores=scores,
        queries=queries,
    )


def _last_scores(argument: str, track: TreeTrack, step: int) -> FloatArray | None:
    """The scores if the step is the last, of the kernels' own type: a track's are read-only."""
    known = track.scores is not None and step == track.n_steps - 1
    return finite_vector(CALLER, argument, track.scores) if known else None


def _with_twins(metrics: tuple[AnyMetric, ...]) -> tuple[AnyMetric, ...]:
    """The metrics, and in front of each soft one its hard twin, unless that is among them by any name."""
    found: list[AnyMetric] = []
    for metric in metrics:
        if twin_in([*found, *metrics], metric) is None:
            found.append(apart_from(metric.hard, {other.name for other in (*found, *metrics)}))
        found.append(metric)
    return tuple(found)


def _common(a: TreeTrack, b: TreeTrack, metrics: Any) -> list[tuple[int, int]]:
    """Places of the metrics in a and in b."""
    if metrics is None:
        places = [(at, b.metrics.index(metric)) for at, metric in enumerate(a.metrics) if metric in b.metrics]
        if not places:
            raise ValueError(f"{CALLER}: a and b must share a metric; got {a.names} and {b.names}")
        return places
    several = isinstance(metrics, Iterable) and not isinstance(metrics, (str, Mapping))
    chosen = [place_of(CALLER, "metrics", a.metrics, metric) for metric in (metrics if several else [metrics])]
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"{CALLER}: metrics must name one at least, and none twice; got {short(metrics)}")
    for at in chosen:
        if a.metrics[at] not in b.metrics:
            raise ValueError(f"{CALLER}: b must have been measured with {a.metrics[at]!r}; it has {b.names}")
    return [(at, b.metrics.index(a.metrics[at])) for at in chosen]


def _check_same(a: TreeTrack, b: TreeTrack) -> None:
    """Both tracks must be of the same queries."""
    if a.n_queries != b.n_queries:
        raise ValueError(f"{CALLER}: a and b must have the same queries; got {a.n_queries} and {b.n_queries}")
    if not np.array_equal(a.query_weight, b.query_weight):
        raise ValueError(f"{CALLER}: a and b must have the same query weights")
    for name in ("qid", "y_true"):
        first, second = getattr(a, name), getattr(b, name)
        if first is not None and second is not None and not np.array_equal(first, second):
            raise ValueError(f"{CALLER}: a and b must have the same queries in the same order; their {name} differ")
    if a.groups is not None and b.groups is not None and a.groups != b.groups:
        raise ValueError(f"{CALLER}: a and b must have the same documents per query")


def _labels(*systems: tuple[str, TreeTrack, int]) -> tuple[str, str]:
    """What both are called, with their letters where that would be the same."""
    named = [(letter, track.label or letter, amount(int(track.steps[at]), "tree")) for letter, track, at in systems]
    alike = named[0][1:] == named[1][1:]
    first, second = (f"{name} ({f'{letter}, ' if alike else ''}{trees})" for letter, name, trees in named)
    return first, second
