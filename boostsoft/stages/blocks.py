"""What the boosters' modules share: how many trees at a time, and the check of X's width."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

_BYTES = 2**26  # 64 MB
_MOST = 256  # trees whose text is read at a time


def tree_blocks(first: int, n_trees: int, n_docs: int, bytes_each: int, n_values: int) -> Iterator[tuple[int, int]]:
    """Ranges of trees from ``first`` on, so few that their leaves of all documents take no more than 64 MB.

    Or a byte for each of the ``n_values`` of X, a quarter of what these take as 32-bit floats: both boosters read all
    of them for every block, which for one tree of 3.7 million documents of 136 features took longer than to measure it.
    A range has one tree at the least, and 256 at most.

    Examples
    --------
    >>> list(tree_blocks(1, 8, n_docs=2**20, bytes_each=16, n_values=10 * 2**20))
    [(1, 5), (5, 8)]
    >>> list(tree_blocks(1, 8, n_docs=2**20, bytes_each=16, n_values=100 * 2**20))
    [(1, 7), (7, 8)]
    """
    size = int(np.clip(max(_BYTES, n_values) // max(n_docs * bytes_each, 1), 1, _MOST))
    for begin in range(first, n_trees, size):
        yield begin, min(begin + size, n_trees)


def n_values(X: Any) -> int:
    """How many values X holds, an array, a frame or a sparse matrix."""
    return int(X.nnz) if sparse.issparse(X) else int(X.shape[0]) * int(X.shape[1])


def refuse_other_width(caller: str, X: Any, n_features: int) -> None:
    """Raise if X has another number of features than the model."""
    if X.shape[1] != n_features:
        told = ""
        if X.shape[1] == n_features - 1 and isinstance(X, np.ndarray):  # widened behind, all features would be others
            told = "; if a booster has read SVMlight files itself, its column 0 is an empty one: "
            told += "np.pad(X, ((0, 0), (1, 0)))"
        raise ValueError(f"{caller}: X must have the {n_features} features of the model; got {X.shape[1]}{told}")


def refuse_no_trees(caller: str, n_trees: int | None) -> None:
    """Raise if the model has none."""
    if not n_trees:
        raise ValueError(f"{caller}: model must have trees; got none")


def by_tree(leaves: Any, n_docs: int) -> NDArray[Any]:
    """The leaf of every document in each tree, (n_trees, n_docs): a tree's side by side, for they are read so."""
    return np.ascontiguousarray(np.asarray(leaves).reshape(n_docs, -1).T)
