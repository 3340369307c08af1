"""The three ways to an expectation over noisy ranks: exact, SoftRank's, and sampled; each a run of a kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import FloatArray
from ..kernels.blocks import block_address
from ..kernels.curvature import NO_CURVATURE, Curvature
from ..kernels.expected import ACCURACY, ODDS_DIGITS, expect_queries
from ..kernels.families import ABSORBING, MARKED, PLAIN
from ..kernels.noise import LAWS
from ..kernels.pair_levels import soft_level_pairs
from ..kernels.pairwise import soft_pairs
from ..kernels.sampled import hard_draws, plackett_luce_gradient
from ..kernels.shares import Ranges, Work
from ..kernels.simd import LANES
from ..kernels.softrank import softrank_queries
from ..kernels.threads import on_every_thread, on_every_thread_by_kind, over_queries
from ..kernels.workspace import (
    ABSORBED,
    CASCADES,
    COUNTED,
    LANE_RANKS,
    MIXED,
    MOST_CROWD,
    ODDS,
    ODDS_RANKS,
    ROWS,
    SHORT,
    own_workspace,
    set_terms,
)
from .costs import exact_costs, refuse_long, sampled_costs, softrank_costs
from .exponentials import tables_of
from .prepared import PreparedQueries

_FAST = 5e-6  # a tolerance above promises 1e-4, one below 1e-6: a fifth of that is what a discount may be off by
_DISCOUNT_DIGITS = (2e-7, 2e-5)
_FEW_IN_CASCADES = 8  # documents for which a cascade goes by rows
# by odds go lists with so many documents to a rank; in a plain metric so many ranks of any list, too
_ROOM_BELOW, _DEEP = 1.75, 64
_BY_ODDS = {PLAIN: ODDS, ABSORBING: ABSORBED, MARKED: COUNTED}  # the families that sum over ranks
_CELLS_AT_A_TIME = 2**18  # of draws x documents: 2 MiB of noise
_WIDE, _UNBRIDGED = 1e8, 1e4  # sigmas: scores that reach farther have their gaps cut; a gap that no draw bridges
# longer lists have a workspace of their own size, kept only if it is small: that of all others would be as large
_COMMON, _LONG = 2048, 16
_HUGE = 1e290  # no difference of scores beyond floats is within the reach of a smaller sigma, not even in steps


@dataclass(frozen=True)
class Expectation:
    """What the kernels give for a set of queries, in units of sigma.

    ``values``, (n_queries,), are sums over ranks or pairs, not yet divided. The others are (n_docs,), empty if not
    asked for: ``gradient`` / sigma and ``hessian`` / sigma^2 are derivatives with respect to the scores; ``push`` is
    the downward part L of the flow, U = gradient + push the upward part, of exact expectations only.
    """

    values: FloatArray
    gradient: FloatArray
    push: FloatArray
    hessian: FloatArray


def expectation(
    prepared: PreparedQueries,
    scores: FloatArray,
    noise: str,
    sigma: float,
    accuracy: str,
    derive: int,
    curvature: Curvature = NO_CURVATURE,
) -> Expectation:
    """The exact expectation of every query, with as many derivatives as asked for.

    ``derive``: 0, the value; 1, gradient and push; 2, the Hessian as well. With ``curvature`` the gradient is weighted,
    and the curvature stands in the push's place.
    """
    scores, sigma = _differing(scores, sigma)
    law, offsets = LAWS[noise], prepared.groups.offsets
    step, tol = ACCURACY[accuracy]
    found = places_for(prepared, derive > 0, derive == 2)
    plan = _plan(prepared, tol)
    refuse_long(prepared, plan.work.costs, scores, noise, sigma, "exact")
    if prepared.pairwise:
        _pairs(prepared, law, scores, sigma, tol, derive, curvature, plan.work, found)
        return found
    short = block_address(SHORT) if plan.few else 0

    def run(kind: int, ranges: Ranges) -> None:
        engine, (longest, deepest) = kind % _LONG, plan.rooms[kind >= _LONG]
        with own_workspace(engine, prepared.family, longest, deepest, 40.0 - math.log(tol)) as room:
            if engine in (MIXED, CASCADES):
                set_terms(room, plan.terms)
            expect_queries(
                block_address(engine), short if engine != ROWS else 0, engine, law, prepared.family, scores,
                prepared.gains, offsets, prepared.cutoffs, prepared.smooth, prepared.discount, sigma, step, tol, derive,
                curvature, ranges, found.values, found.gradient, found.push, found.hessian, longest + LANES - 1, *room,
            )  # fmt: skip

    on_every_thread_by_kind(run, plan.work)
    return found


def _differing(scores: FloatArray, sigma: float) -> tuple[FloatArray, float]:
    """Scores and sigma as they are, or a quarter of them, which is the same, where differences might overflow."""
    return (0.25 * scores, 0.25 * sigma) if sigma > _HUGE else (scores, sigma)


def _pairs(
    prepared: PreparedQueries,
    law: int,
    scores: FloatArray,
    sigma: float,
    tol: float,
    derive: int,
    curvature: Curvature,
    work: Work,
    found: Expectation,
) -> None:
    """All queries of a metric of pairs: by level where that pays and no Hessian is asked for, or in order."""
    given = (law, prepared.family, scores, prepared.gains, prepared.weights, prepared.groups.offsets, sigma)
    left = np.full(prepared.groups.n_queries, derive == 2)
    exact = tol <= ODDS_DIGITS or prepared.odds  # these divide by what may be the tails alone

    def by_level(ranges: Ranges) -> None:
        soft_level_pairs(
            *given, exact, prepared.by_gain, derive, curvature, ranges, found.values, found.gradient, found.push,
            found.hessian, left,
        )  # fmt: skip

    if derive < 2:
        on_every_thread(by_level, work)
    pairs_in_order(prepared, law, scores, sigma, derive > 0, curvature, work, left, found)


def pairs_in_order(
    prepared: PreparedQueries,
    law: int,
    scores: FloatArray,
    sigma: float,
    derive: bool,
    curvature: Curvature,
    work: Work,
    left: NDArray[np.bool_],
    found: Expectation,
) -> None:
    """The queries of a metric of pairs that are ``left``, into their places of ``found``."""

    def run(ranges: Ranges) -> None:
        soft_pairs(
            law, prepared.family, scores, prepared.gains, prepared.weights, prepared.groups.offsets, sigma, derive,
            curvature, ranges, found.values, found.gradient, found.push, found.hessian, left,
        )  # fmt: skip

    if left.any():
        on_every_thread(run, Work(np.where(left, work.costs, 0.0)))


@dataclass(frozen=True)
class _Plan:
    """How queries are gone through at an accuracy, whatever their scores are.

    Attributes
    ----------
    terms : a discount as exponentials, by the power of two that is the longest list.
    work : what each query costs; its kind is its engine, and whether it is a long one.
    few : whether clusters of few documents go a way of their own.
    rooms : documents and ranks that a workspace is made for, of common queries and of long ones.
    """

    terms: dict[int, FloatArray]
    work: Work
    few: bool
    rooms: tuple[tuple[int, int], tuple[int, int]]


def _plan(prepared: PreparedQueries, tol: float) -> _Plan:
    """Made once: for short lists it takes as long as the kernel."""
    return prepared.once(("expectation", tol), lambda: _make_plan(prepared, tol))


def _make_plan(prepared: PreparedQueries, tol: float) -> _Plan:
    terms = _terms(prepared, tol)
    engines = _engines(prepared, terms, tol)
    long = prepared.groups.sizes > _COMMON
    return _Plan(
        terms=terms,
        work=Work(exact_costs(prepared, engines), engines + _LONG * long.astype(np.int8)),
        few=prepared.family == PLAIN and tol > ODDS_DIGITS and bool(np.any(engines != ROWS)),
        rooms=(_room_size(prepared, ~long), _room_size(prepared, long)),
    )


def _room_size(prepared: PreparedQueries, chosen: NDArray[np.bool_]) -> tuple[int, int]:
    """Documents and ranks that a workspace for any of the chosen queries is made for."""
    sizes = prepared.groups.sizes[chosen]
    return int(sizes.max(initial=1)), int(np.minimum(sizes, prepared.cutoffs[chosen]).max(initial=1))


def _terms(prepared: PreparedQueries, tol: float) -> dict[int, FloatArray]:
    """The discount as sums of exponentials, for the whole lists that are long enough to want them."""
    sizes = prepared.groups.sizes
    if prepared.family not in _BY_ODDS or not prepared.smooth or tol <= ODDS_DIGITS:
        return {}
    whole = sizes[(sizes > _few(prepared.family)) & (prepared.cutoffs >= sizes)]
    return tables_of(prepared.discount, whole, _DISCOUNT_DIGITS[tol > _FAST])


def _few(family: int) -> int:
    """How many documents of a whole list are too few to go by exponentials."""
    return MOST_CROWD if family == PLAIN else _FEW_IN_CASCADES


def _engines(prepared: PreparedQueries, terms: dict[int, FloatArray], tol: float) -> NDArray[np.int8]:
    """The engine of every query."""
    sizes, cutoffs = prepared.groups.sizes, prepared.cutoffs
    engines = np.full(sizes.size, ROWS, dtype=np.int8)
    ranks = np.minimum(cutoffs, sizes)
    if prepared.family == PLAIN:
        engines[ranks <= LANE_RANKS] = ODDS
    if prepared.family in _BY_ODDS and tol > ODDS_DIGITS:
        pays = sizes >= _ROOM_BELOW * ranks
        if prepared.family == PLAIN:
            pays |= ranks <= _DEEP
        engines[pays & (ranks <= ODDS_RANKS)] = _BY_ODDS[prepared.family]
    for power in terms:
        fewer = max(_few(prepared.family), 2**power // 2)
        whole = (sizes > fewer) & (sizes <= 2**power) & (cutoffs >= sizes)
        engines[whole] = MIXED if prepared.family == PLAIN else CASCADES
    return engines


def softrank_expectation(
    prepared: PreparedQueries, scores: FloatArray, noise: str, sigma: float, derive: bool
) -> Expectation:
    """SoftRank's value of every query, which is no expectation, with its derivatives."""
    scores, sigma = _differing(scores, sigma)
    costs = softrank_costs(prepared)
    refuse_long(prepared, costs, scores, noise, sigma, "softrank")
    found = places_for(prepared, derive, derive)

    def run(begin: int, end: int) -> None:
        softrank_queries(
            LAWS[noise], scores, prepared.gains, prepared.groups.offsets, prepared.cutoffs, prepared.discount, sigma,
            derive, begin, end, found.values, found.gradient, found.hessian,
        )  # fmt: skip

    over_queries(run, costs)
    return found


def sampled_expectation(
    prepared: PreparedQueries, scores: FloatArray, noise: str, sigma: float, n_samples: int, seed: int, derive: bool
) -> Expectation:
    """Mean over draws of the noise, and an unbiased estimate of its gradient; no Hessian.

    The gradient is PL-Rank-3's under Gumbel noise for sums of gain x discount; otherwise the covariance of the
    metric with the noise's score function, -f'/f, which serves any metric and any noise. Query q draws from its
    own stream, seeded by (seed, q).
    """
    found = places_for(prepared, derive, False)
    offsets = prepared.groups.offsets

    def run(begin: int, end: int) -> None:
        bits = np.random.Philox(key=np.array([seed, 0], dtype=np.uint64))
        random, state = np.random.Generator(bits), bits.state
        for q in range(begin, end):
            here = slice(int(offsets[q]), int(offsets[q + 1]))
            if here.start < here.stop:
                state["state"]["key"][1] = q
                bits.state = state  # a new one asks the system for entropy: half of the time of a short query
                _sample_query(prepared, scores, noise, sigma, n_samples, random, q, here, found, derive)

    over_queries(run, sampled_costs(prepared, n_samples))
    return found


def places_for(prepared: PreparedQueries, derive: bool, bend: bool) -> Expectation:
    """Places for what the kernels find, which write all of it, with derivatives or without, and with the Hessian."""
    gradient, push = (prepared.array() if derive else np.zeros(0) for _ in range(2))
    return Expectation(np.zeros(prepared.groups.n_queries), gradient, push, np.zeros(gradient.size if bend else 0))


def _sample_query(
    prepared: PreparedQueries,
    scores: FloatArray,
    noise: str,
    sigma: float,
    n_samples: int,
    random: np.random.Generator,
    q: int,
    here: slice,
    found: Expectation,
    derive: bool,
) -> None:
    gains, weights = prepared.gains[here], prepared.weights[here] if prepared.pairwise else prepared.weights
    own, n = scores[here], here.stop - here.start
    ranks = min(int(prepared.cutoffs[q]), n)
    placed = derive and noise == "gumbel" and prepared.family == PLAIN
    total, moment, slope = 0.0, np.zeros(n), np.zeros(n)
    logits = _in_units_of(sigma, own)
    # a constant in the gains changes no gradient, all ranks being filled: from their mean on rewards scatter far less
    rewards = gains - (gains / n).sum() if placed else gains
    left = n_samples
    while left > 0:
        count = min(left, max(1, _CELLS_AT_A_TIME // n))
        left -= count
        eps = _draw(random, noise, (count, n))
        draws, values = logits + eps, np.zeros(count)
        hard_draws(prepared.family, draws, gains, weights, ranks, prepared.discount, values)
        total += float(values.sum())
        if placed:
            plackett_luce_gradient(logits, draws, rewards, ranks, prepared.discount, moment)
        elif derive:
            score = _score_function(noise, eps)
            moment += values @ score
            slope += score.sum(axis=0)
    found.values[q] = total / n_samples
    if derive:
        with np.errstate(under="ignore"):  # of documents far from all others
            mean = moment / n_samples if placed else (moment - found.values[q] * slope) / (n_samples - 1)
        found.gradient[here] = mean


def _in_units_of(sigma: float, scores: FloatArray) -> FloatArray:
    """Scores in units of sigma, the best at 0; gaps that no draw bridges are cut, or they would leave noise no digits.

    >>> _in_units_of(0.5, np.array([0.0, 2.0, 1.0])), _in_units_of(0.5, np.array([0.0, 1e30, 1.0]))
    (array([-4.,  0., -2.]), array([-10002.,      0., -10000.]))
    """
    with np.errstate(over="ignore", invalid="ignore"):
        gaps = scores - scores.max()
        if gaps.min() > -_WIDE * sigma:
            plain: FloatArray = gaps / sigma
            return plain
        order = np.argsort(scores, kind="stable")
        steps = np.diff(scores[order])
        steps = np.where(steps < np.inf, steps / sigma, np.diff(scores[order] / sigma))
        steps = np.fmin(steps, _UNBRIDGED)  # infinities apart are not a number apart
    found = np.empty(scores.size)
    found[order] = np.concatenate([[0.0], np.cumsum(steps)]) - steps.sum()
    return found


def _draw(random: np.random.Generator, noise: str, shape: tuple[int, int]) -> NDArray[np.float64]:
    draw: Any = {"gaussian": random.standard_normal, "gumbel": random.gumbel, "logistic": random.logistic}[noise]
    eps: NDArray[np.float64] = draw(size=shape)
    return eps


def _score_function(noise: str, eps: NDArray[np.float64]) -> NDArray[np.float64]:
    """-f'/f of the noise."""
    if noise == "gaussian":
        return eps
    score: NDArray[np.float64] = 1.0 - np.exp(-eps) if noise == "gumbel" else np.tanh(0.5 * eps)
    return score
