"""SoftBlender's climb: the value and the gradient that it follows, where it ends, and how sigma falls."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from boostsoft import Metric, QueryGroups, SoftMetric
from boostsoft.blending import SoftBlender
from boostsoft.blending.annealing import automatic_sigma, counting_queries, room_at_cutoff
from boostsoft.blending.baselines.grid import compositions
from boostsoft.blending.problem import Problem
from boostsoft.blending.soft_value import SoftValue, inequality
from boostsoft.blending.solve import climb, soft_ascent, starts
from boostsoft.metrics.prepared import prepare

from . import blender_cases
from .blender_cases import blends, problem

data, fitted = blender_cases.data, blender_cases.fitted  # fixtures


# ---------------------------------------------------------------------------------------------------------
# What is maximised
# ---------------------------------------------------------------------------------------------------------


TAU = ((Metric("kendall"), 0.7),)


@pytest.mark.parametrize(("constraint", "mix"), [("simplex", ()), ("free", ()), ("simplex", TAU)])
def test_gradient_is_that_of_the_value(constraint, mix):
    value = SoftValue(problem(constraint, l2=0.3, mix=mix), 0.5)
    weights = np.array([0.5, 0.7, -0.4 if constraint == "free" else 0.1])
    gradient = value.value_and_gradient(weights)[1]
    for j, step in enumerate(1e-5 * np.eye(3)):
        up, down = (value.value_and_gradient(weights + sign * step)[0] for sign in (1, -1))
        assert gradient[j] == pytest.approx((up - down) / 2e-5, abs=1e-7)
    assert np.abs(gradient).max() > 1e-2
    assert gradient @ weights == pytest.approx(0.0, abs=1e-9)  # only the direction counts


def test_value_is_the_metric_less_the_penalty(data):
    S, y, sizes = data
    weights = np.array([3.0, 2.0, 1.0])
    soft = SoftMetric("ndcg@10", sigma=0.5, sigma_unit="spread")(y, S @ weights, group=sizes)
    found = SoftValue(problem(l2=0.3), 0.5)
    penalty = (1 / 2 - 1 / 3) ** 2 + 0 + (1 / 6 - 1 / 3) ** 2
    assert found.soft(weights) == pytest.approx(soft, abs=1e-6)
    assert found.value_and_gradient(weights)[0] == pytest.approx(soft - 0.3 * penalty, abs=1e-6)
    assert found.evaluations == 1  # the last weights are remembered
    assert found.value_and_gradient(weights * [1.0, 1.0, 1.0 + 1e-9])[0] != found.value_and_gradient(weights)[0]


def test_the_price_at_a_weight_of_0_is_that_of_raising_it():
    """Bounded weights end there, and go nowhere else from there."""
    weights = np.array([3.0, 1.0, 0.0])
    for j, step in enumerate(1e-7 * np.eye(3)):
        rise = (inequality(weights + step)[0] - inequality(weights)[0]) / 1e-7
        assert inequality(weights)[1][j] == pytest.approx(rise, abs=1e-6)


def test_no_weights_are_equal_ones():
    """L-BFGS-B may come by on its way."""
    value = SoftValue(problem(l2=0.3), 0.5)
    nothing, equal = (value.value_and_gradient(weights) for weights in (np.zeros(3), np.full(3, 1 / 3)))
    assert nothing[0] == equal[0]
    np.testing.assert_array_equal(nothing[1], equal[1])


def test_a_mix_is_added_by_its_weights(data):
    S, y, sizes = data
    weights = np.array([3.0, 2.0, 1.0])
    ndcg, tau, precision = (
        SoftMetric(metric, sigma=0.5, sigma_unit="spread")(y, S @ weights, group=sizes)
        for metric in ("ndcg@10", "kendall", "precision@3")
    )
    found = SoftValue(problem(mix=(*TAU, (Metric("precision@3"), 2.0))), 0.5)
    assert found.value_and_gradient(weights)[0] == pytest.approx(ndcg + 0.7 * tau + 2.0 * precision, abs=1e-5)
    assert found.soft(weights) == pytest.approx(ndcg, abs=1e-6)  # what is told of a stage is the metric alone


@pytest.mark.parametrize("metric", [Metric("ndcg@10"), Metric("map", empty="skip"), Metric("auc"), Metric("pnr")])
@pytest.mark.parametrize("mix", [(), TAU])
def test_queries_of_weight_0_are_left_out_of_a_resample(metric, mix):
    """They count for nothing, and take as long as the others: the value and the gradient are those with them."""
    whole, counts = problem(l2=0.3), np.random.default_rng(1).multinomial(25, np.full(25, 1 / 25)).astype(float)
    y, groups = whole.prepared.gains, whole.prepared.groups
    further = tuple(prepare(one, "t", y, groups) for one, _ in mix)
    whole = replace(whole, prepared=replace(prepare(metric, "t", y, groups), further=further), metric=metric, mix=mix)
    some, with_them = whole.reweighted(counts), replace(whole, query_weight=counts)
    assert some.query_weight.size == some.prepared.groups.n_queries == np.count_nonzero(counts) < 20
    weights = np.array([3.0, 2.0, 1.0])
    assert some.hard_value(weights) == pytest.approx(with_them.hard_value(weights), rel=1e-12)
    found, expected = (SoftValue(one, 0.5).value_and_gradient(weights) for one in (some, with_them))
    assert found[0] == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(found[1], expected[1], rtol=0, atol=1e-12 * np.abs(expected[1]).max())


def test_a_pooled_metric_keeps_the_queries_of_weight_0():
    """Its documents are one list, whatever query they are of."""
    metric, whole, counts = Metric("auc", pooled=True), problem(), np.arange(25.0) % 3
    prepared = prepare(metric, "t", whole.prepared.gains, whole.prepared.groups)
    some = replace(whole, prepared=prepared, metric=metric).reweighted(counts)
    assert some.prepared is prepared
    assert some.query_weight is counts


@pytest.mark.parametrize("l2", [0.0, 0.5])
def test_no_blend_of_a_fine_grid_is_better(l2):
    task = problem(l2=l2)
    found = soft_ascent(task, np.random.default_rng(0))
    value = SoftValue(task, 0.5)
    best = max(value.value_and_gradient(weights)[0] for weights in compositions(20, 3) / 20)
    assert value.value_and_gradient(found.weights)[0] > best - 2e-5
    assert np.ptp(found.weights) > 0.05  # not where it started


def test_every_start_finds_the_summit():
    task = problem(sigmas=(1.0, 0.5))
    one = soft_ascent(task, np.random.default_rng(0))
    told = []
    several = soft_ascent(task, np.random.default_rng(0), told.append, n_starts=4)
    assert several.path[-1].soft == pytest.approx(one.path[-1].soft, abs=1e-4)
    assert several.evaluations > one.evaluations
    assert all(a <= b for a, b in pairwise(told))
    assert 0.0 <= told[0] < 0.2
    assert told[-1] == 1.0


def test_the_best_of_several_starts_goes_on(monkeypatch):
    """Climbs that stay where they are: what is left is the choice."""
    starts = []
    monkeypatch.setattr("boostsoft.blending.solve.climb", lambda value, start, *_: starts.append(start) or start)
    task = problem(quality=(0.1, 1.0, 0.1))
    found = soft_ascent(task, np.random.default_rng(0), n_starts=6)
    values = [SoftValue(task, 0.5).value_and_gradient(start)[0] for start in starts]
    assert (len(starts), found.path[-1].soft) == (6, max(values))
    assert np.array_equal(starts[1], [1 / 6, 2 / 3, 1 / 6])  # the best model by itself, half of the blend
    assert max(values) > values[0]


@pytest.mark.parametrize("constraint", ["simplex", "free"])
def test_more_starts_are_not_worse(constraint):
    """Of many models that are much alike climbs end at some distance from the summit: the best end is taken."""
    for seed in range(6):
        task = problem(constraint, quality=np.linspace(0.1, 0.6, 20), sigmas=(2.0, 1.0, 0.5), seed=seed)
        value = SoftValue(task, 0.5)
        one, several = (
            value.value_and_gradient(soft_ascent(task, np.random.default_rng(0), n_starts=n).weights)[0] for n in (1, 4)
        )
        assert several >= one


def test_a_price_makes_weights_more_equal(data):
    S, y, sizes = data
    ranges = [np.ptp(SoftBlender(l2=l2).fit(S, y, group=sizes).weights_) for l2 in (0.0, 5.0, 1e4)]
    assert ranges[0] > ranges[1] > ranges[2]
    assert ranges[2] < 1e-2


def test_constraints():
    S, y, sizes = blends(quality=(1.0, -0.8, 0.3))
    weights = {
        name: SoftBlender(constraint=name).fit(S, y, group=sizes).weights_
        for name in ("simplex", "nonnegative", "free")
    }
    assert weights["simplex"][1] == 0.0
    assert weights["simplex"].sum() == pytest.approx(1.0)
    assert np.array_equal(weights["simplex"], weights["nonnegative"])
    assert weights["free"][1] < -0.1
    assert np.abs(weights["free"]).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("quality", [1.0, -1.0])
def test_free_weights_of_one_ranking_have_the_better_sign(quality, copies):
    """There is no direction to climb along: the gradient is what rounding leaves of 0."""
    for seed in range(8):
        alone = problem("free", sigmas=(1.0, 0.5), quality=(quality,), seed=seed)
        found = soft_ascent(replace(alone, scores=np.repeat(alone.scores, copies, axis=1)), np.random.default_rng(0))
        np.testing.assert_allclose(found.weights, np.full(copies, np.sign(quality) / copies), rtol=1e-12)


@pytest.mark.parametrize("copies", [1, 3])
def test_bounded_weights_of_one_ranking_stay_above_0(copies):
    alone = problem("simplex", sigmas=(1.0, 0.5), quality=(-1.0,))
    found = soft_ascent(replace(alone, scores=np.repeat(alone.scores, copies, axis=1)), np.random.default_rng(0))
    np.testing.assert_allclose(found.weights, np.full(copies, 1 / copies), rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_there_are_as_many_starts_as_asked_for(n):
    found = starts(SoftValue(problem(), 0.5), np.random.default_rng(0), n)
    assert len(found) == len({weights.tobytes() for weights in found}) == n
    assert found[0].tolist() == [1 / 3] * 3


def test_more_starts_climb_more_often(data):
    S, y, sizes = data
    one, five = (SoftBlender(sigma=0.5, n_boot=0, n_starts=n).fit(S, y, group=sizes) for n in (1, 5))
    assert five.n_evaluations_ > one.n_evaluations_


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_where_models_cancel_no_climb_starts(n):
    """What is left of a model and its reverse at equal weights is rounding, which would pass for a ranking."""
    given = problem()
    column = given.scores[:, 0]
    both = replace(given, scores=np.asfortranarray(np.column_stack([column, -column])))
    found = starts(SoftValue(both, 0.5), np.random.default_rng(0), n)
    assert len(found) == n
    assert found[0].tolist() == [0.75, 0.25]  # the better one by itself, half of the blend
    assert all(abs(weights[0] - weights[1]) > 1e-6 for weights in found)


def test_a_climb_without_a_slope_ends_where_it_starts():
    for seed in range(8):
        value = SoftValue(problem("free", quality=(1.0,), seed=seed), 0.5)
        assert climb(value, np.array([-1.0])).tolist() == [-1.0]
        assert value.evaluations == 1


# ---------------------------------------------------------------------------------------------------------
# Sigma
# ---------------------------------------------------------------------------------------------------------


def test_automatic_sigma_goes_by_the_queries_that_tell_rankings_apart(data, fitted):
    S, y, sizes = data
    rows = np.repeat(np.arange(sizes.size) < 12, sizes)
    relevant = np.where(rows, y, 0)  # the other queries have no relevant document
    blender = SoftBlender().fit(S, relevant, group=sizes)
    assert blender.sigma_ == pytest.approx(min(1.0, 1.75 * 12**-0.2))
    assert fitted.sigma_ == pytest.approx(1.75 * 25**-0.2)
    assert [stage.sigma for stage in fitted.path_] == [2 * fitted.sigma_, fitted.sigma_]


def test_automatic_sigma_is_narrower_where_scores_crowd_at_the_cutoff():
    """By the distance of the k-th from the 2k-th of n normal scores, averaged over the queries that count."""
    sizes = np.array([40, 45, 150, 500, 7])
    y = np.concatenate([np.r_[1.0, np.zeros(n - 1)] for n in sizes])
    y[-7:] = 0.0  # nothing relevant: does not count
    weights = np.array([1.0, 3.0, 2.0, 1.0, 5.0])
    queries = prepare(Metric("ndcg@10"), "test", y, QueryGroups.from_sizes(sizes))
    room = [1.0]
    for n in sizes[1:4]:
        tenth, twentieth = stats.norm.ppf((n + 0.5 - np.array([10, 20])) / n)
        room.append((tenth - twentieth) / stats.norm.ppf(0.75))
    assert room[1:] == pytest.approx([0.96, 0.59, 0.46], abs=0.02)
    expected = np.average(room, weights=weights[:4])
    assert room_at_cutoff(queries, weights) == pytest.approx(expected)
    assert automatic_sigma(queries, weights) == pytest.approx(expected)  # few queries: 1 but for that
    for spec in ("ndcg", "kendall", "ndcg@130"):
        whole = prepare(Metric(spec), "test", y, QueryGroups.from_sizes(sizes))
        assert room_at_cutoff(whole, weights) == 1.0
    pooled = prepare(Metric("auc", pooled=True), "test", y, QueryGroups.from_sizes(sizes))
    assert room_at_cutoff(pooled, weights) == 1.0
    assert counting_queries(pooled, weights) == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


def test_path_holds_each_stage(data, monkeypatch):
    S, y, sizes = data
    computed, soft_value_gradient = [], Problem.soft_value_gradient
    monkeypatch.setattr(
        Problem, "soft_value_gradient", lambda *given: computed.append(0) or soft_value_gradient(*given)
    )
    blender = SoftBlender(sigma=[2.0, 1.0, 0.5], normalize="none").fit(S, y, group=sizes)
    assert [stage.sigma for stage in blender.path_] == [2.0, 1.0, 0.5]
    assert blender.sigma_ == 0.5
    assert blender.n_evaluations_ == len(computed)
    assert np.array_equal(blender.path_[-1].weights, blender.weights_)
    for stage in blender.path_:
        blend = S @ stage.weights
        soft = SoftMetric("ndcg@10", sigma=stage.sigma, sigma_unit="spread")
        assert stage.soft == pytest.approx(soft(y, blend, group=sizes), abs=1e-6)
        assert stage.hard == pytest.approx(Metric("ndcg@10")(y, blend, group=sizes), abs=1e-12)
    assert blender.score(S, y, group=sizes) == pytest.approx(blender.path_[-1].hard, abs=1e-12)
    assert blender.n_evaluations_ > 3
