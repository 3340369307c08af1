"""Hard metrics of long lists, on threads, and what they share: nothing that a caller could change."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr
from sklearn.metrics import roc_auc_score

from boostsoft import Metric, QueryGroups
from boostsoft.kernels import threads
from boostsoft.kernels.families import ABSORBING, PLAIN
from boostsoft.metrics.prepared import prepare
from boostsoft.metrics.registry import REGISTRY

from .cases import every_metric, every_ranked, every_tie, metric, on_threads
from .oracle import query

# Size


LARGE = {"gain": "linear", "p_rel": (0.0, 0.1, 0.6)}


def of_a_long_list(name, labels, discount):
    """The sum over ranks of one order of labels 0, 1, 2, without its divisor."""
    relevant, ranks = labels >= 1, np.arange(1.0, labels.size + 1)
    family, gains = REGISTRY[name].family, REGISTRY[name].gains
    if family == PLAIN:
        return (labels if gains == "graded" else relevant) @ discount
    if family == ABSORBING:
        chance = np.array(LARGE["p_rel"] if gains == "probability" else (0.0, 1.0, 1.0))[labels]
        return chance @ (discount * np.cumprod(np.r_[1.0, 1 - chance[:-1]]))
    if gains == "judged":
        least = min(relevant.sum(), (~relevant).sum())
        return (1 - np.minimum(np.cumsum(~relevant), relevant.sum()) / least)[relevant].sum()
    return (np.cumsum(relevant) / ranks)[relevant].sum()


@every_ranked
@pytest.mark.parametrize("pattern", ["distinct", "order", "worst"])
def test_a_hundred_thousand_documents(name, pattern):
    n = 100_000
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 3, n), rng.permutation(n) if pattern == "distinct" else rng.integers(0, 5, n)
    options = {option: value for option, value in LARGE.items() if option in REGISTRY[name].options}
    hard = metric(name, ties="expected" if pattern == "distinct" else pattern, **options)
    rank = np.lexsort((labels if pattern == "worst" else np.arange(n), -scores))
    prepared = prepare(hard, "test", labels, QueryGroups.from_sizes([n]))
    wanted = of_a_long_list(name, labels[rank], prepared.discount[:n]) / prepared.divisor[0]
    assert hard(labels, scores, group=[n]) == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("pattern", ["distinct", "equal", "few values"])
def test_the_pairs_of_a_hundred_thousand_documents(pattern):
    n = 100_000
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, n)
    scores = {"distinct": rng.permutation(n), "equal": np.zeros(n), "few values": rng.integers(0, 5, n)}[pattern]
    scores[labels == 2] += 1  # so that the values are none of chance
    auc = Metric("auc")(labels, scores, group=[n])
    assert auc == pytest.approx(roc_auc_score(labels >= 1, scores), rel=1e-12)
    for name, peer in (("kendall", kendalltau), ("spearman", spearmanr)):
        found = Metric(name, ties="corrected")(labels, scores, group=[n])
        assert found == pytest.approx(peer(labels, scores).statistic, rel=1e-10)
        assert found > 1e-6
    # (1 + D) / (1 - D) with Somers' D = tau-a's numerator over the pairs of different label
    counts = np.bincount(labels)
    pairs, unequal = n * (n - 1) / 2, (n * n - counts @ counts) / 2
    somers = Metric("kendall")(labels, scores, group=[n]) * math.sqrt(pairs / unequal)
    assert Metric("pnr")(labels, scores, group=[n]) == pytest.approx((1 + somers) / (1 - somers), rel=1e-12)


# Threads, memory


@every_metric
def test_the_same_bits_on_any_number_of_threads(name, monkeypatch):
    sizes = np.random.default_rng(1).integers(0, 30, 100)
    labels, scores = query("ties", sizes.sum(), 1)
    found = []
    for n in (1, 2, 3):
        on_threads(monkeypatch, n)
        found.append(metric(name, 5).per_query(labels, scores, group=sizes))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("n_queries", [1, 2, 3, 7, 8, 9, 200])
@pytest.mark.parametrize("n_threads", [1, 2, 3, 16])
def test_every_query_is_run_once(n_queries, n_threads, monkeypatch):
    on_threads(monkeypatch, n_threads)
    for costs in (np.ones(n_queries), np.r_[1e9, np.ones(n_queries - 1)], np.r_[np.ones(n_queries - 1), 1e9]):
        runs = np.zeros(n_queries, int)

        def run(begin, end, runs=runs):
            runs[begin:end] += 1

        threads.over_queries(run, costs)
        np.testing.assert_array_equal(runs, 1)


def test_no_queries_and_an_error_in_a_thread(monkeypatch):
    on_threads(monkeypatch, 2)

    def fail(begin, end):
        raise ZeroDivisionError(f"{begin} to {end}")

    threads.over_queries(fail, np.zeros(0))
    with pytest.raises(ZeroDivisionError, match=r"\d to \d"):
        threads.over_queries(fail, np.ones(5))


def test_prepared_labels_do_not_follow_the_users_array():
    labels = np.array([1.0, 0.0, 2.0])
    for gain in ("linear", "exp2", lambda y: y, [0, 1, 2]):
        prepared = prepare(Metric("dcg", gain=gain), "test", labels, QueryGroups.from_sizes([3]))
        before = prepared.gains.copy()
        labels[0] = 2.0
        np.testing.assert_array_equal(prepared.gains, before)
        labels[0] = 1.0


def test_a_function_that_writes_on_its_argument_does_no_harm():
    labels, scores = np.array([1.0, 0.0, 2.0]), np.array([3.0, 2.0, 1.0])

    def square(y):
        y *= y
        return y

    metric = Metric("dcg", gain=square, discount=square)
    assert metric(labels, scores, group=[3]) == 1 * 1 + 0 * 4 + 4 * 9
    assert metric(labels, scores, group=[3]) == 1 * 1 + 0 * 4 + 4 * 9
    np.testing.assert_array_equal(labels, [1, 0, 2])


@every_tie
def test_what_is_prepared_once_can_be_evaluated_again(name, ties):
    """As the boosters' adapters do in every iteration: nothing of it, and no score, is moved in place."""
    sizes = [5, 0, 7]
    labels, scores = query("ties", 12, 3)
    hard, weights = metric(name, 3, ties=ties), np.ones(3)
    prepared = prepare(hard, "test", labels, QueryGroups.from_sizes(sizes))
    arrays = [prepared.gains, prepared.discount, prepared.divisor, prepared.cutoffs, scores]
    before = [array.copy() for array in arrays]
    first = hard.evaluate(prepared, scores, weights)
    np.testing.assert_array_equal(
        hard.evaluate(prepared, -scores, weights), hard.per_query(labels, -scores, group=sizes)
    )
    np.testing.assert_array_equal(hard.evaluate(prepared, scores, weights), first)
    for array, copied in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copied)
