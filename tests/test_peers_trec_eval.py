"""Hard metrics against trec_eval, by pytrec_eval.

trec_eval takes a label as the gain (gain="linear", or 2^label - 1 given as the label), puts the larger document
id first among equal scores, keeps scores in float32, and gives 0 to a query with nothing relevant. A document
without a judgment is irrelevant everywhere but in bpref.
"""

from __future__ import annotations

import numpy as np
import pytest

from boostsoft import Metric

from .peers import SEEDS, Queries, agree, every_order, queries, tied_query

pytrec_eval = pytest.importorskip("pytrec_eval")

CUTOFFS = (1, 3, 6, 100)
SAME = {"ndcg": "ndcg", "map": "map", "mrr": "recip_rank", "bpref": "bpref"}
SAME_AT_K = {"ndcg": "ndcg_cut", "map": "map_cut", "precision": "P", "recall": "recall"}
every_seed = pytest.mark.parametrize("seed", SEEDS)


def document_ids(labels: np.ndarray, ties: str) -> list[str]:
    """Ids that make trec_eval's order of equal scores, falling ids, the one asked for."""
    n = len(labels)
    falling = np.arange(n) if ties == "order" else np.argsort(labels, kind="stable")
    ids = np.empty(n, dtype=object)
    ids[falling] = [f"{n - place:06d}" for place in range(n)]
    return ids.tolist()


def trec_eval(measures, data: Queries, *, relevant_from=1, ties="order", judged=None, retrieved=None):
    """Values by measure, one for each query: measures as "map" or "map_cut.3", only judged documents judged."""
    qrels, run = {}, {}
    for q, (labels, scores) in enumerate(data.each()):
        ids = document_ids(labels, ties)
        best = np.argsort(-scores, kind="stable")[: None if retrieved is None else retrieved]
        known = [i for i in range(len(labels)) if judged is None or judged(labels[i])]
        qrels[str(q)] = {ids[i]: int(labels[i]) for i in known}
        run[str(q)] = {ids[i]: float(scores[i]) for i in best}
    found = pytrec_eval.RelevanceEvaluator(qrels, set(measures), relevance_level=relevant_from).evaluate(run)
    names = {measure: measure.replace(".", "_") for measure in measures}
    return {m: np.array([found[str(q)][name] for q in range(len(data.sizes))]) for m, name in names.items()}


def options_of(name, relevant_from=1):
    return {"gain": "linear"} if name == "ndcg" else {"relevant_from": relevant_from}


@every_seed
@pytest.mark.parametrize("ties", ["order", "worst"])
@pytest.mark.parametrize("relevant_from", [1, 2])
def test_every_metric_that_both_have(seed, ties, relevant_from):
    """Tied scores: in document order by falling ids, and the least relevant first by ids that follow the labels."""
    data = queries(seed, tied=True)
    whole = trec_eval(SAME.values(), data, relevant_from=relevant_from, ties=ties)
    for name, measure in SAME.items():
        metric = Metric(name, ties=ties, **options_of(name, relevant_from))
        agree(metric.per_query(data.labels, data.scores, group=data.sizes), whole[measure], message=name)
    measures = [f"{measure}.{k}" for measure in SAME_AT_K.values() for k in CUTOFFS]
    cut = trec_eval(measures, data, relevant_from=relevant_from, ties=ties)
    for name, measure in SAME_AT_K.items():
        for k in CUTOFFS:
            metric = Metric(name, k=k, ties=ties, **options_of(name, relevant_from))
            found = metric.per_query(data.labels, data.scores, group=data.sizes)
            agree(found, cut[f"{measure}.{k}"], message=f"{name}@{k}")


@every_seed
def test_gains_are_labels(seed):
    """trec_eval has no gain of its own: 2^label - 1 as the label is the default gain here."""
    data = queries(seed)
    gains = data._replace(labels=2**data.labels - 1)
    for measure, k in (("ndcg", None), ("ndcg_cut.4", 4)):
        found = Metric("ndcg", k=k).per_query(data.labels, data.scores, group=data.sizes)
        agree(found, trec_eval([measure], gains)[measure])
        assert np.max(np.abs(found - trec_eval([measure], data)[measure])) > 1e-3


@every_seed
@pytest.mark.parametrize("k", CUTOFFS)
def test_a_run_cut_to_k_documents_is_a_cutoff(seed, k):
    """Of the measures that trec_eval does not cut itself; set_F divides by the documents retrieved, min(k, n)."""
    data = queries(seed)
    cut = trec_eval(["recip_rank", "bpref", "set_F"], data, retrieved=k)
    for name, measure, cutoff in (
        ("mrr", "recip_rank", k), ("bpref", "bpref", k), ("f1", "set_F", np.minimum(k, data.sizes)),
    ):  # fmt: skip
        agree(Metric(name, k=cutoff).per_query(data.labels, data.scores, group=data.sizes), cut[measure], message=name)


@every_seed
@pytest.mark.parametrize("relevant_from", [1, 2])
def test_documents_that_a_run_lacks_earn_nothing_behind_the_cutoff(seed, relevant_from):
    """Scores below all others, and k = the documents retrieved; the best order of ndcg is still that of all."""
    data = queries(seed)
    n = (data.sizes + 1) // 2
    lacking = np.concatenate([np.argsort(np.argsort(-s)) >= few for (_, s), few in zip(data.each(), n, strict=True)])
    scores = np.where(lacking, -100.0, data.scores)
    whole = [trec_eval([*SAME.values(), "recall.3"], Queries(y, s, np.array([len(y)])), retrieved=few,
                       relevant_from=relevant_from) for (y, s), few in zip(data.each(), n, strict=True)]  # fmt: skip
    wanted = {measure: np.concatenate([values[measure] for values in whole]) for measure in whole[0]}
    for name, measure, k in (("map", "map", n), ("mrr", "recip_rank", n), ("bpref", "bpref", n),
                             ("recall", "recall.3", np.minimum(n, 3))):  # fmt: skip
        metric = Metric(name, k=k, relevant_from=relevant_from)
        agree(metric.per_query(data.labels, scores, group=data.sizes), wanted[measure], message=name)
    best = Metric("dcg", gain="linear").per_query(data.labels, data.labels, group=data.sizes)
    found = Metric("dcg", k=n, gain="linear").per_query(data.labels, scores, group=data.sizes)
    agree(found / np.where(best > 0, best, 1), wanted["ndcg"])


@every_seed
def test_success_is_a_reciprocal_rank_above_0(seed):
    data = queries(seed)
    for k in CUTOFFS:
        found = Metric("mrr", k=k).per_query(data.labels, data.scores, group=data.sizes)
        assert np.array_equal(found > 0, trec_eval([f"success.{k}"], data)[f"success.{k}"] == 1)


@every_seed
@pytest.mark.parametrize("relevant_from", [1, 3])
def test_r_precision_is_precision_at_the_number_of_relevant_documents(seed, relevant_from):
    data = queries(seed)
    k = np.maximum(data.relevant(relevant_from), 1)
    wanted = trec_eval(["Rprec"], data, relevant_from=relevant_from)["Rprec"]
    for name in ("precision", "recall", "f1"):
        metric = Metric(name, k=k, relevant_from=relevant_from)
        agree(metric.per_query(data.labels, data.scores, group=data.sizes), wanted, message=name)


@every_seed
@pytest.mark.parametrize("by", ["label", "absence"])
def test_bpref_ignores_unjudged_documents(seed, by):
    """Label -1 is trec_eval's mark of a document not judged; one that is not in the judgments is the same."""
    data = queries(seed, sizes=(6, 9, 12, 15, 20, 40))
    data = data._replace(labels=data.labels - 1)
    assert (data.labels < 0).any()
    judged = (lambda label: label >= 0) if by == "absence" else None
    wanted = trec_eval(["bpref", "map", "recip_rank", "P.3"], data, judged=judged)
    found = Metric("bpref").per_query(data.labels, data.scores, group=data.sizes)
    agree(found, wanted["bpref"])
    for name, measure in (("map", "map"), ("mrr", "recip_rank"), ("precision@3", "P.3")):
        agree(Metric(name).per_query(data.labels, data.scores, group=data.sizes), wanted[measure], message=name)
    irrelevant = np.maximum(data.labels, 0)
    assert np.max(np.abs(found - Metric("bpref").per_query(irrelevant, data.scores, group=data.sizes))) > 1e-3


@pytest.mark.parametrize("labels", [[1, 0, 0, 0, 1], [0, 0, 0, 1, 1], [1, 1, 0], [0, 1, 1, 1], [1, 1], [0, 1], [0, 0]])
def test_bpref_counts_at_most_r_nonrelevant_documents_above(labels):
    """More irrelevant documents than relevant ones, fewer, and none."""
    data = Queries(np.array(labels), -np.arange(len(labels), dtype=float), np.array([len(labels)]))
    agree(Metric("bpref").per_query(data.labels, data.scores, group=data.sizes), trec_eval(["bpref"], data)["bpref"])


@every_seed
def test_the_default_is_trec_evals_mean_over_the_orders_of_tied_documents(seed):
    """trec_eval judges the one order that the ids give; over all orders its mean is ties="expected"."""
    query = tied_query(seed)
    orders = every_order(query)
    cut = {name: f"{measure}.4" for name, measure in SAME_AT_K.items()}
    values = trec_eval([*SAME.values(), *cut.values()], orders)
    for measures, k in ((SAME, None), (cut, 4)):
        for name, measure in measures.items():
            found = Metric(name, k=k, **options_of(name))(query.labels, query.scores, group=query.sizes)
            agree(found, values[measure].mean(), message=name)
    for name, measure in (("mrr", "recip_rank"), ("bpref", "bpref"), ("f1", "set_F")):
        found = Metric(name, k=4)(query.labels, query.scores, group=query.sizes)
        agree(found, trec_eval([measure], orders, retrieved=4)[measure].mean(), message=f"{name}@4")


def test_scores_that_float32_cannot_tell_apart_are_tied_in_trec_eval():
    """1 and 1 + 1e-9 order by id there, by score here."""
    data = Queries(np.array([1, 0]), np.array([1.0 + 1e-9, 1.0]), np.array([2]))
    assert Metric("map")(data.labels, data.scores, group=[2]) == 1.0
    assert trec_eval(["map"], data, ties="order")["map"][0] == 1.0
    assert trec_eval(["map"], data, ties="worst")["map"][0] == 0.5
    apart = data._replace(scores=np.array([1.0 + 1e-6, 1.0]))
    assert trec_eval(["map"], apart, ties="worst")["map"][0] == 1.0


def test_the_mean_is_over_all_queries():
    """pytrec_eval averages every query; trec_eval itself leaves out those with nothing relevant: empty="skip"."""
    data = queries(0)
    values = trec_eval(["map"], data)["map"]
    agree(Metric("map")(data.labels, data.scores, group=data.sizes), values.mean())
    some = data.relevant() > 0
    agree(Metric("map", empty="skip")(data.labels, data.scores, group=data.sizes), values[some].mean())
