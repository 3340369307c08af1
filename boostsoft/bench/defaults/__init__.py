"""Test quality as installed: ``python -m boostsoft bench defaults``.

Every ranker is fitted with its library's defaults on the same draws of queries, and measured on others. ``draws`` makes
the draws, ``rankers`` fits, ``measured`` keeps what was measured, ``report`` shows it and ``run`` puts all together.
"""
