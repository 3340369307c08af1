"""A scikit-learn ranker on both boosters."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimator import SoftRanker

__all__ = ["SoftRanker"]


if not TYPE_CHECKING:  # to type checkers any name would be there

    def __getattr__(name: str) -> Any:
        if name == "SoftRanker":  # with scikit-learn, which the settings do without
            from .estimator import SoftRanker

            return SoftRanker
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
