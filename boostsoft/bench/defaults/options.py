"""The options of ``python -m boostsoft bench defaults``."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...commands.options import check_folder, whole
from ..kinds import DEFAULTS, chosen, refuse_others

_OUT = Path("boostsoft-defaults")
PICTURE = "bench-defaults.png"
FILES = ("bench-defaults.json", "bench-defaults.md", PICTURE)
_TREES, _STOPPED, _DRAWS = 100, 800, 4
_QUICK_TREES, _QUICK_DRAWS = 20, 1


@dataclass(frozen=True)
class Options:
    """A comparison.

    Attributes
    ----------
    data : tuple of Path
        Folders, each a data set, and files, which are one together; none of them: the digit images.
    out : Path
        Where results go.
    methods : tuple of str
        Which are compared, by id.
    draws, seed : int
        How many draws of queries, and the first one's seed.
    documents : int, optional
        Documents to train on at most.
    trees : int
        How many each ranker grows; at most, with ``stop``.
    stop : bool
        Whether the validation part stops them.
    """

    data: tuple[Path, ...]
    out: Path
    methods: tuple[str, ...]
    draws: int
    seed: int
    documents: int | None
    trees: int
    stop: bool


def add_defaults(add: Any) -> None:
    """Add the options that only this kind has."""
    add("--draws", type=whole(1), metavar="N", help=f"defaults: draws of queries ({_DRAWS}; {_QUICK_DRAWS} if --quick)")
    add(
        "--train-documents",
        type=whole(1),
        metavar="N",
        help="defaults: documents to train on at most (all); of the digits about so many (18000)",
    )
    add("--stop", action="store_true", help="defaults: stop by the validation part, after 50 trees without gain")


def read_defaults(given: argparse.Namespace) -> Options:
    """The options of a comparison; what cannot work is refused."""
    from .rankers import RANKERS

    refuse_others(DEFAULTS, given)
    out = given.out or _OUT
    check_folder(out, *FILES)
    for path in given.data:
        if not path.exists():
            raise ValueError(f"--data: there is no file or folder {path}")
    full = _STOPPED if given.stop else _TREES
    return Options(
        data=tuple(given.data),
        out=out,
        methods=chosen(given.methods, RANKERS),
        draws=given.draws or (_QUICK_DRAWS if given.quick else _DRAWS),
        seed=given.seed,
        documents=given.train_documents,
        trees=given.trees or (_QUICK_TREES if given.quick else full),
        stop=given.stop,
    )
