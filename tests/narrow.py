"""What is shown on terminals of any width, and the numbers in it."""

from __future__ import annotations

import io
import re
from collections import Counter

from rich.console import Console

WIDTHS = (80, 60, 40)


def on_a_terminal(monkeypatch, width):
    """Make the standard output a terminal of so many columns to Rich, without colours."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("LINES", "50")


def text_of(shown, width=80):
    """What a console of so many columns shows."""
    stream = io.StringIO()
    Console(file=stream, width=width).print(shown)
    return stream.getvalue()


def assert_no_number_is_cut(narrow, wide, width):
    """All numbers of the wide text are in the narrow one, as often at least, and no line is too long."""
    narrow = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", narrow)
    assert "\N{HORIZONTAL ELLIPSIS}" not in narrow
    assert max(map(len, narrow.splitlines())) <= width
    assert not numbers_of(wide) - numbers_of(narrow)


def numbers_of(text):
    return Counter(re.findall(r"[+-]?[0-9][0-9.,]*", text))
