"""Figures of our own: white and shown by a notebook, whatever the style sheet, and without pyplot."""

from __future__ import annotations

import io

import matplotlib
import numpy as np
import pytest
from PIL import Image

from boostsoft.drawing import brief, new_axes, new_figure, within

DARK = {"figure.facecolor": "black", "axes.facecolor": "black", "savefig.facecolor": "auto", "text.color": "white"}


def corner(png):
    return Image.open(io.BytesIO(png)).convert("RGB").getpixel((0, 0))


@pytest.mark.parametrize("make", [lambda: new_figure(3, 2), lambda: new_axes(3, 2)], ids=["figure", "axes"])
def test_a_notebook_shows_it(make):
    png = make()._repr_png_()
    assert png.startswith(b"\x89PNG")
    assert Image.open(io.BytesIO(png)).size == (300, 200)  # 100 dots per inch, as notebooks expect


def test_it_is_white_under_a_dark_style_sheet():
    with matplotlib.rc_context(DARK):
        axes = new_axes(3, 2)
        panels = new_figure(3, 2).subplots(1, 2)
        assert corner(axes._repr_png_()) == (255, 255, 255)
    assert {panel.get_facecolor() for panel in [axes, *panels]} == {(1.0, 1.0, 1.0, 1.0)}


def test_axes_in_a_figure_of_others_are_left_to_it():
    from matplotlib.figure import Figure

    axes = new_axes(3, 2)
    axes.remove()
    axes.figure = Figure()
    assert axes._repr_png_() is None


@pytest.mark.parametrize("seed", range(5))
def test_labels_stay_within_the_ends_and_apart(seed):
    rng = np.random.default_rng(seed)
    heights = rng.permutation(np.cumsum(1 + rng.random(8))) - 3
    found = within(heights, 1.0, 0.0, 9.0)
    assert found.min() >= 0
    assert found.max() <= 9
    assert (np.argsort(found) == np.argsort(heights)).all()
    assert np.diff(np.sort(found)).min() >= 1 - 1e-12


def test_of_long_names_no_two_are_cut_to_the_same():
    """Of which one begins otherwise, and two are alike to the last letters or behind the middle."""
    runs = [f"softranker_ndcg10_gumbel_seed{seed}_lr005_leaves31_run_final" for seed in (1, 2)]
    nearly = [f"{'x' * 40}{middle}{'y' * 40}" for middle in ("a", "b", "c1", "c2")]
    for names in (["lambdarank", *runs], runs, nearly, ["x" * 60, "x" * 61], ["short", *runs, *nearly]):
        found = brief(names)
        assert len(set(found)) == len(names)
        assert max(map(len, found)) <= 28
    assert brief([runs[0], runs[0]]) == [brief(runs[:1])[0]] * 2
