"""What users see of TREC files: reading runs side by side, and writing one."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterable
from operator import methodcaller
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import (
    FloatArray,
    PathLike,
    as_array,
    as_file,
    as_path,
    finite_number,
    finite_vector,
    one_of,
    whole_number,
    written,
)
from ..atomic import write_whole
from ..choices import Pool, Progress, Topics
from ..query_groups import places_of_ids, refuse_missing_ids
from ..query_means import blocks
from ..text_files import as_paths
from .table import POOLS, TOPICS, TrecRuns, read_table

_LINES = 2**14  # of a run that are texts of Python at once, which take three times what they do in the file


def load_trec_runs(
    path: PathLike | Iterable[PathLike],
    *more_paths: PathLike,
    qrels: PathLike | None = None,
    pool: Pool = "judged",
    topics: Topics = "judged",
    unjudged: float = 0.0,
    progress: Progress = "auto",
) -> TrecRuns:
    r"""Read TREC runs, and the judgements on them, into one row for each topic and document.

    A line of a run is `topic Q0 document rank score run`; the score orders the documents, as in trec_eval, and the
    rank is ignored. A line of the judgements is `topic iteration document judgement`. Columns are separated by blanks
    or tabs, blank lines are skipped, gzip is recognised by content.

    Parameters
    ----------
    path, *more_paths : str or path, or one list of them
        The runs, one a file: a column of S each.
    qrels : str or path, optional
        The judgements. A negative one (spam) counts as 0, or as ``unjudged`` if that is below 0.
    pool : "judged" or "retrieved"
        Whether a topic has all documents that a run has retrieved or somebody has judged, or the former only. With
        "judged", relevant documents that no run has found are among those that a metric's divisor counts, as in
        trec_eval; their scores are missing in every run, but see Notes on what they earn.
    topics : "judged" or "all"
        With qrels: the topics that have a judgement, or all of the runs. Topics without any document in a run are
        left out.
    unjudged : float
        Label of the documents that nobody has judged, in a topic with judgements. bpref ignores labels below 0: with
        -1 it is trec_eval's.
    progress : "auto", True or False
        Whether to show how far it is, file by file: "auto" where stderr is a terminal and the files have 20 MB
        together, True in notebooks and logs too.

    Returns
    -------
    TrecRuns
        Topics and documents in rising order, whatever the order of the files. A run is called what its last column
        says, or by its file if that says several things, or the same as another's.

    Raises
    ------
    FileNotFoundError
        If a file does not exist.
    ValueError
        Naming file, line and text: a line of more or fewer columns; a score that is no finite number, a judgement that
        is no whole one of up to nine digits; a document twice in a topic of one file; damaged or truncated gzip data. A
        file without a line; two runs of the same name; judgements that have no topic in common with the runs.

    Notes
    -----
    The metric of a column of S, its missing scores below all others, is not always what trec_eval gives. Documents that
    the run has not retrieved are in the list, and at their places earn gain, as in MAP or in the NDCG of a short list;
    trec_eval leaves them out, so that a topic that the run has not answered is worth 0 there or is left out of the
    mean. A cutoff per topic, ``k=`` the number of documents that the run has there, leaves them out here, too: at least
    1, so that a topic without any is to be left out by hand. NDCG's best order is then cut as well; that of the whole
    list is ``Metric("dcg").per_query(y, y, ...)``. Of equal scores trec_eval takes the documents by falling id, where
    the rows here are in rising order: reverse the rows for ``ties="order"`` to agree. It reads scores as 32-bit floats,
    so that more of them are equal. ``np.where(np.isnan(S), np.nanmin(S, axis=0) - 1, S)`` puts missing scores below all
    others.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from boostsoft.datasets import load_trec_runs
    >>> folder = tempfile.TemporaryDirectory()
    >>> files = [pathlib.Path(folder.name, name) for name in ("bm25", "lm", "qrels")]
    >>> _ = files[0].write_text("7 Q0 d1 1 12.5 bm25\n7 Q0 d2 2 11 bm25\n")
    >>> _ = files[1].write_text("7 Q0 d2 1 -3.5 lm\n")
    >>> _ = files[2].write_text("7 0 d2 1\n7 0 d3 2\n")
    >>> data = load_trec_runs(files[:2], qrels=files[2])
    >>> data.S
    array([[12.5,  nan],
           [11. , -3.5],
           [ nan,  nan]])
    >>> data.y, data.docid, data.runs
    (array([0., 1., 2.]), array(['d1', 'd2', 'd3'], dtype=object), ('bm25', 'lm'))
    >>> folder.cleanup()
    """
    caller = "load_trec_runs"
    paths = [*as_paths(caller, "path", path), *as_paths(caller, "path", more_paths)]
    if not paths:
        raise ValueError(f"{caller}: path must name at least one file; got an empty list")
    one_of(caller, "pool", pool, POOLS)
    one_of(caller, "topics", topics, TOPICS)
    label = finite_number(caller, "unjudged", unjudged)
    judgements = None if qrels is None else as_file(caller, "qrels", qrels)
    return read_table(paths, judgements, caller, pool=pool, topics=topics, unjudged=label, progress=progress)


def write_trec_run(
    path: PathLike, qid: Any, docid: Any, scores: Any, *, run: str = "boostsoft", depth: int = 1000
) -> None:
    """Write scores as a TREC run: the documents of each topic from the best down, with ranks from 1.

    Documents of equal score come by falling id, as trec_eval takes them, to which scores that differ in their eighth
    digit are equal, too. The file is written under another name first, so that it is never half there.

    Parameters
    ----------
    path : str or path
        The file; gzip if the name ends in .gz.
    qid, docid : (n_docs,)
        Topic and document of each score.
    scores : (n_docs,)
        Finite; higher is better.
    run : str
        What the run is called: one word.
    depth : int
        Documents of a topic at most.

    Raises
    ------
    TypeError, ValueError
        If the lengths differ, a score is not finite, an id is missing, it or the name is not one word, a document is
        there twice in a topic, or ``depth`` is no whole number from 1.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from boostsoft.datasets import write_trec_run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.run")
    ...     write_trec_run(path, ["051", "051"], ["d1", "d2"], [0.25, 0.5], run="a")
    ...     print(path.read_text(), end="")
    051 Q0 d2 1 0.5 a
    051 Q0 d1 2 0.25 a
    """
    caller = "write_trec_run"
    values = finite_vector(caller, "scores", scores)
    whole_number(caller, "depth", depth, 1)
    columns = [_words(caller, name, ids, values.size) for name, ids in (("qid", qid), ("docid", docid))]
    _words(caller, "run", [run], 1)
    _refuse_twice(caller, *columns)
    content = run_text(columns[0], columns[1], values, run, depth)
    target = as_path(caller, "path", path)
    content = gzip.compress(content, mtime=0) if target.suffix == ".gz" else content
    write_whole(target, methodcaller("write_bytes", content))


def _words(caller: str, name: str, ids: Any, n: int) -> NDArray[Any]:
    """Ids as texts without a blank in them, which would be two columns."""
    array = as_array(caller, name, ids)
    if array.ndim != 1:  # its rows would be ids, or the letters of a text
        raise ValueError(f"{caller}: {name} must be one-dimensional; got shape {array.shape}")
    refuse_missing_ids(caller, array, name)
    known: dict[str, str] = {}  # a topic's id is one text, not one for each of its documents
    values = ids.tolist() if isinstance(ids, np.ndarray) and ids.dtype.kind == "U" else ids
    texts = [known.setdefault(text, text) for text in map(_text, values)]
    if len(texts) != n:
        raise ValueError(f"{caller}: {name} must have one id per score, {n}; got {len(texts)}")
    for text in known:
        if text.split() != [text] or written(text) != text:  # a line's end at its own would be one of the file
            raise ValueError(f"{caller}: {name} must be one word of text without blanks; got {text!r}")
    found = np.empty(n, object)
    found[:] = texts
    return found


def _refuse_twice(caller: str, qid: NDArray[Any], docid: NDArray[Any]) -> None:
    """No reader of runs takes a document twice in a topic."""
    pairs = list(zip(qid.tolist(), docid.tolist(), strict=True))
    if len(set(pairs)) < len(pairs):
        topic, document = next(pair for pair, count in Counter(pairs).items() if count > 1)
        raise ValueError(f"{caller}: docid must be distinct in each topic; got {document!r} twice in {topic!r}")


def _text(value: Any) -> str:
    """An id as a text; HDF5 has texts as bytes, which are read as load_trec_runs does."""
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def run_text(qid: NDArray[Any], docid: NDArray[Any], scores: FloatArray, tag: str, depth: int) -> bytes:
    """A run file: topics in the order in which they come, documents from the best down, ties by falling id."""
    place = places_of_ids(qid)
    order = np.lexsort((-scores, place))
    topic, score = place[order], scores[order]
    follows = (topic[1:] == topic[:-1]) & (score[1:] == score[:-1])
    tied = np.zeros(order.size, np.bool_)
    tied[1:] |= follows
    tied[:-1] |= follows
    rows = order[tied]  # of few documents alone are ids compared, which takes its time
    order[tied] = rows[np.lexsort((docid[rows].astype(str), scores[rows], -place[rows]))[::-1]]
    ranks = np.arange(1, order.size + 1) - np.searchsorted(topic, topic)
    order, ranks = order[ranks <= depth], ranks[ranks <= depth]
    parts = []
    for first, last in blocks(order.size, 1, _LINES):
        at = order[first:last]
        columns = (column.tolist() for column in (qid[at], docid[at], ranks[first:last], scores[at]))
        lines = [
            f"{query} Q0 {document} {rank} {score!r} {tag}\n"
            for query, document, rank, score in zip(*columns, strict=True)
        ]
        parts.append("".join(lines).encode())
    return b"".join(parts)
