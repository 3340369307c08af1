"""LambdaRank and RankNet: the oracle's numbers, LightGBM's own, and the same trees as LightGBM grows."""

from __future__ import annotations

import pickle
from itertools import product

import lightgbm
import numpy as np
import pytest

import boostsoft.lightgbm as bl
from boostsoft import Metric, QueryGroups
from boostsoft.kernels import threads
from boostsoft.objectives import LambdaObjective

from . import oracle
from .lightgbm_cases import training_data
from .test_oracle_lambdarank import lightgbm_derivatives

SIZES = [1, 7, 12, 5, 20, 40]
GROUPS = QueryGroups.from_sizes(SIZES)
QUIET = {"verbose": -1, "num_threads": 1, "deterministic": True, "force_row_wise": True}


def ranking(seed=0, step=None):
    rng = np.random.default_rng(seed)
    labels, scores = rng.integers(0, 5, GROUPS.n_docs), rng.normal(size=GROUPS.n_docs)
    labels[1:8] = 0
    return labels, scores if step is None else step * np.round(scores / step)


def evaluate(objective, labels, scores, groups=GROUPS):
    return objective.gradient_curvature(objective.prepare(labels, groups), np.asarray(scores, dtype=float))


def per_query(function, labels, scores, **options):
    """The oracle's gradient, which is to be minimised, and its Hessian, query by query."""
    parts = zip(np.split(labels, GROUPS.offsets[1:-1]), np.split(scores, GROUPS.offsets[1:-1]), strict=True)
    gradient, hessian = zip(*(function(*part, **options) for part in parts), strict=True)
    return -np.concatenate(gradient), np.concatenate(hessian)


@pytest.mark.parametrize(("norm", "sigmoid", "level"), list(product([True, False], [0.3, 1.0, 2.0], [1, 3, 30])))
@pytest.mark.parametrize("step", [None, 0.5, 100.0], ids=["distinct", "some tied", "all tied"])
def test_lambdarank_is_the_oracles(norm, sigmoid, level, step):
    labels, scores = ranking(1, step)
    found = evaluate(LambdaObjective(truncation_level=level, norm=norm, sigmoid=sigmoid), labels, scores)
    wanted = per_query(oracle.lambdarank, labels, scores, truncation_level=level, norm=norm, sigmoid=sigmoid)
    np.testing.assert_allclose(found[0], wanted[0], rtol=0, atol=1e-13 * np.abs(wanted[0]).max())
    np.testing.assert_allclose(found[1], wanted[1], rtol=0, atol=1e-13 * wanted[1].max())


@pytest.mark.parametrize("far", [1e3, 1e14, 1e16, 1e30, 1e300])
def test_lambdarank_of_scores_beyond_all_places_of_the_table(far):
    """A pair that far in order pulls as little as the table's last place says, not as much as its first."""
    found = evaluate(LambdaObjective(norm=False), [2, 1], [far, -far], QueryGroups.from_sizes([2]))
    gradient, hessian = oracle.lambdarank([2, 1], [far, -far], norm=False)
    np.testing.assert_allclose(found[0], -gradient, rtol=1e-12)
    np.testing.assert_allclose(found[1], hessian, rtol=1e-12)


@pytest.mark.parametrize("sigmoid", [0.5, 1.0])
@pytest.mark.parametrize("spread", [1.0, 40.0, 1e4, "one query"])
def test_ranknet_is_the_oracles(spread, sigmoid):
    """Also where the exponentials of scores are no numbers any more, in all queries or in one of them."""
    labels, scores = ranking(2)
    if spread == "one query":
        scores[8:20] *= 1e4
    else:
        scores *= spread
    found = evaluate(LambdaObjective("ranknet", sigmoid=sigmoid), labels, scores)
    wanted = per_query(oracle.ranknet, labels, scores, sigmoid=sigmoid)
    np.testing.assert_allclose(found[0], wanted[0], rtol=0, atol=1e-12 * np.abs(wanted[0]).max())
    np.testing.assert_allclose(found[1], wanted[1], rtol=0, atol=1e-12 * wanted[1].max())


@pytest.mark.parametrize("far", [590.0, 650.0, 720.0, 1500.0])
def test_ranknet_of_documents_far_below_another_one(far):
    """Of the pair down there one is nearly sure to be wrong, though neither's exponential may be a number."""
    labels, scores = np.array([0, 1, 2]), np.array([0.0, -far, -far - 4.0])
    found = evaluate(LambdaObjective("ranknet"), labels, scores, QueryGroups.from_sizes([3]))
    gradient, hessian = oracle.ranknet(labels, scores)
    np.testing.assert_allclose(found[0], -gradient, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found[1], hessian, rtol=1e-12, atol=1e-15)


def test_ranknet_is_the_same_on_several_threads(monkeypatch):
    """Also where one range of queries holds scores too far apart for their exponentials."""
    labels, scores = ranking(2)
    scores[8:20] *= 1e4
    with threads.at_most(1):
        wanted = evaluate(LambdaObjective("ranknet"), labels, scores)
    monkeypatch.setattr(threads, "_by_numba", lambda: 4)
    monkeypatch.setattr(threads, "_NANOSECONDS_PER_THREAD", 1e-9)
    np.testing.assert_array_equal(evaluate(LambdaObjective("ranknet"), labels, scores), wanted)


@pytest.mark.parametrize(
    ("norm", "sigmoid", "level", "gain"),
    [(True, 1.0, 30, "exp2"), (False, 1.0, 5, "exp2"), (True, 2.0, 3, "exp2"), (False, 0.5, 30, (0, 1, 3, 4, 10))],
)
def test_gradient_and_hessian_are_lightgbms_to_a_millionth(norm, sigmoid, level, gain):
    """LightGBM adds up in float32. Where its gradient is 0, its Hessian cannot be read (NaN)."""
    labels, scores = ranking(3)
    options = {"lambdarank_truncation_level": level, "lambdarank_norm": norm, "sigmoid": sigmoid}
    if gain != "exp2":
        options["label_gain"] = list(gain)
    theirs = lightgbm_derivatives(labels, scores, SIZES, **options)
    ours = evaluate(LambdaObjective(truncation_level=level, norm=norm, sigmoid=sigmoid, gain=gain), labels, scores)
    known = np.isfinite(theirs[1])
    assert known.mean() > 0.7
    np.testing.assert_allclose(-ours[0], theirs[0], rtol=0, atol=1e-6 * np.abs(theirs[0]).max())
    np.testing.assert_allclose(ours[1][known], theirs[1][known], rtol=0, atol=1e-6 * theirs[1][known].max())


def test_lightgbm_grows_the_same_model_with_it_as_with_its_own():
    X, y, sizes = training_data()
    params = {**QUIET, "num_leaves": 7, "min_data_in_leaf": 5}
    own = lightgbm.train({**params, "objective": "lambdarank"}, lightgbm.Dataset(X, y, group=sizes), 15)
    ours = lightgbm.train(
        {**params, "objective": bl.reference_objective("lambdarank")}, lightgbm.Dataset(X, y, group=sizes), 15
    )
    np.testing.assert_allclose(ours.predict(X), own.predict(X, raw_score=True), atol=1e-4)
    ranker = lightgbm.LGBMRanker(
        objective=bl.sklearn_reference_objective("lambdarank"), n_estimators=15, num_leaves=7, min_child_samples=5,
        metric="None", n_jobs=1, verbose=-1,
    )  # fmt: skip
    ranker.fit(X, y, group=sizes)
    np.testing.assert_allclose(ranker.predict(X), ours.predict(X), atol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_splits_that_tie_in_lightgbm_tie_here(seed):
    """Documents without a pair above the truncation have no curvature: a little in its place decided between splits."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 40, 60)
    X = rng.normal(size=(sizes.sum(), 6))
    y = np.clip(np.round(X[:, 0] + rng.normal(size=len(X))), 0, 4)
    params = {**QUIET, "num_leaves": 7, "sigmoid": 2.0, "lambdarank_truncation_level": 5, "lambdarank_norm": False}
    rule = bl.reference_objective("lambdarank", truncation_level=5, norm=False, sigmoid=2.0)
    models = [
        lightgbm.train({**params, "objective": objective}, lightgbm.Dataset(X, y, group=sizes), 15)
        for objective in ("lambdarank", rule)
    ]
    np.testing.assert_allclose(models[1].predict(X), models[0].predict(X, raw_score=True), atol=1e-6)


def test_row_weights_multiply_as_in_lightgbms_own():
    X, y, sizes = training_data()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 400)
    models = []
    for objective in ("lambdarank", bl.reference_objective("lambdarank")):
        data = lightgbm.Dataset(X, y, group=sizes, weight=weights)
        models.append(lightgbm.train({**QUIET, "objective": objective, "num_leaves": 7}, data, 5))
    np.testing.assert_allclose(models[1].predict(X), models[0].predict(X, raw_score=True), atol=1e-4)


@pytest.mark.parametrize("kind", ["lambdarank", "ranknet"])
def test_xgboost_learns_from_it(kind):
    xgboost = pytest.importorskip("xgboost")
    import boostsoft.xgboost as bx

    X, y, sizes = training_data()
    data = xgboost.DMatrix(X, y, group=sizes)
    # lambdarank's curvatures are far below what min_child_weight=1 expects
    params = {"base_score": 0, "disable_default_eval_metric": True, "min_child_weight": 0.0, "max_depth": 3}
    model = xgboost.train(params, data, 30, obj=bx.reference_objective(kind))
    ndcg = Metric("ndcg@10")
    start = ndcg(y, np.zeros(400), group=sizes)
    assert ndcg(y, model.predict(data), group=sizes) > start + 0.2


def test_query_weights_multiply_and_a_query_alone_contributes_the_same():
    labels, scores = ranking(5)
    weights = [1.0, 1.0, 2.0, 0.0, 0.5, 3.0]
    plain = evaluate(LambdaObjective(), labels, scores)
    weighted = evaluate(LambdaObjective(query_weight=weights), labels, scores)
    np.testing.assert_allclose(weighted[0], plain[0] * np.repeat(weights, SIZES), rtol=1e-15)
    alone = evaluate(LambdaObjective(), labels[-40:], scores[-40:], QueryGroups.from_sizes([40]))
    np.testing.assert_array_equal(alone[0], plain[0][-40:])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"kind": "listnet"},
            ValueError,
            "LambdaObjective: kind must be one of 'lambdarank', 'ranknet'; got 'list",
        ),
        ({"truncation_level": 0}, ValueError, r"LambdaObjective: truncation_level must be from 1 to 2\^53; got 0"),
        ({"truncation_level": 2.5}, TypeError, "LambdaObjective: truncation_level must be a whole number; got 2.5"),
        ({"kind": "ranknet", "norm": True}, TypeError, "LambdaObjective: truncation_level and norm belong to lamb"),
        (
            {"kind": "ranknet", "truncation_level": 30},
            TypeError,
            "truncation_level and norm belong to lambdarank; rank",
        ),
        ({"norm": 1}, TypeError, "LambdaObjective: norm must be True or False; got 1"),
        ({"sigmoid": 0.0}, ValueError, "LambdaObjective: sigmoid must be finite and above 0; got 0.0"),
        ({"gain": "square"}, ValueError, "LambdaObjective: gain must be one of 'exp2', 'linear'; got 'square'"),
    ],
)
def test_bad_options_are_named(options, error, message):
    with pytest.raises(error, match=message):
        LambdaObjective(**options)


def test_bad_labels_are_named():
    objective = LambdaObjective(gain=[0.0, 2.0, 1.0])
    with pytest.raises(ValueError, match=r"^LambdaObjective\.prepare: gain must not fall with the label"):
        objective.prepare([0, 1, 2], QueryGroups.from_sizes([3]))
    with pytest.raises(ValueError, match=r"^LambdaObjective\.prepare: there is nothing to learn"):
        objective.prepare([1, 1, 0], QueryGroups.from_sizes([2, 1]))


def test_defaults_are_lightgbms():
    assert LambdaObjective() == LambdaObjective("lambdarank", truncation_level=30, norm=True, sigmoid=1.0, gain="exp2")


def test_it_is_a_value():
    one = LambdaObjective(truncation_level=10, query_weight=np.array([1.0, 2.0]))
    assert one == pickle.loads(pickle.dumps(one))
    assert hash(one) == hash(LambdaObjective(truncation_level=10, query_weight=[1, 2]))
    assert one != LambdaObjective(truncation_level=10)
