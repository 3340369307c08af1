"""Documents of equal score: by hand, against every order of few, and against other routes to the mean for many."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import hypergeom

from boostsoft import Metric, QueryGroups
from boostsoft.kernels.families import ABSORBING, JUDGED, MARKED, PLAIN
from boostsoft.kernels.hard import TIES
from boostsoft.kernels.ties import draw_law, subset_means
from boostsoft.metrics.prepared import prepare
from boostsoft.metrics.registry import REGISTRY

from .cases import TABLE, by_definition, cutoffs_of, every_metric, every_ranked, log_discount, metric
from .tie_means import cascade_by_rank, mean_over_ties

NORMALIZERS = [{"normalizer": normalizer} for normalizer in ("relevant", "min", "retrieved", "k")]


def tied_blocks(sizes):
    """Scores that fall from block to block."""
    return np.repeat(-np.arange(float(len(sizes))), sizes)


def variants_of(name):
    """The options that meet a tie in their own way."""
    by_family = {
        MARKED: NORMALIZERS,
        ABSORBING: [{}] + [{"p_break": p} for p in (0.0, 0.9, 1.0) if "p_break" in REGISTRY[name].options],
    }
    return by_family.get(REGISTRY[name].family, [{}])


# By hand


def test_tied_documents():
    """Documents of label 2 and 0 tie behind one of label 1: ranks 2 and 3."""
    labels, scores = [0, 1, 2], [0.0, 1.0, -0.0]
    first, last = 3 * log_discount(2), 3 * log_discount(3)
    for ties, tied in (("expected", (first + last) / 2), ("order", last), ("worst", last)):
        assert Metric("dcg", ties=ties)(labels, scores, group=[3]) == pytest.approx(1 + tied, rel=1e-15)
    assert Metric("dcg", ties="order")(labels[::-1], scores[::-1], group=[3]) == pytest.approx(1 + first, rel=1e-15)
    assert Metric("dcg@2")(labels, scores, group=[3]) == pytest.approx(1 + first / 2, rel=1e-15)
    assert Metric("dcg@2", ties="worst")(labels, scores, group=[3]) == 1


def test_a_tie_across_the_cutoff():
    """Five tie on ranks 2 to 6, of which ranks 2 and 3 count."""
    labels, scores = [0, 1, 0, 1, 1, 0], [9, 5, 5, 5, 5, 5]
    for name, divisor in (("cg", 1), ("precision", 3), ("recall", 3)):
        assert Metric(f"{name}@3")(labels, scores, group=[6]) == pytest.approx(3 * 2 / 5 / divisor, rel=1e-15)
        assert Metric(f"{name}@3", ties="worst")(labels, scores, group=[6]) == 0
        assert Metric(f"{name}@3", ties="order")(labels, scores, group=[6]) == pytest.approx(1 / divisor)


@pytest.mark.parametrize(
    ("tied", "value"),
    [
        (Metric("mrr"), (1 + 1 + 1 / 2) / 3),  # 1 1 0, 1 0 1, 0 1 1
        (Metric("mrr@1"), 2 / 3),
        (Metric("map"), ((1 + 1) + (1 + 2 / 3) + (1 / 2 + 2 / 3)) / 3 / 2),
        (Metric("map@2"), ((1 + 1) + 1 + 1 / 2) / 3 / 2),
        (Metric("map@2", normalizer="retrieved"), ((1 + 1) / 2 + 1 + 1 / 2) / 3),
        (Metric("map@1", normalizer="retrieved"), 2 / 3),
        (Metric("map@1", normalizer="min"), 2 / 3),
        (Metric("map@1", normalizer="k"), 2 / 3),
        (Metric("bpref"), ((1 + 1) + (1 + 0) + (0 + 0)) / 3 / 2),
        (Metric("bpref@2"), ((1 + 1) + 1 + 0) / 3 / 2),
        (Metric("err", p_rel=[0, 1 / 2]), ((1 / 2 + 1 / 8) + (1 / 2 + 1 / 12) + (1 / 4 + 1 / 12)) / 3),
        (Metric("pfound", p_rel=[0, 1 / 2], p_break=0), 1 - 1 / 4),
        (Metric("pfound@2", p_rel=[0, 1 / 2], p_break=0), (3 / 4 + 1 / 2 + 1 / 2) / 3),
        (Metric("f1@1"), 2 * (2 / 3) / (1 + 2)),
        (Metric("auc"), 1 / 2),
        (Metric("pnr"), 1.0),
        (Metric("kendall"), 0.0),
        (Metric("spearman"), 0.0),
    ],
    ids=str,
)
def test_three_tied_documents_of_which_two_are_relevant(tied, value):
    for labels in ([1, 1, 0], [0, 1, 1]):
        assert tied([*labels], [7, 7, 7], group=[3]) == pytest.approx(value, rel=1e-15, abs=1e-16)


def test_of_tied_documents_only_so_many_are_looked_at_as_ranks_count():
    """Else a cutoff would not save a model without a split from an effort that grows with the square of documents."""
    coef, means = np.full(50, 1e-3), np.full(51, np.nan)
    assert subset_means(coef, 0, 50, 7, means) == 7
    np.testing.assert_allclose(means[:8], (1.0 - 1e-3) ** np.arange(8), rtol=1e-14)
    assert np.isnan(means[9:]).all()


def test_pairs_of_equal_score_count_a_half_on_both_sides():
    """Labels 0, 2, 1 with the last two tied: one pair is right, one wrong, and one undecided."""
    labels, scores, group = [0, 2, 1], [1.0, 2.0, 2.0], [3]
    right, undecided, n0 = 2, 1, 3
    assert Metric("pnr")(labels, scores, group=group) == (right + undecided / 2) / (undecided / 2)
    assert Metric("kendall")(labels, scores, group=group) == pytest.approx(right / n0)
    corrected = right / math.sqrt(n0 * (n0 - undecided))
    assert Metric("kendall", ties="corrected")(labels, scores, group=group) == pytest.approx(corrected)
    assert Metric("pnr", ties="worst")(labels, scores, group=group) == right / undecided
    assert Metric("pnr", ties="order")(labels, scores, group=group) == math.inf
    auc = {ties: Metric("auc", relevant_from=2, ties=ties)(labels, scores, group=group) for ties in TIES}
    assert auc == {"expected": 3 / 4, "order": 1.0, "worst": 1 / 2}
    rho = {ties: Metric("spearman", ties=ties)(labels, scores, group=group) for ties in ("expected", "corrected")}
    assert rho["expected"] == pytest.approx((1 + 0.5) / 2)  # of 0 2 1 and of 0 1 2
    assert rho["corrected"] == pytest.approx(1.5 / math.sqrt(2 * 1.5))


# Few documents: every order


@every_metric
@pytest.mark.parametrize("sizes", [(2,), (6,), (3, 4), (1, 5, 1), (2, 3, 2), (4, 1, 2), (2, 2, 2, 1)], ids=str)
@pytest.mark.parametrize(
    "labels",
    [[0, 0, 4, 0, 0, 0, 1], [1, 4, 2, 0, 3, 2, 1], [1, 3, 1, 4, 2, 2, 1], [4, 0, 0, 0, 0, 0, 0]],
    ids=lambda labels: "".join(map(str, labels)),
)
def test_every_order_of_few(name, sizes, labels):
    """At every cutoff: before, within and behind each block of equal scores."""
    scores = tied_blocks(sizes)
    labels = labels[: len(scores)]
    rows = np.random.default_rng(len(sizes)).permutation(len(scores))
    shuffled = np.array(labels)[rows], scores[rows]
    for options in variants_of(name):
        for k in cutoffs_of(name, range(1, len(scores) + 2)):
            wanted = by_definition(name, labels, scores, k, **options)
            found = metric(name, k, **options)(*shuffled, group=[len(scores)])
            assert found == pytest.approx(wanted, rel=1e-13, abs=1e-15), (k, options)


@every_metric
def test_seven_equal_scores(name):
    labels = [0, 2, 1, 0, 4, 0, 1]
    for options in variants_of(name):
        for k in cutoffs_of(name, (None, 1, 4)):
            wanted = by_definition(name, labels, np.zeros(7), k, **options)
            assert metric(name, k, **options)(labels, np.zeros(7), group=[7]) == pytest.approx(
                wanted, rel=1e-13, abs=1e-15
            )


@pytest.mark.parametrize("name", [name for name, entry in REGISTRY.items() if entry.family == JUDGED])
@pytest.mark.parametrize(
    "labels", [[-1, 1, 0, 1, -2, 0], [0, 0, 1, -1, 0, -1], [-1, 1, -1, 1, 1, 0], [-1, -1, 1, -1, 1, 1]]
)
def test_documents_that_are_not_judged_among_the_tied(name, labels):
    for sizes in [(6,), (3, 3), (1, 4, 1), (2, 4)]:
        for k in (None, 1, 2, 3, 4, 5):
            for ties in REGISTRY[name].ties:
                wanted = by_definition(name, labels, tied_blocks(sizes), k, ties)
                found = metric(name, k, ties=ties)(labels, tied_blocks(sizes), group=[6])
                assert found == pytest.approx(wanted, rel=1e-13, abs=1e-15), (sizes, k, ties)


# Many documents: the mean rank by rank


@every_metric
def test_the_mean_rank_by_rank_is_the_mean_over_orders(name):
    """What the next tests compare with, against the enumeration."""
    for sizes in [(6,), (3, 3), (1, 4, 1), (2, 1, 3)]:
        labels, scores = [0, 4, 1, 0, 2, 1], tied_blocks(sizes)
        for options in variants_of(name):
            for k in cutoffs_of(name, (None, 1, 2, 3, 5, 6, 8)):
                wanted = by_definition(name, labels, scores, k, **options)
                assert mean_over_ties(name, labels, scores, k, **options) == pytest.approx(wanted, rel=1e-13, abs=1e-15)


def labels_of(n, relevant, rng):
    """Labels 1 to 4 for so many documents, the rest 0."""
    labels = np.zeros(n, int)
    labels[rng.permutation(n)[:relevant]] = rng.integers(1, 5, relevant)
    return labels


@pytest.mark.parametrize(
    ("total", "marked", "drawn"),
    [
        *((1, 1, 1), (7, 0, 3), (7, 7, 3), (9, 4, 6)),
        *((40_000, 20_000, 20_000), (10**6, 30, 10**5), (200_000, 100_000, 198_000)),
    ],
)
def test_the_law_of_the_marked_among_the_drawn(total, marked, drawn):
    """What it leaves out is nothing that a sum of floats would show, of wide laws and of nearly all too."""
    law = np.zeros(marked + 1)
    low, high = draw_law(total, marked, drawn, law)
    wanted = hypergeom(total, marked, drawn)
    np.testing.assert_allclose(law[: high - low + 1], wanted.pmf(np.arange(low, high + 1)), rtol=1e-8, atol=1e-30)
    assert wanted.cdf(low - 1) + wanted.sf(high) < 1e-16
    assert law[: high - low + 1].sum() == pytest.approx(1.0, rel=1e-14)


@every_ranked
@pytest.mark.parametrize("relevant", [5, 1000, 2000])
@pytest.mark.parametrize("sizes", [(2000,), (3, 900, 1, 1096)], ids=str)
def test_two_thousand(name, relevant, sizes):
    rng = np.random.default_rng(relevant)
    labels, scores = labels_of(2000, relevant, rng), rng.permutation(tied_blocks(sizes))
    for options in variants_of(name):
        for k in (None, 10, 700):
            wanted = mean_over_ties(name, labels, scores, k, **options)
            found = metric(name, k, **options)(labels, scores, group=[2000])
            assert found == pytest.approx(wanted, rel=1e-11, abs=1e-15), (k, options)


@pytest.mark.parametrize("name", [name for name, entry in REGISTRY.items() if entry.gains == "probability"])
@pytest.mark.parametrize(
    "p_rel", [(0, 1e-9, 1e-3, 1e-2, 0.5), (0, 1, 1, 1, 1), (0, 1e-300, 0, 1e-20, 1e-5), (1 - 1e-12,) * 5, (0.5,) * 5]
)
def test_a_cascade_of_tiny_and_of_certain_probabilities(name, p_rel):
    """To 1e-15 absolutely, since the chance that a rank is the one is a difference of two numbers of up to 1."""
    labels = labels_of(2000, 1200, np.random.default_rng(1))
    for k in (None, 1, 30, 1500):
        wanted = mean_over_ties(name, labels, np.zeros(2000), k, p_rel=p_rel)
        found = metric(name, k, p_rel=p_rel)(labels, np.zeros(2000), group=[2000])
        assert found == pytest.approx(wanted, rel=1e-12, abs=1e-15)


# Many documents: random orders


def values_of(name, places, labels, k, n, normalizer="relevant"):
    """Of many orders the values, from ranks and labels of the relevant documents from the top: (orders, relevant)."""
    family, relevant = REGISTRY[name].family, places.shape[1]
    inside, above = places <= (k or n), np.arange(relevant)
    if family == ABSORBING:
        chance = {"mrr": labels > 0, "err": (2.0**labels - 1) / 16, "pfound": np.array(TABLE)[labels]}[name]
        worth = inside * (0.85 ** (places - 1.0) if name == "pfound" else 1 / places)
        before = np.cumprod(np.hstack([np.ones((len(places), 1)), 1.0 - chance[:, :-1]]), axis=1)
        return (worth * chance * before).sum(axis=1)
    if family == MARKED:
        found = (inside * (above + 1) / places).sum(axis=1)
        return found / (np.maximum(inside.sum(axis=1), 1) if normalizer == "retrieved" else relevant)
    against = np.minimum(places - 1 - above, relevant)
    return (inside * (1 - against / min(relevant, n - relevant))).sum(axis=1) / relevant


@pytest.mark.parametrize("relevant", [4, 150])
def test_the_mean_of_twenty_thousand_random_orders(relevant):
    """Of 2,000 tied documents, at 4.5 standard errors, each 1 % of the value, or 10 % with 4 relevant documents.

    No formula for a mean is behind this one. Where only the first ranks count, as of pfound, it says less.
    """
    n, n_orders, rng = 2000, 20_000, np.random.default_rng(relevant)
    labels = labels_of(n, relevant, rng)
    drawn = [rng.permuted(np.tile(labels.astype(np.int8), (2000, 1)), axis=1) for _ in range(n_orders // 2000)]
    places = np.concatenate([np.nonzero(orders)[1].reshape(2000, relevant) + 1 for orders in drawn])
    found_labels = np.concatenate([orders[orders > 0].reshape(2000, relevant) for orders in drawn])
    for name in [name for name, entry in REGISTRY.items() if entry.family in (ABSORBING, MARKED, JUDGED)]:
        for options in [{}, {"normalizer": "retrieved"}][: 1 + (REGISTRY[name].family == MARKED)]:
            for k in (None, 10, 600):
                values = values_of(name, places, found_labels, k, n, **options)
                error = values.std() / math.sqrt(n_orders)
                found = metric(name, k, **options)(labels, np.zeros(n), group=[n])
                assert abs(found - values.mean()) <= 4.5 * error, (name, k, options)
                if k != 10 and REGISTRY[name].discount != "patience":
                    assert error < (0.1 if relevant == 4 else 0.01) * found, (name, k, options)


# A hundred thousand documents


def mean_of_few_values(hard, labels, scores, k):
    """Closed forms in arrays, block by block: for 100,000 documents the walk rank by rank would take minutes."""
    relevant, prepared = labels >= 1, prepare(hard, "test", labels, QueryGroups.from_sizes([labels.size]))
    total, least, value, rank, above = relevant.sum(), min(relevant.sum(), (~relevant).sum()), 0.0, 0, 0
    for score in np.unique(scores)[::-1]:
        own = scores == score
        r, m, i = relevant[own].sum(), own.sum(), np.arange(min(own.sum(), k - rank))
        if prepared.family == PLAIN:
            value += prepared.gains[own].mean() * prepared.discount[rank : rank + i.size].sum()
        elif prepared.family == MARKED:  # relevant with chance r / m, and then r - 1 are among the m - 1 others
            value += (r / m * (above + 1 + (r - 1) * i / (m - 1)) / (rank + i + 1)).sum()
        else:  # irrelevant ones above it: any number of those in the block is as likely
            value += r * (1 - np.minimum(rank - above + np.arange(m - r + 1), total) / least).mean()
        rank, above = rank + m, above + r
        if rank >= k:
            break
    return value / prepared.divisor[0]


# where two documents in three are relevant: what lies deeper is less than 1e-11 of the value
LOOKED_AT = {"mrr": 50, "err": 300, "pfound": 150}


@every_ranked
@pytest.mark.parametrize("pattern", ["equal", "few values"])
def test_a_hundred_thousand_documents(name, pattern):
    n, rng = 100_000, np.random.default_rng(0)
    labels = rng.integers(0, 3, n)
    scores = {"equal": np.zeros(n), "few values": rng.integers(0, 5, n)}[pattern]
    found, of_50 = (metric(name, k)(labels, scores, group=[n]) for k in (None, 50))
    if REGISTRY[name].family == ABSORBING:
        by_rank = cascade_by_rank(name, labels, scores, LOOKED_AT[name])
        assert of_50 == pytest.approx(math.fsum(by_rank[:50]), rel=1e-10, abs=0)
        assert found == pytest.approx(math.fsum(by_rank), rel=1e-10, abs=0)
        return
    if REGISTRY[name].family != PLAIN:
        assert of_50 == pytest.approx(mean_over_ties(name, labels, scores, 50), rel=1e-10, abs=0)
    assert found == pytest.approx(mean_of_few_values(metric(name), labels, scores, n), rel=1e-10, abs=0)


@pytest.mark.parametrize("name", [name for name, entry in REGISTRY.items() if entry.family in (PLAIN, MARKED)])
@pytest.mark.parametrize("pattern", ["equal", "few values"])
def test_a_cutoff_deep_within_the_tied(name, pattern):
    n, rng = 100_000, np.random.default_rng(0)
    labels = rng.integers(0, 3, n)
    scores = {"equal": np.zeros(n), "few values": rng.integers(0, 5, n)}[pattern]
    hard = metric(name, 50_000)
    wanted = mean_of_few_values(hard, labels, scores, 50_000)
    assert hard(labels, scores, group=[n]) == pytest.approx(wanted, rel=1e-10)
