"""What SoftRanker trains on by default: metrics, losses, trees and rates by the data."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest

import boostsoft.lightgbm as bl
from boostsoft import Metric, QueryGroups, SoftRanker
from boostsoft.objectives import SoftObjective
from boostsoft.queries import n_relevant
from boostsoft.ranker import lightgbm_trees, xgboost_trees
from boostsoft.ranker.settings import check_settings

from . import ranker_cases
from .ranker_cases import both, fit, leaves, ranker

pytest.importorskip("xgboost")
data = ranker_cases.data  # a fixture


def labelled(sizes, n_relevant):
    """Labels, of which so many are above 0, and the queries; these documents are spread evenly over all."""
    n_docs = sum(sizes)
    marks = np.diff(np.arange(n_docs + 1) * n_relevant // n_docs)
    return marks.astype(float), QueryGroups.from_sizes(sizes)


def test_what_is_mixed_in_by_default():
    assert check_settings(SoftRanker()).objective == SoftObjective("ndcg@10", mix={"kendall": 0.3}, noise="gumbel")
    for metric in ("kendall", "auc", "pnr", "spearman"):
        assert check_settings(SoftRanker(metric=metric)).objective.mix == ()
    for turned in (Metric("ndcg@10", gain=[0, 3, 1]), Metric("err", p_rel=[0.0, 0.5, 0.4])):  # tau would say otherwise
        assert check_settings(SoftRanker(metric=turned)).objective.mix == ()


@pytest.mark.parametrize(
    ("metric", "turned"),
    [
        (Metric("ndcg@10", gain=lambda label: 3.0 - label), True),
        (Metric("err", p_rel=lambda label: (3.0 - label) / 4.0), True),
        (Metric("ndcg@10", gain=lambda label: label + 3.0 * (label == 1.0)), True),
        (Metric("ndcg@10", gain=lambda label: 7.0 * label), False),
        (Metric("ndcg@10", gain=lambda label: np.minimum(label, 2.0)), False),
    ],
)
def test_by_a_function_the_labels_tell_whether_a_higher_one_is_worth_less(metric, turned):
    labels = np.arange(400) % 4.0
    groups = QueryGroups.from_sizes([20] * 20)
    settings = check_settings(SoftRanker(metric=metric)).on(labels, groups)
    assert [order.metric for order, _ in settings.objective.mix] == ([] if turned else ["kendall"])
    assert len(settings.evaluated) == settings.n_watched == (1 if turned else 2)
    given = check_settings(SoftRanker(metric=metric, mix={"kendall": 0.3}, eval_metric="map")).on(labels, groups)
    assert len(given.objective.mix) == len(given.evaluated) == given.n_watched == 1
    for rising in (Metric("ndcg@10", gain=[0, 3, 3]), Metric("err", p_rel=[0.0, 0.5, 0.5])):
        assert check_settings(SoftRanker(metric=rising)).objective.mix == ((Metric("kendall"), 0.3),)
    assert check_settings(SoftRanker(mix=None)).objective.mix == ()
    assert check_settings(SoftRanker(mix={"map": 2})).objective.mix == ((Metric("map"), 2.0),)
    with pytest.raises(ValueError, match=r"SoftRanker.fit: mix must be 'auto' or a mapping .*'kendall'"):
        check_settings(SoftRanker(mix="kendall"))
    with pytest.raises(TypeError, match="random_trees must be True or False; got 1"):
        check_settings(SoftRanker(random_trees=1))
    with pytest.raises(ValueError, match=r"random_trees must be 'auto' or a flag, True or False; got 'yes'"):
        check_settings(SoftRanker(random_trees="yes"))


@pytest.mark.parametrize(
    ("n_docs", "n_relevant", "n_estimators", "random", "expected"),
    [
        (200_000, 5_000, 100, "auto", 0.2),
        (10**6, 9_000, 100, "auto", 0.2),
        (1_562_500, 9_000, 100, "auto", 0.25),
        (1_562_500, 9_000, 200, "auto", 0.125),
        (2_250_000, 9_000, 100, "auto", 0.3),
        (4 * 10**6, 9_000, 100, "auto", 0.3),
        (4 * 10**6, 9_000, 300, "auto", 0.1),
        (200_000, 5_000, 1, "auto", 0.2),
        (200_000, 5_000, 160, "auto", 0.125),
        (200_000, 5_000, 200, "auto", 0.1),
        (200_000, 5_000, 800, "auto", 0.1),
        (200_000, 5_000, 100, False, 0.2),
        (200_000, 5_000, 100, True, 0.1),
        (112_500, 9_000, 100, False, 0.15),
        (112_500, 9_000, 1, False, 0.15),
        (112_500, 9_000, 125, False, 0.12),
        (112_500, 9_000, 150, False, 0.1),
        (100_000, 9_000, 100, False, 0.02**0.5),
        (50_000, 9_000, 100, False, 0.02**0.5),
        (50_000, 9_000, 125, False, 0.8 * 0.02**0.5),
        (50_000, 9_000, 142, False, 0.1),
        (49_999, 9_000, 1, False, 0.1),
        (200_000, 4_999, 100, False, 0.1),
    ],
)
def test_rate_by_default_is_higher_where_data_is_plenty_and_trees_are_few(
    n_docs, n_relevant, n_estimators, random, expected
):
    rows = labelled([n_docs], n_relevant)
    for booster, trees in (("lightgbm", lightgbm_trees), ("xgboost", xgboost_trees)):
        model = SoftRanker(booster, n_estimators=n_estimators, random_trees=random)
        found = trees.parameters(check_settings(model).on(*rows), 1.0)
        assert found["learning_rate"] == pytest.approx(expected, rel=1e-15)
        given = check_settings(model.set_params(learning_rate=0.3)).on(*rows)
        assert trees.parameters(given, 1.0)["learning_rate"] == 0.3


@both
def test_the_rate_that_was_taken_is_told(booster):
    """Half a tree's way at .2 is that of a tree at .1, on the same data."""
    y, groups = labelled([10] * 20_000, 5_000)
    X = np.random.default_rng(3).normal(size=(y.size, 1)) + y[:, None]
    models = [
        SoftRanker(booster, n_estimators=1, learning_rate=rate, metric="ndcg@3", mix=None, losses=None)
        for rate in ("auto", 0.1)
    ]
    far, near = (model.fit(X, y, group=groups.sizes) for model in models)
    assert (far.learning_rate_, near.learning_rate_) == (0.2, 0.1)
    scores = [model.predict(X[:200]) for model in (far, near)]
    np.testing.assert_allclose(scores[0], 2.0 * scores[1], rtol=1e-5)
    assert np.ptp(scores[1]) > 0.0


@pytest.mark.parametrize(
    ("n_docs", "n_relevant", "expected"),
    [(49_999, 9_000, True), (50_000, 5_000, False), (50_000, 4_999, True), (1_000_000, 4_999, True)],
)
def test_random_trees_by_default_where_documents_or_relevant_ones_are_few(n_docs, n_relevant, expected):
    rows = labelled([n_docs], n_relevant)
    assert lightgbm_trees.parameters(check_settings(SoftRanker()).on(*rows), 1.0).get("extra_trees", False) is expected
    found = xgboost_trees.parameters(check_settings(SoftRanker("xgboost", subsample=0.5)).on(*rows), 1.0)
    assert found["subsample"] == pytest.approx(0.35 if expected else 0.5)
    assert found.get("colsample_bynode", 1.0) == (0.5 if expected else 1.0)
    for given in (True, False):
        settings = check_settings(SoftRanker(random_trees=given)).on(*rows)
        assert lightgbm_trees.parameters(settings, 0.25).get("extra_trees", False) is given


@pytest.mark.parametrize(
    ("options", "sizes", "expected"),
    [
        # a fifth of the documents is relevant
        ({}, [50] * 1000, {"xendcg": 0.5, "ranknet": 0.5}),
        ({}, [50] * 400, {"xendcg": 0.5, "ranknet": 0.5}),
        ({}, [50] * 399 + [49], {}),  # random trees
        ({"random_trees": False}, [50] * 10, {"xendcg": 0.5, "ranknet": 0.5}),
        ({"random_trees": True}, [50] * 399, {}),
        ({"random_trees": True}, [50] * 1000, {"xendcg": 0.5, "ranknet": 0.5}),
        ({}, [5_000] * 10, {"xendcg": 0.5, "ranknet": 0.5}),
        ({}, [5_001] * 10, {"xendcg": 0.5}),
        ({"metric": "ndcg"}, [50] * 1000, {"xendcg": 0.5, "ranknet": 0.5}),
        ({"metric": Metric("ndcg@10", gain="linear")}, [50] * 1000, {}),
        ({"metric": Metric("ndcg@10", gain=[0, 1, 3, 7])}, [50] * 1000, {"xendcg": 0.5, "ranknet": 0.5}),
        ({"metric": Metric("ndcg@10", gain=[0, 1, 3, 8])}, [50] * 1000, {}),
        ({"metric": Metric("ndcg@10", gain=list(range(1100)))}, [50] * 1000, {}),  # 2^1024 is no float
        ({"metric": "map"}, [50] * 1000, {}),
        ({"losses": None}, [50] * 1000, {}),
        ({"losses": {"listnet": 2.0}}, [50] * 1000, {"listnet": 2.0}),
        ({"losses": {"listnet": 2.0}}, [50] * 10, {"listnet": 2.0}),
    ],
)
def test_convex_losses_by_default_where_they_help(options, sizes, expected):
    checked = check_settings(SoftRanker(**options, sigma=2.0))
    found = checked.on(*labelled(sizes, sum(sizes) // 5)).objective
    assert dict(found.losses) == expected
    bare = check_settings(SoftRanker(**{**options, "losses": None}, sigma=2.0)).objective
    assert found == SoftObjective(
        bare.metric, mix=dict(bare.mix), losses=expected, noise=bare.noise, sigma=2.0, hessian=bare.hessian
    )


RARE = {"xendcg": 0.5, "softmax": 1.0, "ranknet": 1.0}


@pytest.mark.parametrize(
    ("options", "sizes", "n_relevant", "expected"),
    [
        ({}, [500] * 100, 1_000, {"xendcg": 0.5, "ranknet": 0.5}),
        ({}, [500] * 100, 999, RARE),
        ({"random_trees": False}, [500] * 10, 99, RARE),
        ({}, [5_001] * 10, 999, {"xendcg": 0.5, "softmax": 1.0}),
        ({}, [500] * 10, 99, {}),
    ],
)
def test_softmax_stands_beside_where_relevant_documents_are_rare(options, sizes, n_relevant, expected):
    assert dict(check_settings(SoftRanker(**options)).on(*labelled(sizes, n_relevant)).objective.losses) == expected


def test_relevant_documents_are_those_above_the_least_label_of_their_query():
    groups = QueryGroups.from_sizes([3, 0, 2, 1, 2])
    assert n_relevant(np.array([0.0, 1.0, 4.0, 2.0, 2.0, 3.0, -2.0, -1.0]), groups) == 3
    assert n_relevant(np.empty(0), QueryGroups.from_sizes([0])) == 0


@both
def test_a_fit_of_many_documents_trains_on_convex_losses_too(booster):
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(20_000, 2)), [100] * 200
    y = np.digitize(X[:, 0] + rng.normal(size=20_000), [0.5, 1.5, 2.5])
    options = {"booster": booster, "n_estimators": 2, "n_jobs": 1}
    found = SoftRanker(**options).fit(X, y, group=group)
    assert found.losses_ == {"xendcg": 0.5, "ranknet": 0.5}
    said, bare = (SoftRanker(losses=losses, **options).fit(X, y, group=group) for losses in (found.losses_, None))
    assert bare.losses_ == {}
    np.testing.assert_array_equal(found.predict(X), said.predict(X))
    assert not np.array_equal(found.predict(X), bare.predict(X))


@both
def test_a_fit_of_many_documents_but_few_relevant_ones_trains_on_softmax_too(booster):
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(20_000, 2)), rng.permutation(np.arange(20_000) % 200)
    y = (X[:, 0] > 2.1).astype(float)
    assert 300 < y.sum() < 400
    assert SoftRanker(booster, n_estimators=1, n_jobs=1).fit(X, y, qid=qid).losses_ == RARE


def test_losses_are_by_data_or_a_mapping():
    with pytest.raises(ValueError, match=r"SoftRanker.fit: losses must be 'auto' or a mapping .*'ranknet'"):
        check_settings(SoftRanker(losses="ranknet"))
    with pytest.raises(TypeError, match="losses must be a mapping"):
        check_settings(SoftRanker(losses=0.5))


def test_defaults_are_lightgbms_but_for_the_noise_and_an_l2_of_forty_documents():
    ours, stock = SoftRanker().get_params(), lgb.LGBMRanker().get_params()
    same = {"colsample": "colsample_bytree"}
    same |= {name: name for name in ("n_estimators", "num_leaves", "max_depth", "min_child_samples", "subsample")}
    assert {name: ours[name] for name in same} == {name: stock[theirs] for name, theirs in same.items()}
    told = ("metric", "noise", "sigma", "hessian", "reg_lambda")
    assert [ours[name] for name in told] == ["ndcg@10", "gumbel", 1.0, "flow", 40.0]


@both
@pytest.mark.parametrize("weighted", [False, True])
def test_a_leaf_gets_the_curvature_of_forty_documents(booster, weighted, data):
    weights = np.where(data.qid % 2, 1.0, 3.0) if weighted else None
    found, none = (
        ranker(booster, reg_lambda=value, num_leaves=2, n_estimators=1).fit(
            data.X, data.y, qid=data.qid, sample_weight=weights
        )
        for value in (40.0, 0.0)
    )
    shares = None if weights is None else weights / weights.mean()
    dataset = lgb.Dataset(data.X, data.y, weight=shares, group=data.sizes).construct()
    _, curvature = bl.objective("ndcg@10")(np.zeros(len(data.y)), dataset)
    assert found.reg_lambda_ == pytest.approx(40.0 * curvature.mean(), rel=1e-7 if weighted else 1e-12)
    assert none.reg_lambda_ == 0.0
    (steps, crowds), (full, same) = leaves(found.booster_), leaves(none.booster_)
    np.testing.assert_allclose(crowds, same, rtol=1e-6)
    assert crowds.max() < (16 if booster == "xgboost" else 1) * curvature.sum()
    added = found.reg_lambda_ * (16 if booster == "xgboost" else 1)
    np.testing.assert_allclose(steps, full * crowds / (crowds + added), rtol=1e-5)


@both
def test_random_trees_are_on_in_a_small_fit(booster, data):
    few, said, plain = (
        fit(ranker(booster, random_trees=value), data).predict(data.X) for value in ("auto", True, False)
    )
    np.testing.assert_array_equal(few, said)
    assert not np.array_equal(few, plain)


def test_what_is_settled_by_the_data_keeps_the_curvature_and_the_noise(data):
    settings = check_settings(SoftRanker(hessian="exact", noise="logistic", random_trees=False))
    assert [metric.noise for metric in settings.evaluated] == ["logistic", "logistic"]
    objective = settings.on(data.y, QueryGroups.from_sizes(data.sizes)).objective
    assert (objective.losses, objective.hessian) == ((("xendcg", 0.5), ("ranknet", 0.5)), "exact")
