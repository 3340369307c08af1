"""What an objective costs per boosting iteration: boostsoft next to those of LightGBM, XGBoost and CatBoost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import lightgbm as soft_lightgbm
from .. import xgboost as soft_xgboost
from ..arguments import FloatArray
from ..choices import Noise
from ..metrics.soft import SoftMetric
from ..ranker.convex_losses import BESIDE
from ..ranker.settings import WHOLE_ORDER
from .accuracy import gradient_errors
from .boosting import CatBoostIterations, LightGBMIterations, XGBoostIterations
from .peers import Peers
from .pools import Pool
from .results import Column, Section, Target
from .settings import Settings
from .timing import Contender, Measure, Rounds, Spread, Watcher, interleave, ratio, timed

NOISES: tuple[Noise, ...] = ("gaussian", "gumbel")
REFERENCE = "LightGBM lambdarank@30"
STOCHASTIC = "CatBoost StochasticRank, 1 sample"
LIGHTGBM, XGBOOST, CATBOOST = "LightGBM regression", "XGBoost reg:squarederror", "CatBoost RMSE"
PL_SAMPLES = 200

COST = Target(1.0, "<= 1x lambdarank@30")
WISH = Target(0.5, "<= 0.5x", wish=True)
SAMPLED_COST = Target(0.1, "<= 0.1x StochasticRank")
ERROR = Target(1e-4, "error <= 1e-4")
TARGET_CUTOFF = 10

_COLUMNS = (
    Column("name", "objective"),
    Column("k", "k", "count"),
    Column("sigma", "sigma / spread", "plain"),
    Column("cost", "µs per query", "µs"),
    Column("reference", "x lambdarank@30", "ratio"),
    Column("stochastic", "x StochasticRank", "ratio"),
    Column("error", "gradient's error", "error"),
    Column("targets", "targets", "targets"),
)
_NOTE = (
    "Value, gradient and curvature of an objective: the time of a boosting iteration on one-feature data less that of "
    "a regression objective in the same booster and round. Medians over {rounds} rounds with their quartiles; ratios "
    "are taken within rounds, but for those in which a cost is not above 0. Error: largest difference from "
    "accuracy='high' over the largest gradient of the query (or 1e-8 of the range of gains over sigma, if that is "
    "larger), the worst of {checked} queries. CatBoost and PL-Rank-3 run on {dear} of the queries, the latter "
    "without a booster: the gradient alone."
)


@dataclass(frozen=True)
class Entry:
    """A contender, the one whose time is taken off its own (the tree alone), and how many queries it ran on."""

    contender: Contender
    baseline: str | None
    queries: int
    facts: dict[str, Any]

    @property
    def name(self) -> str:
        """The contender's."""
        return self.contender.name


def measure_objectives(pool: Pool, settings: Settings, peers: Peers, watcher: Watcher) -> Section:
    """Time every objective on a pool and measure the error of ours."""
    entries = [*lightgbm_entries(pool, settings)]
    if peers.has("xgboost"):
        entries += xgboost_entries(pool, settings)
    dear = pool.some(settings.dear_queries)
    if peers.has("catboost"):
        entries += catboost_entries(dear)
    entries.append(_sampled_entry(dear))
    rounds = interleave([entry.contender for entry in entries], settings.rounds, watcher)
    errors = gradient_errors(pool.some(settings.checked_queries), NOISES, settings.sigmas, settings.cutoffs, watcher)
    entries = [e for e in entries if e.name in rounds.seconds and (e.baseline is None or e.baseline in rounds.seconds)]
    rows = [_row(entry, rounds, entries, errors, pool) for entry in entries]
    note = _NOTE.format(
        rounds=settings.rounds, checked=min(settings.checked_queries, pool.n_queries), dear=dear.n_queries
    )
    title = f"Cost of an objective ({pool.name})"
    return Section(f"objective_{pool.key}", title, note, _COLUMNS, rows, rounds, rounds.left_out)


def ours(noise: str, k: int, sigma: float, where: str = "") -> str:
    """What one of ours is called."""
    return f"boostsoft {noise}{where}, k={k}, sigma={sigma:g}"


def lightgbm_entries(pool: Pool, settings: Settings) -> list[Entry]:
    """LightGBM: a regression, its ranking objectives, ours, and SoftRanker's."""
    boosting = LightGBMIterations(pool, settings.at_least)

    def own(name: str, objective: str, **parameters: Any) -> Entry:
        measure = boosting.measure(objective, **parameters)
        return Entry(Contender(name, measure, peer=True), LIGHTGBM, pool.n_queries, {"name": name})

    entries = [
        _tree(LIGHTGBM, boosting.measure("regression"), pool),
        own("LightGBM lambdarank@10", "lambdarank", lambdarank_truncation_level=10),
        own(REFERENCE, "lambdarank", lambdarank_truncation_level=30),
        own("LightGBM rank_xendcg", "rank_xendcg"),
    ]
    for noise in NOISES:
        for k in settings.cutoffs:
            for sigma in settings.sigmas:
                measure = boosting.measure(soft_lightgbm.objective(f"ndcg@{k}", noise=noise), sigma)
                facts = {"name": f"boostsoft {noise}", "noise": noise, "k": k, "sigma": sigma}
                entries.append(Entry(Contender(ours(noise, k, sigma), measure), LIGHTGBM, pool.n_queries, facts))
    whole = soft_lightgbm.objective("ndcg")
    for sigma in settings.sigmas:
        facts = {"name": "boostsoft gaussian, whole list", "sigma": sigma}
        name = f"boostsoft gaussian, whole list, sigma={sigma:g}"
        entries.append(Entry(Contender(name, boosting.measure(whole, sigma)), LIGHTGBM, pool.n_queries, facts))
    for what, losses in ((", tau mixed in", None), (", tau and losses", BESIDE)):
        mixed = soft_lightgbm.objective(f"ndcg@{TARGET_CUTOFF}", noise="gumbel", mix=WHOLE_ORDER, losses=losses)
        for sigma in settings.sigmas:
            facts = {"name": f"boostsoft gumbel{what}", "k": TARGET_CUTOFF, "sigma": sigma}
            name = ours("gumbel", TARGET_CUTOFF, sigma, what)
            entries.append(Entry(Contender(name, boosting.measure(mixed, sigma)), LIGHTGBM, pool.n_queries, facts))
    return entries


def xgboost_entries(pool: Pool, settings: Settings) -> list[Entry]:
    """XGBoost: a regression, rank:ndcg with 10 and 30 pairs per document, and ours at a cutoff of 10."""
    boosting = XGBoostIterations(pool, settings.at_least)
    entries = [_tree(XGBOOST, boosting.measure("reg:squarederror"), pool)]
    for pairs in (10, 30):
        name = f"XGBoost rank:ndcg, topk {pairs}"
        measure = boosting.measure("rank:ndcg", lambdarank_pair_method="topk", lambdarank_num_pair_per_sample=pairs)
        entries.append(Entry(Contender(name, measure, peer=True), XGBOOST, pool.n_queries, {"name": name}))
    for sigma in settings.sigmas:
        measure = boosting.measure(soft_xgboost.objective("ndcg@10"), sigma)
        facts = {"name": "boostsoft gaussian in XGBoost", "k": 10, "sigma": sigma}
        name = ours("gaussian", 10, sigma, " in XGBoost")
        entries.append(Entry(Contender(name, measure), XGBOOST, pool.n_queries, facts))
    return entries


def catboost_entries(pool: Pool) -> list[Entry]:
    """CatBoost: a regression, StochasticRank with one sample and with ten, YetiRank."""
    boosting = CatBoostIterations(pool)
    named = {
        STOCHASTIC: "StochasticRank:metric=NDCG;top=10;num_estimations=1",
        "CatBoost StochasticRank, 10 samples": "StochasticRank:metric=NDCG;top=10;num_estimations=10",
        "CatBoost YetiRank": "YetiRank",
    }
    rivals = [
        Entry(Contender(name, boosting.measure(loss), peer=True), CATBOOST, pool.n_queries, {"name": name})
        for name, loss in named.items()
    ]
    return [_tree(CATBOOST, boosting.measure("RMSE"), pool), *rivals]


def _tree(name: str, measure: Measure, pool: Pool) -> Entry:
    """What is subtracted: the booster's own regression, which any data will do for."""
    return Entry(Contender(name, measure, peer=name != LIGHTGBM), None, pool.n_queries, {"name": name, "tree": True})


def _sampled_entry(pool: Pool) -> Entry:
    name = f"PL-Rank-3, {PL_SAMPLES} samples (ours)"
    return Entry(Contender(name, sampled_gradient(pool)), None, pool.n_queries, {"name": name, "k": 10})


def sampled_gradient(pool: Pool) -> Measure:
    """Seconds of a sampled Plackett-Luce gradient, without a booster."""
    metric = SoftMetric("ndcg@10", noise="gumbel", ranks="sampled", n_samples=PL_SAMPLES)
    return timed(lambda: metric.gradient(pool.labels, pool.scores, group=pool.sizes))


def _row(
    entry: Entry, rounds: Rounds, entries: list[Entry], errors: dict[tuple[Noise, int, float], float], pool: Pool
) -> dict[str, Any]:
    by_name = {other.name: other for other in entries}
    own = _per_query(entry, rounds)
    row: dict[str, Any] = {**entry.facts, "cost": Spread.of(own).times(1e6)}
    for key, other in (("reference", REFERENCE), ("stochastic", STOCHASTIC)):
        if other in by_name and entry.baseline is not None and other != entry.name:
            row[key] = ratio(own, _per_query(by_name[other], rounds))
    if "noise" not in entry.facts:
        return row
    k, sigma = entry.facts["k"], entry.facts["sigma"]
    row["error"] = errors[entry.facts["noise"], k, sigma]
    row["targets"] = [ERROR.judge(row["error"])]
    if pool.key == "synthetic" and k == TARGET_CUTOFF:
        judged = ((COST, "reference"), (WISH, "reference"), (SAMPLED_COST, "stochastic"))
        row["targets"] += [target.judge(row[key]) for target, key in judged if key in row]
    return row


def _per_query(entry: Entry, rounds: Rounds) -> FloatArray:
    return rounds.net(entry.name, entry.baseline) / entry.queries
