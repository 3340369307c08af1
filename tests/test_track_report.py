"""The interactive page: every figure is the track's, it needs nothing but itself, and its switches work."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from boostsoft import Metric, SoftMetric, query_means
from boostsoft.drawing import value_range
from boostsoft.query_means import mean_errors
from boostsoft.track_report import html, write_report
from boostsoft.tracks.effects import tree_effects

from .browser import Browser, found_chromium
from .tracked import HARD, SOFT, track_of

pytest.importorskip("plotly", reason="the report needs plotly")

MAP = Metric("map")
MINUS = "\N{MINUS SIGN}"
NASTY = (
    "</script><script>document.title='hurt'</script><img src=x onerror=\"alert('hurt')\"> <b>bold</b> "
    "&amp; $x$ @@DATA@@"
)


class Page(HTMLParser):
    """What a page holds: views (shown or not) with their figures and tables, scripts, and what it would load."""

    def __init__(self, text):
        super().__init__()
        self.views, self.scripts, self.loads, self.tags, self.title, self.pressed = [], [], [], [], "", {}
        self._open, self._row, self._table = None, None, None
        self.tables = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append(tag)
        self._open = (tag, found)
        self.loads += [found[name] for name in ("src", "href") if name in found]
        if "view" in found.get("class", "").split():
            key = (int(found["data-track"]), found["data-metric"], "queries" in found["class"])
            self.views.append({"key": key, "shown": "hidden" not in found, "figures": {}, "advice": "", "tables": {}})
        if tag == "table":
            self._table = []
            where = self.views[-1]["tables"] if found["class"] in ("worst", "fallen") else {}
            where[found["class"]] = self._table
            self.tables.append((found["class"], self._table))
        if tag == "tr":
            self._row = []
            self._table.append((found.get("data-query"), self._row))
        if tag == "td":
            self._row.append([found.get("data-value"), ""])
        if tag == "script":
            self.scripts.append([found, ""])
        if "data-figure" in found:
            self.views[-1]["figures"][found["data-figure"]] = [float(found["data-value"]), ""]
        if tag == "button":
            (kind,) = (name for name in found if name.startswith("data-"))
            self.pressed[kind[5:], found[kind]] = found["aria-pressed"] == "true"

    def handle_endtag(self, tag):
        self._open = None

    def handle_data(self, text):
        if self._open is None:
            return
        tag, found = self._open
        if tag == "script":
            self.scripts[-1][1] += text
        if tag == "title":
            self.title += text
        if tag == "td":
            self._row[-1][1] += text
        if found.get("class") == "advice":
            self.views[-1]["advice"] += text
        if "data-figure" in found:
            self.views[-1]["figures"][found["data-figure"]][1] += text

    def view(self, track, metric, queries=False):
        (found,) = (view for view in self.views if view["key"] == (track, metric, queries))
        return found

    @property
    def data(self):
        (text,) = (text for found, text in self.scripts if found.get("id") == "data")
        return json.loads(text)


def page_of(tracks, folder, **options):
    path = write_report(tracks, folder / "report.html", **options)
    assert path == folder / "report.html"
    return Page(path.read_text(encoding="utf-8"))


def rows(view, kind):
    return [row for _, row in view["tables"][kind] if row]


def assert_queries(view, track, metric, left_out=()):
    """The two tables are the track's own queries, in its order."""
    expected = {
        "worst": [q for q in track.worst_queries(metric=metric, n=99) if q.query not in left_out][:10],
        "fallen": [
            q for q in track.worst_queries(metric=metric, n=99, by="change") if q.query not in left_out and q.change < 0
        ][:10],
    }
    for kind, queries in expected.items():
        found = [(int(key), row) for key, row in view["tables"][kind] if row]
        assert [key for key, _ in found] == [q.query for q in queries]
        for query, (_, row) in zip(queries, found, strict=True):
            assert [row[0][1], row[1][1]] == [str(query.qid), str(query.n_docs)]
            assert (float(row[2][0]), float(row[3][0])) == (query.value, query.change)
            assert row[2][1] == f"{query.value:.4f}"


@pytest.mark.parametrize("n_queries", [1, 2])
def test_one_query_has_no_interval_of_the_best_number_of_trees(n_queries, tmp_path):
    page_of(track_of(20, n_queries=n_queries), tmp_path)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert bool(re.search(r"\d+ to \d+ at 95 %; mean", text)) == (n_queries > 1)
    assert bool(re.search(r"<td>\d+ \(\d+ to \d+\)</td>", text)) == (n_queries > 1)


def test_every_figure_is_the_tracks(tmp_path):
    track = track_of(60, metrics=(HARD, SOFT, MAP), fall=0.003)
    page = page_of(track, tmp_path, title="A page", level=0.9)
    assert page.title == "A page"
    assert len(page.views) == 6
    for i, name in enumerate(track.names):
        effects = tree_effects(track, i, level=0.9)
        view = page.view(0, name)
        figures = {key: value for key, (value, _) in view["figures"].items()}
        assert figures == {
            "value": track.mean[-1, i],
            "best": effects.best,
            "keep": effects.keep,
            "hurting": effects.hurting.size,
        }
        assert view["figures"]["value"][1] == f"{track.mean[-1, i]:.4f}"
        advice = effects.advice.replace("+-", "±")
        assert view["advice"] == f"{advice[0].upper()}{advice[1:]}."
        assert_queries(page.view(0, name, queries=True), track, i)
        (table,) = (rows for kind, rows in page.tables if kind == "overview")
        cells = table[1 + i][1]
        assert cells[0][1] == name
        assert float(cells[1][0]) == track.mean[-1, i]
        assert float(cells[2][0]) == mean_errors(track.per_query[[-1], i], np.ones(30))[0]
        assert cells[3][1] == f"{effects.best} ({effects.best_low} to {effects.best_high})"
        assert cells[5][1] == f"{effects.hurting.size} of 60"


def cards_of(path):
    """By metric, the words below each figure of its cards."""
    sections = re.findall(
        r'data-metric="([^"]*)"[^>]*>\n<p class="advice">(.*?)</section>', path.read_text("utf-8"), re.S
    )
    return {metric: re.findall(r"</b><span>(.*?)</span>", section) for metric, section in sections}


def test_the_words_of_cards_and_table_are_the_tracks(tmp_path):
    track = track_of(60, n_queries=200, metrics=(HARD, SOFT), every=2)
    page = page_of(track, tmp_path, level=0.9)
    cards = cards_of(tmp_path / "report.html")
    (table,) = (found for kind, found in page.tables if kind == "overview")
    for i, name in enumerate(track.names):
        effects, error = tree_effects(track, i, level=0.9), mean_errors(track.per_query[[-1], i], np.ones(200))[0]
        assert effects.keep != effects.best
        assert cards[name] == [
            f"± {error:.4f} over queries",
            f"{effects.best_low} to {effects.best_high} at 90 %; mean {track.mean[:, i].max():.4f}",
            f"gives up {effects.given_up:.4f} ± {effects.given_up_error:.4f}",
            "of 60; by chance alone 3",
        ]
        assert table[1 + i][1][4][1] == str(effects.keep)
        assert table[1 + i][1][5][1] == f"{effects.hurting.size} of 60"
        assert table[1 + i][1][6][1] == page.view(0, name)["advice"]
    text = (tmp_path / "report.html").read_text("utf-8")
    assert f">200 queries · {track.groups.n_docs:,} documents · 120 trees · 60 steps<" in text
    assert f"Lowest {HARD.name} with 120 trees<" in text
    assert "<dt>With 120 trees</dt>" in text
    assert "Left out: " not in text
    changes = [row[3][1][0] for kind in ("worst", "fallen") for row in rows(page.view(0, HARD.name, True), kind)]
    assert set(changes) == {"+", MINUS}
    assert "All intervals are at 90 %" in text


def test_to_keep_the_best_gives_up_nothing(tmp_path):
    values = np.repeat(0.1 * np.arange(4)[:, None, None], 30, axis=2)
    page_of(track_of(3, metrics=(HARD,), per_query=values[1:], beginning=values[0]), tmp_path)
    assert cards_of(tmp_path / "report.html")[HARD.name][2] == "gives up nothing"


def test_the_best_may_be_the_beginning(tmp_path):
    """A continued model whose new trees all hurt."""
    values = np.repeat(0.5 - 0.1 * np.arange(4)[:, None, None], 30, axis=2)
    track = track_of(3, metrics=(HARD,), per_query=values[1:], beginning=values[0], start=7)
    page_of(track, tmp_path)
    assert cards_of(tmp_path / "report.html")[HARD.name][1] == "7 to 7 at 95 %; mean 0.5000"


@pytest.mark.parametrize(
    ("value", "sign", "shown"),
    [
        (-0.5, False, f"{MINUS}0.5000"), (0.5, True, "+0.5000"), (0.0, True, "0.0000"),
        (-2e-6, True, f"{MINUS}2.0e{MINUS}06"),
        (812543.21, True, "+812,543.2"),
        (5e-5, False, "0.0001"), (-np.inf, False, f"{MINUS}∞"), (np.inf, False, "∞"), (np.nan, True, "\N{EN DASH}"),
    ],
)  # fmt: skip
def test_numbers_of_the_page(value, sign, shown):
    assert html._text(value, sign) == shown
    assert ("class=loss" in html._number_cell(value, sign)) == (sign and value < 0)


def test_the_error_of_the_mean_is_weighted(tmp_path):
    weight = np.arange(1.0, 31.0)
    track = track_of(query_weight=weight)
    page_of(track, tmp_path)
    error = mean_errors(track.per_query[[-1], 0], weight)[0]
    assert cards_of(tmp_path / "report.html")[HARD.name][0] == f"± {error:.4f} over queries"


def test_the_queries_are_resampled_once_for_each_metric(tmp_path, monkeypatch):
    drawn = []

    def counted(rng, n_boot, n):
        drawn.append(n_boot)
        return plain(rng, n_boot, n)

    plain = query_means._drawn
    monkeypatch.setattr(query_means, "_drawn", counted)
    track = track_of()
    write_report(track, tmp_path / "report.html")
    assert sum(drawn) == 1000 * track.n_metrics


def test_what_is_drawn_is_the_tracks(tmp_path):
    track = track_of(20, metrics=(MAP, SOFT, HARD), every=5)
    data = page_of(track, tmp_path).data
    (found,) = data["tracks"]
    assert found["steps"] == track.steps.tolist()
    assert list(found["metrics"]) == list(track.names)
    for i, metric in enumerate(found["metrics"].values()):
        effects = tree_effects(track, i)
        assert metric["mean"] == track.mean[:, i].tolist()
        assert metric["best"] == track.mean[:, i].argmax()
        np.testing.assert_allclose(metric["bands"]["mean"], [end[:, i] for end in track.band()], rtol=1e-12)
        paired = np.array(metric["bands"]["paired"])
        np.testing.assert_allclose(paired[:, metric["best"]], metric["mean"][metric["best"]])
        assert np.all(paired[0] <= paired[1])
        for name in ("change", "error", "low", "high"):
            assert metric["effects"][name] == getattr(effects, name).tolist()
        assert metric["effects"]["kinds"].count("hurts") == effects.hurting.size
        low, high = metric["effects"]["range"]  # two of the first steps lie beyond
        assert low < 0 < high < 2 * effects.high[2]
        assert np.mean((effects.low >= low) & (effects.high <= high)) >= 0.9
    assert found["metrics"]["ndcg_gaussian@10"]["hard"] == track.mean[:, 2].tolist()
    assert found["metrics"]["map"]["hard"] is None
    for metric in found["metrics"].values():  # the picture reaches what is drawn in it
        hard = [metric["hard"]] if metric["hard"] else []
        for kind, bands in (*metric["bands"].items(), ("none", [])):
            assert metric["ranges"][kind] == list(value_range(list(map(np.array, [metric["mean"], *hard, *bands]))))


def test_bands_are_of_the_level(tmp_path):
    track = track_of(10)
    (found,) = page_of(track, tmp_path, level=0.5).data["tracks"]
    np.testing.assert_allclose(found["metrics"][HARD.name]["bands"]["mean"], [end[:, 0] for end in track.band(0.5)])


def test_the_first_soft_metric_is_shown_first(tmp_path):
    page = page_of(track_of(metrics=(MAP, SOFT, HARD)), tmp_path)
    assert [view["key"][1] for view in page.views if view["shown"]] == ["ndcg_gaussian@10"] * 2
    pressed = [value for (kind, value), down in page.pressed.items() if kind == "metric" and down]
    assert pressed == ["ndcg_gaussian@10"]
    assert [value for kind, value in page.pressed if kind == "metric"] == ["map", "ndcg_gaussian@10", "ndcg@10"]
    assert [value for (kind, value), down in page.pressed.items() if kind == "band" and down] == ["paired"]
    (table,) = (found for kind, found in page.tables if kind == "overview")
    assert [len(row) for _, row in table[1:]] == [7] * 3
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert text.count('<th scope="col" class=word>model</th>') == 0  # of one track nothing is said of which
    assert not [value for kind, value in page.pressed if kind == "track"]


def test_the_page_is_whole_and_needs_nothing_else(tmp_path):
    path = write_report(track_of(), tmp_path / "deep" / "report.html")
    page = Page(path.read_text(encoding="utf-8"))
    assert page.loads == ["data:,"]  # no icon is asked for
    assert [found for found, _ in page.scripts] == [{"type": "application/json", "id": "data"}, {}, {}]
    assert len(page.scripts[1][1]) > 1_000_000  # Plotly itself
    assert not {"iframe", "object", "embed", "base"} & set(page.tags)
    text = path.read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    assert "@import" not in text.partition("</style>")[0]
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]


def test_names_are_shown_as_they_are(tmp_path):
    qid = np.array([f"<b>{i}</b>&\"'" for i in range(30)])
    metrics = (Metric("ndcg@10", name='<i>"x"&\''), SOFT)
    track = track_of(metrics=metrics, label=NASTY, qid=qid)
    page = page_of([track, track_of(label="other", metrics=metrics)], tmp_path, title=NASTY)
    plain = page_of([track_of(metrics=(HARD, SOFT)), track_of(label="other")], tmp_path)
    assert page.title == NASTY
    assert sorted(page.tags) == sorted(plain.tags)  # the names made no elements
    assert page.data["tracks"][0]["name"] == NASTY
    assert page.view(0, metrics[0].name)["shown"] is False
    assert rows(page.view(0, metrics[0].name, queries=True), "worst")[0][0][1] in qid
    (raw,) = (text for found, text in page.scripts if found.get("id") == "data")
    assert not set("<>&") & set(raw)


def test_a_name_that_is_no_unicode_is_written_out(tmp_path):
    page = page_of(track_of(label="a\udcff"), tmp_path)
    assert page.title == "a\\udcff"


def test_queries_that_no_order_changes_are_left_out(tmp_path):
    track = track_of()
    labels = track.y_true.copy()
    alike = [query.query for query in track.worst_queries(n=4)]
    for query in alike:
        begin, end = track.groups.offsets[query : query + 2]
        labels[begin:end] = query % 2
    page = page_of(track_of(y_true=labels), tmp_path)
    assert_queries(page.view(0, HARD.name, queries=True), track, 0, left_out=alike)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Left out: 4 queries with documents of one label only" in text


def test_a_query_may_be_called_0(tmp_path):
    page = page_of(track_of(n_queries=3, qid=np.arange(3)), tmp_path)
    assert {row[0][1] for row in rows(page.view(0, HARD.name, queries=True), "worst")} == {"0", "1", "2"}


def test_the_steps_of_a_continued_model_may_be_of_one_tree(tmp_path):
    """They count from where it began."""
    for start, every, single in ((7, 1, True), (0, 1, True), (7, 2, False)):
        (found,) = page_of(track_of(10, start=start, every=every), tmp_path).data["tracks"]
        assert found["treeByTree"] == single


def test_a_track_without_documents_or_ids(tmp_path):
    page = page_of(track_of(groups=None, y_true=None, scores=None, qid=None), tmp_path)
    (name, _), (documents, _) = (
        (cell[1], cell[0]) for cell in rows(page.view(0, HARD.name, queries=True), "worst")[0][:2]
    )
    assert re.fullmatch(r"#\d+", name)
    assert documents == "\N{EN DASH}"
    assert "Left out: " not in write_report(track_of(y_true=None), tmp_path / "report.html").read_text("utf-8")


def test_nothing_lost_is_said(tmp_path):
    values = np.full((3, 1, 30), 0.5)
    page = page_of(track_of(3, metrics=(HARD,), per_query=values, beginning=values[0]), tmp_path)
    assert rows(page.view(0, HARD.name, queries=True), "fallen")[0][0][1] == "no query lost anything"
    values[2] -= 3e-14  # a tree without a split moves all scores of a query alike, and rounds
    page = page_of(track_of(3, metrics=(HARD,), per_query=values, beginning=values[0]), tmp_path)
    assert rows(page.view(0, HARD.name, queries=True), "fallen")[0][0][1] == "no query lost anything"


@pytest.mark.parametrize(
    ("value", "shown", "reason"),
    [(np.inf, "∞", "must be finite"), (np.nan, "\N{EN DASH}", "must count a query")],
)
def test_a_metric_without_effects_says_why(tmp_path, value, shown, reason):
    values = track_of().per_query.copy()
    values[:, 0] = value
    beginning = np.where(np.arange(2)[:, None] == 0, value, 0.5) * np.ones((2, 30))
    page = page_of(track_of(per_query=values, beginning=beginning), tmp_path)
    view = page.view(0, HARD.name)
    assert view["advice"].startswith("No advice: ")
    assert reason in view["advice"]
    assert view["figures"]["value"][1] == shown
    assert list(view["figures"]) == ["value"]
    found = page.data["tracks"][0]["metrics"]
    assert found[HARD.name]["effects"] is None
    assert found[HARD.name]["mean"] == [None] * 40
    assert found[SOFT.name]["effects"] is not None


def test_one_query_has_no_intervals(tmp_path):
    page = page_of(track_of(n_queries=1), tmp_path)
    assert set(page.data["tracks"][0]["metrics"][SOFT.name]["effects"]["low"]) == {None}


def test_tracks_with_other_metrics_share_a_page(tmp_path):
    tracks = [track_of(label="a"), track_of(25, metrics=(HARD, MAP), seed=1, label="b")]
    page = page_of(tracks, tmp_path)
    assert page.title == "What each tree adds"
    assert [value for kind, value in page.pressed if kind == "metric"] == ["ndcg@10", "ndcg_gaussian@10", "map"]
    assert page.view(1, "map")["figures"]["value"][0] == tracks[1].mean[-1, 1]
    (table,) = (rows for kind, rows in page.tables if kind == "overview")
    assert [row[0][1] for _, row in table[1:]] == ["a", "a", "b", "b"]
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "25 to 40 trees" in text
    assert [view["key"] for view in page.views if view["shown"]] == [(0, SOFT.name, False), (0, SOFT.name, True)]


def test_tracks_of_one_label_are_told_apart(tmp_path):
    page = page_of([track_of(), track_of(seed=1)], tmp_path)
    names = [track["name"] for track in page.data["tracks"]]
    assert names == ["rising (1)", "rising (2)"]
    assert [view["key"][:2] for view in page.views if view["shown"]] == [(0, SOFT.name)] * 2


# ---------------------------------------------------------------------------------------------------------
# Files and errors
# ---------------------------------------------------------------------------------------------------------


def test_the_page_is_there_whole_or_not_at_all(tmp_path, monkeypatch):
    def fails(*_):
        raise KeyboardInterrupt

    (tmp_path / "report.html").write_text("old")
    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(KeyboardInterrupt):
        write_report(track_of(), tmp_path / "report.html")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"report.html": "old"}


@pytest.mark.parametrize("kind", [str, Path])
def test_a_page_may_lie_at_home(tmp_path, monkeypatch, kind):
    """As missing folders are made, one called ~ would be."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert write_report(track_of(), kind("~/pages/report.html")) == tmp_path / "pages" / "report.html"
    assert (tmp_path / "pages" / "report.html").is_file()


def test_without_plotly_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.delitem(sys.modules, "plotly.offline", raising=False)
    with pytest.raises(ImportError, match=r"^write_report: plotly is not installed: pip install 'boostsoft\[report\]'"):
        write_report(track_of(), tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3, "x.html", {}), TypeError, r"^write_report: tracks must be a TreeTrack or a sequence of them"),
        (([], "x.html", {}), TypeError, r"^write_report: tracks must be"),
        ((track_of(), 5, {}), TypeError, r"^write_report: path must be a path; got 5$"),
        ((track_of(), ".", {}), ValueError, r"^write_report: path must be a file; got the folder \.$"),
        ((track_of(), "x.html", {"level": 1.5}), ValueError, r"^write_report: level must be below 1; got 1\.5$"),
        ((track_of(), "x.html", {"title": 5}), TypeError, r"^write_report: title must be a str; got int$"),
    ],
)
def test_bad_input(tmp_path, monkeypatch, arguments, error, message):
    monkeypatch.chdir(tmp_path)
    *given, options = arguments
    with pytest.raises(error, match=message):
        write_report(*given, **options)
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------------------------------------------------
# In a browser
# ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    opened = Browser(found_chromium(), tmp_path_factory.mktemp("profile"))
    opened.report = tmp_path_factory.mktemp("report") / "report.html"
    yield opened
    opened.close()


def open_report(browser, tracks):
    """Write a report and open it: all at one address, and Plotly in the same line of each.

    Only then does the browser know the script again: to compile it takes longer than all the rest.
    """
    before, script, behind = write_report(tracks, browser.report).read_bytes().partition(b"\n<script>")
    assert script
    blank = b"\n" * (10_000 - before.count(b"\n"))
    browser.report.write_bytes(before + blank + script + behind)
    browser.open(browser.report)


SHOWN = """
JSON.stringify([...document.querySelectorAll(".view")].filter(e => e.offsetHeight > 0).map(e => ({
    track: Number(e.dataset.track), metric: e.dataset.metric, text: e.innerText,
    figures: Object.fromEntries([...e.querySelectorAll("[data-figure]")].map(
        f => [f.dataset.figure, [Number(f.dataset.value), f.innerText]])),
    queries: [...e.querySelectorAll("table.worst tbody tr")].map(r => [...r.cells].map(c => c.innerText)),
})))
"""
DRAWN = """
JSON.stringify(document.getElementById("plot")._fullData.filter(t => t.visible === true).map(t => ({
    axis: t.yaxis, name: t.name, mode: t.mode, legend: t.showlegend, x: [...t.x], y: [...t.y],
    fill: t.fill || "none", bars: t.error_y && t.error_y.visible ? t.error_y.array.length : 0,
})))
"""


def shown(browser):
    """What a reader sees: the views that are visible, with their figures."""
    return json.loads(browser.ask(SHOWN))


def drawn(browser):
    """What Plotly drew: x and y of each trace, and the axis that it is on."""
    return json.loads(browser.ask(DRAWN))


def wait_for(browser, *state):
    browser.wait(f"document.getElementById('plot').dataset.drawn === {json.dumps(' '.join(state))}")


def assert_shows(browser, track, metric, number=0):
    """Figures, queries and picture are those of one metric of one track."""
    i = track.index(metric)
    effects = tree_effects(track, i)
    figures, queries = shown(browser)
    assert (figures["track"], figures["metric"]) == (queries["track"], queries["metric"]) == (number, metric)
    assert figures["figures"] == {
        "value": [track.mean[-1, i], f"{track.mean[-1, i]:.4f}"],
        "best": [effects.best, str(effects.best)],
        "keep": [effects.keep, str(effects.keep)],
        "hurting": [effects.hurting.size, str(effects.hurting.size)],
    }
    assert effects.advice[1:].replace("+-", "±") in figures["text"]
    worst = track.worst_queries(metric=i)
    assert [row[:3] for row in queries["queries"]] == [[str(q.qid), str(q.n_docs), f"{q.value:.4f}"] for q in worst]

    traces = drawn(browser)
    curves = [trace["y"] for trace in traces if trace["axis"] == "y"]
    assert track.mean[:, i].tolist() in curves
    points = {}
    for trace in traces:
        if trace["axis"] == "y2":
            assert trace["bars"] in (0, len(trace["x"]))
            points |= dict(zip(trace["x"], trace["y"], strict=True))
    points.pop(None, None)
    assert points == dict(zip(track.steps.tolist(), effects.change.tolist(), strict=True))
    assert browser.errors == []


def test_the_metric_switch_changes_figures_queries_and_picture(browser):
    track = track_of(metrics=(HARD, SOFT, MAP), fall=0.003)
    open_report(browser, track)
    wait_for(browser, "0", SOFT.name, "paired")
    assert_shows(browser, track, SOFT.name)
    for metric in (MAP.name, HARD.name, SOFT.name):
        browser.click(f"button[data-metric='{metric}']")
        wait_for(browser, "0", metric, "paired")
        assert_shows(browser, track, metric)
        pressed = browser.ask("[...document.querySelectorAll('[aria-pressed=true]')].map(b => b.innerText).join()")
        assert pressed == f"{metric},difference from the best"
    assert browser.ask("performance.getEntriesByType('resource').length") == 0  # nothing was loaded


def test_the_band_switch(browser):
    track = track_of()
    open_report(browser, track)
    for kind, n_fills in (("mean", 1), ("none", 0), ("paired", 1)):
        browser.click(f"button[data-band='{kind}']")
        wait_for(browser, "0", SOFT.name, kind)
        fills = [trace for trace in drawn(browser) if trace["fill"] == "tonexty"]
        assert len(fills) == n_fills
        if kind == "mean":
            np.testing.assert_allclose(fills[0]["y"], track.band()[1][:, 1], rtol=1e-12)
    assert browser.errors == []


def test_the_track_switch(browser):
    tracks = [track_of(label="one"), track_of(25, metrics=(HARD, MAP), seed=1, fall=0.01, label="two")]
    open_report(browser, tracks)
    wait_for(browser, "0", SOFT.name, "paired")
    assert_shows(browser, tracks[0], SOFT.name)
    browser.click("button[data-track='1']")  # which has no soft metric
    wait_for(browser, "1", HARD.name, "paired")
    assert_shows(browser, tracks[1], HARD.name, 1)
    lines = [trace for trace in drawn(browser) if trace["axis"] == "y" and trace["legend"]]
    assert [trace["name"] for trace in lines] == ["one", "two"]
    assert browser.ask(f"document.querySelector(\"button[data-metric='{SOFT.name}']\").disabled")


BOXES = """
JSON.stringify(["#plot .legend", "#plot .modebar", "#plot .nsewdrag[data-subplot=xy]", "figcaption"].map(s => {
    const box = document.querySelector(s).getBoundingClientRect();
    return [box.top, box.bottom];
}))
"""


@pytest.mark.parametrize("n_tracks", [2, 9, 30])
def test_many_names_leave_the_curves_their_room(browser, n_tracks):
    tracks = [track_of(10, seed=i, label=f"model {i} trained on the clicks of week {i}") for i in range(n_tracks)]
    open_report(browser, tracks)
    for metric in (SOFT.name, HARD.name):  # drawn for the first time, and anew; without bands, which would hide curves
        browser.click(f"button[data-metric='{metric}']")
        wait_for(browser, "0", metric, "paired" if n_tracks <= 3 else "none")
        legend, buttons, curves, caption = json.loads(browser.ask(BOXES))
        assert buttons[1] <= legend[0] < legend[1] <= curves[0]
        assert curves[1] - curves[0] > 240
        assert curves[1] < caption[0]
    assert browser.errors == []


def test_names_of_metrics_are_not_broken(browser):
    label = "a model that was trained on the clicks of some weeks"
    open_report(browser, [track_of(label=label), track_of(label=label)])
    wait_for(browser, "0", SOFT.name, "paired")
    lines = """[...document.querySelectorAll("table.overview td:nth-child(2)")].map(e => {
        const range = document.createRange();
        range.selectNodeContents(e);
        return range.getClientRects().length;
    }).join()"""
    assert browser.ask(lines) == "1,1,1,1"


def test_hovering_tells_the_figures(browser):
    track = track_of()
    open_report(browser, track)
    wait_for(browser, "0", SOFT.name, "paired")
    browser.point("#plot .xy .drag, #plot .nsewdrag", 0.5, 0.5)
    browser.wait("document.querySelectorAll('.hoverlayer text').length > 1")
    told = browser.ask("[...document.querySelectorAll('.hoverlayer text')].map(e => e.textContent).join('|')")
    trees = int(re.match(r"(\d+)( trees)?\|", told)[1])
    assert 10 < trees < 30
    assert f"ndcg@10 : {track.mean[trees - 1, 0]:.4f}" in told
    assert f"ndcg_gaussian@10 : {track.mean[trees - 1, 1]:.4f}  [" in told


def told_at(browser, trees, panel):
    """What a mouse over so many trees in a panel is told."""
    heading = f"tree {trees}" if panel == "x2y2" else f"{trees} trees"
    told = "[...document.querySelectorAll('.hoverlayer text')].map(e => e.textContent).join('|')"
    browser.ask(f"Plotly.Fx.hover(document.getElementById('plot'), {{xval: {trees}}}, ['{panel}'])")
    browser.wait(f"{told}.startsWith('{heading}|')")  # it answers so many times a second
    return browser.ask(told).replace(MINUS, "-")


@pytest.mark.parametrize(("unit", "value", "change"), [(1e6, ",.0f", "+,.0f"), (1e-5, ".3e", "+.4e")])
def test_hovering_tells_the_digits_that_say_something(browser, unit, value, change):
    track = track_of(metrics=(HARD,))
    track = replace(track, per_query=unit * track.per_query, beginning=unit * track.beginning)
    open_report(browser, track)
    wait_for(browser, "0", HARD.name, "paired")
    assert f"ndcg@10 : {track.mean[9, 0]:{value}}  [" in re.sub(r"e-0?(\d)\b", r"e-0\1", told_at(browser, 10, "xy"))
    moved = f"change : {track.mean[9, 0] - track.mean[8, 0]:{change}} ±"
    assert moved in re.sub(r"e-0?(\d)\b", r"e-0\1", told_at(browser, 10, "x2y2"))


@pytest.mark.parametrize("n_steps", [40, 400])
def test_hovering_tells_the_change_of_the_tree_under_the_mouse_alone(browser, n_steps):
    """And not of the nearest one that helps, of the nearest that hurts and of the nearest of neither kind."""
    track = track_of(n_steps, fall=0.003)
    effects = tree_effects(track, SOFT.name)
    open_report(browser, track)
    wait_for(browser, "0", SOFT.name, "paired")
    for trees in (3, n_steps // 2, n_steps // 2 + 1, n_steps - 1):
        change, error, low, high = (getattr(effects, name)[trees - 1] for name in ("change", "error", "low", "high"))
        numbers = f"change : {change:+.5f} ± {error:.5f}  [{low:+.5f}, {high:+.5f}]"
        assert told_at(browser, trees, "x2y2").split("|")[1:] == [numbers]


def test_hovering_over_several_tracks_tells_of_which_trees_a_value_is(browser):
    tracks = [track_of(300, label="each"), track_of(30, every=10, seed=1, label="tenth"), track_of(200, label="short")]
    open_report(browser, tracks)
    wait_for(browser, "0", SOFT.name, "paired")
    for trees, steps in ((156, (156, 160, 156)), (203, (203, 200, 200))):
        told = told_at(browser, trees, "xy")
        for track, step in zip(tracks, steps, strict=True):
            value = track.mean[track.steps.tolist().index(step), 1]
            assert f"{track.label} : {value:.4f} with {step} trees  [" in told
    open_report(browser, tracks[:1])
    wait_for(browser, "0", SOFT.name, "paired")
    assert " with " not in told_at(browser, 156, "xy")


def test_hovering_tells_no_error_that_is_not_known(browser):
    track = track_of(20, n_queries=1)
    open_report(browser, track)
    wait_for(browser, "0", SOFT.name, "paired")
    change = f"{tree_effects(track, SOFT.name).change[7]:+.5f}"
    assert told_at(browser, 8, "x2y2").split("|")[1:] == [f"change : {change}"]
    assert f"{SOFT.name} : {track.mean[7, 1]:.4f}" in told_at(browser, 8, "xy").split("|")


def test_the_change_of_several_trees_is_not_called_that_of_one(browser):
    open_report(browser, [track_of(), track_of(every=5)])
    for number, words in enumerate(["tree %{x:,d}", "step to %{x:,d} trees"]):
        browser.click(f"button[data-track='{number}']")
        wait_for(browser, str(number), SOFT.name, "paired")
        heading = "document.getElementById('plot').layout.xaxis2.unifiedhovertitle.text"  # as asked: Plotly 5 has none
        assert browser.ask(heading) == words


def test_dragging_zooms_both_panels(browser):
    open_report(browser, track_of())
    wait_for(browser, "0", SOFT.name, "paired")
    start = browser.point("#plot .nsewdrag", 0.25, 0.5)
    browser.send("Input.dispatchMouseEvent", type="mousePressed", button="left", clickCount=1, **start)
    end = browser.point("#plot .nsewdrag", 0.5, 0.5)
    browser.send("Input.dispatchMouseEvent", type="mouseReleased", button="left", clickCount=1, **end)
    browser.wait("document.getElementById('plot')._fullLayout.xaxis.range[0] > 5")
    ranges = browser.ask("['xaxis', 'xaxis2'].map(a => document.getElementById('plot')._fullLayout[a].range.join())")
    assert ranges[0] == ranges[1]
    assert browser.errors == []


def test_nasty_names_do_nothing(browser):
    qid = np.array([NASTY] * 30)
    metrics = (Metric("ndcg@10", name="<img/src=x/onerror=alert(1)>"), SOFT)
    open_report(browser, [track_of(label=NASTY, qid=qid, metrics=metrics), track_of()])
    wait_for(browser, "0", SOFT.name, "paired")
    browser.click("button[data-metric^='<img']")
    wait_for(browser, "0", metrics[0].name, "paired")
    assert browser.ask("document.images.length") == 0
    legend = browser.ask("[...document.querySelectorAll('.legendtext')].map(e => e.textContent).join('|')")
    assert " ".join(NASTY.split()) in " ".join(legend.split())
    assert browser.ask("document.title").startswith("What each tree adds")
    assert shown(browser)[1]["queries"][0][0] == " ".join(NASTY.split())
    assert browser.errors == []


@pytest.mark.parametrize("n_steps", [1, 2000])
def test_few_and_many_steps(browser, n_steps):
    track = track_of(n_steps)
    open_report(browser, track)
    wait_for(browser, "0", SOFT.name, "paired")
    found = drawn(browser)
    modes = {trace["mode"] for trace in found if trace["name"] in (HARD.name, SOFT.name)}
    assert modes == {"lines+markers" if n_steps == 1 else "lines"}  # one point is no line
    assert sum(trace["axis"] == "y2" and trace["fill"] == "tonexty" for trace in found) == (n_steps == 2000)
    assert_many = sum(len(trace["x"]) for trace in found if trace["axis"] == "y2" and trace["mode"] == "markers")
    assert assert_many >= n_steps
    assert browser.errors == []


def test_a_metric_without_effects_is_shown_all_the_same(browser):
    values = np.full((40, 2, 30), np.inf)
    open_report(browser, track_of(per_query=values))
    wait_for(browser, "0", SOFT.name, "paired")
    assert "No advice" in shown(browser)[0]["text"]
    assert browser.errors == []


def test_soft_metrics_of_other_noise(tmp_path):
    other = SoftMetric("ndcg@10", noise="gumbel", sigma=0.2, sigma_unit="spread")
    data = page_of(track_of(metrics=(HARD, SOFT, other)), tmp_path).data
    assert data["chosen"] == SOFT.name
    assert data["tracks"][0]["metrics"]["ndcg_gumbel@10"]["hardName"] == "ndcg@10"
