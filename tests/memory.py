"""How much memory a call takes."""

from __future__ import annotations

import tracemalloc


def peak_memory(call):
    """Bytes that NumPy and Python take at most while a call runs."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
