"""Numbers as texts, tables and pictures write them."""

from __future__ import annotations

import numpy as np


def number(value: float, digits: int = 4, sign: bool = False) -> str:
    """A number with so many decimals, fewer from 1,000 on; in powers of ten if they show nothing; a dash for NaN.

    >>> number(0.25), number(0.25, 2, sign=True), number(0.0), number(3e-7), number(float("nan")), number(float("inf"))
    ('0.2500', '+0.25', '0.0000', '3.0e-07', '-', 'inf')
    >>> number(6e-5), number(4e-5)
    ('0.0001', '4.0e-05')
    >>> number(1000.0), number(81254321.0)
    ('1,000.000', '81,254,321')
    >>> number(812.5), number(8125.4321), number(812543.21), number(8125432.1), number(1e300)
    ('812.5000', '8,125.432', '812,543.2', '8,125,432', '1.0e+300')
    """
    if np.isnan(value):
        return "-"
    plus, size = "+" if sign else "", abs(value)
    if 0 < size < 0.5 * 10.0**-digits or 1e15 <= size < np.inf:
        return f"{value:{plus}.1e}"
    above = int(np.log10(size)) - 2 if 1000 <= size < np.inf else 0
    return f"{value:{plus},.{max(digits - above, 0)}f}"


def amount(count: int, what: str) -> str:
    """A count with its word.

    >>> amount(1, "query"), amount(1200, "query"), amount(2, "tree")
    ('1 query', '1,200 queries', '2 trees')
    """
    plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{count:,} {what if count == 1 else plural}"


def per_cent(level: float) -> str:
    """A level in per cent, which rounding would make another.

    >>> per_cent(0.95), per_cent(0.975), per_cent(0.07)
    ('95', '97.5', '7')
    """
    return f"{100 * level:.10g}"
