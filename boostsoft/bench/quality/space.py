"""What a search may draw from: each parameter is a function of one coordinate of the unit cube.

``stock`` is the value of trial 0; None leaves the parameter to the library.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ...arguments import FloatArray

# coordinates of a draw: more than any method uses, so that a new parameter leaves the others' draws as they are
DIMENSIONS = 16


class Space(Protocol):
    """The values of one parameter."""

    @property
    def stock(self) -> Any:
        """The value of trial 0."""
        ...

    def at(self, u: float) -> Any:
        """The value at a coordinate in [0, 1)."""
        ...


@dataclass(frozen=True)
class LogUniform:
    """Real numbers, uniform in their logarithm.

    >>> LogUniform(0.01, 1.0).at(0.5)
    0.1
    """

    low: float
    high: float
    stock: float | None = None

    def at(self, u: float) -> float:
        """The value at a coordinate, to six digits."""
        return min(max(float(f"{self.low * (self.high / self.low) ** u:.6g}"), self.low), self.high)


@dataclass(frozen=True)
class LogInteger:
    """Whole numbers from ``low`` to ``high``, uniform in their logarithm.

    >>> [LogInteger(4, 64).at(u) for u in (0.0, 0.5, 0.999)]
    [4, 16, 64]
    """

    low: int
    high: int
    stock: int | None = None

    def at(self, u: float) -> int:
        """The value at a coordinate: each number has the share of [n, n + 1) in the logarithm."""
        return min(int(self.low * ((self.high + 1) / self.low) ** u), self.high)


@dataclass(frozen=True)
class Depth:
    """Depth of a symmetric tree with about as many leaves as ``LogInteger(low, high)`` would give.

    >>> [Depth(4, 64).at(u) for u in (0.0, 0.5, 0.999)]
    [2, 4, 6]
    """

    low: int
    high: int
    stock: int | None = None

    def at(self, u: float) -> int:
        """The value at a coordinate."""
        return round(math.log2(LogInteger(self.low, self.high).at(u)))


@dataclass(frozen=True)
class Choice:
    """One of several values, all alike.

    >>> [Choice((3, 5, 10)).at(u) for u in (0.0, 0.34, 0.99)]
    [3, 5, 10]
    """

    values: tuple[Any, ...]
    stock: Any = None

    def at(self, u: float) -> Any:
        """The value at a coordinate."""
        return self.values[int(u * len(self.values))]


def draw(seed: int, fold: int, trial: int) -> FloatArray:
    """The point of the cube that a trial of a fold takes, whatever the method."""
    point: FloatArray = np.random.default_rng([seed, fold, trial]).random(DIMENSIONS)
    return point
