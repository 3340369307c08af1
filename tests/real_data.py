"""Where real data sets lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def real_folder(name: str) -> Path:
    """The folder of a real data set; absent data skip the test, unless BOOSTSOFT_DATA promised them."""
    promised = os.environ.get("BOOSTSOFT_DATA")
    folder = Path(promised or Path(__file__).parents[2] / "shared" / "data") / name
    if folder.is_dir():
        return folder
    if promised:
        pytest.fail(f"BOOSTSOFT_DATA is set, but {folder} does not exist")
    return pytest.skip(f"real data not found at {folder} (set BOOSTSOFT_DATA)")
