"""Exact soft ranking metrics, their gradients, and boosting on them."""

from .datasets import load_letor
from .metrics import Metric, SoftMetric
from .query_groups import QueryGroups

__version__ = "0.1.0"
__all__ = ["Metric", "QueryGroups", "SoftMetric", "__version__", "load_letor"]
