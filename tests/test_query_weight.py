"""Weights by query, where weights by row are taken too: the same, in the order in which the queries come."""

from __future__ import annotations

import numpy as np
import pytest

import boostsoft as bs

from .ranker_cases import both, ranker, shuffled, task

pytest.importorskip("xgboost")

N_QUERIES = 12
rng = np.random.default_rng(5)
SIZES = rng.integers(2, 9, N_QUERIES)
QID = np.repeat(rng.permutation(N_QUERIES) + 7, SIZES)
Y = rng.integers(0, 3, QID.size)
S = Y[:, None] + 2.0 * rng.normal(size=(QID.size, 3))
WEIGHT = np.arange(N_QUERIES) % 4 * 1.0
ROWS = rng.permutation(QID.size)  # the queries' rows apart
FIRST_SEEN = QID[ROWS][np.sort(np.unique(QID[ROWS], return_index=True)[1])]
OF_ID = dict(zip(QID[np.cumsum(SIZES) - 1].tolist(), WEIGHT.tolist(), strict=True))
APART = np.array([OF_ID[i] for i in FIRST_SEEN.tolist()])

TOGETHER_AND_APART = pytest.mark.parametrize(
    ("rows", "by_query"), [(np.arange(QID.size), WEIGHT), (ROWS, APART)], ids=["together", "apart"]
)


def curve(**arguments):
    return bs.blend_curve(metric="ndcg@5", n=5, n_boot=20, **arguments).soft


def surface(**arguments):
    return bs.blend_surface(metric="ndcg@5", n=3, n_boot=20, **arguments).soft


def sigma(**arguments):
    return bs.choose_sigma(metric="ndcg@5", sigmas=[0.1, 0.3], n_folds=2, **arguments).table["value"]


def blend(**arguments):
    blender = bs.SoftBlender("ndcg@5", n_boot=0, progress=False, random_state=0).fit(**arguments)
    return [*blender.weights_, blender.score(**arguments)]


@TOGETHER_AND_APART
@pytest.mark.parametrize("call", [curve, surface, sigma, blend])
def test_weights_of_queries_are_those_of_their_rows(call, rows, by_query):
    arguments = {"S": S[rows], "y": Y[rows], "qid": QID[rows]}
    by_row = np.array([OF_ID[i] for i in QID[rows].tolist()])
    found = call(**arguments, query_weight=by_query)
    np.testing.assert_array_equal(found, call(**arguments, sample_weight=by_row))
    assert not np.array_equal(found, call(**arguments))
    with pytest.raises(ValueError, match="give sample_weight, one per row, or query_weight, one per query, not both"):
        call(**arguments, query_weight=by_query, sample_weight=by_row)
    with pytest.raises(ValueError, match="query_weight must have one value per query, 12; got 59"):
        call(**arguments, query_weight=by_row)


@both
def test_the_ranker_takes_them_to_train_and_to_evaluate_on(booster):
    train, valid = task(0, 30), shuffled(task(1, 10))
    weight = np.random.default_rng(0).integers(1, 4, 30) * 1.0
    ids, first = np.unique(valid.qid, return_index=True)
    of_id = dict(zip(ids.tolist(), range(10), strict=True))
    valid_rows = np.array([float(of_id[i]) for i in valid.qid.tolist()])
    models = [
        ranker(booster, metric="ndcg@5", eval_metric="ndcg@5").fit(
            train.X, train.y, qid=train.qid, **weights, eval_set=[(valid.X, valid.y)], eval_qid=[valid.qid]
        )
        for weights in (
            {"query_weight": weight, "eval_query_weight": [valid_rows[np.sort(first)]]},
            {"sample_weight": np.repeat(weight, train.sizes), "eval_sample_weight": [valid_rows]},
        )
    ]
    scores = [model.predict(valid.X) for model in models]
    np.testing.assert_array_equal(*scores)
    assert not np.array_equal(
        scores[0], ranker(booster, metric="ndcg@5").fit(train.X, train.y, qid=train.qid).predict(valid.X)
    )
    together = np.argsort(valid.qid, kind="stable")
    by_hand = bs.Metric("ndcg@5")(
        valid.y[together], scores[0][together], qid=valid.qid[together], query_weight=np.arange(10.0)
    )
    for model in models:
        assert model.evals_result_["valid_0"]["ndcg_hard@5"][-1] == pytest.approx(by_hand, abs=1e-6)
    scored = models[0].score(valid.X, valid.y, qid=valid.qid, query_weight=valid_rows[np.sort(first)])
    assert scored == pytest.approx(by_hand, abs=1e-12)


def test_weights_of_evaluation_sets_need_sets():
    train = task(0, 30)
    with pytest.raises(ValueError, match="eval_sample_weight belongs to eval_set, which is missing"):
        ranker().fit(train.X, train.y, qid=train.qid, eval_sample_weight=[np.ones(3)])
    with pytest.raises(ValueError, match=r"eval_query_weight must be a list with one entry per pair .*, 1; got 2"):
        ranker().fit(
            train.X, train.y, qid=train.qid, eval_set=[(train.X, train.y)], eval_qid=[train.qid],
            eval_query_weight=[None, None],
        )  # fmt: skip


def test_a_query_without_documents_may_have_the_only_weight():
    with pytest.raises(ValueError, match="query_weight must not be 0 for every query that has documents"):
        ranker().fit(np.eye(4), [0, 1, 0, 1], group=[4, 0], query_weight=[0.0, 1.0])
