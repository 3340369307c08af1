"""The gates can fail: faults planted in a copy of the kernels turn the named tests red, and only those."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import boostsoft

HERE = Path(__file__).parent
GATES = {
    "enumeration": "test_gumbel_is_plackett_luce_by_enumeration[ndcg]",
    "oracle": "test_value_gradient_and_hessian_are_the_oracles[generic-ndcg-gaussian]",
    "flow": "test_flow_is_the_sum_over_pairs[logistic]",
    "softmax": "test_gumbel_top_one_is_the_softmax[60]",
    "limit": "test_the_limit_of_little_noise_is_the_hard_metric[dcg-gaussian]",
    "layouts": "test_both_layouts_of_the_rows_agree[2.0-gaussian]",
}
# name -> (file, text, replacement, gates that must turn red)
FAULTS = {
    "nothing": ("kernels/recursion.py", "", "", set()),
    "wrong sign": (
        "kernels/recursion.py",
        "gradient[j] += lane_sum(splat(c) * pull - loss)",
        "gradient[j] += lane_sum(splat(c) * pull + loss)",
        {"enumeration", "oracle", "flow", "softmax"},
    ),
    "dropped term": (
        "kernels/recursion.py",
        "loss = loss + load(A1, base + i) * c1 + a0 * c0",
        "loss = loss + load(A1, base + i) * c1",
        {"enumeration", "oracle", "flow", "softmax"},
    ),
    "rank off by one": (
        "kernels/block.py",
        "here = discount[low + c]",
        "here = discount[low + c + 1]",
        {"enumeration", "oracle", "flow", "limit", "layouts"},
    ),
}


def plant(folder, file, text, replacement):
    """Copy the package and this suite's engine tests into a folder, with one text replaced once."""
    shutil.copytree(Path(boostsoft.__file__).parent, folder / "boostsoft", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "tests").mkdir()
    for helper in (*HERE.glob("oracle*.py"), HERE / "test_engine.py"):
        shutil.copy(helper, folder / "tests")
    source = (folder / "boostsoft" / file).read_text(encoding="utf-8")
    if text:
        assert source.count(text) == 1, f"{file} no longer holds {text!r} once: renew the fault"
    (folder / "boostsoft" / file).write_text(source.replace(text, replacement), encoding="utf-8")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault, tmp_path):
    file, text, replacement, red = FAULTS[fault]
    plant(tmp_path, file, text, replacement)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "-rf"]
    command += [f"tests/test_engine.py::{test}" for test in GATES.values()]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    failed = set(re.findall(r"^FAILED \S+::(\S+)", done.stdout, re.MULTILINE))
    assert {name for name, test in GATES.items() if test in failed} == red, done.stdout
    assert re.search(rf"\b{len(GATES) - len(red)} passed", done.stdout), done.stdout
