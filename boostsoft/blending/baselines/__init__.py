"""Other ways to find blend weights, all of which maximise the hard metric: what a soft one is compared with.

Each takes a :class:`~boostsoft.blending.problem.Problem`, a random generator and whom to tell how far it is, and
returns a :class:`~boostsoft.blending.problem.Solution`. They respect the problem's constraint and know nothing of its
noise, sigmas and penalty. What the metric sees of a blend is its direction, so that weights are searched up to their
scale.
"""

from __future__ import annotations

from collections.abc import Callable

from ..problem import Solution
from .ascent import coordinate_ascent
from .evolution import evolution, evolution_then_simplex
from .grid import equal_weights, grid_search, random_search
from .reciprocal import reciprocal_ranks

Method = Callable[..., Solution]

# by the names that SoftBlender(method=...) takes
METHODS: dict[str, Method] = {
    "grid": grid_search,
    "coordinate-ascent": coordinate_ascent,
    "ltr-ga": evolution,
    "ltr-mga": evolution_then_simplex,
    "random": random_search,
    "equal": equal_weights,
    "rrf": equal_weights,  # of scores that are reciprocal ranks
}

__all__ = [
    "METHODS",
    "Method",
    "coordinate_ascent",
    "equal_weights",
    "evolution",
    "evolution_then_simplex",
    "grid_search",
    "random_search",
    "reciprocal_ranks",
]
