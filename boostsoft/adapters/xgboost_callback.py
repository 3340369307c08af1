"""The callback of XGBoost that records metrics per query while it trains.

The one module of the package that imports XGBoost when it is imported; :mod:`boostsoft.xgboost` imports it when
``TrackCallback`` is asked for.
"""

from __future__ import annotations

import json
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xgboost import Booster, DMatrix
from xgboost.callback import TrainingCallback

from ..arguments import short
from ..choices import Progress
from ..metrics.soft import AnyMetric
from ..tracks.live import LiveTrack, Recording
from ..tracks.stopping import StoppingRule
from .shared import as_booster, whole
from .xgboost_data import (
    booster_kind,
    callbacks_of_training,
    groups_and_weights,
    labels_of,
    library,
    over_workers,
    refuse_several_scores,
    refuse_to_minimise,
)

_CALLER = "boostsoft.xgboost.TrackCallback"
_MARK = "from_a_track_callback"  # attribute of the data sets in XGBoost's log that are not from evals


class TrackCallback(Recording, TrainingCallback):  # type: ignore[misc]
    """Record metrics of every query while XGBoost trains, and stop when trees no longer improve them.

    For ``callbacks=`` of ``xgb.train``, :func:`boostsoft.xgboost.train`, which puts it first, and ``XGBRanker``, before
    other callbacks, which then see its means in ``evals_log`` as they see XGBoost's own: EvaluationMonitor,
    ``evals_result``, MLflow.

    XGBoost's early stopping goes on to watch the last metric of the last of ``evals``: what is recorded is put in front
    of those. Without ``evals`` it watches what is recorded, the last metric of the last data set, or what
    ``EarlyStopping(data_name=, metric_name=, maximize=True)`` names.

    Parameters
    ----------
    data : DMatrix or list of (DMatrix, str)
        What to measure on, under which name. A DMatrix need not be among ``evals``: XGBoost remembers the scores
        of any, and adds what each new tree says.
    *metrics : str, Metric or SoftMetric
        What to measure; without any, ndcg@10, hard and soft, with noise of a fifth of the scores' spread.
    name : str
        Of the data, if it is one DMatrix.
    every : int
        Rounds from one record to the next; the last one is recorded too. In between the last record is logged again,
        which XGBoost's early stopping takes for no gain: leave this at 1 where it watches one of these metrics.
    stop : int or StoppingRule, optional
        Stop when the last ``stop`` rounds together no longer improve what is watched, at this confidence: see
        :class:`boostsoft.tracks.StoppingRule`. ``best_iteration`` and ``best_score`` of the booster are then those
        of the highest mean, as after XGBoost's own early stopping.
    confidence : float
        One-sided, in (0, 1): how sure the improvement must be for the training to go on. A StoppingRule has its own.
    watch : int, str or metric, optional
        What ``stop`` and the progress bar look at, by position, name or value: by default the first soft metric, or
        else the first one.
    watch_data : str, optional
        On which data, if there are several.
    progress : bool or "auto"
        Whether to show a line with the watched metric and its standard error: "auto" where stderr is a terminal,
        True in notebooks and logs too.
    writer : object with ``add_scalar(tag, value, step)``, optional
        Gets every recorded mean: TensorBoard's ``SummaryWriter``, for one.

    Attributes
    ----------
    tracks, track : TreeTrack of each data set, and of the only one.
    evals_result : what it wrote into ``evals_log``; rounds that are not recorded repeat the record before.
    stopped : whether the rule has ended the training.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, a metric is pooled, or two have one name.
    ValueError
        While training: if a DMatrix has no groups, in ``xgb.cv`` and on several machines, if another training has
        begun with this callback meanwhile, as in a thread beside, if ``evals_log`` holds a metric of this name already,
        if an EarlyStopping would minimise one of these metrics, or if ``stop`` is given for dart or gblinear, whose
        best model cannot be cut out of the last one.

    Warns
    -----
    UserWarning
        If ``stop`` is given and looks at a soft metric in units of the scores, which rises merely because they grow.

    Notes
    -----
    Trees are counted as rounds of boosting, whatever ``num_parallel_tree``. Scores are margins, before any link. In
    dart, where a round rescales earlier trees, XGBoost has to predict with all trees each time. ``base_margin``
    counts, and so it does for what the first tree is compared with.

    A copy, such as :func:`sklearn.base.clone` makes of a ranker's callbacks, shares data and writer and has recorded
    nothing. A pickle keeps the record, without data and writer: to train with it raises ValueError.

    Examples
    --------
    >>> import numpy as np, xgboost as xgb, boostsoft.xgboost as bx
    >>> rng = np.random.default_rng(0)
    >>> data = xgb.DMatrix(rng.normal(size=(200, 3)), rng.integers(0, 3, 200), group=[20] * 10)
    >>> callback = bx.TrackCallback(data, "ndcg@10")
    >>> booster = bx.train({}, data, 5, callbacks=[callback], verbose_eval=False)
    >>> callback.track.per_query.shape
    (5, 1, 10)
    """

    def __init__(
        self,
        data: Any,
        *metrics: str | AnyMetric,
        name: str = "valid",
        every: int = 1,
        stop: int | StoppingRule | None = None,
        confidence: float = 0.9,
        watch: int | str | AnyMetric | None = None,
        watch_data: str | None = None,
        progress: Progress = "auto",
        writer: Any = None,
    ) -> None:
        live = LiveTrack(
            _CALLER, metrics, every=every, stop=stop, confidence=confidence, watch=watch, watch_data=watch_data,
            progress=progress, writer=writer,
        )  # fmt: skip
        super().__init__(live)
        self._data = _named(data, name)
        self._stop_now = False
        self._model: Any = None  # a reference to that of the training, which nobody tells was cut short

    def before_training(self, model: Any) -> Any:
        """Evaluate the scores that training starts from."""
        if not isinstance(model, Booster):
            raise ValueError(f"{_CALLER}: xgb.cv is not supported; call xgb.train for each fold")
        if over_workers() is not None:
            raise ValueError(f"{_CALLER}: each machine sees a part of the data only; train on one")
        if None in self._data.values():
            raise ValueError(
                f"{_CALLER}: a pickle has the record without the data: give a new callback "
                f"{', '.join(map(repr, self._data))} to train with"
            )
        config = json.loads(model.save_config())["learner"]
        self._threads = whole(config["generic_param"].get("nthread"))
        refuse_several_scores(_CALLER, config)
        kind = booster_kind(config)
        if self.live.rule is not None and kind != "gbtree":
            raise ValueError(
                f"{_CALLER}: stop must be None with booster={kind!r}: the best model cannot be cut out of the last one"
            )
        self._stop_now, self._model = False, None
        self.live.begin(model.num_boosted_rounds(), None)
        for name, matrix in self._data.items():
            groups, weights = groups_and_weights(_CALLER, matrix)
            labels = labels_of(_CALLER, matrix)
            with as_booster(self._threads, library()):
                self.live.add(name, labels, groups, _margins(model, matrix), weights)
        return model

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Whether the rule stopped after the round before, which the other callbacks have seen by now."""
        return self._stop_now

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Record and write the means into XGBoost's log."""
        if epoch == 0 and self._model is None:  # not before: another callback may give another model to begin with
            self._model = weakref.ref(model)
        if self._model is None or self._model() is not model:
            self.live.refuse_another_training()
        if epoch == 0:
            self.join(evals_log, self.live.evals_result)
            self._refuse_to_minimise(evals_log)
        with as_booster(self._threads, library()):
            self.live.step(epoch + 1, lambda name: _margins(model, self._data[name]))
        self._mark_best(model)
        self._stop_now = self.live.stopped
        return False

    def after_training(self, model: Any) -> Any:
        """Record the last round."""
        with as_booster(self._threads, library()):
            self.live.finish(lambda name: _margins(model, self._data[name]), model.num_boosted_rounds())
        self._mark_best(model)
        return model

    def __copy__(self) -> TrackCallback:
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__, live=self.live.empty(), _stop_now=False, _model=None)
        return found

    def __deepcopy__(self, memo: Any) -> TrackCallback:
        return self.__copy__()  # a DMatrix cannot be copied, and nothing here changes it

    def __getstate__(self) -> dict[str, Any]:
        live, data = self.live.without_outputs(), dict.fromkeys(self._data)
        return {**self.__dict__, "live": live, "_data": data, "_model": None}

    def __hash__(self) -> int:
        # XGBoost before 3.2 keeps its callbacks in a set, where with this hash the first of the list comes first
        return 0

    def __repr__(self) -> str:
        return f"{_CALLER}({', '.join(map(repr, (*self._data, *self.live.metrics)))})"

    def join(self, evals_log: Any, added: Mapping[str, Mapping[str, Any]]) -> None:
        """Put what this callback adds into XGBoost's log, in front of what is there from ``evals``.

        XGBoost's early stopping watches what comes last, the data set and its metric.
        """
        theirs = [name for name, found in evals_log.items() if not hasattr(found, _MARK)]
        for name, by_metric in added.items():
            if name not in evals_log:
                evals_log[name] = OrderedDict()
                setattr(evals_log[name], _MARK, True)
            _refuse_twice(name, by_metric, evals_log[name])
            _put(evals_log[name], by_metric, first=name in theirs)
        for name in theirs:
            evals_log[name] = evals_log.pop(name)

    @property
    def logged(self) -> dict[str, tuple[str, ...]]:
        """Data set -> names of the metrics that it will have in XGBoost's log."""
        return dict.fromkeys(self._data, self.live.names)

    def _refuse_to_minimise(self, evals_log: Any) -> None:
        ours = self.logged
        log = {name: {metric: metric in ours.get(name, ()) for metric in found} for name, found in evals_log.items()}
        training, _ = callbacks_of_training()
        refuse_to_minimise(_CALLER, () if training is None else training.callbacks, log)

    def _mark_best(self, model: Any) -> None:
        best = self.live.best_trees
        if best is not None:
            model.set_attr(best_score=str(self.live.best_mean), best_iteration=str(best - 1))


def _put(log: Any, added: Mapping[str, Any], *, first: bool) -> None:
    """Add entries to the log of a data set, in front of those that are there or behind them."""
    known = list(log) if first else []
    log.update(added)
    for metric in known:
        log[metric] = log.pop(metric)


def _refuse_twice(name: str, metrics: Iterable[str], known: Any) -> None:
    for metric in metrics:
        if metric in known:
            raise ValueError(
                f"{_CALLER}: {metric!r} of {name!r} is in evals_log already, from custom_metric: leave it out "
                "there, or call the data or the metric otherwise with name="
            )


def _named(data: Any, name: str) -> dict[str, Any]:
    pairs = [(data, name)] if isinstance(data, DMatrix) else data
    if not isinstance(pairs, Sequence) or not pairs or not all(_is_pair(pair) for pair in pairs):
        raise TypeError(f"{_CALLER}: data must be a DMatrix or a list of (DMatrix, name); got {short(data)}")
    named = {name: matrix for matrix, name in pairs}
    if len(named) < len(pairs):
        raise ValueError(f"{_CALLER}: two data sets have one name; got {[name for _, name in pairs]}")
    return named


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, Sequence) and len(pair) == 2 and isinstance(pair[0], DMatrix) and isinstance(pair[1], str)


def _margins(model: Any, matrix: Any) -> Any:
    return model.predict(matrix, output_margin=True)
