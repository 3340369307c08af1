"""Ranks of scores within their queries, ties and missing scores included."""

from __future__ import annotations

import numpy as np

from .compile import kernel
from .shares import longest_query
from .simd import LANES, keep_alive, pointer
from .sorting import sort_keys


@kernel
def mean_ranks(scores, offsets, ranks):
    """Ranks from 1 by falling score: ties at the mean of theirs, NaN at the mean of those that are left."""
    longest = longest_query(offsets, 0, offsets.size - 1)
    numbers, places = np.empty(2 * (longest + LANES)), np.empty(3 * longest + 1, np.int64)
    zero = np.int64(0)
    keys, room = pointer(numbers, zero), pointer(numbers, longest + LANES)
    rows, order, other = pointer(places, zero), pointer(places, longest), pointer(places, 2 * longest)
    for q in range(offsets.size - 1):
        known = np.int64(0)
        for row in range(offsets[q], offsets[q + 1]):
            keys[known], rows[known] = scores[row], row
            known += scores[row] == scores[row]
        sort_keys(keys, known, room, order, other)
        first = np.int64(0)
        while first < known:
            last, score = first + 1, scores[rows[order[first]]]
            while last < known and scores[rows[order[last]]] == score:
                last += 1
            for at in range(first, last):
                ranks[rows[order[at]]] = 0.5 * (first + 1 + last)
            first = last
        for row in range(offsets[q], offsets[q + 1]):
            if scores[row] != scores[row]:
                ranks[row] = 0.5 * (known + 1 + offsets[q + 1] - offsets[q])
    keep_alive(numbers)
    keep_alive(places)
