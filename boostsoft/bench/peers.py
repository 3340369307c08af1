"""Which peers are installed, in which version; what is not is named and left out."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from .timing import first_line

# import name -> (what it is called, the packages that bring it)
KNOWN: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "lightgbm": ("LightGBM", ("lightgbm",)),
    "xgboost": ("XGBoost", ("xgboost", "xgboost-cpu")),
    "catboost": ("CatBoost", ("catboost",)),
    "sklearn": ("scikit-learn", ("scikit-learn",)),
    "ranx": ("ranx", ("ranx",)),
    "pytrec_eval": ("pytrec_eval", ("pytrec_eval-terrier", "pytrec_eval")),
}

NEEDED: Mapping[str, tuple[str, ...]] = {
    "objective": ("lightgbm", "xgboost", "catboost"),
    "training": ("lightgbm", "xgboost"),
    "tracking": ("lightgbm", "xgboost"),
    "hard": ("lightgbm", "sklearn", "ranx", "pytrec_eval"),
    "growth": ("lightgbm", "xgboost"),
    "limits": (),
    "cold": (),
    "blend": (),  # the other searches are written here, over SciPy
}


@dataclass(frozen=True)
class Peers:
    """Peers by import name: the version of those that can be imported, and why the others cannot."""

    versions: Mapping[str, str]
    missing: Mapping[str, str]

    def has(self, name: str) -> bool:
        """Whether a peer can be imported."""
        return name in self.versions

    def in_words(self) -> str:
        """What is compared with and what is left out, in one line."""
        found = ", ".join(f"{KNOWN[name][0]} {version}" for name, version in self.versions.items())
        left = ", ".join(f"{KNOWN[name][0]} ({why})" for name, why in self.missing.items())
        return f"{found or 'nobody'}{f'; left out: {left}' if left else ''}"


def find_peers(parts: Iterable[str]) -> Peers:
    """Import every peer that the parts compare with, so that no import falls into a timed call."""
    return import_peers({name for part in parts for name in NEEDED[part]})


def import_peers(wanted: Collection[str]) -> Peers:
    """Import those of these names that can be, in the order of ``KNOWN``."""
    versions, missing = {}, {}
    for name, (_, packages) in KNOWN.items():
        if name not in wanted:
            continue
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            missing[name] = "not installed" if error.name == name else f"cannot be imported: {first_line(error)}"
        except Exception as error:  # XGBoost's own, of a library that cannot be loaded, say
            missing[name] = f"cannot be imported: {first_line(error)}"
        else:
            versions[name] = _version(packages) or str(getattr(module, "__version__", "of unknown version"))
    return Peers(versions, missing)


def _version(packages: tuple[str, ...]) -> str | None:
    for package in packages:
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None
