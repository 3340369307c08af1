"""Curves and surfaces of mixtures: the metric of a plain product, and what the scale of the scores does to it."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from boostsoft import Metric, SoftMetric, choose_sigma
from boostsoft.blending import blend_curve, blend_surface
from boostsoft.blending.curve import summit
from boostsoft.query_means import bootstrap_means

HARD = Metric("ndcg@10")


def views(seed=0, n_queries=30, quality=(1.0, 0.8, 0.5), n_docs=12):
    """Noisy views of the labels, on different scales."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n_queries * n_docs, p=[0.7, 0.2, 0.1])
    S = (y[:, None] * np.array(quality) + rng.normal(size=(y.size, len(quality)))) * np.arange(1, len(quality) + 1)
    return S, y, np.full(n_queries, n_docs)


@pytest.fixture(scope="module")
def data():
    return views()


@pytest.fixture(scope="module")
def curve(data):
    S, y, sizes = data
    return blend_curve(S, y, group=sizes, n=11, sigma=0.5)


# ---------------------------------------------------------------------------------------------------------
# Scale
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*rank all documents alike")
def test_a_formula_and_ten_times_itself(data):
    """In spreads of the mixture nothing changes; in units of the score the metric rises with the scores alone."""
    S, y, sizes = data
    pair = np.column_stack([S[:, 0], 10 * S[:, 0]])
    found = blend_curve(pair, y, group=sizes, n=21, sigma=0.5)
    np.testing.assert_allclose(found.soft, found.soft[0], rtol=0, atol=1e-9)
    assert np.ptp(found.hard) < 1e-12
    for best in (found.hard_optimum, found.soft_optimum):  # one mixture is as good as another
        assert (best.t, best.low, best.high) == (0.5, 0.0, 1.0)
    failed = blend_curve(pair, y, group=sizes, n=21, sigma=2.0, sigma_unit="score")
    assert np.all(np.diff(failed.soft) > 0)
    assert failed.soft[-1] - failed.soft[0] > 0.1
    assert np.ptp(failed.hard) < 1e-12


def test_normalised_mixtures_do_not_depend_on_units(data):
    S, y, sizes = data
    curves = [
        blend_curve(scores, y, group=sizes, n=5, normalize="zscore", i=2, j=0).soft
        for scores in (S, S * [1e6, 1.0, 1e-3] + 5.0)
    ]
    np.testing.assert_allclose(*curves, rtol=1e-6)


# ---------------------------------------------------------------------------------------------------------
# Values
# ---------------------------------------------------------------------------------------------------------


def test_each_point_is_the_metric_of_the_mixture(data, curve):
    S, y, sizes = data
    soft = SoftMetric("ndcg@10", sigma=0.5, sigma_unit="spread")
    assert (curve.metric, curve.soft_metric) == (HARD, soft)
    np.testing.assert_allclose(curve.t, np.arange(11) / 10, atol=1e-15)
    for at in (0, 3, 10):
        mixture = (1 - curve.t[at]) * S[:, 0] + curve.t[at] * S[:, 1]
        assert curve.hard[at] == pytest.approx(HARD(y, mixture, group=sizes), abs=1e-12)
        assert curve.soft[at] == pytest.approx(soft(y, mixture, group=sizes), abs=1e-12)
        np.testing.assert_allclose(curve.soft_values[:, at], soft.per_query(y, mixture, group=sizes), atol=1e-12)
        np.testing.assert_allclose(curve.hard_values[:, at], HARD.per_query(y, mixture, group=sizes), atol=1e-12)
    assert curve.hard[4] > max(curve.hard[0], curve.hard[-1])


@pytest.mark.parametrize("ranks", ["exact", "softrank"])
def test_a_soft_metric_is_the_soft_curve(data, ranks):
    S, y, group = data
    soft = SoftMetric("ndcg@5", noise="gumbel", sigma=0.7, sigma_unit="score", accuracy="high", ranks=ranks)
    found = blend_curve(S, y, group=group, n=3, metric=soft, n_boot=20)
    assert (found.soft_metric, found.metric) == (soft, soft.hard)
    for t, value, hard in zip(found.t, found.soft, found.hard, strict=True):
        blend = (1 - t) * S[:, 0] + t * S[:, 1]
        assert value == pytest.approx(soft(y, blend, group=group), rel=1e-12)
        assert hard == pytest.approx(soft.hard(y, blend, group=group), rel=1e-12)
    surface = blend_surface(S, y, group=group, n=2, metric=soft, n_boot=20)
    assert surface.soft_metric == soft
    for own in ({"noise": "logistic"}, {"sigma": 0.2}, {"sigma_unit": "score"}):
        with pytest.raises(TypeError, match=r"^blend_curve: give noise, sigma and sigma_unit to the SoftMetric"):
            blend_curve(S, y, group=group, metric=soft, **own)


def test_models_by_position(data, curve):
    S, y, sizes = data
    back = blend_curve(S, y, group=sizes, n=11, sigma=0.5, i=1, j=-3)
    np.testing.assert_allclose(back.soft[::-1], curve.soft, rtol=1e-9)
    many = np.tile(S, 45)  # more models than a position of 8 bits can count
    again = blend_curve(many, y, group=sizes, n=11, sigma=0.5, i=np.int8(-3), j=np.uint8(1))
    np.testing.assert_allclose(again.soft, curve.soft, rtol=1e-9)


def test_rows_in_any_order_and_weights(data, curve):
    S, y, sizes = data
    qid = np.repeat(np.arange(sizes.size), sizes)
    mixed = np.random.default_rng(0).permutation(y.size)
    again = blend_curve(S[mixed], y[mixed], qid=qid[mixed], n=11, sigma=0.5)
    np.testing.assert_allclose(again.hard, curve.hard, atol=1e-12)
    weights = (qid % 3).astype(float)
    weighted = blend_curve(S, y, qid=qid, n=3, sigma=0.5, sample_weight=weights)
    expected = [np.average(curve.hard_values[:, at], weights=np.arange(sizes.size) % 3) for at in (0, 5, 10)]
    np.testing.assert_allclose(weighted.hard, expected, atol=1e-12)
    soft = SoftMetric("ndcg@10", sigma=0.5, sigma_unit="spread")
    expected = soft(y, S[:, 1], group=sizes, query_weight=np.arange(sizes.size) % 3)
    assert weighted.soft[-1] == pytest.approx(expected, abs=1e-12)


def test_queries_that_do_not_count(data):
    S, y, sizes = data
    y = np.where(np.arange(y.size) < 24, 0, y)  # two queries without a relevant document
    zero, skip = (
        blend_curve(S, y, group=sizes, n=3, sigma=0.5, metric=Metric("ndcg@10", empty=empty), n_boot=200)
        for empty in ("zero", "skip")
    )
    np.testing.assert_allclose(skip.soft, zero.soft * 30 / 28, rtol=1e-9)
    assert np.isnan(skip.hard_values[:2]).all()
    assert np.isfinite(skip.hard_interval).all()


def test_missing_scores_and_direction(data):
    S, y, sizes = data
    holes = np.where(np.random.default_rng(0).random(S.shape) < 0.2, np.nan, S)
    found = blend_curve(-holes, y, group=sizes, n=3, normalize="minmax", lower_is_better=True, sigma=0.5)
    ends = [np.split(holes[:, column], 30) for column in (0, 1)]
    filled = [np.concatenate([np.nan_to_num(part, nan=np.nanmin(part) - 1) for part in parts]) for parts in ends]
    np.testing.assert_allclose(found.hard[[0, 2]], [HARD(y, scores, group=sizes) for scores in filled], atol=1e-12)


# ---------------------------------------------------------------------------------------------------------
# Uncertainty
# ---------------------------------------------------------------------------------------------------------


def test_bands_have_the_width_of_the_standard_error(curve):
    for values, interval, mean in (
        (curve.hard_values, curve.hard_interval, curve.hard),
        (curve.soft_values, curve.soft_interval, curve.soft),
    ):
        error = values.std(axis=0) / np.sqrt(len(values))
        np.testing.assert_allclose(np.diff(interval)[:, 0], 2 * 1.96 * error, rtol=0.12)
        assert np.all((interval[:, 0] < mean) & (mean < interval[:, 1]))


def middle(values):
    """The middle of the first longest run of largest values, as a text has it."""
    text = "".join("x" if value > values.max() - 1e-12 else " " for value in values)
    longest = max(text.split(), key=len)
    return text.index(longest) + (len(longest) - 1) // 2


def test_optimum_and_its_interval(data, curve):
    S, y, sizes = data
    for kind in ("hard", "soft"):
        best, mean = getattr(curve, f"{kind}_optimum"), getattr(curve, kind)
        assert best.value == pytest.approx(mean.max(), abs=1e-12)
        assert best.value == mean[np.flatnonzero(curve.t == best.t)[0]]
        assert 0.0 <= best.low <= best.t <= best.high <= 1.0
        assert best.high - best.low > 0.05
    values, rng = curve.soft_values, np.random.default_rng(0)
    drawn = [curve.t[values[rng.integers(30, size=30)].mean(axis=0).argmax()] for _ in range(1000)]
    np.testing.assert_allclose(
        [curve.soft_optimum.low, curve.soft_optimum.high], np.quantile(drawn, [0.025, 0.975]), atol=0.1
    )
    for kind in ("hard", "soft"):  # of no other metric
        again = bootstrap_means(getattr(curve, f"{kind}_values").T, np.ones(sizes.size), 1000, 0)
        np.testing.assert_allclose(getattr(curve, f"{kind}_interval"), np.quantile(again, [0.025, 0.975], axis=0).T)
        ends, best = (
            np.quantile(curve.t[[middle(row) for row in again]], [0.025, 0.975]),
            getattr(curve, f"{kind}_optimum"),
        )
        np.testing.assert_allclose([best.low, best.high], ends)
    other = blend_curve(S, y, group=sizes, n=11, sigma=0.5, random_state=1, n_boot=20)
    assert not np.array_equal(other.soft_interval, curve.soft_interval)


def test_votes_that_add_up_to_the_same_are_tied():
    """Not in the order that rounding of the two products gives them, which would depend on the models' order."""
    rng, group = np.random.default_rng(0), [20] * 50
    S, y = rng.integers(0, 5, (1000, 2)).astype(float), rng.integers(0, 3, 1000)
    found, turned = (blend_curve(S, y, i=i, j=1 - i, group=group, n=11, n_boot=20) for i in (0, 1))
    metric = Metric("ndcg@10")
    exact = [metric(y, (10 - k) * S[:, 0] + k * S[:, 1], group=group) for k in range(11)]
    np.testing.assert_allclose(found.hard, exact, rtol=1e-12)
    np.testing.assert_allclose(turned.hard[::-1], exact, rtol=1e-12)
    surface = blend_surface(np.column_stack([S, y % 2]), y, group=group, n=5)
    scores = np.round(surface.weights * 4) @ np.column_stack([S, y % 2]).T
    np.testing.assert_allclose(surface.hard, [metric(y, blend, group=group) for blend in scores], rtol=1e-12)


def test_a_line_says_what_was_found(data, curve):
    best = curve.hard_optimum
    assert repr(curve).startswith(
        f"BlendCurve(ndcg@10, 11 mixtures; best hard {best.value:.4f} at t = {best.t:g}, soft "
    )
    S, y, group = data
    surface = blend_surface(S, y, group=group, n=3, n_boot=20)
    weights = ", ".join(f"{weight:.3g}" for weight in surface.soft_optimum.weights)
    assert repr(surface).startswith("BlendSurface(ndcg@10, 6 mixtures; best hard ")
    assert repr(surface).endswith(f", soft {surface.soft_optimum.value:.4f} at ({weights}))")


def test_summit_of_a_stepped_curve():
    assert summit(np.array([0.0, 2.0, 1.0, 2.0, 2.0, 2.0, 0.0])) == 4
    assert summit(np.array([2.0, 2.0, 1.0, 2.0, 2.0])) == 0
    assert summit(np.array([1.0])) == 0
    assert summit(np.array([1.0, 1.0, 1.0 + 1e-10])) == 2
    assert summit(np.array([1e12, 1e12, 1e12 + 2.0**-13, 1e12 - 1.0])) == 1  # whose last digit is rounding


# ---------------------------------------------------------------------------------------------------------
# Three models
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*rank all documents alike")
def test_surface_has_the_curves_at_its_edges(data):
    S, y, sizes = data
    surface = blend_surface(S, y, group=sizes, n=6, sigma=0.5, n_boot=50)
    assert surface.weights.shape == (6 * 7 // 2, 3)
    np.testing.assert_allclose(surface.weights.sum(axis=1), 1.0)
    assert len({tuple(row) for row in surface.weights.round(9).tolist()}) == 21
    for i, j, k in ((0, 1, 2), (0, 2, 1), (1, 2, 0)):
        edge = np.flatnonzero(surface.weights[:, k] == 0)
        edge = edge[np.argsort(surface.weights[edge, j])]
        line = blend_curve(S, y, group=sizes, i=i, j=j, n=6, sigma=0.5, n_boot=20)
        np.testing.assert_allclose(surface.hard[edge], line.hard, atol=1e-12)
        np.testing.assert_allclose(surface.soft[edge], line.soft, atol=1e-9)
    inside = np.flatnonzero((surface.weights > 0).all(axis=1))[0]
    blend = S @ surface.weights[inside]
    assert surface.hard[inside] == pytest.approx(HARD(y, blend, group=sizes), abs=1e-12)
    for kind in ("hard", "soft"):
        best, values = getattr(surface, f"{kind}_optimum"), getattr(surface, kind)
        assert best.value == values.max()
        np.testing.assert_allclose(best.weights, surface.weights[values > values.max() - 1e-9].mean(axis=0))
        assert best.interval.shape == (3, 2)
        assert np.all(best.interval[:, 0] <= best.interval[:, 1])
        again = bootstrap_means(getattr(surface, f"{kind}_values").T, np.ones(sizes.size), 50, 0)
        ties = [surface.weights[row > row.max() - 1e-12] for row in again]
        drawn = [tied[((tied - tied.mean(axis=0)) ** 2).sum(axis=1).argmin()] for tied in ties]
        np.testing.assert_allclose(best.interval, np.quantile(drawn, [0.025, 0.975], axis=0).T)
    same = blend_surface(S[:, [0, 0, 0]], y, group=sizes, n=4, n_boot=20)
    np.testing.assert_allclose(same.hard_optimum.weights, 1 / 3)  # all mixtures are as good


def test_bands_of_weighted_queries(data, curve):
    S, y, sizes = data
    weights, rng = np.random.default_rng(1).lognormal(sigma=2, size=30), np.random.default_rng(0)
    found = blend_curve(S, y, group=sizes, n=11, sigma=0.5, query_weight=weights)
    draws = rng.integers(30, size=(1000, 30))
    means = [np.average(curve.hard_values[drawn], weights=weights[drawn], axis=0) for drawn in draws]
    np.testing.assert_allclose(found.hard_interval, np.quantile(means, [0.025, 0.975], axis=0).T, atol=0.03)
    assert np.abs(found.hard_interval - curve.hard_interval).max() > 0.05


# ---------------------------------------------------------------------------------------------------------
# Bad input
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": "cauchy"}, "blend_curve: noise must be one of"),
        ({"n": 1}, "blend_curve: n must be from 2"),
        ({"i": 3}, "blend_curve: i must be the position of a column of S, from -3 to 2; got 3"),
        ({"j": -4}, "blend_curve: j must be the position of a column of S, from -3 to 2; got -4"),
        ({"sigma": "auto", "sigma_unit": "score"}, "'auto' in units of the spread"),
        ({"sigma": "wide"}, "sigma must be a number, or 'auto'"),
        ({"sigma": 0}, "^blend_curve: sigma must be finite and above 0"),
        ({"sigma_unit": "rank"}, "sigma_unit must be one of"),
        ({"metric": Metric("auc", pooled=True)}, "pooled=True"),
        ({"metric": Metric("ndcg", k=(5,) * 30)}, "^blend_curve: a metric must have one cutoff for all queries"),
        ({"metric": "bpref"}, "^blend_curve: bpref has no exact expectation here; take another metric, ndcg or map"),
        ({"n_boot": 19}, "blend_curve: n_boot must be from 20 "),
        ({"normalize": "log"}, "normalize must be one of"),
    ],
)
def test_bad_input(options, message, data):
    S, y, sizes = data
    with pytest.raises(ValueError, match=message):
        blend_curve(S, y, group=sizes, **{"sigma": 0.5, **options})


@pytest.mark.filterwarnings(
    "ignore:.*rank all documents alike",
    "ignore:.*the opposite order",
    "ignore:.*one query alone",
    "ignore:.*constant within every query",
)
@pytest.mark.parametrize("find", [blend_curve, blend_surface])
def test_an_infinite_value_is_refused_where_it_counts(find):
    """Of two documents in order pnr is infinite, in the wrong order 0."""
    S, y, sizes = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]] * 2 + [[0.0] * 3] * 2), np.array([1, 0] * 3), [2, 2, 2]
    with pytest.raises(ValueError, match=f"{find.__name__}: pnr must be finite for every query; query 0 has an inf"):
        find(S, y, group=sizes, metric="pnr", n=3, sigma=1.0)
    found = find(S, y, group=sizes, metric="pnr", n=3, sigma=1.0, query_weight=[0, 0, 1])
    assert np.isfinite(found.hard).all()


def test_bad_scores_and_labels(data):
    S, y, sizes = data
    with pytest.raises(ValueError, match="column 1, row 0"):
        blend_curve(np.where(np.arange(3) == 1, np.inf, S), y, group=sizes)
    with pytest.raises(ValueError, match="column 1 is NaN everywhere"):
        blend_curve(np.where(np.arange(3) == 1, np.nan, S), y, group=sizes)
    with pytest.raises(ValueError, match="column 2 is NaN everywhere"):
        blend_curve(np.where(np.arange(3) == 2, np.nan, S), y, group=sizes, j=2)
    with pytest.raises(ValueError, match="none has a relevant document"):
        blend_curve(S, 0 * y, group=sizes)
    with pytest.raises(ValueError, match="blend_curve: S must have one row per document, one column per model: "):
        blend_curve(S[:, 0], y, group=sizes)
    with pytest.raises(ValueError, match="blend_curve: S must not have masked entries; got masked_array"):
        blend_curve(np.ma.masked_less(S, 0.0), y, group=sizes)
    with pytest.raises(TypeError, match="blend_curve: S must have one row per document, one column per model: Sparse"):
        blend_curve(sparse.csr_array(S), y, group=sizes)
    with pytest.raises(ValueError, match=r"^blend_surface: n must be from 2 "):
        blend_surface(S, y, group=sizes, n=1)
    with pytest.raises(ValueError, match="models must be three columns"):
        blend_surface(S, y, group=sizes, models=(0, 1))
    with pytest.raises(ValueError, match=r"^blend_surface: models must be an array; got "):
        blend_surface(S, y, group=sizes, models=(0, [1], 2))
    with pytest.warns(UserWarning, match="blend_curve: neither group= nor qid= was given") as caught:
        blend_curve(S, y, n=2, n_boot=20)
    assert caught[0].filename == __file__


# ---------------------------------------------------------------------------------------------------------
# Progress
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "texts"),
    [
        (partial(blend_curve, n=3, n_boot=20), ["blend_curve, ndcg@10", "blend_curve, ndcg_gaussian@10", "3/3"]),
        (partial(blend_surface, n=2, n_boot=20), ["blend_surface, ndcg_gaussian@10", "3/3"]),
        (partial(choose_sigma, sigmas=[0.2, 1.0], n_folds=2), ["choose_sigma, fold 1", "choose_sigma, fold 2", "2/2"]),
        (partial(choose_sigma, sigmas=[0.2, 1.0], method="tradeoff"), ["choose_sigma, models 0 and 2", "2/2"]),
        (partial(choose_sigma, sigmas=[0.2, 1.0], method="sensitivity"), ["choose_sigma", "2/2"]),
    ],
)
def test_a_bar_is_shown_where_somebody_looks(data, monkeypatch, capsys, call, texts):
    S, y, sizes = data
    call(S, y, group=sizes)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("boostsoft.progress._PATIENCE", 0.0)
    monkeypatch.setenv("COLUMNS", "120")
    call(S, y, group=sizes)
    out, err = capsys.readouterr()
    assert not out
    plain = re.sub(r"\x1b\[[0-9;]*m", "", err)
    assert [text for text in texts if text not in plain] == []
    call(S, y, group=sizes, progress=False)
    assert capsys.readouterr() == ("", "")
    with pytest.raises(ValueError, match=r"progress must be True, False or 'auto'; got 'yes'"):
        call(S, y, group=sizes, progress="yes")


@pytest.mark.filterwarnings("ignore:.*one query alone")
def test_the_best_mixture_of_a_surface_is_one_of_the_best():
    """The best ones of a hard metric need not stand together: what lies in their middle may be worse."""
    y, S = np.array([1, 1, 0]), np.array([[1, 0, 0], [0, 1, 0.1], [0.9, 0.9, 1]])
    found = blend_surface(S, y, group=[3], metric="precision@1", n=11, n_boot=20, progress=False)
    assert found.hard_optimum.value == 1.0
    assert Metric("precision@1")(y, S @ found.hard_optimum.weights, group=[3]) == 1.0


def test_of_many_best_mixtures_of_a_surface_it_is_the_middle_one():
    """The ten of w_1 > .65, on a grid of tenths: their mean is a mixture too, (.8, .1, .1)."""
    relevant_above = np.array([0.35, -0.65, -0.65])
    S = np.vstack([relevant_above, np.zeros(3), relevant_above, np.zeros(3), np.eye(3)])
    y = np.array([1, 0, 1, 0, 0, 0, 0])
    found = blend_surface(S, y, group=[2, 2, 3], metric="precision@1", n=11, n_boot=20)
    np.testing.assert_allclose(found.hard_optimum.weights, [0.8, 0.1, 0.1], rtol=0, atol=1e-12)
    assert np.count_nonzero(found.hard == found.hard_optimum.value) == 10


def test_no_state_is_the_first(data):
    S, y, group = data
    one, other = (
        blend_curve(S, y, group=group, n=3, n_boot=20, random_state=state).soft_optimum for state in (None, 0)
    )
    assert (one.low, one.high) == (other.low, other.high)


@pytest.mark.parametrize("find", [blend_curve, blend_surface])
def test_what_leaves_the_best_mixture_open_is_said(data, find):
    S, y, sizes = data
    alike = np.column_stack([S[:, 0], 10 * S[:, 0] + 1, 3 * S[:, 0]])
    with pytest.warns(UserWarning, match=f"^{find.__name__}: column 0 and column 1.* rank all documents alike") as told:
        flat = find(alike, y, group=sizes, n=3, sigma=0.5, n_boot=20)
    assert {warning.filename for warning in told} == {__file__}
    with pytest.warns(UserWarning, match=f"^{find.__name__}: column 1 ranks all documents in the opposite order"):
        find(alike * [1, -1, 1] + [0, 0, 1] * S[:, [1]], y, group=sizes, n=3, sigma=0.5, n_boot=20)
    if find is blend_curve:
        with pytest.warns(UserWarning, match="^blend_curve: column 1 and column 2 rank all documents alike"):
            find(alike, y, group=sizes, i=1, j=2, n=3, sigma=0.5, n_boot=20)
    for models, outcome in (([0, 1, 1], "column 0; of no effect"), ([0, 0, 0], "; no mixture ranks anything")):
        with pytest.warns(UserWarning, match=f"^{find.__name__}: constant within every query: .*{outcome}$") as told:
            find(S * models, y, group=sizes, n=3, sigma=0.5, n_boot=20)
        assert {warning.filename for warning in told} == {__file__}
    ends = flat.soft_optimum.interval if find is blend_surface else [[flat.soft_optimum.low, flat.soft_optimum.high]]
    assert np.array_equal(ends, [[0.0, 1.0]] * len(ends))


@pytest.mark.filterwarnings("ignore:.*the opposite order")
@pytest.mark.parametrize("how", ["none", "rank", "zscore", "minmax"])
def test_rounding_is_no_ranking(data, how):
    """Where a model and its reverse cancel all documents are tied."""
    S, y, sizes = data
    mirrored = np.column_stack([S[:, 0], -S[:, 0], S[:, 1]])
    options = {"group": sizes, "n": 3, "sigma": 0.5, "normalize": how, "n_boot": 20}
    middle, surface = blend_curve(mirrored, y, **options), blend_surface(mirrored, y, **options)
    at = surface.weights.tolist().index([0.5, 0.5, 0.0])
    chance = HARD(y, np.zeros(y.size), group=sizes)
    found = [middle.hard[1], middle.soft[1], surface.hard[at], surface.soft[at]]
    np.testing.assert_allclose(found, chance, rtol=1e-12)
    faint = S[:, 1] * (1e-8 if how == "none" else 0.0)  # what is left of larger ones is a ranking, be it 1e-8 of them
    left = blend_curve(np.column_stack([S[:, 0], faint - S[:, 0]]), y, **options)
    assert left.hard[1] == pytest.approx(HARD(y, faint, group=sizes), rel=1e-12)
    tiny = blend_curve(mirrored * [1, 1, 1e-12], y, j=2, **options)
    np.testing.assert_allclose(tiny.hard[[0, 2]], [HARD(y, S[:, at], group=sizes) for at in (0, 1)], rtol=1e-12)


@pytest.mark.parametrize("find", [blend_curve, blend_surface])
def test_one_query_has_no_interval(data, find):
    """Neither alone nor where all others have nothing relevant; two have one."""
    S, y, sizes = data
    told = f"^{find.__name__}: one query alone has a relevant document"
    with pytest.warns(UserWarning, match=told):
        one = find(S[: sizes[0]], y[: sizes[0]], group=sizes[:1], n=3, sigma=0.5, n_boot=20)
    with pytest.warns(UserWarning, match=told):
        rest = find(S, np.where(np.arange(y.size) < sizes[0], y, 0), group=sizes, n=3, sigma=0.5, n_boot=20)
    for found in (one, rest):
        best = found.soft_optimum
        assert np.isnan(best.interval if find is blend_surface else [best.low, best.high]).all()
    two = find(S, np.where(np.arange(y.size) < sizes[:2].sum(), y, 0), group=sizes, n=3, sigma=0.5, n_boot=20)
    best = two.soft_optimum
    assert np.isfinite(best.interval if find is blend_surface else [best.low, best.high]).all()
    if find is blend_curve:
        assert np.isnan(one.soft_interval).all()
        assert np.isfinite(rest.soft_interval).all()  # other queries would count 0 too
