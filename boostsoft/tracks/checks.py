"""What a TreeTrack checks when it is made, and which of its steps and metrics are meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import (
    FloatArray,
    IntArray,
    as_array,
    real_numbers,
    refuse_negative,
    short,
    whole_number,
    whole_numbers,
)
from ..metric_lists import logged_name, refuse_equal_names
from ..metrics.hard import Metric
from ..metrics.soft import AnyMetric, SoftMetric
from ..query_groups import QueryGroups, query_weights

CALLER = "TreeTrack"
_SHAPES = {
    "steps": ("n_steps",),
    "per_query": ("n_steps", "n_metrics", "n_queries"),
    "beginning": ("n_metrics", "n_queries"),
    "query_weight": ("n_queries",),
    "spread": ("n_steps",),
    "y_true": ("n_docs",),
    "scores": ("n_docs",),
    "qid": ("n_queries",),
}
_OPTIONAL = ("y_true", "scores", "qid")


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a TreeTrack with arrays of the right type, read-only, that fit together."""
    found = dict(given)
    for name in _SHAPES:
        if found[name] is not None or name not in _OPTIONAL:
            found[name] = _array(name, found[name])
    found["metrics"] = _metrics(found["metrics"])
    found["start"] = whole_number(CALLER, "start", found["start"], 0)
    if found["groups"] is not None and not isinstance(found["groups"], QueryGroups):
        raise TypeError(f"{CALLER}: groups must be QueryGroups or None; got {short(found['groups'])}")
    if not isinstance(found["label"], str):
        raise TypeError(f"{CALLER}: label must be a text; got {short(found['label'])}")
    _check_shapes(found)
    _check_steps(found["steps"], found["start"])
    refuse_negative(CALLER, "spread", found["spread"])
    query_weights(CALLER, found["query_weight"], QueryGroups.from_sizes(np.ones(found["query_weight"].size)))
    _check_missing(found["metrics"], found["per_query"], found["beginning"])
    return found


def check_step(caller: str, step: Any, n_steps: int, argument: str = "step") -> int:
    """The position of a step, which may be given from the end, below 0."""
    return whole_number(caller, argument, step, -n_steps, n_steps - 1) % n_steps


def place_of(caller: str, argument: str, metrics: Sequence[AnyMetric], wanted: Any) -> int:
    """The place of a metric by its place, its name, here or in a booster's log, or its value."""
    names = [metric.name for metric in metrics]
    known = ", ".join(map(repr, names))
    if isinstance(wanted, (int, np.integer)) and not isinstance(wanted, bool):
        if not -len(names) <= wanted < len(names):
            raise ValueError(f"{caller}: {argument} must be one of the {len(names)} ({known}); got {wanted}")
        return int(wanted % len(names))
    if not isinstance(wanted, (str, Metric, SoftMetric)):
        raise TypeError(f"{caller}: {argument} must be a position, a name or a metric; got {short(wanted)}")
    among: Sequence[Any] = metrics
    if isinstance(wanted, str):
        among = names if wanted in names else [logged_name(metric) for metric in metrics]
    if wanted not in among:
        raise ValueError(f"{caller}: {argument} must be one of {known}; got {short(wanted)}")
    return among.index(wanted)


def place_or_first_soft(caller: str, argument: str, metrics: Sequence[AnyMetric], wanted: Any) -> int:
    """As :func:`place_of`; of None that of :func:`first_soft`."""
    return first_soft(metrics) if wanted is None else place_of(caller, argument, metrics, wanted)


def first_soft(metrics: Sequence[AnyMetric]) -> int:
    """The place of the first soft metric, or of the first of all: what shows single trees best."""
    return next((at for at, metric in enumerate(metrics) if isinstance(metric, SoftMetric)), 0)


def read_only(values: Any) -> NDArray[Any]:
    """A view that cannot be written to."""
    view: NDArray[Any] = np.asarray(values).view()
    view.setflags(write=False)
    return view


def _array(name: str, values: Any) -> NDArray[Any]:
    if name == "steps":
        array = whole_numbers(CALLER, name, values)
    elif name == "qid":
        array = as_array(CALLER, name, values)
    else:
        array = np.ascontiguousarray(real_numbers(CALLER, name, values), np.float64)
    # the user's own may change; the large one, which a builder made for this, is not copied
    return read_only(array if name == "per_query" else array.copy())


def _metrics(metrics: Any) -> tuple[AnyMetric, ...]:
    try:
        found = tuple(metrics)
    except TypeError:
        raise TypeError(f"{CALLER}: metrics must be Metrics and SoftMetrics; got {short(metrics)}") from None
    wrong = next((metric for metric in found if not isinstance(metric, (Metric, SoftMetric))), None)
    if wrong is not None:
        raise TypeError(f"{CALLER}: metrics must be Metrics and SoftMetrics; got {short(wrong)}")
    refuse_equal_names(CALLER, [metric.name for metric in found])
    return found


def _check_shapes(found: Mapping[str, Any]) -> None:
    if found["per_query"].ndim != 3 or 0 in found["per_query"].shape:
        raise ValueError(
            f"{CALLER}: per_query must have the shape (n_steps, n_metrics, n_queries), none of them 0; "
            f"got {found['per_query'].shape}"
        )
    sizes = dict(zip(_SHAPES["per_query"], found["per_query"].shape, strict=True))
    groups: QueryGroups | None = found["groups"]
    documents = next((found[name].size for name in ("y_true", "scores") if found[name] is not None), 0)
    sizes["n_docs"] = documents if groups is None else groups.n_docs
    for name, shape in _SHAPES.items():
        expected = tuple(sizes[axis] for axis in shape)
        if found[name] is not None and found[name].shape != expected:
            raise ValueError(
                f"{CALLER}: {name} must have the shape ({', '.join(shape)}), {expected}; got {found[name].shape}"
            )
    if len(found["metrics"]) != sizes["n_metrics"]:
        raise ValueError(
            f"{CALLER}: metrics must be as many as in per_query, {sizes['n_metrics']}; got {len(found['metrics'])}"
        )
    if groups is not None and groups.n_queries != sizes["n_queries"]:
        raise ValueError(f"{CALLER}: groups must hold {sizes['n_queries']} queries; got {groups!r}")


def _check_steps(steps: IntArray, start: int) -> None:
    falls = np.diff(steps, prepend=start) <= 0
    if falls.any():
        at = int(np.argmax(falls))
        raise ValueError(f"{CALLER}: steps must rise from above start={start}; got {steps[at]} at position {at}")


def _check_missing(metrics: tuple[AnyMetric, ...], per_query: FloatArray, beginning: FloatArray) -> None:
    """A query counts at all steps or at none: means of different queries would not compare."""
    for at, metric in enumerate(metrics):
        missing = np.isnan(beginning[at])
        for step, values in enumerate(per_query[:, at]):
            differs = np.isnan(values) != missing
            if differs.any():
                raise ValueError(
                    f"{CALLER}: per_query must be NaN at all steps or at none; query {int(np.argmax(differs))} of "
                    f"{metric.name} differs from the beginning at step {step}"
                )
