"""What a classifier ranks by."""

from __future__ import annotations

from typing import Any

import numpy as np


def decisions(model: Any, X: Any) -> Any:
    """How sure a classifier of two classes is of the second, whose ``predict`` would tie most rows; else None."""
    if np.size(getattr(model, "classes_", 0)) != 2:
        return None
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    return model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else None
