"""The ranker on XGBoost, with LightGBM's parameters in its terms.

Trees grow leaf by leaf, as LightGBM's. Gradient and curvature are multiplied by a unit (``unit_of``), so that what
is added to a curvature, ``reg_lambda``, is multiplied by it too. XGBoost counts no rows: in place of
``min_child_samples`` of them a leaf holds as much curvature as so many rows have on average before the first tree.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from .. import xgboost as adapter
from ..adapters import xgboost_calls
from ..adapters.shared import STOCK_UNIT, as_booster, stock_unit
from ..adapters.xgboost_calls import XGBoostMetrics, XGBoostObjective
from ..adapters.xgboost_data import import_xgboost, make_dmatrix, refuse_other_kinds, refuse_several_scores
from ..adapters.xgboost_refusals import recorders_first, refuse_minimising
from ..arguments import FloatArray
from ..metric_lists import MetricList
from ..objectives import Objective, SoftObjective
from .constraints import feature_sets, monotone_signs, refuse_other_length, refuse_other_sets
from .features import Features
from .random_trees import RANDOM_TREES
from .regularization import leaf_l2
from .rows import Rows
from .settings import FIT, Settings, by_alias, refuse_clashes
from .training import Job, OwnScores, usable_names

NAME = "xgboost"
LIMITS = "gamma"
WANTS_NAMES = True
CALLBACKS = "xgboost.callback.TrainingCallback, such as xgboost.callback.EvaluationMonitor()"
_BINS = 256  # XGBoost's max_bin
_NEAR_NOTHING = 1e-15  # a size whose square still divides a curvature within XGBoost's float32

TAKEN = by_alias(
    {
        "n_estimators": "num_boost_round n_estimators num_round",
        "learning_rate": "learning_rate eta",
        "num_leaves": "max_leaves num_leaves",
        "max_depth": "max_depth",
        "min_child_samples": "min_child_weight min_child_samples",
        "reg_lambda": "lambda reg_lambda",
        "colsample": "colsample_bytree",
        "random_trees": "colsample_bynode",
        "subsample": "subsample",
        "eval_metric": "eval_metric",
        "early_stopping_rounds": "early_stopping_rounds",
        "n_jobs": "nthread n_jobs",
        "random_state": "seed random_state",
    }
)
SETTLED = by_alias(
    {
        "the ranker trains on its metric": "objective base_score disable_default_eval_metric scale_pos_weight",
        "the ranker gives a document one score": "num_class num_target multi_strategy",
        "the ranker grows new trees": "process_type",
        "the ranker has warnings and nothing else shown": "verbosity",
        # from XGBoost 3.4 on a gbtree that drops trees is a dart
        "the ranker's trees add up: gbtree": "booster rate_drop one_drop skip_drop sample_type normalize_type",
    }
)


def check(settings: Settings) -> None:
    """Raise if XGBoost is not installed or further parameters clash with the ranker's."""
    import_xgboost(FIT)
    refuse_clashes(settings.more, TAKEN, SETTLED)


def parameters(settings: Settings, curvature: float, unit: float = STOCK_UNIT) -> dict[str, Any]:
    """XGBoost's ``params``, given the average curvature of a document before the first tree, in LightGBM's units.

    ``unit`` is by what the adapter multiplies it.
    """
    random = RANDOM_TREES[NAME] if settings.random_trees else {}
    if settings.more.get("tree_method") == "exact":
        _refuse_what_exact_ignores(settings)
    found: dict[str, Any] = {
        "tree_method": "hist",
        "grow_policy": "lossguide",
        # otherwise what a continued training draws depends on what else was trained in this process
        "seed_per_iteration": True,
        **_as_xgboost_reads(settings.more),
        "base_score": 0.0,
        "disable_default_eval_metric": True,
        "learning_rate": settings.learning_rate,
        "max_leaves": settings.num_leaves,
        "max_depth": max(settings.max_depth, 0),
        "min_child_weight": settings.min_child_samples * curvature * unit,
        "reg_lambda": leaf_l2(settings, curvature) * unit,
        "colsample_bytree": settings.colsample,
        # said even if it is 1: a booster that goes on keeps what it is not told
        "colsample_bynode": random.get("colsample_bynode", 1.0),
        "subsample": settings.subsample * random.get("subsample", 1.0),
        "seed": settings.seed,
        "verbosity": 1,
    }
    if settings.n_jobs is not None:
        found["nthread"] = settings.n_jobs
    return found


def _as_xgboost_reads(more: Mapping[str, Any]) -> dict[str, Any]:
    """Constraints of features by number, as LightGBM takes them too, for which XGBoost has forms of its own."""
    found = dict(more)
    monotone, given = found.get("monotone_constraints"), found.get("interaction_constraints")
    sets = None if isinstance(given, str) else feature_sets(given)
    if monotone is not None and not isinstance(monotone, Mapping):  # from names; it takes a list for one
        found["monotone_constraints"] = tuple(monotone_signs("monotone_constraints", monotone))
    if sets is not None:  # numbers, which it takes for names
        found["interaction_constraints"] = str(sets)
    return found


def _refuse_other_features(settings: Settings, n_features: int) -> None:
    """Raise if constraints by number are of other features than there are, of which XGBoost says nothing."""
    monotone, sets = (settings.more.get(name) for name in ("monotone_constraints", "interaction_constraints"))
    if monotone is not None and not isinstance(monotone, Mapping):
        signs = monotone_signs("monotone_constraints", monotone)
        refuse_other_length("monotone_constraints", signs, n_features)
    refuse_other_sets("interaction_constraints", feature_sets(sets) or (), n_features)


def _refuse_what_exact_ignores(settings: Settings) -> None:
    if settings.draws_trees:
        raise ValueError(f"{FIT}: random_trees must be False with tree_method='exact', which draws no features by node")
    depth, leaves = settings.max_depth, settings.num_leaves
    if depth < 1 or np.log2(leaves) < depth:
        raise ValueError(
            f"{FIT}: max_depth must be given with tree_method='exact', and num_leaves be 2^max_depth or more, since it "
            f"limits no leaves; got max_depth={depth} and num_leaves={leaves}"
            f"{' (some of several boosters have a quarter of the leaves: n_boosters=1 has all)' if depth > 0 else ''}"
        )


def refuse_gradients(caller: str, objective: Objective, gradient: FloatArray) -> None:
    """Raise if an objective's first gradients are beyond what XGBoost can compute with, or its parameters hold."""
    xgboost_calls.refuse_gradients(caller, gradient, unit_of(objective))


def arguments(
    settings: Settings, objective: Objective, curvature: float, caller: str | None = None, fitted: float = 1.0
) -> dict[str, Any]:
    """What ``xgb.train`` is given besides data: the first metric comes last, where XGBoost's early stopping looks.

    ``caller`` is whom the objective's errors name, if not its builder.
    """
    unit = unit_of(objective, fitted)
    return {
        "params": parameters(settings, curvature, unit),
        "num_boost_round": settings.n_estimators,
        "obj": XGBoostObjective(objective, unit=unit, caller=caller),
        "custom_metric": adapter.custom_metric(*reversed(settings.evaluated)),
        "maximize": True,
    }


def unit_of(objective: Objective, fitted: float = 1.0) -> float:
    """By what gradient and curvature are multiplied: gains fall with sigma^2, and XGBoost takes none below 1e-6.

    Of an objective that fits labels, with the square of how far these are apart, ``fitted``.
    """
    size = objective.sigma if isinstance(objective, SoftObjective) else fitted
    return stock_unit(objective) / min(max(size, _NEAR_NOTHING) / adapter.LEAST_SIGMA, 1.0) ** 2


def is_callback(callback: Any) -> bool:
    """Whether XGBoost takes it as one."""
    import xgboost

    return isinstance(callback, xgboost.callback.TrainingCallback)


def load(source: Any) -> Any:
    """A booster from a booster, an estimator or a file, whose trees stay as they are when it goes on.

    It goes on from the trees that it predicts with: an estimator that stopped early from its best iteration, a booster
    from all. Where the best one was it must not say any longer, or XGBoost's estimators would serve no tree behind it.
    A booster in memory keeps its parameters and metrics, which would go on too: they are left behind, as in a file.
    """
    import xgboost

    served = None
    if isinstance(source, xgboost.XGBModel):
        if source.missing is not None and not np.isnan(source.missing):
            raise ValueError(
                f"{FIT}: init_model must have been trained with missing=nan, which is how its trees are read here; got "
                f"missing={source.missing!r}"
            )
        source = source.get_booster()
        served = source.attr("best_iteration")
    found = xgboost.Booster(model_file=source) if isinstance(source, (str, os.PathLike)) else source
    if not isinstance(found, xgboost.Booster):
        return None
    config = json.loads(found.save_config())["learner"]
    refuse_other_kinds(FIT, "init_model", config)
    refuse_several_scores(f"{FIT}: init_model", config)
    if served is not None and int(served) + 1 < found.num_boosted_rounds():
        found = found[: int(served) + 1]
    found = xgboost.Booster(model_file=found.save_raw("ubj"))
    found.set_attr(best_iteration=None, best_score=None)
    return found


def data(settings: Settings, train: Rows, sets: Sequence[Rows], start: Any) -> Any:
    """The matrices, of which XGBoost tells by its global verbosity only."""
    import xgboost

    _refuse_other_features(settings, train.features.matrix.shape[1])
    bins = _bins(settings) if start is None else None
    with xgboost.config_context(verbosity=1), _no_more_threads(settings.n_jobs):
        return as_dmatrix(train.features, settings.n_jobs, train, bins), [
            as_dmatrix(rows.features, settings.n_jobs, rows) for rows in sets
        ]


def _bins(settings: Settings) -> int | None:
    """How many bins of a feature hold all that the trees are grown by, None if they may look at the numbers.

    The trees are the same, and a DMatrix keeps eight bytes of every number beside its bin. But trees of other bins,
    which a training goes on from, would give other scores.
    """
    more = settings.more
    if more.get("tree_method", "hist") != "hist" or more.get("device", "cpu") != "cpu" or "updater" in more:
        return None
    bins = more.get("max_bin", _BINS)
    return bins if isinstance(bins, int) else None


def train(job: Job) -> Any:
    """Grow the trees; XGBoost does not show its number of threads to what it calls."""
    with as_booster(job.settings.n_jobs), _no_more_threads(job.settings.n_jobs):
        return _train(job)


def _no_more_threads(n_jobs: int | None) -> Any:
    """Let OpenMP start no more: for labels, and to go on from a model, XGBoost takes all that there are.

    A process that once had several could not train after a fork.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    return threadpool_limits(n_jobs, user_api="openmp")


def _train(job: Job) -> Any:
    import xgboost
    import xgboost.training  # whose function is the one that nobody replaces

    settings = job.settings
    data, matrices = job.data
    valid = [(matrix, name) for matrix, (name, _) in zip(matrices, job.valid, strict=True)]
    metrics = XGBoostMetrics(MetricList(FIT, settings.evaluated))
    recorded = _Recorded(job.at_own_scores(metrics), valid)
    given = arguments(settings, job.objective, job.curvature, FIT, job.fitted)
    params = given["params"]
    refuse_minimising(job.callbacks, valid, given["custom_metric"], FIT)
    for callback in job.callbacks:
        if isinstance(callback, xgboost.callback.EarlyStopping):  # it would go on counting where another fit ended
            callback.stopping_history = {}
    if job.start is not None:
        del params["base_score"]  # its own stays, in units of its own link: under some 0 is minus infinity
    # of a later one of several boosters XGBoost would show the scores of all
    before = _margin(job.start, data) if job.later else None
    values = _measured(job, metrics, valid) if job.later else lambda _: recorded.take()
    grow = xgboost.train if job.noted else xgboost.training.train
    booster = grow(
        params,
        data,
        given["num_boost_round"],
        evals=() if job.later else valid,  # or it would predict all trees anew for them in every round
        obj=job.at_own_scores(given["obj"], lambda _: before),
        custom_metric=recorded if valid and not job.later else None,
        xgb_model=job.start,
        # ours first: XGBoost calls none behind one that ends the training
        callbacks=[_after(values, job), *recorders_first(job.callbacks)] if job.is_seen else None,
        verbose_eval=False,
    )
    if job.start is None and n_splits(booster) == 0:
        # trees without a split: their leaves hold what rounding left of gradients that add up to 0
        job.watch.forget()
        return xgboost.training.train(params, data, 0)
    best = booster.attr("best_iteration") if job.callbacks else None
    job.watch.chosen = None if best is None else int(best) + 1
    return booster


def n_trees(booster: Any) -> int:
    """How many trees it has."""
    return int(booster.num_boosted_rounds())


def n_features(booster: Any) -> int:
    """How many features it was trained on."""
    return int(booster.num_features())


def feature_names(booster: Any) -> list[str] | None:
    """What they are called, None if they have no names."""
    names: list[str] | None = booster.feature_names
    return names


def names_of(features: Features) -> list[str] | None:
    """What XGBoost would call the features, None if they have no names that it takes."""
    return usable_names(features.names, "[]<")


def first(booster: Any, n: int) -> Any:
    """A booster of the first n trees."""
    return booster[:n]


def name_categories(booster: Any, categories: Iterable[Sequence[Any]]) -> None:
    """Nothing: XGBoost keeps those of a frame that it is trained on, from 3.1 on, and takes none from elsewhere."""


def use_threads(booster: Any, n_jobs: int | None) -> None:
    """Let the booster predict on so many threads from now on; it keeps those that it was trained on."""
    booster.set_param({"nthread": n_jobs or 0})


def predict(booster: Any, features: Features, n_jobs: int | None) -> FloatArray:
    """Scores by all trees.

    XGBoost reads arrays and sparse matrices as they are: a DMatrix of float32 takes twice their memory, and four times
    the time of 20 trees. To a GPU it would copy one with a warning, and it would take what is too large for infinite.
    """
    matrix = _matrix(features)
    if _on_cpu(booster) and _is_single(matrix):
        return np.asarray(booster.inplace_predict(matrix, predict_type="margin"), dtype=np.float64)
    return _margin(booster, as_dmatrix(features, n_jobs))


def _on_cpu(booster: Any) -> bool:
    return bool(json.loads(booster.save_config())["learner"]["generic_param"]["device"] == "cpu")


def _is_single(matrix: Any) -> bool:
    """Whether all values are within the range of float32, as which XGBoost reads them."""
    values = matrix.data if sparse.issparse(matrix) else matrix
    if values.dtype == np.float32:
        return True
    ends = [reduce.reduce(values, axis=None, initial=0.0) for reduce in (np.fmin, np.fmax)]  # NaN is missing
    with np.errstate(over="ignore"):
        return bool(np.isfinite(np.array(ends).astype(np.float32)).all())


def _margin(booster: Any, data: Any) -> FloatArray:
    return np.asarray(booster.predict(data, output_margin=True), dtype=np.float64)


def staged(booster: Any, features: Features, every: int, n_jobs: int | None) -> Iterator[FloatArray]:
    """Scores after every so many trees, and after all.

    From step to step, and not by leaves as a track's: to tell a tree's leaves takes XGBoost twice as long as to add
    their values, so that by leaves only ``every=1`` took less.
    """
    steps = range(every, n_trees(booster), every)
    if steps:
        yield from _by_steps(booster, as_dmatrix(features, n_jobs), steps)
    yield predict(booster, features, n_jobs)


def _by_steps(booster: Any, data: Any, steps: Iterable[int]) -> Iterator[FloatArray]:
    done = 0
    for step in steps:  # what the first trees gave is where the next ones start
        scores = booster.predict(data, output_margin=True, iteration_range=(done, step))
        data.set_base_margin(scores)
        done = step
        yield np.asarray(scores, dtype=np.float64)


def gains(booster: Any, ends: Sequence[int]) -> list[FloatArray]:
    """What splits on each feature have gained, in all or, given where each of several boosters ends, in each."""
    parts = [booster[first:end] for first, end in pairwise((0, *ends)) if first < end] if ends else [booster]
    return [_gains(part) for part in parts] or [np.zeros(n_features(booster))]


def _gains(booster: Any) -> FloatArray:
    names = booster.feature_names or [f"f{at}" for at in range(n_features(booster))]
    by_name = booster.get_score(importance_type="total_gain") if n_trees(booster) else {}
    return np.array([by_name.get(name, 0.0) for name in names], dtype=np.float64)


def n_splits(booster: Any) -> int:
    """How many splits all trees have; what they gain is added up in float32, where little beside much is nothing."""
    return int(sum(booster.get_score(importance_type="weight").values())) if n_trees(booster) else 0


class _Recorded:
    """The adapter's metrics, which are kept in full: XGBoost rounds what they return to six digits."""

    def __init__(self, metrics: Any, valid: Sequence[tuple[Any, str]]) -> None:
        self.metrics, self.valid = metrics, valid
        self.last: list[tuple[str, str, float]] = []

    def __call__(self, predt: Any, dmatrix: Any) -> list[tuple[str, float]]:
        values: list[tuple[str, float]] = self.metrics(predt, dmatrix)
        dataset = next(name for data, name in self.valid if data is dmatrix)
        self.last += [(dataset, metric, value) for metric, value in values]
        return values[::-1]  # XGBoost's early stopping watches the last one

    def take(self) -> list[tuple[str, str, float]]:
        """What was recorded since the last time."""
        found, self.last = self.last, []
        return found


def _measured(job: Job, metrics: Any, valid: Sequence[tuple[Any, str]]) -> Callable[[Any], list[Any]]:
    """What tells a later booster's values of the model that it is in, as XGBoost would its own."""
    nothing = [np.zeros(data.num_row(), np.float32) for data, _ in valid]
    own = OwnScores(n_trees(job.start), nothing, job.share)

    def values(model: Any) -> list[Any]:
        def scores(at: int, first: int, n: int) -> Any:
            return model.predict(valid[at][0], output_margin=True, iteration_range=(first, first + n))

        found = own.at(n_trees(model), scores)
        return [(name, *value) for (data, name), its in zip(valid, found, strict=True) for value in metrics(its, data)]

    return values


def _after(values: Callable[[Any], list[Any]], job: Job) -> Any:
    """XGBoost's callback after every tree."""
    import xgboost

    class After(xgboost.callback.TrainingCallback):  # type: ignore[misc]
        """Record the metrics, and end the training before the next round, when other callbacks have seen this one."""

        ends = False

        def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            return self.ends

        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            self.ends = job.see(values(model), n_trees(model))
            return False

        def __hash__(self) -> int:
            return 0  # XGBoost before 3.2 keeps callbacks in a set, where with this hash the first one comes first

    return After()


def as_dmatrix(features: Features, n_jobs: int | None, rows: Rows | None = None, bins: int | None = None) -> Any:
    """Features as a DMatrix, to predict from, or to train on with the labels, queries and weights of ``rows``."""
    options: dict[str, Any] = {}
    if rows is not None:
        options = {"label": rows.labels, "group": rows.groups.sizes, "weight": rows.weights}
    types = None
    if features.categorical:
        types = ["c" if at in features.categorical else "float" for at in range(features.matrix.shape[1])]
        options["enable_categorical"] = True
    return make_dmatrix(
        "SoftRanker" if rows is None else FIT,
        _matrix(features),
        bins=bins,
        nthread=n_jobs,
        feature_names=names_of(features),
        feature_types=types,
        **options,
    )


def _matrix(features: Features) -> Any:
    """In XGBoost an absent entry of a sparse matrix is missing: zeros are what they were in fit, whatever the form."""
    if features.from_sparse:
        absent = sparse.csr_matrix(features.matrix)
        if not absent.data.all():
            absent = absent.copy()
            absent.eliminate_zeros()
        return absent
    return features.matrix.toarray() if sparse.issparse(features.matrix) else features.matrix
