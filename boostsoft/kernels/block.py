"""One block of nodes over a run of documents: rows forward, the value, and rows backward with the derivatives.

A block is eight nodes in the lanes layout, or one node in the ranks layout (``recursion`` describes both). All
arrays come from a workspace that a run borrows (``workspace``); rows that do not fit a core's own cache are kept as
checkpoints, about sqrt(n) documents apart, and made a second time on the way back.
"""

from __future__ import annotations

import math

import numpy as np

from .compile import kernel, merged, routine
from .families import MARKED, PLAIN
from .noise import noise
from .recursion import backward, backward_plain, forward, forward_plain, row_end
from .simd import LANES, lane_sum, load, pointer, splat, store
from .workspace import GUARD, LANE_RANKS, ODDS, ROW_BUDGET, ROWS, arrays


@routine
def _segment(n, stride):
    """How many documents' forward rows to keep; the rest is recomputed from checkpoints."""
    return min(n, max(ROW_BUDGET // stride, int(math.sqrt(n)) + 1))


@merged
def fill_laws(law, shift, x, u, low, high, laws):
    """P, q, w, r of documents low..high at eight nodes (lanes) or at the node x[0]."""
    P, Q, W, R = laws
    if shift == LANES:
        at = load(x, 0)
        for j in range(low, high):
            p, q, w, r = noise(law, at - splat(u[j]))
            i = LANES * (j - low)
            store(P, i, p)
            store(Q, i, q)
            store(W, i, w)
            store(R, i, r)
    else:
        at = splat(x[0])
        for j in range(low, high, LANES):
            p, q, w, r = noise(law, at - load(u, j))
            store(P, j - low, p)
            store(Q, j - low, q)
            store(W, j - low, w)
            store(R, j - low, r)


@merged
def _set_windows(shift, n, ranks, spread, P, start, stop):
    """The cells each row keeps; returns the longest row. ``spread`` = log(1 / eps).

    Lanes: all ranks up to the number of documents passed. Ranks: those that the count reaches with a
    probability above eps (Bernstein's bound on a sum of independent indicators).
    """
    longest = 0
    mean, variance, start[0], stop[0] = 0.0, 0.0, 0, shift
    for j in range(n):
        if shift == LANES:
            start[j + 1], stop[j + 1] = 0, LANES * min(j + 2, ranks)
        else:
            mean += P[j]
            variance += P[j] * (1.0 - P[j])
            half = math.sqrt(2.0 * spread * variance) + spread / 3.0
            start[j + 1] = max(start[j], min(int(mean - half), ranks - 1))
            stop[j + 1] = min(ranks, stop[j] + 1, int(mean + half) + 2)
        longest = max(longest, stop[j + 1] - start[j + 1])
    return longest


@merged
def set_terminal(family, shift, discount, low, ranks, weights, back):
    """Backward rows behind the last document: the discounts times the nodes' weights, and their differences."""
    B1, B0, BM, C1, C0, CM, CM0 = back
    for c in range(ranks):
        here = discount[low + c]
        fall = here - (discount[low + c + 1] if c + 1 < ranks else 0.0)
        for lane in range(shift):
            B1[shift * c + lane] = here * weights[lane]
            C1[shift * c + lane] = fall * weights[lane]
    end = shift * ranks
    for i in range(end, end + 2 * GUARD):
        B1[i], C1[i] = 0.0, 0.0
    for i in range(end + 2 * GUARD):  # loops: Numba compiles slice assignments with their error texts, in seconds
        C0[i] = 0.0
        if family != PLAIN:
            B0[i] = 0.0
        if family == MARKED:  # the pick alone and the pick with its mark end alike
            BM[i], CM[i], CM0[i] = B1[i], C1[i], 0.0


@merged
def _set_first_row(family, shift, rows, through, marks):
    """Row 0: nothing picked; what the documents certainly above let through, and the marks they offer."""
    A0, A1, M0, M1 = rows
    begin = GUARD + shift
    for i in range(4 * GUARD):
        A0[i] = through if GUARD <= i < begin else 0.0
        A1[i] = 0.0
        if family == MARKED:
            M0[i] = marks if GUARD <= i < begin else 0.0
            M1[i] = 0.0


@routine
def _move_row(family, source, at, target, to, cells):
    """Copy one row of every state."""
    for state in range(4 if family == MARKED else 2):
        for i in range(cells):
            target[state][to + i] = source[state][at + i]


@merged
def _row_value(family, rows, at, start, stop, back):
    """A forward row read against the terminal discounts."""
    base, total = at + GUARD - start, splat(0.0)
    for i in range(start, row_end(start, stop), LANES):
        total = total + load(rows[1], base + i) * load(back[0], i)
        if family == MARKED:
            total = total + load(rows[3], base + i) * load(back[0], i)
    return lane_sum(total)


@merged
def sweep(
    engine, family, shift, law, coef, least, weights, n, longest, derive, laws, limits, rows, saved, back, sums
):  # fmt: skip
    """Forward over n documents, the value, and backward again; rows that do not fit are made twice."""
    P, Q, W, R = laws
    A0, A1, M0, M1 = rows
    B1, _, _, C1, C0, _, _ = back
    start, stop = limits
    stride = (longest + LANES - 1) // LANES * LANES + 2 * GUARD
    length = _segment(n, stride)
    n_segments = (n + length - 1) // length
    no = np.int64(0)  # a literal would compile the callee once more
    value, s, turn = 0.0, 0, 1
    while s >= 0:  # up to the last segment and down again
        first, last = s * length, min(n, (s + 1) * length)
        if turn == 1 and derive and n_segments > 1:
            _move_row(family, rows, no, saved, s * stride, stride)
        if turn == -1 and s + 1 < n_segments:
            _move_row(family, saved, s * stride, rows, no, stride)
        if turn == 1 or s + 1 < n_segments:
            if engine == ODDS:
                forward_plain(coef, P, Q, W, stop[0], first, last, stride, A0, A1)
            else:
                forward(family, shift, coef, P, Q, W, start, stop, first, last, stride, A0, A1, M0, M1)
        if turn == 1 and s + 1 < n_segments:
            _move_row(family, rows, (last - first) * stride, rows, no, stride)
            s += 1
            continue
        if turn == 1:
            value = _row_value(family, rows, (last - first) * stride, start[n], stop[n], back)
            turn = -1
        if not derive:
            break
        if engine == ODDS:
            backward_plain(
                law, coef, least, weights, P, Q, W, R, stop[0], first, last, stride, derive == 2, A0, A1, B1, C1, C0,
                sums,
            )  # fmt: skip
        else:
            backward(
                family, shift, law, coef, least, weights, P, Q, W, R, start, stop, first, last, stride, rows, back,
                sums,
            )  # fmt: skip
        s -= 1
    return value


@routine
def sums_from(sums, low):
    """The documents' sums from one of them on."""
    return (
        pointer(sums[0], low), pointer(sums[1], low), pointer(sums[2], low), pointer(sums[3], low),
        pointer(sums[4], low), pointer(sums[5], low), pointer(sums[6], low),
    )  # fmt: skip


@merged
def block_value(family, shift, law, x, weights, least, low, high, ranks, spread, discount, before, derive, space):
    """Value of a block of nodes over documents low..high, all above ``low`` being certain."""
    laws, limits, back = space.laws, space.limits, space.back
    u, coef, _ = space.documents
    fill_laws(law, shift, x, u, low, high, laws)
    longest = _set_windows(shift, high - low, ranks, spread, laws[0], limits[0], limits[1])
    set_terminal(family, shift, discount, low, ranks, weights, back)
    _set_first_row(family, shift, space.rows, before[0], before[1])
    here = sums_from(space.sums, low)
    return sweep(
        ROWS, family, shift, law, pointer(coef, low), least, weights, high - low, longest, derive, laws, limits,
        space.rows, space.saved, back, here,
    )  # fmt: skip


@kernel
def rows_block(
    law, family, filled, first, low, high, ranks, nobody, derive, least, growth, spread, faint_below, discount, f, at,
    i, place,
):  # fmt: skip
    """Value of a block of nodes, in lanes or, where there are too many ranks, one node after another.

    The arguments are those of every block (``blocks``): the last four are the workspace.
    """
    space = arrays(f, at, i, place)
    before, x, weights, wide = space.certain, space.nodes.x, space.nodes.weights, space.nodes.wide
    total, shift = 0.0, LANES if ranks <= LANE_RANKS else 1
    if shift == 1:
        for node in range(LANES):
            wide[node], weights[node] = weights[node], 0.0
    for node in range(0, filled, shift):
        if shift == 1:
            x[0], weights[0] = x[node], wide[node]
        total += block_value(
            family, shift, law, x, weights, least, low, high, ranks, spread, discount, before, derive, space
        )
    return total
