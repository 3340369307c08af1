"""Whether random trees suit the features is tried before they are grown by default."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from boostsoft import Metric, SoftRanker
from boostsoft.query_groups import QueryGroups
from boostsoft.ranker import lightgbm_trees, trial
from boostsoft.ranker.rows import Rows

from .ranker_cases import Task, both

xgb = pytest.importorskip("xgboost")
SMALL = {"n_estimators": 10, "num_leaves": 16, "min_child_samples": 5, "n_jobs": 1}


def made(kind, n_queries=60, seed=0):
    """Grades that hang on codes, whose values stand in no order, or on the sum of numbers."""
    rng = np.random.default_rng(seed)
    n_docs = 30 * n_queries
    X = rng.normal(size=(n_docs, 6))
    worth = X[:, 0] + X[:, 1]
    if kind == "codes":
        X[:, :2] = rng.integers(0, 40, (n_docs, 2))
        worth = sum(rng.normal(size=40)[column.astype(int)] for column in X[:, :2].T)
    worth = worth + 0.5 * rng.normal(size=n_docs)
    return Task(X, graded(worth), np.repeat(np.arange(n_queries), 30))


def graded(worth):
    return np.digitize(worth, np.quantile(worth, [0.6, 0.85, 0.95]))


@pytest.fixture(scope="module")
def together():
    """Grades that hang on whether codes are equal, and on whether their sum is even: none says anything by itself."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (1800, 4)).astype(float)
    worth = 1.0 * (X[:, 0] == X[:, 1]) + ((X[:, 2] + X[:, 3]) % 2 == 0) + 0.4 * rng.normal(size=1800)
    return Task(X, graded(worth), np.repeat(np.arange(60), 30))


@pytest.fixture(scope="module")
def codes():
    return made("codes")


@pytest.fixture(scope="module")
def numbers():
    return made("numbers")


def model_of(data, booster="lightgbm", weight=None, **parameters):
    return SoftRanker(booster, **{**SMALL, **parameters}).fit(data.X, data.y, qid=data.qid, query_weight=weight)


def ndcg(data, scores):
    """NDCG@10 of every query, by scikit-learn."""
    at = [np.flatnonzero(data.qid == q) for q in np.unique(data.qid)]
    return np.array([ndcg_score([2.0 ** data.y[rows] - 1.0], [scores[rows]], k=10) for rows in at])


def tried(data, weights, seed, turned=False, **more):
    """What random and plain trees gain in queries that they have not learned from, and the weights of these."""
    drawn = np.random.default_rng(seed).permutation(data.sizes.size)
    judged = np.isin(data.qid, drawn[: drawn.size // 2]) != turned
    half, rest = data.rows(~judged), data.rows(judged)
    found = [ndcg(rest, np.zeros(rest.y.size))]
    for random in (True, False):
        options = {**SMALL, "n_boosters": 1, "learning_rate": 0.3, "random_trees": random, "losses": None, **more}
        alone = SoftRanker(**options, random_state=seed)
        alone.fit(half.X, half.y, qid=half.qid, query_weight=weights[np.unique(half.qid)])
        found.append(ndcg(rest, alone.predict(rest.X)))
    nothing, random, plain = found
    return random - nothing, plain - nothing, weights[np.unique(rest.qid)]


def verdict(random, plain, w):
    """Share of what plain trees gain that random ones do, and by how many standard errors they gain less."""
    ahead = np.average(plain - random, weights=w)
    error = np.sqrt(w.size / (w.size - 1) * (w**2 * (plain - random - ahead) ** 2).sum()) / w.sum()
    return np.average(random, weights=w) / np.average(plain, weights=w), ahead / error


# ---- what it decides -----------------------------------------------------------------------------------------------


@both
def test_random_trees_are_grown_unless_they_fail(booster, codes, numbers):
    for data, expected in ((codes, False), (numbers, True)):
        found, said = model_of(data, booster), model_of(data, booster, random_trees=expected)
        assert (found.random_trees_, found.n_boosters_) == (expected, 4)
        assert (found.losses_, found.learning_rate_) == (said.losses_, said.learning_rate_)
        np.testing.assert_array_equal(found.predict(data.X), said.predict(data.X))


@pytest.mark.parametrize("doubtful", [False, True])
@pytest.mark.parametrize(("seed", "weighted"), [(0, False), (3, True)])
def test_it_is_held_by_what_queries_show_that_were_not_learned(seed, weighted, doubtful, codes, monkeypatch):
    """The verdict turns where the share, or the number of standard errors, passes what was computed here."""
    weights = np.random.default_rng(seed).uniform(0.2, 2.0, 60) if weighted else np.ones(60)
    one = tried(codes, weights, seed)
    found = np.hstack([one, tried(codes, weights, seed, turned=True)]) if doubtful else one
    share, errors = verdict(*found)
    by_one = verdict(*one)[1]
    monkeypatch.setattr(trial, "_DOUBTFUL", 0.99 * by_one if doubtful else np.inf)
    if doubtful:  # the share of one half is looked at before
        assert errors > by_one
    for name, value in [("_ERRORS", errors)] if doubtful else [("_ERRORS", errors), ("_SHARE", share)]:
        for factor in (1.0 - 1e-6, 1.0 + 1e-6):
            with monkeypatch.context() as patch:
                patch.setattr(trial, name, value * factor)
                random = model_of(codes, weight=weights, random_state=seed).random_trees_
                assert random is ((factor > 1.0) == (name == "_ERRORS"))


@pytest.mark.parametrize(("n_estimators", "random"), [(39, True), (40, False), (300, False)])
def test_more_trees_are_compared_where_plain_ones_are_still_learning(n_estimators, random, together, monkeypatch):
    """At first random trees find what counts together no later than plain ones, which are ahead once these find it."""

    def found():
        train = SoftRanker(**{**SMALL, "n_estimators": n_estimators}, n_boosters=1).train_arguments
        return train(together.y, X=together.X, group=together.sizes)["params"].get("extra_trees", False)

    assert found() is random
    monkeypatch.setattr(trial, "_LONG", [(20, np.inf), (40, 3.0)])
    assert found() is True


def test_the_later_verdict_is_held_by_what_queries_show_that_were_not_learned(together, monkeypatch):
    share, errors = verdict(*tried(together, np.ones(60), 0, n_estimators=40, learning_rate=0.45))
    monkeypatch.setattr(trial, "_DOUBTFUL", np.inf)
    for name, value in (("_ERRORS", errors), ("_SHARE", share)):
        for factor in (1.0 - 1e-6, 1.0 + 1e-6):
            with monkeypatch.context() as patch:
                patch.setattr(trial, name, value * factor)
                random = model_of(together, n_estimators=40).random_trees_
                assert random is ((factor > 1.0) == (name == "_ERRORS"))


def test_random_trees_that_are_the_plain_ones_make_no_pair(codes, monkeypatch):
    """As where features have two values, between which there is one threshold to draw."""
    for name in ("members.FEW", "convex_losses.FEW"):
        monkeypatch.setattr(f"boostsoft.ranker.{name}", codes.y.size)
    flags = Task((codes.X[:, :, None] % 4 > [1, 2]).reshape(1800, 12).astype(float), codes.y, codes.qid)
    found = model_of(flags)
    assert (found.random_trees_, found.n_boosters_) == (False, 2)
    one, both = (found.booster_.predict(flags.X, num_iteration=n) for n in (10, 20))
    assert np.abs(both - 2 * one).max() > 0.01


def test_it_is_the_same_on_any_order_of_the_rows_and_of_the_scale_of_weights(numbers, codes):
    for data, expected in ((codes, False), (numbers, True)):
        order = np.random.default_rng(1).permutation(data.y.size)
        assert model_of(data.rows(order), weight=None).random_trees_ is expected
        assert model_of(data, weight=np.full(60, 1e-20)).random_trees_ is expected


def test_where_many_documents_are_the_pair_has_no_random_trees(codes, monkeypatch):
    for name in ("members.FEW", "convex_losses.FEW"):
        monkeypatch.setattr(f"boostsoft.ranker.{name}", codes.y.size)
    found = model_of(codes)
    assert (found.random_trees_, found.n_boosters_, found.learning_rate_) == (False, 2, 0.1)
    scores = np.diff(list(found.staged_predict(codes.X, every=10)), axis=0, prepend=0.0)
    sees = {"subsample": 0.7, "booster_params": {"feature_fraction_bynode": 0.5}, "random_state": 1}
    for its, own in zip(scores, ({}, sees), strict=True):
        alone = model_of(codes, **{"random_trees": False, "n_boosters": 1, **own})
        np.testing.assert_allclose(2 * its, alone.predict(codes.X), rtol=1e-6, atol=1e-8)


def test_one_booster_goes_on(codes):
    first = model_of(codes, n_boosters=1)
    more = SoftRanker(**SMALL).fit(codes.X, codes.y, qid=codes.qid, init_model=first)
    assert (more.random_trees_, more.n_boosters_, more.best_iteration_) == (False, 1, 20)


@pytest.mark.parametrize(("n_estimators", "expected"), [(3, 3), (25, 10)])
def test_it_takes_ten_trees_at_most(n_estimators, expected, numbers, monkeypatch):
    grown, train = [], lightgbm_trees.train
    monkeypatch.setattr(lightgbm_trees, "train", lambda job: grown.append(job.settings) or train(job))
    model_of(numbers, n_estimators=n_estimators, n_boosters=1)
    assert [(its.n_estimators, its.random_trees) for its in grown] == [
        (expected, True), (expected, False), (n_estimators, True)
    ]  # fmt: skip


@pytest.mark.parametrize(("most", "expected"), [(1800, [900, 900]), (1799, [450, 450]), (600, [300, 300])])
def test_of_many_documents_it_takes_every_so_many_queries(most, expected, codes, monkeypatch):
    monkeypatch.setattr(trial, "_MOST", most)
    seen, suit = [], trial._suit
    monkeypatch.setattr(trial, "_suit", lambda its: seen.append((its._learned, its._judged)) or suit(its))
    model_of(codes)
    learned, judged = seen[0]
    assert [rows.labels.size for rows in (learned, judged)] == expected
    rows = {tuple(row) for row in codes.X}
    both = {tuple(row) for part in (learned, judged) for row in part.features.matrix}
    assert len(both) == sum(expected)
    assert both <= rows


# ---- where there is none -------------------------------------------------------------------------------------------


def test_none_is_made_where_it_decides_nothing(codes, monkeypatch):
    monkeypatch.setattr(trial, "_suit", None)  # to call it raises
    for random in (True, False):
        assert model_of(codes, random_trees=random).random_trees_ is random
    monkeypatch.setattr("boostsoft.ranker.random_trees.PLENTY", 1)
    monkeypatch.setattr("boostsoft.ranker.random_trees.PLENTY_RELEVANT", 1)
    assert model_of(codes).random_trees_ is False


def test_too_few_queries_tell_nothing(codes):
    for n, expected in ((19, True), (20, False)):
        part = codes.rows(codes.qid < n)
        assert model_of(part).random_trees_ is expected
        weight = np.where(np.arange(60) < n, 1.0, 0.0)  # those without weight do not count
        assert model_of(codes, weight=weight).random_trees_ is expected


@pytest.mark.parametrize(
    ("n_queries", "n_docs", "is_made"),
    [(3, 600, False), (4, 450, True), (4, 249, False), (4, 250, True), (12, 100, True)],
)
def test_few_queries_tell_if_they_are_long(n_queries, n_docs, is_made, codes, numbers):
    """From four queries on, which are worth a list for every 50 documents."""
    n = n_queries * n_docs
    for data in (codes, numbers):
        found = model_of(Task(data.X[:n], data.y[:n], np.repeat(np.arange(n_queries), n_docs)))
        assert found.random_trees_ is (data is numbers or not is_made)


def test_few_long_queries_are_judged_by_random_parts_of_them(codes, monkeypatch):
    data = Task(codes.X, codes.y, np.repeat(np.arange(6), 300))
    weights = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0])
    seen, lists = [], trial._lists
    monkeypatch.setattr(trial, "_lists", lambda *given: seen.append(lists(*given)) or seen[-1])
    assert model_of(data, weight=weights).random_trees_ is False
    order, groups, shares = seen[0]
    drawn = np.random.default_rng(0).permutation(6)
    judged = np.isin(data.qid, drawn[:3])
    half, rest = data.rows(~judged), data.rows(judged)
    parts = Task(rest.X[order], rest.y[order], np.repeat(np.arange(18), groups.sizes))
    found = [ndcg(parts, np.zeros(900))]
    for random in (True, False):
        options = {**SMALL, "n_boosters": 1, "learning_rate": 0.3, "random_trees": random, "losses": None}
        alone = SoftRanker(**options).fit(half.X, half.y, qid=half.qid, query_weight=weights[np.unique(half.qid)])
        found.append(ndcg(parts, alone.predict(parts.X)))
    nothing, random, plain = found
    _, errors = verdict(random - nothing, plain - nothing, shares)
    monkeypatch.setattr(trial, "_DOUBTFUL", np.inf)
    for factor in (1.0 - 1e-6, 1.0 + 1e-6):
        monkeypatch.setattr(trial, "_ERRORS", factor * errors)
        assert model_of(data, weight=weights).random_trees_ is (factor > 1.0)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([120, 30, 0, 449], [2, 1, 1, 8]),
        ([99, 100, 149], [1, 2, 2]),
        ([4_000, 8_000], [33, 66]),
        ([150] * 100, [1] * 100),
    ],
)
def test_parts_are_random_as_long_as_each_other_and_share_their_querys_weight(sizes, expected):
    groups, weights = QueryGroups.from_sizes(sizes), np.arange(1.0, len(sizes) + 1)
    order, lists, shares = trial._lists(Rows(None, np.zeros(groups.n_docs), groups, weights), 0)
    assert sorted(order) == list(range(groups.n_docs))
    query = groups.per_document(np.arange(len(sizes)))
    np.testing.assert_array_equal(query[order], query)
    of = np.repeat(np.arange(len(sizes)), expected)
    np.testing.assert_allclose(shares, (weights / expected)[of], rtol=1e-15)
    for q, n in enumerate(expected):
        its = lists.sizes[of == q]
        assert its.sum() == sizes[q]
        assert np.ptp(its) <= 1
        rows = order[query == q]
        assert (np.diff(rows) == 1).all() == (n == 1), "those that stay whole keep their order"
        if n > 1:  # and parts are drawn from anywhere
            first = rows[: its[0]] - groups.offsets[q]
            assert np.ptp(first) > 0.8 * sizes[q]


def test_a_half_in_which_nothing_is_to_be_learned(codes):
    only = Task(codes.X, np.where(codes.qid == 7, codes.y, 0), codes.qid)
    seeds = [
        SoftRanker(random_state=seed, **SMALL).fit(only.X, only.y, qid=only.qid).random_trees_ for seed in range(4)
    ]
    assert seeds == [True] * 4  # the one query is in either half


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "metric", ["pnr", "kendall", "err@5", Metric("ndcg@10", empty="skip"), Metric("auc", pooled=True)]
)
def test_any_metric_judges(metric, codes, numbers):
    """One that is infinite, as pnr in perfect order, undefined, or of all queries together."""
    sure = np.tile([0, 0, 1, 0, 0, 0], 60)  # of six documents a query, of which trees find the best one
    X = np.column_stack([sure + 0.01 * np.arange(360), np.ones(360)])
    assert SoftRanker(metric=metric, **SMALL).fit(X, sure, group=[6] * 60).random_trees_ is True
    assert model_of(numbers, metric=metric).random_trees_ is True
    assert model_of(codes, metric=metric).random_trees_ is False


def test_queries_in_perfect_order_do_not_count_where_the_metric_is_infinite(codes):
    told = codes.qid < 20  # whose one good document a feature tells
    best = np.tile(np.arange(30) == 3, 60)
    mixed = Task(np.column_stack([codes.X, told & best]), np.where(told, best, codes.y), codes.qid)
    assert model_of(mixed, metric="pnr").random_trees_ is False


# ---- what is handed to the boosters' own train ---------------------------------------------------------------------


@both
def test_train_arguments_try_what_they_are_given(booster, codes, numbers):
    for data, expected in ((codes, False), (numbers, True)):
        ranker = SoftRanker(booster, n_boosters=1, **SMALL)
        given = ranker.train_arguments(data.y, X=data.X, group=data.sizes)
        if booster == "lightgbm":
            grown = lgb.train(**given, train_set=lgb.Dataset(data.X, data.y, group=data.sizes)).predict(data.X)
        else:
            grown = xgb.train(**given, dtrain=xgb.DMatrix(data.X, data.y, group=data.sizes))
            grown = grown.predict(xgb.DMatrix(data.X), output_margin=True)
        ranker.fit(data.X, data.y, qid=data.qid)
        assert ranker.random_trees_ is expected
        np.testing.assert_allclose(grown, ranker.predict(data.X), rtol=1e-6, atol=1e-7)
        untried = SoftRanker(booster, n_boosters=1, **SMALL).train_arguments(data.y, group=data.sizes)["params"]
        random = SoftRanker(booster, n_boosters=1, random_trees=True, **SMALL).train_arguments(data.y, group=data.sizes)
        assert {k: v for k, v in untried.items() if k != "objective"} == {
            k: v for k, v in random["params"].items() if k != "objective"
        }


def test_train_arguments_leave_the_ranker_as_it_was_and_check_their_features(codes):
    ranker = SoftRanker(qid_column=0, **SMALL)
    X = np.column_stack([codes.qid, codes.X])
    weight = np.where(np.arange(60) < 40, 1.0, 0.0)
    given = ranker.train_arguments(codes.y, X=X, group=codes.sizes, query_weight=weight)["params"]
    assert "extra_trees" not in given
    assert not hasattr(ranker, "n_features_in_")
    with pytest.raises(ValueError, match=r"SoftRanker.train_arguments: X must have one row per label, 1800; got 1799"):
        ranker.train_arguments(codes.y, X=X[1:], group=codes.sizes)
    with pytest.raises(TypeError, match=r"SoftRanker.train_arguments: X must be"):
        ranker.train_arguments(codes.y, X=lgb.Dataset(X, codes.y), group=codes.sizes)


def test_one_query_to_judge_by_tells_nothing(monkeypatch):
    """Of which no standard error is known."""
    monkeypatch.setattr(trial, "_kinds", lambda *_: np.array([[0.1], [0.9], [1.0]]))
    assert trial._suit(None) is True
