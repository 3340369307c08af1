"""Small LETOR files: one by hand, and some of random queries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from boostsoft.datasets import RankingData

SMALL = b"""# a header

2 qid:10 1:0.5 3:-2e-3 # docid = A-1 inc = 1
0 qid:10 1:1 2:NULL 3:nan
   # only a comment
1 qid:4\t2:7 # docid = B
"""


@pytest.fixture
def write(tmp_path):
    def write_file(content: bytes, name: str = "set.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write_file


def letor_text(seed, first_query, n_queries=14, n_features=4):
    """Queries whose labels follow the first two features; the first query has nothing relevant."""
    rng = np.random.default_rng(seed)
    lines = []
    for query in range(first_query, first_query + n_queries):
        X = rng.normal(size=(rng.integers(6, 12), n_features)).round(3)
        labels = np.clip(np.floor(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=len(X))), 0, 2).astype(int)
        labels *= query != first_query
        for label, row in zip(labels, X, strict=True):
            lines.append(f"{label} qid:{query} " + " ".join(f"{i}:{x}" for i, x in enumerate(row, 1)))
    return "\n".join(lines) + "\n"


def assert_same(left: RankingData, right: RankingData):
    for name in ("X", "y", "qid", "sizes"):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name), strict=True)
    assert left.comments == right.comments
    assert left.feature_names == right.feature_names
