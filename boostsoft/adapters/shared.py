"""What the boosters' adapters share: threads, whoever calls them, a unit, and how parameters are read."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from types import FrameType
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ..arguments import FloatArray
from ..kernels.threads import at_most, limit, on_threads_of
from ..objectives import NothingToLearnError, Objective, SoftObjective
from ..objectives.base import NOTHING

_Given = ParamSpec("_Given")
_Built = TypeVar("_Built")
_FRAMES = 8  # between a Booster and what it calls: a library's own wrappers, and a user's

# Gradient and curvature times a constant: the leaves' Newton steps stay, but XGBoost's stock lambda = 1 and
# min_child_weight = 1 are made for curvatures of about .25 per document. A query's sum to about .1, whatever its
# length, and without this stock trees hardly learn; with it they keep pace with rank:ndcg (notebooks/boosters.ipynb).
STOCK_UNIT = 16.0


def stock_unit(rule: Objective) -> float:
    """By what gradient and curvature are multiplied: ours, for stock parameters made for some .25 per document."""
    return STOCK_UNIT if isinstance(rule, SoftObjective) else 1.0


def built(build: Callable[_Given, _Built]) -> Callable[_Given, _Built]:
    """A builder of objectives, which says so where a booster calls it in place of what it builds."""

    @wraps(build)
    def checked(*args: _Given.args, **options: _Given.kwargs) -> _Built:
        if len(args) > 1:
            name = f"{build.__module__}.{build.__name__}"
            raise TypeError(
                f"{name}: takes one argument by position, what to train on; got {len(args)}: a booster takes what "
                f"{name}(...) returns"
            )
        return build(*args, **options)

    return checked


def warn_of_least_curvature(caller: str, name: str, least: float, curvature: float) -> None:
    """Warn that two leaves cannot both have what the parameter ``name`` asks of each."""
    warnings.warn(
        f"{caller}: no tree can be split with {name}={least:g}, since all documents together have a curvature of "
        f"{curvature:.3g}; give {name}={1e-4 * curvature:.0g}, and an L2 far below that curvature",
        stacklevel=3,
    )


def refuse_tables_of_scores(caller: str, predictions: Any, parameters: str) -> None:
    """Raise if a booster predicts several scores per document, as it does where one of these parameters is above 1."""
    shape = np.shape(predictions)
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"{caller}: model must have one score per document; got {shape[1]} of each: leave {parameters} out"
        )


def refuse_no_gradient(caller: str, gradient: FloatArray) -> None:
    """Raise if weights have left nothing to learn: at equal scores whatever can be learned has a gradient."""
    if not gradient.any():
        raise NothingToLearnError(NOTHING.format(caller, "whose order changes what is trained on"))


def refuse_large_gradients(caller: str, gradient: FloatArray, unit: float, booster: str, largest: float) -> None:
    """Raise if gradients are beyond a booster's single precision, in which its trees would have no split, or NaN."""
    length = unit * max(np.max(gradient), -np.min(gradient))
    if not length <= largest:
        raise ValueError(
            f"{caller}: gradients must lie within +-{largest:.0e}, with which {booster} can compute in single "
            f"precision; got {length:.3g}. Large labels have huge gains (2^label - 1): normalise (ndcg), or give "
            'gain="linear" or gains of your own; else give smaller weights'
        )


def callers() -> Iterator[Mapping[str, Any]]:
    """The variables of whoever has called the function that asks, and of their callers, as far as a booster may be."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(_FRAMES):
        if frame is None:
            return
        yield frame.f_locals
        frame = frame.f_back


@contextlib.contextmanager
def as_booster(threads: int | None, library: Any = None) -> Iterator[None]:
    """Run kernels inside on no more threads than the booster that calls them, and on its own if ``library`` is its.

    ``threads`` is the booster's setting. Where it is not known or says "default" (0 and below), a limit that is set
    already stands, otherwise OMP_NUM_THREADS, which is the default of both boosters.
    """
    if (threads is None or threads < 1) and limit() is None:
        threads = whole(os.environ.get("OMP_NUM_THREADS", "").split(",")[0])
    with at_most(threads), on_threads_of(library, threads):
        yield


def first_whole(params: Mapping[str, Any], names: Sequence[str]) -> int | None:
    """The first of a parameter's names that has a value, as a whole number."""
    return next((whole(params[name]) for name in names if params.get(name) is not None), None)


def whole(value: Any) -> int | None:
    """A booster's parameter as an int; None for what is no number, which the booster itself refuses."""
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
