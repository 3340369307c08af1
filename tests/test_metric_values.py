"""Metrics as values: what they are made from, what their text says, and what they refuse."""

from __future__ import annotations

import copy
import dataclasses
import functools
import operator
import pickle
import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from boostsoft import Metric, QueryGroups, SoftMetric
from boostsoft.kernels.expected import ACCURACY
from boostsoft.kernels.hard import TIES
from boostsoft.kernels.noise import LAWS
from boostsoft.metrics.registry import REGISTRY
from boostsoft.metrics.soft import RANKS, SIGMA_UNITS
from boostsoft.metrics.spec import DISCOUNTS, EMPTY, GAINS

# Values of every option, the default first: a metric with a new option is tested once it has its line here.
OPTIONS = {
    "gain": ["exp2", "linear", (0.0, 1.0, 1 / 3), (0.0, 1e-300, -2.5), (7.0,)],
    "discount": ["log2", "reciprocal", (1.0, 1 / 3), (1.0, 0.5, 0.0)],
    "relevant_from": [1.0, 2.0, 0.1 + 0.2, -1e300],
    "p": [0.8, 1 / 3, 5e-324],
    "ties": list(TIES),
    "empty": list(EMPTY),
}
COMMON = {"k": [None, 1, 10, (3, 1, 2), (5,)], "name": [None, "mine", "it's\\\"§"]}
SOFT = {
    "noise": ["gaussian", "gumbel", "logistic"],
    "sigma": [1.0, 0.1, 5e-324, 1e308],
    "sigma_unit": list(SIGMA_UNITS),
    "ranks": list(RANKS),
    "accuracy": list(ACCURACY),
    "name": COMMON["name"],
}


def variants(name):
    """The metric with its defaults, then with each other value of each of its options, then with all of them."""
    choices = {option: OPTIONS[option] for option in REGISTRY[name].options} | COMMON
    singles = [{option: value} for option, values in choices.items() for value in values[1:]]
    return [Metric(name, **options) for options in ({}, *singles, {o: v[-1] for o, v in choices.items()})]


def soft_variants(name):
    singles = [{option: value} for option, values in SOFT.items() for value in values[1:]]
    plain = [SoftMetric(name, **options) for options in ({}, *singles)]
    return plain + [SoftMetric(metric, noise="gumbel", sigma=0.3) for metric in variants(name)[1:]]


every_metric = pytest.mark.parametrize("name", REGISTRY)


def test_the_lists_above_are_complete():
    assert set(SOFT["noise"]) == set(LAWS)
    assert {value for value in OPTIONS["gain"] if isinstance(value, str)} == set(GAINS)
    assert {value for value in OPTIONS["discount"] if isinstance(value, str)} == set(DISCOUNTS)
    assert {option for entry in REGISTRY.values() for option in entry.options} == set(OPTIONS)


# Text


@every_metric
def test_repr_parses_back(name):
    for metric in variants(name):
        assert Metric.parse(repr(metric)) == metric
        assert eval(repr(metric), {"Metric": Metric}) == metric


@every_metric
def test_repr_of_a_soft_metric_parses_back(name):
    for soft in soft_variants(name):
        assert SoftMetric.parse(repr(soft)) == soft
        assert eval(repr(soft), {"Metric": Metric, "SoftMetric": SoftMetric}) == soft


@every_metric
def test_repr_states_every_option_that_means_something_and_no_other(name):
    stated = re.findall(r"(\w+)=", repr(Metric(f"{name}@5")))
    assert stated == list(REGISTRY[name].options)
    assert repr(Metric(f"{name}@5")).startswith(f"Metric('{name}@5', ")


def test_repr_by_example():
    assert repr(Metric("ndcg@3")) == "Metric('ndcg@3', gain='exp2', discount='log2', ties='expected', empty='zero')"
    assert repr(Metric("rbp", p=0.5, k=[2, 3], name="x")) == (
        "Metric('rbp', relevant_from=1.0, p=0.5, ties='expected', empty='zero', k=(2, 3), name='x')"
    )
    assert repr(SoftMetric("cg@1", noise="gumbel", sigma=2)) == (
        "SoftMetric(Metric('cg@1', gain='exp2', ties='expected', empty='zero'), noise='gumbel', sigma=2.0, "
        "sigma_unit='score', ranks='exact', accuracy='default')"
    )


def test_repr_of_a_function_is_its_name():
    assert "gain=numpy.sqrt," in repr(Metric("dcg", gain=np.sqrt))
    assert "gain=functools.partial(" in repr(Metric("dcg", gain=functools.partial(np.power, 2)))
    with pytest.raises(ValueError, match=r"^Metric\.parse: cannot read .*: numpy\.sqrt is no plain value$"):
        Metric.parse(repr(Metric("dcg", gain=np.sqrt)))


ran = []


@pytest.mark.parametrize(
    "text",
    [
        "Metric(ran.append(1))",
        "ran.append(1)",
        "Metric('ndcg', gain=ran.append(1))",
        "Metric('ndcg', gain=(lambda: ran.append(1))())",
        "Metric('ndcg', gain=[ran.append(1) for _ in range(1)])",
        "Metric(f'{ran.append(1)}ndcg')",
        "__import__('os').getcwd()",
        "Metric.parse('ndcg')",
        "bs.Metric('ndcg')",
        "Metric",
        "'ndcg@10'",
        "ndcg@10",
        "[Metric('ndcg')]",
        "Metric('n' + 'dcg')",
        "Metric('ndcg') or ran.append(1)",
        "Metric('ndcg'); ran.append(1)",
        "Metric('ndcg')\nran.append(1)",
        "Metric('ndcg', **{'k': 3})",
        "Metric('ndcg', k=1, k=2)",
        "Metric(*['ndcg'])",
        "Metric(Metric('ndcg'))",
        "Metric('ndcg', 10)",
        "Metric()",
        "Metric('nope')",
        "Metric('ndcg', p=0.5)",
        "Metric('ndcg@3'",
        "Metric('ndcg', gain={[]})",
        "",
        "\0",
        "(" * 300,
        "Metric(" * 3000,
    ],
    ids=lambda text: text[:40].replace("\0", "NUL"),
)
@pytest.mark.parametrize("parse", [Metric.parse, SoftMetric.parse])
def test_parse_refuses_what_is_not_a_repr(parse, text):
    with pytest.raises(ValueError, match=r"^(Soft)?Metric\.parse: "):
        parse(text)
    assert ran == []


def test_parse_refuses_the_other_kind_and_what_is_no_text():
    with pytest.raises(ValueError, match=r"SoftMetric.parse: .* is not the repr of a SoftMetric"):
        SoftMetric.parse(repr(Metric("ndcg")))
    with pytest.raises(ValueError, match=r"Metric.parse: cannot read"):
        Metric.parse(repr(SoftMetric("ndcg")))
    for parse in (Metric.parse, SoftMetric.parse):
        with pytest.raises(TypeError, match=r"Metric.parse: text must be a string; got 3"):
            parse(3)


# Identity


@every_metric
@pytest.mark.parametrize("family", [variants, soft_variants])
def test_different_options_make_different_metrics(name, family):
    metrics = family(name)
    assert len(set(metrics)) == len(metrics)
    assert not any(a == b for a, b in combinations(metrics, 2))
    assert len({repr(metric) for metric in metrics}) == len(metrics)


@every_metric
@pytest.mark.parametrize("family", [variants, soft_variants])
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_equal(name, family, again):
    for metric in family(name):
        copied = again(metric)
        assert copied == metric
        assert hash(copied) == hash(metric)
        assert repr(copied) == repr(metric)


@every_metric
def test_a_metric_is_neither_its_soft_one_nor_its_text(name):
    assert Metric(name) != SoftMetric(name)
    assert Metric(name) != name
    assert all(Metric(name) != Metric(other) for other in REGISTRY if other != name)


@pytest.mark.parametrize("option", ["gain", "discount"])
@pytest.mark.parametrize(
    "table",
    [
        [0, 1, 3],
        (0, 1.0, 3),
        np.array([0, 1, 3]),
        np.array([0, 1, 3], np.float32),
        np.array([3.0, 1, 0])[::-1],
        pd.Series([0, 1, 3]),
    ],
)
def test_tables_compare_by_value(option, table):
    one, other = Metric("ndcg", **{option: table}), Metric("ndcg", **{option: (0.0, 1.0, 3.0)})
    assert one == other
    assert hash(one) == hash(other)
    assert repr(one) == repr(other)


def test_tables_are_copied():
    table = np.array([0.0, 1.0, 3.0])
    metric = Metric("dcg", gain=table)
    table[1] = 9
    assert metric == Metric("dcg", gain=[0, 1, 3])
    assert Metric("dcg", gain=[0.0, 1 / 3, 5e-324]).gain == (0.0, 1 / 3, 5e-324)


@pytest.mark.parametrize("k", [10, np.int64(10), np.uint8(10), np.array(10)])
@every_metric
def test_k_is_the_number_behind_the_at_sign(name, k):
    assert Metric(name, k=k) == Metric(f"{name}@10") == Metric(f" {name}@010 ")
    assert Metric(name, k=k).spec == f"{name}@10"
    assert SoftMetric(name, k=k) == SoftMetric(f"{name}@10") == SoftMetric(Metric(name, k=k))
    assert Metric(name, k=k) != Metric(name, k=[10])


@pytest.mark.parametrize("k", [[3, 1], (3, 1), np.array([3, 1], np.uint8), pd.Series([3, 1])])
def test_cutoffs_per_query_compare_by_value(k):
    metric = Metric("ndcg", k=k)
    assert metric == Metric("ndcg", k=[3, 1])
    assert hash(metric) == hash(Metric("ndcg", k=(3, 1)))
    assert metric != Metric("ndcg", k=[1, 3])
    assert metric.spec == "ndcg"


def test_functions_compare_by_identity():
    assert Metric("dcg", gain=np.sqrt) == Metric("dcg", gain=np.sqrt)
    assert hash(Metric("dcg", gain=np.sqrt)) == hash(Metric("dcg", gain=np.sqrt))
    assert Metric("dcg", gain=np.sqrt) != Metric("dcg", gain=np.log1p)


@pytest.mark.parametrize("metric", [Metric("ndcg"), SoftMetric("ndcg")])
def test_frozen(metric):
    for field in dataclasses.fields(metric):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(metric, field.name, None)


# Names and other facts


@every_metric
def test_names(name):
    assert Metric(name).name == Metric(name).spec == name
    assert Metric(f"{name}@10").name == Metric(f"{name}@10").spec == f"{name}@10"
    assert Metric(name, k=[1, 2]).name == name
    assert Metric(name, name="mine").name == "mine"
    assert Metric(name, name="mine").spec == name
    for noise in LAWS:
        assert SoftMetric(f"{name}@10", noise=noise).name == f"{name}_{noise}@10"
        assert SoftMetric(name, noise=noise).name == SoftMetric(name, k=[1], noise=noise).name == f"{name}_{noise}"
        assert SoftMetric(f"{name}@10", noise=noise, name="mine").name == "mine"
        assert not re.search(r"[\s:]", SoftMetric(f"{name}@10", noise=noise).name)


@every_metric
def test_the_hard_twin(name):
    metric = Metric(f"{name}@3", ties="worst", empty="skip")
    assert metric.hard is metric
    assert SoftMetric(metric, sigma=3.0).hard is metric
    assert SoftMetric(f"{name}@3", ties="worst", empty="skip").hard == metric
    assert metric.higher_is_better
    assert SoftMetric(metric).higher_is_better


@every_metric
def test_defaults_are_the_documented_ones(name):
    documented = {
        "gain": "exp2", "discount": "log2", "relevant_from": 1, "p": 0.8, "ties": "expected", "empty": "zero",
    }  # fmt: skip
    options = {option: documented[option] for option in REGISTRY[name].options}
    assert Metric(name) == Metric(name, **options)
    assert Metric(name).options == options
    assert SoftMetric(name) == SoftMetric(name, noise="gaussian", sigma=1, sigma_unit="score", ranks="exact")


@pytest.mark.parametrize("field", ["summary", "source", "family", "gains", "discount", "divisor"])
@every_metric
def test_registry_entries_are_filled_in(name, field):
    assert getattr(REGISTRY[name], field) not in ("", None)


# What the constructors refuse


def refused(error, text, build, *args, **kwargs):
    with pytest.raises(error, match="^" + re.escape(text)):
        build(*args, **kwargs)


@pytest.mark.parametrize("build", [Metric, SoftMetric])
@pytest.mark.parametrize("spec", ["ndgc", "", "@10", "NDCG@10", "ndcg10", "10", "ndcg @10", "ndcg,dcg", "nd\ncg"])
def test_unknown_metrics_are_told_the_known(build, spec):
    known = ", ".join(REGISTRY)
    refused(ValueError, f"Metric: unknown metric {spec!r}; known are {known}, each with or without @k", build, spec)


@pytest.mark.parametrize("build", [Metric, SoftMetric])
@pytest.mark.parametrize(
    "cutoff", ["", "0", "00", "x", "-1", "1.5", "1e1", "1_0", " 10", "1 0", "@1", "٣", "9007199254740993", "9" * 100]
)
def test_wrong_cutoffs_in_a_spec(build, cutoff):
    text = f"Metric: the cutoff behind @ must be a whole number from 1 to 2^53; got 'ndcg@{cutoff}'"
    refused(ValueError, text, build, f"ndcg@{cutoff}")


@pytest.mark.parametrize(
    ("k", "error", "text"),
    [
        (0, ValueError, "k must be from 1 to 2^53; got 0"),
        (-3, ValueError, "k must be from 1 to 2^53; got -3"),
        ([1, 0, -2], ValueError, "k must be from 1 to 2^53; got -2"),
        (2**53 + 1, ValueError, "k must be from 1 to 2^53; got 9007199254740993"),
        (np.uint64(2**64 - 1), ValueError, "k must be from 1 to 2^53; got 18446744073709551615"),
        (10**30, TypeError, f"k must be a whole number or one for each query; got {10**30}"),
        (1.0, TypeError, "k must be a whole number or one for each query; got 1.0"),
        (np.nan, TypeError, "k must be a whole number or one for each query; got nan"),
        ("10", TypeError, "k must be a whole number or one for each query; got '10'"),
        (True, TypeError, "k must be a whole number or one for each query; got True"),
        ([], TypeError, "k must be a whole number or one for each query; got []"),
        ([[1]], TypeError, "k must be a whole number or one for each query; got [[1]]"),
        ([1, None], TypeError, "k must be a whole number or one for each query; got [1, None]"),
        ([[1], [1, 2]], ValueError, "k must be an array; got [[1], [1, 2]]"),
    ],
)
@pytest.mark.parametrize("build", [Metric, SoftMetric])
def test_wrong_cutoffs(build, k, error, text):
    refused(error, f"Metric: {text}", build, "ndcg", k=k)


def test_two_cutoffs():
    refused(ValueError, "Metric: give the cutoff as 'ndcg@3' or as k=3, not both", Metric, "ndcg@3", k=3)


@pytest.mark.parametrize("spec", [None, 10, b"ndcg", ["ndcg"], SoftMetric("ndcg")])
def test_what_is_no_spec(spec):
    refused(TypeError, f"Metric: metric must be a string such as 'ndcg@10'; got {spec!r}", Metric, spec)
    text = f"SoftMetric: metric must be a string such as 'ndcg@10' or a Metric; got {spec!r}"
    refused(TypeError, text, SoftMetric, spec)


@every_metric
def test_options_of_other_metrics_are_refused(name):
    takes = ", ".join(REGISTRY[name].options)
    for option in {*OPTIONS, "alpha", "at_k"} - {*REGISTRY[name].options}:
        text = f"Metric: {name} takes the options {takes}, k and name; got {option}"
        refused(TypeError, text, Metric, name, **{option: OPTIONS.get(option, [1])[0]})
        refused(TypeError, text, SoftMetric, name, **{option: OPTIONS.get(option, [1])[0]})


def test_options_belong_to_the_metric_that_is_given():
    text = "SoftMetric: give gain to the Metric, which has its options already"
    refused(TypeError, text, SoftMetric, Metric("ndcg"), gain="linear")


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"gain": "exp3"}, ValueError, "gain must be one of 'exp2', 'linear'; got 'exp3'"),
        ({"gain": []}, ValueError, "gain must not be empty"),
        ({"gain": [0, np.nan]}, ValueError, "gain must be finite; got nan at position 1"),
        ({"gain": [0, np.inf]}, ValueError, "gain must be finite; got inf at position 1"),
        ({"gain": [[0, 1]]}, ValueError, "gain must be one-dimensional; got shape (1, 2)"),
        ({"gain": 3}, ValueError, "gain must be one-dimensional; got shape ()"),
        ({"gain": ["a"]}, TypeError, "gain must hold numbers; got dtype <U1"),
        ({"gain": None}, TypeError, "gain must hold numbers; got dtype object"),
        ({"discount": "log"}, ValueError, "discount must be one of 'log2', 'reciprocal'; got 'log'"),
        ({"discount": [np.inf]}, ValueError, "discount must be finite; got inf at position 0"),
        ({"discount": 1j}, TypeError, "discount must hold numbers; got dtype complex128"),
        ({"ties": "random"}, ValueError, "ties must be one of 'expected', 'order', 'worst'; got 'random'"),
        ({"ties": ["order"]}, ValueError, "ties must be one of 'expected', 'order', 'worst'; got ['order']"),
        ({"ties": None}, ValueError, "ties must be one of 'expected', 'order', 'worst'; got None"),
        ({"empty": 0}, ValueError, "empty must be one of 'zero', 'one', 'skip'; got 0"),
        ({"empty": np.zeros(2)}, ValueError, "empty must be one of 'zero', 'one', 'skip'; got array([0., 0.])"),
    ],
)
@pytest.mark.parametrize("build", [Metric, SoftMetric])
def test_wrong_options(build, options, error, text):
    refused(error, f"Metric: {text}", build, "ndcg", **options)


@pytest.mark.parametrize("build", [Metric, SoftMetric])
@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"p": 0}, ValueError, "p must be finite and above 0; got 0"),
        ({"p": -0.5}, ValueError, "p must be finite and above 0; got -0.5"),
        ({"p": 1}, ValueError, "p must be below 1; got 1"),
        ({"p": np.nan}, ValueError, "p must be finite and above 0; got nan"),
        ({"p": "0.5"}, TypeError, "p must be a number; got '0.5'"),
        ({"p": True}, TypeError, "p must be a number; got True"),
        ({"relevant_from": np.nan}, ValueError, "relevant_from must be finite; got nan"),
        ({"relevant_from": -np.inf}, ValueError, "relevant_from must be finite; got -inf"),
        ({"relevant_from": 10**400}, ValueError, "relevant_from must be finite; got 1000000000000"),
        ({"relevant_from": "1"}, TypeError, "relevant_from must be a number; got '1'"),
        ({"relevant_from": [1]}, TypeError, "relevant_from must be a number; got [1]"),
        ({"relevant_from": None}, TypeError, "relevant_from must be a number; got None"),
    ],
)
def test_wrong_numbers(build, options, error, text):
    refused(error, f"Metric: {text}", build, "rbp", **options)


@pytest.mark.parametrize("build", [Metric, SoftMetric])
@pytest.mark.parametrize("name", ["a b", "a:b", "", " a", "a\n", "a\tb", "a\u00a0b", 3, b"a", ["a"]])
def test_wrong_names(build, name):
    text = f"{build.__name__}: name must be a text without spaces and colons; got {name!r}"
    refused(ValueError, text, build, "ndcg", name=name)


@pytest.mark.parametrize(
    ("sigma", "error", "text"),
    [
        (0, ValueError, "must be finite and above 0; got 0"),
        (-0.0, ValueError, "must be finite and above 0; got -0.0"),
        (-1.5, ValueError, "must be finite and above 0; got -1.5"),
        (np.nan, ValueError, "must be finite and above 0; got nan"),
        (np.inf, ValueError, "must be finite and above 0; got inf"),
        (10**400, ValueError, "must be finite and above 0; got 1000000000000"),
        ("1", TypeError, "must be a number; got '1'"),
        (True, TypeError, "must be a number; got True"),
        (np.True_, TypeError, f"must be a number; got {np.True_!r}"),
        (1j, TypeError, "must be a number; got 1j"),
        (None, TypeError, "must be a number; got None"),
        ([1.0], TypeError, "must be a number; got [1.0]"),
        (np.ones(1), TypeError, "must be a number; got array([1.])"),
    ],
)
def test_wrong_sigma(sigma, error, text):
    refused(error, f"SoftMetric: sigma {text}", SoftMetric, "ndcg", sigma=sigma)


@pytest.mark.parametrize("sigma", [2, 2.0, np.int8(2), np.float32(2)])
def test_sigma_is_a_float(sigma):
    assert SoftMetric("ndcg", sigma=sigma) == SoftMetric("ndcg", sigma=2.0)
    assert type(SoftMetric("ndcg", sigma=sigma).sigma) is float


@pytest.mark.parametrize(
    ("option", "known"),
    [
        ("noise", "'gaussian', 'gumbel', 'logistic'"),
        ("sigma_unit", "'score', 'spread'"),
        ("ranks", "'exact'"),
        ("accuracy", "'default', 'high'"),
    ],
)
@pytest.mark.parametrize("value", ["nope", "", None, 1, ["exact"], {}])
def test_wrong_choices(option, known, value):
    text = f"SoftMetric: {option} must be one of {known}; got {value!r}"
    refused(ValueError, text, SoftMetric, "ndcg", **{option: value})


# What the calls refuse: the message begins with the method that was called, and nothing has changed

CALLS = {
    "Metric": Metric("ndcg@2"),
    "Metric.per_query": Metric("ndcg@2").per_query,
    "SoftMetric": SoftMetric("ndcg@2"),
    "SoftMetric.per_query": SoftMetric("ndcg@2").per_query,
    "SoftMetric.gradient": SoftMetric("ndcg@2").gradient,
    "SoftMetric.value_gradient_hessian": SoftMetric("ndcg@2").value_gradient_hessian,
}
every_call = pytest.mark.parametrize("caller", CALLS)
weighted_calls = pytest.mark.parametrize("caller", [caller for caller in CALLS if caller != "Metric.per_query"])

WRONG_VECTORS = [
    ([1.0, np.nan, 0.0], ValueError, "must be finite; got nan at position 1"),
    ([1.0, 0.0, -np.inf], ValueError, "must be finite; got -inf at position 2"),
    (np.array([0, 1, 0], np.longdouble) * np.longdouble("1e4000"), ValueError, "must be finite; got "),
    ([[1.0, 0.0, 0.0]], ValueError, "must be one-dimensional; got shape (1, 3)"),
    (1.0, ValueError, "must be one-dimensional; got shape ()"),
    ([[1.0], [1.0, 0.0]], ValueError, "must be an array; got [[1.0], [1.0, 0.0]]"),
    (np.ma.masked_array([1.0, 0.0, 0.0], [0, 0, 1]), ValueError, "must not have masked entries; got masked_array("),
    (["1", "0", "0"], TypeError, "must hold numbers; got dtype <U1"),
    (np.array([1, 0, 0], dtype=object), TypeError, "must hold numbers; got dtype object"),
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


@weighted_calls
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
        ({"gain": "linear"}, [0, 1e301, 0], "the gains of a query, times the largest discount, must add up to at most"),
        ({}, [0, -1, 1], "ndcg needs gains of at least 0; got -0.5 for label -1.0"),
        ({"gain": "linear"}, [0, 1, -2], "ndcg needs gains of at least 0; got -2.0 for label -2.0"),
        ({"gain": [0, -1]}, [0, 1, 0], "ndcg needs gains of at least 0; got -1.0 for label 1.0"),
        ({"gain": [0, 1]}, [0, 2, 1], "with a gain table of 2 entries labels must be 0 to 1; got 2.0 at position 1"),
        ({"gain": [0, 1]}, [0, 0, -1], "with a gain table of 2 entries labels must be 0 to 1; got -1.0 at position 2"),
        ({"gain": [0, 1]}, [0, 0.5, 1], "with a gain table of 2 entries labels must be 0 to 1; got 0.5 at position 1"),
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
        ({"k": [1, 2]}, [0, 1, 2], "k must have one cutoff per query, 1; got 2"),
    ],
)
def test_labels_that_do_not_suit_the_options(caller, options, labels, text):
    with np.errstate(divide="ignore"):
        refused(ValueError, f"{caller}: {text}", call_of(caller, "ndcg", **options), labels, [1, 2, 3], group=[3])


def test_the_exact_hessian_is_refused_in_units_of_the_spread():
    text = "SoftMetric.value_gradient_hessian: the exact diagonal Hessian is offered for sigma_unit='score' only"
    soft = SoftMetric("ndcg", sigma_unit="spread")
    refused(ValueError, text, soft.value_gradient_hessian, [1, 0], [0.1, 0.2], group=[2])


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
