"""The stopping rule against its definition, written out."""

from __future__ import annotations

import math
from statistics import mean, stdev

import numpy as np
import pytest
from scipy import stats

from boostsoft import Metric
from boostsoft.tracks import TreeTrack
from boostsoft.tracks.stopping import Gain, StoppingRule


def curves(seed=0, n_steps=40, n_queries=25):
    """Values of each query after each tree: they rise fast, then stand still in noise of their own."""
    rng = np.random.default_rng(seed)
    rise = 0.5 * (1 - np.exp(-np.arange(n_steps + 1) / 5.0))
    noise = np.cumsum(rng.normal(scale=0.01, size=(n_steps + 1, n_queries)), axis=0)
    return rng.uniform(0.1, 0.5, n_queries) + rise[:, None] + noise


def as_track(values, steps, weights=None, start=0):
    """Row 0 is the beginning."""
    n = values.shape[1]
    return TreeTrack(
        metrics=(Metric("ndcg@10", empty="skip"),), steps=np.asarray(steps), per_query=values[1:, None],
        beginning=values[:1], start=start, query_weight=np.ones(n) if weights is None else weights,
        spread=np.ones(len(steps)), groups=None, y_true=None, scores=None, qid=None,
    )  # fmt: skip


def literal_stop(values, steps, start, patience, confidence, min_delta=0.0):
    """The docstring's rule, one query after another, all of equal weight."""
    trees = [start, *steps]
    for now in range(1, len(trees)):
        earlier = [at for at in range(now) if trees[at] <= trees[now] - patience]
        if not earlier:
            continue
        change = [a - b for a, b in zip(values[now].tolist(), values[earlier[-1]].tolist(), strict=True)]
        error = stdev(change) / math.sqrt(len(change))
        if mean(change) - min_delta <= stats.t.ppf(confidence, len(change) - 1) * error:
            return trees[now]
    return None


@pytest.mark.parametrize("confidence", [0.2, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("patience", [1, 4, 10])
@pytest.mark.parametrize(("every", "start"), [(1, 0), (3, 0), (3, 7)])
def test_it_stops_where_its_definition_says(every, start, patience, confidence):
    values = curves()
    steps = [start + every * k for k in range(1, 41)]
    expected = literal_stop(values, steps, start, patience, confidence)
    assert StoppingRule(patience, confidence).stop_at(as_track(values, steps, start=start)) == expected
    assert expected is None or start + patience <= expected


def test_the_first_trees_to_stop_at_are_as_many_as_the_patience_behind_the_beginning():
    falling = 0.5 - 0.1 * np.arange(4)[:, None] * np.ones(5)
    assert StoppingRule(patience=2).stop_at(as_track(falling, [11, 12, 13], start=10)) == 12


def test_these_curves_stop_at_different_places():
    """Or the test above would tell little."""
    steps = range(1, 41)
    found = {literal_stop(curves(), list(steps), 0, p, c) for p in (1, 4, 10) for c in (0.2, 0.5, 0.9, 0.999)}
    assert len(found) >= 6


def test_a_rise_that_is_not_worth_it_counts_for_nothing():
    values, steps = curves(), list(range(1, 41))
    stops = [StoppingRule(5, 0.9, delta).stop_at(as_track(values, steps)) for delta in (0.0, 0.02, 0.1)]
    assert stops == [literal_stop(values, steps, 0, 5, 0.9, delta) for delta in (0.0, 0.02, 0.1)]
    assert stops[0] > stops[1] > stops[2]


def test_weights_are_those_of_the_ratio_estimator():
    before, now, weights = np.zeros(3), np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 2.0])
    watch = StoppingRule(1).begin(0, before, weights)
    watch.see(1, now)
    centre = (1 * 1 + 3 * 2 + 2 * 4) / 6
    squares = (1 * (1 - centre)) ** 2 + (3 * (2 - centre)) ** 2 + (2 * (4 - centre)) ** 2
    assert watch.gain == pytest.approx((centre, math.sqrt(3 / 2 * squares) / 6), rel=1e-12)


@pytest.mark.parametrize("weights", [np.ones(4), np.array([1.0, 0.2, 0.1, 0.1])])
def test_of_few_queries_a_rise_must_be_beyond_students_quantile(weights):
    """Where nothing changes, one test in ten finds a rise; by the normal law one in seven would, of four queries."""
    freedom = weights.sum() ** 2 / (weights**2).sum() - 1
    change = np.array([-1.0, 1.0, -1.0, 1.0])
    change -= np.average(change, weights=weights)
    error = math.sqrt(4 / 3 * ((weights * change) ** 2).sum()) / weights.sum()
    for errors, stops in ((0.99, True), (1.01, False)):
        rise = errors * stats.t.ppf(0.9, freedom) * error
        assert StoppingRule(1).begin(0, np.zeros(4), weights).see(1, change + rise) is stops


def test_queries_that_do_not_count_are_left_out():
    values, steps = curves(), list(range(1, 41))
    more = np.concatenate([values, np.full((41, 2), np.nan), curves(1)[:, :3]], axis=1)
    weights = np.concatenate([np.ones(27), np.zeros(3)])
    rule = StoppingRule(4)
    assert rule.stop_at(as_track(more, steps, weights)) == rule.stop_at(as_track(values, steps))


def test_the_best_is_the_highest_mean_and_the_first_of_equals():
    watch = StoppingRule(10).begin(0, np.array([9.0, 9.0]), np.ones(2))  # the beginning is no step
    for trees, value in ((1, 0.3), (2, 0.5), (3, 0.5), (4, 0.4)):
        watch.see(trees, np.array([value, value]))
    assert (watch.best_trees, watch.best_mean) == (2, 0.5)


def test_a_first_mean_of_minus_infinity_is_the_best_until_a_higher_one():
    watch = StoppingRule(10).begin(0, np.zeros(2), np.ones(2))
    watch.see(3, np.array([-np.inf, 0.5]))
    assert (watch.best_trees, watch.best_mean) == (3, -np.inf)


def test_by_default_it_is_sure_of_nine_in_ten():
    assert StoppingRule(5) == StoppingRule(5, confidence=0.9, min_delta=0.0)


def test_rounding_is_no_rise():
    """As of trees without a split: however sure it is, and however often, it is neither a gain nor better."""
    values = 0.5 + np.array([0.0, 0.1, 0.1 + 1e-15, 0.1 + 2e-15, 0.1 + 3e-15])[:, None] + np.arange(4.0) / 8
    watch = StoppingRule(1).begin(0, values[0], np.ones(4))
    assert not watch.see(1, values[1])
    assert watch.see(2, values[2])
    assert watch.gain == (0.0, 0.0)
    assert (watch.see(3, values[3]), watch.see(4, values[4]), watch.best_trees) == (True, True, 1)


def test_standing_still_stops_and_a_sure_rise_does_not():
    rule = StoppingRule(2, confidence=0.999)
    still, rising = np.full((5, 4), 0.5), np.arange(5.0)[:, None] + np.arange(4.0)
    assert rule.stop_at(as_track(still, [1, 2, 3, 4])) == 2
    assert rule.stop_at(as_track(rising, [1, 2, 3, 4])) is None


def test_infinite_values_are_refused():
    """As of pnr in perfect order: the first of them would be the best, whatever came after it."""
    values = np.arange(20.0).reshape(5, 4)
    values[3, 2] = np.inf
    with pytest.raises(ValueError, match=r"must be finite for every query; with 3 trees query 2 has an infinite value"):
        StoppingRule(1).stop_at(as_track(values, [1, 2, 3, 4]))
    assert StoppingRule(1).stop_at(as_track(values, [1, 2, 3, 4], np.array([1.0, 1.0, 0.0, 1.0]))) is None
    assert not StoppingRule(1).gives_up(Gain(math.nan, math.nan), 3.0)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0,), ValueError, "patience must be from 1"),
        ((2.5,), TypeError, "patience must be a whole number"),
        ((True,), TypeError, "patience must be a whole number"),
        ((5, 1.0), ValueError, "confidence must be below 1; got 1.0"),
        ((5, 0.0), ValueError, "confidence must be finite and above 0"),
        ((5, 0.9, -0.1), ValueError, "min_delta must not be negative"),
        ((5, 0.9, math.inf), ValueError, "min_delta must be finite"),
    ],
)
def test_what_it_refuses(arguments, error, message):
    with pytest.raises(error, match=f"^StoppingRule: {message}"):
        StoppingRule(*arguments)


def test_an_unknown_metric_is_refused():
    with pytest.raises(TypeError, match=r"^StoppingRule\.stop_at: track must be a TreeTrack; got int$"):
        StoppingRule(1).stop_at(3)
    track = as_track(np.zeros((3, 4)), [1, 2])
    with pytest.raises(ValueError, match=r"^StoppingRule\.stop_at: metric must be one of .*; got 'mrr'"):
        StoppingRule(1).stop_at(track, "mrr")


def test_a_change_of_one_query_has_no_error():
    with pytest.raises(ValueError, match="at least 2 queries must count, or the change has no error; got 1 of 3"):
        StoppingRule(5).begin(0, np.array([0.5, np.nan, 0.5]), np.array([1.0, 1.0, 0.0]))


def test_trees_must_rise():
    watch = StoppingRule(5).begin(3, np.zeros(2), np.ones(2))
    with pytest.raises(ValueError, match="must rise; got 3 after 3"):
        watch.see(3, np.zeros(2))
