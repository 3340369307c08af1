"""What the constructors of metrics refuse, and what they say."""

from __future__ import annotations

import re

import numpy as np
import pytest

import boostsoft as bs
import boostsoft.lightgbm as bl
import boostsoft.xgboost as bx
from boostsoft import Metric, QueryGroups, SoftMetric
from boostsoft.kernels.families import PLAIN
from boostsoft.metrics.registry import REGISTRY
from boostsoft.metrics.spec import OPTIONS
from boostsoft.objectives import SoftObjective, reference_objective

from .cases import every_metric, refused

# What the constructors refuse


@pytest.mark.parametrize(
    ("spec", "meant"),
    [
        ("NDCG@10", "ndcg@10"), ("ndcg10", "ndcg@10"), ("ndcg_cut_10", "ndcg@10"), ("ndcg:10", "ndcg@10"),
        ("ndcg_score", "ndcg"), ("ndgc", "ndcg"), ("MAP", "map"), ("ap@5", "map@5"), ("P_5", "precision@5"),
        ("pre@3", "precision@3"), ("recip_rank", "mrr"), ("R@100", "recall@100"), ("tau", "kendall"),
        ("AUC@5", "auc"), ("ndcg_cut.10", "ndcg@10"), ("P.10", "precision@10"),
    ],
)  # fmt: skip
def test_what_is_called_otherwise_elsewhere_is_asked_for(spec, meant):
    with pytest.raises(ValueError, match=rf"^Metric: unknown metric '{spec}'; known are .*: is '{meant}' meant\?$"):
        Metric(spec)
    Metric(meant)


@pytest.mark.parametrize("spec", ["hit@5", "hit_rate@5", "HR@5", "Success_5"])
def test_hit_rates_are_told_how_they_are_written(spec):
    said = r"; the hit rate of labels 0 and 1 is (Metric\('pfound@5', p_break=0, p_rel=\[0, 1\]\))$"
    with pytest.raises(ValueError, match=said) as told:
        Metric(spec)
    written = Metric.parse(re.search(said, str(told.value))[1])
    labels, scores = [0, 0, 0, 0, 0, 1, 0, 1, 1], [9, 8, 7, 6, 5, 4, 3, 2, 1]
    assert written.per_query(labels, scores, group=[6, 3]).tolist() == [0, 1]  # the one at rank 6, and two of three


@pytest.mark.parametrize("spec", ["ndcg;10", "rmse", "nonsense", "", "10"])
def test_what_resembles_no_metric_is_not(spec):
    with pytest.raises(ValueError, match=r"and auc, pnr, kendall, spearman$"):
        Metric(spec)


@pytest.mark.parametrize("build", [Metric, SoftMetric])
@pytest.mark.parametrize("spec", ["ndgc", "", "@10", "NDCG@10", "ndcg10", "10", "ndcg @10", "ndcg,dcg", "nd\ncg"])
def test_unknown_metrics_are_told_the_known(build, spec):
    ranked = ", ".join(name for name, entry in REGISTRY.items() if not entry.pairwise)
    pairwise = ", ".join(name for name, entry in REGISTRY.items() if entry.pairwise)
    text = f"{build.__name__}: unknown metric {spec!r}; known are {ranked}, each with or without @k, and {pairwise}"
    refused(ValueError, text, build, spec)


def test_whoever_is_given_a_metric_is_named():
    y, S = np.tile([0, 1], 6), np.arange(24.0).reshape(12, 2)
    calls = {
        "make_ranking_scorer": bs.make_ranking_scorer,
        "boostsoft.lightgbm.feval": bl.feval,
        "boostsoft.lightgbm.sklearn_eval_metric": bl.sklearn_eval_metric,
        "boostsoft.lightgbm.track_callback": bl.track_callback,
        "boostsoft.xgboost.custom_metric": bx.custom_metric,
        "boostsoft.lightgbm.objective": bl.objective,
        "boostsoft.lightgbm.sklearn_objective": bl.sklearn_objective,
        "boostsoft.xgboost.objective": bx.objective,
        "SoftObjective": SoftObjective,
        "SoftRanker.fit": lambda spec: bs.SoftRanker(metric=spec).fit(S, y, group=[6, 6]),
        "SoftBlender.fit": lambda spec: bs.SoftBlender(spec).fit(S, y, group=[6, 6]),
        "blend_curve": lambda spec: bs.blend_curve(S, y, group=[6, 6], metric=spec),
    }
    for caller, call in calls.items():
        refused(ValueError, f"{caller}: unknown metric 'ndgc'; ", call, "ndgc")
    refused(TypeError, "make_ranking_scorer: ndcg takes the options ", bs.make_ranking_scorer, "ndcg", spec="mrr")


def test_whole_numbers_that_floats_do_not_tell_apart_are_refused():
    """Instants in nanoseconds, say: they would be ties."""
    now = 1764520000000000000
    scores = np.array([now + 100, 5, now])
    text = (
        "Metric: y_score must differ as float64 where they differ, which beyond 2^53 whole numbers may not: "
        f"subtract the least of them; got {now} and {now + 100}"
    )
    refused(ValueError, text, Metric("ndcg"), [1, 2, 0], scores, group=[3])
    apart = np.array([now + 512, -now, now, now, np.iinfo(np.int64).min])
    ranks = Metric("mrr")([1, 0, 0, 0, 0], apart, group=[5])
    assert ranks == Metric("mrr")([1, 0, 0, 0, 0], [4, 1, 3, 3, 0], group=[5])
    assert Metric("mrr")([0, 1], np.array([2**64 - 1, 2**63], np.uint64), group=[2]) == 0.5


def test_whoever_scores_is_named():
    rng = np.random.default_rng(0)
    S, y, sizes, qid = rng.normal(size=(60, 2)), rng.integers(0, 2, 60), [30, 30], np.repeat([0, 1], 30)
    ranker = bs.SoftRanker(n_estimators=2, min_child_samples=1).fit(S, y, group=sizes)
    blender = bs.SoftBlender().fit(S, y, group=sizes)
    text = "ndcg needs gains of at least 0; got -0.5"
    refused(ValueError, f"SoftRanker.score: {text}", ranker.score, S, y - 1, group=sizes)
    refused(ValueError, f"SoftBlender.score: {text}", blender.score, S, y - 1, group=sizes)
    refused(ValueError, f"make_ranking_scorer: {text}", bs.make_ranking_scorer(), ranker, S, y - 1, qid=qid)


@pytest.mark.parametrize("build", [Metric, SoftMetric])
@pytest.mark.parametrize(
    "cutoff", ["", "0", "00", "x", "-1", "1.5", "1e1", "1_0", " 10", "1 0", "@1", "٣", "9007199254740993", "9" * 100]
)
def test_wrong_cutoffs_in_a_spec(build, cutoff):
    text = f"{build.__name__}: the cutoff behind @ must be a whole number from 1 to 2^53; got 'ndcg@{cutoff}'"
    refused(ValueError, text, build, f"ndcg@{cutoff}")


def test_errors_are_no_longer_than_a_line_or_two():
    lists = [0.5] * 10**5
    for build, arguments in ((Metric, {"k": lists}), (SoftMetric, {"sigma": lists}), (SoftMetric, {"noise": lists})):
        with pytest.raises((TypeError, ValueError)) as caught:
            build("ndcg", **arguments)
        assert len(str(caught.value)) < 300
        assert str(caught.value).endswith("...")


@pytest.mark.parametrize(
    "call",
    [
        lambda given: SoftObjective(given),
        lambda given: SoftObjective(mix=given),
        lambda given: SoftObjective(losses=given),
        lambda given: bs.SoftRanker(booster_params=given).fit([[0.0], [1.0]], [0, 1], group=[2]),
        lambda given: bs.SoftRanker().fit([[0.0], [1.0]], [0, 1], group=[2], init_model=given),
        lambda given: bs.SoftBlender(n_boot=given).fit([[0.0], [1.0]], [0, 1], group=[2]),
        lambda given: bs.make_ranking_scorer(given),
        lambda given: bs.SoftMetric.parse(given),
        lambda given: bl.feval(given),
    ],
)
def test_errors_of_everything_else_are_no_longer_either(call):
    with pytest.raises((TypeError, ValueError)) as caught:
        call([0.5] * 10**5)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "call",
    [
        lambda many: Metric("ndcg@5", k=many),
        lambda many: Metric("auc", k=many),
        lambda many: Metric("err", p_rel=many)([1, 0], [1.0, 2.0], group=[2]),
        lambda many: SoftObjective(Metric("ndcg@5", gain=many)).prepare([1, 1], QueryGroups.from_sizes([2])),
        lambda many: SoftObjective(Metric("dcg@5", discount=many)).prepare([1, 0], QueryGroups.from_sizes([2])),
        lambda many: reference_objective("queryrmse", gain=many).prepare([1, 1], QueryGroups.from_sizes([2])),
        lambda many: reference_objective("softlambda", metric=Metric("map", k=many)),
    ],
)
def test_errors_of_long_tables_and_of_cutoffs_per_query_are_no_longer_either(call):
    with pytest.raises((TypeError, ValueError)) as caught:
        call(list(range(1, 10**4)))
    assert len(str(caught.value)) < 500


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
    refused(error, f"{build.__name__}: {text}", build, "ndcg", k=k)


@pytest.mark.parametrize("build", [Metric, SoftMetric])
@pytest.mark.parametrize("name", [name for name, entry in REGISTRY.items() if entry.pairwise])
def test_a_cutoff_for_pairs(build, name):
    text = f"{build.__name__}: {name} is of the whole list and takes no cutoff; got "
    for k in (10, 0, [1, 2], "x"):
        refused(ValueError, f"{text}k={k!r}", build, name, k=k)
    for cutoff in ("10", "0", "", "x"):
        refused(ValueError, f"{text}'{name}@{cutoff}'", build, f"{name}@{cutoff}")
    assert Metric(name, k=None) == Metric(name)


def test_two_cutoffs():
    for build in (Metric, SoftMetric):
        text = f"{build.__name__}: give the cutoff as 'ndcg@3' or as k=3, not both"
        refused(ValueError, text, build, "ndcg@3", k=3)


@pytest.mark.parametrize("spec", [None, 10, b"ndcg", ["ndcg"], SoftMetric("ndcg")])
def test_what_is_no_spec(spec):
    refused(TypeError, f"Metric: metric must be a string such as 'ndcg@10'; got {spec!r}", Metric, spec)
    text = f"SoftMetric: metric must be a string such as 'ndcg@10' or a Metric; got {spec!r}"
    refused(TypeError, text, SoftMetric, spec)


@every_metric
def test_options_of_other_metrics_are_refused(name):
    takes = ", ".join(REGISTRY[name].options) + ("" if REGISTRY[name].pairwise else ", k")
    for option in {*OPTIONS, "alpha", "at_k"} - {*REGISTRY[name].options}:
        text = f"{name} takes the options {takes} and name; got {option}"
        for build in (Metric, SoftMetric):
            refused(TypeError, f"{build.__name__}: {text}", build, name, **{option: OPTIONS.get(option, [1])[0]})


@pytest.mark.parametrize("option", ["noise", "sigma", "sigma_unit", "ranks", "accuracy", "n_samples", "seed"])
@every_metric
def test_options_of_the_soft_metric_are_none_of_the_hard_one(name, option):
    refused(TypeError, f"Metric: {name} takes the options ", Metric, name, **{option: 1})


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
    refused(error, f"{build.__name__}: {text}", build, "ndcg", **options)


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
    refused(error, f"{build.__name__}: {text}", build, "rbp", **options)


NUMBER = "must be a number; got"


@pytest.mark.parametrize(
    ("name", "options", "error", "text"),
    [
        ("map", {"normalizer": "rel"}, ValueError, "must be one of 'relevant', 'min', 'retrieved', 'k'; got 'rel'"),
        ("map", {"normalizer": None}, ValueError, "must be one of 'relevant', 'min', 'retrieved', 'k'; got None"),
        ("pfound", {"p_break": -0.1}, ValueError, "must be a probability, from 0 to 1; got -0.1"),
        ("pfound", {"p_break": 1 + 1e-9}, ValueError, "must be a probability, from 0 to 1; got 1.000000001"),
        ("pfound", {"p_break": np.nan}, ValueError, "must be finite; got nan"),
        ("pfound", {"p_break": "0.15"}, TypeError, f"{NUMBER} '0.15'"),
        ("pfound", {"p_break": False}, TypeError, f"{NUMBER} False"),
        ("err", {"max_label": np.inf}, ValueError, "must be finite; got inf"),
        ("err", {"max_label": None}, TypeError, f"{NUMBER} None"),
        ("err", {"p_rel": "exp"}, ValueError, "must be one of 'exp2', 'label'; got 'exp'"),
        ("err", {"p_rel": []}, ValueError, "must not be empty"),
        ("err", {"p_rel": {1: 0.5}}, ValueError, "must have a value for every label from 0 on; got {1: 0.5}"),
        (
            "dcg",
            {"discount": {0: 1.0}},
            ValueError,
            "must have a value for every rank from 1 on; got {0: 1.0}",
        ),
        ("pfound", {"p_rel": [0, np.nan]}, ValueError, "must be finite; got nan at position 1"),
        ("pfound", {"p_rel": 0.5}, ValueError, "must be one-dimensional; got shape ()"),
        ("pfound", {"p_rel": None}, TypeError, "must hold numbers; got dtype object"),
        ("auc", {"pooled": 1}, TypeError, "must be True or False; got 1"),
        ("auc", {"pooled": "yes"}, TypeError, "must be True or False; got 'yes'"),
        ("pnr", {"pooled": None}, TypeError, "must be True or False; got None"),
    ],
)
@pytest.mark.parametrize("build", [Metric, SoftMetric])
def test_wrong_options_of_other_metrics(build, name, options, error, text):
    refused(error, f"{build.__name__}: {next(iter(options))} {text}", build, name, **options)


@every_metric
def test_corrected_ties_are_for_rank_correlations(name):
    if "corrected" in REGISTRY[name].ties:
        known, value = "'expected', 'order', 'worst', 'corrected'", "average"
    else:
        known, value = "'expected', 'order', 'worst'", "corrected"
    refused(ValueError, f"Metric: ties must be one of {known}; got {value!r}", Metric, name, ties=value)


# What has no such soft version


def test_what_has_no_exact_expectation_names_sampling():
    remedy = "ranks='sampled' estimates it"
    text = f"SoftMetric: bpref has no exact expectation here; {remedy}"
    refused(ValueError, text, SoftMetric, "bpref@3")
    refused(ValueError, text, SoftMetric, Metric("bpref"), ranks="exact")
    text = (
        "SoftMetric: map with normalizer='retrieved' has no exact expectation here, since its divisor is random; "
        f"another normalizer has, and {remedy}"
    )
    refused(ValueError, text, SoftMetric, "map", normalizer="retrieved")
    refused(ValueError, text, SoftMetric, Metric("map@3", normalizer="retrieved"))
    for each in (Metric("bpref"), Metric("map", normalizer="retrieved")):
        assert SoftMetric(each, ranks="sampled").hard is each


@every_metric
def test_softrank_is_for_sums_of_gain_and_discount(name):
    if REGISTRY[name].family == PLAIN:
        assert SoftMetric(name, ranks="softrank").name == f"{name}_softrank"
    else:
        known = ", ".join(other for other, entry in REGISTRY.items() if entry.family == PLAIN)
        text = f"SoftMetric: ranks='softrank' is defined for {known}; got {name}; ranks='sampled' estimates it"
        refused(ValueError, text, SoftMetric, name, ranks="softrank")


@pytest.mark.parametrize("ranks", ["exact", "softrank"])
def test_samples_and_seed_belong_to_sampled_ranks(ranks):
    for option in ("n_samples", "seed"):
        text = f"SoftMetric: {option} belongs to ranks='sampled'; got {option}=0, ranks={ranks!r}"
        refused(ValueError, text, SoftMetric, "ndcg", ranks=ranks, **{option: 0})


@pytest.mark.parametrize(
    ("option", "value", "error", "text"),
    [
        ("n_samples", 1, ValueError, "must be from 2 to 2^53; got 1"),
        ("n_samples", -5, ValueError, "must be from 2 to 2^53; got -5"),
        ("n_samples", 2**53 + 1, ValueError, "must be from 2 to 2^53; got 9007199254740993"),
        ("n_samples", 100.0, TypeError, "must be a whole number; got 100.0"),
        ("n_samples", "100", TypeError, "must be a whole number; got '100'"),
        ("n_samples", True, TypeError, "must be a whole number; got True"),
        ("seed", -1, ValueError, "must be from 0 to 2^53; got -1"),
        ("seed", 0.5, TypeError, "must be a whole number; got 0.5"),
        ("seed", [1], TypeError, "must be a whole number; got [1]"),
        ("seed", False, TypeError, "must be a whole number; got False"),
    ],
)
def test_wrong_samples_and_seeds(option, value, error, text):
    refused(error, f"SoftMetric: {option} {text}", SoftMetric, "ndcg", ranks="sampled", **{option: value})


@every_metric
def test_sampled_ranks_have_no_hessian(name):
    soft = SoftMetric(name, ranks="sampled")
    text = (
        "SoftMetric.value_gradient_hessian: ranks='sampled' has a value and a gradient only; use per_query and gradient"
    )
    refused(ValueError, text, soft.value_gradient_hessian, [1, 0], [0.1, 0.2], group=[2])


@pytest.mark.parametrize("name", [name for name, entry in REGISTRY.items() if "pooled" in entry.options])
def test_what_is_pooled_has_no_value_per_query(name):
    text = "pooled=True gives one value for all queries together, none per query; got "
    for metric in (Metric(name, pooled=True), *(SoftMetric(name, pooled=True, ranks=r) for r in ("exact", "sampled"))):
        caller = f"{type(metric).__name__}.per_query"
        refused(ValueError, f"{caller}: {text}{metric.hard!r}", metric.per_query, [1, 0], [0.1, 0.2], group=[1, 1])


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
        ("ranks", "'exact', 'softrank', 'sampled'"),
        ("accuracy", "'default', 'high', 'fast'"),
    ],
)
@pytest.mark.parametrize("value", ["nope", "", None, 1, ["exact"], {}])
def test_wrong_choices(option, known, value):
    text = f"SoftMetric: {option} must be one of {known}; got {value!r}"
    refused(ValueError, text, SoftMetric, "ndcg", **{option: value})


@pytest.mark.parametrize("metric", ["ndcg@10", bs.Metric("ndcg@10")])
def test_a_misspelt_argument_of_a_soft_metric_is_told(metric):
    refused(
        TypeError,
        "SoftMetric: sigma_units must be spelt sigma_unit; it takes noise, ",
        bs.SoftMetric,
        metric,
        sigma_units=1,
    )


@pytest.mark.parametrize("max_label", [-1, 1001, 1e6])
def test_the_largest_grade_is_bounded(max_label):
    with pytest.raises(ValueError, match=r"^Metric: max_label must be from 0 to 1000; got "):
        Metric("err", max_label=max_label)
    assert [Metric("err", max_label=bound).max_label for bound in (0, 1000)] == [0.0, 1000.0]


@pytest.mark.parametrize(
    ("gain", "told"),
    [
        (lambda labels: np.arange(5)[labels], "raised IndexError: arrays used as indices must be of integer"),
        (lambda labels: {0.0: 1.0}[float(labels[0])], "raised KeyError: 1.0"),
        (lambda labels: labels.no_such_thing, "raised AttributeError: "),
        (lambda labels: 1 / 0, "raised ZeroDivisionError: "),
    ],
)
def test_what_goes_wrong_in_a_users_function_is_told(gain, told):
    with pytest.raises(ValueError, match=rf"^Metric: gain must be a function of the array of labels .*{told}"):
        Metric("dcg", gain=gain)([1.0, 2.0], [0.0, 1.0], group=[2])
