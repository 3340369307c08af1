"""Exact soft ranking metrics, their gradients, and boosting on them.

Besides the names on this page, these modules are public; all others are internal.

- ``boostsoft.lightgbm``, ``boostsoft.xgboost``: objectives, evaluation and tracking for the boosters' own training;
- ``boostsoft.objectives``: what they train on, with formulas and sources;
- ``boostsoft.dask``: training on several machines;
- ``boostsoft.datasets``: LETOR files, TREC runs, and a task that needs no files;
- ``boostsoft.tracks``, ``boostsoft.tracking``, ``boostsoft.blending``, ``boostsoft.scoring``, ``boostsoft.sigma``,
  ``boostsoft.smoothness``: the classes of what the functions of this page return;
- ``boostsoft.track_plots``, ``boostsoft.track_report``, ``boostsoft.blend_plots``: pictures of that;
- ``boostsoft.statistics.paired_interval``: an interval of the mean of differences over queries;
- ``boostsoft.choices``: the names that arguments are chosen among, for type annotations.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .datasets import load_letor
from .metrics import Metric, SoftMetric
from .query_groups import QueryGroups

if TYPE_CHECKING:
    from . import blend_plots as blend_plots
    from . import blending as blending
    from . import dask as dask
    from . import datasets as datasets
    from . import lightgbm as lightgbm
    from . import objectives as objectives
    from . import scoring as scoring
    from . import sigma as sigma
    from . import smoothness as smoothness
    from . import statistics as statistics
    from . import track_plots as track_plots
    from . import track_report as track_report
    from . import tracking as tracking
    from . import tracks as tracks
    from . import xgboost as xgboost
    from .blending import SoftBlender, blend_curve, blend_surface
    from .ranker import SoftRanker
    from .scoring import make_ranking_scorer
    from .sigma import choose_sigma
    from .smoothness import approximation_error, smoothness_error
    from .tracking import compare, marginal_value, track_trees
    from .tracks import TreeTrack

__version__ = "0.1.0"
__all__ = [
    "Metric",
    "QueryGroups",
    "SoftBlender",
    "SoftMetric",
    "SoftRanker",
    "TreeTrack",
    "__version__",
    "approximation_error",
    "blend_curve",
    "blend_surface",
    "choose_sigma",
    "compare",
    "load_letor",
    "make_ranking_scorer",
    "marginal_value",
    "smoothness_error",
    "track_trees",
]

# what needs scikit-learn or SciPy's larger parts is imported when it is asked for
_LATER = {
    "SoftBlender": ".blending",
    "SoftRanker": ".ranker",
    "TreeTrack": ".tracks",
    "approximation_error": ".smoothness",
    "blend_curve": ".blending",
    "blend_surface": ".blending",
    "choose_sigma": ".sigma",
    "compare": ".tracking",
    "make_ranking_scorer": ".scoring",
    "marginal_value": ".tracking",
    "smoothness_error": ".smoothness",
    "track_trees": ".tracking",
}

# modules for users beside the names, imported when they are asked for; the others are what these are made of
_MODULES = (
    "blend_plots", "blending", "dask", "datasets", "lightgbm", "objectives", "scoring", "sigma",
    "smoothness", "statistics", "track_plots", "track_report", "tracking", "tracks", "xgboost",
)  # fmt: skip


if not TYPE_CHECKING:  # to type checkers any name would be there

    def __getattr__(name: str) -> Any:
        if name in _LATER:
            return getattr(import_module(_LATER[name], __name__), name)
        if name in _MODULES:
            return import_module(f".{name}", __name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
