"""Documents per query: every way to say it, and every way to say it wrong."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boostsoft import Metric, QueryGroups, SoftMetric
from boostsoft.queries import read_queries
from boostsoft.query_groups import query_weights, read_ids, resolve_groups

few = settings(deadline=None, derandomize=True, max_examples=50)


def tuples_as_ids():
    ids = np.empty(6, dtype=object)
    ids[:] = [("a", 1), ("a", 1), ("a", 2), ("b", 1), ("b", 1), ("b", 1)]
    return ids


# Every form


@pytest.mark.parametrize(
    "sizes",
    [
        [2, 1, 3],
        (2, 1, 3),
        [2.0, 1.0, 3.0],
        np.array([2, 1, 3], np.uint8),
        np.array([2, 1, 3], np.uint64),
        np.array([2, 1, 3], np.float32),
        np.array([2, 9, 1, 9, 3])[::2],
        pd.Series([2, 1, 3], index=[9, 8, 7]),
        pd.Series([2, 1, 3], dtype="Int64"),
    ],
)
def test_sizes(sizes):
    groups = QueryGroups.from_sizes(sizes)
    np.testing.assert_array_equal(groups.offsets, [0, 2, 3, 6])
    assert groups == QueryGroups.from_sizes(sizes, 6)


@pytest.mark.parametrize("dtype", [int, np.uint32, np.uint64, np.float32, float])
def test_offsets(dtype):
    groups = QueryGroups.from_offsets(np.array([0, 2, 3, 6], dtype))
    np.testing.assert_array_equal(groups.sizes, [2, 1, 3])
    assert groups == QueryGroups([0, 2, 3, 6])


@pytest.mark.parametrize(
    "qid",
    [
        [7, 7, -1, 3, 3, 3],
        [0.5, 0.5, -1.0, 3.0, 3.0, 3.0],
        np.array([7, 7, 1, 3, 3, 3], np.uint8),
        ["b", "b", "a", "c", "c", "c"],
        np.array([7, 7, "a", 3.5, 3.5, 3.5], dtype=object),
        np.array([np.int64(7)] * 2 + [np.str_("a")] + [np.float32(3)] * 3, dtype=object),
        tuples_as_ids(),
        np.array(["2020", "2020", "2022", "2021", "2021", "2021"], "M8[Y]"),
        pd.Series([7, 7, 1, 3, 3, 3], index=range(6, 0, -1)),
        pd.Series([7, 7, 1, 3, 3, 3], dtype="Int64"),
        pd.Series(list("bbaccc")),
        pd.Series(list("bbaccc"), dtype="string"),
        pd.Series(list("bbaccc"), dtype="category"),
        pd.Categorical(list("bbaccc"), categories=list("xcab")),
        pd.Series([7, 7, 1, 3, 3, 3], dtype="category"),
    ],
)
def test_query_ids(qid):
    np.testing.assert_array_equal(QueryGroups.from_query_ids(qid).offsets, [0, 2, 3, 6])


@pytest.mark.parametrize("form", [pd.Series, pd.DatetimeIndex, pd.array, pytest.param("arrow", id="Arrow's")])
@pytest.mark.parametrize("order", [[0, 0, 1, 2, 2, 3, 4], [2, 0, 4, 2, 1, 0, 4]])
def test_times_of_a_zone_are_one_object_each(form, order):
    """As pandas hands them out, but for the hour that comes twice in October one of each instant, and NaT."""
    hours = pd.date_range("2024-10-27", periods=4, freq="h", tz="Europe/Berlin").append(pd.DatetimeIndex([None]))
    rows = pd.Series(hours[order], index=range(7, 0, -1))
    if form == "arrow":
        pytest.importorskip("pyarrow")
        qid = rows.astype("timestamp[us, tz=Europe/Berlin][pyarrow]")
    else:
        qid = form(rows)
    found, expected = read_ids("caller", qid), np.asarray(qid, object)
    assert found.dtype == object
    assert [repr(one) for one in found] == [repr(one) for one in expected]  # of the zone, too
    assert len({id(one) for one in found}) == len(set(order))
    with pytest.raises(ValueError, match=f"got (NaT|<NA>) at position {order.index(4)}"):
        QueryGroups.from_query_ids(qid)


def test_queries_by_times_of_a_zone():
    hours = pd.Series(pd.date_range("2024-10-27", periods=4, freq="h", tz="Europe/Berlin"))
    assert QueryGroups.from_query_ids(hours[[3, 3, 1, 2, 2, 2]]) == QueryGroups.from_sizes([2, 1, 3])
    with pytest.raises(ValueError, match=re.escape(f"qid {hours[2]!r} of position 0 comes back at position 2 after")):
        QueryGroups.from_query_ids(hours[[2, 1, 2]])


def test_polars():
    pl = pytest.importorskip("polars")
    assert QueryGroups.from_sizes(pl.Series([2, 1])) == QueryGroups.from_sizes([2, 1])
    for dtype in (pl.String, pl.Categorical):
        assert QueryGroups.from_query_ids(pl.Series(["x", "x", "y"], dtype=dtype)) == QueryGroups.from_sizes([2, 1])


def test_one_document_and_one_query():
    assert QueryGroups.from_query_ids([3]) == QueryGroups.from_sizes([1])
    assert QueryGroups.from_query_ids([3, 3]).n_queries == 1


def test_queries_without_documents():
    groups = QueryGroups.from_sizes([0, 2, 0, 0, 1, 0])
    assert (groups.n_queries, groups.n_docs) == (6, 3)
    np.testing.assert_array_equal(groups.offsets, [0, 0, 2, 2, 2, 3, 3])
    np.testing.assert_array_equal(groups.sums(np.array([1.0, 2.0, 4.0])), [0, 3, 0, 0, 4, 0])
    np.testing.assert_array_equal(groups.means(np.array([1.0, 2.0, 4.0])), [0, 1.5, 0, 0, 4, 0])
    np.testing.assert_array_equal(groups.largest(np.array([1.0, 2.0, 4.0]), 3.0), [3, 2, 3, 3, 4, 3])
    np.testing.assert_array_equal(groups.smallest(np.array([1.0, 2.0, 4.0]), 3.0), [3, 1, 3, 3, 4, 3])
    np.testing.assert_array_equal(groups.per_document(np.arange(6)), [1, 1, 4])


@few
@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.data())
def test_sums_and_repeats_are_the_loops(sizes, data):
    groups = QueryGroups.from_sizes(sizes)
    values = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=sum(sizes), max_size=sum(sizes))), float)
    loop = [values[a:b].sum() for a, b in zip(groups.offsets[:-1], groups.offsets[1:], strict=True)]
    np.testing.assert_array_equal(groups.sums(values), loop)
    repeated = [q for q, size in enumerate(sizes) for _ in range(size)]
    np.testing.assert_array_equal(groups.per_document(np.arange(len(sizes))), repeated)


@few
@given(st.lists(st.integers(1, 4), min_size=1, max_size=12))
def test_ids_and_sizes_are_two_ways_to_say_the_same(sizes):
    groups = QueryGroups.from_sizes(sizes)
    assert QueryGroups.from_query_ids(groups.per_document(np.arange(len(sizes))[::-1])) == groups
    assert QueryGroups.from_offsets(groups.offsets) == groups


# A value


def test_equality_and_hash():
    groups = QueryGroups.from_sizes([2, 1])
    assert groups == QueryGroups.from_query_ids(["a", "a", "b"])
    assert hash(groups) == hash(QueryGroups.from_offsets([0.0, 2.0, 3.0]))
    assert groups != QueryGroups.from_sizes([1, 2])
    assert groups != QueryGroups.from_sizes([2, 1, 0])
    assert groups != "QueryGroups"
    assert groups != [0, 2, 3]
    assert len({groups, QueryGroups.from_sizes([2, 1]), QueryGroups.from_sizes([3])}) == 2


@pytest.mark.parametrize("again", [lambda g: g, copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))])
def test_immutable_and_so_are_its_copies(again):
    groups = again(QueryGroups.from_sizes([2, 1]))
    assert groups == QueryGroups.from_sizes([2, 1])
    with pytest.raises(ValueError, match="read-only"):
        groups.offsets[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        groups.sizes[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        groups.offsets = np.array([0, 3])


def test_does_not_follow_the_array_it_was_made_from():
    offsets = np.array([0, 2, 3])
    groups = QueryGroups.from_offsets(offsets)
    offsets[1] = 1
    np.testing.assert_array_equal(groups.offsets, [0, 2, 3])
    assert offsets.flags.writeable


def test_repr_counts():
    assert repr(QueryGroups.from_sizes([2, 0, 1])) == "QueryGroups(3 queries, 3 documents)"


# Errors: each names function, argument, rule and what was received


@pytest.mark.parametrize(
    ("sizes", "error", "text"),
    [
        ([2, -1], ValueError, "sizes must not be negative; got -1 at position 1"),
        ([2, 1.5], ValueError, "sizes must be whole numbers up to 2^53; got 1.5 at position 1"),
        ([2, np.nan], ValueError, "sizes must be whole numbers up to 2^53; got nan at position 1"),
        ([np.inf], ValueError, "sizes must be whole numbers up to 2^53; got inf at position 0"),
        ([1e300], ValueError, "sizes must be whole numbers up to 2^53; got 1e+300 at position 0"),
        (np.array([2**63], np.uint64), ValueError, "sizes must be whole numbers up to 2^53; got 9223372036854775808"),
        ([2**63 - 1, 2**63 - 1, 4], ValueError, "sizes must be whole numbers up to 2^53; got 9223372036854775807"),
        ([], ValueError, "sizes must not be empty"),
        (3, ValueError, "sizes must be one-dimensional; got shape ()"),
        ([[2, 1]], ValueError, "sizes must be one-dimensional; got shape (1, 2)"),
        ([[1], [1, 2]], ValueError, "sizes must be an array; got [[1], [1, 2]]"),
        (np.ma.masked_array([2, 1], [True, False]), ValueError, "sizes must not have masked entries"),
        (["2"], TypeError, "sizes must be whole numbers; got [2] of dtype <U1"),
        ([True], TypeError, "sizes must be whole numbers; got [True] of dtype bool"),
        ([2j], TypeError, "sizes must be whole numbers; got [2j] of dtype complex128"),
        ([None, *range(9)], TypeError, "sizes must be whole numbers; got [None, 0, 1, 2, 3, ...] of dtype object"),
    ],
)
def test_wrong_sizes(sizes, error, text):
    with pytest.raises(error, match="^QueryGroups.from_sizes: " + re.escape(text)):
        QueryGroups.from_sizes(sizes)
    with pytest.raises(error, match="^Metric: " + re.escape(text.replace("sizes", "group", 1))):
        Metric("dcg")([1, 0], [1, 0], group=sizes)


def test_sizes_that_do_not_add_up_name_both_numbers():
    text = "must add up to the number of documents, 5; got 2 sizes that add up to 3"
    with pytest.raises(ValueError, match=f"^QueryGroups.from_sizes: sizes {text}"):
        QueryGroups.from_sizes([2, 1], 5)
    with pytest.raises(ValueError, match=f"^SoftMetric.gradient: group {text}"):
        SoftMetric("dcg").gradient([0] * 5, [0] * 5, group=[2, 1])


@pytest.mark.parametrize(
    ("offsets", "error", "text"),
    [
        ([0, 3, 2], ValueError, "QueryGroups: offsets must not fall; got 3 then 2 at position 2"),
        ([0, 2**53, 2], ValueError, "QueryGroups: offsets must not fall; got 9007199254740992 then 2"),
        ([1, 2], ValueError, "QueryGroups: offsets must start with 0 and hold a query at least; got [1, 2]"),
        ([0], ValueError, "QueryGroups: offsets must start with 0 and hold a query at least; got [0]"),
        ([], ValueError, "QueryGroups: offsets must start with 0 and hold a query at least; got []"),
        ([0, 1.5], ValueError, "QueryGroups: offsets must be whole numbers up to 2^53; got 1.5 at position 1"),
        ([0, np.nan], ValueError, "QueryGroups: offsets must be whole numbers up to 2^53; got nan at position 1"),
        (0, ValueError, "QueryGroups: offsets must be one-dimensional; got shape ()"),
        ([[0, 1]], ValueError, "QueryGroups: offsets must be one-dimensional; got shape (1, 2)"),
        (["0", "1"], TypeError, "QueryGroups: offsets must be whole numbers; got [0, 1] of dtype <U1"),
        ([[0], [0, 1]], ValueError, "QueryGroups.from_offsets: offsets must be an array; got [[0], [0, 1]]"),
    ],
)
def test_wrong_offsets(offsets, error, text):
    with pytest.raises(error, match="^" + re.escape(text)):
        QueryGroups.from_offsets(offsets)


def test_what_sizes_add_up_to_is_a_number():
    with pytest.raises(TypeError, match=r"^QueryGroups.from_sizes: n_docs must be a whole number; got '5'"):
        QueryGroups.from_sizes([2, 3], "5")


def test_sums_beyond_int64_do_not_wrap_around():
    with pytest.raises(
        ValueError, match=r"^QueryGroups: offsets must be whole numbers up to 2\^53; got 18014398509481984"
    ):
        QueryGroups.from_sizes(np.full(1025, 2**53))


def missing_ids():
    return [
        [1.0, np.nan],
        [1.0, np.inf],
        [1j, complex(0, np.nan)],
        ["a", None],
        np.array(["a", np.nan], dtype=object),
        np.array(["a", np.inf], dtype=object),
        np.array(["a", pd.NA], dtype=object),
        np.array(["a", pd.NaT], dtype=object),
        np.array(["2020", "NaT"], "M8[Y]"),
        np.array([1, "NaT"], "m8[s]"),
        np.array([(1, 0.5), (1, np.nan)], [("shard", "i4"), ("id", "f8")]),
        pd.Series(["a", None]),
        pd.Series(["a", None], dtype="string"),
        pd.Series([1, None], dtype="Int64"),
        pd.Series(["a", None], dtype="category"),
        *(texts_of_any_length(na) for na in (None, np.nan, pd.NA) if hasattr(np.dtypes, "StringDType")),
    ]


def texts_of_any_length(na):
    return np.array(["a", na], dtype=np.dtypes.StringDType(na_object=na))


@pytest.mark.parametrize("ids", [[[1], [1], [2, 3]], [{}, {}, {}], [{1}, {1}, {2}]])
def test_query_ids_that_cannot_be_compared(ids):
    qid, message = pd.Series(ids), f"qid must hold numbers, texts or dates: .*'{type(ids[0]).__name__}'"
    with pytest.raises(TypeError, match=f"^QueryGroups.from_query_ids: {message}"):
        QueryGroups.from_query_ids(qid)
    with pytest.raises(TypeError, match=f"^Metric: {message}"):
        Metric("dcg")([1, 0, 1], [1.0, 2.0, 3.0], qid=qid)


@pytest.mark.parametrize("qid", missing_ids(), ids=lambda qid: f"{type(qid).__name__}-{qid[1]}")
def test_missing_query_ids(qid):
    with pytest.raises(ValueError, match=r"^QueryGroups.from_query_ids: qid must not be missing .* at position 1$"):
        QueryGroups.from_query_ids(qid)


@pytest.mark.parametrize(
    ("qid", "text"),
    [
        ([1, 2, 2, 1], "qid 1 of position 0 comes back at position 3 after another query"),
        (["x", "a", "b", "a"], "qid 'a' of position 1 comes back at position 3 after another query"),
        (pd.Series([0.5, 1, 0.5]), "qid 0.5 of position 0 comes back at position 2 after another query"),
        (np.array([1, "a", 1.0], dtype=object), "qid 1.0 of position 0 comes back at position 2 after another query"),
    ],
)
def test_a_query_that_comes_back_is_named(qid, text):
    whole = f"documents of a query must be adjacent; {text}: sort the rows by qid$"
    with pytest.raises(ValueError, match=f"^QueryGroups.from_query_ids: {whole}"):
        QueryGroups.from_query_ids(qid)
    with pytest.raises(ValueError, match=f"^Metric: {whole}"):
        Metric("dcg")([0] * len(qid), [0] * len(qid), qid=qid)


@pytest.mark.parametrize(("qid", "shape"), [([], "(0,)"), ("abc", "()"), (7, "()"), ([[1], [1]], "(2, 1)")])
def test_query_ids_of_wrong_shape(qid, shape):
    with pytest.raises(ValueError, match=re.escape(f"qid must be one-dimensional and not empty; got shape {shape}")):
        QueryGroups.from_query_ids(qid)


# What a call makes of group= and qid=


def test_group_may_be_sizes_or_groups():
    groups = QueryGroups.from_sizes([2, 1])
    assert resolve_groups("f", 3, group=groups) is groups
    assert resolve_groups("f", 3, group=[2, 1]) == resolve_groups("f", 3, qid=["a", "a", "b"]) == groups


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"group": [2], "qid": [1, 1]}, "give group= .* or qid= .*, not both"),
        (
            {"group": QueryGroups.from_sizes([3])},
            r"group must hold as many documents as there are labels, 2; got Query",
        ),
        ({"qid": [1, 1, 1]}, "qid must have one id per document, 2; got 3"),
        ({"group": []}, "group must not be empty"),
        ({"qid": []}, "qid must be one-dimensional and not empty"),
    ],
)
def test_wrong_groups_in_a_call(given, text):
    with pytest.raises(ValueError, match=f"^SoftMetric: {text}"):
        SoftMetric("dcg")([1, 0], [1, 0], **given)


@pytest.mark.parametrize(
    "method", [Metric("dcg"), Metric("dcg").per_query, SoftMetric("dcg"), SoftMetric("dcg").gradient]
)
def test_without_groups_all_rows_are_one_query_and_the_caller_is_warned(method):
    with pytest.warns(UserWarning, match="neither group= nor qid= was given: all rows are one query") as seen:
        value = method([1, 0], [1, 0])
    assert seen[0].filename == __file__
    np.testing.assert_array_equal(value, method([1, 0], [1, 0], group=[2]))


def test_weights_are_ones_if_not_given():
    groups = QueryGroups.from_sizes([1, 2, 0])
    np.testing.assert_array_equal(query_weights("f", None, groups), [1, 1, 1])
    np.testing.assert_array_equal(query_weights("f", [0, 2, True], groups), [0, 2, 1])


@pytest.mark.parametrize(
    "reduce",
    [lambda g, v: g.sums(v), lambda g, v: g.means(v), lambda g, v: g.largest(v, 0.0), lambda g, v: g.smallest(v, 0.0)],
)
@pytest.mark.parametrize("n", [3, 7])
def test_values_must_be_one_per_document(reduce, n):
    with pytest.raises(ValueError, match=rf"values must be one per document, 5; got shape \({n},\)"):
        reduce(QueryGroups.from_sizes([2, 3]), np.ones(n))


def test_lists_are_read_as_arrays_are():
    groups = QueryGroups.from_sizes([2, 1])
    assert groups.sums([1, 2, 4]).tolist() == [3, 4]
    assert groups.means([1, 2, 4]).tolist() == [1.5, 4]
    assert groups.largest([1, 2, 4], 0.0).tolist() == [2, 4]
    assert groups.smallest([1, 2, 4], 0.0).tolist() == [1, 4]
    assert groups.differ((1, 2, 4)).tolist() == [True, False]
    assert groups.counts([True, True, False]).tolist() == [2, 0]
    assert groups.per_document(["a", "b"]).tolist() == ["a", "a", "b"]


def test_counts_of_long_queries_do_not_wrap_around():
    n = 2**16 + 1  # more than two bytes hold
    assert QueryGroups.from_sizes([n, 1]).counts(np.ones(n + 1, np.bool_)).tolist() == [n, 1]


@pytest.mark.parametrize(
    ("reduce", "error", "message"),
    [
        (lambda g: g.sums([1, 2]), ValueError, r"values must be one per document, 3; got shape \(2,\)"),
        (lambda g: g.means(3.0), ValueError, r"values must be one per document, 3; got shape \(\)"),
        (lambda g: g.differ(["a", "b", "c"]), TypeError, r"values must hold numbers; got dtype <U1"),
        (lambda g: g.counts([1, 0, 1]), TypeError, r"marks must hold booleans; got dtype int64"),
        (lambda g: g.counts([True]), ValueError, r"values must be one per document, 3; got shape \(1,\)"),
        (lambda g: g.per_document([1, 2, 3]), ValueError, r"values must be one per query, 2; got shape \(3,\)"),
        (lambda g: g.per_document(1.0), ValueError, r"values must be one per query, 2; got shape \(\)"),
    ],
)
def test_what_is_no_value_of_each_is_refused(reduce, error, message):
    with pytest.raises(error, match=rf"^QueryGroups: {message}"):
        reduce(QueryGroups.from_sizes([2, 1]))


def test_ids_of_a_list_are_what_they_are():
    """NumPy would make the text 'nan' of what is missing, one id of 1 and "1", and floats of large whole numbers."""
    for read in (QueryGroups.from_query_ids, lambda ids: read_queries("test", len(ids), None, ids).groups):
        with pytest.raises(ValueError, match="must not be missing or infinite"):
            read(["a", "a", float("nan"), "b"])
        assert read([1, 1, "1"]).sizes.tolist() == [2, 1]
        assert read((2**63 + 1, 2**63, 1)).n_queries == 3
        assert read(["a", "b", "b"]).sizes.tolist() == [1, 2]
        assert read([1, 2.5, 2.5]).sizes.tolist() == [1, 2]
        assert read([2**53, 2**53 + 1, 2**53 + 1, 0.5]).sizes.tolist() == [1, 2, 1]


@pytest.mark.parametrize(
    "ids",
    [
        [-(2**53), -(2**53) - 1, 0.5], [2**53, 2**53 + 1, 0.5], [b"1", 1, 2], ["1", 1, 2], ["a", "a\0", "b"],
        [b"a\0", b"a", b"b"], [b"a", "a", "b"],
    ],
)  # fmt: skip
def test_ids_of_a_list_that_numpy_would_make_one_stay_apart(ids):
    assert len(set(np.array(ids).tolist())) == 2
    assert resolve_groups("f", 3, qid=ids).n_queries == 3


def test_texts_of_polars_keep_their_last_nuls():
    pl = pytest.importorskip("polars")
    assert QueryGroups.from_query_ids(pl.Series(["a", "a\0", "a\0"])).sizes.tolist() == [1, 2]
