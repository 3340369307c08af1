"""Examples that the literature and the field work out by hand, as arithmetic."""

from __future__ import annotations

from math import log, log2

import numpy as np
import pytest

from boostsoft import Metric


def in_order(spec, labels, **options):
    """The metric of labels given in rank order."""
    return Metric(spec, **options)(labels, -np.arange(len(labels)), group=[len(labels)])


def test_dcg_of_six_grades_with_exponential_gain():
    """Grades 3, 2, 3, 0, 1, 2: the well-known example, with gains 7, 3, 7, 0, 1, 3."""
    wanted = 7 + 3 / log2(3) + 7 / 2 + 0 / log2(5) + 1 / log2(6) + 3 / log2(7)
    assert in_order("dcg@6", [3, 2, 3, 0, 1, 2]) == pytest.approx(wanted, rel=1e-15)
    best = 7 + 7 / log2(3) + 3 / 2 + 3 / log2(5) + 1 / log2(6)
    assert in_order("ndcg@6", [3, 2, 3, 0, 1, 2]) == pytest.approx(wanted / best, rel=1e-15)


def test_dcg_as_its_authors_define_it():
    """Järvelin and Kekäläinen 2002: b = 2, and the gains of their G' with the DCG that they print for it."""
    labels = [3, 2, 3, 0, 0, 1, 2, 2, 3, 0]
    printed = [3, 5, 6.89, 6.89, 6.89, 7.28, 7.99, 8.66, 9.61, 9.61]
    for k, value in enumerate(printed, 1):
        found = in_order("dcg", labels, k=k, gain="linear", discount=lambda r: 1 / np.maximum(1, np.log2(r)))
        assert round(found, 2) == value


def test_ndcg_of_the_scripts_that_come_with_letor():
    """Gains 2^label - 1; the second place counts as the first, the third by log 2 / log 3, and so on."""
    labels, count = [1, 0, 2, 2, 0, 1], 5

    def script(order):
        total = 0.0
        for place, label in enumerate(order[:count]):
            gain = 2**label - 1
            total += gain if place < 2 else gain * log(2) / log(place + 1)
        return total

    found = in_order("ndcg", labels, k=count, discount=lambda r: 1 / np.log2(np.maximum(r, 2)))
    assert found == pytest.approx(script(labels) / script(sorted(labels, reverse=True)), rel=1e-15)
    assert abs(found - in_order("ndcg", labels, k=count)) > 0.03


def test_average_precision_of_two_rankings():
    first = in_order("map", [1, 1, 0, 1, 0, 0, 1])
    assert first == pytest.approx((1 / 1 + 2 / 2 + 3 / 4 + 4 / 7) / 4)
    assert round(first, 2) == 0.83
    second = in_order("map@5", [1, 0, 1, 0, 1, 0, 0, 1, 1])  # five relevant, found at 1, 3 and 5 within the cutoff
    assert second == pytest.approx((1 / 1 + 2 / 3 + 3 / 5) / 5)
    assert round(second, 2) == 0.45


def test_thirteen_pairs_in_order_and_two_not():
    assert in_order("pnr", [4, 5, 3, 2, 0, 1]) == 13 / 2 == 6.5


def test_dcg_of_four_places_and_of_the_pool_behind_them():
    """Linear gains 1, .7, .3, 1; the best order of these four; and with one more .7 in the pool."""
    found = in_order("dcg@4", [1, 0.7, 0.3, 1], gain="linear")
    assert found == pytest.approx(1 + 0.7 / log2(3) + 0.3 / 2 + 1 / log2(5))
    assert round(found, 2) == 2.02
    best = in_order("dcg@4", [1, 1, 0.7, 0.3], gain="linear")
    assert round(best, 2) == 2.11
    assert in_order("ndcg@4", [1, 0.7, 0.3, 1], gain="linear") == pytest.approx(found / best)
    pool = 1 + 1 / log2(3) + 0.7 / 2 + 0.7 / log2(5)
    assert round(pool, 2) == 2.28
    assert in_order("ndcg@4", [1, 0.7, 0.3, 1, 0.7], gain="linear") == pytest.approx(found / pool)


def test_expected_reciprocal_rank_of_three_grades():
    """Grades 4, 0, 2 of 4: P = 15/16, 0, 3/16 (Chapelle et al. 2009, equation 3)."""
    assert in_order("err", [4, 0, 2]) == pytest.approx(15 / 16 + (1 / 16) * (3 / 16) / 3)


def test_pfound_of_three_probabilities():
    """Look on with 1 - .15 after each document, if it did not satisfy."""
    wanted = 0.4 + 0.85 * (1 - 0.4) * 0.1 + 0.85**2 * (1 - 0.4) * (1 - 0.1) * 0.7
    assert in_order("pfound", [0.4, 0.1, 0.7]) == pytest.approx(wanted)


def test_reciprocal_rank_rbp_and_bpref_of_five_documents():
    labels = [0, 1, 0, 0, 1]
    assert in_order("mrr", labels) == 1 / 2
    assert in_order("mrr@1", labels) == 0.0
    assert in_order("rbp", labels, p=0.5) == pytest.approx(0.5 * (0.5 + 0.5**4))
    assert in_order("f1@2", labels) == pytest.approx(2 * (1 / 2) * (1 / 2) / (1 / 2 + 1 / 2))
    # two relevant, three not: one irrelevant above the first, three (counted as two) above the second
    assert in_order("bpref", labels) == pytest.approx(((1 - 1 / 2) + (1 - 2 / 2)) / 2)
    # unjudged documents do not count: none above the first, two above the second
    assert in_order("bpref", [-1, 1, 0, 0, 1]) == pytest.approx(((1 - 0) + (1 - 2 / 2)) / 2)


def test_deeper_cutoffs_for_frequent_queries():
    """Per-query k: the first query is looked at three deep, the second one deep."""
    metric = Metric("precision", k=[3, 1])
    assert metric([1, 0, 1, 0, 1], [3, 2, 1, 2, 1], group=[3, 2]) == ((2 / 3) + 0) / 2
