"""Sections as Markdown, as tables in a terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from ..commands.terminal import Field, ResultTable
from ..json_text import json_text
from .peers import Peers
from .results import Column, Section, cell_text

_LEFT = ("text", "targets")
_HEADER = (
    "Medians with their quartiles in square brackets, over rounds in which all contenders took turns in one process. "
    "A figure is held against its target where one is set."
)


def markdown(machine: str, peers: str, sections: Sequence[Section]) -> str:
    """The whole report: a heading, the machine, and a table for each section."""
    parts = ["# boostsoft bench", f"{machine}.\n\nPeers: {peers}.", _HEADER, summary(sections)]
    return "\n\n".join([*parts, *(section_markdown(section) for section in sections)]) + "\n"


def section_markdown(section: Section) -> str:
    """A heading, what the figures mean, the table, and what was left out."""
    columns = section.columns
    heads = " | ".join(column.heading for column in columns)
    rules = " | ".join("---" if column.unit in _LEFT else "---:" for column in columns)
    rows = [" | ".join(_cells(section, row)) for row in section.rows]
    table = "\n".join(f"| {line} |" for line in (heads, rules, *rows))
    left = [_left_out(section)] if section.left_out else []
    return "\n\n".join([f"## {section.title}", section.note, table, *left])


def section_table(section: Section) -> RenderableType:
    """The section for a terminal."""
    labels = [column.heading for column in takewhile(lambda column: column.unit == "text", section.columns)]
    table = ResultTable(labels, [_field(column) for column in section.columns[len(labels) :]])
    for row in section.rows:
        table.add_row(*_cells(section, row))
    left = [Text(_left_out(section) + "\n")] if section.left_out else []
    return Group(Text(section.title, style="bold"), Text(section.note, style="italic"), table, *left)


def _field(column: Column) -> Field:
    """Targets are prose, which may be broken, but not into a letter per line."""
    return Field(
        column.heading,
        "left" if column.unit in _LEFT else "right",
        24 if column.unit == "targets" else None,
    )


def summary(sections: Sequence[Section]) -> str:
    """How many targets are met; wishes apart.

    >>> summary([])
    'No target was measured.'
    """
    verdicts = [verdict for section in sections for verdict in section.verdicts]
    counted = [verdict for verdict in verdicts if not verdict.wish]
    wishes = [verdict for verdict in verdicts if verdict.wish]
    if not counted:
        return "No target was measured."
    text = f"Targets met: {sum(v.met for v in counted)} of {len(counted)}"
    return text + (f"; wishes: {sum(v.met for v in wishes)} of {len(wishes)}." if wishes else ".")


def as_json(machine: Mapping[str, Any], peers: Peers, settings: Mapping[str, Any], sections: Sequence[Section]) -> str:
    """All of it for programs: medians, quartiles, verdicts, and the raw seconds of every round."""
    document = {
        "machine": machine,
        "peers": {"versions": peers.versions, "left_out": peers.missing},
        "settings": settings,
        "sections": [_section_json(section) for section in sections],
    }
    return json_text(document)


def _section_json(section: Section) -> dict[str, Any]:
    seconds = {} if section.rounds is None else section.rounds.seconds
    return {
        "key": section.key,
        "title": section.title,
        "note": section.note,
        "units": {column.key: column.unit for column in section.columns},
        "rows": section.rows,
        "seconds": {name: values.tolist() for name, values in seconds.items()},
        "left_out": section.left_out,
    }


def _cells(section: Section, row: Mapping[str, Any]) -> list[str]:
    return [cell_text(row.get(column.key), column.unit) for column in section.columns]


def _left_out(section: Section) -> str:
    return "Left out: " + "; ".join(f"{name} ({why})" for name, why in section.left_out.items()) + "."
