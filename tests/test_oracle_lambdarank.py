"""The oracle's lambdarank against LightGBM's own gradients and Hessians, read out of fitted leaves."""

from __future__ import annotations

import math
from itertools import product

import lightgbm
import numpy as np
import pytest
from scipy.special import expit

from . import oracle
from .releases import older

QUIET = {"verbosity": -1, "num_threads": 1, "boost_from_average": False, "learning_rate": 1.0}
FINE = {"min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 0.0, "min_data_in_bin": 1, "feature_pre_filter": False}
LAMBDAS = (1e-3, 1.0)


def queries(seed, sizes, step=None):
    """Labels, scores and sizes; scores are multiples of step, so that some are tied."""
    rng = np.random.default_rng(seed)
    labels, scores = rng.integers(0, 5, sum(sizes)), rng.normal(size=sum(sizes))
    return labels, scores if step is None else step * np.round(scores / step), sizes


def one_leaf_each(n):
    """Columns and a tree that puts every document into a leaf of its own (it fits the document's number)."""
    x = np.arange(float(n))[:, None]
    params = {**QUIET, **FINE, "objective": "regression", "num_leaves": max(n, 2), "max_bin": n + 2}
    tree = lightgbm.train(params, lightgbm.Dataset(x, label=x[:, 0], params=params), num_boost_round=1)
    assert len(set(tree.predict(x, pred_leaf=True).ravel())) == n
    return x, tree, params


def lightgbm_derivatives(labels, scores, sizes, **options):
    """LightGBM's (gradient, Hessian) at these scores; the Hessian is NaN where the gradient is 0.

    A tree with one document in each leaf is refitted to lambdarank: leaf = -g/(h + lambda_l2). Two lambdas
    give g and h. (Growing that tree by lambdarank itself fails: LightGBM estimates counts from Hessians.)
    """
    if older(lightgbm.__version__, (4, 6)):
        pytest.skip("LightGBM before 4.6 cannot refit a model of one tree")
    x, tree, params = one_leaf_each(len(labels))
    leaves = []
    for penalty in LAMBDAS:
        tree.params = {**params, "objective": "lambdarank", "lambda_l2": penalty, **options}
        fitted = tree.refit(x, labels, decay_rate=0.0, group=sizes, init_score=scores)
        leaves.append(fitted.predict(x, raw_score=True))
    (weak, strong), (small, big) = leaves, LAMBDAS
    known = weak != 0
    hessian = np.full(len(labels), np.nan)
    hessian[known] = (big * strong - small * weak)[known] / (weak - strong)[known]
    return -weak * (np.where(known, hessian, 0.0) + small), hessian


def oracle_derivatives(labels, scores, sizes, **options):
    cuts = np.cumsum(sizes)[:-1]
    parts = zip(np.split(labels, cuts), np.split(scores, cuts), strict=True)
    return [np.concatenate(arrays) for arrays in zip(*(oracle.lambdarank(*p, **options) for p in parts), strict=True)]


def error(left, right):
    """The largest difference in units of the largest entry: LightGBM adds up in single precision."""
    known = np.isfinite(left)
    return np.abs(left - right)[known].max() / np.abs(right[known]).max()


def agree(data, tolerance=1e-6, gain="exp2", **options):
    theirs = lightgbm_derivatives(
        *data,
        lambdarank_truncation_level=options.get("truncation_level", 30),
        lambdarank_norm=options.get("norm", True),
        sigmoid=options.get("sigmoid", 1.0),
        **({} if gain == "exp2" else {"label_gain": gain}),
    )
    ours = oracle_derivatives(*data, gain=gain, **options)
    assert np.isfinite(theirs[1]).sum() >= 0.7 * len(data[0])
    assert max(error(a, b) for a, b in zip(theirs, ours, strict=True)) < tolerance


@pytest.mark.parametrize(("norm", "sigmoid", "level"), list(product([True, False], [0.3, 1.0, 2.0], [1, 3, 30])))
@pytest.mark.parametrize("step", [None, 0.5])
def test_lambdarank_is_lightgbms(norm, sigmoid, level, step):
    data = queries(level, [7, 1, 2, 12, 5], step)
    agree(data, norm=norm, sigmoid=sigmoid, truncation_level=level)


def test_lambdarank_with_all_scores_equal():
    labels, scores, sizes = queries(1, [9, 6])
    agree((labels, np.full_like(scores, 0.7), sizes))


def test_lambdarank_with_far_scores():
    """Margins past the table's ends, 25 on both sides, take the value of the end."""
    labels, scores, sizes = queries(2, [12, 8])
    agree((labels, 30 * scores, sizes))


def test_lambdarank_with_other_gains():
    """LightGBM's ideal order is by label even where a larger label has the smaller gain."""
    data = queries(3, [10, 10], 0.25)
    agree(data, gain=[0.0, 1.0, 2.0, 3.0, 10.0])
    agree(data, gain=[0.0, 3.0, 3.0, 1.0, 7.0], norm=False)


def test_a_query_without_an_ideal_has_no_gradient():
    data = np.array([0, 1, 0, 0, 1, 2]), np.array([0.3, 0.1, 0.2, 0.3, 0.1, 0.2]), [3, 3]
    theirs = lightgbm_derivatives(*data, label_gain=[0.0, 0.0, 1.0])
    ours = oracle_derivatives(*data, gain=[0.0, 0.0, 1.0])
    assert not theirs[0][:3].any()
    assert not ours[0][:3].any()
    assert error(theirs[0], ours[0]) < 1e-6


def test_lightgbm_reads_the_sigmoid_from_a_table():
    """Without the table the two differ by the table's step, 4.8e-5, times a factor below 1."""
    data = queries(4, [12])
    theirs = lightgbm_derivatives(*data)
    exact = oracle_derivatives(*data, table=False)
    assert 1e-6 < error(theirs[0], exact[0]) < 5e-5
    assert error(theirs[0], oracle_derivatives(*data)[0]) < 1e-6


def test_trained_leaves_hold_the_sums():
    """One split grown by lambdarank itself: the two leaves are -sum g / (sum h + lambda)."""
    labels, scores, sizes = queries(5, [15, 15], 0.5)
    x = (labels > 2).astype(float)[:, None]
    params = {**QUIET, **FINE, "objective": "lambdarank", "num_leaves": 2, "lambda_l2": 0.5}
    data = lightgbm.Dataset(x, label=labels, group=sizes, init_score=scores, params=params)
    leaves = lightgbm.train(params, data, num_boost_round=1).predict(x, raw_score=True)
    gradient, hessian = oracle_derivatives(labels, scores, sizes)
    for side in (x[:, 0] == 0, x[:, 0] == 1):
        np.testing.assert_allclose(leaves[side], -gradient[side].sum() / (hessian[side].sum() + 0.5), rtol=1e-6)


# By hand


def test_two_documents_by_hand():
    """Wrong order by 0.4: weight 3 (1 - 1/log2 3) / 3 / 0.41, chance 1/(1 + e^-0.4), rescaled by the query's sum."""
    chance = 1 / (1 + math.exp(-0.4))
    for norm in (True, False):
        weight = (1 - 1 / math.log2(3)) / (0.41 if norm else 1.0)
        total = 2 * 2.0 * weight / (1 + math.exp(-0.8))
        factor = math.log2(1 + total) / total if norm else 1.0
        gradient, hessian = oracle.lambdarank([0, 2], [0.5, 0.1], norm=norm, sigmoid=2.0, table=False)
        np.testing.assert_allclose(gradient, np.array([1, -1]) * factor * total / 2, rtol=1e-14)
        bend = 4 * weight * factor / (1 + math.exp(-0.8)) / (1 + math.exp(0.8))
        np.testing.assert_allclose(hessian, [bend, bend], rtol=1e-14)
    gradient, hessian = oracle.ranknet([0, 2], [0.5, 0.1])
    np.testing.assert_allclose(gradient, [chance, -chance], rtol=1e-15)
    np.testing.assert_allclose(hessian, [chance * (1 - chance)] * 2, rtol=1e-15)


def test_documents_past_the_truncation_level_meet_only_those_before_it():
    labels, scores = [0, 1, 2], [3.0, 2.0, 1.0]
    gradient, _ = oracle.lambdarank(labels, scores, truncation_level=1, norm=False, table=False)
    pairs = [(1 - 1 / math.log2(3)) / 3 * expit(1.0), 3 * (1 - 1 / 2) / 3 * expit(2.0)]
    np.testing.assert_allclose(gradient, [sum(pairs), -pairs[0], -pairs[1]], rtol=1e-14)


def ranknet_loss(labels, scores, sigmoid):
    pairs = product(range(len(labels)), repeat=2)
    margins = [scores[i] - scores[j] for i, j in pairs if labels[i] > labels[j]]
    return math.fsum(math.log1p(math.exp(-sigmoid * m)) for m in margins)


def test_ranknet_is_the_derivative_of_its_loss():
    labels, scores, _ = queries(6, [7], 0.5)
    sigmoid, h = 1.7, 1e-3
    gradient, hessian = oracle.ranknet(labels, scores, sigmoid)
    for m, unit in enumerate(np.eye(7)):
        low, mid, high = (ranknet_loss(labels, scores + h * step * unit, sigmoid) for step in (-1, 0, 1))
        assert gradient[m] == pytest.approx((high - low) / (2 * h), abs=1e-5)
        assert hessian[m] == pytest.approx((high - 2 * mid + low) / h**2, abs=1e-5)


def test_nothing_to_order():
    for labels, scores in (([2], [0.1]), ([1, 1], [0.1, 0.7]), ([0, 0, 0], [1.0, 2.0, 2.0])):
        for function in (oracle.lambdarank, oracle.ranknet):
            assert not np.any(function(labels, scores))
