"""Metrics as they are called: from several threads and processes, with any form of input, which stays as it was."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import numba
import numpy as np
import pandas as pd
import pytest

from boostsoft import Metric, QueryGroups, SoftMetric
from boostsoft.arguments import finite_vector
from boostsoft.kernels import threads
from boostsoft.kernels.noise import LAWS
from boostsoft.metrics.prepared import prepare
from boostsoft.metrics.registry import REGISTRY
from boostsoft.query_groups import resolve_groups

from .cases import EXACT, dyadic_queries, every_metric, metric, on_threads, soft_metric

# Threads, processes


@every_metric
@pytest.mark.parametrize("unit", ["score", "spread"])
def test_the_same_bits_on_any_number_of_threads(name, unit, monkeypatch):
    sizes = np.random.default_rng(1).integers(0, 60, 60)
    labels, scores = dyadic_queries(sizes)
    for noise in LAWS:
        soft = soft_metric(name, 5, noise=noise, sigma=0.5, sigma_unit=unit)
        found = []
        for n in (1, 2, 3):
            on_threads(monkeypatch, n)
            found.append((soft.per_query(labels, scores, group=sizes), soft.gradient(labels, scores, group=sizes)))
        for other in found[1:]:
            np.testing.assert_array_equal(other[0], found[0][0])
            np.testing.assert_array_equal(other[1], found[0][1])


def test_the_same_bits_for_several_callers_at_once(monkeypatch):
    on_threads(monkeypatch, 3)
    monkeypatch.setattr(threads, "_crews", {})  # so that the callers meet over a crew's first use
    sizes = np.random.default_rng(1).integers(1, 60, 30)
    labels, scores = dyadic_queries(sizes)
    calls = [(soft_metric(name, noise=noise, sigma=s), s) for name in EXACT for noise in LAWS for s in (0.1, 1.0)]

    def run(call):
        soft, factor = call
        return soft.value_gradient_hessian(labels, scores * factor, group=sizes)

    with ThreadPoolExecutor(6) as callers:
        at_once = list(callers.map(run, calls))
    assert len(threads._crews) == 1
    for (value, gradient, hessian), call in zip(at_once, calls, strict=True):
        alone = run(call)
        assert value == alone[0]
        np.testing.assert_array_equal(gradient, alone[1])
        np.testing.assert_array_equal(hessian, alone[2])


def test_callers_that_meet_leave_with_the_same_crew(monkeypatch):
    """Everyone is still making a crew when the first one puts his down."""
    meeting, delays = threading.Barrier(3, timeout=60), [0.0, 0.05, 0.1]

    def slow_crew():
        meeting.wait()
        time.sleep(delays.pop())
        return object()

    monkeypatch.setattr(threads, "_crews", {})
    monkeypatch.setattr(threads, "_Crew", slow_crew)
    with ThreadPoolExecutor(3) as callers:
        crews = list(callers.map(lambda _: threads._crew(), range(3)))
    assert crews[0] is crews[1] is crews[2]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_the_same_bits_in_another_process(method, monkeypatch):
    """A forked child inherits a pool whose threads do not run in it."""
    on_threads(monkeypatch, 2)
    sizes = np.random.default_rng(1).integers(1, 60, 30)
    labels, scores = dyadic_queries(sizes)
    soft = SoftMetric("ndcg@5", noise="gumbel", sigma=0.5)
    here = soft.gradient(labels, scores, group=sizes)
    with multiprocessing.get_context(method).Pool(1) as pool:
        there = pool.apply_async(soft.gradient, (labels, scores), {"group": sizes}).get(timeout=120)
        hard = pool.apply_async(soft.hard.per_query, (labels, scores), {"group": sizes}).get(timeout=120)
    np.testing.assert_array_equal(there, here)
    np.testing.assert_array_equal(hard, soft.hard.per_query(labels, scores, group=sizes))


# Forms of input

LABELS, SCORES, SIZES = [1, 0, 1, 0, 0], [0.5, 0.25, -1.0, 2.0, 0.75], [2, 3]


def read_only(values, dtype):
    array = np.array(values, dtype)
    array.setflags(write=False)
    return array


def strided(values, dtype):
    wide = np.full((len(values), 3), 99, dtype)
    wide[:, 1] = values
    return wide[:, 1]


FORMS = {
    "list": (list, list, list),
    "tuple": (tuple, tuple, tuple),
    "float32": (np.float32, np.float32, np.float32),
    "float16": (np.float16, np.float16, np.float16),
    "longdouble": (np.longdouble, np.longdouble, np.longdouble),
    "small integers": (np.uint8, np.float64, np.uint8),
    "bool": (np.bool_, np.float64, np.int64),
    "big endian": (">i4", ">f8", ">i8"),
}


def as_form(values, form):
    return form(values) if form in (list, tuple) else np.array(values, form)


CALLS = {
    **{f"{name}": metric(name) for name in REGISTRY},
    **{f"soft {name}": soft_metric(name) for name in REGISTRY},
    **{f"gradient of {name}": soft_metric(name).gradient for name in REGISTRY},
    "pooled": Metric("auc", pooled=True),
    "soft pooled": SoftMetric("pnr", pooled=True),
    "retrieved": Metric("map", normalizer="retrieved"),
}


GIVEN = {
    **{
        form: tuple(as_form(v, f) for v, f in zip((LABELS, SCORES, SIZES), forms, strict=True))
        for form, forms in FORMS.items()
    },
    "read-only": (read_only(LABELS, int), read_only(SCORES, float), read_only(SIZES, int)),
    "strided": (strided(LABELS, int), strided(SCORES, float), strided(SIZES, int)),
    "reversed": (np.array(LABELS[::-1])[::-1], np.array(SCORES[::-1])[::-1], np.array(SIZES[::-1])[::-1]),
    "pandas": (pd.Series(LABELS, index=[9, 8, 7, 6, 5]), pd.Series(SCORES), pd.Series(SIZES)),
    "nullable": (
        pd.Series(LABELS, dtype="Int8"), pd.Series(SCORES, dtype="Float64"), pd.Series(SIZES, dtype="Int64")
    ),
    "nullable bool": (pd.Series(LABELS, dtype="boolean"), pd.Series(SCORES, dtype="float32"), pd.Index(SIZES)),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_forms_of_input(call):
    call = CALLS[call]
    wanted = call(np.array(LABELS), np.array(SCORES), group=np.array(SIZES))
    for form, given in GIVEN.items():
        labels, scores, sizes = given
        before = [np.array(values) for values in given]
        np.testing.assert_array_equal(call(labels, scores, group=sizes), wanted, err_msg=form)
        for values, copied in zip(given, before, strict=True):
            np.testing.assert_array_equal(np.array(values), copied, err_msg=form)


def test_objects_that_are_numbers():
    """As the array of a frame of mixed columns has them, or a database's decimals."""
    mixed = pd.DataFrame({"y": LABELS, "s": SCORES, "title": "a"}).to_numpy()
    sizes = np.array(SIZES, dtype=object)
    assert mixed.dtype == sizes.dtype == object
    expected = Metric("ndcg")(LABELS, SCORES, group=SIZES)
    assert Metric("ndcg")(mixed[:, 0], mixed[:, 1], group=sizes) == expected
    assert Metric("ndcg")([Decimal(label) for label in LABELS], SCORES, group=SIZES) == expected
    with pytest.raises(TypeError, match=r"^Metric: group must be .*generator"):
        Metric("ndcg")(LABELS, SCORES, group=(size for size in SIZES))


class Boxed(pd.Series):
    """A column as NumPy reads it from pandas before 2.2, if its type may lack values."""

    def __array__(self, dtype=None, copy=None):
        return np.array(list(self), dtype=object)


class Counted:
    """Labels that count how often they are made an array, which is half of what a call on lists takes."""

    times = 0

    def __array__(self, dtype=None, copy=None):
        self.times += 1
        return np.array(LABELS, dtype=float)


def test_labels_are_read_once():
    hard, soft = Metric("ndcg"), SoftMetric("ndcg")
    for call in (hard, hard.per_query, soft, soft.per_query, soft.gradient, soft.value_gradient_hessian):
        labels = Counted()
        call(labels, SCORES, group=SIZES)
        assert labels.times == 1


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean"])
def test_nullable_columns_of_earlier_pandas(dtype):
    labels = Boxed(LABELS, dtype=dtype)
    assert np.asarray(labels).dtype == object
    given = (labels, Boxed(SCORES, dtype="Float64"))
    expected = Metric("ndcg")(np.array(labels.astype(float), dtype=float), SCORES, group=SIZES)
    assert Metric("ndcg")(*given, group=Boxed(SIZES, dtype="Int64")) == expected
    ids = Boxed([2**60, 2**60, 2**60 + 1, 2**60 + 1, 2**60 + 2], dtype="Int64")
    assert resolve_groups("f", 5, qid=ids).n_queries == 3
    with pytest.raises(ValueError, match="y_true must be finite; got nan at position 1"):
        Metric("ndcg")(Boxed([1, None, 0], dtype=dtype), [0.1, 0.2, 0.3], group=[3])


def test_every_form_of_input_is_of_one_type_to_the_kernels():
    """To Numba a read-only array, which pandas gives, is of another type; and the kernels rely on alignment."""
    unaligned = np.frombuffer(bytearray(b"x" + np.array(SCORES).tobytes()), np.uint8)[1:].view(np.float64)
    assert not unaligned.flags.aligned
    forms = [read_only(SCORES, float), strided(SCORES, float), pd.Series(SCORES), unaligned, np.array(SCORES, ">f4")]
    assert {numba.typeof(finite_vector("f", "x", form)) for form in forms} == {numba.float64[::1]}
    assert all(finite_vector("f", "x", form).flags.aligned for form in forms)
    groups = QueryGroups.from_sizes(SIZES)
    copies = [groups, copy.deepcopy(groups), pickle.loads(pickle.dumps(groups)), QueryGroups.from_query_ids([1] * 5)]
    assert len({numba.typeof(each.offsets) for each in copies}) == 1
    ndcgs = ({"gain": "linear"}, {"gain": [0, 1]}, {"gain": np.sqrt, "discount": np.reciprocal}, {"k": [1, 2]})
    functions = ({"p_rel": lambda y: y > 0}, {"p_rel": lambda y: list(y / 2)}, {"p_rel": [0, 1]}, {"p_rel": "label"})
    metrics = [metric(name) for name in REGISTRY] + [Metric("auc", pooled=True), Metric("map", normalizer="retrieved")]
    metrics += [Metric("ndcg", **options) for options in ndcgs] + [Metric("err", **options) for options in functions]
    for each in metrics:
        prepared = prepare(each, "test", read_only(LABELS, float), groups).weigh(np.ones(2))
        floats = (prepared.gains, prepared.discount, prepared.weights, prepared.divisor, prepared.offset)
        assert {numba.typeof(array) for array in floats} == {numba.float64[::1]}
        assert numba.typeof(prepared.cutoffs) == numba.int64[::1]


def test_a_plain_vector_is_not_copied():
    plain = np.array(SCORES)
    assert finite_vector("f", "x", plain) is plain


def test_integer_scores_and_polars():
    soft = SoftMetric("ndcg")
    wanted = soft([1.0, 0.0, 2.0], [3.0, 5.0, 4.0], group=[3])
    assert soft([1, 0, 2], [3, 5, 4], group=[3]) == wanted
    assert soft([1, 0, 2], np.array([3, 5, 4], np.uint8), group=[3]) == wanted
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"label": [1, 0, 2], "score": [3.0, 5.0, 4.0], "query": ["a", "a", "a"]})
    assert soft(frame["label"], frame["score"], qid=frame["query"]) == wanted


@pytest.mark.parametrize("unit", ["score", "spread"])
def test_inputs_are_never_modified(unit):
    labels, scores = dyadic_queries([5, 4, 0, 6])
    labels = labels.astype(float)
    arrays = labels, scores, np.array([5, 4, 0, 6]), np.array([1.0, 2.0, 3.0, 4.0])
    before = [array.copy() for array in arrays]
    softs = [soft_metric(name, noise=noise, sigma_unit=unit) for name in REGISTRY for noise in LAWS]
    softs += [SoftMetric("dcg", gain="linear", noise=noise, sigma_unit=unit) for noise in LAWS]
    for soft in softs:
        for method in (soft, soft.per_query, soft.gradient, soft.hard):
            method(labels, scores, group=arrays[2], query_weight=arrays[3])
    for soft in (SoftMetric(name, sigma_unit=unit, pooled=True) for name in ("auc", "pnr")):
        for method in (soft, soft.gradient, soft.hard):
            method(labels, scores, group=arrays[2], query_weight=arrays[3])
    for array, copied in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copied)
        assert array.flags.writeable


def test_a_function_that_writes_to_its_argument_leaves_the_labels_alone():
    def doubled(labels):
        labels *= 2.0
        return labels

    labels = np.array([1.0, 0.0])
    assert Metric("dcg", gain=doubled)(labels, [2.0, 1.0], group=[2]) == 2.0
    np.testing.assert_array_equal(labels, [1.0, 0.0])


def test_what_is_returned_belongs_to_the_caller():
    labels, scores = np.array([1.0, 0.0]), np.array([0.5, 0.5])
    soft = SoftMetric("dcg", gain="linear")
    first = soft.gradient(labels, scores, group=[2])
    kept = first.copy()
    first[:] = 0
    np.testing.assert_array_equal(soft.gradient(labels, scores, group=[2]), kept)
    assert not np.shares_memory(soft.gradient(labels, scores, group=[2]), scores)


def test_values_per_query_are_not_weighed():
    y, scores, sizes = np.array([1, 0, 0, 1, 2, 0]), np.arange(6.0), [3, 3]
    for measure in (Metric("ndcg"), SoftMetric("ndcg")):
        weighed = measure.per_query(y, scores, group=sizes, query_weight=[1.0, 3.0])
        assert np.array_equal(weighed, measure.per_query(y, scores, group=sizes))
