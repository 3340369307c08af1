"""What the plots of blends share: the two kinds of metric, and words on noise, metric and models."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ..arguments import Texts, short
from ..choices import CurveKind
from ..drawing import brief, literal, metric_title, noise_title

if TYPE_CHECKING:
    from ..blending import BlendCurve, BlendSurface

HARD: CurveKind = "hard"
SOFT: CurveKind = "soft"


def noise_words(found: BlendCurve | BlendSurface) -> str:
    """The noise in words."""
    soft = found.soft_metric
    size = f"{soft.sigma:.2g}"
    unit = "spread" if soft.sigma_unit == "spread" else "score unit"
    return f"{noise_title(soft.noise)} of {size} {unit}{'' if size == '1' else 's'}"


def title(found: BlendCurve | BlendSurface) -> str:
    """The metric as it is written in prose."""
    return literal(metric_title(found.metric.spec))


def model_names(caller: str, names: Texts | None, otherwise: Sequence[str], most: int = 26) -> list[str]:
    """What the models are called, one name each of at most so many letters."""
    given = otherwise if names is None else names
    if isinstance(given, str) or not isinstance(given, Collection) or len(given) != len(otherwise):
        raise ValueError(f"{caller}: names must be one for each of {len(otherwise)} models; got {short(given)}")
    return [literal(name) for name in brief([str(name) for name in given], most)]
