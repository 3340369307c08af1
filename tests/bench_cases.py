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
