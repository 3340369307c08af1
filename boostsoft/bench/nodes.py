"""How many nodes a query needs, and how many cells and operations they cost: the engine's own tally.

The one module of the benchmark that knows the inside of the kernels.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..kernels.blocks import block_address
from ..kernels.curvature import NO_CURVATURE
from ..kernels.expected import ACCURACY, expect_queries
from ..kernels.noise import LAWS
from ..kernels.shares import as_ranges
from ..kernels.simd import LANES
from ..kernels.workspace import ODDS, SHORT, TALLY, workspace
from ..metrics.hard import Metric
from ..metrics.prepared import prepare
from .pools import Pool

# Additions and multiplications in a cell (document x rank x node). A document without gain is multiplied into one
# polynomial and divided out of one; one with gain into one and two terms of another, and out of three; a nearly
# certain one goes through the rows of the recursion, forward (3 + 5) and backward (3 + 3 + 5, and 6 in two sums).
PLAIN_CELL, PICKED_CELL, ROW_CELL = 4, 12, 25
# ... and in a document at a node: p / q and w / q by the law's polynomials, and the sums of its derivatives. A document
# far below has no cells: three powers of its odds in sums, and three terms of up to three polynomials; under Gumbel
# noise all of them together cost a node five triangles of coefficients and four series of eight that wait, and sixteen
# terms of two polynomials to a rank.
LAW_OPERATIONS = {"gaussian": 48, "gumbel": 22, "logistic": 5}
PLAIN_END, PICKED_END, FAINT = 2, 14, 20
MOMENTS, MOMENTS_RANK = 430, 32


class Count(NamedTuple):
    """Means per query."""

    nodes: float
    cells: float
    operations: float


def count_cells(pool: Pool, metric: str, noise: str, sigma: float) -> Count:
    """Nodes, cells and operations of a gradient, averaged over the queries of a pool, of a metric that goes by odds."""
    queries = prepare(Metric(metric), "bench", pool.labels, pool.groups)
    sizes, scores = pool.groups.sizes, pool.scores / sigma
    step, tol = ACCURACY["fast"]
    longest, deepest = int(sizes.max()), int(np.minimum(sizes, queries.cutoffs).max())
    room = workspace(ODDS, queries.family, longest, deepest, 40.0 - math.log(tol))
    out = [np.zeros(pool.n_queries), *(np.zeros(scores.size) for _ in range(3))]
    expect_queries(
        block_address(ODDS), block_address(SHORT), ODDS, LAWS[noise], queries.family, scores, queries.gains,
        pool.groups.offsets, queries.cutoffs, queries.smooth, queries.discount, 1.0, step, tol, 1, NO_CURVATURE,
        as_ranges([(0, pool.n_queries)]), *out, longest + LANES - 1, *room,
    )  # fmt: skip
    numbers, at = room[0], room[1]
    nodes, plain, picked, rows, seen, faint = numbers[at[TALLY] : at[TALLY] + 6] / pool.n_queries
    far = faint / max(deepest, 1) * FAINT
    if noise == "gumbel" and faint > 0.0:
        far = nodes * (MOMENTS + MOMENTS_RANK * deepest)
    ends = (plain * PLAIN_END + picked * PICKED_END) / max(deepest, 1) + far
    operations = plain * PLAIN_CELL + picked * PICKED_CELL + rows * ROW_CELL + seen * LAW_OPERATIONS[noise] + ends
    return Count(float(nodes), float(plain + picked + rows + faint), float(operations))
