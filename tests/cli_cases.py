"""Five small parts of a data set in files."""

from __future__ import annotations

import gzip

import pytest

from .letor_cases import letor_text

SMALL_TREES = ["--leaves", "4", "--set", "min_data_in_leaf=5"]


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Five parts; S2 is compressed, and S5 never mentions the last feature."""
    folder = tmp_path_factory.mktemp("five")
    for i in range(1, 6):
        text = letor_text(i, 100 * i, n_features=3 if i == 5 else 4)
        if i == 2:
            (folder / "S2.txt.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / f"S{i}.txt").write_text(text)
    return folder


def part_file(folder, i):
    return folder / ("S2.txt.gz" if i == 2 else f"S{i}.txt")


def split_arguments(folder):
    files = [str(part_file(folder, i)) for i in range(1, 6)]
    return ["train", "--train", *files[:3], "--valid", files[3], "--test", files[4]]


def twice(folder, text):
    """The command that trains on a file of this text and chooses on another one."""
    files = [folder / f"{part}.txt" for part in ("train", "valid")]
    for file in files:
        file.write_text(text)
    return ["train", "--train", str(files[0]), "--valid", str(files[1]), "--out", str(folder / "out")]
