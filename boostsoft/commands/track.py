"""The command ``python -m boostsoft track``: what each tree of a finished model adds, in a table and on a page."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from ..adapters.xgboost_data import import_xgboost
from ..arguments import FloatArray, refuse_absent, written
from ..atomic import write_files
from ..choices import Noise
from ..datasets import load_letor
from ..drawing import png
from ..extras import optional, reason
from ..kernels.noise import LAWS
from ..metrics import Metric, SoftMetric
from ..metrics.hard import alike
from ..metrics.registry import REGISTRY
from ..metrics.soft import WATCHED_SIGMA, AnyMetric
from ..metrics.spec import refuse_pnr
from ..ranking_data import RankingData
from ..text_files import printable
from ..track_plots import track_figure
from ..track_report import write_report
from ..track_report.figures import MetricFigures, metric_figures
from ..tracking import track_trees
from ..tracks import TreeTrack
from ..tracks.checks import first_soft
from ..tracks.files import SUFFIXES
from ..tracks.words import amount
from .options import add_command, check_folder, folder_name, metric_name, path_name, positive, whole
from .terminal import PLUS_MINUS, ResultTable, page, plus_minus

_DESCRIPTION = (
    "Measure a finished model after each of its trees: the metric and its expectation under noise, which trees hurt, "
    "and how many to keep."
)
_EPILOG = """\
MODEL is a LightGBM text model, an XGBoost JSON or UBJ model, or a CatBoost .cbm model; DATA are LETOR / SVMlight
files (label qid:id index:value ...), plain or gzip, with queries that the model was not trained on. Feature i of the
files is column i - 1 of the model.

a look:       python -m boostsoft track model.txt S5.txt
a page:       python -m boostsoft track model.json S4.txt S5.txt --metric ndcg@10 --metric map --report report.html
everything:   python -m boostsoft track model.txt S5.txt --out tracked
"""
_LIGHTGBM, _XGBOOST, _CATBOOST = b"tree", b"{", b"CBM1"  # how a model's file begins
_SIZES = re.compile(rb"\ntree_sizes=(.*)")  # a line of LightGBM's: the bytes of each tree
_PARAMETERS = re.compile(rb"\nparameters:.*?\nend of parameters", re.DOTALL)  # and what it was trained with
_LEVEL = 0.95


def add_track(commands: Any) -> None:
    """Add the command to the subparsers of the command line."""
    parser = add_command(
        commands,
        "track",
        track,
        help="what each tree of a finished model adds",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    add = parser.add_argument
    add("model", type=path_name, metavar="MODEL", help="the model's file")
    add("data", type=path_name, nargs="+", metavar="DATA", help="files of labelled queries")
    add(
        "--metric",
        type=metric_name,
        action="append",
        metavar="NAME@K",
        help="metric to track, hard and, if it has an exact expectation, soft; may be repeated (ndcg@10)",
    )
    add("--noise", choices=list(LAWS), default="gaussian", help="what softens the metric (gaussian)")
    words = f"noise scale, in spreads of the scores ({WATCHED_SIGMA:g})"
    add("--sigma", type=positive, default=WATCHED_SIGMA, metavar="X", help=words)
    add("--every", type=whole(1), default=1, metavar="N", help="measure after every N trees, and after the last (1)")
    add("--start", type=whole(0), default=0, metavar="N", help="begin after the first N trees (0)")
    add("--label", metavar="TEXT", help="what the model is called (its file's name)")
    add("--absent", choices=["0", "nan"], default="0", help="value of a feature that a line leaves out (0)")
    add = parser.add_argument_group("what is written (nothing by default)").add_argument
    add("--report", type=path_name, metavar="FILE", help="interactive page; needs plotly")
    add("--png", type=path_name, metavar="FILE", help="picture of the first metric")
    add("--save", type=path_name, metavar="FILE", help="the values of every query at every step: .npz or .parquet")
    add(
        "--out",
        type=folder_name,
        metavar="DIR",
        help="all of it: report.html (if plotly is installed), track.png, track.npz",
    )


def _read(options: argparse.Namespace, n_features: int) -> RankingData:
    try:
        return load_letor(options.data, n_features=n_features, absent=float(options.absent))
    except ValueError as error:
        limit = f"n_features={n_features}"
        if limit not in str(error):
            raise
        raise ValueError(f"track: {str(error).replace(limit, f'{n_features}, as many as the model has')}") from error


def track(options: argparse.Namespace) -> None:
    """Run the command; what cannot work is refused before anything is measured."""
    metrics = tracked_metrics(options.metric or ["ndcg@10"], options.noise, options.sigma)
    targets = _targets(options)
    model, n_features = read_model(options.model)
    data = _read(options, n_features)
    found = track_trees(
        model, data.X, data.y, qid=data.qid, metrics=metrics,
        every=options.every, start=options.start, label=written(options.label or options.model.stem),
    )  # fmt: skip
    console = page()
    try:
        for kind, path in targets:
            _WRITERS[kind](found, path)
    finally:  # what has been measured is seen, whatever becomes of the files
        console.print(_summary(found, data, plus_minus(console)))
    for _, path in targets:
        console.print(Text(printable(f"Written: {path}")))
    if options.out is not None and "report" not in dict(targets):
        console.print(Text("No report.html: pip install 'boostsoft[report]'"))


def tracked_metrics(specs: Sequence[str], noise: Noise, sigma: float) -> list[AnyMetric]:
    """Each metric and, where there is one, its expectation under noise in units of the scores' spread."""
    metrics: list[AnyMetric] = []
    for spec in dict.fromkeys(specs):
        refuse_pnr("track", spec)
        hard = Metric(spec)
        metrics.append(hard)
        if REGISTRY[hard.metric].exact:
            metrics.append(SoftMetric(hard, noise=noise, sigma=sigma, sigma_unit="spread"))
    return metrics


def read_model(path: Path) -> tuple[Any, int]:
    """Read a model of whichever library wrote the file, known by its first bytes, and its number of features.

    Raises
    ------
    FileNotFoundError
        If there is no file.
    ImportError
        If that library is not installed.
    ValueError
        If the file is no model, or a damaged one.
    """
    if path.is_dir():
        raise ValueError(f"track: MODEL must be a file; got the folder {path}")
    refuse_absent("track", "MODEL", path)
    # opened once, for it may be a pipe; and not every name that the system has is one to a booster
    with path.open("rb") as file:
        head = file.read(64)
        is_model = head.startswith((_LIGHTGBM, _CATBOOST, _XGBOOST))
        content = head + file.read() if is_model else b""
    for known, read in ((_LIGHTGBM, _read_lightgbm), (_CATBOOST, _read_catboost), (_XGBOOST, _read_xgboost)):
        if content.startswith(known):
            try:
                return read(content)
            except (ImportError, OSError):
                raise
            except Exception as error:  # every library has its own
                raise ValueError(f"track: cannot read the model {path}: {reason(error)}") from error
    kinds = "a LightGBM text model, an XGBoost JSON or UBJ model, or a CatBoost .cbm model"
    raise ValueError(f"track: MODEL must be {kinds}; got {path}")


def _read_lightgbm(content: bytes) -> tuple[Any, int]:
    import lightgbm

    if b"\nend of trees" not in content:
        raise ValueError("it is cut off: the line 'end of trees' is missing")
    # told how long each tree is, or with what it was trained, LightGBM ends the process at a text that is damaged
    sizes, parameters = _SIZES.search(content), _PARAMETERS.search(content)
    if parameters is None and b"\nparameters:" in content:
        raise ValueError("it is cut off: the line 'end of parameters' is missing")
    text = content if sizes is None else content.replace(sizes[0], b"", 1)
    text = text if parameters is None else text.replace(parameters[0], b"\n", 1)
    booster = lightgbm.Booster(model_str=text.decode(errors="replace"))
    if sizes is not None and booster.num_trees() != (stated := len(sizes[1].split())):
        raise ValueError(f"it is damaged: of its {stated} trees it has {booster.num_trees()}")
    return booster, int(booster.num_feature())


def _read_xgboost(content: bytes) -> tuple[Any, int]:
    booster = import_xgboost("track").Booster()
    if b'"features_info"' in content:
        raise ValueError("it is a CatBoost model as JSON: of CatBoost, .cbm is read")
    if b"learner" not in content:
        raise ValueError("it has no 'learner', as all XGBoost models have")
    booster.load_model(bytearray(content))
    return booster, int(booster.num_features())


def _read_catboost(content: bytes) -> tuple[Any, int]:
    catboost = optional("track", "catboost", "bench")
    # how long the model is stands behind the first word; CatBoost reads on, beyond the end of what it is given
    if len(content) < 8 + int.from_bytes(content[4:8], "little"):
        raise ValueError("it is cut off")
    model = catboost.CatBoost().load_model(blob=content)
    return model, len(model.feature_names_)


# ---------------------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------------------


def _targets(options: argparse.Namespace) -> list[tuple[str, Path]]:
    """What to write, each checked: it can be written, and what it needs is installed."""
    given = [(kind, getattr(options, kind)) for kind in _WRITERS if getattr(options, kind) is not None]
    for kind, path in given:
        _check_target(kind, path)
    if options.save is not None and options.save.suffix == ".parquet":
        optional("track --save", "pyarrow", "parquet")
    if options.report is not None:
        optional("track --report", "plotly", "report")
    in_folder: list[tuple[str, Path]] = []
    if options.out is not None:
        names = {"save": "track.npz", "report": "report.html", "png": "track.png"}
        if find_spec("plotly") is None:
            del names["report"]
        check_folder(options.out, *names.values())
        in_folder = [(kind, options.out / name) for kind, name in names.items()]
    _check_different([*((f"--{kind}", path) for kind, path in given), *(("--out", path) for _, path in in_folder)])
    return given + in_folder


def _check_target(kind: str, path: Path) -> None:
    if path.is_dir():
        raise ValueError(f"--{kind}: must be a file; got the folder {path}")
    if path.suffix not in _SUFFIXES[kind]:
        raise ValueError(f"--{kind}: must end in {' or '.join(_SUFFIXES[kind])}; got {path}")
    check_folder(path.parent, option=f"--{kind}")


def _check_different(targets: Sequence[tuple[str, Path]]) -> None:
    """No file may be written twice: the later would take the place of the earlier."""
    first: dict[Path, tuple[str, Path]] = {}
    for option, path in targets:
        # resolve() would raise of a link to itself
        known, other = first.setdefault(Path(os.path.realpath(path)), (option, path))
        if other is not path:
            raise ValueError(f"{known} and {option}: must be different files; got {other} and {path}")


def _write_png(found: TreeTrack, path: Path) -> None:
    drawn = first_soft(found.metrics)  # of the first metric, if that has an expectation
    metric = None if alike(found.metrics[0].hard, found.metrics[drawn].hard) else 0
    write_files(path.parent, {path.name: png(track_figure(found, metric))})


def _write_track(found: TreeTrack, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    found.save(path)


_WRITERS: dict[str, Callable[[TreeTrack, Path], Any]] = {
    "save": _write_track,  # first: what cannot be drawn is not to cost it
    "report": write_report,
    "png": _write_png,
}
_SUFFIXES = {"report": (".html", ".htm"), "png": (".png",), "save": SUFFIXES}


# ---------------------------------------------------------------------------------------------------------
# The table
# ---------------------------------------------------------------------------------------------------------


def _summary(found: TreeTrack, data: RankingData, sign: str) -> RenderableType:
    """One row per metric, and the advice on each in words; ``sign`` stands before standard errors."""
    all_figures = [metric_figures(found, metric, _LEVEL) for metric in range(found.n_metrics)]
    trees = int(found.steps[-1])
    title = f"{printable(found.label)}: {amount(trees, 'tree')} on {amount(data.n_queries, 'query')}, "
    title += amount(data.n_docs, "document")
    table = ResultTable(["metric"], ["last step", "best", "with trees", "keep", "hurt"])
    for figures in all_figures:
        table.add_row(*_cells(figures, sign))
    by_chance = max((figures.effects.by_chance for figures in all_figures if figures.effects is not None), default=0.0)
    notes = "One query gives no standard error and no interval: no step is sure to hurt."
    if by_chance > 0.0:
        verb = "does" if found.n_steps == 1 else "do"
        chance = f"Of {amount(found.n_steps, 'step')} that {verb} nothing, {by_chance:.2g} would seem to hurt."
        notes = f"With the standard error over queries, and the 95 % interval of the best number of trees. {chance}"
    idle = _idle_features(data.X)
    if idle:
        first, last = data.X.shape[1] - idle + 1, data.X.shape[1]
        which = f"Feature {last}" if idle == 1 else f"Features {first} to {last}"
        notes += f" {which} of the model's {last}: no document has a value but 0 or NaN; is it a model of this data?"
        if idle == 1:
            notes += (
                " If a booster has read SVMlight files itself, feature i is its column i, where it is column i - 1 "
                "here: measure it by boostsoft.track_trees with an empty column in front, np.pad(X, ((0, 0), (1, 0)))."
            )
    if all_figures[0].alike:
        notes += f" {all_figures[0].alike_words}: no order changes their value."
    advice = [
        Text(f"{figures.name}: {figures.advice.replace(PLUS_MINUS, sign)}", style="bold") for figures in all_figures
    ]
    return Group(Text(title, style="italic"), table, Text(notes + "\n"), *advice, Text())


def _idle_features(X: FloatArray) -> int:
    """How many of the last features are 0 or missing everywhere, as those are that files do not name."""
    used = ((X != 0) & ~np.isnan(X)).any(axis=0)
    return int(X.shape[1] - (np.flatnonzero(used)[-1] + 1 if used.any() else 0))


def _cells(figures: MetricFigures, sign: str) -> list[str]:
    error = "" if np.isnan(figures.value_error) else f" {sign} {figures.value_error:.4f}"
    cells = [figures.name, f"{figures.value:.4f}{error}", f"{figures.value_at_best:.4f}"]
    return [*cells, *figures.effect_cells("-")]
