"""What the tests of the benchmark share."""

from __future__ import annotations


class Told:
    """A watcher that keeps what it is told."""

    def __init__(self):
        self.steps, self.texts = [], []

    def begin(self, steps):
        self.steps.append(steps)

    def step(self, text):
        self.texts.append(text)


class Time:
    """Stands in for the module ``time``: seconds go by when it is told so."""

    def __init__(self):
        self.now = 3.0

    def perf_counter(self):
        return self.now

    def go_by(self, seconds):
        self.now += seconds
