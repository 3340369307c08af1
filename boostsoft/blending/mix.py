"""What the climb maximises beside the metric: where queries are few, the order of the whole list."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..arguments import FloatArray, refuse_other_text
from ..metrics.coefficients import falls
from ..metrics.hard import Metric, refuse_cutoffs_per_query
from ..metrics.prepared import PreparedQueries, prepare
from ..objectives.soft import checked_mix
from .annealing import counting_queries, room_at_cutoff

Mix = tuple[tuple[Metric, float], ...]

_ORDER = "kendall"
# of the weight QUERIES / n, at most 1: what did best on held-out queries of MQ2007-agg and MQ2008-agg is .3 to 1 at 50
# and 150 training queries, .1 at 390, and makes no difference at 1,000; below LEAST it is not worth a metric's time
_QUERIES, _LEAST = 30.0, 0.1
_LEAST_ROOM = 0.5  # longer lists take longer over their whole order than over their top, and gained nothing by it


def check_mix(caller: str, mix: Any) -> Mix | str:
    """The metrics and their weights, or "auto"."""
    if isinstance(mix, str):
        refuse_other_text(caller, "mix", mix, "a mapping from metrics to weights")
        return mix
    checked = checked_mix(caller, mix)
    for metric, _ in checked:
        refuse_cutoffs_per_query(caller, metric)
    return checked


def with_mix(
    caller: str, mix: Mix | str, prepared: PreparedQueries, labels: FloatArray, query_weight: FloatArray
) -> tuple[Mix, PreparedQueries]:
    """The mix, and the metric's queries with those of the metrics in it."""
    chosen = automatic_mix(prepared, labels, query_weight) if isinstance(mix, str) else mix
    further = tuple(prepare(metric, caller, labels, prepared.members) for metric, _ in chosen)
    return chosen, replace(prepared, further=further)


def automatic_mix(prepared: PreparedQueries, labels: FloatArray, query_weight: FloatArray) -> Mix:
    """Kendall's tau by 30 / n, at most 1, times the room at the cutoff, if that is a half at least.

    Nothing below .1, if the metric is one of pairs itself, or if a higher label is worth less to it.

    The whole order of a list says less of its top than the metric does, but says it with less scatter: what is best
    between the two falls as 1 / n with the queries that count, as the price of unequal weights does. Where the cutoff
    is far up a long list it says less still.
    """
    room = room_at_cutoff(prepared, query_weight)
    weight = room * min(1.0, _QUERIES / max(counting_queries(prepared, query_weight), 1.0))
    worth = room >= _LEAST_ROOM and weight >= _LEAST and not prepared.pairwise and not falls(labels, prepared.gains)
    # where the metric leaves out what tells nothing, so must its companion: a mean that others thin out weighs less
    order = Metric(_ORDER, empty="skip" if np.isnan(prepared.filler) else "zero")
    return ((order, weight),) if worth else ()
