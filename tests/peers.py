"""Queries on which boostsoft's hard metrics are held against the metrics that others wrote.

A peer fixes its own conventions: the order of documents of equal score, the value of a query with nothing
relevant, the divisor of a cutoff deeper than the query. Every test_peers_*.py names the options of ``Metric``
under which the two must agree, and pins what no option reaches.

Scores are multiples of 1/256 below 8, so that a peer that keeps them in float32 reads the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from typing import NamedTuple

import numpy as np

from .oracle import tie_blocks

SIZES = (1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 11, 14, 60)
SEEDS = (0, 1, 2)
EXACT = 1e-13  # float64 on both sides: what remains is the order in which some dozen terms are added


class Queries(NamedTuple):
    """Documents of several queries, those of one query adjacent."""

    labels: np.ndarray
    scores: np.ndarray
    sizes: np.ndarray

    @property
    def qid(self) -> np.ndarray:
        """Query of each document, from 0."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def each(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Labels and scores of one query after the other."""
        cuts = np.cumsum(self.sizes)[:-1]
        yield from zip(np.split(self.labels, cuts), np.split(self.scores, cuts), strict=True)

    def relevant(self, relevant_from: float = 1) -> np.ndarray:
        """Relevant documents of each query."""
        return np.bincount(self.qid, self.labels >= relevant_from, len(self.sizes)).astype(int)

    def weights(self) -> np.ndarray:
        """A weight for each query: whole numbers from 1 to 5."""
        return 1.0 + np.arange(len(self.sizes)) * 7 % 5


def distinct_scores(rng: np.random.Generator, n: int) -> np.ndarray:
    """n different scores in random order."""
    return rng.choice(4096, n, replace=False) / 256 - 8


def tied_scores(rng: np.random.Generator, n: int) -> np.ndarray:
    """n scores out of five values."""
    return rng.integers(-2, 3, n) / 2


def queries(seed: int, *, top: int = 4, tied: bool = False, sizes: tuple[int, ...] = SIZES) -> Queries:
    """Queries with labels from 0 to ``top``, and the special ones among them.

    Of the default sizes, the first is one irrelevant document, the second one relevant document, the third
    and the seventh have nothing relevant, and the fourth and the eighth equal positive labels. The ninth and
    later ones hold both relevant and irrelevant documents.
    """
    rng = np.random.default_rng(seed)
    parts = [rng.integers(0, top + 1, n) for n in sizes]
    if sizes == SIZES:
        for i in (0, 2, 6):
            parts[i][:] = 0
        for i in (1, 3, 7):
            parts[i][:] = max(1, top - seed)
        for part in parts[8:]:
            part[rng.permutation(len(part))[:2]] = (0, top)
    labels = np.concatenate(parts)
    scores = tied_scores(rng, labels.size) if tied else distinct_scores(rng, labels.size)
    return Queries(labels, scores, np.array(sizes))


def equal_sizes(seed: int, n: int, *, n_queries: int = 6, top: int = 4, tied: bool = False) -> Queries:
    """Queries of n documents, for a peer that takes a table with a row for each query."""
    return queries(seed, top=top, tied=tied, sizes=(n,) * n_queries)


def tied_query(seed: int, blocks: tuple[int, ...] = (2, 4, 1, 2), top: int = 4) -> Queries:
    """One query whose scores are tied in blocks of the given sizes, with relevant and irrelevant documents."""
    rng = np.random.default_rng(seed)
    scores = rng.permutation(np.repeat(np.arange(len(blocks)) / 4, blocks))
    labels = rng.integers(0, top + 1, scores.size)
    labels[rng.permutation(scores.size)[:2]] = (0, top)
    return Queries(labels, scores, np.array([scores.size]))


def every_order(query: Queries) -> Queries:
    """One query with tied scores, written once for every order of its tied documents, all scores distinct.

    A peer's mean over these is the mean over the orders: what ties="expected" must be.
    """
    n = len(query.scores)
    orders = [sum(order, ()) for order in product(*(permutations(block) for block in tie_blocks(query.scores)))]
    labels = np.concatenate([query.labels[list(order)] for order in orders])
    return Queries(labels, np.tile(np.arange(n, 0.0, -1.0), len(orders)), np.full(len(orders), n))


def agree(found: object, wanted: object, tolerance: float = EXACT, message: str = "") -> None:
    """Equal up to a tolerance, absolute below 1 and relative above; NaN in the same places."""
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance, err_msg=message)


def top_k(scores: np.ndarray, k: int) -> np.ndarray:
    """1 for the k documents of the highest scores, 0 for the others: a ranking as a classifier's prediction."""
    predicted = np.zeros(len(scores), int)
    predicted[np.argsort(-scores, kind="stable")[:k]] = 1
    return predicted
