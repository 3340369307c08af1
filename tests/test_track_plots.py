"""Plots of tracks: the data that they carry, labels that do not collide, and no global state."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cbook import is_math_text
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from boostsoft import Metric, SoftMetric, track_plots
from boostsoft.drawing import BLUE, INK, VERMILION, apart, png, value_range
from boostsoft.track_plots import bands, changes, labels
from boostsoft.tracking.comparison import compare
from boostsoft.tracks.effects import tree_effects

from .tracked import HARD, SOFT, track_of

MAP, ERR = Metric("map"), Metric("err")


def curves_in(axes):
    """The lines over steps, without rings and the line at 0."""
    return [line for line in axes.lines if line.get_marker() in ("None", "o") and line.get_linestyle() != "None"]


def rings_in(axes):
    rings = [line for line in axes.lines if line.get_marker() == "o" and len(line.get_xdata()) == 1]
    return [(line.get_xdata()[0], line.get_ydata()[0]) for line in rings]


def band_ends(axes):
    """Low and high end of each band, read off its polygon."""
    found = []
    for band in axes.collections:
        vertices = band.get_paths()[0].vertices
        at = {}
        for x, y in vertices:
            at.setdefault(round(x), []).append(y)
        found.append((np.array([min(at[x]) for x in sorted(at)]), np.array([max(at[x]) for x in sorted(at)])))
    return found


def boxes_of(figure):
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    texts = []
    for axes in figure.axes:
        titles = [axes.title, axes._left_title, axes.xaxis.label, *axes.get_xticklabels(), *axes.get_yticklabels()]
        low, high = axes.get_xlim()
        ticks = [tick for tick in axes.get_xticklabels() if not low <= tick.get_position()[0] <= high]
        low, high = axes.get_ylim()
        ticks += [tick for tick in axes.get_yticklabels() if not low <= tick.get_position()[1] <= high]
        texts += [text for text in [*axes.texts, *titles] if text.get_text() and text.get_visible()]
        texts = [text for text in texts if text not in ticks]
    texts += [text for text in (figure._suptitle, figure._supxlabel) if text is not None]
    return [(text.get_text(), text.get_window_extent(renderer)) for text in texts]


def assert_nothing_collides(figure):
    boxes = boxes_of(figure)
    assert boxes
    for i, (text, box) in enumerate(boxes):
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1
        assert inside, f"{text!r} leaves the picture"
        for other, other_box in boxes[i + 1 :]:
            assert not box.overlaps(other_box), f"{text!r} is on {other!r}"


# ---------------------------------------------------------------------------------------------------------
# Curves
# ---------------------------------------------------------------------------------------------------------


def assert_dollars_are_dollars(figure):
    found = [text.get_text() for text in figure.findobj(Text) if "$" in text.get_text()]
    assert found
    assert not any(is_math_text(text) for text in found)


def test_curves_carry_the_means_and_ring_the_best():
    track = track_of(metrics=(HARD, SOFT, MAP), fall=0.002)
    axes = Figure().add_subplot()
    assert track_plots.plot_curves(track, ax=axes) is axes
    lines = [line for line in curves_in(axes) if len(line.get_xdata()) > 1]
    assert len(lines) == 3
    for i, line in enumerate(lines):
        np.testing.assert_array_equal(line.get_xdata(), track.steps)
        np.testing.assert_array_equal(line.get_ydata(), track.mean[:, i])
        assert line.get_color() == labels.PALETTE[i]
    assert lines[1].get_linewidth() > lines[0].get_linewidth() == lines[2].get_linewidth()
    assert rings_in(axes) == [(track.steps[best], track.mean[best, i]) for i, best in enumerate(track.mean.argmax(0))]
    texts = [text.get_text() for text in axes.texts]
    assert texts[::2] == list(track.names)
    best = int(track.mean[:, 0].argmax())
    assert texts[1] == f"{track.mean[-1, 0]:.4f}; best {track.mean[best, 0]:.4f} with {track.steps[best]} trees"


def test_the_paired_band_is_that_of_the_difference_from_the_best_step():
    track = track_of(n_steps=6, n_queries=12, fall=0.03)
    axes = track_plots.plot_curves(track, SOFT, level=0.8, n_boot=300)
    means, best = track.resampled(1, 300), int(track.mean[:, 1].argmax())
    differences = means - means[:, [best]] + track.mean[best, 1]
    ((low, high),) = band_ends(axes)
    np.testing.assert_allclose(low, np.quantile(differences, 0.1, axis=0), rtol=1e-12)
    np.testing.assert_allclose(high, np.quantile(differences, 0.9, axis=0), rtol=1e-12)
    assert 0 < best < 5
    assert low[best] == pytest.approx(high[best]) == track.mean[best, 1]
    assert "band: 80 % interval of the difference from it" in axes.get_xlabel()


def test_the_band_of_the_mean_is_the_tracks_own():
    track = track_of(n_steps=6, n_queries=12)
    axes = track_plots.plot_curves(track, 0, band="mean", level=0.9)
    (found,) = band_ends(axes)
    for end, expected in zip(found, track.band(0.9), strict=True):
        np.testing.assert_allclose(end, expected[:, 0], rtol=1e-12)
    assert "90 % interval of the mean over queries" in axes.get_xlabel()


@pytest.mark.parametrize(("band", "n_metrics", "n_bands"), [(None, 1, 0), ("paired", 3, 3), ("paired", 4, 0)])
def test_many_bands_are_left_out(band, n_metrics, n_bands):
    axes = track_plots.plot_curves(track_of(metrics=(HARD, SOFT, MAP, ERR)[:n_metrics]), band=band)
    assert len(axes.collections) == n_bands
    assert ("band" in axes.get_xlabel()) == (n_bands > 0)


def test_tracks_have_colours_and_their_metrics_dashes():
    tracks = [track_of(label="one"), track_of(25, seed=1, every=3, label="two")]
    axes = track_plots.plot_curves(tracks, ["ndcg@10", SOFT])
    lines = [line for line in curves_in(axes) if len(line.get_xdata()) > 1]
    assert [line.get_color() for line in lines] == [labels.PALETTE[i] for i in (0, 0, 1, 1)]
    assert [line.get_linestyle() for line in lines] == ["-", "--", "-", "--"]
    np.testing.assert_array_equal(lines[3].get_ydata(), tracks[1].mean[:, 1])
    names = [text.get_text() for text in axes.texts][::2]
    assert names == ["one: ndcg@10", "one: ndcg_gaussian@10", "two: ndcg@10", "two: ndcg_gaussian@10"]
    assert [text.get_text() for text in track_plots.plot_curves(tracks, 1).texts][::2] == ["one", "two"]


def looks_in(axes):
    lines = [line for line in axes.lines if len(line.get_xdata()) > 1]
    return [(line.get_color(), str(line._unscaled_dash_pattern), line.get_marker()) for line in lines]


@pytest.mark.parametrize(("n_tracks", "n_metrics"), [(8, 2), (2, 5), (15, 5), (60, 1), (1, 60)])
def test_no_two_lines_look_alike(n_tracks, n_metrics):
    metrics = [Metric(f"ndcg@{k + 1}") for k in range(n_metrics)]
    tracks = [track_of(20, metrics=metrics, label=str(i)) for i in range(n_tracks)]
    looks = looks_in(track_plots.plot_curves(tracks))
    assert len(looks) == len(set(looks)) == n_tracks * n_metrics


@pytest.mark.parametrize(("n_steps", "dots"), [(15, True), (16, False)])
def test_each_of_a_few_steps_has_a_dot(n_steps, dots):
    (line,) = (
        line for line in track_plots.plot_curves(track_of(n_steps), "ndcg@10").lines if len(line.get_xdata()) > 1
    )
    assert line.get_marker() == ("o" if dots else "None")


def test_marks_do_not_cover_a_long_line():
    tracks = [track_of(300, label=f"model {at}") for at in range(60)]
    lines = [line for line in track_plots.plot_curves(tracks, "ndcg@10").lines if len(line.get_xdata()) > 1]
    marked = [line.get_markevery() for line in lines if line.get_marker() not in ("None", "")]
    assert set(marked) == {20}


def test_dashes_of_soft_metrics_are_thinner_than_lines():
    lines = track_plots.plot_curves([track_of(label="a"), track_of(label="b")]).lines
    widths = {(line.is_dashed(), line.get_linewidth()) for line in lines if len(line.get_xdata()) > 1}
    assert widths == {(False, 1.1), (True, 1.6)}


def test_no_two_tracks_look_alike_side_by_side():
    for axes in track_plots.hard_soft_figure([track_of(20, label=str(i)) for i in range(30)], band=None).axes:
        assert len(set(looks_in(axes))) == 30


def test_tracks_of_one_name_are_numbered():
    axes = track_plots.plot_curves([track_of(label="a"), track_of(label="a"), track_of(label="")], 0)
    assert [text.get_text() for text in axes.texts][::2] == ["a (1)", "a (2)", "model"]


@pytest.mark.parametrize("n_queries", [1, 2])
@pytest.mark.parametrize("n_steps", [1, 2])
def test_one_query_or_step_has_no_interval_of_the_best_number_of_trees(n_queries, n_steps):
    track = track_of(n_queries=n_queries, n_steps=n_steps)
    texts = [text.get_text() for text in track_plots.track_figure(track).axes[0].texts]
    assert any(text.startswith("best number of trees: 95 % interval") for text in texts) == (n_queries > 1 < n_steps)


def test_the_ring_of_the_best_step_is_whole_at_the_edge():
    axes = track_plots.plot_curves(track_of(n_steps=1), 0)
    rings = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    assert len(rings) == 1
    assert not rings[0].get_clip_on()


CROWDS = {
    "one": track_of(),
    "equal metrics": track_of(per_query=np.full((40, 2, 30), 0.5), beginning=np.full((2, 30), 0.5)),
    "one step": track_of(n_steps=1),
    "one query": track_of(n_queries=1),
    "not counted": track_of(per_query=np.full((40, 2, 30), np.nan), beginning=np.full((2, 30), np.nan)),
    "infinite": track_of(per_query=np.full((40, 2, 30), np.inf)),
    "five": [track_of(seed=i, label=f"model {i}") for i in range(5)],
    "four with two each": [track_of(seed=i, label=f"model {i}") for i in range(4)],
    "many steps": track_of(n_steps=2000),
    "few steps": track_of(n_steps=10, every=50, start=1000),
}


@pytest.mark.parametrize("tracks", CROWDS.values(), ids=CROWDS.keys())
def test_labels_neither_collide_nor_leave_the_picture(tracks):
    chosen = 0 if isinstance(tracks, list) and len(tracks) == 5 else None
    assert_nothing_collides(track_plots.plot_curves(tracks, chosen, n_boot=20).figure)


LONG = "relevance_by_our_editors_{}ndcg_at_10_weighted_by_visits"


@pytest.mark.parametrize("n", [1, 2, 8])
def test_long_names_leave_room_for_the_picture(n):
    hard = Metric("ndcg@10", name=LONG.format(""))
    soft = SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread", name=LONG.format("soft_"))
    tracks = [track_of(seed=i, metrics=(hard, soft), label=f"XGBoost, {LONG.format(i)}") for i in range(n)]
    figures = [
        track_plots.plot_curves(tracks, 0 if n > 1 else None, n_boot=20).figure,
        track_plots.hard_soft_figure(tracks),
        track_plots.plot_comparison(compare(tracks[0], tracks[0], step_a=3, n_boot=20)).figure,
    ]
    if n == 1:
        assert [text.get_text() for text in figures[0].axes[0].texts][::2] == [
            "…ndcg_at_10_weighted_by_visits", "…soft_ndcg_at_10_weighted_by_visits"]  # fmt: skip
        figures += [track_plots.plot_changes(tracks[0]).figure, track_plots.plot_hard_soft(tracks[0]).figure]
    for figure in figures:
        assert_nothing_collides(figure)
        widths = [round(axes.get_position().width, 2) for axes in figure.axes]
        assert min(widths) > 0.28 / len(widths), widths


def test_thousands_of_steps_of_every_kind_leave_room_for_the_changes():
    figure = track_plots.plot_changes(track_of(4000, metrics=(Metric("ndcg@10", name="d" * 80),), fall=0.0005)).figure
    figure.draw_without_rendering()
    assert figure.axes[0].get_position().width > 0.8


@pytest.mark.parametrize("gap", [0.1, 1.0, 5.0])
def test_heights_are_moved_apart_and_no_further(gap):
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 9):
        wanted = rng.normal(size=n).round(1)
        found = apart(wanted, gap)
        order = np.argsort(wanted, kind="stable")
        assert np.all(np.diff(found[order]) >= gap - 1e-12)
        assert found.mean() == pytest.approx(wanted.mean())
        best = ((found - wanted) ** 2).sum()
        for _ in range(200):  # nothing near it is nearer to what is wanted
            other = found + rng.normal(0, 0.1, n)
            if np.all(np.diff(other[order]) >= gap):
                assert ((other - wanted) ** 2).sum() >= best - 1e-12
    np.testing.assert_array_equal(apart([0.0, 20.0, 10.0], gap), [0.0, 20.0, 10.0])


# ---------------------------------------------------------------------------------------------------------
# Hard and soft
# ---------------------------------------------------------------------------------------------------------


def test_hard_is_light_behind_soft():
    track = track_of(metrics=(MAP, SOFT, HARD))
    axes = track_plots.plot_hard_soft(track)
    hard, soft = (line for line in curves_in(axes) if len(line.get_xdata()) > 1)
    np.testing.assert_array_equal(hard.get_ydata(), track.mean[:, 2])  # the twin, not the first
    np.testing.assert_array_equal(soft.get_ydata(), track.mean[:, 1])
    assert hard.get_linewidth() < soft.get_linewidth()
    assert hard.get_zorder() <= soft.get_zorder()
    assert len(axes.collections) == 1
    assert_nothing_collides(axes.figure)


def test_hard_beside_soft_on_one_scale():
    tracks = [track_of(label="one"), track_of(seed=1, label="two")]
    figure = track_plots.hard_soft_figure(tracks)
    drawn = [end for t in tracks for i in (0, 1) for end in (t.mean[:, i], *bands.band_of(t, i, "paired", 0.95))]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim() == value_range(drawn)
    for side, axes in enumerate(figure.axes):
        lines = [line for line in curves_in(axes) if len(line.get_xdata()) > 1]
        for line, track in zip(lines, tracks, strict=True):
            np.testing.assert_array_equal(line.get_ydata(), track.mean[:, side])
    assert_nothing_collides(figure)
    assert_nothing_collides(track_plots.hard_soft_figure(tracks[0], band=None))


@pytest.mark.parametrize("kind", ["paired", "mean"])
def test_one_query_has_no_band(kind):
    """Its resamples are all alike, which is no certainty."""
    track = track_of(n_queries=1)
    assert np.isnan(bands.band_of(track, 0, kind, 0.95)).all()
    axes = track_plots.plot_curves(track, band=kind)
    assert np.isfinite(axes.get_ylim()).all()


def test_side_by_side_many_bands_are_left_out():
    few, many = ([track_of(seed=i, label=f"model {i}") for i in range(n)] for n in (3, 4))
    assert [len(axes.collections) for axes in track_plots.hard_soft_figure(few).axes] == [3, 3]
    figure = track_plots.hard_soft_figure(many)
    assert [len(axes.collections) for axes in figure.axes] == [0, 0]
    assert "band" not in figure.get_supxlabel()


def test_infinite_means_of_two_queries_are_no_trouble():
    """The difference of two is no number."""
    values = np.full((5, 1, 2), np.inf)
    axes = track_plots.plot_curves(track_of(5, n_queries=2, metrics=(HARD,), per_query=values, beginning=values[0]))
    assert "∞" in axes.texts[-1].get_text() or "inf" in axes.texts[-1].get_text()


def test_the_hard_twin_is_found_by_whatever_name():
    named = Metric("ndcg@10", gain="linear", name="lin")
    soft = SoftMetric("ndcg@10", gain="linear", name="softlin", sigma=0.2, sigma_unit="spread")
    figure = track_plots.hard_soft_figure(track_of(metrics=(Metric("map"), named, soft)))
    assert figure._suptitle.get_text() == "lin after each tree"


@pytest.mark.parametrize("draw", [track_plots.plot_hard_soft, track_plots.hard_soft_figure])
def test_both_kinds_are_needed(draw):
    with pytest.raises(ValueError, match=r"hold a hard and a soft metric; got ndcg@10, map$"):
        draw(track_of(metrics=(HARD, MAP)))


# ---------------------------------------------------------------------------------------------------------
# Changes
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_steps", [1, 10, 300, 1000])
def test_changes_carry_every_step_with_its_interval(n_steps):
    track = track_of(n_steps, fall=0.0005)
    axes = Figure(figsize=(8, 4)).add_subplot()
    assert track_plots.plot_changes(track, "ndcg@10", level=0.9, ax=axes) is axes
    effects = tree_effects(track, 0, level=0.9)
    seen = {}
    for line in axes.lines:
        if line.get_marker() == "o":
            seen |= {x: (y, line.get_color()) for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)}
    assert sorted(seen) == track.steps.tolist()
    bars = {}
    for bar in axes.collections:
        for (x, low), (_, high) in bar.get_segments():
            bars[x] = (low, high, to_hex(bar.get_color()[0]).upper())
    for i, step in enumerate(track.steps.tolist()):
        kind = "helps" if effects.low[i] > 0 else "hurts" if effects.high[i] < 0 else "unsure"
        assert seen[step] == (effects.change[i], changes.COLOURS[kind])
        assert bars[step] == (effects.low[i], effects.high[i], changes.COLOURS[kind])
    if n_steps == 1000:
        assert effects.hurting.size > 0
    chance = 0.05 * n_steps
    said = f"{effects.hurting.size} hurt (by chance alone {chance:{'.0f' if chance >= 10 else '.2g'}})"
    assert said in [text.get_text() for text in axes.texts]
    assert axes._left_title.get_text() == "Change of ndcg@10 by tree"


@pytest.mark.parametrize("sign", [1, -1])
def test_rounding_neither_helps_nor_hurts(sign):
    """A tree without a split moves all scores alike, and rounds."""
    ends = np.sort(sign * np.array([[5e-13, 4e-13], [0.02, 0.01]]), axis=1)
    effects = SimpleNamespace(low=ends[:, 0], high=ends[:, 1])
    assert changes.step_kinds(effects).tolist() == ["unsure", "helps" if sign > 0 else "hurts"]


def test_many_steps_that_chance_alone_makes_hurt_are_a_whole_number():
    axes = track_plots.plot_changes(track_of(600), level=0.5)
    assert any(text.get_text().endswith("(by chance alone 150)") for text in axes.texts)


def test_changes_have_a_line_at_nothing():
    lines = track_plots.plot_changes(track_of(5)).lines
    assert any(np.array_equal(line.get_ydata(), [0, 0]) and line.get_marker() == "None" for line in lines)


def range_of(change, reach=0.01):
    """The range of changes whose intervals reach as far to either side."""
    change = np.asarray(change, dtype=float)
    return changes.change_range(SimpleNamespace(change=change, low=change - reach, high=change + reach))


def test_two_of_a_few_steps_may_lie_beyond_the_range():
    for outliers, shown in (([5.0], False), ([5.0, 4.0], False), ([5.0, 4.0, 3.0], True)):
        _, high = range_of([*outliers, *[0.1] * 8])
        assert (high > 1.0) == shown
    for others, shown in ((6, True), (7, False)):  # of seven steps all are shown
        _, high = range_of([5.0, *[0.1] * others])
        assert (high > 5.0) == shown


def test_a_range_without_intervals_is_that_of_the_changes():
    low, high = range_of([0.1, -0.2, 0.3], np.inf)
    assert -0.3 < low < -0.2
    assert 0.3 < high < 0.4
    assert range_of([np.nan, np.nan], np.nan) == (-1.0, 1.0)


def test_narrow_axes_have_no_room_for_chance():
    axes = track_plots.plot_changes(track_of(10), ax=Figure().add_subplot())
    assert any(text.get_text().endswith(" hurt") for text in axes.texts)


@pytest.mark.parametrize(("columns", "width", "height"), [(3, 10, 3.0), (2, 10, 3.6), (1, 3.3, 2.6)])
def test_narrow_axes_are_mostly_picture(columns, width, height):
    tracks = [track_of(label=f"a model of ours, {i}", fall=0.01 * i) for i in range(3)]
    found = compare(tracks[0], tracks[1], n_boot=20)
    drawings = [
        lambda axes: track_plots.plot_curves(tracks, n_boot=20, ax=axes),
        lambda axes: track_plots.plot_curves(tracks[0], n_boot=20, ax=axes),
        lambda axes: track_plots.plot_hard_soft(tracks[0], ax=axes),
        lambda axes: track_plots.plot_comparison(found, ax=axes),
    ]
    for draw in drawings:
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        for axes in figure.subplots(1, columns, squeeze=False)[0]:
            draw(axes)
        figure.draw_without_rendering()
        assert min(axes.get_position().width * columns for axes in figure.axes) > 0.19
        for axes in figure.axes:
            label = axes.xaxis.label.get_window_extent()
            assert 0 <= label.x0 <= label.x1 <= figure.bbox.x1


def test_where_names_have_no_room_beside_the_lines_a_legend_has_them():
    tracks = [track_of(seed=i, label=f"model {i}") for i in range(2)]
    narrow = track_plots.plot_curves(tracks, "ndcg@10", ax=Figure(figsize=(3.3, 2.6)).add_subplot())
    assert [text.get_text() for text in narrow.get_legend().get_texts()] == ["model 0", "model 1"]
    assert not narrow.texts
    colours = [line.get_color() for line in narrow.get_legend().get_lines()]
    assert colours == [line.get_color() for line in curves_in(narrow) if len(line.get_xdata()) > 2]
    wide = track_plots.plot_curves(tracks, "ndcg@10", ax=Figure(figsize=(6.4, 4.8)).add_subplot())
    assert wide.get_legend() is None
    assert len(wide.texts) == 4


def test_more_than_seven_lines_have_looks_of_their_own():
    tracks = [track_of(label=f"model {i}") for i in range(10)]
    lines = [line for line in track_plots.plot_curves(tracks, "ndcg@10").lines if line.get_marker() != "o"]
    assert len({(line.get_color(), str(line._dash_pattern)) for line in lines}) == 10
    axes = track_plots.plot_curves(tracks, "ndcg@10")
    axes.figure.draw_without_rendering()
    low, high = axes.get_ylim()
    heights = sorted(text.xy[1] for text in axes.texts)
    assert low <= heights[0] <= heights[-1] <= high
    assert min(np.diff(heights)) > 0


def test_the_first_soft_metric_is_shown_unless_said():
    track = track_of(metrics=(MAP, SOFT, HARD), every=5)
    assert track_plots.plot_changes(track)._left_title.get_text() == "Change of ndcg_gaussian@10 by step"
    alone = track_of(n_steps=1, every=20)
    assert track_plots.plot_changes(alone)._left_title.get_text() == "Change of ndcg_gaussian@10 by step"
    axes = track_plots.plot_changes(track_of(metrics=(MAP, HARD)))
    assert axes._left_title.get_text() == "Change of map by tree"


@pytest.mark.parametrize("n_steps", [10, 300])
def test_steps_beyond_the_range_are_marked(n_steps):
    values = track_of(n_steps).per_query.copy()
    values += 0.5
    track = track_of(n_steps, per_query=values)
    axes = track_plots.plot_changes(track)
    low, high = axes.get_ylim()
    change = track.change[:, 1]
    beyond = (change > high) | (change < low)
    assert 0 < beyond.sum() <= max(2, n_steps // 33)
    marks = [line for line in axes.lines if line.get_marker() in "^v"]
    assert sorted(x for line in marks for x in line.get_xdata()) == track.steps[beyond].tolist()
    assert {y for line in marks for y in line.get_ydata()} <= {low, high}
    assert_nothing_collides(axes.figure)
    (said,) = (text for text in axes.texts if text.get_text().startswith(f"+{change[0]:.4f} with tree 1"))
    assert said.get_window_extent().y0 >= axes.get_window_extent().y1  # over the bars, not on them


@pytest.mark.parametrize(("n_beyond", "said"), [(1, ""), (2, ", 1 more beyond")])
def test_of_several_steps_beyond_the_range_the_farthest_is_named(n_beyond, said):
    values = np.full((13, 1, 30), 0.5) + 0.001 * np.arange(13)[:, None, None] + 1e-4 * np.arange(30)
    values[4:] += 0.3
    values[7:] += 0.2 * (n_beyond - 1)
    track = track_of(12, metrics=(HARD,), per_query=values[1:], beginning=values[0])
    texts = [text.get_text() for text in track_plots.plot_changes(track).texts]
    assert f"+0.3010 with tree 4{said}" in texts


def test_a_fall_beyond_the_range_is_marked_at_its_lower_edge():
    values = np.full((13, 1, 30), 0.9) + 0.001 * np.arange(13)[:, None, None] + 1e-4 * np.arange(30)
    values[4:] -= 0.3
    axes = track_plots.plot_changes(track_of(12, metrics=(HARD,), per_query=values[1:], beginning=values[0]))
    (mark,) = (line for line in axes.lines if line.get_marker() in ("^", "v"))
    assert (mark.get_marker(), mark.get_xdata().tolist()) == ("v", [4])
    assert mark.get_ydata().tolist() == [axes.get_ylim()[0]]
    assert "\N{MINUS SIGN}0.2990 with tree 4" in [text.get_text() for text in axes.texts]


def test_a_change_beyond_the_range_is_of_all_trees_of_its_step():
    values = track_of(10).per_query + 0.5
    axes = track_plots.plot_changes(track_of(10, every=1000, per_query=values))
    assert any("with trees 1 to 1,000" in text.get_text() for text in axes.texts)


def test_all_is_shown_where_nothing_is_far():
    rng = np.random.default_rng(0)
    values = 0.5 + rng.normal(0, 0.01, (60, 1, 30))
    axes = track_plots.plot_changes(track_of(60, metrics=(HARD,), per_query=values, beginning=np.full((1, 30), 0.5)))
    low, high = axes.get_ylim()
    ends = [y for bar in axes.collections for segment in bar.get_segments() for _, y in segment]
    assert low < min(ends) < max(ends) < high


@pytest.mark.parametrize("tracks", [t for t in CROWDS.values() if not isinstance(t, list)][:4])
def test_what_is_said_of_changes_does_not_collide(tracks):
    assert_nothing_collides(track_plots.plot_changes(tracks).figure)


# ---------------------------------------------------------------------------------------------------------
# Whole pictures
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("track", [track_of(fall=0.002), track_of(10, every=7), track_of(1000), track_of(1)])
def test_the_overview_says_what_to_keep(track):
    figure = track_plots.track_figure(track)
    effects = tree_effects(track, 1)
    top, bottom = figure.axes
    advice = effects.advice.replace("+-", "±")
    assert top._left_title.get_text() == advice[0].upper() + advice[1:]
    bars = [list(line.get_xdata()) for line in top.lines if line.get_marker() == "|"]
    assert bars == [[effects.best_low, effects.best_high]] * (track.n_steps > 1)
    assert bottom._left_title.get_text().startswith("Change of ndcg_gaussian@10")
    assert figure._suptitle.get_text() == "rising"
    assert [axes.get_ylabel() for axes in (top, bottom)] == ["mean over queries", "change of the mean"]
    assert_nothing_collides(figure)


@pytest.mark.parametrize("metric", [None, "ndcg@10"])
def test_the_overview_is_at_its_level(metric):
    figure = track_plots.track_figure(track_of(), metric, level=0.8)
    figure.draw_without_rendering()
    words = [axes.get_xlabel() for axes in figure.axes]
    assert all("80 %" in text for text in words), words


def test_long_words_of_the_overview_are_cut_or_broken():
    track = track_of(100, n_queries=200)
    values, beginning = (1e6 * values for values in (track.per_query, track.beginning))
    track = track_of(
        100, n_queries=200, every=10**7, per_query=values, beginning=beginning, label=100 * "a model "
    )  # fmt: skip
    figure = track_plots.track_figure(track, "ndcg@10")
    assert 60 < len(figure._suptitle.get_text()) <= 90
    said = figure.axes[0].get_title(loc="left")
    assert len(said) > 120
    assert max(map(len, said.split("\n"))) <= 120


def test_the_bar_of_the_best_number_of_trees_stays_in_the_picture():
    """Which the beginning, one of those that may be best, is left of."""
    track = track_of(40, fall=0.2, start=100, every=10)
    effects = tree_effects(track, 1)
    assert effects.best_low == 100 < track.steps[0]
    top = track_plots.track_figure(track).axes[0]
    (bar,) = (line for line in top.lines if line.get_marker() == "|")
    assert min(bar.get_xdata()) == top.get_xlim()[0] > 100


@pytest.mark.parametrize("n_steps", [2, 60])
def test_what_the_overview_says_hides_no_name(n_steps):
    """The interval of the best is at the right and a line ends low; the advice is long and two lines end high."""
    track = track_of(n_steps, fall=-0.0003)
    if n_steps > 2:
        same = track.per_query[:, [1, 1]]
        track = track_of(n_steps, fall=-0.0003, per_query=same, beginning=track.beginning[[1, 1]])
    assert_nothing_collides(track_plots.track_figure(track))


@pytest.mark.parametrize(("size", "said"), [(1e6, "590,000.0; best"), (1e-5, "5.9e-06; best")])
def test_labels_are_numbers_that_can_be_read(size, said):
    values = size * np.array([0.5, 0.6, 0.59])[:, None, None] * np.ones((3, 1, 30))
    axes = track_plots.plot_curves(track_of(3, metrics=(HARD,), per_query=values))
    assert axes.texts[1].get_text().startswith(said)


def line_names(axes):
    return [text.get_text() for text in axes.texts[::2]]


def test_lines_of_several_tracks_are_of_a_metric_that_is_named():
    tracks = [track_of(label="A"), track_of(label="B", seed=1)]
    axes = track_plots.plot_curves(tracks, "ndcg@10")
    assert axes.get_ylabel() == "mean ndcg@10 over queries"
    assert line_names(axes) == ["A", "B"]
    others = [track_of(label="A", metrics=(HARD,)), track_of(label="B", metrics=(MAP,))]
    axes = track_plots.plot_curves(others)
    assert axes.get_ylabel() == "mean over queries"
    assert line_names(axes) == ["A: ndcg@10", "B: map"]
    assert track_plots.plot_curves(tracks[0], "ndcg@10").get_ylabel() == "mean over queries"
    pairs = [track_of(label="A"), track_of(label="B", metrics=(MAP, SoftMetric("map")))]
    figure = track_plots.hard_soft_figure(pairs)
    assert figure._suptitle.get_text() == "ndcg@10, map after each tree"
    assert [line_names(axes) for axes in figure.axes] == [
        ["A: ndcg@10", "B: map"],
        ["A: ndcg_gaussian@10", "B: map_gaussian"],
    ]
    assert_nothing_collides(figure)


def test_a_number_is_no_other_tracks_name():
    tracks = [SimpleNamespace(label=label) for label in ("A", "A", "A (1)", "B")]
    assert labels.track_names(tracks) == ("A (2)", "A (3)", "A (1)", "B")


def test_single_trees_and_a_last_step_that_comes_early_are_ticks_only_where_there_is_room():
    track = track_of(6, every=100)
    early = track_of(6, steps=np.array([100, 200, 300, 400, 500, 505]))
    for found, ticks in ((track, [100, 200, 300, 400, 500, 600]), (early, None)):
        axes = track_plots.plot_curves(found)
        assert_nothing_collides(axes.figure)
        assert (list(axes.get_xticks()) == ticks) == (ticks is not None)
    assert_nothing_collides(track_plots.hard_soft_figure(track_of(20)))


def test_one_query_alone_has_no_bands_and_no_words_on_them():
    track = track_of(n_queries=1)
    for figure in (
        track_plots.plot_curves(track).figure,
        track_plots.plot_changes(track).figure,
        track_plots.hard_soft_figure(track),
        track_plots.track_figure(track),
    ):
        captions = [figure._supxlabel.get_text()] if figure._supxlabel else []
        captions += [axes.get_xlabel() for axes in figure.axes]
        assert not any("95 %" in words for words in captions), captions


def test_a_label_that_is_no_text_is_written_out():
    """As the name of an old file may be."""
    figure = track_plots.track_figure(track_of(label=os.fsdecode(b"mod\xe8le")))
    assert figure._repr_png_()
    assert figure._suptitle.get_text() == "mod\\udce8le"


def test_figures_can_be_pickled():
    for figure in (track_plots.track_figure(track_of()), track_plots.hard_soft_figure(track_of())):
        again = pickle.loads(pickle.dumps(figure))
        assert [axes.get_xlabel() for axes in again.axes] == [axes.get_xlabel() for axes in figure.axes]


@pytest.mark.parametrize(
    ("metrics", "names"),
    [
        ((SOFT, Metric("map"), SoftMetric("map")), ["ndcg_gaussian@10"]),  # another soft metric has its twin
        ((Metric("map"), SOFT), ["ndcg_gaussian@10"]),
        ((Metric("map"), SoftMetric("map"), HARD, SOFT), ["map", "map_gaussian"]),
    ],
)
def test_the_whole_overview_is_of_one_metric(metrics, names):
    top, bottom = track_plots.track_figure(track_of(metrics=metrics)).axes
    assert [text.get_text() for text in top.texts[: 2 * len(names) : 2]] == names
    assert bottom.get_title(loc="left").startswith(f"Change of {names[-1]} ")
    assert sum(len(line.get_xdata()) > 2 for line in curves_in(top)) == len(names)


def test_the_overview_of_one_metric():
    track = track_of()
    top, _ = track_plots.track_figure(track, "ndcg@10", level=0.8).axes
    (line,) = (line for line in curves_in(top) if len(line.get_xdata()) > 2)
    np.testing.assert_array_equal(line.get_ydata(), track.mean[:, 0])
    assert "80 %" in top.get_xlabel()


def test_a_comparison_shows_every_row():
    found = compare(track_of(), track_of(label="other", fall=0.01), n_boot=50)
    axes = track_plots.plot_comparison(found)
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert [line.get_xdata()[0] for line in dots] == [row.difference for row in found.rows]
    bars = [line for line in axes.lines if len(line.get_xdata()) == 2 and line.get_xdata()[0] != line.get_xdata()[1]]
    shown = {tuple(line.get_xdata()) for line in bars}
    assert {(row.low, row.high) for row in found.rows if row.low != row.high} <= shown
    names = [tick.get_text() for tick in axes.get_yticklabels()]
    assert names == [f"control of {row.metric}" if row.kind == "control" else row.metric for row in found.rows]
    hollow = [line.get_markerfacecolor() == "white" for line in dots]
    assert hollow == [row.kind == "control" for row in found.rows]
    assert any(hollow)
    assert dots[0].get_markeredgecolor() == changes.COLOURS["hurts"]
    assert_nothing_collides(axes.figure)


def test_a_difference_that_may_be_nothing_has_no_colour():
    found = compare(track_of(), track_of(label="other", fall=0.01), n_boot=50)
    wanted = {(0.1, 0.3): BLUE, (-0.3, -0.1): VERMILION}
    wanted |= dict.fromkeys([(-0.1, 0.3), (-0.3, 0.1), (0.0, 0.1), (-0.1, 0.0)], INK)
    rows = [replace(found.rows[0], low=low, high=high) for low, high in wanted]
    axes = track_plots.plot_comparison(replace(found, rows=rows))
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert [line.get_markeredgecolor() for line in dots] == list(wanted.values())


DOLLARS = "cost $a_{b$ 100%"  # two dollars would be mathematics, and this one is no formula


def test_dollars_in_labels_and_names_are_dollars():
    metrics = (Metric("ndcg@10", name="$a_{b$hard"), SoftMetric("ndcg@10", sigma=0.2, name="$a_{b$soft"))
    first, second = (
        track_of(metrics=metrics, label=DOLLARS + end, fall=fall) for end, fall in (("", 0.0), ("2", 0.01))
    )
    compared = compare(first, second, n_boot=50)
    figures = [
        track_plots.track_figure(first),
        track_plots.hard_soft_figure([first, second]),
        track_plots.plot_curves([first, second]).figure,
        track_plots.plot_curves([first] * 3).figure,
        track_plots.plot_hard_soft(first).figure,
        track_plots.plot_changes(first).figure,
        track_plots.plot_comparison(compared).figure,
    ]
    for figure in figures:
        png(figure)
        assert_dollars_are_dollars(figure)


def test_a_picture_has_ink_and_paper(tmp_path):
    (tmp_path / "x.png").write_bytes(png(track_plots.track_figure(track_of())))
    with Image.open(tmp_path / "x.png") as image:
        shades = np.asarray(image.convert("L"))
    assert shades.min() < 100
    assert np.mean(shades == 255) > 0.5


# ---------------------------------------------------------------------------------------------------------
# Errors
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: track_plots.plot_curves([]), TypeError, r"^plot_curves: tracks must be a TreeTrack or"),
        (lambda: track_plots.plot_curves([track_of(), 3]), TypeError, r"a sequence of them; got 3$"),
        (lambda: track_plots.plot_curves(None), TypeError, r"^plot_curves: tracks must be .* them; got None$"),
        (lambda: track_plots.hard_soft_figure([None]), TypeError, r"^hard_soft_figure: tracks .* them; got None$"),
        (lambda: track_plots.plot_curves(track_of(), 1.5), TypeError, r"a position, a name or a metric; got 1\.5$"),
        (lambda: track_plots.plot_curves(track_of(), []), ValueError, r"^plot_curves: metrics must hold .*; got \[\]$"),
        (lambda: track_plots.plot_curves(track_of(), "map"), ValueError, r"one of 'ndcg@10', 'ndcg_gaussian@10'"),
        (
            lambda: track_plots.plot_curves(track_of(), band="sd"),
            ValueError,
            r"^plot_curves: band must be one of 'paired', 'mean', None; got 'sd'$",
        ),
        (
            lambda: track_plots.plot_curves(track_of(), level=1.0),
            ValueError,
            r"^plot_curves: level must be below 1; got 1\.0$",
        ),
        (lambda: track_plots.plot_curves(track_of(), n_boot=19), ValueError, r"^plot_curves: n_boot must be from 20 "),
        (lambda: track_plots.plot_curves(track_of(), level=2, band=None), ValueError, r"^plot_curves: level must be"),
        (lambda: track_plots.plot_hard_soft(track_of(), level=2), ValueError, r"^plot_hard_soft: level must be"),
        (lambda: track_plots.hard_soft_figure(track_of(), level=2), ValueError, r"^hard_soft_figure: level must be"),
        (lambda: track_plots.track_figure(track_of(), level=2), ValueError, r"^track_figure: level must be"),
        (lambda: track_plots.plot_hard_soft([1.0]), TypeError, "^plot_hard_soft: track must be a TreeTrack; got list"),
        (lambda: track_plots.plot_changes(None), TypeError, r"^plot_changes: track must be a TreeTrack; got NoneType$"),
        (lambda: track_plots.track_figure("a.npz"), TypeError, r"^track_figure: track must be a TreeTrack; got str$"),
        (
            lambda: track_plots.plot_comparison(track_of()),
            TypeError,
            r"^plot_comparison: comparison must be what boostsoft\.compare returns; got TreeTrack",
        ),
        (
            lambda: track_plots.plot_changes(track_of(), "map"),
            ValueError,
            r"^plot_changes: metric must be one of 'ndcg@10'",
        ),
        (lambda: track_plots.plot_curves(track_of(), ["map"]), ValueError, r"^plot_curves: metrics must be one of"),
        (lambda: track_plots.track_figure(track_of(), 0.5), TypeError, r"^track_figure: metric must be a position"),
        (lambda: track_plots.plot_changes(track_of(), level=0.0), ValueError, r"^plot_changes: level must be"),
        (
            lambda: track_plots.plot_curves(track_of(), ax=Figure()),
            TypeError,
            r"^plot_curves: ax must be .*; got Figure$",
        ),
        (lambda: track_plots.plot_hard_soft(track_of(), ax=5), TypeError, r"^plot_hard_soft: ax must be .*; got int$"),
        (lambda: track_plots.plot_changes(track_of(), ax="x"), TypeError, r"^plot_changes: ax must be .*; got str$"),
        (
            lambda: track_plots.plot_comparison(compare(track_of(), track_of()), ax=[]),
            TypeError,
            r"^plot_comparison: ax must be .*; got list$",
        ),
        (lambda: track_plots.track_figure(CROWDS["infinite"]), ValueError, r"must be finite for every query"),
        (
            lambda: track_plots.plot_changes(CROWDS["not counted"]),
            ValueError,
            r"^plot_changes: ndcg_gaussian@10 must",
        ),
        (
            lambda: track_plots.track_figure(CROWDS["not counted"]),
            ValueError,
            r"^track_figure: ndcg_gaussian@10 must",
        ),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_bands_in_units_that_can_be_checked_by_hand():
    values = np.array([[[0.5, 0.7]], [[0.6, 0.8]]])
    track = track_of(2, 2, (HARD,), per_query=values, beginning=values[0])
    low, high = bands.band_of(track, 0, "paired", 0.95)
    np.testing.assert_allclose([low, high], [[0.6, 0.7], [0.6, 0.7]])  # .1 more in either query


def test_rounding_at_a_tick_is_nothing():
    assert [labels.signed(value) for value in (1e-16, -1e-13, 0.25)] == ["0", "0", "+0.25"]


def test_a_soft_metric_is_thick_whatever_its_noise():
    other = SoftMetric("map", noise="gumbel", sigma=0.2, sigma_unit="spread")
    lines = curves_in(track_plots.plot_curves(track_of(metrics=(MAP, other))))
    widths = [line.get_linewidth() for line in lines if len(line.get_xdata()) > 1]
    assert widths[1] > widths[0]


@pytest.mark.parametrize("width", [9, 10, 11])
def test_words_of_two_pictures_side_by_side_stay_in_their_figure(width):
    figure = Figure(figsize=(width, 4), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    track_plots.plot_curves(track_of(30, metrics=(SOFT,)), ax=left)
    track_plots.plot_changes(track_of(30, metrics=(SOFT,)), ax=right)
    for text, box in boxes_of(figure):
        assert box.x0 >= 0, text
        assert box.x1 <= figure.bbox.x1, text
    assert " ".join(left.get_xlabel().split()).endswith("95 % interval of the difference from it)")
    counts = [text for text in right.texts if text.get_text().split()[-1] in ("help", "unsure", "hurt")]
    assert len(counts) == 3
    below = right._left_title.get_window_extent()
    for text in counts:  # in a line of their own, under the heading and over the picture
        box = text.get_window_extent()
        assert right.get_window_extent().y1 <= box.y0 <= box.y1 <= below.y0 + 0.6 * below.height, text


def test_an_overview_without_a_label_has_a_heading():
    assert track_plots.track_figure(track_of(label=""))._suptitle.get_text() == "What each tree adds"
