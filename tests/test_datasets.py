"""Ranking data as a value, and the task made of the embedded digits."""

from __future__ import annotations

from dataclasses import replace

import lightgbm
import numpy as np
import pytest
import sklearn.datasets

from boostsoft.datasets import RankingData, load_digits_ranking

from .letor_cases import assert_same

# ---------------------------------------------------------------------------------------------------------
# RankingData
# ---------------------------------------------------------------------------------------------------------


def make_data(counts=(2, 1, 3), **changes) -> RankingData:
    n_docs = sum(counts)
    fields = {
        "X": np.arange(2.0 * n_docs).reshape(n_docs, 2),
        "y": np.arange(float(n_docs)),
        "qid": np.repeat(np.arange(len(counts)) + 50, counts),
        "sizes": np.array(counts),
        "comments": tuple(f"docid = d{i}" for i in range(n_docs)),
    }
    return RankingData(**{**fields, **changes})


def test_ranking_data_counts_and_default_names():
    data = make_data()
    assert (data.n_queries, data.n_docs) == (3, 6)
    assert data.feature_names == ("feature_1", "feature_2")
    assert repr(data) == "RankingData(n_queries=3, n_docs=6, n_features=2)"
    assert make_data(feature_names=("a", "b")).feature_names == ("a", "b")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": np.zeros(6)}, r"X must have two dimensions; got shape \(6,\)"),
        ({"X": np.zeros((6, 1, 1))}, r"X must have two dimensions; got shape \(6, 1, 1\)"),
        ({"y": np.zeros(5)}, r"y must have shape \(6,\) as X; got \(5,\)"),
        ({"qid": np.zeros(7)}, r"qid must have shape \(6,\) as X; got \(7,\)"),
        ({"sizes": np.array([2, 2])}, "sum to the 6 rows of X; got 2 sizes with sum 4"),
        ({"sizes": np.array([2, 0, 4])}, "sizes must be at least 1"),
        ({"sizes": np.array([[2, 1, 3]])}, "sizes must be one-dimensional"),
        ({"sizes": np.array([2.0, 1.5, 2.5])}, "sizes must be whole numbers up to 2"),
        ({"qid": np.array([7, 7, 8, 7, 7, 7])}, "qid must differ between queries; got 7 for two of them"),
        ({"sizes": np.array([3, 3])}, "qid must not change within a query; got 51 at row 2"),
        ({"comments": ("a",)}, "comments must have length 6; got 1"),
        ({"comments": ("a",) * 7}, "comments must have length 6; got 7"),
        ({"feature_names": ("a",)}, "feature_names must have length 2; got 1"),
    ],
)
def test_ranking_data_refuses_what_does_not_fit(changes, message):
    with pytest.raises(ValueError, match="^RankingData: .*" + message):
        make_data(**changes)


def test_ranking_data_takes_whole_sizes_of_any_kind_and_ids_of_one():
    assert make_data(sizes=np.array([2.0, 1.0, 3.0])).select_queries([2]).n_docs == 3
    with pytest.raises(TypeError, match=r"^RankingData: qid must be all numbers or all strings; got both"):
        make_data(qid=np.array([1, 1, "a", 2, 2, 2], object))


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.bool_, np.float16, object, np.longdouble])
def test_ranking_data_holds_floats(kind):
    X, y = np.arange(12).reshape(6, 2) % 2, np.arange(6) % 2
    data = make_data(X=X.astype(kind), y=y.astype(kind))
    assert (data.X.dtype, data.y.dtype) == (np.float64, np.float64)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)


def test_ranking_data_keeps_single_precision_and_copies_no_floats():
    X, y = np.ones((6, 2), np.float32), np.arange(6.0)
    data = make_data(X=X, y=y)
    assert data.X is X
    assert data.y is y


@pytest.mark.parametrize(
    ("changes", "error", "told"),
    [
        ({"y": np.array(list("010101"))}, TypeError, "y must hold numbers"),
        ({"X": np.array([["a", "b"]] * 6)}, TypeError, "X must hold numbers"),
        ({"y": np.array([0, 1, 0, np.nan, 1, 0])}, ValueError, "y must be finite; got nan at position 3"),
    ],
)
def test_ranking_data_is_of_numbers(changes, error, told):
    with pytest.raises(error, match=f"^RankingData: {told}"):
        make_data(**changes)


@pytest.mark.parametrize("name", ["X", "y", "qid", "sizes"])
def test_ranking_data_is_of_arrays(name):
    with pytest.raises(TypeError, match=rf"^RankingData: {name} must be a ndarray; got list$"):
        make_data(**{name: getattr(make_data(), name).tolist()})


@pytest.mark.parametrize(
    ("queries", "rows", "sizes"),
    [
        ([2, 0], [3, 4, 5, 0, 1], [3, 2]),
        ([False, True, True], [2, 3, 4, 5], [1, 3]),
        (np.array([1], np.uint8), [2], [1]),
    ],
)
def test_select_queries(queries, rows, sizes):
    data = make_data()
    chosen = data.select_queries(queries)
    expected = RankingData(
        data.X[rows], data.y[rows], data.qid[rows], np.array(sizes), tuple(data.comments[i] for i in rows)
    )
    assert_same(chosen, expected)
    chosen.X[:] = -1
    assert data.X.min() == 0, "the selection must be a copy"


def test_select_queries_without_comments():
    assert make_data(comments=None).select_queries([0]).comments is None


def test_select_queries_keeps_the_names_of_the_features():
    assert make_data(feature_names=("a", "b")).select_queries([0]).feature_names == ("a", "b")


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ([True, False], r"mask must have shape \(3,\); got \(2,\)"),
        ([True, False, True, False], r"mask must have shape \(3,\); got \(4,\)"),
        ([False, False, False], "True for at least one query; it is False for all 3"),
        ([], "at least one query"),
        ([0.0], "integers; got dtype float64"),
        ([[0]], r"one-dimensional.*shape \(1, 1\)"),
        ([0, 3], r"within 0\.\.2; got 3"),
        ([-1], r"within 0\.\.2; got -1"),
        ([0, 1, 1], "distinct; got 1 more than once"),
        (np.ma.masked_equal([0, 1], 1), "must not have masked entries; got masked_array"),
    ],
)
def test_select_queries_refuses(queries, message):
    with pytest.raises(ValueError, match=r"^RankingData\.select_queries: queries .*" + message):
        make_data().select_queries(queries)


def test_data_must_not_be_masked():
    data = make_data()
    for name in ("X", "y", "qid", "sizes"):
        masked = np.ma.masked_equal(getattr(data, name), getattr(data, name).flat[0])
        with pytest.raises(ValueError, match=f"^RankingData: {name} must not have masked entries; got masked_array"):
            replace(data, **{name: masked})


def test_docids():
    assert make_data().docids() == ("d0", "d1", "d2", "d3", "d4", "d5")
    assert make_data((1,), comments=("inc = 1 docid=GX-1 x",)).docids() == ("GX-1",)
    with pytest.raises(ValueError, match=r"docids: comments must be present .*got None"):
        make_data(comments=None).docids()
    with pytest.raises(ValueError, match=r"docids: every comment must .* got 'nodocid = 3' at row 1"):
        make_data((2,), comments=("docid = 1", "nodocid = 3")).docids()


# ---------------------------------------------------------------------------------------------------------
# The embedded task
# ---------------------------------------------------------------------------------------------------------

DIGITS = sklearn.datasets.load_digits()


@pytest.fixture(scope="module", params=[False, True], ids=["binary", "graded"])
def digits(request):
    return load_digits_ranking(graded=request.param), request.param


def parts(splits):
    return splits.train, splits.valid, splits.test


def examples_of(data: RankingData):
    return np.array([comment.split("examples = ")[1].split() for comment in data.comments]).astype(int)


def test_digits_shape(digits):
    splits, graded = digits
    assert [data.n_queries for data in parts(splits)] == [300, 100, 100]
    for data in parts(splits):
        assert data.X.shape[1] == 32 * (1 + graded) == len(set(data.feature_names))
        assert np.isfinite(data.X).all()
        assert data.X.std(0).min() > 0
        assert data.sizes.min() >= 20
        assert data.sizes.max() <= 100
        assert len(set(data.sizes)) > 40
        none_relevant = np.add.reduceat(data.y, np.cumsum(data.sizes) - data.sizes) == 0
        assert none_relevant.mean() <= 0.05
        for grade in range(1, 2 + graded):
            assert 0.08 < (data.y == grade).mean() < 0.12


def test_digits_labels_are_the_digits(digits):
    splits, graded = digits
    for data in parts(splits):
        shown = DIGITS.target[np.array(data.docids(), int)]
        examples = examples_of(data)
        np.testing.assert_array_equal(examples[:, 0], data.qid)
        wanted = DIGITS.target[examples]
        expected = (shown == wanted[:, 0]) * (2.0 if graded else 1.0)
        if graded:
            assert (wanted[:, 0] != wanted[:, 1]).all()
            expected += shown == wanted[:, 1]
        np.testing.assert_array_equal(data.y, expected)


def test_digits_sets_share_no_image_and_queries_repeat_none(digits):
    splits, _ = digits
    images = [{*map(int, data.docids()), *examples_of(data).ravel().tolist()} for data in parts(splits)]
    assert not images[0] & images[1]
    assert not images[0] & images[2]
    assert not images[1] & images[2]
    for data in parts(splits):
        candidates = np.array(data.docids(), int)
        assert len(set(zip(data.qid, candidates, strict=True))) == data.n_docs
        assert not (candidates[:, None] == examples_of(data)).any()
        assert len(set(data.qid)) == data.n_queries


def strokes(images):
    """How often each row changes between ink and paper."""
    return ((images[:, :, 1:] > 0.5) != (images[:, :, :-1] > 0.5)).sum(2)


def moments(images):
    """Covariance of the places of the ink."""
    y, x = np.indices((8, 8)).reshape(2, -1)
    return np.array([np.cov(x, y, aweights=image.ravel(), ddof=0) for image in images])


def likeness(images, others):
    return np.array(
        [np.vdot(p, q) / np.linalg.norm(p) / np.linalg.norm(q) for p, q in zip(images, others, strict=True)]
    )


def test_digits_features_are_what_their_names_say(digits):
    splits, graded = digits
    data = splits.test
    rows = np.arange(0, data.n_docs, 97)
    for place, prefix in enumerate(("first_", "second_") if graded else ("",)):
        a = DIGITS.images[examples_of(data)[rows, place]] / 16
        b = DIGITS.images[np.array(data.docids(), int)[rows]] / 16
        column = {
            name.removeprefix(prefix): data.X[rows, i]
            for i, name in enumerate(data.feature_names)
            if name.startswith(prefix)
        }
        centre = lambda images: np.einsum("nij,j->n", images, np.arange(8)) / images.sum((1, 2))  # noqa: E731
        blur = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]]) / 16
        blurred = np.array(
            [[(np.pad(d, 1)[i : i + 3, j : j + 3] * blur).sum() for i in range(8) for j in range(8)] for d in (*a, *b)]
        )
        expected = {
            "cosine_pixels": likeness(a, b),
            "cosine_steps_right": likeness(a[:, :, 1:] - a[:, :, :-1], b[:, :, 1:] - b[:, :, :-1]),
            "cosine_steps_down": likeness(a[:, 1:] - a[:, :-1], b[:, 1:] - b[:, :-1]),
            "euclidean_pixels": [np.linalg.norm(p - q) for p, q in zip(a, b, strict=True)],
            "euclidean_blurred": np.linalg.norm(blurred[: len(a)] - blurred[len(a) :], axis=1),
            "correlation_rows": [np.corrcoef(p.sum(1), q.sum(1))[0, 1] for p, q in zip(a, b, strict=True)],
            "manhattan_columns": np.abs(a.sum(1) - b.sum(1)).sum(1),
            "manhattan_quadrant_ne": np.abs((a - b)[:, :4, 4:].sum((1, 2))),
            "manhattan_quadrant_sw": np.abs((a - b)[:, 4:, :4].sum((1, 2))),
            "manhattan_centre_x": np.abs(centre(a) - centre(b)),
            "manhattan_centre_y": np.abs(centre(a.transpose(0, 2, 1)) - centre(b.transpose(0, 2, 1))),
            "manhattan_strokes_by_row": np.abs(strokes(a) - strokes(b)).sum(1),
            "manhattan_strokes_by_column": np.abs(strokes(a.swapaxes(1, 2)) - strokes(b.swapaxes(1, 2))).sum(1),
            "manhattan_spread_x": np.abs(moments(a) - moments(b))[:, 0, 0],
            "manhattan_spread_y": np.abs(moments(a) - moments(b))[:, 1, 1],
            "manhattan_slant": np.abs(moments(a) - moments(b))[:, 0, 1],
            "manhattan_mirror_x": np.abs(likeness(a, a[:, :, ::-1]) - likeness(b, b[:, :, ::-1])),
            "manhattan_mirror_y": np.abs(likeness(a, a[:, ::-1]) - likeness(b, b[:, ::-1])),
            "ink_of_example": a.sum((1, 2)),
            "ink_of_candidate": b.sum((1, 2)),
        }
        for name, values in expected.items():
            np.testing.assert_allclose(column[name], values, rtol=1e-9, atol=1e-9, err_msg=name)


def test_digits_features_do_not_see_the_labels(monkeypatch):
    size = {"n_queries": (20, 5, 5)}
    before = load_digits_ranking(**size)
    other = sklearn.datasets.load_digits()
    other.target = np.random.default_rng(0).permutation(other.target)
    monkeypatch.setattr(sklearn.datasets, "load_digits", lambda: other)
    after = load_digits_ranking(**size)
    for left, right in zip(parts(before), parts(after), strict=True):
        np.testing.assert_array_equal(left.X, right.X)
        assert left.comments == right.comments
        assert (left.y != right.y).any()


def test_digits_depend_on_the_seed_alone(monkeypatch):
    size = {"n_queries": (20, 5, 5), "graded": True}
    first = load_digits_ranking(seed=1, **size)
    np.random.seed(123)  # noqa: NPY002
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    for left, right in zip(parts(first), parts(load_digits_ranking(seed=1, **size)), strict=True):
        assert_same(left, right)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    assert load_digits_ranking(seed=2, **size).test.comments != first.test.comments
    wider = load_digits_ranking(seed=1, n_queries=(30, 5, 5), graded=True)
    assert_same(wider.test, first.test)
    assert not np.array_equal(first.valid.sizes, first.test.sizes), "each set has draws of its own"


def mean_ndcg(data: RankingData, score) -> float:
    """NDCG@10 with gain 2^label - 1 and a query with nothing relevant counting 0."""
    ends = np.cumsum(data.sizes)[:-1]
    discount = 1 / np.log2(np.arange(2, 12))
    total = 0.0
    for y, s in zip(np.split(data.y, ends), np.split(score, ends), strict=True):
        gain = 2**y - 1
        ideal = np.sort(gain)[::-1][:10] @ discount
        total += gain[np.argsort(-s, kind="stable")][:10] @ discount / max(ideal, 1.0)
    return total / data.n_queries


def test_a_learned_model_beats_every_single_feature(digits):
    splits, _ = digits
    train, test = splits.train, splits.test
    best = max(mean_ndcg(test, sign * column) for column in test.X.T for sign in (1, -1))
    data = lightgbm.Dataset(train.X, train.y, group=train.sizes)
    params = {"objective": "lambdarank", "num_leaves": 15, "num_threads": 1, "verbose": -1}
    learned = mean_ndcg(test, lightgbm.train(params, data, num_boost_round=50).predict(test.X))
    assert 0.6 < best < learned - 0.03
    assert learned < 0.9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"graded": "no"}, "graded must be True or False; got 'no'"),
        ({"seed": -1}, r"seed must be from 0 to 2\^53; got -1"),
        ({"seed": 1.5}, "seed must be a whole number; got 1.5"),
        ({"seed": True}, "seed must be a whole number; got True"),
        ({"n_queries": (1, 2)}, r"n_queries must have three entries .* got \(1, 2\)"),
        ({"n_candidates": 30}, r"n_candidates two; got .* and 30"),
        ({"n_queries": (1, 0, 2)}, r"n_queries must be from 1 to 2\^53; got 0"),
        ({"n_queries": (1, 360, 2)}, r"n_queries must be at most \(1079, 359, 359\); got \(1, 360, 2\)"),
        ({"n_candidates": (30, 20)}, r"n_candidates must be \(least, largest\) up to 357; got \(30, 20\)"),
        ({"n_candidates": (30, 358)}, r"n_candidates must be \(least, largest\) up to 357; got \(30, 358\)"),
        ({"n_candidates": (0, 20)}, r"n_candidates must be from 1 to 2\^53; got 0"),
    ],
)
def test_digits_bad_argument_is_named(arguments, message):
    with pytest.raises((TypeError, ValueError), match="^load_digits_ranking: .*" + message):
        load_digits_ranking(**arguments)


def test_digits_largest_sizes_work():
    splits = load_digits_ranking(n_queries=(1, 359, 1), n_candidates=(1, 357), graded=True)
    assert splits.valid.n_queries == 359
    assert load_digits_ranking(n_queries=(1, 1, 1), n_candidates=(357, 357), graded=True).test.n_docs == 357
