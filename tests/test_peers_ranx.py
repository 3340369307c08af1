"""Hard metrics against ranx.

ranx takes a label as the gain in ndcg and 2^label - 1 in ndcg_burges, and gives 0 to a query with nothing
relevant. Documents of equal score come in the order of a sort that is not stable, so scores are distinct here.
"""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest

from boostsoft import Metric
from boostsoft.bench.hard_cost import TARGETS, find_rivals
from boostsoft.bench.peers import Peers
from boostsoft.bench.pools import synthetic_pool
from boostsoft.bench.settings import quick

from .peers import SEEDS, Queries, agree, queries

pytestmark = pytest.mark.filterwarnings("ignore:unsafe cast from uint64 to int64:Warning")
ranx = pytest.importorskip("ranx")

GRADED = {
    "ndcg": ("ndcg", {"gain": "linear"}),
    "ndcg_burges": ("ndcg", {}),
    "dcg": ("dcg", {"gain": "linear"}),
    "dcg_burges": ("dcg", {}),
    "hits": ("cg", {"gain": (0.0, 1.0, 1.0, 1.0, 1.0)}),
}
BINARY = {"map": "map", "mrr": "mrr", "precision": "precision", "recall": "recall", "f1": "f1"}
every_seed = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture(autouse=True)
def _threads():
    """ranx sets the threads of Numba to one for fewer than ten queries, and leaves it so."""
    before = numba.get_num_threads()
    yield
    numba.set_num_threads(before)


def evaluate(metrics, data: Queries, judged=lambda label: True) -> dict[str, np.ndarray]:
    """Values by metric, one for each query: a document's id is its place in the query."""
    qrels, run = {}, {}
    for q, (labels, scores) in enumerate(data.each()):
        qrels[str(q)] = {i: int(y) for i, y in enumerate(labels) if judged(y)}
        run[str(q)] = dict(enumerate(scores.tolist()))
    return ranx.evaluate(qrels, run, [*metrics, "hits"], return_mean=False)  # of one metric alone @k is a KeyError


@every_seed
@pytest.mark.parametrize("k", [None, 1, 3, 100])
def test_graded_metrics(seed, k):
    data = queries(seed)
    at = "" if k is None else f"@{k}"
    values = evaluate((f"{peer}{at}" for peer in GRADED), data)
    for peer, (name, options) in GRADED.items():
        found = Metric(name, k=k, **options).per_query(data.labels, data.scores, group=data.sizes)
        agree(found, values[f"{peer}{at}"], message=peer)


@every_seed
@pytest.mark.parametrize("k", [None, 1, 3, 100])
@pytest.mark.parametrize("relevant_from", [1, 3])
def test_binary_metrics(seed, k, relevant_from):
    """precision and f1 divide by k where k is larger than the query, here as there; map by all relevant."""
    data = queries(seed)
    at = ("" if k is None else f"@{k}") + ("" if relevant_from == 1 else f"-l{relevant_from}")
    values = evaluate((f"{peer}{at}" for peer in BINARY), data)
    for peer, name in BINARY.items():
        metric = Metric(name, k=k, relevant_from=relevant_from)
        agree(metric.per_query(data.labels, data.scores, group=data.sizes), values[f"{peer}{at}"], message=peer)


@every_seed
def test_r_precision_and_hit_rate(seed):
    """Precision at k = the number of relevant documents; a reader who looks on until he finds one."""
    data = queries(seed)
    values = evaluate(["r-precision", "hit_rate@3"], data)
    k = np.maximum(data.relevant(), 1)
    agree(Metric("precision", k=k).per_query(data.labels, data.scores, group=data.sizes), values["r-precision"])
    hit = Metric("pfound@3", p_break=0, p_rel=[0, 1, 1, 1, 1])
    agree(hit.per_query(data.labels, data.scores, group=data.sizes), values["hit_rate@3"])


@every_seed
@pytest.mark.parametrize("p", [0.8, 0.95])
def test_rbp_of_binary_labels(seed, p):
    data = queries(seed, top=1)
    found = Metric("rbp", p=p).per_query(data.labels, data.scores, group=data.sizes)
    peer = f"rbp.{round(100 * p)}"
    agree(found, evaluate([peer], data)[peer])


@every_seed
def test_rbp_of_graded_labels_has_the_label_as_gain_in_ranx(seed):
    """Moffat and Zobel's r is 0 or 1; ranx multiplies by the label, which is a dcg with rbp's discount."""
    data = queries(seed)
    values = evaluate(["rbp.80"], data)["rbp.80"]
    graded = Metric("dcg", gain="linear", discount=lambda rank: 0.2 * 0.8 ** (rank - 1))
    agree(graded.per_query(data.labels, data.scores, group=data.sizes), values)
    assert np.max(values - Metric("rbp").per_query(data.labels, data.scores, group=data.sizes)) > 0.1


@every_seed
def test_bpref_of_queries_with_relevant_and_irrelevant_documents(seed):
    """Unjudged documents are those that ranx finds no judgment of: a label -1 would count as irrelevant."""
    data = queries(seed, sizes=(6, 8, 9, 9, 10, 11, 12, 14, 15, 20, 40))
    labels, first = data.labels - 1, np.cumsum(data.sizes) - data.sizes
    labels[first], labels[first + 1] = 0, 1
    data = data._replace(labels=labels)
    found = Metric("bpref").per_query(data.labels, data.scores, group=data.sizes)
    agree(found, evaluate(["bpref"], data, judged=lambda label: label >= 0)["bpref"])
    assert np.max(np.abs(found - evaluate(["bpref"], data)["bpref"])) > 1e-3


def test_bpref_without_irrelevant_documents_is_nan_in_ranx():
    """0/0; trec_eval gives 1 to a relevant document with nothing irrelevant above, and so do we."""
    data = Queries(np.array([1, 2]), np.array([1.0, 0.0]), np.array([2]))
    assert math.isnan(evaluate(["bpref"], data)["bpref"][0])
    assert Metric("bpref")(data.labels, data.scores, group=data.sizes) == 1.0


def test_tied_documents_come_in_no_particular_order_in_ranx():
    """The reverse of an unstable sort: among few documents the last comes first."""
    data = Queries(np.array([1, 0, 0]), np.zeros(3), np.array([3]))
    assert evaluate(["mrr"], data)["mrr"][0] == pytest.approx(1 / 3)
    assert Metric("mrr", ties="order")(data.labels, data.scores, group=data.sizes) == 1.0
    assert Metric("mrr")(data.labels, data.scores, group=data.sizes) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)


def test_what_the_bench_times_is_the_same_metric():
    pool = synthetic_pool(queries=4, documents=12)
    rivals = find_rivals(pool, quick(4, 1, 0), Peers({"ranx": "any"}, {}))
    assert [rival.metric for rival in rivals] == ["ndcg@10", "map"]
    assert {rival.name for rival in rivals} <= set(TARGETS)
    for rival in rivals:
        assert rival.run() == pytest.approx(rival.ours(pool.labels, pool.scores, group=pool.sizes), rel=1e-12)
