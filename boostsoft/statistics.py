"""How far apart two systems are on the same queries, and how sure that is.

Per-query values are NaN where a query has no relevant document, so that one array serves every convention of how
such queries count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .arguments import FloatArray, fraction, real_numbers, whole_number
from .metrics.spec import EMPTY
from .query_means import bootstrap_means, central

__all__ = ["PairedInterval", "paired_interval"]

N_BOOT = 1000  # resamples of bands and percentiles, unless told
LEAST_RESAMPLES = 20
_FEW_PAIRS = 10  # with fewer, and no difference, an interval of percentiles leaves out 0 up to half of the time
_ROUNDING = 1e-12  # of the largest


@dataclass(frozen=True)
class PairedInterval:
    """The mean difference of two systems with its confidence interval.

    Attributes
    ----------
    mean, low, high : float
        The mean of the differences and the ends of its interval, which are infinite with fewer than two pairs and NaN
        if a value is infinite.
    n : int
        Number of pairs.
    level : float
        Share of such intervals that hold the true mean. Of percentiles over few pairs it is less: at .95 some .92 with
        20 pairs, .9 with 10, .83 with 5.
    differing : int, optional
        Number of pairs whose values differ: the others make no interval wider.
    """

    mean: float
    low: float
    high: float
    n: int
    level: float
    differing: int | None = None

    @property
    def sign(self) -> int:
        """1 if the interval is above 0, -1 if it is below, 0 if it holds 0."""
        return int(self.low > 0) - int(self.high < 0)

    @property
    def too_few(self) -> str:
        """What is said where fewer than 10 pairs differ, which may show what is not so of others; "" with more."""
        differing = self.n if self.differing is None else self.differing
        if differing >= _FEW_PAIRS:
            return ""
        differ = "differs" if differing == 1 else "differ"
        which = f", of which {differing} {differ}" if differing < self.n else ""
        return f"in these {self.n} queries{which}, too few to say so of others"


def paired_interval(
    a: ArrayLike,
    b: ArrayLike,
    *,
    level: float = 0.95,
    n_boot: int = 10_000,
    seed: int = 0,
) -> PairedInterval:
    """Confidence interval of the mean of ``a - b`` over the queries that both were measured on.

    (:func:`boostsoft.compare` tells ``b - a``.) Percentiles of the mean over resampled queries (Efron 1979).

    Parameters
    ----------
    a, b : (n_queries,)
        One value per query and system; queries that are NaN in both are left out. Values that agree to 1e-12 of the
        largest are equal.
    level : float
        Confidence level, in (0, 1).
    n_boot : int
        Number of resamples, 20 at least. Of few the ends are too narrow: at .95 those of 20 hold .87, of 100 .93, of
        1,000 .95 where queries are many.
    seed : int
        Seed of the resampling.

    Raises
    ------
    TypeError, ValueError
        If the shapes differ, a query is NaN in one system only, or an option is not as described.

    Examples
    --------
    >>> from boostsoft.statistics import paired_interval
    >>> interval = paired_interval([0.6, 0.8, 0.7, 0.9], [0.5, 0.6, 0.5, 0.8])
    >>> round(interval.mean, 6), interval.n, interval.sign
    (0.15, 4, 1)
    """
    caller = "paired_interval"
    differences = _differences(caller, a, b)
    level, n_boot = fraction(caller, "level", level), check_resamples(caller, n_boot)
    seed = whole_number(caller, "seed", seed, 0)
    n = differences.size
    if n < 2:
        mean = float(differences[0]) if n else float("nan")
        return PairedInterval(mean, -np.inf, np.inf, n, level)
    with np.errstate(invalid="ignore"):  # infinite values of both signs
        mean = float(differences.mean())
    if not np.isfinite(differences).all():
        return PairedInterval(mean, np.nan, np.nan, n, level)
    ends = central(bootstrap_means(differences[None], np.ones(n), n_boot, seed)[:, 0], level)
    low, high = without_rounding(ends, differences)
    differing = int(np.count_nonzero(without_rounding(differences, differences)))
    return PairedInterval(mean, float(low), float(high), n, level, differing)


def without_rounding(sums: FloatArray, terms: FloatArray) -> FloatArray:
    """Sums, means or differences of terms, 0 where rounding alone is left: tenths, as of precision@10, often give 0.

    >>> d = np.array([0.3, -0.1, -0.2]) + 0.5 - 0.5
    >>> bool(d.sum() == 0), float(without_rounding(d.sum(), d))
    (False, 0.0)
    """
    largest = float(np.abs(terms).max(initial=0.0))
    return np.where(np.abs(sums) <= _ROUNDING * largest, 0.0, sums) if np.isfinite(largest) else sums


def check_resamples(caller: str, n_boot: Any) -> int:
    """A number of resamples, at least 20: the percentiles of fewer could leave out the estimate itself."""
    return whole_number(caller, "n_boot", n_boot, LEAST_RESAMPLES)


def fill_empty(values: FloatArray, empty: str) -> FloatArray:
    """Per-query values with the queries without a relevant document counted as ``"zero"``, ``"one"`` or NaN.

    >>> fill_empty(np.array([0.5, np.nan]), "one")
    array([0.5, 1. ])
    """
    return np.where(np.isnan(values), EMPTY[empty], values)


def counted_mean(values: FloatArray) -> float:
    """Mean over the queries that are not NaN; NaN if there is none."""
    counted = values[~np.isnan(values)]
    return float(counted.mean()) if counted.size else float("nan")


def _differences(caller: str, a: ArrayLike, b: ArrayLike) -> FloatArray:
    first, second = _values(caller, "a", a), _values(caller, "b", b)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(
            f"{caller}: a and b must be one-dimensional and equally long; got {first.shape} and {second.shape}"
        )
    one_sided = np.isnan(first) != np.isnan(second)
    if one_sided.any():
        raise ValueError(f"{caller}: query {int(one_sided.argmax())} must be NaN in both or in neither")
    counted = ~np.isnan(first)
    with np.errstate(over="ignore", invalid="ignore"):  # of infinite values
        differences = (first - second)[counted]
    return without_rounding(differences, np.array([first[counted], second[counted]]))


def _values(caller: str, argument: str, values: ArrayLike) -> FloatArray:
    return real_numbers(caller, argument, values).astype(np.float64)


def __dir__() -> list[str]:
    return __all__  # completion is not to offer what this is made of
