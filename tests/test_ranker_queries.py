"""What SoftRanker takes for queries, labels and weights: any order of rows, ids of any kind, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from boostsoft import Metric, QueryGroups
from boostsoft.queries import read_queries, split_queries, weigh
from boostsoft.query_groups import read_ids
from boostsoft.ranker.rows import _refuse_merged

from . import ranker_cases
from .ranker_cases import both, colours, fit, ranker, shuffled, task

data = ranker_cases.data  # fixture

pytest.importorskip("xgboost")


@both
@pytest.mark.parametrize("ids", ["numbers", "texts", "objects", "mixed"])
def test_the_order_of_rows_does_not_matter(booster, ids, data):
    mixed = shuffled(data)
    sorted_rows = mixed.rows(np.argsort(mixed.qid, kind="stable"))
    expected = ranker(booster).fit(sorted_rows.X, sorted_rows.y, group=data.sizes)
    qid = {
        "numbers": mixed.qid,
        "texts": np.array([f"q{i}" for i in mixed.qid]),
        "objects": pd.Series([f"q{i}" for i in mixed.qid]),
        "mixed": np.array([i if i < 110 else f"q{i}" for i in mixed.qid.tolist()], dtype=object),
    }[ids]
    model = ranker(booster).fit(mixed.X, mixed.y, qid=qid)
    # ids of several types come in the order of their appearance, which sums in another order
    compare = np.testing.assert_allclose if ids == "mixed" else np.testing.assert_array_equal
    compare(model.predict(mixed.X), expected.predict(mixed.X), **({"rtol": 1e-4} if ids == "mixed" else {}))
    assert model.score(mixed.X, mixed.y, qid=qid) == pytest.approx(
        Metric("ndcg@10")(sorted_rows.y, model.predict(sorted_rows.X), group=data.sizes), abs=1e-12
    )
    stages = list(model.staged_predict(mixed.X))
    assert np.array_equal(stages[-1], model.predict(mixed.X))


@both
def test_weights_and_evaluation_sets_in_any_order(booster, data):
    data = data._replace(X=np.round(data.X, 1))  # XGBoost's bins of many values depend on the order of rows
    mixed, valid = shuffled(data), task(1, 10)
    weights = mixed.qid - 99.0
    models = []
    for train, w, held_out in ((mixed, weights, shuffled(valid)), (data, data.qid - 99.0, valid)):
        model = ranker(booster, eval_metric="map")
        fit(model, train, sample_weight=w, eval_set=[(held_out.X, held_out.y)], eval_qid=[held_out.qid])
        models.append(model)
    np.testing.assert_allclose(models[0].predict(data.X), models[1].predict(data.X), rtol=1e-4, atol=1e-5)
    curves = [model.evals_result_["valid_0"]["map_hard"] for model in models]
    np.testing.assert_allclose(*curves, atol=1e-9)


@both
def test_group_and_qid_are_the_same(booster, data):
    by_qid = fit(ranker(booster), data).predict(data.X)
    for group in (data.sizes, data.sizes.tolist(), QueryGroups.from_sizes(data.sizes)):
        model = ranker(booster).fit(data.X, data.y, group=group)
        assert np.array_equal(model.predict(data.X), by_qid)
        assert model.score(data.X, data.y, group=group) == model.score(data.X, data.y, qid=data.qid)


@both
def test_qid_as_a_column(booster, data):
    expected = fit(ranker(booster), data)
    wide = np.column_stack([data.X[:, :2], data.qid, data.X[:, 2:]])
    frame = pd.DataFrame(wide, columns=["a", "b", "q", "c", "d"]).astype({"q": int})
    text = frame.assign(q=[f"q{i}" for i in data.qid])
    inputs = [(wide, 2), (wide, np.int64(-3)), (sparse.csr_array(wide), 2), (frame, "q"), (frame, 2), (text, "q")]
    inputs += [(pl.from_pandas(frame), "q"), (pl.from_pandas(text), "q"), (pa.Table.from_pandas(frame), "q")]
    for X, column in inputs:
        model = ranker(booster, qid_column=column).fit(X, data.y, eval_set=[(X, data.y)])
        if not (sparse.issparse(X) and booster == "xgboost"):
            assert np.array_equal(model.predict(X), expected.predict(data.X))
            assert model.score(X, data.y) == expected.score(data.X, data.y, qid=data.qid)
            assert np.array_equal(np.delete(model.feature_importances_, 2), expected.feature_importances_)
        assert model.n_features_in_ == 5
        assert model.feature_importances_[2] == 0


def test_ids_that_an_array_of_floats_cannot_tell_apart(data):
    whole = np.round(3 * data.X).astype(np.int64)
    for ids, number in (
        (data.qid + 2**60, np.int64),
        (data.qid + 2**24, np.float32),
        (data.qid - 129 + 2**24, np.float32),  # as 2^24 + 1 would be
        (129 - data.qid - 2**53, np.int64),
    ):
        X = np.column_stack([whole, ids]).astype(number)
        message = (
            r"^SoftRanker.fit: query ids in an array of float\d\d must be below 2\^(53|24); got -?\d+: give X as a f"
        )
        with pytest.raises(ValueError, match=message):
            ranker(qid_column=4).fit(X, data.y)
    expected = ranker().fit(whole, data.y, qid=data.qid)
    highest = np.column_stack([whole, data.qid - 130 + 2**24]).astype(np.float32)
    assert np.array_equal(ranker(qid_column=4).fit(highest, data.y).predict(highest), expected.predict(whole))
    X = np.column_stack([whole, data.qid + 2**60])
    assert np.array_equal(ranker(qid_column=4).fit(pd.DataFrame(X), data.y).predict(X), expected.predict(whole))


def test_all_rows_as_one_query(data):
    with pytest.warns(
        UserWarning, match=r"SoftRanker.fit: neither group= nor qid= was given: all rows are one"
    ) as seen:
        model = ranker().fit(data.X, data.y)
    assert seen[0].filename == __file__
    expected = ranker().fit(data.X, data.y, group=[len(data.y)])
    assert np.array_equal(model.predict(data.X), expected.predict(data.X))
    assert model.score(data.X, data.y) == expected.score(data.X, data.y, group=[len(data.y)])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"group": [3, 4], "qid": None},
            ValueError,
            r"2 sizes that add up to 7\. A cross-validation cuts rows .* qid=",
        ),
        ({"group": [1]}, ValueError, "group= .* or qid= .*, not both"),
        ({"group": [3, np.nan], "qid": None}, ValueError, "group must be whole numbers up to .* got nan at position 1"),
        ({"group": [2.5, 4.5], "qid": None}, ValueError, "group must be whole numbers up to .* got 2.5 at position 0"),
        ({"group": QueryGroups.from_sizes([3, 4]), "qid": None}, ValueError, "2 sizes that add up to 7"),
        (
            {"query_weight": "gone", "sample_weight": "zero"},
            ValueError,
            "give sample_weight, .* or query_weight, .*, not",
        ),
        ({"query_weight": "gone", "group": "leading", "qid": None}, ValueError, "query_weight must not be 0 for every"),
        ({"qid": [1, 2]}, ValueError, r"qid must have one id per row, \d+; got shape \(2,\)"),
        ({"qid": "holes"}, ValueError, "qid must not be missing or infinite; got nan at position 1"),
        ({"sample_weight": [1.0]}, ValueError, r"sample_weight must have one value per row, \d+; got 1"),
        (
            {"sample_weight": np.ones(30)},
            ValueError,
            r"sample_weight must have one value per row, \d+; got 30, one per query, as query_weight= has$",
        ),
        ({"sample_weight": "unequal"}, ValueError, r"the same for all rows of a query; qid 101 has 1.0 and 2.0$"),
        ({"sample_weight": "negative"}, ValueError, "sample_weight must not be negative; got -1.0 at position 0"),
        ({"sample_weight": "zero"}, ValueError, "sample_weight must not be zero for every row"),
        ({"sample_weight": "nan"}, ValueError, "sample_weight must be finite; got nan at position 2"),
    ],
    ids=str,
)
def test_queries_are_checked(arguments, error, message, data):
    ones = np.ones(len(data.y))
    unequal, nan = ones.copy(), ones.copy()
    unequal[np.flatnonzero(data.qid == 101)[1]], nan[2] = 2.0, np.nan
    known = {"unequal": unequal, "negative": -ones, "zero": 0 * ones, "nan": nan}
    known |= {"leading": [0, len(data.y)], "gone": [1.0, 0.0]}
    known["holes"] = np.where(np.arange(len(data.y)) == 1, np.nan, data.qid)
    arguments = {name: known[v] if isinstance(v, str) else v for name, v in {"qid": data.qid, **arguments}.items()}
    with pytest.raises(error, match=rf"^SoftRanker.fit: .*{message}"):
        ranker().fit(data.X, data.y, **arguments)


def test_sizes_of_few_digits_add_up():
    """Their sum in half precision is infinite."""
    sizes = np.full(900, 100, dtype=np.float16)
    assert read_queries("test", 90_000, sizes, None).groups.n_docs == 90_000


def test_a_query_by_position_is_named(data):
    weights = np.ones(len(data.y))
    weights[-1] = 3.0
    with pytest.raises(ValueError, match=r"query 29 has 1.0 and 3.0"):
        ranker().fit(data.X, data.y, group=data.sizes, sample_weight=weights)


def test_a_query_is_named_whatever_the_order_of_ids(data):
    weights = np.ones(len(data.y))
    weights[1] = 3.0
    for qid in (-data.qid, np.where(data.qid == 129, 100, data.qid)):  # falling, and one in two places
        with pytest.raises(ValueError, match=f"qid {qid[0]} has 1.0 and 3.0"):
            ranker().fit(data.X, data.y, qid=qid, sample_weight=weights)


def test_weights_of_queries_come_in_the_order_of_their_first_rows(data):
    mixed = shuffled(data)
    _, first, of_rows = np.unique(mixed.qid, return_index=True, return_inverse=True)
    weights = np.arange(1.0, 31.0)
    each = np.empty(30)
    each[np.argsort(first)] = weights
    by_query = fit(ranker(), mixed, query_weight=weights)
    by_row = fit(ranker(), mixed, sample_weight=each[of_rows])
    assert np.array_equal(by_query.predict(data.X), by_row.predict(data.X))
    assert by_query.score(mixed.X, mixed.y, qid=mixed.qid, query_weight=weights) == by_row.score(
        mixed.X, mixed.y, qid=mixed.qid, sample_weight=each[of_rows]
    )


@pytest.mark.parametrize("booster", ["lightgbm", "xgboost"])
def test_weighted_queries_without_documents_change_nothing(data, booster):
    sizes, weights = np.asarray(data.sizes), np.tile([0.0, 1.0, 2.0], 10)[: len(data.sizes)]
    at = [0, 3, len(sizes)]
    fits = [
        ranker(booster).fit(data.X, data.y, group=group, query_weight=of_queries)
        for group, of_queries in ((sizes, weights), (np.insert(sizes, at, 0), np.insert(weights, at, 1.0)))
    ]
    np.testing.assert_array_equal(fits[0].predict(data.X), fits[1].predict(data.X))


@pytest.mark.parametrize(("share", "n_valid"), [(0.01, 1), (0.3, 2), (0.5, 2), (0.99, 4)])
def test_both_sides_of_a_split_have_a_query(share, n_valid):
    train, held_out = split_queries("example", QueryGroups.from_sizes([2, 2, 2, 2, 2]), share, 0)
    assert (len(train), len(held_out)) == (5 - n_valid, n_valid)


def test_queries_without_rows_are_not_drawn_for_validation(data):
    sizes = np.zeros(60, dtype=int)
    sizes[::2] = data.sizes
    curves = [
        ranker(validation_fraction=0.3).fit(data.X, data.y, group=group).evals_result_ for group in (sizes, data.sizes)
    ]
    assert curves[0] == curves[1]
    with pytest.raises(ValueError, match=r"validation_fraction needs two queries at least that have .*; got 1"):
        ranker(validation_fraction=0.3).fit(data.X, data.y, group=[0, len(data.y)])


def test_fractions_of_rows(data):
    weights = np.where(np.arange(len(data.y)) == 3, 0.5, 1.0)
    with pytest.raises(ValueError, match=r"whole numbers .* got 0\.5 at position 3"):
        ranker().fit(data.X, data.y, sample_weight=weights)


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        ("nan", ValueError, "y must be finite; got nan at position 3"),
        ("inf", ValueError, "y must be finite; got inf at position 3"),
        ("short", ValueError, r"y must have one value per row, \d+; got 5"),
        ("text", TypeError, "y must hold numbers; got dtype object"),
        ("two", ValueError, "y must be one-dimensional"),
        ("equal", ValueError, r"^SoftRanker\.fit: there is nothing to learn"),
        (None, ValueError, "requires y to be passed, but the target y is None"),
    ],
)
@both
def test_labels_are_checked(booster, y, error, message, data):
    bad = data.y.astype(float)
    bad[3] = {"nan": np.nan, "inf": np.inf}.get(y, 0)
    values = {"short": bad[:5], "text": np.array(["a"] * len(bad), object), "two": np.column_stack([bad, bad])}
    values |= {"equal": np.ones(len(bad)), None: None}
    with pytest.raises(error, match=message):
        ranker(booster).fit(data.X, values.get(y, bad), qid=data.qid)


@both
def test_what_is_wrong_with_an_evaluation_set_is_said_of_it(booster, data):
    infinite = data.X.copy()
    infinite[3, 1] = np.inf
    for X, message in (
        (infinite, "Input X contains infinity"),
        (data.X[:, :3], "X has 3 features, but SoftRanker is expecting 4"),
        (data.X[:0], "Found array with 0 sample"),
        (None, "Expected 2D array"),
    ):
        with pytest.raises(ValueError, match=rf"^SoftRanker\.fit: eval_set\[1\]: X: {message}"):
            fit(ranker(booster), data, eval_set=[(data.X, data.y), (X, data.y)], eval_qid=[data.qid, data.qid])


def test_a_column_of_labels_is_flattened(data):
    from sklearn.exceptions import DataConversionWarning

    with pytest.warns(DataConversionWarning):
        model = ranker().fit(data.X, data.y[:, None], qid=data.qid)
    assert np.array_equal(model.predict(data.X), fit(ranker(), data).predict(data.X))


def test_score_wants_the_queries_that_fit_had(data):
    model = fit(ranker(), data)
    with pytest.raises(ValueError, match=r"^SoftRanker.score: qid \(or group\) must be given.*set_score_request"):
        model.score(data.X, data.y)
    with pytest.raises(ValueError, match=r"^SoftRanker.score: y must be finite"):
        model.score(data.X, np.where(data.y == 0, np.nan, data.y), qid=data.qid)


@pytest.mark.parametrize(
    ("column", "error", "message"),
    [
        ("q", ValueError, "qid_column must be a column of X; got 'q' and an X without column names"),
        (4, ValueError, "qid_column must be from -4 to 3; got 4"),
        (1.0, TypeError, "qid_column must be the name or the number of a column of X; got 1.0"),
    ],
)
def test_the_query_column_is_checked(column, error, message, data):
    with pytest.raises(error, match=message):
        ranker(qid_column=column).fit(data.X, data.y)


def test_a_number_is_no_other_columns_name(data):
    """Columns that were numbered, and stand in another order by now."""
    frame = pd.DataFrame(np.column_stack([data.X[:, :2], data.qid]))
    named = ranker(qid_column=2).fit(frame, data.y).predict(frame)
    with pytest.raises(ValueError, match=r"fit: qid_column must tell one column; got 2, the name of column 0 and"):
        ranker(qid_column=2).fit(frame[[2, 0, 1]], data.y)
    moved = frame[[2, 0, 1]].rename(columns=str)
    assert np.array_equal(ranker(qid_column="2").fit(moved, data.y).predict(moved), named)


def test_the_query_column_is_enough(data):
    for queries in ({"qid": data.qid}, {"group": data.sizes}):
        with pytest.raises(ValueError, match="leave out group= and qid="):
            ranker(qid_column=0).fit(data.X, data.y, **queries)
    with pytest.raises(ValueError, match=r"got 'q' and columns \['0', '1', '2', '3'\]"):
        ranker(qid_column="q").fit(pd.DataFrame(data.X, columns=list("0123")), data.y)
    with pytest.raises(ValueError, match="a feature besides qid_column"):
        ranker(qid_column=0).fit(data.qid[:, None], data.y)


def test_query_ids_that_are_categories_are_none_of_the_features(data):
    """The booster alone reads a frame without them, whose categories are then those of the other columns."""
    colour, y = colours(data)
    features = pd.DataFrame({"colour": pd.Categorical(colour), "x": data.X[:, 0]})
    frame = pd.concat([pd.Series(data.qid, name="query").astype("category"), features], axis=1)
    model = ranker(qid_column="query", booster_params={"min_data_per_group": 5}).fit(frame, y)
    expected = ranker(booster_params={"min_data_per_group": 5}).fit(features, y, qid=data.qid).predict(features)
    np.testing.assert_array_equal(model.predict(frame), expected)
    np.testing.assert_allclose(model.booster_.predict(features), expected, rtol=1e-12)


def test_labels_beyond_float32_are_not_warned_of_but_left_to_others():
    with np.errstate(all="raise"):
        _refuse_merged("t", np.array([0.0, 1e39, 1.0]))


@both
def test_labels_that_are_one_in_float32_are_refused(booster, data):
    with pytest.raises(ValueError, match=r"y must stay distinct in float32, the precision .*; got 17"):
        ranker(booster, metric="kendall").fit(data.X, data.y + 1.7e9, qid=data.qid)
    with pytest.raises(ValueError, match=r"y must stay distinct in float32, the precision .*; got 16777217"):
        ranker(booster, metric="kendall").fit(data.X, data.y + (2**24 - 1), qid=data.qid)
    with pytest.raises(ValueError, match=r"y must stay distinct in float32, the precision .*; got -17"):
        ranker(booster, metric="kendall").fit(data.X, data.y - 1.7e9, qid=data.qid)
    rows = np.arange(data.y.size)
    times = np.where(rows % 20 == 0, 0.0, 1.7e9 + rows % 61)  # 0 where there was none
    with pytest.raises(ValueError, match=r"y must stay distinct in float32, the precision .*; got 17"):
        ranker(booster, metric="kendall").fit(data.X, times, qid=data.qid)
    ranker(booster, metric="kendall").fit(data.X, data.y * 2.0**40, qid=data.qid)
    told = r"y must stay distinct in float32, .*: got labels from 200000 to 200000, 0\.02 apart, which it moves by 0\.0"
    fine = np.random.default_rng(0).choice(np.linspace(0, 0.02, 300), data.y.size)
    fine[:2] = 0.0, 0.02
    with pytest.raises(ValueError, match=told):
        ranker(booster, metric="kendall").fit(data.X, 2e5 + fine, qid=data.qid)
    for labels in (fine, 0.1 * data.y + 1e-12 * fine, 10.0 + data.y + 1e-9 * fine):  # which rounding alone merges
        ranker(booster, metric="kendall").fit(data.X, labels, qid=data.qid)


@both
def test_large_labels_of_which_rounding_merges_a_few_are_learned(booster, data):
    """Revenue in small units: float32 moves each by a share of 1e-7."""
    rng = np.random.default_rng(0)
    revenue = np.where(rng.random(data.y.size) < 0.3, np.round(rng.lognormal(14.0, 1.5, data.y.size)), 0.0)
    revenue[:2] = 2.0**25 + 1.0, 2.0**25
    assert np.unique(revenue.astype(np.float32)).size < np.unique(revenue).size
    metric = Metric("dcg@10", gain="linear")
    assert ranker(booster, metric=metric).fit(data.X, revenue, qid=data.qid).n_iter_ > 0


@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame, pl.DataFrame])
def test_one_document_is_too_few(container, data):
    model = ranker().fit(container(data.X), data.y, qid=data.qid)
    with pytest.raises(ValueError, match=r"1 sample.* while a minimum of 2 is required"):
        ranker().fit(container(data.X[:1]), data.y[:1], qid=data.qid[:1])
    assert model.predict(container(data.X[:1])) == model.predict(container(data.X))[0]
    with pytest.raises(ValueError, match=r"0 sample.* while a minimum of 1 is required"):
        model.predict(container(data.X[:0]))


def test_scattered_rows_of_a_query_keep_the_order_of_the_rows():
    qid = np.random.default_rng(0).integers(0, 7, 500)
    queries = read_queries("example", 500, None, qid)
    assert queries.order.tolist() == [row for query in range(7) for row in np.flatnonzero(qid == query)]


@both
def test_the_column_of_the_query_ids_has_no_importance(booster, data):
    X = np.column_stack([data.qid, data.X])
    found = ranker(booster, qid_column=0).fit(X, data.y).feature_importances_
    assert ranker(booster, qid_column=-5).fit(X, data.y).feature_importances_.tolist() == found.tolist()
    plain = ranker(booster).fit(data.X, data.y, qid=data.qid).feature_importances_
    assert found.tolist() == [0.0, *plain]


def test_a_tuple_of_pairs_is_several_sets(data):
    pairs = ((data.X, data.y), (data.X[:40], data.y[:40]))
    model = ranker().fit(data.X, data.y, qid=data.qid, eval_set=pairs, eval_qid=[data.qid, data.qid[:40]])
    assert list(model.evals_result_) == ["valid_0", "valid_1"]
    one = ranker().fit(data.X, data.y, qid=data.qid, eval_set=(data.X, data.y), eval_qid=[data.qid])
    assert list(one.evals_result_) == ["valid_0"]
    with pytest.raises(TypeError, match=r"eval_set must be a list of pairs .* got int"):
        ranker().fit(data.X, data.y, qid=data.qid, eval_set=5)


@pytest.mark.parametrize("kind", ["str", "category", "object"])
def test_a_query_of_uneven_weights_is_named_whatever_its_id_is(data, kind):
    ids = pd.Series([f"q{one}" for one in data.qid]).astype(kind)
    weights = np.ones(data.y.size)
    weights[0] = 3.0
    with pytest.raises(ValueError, match="qid 'q100' has"):
        ranker().fit(data.X, data.y, qid=ids, sample_weight=weights)


@both
@pytest.mark.parametrize("scale", [1e-50, 1e50])
def test_weights_of_an_evaluation_set_count_by_their_ratios(booster, data, scale):
    weights = np.where(data.qid % 3, 1.0, 2.0)
    one, other = (
        ranker(booster, validation_fraction=0.3, random_state=0).fit(
            data.X, data.y, qid=data.qid, sample_weight=weights * unit
        )
        for unit in (1.0, scale)
    )
    assert one.best_score_ == pytest.approx(other.best_score_, rel=1e-6)


def test_a_query_without_rows_has_no_weight_where_rows_have():
    for sizes, rows, expected in (
        ([2, 0, 2], [1.0, 1.0, 3.0, 3.0], [1.0, 0.0, 3.0]),
        ([0, 3, 0], [2.0, 2.0, 2.0], [0.0, 2.0, 0.0]),
    ):
        _, weights = weigh("f", read_queries("f", len(rows), sizes, None), rows)
        assert weights.tolist() == expected


def test_queries_of_ids_that_are_objects_are_in_the_order_of_these():
    """Whatever the order of the rows, so that what is drawn of queries is too."""
    ids = np.array(["c", "a", "b", "a", "c"], dtype=object)
    found = read_queries("f", 5, None, ids)
    assert found.ids.tolist() == ["a", "b", "c"]
    assert found.order.tolist() == [1, 3, 2, 0, 4]


def test_large_ids_beside_negative_ones_stay_apart():
    ids = read_ids("t", [-1, *map(np.uint64, (2**63 + 2, 2**63 + 3))])
    assert len(set(ids.tolist())) == 3


@pytest.mark.parametrize("kind", [np.int64, float, str, object])
def test_rows_of_scattered_queries_keep_their_order(kind):
    """Of many more rows than an unstable sort leaves alone."""
    ids = np.random.default_rng(0).integers(100, 140, 3000)
    found = read_queries("test", ids.size, None, ids.astype(kind))
    order = sorted(range(ids.size), key=lambda row: (ids[row], row))
    assert found.order.tolist() == order
    assert found.groups.sizes.tolist() == [int((ids == one).sum()) for one in range(100, 140)]
    assert found.bring_together(ids).tolist() == sorted(ids.tolist())


def test_queries_of_ids_of_several_types_are_in_the_order_in_which_they_come():
    ids = np.array([2.0, "b", 1, "b", 2, "a", 1], dtype=object)
    found = read_queries("test", ids.size, None, ids)
    assert found.ids.tolist() == [2.0, "b", 1, "a"]
    assert found.order.tolist() == [0, 4, 1, 3, 2, 6, 5]
