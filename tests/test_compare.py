"""Comparisons against SciPy's tests, loops over queries, and a bootstrap and samples drawn here."""

from __future__ import annotations

import itertools
import math
from dataclasses import fields

import numpy as np
import pytest
from scipy import stats

from boostsoft import Metric, SoftMetric
from boostsoft.metrics.hard import twin_in
from boostsoft.query_means import bootstrap_means
from boostsoft.tracking import paired
from boostsoft.tracking.compared import ComparedMetric
from boostsoft.tracking.comparison import compare

from .compare_cases import SCORE, SIZES, SPREAD, scores, track_of


def ndcg_differences(y, a, b):
    ndcg = Metric("ndcg@10")
    return ndcg.per_query(y, b, group=SIZES) - ndcg.per_query(y, a, group=SIZES)


def test_paired_test_is_scipys():
    y, a, b = scores()
    row = compare(a, b, y_true=y, group=SIZES, metrics="ndcg@10").rows[0]
    ndcg = Metric("ndcg@10")
    first, second = ndcg.per_query(y, a, group=SIZES), ndcg.per_query(y, b, group=SIZES)
    test = stats.ttest_rel(second, first)
    gap = second - first
    assert (row.metric, row.kind, row.n) == ("ndcg@10", "hard", 60)
    assert (row.a, row.b) == pytest.approx((first.mean(), second.mean()), rel=1e-12)
    assert row.difference == pytest.approx(gap.mean(), rel=1e-9)
    assert row.difference > 0  # b is better, and differences are b - a
    assert row.error == pytest.approx(stats.sem(gap), rel=1e-9)
    assert (row.t, row.p_t) == pytest.approx((test.statistic, test.pvalue), rel=1e-9)
    assert row.p_wilcoxon == pytest.approx(stats.wilcoxon(gap[gap != 0]).pvalue, rel=1e-9)
    assert row.sd == pytest.approx(gap.std(ddof=1), rel=1e-9)
    assert row.effect == pytest.approx(gap.mean() / gap.std(ddof=1), rel=1e-9)


@pytest.mark.parametrize("n", [2, 60])
def test_warnings_are_left_to_the_process(n, monkeypatch):
    """Their filters are every thread's: two threads that restore them in another order leave all warnings ignored."""
    gap = np.random.default_rng(3).normal(size=n)
    track = track_of(np.stack([0 * gap, gap])[:, None])
    with monkeypatch.context() as patch:
        patch.setattr("warnings.simplefilter", lambda *_: pytest.fail("filters were changed"))
        row = compare(track, track, step_a=0, step_b=1).rows[0]
    assert row.p_wilcoxon == pytest.approx(stats.wilcoxon(gap).pvalue, rel=1e-9)


def test_queries_that_do_not_differ_are_not_ranked():
    """SciPy would draw the exact law of all of them, some at 0, as long as they are fewer than fifty."""
    rng = np.random.default_rng(5)
    gap = rng.normal(size=30)
    gap[:8] = 0.0
    track = track_of(np.array([np.zeros(30), gap])[:, None])
    row = compare(track, track, step_a=0, step_b=1).rows[0]
    assert row.p_wilcoxon == pytest.approx(stats.wilcoxon(gap[8:], method="exact").pvalue, rel=1e-9)


def test_differences_that_rounding_parts_have_one_rank():
    """Of tenths, as of precision@10: .3 - .2 is not .1 - 0."""
    counts = np.random.default_rng(94).integers(0, 10, (2, 40))
    track = track_of(counts[:, None] / 10)
    row = compare(track, track, step_a=0, step_b=1).rows[0]
    gap = counts[1] - counts[0]
    assert row.p_wilcoxon == stats.wilcoxon(gap[gap != 0].astype(float)).pvalue
    up = np.where(np.arange(40) % 3 == 0, -1, 1)  # .8 - .7 is far from .1 - 0, where no difference is larger
    tenths = track_of((np.arange(40) % 8 + 1 + np.stack([0 * up, up])[:, None]) / 10)
    row = compare(tenths, tenths, step_a=0, step_b=1).rows[0]
    assert row.p_wilcoxon == stats.wilcoxon(up.astype(float)).pvalue
    close = up * (1 + 1e-6 * np.random.default_rng(0).permutation(40))  # and what differs by more has ranks
    apart = track_of(np.stack([0 * close, close])[:, None] / 10)
    assert compare(apart, apart, step_a=0, step_b=1).rows[0].p_wilcoxon == stats.wilcoxon(close).pvalue


def test_the_other_way_round_everything_changes_its_sign():
    y, a, b = scores(gain=0.1)
    there, back = compare(a, b, y_true=y, group=SIZES), compare(b, a, y_true=y, group=SIZES)
    for row, other in zip(there.rows[:2], back.rows[:2], strict=True):
        assert (other.difference, other.t, other.effect) == pytest.approx((-row.difference, -row.t, -row.effect))
        assert (other.low, other.high) == pytest.approx((-row.high, -row.low), abs=2e-3)
        assert (other.p_t, other.queries_needed) == pytest.approx((row.p_t, row.queries_needed))
        for name in ("same_sign", "agrees_half", "agrees_small", "gain"):
            assert getattr(other, name) == pytest.approx(getattr(row, name), nan_ok=True)


def test_bootstrap_against_one_of_its_own():
    y, a, b = scores(seed=1, gain=0.2)
    row = compare(a, b, y_true=y, group=SIZES, metrics="ndcg@10", level=0.9, n_boot=4000).rows[0]
    gap, rng = ndcg_differences(y, a, b), np.random.default_rng(77)
    means = np.array([np.mean([gap[rng.integers(60)] for _ in range(60)]) for _ in range(4000)])
    assert 0.6 < row.same_sign < 0.99  # a case that is open
    # what 4,000 resamples leave to chance: .005 x 60 queries for a share, a 20th of the interval for its ends
    assert row.same_sign == pytest.approx(np.mean(np.sign(means) == np.sign(gap.mean())), abs=0.03)
    ends = np.quantile(means, [0.05, 0.95])
    assert (row.low, row.high) == pytest.approx(tuple(ends), abs=0.05 * (ends[1] - ends[0]))


def test_weighted_errors_are_the_ratio_estimators():
    y, a, b = scores(seed=2)
    weights = np.random.default_rng(0).integers(0, 4, 60).astype(float)
    row = compare(a, b, y_true=y, group=SIZES, metrics="ndcg@10", query_weight=weights).rows[0]
    gap = ndcg_differences(y, a, b)
    mean = sum(w * d for w, d in zip(weights, gap, strict=True)) / sum(weights)
    squares = sum((w * (d - mean)) ** 2 for w, d in zip(weights, gap, strict=True))
    n = sum(w > 0 for w in weights)
    error = math.sqrt(n / (n - 1) * squares) / sum(weights)
    assert row.n == n < 60
    assert (row.difference, row.error) == pytest.approx((mean, error), rel=1e-9)
    assert row.effect == pytest.approx(mean / error / math.sqrt(n), rel=1e-9)
    freedom = sum(weights) ** 2 / sum(w * w for w in weights) - 1
    assert row.p_t == pytest.approx(2 * stats.t.cdf(-abs(mean / error), freedom), rel=1e-9)
    assert math.isnan(row.p_wilcoxon)  # it knows no weights
    assert row.low < mean < row.high
    assert row.high - row.low == pytest.approx(2 * 1.96 * error, rel=0.15)


def test_a_query_of_weight_two_counts_as_two_in_the_mean():
    y, a, b = scores(seed=3)
    weights = np.ones(60)
    weights[5] = 2
    twice = np.concatenate([np.arange(480), np.arange(40, 48)])
    one = compare(a, b, y_true=y, group=SIZES, query_weight=weights)
    two = compare(a[twice], b[twice], y_true=y[twice], group=[*SIZES, 8])
    for row, other in zip(one.rows, two.rows, strict=True):
        assert (row.a, row.b, row.difference) == pytest.approx((other.a, other.b, other.difference), abs=1e-9)


@pytest.mark.parametrize(("level", "power"), [(0.95, 0.8), (0.99, 0.9)])
def test_queries_needed_find_the_difference_with_the_power(level, power):
    y, a, b = scores(seed=4, gain=0.1)
    row = compare(a, b, y_true=y, group=SIZES, metrics="ndcg@10", level=level, power=power).rows[0]
    gap = ndcg_differences(y, a, b)
    ratio = gap.mean() / gap.std(ddof=1)

    def found(n):
        """The chance that a normal mean of n queries lies beyond the test's bound, on the side where it belongs."""
        return stats.norm.sf(stats.norm.ppf((1 + level) / 2) - abs(ratio) * math.sqrt(n))

    assert found(row.queries_needed) >= power > found(row.queries_needed - 1)


def test_agreement_with_the_hard_sign_on_all_queries():
    y, a, b = scores(seed=5, gain=0.02)
    found = compare(a, b, y_true=y, group=SIZES, small=7, n_boot=3000)
    hard = ndcg_differences(y, a, b)
    soft = SPREAD.per_query(y, b, group=SIZES) - SPREAD.per_query(y, a, group=SIZES)
    rng = np.random.default_rng(5)
    for row, gap in zip(found.rows, (hard, soft), strict=False):
        for size, share in ((30, row.agrees_half), (7, row.agrees_small)):
            agree = [
                np.sign(gap[rng.choice(60, size, replace=False)].sum()) == np.sign(hard.sum()) for _ in range(3000)
            ]
            assert share == pytest.approx(np.mean(agree), abs=0.04)
    assert found.small == 7
    assert 0.5 < found.rows[0].agrees_small < found.rows[0].agrees_half - 0.05


def test_agreement_is_with_the_hard_metric_where_the_soft_one_disagrees():
    """Hard values rise in every query, soft ones fall in every query."""
    values = np.zeros((2, 2, 12))
    values[1, 0], values[1, 1] = 0.1 + 0.01 * np.arange(12), -0.1 - 0.01 * np.arange(12)
    track = track_of(values, metrics=("ndcg@10", SPREAD))
    hard, soft, _ = compare(track, track, step_a=0).rows
    assert (hard.agrees_half, hard.agrees_small, hard.same_sign) == (1.0, 1.0, 1.0)
    assert (soft.agrees_half, soft.agrees_small, soft.same_sign) == (0.0, 0.0, 1.0)
    assert soft.gain == pytest.approx(-1.0)


def test_samples_without_a_difference_count_half():
    values = np.zeros((2, 1, 20))
    values[1, 0, 0] = 1.0
    row = compare(track_of(values[:1]), track_of(values[1:]), small=2, n_boot=4000).rows[0]
    assert row.agrees_half == pytest.approx(0.5 + 0.5 / 2, abs=0.03)  # half of the samples have the one query
    assert row.agrees_small == pytest.approx(0.1 + 0.9 / 2, abs=0.03)


def test_tenths_that_add_up_to_0_are_no_difference():
    """0.3 - 0.1 - 0.2 is 2.8e-17, or its opposite, by the order of the additions."""
    values = np.full((2, 1, 5), 0.5)
    values[0], values[1] = [0.1, 0.5, 0.6, 0.2, 0.4], [0.4, 0.4, 0.4, 0.2, 0.4]
    row = compare(track_of(values[:1]), track_of(values[1:])).rows[0]
    assert (row.difference, row.t, row.effect, row.queries_needed) == (0.0, 0.0, 0.0, math.inf)
    assert math.isnan(row.same_sign)
    # so is the middle of the resamples, between 1 and -1
    middle = compare(track_of(values[:1]), track_of(values[1:]), level=1e-3).rows[0]
    assert (middle.low, middle.high) == (0.0, 0.0)


def test_samples_of_tenths_that_add_up_to_0_count_half():
    tenths = np.array([1, -1, 2, -2, 1, -1, 3, -2])
    values = 0.5 + np.array([np.zeros(8), tenths / 10])[:, None]
    row = compare(track_of(values[:1]), track_of(values[1:]), n_boot=4000).rows[0]
    sums = [tenths[list(half)].sum() for half in itertools.combinations(range(8), 4)]
    assert row.agrees_half == pytest.approx(np.mean((np.sign(sums) + 1) / 2), abs=0.02)


def test_queries_are_told_by_sizes_or_by_ids():
    y, a, b = scores()
    by_sizes, by_ids = (
        compare(a, b, y_true=y, metrics="ndcg@10", **queries)
        for queries in ({"group": SIZES}, {"qid": np.repeat(np.arange(len(SIZES)), SIZES)})
    )
    assert repr(by_ids) == repr(by_sizes)


def test_gain_over_the_hard_metric_and_its_interval():
    y, a, b = scores(seed=6, gain=0.6)
    found = compare(a, b, y_true=y, group=SIZES, n_boot=3000)
    hard = ndcg_differences(y, a, b)
    soft = SPREAD.per_query(y, b, group=SIZES) - SPREAD.per_query(y, a, group=SIZES)

    def ratio(at):
        return (soft[at].mean() / soft[at].std()) / (hard[at].mean() / hard[at].std())

    rng = np.random.default_rng(3)
    ratios = np.sort([ratio(rng.integers(60, size=60)) for _ in range(3000)])
    row = found.rows[1]
    assert row.gain == pytest.approx(ratio(np.arange(60)), rel=1e-9)
    assert (row.gain_low, row.gain_high) == pytest.approx((ratios[75], ratios[2925]), rel=0.05)
    assert row.gain_low < row.gain < row.gain_high
    assert math.isnan(found.rows[0].gain)


def test_a_difference_that_all_queries_share_has_no_gain():
    """Both effects are infinite, in every resample."""
    y, a, b = np.tile([1, 0], 4), np.tile([0.0, 1.0], 4), np.tile([1.0, 0.0], 4)
    metrics = ["mrr", SoftMetric("mrr", sigma=1e-3)]
    soft = compare(a, b, y_true=y, group=[2] * 4, metrics=metrics).rows[1]
    assert (soft.effect, soft.difference) == (math.inf, 0.5)
    assert np.isnan([soft.gain, soft.gain_low, soft.gain_high]).all()


def test_the_gain_over_a_hard_metric_that_says_nothing_is_infinite():
    """In more than one resample of forty the hard differences add up to 0."""
    hard = np.array([0.5, -0.5, 0.5, -0.5, 0.0, 0.25])
    values = np.stack([np.zeros((2, 6)), [hard, np.arange(1, 7) / 8]])
    track = track_of(values, metrics=("ndcg@10", SPREAD))
    row = compare(track, track, step_a=0).rows[1]
    assert (row.gain > 1, row.gain_high) == (True, math.inf)


@pytest.mark.parametrize("metric", ["precision@3", "recall@3", "mrr"])
def test_the_gain_is_the_same_whichever_system_is_the_first(metric):
    """Of discrete metrics some resamples have no difference, which rounding must not turn into one."""
    rng = np.random.default_rng(3)
    y = (rng.random(500) < 0.2) * 1
    a = y + 1.5 * rng.normal(size=500)
    b = a + 0.8 * rng.normal(size=500) + 0.3 * y
    soft = SoftMetric(metric, sigma=0.2, sigma_unit="spread")
    found = [compare(*pair, y_true=y, group=[10] * 50, metrics=[soft]).row(soft.name) for pair in ((a, b), (b, a))]
    gains = [(row.gain, row.gain_low, row.gain_high) for row in found]
    assert gains[0] == pytest.approx(gains[1], rel=1e-9)
    assert all(abs(end) < 1e6 or math.isinf(end) for end in gains[0][1:])


def test_there_is_no_gain_over_a_hard_metric_without_a_difference():
    values = np.stack([np.zeros((2, 6)), [[0.5, -0.5, 0.25, -0.25, 0.0, 0.0], np.arange(1, 7) / 8]])
    row = compare(*[track_of(values, metrics=("ndcg@10", SPREAD))] * 2, step_a=0).rows[1]
    assert math.isnan(row.gain)
    assert (row.gain_low, row.gain_high) == (-math.inf, math.inf)


def test_gain_with_weights_is_resampled_as_the_errors_are():
    """With unequal weights the effect of a resample is the ratio estimator's."""
    rng, weights = np.random.default_rng(0), np.tile([1.0, 7.0], 20)
    gaps = [0.5 + 0.2 * rng.normal(size=40), 0.4 + 0.3 * rng.normal(size=40)]  # hard and soft
    values = np.stack([np.zeros((2, 40)), gaps])
    track = track_of(values, metrics=("ndcg@10", SPREAD), weights=weights)
    row = compare(track, track, step_a=0, n_boot=3000).row(SPREAD.name)

    def effect(gap, at):
        mean = np.average(gap[at], weights=weights[at])
        return mean / math.sqrt(np.sum((weights[at] * (gap[at] - mean)) ** 2)) * weights[at].sum()

    everything, ratios = np.arange(40), []
    for _ in range(3000):
        at = rng.integers(40, size=40)
        ratios.append(effect(gaps[1], at) / effect(gaps[0], at))
    assert row.gain == pytest.approx(effect(gaps[1], everything) / effect(gaps[0], everything), rel=1e-9)
    assert (row.gain_low, row.gain_high) == pytest.approx(tuple(np.quantile(ratios, [0.025, 0.975])), rel=0.05)


# ---------------------------------------------------------------------------------------------------------
# The control
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
def test_the_control_is_nothing_in_units_of_the_spread(noise):
    y, a, b = scores(seed=7)
    soft = SoftMetric("ndcg@10", noise=noise, sigma=0.2, sigma_unit="spread")
    control = compare(a, b, y_true=y, group=SIZES, metrics=soft).row(soft.name, "control")
    assert control.difference == 0.0
    assert control.a == pytest.approx(control.b, abs=1e-9)
    assert control.identical
    rescaled = soft.per_query(y, a * 3.7, group=SIZES) - soft.per_query(y, a, group=SIZES)
    assert np.abs(rescaled).max() < 1e-9  # in every query, not in the mean alone


def test_what_the_shape_of_the_scores_changes_is_in_no_control_and_the_table_says_so():
    y, a, _ = scores(seed=7)
    ranks = stats.rankdata(a.reshape(len(SIZES), -1), axis=1).ravel()
    found = compare(a, np.exp(2 * ranks), y_true=y, group=SIZES, metrics=SPREAD)
    assert found.row("ndcg@10").identical
    assert found.row(SPREAD.name, "control").identical
    assert found.row(SPREAD.name).p_t < 0.05
    assert "scores of another shape" in str(found)


def test_the_control_in_units_of_the_scores_is_what_growth_alone_gives():
    y, a, b = scores(seed=7)
    found = compare(a, b, y_true=y, group=SIZES, metrics=[SCORE])

    def pooled(values):
        return math.sqrt(np.mean([np.var(part) for part in np.split(values, len(SIZES))]))

    rescaled = SCORE.per_query(y, a * (pooled(b) / pooled(a)), group=SIZES) - SCORE.per_query(y, a, group=SIZES)
    control = found.row("ndcg_score", "control")
    assert found.spreads == pytest.approx((pooled(a), pooled(b)), rel=1e-12)
    assert control.difference == pytest.approx(rescaled.mean(), rel=1e-9)
    assert control.difference > 0.005
    assert control.t == pytest.approx(rescaled.mean() / stats.sem(rescaled), rel=1e-9)
    assert found.row("ndcg@10").kind == "hard"  # the twin joined
    assert math.isnan(control.agrees_half)


def test_a_model_that_only_grows_is_seen_through():
    y, a, _ = scores()
    found = compare(a, 3 * a, y_true=y, group=SIZES, metrics=[SPREAD, SCORE])
    assert found.row(SPREAD.name).identical
    assert found.row("ndcg@10").identical
    grown, control = found.row("ndcg_score"), found.row("ndcg_score", "control")
    assert grown.difference == pytest.approx(control.difference, rel=1e-12)
    assert grown.p_t < 0.01  # which a naive reader would have believed


def test_constant_scores_have_no_control():
    y, a, _ = scores()
    for pair in ((np.zeros(y.size), a), (a, np.zeros(y.size))):
        found = compare(*pair, y_true=y, group=SIZES)
        assert [row.kind for row in found.rows] == ["hard", "soft"]
        assert "No control of ndcg_gaussian@10" in found.notes[-1]


def test_queries_that_weigh_nothing_have_no_part_in_the_spread():
    y, a, b = scores(seed=7)
    weights = np.where(np.arange(60) < 20, 0.0, 1.0)
    there = compare(a, b, y_true=y, group=SIZES, metrics=[SCORE], query_weight=weights)
    gone = compare(a[160:], b[160:], y_true=y[160:], group=SIZES[20:], metrics=[SCORE])
    assert there.spreads == pytest.approx(gone.spreads, rel=1e-12)
    control = "ndcg_score", "control"
    assert there.row(*control).difference == pytest.approx(gone.row(*control).difference, rel=1e-9)


# ---------------------------------------------------------------------------------------------------------
# Systems without a difference
# ---------------------------------------------------------------------------------------------------------


def test_identical_systems():
    y, a, _ = scores()
    found = compare(a, a, y_true=y, group=SIZES)
    for row in found.rows:
        assert row.identical
        assert (row.difference, row.error, row.sd, row.low, row.high) == (0.0, 0.0, 0.0, 0.0, 0.0)
        for name in ("t", "p_t", "p_wilcoxon", "effect", "same_sign", "queries_needed", "gain", "agrees_half"):
            assert math.isnan(getattr(row, name)), name
    assert "ndcg@10: no query differs (within 1e-9); nothing to test." in str(found)
    assert "by its unit" not in str(found)  # the control is computed, and 0 like the rest


def test_no_query_counts():
    track = track_of(np.full((2, 2, 3), np.nan), metrics=("ndcg@10", SPREAD))
    notes = compare(track, track).notes
    assert notes[:2] == tuple(f"{name}: no query counts; nothing to test." for name in track.names)


def test_the_same_difference_everywhere():
    base = np.linspace(0.1, 0.5, 9)
    row = compare(track_of(base[None, None]), track_of(base[None, None] + 0.1)).rows[0]
    assert row.difference == pytest.approx(0.1)
    assert (row.error, row.t, row.effect, row.p_t) == (0.0, math.inf, math.inf, 0.0)
    assert (row.queries_needed, row.same_sign, row.identical) == (2.0, 1.0, False)


def test_no_difference_on_average():
    base = np.full(4, 0.5)
    row = compare(track_of(base[None, None]), track_of((base + np.array([0.1, -0.1, 0.2, -0.2]))[None, None])).rows[0]
    assert row.difference == pytest.approx(0.0, abs=1e-16)
    assert row.queries_needed > 1e30
    assert paired.queries_needed(1e-200, 0.95, 0.8) == math.inf
    assert row.p_t == pytest.approx(1.0)


def test_rounding_is_no_difference():
    base = np.linspace(0.1, 0.5, 9)
    for size in (1.0, 1e6):
        row = compare(track_of(size * base[None, None]), track_of(size * (base[None, None] + 1e-12))).rows[0]
        assert row.identical
    # whichever has the largest value, which says how much that is
    low, high = np.full(5, 0.5), np.r_[1e6, np.full(4, 0.5 + 1e-5)]
    for pair in ((low, high), (high, low)):
        row = compare(*(track_of(values[None, None]) for values in pair)).rows[0]
        assert abs(row.difference) == (1e6 - 0.5) / 5


def test_samples_agree_by_weight():
    """A sample is won by the one query of much weight if that is in it, and lost otherwise."""
    values = np.full((2, 1, 20), 0.5)
    values[1, 0] = [1.0] + 19 * [0.0]
    a, b = (track_of(part[None], weights=[1000] + 19 * [1]) for part in values)
    row = compare(a, b, small=2, n_boot=4000).rows[0]
    assert (row.agrees_half, row.agrees_small) == pytest.approx((0.5, 0.1), abs=0.03)


@pytest.mark.parametrize("small", [6, 19])
def test_every_sample_of_many_queries_has_the_same_chance(small, monkeypatch):
    """Five blocks of four of 23 queries; each query's row is 1 for itself, so that sums tell who was drawn."""
    monkeypatch.setattr(paired, "_BLOCKS", 5)
    monkeypatch.setattr(paired, "_SHARED", 4)
    plan = paired.Resampling(level=0.95, power=0.8, n_boot=16_000, seed=0, small=small)
    drawn = paired._sample_sums(np.eye(23), plan, lambda share: None)
    for at, size in enumerate((11, small)):
        members = drawn[:, at]
        assert set(np.unique(members)) == {0.0, 1.0}
        np.testing.assert_array_equal(members.sum(axis=0), size)
        together = members @ members.T / plan.n_boot
        expected = np.full((23, 23), size * (size - 1) / (23 * 22))
        np.fill_diagonal(expected, size / 23)
        np.testing.assert_allclose(together, expected, atol=0.025)
    smaller, larger = sorted((0, 1), key=lambda at: (11, small)[at])
    assert np.all(drawn[:, smaller] <= drawn[:, larger])  # the one kind holds the other


def test_agreement_of_many_queries_is_that_of_a_normal_law():
    """Hájek 1960: sums of m of n have the variance m (1 - m / n) S^2."""
    rng, n = np.random.default_rng(2), 41_003
    values = np.clip(0.5 + rng.normal([[0.0], [0.0012]], 0.1, size=(2, n)), 0, 1)[:, None]
    row = compare(track_of(values[:1]), track_of(values[1:]), small=9_007).rows[0]
    z = row.difference / row.sd
    for share, size in ((row.agrees_half, n // 2), (row.agrees_small, 9_007)):
        assert share == pytest.approx(stats.norm.cdf(z * math.sqrt(size / (1 - size / n))), abs=0.035)
        assert 0.6 < share < 0.97


@pytest.mark.parametrize(("n", "small"), [(2_500, 7), (20_001, 20_000)])
def test_samples_of_few_queries_and_of_nearly_all_are_drawn_one_by_one(n, small):
    differences, plan = np.random.default_rng(0).normal(size=(2, n)), paired.Resampling(0.95, 0.8, 20, 3, small)
    rng = np.random.default_rng(3)
    orders = [rng.permutation(n) for _ in range(20)]
    expected = [[[row[order[:size]].sum() for order in orders] for size in (n // 2, small)] for row in differences]
    np.testing.assert_array_equal(paired._sample_sums(differences, plan, lambda share: None), expected)


def test_no_sample_holds_more_queries_than_count():
    values = np.full((2, 1, 40), np.nan)
    values[:, 0, :3] = [[0.5, 0.5, 0.5], [0.6, 0.7, 0.4]]
    row = compare(track_of(values[:1]), track_of(values[1:])).rows[0]  # a tenth of the 40 are 4
    assert row.n == 3
    assert row.agrees_half == pytest.approx(2 / 3, abs=0.03)
    assert math.isnan(row.agrees_small)  # all three agree with themselves
    row = compare(track_of([[[0.2]]]), track_of([[[0.5]]])).rows[0]
    assert math.isnan(row.agrees_half)  # the half of one query is none


def test_one_query():
    row = compare(track_of([[[0.2]]]), track_of([[[0.5]]])).rows[0]
    assert (row.n, row.difference) == (1, pytest.approx(0.3))
    assert (row.low, row.high) == (-math.inf, math.inf)
    for name in ("error", "t", "p_t", "effect", "queries_needed", "same_sign"):
        assert math.isnan(getattr(row, name))


def test_one_query_of_scores():
    rng = np.random.default_rng(0)
    y = np.digitize(rng.normal(size=20), [0, 1])
    found = compare(*rng.normal(size=(2, 20)), y_true=y, group=[20])
    assert (found.small, found.rows[0].n) == (1, 1)
    assert compare(*rng.normal(size=(2, 20)), y_true=y, group=[10, 10]).small == 2
    with pytest.raises(ValueError, match="compare: small must be at most the number of queries, 1; got 2"):
        compare(*rng.normal(size=(2, 20)), y_true=y, group=[20], small=2)


def test_a_small_sample_is_a_tenth_of_the_queries_with_weight():
    rng, weights = np.random.default_rng(0), np.repeat([0.0, 1.0], [60, 40])
    given = rng.integers(0, 3, 400), [4] * 100
    found = compare(*rng.normal(size=(2, 400)), y_true=given[0], group=given[1], query_weight=weights)
    assert (found.small, found.rows[0].n) == (4, 40)
    assert 0 < found.rows[0].agrees_small < 1


def test_queries_left_out():
    values = np.random.default_rng(0).random((2, 1, 10))
    holes = np.insert(values, 3, np.nan, axis=2)
    plain = compare(track_of(values), track_of(values), step_a=0, small=3).rows[0]
    holed = compare(track_of(holes), track_of(holes), step_a=0, small=3).rows[0]
    for field in fields(ComparedMetric):
        assert getattr(plain, field.name) == pytest.approx(getattr(holed, field.name), nan_ok=True), field.name
    with np.errstate(all="raise"):
        nothing = compare(track_of(np.full((1, 1, 3), np.nan)), track_of(np.full((1, 1, 3), np.nan))).rows[0]
    assert nothing.n == 0
    assert math.isnan(nothing.difference)


def test_an_infinite_value_of_a_query_of_weight_0():
    y, group = np.array([1, 0, 1, 0, 0, 1, 1, 0]), [2, 3, 3]
    a, b = np.array([1.0, 0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 3.0]), np.array([1.0, 0.0, 3.0, 2.0, 3.5, 2.0, 1.0, 1.5])
    found = compare(a, b, y_true=y, group=group, metrics="pnr", query_weight=[0, 1, 1]).row("pnr")
    left_out = compare(a[2:], b[2:], y_true=y[2:], group=group[1:], metrics="pnr").row("pnr")
    assert found.n == 2
    assert (found.difference, found.error, found.low) == (left_out.difference, left_out.error, left_out.low)


def test_of_two_twins_it_is_the_one_that_the_soft_metric_names():
    named = Metric("ndcg@10", name="mine")
    for metrics, at in (([named, Metric("ndcg@10")], 1), ([Metric("ndcg@10"), named], 0), ([Metric("map"), named], 1)):
        assert twin_in(metrics, SoftMetric("ndcg@10")) == at
    assert twin_in([named, Metric("ndcg@10")], SoftMetric(named)) == 0
    assert twin_in([Metric("map")], SoftMetric("ndcg@10")) is None


def test_a_twin_may_have_a_name_of_its_own_or_stand_where_another_has_its_name():
    y, a, b = scores()
    linear = SoftMetric("ndcg@10", gain="linear", name="softlin", sigma=0.2, sigma_unit="spread")
    plain = SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread")
    named = Metric("ndcg@10", gain="linear", name="lin")
    expected = compare(a, b, y_true=y, group=SIZES, metrics=linear).row("softlin", "soft")
    for metrics, names in (
        (["ndcg@10", linear], ["ndcg@10", "ndcg@10_hard", "softlin"]),
        ([linear, "ndcg@10"], ["ndcg@10_hard", "softlin", "ndcg@10"]),
        ([plain, linear], ["ndcg@10", "ndcg_gaussian@10", "ndcg@10_hard", "softlin"]),
        (["ndcg@10", named, linear], ["ndcg@10", "lin", "softlin"]),
    ):
        found = compare(a, b, y_true=y, group=SIZES, metrics=metrics)
        assert [row.metric for row in found.rows if row.kind != "control"] == names
        row = found.row("softlin", "soft")
        assert (row.gain, row.agrees_half) == (expected.gain, expected.agrees_half)


def test_rows_of_the_same_queries_are_resampled_together(monkeypatch):
    y, a, b = scores()
    y[:8] = 0  # which empty="skip" leaves out
    drawn = []

    def counted(rows, weights, *options):
        drawn.append(weights.size)
        return bootstrap_means(rows, weights, *options)

    monkeypatch.setattr(paired, "bootstrap_means", counted)
    metrics = ["ndcg@10", SPREAD, Metric("ndcg@3", empty="skip")]
    together = compare(a, b, y_true=y, group=SIZES, metrics=metrics, n_boot=50)
    assert drawn == [60, 59]
    alone = compare(a, b, y_true=y, group=SIZES, metrics=metrics[2], n_boot=50).rows[0]
    for name in ("difference", "low", "high", "same_sign", "agrees_half", "agrees_small"):
        assert getattr(together.row("ndcg@3"), name) == pytest.approx(getattr(alone, name), rel=1e-12), name


@pytest.mark.parametrize("bad", [np.nan, [[np.nan, 1.0], [0.0, 1.0]]])
def test_scores_of_another_shape_are_named_whatever_they_hold(bad):
    good = np.array([1.0, 2.0])
    for name, pair in (("a", (bad, good)), ("b", (good, bad))):
        with pytest.raises(ValueError, match=rf"^compare: {name} must be one-dimensional; got shape"):
            compare(*pair, y_true=[0, 1], group=[2])


def test_a_bar_is_shown_only_if_asked_for(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    y, a, b = scores()
    for progress in (True, False, "auto"):
        compare(a, b, y_true=y, group=SIZES, n_boot=20, progress=progress)
        shown = capsys.readouterr().err
        assert ("compare" in shown) is (progress is True)
        assert ("100%" in shown) is (progress is True)
    with pytest.raises(ValueError, match=r"^compare: progress must be True, False or 'auto'; got 'yes'"):
        compare(a, b, y_true=y, group=SIZES, progress="yes")


@pytest.mark.parametrize("n_queries", [30, 25_000])
def test_how_much_is_resampled_is_told(n_queries):
    plan = paired.Resampling(level=0.95, power=0.8, n_boot=40, seed=0, small=2)
    values, shares = [tuple(np.random.default_rng(0).random((2, n_queries)))], []
    paired.pair_all(values, np.ones(n_queries), plan, shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert len(shares) > plan.n_boot


def test_rows_of_as_many_queries_of_other_weights_are_resampled_apart():
    rng, weights, shares = np.random.default_rng(0), np.arange(1.0, 21.0), []
    plan = paired.Resampling(level=0.95, power=0.8, n_boot=50, seed=0, small=2)
    values = [tuple(np.where(np.arange(20) == left_out, np.nan, rng.random((2, 20)))) for left_out in (0, 19)]
    for pair, together in zip(values, paired.pair_all(values, weights, plan, shares.append), strict=True):
        (alone,) = paired.pair_all([pair], weights, plan, lambda share: None)
        for name in ("weights", "boot", "boot_effect", "samples"):
            np.testing.assert_allclose(getattr(together, name), getattr(alone, name), rtol=1e-12)
    assert shares == sorted(shares)
    assert shares[-1] == 1
