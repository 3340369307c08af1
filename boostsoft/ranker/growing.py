"""Growing a ranker's trees: one booster, or several of which each is trained by itself."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..adapters.shared import as_booster
from ..arguments import FloatArray
from ..metric_lists import MetricList, logged_name
from ..metrics.spread import spread
from ..objectives import Objective
from ..progress import bar
from .members import Member, members, n_copies
from .regularization import first_curvature, leaf_l2
from .rows import Rows
from .settings import FIT, Settings, known
from .shown import Shown
from .training import Job, Trees, refuse_other_features, warn_of_lost_boosters, warn_of_no_split
from .watch import Watch

Curves = dict[str, dict[str, list[float]]]


@dataclass(frozen=True)
class Grown:
    """What a training leaves.

    Attributes
    ----------
    booster : the trees that are kept.
    kept : how many they are, those of the booster that was continued included.
    grown : how many were grown.
    reg_lambda : what was added to a leaf's curvature, in the first booster.
    curves : data set -> metric -> one value per tree grown.
    best_value : the first metric with the trees kept; None without a validation set, or where no tree was grown.
    ends : how many trees there are behind each booster; of several.
    """

    booster: Any
    kept: int
    grown: int
    reg_lambda: float
    curves: Curves
    best_value: float | None
    ends: tuple[int, ...] = ()


def grow(
    settings: Settings, trees: Trees, train: Rows, sets: Sequence[Rows], start: Any, callbacks: Sequence[Any] = ()
) -> Grown:
    """Grow what settings ask for on checked rows; a booster to continue, and callbacks, are so if there is but one."""
    n = known(settings.n_boosters)
    with bar(settings.progress, "training", n * settings.n_estimators, counts=True) as tell:
        shown = Shown(tell, settings.n_estimators, n) if settings.progress else None
        first, found, splits = _grow(settings, trees, train, sets, start, shown, callbacks)
    warn_of_no_split(first, trees, found.booster)
    warn_of_lost_boosters(first, trees, splits)
    if sets and (n > 1 or found.best_value is None):
        found = replace(found, best_value=_value(settings, trees, found.booster, sets[-1]))
    return found


def _grow(
    settings: Settings,
    trees: Trees,
    train: Rows,
    sets: Sequence[Rows],
    start: Any,
    shown: Shown | None,
    callbacks: Sequence[Any],
) -> tuple[Job, Grown, list[int]]:
    """The first training, what all have left, and how many splits there were after each."""
    if start is not None:  # or the draws of its first trees would be made again
        settings = settings.drawing_anew(trees.n_trees(start))
    first = _job(settings, trees, settings.objective, train, sets, start)
    refuse_other_features(first, trees)
    first = replace(first, data=trees.data(settings, train, sets, start), shown=shown, callbacks=callbacks)
    n = known(settings.n_boosters)
    share = 1.0 / n
    found = _train(trees, replace(first, share=share, settings=_at_rate(settings, share)))
    own = spread_of(train, trees.predict(found.booster, train.features, settings.n_jobs)) / share if n > 1 else 0.0
    kinds = members(n, train.groups.n_docs, known(settings.random_trees), settings.random_by_data)
    _warn_of_copies(settings, kinds)
    splits, ends = [trees.n_splits(found.booster)], [trees.n_trees(found.booster)]
    for at, member in enumerate(kinds[1:], start=1):
        found = _add(found, trees, first, member, at, share, own)
        splits.append(trees.n_splits(found.booster))
        ends.append(trees.n_trees(found.booster))
    return first, replace(found, ends=tuple(ends) if n > 1 else ()), splits


def _warn_of_copies(settings: Settings, kinds: Sequence[Member]) -> None:
    """Warn of boosters that take their time and change nothing; what further parameters may draw is not known."""
    if settings.subsample < 1.0 or settings.colsample < 1.0 or settings.more:
        return
    copies = n_copies(kinds, settings.num_leaves, known(settings.random_trees))
    if copies:
        warnings.warn(
            f"{FIT}: {copies} of {len(kinds)} boosters are copies of others, since nothing in them is drawn at random: "
            f"give n_boosters={len(kinds) - copies}, or subsample or colsample below 1",
            stacklevel=7,
        )


def _job(settings: Settings, trees: Trees, objective: Objective, train: Rows, sets: Sequence[Rows], start: Any) -> Job:
    valid = [(f"valid_{at}", rows) for at, rows in enumerate(sets)]
    watched = [logged_name(metric) for metric in settings.evaluated[: settings.n_watched]]
    before = 0 if start is None else trees.n_trees(start)
    watch = Watch(valid[-1][0] if valid else "", watched, settings.early_stopping_rounds, before)
    with as_booster(settings.n_jobs):
        curvature = first_curvature(objective, train, trees)
    return Job(settings, objective, curvature, train, valid, start, watch)


def _add(found: Grown, trees: Trees, first: Job, member: Member, at: int, share: float, own: float) -> Grown:
    """Another booster's trees behind those that are there; none, if they have no split.

    ``share`` is by what each booster's scores are multiplied in the mean, ``own`` the spread of the first one's.
    """
    settings = first.settings
    fitted = _spread_fitted(first, member)
    share *= member.unit(own, fitted)
    sets = [rows for _, rows in first.valid]
    its = replace(
        _at_rate(settings, share).drawing_anew(at),
        num_leaves=member.leaves(settings.num_leaves),
        random_trees=member.parts or (known(settings.random_trees) and not member.plain),
        sampled=member.parts or not member.on_metric,
    )
    job = _job(its, trees, member.objective(settings.objective), first.train, sets, found.booster)
    if first.shown is not None:
        first.shown.begin(at)
    shared = {"data": first.data, "shown": first.shown}
    more = _train(trees, replace(job, **shared, share=share, later=True, fitted=fitted, noted=False))
    both = replace(found, grown=found.grown + more.grown, curves=_joined(found.curves, more.curves))
    if trees.n_splits(more.booster) == trees.n_splits(found.booster):
        return both
    return replace(both, booster=more.booster, kept=more.kept)


def _joined(first: Curves, more: Curves) -> Curves:
    """Curves one after another; either may be empty, of trees that were none."""
    return {
        name: {
            metric: [*first.get(name, {}).get(metric, []), *more.get(name, {}).get(metric, [])]
            for metric in {**first.get(name, {}), **more.get(name, {})}
        }
        for name in {**first, **more}
    }


def _spread_fitted(first: Job, member: Member) -> float:
    """How far the gains of what a booster is trained on are apart."""
    rows = first.train
    queries = member.objective(first.settings.objective).prepare(rows.labels, rows.groups, caller=FIT)
    return spread_of(rows, queries.gains)


def _train(trees: Trees, job: Job) -> Grown:
    """One booster, its trees up to the best value where it is watched."""
    booster, watch = trees.train(job), job.watch
    there = trees.n_trees(booster)
    stops = job.settings.early_stopping_rounds is not None and watch.best_trees is not None
    chosen = watch.best_trees if stops else watch.chosen
    kept = there if chosen is None else min(chosen, there)
    grown = max(there, watch.trees)  # a callback may have cut some off
    return Grown(
        booster if kept == there else trees.first(booster, kept),
        kept,
        grown - (0 if job.start is None else trees.n_trees(job.start)),
        leaf_l2(job.settings, job.curvature),
        watch.curves,
        watch.value(kept),
    )


def _at_rate(settings: Settings, share: float) -> Settings:
    """The settings of trees whose scores are multiplied by ``share``."""
    return replace(settings, learning_rate=share * known(settings.learning_rate))


def spread_of(rows: Rows, values: FloatArray) -> float:
    """How far values of a query's documents are apart."""
    return spread(rows.groups, values, rows.query_weight)


def _value(settings: Settings, trees: Trees, booster: Any, rows: Rows) -> float:
    """The first metric, of all trees."""
    scores = trees.predict(booster, rows.features, settings.n_jobs)
    with as_booster(settings.n_jobs):
        [(_, value)] = MetricList(FIT, settings.evaluated[:1]).values(
            rows.labels, rows.groups, scores, rows.query_weight
        )
    return value
