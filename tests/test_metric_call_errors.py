"""What calls of metrics refuse: the message begins with the method that was called, and nothing has changed."""

from __future__ import annotations

import _thread
import operator
import threading

import numpy as np
import pytest
import scipy.sparse

from boostsoft import Metric, QueryGroups, SoftMetric
from boostsoft.metrics.registry import REGISTRY

from .cases import every_metric, refused

CALLS = {
    "Metric": Metric("ndcg@2"),
    "Metric.per_query": Metric("ndcg@2").per_query,
    "SoftMetric": SoftMetric("ndcg@2"),
    "SoftMetric.per_query": SoftMetric("ndcg@2").per_query,
    "SoftMetric.gradient": SoftMetric("ndcg@2").gradient,
    "SoftMetric.value_gradient_hessian": SoftMetric("ndcg@2").value_gradient_hessian,
}
every_call = pytest.mark.parametrize("caller", CALLS)


class Foreign:
    """Another library's array, which hands out NumPy's or raises an error of its own."""

    def __init__(self, found):
        self.found = found

    def __array__(self, dtype=None, copy=None):
        if isinstance(self.found, Exception):
            raise self.found
        return self.found

    def __repr__(self):
        return "Foreign"


WRONG_VECTORS = [
    ([1.0, np.nan, 0.0], ValueError, "must be finite; got nan at position 1"),
    ([1.0, 0.0, -np.inf], ValueError, "must be finite; got -inf at position 2"),
    (np.array([0, 1, 0], np.longdouble) * np.longdouble("1e4000"), ValueError, "must be finite; got "),
    ([[1.0, 0.0, 0.0]], ValueError, "must be one-dimensional; got shape (1, 3)"),
    (1.0, ValueError, "must be one-dimensional; got shape ()"),
    ([[1.0], [1.0, 0.0]], ValueError, "must be an array; got [[1.0], [1.0, 0.0]]"),
    (np.ma.masked_array([1.0, 0.0, 0.0], [0, 0, 1]), ValueError, "must not have masked entries; got masked_array("),
    (Foreign(np.ma.masked_array([1.0, 0.0, 0.0], [0, 0, 1])), ValueError, "must not have masked entries; got masked"),
    (Foreign(RuntimeError("call detach()")), ValueError, "must be an array; got Foreign: call detach()"),
    (["1", "0", "0"], TypeError, "must hold numbers; got dtype <U1"),
    (np.array(["1", 0, 0], dtype=object), TypeError, "must hold numbers; got dtype object"),
    (np.array([1, None, 0], dtype=object), TypeError, "must hold numbers; got dtype object, None at position 1"),
    (
        np.array([1.0, np.timedelta64(2, "s"), 0], object),
        TypeError,
        "must hold numbers; got dtype object, ",
    ),
    (np.array([10**400, 1, 0], dtype=object), TypeError, "must hold numbers; got dtype object"),
    (np.array([1, np.nan, 0], dtype=object), ValueError, "must be finite; got nan at position 1"),
    ({1, 0, 2}, TypeError, "must be an array; got {0, 1, 2}, of which list() makes one"),
    (np.array([1, 0, 0], dtype=complex), TypeError, "must hold numbers; got dtype complex128"),
    (np.array([1, 0, 0], dtype="M8[s]"), TypeError, "must hold numbers; got dtype datetime64[s]"),
    (np.array([1, 0, 0], dtype="m8[s]"), TypeError, "must hold numbers; got dtype timedelta64[s]"),
    (None, TypeError, "must hold numbers; got dtype object"),
]


@every_call
@pytest.mark.parametrize(("values", "error", "text"), WRONG_VECTORS)
def test_wrong_labels_and_scores(caller, values, error, text):
    refused(error, f"{caller}: y_true {text}", CALLS[caller], values, [0.5, 0.2, 0.1], group=[3])
    refused(error, f"{caller}: y_score {text}", CALLS[caller], [1, 0, 0], values, group=[3])


def test_a_sparse_vector_must_be_made_an_array():
    y = scipy.sparse.csr_matrix([1.0, 0.0])
    with pytest.raises(TypeError, match=r"(?s)y_true must be an array; got .*, of which toarray\(\) makes one"):
        Metric("ndcg")(y, [0.5, 0.2])


def test_a_lazy_frame_must_be_collected():
    pl = pytest.importorskip("polars")
    lazy = pl.DataFrame({"y": [0, 1]}).lazy()
    with pytest.raises(TypeError, match=r"y_score must be .* got a LazyFrame, which .collect\(\) makes one"):
        Metric("ndcg")([0, 1], lazy)


@every_call
def test_lengths_that_disagree(caller):
    call = CALLS[caller]
    refused(ValueError, f"{caller}: y_true must not be empty", call, [], [], group=[0])
    refused(ValueError, f"{caller}: y_score must have one value per document, 3; got 2", call, [1, 0, 0], [1, 0])
    refused(ValueError, f"{caller}: y_score must have one value per document, 1; got 2", call, [1], [1, 0])
    text = "group must add up to the number of documents, 3; got 2 sizes that add up to 4"
    refused(ValueError, f"{caller}: {text}", call, [1, 0, 0], [1, 2, 3], group=[2, 2])
    text = "group must hold as many documents as there are labels, 3; got QueryGroups(1 queries, 4 documents)"
    refused(ValueError, f"{caller}: {text}", call, [1, 0, 0], [1, 2, 3], group=QueryGroups.from_sizes([4]))
    refused(
        ValueError, f"{caller}: qid must have one id per document, 3; got 2", call, [1, 0, 0], [1, 2, 3], qid=[1, 1]
    )


@every_call
def test_sizes_and_ids_in_each_others_place(caller):
    call = CALLS[caller]
    for given, end in ({"group": [7, 7, 9]}, "One id per document is qid="), ({"qid": [1, 2]}, "per query are group="):
        with pytest.raises(ValueError, match=f"{end}$"):
            call([1, 0, 0], [1, 2, 3], **given)


@every_call
@pytest.mark.parametrize(
    ("weights", "error", "text"),
    [
        ([1.0, -1.0], ValueError, "must not be negative; got -1.0 at position 1"),
        ([0.0, 0.0], ValueError, "must not be 0 for every query"),
        ([1.0], ValueError, "must have one value per query, 2; got 1"),
        ([1.0, 1.0, 1.0], ValueError, "must have one value per query, 2; got 3"),
        ([np.nan, 1.0], ValueError, "must be finite; got nan at position 0"),
        (2.0, ValueError, "must be one-dimensional; got shape ()"),
        (["1", "1"], TypeError, "must hold numbers; got dtype <U1"),
    ],
)
def test_wrong_weights(caller, weights, error, text):
    call = CALLS[caller]
    refused(error, f"{caller}: query_weight {text}", call, [1, 0, 0], [1, 2, 3], group=[1, 2], query_weight=weights)


@pytest.mark.parametrize(
    ("options", "labels"),
    [({"discount": [1.0, -1e10, 0.0]}, [0, 1e295, 0]), ({}, [-1e301, -2, -1]), ({}, [9e299, -9e299, 0])],
)
def test_sums_that_are_too_large_whatever_their_signs(options, labels):
    text = "Metric: the gains of a query, times the largest discount, must add up to at most 1e+300; got"
    refused(ValueError, text, Metric("dcg", gain="linear", **options), labels, [1, 2, 3], group=[3])


def call_of(caller, *args, **options):
    """The method of this name on another metric."""
    metric = {"Metric": Metric, "SoftMetric": SoftMetric}[caller.split(".")[0]](*args, **options)
    return operator.attrgetter(caller.split(".")[1])(metric) if "." in caller else metric


@every_call
@pytest.mark.parametrize(
    ("options", "labels", "text"),
    [
        ({}, [0, 1100, 0], "gain 'exp2' must be finite; label 1100.0 at position 1 gives inf"),
        (
            {},
            [1023, 1023, 0],
            "the gains of a query, times the largest discount, must add up to at most 1e+300; got inf",
        ),
        (
            {"gain": "linear"},
            [0, 1e-305, 0],
            "the gains of a query's best order, times their discounts, must add up to 0 or to at least 1e-300; got "
            "1e-305 for query 0",
        ),
        ({"gain": "linear"}, [0, 1e301, 0], "the gains of a query, times the largest discount, must add up to at most"),
        ({}, [0, -1, 1], "ndcg needs gains of at least 0; got -0.5 for label -1.0"),
        ({"gain": "linear"}, [0, 1, -2], "ndcg needs gains of at least 0; got -2.0 for label -2.0"),
        ({"gain": [0, -1]}, [0, 1, 0], "ndcg needs gains of at least 0; got -1.0 for label 1.0"),
        (
            {"gain": [0, 1]},
            [0, 2, 1],
            "with a gain table of 2 entries labels must be whole numbers from 0 to 1; got 2.0 at position 1",
        ),
        (
            {"gain": [0, 1]},
            [0, 0, -1],
            "with a gain table of 2 entries labels must be whole numbers from 0 to 1; got -1.0 at position 2",
        ),
        (
            {"gain": [0, 1]},
            [0, 0.5, 1],
            "with a gain table of 2 entries labels must be whole numbers from 0 to 1; got 0.5 at position 1",
        ),
        (
            {"gain": lambda y: y[:1]},
            [0, 1, 2],
            "gain must return one number per label, shape (3,); got dtype float64, sh",
        ),
        (
            {"gain": lambda y: 5.0},
            [0, 1, 2],
            "gain must return one number per label, shape (3,); got dtype float64, sh",
        ),
        (
            {"gain": lambda y: None},
            [0, 1, 2],
            "gain must return one number per label, shape (3,); got dtype object, sh",
        ),
        ({"gain": lambda y: y * 1j}, [0, 1, 2], "gain must return one number per label, shape (3,); got dtype complex"),
        ({"gain": lambda y: ["a"] * 3}, [0, 1, 2], "gain must return one number per label, shape (3,); got dtype <U1"),
        ({"gain": lambda y: y * np.nan}, [0, 1, 2], "gain <function <lambda> at "),
        ({"discount": [1, 0.5]}, [0, 1, 2], "discount must reach to rank 3; got a table of 2 ranks"),
        (
            {"discount": lambda r: r[:1]},
            [0, 1, 2],
            "discount must return one number per rank, shape (3,); got dtype fl",
        ),
        ({"discount": lambda r: 1 / (3 - r)}, [0, 1, 2], "discount must be finite; rank 3 gives inf"),
        (
            {"gain": lambda y: 1.0 if y > 1 else 0.0},
            [0, 1, 2],
            "gain must be a function of the array of labels (numpy.vectorize makes one of a function of one label)",
        ),
        ({"k": [1, 2]}, [0, 1, 2], "k must have one cutoff per query, 1; got 2"),
    ],
)
def test_labels_that_do_not_suit_the_options(caller, options, labels, text):
    with np.errstate(divide="ignore"):
        refused(ValueError, f"{caller}: {text}", call_of(caller, "ndcg", **options), labels, [1, 2, 3], group=[3])


@every_call
@pytest.mark.parametrize("name", [name for name, entry in REGISTRY.items() if entry.gains == "probability"])
@pytest.mark.parametrize(
    ("options", "labels", "text"),
    [
        ({"p_rel": "exp2"}, [0, 1, 5], "label 5.0 at position 2 gives 1.9375 with max_label=4.0, p_rel='exp2'"),
        ({"p_rel": "exp2"}, [0, -1, 5], "label -1.0 at position 1 gives -0.03125 with max_label=4.0, p_rel='exp2'"),
        ({"p_rel": "label"}, [0, 2, 3], "label 2.0 at position 1 gives 2.0 with p_rel='label'"),
        ({"p_rel": "label"}, [0.5, 1, -1e-9], "label -1e-09 at position 2 gives -1e-09 with p_rel='label'"),
        ({"p_rel": [0, 1.5]}, [0, 0, 1], "label 1.0 at position 2 gives 1.5 with p_rel=(0.0, 1.5)"),
        ({"p_rel": lambda y: -y}, [1, 0, 0], "label 1.0 at position 0 gives -1.0 with p_rel=<function <lambda> at "),
    ],
    ids=["exp2 high", "exp2 low", "label high", "label low", "table", "function"],
)
def test_labels_that_give_no_probability(caller, name, options, labels, text):
    text = f"{caller}: {name} needs probabilities from 0 to 1; {text}"
    refused(ValueError, text, call_of(caller, name, **options), labels, [1, 2, 3], group=[3])


@every_call
@pytest.mark.parametrize(
    ("p_rel", "labels", "text"),
    [
        ("exp2", [0, 2000, 1], "p_rel 'exp2' must be finite; label 2000.0 at position 1 gives inf"),
        (
            [0, 1],
            [0, 1, 2],
            "with a p_rel table of 2 entries labels must be whole numbers from 0 to 1; got 2.0 at position 2",
        ),
        (
            [0, 1],
            [0, 0.5, 1],
            "with a p_rel table of 2 entries labels must be whole numbers from 0 to 1; got 0.5 at position 1",
        ),
        (
            lambda y: y[:2],
            [0, 1, 1],
            "p_rel must return one number per label, shape (3,); got dtype float64, shape (2,)",
        ),
        (lambda y: y * np.nan, [0, 1, 1], "p_rel <function <lambda> at "),
    ],
    ids=["overflow", "short table", "no index", "short", "nan"],
)
def test_labels_that_do_not_suit_p_rel(caller, p_rel, labels, text):
    refused(ValueError, f"{caller}: {text}", call_of(caller, "pfound", p_rel=p_rel), labels, [1, 2, 3], group=[3])


@every_metric
def test_every_metric_refuses_what_is_not_finite(name):
    sampled = SoftMetric(name, ranks="sampled")
    calls = {"Metric": Metric(name), "SoftMetric": sampled, "SoftMetric.gradient": sampled.gradient}
    for caller, call in calls.items():
        refused(ValueError, f"{caller}: y_true must be finite; got nan", call, [1, np.nan], [1, 2], group=[2])
        refused(ValueError, f"{caller}: y_score must be finite; got inf", call, [1, 0], [np.inf, 2], group=[2])


def test_the_exact_hessian_is_refused_in_units_of_the_spread():
    text = "SoftMetric.value_gradient_hessian: the exact diagonal Hessian is offered for sigma_unit='score' only"
    soft = SoftMetric("ndcg", sigma_unit="spread")
    refused(ValueError, text, soft.value_gradient_hessian, [1, 0], [0.1, 0.2], group=[2])


@every_call
def test_data_of_a_booster_is_no_scores(caller):
    lgb, xgb = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    X = np.arange(3.0)[:, None]
    for data, library, adapter in ((lgb.Dataset(X), "lightgbm", "feval"), (xgb.DMatrix(X), "xgboost", "custom_metric")):
        words = f"{caller}: y_score must hold scores; got {type(data).__name__}. Give the booster "
        words += f"boostsoft.{library}.{adapter}(metric) to watch it, boostsoft.{library}.objective('ndcg@10') to train"
        refused(TypeError, words, CALLS[caller], [0, 1, 2], data, group=[3])


@every_call
def test_a_refused_call_changes_nothing(caller):
    labels, scores, sizes = np.array([0.0, 1.0, 2000.0]), np.array([0.3, 0.2, 0.1]), np.array([1, 2])
    call, before = CALLS[caller], [a.copy() for a in (labels, scores, sizes)]
    value = call([0, 1, 2], scores, group=sizes)
    refused(ValueError, f"{caller}: gain", call, labels, scores, group=sizes)
    for array, copied in zip((labels, scores, sizes), before, strict=True):
        np.testing.assert_array_equal(array, copied)
        assert array.flags.writeable
    np.testing.assert_equal(call([0, 1, 2], scores, group=sizes), value)


@pytest.mark.parametrize("metric", [Metric("ndcg@5"), SoftMetric("ndcg@5")])
@pytest.mark.filterwarnings("ignore:.*all rows are one query")
def test_a_metric_may_be_called_where_no_line_of_python_is_beneath_it(metric):
    read = threading.Event()

    class Labels:
        def __array__(self, dtype=None, copy=None):
            read.set()
            return np.array([1.0, 0.0])

    _thread.start_new_thread(metric, (Labels(), np.array([0.5, 0.25])))
    assert read.wait(20)
