"""Which sigma: each measure on data that were made so that the answer is known."""

from __future__ import annotations

import numpy as np
import polars
import pytest
from scipy import stats

from boostsoft import Metric, SoftMetric
from boostsoft import sigma as module
from boostsoft.blending import SoftBlender, blend_curve
from boostsoft.sigma import choose_sigma
from boostsoft.smoothness import approximation_error, smoothness_error

from .memory import peak_memory

GRID = [0.05, 0.2, 0.8]


def systems(seed=0, n_queries=40, quality=(1.5, 0.8, 0.2), n_docs=12):
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n_queries * n_docs, p=[0.7, 0.2, 0.1])
    return y[:, None] * np.array(quality) + rng.normal(size=(y.size, len(quality))), y, np.full(n_queries, n_docs)


@pytest.fixture(scope="module")
def data():
    return systems()


# ---------------------------------------------------------------------------------------------------------
# The trade-off
# ---------------------------------------------------------------------------------------------------------


def test_tradeoff_is_that_of_the_curves(data):
    S, y, sizes = data
    found = choose_sigma(S[:, :2], y, method="tradeoff", group=sizes, sigmas=GRID[::-1], normalize="none")
    assert found.sigmas.tolist() == GRID
    curves = [blend_curve(S, y, group=sizes, n=51, sigma=sigma, n_boot=20) for sigma in GRID]
    hard = curves[0].hard
    rough = smoothness_error(hard, "polynomial") / hard.var()
    smooth = [smoothness_error(curve.soft, "polynomial") / curve.soft.var() / rough for curve in curves]
    misfit = [approximation_error(curve.soft, hard).error / hard.var() for curve in curves]
    np.testing.assert_allclose(found.table["smoothness"], smooth, rtol=1e-2, atol=1e-6)
    np.testing.assert_allclose(found.table["approximation"], misfit, rtol=1e-3)
    np.testing.assert_allclose(found.table["total"], 0.2 * np.array(smooth) + misfit, rtol=1e-2)
    assert found.sigma == GRID[int(np.argmin(found.table["total"]))]
    assert np.all(np.diff(found.table["smoothness"]) < 0)
    assert np.all(np.diff(found.table["approximation"]) > 0)


def test_the_weight_of_smoothness_decides(data):
    S, y, sizes = data
    chosen = [
        choose_sigma(S, y, method="tradeoff", group=sizes, sigmas=GRID, smoothness_weight=weight).sigma
        for weight in (0.0, 1e4)
    ]
    assert chosen == [GRID[0], GRID[-1]]


def test_the_noise_is_the_one_that_was_asked_for(data):
    S, y, sizes = data
    for method in ("tradeoff", "sensitivity", "held-out"):
        tables = [
            choose_sigma(S, y, method=method, group=sizes, sigmas=[0.2], noise=noise).table
            for noise in ("gaussian", "logistic")
        ]
        first = {"tradeoff": "approximation", "sensitivity": "queries", "held-out": "value"}[method]
        assert tables[0][first] != tables[1][first]


def test_a_sigma_that_is_given_twice_is_compared_once(data):
    S, y, sizes = data
    found = choose_sigma(S, y, method="tradeoff", group=sizes, sigmas=[0.8, 0.2, 0.8])
    assert found.sigmas.tolist() == [0.2, 0.8]


def test_a_choice_says_of_which_metric_and_in_which_unit(data):
    S, y, sizes = data
    found = choose_sigma(S, y, method="tradeoff", group=sizes, sigmas=[0.8], metric="map@5", sigma_unit="score")
    assert (found.metric, found.sigma_unit) == (Metric("map@5"), "score")
    assert choose_sigma(S, y, group=sizes, sigmas=[0.8]).metric == Metric("ndcg@10")


# ---------------------------------------------------------------------------------------------------------
# Sensitivity
# ---------------------------------------------------------------------------------------------------------


def effect(values):
    return values.mean() / values.std()


def test_sensitivity_counts_queries(data):
    S, y, sizes = data
    found = choose_sigma(S[:, [0, 2]], y, method="sensitivity", group=sizes, sigmas=GRID, normalize="none")
    hard = Metric("ndcg@10")
    differences = hard.per_query(y, S[:, 0], group=sizes) - hard.per_query(y, S[:, 2], group=sizes)
    for at, sigma in enumerate(GRID):
        soft = SoftMetric("ndcg@10", sigma=sigma, sigma_unit="spread")
        ours = soft.per_query(y, S[:, 0], group=sizes) - soft.per_query(y, S[:, 2], group=sizes)
        assert found.table["queries"][at] == pytest.approx((effect(differences) / effect(ours)) ** 2, rel=1e-3)
    assert found.sigma == GRID[int(np.argmin(found.table["queries"]))]
    assert not found.table["against"].any()
    assert found.table["rescaling"].max() < 1e-9


@pytest.mark.filterwarnings("ignore:Precision loss")  # SciPy's, where two queries differ alike
@pytest.mark.parametrize("n_queries", [2, 3, 5, 12])
def test_sensitivity_decides_as_often_as_its_level_says(n_queries):
    """By Student's law: the percentiles of two queries leave 0 out whenever both have one sign."""
    rng = np.random.default_rng(0)
    y = np.tile([0, 0, 1, 2], n_queries)
    options = {"method": "sensitivity", "group": [4] * n_queries, "sigmas": [0.5], "normalize": "none"}
    told = []
    for _ in range(60):
        S = rng.normal(size=(y.size, 2))
        values = [Metric("ndcg@10").per_query(y, model, group=[4] * n_queries) for model in S.T]
        told.append(stats.ttest_rel(*values).pvalue < 0.05)
        if told[-1]:
            choose_sigma(S, y, **options)
        else:
            with pytest.raises(ValueError, match="tell two models apart; it does so for no pair"):
                choose_sigma(S, y, **options)
    assert 0 < sum(told) <= 10


def test_memory_that_many_models_take():
    """The pairs are many times the models."""
    y = np.tile([0, 1], 2000)
    S = y[:, None] * np.linspace(0.0, 2.0, 40) + np.random.default_rng(0).normal(size=(4000, 40))
    options = {"method": "sensitivity", "group": [2] * 2000, "sigmas": [0.5], "normalize": "none", "progress": False}
    choose_sigma(S[:, [0, -1]], y, **options)  # compiled
    assert peak_memory(lambda: choose_sigma(S, y, **options)) < 21 * S.nbytes


def test_sensitivity_weighs_queries():
    """One model is better in few queries of much weight, the other one in the rest."""
    rng = np.random.default_rng(0)
    y, heavy = rng.integers(0, 3, (60, 10)), np.arange(60) < 20
    good, bad = (y + deviation * rng.normal(size=y.shape) for deviation in (0.7, 3.0))
    first, second = (np.where(rows[:, None], good, bad).ravel() for rows in (heavy, ~heavy))
    weights = np.where(heavy, 10.0, 1.0)
    found = choose_sigma(
        np.column_stack([first, second]), y.ravel(), method="sensitivity", group=[10] * 60, query_weight=weights,
        sigmas=GRID, normalize="none",
    )  # fmt: skip

    def weighted_effect(metric):
        values = [metric.per_query(y.ravel(), s, group=[10] * 60, query_weight=weights) for s in (first, second)]
        d = values[0] - values[1]
        mean = np.average(d, weights=weights)
        return mean / np.sqrt((weights**2 * (d - mean) ** 2).sum())

    softs = [SoftMetric("ndcg@10", sigma=sigma, sigma_unit="spread") for sigma in GRID]
    expected = [(weighted_effect(Metric("ndcg@10")) / weighted_effect(soft)) ** 2 for soft in softs]
    np.testing.assert_allclose(found.table["queries"], expected, rtol=1e-3)


def test_sensitivity_does_not_change_with_the_size_of_the_gains(data):
    S, y, sizes = data
    plain, small = (
        choose_sigma(
            S, y, method="sensitivity", group=sizes, sigmas=GRID, metric=Metric("dcg@5", gain=(0, unit, 3 * unit))
        )
        for unit in (1.0, 1e-6)
    )
    np.testing.assert_allclose(small.table["queries"], plain.table["queries"], rtol=1e-6)


def test_units_of_the_score_fail_the_control(data):
    S, y, sizes = data
    with pytest.raises(ValueError, match="sigma_unit='spread' does the latter"):
        choose_sigma(S, y, method="sensitivity", group=sizes, sigmas=GRID, sigma_unit="score", normalize="none")
    # of a noise that is next to none, values change by thousandths
    options = {"method": "sensitivity", "group": sizes, "sigma_unit": "score", "normalize": "none"}
    with pytest.raises(ValueError, match=r"largest change 0\.00\d+ at least"):
        choose_sigma(S, y, sigmas=[5e-4], **options)
    # nor is one that fails taken where of those that pass none tells models apart
    found = choose_sigma(S, y, sigmas=[0.5, 1e300], **options)
    assert found.table["rescaling"][0] > 1e-3
    assert (found.sigma, found.table["queries"][1]) == (1e300, np.inf)


def test_halved_scores_that_raise_every_value_fail_the_control_too():
    """Both models put the relevant document behind the others; the second one not behind the last of them."""
    y = np.tile(np.r_[1, np.zeros(11)], 40)
    S = np.tile(np.column_stack([np.r_[-1.0, np.zeros(11)], np.r_[-1.0, -1.5, np.zeros(10)]]), (40, 1))
    S += 1e-3 * np.random.default_rng(0).random(S.shape)
    options = {"method": "sensitivity", "sigma_unit": "score", "normalize": "none", "metric": "mrr"}
    with pytest.raises(ValueError, match="leaves values alone when scores are halved"):
        choose_sigma(S, y, group=[12] * 40, sigmas=GRID[1:], **options)


def contradicting(*others):
    """Model 0 puts the relevant document first by a hair among many; model 1 puts it second, far above the rest."""
    rng = np.random.default_rng(0)
    y = np.tile(np.r_[1, np.zeros(19)], 40)
    close = np.tile(np.r_[0.02, np.zeros(9), np.full(10, -10.0)], 40) + 1e-3 * rng.random(y.size)
    clear = np.tile(np.r_[9.0, 10.0, np.zeros(18)], 40) + 1e-3 * rng.random(y.size)
    views = [quality * y + rng.normal(size=y.size) for quality in others]
    return np.column_stack([close, clear, *views]), y


def test_a_sigma_that_contradicts_the_hard_metric_is_refused():
    S, y = contradicting()
    options = {"method": "sensitivity", "group": [20] * 40, "normalize": "none", "metric": "ndcg@3"}
    found = choose_sigma(S, y, sigmas=[1e-4, 0.5], **options)
    assert found.table["against"].tolist() == [0.0, 1.0]
    assert found.sigma == 1e-4
    with pytest.raises(ValueError, match="no sigma agrees with the hard metric"):
        choose_sigma(S, y, sigmas=[0.5], **options)
    found = choose_sigma(*contradicting(*np.linspace(0.0, 3.0, 8)), sigmas=[1e-4, 0.5], **options)
    assert found.table["queries"][1] < found.table["queries"][0], "although it tells most pairs apart in fewer queries"
    assert found.sigma == 1e-4


def test_scores_may_be_as_large_as_floats_are(data):
    S, y, sizes = data
    S = S[:, :2] / np.abs(S[:, :2]).max()
    options = {"method": "sensitivity", "group": sizes, "sigmas": GRID, "normalize": "none"}
    found, large = (choose_sigma(size * S, y, **options).table["queries"] for size in (1.0, 1.7e308))
    np.testing.assert_allclose(large, found, rtol=1e-9)


def test_systems_that_cannot_be_told_apart():
    S, y, sizes = systems(n_queries=10, quality=(1.0, 1.0))
    with pytest.raises(ValueError, match="must tell two models apart"):
        choose_sigma(S, y, method="sensitivity", group=sizes, sigmas=GRID)


def test_one_query_tells_no_models_apart():
    S, y, sizes = systems(n_queries=10, quality=(3.0, 0.0))
    with pytest.raises(ValueError, match="must tell two models apart"):
        choose_sigma(S, y, method="sensitivity", group=sizes, query_weight=[1] + 9 * [0], sigmas=GRID)


# ---------------------------------------------------------------------------------------------------------
# Residuals
# ---------------------------------------------------------------------------------------------------------


def test_residual_is_the_noise_of_the_scores():
    rng = np.random.default_rng(0)
    signal = rng.normal(size=20_000)
    halves = signal[:, None] + 0.3 * rng.normal(size=(20_000, 6))
    found = choose_sigma(halves, method="residual", group=[20] * 1000)
    assert found.sigma == pytest.approx(0.3 / np.sqrt(1 + 0.3**2 / 6), rel=0.01)
    assert (found.metric, found.sigma_unit) == (None, "spread")
    scaled = halves * [1, 10, 0.1, 7, 1e8, 3] + np.repeat(rng.normal(size=1000), 20)[:, None]
    assert choose_sigma(scaled, method="residual", group=[20] * 1000).sigma == pytest.approx(found.sigma, rel=1e-4)


def test_residual_weighs_queries_in_whatever_order_their_rows_come():
    """The models agree well in the first queries, which weigh twice as much as others, or those weigh nothing."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(30), 10)
    S = rng.normal(size=(300, 1)) + np.where(qid < 10, 0.1, 1.0)[:, None] * rng.normal(size=(300, 4))
    weights = np.where(np.arange(30) < 10, 2.0, np.arange(30) % 2)
    there = np.concatenate([np.flatnonzero(qid == q) for q in range(30) for _ in range(int(weights[q]))])
    expected = choose_sigma(S[there], method="residual", group=[10] * (there.size // 10)).sigma
    mixed = rng.permutation(300)
    found = choose_sigma(S[mixed], method="residual", qid=qid[mixed], sample_weight=weights[qid[mixed]])
    assert found.sigma == pytest.approx(expected, rel=1e-12)
    by_query = choose_sigma(S, method="residual", qid=qid, query_weight=weights)
    assert by_query.sigma == pytest.approx(expected, rel=1e-12)
    assert abs(found.sigma - choose_sigma(S, method="residual", qid=qid).sigma) > 0.1
    with pytest.warns(UserWarning, match="choose_sigma: neither group= nor qid= was given") as caught:
        choose_sigma(S, method="residual")
    assert caught[0].filename == __file__


# ---------------------------------------------------------------------------------------------------------
# Held-out queries
# ---------------------------------------------------------------------------------------------------------


def test_there_are_no_more_folds_than_queries(data):
    S, y, sizes = data
    options = {"method": "held-out", "group": sizes, "sigmas": [0.5]}
    each, more = (choose_sigma(S, y, n_folds=n, **options) for n in (sizes.size, 10**9))
    np.testing.assert_array_equal(each.table["value"], more.table["value"])


def test_held_out_values_are_those_of_fits_without_the_query(data):
    S, y, sizes = data
    found = choose_sigma(S, y, method="held-out", group=sizes, sigmas=[0.5], n_folds=4, random_state=2)
    assert found.sigma == 0.5
    fold = np.repeat(np.random.default_rng(2).permutation(sizes.size) % 4, sizes)
    qid, values = np.repeat(np.arange(sizes.size), sizes), []
    for part in range(4):
        train, test = fold != part, fold == part
        blender = SoftBlender(sigma=0.5).fit(S[train], y[train], qid=qid[train])
        scores = blender.predict(S[test], qid=qid[test])
        values.append(Metric("ndcg@10").per_query(y[test], scores, qid=qid[test]))
    assert found.table["value"][0] == pytest.approx(np.concatenate(values).mean(), abs=5e-3)


def test_held_out_takes_the_best(data):
    S, y, sizes = data
    found = choose_sigma(S, y, group=sizes, sigmas=GRID)
    assert found.method == "held-out"
    assert found.sigma == GRID[int(np.argmax(found.table["value"]))]


@pytest.mark.filterwarnings("ignore:.*the opposite order")
@pytest.mark.parametrize("how", ["none", "zscore"])
def test_held_out_tells_a_model_from_its_reverse(data, how):
    """At equal weights, from which other climbs start, nothing is left of them but rounding."""
    S, y, sizes = data
    found = choose_sigma(np.column_stack([S[:, 0], -S[:, 0]]), y, group=sizes, sigmas=[0.2, 0.5], normalize=how)
    np.testing.assert_allclose(found.table["value"], Metric("ndcg@10")(y, S[:, 0], group=sizes), rtol=1e-12)


def test_held_out_values_are_a_share_where_queries_count_0(data):
    S, y, sizes = data
    y = np.where(np.repeat(np.arange(sizes.size) % 3 > 0, sizes), 0, y)
    zero, skip = (
        choose_sigma(S, y, group=sizes, sigmas=GRID, metric=Metric("ndcg@10", empty=empty)).table["value"]
        for empty in ("zero", "skip")
    )
    telling = np.add.reduceat(y, np.cumsum(sizes) - sizes) > 0
    np.testing.assert_allclose(zero, skip * telling.mean(), rtol=1e-9)


# ---------------------------------------------------------------------------------------------------------
# Bad input
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "guess"}, "method must be one of 'residual', 'held-out', 'tradeoff', 'sensitivity'"),
        ({"sigmas": [0.0, 1.0]}, "sigmas must be above 0; got 0"),
        ({"sigmas": []}, "sigmas must not be empty"),
        ({"n_folds": 1}, "n_folds must be from 2"),
        ({"random_state": -1}, "random_state must be a seed from 0"),
        ({"l2": -1.0}, "choose_sigma: l2 must not be negative; got -1.0"),
        ({"smoothness_weight": -0.1}, "choose_sigma: smoothness_weight must not be negative; got -0.1"),
    ],
)
def test_bad_input(options, message, data):
    S, y, sizes = data
    with pytest.raises(ValueError, match=message):
        choose_sigma(S, y, group=sizes, **options)


@pytest.mark.filterwarnings("ignore:.*all documents")
@pytest.mark.parametrize("method", ["held-out", "tradeoff", "sensitivity"])
def test_a_metric_that_is_infinite_is_refused(method):
    S, y = np.tile([[1.0, 1.0, 0.5], [0.0, 0.5, 1.0]], (20, 1)), np.tile([1, 0], 20)
    with pytest.raises(ValueError, match="choose_sigma: pnr must be finite for every query; query 0 has an infinite"):
        choose_sigma(S, y, group=[2] * 20, method=method, metric="pnr", sigmas=GRID)


def test_what_leaves_held_out_weights_open_is_said(data):
    S, y, sizes = data
    with pytest.warns(UserWarning, match="^choose_sigma: column 0 and column 1 rank all documents alike"):
        choose_sigma(S[:, [0, 0]], y, method="held-out", group=sizes, sigmas=[0.2, 0.5])
    alone = np.where(np.arange(y.size) < sizes[0], y, 0)
    told = "^choose_sigma: two queries must have a relevant document to hold one of them out; got 1"
    with pytest.warns(UserWarning, match="one query alone"), pytest.raises(ValueError, match=told):
        choose_sigma(S, alone, method="held-out", group=sizes, sigmas=[0.5])


def test_queries_that_do_not_count_are_in_no_fold(data):
    """Of weight 0, without anything relevant, or without documents: what is found is the same without them."""
    S, y, sizes = data
    counts = np.arange(sizes.size) % 3 == 0
    rows, options = np.repeat(counts, sizes), {"sigmas": [0.2, 0.5], "n_folds": 3, "method": "held-out", "l2": 0.0}
    alone = choose_sigma(S[rows], y[rows], group=sizes[counts], **options).table["value"]
    weighed = choose_sigma(S, y, group=sizes, query_weight=counts.astype(float), **options).table["value"]
    np.testing.assert_allclose(weighed, alone, rtol=0, atol=1e-6)
    empty = choose_sigma(S[rows], y[rows], group=np.where(counts, sizes, 0), **options).table["value"]
    np.testing.assert_allclose(empty * counts.size, alone * counts.sum(), rtol=0, atol=1e-5)


def test_two_queries_that_count_are_never_in_one_fold(data):
    S, y, sizes = data
    two = np.where(np.repeat(np.arange(sizes.size), sizes) < 2, y, 0)
    for seed in range(4):
        assert choose_sigma(S, two, group=sizes, sigmas=[0.5], n_folds=2, random_state=seed).sigma == 0.5


def test_bad_scores(data):
    S, y, sizes = data
    with pytest.raises(TypeError, match=r"^choose_sigma: S must be a DataFrame or an array; got a LazyFrame, which"):
        choose_sigma(polars.DataFrame(S).lazy(), y, group=sizes)
    with pytest.raises(ValueError, match="S must have two models at least"):
        choose_sigma(S[:, :1], y, group=sizes)
    with pytest.raises(ValueError, match="S must have two models at least"):
        choose_sigma(S[:, :1], method="residual", group=sizes)
    with pytest.raises(ValueError, match="column 1 is constant within every query"):
        choose_sigma(np.column_stack([S[:, 0], 0 * y]), method="residual", group=sizes)
    with pytest.raises(ValueError, match="share no signal"):
        choose_sigma(np.column_stack([S[:, 0], -S[:, 0]]), method="residual", group=sizes)
    with pytest.raises(ValueError, match="column 0 must be finite"):
        choose_sigma(np.where(S > 2, np.nan, S), method="residual", group=sizes)
    with pytest.raises(ValueError, match="it is constant"):
        choose_sigma(S[:, [0, 0]], y, method="tradeoff", group=sizes)


def test_sensitivity_is_that_of_the_decided_pairs():
    S, y, sizes = systems(quality=(1.5, 0.2, 0.2))
    found = choose_sigma(S, y, method="sensitivity", group=sizes, sigmas=[0.8], normalize="none")
    hard, soft = (
        [metric.per_query(y, column, group=sizes) for column in S.T]
        for metric in (Metric("ndcg@10"), SoftMetric("ndcg@10", sigma=0.8, sigma_unit="spread"))
    )
    ratios = [(effect(hard[0] - hard[j]) / effect(soft[0] - soft[j])) ** 2 for j in (1, 2)]  # 1 and 2 are as good
    assert found.table["queries"][0] == pytest.approx(np.mean(ratios), rel=1e-3)


def test_held_out_trains_by_weight():
    """One model is better in the queries that weigh something, the other one in the rest, which are more."""
    rng = np.random.default_rng(0)
    y, heavy = rng.integers(0, 3, (60, 10)), np.arange(60) < 20
    good, bad = (y + deviation * rng.normal(size=y.shape) for deviation in (0.7, 30.0))
    S = np.column_stack([np.where(rows[:, None], good, bad).ravel() for rows in (heavy, ~heavy)])
    given = {"group": [10] * 60, "query_weight": np.where(heavy, 1.0, 1e-3)}
    found = choose_sigma(S, y.ravel(), method="held-out", sigmas=[0.5], l2=0.0, **given)
    assert found.table["value"][0] == pytest.approx(Metric("ndcg@10")(y.ravel(), S[:, 0], **given), abs=0.01)


def test_one_query_may_weigh_more_than_all_others(data):
    S, y, sizes = data
    weights = np.where(np.arange(sizes.size) == 0, 1e3, 1.0)  # 1.08 queries of equal weight, of 40 that count
    found = choose_sigma(S, y, method="held-out", group=sizes, query_weight=weights, sigmas=[0.2, 0.5])
    assert np.isfinite(found.table["value"]).all()


def test_held_out_does_not_see_scores_of_weight_0(data):
    S, y, sizes = data
    weights = np.where(np.arange(sizes.size) > 2, 1, 0)
    there = np.repeat(weights, sizes)[:, None] > 0
    factors = 50.0 * np.arange(1, S.shape[1] + 1)
    first, second = (
        choose_sigma(scores, y, group=sizes, query_weight=weights, sigmas=GRID, normalize="none", n_folds=2)
        for scores in (S, np.where(there, S, factors * S))
    )
    assert first.table["value"].tolist() == second.table["value"].tolist()


def test_a_soft_metric_has_its_sigma_already():
    with pytest.raises(TypeError, match=r"^choose_sigma: metric must be a string such as 'ndcg@10' or a Metric; got S"):
        choose_sigma(np.zeros((4, 2)), np.arange(4), group=[4], metric=SoftMetric("ndcg@10", sigma=0.2))


def test_residual_takes_scores_in_their_direction():
    halves = np.random.default_rng(0).integers(0, 3, 300)[:, None] + np.random.default_rng(1).normal(size=(300, 2))
    options = {"method": "residual", "group": [10] * 30}
    turned = halves * [1.0, -1.0]
    found = choose_sigma(turned, **options, lower_is_better=np.array([False, True]))
    assert found.sigma == pytest.approx(choose_sigma(halves, **options).sigma, rel=1e-12)


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ({"sigmas": [-1.0]}, "sigmas must be above 0"),
        ({"noise": "x"}, "noise must"),
        ({"normalize": "x"}, "normalize must"),
    ],
)
def test_residual_checks_what_it_does_not_use(option, told, data):
    S, _, sizes = data
    with pytest.raises(ValueError, match=told):
        choose_sigma(S, method="residual", group=sizes, **option)


def test_units_of_the_score_are_not_those_of_a_blend(data):
    S, y, sizes = data
    with pytest.raises(ValueError, match="sigma_unit must be 'spread' with method='held-out', as in a blend"):
        choose_sigma(S, y, group=sizes, sigma_unit="score")


@pytest.mark.parametrize("columns", [[0, 0], [0, 0, 0]])
def test_rounding_is_no_curve(columns):
    """The deviation of 51 equal numbers is hardly ever 0, since their mean is rounded."""
    for seed in range(6):
        S, y, sizes = systems(seed=seed)
        with pytest.raises(ValueError, match="it is constant"):
            choose_sigma(S[:, columns], y, method="tradeoff", group=sizes, sigmas=[0.1, 0.5])


def test_of_totals_that_differ_by_rounding_the_least_sigma_is_taken(data):
    S, y, sizes = data
    S = np.column_stack([S[:, 0], np.zeros(len(S))])
    found = choose_sigma(S, y, group=sizes, method="tradeoff", sigmas=[0.1, 1.0])
    assert np.ptp(found.table["total"]) < 1e-12
    assert found.sigma == 0.1


def test_a_copy_changes_no_tradeoff():
    S, y, sizes = systems()
    options = {"method": "tradeoff", "group": sizes, "sigmas": [0.1, 0.3, 1.0]}
    alone, with_copy = (choose_sigma(S[:, columns], y, **options) for columns in ([0, 1], [0, 1, 1]))
    np.testing.assert_allclose(with_copy.table["total"], alone.table["total"], rtol=1e-9)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"metric": "nonsense"}, "unknown metric 'nonsense'"),
        ({"sigma_unit": "parsec"}, "sigma_unit must be one of"),
        ({"l2": -1}, "l2 must"),
        ({"n_folds": 0}, "n_folds must"),
        ({"smoothness_weight": -1}, "smoothness_weight must"),
        ({"random_state": "today"}, "random_state must"),
    ],
)
def test_every_method_refuses_what_it_does_not_read_too(data, wrong, told):
    S, y, sizes = data
    for method in ("residual", "sensitivity"):
        with pytest.raises(ValueError, match=f"choose_sigma: {told}"):
            choose_sigma(S, y, method=method, group=sizes, **wrong)


def test_held_out_blends_go_from_wide_to_narrow(data, monkeypatch):
    """Each from where the one before ended, the first from equal weights, anew in every fold."""
    S, y, sizes = data
    seen, real = [], module.climb

    def watched(value, weights):
        found = real(value, weights)
        seen.append((value.sigma, np.array(weights), np.array(found)))
        return found

    monkeypatch.setattr(module, "climb", watched)
    choose_sigma(S, y, group=sizes, sigmas=[0.2, 0.8, 0.4], n_folds=3)
    assert [sigma for sigma, _, _ in seen] == 3 * [0.8, 0.4, 0.2]
    for at, (_, begin, _) in enumerate(seen):
        np.testing.assert_array_equal(begin, seen[at - 1][2] if at % 3 else np.full(S.shape[1], 1 / S.shape[1]))
