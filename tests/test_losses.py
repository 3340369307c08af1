"""Convex losses beside a soft metric: their gradients as long as its own."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import lightgbm
import numpy as np
import pytest
import xgboost

import boostsoft.lightgbm as bl
import boostsoft.xgboost as bx
from boostsoft import Metric, QueryGroups, SoftRanker
from boostsoft.objectives import SoftObjective, reference_objective

GROUPS = QueryGroups.from_sizes([7, 1, 5, 6])
RNG = np.random.default_rng(4)
Y, S = RNG.integers(0, 3, 19), RNG.normal(size=19)
LOSSES = {"xendcg": 1.0, "ranknet": 0.5, "softmax": 0.75, "listnet": 2.0, "queryrmse": 0.25}


def alone(name, scores, weights=None):
    options = {"gamma": "expected"} if name == "xendcg" else {}
    loss = reference_objective(name, query_weight=weights, **options)
    return loss.gradient_curvature(loss.prepare(Y, GROUPS), scores)


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5, 3.0]])
@pytest.mark.parametrize("mix", [None, {"kendall": 0.3}])
def test_every_loss_pulls_as_much_as_its_weight_says(weights, mix):
    metrics = SoftObjective("ndcg@2", mix=mix, query_weight=weights)
    gradient, curvature = metrics.gradient_curvature(metrics.prepare(Y, GROUPS), S)
    mixed = SoftObjective("ndcg@2", mix=mix, losses=LOSSES, query_weight=weights)
    found = mixed.gradient_curvature(mixed.prepare(Y, GROUPS), S)
    wanted = [gradient.copy(), curvature.copy()]
    for name, weight in LOSSES.items():
        slopes, bends = alone(name, S, weights)
        share = 1.0 if weights is None else GROUPS.per_document(np.array(weights))
        factor = weight * np.sqrt((gradient**2 / share).sum() / (slopes**2 / share).sum())
        wanted[0] += factor * slopes
        wanted[1] += factor * bends
    # the curvatures' least value, 1e-12, comes before the weights here and after them there
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)


def test_a_weight_whose_reciprocal_is_no_number_is_as_good_as_none():
    objective = SoftObjective("ndcg@2", losses=LOSSES)
    queries = objective.prepare(Y, GROUPS)
    nearly, none = (
        objective.gradient_curvature(queries, S, GROUPS.per_document(np.array([1.0, 2.0, least, 3.0])))
        for least in (1e-310, 0.0)
    )
    np.testing.assert_allclose(nearly, none, rtol=1e-12, atol=1e-300)


def test_weights_of_rows_and_of_queries_multiply():
    weights, rows = np.array([1.0, 2.0, 0.5, 3.0]), GROUPS.per_document(np.array([2.0, 1.0, 3.0, 0.25]))
    plain, weighed = (SoftObjective("ndcg@2", losses=LOSSES, query_weight=given) for given in (None, weights))
    found = weighed.gradient_curvature(weighed.prepare(Y, GROUPS), S, rows)
    wanted = plain.gradient_curvature(plain.prepare(Y, GROUPS), S, rows * GROUPS.per_document(weights))
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)


def test_scores_that_are_beyond_all_numbers_in_units_of_sigma():
    """Documents are then as far apart as can be."""
    losses = {name: weight for name, weight in LOSSES.items() if name != "queryrmse"}  # whose pull is the distance
    objective = SoftObjective("ndcg@2", losses=losses, sigma=1e-300)
    found = objective.gradient_curvature(objective.prepare(Y, GROUPS), 1e10 * S)
    assert np.isfinite(found).all()


def test_a_part_of_the_data_need_not_teach_the_losses_either():
    objective = SoftObjective("ndcg@2", losses=LOSSES)
    gradient, _ = objective.gradient_curvature(objective.prepare(np.ones(19), GROUPS, part=True), S)
    assert np.isfinite(gradient).all()
    with pytest.raises(ValueError, match="there is nothing to learn"):
        objective.prepare(np.ones(19), GROUPS)


def test_rows_weigh_as_their_queries_would_and_none_as_if_left_out():
    weights = np.array([1.0, 2.0, 0.0, 3.0])
    plain, weighed = (SoftObjective("ndcg@2", losses=LOSSES, query_weight=given) for given in (None, weights))
    rows = GROUPS.per_document(weights)
    found = np.array(plain.gradient_curvature(plain.prepare(Y, GROUPS), S, rows))
    wanted = weighed.gradient_curvature(weighed.prepare(Y, GROUPS), S)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)
    kept, rest = rows > 0, QueryGroups.from_sizes(GROUPS.sizes[weights > 0])
    alone = plain.gradient_curvature(plain.prepare(Y[kept], rest), S[kept], rows[kept])
    np.testing.assert_allclose(found[:, kept], alone, rtol=1e-12)
    assert not found[0, ~kept].any()
    assert found[1, ~kept].max() < 1e-11  # what no curvature is below


@pytest.mark.parametrize("unit", [1e-300, 1.0, 1e300])
def test_a_query_of_weight_3_is_one_that_is_there_three_times(unit):
    weights = np.array([1, 2, 0, 3])
    objective = SoftObjective("ndcg@2", mix={"kendall": 0.3}, losses=LOSSES)
    rows = GROUPS.per_document(weights)
    found = np.array(objective.gradient_curvature(objective.prepare(Y, GROUPS), S, unit * rows)) / unit
    starts = GROUPS.offsets[:-1]
    copies = np.repeat(np.arange(4), weights)
    documents = np.concatenate([starts[q] + np.arange(GROUPS.sizes[q]) for q in copies])
    there = QueryGroups.from_sizes(GROUPS.sizes[copies])
    repeated = np.array(objective.gradient_curvature(objective.prepare(Y[documents], there), S[documents]))
    summed = np.array([np.bincount(documents, part, Y.size) for part in repeated])
    told = 1 if unit < 1.0 else 2  # no curvature is below 1e-12
    np.testing.assert_allclose(found[:told], summed[:told], rtol=1e-9, atol=1e-9)


def lightgbm_derivatives(weights, **options):
    given = None if weights is None else GROUPS.per_document(weights)
    data = lightgbm.Dataset(S[:, None], Y, group=GROUPS.sizes, weight=given).construct()
    return bl.objective("ndcg@2", losses=LOSSES, **options)(S, data)


def xgboost_derivatives(weights, **options):
    data = xgboost.DMatrix(S[:, None], Y, group=GROUPS.sizes, weight=weights)
    return bx.objective("ndcg@2", losses=LOSSES, **options)(S, data)


@pytest.mark.parametrize("derivatives", [lightgbm_derivatives, xgboost_derivatives])
def test_weights_of_the_data_are_those_of_the_objective(derivatives):
    weights = np.array([1.0, 2.0, 0.25, 3.0])
    of_the_data, of_the_objective = derivatives(weights), derivatives(None, query_weight=weights)
    np.testing.assert_allclose(of_the_data, of_the_objective, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("rows", [None, np.linspace(0.5, 2.0, S.size)])
def test_arrays_that_go_round_are_nobody_elses(rows):
    """What was returned stays as it is, and several threads may share an objective and its queries."""
    objective = SoftObjective("ndcg@2", mix={"kendall": 0.3}, losses=LOSSES)
    many = RNG.normal(size=(40, S.size))
    wanted = [np.array(objective.gradient_curvature(objective.prepare(Y, GROUPS), s, rows)) for s in many]
    queries = objective.prepare(Y, GROUPS)
    one_by_one = [objective.gradient_curvature(queries, s, rows) for s in many]
    np.testing.assert_array_equal(one_by_one, wanted)
    with ThreadPoolExecutor(4) as threads:
        at_once = list(threads.map(lambda s: objective.gradient_curvature(queries, s, rows), many))
    np.testing.assert_array_equal(at_once, wanted)
    assert 0 < len(queries.spare) <= 4 * 8


@pytest.mark.parametrize("losses", [{"xendcg": 1.0}, {"ranknet": 1.0}])
def test_sigma_is_but_the_unit_of_the_scores(losses):
    one, three = (SoftObjective("ndcg@2", losses=losses, sigma=sigma) for sigma in (1.0, 3.0))
    gradient, curvature = one.gradient_curvature(one.prepare(Y, GROUPS), S)
    wide, same = three.gradient_curvature(three.prepare(Y, GROUPS), 3.0 * S)
    np.testing.assert_allclose(wide, 3.0 * gradient, rtol=1e-6)
    np.testing.assert_allclose(same, curvature, rtol=1e-6)


@pytest.mark.parametrize("sigma", [1e-160, 1e-159, 1e-90, 1e90, 1e160])
def test_a_sigma_whose_square_is_no_float_weighs_losses_alike(sigma):
    one, far = (SoftObjective("ndcg@2", losses={"xendcg": 1.0}, sigma=s) for s in (1.0, sigma))
    gradient, curvature = one.gradient_curvature(one.prepare(Y, GROUPS), S)
    found, same = far.gradient_curvature(far.prepare(Y, GROUPS), sigma * S)
    np.testing.assert_allclose(found / sigma, gradient, rtol=1e-6)
    np.testing.assert_allclose(same, curvature, rtol=1e-6)


def test_a_pair_far_out_of_order_is_pulled_still():
    """Which the exact gradient of a narrow noise does not."""
    labels, scores, groups = np.array([0, 2, 0, 2]), np.array([40.0, -40.0, 0.0, 1.0]), QueryGroups.from_sizes([2, 2])
    bare, beside = (SoftObjective("ndcg@1", losses=losses) for losses in (None, {"ranknet": 1.0}))
    assert abs(bare.gradient_curvature(bare.prepare(labels, groups), scores)[0][1]) < 1e-12
    gradient, curvature = beside.gradient_curvature(beside.prepare(labels, groups), scores)
    assert gradient[1] > 0.01 > -0.01 > gradient[0]
    assert (curvature > 0).all()


def test_where_a_loss_has_nothing_to_say_the_metrics_speak_alone():
    """One relevant document, far ahead: RankNet's table ends, and its gradient is 0."""
    labels, groups = np.array([1, 0]), QueryGroups.from_sizes([2])
    scores = np.array([1000.0, 0.0])
    bare, beside = (SoftObjective("ndcg@1", losses=losses) for losses in (None, {"ranknet": 1.0}))
    for found, wanted in zip(
        beside.gradient_curvature(beside.prepare(labels, groups), scores),
        bare.gradient_curvature(bare.prepare(labels, groups), scores),
        strict=True,
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-11)


def test_it_is_a_value():
    one = SoftObjective("ndcg@2", losses=LOSSES)
    assert one == SoftObjective("ndcg@2", losses=dict(LOSSES))
    assert hash(one) == hash(SoftObjective("ndcg@2", losses=dict(LOSSES)))
    assert one != SoftObjective("ndcg@2")
    assert one != SoftObjective("ndcg@2", losses={**LOSSES, "xendcg": 2.0})
    assert pickle.loads(pickle.dumps(one)) == one
    assert SoftObjective("ndcg@2", losses={}) == SoftObjective("ndcg@2")


@pytest.mark.parametrize(
    ("losses", "error", "says"),
    [
        ("xendcg", TypeError, "SoftObjective: losses must be a mapping from names of losses to weights; got 'xendcg'"),
        ({"xendcg": 0.0}, ValueError, r"SoftObjective: losses\['xendcg'\] must be .*; got 0.0"),
        ({"xendgc": 1.0}, ValueError, "SoftObjective: losses must be .*xendcg.*; got 'xendgc'"),
        ({3: 1.0}, (TypeError, ValueError), "SoftObjective: losses .*got 3"),
    ],
)
def test_errors(losses, error, says):
    with pytest.raises(error, match=says):
        SoftObjective("ndcg@2", losses=losses)


@pytest.mark.parametrize("name", ["xendcg", "ranknet"])
def test_labels_that_a_loss_refuses_are_named_by_the_objective(name):
    objective = SoftObjective("auc", losses={name: 1.0})
    wanted = rf"^SoftObjective\.prepare: losses\['{name}'\]: ndcg needs gains of at least 0; got -0\.5"
    with pytest.raises(ValueError, match=wanted):
        objective.prepare([-1, 1], QueryGroups.from_sizes([2]))


def test_both_boosters_and_the_ranker_take_them():
    lgb, xgb = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    import boostsoft.lightgbm as bl
    import boostsoft.xgboost as bx

    X = RNG.normal(size=(200, 3))
    y, sizes = np.digitize(X[:, 0] + 0.3 * X[:, 1], [0.2, 1.0]), [20] * 10
    losses = {"xendcg": 1.0, "ranknet": 1.0}
    params = {"metric": "None", "verbose": -1, "min_data_in_leaf": 5}
    train = lgb.Dataset(X, y, group=sizes)
    booster = lgb.train({**params, "objective": bl.objective("ndcg@5", losses=losses)}, train, 10)
    ranker = lgb.LGBMRanker(
        objective=bl.sklearn_objective("ndcg@5", losses=losses), n_estimators=10, min_child_samples=5, metric="None"
    )
    np.testing.assert_allclose(ranker.fit(X, y, group=sizes).predict(X), booster.predict(X), rtol=1e-6)
    bare = lgb.train({**params, "objective": bl.objective("ndcg@5")}, lgb.Dataset(X, y, group=sizes), 10)
    assert not np.allclose(bare.predict(X), booster.predict(X))
    matrix = xgb.DMatrix(X, y, group=sizes)
    trees = bx.train({}, matrix, 10, obj=bx.objective("ndcg@5", losses=losses), verbose_eval=False)
    soft = SoftRanker(
        metric="ndcg@5", mix=None, noise="gaussian", losses=losses, n_estimators=10, min_child_samples=5,
        random_trees=False, reg_lambda=0.0, n_boosters=1,
    )  # fmt: skip
    soft.fit(X, y, group=sizes)
    np.testing.assert_allclose(soft.predict(X), booster.predict(X), rtol=1e-6)
    for scores in (booster.predict(X), trees.predict(matrix)):
        assert Metric("ndcg@5")(y, scores, group=sizes) > 0.8
