"""Two arms on the same data: LightGBM on a soft metric, and LightGBM's own lambdarank beside it.

``run_split`` trains both on one training set and keeps, for each, the number of trees that is best on the validation
set; ``run_folds`` does so over a five-part set and several seeds. Both return plain values per query, from which
tables, files and plots are made; queries without a relevant document are NaN in them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import lightgbm as soft_lightgbm
from ..adapters.lightgbm_data import is_dart, is_forest
from ..arguments import FloatArray
from ..choices import Noise
from ..datasets import RankingData
from ..metric_lists import logged_name
from ..metrics import Metric, SoftMetric
from ..metrics.soft import AnyMetric, MetricWeights, watched_soft
from ..metrics.spec import refuse_pnr
from ..statistics import fill_empty

OURS, BASELINE = "boostsoft", "lambdarank"
N_PARTS = 5


@dataclass(frozen=True)
class Plan:
    """What to train: the metric, and the tree settings that both arms share.

    Attributes
    ----------
    metric : str
        Trained on by boostsoft and watched, hard and soft, in both arms.
    noise : str
        The law of the noise of the soft metric.
    mix, losses : mapping, optional
        What boostsoft trains on beside the metric (:class:`boostsoft.objectives.SoftObjective`).
    trees : int
        Number of trees to train at most.
    learning_rate, leaves : float, int
        LightGBM's ``learning_rate`` and ``num_leaves``.
    early_stopping : int
        Trees without a better hard metric on the validation set after which to stop; 0 trains all. The best number
        of trees is kept in either case; but of LightGBM's dart, which changes earlier trees, all are.
    seed : int
        LightGBM's ``seed``.
    parameters : mapping
        Further LightGBM parameters of both arms; they win over the ones above.
    baseline : bool
        Whether to train lambdarank too.
    """

    metric: str = "ndcg@10"
    noise: Noise = "gaussian"
    mix: MetricWeights | None = None
    losses: Mapping[str, float] | None = None
    trees: int = 300
    learning_rate: float = 0.1
    leaves: int = 31
    early_stopping: int = 50
    seed: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)
    baseline: bool = True

    def __post_init__(self) -> None:
        # what cannot be trained or averaged is refused before anything is read
        self.booster_parameters(OURS)
        if is_forest(self.parameters):
            raise ValueError("train: boosting must not be rf, which LightGBM has for its own objectives only")
        refuse_pnr("train", self.metric)

    @property
    def hard(self) -> Metric:
        """The hard metric; NaN for queries without a relevant document."""
        return Metric(self.metric, empty="skip")

    @property
    def soft(self) -> SoftMetric:
        """Its expectation under noise of a fifth of the scores' spread; NaN as the hard one."""
        return watched_soft(self.hard, self.noise)

    @property
    def watched(self) -> tuple[AnyMetric, AnyMetric]:
        """Both as they are watched tree by tree, where a query without a relevant document counts 0."""
        hard = Metric(self.metric)
        return hard, watched_soft(hard, self.noise)

    @property
    def names(self) -> tuple[str, str]:
        """What the hard and the soft metric are called in curves and files."""
        return logged_name(self.hard), logged_name(self.soft)

    @property
    def chooses_trees(self) -> bool:
        """Whether the best number of trees on the validation set is kept; with dart there is none to go back to."""
        return not is_dart(self.parameters)

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms to train, ours first."""
        return (OURS, BASELINE) if self.baseline else (OURS,)

    def booster_parameters(self, arm: str) -> dict[str, Any]:
        """LightGBM's ``params`` for an arm."""
        objective: Any = "lambdarank"
        if arm == OURS:
            objective = soft_lightgbm.objective(self.metric, noise=self.noise, mix=self.mix, losses=self.losses)
        return {
            "objective": objective,
            "metric": "None",
            "learning_rate": self.learning_rate,
            "num_leaves": self.leaves,
            "seed": self.seed,
            "deterministic": True,
            "force_row_wise": True,
            "verbosity": -1,
            **self.parameters,
        }


class Observer:
    """Is told how training goes; this one does nothing with it."""

    def begin(self, run: str, trees: int) -> None:
        """A booster of at most so many trees starts."""

    def tree(self, n: int, values: Mapping[str, float]) -> None:
        """Round ``n``, which may find no split, is done; the metrics on the validation set by name."""

    def end(self) -> None:
        """The booster is done."""


@dataclass(frozen=True)
class Arm:
    """A trained arm.

    Attributes
    ----------
    name : str
        ``"boostsoft"`` or ``"lambdarank"``.
    trees : int
        Number of trees kept.
    model : str
        These trees in LightGBM's text format.
    curves : mapping
        (part, metric name) to the metric after each tree, shape (n_trees,).
    values : mapping
        (part, metric name) to the value of each query with the trees kept, shape (n_queries,).
    seconds : float
        How long training took.
    """

    name: str
    trees: int
    model: str
    curves: Mapping[tuple[str, str], FloatArray]
    values: Mapping[tuple[str, str], FloatArray]
    seconds: float


@dataclass(frozen=True)
class Split:
    """The arms trained on one split into parts ``"train"``, ``"valid"`` and perhaps ``"test"``."""

    plan: Plan
    parts: Mapping[str, RankingData]
    arms: tuple[Arm, ...]


@dataclass(frozen=True)
class FoldRun:
    """One arm of one fold with one seed: ``values`` are the hard metric of each query of the test part."""

    fold: int
    seed: int
    arm: str
    trees: int
    values: FloatArray
    seconds: float


@dataclass(frozen=True)
class Folds:
    """All runs over a five-part set; fold f trains on parts f, f + 1, f + 2, is tested on part f + 4."""

    plan: Plan
    parts: tuple[RankingData, ...]
    seeds: tuple[int, ...]
    runs: tuple[FoldRun, ...]

    def test_part(self, fold: int) -> RankingData:
        """The part on which a fold (1 to 5) is tested."""
        return self.parts[cyclic(fold - 1)[2]]

    def values(self, arm: str, empty: str, *, folds: Sequence[int] = (), seeds: Sequence[int] = ()) -> FloatArray:
        """Value of each test query, averaged over seeds; folds after each other, all by default."""
        found = [
            [
                fill_empty(run.values, empty)
                for run in self.runs
                if (run.arm, run.fold) == (arm, fold) and run.seed in (seeds or self.seeds)
            ]
            for fold in folds or range(1, N_PARTS + 1)
        ]
        return np.concatenate([np.mean(of_fold, axis=0) for of_fold in found])


def cyclic(fold: int) -> tuple[tuple[int, int, int], int, int]:
    """Positions of the parts that train, validate and test in a fold, both counted from 0.

    >>> cyclic(0), cyclic(3)
    (((0, 1, 2), 3, 4), ((3, 4, 0), 1, 2))
    """
    first, second, third, valid, test = ((fold + i) % N_PARTS for i in range(N_PARTS))
    return (first, second, third), valid, test


def run_split(plan: Plan, parts: Mapping[str, RankingData], observer: Observer | None = None) -> Split:
    """Train the arms on ``parts["train"]``, keep the trees that are best on ``parts["valid"]``, measure on all."""
    arms = [train_arm(arm, plan, parts, observer or Observer()) for arm in plan.arms]
    return Split(plan, parts, tuple(arms))


def run_folds(plan: Plan, parts: Sequence[RankingData], seeds: Sequence[int], observer: Observer) -> Folds:
    """Train both arms on every fold of a five-part set with every seed; only the hard metric is watched."""
    runs = []
    for fold in range(1, N_PARTS + 1):
        train, valid, test = cyclic(fold - 1)
        split = {"train": concatenate([parts[i] for i in train]), "valid": parts[valid], "test": parts[test]}
        for seed in seeds:
            for arm in plan.arms:
                seeded = replace(plan, seed=seed)
                run = f"fold {fold}, seed {seed}, {arm}"
                done = train_arm(arm, seeded, split, observer, run=run, curves=False)
                values = done.values["test", plan.names[0]]
                runs.append(FoldRun(fold, seed, arm, done.trees, values, done.seconds))
    return Folds(plan, tuple(parts), tuple(seeds), tuple(runs))


def can_choose(plan: Plan, valid: RankingData) -> bool:
    """Whether the metric of some query of the validation part can change."""
    return bool(np.isfinite(plan.hard.per_query(valid.y, np.zeros(valid.y.size), group=valid.sizes)).any())


def train_arm(
    arm: str, plan: Plan, parts: Mapping[str, RankingData], observer: Observer, *, run: str = "", curves: bool = True
) -> Arm:
    """Train one arm; without ``curves`` only the hard metric on the validation part is watched."""
    import lightgbm as lgb

    parameters = plan.booster_parameters(arm)
    train = _dataset(parts["train"], params={**parameters, "objective": "none"})
    _refuse_no_split(train, parameters)
    valid = _dataset(parts["valid"], reference=train)
    seen = _dataset(parts["train"], reference=train) if is_dart(plan.parameters) else train  # or trees are lost
    history: dict[str, dict[str, list[float]]] = {}
    observer.begin(run or arm, plan.trees)
    started = time.perf_counter()
    grown: list[int] = []  # trees after each round, which may find no split and grow none
    callbacks = [_watcher(observer, grown), lgb.record_evaluation(history)]
    chooses = plan.chooses_trees and can_choose(plan, parts["valid"])
    if chooses:  # with dart LightGBM would only warn
        callbacks.append(lgb.early_stopping(plan.early_stopping or plan.trees, first_metric_only=True, verbose=False))
    booster = lgb.train(
        parameters,
        train,
        plan.trees,
        valid_sets=[seen, valid] if curves else [valid],
        valid_names=["train", "valid"] if curves else ["valid"],
        feval=soft_lightgbm.feval(*plan.watched[: 2 if curves else 1]),
        callbacks=callbacks,
    )
    seconds = time.perf_counter() - started
    observer.end()
    best = booster.best_iteration if booster.best_iteration > 0 else len(grown)
    kept, new = grown[best - 1], np.diff(grown, prepend=0) > 0
    metrics: dict[str, AnyMetric] = dict(zip(plan.names, (plan.hard, plan.soft), strict=True))
    return Arm(
        name=arm,
        trees=kept,
        model=booster.model_to_string(num_iteration=kept),
        curves={(part, name): np.array(v)[new] for part, found in history.items() for name, v in found.items()},
        values=_measure(booster, kept, parts if curves else {"test": parts["test"]}, metrics),
        seconds=seconds,
    )


def _measure(
    booster: Any, trees: int, parts: Mapping[str, RankingData], metrics: Mapping[str, AnyMetric]
) -> dict[tuple[str, str], FloatArray]:
    values = {}
    for part, data in parts.items():
        scores = booster.predict(data.X, num_iteration=trees)
        for name, metric in metrics.items():
            values[part, name] = metric.per_query(data.y, scores, group=data.sizes)
    return values


def _dataset(data: RankingData, reference: Any = None, params: Any = None) -> Any:
    import lightgbm as lgb

    names = list(data.feature_names)
    return lgb.Dataset(data.X, data.y, group=data.sizes, reference=reference, feature_name=names, params=params)


def _refuse_no_split(train: Any, parameters: Mapping[str, Any]) -> None:
    """Raise if no tree could split the data: LightGBM would say so with a place in its source."""
    train.construct()
    if not any(train.feature_num_bin(feature) for feature in range(train.num_feature())):
        least = parameters.get("min_data_in_leaf", 20)
        raise ValueError(
            f"train: no feature can split the {train.num_data()} documents: each is constant, or leaves fewer than "
            f"min_data_in_leaf ({least}) of them on one side; --set min_data_in_leaf=1"
        )


def _watcher(observer: Observer, grown: list[int]) -> Callable[[Any], None]:
    def watch(env: Any) -> None:
        found = env.evaluation_result_list
        grown.append(env.model.current_iteration())
        observer.tree(env.iteration + 1, {item[1]: item[2] for item in found if item[0] == "valid"})

    return watch


def concatenate(parts: Sequence[RankingData]) -> RankingData:
    """One data set of several with the same features."""
    return RankingData(
        X=np.concatenate([part.X for part in parts]),
        y=np.concatenate([part.y for part in parts]),
        qid=np.concatenate([part.qid for part in parts]),
        sizes=np.concatenate([part.sizes for part in parts]),
        feature_names=parts[0].feature_names,
    )
