"""The commands ``python -m boostsoft demo`` and ``train``: boostsoft and lambdarank side by side on one data set."""

from __future__ import annotations

import argparse
import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from ...adapters.lightgbm_data import MOST_LEAVES, main_names
from ...atomic import Content
from ...datasets import RankingData, load_digits_ranking, load_letor
from ...drawing import png
from ...kernels.noise import LAWS
from ...metrics import Metric
from ...queries import n_relevant
from ...query_groups import QueryGroups
from ...ranker import convex_losses
from ...ranker.settings import chosen_mix
from ..experiment import N_PARTS, Plan, run_folds, run_split
from ..options import (
    add_command,
    check_folder,
    folder_name,
    metric_name,
    named_once,
    named_weights,
    path_name,
    positive,
    weighted_or_none,
    whole,
)
from ..part_files import equally_wide, five_files
from ..terminal import finish, silent_errors
from .plots import curves_figure, differences_figure
from .report import folds_report, split_report
from .report_csv import curve_csv, folds_csv, per_query_csv
from .tree_bars import TreeBars

_SPLIT_FILES = ("model.txt", "curve.csv", "curve.png")
_FOLDS_FILES = ("folds.csv", "per_query.csv", "differences.png")
_SPLIT_FOLDER, _FOLDS_FOLDER = "boostsoft-train", "boostsoft-folds"  # results of one kind each
_DEMO = "Train on the ranking task made of scikit-learn's digit images; nothing is downloaded."
_TRAIN = (
    "Train on LETOR / SVMlight files (label qid:id index:value ...), plain or gzip. They are read as a dense matrix:\n"
    "documents x largest index x 8 bytes."
)
_TRAIN_EXAMPLES = """\
one split:         python -m boostsoft train --train S1.txt S2.txt S3.txt --valid S4.txt --test S5.txt
five folds:        python -m boostsoft train --folds MQ2008 --seeds 3
the metric alone:  python -m boostsoft train --folds MQ2008 --noise gaussian --mix none --losses none

Of --folds DIR, parts S1 to S5 (.txt or .txt.gz) are read; fold f trains on parts f, f+1, f+2, chooses the
number of trees on f+3 and is tested on f+4, cyclically, so that every query is tested once per seed. No model is kept.
"""
_LARGEST_LABEL = 30  # the last that lambdarank has a gain for
_TYPES = {"int": "a whole number", "double": "a number"}  # as LightGBM calls them
# LightGBM's parameters that the command decides on.
_SETTLED = {
    "objective": "both arms have theirs; --metric says what boostsoft trains on",
    "metric": "--metric says what is watched",
    "num_iterations": "use --trees",
    "early_stopping_round": "use --early-stopping",
    "seed": "use --seed",
    "label_gain": "boostsoft and both metrics have gain 2^label - 1, lambdarank alone would take another",
    "verbosity": "the command has its own display",
}


def add_demo(commands: Any) -> None:
    """Add the command on embedded data to the subparsers of the command line."""
    parser = commands.add_parser("demo", help="try it on an embedded data set", description=_DEMO)
    parser.set_defaults(run=demo)
    _add_shared(parser, "boostsoft-demo", trees=100)
    parser.set_defaults(out=Path("boostsoft-demo"))


def add_train(commands: Any) -> None:
    """Add the command on the user's files."""
    parser = add_command(
        commands, "train", train, help="train on LETOR / SVMlight files", description=_TRAIN, epilog=_TRAIN_EXAMPLES
    )
    _add_data(parser)
    _add_shared(parser, f"{_SPLIT_FOLDER}, or ./{_FOLDS_FOLDER} of --folds", trees=300)
    _add_training(parser)


def _add_shared(parser: argparse.ArgumentParser, out: str, trees: int) -> None:
    add = parser.add_argument
    add("--out", type=folder_name, metavar="DIR", help=f"folder for the results (./{out})")
    add("--trees", type=whole(1), default=trees, metavar="N", help=f"number of trees at most ({trees})")
    add("--seed", type=whole(0), default=0, metavar="N", help="seed, or the first of several (0)")


def _add_data(parser: argparse.ArgumentParser) -> None:
    data = parser.add_argument_group("data: either --train and --valid, or --folds")
    files: dict[str, Any] = {"type": path_name, "nargs": "+", "action": "extend", "metavar": "FILE"}
    data.add_argument("--train", **files, help="training files")
    data.add_argument("--valid", **files, help="choose the number of trees on these")
    data.add_argument("--test", **files, help="compare on these")
    words = "a five-part set: train and test on all five folds"
    data.add_argument("--folds", type=path_name, metavar="DIR", help=words)
    data.add_argument("--seeds", type=whole(1), metavar="N", help="seeds per fold, with --folds (1)")


def _add_training(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("training").add_argument
    add(
        "--metric",
        type=metric_name,
        default="ndcg@10",
        metavar="NAME@K",
        help="metric to train on and to watch (ndcg@10)",
    )
    add("--noise", choices=list(LAWS), default="gumbel", help="what softens the metric (gumbel)")
    beside: dict[str, Any] = {
        "type": weighted_or_none,
        "nargs": "+",
        "action": "extend",
        "metavar": "NAME=WEIGHT",
    }
    add("--mix", **beside, help="further metrics that boostsoft trains on, or none (kendall=0.3)")
    add(
        "--losses",
        **beside,
        help="convex losses that it also trains on, or none (for NDCG xendcg=0.5 ranknet=0.5; with softmax where "
        "few documents are relevant)",
    )
    add("--learning-rate", type=positive, default=0.1, metavar="X", help="learning rate (0.1)")
    add("--leaves", type=whole(2, MOST_LEAVES), default=31, metavar="N", help="leaves per tree (31)")
    add(
        "--early-stopping",
        type=whole(0),
        default=50,
        metavar="N",
        help="stop N trees after the best hard metric on the validation part; 0 never (50)",
    )
    add(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="any other LightGBM parameter, for both arms; may be repeated. With --folds, feature_fraction=0.8 "
        "unless set, so that seeds differ",
    )
    add("--no-baseline", action="store_true", help="leave lambdarank out")


def _tree_parameters(settings: Sequence[str]) -> dict[str, str]:
    """Read KEY=VALUE texts, each under LightGBM's main name, so that no alias loses against another name."""
    main = main_names()
    found: list[tuple[str, str]] = []
    for setting in settings:
        key, equals, value = (text.strip() for text in setting.partition("="))
        if not (key and equals and value):
            raise ValueError(f"--set: expected KEY=VALUE; got {setting!r}")
        if main and key not in main:
            raise ValueError(f"--set: LightGBM has no parameter {key!r}")
        name = main.get(key, key)
        if name in _SETTLED:
            raise ValueError(f"--set: {key} cannot be set: {_SETTLED[name]}")
        found.append((name, value))
    return named_once("--set", found)


def _check_tree_parameters(parameters: Mapping[str, str], n_features: int | None = None) -> None:
    """Refuse a value out of LightGBM's bounds in one line; LightGBM would write it, with a place in its source.

    Other trouble is left to training, since it may be due to the two rows that are tried here; and lists of values by
    feature until it is known how many features there are.
    """
    import lightgbm

    given = {**parameters, "verbosity": -1}
    tried = lightgbm.Dataset(np.eye(2, n_features or 2), [0, 1], params=given)
    try:
        with silent_errors(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # training says it again
            lightgbm.Booster({**given, "objective": "regression"}, tried)
    except lightgbm.basic.LightGBMError as error:
        told = _of_a_setting(str(error), parameters, n_features)
        if told is not None:
            raise ValueError(f"--set: {told}") from error


def _of_a_setting(message: str, parameters: Mapping[str, str], n_features: int | None) -> str | None:
    """What is wrong with a parameter in our words, None if LightGBM's message is of something else."""
    if found := re.match(r"Unknown ([\w ]+) type (.*)", message):
        return f"LightGBM knows no {found[1]} {found[2]!r}"
    if found := re.match(r"Parameter (\w+) should be of type (\w+), got \"(.*)\"", message):
        return f"{found[1]} must be {_TYPES.get(found[2], found[2])}; got {found[3]!r}"
    if found := re.match(r"Parameter (\w+) should be \"true\".*, got \"(.*)\"", message):
        return f"{found[1]} must be true or false; got {found[2]!r}"
    if found := re.match(r"Unknown token (.*) in data file", message):
        name = next((name for name, value in parameters.items() if value == found[1]), "a value")
        return f"{name} must be a number; got {found[1]!r}"
    found = re.match(r"Check failed: \((\w+)\) *(\S+) *\((.*?)\) at ", message)
    if found and found[1] in parameters:
        return f"LightGBM needs {found[1]} {found[2]} {found[3]}; got {parameters[found[1]]}"
    found = re.search(r" == \(config(?:->|_\.)(\w+)\.size\(\)\)", message)
    if found and found[1] in parameters and n_features is not None:
        return f"{found[1]} must have a value for each of the {n_features} features; got {parameters[found[1]]!r}"
    return None


def demo(options: argparse.Namespace) -> None:
    """Run the command on embedded data."""
    check_folder(options.out, *_SPLIT_FILES)
    mix = chosen_mix(Metric(Plan.metric))
    plan = Plan(noise="gumbel", mix=mix, trees=options.trees, early_stopping=0, seed=options.seed)
    splits = load_digits_ranking(seed=options.seed)
    plan = _with_losses(plan, [splits.train])
    _compare(plan, {"train": splits.train, "valid": splits.valid, "test": splits.test}, options.out)


def train(options: argparse.Namespace) -> None:
    """Run the command on files; what cannot work is refused before anything is trained."""
    _check_data_options(options)
    parameters = _tree_parameters(options.set)
    _check_tree_parameters(parameters)
    plan = Plan(
        metric=options.metric,
        noise=options.noise,
        mix=chosen_mix(Metric(options.metric)) if options.mix is None else named_weights("--mix", options.mix),
        losses=None if options.losses is None else named_weights("--losses", options.losses),
        trees=options.trees,
        learning_rate=options.learning_rate,
        leaves=options.leaves,
        early_stopping=options.early_stopping,
        seed=options.seed,
        parameters=parameters if options.folds is None else {"feature_fraction": "0.8", **parameters},
        baseline=not options.no_baseline,
    )
    if options.folds is not None:
        out = options.out or Path(_FOLDS_FOLDER)
        check_folder(out, *_FOLDS_FILES)
        parts = _read_folder(options.folds)
        _compare_folds(_with_losses(plan, parts), parts, options.seeds or 1, out)
        return
    out = options.out or Path(_SPLIT_FOLDER)
    check_folder(out, *_SPLIT_FILES)
    files = {"train": options.train, "valid": options.valid, "test": options.test}
    read = _read_parts({part: paths for part, paths in files.items() if paths})
    _check_tree_parameters(parameters, read["train"].X.shape[1])
    _compare(_with_losses(plan, [read["train"]]), read, out)


def _with_losses(plan: Plan, parts: Sequence[RankingData]) -> Plan:
    """The same; where it leaves the losses open, with those that SoftRanker has on plain trees and data like this."""
    if plan.losses is not None:
        return plan
    groups = QueryGroups.from_sizes(np.concatenate([part.sizes for part in parts]))
    relevant = n_relevant(np.concatenate([part.y for part in parts]), groups)
    return replace(plan, losses=convex_losses.chosen(Metric(plan.metric), groups, relevant, random=False))


def _check_data_options(options: argparse.Namespace) -> None:
    split = [f"--{part}" for part in ("train", "valid", "test") if getattr(options, part) is not None]
    if options.folds is not None:
        if split:
            raise ValueError(f"train: give --folds or {split[0]}, not both")
        if options.no_baseline:
            raise ValueError("train: --no-baseline does not go with --folds, which compares with lambdarank")
        return
    if options.train is None or options.valid is None:
        raise ValueError("train: give --train and --valid files, or --folds DIR")
    if options.seeds is not None:
        raise ValueError("train: --seeds goes with --folds; one split takes --seed")


def _compare(plan: Plan, parts: Mapping[str, RankingData], out: Path) -> None:
    _check_labels(plan, parts.values())
    with TreeBars(Console(stderr=True)) as bars:
        split = run_split(plan, parts, bars)
    files: dict[str, Content] = {
        "model.txt": split.arms[0].model.encode(),
        "curve.csv": curve_csv(split).encode(),
        "curve.png": lambda: png(curves_figure(split)),
    }
    finish(split_report(split), out, files)


def _compare_folds(plan: Plan, parts: Sequence[RankingData], n_seeds: int, out: Path) -> None:
    _check_tree_parameters(plan.parameters, parts[0].X.shape[1])
    _check_labels(plan, parts)
    seeds = range(plan.seed, plan.seed + n_seeds)
    with TreeBars(Console(stderr=True), N_PARTS * n_seeds * len(plan.arms)) as bars:
        folds = run_folds(plan, parts, seeds, bars)
    files: dict[str, Content] = {
        "folds.csv": folds_csv(folds).encode(),
        "per_query.csv": per_query_csv(folds).encode(),
        "differences.png": lambda: png(differences_figure(folds)),
    }
    finish(folds_report(folds), out, files)


def _check_labels(plan: Plan, parts: Iterable[RankingData]) -> None:
    if not plan.baseline:
        return
    for part in parts:
        wrong = (part.y != np.floor(part.y)) | (part.y < 0) | (part.y > _LARGEST_LABEL)
        if wrong.any():
            label = part.y[wrong.argmax()]
            raise ValueError(
                f"lambdarank needs whole labels from 0 to {_LARGEST_LABEL}; got {label}; --no-baseline leaves it out"
            )


def _read_parts(files: Mapping[str, Sequence[Path]]) -> dict[str, RankingData]:
    _refuse_shared_files(files)
    parts = [load_letor(list(paths)) for paths in files.values()]
    _check_features(parts[0], *files["train"])
    return dict(zip(files, equally_wide(parts), strict=True))


def _refuse_shared_files(files: Mapping[str, Sequence[Path]]) -> None:
    seen: dict[str, str] = {}
    for part, paths in files.items():
        for path in paths:
            if seen.setdefault(os.path.realpath(path), part) != part:
                raise ValueError(f"train: {path} is given as --{seen[os.path.realpath(path)]} and as --{part}")


def _read_folder(folder: Path) -> tuple[RankingData, ...]:
    """Read S1 to S5, each .txt or .txt.gz; no query may be in two of them."""
    if not folder.is_dir():
        raise ValueError(f"--folds: there is no folder {folder}")
    files = []
    for number, file in enumerate(five_files("--folds", folder, "S"), 1):
        if file is None:
            other = "; for the parts of Fold1 give --train, --valid and --test" if (folder / "Fold1").is_dir() else ""
            raise ValueError(f"--folds: {folder} must have S{number}.txt or S{number}.txt.gz; neither is there{other}")
        files.append(file)
    parts = equally_wide([load_letor(file) for file in files])
    _check_features(parts[0], folder)
    seen: dict[str, int] = {}
    for number, part in enumerate(parts, 1):
        for query in map(str, np.unique(part.qid)):
            if seen.setdefault(query, number) != number:
                raise ValueError(f"--folds: query {query} is in S{seen[query]} and in S{number}")
    return tuple(parts)


def _check_features(part: RankingData, *paths: Path) -> None:
    if not part.X.shape[1]:
        raise ValueError(f"train: no line of {', '.join(map(str, paths))} has a feature, index:value")
