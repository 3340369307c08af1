"""How much is measured: the full run, and the quick one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..kernels.threads import n_threads
from .pools import DOCUMENTS

FILES = ("bench.json", "bench.md", "cost.png", "growth.png")  # what a run may write
# Minutes of each part on two cores: what it costs once, and per round. Rough: only the estimate uses them.
_MINUTES = {
    "objective": (0.5, 0.3),
    "training": (0.4, 1.6),
    "tracking": (1.0, 1.0),
    "hard": (0.4, 0.05),
    "growth": (0.4, 0.4),
    "limits": (0.1, 0.15),
    "cold": (0.2, 0.15),
    "blend": (2.0, 4.0),  # of a folder of 1,700 queries and 21 rankers
}
_QUICK_SHARE = 0.08


@dataclass(frozen=True)
class Settings:
    """Sizes of a run; the defaults are those of the full one.

    Attributes
    ----------
    queries, documents : int
        Of the synthetic pool, and of each of its queries.
    rounds : int
        That count, of each part. Whole trainings and finished models take half as many, but two if there are two, the
        growth curves three at most; cold starts compile but once.
    dear_queries : int
        Queries that the dear ones (CatBoost, sampling, scikit-learn) are timed on.
    checked_queries : int
        Queries that the gradient's error is measured on.
    trees, leaves : int
        Of a training run; ``training_queries`` of the synthetic pool.
    tracked_trees : int
        Of the finished model that is tracked, on ``tracked_pool`` (queries, documents).
    live_trees : int
        Of the training runs that are tracked.
    longest : int
        The longest query of the growth curves and of the limits.
    whole_list : (queries, documents)
        Of the measurement of long lists, with a cutoff and without.
    cold_tasks : first calls to be compiled with an empty cache
    at_least : float
        Seconds that a measurement of a short thing goes on for.
    evaluations : int
        Blends that a search of weights may try.
    few_queries, draws : int
        Queries that weights are trained on where there are few, and how often they are drawn.
    blend_queries : int, optional
        Queries of each of the five parts, the first ones; all if None.
    """

    queries: int = 2000
    documents: int = DOCUMENTS
    rounds: int = 5
    seed: int = 0
    sigmas: Sequence[float] = (0.05, 0.2, 0.5, 1.0)
    cutoffs: Sequence[int] = (5, 10, 30)
    dear_queries: int = 200
    checked_queries: int = 200
    training_queries: int = 2000
    trees: int = 100
    leaves: int = 63
    tracked_trees: int = 1000
    tracked_pool: tuple[int, int] = (1000, 100)
    live_trees: int = 25
    longest: int = 100_000
    growth_documents: int = 12_000
    whole_list: tuple[int, int] = (16, 1000)
    cold_tasks: Sequence[str] = ("gradient", "hard")
    at_least: float = 0.1
    evaluations: int = 16_000
    few_queries: int = 50
    draws: int = 20
    blend_queries: int | None = None
    quick: bool = False

    @property
    def training_rounds(self) -> int:
        """Rounds of whole training runs, which take long."""
        return max(1, min(self.rounds, max(2, self.rounds // 2)))

    @property
    def blend_seeds(self) -> int:
        """Seeds of the five folds of a comparison of blends, which takes long too."""
        return self.training_rounds

    def minutes(self, parts: Sequence[str], n_pools: int, n_folders: int = 0) -> float:
        """A rough estimate of how long the parts take."""
        total = 0.0
        for part in parts:
            once, per_round = _MINUTES[part]
            rounds = self.training_rounds if part in ("training", "blend") else self.rounds
            total += (once + per_round * rounds) * (n_folders if part == "blend" else 1)
        share = _QUICK_SHARE if self.quick else 0.5 + 0.5 * self.queries * self.documents / (2000 * DOCUMENTS)
        return total * share * 2.0 / n_threads() * (1.0 + 0.1 * (n_pools - 1)) + 0.1


def full(queries: int | None, rounds: int | None, seed: int) -> Settings:
    """The run that the README's figures come from."""
    given: dict[str, Any] = {"queries": queries, "training_queries": queries, "rounds": rounds}
    return Settings(seed=seed, **{name: value for name, value in given.items() if value is not None})


def quick(queries: int | None, rounds: int | None, seed: int) -> Settings:
    """A first look: a tenth of the queries, few rounds."""
    queries = queries or 200
    return Settings(
        queries=queries,
        rounds=rounds or 2,
        seed=seed,
        sigmas=(0.05, 0.2, 1.0),
        cutoffs=(10,),
        dear_queries=min(queries, 20),
        checked_queries=min(queries, 20),
        training_queries=queries,
        trees=20,
        leaves=31,
        tracked_trees=100,
        tracked_pool=(queries, 100),
        live_trees=10,
        longest=10_000,
        growth_documents=1_200,
        whole_list=(2, 1000),
        cold_tasks=("gradient",),
        at_least=0.01,
        evaluations=400,
        draws=3,
        blend_queries=40,
        quick=True,
    )
