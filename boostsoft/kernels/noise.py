"""The three laws of the noise, eight points at a time, to the last digits of float64.

A law gives, at the distance z = (x - s) / sigma of a threshold x from a document's score s:

- ``p``: the probability that the document ends above the threshold, 1 - F(z);
- ``q`` = 1 - p, computed apart, since subtracting from one loses the digits of a small tail;
- ``w`` = f(z), the density;
- ``r`` = -f'(z) / f(z), so that dw/ds = w r (in units of sigma); and its slope enters the Hessian as
- ``r2`` = f''(z) / f(z).

Every one of them keeps its relative accuracy far into the tails.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import erfcx

from .compile import routine
from .simd import ROUNDER, larger, magnitude, polynomial, power_of_two, shifted_exponent, smaller, splat, where_negative

GAUSSIAN, GUMBEL, LOGISTIC = 0, 1, 2
LAWS = {"gaussian": GAUSSIAN, "gumbel": GUMBEL, "logistic": LOGISTIC}

_LN2 = math.log(2.0)
_ROOT_2PI_INVERSE = 1.0 / math.sqrt(2.0 * math.pi)
_LOG2_E = 1.0 / _LN2
_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")


def _exp_coefficients(function: Callable[[Any], Any], degree: int, rate: float = 1.0) -> tuple[float, ...]:
    """Chebyshev fit of function(rate t) for |rate t| <= ln(2) / 2; of exp, degrees 7 and 9 leave 6e-11 and 2e-14."""
    t, half = chebyshev.chebpts1(64), 0.5 * math.log(2.0)
    fit = chebyshev.cheb2poly(chebyshev.chebfit(t, function(half * t), degree))
    return tuple(float(c) * (rate / half) ** i for i, c in enumerate(fit))


def _mills_coefficients(degree: int, centre: float) -> tuple[float, ...]:
    """Chebyshev fit of (z + centre) (1 - Phi(z)) / phi(z) in 1 - 2 centre / (z + centre), for z >= 0.

    After Shepherd and Laframboise 1981; degree 22 and centre 5 leave a relative error of 2e-15.
    """
    t = chebyshev.chebpts1(256)
    z = centre * (1.0 + t) / (1.0 - t)
    mills = math.sqrt(0.5 * math.pi) * erfcx(z * math.sqrt(0.5))
    return tuple(float(c) for c in chebyshev.cheb2poly(chebyshev.chebfit(t, (z + centre) * mills, degree)))


def _mills_fraction(over: int, under: int, farthest: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Polynomials in z whose ratio is (1 - Phi(z)) / phi(z) for 0 <= z <= farthest, positive beyond.

    Least squares of the linear equation under * mills = over, weighted by the solution before (Sanathanan and Koerner
    1963); degrees 4 and 5 up to 7 leave a relative error of 1.1e-9, and none at 0, where pairs of equal scores are.
    """
    first = math.sqrt(0.5 * math.pi)
    z = 0.5 * farthest * (1.0 + chebyshev.chebpts1(512))
    mills = math.sqrt(0.5 * math.pi) * erfcx(z * math.sqrt(0.5))
    powers = z[:, None] ** np.arange(max(over, under) + 1)
    terms = np.hstack((powers[:, 1 : over + 1], -mills[:, None] * powers[:, 1 : under + 1]))
    # odds, the smaller probability over the larger, are off by as much more as the larger is below 1
    larger_side = 1.0 - mills * _ROOT_2PI_INVERSE * np.exp(-0.5 * z * z)
    scale, divisor = np.abs(terms).max(axis=0), np.ones_like(z)
    for _ in range(6):
        weight = 1.0 / (mills * divisor * larger_side)
        found = np.linalg.lstsq(terms / scale * weight[:, None], (mills - first) * weight, rcond=None)[0] / scale
        below = np.append(1.0, found[over:])
        divisor = powers[:, : under + 1] @ below
    return (first, *map(float, found[:over])), tuple(map(float, below))


# the Taylor series, exact to half a unit in the last place at degree 13, and shorter fits
_EXP, _SHORT_EXP = tuple(1.0 / math.factorial(i) for i in range(14)), _exp_coefficients(np.exp, 9)
_BRIEF_GROWTH = _exp_coefficients(lambda t: np.expm1(t) / t, 6)
# exact at 0, as is the fraction of _mills_fraction
_BRIEF_DENSITY = (_ROOT_2PI_INVERSE, *_exp_coefficients(lambda t: _ROOT_2PI_INVERSE * np.exp(t), 7, -0.5)[1:])
_MILLS_CENTRE = 5.0
_MILLS = _mills_coefficients(22, _MILLS_CENTRE)
_BRIEF_OVER, _BRIEF_UNDER = _mills_fraction(4, 5, 7.0)
_LOGARITHM = tuple(2.0 / (2 * i + 1) for i in range(9))  # 2 artanh(s) / s in s^2
_SERIES = tuple((-1.0) ** i / math.factorial(i + 1) for i in range(15))
_FARTHEST = 37.6  # beyond, the density is below the smallest float

_exp, _short_exp = polynomial(_EXP), polynomial(_SHORT_EXP)
_brief_growth, _brief_density = polynomial(_BRIEF_GROWTH), polynomial(_BRIEF_DENSITY)
_mills, _brief_over, _brief_under = polynomial(_MILLS), polynomial(_BRIEF_OVER), polynomial(_BRIEF_UNDER)
_series, _logarithm = polynomial(_SERIES), polynomial(_LOGARITHM)


@routine
def _reduce(x):
    """The two parts of x = n ln 2 + t, |t| <= ln(2) / 2: t and 2^n; arguments beyond float64 count as its ends."""
    x = larger(smaller(x, splat(709.0)), splat(-708.0))
    shifted = x * splat(_LOG2_E) + splat(ROUNDER)
    n = shifted - splat(ROUNDER)
    return x - n * splat(_LN2_HIGH) - n * splat(_LN2_LOW), power_of_two(shifted)


@routine
def exponential(x):
    """Exponentials of eight points; arguments beyond the range of float64 count as its ends."""
    t, scale = _reduce(x)
    return _exp(t) * scale


@routine
def short_exponential(x):
    """The same to a relative 2e-14."""
    t, scale = _reduce(x)
    return _short_exp(t) * scale


@routine
def logarithm(x):
    """Natural logarithms of eight positive normal numbers, to the last digits."""
    shifted = shifted_exponent(x)
    n = shifted - splat(ROUNDER)
    m = x * power_of_two(splat(ROUNDER) - n)
    s = (m - splat(1.0)) / (m + splat(1.0))
    return s * _logarithm(s * s) + n * splat(_LN2)


@routine
def gumbel_odds(e):
    """The odds exp(e) - 1 of the Gumbel law by e = exp(-z) < 700, to a relative 1e-9; w / q is e."""
    shifted = e * splat(_LOG2_E) + splat(ROUNDER)
    t = e - (shifted - splat(ROUNDER)) * splat(_LN2)
    scale = power_of_two(shifted)
    return t * _brief_growth(t) * scale + (scale - splat(1.0))


@routine
def _distance(z):
    return smaller(magnitude(z), splat(_FARTHEST))


@routine
def _gaussian(z):
    size = _distance(z)
    w = exponential(splat(-0.5) * size * size) * splat(_ROOT_2PI_INVERSE)
    inverse = splat(1.0) / (size + splat(_MILLS_CENTRE))
    tail = _mills(splat(1.0) - splat(2.0 * _MILLS_CENTRE) * inverse) * inverse * w
    body = splat(1.0) - tail
    return where_negative(z, body, tail), where_negative(z, tail, body), w, z


@routine
def _brief_normal(size):
    """The density w at distances from 0 to ``_FARTHEST``, and the smaller probability's two parts, over and under."""
    square = size * size
    shifted = square * splat(-0.5 * _LOG2_E) + splat(ROUNDER)
    w = _brief_density(square + (shifted - splat(ROUNDER)) * splat(2.0 * _LN2)) * power_of_two(shifted)
    return w, w * _brief_over(size), _brief_under(size)


@routine
def brief_gaussian(z):
    """Tail and density of the Gaussian law at eight distances, to a relative 2e-9 up to 7 (2e-5 beyond); .5 at 0."""
    w, over, under = _brief_normal(_distance(z))
    tail = over / under
    return where_negative(z, splat(1.0) - tail, tail), w


@routine
def gaussian_odds(z):
    """The odds p / q, and w / q, of the Gaussian law at eight distances, to a relative 2e-9 up to 7."""
    w, over, under = _brief_normal(_distance(z))
    rest = under - over  # the probabilities of both sides, times ``under``
    share = splat(1.0) / where_negative(z, over, rest)
    return where_negative(z, rest, over) * share, w * under * share


@routine
def _gumbel(z):
    e = exponential(splat(0.0) - larger(z, splat(-30.0)))  # beyond, q and w are 0 and inf * 0 would appear
    q = exponential(splat(0.0) - e)
    p = where_negative(e - splat(0.5), e * _series(e), splat(1.0) - q)
    return p, q, e * q, splat(1.0) - e


@routine
def _logistic(z):
    t = exponential(splat(0.0) - magnitude(z))
    body = splat(1.0) / (splat(1.0) + t)
    tail = t * body
    r = (splat(1.0) - t) * body
    return (
        where_negative(z, body, tail),
        where_negative(z, tail, body),
        tail * body,
        where_negative(z, splat(0.0) - r, r),
    )


@routine
def noise(law, z):
    """p, q, w, r of a law at eight distances z, as the module's text defines them."""
    if law == GAUSSIAN:
        return _gaussian(z)
    elif law == GUMBEL:
        return _gumbel(z)
    return _logistic(z)


@routine
def second_ratio(law, w, r):
    """f''/f from the density and r = -f'/f: each law satisfies a differential equation that gives it."""
    if law == GAUSSIAN:
        return r * r - splat(1.0)
    elif law == GUMBEL:
        return r * r + r - splat(1.0)
    return r * r - w - w


@routine
def reach(law, eps):
    """How far left and right of a document its noise still matters: (tail of q, tail of p) below eps."""
    span = -math.log(eps)
    if law == GAUSSIAN:
        return math.sqrt(2.0 * span), math.sqrt(2.0 * span)
    elif law == GUMBEL:
        return math.log(span) + 0.5, span
    return span, span


@routine
def pair_reach(law, eps):
    """The gap beyond which two documents change places with probability (and flow) below eps, or 3 eps if logistic."""
    span = -math.log(eps)
    if law == GAUSSIAN:
        return 2.0 * math.sqrt(span)
    return span + 3.0


@routine
def pair_flow(law, gap):
    """Integral of w_i w_j over x for two documents at this gap: it scales a gradient.

    To a factor of 1.02 for the Gaussian law; for the others of 2 up to a gap of 2.5, and of 6 up to 30.
    """
    if law == GAUSSIAN:
        return 0.28 * math.exp(-0.25 * gap * gap)
    return 0.17 * (1.0 + gap) * math.exp(-gap)
