"""One run: a setting trained, valued on the validation part, and tested if the search is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...arguments import FloatArray
from ...datasets import RankingData
from ...kernels.threads import at_most
from ...metrics import Metric
from ..folds import FoldFiles
from ..timing import first_line
from . import data, train_catboost, train_lightgbm, train_ranker, train_xgboost
from .jobs import Job, Model, mean_model
from .methods import METHODS, RANKER, Setting
from .watch import hard_ndcg, judged

TUNE, TEST = "tune", "test"
TRAINERS: dict[str, Callable[[Job], Model]] = {
    "lightgbm": train_lightgbm.train,
    "xgboost": train_xgboost.train,
    "catboost": train_catboost.train,
    RANKER.name: train_ranker.train,
}
# what a test run records of each query: keys of the arrays
TESTED = ("ndcg@1", "ndcg@5", "ndcg@10", "map", "err@10")


@dataclass(frozen=True)
class Place:
    """Where a run belongs: one method on one fold."""

    data: str
    fold: int
    method: str


@dataclass(frozen=True, eq=False)
class Task:
    """A run to be done.

    Attributes
    ----------
    kind : "tune" or "test"
        Whether it is a trial of the search or a tested run with a seed.
    place : Place
        Data set, fold and method.
    number : int
        The trial, or the seed.
    files : FoldFiles
        The files of the fold.
    settings : sequence of Setting
        What to train with; the mean of their scores, if there are several.
    trees, patience, threads : int
        Trees at most, trees without anything better after which to stop, and threads.
    """

    kind: str
    place: Place
    number: int
    files: FoldFiles
    settings: Sequence[Setting]
    trees: int
    patience: int
    threads: int

    @property
    def key(self) -> str:
        """Its name in the log."""
        return f"{self.kind}/{self.place.data}/{self.place.fold}/{self.place.method}/{self.number}"


@dataclass(frozen=True, eq=False)
class Outcome:
    """A run that is done: its line in the log, and the values of a test run, (n_queries,) for each metric.

    The line of a run that the library refused says why under "failed", and has no value.
    """

    task: Task
    record: dict[str, Any]
    values: dict[str, FloatArray] | None


def run_task(task: Task) -> Outcome:
    """Train, and measure."""
    with at_most(task.threads):
        return _run(task)


def _run(task: Task) -> Outcome:
    method = METHODS[task.place.method]
    train, valid = data.training_data(task.files)
    tested = task.kind == TEST
    if tested:
        train = data.reordered(task.files, task.number)
    seed = task.number if tested else 0

    def job(setting: Setting) -> Job:
        return Job(method, setting, train, valid, seed, task.trees, task.patience, task.threads)

    parts = [valid, data.test_data(task.files)] if tested else [valid]
    first, *others = task.settings
    started = time.perf_counter()
    record: dict[str, Any] = {"key": task.key, "setting": first, "threads": task.threads}
    if others:
        record["next"] = others
    try:
        model = mean_model([TRAINERS[method.trainer](job(setting)) for setting in task.settings], valid)
        seconds = time.perf_counter() - started
        scores = [model.predict(part.X) for part in parts]
    except MemoryError:  # of the machine at the time, whatever the method
        raise
    except Exception as error:
        return Outcome(task, {**record, "failed": first_line(error), "seconds": time.perf_counter() - started}, None)
    finally:
        if tested:
            data.prepared.forget()  # of an order that no other run has
    on_valid, *on_test = scores
    record |= {"seconds": seconds, "valid": hard_ndcg(valid, on_valid), "judged": judged(method.ours, valid, on_valid)}
    record["trees"] = model.trees
    return Outcome(task, record, _tested(task, parts[1], on_test[0]) if tested else None)


def _tested(task: Task, test: RankingData, scores: FloatArray) -> dict[str, FloatArray]:
    """Values of each test query; NaN where nothing is relevant."""
    # ERR stops at a label with (2^label - 1) / 2^highest
    highest = float(max(part.y.max() for part in (*data.training_data(task.files), test)))
    options: dict[str, dict[str, Any]] = {"err@10": {"max_label": highest}}
    metrics = {spec: Metric(spec, empty="skip", **options.get(spec, {})) for spec in TESTED}
    return {spec: metric.per_query(test.y, scores, group=test.sizes) for spec, metric in metrics.items()}
