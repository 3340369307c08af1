"""Blends of rankers: weights on a soft metric, curves and surfaces of mixtures."""

from typing import TYPE_CHECKING, Any

from .curve import BlendCurve, CurveOptimum, blend_curve
from .surface import BlendSurface, SurfaceOptimum, blend_surface

if TYPE_CHECKING:
    from .blender import SoftBlender

__all__ = [
    "BlendCurve",
    "BlendSurface",
    "CurveOptimum",
    "SoftBlender",
    "SurfaceOptimum",
    "blend_curve",
    "blend_surface",
]


if not TYPE_CHECKING:  # to type checkers any name would be there

    def __getattr__(name: str) -> Any:
        if name == "SoftBlender":  # with scikit-learn, which the command line's parser does without
            from .blender import SoftBlender

            return SoftBlender
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__  # completion is not to offer the modules behind these
