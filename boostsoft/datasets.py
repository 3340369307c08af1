"""Ranking data: LETOR / SVMlight files, TREC runs, and an embedded task that needs no download.

`RankingData` is the one form in which features arrive. `load_letor` reads files (the parser is in `_letor`);
`load_digits_ranking` builds a query-by-example task from the digit images that ship with scikit-learn.
`load_trec_runs` puts the scores of several systems side by side as `TrecRuns` (`_trec`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import _digits, _letor
from ._trec.runs import load_trec_runs, write_trec_run
from ._trec.table import TrecRuns
from .arguments import PathLike, as_file, as_flag, real_number, whole_number
from .choices import Progress
from .progress import bar_of_files
from .ranking_data import RankingData
from .text_files import as_paths, read_lines, show

__all__ = [
    "RankingData",
    "RankingSplits",
    "TrecRuns",
    "load_digits_ranking",
    "load_letor",
    "load_trec_runs",
    "read_group_file",
    "write_trec_run",
]


def __dir__() -> list[str]:
    return __all__  # completion is not to offer what is imported here


_GROUP_SIZE = re.compile(rb"[0-9]{1,18}")


def load_letor(
    path: PathLike | Iterable[PathLike],
    *more_paths: PathLike,
    group: PathLike | Iterable[PathLike] | None = None,
    n_features: int | None = None,
    absent: float = 0.0,
    comments: bool = False,
    progress: Progress = "auto",
    dtype: DTypeLike = np.float64,
) -> RankingData:
    r"""Read LETOR / SVMlight ranking files into one data set.

    A line is `label qid:id index:value ... # comment`. Blank lines and lines with only a comment are skipped,
    gzip is recognised by content, and `NULL` (in any case) and `nan` are np.nan. Source: the format of LETOR
    and MSLR-WEB (Qin and Liu, 2013), which is SVMlight's (Joachims) with query ids. Where pyarrow is installed, long
    files of equally many features in every line are read three times as fast, to the same numbers.

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
    progress : "auto", True or False
        Whether to show how far it is: "auto" where stderr is a terminal and the files have 20 MB together, True in
        notebooks and logs too.
    dtype : np.float64 or np.float32
        Of the features; float32 takes half the memory. Labels are float64.

    Returns
    -------
    RankingData
        Feature i is column i - 1 of X. (Boosters that read a file themselves, as `lgb.Dataset("rank.train")` and
        `xgb.DMatrix("S1.txt?format=libsvm")` do, make it column i.) Dense: X takes n_docs * n_features * 8 bytes (as
        float32 4), however sparse the file is. Query ids are int64 if all are integers, else strings. A query that ends
        one file and begins the next is one query.

    Raises
    ------
    FileNotFoundError
        If a file does not exist.
    ValueError
        Naming file, line and text: a label that is no finite number; no qid, or one beside `group`; a feature not
        written index:value; an index below 1, above n_features or not increasing within its line; an infinite feature,
        or one beyond float32 where that is asked for; damaged or truncated gzip data; a query id that comes back after
        another query; a file without documents; group sizes that do not sum to the documents. An X that is larger than
        the memory available, with the line of the largest index. A `dtype` other than these two, an `absent` that is
        infinite or beyond it, no path at all, group files that are not one per file, a `progress` that is none of the
        three.
    TypeError
        If a file is named by no path, `n_features` is no whole number, `absent` no number, `comments` no flag, or
        `dtype` no type.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from boostsoft import load_letor
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
    paths = [*as_paths("load_letor", "path", path), *as_paths("load_letor", "path", more_paths)]
    group_paths = as_paths("load_letor", "group", group)
    kind = _feature_type(dtype)
    _check_letor_arguments(paths, group, group_paths, n_features, absent, kind)
    comments = as_flag("load_letor", "comments", comments)
    reader = _letor.Reader("load_letor", with_qid=group is None, n_features=n_features, comments=comments, dtype=kind)
    group_sizes = []
    for i, (file, n_docs) in enumerate(zip(paths, _read_each(reader, paths, progress), strict=True)):
        if group is not None:
            group_sizes.append(_group_sizes("load_letor", group_paths[i]))
            if group_sizes[-1].sum() != n_docs:
                raise ValueError(
                    f"load_letor: the sizes in group file {group_paths[i]} must sum to the {n_docs} "
                    f"documents of {file}; got {group_sizes[-1].sum()}"
                )
    if group is None:
        ids, sizes = reader.queries()
    else:
        sizes = np.concatenate(group_sizes)
        ids = np.arange(len(sizes), dtype=np.int64)
    X, y = reader.arrays(float(absent))
    kept = None if reader.comments is None else tuple(reader.comments)
    return RankingData(X, y, np.repeat(ids, sizes), sizes, kept)


def _read_each(reader: _letor.Reader, paths: Sequence[Path], progress: Any) -> Iterator[int]:
    """Read file after file, with a bar over the bytes of all; yields the number of documents of each."""
    with bar_of_files("load_letor", paths, progress) as tell:
        for at, path in enumerate(paths):
            yield reader.read(path, partial(tell, at))


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
    >>> from boostsoft.datasets import read_group_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "rank.query")
    ...     _ = file.write_text("3\n1\n")
    ...     read_group_file(file)
    array([3, 1])
    """
    return _group_sizes("read_group_file", as_file("read_group_file", "path", path))


def _group_sizes(caller: str, path: Path) -> NDArray[np.int64]:
    sizes = []
    for number, line in enumerate(read_lines(path, caller), 1):
        text = line.strip()
        if not text:
            continue
        if not _GROUP_SIZE.fullmatch(text) or int(text) < 1:
            raise ValueError(
                f"{caller}: {path}, line {number}: a group size must be an integer of at least 1; got {show(text)}"
            )
        sizes.append(int(text))
    if not sizes:
        raise ValueError(f"{caller}: {path}: no group sizes")
    return np.array(sizes, np.int64)


def _check_letor_arguments(
    paths: list[Path],
    group: object,
    group_paths: list[Path],
    n_features: object,
    absent: object,
    kind: np.dtype[Any],
) -> None:
    if not paths:
        raise ValueError("load_letor: path must name at least one file; got an empty list")
    if group is not None and len(group_paths) != len(paths):
        raise ValueError(f"load_letor: group must name one file per data file ({len(paths)}); got {len(group_paths)}")
    if n_features is not None:
        whole_number("load_letor", "n_features", n_features, 1)
    value = real_number("load_letor", "absent", absent)
    if math.isinf(value):
        raise ValueError(f"load_letor: absent must be a finite number or nan; got {absent!r}")
    if abs(value) > float(np.finfo(kind).max):
        raise ValueError(f"load_letor: absent must be finite as {kind}; got {absent!r}")


def _feature_type(dtype: DTypeLike) -> np.dtype[Any]:
    try:
        kind = np.dtype(dtype)
    except TypeError as error:
        raise TypeError(f"load_letor: dtype must be np.float64 or np.float32; got {dtype!r}") from error
    if kind not in (np.float32, np.float64):
        raise ValueError(f"load_letor: dtype must be np.float64 or np.float32; got {dtype!r}")
    return kind


@dataclass(frozen=True, eq=False)
class RankingSplits:
    """Training, validation and test set with the same features and no query in common.

    Attributes
    ----------
    train, valid, test : RankingData
        The three.
    """

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
    about .73 against .81 on the test set.

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
        Least and largest number of candidates, from 1 to 357; each query draws its own, uniformly, both ends
        included.
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
    TypeError, ValueError
        If an argument is no whole number, no flag, or outside its range.

    Examples
    --------
    >>> from boostsoft.datasets import load_digits_ranking
    >>> splits = load_digits_ranking(n_queries=(4, 2, 2), n_candidates=(5, 8))
    >>> splits.train.n_queries, splits.test.n_queries
    (4, 2)
    >>> splits.train.feature_names[:3]
    ('cosine_pixels', 'cosine_blurred', 'cosine_steps_right')
    """
    whole_number("load_digits_ranking", "seed", seed, 0)
    graded = as_flag("load_digits_ranking", "graded", graded)
    _digits.check_sizes(n_queries, n_candidates)
    from sklearn.datasets import load_digits

    digits = load_digits()
    described = _digits.describe(digits.images / 16.0)
    return RankingSplits(
        *(
            _digits.sample_queries(
                np.random.default_rng([seed, part]),
                np.arange(_digits.POOL_ENDS[part], _digits.POOL_ENDS[part + 1], dtype=np.int64),
                digits.target,
                described,
                n_queries=n_queries[part],
                n_candidates=n_candidates,
                graded=graded,
            )
            for part in range(3)
        )
    )
