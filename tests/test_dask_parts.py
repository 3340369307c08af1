"""Partitions of whole queries, and metrics over them: on Dask's own threads, without a cluster."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

import boostsoft as bs
import boostsoft.dask as bd
import boostsoft.lightgbm as bl
from boostsoft.adapters.lightgbm_calls import _gain
from boostsoft.dask.lightgbm import PartObjective, _check_ranker, _PartRule
from boostsoft.dask.parts import _categories, check_parts, refuse_wrong_labels
from boostsoft.dask.xgboost import _named, _same
from boostsoft.kernels.threads import limit
from boostsoft.objectives import SoftObjective, reference_objective

dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")
db = pytest.importorskip("dask.bag")
dask = pytest.importorskip("dask")
pd = pytest.importorskip("pandas")


def table(seed=0, n_queries=30, longest=12):
    """Queries of many lengths, named in no order, in a frame whose index says where a row comes from."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, longest + 1, n_queries)
    n = int(sizes.sum())
    return pd.DataFrame(
        {
            "qid": np.repeat(rng.permutation(1000)[:n_queries], sizes),
            "y": rng.integers(0, 3, n),
            "score": rng.normal(size=n) * 3.0,
            "weight": np.repeat(rng.uniform(0.5, 2.0, n_queries), sizes),
        },
        index=np.arange(100, 100 + n),
    )


def parts(frame):
    return [part.compute() for part in frame.partitions]


@pytest.mark.parametrize("npartitions", [1, 3, 7])
def test_a_sorted_frame_keeps_its_rows_in_order(npartitions):
    whole = table()
    frame = bd.repartition_by_query(dd.from_pandas(whole, npartitions=4), npartitions=npartitions)
    pd.testing.assert_frame_equal(frame.compute(), whole)
    found = parts(frame)
    assert len(found) == npartitions
    longest = whole.groupby("qid").size().max()
    assert max(map(len, found)) <= len(whole) / npartitions + longest
    seen = [set(part["qid"]) for part in found]
    assert sum(map(len, seen)) == whole["qid"].nunique()


@pytest.mark.parametrize("kind", [int, float, str, "category"])
def test_scattered_queries_are_gathered_in_order_of_appearance(kind):
    whole = table().sample(frac=1.0, random_state=0)
    whole["qid"] = whole["qid"].astype(kind)
    frame = bd.repartition_by_query(dd.from_pandas(whole, npartitions=5, sort=False))
    found = frame.compute()
    assert bs.QueryGroups.from_query_ids(found["qid"]).n_queries == 30
    for name, rows in found.groupby("qid", observed=True):
        pd.testing.assert_frame_equal(rows, whole[whole["qid"] == name], check_dtype=False, check_categorical=False)
    assert list(found["qid"].unique()) == list(whole["qid"].unique())
    assert (
        bd.group_sizes(frame["qid"]).compute().tolist()
        == found.groupby("qid", sort=False, observed=True).size().tolist()
    )


def test_long_queries_leave_no_partition_empty():
    whole = pd.DataFrame({"qid": [1] * 90 + [2] * 5 + [3] * 5})
    found = parts(bd.repartition_by_query(dd.from_pandas(whole, npartitions=4)))
    assert [set(part["qid"]) for part in found] == [{1}, {2, 3}]


def test_a_partition_has_its_share_of_a_query_that_is_scattered():
    whole = pd.DataFrame({"qid": [1] * 60 + [2] * 20 + [3] * 20 + [1] * 2})
    found = parts(bd.repartition_by_query(dd.from_pandas(whole, npartitions=2, sort=False), npartitions=3))
    assert [set(part["qid"]) for part in found] == [{1}, {2, 3}]


def test_rows_move_when_they_are_needed(monkeypatch):
    def move(*_):
        raise AssertionError

    monkeypatch.setattr("boostsoft.dask.repartition._join", move)
    frame = bd.repartition_by_query(dd.from_pandas(table(), npartitions=4))
    assert frame.dtypes.equals(table().dtypes)


def test_repartition_says_what_is_wrong():
    frame = dd.from_pandas(table(), npartitions=2)
    with pytest.raises(ValueError, match=r"repartition_by_query: qid must be one column of the frame; got 'query'"):
        bd.repartition_by_query(frame, "query")
    with pytest.raises(TypeError, match=r"repartition_by_query: qid must be the name of a column; got \['qid'\]"):
        bd.repartition_by_query(frame, ["qid"])
    twice = table()
    twice.columns = ["qid", "qid", *twice.columns[2:]]
    with pytest.raises(ValueError, match=r"repartition_by_query: qid must be one column of the frame; got 'qid' for"):
        bd.repartition_by_query(dd.from_pandas(twice, npartitions=2))
    with pytest.raises(TypeError, match=r"repartition_by_query: frame must be a Dask DataFrame; got DataFrame"):
        bd.repartition_by_query(table())
    with pytest.raises(ValueError, match=r"npartitions must be from 1"):
        bd.repartition_by_query(frame, npartitions=0)
    with pytest.raises(ValueError, match=r"repartition_by_query: frame must not be empty"):
        bd.repartition_by_query(dd.from_pandas(table().iloc[:0], npartitions=1))
    holes = table().astype({"qid": float})
    holes.iloc[-1, 0] = np.nan
    with pytest.raises(ValueError, match=r"qid must not be missing; partition 1 has rows without one"):
        bd.repartition_by_query(dd.from_pandas(holes, npartitions=2))


def chunked(values, *chunks):
    return da.from_array(np.asarray(values), chunks=(chunks,))


def test_a_split_query_is_named_with_its_partitions():
    with pytest.raises(
        ValueError,
        match=r"group_sizes: a query must lie within one partition; qid 9 is in partitions 0 and 1 \(1 of 3 queries",
    ):
        bd.group_sizes(chunked([7, 7, 9, 9, 9, 4], 3, 3))
    with pytest.raises(ValueError, match=r"qid 'b' is in partitions 0, 1 and 2 .*repartition_by_query"):
        bd.group_sizes(chunked(list("abbbbc"), 2, 2, 2))


def test_rows_of_a_query_must_be_adjacent_and_partitions_filled():
    with pytest.raises(ValueError, match=r"partition 1: documents of a query must be adjacent; qid 5 of position 0"):
        bd.group_sizes(chunked([1, 1, 5, 6, 5], 2, 3))
    frame = dd.from_pandas(table(), npartitions=3)
    emptied = frame[frame["qid"] == frame["qid"].compute().iloc[0]]
    with pytest.raises(ValueError, match=r"partition 1: must not be empty; .*repartition_by_query"):
        bd.group_sizes(emptied["qid"])
    assert bd.repartition_by_query(emptied).npartitions == 1


def test_group_sizes_are_chunked_as_the_partitions():
    sizes = bd.group_sizes(chunked([3, 3, 1, 2, 2, 2], 3, 3))
    assert sizes.chunks == ((2, 1),)
    assert sizes.compute().tolist() == [2, 1, 3]


def test_all_data_must_have_the_same_partitions_and_rows():
    qid, y = chunked([1, 1, 2, 2], 2, 2), chunked([1, 0, 1, 0], 2, 2)
    with pytest.raises(
        ValueError, match=r"evaluate: all data must have the same partitions; got qid: 2, y_true: 2, y_score: 1"
    ):
        bd.evaluate("ndcg", y, chunked([1.0, 2.0, 3.0, 4.0], 4), qid)
    with pytest.raises(
        ValueError, match=r"evaluate: partition 0: all data must have the same rows; got qid: 2, y_true: 2, y_"
    ):
        bd.evaluate("ndcg", y, chunked([1.0, 2.0, 3.0, 4.0], 3, 1), qid)
    with pytest.raises(TypeError, match=r"evaluate: y_score must be a Dask array, series or frame; got ndarray"):
        bd.evaluate("ndcg", y, np.arange(4.0), qid)


def test_columns_of_labels_and_scores_are_flattened():
    qid, y, scores = [1, 1, 2, 2], np.array([1.0, 0.0, 1.0, 0.0]), np.array([2.0, 1.0, 0.0, 1.0])
    wide = [da.from_array(values[:, None], chunks=((2, 2), (1,))) for values in (y, scores)]
    assert bd.evaluate("precision@1", *wide, chunked(qid, 2, 2)) == 0.5
    split = da.from_array(np.column_stack([y, scores]), chunks=((2, 2), (1, 1)))
    with pytest.raises(
        ValueError, match=r"evaluate: y_score must have chunks of all its columns; got 2 chunks of columns \(rechunk"
    ):
        bd.evaluate("precision@1", chunked(y, 2, 2), split, chunked(qid, 2, 2))


def test_scores_and_weights_must_be_finite():
    y, qid, holes = chunked([1, 0, 1, 0], 2, 2), chunked([1, 1, 2, 2], 2, 2), chunked([1.0, 1.0, 1.0, np.nan], 2, 2)
    with pytest.raises(ValueError, match=r"evaluate: partition 1: y_score must be finite; got nan at position 1"):
        bd.evaluate("ndcg", y, holes, qid)
    with pytest.raises(ValueError, match=r"evaluate: partition 1: weight: rows must be finite; got nan at position 1"):
        bd.evaluate("ndcg", y, y, qid, weight=holes)
    with pytest.raises(ValueError, match=r"evaluate: partition 0: weight: rows must not be negative; got -1\.0"):
        bd.evaluate("ndcg", y, y, qid, weight=-1.0 * y)
    with pytest.raises(ValueError, match=r"evaluate: partition 1: y_true must be finite; got nan at position 1"):
        bd.evaluate("ndcg", holes, y, qid)
    days = chunked(np.array([0, 1, 2, 3], dtype="datetime64[D]"), 2, 2)
    with pytest.raises(TypeError, match=r"evaluate: partition 0: y_true must hold numbers; got dtype datetime64"):
        bd.evaluate("ndcg", days, y, qid)


def test_a_client_is_needed():
    y, qid = chunked([1, 0, 1, 0], 2, 2), chunked([1, 1, 2, 2], 2, 2)
    with pytest.raises(ValueError, match=r"train_xgboost: client must be given, since no distributed\.Client is open"):
        bd.train_xgboost(None, {}, y, y, qid, 1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "metric",
    [
        "ndcg@10",
        "map",
        bs.Metric("ndcg@3", empty="skip"),
        bs.Metric("pnr", empty="skip"),
        bs.SoftMetric("ndcg@10", noise="gumbel"),
        bs.SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread"),
        bs.SoftMetric("err", sigma=0.5, sigma_unit="spread", noise="logistic"),
        bs.SoftMetric("dcg@5", ranks="softrank", sigma_unit="spread", name="mine"),
    ],
    ids=lambda metric: getattr(metric, "name", metric),
)
def test_evaluate_is_the_metric_over_all_queries(metric, weighted):
    whole = table()
    frame = bd.repartition_by_query(dd.from_pandas(whole, npartitions=4))
    weight = frame["weight"] if weighted else None
    found = bd.evaluate(metric, frame["y"], frame["score"].to_dask_array(), frame["qid"], weight=weight)
    alone = bs.Metric(metric) if isinstance(metric, str) else metric
    weights = whole.groupby("qid", sort=False)["weight"].mean().to_numpy() if weighted else None
    assert found == pytest.approx(alone(whole["y"], whole["score"], qid=whole["qid"], query_weight=weights), rel=1e-13)


def test_a_query_weighs_the_mean_of_its_rows():
    """Only XGBoost, which weighs queries, must have one weight for all of them."""
    whole = table()
    whole["weight"] = np.random.default_rng(1).uniform(0.5, 2.0, len(whole))
    frame = bd.repartition_by_query(dd.from_pandas(whole, npartitions=3))
    found = bd.evaluate("ndcg@3", frame["y"], frame["score"], frame["qid"], weight=frame["weight"])
    by_query = whole.groupby("qid", sort=False)
    weights, sizes = by_query["weight"].mean().to_numpy(), by_query.size().to_numpy()
    values = bs.Metric("ndcg@3").per_query(whole["y"].to_numpy(), whole["score"].to_numpy(), group=sizes)
    assert found == pytest.approx(np.average(values, weights=weights), rel=1e-12)


def test_categories_in_another_order_are_others():
    """Their codes are what a booster takes."""
    found = []
    for letters in (["u", "v"], ["v", "u"], ["u", "v"]):
        column = pd.Categorical(["u", "v"], categories=letters)
        found.append(_categories(pd.DataFrame({"letter": column, "number": [1.0, 2.0]})))
    assert found[0] == found[2] != found[1]
    assert [list(names) for names in found] == [["letter"]] * 3


@pytest.mark.parametrize("coded", [1, 2])
def test_categories_in_one_partition_alone_are_refused_wherever_it_is(coded):
    """Dask believes what a function of partitions is said to return."""

    def code(part):
        letters = pd.Categorical(part["letter"], categories=[1, 0])
        return part.assign(letter=letters) if part["qid"].iloc[0] == coded else part

    whole = pd.DataFrame({"qid": [1, 1, 2, 2], "letter": [0, 1, 0, 1]})
    frame = dd.from_pandas(whole, npartitions=2, sort=False).map_partitions(code, meta=whole)
    told = r"^t: column 'letter' of X must have the same categories .* those of partition 1 are not those of 0"
    with pytest.raises(ValueError, match=told):
        check_parts("t", {"qid": frame["qid"], "X": frame[["letter"]]})


def test_what_only_looks_like_a_collection_is_refused():
    bag = db.from_sequence([1, 2], npartitions=2)
    for wrong in (bag, dask.delayed([1, 2])):
        for place in range(3):
            given = [wrong if at == place else chunked([1, 2], 1, 1) for at in range(3)]
            name = ("y_true", "y_score", "qid")[place]
            with pytest.raises(TypeError, match=f"evaluate: {name} must be a Dask array, series or frame; got"):
                bd.evaluate("ndcg", *given)


@pytest.mark.parametrize("size", [1e160, 1e-170])
def test_a_spread_whose_square_is_no_number_is_refused(size):
    soft = bs.SoftMetric("ndcg", sigma=1.0, sigma_unit="spread")
    y, qid, scores = chunked([1, 0], 2), chunked([1, 1], 2), chunked([0.0, 2.0 * size], 2)
    said = f"boostsoft.dask.evaluate: partition 0: the spread of scores in parts must .* got {re.escape(f'{size:g}')}"
    with pytest.raises(ValueError, match=said):
        bd.evaluate(soft, y, scores, qid)


def test_the_spread_is_pooled_over_the_partitions():
    """One partition's scores are equal: a spread of its own would make its metric the hard one, .5 + .5 / log2(3)."""
    y, scores = [1, 0, 1, 0], [0.0, 0.0, 4.0, 0.0]
    soft = bs.SoftMetric("ndcg", sigma=1.0, sigma_unit="spread")
    found = bd.evaluate(soft, chunked(y, 2, 2), chunked(scores, 2, 2), chunked([1, 1, 2, 2], 2, 2))
    spread = 2.0 / 2.0**0.5  # squares of 0, 0, 2 and 2, averaged
    assert found == pytest.approx(bs.SoftMetric("ndcg", sigma=spread)(y, scores, group=[2, 2]), rel=1e-15)
    still = bd.evaluate(soft, chunked(y, 2, 2), chunked([0.0] * 4, 2, 2), chunked([1, 1, 2, 2], 2, 2))
    assert still == pytest.approx((1.0 + 1.0 / np.log2(3.0)) / 2.0, rel=1e-15)


def test_evaluate_is_nan_if_no_query_of_any_partition_counts():
    y, qid = chunked([0, 0, 0, 0], 2, 2), chunked([1, 1, 2, 2], 2, 2)
    assert np.isnan(bd.evaluate(bs.Metric("ndcg", empty="skip"), y, y, qid))


def test_evaluate_refuses_what_crosses_partitions():
    y, qid = chunked([1, 0, 1, 0], 2, 2), chunked([1, 1, 2, 2], 2, 2)
    with pytest.raises(ValueError, match=r"evaluate: a metric of data in parts must not be pooled, .* got auc_pooled"):
        bd.evaluate(bs.Metric("auc", pooled=True), y, y, qid)
    with pytest.raises(ValueError, match=r"evaluate: .* must have one cutoff for all queries, .* got 2 cutoffs"):
        bd.evaluate(bs.Metric("ndcg", k=[1, 2]), y, y, qid)


def test_what_is_to_learn_must_be_in_a_query_that_weighs():
    """Here the first query has an order to learn, and the second one all of the weight."""
    y, qid = chunked([1, 0, 0, 0], 4), chunked([1, 1, 2, 2], 4)
    rule = SoftObjective("ndcg")
    for weight in ([1.0, 1.0, 0.0, 0.0], [1e-9, 1e-9, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0]):
        check_parts("t", {"y": y, "qid": qid, "weight": chunked(weight, 4)}, rule)
    halves = {"y": chunked([1, 0, 0, 1], 2, 2), "qid": chunked([1, 1, 2, 2], 2, 2)}
    check_parts("t", {**halves, "weight": chunked([0.0, 0.0, 1.0, 1.0], 2, 2)}, rule)  # a part may have no weight
    with pytest.raises(
        ValueError, match=r"^t: there is nothing to learn: no query \(of positive weight\) has documents"
    ):
        check_parts("t", {"y": y, "qid": qid, "weight": chunked([0.0, 0.0, 1.0, 1.0], 4)}, rule)

    with pytest.raises(ValueError, match=r"^t: there is nothing to learn"):
        check_parts("t", {"y": y, "qid": qid, "weight": chunked([0.0] * 4, 4)}, rule)


def test_evaluate_is_on_one_thread_of_a_worker():
    """Which has others for its other partitions."""
    seen = []
    metric = bs.Metric("dcg", gain=lambda labels: seen.append(limit()) or labels)
    y, qid = chunked([1, 0, 1, 0], 2, 2), chunked([1, 1, 2, 2], 2, 2)
    bd.evaluate(metric, y, y, qid)
    assert seen == [1, 1]


def test_nothing_may_be_masked():
    y, qid, scores = (chunked(values, 2, 2) for values in ([1, 0, 1, 0], [1, 1, 2, 2], [1.0, 0.0, 0.0, 1.0]))
    mask = chunked([False, False, False, True], 2, 2)
    given = {"y_true": y, "y_score": scores, "qid": qid}
    for name, values in given.items():
        with pytest.raises(ValueError, match=f"evaluate: partition 1: {name} must not have masked entries"):
            bd.evaluate("precision@1", **{**given, name: da.ma.masked_array(values, mask)})
    with pytest.raises(ValueError, match="evaluate: partition 1: weight: rows must not have masked entries"):
        bd.evaluate("precision@1", **given, weight=da.ma.masked_array(y, mask))
    X = da.ma.masked_array(scores[:, None], mask[:, None])
    with pytest.raises(ValueError, match="t: partition 1: objective: X must not have masked entries"):
        check_parts("t", {"qid": qid, "X": X})
    with pytest.raises(ValueError, match="t: partition 1: objective: y must not have masked entries"):
        check_parts("t", {"qid": qid, "y": da.ma.masked_array(y, mask)}, SoftObjective("ndcg"))
    with pytest.raises(ValueError, match="t: eval_set: partition 1: y must not have masked entries"):
        refuse_wrong_labels("t", "eval_set", da.ma.masked_array(y, mask), [])


def test_an_eval_set_may_have_a_part_without_rows():
    refuse_wrong_labels("t", "eval_set", chunked([1.0, 0.0], 2, 0), [])
    with pytest.raises(ValueError, match=r"^t: eval_set: partition 1: y must be finite; got nan at position 0"):
        refuse_wrong_labels("t", "eval_set", chunked([1.0, 0.0, np.nan], 2, 1), [])


def test_evaluate_takes_weights_of_0_but_not_for_all():
    y, qid, scores = (chunked(values, 2, 2) for values in ([1, 0, 1, 0], [1, 1, 2, 2], [1.0, 0.0, 0.0, 1.0]))
    assert bd.evaluate("precision@1", y, scores, qid, weight=chunked([1.0, 1.0, 0.0, 0.0], 2, 2)) == 1.0
    with pytest.raises(ValueError, match=r"boostsoft.dask.evaluate: weight must not be 0 for every row"):
        bd.evaluate("precision@1", y, scores, qid, weight=chunked([0.0] * 4, 2, 2))


def test_without_dask_one_line_names_the_extra():
    code = (
        "import sys\n"
        "sys.modules['dask'] = None\n"
        "import boostsoft.dask as bd\n"
        "try:\n"
        "    bd.group_sizes([1])\n"
        "except ImportError as error:\n"
        "    raise SystemExit(str(error))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.startswith("boostsoft.dask.group_sizes: Dask is not installed: pip install 'boostsoft[dask]'")
    assert len(done.stderr.splitlines()) == 1


def test_a_workers_objective_tells_of_gains_that_are_not_read():
    """It has those of the objective that every worker is given."""
    rule = _PartRule(SoftObjective(bs.Metric("ndcg@5", gain="linear")))
    assert _gain(rule) == "linear"
    assert _gain(_PartRule(SoftObjective("map"))) is None


def test_a_worker_on_which_nothing_weighs_adds_nothing():
    part = PartObjective(bl.sklearn_objective("ndcg"))
    for values in part([1.0, 0.0], np.zeros(2), np.zeros(2), [2]):
        np.testing.assert_array_equal(values, [0.0, 0.0])
    assert part([1.0, 0.0], np.zeros(2), np.array([0.0, 1.0]), [2])[1].any()


def test_only_objectives_of_ours_train_stumps_on_bags_of_queries():
    lgb = pytest.importorskip("lightgbm")
    _check_ranker(lgb.DaskLGBMRanker(objective="lambdarank", bagging_by_query=True), {})


def test_sets_of_other_weights_are_others():
    X, y, qid, weight = (object() for _ in range(4))
    train = _named("train", (X, y, qid, weight))
    assert _same(_named("a", (X, y, qid, weight)), train)
    for other in ((X, y, qid), (X, y, qid, object()), (object(), y, qid, weight)):
        assert not _same(_named("a", other), train)


def test_a_workers_objective_says_what_it_is():
    """Or LightGBM's parameters of the same values would be told of as not read; it travels to workers."""
    rule = pickle.loads(pickle.dumps(_PartRule(reference_objective("lambdarank", truncation_level=10, sigmoid=2.0))))
    assert (rule.truncation_level, rule.sigmoid, rule.norm) == (10, 2.0, True)
    assert copy.copy(rule) == rule
