"""Code in a Python of its own: what it imports is known."""

from __future__ import annotations

import os
import subprocess
import sys


def passes_alone(code, **environment):
    """Run code that must end well and write nothing to the error stream; returns what it prints."""
    given = {**os.environ, **environment}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=given)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout
