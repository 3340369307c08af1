"""The command ``python -m boostsoft blend``: weights for several runs, and the run that they fuse into."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

import numpy as np

from ..._trec.runs import run_text
from ...arguments import refuse_absent, written
from ...atomic import Content
from ...blending.baselines import METHODS
from ...blending.scores import NORMALIZATIONS
from ...blending.settings import CONSTRAINTS, SOFT
from ...drawing import png
from ...kernels.noise import LAWS
from ...metrics import Metric
from ...metrics.spec import GAINS, refuse_pnr
from ...statistics import LEAST_RESAMPLES
from ..options import add_command, check_folder, folder_name, metric_name, path_name, positive, whole
from ..terminal import finish
from .scores import Names, Scores, listed, read_runs, read_table

__all__ = ["add_blend", "blend"]

_DESCRIPTION = "Find weights for the scores of several models, and fuse their runs."
_EPILOG = """\
TREC runs:    python -m boostsoft blend runs/*.gz --qrels qrels.txt
one table:    python -m boostsoft blend scores.csv --qid query --label grade --scores bm25,lm,bert

A run has six columns (topic Q0 document rank score run), judgements have four (topic iteration document judgement);
a table is CSV, or Parquet if pyarrow is installed, with a row for each query and document. Files may be gzip.
Queries without labels are fused with the weights that the others give. The value of a single model differs from
trec_eval's: its NDCG has --gain linear; documents that a model does not have are ranked by chance below its own,
where trec_eval leaves them out, and topics that it did not answer count with what chance earns (judged topics that no
run answered are left out). Written are weights.json, weights.png, fused.run and, of metrics with an exact expectation,
curve.png.
"""
_ALL = "all"
_FILES = ("weights.json", "weights.png", "curve.png", "fused.run")


def add_blend(commands: Any) -> None:
    """Add the command to the subparsers of the command line."""
    parser = add_command(
        commands,
        "blend",
        blend,
        help="weights for several runs, and the fused run",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    _add_data(parser)
    _add_weights(parser)
    add = parser.add_argument_group("results").add_argument
    add("--folds", type=whole(0), default=5, metavar="N", help="folds of queries for honest values; 0 or 1 none (5)")
    add(
        "--resamples",
        type=_resamples,
        default=100,
        metavar="N",
        help=f"resamples of queries, for intervals of --method {SOFT}, {LEAST_RESAMPLES} or more; 0 none (100)",
    )
    add("--depth", type=whole(1), default=1000, metavar="N", help="documents of a query in the fused run (1000)")
    add("--name", default="boostsoft", metavar="TAG", help="what the fused run is called (boostsoft)")
    add("--out", type=folder_name, default=Path("boostsoft-blend"), metavar="DIR", help="folder (./boostsoft-blend)")


def _add_data(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("data: TREC runs and --qrels, or one table").add_argument
    add("files", type=path_name, nargs="+", metavar="FILE", help="runs, or a table")
    add("--qrels", type=path_name, metavar="FILE", help="the judgements on the runs")
    add("--qid", metavar="COLUMN", help="of a table: the query (qid)")
    add("--label", metavar="COLUMN", help="of a table: how relevant the document is; empty where unknown (label)")
    add("--docid", metavar="COLUMN", help="of a table: the document (docid; without one, the row's number)")
    add("--scores", type=_names, metavar="A,B", help="of a table: the columns to blend (all others)")


def _add_weights(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("weights").add_argument
    add("--metric", type=metric_name, default="ndcg@10", metavar="NAME@K", help="what to maximise (ndcg@10)")
    words = "of a label, in dcg and ndcg: exp2 (2^label - 1) or linear, as trec_eval's (exp2)"
    add("--gain", choices=list(GAINS), help=words)
    words = "least label of a relevant document, in map, mrr, precision and others: trec_eval's -l (1)"
    add("--relevant-from", type=positive, metavar="LABEL", help=words)
    add("--normalize", choices=NORMALIZATIONS, default="rank", help="scale of the scores in each query (rank)")
    add("--constraint", choices=CONSTRAINTS, default="simplex", help="constraint on the weights (simplex)")
    add("--method", choices=[SOFT, *METHODS], default="soft", help="how to find the weights (soft)")
    add("--noise", choices=list(LAWS), default="gaussian", help="what softens the metric (gaussian)")
    add(
        "--sigma",
        type=_sigma,
        default="auto",
        metavar="X",
        help="scale of the noise, in spreads of the blend, usually .05 to 2; auto is at most 1, and less the more "
        "queries there are (auto)",
    )
    add("--lower-is-better", type=_names, metavar="A,B", help="models of which a lower score is better, or 'all'")
    add("--seed", type=whole(0), default=0, metavar="N", help="seed of whatever is drawn (0)")


def blend(options: argparse.Namespace) -> None:
    """Run the command; what cannot work is refused before anything is fitted."""
    refuse_pnr("blend", options.metric)
    check_folder(options.out, *_FILES)
    if len(options.name.split()) != 1 or written(options.name) != options.name:
        raise ValueError(f"--name: must be one word of text without blanks; got {options.name!r}")
    metric = _metric(options.metric, gain=options.gain, relevant_from=options.relevant_from)
    scores = _read(options)
    settings: dict[str, Any] = {
        name: getattr(options, name) for name in ("normalize", "constraint", "method", "noise", "sigma")
    }
    settings["metric"] = metric
    settings["n_boot"] = options.resamples
    settings["lower_is_better"] = _lower(options.lower_is_better, scores.models)
    from .report import as_json, report  # with scikit-learn, which other commands do without
    from .work import find_blend

    found = find_blend(scores, settings, options.folds, options.seed)
    files: dict[str, Content] = {"weights.json": as_json(found, scores, settings, options.seed)}
    files |= _pictures(found, scores)
    files["fused.run"] = _fused(found, scores, options.name, options.depth)
    finish(report(found, scores, settings, options.folds), options.out, files, _FILES)


def _metric(spec: str, **options: Any) -> Metric:
    """The metric with those of its options that are given."""
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in Metric(spec).options:
            raise ValueError(f"--{name.replace('_', '-')}: {spec} has none")
    return Metric(spec, **given)


def _read(options: argparse.Namespace) -> Scores:
    given = [name for name in ("qid", "label", "docid", "scores") if getattr(options, name) is not None]
    if options.qrels is not None:
        if given:
            raise ValueError(f"blend: --{given[0]} is of a table; with --qrels, give runs")
        return read_runs(options.files, options.qrels)
    if len(options.files) > 1:
        raise ValueError("blend: give --qrels with several runs, or one table")
    path = options.files[0]
    refuse_absent("blend", "FILE", path)
    return read_table(path, Names(**{name: getattr(options, name) for name in given}))


def _lower(names: tuple[str, ...] | None, models: tuple[str, ...]) -> bool | np.ndarray[Any, Any]:
    if not names:
        return False
    if names == (_ALL,):
        return True
    for name in names:
        if name not in models:
            raise ValueError(f"--lower-is-better: there is no model {name!r}; there are {listed(models)}")
    return np.array([model in names for model in models])


def _pictures(found: Any, scores: Scores) -> dict[str, Content]:
    from ...blend_plots import blend_curve_figure, weights_figure

    pictures: dict[str, Content] = {"weights.png": lambda: png(weights_figure(found.blender, names=scores.models))}
    if found.curve is not None:
        pictures["curve.png"] = lambda: png(blend_curve_figure(found.curve, names=found.curve_names))
    return pictures


def _fused(found: Any, scores: Scores, tag: str, depth: int) -> bytes:
    """The run of all queries; documents that only the judgements have are in no run, and are left out."""
    predicted = found.blender.predict(scores.S, group=scores.sizes)
    kept = ~np.isnan(scores.S).all(axis=1)
    return run_text(scores.qid[kept], scores.docid[kept], predicted[kept], tag, depth)


def _names(text: str) -> tuple[str, ...]:
    """Read names separated by commas, each once; one that holds a comma is quoted, as in CSV."""
    try:
        names = tuple(name.strip() for name in next(csv.reader([text], skipinitialspace=True), ()))
    except csv.Error:  # a line end in the midst
        names = ()
    if not names or not all(names) or len(set(names)) < len(names):
        raise argparse.ArgumentTypeError(f"must be different names separated by commas; got {text!r}")
    return names


def _resamples(text: str) -> int:
    """Read 0, or enough resamples for a 95 % interval: the ends of one of a few are accidents."""
    count = whole(0)(text)
    if 0 < count < LEAST_RESAMPLES:
        raise argparse.ArgumentTypeError(f"must be 0 (none) or at least {LEAST_RESAMPLES}; got {text!r}")
    return count


def _sigma(text: str) -> float | str:
    """Read "auto" or a number above 0."""
    return text if text == "auto" else positive(text)
