"""What a classifier ranks by."""

from __future__ import annotations

from typing import Any

import numpy as np


def decisions(model: Any, X: Any) -> Any:
    """How sure a classifier of two classes is of the second, whose ``predict`` would tie most rows; else None."""
    classes = getattr(model, "classes_", None)
    if not isinstance(classes, np.ndarray) or classes.shape != (2,):  # of several outputs it is a list
        return None
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    if not hasattr(model, "predict_proba"):
        return None
    chances = np.asarray(model.predict_proba(X))
    return chances[:, 1] if chances.ndim == 2 else chances  # LightGBM's, before 4.7, under an objective of one's own
