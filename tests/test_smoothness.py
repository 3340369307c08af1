"""Smoothness errors against definitions written out, and the approximation error against a search."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from boostsoft.smoothness import approximation_error, smoothness_error

KINDS = ("variation", "variance", "polynomial")


def curve(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return 0.5 + 0.2 * (1 - np.exp(-np.arange(n) / 10)) + rng.normal(scale=0.01, size=n)


def polynomial_per_window(y, window, degree):
    """Fit a polynomial to every window with NumPy and take it at its middle, at the ends at all points left."""
    half, n = window // 2, len(y)
    total = 0.0
    for i in range(n):
        start = min(max(i - half, 0), n - window)
        places = range(start, start + window)
        fit = np.polyfit([p - i for p in places], [y[p] for p in places], degree)
        total += (y[i] - np.polyval(fit, 0.0)) ** 2
    return total / n


def test_variation_is_the_way_gone_over_the_way_got():
    y = curve().tolist()
    gone = sum(abs(y[i + 1] - y[i]) for i in range(len(y) - 1))
    assert smoothness_error(y, "variation") == pytest.approx(gone / abs(y[-1] - y[0]), rel=1e-12)
    assert smoothness_error(y) == smoothness_error(y, "variation")
    assert smoothness_error([3.0, 1.0, 0.5]) == 1.0
    assert smoothness_error([3.0, 1.0]) == 1.0  # two values are enough


def test_variance_is_that_of_the_differences_over_their_mean():
    y = curve(seed=1)
    steps = [y[i + 1] - y[i] for i in range(len(y) - 1)]
    mean = sum(steps) / len(steps)
    variance = sum((step - mean) ** 2 for step in steps) / len(steps)
    assert smoothness_error(y, "variance") == pytest.approx(variance / abs(mean), rel=1e-9)
    assert smoothness_error(-y, "variance") == pytest.approx(variance / abs(mean), rel=1e-9)
    assert smoothness_error([0.0, 0.5, 1.0, 1.5], "variance") == 0.0


@pytest.mark.parametrize(("window", "degree"), [(11, 3), (5, 2), (7, 1), (3, 0)])
@pytest.mark.parametrize("n", [11, 40])
def test_polynomial_is_the_one_fitted_to_every_window(window, degree, n):
    y = curve(n, seed=2)
    found = smoothness_error(y, "polynomial", window=window, degree=degree)
    assert found == pytest.approx(polynomial_per_window(y, window, degree), rel=1e-9)


@pytest.mark.parametrize(("window", "degree"), [(51, 7), (31, 9), (101, 5), (1001, 3)])
def test_no_error_of_a_polynomial_itself(window, degree):
    x = np.linspace(-1, 1, 2001)
    assert smoothness_error(1 + x - x**2 + 0.5 * x**3, "polynomial", window=window, degree=degree) < 1e-10


@pytest.mark.parametrize(("window", "degree"), [(51, 15), (73, 9), (179, 7), (19, 15), (5001, 4), (201, 6)])
def test_a_degree_that_scipy_cannot_fit_is_refused(window, degree):
    """Of the polynomial above it would find 1e-6 to 6 times the variance, and warn in other words."""
    x = np.linspace(-1, 1, 6001)
    with pytest.raises(
        ValueError, match=f"^smoothness_error: degree must be lower for a window of {window}, .* got {degree}$"
    ):
        smoothness_error(1 + x - x**2 + 0.5 * x**3, "polynomial", window=window, degree=degree)


def test_warnings_are_left_to_the_process(monkeypatch):
    """Their filters are every thread's: two threads that restore them in another order leave all warnings ignored."""
    with monkeypatch.context() as patch:
        patch.setattr("warnings.simplefilter", lambda *_: pytest.fail("filters were changed"))
        assert smoothness_error(curve(60), "polynomial", window=51, degree=7) > 0
        with pytest.raises(ValueError, match="degree must be lower"):
            smoothness_error(curve(60), "polynomial", window=51, degree=15)


def test_polynomial_by_default_is_cubic_over_eleven_points():
    y = curve(seed=3)
    assert smoothness_error(y, "polynomial") == pytest.approx(polynomial_per_window(y, 11, 3), rel=1e-9)
    x = np.linspace(-1, 1, 30)
    assert smoothness_error(x**3 - x, "polynomial") < 1e-28
    assert smoothness_error(x**4, "polynomial") > 1e-9


def test_scale_and_shift():
    y = curve(seed=4)
    assert smoothness_error(3 * y + 7, "variation") == pytest.approx(smoothness_error(y, "variation"), rel=1e-9)
    assert smoothness_error(3 * y + 7, "variance") == pytest.approx(3 * smoothness_error(y, "variance"), rel=1e-9)
    assert smoothness_error(3 * y + 7, "polynomial") == pytest.approx(9 * smoothness_error(y, "polynomial"), rel=1e-9)


@pytest.mark.parametrize("power", [-1000, -600, 600, 1000])
def test_size_does_not_matter(power):
    """Squares beyond the range of floats would be 0 or infinite."""
    y, hard, size = curve(seed=4), curve(seed=5), 2.0**power
    assert smoothness_error(size * y, "variation") == smoothness_error(y, "variation")
    assert smoothness_error(size * y, "variance") == size * smoothness_error(y, "variance")
    with np.errstate(over="ignore"):
        squared = np.float64(size) ** 2
    assert smoothness_error(size * y, "polynomial") == squared * smoothness_error(y, "polynomial")
    error, a, b = approximation_error(y, hard)
    assert approximation_error(size * y, hard) == (error, a / size, b)
    assert approximation_error(y, size * hard) == (squared * error, size * a, size * b)
    largest = [-1.7e308, 1.7e308, 0.0]
    assert smoothness_error(largest) == pytest.approx(3.0)
    assert approximation_error(largest, [-1.0, 1.0, 0.0]).error == pytest.approx(0.0, abs=1e-30)


def test_jumps_are_rougher_than_a_slope():
    smooth = np.linspace(0, 1, 50)
    jumps = np.round(smooth, 1)
    for kind in ("variance", "polynomial"):
        assert smoothness_error(jumps, kind) > smoothness_error(smooth, kind) + 1e-6


def test_a_constant_curve_and_one_that_comes_back():
    for value in (0.0, 0.1):  # .1 has no exact mean
        assert math.isnan(smoothness_error([value] * 20, "variation"))
        assert math.isnan(smoothness_error([value] * 20, "variance"))
        assert smoothness_error([value] * 20, "polynomial") == 0.0
    assert smoothness_error([0.1, 0.7, 0.1], "variation") == math.inf
    assert smoothness_error([0.1, 0.7, 0.1], "variance") == math.inf
    for seed in range(20):  # whose steps add up to no more than rounding
        steps = np.random.default_rng(seed).random(50)
        assert smoothness_error([*steps, steps[0]], "variance") == math.inf


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("y", "error", "says"),
    [
        ([0.1, math.nan, 0.3] * 5, ValueError, "y must be finite; got nan at position 1"),
        ([0.1, math.inf] * 6, ValueError, "y must be finite"),
        (["a"] * 12, TypeError, "y must hold numbers"),
        (np.zeros((12, 2)), ValueError, "one-dimensional"),
        ([], ValueError, "y must not be empty"),
        ([0.1], ValueError, "at least (2|window=11) values; got 1"),
    ],
)
def test_bad_curves(kind, y, error, says):
    with pytest.raises(error, match=f"^smoothness_error: .*{says}"):
        smoothness_error(y, kind)


def test_bad_options():
    with pytest.raises(ValueError, match="kind must be one of 'variation', 'variance', 'polynomial'; got 'cubic'"):
        smoothness_error(curve(), "cubic")
    with pytest.raises(ValueError, match="window must be odd and above degree=3; got 10"):
        smoothness_error(curve(), "polynomial", window=10)
    with pytest.raises(ValueError, match="window must be odd and above degree=5; got 5"):
        smoothness_error(curve(), "polynomial", window=5, degree=5)
    with pytest.raises(ValueError, match="y must have at least window=11 values; got 10"):
        smoothness_error(curve(10), "polynomial")
    with pytest.raises(TypeError, match="degree must be a whole number"):
        smoothness_error(curve(), "polynomial", degree=1.5)


@pytest.mark.parametrize("seed", range(3))
def test_approximation_is_the_least_over_a_and_b(seed):
    rng = np.random.default_rng(seed)
    soft, hard = rng.normal(size=30), rng.normal(size=30)

    def mean_square(ab):
        return np.mean([(ab[0] * s + ab[1] - h) ** 2 for s, h in zip(soft, hard, strict=True)])

    best = minimize(mean_square, [0.0, 0.0], tol=1e-12)
    found = approximation_error(soft, hard)
    assert found.error == pytest.approx(best.fun, rel=1e-9)
    assert (found.a, found.b) == pytest.approx(tuple(best.x), abs=1e-5)
    assert found.error == pytest.approx(mean_square((found.a, found.b)), rel=1e-12)
    slope, height = np.polyfit(soft, hard, 1)
    assert (found.a, found.b) == pytest.approx((slope, height), rel=1e-9)


def test_approximation_by_a_constant_is_the_variance():
    hard = [0.2, 0.5, 0.3]
    error, a, b = approximation_error([0.1] * 3, hard)
    assert a == 0.0
    assert b == pytest.approx(sum(hard) / 3)
    assert error == pytest.approx(np.var(hard))
    assert approximation_error([0.3], [0.7]) == (0.0, 0.0, 0.7)
    assert approximation_error([0.0, 1.0], [0.4, 0.4]) == (0.0, 0.0, 0.4)


def test_approximation_does_not_know_scales():
    rng = np.random.default_rng(5)
    soft, hard = rng.normal(size=20), rng.normal(size=20)
    assert approximation_error(9 * soft - 4, hard).error == pytest.approx(approximation_error(soft, hard).error)
    assert approximation_error(1e8 + soft, hard).error == pytest.approx(approximation_error(soft, hard).error, rel=1e-6)


def test_bad_approximations():
    with pytest.raises(ValueError, match="approximation_error: hard must have one value per step, 3; got 2"):
        approximation_error([1.0, 2.0, 3.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="approximation_error: soft must be finite; got nan at position 0"):
        approximation_error([math.nan, 2.0], [1.0, 2.0])
