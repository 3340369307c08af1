"""Queries to test with."""

from __future__ import annotations

import numpy as np

KINDS = ("generic", "ties", "all_equal_scores", "all_equal_labels", "no_relevant", "far_apart", "clustered")


def random_query(rng: np.random.Generator, n: int, kind: str = "generic") -> tuple[np.ndarray, np.ndarray]:
    """Labels (n,) int64 in 0..4 and scores (n,) float64, meant for sigma about 1.

    Labels: all equal and positive ("all_equal_labels"), all 0 ("no_relevant"), else graded, with a
    relevant document always and an irrelevant one where n > 1. Scores: rounded to multiples of 1 ("ties"),
    one value ("all_equal_scores"), gaps of 25 to 35 in random order ("far_apart"), groups 1e-3 wide whose
    centres are 6 apart ("clustered"), else normal.
    """
    labels = rng.integers(0, 5, n)
    picked = rng.permutation(n)
    labels[picked[1:2]] = 0
    labels[picked[:1]] = rng.integers(1, 5)
    if kind == "all_equal_labels":
        labels[:] = rng.integers(1, 5)
    if kind == "no_relevant":
        labels[:] = 0
    normal = rng.normal(size=n)
    scores = {
        "ties": np.round(normal),
        "all_equal_scores": np.full(n, normal[0]),
        "far_apart": rng.permutation(np.cumsum(rng.uniform(25, 35, n))),
        "clustered": 6.0 * rng.integers(0, 3, n) + 1e-3 * normal,
    }.get(kind, normal)
    return labels, scores


def query(kind: str, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels and scores of a kind, which the seed decides."""
    return random_query(np.random.default_rng(seed), n, kind)
