"""The blend itself, its curve, and how it does on queries that it has not seen."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...arguments import FloatArray
from ...blending.blender import SoftBlender
from ...blending.curve import BlendCurve, blend_curve
from ...blending.problem import blended
from ...metrics.hard import Metric
from ...metrics.registry import REGISTRY
from ...progress import shows, watched
from ...query_groups import QueryGroups
from ...statistics import PairedInterval, counted_mean, paired_interval
from .scores import Scores

BLEND, BEST, EQUAL, FUSION = "blend", "best model", "equal weights", "reciprocal rank fusion"
RIVAL = "best of them in training"  # of the three: by the held-out queries it would be too good
_LEAST_QUERIES = 2
_COLUMN = re.compile(r"column (\d+)")
_STEPS = 51  # points of the curve


@dataclass(frozen=True, eq=False)
class Blend:
    """What the command has found.

    Attributes
    ----------
    blender : SoftBlender
        Fitted on all labelled queries.
    queries, documents, unlabelled : int
        Labelled queries and their documents, and queries that are fused only.
    alone : (n_models,)
        The metric of each model by itself on the labelled queries.
    trained : float
        That of the blend there.
    held_out : mapping
        The metric of each labelled query, (n_queries,), when it was not among those trained on, by method; empty
        without folds.
    curve : BlendCurve, optional
        Of the mixture of two models, or of the best one and the blend; of metrics with a soft twin.
    curve_names : two str
    notes : what was warned of
    """

    blender: SoftBlender
    queries: int
    documents: int
    unlabelled: int
    alone: FloatArray
    trained: float
    held_out: Mapping[str, FloatArray]
    curve: BlendCurve | None
    curve_names: tuple[str, str]
    notes: tuple[str, ...]

    @cached_property
    def leads(self) -> Mapping[str, PairedInterval]:
        """How far the blend is above each other method on held-out queries; resampling many takes its time."""
        rest = {name: values for name, values in self.held_out.items() if name != BLEND}
        return {name: paired_interval(self.held_out[BLEND], values) for name, values in rest.items()}


def find_blend(scores: Scores, settings: Mapping[str, Any], folds: int, seed: int) -> Blend:
    """Fit on the queries with labels, measure on held-out ones, and draw up the curve."""
    data = _labelled(scores)
    metric: Metric = settings["metric"]
    with _noted(data.models) as notes:
        blender = SoftBlender(**settings, random_state=seed).fit(data.S, data.y, group=data.sizes)
        Z = blender.normalize_scores(data.S, group=data.sizes)
        trained = metric(data.y, blended(Z, blender.weights_), group=data.sizes)
    alone = np.array([metric.per_query(data.y, column, group=data.sizes) for column in Z.T])
    names, pair = _ends(data.models, Z, blender.weights_, alone)
    curve = None
    with warnings.catch_warnings():  # of two models, or of parts of the queries: said of all of them already
        warnings.simplefilter("ignore")
        if REGISTRY[metric.metric].exact:
            options = {name: settings[name] for name in ("metric", "noise", "sigma")}
            curve = blend_curve(pair, data.y, group=data.sizes, n=_STEPS, normalize="none", **options)
        held_out = _held_out(data, Z, metric, settings, alone, folds, seed) if folds > 1 else {}
    unlabelled = scores.sizes.size - data.sizes.size
    means = np.array([counted_mean(values) for values in alone])
    return Blend(
        blender, data.sizes.size, data.y.size, unlabelled, means, trained, held_out, curve, names,
        tuple(notes),
    )  # fmt: skip


def _with_names(told: str, models: Sequence[str]) -> str:
    """A note or an error on the columns of an array, with what they hold."""
    return _COLUMN.sub(lambda found: models[int(found[1])], told)


def _labelled(scores: Scores) -> Scores:
    """The queries that have labels; at least two of them, and two models."""
    data = scores.rows(~np.isnan(scores.y))
    if data.sizes.size < _LEAST_QUERIES:
        raise ValueError(f"blend: at least {_LEAST_QUERIES} queries must have labels; got {data.sizes.size}")
    if len(scores.models) < 2:
        raise ValueError(f"blend: at least two models must be given; got {scores.models[0]} only")
    return data


def _ends(
    models: tuple[str, ...], Z: FloatArray, weights: FloatArray, alone: FloatArray
) -> tuple[tuple[str, str], FloatArray]:
    """What the curve goes between: the two models, or of more the best one and the blend of all."""
    if len(models) == 2:
        return (models[0], models[1]), Z
    best = int(np.argmax([counted_mean(values) for values in alone]))
    return (models[best], "the blend"), np.column_stack([Z[:, best], blended(Z, weights)])


def _held_out(
    data: Scores, Z: FloatArray, metric: Metric, settings: Mapping[str, Any], alone: FloatArray, folds: int, seed: int
) -> dict[str, FloatArray]:
    """The metric of each query under weights that were found without it, (n_queries,) for each method.

    And of the rival: of the methods that need no weights the best one on the queries without it.
    """
    n, n_folds = data.sizes.size, min(folds, data.sizes.size)
    order = np.random.default_rng(seed).permutation(n)
    lower = np.broadcast_to(settings["lower_is_better"], len(data.models))
    options = {**settings, "random_state": seed, "progress": False}
    found = {name: np.full(n, np.nan) for name in (BLEND, BEST, EQUAL, FUSION, RIVAL)}
    untrained = {EQUAL: "equal", FUSION: "rrf"}
    # their weights are the same without some queries, unless a model tells documents apart in none of the others
    whole = {name: _fit_and_measure(data, data, metric, options | {"method": how}) for name, how in untrained.items()}
    groups = QueryGroups.from_sizes(data.sizes)
    tells = np.array([groups.differ(column) for column in Z.T])
    for fold in watched(range(n_folds), n_folds, "held-out queries", shows("blend", "auto")):
        chosen = np.zeros(n, np.bool_)
        chosen[order[fold::n_folds]] = True
        rows = np.repeat(chosen, data.sizes)
        train, test = data.rows(~rows), data.rows(rows)
        scored = np.count_nonzero(~np.isnan(train.S), axis=0) > 0  # a model that knows none of these has no weight
        train, test = train.columns(scored), test.columns(scored)
        known = [counted_mean(values[~chosen]) if seen else -np.inf for values, seen in zip(alone, scored, strict=True)]
        best = int(np.argmax(known))
        found[BEST][chosen] = alone[best][chosen]
        trained = {BEST: known[best]}
        options["lower_is_better"] = lower[scored]
        try:
            found[BLEND][chosen] = _fit_and_measure(train, test, metric, options)
        except ValueError as error:
            told = _with_names(str(error), train.models)
            raise ValueError(f"{told} (fold {fold + 1} of {n_folds}; --folds 0 leaves them out)") from error
        as_ever = tells[:, ~chosen].any(axis=1).all()
        for name, how in untrained.items():
            values = whole[name]
            if not as_ever:
                kept = data.columns(scored)
                values = _fit_and_measure(train, kept, metric, options | {"method": how})
            found[name][chosen] = values[chosen]
            trained[name] = counted_mean(values[~chosen])
        found[RIVAL][chosen] = found[max(trained, key=trained.__getitem__)][chosen]
    return found


def _fit_and_measure(train: Scores, test: Scores, metric: Metric, options: Mapping[str, Any]) -> FloatArray:
    """The metric of each query of ``test`` under weights found on ``train``."""
    blender = SoftBlender(**options).fit(train.S, train.y, group=train.sizes)
    return metric.per_query(test.y, blender.predict(test.S, group=test.sizes), group=test.sizes)


@contextmanager
def _noted(models: Sequence[str]) -> Iterator[list[str]]:
    """Collect warnings as texts; they and an error call the columns by the models."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield notes
        except ValueError as error:
            raise ValueError(_with_names(str(error), models)) from error
    notes += dict.fromkeys(_with_names(str(warning.message), models) for warning in caught)
