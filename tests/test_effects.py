"""The effect of each tree against loops over queries, SciPy's paired test and a bootstrap of its own."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from scipy import stats

from boostsoft import Metric
from boostsoft.track_plots.bands import best_step
from boostsoft.tracks import TreeTrack
from boostsoft.tracks.effects import tree_effects


def track_of(values, *, weights=None, steps=None, start=0, metrics=None):
    """A track of values (n_steps + 1, n_queries), the first row being the beginning; or with metrics in between."""
    values = np.asarray(values, dtype=float)
    values = values[:, None] if values.ndim == 2 else values
    n_steps = len(values) - 1
    return TreeTrack(
        metrics=metrics or (Metric("ndcg@10"),),
        steps=np.arange(1, n_steps + 1) + start if steps is None else np.array(steps),
        per_query=values[1:],
        beginning=values[0],
        start=start,
        query_weight=np.ones(values.shape[2]) if weights is None else np.asarray(weights, dtype=float),
        spread=np.ones(n_steps),
        groups=None,
        y_true=None,
        scores=None,
        qid=None,
    )


def noisy(means, n=40, noise=0.05, seed=0):
    """Values of n queries around the means, with errors that are shared between steps in part."""
    rng = np.random.default_rng(seed)
    return np.array(means)[:, None] + rng.normal(scale=0.2, size=n) + rng.normal(scale=noise, size=(len(means), n))


RISE_AND_FALL = [0.3, 0.5, 0.6, 0.64, 0.65, 0.65, 0.64, 0.55]


def test_changes_and_their_intervals_are_those_of_the_paired_t_test():
    values = noisy(RISE_AND_FALL)
    effects = tree_effects(track_of(values), level=0.9)
    for i in range(1, len(values)):
        test = stats.ttest_rel(values[i], values[i - 1])
        low, high = test.confidence_interval(0.9)
        assert effects.change[i - 1] == pytest.approx(np.mean(values[i]) - np.mean(values[i - 1]), rel=1e-9)
        assert effects.change[i - 1] / effects.error[i - 1] == pytest.approx(test.statistic, rel=1e-9)
        assert (effects.low[i - 1], effects.high[i - 1]) == pytest.approx((low, high), rel=1e-9)
    assert effects.mean == pytest.approx(values[1:].mean(axis=1))
    assert effects.steps.tolist() == list(range(1, len(values)))


def test_trees_that_hurt():
    effects = tree_effects(track_of(noisy(RISE_AND_FALL)))
    below = [i for i in range(1, len(RISE_AND_FALL)) if effects.high[i - 1] < 0]
    assert effects.hurting.tolist() == below
    assert 7 in below
    assert 1 not in below
    assert effects.by_chance == pytest.approx(7 * 0.025)


def test_weights_enter_means_and_errors():
    values, weights = noisy([0.3, 0.6, 0.5], n=12), np.arange(12.0)
    effects = tree_effects(track_of(values, weights=weights))
    gap = values[1] - values[0]
    mean = sum(w * d for w, d in zip(weights, gap, strict=True)) / sum(weights)
    # the ratio estimator's error over the 11 queries that weigh something
    squares = sum((w * (d - mean)) ** 2 for w, d in zip(weights, gap, strict=True))
    assert effects.change[0] == pytest.approx(mean)
    assert effects.error[0] == pytest.approx(math.sqrt(11 / 10 * squares) / sum(weights))
    effective = sum(weights) ** 2 / sum(w * w for w in weights)
    assert effects.freedom == pytest.approx(effective - 1)
    assert effects.high[0] == pytest.approx(mean + stats.t.ppf(0.975, effective - 1) * effects.error[0])


@pytest.mark.parametrize("n", [5, 20])
def test_intervals_hold_the_mean_whatever_the_weights(n):
    """Of lognormal weights: with n - 1 degrees of freedom .66 and .74 of the intervals would."""
    rng, held = np.random.default_rng(0), []
    for _ in range(40):
        values = np.cumsum(rng.normal(size=(201, n)), axis=0)
        effects = tree_effects(track_of(values, weights=rng.lognormal(sigma=2, size=n)), n_boot=20)
        held.append(np.mean((effects.low < 0) & (effects.high > 0)))
    assert 0.92 < np.mean(held) < 0.99


def test_a_query_that_weighs_almost_all_leaves_the_mean_unknown():
    effects = tree_effects(track_of(noisy([0.3, 0.6], n=2), weights=[1.0, 1e-9]))
    assert effects.low[0] < -100
    assert effects.high[0] > 100
    # the change has no error: no degrees of freedom at all would make that 0 times infinity
    still = tree_effects(track_of([[0.25, 0.5], [0.5, 0.75]], weights=[1.0, 1e-300]))
    assert (still.low[0], still.high[0]) == (0.25, 0.25)


def test_a_single_query_has_no_degrees_of_freedom():
    assert tree_effects(track_of([[0.3], [0.6]])).freedom == 0.0


def test_the_interval_of_the_best_has_numbers_that_there_are_by_its_own_draws():
    track = track_of(noisy([0.3, 0.5, 0.8], n=9, noise=0.3), steps=[10, 1010])
    ends = [
        (found.best_low, found.best_high)
        for found in (tree_effects(track, n_boot=20, seed=seed, level=0.9) for seed in range(40))
    ]
    assert {low for low, _ in ends} == {10, 1010}, "not all seeds draw the same, and there is nothing in between"
    assert {high for _, high in ends} == {1010}


def test_trees_that_leave_the_mean_but_not_the_queries_are_not_without_effect():
    track = track_of([[0.0, 0.25], [0.5, 0.75], [0.75, 0.5]])
    assert tree_effects(track).advice.endswith("the next one loses 0.0000 +- 0.2500 (not told from 0)")


def brute_force_keep(values, level, margin):
    """The fewest trees that a paired test shows to be worse than the best by less than a share of its gain."""
    means = values.mean(axis=1)
    best = int(np.argmax(means))
    allowed = margin * (means[best] - means[0])
    for i in range(best):
        if stats.ttest_1samp(values[best] - values[i], allowed, alternative="less").pvalue <= 1 - level:
            return i, best
    return best, best


@pytest.mark.parametrize("margin", [0.0, 0.05, 0.2, 0.7])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
@pytest.mark.parametrize("seed", range(4))
def test_keep_is_the_fewest_trees_that_are_shown_to_give_up_no_more_than_the_margin(margin, level, seed):
    values = noisy(RISE_AND_FALL, seed=seed)
    effects = tree_effects(track_of(values), level=level, margin=margin)
    keep, best = brute_force_keep(values, level, margin)
    assert (effects.keep, effects.best) == (keep, best)
    assert effects.allowed == pytest.approx(margin * (values[best].mean() - values[0].mean()))
    gap = values[best] - values[keep]
    assert effects.given_up == pytest.approx(gap.mean(), abs=1e-15)
    assert effects.given_up_error == pytest.approx(gap.std(ddof=1) / math.sqrt(40), abs=1e-15)
    gap = values[best] - values[-1]
    assert effects.lost == pytest.approx(gap.mean())
    assert effects.lost_error == pytest.approx(gap.std(ddof=1) / math.sqrt(40))


def test_what_may_be_given_up_is_a_share_of_the_gain_over_the_beginning():
    """Be the first trees worse than none."""
    base = np.full(5, 0.5)
    assert tree_effects(track_of([base, base - 0.4, base + 0.2]), margin=0.5).allowed == pytest.approx(0.1)


def test_few_queries_which_show_nothing_give_up_no_tree():
    values = noisy([0.6, 0.61, 0.62], noise=0.1, seed=1)
    effects = tree_effects(track_of(values))
    assert stats.ttest_rel(values[effects.best], values[0], alternative="greater").pvalue > 0.05
    assert effects.keep == effects.best > 0


def test_many_queries_show_that_late_trees_add_little():
    means = 0.3 + 0.3 * (1 - np.exp(-np.arange(12)))
    effects = tree_effects(track_of(noisy(means, n=40_000, noise=0.01)), margin=0.01)
    assert effects.best > 8
    assert effects.keep == 5  # exp(-5) is .0067, exp(-4) .018


def test_what_is_told_from_0_is_by_the_one_sided_test_too():
    gap = stats.norm.ppf((np.arange(10) + 0.5) / 10)
    gap = 0.2 * (gap / gap.std(ddof=1) * math.sqrt(10) + 2.0)  # 2 standard errors: p is .038, of two sides .077
    track = track_of([np.zeros(10), gap + 5.0, np.full(10, 5.0)])
    assert tree_effects(track).advice.endswith("loses 0.4000 +- 0.2000")
    assert tree_effects(track, level=0.97).advice.endswith("loses 0.4000 +- 0.2000 (not told from 0)")


def test_a_loss_is_told_from_0_only_beyond_what_picking_the_best_shows():
    """The highest of sixty equally good steps is above the last one: by t alone every second draw tells a loss."""
    seen = told = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        effects = tree_effects(track_of([np.zeros(50), *(10.0 + rng.normal(size=(60, 50)))]))
        alone = stats.t.ppf(0.95, 49) * effects.lost_error
        assert effects.lost_by_chance >= alone
        seen += effects.lost > alone
        told += effects.lost > max(effects.lost_by_chance, 1e-9)
        assert ("told from 0)" in effects.advice) == (effects.best < 60 and effects.lost <= effects.lost_by_chance)
    assert seen >= 12
    assert told <= 2
    # and a real one is told
    falling = np.random.default_rng(0).normal(size=(60, 2000)) - np.linspace(0, 1, 60)[:, None]
    sure = tree_effects(track_of([np.zeros(2000), *(10.0 + falling)]))
    assert sure.lost > sure.lost_by_chance > 0


def test_steps_that_cannot_be_the_best_are_not_picked_from():
    """Far below and far noisier, they would be above the last one by chance in no draw of the queries."""
    rng = np.random.default_rng(0)
    early, late = 20.0 * rng.normal(size=(5, 400)), 50.0 + 0.1 * rng.normal(size=(3, 400))
    alone, among = (
        tree_effects(track_of([np.zeros(400), *late])),
        tree_effects(track_of([np.zeros(400), *early, *late])),
    )
    assert among.best == alone.best + 5
    assert among.lost_by_chance == alone.lost_by_chance < 0.1


def test_a_loss_is_counted_from_the_last_step_where_that_cannot_be_the_best():
    """Six steps of one height, the last far below: a bootstrap of its own, of the highest one above the last one."""
    rng = np.random.default_rng(1)
    values = np.array([np.zeros(60), *(10.0 + rng.normal(size=(6, 60))), 5.0 + rng.normal(size=60)])
    effects = tree_effects(track_of(values), n_boot=4000)
    rows = [*range(effects.best_low, effects.best_high + 1), 7]
    assert effects.best_high < 7
    assert len(rows) > 4
    drawn, own = np.random.default_rng(99), []
    for _ in range(4000):
        at = drawn.integers(60, size=60)
        moved = [values[row][at].mean() - values[row].mean() for row in rows]
        own.append(max(moved) - moved[-1])
    assert effects.lost_by_chance == pytest.approx(sorted(own)[3800], rel=0.05)
    assert effects.lost_by_chance > 1.1 * stats.t.ppf(0.95, 59) * effects.lost_error  # of a step that was not picked


def test_of_equal_steps_the_fewest_trees_are_best_in_every_resample():
    """A matrix product rounds equal rows differently, depending on where they stand."""
    rows = np.random.default_rng(0).random(200)
    for n in (37, 300, 501):
        effects = tree_effects(track_of([rows * 0.5, *[rows] * n]))
        assert (effects.best, effects.best_low, effects.best_high) == (1, 1, 1)


@pytest.mark.parametrize("falls", [10, 11])
def test_ten_steps_that_hurt_are_listed_and_more_are_said_to_be_more(falls):
    values = 1.0 - np.outer(np.arange(falls + 1), [0.01, 0.011, 0.012])
    listed = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10" + (", ..." if falls > 10 else "")
    assert f"steps that hurt: {falls} of {falls} (to {listed}); by chance" in str(tree_effects(track_of(values)))


def test_the_level_moves_keep():
    strict, lenient = (tree_effects(track_of(noisy(RISE_AND_FALL)), level=at, margin=0.2).keep for at in (0.999, 0.6))
    assert strict > lenient


def test_interval_of_the_best_against_a_bootstrap_of_its_own():
    values = noisy([0.3, 0.6, 0.62, 0.62, 0.62, 0.6], noise=0.1, seed=3)
    effects = tree_effects(track_of(values, steps=[10, 20, 30, 40, 50]), n_boot=2000)
    rng, winners = np.random.default_rng(99), []
    for _ in range(4000):
        drawn = [rng.integers(40) for _ in range(40)]
        winners.append([0, 10, 20, 30, 40, 50][int(np.argmax([sum(row[drawn]) for row in values]))])
    winners.sort()
    assert effects.best_low == winners[100]
    assert effects.best_high == winners[3900]
    assert effects.best_low < effects.best_high


def test_advice():
    nothing = np.linspace(-0.1, 0.1, 5)
    base = np.full(5, 0.5)
    more = base + 0.2
    found = tree_effects(track_of([base, base + 0.1, more]))
    assert found.advice == "keep all 2 trees: with fewer, more than 0.0010 may be given up"
    assert tree_effects(track_of([base, more, base])).advice == "keep 1 tree: the next one loses 0.2000 +- 0.0000"
    # 5 values from -.1 to .1 have the standard error .05 / sqrt(2)
    flat = track_of([base, more, more + 0.01 + nothing], steps=[412, 500])
    added = "the next 88 add 0.0100 +- 0.0354 (not told from 0)"
    assert tree_effects(flat, margin=0.5).advice == f"keep 412 trees: {added}"
    smaller = "with each of the 2 smaller numbers measured"
    assert tree_effects(flat).advice == f"keep all 500 trees: {smaller}, more than 0.0011 may be given up"
    worse = track_of([base, more, more + 0.01 + nothing, base], steps=[412, 500, 600])
    assert tree_effects(worse).advice == "keep 500 trees: the next 100 lose 0.2100 +- 0.0354"
    found = tree_effects(worse, margin=0.5)
    assert found.advice == f"keep 412 trees: {added}, the last 100 lose 0.2100 +- 0.0354"
    unsure = track_of([base, more, more + 0.01, more + 0.005 + nothing], steps=[412, 500, 600])
    lost = "the last 100 lose 0.0050 +- 0.0354 (not told from 0)"
    assert tree_effects(unsure, margin=0.5).advice == f"keep 412 trees: the next 88 add 0.0100 +- 0.0000, {lost}"
    assert repr(found) == str(found)
    assert str(found).startswith(f"ndcg@10: {found.advice}\nbest with 500 trees (95% interval ")
    assert str(found).endswith("steps that hurt: 1 of 3 (to 600); by chance 0.075")


def test_advice_in_numbers_that_can_be_read():
    base, step = np.full(5, 0.5), np.linspace(-0.1, 0.1, 5)

    def advice(size, margin=0.005):
        values = size * np.stack([base, base + 0.2, base + 0.21 + step, base + 0.2])
        return tree_effects(track_of(values, steps=[1000, 2000, 4000]), margin=margin).advice

    assert advice(1e4) == "keep 2,000 trees: the next 2,000 lose 100.0 +- 353.6 (not told from 0)"
    added, lost = "the next 1,000 add 100.0 +- 353.6", "the last 2,000 lose 100.0 +- 353.6"
    assert advice(1e4, 0.5) == f"keep 1,000 trees: {added}, {lost} (neither told from 0)"
    assert advice(10) == "keep 2,000 trees: the next 2,000 lose 0.1000 +- 0.3536 (not told from 0)"
    tiny = tree_effects(track_of(1e-4 * np.stack([base, base + 0.2]), start=1200))
    assert tiny.advice == "keep all 1,201 trees: with 1,200, more than 1.0e-07 may be given up"
    assert tree_effects(track_of([base, base + 0.2]), margin=0).advice.endswith("more than 0.0000 may be given up")


def test_advice_speaks_of_what_was_measured():
    base = np.full(5, 0.5)
    one, two, three = base + 0.1, base + 0.2, base + 0.3

    def advice(values, **options):
        return tree_effects(track_of(values, **options)).advice

    assert advice([base, one]) == "keep 1 tree: with none, more than 0.0005 may be given up"
    assert advice([base, one], start=7) == "keep all 8 trees: with 7, more than 0.0005 may be given up"
    assert advice([base, one], steps=[100]) == "keep all 100 trees: with none, more than 0.0005 may be given up"
    assert advice([base, one, two], start=7) == "keep all 9 trees: with 7 to 8, more than 0.0010 may be given up"
    found = advice([base, one, two, three], steps=[100, 200, 300])
    smaller = "with each of the 3 smaller numbers measured"
    assert found == f"keep all 300 trees: {smaller}, more than 0.0015 may be given up"
    assert advice([base, one, one, one]) == "keep 1 tree: the next 2 change nothing"
    assert advice([base, one, one]) == "keep 1 tree: the next one changes nothing"
    nothing = np.linspace(-0.1, 0.1, 5)
    assert advice([base, two, two + nothing - 0.001]).endswith("loses 0.0010 +- 0.0354 (not told from 0)")
    rows = [base, two, two + nothing + 0.001, two + nothing[::-1]]
    both = tree_effects(track_of(rows), margin=0.5).advice
    assert both.endswith("adds 0.0010 +- 0.0354, the last one loses 0.0010 +- 0.0707 (neither told from 0)")
    assert str(tree_effects(track_of([base, one]))).split("\n")[1].startswith("best with 1 tree (95% interval ")


def test_a_model_may_be_best_without_the_new_trees():
    base = np.array([0.5, 0.6, 0.7])
    effects = tree_effects(track_of([base, base - 0.1, base - 0.2], start=7))
    assert (effects.best, effects.keep, effects.start) == (7, 7, 7)
    assert effects.advice == "keep 7 trees: the next 2 lose 0.2000 +- 0.0000"
    assert effects.hurting.tolist() == [8, 9]


def test_rounding_is_no_effect():
    """Values that agree to the last digits but one: certain, tiny differences are not differences."""
    base = np.linspace(0.2, 0.8, 9)
    values = [base, base + 0.1, base + 0.1 - 1e-13, base + 0.1 + 1e-12]
    effects = tree_effects(track_of(values))
    assert effects.hurting.size == 0
    assert effects.keep == 1
    effects = tree_effects(track_of([base, base + 0.1, base + 0.1 - 5e-10, base + 0.1 - 5e-9]))
    assert effects.hurting.tolist() == [3]  # 1e-9 parts the two
    pytest.importorskip("pandas")
    assert effects.to_frame()["hurts"].tolist() == [False, False, True]


def test_trees_that_rounding_alone_makes_better_are_given_up():
    """Whatever the margin; not those that raise the mean by next to nothing and move its queries."""
    rows = np.array([[0.2, 0.3, 0.1, 0.4], [0.5, 0.7, 0.3, 0.9], [0.5, 0.7, 0.3, 0.9]])
    rows[2] += 1e-13
    assert tree_effects(track_of(rows), margin=0).keep == 1
    rows[2] += [0.2, -0.2, -0.1, 0.1 + 1e-6]
    assert tree_effects(track_of(rows), margin=0).keep == 2


def test_rounding_is_no_effect_on_one_query():
    effects = tree_effects(track_of([[0.1], [0.5], [0.5 + 1e-12]]))
    assert (effects.best, effects.keep, effects.lost) == (1, 1, 0.0)
    assert effects.advice == "keep 1 tree: the next one changes nothing"


def test_the_best_of_steps_that_rounding_tells_apart_is_the_first():
    """As trees without a split are: the best number was not in its own interval."""
    base = np.linspace(0.2, 0.8, 9)
    track = track_of([base, base + 0.1, base + 0.1 + 1e-15, base + 0.1 + 2e-15, base + 0.1])
    effects = tree_effects(track)
    assert (effects.best_low, effects.best, effects.best_high) == (1, 1, 1)
    assert effects.advice == "keep 1 tree: the next 3 change nothing"
    assert best_step(track, 0) == 0


def test_one_query_gives_no_errors():
    effects = tree_effects(track_of([[0.1], [0.5], [0.4]]))
    assert np.isnan(effects.error).all()
    assert np.isinf(effects.low).all()
    assert np.isinf(effects.high).all()
    assert (effects.keep, effects.hurting.size) == (1, 0)
    assert effects.advice == "keep 1 tree: the next one loses 0.1000 (of unknown error)"


def test_one_query_gives_no_interval():
    effects = tree_effects(track_of([[0.1], [0.3], [0.5]], start=4))
    assert (effects.queries, effects.by_chance) == (1, 0.0)
    assert (effects.best, effects.best_low, effects.best_high) == (6, 4, 6)
    assert effects.advice == "keep all 6 trees: with 4 to 5 ndcg@10 is lower on the only query"
    assert "best with 6 trees (one query gives no interval)" in str(effects)
    assert "one query" not in str(tree_effects(track_of([[0.1, 0.2], [0.3, 0.5], [0.5, 0.4]])))


@pytest.mark.parametrize(("level", "shown"), [(0.975, "97.5%"), (0.995, "99.5%"), (0.07, "7%")])
def test_a_level_is_not_rounded(level, shown):
    assert f"({shown} interval " in str(tree_effects(track_of(noisy([0.3, 0.6])), level=level))


def test_queries_left_out_do_not_count():
    values = noisy([0.3, 0.6, 0.5], n=10)
    holes = np.insert(values, 4, np.nan, axis=1)
    plain, holed = tree_effects(track_of(values)), tree_effects(track_of(holes))
    for name in ("mean", "change", "error", "low", "high"):
        assert getattr(holed, name) == pytest.approx(getattr(plain, name), rel=1e-12)
    assert (holed.keep, holed.best_low, holed.best_high) == (plain.keep, plain.best_low, plain.best_high)
    endless = tree_effects(track_of(np.insert(values, 4, np.inf, axis=1), weights=np.insert(np.ones(10), 4, 0.0)))
    assert endless.mean == pytest.approx(plain.mean)


def test_the_metric_is_found_by_name():
    values = np.stack([noisy([0.3, 0.6]), noisy([0.3, 0.2], seed=1)], axis=1)
    track = track_of(values, metrics=(Metric("ndcg@10"), Metric("map")))
    assert tree_effects(track, "map").change[0] == pytest.approx(values[1, 1].mean() - values[0, 1].mean())
    assert tree_effects(track, Metric("map")).metric == "map"
    with pytest.raises(ValueError, match="metric must be one of 'ndcg@10', 'map'; got 'err'"):
        tree_effects(track, "err")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frame(kind):
    pytest.importorskip(kind)
    effects = tree_effects(track_of(noisy(RISE_AND_FALL)))
    frame = effects.to_frame(kind)
    assert list(frame.columns) == ["trees", "mean", "change", "error", "low", "high", "hurts"]
    assert frame["change"].to_numpy().tolist() == effects.change.tolist()
    assert frame["trees"].to_numpy()[frame["hurts"].to_numpy()].tolist() == effects.hurting.tolist()


def test_frame_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"TreeEffects\.to_frame: polars is not installed: pip install 'boostsoft\["):
        tree_effects(track_of(noisy([0.3, 0.6]))).to_frame("polars")


def test_what_is_refused():
    track = track_of(noisy([0.3, 0.6]))
    with pytest.raises(TypeError, match="tree_effects: track must be a TreeTrack; got ndarray"):
        tree_effects(track.per_query)
    for level in (0.0, 1.0):
        with pytest.raises(ValueError, match="tree_effects: level must be"):
            tree_effects(track, level=level)
    with pytest.raises(ValueError, match=r"^tree_effects: metric must be one of 'ndcg@10'.*; got 'mrr'"):
        tree_effects(track, "mrr")
    with pytest.raises(ValueError, match="tree_effects: n_boot must be from 20 "):
        tree_effects(track, n_boot=19)
    with pytest.raises(ValueError, match="ndcg@10 must count a query at least"):
        tree_effects(track_of(np.full((2, 3), np.nan)))
    with pytest.raises(ValueError, match="ndcg@10 must be finite for every query; query 1 has an infinite value"):
        tree_effects(track_of([[1.0, 1.0], [1.0, math.inf]]))
