"""Uniform draws as a function of what they are drawn for: SplitMix64 (Steele et al. 2014) mixes the bits."""

from __future__ import annotations

import numpy as np

from .compile import kernel, routine

_STRIDE, _FIRST, _SECOND = (np.uint64(word) for word in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
_SPARE, _UNIT = np.uint64(11), 2.0**-53  # a float64 has 53 bits of a word


@routine
def _mixed(word):
    """Every bit a mixture of all."""
    word = word + _STRIDE
    word = (word ^ (word >> _SHIFTS[0])) * _FIRST
    word = (word ^ (word >> _SHIFTS[1])) * _SECOND
    return word ^ (word >> _SHIFTS[2])


@kernel
def draw_queries(seed, words, offsets, begin, end, drawn):
    """Queries begin..end: a number from [0, 1) for each document, by the seed, its place and all words of its query."""
    start = _mixed(np.uint64(seed))
    for q in range(begin, end):
        total = np.uint64(0)
        for i in range(offsets[q], offsets[q + 1]):
            total += _mixed(words[i] ^ _mixed(np.uint64(i) + start))
        total = _mixed(total)
        for i in range(offsets[q], offsets[q + 1]):
            drawn[i] = np.float64(_mixed(_mixed(np.uint64(i) + start) ^ total) >> _SPARE) * _UNIT
