"""The options of ``python -m boostsoft bench quality``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...commands.options import check_folder, path_name, whole
from ..kinds import QUALITY, chosen, refuse_others

OUT = Path("boostsoft-quality")
FILES = ("bench-quality.json", "bench-quality.md", "bench-quality.png")
_QUICK: Mapping[str, Any] = {"trials": 2, "seeds": 1, "trees": 30, "folds": 2}


@dataclass(frozen=True)
class Options:
    """A comparison; the defaults are those of the full one.

    Attributes
    ----------
    data : tuple of Path
        Folders.
    out : Path
        Where results go, and where an interrupted run is continued from.
    methods : tuple of str
        Which are compared, by id.
    trials, seeds : int
        Settings tried for each method and fold, and runs that test the chosen one.
    average : int
        Models of a tested run, trained with as many of the best settings; what is tested is the mean of their scores.
    trees, patience : int
        Trees at most, and how many without anything better end the training.
    jobs : int
        Processes.
    seed : int
        Of the search, and the first of the tested runs.
    folds : int, optional
        Folds of a data set at most, the first ones.
    settings : Path, optional
        The file of chosen settings, in place of a search.
    tune_only : bool
        Whether to stop when the settings are chosen.
    """

    data: tuple[Path, ...]
    out: Path
    methods: tuple[str, ...]
    trials: int = 20
    seeds: int = 5
    average: int = 1
    trees: int = 500
    patience: int = 60
    jobs: int = 1
    seed: int = 0
    folds: int | None = None
    settings: Path | None = None
    tune_only: bool = False


def add_quality(add: Any) -> None:
    """Add the options that only this kind has."""
    add("--methods", metavar="A,B", help="quality, defaults: methods to compare (all)")
    add("--trials", type=whole(1), metavar="N", help="quality: settings tried per method and fold (20)")
    add("--seeds", type=whole(1), metavar="N", help="quality: tested runs of the chosen setting (5)")
    add("--average", type=whole(1), metavar="N", help="quality: test the mean of the N best settings' scores (1)")
    add(
        "--trees",
        type=whole(1),
        metavar="N",
        help="quality: trees at most (500); defaults: trees (100; with --stop, at most 800)",
    )
    add("--jobs", type=whole(1), metavar="N", help="quality: processes, which share the cores (1)")
    add("--settings", type=path_name, metavar="FILE", help="quality: chosen settings of an earlier run; no search")
    add("--tune-only", action="store_true", help="quality: choose and write the settings, test nothing")


def read_quality(given: argparse.Namespace) -> Options:
    """The options of a comparison; what cannot work is refused."""
    from .methods import METHODS

    refuse_others(QUALITY, given)
    out = given.out or OUT
    check_folder(out, *FILES)
    if not given.data:
        raise ValueError("--data: bench quality needs folders of ranking data; see bench --help")
    if given.tune_only and given.settings is not None:
        raise ValueError("--tune-only: chooses settings, and --settings gives them; use one of the two")
    if given.trials and given.settings is not None:
        raise ValueError("--trials: is of the search for settings, and --settings gives them; use one of the two")
    named = {name: getattr(given, name) for name in ("trials", "seeds", "average", "trees", "jobs")}
    sizes = {name: value for name, value in named.items() if value is not None}
    options = Options(
        data=tuple(given.data),
        out=out,
        methods=chosen(given.methods, METHODS),
        seed=given.seed,
        settings=given.settings,
        tune_only=given.tune_only,
        **{**(_QUICK if given.quick else {}), **sizes},
    )
    if options.settings is None and options.average > options.trials:
        raise ValueError(
            f"--average: must be at most the number of --trials; got {options.average} of {options.trials}"
        )
    return options
