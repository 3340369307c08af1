"""The kernels as plain Python: the same numbers, so that a debugger and a coverage run see what is compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np

import boostsoft as bs
from boostsoft.objectives import REFERENCES

CODE = """
import json, numpy as np, boostsoft as bs
from boostsoft.objectives import REFERENCES, reference_objective
y, s = [0, 3, 1, 0, 2, 1], [0.3, -0.2, 0.3, 1.5, -30.0, 0.0]
found = []
for noise in ("gaussian", "gumbel", "logistic"):
    for spec in ("ndcg@3", "rbp"):
        soft = bs.SoftMetric(spec, noise=noise, sigma=0.7)
        value, gradient, hessian = soft.value_gradient_hessian(y, s, group=[4, 2])
        found.append([value, *gradient, *hessian, bs.Metric(spec)(y, s, group=[4, 2])])
# the way for longer lists, and one list that is so long that ranks fill the lanes of its rows
y, s = np.arange(30) % 4, np.sin(np.arange(30.0))
for noise in ("gaussian", "gumbel", "logistic"):
    found.append(bs.SoftMetric("dcg@3", noise=noise, sigma=0.5).gradient(y, s, group=[30]).tolist())
y, s = np.arange(55) % 4, np.sin(np.arange(55.0))
for spec in ("map@50", "dcg@50", "mrr@3", "map@3", "dcg", "mrr", "map"):  # by rows, by odds, and by exponentials
    found.append(bs.SoftMetric(spec, sigma=0.5).gradient(y, s, group=[55]).tolist())
for derivative in bs.SoftMetric("dcg@3", noise="gumbel", sigma=0.5).value_gradient_hessian(y, s, group=[55])[1:]:
    found.append(derivative.tolist())  # far documents by their moments
groups = bs.QueryGroups.from_sizes([4, 0, 2])
for kind in REFERENCES:
    rule = reference_objective(kind)
    queries = rule.prepare([0, 3, 1, 0, 2, 1], groups)
    found.append(np.concatenate(rule.gradient_curvature(queries, np.array([0.3, -0.2, 0.3, 1.5, -30.0, 0.0]))).tolist())
print(json.dumps(found))
"""


def run(disable):
    environment = {**os.environ, "NUMBA_DISABLE_JIT": disable, "NUMBA_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CODE], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_same_numbers_without_the_compiler():
    plain, compiled = run("1"), run("0")
    assert len(plain) == 18 + len(REFERENCES)
    for got, wanted in zip(plain, compiled, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)
    assert compiled[0][0] == bs.SoftMetric("ndcg@3", noise="gaussian", sigma=0.7)(
        [0, 3, 1, 0, 2, 1], [0.3, -0.2, 0.3, 1.5, -30.0, 0.0], group=[4, 2]
    )
