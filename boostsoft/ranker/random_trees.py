"""Random trees: what stands for them in each booster, and up to how much data they are the default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PLENTY = 50_000  # documents, from which on random trees gained nothing: they rank better on 42,000, not on 54,000
# Relevant documents, below which they help however many others there are: by .022 with 800 relevant among 86,000, .024
# with 3,500 among 76,000, not with 9,000 among 200,000 (notebooks/09_tables.ipynb)
PLENTY_RELEVANT = 5_000
# Thresholds at random; XGBoost has none, and trees that see a part of the rows, nodes a part of the features, take
# their place
ROWS, FEATURES = 0.7, 0.5
RANDOM_TREES: Mapping[str, Mapping[str, Any]] = {
    "lightgbm": {"extra_trees": True},
    "xgboost": {"subsample": ROWS, "colsample_bynode": FEATURES},
}


def helps(n_docs: int, n_relevant: int) -> bool:
    """Whether training data of so many documents, so many of them relevant, is little enough for random trees."""
    return n_docs < PLENTY or n_relevant < PLENTY_RELEVANT
