"""A track as a frame of pandas or polars."""

from __future__ import annotations

import dataclasses
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from .memory import peak_memory
from .tree_track_cases import track


@pytest.mark.parametrize(("kind", "library"), [("pandas", pd), ("polars", pl)])
def test_frames_hold_the_means(kind, library):
    found = track()
    frame = found.to_frame(kind)
    assert isinstance(frame, library.DataFrame)
    assert list(frame.columns) == ["trees", "metric", "mean", "change", "change_error"]
    rows = np.array([[*row] for row in frame.to_numpy()], dtype=object)
    assert rows[:3, :3].tolist() == [
        [2, "ndcg@10", found.mean[0, 0]],
        [2, "ndcg_gaussian@10", found.mean[0, 1]],
        [3, "ndcg@10", found.mean[1, 0]],
    ]
    assert rows[-1].tolist() == [8, "ndcg_gaussian@10", found.mean[3, 1], found.change[3, 1], found.change_error[3, 1]]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_hold_the_values(kind):
    found = track()
    frame = found.to_frame(kind, per_query=True)
    assert list(frame.columns) == ["trees", "metric", "query", "qid", "value"]
    assert frame.shape[0] == 4 * 2 * 6
    rows = frame.to_numpy()
    assert rows[6 + 1].tolist() == [2, "ndcg_gaussian@10", 1, "b", found.per_query[0, 1, 1]]
    assert rows[12 + 3].tolist() == [3, "ndcg@10", 3, "d", found.per_query[1, 0, 3]]
    assert "qid" not in track(qid=None).to_frame(kind, per_query=True).columns


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_hold_ids_as_what_they_are(kind):
    whole, longer, mixed = [3, 1, 7, 5, 2**60, -4], [2**70, 1, 2, 3, 4, 5], ["a", 1, 2, 3, 4, 5]
    wide = [2**63 + 1, -1, 2, 3, 4, 5]  # of which NumPy makes floats
    for ids in (whole, longer, wide, mixed):
        frame = track(qid=np.array(ids, dtype=object)).to_frame(kind, per_query=True)
        assert frame["qid"].to_list()[:6] == ids
        assert (str(frame["qid"].dtype).lower() == "int64") == (ids is whole)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_memory_that_a_frame_of_values_takes(kind):
    """Ids that are texts are held once, and no Python object of theirs is taken for each row."""
    values = np.random.default_rng(0).uniform(size=(51, 2, 300))
    ids = np.array([f"the query of number {at:08}" for at in range(300)])
    many = track(
        per_query=values[1:], steps=np.arange(2, 52), beginning=values[0], spread=np.ones(50), qid=ids,
        query_weight=np.ones(300), groups=None, y_true=None, scores=None,
    )  # fmt: skip
    numbers = dataclasses.replace(many, qid=np.arange(300))
    frames = [one.to_frame(kind, per_query=True) for one in (many, numbers)]
    objects = frames[0]["metric"].dtype == object  # pandas before 3 looks into each of them
    del frames
    taken = [peak_memory(lambda one=one: one.to_frame(kind, per_query=True)) for one in (many, numbers)]
    assert taken[0] < 1.5 * taken[1]
    assert taken[0] < {"pandas": 17 if objects else 8, "polars": 3.8}[kind] * values.nbytes


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow"])
def test_a_library_that_is_not_there_is_named_with_its_extra(name, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, name, None)
    extra = "parquet" if name == "pyarrow" else name
    with pytest.raises(ImportError, match=rf"{name} is not installed: pip install 'boostsoft\[{extra}\]'"):
        track().save(tmp_path / "a.parquet") if name == "pyarrow" else track().to_frame(name)
    assert not list(tmp_path.iterdir())
