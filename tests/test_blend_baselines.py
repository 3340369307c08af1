"""Searches of the hard metric for blend weights: what they promise, each against the metric of a plain product."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import comb

import numpy as np
import pytest
import scipy.optimize

from boostsoft import Metric, QueryGroups
from boostsoft.blending.baselines import METHODS, ascent, grid, reciprocal_ranks
from boostsoft.blending.baselines.evolution import _Run
from boostsoft.blending.baselines.search import HardSearch
from boostsoft.blending.problem import Problem
from boostsoft.metrics.prepared import prepare

from . import blender_cases

UNTRAINED = ("equal", "rrf")
SEARCHES = [name for name in METHODS if name not in UNTRAINED]
SMALL = {
    "grid": {"steps": 6},
    "coordinate-ascent": {"restarts": 2},
    "ltr-ga": {"evaluations": 300},
    "ltr-mga": {"evaluations": 400},
    "random": {"evaluations": 200},
    "equal": {},
    "rrf": {},
}


def make_problem(n_models=3, constraint="simplex", seed=0, n_queries=25, weights=None, turned=(), metric="ndcg@10"):
    """Models of different quality; those of ``turned`` rank the wrong way round."""
    rng = np.random.default_rng(seed)
    groups = QueryGroups.from_sizes(rng.integers(4, 25, n_queries))
    y = rng.choice(3, groups.n_docs, p=[0.7, 0.2, 0.1]).astype(float)
    quality = np.linspace(0.2, 1.0, n_models)
    scores = y[:, None] * quality + rng.normal(size=(groups.n_docs, n_models))
    scores[:, list(turned)] *= -1
    hard = Metric(metric)
    weights = np.ones(n_queries) if weights is None else np.asarray(weights, float)
    return Problem(
        scores, prepare(hard, "t", y, groups), weights, hard, "gaussian", (0.5,), constraint, 0.0
    )  # fmt: skip


def run(name, problem, seed=0, **options):
    told = []
    solution = METHODS[name](problem, np.random.default_rng(seed), told.append, **{**SMALL[name], **options})
    return solution, told


# ---------------------------------------------------------------------------------------------------------
# All of them
# ---------------------------------------------------------------------------------------------------------

every_search = pytest.mark.parametrize("name", SEARCHES)
every_method = pytest.mark.parametrize("name", METHODS)
every_constraint = pytest.mark.parametrize("constraint", ["simplex", "nonnegative", "free"])


@every_method
@every_constraint
def test_weights_are_normalised_and_worth_what_is_said(name, constraint):
    problem = make_problem(constraint=constraint)
    solution, told = run(name, problem)
    assert np.abs(solution.weights).sum() == pytest.approx(1.0, abs=1e-12)
    assert constraint == "free" or (solution.weights >= 0).all()
    assert solution.value == pytest.approx(problem.hard_value(solution.weights), abs=1e-12)
    assert told == sorted(told)
    assert told[-1] == 1.0 or name == "ltr-mga"
    assert 0 <= told[0] <= told[-1] <= 1
    last = solution.path[-1]
    assert np.isnan([last.sigma, last.soft]).all()
    values = [stage.hard for stage in solution.path]
    assert values == sorted(values)


@every_search
def test_searches_beat_equal_weights_and_need_the_good_models(name):
    problem = make_problem(n_models=4)
    solution, _ = run(name, problem)
    assert solution.value > problem.hard_value(problem.equal_weights) + 0.005
    assert solution.weights[3] > solution.weights[0]


@every_search
def test_a_model_that_ranks_the_wrong_way_round_gets_a_negative_weight_where_it_may(name):
    free, _ = run(name, make_problem(constraint="free", turned=[2]), seed=1)
    assert free.weights[2] < -0.2
    bound, _ = run(name, make_problem(turned=[2]))
    assert bound.weights[2] < 0.05
    assert free.value > bound.value


@every_method
def test_every_evaluation_is_counted(name, monkeypatch):
    calls = []
    real = Metric.evaluate
    monkeypatch.setattr(Metric, "evaluate", lambda self, *given: calls.append(1) or real(self, *given))
    assert run(name, make_problem())[0].evaluations == len(calls)


@every_method
def test_the_seed_decides(name):
    problem = make_problem()
    first, again, other = run(name, problem, 3)[0], run(name, problem, 3)[0], run(name, problem, 4)[0]
    np.testing.assert_array_equal(first.weights, again.weights)
    assert (first.weights == other.weights).all() == (name in ("grid", *UNTRAINED))


@every_method
def test_queries_of_weight_0_do_not_matter(name):
    whole = make_problem(n_queries=30)
    offsets = whole.prepared.groups.offsets
    part = make_problem(n_queries=30, weights=np.arange(30) < 12)
    alone = Problem(
        whole.scores[: offsets[12]],
        prepare(whole.metric, "t", np.log2(whole.prepared.gains[: offsets[12]] + 1), QueryGroups(offsets[:13])),
        np.ones(12), whole.metric, "gaussian", (0.5,), "simplex", 0.0,
    )  # fmt: skip
    found, wanted = run(name, part)[0], run(name, alone)[0]
    assert found.value == pytest.approx(wanted.value, abs=1e-12)
    np.testing.assert_allclose(found.weights, wanted.weights, atol=1e-12)


@every_method
def test_nothing_relevant_anywhere(name):
    groups = QueryGroups.from_sizes([3, 4])
    scores = np.random.default_rng(0).normal(size=(7, 2))
    for empty, wanted in (("zero", 0.0), ("skip", -np.inf)):
        hard = Metric("ndcg@10", empty=empty)
        prepared = prepare(hard, "t", np.zeros(7), groups)
        problem = Problem(scores, prepared, np.ones(2), hard, "gaussian", (0.5,), "simplex", 0.0)
        solution, _ = run(name, problem)
        assert solution.value == wanted
        assert solution.weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["ltr-ga", "ltr-mga"])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_are_searched_as_others_are(name, value, monkeypatch):
    """In perfect order pnr is infinite; where no query counts, everything is worth minus infinity."""

    def of_scores(search, scores):
        search.evaluations += 1
        return value

    monkeypatch.setattr(HardSearch, "of_scores", of_scores)
    for n_models in (1, 3):
        solution, _ = run(name, make_problem(n_models), evaluations=2000)
        assert solution.value == value
        assert solution.evaluations <= 2000


@every_search
def test_a_metric_that_is_infinite_for_a_query_cannot_be_searched(name):
    problem = make_problem(n_queries=25, metric="pnr")
    perfect = replace(problem, scores=problem.scores + 1e3 * problem.prepared.gains[:, None])
    with pytest.raises(ValueError, match=r"SoftBlender.fit: pnr must be finite for every query; query \d+ has"):
        run(name, perfect)


@every_search
def test_sigmas_noise_and_penalty_mean_nothing(name):
    plain = make_problem()
    other = replace(plain, noise="gumbel", sigmas=(3.0, 1.0), l2=7.0)
    np.testing.assert_array_equal(run(name, plain)[0].weights, run(name, other)[0].weights)


# ---------------------------------------------------------------------------------------------------------
# Grid and random search
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [1, 2, 3, 4])
@pytest.mark.parametrize("constraint", ["simplex", "free"])
def test_the_grid_is_every_blend_once(m, constraint):
    steps, problem = 5, make_problem(n_models=m, constraint=constraint, n_queries=5)
    low = -steps if constraint == "free" else 0
    blends = [np.array(w) / steps for w in product(range(low, steps + 1), repeat=m) if sum(map(abs, w)) == steps]
    values = [problem.hard_value(w) for w in blends]
    solution, _ = run("grid", problem, steps=steps)
    assert solution.evaluations == len(blends)
    assert solution.value == pytest.approx(max(values), abs=1e-12)
    assert any(np.allclose(solution.weights, w) for w, v in zip(blends, values, strict=True) if v > max(values) - 1e-9)


@every_constraint
def test_of_equally_good_blends_the_grid_keeps_the_first(constraint):
    """All of them: the cutoff is the whole list."""
    groups, metric = QueryGroups.from_sizes([3, 3]), Metric("recall@3")
    y = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    scores = np.random.default_rng(0).normal(size=(6, 2))
    given = Problem(scores, prepare(metric, "t", y, groups), np.ones(2), metric, "gaussian", (0.5,), constraint, 0.0)
    solution, _ = run("grid", given)
    assert solution.value == 1.0
    assert solution.weights.tolist() == ([-1.0, 0.0] if constraint == "free" else [0.0, 1.0])


def test_the_best_blend_is_kept_as_it_was_tried():
    weights = np.array([0.75, 0.25])
    search = HardSearch(make_problem(2))
    search.of_weights(weights)
    weights[:] = 0.0  # a search may go on in the same array
    assert search.best.tolist() == [0.75, 0.25]


def test_the_sizes_that_the_grid_states():
    assert [comb(20 + m - 1, m - 1) for m in (2, 3, 4)] == [21, 231, 1771]
    assert [len(grid.with_signs(grid.compositions(20, m))) for m in (2, 3, 4)] == [80, 1602, 21440]


def test_the_grid_refuses_five_models():
    with pytest.raises(ValueError, match=r"^SoftBlender.fit: models must be at most 4 .*; got 5"):
        run("grid", make_problem(n_models=5))


@pytest.mark.parametrize(
    ("m", "constraint", "steps"), [(4, "simplex", 1000), (3, "free", 10**6), (2, "simplex", 2**53)]
)
def test_a_grid_finer_than_memory_holds_is_refused(m, constraint, steps):
    """A thousandth sounds harmless, but of four models makes 168 million blends: the process was killed."""
    with pytest.raises(ValueError, match=rf"^SoftBlender.fit: .* 5,000,000 blends of {m} models; got {steps}"):
        run("grid", make_problem(n_models=m, constraint=constraint), steps=steps)


def test_random_search_starts_with_equal_weights():
    problem = make_problem()
    solution, _ = run("random", problem, evaluations=1)
    np.testing.assert_allclose(solution.weights, 1 / 3)
    assert solution.evaluations == 1
    more = [run("random", problem, evaluations=n)[0] for n in (10, 1000)]
    assert [found.evaluations for found in more] == [10, 1000]
    assert more[0].value < more[1].value


def test_blends_are_drawn_uniformly_from_the_simplex():
    rng = np.random.default_rng(0)
    weights = grid.drawn_weights(make_problem(n_models=3), rng, 20_000)
    assert np.mean(weights[:, 0] > 0.5) == pytest.approx(0.25, abs=0.02)
    signed = grid.drawn_weights(make_problem(n_models=3, constraint="free"), rng, 20_000)
    np.testing.assert_allclose(np.abs(signed).sum(axis=1), 1.0)
    assert np.mean(signed > 0) == pytest.approx(0.5, abs=0.02)


def test_blocks_of_blends_change_nothing(monkeypatch):
    problem = make_problem()
    whole, _ = run("random", problem)
    monkeypatch.setattr("boostsoft.blending.baselines.search._CELLS", 1)
    parts, told = run("random", problem)
    assert parts.value == pytest.approx(whole.value, abs=1e-12)
    np.testing.assert_allclose(told, np.arange(1, 201) / 200)


# ---------------------------------------------------------------------------------------------------------
# Coordinate ascent
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("constraint", ["simplex", "free"])
def test_coordinate_ascent_ends_where_no_single_move_helps(constraint):
    problem = make_problem(constraint=constraint, n_queries=15)
    solution, _ = run("coordinate-ascent", problem)
    steps = [sign * 0.001 * 2.0**j for j in range(13) for sign in (1, -1)]
    for model, weight in enumerate(solution.weights):
        for delta in [*steps, -weight]:
            moved = solution.weights.copy()
            moved[model] += delta
            if constraint == "free" or moved[model] >= 0:
                assert problem.hard_value(moved) <= solution.value + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_coordinate_ascent_moves_no_further_than_needed(seed):
    """Of .45 and .5 the former is right: .9 (.5 + move) is above .5 from .056 on, .5 - move below .45 from .05 on."""
    groups, hard = QueryGroups.from_sizes([2]), Metric("ndcg")
    scores, labels = np.array([[0.0, 0.9], [1.0, 0.0]]), np.array([1.0, 0.0])
    problem = Problem(scores, prepare(hard, "t", labels, groups), np.ones(1), hard, "gaussian", (0.5,), "simplex", 0.0)
    weights = run("coordinate-ascent", problem, seed, restarts=1)[0].weights
    assert weights[1] / weights[0] in (pytest.approx(0.564 / 0.5), pytest.approx(0.5 / 0.436))


@pytest.mark.parametrize("seed", [1, 17])
def test_coordinate_ascent_says_what_its_weights_are_worth_where_documents_are_tied(seed):
    """Scores that are moved step by step drift apart by rounding, which breaks ties as if it knew the labels."""
    problem = make_problem(seed=seed, n_queries=8)
    problem = replace(problem, scores=np.round(problem.scores))
    solution, _ = run("coordinate-ascent", problem, restarts=5)
    assert solution.value == pytest.approx(problem.hard_value(solution.weights), abs=1e-12)


@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
def test_coordinate_ascent_leaves_the_only_model_its_weight(constraint):
    """All documents tied would be better than any blend, but is none."""
    problem = make_problem(2, constraint, turned=(0, 1))
    problem = replace(problem, scores=np.column_stack([-problem.prepared.gains, problem.scores[:, 1]]))
    search = HardSearch(problem)
    alone = np.array([1.0, 0.0])
    delta, _ = ascent._best_move(search, alone @ search.columns, 0, 1.0, search.of_weights(alone))
    assert delta != -1.0


def test_the_moves_of_a_weight():
    """Up to where the others hardly count, down to 0 unless weights below it are allowed, and to 0 itself."""
    moves, free = (ascent._moves(0.3, free) for free in (False, True))
    assert max(moves) == max(free) == pytest.approx(4.096)
    assert min(moves) == -0.3
    assert min(free) == pytest.approx(-4.096)
    assert {0.001, -0.001, 0.256, -0.256, -0.3} <= {round(move, 9) for move in moves} & {round(f, 9) for f in free}
    assert min(ascent._moves(0.0, False)) == 0.001


def test_the_best_move_is_the_best_of_all():
    problem = make_problem(n_queries=150)
    for model in range(3):
        start = problem.hard_value(problem.equal_weights)
        moves = ascent._moves(1 / 3, False)
        values = [problem.hard_value(problem.equal_weights + delta * np.eye(3)[model]) for delta in moves]
        delta, value = ascent._best_move(
            HardSearch(problem), problem.scores @ problem.equal_weights, model, 1 / 3, start
        )
        assert value == pytest.approx(max(start, *values), abs=1e-12)
        assert delta == 0.0 or value == pytest.approx(values[moves.index(delta)], abs=1e-12)


def test_moving_one_column_is_the_whole_product(monkeypatch):
    problem, seen = make_problem(n_queries=8), []
    real = ascent._best_move

    def watched(search, scores, model, weight, value):
        delta, found = real(search, scores, model, weight, value)
        seen.append((np.array(scores), model, delta, found))
        return delta, found

    monkeypatch.setattr(ascent, "_best_move", watched)
    solution, _ = run("coordinate-ascent", problem, restarts=1)
    weights = [np.linalg.lstsq(problem.scores, scores, rcond=None)[0] for scores, *_ in seen]
    assert any(delta for _, _, delta, _ in seen)
    for found, (scores, model, delta, value) in zip(weights, seen, strict=True):
        np.testing.assert_allclose(problem.scores @ found, scores, atol=1e-12)  # a blend of the columns
        assert np.abs(found).sum() == pytest.approx(1.0)
        moved = found + delta * np.eye(3)[model]
        assert problem.hard_value(moved) == pytest.approx(value, abs=1e-12)
    assert solution.value >= max(value for *_, value in seen) - 1e-12


def test_five_starts_by_default():
    problem = make_problem(n_queries=8)
    found = METHODS["coordinate-ascent"](problem, np.random.default_rng(0))
    assert found.evaluations == run("coordinate-ascent", problem, restarts=5)[0].evaluations
    assert found.evaluations > run("coordinate-ascent", problem, restarts=4)[0].evaluations


def test_more_starts_are_never_worse_and_the_first_starts_at_equal_weights():
    problem = make_problem(n_models=5)
    values = [run("coordinate-ascent", problem, restarts=n)[0] for n in (1, 2, 5)]
    assert values[0].value <= values[1].value <= values[2].value
    np.testing.assert_allclose(values[0].path[0].weights, 0.2)


def test_a_tolerance_ends_the_climb_sooner():
    problem = make_problem(n_models=5)
    patient, hasty = (run("coordinate-ascent", problem, restarts=1, tolerance=t)[0] for t in (0.0, 0.05))
    assert hasty.evaluations < patient.evaluations
    with pytest.raises(ValueError, match="tolerance must not be negative; got -1"):
        run("coordinate-ascent", problem, tolerance=-1)


# ---------------------------------------------------------------------------------------------------------
# Evolution
# ---------------------------------------------------------------------------------------------------------


def test_evolution_uses_up_what_it_is_given():
    for constraint in ("simplex", "free"):
        problem = make_problem(n_models=4, constraint=constraint)
        assert run("ltr-ga", problem, evaluations=500)[0].evaluations == 500
        assert run("ltr-ga", problem, evaluations=50)[0].evaluations == 50


@pytest.mark.parametrize("name", ["ltr-ga", "ltr-mga"])
def test_the_searches_climb(name, monkeypatch):
    values = []
    real = HardSearch.of_weights
    monkeypatch.setattr(HardSearch, "of_weights", lambda self, w: values.append(real(self, w)) or values[-1])
    run(name, make_problem(n_models=4), evaluations=600)
    first, region, last = (np.mean(part) for part in (values[:50], values[400:450], values[-50:]))
    assert first + 0.02 < region
    assert region - 0.01 < last  # the last ones explore, too


def test_the_simplex_takes_over_after_three_quarters(monkeypatch):
    problem, begun = make_problem(n_models=4), []
    minimize = scipy.optimize.minimize

    def watched(run_, best, **options):
        begun.append((run_.search.evaluations, options["options"]["maxfev"], options["method"]))
        corners = options["options"]["initial_simplex"]
        assert 0 <= corners.min() < corners.max() <= 1
        assert np.linalg.matrix_rank(corners[1:] - corners[0]) == 4
        return minimize(run_, best, **options)

    monkeypatch.setattr(scipy.optimize, "minimize", watched)
    solution, _ = run("ltr-mga", problem, evaluations=1000)
    assert begun == [(750, 250, "Nelder-Mead")]
    assert 750 < solution.evaluations <= 1000
    assert len(solution.path) == 2
    assert solution.path[0].hard <= solution.path[1].hard
    region, _ = run("ltr-ga", problem, evaluations=750)
    np.testing.assert_array_equal(region.weights, solution.path[0].weights)  # the same search up to there


def test_least_evaluations():
    problem = make_problem()
    with pytest.raises(ValueError, match=r"^SoftBlender.fit: method_params: evaluations must be from 50"):
        run("ltr-ga", problem, evaluations=49)
    with pytest.raises(ValueError, match=r"^SoftBlender.fit: method_params: evaluations must be from 67"):
        run("ltr-mga", problem, evaluations=66)
    assert run("ltr-mga", problem, evaluations=67)[0].evaluations <= 67


# ---------------------------------------------------------------------------------------------------------
# Reciprocal rank fusion
# ---------------------------------------------------------------------------------------------------------


def test_reciprocal_ranks_by_hand():
    nan = np.nan
    matrix = np.array([[5.0, nan], [9.0, 1.0], [5.0, 2.0], [nan, nan], [0.0, -1.0]])
    wanted = [[1 / 62.5, 0.0], [1 / 61, 1 / 62], [1 / 62.5, 1 / 61], [0.0, 0.0], [1 / 61, 1 / 61]]
    np.testing.assert_allclose(reciprocal_ranks(matrix, QueryGroups.from_sizes([4, 1])), wanted, rtol=1e-15)


def test_fusion_orders_as_its_definition():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(30, 3))
    matrix[rng.random((30, 3)) < 0.3] = np.nan
    fused = reciprocal_ranks(matrix, QueryGroups.from_sizes([30])).sum(axis=1)
    for document in range(30):
        ranks = [1 + np.sum(column > column[document]) for column in matrix.T if not np.isnan(column[document])]
        assert fused[document] == pytest.approx(sum(1 / (60 + rank) for rank in ranks))


def test_fusion_needs_no_labels():
    solution, _ = run("rrf", make_problem(n_models=4))
    np.testing.assert_allclose(solution.weights, 0.25)
    assert solution.evaluations == 1


@every_method
def test_documents_that_are_alike_stay_tied(name):
    """As those that no model has retrieved; sums of a BLAS differ by where a row stands."""
    rng = np.random.default_rng(1)
    problem = make_problem(4, n_queries=6, metric="ndcg")
    alike = rng.random(problem.scores.shape[0]) < 0.6
    scores = np.where(alike[:, None], rng.normal(size=4), problem.scores)
    solution, _ = run(name, replace(problem, scores=scores))
    blend = np.einsum("ij,j->i", scores, solution.weights)
    value = problem.metric.evaluate(problem.prepared, blend, problem.query_weight).mean()
    assert solution.path[-1].hard == pytest.approx(value, abs=1e-12)


def test_weights_of_0_are_no_blend():
    run = _Run(blender_cases.problem(), 100, lambda share: None)
    assert run(np.zeros(3)) == 1.0
    assert run.search.best_value == -np.inf
