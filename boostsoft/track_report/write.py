"""Put the page together and write it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..arguments import PathLike, as_path, fraction, of_type
from ..atomic import write_files
from ..extras import optional
from ..track_plots.changes import COLOURS, tree_by_tree
from ..track_plots.curves import MOST_BANDS
from ..track_plots.labels import PALETTE, Tracks, as_tracks, track_names
from ..tracks.checks import first_soft
from ..tracks.tree_track import TreeTrack
from ..tracks.words import per_cent
from . import html
from .figures import MetricFigures, metric_figures

CALLER = "write_report"
_BANDS = (("paired", "difference from the best"), ("mean", "mean over queries"), ("none", "none"))


def write_report(tracks: Tracks, path: PathLike, *, title: str | None = None, level: float = 0.95) -> Path:
    """Write one interactive page on what each tree adds.

    The page holds a curve with its band and the change by tree with error bars, to hover over and to zoom into; how
    many trees to keep; summary figures; and the queries that do worst. Buttons switch between metrics, tracks and
    bands. It needs nothing but itself: Plotly's script is in it, which makes it 5 MB.

    Parameters
    ----------
    tracks : TreeTrack or sequence of TreeTrack
        What to show; each is called by its ``label``.
    path : str or path
        The file, written whole or not at all; missing folders are made.
    title : str, optional
        Heading of the page; by default the label of a single track.
    level : float
        Confidence of bands and intervals, in (0, 1).

    Returns
    -------
    Path
        Where the page is.

    Raises
    ------
    ImportError
        If Plotly is not installed: ``pip install 'boostsoft[report]'``.
    TypeError
        If ``tracks`` holds something else, ``path`` is none, or ``title`` is no text.
    ValueError
        If ``path`` is a folder, or ``level`` out of range.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from boostsoft import Metric, TreeTrack
    >>> from boostsoft.track_report import write_report
    >>> track = TreeTrack(
    ...     metrics=(Metric("ndcg@10"),), steps=np.array([1, 2]), per_query=np.array([[[0.5, 0.75]], [[0.625, 1]]]),
    ...     beginning=np.array([[0.5, 0.5]]), start=0, query_weight=np.ones(2), spread=np.ones(2), groups=None,
    ...     y_true=None, scores=None, qid=None)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(track, f"{folder}/report.html").name
    'report.html'
    """
    found, target = as_tracks(CALLER, tracks), as_path(CALLER, "path", path)
    fraction(CALLER, "level", level)
    if title is not None:
        of_type(CALLER, "title", title, str)
    if target.is_dir():
        raise ValueError(f"{CALLER}: path must be a file; got the folder {target}")
    script = optional(CALLER, "plotly.offline", "report").get_plotlyjs()
    page = _page(found, title or (found[0].label if len(found) == 1 else "") or "What each tree adds", level, script)
    write_files(target.parent, {target.name: page.encode(errors="backslashreplace")})
    return target


def _page(tracks: Sequence[TreeTrack], title: str, level: float, script: str) -> str:
    measured = [[metric_figures(track, i, level) for i in range(track.n_metrics)] for track in tracks]
    named = list(zip(track_names(tracks), measured, strict=True))
    metrics = list(dict.fromkeys(figures.name for _, all_figures in named for figures in all_figures))
    chosen = tracks[0].names[first_soft(tracks[0].metrics)]
    parts = {
        "TITLE": escape(title),
        "SUMMARY": escape(html.summary(tracks)),
        "METRICS": html.buttons("metric", [(name, name) for name in metrics], chosen),
        "TRACKS": html.buttons("track", [(i, name) for i, (name, _) in enumerate(named)], 0),
        "BANDS": html.buttons("band", _BANDS, "paired" if len(tracks) <= MOST_BANDS else "none"),
        "SECTIONS": _sections(html.section, named, chosen),
        "QUERIES": _sections(html.worst_section, named, chosen),
        "OVERVIEW": html.overview(named),
        "LEVEL": per_cent(level),
        "STYLE": _text("page.css"),
        "DATA": _json(_data(named, chosen, level)),
        "PLOTLY": script,
        "SCRIPT": _text("page.js"),
    }
    page = _text("page.html").split("@@")  # every other piece is a name
    return "".join(parts[piece] if i % 2 else piece for i, piece in enumerate(page))


def _sections(make: Any, named: Sequence[tuple[str, Sequence[MetricFigures]]], chosen: str) -> str:
    return "".join(
        make(figures, track, shown=track == 0 and figures.name == chosen)
        for track, (_, all_figures) in enumerate(named)
        for figures in all_figures
    )


def _data(named: Sequence[tuple[str, Sequence[MetricFigures]]], chosen: str, level: float) -> dict[str, Any]:
    return {
        "chosen": chosen,
        "palette": PALETTE,
        "kinds": COLOURS,
        "tracks": [
            {
                "name": name,
                "steps": all_figures[0].track.steps.tolist(),
                "treeByTree": tree_by_tree(all_figures[0].track.start, all_figures[0].track.steps),
                "metrics": {figures.name: figures.plotted(level) for figures in all_figures},
            }
            for name, all_figures in named
        ],
    }


def _json(data: Any) -> str:
    """JSON that ends no script element early and starts no comment."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _text(name: str) -> str:
    return files(__package__ or "").joinpath(name).read_text(encoding="utf-8")
