"""Interleaved timing: every contender once per round, round after round, and statistics over the rounds.

A machine that other work shares is slow for seconds at a time. Contenders that are timed one after the other within a
round meet the same conditions, so that their ratio within a round means something where two separate runs do not.
"""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from ..arguments import FloatArray

Clock = Callable[[], float]
Measure = Callable[[], float]


class Spread(NamedTuple):
    """The median over rounds and its quartiles; NaN where no round gave a number."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: FloatArray) -> Spread:
        """Quartiles of the finite values."""
        finite = values[np.isfinite(values)]
        if finite.size == 0:
            return cls(float("nan"), float("nan"), float("nan"))
        low, middle, high = np.quantile(finite, (0.25, 0.5, 0.75))
        return cls(float(middle), float(low), float(high))

    def times(self, factor: float) -> Spread:
        """In another unit."""
        return Spread(self.median * factor, self.low * factor, self.high * factor)


@dataclass(frozen=True)
class Contender:
    """Something to be timed.

    Attributes
    ----------
    name : str
        What it is called in tables.
    measure : callable
        Does it and returns the seconds of one unit (an iteration, a call).
    peer : bool
        Whether it is someone else's, which may refuse the data: it is then named and left out. Our own never may.
    warm_up : callable, optional
        What to do in the round that does not count, in place of ``measure``.
    """

    name: str
    measure: Measure
    peer: bool = False
    warm_up: Callable[[], object] | None = None


class Watcher(Protocol):
    """Is told what is being timed."""

    def begin(self, steps: int) -> None:
        """So many measurements follow."""
        ...

    def step(self, text: str) -> None:
        """The next one starts."""
        ...


class Silent:
    """A watcher that does nothing."""

    def begin(self, steps: int) -> None:
        """Nothing."""

    def step(self, text: str) -> None:
        """Nothing."""


@dataclass(frozen=True)
class Rounds:
    """Seconds of every contender, (n_rounds,) each, and why others were left out."""

    seconds: Mapping[str, FloatArray]
    left_out: Mapping[str, str] = field(default_factory=dict)

    def spread(self, name: str, baseline: str | None = None) -> Spread:
        """Median and quartiles of one contender, less its baseline round by round."""
        return Spread.of(self.net(name, baseline))

    def net(self, name: str, baseline: str | None) -> FloatArray:
        """Seconds in each round, less those of the baseline in the same round."""
        return self.seconds[name] if baseline is None else self.seconds[name] - self.seconds[baseline]


def ratio(above: FloatArray, below: FloatArray) -> Spread:
    """Spread of the ratio within rounds; a round in which one of them is not above 0 says nothing.

    What is left of a tree's time may be less than 0 where other work ran beside, and would meet every target.
    """
    quotient = np.full(above.size, np.nan)
    np.divide(above, below, out=quotient, where=(above > 0) & (below > 0))
    return Spread.of(quotient)


def interleave(contenders: Sequence[Contender], rounds: int, watcher: Watcher | None = None) -> Rounds:
    """Time A B C, A B C, ...: a round that warms up and does not count, then ``rounds`` that do."""
    told = watcher or Silent()
    told.begin(len(contenders) * (rounds + 1))
    left_out: dict[str, str] = {}
    for contender in contenders:
        told.step(f"{contender.name}, warming up")
        try:
            (contender.warm_up or contender.measure)()
        except Exception as error:
            if not contender.peer:
                raise
            left_out[contender.name] = first_line(error)
    running = [contender for contender in contenders if contender.name not in left_out]
    seconds: dict[str, list[float]] = {contender.name: [] for contender in running}
    for number in range(rounds):
        for contender in running:
            told.step(f"{contender.name}, round {number + 1} of {rounds}")
            seconds[contender.name].append(contender.measure())
    return Rounds({name: np.array(found) for name, found in seconds.items()}, left_out)


def timed(action: Callable[[], object], at_least: float = 0.0, clock: Clock = time.perf_counter) -> Measure:
    """Measure an action: time after time until ``at_least`` seconds have gone by; the seconds of one time.

    As in ``timeit``, nothing is collected meanwhile: with all peers imported that takes a tenth of a second, and falls
    on whoever happens to be timed.
    """

    def measure() -> float:
        collects = gc.isenabled()
        gc.disable()
        try:
            times, started = 0, clock()
            while True:
                action()
                times += 1
                elapsed = clock() - started
                if elapsed >= at_least:
                    return elapsed / times
        finally:
            if collects:
                gc.enable()

    return measure


def first_line(error: BaseException) -> str:
    """An error in one short line, without the time and the place in its own source that XGBoost begins with.

    >>> first_line(ValueError("[03:58:08] /workspace/src/data/data.cc:1196: Check failed: valid: Input is infinite."))
    'Check failed: valid: Input is infinite.'
    """
    lines = re.sub(r"^\[[0-9:]+\] \S+:\d+: ", "", str(error).strip()).splitlines()
    text = lines[0] if lines else type(error).__name__
    return text if len(text) <= 160 else text[:157] + "..."


def in_hours(seconds: float) -> str:
    """A duration in words.

    >>> in_hours(30.0), in_hours(600.0), in_hours(9000.0)
    ('a minute', '10 minutes', '2.5 hours')
    """
    if seconds < 90:
        return "a minute"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
