"""What a type checker says of a user's code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import boostsoft

CODE = """\
import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import boostsoft as bs
import boostsoft.lightgbm as bl
import boostsoft.xgboost as bx

scores: NDArray[np.float64] = np.zeros(4)
by_name: dict[str, float] = {"kendall": 0.3}
by_value: dict[bs.Metric, float] = {bs.Metric("kendall"): 0.3}
by_either: dict[str | bs.Metric, float] = {"kendall": 0.3, bs.Metric("auc"): 1}
bl.objective(mix=by_name)
bl.sklearn_objective(mix=by_value)
bx.objective(mix=by_either, losses={"xendcg": 1})
bx.objective(mix={"kendall": 1})
soft = bs.SoftMetric("ndcg@10", sigma=1, gain="linear")
metrics: list[bs.Metric | bs.SoftMetric] = [soft, soft.hard]
for metric in metrics:
    assert_type(metric([0, 1, 2, 0], scores, group=[2, 2]), float)
    assert_type(metric.per_query([0, 1, 2, 0], scores, qid=["a", "a", "b", "b"]), NDArray[np.float64])
assert_type(bs.SoftRanker().fit(scores[:, None], scores).predict(scores[:, None]), NDArray[np.float64])
assert_type(bs.SoftBlender().fit(scores[:, None], scores), bs.SoftBlender)
"""


def test_legal_calls_pass_a_strict_check(tmp_path):
    pytest.importorskip("mypy")
    script = tmp_path / "users.py"
    script.write_text(CODE, encoding="utf-8")
    root = Path(boostsoft.__file__).parents[1]
    path = {} if root.name == "site-packages" else {"MYPYPATH": str(root)}  # mypy finds what is installed by itself
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", tmp_path, script],
        capture_output=True, text=True, check=False, cwd=tmp_path,
        env=os.environ | path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
