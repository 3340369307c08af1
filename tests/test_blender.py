"""SoftBlender as a scikit-learn estimator: queries and weights, intervals, models, other methods."""

from __future__ import annotations

import inspect
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import sklearn
from scipy.stats import norm
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from boostsoft import Metric, QueryGroups, load_letor
from boostsoft.blending import SoftBlender
from boostsoft.blending.alike import copies, is_rounding
from boostsoft.metrics.spread import spreads
from boostsoft.progress import bar, shows

from . import blender_cases
from .blender_cases import blends
from .real_data import real_folder

NO_QUERIES = "ignore:SoftBlender.fit. neither group= nor qid= was given:UserWarning"
data, fitted = blender_cases.data, blender_cases.fitted  # fixtures


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


@pytest.mark.parametrize("how", ["rank", "none"])
def test_a_weight_of_2_is_the_query_twice_and_0_is_its_absence(how, data):
    S, y, sizes = data
    settings = {"normalize": how, "sigma": 0.5, "l2": 0.0}
    qid = np.repeat(np.arange(sizes.size), sizes)
    counts = np.random.default_rng(2).integers(0, 3, sizes.size)
    blender = SoftBlender(**settings).fit(S, y, qid=qid, sample_weight=counts[qid])
    rows = [(q, copy) for q in range(sizes.size) for copy in range(counts[q])]
    there = np.concatenate([np.flatnonzero(qid == q) for q, _ in rows])
    again = SoftBlender(**settings).fit(S[there], y[there], group=[sizes[q] for q, _ in rows])
    np.testing.assert_allclose(blender.weights_, again.weights_, atol=1e-6)
    plain = SoftBlender(**settings).fit(S, y, qid=qid)
    assert np.abs(blender.weights_ - plain.weights_).max() > 1e-3
    weighted = blender.score(S, y, qid=qid, sample_weight=counts[qid])
    assert weighted == pytest.approx(again.score(S[there], y[there], group=[sizes[q] for q, _ in rows]))


def test_scores_of_a_query_of_weight_0_change_nothing(data):
    """Neither what a model's scores are measured by, nor whether it is constant or another's copy."""
    S, y, sizes = data
    qid = np.repeat(np.arange(sizes.size), sizes)
    there = qid > 2
    weights = np.where(np.arange(sizes.size) > 2, 1, 0)
    S = np.column_stack([S, 2.0 * S[:, 0], qid])
    S[~there] = 9.0 * np.random.default_rng(3).normal(size=(np.count_nonzero(~there), 5)) * np.arange(1, 6)
    says = "column 0 and column 3 rank all documents alike|constant within every query: column 4; of weight 0"
    fits = {"group": sizes, "query_weight": weights}, {"group": sizes[3:]}
    found = []
    for rows, queries in zip((slice(None), there), fits, strict=True):
        with pytest.warns(UserWarning, match=says) as caught:
            found.append(SoftBlender(normalize="none").fit(S[rows], y[rows], **queries).weights_)
        assert len(caught) == 2
    np.testing.assert_allclose(*found, atol=1e-9)


def test_copies_among_many_documents_are_found_and_nothing_else():
    """Most columns differ within the first thousand documents; the others are compared to the end."""
    rng = np.random.default_rng(0)
    groups = QueryGroups.from_sizes(np.full(400, 10))
    first, second = rng.normal(size=(2, 4000))
    later = first.copy()
    later[3000:] += rng.normal(size=1000)
    S = np.column_stack([first, second, 3.0 * first, later, -second, groups.per_document(rng.normal(size=400)) + later])
    units = spreads(groups, S, np.ones(400))
    assert copies(S, groups, np.ones(400), units) == ([[0, 2], [3, 5]], [(1, 4)])
    behind = np.where(np.arange(400) < 200, 0.0, 1.0)  # of the first queries none weighs
    assert copies(S, groups, behind, spreads(groups, S, behind)) == ([[0, 2], [3, 5]], [(1, 4)])
    ahead = 1.0 - behind
    assert copies(S, groups, ahead, spreads(groups, S, ahead)) == ([[0, 2, 3, 5]], [(1, 4)])
    assert copies(S[:, [0, 1, 3]], groups, np.ones(400), units[[0, 1, 3]]) == ([], [])
    two = np.column_stack([first, first + np.where(np.arange(4000) < 500, second, 0.0)])  # apart where none weighs
    assert copies(two, groups, behind, spreads(groups, two, behind)) == ([[0, 1]], [])


@pytest.mark.parametrize(("apart", "alike"), [(1e-11, [[0, 1]]), (1e-7, [])])
def test_columns_that_rounding_tells_apart_are_copies(apart, alike):
    rng, groups = np.random.default_rng(0), QueryGroups.from_sizes([10] * 4)
    S = rng.normal(size=(40, 2))
    S[:, 1] = S[:, 0] + apart * S[:, 1]
    assert copies(S, groups, np.ones(4), spreads(groups, S, np.ones(4))) == (alike, [])


def test_what_rounding_leaves_of_models_that_cancel_is_nothing():
    weights, units = np.array([0.5, -0.5]), np.array([2.0, 1.0])
    assert [is_rounding(left, weights, units) for left in (0.0, 1e-11, 1e-9)] == [True, True, False]
    assert not is_rounding(0.0, np.zeros(2), units)


def test_models_that_agree_only_beside_a_huge_score_are_no_copies(data):
    """A number that stands for a missing score may be so far away that in spreads all others seem equal."""
    S, _, sizes = data
    S = np.where(np.arange(len(S))[:, None] == 3, -3.4e38, np.column_stack([S[:, :2], -S[:, 0], 2.0 * S[:, 1]]))
    S[3, 2] *= -1.0
    groups, weights = QueryGroups.from_sizes(sizes), np.ones(sizes.size)
    assert copies(S, groups, weights, spreads(groups, S, weights)) == ([[1, 3]], [(0, 2)])


@pytest.mark.parametrize("mix", ["auto", None])
def test_queries_without_anything_relevant_change_no_weights(data, mix):
    """They count 0 or not at all: the price of unequal weights and what is mixed in keep their place beside it."""
    S, y, sizes = data
    qid = np.repeat(np.arange(sizes.size), sizes)
    y = np.where(qid % 3 > 0, 0, y)
    zero, skip = (
        SoftBlender(Metric("ndcg@10", empty=empty), mix=mix).fit(S, y, group=sizes) for empty in ("zero", "skip")
    )
    np.testing.assert_allclose(zero.weights_, skip.weights_, atol=1e-6)
    assert zero.mix_ == skip.mix_
    assert np.ptp(zero.weights_) > 0.1


def test_without_queries_rows_are_placed_among_those_of_fit():
    S, y, sizes = blends(n_queries=2)
    S[[3, 7], 0] = np.nan
    with pytest.warns(UserWarning, match="all rows are one query"):
        blender = SoftBlender(normalize="zscore").fit(S, y)
    ours = blender.normalize_scores(S, group=[y.size])
    np.testing.assert_allclose(blender.normalize_scores(S), ours, atol=1e-12)
    np.testing.assert_allclose(blender.predict(S[2:4]), blender.predict(S)[2:4], atol=1e-12)
    apart = SoftBlender(normalize="zscore").fit(S, y, group=sizes).normalize_scores(S, group=sizes)
    np.testing.assert_array_equal(blender.normalize_scores(S, group=sizes), apart)  # as queries if they are said
    with pytest.warns(UserWarning, match="all rows are one query"):
        blender.set_params(normalize="rank").fit(S, y)
    ranks = norm.cdf(-blender.normalize_scores(S)) * y.size + 0.5
    np.testing.assert_allclose(ranks[[3, 7], 0], y.size - 0.5)  # those without a score share the last ranks
    ranks = ranks[:, 1]
    np.testing.assert_allclose(np.sort(ranks), np.arange(1, y.size + 1), atol=1e-9)
    between = np.sort(S[:, 1])[::-1][[4, 5]].mean()  # half-way between ranks 5 and 6
    new = blender.normalize_scores(np.array([[0.0, between, 0.0], [0.0, 1e9, np.nan]]))
    assert norm.cdf(-new[0, 1]) * y.size + 0.5 == pytest.approx(5.5)
    assert norm.cdf(-new[1, 1]) * y.size + 0.5 == pytest.approx(1.0)  # better than the best: as the best
    with pytest.warns(UserWarning, match="all rows are one query"):
        blender.set_params(method="rrf").fit(S, y)
    ours = blender.normalize_scores(S, group=[y.size])
    np.testing.assert_allclose(blender.normalize_scores(S), ours, rtol=1e-12)


def test_queries_are_asked_for_again(data, fitted):
    S, y, _ = data
    with pytest.raises(ValueError, match=r"predict: qid \(or group\) must be given, as it was to fit"):
        fitted.predict(S)
    with pytest.raises(ValueError, match=r"score: qid \(or group\) must be given"):
        fitted.score(S, y)


# ---------------------------------------------------------------------------------------------------------
# Intervals, models, other methods
# ---------------------------------------------------------------------------------------------------------


def test_the_interval_is_of_the_weights_that_queries_had_in_fit(data):
    """It is computed when it is asked for: the user's array may be another one by then."""
    S, y, sizes = data
    weights = np.random.default_rng(4).lognormal(size=sizes.size)
    kept, changed = (SoftBlender(n_boot=20).fit(S, y, group=sizes, query_weight=given) for given in (+weights, weights))
    weights[:] = weights[::-1].copy()
    np.testing.assert_array_equal(changed.weights_interval_, kept.weights_interval_)


def test_interval_is_that_of_weights_on_resampled_queries(data):
    S, y, sizes = data
    weights, options = np.random.default_rng(4).lognormal(size=sizes.size), {"sigma": [4.0, 0.5], "l2": 0.0}
    blender = SoftBlender(n_boot=20, random_state=3, **options).fit(S, y, group=sizes, query_weight=weights)
    interval = blender.weights_interval_
    assert interval is blender.weights_interval_  # computed once
    rng, found = np.random.default_rng(3), []
    qid = np.repeat(np.arange(sizes.size), sizes)
    for _ in range(20):
        counts = rng.multinomial(sizes.size, np.full(sizes.size, 1 / sizes.size))
        again = SoftBlender(mix=blender.mix_, **options).fit(S, y, qid=qid, sample_weight=(counts * weights)[qid])
        found.append(again.weights_)
    expected = np.transpose([np.min(found, axis=0), np.max(found, axis=0)])  # a twentieth of 21 is one: half at an end
    np.testing.assert_allclose(interval, expected, atol=0.02)  # they start and end a little elsewhere
    assert np.all(interval[:, 1] > interval[:, 0])


def test_queries_of_weight_zero_do_not_change_the_interval():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 1040)
    S = y[:, None] + [1.0, 1.5, 3.0] * rng.normal(size=(1040, 3))
    few, weights = slice(960, 1040), np.repeat([0.0, 1.0], [96, 8])
    options = {"metric": "ndcg@5", "mix": None, "sigma": 0.5, "l2": 0.1, "n_boot": 20}
    left_out = SoftBlender(**options).fit(S[few], y[few], group=[10] * 8)
    present = SoftBlender(**options).fit(S, y, group=[10] * 104, query_weight=weights)
    np.testing.assert_allclose(present.weights_interval_, left_out.weights_interval_, atol=1e-6)


def test_the_next_resample_lies_beyond_the_interval_once_in_twenty(data, monkeypatch):
    """Of 39 draws and a 40th any two are as likely to be the ends: beyond the outermost of 39 it is 2 times in 40."""
    S, y, sizes = data
    first = np.random.default_rng(0).permutation(39) / 100
    draws = np.column_stack([first, 0.5 - first, np.full(39, 0.5)])
    monkeypatch.setattr("boostsoft.blending.blender.bootstrap_weights", lambda *_: draws)
    interval = SoftBlender(n_boot=39).fit(S, y, group=sizes).weights_interval_
    np.testing.assert_allclose(interval, [[0.0, 0.38], [0.12, 0.5], [0.5, 0.5]], rtol=0, atol=1e-12)


def test_weights_that_are_used_again_do_not_change_the_interval(data):
    """It is computed when it is asked for."""
    S, y, sizes = data
    weights, options = np.random.default_rng(4).lognormal(size=sizes.size), {"n_boot": 20, "sigma": [0.5]}
    one, other = (
        SoftBlender(**options).fit(S, y, group=sizes, query_weight=each) for each in (weights, weights.copy())
    )
    weights[: sizes.size // 2] = 0.0
    np.testing.assert_array_equal(one.weights_interval_, other.weights_interval_)


def test_a_resample_in_which_nothing_is_relevant_says_nothing():
    """Two of 40 queries tell rankings apart: an eighth of the resamples have neither, and know no weights."""
    rng = np.random.default_rng(0)
    y = np.zeros((40, 10))
    y[:2, :3] = [2, 1, 1]
    S = np.stack([y + 0.1 * rng.normal(size=y.shape), *rng.normal(size=(2, *y.shape))], axis=-1).reshape(-1, 3)
    blender = SoftBlender(mix=None, sigma=0.5, l2=0.01).fit(S, y.ravel(), group=[10] * 40)
    assert blender.weights_[0] > 0.99
    assert blender.weights_interval_[0, 0] > 0.7


def test_interval_does_not_depend_on_who_asks_and_when(data, monkeypatch):
    S, y, sizes = data
    expected = SoftBlender(n_boot=20, random_state=3).fit(S, y, group=sizes).weights_interval_
    generator = np.random.default_rng(3)
    blender = SoftBlender(n_boot=20, random_state=generator).fit(S, y, group=sizes)
    generator.normal(size=100)
    with monkeypatch.context() as patch:
        patch.setattr("boostsoft.blending.interval.climb", interrupted)
        with pytest.raises(KeyboardInterrupt):
            _ = blender.weights_interval_
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: blender.weights_interval_, range(4)):
            assert np.array_equal(found, expected)


def interrupted(*_):
    raise KeyboardInterrupt


def test_what_shows_a_blender_does_not_compute_the_interval(data, monkeypatch):
    """scikit-learn's HTML from 1.9 on, and debuggers, ask for all that dir() lists."""
    S, y, sizes = data
    blender = SoftBlender(n_boot=20).fit(S, y, group=sizes)
    with monkeypatch.context() as patch:
        patch.setattr(SoftBlender, "_bootstrap", lambda _: pytest.fail("computed"))
        assert "SoftBlender" in blender._repr_html_()
        assert {"weights_", "sigma_"} <= {name for name, _ in inspect.getmembers(blender)}
    interval = blender.weights_interval_
    assert dict(inspect.getmembers(blender))["weights_interval_"] is interval
    assert "fit" in dir(SoftBlender())


def test_interval_of_a_pickle_is_there_if_it_was_computed(data):
    S, y, sizes = data
    blender = SoftBlender(n_boot=20).fit(S, y, group=sizes)
    early = pickle.dumps(blender)
    assert len(early) < 10_000  # without the training data
    with pytest.raises(AttributeError, match="pickled or copied before it was computed"):
        _ = pickle.loads(early).weights_interval_
    interval = blender.weights_interval_
    later = pickle.loads(pickle.dumps(blender))
    assert np.array_equal(later.weights_interval_, interval)
    assert np.array_equal(later.predict(S, group=sizes), blender.predict(S, group=sizes))
    with pytest.raises(AttributeError, match="n_boot"):
        _ = SoftBlender(n_boot=0).fit(S, y, group=sizes).weights_interval_


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
def test_models_get_no_masked_features(data):
    X, y, sizes = data
    for masked in (np.ma.masked_less(X, 0.0), list(np.ma.masked_less(X, 0.0))):
        with pytest.raises(ValueError, match=r"^SoftBlender\.fit: S must not have masked entries; got "):
            SoftBlender(models=[Column(1), Column(2)]).fit(masked, y, group=sizes)


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


@pytest.mark.parametrize("how", ["none", "zscore"])
def test_equal_weights_are_equal_on_the_normalised_scores(how, data):
    S, y, sizes = data
    S = S * [1.0, 10.0, 100.0]
    blender = SoftBlender(method="equal", normalize=how).fit(S, y, group=sizes)
    assert blender.weights_.tolist() == [1 / 3] * 3
    np.testing.assert_allclose(
        blender.predict(S, group=sizes), blender.normalize_scores(S, group=sizes).mean(axis=1), rtol=1e-9, atol=1e-12
    )


def test_documents_that_no_ranker_tells_apart_are_tied():
    """A matrix product by BLAS rounds the rows that are left over another way."""
    for n in range(5, 40):
        rng = np.random.default_rng(n)
        S = np.tile(rng.normal(size=8), (n, 1))
        S[::3] = rng.normal(size=(len(S[::3]), 8))
        y, group, alike = rng.integers(0, 2, n), [3, n - 3], np.arange(n) % 3 > 0
        y[[0, -1]] = 1
        blender = SoftBlender("dcg", method="random", normalize="none", method_params={"evaluations": 5})
        blend = blender.fit(S, y, group=group).predict(S, group=group)
        assert len(set(blend[3:][alike[3:]].tolist())) == 1
        assert blender.score(S, y, group=group) == Metric("dcg")(y, blend, group=group)


def test_reciprocal_rank_fusion_is_its_formula():
    S = np.array([[3.0, np.nan], [1.0, 5.0], [2.0, 5.0], [0.0, 7.0], [1.0, 6.0]])
    qid = [1, 1, 1, 2, 2]
    blender = SoftBlender(method="rrf", normalize="zscore").fit(S, [0, 1, 0, 0, 1], qid=qid)
    first = [1 / 61, 1 / 63 + 1 / 61.5, 1 / 62 + 1 / 61.5]
    expected = np.array([*first, 1 / 62 + 1 / 61, 1 / 61 + 1 / 62]) / 2
    np.testing.assert_allclose(blender.predict(S, qid=qid), expected, rtol=1e-12)


def test_a_bar_where_nobody_looks_writes_nothing(capsys, monkeypatch):
    monkeypatch.setattr("rich.progress.Progress.stop", lambda self: self.console.print())  # as before Rich 14
    with bar(shows("fit", "auto"), "blending") as tell:
        tell(0.5)
    assert capsys.readouterr() == ("", "")


def test_a_bar_that_is_asked_for_is_a_line_where_there_is_no_terminal(capsys):
    with bar(shows("fit", True), "blending") as tell:
        tell(0.5)
        tell(0.6)  # too soon after it
        tell(1.0)
    out, err = capsys.readouterr()
    assert not out
    assert [line for line in ("50% ", "60% ", "100% ") if line in err] == ["50% ", "100% "]
    assert err.count("\r") == 2
    assert err.endswith("\n")


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


def test_copies_are_seen_through_rounding():
    """Sums of trees differ in their last bits where rescaling does not keep them."""
    rng = np.random.default_rng(0)
    a = np.round(rng.normal(size=600), 1)
    a = np.where(rng.random(600) < 0.5, a, a + 0.1 - 0.1)
    S, groups = np.column_stack([a, 3 * a + 0.7, 2 - 0.7 * a]), QueryGroups.from_sizes([20] * 30)
    found, reversed_ = copies(S, groups, np.ones(30), S.std(axis=0))
    assert found == [[0, 1]]
    assert reversed_ == [(0, 2)]


def test_a_model_that_is_not_fitted_is_named(data):
    S, y, sizes = data
    with pytest.raises(NotFittedError, match=r"^SoftBlender.fit: models\[1\] must have been fitted; This LinearReg"):
        SoftBlender(models=[LinearRegression().fit(S, y), LinearRegression()]).fit(S, y, group=sizes)


def test_classifiers_of_two_classes_are_blended_by_how_sure_they_are(data):
    S, y, sizes = data
    linear, bayes = LogisticRegression().fit(S, y > 0), GaussianNB().fit(S, y > 0)
    blender = SoftBlender(models=[linear, bayes]).fit(S, y, group=sizes)
    sure = np.column_stack([linear.decision_function(S), bayes.predict_proba(S)[:, 1]])
    wanted = SoftBlender().fit(sure, y, group=sizes)
    np.testing.assert_array_equal(blender.weights_, wanted.weights_)
    np.testing.assert_array_equal(blender.predict(S, group=sizes), wanted.predict(sure, group=sizes))


def test_chances_of_the_second_class_alone_are_what_is_blended(data):
    """As LightGBM's are, before 4.7, under an objective of one's own."""
    S, y, sizes = data

    class Chances:
        classes_ = np.array([0, 1])

        def predict(self, X):
            return np.zeros(len(X))

        def predict_proba(self, X):
            return 1.0 / (1.0 + np.exp(-np.asarray(X)[:, 0]))

    blender = SoftBlender(models=[Chances(), Column(1)]).fit(S, y, group=sizes)
    wanted = SoftBlender().fit(S[:, :2], y, group=sizes)
    np.testing.assert_allclose(blender.weights_, wanted.weights_, atol=1e-12)


def test_a_classifier_of_several_outputs_is_refused(data):
    S, y, sizes = data
    forest = RandomForestClassifier(2, random_state=0).fit(S, np.column_stack([y > 0, np.minimum(y, 2)]))
    with pytest.raises(ValueError, match=r"^SoftBlender.fit: predictions of models\[0\] must be one-dimensional"):
        SoftBlender(models=[forest, Column(1)]).fit(S, y, group=sizes)
