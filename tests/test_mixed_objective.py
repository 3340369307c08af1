"""An objective that trains on several metrics at once: their gradients and curvatures, added up by weight."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from boostsoft import Metric, QueryGroups, SoftMetric
from boostsoft.objectives import NothingToLearnError, SoftObjective

GROUPS = QueryGroups.from_sizes([7, 1, 5, 6])
RNG = np.random.default_rng(3)
Y, S = RNG.integers(0, 3, 19), RNG.normal(size=19)
MIX = {"kendall": 0.3, "map@3": 2.0}


@pytest.mark.parametrize("noise", ["gaussian", "gumbel"])
def test_the_gradient_is_that_of_the_weighted_sum(noise):
    """By differences of the metrics' values, which know nothing of objectives."""
    sigma, weights = 0.7, np.array([1.0, 2.0, 0.5, 3.0])
    objective = SoftObjective("ndcg@2", mix=MIX, noise=noise, sigma=sigma, query_weight=weights, accuracy="high")
    soft = {m: SoftMetric(m, noise=noise, sigma=sigma, accuracy="high") for m in ("ndcg@2", *MIX)}

    def total(scores):
        values = {m: (metric.per_query(Y, scores, group=GROUPS.sizes) * weights).sum() for m, metric in soft.items()}
        return values["ndcg@2"] + sum(weight * values[m] for m, weight in MIX.items())

    gradient, _ = objective.gradient_curvature(objective.prepare(Y, GROUPS), S)
    h = 1e-5
    for i in range(S.size):
        up, down = S.copy(), S.copy()
        up[i] += h
        down[i] -= h
        assert gradient[i] == pytest.approx(sigma**2 * (total(up) - total(down)) / (2 * h), abs=2e-8)


@pytest.mark.parametrize("hessian", ["flow", "exact", "constant"])
def test_curvatures_add_up(hessian):
    rows = np.linspace(0.5, 2.0, S.size)
    mixed = SoftObjective("ndcg@2", mix=MIX, hessian=hessian)
    gradient, curvature = mixed.gradient_curvature(mixed.prepare(Y, GROUPS), S, rows)
    expected = np.zeros((2, S.size))
    for metric, weight in {"ndcg@2": 1.0, **MIX}.items():
        alone = SoftObjective(metric, hessian=hessian)
        expected += weight * np.array(alone.gradient_curvature(alone.prepare(Y, GROUPS), S, rows))
    np.testing.assert_allclose([gradient, curvature], expected, rtol=1e-12, atol=1e-15)
    assert (curvature > 0).all()


def test_nothing_mixed_in_is_the_metric_alone():
    alone, empty = SoftObjective("ndcg@2"), SoftObjective("ndcg@2", mix={})
    assert alone == empty
    for found, expected in zip(
        empty.gradient_curvature(empty.prepare(Y, GROUPS), S),
        alone.gradient_curvature(alone.prepare(Y, GROUPS), S),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)


def test_a_metric_that_is_there_twice_weighs_both_times():
    twice = SoftObjective("ndcg@2", mix={"kendall": 0.25, Metric("kendall"): 0.5, "map": 1.0})
    assert twice == SoftObjective("ndcg@2", mix={"kendall": 0.75, "map": 1.0})
    assert twice.mix == ((Metric("kendall"), 0.75), (Metric("map"), 1.0))


def test_it_is_a_value():
    one, same = SoftObjective("ndcg@2", mix=MIX), SoftObjective("ndcg@2", mix={Metric("kendall"): 0.3, "map@3": 2})
    assert one == same
    assert hash(one) == hash(same)
    assert one != SoftObjective("ndcg@2", mix={**MIX, "kendall": 0.4})
    assert one != SoftObjective("ndcg@2")
    assert pickle.loads(pickle.dumps(one)) == one


@pytest.mark.parametrize(
    ("mix", "error", "says"),
    [
        ("kendall", TypeError, "SoftObjective: mix must be a mapping from metrics to weights; got 'kendall'"),
        ({"kendall": 0.0}, ValueError, r"SoftObjective: mix\['kendall'\] must be .*; got 0.0"),
        ({"kendall": float("nan")}, ValueError, r"SoftObjective: mix\['kendall'\]"),
        ({"kendal": 1.0}, ValueError, "unknown metric 'kendal'"),
        ({"bpref": 1.0}, ValueError, "bpref"),
        ({3: 1.0}, TypeError, "SoftObjective: .*3"),
    ],
)
def test_errors(mix, error, says):
    with pytest.raises(error, match=says):
        SoftObjective("ndcg@2", mix=mix)


def test_the_metric_itself_must_have_something_to_learn():
    labels = np.array([2, 1, 1])  # nothing is in doubt for precision, all are relevant
    groups = QueryGroups.from_sizes([3])
    assert SoftObjective("kendall").prepare(labels, groups) is not None
    with pytest.raises(NothingToLearnError, match="precision@1"):
        SoftObjective("precision@1", mix={"kendall": 1.0}).prepare(labels, groups)
    found = SoftObjective("kendall", mix={"precision@1": 1.0})
    gradient, curvature = found.gradient_curvature(found.prepare(labels, groups), np.zeros(3))
    assert gradient[0] > 0 > gradient[1]
    assert (curvature > 0).all()


def test_both_boosters_train_on_a_mix():
    lgb, xgb = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    import boostsoft.lightgbm as bl
    import boostsoft.xgboost as bx

    X = RNG.normal(size=(200, 3))
    y, sizes = np.digitize(X[:, 0] + 0.3 * X[:, 1], [0.2, 1.0]), [20] * 10
    given = {"mix": {"kendall": 0.3}, "noise": "gumbel"}
    params = {"metric": "None", "verbose": -1, "min_data_in_leaf": 5}
    train = lgb.Dataset(X, y, group=sizes)
    booster = lgb.train({**params, "objective": bl.objective("ndcg@5", **given)}, train, 10)
    ranker = lgb.LGBMRanker(
        objective=bl.sklearn_objective("ndcg@5", **given), n_estimators=10, min_child_samples=5, **{"metric": "None"}
    )
    np.testing.assert_allclose(ranker.fit(X, y, group=sizes).predict(X), booster.predict(X), rtol=1e-6)
    alone = lgb.train(
        {**params, "objective": bl.objective("ndcg@5", noise="gumbel")}, lgb.Dataset(X, y, group=sizes), 10
    )
    assert not np.allclose(alone.predict(X), booster.predict(X))
    matrix = xgb.DMatrix(X, y, group=sizes)
    trees = bx.train({}, matrix, 10, obj=bx.objective("ndcg@5", **given), verbose_eval=False)
    for scores in (booster.predict(X), trees.predict(matrix)):
        assert Metric("kendall")(y, scores, group=sizes) > 0.6
