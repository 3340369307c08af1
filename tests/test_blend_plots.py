"""Pictures of blends: what is drawn is what was measured, into the axes that were given."""

from __future__ import annotations

import io
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.cbook import is_math_text
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from boostsoft import Metric
from boostsoft.blend_plots import (
    blend_curve_figure,
    blend_surface_figure,
    plot_blend_curve,
    plot_blend_surface,
    plot_sigma_choice,
    plot_weights,
    sigma_figure,
    weights_figure,
)
from boostsoft.blend_plots.shared import HARD, SOFT
from boostsoft.blending import SoftBlender, blend_curve, blend_surface
from boostsoft.drawing import BLUE, QUIET, VERMILION, png
from boostsoft.sigma import SigmaChoice

NAMES = ("BM25", "a language model", "dates")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    group = np.full(12, 10)
    y = rng.choice(3, 120, p=[0.6, 0.3, 0.1])
    return y[:, None] * [1.0, 0.8, 0.2] + rng.normal(size=(120, 3)), y, group


@pytest.fixture(scope="module")
def curve(data):
    S, y, group = data
    return blend_curve(S, y, group=group, n=11, sigma=0.5, n_boot=50)


@pytest.fixture(scope="module")
def surface(data):
    S, y, group = data
    return blend_surface(S, y, group=group, n=6, sigma=0.5, n_boot=20)


@pytest.fixture(scope="module")
def blender(data):
    S, y, group = data
    return SoftBlender(sigma=0.5, n_boot=20, constraint="free").fit(S, y, group=group)


def new_axes():
    return Figure(figsize=(6, 5)).add_subplot()


def texts(axes):
    return [text.get_text() for text in axes.texts]


def lines_of(axes, colour):
    return [line for line in axes.get_lines() if line.get_color() == colour]


def longest(axes, colour):
    return max(lines_of(axes, colour), key=lambda line: len(line.get_xdata()))


# ---------------------------------------------------------------------------------------------------------
# Two and three models
# ---------------------------------------------------------------------------------------------------------


def test_the_curve_has_both_metrics_and_their_optima(curve):
    axes = new_axes()
    assert plot_blend_curve(curve, names=NAMES[:2], ax=axes) is axes
    for kind, colour in ((HARD, VERMILION), (SOFT, BLUE)):
        line, best = longest(axes, colour), getattr(curve, f"{kind}_optimum")
        np.testing.assert_array_equal(line.get_xdata(), curve.t)
        np.testing.assert_array_equal(line.get_ydata(), getattr(curve, kind))
        rings = [mark for mark in axes.get_lines() if mark.get_markeredgecolor() == colour and mark.get_marker() == "o"]
        assert [(float(*ring.get_xdata()), float(*ring.get_ydata())) for ring in rings] == [(best.t, best.value)]
        assert [best.low, best.high] in [list(bar.get_xdata()) for bar in lines_of(axes, colour)]
        said = f"{kind}: {best.value:.4f} at {best.t:.2f} [{best.low:.2f}, {best.high:.2f}]"
        (words,) = (text for text in axes.texts if text.get_text() == said)
        height = words.xy[1]
        (tick,) = (mark for mark in axes.get_lines() if mark.get_marker() == "|" and mark.get_color() == colour)
        assert (float(*tick.get_xdata()), float(*tick.get_ydata())) == (best.t, height)
        stems = [line for line in lines_of(axes, colour) if list(line.get_xdata()) == [best.t, best.t]]
        assert [list(line.get_ydata()) for line in stems] == [[height, best.value]]
    assert set(NAMES[:2]) < set(texts(axes))
    assert axes.get_xlim() == (0.0, 1.0)
    assert axes.get_xticks().tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert axes.get_xlabel() == f"share of {NAMES[1]}"
    lowest, (bottom, top) = min(curve.hard.min(), curve.soft_interval.min()), axes.get_ylim()
    assert lowest - bottom >= 2 * 0.09 * (top - bottom), "below are the rows of two optima"
    assert "Gaussian noise of 0.5 spreads" in axes.get_title(loc="left").replace("\n", " ")
    assert axes.get_ylabel() == "NDCG@10, mean over queries"
    bars = [line.get_ydata()[0] for line in axes.get_lines() if line.get_linewidth() == 4.0]
    assert max(bars) < min(curve.hard.min(), curve.soft_interval.min())


def test_the_words_are_where_the_optimum_is_not(curve):
    for t, side in ((0.2, 0.995), (0.8, 0.005)):
        axes = plot_blend_curve(replace(curve, soft_optimum=replace(curve.soft_optimum, t=t)), kinds=[SOFT])
        assert [text.xy[0] for text in axes.texts if text.get_text().startswith(SOFT)] == [side]


@pytest.mark.filterwarnings("ignore")
def test_the_curve_of_one_query_has_no_intervals(data):
    S, y, _ = data
    axes = plot_blend_curve(blend_curve(S, y, group=[len(y)], n=3, sigma=0.5, n_boot=20))
    assert "95 %" not in axes.get_title(loc="left")
    assert not any("[" in text for text in texts(axes))


def test_no_bar_strikes_through_the_words_on_an_optimum(curve):
    everywhere = replace(curve.hard_optimum, low=0.0, high=1.0)
    figure = blend_curve_figure(replace(curve, hard_optimum=everywhere, soft_optimum=everywhere))
    figure.canvas.draw()
    (axes,) = figure.axes
    bars = [line.get_window_extent() for line in axes.get_lines() if line.get_linewidth() == 4.0]
    words = [text.get_window_extent() for text in axes.texts if text.get_text().startswith((HARD, SOFT))]
    assert len(bars) == len(words) == 2
    assert not any(text.overlaps(bar.padded(2.0)) for text in words for bar in bars)
    assert not words[0].overlaps(words[1])


@pytest.mark.parametrize(("columns", "width"), [(3, 10.0), (1, 3.4)])
def test_words_of_narrow_axes_are_beside_each_other(curve, surface, columns, width):
    for draw, shown, names in ((plot_blend_curve, curve, NAMES[:2]), (plot_blend_surface, surface, NAMES)):
        figure = Figure(figsize=(width, 3.4), layout="constrained")
        for axes in figure.subplots(1, columns, squeeze=False)[0]:
            draw(shown, names=names, ax=axes)
        figure.draw_without_rendering()
        for axes in figure.axes[:columns]:
            words = [*axes.texts, axes._left_title, *([axes.xaxis.label] if axes.get_xlabel() else [])]
            boxes = [(text.get_text(), text.get_window_extent()) for text in words]
            for i, (text, box) in enumerate(boxes):
                assert figure.bbox.x0 <= box.x0 <= box.x1 <= figure.bbox.x1, text
                for other, other_box in boxes[i + 1 :]:
                    assert not box.overlaps(other_box), f"{text!r} is on {other!r}"
                bars = [line.get_window_extent() for line in axes.get_lines() if line.get_linewidth() == 4.0]
                assert not any(box.overlaps(bar) for bar in bars), text


def test_the_models_are_named_below_the_ticks(curve):
    figure = blend_curve_figure(curve, names=NAMES[:2])
    figure.canvas.draw()
    (axes,) = figure.axes
    names = [text.get_window_extent() for text in axes.texts if text.get_text() in NAMES[:2]]
    assert len(names) == 2
    assert max(name.y1 for name in names) < min(tick.get_window_extent().y0 for tick in axes.get_xticklabels())


def test_the_band_is_that_of_the_last_kind(curve):
    for kinds in ((HARD, SOFT), (SOFT, HARD), (HARD,)):
        axes = plot_blend_curve(curve, kinds=kinds)
        (band,) = axes.collections
        heights = band.get_paths()[0].vertices[:, 1]
        interval = getattr(curve, f"{kinds[-1]}_interval")
        assert (heights.min(), heights.max()) == (interval.min(), interval.max())
    assert not lines_of(axes, BLUE)


def test_the_curve_in_units_of_the_score_says_so(data):
    S, y, group = data
    curve = blend_curve(S, y, group=group, n=3, sigma=2.0, sigma_unit="score", noise="gumbel", n_boot=20)
    assert "Gumbel noise of 2 score units" in plot_blend_curve(curve).get_title(loc="left")
    one = blend_curve(S, y, group=group, n=3, sigma=1.0, n_boot=20)
    assert "Gaussian noise of 1 spread;" in plot_blend_curve(one).get_title(loc="left")


@pytest.mark.parametrize("kind", [HARD, SOFT])
def test_the_triangle_has_every_mixture(surface, kind):
    axes = new_axes()
    assert plot_blend_surface(surface, kind, names=NAMES, ax=axes) is axes
    mesh = next(found for found in axes.collections if found.get_array() is not None)
    np.testing.assert_array_equal(mesh.get_array(), getattr(surface, kind))
    assert texts(axes) == list(NAMES)
    corners = np.array([text.xy for text in axes.texts])
    np.testing.assert_allclose(np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1), 1.0)
    best = getattr(surface, f"{kind}_optimum")
    ring = axes.get_lines()[-1]
    np.testing.assert_allclose(np.ravel(ring.get_data()), best.weights @ corners)
    heading = axes.get_title(loc="left")
    assert heading.startswith(
        {HARD: "Hard: the metric itself\n", SOFT: "Soft: under Gaussian noise of 0.5 spreads\n"}[kind]
    )
    assert f"best {best.value:.4f}: BM25 {best.weights[0]:.2f}, a language model {best.weights[1]:.2f}" in heading


def test_one_poor_model_does_not_take_the_colours(surface):
    mesh = next(found for found in plot_blend_surface(surface).collections if found.get_array() is not None)
    low, high = mesh.get_clim()
    assert high == surface.soft.max()
    assert low == np.quantile(surface.soft, 0.1)


@pytest.mark.filterwarnings("ignore:.*rank all documents alike")
def test_a_constant_surface_is_drawn(data):
    S, y, group = data
    flat = blend_surface(S[:, [0, 0, 0]], y, group=group, n=4, sigma=0.5, n_boot=20)
    figure = blend_surface_figure(flat)
    for kind, axes in zip((HARD, SOFT), figure.axes, strict=False):  # behind them stand the bars of colours
        (mesh,) = axes.collections  # no contours: they would follow the rounding
        np.testing.assert_array_equal(mesh.get_array(), getattr(flat, kind))
        corners = np.array([text.xy for text in axes.texts])
        np.testing.assert_allclose(np.ravel(axes.get_lines()[-1].get_data()), corners.mean(axis=0))  # all are best
        assert f"best {getattr(flat, kind).max():.4f}: the first model 0.33" in axes.get_title(loc="left")
    with Image.open(io.BytesIO(png(figure))) as image:
        assert np.asarray(image.convert("L")).min() < 100


# ---------------------------------------------------------------------------------------------------------
# Weights and sigma
# ---------------------------------------------------------------------------------------------------------


def test_weights_from_the_largest_down_with_their_intervals(blender):
    axes = new_axes()
    assert plot_weights(blender, names=NAMES, ax=axes) is axes
    order = np.argsort(-blender.weights_)
    ticks = dict(zip(axes.get_yticks(), (label.get_text() for label in axes.get_yticklabels()), strict=True))
    assert [ticks[2], ticks[1], ticks[0]] == [NAMES[at] for at in order]
    dots = {line.get_ydata()[0]: line.get_xdata()[0] for line in axes.get_lines() if line.get_marker() == "o"}
    np.testing.assert_array_equal([dots[2], dots[1], dots[0]], blender.weights_[order])
    bars = {line.get_ydata()[0]: line.get_xdata() for line in axes.get_lines() if line.get_linewidth() == 3.0}
    np.testing.assert_array_equal([bars[2], bars[1], bars[0]], blender.weights_interval_[order])
    words = "weight, with its 95 % interval over resampled queries"
    assert axes.get_xlabel() == words + " (grey: no weight)" * bool((blender.weights_ == 0).any())


def test_weights_without_intervals_and_names(data):
    S, y, group = data
    axes = plot_weights(SoftBlender(method="equal").fit(S, y, group=group))
    assert {label.get_text() for label in axes.get_yticklabels()} == {"model 0", "model 1", "model 2"}
    assert axes.get_xlabel() == "weight"
    pd = pytest.importorskip("pandas")
    named = SoftBlender(method="equal").fit(pd.DataFrame(S, columns=list("abc")), y, group=group)
    assert {label.get_text() for label in plot_weights(named).get_yticklabels()} == set("abc")


def test_weights_below_0_and_models_without_one_have_colours_of_their_own(blender):
    found = copy(blender)
    found.weights_ = np.array([0.0, 0.7, -0.3])
    axes = plot_weights(found, names=NAMES)
    assert [label.get_text() for label in axes.get_yticklabels()] == [NAMES[1], NAMES[0], NAMES[2]]
    dots = {line.get_xdata()[0]: line.get_color() for line in axes.get_lines() if line.get_marker() == "o"}
    assert dots == {0.0: QUIET, 0.7: BLUE, -0.3: VERMILION}
    assert axes.get_xlabel().endswith(" (grey: no weight)")
    found.weights_ = np.array([0.4, 0.9, -0.3])
    assert "grey" not in plot_weights(found, names=NAMES).get_xlabel()
    assert [text.get_text() for text in axes.texts] == [" equal"]
    assert axes.texts[0].xy[0] == pytest.approx(1 / 3)
    assert any(np.array_equal(line.get_xdata(), [1 / 3, 1 / 3]) for line in axes.get_lines())


def test_what_is_said_of_weights_stays_in_the_picture_beside_long_names(blender):
    found = copy(blender)
    found.weights_ = np.array([0.0, 0.7, 0.3])
    figure = weights_figure(found, names=[f"{name} " * 8 for name in NAMES])
    figure.draw_without_rendering()
    (axes,) = figure.axes
    box = axes.xaxis.label.get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.x1


def test_weights_by_one_query_have_no_intervals(blender):
    found = copy(blender)
    found._interval = np.full((3, 2), np.nan)
    axes = plot_weights(found)
    assert axes.get_xlabel().startswith("weight")
    assert "interval" not in axes.get_xlabel()
    assert not [line for line in axes.get_lines() if line.get_linewidth() == 3.0]


@pytest.mark.parametrize("n_features", [1, 4])
def test_weights_of_given_models_are_not_called_by_their_features(data, n_features):
    pd = pytest.importorskip("pandas")
    _, y, group = data
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: y + rng.normal(size=len(y)) for name in "abcd"[:n_features]})
    models = [LinearRegression().fit(X, y), DecisionTreeRegressor(max_depth=2).fit(X, y)]
    blender = SoftBlender(method="equal", models=models).fit(X, y, group=group)
    names = ["models[0] (LinearRegression)", "models[1] (DecisionTreeRegressor)"]
    assert [label.get_text() for label in plot_weights(blender).get_yticklabels()] == names


def choice(method="tradeoff"):
    sigmas = 2.0 ** np.arange(-3, 2)
    rough, misfit = np.exp(-sigmas), sigmas / 4
    table = {"smoothness": rough, "approximation": misfit, "total": rough / 5 + misfit}
    if method == "sensitivity":
        table = {"queries": np.array([2.0, 1.0, np.inf, 0.9, 1.5]), "against": misfit, "rescaling": misfit}
    if method == "held-out":
        table = {"value": np.array([0.4, 0.5, 0.6, 0.55, 0.5])}
    best = {"tradeoff": 0, "sensitivity": 3, "held-out": 2}[method]
    return SigmaChoice(float(sigmas[best]), method, sigmas, table, Metric("map@5"), "score" if best else "spread")


@pytest.mark.parametrize(
    ("method", "keys"),
    [("tradeoff", ["smoothness", "approximation", "total"]), ("sensitivity", ["queries"]), ("held-out", ["value"])],
)
def test_what_speaks_for_a_sigma(method, keys):
    found, axes = choice(method), new_axes()
    assert plot_sigma_choice(found, ax=axes) is axes
    curves = [line for line in axes.get_lines() if len(line.get_xdata()) == 5]
    for line, key in zip(curves, keys, strict=True):
        wanted = np.where(np.isfinite(found.table[key]), found.table[key], np.nan)
        np.testing.assert_array_equal(line.get_ydata(), wanted)
        np.testing.assert_array_equal(line.get_xdata(), found.sigmas)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.12", "0.25", "0.5", "1", "2"]
    ring = next(line for line in axes.get_lines() if line.get_markersize() == 11)
    at = found.sigmas.tolist().index(found.sigma)
    assert (float(*ring.get_xdata()), float(*ring.get_ydata())) == (found.sigma, found.table[keys[-1]][at])
    assert [line.get_linewidth() for line in curves] == [*[1.4] * (len(keys) - 1), 2.6], "the last decides"
    assert any(list(line.get_xdata()) == [found.sigma] * 2 for line in axes.get_lines())
    words = {
        "tradeoff": "How rough the soft {}",
        "sensitivity": "relative to the hard {}",
        "held-out": "Hard {} on held",
    }
    assert words[method].format("MAP@5") in axes.get_title(loc="left")
    unit = "spreads" if found.sigma_unit == "spread" else "units of the scores"
    assert axes.get_xlabel() == f"sigma, in {unit} (ring: chosen)"
    assert (axes.get_legend() is None) == (len(keys) == 1)
    assert axes.get_xscale() == "log"


def test_not_every_one_of_many_sigmas_is_named():
    sigmas = 2.0 ** np.arange(-6, 7)
    axes = plot_sigma_choice(SigmaChoice(1.0, "held-out", sigmas, {"value": np.linspace(0.4, 0.6, 13)}))
    np.testing.assert_array_equal(axes.get_xticks(), sigmas[::2])


def test_a_single_sigma_is_no_picture():
    one = SigmaChoice(0.5, "residual", np.array([0.5]), {"residual": np.array([0.5])})
    with pytest.raises(ValueError, match=r"^plot_sigma_choice: choice must compare several sigmas; got one by 'res"):
        plot_sigma_choice(one)
    with pytest.raises(ValueError, match=r"^sigma_figure: choice must compare several sigmas; got one by 'residual'"):
        sigma_figure(one)


# ---------------------------------------------------------------------------------------------------------
# All of them
# ---------------------------------------------------------------------------------------------------------


def test_figures_are_pictures(curve, surface, blender):
    figures = [
        blend_curve_figure(curve),
        blend_surface_figure(surface, names=NAMES),
        weights_figure(blender),
        sigma_figure(choice()),
    ]
    headings = ["NDCG@10 of the mixture of two models", "NDCG@10 of mixtures of three models",
                "Weights of the blend", "Sigma by trade-off: 0.125"]  # fmt: skip
    for figure, heading in zip(figures, headings, strict=True):
        assert figure.get_suptitle() == heading
        with Image.open(io.BytesIO(png(figure))) as image:
            shades = np.asarray(image.convert("L"))
        assert shades.min() < 100
        assert np.mean(shades == 255) > 0.3
    assert figures[2].get_figheight() == pytest.approx(1.6 + 0.27 * 3)
    assert blend_curve_figure(curve, names=NAMES[:2]).get_suptitle() == "NDCG@10 between BM25 and a language model"


def test_long_names_leave_room_for_the_picture(data, curve, surface):
    names = ["a language model that was distilled from a larger one", "BM25 over title and body, with synonyms"] * 2
    names[2:] = ["the date of the last change of a page, in days", "d" * 80]
    S, y, group = data
    blender = SoftBlender(method="equal").fit(np.column_stack([S, S[::-1, 0]]), y, group=group)
    short = ["a language mo…a larger one", "BM25 over tit…ith synonyms"]
    drawn = blend_curve_figure(curve, names=names[:2])
    assert texts(drawn.axes[0])[-2:] == short
    assert drawn.get_suptitle() == f"NDCG@10 between {short[0]} and {short[1]}"
    for figure in (drawn, blend_surface_figure(surface, names=names[:3]), weights_figure(blender, names=names)):
        figure.draw_without_rendering()
        written = [text for text in figure.findobj(Text) if "…" in text.get_text()]
        assert len(written) > 1
        boxes = {text.get_text(): text.get_window_extent() for text in written}
        outside = {text: box for text, box in boxes.items() if box.x0 < -1 or box.x1 > figure.bbox.x1 + 1}
        assert not outside
        assert figure.axes[0].get_position().width > 0.33


def test_dollars_in_names_are_dollars(curve, surface, blender, data):
    names = ["cost $a_{b$ 100%", "$a_{b$", "b$"]
    S, y, group = data
    mine = Metric("ndcg@10", name="$a_{b$")
    figures = [
        blend_curve_figure(curve, names=names[:2]),
        blend_surface_figure(surface, names=names),
        weights_figure(blender, names=names),
        blend_curve_figure(blend_curve(S, y, group=group, n=3, sigma=0.5, n_boot=20, metric=mine), names=names[:2]),
    ]
    for figure in figures:
        png(figure)
        found = [text.get_text() for text in figure.findobj(Text) if "$" in text.get_text()]
        assert found
        assert not any(is_math_text(text) for text in found)


def test_wrong_names_and_kinds_are_refused(curve, surface, data):
    S, y, group = data
    blender = SoftBlender(method="equal").fit(S, y, group=group)
    for plot, found, n in (
        (plot_blend_curve, curve, 2), (blend_curve_figure, curve, 2), (plot_blend_surface, surface, 3),
        (blend_surface_figure, surface, 3), (plot_weights, blender, 3), (weights_figure, blender, 3),
    ):  # fmt: skip
        for names in (["a"], ["a", "b", "c", "d"], "abc"[:n], 5):
            with pytest.raises(ValueError, match=rf"^{plot.__name__}: names must be one for each of {n} models; got "):
                plot(found, names=names)
    with pytest.raises(ValueError, match=r"^plot_blend_curve: kinds must be one of 'hard', 'soft'; got 'hrd'$"):
        plot_blend_curve(curve, kinds=["hrd"])
    with pytest.raises(ValueError, match=r"^plot_blend_curve: kinds must be one of 'hard', 'soft'; got 'hrd'$"):
        plot_blend_curve(curve, kinds="hrd")
    for kinds in ("hard", {"hard"}, np.array(["hard"]), ("hard",), ("hard", "hard")):
        assert plot_blend_curve(curve, kinds=kinds).get_title(loc="left").lower().count("the metric itself") == 1
    with pytest.raises(ValueError, match=r"^plot_blend_curve: kinds must hold 'hard' or 'soft'; got none$"):
        plot_blend_curve(curve, kinds=[])
    with pytest.raises(TypeError, match=r"^plot_blend_curve: kinds must be a Collection; got int$"):
        plot_blend_curve(curve, kinds=5)
    with pytest.raises(ValueError, match=r"^plot_blend_surface: kind must be one of 'hard', 'soft'; got 'hrd'$"):
        plot_blend_surface(surface, "hrd")
    for plot in (plot_weights, weights_figure):
        with pytest.raises(NotFittedError, match="This SoftBlender instance is not fitted"):
            plot(SoftBlender())


@pytest.mark.parametrize(
    ("plot", "message"),
    [
        (plot_blend_curve, "plot_blend_curve: curve must be a BlendCurve; got int"),
        (plot_blend_surface, "plot_blend_surface: surface must be a BlendSurface; got int"),
        (plot_sigma_choice, "plot_sigma_choice: choice must be a SigmaChoice; got int"),
        (blend_curve_figure, "blend_curve_figure: curve must be a BlendCurve; got int"),
        (blend_surface_figure, "blend_surface_figure: surface must be a BlendSurface; got int"),
        (sigma_figure, "sigma_figure: choice must be a SigmaChoice; got int"),
        (plot_weights, "plot_weights: blender must be a SoftBlender; got int"),
        (weights_figure, "weights_figure: blender must be a SoftBlender; got int"),
    ],
)
def test_what_is_drawn_must_be_that(plot, message):
    with pytest.raises(TypeError, match=f"^{message}$"):
        plot(3)


def test_axes_must_be_axes(curve, surface, blender):
    for plot, found in (
        (plot_blend_curve, curve), (plot_blend_surface, surface), (plot_weights, blender),
        (plot_sigma_choice, choice("held-out")),
    ):  # fmt: skip
        for ax in (Figure(), Figure().subplots(1, 2)):  # as figure, ax = plt.subplots(1, 2) has them
            name = type(ax).__name__
            with pytest.raises(TypeError, match=rf"^{plot.__name__}: ax must be one of matplotlib's Axes; got {name}$"):
                plot(found, ax=ax)
        with pytest.raises(TypeError, match=rf"^{plot.__name__}: ax must be flat, .*; got axes that are polar$"):
            plot(found, ax=Figure().add_subplot(projection="polar"))
