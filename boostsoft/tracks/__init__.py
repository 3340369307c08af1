"""What each tree adds, whatever the booster: values per query after every step, and what follows from them."""

from .tree_track import TreeTrack, WorstQuery

__all__ = ["TreeTrack", "WorstQuery"]
