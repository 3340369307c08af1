"""What a LightGBM Dataset tells: its queries, their weights, the threads, and what cannot be trained on."""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..arguments import FloatArray, as_array, finite_vector, refuse_negative
from ..query_groups import QueryGroups, resolve_groups
from .shared import callers, first_whole, whole

# LightGBM's names of one parameter
BOOSTING = ("boosting", "boosting_type", "boost")
OBJECTIVE = ("objective", "objective_type", "app", "application", "loss")
STOPPING = ("early_stopping_round", "early_stopping_rounds", "early_stopping", "n_iter_no_change")
LEAVES = ("num_leaves", "num_leaf", "max_leaves", "max_leaf", "max_leaf_nodes")
LEAST_DOCUMENTS = ("min_data_in_leaf", "min_data_per_leaf", "min_data", "min_child_samples", "min_samples_leaf")
CATEGORIES = ("categorical_feature", "cat_feature", "categorical_column", "cat_column", "categorical_features")
CUSTOM = ("none", "null", "custom", "na")  # what it calls an objective that is not its own
_MACHINES = ("num_machines", "num_machine")
THREADS = ("num_threads", "num_thread", "nthread", "nthreads", "n_jobs")
MOST_LEAVES = 131_072  # that it takes
_INFINITY = float(np.float32(1e38))  # what it keeps in place of an infinite weight

# Boosters that an objective was called for: their trees do not tell, for they count those of an init_model
_begun: weakref.WeakSet[Any] = weakref.WeakSet()
# Datasets that hold whole queries, with the rows and groups that told: to look at each row in every call was a quarter
# of what lgb.cv took
_known_whole: weakref.WeakKeyDictionary[Any, tuple[Any, Any]] = weakref.WeakKeyDictionary()


class Training(NamedTuple):
    """What a Booster trains with, as far as it can be seen.

    Attributes
    ----------
    params : its parameters.
    shows_training_scores : whether it does so just now. What ``lgb.cv`` calls "train" is the training data among the
        validation sets, with scores of its own.
    booster : the Booster, None if it cannot be seen.
    """

    params: Mapping[str, Any]
    shows_training_scores: bool
    booster: Any = None


def training_behind(data: Any = None) -> Training:
    """The training in which LightGBM calls a function of its user's, with this Dataset or with arrays.

    LightGBM shows no Booster. A Dataset has the parameters of its first training, and the training data may refer to
    another one, as validation data do; LGBMRanker does not even show a Dataset. So the Booster is looked for among
    those who have called; where there is none, what the Dataset says has to do.
    """
    booster_type = getattr(sys.modules.get("lightgbm.basic"), "Booster", ())
    found: list[Any] = []
    for seen in callers():
        booster = seen.get("self")
        found += seen.values()
        if isinstance(booster, booster_type):
            trained_on = booster.train_set
            apart = any(each is trained_on for each in booster.valid_sets)
            # a Dataset that is given is what is shown: who wraps a metric may have the training data at hand as well
            shown = not apart and any(value is trained_on for value in (found if data is None else [data]))
            return Training(booster.params or {}, shown, booster)
    return Training(getattr(data, "params", None) or {}, data is not None and data.reference is None)


def begins(training: Training) -> bool:
    """Whether an objective asks for the first time in this training."""
    begun = training.booster is None or training.booster in _begun
    if not begun:
        _begun.add(training.booster)
    return not begun


def threads(data: Any = None) -> int | None:
    """The threads that LightGBM runs on, None for its default.

    It keeps one number for the whole process, set whenever a booster is made. Its library exports it, to be read
    only; no function returns it. The parameters of the Dataset are second best: one that was constructed before keeps
    those of its first training, and LGBMRanker shows its metrics no Dataset.
    """
    try:
        return ctypes.c_int.in_dll(library(), "LGBM_DEFAULT_NUM_THREADS").value
    except (AttributeError, TypeError, ValueError):  # no library, or not exported
        return first_whole(getattr(data, "params", None) or {}, THREADS)


def library() -> Any:
    """LightGBM's shared library, None if it cannot be found."""
    return getattr(sys.modules.get("lightgbm.basic"), "_LIB", None)  # whoever trains has imported it


def read_groups(caller: str, labels: Any, group: Any) -> QueryGroups:
    """The queries, from the documents of each."""
    if _is_empty(group):  # as of a subset of a subset that was never constructed
        raise ValueError(f"{caller}: the data has no groups; give lgb.Dataset or fit group= (documents per query)")
    n_docs = as_array(caller, "y_true", labels).size
    sizes = as_array(caller, "group", group)
    if sizes.dtype.kind not in "iuf" or sizes.ndim != 1:  # which bytes do not tell
        return resolve_groups(caller, n_docs, group)
    try:
        return _groups(sizes.tobytes(), sizes.dtype.str, n_docs)
    except ValueError:
        return resolve_groups(caller, n_docs, group)  # which raises in the caller's name


def _is_empty(group: Any) -> bool:
    return group is None or len(group) == 0


@lru_cache(maxsize=8)
def _groups(sizes: bytes, dtype: str, n_docs: int) -> QueryGroups:
    """Once for all iterations, which bring the same ones."""
    return QueryGroups.from_sizes(np.frombuffer(sizes, dtype), n_docs)


def row_weights(caller: str, weight: Any, groups: QueryGroups) -> FloatArray:
    """The weight of each document, none below 0 or infinite and not all 0."""
    rows = finite_vector(caller, "weight", weight, groups.n_docs)
    refuse_negative(caller, "weight", rows)
    largest = rows.max(initial=0.0)
    if largest == 0.0:
        raise ValueError(f"{caller}: weight must not be 0 for every row")
    if largest >= _INFINITY:
        at = int(rows.argmax())
        raise ValueError(f"{caller}: weight must be finite; got inf, which LightGBM keeps as 1e38, at position {at}")
    return rows


def refuse_classes(caller: str, booster: Any) -> None:
    """Raise if the model has a score for each of several classes."""
    n_classes = booster.num_model_per_iteration()
    if n_classes != 1:
        raise ValueError(
            f"{caller}: model must have one score per document; got a LightGBM model of {n_classes} classes"
        )


def weights_of_queries(caller: str, weight: Any, groups: QueryGroups) -> FloatArray:
    """The weight of each query: the mean of its rows', as in LightGBM's own ndcg; ones if there are none."""
    if weight is None:
        return np.ones(groups.n_queries)
    return groups.means(row_weights(caller, weight, groups))


def refuse_traps(caller: str, train_data: Any, params: Mapping[str, Any]) -> None:
    """Raise if a custom objective could not train on this Dataset with these parameters."""
    # a subset, such as a fold of lgb.cv, has lost them
    all_data = train_data if getattr(train_data, "used_indices", None) is None else train_data.reference
    if any(_given(data, "position") is not None for data in (train_data, all_data)):
        raise ValueError(f"{caller}: the Dataset has positions; correcting position bias is not supported")
    refuse_bagged_queries(caller, params)
    refuse_cut_queries(caller, train_data)


def _given(data: Any, name: str) -> Any:
    """The groups or positions of a Dataset; what it will be constructed from again where LightGBM has freed it."""
    return getattr(data, name) if data._handle is None else getattr(data, f"get_{name}")()


def main_names() -> dict[str, str]:
    """The main name of each of LightGBM's parameters, by all of its names.

    Empty, so that nothing is checked, if LightGBM's own list, which is private, is not where it was.
    """
    from lightgbm import basic

    try:
        groups = basic._ConfigAliases._get_all_param_aliases()
    except AttributeError:
        return {}
    return {alias: name for name, aliases in groups.items() for alias in (name, *aliases)}


def machines(params: Mapping[str, Any]) -> int:
    """On how many machines LightGBM trains together, as far as the parameters say."""
    return max(whole(params.get(name)) or 1 for name in _MACHINES)


def refuse_bagged_queries(caller: str, params: Mapping[str, Any]) -> None:
    """Raise if trees are to see some of the queries."""
    if is_on(params.get("bagging_by_query")):
        raise ValueError(
            f"{caller}: bagging_by_query=True trains stumps under any custom objective, where bagging is on; leave it "
            "out (bagging_fraction and feature_fraction work)"
        )


def is_dart(params: Mapping[str, Any]) -> bool:
    """Whether trees are dropped while others grow, and rescaled."""
    return any(as_read(params.get(name)) == "dart" for name in BOOSTING)


def is_forest(params: Mapping[str, Any]) -> bool:
    """Whether trees are averaged, each grown by itself."""
    return any(as_read(params.get(name)) in ("rf", "random_forest") for name in BOOSTING)


def is_on(flag: Any) -> bool:
    """Whether a parameter that is a flag says yes."""
    return as_read(flag) in ("true", "+")


def as_read(value: Any) -> str:
    """A parameter as LightGBM reads it, which leaves out blanks around it and does not tell cases apart."""
    return "" if value is None else str(value).strip().lower()


def refuse_dropped_trees(caller: str, params: Mapping[str, Any]) -> None:
    """Raise if to read the scores of the training data, as the caller does, would leave the model without some trees.

    LightGBM's dart drops trees when it is asked for these scores and puts them back when the next tree has grown. Under
    its own objectives that tree has grown by then; under any other it asks itself beforehand, so that what is read
    after the last tree is dropped for good.
    """
    if is_dart(params) and any(as_read(params.get(name)) in CUSTOM for name in OBJECTIVE):
        raise ValueError(
            f"{caller}: the training data must not be evaluated with boosting='dart' and a custom objective: LightGBM "
            "drops trees to show its scores, and those that it drops after the last tree are lost; evaluate a copy, "
            "train.create_valid(X, y, group=...)"
        )


def refuse_cut_queries(caller: str, data: Any) -> None:
    """Raise if the Dataset is a subset, such as a fold, that does not hold whole queries, each once."""
    rows, all_data = getattr(data, "used_indices", None), getattr(data, "reference", None)
    group = None if rows is None or all_data is None else _given(all_data, "group")
    if group is None:
        return
    known_rows, known_group = _known_whole.get(data, (None, None))
    if _is_empty(_given(data, "group")):
        raise ValueError(
            f"{caller}: the data has no groups: LightGBM hands them on to a fold or a subset only once it was asked "
            "for them, so call construct() and get_group() of the whole data before"
        )
    if known_rows is not rows or known_group is not group:
        _refuse_parts_of_queries(caller, np.asarray(rows), np.asarray(group, dtype=np.int64))
        _known_whole[data] = rows, group


def _refuse_parts_of_queries(caller: str, rows: Any, sizes: Any) -> None:
    query = np.repeat(np.arange(sizes.size), sizes)
    is_there = np.zeros(query.size, dtype=bool)
    is_there[rows] = True
    kept, drawn = (np.bincount(query[each], minlength=sizes.size) for each in (is_there, rows))
    cut, twice = np.flatnonzero((kept > 0) & (kept < sizes)), np.flatnonzero(drawn > kept)
    if cut.size:
        q = int(cut[0])
        raise ValueError(
            f"{caller}: the folds cut through {cut.size} queries (query {q} has {kept[q]} of its {sizes[q]} "
            "documents here), or the rows of a subset do; give Dataset.subset whole queries, and lgb.cv "
            "folds=sklearn.model_selection.GroupKFold(n)"
        )
    if twice.size:
        q = int(twice[0])
        raise ValueError(
            f"{caller}: a subset must hold each row once; got rows of {twice.size} queries more than once (query {q} "
            f"has {drawn[q]} rows for its {sizes[q]} documents), which would be one list: give weights instead"
        )
