"""The metrics of the registry as tests go through them: each with options that suit labels from 0 to 4.

What compares pairs of the whole list takes no cutoff: these helpers leave ``k`` out for it.
"""

from __future__ import annotations

import math
import re
from itertools import permutations

import numpy as np
import pytest

from boostsoft import Metric, QueryGroups, SoftMetric
from boostsoft.kernels import threads
from boostsoft.metrics.prepared import prepare
from boostsoft.metrics.registry import REGISTRY

from . import oracle

TABLE = (0.0, 0.1, 0.3, 0.5, 0.8)
OPTIONS_FOR = {"pfound": {"p_rel": TABLE}}  # whose default takes the labels themselves for probabilities

RANKED = [name for name, entry in REGISTRY.items() if not entry.pairwise]
EXACT = [name for name, entry in REGISTRY.items() if entry.exact]

every_metric = pytest.mark.parametrize("name", REGISTRY)
every_ranked = pytest.mark.parametrize("name", RANKED)
every_exact = pytest.mark.parametrize("name", EXACT)
every_tie = pytest.mark.parametrize(
    ("name", "ties"), [(name, t) for name, entry in REGISTRY.items() for t in entry.ties]
)


def on_threads(monkeypatch, n):
    """Let kernels run on n threads whatever the machine, the booster and the size of the work."""
    monkeypatch.setattr(threads, "n_threads", lambda: n)
    monkeypatch.setattr(threads, "_NANOSECONDS_PER_THREAD", 1e-9)


def cutoffs_of(name, cutoffs=(None, 1, 3, 9)):
    """Those of the cutoffs that the metric takes."""
    return (None,) if REGISTRY[name].pairwise else cutoffs


def arguments(name, k, options):
    """Cutoff and options of the metric, the same for the package and for the oracle."""
    return {"k": None if REGISTRY[name].pairwise else k, **OPTIONS_FOR.get(name, {}), **options}


def metric(name, k=None, **options):
    """The hard metric."""
    return Metric(name, **arguments(name, k, options))


def soft_metric(name, k=None, **options):
    """The exact soft metric, or the sampled one where no other exists."""
    sampled = {} if REGISTRY[name].exact else {"ranks": "sampled"}
    return SoftMetric(name, **arguments(name, k, sampled | options))


def of_order(name, labels_in_rank_order, k=None, **options):
    """The oracle's value of one order."""
    return oracle.hard(name, list(labels_in_rank_order), **arguments(name, k, options))


def of_all_orders(name, labels, k=None, **options):
    """The oracle's value of every order."""
    return [of_order(name, order, k, **options) for order in permutations(list(labels))]


def by_definition(name, labels, scores, k=None, ties="expected", **options):
    """The oracle's value with tied scores, the mean over their orders by enumeration."""
    labels, scores = list(labels), list(scores)
    if ties == "expected":
        return oracle.hard_expected_ties(name, labels, scores, **arguments(name, k, options))
    if ties == "corrected":
        return corrected(name, labels, scores)
    return of_order(name, oracle.in_rank_order(labels, scores, ties), k, **options)


def mean_of_all_orders(name, labels, k=None, **options):
    """What it is worth if all scores are equal; of pnr the ratio of the mean counts, for its own may be infinite."""
    return by_definition(name, labels, np.zeros(len(labels)), k, **options)


def corrected(name, labels, scores):
    """Kendall's tau-b, pair by pair, or Pearson's correlation of the average ranks; 0 if it is 0 / 0."""
    if name == "kendall":
        places = [np.sign(np.subtract.outer(v, v)).ravel() for v in (np.array(labels), np.array(scores))]
    else:
        places = [np.array(oracle.average_ranks(v)) - (len(labels) + 1) / 2 for v in (labels, scores)]
    both, squares = math.fsum(places[0] * places[1]), [math.fsum(place * place) for place in places]
    return both / math.sqrt(squares[0] * squares[1]) if all(squares) else 0.0


def log_discount(rank):
    return 1 / math.log2(1 + rank)


def natural_scale(metric, labels):
    """The largest gradient that one change of places could give, in units of 1 / sigma; of a value the change."""
    prepared = prepare(metric.hard, "test", labels, QueryGroups.from_sizes([len(labels)]))
    return np.ptp(prepared.gains) * prepared.discount[0] / prepared.divisor[0]


DYADIC_KINDS = ("generic", "ties", "clustered")


def dyadic_query(kind, n, seed=0):
    """Labels and scores; the scores are multiples of 1/1024, so that sums and shifts are exact."""
    labels, scores = oracle.query(kind, n, seed)
    return labels, np.round(scores * 1024) / 1024


def dyadic_queries(sizes, seed=0):
    """Several queries of different kinds, one after another."""
    parts = [dyadic_query(DYADIC_KINDS[i % 3], n, seed + i) for i, n in enumerate(sizes) if n > 0]
    return (np.concatenate(column) for column in zip(*parts, strict=True))


def refused(error, text, build, *args, **kwargs):
    """The call fails, and its message begins with the text."""
    with pytest.raises(error, match="^" + re.escape(text)):
        build(*args, **kwargs)
