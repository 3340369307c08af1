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

from numpy.polynomial import chebyshev
from scipy.special import erfcx

from .compile import inlined, kernel
from .simd import larger, nearest, power_of_two, smaller, splat, where_negative

GAUSSIAN, GUMBEL, LOGISTIC = 0, 1, 2
LAWS = {"gaussian": GAUSSIAN, "gumbel": GUMBEL, "logistic": LOGISTIC}

# exp(t) for |t| <= ln(2)/2: the Taylor series, exact to half a unit in the last place at degree 13
_EXP = tuple(1.0 / math.factorial(i) for i in range(14))
_LOG2_E = 1.0 / math.log(2.0)
_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")


def _mills_coefficients(degree: int, centre: float) -> tuple[float, ...]:
    """Chebyshev fit of (1 + 2 y) erfcx(y) in t = (y - centre) / (y + centre) (Shepherd and Laframboise 1981)."""
    t = chebyshev.chebpts1(256)
    y = centre * (1.0 + t) / (1.0 - t)
    fit = chebyshev.chebfit(t, (1.0 + 2.0 * y) * erfcx(y), degree)
    return tuple(float(c) for c in chebyshev.cheb2poly(fit))


_MILLS_CENTRE = 3.75
_MILLS = _mills_coefficients(22, _MILLS_CENTRE)
_SQRT_HALF = math.sqrt(0.5)
_ROOT_2PI_INVERSE = 1.0 / math.sqrt(2.0 * math.pi)
_SERIES = tuple((-1.0) ** i / math.factorial(i + 1) for i in range(15))


@inlined
def exponential(x):
    """Exponentials of eight points; arguments beyond the range of float64 count as its ends."""
    x = larger(smaller(x, splat(709.0)), splat(-708.0))
    n = nearest(x * splat(_LOG2_E))
    t = x - n * splat(_LN2_HIGH) - n * splat(_LN2_LOW)
    total = splat(_EXP[13])
    for i in range(12, -1, -1):
        total = total * t + splat(_EXP[i])
    return total * power_of_two(n)


@inlined
def _gaussian(z):
    size = smaller(larger(z, splat(0.0) - z), splat(38.0))  # beyond, the density is below the smallest float
    w = exponential(splat(-0.5) * size * size) * splat(_ROOT_2PI_INVERSE)
    y = size * splat(_SQRT_HALF)
    inverse = splat(1.0) / ((y + splat(_MILLS_CENTRE)) * (splat(1.0) + y + y))
    t = (y - splat(_MILLS_CENTRE)) * (splat(1.0) + y + y) * inverse
    total = splat(_MILLS[22])
    for i in range(21, -1, -1):
        total = total * t + splat(_MILLS[i])
    # tail = erfc(y) / 2 = exp(-y^2) erfcx(y) / 2, and exp(-y^2) = w sqrt(2 pi)
    tail = total * (y + splat(_MILLS_CENTRE)) * inverse * w * splat(0.5 / _ROOT_2PI_INVERSE)
    body = splat(1.0) - tail
    return where_negative(z, body, tail), where_negative(z, tail, body), w, z


@inlined
def _gumbel(z):
    e = exponential(splat(0.0) - larger(z, splat(-30.0)))  # beyond, q and w are 0 and inf * 0 would appear
    q = exponential(splat(0.0) - e)
    total = splat(_SERIES[14])
    for i in range(13, -1, -1):
        total = total * e + splat(_SERIES[i])
    p = where_negative(e - splat(0.5), e * total, splat(1.0) - q)
    return p, q, e * q, splat(1.0) - e


@inlined
def _logistic(z):
    t = exponential(splat(0.0) - larger(z, splat(0.0) - z))
    body = splat(1.0) / (splat(1.0) + t)
    tail = t * body
    r = (splat(1.0) - t) * body
    return (
        where_negative(z, body, tail),
        where_negative(z, tail, body),
        tail * body,
        where_negative(z, splat(0.0) - r, r),
    )


@kernel
def noise(law, z):
    """p, q, w, r of a law at eight distances z, as the module's text defines them."""
    if law == GAUSSIAN:
        return _gaussian(z)
    elif law == GUMBEL:
        return _gumbel(z)
    return _logistic(z)


@inlined
def second_ratio(law, w, r):
    """f''/f from the density and r = -f'/f: each law satisfies a differential equation that gives it."""
    if law == GAUSSIAN:
        return r * r - splat(1.0)
    elif law == GUMBEL:
        return r * r + r - splat(1.0)
    return r * r - w - w


@kernel
def reach(law, eps):
    """How far left and right of a document its noise still matters: (tail of q, tail of p) below eps."""
    span = -math.log(eps)
    if law == GAUSSIAN:
        return math.sqrt(2.0 * span), math.sqrt(2.0 * span)
    elif law == GUMBEL:
        return math.log(span) + 0.5, span
    return span, span


@kernel
def pair_reach(law, eps):
    """The gap beyond which two documents change places with probability (and flow) below eps."""
    span = -math.log(eps)
    if law == GAUSSIAN:
        return 2.0 * math.sqrt(span)
    return span + 3.0


@kernel
def pair_flow(law, gap):
    """Integral of w_i w_j over x for two documents at this gap, to a factor of 2: it scales a gradient."""
    if law == GAUSSIAN:
        return 0.28 * math.exp(-0.25 * gap * gap)
    return 0.17 * (1.0 + gap) * math.exp(-gap)
