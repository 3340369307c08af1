"""Documents far below under Gumbel noise, all at once, where a discount is a sum of exponentials (``mixture``).

A term mu z^count sees a document with e = exp(u - x) (``moments``) through its factor F = q + p z, the same function
F = z + (1 - z) exp(-e) of e at every node. So for every term there are three power series in e:

- log F, by which the moments give the product of all far documents' factors;
- w / F = e exp(-e) / F, for what one of them is worth picked, and for what the others are worth without it;
- its square, for what a document's fall would cost its own pick, which is not among the others.

All three converge for |e| < pi, whatever z. Summed over terms, what the fall and the pick of a document are worth is a
polynomial in e, which waits for documents as in ``moments``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .compile import routine
from .moments import BENT, COUNTS, DENSITY, GAINS, ODDS_SUMS, PICK_SUMS, POWERS, leave, pass_on, sum_moments
from .noise import short_exponential
from .simd import LANES, add_lane_sums, load, pointer, splat, store
from .workspace import MOST_TERMS, TERM_SERIES

# a term's vectors: the far documents' products, none and one of them picked; what a fall, the same of the own pick, and
# a pick are worth to all, in units of the document's own 1 / F
_NONE, _ONE, _FALLS, _OWNS, _PICKED = (LANES * MOST_TERMS * part for part in range(5))


def term_series(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients of e^1 .. e^POWERS in log F, w / F and (w / F)^2 of every term; shape (3, n_terms, POWERS)."""
    factor = (1.0 - z)[:, None] * DENSITY
    factor[:, 0] = 1.0
    inverse = np.zeros_like(factor)
    inverse[:, 0] = 1.0
    for m in range(1, POWERS + 1):
        inverse[:, m] = -(factor[:, 1 : m + 1] * inverse[:, m - 1 :: -1][:, :m]).sum(axis=1)
    slope = factor[:, 1:] * np.arange(1, POWERS + 1)
    density = np.concatenate([[0.0], DENSITY[:-1]])
    found = np.zeros((3, z.size, POWERS))
    for t in range(z.size):
        found[0, t] = np.convolve(slope[t], inverse[t])[:POWERS] / np.arange(1, POWERS + 1)
        picked = np.convolve(density, inverse[t])[: POWERS + 1]
        found[1, t], found[2, t] = picked[1:], np.convolve(picked, picked)[1 : POWERS + 1]
    return found


_PICK = tuple(map(float, DENSITY[:-1]))  # e exp(-e), from e^1 on


@routine
def nothing_far(n_terms, by_term):
    """Products over no document."""
    for c in range(0, LANES * n_terms, LANES):
        store(by_term, _NONE + c, splat(1.0))
        store(by_term, _ONE + c, splat(0.0))


@routine
def far_product(by_term, c):
    """A term's product over the far documents, with none and with one of them picked."""
    return load(by_term, _NONE + LANES * c), load(by_term, _ONE + LANES * c)


@routine
def _by_series(sums, series, at):
    """A power series at eight nodes, from its coefficients and sums of the powers."""
    total = load(sums, 0) * splat(series[at])
    for m in range(1, POWERS):
        total = total + load(sums, LANES * m) * splat(series[at + m])
    return total


@routine
def fill_far_products(x, u, far, n_terms, series, moments, by_term):
    """Products of every term over the documents from ``far`` on; returns what they are worth where D is constant."""
    sum_moments(x, u, far, moments)
    scratch = moments[4]
    counts, gains = pointer(scratch, COUNTS), pointer(scratch, GAINS)
    for c in range(n_terms):
        none = short_exponential(_by_series(counts, series, POWERS * c))
        store(by_term, _NONE + LANES * c, none)
        store(by_term, _ONE + LANES * c, none * _by_series(gains, series, TERM_SERIES + POWERS * c))
    total = splat(0.0)
    for m in range(POWERS):
        total = total + load(gains, LANES * m) * splat(_PICK[m])
    return total


@routine
def set_up_far(by_term, c, none, one, weight, fall):
    """What a term gives far documents: products over those near with none and one picked, its weight, and 1 - z."""
    far_none, far_one = far_product(by_term, c)
    both = weight * none * far_none
    store(by_term, _FALLS + LANES * c, fall * weight * (one * far_none + none * far_one))
    store(by_term, _OWNS + LANES * c, fall * both)
    store(by_term, _PICKED + LANES * c, both)


@routine
def divide_far(weights, constant, n_terms, series, exact, moments, by_term):
    """Leave to wait what falls, picks and the rule's drift are worth to every far document."""
    scratch = moments[4]
    for m in range(POWERS):
        fall, own, picked = splat(0.0), splat(0.0), constant * splat(_PICK[m])
        for c in range(n_terms):
            at, i = POWERS * c + m, LANES * c
            over = splat(series[TERM_SERIES + at])
            fall = fall + load(by_term, _FALLS + i) * over
            picked = picked + load(by_term, _PICKED + i) * over
            own = own + load(by_term, _OWNS + i) * splat(series[2 * TERM_SERIES + at])
        store(scratch, GAINS + LANES * m, fall)
        store(scratch, ODDS_SUMS + LANES * m, own)
        store(scratch, PICK_SUMS + LANES * m, picked)
    leave(weights, exact, moments)


@routine
def settle_mixed(first, end, coef, least, found, second, exact, moments):
    """Give the documents before ``end`` what has waited for them, as a block does; from then on it waits for others."""
    zero = splat(0.0)
    for j in range(moments[5][0], end):
        k, c = 4 * (j - first), splat(coef[j])
        fall, own, pull, drift = pass_on(moments, 0, j)
        loss = fall - c * own
        add_lane_sums(found, k, c * pull - loss, loss + splat(least) * pull, drift, zero)
        if exact:
            fall, own, pull, drift = pass_on(moments, BENT, j)
            add_lane_sums(second, k, c * (pull + own) - fall, drift, zero, zero)
    moments[5][0] = end
