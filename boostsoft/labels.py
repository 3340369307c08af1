"""The labels that scikit-learn's users give."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arguments import FloatArray, as_array, finite_vector


def read_labels(caller: str, y: Any, n_docs: int) -> FloatArray:
    """Finite labels, one per row; objects and a single column are read as numbers."""
    if y is None:
        raise ValueError(f"{caller} requires y to be passed, but the target y is None")
    array = as_array(caller, "y", y)
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{caller}: y must hold numbers: {error}") from error
    if array.ndim == 2 and array.shape[1] == 1:
        from sklearn.utils import column_or_1d  # takes a second to load

        array = column_or_1d(array, warn=True)
    return finite_vector(caller, "y", array, n_docs, "row")
