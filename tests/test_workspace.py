"""The room of a kernel's work that a thread keeps: used again, not kept when large, and no result depends on it."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from boostsoft import SoftMetric
from boostsoft.kernels import workspace as module
from boostsoft.kernels.families import PLAIN
from boostsoft.kernels.workspace import ODDS, own_workspace

from .cases import on_threads


def data(seed, n=40):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 3, 3 * n), rng.normal(size=3 * n)


def in_new_thread(call):
    found = []
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()
    thread.join()
    return found[0]


def test_a_thread_uses_its_own_again():
    mine = own_workspace(ODDS, PLAIN, 30, 10, 50.0)
    assert own_workspace(ODDS, PLAIN, 30, 10, 50.0)[0] is mine[0]
    assert in_new_thread(lambda: own_workspace(ODDS, PLAIN, 30, 10, 50.0))[0] is not mine[0]
    assert own_workspace(ODDS, PLAIN, 31, 10, 50.0)[0] is not mine[0]


def test_a_large_one_is_let_go(monkeypatch):
    monkeypatch.setattr(module, "_MOST_KEPT", 1000)
    assert own_workspace(ODDS, PLAIN, 30, 10, 50.0)[0] is not own_workspace(ODDS, PLAIN, 30, 10, 50.0)[0]


@pytest.mark.parametrize("spec", ["ndcg@10", "ndcg", "map@5", "err"])
def test_no_result_depends_on_what_a_thread_did_before(spec, monkeypatch):
    on_threads(monkeypatch, 1)
    y, s = data(0)
    metric = SoftMetric(spec, sigma=0.3)

    def alone():
        return metric.value_gradient_hessian(y, s, group=[40] * 3)

    fresh = in_new_thread(alone)
    for scale in (1e-3, 1.0, 1e4):  # the same room, with other numbers in it
        labels, scores = data(1)
        metric.value_gradient_hessian(labels, scores * scale, group=[40] * 3)
        for got, wanted in zip(alone(), fresh, strict=True):
            np.testing.assert_array_equal(got, wanted)
