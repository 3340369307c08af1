"""Scores of a LightGBM model after each of its trees.

LightGBM adds up leaf values in double precision, tree after tree from 0. The same additions are made here, with the
leaves of a block of trees at a time and their values from the model's text, which holds them to the last digit: the
scores are those of ``predict(num_iteration=t, raw_score=True)`` bit for bit. Trees with a linear model in their
leaves predict one at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from ..adapters.lightgbm_data import refuse_classes
from ..arguments import FloatArray
from ..frames import is_of_words, number_matrix
from .blocks import by_tree, n_values, refuse_no_trees, refuse_other_width, tree_blocks

_BYTES_PER_LEAF = 16  # a float64 and an int32 of LightGBM's, and the int32 turned round
_LEAVES, _LINEAR, _AVERAGE = "leaf_value=", "is_linear=1", "average_output"


def stages(
    caller: str, booster: Any, X: Any, init_score: FloatArray | None, threads: int | None = None
) -> tuple[int, Iterator[FloatArray]]:
    """The number of trees, and the scores after 0, 1, 2, ... of them; a random forest's are averages."""
    refuse_classes(caller, booster)
    n_trees = int(booster.num_trees())
    refuse_no_trees(caller, n_trees)
    refuse_other_width(caller, X, int(booster.num_feature()))
    return n_trees, _scores(booster, as_lightgbm_reads(caller, booster, X), n_trees, init_score, threads)


def _scores(
    booster: Any, X: Any, n_trees: int, init_score: FloatArray | None, threads: int | None
) -> Iterator[FloatArray]:
    averaged = is_averaged(booster)
    total = np.zeros(X.shape[0])
    yield total if init_score is None else total + init_score
    for done, output in enumerate(outputs(booster, X, 0, n_trees, threads), start=1):
        total = total + output
        scores = total / done if averaged else total
        yield scores if init_score is None else scores + init_score


def outputs(booster: Any, X: Any, first: int, n_trees: int, threads: int | None) -> Iterator[FloatArray]:
    """What each tree of the first ``n_trees``, from ``first`` on, gives to each document."""
    n_docs = X.shape[0]
    options = {} if threads is None else {"num_threads": threads}
    for begin, end in tree_blocks(first, n_trees, n_docs, _BYTES_PER_LEAF, n_values(X)):
        lines = booster.model_to_string(start_iteration=begin, num_iteration=end - begin).splitlines()
        if _LINEAR in lines:
            for tree in range(begin, end):
                yield booster.predict(X, start_iteration=tree, num_iteration=1, raw_score=True, **options)
            continue
        leaves = booster.predict(X, start_iteration=begin, num_iteration=end - begin, pred_leaf=True, **options)
        texts = (line.removeprefix(_LEAVES) for line in lines if line.startswith(_LEAVES))
        for text, leaf in zip(texts, by_tree(leaves, n_docs), strict=True):
            yield np.array(text.split(), dtype=np.float64)[leaf]


def is_averaged(booster: Any) -> bool:
    """Whether a score is the mean over the trees, as a random forest's."""
    return _AVERAGE in booster.model_to_string(num_iteration=1).splitlines()


def as_lightgbm_reads(caller: str, booster: Any, X: Any) -> Any:
    """X as LightGBM would convert it at every call, converted once; what has to do with categories is left to it."""
    if sparse.issparse(X):
        return sparse.csr_matrix(X)  # LightGBM knows SciPy's matrices, and not its arrays
    if hasattr(X, "dtypes"):  # an Arrow table, which LightGBM reads itself, has none
        # numbers in place of categories that the booster knows by name: LightGBM raises
        pandas = hasattr(X, "iloc")
        numbers = None if pandas and booster.pandas_categorical else number_matrix(X)
        if numbers is None and not pandas:
            _refuse_words(caller, X.schema.items())
        return X if numbers is None else np.ascontiguousarray(numbers)
    if isinstance(X, np.ndarray):  # of whole numbers too LightGBM makes float32
        return np.ascontiguousarray(X, X.dtype if X.dtype in (np.float32, np.float64) else np.float32)
    if hasattr(X, "schema"):
        _refuse_words(caller, ((column.name, column.type) for column in X.schema))
    return X


def _refuse_words(caller: str, columns: Iterable[tuple[str, Any]]) -> None:
    """Raise for texts and categories of polars or Arrow, of which LightGBM says neither column nor way out."""
    for name, kind in columns:
        if is_of_words(kind):
            raise TypeError(
                f"{caller}: X must hold numbers; column {name!r} has type {kind}. LightGBM reads categories of pandas "
                "frames alone, of which X.to_pandas() makes one"
            )
