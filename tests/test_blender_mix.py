"""What SoftBlender maximises beside its metric: how much of it, and that it is what decides."""

from __future__ import annotations

import numpy as np
import pytest

from boostsoft import Metric, QueryGroups
from boostsoft.blending import SoftBlender
from boostsoft.blending.annealing import room_at_cutoff
from boostsoft.blending.mix import automatic_mix
from boostsoft.metrics.prepared import prepare

from . import blender_cases
from .blender_cases import blends

data = blender_cases.data  # fixture


def rule(sizes, counting, spec="ndcg@10"):
    """The automatic mix of lists of such sizes, so many of them with something relevant."""
    y = np.concatenate([np.r_[float(q < counting), np.zeros(n - 1)] for q, n in enumerate(sizes)])
    queries = prepare(Metric(spec), "test", y, QueryGroups.from_sizes(np.array(sizes)))
    weights = np.ones(len(sizes))
    return automatic_mix(queries, y, weights), room_at_cutoff(queries, weights)


@pytest.mark.parametrize(
    ("counting", "weight"), [(1, 1.0), (30, 1.0), (60, 0.5), (120, 0.25), (300, 0.1), (301, None), (900, None)]
)
def test_tau_weighs_less_the_more_queries_count(counting, weight):
    mix, room = rule([12] * (counting + 40), counting)
    assert room == 1.0
    if weight is None:
        assert mix == ()
    else:
        ((metric, found),) = mix
        assert metric == Metric("kendall")
        assert found == pytest.approx(weight)


def test_tau_weighs_less_where_the_cutoff_is_far_up():
    ((_, found),), room = rule([150] * 5, 5)
    assert room == pytest.approx(0.59, abs=0.01)
    assert found == room
    mix, room = rule([500] * 5, 5)
    assert 0.4 < room < 0.5
    assert mix == ()


@pytest.mark.parametrize("spec", ["kendall", "spearman", "auc"])
def test_metrics_of_pairs_need_none(spec):
    assert rule([12] * 5, 5, spec)[0] == ()


def test_the_default_is_the_rule(data):
    S, y, sizes = data
    assert SoftBlender().fit(S, y, group=sizes).mix_ == {"kendall": 1.0}
    twice = np.tile(np.arange(y.size), 3)
    found = SoftBlender().fit(S[twice], y[twice], group=np.tile(sizes, 3))
    assert found.mix_ == {"kendall": pytest.approx(30 / 75)}
    assert SoftBlender(mix=None).fit(S, y, group=sizes).mix_ == {}
    assert SoftBlender("kendall").fit(S, y, group=sizes).mix_ == {}
    assert SoftBlender(method="coordinate-ascent").fit(S, y, group=sizes).mix_ == {}


def test_what_weighs_most_decides():
    """One model knows the best documents, the other which are worth anything: top and order want them differently."""
    _, y, sizes = blends()
    S = np.column_stack([2.0 * (y == 2), y > 0]) + np.random.default_rng(3).normal(size=(y.size, 2))
    options = {"sigma": 0.5, "l2": 0.0}
    metric, tau = (SoftBlender(name, mix=None, **options).fit(S, y, group=sizes) for name in ("ndcg@3", "kendall"))
    apart = np.abs(metric.weights_ - tau.weights_).max()
    assert apart > 0.1
    little, much = (
        SoftBlender("ndcg@3", mix={"kendall": weight}, **options).fit(S, y, group=sizes) for weight in (1e-3, 1e3)
    )
    assert little.weights_ == pytest.approx(metric.weights_, abs=0.1 * apart)
    assert much.weights_ == pytest.approx(tau.weights_, abs=0.1 * apart)
    assert much.mix_ == {"kendall": 1e3}


def test_a_mix_that_nothing_counts_for_is_none(data):
    S, _, sizes = data
    same = np.repeat(1.0 + np.arange(sizes.size) % 2, sizes)  # no pair of different labels, but something relevant
    options = {"l2": 0.0, "n_starts": 1}
    found = SoftBlender("ndcg@3", mix={Metric("kendall", empty="skip"): 1.0}, **options).fit(S, same, group=sizes)
    assert np.array_equal(found.weights_, np.full(3, 1 / 3))
    assert np.isfinite(found.path_[-1].soft)


def test_a_mix_that_nothing_counts_for_leaves_the_metric(data):
    S, y, sizes = data
    nobody = Metric("mrr", relevant_from=9, empty="skip")
    alone, beside = (SoftBlender(mix=mix).fit(S, y, group=sizes).weights_ for mix in (None, {nobody: 1.0}))
    assert np.array_equal(beside, alone)


def test_queries_of_unequal_weight_are_fewer(data):
    """For the mix and for sigma: Kish's number of them."""
    S, y, sizes = (np.concatenate([part] * 3) for part in data)
    weights = np.random.default_rng(0).uniform(0.1, 1.0, sizes.size)
    n = weights.sum() ** 2 / (weights**2).sum()
    assert 30 < n < 65
    found = SoftBlender().fit(S, y, group=sizes, query_weight=weights)
    assert found.mix_ == {"kendall": pytest.approx(30 / n)}
    assert found.sigma_ == pytest.approx(1.75 * n**-0.2)


def test_resampled_queries_climb_the_same_mix(data):
    S, y, sizes = data
    options = {"sigma": 0.5, "l2": 0.0, "n_boot": 20, "random_state": 0}
    alone, mixed, tau = (
        SoftBlender(name, mix=mix, **options).fit(S, y, group=sizes).weights_interval_
        for name, mix in (("ndcg@3", None), ("ndcg@3", {"kendall": 1e3}), ("kendall", None))
    )
    assert np.abs(mixed - tau).max() < 0.1 * np.abs(alone - tau).max()


@pytest.mark.parametrize(
    ("mix", "error", "message"),
    [
        ("tau", ValueError, r"SoftBlender\.fit: mix must be 'auto' or a mapping from metrics to weights; got 'tau'"),
        (0.3, TypeError, r"SoftBlender\.fit: mix must be a mapping from metrics to weights; got 0\.3"),
        ({"kendall": -1}, ValueError, r"SoftBlender\.fit: mix\['kendall'\] must be .*above 0.*; got -1"),
        ({"bpref": 1}, ValueError, r"SoftBlender\.fit: mix: bpref has no exact expectation"),
        ({"tau": 1}, ValueError, "unknown metric 'tau'"),
    ],
)
def test_a_bad_mix(data, mix, error, message):
    S, y, sizes = data
    with pytest.raises(error, match=message):
        SoftBlender(mix=mix).fit(S, y, group=sizes)


@pytest.mark.parametrize(
    "metric",
    [
        Metric("ndcg@5", gain=[3, 2, 1, 0]),
        Metric("ndcg@5", gain=lambda label: 3.0 - label),
        Metric("err", p_rel=[0.9, 0.4, 0.1, 0]),
    ],
)
def test_where_a_higher_label_is_worth_less_the_order_of_labels_is_left_out(metric):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 600)
    S = np.column_stack([-y + 2 * rng.normal(size=600), y + 2 * rng.normal(size=600), rng.normal(size=600)])
    blender = SoftBlender(metric).fit(S, y, group=[20] * 30)
    assert blender.mix_ == {}
    assert blender.weights_.argmax() == 0
