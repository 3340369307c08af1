"""Metrics as values: hard ones, and their exact expectations under noise."""

from .hard import Metric
from .soft import SoftMetric

__all__ = ["Metric", "SoftMetric"]
