"""Training objectives: what a booster is to follow, and a positive curvature, both summed over queries.

``SoftObjective`` is this library's. The others are references to compare with, each by its name through
:func:`reference_objective`: LambdaRank and RankNet, LambdaLoss, LambdaRank with soft deltas, XE-NDCG, softmax
cross-entropy, ListNet and query-RMSE.
"""

from .base import NothingToLearnError, Objective
from .lambdas import LambdaLossObjective, LambdaObjective
from .listwise import ListNetObjective, QueryRMSEObjective, SoftmaxObjective, XENDCGObjective
from .reference import REFERENCES, reference_objective
from .soft import SoftObjective
from .soft_lambdas import SoftLambdaObjective

__all__ = [
    "REFERENCES",
    "LambdaLossObjective",
    "LambdaObjective",
    "ListNetObjective",
    "NothingToLearnError",
    "Objective",
    "QueryRMSEObjective",
    "SoftLambdaObjective",
    "SoftObjective",
    "SoftmaxObjective",
    "XENDCGObjective",
    "reference_objective",
]


def __dir__() -> list[str]:
    return __all__  # completion is not to offer the modules behind these
