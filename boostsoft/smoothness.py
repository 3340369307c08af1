"""How smooth a curve is, and how closely a smooth curve follows a hard one."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.polynomial import chebyshev
from scipy.signal import savgol_coeffs, savgol_filter

from .arguments import FloatArray, finite_vector, one_of, whole_number
from .choices import Smoothness

__all__ = ["ApproximationError", "approximation_error", "smoothness_error"]

_MOST_LOST = 1e-6  # of a polynomial between -1 and 1
KINDS = get_args(Smoothness)


class ApproximationError(NamedTuple):
    """How far a soft curve is from the hard one, once brought to its scale.

    Parameters
    ----------
    error : float
        The mean squared error of ``a * soft + b`` as a guess of the hard curve.
    a, b : float
        Those that make it least.
    """

    error: float
    a: float
    b: float


def smoothness_error(y: Any, kind: Smoothness = "variation", *, window: int = 11, degree: int = 3) -> float:
    r"""How far a curve is from smooth (Levkov 2017); less is smoother.

    Of a curve y_1, ..., y_n at even steps, with differences dy_i = y_(i+1) - y_i:

    - ``"variation"``: sum \|dy\| / \|y_n - y_1\|, the way it goes for the way it gets; 1 if it never turns back. It
      has no unit.
    - ``"variance"``: var(dy) / \|mean(dy)\|, the mean squared deviation of the differences over their mean; 0 for a
      straight line. In units of y.
    - ``"polynomial"``: mean of (y_i - p_i)^2, where p_i is the polynomial of ``degree`` that fits the ``window``
      points around i best (Savitzky and Golay 1964), at point i; the first and last half windows are compared with
      the polynomial of the first and last whole one. 0 for a polynomial. In squared units of y.

    Parameters
    ----------
    y : (n,)
        The curve: a metric after each tree, say. At least 2 values, and at least ``window`` for ``"polynomial"``.
    kind : "variation", "variance" or "polynomial"
        Which error.
    window : int
        Points that a polynomial is fitted to: an odd number above ``degree``. Of ``"polynomial"`` only.
    degree : int
        Of the polynomial, from 0; above 3 not in very long windows, above 5 in short ones only, where it is fitted to
        1e-6 of its height. Of ``"polynomial"`` only.

    Returns
    -------
    float
        At least 0. Infinite for ``"variation"`` and ``"variance"`` if the curve ends where it began and moves in
        between; NaN for both if it is constant (0 / 0); ``"polynomial"`` is 0 then.

    Raises
    ------
    TypeError, ValueError
        If y is not a vector of finite numbers, is too short, or window or degree are out of range.

    Notes
    -----
    The first two divide by how far the curve gets in all, so that they compare curves only where both get somewhere;
    the last does not, and grows with the square of the curve's height. A soft metric may be smooth because it hardly
    moves: see :func:`approximation_error`.

    Examples
    --------
    >>> from boostsoft import smoothness_error
    >>> smoothness_error([0.0, 2.0, 1.0, 4.0])  # (2 + 1 + 3) / 4
    1.5
    >>> smoothness_error([0.0, 1.0, 4.0], "variance")  # differences 1 and 3: variance 1, mean 2
    0.5
    >>> round(smoothness_error([0.0, 1.0, 0.0], "polynomial", window=3, degree=1), 6)  # the best line is at 1 / 3
    0.222222
    """
    caller = "smoothness_error"
    one_of(caller, "kind", kind, KINDS)
    curve, exponent = _in_unit(finite_vector(caller, "y", y))
    if kind == "polynomial":
        return _back(_polynomial(caller, curve, window, degree), 2 * exponent)
    if curve.size < 2:
        raise ValueError(f"{caller}: y must have at least 2 values; got {curve.size}")
    steps = np.diff(curve)
    if not steps.any():
        return float("nan")
    if kind == "variation":
        return _ratio(float(np.abs(steps).sum()), abs(float(curve[-1] - curve[0])))
    mean = float(curve[-1] - curve[0]) / steps.size  # their sum without its rounding
    return _back(_ratio(float(((steps - mean) ** 2).mean()), abs(mean)), exponent)


def approximation_error(soft: Any, hard: Any) -> ApproximationError:
    r"""How closely a soft curve follows a hard one, up to its height and scale (Levkov 2017).

    The least mean of (a soft_i + b - hard_i)^2 over all a and b, in closed form: with deviations s and h from the
    means, a = sum s h / sum s^2, b = mean(hard) - a mean(soft), error = mean (a s - h)^2, which is the variance of
    the hard curve times 1 - r^2, r being the correlation of both.

    Parameters
    ----------
    soft, hard : (n,)
        The two metrics at the same points: after each tree, or along a blend's weight.

    Returns
    -------
    ApproximationError
        ``error``, ``a`` and ``b``; in squared units of the hard metric, without, and in units of it. A soft curve
        that is constant has a = 0: its error is the variance of the hard one. A hard curve that is constant has a = 0
        and error 0. ``a`` is below 0 where soft falls as hard rises.

    Raises
    ------
    TypeError, ValueError
        If either is not a vector of finite numbers, is empty, or they differ in length.

    Examples
    --------
    >>> from boostsoft import approximation_error
    >>> approximation_error([0.0, 1.0, 2.0], [1.0, 3.0, 5.0])
    ApproximationError(error=0.0, a=2.0, b=1.0)
    >>> error, a, b = approximation_error([0.0, 1.0, 2.0], [0.0, 1.0, 0.0])  # the best line is flat, at 1 / 3
    >>> round(error, 6), round(a, 6), round(b, 6)
    (0.222222, 0.0, 0.333333)
    """
    caller = "approximation_error"
    smooth, of_soft = _in_unit(finite_vector(caller, "soft", soft))
    rough, of_hard = _in_unit(finite_vector(caller, "hard", hard, smooth.size, "step"))
    # counted from the first value, so that a constant curve deviates by exactly 0
    moves, jumps = smooth - smooth[0], rough - rough[0]
    moves, jumps = moves - moves.mean(), jumps - jumps.mean()
    squares = float(moves @ moves)
    a = float(moves @ jumps) / squares if squares > 0 else 0.0
    error = float(((a * moves - jumps) ** 2).mean())
    b = float(rough.mean()) - a * float(smooth.mean())
    return ApproximationError(_back(error, 2 * of_hard), _back(a, of_hard - of_soft), _back(b, of_hard))


def _in_unit(curve: FloatArray) -> tuple[FloatArray, int]:
    """A curve in units of 2^exponent, between -1 and 1, and the exponent: squares neither over- nor underflow."""
    exponent = int(np.frexp(np.abs(curve).max())[1])
    return np.ldexp(curve, -exponent), exponent


def _back(value: float, exponent: int) -> float:
    """What is value units of 2^exponent; infinite where that is more than the largest float."""
    with np.errstate(over="ignore"):
        return float(np.ldexp(value, exponent))


def _polynomial(caller: str, curve: FloatArray, window: int, degree: int) -> float:
    degree = whole_number(caller, "degree", degree, 0)
    window = whole_number(caller, "window", window, 1)
    if window % 2 == 0 or window <= degree:
        raise ValueError(f"{caller}: window must be odd and above degree={degree}; got {window}")
    if curve.size < window:
        raise ValueError(f"{caller}: y must have at least window={window} values; got {curve.size}")
    _refuse_lost_digits(caller, window, degree)
    centred = curve - curve[0]  # a constant curve is then exactly its own polynomial
    return float(((centred - savgol_filter(centred, window, degree)) ** 2).mean())


def _refuse_lost_digits(caller: str, window: int, degree: int) -> None:
    """SciPy fits powers of the place in a window, which tell themselves hardly apart where they are many and high."""
    probe = chebyshev.chebvander(np.linspace(-1.0, 1.0, window), degree)
    places = np.arange(window)
    fit = np.polyfit(places, probe, degree, full=True)[0]  # SciPy's at both ends, but NumPy does not warn
    ends = np.polyval(fit, places[:, None]) - probe
    middle = savgol_coeffs(window, degree, use="dot") @ probe - probe[window // 2]
    off = max(np.abs(ends).max(), np.abs(middle).max())
    if not off <= _MOST_LOST:
        raise ValueError(
            f"{caller}: degree must be lower for a window of {window}, where rounding moves fitted polynomials of that "
            f"degree by up to {off:.0e} of their range; got {degree}"
        )


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator > 0 else float("inf")


def __dir__() -> list[str]:
    return __all__  # completion is not to offer what this is made of
