"""The callback of LightGBM that records metrics per query while it trains."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from ..arguments import FloatArray
from ..tracks.live import LiveTrack, Recording
from .lightgbm_data import (
    is_dart,
    library,
    machines,
    read_groups,
    refuse_classes,
    refuse_cut_queries,
    refuse_dropped_trees,
    threads,
    weights_of_queries,
)
from .shared import as_booster

# before every other callback, for they are to see what this one appends
_FIRST = -(2**31)
# predictions that are rounded to 0 or 1 have no finite raw score
_LEAST = np.finfo(np.float64).tiny
# LightGBM's method for what it hands to a feval: without it all its own metrics are evaluated once more
_SCORES = "_Booster__inner_predict"
_TRAINING_FOLD = "training fold"
_CV = "cv_agg"  # what lgb.cv calls its data before 4.6


class LightGBMTrack(Recording):
    """What :func:`boostsoft.lightgbm.track_callback` builds, for ``callbacks=`` of ``lgb.train`` and ``fit``.

    LightGBM calls it after every round, which grows no tree where none has a split. When the rule stops at a tree, the
    callbacks behind this one are still to see it; so the exception that ends the training is raised after the next
    one, which is taken back first.
    """

    before_iteration = False

    def __init__(self, live: LiveTrack, training: bool | None) -> None:
        super().__init__(live)
        self.order = _FIRST  # LightGBM looks for it in the object itself
        self._training = training
        self._sources: dict[str, _Source] = {}
        self._best: list[Any] = []
        self._best_trees: int | None = None
        self._last: list[int] | None = None

    def __call__(self, env: Any) -> None:
        """Record, append to what other callbacks see, and stop if it is time."""
        first, done = env.iteration == env.begin_iteration, env.iteration - env.begin_iteration + 1
        if first:
            self._begin(env)
        elif not any(source.booster is _boosters(env)[0] for source in self._sources.values()):
            self.live.refuse_another_training()
        if self._last is not None:
            self._end(env)
        with as_booster(threads(next(iter(self._sources.values())).data), library()):
            rows = self.live.step(
                done, lambda name: self._sources[name].scores(), lambda name: self._sources[name].n_trees
            )
        self._append(env, rows, first)
        last = done == env.end_iteration - env.begin_iteration
        if last:
            self._sources = {}
        if self.live.rule is not None:
            self._look_after_the_best(env, last)

    def _look_after_the_best(self, env: Any, last: bool) -> None:
        if self.live.best_trees != self._best_trees or self._best_trees is None:
            self._best_trees, self._best = self.live.best_trees, list(env.evaluation_result_list)
        if last:  # no exception: it would keep this tree from the callbacks behind
            for model in (env.model, *_boosters(env)):
                model.best_iteration = self._kept
        elif self.live.stopped:
            self._last = [booster.current_iteration() for booster in _boosters(env)]

    def _begin(self, env: Any) -> None:
        live, boosters = self.live, _boosters(env)
        _refuse_params(live, env.params)
        refuse_classes(live.caller, boosters[0])
        # lgb.cv does not count the trees of an init_model
        before = max(booster.current_iteration() for booster in boosters) - 1
        self._start = max(env.begin_iteration, before) if _is_cv(env) else env.begin_iteration
        self._best, self._best_trees, self._last = [], None, None
        self._sources = self._folds(env) if _is_cv(env) else self._data_sets(env)
        live.begin(self._start, env.end_iteration - env.begin_iteration)
        for name, source in self._sources.items():
            data = source.data
            refuse_cut_queries(live.caller, data)
            groups = read_groups(live.caller, data.get_label(), data.get_group())
            weights = weights_of_queries(live.caller, data.get_weight(), groups)
            with as_booster(threads(data), library()):
                live.add(name, data.get_label(), groups, data.get_init_score(), weights, source.training)
        if _is_cv(env):
            live.look_at(name for name, source in self._sources.items() if not source.training)

    def _folds(self, env: Any) -> dict[str, _Source]:
        """The validation part of every fold; and the training part, if asked for, or if LightGBM evaluates it.

        It then stands first among a fold's validation sets; so its scores are no training scores, which dart changes.
        """
        boosters = _boosters(env)
        evaluated = "train" in boosters[0].name_valid_sets
        sources = {f"fold {at}": _Source(booster, len(booster.valid_sets)) for at, booster in enumerate(boosters)}
        if self._training and not evaluated:
            refuse_dropped_trees(self.live.caller, env.params)
        if self._training or (self._training is None and evaluated):
            index = 1 if evaluated else 0
            sources |= {f"{_TRAINING_FOLD} {at}": _Source(booster, index) for at, booster in enumerate(boosters)}
        return sources

    def _data_sets(self, env: Any) -> dict[str, _Source]:
        """The valid_sets, with the training data if asked for, or if LightGBM evaluates something else on it."""
        model, name = env.model, getattr(env.model, "_train_data_name", "training")
        sources = {}
        if self._training or (self._training is None and any(row[0] == name for row in env.evaluation_result_list)):
            refuse_dropped_trees(self.live.caller, env.params)
            sources[name] = _Source(model, 0)
        for at, name in enumerate(model.name_valid_sets):
            if name in sources:
                raise ValueError(f"{self.live.caller}: two data sets are called {name!r}; give valid_names")
            sources[name] = _Source(model, at + 1)
        if not sources:
            raise ValueError(
                f"{self.live.caller}: there is nothing to record on; give valid_sets (eval_set in fit); the training "
                "data among them counts only with training=True"
            )
        return sources

    def _append(self, env: Any, rows: list[tuple[str, str, float]], first: bool) -> None:
        log = env.evaluation_result_list
        if _is_cv(env):
            by_metric: dict[tuple[str, str], list[float]] = {}
            for name, metric, mean in rows:
                part = "train" if name.startswith(_TRAINING_FOLD) else "valid"
                by_metric.setdefault((part, metric), []).append(mean)
            entries = [_over_folds(*key, means) for key, means in by_metric.items()]
        else:
            entries = [_entry(name, metric, mean, True) for name, metric, mean in rows]
        if first:
            known = {tuple(row[:2]) for row in log}
            twice = next((entry for entry in entries if tuple(entry[:2]) in known), None)
            if twice is not None:
                raise ValueError(
                    f"{self.live.caller}: {twice[1]!r} of {twice[0]!r} is in LightGBM's log already, from feval or "
                    "eval_metric: leave it out there, or tell them apart with name="
                )
        for entry in entries:  # behind all that is of its data set, as lgb.early_stopping takes them to stand
            behind = [at for at, row in enumerate(log, start=1) if _data_set(row) == _data_set(entry)]
            log.insert(behind[-1] if behind else len(log), entry)

    def _end(self, env: Any) -> None:
        from lightgbm.callback import EarlyStopException

        for booster, trees in zip(_boosters(env), self._last or (), strict=True):
            if booster.current_iteration() > trees:
                booster.rollback_one_iter()
        self._last, self._sources = None, {}
        raise EarlyStopException(self._kept - 1, self._best)

    @property
    def _kept(self) -> int:
        """Trees of the best record; those that were there if there is none, since no tree was grown."""
        return self._start if self._best_trees is None else self._best_trees

    def __getstate__(self) -> dict[str, Any]:
        # LightGBM tells nobody that a training was cut short: references to it, which cannot be copied, are here then
        return {**self.__dict__, "live": self.live.without_outputs(), "_sources": {}}

    def __repr__(self) -> str:
        return f"boostsoft.lightgbm.track_callback({', '.join(map(repr, self.live.metrics))})"


class _Source:
    """One data set of a booster: the training data if ``index`` is 0, else a validation set."""

    def __init__(self, booster: Any, index: int) -> None:
        self._booster, self.index = weakref.ref(booster), index  # nobody tells when a training is cut short
        self.training = self.data is booster.train_set
        self._link = _inverse_link(booster)

    @property
    def booster(self) -> Any:
        """The booster, which lives as long as it trains."""
        return self._booster()

    @property
    def n_trees(self) -> int:
        """How many trees it has."""
        return int(self.booster.current_iteration())

    @property
    def data(self) -> Any:
        """The Dataset."""
        return self.booster.valid_sets[self.index - 1] if self.index else self.booster.train_set

    def scores(self) -> FloatArray:
        """Raw scores, from LightGBM's own running sums over trees."""
        read = getattr(self.booster, _SCORES, None)
        found = self._through_feval() if read is None else read(data_idx=self.index)
        raw: FloatArray = found if self._link is None else self._link(found)
        return raw

    def _through_feval(self) -> Any:
        found: list[Any] = []

        def keep(preds: Any, _: Any) -> list[Any]:
            found.append(preds)
            return []

        if self.index == 0:
            self.booster.eval_train(keep)
            return found[0]
        self.booster.eval_valid(keep)
        return found[self.index - 1]


def _inverse_link(booster: Any) -> Callable[[Any], Any] | None:
    """What turns an objective's predictions, which is all LightGBM shows, back into raw scores; None if they are."""
    text = booster.model_to_string(num_iteration=1)
    kind, *options = text.partition("\nobjective=")[2].partition("\n")[0].split() or ("custom",)
    slope = next((float(option.partition(":")[2]) for option in options if option.startswith("sigmoid:")), 1.0)
    if kind in ("binary", "cross_entropy"):
        return lambda p: special.logit(np.clip(p, _LEAST, 1.0 - 2.0**-53)) / slope
    if kind == "cross_entropy_lambda":
        return lambda p: np.log(np.expm1(np.maximum(p, _LEAST)))
    if kind in ("poisson", "gamma", "tweedie"):
        return lambda p: np.log(np.maximum(p, _LEAST))
    if "sqrt" in options:
        return lambda p: np.sign(p) * np.sqrt(np.abs(p))
    return None


def _is_cv(env: Any) -> bool:
    return "boosters" in vars(env.model)


def _boosters(env: Any) -> list[Any]:
    return env.model.boosters if _is_cv(env) else [env.model]


def _entry(*values: Any) -> Any:
    """A row of LightGBM's log, which is a plain tuple before 4.7."""
    import lightgbm

    return lightgbm.EvalResult(*values) if hasattr(lightgbm, "EvalResult") else values


def _data_set(row: Any) -> Any:
    """Whose value a row of LightGBM's log is; before 4.6 lgb.cv has it in front of the metric's name."""
    return row[1].partition(" ")[0] if row[0] == _CV else row[0]


def _over_folds(part: str, metric: str, means: list[float]) -> Any:
    """Mean and standard deviation over the folds, as lgb.cv has them."""
    import lightgbm

    mean, deviation = float(np.mean(means)), float(np.std(means))
    if tuple(map(int, lightgbm.__version__.split(".")[:2])) < (4, 6):
        return (_CV, f"{part} {metric}", mean, True, deviation)
    return _entry(part, metric, mean, True, deviation)


def _refuse_params(live: LiveTrack, params: dict[str, Any]) -> None:
    if live.rule is not None and is_dart(params):
        raise ValueError(
            f"{live.caller}: stop must be None with boosting='dart', whose later trees rescale the earlier ones: the "
            "best number of trees cannot be cut out of the model"
        )
    n = machines(params)
    if n > 1:
        raise ValueError(f"{live.caller}: each machine sees a part of the data only; got num_machines={n}")
