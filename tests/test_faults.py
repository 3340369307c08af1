"""The gates can fail: faults planted in a copy of the kernels turn the named tests red, and only those."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import boostsoft

HERE = Path(__file__).parent
GATES = {
    "enumeration": "test_gumbel_is_plackett_luce_by_enumeration[ndcg]",
    "odds": "test_short_lists_by_either_way_are_the_oracles[long-generic-gaussian]",
    "oracle": "test_value_gradient_and_hessian_are_the_oracles[generic-ndcg-gaussian]",
    "flow": "test_flow_is_the_sum_over_pairs[logistic]",
    "softmax": "test_gumbel_top_one_is_the_softmax[60]",
    "limit": "test_the_limit_of_little_noise_is_the_hard_metric[dcg-gaussian]",
    "layouts": "test_both_layouts_of_the_rows_agree[50.0-gaussian]",
}
# name -> (file, text, replacement, gates that must turn red); those that ask for accuracy="high" go through rows
FAULTS = {
    "dropped product": (
        "kernels/odds.py",
        "f = f + load(A1, base + LANES * (c - d)) * c1",
        "f = f + splat(0.0) * c1",
        {"odds"},
    ),
    "dropped term": (
        "kernels/recursion.py",
        "loss = loss + load(A1, base + i) * c1 + a0 * c0",
        "loss = loss + load(A1, base + i) * c1",
        {"enumeration", "odds", "oracle", "flow", "softmax", "layouts"},
    ),
    "rank off by one": (
        "kernels/plain.py",
        "here = discount[low + c]",
        "here = discount[low + c + 1]",
        {"enumeration", "odds", "oracle", "flow", "limit", "layouts"},
    ),
}


def plant(folder, file, text, replacement):
    """Copy the package and this suite's engine tests into a folder, with one text replaced once."""
    shutil.copytree(Path(boostsoft.__file__).parent, folder / "boostsoft", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "tests").mkdir()
    for helper in (*HERE.glob("oracle*.py"), HERE / "cases.py", HERE / "test_engine.py"):
        shutil.copy(helper, folder / "tests")
    source = (folder / "boostsoft" / file).read_text(encoding="utf-8")
    assert source.count(text) == 1, f"{file} no longer holds {text!r} once: renew the fault"
    (folder / "boostsoft" / file).write_text(source.replace(text, replacement), encoding="utf-8")


def start(folder):
    """Run the gates of a copy on one thread, as plain Python: nothing of the copy has been compiled before."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "-rf"]
    command += [f"tests/test_engine.py::{test}" for test in GATES.values()]
    settings = {"PYTHONPATH": str(folder), "NUMBA_NUM_THREADS": "1", "NUMBA_DISABLE_JIT": "1"}
    return subprocess.Popen(command, cwd=folder, env={**os.environ, **settings}, text=True, stdout=subprocess.PIPE)


def test_planted_faults_are_found(tmp_path):
    """All copies side by side; that the gates are green without a fault is seen where they stand."""
    started = {}
    for number, (fault, (file, text, replacement, _)) in enumerate(FAULTS.items()):
        folder = tmp_path / f"fault{number}"
        plant(folder, file, text, replacement)
        started[fault] = start(folder)
    said = {fault: process.communicate(timeout=600)[0] for fault, process in started.items()}
    for fault, (_, _, _, red) in FAULTS.items():
        failed = set(re.findall(r"^FAILED \S+::(\S+)", said[fault], re.MULTILINE))
        assert {name for name, test in GATES.items() if test in failed} == red, f"{fault}: {said[fault]}"
        assert re.search(rf"\b{len(GATES) - len(red)} passed", said[fault]), f"{fault}: {said[fault]}"
