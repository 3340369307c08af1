"""Hard metrics against scikit-learn.

scikit-learn has ndcg, dcg, roc_auc and, for a table of queries of equal length, a mean average precision
(label_ranking_average_precision_score). It takes gains instead of labels, means over tied documents in ndcg and
dcg, and has no query groups: everything else is one call for each query.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from boostsoft import Metric

from .peers import SEEDS, Queries, agree, equal_sizes, every_order, queries, tied_query, top_k

sk = pytest.importorskip("sklearn.metrics")

CUTOFFS = (None, 1, 3, 6, 100)
every_seed = pytest.mark.parametrize("seed", SEEDS)
with_and_without_ties = pytest.mark.parametrize("tied", [False, True], ids=["distinct", "tied"])


def rows(data: Queries, values: np.ndarray) -> np.ndarray:
    return values.reshape(len(data.sizes), -1)


def per_query(function, data: Queries, undefined=math.nan):
    """The peer's value of each query, ``undefined`` where only one class is there."""
    return [function(y, s) if np.ptp(y) > 0 else undefined for y, s in data.each()]


# dcg, ndcg


@every_seed
@with_and_without_ties
@pytest.mark.parametrize("k", CUTOFFS)
@pytest.mark.parametrize("gain", ["exp2", "linear"])
def test_dcg_and_ndcg_take_gains_and_mean_over_ties(seed, tied, k, gain):
    """On all queries but those of one document, which scikit-learn refuses."""
    data = queries(seed, tied=tied)
    gains = 2.0**data.labels - 1 if gain == "exp2" else data.labels
    dcg, ndcg = (Metric(name, k=k, gain=gain) for name in ("dcg", "ndcg"))
    for g, (y, s) in zip(np.split(gains, np.cumsum(data.sizes)[:-1]), data.each(), strict=True):
        if len(y) > 1:
            agree(dcg(y, s, group=[len(y)]), sk.dcg_score([g], [s], k=k))
            agree(ndcg(y, s, group=[len(y)]), sk.ndcg_score([g], [s], k=k))
            if not tied:  # with ignore_ties equal scores come as a sort that is not stable leaves them
                agree(ndcg(y, s, group=[len(y)]), sk.ndcg_score([g], [s], k=k, ignore_ties=True))


@every_seed
@with_and_without_ties
def test_the_mean_over_queries_and_its_weights(seed, tied):
    data = equal_sizes(seed, 7, tied=tied)
    y, s = rows(data, data.labels), rows(data, data.scores)
    for k in CUTOFFS:
        options = {"group": data.sizes, "query_weight": data.weights()}
        wanted = sk.ndcg_score(y, s, k=k, sample_weight=data.weights())
        agree(Metric("ndcg", k=k, gain="linear")(data.labels, data.scores, **options), wanted)
        wanted = sk.dcg_score(y, s, k=k, sample_weight=data.weights())
        agree(Metric("dcg", k=k, gain="linear")(data.labels, data.scores, **options), wanted)


@pytest.mark.parametrize("base", [2.0, 3.0, math.e])
def test_the_base_of_the_logarithm_is_a_discount(base):
    data = equal_sizes(3, 9, tied=True)
    metric = Metric("dcg@5", gain="linear", discount=lambda rank: math.log(base) / np.log(1 + rank))
    wanted = sk.dcg_score(rows(data, data.labels), rows(data, data.scores), k=5, log_base=base)
    agree(metric(data.labels, data.scores, group=data.sizes), wanted)


def test_a_query_with_nothing_relevant_has_ndcg_0_and_one_document_none():
    """The value is that of empty="zero"; scikit-learn refuses a query of one document, whose ndcg is 1."""
    assert sk.ndcg_score([[0, 0]], [[1.0, 2.0]]) == Metric("ndcg")([0, 0], [1.0, 2.0], group=[2]) == 0.0
    with pytest.raises(ValueError, match="meaningful when there is more than 1 document"):
        sk.ndcg_score([[1]], [[1.0]])
    assert Metric("ndcg")([1], [1.0], group=[1]) == 1.0


# map, mrr, recall


@every_seed
def test_average_precision(seed):
    data = queries(seed, top=1)
    metric = Metric("map", empty="skip")
    wanted = [sk.average_precision_score(y, s) if y.any() else math.nan for y, s in data.each()]
    agree(metric.per_query(data.labels, data.scores, group=data.sizes), wanted)
    graded = queries(seed)
    wanted = [sk.average_precision_score(y >= 3, s) if (y >= 3).any() else 0.0 for y, s in graded.each()]
    agree(Metric("map", relevant_from=3).per_query(graded.labels, graded.scores, group=graded.sizes), wanted)


def test_average_precision_without_positives_warns_and_is_0():
    """That of empty="zero"."""
    with pytest.warns(UserWarning, match="No positive class found"):
        assert sk.average_precision_score([0, 0], [1.0, 2.0]) == 0.0


def test_average_precision_takes_tied_documents_as_retrieved_at_once():
    """Neither an order nor a mean over orders: with all scores tied it is the share of relevant documents.

    So scikit-learn's value of tied scores belongs to no ranking; its mean over the orders is ties="expected".
    """
    y, s = [1, 0, 0], [0.5, 0.5, 0.5]
    assert sk.average_precision_score(y, s) == pytest.approx(1 / 3)
    agree(Metric("map")(y, s, group=[3]), (1 + 1 / 2 + 1 / 3) / 3)
    for seed in SEEDS:
        query = tied_query(seed, top=1)
        orders = every_order(query)
        wanted = np.mean([sk.average_precision_score(y, s) for y, s in orders.each()])
        found = Metric("map")(query.labels, query.scores, group=query.sizes)
        agree(found, wanted)
        assert abs(found - sk.average_precision_score(query.labels, query.scores)) > 1e-3


@every_seed
@pytest.mark.parametrize("n", [1, 2, 9])
def test_label_ranking_average_precision_is_map_with_empty_one(seed, n):
    data = equal_sizes(seed, n, n_queries=12, top=1)
    y, s = rows(data, data.labels), rows(data, data.scores)
    metric = Metric("map", empty="one")
    for weights in (None, data.weights()):
        wanted = sk.label_ranking_average_precision_score(y, s, sample_weight=weights)
        agree(metric(data.labels, data.scores, group=data.sizes, query_weight=weights), wanted)


@every_seed
def test_one_relevant_document_makes_it_the_reciprocal_rank(seed):
    """And top_k_accuracy_score, whose columns are the documents, the recall."""
    data = equal_sizes(seed, 9, n_queries=10)
    relevant = np.random.default_rng(seed).integers(0, 9, 10)
    y, s = np.eye(9, dtype=int)[relevant], rows(data, data.scores)
    found = Metric("mrr")(y.ravel(), data.scores, group=data.sizes)
    agree(found, sk.label_ranking_average_precision_score(y, s))
    for k in (1, 3, 8):
        wanted = sk.top_k_accuracy_score(relevant, s, k=k, labels=np.arange(9))
        agree(Metric("recall", k=k)(y.ravel(), data.scores, group=data.sizes), wanted)


# precision, recall, f1: the top k as the predicted class


@every_seed
@pytest.mark.parametrize("k", [1, 3, 6, 100])
@pytest.mark.parametrize("relevant_from", [1, 3])
def test_precision_recall_and_f1_at_k(seed, k, relevant_from):
    """k is cut to the length of the query: scikit-learn divides by the documents predicted, not by k."""
    data = queries(seed)
    cut = np.minimum(k, data.sizes)
    for name, peer in {"precision": sk.precision_score, "recall": sk.recall_score, "f1": sk.f1_score}.items():
        wanted = [peer(y >= relevant_from, top_k(s, k), zero_division=0) for y, s in data.each()]
        metric = Metric(name, k=cut, relevant_from=relevant_from)
        agree(metric.per_query(data.labels, data.scores, group=data.sizes), wanted, message=name)


@every_seed
def test_precision_divides_by_k_where_scikit_learn_divides_by_the_query(seed):
    data = queries(seed)
    found = Metric("precision@10").per_query(data.labels, data.scores, group=data.sizes)
    wanted = [sk.precision_score(y >= 1, top_k(s, 10)) * min(10, len(y)) / 10 for y, s in data.each()]
    agree(found, wanted)


# auc, pnr


@every_seed
@with_and_without_ties
@pytest.mark.parametrize("relevant_from", [1, 3])
def test_auc_of_each_query(seed, tied, relevant_from):
    data = queries(seed, tied=tied)
    binary = data._replace(labels=(data.labels >= relevant_from).astype(int))
    metric = Metric("auc", relevant_from=relevant_from, empty="skip")
    agree(metric.per_query(data.labels, data.scores, group=data.sizes), per_query(sk.roc_auc_score, binary))


@every_seed
@with_and_without_ties
def test_pnr_of_binary_labels_is_the_odds_of_the_auc(seed, tied):
    """A pair of equal scores counts a half on both sides of both."""
    data = queries(seed, top=1, tied=tied)
    found = Metric("pnr", empty="skip").per_query(data.labels, data.scores, group=data.sizes)
    auc = np.array(per_query(sk.roc_auc_score, data))
    assert np.array_equal(np.isinf(found), auc == 1.0)
    agree(found[auc != 1], auc[auc != 1] / (1 - auc[auc != 1]))


@every_seed
@with_and_without_ties
def test_the_pooled_auc_and_pnr_with_weights(seed, tied):
    """sample_weight weighs a document with its query's weight, and so a pair with the product of two."""
    data = queries(seed, top=1, tied=tied)
    for weights in (None, data.weights()):
        rows = None if weights is None else np.repeat(weights, data.sizes)
        wanted = sk.roc_auc_score(data.labels, data.scores, sample_weight=rows)
        options = {"group": data.sizes, "query_weight": weights}
        agree(Metric("auc", pooled=True)(data.labels, data.scores, **options), wanted)
        agree(Metric("pnr", pooled=True)(data.labels, data.scores, **options), wanted / (1 - wanted))


@every_seed
@with_and_without_ties
def test_label_ranking_loss_counts_tied_pairs_as_wrong(seed, tied):
    """1 - loss is the auc with ties="worst", and 1 for a query of one class."""
    data = equal_sizes(seed, 8, n_queries=12, top=1, tied=tied)
    loss = sk.label_ranking_loss(rows(data, data.labels), rows(data, data.scores))
    agree(Metric("auc", ties="worst", empty="one")(data.labels, data.scores, group=data.sizes), 1 - loss)


def test_one_class_has_no_auc():
    """NaN and a warning, as empty="skip" has it; the default is 0."""
    with pytest.warns(UserWarning, match="Only one class"):
        assert math.isnan(sk.roc_auc_score([1, 1], [1.0, 2.0]))
    assert Metric("auc")([1, 1], [1.0, 2.0], group=[2]) == 0.0
