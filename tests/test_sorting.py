"""The kernels' own sort: numpy's stable order on lists of every length around the places where its method changes."""

import numpy as np
import pytest

from boostsoft.kernels.compile import kernel
from boostsoft.kernels.simd import LANES, keep_alive, pointer
from boostsoft.kernels.sorting import falling_order, rank_order, whole_order

LENGTHS = [1, 2, 7, 8, 9, 16, 17, 23, 24, 25, 71, 72, 73, 127, 128, 129, 130, 144, 145, 255, 256, 257, 288, 300]
LENGTHS += [1151, 1152, 1153, 5000]
COUNTS = [1, 3, 10, 40, 128, 129, 10_000]


@kernel
def first_of(scores, gains, count, rising):
    """What ``rank_order`` leaves: documents and their scores in rank order."""
    n = scores.size
    numbers, places = np.empty(2 * (n + LANES)), np.empty(3 * n, np.int64)
    zero = np.int64(0)
    keys, ranks, chosen = pointer(numbers, zero), pointer(numbers, n + LANES), pointer(places, zero)
    found = rank_order(
        pointer(scores, zero), pointer(gains, zero), n, count, rising, keys, ranks, chosen, pointer(places, n),
        pointer(places, 2 * n),
    )  # fmt: skip
    keep_alive(numbers)
    return places[:found], numbers[:found]


@kernel
def order_of(scores):
    """What ``falling_order`` leaves in room of just the size that it asks for."""
    n = scores.size
    numbers, places = np.empty(2 * (n + LANES)), np.empty(2 * n, np.int64)
    zero = np.int64(0)
    falling_order(
        scores, pointer(numbers, zero), pointer(numbers, n + LANES), pointer(places, zero), pointer(places, n)
    )
    keep_alive(numbers)
    return places[:n]


def drawn(n, kind):
    """Scores without ties, with some, with 0 and -0, all equal, sorted either way, and of every size."""
    rng = np.random.default_rng([n, len(kind)])
    normal = rng.normal(size=n)
    return {
        "normal": normal,
        "ties": np.round(3 * normal),
        "zeros": rng.choice([-0.0, 0.0, 1.0], n),
        "equal": np.full(n, 0.1),
        "rising": np.sort(normal),
        "falling": -np.sort(normal),
        "extreme": rng.choice([1e308, -1e308, 5e-324, -5e-324, 0.0, 1.0], n),
    }[kind]


KINDS = ["normal", "ties", "zeros", "equal", "rising", "falling", "extreme"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", LENGTHS)
def test_the_order_is_numpys_stable_one(n, kind):
    scores = drawn(n, kind)
    wanted = np.argsort(-scores, kind="stable")
    np.testing.assert_array_equal(order_of(scores), wanted)
    np.testing.assert_array_equal(whole_order(scores, np.ones(n), False), wanted)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", LENGTHS)
def test_equal_scores_by_rising_coefficient(n, kind):
    scores = drawn(n, kind)
    gains = np.random.default_rng(n).integers(0, 4, n).astype(float)
    wanted = np.lexsort((gains, -scores))
    np.testing.assert_array_equal(gains[whole_order(scores, gains, True)], gains[wanted])
    np.testing.assert_array_equal(scores[whole_order(scores, gains, True)], scores[wanted])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", LENGTHS)
def test_the_first_documents_and_all_that_equal_the_last_of_them(n, kind):
    scores = drawn(n, kind)
    gains = np.random.default_rng(n).integers(0, 4, n).astype(float)
    for rising in (False, True):
        wanted = np.lexsort((gains, -scores)) if rising else np.argsort(-scores, kind="stable")
        for count in sorted({min(count, n) for count in COUNTS}):
            found, keys = first_of(scores, gains, count, rising)
            case = f"{count=}, {rising=}"
            np.testing.assert_array_equal(keys, scores[found], case)
            np.testing.assert_array_equal(gains[found], gains[wanted[: found.size]], case)
            if not rising:
                np.testing.assert_array_equal(found, wanted[: found.size], case)
            assert found.size >= np.sum(scores >= scores[wanted[count - 1]]), case


def test_few_documents_are_sorted_for_few_ranks():
    scores = np.random.default_rng(0).normal(size=1200)
    found, _ = first_of(scores, np.ones(1200), 10, False)
    assert 10 <= found.size < 60
