"""Statistics of one metric of two systems on the same queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from ..arguments import FloatArray
from ..query_means import (
    bootstrap_means,
    central,
    counted_weights,
    degrees_of_freedom,
    mean_error,
    moved,
    weighted_means,
)
from ..statistics import without_rounding

_RANKED = 9  # decimals of the largest difference: .3 - .2 and .1 - 0 have one rank, which rounding would part
_BLOCKS = 10_000  # at least, where samples are drawn by blocks: twice as many queries and more
_SHARED = 20  # samples that are drawn by the same blocks
_RESAMPLING = 0.8  # of the time, about; samples take the rest


@dataclass(frozen=True)
class Resampling:
    """What all rows of a table share.

    Attributes
    ----------
    level : confidence of the intervals; the tests' level is 1 - ``level``.
    power : chance to find the difference that ``queries_needed`` is for.
    n_boot, seed : resamples, and where they begin.
    small : queries of a small sample.
    """

    level: float
    power: float
    n_boot: int
    seed: int
    small: int


@dataclass(frozen=True, eq=False)
class Paired:
    """The differences of two systems in one metric, query by query, and what they were resampled to.

    Attributes
    ----------
    means : (2,) of both systems.
    differences : (n,) b - a of the queries that count, 0 where they differ by rounding alone.
    weights : (n,) of these queries.
    boot : (n_boot,) mean differences over resampled queries.
    boot_effect : (n_boot,) the same over their standard errors, up to a factor that all metrics share.
    samples : (2, n_boot) weighted sums of the differences over half of the queries, and over a small sample.
    """

    means: FloatArray
    differences: FloatArray
    weights: FloatArray
    boot: FloatArray
    boot_effect: FloatArray
    samples: FloatArray

    @property
    def n(self) -> int:
        """Number of queries that count."""
        return int(self.differences.size)

    @property
    def difference(self) -> float:
        """Weighted mean of the differences."""
        return float(without_rounding(weighted_means(self.differences[None], self.weights)[0], self.differences))

    @property
    def error(self) -> float:
        """Its standard error; NaN with fewer than two queries, exactly 0 if all differ by the same."""
        error = mean_error(self.differences, self.weights)
        return 0.0 if error <= 1e-12 * abs(self.difference) else error  # what rounding leaves of equal numbers

    @property
    def identical(self) -> bool:
        """Whether no query differs."""
        return not self.differences.any()

    @property
    def effect(self) -> float:
        """Mean over standard deviation of the differences: the t statistic of one query."""
        return _over(self.difference, self.error * np.sqrt(self.n))

    def sign_kept(self, sums: FloatArray, reference: float) -> float:
        """Share of samples that agree in sign with the reference; a sample of 0 counts half."""
        if reference == 0 or np.isnan(reference):
            return np.nan
        sums = without_rounding(sums, self.differences)
        return float(np.where(sums == 0, 0.5, np.sign(sums) == np.sign(reference)).mean())


def pair_all(
    values: Sequence[tuple[FloatArray, FloatArray]],
    weights: FloatArray,
    plan: Resampling,
    tell: Callable[[float], None],
) -> list[Paired]:
    """Compare pairs of values, each (n_queries,) and NaN in both where a query does not count.

    Drawing takes most of the time, so that pairs in which the same weights count are resampled together. ``tell`` hears
    what share is done.
    """
    counted = [counted_weights(a, weights) for a, _ in values]
    differing = [_differences(a, b, each) for (a, b), each in zip(values, counted, strict=True)]
    alike: dict[bytes, list[int]] = {}
    for at, (_, kept) in enumerate(differing):
        alike.setdefault(kept.tobytes(), []).append(at)
    found: dict[int, Paired] = {}
    for done, places in enumerate(alike.values()):
        kept = differing[places[0]][1]
        rows = np.stack([differing[at][0] for at in places])
        ends = np.array([done, done + _RESAMPLING, done + 1]) / len(alike)
        resampled = _resampled(rows, kept, plan, _within(tell, *ends[:2]))
        samples = _sample_sums(kept * rows, plan, _within(tell, *ends[1:]))
        drawn = zip(places, rows, *resampled, samples, strict=True)
        for at, differences, boot, effect, samples in drawn:
            means = weighted_means(np.stack(values[at]), counted[at])
            found[at] = Paired(means, differences, kept, boot, effect, samples)
    return [found[at] for at in range(len(values))]


def _within(tell: Callable[[float], None], begin: float, end: float) -> Callable[[float], None]:
    return lambda share: tell(begin + share * (end - begin))


def sample_sizes(n: int, plan: Resampling) -> tuple[int, int]:
    """Queries of both kinds of samples of n queries; one that is larger than n cannot be drawn."""
    return n // 2, plan.small


def _differences(a: FloatArray, b: FloatArray, counted: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of the queries that count b - a, 0 where that is rounding, and their weights."""
    at = np.flatnonzero(counted > 0)
    size = max(1.0, float(np.abs([a[at], b[at]]).max(initial=0.0)))
    return moved(a[at], b[at], size), counted[at]


def _resampled(
    differences: FloatArray, weights: FloatArray, plan: Resampling, tell: Callable[[float], None]
) -> tuple[FloatArray, FloatArray]:
    """Means of each row over resampled queries, and these over their standard errors but for a factor that all share.

    Both (n_rows, n_boot). The error is the root of sum w^2 (d - mean)^2 over the sum of w, as :func:`mean_errors` has
    it; a mean of w x is the sum of w^2 x over the sum of w, whose root is the factor.
    """
    rows = np.concatenate([differences, weights * differences**2, weights * differences, weights[None]])
    *moments, weight = bootstrap_means(rows, weights, plan.n_boot, plan.seed, tell).T
    mean, squares, cross = np.split(np.array(moments), 3)
    mean = np.stack([without_rounding(*row) for row in zip(mean, differences, strict=True)])
    error = np.sqrt(np.maximum(squares - 2 * mean * cross + mean**2 * weight, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):  # resamples of equal differences
        return mean, mean / error


def _sample_sums(shares: FloatArray, plan: Resampling, tell: Callable[[float], None]) -> FloatArray:
    """Sums of each row over samples of :func:`sample_sizes`, drawn without replacement; (n_rows, 2, n_boot)."""
    n_rows, n = shares.shape
    rng, sizes = np.random.default_rng(plan.seed), sample_sizes(n, plan)
    width = n // _BLOCKS
    if width > 1 and max(sizes) < n - n % width:
        return _block_sums(shares, sizes, width, rng, plan.n_boot, tell)
    sums = np.empty((n_rows, len(sizes), plan.n_boot))
    for draw in range(plan.n_boot):
        drawn = shares.take(rng.permutation(n)[: max(sizes)], axis=1)
        for at, size in enumerate(sizes):
            sums[:, at, draw] = drawn[:, :size].sum(axis=1)
        tell((draw + 1) / plan.n_boot)
    return sums


def _block_sums(
    shares: FloatArray,
    sizes: Sequence[int],
    width: int,
    rng: np.random.Generator,
    n_boot: int,
    tell: Callable[[float], None],
) -> FloatArray:
    """The same for many queries: those of blocks of ``width``, and of the first of one more block.

    Queries are shuffled and cut into blocks, and blocks are shuffled, so that a sample is any of its size with the
    same chance. Samples of one shuffle of the queries share their blocks: of given blocks the deviation of a sum is as
    it is over all shuffles but for one part in 140, the root of twice 10,000, which moves a share by .0017 at most,
    and every few samples are of another shuffle. Shuffling all of 200,000 queries for each took ten times as long.
    """
    n_rows, n = shares.shape
    n_blocks, parts = n // width, [divmod(size, width) for size in sizes]
    sums = np.empty((n_rows, len(sizes), n_boot))
    for draw in range(n_boot):
        if draw % _SHARED == 0:
            shuffled = shares.take(rng.permutation(n)[: n_blocks * width], axis=1).reshape(n_rows, n_blocks, width)
            whole, begun = shuffled.sum(axis=2), [shuffled[:, :, :rest].sum(axis=2) for _, rest in parts]
        order = rng.permutation(n_blocks)
        drawn = whole.take(order[: max(sizes) // width], axis=1)
        for at, (full, _) in enumerate(parts):
            sums[:, at, draw] = drawn[:, :full].sum(axis=1) + begun[at][:, order[full]]
        tell((draw + 1) / n_boot)
    return sums


def significance(paired: Paired) -> tuple[float, float, float]:
    """The t statistic, its two-sided p-value, and Wilcoxon's signed-rank test's.

    NaN if no query differs or there are fewer than two; Wilcoxon's also if queries differ in weight, which it does not
    know.
    """
    if paired.identical or paired.n < 2:
        return np.nan, np.nan, np.nan
    t = _over(paired.difference, paired.error)
    ranked = np.nan
    if (paired.weights == paired.weights[0]).all():
        from scipy import stats  # takes most of a second to load

        sizes = np.round(paired.differences / np.abs(paired.differences).max(), _RANKED)
        ranked = float(stats.wilcoxon(sizes[sizes != 0]).pvalue)
    return t, float(2 * special.stdtr(degrees_of_freedom(paired.weights), -abs(t))), ranked


def interval(paired: Paired, level: float) -> tuple[float, float]:
    """Percentiles of the mean over resampled queries; infinite with fewer than two."""
    if paired.n < 2:
        return -np.inf, np.inf
    low, high = without_rounding(central(paired.boot, level), paired.differences)
    return float(low), float(high)


def queries_needed(effect: float, level: float, power: float) -> float:
    """((z(1 - alpha / 2) + z(power)) / effect)^2, rounded up, at least 2; infinite without an effect, NaN if unknown.

    The number of queries with which a two-sided test at alpha = 1 - level finds a difference of this mean over its
    standard deviation with the chance ``power``, the mean being normally distributed.

    >>> queries_needed(0.1, 0.95, 0.8), queries_needed(-0.1, 0.95, 0.8), queries_needed(0.0, 0.95, 0.8)
    (785.0, 785.0, inf)
    """
    if effect == 0:
        return np.inf
    reach = float(special.ndtri((1 + level) / 2) + special.ndtri(power))
    with np.errstate(over="ignore"):
        return np.nan if np.isnan(effect) else max(float(np.ceil(np.square(reach / effect))), 2.0)


def gain(paired: Paired, hard: Paired, level: float) -> tuple[float, float, float]:
    """How many times the hard metric's effect this one has, and the interval of that over the same resamples.

    An effect over none may be of either sign, whichever system is the first: half of such resamples count as infinite,
    half as minus that.
    """
    if paired.n != hard.n or paired.n < 2:
        return np.nan, np.nan, np.nan
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 in every resample, if either does not differ
        ratios = paired.boot_effect / hard.boot_effect
    either = (hard.boot_effect == 0) & ~np.isnan(ratios)
    ratios = np.concatenate(
        [np.repeat(ratios[~np.isnan(ratios) & ~either], 2), np.tile([-np.inf, np.inf], either.sum())]
    )
    if ratios.size == 0:
        return np.nan, np.nan, np.nan
    low, high = central(ratios, level, "inverted_cdf")
    return np.nan if hard.effect == 0 else _over(paired.effect, hard.effect), float(low), float(high)


def _over(value: float, by: float) -> float:
    """A quotient with 0 / 0 = NaN and an infinite one of other numbers by 0."""
    if by == 0:
        return np.nan if value == 0 else float(np.copysign(np.inf, value))
    return float(value / by)
