"""Blend weights on real rank aggregation: the soft metric's beside those of searches of the hard one.

Five parts of LETOR's aggregation sets, A1 to A5 (the ranks that systems gave, lower is better), or S1 to S5 (scores);
or TREC runs with their judgements, whose topics are dealt out to five parts in turn. Fold f trains on parts f, f + 1
and f + 2 and is tested on f + 4, so that every query is tested once per seed. With few queries, so many are drawn from
all parts, and the rest is the test. All methods get the same normalised scores, but reciprocal rank fusion, whose ranks
are its own.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ..arguments import FloatArray
from ..blending.blender import SoftBlender
from ..blending.scores import mean_ranks
from ..commands.experiment import N_PARTS, concatenate, cyclic
from ..commands.part_files import equally_wide, five_files, part_file
from ..datasets import RankingData, load_letor, load_trec_runs
from ..metrics import Metric
from ..query_groups import QueryGroups
from ..statistics import PairedInterval, paired_interval
from .folds import DATA
from .results import ABOVE_0, Column, Section, Target, difference_cells, seed_cells
from .settings import Settings
from .timing import Spread, Watcher, ratio

OURS, ASCENT = "soft", "coordinate-ascent"
NAMES = {
    OURS: "boostsoft",
    ASCENT: "coordinate ascent, 5 starts",
    "ltr-ga": "LTR-GA",
    "ltr-mga": "LTR-MGA",
    "random": "random search",
    "rrf": "reciprocal rank fusion",
    "equal": "equal weights",
}
_BUDGETED = ("ltr-ga", "ltr-mga", "random")
NOT_WORSE = Target(-0.002, "95 % interval above -.002 to the best other", at_least=True)
FASTER = Target(0.05, "<= 1/20 of coordinate ascent's time")
WINS = Target(ABOVE_0, "95 % interval above 0 to the best other", at_least=True)
DEPTH = 100  # of a TREC run: as deep as such runs are pooled to be judged
METRICS = {"ndcg": Metric("ndcg@10"), "map": Metric("map")}
_COLUMNS = (
    Column("name", "weights by"),
    Column("ndcg_text", "test NDCG@10", "figures"),
    Column("ndcg_less", "ours less it [95 %]", "figures"),
    Column("map_text", "test MAP", "figures"),
    Column("map_less", "ours less it [95 %]", "figures"),
    Column("seeds_text", "NDCG@10 over seeds, sd", "figures"),
    Column("seconds", "training, s", "s"),
    Column("share", "x coordinate ascent's", "ratio"),
    Column("evaluations", "evaluations", "count"),
    Column("targets", "targets", "targets"),
)
_FOLDS_NOTE = (
    "Weights for NDCG@10 of {models} rankers; {queries:,} queries, each tested once per seed in five folds; values are "
    "means over {seeds} seeds. Paired intervals over queries by the bootstrap. Evolutionary and random searches get "
    "{evaluations:,} evaluations. Time: fitting, quartiles over folds and seeds, methods taking turns."
)
_FEW_NOTE = (
    "The same with {few} training queries, drawn {draws} times, tested on all others. A query's value is its mean over "
    "the draws that test it; intervals over queries. Over draws: Student's interval of ours less it, the mean "
    "difference in NDCG@10 of a draw from these queries. It says nothing of others: most are in several draws."
)


@dataclass(frozen=True, eq=False)
class Blends:
    """A set of queries that several rankers ordered.

    Attributes
    ----------
    key, name : str
        In the JSON file, and in tables.
    parts : sequence of five RankingData
        Each with a column per ranker, NaN where it has not retrieved the document.
    lower : bool
        Whether a lower value is better.
    """

    key: str
    name: str
    parts: Sequence[RankingData]
    lower: bool


@dataclass(frozen=True, eq=False)
class Outcome:
    """One fit: each metric on the test queries, (n_queries,), what it cost, and the weights."""

    values: dict[str, FloatArray]
    seconds: float
    evaluations: int
    weights: FloatArray


def read_blends(folder: Path, most: int | None = None) -> Blends:
    """Read the five parts of a folder, or the first queries of each."""
    letter, files = files_to_blend(folder)
    if letter:
        return _blends(folder, equally_wide([load_letor(file) for file in files]), most, lower=letter == "A")
    return _blends(folder, _topics_in_turn(files[1:], files[0]), most, lower=False)


def files_to_blend(folder: Path) -> tuple[str, list[Path]]:
    """The letter of a folder's five parts and these, or an empty text, the judgements and the runs."""
    for letter in "AS":
        files = [file for file in five_files(DATA, folder, letter) if file is not None]
        if len(files) == N_PARTS:
            return letter, files
    qrels = part_file(DATA, folder, "qrels")
    if qrels is not None and (folder / "runs").is_dir():
        return "", [qrels, *sorted((folder / "runs").iterdir())]
    raise ValueError(
        f"--data: {folder} must have A1.txt to A5.txt or S1.txt to S5.txt, or those with .gz; or qrels.txt and a "
        "folder runs of TREC runs"
    )


def _blends(folder: Path, parts: Sequence[RankingData], most: int | None, lower: bool) -> Blends:
    if most is not None:
        parts = [part.select_queries(np.arange(min(most, part.n_queries))) for part in parts]
    return Blends(folder.name.lower().replace("-", "_"), folder.name, parts, lower)


def _topics_in_turn(runs: Sequence[Path], qrels: Path) -> list[RankingData]:
    """Five parts of the documents that some run has among its first ``DEPTH``."""
    found = load_trec_runs(runs, qrels=qrels, pool="retrieved")
    groups = QueryGroups.from_sizes(found.sizes)
    ranks = np.column_stack([mean_ranks(np.ascontiguousarray(column), groups) for column in found.S.T])
    kept: NDArray[np.bool_] = np.any((ranks <= DEPTH) & ~np.isnan(found.S), axis=1)
    whole = RankingData(found.S[kept], found.y[kept], found.qid[kept], groups.counts(kept))
    if whole.n_queries < N_PARTS:
        raise ValueError(f"--data: {qrels} and the runs must have {N_PARTS} topics in common; got {whole.n_queries}")
    return [whole.select_queries(np.arange(part, whole.n_queries, N_PARTS)) for part in range(N_PARTS)]


def measure_blending(folder: Path, settings: Settings, watcher: Watcher) -> Iterator[Section]:
    """Compare on five folds, then with few training queries."""
    blends = read_blends(folder, settings.blend_queries)
    _fit(OURS, blends.parts[0], blends.parts[1], blends.lower, settings, 0)  # compiles
    yield _folds(blends, settings, watcher)
    yield _few(blends, settings, watcher)


# ---------------------------------------------------------------------------------------------------------
# Fits
# ---------------------------------------------------------------------------------------------------------


def _fit(method: Any, train: RankingData, test: RankingData, lower: bool, settings: Settings, seed: int) -> Outcome:
    parameters = {"evaluations": settings.evaluations} if method in _BUDGETED else None
    blender = SoftBlender(
        METRICS["ndcg"],
        method=method,
        lower_is_better=lower,
        random_state=seed,
        method_params=parameters,
        progress=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a ranker that is constant among few queries
        started = time.perf_counter()
        blender.fit(train.X, train.y, group=train.sizes)
        seconds = time.perf_counter() - started
    scores = blender.predict(test.X, group=test.sizes)
    values = {name: metric.per_query(test.y, scores, group=test.sizes) for name, metric in METRICS.items()}
    return Outcome(values, seconds, blender.n_evaluations_, blender.weights_)


def _folds(blends: Blends, settings: Settings, watcher: Watcher) -> Section:
    seeds = range(settings.seed, settings.seed + settings.blend_seeds)
    watcher.begin(N_PARTS * len(seeds) * len(NAMES))
    outcomes: dict[str, list[list[Outcome]]] = {method: [] for method in NAMES}  # by seed, then by fold
    for seed in seeds:
        for found in outcomes.values():
            found.append([])
        for fold in range(N_PARTS):
            training, _, testing = cyclic(fold)
            train, test = concatenate([blends.parts[i] for i in training]), blends.parts[testing]
            for method in NAMES:
                watcher.step(f"{blends.name}, seed {seed}, fold {fold + 1}, {NAMES[method]}")
                outcomes[method][-1].append(_fit(method, train, test, blends.lower, settings, seed))
    by_seed = {
        method: {name: np.array([np.concatenate([o.values[name] for o in run]) for run in runs]) for name in METRICS}
        for method, runs in outcomes.items()
    }
    values = {method: {name: v.mean(axis=0) for name, v in found.items()} for method, found in by_seed.items()}
    rows = _rows(values, {method: [o for run in runs for o in run] for method, runs in outcomes.items()})
    for row in rows:
        row |= seed_cells(by_seed[row["method"]]["ndcg"].mean(axis=1))
    _judge(rows, NOT_WORSE)
    note = _FOLDS_NOTE.format(
        models=blends.parts[0].X.shape[1],
        queries=values[OURS]["ndcg"].size,
        seeds=len(seeds),
        evaluations=settings.evaluations,
    )
    return Section(f"blend_{blends.key}", f"Blending ({blends.name})", note, _COLUMNS, rows)


def _few(blends: Blends, settings: Settings, watcher: Watcher) -> Section:
    whole = concatenate(blends.parts)
    rng = np.random.default_rng([settings.seed, 7])
    methods, few = list(NAMES), min(settings.few_queries, whole.n_queries // 2)
    watcher.begin(settings.draws * len(methods))
    sums = {method: {name: np.zeros(whole.n_queries) for name in METRICS} for method in methods}
    means: dict[str, list[float]] = {method: [] for method in methods}
    outcomes: dict[str, list[Outcome]] = {method: [] for method in methods}
    times = np.zeros(whole.n_queries)
    for draw in range(settings.draws):
        chosen = np.zeros(whole.n_queries, np.bool_)
        chosen[rng.choice(whole.n_queries, few, replace=False)] = True
        train, test = whole.select_queries(chosen), whole.select_queries(~chosen)
        times += ~chosen
        for method in methods:
            watcher.step(f"{blends.name}, {few} queries, draw {draw + 1}, {NAMES[method]}")
            outcome = _fit(method, train, test, blends.lower, settings, settings.seed + draw)
            outcomes[method].append(outcome)
            means[method].append(float(outcome.values["ndcg"].mean()))
            for name in METRICS:
                sums[method][name][~chosen] += outcome.values[name]
    tested = times > 0
    values = {m: {name: found[name][tested] / times[tested] for name in METRICS} for m, found in sums.items()}
    rows = _rows(values, outcomes)
    for row in rows:
        row["draws"] = means[row["method"]]
        if row["method"] != OURS:
            row |= _over_draws(np.array(means[OURS]) - np.array(means[row["method"]]))
    _judge(rows, WINS)
    columns = [replace(c, key="draws_text", heading="over draws") if c.key == "seeds_text" else c for c in _COLUMNS]
    note = _FEW_NOTE.format(few=few, draws=settings.draws)
    return Section(f"blend_few_{blends.key}", f"Blending with {few} queries ({blends.name})", note, columns, rows)


# ---------------------------------------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------------------------------------


def _rows(values: dict[str, dict[str, FloatArray]], outcomes: dict[str, list[Outcome]]) -> list[dict[str, Any]]:
    ascent = np.array([outcome.seconds for outcome in outcomes[ASCENT]])
    rows = []
    for method, label in NAMES.items():
        seconds = np.array([outcome.seconds for outcome in outcomes[method]])
        row: dict[str, Any] = {"name": label, "method": method, "seconds": Spread.of(seconds)}
        row["share"] = ratio(seconds, ascent)
        row["evaluations"] = round(float(np.mean([outcome.evaluations for outcome in outcomes[method]])))
        row["weights"] = [outcome.weights.tolist() for outcome in outcomes[method]]
        for name in METRICS:
            row[name] = float(values[method][name].mean())
            row[f"{name}_text"] = f"{row[name]:.4f}"
            if method != OURS:
                interval = paired_interval(values[OURS][name], values[method][name])
                row |= difference_cells(interval, f"{name}_interval", f"{name}_less")
        rows.append(row)
    return rows


def _over_draws(differences: FloatArray) -> dict[str, Any]:
    """Mean of one difference per draw, with Student's interval."""
    if differences.size < 2:
        return {}
    mean, error = float(differences.mean()), float(differences.std(ddof=1)) / np.sqrt(differences.size)
    reach = float(stats.t.ppf(0.975, differences.size - 1)) * error
    interval = PairedInterval(mean, mean - reach, mean + reach, differences.size, 0.95)
    return difference_cells(interval, "draws_interval", "draws_text")


def _judge(rows: Sequence[dict[str, Any]], target: Target) -> None:
    """Hold ours against the best of the others, and its time against coordinate ascent's."""
    best = max(rows[1:], key=lambda row: float(row["ndcg"]))
    best["targets"] = [target.judge(best["ndcg_interval"][1])]
    rows[0]["targets"] = [FASTER.judge(rows[0]["share"])]
