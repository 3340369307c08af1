"""The stated error of the node rule, over sizes, spreads, cutoffs, discounts and shapes of scores.

The reference is the same engine at ``accuracy="high"``, and for that at two thirds of its step: the engine is held
against the oracle in test_engine.py, and here the question is only whether the nodes are enough.
"""

from __future__ import annotations

import numpy as np
import pytest

import boostsoft as bs
from boostsoft.kernels.expected import ACCURACY
from boostsoft.metrics import expectation as expectation_module
from boostsoft.metrics.expectation import expectation
from boostsoft.metrics.prepared import prepare

SHAPES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "ties": lambda rng, n: rng.integers(0, 5, n).astype(float),
    "clusters": lambda rng, n: 10.0 * rng.integers(0, 4, n) + 0.1 * rng.normal(size=n),
    "heavy": lambda rng, n: rng.standard_t(1.5, size=n),
    "skewed": lambda rng, n: rng.exponential(size=n),
    "equal": lambda rng, n: np.zeros(n),
}
RATIOS = (1e-3, 1e-1, 1.0, 3.0, 10.0, 30.0, 100.0, 1e3)  # spread over sigma
REFINED = (0.12, 1e-13)
SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)


def metrics_of(n):
    """Both ends and the middle of the list, cutoffs just before its end, smooth discounts and flat ones."""
    cascades = ["mrr", "err@10", "pfound", "map", "map@3"]
    cutoffs = {1, 3, 10, 100, round(0.55 * n), round(0.75 * n), round(0.9 * n), n - 3, n - 1}
    names = [f"{('dcg', 'cg')[k % 2]}@{k}" for k in cutoffs if 0 < k < n]
    return ["dcg", "rbp", "recall@5", *cascades, *names]


def metric_of(name):
    return bs.Metric(name, **({"p_rel": (0.0, 0.07, 0.14, 0.41, 0.61)} if name == "pfound" else {}))


def worst_errors(noise, n, shapes, accuracies=("default",), reference="high", ratios=RATIOS, names=None):
    """Each accuracy's largest error of value and gradient over the grid, in units of what they may be relative to."""
    rng = np.random.default_rng(n)
    scores, labels = [], []
    for shape in shapes:
        for ratio in ratios:
            drawn = SHAPES[shape](rng, n)
            scores.append(drawn * ratio / (np.std(drawn) or 1.0))
            labels.append(rng.choice(5, size=n, p=SHARES))
            labels[-1][[0, -1]] = 2, 0
    worst, groups = {a: [0.0, 0.0] for a in accuracies}, bs.QueryGroups.from_sizes([n] * len(scores))
    scores, labels = np.concatenate(scores), np.concatenate(labels)
    for name in names or metrics_of(n):
        queries = prepare(metric_of(name), "test", labels, groups)
        wanted = expectation(queries, scores, noise, 1.0, reference, derive=1)
        gains = queries.gains.reshape(-1, n)
        ranks = min(int(queries.cutoffs[0]), n)
        best = np.sort(gains)[:, ::-1][:, :ranks] @ queries.discount[:ranks]
        largest = np.abs(wanted.gradient).reshape(-1, n).max(1)
        for accuracy in accuracies:
            got = expectation(queries, scores, noise, 1.0, accuracy, derive=2)
            value = np.abs(got.values - wanted.values) / np.maximum(wanted.values, 1e-9 * best)
            gradient = np.abs(got.gradient - wanted.gradient).reshape(-1, n).max(1)
            floor = (1e-8 if accuracy == "default" else 1e-4) * np.ptp(gains, 1) * queries.discount[0]
            gradient /= np.maximum(np.maximum(largest, floor), 1e-300)
            worst[accuracy] = [max(worst[accuracy][0], value.max()), max(worst[accuracy][1], gradient.max())]
    return worst


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
@pytest.mark.parametrize("n", [2, 3, 5, 10, 24, 30, 48, 120])
def test_default_error_is_below_a_millionth(noise, n):
    value, gradient = worst_errors(noise, n, tuple(SHAPES))["default"]
    assert value < 1e-6
    assert gradient < 1e-6


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
@pytest.mark.parametrize("n", [6, 23, 24, 48])
def test_a_discount_that_jumps_in_a_short_list(noise, n):
    """No rank is safe: the rule may not take the discount for smooth, or its jump for the cutoff's.

    Of a smooth one, up to 23 tied documents would go the way of short lists, whose nodes are too far apart for a jump.
    """
    rng = np.random.default_rng(n)
    groups = bs.QueryGroups.from_sizes([n])
    for jump in {n // 2, n // 3, n - 2}:
        table = np.where(np.arange(n) < jump, 1.0, 0.1)
        queries = prepare(bs.Metric("dcg", discount=table), "test", rng.choice(5, size=n, p=SHARES), groups)
        for scores in (np.zeros(n), rng.normal(size=n)):
            got, wanted = (
                expectation(queries, scores, noise, 0.7, accuracy, derive=2) for accuracy in ("default", "high")
            )
            assert got.values[0] == pytest.approx(wanted.values[0], rel=1e-6)
            assert np.abs(got.gradient - wanted.gradient).max() <= 1e-6 * np.abs(wanted.gradient).max()


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
@pytest.mark.parametrize(("accuracy", "bound"), [("default", 1e-6), ("fast", 1e-4)])
def test_tables_of_discounts(noise, accuracy, bound):
    """Ranks that cancel, for the discount rises again, leave the error of those that are summed: as if it only fell."""
    rng = np.random.default_rng(3)
    for turn in range(60):
        n = int(rng.integers(3, 30))
        k = int(rng.integers(2, n + 1))
        discount = (rng.uniform(-1.0, 1.0, k), np.sort(rng.exponential(size=k) ** 3)[::-1])[turn % 2]
        falls = np.abs(np.diff(np.append(discount, discount[-1] if k == n else 0.0)))
        labels = rng.integers(0, 5, n)
        labels[:2] = 0, 1
        scores = np.zeros(n) if turn % 3 == 0 else rng.normal(size=n) * 10.0 ** rng.uniform(-1.0, 1.0)
        found = {}
        for name, table in (("own", discount), ("falling", falls[::-1].cumsum()[::-1])):
            metric = bs.Metric(f"dcg@{k}", discount=tuple(table))
            queries = prepare(metric, "test", labels, bs.QueryGroups.from_sizes([n]))
            for digits in ("high", accuracy):
                found[name, digits] = expectation(queries, scores, noise, 1.0, digits, derive=1).gradient
        if turn % 2:
            np.testing.assert_allclose(found["own", "high"], found["falling", "high"], rtol=1e-9, atol=1e-12)
        largest = max(np.abs(found["falling", "high"]).max(), 1e-8 * np.ptp(2.0**labels) * np.abs(discount).max())
        assert np.abs(found["own", accuracy] - found["own", "high"]).max() < bound * largest


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
@pytest.mark.parametrize(("accuracy", "bound", "natural"), [("default", 1e-6, 1e-8), ("fast", 1e-4, 1e-6)])
def test_a_reader_who_never_gives_up(noise, accuracy, bound, natural):
    """Whether he finds anything hardly depends on the order where he is all but certain to: ranks cancel."""
    rng, groups, certain = np.random.default_rng(4), bs.QueryGroups.from_sizes([120]), 0
    for turn in range(60):
        labels, scores = (rng.random(120) < (0.05, 0.5)[turn % 2]) * 1.0, tuple(SHAPES.values())[turn % 6](rng, 120)
        sigma = (np.std(scores) or 1.0) / RATIOS[turn % len(RATIOS)]
        queries = prepare(bs.Metric("pfound@10", p_break=0), "test", labels, groups)
        found, wanted = (expectation(queries, scores, noise, sigma, a, derive=1).gradient for a in (accuracy, "high"))
        largest = np.abs(wanted).max()
        certain += largest < 1e-8
        assert np.abs(found - wanted).max() < bound * largest + natural
    assert certain > 5


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
def test_default_error_of_a_thousand_documents(noise):
    names = ("dcg", "dcg@1", "dcg@10", "cg@990", "mrr", "err@10", "map@10")
    value, gradient = worst_errors(noise, 1000, ("equal", "clusters"), ratios=(0.1, 10.0), names=names)["default"]
    assert value < 1e-6
    assert gradient < 1e-6


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
@pytest.mark.parametrize("n", [3, 10, 24, 30, 48, 200])
def test_fast_error_is_below_1e_4(noise, n):
    names = ("dcg", "dcg@1", "dcg@3", "dcg@10", "cg@5", "cg@9", "cg@12", "dcg@23", "err@10", "map@3")
    value, gradient = worst_errors(noise, n, tuple(SHAPES), ("fast",), names=names)["fast"]
    assert value < 1e-4
    assert gradient < 1e-4


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
def test_deep_cutoffs(noise):
    """Of lists that go by odds, and of some that just do not."""
    for n, names in ((120, ("dcg@50", "cg@64", "dcg@68", "dcg@69")), (280, ("cg@65", "dcg@100", "cg@160", "dcg@161"))):
        shapes = ("normal", "ties", "clusters", "equal")
        worst = worst_errors(noise, n, shapes, ("default", "fast"), ratios=(1e-1, 1.0, 5.0, 30.0), names=names)
        assert max(worst["default"]) < 1e-6
        assert max(worst["fast"]) < 1e-4


@pytest.mark.parametrize(
    ("noise", "name", "n"),
    [("gaussian", "dcg@1", 3000), ("gaussian", "mrr@10", 3800), ("gumbel", "cg@29", 30), ("gumbel", "cg@31", 32)],
)
def test_crowds_where_one_rank_alone_counts(noise, name, n, monkeypatch):
    """The best of very many, and all but the worst of a few: the ends of what the step is made for."""
    monkeypatch.setitem(ACCURACY, "refined", REFINED)
    rng = np.random.default_rng(n)
    labels = (rng.random(n) < 0.5) * 1
    labels[:2] = 1, 0
    scores = 0.05 * rng.normal(size=n) * (n > 100)
    queries = prepare(bs.Metric(name), "test", labels, bs.QueryGroups.from_sizes([n]))
    found = {a: expectation(queries, scores, noise, 1.0, a, derive=2).gradient for a in ACCURACY}
    size = np.abs(found["refined"]).max()
    assert np.abs(found["default"] - found["refined"]).max() < 1e-6 * size
    assert np.abs(found["fast"] - found["refined"]).max() < 1e-4 * size


@pytest.mark.parametrize(
    ("noise", "name", "n", "others"),
    [
        ("gaussian", "precision@1", 500, [1.5]),
        ("gaussian", "precision@1", 800, [1.5]),
        ("gaussian", "mrr@2", 300, [1.25]),
        ("gaussian", "cg@999", 1000, [-1.5]),
        ("gaussian", "precision@298", 300, [-1.0, -1.0]),
        ("logistic", "precision@1999", 2000, []),
        ("gumbel", "precision@1", 500, [1.5]),
    ],
)
def test_a_document_beside_a_crowd_of_nearly_equal_gains(noise, name, n, others, monkeypatch):
    """It meets the best or the worst of many, and whoever it changes places with is nearly always worth the same."""
    monkeypatch.setitem(ACCURACY, "refined", REFINED)
    scores = np.append(np.zeros(n - len(others)), others)
    labels = (np.arange(n) % 40 != 1) * 1 if others else np.arange(n) % 2
    queries = prepare(bs.Metric(name), "test", labels, bs.QueryGroups.from_sizes([n]))
    found = {a: expectation(queries, scores, noise, 1.0, a, derive=1).gradient for a in ACCURACY}
    size = np.abs(found["refined"]).max()
    assert np.abs(found["default"] - found["refined"]).max() < 1e-6 * size
    assert np.abs(found["fast"] - found["refined"]).max() < 1e-4 * size


@pytest.mark.parametrize(
    ("name", "options", "others", "crowd", "width", "every"),
    [
        ("err@88", {"p_rel": (7 / 16, 15 / 16)}, [], 200, 0.3, 14),
        ("err@88", {"p_rel": (7 / 16, 15 / 16)}, [], 200, 0.3, 2),
        ("rbp", {"p": 0.4}, [1.5], 320, 0.1, 14),
        ("rbp", {"p": 0.4}, [1.3, 0.1], 200, 0.0, 14),
        ("dcg@1", {}, [2.0], 320, 0.6, 14),
        ("mrr@11", {}, [1.7], 120, 0.3, 14),
        ("pfound@61", {"p_rel": (0.0, 0.6)}, [2.0], 320, 0.6, 14),
    ],
)
def test_a_crowd_of_which_the_best_alone_counts(name, options, others, crowd, width, every):
    """It is fainter than it is taken for, or its gradient a difference of larger terms: errors of 4e-6 were seen."""
    scores = np.append(others, np.linspace(width, 0.0, crowd))
    labels = np.append(np.ones(len(others)), np.arange(crowd) % every != 1)
    queries = prepare(bs.Metric(name, **options), "test", labels, bs.QueryGroups.from_sizes([len(scores)]))
    wanted = expectation(queries, scores, "gaussian", 1.0, "high", derive=1).gradient
    for accuracy, bound in (("default", 1e-6), ("fast", 1e-4)):
        got = expectation(queries, scores, "gaussian", 1.0, accuracy, derive=2)
        assert np.abs(got.gradient - wanted).max() < bound * np.abs(wanted).max()
        alone = expectation(queries, scores, "gaussian", 1.0, accuracy, derive=0)
        np.testing.assert_allclose(got.values, alone.values, rtol=bound)


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
def test_a_cutoff_where_a_crowd_ends(noise, monkeypatch):
    """Few documents of a crowd are left behind the cutoff, and a gap in the scores follows: a steep order statistic."""
    rng = np.random.default_rng(0)
    monkeypatch.setitem(ACCURACY, "refined", REFINED)
    for cutoff, crowd, others, gap, width in (
        (60, 63, 65, 10.0, 0.01),
        (60, 66, 68, 6.0, 0.01),
        (120, 144, 432, 20.0, 0.01),
        (150, 150, 152, 4.0, 0.01),
        (150, 165, 495, 20.0, 0.3),
        (300, 306, 918, 20.0, 0.01),
        (300, 315, 317, 6.0, 0.01),
    ):
        scores = np.append(rng.normal(size=crowd), rng.normal(size=others)) * width
        scores[crowd:] -= gap + 2.0 * width
        labels = rng.choice(5, size=scores.size, p=SHARES)
        queries = prepare(bs.Metric(f"cg@{cutoff}"), "test", labels, bs.QueryGroups.from_sizes([scores.size]))
        wanted = expectation(queries, scores, noise, 1.0, "refined", derive=2).gradient
        for accuracy, bound in (("default", 1e-6), ("fast", 1e-4)):
            got = expectation(queries, scores, noise, 1.0, accuracy, derive=2).gradient
            assert np.abs(got - wanted).max() < bound * np.abs(wanted).max()


@pytest.mark.parametrize(
    ("noise", "name", "n", "others"),
    [("logistic", "precision@1900", 1900, [-0.1, -0.101]), ("gaussian", "dcg", 27, [-7.0, -8.5])],
)
def test_a_crowd_of_equal_gains_before_the_last_two(noise, name, n, others):
    """The one of less gain moves among nearly all at a cutoff beside it, or, far below, with the other alone."""
    scores, labels = np.append(np.zeros(n), others), np.ones(n + 2)
    labels[n if name == "dcg" else n + 1] = 0
    queries = prepare(bs.Metric(name), "test", labels, bs.QueryGroups.from_sizes([n + 2]))
    wanted = expectation(queries, scores, noise, 1.0, "high", derive=1).gradient
    for accuracy, bound in (("default", 1e-6), ("fast", 1e-4)):
        got = expectation(queries, scores, noise, 1.0, accuracy, derive=1).gradient
        assert np.abs(got - wanted).max() < bound * np.abs(wanted).max()


def test_a_cutoff_one_document_into_a_crowd_below_certain_ones():
    """One of very many is first behind them: so little is there to be won, however many are above."""
    scores, labels = np.append(np.full(150, 20.0), np.zeros(1900)), np.append(np.ones(150), np.arange(1900) % 2)
    queries = prepare(bs.Metric("precision@151"), "test", labels, bs.QueryGroups.from_sizes([2050]))
    wanted = expectation(queries, scores, "logistic", 1.0, "high", derive=1).gradient
    got = expectation(queries, scores, "logistic", 1.0, "default", derive=1).gradient
    assert np.abs(got - wanted).max() < 1e-6 * np.abs(wanted).max()


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
@pytest.mark.parametrize("seed", [212, 597, 861, 1102, 1138])
def test_a_cutoff_where_a_crowd_of_equal_gains_ends(noise, seed):
    """Who of a level loses its place to those far behind is all that matters: 1.5e-3 was seen under Gumbel noise."""
    rng = np.random.default_rng(seed)
    cutoff = int(rng.integers(20, 48))
    above = cutoff // 2 * (seed % 2)
    crowd, gap = cutoff - above + int(rng.integers(1, 8)), float(rng.integers(3, 14))
    scores = np.concatenate(
        [
            2.0 * gap + 0.05 * rng.normal(size=above),
            (0.05, 0.3)[seed // 2 % 2] * rng.normal(size=crowd),
            rng.normal(size=60) - gap,
        ]
    )
    labels = (np.arange(scores.size) < above + crowd) * 1
    queries = prepare(bs.Metric(f"precision@{cutoff}"), "test", labels, bs.QueryGroups.from_sizes([scores.size]))
    wanted = expectation(queries, scores, noise, 1.0, "high", derive=1).gradient
    for accuracy, bound in (("default", 1e-6), ("fast", 1e-4)):
        got = expectation(queries, scores, noise, 1.0, accuracy, derive=1).gradient
        assert np.abs(got - wanted).max() < bound * max(np.abs(wanted).max(), 1e-8)


def nearly_all_relevant(rng):
    """Lists that a model has learnt: few irrelevant documents, far behind a crowd of equal gain."""
    labels, scores, sizes = [], [], rng.integers(3, 121, 80)
    for i, n in enumerate(sizes):
        y = (rng.random(n) < 0.95).astype(int) if i % 2 else rng.choice(5, n, p=[0.1, 0.1, 0.1, 0.2, 0.5])
        y[-1], y[0] = 0, max(y[0], 1)
        labels.append(y)
        scores.append((1.5 * (y > 0) + rng.normal(size=n) * (i % 4 == 3)) * 10.0 ** rng.uniform(-0.2, 0.8))
    return np.concatenate(labels), np.concatenate(scores), sizes


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
@pytest.mark.parametrize(
    "name", ["precision@1", "precision@30", "ndcg@3", "ndcg@10", "ndcg", "err@5", "map@5", "mrr@5"]
)
def test_equal_gains_that_cancel(noise, name):
    """The gradients of a crowd of equal gain are what its own members leave of one another, and very faint."""
    labels, scores, sizes = nearly_all_relevant(np.random.default_rng(2))
    groups = bs.QueryGroups.from_sizes(sizes)
    queries = prepare(bs.Metric(name), "test", labels, groups)
    wanted = expectation(queries, scores, noise, 1.0, "high", derive=1).gradient
    top = np.maximum.reduceat(np.abs(wanted), groups.offsets[:-1])
    natural = np.maximum.reduceat(queries.gains, groups.offsets[:-1]) * queries.discount[0]
    assert (top < 0.03 * natural).sum() > 15
    for accuracy, bound in (("default", 1e-6), ("fast", 1e-4)):
        found = expectation(queries, scores, noise, 1.0, accuracy, derive=1).gradient
        error = np.maximum.reduceat(np.abs(found - wanted), groups.offsets[:-1])
        assert (error < bound * np.maximum(top, 1e-8 * natural)).all()


def test_average_precision_of_two_irrelevant_documents_far_apart():
    """Found by climbing to the worst error; the gradients, of 2e-8, are small differences of larger terms."""
    scores = [
        0, -13.7, -49.83, -55.05, -118.82, -125.15, -128.32, -128.35, -128.39, -129.63, -129.69, -129.73, -129.74,
        -129.74, -129.75, -129.77, -129.77, -129.79, -129.8, -129.82, -138.51, -146.53, -149.5, -150.33, -150.33,
        -150.33, -150.34, -150.34, -150.35, -151.91, -153, -160.96, -171.95,
    ]  # fmt: skip
    labels = np.ones(33)
    labels[[0, 25]] = 0
    high, default, fast = (
        bs.SoftMetric("map@17", noise="gumbel", accuracy=accuracy).gradient(labels, scores, group=[33])
        for accuracy in ("high", "default", "fast")
    )
    assert 1e-8 < np.abs(high).max() < 1e-7
    assert np.abs(default - high).max() < 1e-6 * np.abs(high).max()
    assert np.abs(fast - high).max() < 1e-4 * np.abs(high).max()


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
@pytest.mark.parametrize("n", [4, 25, 60])
def test_high_accuracy_error_is_below_1e_10(noise, n, monkeypatch):
    monkeypatch.setitem(ACCURACY, "refined", REFINED)
    value, gradient = worst_errors(noise, n, tuple(SHAPES), ("high",), "refined")["high"]
    assert value < 1e-10
    assert gradient < 1e-10


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
@pytest.mark.parametrize(("n", "gap", "k", "seed"), [(600, 3.4, 200, 4), (300, 20.8, 90, 3), (300, 3.4, 150, 2)])
def test_deep_cutoffs_in_a_level_of_tied_documents(noise, n, gap, k, seed):
    """Nearly all of them alike, so that little besides the rule's error is left (2e-5 was seen under Gumbel noise)."""
    rng = np.random.default_rng(seed)
    scores, labels = gap * rng.integers(0, 6, n), (rng.random(n) < 0.97).astype(int)
    queries = prepare(bs.Metric(f"precision@{k}"), "test", labels, bs.QueryGroups.from_sizes([n]))
    wanted = expectation(queries, scores, noise, 1.0, "high", derive=1).gradient
    for accuracy, bound in (("default", 1e-6), ("fast", 1e-4)):
        got = expectation(queries, scores, noise, 1.0, accuracy, derive=1).gradient
        assert np.abs(got - wanted).max() < bound * max(np.abs(wanted).max(), 1e-8)


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
def test_five_thousand_documents(noise):
    """The largest size that the bound is stated for, against accuracy="high"."""
    rng = np.random.default_rng(1)
    groups, labels = bs.QueryGroups.from_sizes([5000]), rng.choice(5, size=5000, p=SHARES)
    for scores, name in (
        (rng.normal(size=5000), "dcg"),
        (np.zeros(5000), "dcg@1"),
        (rng.normal(size=5000), "dcg@10"),
    ):
        queries = prepare(bs.Metric(name), "test", labels, groups)
        got = expectation(queries, scores, noise, 1.0, "default", derive=2)
        wanted = expectation(queries, scores, noise, 1.0, "high", derive=2)
        np.testing.assert_allclose(got.values, wanted.values, rtol=1e-6)
        largest = np.abs(wanted.gradient).max()
        np.testing.assert_allclose(got.gradient, wanted.gradient, rtol=0, atol=1e-6 * largest)


@pytest.mark.parametrize("noise", ["gumbel", "logistic"])
@pytest.mark.parametrize(
    ("n", "name", "options"),
    [
        (300, "rbp@100", {"p": 0.01}),
        (2000, "rbp@100", {"p": 0.01}),
        (5000, "rbp", {"p": 0.01}),
        (5000, "rbp", {"p": 0.5}),
        (5000, "mrr@100", {}),
    ],
)
def test_a_discount_that_falls_steeply(noise, n, name, options):
    """However far the cutoff, only the best of many documents is worth anything: its tail may not be left out."""
    queries = prepare(bs.Metric(name, **options), "test", np.arange(n) % 2, bs.QueryGroups.from_sizes([n]))
    wanted = expectation(queries, np.zeros(n), noise, 1.0, "high", derive=1)
    for accuracy, bound in (("default", 1e-6), ("fast", 1e-4)):
        got = expectation(queries, np.zeros(n), noise, 1.0, accuracy, derive=1)
        assert got.values[0] == pytest.approx(wanted.values[0], rel=bound)
        assert np.abs(got.gradient - wanted.gradient).max() < bound * np.abs(wanted.gradient).max()


def test_a_first_rank_that_is_worth_less_than_nothing():
    """The natural scale is that of the largest discount, not of the first: else faint gradients are left out."""
    queries = prepare(bs.Metric("dcg", discount=(-0.13, 0.18)), "test", [0, 1], bs.QueryGroups.from_sizes([2]))
    scores = np.array([9.0, 0.0])
    wanted = expectation(queries, scores, "gaussian", 1.0, "high", derive=1).gradient
    for accuracy, bound in (("default", 1e-6), ("fast", 1e-4)):
        got = expectation(queries, scores, "gaussian", 1.0, accuracy, derive=1).gradient
        np.testing.assert_allclose(got, wanted, rtol=bound)


def test_the_bound_can_fail(monkeypatch):
    """A step twice as long breaks it: the grid is not too easy."""
    monkeypatch.setitem(ACCURACY, "long", (0.8, 1e-6))
    assert expectation_module.ACCURACY is ACCURACY
    _, gradient = worst_errors("gaussian", 120, ("normal", "equal"), ("long",))["long"]
    assert gradient > 1e-5


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
def test_a_deep_cutoff_in_a_long_list_that_is_spread_out(noise):
    """Most documents above the cutoff are certain: the count varies far less than the root of the rank."""
    names = ("recall@1500", "dcg@300")
    value, gradient = worst_errors(noise, 3000, ("normal",), ratios=(50.0, 400.0), names=names)["default"]
    assert value < 1e-6
    assert gradient < 1e-6


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
@pytest.mark.parametrize("name", ["dcg@10", "dcg"])
def test_a_long_list_of_documents_far_apart_keeps_its_hard_value(noise, name):
    """All may still change places, by a chance of 5e-6: the rule has to draw many of them as one."""
    n, rng = 3000, np.random.default_rng(0)
    labels, scores = rng.integers(0, 3, n), -15.0 * np.arange(n)
    soft = bs.SoftMetric(name, noise=noise, sigma=1.0)(labels, scores, group=[n])
    assert soft == pytest.approx(bs.Metric(name)(labels, scores, group=[n]), rel=1e-5)


@pytest.mark.parametrize("spread", [0.05, 0.1])
def test_the_first_of_thousands_of_near_ties(spread):
    """Its mean discount is far from that of its rank, the steeper the discount the more."""
    rng = np.random.default_rng(8193)
    n = 2000
    scores, labels = spread * rng.normal(size=n), (rng.random(n) < 0.3) * 1.0
    labels[scores.argmax()] = 1.0
    found = {
        accuracy: bs.SoftMetric("rbp", p=0.3, noise="gumbel", accuracy=accuracy).gradient(labels, scores, group=[n])
        for accuracy in ("high", "default", "fast")
    }
    for accuracy, bound in (("default", 1e-6), ("fast", 1e-4)):
        error = np.abs(found[accuracy] - found["high"]).max() / np.abs(found["high"]).max()
        assert error < bound, accuracy


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
@pytest.mark.parametrize(("n", "width"), [(100, 0.0), (360, 0.0), (1000, 0.1), (1000, 1.0)])
def test_relevant_documents_above_a_crowd_that_is_worth_little(noise, n, width):
    """A steep discount leaves each of the many but faint gradients, among which the rule's error for the two shows."""
    rng = np.random.default_rng(0)
    scores = np.append([21.5, 20.0], width * np.sort(rng.normal(size=n))[::-1])
    labels = np.append([1, 1], np.arange(n) % 2)
    for name in ("rbp", "rbp@30"):
        queries = prepare(bs.Metric(name, p=0.16), "test", labels, bs.QueryGroups.from_sizes([n + 2]))
        wanted = expectation(queries, scores, noise, 1.0, "high", derive=1).gradient
        for accuracy, bound in (("default", 1e-6), ("fast", 1e-4)):
            got = expectation(queries, scores, noise, 1.0, accuracy, derive=1).gradient
            assert np.abs(got - wanted).max() < bound * np.abs(wanted).max()


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
@pytest.mark.parametrize("n", [16, 20, 22, 23])
def test_a_short_list_of_ties_where_the_first_rank_alone_counts(noise, n):
    """Whole lists take their discount for gradual, of which equally distant nodes may be further apart."""
    queries = prepare(bs.Metric("rbp", p=0.01), "test", np.arange(n) % 2, bs.QueryGroups.from_sizes([n]))
    wanted = expectation(queries, np.zeros(n), noise, 1.0, "high", derive=1).gradient
    for accuracy, bound in (("default", 1e-6), ("fast", 1e-4)):
        got = expectation(queries, np.zeros(n), noise, 1.0, accuracy, derive=1).gradient
        assert np.abs(got - wanted).max() < bound * np.abs(wanted).max()


@pytest.mark.parametrize(
    ("noise", "name", "above", "crowd", "below"),
    [
        ("gumbel", "cg@29", 4, 24, 3),
        ("gumbel", "precision@25", 4, 20, 5),
        ("gumbel", "precision@30", 3, 26, 3),
        ("gaussian", "precision@26", 2, 24, 3),
        ("gaussian", "cg@17", 6, 11, 4),
    ],
)
def test_a_cutoff_between_a_crowd_of_ties_and_a_few_below(noise, name, above, crowd, below):
    """There the crowd's last document and the best of the few change places, each an order statistic of its own.

    Labels of chance rarely show it: the worst of a hundred thousand are thirty times those here.
    """
    rng, n = np.random.default_rng(0), above + crowd + below
    far = np.repeat(np.linspace(1.5, 5.0, 8), 150)
    scores = np.concatenate([np.repeat([3.0, 0.0, -gap], [above, crowd, below]) for gap in far])
    labels = rng.integers(0, 4, scores.size)
    found, wanted = (
        bs.SoftMetric(name, noise=noise, accuracy=accuracy).gradient(labels, scores, group=[n] * far.size)
        for accuracy in ("default", "high")
    )
    errors, largest = (np.abs(g).reshape(-1, n).max(axis=1) for g in (found - wanted, wanted))
    assert (errors / largest).max() < 2e-8


def test_hundreds_of_ties_keep_their_digits():
    """What goes from one to the next is multiplied by 1, hundreds of times: 3e-14 of the natural scale was lost."""
    n = 600
    labels = np.append(np.ones(n, np.int64), [1, 0, 0, 1])
    scores = np.append(np.zeros(n), [-18.0, -19.0, -20.0, -20.0])
    queries = prepare(bs.Metric("rbp", p=0.9), "test", labels, bs.QueryGroups.from_sizes([n + 4]))
    wanted = expectation(queries, scores, "gumbel", 1.0, "high", derive=1)
    got = expectation(queries, scores, "gumbel", 1.0, "default", derive=1)
    assert got.values[0] == pytest.approx(wanted.values[0], rel=2e-13, abs=0)
    assert np.abs(got.gradient - wanted.gradient).max() < 1e-14 * queries.discount[0]


@pytest.mark.parametrize("noise", ["gaussian", "gumbel", "logistic"])
@pytest.mark.parametrize("n", [300, 1000])
def test_the_value_of_one_of_many_beside_what_is_far_behind(noise, n):
    """The tails of hundreds add up to a millionth of a value as small as the chance of being first in a crowd."""
    labels, scores = np.append(np.arange(n) == 0, np.ones(n // 2)) * 1, np.append(np.zeros(n), np.full(n // 2, -17.0))
    queries = prepare(bs.Metric("rbp", p=0.01), "test", labels, bs.QueryGroups.from_sizes([labels.size]))
    wanted = expectation(queries, scores, noise, 1.0, "high", derive=0).values[0]
    for accuracy, bound in (("default", 1e-6), ("fast", 1e-4)):
        got = expectation(queries, scores, noise, 1.0, accuracy, derive=0).values[0]
        assert got == pytest.approx(wanted, rel=bound, abs=0)
