"""A scikit-learn ranker on both boosters."""

from .estimator import SoftRanker

__all__ = ["SoftRanker"]
