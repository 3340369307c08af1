"""The ranker on LightGBM."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from .. import lightgbm as adapter
from ..adapters import lightgbm_calls
from ..adapters.lightgbm_callback import LightGBMTrack
from ..adapters.lightgbm_data import (
    BOOSTING,
    CATEGORIES,
    LEAST_DOCUMENTS,
    LEAVES,
    MOST_LEAVES,
    OBJECTIVE,
    STOPPING,
    THREADS,
    is_on,
    library,
    main_names,
    refuse_classes,
    threads,
)
from ..adapters.shared import STOCK_UNIT, as_booster, stock_unit
from ..arguments import FloatArray, short
from ..metric_lists import MetricList
from ..objectives import Objective
from ..stages import staged_lightgbm
from .constraints import feature_sets, monotone_signs, refuse_other_length, refuse_other_sets
from .features import Features
from .forced_splits import n_forced, refuse_files
from .random_trees import FEATURES, RANDOM_TREES, ROWS
from .regularization import leaf_l2
from .rows import Rows
from .settings import FIT, Settings, by_alias, known, refuse_clashes
from .training import Job, OwnScores, usable_names

NAME = "lightgbm"
LIMITS = "min_sum_hessian_in_leaf, min_gain_to_split"
WANTS_NAMES = False
CALLBACKS = "functions of LightGBM's CallbackEnv, such as lightgbm.log_evaluation()"
# LightGBM calls callbacks in the order of these. A value is recorded before another callback may end the training, but
# behind a track_callback, which may take the tree back; and the ranker ends the training when all have seen the tree.
_RECORDS, _ENDS = -(2**31) + 1, 2**31
BY_NODE = ("feature_fraction_bynode", "sub_feature_bynode", "colsample_bynode")
STOCK_CATEGORY_L2 = 10.0
INTERACTIONS = "interaction_constraints"
MONOTONE = ("monotone_constraints", "monotone_constraint", "monotonic_cst", "mc")
_PER_FEATURE = ("feature_contri", "max_bin_by_feature")  # lists, of other lengths of which LightGBM tells in C++
ZERO = float(np.float32(1e-35))  # what is not farther from 0 is 0 to LightGBM

# the ranker's own parameter -> LightGBM's name and its aliases
TAKEN = by_alias(
    {
        "n_estimators": "num_iterations num_iteration n_iter num_tree num_trees num_round num_rounds nrounds "
        "num_boost_round n_estimators max_iter",
        "learning_rate": "learning_rate shrinkage_rate eta",
        "num_leaves": " ".join(LEAVES),
        "max_depth": "max_depth",
        "min_child_samples": " ".join(LEAST_DOCUMENTS),
        "reg_lambda": "lambda_l2 reg_lambda lambda l2_regularization",
        "colsample": "feature_fraction sub_feature colsample_bytree",
        "random_trees": "extra_trees extra_tree",
        "subsample": "bagging_fraction sub_row subsample bagging bagging_freq subsample_freq",
        "eval_metric": "metric metrics metric_types eval_at ndcg_eval_at ndcg_at map_eval_at map_at",
        "early_stopping_rounds": " ".join(STOPPING),
        "n_jobs": " ".join(THREADS),
        "random_state": "seed random_seed random_state",
    }
)
SETTLED = by_alias(
    {
        # LightGBM's own objectives read the rest of these, and nothing else does
        "the ranker trains on its metric": f"{' '.join(OBJECTIVE)} lambdarank_truncation_level "
        "lambdarank_norm lambdarank_position_bias_regularization objective_seed sigmoid scale_pos_weight is_unbalance "
        "unbalance unbalanced_sets boost_from_average num_class num_classes alpha fair_c poisson_max_delta_step "
        "tweedie_variance_power reg_sqrt",
        "the ranker keeps LightGBM quiet": "verbosity verbose",
        "the ranker's trees add up: gbdt": f"{' '.join(BOOSTING)} drop_rate rate_drop max_drop skip_drop uniform_drop "
        "xgboost_dart_mode drop_seed",
        "LightGBM draws so under its objectives of classes only": "pos_bagging_fraction pos_sub_row pos_subsample "
        "pos_bagging neg_bagging_fraction neg_sub_row neg_subsample neg_bagging",
        "with it LightGBM trains stumps under any custom objective": "bagging_by_query",
        "X says which columns are categories": " ".join(CATEGORIES),
        "the first metric is watched": "first_metric_only",
        "any better value counts": "early_stopping_min_delta",
        "the metric has its own gain": "label_gain",
        # all that follows, but for several machines, lgb.train passes over without a word
        "fit takes init_model": "input_model model_in model_input",
        "the ranker trains on one machine": "num_machines num_machine machines nodes workers machine_list_filename "
        "mlist machine_list machine_list_file local_listen_port port local_port time_out pre_partition "
        "is_pre_partition",
        "the ranker gives a document one score": "auc_mu_weights multi_error_top_k",
        "LightGBM reads it with files only, and fit takes columns, labels, queries and weights": "data train "
        "train_data data_filename train_data_file valid test test_data valid_data test_data_file valid_data_file "
        "valid_filenames header has_header label_column label weight_column weight group_column group query group_id "
        "query_id query_column ignore_column blacklist ignore_feature two_round two_round_loading "
        "use_two_round_loading precise_float_parser parser_config_file save_binary is_save_binary is_save_binary_file",
        "LightGBM reads it on its command line only": "task task_type config config_file output_model model_out "
        "model_output snapshot_freq save_period saved_feature_importance_type metric_freq output_freq "
        "is_provide_training_metric train_metric training_metric is_training_metric refit_decay_rate convert_model "
        "convert_model_file convert_model_language output_result name_pred pred_name predict_name predict_result "
        "prediction_name prediction_result",
        "predict adds up all trees": "num_iteration_predict start_iteration_predict predict_raw_score raw_score "
        "predict_rawscore is_predict_raw_score predict_leaf_index leaf_index is_predict_leaf_index predict_contrib "
        "contrib is_predict_contrib predict_disable_shape_check pred_early_stop pred_early_stop_freq "
        "pred_early_stop_margin",
    }
)


def check(settings: Settings) -> None:
    """Raise if further parameters clash with the ranker's or are none of LightGBM's, which would ignore them."""
    refuse_clashes(settings.more, TAKEN, SETTLED)
    if settings.num_leaves > MOST_LEAVES:
        raise ValueError(f"{FIT}: num_leaves must be at most {MOST_LEAVES:,} in LightGBM; got {settings.num_leaves:,}")
    known = main_names()
    for name in settings.more:
        if known and name not in known:
            nearest = difflib.get_close_matches(name, known, n=1)
            meant = f": is {nearest[0]!r} meant?" if nearest else ""
            raise ValueError(f"{FIT}: booster_params must hold parameters of LightGBM; got {name!r}{meant}")
    if settings.subsample < 1.0 and str(settings.more.get("data_sample_strategy")).lower() == "goss":
        raise ValueError(f"{FIT}: subsample must be 1 with data_sample_strategy='goss', which draws rows itself")
    refuse_files(settings.more, settings.num_leaves)
    _interaction_sets(settings)


def _monotone(settings: Settings) -> dict[str, list[int]]:
    """Which features are to raise or lower scores, by the name that this was given under."""
    more = settings.more
    return {name: monotone_signs(name, more[name]) for name in MONOTONE if more.get(name) is not None}


def _interaction_sets(settings: Settings) -> list[list[int]] | None:
    """Sets of features that may be split on together, None if nothing is said; LightGBM skips what it cannot read."""
    given = settings.more.get(INTERACTIONS)
    if given is None:
        return None
    sets = feature_sets(given)
    if sets is None:
        raise ValueError(
            f"{FIT}: {INTERACTIONS} in booster_params must be lists of features, counted from 0, such as "
            f"[[0, 1], [2, 3]]; got {short(given)}"
        )
    return sets


def parameters(settings: Settings, curvature: float, unit: float = STOCK_UNIT) -> dict[str, Any]:
    """LightGBM's ``params``, given the average curvature of a document before the first tree.

    ``unit`` is by what a curvature is multiplied where a booster expects some .25 per document.
    """
    found: dict[str, Any] = {
        # histograms are then added up in the same order, whatever the machine and its load
        "deterministic": True,
        # without features that may be split at all, LightGBM stops with an error in place of no tree
        "feature_pre_filter": settings.rare and not n_forced(settings.more),
        # what it adds to the curvature of a category, 10, is made for some .25 per document; with it as it is, small
        # data is never split by category
        "cat_l2": STOCK_CATEGORY_L2 / unit,
        "cat_smooth": STOCK_CATEGORY_L2 / unit,
        **({} if is_on(settings.more.get("force_col_wise")) else {"force_row_wise": True}),
        **settings.more,
        **_monotone(settings),
        "metric": "None",
        "learning_rate": settings.learning_rate,
        "num_leaves": max(settings.num_leaves, n_forced(settings.more) + 1),  # of smaller boosters
        "max_depth": settings.max_depth,
        "min_data_in_leaf": settings.min_child_samples,
        "lambda_l2": leaf_l2(settings, curvature),
        "feature_fraction": settings.colsample,
        **(RANDOM_TREES[NAME] if settings.random_trees and not settings.sampled else {}),
        "seed": settings.seed,
        "verbosity": -1,
    }
    sets = _interaction_sets(settings)
    if sets is not None:
        found[INTERACTIONS] = sets
    share = settings.subsample
    if settings.random_trees and settings.sampled:
        if not any(name in settings.more for name in BY_NODE):
            found["feature_fraction_bynode"] = FEATURES
        if "data_sample_strategy" not in settings.more:  # goss draws rows itself, and suffers no other
            share *= ROWS
    if share < 1.0:
        found |= {"bagging_fraction": share, "bagging_freq": 1}
    if settings.n_jobs is not None:
        found["num_threads"] = settings.n_jobs
    return found


def refuse_gradients(caller: str, objective: Objective, gradient: FloatArray) -> None:
    """Raise if an objective's first gradients are beyond what LightGBM can compute with."""
    lightgbm_calls.refuse_gradients(caller, gradient)


def arguments(settings: Settings, objective: Objective, curvature: float, caller: str | None = None) -> dict[str, Any]:
    """What ``lgb.train`` is given besides data: the first metric of ``feval`` comes first, where LightGBM looks.

    ``caller`` is whom the objective's errors and warnings name, if not its builder.
    """
    params = parameters(settings, curvature, stock_unit(objective))
    return {
        "params": {**params, "objective": adapter.LightGBMObjective(objective, caller=caller)},
        "num_boost_round": settings.n_estimators,
        "feval": adapter.feval(*settings.evaluated),
    }


def is_callback(callback: Any) -> bool:
    """Whether LightGBM can call it."""
    return callable(callback)


def load(source: Any) -> Any:
    """A booster from a booster, up to its best iteration, or from an estimator or a file."""
    import lightgbm

    if isinstance(source, lightgbm.LGBMModel):
        source = source.booster_
    if isinstance(source, (str, os.PathLike)):
        found = lightgbm.Booster(model_file=source)
    elif isinstance(source, lightgbm.Booster):
        found = lightgbm.Booster(model_str=source.model_to_string())
    else:
        return None
    refuse_classes(f"{FIT}: init_model", found)
    if staged_lightgbm.is_averaged(found):
        raise ValueError(
            f"{FIT}: init_model must be boosted; a random forest scores by the mean of its trees, and LightGBM would "
            "go on from their sum"
        )
    return found


def data(settings: Settings, train: Rows, sets: Sequence[Rows], start: Any) -> Any:
    """The data sets. Where several boosters are trained, LightGBM keeps the features, to predict by those before."""
    n_features = train.features.matrix.shape[1]
    refuse_other_sets(INTERACTIONS, _interaction_sets(settings) or (), n_features)  # it would write into other memory
    for name, signs in _monotone(settings).items():
        refuse_other_length(name, signs, n_features)
    names = main_names()
    for name, given in settings.more.items():
        if names.get(name) in _PER_FEATURE and given is not None:
            refuse_other_length(name, given, n_features)
    several = known(settings.n_boosters) > 1
    made = _dataset(replace(train, features=_some_feature(train.features)), several)
    return made, [_dataset(rows, several, reference=made) for rows in sets]


def train(job: Job) -> Any:
    """Grow the trees."""
    import lightgbm
    import lightgbm.engine  # whose function is the one that nobody replaces

    train, valid = job.data
    given = arguments(job.settings, job.objective, job.curvature, FIT)
    params, feval = given["params"], _evaluation(job, valid)
    # of a later one of several boosters LightGBM would show the scores of all, and predict those before for every set
    shown = [] if job.later else valid
    after = _After(job, _measured(job, feval, valid) if job.later else None)
    grow = lightgbm.train if job.noted else lightgbm.engine.train
    booster = grow(
        {**params, "objective": job.at_own_scores(params["objective"], lambda data: data.get_init_score())},
        train,
        given["num_boost_round"],
        valid_sets=shown,
        valid_names=[name for name, _ in job.valid[: len(shown)]],
        feval=job.at_own_scores(feval) if shown else None,
        init_model=job.start,
        callbacks=[*job.callbacks, after, after.end] if job.is_seen else None,
    )
    if job.callbacks and booster.best_iteration > 0:
        job.watch.chosen = after.trees_of(booster.best_iteration)
    return booster


def n_trees(booster: Any) -> int:
    """How many trees it has."""
    return int(booster.num_trees())


def n_features(booster: Any) -> int:
    """How many features it was trained on."""
    return int(booster.num_feature())


def feature_names(booster: Any) -> list[str] | None:
    """What they are called, None if LightGBM has counted them."""
    names = [str(name) for name in booster.feature_name()]
    return None if all(re.fullmatch(r"Column_\d+", name) for name in names) else names


def names_of(features: Features) -> list[str] | None:
    """What LightGBM calls the features, None if they have no names, or two would have one.

    What it refuses becomes what it makes of a space itself: one such column would cost all the others their names.
    """
    names = features.names
    return usable_names(None if names is None else [re.sub(r'[\[\]{}:,"\s\0]', "_", name) for name in names], "")


def first(booster: Any, n: int) -> Any:
    """A booster of the first n trees."""
    import lightgbm

    return lightgbm.Booster(model_str=booster.model_to_string(num_iteration=n))


def name_categories(booster: Any, categories: Iterable[Sequence[Any]]) -> None:
    """Have a frame read by the names of its categories; without them LightGBM takes the codes that the frame has."""
    named = [list(of_column) for of_column in categories]
    if named and all(isinstance(value, (str, int, float)) for of_column in named for value in of_column):
        booster.pandas_categorical = named  # which is written as JSON


def predict(booster: Any, features: Features, n_jobs: int | None) -> FloatArray:
    """Scores by all trees."""
    return _scores(booster, features, 0, -1, n_jobs)


def staged(booster: Any, features: Features, every: int, n_jobs: int | None) -> Iterator[FloatArray]:
    """Scores after every so many trees, and after all.

    LightGBM reads X anew at every call, which takes it longer than a tree, and adds up from 0: called from step to
    step it gives other last bits than called for all trees.
    """
    last = n_trees(booster)
    first = min(every, last)
    scores = _scores(booster, features, 0, first, n_jobs)
    yield scores.copy()  # the next ones are added to these, whatever is done to them out there
    outputs = staged_lightgbm.outputs(booster, features.matrix, first, last, n_jobs)
    for done, output in enumerate(outputs, start=first + 1):
        scores += output
        if done % every == 0 or done == last:
            yield scores.copy()


def use_threads(booster: Any, n_jobs: int | None) -> None:
    """Nothing: LightGBM is told whenever it predicts."""


def gains(booster: Any, ends: Sequence[int]) -> list[FloatArray]:
    """What splits on each feature have gained, in all or, given where each of several boosters ends, in each."""
    # LightGBM takes a number of trees below 1 for all of them
    sums = [booster.feature_importance("gain", end) for end in (ends or (None,)) if end != 0]
    found = np.diff(np.asarray(sums, dtype=np.float64), axis=0, prepend=0.0)
    return list(found) or [np.zeros(n_features(booster))]


def n_splits(booster: Any) -> int:
    """How many splits all trees have; LightGBM leaves out those whose gain is 0 in float32, as under a tiny sigma."""
    counted = int(booster.feature_importance("split").sum())
    return counted or sum(
        int(n) - 1 for n in re.findall(r"^num_leaves=(\d+)$", booster.model_to_string(), re.MULTILINE)
    )


def _evaluation(job: Job, valid: Sequence[Any]) -> Callable[[Any, Any], list[tuple[str, float, bool]]]:
    """The metrics on validation sets: a data set has no place for the weight of a query without documents."""
    metrics = MetricList(FIT, job.settings.evaluated)
    sets = [(data, rows) for data, (_, rows) in zip(valid, job.valid, strict=True)]

    def values(scores: Any, data: Any) -> list[tuple[str, float, bool]]:
        rows = next(rows for known, rows in sets if known is data)
        with as_booster(threads(data), library()):
            found = metrics.values(rows.labels, rows.groups, scores, rows.query_weight)
        return [(name, value, True) for name, value in found]

    return values


def _measured(job: Job, feval: Any, valid: Sequence[Any]) -> Callable[[Any], list[Any]]:
    """What tells a later booster's values of the model that it is in, as LightGBM would its own."""
    sets = [rows.features for _, rows in job.valid]
    own = OwnScores(n_trees(job.start), [np.zeros(features.matrix.shape[0]) for features in sets], job.share)

    def values(model: Any) -> list[Any]:
        scores = own.at(n_trees(model), lambda at, first, n: _scores(model, sets[at], first, n, job.settings.n_jobs))
        return [
            (name, *value)
            for (name, _), data, its in zip(job.valid, valid, scores, strict=True)
            for value in feval(its, data)
        ]

    return values


class _After:
    """LightGBM's callback after every round, and ``end``, the one that is called last."""

    def __init__(self, job: Job, measured: Callable[[Any], list[Any]] | None) -> None:
        self.job, self.measured = job, measured
        self.order, self.end = _RECORDS, _End()
        self._trees: dict[int, int] = {}

    def __call__(self, env: Any) -> None:
        """Record the metrics, and whether to end."""
        found = env.evaluation_result_list if self.measured is None else self.measured(env.model)
        self._trees[env.iteration + 1] = n = n_trees(env.model)
        self.end.now = self.job.see(((entry[0], entry[1], entry[2]) for entry in found), n)

    def trees_of(self, best: int) -> int:
        """How many trees a ``best_iteration`` is: rounds, some of which grew none, unless a track has counted them."""
        tracks = any(isinstance(each, LightGBMTrack) and each.live.rule is not None for each in self.job.callbacks)
        return best if tracks else self._trees.get(best, best)


class _End:
    """LightGBM's callback that ends a training if it is time."""

    def __init__(self) -> None:
        self.order, self.now = _ENDS, False

    def __call__(self, env: Any) -> None:
        """Raise what LightGBM takes as the end."""
        from lightgbm.callback import EarlyStopException

        if self.now:
            raise EarlyStopException(env.iteration, env.evaluation_result_list)


def _dataset(rows: Rows, keep: bool, reference: Any = None) -> Any:
    import lightgbm

    features = rows.features
    return lightgbm.Dataset(
        features.matrix,
        rows.labels,
        reference=reference,
        weight=None if rows.weights is None else rows.groups.per_document(rows.weights),
        group=rows.groups.sizes,
        feature_name=names_of(features) or "auto",
        categorical_feature=list(features.categorical),
        params={"verbosity": -1},
        free_raw_data=not keep,
    )


def _some_feature(features: Features) -> Features:
    """The features; if there is none but zeros and categories that are missing, a column of ones in their place.

    There is nothing to split in either, but LightGBM leaves such columns out and stops with an error if all are.
    """
    matrix = features.matrix
    n_docs, n_features = matrix.shape
    if sparse.issparse(matrix):
        kept = matrix.nnz > 0 and not -ZERO <= matrix.data.min() <= matrix.data.max() <= ZERO
    else:
        kept = any(_is_kept(matrix[:, at], at in features.categorical) for at in range(n_features))
    if kept:
        return features
    ones = (np.ones(n_docs), (np.arange(n_docs), np.zeros(n_docs, dtype=np.int64)))
    return replace(features, matrix=sparse.csr_matrix(ones, shape=(n_docs, n_features)), categorical=())


def _is_kept(column: FloatArray, categorical: bool) -> bool:
    return not (np.isnan(column) if categorical else np.abs(column) <= ZERO).all()


def _scores(booster: Any, features: Features, start: int, n: int, n_jobs: int | None) -> FloatArray:
    threads = {} if n_jobs is None else {"num_threads": n_jobs}
    found = booster.predict(features.matrix, start_iteration=start, num_iteration=n, raw_score=True, **threads)
    return np.asarray(found, dtype=np.float64)
