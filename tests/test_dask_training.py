"""LightGBM and XGBoost on a Dask cluster of two worker processes."""

from __future__ import annotations

import asyncio
import re
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import boostsoft as bs
import boostsoft.dask as bd
import boostsoft.lightgbm as bl
import boostsoft.xgboost as bx
from boostsoft.dask.parts import keep
from boostsoft.dask.watch import Cluster, run_watched
from boostsoft.dask.xgboost import OnWorker
from boostsoft.kernels.threads import limit

from .releases import left_out

dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")
lgb = pytest.importorskip("lightgbm")
xgb = pytest.importorskip("xgboost")
dxgb = pytest.importorskip("xgboost.dask")

pytestmark = [
    # DaskLGBMRanker says so of its own default n_jobs
    pytest.mark.filterwarnings("ignore:Parameter n_jobs will be ignored:UserWarning"),
    pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated"),
]

FEATURES = ["a", "b", "c"]
# of 80 queries: 400 rows in each of four partitions, none like another
SIZES = np.repeat([[10, 30], [15, 25], [5, 35], [12, 28]], 10, axis=0).ravel()
SPREAD = bs.SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread")
# min_child_samples: several workers count a leaf's rows by their curvature, one worker counts them as they are
LIGHTGBM = {
    "n_estimators": 20, "num_leaves": 7, "min_child_samples": 1, "verbose": -1, "metric": "None", "time_out": 1,
}  # fmt: skip
XGBOOST = {"eta": 0.3, "max_depth": 3, "seed": 0}


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="2GiB", dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def table(steps=None):
    """Features of few values, if ``steps`` are given, have the same bins on any part of the rows."""
    rng = np.random.default_rng(0)
    n = SIZES.sum()
    X = rng.normal(size=(n, 3))
    if steps:
        X = np.clip(np.round(X * steps), -2 * steps, 2 * steps) / steps
    y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(scale=0.5, size=n), [0.0, 1.0, 2.0])
    whole = pd.DataFrame(X, columns=FEATURES)
    return whole.assign(
        y=y, qid=np.repeat(rng.permutation(80), SIZES), weight=np.repeat(1.0 + np.arange(80) % 3, SIZES)
    )


def spread_out(client, whole, npartitions):
    """A persisted frame on as many workers as it can be."""
    frame = dd.from_pandas(whole, npartitions=npartitions, sort=False).persist()
    distributed.wait(frame)
    workers = {one for held in client.who_has(frame).values() for one in held}
    assert len(workers) == min(npartitions, 2)
    return frame


@pytest.fixture(scope="module")
def frames(client):
    """The same data on one worker and on two."""
    whole = table(steps=4)
    return [spread_out(client, whole, npartitions) for npartitions in (1, 4)]


@pytest.fixture(scope="module")
def frame(client):
    return spread_out(client, table(), 4)


def ranker(**params):
    return lgb.DaskLGBMRanker(**{"objective": bl.sklearn_objective("ndcg@10"), **LIGHTGBM, **params})


def first_tree(model):
    """Splits and leaves of the first tree: leaves are sums of gradients by sums of curvatures."""
    tree = model.booster_.trees_to_dataframe().query("tree_index == 0")
    return tree[["split_feature", "threshold", "value", "weight"]]


def test_features_may_be_sparse(client, frames):
    """What both engines take: an array whose blocks are matrices of SciPy."""
    frame = frames[1]
    y, qid = (frame[name].to_dask_array(lengths=True) for name in ("y", "qid"))
    dense = frame[FEATURES].to_dask_array(lengths=True) + 3  # no 0, which a sparse matrix would leave out
    X = dense.map_blocks(sparse.csr_matrix)
    found = [bd.train_xgboost(client, XGBOOST, given, y, qid, 3)["booster"] for given in (dense, X)]
    assert_alike(found, dense.compute())
    assert bd.fit_lightgbm(ranker(n_estimators=3), X, y, qid).booster_.num_trees() == 3


def assert_alike(boosters, X):
    """Of the same trees, but for what the order of sums makes of their leaves: partitions land on either worker."""
    one, other = (booster.predict(xgb.DMatrix(X)) for booster in boosters)
    assert np.unique(one).size > 10
    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_lightgbm_gets_the_same_gradients_on_one_worker_and_on_two(client, frames, weighted):
    trees = []
    for frame in frames:
        weight = frame["weight"] if weighted else None
        model = bd.fit_lightgbm(ranker(n_estimators=1), frame[FEATURES], frame["y"], frame["qid"], sample_weight=weight)
        trees.append(first_tree(model))
    whole = table(steps=4)
    alone = lgb.LGBMRanker(**{**LIGHTGBM, "n_estimators": 1}, objective=bl.sklearn_objective("ndcg@10"))
    alone.fit(whole[FEATURES], whole["y"], group=SIZES, sample_weight=whole["weight"] if weighted else None)
    assert len(trees[0]) > 5
    for tree in trees:
        pd.testing.assert_frame_equal(tree, first_tree(alone), rtol=1e-6, check_dtype=False)


def test_what_a_ranker_gives_train_is_for_a_cluster_too(client, frames):
    X, y, qid = frames[1][FEATURES], frames[1]["y"], frames[1]["qid"]
    ranker = bs.SoftRanker("xgboost", n_estimators=1, num_leaves=7, n_boosters=1, random_trees=False, losses=None)
    given = ranker.train_arguments(y.compute(), qid=qid.compute())
    found = bd.train_xgboost(client, given["params"], X, y, qid, given["num_boost_round"], obj=given["obj"])
    whole = table(steps=4)
    alone = ranker.fit(whole[FEATURES], whole["y"], qid=whole["qid"]).booster_
    one, other = (booster.trees_to_dataframe() for booster in (found["booster"], alone))
    assert len(one) > 5
    pd.testing.assert_frame_equal(one, other, rtol=1e-4)  # float32 sums


@pytest.mark.parametrize("weighted", [False, True])
def test_xgboost_gets_the_same_gradients_on_one_worker_and_on_two(client, frames, weighted):
    trees = []
    for frame in frames:
        weight, qid = (frame["weight"], frame["qid"].astype(str)) if weighted else (None, frame["qid"])
        found = bd.train_xgboost(client, XGBOOST, frame[FEATURES], frame["y"], qid, 1, weight=weight)
        trees.append(found["booster"].trees_to_dataframe()[["Feature", "Split", "Gain", "Cover"]])
    whole = table(steps=4)
    data = xgb.DMatrix(whole[FEATURES], whole["y"], group=SIZES)
    if weighted:
        data.set_weight(whole.drop_duplicates("qid")["weight"])
    alone = bx.train(XGBOOST, data, 1, verbose_eval=False).trees_to_dataframe()
    assert len(alone) > 5
    for tree in trees:
        pd.testing.assert_frame_equal(tree, alone[tree.columns], rtol=1e-4)  # float32 sums


def alone_ndcg(booster, whole):
    data = {"group": SIZES}
    if booster == "lightgbm":
        model = lgb.LGBMRanker(**LIGHTGBM, objective=bl.sklearn_objective("ndcg@10"))
        scores = model.fit(whole[FEATURES], whole["y"], **data).predict(whole[FEATURES])
    else:
        matrix = xgb.DMatrix(whole[FEATURES], whole["y"], **data)
        scores = bx.train(XGBOOST, matrix, 20, verbose_eval=False).predict(matrix)
    return bs.Metric("ndcg@10").per_query(whole["y"], scores, **data)


def assert_as_good(scores, booster):
    """Mean NDCG@10 of the queries is that of one machine, within three standard errors of their differences."""
    whole, scores = table(), scores.compute()
    found = bs.Metric("ndcg@10").per_query(whole["y"], scores, qid=whole["qid"])
    change = found - alone_ndcg(booster, whole)
    assert abs(change.mean()) < 3.0 * change.std() / len(change) ** 0.5 + 1e-9
    assert found.mean() > 0.8


def test_a_lightgbm_model_ranks_as_well_on_two_workers(client, frame):
    model = ranker(client=client)
    objective, rule = model.objective, model.objective.rule
    fitted = bd.fit_lightgbm(model, frame[FEATURES], frame["y"], frame["qid"])
    assert fitted is model
    assert model.objective is objective
    assert objective.rule is rule
    assert model.client is client
    scores = model.predict(frame[FEATURES])
    assert_as_good(scores, "lightgbm")
    whole = table()
    np.testing.assert_array_equal(model.to_local().predict(whole[FEATURES]), scores.compute())


def test_an_xgboost_model_ranks_as_well_on_two_workers(client, frame):
    X, y, qid = frame[FEATURES], frame["y"], frame["qid"]
    found = bd.train_xgboost(client, XGBOOST, X, y, qid, 20)
    assert_as_good(dxgb.predict(client, found, X), "xgboost")


def test_xgboost_takes_labels_as_a_frame_and_goes_on_from_what_it_returned(client, frame):
    X, y, qid = frame[FEATURES], frame["y"], frame["qid"]
    first = bd.train_xgboost(client, XGBOOST, X, frame[["y"]], qid, 2)
    assert first["booster"].save_raw() == bd.train_xgboost(client, XGBOOST, X, y, qid, 2)["booster"].save_raw()
    more = [bd.train_xgboost(client, XGBOOST, X, y, qid, 1, xgb_model=one) for one in (first, first["booster"])]
    assert [found["booster"].num_boosted_rounds() for found in more] == [3, 3]
    assert more[0]["booster"].save_raw() == more[1]["booster"].save_raw()


def test_an_xgboost_model_that_is_continued_keeps_what_its_scores_start_from(client, frame):
    whole = table()
    counts = xgb.DMatrix(whole[FEATURES], whole["y"])
    start = xgb.train({"objective": "count:poisson", "base_score": 0.3}, counts, 3)
    X, y, qid = frame[FEATURES], frame["y"], frame["qid"]
    booster = bd.train_xgboost(client, XGBOOST, X, y, qid, 2, xgb_model=start)["booster"]
    assert booster.num_boosted_rounds() == 5
    raw = [model.predict(counts, output_margin=True) for model in (booster[:3], start)]
    np.testing.assert_allclose(*raw, rtol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_xgboosts_log_is_of_the_queries_of_all_workers(client, frame, weighted):
    """Hard, and soft in units of the pooled spread, on parts of unequal size; one set lies on one worker alone."""
    first = client.persist(frame.partitions[0])
    sets = {"train": frame, "first": first}
    evals = {
        name: (part[FEATURES], part["y"], part["qid"], *([part["weight"]] if weighted else []))
        for name, part in sets.items()
    }
    found = bd.train_xgboost(
        client, XGBOOST, *evals["train"][:3], 3, weight=frame["weight"] if weighted else None, evals=evals,
        custom_metric=["ndcg@10", "mrr", SPREAD], verbose_eval=False,
    )  # fmt: skip
    for name, part in sets.items():
        scores = dxgb.predict(client, found, part[FEATURES])
        weight = part["weight"] if weighted else None
        for metric, logged in (("ndcg@10", "ndcg_hard@10"), ("mrr", "mrr_hard"), (SPREAD, "ndcg_gaussian@10")):
            over_all = bd.evaluate(metric, part["y"], scores, part["qid"], weight=weight)
            assert found["history"][name][logged][-1] == pytest.approx(over_all, abs=2e-6)  # six decimals are logged


@left_out(xgb.__version__, (3, 0), "XGBoost before 3.0 may join partitions in another order than the ids'")
def test_xgboosts_own_engine_takes_the_same_callables(client, frame):
    data = dxgb.DaskDMatrix(client, frame[FEATURES], frame["y"], qid=frame["qid"])
    found = dxgb.train(
        client, {**XGBOOST, "base_score": 0, "disable_default_eval_metric": True}, data, 3,
        obj=bx.objective("ndcg@10"), custom_metric=bx.custom_metric(SPREAD), evals=[(data, "train")],
        verbose_eval=False,
    )  # fmt: skip
    scores = dxgb.predict(client, found, frame[FEATURES])
    over_all = bd.evaluate(SPREAD, frame["y"], scores, frame["qid"])
    assert found["history"]["train"]["ndcg_gaussian@10"][-1] == pytest.approx(over_all, abs=2e-6)


def test_lightgbms_own_engine_takes_the_same_callables(client, frames):
    frame = frames[1]  # of few values: which worker finds a feature's bins is a matter of chance
    model = ranker(n_estimators=3)
    model.fit(frame[FEATURES], frame["y"], group=bd.group_sizes(frame["qid"]))
    ours = bd.fit_lightgbm(ranker(n_estimators=3), frame[FEATURES], frame["y"], frame["qid"])
    assert model.booster_.num_trees() == 3
    np.testing.assert_allclose(*(one.predict(frame[FEATURES]).compute() for one in (model, ours)), rtol=1e-9)


def test_xgboost_stops_early_on_all_workers_at_once(client, frame):
    """Recall is no metric that XGBoost would maximise by its name."""
    train, valid = frame.partitions[[0, 1]], frame.partitions[[2, 3]]
    sets = [client.persist(part) for part in (train, valid)]
    (X, y, qid), held = ((part[FEATURES], part["y"], part["qid"]) for part in sets)
    found = bd.train_xgboost(
        client, {**XGBOOST, "eta": 1.0}, X, y, qid, 200, evals={"valid": held}, early_stopping_rounds=3,
        custom_metric=bs.Metric("recall@3", relevant_from=2), verbose_eval=False,
    )  # fmt: skip
    history = found["history"]["valid"]["recall_hard@3"]
    assert len(history) < 200
    assert found["booster"].best_iteration == int(np.argmax(history)) == len(history) - 4


def test_a_part_may_have_nothing_to_learn(client, frames):
    """The queries of one worker have labels, or weights, all alike; those of the other are learned from."""
    whole = table(steps=4)
    for column in ("y", "weight"):
        flat = whole.assign(**{column: whole[column].where(np.arange(len(whole)) < 800, 0)})
        frame = spread_out(client, flat, 2)
        X, y, qid, weight = frame[FEATURES], frame["y"], frame["qid"], frame["weight"]
        model = bd.fit_lightgbm(ranker(n_estimators=1), X, y, qid, sample_weight=weight)
        assert len(first_tree(model)) > 5
        found = bd.train_xgboost(
            client, XGBOOST, X, y, qid, 1, weight=weight, evals={"train": (X, y, qid, weight)}, verbose_eval=False
        )
        assert len(found["booster"].trees_to_dataframe()) > 5
        over_all = bd.evaluate("ndcg@10", y, dxgb.predict(client, found, X), qid, weight=weight)
        assert found["history"]["train"]["ndcg_hard@10"] == pytest.approx([over_all], abs=2e-6)
    nothing = spread_out(client, whole.assign(y=1), 2)
    for train in (bd.fit_lightgbm, bd.train_xgboost):
        first = [ranker()] if train is bd.fit_lightgbm else [client, XGBOOST]
        with pytest.raises(ValueError, match=f"{train.__name__}: there is nothing to learn"):
            train(*first, nothing[FEATURES], nothing["y"], nothing["qid"])


def test_a_split_query_raises_before_training(client):
    whole = table()
    frame = spread_out(client, whole, 3)
    X, y, qid = frame[FEATURES], frame["y"], frame["qid"]
    borders = [int(whole["qid"].iloc[len(part)]) for part in frame.partitions][:1]
    model = ranker()
    told = rf"a query must lie within one partition; qid {borders[0]} is in partitions 0 and 1 \(2 of 80"
    with pytest.raises(ValueError, match="fit_lightgbm: " + told):
        bd.fit_lightgbm(model, X, y, qid)
    assert not hasattr(model, "booster_")
    with pytest.raises(ValueError, match="train_xgboost: " + told):
        bd.train_xgboost(client, XGBOOST, X, y, qid)
    with pytest.raises(ValueError, match="evaluate: " + told):
        bd.evaluate("ndcg@10", y, y, qid)
    mended = bd.repartition_by_query(frame)
    bd.fit_lightgbm(model, mended[FEATURES], mended["y"], mended["qid"])
    assert model.booster_.num_trees() == 20


def test_labels_and_weights_are_checked_before_training(client, frame):
    X, y, qid, weight = frame[FEATURES], frame["y"], frame["qid"], frame["weight"]
    with pytest.raises(ValueError, match=r"fit_lightgbm: partition 0: objective: y_true must be finite; got nan"):
        bd.fit_lightgbm(ranker(), X, y.where(y > 0, np.nan), qid)
    with pytest.raises(ValueError, match=r"fit_lightgbm: partition 0: weight: rows must not be negative; got -1.0 at"):
        bd.fit_lightgbm(ranker(), X, y, qid, sample_weight=-weight)
    with pytest.raises(
        ValueError, match=r"train_xgboost: partition 0: weight must be the same for all rows of a query"
    ):
        bd.train_xgboost(client, XGBOOST, X, y, qid, weight=weight + y)


def test_labels_of_an_eval_set_are_checked_before_training(client, frame):
    """LightGBM would take a missing one for 0."""
    X, y, qid = frame[FEATURES], frame["y"], frame["qid"]
    sets = {"eval_set": [(X, y), (X, y.where(y > 0, np.nan))], "eval_group": [bd.group_sizes(qid)] * 2}
    with pytest.raises(ValueError, match=r"fit_lightgbm: eval_set: partition 0: y must be finite; got nan at position"):
        bd.fit_lightgbm(ranker(), X, y, qid, **sets)


def test_labels_given_as_eval_y_are_checked_too(client, frame):
    X, y, qid = frame[FEATURES], frame["y"], frame["qid"]
    bad, groups = y.where(y > 0, np.nan), [bd.group_sizes(qid)]
    for labels in (bad, (bad,)):
        with pytest.raises(ValueError, match=r"fit_lightgbm: eval_y: partition 0: y must be finite; got nan at"):
            bd.fit_lightgbm(ranker(), X, y, qid, eval_X=(X,), eval_y=labels, eval_group=groups)
    sets = {"eval_set": [(X, y), (X, y - 2)], "eval_group": 2 * groups}
    with pytest.raises(ValueError, match=r"fit_lightgbm: eval_set: partition 0: err needs probabilities from 0"):
        bd.fit_lightgbm(ranker(), X, y, qid, eval_metric=["auc", bl.sklearn_eval_metric("err", "ndcg@10")], **sets)
    for wrong, error in (((X, y), TypeError), ([(X, y, qid)], ValueError)):
        with pytest.raises(error, match=r"fit_lightgbm: eval_set must be a list of \(X, y\); got"):
            bd.fit_lightgbm(ranker(), X, y, qid, eval_set=wrong, eval_group=groups)
    with pytest.raises(TypeError, match=r"fit_lightgbm: group must be left out, since it is found from qid; got"):
        bd.fit_lightgbm(ranker(), X, y, qid, group=groups[0])
    many = bl.sklearn_eval_metric(bs.Metric("ndcg", k=[1, 2]))
    with pytest.raises(ValueError, match=r"fit_lightgbm: a metric of data in parts must have one cutoff"):
        bd.fit_lightgbm(ranker(), X, y, qid, eval_metric=many)


def test_an_eval_set_may_weigh_nothing_on_a_worker(client):
    """Where the training would end, and the other worker wait."""
    whole = table()
    frame = spread_out(client, whole.assign(weight=whole["weight"].where(np.arange(len(whole)) < 800, 0)), 2)
    X, y, qid, weight = frame[FEATURES], frame["y"], frame["qid"], frame["weight"]
    model = bd.fit_lightgbm(
        ranker(n_estimators=2), X, y, qid, eval_set=[(X, y)], eval_group=[bd.group_sizes(qid)],
        eval_sample_weight=[weight], eval_metric=bl.sklearn_eval_metric("ndcg@10"),
    )  # fmt: skip
    logged = np.array(model.evals_result_["valid_0"]["ndcg_hard@10"])
    assert logged.size == 2
    assert np.isnan(logged).all() or (logged > 0.5).all()  # those of the worker that LightGBM asks


def lettered(whole, letters_of_half):
    """Labels that a letter tells, drawn from other letters in the first half of the queries than in the second."""
    rng, half = np.random.default_rng(3), len(whole) // 2
    letters = np.concatenate([rng.choice(list(drawn), half) for drawn in letters_of_half])
    labels = pd.Series({"u": 0, "v": 3, "w": 1, "x": 2})[letters].to_numpy()
    return whole[["a", "qid"]].assign(y=labels, letter=letters)


def test_a_letter_must_have_the_same_code_in_all_partitions(client):
    whole = lettered(table(), ("vwx", "uvwx"))
    parts = dd.from_pandas(whole, npartitions=2, sort=False)
    unknown = parts.assign(letter=parts["letter"].astype("category")).persist()
    message = "column 'letter' of X must have the same categories in all partitions; those of partition 1 are not"
    for fit in (
        lambda X, y, qid: bd.fit_lightgbm(ranker(), X, y, qid),
        lambda X, y, qid: bd.train_xgboost(client, XGBOOST, X, y, qid),
    ):
        with pytest.raises(ValueError, match=message):
            fit(unknown[["a", "letter"]], unknown["y"], unknown["qid"])
    known = unknown.categorize().persist()
    X, y, qid = known[["a", "letter"]], known["y"], known["qid"]
    model = bd.fit_lightgbm(ranker(), X, y, qid)
    assert bd.evaluate("ndcg@10", y, model.predict(X), qid) > 0.99
    found = bd.train_xgboost(client, {"tree_method": "hist", **XGBOOST}, X, y, qid, 20)
    assert bd.evaluate("ndcg@10", y, dxgb.predict(client, found, X), qid) > 0.99


def test_a_number_may_stand_for_what_is_missing(client, frames):
    frame = frames[1]
    y, qid = frame["y"], frame["qid"]
    holed = frame[FEATURES].where(frame[FEATURES] > -1.0, np.nan)
    one, other = (
        bd.train_xgboost(
            client, XGBOOST, X, y, qid, 3, missing=missing, evals={"again": (X[FEATURES], y, qid)}, verbose_eval=False
        )
        for X, missing in ((holed, np.nan), (holed.fillna(-9.0), -9.0))
    )
    assert_alike([one["booster"], other["booster"]], holed.compute())
    assert one["history"]["again"]["ndcg_hard@10"] == pytest.approx(other["history"]["again"]["ndcg_hard@10"], abs=1e-5)


def test_what_no_worker_can_do_alone_is_refused(client, frame):
    X, y, qid = frame[FEATURES], frame["y"], frame["qid"]

    def fit(told, objective="ndcg@10", params=(), **arguments):
        rule = bl.sklearn_objective(objective) if isinstance(objective, (str, bs.Metric)) else objective
        with pytest.raises(ValueError, match="fit_lightgbm: " + told):
            bd.fit_lightgbm(ranker(objective=rule, **dict(params)), X, y, qid, **arguments)

    fit(r"the objective must not have query_weight, .* got 2 weights", bl.sklearn_objective(query_weight=[1, 2]))
    fit(r".* must not be pooled", bs.Metric("auc", pooled=True))
    fit(r".* must not be pooled", bl.sklearn_objective(mix={bs.Metric("auc", pooled=True): 0.3}))
    fit(r".* must have one cutoff for all queries", bs.Metric("ndcg", k=[1, 2]))
    fit(r"early stopping must be left out, .* got early_stopping_rounds", params={"early_stopping_rounds": 3})
    fit(r"early stopping must be left out, .* got n_iter_no_change", params={"n_iter_no_change": 3})
    fit(r"early stopping must be left out", callbacks=[lgb.early_stopping(3, verbose=False)])
    fit(r"bagging_by_query=True trains stumps", params={"bagging_by_query": True})
    told = re.escape("eval_metric must not be in units of the spread") + ".*boostsoft.dask.evaluate pools it"
    fit(told, eval_set=[(X, y)], eval_group=[bd.group_sizes(qid)], eval_metric=bl.sklearn_eval_metric(SPREAD))
    fit(told, eval_set=[(X, y)], eval_group=[bd.group_sizes(qid)], eval_metric=["auc", bl.sklearn_eval_metric(SPREAD)])
    mixed = bl.sklearn_eval_metric("mrr", SPREAD)
    fit(told, eval_set=[(X, y)], eval_group=[bd.group_sizes(qid)], eval_metric=mixed)
    fit(r"callbacks must not record .* got boostsoft.lightgbm.track_callback", callbacks=[bl.track_callback("mrr")])

    def train(told, **arguments):
        with pytest.raises((TypeError, ValueError), match="train_xgboost: " + told):
            bd.train_xgboost(client, arguments.pop("params", XGBOOST), X, y, qid, **arguments)

    train(r"the objective must not have query_weight", obj=bx.objective(query_weight=[1, 2]))
    train(r".* must not be pooled", obj=bx.objective(mix={bs.Metric("auc", pooled=True): 0.3}))
    train(r".* must not be pooled", custom_metric=["ndcg@10", bs.Metric("auc", pooled=True)])
    train(r"obj must be a string such as 'ndcg@10', a Metric or .* got 3", obj=3)
    train(r"params must not hold an objective", params={"objective": "rank:ndcg"})
    sets = r"evals must be \(X, y, qid\) or \(X, y, qid, weight\); got "
    train(sets + "2 of them for 'valid'", evals={"valid": (X, y)})
    train(sets + "Series for 'valid'", evals={"valid": y})
    train(r"evals must be a dict from name to \(X, y, qid\); got a list", evals=[(X, y, qid)])
    recorder = bx.TrackCallback(xgb.DMatrix([[1.0], [2.0]], [0, 1], group=[2]), "mrr")
    train(r"callbacks must not record .*; got boostsoft.xgboost.TrackCallback\('valid'", callbacks=[recorder])
    stop, watched = xgb.callback.EarlyStopping(rounds=3), {"evals": {"train": (X, y, qid)}, "custom_metric": "err@10"}
    train(r"an EarlyStopping callback would minimise 'err_hard@10', which is to be", callbacks=[stop], **watched)
    train(r"X must have a column per feature; got 1 dimension", evals={"valid": (frame["a"], y, qid)})
    with pytest.raises(ValueError, match=r"fit_lightgbm: X must have a column per feature; got 1 dimension"):
        bd.fit_lightgbm(ranker(), frame["a"], y, qid)
    with pytest.raises(TypeError, match=r"fit_lightgbm: ranker must be a lightgbm.DaskLGBMRanker; got LGBMRanker"):
        bd.fit_lightgbm(lgb.LGBMRanker(), X, y, qid)
    with pytest.raises(TypeError, match=r"fit_lightgbm: a ranker takes boostsoft.lightgbm.sklearn_objective"):
        bd.fit_lightgbm(ranker(objective=bl.objective()), X, y, qid)
    with pytest.raises(TypeError, match=r"train_xgboost: client must be a distributed.Client .* got 3"):
        bd.train_xgboost(3, XGBOOST, X, y, qid)
    with pytest.raises(TypeError, match=r"fit_lightgbm: client must be a distributed.Client .* got 3"):
        bd.fit_lightgbm(ranker(client=3), X, y, qid)

    async def train_while_others_run():
        async with distributed.Client(client.scheduler.address, asynchronous=True, set_as_default=False) as own:
            with pytest.raises(TypeError, match=r"train_xgboost: client must be .* not asynchronous; got <Client"):
                bd.train_xgboost(own, XGBOOST, X, y, qid)

    asyncio.run(train_while_others_run())


def test_lightgbms_log_is_of_one_workers_rows(client):
    """Why evaluate exists: the logged value is that of some partitions, whichever the worker got, not of all."""
    whole = table()
    parts = np.split(np.arange(len(whole)), 4)
    # what the other partitions teach is wrong on the first: no three, two or one of them have the mean of all
    whole.loc[parts[0], "y"] = 3 - whole.loc[parts[0], "y"]
    frame = spread_out(client, whole, 4)
    X, y, qid = frame[FEATURES], frame["y"], frame["qid"]
    model = bd.fit_lightgbm(
        ranker(n_estimators=3), X, y, qid, eval_set=[(X, y)], eval_group=[bd.group_sizes(qid)],
        eval_metric=bl.sklearn_eval_metric("ndcg@10"),
    )  # fmt: skip
    logged = model.evals_result_["valid_0"]["ndcg_hard@10"][-1]
    scores = model.to_local().predict(whole[FEATURES])
    of_part = [bs.Metric("ndcg@10")(whole["y"][rows], scores[rows], qid=whole["qid"][rows]) for rows in parts]
    some = [np.mean(chosen) for count in (1, 2, 3) for chosen in combinations(of_part, count)]
    over_all = bd.evaluate("ndcg@10", y, model.predict(X), qid)
    assert over_all == pytest.approx(np.mean(of_part), abs=1e-12)
    assert min(abs(np.subtract(some, over_all))) > 0.01
    assert min(abs(np.subtract(some, logged))) < 1e-9


def test_an_objective_of_xgboost_runs_on_its_workers_threads(monkeypatch):
    monkeypatch.setattr(distributed, "get_worker", lambda: SimpleNamespace(state=SimpleNamespace(nthreads=3)))
    for given, expected in ((None, 3), (2, 2)):
        assert OnWorker(lambda *_: limit(), given)(None, None) == expected


def test_threads_of_params_are_those_of_objective_and_metrics(client, frame, monkeypatch):
    def train(*_, obj, custom_metric, **__):
        return [obj.threads, custom_metric.threads]

    monkeypatch.setattr(dxgb, "train", train)
    for params, expected in (({"nthread": 2}, [2, 2]), ({"n_jobs": 3}, [3, 3]), ({}, [None, None])):
        assert bd.train_xgboost(client, params, frame[FEATURES], frame["y"], frame["qid"], 1) == expected


def test_no_worker_is_lost_to_the_clients_own_look_at_the_scheduler(client, monkeypatch):
    """Every other second it replaces what it knows by an answer without workers, here always, and at once."""
    update = client._update_scheduler_info

    async def and_again(n_workers=0):
        await update(n_workers=n_workers)
        await update(n_workers=0)

    monkeypatch.setattr(client, "_update_scheduler_info", and_again)
    assert len(Cluster(client, None)._alive()) == 2
    watched = Cluster(client, None)
    assert watched.lost() == []


def test_the_client_given_is_that_of_all_of_it(client, frame, monkeypatch):
    """Another one may be the current one, of another cluster."""
    X, y, qid = frame[FEATURES], frame["y"], frame["qid"]
    seen = []

    def kept(*arguments):
        seen.append(distributed.default_client())
        return keep(*arguments)

    def watched(caller, *_, **__):
        seen.append(caller)

    for engine in ("lightgbm", "xgboost"):
        monkeypatch.setattr(f"boostsoft.dask.{engine}.keep", kept)
        monkeypatch.setattr(f"boostsoft.dask.{engine}.run_watched", watched)
    with distributed.Client(client.scheduler.address) as other:
        assert distributed.default_client() is other
        bd.fit_lightgbm(ranker(client=client), X, y, qid)
        assert seen == [client, "boostsoft.dask.fit_lightgbm"]
        seen.clear()
        bd.train_xgboost(client, XGBOOST, X, y, qid, 1, evals={"again": (X[FEATURES], y, qid)})
        assert seen == [client, client, "boostsoft.dask.train_xgboost"]
        seen.clear()
        bd.train_xgboost(None, XGBOOST, X, y, qid, 1)
        assert seen == [other, "boostsoft.dask.train_xgboost"]


def test_a_watched_call_returns_its_value_or_its_error(client):
    assert run_watched("caller", client, lambda: 3) == 3
    with pytest.raises(KeyError, match="3"):
        run_watched("caller", client, lambda: {}[3])
