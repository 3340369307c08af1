"""Random trees: what stands for them in each booster, and up to how much data they are the default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PLENTY = 50_000  # documents, from which on random trees gained nothing: they rank better on 42,000, not on 54,000
# Thresholds at random; XGBoost has none, and trees that see a part of the rows, nodes a part of the features, take
# their place
RANDOM_TREES: Mapping[str, Mapping[str, Any]] = {
    "lightgbm": {"extra_trees": True},
    "xgboost": {"subsample": 0.7, "colsample_bynode": 0.5},
}


def helps(n_docs: int) -> bool:
    """Whether training data of so many documents is little enough for random trees."""
    return n_docs < PLENTY
