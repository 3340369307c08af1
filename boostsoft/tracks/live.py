"""What the boosters' callbacks share: a TreeTrack that grows while a model trains, its log, and when to stop."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from ..arguments import FloatArray, changed, fraction, short, whole_number
from ..choices import Progress
from ..metric_lists import as_written, logged_name, refuse_equal_names
from ..metrics.soft import AnyMetric, SoftMetric
from ..progress import MetricBar
from ..query_groups import QueryGroups, query_weights
from ..query_means import counted_weights, mean_error, weighted_mean
from .builder import TRACKED, TrackBuilder, as_metrics
from .checks import place_or_first_soft
from .stopping import StoppingRule, StoppingWatch
from .tree_track import TreeTrack


class NoTrackError(ValueError, AttributeError):
    """There is not one record, or not one only; for ``hasattr`` a callback then has no ``track``."""


class LiveTrack:
    """Records metrics per query while trees are added; knows no booster.

    An adapter calls :meth:`begin`, :meth:`add` for each data set, and :meth:`step` after each round of boosting.

    Parameters
    ----------
    caller : str
        Who asks, for messages.
    metrics : sequence of str, Metric and SoftMetric
        What to measure; ``TRACKED`` if there is none.
    every : int
        Record after every so many rounds, and after the last one.
    stop : int, StoppingRule or None
        Stop by this rule, or by the one with this patience; None trains all trees.
    confidence : float
        Of the rule that ``stop`` is the patience of.
    watch : int, str, metric or None
        What the rule and the progress bar look at: a metric by position, name or value; None is the first soft
        metric, or else the first.
    watch_data : str or None
        On which data set; may be None if only one is no training data.
    progress : bool or "auto"
        Whether to show a line with the watched metric, as in :func:`boostsoft.progress.shows`.
    writer : object with ``add_scalar(tag, value, step)``, optional
        Gets every recorded mean: a TensorBoard ``SummaryWriter``, or what you write.

    Attributes
    ----------
    evals_result : data set -> name in the log -> one value per round.
        Rounds that are not recorded repeat the last record, or the values before the first tree.
    stopped : whether the rule has ended the training, or as many rounds as its patience have grown no tree.
    """

    def __init__(
        self,
        caller: str,
        metrics: Sequence[str | AnyMetric] = (),
        *,
        every: int = 1,
        stop: int | StoppingRule | None = None,
        confidence: float = 0.9,
        watch: int | str | AnyMetric | None = None,
        watch_data: str | None = None,
        progress: Progress = "auto",
        writer: Any = None,
    ) -> None:
        self.caller = caller
        self.metrics = as_metrics(caller, metrics or TRACKED)
        self.names = tuple(map(logged_name, self.metrics))
        refuse_equal_names(caller, self.names)
        self.every = whole_number(caller, "every", every, 1)
        self.rule = _rule(caller, stop, confidence)
        self.watched = place_or_first_soft(caller, "watch", self.metrics, watch)
        if self.rule is not None:
            _warn_of_growth(caller, self.metrics[self.watched])
        if writer is not None and not callable(getattr(writer, "add_scalar", None)):
            raise TypeError(f"{caller}: writer must have add_scalar(tag, value, step); got {short(writer)}")
        self._watch_data, self._writer = watch_data, writer
        self._progress, self._bar = progress, MetricBar(caller, progress)
        self.begin(0, None)

    def begin(self, start: int, rounds: int | None) -> None:
        """Forget everything: a model of ``start`` trees is about to get so many rounds more, or nobody knows."""
        self._start, self._rounds, self._done, self._grew = start, rounds, 0, 0
        self._data: dict[str, _DataSet] = {}
        self._training: set[str] = set()
        self._looked_at: tuple[str, ...] = ()
        self._stopping: StoppingWatch | None = None
        self.evals_result: dict[str, dict[str, list[float]]] = {}
        self.stopped = False

    def refuse_another_training(self) -> NoReturn:
        """Raise in a training whose record is that of another one by now."""
        raise ValueError(
            f"{self.caller}: another training has begun with this callback, which records one at a time: give each its "
            "own"
        )

    def empty(self) -> LiveTrack:
        """Another of the same settings and with the same writer, in which nothing is recorded."""
        found = changed(self, _bar=MetricBar(self.caller, self._progress))
        found.begin(0, None)
        return found

    def without_outputs(self) -> LiveTrack:
        """The record without what writes to files and terminals, which no pickle can hold."""
        return changed(self, _bar=MetricBar(self.caller, self._progress), _writer=None)

    def add(
        self, name: str, labels: Any, groups: QueryGroups, scores: Any, weights: Any = None, training: bool = False
    ) -> None:
        """Add a data set with its scores at the beginning; None for scores that are all equal."""
        checked = query_weights(self.caller, weights, groups)
        builder = TrackBuilder(self.caller, self.metrics, as_written(labels), groups, checked, label=name)
        values = builder.begin(self._start, np.zeros(groups.n_docs) if scores is None else scores)
        counted = [counted_weights(each, checked) for each in values]
        self._data[name] = _DataSet(builder, values, counted, self._start)
        self.evals_result[name] = {metric: [] for metric in self.names}
        if training:
            self._training.add(name)

    def look_at(self, names: Iterable[str]) -> None:
        """Watch these data sets, their queries together; otherwise the one of ``watch_data`` is."""
        self._looked_at = tuple(names)

    def step(
        self, done: int, scores: Callable[[str], Any], trees: Callable[[str], int] | None = None
    ) -> list[tuple[str, str, float]]:
        """Record, if due, after so many rounds; (data set, metric, mean) for the booster's log.

        ``scores(name)`` is called for each data set that is recorded, ``trees(name)`` for how many the model of its
        scores has by now, where a round may grow none: without a new one there is nothing to record.
        """
        if not self._looked_at:
            self._looked_at = (self._only_data(),)
        if self.rule is not None and self._stopping is None:
            self._stopping = self.rule.begin(self._start, *self._now())
        self._done = done
        if done % self.every == 0 or done == self._rounds:
            self._record(scores, trees)
        rows = [(name, metric, mean) for name in self._data for metric, mean in self._means(name)]
        for name, metric, mean in rows:
            self.evals_result[name][metric].append(mean)
        return rows

    def finish(self, scores: Callable[[str], Any], trees: int) -> None:
        """Record the last trees after all, if :meth:`step` did not know that they were the last ones.

        ``trees`` is how many there are: one more than was seen where another callback has ended the training, or fewer
        where it has cut the model.
        """
        if any(trees > data.n_trees for data in self._data.values()):
            seen, self._done = self._done, max(self._done, trees - self._start)
            self._record(scores, lambda _: trees)
            for name in self._data if trees >= self._start + seen else ():
                for metric, mean in self._means(name):
                    log = self.evals_result[name][metric]
                    log[seen - 1 if self._done == seen else seen :] = [mean]
        if self._looked_at:  # not where no round was grown
            self._show(last=True)

    @property
    def best_trees(self) -> int | None:
        """Trees of the highest mean of what is watched so far; None without a rule, or before the first record."""
        return None if self._stopping is None else self._stopping.best_trees

    @property
    def best_mean(self) -> float:
        """The highest mean of what is watched so far; -inf without a rule, or before the first record."""
        return float("-inf") if self._stopping is None else self._stopping.best_mean

    def tracks(self) -> dict[str, TreeTrack]:
        """A TreeTrack of what is recorded so far for each data set."""
        if self._grew == 0:
            why = "no tree was grown" if self._done else "train with this callback first"
            if 0 < self._done < self.every and self._done != self._rounds:
                why = f"the first record was due after {self.every} rounds, and there were {self._done}"
            raise NoTrackError(f"{self.caller}: nothing is recorded yet; {why}")
        return {name: data.builder.track() for name, data in self._data.items() if data.n_trees > self._start}

    def _record(self, scores: Callable[[str], Any], trees: Callable[[str], int] | None) -> None:
        added = []
        for name, data in self._data.items():
            n_trees = self._start + self._done if trees is None else trees(name)
            if n_trees > data.n_trees:
                data.values, data.n_trees = data.builder.add(n_trees, scores(name)), n_trees
                self._grew = self._done
                added.append(name)
        if self._stopping is not None:
            self.stopped = self._gives_up(self._stopping)
        self._show(last=self.stopped or self._done == self._rounds)
        if self._writer is not None:
            for name in added:
                for metric, mean in self._means(name):
                    # tags hold no @; MLflow writes it like this too
                    self._writer.add_scalar(f"{metric}/{name}".replace("@", "_at_"), mean, self._data[name].n_trees)

    def _gives_up(self, stopping: StoppingWatch) -> bool:
        """Whether the rule does, of trees; of several models, whose numbers of trees may differ, of rounds."""
        if self._grew < self._done:
            return self._done - self._grew >= stopping.rule.patience
        several = len(self._looked_at) > 1
        n_trees = self._start + self._done if several else self._data[self._looked_at[0]].n_trees
        return stopping.see(n_trees, self._now()[0])

    def _means(self, name: str) -> list[tuple[str, float]]:
        return list(zip(self.names, self._data[name].means(), strict=True))

    def _now(self) -> tuple[FloatArray, FloatArray]:
        """Last values of the watched metric and weights of the queries, of all data sets that are looked at."""
        watched = [self._data[name] for name in self._looked_at]
        values = np.concatenate([data.values[self.watched] for data in watched])
        return values, np.concatenate([data.builder.weights for data in watched])

    def _show(self, last: bool) -> None:
        if not self._bar.due(last):
            return
        values, weights = self._now()
        counted = counted_weights(values, weights)
        text = f"{weighted_mean(values, counted):.4f} ± {mean_error(values, counted):.4f}"
        if self._stopping is not None and self._stopping.gain is not None:
            gain = self._stopping.gain
            text += f", last {self._stopping.rule.patience}: {gain.mean:+.4f} ± {gain.error:.4f}"
        if self._stopping is not None:
            text += f", best {self.best_mean:.4f} at {self.best_trees}"
        self._bar.show(self._done, self._rounds, self.metrics[self.watched].name, text)
        if last:
            self._bar.close()

    def _only_data(self) -> str:
        if self._watch_data is not None:
            if self._watch_data not in self._data:
                known = ", ".join(map(repr, self._data))
                raise ValueError(f"{self.caller}: watch_data must be one of {known}; got {self._watch_data!r}")
            return self._watch_data
        candidates = [name for name in self._data if name not in self._training]
        if self.rule is not None and len(candidates) != 1:
            raise ValueError(
                f"{self.caller}: stop needs to know which data to watch: watch_data must be one of "
                f"{', '.join(map(repr, self._data))}"
            )
        return candidates[0] if candidates else next(iter(self._data))


@dataclass
class _DataSet:
    """Its track in the making, with the last values and their weights in the mean of each metric."""

    builder: TrackBuilder
    values: FloatArray
    counted: list[FloatArray]
    n_trees: int

    def means(self) -> list[float]:
        """Of the last values, one for each metric."""
        return [weighted_mean(values, counted) for values, counted in zip(self.values, self.counted, strict=True)]


class Recording:
    """What every booster's callback offers while it records and afterwards."""

    def __init__(self, live: LiveTrack) -> None:
        self.live = live

    @property
    def tracks(self) -> dict[str, TreeTrack]:
        """A TreeTrack of what is recorded so far for each data set."""
        return self.live.tracks()

    @property
    def track(self) -> TreeTrack:
        """The TreeTrack of the only data set."""
        tracks = self.live.tracks()
        if len(tracks) > 1:
            known = ", ".join(map(repr, tracks))
            raise NoTrackError(f"{self.live.caller}: there are several data sets: take one of .tracks: {known}")
        return next(iter(tracks.values()))

    @property
    def evals_result(self) -> dict[str, dict[str, list[float]]]:
        """Data set -> metric -> one mean per round, as the booster's own records have it."""
        return self.live.evals_result

    @property
    def stopped(self) -> bool:
        """Whether the stopping rule has ended the training."""
        return self.live.stopped


def _rule(caller: str, stop: Any, confidence: Any) -> StoppingRule | None:
    confidence = fraction(caller, "confidence", confidence)
    if stop is None or isinstance(stop, StoppingRule):
        return stop
    if isinstance(stop, bool) or not isinstance(stop, (int, np.integer)):
        raise TypeError(f"{caller}: stop must be a whole number or a StoppingRule; got {short(stop)}")
    return StoppingRule(whole_number(caller, "stop", stop, 1), confidence)


def _warn_of_growth(caller: str, metric: AnyMetric) -> None:
    if isinstance(metric, SoftMetric) and metric.sigma_unit == "score":
        warnings.warn(
            f"{caller}: stop watches {metric.name}, which rises merely because scores grow with every tree: "
            "with sigma_unit='spread' it would not",
            stacklevel=4,
        )
