"""What all training objectives share: what they promise to the boosters' adapters, and checks of their arguments."""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ..arguments import FloatArray, finite_vector, of_type, refuse_negative, set_fields, short
from ..kernels.curvature import TINY
from ..metrics.coefficients import falls
from ..metrics.hard import Metric
from ..metrics.prepared import PreparedQueries, prepare
from ..query_groups import QueryGroups, query_weights

NOTHING = "{}: there is nothing to learn: no query (of positive weight) has documents {}"


class NothingToLearnError(ValueError):
    """No order of the documents is better than another."""


class Objective(ABC):
    """What the boosters' adapters ask of an objective, whose text is a call that makes an equal one."""

    metric: Metric
    query_weight: tuple[float, ...] | None

    def reads(self) -> tuple[Hashable, ...]:
        """What decides how labels are read: of objectives for which it is equal, each may use what one prepared."""
        return type(self).__name__, self.metric

    @abstractmethod
    def prepare(
        self, y_true: Any, groups: QueryGroups, *, part: bool = False, caller: str = "prepare"
    ) -> PreparedQueries:
        """Check the labels once for all iterations; ``part`` of the data may have nothing to learn.

        What it returns has ``read_by=self.reads()``, which ``gradient_curvature`` looks at.
        ``caller`` is whom errors name, here and in what is done with the queries.
        """

    def gradient_curvature(
        self, queries: PreparedQueries, scores: Any, row_weight: Any = None
    ) -> tuple[FloatArray, FloatArray]:
        """The direction to raise each score in, and the positive curvature, each (n_docs,), times the weights.

        Raises
        ------
        TypeError, ValueError
            If ``scores`` or ``row_weight`` are not one finite number for each document, a weight is below 0, or
            ``queries`` were prepared by an objective that reads labels otherwise: of another class, with another
            metric, another mix or other losses.
        """
        own = f"{type(self).__name__}.gradient_curvature"
        of_type(own, "queries", queries, PreparedQueries)
        caller, n_docs = re.sub(r"\.prepare$", ".gradient_curvature", queries.caller), queries.members.n_docs
        if queries.read_by != self.reads():
            raise ValueError(
                f"{own}: queries must be what {short(self)} has prepared; got those of "
                f"{short(queries.read_by or queries.metric)}"
            )
        scores = finite_vector(caller, "scores", scores, n_docs)
        if row_weight is not None:
            row_weight = finite_vector(caller, "row_weight", row_weight, n_docs)
            refuse_negative(caller, "row_weight", row_weight)
        return self.unchecked(queries, scores, row_weight)

    @abstractmethod
    def unchecked(
        self, queries: PreparedQueries, scores: FloatArray, row_weight: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """What ``gradient_curvature`` returns, of float64 that have been checked: kernels would read past the end."""

    @staticmethod
    def _checked(caller: str, *args: Any, **options: Any) -> dict[str, Any]:
        """The fields, from what the constructor is given; errors name ``caller``."""
        raise NotImplementedError

    def _arguments(self) -> dict[str, Any]:
        """What the constructor was given, checked."""
        names = inspect.signature(type(self)).parameters
        return {name: self.metric.gain if name == "gain" else getattr(self, name) for name in names}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._arguments().items())})"


Made = TypeVar("Made", bound=Objective)


def made_by(caller: str, kind: type[Made], *given: Any, **options: Any) -> Made:
    """The objective that its constructor makes of the same arguments, but that errors name ``caller``."""
    bound = inspect.signature(kind).bind(*given, **options)
    bound.apply_defaults()
    made = kind.__new__(kind)
    set_fields(made, kind._checked(caller, **bound.arguments))
    return made


def kept_weights(caller: str, weights: Any) -> tuple[float, ...] | None:
    """Query weights as an objective keeps them: a value that compares and hashes."""
    return None if weights is None else tuple(finite_vector(caller, "query_weight", weights).tolist())


def weighted(
    found: tuple[FloatArray, FloatArray],
    queries: PreparedQueries,
    query_weight: tuple[float, ...] | None,
    row_weight: FloatArray | None,
    least: float = TINY,
) -> tuple[FloatArray, FloatArray]:
    """What was found times the weights of queries, the curvature no less than ``least`` if any, times those of rows.

    Arrays that are nobody else's: they are changed, for new pages cost more than what is written to them.
    """
    gradient, curvature = by_rows(*found, shares(queries, query_weight))
    if least > 0.0:
        np.maximum(curvature, least, out=curvature)
    return by_rows(gradient, curvature, row_weight)


def shares(queries: PreparedQueries, query_weight: tuple[float, ...] | None) -> FloatArray | None:
    """The weight of each document's query; None if there are no weights."""
    if query_weight is None:
        return None
    return queries.groups.per_document(query_weights(queries.caller, query_weight, queries.groups))


def by_rows(
    gradient: FloatArray, curvature: FloatArray, row_weight: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Gradient and curvature times the weight of each document, in their own places, if there are weights."""
    if row_weight is not None:
        with np.errstate(under="ignore"):  # a document far from all others is hardly pulled
            gradient *= row_weight
            curvature *= row_weight
    return gradient, curvature


def prepare_labels(
    metric: Metric, caller: str, y_true: Any, groups: QueryGroups, query_weight: Any, part: bool
) -> PreparedQueries:
    """The labels' gains, of which some query must have different ones unless this is but ``part`` of the data."""
    queries = prepare(metric, caller, y_true, groups)
    weights = query_weights(caller, query_weight, groups)
    if not part and not np.any(queries.groups.differ(queries.gains) & (weights > 0)):
        gains = f"gain={short(metric.gain)}" if "gain" in metric.options else short(metric)
        raise NothingToLearnError(NOTHING.format(caller, f"of different gain ({gains})"))
    return queries


def read_labels(objective: Objective, caller: str, y_true: Any, groups: QueryGroups, part: bool) -> PreparedQueries:
    """The same by an objective's metric and weights, for all objectives that read labels as it does."""
    queries = prepare_labels(objective.metric, caller, y_true, groups, objective.query_weight, part)
    return replace(queries, read_by=objective.reads())


def refuse_rising_discount(caller: str, metric: Metric, discount: FloatArray) -> None:
    """Raise unless the discount falls with the rank, down to 0 at most."""
    if np.any(np.diff(discount) > 0) or discount[-1] < 0:
        raise ValueError(
            f"{caller}: the discount must not rise with the rank nor be negative; "
            f"got {discount[:5].tolist()} ... for {short(metric)}"
        )


def refuse_falling_gain(caller: str, metric: Metric, y_true: Any, queries: PreparedQueries) -> None:
    """Raise if a higher label has a lower gain."""
    if falls(np.asarray(y_true), queries.gains):
        raise ValueError(f"{caller}: gain must not fall with the label; got {short(metric.gain)}")
