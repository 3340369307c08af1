"""Hard metrics against SciPy: kendalltau, spearmanr, somersd and mannwhitneyu.

tau-b and Spearman's rho of tied scores are ties="corrected"; SciPy has no counterpart of the default, the mean
over the orders of tied scores, but its mean over these orders is it. A query whose labels are all equal is NaN,
as empty="skip" has it.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from boostsoft import Metric

from .peers import SEEDS, agree, every_order, queries, tied_query

stats = pytest.importorskip("scipy.stats")

pytestmark = pytest.mark.filterwarnings("ignore:.*input array is constant:scipy.stats.ConstantInputWarning")
PEERS = {"kendall": stats.kendalltau, "spearman": stats.spearmanr}
every_seed = pytest.mark.parametrize("seed", SEEDS)
both = pytest.mark.parametrize("name", PEERS)
with_and_without_ties = pytest.mark.parametrize("tied", [False, True], ids=["distinct", "tied"])


def correlation(name, labels, scores):
    """SciPy's, NaN for one document (spearmanr refuses it, kendalltau gives NaN)."""
    return PEERS[name](labels, scores).statistic if len(labels) > 1 else math.nan


@both
@every_seed
@pytest.mark.parametrize("ties", ["expected", "order", "worst", "corrected"])
def test_distinct_scores(name, seed, ties):
    """Tied labels are corrected for in both; the tie rules of the scores differ only where scores are tied."""
    data = queries(seed)
    wanted = [correlation(name, y, s) for y, s in data.each()]
    agree(Metric(name, ties=ties, empty="skip").per_query(data.labels, data.scores, group=data.sizes), wanted)


@both
@every_seed
@pytest.mark.parametrize("top", [1, 4, 40])
def test_tied_scores_are_ties_corrected(name, seed, top):
    """Graded labels, binary ones, and labels that are nearly all different."""
    data = queries(seed, top=top, tied=True)
    found = Metric(name, ties="corrected", empty="skip").per_query(data.labels, data.scores, group=data.sizes)
    wanted = np.array([correlation(name, y, s) for y, s in data.each()])
    constant = np.array([len(y) > 1 and np.ptp(s) == 0 and np.ptp(y) > 0 for y, s in data.each()])
    agree(found[~constant], wanted[~constant])
    assert np.isnan(wanted[constant]).all()
    agree(found[constant], np.zeros(constant.sum()), 0.0)


@both
def test_scores_that_are_all_equal_are_nan_in_scipy_and_0_here(name):
    """A ranking that says nothing is worth nothing; a query whose labels say nothing is empty."""
    assert math.isnan(correlation(name, [0, 1, 2], [1.0, 1.0, 1.0]))
    for ties in ("corrected", "expected"):
        assert Metric(name, ties=ties, empty="skip")([0, 1, 2], [1.0, 1.0, 1.0], group=[3]) == 0.0
    assert math.isnan(correlation(name, [1, 1, 1], [0.0, 1.0, 2.0]))
    metric = Metric(name, empty="skip")
    assert math.isnan(metric.per_query([1, 1, 1], [0.0, 1.0, 2.0], group=[3])[0])


@both
@pytest.mark.parametrize("seed", range(6))
def test_the_default_is_scipys_mean_over_the_orders_of_tied_scores(name, seed):
    query = tied_query(seed, ((2, 3, 1, 2), (4, 3), (5,))[seed % 3])
    wanted = np.mean([correlation(name, y, s) for y, s in every_order(query).each()])
    found = Metric(name)(query.labels, query.scores, group=query.sizes)
    agree(found, wanted)


@both
@every_seed
def test_the_default_is_the_corrected_value_times_the_correction(name, seed):
    """sqrt((n0 - n2) / n0) with n2 pairs of equal score (Kendall); the ratio of the ranks' spreads (Spearman)."""
    data = queries(seed, tied=True)
    default = Metric(name).per_query(data.labels, data.scores, group=data.sizes)
    corrected = Metric(name, ties="corrected").per_query(data.labels, data.scores, group=data.sizes)
    correction = np.zeros(len(data.sizes))
    for q, (_, scores) in enumerate(data.each()):
        n = len(scores)
        if n > 1:
            in_ties = sum(t * (t - 1) for t in np.unique(scores, return_counts=True)[1])
            if name == "kendall":
                correction[q] = math.sqrt(1 - in_ties / (n * (n - 1)))
            else:
                correction[q] = np.std(stats.rankdata(scores)) / np.std(np.arange(n))
    agree(default, corrected * correction)
    assert np.max(np.abs(default - corrected)) > 1e-3


@every_seed
@with_and_without_ties
def test_somers_d_is_kendall_without_the_correction_for_tied_labels(seed, tied):
    """D = (C - D) / (n0 - n1), tied scores counting 0: kendall times sqrt(n0 / (n0 - n1))."""
    data = queries(seed, tied=tied)
    found = Metric("kendall", empty="skip").per_query(data.labels, data.scores, group=data.sizes)
    for tau, (y, s) in zip(found, data.each(), strict=True):
        if np.ptp(y) > 0:
            n = len(y)
            equal = sum(t * (t - 1) for t in np.unique(y, return_counts=True)[1]) / (n * (n - 1))
            agree(tau / math.sqrt(1 - equal), stats.somersd(y, s).statistic)


@every_seed
@with_and_without_ties
def test_pnr_of_graded_labels_is_the_odds_of_somers_d(seed, tied):
    """(1 + D) / (1 - D): a pair of equal scores adds a half to both sides."""
    data = queries(seed, tied=tied)
    found = Metric("pnr", empty="skip").per_query(data.labels, data.scores, group=data.sizes)
    for ratio, (y, s) in zip(found, data.each(), strict=True):
        if np.ptp(y) == 0:
            assert math.isnan(ratio)
        elif math.isfinite(ratio):
            agree((ratio - 1) / (ratio + 1), stats.somersd(y, s).statistic)
        else:
            assert stats.somersd(y, s).statistic == pytest.approx(1.0, abs=1e-12)


@every_seed
@with_and_without_ties
def test_auc_is_the_mann_whitney_statistic(seed, tied):
    data = queries(seed, tied=tied)
    found = Metric("auc", relevant_from=2, empty="skip").per_query(data.labels, data.scores, group=data.sizes)
    for auc, (y, s) in zip(found, data.each(), strict=True):
        relevant, irrelevant = s[y >= 2], s[y < 2]
        if len(relevant) and len(irrelevant):
            u = stats.mannwhitneyu(relevant, irrelevant, method="asymptotic").statistic
            agree(auc, u / (len(relevant) * len(irrelevant)))
        else:
            assert math.isnan(auc)
