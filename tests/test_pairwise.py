"""Metrics of pairs: the law of a pair, exact expectations, and the cost that grows with the pairs within reach."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gumbel_r, logistic, norm

import boostsoft as bs
from boostsoft.kernels.compile import kernel
from boostsoft.kernels.curvature import NO_CURVATURE
from boostsoft.kernels.families import DISTANCES
from boostsoft.kernels.noise import LAWS
from boostsoft.kernels.pair_grid import all_distances, dense_levels, grid_discordance, grid_pays
from boostsoft.kernels.pair_law import law_reach, pair_law
from boostsoft.kernels.pair_levels import soft_level_pairs
from boostsoft.kernels.shares import as_ranges
from boostsoft.kernels.simd import load, store
from boostsoft.metrics.expectation import expectation
from boostsoft.metrics.prepared import prepare
from boostsoft.metrics.registry import REGISTRY

from . import oracle

NOISES = tuple(LAWS)
PAIRWISE = [name for name, entry in REGISTRY.items() if entry.pairwise]
DISTRIBUTIONS = {"gaussian": norm, "gumbel": gumbel_r, "logistic": logistic}
GAPS = np.array([0.0, 1e-6, 0.1, 0.5, 0.99, 1.01, 2.0, 4.0, 9.0, 15.0, 25.0, 33.0, 1e-12, 0.7, 6.0, 12.0])


@kernel
def eight_pairs(law, d, out):
    tail, density, slope = pair_law(law, load(d, 0))
    store(out, 0, tail)
    store(out, 8, density)
    store(out, 16, slope)


def goes_by_level(queries, law, scores, sigma, exact=False):
    out, left = (np.zeros(1), *(np.zeros(scores.size) for _ in range(3))), np.zeros(1, bool)
    weights, offsets = queries.weights, queries.groups.offsets
    soft_level_pairs(
        law, queries.family, scores, queries.gains, weights, offsets, sigma, exact, queries.by_gain, 1, NO_CURVATURE,
        as_ranges([(0, 1)]), *out, left,
    )  # fmt: skip
    return not left[0]


def law_at(noise, distances):
    out = np.zeros((3, distances.size))
    for i in range(0, distances.size, 8):
        eight = np.zeros(24)
        eight_pairs(LAWS[noise], distances[i : i + 8].copy(), eight)
        out[:, i : i + 8] = eight.reshape(3, 8)
    return out


@pytest.mark.parametrize("noise", NOISES)
def test_the_law_of_a_pair_is_the_integral_over_both_noises(noise):
    law = DISTRIBUTIONS[noise]
    tail, density, _ = law_at(noise, GAPS)
    for d, found_tail, found_density in zip(GAPS, tail, density, strict=True):
        span = {"points": np.linspace(-4, d + 4, 9), "epsabs": 0.0, "epsrel": 1e-11, "limit": 500}
        wanted = quad(lambda x, d=d: law.pdf(x) * law.sf(x + d), -40, 60, **span)[0]
        assert found_tail == pytest.approx(wanted, rel=1e-8)
        wanted = quad(lambda x, d=d: law.pdf(x) * law.pdf(x + d), -40, 60, **span)[0]
        assert found_density == pytest.approx(wanted, rel=1e-8)


@pytest.mark.parametrize("noise", NOISES)
def test_density_and_slope_are_the_derivatives(noise):
    step = 1e-4
    d = GAPS + 2 * step
    high, low = law_at(noise, d + step), law_at(noise, d - step)
    at = law_at(noise, d)
    np.testing.assert_allclose((low[0] - high[0]) / (2 * step), at[1], rtol=1e-5)
    np.testing.assert_allclose((high[1] - low[1]) / (2 * step), at[2], rtol=2e-5, atol=1e-12)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("eps", [1e-5, 1e-18, 1e-30])
def test_beyond_its_reach_a_tail_is_negligible(noise, eps):
    reach = law_reach(LAWS[noise], eps)
    tail, _, _ = law_at(noise, np.full(8, reach))
    assert 1e-3 * eps < tail[0] < 3 * eps


@pytest.mark.parametrize("name", PAIRWISE)
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("kind", oracle.KINDS)
def test_value_gradient_and_hessian_are_the_oracles(name, noise, kind):
    for seed, (n, sigma) in enumerate([(2, 1.0), (5, 0.3), (4, 20.0), (3, 0.02)]):
        labels, scores = oracle.query(kind, n, seed)
        wanted = oracle.expected_orders(name, labels, scores, noise, sigma)
        found = bs.SoftMetric(name, noise=noise, sigma=sigma).value_gradient_hessian(labels, scores, group=[n])
        if name == "pnr" and (not np.isfinite(wanted.value) or wanted.value > 1e6):
            continue  # a ratio to almost nothing: the oracle's probabilities are good to 1e-14
        for order, (got, want) in enumerate(zip(found, wanted, strict=True)):
            scale = max(np.abs(want).max(), 1.0 / sigma**order)
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-8 * scale**2 if name == "pnr" else 1e-10 * scale)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", PAIRWISE)
def test_a_long_query_with_ties_is_the_sum_over_all_pairs(name, noise):
    """Pairs far apart are left out, eight at a time are taken: neither changes the sum."""
    rng = np.random.default_rng(3)
    n, sigma = 203, 0.6
    labels, scores = rng.integers(0, 4, n), np.round(rng.normal(scale=20.0, size=n), 1)
    levels = {"auc": (labels >= 1) * 1.0, "spearman": bs_ranks(labels)}.get(name, labels)
    gaps = np.subtract.outer(scores, scores) / sigma
    above = np.vectorize(lambda d: oracle.pair_probability(noise, float(d)))(gaps)
    difference = np.subtract.outer(levels, levels)
    weight = difference if name == "spearman" else np.sign(difference)
    concordant = (weight * above)[weight > 0].sum()
    total = weight[weight > 0].sum()
    discordant = total - concordant
    pairs = n * (n - 1) / 2
    wanted = {
        "auc": concordant / total,
        "pnr": concordant / discordant,
        "kendall": (concordant - discordant) / np.sqrt(pairs * total),
        "spearman": (concordant - discordant) / (2 * n * levels.std() * np.sqrt((n * n - 1) / 12)),
    }[name]
    found = bs.SoftMetric(name, noise=noise, sigma=sigma)(labels, scores, group=[n])
    assert found == pytest.approx(wanted, rel=1e-10)


def bs_ranks(labels):
    """Average ranks, by counting."""
    return np.array([np.sum(labels < y) + 0.5 * (np.sum(labels == y) + 1) for y in labels])


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", PAIRWISE)
def test_scores_far_from_zero_and_far_apart_lose_nothing(name, noise):
    labels, scores = [0, 1, 2, 1, 0], np.array([0.0, 0.5, 0.25, -1.0, 2.0])
    near = bs.SoftMetric(name, noise=noise).gradient(labels, scores, group=[5])
    far = bs.SoftMetric(name, noise=noise).gradient(labels, scores + 2.0**40, group=[5])
    np.testing.assert_allclose(far, near, rtol=1e-12)
    wide = bs.SoftMetric(name, noise=noise, sigma=1e-3)
    value, gradient, hessian = wide.value_gradient_hessian(labels, 8e307 * scores, group=[5])
    assert value == bs.Metric(name)(labels, scores, group=[5])
    assert not gradient.any()
    assert not hessian.any()


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("ranks", ["exact", "softrank"])
def test_documents_whose_distance_overflows_have_derivatives(noise, ranks):
    name = "auc" if ranks == "exact" else "precision@1"
    for far, sigma in ((1.7e308, 1.0), (1e300, 1e-20)):
        soft = bs.SoftMetric(name, noise=noise, sigma=sigma, ranks=ranks)
        _, gradient, hessian = soft.value_gradient_hessian([1, 0, 0], [far, far, -far], group=[3])
        assert np.isfinite(gradient).all()
        assert np.isfinite(hessian).all()
        assert gradient[0] > 0 > gradient[1]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("name", "ranks"), [("auc", "exact"), ("spearman", "exact"), ("precision@5", "softrank")])
@pytest.mark.parametrize("n", [40, 400])
def test_distances_count_where_the_difference_of_scores_overflows(name, ranks, noise, n):
    """In steps within the noise's reach a distance beyond floats made an integral's range infinite."""
    labels, scores = np.arange(n) % 2, np.linspace(-1.0, 1.0, n)
    for sigma in (0.125, 0.5):
        options = {"noise": noise, "ranks": ranks, "accuracy": "high"}
        near, far = (bs.SoftMetric(name, sigma=scale * sigma, **options) for scale in (1.0, 2.0**1023))
        value, gradient, hessian = far.value_gradient_hessian(labels, 2.0**1023 * scores, group=[n])
        assert (value, far(labels, 2.0**1023 * scores, group=[n])) == pytest.approx(
            (near(labels, scores, group=[n]),) * 2, rel=1e-12
        )
        slopes = near.gradient(labels, scores, group=[n])
        np.testing.assert_allclose(gradient * 2.0**1023, slopes, rtol=1e-4, atol=1e-12)
        assert np.isfinite(hessian).all()


@pytest.mark.parametrize("light", [1.0, 1e-10, 1e-17, 1e-300])
def test_a_pooled_query_may_weigh_next_to_nothing(light):
    """One relevant document above one of three others: of its own query, and of one of weight 1."""
    for empties in ([], [0]):
        given = {"group": [2, 2, *empties], "query_weight": [light, 1.0, *[1.0] * len(empties)]}
        auc, pnr = (
            bs.Metric(name, pooled=True)([1, 0, 0, 0], [2.0, 1.0, 3.0, 0.0], **given) for name in ("auc", "pnr")
        )
        assert auc == pytest.approx((light + 1.0) / (light + 2.0), rel=1e-15)
        assert pnr == pytest.approx(light + 1.0, rel=1e-15)


def test_pnr_of_a_perfect_order_is_infinite_and_its_soft_one_finite():
    labels, scores = [2, 1, 0, 1, 0], [3.0, 2.0, 1.0, 1.0, 0.0]
    hard = bs.Metric("pnr")
    assert hard(labels[:3], scores[:3], group=[3]) == np.inf
    assert hard(labels, scores, group=[3, 2]) == np.inf, "and so is the mean"
    soft = bs.SoftMetric("pnr", noise="gumbel")
    wrong = 2 / (1 + np.e) + 1 / (1 + np.e**2)  # two pairs at a distance of 1, one of 2
    assert soft(labels[:3], scores[:3], group=[3]) == pytest.approx((3 - wrong) / wrong, rel=1e-12)
    beyond = bs.SoftMetric("pnr", sigma=1e-3)
    value, gradient, _ = beyond.value_gradient_hessian(labels[:3], scores[:3], group=[3])
    assert value == np.inf
    assert gradient.tolist() == [0.0, 0.0, 0.0]


def test_thirteen_pairs_in_order_and_two_not():
    """Levels 0 to 5 in falling order but for two neighbours that changed places, twice: 15 pairs."""
    labels, scores = [4, 5, 3, 2, 0, 1], [6, 5, 4, 3, 2, 1]
    assert bs.Metric("pnr")(labels, scores, group=[6]) == 13 / 2 == 6.5
    assert bs.Metric("kendall")(labels, scores, group=[6]) == pytest.approx((13 - 2) / 15)


@pytest.mark.parametrize("name", ["auc", "pnr"])
@pytest.mark.parametrize("noise", NOISES)
def test_pooled_gradients_are_differences_of_the_pooled_value(name, noise):
    rng = np.random.default_rng(5)
    sizes, weights = [4, 1, 6, 3], np.array([1.0, 2.0, 0.5, 3.0])
    labels, scores = rng.integers(0, 3, 14), rng.normal(size=14)
    soft = bs.SoftMetric(name, pooled=True, noise=noise, sigma=0.8)
    for arguments in ({}, {"query_weight": weights}):
        gradient = soft.gradient(labels, scores, group=sizes, **arguments)
        for m in range(14):
            step = 1e-5 * (np.arange(14) == m)
            high, low = (soft(labels, scores + sign * step, group=sizes, **arguments) for sign in (1, -1))
            assert gradient[m] == pytest.approx((high - low) / 2e-5, rel=1e-5, abs=1e-8)


def test_a_hundred_thousand_documents_are_counted_in_n_log_n():
    """The count by levels against the running number of documents of every level below each document."""
    rng = np.random.default_rng(7)
    n = 100_000
    labels = rng.integers(0, 5, n)
    scores = labels + rng.normal(size=n)
    order = labels[np.argsort(scores)]
    seen = np.cumsum(np.eye(5)[order], axis=0) - np.eye(5)[order]
    below = np.cumsum(seen, axis=1)[np.arange(n), order] - seen[np.arange(n), order]
    counts = np.bincount(labels)
    total = (n**2 - (counts**2).sum()) / 2
    concordant = below.sum()
    pnr, tau = (bs.Metric(name)(labels, scores, group=[n]) for name in ("pnr", "kendall"))
    assert pnr == pytest.approx(concordant / (total - concordant), rel=1e-12)
    assert tau == pytest.approx((2 * concordant - total) / np.sqrt(total * n * (n - 1) / 2), rel=1e-12)


def by_the_grid(queries, scores, noise, sigma):
    """One query's discordance, gradient, push and second derivative from the integral, whatever it costs."""
    order = np.argsort(-scores, kind="stable")
    level, value = dense_levels(queries.gains[order], scores.size)
    out = tuple(np.zeros(scores.size) for _ in range(3))
    weights = queries.weights[order]
    total = grid_discordance(
        LAWS[noise], queries.family, scores[order], level, value, weights, scores.size, sigma, True, out
    )
    back = np.argsort(order)
    raw = -total
    if queries.family == DISTANCES:
        raw += 0.5 * all_distances(level, value, weights, scores.size)
    return raw, *(part[back] for part in out)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", PAIRWISE)
@pytest.mark.parametrize("kind", ["generic", "ties", "all_equal_scores", "far_apart", "clustered"])
def test_the_integral_and_the_sum_over_pairs_agree(name, noise, kind):
    """At 60 documents pairs are cheaper; the integral, which long queries take, must give the same."""
    rng = np.random.default_rng(9)
    labels, scores = oracle.random_query(rng, 60, kind)
    for sigma in (0.05, 1.0, 30.0):
        queries = prepare(bs.Metric(name), "test", labels, bs.QueryGroups.from_sizes([60]))
        queries = replace(queries, weights=rng.uniform(0.5, 2.0, 60)) if name in ("auc", "pnr") else queries
        found = by_the_grid(queries, scores, noise, sigma)
        apart = np.abs(queries.gains - queries.gains[:, None])
        weight = apart if queries.family == DISTANCES else np.sign(apart)
        scale = 0.5 * queries.weights @ weight @ queries.weights
        # 2 derivatives by neighbours in the order of the scores; fewer by level, mostly
        for derive, accuracy in itertools.product((2, 1, 0), ("high", "default")):
            direct = expectation(queries, scores, noise, sigma, accuracy, derive)
            parts = (direct.values[0], direct.gradient, direct.push, direct.hessian)[: (1, 3, 4)[derive]]
            rounded, law_off = (1e-12, 1e-13) if accuracy == "high" or name == "pnr" else (4e-9, 1e-9)
            for got, wanted in zip(found, parts, strict=False):
                np.testing.assert_allclose(got, wanted, rtol=rounded, atol=law_off * scale)
        assert goes_by_level(queries, LAWS[noise], scores, sigma) == (kind != "far_apart") or sigma != 1.0


def test_the_integral_reaches_as_far_as_two_noises_do():
    """A crowd ten sigma behind another one: each document's noise ends before, that of a pair does not."""
    rng = np.random.default_rng(0)
    labels, scores = np.repeat([0, 1], 20), np.repeat([10.0, 0.0], 20) + 0.1 * rng.normal(size=40)
    queries = prepare(bs.Metric("auc"), "test", labels, bs.QueryGroups.from_sizes([40]))
    raw, gradient, push, _ = by_the_grid(queries, scores, "gaussian", 1.0)
    apart = scores[labels == 0] - scores[labels == 1, None]
    density = np.exp(-0.25 * apart**2) / np.sqrt(4 * np.pi)
    np.testing.assert_allclose(gradient, np.concatenate([-density.sum(axis=0), density.sum(axis=1)]), rtol=1e-9)
    np.testing.assert_allclose(push[labels == 0], density.sum(axis=0), rtol=1e-9)
    assert raw == pytest.approx(-400.0, rel=1e-9)


@pytest.mark.parametrize("noise", NOISES)
def test_the_integral_is_taken_where_it_is_cheaper(noise):
    """Of ten thousand documents within reach of one another, be others far away, and not of fifty."""
    law, crowd = LAWS[noise], np.linspace(2.0, -2.0, 10_000)
    pairs = crowd.size * (crowd.size - 1) // 2
    assert grid_pays(law, crowd, crowd.size, 1.0, 5, pairs)
    assert grid_pays(law, np.r_[crowd, crowd - 1e12], 2 * crowd.size, 1.0, 5, 2 * pairs)
    assert not grid_pays(law, crowd[::200], 50, 1.0, 5, 50 * 49 // 2)
    assert not grid_pays(law, 1e3 * crowd, crowd.size, 1.0, 5, crowd.size)


def test_few_pairs_of_many_documents_go_by_level():
    """Which is cheaper hangs on how many pairs there are: two labels, one of them rare, have few."""
    rng = np.random.default_rng(3)
    n, scores = 1000, rng.normal(size=1000)
    groups = bs.QueryGroups.from_sizes([n])
    for name, labels, by_level, exactly in (
        ("auc", rng.random(n) < 0.05, True, True),
        ("auc", rng.random(n) < 0.15, True, False),
        ("auc", rng.random(n) < 0.5, False, False),
        ("kendall", rng.integers(0, 5, n), False, False),
        ("kendall", rng.integers(0, 5, n) * (rng.random(n) < 0.1), True, True),
    ):
        queries = prepare(bs.Metric(name), "test", labels, groups)
        for given in (queries, queries.sorted_by_gain()):
            assert goes_by_level(given, LAWS["gaussian"], scores, 1.0) == by_level
            assert goes_by_level(given, LAWS["gumbel"], scores, 1.0)
        assert goes_by_level(queries, LAWS["gaussian"], scores, 1.0, exact=True) == exactly
        found = by_the_grid(queries, scores, "gaussian", 0.5)
        direct = expectation(queries, scores, "gaussian", 0.5, "fast", 1)
        np.testing.assert_allclose(direct.values[0], found[0], rtol=1e-7)
        np.testing.assert_allclose(direct.gradient, found[1], rtol=0, atol=1e-7 * np.abs(found[1]).max())


def test_pairs_of_equal_scores_are_even_to_the_last_digit():
    """By the shorter law too."""
    for noise in NOISES:
        soft = bs.SoftMetric("kendall", noise=noise)
        assert soft(np.arange(40) % 3, np.zeros(40), group=[40]) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("gap", [1.0, 10.0, 14.0, 20.0, 25.0])
def test_an_order_that_is_nearly_certain_has_its_odds_to_the_last_digits(gap):
    """They divide by the tails, which the shorter law has to five digits only."""
    for accuracy in ("fast", "default", "high"):
        soft, given = bs.SoftMetric("pnr", accuracy=accuracy), ([1, 0], [gap, 0.0])
        value, gradient = soft(*given, group=[2]), soft.gradient(*given, group=[2])
        distance = gap / np.sqrt(2.0)
        assert np.log(value) == pytest.approx(norm.logsf(-distance) - norm.logsf(distance), rel=1e-13)
        slope = np.exp(norm.logpdf(distance) - 2.0 * norm.logsf(distance)) / np.sqrt(2.0)
        np.testing.assert_allclose(gradient, [slope, -slope], rtol=1e-9)


@pytest.mark.parametrize("noise", ["gaussian", "logistic"])
def test_queries_of_either_way_are_what_they_are_alone(noise):
    """Short ones go by level, the long one and the one of scores far apart do not."""
    rng, sizes = np.random.default_rng(13), [30, 500, 0, 9, 40]
    labels, scores = rng.integers(0, 4, 579), rng.normal(size=579)
    scores[30:530] *= 1e3
    scores[-40:] *= 1e3
    soft, ends = bs.SoftMetric("kendall", noise=noise), np.cumsum(sizes)
    values, gradient = soft.per_query(labels, scores, group=sizes), soft.gradient(labels, scores, group=sizes)
    for q, (size, end) in enumerate(zip(sizes, ends, strict=True)):
        own = slice(end - size, end)
        if size:
            assert values[q] == soft.per_query(labels[own], scores[own], group=[size])[0]
            alone = soft.gradient(labels[own], scores[own], group=[size])
            np.testing.assert_allclose(gradient[own] * len(sizes), alone, rtol=1e-15)
            assert np.abs(alone).max() > 0.0


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", PAIRWISE)
def test_long_queries_take_the_integral_and_lose_nothing(name, noise):
    """Value against gradient over 2,000 documents, many of which move at once."""
    rng = np.random.default_rng(11)
    labels, scores = rng.integers(0, 3, 2000), rng.normal(size=2000)
    soft = bs.SoftMetric(name, noise=noise, sigma=0.5)
    _, gradient, _ = soft.value_gradient_hessian(labels, scores, group=[2000])
    step = np.zeros(2000)
    step[::7] = 1e-4
    rise = soft(labels, scores + step, group=[2000]) - soft(labels, scores - step, group=[2000])
    assert rise / 2 == pytest.approx(gradient @ step, rel=1e-6)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", ["kendall", "spearman"])
def test_documents_sorted_before_are_summed_in_the_same_order(name, noise):
    rng, groups = np.random.default_rng(5), bs.QueryGroups.from_sizes([1, 0, 7, 30, 2, 90])
    labels, scores = rng.integers(0, 4, groups.n_docs), rng.normal(size=groups.n_docs)
    queries = prepare(bs.Metric(name), "test", labels, groups)
    known = queries.sorted_by_gain()
    for low, high in itertools.pairwise(groups.offsets):
        np.testing.assert_array_equal(known.by_gain[low:high], np.argsort(-queries.gains[low:high], kind="stable"))
    for derive in (0, 1):
        found, again = (expectation(given, scores, noise, 0.5, "fast", derive) for given in (queries, known))
        for part in ("values", "gradient", "push"):
            np.testing.assert_array_equal(getattr(found, part), getattr(again, part))
