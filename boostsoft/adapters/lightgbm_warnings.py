"""What is said of parameters of LightGBM that do not suit our objectives, or that they do not read."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Mapping
from typing import Any

from ..metrics.spec import is_gain
from .lightgbm_data import LEAST_DOCUMENTS, LEAVES, is_on, machines
from .shared import first_whole, warn_of_least_curvature

_LEAST_CURVATURE = (
    "min_sum_hessian_in_leaf", "min_sum_hessian_per_leaf", "min_sum_hessian", "min_hessian", "min_child_weight",
)  # fmt: skip
_DEFAULT_LEAST = 1e-3
_CUTOFF = "lambdarank_truncation_level"
_OF_LAMBDARANK = {_CUTOFF: "truncation_level", "lambdarank_norm": "norm", "sigmoid": "sigmoid"}
_DEFAULT_LEAVES, _DEFAULT_LEAST_DOCUMENTS = 31, 20


def warn_of_few_leaves(caller: str, params: Mapping[str, Any], n_docs: int, curvature: float) -> None:
    """Warn if the least curvature of a leaf is much of what all documents have together, or too much for any split.

    Of several machines LightGBM shows one, and its documents are not all.
    """
    if machines(params) > 1:
        return
    name, least = _least_curvature(params)
    leaves = _most_leaves(params, n_docs)
    if curvature < 2 * least:
        warn_of_least_curvature(caller, name, least, curvature)
    # leaves differ in curvature: where twice as many as asked for have no room, a tree may have far fewer
    elif curvature < 2 * leaves * least:
        # with which all have room
        advice = f"let the weights' mean be 1 if there are any, or give {name}={1e-4 * curvature:.0g}"
        if least > _DEFAULT_LEAST:
            advice = f"lambdarank's curvatures are mostly larger: leave it out, or give {curvature / (4 * leaves):.1g}"
        warnings.warn(
            f"{caller}: {name}={least:g} may leave a tree fewer than {leaves} leaves, since all documents have a "
            f"curvature of {curvature:.3g}; {advice}",
            stacklevel=2,
        )


def _most_leaves(params: Mapping[str, Any], n_docs: int) -> int:
    """How many leaves a tree may have: as many as asked for, but none of too few documents."""
    leaves = first_whole(params, LEAVES)
    documents = first_whole(params, LEAST_DOCUMENTS)
    least = _DEFAULT_LEAST_DOCUMENTS if documents is None else max(documents, 1)
    depth = first_whole(params, ("max_depth",)) or 0
    return min(leaves or _DEFAULT_LEAVES, n_docs // least, 2 ** min(depth, 30) if depth > 0 else n_docs)


def _least_curvature(params: Mapping[str, Any]) -> tuple[str, float]:
    """What a leaf must have, and the name that says so: LightGBM's own, or of several others the shortest."""
    own, *others = _LEAST_CURVATURE
    for name in (own, *sorted(others, key=lambda name: (len(name), name))):
        with contextlib.suppress(KeyError, TypeError, ValueError):
            return name, float(params[name])
    return own, _DEFAULT_LEAST


def warn_of_what_is_not_read(caller: str, params: Mapping[str, Any], rule: Any, gain: Any) -> None:
    """Warn of parameters of LightGBM's lambdarank that ours does not read, unless they say what it has anyway.

    ``gain`` is that of the objective, ``rule``, if it has gains.
    """
    given = {name: params[name] for name in _OF_LAMBDARANK if params.get(name) is not None}
    unread = [name for name, value in given.items() if not _says(value, rule, _OF_LAMBDARANK[name])]
    if unread:
        cutoff = "; a cutoff is the metric's, as in 'ndcg@10'" if _CUTOFF in unread else ""
        warnings.warn(f"{caller}: not read, since lambdarank's: {', '.join(unread)}{cutoff}", stacklevel=2)
    if params.get("label_gain") is not None and isinstance(gain, str) and not _is_table_of(gain, params["label_gain"]):
        warnings.warn(
            f"{caller}: label_gain is not read, and gain={gain!r} is trained on; give the objective what LightGBM was "
            'given: bs.Metric("ndcg@10", gain=[...])',
            stacklevel=2,
        )


def _says(value: Any, rule: Any, ours: str) -> bool:
    """Whether a parameter has the value of an objective's own."""
    own = getattr(rule, ours, None)
    if isinstance(own, bool):
        return is_on(value) == own
    try:
        return own is not None and float(value) == float(own)
    except (TypeError, ValueError):
        return False


def _is_table_of(gain: str, label_gain: Any) -> bool:
    """Whether LightGBM's table is that of the gain trained on: who has labels above 30 must write out its default."""
    try:
        table = tuple(float(one) for one in (label_gain.split(",") if isinstance(label_gain, str) else label_gain))
    except (TypeError, ValueError):
        return False
    return is_gain(table, gain)
