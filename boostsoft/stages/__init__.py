"""Scores of a LightGBM or XGBoost model after each of its trees, by the leaves of a block of trees at a time."""
