"""What SoftRanker takes for features: arrays, sparse matrices, frames and categories, and what is refused."""

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

from boostsoft import Metric, QueryGroups, SoftBlender, SoftRanker, blend_curve, track_trees
from boostsoft.queries import split_queries
from boostsoft.ranker.features import Features, _filled, _values, are_mostly_rare
from boostsoft.ranker.fitted import encoded

from . import ranker_cases
from .memory import peak_memory
from .ranker_cases import both, colours, fit, ranker, shuffled

data = ranker_cases.data  # fixture

pytest.importorskip("xgboost")


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
def test_score_makes_floats_of_narrow_numbers_once(booster):
    """A copy for the queries and another for the trees were alive at a time: eight times what int8 takes, not four."""
    rng = np.random.default_rng(0)
    X, sizes = rng.integers(-9, 10, (8_000, 100)).astype(np.int8), [20] * 400
    y = (X[:, 0] > 3).astype(float)
    model = ranker(booster).fit(X[:400], y[:400], group=sizes[:20])
    expected = Metric("ndcg@10")(y, model.predict(X), group=sizes)
    assert model.score(X, y, group=sizes) == expected
    assert peak_memory(lambda: model.score(X, y, group=sizes)) < 1.5 * 4 * X.size


@both
@pytest.mark.parametrize("own", [False, True])
def test_a_few_rows_of_many_categories_are_scored_as_among_others(booster, own, data):
    """Whether the frame brings all categories or its own, in another order; with missing and unknown ones."""
    rng = np.random.default_rng(0)
    names = np.array([f"user {i:03}" for i in range(30)])
    codes = rng.permutation(np.arange(data.y.size) % 30)
    frame = pd.DataFrame({"user": pd.Categorical(names[codes], categories=names), "x": data.X[:, 0]})
    few = {"booster_params": {"min_data_per_group": 1, "cat_smooth": 0.0}} if booster == "lightgbm" else {}
    model = ranker(booster, **few).fit(frame, codes % 3, qid=data.qid)
    expected = model.predict(frame)
    assert np.unique(expected[data.X[:, 0] > 0]).size > 2
    frame.loc[3, "user"] = None
    missing = model.predict(frame)[3]
    for rows in (np.arange(8), np.array([5]), np.array([3]), np.array([7, 3, 7])):
        part = frame.iloc[rows]
        if own:
            part = part.assign(user=part["user"].astype(object).astype("category").cat.add_categories(["aa", "zz"]))
        wanted = np.where(rows == 3, missing, expected[rows])
        np.testing.assert_array_equal(model.predict(part), wanted)
    unknown = part.assign(user=pd.Categorical(["zz"] * len(part), categories=["zz", *names[::-1]]), x=frame["x"][3])
    np.testing.assert_array_equal(model.predict(unknown), missing)
    assert len(_values(frame["user"][:2])[0]) == 2  # of rows, not of all categories: these take longer than the trees
    assert model._encoder._places is model._encoder._places
    assert b"_places" not in pickle.dumps(model)  # what is looked up is made again
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(unknown), missing)


@both
@pytest.mark.parametrize("stored", [0.0, 1e-36, None])
def test_a_sparse_matrix_of_zeros_gives_equal_scores(booster, stored, data):
    """Stored or not; LightGBM itself would end with an error."""
    X = sparse.csr_matrix(data.X.shape if stored is None else np.full(data.X.shape, 1.0))
    X.data[:] = 0.0 if stored is None else stored
    with pytest.warns(UserWarning, match="no tree has a split, so that all scores are equal"):
        model = ranker(booster).fit(X, data.y, qid=data.qid)
    assert np.unique(model.predict(X)).size == 1


@both
def test_a_sparse_matrix_is_not_copied(booster):
    rng, sizes = np.random.default_rng(0), np.full(1000, 20)
    X = sparse.random(20_000, 1000, density=0.06, random_state=0, format="csr", dtype=np.float32)
    y = rng.integers(0, 3, 20_000).astype(float)
    model = ranker(booster, n_estimators=1, n_boosters=1, random_trees=False)
    entries = X.data.nbytes + X.indices.nbytes
    model.fit(X, y, group=sizes).predict(X)  # what is loaded once is no copy
    assert peak_memory(lambda: model.fit(X, y, group=sizes)) < 0.8 * entries
    assert peak_memory(lambda: model.predict(X)) < 0.1 * entries


@both
@pytest.mark.parametrize("kind", ["pandas", "nullable", "arrow", "polars", "table"])
def test_frames_of_float32_take_no_more_memory_than_that(booster, kind, data):
    X = data.X.astype(np.float32)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["flag"], frame["few"] = X[:, 0] > 0, np.round(3 * X[:, 1]).astype(np.int16)
    X = frame.to_numpy(dtype=np.float32)
    given = {"pandas": frame, "nullable": frame.convert_dtypes(), "polars": pl.from_pandas(frame)}
    given["table"] = pa.Table.from_pandas(frame)
    given["arrow"] = given["table"].to_pandas(types_mapper=pd.ArrowDtype)
    model = ranker(booster).fit(given[kind], data.y, qid=data.qid)
    assert encoded("test", model, given[kind])[1].matrix.nbytes == X.nbytes
    wide = ranker(booster).fit(X.astype(np.float64), data.y, qid=data.qid)
    assert np.array_equal(model.predict(given[kind]), wide.predict(X.astype(np.float64)))
    for wide in (0.1, np.int32(2**24 + 1), np.uint32(2**24 + 1)):  # no float32
        found = encoded("test", model, frame.assign(few=wide))[1].matrix
        assert (found.dtype, found[0, 5]) == (np.float64, wide)


@both
def test_missing_numbers_of_tables_are_those_of_frames(booster, data):
    columns = {"x": data.X[:, 0], "n": np.round(3 * data.X[:, 1]).astype(np.int64), "flag": data.X[:, 2] > 0}
    gone = {"mask": np.arange(len(data.y)) % 7 == 3}
    table = pa.table({name: pa.array(column, **gone) for name, column in columns.items()})
    whole = np.column_stack(list(columns.values())).astype(float)
    whole[gone["mask"]] = np.nan
    model = ranker(booster).fit(table, data.y, qid=data.qid)
    assert model.feature_names_in_.tolist() == ["x", "n", "flag"]
    expected = ranker(booster).fit(whole, data.y, qid=data.qid).predict(whole)
    for given in (table, pl.from_arrow(table), table.to_pandas(types_mapper=pd.ArrowDtype)):
        np.testing.assert_array_equal(model.predict(given), expected)
    with pytest.raises(ValueError, match=r"SoftRanker.predict: X: The feature names should match"):
        model.predict(table.rename_columns(["x", "n", "m"]))
    with pytest.raises(ValueError, match=r"SoftRanker.fit: X.* minimum of 2 is required"):
        ranker(booster).fit(table[:1], data.y[:1], qid=data.qid[:1])


@pytest.mark.parametrize("kind", ["table", "polars"])
def test_columns_become_a_matrix_without_another_one_beside_it(kind, monkeypatch):
    numbers = np.random.default_rng(0).integers(0, 9, (50_000, 20))
    table = pa.table({str(at): column for at, column in enumerate(numbers.T)})
    model = ranker().fit(numbers[:100], np.arange(100) % 3, group=[50, 50])
    given = table if kind == "table" else pl.from_arrow(table)
    fitted = ranker().fit(given[:100], np.arange(100) % 3, group=[50, 50])
    assert encoded("test", fitted, given)[1].matrix.dtype == np.float64
    assert peak_memory(lambda: encoded("test", fitted, given)) < 1.2 * numbers.nbytes
    monkeypatch.setattr(pl.DataFrame, "to_numpy", None)  # a matrix of whole numbers, whose memory is not Python's
    np.testing.assert_array_equal(fitted.predict(given), model.predict(numbers))


@both
@pytest.mark.parametrize("kind", [bool, np.int8, np.uint16, np.float16, ">f4"])
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


@pytest.mark.parametrize("as_given", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
@pytest.mark.parametrize("qid_column", [None, "q"])
def test_beside_categories_numbers_are_taken_at_once_as_they_are_by_column(as_given, qid_column, data, monkeypatch):
    colour, y = colours(data)
    columns = {"x": data.X[:, 0], "colour": pd.Categorical(colour), "q": data.qid, "n": data.X[:, 1].astype(np.float32)}
    columns["size"] = pd.Categorical(np.where(data.X[:, 2] > 0, "large", "small"))
    frame = as_given(pd.DataFrame(columns))
    named = {"qid": data.qid} if qid_column is None else {}
    model = ranker(qid_column=qid_column).fit(frame, y, **named)
    at_once = encoded("test", model, frame)[1].matrix
    monkeypatch.setattr("boostsoft.ranker.features._FEW_ROWS", 0)
    by_column = encoded("test", model, frame)[1].matrix
    assert at_once.dtype == by_column.dtype
    assert at_once.shape == (len(y), 4 if qid_column else 5)
    np.testing.assert_array_equal(at_once, by_column)


@pytest.mark.skipif(not hasattr(pl, "Int128"), reason="polars before 1.18 has no such numbers")
@pytest.mark.parametrize("categories", [True, False])
def test_numbers_of_128_bits_are_read_one_column_by_itself(categories, data):
    colour, y = colours(data)
    columns = {"n": pl.Series(np.arange(len(y)) % 7).cast(pl.Int128), "m": pl.Series(data.X[:, 0] > 0).cast(pl.Int64)}
    if categories:
        columns["colour"] = pl.Series([str(one) for one in colour]).cast(pl.Categorical)
    frame = pl.DataFrame(columns)
    wanted = ranker().fit(frame.with_columns(pl.col("n").cast(pl.Float64)), y, qid=data.qid)
    model = ranker().fit(frame, y, qid=data.qid)
    np.testing.assert_array_equal(model.predict(frame[:30]), wanted.predict(frame.cast({"n": pl.Float64})[:30]))


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
    digits = np.where(colour == "red", "7", "12")  # of which floats can be made
    for column, dtype in ((colour, "(object|str)"), (digits, "(object|str)"), (when, "datetime64")):
        with pytest.raises(ValueError, match=rf"X must hold numbers and categories; column 'c' has dtype {dtype}"):
            ranker().fit(pd.DataFrame({"x": data.X[:, 0], "c": column}), y, qid=data.qid)
        with pytest.raises(ValueError, match=r"X must hold numbers and categories; column 'c' has dtype (String|Date)"):
            ranker().fit(pl.DataFrame({"x": data.X[:, 0], "c": pl.Series(list(column))}), y, qid=data.qid)
    mixed = pd.Series([1, "2", *range(len(y) - 2)], dtype=object)
    with pytest.raises(ValueError, match="column 'c' has dtype object; make it a category or leave it out"):
        ranker().fit(pd.DataFrame({"x": data.X[:, 0], "c": mixed}), y, qid=data.qid)
    ranker().fit(pd.DataFrame({"x": data.X[:, 0], "c": mixed.astype(float).astype(object)}), y, qid=data.qid)
    spans = pd.DataFrame({"q": data.qid, "x": data.X[:, 0], "c": when - when[0]})
    with pytest.raises(ValueError, match=r"column 'c' has dtype timedelta64.*; turn it into a number"):
        ranker(qid_column="q").fit(spans, y)
    for times in (when.to_numpy(), (when - when[0]).to_numpy()):  # polars makes no categories of them
        with pytest.raises(ValueError, match=r"column 'c' has dtype (Date|Duration).*; turn it into a number$"):
            ranker().fit(pl.DataFrame({"x": data.X[:, 0], "c": pl.Series(times)}), y, qid=data.qid)
    with pytest.raises(ValueError, match="column 'c' has dtype complex128; turn it into a number"):
        ranker().fit(pd.DataFrame({"x": data.X[:, 0], "c": data.X[:, 1] + 1j}), y, qid=data.qid)
    with pytest.raises(ValueError, match="infinity"):
        ranker().fit(pd.DataFrame({"x": np.full(len(y), np.inf)}), y, qid=data.qid)
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        ranker().fit(frame[[]], y, qid=data.qid)


def test_columns_of_one_name_are_refused(data):
    twins = pd.DataFrame(data.X, columns=["a", "b", "c", "b"])
    wrong = "X: columns must have different names; got 'b' 2 times"
    with pytest.raises(ValueError, match=f"SoftRanker.fit: {wrong}"):
        ranker().fit(twins, data.y, qid=data.qid)
    with pytest.raises(ValueError, match=f"SoftRanker.fit: {wrong}"):
        ranker(qid_column="b").fit(twins, data.y)
    model = ranker().fit(twins.set_axis(["a", "b", "c", "d"], axis=1), data.y, qid=data.qid)
    with pytest.raises(ValueError, match=f"SoftRanker.predict: {wrong}"):
        model.predict(twins)


@both
def test_names_that_a_booster_refuses(booster, data):
    each = (["a", "b[1", "c", "d"], ["a", "1]", "c", "d"], ["a", "b<1", "c", "d"], ["a", "b", "c:2", "d"])
    for names in (*each, ["a b", "c", "d", "e"], ["a\nb", "c", "e", "f"], ["a", "c\td", "e", "f"]):
        frame = pd.DataFrame(data.X, columns=names)
        model = ranker(booster).fit(frame, data.y, qid=data.qid)
        assert np.array_equal(model.predict(frame), fit(ranker(booster), data).predict(data.X))
        assert model.feature_names_in_.tolist() == names
        assert model.feature_importances_.argmax() == 0


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


def words(n_docs, common, rare, seed=0):
    """A sparse matrix of columns that half of the documents have, and of such as hardly any has."""
    rng = np.random.default_rng(seed)
    often = sparse.csr_matrix(rng.integers(0, 2, (n_docs, common)).astype(float))
    return sparse.hstack([often, sparse.random(n_docs, rare, density=2 / n_docs, random_state=seed)]).tocsr()


def test_columns_that_no_leaf_is_split_by_are_left_out_where_most_are_such(data):
    X = words(len(data.y), 5, 1200)
    given = {"n_estimators": 5, "min_child_samples": 8, "random_trees": False, "n_boosters": 1}
    model = ranker(**given).fit(X, data.y, qid=data.qid)
    assert "[feature_pre_filter: 1]" in model.booster_.model_to_string()
    assert ranker(**given).train_arguments(data.y, X=X, qid=data.qid)["params"]["feature_pre_filter"]
    without = ranker(**given).fit(X[:, :5], data.y, qid=data.qid)
    assert np.unique(model.predict(X)).size > 5
    np.testing.assert_array_equal(model.predict(X), without.predict(X[:, :5]))
    dense = ranker(**given).fit(data.X, data.y, qid=data.qid)
    assert "[feature_pre_filter: 0]" in dense.booster_.model_to_string()


@pytest.mark.parametrize(
    ("common", "rare", "stored", "expected"),
    [(1, 1200, 1.0, True), (1, 900, 1.0, False), (700, 600, 1.0, False), (0, 1200, 1.0, False), (1, 1200, 0.0, False)],
)
def test_when_most_columns_are_rare(common, rare, stored, expected, monkeypatch):
    """Not if no column is sure to be split by: LightGBM would end in an error."""
    X = words(300, common, rare)
    X.data[X.indices < common] *= stored
    assert are_mostly_rare(Features(X, None, (), from_sparse=True), 8) is expected
    monkeypatch.setattr("boostsoft.ranker.features._COUNTED", 100)
    np.testing.assert_array_equal(_filled(X), (X.toarray() != 0).sum(axis=0))
    assert not are_mostly_rare(Features(X.toarray(), None, (), from_sparse=False), 8)
    everywhere = sparse.hstack([np.ones((300, 1)), words(300, 0, 1200)]).tocsr()
    assert not are_mostly_rare(Features(everywhere, None, (), from_sparse=True), 8)


def test_half_of_the_queries_may_have_rare_columns_only(data):
    """The trial's half: LightGBM would end in an error there."""
    _, judged = split_queries("test", QueryGroups.from_query_ids(data.qid), 0.5, 0)
    X = words(len(data.y), 0, 1200)
    told = np.isin(data.qid, np.unique(data.qid)[judged]) & (np.arange(len(data.y)) % 3 > 0)
    X = sparse.hstack([told[:, None].astype(float), X]).tocsr()
    model = SoftRanker(n_estimators=3, min_child_samples=8, n_jobs=1, random_state=0).fit(X, data.y, qid=data.qid)
    assert "[feature_pre_filter: 1]" in model.booster_.model_to_string()


def test_forced_splits_keep_all_columns(data, tmp_path):
    file = tmp_path / "forced.json"
    file.write_text('{"feature": 900, "threshold": 0.5}')
    given = {"min_child_samples": 8, "booster_params": {"forcedsplits_filename": str(file)}}
    for more, expected in (({}, True), (given, False)):
        options = {**given, "booster_params": {}, **more}
        X = words(len(data.y), 5, 1200)
        found = ranker(random_trees=False, learning_rate=0.1, **options).train_arguments(data.y, X=X, qid=data.qid)
        assert found["params"]["feature_pre_filter"] is expected


def test_columns_that_are_all_rare_are_no_error(data):
    X = words(len(data.y), 0, 1200)
    assert ranker(n_estimators=3, n_boosters=1).fit(X, data.y, qid=data.qid).n_iter_ == 3


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


@both
def test_the_boosters_own_data_sets_are_refused(booster, data):
    model = fit(ranker(booster), data)
    for own, name in ((lgb.Dataset(data.X, data.y), "Dataset"), (xgb.DMatrix(data.X, data.y), "DMatrix")):
        told = rf": X must be an array, a sparse matrix or a DataFrame, with labels .*; got {name}$"
        with pytest.raises(TypeError, match="^SoftRanker.fit" + told):
            ranker(booster).fit(own, data.y, qid=data.qid)
        with pytest.raises(TypeError, match="^SoftRanker.predict" + told):
            model.predict(own)


@pytest.mark.parametrize("dictionary", [False, True])
@pytest.mark.parametrize("texts", [["7", "12"], ["a", "b"]])  # floats can be made of the former
def test_tables_of_arrow_with_texts_are_refused(data, texts, dictionary):
    column = pa.array(np.where(data.X[:, 0] > 0, *texts).tolist())
    table = pa.table({"x": data.X[:, 0], "c": column.dictionary_encode() if dictionary else column})
    for caller, take in (
        ("SoftRanker.fit: X", lambda: ranker().fit(table, data.y, qid=data.qid)),
        ("SoftBlender.fit: S", lambda: SoftBlender().fit(table, data.y, qid=data.qid)),
    ):
        with pytest.raises(TypeError, match=f"^{caller} must hold numbers; column 'c' has type (string|dictionary)"):
            take()
    model = ranker().fit(table.to_pandas().astype({"c": "category"}), data.y, qid=data.qid)
    assert model.feature_names_in_.tolist() == ["x", "c"]


@pytest.mark.parametrize("kind", ["datetime64[us]", "timedelta64[s]"])
def test_arrays_of_times_are_refused(data, kind):
    times = np.round(1e6 * data.X).astype(np.int64).astype(kind)
    for X in (times, list(times), np.array([list(row) for row in times], object)):
        with pytest.raises(TypeError, match="fit: X must hold numbers; got an array of"):
            ranker().fit(X, data.y, qid=data.qid)


@pytest.mark.parametrize("kind", ["U", "S"])
def test_arrays_of_texts_are_refused(data, kind):
    """As LGBMRanker refuses them, also where floats can be made of them."""
    digits = np.round(9 * data.X).astype(int).astype(kind)
    for X in (digits, digits.tolist()):
        with pytest.raises(TypeError, match=rf"fit: X must hold numbers; got texts \(dtype [<|]{kind}\d+\)"):
            ranker().fit(X, data.y, qid=data.qid)
        with pytest.raises(TypeError, match=r"^SoftBlender.fit: S must hold numbers; got texts"):
            SoftBlender().fit(X, data.y, qid=data.qid)


def test_frames_of_texts_hold_no_scores(data):
    digits = pd.DataFrame(np.round(9 * data.X).astype(int)).add_prefix("bm")
    one = digits.assign(bm1=digits["bm1"].astype(str))
    for S in (one, one.astype(object), digits.astype(str)):
        for fitted in (SoftBlender().fit, lambda S, y, qid: blend_curve(S, y, qid=qid, n=2)):
            with pytest.raises(TypeError, match=r"^.*: S must hold numbers; column 'bm\d' has dtype \w+; turn it into"):
                fitted(S, data.y, qid=data.qid)


def test_a_column_of_objects_that_are_times_is_refused(data):
    frame = pd.DataFrame(data.X[:, :2], columns=["a", "b"])
    frame["b"] = pd.Series([np.timedelta64(at, "s") for at in range(len(frame))], dtype=object)
    with pytest.raises(ValueError, match="fit: X must hold numbers and categories; column 'b' has dtype object; turn"):
        ranker().fit(frame, data.y, qid=data.qid)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda X: X + 1j, "Complex data not supported"),
        (lambda X: X[:, 0], "Expected 2D array"),
        (lambda X: np.where(X > 1, "a", "b").astype(object), "could not convert string to float"),
        (lambda X: pd.DataFrame(np.where(X > 1, np.inf, X)), "Input X contains infinity"),
    ],
)
def test_what_scikit_learn_says_of_features_comes_with_the_function_and_the_argument(data, change, said):
    with pytest.raises(ValueError, match=rf"^SoftRanker\.fit: X: {said}"):
        ranker().fit(change(data.X), data.y, qid=data.qid)
