"""What SoftBlender is given: scores on one scale, frames with names, and input that it warns of or refuses."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import norm

from boostsoft import Metric
from boostsoft.blending import SoftBlender, blend_curve
from boostsoft.blending.scores import normal_scores

from . import blender_cases
from .blender_cases import blends

data, fitted = blender_cases.data, blender_cases.fitted  # fixtures


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


@pytest.mark.parametrize("n", [1, 2, 5, 10, 137])
def test_mirrored_ranks_are_opposite_to_the_last_digit(n):
    """What both add up to ties documents that stand as far from the top as from the bottom."""
    ranks = np.arange(1, n + 0.5, 0.5)
    scores = normal_scores(ranks, n)
    np.testing.assert_array_equal(scores, -scores[::-1])
    np.testing.assert_allclose(scores, norm.ppf((n + 0.5 - ranks) / n), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("how", ["rank", "zscore", "minmax"])
def test_normalised_scores_do_not_change_with_scale_and_offset(how, data):
    S, y, sizes = data
    blender = SoftBlender(normalize=how, sigma=1.0).fit(S, y, group=sizes)
    widest = 1.7e308 / np.abs(S[:, 0]).max()  # differences of such scores are no numbers
    far = blender.normalize_scores(S * [widest, 1e-290, 4.0] + [0.0, 0.0, 8.0], group=sizes)
    np.testing.assert_allclose(far, blender.normalize_scores(S, group=sizes), rtol=1e-9, atol=1e-12)


def test_a_missing_score_below_the_lowest_float_is_the_lowest_float():
    query = np.array([[1.7e308, 0.0], [-1.7e308, 1.0], [np.nan, 2.0], [0.0, 0.0]])
    S, y, sizes = np.vstack([query, query]), [1, 0, 0, 1] * 2, [4, 4]
    blender = SoftBlender(normalize="none", method="equal").fit(S, y, group=sizes)
    assert blender.normalize_scores(S, group=sizes)[2, 0] == np.finfo(float).min


@pytest.mark.parametrize("options", [{"method": "equal"}, {"method": "rrf"}, {}], ids=str)
def test_the_order_of_the_rows_does_not_change_a_bit(options):
    """Sums that are equal but for rounding are ordered by it, so that it must not depend on where rows stand."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(40), 10)
    S = np.column_stack([np.concatenate([rng.permutation(10) for _ in range(40)]) for _ in range(3)])
    y = rng.integers(0, 3, 400)
    blender = SoftBlender("ndcg@3", **options).fit(S, y, qid=qid)
    there, back = rng.permutation(400), np.empty(400)
    back[there] = blender.predict(S[there], qid=qid[there])
    assert np.array_equal(back, blender.predict(S, qid=qid))


def test_scores_as_they_are_may_differ_in_size(data):
    """The climb starts where all models move the blend alike: the size of one does not matter."""
    S, y, sizes = data
    plain = SoftBlender(normalize="none").fit(S, y, group=sizes)
    large = SoftBlender(normalize="none").fit(S * [1.0, 1e9, 1e-6], y, group=sizes)
    share = large.weights_ * [1.0, 1e9, 1e-6]
    np.testing.assert_allclose(share / share.sum(), plain.weights_, atol=1e-6)
    assert large.weights_.sum() == pytest.approx(1.0)
    # where an interval's climbs start
    np.testing.assert_allclose(large._task.gather(large.weights_), plain._task.gather(plain.weights_), atol=1e-6)
    task = large._task
    np.testing.assert_allclose(task.spread_out(task.gather(large.weights_)), large.weights_, rtol=1e-9)
    tiny = SoftBlender(normalize="none", n_boot=20).fit(S * 1e-310, y, group=sizes)
    np.testing.assert_allclose(tiny.weights_, plain.weights_, atol=1e-6)
    assert np.isfinite(tiny.weights_interval_).all()


@pytest.mark.parametrize("frames", ["pandas", "polars", "pyarrow"])
def test_frames_keep_their_names(frames, data, fitted):
    library = pytest.importorskip(frames)
    build = library.table if frames == "pyarrow" else library.DataFrame
    S, y, sizes = data
    frame = build({"bm25": S[:, 0], "lm": S[:, 1], "links": S[:, 2]})
    blender = SoftBlender().fit(frame, y, group=sizes)
    assert list(blender.feature_names_in_) == ["bm25", "lm", "links"]
    assert np.array_equal(blender.weights_, fitted.weights_)
    assert np.array_equal(blender.predict(frame, group=sizes), fitted.predict(S, group=sizes))
    S = with_value(S, 4, 1, np.inf)
    with pytest.raises(ValueError, match="got inf in column 'lm', row 4"):
        SoftBlender().fit(build({"bm25": S[:, 0], "lm": S[:, 1]}), y, group=sizes)


def test_columns_of_one_name_are_refused(data, fitted):
    pandas = pytest.importorskip("pandas")
    S, y, sizes = data
    twins = pandas.DataFrame(S, columns=["bm25", "lm", "lm"])
    wrong = "S: columns must have different names; got 'lm' 2 times"
    with pytest.raises(ValueError, match=f"SoftBlender.fit: {wrong}"):
        SoftBlender().fit(twins, y, group=sizes)
    with pytest.raises(ValueError, match=f"SoftBlender.predict: {wrong}"):
        fitted.predict(twins, group=sizes)
    with pytest.raises(ValueError, match=f"blend_curve: {wrong}"):
        blend_curve(twins, y, group=sizes)


# ---------------------------------------------------------------------------------------------------------
# Bad input
# ---------------------------------------------------------------------------------------------------------


def test_a_constant_model_gets_no_weight(data, fitted):
    S, y, sizes = data
    qid = np.repeat(np.arange(sizes.size), sizes)
    S = np.column_stack([qid * 1.5, S])  # constant within every query
    with pytest.warns(UserWarning, match="constant within every query: column 0; of weight 0"):
        blender = SoftBlender(n_boot=20).fit(S, y, group=sizes)
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


def test_a_query_of_hardly_any_weight_is_one_more(data):
    """Whatever asks whether one query alone decides: the fit, its interval, a curve."""
    S, y, sizes = data
    relevant, weights = np.where(np.arange(y.size) < sizes[:2].sum(), y, 0), np.full(sizes.size, 1e-17)
    weights[0] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        blender = SoftBlender(n_boot=20).fit(S, relevant, group=sizes, query_weight=weights)
        curve = blend_curve(S, relevant, group=sizes, query_weight=weights, n=3, sigma=0.5, n_boot=20)
    assert np.isfinite(blender.weights_interval_).all()
    assert np.isfinite([curve.soft_optimum.low, curve.soft_optimum.high]).all()


def test_of_a_pooled_metric_one_query_is_no_exception(data):
    """Its pairs are those of all documents, whatever their queries."""
    S, y, _ = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SoftBlender(Metric("auc", pooled=True), method="equal").fit(S, y, group=[y.size])


def test_two_constant_models_of_three_have_no_weight(data):
    S, y, sizes = data
    with pytest.warns(UserWarning, match="constant within every query: column 1, column 2; of weight 0"):
        blender = SoftBlender(n_boot=0).fit(S * [1, 0, 0], y, group=sizes)
    assert blender.weights_.tolist() == [1.0, 0.0, 0.0]


def with_value(S, row, column, value):
    changed = S.copy()
    changed[row, column] = value
    return changed


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda S, y: (with_value(S, 7, 2, -np.inf), y), {}, "finite, or NaN .* got -inf in column 2, row 7"),
        (lambda S, y: (with_value(S, slice(None), 1, np.nan), y), {}, "column 1 is NaN everywhere"),
        (
            lambda S, y: (np.ma.masked_less(S, 0.0), y),
            {},
            r"^SoftBlender.fit: S must not have masked entries; got mask",
        ),
        (lambda S, y: (S, 0 * y), {}, "must have documents worth telling apart; ndcg is undefined for all 25"),
        (lambda S, y: (S, y - 1), {}, "gains of at least 0"),
        (None, {"sigma": "narrow"}, "sigma must be 'auto' or a number or falling numbers; got 'narrow'"),
        (None, {"sigma": [0.5, 1.0]}, "sigma must fall"),
        (None, {"sigma": -1.0}, "sigma must be finite and above 0"),
        (None, {"normalize": "sum"}, "normalize must be one of 'rank', 'zscore', 'minmax', 'none'"),
        (None, {"constraint": "box"}, "constraint must be one of"),
        (None, {"noise": "cauchy"}, "noise must be one of"),
        (None, {"method": "soft-ascent"}, "method must be one of 'soft', 'grid'"),
        (None, {"lower_is_better": [True, False]}, "one of them per model, 3; got"),
        (None, {"lower_is_better": 1}, "True, False or one of them per model"),
        (None, {"l2": -1.0}, "l2 must not be negative"),
        (None, {"n_starts": 0}, r"^SoftBlender\.fit: n_starts must be from 1"),
        (None, {"n_starts": 0, "method": "equal"}, r"^SoftBlender\.fit: n_starts must be from 1"),
        (None, {"n_boot": -1}, "n_boot must be from 0"),
        (None, {"n_boot": 1}, r"fit: n_boot must be 0 \(no intervals\) or at least 20; got 1"),
        (None, {"n_boot": 19}, r"fit: n_boot must be 0 \(no intervals\) or at least 20; got 19"),
        (None, {"progress": "always"}, "progress must be True, False or 'auto'"),
        (None, {"metric": "bpref"}, "another method maximises the metric itself"),
        (None, {"metric": Metric("ndcg", k=[3] * 25)}, "one cutoff for all queries"),
        (None, {"mix": {Metric("ndcg", k=[3] * 25): 0.3}}, "one cutoff for all queries"),
        (None, {"random_state": -1}, r"^SoftBlender\.fit: random_state must be a seed from 0 .*; got -1$"),
        (None, {"random_state": "x"}, "random_state must be a seed .*; got 'x'"),
    ],
)
def test_bad_input(change, options, message, data):
    S, y, sizes = data
    S, y = (S, y) if change is None else change(S, y)
    with pytest.raises(ValueError, match=message):
        SoftBlender(**options).fit(S, y, group=sizes)


def test_a_fit_that_fails_leaves_the_blender_as_it_was(data):
    S, y, sizes = data
    blender = SoftBlender().fit(S, y, group=sizes)
    before = blender.predict(S, group=sizes)
    for labels in (np.zeros(y.size), np.full(y.size, np.nan)):
        with pytest.raises(ValueError, match=r"^SoftBlender\.fit: "):
            blender.fit(S[:, :2], labels, group=sizes)
    assert blender.n_features_in_ == 3
    np.testing.assert_array_equal(blender.predict(S, group=sizes), before)


def test_one_document_is_too_few_to_fit():
    with pytest.raises(ValueError, match="1 sample"):
        SoftBlender().fit(np.ones((1, 2)), [1], group=[1])


def test_a_lazy_frame_must_be_collected(data):
    polars = pytest.importorskip("polars")
    S, y, sizes = data
    with pytest.raises(TypeError, match=r"^SoftBlender.fit: S must be a DataFrame or an array; got a LazyFrame, which"):
        SoftBlender().fit(polars.DataFrame(S).lazy(), y, group=sizes)


def times():
    """Scores as times or durations, of which NumPy makes floats without their unit, and by what they are to be told."""
    whole = np.arange(40).reshape(20, 2)
    pairs = [[np.timedelta64(a, "s"), float(b)] for a, b in whole.tolist()]
    yield whole.astype("M8[s]"), "an array of datetime64"
    yield whole.astype("m8[s]").tolist(), "float"
    yield list(whole.astype("m8[s]")), "an array of timedelta64"
    yield np.array(pairs, object), "an array of timedelta64"
    pd, pl, pa = map(pytest.importorskip, ("pandas", "polars", "pyarrow"))
    yield pd.DataFrame(whole.astype("M8[s]")), "column 0 has dtype datetime64"
    yield pd.DataFrame(whole.astype("m8[s]")).astype("duration[s][pyarrow]"), "column 0 has dtype duration"
    yield pd.DataFrame({"a": pd.Series([a for a, _ in pairs], dtype=object), "b": 1.0}), "column 'a' has dtype object"
    for kind in ("m8[ms]", "M8[ms]"):
        yield pl.DataFrame({"a": whole[:, 0].astype(kind), "b": whole[:, 1]}), "column 'a' has dtype D"
        yield pa.table({"a": whole[:, 0].astype(kind), "b": whole[:, 1] / 2}), "pyarrow.Table"
        yield pa.table({"a": whole[:, 0].astype(kind)}), "an array of "


@pytest.mark.parametrize("at", range(13))
def test_times_are_no_scores(at):
    S, told = list(times())[at]
    y = np.arange(20) % 2
    for call in (SoftBlender(method="equal").fit, blend_curve):
        with pytest.raises((TypeError, ValueError), match=rf"(?s)^(SoftBlender\.fit|blend_curve): S must .*{told}"):
            call(S, y, group=[10, 10])


def test_scores_must_not_be_masked_within_a_list():
    rows = list(np.ma.masked_less(np.arange(40.0).reshape(20, 2), 1))
    with pytest.raises(ValueError, match=r"^SoftBlender\.fit: S must not have masked entries; got \[masked_array"):
        SoftBlender(method="equal").fit(rows, np.arange(20) % 2, group=[10, 10])


@pytest.mark.parametrize(
    ("S", "said"),
    [
        (np.array([["a", 1.0]] * 20, object), "could not convert string to float"),
        (np.ones(20), r"Expected 2D array, got 1D array\. Reshape your data .*\.$"),
        (np.ones((20, 2)) + 1j, "Complex data not supported"),
    ],
)
def test_what_scikit_learn_says_of_scores_comes_with_the_function_and_the_rule(S, said):
    rule = r"^SoftBlender\.fit: S must have one row per document, one column per model: "
    with pytest.raises(ValueError, match=f"{rule}{said}"):
        SoftBlender(method="equal").fit(S, np.arange(20) % 2, group=[10, 10])


def test_a_dict_of_scores_must_be_made_a_frame(data):
    S, y, sizes = data
    columns = dict(enumerate(S.T))
    with pytest.raises(TypeError, match=r"^SoftBlender.fit: S must be a DataFrame or an array; got a dict, of"):
        SoftBlender().fit(columns, y, group=sizes)
    with pytest.raises(TypeError, match=r"^blend_curve: S must be a DataFrame or an array; got a dict, of"):
        blend_curve(columns, y, group=sizes)


def test_a_generator_is_drawn_from(data):
    S, y, sizes = data
    options = {"method": "random", "method_params": {"evaluations": 20}}
    given, seeded = (
        SoftBlender(**options, random_state=state).fit(S, y, group=sizes).weights_
        for state in (np.random.default_rng(7), 7)
    )
    np.testing.assert_array_equal(given, seeded)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"models": []}, "models must be a list of fitted models"),
        ({"models": [object()]}, r"models\[0\] must have a method predict"),
        ({"models": [SoftBlender]}, r"models\[0\] must be a fitted model; got the class SoftBlender"),
        ({"method_params": [1]}, "method_params must be a dict"),
        (
            {"method": "ltr-ga", "method_params": {"rounds": 9}},
            "fit: method_params of 'ltr-ga' must be among evaluations; got 'rounds'",
        ),
        ({"method": "equal", "method_params": {"steps": 9}}, "method 'equal' takes no method_params; got 'steps'"),
        ({"method_params": {"n_starts": 4}}, "method 'soft' takes no method_params; got 'n_starts'"),
        ({"metric": 3}, "metric must be a string"),
    ],
)
def test_bad_types(options, message, data):
    S, y, sizes = data
    with pytest.raises(TypeError, match=message):
        SoftBlender(**options).fit(S, y, group=sizes)


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("grid", "steps"),
        ("coordinate-ascent", "restarts"),
        ("coordinate-ascent", "tolerance"),
        ("ltr-ga", "evaluations"),
        ("ltr-mga", "evaluations"),
        ("random", "evaluations"),
    ],
)
def test_an_option_of_a_method_out_of_range_is_told_of_as_given_to_fit(method, name, data):
    S, y, sizes = data
    with pytest.raises(ValueError, match=rf"^SoftBlender\.fit: method_params: {name} must .*; got -1$"):
        SoftBlender(method=method, method_params={name: -1}).fit(S, y, group=sizes)


def test_models_that_differ_in_queries_without_weight_alone_are_copies(data):
    S, y, sizes = data
    alike, weights = np.column_stack([S[:, 0], S[:, 1], S[:, 0]]), np.ones(sizes.size)
    alike[-sizes[-1] :, 2] = S[-sizes[-1] :, 2]
    weights[-1] = 0.0
    with pytest.warns(UserWarning, match="column 0 and column 2 rank all documents alike"):
        SoftBlender(n_boot=0, sigma=0.5).fit(alike, y, group=sizes, query_weight=weights)


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["copy", "reverse"])
def test_copies_are_found_in_many_documents(sign):
    """Of which the first ones tell most columns apart; and where all of them are alike but a late query is not."""
    S, y, sizes = blends(n_queries=300)
    alike = np.column_stack([S[:, 0], S[:, 1], sign * S[:, 0]])
    wanted = "column 0 and column 2 rank all documents alike" if sign > 0 else "column 2 ranks all documents in the opp"
    with pytest.warns(UserWarning, match=wanted):
        SoftBlender(n_boot=0, sigma=0.5).fit(alike, y, group=sizes)
    alike[-sizes[-1] :, 2] = alike[-sizes[-1] :, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SoftBlender(n_boot=0, sigma=0.5).fit(alike, y, group=sizes)


@pytest.mark.parametrize("sigma", [[0.5, 0.5], [0.2, 0.4], []])
def test_sigmas_fall(sigma, data):
    S, y, sizes = data
    with pytest.raises(ValueError, match=r"^SoftBlender\.fit: sigma must fall from stage to stage; got "):
        SoftBlender(sigma=sigma).fit(S, y, group=sizes)


@pytest.mark.parametrize("constraint", ["simplex", "free"])
@pytest.mark.parametrize("how", ["rank", "zscore", "minmax", "none"])
def test_a_model_and_its_reverse_do_not_cancel(how, constraint, data):
    """At equal weights nothing is left of them but rounding, which leads nowhere."""
    S, y, sizes = data
    ndcg = Metric("ndcg@10")
    both = np.column_stack([S[:, 0], -S[:, 0]])
    with pytest.warns(
        UserWarning, match="column 1 ranks all documents in the opposite order of column 0: only"
    ) as caught:
        blender = SoftBlender("ndcg@10", normalize=how, constraint=constraint).fit(both, y, group=sizes)
    assert caught[0].filename == __file__
    assert blender.weights_[0] > blender.weights_[1]
    assert blender.score(both, y, group=sizes) == pytest.approx(ndcg(y, S[:, 0], group=sizes), abs=1e-12)


def test_one_query_has_no_interval(data):
    S, y, sizes = data
    first = sizes[0]
    with pytest.warns(UserWarning, match="one query"):
        blender = SoftBlender(n_boot=20).fit(S[:first], y[:first], group=[first])
    assert np.isnan(blender.weights_interval_).all()
    assert blender.weights_interval_.shape == (S.shape[1], 2)
