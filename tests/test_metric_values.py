"""Metrics as values: what they are made from, and what their text says; test_metric_errors.py: what they refuse."""

from __future__ import annotations

import copy
import dataclasses
import functools
import pickle
import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from boostsoft import Metric, SoftMetric
from boostsoft.kernels.families import PLAIN
from boostsoft.kernels.hard import TIES
from boostsoft.kernels.noise import LAWS
from boostsoft.metrics.registry import REGISTRY
from boostsoft.metrics.soft import RANKS, SIGMA_UNITS
from boostsoft.metrics.spec import DISCOUNTS, EMPTY, GAINS, NORMALIZERS, PROBABILITIES

from .cases import every_metric, every_ranked

# Values of every option, the default first: a metric with a new option is tested once it has its line here.
OPTIONS = {
    "gain": ["exp2", "linear", (0.0, 1.0, 1 / 3), (0.0, 1e-300, -2.5), (7.0,)],
    "discount": ["log2", "reciprocal", (1.0, 1 / 3), (1.0, 0.5, 0.0)],
    "relevant_from": [1.0, 2.0, 0.1 + 0.2, -1e300],
    "p": [0.8, 1 / 3, 5e-324],
    "p_rel": ["exp2", "label", (0.0, 1 / 3, 1.0), (5e-324,)],
    "max_label": [4.0, 0.1 + 0.2, 1000.0],
    "p_break": [0.15, 0.0, 1 / 3, 1.0],
    "normalizer": list(NORMALIZERS),
    "pooled": [False, True],
    "ties": [*TIES, "corrected"],
    "empty": list(EMPTY),
}
COMMON = {"k": [None, 1, 10, (3, 1, 2), (5,)], "name": [None, "mine", "it's\\\"§"]}
SOFT = {
    "noise": ["gaussian", "gumbel", "logistic"],
    "sigma": [1.0, 0.1, 5e-324, 1e308],
    "sigma_unit": list(SIGMA_UNITS),
    "accuracy": ["default", "fast", "high"],
    "name": COMMON["name"],
}
SAMPLED = {"n_samples": [100, 2, 2**53], "seed": [0, 1, 2**53]}


def default_of(name, option):
    return REGISTRY[name].defaults.get(option, OPTIONS[option][0])


def choices_of(name):
    """Values of each option of a metric, its default first."""
    entry = REGISTRY[name]
    choices = {option: OPTIONS[option] for option in entry.options} | {"ties": entry.ties, "name": COMMON["name"]}
    if not entry.pairwise:
        choices["k"] = COMMON["k"]
    return {o: sorted(v, key=lambda x: x != default_of(name, o)) if o in OPTIONS else v for o, v in choices.items()}


def variants(name):
    """The metric with its defaults, then with each other value of each of its options, then with all of them."""
    choices = choices_of(name)
    singles = [{option: value} for option, values in choices.items() for value in values[1:]]
    return [Metric(name, **options) for options in ({}, *singles, {o: v[-1] for o, v in choices.items()})]


def ranks_of(metric):
    """The forms of the soft metric that exist."""
    exact = REGISTRY[metric.metric].exact and metric.normalizer != "retrieved"
    softrank = REGISTRY[metric.metric].family == PLAIN
    return [*(["exact"] if exact else []), *(["softrank"] if softrank else []), "sampled"]


def soft_variants(name):
    """The same of every soft metric, whose default is that of exact ranks, or of sampled ones."""
    first, *others = ranks_of(Metric(name))
    singles = [{option: value} for option, values in SOFT.items() for value in values[1:]]
    singles += [{"ranks": ranks} for ranks in others]
    singles += [{"ranks": "sampled", option: value} for option, values in SAMPLED.items() for value in values[1:]]
    plain = [SoftMetric(name, **{"ranks": first, **options}) for options in ({}, *singles)]
    rest = [SoftMetric(each, noise="gumbel", sigma=0.3, ranks=ranks_of(each)[0]) for each in variants(name)[1:]]
    return plain + rest


def test_the_lists_above_are_complete():
    assert set(SOFT["noise"]) == set(LAWS)
    assert {value for value in OPTIONS["gain"] if isinstance(value, str)} == set(GAINS)
    assert {value for value in OPTIONS["discount"] if isinstance(value, str)} == set(DISCOUNTS)
    assert {value for value in OPTIONS["p_rel"] if isinstance(value, str)} == set(PROBABILITIES)
    assert {option for entry in REGISTRY.values() for option in entry.options} == set(OPTIONS)
    assert {ties for entry in REGISTRY.values() for ties in entry.ties} == set(OPTIONS["ties"])
    assert {ranks for name in REGISTRY for each in variants(name) for ranks in ranks_of(each)} == set(RANKS)


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
    spec = name if REGISTRY[name].pairwise else f"{name}@5"
    assert re.findall(r"(\w+)=", repr(Metric(spec))) == list(REGISTRY[name].options)
    assert repr(Metric(spec)).startswith(f"Metric('{spec}', ")


def test_repr_by_example():
    assert repr(Metric("ndcg@3")) == "Metric('ndcg@3', gain='exp2', discount='log2', ties='expected', empty='zero')"
    assert repr(Metric("rbp", p=0.5, k=[2, 3], name="x")) == (
        "Metric('rbp', relevant_from=1.0, p=0.5, ties='expected', empty='zero', k=(2, 3), name='x')"
    )
    assert repr(SoftMetric("cg@1", noise="gumbel", sigma=2)) == (
        "SoftMetric(Metric('cg@1', gain='exp2', ties='expected', empty='zero'), noise='gumbel', sigma=2.0, "
        "sigma_unit='score', ranks='exact', accuracy='default')"
    )
    assert repr(Metric("err@5")) == "Metric('err@5', p_rel='exp2', max_label=4.0, ties='expected', empty='zero')"
    assert repr(Metric("pfound", p_rel=[0, 1])) == (
        "Metric('pfound', p_rel=(0.0, 1.0), p_break=0.15, ties='expected', empty='zero')"
    )
    assert repr(Metric("auc", pooled=np.True_)) == (
        "Metric('auc', relevant_from=1.0, pooled=True, ties='expected', empty='zero')"
    )
    assert repr(SoftMetric("kendall", ties="corrected", ranks="sampled", seed=np.uint8(7), name="x")) == (
        "SoftMetric(Metric('kendall', ties='corrected', empty='zero'), noise='gaussian', sigma=1.0, "
        "sigma_unit='score', ranks='sampled', accuracy='default', n_samples=100, seed=7, name='x')"
    )


@pytest.mark.parametrize("number", [50, np.int64(50), np.uint8(50)])
def test_samples_and_seed_are_whole_numbers(number):
    soft = SoftMetric("ndcg", ranks="sampled", n_samples=number, seed=number)
    assert soft == SoftMetric("ndcg", ranks="sampled", n_samples=50, seed=50)
    assert (type(soft.n_samples), type(soft.seed)) == (int, int)
    assert SoftMetric("ndcg", ranks="sampled") == SoftMetric("ndcg", ranks="sampled", n_samples=100, seed=0)
    assert (SoftMetric("ndcg").n_samples, SoftMetric("ndcg").seed) == (None, None)


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
    assert Metric(name) != SoftMetric(name, ranks="sampled")
    assert Metric(name) != name
    assert all(Metric(name) != Metric(other) for other in REGISTRY if other != name)


@pytest.mark.parametrize("option", ["gain", "discount", "p_rel"])
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
    name = "err" if option == "p_rel" else "ndcg"
    one, other = Metric(name, **{option: table}), Metric(name, **{option: (0.0, 1.0, 3.0)})
    assert one == other
    assert hash(one) == hash(other)
    assert repr(one) == repr(other)


def test_tables_may_be_mappings():
    assert Metric("pfound", p_rel={0: 0.0, 2: 0.3, 1: 0.1}) == Metric("pfound", p_rel=(0.0, 0.1, 0.3))
    assert Metric("dcg@2", discount={1: 1.0, 2: 0.5}) == Metric("dcg@2", discount=(1.0, 0.5))


def test_tables_are_copied():
    table = np.array([0.0, 1.0, 3.0])
    metric = Metric("dcg", gain=table)
    table[1] = 9
    assert metric == Metric("dcg", gain=[0, 1, 3])
    assert Metric("dcg", gain=[0.0, 1 / 3, 5e-324]).gain == (0.0, 1 / 3, 5e-324)


@pytest.mark.parametrize("k", [10, np.int64(10), np.uint8(10), np.array(10)])
@every_ranked
def test_k_is_the_number_behind_the_at_sign(name, k):
    assert Metric(name, k=k) == Metric(f"{name}@10") == Metric(f" {name}@010 ")
    assert Metric(name, k=k).spec == f"{name}@10"
    soft = SoftMetric(f"{name}@10", ranks="sampled")
    assert SoftMetric(name, k=k, ranks="sampled") == soft == SoftMetric(Metric(name, k=k), ranks="sampled")
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
    assert Metric(name, name="mine").name == "mine"
    assert Metric(name, name="mine").spec == name
    words = {"softrank": "softrank", "sampled": "sampled"}
    for ranks in ranks_of(Metric(name)):
        for noise in LAWS:
            soft = SoftMetric(name, noise=noise, ranks=ranks)
            assert soft.name == f"{name}_{words.get(ranks, noise)}"
            assert SoftMetric(name, noise=noise, ranks=ranks, name="mine").name == "mine"


@every_ranked
def test_names_with_a_cutoff(name):
    """It stays behind the @, where XGBoost's users look for it."""
    assert Metric(f"{name}@10").name == Metric(f"{name}@10").spec == f"{name}@10"
    assert Metric(name, k=[1, 2]).name == Metric(name, k=[1, 2]).spec == name
    for ranks in ranks_of(Metric(name)):
        soft = SoftMetric(f"{name}@10", ranks=ranks, noise="gumbel")
        assert soft.name == f"{name}_{'gumbel' if ranks == 'exact' else ranks}@10"
        assert SoftMetric(name, k=[1], ranks=ranks, noise="gumbel").name == soft.name.removesuffix("@10")


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        (SoftMetric("ndcg@10", ranks="softrank"), "ndcg_softrank@10"),
        (SoftMetric("ndcg@10", ranks="sampled", n_samples=7), "ndcg_sampled@10"),
        (Metric("auc", pooled=True), "auc_pooled"),
        (SoftMetric("auc", pooled=True), "auc_pooled_gaussian"),
        (SoftMetric("pnr", pooled=True, noise="logistic", ranks="sampled"), "pnr_pooled_sampled"),
        (SoftMetric("map@3", normalizer="k", noise="gumbel"), "map_gumbel@3"),
        (Metric("kendall", ties="corrected"), "kendall"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_names_by_example(metric, name):
    assert metric.name == name


@every_metric
def test_the_hard_twin(name):
    metric = Metric(name, ties="worst", empty="skip")
    assert metric.hard is metric
    assert SoftMetric(metric, sigma=3.0, ranks="sampled").hard is metric
    assert SoftMetric(name, ties="worst", empty="skip", ranks="sampled").hard == metric
    assert metric.higher_is_better
    assert SoftMetric(metric, ranks="sampled").higher_is_better


@every_metric
def test_defaults_are_the_documented_ones(name):
    documented = {
        "gain": "exp2", "discount": "log2", "relevant_from": 1, "p": 0.8, "ties": "expected", "empty": "zero",
        "p_rel": "label" if name == "pfound" else "exp2", "max_label": 4, "p_break": 0.15, "normalizer": "relevant",
        "pooled": False,
    }  # fmt: skip
    options = {option: documented[option] for option in REGISTRY[name].options}
    assert Metric(name) == Metric(name, **options)
    assert Metric(name).options == options
    soft = SoftMetric(Metric(name), ranks="sampled")
    assert soft == SoftMetric(
        name, noise="gaussian", sigma=1, sigma_unit="score", ranks="sampled", accuracy="default", n_samples=100, seed=0
    )
    if REGISTRY[name].exact:
        assert SoftMetric(name) == SoftMetric(name, ranks="exact")


def test_the_metrics_of_each_kind():
    """What the README and the tests' marks speak of."""
    assert len(REGISTRY) == 16
    assert [name for name, entry in REGISTRY.items() if entry.pairwise] == ["auc", "pnr", "kendall", "spearman"]
    assert [name for name, entry in REGISTRY.items() if not entry.exact] == ["bpref"]
    with_softrank = ["dcg", "ndcg", "cg", "precision", "recall", "f1", "rbp"]
    assert [name for name in REGISTRY if "softrank" in ranks_of(Metric(name))] == with_softrank
    assert [name for name, entry in REGISTRY.items() if "corrected" in entry.ties] == ["kendall", "spearman"]


@pytest.mark.parametrize("field", ["summary", "source", "family", "gains", "discount", "divisor"])
@every_metric
def test_registry_entries_are_filled_in(name, field):
    assert getattr(REGISTRY[name], field) not in ("", None)
