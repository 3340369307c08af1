"""Hard metrics against XGBoost's own ndcg, map, pre and auc.

The scores are the base_margin of a booster without trees, in float32. Documents of equal score come in the order of
the data; a query with nothing relevant has the value 1, or 0 under a name that ends in "-". A name without a cutoff
is cut at 32, so the whole list is a cutoff deep enough.
"""

from __future__ import annotations

import numpy as np
import pytest

from boostsoft import Metric

from .peers import SEEDS, Queries, agree, every_order, queries, tied_query
from .releases import left_out

xgb = pytest.importorskip("xgboost")

READS_GAIN = left_out(
    xgb.__version__, (3, 1), "XGBoost's ndcg before 3.1 has exponential gains, whatever ndcg_exp_gain"
)
EMPTY = {"": "one", "-": "zero"}
every_seed = pytest.mark.parametrize("seed", SEEDS)
with_and_without_ties = pytest.mark.parametrize("tied", [False, True], ids=["distinct", "tied"])


def evaluate(data: Queries, metrics, weights=None, *, grouped=True, **params) -> list[float]:
    """XGBoost's values of all queries together, or of all rows; weights are of queries or of rows."""
    shape = {"group": data.sizes} if grouped else {}
    rows = xgb.DMatrix(np.zeros((len(data.labels), 1)), data.labels, base_margin=data.scores, weight=weights, **shape)
    params = {"objective": "rank:ndcg" if grouped else "reg:squarederror", "nthread": 1, **params}
    booster = xgb.Booster({**params, "eval_metric": list(metrics), "disable_default_eval_metric": 1}, [rows])
    found = [entry.split(":") for entry in booster.eval_set([(rows, "data")]).split("\t")[1:]]
    assert [name for name, _ in found] == [f"data-{metric}" for metric in metrics]
    return [float(value) for _, value in found]


def one_by_one(data: Queries, metrics, **params) -> np.ndarray:
    """XGBoost's value of each query, a row for each metric."""
    return np.transpose([evaluate(Queries(y, s, np.array([len(y)])), metrics, **params) for y, s in data.each()])


def at_cutoffs(name: str, end: str) -> dict[str, int]:
    return {f"{name}{end}": 32} | {f"{name}@{k}{end}": k for k in (1, 3, 6, 100)}


@every_seed
@with_and_without_ties
@pytest.mark.parametrize("end", EMPTY)
@pytest.mark.parametrize("gain", ["exp2", pytest.param("linear", marks=READS_GAIN)])
def test_ndcg_of_each_query(seed, tied, end, gain):
    data, metrics = queries(seed, tied=tied), at_cutoffs("ndcg", end)
    values = one_by_one(data, metrics, ndcg_exp_gain=gain == "exp2")
    for k, wanted in zip(metrics.values(), values, strict=True):
        metric = Metric("ndcg", k=k, gain=gain, ties="order", empty=EMPTY[end])
        agree(metric.per_query(data.labels, data.scores, group=data.sizes), wanted, message=f"@{k}")


@every_seed
@with_and_without_ties
@pytest.mark.parametrize("end", EMPTY)
def test_map_of_each_query(seed, tied, end):
    """Divided by min(k, relevant): normalizer="min"."""
    data, metrics = queries(seed, top=1, tied=tied), at_cutoffs("map", end)
    for k, wanted in zip(metrics.values(), one_by_one(data, metrics), strict=True):
        metric = Metric("map", k=k, normalizer="min", ties="order", empty=EMPTY[end])
        agree(metric.per_query(data.labels, data.scores, group=data.sizes), wanted, message=f"@{k}")
        if k in (1, 3):
            other = Metric("map", k=k, ties="order", empty=EMPTY[end])
            found = other.per_query(data.labels, data.scores, group=data.sizes)
            assert np.max(np.abs(found - wanted)) > 1e-3


@every_seed
@with_and_without_ties
def test_precision_of_each_query(seed, tied):
    """XGBoost divides by min(k, n); with nothing relevant it is 0 under either name."""
    data = queries(seed, top=1, tied=tied)
    for end in EMPTY:
        metrics = at_cutoffs("pre", end)
        for k, wanted in zip(metrics.values(), one_by_one(data, metrics), strict=True):
            cut = np.minimum(k, data.sizes)
            found = Metric("precision", k=cut, ties="order").per_query(data.labels, data.scores, group=data.sizes)
            agree(found, wanted, message=f"@{k}")
            found = Metric("precision", k=k, ties="order").per_query(data.labels, data.scores, group=data.sizes)
            agree(found * k / cut, wanted, message=f"@{k}")


@pytest.mark.parametrize(("name", "peer"), [("ndcg", "ndcg"), ("map", "map"), ("precision", "pre")])
def test_a_name_without_a_cutoff_is_cut_at_32(name, peer):
    """One relevant document at rank n; the whole list is every cutoff of at least n."""
    for n in (31, 32, 33, 60):
        data = Queries(np.arange(n) // (n - 1), -np.arange(n, dtype=float), np.array([n]))
        whole = Metric(name)(data.labels, data.scores, group=data.sizes)
        assert whole > 0
        agree(evaluate(data, [peer, f"{peer}@{n}", f"{peer}@1000"]), [whole if n <= 32 else 0.0, whole, whole])


@every_seed
@with_and_without_ties
def test_the_mean_over_queries_and_its_weights(seed, tied):
    """A weight for each query, those with nothing relevant included; the next test says why not of ndcg."""
    data = queries(seed, top=1, tied=tied)
    for weights in (None, data.weights()):
        for end, empty in EMPTY.items():
            ndcg, mean_ap, precision = evaluate(data, [f"ndcg@3{end}", f"map@3{end}", f"pre@1{end}"], weights)
            options = {"group": data.sizes, "query_weight": weights}
            agree(Metric("precision@1", ties="order")(data.labels, data.scores, **options), precision)
            metric = Metric("map@3", normalizer="min", ties="order", empty=empty)
            agree(metric(data.labels, data.scores, **options), mean_ap)
            if weights is None or empty == "zero":
                agree(Metric("ndcg@3", ties="order", empty=empty)(data.labels, data.scores, **options), ndcg)


@every_seed
def test_xgboost_gives_a_query_with_nothing_relevant_weight_1_in_ndcg(seed):
    """Its sum adds 1 where it should add the query's weight, which the sum of weights holds."""
    data = queries(seed)
    weights, nothing = 2.0 + data.weights(), data.relevant() == 0
    wanted = evaluate(data, ["ndcg@3"], weights)[0]
    zero = Metric("ndcg@3", ties="order")(data.labels, data.scores, group=data.sizes, query_weight=weights)
    agree(zero + nothing.sum() / weights.sum(), wanted)
    one = Metric("ndcg@3", ties="order", empty="one")
    assert one(data.labels, data.scores, group=data.sizes, query_weight=weights) > wanted + 1e-2


def test_xgboost_refuses_an_ndcg_above_1_that_this_makes():
    """Queries with nothing relevant, all weights a half: (.5 x 1 + 1) / 1."""
    data = Queries(np.array([0, 0, 1, 0]), np.array([0.0, 1.0, 1.0, 0.0]), np.array([2, 2]))
    weights = np.array([0.5, 0.5])
    with pytest.raises(xgb.core.XGBoostError, match=r"score <= 1.0 .*1\.5 vs"):
        evaluate(data, ["ndcg@2"], weights)
    metric = Metric("ndcg@2", ties="order", empty="one")
    assert metric(data.labels, data.scores, group=data.sizes, query_weight=weights) == 1.0


@every_seed
@with_and_without_ties
def test_auc_without_queries_is_the_pooled_auc(seed, tied):
    data = queries(seed, top=1, tied=tied)
    for weights in (None, data.weights()):
        rows = None if weights is None else np.repeat(weights, data.sizes)
        found = Metric("auc", pooled=True)(data.labels, data.scores, group=data.sizes, query_weight=weights)
        agree(found, evaluate(data, ["auc"], rows, grouped=False)[0])


@every_seed
@with_and_without_ties
def test_auc_of_queries_is_one_only_where_all_labels_differ(seed, tied):
    """It counts every pair of a query, those of equal label by the order of the data as well.

    Without such pairs it is the share of pairs in order, pnr / (1 + pnr), tied scores a half.
    """
    rng = np.random.default_rng(seed)
    sizes = np.array([3, 5, 8, 12])
    data = queries(seed, sizes=tuple(sizes.tolist()), tied=tied)
    data = data._replace(labels=np.concatenate([rng.permutation(n) for n in sizes]))
    pnr = Metric("pnr").per_query(data.labels, data.scores, group=sizes)
    agree(pnr / (1 + pnr), one_by_one(data, ["auc"])[0])
    agree(np.mean(pnr / (1 + pnr)), evaluate(data, ["auc"])[0])
    alike = Queries(np.array([1, 1, 1, 0]), np.array([4.0, 3.0, 2.0, 1.0]), np.array([4]))
    assert Metric("auc")(alike.labels, alike.scores, group=[4]) == 1.0 == evaluate(alike, ["auc"])[0]
    swapped = alike._replace(scores=np.array([2.0, 3.0, 4.0, 1.0]))
    assert Metric("auc")(swapped.labels, swapped.scores, group=[4]) == 1.0
    assert evaluate(swapped, ["auc"])[0] == 0.5


def test_scores_are_read_in_float32():
    """1 + 1e-9 is 1 there: the order of the data decides."""
    data = Queries(np.array([0, 1]), np.array([1.0, 1.0 + 1e-9]), np.array([2]))
    assert Metric("map")(data.labels, data.scores, group=[2]) == 1.0
    assert evaluate(data, ["map"]) == [0.5]


@every_seed
def test_the_default_is_xgboosts_mean_over_the_orders_of_tied_documents(seed):
    query = tied_query(seed, top=1)
    orders = every_order(query)
    for name, peer, options in (("ndcg", "ndcg", {}), ("map", "map", {"normalizer": "min"}), ("precision", "pre", {})):
        values = evaluate(orders, [f"{peer}@{k}" for k in (1, 3, 6)])
        for k, wanted in zip((1, 3, 6), values, strict=True):
            agree(Metric(name, k=k, **options)(query.labels, query.scores, group=query.sizes), wanted)
