"""The blender's parameters, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, get_args

import numpy as np

from ..arguments import generator_of, non_negative_number, one_of, short, whole_number
from ..choices import Constraint, Noise, Normalize
from ..kernels.noise import LAWS
from ..metrics.hard import Metric, refuse_cutoffs_per_query
from ..metrics.soft import as_metric, refuse_inexact
from ..progress import shows
from ..statistics import LEAST_RESAMPLES
from .baselines import METHODS, Method
from .mix import Mix, check_mix
from .models import check_models
from .problem import FIT
from .scores import NORMALIZATIONS
from .solve import soft_ascent

SOFT, EQUAL, FUSION = "soft", "equal", "rrf"
CONSTRAINTS = get_args(Constraint)
_METHODS: dict[str, Method] = {SOFT: soft_ascent, **METHODS}


@dataclass(frozen=True)
class Settings:
    """A blender's parameters, checked; ``sigma`` and ``lower_is_better`` are once the data is known.

    Attributes
    ----------
    metric : what to train on.
    noise, normalize, constraint : as given.
    mix : metrics and their weights, or "auto"; nothing for methods that maximise the metric itself.
    l2 : as given.
    method, method_params : the function that finds the weights, and its options.
    n_boot : as given.
    rng : what everything is drawn from.
    progress : whether to show a bar.
    """

    metric: Metric
    noise: Noise
    normalize: Normalize
    constraint: Constraint
    mix: Mix | str
    l2: float
    method: Method
    method_params: Mapping[str, Any]
    n_boot: int
    rng: np.random.Generator
    progress: bool


def check_settings(blender: Any) -> Settings:
    """Check a blender's parameters."""
    method = one_of(FIT, "method", blender.method, _METHODS)
    metric = as_metric(FIT, blender.metric, {})
    refuse_cutoffs_per_query(FIT, metric)
    if method == SOFT:
        refuse_inexact(FIT, metric, "another method maximises the metric itself")
    if blender.models is not None:
        check_models(FIT, blender.models)
    mix = check_mix(FIT, blender.mix)
    return Settings(
        metric=metric,
        noise=one_of(FIT, "noise", blender.noise, LAWS),
        normalize=one_of(FIT, "normalize", blender.normalize, NORMALIZATIONS),
        constraint=one_of(FIT, "constraint", blender.constraint, CONSTRAINTS),
        mix=mix if method == SOFT else (),
        l2=non_negative_number(FIT, "l2", blender.l2),
        method=_METHODS[method],
        method_params=_method_params(blender, method),
        n_boot=_resamples(blender.n_boot),
        rng=generator_of(FIT, blender.random_state),
        progress=shows(FIT, blender.progress),
    )


def _resamples(n_boot: Any) -> int:
    """How many resamples are behind an interval; 0 for no interval."""
    draws = whole_number(FIT, "n_boot", n_boot, 0)
    if 0 < draws < LEAST_RESAMPLES:
        raise ValueError(f"{FIT}: n_boot must be 0 (no intervals) or at least {LEAST_RESAMPLES}; got {short(n_boot)}")
    return draws


def _method_params(blender: Any, method: str) -> Mapping[str, Any]:
    given = blender.method_params
    if given is not None and (not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given)):
        raise TypeError(f"{FIT}: method_params must be a dict of names and values; got {short(given)}")
    params = dict(given or {})
    taken = [name for name, way in signature(_METHODS[method]).parameters.items() if way.kind is way.KEYWORD_ONLY]
    if method == SOFT:
        taken.remove("n_starts")  # which the blender has for itself
    for name in params:
        if name not in taken:
            rule = f"method_params of {method!r} must be among {', '.join(taken)}"
            raise TypeError(f"{FIT}: {rule if taken else f'method {method!r} takes no method_params'}; got {name!r}")
    n_starts = whole_number(FIT, "n_starts", blender.n_starts, 1)
    if method == SOFT:
        params["n_starts"] = n_starts
    return params
