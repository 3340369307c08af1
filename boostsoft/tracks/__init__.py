"""What each tree adds, whatever the booster: values per query after every step, and what follows from them."""

from .effects import TreeEffects, tree_effects
from .stopping import StoppingRule
from .tree_track import TreeTrack, WorstQuery

__all__ = ["StoppingRule", "TreeEffects", "TreeTrack", "WorstQuery", "tree_effects"]


def __dir__() -> list[str]:
    return __all__  # completion is not to offer the modules behind these
