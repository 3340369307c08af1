"""From what fit was given to the problem to solve, with what is wrong with it said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import FloatArray, IntArray
from ..metrics.prepared import PreparedQueries, prepare
from ..metrics.spread import spreads
from ..queries import Queries
from ..query_groups import warn_of_one_query
from .alike import copies, warn_of_constants, warn_of_copies, warn_of_one_that_counts
from .annealing import counting_queries, several_count, share_of_a_query, sigmas
from .mix import with_mix
from .problem import FIT, Problem, unit
from .scale import RECIPROCAL, Scale
from .scores import directions, refuse_unscored
from .settings import EQUAL, FUSION, Settings

_STACKLEVEL = 5  # warnings name the user's line: this function's caller's caller's caller's


@dataclass(frozen=True, eq=False)
class Task:
    """A problem, and how its weights are those of all models.

    Attributes
    ----------
    problem : of the models that can change a ranking.
    scale : how scores are normalised.
    n_models : of all models.
    active : which models the problem has.
    units : of each of them, what its column was divided by.
    """

    problem: Problem
    scale: Scale
    n_models: int
    active: IntArray
    units: FloatArray

    def spread_out(self, weights: FloatArray) -> FloatArray:
        """The problem's weights as those of all models' scores, as normalised."""
        found = np.zeros(self.n_models)
        found[self.active] = unit(weights * (self.units.min() / self.units))  # one over a tiny unit is no number
        return found

    def gather(self, weights: FloatArray) -> FloatArray:
        """The other way round."""
        return unit(weights[self.active] * (self.units / self.units.max()))


def prepare_task(
    blender: Any,
    settings: Settings,
    matrix: FloatArray,
    names: list[str],
    labels: FloatArray,
    queries: Queries,
    weights: FloatArray | None,
) -> Task:
    """Normalise, leave out what is constant, and warn of what leaves the weights open."""
    refuse_unscored(FIT, matrix, names)
    groups = queries.groups
    weights = np.ones(groups.n_queries) if weights is None else weights
    labels = queries.bring_together(labels)
    prepared = prepare(settings.metric, FIT, labels, groups)
    _check_queries(prepared, queries, weights)
    mix, prepared = with_mix(FIT, settings.mix, prepared, labels, weights)
    how = RECIPROCAL if blender.method == FUSION else settings.normalize
    scale = Scale.learn(how, directions(FIT, blender.lower_is_better, matrix.shape[1]), matrix, queries)
    scores = scale.apply(FIT, matrix, queries)
    size = spreads(groups, scores, weights)
    warn_of_copies(FIT, *copies(scores, groups, weights, size), names, _STACKLEVEL - 1)
    warn_of_constants(FIT, size, names, ("of weight 0", "weights are equal, and rank nothing"), _STACKLEVEL - 1)
    active = np.flatnonzero(size > 0) if size.any() else np.arange(size.size)  # that can change a ranking
    # scores as they are may be of any size: columns of equal spread are what a search can start from
    resized = how == "none" and blender.method != EQUAL
    units = np.where(size > 0, size, 1.0)[active] if resized else np.ones(active.size)
    problem = Problem(
        scores=np.asfortranarray(_resized(scores, active, units)),
        prepared=prepared,
        query_weight=weights,
        metric=settings.metric,
        noise=settings.noise,
        sigmas=sigmas(FIT, blender.sigma, prepared, weights),
        constraint=settings.constraint,
        l2=settings.l2 * share_of_a_query(prepared, weights),
        mix=mix,
    )
    return Task(problem, scale, matrix.shape[1], active, units)


def _check_queries(prepared: PreparedQueries, queries: Queries, weights: FloatArray) -> None:
    if not queries.named:
        warn_of_one_query(FIT, _STACKLEVEL)
    if counting_queries(prepared, weights) == 0:
        raise ValueError(
            f"{FIT}: a query must have documents worth telling apart; {prepared.metric} is undefined for all "
            f"{prepared.members.n_queries}: none has a relevant document, or those that have weigh 0"
        )
    if queries.named and not several_count(prepared, weights) and not prepared.pooled:
        warn_of_one_that_counts(FIT, "the weights are those that suit it", _STACKLEVEL)


def _resized(scores: FloatArray, active: IntArray, units: FloatArray) -> FloatArray:
    """Some columns over their units: the same array where these are all columns, and their units 1."""
    chosen = scores if active.size == scores.shape[1] else scores[:, active]
    return chosen if (units == 1).all() else chosen / units
