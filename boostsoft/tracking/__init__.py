"""What each tree of a model adds, measured on whichever library grew it, and how far apart two models are."""

from .batch_values import BatchValue, BatchValues
from .batches import marginal_value
from .compared import ComparedMetric, Comparison
from .comparison import compare
from .trees import track_trees

__all__ = [
    "BatchValue",
    "BatchValues",
    "ComparedMetric",
    "Comparison",
    "compare",
    "marginal_value",
    "track_trees",
]


def __dir__() -> list[str]:
    return __all__  # completion is not to offer the modules behind these
