"""SoftBlender: weights by the exact gradient of a soft metric, as a scikit-learn estimator."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
import sklearn
from scipy.stats import norm
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from boostsoft import Metric, QueryGroups, SoftMetric, load_letor
from boostsoft.blending import SoftBlender
from boostsoft.blending.annealing import automatic_sigma
from boostsoft.blending.baselines.grid import compositions
from boostsoft.blending.problem import Problem
from boostsoft.blending.progress import bar
from boostsoft.blending.soft_value import SoftValue
from boostsoft.blending.solve import soft_ascent
from boostsoft.metrics.prepared import prepare

from .test_datasets import real_folder

NO_QUERIES = "ignore:SoftBlender.fit. neither group= nor qid= was given:UserWarning"


def blends(seed=0, n_queries=25, quality=(1.0, 0.5, 0.2)):
    """Scores that follow the labels more or less, labels, and documents per query."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(6, 16, n_queries)
    y = rng.choice(3, sizes.sum(), p=[0.6, 0.3, 0.1])
    S = y[:, None] * np.array(quality) + rng.normal(size=(y.size, len(quality)))
    return S, y, sizes


def problem(constraint="simplex", l2=0.0, sigmas=(0.5,), seed=0, noise="gaussian", **more):
    S, y, sizes = blends(seed, **more)
    groups, metric = QueryGroups.from_sizes(sizes), Metric("ndcg@10")
    return Problem(S, prepare(metric, "t", y, groups), np.ones(sizes.size), metric, noise, sigmas, constraint, l2)


@pytest.fixture(scope="module")
def data():
    return blends()


@pytest.fixture(scope="module")
def fitted(data):
    S, y, sizes = data
    return SoftBlender().fit(S, y, group=sizes)


# ---------------------------------------------------------------------------------------------------------
# Among scikit-learn's tools
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings(NO_QUERIES)  # none of the checks is exempt
@parametrize_with_checks([SoftBlender(), SoftBlender(normalize="none", constraint="free")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_cross_validation_hands_on_the_query_ids(data):
    S, y, sizes = data
    qid = np.repeat(np.arange(sizes.size), sizes)
    params = {"qid": qid, "groups": qid}
    with sklearn.config_context(enable_metadata_routing=True):
        model = SoftBlender().set_fit_request(qid=True).set_score_request(qid=True)
        found = cross_val_score(model, S, y, cv=GroupKFold(3), params=params, error_score="raise")
    for score, (train, test) in zip(found, GroupKFold(3).split(S, groups=qid), strict=True):
        by_hand = SoftBlender().fit(S[train], y[train], qid=qid[train])
        assert score == by_hand.score(S[test], y[test], qid=qid[test])
        assert score == Metric("ndcg@10")(y[test], by_hand.predict(S[test], qid=qid[test]), qid=qid[test])


def test_tags():
    tags = sklearn.utils.get_tags(SoftBlender())
    assert tags.input_tags.allow_nan
    assert tags.target_tags.required
    assert not tags.non_deterministic


# ---------------------------------------------------------------------------------------------------------
# What is maximised
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("constraint", ["simplex", "free"])
def test_gradient_is_that_of_the_value(constraint):
    value = SoftValue(problem(constraint, l2=0.3), 0.5)
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
    assert automatic_sigma(3) == 1.0


def test_path_holds_each_stage(data):
    S, y, sizes = data
    blender = SoftBlender(sigma=[2.0, 1.0, 0.5], normalize="none").fit(S, y, group=sizes)
    assert [stage.sigma for stage in blender.path_] == [2.0, 1.0, 0.5]
    assert blender.sigma_ == 0.5
    assert np.array_equal(blender.path_[-1].weights, blender.weights_)
    for stage in blender.path_:
        blend = S @ stage.weights
        soft = SoftMetric("ndcg@10", sigma=stage.sigma, sigma_unit="spread")
        assert stage.soft == pytest.approx(soft(y, blend, group=sizes), abs=1e-6)
        assert stage.hard == pytest.approx(Metric("ndcg@10")(y, blend, group=sizes), abs=1e-12)
    assert blender.score(S, y, group=sizes) == pytest.approx(blender.path_[-1].hard, abs=1e-12)
    assert blender.n_evaluations_ > 3


# ---------------------------------------------------------------------------------------------------------
# Queries and weights
# ---------------------------------------------------------------------------------------------------------


def test_rows_in_any_order(data, fitted):
    S, y, sizes = data
    qid = np.repeat(np.arange(sizes.size), sizes)
    mixed = np.random.default_rng(1).permutation(y.size)
    blender = SoftBlender().fit(S[mixed], y[mixed], qid=qid[mixed])
    np.testing.assert_allclose(blender.weights_, fitted.weights_, atol=1e-6)
    scores = blender.predict(S[mixed], qid=qid[mixed])
    np.testing.assert_allclose(scores, blender.predict(S, group=sizes)[mixed], atol=1e-12)
    np.testing.assert_allclose(scores, blender.normalize_scores(S[mixed], qid=qid[mixed]) @ blender.weights_)


def test_a_weight_of_2_is_the_query_twice_and_0_is_its_absence(data):
    S, y, sizes = data
    qid = np.repeat(np.arange(sizes.size), sizes)
    counts = np.random.default_rng(2).integers(0, 3, sizes.size)
    blender = SoftBlender(sigma=0.5, l2=0.0).fit(S, y, qid=qid, sample_weight=counts[qid])
    rows = [(q, copy) for q in range(sizes.size) for copy in range(counts[q])]
    there = np.concatenate([np.flatnonzero(qid == q) for q, _ in rows])
    again = SoftBlender(sigma=0.5, l2=0.0).fit(S[there], y[there], group=[sizes[q] for q, _ in rows])
    np.testing.assert_allclose(blender.weights_, again.weights_, atol=1e-6)
    plain = SoftBlender(sigma=0.5, l2=0.0).fit(S, y, qid=qid)
    assert np.abs(blender.weights_ - plain.weights_).max() > 1e-3
    weighted = blender.score(S, y, qid=qid, sample_weight=counts[qid])
    assert weighted == pytest.approx(again.score(S[there], y[there], group=[sizes[q] for q, _ in rows]))


def test_without_queries_rows_are_placed_among_those_of_fit():
    S, y, _ = blends(n_queries=2)
    S[3, 0] = np.nan
    with pytest.warns(UserWarning, match="all rows are one query"):
        blender = SoftBlender(normalize="zscore").fit(S, y)
    ours = blender.normalize_scores(S, group=[y.size])
    np.testing.assert_allclose(blender.normalize_scores(S), ours, atol=1e-12)
    np.testing.assert_allclose(blender.predict(S[2:4]), blender.predict(S)[2:4], atol=1e-12)
    with pytest.warns(UserWarning, match="all rows are one query"):
        blender.set_params(normalize="rank").fit(S, y)
    ranks = (norm.cdf(-blender.normalize_scores(S)) * y.size + 0.5)[:, 1]
    np.testing.assert_allclose(np.sort(ranks), np.arange(1, y.size + 1), atol=1e-9)
    between = np.sort(S[:, 1])[::-1][[4, 5]].mean()  # half-way between ranks 5 and 6
    new = blender.normalize_scores(np.array([[0.0, between, 0.0], [0.0, 1e9, np.nan]]))
    assert norm.cdf(-new[0, 1]) * y.size + 0.5 == pytest.approx(5.5)
    assert norm.cdf(-new[1, 1]) * y.size + 0.5 == pytest.approx(1.0)  # better than the best: as the best


def test_queries_are_asked_for_again(data, fitted):
    S, y, _ = data
    with pytest.raises(ValueError, match=r"predict: qid \(or group\) must be given, as it was to fit"):
        fitted.predict(S)
    with pytest.raises(ValueError, match=r"score: qid \(or group\) must be given"):
        fitted.score(S, y)


# ---------------------------------------------------------------------------------------------------------
# Normalisation
# ---------------------------------------------------------------------------------------------------------


def literal(how, column):
    """One model's scores of one query, straight from the definitions."""
    known = column[~np.isnan(column)]
    n, r = len(column), len(known)
    out = []
    for score in column:
        missing = np.isnan(score)
        if how == "rank":
            above, ties = np.sum(known > score), np.sum(known == score)
            rank = (r + 1 + n) / 2 if missing else above + (ties + 1) / 2
            out.append(norm.ppf((n + 0.5 - rank) / n))
        elif r == 0:
            out.append(0.0)
        elif how == "zscore":
            deviation = known.std()
            lowest = (known.min() - known.mean()) / deviation if deviation > 0 else 0.0
            out.append(lowest - 1 if missing else (score - known.mean()) / deviation if deviation > 0 else 0.0)
        elif how == "minmax":
            height = known.max() - known.min()
            out.append(-0.25 if missing else (score - known.min()) / height if height > 0 else 0.0)
        else:
            out.append(known.min() - known.std() if missing else score)
    return out


@pytest.mark.parametrize("how", ["rank", "zscore", "minmax", "none"])
def test_normalisation_is_the_literal_one(how):
    rng = np.random.default_rng(5)
    sizes = np.array([1, 2, 7, 9, 5, 12, 3])
    S = rng.integers(0, 6, (sizes.sum(), 4)) * np.array([1.0, -3.0, 0.1, 1e6])
    S[rng.random(S.shape) < 0.3] = np.nan
    S[10:19, 0], S[19:24, 1], S[19:24, 2] = 4.0, np.nan, [np.nan, 2.0, 2.0, np.nan, 2.0]
    lower = [False, True, False, True]
    y = rng.integers(0, 3, sizes.sum())
    blender = SoftBlender(normalize=how, lower_is_better=lower, sigma=1.0).fit(S, y, group=sizes)
    turned = np.where(lower, -S, S)
    edges = np.cumsum(sizes)[:-1]
    expected = [np.transpose([literal(how, column) for column in part.T]) for part in np.split(turned, edges)]
    np.testing.assert_allclose(blender.normalize_scores(S, group=sizes), np.vstack(expected), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("how", ["rank", "zscore", "minmax"])
def test_normalised_scores_do_not_change_with_scale_and_offset(how, data):
    S, y, sizes = data
    blender = SoftBlender(normalize=how, sigma=1.0).fit(S, y, group=sizes)
    far = blender.normalize_scores(S * [1e290, 1e-290, 4.0] + [0.0, 0.0, 8.0], group=sizes)
    np.testing.assert_allclose(far, blender.normalize_scores(S, group=sizes), rtol=1e-9, atol=1e-12)


def test_scores_as_they_are_may_differ_in_size(data):
    """The climb starts where all models move the blend alike: the size of one does not matter."""
    S, y, sizes = data
    plain = SoftBlender(normalize="none").fit(S, y, group=sizes)
    large = SoftBlender(normalize="none").fit(S * [1.0, 1e9, 1e-6], y, group=sizes)
    share = large.weights_ * [1.0, 1e9, 1e-6]
    np.testing.assert_allclose(share / share.sum(), plain.weights_, atol=1e-6)
    assert large.weights_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("frames", ["pandas", "polars"])
def test_frames_keep_their_names(frames, data, fitted):
    library = pytest.importorskip(frames)
    S, y, sizes = data
    frame = library.DataFrame({"bm25": S[:, 0], "lm": S[:, 1], "links": S[:, 2]})
    blender = SoftBlender().fit(frame, y, group=sizes)
    assert list(blender.feature_names_in_) == ["bm25", "lm", "links"]
    assert np.array_equal(blender.weights_, fitted.weights_)
    assert np.array_equal(blender.predict(frame, group=sizes), fitted.predict(S, group=sizes))
    S = with_value(S, 4, 1, np.inf)
    with pytest.raises(ValueError, match="got inf in column 'lm', row 4"):
        SoftBlender().fit(library.DataFrame({"bm25": S[:, 0], "lm": S[:, 1]}), y, group=sizes)


# ---------------------------------------------------------------------------------------------------------
# Bad input
# ---------------------------------------------------------------------------------------------------------


def test_a_constant_model_gets_no_weight(data, fitted):
    S, y, sizes = data
    qid = np.repeat(np.arange(sizes.size), sizes)
    S = np.column_stack([qid * 1.5, S])  # constant within every query
    with pytest.warns(UserWarning, match="constant within every query: column 0; of weight 0"):
        blender = SoftBlender(n_bootstrap=3).fit(S, y, group=sizes)
    np.testing.assert_allclose(blender.weights_[1:], fitted.weights_, atol=1e-3)
    assert blender.weights_[0] == 0.0
    assert blender.path_[-1].weights.shape == (4,)
    assert blender.weights_interval_[0].tolist() == [0.0, 0.0]


def test_nothing_but_constant_models(data):
    _, y, sizes = data
    with pytest.warns(UserWarning, match="column 0, column 1; weights are equal, and rank nothing"):
        blender = SoftBlender().fit(np.ones((y.size, 2)), y, group=sizes)
    assert blender.weights_.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(("how", "copy"), [("none", 3.0), ("zscore", 3.0), ("rank", 1.0)])
def test_copies_are_named_and_share_their_weight(how, copy, data):
    S, y, sizes = data
    S = np.column_stack([S, copy * S[:, 0]])
    with pytest.warns(UserWarning, match="column 0 and column 3 rank all documents alike: only the sum of") as caught:
        blender = SoftBlender(normalize=how).fit(S, y, group=sizes)
    assert caught[0].filename == __file__
    first, last = blender.weights_[[0, 3]] * ([1.0, copy] if how == "none" else 1.0)
    assert first == pytest.approx(last, rel=1e-6)


def test_one_query_alone(data):
    S, y, sizes = data
    relevant = np.where(np.arange(y.size) < sizes[0], y, 0)
    with pytest.warns(UserWarning, match="one query alone has a relevant document") as caught:
        SoftBlender().fit(S, relevant, group=sizes)
    assert caught[0].filename == __file__


def with_value(S, row, column, value):
    changed = S.copy()
    changed[row, column] = value
    return changed


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda S, y: (with_value(S, 7, 2, -np.inf), y), {}, "finite, or NaN .* got -inf in column 2, row 7"),
        (lambda S, y: (with_value(S, slice(None), 1, np.nan), y), {}, "column 1 is NaN everywhere"),
        (lambda S, y: (S, 0 * y), {}, "must have documents worth telling apart; ndcg is undefined for all 25"),
        (lambda S, y: (S, y - 1), {}, "gains of at least 0"),
        (None, {"sigma": "narrow"}, "sigma must be 'auto', a number or falling numbers; got 'narrow'"),
        (None, {"sigma": [0.5, 1.0]}, "sigma must fall"),
        (None, {"sigma": -1.0}, "sigma must be finite and above 0"),
        (None, {"normalize": "sum"}, "normalize must be one of 'rank', 'zscore', 'minmax', 'none'"),
        (None, {"constraint": "box"}, "constraint must be one of"),
        (None, {"noise": "cauchy"}, "noise must be one of"),
        (None, {"method": "soft-ascent"}, "method must be one of 'soft', 'grid'"),
        (None, {"lower_is_better": [True, False]}, "one of them per model, 3; got"),
        (None, {"lower_is_better": 1}, "True, False or one of them per model"),
        (None, {"l2": -1.0}, "l2 must be at least 0"),
        (None, {"n_starts": 0}, "n_starts must be from 1"),
        (None, {"n_bootstrap": -1}, "n_bootstrap must be from 0"),
        (None, {"progress": "always"}, "progress must be 'auto', True or False"),
        (None, {"metric": "bpref"}, "another method maximises the metric itself"),
        (None, {"metric": Metric("ndcg", k=[3] * 25)}, "one cutoff for all queries"),
        (None, {"random_state": -1}, "[Ss]eed"),
    ],
)
def test_bad_input(change, options, message, data):
    S, y, sizes = data
    S, y = (S, y) if change is None else change(S, y)
    with pytest.raises(ValueError, match=message):
        SoftBlender(**options).fit(S, y, group=sizes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"models": []}, "models must be a list of fitted models"),
        ({"models": [object()]}, r"models\[0\] must have a method predict"),
        ({"method_params": [1]}, "method_params must be a dict"),
        ({"metric": 3}, "metric must be a string"),
    ],
)
def test_bad_types(options, message, data):
    S, y, sizes = data
    with pytest.raises(TypeError, match=message):
        SoftBlender(**options).fit(S, y, group=sizes)


# ---------------------------------------------------------------------------------------------------------
# Intervals, models, other methods
# ---------------------------------------------------------------------------------------------------------


def test_interval_is_that_of_weights_on_resampled_queries(data):
    S, y, sizes = data
    blender = SoftBlender(sigma=1.0, l2=0.0, n_bootstrap=8, random_state=3).fit(S, y, group=sizes)
    interval = blender.weights_interval_
    assert interval is blender.weights_interval_  # computed once
    rng, found = np.random.default_rng(3), []
    qid = np.repeat(np.arange(sizes.size), sizes)
    for _ in range(8):
        counts = rng.multinomial(sizes.size, np.full(sizes.size, 1 / sizes.size))
        again = SoftBlender(sigma=1.0, l2=0.0).fit(S, y, qid=qid, sample_weight=counts[qid])
        found.append(again.weights_)
    expected = np.quantile(found, [0.025, 0.975], axis=0).T
    np.testing.assert_allclose(interval, expected, atol=0.02)  # they start and end a little elsewhere
    assert np.all(interval[:, 1] > interval[:, 0])


def test_interval_of_a_pickle_is_there_if_it_was_computed(data):
    S, y, sizes = data
    blender = SoftBlender(n_bootstrap=3).fit(S, y, group=sizes)
    early = pickle.dumps(blender)
    assert len(early) < 10_000  # without the training data
    with pytest.raises(AttributeError, match="pickled before it was computed"):
        _ = pickle.loads(early).weights_interval_
    interval = blender.weights_interval_
    later = pickle.loads(pickle.dumps(blender))
    assert np.array_equal(later.weights_interval_, interval)
    assert np.array_equal(later.predict(S, group=sizes), blender.predict(S, group=sizes))
    with pytest.raises(AttributeError, match="n_bootstrap"):
        _ = SoftBlender(n_bootstrap=0).fit(S, y, group=sizes).weights_interval_


class Column:
    """A model that knows one column."""

    def __init__(self, at, scale=1.0):
        self.at, self.scale = at, scale

    def predict(self, X):
        return self.scale * np.asarray(X)[:, self.at]


def test_models_are_what_is_blended(data, fitted):
    S, y, sizes = data
    X = np.column_stack([np.zeros(y.size), S])
    models = [Column(1), Column(2, 100.0), Column(3)]
    blender = SoftBlender(models=models).fit(X, y, group=sizes)
    assert np.array_equal(blender.weights_, fitted.weights_)
    assert np.array_equal(blender.predict(X, group=sizes), fitted.predict(S, group=sizes))
    with pytest.warns(UserWarning, match=r"models\[0\] \(Column\) and models\[1\] \(Column\) rank all"):
        SoftBlender(models=[Column(1), Column(1), Column(2)]).fit(X, y, group=sizes)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_models_of_every_library():
    import lightgbm as lgb

    xgb = pytest.importorskip("xgboost")
    from boostsoft import SoftRanker

    S, y, sizes = blends(n_queries=40)
    quiet = {"n_estimators": 3, "min_child_samples": 2, "verbose": -1, "n_jobs": 1}
    ranker = lgb.LGBMRanker(**quiet).fit(S, y, group=sizes)
    matrix = xgb.DMatrix(S, y, group=sizes)
    trees = xgb.train({"objective": "rank:ndcg", "nthread": 1, "max_depth": 2}, matrix, 3)
    ours = SoftRanker(n_estimators=3, min_child_samples=2, n_jobs=1).fit(S, y, group=sizes)
    models = [ranker, ranker.booster_, trees, ours]
    with pytest.warns(UserWarning, match=r"models\[0\] \(LGBMRanker\) and models\[1\] \(Booster\) rank all"):
        blender = SoftBlender(models=models, normalize="none").fit(S, y, group=sizes)
    columns = [ranker.predict(S), ranker.booster_.predict(S), trees.predict(matrix), ours.predict(S)]
    np.testing.assert_allclose(blender.normalize_scores(S, group=sizes), np.transpose(columns), rtol=1e-6)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("coordinate-ascent", {"restarts": 1}),
        ("ltr-ga", {"evaluations": 100}),
        ("ltr-mga", {"evaluations": 100}),
        ("grid", {"steps": 5}),
        ("random", {"evaluations": 50}),
        ("equal", None),
    ],
)
def test_other_methods_have_the_same_interface(method, params, data):
    S, y, sizes = data
    blender = SoftBlender(method=method, method_params=params).fit(S, y, group=sizes)
    assert np.abs(blender.weights_).sum() == pytest.approx(1.0)
    assert blender.score(S, y, group=sizes) == pytest.approx(blender.path_[-1].hard, abs=1e-3)  # ties by rounding
    assert np.isnan(blender.sigma_)
    equal = SoftBlender(method="equal").fit(S, y, group=sizes)
    assert blender.score(S, y, group=sizes) >= equal.score(S, y, group=sizes) - 1e-3
    with pytest.raises(AttributeError, match="method='soft'"):
        _ = blender.weights_interval_


def test_reciprocal_rank_fusion_is_its_formula():
    S = np.array([[3.0, np.nan], [1.0, 5.0], [2.0, 5.0], [0.0, 7.0], [1.0, 6.0]])
    qid = [1, 1, 1, 2, 2]
    blender = SoftBlender(method="rrf", normalize="zscore").fit(S, [0, 1, 0, 0, 1], qid=qid)
    first = [1 / 61, 1 / 63 + 1 / 61.5, 1 / 62 + 1 / 61.5]
    expected = np.array([*first, 1 / 62 + 1 / 61, 1 / 61 + 1 / 62]) / 2
    np.testing.assert_allclose(blender.predict(S, qid=qid), expected, rtol=1e-12)


def test_a_bar_where_nobody_looks_writes_nothing(capsys):
    for shown in (True, False):
        with bar(shown, "blending") as tell:
            tell(0.5)
    assert capsys.readouterr() == ("", "")


def test_real_rank_aggregation():
    part = load_letor(real_folder("MQ2008-agg") / "A1.txt.gz")
    blender = SoftBlender(lower_is_better=True).fit(part.X, part.y, qid=part.qid)
    equal = SoftBlender(lower_is_better=True, method="equal").fit(part.X, part.y, qid=part.qid)
    ours, theirs = (model.score(part.X, part.y, qid=part.qid) for model in (blender, equal))
    alone = [
        Metric("ndcg@10")(part.y, column, qid=part.qid) for column in blender.normalize_scores(part.X, qid=part.qid).T
    ]
    assert ours > max(theirs, *alone) + 0.01
    assert blender.n_evaluations_ < 30
