"""Exact soft ranking metrics, their gradients, and boosting on them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .datasets import load_letor
from .metrics import Metric, SoftMetric
from .query_groups import QueryGroups

if TYPE_CHECKING:
    from .ranker import SoftRanker
    from .scoring import make_ranking_scorer

__version__ = "0.1.0"
__all__ = [
    "Metric",
    "QueryGroups",
    "SoftMetric",
    "SoftRanker",
    "__version__",
    "load_letor",
    "make_ranking_scorer",
]

# what needs scikit-learn is imported when it is asked for
_LATER = {"SoftRanker": ".ranker", "make_ranking_scorer": ".scoring"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
