"""Hard metrics against ranx.

ranx takes a label as the gain in ndcg and 2^label - 1 in ndcg_burges, and gives 0 to a query with nothing
relevant. Documents of equal score come in the order of a sort that is not stable, so scores are distinct here.

It runs in a process of its own, as plain Python: its kernels would compile for a minute and a half.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from boostsoft import Metric

from .peers import SEEDS, Queries, agree, queries

pytestmark = pytest.mark.skipif(find_spec("ranx") is None, reason="ranx is not installed")

SERVER = """
import pickle, sys
import ranx
while True:
    try:
        asked = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    try:
        found = ranx.evaluate(*asked, return_mean=False)
    except Exception as error:
        found = error
    pickle.dump(found, sys.stdout.buffer)
    sys.stdout.flush()
"""
BENCH = """
import json
from boostsoft.bench.hard_cost import TARGETS, find_rivals
from boostsoft.bench.peers import Peers
from boostsoft.bench.pools import synthetic_pool
from boostsoft.bench.settings import quick
pool = synthetic_pool(queries=4, documents=12)
rivals = find_rivals(pool, quick(4, 1, 0), Peers({"ranx": "any"}, {}))
assert {rival.name for rival in rivals} <= set(TARGETS)
values = ((rival.run(), rival.ours(pool.labels, pool.scores, group=pool.sizes)) for rival in rivals)
print(json.dumps({rival.metric: pair for rival, pair in zip(rivals, values)}))
"""
PLAIN = [sys.executable, "-W", "ignore", "-c"]

GRADED = {
    "ndcg": ("ndcg", {"gain": "linear"}),
    "ndcg_burges": ("ndcg", {}),
    "dcg": ("dcg", {"gain": "linear"}),
    "dcg_burges": ("dcg", {}),
    "hits": ("cg", {"gain": (0.0, 1.0, 1.0, 1.0, 1.0)}),
}
BINARY = {"map": "map", "mrr": "mrr", "precision": "precision", "recall": "recall", "f1": "f1"}
every_seed = pytest.mark.parametrize("seed", SEEDS)


def without_compiler():
    return {**os.environ, "NUMBA_DISABLE_JIT": "1"}


@pytest.fixture(scope="module")
def evaluate():
    """A call for the values by metric, one for each query."""
    server = subprocess.Popen([*PLAIN, SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=without_compiler())

    def values(metrics, data: Queries, judged=lambda label: True) -> dict[str, np.ndarray]:
        qrels, run = {}, {}  # a document's id is its place in the query
        for q, (labels, scores) in enumerate(data.each()):
            qrels[str(q)] = {i: int(y) for i, y in enumerate(labels) if judged(y)}
            run[str(q)] = dict(enumerate(scores.tolist()))
        pickle.dump((qrels, run, [*metrics, "hits"]), server.stdin)  # of one metric alone @k is a KeyError
        server.stdin.flush()
        found = pickle.load(server.stdout)
        if isinstance(found, Exception):
            raise found
        return found

    yield values
    server.communicate(timeout=60)


@every_seed
@pytest.mark.parametrize("k", [None, 1, 3, 100])
def test_graded_metrics(seed, k, evaluate):
    data = queries(seed)
    at = "" if k is None else f"@{k}"
    values = evaluate((f"{peer}{at}" for peer in GRADED), data)
    for peer, (name, options) in GRADED.items():
        found = Metric(name, k=k, **options).per_query(data.labels, data.scores, group=data.sizes)
        agree(found, values[f"{peer}{at}"], message=peer)


@every_seed
@pytest.mark.parametrize("k", [None, 1, 3, 100])
@pytest.mark.parametrize("relevant_from", [1, 3])
def test_binary_metrics(seed, k, relevant_from, evaluate):
    """precision and f1 divide by k where k is larger than the query, here as there; map by all relevant."""
    data = queries(seed)
    at = ("" if k is None else f"@{k}") + ("" if relevant_from == 1 else f"-l{relevant_from}")
    values = evaluate((f"{peer}{at}" for peer in BINARY), data)
    for peer, name in BINARY.items():
        metric = Metric(name, k=k, relevant_from=relevant_from)
        agree(metric.per_query(data.labels, data.scores, group=data.sizes), values[f"{peer}{at}"], message=peer)


@every_seed
def test_r_precision_and_hit_rate(seed, evaluate):
    """Precision at k = the number of relevant documents; a reader who looks on until he finds one."""
    data = queries(seed)
    values = evaluate(["r-precision", "hit_rate@3"], data)
    k = np.maximum(data.relevant(), 1)
    agree(Metric("precision", k=k).per_query(data.labels, data.scores, group=data.sizes), values["r-precision"])
    hit = Metric("pfound@3", p_break=0, p_rel=[0, 1, 1, 1, 1])
    agree(hit.per_query(data.labels, data.scores, group=data.sizes), values["hit_rate@3"])


@every_seed
@pytest.mark.parametrize("p", [0.8, 0.95])
def test_rbp_of_binary_labels(seed, p, evaluate):
    data = queries(seed, top=1)
    found = Metric("rbp", p=p).per_query(data.labels, data.scores, group=data.sizes)
    peer = f"rbp.{round(100 * p)}"
    agree(found, evaluate([peer], data)[peer])


@every_seed
def test_rbp_of_graded_labels_has_the_label_as_gain_in_ranx(seed, evaluate):
    """Moffat and Zobel's r is 0 or 1; ranx multiplies by the label, which is a dcg with rbp's discount."""
    data = queries(seed)
    values = evaluate(["rbp.80"], data)["rbp.80"]
    graded = Metric("dcg", gain="linear", discount=lambda rank: 0.2 * 0.8 ** (rank - 1))
    agree(graded.per_query(data.labels, data.scores, group=data.sizes), values)
    assert np.max(values - Metric("rbp").per_query(data.labels, data.scores, group=data.sizes)) > 0.1


@every_seed
def test_bpref_of_queries_with_relevant_and_irrelevant_documents(seed, evaluate):
    """Unjudged documents are those that ranx finds no judgment of: a label -1 would count as irrelevant."""
    data = queries(seed, sizes=(6, 8, 9, 9, 10, 11, 12, 14, 15, 20, 40))
    labels, first = data.labels - 1, np.cumsum(data.sizes) - data.sizes
    labels[first], labels[first + 1] = 0, 1
    data = data._replace(labels=labels)
    found = Metric("bpref").per_query(data.labels, data.scores, group=data.sizes)
    agree(found, evaluate(["bpref"], data, judged=lambda label: label >= 0)["bpref"])
    assert np.max(np.abs(found - evaluate(["bpref"], data)["bpref"])) > 1e-3


def test_bpref_without_irrelevant_documents_is_nan_in_ranx(evaluate):
    """0/0; trec_eval gives 1 to a relevant document with nothing irrelevant above, and so do we."""
    data = Queries(np.array([1, 2]), np.array([1.0, 0.0]), np.array([2]))
    assert math.isnan(evaluate(["bpref"], data)["bpref"][0])
    assert Metric("bpref")(data.labels, data.scores, group=data.sizes) == 1.0


def test_tied_documents_come_in_no_particular_order_in_ranx(evaluate):
    """The reverse of an unstable sort: among few documents the last comes first."""
    data = Queries(np.array([1, 0, 0]), np.zeros(3), np.array([3]))
    assert evaluate(["mrr"], data)["mrr"][0] == pytest.approx(1 / 3)
    assert Metric("mrr", ties="order")(data.labels, data.scores, group=data.sizes) == 1.0
    assert Metric("mrr")(data.labels, data.scores, group=data.sizes) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)


def test_what_the_bench_times_is_the_same_metric():
    done = subprocess.run([*PLAIN, BENCH], capture_output=True, text=True, check=False, env=without_compiler())
    assert done.returncode == 0, done.stderr
    values = json.loads(done.stdout)
    assert list(values) == ["ndcg@10", "map"]
    for theirs, ours in values.values():
        assert theirs == pytest.approx(ours, rel=1e-12)
