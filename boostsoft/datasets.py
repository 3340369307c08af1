"""Ranking data: LETOR / SVMlight files, and an embedded task that needs no download.

`RankingData` is the one form in which both arrive. `load_letor` reads files (the parser is in `_letor.py`);
`load_digits_ranking` builds a query-by-example task from the digit images that ship with scikit-learn.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsoft import _letor

__all__ = [
    "RankingData",
    "RankingSplits",
    "load_digits_ranking",
    "load_letor",
    "read_group_file",
]

PathLike: TypeAlias = str | os.PathLike[str]

_DOCID = re.compile(r"\bdocid\s*=\s*(\S+)")
_GROUP_SIZE = re.compile(rb"[0-9]{1,18}")


@dataclass(frozen=True, eq=False, repr=False)
class RankingData:
    """Documents with features and labels, the documents of a query in adjacent rows.

    Parameters
    ----------
    X : ndarray of shape (n_docs, n_features), float64
        Features; np.nan where missing.
    y : ndarray of shape (n_docs,), float64
        Relevance labels.
    qid : ndarray of shape (n_docs,), int64 or str
        The id of each document's query.
    sizes : ndarray of shape (n_queries,), int64
        Documents per query, in row order: what LightGBM calls `group`.
    comments : tuple of n_docs str, optional
        Free text about each document.
    feature_names : tuple of n_features str
        Default: feature_1, feature_2, ..., numbered from 1 as in the files.

    Raises
    ------
    ValueError
        If the shapes disagree, a size is below 1, or a query's rows have different ids.

    Examples
    --------
    >>> y, qid, sizes = np.array([0.0, 2.0, 1.0]), np.array([7, 7, 9]), np.array([2, 1])
    >>> data = RankingData(X=np.eye(3), y=y, qid=qid, sizes=sizes)
    >>> data
    RankingData(n_queries=2, n_docs=3, n_features=3)
    >>> data.select_queries([1]).y
    array([1.])
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    qid: NDArray[Any]
    sizes: NDArray[np.int64]
    comments: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.X.ndim != 2:
            raise ValueError(f"RankingData: X must have two dimensions, got shape {self.X.shape}")
        n_docs, n_features = self.X.shape
        for name, array in (("y", self.y), ("qid", self.qid)):
            if array.shape != (n_docs,):
                raise ValueError(f"RankingData: {name} must have shape ({n_docs},) as X, got {array.shape}")
        if self.sizes.ndim != 1 or (self.sizes < 1).any() or int(self.sizes.sum()) != n_docs:
            raise ValueError(
                f"RankingData: sizes must be at least 1 and sum to the {n_docs} rows of X, "
                f"got {self.sizes.size} sizes with sum {self.sizes.sum()}"
            )
        changes = self.qid != np.repeat(self.qid[self._starts()], self.sizes)
        if changes.any():
            row = int(changes.argmax())
            raise ValueError(
                f"RankingData: qid must not change within a query, got {self.qid[row]} at row {row}"
            )
        if self.comments is not None and len(self.comments) != n_docs:
            raise ValueError(f"RankingData: comments must have length {n_docs}, got {len(self.comments)}")
        if not self.feature_names:
            object.__setattr__(self, "feature_names", tuple(f"feature_{i + 1}" for i in range(n_features)))
        if len(self.feature_names) != n_features:
            raise ValueError(
                f"RankingData: feature_names must have length {n_features}, got {len(self.feature_names)}"
            )

    def __repr__(self) -> str:
        n_features = self.X.shape[1]
        return f"RankingData(n_queries={self.n_queries}, n_docs={self.n_docs}, n_features={n_features})"

    @property
    def n_docs(self) -> int:
        """Number of documents (rows)."""
        return len(self.y)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.sizes)

    def _starts(self) -> NDArray[np.int64]:
        return np.cumsum(self.sizes) - self.sizes

    def docids(self) -> tuple[str, ...]:
        """Return the document ids that the comments state as `docid = ...`, one per row.

        Raises
        ------
        ValueError
            If there are no comments, or one of them states no docid.
        """
        if self.comments is None:
            raise ValueError(
                "RankingData.docids: comments must be present (load_letor(comments=True)), got None"
            )
        matches = [_DOCID.search(comment) for comment in self.comments]
        if None in matches:
            row = matches.index(None)
            raise ValueError(
                f"RankingData.docids: every comment must state 'docid = ...', "
                f"got {self.comments[row]!r} at row {row}"
            )
        return tuple(match[1] for match in matches if match)

    def select_queries(self, queries: ArrayLike) -> RankingData:
        """Return the data of some queries.

        Parameters
        ----------
        queries : array-like of shape (n_queries,), bool, or array-like of int
            A mask, or distinct positions 0..n_queries - 1; the result has them in the given order.

        Returns
        -------
        RankingData
            A copy of those rows.

        Raises
        ------
        ValueError
            If nothing is selected, the mask has another length, or a position is outside or repeated (one
            query twice would read as a single longer query where ids are used).
        """
        chosen = _query_positions(np.asarray(queries), self.n_queries)
        sizes = self.sizes[chosen]
        offset_in_result = np.cumsum(sizes) - sizes
        rows = np.arange(sizes.sum()) + np.repeat(self._starts()[chosen] - offset_in_result, sizes)
        comments = None if self.comments is None else tuple(self.comments[row] for row in rows.tolist())
        return RankingData(self.X[rows], self.y[rows], self.qid[rows], sizes, comments, self.feature_names)


def _query_positions(queries: NDArray[Any], n_queries: int) -> NDArray[np.int64]:
    """Turn a mask or positions into checked positions."""
    name = "RankingData.select_queries: queries"
    if queries.dtype == np.bool_:
        if queries.shape != (n_queries,):
            raise ValueError(f"{name} as a mask must have shape ({n_queries},), got {queries.shape}")
        queries = np.flatnonzero(queries)
    if queries.ndim != 1 or queries.size == 0 or queries.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must select at least one query by a mask or a one-dimensional array of integers, "
            f"got dtype {queries.dtype} and shape {queries.shape}"
        )
    outside = (queries < 0) | (queries >= n_queries)
    if outside.any():
        raise ValueError(f"{name} must be within 0..{n_queries - 1}, got {queries[outside][0]}")
    values, counts = np.unique(queries, return_counts=True)
    if len(values) < len(queries):
        raise ValueError(f"{name} must be distinct, got {values[counts > 1][0]} more than once")
    return queries.astype(np.int64)


# ---------------------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------------------


def load_letor(
    path: PathLike | Sequence[PathLike],
    *more_paths: PathLike,
    group: PathLike | Sequence[PathLike] | None = None,
    n_features: int | None = None,
    absent: float = 0.0,
    comments: bool = False,
) -> RankingData:
    r"""Read LETOR / SVMlight ranking files into one data set.

    A line is `label qid:id index:value ... # comment`. Blank lines and lines with only a comment are skipped,
    gzip is recognised by content, and `NULL` (in any case) and `nan` are np.nan. Source: the format of LETOR
    and MSLR-WEB (Qin and Liu, 2013), which is SVMlight's (Joachims) with query ids.

    Parameters
    ----------
    path, *more_paths : str or path, or one list of them
        The files, in the order in which their documents shall follow each other.
    group : str or path, or a list of as many as there are files, optional
        Files of group sizes (LightGBM's `.query`), for files whose lines have no qid. The query ids are then
        0, 1, 2, ...
    n_features : int, optional
        Number of features. Default: the largest index found. Give it where the last features of a sparse file
        may not occur, so that training and test sets get the same width.
    absent : float
        Value of a feature that a line leaves out: 0 (SVMlight, LightGBM) or np.nan (XGBoost).
    comments : bool
        Whether to keep the text after '#', without the spaces around it ('' where a line has none).

    Returns
    -------
    RankingData
        Dense: X takes n_docs * n_features * 8 bytes, however sparse the file is (reading a dense file takes
        about twice that for a moment). Query ids are int64 if all
        are integers, else strings. A query that ends one file and begins the next is one query.

    Raises
    ------
    FileNotFoundError
        If a file does not exist.
    ValueError
        Naming file, line and text: a label that is no finite number; no qid, or one beside `group`; a feature
        not written index:value; an index below 1, above n_features or not increasing within its line; an
        infinite feature; damaged or truncated gzip data; a query id that comes back after another query; a
        file without documents; group sizes that do not sum to the documents.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "part.txt")
    >>> lines = ["2 qid:10 1:0.5 2:NULL #docid = A", "0 qid:10 2:3 #docid = B", "1 qid:11 1:7 #docid = C"]
    >>> _ = file.write_text("\n".join(lines))
    >>> data = load_letor(file, comments=True)
    >>> data.X
    array([[0.5, nan],
           [0. , 3. ],
           [7. , 0. ]])
    >>> data.y, data.qid, data.sizes
    (array([2., 0., 1.]), array([10, 10, 11]), array([2, 1]))
    >>> data.docids()
    ('A', 'B', 'C')
    >>> folder.cleanup()
    """
    paths = [*_as_paths(path), *_as_paths(more_paths)]
    group_paths = _as_paths(group)
    _check_letor_arguments(paths, group, group_paths, n_features, absent)
    reader = _letor.Reader("load_letor", with_qid=group is None, n_features=n_features, comments=comments)
    group_sizes = []
    for i, file in enumerate(paths):
        n_docs = reader.read(file)
        if group is not None:
            group_sizes.append(_group_sizes("load_letor", group_paths[i]))
            if group_sizes[-1].sum() != n_docs:
                raise ValueError(
                    f"load_letor: the sizes in group file {group_paths[i]} must sum to the {n_docs} "
                    f"documents of {file}, got {group_sizes[-1].sum()}"
                )
    if group is None:
        ids, sizes = reader.queries()
    else:
        sizes = np.concatenate(group_sizes)
        ids = np.arange(len(sizes), dtype=np.int64)
    y = reader.labels()
    kept = None if reader.comments is None else tuple(reader.comments)
    return RankingData(reader.features(float(absent)), y, np.repeat(ids, sizes), sizes, kept)


def read_group_file(path: PathLike) -> NDArray[np.int64]:
    r"""Read the group sizes of a LightGBM `.query` file: one integer per line; blank lines are skipped.

    Parameters
    ----------
    path : str or path
        The file, plain or gzip.

    Returns
    -------
    ndarray of shape (n_queries,), int64
        Documents per query, in row order.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        Naming file, line and text, if a size is not an integer of at least 1, or the file has none.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "rank.query")
    ...     _ = file.write_text("3\n1\n")
    ...     read_group_file(file)
    array([3, 1])
    """
    return _group_sizes("read_group_file", Path(path))


def _group_sizes(caller: str, path: Path) -> NDArray[np.int64]:
    sizes = []
    for number, line in enumerate(_letor.read_lines(path, caller), 1):
        text = line.strip()
        if not text:
            continue
        if not _GROUP_SIZE.fullmatch(text) or int(text) < 1:
            raise ValueError(
                f"{caller}: {path}, line {number}: a group size must be an integer of at least 1, "
                f"got {_letor.show(text)}"
            )
        sizes.append(int(text))
    if not sizes:
        raise ValueError(f"{caller}: {path}: no group sizes")
    return np.array(sizes, np.int64)


def _as_paths(paths: PathLike | Sequence[PathLike] | None) -> list[Path]:
    if paths is None:
        return []
    return [Path(paths)] if isinstance(paths, (str, os.PathLike)) else [Path(path) for path in paths]


def _check_letor_arguments(
    paths: list[Path], group: object, group_paths: list[Path], n_features: object, absent: object
) -> None:
    if not paths:
        raise ValueError("load_letor: path must name at least one file, got an empty list")
    if group is not None and len(group_paths) != len(paths):
        raise ValueError(
            f"load_letor: group must name one file per data file ({len(paths)}), got {len(group_paths)}"
        )
    if n_features is not None:
        _check_integer("load_letor", "n_features", n_features, 1)
    if not isinstance(absent, Real) or math.isinf(absent):
        raise ValueError(f"load_letor: absent must be a finite number or nan, got {absent!r}")


def _check_integer(caller: str, name: str, value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{caller}: {name} must be an integer of at least {least}, got {value!r}")
    return int(value)


# ---------------------------------------------------------------------------------------------------------
# The embedded task
# ---------------------------------------------------------------------------------------------------------

_POOL_ENDS = (0, 1079, 1438, 1797)  # 60 %, 20 %, 20 % of the images, in the order of the file

# What of two images is compared, and how; the names become feature names. None of it sees a label.
_COMPARISONS = {
    "cosine": "pixels blurred steps_right steps_down top bottom left right",
    "correlation": "rows columns",
    "euclidean": "pixels blurred blocks",
    "manhattan": "pixels rows columns strokes_by_row strokes_by_column ink quadrant_nw quadrant_ne "
    "quadrant_sw quadrant_se centre_x centre_y spread_x spread_y slant mirror_x mirror_y",
}


@dataclass(frozen=True, eq=False)
class RankingSplits:
    """Training, validation and test set with the same features and no query in common."""

    train: RankingData
    valid: RankingData
    test: RankingData


def load_digits_ranking(
    *,
    seed: int = 0,
    n_queries: tuple[int, int, int] = (300, 100, 100),
    n_candidates: tuple[int, int] = (20, 100),
    graded: bool = False,
) -> RankingSplits:
    """Build a real image-retrieval task: given the image of a digit, rank images by whether they show it too.

    Each query is one of the 1,797 scanned 8 x 8 images of `sklearn.datasets.load_digits`; its candidates are
    a random sample of other images, about a tenth of them relevant. 32 features compare the two images
    (cosines and distances of pixels, of blurred and coarse images, of profiles, strokes, moments, ...) and
    see no label. The best single one orders the candidates clearly worse than a trained model does: NDCG@10
    about .74 against .81 on the test set.

    The images are cut into 60 / 20 / 20 % in the order of the file: no image occurs in two sets, neither as a
    query nor as a candidate. Neighbours in the file resemble each other (the image nearest to an image is
    within 200 places for 61 % of them; by chance 21 %), so that shuffling them first would make the test set
    easier than new data.

    Labels are binary by default because the data tell nothing beyond the digit: finer grades would have to be
    made up from the features (a leak) or from an opinion on which digits look alike. `graded=True` gives
    honest grades through a richer query: two examples of different digits, the one wanted first and the one
    wanted second.

    Parameters
    ----------
    seed : int
        Which queries and candidates are drawn. The same seed gives the same data, whatever the global state.
    n_queries : tuple of three int
        Queries of the training, validation and test set, at most 1,079, 359 and 359.
    n_candidates : tuple of two int
        Least and largest number of candidates; each query draws its own, uniformly, both ends included.
    graded : bool
        False: label 1 for the digit of the query, else 0. True: label 2 for the digit of the first example,
        1 for that of the second, else 0; 32 features compare with the first, 32 with the second.

    Returns
    -------
    RankingSplits
        `train`, `valid` and `test`. Query ids are the image number of the (first) example, comments
        give candidate and examples: `docid = 17 examples = 3`. A few queries have nothing relevant.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> splits = load_digits_ranking(n_queries=(4, 2, 2), n_candidates=(5, 8))
    >>> splits.train.n_queries, splits.test.n_queries
    (4, 2)
    >>> splits.train.feature_names[:3]
    ('cosine_pixels', 'cosine_blurred', 'cosine_steps_right')
    """
    _check_integer("load_digits_ranking", "seed", seed, 0)
    _check_digits_sizes(n_queries, n_candidates)
    from sklearn.datasets import load_digits

    digits = load_digits()
    described = _describe(digits.images / 16.0)
    return RankingSplits(
        *(
            _sample_queries(
                np.random.default_rng([seed, part]),
                np.arange(_POOL_ENDS[part], _POOL_ENDS[part + 1], dtype=np.int64),
                digits.target,
                described,
                n_queries=n_queries[part],
                n_candidates=n_candidates,
                graded=graded,
            )
            for part in range(3)
        )
    )


def _check_digits_sizes(n_queries: tuple[int, int, int], n_candidates: tuple[int, int]) -> None:
    pools = [end - start for start, end in pairwise(_POOL_ENDS)]
    if np.shape(n_queries) != (3,) or np.shape(n_candidates) != (2,):
        raise ValueError(
            "load_digits_ranking: n_queries must have three entries and n_candidates two, "
            f"got {n_queries!r} and {n_candidates!r}"
        )
    for value, pool in zip(n_queries, pools, strict=True):
        if _check_integer("load_digits_ranking", "n_queries", value, 1) > pool:
            raise ValueError(
                f"load_digits_ranking: n_queries must be at most {tuple(pools)}, got {n_queries!r}"
            )
    least, largest = (_check_integer("load_digits_ranking", "n_candidates", n, 1) for n in n_candidates)
    if not least <= largest <= min(pools) - 2:  # two images may be examples
        raise ValueError(
            f"load_digits_ranking: n_candidates must be (least, largest) up to {min(pools) - 2}, "
            f"got {n_candidates!r}"
        )


def _sample_queries(
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


def _describe(images: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
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
    product: NDArray[np.float64] = (a * b).sum(-1)
    norm = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    cosine = np.zeros_like(product)  # 0 where one of the two is blank
    np.divide(product, norm, out=cosine, where=norm > 0)
    return cosine


def _correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    return _cosine(a - a.mean(-1, keepdims=True), b - b.mean(-1, keepdims=True))


def _euclidean(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(((a - b) ** 2).sum(-1)))


def _manhattan(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.abs(a - b).sum(-1))
