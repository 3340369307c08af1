"""Ctrl-C in the middle of compiling."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
from numba import types
from numba.core.caching import NullCache
from numba.extending import intrinsic

from boostsoft import SoftRanker
from boostsoft.kernels.compile import kernel
from boostsoft.kernels.interrupts import held_back


@intrinsic
def _interrupted(typingctx, number):
    """The number itself, and a Ctrl-C while that is found out."""
    os.kill(os.getpid(), signal.SIGINT)
    return types.float64(types.float64), lambda context, builder, signature, args: args[0]


@kernel
def _twice(number):
    return 2.0 * _interrupted(number)


_twice._cache = NullCache()  # what was kept would not be compiled


@pytest.fixture(autouse=True)
def _handled():
    """As Python does by itself, but not in a shell's background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_kernel_is_compiled_whole_and_then_interrupted():
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        _twice(1.5)
    assert signal.getsignal(signal.SIGINT) is handler
    assert _twice.signatures == [(types.float64,)]
    assert _twice(1.5) == 3.0  # it is not compiled again, which would send another


def test_xgboosts_matrix_is_made_whole_and_then_interrupted(monkeypatch):
    """It would go on with less data, to an error of its own or a crash."""
    xgboost, made = pytest.importorskip("xgboost"), []

    class Interrupted(xgboost.QuantileDMatrix):
        def __init__(self, *arguments, **options):
            os.kill(os.getpid(), signal.SIGINT)
            super().__init__(*arguments, **options)
            made.append(self)

    monkeypatch.setattr(xgboost, "QuantileDMatrix", Interrupted)
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 3
    with pytest.raises(KeyboardInterrupt):
        SoftRanker("xgboost", n_estimators=1).fit(X, y, group=[10, 10])
    assert [matrix.num_row() for matrix in made] == [20]


def test_the_programs_own_handler_is_called_behind_the_block():
    seen = []
    signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    with held_back():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        assert seen == []
    assert seen == [signal.SIGINT]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with held_back():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_other_threads_leave_handlers_alone():
    found = []

    def work():
        with held_back():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGINT)]
