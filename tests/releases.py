"""What the oldest releases that boostsoft allows cannot do: the suite passes with them but for that."""

from __future__ import annotations

import re
from importlib.metadata import version

import lightgbm
import pytest


def older(release: str, than: tuple[int, int]) -> bool:
    """Whether a release such as "4.10.0rc1" comes before 4.x."""
    major, minor = re.findall(r"\d+", release)[:2]
    return (int(major), int(minor)) < than


def left_out(release: str, than: tuple[int, int], reason: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(older(release, than), reason=reason)


IS_QUIET = left_out(lightgbm.__version__, (4, 5), "LightGBM before 4.5 prints in spite of verbosity=-1")
# SciPy's name of a source of random numbers
RANDOM = "random_state" if older(version("scipy"), (1, 15)) else "rng"
