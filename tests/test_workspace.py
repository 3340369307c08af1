"""The room of a kernel's work that is kept: used again, by one at a time, let go if large; no result depends on it."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from functools import partial

import numpy as np
import pytest

from boostsoft import SoftMetric
from boostsoft.kernels import workspace as module
from boostsoft.kernels.families import MARKED, PLAIN
from boostsoft.kernels.simd import LANES
from boostsoft.kernels.workspace import (
    ABSORBED,
    CASCADES,
    COUNTED,
    MIXED,
    MOST_MET,
    ODDS,
    ROWS,
    own_workspace,
    sizes_of_parts,
    workspace,
)

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


def numbers(n=30):
    with own_workspace(ODDS, PLAIN, n, 10, 50.0) as room:
        return room[0]


def test_it_is_used_again_by_any_thread():
    mine = numbers()
    assert numbers() is mine
    assert in_new_thread(numbers) is mine
    assert numbers(31) is not mine
    assert numbers() is mine


def test_nobody_has_it_at_the_same_time():
    with own_workspace(ODDS, PLAIN, 30, 10, 50.0) as mine:
        assert in_new_thread(numbers) is not mine[0]
        assert numbers() is not mine[0]


def test_it_comes_back_from_an_error():
    mine = numbers()
    with pytest.raises(ZeroDivisionError), own_workspace(ODDS, PLAIN, 30, 10, 50.0):
        raise ZeroDivisionError
    assert numbers() is mine


def test_a_large_one_is_let_go(monkeypatch):
    monkeypatch.setattr(module, "_idle", deque())
    monkeypatch.setattr(module, "_MOST_KEPT", 1000)
    numbers()
    assert not module._idle


def test_few_are_kept(monkeypatch):
    monkeypatch.setattr(module, "_idle", deque(maxlen=3))
    kept = [numbers(n) for n in range(20, 30)]
    assert numbers(29) is kept[-1]
    assert numbers(20) is not kept[0]
    assert len(module._idle) == 3


def test_a_long_list_leaves_the_room_of_the_others_alone(monkeypatch):
    """One for lists as long as the longest would be made again for every range of short ones."""
    made = []
    monkeypatch.setattr(module, "workspace", lambda *key: made.append(key[2]) or workspace(*key))
    monkeypatch.setattr(module, "_idle", deque(maxlen=8))
    on_threads(monkeypatch, 1)
    rng = np.random.default_rng(0)
    sizes = [20, 3000, 30, 25, 2500, 10]
    y, s = rng.integers(0, 3, sum(sizes)), rng.normal(size=sum(sizes))
    together = SoftMetric("ndcg@10", sigma=0.3).gradient(y, s, group=sizes)
    assert sorted(made) == [30, 3000]
    at = np.cumsum([0, *sizes])
    for begin, end in itertools.pairwise(at):
        alone = SoftMetric("ndcg@10", sigma=0.3).gradient(y[begin:end], s[begin:end], group=[end - begin])
        np.testing.assert_allclose(together[begin:end], alone / len(sizes), rtol=1e-14)


@pytest.mark.parametrize("spec", ["ndcg@10", "ndcg", "map@5", "err"])
def test_no_result_depends_on_what_a_thread_did_before(spec, monkeypatch):
    on_threads(monkeypatch, 1)
    y, s = data(0, 70)
    metric = SoftMetric(spec, sigma=0.3)

    def alone():
        return metric.value_gradient_hessian(y, s, group=[70] * 3)

    fresh = in_new_thread(alone)
    # the same room, with other numbers in it: under Gumbel noise also what waits for documents behind a shorter list
    rooms = itertools.product((1e-3, 1.0, 1e4), ("gaussian", "gumbel"), ([70] * 3, [70, 70, 40, 30]))
    for scale, noise, sizes in rooms:
        labels, scores = data(1, 70)
        other = SoftMetric(spec, noise=noise, sigma=0.3)
        other.value_gradient_hessian(labels, scores * scale, group=sizes)
        for got, wanted in zip(alone(), fresh, strict=True):
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("family", [PLAIN, MARKED])
@pytest.mark.parametrize("engine", [ROWS, ODDS, MIXED, CASCADES, ABSORBED, COUNTED])
def test_every_group_has_the_parts_that_kernels_take_from_it(engine, family):
    sizes = sizes_of_parts(engine, family, 50, 10, 40.0)
    assert {group: len(parts) for group, parts in sizes.items()} == module._GROUPS
    numbers, at, places, places_at = workspace(engine, family, 50, 10, 40.0)
    wanted = [size for parts in sizes.values() for size in parts]
    assert np.all(np.diff(at) >= wanted)
    assert at[-1] <= numbers.size
    assert places_at[-1] <= places.size


CASES = {
    "ndcg@10": (8, 33, 130, 256),  # in short clusters and by odds
    "dcg@3": (9, 200),
    "dcg@100": (161, 256),
    "dcg@170": (180, 400),  # rows with ranks in their lanes
    "dcg": (33, 64, 1025),  # by exponentials
    "map": (9, 64, 1025),
    "err": (9, 64, 1025),
    "map@5": (16, 40, 256),
    "err@5": (16, 40, 256),
    "map@170": (180, 400),
    "mrr@170": (180, 400),
}
FENCE = 64


def fenced(fences, sizes, dtype):
    """As the module's ``_buffer``, with fences behind the parts."""
    padded = [-(-size // LANES) * LANES for size in sizes]
    buffer = np.zeros(sum(padded) + FENCE * len(sizes) + LANES, dtype)
    begin = -(buffer.ctypes.data // buffer.itemsize) % LANES + np.cumsum([0, *(size + FENCE for size in padded)])
    for at, size in zip(begin, padded, strict=False):
        fence = buffer[at + size : at + size + FENCE]
        fence[:] = np.nan if dtype == np.float64 else -1
        fences.append(fence)
    return buffer, begin


def stand(fences):
    return all(np.isnan(fence).all() if fence.dtype == np.float64 else (fence == -1).all() for fence in fences)


@pytest.mark.parametrize("n", [MOST_MET - 1, MOST_MET + 1])
def test_a_chain_of_documents_of_which_few_meet_stays_within_its_part(n, monkeypatch):
    """Each changes places with its neighbours: there is room for so many, and longer chains go another way."""
    y, s = np.arange(n) % 3, -1.0 * np.arange(n)
    wanted = SoftMetric("dcg", sigma=1.0, accuracy="high").value_gradient_hessian(y, s, group=[n])
    fences: list = []
    on_threads(monkeypatch, 1)
    monkeypatch.setattr(module, "_idle", deque())
    monkeypatch.setattr(module, "_buffer", partial(fenced, fences))
    found = SoftMetric("dcg", sigma=1.0).value_gradient_hessian(y, s, group=[n])
    assert fences
    assert stand(fences)
    for got, expected in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("noise", ["gaussian", "gumbel"])
def test_kernels_stay_within_their_parts(noise, monkeypatch):
    """Behind every part of a workspace there is what nobody may write to, and what no result may depend on."""
    fences: list = []
    monkeypatch.setattr(module, "_idle", deque())
    on_threads(monkeypatch, 1)
    rng = np.random.default_rng(0)
    lists = [(spec, n) for spec, lengths in CASES.items() for n in lengths]
    for (spec, n), sigma in itertools.product(lists, (1e-2, 0.3, 10.0)):
        s, metric = rng.normal(size=n), SoftMetric(spec, noise=noise, sigma=sigma)
        for y in (rng.integers(0, 3, n), np.arange(n) == n // 2):
            wanted = metric.value_gradient_hessian(y, s, group=[n])
            with monkeypatch.context() as changed:
                changed.setattr(module, "_idle", deque())
                changed.setattr(module, "_buffer", partial(fenced, fences))
                found = metric.value_gradient_hessian(y, s, group=[n])
            for got, expected in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(got, expected)
            assert stand(fences)
            fences.clear()
