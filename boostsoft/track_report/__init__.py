"""One interactive page on what each tree adds: self-contained, so that it can be sent, and opened offline."""

from .write import write_report

__all__ = ["write_report"]


def __dir__() -> list[str]:
    return __all__  # completion is not to offer the modules behind these
