"""The command ``python -m boostsoft bench`` and its options, but those of ``quality`` and ``defaults`` alone."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..commands.options import add_command, check_folder, folder_name, path_name, whole
from .defaults.options import add_defaults, read_defaults
from .kinds import DEFAULTS, QUALITY, SPEED, refuse_others
from .peers import NEEDED
from .quality.options import add_quality, read_quality

PARTS = tuple(NEEDED)
_LEAST = 40
_OF_FILES = {"objective", "training", "hard"}
_OUT = Path("boostsoft-bench")
_DESCRIPTION = (
    "Time boostsoft next to the peers that are installed, interleaved in one process; or (quality) tune and test\n"
    "training objectives alike; or (defaults) test rankers as installed on draws of your data. Write tables and plots."
)
_EPILOG = """\
parts of speed:
  objective   a boosting iteration of every objective less that of a regression; values alone; the machine's peak
  training    whole runs of 100 trees, 63 leaves, 136 features
  tracking    1,000 trees measured after each of them; the callback while training
  hard        hard metrics against ranx, scikit-learn, pytrec_eval and LightGBM
  growth      curves in documents, cutoff, sigma, queries and threads
  limits      one query of 100,000 documents, whole lists of 1,000
  cold        import and first calls in fresh processes
  blend       weights of many rankers, against searches of the hard metric, on each folder of --data

first look:   python -m boostsoft bench --quick
real shape:   python -m boostsoft bench --data train.txt.gz test.txt.gz
blending:     python -m boostsoft bench --parts blend --data MQ2007-agg MQ2008-agg
quality:      python -m boostsoft bench quality --data MQ2008 OHSUMED --tune-only
              python -m boostsoft bench quality --data MQ2008 OHSUMED --settings boostsoft-quality/settings.json
defaults:     python -m boostsoft bench defaults --data MQ2008 --stop
              python -m boostsoft bench defaults --train-documents 10000

quality tunes every method alike on the validation parts, freezes the settings, then tests them. A folder has S1 to
S5, or Fold1 to FoldN, or train, vali (valid, validation) and test, or those of Yahoo's set1 or set2. The same command
goes on where an interrupted one stopped.

defaults fits each library's ranker as it comes on 60 % of the queries, stops it (with --stop) by 20 %, and tests it on
20 %. Its methods: soft-lightgbm, soft-xgboost, lambdarank, xendcg, xgb-ndcg, catboost.
"""


def add_bench(commands: Any) -> None:
    """Add the command to the subparsers of the command line."""
    parser = add_command(
        commands, "bench", bench, help="time it next to what is installed", description=_DESCRIPTION, epilog=_EPILOG
    )
    add = parser.add_argument
    add("what", nargs="?", choices=[SPEED, QUALITY, DEFAULTS], default=SPEED, help=f"what to measure ({SPEED})")
    add(
        "--data",
        type=path_name,
        nargs="+",
        default=[],
        metavar="FILE",
        help="LETOR files, besides the synthetic pool (objective, training, hard); to blend, folders of five parts, "
        "A1 to A5 or S1 to S5, or of TREC runs (qrels.txt and a folder runs); quality: folders; defaults: folders, of "
        "such parts or of any files of LETOR, or files that together are one set (the digits of the demo)",
    )
    add(
        "--out",
        type=folder_name,
        metavar="DIR",
        help="folder for the results (./boostsoft-bench; quality: ./boostsoft-quality; defaults: ./boostsoft-defaults)",
    )
    add("--parts", type=_parts, metavar="A,B", help=f"of {','.join(PARTS)} (all; blend if --data has a folder)")
    add("--rounds", type=whole(1), metavar="N", help="rounds that count, of each part (5; 2 if --quick)")
    add("--queries", type=whole(1), metavar="N", help="queries of the synthetic pool (2000; 200 if --quick)")
    add("--documents", type=whole(2), metavar="N", help="documents of each of these queries (120)")
    add(
        "--seed",
        type=whole(0),
        default=0,
        metavar="N",
        help="seed of the synthetic pool and of all scores, of the search, or of the first draw (0)",
    )
    add("--quick", action="store_true", help="fewer queries, rounds and sizes: a first look in a minute or two")
    add_quality(add)
    add_defaults(add)


def bench(options: argparse.Namespace) -> None:
    """Run the benchmark; what cannot work is refused before anything is timed."""
    if options.what == QUALITY:
        from .quality.run import run_quality

        run_quality(read_quality(options))
        return
    if options.what == DEFAULTS:
        from .defaults.run import run_defaults

        run_defaults(read_defaults(options))
        return
    refuse_others(SPEED, options)
    from .settings import FILES, full, quick

    options.out = options.out or _OUT
    check_folder(options.out, *FILES)
    folders = [path for path in options.data if path.is_dir()]
    files = [path for path in options.data if path not in folders]
    for file in files:
        if not file.is_file():
            raise ValueError(f"--data: there is no file {file}")
    parts = options.parts or tuple(part for part in PARTS if folders or part != "blend")
    if ("blend" in parts) != bool(folders):
        raise ValueError("--data: the part blend needs folders, and the others read files only; see bench --help")
    if files and not _OF_FILES.intersection(parts):
        raise ValueError(f"--data: files are for the parts {', '.join(sorted(_OF_FILES))} only; got {files[0]}")
    from .blending import files_to_blend
    from .run import run_bench

    for folder in folders:
        files_to_blend(folder)
    settings = (quick if options.quick else full)(options.queries, options.rounds, options.seed)
    if options.documents is not None:
        settings = replace(settings, documents=options.documents)
    n_docs = settings.queries * settings.documents
    if n_docs < _LEAST:
        raise ValueError(
            f"--queries: queries x documents must be at least {_LEAST}, two leaves of LightGBM; got {n_docs}"
        )
    run_bench(parts, files, options.out, settings, folders)


def _parts(text: str) -> tuple[str, ...]:
    """Read names separated by commas, each once, in the order of the full run."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in PARTS:
            raise argparse.ArgumentTypeError(f"must be some of {','.join(PARTS)}; got {name!r}")
    return tuple(part for part in PARTS if part in names)
