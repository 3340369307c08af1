"""Room for a kernel's work: one buffer of numbers, one of places, made in Python and kept for the next call."""

from __future__ import annotations

import contextlib
import math
import os
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from .compile import routine
from .families import MARKED
from .simd import LANES, pointer

# engines: by rows of the recursion; most documents by their odds (``plain``), and where few meet (``short``); whole
# lists by exponentials (``mixture``, ``cascades``); cascades and average precision with a cutoff by odds (``absorbed``,
# ``counted``)
ROWS, ODDS, SHORT, MIXED, CASCADES, ABSORBED, COUNTED = 0, 1, 2, 3, 4, 5, 6
BY_ODDS = (ODDS, ABSORBED, COUNTED)
MOST_TERMS = 40  # exponentials of a discount
# what is kept of them, for lists of up to a power of two of documents; one such table for each power
# and, for each, three power series of eight coefficients
TERM_SERIES = LANES * MOST_TERMS
TERM_TABLE, TERM_TABLES = 2 + 5 * MOST_TERMS + 3 * TERM_SERIES, 32
# vectors of a document's products, and documents whose products are kept at once, within a core's own cache
STATES, SEGMENT = 6, 1024
LANE_RANKS = 48  # up to here eight nodes share a row; beyond, ranks fill the lanes and a row follows its node
ODDS_RANKS = 160  # up to here documents can go by their odds: what is multiplied up stays below 1e250
MOST_CROWD = 32  # documents that a block may meet to be counted as few
# numbers that a document's sums take where few meet, and documents of a cluster that there is room for
SHORT_SUMS, MOST_MET = 5 * LANES, 1024
# where far documents go by their moments: numbers that wait for them, and a block's own
MOMENTS_WAITING, MOMENTS_SCRATCH = 8 * LANES, 5 * LANES * LANES
ROW_BUDGET = 32_768  # cells of forward rows kept at once: two states of 256 KiB, within a core's own cache
GUARD = LANES  # zeros before and behind a row
PAD = 4  # vectors of zeros before a polynomial
MOST_BINS = 256
TALLY, TERMS = 54, 56  # the parts that hold the tally, behind two numbers, and a discount's exponentials
_MOST_KEPT = 2**23  # bytes of a workspace that is kept from one run to the next
# with their keys, two for each thread at most; a deque's ends may be changed by several threads at once
_idle: deque[tuple[Any, Any]] = deque(maxlen=2 * (os.cpu_count() or 1))


def _row_bound(n, ranks, lanes, spread):
    """Most cells of a row of either layout, guards included, for n documents."""
    half = math.sqrt(0.5 * spread * n) + 0.34 * spread + 2.0
    wide = min(float(ranks), 2.0 * half + 4.0)
    return int(max(LANES * lanes, wide)) + 4 * GUARD


def workspace(engine: int, family: int, n: int, ranks: int, spread: float) -> tuple[Any, Any, Any, Any]:
    """Two buffers for queries of up to n documents and so many ranks, and where the parts begin in each.

    The parts, as ``arrays`` names them: rows and saved rows per state, backward rows, p q w r, positions, gains and
    gaps, the documents' sums, bins, nodes; for the odds: t v, polynomials, series, the lists' sums; eight numbers:
    what is above for certain (two), and the tally of ``plain`` or what a block of ``cascades`` lets through; the
    documents' sums where few meet; for whole lists a discount's exponentials, the products before each document of
    a segment, and those between segments; three polynomials and a series for average precision by odds; and the
    moments of far documents, with the first of those for which sums wait, and what terms make of them.
    """
    marked, mixed = int(family == MARKED), int(engine in (MIXED, CASCADES))
    by_odds, counted = engine in BY_ODDS, int(engine == COUNTED)
    odds = int(by_odds or mixed)
    lanes = min(ranks, ODDS_RANKS if by_odds else LANE_RANKS)
    if mixed:  # rows are for where few meet
        ranks = lanes
    stride = _row_bound(n, ranks, lanes, spread)
    rows = min(max(ROW_BUDGET, (int(math.sqrt(n)) + 3) * stride), n * stride) + 2 * stride
    saved = (int(math.sqrt(n)) + 3) * stride
    wide, more = LANES * (n + LANES), n + LANES
    sizes = [rows, rows, rows * marked, rows * marked, saved, saved, saved * marked, saved * marked]
    sizes += [LANES * lanes + ranks + 4 * GUARD] * 7 + [wide] * 4 + [more] * 3 + [n] * 7 + [MOST_BINS] * 4
    sizes += [LANES] * 7 + [odds * wide] * 2 + [odds * more] + [LANES * (lanes + PAD)] * 2
    sizes += [LANES * max(lanes, LANES)] * 5  # moments read eight vectors of a series
    sizes += [odds * more] * 2 + [4 * odds * more] * 2 + [LANES, SHORT_SUMS * odds * min(n, MOST_MET)]
    between = (n // SEGMENT + 3) * (MOST_TERMS + 1)
    kept = [STATES * LANES * min(n, SEGMENT), STATES * LANES * between]
    sizes += [mixed * part for part in (1 + TERM_TABLES * TERM_TABLE, *kept)]
    sizes += [counted * LANES * (lanes + PAD)] * 3 + [counted * LANES * lanes]
    far = int(engine in (ODDS, MIXED))
    sizes += [far * more] + [far * wide] * 2 + [MOMENTS_WAITING, MOMENTS_SCRATCH, mixed * 5 * TERM_SERIES]
    numbers, at = _buffer(sizes, np.float64)
    places, places_at = _buffer([n + 2, n + 2, n, odds * more, odds * more, odds * (n + 1), 1], np.int64)
    return numbers, at, places, places_at


@contextlib.contextmanager
def own_workspace(engine: int, family: int, n: int, ranks: int, spread: float) -> Iterator[tuple[Any, Any, Any, Any]]:
    """A workspace of that size that nobody else has, kept for the next one who wants it if it is not large.

    A new one of a common size costs as much as ten queries: its pages come from the system, one fault each.
    """
    key = (engine, family, n, ranks, spread)
    room = _kept(key)
    if room is None:
        room = workspace(*key)
    try:
        yield room
    finally:
        if room[0].nbytes <= _MOST_KEPT:
            _idle.append((key, room))


def _kept(key: tuple[int, int, int, int, float]) -> tuple[Any, Any, Any, Any] | None:
    """The one of that size that was used last, if there is one."""
    for _ in range(len(_idle)):
        try:
            known, room = _idle.pop()
        except IndexError:
            return None
        if known == key:
            found: tuple[Any, Any, Any, Any] = room
            return found
        _idle.appendleft((known, room))
    return None


def _buffer(sizes, dtype):
    """A buffer of zeros and the beginnings of its parts, each on a cache line."""
    padded = [-(-size // LANES) * LANES for size in sizes]
    buffer = np.zeros(sum(padded) + LANES, dtype)
    skip = -(buffer.ctypes.data // buffer.itemsize) % LANES
    return buffer, skip + np.cumsum([0, *padded])


def set_terms(room: tuple[Any, Any, Any, Any], tables: dict[int, Any]) -> None:
    """Put a discount's exponentials (``metrics.exponentials``) into a workspace of the engine that reads them."""
    numbers, at, _, _ = room
    for power, table in tables.items():
        begin = at[TERMS] + 1 + TERM_TABLE * power
        numbers[begin : begin + TERM_TABLE] = table


@routine
def arrays(f, at, i, place):
    """Pointers to the parts of a workspace, grouped by purpose."""
    rows = (pointer(f, at[0]), pointer(f, at[1]), pointer(f, at[2]), pointer(f, at[3]))
    saved = (pointer(f, at[4]), pointer(f, at[5]), pointer(f, at[6]), pointer(f, at[7]))
    back = (
        pointer(f, at[8]), pointer(f, at[9]), pointer(f, at[10]), pointer(f, at[11]), pointer(f, at[12]),
        pointer(f, at[13]), pointer(f, at[14]),
    )  # fmt: skip
    laws = (pointer(f, at[15]), pointer(f, at[16]), pointer(f, at[17]), pointer(f, at[18]))
    limits = (pointer(i, place[0]), pointer(i, place[1]))
    documents = (pointer(f, at[19]), pointer(f, at[20]), pointer(f, at[21]))
    sums = (
        pointer(f, at[22]), pointer(f, at[23]), pointer(f, at[24]), pointer(f, at[25]), pointer(f, at[26]),
        pointer(f, at[27]), pointer(f, at[28]),
    )  # fmt: skip
    bins = (pointer(f, at[29]), pointer(f, at[30]), pointer(f, at[31]), pointer(f, at[32]))
    nodes = (
        pointer(f, at[33]), pointer(f, at[34]), pointer(f, at[35]), pointer(f, at[36]), pointer(f, at[37]),
        pointer(f, at[38]), pointer(f, at[39]),
    )  # fmt: skip
    by_odds = (
        (pointer(i, place[3]), pointer(i, place[4])),
        pointer(i, place[5]),
        (pointer(f, at[40]), pointer(f, at[41]), pointer(f, at[42])),
        (pointer(f, at[43]), pointer(f, at[44])),
        (pointer(f, at[45]), pointer(f, at[46]), pointer(f, at[47]), pointer(f, at[48]), pointer(f, at[49])),
        (pointer(f, at[50]), pointer(f, at[51]), pointer(f, at[52]), pointer(f, at[53])),
        pointer(f, at[55]),
        (pointer(f, at[56]), pointer(f, at[57]), pointer(f, at[58])),
        (pointer(f, at[59]), pointer(f, at[60]), pointer(f, at[61]), pointer(f, at[62])),
        (
            pointer(f, at[63]),
            pointer(f, at[64]),
            pointer(f, at[65]),
            pointer(f, at[66]),
            pointer(f, at[67]),
            pointer(i, place[6]),
        ),
        pointer(f, at[68]),
    )
    return (
        rows, saved, back, laws, limits, documents, sums, bins, nodes, by_odds, pointer(i, place[2]),
        pointer(f, at[54]),
    )  # fmt: skip
