"""Code in a Python of its own: what it imports is known."""

from __future__ import annotations

import subprocess
import sys


def passes_alone(code):
    """Run code that must end well and write nothing to the error stream; returns what it prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout
