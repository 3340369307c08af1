"""All reference objectives by their names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, overload

from ..arguments import one_of
from ..choices import Reference
from .base import Objective, made_by
from .lambdas import LambdaLossObjective, LambdaObjective
from .listwise import ListNetObjective, QueryRMSEObjective, SoftmaxObjective, XENDCGObjective
from .soft_lambdas import SoftLambdaObjective

_CALLER = "reference_objective"

_CLASSES: Mapping[Reference, tuple[type[Objective], tuple[str, ...]]] = {  # and what they are given first
    "lambdarank": (LambdaObjective, ("lambdarank",)),
    "ranknet": (LambdaObjective, ("ranknet",)),
    "lambdaloss": (LambdaLossObjective, ()),
    "softlambda": (SoftLambdaObjective, ()),
    "xendcg": (XENDCGObjective, ()),
    "softmax": (SoftmaxObjective, ()),
    "listnet": (ListNetObjective, ()),
    "queryrmse": (QueryRMSEObjective, ()),
}
REFERENCES: Mapping[Reference, Callable[..., Objective]] = MappingProxyType(
    {kind: partial(made, *first) if first else made for kind, (made, first) in _CLASSES.items()}
)


@overload
def reference_objective(kind: Literal["lambdarank", "ranknet"], **options: Any) -> LambdaObjective: ...
@overload
def reference_objective(kind: Literal["lambdaloss"], **options: Any) -> LambdaLossObjective: ...
@overload
def reference_objective(kind: Literal["softlambda"], **options: Any) -> SoftLambdaObjective: ...
@overload
def reference_objective(kind: Literal["xendcg"], **options: Any) -> XENDCGObjective: ...
@overload
def reference_objective(kind: Literal["softmax"], **options: Any) -> SoftmaxObjective: ...
@overload
def reference_objective(kind: Literal["listnet"], **options: Any) -> ListNetObjective: ...
@overload
def reference_objective(kind: Literal["queryrmse"], **options: Any) -> QueryRMSEObjective: ...
@overload
def reference_objective(kind: Reference, **options: Any) -> Objective: ...
def reference_objective(kind: Reference, **options: Any) -> Objective:
    """Build an objective of the literature, to compare with, by its name.

    Parameters
    ----------
    kind : str
        - ``"lambdarank"``, ``"ranknet"`` (Burges 2010): :class:`LambdaObjective`;
        - ``"lambdaloss"``, NDCG-Loss2++ (Wang et al. 2018): :class:`LambdaLossObjective`;
        - ``"softlambda"``, LambdaRank with expected deltas: :class:`SoftLambdaObjective`;
        - ``"xendcg"`` (Bruch 2021): :class:`XENDCGObjective`;
        - ``"softmax"``, cross-entropy (Bruch et al. 2019): :class:`SoftmaxObjective`;
        - ``"listnet"`` (Cao et al. 2007): :class:`ListNetObjective`;
        - ``"queryrmse"``: :class:`QueryRMSEObjective`.
    **options
        The parameters of that class. All take ``query_weight`` and, but for softlambda, ``gain``.

    Returns
    -------
    Objective
        A value that compares, hashes and pickles. ``boostsoft.lightgbm.reference_objective`` and
        ``boostsoft.xgboost.reference_objective`` make it what their booster takes.

    Raises
    ------
    TypeError, ValueError
        If the kind is not known, has no such option, or an option is not as its class describes.

    Examples
    --------
    >>> from boostsoft.objectives import reference_objective
    >>> reference_objective("lambdaloss", mu=5.0).mu
    5.0
    """
    one_of(_CALLER, "kind", kind, REFERENCES)
    known = inspect.signature(REFERENCES[kind]).parameters
    for name in options:
        if name not in known:
            raise TypeError(f"{_CALLER}: options of {kind!r} must be among {', '.join(known)}; got {name!r}")
    made, first = _CLASSES[kind]
    return made_by(_CALLER, made, *first, **options)
