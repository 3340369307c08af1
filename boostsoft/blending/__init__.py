"""Blends of rankers: weights on a soft metric, curves and surfaces of mixtures."""

from .blender import SoftBlender
from .curve import BlendCurve, blend_curve
from .surface import BlendSurface, blend_surface

__all__ = ["BlendCurve", "BlendSurface", "SoftBlender", "blend_curve", "blend_surface"]
