"""Convex losses beside a soft metric, their gradients as long as its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ..arguments import FloatArray, one_of, positive_number, short
from .base import Objective
from .lambdas import LambdaObjective
from .listwise import ListNetObjective, QueryRMSEObjective, SoftmaxObjective, XENDCGObjective

LOSSES: Mapping[str, Objective] = MappingProxyType(
    {
        "xendcg": XENDCGObjective(gamma="expected"),
        "ranknet": LambdaObjective("ranknet"),
        "softmax": SoftmaxObjective(),
        "listnet": ListNetObjective(),
        "queryrmse": QueryRMSEObjective(),
    }
)

_LEAST_SQUARE = 1e-280  # below, terms of the sum have lost digits


def checked_losses(caller: str, losses: Any) -> tuple[tuple[str, float], ...]:
    """Names of losses and their weights."""
    if losses is None:
        return ()
    if not isinstance(losses, Mapping):
        raise TypeError(f"{caller}: losses must be a mapping from names of losses to weights; got {short(losses)}")
    return tuple(
        (one_of(caller, "losses", name, LOSSES), positive_number(caller, f"losses[{name!r}]", weight))
        for name, weight in losses.items()
    )


def length(gradient: FloatArray, inverse: FloatArray | None) -> float:
    """The Euclidean norm of a gradient. Not by BLAS, whose threads would wait busily on the kernels' cores.

    With one over the documents' weights, which their gradients hold, it is that of the data in which each document is
    there as often as it weighs.
    """
    square = _square(gradient, inverse)
    if _LEAST_SQUARE < square < math.inf:
        return math.sqrt(square)
    largest = float(np.abs(gradient).max(initial=0.0))
    return largest * math.sqrt(_square(gradient / largest, inverse)) if 0.0 < largest < math.inf else largest


def one_over(weights: FloatArray | None) -> FloatArray | None:
    """One over weights; 0 for a weight of 0, and for one whose reciprocal is no float."""
    if weights is None:
        return None
    inverse: FloatArray = np.divide(1.0, weights, out=np.zeros(weights.size), where=weights > np.finfo(float).tiny)
    return inverse


def _square(gradient: FloatArray, inverse: FloatArray | None) -> float:
    return float(np.einsum("i,i", gradient, gradient if inverse is None else gradient * inverse))
