"""Lines of a file that hold documents, with and without their comments."""

from __future__ import annotations

from typing import NamedTuple

from ..text_files import show


class Lines(NamedTuple):
    """The documents of a chunk as text: 1-based line numbers, text before '#', text after it."""

    numbers: list[int]
    bodies: list[bytes]
    comments: list[bytes]


def without_comments(lines: list[bytes], first: int, place: str) -> Lines:
    """Separate comments and drop lines without a document; `first` is the number of the first line."""
    numbers, bodies, comments = [], [], []
    for number, line in enumerate(lines, first):
        body, _, comment = line.partition(b"#")
        if b"\r" in line and b"\r" in line.rstrip():  # lines of an old Mac: a comment would hide those that follow
            within = comment if b"\r" in comment.rstrip() else body
            raise ValueError(
                f"{place}, line {number}: a line must end with a line feed; got a carriage return within "
                f"{show(within.strip())}"
            )
        body = body.strip()
        if body:
            numbers.append(number)
            bodies.append(body)
            comments.append(comment)
    return Lines(numbers, bodies, comments)
