"""Hard metrics against CatBoost's, by catboost.utils.eval_metric.

CatBoost puts the least relevant of equal scores first (ties="worst"), except in the two AUCs, where a tied pair
counts a half. Labels are read in float32, scores in float64.
"""

from __future__ import annotations

import numpy as np
import pytest

from boostsoft import Metric

from .peers import SEEDS, Queries, agree, every_order, queries, tied_query

eval_metric = pytest.importorskip("catboost.utils").eval_metric

every_seed = pytest.mark.parametrize("seed", SEEDS)
with_and_without_ties = pytest.mark.parametrize("tied", [False, True], ids=["distinct", "tied"])
# CatBoost's name, ours, and the options that a query's value takes; labels are 0 to 4
GRADED = [
    ("NDCG", "ndcg", {"gain": "linear", "empty": "one"}),
    ("NDCG:type=Exp", "ndcg", {"empty": "one"}),
    ("NDCG:type=Exp;top=3", "ndcg@3", {"empty": "one"}),
    ("NDCG:denominator=Position", "ndcg", {"gain": "linear", "discount": "reciprocal", "empty": "one"}),
    ("NDCG:type=Exp;denominator=Position;top=100", "ndcg@100", {"discount": "reciprocal", "empty": "one"}),
    ("DCG", "dcg", {"gain": "linear"}),
    ("DCG:type=Exp;top=3", "dcg@3", {}),
    ("DCG:denominator=Position;top=6", "dcg@6", {"gain": "linear", "discount": "reciprocal"}),
    ("MRR", "mrr", {}),
    ("MRR:top=2", "mrr@2", {}),
    ("MRR:border=2.5", "mrr", {"relevant_from": 3}),
    ("MAP", "map", {}),
    ("MAP:top=3", "map@3", {"normalizer": "min"}),
    ("MAP:top=100", "map@100", {"normalizer": "min"}),
    ("MAP:top=3;border=1.5", "map@3", {"normalizer": "min", "relevant_from": 2}),
    ("RecallAt", "recall", {"empty": "one"}),
    ("RecallAt:top=3", "recall@3", {"empty": "one"}),
    ("RecallAt:top=3;border=2.5", "recall@3", {"relevant_from": 3, "empty": "one"}),
    ("PrecisionAt", "precision", {}),
    ("PrecisionAt:top=1;border=1.5", "precision@1", {"relevant_from": 2}),
]
# labels are probabilities
CASCADES = [
    ("PFound", "pfound", {}),
    ("PFound:top=3", "pfound@3", {}),
    ("PFound:decay=0.6;top=100", "pfound@100", {"p_break": 0.4}),
    ("PFound:decay=1", "pfound", {"p_break": 0.0}),
    ("ERR", "err", {"p_rel": "label"}),
    ("ERR:top=1", "err@1", {"p_rel": "label"}),
    ("ERR:top=3", "err@3", {"p_rel": "label"}),
    ("ERR:top=100", "err@100", {"p_rel": "label"}),
]


def evaluate(metric, data: Queries, **weights) -> float:
    """CatBoost's value of all queries together; weight and group_weight are of documents."""
    return eval_metric(data.labels, data.scores, metric, group_id=data.qid, thread_count=1, **weights)[0]


def one_by_one(metric, data: Queries) -> np.ndarray:
    """CatBoost's value of each query."""
    return np.array([evaluate(metric, Queries(y, s, np.array([len(y)]))) for y, s in data.each()])


def grades_and_probabilities(seed, tied):
    """Grades, and the same documents with multiples of 1/16 below 1 as labels, exact in float32."""
    graded = queries(seed, tied=tied)
    return graded, graded._replace(labels=(2.0**graded.labels - 1) / 16)


@every_seed
@with_and_without_ties
@pytest.mark.parametrize(("peer", "name", "options"), GRADED + CASCADES)
def test_every_query_and_the_mean(seed, tied, peer, name, options):
    data = grades_and_probabilities(seed, tied)[(peer, name, options) in CASCADES]
    metric = Metric(name, ties="worst", **options)
    agree(metric.per_query(data.labels, data.scores, group=data.sizes), one_by_one(peer, data))
    agree(metric(data.labels, data.scores, group=data.sizes), evaluate(peer, data))
    if tied and peer in ("NDCG", "DCG", "MAP", "ERR", "PFound"):
        other = Metric(name, **options).per_query(data.labels, data.scores, group=data.sizes)
        assert np.max(np.abs(other - one_by_one(peer, data))) > 1e-3


@every_seed
@with_and_without_ties
def test_err_of_grades_is_catboosts_of_their_probabilities(seed, tied):
    """CatBoost takes the probability as the label; the default here is (2^label - 1) / 16 of the grade."""
    graded, probabilities = grades_and_probabilities(seed, tied)
    for k, peer in ((None, "ERR"), (3, "ERR:top=3")):
        found = Metric("err", k=k, ties="worst").per_query(graded.labels, graded.scores, group=graded.sizes)
        agree(found, one_by_one(peer, probabilities))


@every_seed
def test_pfound_by_a_table_of_probabilities(seed):
    """0.14 and its like are not float32 numbers: what CatBoost rounds, the table rounds here."""
    table = np.float32([0.0, 0.07, 0.14, 0.41, 0.61]).astype(float)
    data = queries(seed, tied=True)
    found = Metric("pfound", p_rel=table, ties="worst").per_query(data.labels, data.scores, group=data.sizes)
    wanted = one_by_one("PFound", data._replace(labels=table[data.labels]))
    agree(found, wanted)
    exact = Metric("pfound", p_rel=[0.0, 0.07, 0.14, 0.41, 0.61], ties="worst")
    difference = np.max(np.abs(exact.per_query(data.labels, data.scores, group=data.sizes) - wanted))
    assert 1e-10 < difference < 1e-7


@every_seed
@with_and_without_ties
@pytest.mark.parametrize("k", [3, 100])
def test_precision_and_average_gain_divide_by_the_length_of_a_shorter_query(seed, tied, k):
    data = queries(seed, tied=tied)
    cut = np.minimum(k, data.sizes)
    found = Metric("precision", k=cut, ties="worst").per_query(data.labels, data.scores, group=data.sizes)
    agree(found, one_by_one(f"PrecisionAt:top={k}", data))
    found = Metric("cg", k=k, gain="linear", ties="worst").per_query(data.labels, data.scores, group=data.sizes)
    agree(found / cut, one_by_one(f"QueryAverage:top={k}", data))


@every_seed
@with_and_without_ties
def test_auc_and_pnr(seed, tied):
    """Tied pairs count a half. Of grades, type=Ranking is the share of pairs in order: pnr / (1 + pnr)."""
    graded, binary = queries(seed, tied=tied), queries(seed, top=1, tied=tied)
    found = Metric("auc").per_query(binary.labels, binary.scores, group=binary.sizes)
    agree(found, one_by_one("QueryAUC", binary))
    agree(found, one_by_one("QueryAUC:type=Ranking", binary))
    agree(Metric("auc", pooled=True)(binary.labels, binary.scores, group=binary.sizes), evaluate("AUC", binary))
    pnr = Metric("pnr").per_query(graded.labels, graded.scores, group=graded.sizes)
    agree(1 - 1 / (1 + pnr), one_by_one("QueryAUC:type=Ranking", graded))
    pnr = Metric("pnr", pooled=True)(graded.labels, graded.scores, group=graded.sizes)
    agree(pnr / (1 + pnr), evaluate("AUC:type=Ranking", graded))


@every_seed
def test_weights(seed):
    """group_weight weighs queries and weight the documents of the pooled auc; the rest takes no weights."""
    graded, probabilities = grades_and_probabilities(seed, True)
    binary, weights = queries(seed, top=1, tied=True), graded.weights()
    rows = np.repeat(weights, graded.sizes)
    for peer, name, options in GRADED + CASCADES:
        data = probabilities if (peer, name, options) in CASCADES else graded
        taken = None if peer.startswith(("MAP", "PrecisionAt", "RecallAt")) else weights
        found = Metric(name, ties="worst", **options)(data.labels, data.scores, group=data.sizes, query_weight=taken)
        agree(found, evaluate(peer, data, group_weight=rows), message=peer)
    options = {"group": binary.sizes, "query_weight": weights}
    found = Metric("auc")(binary.labels, binary.scores, **options)
    agree(found, evaluate("QueryAUC:use_weights=true", binary, group_weight=rows))
    found = Metric("auc", pooled=True)(binary.labels, binary.scores, **options)
    agree(found, evaluate("AUC", binary, weight=rows))


@every_seed
def test_the_default_is_catboosts_mean_over_the_orders_of_tied_documents(seed):
    query = tied_query(seed)
    orders = every_order(query)
    for peer, name, options in GRADED + CASCADES:
        if (peer, name, options) in CASCADES:
            scale = {"p_rel": lambda labels: labels / 16}
            found = Metric(name, **{**options, **scale})(query.labels, query.scores, group=query.sizes)
            agree(found, evaluate(peer, orders._replace(labels=orders.labels / 16)), message=peer)
        else:
            found = Metric(name, **options)(query.labels, query.scores, group=query.sizes)
            agree(found, evaluate(peer, orders), message=peer)
