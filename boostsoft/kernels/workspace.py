"""Room for a kernel's work: one buffer of numbers, one of places, made in Python and kept for the next call."""

from __future__ import annotations

import contextlib
import math
import os
from collections import deque
from collections.abc import Iterator
from itertools import accumulate, chain
from typing import Any, NamedTuple

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
_MOST_KEPT = 2**23  # bytes of a workspace that is kept from one run to the next
# with their keys, two for each thread at most; a deque's ends may be changed by several threads at once
_idle: deque[tuple[Any, Any]] = deque(maxlen=2 * (os.cpu_count() or 1))


class Space(NamedTuple):
    """The parts of a workspace, by purpose: places in its two buffers."""

    rows: Any  # forward rows of the recursion: nothing picked, one picked, and with marks (``recursion``)
    saved: Any  # checkpoints of these
    back: Any  # backward rows, and the discounts behind the last document
    laws: Any  # p, q, w, r of documents at a block's nodes (``noise``)
    limits: Any  # the cells that each row keeps: from, to
    documents: Any  # by falling score: position, gain, gap to the one before
    sums: Any  # of documents: gradient, push, hessian, mass, drift, curl, level
    bins: Any  # centres, rates, counts, rests, falls (``quadrature``)
    nodes: Nodes
    odds: ByOdds
    order: Any  # each document's place in the data
    certain: Any  # above for certain: what is let through, marks offered; what a block of ``cascades`` lets through
    tally: Any  # what the benchmark counts (``bench.nodes``)


class Nodes(NamedTuple):
    """Eight nodes of the rule (``quadrature``)."""

    x: Any
    weights: Any
    above: Any  # the expected number of documents above
    variance: Any  # of that number
    wide: Any  # weights of a block whose nodes are taken one by one
    scratch: Any
    state: Any  # of the last node: coordinate, height, slope


class ByOdds(NamedTuple):
    """What engines need that do not, or not only, go by rows."""

    lists: Any  # documents without gain, and with
    plain_before: Any  # how many without gain are before each
    laws: Any  # two of a document at a block's nodes, and exp(u) of a document
    tail: Any  # polynomials: nothing picked, one picked
    series: Any  # that documents are divided out by: E, F, K, G, H
    found: Any  # documents' sums: of those without gain, two; of those with, four numbers each, two
    few: Any  # documents' sums where few meet, by lane (``short``)
    terms: Any  # whole lists: exponentials of a discount, products before each document of a segment, between segments
    marked: Any  # average precision: three more polynomials, and a series
    moments: Any  # of far documents: falls, counts, gains; what waits for them; scratch; from whom on it waits
    by_term: Any  # what terms make of the moments


# how many parts each group of numbers has, in the order of the buffer
_GROUPS = {
    "rows": 4, "saved": 4, "back": 7, "laws": 4, "documents": 3, "sums": 7, "bins": 5, "nodes": 7, "odds": 3, "tail": 2,
    "series": 5, "found": 4, "few": 1, "terms": 3, "marked": 4, "moments": 5, "by_term": 1, "certain": 1, "tally": 1,
}  # fmt: skip
(
    _ROWS, _SAVED, _BACK, _LAWS, _DOCUMENTS, _SUMS, _BINS, _NODES, _ODDS, _TAIL, _SERIES, _FOUND, _FEW, _TERMS, _MARKED,
    _MOMENTS, _BY_TERM, _CERTAIN, TALLY, _,
) = accumulate(_GROUPS.values(), initial=0)  # fmt: skip


def _row_bound(n, ranks, lanes, spread):
    """Most cells of a row of either layout, guards included, for n documents."""
    half = math.sqrt(0.5 * spread * n) + 0.34 * spread + 2.0
    wide = min(float(ranks), 2.0 * half + 4.0)
    return int(max(LANES * lanes, wide)) + 4 * GUARD


def sizes_of_parts(engine: int, family: int, n: int, ranks: int, spread: float) -> dict[str, list[int]]:
    """Numbers in each part of a workspace for queries of up to n documents and so many ranks, by group."""
    marked, mixed = int(family == MARKED), int(engine in (MIXED, CASCADES))
    by_odds, counted, far = engine in BY_ODDS, int(engine == COUNTED), int(engine in (ODDS, MIXED))
    odds = int(by_odds or mixed)
    lanes = min(ranks, ODDS_RANKS if by_odds else LANE_RANKS)
    if mixed:  # rows are for where few meet
        ranks = lanes
    stride = _row_bound(n, ranks, lanes, spread)
    rows = min(max(ROW_BUDGET, (int(math.sqrt(n)) + 3) * stride), n * stride) + 2 * stride
    saved = (int(math.sqrt(n)) + 3) * stride
    wide, more, polynomial = LANES * (n + LANES), n + LANES, LANES * (lanes + PAD)
    between = (n // SEGMENT + 3) * (MOST_TERMS + 1)
    terms = (1 + TERM_TABLES * TERM_TABLE, STATES * LANES * min(n, SEGMENT), STATES * LANES * between)
    return {
        "rows": [rows, rows, rows * marked, rows * marked],
        "saved": [saved, saved, saved * marked, saved * marked],
        "back": [LANES * lanes + ranks + 4 * GUARD] * 7,
        "laws": [wide] * 4,
        "documents": [more] * 3,
        "sums": [n] * 7,
        "bins": [MOST_BINS + 1] * 5,  # behind the last one something is read that is not used
        "nodes": [LANES] * 7,
        "odds": [odds * wide, odds * wide, odds * more],
        "tail": [polynomial] * 2,
        "series": [LANES * max(lanes, LANES)] * 5,  # moments read eight vectors of one
        "found": [odds * more] * 2 + [4 * odds * more] * 2,
        "few": [SHORT_SUMS * odds * min(n, MOST_MET)],
        "terms": [mixed * part for part in terms],
        "marked": [counted * polynomial] * 3 + [counted * LANES * lanes],
        "moments": [far * more, far * wide, far * wide, MOMENTS_WAITING, MOMENTS_SCRATCH],
        "by_term": [mixed * 5 * TERM_SERIES],
        "certain": [LANES],
        "tally": [LANES],
    }


def workspace(engine: int, family: int, n: int, ranks: int, spread: float) -> tuple[Any, Any, Any, Any]:
    """Two buffers for queries of up to n documents and so many ranks, and where the parts begin in each."""
    sizes = sizes_of_parts(engine, family, n, ranks, spread)
    listed = int(engine in BY_ODDS or engine in (MIXED, CASCADES))
    numbers, at = _buffer([*chain.from_iterable(sizes[group] for group in _GROUPS)], np.float64)
    lists = [listed * (n + LANES), listed * (n + LANES), listed * (n + 1)]
    places, places_at = _buffer([n + 2, n + 2, n, *lists, 1], np.int64)
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
        begin = at[_TERMS] + 1 + TERM_TABLE * power
        numbers[begin : begin + TERM_TABLE] = table


@routine
def _three(f, at, k):
    return pointer(f, at[k]), pointer(f, at[k + 1]), pointer(f, at[k + 2])


@routine
def _four(f, at, k):
    return pointer(f, at[k]), pointer(f, at[k + 1]), pointer(f, at[k + 2]), pointer(f, at[k + 3])


@routine
def arrays(f, at, i, place):
    """The parts of a workspace: ``Space``."""
    x, weights, above, variance = _four(f, at, _NODES)
    wide, scratch, state = _three(f, at, _NODES + 4)
    centres, rates, counts, rests = _four(f, at, _BINS)
    falls, counted, gained, waiting = _four(f, at, _MOMENTS)
    E, F, K = _three(f, at, _SERIES)
    odds = ByOdds(
        (pointer(i, place[3]), pointer(i, place[4])),
        pointer(i, place[5]),
        _three(f, at, _ODDS),
        (pointer(f, at[_TAIL]), pointer(f, at[_TAIL + 1])),
        (E, F, K, pointer(f, at[_SERIES + 3]), pointer(f, at[_SERIES + 4])),
        _four(f, at, _FOUND),
        pointer(f, at[_FEW]),
        _three(f, at, _TERMS),
        _four(f, at, _MARKED),
        (falls, counted, gained, waiting, pointer(f, at[_MOMENTS + 4]), pointer(i, place[6])),
        pointer(f, at[_BY_TERM]),
    )
    return Space(
        _four(f, at, _ROWS),
        _four(f, at, _SAVED),
        _four(f, at, _BACK) + _three(f, at, _BACK + 4),
        _four(f, at, _LAWS),
        (pointer(i, place[0]), pointer(i, place[1])),
        _three(f, at, _DOCUMENTS),
        _four(f, at, _SUMS) + _three(f, at, _SUMS + 4),
        (centres, rates, counts, rests, pointer(f, at[_BINS + 4])),
        Nodes(x, weights, above, variance, wide, scratch, state),
        odds,
        pointer(i, place[2]),
        pointer(f, at[_CERTAIN]),
        pointer(f, at[TALLY]),
    )
