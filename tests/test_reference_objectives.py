"""The reference objectives: derivatives of their losses, what their authors' code computes, and limits."""

from __future__ import annotations

import copy
import pickle

import lightgbm
import numpy as np
import pytest

import boostsoft.lightgbm as bl
from boostsoft import Metric, QueryGroups
from boostsoft.objectives import (
    REFERENCES,
    LambdaLossObjective,
    LambdaObjective,
    ListNetObjective,
    QueryRMSEObjective,
    SoftLambdaObjective,
    SoftmaxObjective,
    SoftObjective,
    XENDCGObjective,
    reference_objective,
)
from boostsoft.objectives.draws import uniform_draws

from . import oracle
from .lightgbm_cases import training_data
from .test_oracle_lambdarank import lightgbm_derivatives

SIZES = [1, 7, 0, 12, 5, 20]
GROUPS = QueryGroups.from_sizes(SIZES)
LISTWISE = {"softmax": {}, "listnet": {}, "xendcg": {"gamma": "expected"}, "queryrmse": {}}
PAIRWISE = {"lambdaloss": {}, "softlambda": {"accuracy": "default"}}
OURS = LISTWISE | PAIRWISE
every_kind = pytest.mark.parametrize("kind", OURS)


def ranking(seed=0):
    """Labels 0 to 4 and scores: a single document, a query of equal labels, none at all, ties."""
    rng = np.random.default_rng(seed)
    labels, scores = rng.integers(0, 5, GROUPS.n_docs), rng.normal(size=GROUPS.n_docs)
    labels[1:8] = 2
    scores[8:20] = np.round(scores[8:20])
    return labels, scores


def rule(kind, **options):
    return reference_objective(kind, **(OURS.get(kind, {}) | options))


def evaluate(objective, labels, scores, groups=GROUPS, rows=None):
    return objective.gradient_curvature(objective.prepare(labels, groups), np.asarray(scores, dtype=float), rows)


def alone(objective, labels, scores, rows=None):
    """One query, whose labels may be all equal."""
    groups = QueryGroups.from_sizes([len(labels)])
    queries = objective.prepare(labels, groups, part=True)
    return objective.gradient_curvature(queries, np.asarray(scores, dtype=float), rows)


def slopes(loss, scores, h=1e-4):
    """Minus the gradient of a loss, and the diagonal of its Hessian, by central differences."""
    gradient, hessian, mid = np.zeros(scores.size), np.zeros(scores.size), loss(scores)
    for m, unit in enumerate(np.eye(scores.size)):
        low, high = loss(scores - h * unit), loss(scores + h * unit)
        gradient[m], hessian[m] = (low - high) / (2 * h), (high - 2 * mid + low) / h**2
    return gradient, hessian


def query(seed, n=9):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, n)
    labels[:2] = 0, 3
    return labels, np.round(rng.normal(size=n), 1)


def assert_derivatives(found, wanted):
    np.testing.assert_allclose(found[0], wanted[0], rtol=0, atol=1e-7 * np.abs(wanted[0]).max())
    np.testing.assert_allclose(found[1], wanted[1], rtol=0, atol=3e-6 * np.abs(wanted[1]).max())


# Derivatives of the stated losses


@pytest.mark.parametrize(
    ("mu", "sigmoid", "level"), [(10.0, 1.0, None), (0.0, 1.0, None), (2.5, 0.6, None), (3.0, 1.0, 4)]
)
def test_lambdaloss_is_the_derivative_of_its_loss_at_fixed_ranks(mu, sigmoid, level):
    labels, scores = query(1)
    ranks = np.empty(9, int)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, 10)
    found = alone(LambdaLossObjective(mu=mu, sigmoid=sigmoid, truncation_level=level), labels, scores)
    assert_derivatives(found, slopes(lambda s: oracle.lambdaloss(labels, s, ranks, mu, sigmoid, level), scores))


def test_lambdaloss_without_distances_is_lambdarank():
    labels, scores = ranking(2)
    found = evaluate(LambdaLossObjective(mu=0.0, truncation_level=5), labels, scores)
    wanted = evaluate(LambdaObjective(truncation_level=5, norm=False), labels, scores)
    for ours, theirs in zip(found, wanted, strict=True):  # which reads its logistic function from a table
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4 * np.abs(theirs).max())


@pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
def test_listnet_is_the_derivative_of_its_loss(temperature):
    labels, scores = query(3)
    found = alone(ListNetObjective(temperature=temperature), labels, scores)
    assert_derivatives(found, slopes(lambda s: oracle.listnet(labels, s, temperature), scores))


@pytest.mark.parametrize("seed", [3, 6])
def test_softmax_is_the_derivative_of_its_loss(seed):
    labels, scores = query(seed)
    found = alone(SoftmaxObjective(), labels, scores)
    assert_derivatives(found, slopes(lambda s: oracle.cross_entropy(labels, s), scores))


def test_xendcg_with_one_term_is_the_derivative_of_its_loss():
    labels, scores = query(4)
    gammas = np.random.default_rng(0).uniform(size=9)
    found = alone(XENDCGObjective(gamma=gammas, terms=1), labels, scores)
    assert_derivatives(found, slopes(lambda s: oracle.xendcg(labels, s, gammas), scores))
    halves = alone(XENDCGObjective(gamma="expected", terms=1), labels, scores)
    assert_derivatives(halves, slopes(lambda s: oracle.xendcg(labels, s, np.full(9, 0.5)), scores))


def test_queryrmse_is_the_derivative_of_its_loss_and_its_curvature_a_bound():
    labels, scores = query(5)
    rows = np.random.default_rng(1).uniform(0.5, 2.0, 9)
    for weights in (None, rows):
        used = np.ones(9) if weights is None else weights
        gradient, curvature = alone(QueryRMSEObjective(), labels, scores, weights)
        wanted, hessian = slopes(lambda s, w=used: oracle.queryrmse(labels, s, w), scores)
        np.testing.assert_allclose(gradient, wanted, rtol=0, atol=1e-7)
        np.testing.assert_allclose(hessian, used - used**2 / used.sum(), rtol=1e-5)
        np.testing.assert_array_equal(curvature, used)
        assert np.linalg.eigvalsh(np.diag(curvature) - np.diag(used) + np.outer(used, used) / used.sum()).min() > -1e-12


# The authors' own


@pytest.mark.parametrize("terms", [1, 2, 3])
def test_xendcg_keeps_the_terms_of_a_newton_step(terms):
    labels, scores = query(6)
    gammas = np.random.default_rng(2).uniform(size=9)
    found = alone(XENDCGObjective(gamma=gammas, terms=terms), labels, scores)
    wanted = oracle.xendcg_newton(labels, scores, gammas, terms)
    np.testing.assert_allclose(found[0], -wanted[0], rtol=0, atol=1e-13)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-12)


@pytest.mark.parametrize("seed", [5, 17])
def test_xendcg_is_lightgbms_given_its_gammas(seed):
    """LightGBM computes in float32. Where its gradient is 0, its Hessian cannot be read (NaN)."""
    labels, scores = ranking(7)
    sizes = [n for n in SIZES if n]
    theirs = lightgbm_derivatives(labels, scores, sizes, objective="rank_xendcg", objective_seed=seed)
    gammas = oracle.lightgbm_gammas(sizes, 0, seed)
    ours = evaluate(XENDCGObjective(gamma=gammas), labels, scores, QueryGroups.from_sizes(sizes))
    known = np.isfinite(theirs[1])
    assert known.sum() == GROUPS.n_docs - 1
    np.testing.assert_allclose(-ours[0], theirs[0], rtol=0, atol=1e-6 * np.abs(theirs[0]).max())
    np.testing.assert_allclose(ours[1][known], theirs[1][known], rtol=0, atol=1e-6 * theirs[1][known].max())


class LightGBMsGammas:
    """XE-NDCG with the gammas of LightGBM's own, iteration by iteration."""

    def __init__(self, sizes):
        self.sizes, self.iteration = sizes, -1

    def __call__(self, preds, data):
        self.iteration += 1
        gammas = oracle.lightgbm_gammas(self.sizes, self.iteration)
        return bl.reference_objective("xendcg", gamma=gammas)(preds, data)


QUIET = {"verbose": -1, "num_threads": 1, "deterministic": True, "force_row_wise": True, "num_leaves": 7}


def test_lightgbm_grows_the_same_model_with_it_as_with_its_own():
    X, y, sizes = training_data()
    params = {**QUIET, "min_data_in_leaf": 5}
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 400)
    for weight in (None, weights):
        models = [
            lightgbm.train({**params, "objective": objective}, lightgbm.Dataset(X, y, group=sizes, weight=weight), 12)
            for objective in ("rank_xendcg", LightGBMsGammas(sizes))
        ]
        np.testing.assert_allclose(models[1].predict(X), models[0].predict(X, raw_score=True), atol=1e-4)


def test_queryrmse_of_scores_whose_difference_is_no_number():
    labels, groups = [1, 0, 0], QueryGroups.from_sizes([3])
    for scores in ([1e308, -1.7e308, 1e308], [-1.7e308, 1e308, 1e308], [0.0, 1.7e308, -1.7e308]):
        gradient, curvature = evaluate(QueryRMSEObjective(), labels, np.array(scores), groups, None)
        assert np.array_equal(np.argsort(gradient), np.argsort(-np.array(scores)))
        assert np.isfinite(gradient).all()
        assert np.array_equal(curvature, np.ones(3))
        both = SoftObjective("ndcg", losses={"queryrmse": 1.0})
        assert all(np.isfinite(part).all() for part in evaluate(both, labels, np.array(scores), groups, None))
    gradient, _ = evaluate(QueryRMSEObjective(), labels, np.array([3e299, 0.0, 0.0]), groups, None)
    np.testing.assert_allclose(gradient, [-2e299, 1e299, 1e299], rtol=1e-14)


def test_queryrmse_goes_where_catboosts_goes():
    """One tree of one leaf for each document, one gradient step: what CatBoost adds to the scores."""
    catboost = pytest.importorskip("catboost")
    labels, scores = query(8, 8)
    rows = np.repeat([1.0, 2.0], 4)  # CatBoost's group weights
    X = np.array([[(i >> bit) & 1 for bit in range(3)] for i in range(8)], float)
    pool = catboost.Pool(X, labels, group_id=[0] * 4 + [1] * 4, group_weight=rows, baseline=scores)
    model = catboost.CatBoost(
        {
            "loss_function": "QueryRMSE", "iterations": 1, "depth": 3, "learning_rate": 1.0, "l2_leaf_reg": 0.0,
            "leaf_estimation_method": "Newton", "leaf_estimation_iterations": 1, "random_strength": 0,
            "bootstrap_type": "No", "boost_from_average": False, "thread_count": 1, "verbose": False,
            "allow_writing_files": False,
        }
    ).fit(pool)  # fmt: skip
    step = model.predict(X)
    gradient, curvature = evaluate(QueryRMSEObjective(), labels, scores, QueryGroups.from_sizes([4, 4]), rows)
    np.testing.assert_allclose(step, gradient / curvature, atol=1e-5)


# What holds for all


@every_kind
def test_directions_add_up_to_zero_and_curvatures_are_positive(kind):
    labels, scores = ranking()
    gradient, curvature = evaluate(rule(kind), labels, scores)
    assert np.abs(gradient).max() > 0.1
    assert (curvature > 0).all()
    np.testing.assert_allclose(GROUPS.sums(gradient), 0.0, atol=1e-12 * np.abs(gradient).max())


@every_kind
def test_a_shift_of_a_querys_scores_changes_nothing(kind):
    labels, scores = ranking()
    shifts = np.repeat([4.0, -64.0, 0.0, 1024.0, 0.5, 8.0], SIZES)
    scores = np.round(scores * 2**20) / 2**20  # so that shifted scores keep their differences
    for before, after in zip(
        evaluate(rule(kind), labels, scores), evaluate(rule(kind), labels, scores + shifts), strict=True
    ):
        np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-11)


@every_kind
def test_one_document_and_equal_labels(kind):
    labels, scores = ranking()
    gradient, curvature = evaluate(rule(kind), labels, scores)
    assert gradient[0] == 0
    assert curvature[0] > 0
    if kind in PAIRWISE:
        assert not gradient[1:8].any()
    equal, _ = alone(rule(kind), [2, 2, 2], [0.5, 0.5, 0.5])
    np.testing.assert_allclose(equal, 0.0, atol=1e-15)


@pytest.mark.parametrize("kind", LISTWISE)
def test_lists_draw_equal_labels_together(kind):
    gradient, _ = alone(rule(kind), [1, 1], [1.0, -1.0])
    assert gradient[0] < 0 < gradient[1]


@every_kind
@pytest.mark.parametrize("size", [1e3, 1e8, 1e300])
def test_huge_scores_do_not_overflow(kind, size):
    labels = np.array([0, 3, 1, 0, 2, 4])
    spread, falling = [1, -1, 0.5, 0.5, 0.999, -1], np.linspace(1, -1, 6)
    for scores in (spread, falling, falling[::-1], [0, 0, 0, 0, 0, 1], [0, 1, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1]):
        with np.errstate(all="raise", under="ignore"):
            gradient, curvature = alone(rule(kind), labels, size * np.array(scores, float))
        assert np.isfinite(gradient).all()
        assert np.isfinite(curvature).all()
        assert (curvature > 0).all()
        assert abs(gradient.sum()) <= 1e-9 * np.abs(gradient).max() + 1e-12


@pytest.mark.parametrize("kind", REFERENCES)
def test_weighted_numbers_that_underflow_are_no_error(kind):
    labels, scores = ranking()
    weights, rows = np.geomspace(1e-300, 1, 6), np.full(labels.size, 1e-300)
    wanted = evaluate(rule(kind, query_weight=weights), labels, 30 * scores, rows=rows)
    with np.errstate(all="raise"):
        found = evaluate(rule(kind, query_weight=weights), labels, 30 * scores, rows=rows)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("terms", [1, 2, 3])
def test_xendcg_far_from_its_target_is_the_limit_of_its_formula(terms):
    """With rho = 1 for one document, the others' terms tend to a limit: gaps of 30, 300 and 3000 give the same."""
    labels = np.array([0, 3, 1])
    near, far, beyond = (
        alone(XENDCGObjective(gamma="expected", terms=terms), labels, [gap, 0.0, 0.3])[0] for gap in (30, 300, 3000)
    )
    for found in (far, beyond):
        np.testing.assert_allclose(found, near, rtol=1e-9, atol=1e-12)


def test_what_is_left_below_a_document_far_above_keeps_its_digits():
    """The curvature of a document that is all but certainly first: 1 - rho would leave eight digits of it."""
    _, curvature = alone(ListNetObjective(), [1, 0, 0], [20.0, 0.0, -1.0])
    rest = np.exp(-20.0) * (1.0 + np.exp(-1.0))
    np.testing.assert_allclose(curvature[0], rest / (1.0 + rest) ** 2, rtol=1e-13)


@pytest.mark.parametrize("terms", [1, 3])
def test_where_all_targets_are_nothing_there_is_nothing_to_learn(terms):
    gradient, curvature = alone(XENDCGObjective(gamma=[1.0, 1.0], terms=terms), [0, 0], [0.0, np.log(3.0)])
    assert not gradient.any()
    assert (curvature == 1e-12).all()


@pytest.mark.parametrize("unit", [1e-14, 1e-16, 1e-299])
def test_targets_of_next_to_nothing_have_their_shares(unit):
    labels, scores = [2, 0, 1], [0.3, -0.2, 0.0]
    small = alone(XENDCGObjective(gamma=[1.0] * 3, terms=1, gain=(0.0, unit, 2.0 * unit)), labels, scores)
    plain = alone(SoftmaxObjective(gain=(0.0, 1.0, 2.0)), labels, scores)
    np.testing.assert_allclose(small, plain, rtol=1e-12)


def test_softmax_has_nothing_to_say_where_nothing_gains():
    """Its loss is 0 there; XE-NDCG of gamma 1 is the same."""
    labels, scores = ranking()
    labels[8:20] = 0
    found, others = (
        evaluate(o, labels, scores) for o in (SoftmaxObjective(), XENDCGObjective(gamma=[1.0] * 45, terms=1))
    )
    idle = np.zeros(45, bool)
    idle[[0, *range(8, 20)]] = True
    assert not found[0][idle].any()
    assert (found[1][idle] == 1e-12).all()
    for ours, theirs in zip(found, others, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize("unit", [1e-300, 1e-20, 1.0, 1e290])
def test_softmax_takes_gains_of_any_size(unit):
    """In one query beside another whose gains are not of that size."""
    objective, groups = SoftmaxObjective(gain=[0.0, unit, 2.0 * unit, 1.0]), [4, 2]
    gradient, _ = evaluate(objective, [1, 2, 0, 1, 3, 0], np.zeros(6), QueryGroups.from_sizes(groups))
    np.testing.assert_allclose(gradient, [0.0, 1 / 4, -1 / 4, 0.0, 1 / 2, -1 / 2], rtol=1e-14, atol=1e-16)


@every_kind
def test_the_weights_of_rows_are_left_as_they_are(kind):
    labels, scores = query(0)
    rows = np.array([0.0, *np.linspace(0.5, 2.0, 8)])
    given = rows.copy()
    gradient, curvature = alone(rule(kind), labels, scores, rows)
    np.testing.assert_array_equal(rows, given)
    assert gradient[0] == 0.0
    assert 0.0 <= curvature[0] <= 1e-12


def test_listnet_of_gains_that_overflow_over_the_temperature_has_one_target():
    objective = ListNetObjective(temperature=1e-200, gain=[0.0, 1e200])
    found = alone(objective, [0, 1, 0], np.zeros(3))
    np.testing.assert_allclose(found[0], [-1 / 3, 2 / 3, -1 / 3], rtol=1e-15)


@every_kind
def test_a_query_contributes_the_same_among_many(kind):
    labels, scores = ranking()
    found = evaluate(rule(kind), labels, scores)
    rng = np.random.default_rng(1)
    more = evaluate(
        rule(kind),
        np.concatenate([labels, rng.integers(0, 4, 600)]),
        np.concatenate([scores, rng.normal(size=600)]),
        QueryGroups.from_sizes([*SIZES, *[6] * 100]),
    )
    for few, many in zip(found, more, strict=True):
        np.testing.assert_array_equal(few, many[: labels.size])


@every_kind
def test_permuting_the_documents_permutes_the_results(kind):
    labels, scores = ranking()
    scores = scores if kind != "lambdaloss" else np.random.default_rng(0).normal(size=scores.size)  # ties go by place
    rng = np.random.default_rng(2)
    order = np.concatenate([begin + rng.permutation(n) for begin, n in zip(GROUPS.offsets, SIZES, strict=False)])
    for before, after in zip(
        evaluate(rule(kind), labels, scores), evaluate(rule(kind), labels[order], scores[order]), strict=True
    ):
        np.testing.assert_allclose(before[order], after, rtol=1e-9, atol=1e-11)


@every_kind
def test_weights_of_queries_and_of_rows_multiply(kind):
    labels, scores = ranking()
    weights = [1.0, 0.5, 2.0, 0.0, 3.0, 0.25]
    plain, heavy = evaluate(rule(kind), labels, scores), evaluate(rule(kind, query_weight=weights), labels, scores)
    rows = np.repeat(weights, SIZES)
    np.testing.assert_allclose(heavy[0], plain[0] * rows, rtol=1e-14)
    np.testing.assert_allclose(heavy[1], np.maximum(plain[1] * rows, 1e-12), rtol=1e-14)
    by_row = evaluate(rule(kind), labels, scores, rows=rows)
    np.testing.assert_allclose(by_row[0], heavy[0], rtol=1e-12, atol=1e-14)


def test_rows_of_a_query_multiply_one_by_one_but_within_the_mean_of_queryrmse():
    labels, scores = ranking()
    rows = np.random.default_rng(0).uniform(0.1, 3.0, labels.size)
    rows[::4] = 0.0
    for kind in OURS:
        plain, heavy = evaluate(rule(kind), labels, scores), evaluate(rule(kind), labels, scores, rows=rows)
        same = np.allclose(heavy[0], plain[0] * rows, rtol=1e-12, atol=1e-14)
        assert same == (kind != "queryrmse")
        if same:
            np.testing.assert_allclose(heavy[1], plain[1] * rows, rtol=1e-12)
    soft = SoftObjective("ndcg@5")
    np.testing.assert_array_equal(
        evaluate(soft, labels, scores, rows=rows)[0], evaluate(soft, labels, scores)[0] * rows
    )


# The draws


def test_uniform_gammas_are_uniform_and_new_where_a_score_has_moved():
    groups = QueryGroups.from_sizes([0, 100, 1, 19_899])
    scores = np.zeros(20_000)
    draws = uniform_draws(3, groups, scores)
    assert np.array_equal(draws, uniform_draws(3, groups, scores))
    assert 0 <= draws.min() < 1e-3 < 1 - 1e-3 < draws.max() < 1
    assert np.abs(np.quantile(draws, [0.25, 0.5, 0.75]) - [0.25, 0.5, 0.75]).max() < 0.02
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 0.03
    scores[5] = 1e-9
    moved = uniform_draws(3, groups, scores)
    assert (moved[:100] != draws[:100]).all()
    assert np.array_equal(moved[100:], draws[100:])
    assert abs(np.corrcoef(moved[:100], draws[:100])[0, 1]) < 0.3
    assert not np.isin(uniform_draws(4, groups, scores), moved).any()
    assert np.array_equal(uniform_draws(3, groups, np.full(20_000, -0.0)), draws)


@pytest.mark.parametrize("seed", [0, 7, 2**40])
def test_draws_are_splitmix64s(seed):
    sizes = [3, 0, 1, 40]
    scores = np.append(np.random.default_rng(seed).normal(size=41), [-0.0, 0.0, 1e300])
    wanted = oracle.draws(seed, sizes, scores)
    np.testing.assert_array_equal(uniform_draws(seed, QueryGroups.from_sizes(sizes), scores), wanted)


def test_xendcg_draws_by_its_seed():
    labels, scores = ranking()
    one, same, other = (evaluate(XENDCGObjective(seed=seed), labels, scores)[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 1e-3
    groups = QueryGroups.from_sizes([20])
    gammas = uniform_draws(1, groups, scores[-20:])
    drawn, given = (
        evaluate(XENDCGObjective(gamma=gamma, seed=1), labels[-20:], scores[-20:], groups)[0]
        for gamma in ("uniform", gammas)
    )
    np.testing.assert_array_equal(drawn, given)


# In the boosters

EVERY = {**{kind: {} for kind in REFERENCES}, "softlambda": {"metric": "ndcg@5"}}


@pytest.mark.parametrize("kind", EVERY)
def test_lightgbm_learns_from_it(kind):
    X, y, sizes = training_data()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 400)
    ndcg, models = Metric("ndcg@10"), []
    for _ in range(2):
        data = lightgbm.Dataset(X, y, group=sizes, weight=weight)
        objective = bl.reference_objective(kind, **EVERY[kind])
        models.append(lightgbm.train({**QUIET, "objective": objective, "min_data_in_leaf": 5}, data, 20).predict(X))
    np.testing.assert_array_equal(*models)
    assert ndcg(y, models[0], group=sizes) > ndcg(y, np.zeros(400), group=sizes) + 0.2
    ranker = lightgbm.LGBMRanker(
        objective=bl.sklearn_reference_objective(kind, **EVERY[kind]), n_estimators=20, num_leaves=7,
        min_child_samples=5, metric="None", n_jobs=1, verbose=-1, deterministic=True, force_row_wise=True,
    )  # fmt: skip
    ranker.fit(X, y, group=sizes, sample_weight=weight)
    np.testing.assert_allclose(ranker.predict(X), models[0], rtol=1e-6)


@pytest.mark.parametrize("kind", EVERY)
def test_xgboost_learns_from_it(kind):
    xgboost = pytest.importorskip("xgboost")
    import boostsoft.xgboost as bx

    X, y, sizes = training_data()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 20)
    data = xgboost.DMatrix(X, y, group=sizes, weight=weights)
    objective = bx.reference_objective(kind, **EVERY[kind])
    model = bx.train({"min_child_weight": 0.0, "max_depth": 3}, data, 20, obj=objective, verbose_eval=False)
    ndcg = Metric("ndcg@10")
    assert ndcg(y, model.predict(data), group=sizes) > ndcg(y, np.zeros(400), group=sizes) + 0.2
    gradient, hessian = objective(np.zeros(400), data)
    wanted = evaluate(objective.rule, y, np.zeros(400), QueryGroups.from_sizes(sizes))
    np.testing.assert_allclose(gradient, -wanted[0] * np.repeat(data.get_weight(), 20), rtol=1e-12)
    np.testing.assert_allclose(hessian, wanted[1] * np.repeat(data.get_weight(), 20), rtol=1e-12)


# Arguments


@pytest.mark.parametrize(
    ("kind", "options", "error", "message"),
    [
        ("listmle", {}, ValueError, "kind must be one of 'lambdarank', .*; got 'listmle'"),
        ("listnet", {"mu": 1.0}, TypeError, "options of 'listnet' must be among temp.*, query_weight; got 'mu'"),
        ("ranknet", {"kind_": 1}, TypeError, "options of 'ranknet' must be among truncation_level, norm, .*'kind_'"),
        ("listnet", {"temperature": 0.0}, ValueError, "temperature must be finite and above 0; got 0.0"),
        ("lambdaloss", {"mu": -1.0}, ValueError, "mu must not be negative; got -1.0"),
        ("lambdaloss", {"mu": np.inf}, ValueError, "mu must be finite; got inf"),
        ("lambdaloss", {"truncation_level": 0}, ValueError, r"truncation_level must be from 1 to 2\^53; got 0"),
        ("lambdaloss", {"sigmoid": "1"}, TypeError, "sigmoid must be a number; got '1'"),
        ("xendcg", {"gamma": "half"}, ValueError, "gamma must be one of 'uniform', 'expected'; got 'half'"),
        ("xendcg", {"gamma": [0.1, 1.5]}, ValueError, "gamma must be from 0 to 1; got 0.1 to 1.5"),
        ("xendcg", {"gamma": [-0.1, 0.5]}, ValueError, "gamma must be from 0 to 1; got -0.1 to 0.5"),
        ("xendcg", {"terms": 0}, ValueError, "terms must be from 1 to 3; got 0"),
        ("xendcg", {"terms": 4}, ValueError, "terms must be from 1 to 3; got 4"),
        ("xendcg", {"seed": -1}, ValueError, r"seed must be from 0 to 2\^53; got -1"),
        ("softlambda", {"metric": "map"}, ValueError, "metric must be a sum of gain x discount over ranks, .*map"),
        ("softlambda", {"noise": "cauchy"}, ValueError, "noise must be one of 'gaussian', .*; got 'cauchy'"),
        ("softlambda", {"norm": 1}, TypeError, "norm must be True or False; got 1"),
        ("softlambda", {"accuracy": 1}, ValueError, "accuracy must be one of .*; got 1"),
        ("queryrmse", {"query_weight": [np.nan]}, ValueError, "query_weight must be finite; got nan at position 0"),
    ],
)  # fmt: skip
def test_bad_options_are_named(kind, options, error, message):
    with pytest.raises(error, match=f"reference_objective: {message}"):
        reference_objective(kind, **options)


@pytest.mark.parametrize("kind", REFERENCES)
def test_errors_name_what_was_called(kind):
    own = type(REFERENCES[kind]()).__name__
    with pytest.raises(ValueError, match=rf"^{own}: query_weight must be finite; got nan at position 0"):
        REFERENCES[kind](query_weight=[np.nan])
    with pytest.raises(ValueError, match=r"^reference_objective: query_weight must be finite; got nan at position 0"):
        reference_objective(kind, query_weight=[np.nan])


def test_defaults_are_the_papers():
    assert LambdaLossObjective() == LambdaLossObjective(mu=10.0, truncation_level=None, sigmoid=1.0, gain="exp2")
    assert XENDCGObjective() == XENDCGObjective(gamma="uniform", seed=0, terms=3, gain="exp2")
    assert ListNetObjective() == ListNetObjective(temperature=1.0, gain="linear")
    assert SoftmaxObjective() == SoftmaxObjective(gain="exp2")
    assert QueryRMSEObjective() == QueryRMSEObjective(gain="linear")


def test_defaults_are_those_that_the_texts_tell():
    shared = {"noise": "gaussian", "sigma": 1.0, "query_weight": None, "accuracy": "fast"}
    assert SoftLambdaObjective() == SoftLambdaObjective("ndcg@10", sigmoid=1.0, norm=False, **shared)
    assert SoftObjective() == SoftObjective("ndcg@10", mix=None, losses=None, hessian="flow", **shared)


@every_kind
def test_bad_labels_are_named(kind):
    two = QueryGroups.from_sizes([2, 1])
    nothing = r"Objective\.prepare: there is nothing to learn: no query .* has documents of different gain "
    with pytest.raises(ValueError, match=nothing + r"\(gain='(linear|exp2)'\)$"):
        rule(kind).prepare([1, 1, 0], two)
    with pytest.raises(ValueError, match=nothing + r"\(Metric\('recall@2', .*\)\)$"):
        SoftLambdaObjective("recall@2").prepare([1, 1, 0], two)
    with pytest.raises(ValueError, match="there is nothing to learn"):
        rule(kind, query_weight=[0.0, 1.0]).prepare([1, 0, 0], two)
    assert rule(kind).prepare([1, 1, 0], two, part=True).groups == two
    with pytest.raises(ValueError, match=r"Objective\.prepare: y_true must be finite"):
        rule(kind).prepare([1, np.nan, 0], two)
    with pytest.raises(ValueError, match="query_weight must have one value per query, 2; got 3"):
        rule(kind, query_weight=[1, 1, 1]).prepare([1, 0, 0], two)


def test_more_labels_that_do_not_suit():
    two = QueryGroups.from_sizes([2])
    with pytest.raises(ValueError, match=r"^LambdaLossObjective\.prepare: gain must not fall with the label"):
        LambdaLossObjective(gain=[1.0, 0.0]).prepare([0, 1], two)
    with pytest.raises(
        ValueError, match=r"^XENDCGObjective\.prepare: gamma must have one value per document, 2; got 3"
    ):
        XENDCGObjective(gamma=[0.5, 0.5, 0.5]).prepare([0, 1], two)
    with pytest.raises(ValueError, match=r"^XENDCGObjective\.prepare: ndcg needs gains of at least 0; got -1"):
        XENDCGObjective(gain="linear").prepare([-1, 1], two)
    with pytest.raises(ValueError, match=r"^SoftmaxObjective\.prepare: ndcg needs gains of at least 0; got -1"):
        SoftmaxObjective(gain="linear").prepare([-1, 1], two)
    with pytest.raises(ValueError, match=r"^SoftLambdaObjective\.prepare: the discount must not rise"):
        SoftLambdaObjective(Metric("ndcg", discount=[1.0, 2.0])).prepare([0, 1], two)
    for kind in ("listnet", "queryrmse"):  # labels of any sign
        gradient, _ = evaluate(rule(kind), [-3, 2], [0.0, 0.0], two)
        assert gradient[0] < 0


@pytest.mark.parametrize("kind", EVERY)
def test_they_are_values(kind):
    one = reference_objective(kind, query_weight=np.array([1.0, 2.0]), **EVERY[kind])
    assert one == pickle.loads(pickle.dumps(one)) == copy.deepcopy(one)
    assert hash(one) == hash(reference_objective(kind, query_weight=[1, 2], **EVERY[kind]))
    assert one != reference_objective(kind, **EVERY[kind])
    assert str(bl.reference_objective(kind)).startswith("boostsoft.lightgbm.reference_objective(")
    for each in (one, reference_objective(kind)):
        assert eval(repr(each), {type(each).__name__: type(each), "Metric": Metric}) == each


def test_what_is_kept_of_the_labels_is_of_one_temperature():
    labels, scores = ranking()
    cold, warm = ListNetObjective(temperature=0.5), ListNetObjective(temperature=2.0)
    queries = cold.prepare(labels, GROUPS)
    for objective in (cold, warm, cold):
        found = objective.gradient_curvature(queries, scores)
        np.testing.assert_array_equal(found[0], evaluate(objective, labels, scores)[0])
    assert not np.allclose(*(each.gradient_curvature(queries, scores)[0] for each in (cold, warm)))


def test_a_query_on_which_the_metric_is_undefined_pulls_at_nothing():
    """No gain above 0, though they differ: DCG leaves it out."""
    objective = SoftLambdaObjective(Metric("dcg@10", gain="linear"))
    labels, groups = [-1.0, 0.0, 1.0, 0.0], QueryGroups.from_sizes([2, 2])
    gradient, _ = evaluate(objective, labels, np.zeros(4), groups)
    assert gradient[:2].tolist() == [0.0, 0.0]
    assert gradient[2] > 0 > gradient[3]
