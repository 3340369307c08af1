"""How the cost grows: with the documents of a query, the cutoff, sigma, the queries, and the threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import lightgbm as soft_lightgbm
from ..choices import Noise
from ..kernels.threads import n_threads
from .boosting import MOST_OF_LAMBDARANK, LightGBMIterations, XGBoostIterations
from .children import ask
from .peers import Peers
from .pools import Pool, synthetic_pool
from .results import Column, Section
from .settings import Settings
from .timing import Contender, Rounds, Watcher, interleave

SIGMA, K = 0.2, 10
GAUSSIAN, GUMBEL, LAMBDARANK, XGBOOST = "boostsoft gaussian", "boostsoft gumbel", "lambdarank", "XGBoost rank:ndcg"
NAMES = (GAUSSIAN, GUMBEL, LAMBDARANK, XGBOOST)
_TREE, _XGBOOST_TREE = "LightGBM regression", "XGBoost regression"
_DOCUMENTS = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)
_CUTOFFS = (1, 3, 10, 30, 100)
_SIGMAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_QUERIES = (30, 100, 300, 1000, 3000)


@dataclass(frozen=True)
class Point:
    """A place on a curve: what is varied, the pool there, sigma, our cutoff, and the truncation of the others."""

    at: float
    pool: Pool
    sigma: float = SIGMA
    k: int = K
    truncation: int = 30


def measure_growth(settings: Settings, peers: Peers, watcher: Watcher) -> list[Section]:
    """A section for each curve; its rows hold the place ``at`` and a Spread for each contender."""
    n, seed, rounds = settings.growth_documents, settings.seed, max(1, min(settings.rounds, 3))

    def queries_of(documents: int) -> Pool:
        return synthetic_pool(max(1, n // documents), documents, seed)

    longest = [count for count in _DOCUMENTS if count <= settings.longest]
    usual = queries_of(120)
    most = max(2 * settings.queries, 100)
    curves: dict[str, tuple[str, str, list[Point]]] = {
        "documents": ("the documents of a query", "documents", [Point(count, queries_of(count)) for count in longest]),
        "cutoff": ("the cutoff", "k", [Point(k, usual, k=k, truncation=k) for k in _CUTOFFS]),
        "sigma": ("sigma", "sigma / spread", [Point(sigma, usual, sigma) for sigma in _SIGMAS]),
        "queries": (
            "the number of queries",
            "queries",
            [Point(count, synthetic_pool(count, seed=seed)) for count in _QUERIES if count <= most],
        ),
    }
    sections = []
    for key, (what, heading, points) in curves.items():
        left_out: dict[str, str] = {}
        rows = []
        for point in points:
            row, refused = _measure(point, rounds, settings, peers, watcher)
            rows.append(row)
            left_out |= {f"{name} at {point.at:,g}": why for name, why in refused.items()}
        sections.append(_section(key, f"Growth with {what}", heading, rows, left_out))
    return [*sections, _threads_section(settings, rounds, watcher)]


def _measure(
    point: Point, rounds: int, settings: Settings, peers: Peers, watcher: Watcher
) -> tuple[dict[str, Any], Mapping[str, str]]:
    """Time all contenders at one place: µs per query, less the tree's; and why others are left out there."""
    contenders = _contenders(point, settings.at_least, peers)
    found = interleave(contenders, rounds, _Prefixed(watcher, f"at {point.at:,g}: "))
    row: dict[str, Any] = {"at": point.at}
    for name in NAMES:
        tree = _XGBOOST_TREE if name == XGBOOST else _TREE
        if name in found.seconds and tree in found.seconds:
            row[name] = found.spread(name, tree).times(1e6 / point.pool.n_queries)
    return row, found.left_out


def _contenders(point: Point, at_least: float, peers: Peers) -> list[Contender]:
    pool, trees = point.pool, LightGBMIterations(point.pool, at_least)

    def ours(noise: Noise) -> Any:
        return soft_lightgbm.objective(f"ndcg@{point.k}", noise=noise)

    contenders = [
        Contender(_TREE, trees.measure("regression")),
        Contender(GAUSSIAN, trees.measure(ours("gaussian"), point.sigma)),
        Contender(GUMBEL, trees.measure(ours("gumbel"), point.sigma)),
    ]
    if pool.sizes.max() <= MOST_OF_LAMBDARANK:
        measure = trees.measure("lambdarank", lambdarank_truncation_level=point.truncation)
        contenders.append(Contender(LAMBDARANK, measure, peer=True))
    if peers.has("xgboost"):
        other = XGBoostIterations(pool, at_least)
        pairs: dict[str, Any] = {"lambdarank_pair_method": "topk", "lambdarank_num_pair_per_sample": point.truncation}
        contenders += [
            Contender(_XGBOOST_TREE, other.measure("reg:squarederror"), peer=True),
            Contender(XGBOOST, other.measure("rank:ndcg", **pairs), peer=True),
        ]
    return contenders


def thread_contenders(pool: Pool, sigma: float) -> list[Contender]:
    """What a child process times on the threads that it has: ours in LightGBM, lambdarank, and the tree alone."""
    trees = LightGBMIterations(pool, 0.1)
    return [
        Contender(_TREE, trees.measure("regression")),
        Contender(GAUSSIAN, trees.measure(soft_lightgbm.objective(f"ndcg@{K}"), sigma)),
        Contender(GUMBEL, trees.measure(soft_lightgbm.objective(f"ndcg@{K}", noise="gumbel"), sigma)),
        Contender(LAMBDARANK, trees.measure("lambdarank")),
    ]


def _threads_section(settings: Settings, rounds: int, watcher: Watcher) -> Section:
    counts = thread_counts(n_threads())
    watcher.begin(len(counts))
    rows = []
    for count in counts:
        watcher.step(f"{count} threads, in a process of its own")
        threads = {name: str(count) for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")}
        found = ask("threads", threads, queries=settings.queries, sigma=SIGMA, rounds=rounds, seed=settings.seed)
        seconds = Rounds({name: np.array(values) for name, values in found["seconds"].items()})
        row: dict[str, Any] = {"at": count}
        row |= {name: seconds.spread(name, _TREE).times(1e6) for name in (GAUSSIAN, GUMBEL, LAMBDARANK)}
        rows.append(row)
    return _section("threads", "Growth with the threads", "threads", rows, {})


def thread_counts(most: int) -> list[int]:
    """1, 2, 4, ... and all of them.

    >>> thread_counts(2), thread_counts(6)
    ([1, 2], [1, 2, 4, 6])
    """
    return sorted({min(2**i, most) for i in range(most.bit_length() + 1)})


def _section(
    key: str, title: str, heading: str, rows: Sequence[Mapping[str, Any]], left_out: Mapping[str, str]
) -> Section:
    note = (
        f"µs per query and iteration, less the tree's; where not varied: 120 documents, k={K}, sigma={SIGMA:g} of the "
        "spread, lambdarank's truncation and XGBoost's pairs 30 (with the cutoff: k)."
    )
    present = [name for name in NAMES if any(name in row for row in rows)]
    columns = (Column("at", heading, "plain"), *(Column(name, name, "µs") for name in present))
    return Section(f"growth_{key}", title, note, columns, rows, left_out=left_out)


@dataclass(frozen=True)
class _Prefixed:
    """A watcher that is told where on the curve the contender is."""

    watcher: Watcher
    prefix: str

    def begin(self, steps: int) -> None:
        self.watcher.begin(steps)

    def step(self, text: str) -> None:
        self.watcher.step(self.prefix + text)
