"""Tables as text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lines of aligned columns, the first to the left and numbers to the right.

    >>> print(text_table(["metric", "mean"], [["map", "0.5"], ["ndcg@10", ".25"]]))
    metric   mean
    map       0.5
    ndcg@10   .25
    """
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for cells in (head, *rows):
        first, *others = (
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        lines.append("  ".join([first, *others]).rstrip())
    return "\n".join(lines)


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """The same as an HTML table, with lines of text below it.

    >>> html_table(["a<b"], [["1"]], [])
    '<table><thead><tr><th>a&lt;b</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>'
    """
    headings = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return f"<table><thead><tr>{headings}</tr></thead><tbody>{body}</tbody></table>{below}"


def chance(value: float) -> str:
    """A p-value.

    >>> chance(0.0312), chance(0.00001), chance(float("nan"))
    ('0.031', '1.0e-05', '-')
    """
    return "-" if np.isnan(value) else f"{value:.3f}" if value >= 0.001 else f"{value:.1e}"


def share(value: float) -> str:
    """A share in per cent.

    >>> share(0.987), share(float("nan"))
    ('99%', '-')
    """
    return "-" if np.isnan(value) else f"{value:.0%}"


def count(value: float) -> str:
    """A whole number that may be infinite or unknown.

    >>> count(1234.0), count(float("inf")), count(float("nan"))
    ('1,234', 'inf', '-')
    """
    return "-" if np.isnan(value) else "inf" if np.isinf(value) else f"{value:,.0f}"
