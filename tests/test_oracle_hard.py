"""The oracle's metrics of one order and of tied scores: by hand, against scikit-learn and scipy."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr
from sklearn.metrics import average_precision_score, dcg_score, f1_score, ndcg_score, roc_auc_score

from . import oracle
from .oracle import DISCOUNT_FAMILY, HARD, KINDS, PAIR_FAMILY, hard, query


def log_discount(rank):
    return 1 / math.log2(1 + rank)


# A. Hard metrics


@pytest.mark.parametrize(
    ("name", "labels", "k", "options", "value"),
    [
        ("dcg", [0, 3, 1], None, {}, 7 * log_discount(2) + 1 * log_discount(3)),
        ("dcg", [0, 3, 1], 2, {"gain": "linear"}, 3 * log_discount(2)),
        ("dcg", [0, 3, 1], 2, {"discount": "reciprocal"}, 7 / 2),
        ("dcg", [1, 2, 1], None, {"discount": [1.0, 0.5], "gain": [0, 2, 5]}, 2 + 5 / 2),
        ("ndcg", [0, 1], None, {}, log_discount(2)),
        ("ndcg", [0, 2, 1], 2, {}, 3 * log_discount(2) / (3 + log_discount(2))),
        ("ndcg", [0, 2, 1], 9, {}, (3 * log_discount(2) + log_discount(3)) / (3 + log_discount(2))),
        ("cg", [1, 2, 3], 2, {}, 1 + 3),
        ("precision", [1, 0, 2], 2, {}, 1 / 2),
        ("precision", [1, 0, 2], 10, {}, 2 / 10),
        ("precision", [1, 0, 2], None, {}, 2 / 3),
        ("precision", [1, 0, 2], None, {"relevant_from": 2}, 1 / 3),
        ("recall", [1, 0, 2, 1], 2, {}, 1 / 3),
        ("rbp", [0, 1, 0, 3], None, {}, 0.2 * (0.8 + 0.8**3)),
        ("rbp", [0, 1, 0, 3], 2, {"p": 0.5}, 0.5 * 0.5),
        ("mrr", [0, 0, 2, 1], None, {}, 1 / 3),
        ("mrr", [0, 0, 2, 1], 2, {}, 0),
        ("err", [4, 0, 1], None, {}, 15 / 16 + (1 / 16) * (1 / 16) / 3),
        ("err", [1, 2], 2, {"max_label": 2}, 1 / 4 + (3 / 4) * (3 / 4) / 2),
        ("pfound", [0.4, 0, 1], None, {}, 0.4 + 0.6 * 0.85**2),
        ("err", [1, 2], None, {"p_rel": [0, 0.5, 0.2]}, 0.5 + 0.5 * 0.2 / 2),
        ("err", [0.5, 0.25], None, {"p_rel": "label"}, 0.5 + 0.5 * 0.25 / 2),
        ("pfound", [1, 2], None, {"p_rel": [0, 0.5, 0.2], "p_break": 0.1}, 0.5 + 0.5 * 0.9 * 0.2),
        ("pfound", [1, 2], None, {"p_rel": "exp2", "max_label": 2}, 1 / 4 + (3 / 4) * 0.85 * (3 / 4)),
        ("pfound", [0.4, 0, 1], 2, {}, 0.4),
        ("map", [1, 0, 1, 1], None, {}, (1 + 2 / 3 + 3 / 4) / 3),
        ("map", [1, 0, 1, 1], 3, {}, (1 + 2 / 3) / 3),
        ("map", [1, 0, 1, 1], 2, {"normalizer": "min"}, 1 / 2),
        ("map", [1, 0, 1, 1], 9, {"normalizer": "min"}, (1 + 2 / 3 + 3 / 4) / 3),
        ("map", [1, 0, 1, 1], 3, {"normalizer": "retrieved"}, (1 + 2 / 3) / 2),
        ("map", [0, 0, 1, 1], 2, {"normalizer": "retrieved"}, 0),
        ("map", [1, 0, 1, 1], 2, {"normalizer": "k"}, 1 / 2),
        ("map", [1, 0, 1, 1], 9, {"normalizer": "k"}, (1 + 2 / 3 + 3 / 4) / 9),
        ("map", [1, 0, 1, 1], None, {"normalizer": "k"}, (1 + 2 / 3 + 3 / 4) / 4),
        # Two textbook queries: relevant at 1, 2, 4, 7 of four (0.8304), and at 1, 3, 5 of five (0.4533).
        ("map", [1, 1, 0, 1, 0, 0, 1], None, {}, (1 + 1 + 3 / 4 + 4 / 7) / 4),
        ("map", [1, 0, 1, 0, 1, 0, 0, 1, 1], 5, {}, (1 + 2 / 3 + 3 / 5) / 5),
        ("dcg", [3, 2, 3, 0, 1, 2], 6, {}, 7 + 3 * log_discount(2) + 7 / 2 + log_discount(5) + 3 * log_discount(6)),
        ("dcg", [3, 2, 3, 0, 1, 2], 6, {}, 13.84826362927298),
        ("f1", [1, 0, 2, 1], 2, {}, 2 * 1 / (2 + 3)),
        ("f1", [1, 0, 2, 1], 9, {}, 2 * 3 / (9 + 3)),
        ("f1", [1, 0, 2, 1], None, {}, 2 * 3 / (4 + 3)),
        ("f1", [1, 0, 2, 1], 3, {"relevant_from": 2}, 2 * 1 / (3 + 1)),
        ("bpref", [1, 0, 1, 0, 0], None, {}, (1 + (1 - 1 / 2)) / 2),
        ("bpref", [0, 0, 0, 1, 1], None, {}, 0),
        ("bpref", [0, 1, 1, 1], None, {}, 0),
        ("bpref", [1, 1], None, {}, 1),
        ("bpref", [-1, 1, 0, -1, -1, 1, 0, 1, 0], None, {}, (1 + (1 - 1 / 3) + (1 - 2 / 3)) / 3),
        ("bpref", [-1, 1, 0, -1, -1, 1, 0, 1, 0], 6, {}, (1 + (1 - 1 / 3)) / 3),
        ("bpref", [-1, 1, 0, -1, -1, 1, 0, 1, 0], 5, {}, 1 / 3),
        ("bpref", [0, 1, 1, -1, -1], None, {}, 0),
        ("bpref", [1, 2, 0, 2], None, {"relevant_from": 2}, ((1 - 1 / 2) + (1 - 2 / 2)) / 2),
        ("auc", [1, 0, 3, 0, 0], None, {}, (3 + 2) / 6),
        ("auc", [1, 0, 3, 0, 0], None, {"relevant_from": 2}, 2 / 4),
        ("auc", [1, 2], None, {}, 0),
        ("discordant", [2, 0, 1, 3], None, {}, 4),
        ("pnr", [2, 0, 1, 3], None, {}, 2 / 4),
        ("pnr", [2, 1, 1], None, {}, math.inf),
        ("pnr", [1, 1, 1], None, {}, 0),
        # Six documents without ties, two neighbouring swaps: 13 concordant pairs and 2 discordant ones.
        ("discordant", [5, 6, 4, 3, 1, 2], None, {}, 2),
        ("pnr", [5, 6, 4, 3, 1, 2], None, {}, 13 / 2),
        ("kendall", [5, 6, 4, 3, 1, 2], None, {}, (13 - 2) / 15),
        ("kendall", [1, 2, 1], None, {}, 0),
        ("kendall", [2, 1, 1], None, {}, 2 / math.sqrt(3 * 2)),
        ("spearman", [3, 1, 2], None, {}, 1 - 6 * 2 / (3 * 8)),
        ("spearman", [2, 1, 1], None, {}, 1.5 / math.sqrt(1.5 * 2)),
    ],
)
def test_hard_by_hand(name, labels, k, options, value):
    assert hard(name, labels, k, **options) == pytest.approx(value, rel=1e-15, abs=0)


@pytest.mark.parametrize("name", HARD)
def test_nothing_relevant_is_zero(name):
    k = None if name in PAIR_FAMILY else 2
    assert hard(name, [0, 0, 0], k) == 0
    assert oracle.hard_expected_ties(name, [0, 0, 0], [1.0, 1.0, 0.0], k) == 0
    assert oracle.expected_orders(name, [0, 0], [1.0, 0.0]).value == 0
    assert hard(name, [], k) == 0
    for normalizer in ("min", "retrieved", "k") if name == "map" else ():
        assert hard(name, [0, 0, 0], k, normalizer=normalizer) == 0


def test_metrics_of_pairs_are_undefined_without_unequal_labels():
    for name in PAIR_FAMILY:
        assert hard(name, [2, 2, 2]) == 0
        assert not np.any(np.hstack(oracle.expected_orders(name, [2, 2, 2], [1.0, 0.0, 2.0])))
        assert not np.any(np.hstack(oracle.expected_pairs(name, [2, 2, 2], [1.0, 0.0, 2.0])))
    assert hard("auc", [2, 1, 3]) == 0


def test_unknown_names_are_refused():
    with pytest.raises(KeyError):
        hard("ncdg", [1, 0])
    with pytest.raises(TypeError):
        hard("mrr", [1, 0], gain="exp2")
    with pytest.raises(KeyError):
        hard("map", [1, 0], normalizer="all")
    with pytest.raises(KeyError):
        hard("err", [1, 0], p_rel="linear")


@pytest.mark.parametrize("name", PAIR_FAMILY)
def test_metrics_of_pairs_refuse_a_cutoff(name):
    with pytest.raises(ValueError, match="no cutoff"):
        hard(name, [1, 0], 1)


@pytest.mark.parametrize("name", DISCOUNT_FAMILY)
@pytest.mark.parametrize("k", [None, 1, 3, 9])
def test_linear_form_is_the_metric_of_every_order(name, k):
    labels = [0, 2, 1, 0, 4]
    gains, discounts = oracle.linear_form(name, labels, k)
    for order in permutations(range(5)):
        by_form = math.fsum(gains[i] * discounts[r] for r, i in enumerate(order))
        assert by_form == pytest.approx(hard(name, [labels[i] for i in order], k), rel=1e-14, abs=1e-15)


def test_in_rank_order():
    assert oracle.in_rank_order([0, 1, 2, 3], [1.0, 1.0, 5.0, 1.0]) == [2, 0, 1, 3]
    assert oracle.in_rank_order([3, 1, 2, 0], [1.0, 1.0, 5.0, 1.0], "worst") == [2, 0, 1, 3]
    assert oracle.in_rank_order([3, 1, 2, 0], [1.0, 1.0, 5.0, 1.0], "order") == [2, 3, 1, 0]


@pytest.mark.parametrize("name", DISCOUNT_FAMILY)
@pytest.mark.parametrize("kind", KINDS)
def test_tied_orders_enumerated_and_averaged_in_blocks(name, kind):
    labels, scores = query(kind, 6, 1)
    for k in (None, 1, 4):
        by_blocks = oracle.hard_expected_ties_large(name, labels, scores, k)
        assert oracle.hard_expected_ties(name, labels, scores, k) == pytest.approx(by_blocks, abs=1e-14)


def test_tied_cascades_by_hand():
    labels, scores = [1, 0, 0], [2.0, 2.0, 2.0]
    assert oracle.hard_expected_ties("mrr", labels, scores) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert oracle.hard_expected_ties("map", [1, 1, 0], [3.0, 2.0, 2.0]) == pytest.approx((1 + (1 + 2 / 3) / 2) / 2)


@pytest.mark.parametrize("kind", ["generic", "ties", "all_equal_scores", "clustered"])
@pytest.mark.parametrize("n", [2, 7, 40])
@pytest.mark.parametrize("k", [None, 1, 5])
def test_expected_ties_match_scikit_learn(kind, n, k):
    labels, scores = query(kind, n, n)
    ties = oracle.hard_expected_ties_large
    for gain, truth in (("linear", labels), ("exp2", 2.0**labels - 1)):
        theirs = dcg_score([truth], [scores], k=k), ndcg_score([truth], [scores], k=k)
        ours = [ties(name, labels, scores, k, gain=gain) for name in ("dcg", "ndcg")]
        np.testing.assert_allclose(ours, theirs, rtol=1e-13)


# Other implementations, where they define the same thing


@pytest.mark.parametrize("seed", range(6))
def test_scores_without_ties_match_scipy_and_scikit_learn(seed):
    """scipy's tau-b and rho correct for ties on both sides; without tied scores that is the same."""
    labels, scores = query("generic", 9, seed)
    in_order, relevant = oracle.in_rank_order(labels, scores), labels >= 1
    assert hard("kendall", in_order) == pytest.approx(kendalltau(labels, scores).statistic, rel=1e-14, abs=1e-15)
    assert hard("spearman", in_order) == pytest.approx(spearmanr(labels, scores).statistic, rel=1e-14, abs=1e-15)
    assert hard("auc", in_order) == pytest.approx(roc_auc_score(relevant, scores), rel=1e-14)
    assert hard("map", in_order) == pytest.approx(average_precision_score(relevant, scores), rel=1e-14)
    for k in (2, 5, 9):
        retrieved = scores >= np.sort(scores)[-k]
        assert hard("f1", in_order, k) == pytest.approx(f1_score(relevant, retrieved), rel=1e-14)


@pytest.mark.parametrize("kind", ["ties", "all_equal_scores", "clustered"])
def test_tied_scores_of_pair_metrics(kind):
    """A tied pair counts one half. kendall and spearman keep the divisor that untied scores have."""
    labels, scores = query(kind, 6, 2)
    ties = {name: oracle.hard_expected_ties(name, labels, scores) for name in PAIR_FAMILY}
    assert ties["auc"] == pytest.approx(roc_auc_score(labels >= 1, scores), rel=1e-14)
    above = np.sign(np.subtract.outer(scores, scores))
    better = np.subtract.outer(labels, labels) > 0
    n0, unequal = 15, better.sum()
    assert ties["discordant"] == pytest.approx(((1 - above) / 2)[better].sum(), rel=1e-14)
    concordant = ((1 + above) / 2)[better].sum()
    assert ties["pnr"] == pytest.approx(concordant / ties["discordant"], rel=1e-14)
    assert ties["kendall"] == pytest.approx(above[better].sum() / math.sqrt(n0 * unequal), rel=1e-14, abs=1e-15)
    x, y = np.array(oracle.average_ranks(labels)) - 3.5, np.array(oracle.average_ranks(scores)) - 3.5
    assert ties["spearman"] == pytest.approx(x @ y / math.sqrt(x @ x * 17.5), rel=1e-14, abs=1e-15)


def test_tied_pairs_by_hand():
    """Orders of (2, 1 | tied) above 0: one of the two has a discordant pair, of three pairs."""
    labels, scores = [2, 1, 0], [1.0, 1.0, 0.0]
    for name, value in {"discordant": 1 / 2, "pnr": 2.5 / 0.5, "kendall": (1 + 1 / 3) / 2, "auc": 1.0}.items():
        assert oracle.hard_expected_ties(name, labels, scores) == pytest.approx(value, rel=1e-15)
    assert oracle.hard_expected_ties("spearman", labels, scores) == pytest.approx((1 + 1 / 2) / 2, rel=1e-15)
    assert oracle.hard_expected_ties("pnr", labels, [2.0, 1.0, 0.0]) == math.inf
    assert oracle.average_ranks([5, 1, 5, 7]) == [2.5, 1, 2.5, 4]


@pytest.mark.parametrize("name", [name for name in PAIR_FAMILY if name != "pnr"])
@pytest.mark.parametrize("kind", KINDS)
def test_pair_form_is_the_metric_of_every_order(name, kind):
    labels, _ = query(kind, 5, 4)
    weights = oracle.pair_form(name, labels)
    for order in permutations(range(5)):
        by_form = math.fsum(weights[order[r], order[q]] for r in range(5) for q in range(r + 1, 5))
        assert by_form == pytest.approx(hard(name, [labels[i] for i in order]), rel=1e-13, abs=1e-14)
