"""The queries that everything is timed on: a synthetic pool of MSLR's shape, and files.

Scores are standard normal, their pooled within-query spread exactly 1: what a booster's scores look like somewhere in
training does not matter to the cost, how far they are spread out in units of sigma does. Contenders that have a sigma
get the scores divided by it; the others get them as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import FloatArray, IntArray
from ..datasets import load_letor
from ..metrics.spread import spread
from ..query_groups import QueryGroups

PROPORTIONS = (0.52, 0.32, 0.13, 0.02, 0.01)  # of the five grades in MSLR-WEB10K
DOCUMENTS = 120  # and its documents per query
FEATURES = 136
_TELLING = 30  # features of the synthetic pool that say something about the grade


@dataclass(frozen=True, eq=False)
class Pool:
    """Documents of queries, those of one query adjacent.

    Attributes
    ----------
    name : str
        What it is called in tables; ``key`` in the JSON file.
    labels, scores : (n_docs,) arrays
    sizes : (n_queries,) array
        Documents per query.
    X : (n_docs, n_features) array, optional
        Features of files; the synthetic pool makes its own when asked.
    """

    key: str
    name: str
    labels: FloatArray
    scores: FloatArray
    sizes: IntArray
    seed: int = 0
    X: NDArray[Any] | None = field(default=None, repr=False)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.sizes.size)

    @property
    def groups(self) -> QueryGroups:
        """The queries as boostsoft knows them."""
        return QueryGroups.from_sizes(self.sizes)

    @property
    def qid(self) -> IntArray:
        """Query of each document, from 0."""
        return np.repeat(np.arange(self.n_queries), self.sizes)

    def first(self, queries: int) -> Pool:
        """The first queries, all of them if there are no more."""
        sizes = self.sizes[:queries]
        n = int(sizes.sum())
        X = None if self.X is None else self.X[:n]
        return Pool(self.key, self.name, self.labels[:n], self.scores[:n], sizes, self.seed, X)

    def some(self, queries: int) -> Pool:
        """So many queries, evenly over all of them: files may have their longest ones last."""
        if queries >= self.n_queries:
            return self
        chosen = np.zeros(self.n_queries, np.bool_)
        chosen[np.arange(queries) * self.n_queries // queries] = True
        rows = np.repeat(chosen, self.sizes)
        X = None if self.X is None else self.X[rows]
        return Pool(self.key, self.name, self.labels[rows], self.scores[rows], self.sizes[chosen], self.seed, X)

    def features(self) -> NDArray[Any]:
        """The files' features, or 136 of normal noise, some of them with a share of the grade."""
        if self.X is not None:
            return self.X
        rng = np.random.default_rng([self.seed, 1])
        X = rng.standard_normal((self.labels.size, FEATURES), dtype=np.float32)
        X[:, :_TELLING] += (0.5 * self.labels[:, None] / np.arange(1, _TELLING + 1)).astype(np.float32)
        return X


def synthetic_pool(queries: int = 2000, documents: int = DOCUMENTS, seed: int = 0) -> Pool:
    """Queries of MSLR's shape: grades drawn in its proportions, normal scores.

    >>> pool = synthetic_pool(queries=50)
    >>> pool.labels.shape, pool.n_queries
    ((6000,), 50)
    """
    rng = np.random.default_rng(seed)
    sizes = np.full(queries, documents)
    labels = rng.choice(len(PROPORTIONS), size=queries * documents, p=PROPORTIONS).astype(np.float64)
    name = f"synthetic, {queries:,} queries x {documents:,} documents"
    key = "synthetic" if documents == DOCUMENTS else f"synthetic_{documents}"  # targets are for the former
    return Pool(key, name, labels, _scores(rng, sizes), sizes, seed)


def pool_of_files(files: Sequence[Path], seed: int) -> Pool:
    """Labels, queries and features of LETOR files, with drawn scores."""
    data = load_letor(list(files))
    name = f"{', '.join(file.name for file in files)}: {data.n_queries:,} queries, {data.n_docs:,} documents"
    return Pool("files", name, data.y, _scores(np.random.default_rng(seed), data.sizes), data.sizes, seed, data.X)


def _scores(rng: np.random.Generator, sizes: IntArray) -> FloatArray:
    scores = rng.normal(size=int(sizes.sum()))
    scale = spread(QueryGroups.from_sizes(sizes), scores, np.ones(sizes.size))
    return scores / scale if scale > 0 else scores
