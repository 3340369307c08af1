"""What a comparison shows, and what it refuses."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor

from boostsoft import Metric, SoftMetric
from boostsoft.tracking.compared import ComparedMetric
from boostsoft.tracking.comparison import compare

from .compare_cases import SIZES, SPREAD, scores, track_of


def test_table():
    y, a, b = scores()
    found = compare(a, b, y_true=y, group=SIZES, level=0.9)
    assert repr(found) == str(found)
    head, *lines = str(found).splitlines()
    assert head.startswith("metric ")  # score vectors have no names
    assert "90% interval" in head
    assert "97.5% interval" in str(compare(a, b, y_true=y, group=SIZES, level=0.975))
    assert "agrees, 6" in head
    assert [line.split("  ")[0] for line in lines[:2]] == ["ndcg@10", "ndcg_gaussian@10"]
    assert lines[2].startswith("  control of ndcg_gaussian@10")
    assert "np.float64" not in repr(found.rows)
    row = found.rows[0]
    assert f"{row.a:.4f}  {row.b:.4f}  +{row.difference:.4f}  [+{row.low:.4f}, +{row.high:.4f}]" in lines[0]
    assert f"{row.queries_needed:.0f}" in lines[0].split()
    html = found._repr_html_()
    assert html.count("<tr>") == 4
    assert "b - a" in html
    assert "a: " not in html


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frame(kind):
    pytest.importorskip(kind)
    y, a, b = scores()
    found = compare(a, b, y_true=y, group=SIZES)
    frame = found.to_frame(kind)
    assert list(frame.columns) == [field.name for field in fields(ComparedMetric)]
    assert frame["difference"].to_list() == [row.difference for row in found.rows]


def test_frame_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    y, a, b = scores()
    with pytest.raises(ImportError, match=r"Comparison\.to_frame: pandas is not installed"):
        compare(a, b, y_true=y, group=SIZES, metrics="ndcg@10").to_frame()


def test_row_by_name():
    y, a, b = scores()
    found = compare(a, b, y_true=y, group=SIZES)
    assert found.row("ndcg_gaussian@10").kind == "soft"
    with pytest.raises(ValueError, match=r"row: metric must be one of 'ndcg@10' \(hard\), .*; got 'map', kind=None"):
        found.row("map")


def test_what_is_refused():
    y, a, b = scores()
    with pytest.raises(ValueError, match="two score vectors need y_true and the queries"):
        compare(a, b, group=SIZES)
    with pytest.raises(ValueError, match="two score vectors need y_true and the queries"):
        compare(a, b, y_true=y)
    with pytest.raises(ValueError, match="compare: b must have one value per document, 480; got 479"):
        compare(a, b[:-1], y_true=y, group=SIZES)
    with pytest.raises(ValueError, match=r"compare: a must be finite; got nan at position .*normalize_scores"):
        compare(np.where(y == 0, np.nan, a), b, y_true=y, group=SIZES)
    with pytest.raises(ValueError, match=r"compare: y_true must have .* 480; got 479"):
        compare(a, b, y_true=y[1:], group=SIZES)
    with pytest.raises(ValueError, match="compare: level must be below 1"):
        compare(a, b, y_true=y, group=SIZES, level=1.0)
    with pytest.raises(ValueError, match=r"compare: power must be below 1; got 1\.5"):
        compare(a, b, y_true=y, group=SIZES, power=1.5)
    with pytest.raises(ValueError, match="compare: n_boot must be from 20 "):
        compare(a, b, y_true=y, group=SIZES, n_boot=19)
    with pytest.raises(ValueError, match="compare: small must be at most the number of queries, 60; got 61"):
        compare(a, b, y_true=y, group=SIZES, small=61)
    with pytest.raises(ValueError, match="compare: two metrics are called 'ndcg_gaussian@10'"):
        compare(a, b, y_true=y, group=SIZES, metrics=[SPREAD, SoftMetric("ndcg@10")])
    with pytest.raises(ValueError, match="compare: pooled=True"):
        compare(a, b, y_true=y, group=SIZES, metrics=Metric("auc", pooled=True))
    with pytest.raises(ValueError, match="compare: pnr must be finite for every query; query 0 has an infinite value"):
        compare(y, b, y_true=y, group=SIZES, metrics="pnr")
    with pytest.raises(ValueError, match="compare: pnr must be finite for every query; query 0 has an infinite value"):
        compare(np.zeros(y.size), y, y_true=y, group=SIZES, metrics="pnr")
    with pytest.raises(TypeError, match="a metric must be a string, a Metric or a SoftMetric; got 3"):
        compare(a, b, y_true=y, group=SIZES, metrics=[3])
    with pytest.raises(TypeError, match=r"compare: metrics must be a metric or several; got {'ndcg': \[1, 5\]}"):
        compare(a, b, y_true=y, group=SIZES, metrics={"ndcg": [1, 5]})
    track = track_of(np.zeros((1, 1, 60)))
    for wrong in (2.5, [2.5]):
        with pytest.raises(TypeError, match=r"^compare: metrics must be a position, a name or a metric; got 2\.5$"):
            compare(track, track, metrics=wrong)
    with pytest.raises(TypeError, match=r"^compare: metrics must be a position, a name or a metric; got {0: \[1\]}$"):
        compare(track, track, metrics={0: [1]})
    with pytest.raises(TypeError, match="two tracks or two score vectors; got one of each"):
        compare(track, b, y_true=y, group=SIZES)
    for model, got in (
        (DummyRegressor(), "DummyRegressor"),
        ("model.txt", "'model.txt'"),
        (Path("m.json"), r"\w+Path"),
    ):
        with pytest.raises(TypeError, match=rf"compare: a must be the scores of a model, or what track_.*; got {got}"):
            compare(model, b, y_true=y, group=SIZES)
        with pytest.raises(TypeError, match=rf"compare: b must be the scores of a model, or what track_.*; got {got}"):
            compare(a, model)
    with pytest.raises(TypeError, match="belong to score vectors; tracks have theirs"):
        compare(track, track, y_true=y)
    with pytest.raises(TypeError, match="step_a and step_b belong to tracks"):
        compare(a, b, y_true=y, group=SIZES, step_a=0)
    with pytest.raises(TypeError, match="step_a and step_b belong to tracks"):
        compare(a, b, y_true=y, group=SIZES, step_b=np.array([0, 1]))
