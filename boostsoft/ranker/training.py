"""What a booster's module is given to train on, and what it must offer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ..arguments import FloatArray
from ..objectives import Objective
from .features import Features
from .rows import Rows
from .settings import FIT, Settings
from .shown import Shown
from .watch import Watch


@dataclass(frozen=True, eq=False)
class Own:
    """What a booster calls with its scores, called with those of one booster of several alone.

    Attributes
    ----------
    call : an objective or metrics, (scores, data set) -> anything.
    share : by what its own scores are multiplied in the mean.
    before : what tells the scores of the boosters before it, (n_docs,), of a data set; None for the first.
    """

    call: Callable[[Any, Any], Any]
    share: float
    before: Callable[[Any], Any] | None = field(default=None, repr=False)  # trackers keep the repr of an objective

    def __call__(self, scores: Any, data: Any) -> Any:
        """Call with its own scores."""
        its = scores if self.before is None else scores - self.before(data)
        return self.call(its / self.share, data)


class OwnScores:
    """The scores of one booster of several alone on the validation sets, added up tree by tree.

    As it would have them by itself: what is left of all scores where the others' are taken off is good enough to train
    on, but documents of equal scores are no longer equal in it, and a hard metric tells them apart.
    """

    def __init__(self, start: int, nothing: Sequence[Any], share: float) -> None:
        self._trees, self._sums, self._share = start, list(nothing), share

    def at(self, trees: int, scores: Callable[[int, int, int], Any]) -> list[Any]:
        """Those of each set, where the model has so many trees; ``scores(set, first, n)`` is what n of them add."""
        if trees > self._trees:
            added = [scores(at, self._trees, trees - self._trees) for at in range(len(self._sums))]
            self._sums = [before + more for before, more in zip(self._sums, added, strict=True)]
            self._trees = trees
        return [sums / self._share for sums in self._sums]


@dataclass(frozen=True)
class Job:
    """A training.

    Attributes
    ----------
    settings : of the trees.
    objective : what they are trained on.
    curvature : the average one of a document before the first tree, in LightGBM's units.
    train, valid : the data, and the validation sets by name.
    start : a booster whose trees come first, if any.
    watch : what sees the metrics after every tree.
    shown : what is told after every round, if anybody looks.
    data : what the booster's module has made of ``train`` and ``valid`` (``Trees.data``).
    share : by what the scores of these trees are multiplied, where they are one booster of several.
    later : there, whether they are not the first: the trees of ``start`` are other boosters', from which none goes on.
    fitted : how far labels, or gains, that the objective fits are apart; of no matter where it is a metric's.
    callbacks : the user's own, of the booster's kind; of a single booster.
    noted : whether it is what whoever replaces the booster's ``train``, as MLflow's autologging does, is to see.
    """

    settings: Settings
    objective: Objective
    curvature: float
    train: Rows
    valid: Sequence[tuple[str, Rows]]
    start: Any
    watch: Watch
    shown: Shown | None = None
    data: Any = None
    share: float = 1.0
    later: bool = False
    fitted: float = 1.0
    callbacks: Sequence[Any] = ()
    noted: bool = True

    @property
    def is_seen(self) -> bool:
        """Whether anything is to be done after a round."""
        return bool(self.valid or self.callbacks) or self.shown is not None

    def see(self, values: Iterable[tuple[str, str, float]], trees: int) -> bool:
        """After a round, of a booster of so many trees: record (data set, metric, value); whether to stop."""
        stops = self.watch.see(values, trees)
        if self.shown is not None:
            self.shown.round(self.watch)
        return stops

    def at_own_scores(
        self, call: Callable[[Any, Any], Any], before: Callable[[Any], Any] | None = None
    ) -> Callable[[Any, Any], Any]:
        """What a booster calls with scores, called with those of these trees: less those ``before``, of later ones."""
        if self.later:
            return Own(call, self.share, before)
        return call if self.share == 1.0 else Own(call, self.share)


class Trees(Protocol):
    """A booster's module."""

    NAME: str
    TAKEN: dict[str, str]  # the ranker's own parameter for a name of the booster's
    SETTLED: dict[str, str]  # why there is none
    LIMITS: str  # its parameters besides the ranker's that keep leaves from being split
    WANTS_NAMES: bool  # whether a booster whose features have names refuses some without
    CALLBACKS: str  # what its callbacks are

    def check(self, settings: Settings) -> None:
        """Raise if the booster is not installed or its further parameters clash with the ranker's."""
        ...

    def is_callback(self, callback: Any) -> bool:
        """Whether it is a callback of the booster."""
        ...

    def refuse_gradients(self, caller: str, objective: Objective, gradient: FloatArray) -> None:
        """Raise if an objective's first gradients are beyond what the booster can compute with."""
        ...

    def arguments(self, settings: Settings, objective: Objective, curvature: float) -> dict[str, Any]:
        """What the booster's own ``train`` is given besides data."""
        ...

    def load(self, source: Any) -> Any:
        """A booster from a booster or a file; None if the source is neither."""
        ...

    def data(self, settings: Settings, train: Rows, sets: Sequence[Rows], start: Any) -> Any:
        """The training data and the validation sets in the booster's own form, for all trainings of a fit.

        ``start`` is the booster that they go on from, if any.
        """
        ...

    def train(self, job: Job) -> Any:
        """Grow the trees."""
        ...

    def n_trees(self, booster: Any) -> int:
        """How many trees it has."""
        ...

    def n_features(self, booster: Any) -> int:
        """How many features it was trained on."""
        ...

    def feature_names(self, booster: Any) -> list[str] | None:
        """What they are called, None if they have no names."""
        ...

    def names_of(self, features: Features) -> list[str] | None:
        """What a booster would call the features, None if they have no names that it takes."""
        ...

    def first(self, booster: Any, n: int) -> Any:
        """A booster of the first n trees."""
        ...

    def name_categories(self, booster: Any, categories: Iterable[Sequence[Any]]) -> None:
        """Have it read frames by the names of their categories, those of each column that has some, if it can."""
        ...

    def use_threads(self, booster: Any, n_jobs: int | None) -> None:
        """Let it predict on so many threads from now on, if it is not told whenever it does."""
        ...

    def predict(self, booster: Any, features: Features, n_jobs: int | None) -> FloatArray:
        """Scores by all trees."""
        ...

    def staged(self, booster: Any, features: Features, every: int, n_jobs: int | None) -> Iterator[FloatArray]:
        """Scores after every so many trees, and after all."""
        ...

    def gains(self, booster: Any, ends: Sequence[int]) -> list[FloatArray]:
        """What splits on each feature have gained, in all or, given where each of several boosters ends, in each."""
        ...

    def n_splits(self, booster: Any) -> int:
        """How many splits all trees have."""
        ...


def usable_names(names: Sequence[str] | None, forbidden: str) -> list[str] | None:
    """Names of features as a booster keeps them, None if it refuses any: it then counts its columns.

    Blanks but for a space would break the lines of a model's text.
    """
    if names is None or "" in names or len(set(names)) < len(names):
        return None
    refused = {*forbidden, "\0"}  # which ends a text in C
    if any(refused & set(name) or any(map(str.isspace, name.replace(" ", ""))) for name in names):
        return None
    return list(names)


def refuse_other_features(job: Job, trees: Trees) -> None:
    """Raise if the booster to continue was trained on another number of features, or under other names."""
    if job.start is None:
        return
    had, has = trees.n_features(job.start), job.train.features.matrix.shape[1]
    if had != has:
        raise ValueError(f"{FIT}: init_model must have been trained on the {has} features of X; got one of {had}")
    knew, knows = trees.feature_names(job.start), trees.names_of(job.train.features)
    if knew and not knows and trees.WANTS_NAMES:
        raise ValueError(
            f"{FIT}: X must be a frame, as that of init_model was, whose features have names, {knew[0]!r} and so on; "
            "got none"
        )
    if knew and knows and knew != knows:
        at = next(at for at in range(has) if knew[at] != knows[at])
        raise ValueError(
            f"{FIT}: init_model must have been trained on the features of X, in their order; feature {at} was "
            f"{knew[at]!r}, and is {knows[at]!r}"
        )


def warn_of_no_split(job: Job, trees: Trees, booster: Any) -> None:
    """Warn if none of the new trees has a split, so that they rank nothing."""
    if trees.n_splits(booster) > (0 if job.start is None else trees.n_splits(job.start)):
        return
    documents = job.train.labels.size
    scores = "all scores are equal" if job.start is None else "init_model is as it was"
    warnings.warn(
        f"{FIT}: no tree has a split, so that {scores}: no feature splits {documents:,} documents into leaves that are "
        f"large enough; look at min_child_samples, which is {job.settings.min_child_samples}, and in booster_params at "
        f"{trees.LIMITS}",
        stacklevel=6,
    )


def warn_of_lost_boosters(job: Job, trees: Trees, splits: Sequence[int]) -> None:
    """Warn if some of several boosters have no split, given how many all have after each."""
    lost = sum(after == before for before, after in zip((0, *splits), splits, strict=False))
    if 0 < lost < len(splits):
        warnings.warn(
            f"{FIT}: {lost} of {len(splits)} boosters have no tree with a split and count for nothing; look at "
            f"min_child_samples, which is {job.settings.min_child_samples}, and in booster_params at {trees.LIMITS}",
            stacklevel=6,
        )


def shares_of(gains: Sequence[FloatArray]) -> FloatArray:
    """The mean over boosters of each feature's share of the gain: they add up to 1, or to 0 without a split.

    Sums would not do: what boosters gain is in the units of what each of them is trained on.

    >>> shares_of([np.array([1.0, 3.0]), np.array([200.0, 200.0])]).tolist()
    [0.375, 0.625]
    """
    totals = [float(its.sum()) for its in gains]
    shares = [its / total for its, total in zip(gains, totals, strict=True) if total > 0]
    mean: FloatArray = np.mean(shares, axis=0) if shares else np.zeros(gains[0].size)
    return mean
