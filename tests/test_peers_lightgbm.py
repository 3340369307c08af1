"""Hard metrics against LightGBM's own ndcg, map, auc and average_precision.

The scores are the init_score of a booster without trees, in float64. Documents of equal score come in the order of
the data, a query with nothing relevant has the value 1, and a query's weight is the mean weight of its rows.
"""

from __future__ import annotations

import numpy as np
import pytest

from boostsoft import Metric

from .peers import SEEDS, Queries, agree, every_order, queries, tied_query

lgb = pytest.importorskip("lightgbm")

CUTOFFS = [1, 3, 6, 100]
OPTIONS = {"ndcg": {}, "map": {"normalizer": "min"}}
every_seed = pytest.mark.parametrize("seed", SEEDS)
with_and_without_ties = pytest.mark.parametrize("tied", [False, True], ids=["distinct", "tied"])


def evaluate(data: Queries, metrics, weights=None, **params) -> dict[str, float]:
    """LightGBM's values by name, of all queries together."""
    rows = None if weights is None else np.repeat(weights, data.sizes)
    quiet = {"verbose": -1, "num_threads": 1}
    dataset = lgb.Dataset(
        np.zeros((len(data.labels), 1)),
        data.labels,
        group=data.sizes,
        weight=rows,
        init_score=data.scores,
        params=quiet,
    )
    params = {"objective": "none", "metric": metrics, "eval_at": CUTOFFS, **quiet, **params}
    return {name: value for _, name, value, _ in lgb.Booster(params, dataset).eval_train()}


def one_by_one(data: Queries, metrics, **params) -> dict[str, np.ndarray]:
    """LightGBM's value of each query."""
    values = [evaluate(Queries(y, s, np.array([len(y)])), metrics, **params) for y, s in data.each()]
    return {name: np.array([value[name] for value in values]) for name in values[0]}


@every_seed
@with_and_without_ties
def test_ndcg_and_map_of_each_query(seed, tied):
    """map is divided by min(k, relevant): normalizer="min". k = 100 is deeper than every query."""
    data = queries(seed, tied=tied)
    values = one_by_one(data, list(OPTIONS))
    for name, options in OPTIONS.items():
        for k in CUTOFFS:
            metric = Metric(name, k=k, ties="order", empty="one", **options)
            found = metric.per_query(data.labels, data.scores, group=data.sizes)
            agree(found, values[f"{name}@{k}"], message=f"{name}@{k}")
    agree(Metric("map", ties="order", empty="one").per_query(data.labels, data.scores, group=data.sizes),
          values["map@100"])  # fmt: skip
    other = Metric("map@3", ties="order", empty="one").per_query(data.labels, data.scores, group=data.sizes)
    assert np.max(np.abs(other - values["map@3"])) > 1e-3


@every_seed
def test_gains_are_a_table(seed):
    table = [0.0, 0.5, 3.0, 3.5, 10.0]
    data = queries(seed, tied=True)
    value = evaluate(data, "ndcg", label_gain=table)
    for k in CUTOFFS:
        metric = Metric("ndcg", k=k, gain=table, ties="order", empty="one")
        agree(metric(data.labels, data.scores, group=data.sizes), value[f"ndcg@{k}"])


def test_lightgbms_best_order_is_that_of_the_labels():
    """Ours is that of the gains. Where a higher label gains less, LightGBM's ndcg goes beyond 1."""
    table = [0.0, 3.0, 1.0]
    best, other = (Queries(np.array([1, 2]), np.array(scores), np.array([2])) for scores in ([1.0, 0.0], [0.0, 1.0]))
    ndcg, dcg = (Metric(f"{name}@3", gain=table) for name in ("ndcg", "dcg"))
    of_labels = dcg(best.labels, best.labels, group=[2])
    for data in (best, other):
        wanted = evaluate(data, "ndcg", label_gain=table)["ndcg@3"]
        agree(dcg(data.labels, data.scores, group=[2]) / of_labels, wanted)
        assert (wanted > 1) == (ndcg(data.labels, data.scores, group=[2]) == 1.0)


@every_seed
@with_and_without_ties
@pytest.mark.parametrize("name", OPTIONS)
def test_the_mean_over_queries_and_its_weights(seed, tied, name):
    """Weighted means agree on the queries with something relevant; the next test says why only there."""
    everything = queries(seed, tied=tied)
    some = np.repeat(everything.relevant() > 0, everything.sizes)
    relevant = Queries(everything.labels[some], everything.scores[some], everything.sizes[everything.relevant() > 0])
    for data, weights in ((everything, None), (relevant, relevant.weights())):
        values = evaluate(data, name, weights)
        for k in CUTOFFS:
            metric = Metric(name, k=k, ties="order", empty="one", **OPTIONS[name])
            found = metric(data.labels, data.scores, group=data.sizes, query_weight=weights)
            agree(found, values[f"{name}@{k}"])


@every_seed
def test_lightgbm_gives_a_query_with_nothing_relevant_weight_1_in_ndcg(seed):
    """Its sum adds 1 where it should add the query's weight, which the sum of weights holds; map is right."""
    data = queries(seed)
    weights, nothing = 2.0 + data.weights(), data.relevant() == 0
    values = evaluate(data, ["ndcg", "map"], weights)
    for name, options in OPTIONS.items():
        per_query = Metric(name, k=3, ties="order", **options).per_query(data.labels, data.scores, group=data.sizes)
        added = nothing if name == "ndcg" else nothing * weights
        agree((weights @ per_query + added.sum()) / weights.sum(), values[f"{name}@3"])
        metric = Metric(name, k=3, ties="order", empty="one", **options)
        difference = metric(data.labels, data.scores, group=data.sizes, query_weight=weights) - values[f"{name}@3"]
        assert (difference > 1e-2) == (name == "ndcg")


@every_seed
@with_and_without_ties
def test_auc_is_the_pooled_auc(seed, tied):
    """LightGBM's auc knows no queries; tied pairs count a half, weights weigh rows."""
    data = queries(seed, top=1, tied=tied)
    for weights in (None, data.weights()):
        found = Metric("auc", pooled=True)(data.labels, data.scores, group=data.sizes, query_weight=weights)
        agree(found, evaluate(data, "auc", weights)["auc"])


@every_seed
def test_average_precision_is_map_of_one_query_of_all_documents(seed):
    """Of distinct scores: as in scikit-learn, tied documents are retrieved at once."""
    data = queries(seed, top=1)
    found = Metric("map")(data.labels, data.scores, group=[len(data.labels)])
    agree(found, evaluate(data, "average_precision")["average_precision"])
    three = Queries(np.array([1, 0, 0]), np.zeros(3), np.array([3]))
    assert evaluate(three, "average_precision")["average_precision"] == pytest.approx(1 / 3)
    assert Metric("map")(three.labels, three.scores, group=[3]) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)


@every_seed
@pytest.mark.parametrize("name", OPTIONS)
def test_the_default_is_lightgbms_mean_over_the_orders_of_tied_documents(seed, name):
    query = tied_query(seed)
    values = evaluate(every_order(query), name)
    for k in CUTOFFS:
        found = Metric(name, k=k, **OPTIONS[name])(query.labels, query.scores, group=query.sizes)
        agree(found, values[f"{name}@{k}"])
