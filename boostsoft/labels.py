"""The labels that scikit-learn's users give."""

from __future__ import annotations

from typing import Any

from .arguments import FloatArray, as_array, finite_vector


def read_labels(caller: str, y: Any, n_docs: int) -> FloatArray:
    """Finite labels, one per row; a single column is read as a vector."""
    if y is None:
        raise ValueError(f"{caller} requires y to be passed, but the target y is None")
    array = as_array(caller, "y", y)
    if array.ndim == 2 and array.shape[1] == 1:
        from sklearn.utils import column_or_1d  # takes a second to load

        array = column_or_1d(array, warn=True)
    return finite_vector(caller, "y", array, n_docs, "row")
