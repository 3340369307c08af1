"""Parts of an objective added up, document by document, on the kernels' threads.

NumPy takes two passes for it, or a new array, on one thread: with many processors as long as the kernels themselves.
"""

from __future__ import annotations

from .compile import kernel
from .shares import claim
from .simd import LANES, load, splat, store


@kernel
def add_part(gradient, curvature, slopes, bends, weight, bend_weight, offsets, ranges):
    """Add ``weight`` times the slopes and ``bend_weight`` times the bends of the queries of ``ranges`` (``shares``)."""
    begin, end = claim(ranges)
    while begin < end:
        i, last = offsets[begin], offsets[end]
        while i + LANES <= last:
            store(gradient, i, load(gradient, i) + splat(weight) * load(slopes, i))
            store(curvature, i, load(curvature, i) + splat(bend_weight) * load(bends, i))
            i += LANES
        while i < last:
            gradient[i] += weight * slopes[i]
            curvature[i] += bend_weight * bends[i]
            i += 1
        begin, end = claim(ranges)
