"""What SoftRanker takes: rows in any order, arrays, sparse matrices, frames; and what it refuses."""

from __future__ import annotations

import pickle

import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xgboost as xgb
from scipy import sparse

from boostsoft import Metric, QueryGroups, SoftRanker, track_trees
from boostsoft.queries import read_queries, split_queries, weigh
from boostsoft.query_groups import read_ids
from boostsoft.ranker.fitted import encoded

from . import ranker_cases
from .ranker_cases import both, fit, ranker, shuffled, task

data = ranker_cases.data  # fixture

pytest.importorskip("xgboost")


# ---- queries -----------------------------------------------------------------------------------------------------


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
    with pytest.raises(ValueError, match=r"whole numbers .* got 0\.5 at position 0"):
        ranker().fit(data.X, data.y, sample_weight=np.full(len(data.y), 0.5))


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
        with pytest.raises(ValueError, match=rf"^SoftRanker\.fit: eval_set\[1\]: {message}"):
            fit(ranker(booster), data, eval_set=[(data.X, data.y), (X, data.y)], eval_qid=[data.qid, data.qid])


def test_features_beyond_single_precision_are_named(data):
    """LightGBM keeps features in double precision, XGBoost has an error from its C++ for them."""
    X = data.X.astype(np.float64)
    fitted = fit(ranker("xgboost"), data._replace(X=X))
    X[5, 2] = -1e39
    fit(ranker("lightgbm"), data._replace(X=X))
    refused = r": X must be within the range of float32, .*; got -1e\+39 in feature 2, counted from 0$"
    for given in (X, sparse.csr_array(X), pd.DataFrame(X, columns=list("abcd"))):
        with pytest.raises(ValueError, match=rf"^SoftRanker\.fit{refused}"):
            ranker("xgboost").fit(given, data.y, qid=data.qid)
    with pytest.raises(ValueError, match=f"^SoftRanker{refused}"):
        fitted.predict(X)
    for given in (X, sparse.csr_array(X), pd.DataFrame(X)):
        with pytest.raises(ValueError, match=f"^track_trees{refused}"):
            track_trees(fitted.booster_, given, data.y, qid=data.qid)


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


def test_the_query_column_is_enough(data):
    for queries in ({"qid": data.qid}, {"group": data.sizes}):
        with pytest.raises(ValueError, match="leave out group= and qid="):
            ranker(qid_column=0).fit(data.X, data.y, **queries)
    with pytest.raises(ValueError, match=r"got 'q' and columns \['0', '1', '2', '3'\]"):
        ranker(qid_column="q").fit(pd.DataFrame(data.X, columns=list("0123")), data.y)
    with pytest.raises(ValueError, match="a feature besides qid_column"):
        ranker(qid_column=0).fit(data.qid[:, None], data.y)


# ---- features ----------------------------------------------------------------------------------------------------


@both
def test_containers_of_numbers(booster, data):
    X = data.X.copy()
    X[::7, 1] = np.nan
    expected = ranker(booster).fit(X, data.y, qid=data.qid)
    frame = pd.DataFrame(X, columns=list("abcd"))
    holes = pl.DataFrame({n: [None if np.isnan(v) else v for v in frame[n]] for n in frame})
    for given in (X.tolist(), np.asfortranarray(X), frame, frame.convert_dtypes(), frame.astype(object), holes):
        model = ranker(booster).fit(given, pd.Series(data.y), qid=pl.Series(data.qid))
        assert np.array_equal(model.predict(given), expected.predict(X))
    assert model.feature_names_in_.tolist() == list("abcd")
    names = model.booster_.feature_name() if booster == "lightgbm" else model.booster_.feature_names
    assert names == list("abcd")


@both
@pytest.mark.parametrize("kind", ["pandas", "nullable", "polars"])
def test_frames_of_float32_take_no_more_memory_than_that(booster, kind, data):
    X = data.X.astype(np.float32)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["flag"], frame["few"] = X[:, 0] > 0, np.round(3 * X[:, 1]).astype(np.int16)
    X = frame.to_numpy(dtype=np.float32)
    given = {"pandas": frame, "nullable": frame.convert_dtypes(), "polars": pl.from_pandas(frame)}
    model = ranker(booster).fit(given[kind], data.y, qid=data.qid)
    assert encoded("test", model, given[kind])[1].matrix.nbytes == X.nbytes
    wide = ranker(booster).fit(X.astype(np.float64), data.y, qid=data.qid)
    assert np.array_equal(model.predict(given[kind]), wide.predict(X.astype(np.float64)))
    for wide in (0.1, np.int32(2**24 + 1), np.uint32(2**24 + 1)):  # no float32
        found = encoded("test", model, frame.assign(few=wide))[1].matrix
        assert (found.dtype, found[0, 5]) == (np.float64, wide)


@both
@pytest.mark.parametrize("kind", [bool, np.int8, np.uint16, np.float16])
def test_arrays_of_narrow_numbers_become_float32(booster, kind, data):
    X = np.maximum(3 * data.X, 0).astype(kind)
    model = ranker(booster).fit(X, data.y, qid=data.qid)
    assert encoded("test", model, X)[1].matrix.dtype == np.float32
    assert encoded("test", model, sparse.csr_array(X.astype(np.float32)))[1].matrix.dtype == np.float32
    wide = ranker(booster).fit(X.astype(np.float64), data.y, qid=data.qid)
    assert np.array_equal(model.predict(X), wide.predict(X.astype(np.float64)))


@pytest.mark.parametrize("kind", [np.float64, np.int32, np.int64])
def test_what_float32_cannot_hold_stays_beside_categories_and_narrow_columns(kind, data):
    colour, y = colours(data)
    wide = np.arange(len(y)).astype(kind) + 2**24
    given = {"wide": wide, "narrow": data.X[:, 0].astype(np.float32), "colour": pd.Categorical(colour)}
    model = ranker().fit(pd.DataFrame(given), y, qid=data.qid)
    assert np.array_equal(encoded("test", model, pd.DataFrame(given))[1].matrix[:, 0], wide)


@pytest.mark.parametrize(("most", "kind"), [(4, np.float32), (3, np.float64)])
def test_more_categories_than_float32_tells_apart_have_codes_in_float64(data, most, kind, monkeypatch):
    colour, y = colours(data)
    monkeypatch.setattr("boostsoft.ranker.features._MOST_IN_FLOAT32", most)
    frame = pd.DataFrame({"x": data.X[:, 0].astype(np.float32), "colour": pd.Categorical(colour)})
    model = ranker().fit(frame, y, qid=data.qid)
    assert encoded("test", model, frame)[1].matrix.dtype == kind


@pytest.mark.parametrize("as_given", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_codes_of_categories_leave_float32_as_it_is(as_given, data):
    colour, y = colours(data)
    narrow = pd.DataFrame({"x": data.X[:, 0].astype(np.float32), "colour": pd.Categorical(colour)})
    model = ranker().fit(as_given(narrow), y, qid=data.qid)
    assert encoded("test", model, as_given(narrow))[1].matrix.dtype == np.float32
    wide = narrow.astype({"x": np.float64})
    assert np.array_equal(ranker().fit(wide, y, qid=data.qid).predict(wide), model.predict(as_given(narrow)))


def test_features_must_not_be_masked(data):
    model, masked = fit(ranker(), data), np.ma.masked_equal(np.round(data.X), 1.0)
    for message, call in (
        ("SoftRanker.fit", lambda: ranker().fit(masked, data.y, qid=data.qid)),
        ("SoftRanker.predict", lambda: model.predict(masked)),
    ):
        with pytest.raises(ValueError, match=rf"^{message}: X must not have masked entries; got masked_array\("):
            call()
    assert np.array_equal(model.predict(np.ma.array(data.X)), model.predict(data.X))


@both
def test_other_numbers_in_frames(booster, data):
    flags, whole = data.X[:, 0] > 0, np.round(3 * data.X[:, 1]).astype(np.int32)
    expected = ranker(booster).fit(np.column_stack([flags, whole]), data.y, qid=data.qid)
    frame = pd.DataFrame({"f": flags, "w": whole})
    for given in (frame, pl.DataFrame({"f": flags, "w": whole}), frame.assign(w=pd.array(whole, dtype="Int8"))):
        model = ranker(booster).fit(given, data.y, qid=data.qid)
        assert np.array_equal(model.predict(given), expected.predict(np.column_stack([flags, whole])))


@both
def test_a_column_of_polars_without_values_is_missing(booster, data):
    frame = pl.DataFrame({"a": data.X[:, 0], "nothing": [None] * len(data.y)})
    model = ranker(booster).fit(frame, data.y, qid=data.qid)
    holes = np.column_stack([data.X[:, 0], np.full(len(data.y), np.nan)])
    assert np.array_equal(model.predict(frame), ranker(booster).fit(holes, data.y, qid=data.qid).predict(holes))


@both
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_matrices(booster, form, data):
    X = np.where(np.abs(data.X) < 0.6, 0.0, data.X)
    model = ranker(booster).fit(form(X), data.y, qid=data.qid, eval_set=[(form(X), data.y)], eval_qid=[data.qid])
    # zeros are what they were in fit, whatever the form
    stored = sparse.csr_array(np.ones_like(X))
    stored.data[:] = X.ravel()  # with the zeros among what is stored
    for given in (form(X), stored):
        assert np.array_equal(model.predict(given), model.predict(X))
    assert stored.nnz == X.size  # the user's own
    dense = ranker(booster).fit(X, data.y, qid=data.qid)
    assert np.array_equal(dense.predict(form(X)), dense.predict(X))
    if booster == "lightgbm":
        assert np.array_equal(dense.predict(X), model.predict(X))
    else:  # zeros as missing values have a branch of their own
        assert model.score(X, data.y, qid=data.qid) == pytest.approx(dense.score(X, data.y, qid=data.qid), abs=0.05)


def colours(data, seed=3):
    """A feature in colours, of which red and blue are good, with holes."""
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "green", "blue", "grey"], len(data.y)).astype(object)
    y = data.y + 2 * np.isin(colour, ["red", "blue"])
    colour[::11] = None
    return colour, y


@both
def test_categories(booster, data):
    colour, y = colours(data)
    frame = pd.DataFrame({"x": data.X[:, 0], "colour": pd.Categorical(colour), "z": data.X[:, 1]})
    model = ranker(booster, booster_params={"min_data_per_group": 5} if booster == "lightgbm" else None)
    scores = model.fit(frame, y, qid=data.qid).predict(frame)
    # the same with codes and the booster's own word for them
    codes = frame.assign(colour=frame.colour.cat.codes.where(frame.colour.notna()).astype(float)).to_numpy()
    if booster == "lightgbm":
        coded = codes
        assert "==" in str(model.booster_.trees_to_dataframe().decision_type.unique())
    else:
        import xgboost as xgb

        coded = xgb.DMatrix(codes, feature_names=list(frame), feature_types=["float", "c", "float"])
        assert ":{" in "".join(model.booster_.get_dump())
    assert np.array_equal(model.booster_.predict(coded), scores)
    # polars, in both of its types, and texts in predict
    as_polars = pl.DataFrame(
        {"x": data.X[:, 0], "colour": pl.Series(colour.tolist(), dtype=pl.Categorical), "z": data.X[:, 1]}
    )
    as_enum = as_polars.with_columns(pl.col("colour").cast(pl.Enum(["grey", "blue", "green", "red"])))
    for given in (as_polars, as_enum):
        assert np.array_equal(model.predict(given), scores)
        again = ranker(booster).set_params(**model.get_params()).fit(given, y, qid=data.qid)
        assert np.array_equal(again.predict(given), scores)
        assert np.array_equal(again.booster_.predict(coded), scores)  # the same codes: names in their order
    assert np.array_equal(model.predict(frame.assign(colour=colour)), scores)


def test_categories_of_few_documents_are_told_apart_by_lightgbm(data):
    """Of five or six each, where LightGBM alone leaves out those of less than ten."""
    kind = np.random.default_rng(0).permutation(np.arange(len(data.y)) % 80)
    frame = pd.DataFrame({"kind": pd.Categorical(kind)})
    model = ranker(booster_params={"min_data_per_group": 5}).fit(frame, kind % 2, qid=data.qid)
    assert model.score(frame, kind % 2, qid=data.qid) == 1.0


def test_a_leaf_of_categories_gets_less_curvature_than_lightgbm_adds_alone(data):
    """10 for some .25 per document in LightGBM's own objectives, whose unit is 16 of the ranker's."""
    kind = np.random.default_rng(0).permutation(np.arange(len(data.y)) % 10)
    frame = pd.DataFrame({"kind": pd.Categorical(kind)})
    trees = []
    for more in ({}, {"cat_l2": 0.0}):
        model = ranker(num_leaves=2, n_estimators=1, booster_params={"min_data_per_group": 5, **more})
        tree = model.fit(frame, kind % 2, qid=data.qid).booster_.trees_to_dataframe()
        trees.append(tree[tree["left_child"].isna()])
    found, bare = trees
    assert found["weight"].tolist() == bare["weight"].tolist()
    np.testing.assert_allclose(found["value"], bare["value"] * bare["weight"] / (bare["weight"] + 10 / 16), rtol=1e-5)


@both
def test_features_stay_what_they_are_in_rows_of_another_order(booster, data):
    """Names, categories, and zeros that XGBoost takes as missing."""
    colour, y = colours(data)
    rounded, order = np.round(data.X, 1), np.random.default_rng(1).permutation(len(y))
    frame = pd.DataFrame({"x": rounded[:, 0], "colour": pd.Categorical(colour), "z": rounded[:, 1]})
    matrix = sparse.csr_matrix(np.where(np.abs(rounded) < 0.6, 0.0, rounded))
    for X, some in ((frame, frame.iloc[order]), (matrix, matrix[order])):
        model, mixed = ranker(booster), ranker(booster)
        model.fit(X, y, qid=data.qid)
        mixed.fit(some, y[order], qid=data.qid[order])
        np.testing.assert_allclose(mixed.predict(X), model.predict(X), rtol=1e-4, atol=1e-5)
    named = ranker(booster).fit(frame.iloc[order], y[order], qid=data.qid[order]).booster_
    assert (named.feature_name() if booster == "lightgbm" else named.feature_names) == ["x", "colour", "z"]


@both
def test_the_categories_of_fit_are_kept(booster, data):
    colour, y = colours(data)
    frame = pd.DataFrame({"x": data.X[:, 0], "colour": pd.Categorical(colour)})
    model = ranker(booster).fit(frame, y, qid=data.qid)
    reordered = frame.assign(colour=frame.colour.cat.reorder_categories(["red", "blue", "green", "grey"]))
    assert np.array_equal(model.predict(reordered), model.predict(frame))
    part = frame[frame.colour == "red"].assign(colour=lambda f: f.colour.cat.remove_unused_categories())
    assert np.array_equal(model.predict(part), model.predict(frame)[frame.colour == "red"])
    # what fit has not seen is missing
    unseen, missing = (frame.assign(colour=pd.Categorical([value] * len(frame))) for value in ("pink", None))
    assert np.array_equal(model.predict(unseen), model.predict(missing))
    # and a training goes on with the first one's codes
    on = ranker(booster).fit(reordered, y, qid=data.qid, init_model=model)
    same = ranker(booster).fit(frame, y, qid=data.qid, init_model=model)
    assert np.array_equal(on.predict(frame), same.predict(frame))


def test_xgboost_reads_frames_of_the_categories_of_fit(data):
    """As its docstring says: to pandas, dtypes whose categories are in another order are equal."""
    colour, y = colours(data)
    frame = pd.DataFrame({"x": data.X[:, 0], "colour": pd.Categorical(colour)})
    model = ranker("xgboost").fit(frame, y, qid=data.qid)
    reordered = frame.assign(colour=frame.colour.cat.reorder_categories(["red", "blue", "green", "grey"]))
    assert "``frame.astype(object).astype(X.dtypes)``" in SoftRanker.__doc__
    given = xgb.DMatrix(reordered.astype(object).astype(frame.dtypes), enable_categorical=True)
    np.testing.assert_array_equal(model.booster_.predict(given), model.predict(frame))


def test_lightgbm_reads_frames_by_the_names_of_their_categories(data, tmp_path):
    """As LGBMRanker's booster does, wherever it is read again; not by the codes of the batch that is scored."""
    colour, y = colours(data)
    frame = pd.DataFrame(
        {"x": data.X[:, 0], "colour": pd.Categorical(colour), "size": pd.Categorical(np.arange(len(y)) % 5 + 7)}
    )
    batch = frame[frame.colour == "green"].assign(colour=lambda f: f.colour.cat.remove_unused_categories())
    model = ranker(booster_params={"min_data_per_group": 5}, n_boosters=2).fit(frame, y, qid=data.qid)
    model.booster_.save_model(tmp_path / "model.txt")
    expected = model.predict(frame)
    for booster in (
        model.booster_,
        lgb.Booster(model_file=tmp_path / "model.txt"),
        pickle.loads(pickle.dumps(model)).booster_,
    ):
        np.testing.assert_allclose(booster.predict(frame), expected, rtol=1e-12)
        np.testing.assert_allclose(booster.predict(batch), expected[frame.colour == "green"], rtol=1e-12)
    # names that LightGBM cannot write are left out: codes, as before
    days = frame.assign(colour=pd.Categorical(pd.Timestamp("2020-01-01") + pd.to_timedelta(y, "D")))
    assert ranker().fit(days, y, qid=data.qid).booster_.pandas_categorical is None


def test_query_ids_that_are_categories_are_none_of_the_features(data):
    """The booster alone reads a frame without them, whose categories are then those of the other columns."""
    colour, y = colours(data)
    features = pd.DataFrame({"colour": pd.Categorical(colour), "x": data.X[:, 0]})
    frame = pd.concat([pd.Series(data.qid, name="query").astype("category"), features], axis=1)
    model = ranker(qid_column="query", booster_params={"min_data_per_group": 5}).fit(frame, y)
    expected = ranker(booster_params={"min_data_per_group": 5}).fit(features, y, qid=data.qid).predict(features)
    np.testing.assert_array_equal(model.predict(frame), expected)
    np.testing.assert_allclose(model.booster_.predict(features), expected, rtol=1e-12)


@both
def test_values_of_another_type_than_the_categories_are_refused(booster, data):
    """Codes in place of names, say: as values that fit has not seen they would all be missing."""
    colour, y = colours(data)
    frame = pd.DataFrame({"x": data.X[:, 0], "colour": pd.Categorical(colour)})
    model = ranker(booster).fit(frame, y, qid=data.qid)
    told = r"predict: column 'colour' held categories in fit, '\w+' for one, of another type than "
    for values, got in ((frame.colour.cat.codes, "-?[012]"), (np.where(y > 0, np.nan, 1.0), "1.0"), (True, "True")):
        with pytest.raises(ValueError, match=told + got + "; give the values themselves, not their codes"):
            model.predict(frame.assign(colour=values))
    polar = pl.DataFrame({"x": data.X[:, 0], "colour": frame.colour.cat.codes.to_numpy()})
    with pytest.raises(ValueError, match=told):
        model.predict(polar)
    missing = model.predict(frame.assign(colour=None))
    for nothing in (np.nan, pd.NA, "unseen"):
        np.testing.assert_array_equal(model.predict(frame.assign(colour=nothing)), missing)
    numbered = frame.assign(colour=pd.Categorical(frame.colour.cat.codes))
    model = ranker(booster).fit(numbered, y, qid=data.qid)
    expected = model.predict(numbered)
    np.testing.assert_array_equal(model.predict(numbered.assign(colour=frame.colour.cat.codes.astype(float))), expected)
    with pytest.raises(ValueError, match=r"column 'colour' held categories in fit, -1 for one, of another type than '"):
        model.predict(frame)


@both
def test_labels_that_are_one_in_float32_are_refused(booster, data):
    with pytest.raises(ValueError, match=r"y must differ in float32, as which boosters keep it: .*; got 17"):
        ranker(booster, metric="kendall").fit(data.X, data.y + 1.7e9, qid=data.qid)
    with pytest.raises(ValueError, match=r"y must differ in float32, as which boosters keep it: .*; got 16777217"):
        ranker(booster, metric="kendall").fit(data.X, data.y + (2**24 - 1), qid=data.qid)
    with pytest.raises(ValueError, match=r"y must differ in float32, as which boosters keep it: .*; got -17"):
        ranker(booster, metric="kendall").fit(data.X, data.y - 1.7e9, qid=data.qid)
    ranker(booster, metric="kendall").fit(data.X, data.y * 2.0**40, qid=data.qid)


def test_frames_are_checked(data):
    colour, y = colours(data)
    frame = pd.DataFrame({"x": data.X[:, 0], "colour": pd.Categorical(colour)})
    model = ranker().fit(frame, y, qid=data.qid)
    refused = pytest.raises(ValueError, match="X must be a frame, as in fit, since column 'colour' holds categories")
    with refused, pytest.warns(UserWarning, match="valid feature names"):
        model.predict(frame.assign(colour=0).to_numpy(dtype=float))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"x": "w"}))
    with pytest.raises(ValueError, match="column 'x' held numbers in fit; got dtype category"):
        model.predict(frame.assign(x=pd.Categorical(colour)))
    with pytest.raises(ValueError, match="only a SoftRanker remembers"):
        ranker().fit(frame, y, qid=data.qid, init_model=model.booster_)
    booster = lgb.train({"verbosity": -1}, lgb.Dataset(frame, y), 1)
    numbers = frame.assign(colour=frame.colour.cat.codes)
    with pytest.raises(ValueError, match="must know no categories by name, since X is a frame of numbers"):
        ranker().fit(numbers, y, qid=data.qid, init_model=booster)
    codes = numbers.to_numpy(dtype=float)  # an array has no names that LightGBM could go by
    stages = list(ranker().fit(codes, y, qid=data.qid, init_model=booster).staged_predict(codes))
    np.testing.assert_allclose(stages[0], booster.predict(codes), rtol=1e-12)
    with pytest.raises(ValueError, match="fitted on the columns of X, in their order"):
        ranker().fit(frame[["colour", "x"]], y, qid=data.qid, init_model=model)
    when = pd.Series(pd.date_range("2020", periods=len(y)))
    for column, dtype in ((colour, "(object|str)"), (when, "datetime64")):
        with pytest.raises(ValueError, match=rf"X must hold numbers and categories; column 'c' has dtype {dtype}"):
            ranker().fit(pd.DataFrame({"x": data.X[:, 0], "c": column}), y, qid=data.qid)
        with pytest.raises(ValueError, match=r"X must hold numbers and categories; column 'c' has dtype (String|Date)"):
            ranker().fit(pl.DataFrame({"x": data.X[:, 0], "c": pl.Series(list(column))}), y, qid=data.qid)
    spans = pd.DataFrame({"q": data.qid, "x": data.X[:, 0], "c": when - when[0]})
    with pytest.raises(ValueError, match=r"column 'c' has dtype timedelta64.*; turn it into a number"):
        ranker(qid_column="q").fit(spans, y)
    with pytest.raises(ValueError, match="column 'c' has dtype complex128; turn it into a number"):
        ranker().fit(pd.DataFrame({"x": data.X[:, 0], "c": data.X[:, 1] + 1j}), y, qid=data.qid)
    with pytest.raises(ValueError, match="infinity"):
        ranker().fit(pd.DataFrame({"x": np.full(len(y), np.inf)}), y, qid=data.qid)
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        ranker().fit(frame[[]], y, qid=data.qid)


@both
def test_names_that_a_booster_refuses(booster, data):
    each = (["a", "b[1", "c", "d"], ["a", "1]", "c", "d"], ["a", "b<1", "c", "d"], ["a", "b", "c:2", "d"])
    for names in (*each, ["a b", "c", "d", "e"], ["a\nb", "c", "e", "f"], ["a", "c\td", "e", "f"]):
        frame = pd.DataFrame(data.X, columns=names)
        model = ranker(booster).fit(frame, data.y, qid=data.qid)
        assert np.array_equal(model.predict(frame), fit(ranker(booster), data).predict(data.X))
        assert model.feature_names_in_.tolist() == names
        assert model.feature_importances_.argmax() == 0


@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame, pl.DataFrame])
def test_one_document_is_too_few(container, data):
    model = ranker().fit(container(data.X), data.y, qid=data.qid)
    with pytest.raises(ValueError, match=r"1 sample.* while a minimum of 2 is required"):
        ranker().fit(container(data.X[:1]), data.y[:1], qid=data.qid[:1])
    assert model.predict(container(data.X[:1])) == model.predict(container(data.X))[0]
    with pytest.raises(ValueError, match=r"0 sample.* while a minimum of 1 is required"):
        model.predict(container(data.X[:0]))


def test_names_with_spaces_are_kept(data):
    frame = pd.DataFrame(data.X, columns=["a b", "c", "d e f", "g"])
    assert ranker().fit(frame, data.y, qid=data.qid).booster_.feature_name() == ["a_b", "c", "d_e_f", "g"]
    assert ranker("xgboost").fit(frame, data.y, qid=data.qid).booster_.feature_names == ["a b", "c", "d e f", "g"]
    twins = pd.DataFrame(data.X, columns=["a b", "a_b", "d", "g"])
    model = ranker().fit(twins, data.y, qid=data.qid)
    assert model.booster_.feature_name() == ["Column_0", "Column_1", "Column_2", "Column_3"]
    assert model.feature_names_in_.tolist() == ["a b", "a_b", "d", "g"]


def test_a_name_that_lightgbm_refuses_does_not_cost_the_others_theirs(data):
    frame = pd.DataFrame(data.X, columns=['bm25[title]:{"k1",1}', "tab\tnew\nline\0", "d", "g"])
    model = ranker().fit(frame, data.y, qid=data.qid)
    assert model.booster_.feature_name() == ["bm25_title____k1__1_", "tab_new_line_", "d", "g"]
    np.testing.assert_array_equal(model.predict(frame), ranker().fit(data.X, data.y, qid=data.qid).predict(data.X))
    again = lgb.Booster(model_str=model.booster_.model_to_string())
    assert again.feature_name() == model.booster_.feature_name()
    unnamed = pd.DataFrame(data.X, columns=["", "b", "c", "d"])
    assert ranker().fit(unnamed, data.y, qid=data.qid).booster_.feature_name()[1] == "Column_1"


def test_a_frame_of_dask_must_be_computed(data):
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame(data.X, columns=list("abcd")), npartitions=2)
    with pytest.raises(
        TypeError, match=r"SoftRanker.fit: X must be .* got a frame of Dask, which .compute\(\) makes one"
    ):
        ranker().fit(frame, data.y, qid=data.qid)


def test_a_dict_of_columns_must_be_made_a_frame(data):
    with pytest.raises(TypeError, match=r"^SoftRanker.fit: X must be a DataFrame or an array; got a dict, of"):
        ranker().fit(dict(zip("abcd", data.X.T, strict=True)), data.y, qid=data.qid)


def test_a_lazy_frame_must_be_collected(data):
    frame = pl.DataFrame(data.X, schema=["a", "b", "c", "d"])
    model = ranker().fit(frame, data.y, qid=data.qid)
    message = r"X must be a DataFrame or an array; got a LazyFrame, which .collect\(\) makes one"
    for call, caller in (
        (lambda: ranker().fit(frame.lazy(), data.y, qid=data.qid), "SoftRanker.fit"),
        (lambda: model.predict(frame.lazy()), "SoftRanker.predict"),
        (lambda: model.score(frame.lazy(), data.y, qid=data.qid), "SoftRanker.score"),
        (
            lambda: ranker().fit(frame, data.y, qid=data.qid, eval_set=[(frame.lazy(), data.y)], eval_qid=[data.qid]),
            r"SoftRanker.fit: eval_set\[0\]",
        ),
    ):
        with pytest.raises(TypeError, match=f"^{caller}: {message}"):
            call()


def test_the_users_arrays_stay_as_they_are(data):
    mixed = shuffled(data)
    X, y, qid, weights = mixed.X.copy(), mixed.y.copy(), mixed.qid.copy(), np.ones(len(mixed.y))
    for array in (X, y, qid, weights):
        array.setflags(write=False)
    for booster in ("lightgbm", "xgboost"):
        ranker(booster).fit(X, y, qid=qid, sample_weight=weights).predict(X)
    assert np.array_equal(X, mixed.X)


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


@both
@pytest.mark.parametrize("names", [["", "b", "c", "d"], ["a\0", "a\0b", "c", "d"]])
def test_names_that_a_booster_cannot_keep_are_counted(booster, data, names):
    """As of the index that pandas writes to a CSV."""
    frame = pd.DataFrame(data.X, columns=names)
    model = ranker(booster).fit(frame, data.y, qid=data.qid)
    np.testing.assert_array_equal(
        model.predict(frame), ranker(booster).fit(data.X, data.y, qid=data.qid).predict(data.X)
    )
    ranker(booster).fit(frame, data.y, qid=data.qid, init_model=model)


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


@both
def test_entries_of_one_place_of_a_sparse_matrix_are_added_up(booster, data):
    n_docs, n_features = data.X.shape
    twice = sparse.csr_matrix(
        (np.repeat(data.X.ravel() / 2, 2), np.tile(np.repeat(np.arange(n_features), 2), n_docs),
         2 * n_features * np.arange(n_docs + 1)), shape=data.X.shape,
    )  # fmt: skip
    kept = twice.nnz
    plain = ranker(booster).fit(sparse.csr_matrix(data.X), data.y, qid=data.qid)
    model = ranker(booster).fit(twice, data.y, qid=data.qid)
    np.testing.assert_array_equal(model.predict(twice), plain.predict(sparse.csr_matrix(data.X)))
    assert twice.nnz == kept  # the user's own


@pytest.mark.parametrize("kind", ["datetime64[us]", "timedelta64[s]"])
def test_arrays_of_times_are_refused(data, kind):
    with pytest.raises(TypeError, match="fit: X must hold numbers; got an array of"):
        ranker().fit(np.round(1e6 * data.X).astype(np.int64).astype(kind), data.y, qid=data.qid)


@pytest.mark.parametrize("kind", [np.int64, float, str, object])
def test_rows_of_scattered_queries_keep_their_order(kind):
    """Of many more rows than an unstable sort leaves alone."""
    ids = np.random.default_rng(0).integers(100, 140, 3000)
    found = read_queries("test", ids.size, None, ids.astype(kind))
    order = sorted(range(ids.size), key=lambda row: (ids[row], row))
    assert found.order.tolist() == order
    assert found.groups.sizes.tolist() == [int((ids == one).sum()) for one in range(100, 140)]
    assert found.bring_together(ids).tolist() == sorted(ids.tolist())
