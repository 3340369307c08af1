"""The HTML of the page's parts. Whatever a user may have named is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from ..tracks.tree_track import TreeTrack, WorstQuery
from ..tracks.words import amount, number, per_cent
from .figures import MetricFigures

_NOTHING = "\N{EN DASH}"


def section(figures: MetricFigures, track: int, shown: bool) -> str:
    """What is said of one metric of one track: the advice and the summary figures."""
    hidden = "" if shown else " hidden"
    return (
        f'<section class="view" data-track="{track}" data-metric="{escape(figures.name)}"{hidden}>\n'
        f'<p class="advice">{escape(figures.advice)}</p>\n'
        f'<dl class="cards">\n{"".join(_cards(figures))}</dl>\n</section>\n'
    )


def worst_section(figures: MetricFigures, track: int, shown: bool) -> str:
    """The worst queries of one metric of one track."""
    hidden = "" if shown else " hidden"
    trees = amount(int(figures.track.steps[-1]), "tree")
    note = f"Left out: {figures.alike_words}, since no order changes them."
    return (
        f'<section class="view queries" data-track="{track}" data-metric="{escape(figures.name)}"{hidden}>\n'
        f"{_query_table('worst', f'Lowest {figures.name} with {trees}', figures.worst, 'none')}"
        f"{_query_table('fallen', 'Largest loss at the last step', figures.fallen, 'no query lost anything')}"
        f'<p class="note">{note if figures.alike else ""}</p>\n</section>\n'
    )


def overview(named: Sequence[tuple[str, Sequence[MetricFigures]]]) -> str:
    """The table of all metrics of all tracks."""
    several = len(named) > 1
    rows = []
    for name, all_figures in named:
        for figures in all_figures:
            cells = [_cell(name, "word")] if several else []
            cells += [_cell(figures.name, "name"), _number_cell(figures.value), _number_cell(figures.value_error)]
            cells += [_cell(text) for text in figures.effect_cells(_NOTHING)]
            cells.append(_cell(figures.advice, "words"))
            rows.append(f"<tr>{''.join(cells)}</tr>\n")
    heads = ["model"] * several + ["metric", "mean", "standard error", "best with", "keep", "hurt", "advice"]
    return _table("overview", "All metrics, with all trees", heads, rows)


def _cards(figures: MetricFigures) -> Iterable[str]:
    trees = amount(int(figures.track.steps[-1]), "tree")
    error = "" if np.isnan(figures.value_error) else f"± {_text(figures.value_error)} over queries"
    yield _card("value", f"With {trees}", figures.value, _text(figures.value), error)
    effects = figures.effects
    if effects is None:
        return
    reach = f"mean {_text(figures.value_at_best)}"
    if effects.queries > 1:  # one alone gives no interval
        reach = f"{effects.best_low:,} to {effects.best_high:,} at {per_cent(effects.level)} %; {reach}"
    yield _card("best", "Best number of trees", effects.best, f"{effects.best:,}", reach)
    given_up = "gives up nothing"
    if effects.keep != effects.best:
        given_up = f"gives up {_text(effects.given_up)} ± {_text(effects.given_up_error)}"
    yield _card("keep", "Keep", effects.keep, f"{effects.keep:,}", given_up)
    chance = f"of {effects.steps.size:,}; by chance alone {effects.by_chance:.2g}"
    yield _card("hurting", "Steps that hurt", effects.hurting.size, f"{effects.hurting.size:,}", chance)


def _card(key: str, title: str, value: float, text: str, more: str) -> str:
    return (
        f'<div class="card"><dt>{escape(title)}</dt>'
        f'<dd><b data-figure="{key}" data-value="{value!r}">{text}</b><span>{escape(more)}</span></dd></div>\n'
    )


def _query_table(kind: str, caption: str, queries: Sequence[WorstQuery], empty: str) -> str:
    rows = [_query_row(query) for query in queries] or [f'<tr><td colspan="4" class="word">{empty}</td></tr>\n']
    return _table(kind, caption, ["query", "documents", "value", "change"], rows)


def _query_row(query: WorstQuery) -> str:
    name = f"#{query.query}" if query.qid is None else str(query.qid)
    documents = _NOTHING if query.n_docs is None else f"{query.n_docs:,}"
    cells = [_cell(name, "word"), _cell(documents), _number_cell(query.value), _number_cell(query.change, sign=True)]
    return f'<tr data-query="{query.query}">{"".join(cells)}</tr>\n'


def _table(kind: str, caption: str, heads: Sequence[str], rows: Sequence[str]) -> str:
    words = ("model", "metric", "query", "advice")  # the others head numbers
    marked = "".join(f'<th scope="col"{" class=word" * (head in words)}>{head}</th>' for head in heads)
    return (
        f'<div class="scroll"><table class="{kind}"><caption>{escape(caption)}</caption>\n'
        f"<thead><tr>{marked}</tr></thead>\n<tbody>\n{''.join(rows)}</tbody></table></div>\n"
    )


def _cell(text: str, kind: str = "") -> str:
    return f"<td{f' class={kind}' if kind else ''}>{escape(text)}</td>"


def _number_cell(value: float, sign: bool = False) -> str:
    direction = " class=loss" if sign and value < 0 else ""
    return f'<td data-value="{value!r}"{direction}>{_text(value, sign)}</td>'


def _text(value: float, sign: bool = False) -> str:
    """The number in the page's signs."""
    if np.isnan(value):
        return _NOTHING
    if np.isinf(value):
        return "∞" if value > 0 else "\N{MINUS SIGN}∞"
    return number(value, sign=sign and value != 0).replace("-", "\N{MINUS SIGN}")


def summary(tracks: Sequence[TreeTrack]) -> str:
    """How much was measured, in words."""
    parts = []
    for what, counts in (
        ("query", {track.n_queries for track in tracks}),
        ("document", {track.groups.n_docs for track in tracks if track.groups is not None}),
        ("tree", {int(track.steps[-1]) for track in tracks}),
        ("step", {track.n_steps for track in tracks}),
    ):
        if counts:
            least = "" if len(counts) == 1 else f"{min(counts):,} to "
            parts.append(least + amount(max(counts), what))
    return " · ".join(parts)


def buttons(kind: str, words: Sequence[tuple[Any, str]], chosen: Any) -> str:
    """A row of buttons of which one is pressed; nothing if there is no choice."""
    if len(words) < 2:
        return ""
    each = "".join(
        f'<button type="button" data-{kind}="{escape(str(value))}" aria-pressed="{str(value == chosen).lower()}">'
        f"{escape(text)}</button>"
        for value, text in words
    )
    return f'<div class="switch" role="group" aria-label="{kind}">{each}</div>\n'
