"""The law of a pair: how likely the noise makes two documents change places, eight pairs at a time.

At a distance d >= 0 of two scores, in units of sigma, ``pair_law`` gives

- ``tail``: the probability that the lower document ends above the higher one;
- ``density``: of the difference of two noises at d, -d tail / dd;
- ``slope``: its derivative, d density / dd, at most 0.

Gaussian: tail = Phi(-d / sqrt(2)). Gumbel: 1 / (1 + exp(d)), the Bradley-Terry law. Logistic: with e = exp(-d),
tail = e (d - 1 + e) / (1 - e)^2, whose terms cancel near d = 0, where a power series serves.
"""

from __future__ import annotations

import math
from fractions import Fraction

from .compile import kernel, routine
from .noise import GAUSSIAN, GUMBEL, exponential, noise
from .simd import larger, smaller, splat, where_negative

SQRT_HALF = math.sqrt(0.5)
LEAST_TAIL = 1e-30  # tails below are left out in metrics of pairs: as far as the noise reaches
_SERIES_TERMS = 13  # below d = 1 a term is at most (1 / 2 pi)^2 of the one before


def _cotangent_series(terms: int) -> list[Fraction]:
    """The coefficients c_n of y coth(y) = sum of c_n y^(2n): the series of cosh(y) over that of sinh(y) / y."""
    series: list[Fraction] = []
    for n in range(terms + 1):
        known = sum((series[m] / math.factorial(2 * (n - m) + 1) for m in range(n)), Fraction(0))
        series.append(Fraction(1, math.factorial(2 * n)) - known)
    return series


# With y = d / 2: 1/2 - tail = (coth(y) - y / sinh(y)^2) / 2 = sum over n >= 1 of n c_n y^(2n - 1)
_COTH = _cotangent_series(_SERIES_TERMS)
_RISE = tuple(float(n * _COTH[n]) for n in range(1, _SERIES_TERMS + 1))
_DENSITY = tuple(float(n * (2 * n - 1) * _COTH[n] / 2) for n in range(1, _SERIES_TERMS + 1))
_SLOPE = tuple(float(n * (2 * n - 1) * (2 * n - 2) * _COTH[n] / 4) for n in range(2, _SERIES_TERMS + 1))


@routine
def gaussian_pair(d):
    """Of Gaussian noise, at distances of either sign."""
    p, _, w, z = noise(GAUSSIAN, d * splat(SQRT_HALF))
    return p, w * splat(SQRT_HALF), splat(-0.5) * w * z


@routine
def _gumbel_pair(d):
    e = exponential(splat(0.0) - d)
    body = splat(1.0) / (splat(1.0) + e)
    tail = e * body
    return tail, tail * body, tail * body * (tail - body)


@routine
def logistic_pair(d):
    """Of logistic noise, at distances up to 745."""
    one = splat(1.0)
    y = smaller(d, one) * splat(0.5)
    square = y * y
    rise, density, slope = splat(_RISE[-1]), splat(_DENSITY[-1]), splat(_SLOPE[-1])
    for i in range(_SERIES_TERMS - 2, -1, -1):
        rise = rise * square + splat(_RISE[i])
        density = density * square + splat(_DENSITY[i])
    for i in range(_SERIES_TERMS - 3, -1, -1):
        slope = slope * square + splat(_SLOPE[i])
    far = larger(d, one)
    e = exponential(splat(0.0) - far)
    inverse = one / (one - e)
    unit = e * inverse * inverse
    near = d - one
    return (
        where_negative(near, splat(0.5) - rise * y, unit * (far - one + e)),
        where_negative(near, density, unit * inverse * (far - splat(2.0) + (far + splat(2.0)) * e)),
        where_negative(
            near,
            slope * y,
            unit * inverse * inverse * (splat(3.0) - far - splat(4.0) * far * e - (far + splat(3.0)) * e * e),
        ),
    )


@kernel
def pair_law(law, d):
    """Tail, density and slope at eight distances d >= 0, as the module's text defines them."""
    if law == GAUSSIAN:
        return gaussian_pair(smaller(d, splat(745.0)))  # 0 times an infinite distance is no number
    elif law == GUMBEL:
        return _gumbel_pair(d)
    return logistic_pair(smaller(d, splat(745.0)))


@kernel
def law_reach(law, eps):
    """The distance beyond which the tail is below eps, or 1.05 eps if logistic."""
    span = -math.log(eps)
    if law == GAUSSIAN:
        return 2.0 * math.sqrt(span)
    return span + math.log(span + 1.0)
