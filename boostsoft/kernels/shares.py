"""How queries are shared out to threads: ranges of falling cost, which whoever is free takes.

A kernel takes ranges by itself (``claim``), so that a thread comes back to Python, and to the one lock that all its
threads share, once per call and not once per range. Half of what is left is shared out at a time: the first ranges
are long, the last ones, over which threads wait for one another, short.
"""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from .compile import routine
from .simd import pointer

Ranges = NDArray[np.int64]  # how many are taken, and the first query and the end of each

_LEAST_SHARE = 1 / 16  # of what a thread has in all
_LONGEST = 50e6  # nanoseconds: between two of them Python looks for signals, and other callers for processors


@intrinsic
def take_number(typingctx: Any, place: Any) -> Any:
    """The int64 at a pointer, which is one more afterwards, whoever else does the same at the same time."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("add", args[0], ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(place), codegen


if config.DISABLE_JIT:
    _lock = threading.Lock()

    def take_number(place: Any) -> Any:  # noqa: D103
        with _lock:
            place[0] += 1
            return place[0] - 1


@routine
def claim(ranges):
    """The first query and the end of a range that nobody has taken; 0 and 0 if all are."""
    at = 2 * take_number(pointer(ranges, 0)) + 1
    if at >= ranges.size:
        return np.int64(0), np.int64(0)
    return ranges[at], ranges[at + 1]


@routine
def longest_query(offsets, begin, end):
    """Documents of the longest of the queries begin..end."""
    longest = np.int64(0)
    for q in range(begin, end):
        longest = max(longest, offsets[q + 1] - offsets[q])
    return longest


def has_left(ranges: Ranges) -> bool:
    """Whether some have not been taken."""
    return bool(2 * ranges[0] + 1 < ranges.size)


def shared_out(
    costs: NDArray[np.float64], threads: int, kinds: NDArray[np.int8] | None = None
) -> list[list[tuple[int, int]]]:
    """Ranges of queries by rounds, in a round the costly ones first; a range has queries of one kind only."""
    total, changes = np.cumsum(costs), np.flatnonzero(np.diff(kinds)) if kinds is not None else ()
    n, cuts = total.size, [np.array([0, total.size])]
    divided = threads > 1 or total[-1] > _LONGEST
    if not divided and len(changes) == 0:
        return [[(0, n)]]
    if divided:
        ends = np.cumsum(_shares(float(total[-1]), threads))[:-1]
        cuts.append(np.searchsorted(total, ends, side="left") + 1)
    if len(changes):
        cuts.append(1 + changes)
    at = np.unique(np.concatenate(cuts))
    at = at[at <= n]
    of_range = np.diff(total[at[1:] - 1], prepend=0.0)
    order = np.argsort(-of_range, kind="stable")
    rounds = (np.cumsum(of_range[order]) / (threads * _LONGEST)).astype(np.int64)
    ranges = [(int(at[i]), int(at[i + 1])) for i in order]
    return [
        [ranges[i] for i in members]
        for _, members in itertools.groupby(range(len(ranges)), key=rounds.__getitem__)
    ]  # fmt: skip


def _shares(total: float, threads: int) -> list[float]:
    """The cost of each range: half of what is left among all threads, again and again."""
    found: list[float] = []
    least, left = _LEAST_SHARE * total / threads, total
    while left > 0.5 * least:
        share = min(max(0.5 * left / threads, least), _LONGEST)
        found += [share] * threads
        left -= share * threads
    return found


class Work:
    """What a kernel goes through: queries of some cost and kind, shared out once for each number of threads."""

    def __init__(self, costs: NDArray[np.float64], kinds: NDArray[np.int8] | None = None) -> None:
        self.costs, self.kinds, self.total = costs, kinds, float(costs.sum())
        self._parts: dict[int, list[tuple[int, Ranges]]] = {}

    def parts(self, threads: int) -> list[tuple[int, Ranges]]:
        """Kinds of queries, 0 if there are none, and their ranges, of which none is taken, in rounds."""
        if threads not in self._parts:
            self._parts[threads] = self._shared_out(threads)
        return [(kind, ranges.copy()) for kind, ranges in self._parts[threads]]

    def _shared_out(self, threads: int) -> list[tuple[int, Ranges]]:
        found = []
        for ranges in shared_out(self.costs, threads, self.kinds):
            by_kind: dict[int, list[tuple[int, int]]] = {}
            for range_ in ranges:
                by_kind.setdefault(0 if self.kinds is None else int(self.kinds[range_[0]]), []).append(range_)
            found += [(kind, as_ranges(own)) for kind, own in by_kind.items()]
        return found


def as_ranges(ranges: list[tuple[int, int]]) -> Ranges:
    """Ranges for a kernel, none of them taken."""
    return np.array([0, *itertools.chain.from_iterable(ranges)], np.int64)
