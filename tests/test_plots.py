"""Plots: the data that they carry, labels that do not collide, and no global state."""

from __future__ import annotations

import io

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from boostsoft import drawing
from boostsoft.commands.experiment import Arm, FoldRun, Folds, Plan, Split
from boostsoft.commands.train import plots
from boostsoft.datasets import RankingData
from boostsoft.drawing import png
from boostsoft.statistics import paired_interval

ARMS = ("lambdarank", "boostsoft")


def split_of(*curves, plan=None):
    """A split with one hard curve per arm (ours first), half of each as the soft one."""
    plan = plan or Plan(baseline=len(curves) > 1)
    arms = []
    for name, curve in zip(plan.arms, curves, strict=True):
        curve = np.array(curve, dtype=float)
        found = {("valid", plan.names[0]): curve, ("valid", plan.names[1]): curve - 0.01}
        arms.append(Arm(name, int(curve.argmax()) + 1, "", found, {}, 1.0))
    return Split(plan, {}, tuple(arms))


def folds_of(n_seeds, n_queries=30, shift=0.05):
    """The last query of each fold is empty."""
    rng = np.random.default_rng(0)
    runs = [
        FoldRun(fold, seed, arm, 5, np.append(rng.random(n_queries - 1) + shift * (arm == "boostsoft"), np.nan), 1.0)
        for fold in range(1, 6)
        for seed in range(n_seeds)
        for arm in ("boostsoft", "lambdarank")
    ]
    sizes = np.ones(n_queries, dtype=np.int64)
    part = RankingData(np.zeros((n_queries, 1)), np.zeros(n_queries), np.arange(n_queries), sizes)
    return Folds(Plan(), (part,) * 5, tuple(range(n_seeds)), tuple(runs))


RISING = 0.5 + 0.1 * (1 - np.exp(-np.arange(60) / 10)) - 0.0005 * np.arange(60)


@pytest.mark.parametrize("kind", ["hard", "soft"])
def test_curve_carries_the_data(kind):
    split = split_of(RISING, RISING[:40] + 0.01)
    axes = Figure().add_subplot()
    assert plots.plot_curve(split, kind, ax=axes) is axes
    lines = [line for line in axes.lines if len(line.get_xdata()) > 2]
    assert [line.get_drawstyle() for line in lines] == [{"hard": "steps-mid", "soft": "default"}[kind]] * 2
    name = split.plan.names[("hard", "soft").index(kind)]
    for line, arm in zip(lines, split.arms, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, arm.curves["valid", name].size + 1))
        np.testing.assert_array_equal(line.get_ydata(), arm.curves["valid", name])
        assert line.get_color() == plots.COLOURS[arm.name]
    rings = [(*line.get_xdata(), *line.get_ydata()) for line in axes.lines if line.get_marker() == "o"]
    assert rings == [(arm.trees, arm.curves["valid", name][arm.trees - 1]) for arm in split.arms]
    texts = [text.get_text() for text in axes.texts]
    assert {"boostsoft", "lambdarank"} <= set(texts)
    assert f"{rings[0][1]:.3f} with {rings[0][0]} trees" in texts


def test_each_panel_draws_its_metric_of_the_validation_part():
    plan = Plan(noise="gumbel", baseline=False)
    keys = [(name, metric) for name in ("valid", "train") for metric in plan.names]
    curves = {key: 0.1 * i + np.array([0.5, 0.6, 0.55]) for i, key in enumerate(keys)}
    figure = plots.curves_figure(Split(plan, {}, (Arm("boostsoft", 2, "", curves, {}, 1.0),)))
    assert figure.get_suptitle() == "NDCG@10 on the validation queries, tree by tree"
    hard, soft = figure.axes
    assert hard.get_title(loc="left") == "Hard: the metric itself"
    assert soft.get_title(loc="left") == "Soft: its expectation under Gumbel noise"
    for axes, metric in ((hard, plan.names[0]), (soft, plan.names[1])):
        np.testing.assert_array_equal(axes.lines[0].get_ydata(), curves["valid", metric])
        name, value = axes.texts
        assert (name.xy[1], value.xy[1]) == (curves["valid", metric][-1],) * 2
        assert value.get_text() == f"{curves['valid', metric][1]:.3f} with 2 trees"
        assert axes.get_xlim() == (0, 3)
        assert axes.get_ylim() == drawing.value_range([curves["valid", found] for found in plan.names])


def test_the_longer_curve_is_shown_whole():
    assert plots.plot_curve(split_of(RISING, RISING[:20])).get_xlim() == (0, RISING.size)


@pytest.mark.parametrize("n_trees", [1, 2, 4])
def test_trees_are_whole_and_one_is_no_trees(n_trees):
    axes = plots.plot_curve(split_of(RISING[:n_trees]))
    axes.figure.draw_without_rendering()
    assert all(float(tick.get_text()).is_integer() and "." not in tick.get_text() for tick in axes.get_xticklabels())
    trees = "1 tree" if n_trees == 1 else f"{n_trees} trees"
    assert axes.texts[1].get_text().endswith(f" with {trees}")


def boxes_of(figure):
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    return [text.get_window_extent(renderer) for axes in figure.axes for text in axes.texts]


@pytest.mark.parametrize(
    "curves",
    [
        (RISING, RISING),
        (RISING, RISING[:20]),
        (RISING, RISING + 0.003),
        (RISING, RISING - 0.2),
        (RISING - 0.2, RISING),
        ([0.5], [0.5]),
        ([0.0] * 9, [0.0] * 9),
        (RISING,),
    ],
    ids=["equal", "shorter", "close", "far above", "far below", "one tree", "constant", "one arm"],
)
def test_labels_neither_collide_nor_leave_the_picture(curves):
    figure = plots.curves_figure(split_of(*curves))
    boxes = boxes_of(figure)
    assert len(boxes) == 4 * len(curves)
    for i, box in enumerate(boxes):
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1
        assert not any(box.overlaps(other) for other in boxes[i + 1 :])


def test_panels_share_their_scale():
    figure = plots.curves_figure(split_of(RISING, RISING + 0.01))
    hard, soft = figure.axes
    assert hard.get_ylim() == soft.get_ylim()
    low, high = hard.get_ylim()
    assert low < RISING.max() < RISING.max() + 0.01 < high


@pytest.mark.parametrize(("n_seeds", "shift"), [(1, 0.6), (2, 0.05), (2, -0.6)])
def test_differences_carry_the_intervals(n_seeds, shift):
    folds = folds_of(n_seeds, shift=shift)
    axes = Figure().add_subplot()
    assert plots.plot_fold_differences(folds, ax=axes) is axes
    named = [(tick.get_text(), tick.get_position()[1]) for tick in axes.get_yticklabels()]
    assert named == [*((f"fold {fold}", 7 - fold) for fold in range(1, 6)), ("all folds", 1)]
    lines = [line for line in axes.lines if line.get_marker() == "None"]
    bars = [line for line in lines if line.get_ydata()[0] == line.get_ydata()[1]]
    points = [line for line in axes.lines if line.get_marker() == "o"]
    ticks = [line for line in axes.lines if line.get_marker() == "|"]
    texts = axes.texts[:6]
    colours = {1: plots.COLOURS["boostsoft"], -1: plots.COLOURS["lambdarank"], 0: drawing.INK}
    for place, line, point, text in zip(range(6, 0, -1), bars, points, texts, strict=True):
        chosen = [7 - place] if place > 1 else []
        ours, theirs = (folds.values(arm, "zero", folds=chosen) for arm in ("boostsoft", "lambdarank"))
        interval = paired_interval(ours, theirs)
        assert list(line.get_xdata()) == [interval.low, interval.high]
        assert list(line.get_ydata()) == [place, place]
        assert (*point.get_xdata(), *point.get_ydata()) == (interval.mean, place)
        assert (text.get_text(), text.xy[1]) == (f"{interval.mean:+.4f}", place)
        assert {drawn.get_color() for drawn in (line, point, text)} == {colours[interval.sign]}
        assert (line.get_linewidth() > bars[0].get_linewidth()) == (place == 1)
        by_seed = [
            np.mean(
                [
                    b - a
                    for a, b in zip(
                        *(folds.values(arm, "zero", folds=chosen, seeds=[seed]) for arm in ARMS), strict=True
                    )
                ]
            )
            for seed in folds.seeds
        ]
        if ticks:
            assert list(ticks[6 - place].get_xdata()) == pytest.approx(by_seed, abs=1e-12)
    (zero,) = (line for line in axes.lines if list(line.get_ydata()) == [0, 1])
    assert list(zero.get_xdata()) == [0, 0]
    assert {text.get_text() for text in axes.texts[6:]} == {"← lambdarank higher", "boostsoft higher →"}
    written = [axes.xaxis.get_major_formatter()(value) for value in (-0.05, 0.0, 0.05)]
    assert written == ["\N{MINUS SIGN}0.05", "0", "+0.05"]
    assert axes.get_xlabel().endswith("ticks: single seeds") == (n_seeds > 1)
    assert [len(line.get_xdata()) for line in ticks] == [n_seeds] * 6 * (n_seeds > 1)


@pytest.mark.parametrize("shift", [-0.6, 0.0, 0.6], ids=["below", "around", "above"])
def test_both_sides_of_zero_have_room_for_their_words(shift):
    figure = plots.differences_figure(folds_of(2, shift=shift))
    boxes = boxes_of(figure)
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 for box in boxes)
    left, right = boxes[-2:]
    assert figure.get_suptitle() == "Test NDCG@10: boostsoft minus lambdarank"
    inside = figure.axes[0].get_window_extent()
    assert inside.x0 <= left.x0 < left.x1 < right.x0 < right.x1 <= inside.x1


@pytest.mark.parametrize("n_queries", [1, 2])
def test_tiny_folds(n_queries):
    assert png(plots.differences_figure(folds_of(1, n_queries))).startswith(b"\x89PNG")


def test_png_is_a_picture_of_the_stated_size():
    figure = plots.curves_figure(split_of(RISING, RISING + 0.01))
    image = Image.open(io.BytesIO(png(figure)))
    image.load()
    assert image.size == (round(10.5 * drawing.DPI), round(4.9 * drawing.DPI))
    colours = {tuple(int(code[i : i + 2], 16) for i in (1, 3, 5)) for code in plots.COLOURS.values()}
    assert colours <= {colour for _, colour in image.convert("RGB").getcolors(1 << 20)}
