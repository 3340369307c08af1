"""What each tree of a model adds, measured on whichever library grew it, and how far apart two models are."""

from .batches import marginal_value
from .comparison import compare
from .trees import track_trees

__all__ = ["compare", "marginal_value", "track_trees"]
