"""Tables whose numbers are never cut."""

from __future__ import annotations

import io
import os
import sys

import pytest
from rich.console import Console

from boostsoft.commands.options import stop
from boostsoft.commands.terminal import Field, ResultTable, error_console, finish, page, plus_minus, silent_errors
from boostsoft.text_files import printable

from .narrow import assert_no_number_is_cut, on_a_terminal, text_of


def table_of(*fields, labels=("part", "kind")):
    table = ResultTable(labels, fields or ["first value", "second", "95 % interval"])
    table.add_row("train", "[hard]", "0.1234", "12,345", "-0.1234 to +0.5678", style="bold")
    table.add_row("", "soft", "0.2345", "2")
    table.add_section()
    table.add_row("valid", "hard", "0.3456", "3", "-0.2345 to +0.6789")
    return table


def test_a_bar_is_shown_while_errors_are_silent(monkeypatch, capfd):
    """What a library in C writes is dropped; the console of a bar has the stream to itself."""
    with open(2, "w", closefd=False) as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        with error_console() as console, silent_errors():
            os.write(2, b"[Fatal] no such label\n")
            console.print("10 of 20")
        os.write(2, b"the end\n")
    assert capfd.readouterr().err == "10 of 20\nthe end\n"


def a_free_number():
    """The lowest number of a file that nobody has open."""
    number = os.dup(2)
    os.close(number)
    return number


def test_what_was_written_before_is_not_dropped(monkeypatch, capfd):
    with open(2, "w", buffering=100, closefd=False) as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        stream.write("before")
        free = a_free_number()
        with silent_errors():
            stream.flush()
        assert a_free_number() == free  # what was opened is closed
    assert capfd.readouterr().err == "before"


def test_there_may_be_no_error_stream_or_a_closed_one(monkeypatch):
    with open(os.devnull, "w") as closed:
        pass
    for stream in (None, closed):
        monkeypatch.setattr(sys, "stderr", stream)
        with error_console() as console:
            assert not console.is_terminal
    monkeypatch.setattr(sys, "stderr", None)
    with silent_errors():
        pass


def test_a_bar_is_shown_on_an_error_stream_that_is_no_file(monkeypatch):
    for stream in (io.StringIO(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        with error_console() as console:
            console.print("10 of 20")
        assert stream.getvalue() == "10 of 20\n"


def test_names_from_files_do_not_steer_the_terminal(tmp_path, capsys):
    """Nor clear it: the header of a file that somebody has sent is written out."""
    stop("no column query\x1b[2J\x1b]0;title\x07, \x9b31m", 2)
    assert capsys.readouterr().err == "boostsoft: no column query\\x1b[2J\\x1b]0;title\\x07, \\x9b31m\n"
    table = ResultTable(["model"], ["value"])
    table.add_row("\x1b[31mb", "1")
    console = Console(file=io.StringIO(), width=80)
    console.print(table)
    assert "\\x1b[31mb" in console.file.getvalue()
    assert "\x1b" not in console.file.getvalue()
    finish(table, tmp_path / "o\x1b[2J", {"a.txt": b"text"})
    shown = capsys.readouterr().out
    assert printable("two\nlines") == "two\nlines"
    assert "o\\x1b[2J: a.txt" in "".join(shown.split("\n"))
    assert "\x1b" not in shown


def test_side_by_side_where_there_is_room():
    lines = text_of(table_of(), 80).splitlines()
    assert lines[1].startswith(" part    kind     first value ")
    assert lines[3].split() == ["train", "[hard]", "0.1234", "12,345", "-0.1234", "to", "+0.5678"]
    assert lines[4].index("2 ", 30) == lines[3].index("5 ")  # numbers end below each other
    assert not lines[5].strip()


def test_headings_of_two_lines_before_blocks():
    table = ResultTable(["part"], ["a long heading", "another long heading"])
    table.add_row("train", "0.1234", "0.2345")
    for width, first in (
        (32, " part "),
        (31, "part "),
        (28, "part "),
    ):  # columns closer to each other, without edges, at need
        lines = text_of(table, width).splitlines()
        assert max(map(len, lines)) <= width
        assert any(line.startswith(first) for line in lines)
        words = [line.split() for line in lines]
        assert ["part", "long", "heading", "long", "heading"] not in words
        assert ["a", "long", "another"] in words
        assert ["part", "heading", "long", "heading"] in words
        assert ["train", "0.1234", "0.2345"] in words
    assert ["train", "0.2345"] in [line.split() for line in text_of(table, 27).splitlines()]


def test_blocks_repeat_the_labels():
    lines = [line.split() for line in text_of(table_of(), 34).splitlines()]
    assert ["train", "[hard]", "0.1234", "12,345"] in lines
    assert ["train", "[hard]", "-0.1234", "to", "+0.5678"] in lines


def test_an_empty_line_ends_a_table_of_any_width():
    for width in (80, 34, 24):
        *_, last, empty = text_of(table_of(), width).splitlines()
        assert last.strip()
        assert not empty.strip()


def test_a_line_for_each_value_where_no_column_fits():
    lines = text_of(table_of(), 24).splitlines()
    at = lines.index("train soft")  # the label above it
    assert lines[at + 1 : at + 4] == ["  first value: 0.2345", "  second: 2", "valid hard"]


@pytest.mark.parametrize("width", range(10, 81))
def test_nothing_is_cut_at_any_width(width):
    assert_no_number_is_cut(text_of(table_of(), width), text_of(table_of(), 200), width)


def test_letters_of_two_cells_take_two():
    table = ResultTable(["model"], ["weight"])
    table.add_row("日本語の文書モデル", "0.1234")
    assert text_of(table, 24).splitlines()[:2] == ["日本語の文書モデル", "  weight: 0.1234"]
    assert any(line.split() == ["日本語の文書モデル", "0.1234"] for line in text_of(table, 29).splitlines())


def test_words_break_at_blanks_and_only_where_they_must():
    table = ResultTable(["name"], ["value", Field("targets", "left", 12)])
    table.add_row("a", "0.1234", ">= 10x faster: met <= 1x of the other: missed")
    assert ">= 10x faster: met <= 1x of the other: missed" in text_of(table, 80)
    lines = text_of(table, 40).splitlines()
    assert max(map(len, lines)) <= 40
    assert any(line.split()[:3] == ["a", "0.1234", ">="] for line in lines)
    table.add_row("b", "0.1234 [0.1200, 0.1300]", "met")  # wider than what prose is broken into
    assert "0.1234 [0.1200, 0.1300]" in text_of(table, 43)


def test_a_page_has_a_width_of_its_own_where_nobody_looks(capsys, monkeypatch):
    assert page(97).width == 97
    on_a_terminal(monkeypatch, 60)
    assert page(97).width == 60


@pytest.mark.parametrize(("encoding", "sign"), [("utf-8", "±"), ("ascii", "+-"), ("latin-1", "+-")])
def test_the_sign_before_an_error(encoding, sign):
    assert plus_minus(Console(file=io.TextIOWrapper(io.BytesIO(), encoding=encoding))) == sign
