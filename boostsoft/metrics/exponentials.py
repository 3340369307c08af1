"""A discount as a sum of exponentials, for the kernels of whole lists (``mixture``, ``cascades``).

Discounts that fall ever more slowly, 1 / log2(1 + r) and 1 / r among them, are mixtures of exponentials exp(-s r):
some ten of them give the discounts of 128 ranks and their differences to five digits, 14 to seven; of 131,072 ranks 20
to 22 and 28 to 30 (Beylkin and Monzon 2005 on such sums). Rates are found by nonlinear least squares, weights by linear
ones.
"""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np

from ..arguments import FloatArray, IntArray
from ..kernels.term_moments import term_series
from ..kernels.workspace import MOST_TERMS, TERM_TABLE

_FITTED, _CHECKED = 120, 2000  # ranks
# lowest rates, times the number of ranks, and highest ones of the progressions that the search may begin from
_LOWEST, _HIGHEST = (0.5, 0.8, 1.2, 2.0, 3.0), (1.0, 2.0, 3.0, 4.0)
_STEPS = 60
_LEAST = 1e-290
_MOST_WEIGHT = 10.0  # of all terms, over the first discount: more would cancel, and lose digits


def tables_of(discount: FloatArray, longest: IntArray, tol: float) -> dict[int, FloatArray]:
    """Tables of exponentials by the power of two of these numbers of ranks; those that are not to be had are left out.

    ``discount`` must reach one rank beyond each power.
    """
    found = {}
    for power in sorted({int(n - 1).bit_length() for n in np.unique(longest)}):
        table = exponentials(discount[: 2**power + 1], tol)
        if table is not None:
            found[power] = table
    return found


def exponentials(discount: FloatArray, tol: float) -> FloatArray | None:
    """The table that the kernel reads: number of terms, constant; z, 1 - z, weights and rates; room for scales; series.

    The last are those of ``term_series``. Discount and differences are given to a relative ``tol``. None where the
    terms that the kernel takes do not do it.
    """
    return _table(discount.tobytes(), tol)


@lru_cache(maxsize=32)
def _table(discount: bytes, tol: float) -> FloatArray | None:
    with np.errstate(under="ignore"):  # a term may have died out long before the last rank
        found = _terms(np.frombuffer(discount), tol)
    if found is None:
        return None
    constant, weights, rates = found
    table = np.zeros(TERM_TABLE)
    table[:2] = rates.size + rates.size % 2, constant
    parts = table[2 : 2 + 5 * MOST_TERMS].reshape(5, MOST_TERMS)
    parts[:4, : rates.size] = np.exp(-rates), -np.expm1(-rates), weights, rates
    series = table[2 + 5 * MOST_TERMS :].reshape(3, MOST_TERMS, -1)
    series[:, : rates.size] = term_series(parts[0, : rates.size])
    table.flags.writeable = False
    return table


def _terms(discount: FloatArray, tol: float) -> tuple[float, FloatArray, FloatArray] | None:
    """Constant, weights and rates."""
    normal = discount[discount > _LEAST]
    ratios = normal[1:] / normal[:-1]
    if ratios.size > 0 and ratios[0] < 1.0 and np.ptp(ratios) <= 1e-12:  # a geometric discount is one exponential
        return 0.0, discount[:1].copy(), -np.log(ratios[:1])
    falls = -np.diff(discount)
    if falls.size > 0 and not falls.any():  # all ranks count the same
        return float(discount[0]), np.empty(0), np.empty(0)
    if falls.size < 2 or np.any(falls <= 0.0) or discount[-1] <= 0.0:
        return None
    fitted, checked = (
        np.unique(np.geomspace(1, falls.size, most).astype(np.int64)) - 1 for most in (_FITTED, _CHECKED)
    )
    # about as many as 1 / log2(1 + r) takes, and more until it does
    likely = np.log(falls.size) * (0.35 - 0.115 * np.log(tol))
    for n_terms in range(max(6, 2 * int(likely / 2.0)), MOST_TERMS + 1, 2):
        rates = _rates(discount, falls, fitted, n_terms)
        weights = _fit(_design(discount, falls, fitted, rates))
        small = np.abs(weights).sum() <= _MOST_WEIGHT * discount[0]
        if small and _error(_design(discount, falls, checked, rates), weights) <= tol:
            return float(weights[0]), weights[1:], rates
    return None


def _rates(discount: FloatArray, falls: FloatArray, at: IntArray, n_terms: int) -> FloatArray:
    """The best geometric progression of a few, moved to where the weighted squares of the errors are least."""
    from scipy.optimize import least_squares

    def errors(logs: FloatArray) -> FloatArray:
        design = _design(discount, falls, at, np.exp(logs))
        off: FloatArray = scale * (design @ _fit(design) - 1.0)
        return off

    def slopes(logs: FloatArray) -> FloatArray:
        """Of the errors, the weights following the rates to first order (Kaufman 1975)."""
        rates = np.exp(logs)
        design = _design(discount, falls, at, rates)
        basis = np.linalg.qr(design / np.abs(design).max(axis=0))[0]
        later, terms = at[:, None] + 1.0, np.exp(-at[:, None] * rates)
        of_values = -at[:, None] * terms
        of_falls = (of_values + later * terms * np.exp(-rates)) / falls[at, None]
        raw = np.vstack([of_falls, of_values / discount[at, None]]) * (rates * _fit(design)[1:])
        moved: FloatArray = scale * (raw - basis @ (basis.T @ raw))
        return moved

    scale = 1.0
    ends = itertools.product(_LOWEST, _HIGHEST)
    starts = [np.log(np.geomspace(low / falls.size, high, n_terms)) for low, high in ends]
    largest = [float(np.abs(errors(logs)).max()) for logs in starts]
    best = int(np.argmin(largest))
    scale = 1.0 / max(largest[best], 1e-300)
    found = least_squares(errors, starts[best], slopes, max_nfev=_STEPS, ftol=1e-6)
    rates: FloatArray = np.sort(np.exp(found.x))  # the kernel drops the last where documents are above for certain
    return rates


def _design(discount: FloatArray, falls: FloatArray, at: IntArray, rates: FloatArray) -> FloatArray:
    """What each term, the constant first, gives of the falls and of the discount at some ranks."""
    terms = np.exp(-at[:, None] * rates)
    of_falls = np.hstack([np.zeros((at.size, 1)), terms * -np.expm1(-rates) / falls[at, None]])
    of_values = np.hstack([np.ones((at.size, 1)), terms]) / discount[at, None]
    return np.vstack([of_falls, of_values])


def _fit(design: FloatArray) -> FloatArray:
    """The weights by least squares."""
    scale = np.abs(design).max(axis=0)
    weights: FloatArray = np.linalg.lstsq(design / scale, np.ones(len(design)), rcond=1e-15)[0] / scale
    return weights


def _error(design: FloatArray, weights: FloatArray) -> float:
    return float(np.abs(design @ weights - 1.0).max())
