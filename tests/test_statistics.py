"""Paired intervals of two systems, by hand, by SciPy, and by how often they hold the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from boostsoft import query_means, statistics
from boostsoft.statistics import PairedInterval, counted_mean, fill_empty, paired_interval

from .releases import RANDOM

NAN = float("nan")


def test_infinite_values_of_both_systems_tell_nothing_and_warn_of_nothing():
    with np.errstate(all="raise"):
        found = paired_interval([np.inf, np.inf, 0.0], [np.inf, np.inf, 0.0])
        far = paired_interval([1e308, 1e308], [-1e308, -1e308])
    assert np.isnan([found.mean, found.low, found.high]).all()
    assert np.isnan([far.low, far.high]).all()


def test_bootstrap_interval_is_scipys():
    a, b = np.random.default_rng(1).gamma(1.0, size=(2, 80))
    found = paired_interval(a, b, n_boot=40_000)
    wanted = stats.bootstrap(
        (a - b,), np.mean, n_resamples=40_000, method="percentile", **{RANDOM: 2}
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=0.01)


@pytest.mark.parametrize(("level", "low", "high"), [(0.4, 0.5, 0.5), (0.6, 0.0, 1.0)])
def test_bootstrap_of_two_queries_by_hand(level, low, high):
    """Means of two resampled from {0, 1}: 0, 1/2 and 1 with chances 1/4, 1/2, 1/4."""
    found = paired_interval([1.0, 1.0], [1.0, 0.0], level=level)
    assert (found.low, found.high) == (low, high)


def test_coverage():
    """Intervals of a skewed difference hold its mean about as often as they say."""
    rng = np.random.default_rng(3)
    draws = rng.gamma(2.0, size=(600, 60)) - rng.normal(size=(600, 60))
    found = [paired_interval(row, np.zeros(60), level=0.9, n_boot=600, seed=i) for i, row in enumerate(draws)]
    share = np.mean([interval.low <= 2.0 <= interval.high for interval in found])
    assert abs(share - 0.9) < 0.035  # three standard errors of 600 draws


def test_an_end_that_rounding_leaves_is_0():
    """Tenths, whose resampled sums are 0 at the lower percentile: in whole numbers exactly, here but for rounding."""
    a = np.array([9, 9, 8, 0, 6, 9, 9, 8, 7, 4, 9, 10, 7, 6, 10])
    b = np.array([6, 7, 9, 0, 5, 9, 9, 9, 5, 2, 10, 10, 7, 4, 10])
    whole, tenths = paired_interval(a, b, n_boot=2000), paired_interval(a / 10, b / 10, n_boot=2000)
    assert (whole.low, whole.sign) == (0.0, 0)
    assert (tenths.low, tenths.sign) == (0.0, 0)
    assert statistics.without_rounding(np.array([1e-13, 1e-11]), np.ones(1)).tolist() == [0.0, 1e-11]


def test_values_that_rounding_alone_tells_apart_are_equal():
    """As means over seeds are, added up in another order."""
    values = np.random.default_rng(0).random(30)
    found = paired_interval(values * (1 + 1e-15), values)
    assert (found.mean, found.low, found.high, found.sign, found.differing) == (0.0, 0.0, 0.0, 0, 0)
    found = paired_interval(values + 1e-9, values)
    assert (found.sign, found.differing) == (1, 30)


def test_small_values_are_no_rounding():
    """Gains of any size: what rounding leaves is measured by the values themselves."""
    a, b = np.random.default_rng(6).random((2, 30))
    found, small = paired_interval(a, b), paired_interval(a * 2.0**-60, b * 2.0**-60)
    assert [small.mean, small.low, small.high] == [end * 2.0**-60 for end in (found.mean, found.low, found.high)]
    assert (small.sign, small.differing) == (found.sign, 30)


def test_an_infinite_difference_is_no_rounding():
    """A query whose pnr is infinite: nothing is small beside it."""
    found = statistics.without_rounding(np.array([-1.0, np.inf]), np.array([np.inf, -1.0]))
    assert found.tolist() == [-1.0, np.inf]


@pytest.mark.parametrize(("low", "high", "sign"), [(-1, 1, 0), (0, 1, 0), (-1, 0, 0), (0.5, 1, 1), (-1, -0.5, -1)])
def test_an_interval_that_ends_at_0_holds_it(low, high, sign):
    assert PairedInterval(0.5 * (low + high), low, high, 20, 0.95).sign == sign


def test_pairs_that_differ_are_counted():
    """Two hundred queries of which five differ tell no more than five."""
    few = statistics.paired_interval(np.where(np.arange(200) < 5, 0.3, 0.5), np.full(200, 0.5))
    assert (few.n, few.differing, few.sign) == (200, 5, -1)
    assert few.too_few == "in these 200 queries, of which 5 differ, too few to say so of others"
    assert statistics.paired_interval(np.arange(9.0), np.zeros(9)).differing == 8
    assert PairedInterval(0.1, 0.05, 0.2, 9, 0.95).too_few == "in these 9 queries, too few to say so of others"
    assert statistics.paired_interval(np.arange(11.0), np.zeros(11)).too_few == ""
    rounded = np.where(np.arange(200) < 1, 0.3, 0.5 + 1e-16)
    rounded[100:] = np.nextafter(0.5, 1)
    one = statistics.paired_interval(rounded, np.full(200, 0.5))
    assert one.too_few == "in these 200 queries, of which 1 differs, too few to say so of others"


def test_blocks_of_resamples_do_not_matter(monkeypatch):
    a, b = np.random.default_rng(4).normal(size=(2, 40))
    whole = paired_interval(a, b)
    for cells in (7 * 40, 39):  # the latter less than one resample
        monkeypatch.setattr("boostsoft.query_means._COUNTED", cells)
        parts = paired_interval(a, b)
        assert (parts.low, parts.high) == pytest.approx((whole.low, whole.high), abs=1e-12)


def test_many_values_are_not_weighted_anew_for_each_few_resamples(monkeypatch):
    values, read = np.ones((170, 50_000)), []

    def products(drawn, rows):
        read.append(rows.size)
        return plain(drawn, rows)

    plain = query_means._products
    monkeypatch.setattr("boostsoft.query_means._products", products)
    means = query_means.bootstrap_means(values, np.ones(50_000), 350, 0)
    np.testing.assert_array_equal(means, np.ones((350, 170)))
    assert sum(read) == values.size


def test_an_infinite_value_leaves_no_interval():
    found = paired_interval([1.0, np.inf, 3.0], [0.0, 1.0, 2.0])
    assert found.mean == np.inf
    assert np.isnan([found.low, found.high]).all()
    assert found.sign == 0


def test_interval_is_reproducible_and_seeded():
    a, b = np.random.default_rng(5).normal(size=(2, 30))
    assert paired_interval(a, b) == paired_interval(a, b, level=0.95, n_boot=10_000, seed=0)
    assert paired_interval(a, b) != paired_interval(a, b, seed=1)


def test_empty_queries_are_left_out_of_the_pairs():
    found = paired_interval([0.5, NAN, 0.25, 1.0], [0.25, NAN, 0.25, 0.5])
    assert found == paired_interval([0.5, 0.25, 1.0], [0.25, 0.25, 0.5])
    assert (found.mean, found.n) == (0.25, 3)


def test_less_than_two_pairs_say_nothing():
    one = paired_interval([1.0, NAN], [0.5, NAN])
    assert (one.mean, one.low, one.high, one.sign) == (0.5, -np.inf, np.inf, 0)
    assert np.isnan(paired_interval([NAN], [NAN]).mean)


@pytest.mark.parametrize(
    ("a", "b", "options", "message"),
    [
        ([1, 2], [1], {}, r"equally long; got \(2,\) and \(1,\)"),
        ([[1]], [[1]], {}, "one-dimensional"),
        ([1, NAN], [1, 2], {}, "query 1 must be NaN in both or in neither"),
        ([1], [1], {"level": 1.0}, "level must be below 1"),
        ([1], [1], {"n_boot": 19}, "paired_interval: n_boot must be from 20 "),
        ([[1], [2, 3]], [1, 2], {}, "paired_interval: a must be an array; got "),
        ([1, 2], ["x", "y"], {}, "paired_interval: b must hold numbers; got dtype <U1"),
        ([1, 2], [None, 1], {}, "paired_interval: b must hold numbers; got dtype object, None at position 0"),
        ([1, 2], np.ma.masked_less([1, 2], 2), {}, "paired_interval: b must not have masked entries"),
        ([1, 2], [2, 1], {"seed": -1}, "paired_interval: seed must be from 0 "),
        ([1, 2], [2, 1], {"seed": "x"}, "paired_interval: seed must be a whole number; got 'x'"),
    ],
)
def test_bad_arguments(a, b, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        paired_interval(a, b, **options)


def test_empty_queries_count_as_told():
    values = np.array([0.5, NAN])
    assert fill_empty(values, "zero").tolist() == [0.5, 0.0]
    assert fill_empty(values, "one").tolist() == [0.5, 1.0]
    assert [counted_mean(fill_empty(values, rule)) for rule in ("zero", "skip", "one")] == [0.25, 0.5, 0.75]
    assert np.isnan(counted_mean(np.array([NAN])))
