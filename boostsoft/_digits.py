"""The embedded task: sampling queries from the digit images, and the features of two images."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .arguments import whole_number
from .ranking_data import RankingData

POOL_ENDS = (0, 1079, 1438, 1797)  # 60 %, 20 %, 20 % of the images, in the order of the file

# What of two images is compared, and how; the names become feature names. None of it sees a label.
_COMPARISONS = {
    "cosine": "pixels blurred steps_right steps_down top bottom left right",
    "correlation": "rows columns",
    "euclidean": "pixels blurred blocks",
    "manhattan": "pixels rows columns strokes_by_row strokes_by_column ink quadrant_nw quadrant_ne "
    "quadrant_sw quadrant_se centre_x centre_y spread_x spread_y slant mirror_x mirror_y",
}


def check_sizes(n_queries: tuple[int, int, int], n_candidates: tuple[int, int]) -> None:
    pools = [end - start for start, end in pairwise(POOL_ENDS)]
    if np.shape(n_queries) != (3,) or np.shape(n_candidates) != (2,):
        raise ValueError(
            "load_digits_ranking: n_queries must have three entries and n_candidates two; "
            f"got {n_queries!r} and {n_candidates!r}"
        )
    for value, pool in zip(n_queries, pools, strict=True):
        if whole_number("load_digits_ranking", "n_queries", value, 1) > pool:
            raise ValueError(f"load_digits_ranking: n_queries must be at most {tuple(pools)}; got {n_queries!r}")
    least, largest = (whole_number("load_digits_ranking", "n_candidates", n, 1) for n in n_candidates)
    if not least <= largest <= min(pools) - 2:  # two images may be examples
        raise ValueError(
            f"load_digits_ranking: n_candidates must be (least, largest) up to {min(pools) - 2}; got {n_candidates!r}"
        )


def sample_queries(
    rng: np.random.Generator,
    pool: NDArray[np.int64],
    digit: NDArray[np.int64],
    described: dict[str, NDArray[np.float64]],
    *,
    n_queries: int,
    n_candidates: tuple[int, int],
    graded: bool,
) -> RankingData:
    """Draw queries and candidates from one pool of images."""
    examples = rng.choice(pool, n_queries, replace=False)[:, None]
    if graded:
        second = [rng.choice(pool[digit[pool] != digit[first]]) for first in examples[:, 0]]
        examples = np.column_stack([examples, second])
    sizes = rng.integers(*n_candidates, size=n_queries, endpoint=True)
    candidates = np.concatenate(
        [
            rng.choice(np.setdiff1d(pool, shown), size, replace=False)
            for shown, size in zip(examples, sizes, strict=True)
        ]
    )
    of_row = np.repeat(examples, sizes, axis=0)
    same = digit[of_row] == digit[candidates][:, None]
    compared = [_compare(described, column, candidates) for column in of_row.T]
    prefixes = ("first_", "second_") if graded else ("",)
    return RankingData(
        X=np.column_stack([values for columns in compared for values in columns.values()]),
        y=same.astype(np.float64) @ np.arange(same.shape[1], 0.0, -1.0),
        qid=of_row[:, 0],
        sizes=sizes,
        comments=tuple(
            f"docid = {candidate} examples = {' '.join(map(str, shown))}"
            for candidate, shown in zip(candidates.tolist(), of_row.tolist(), strict=True)
        ),
        feature_names=tuple(
            prefix + name for prefix, columns in zip(prefixes, compared, strict=True) for name in columns
        ),
    )


def describe(images: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Describe images of shape (n, 8, 8), values in [0, 1]: name -> (n, length of the descriptor)."""
    n = len(images)
    framed = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    down = framed[:, :-2] + 2 * framed[:, 1:-1] + framed[:, 2:]
    rows, columns, ink = images.sum(2), images.sum(1), images.sum((1, 2))
    axis = np.arange(8) - 3.5
    centre_x, centre_y = columns @ axis / ink, rows @ axis / ink
    from_x, from_y = axis - centre_x[:, None], axis - centre_y[:, None]
    quadrants = images.reshape(n, 2, 4, 2, 4).sum((2, 4)).reshape(n, 4)
    black = (images > 0.5).astype(np.float64)
    described = {
        "pixels": images,
        "blurred": (down[:, :, :-2] + 2 * down[:, :, 1:-1] + down[:, :, 2:]) / 16,
        "blocks": images.reshape(n, 4, 2, 4, 2).sum((2, 4)),
        "rows": rows,
        "columns": columns,
        "steps_right": np.diff(images, axis=2),
        "steps_down": np.diff(images, axis=1),
        "strokes_by_row": np.abs(np.diff(black, axis=2)).sum(2),
        "strokes_by_column": np.abs(np.diff(black, axis=1)).sum(1),
        "top": images[:, :4],
        "bottom": images[:, 4:],
        "left": images[:, :, :4],
        "right": images[:, :, 4:],
        "ink": ink,
        **{f"quadrant_{name}": quadrants[:, i] for i, name in enumerate(("nw", "ne", "sw", "se"))},
        "centre_x": centre_x,
        "centre_y": centre_y,
        "spread_x": (columns * from_x**2).sum(1) / ink,
        "spread_y": (rows * from_y**2).sum(1) / ink,
        "slant": np.einsum("nij,ni,nj->n", images, from_y, from_x) / ink,
        "mirror_x": _cosine(images.reshape(n, -1), images[:, :, ::-1].reshape(n, -1)),
        "mirror_y": _cosine(images.reshape(n, -1), images[:, ::-1].reshape(n, -1)),
    }
    return {name: values.reshape(n, -1) for name, values in described.items()}


def _compare(
    described: dict[str, NDArray[np.float64]], left: NDArray[np.int64], right: NDArray[np.int64]
) -> dict[str, NDArray[np.float64]]:
    """Return name -> feature (n_pairs,) of the pairs (left[i], right[i]) of image numbers."""
    measures = {
        "cosine": _cosine,
        "correlation": _correlation,
        "euclidean": _euclidean,
        "manhattan": _manhattan,
    }
    features = {
        f"{measure}_{name}": measures[measure](described[name][left], described[name][right])
        for measure, names in _COMPARISONS.items()
        for name in names.split()
    }
    features["ink_of_example"] = described["ink"][left, 0]
    features["ink_of_candidate"] = described["ink"][right, 0]
    return features


def _cosine(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    norm = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))  # above 0: no image has a blank part
    return np.asarray((a * b).sum(-1) / norm)


def _correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    return _cosine(a - a.mean(-1, keepdims=True), b - b.mean(-1, keepdims=True))


def _euclidean(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(((a - b) ** 2).sum(-1)))


def _manhattan(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.abs(a - b).sum(-1))
