"""Growing a ranker's trees: one booster, or several of which each is trained by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from ..adapters import MetricList, as_booster, logged_name
from ..arguments import FloatArray
from ..metrics.spread import spread
from ..objectives import Objective
from ..progress import bar
from .members import Member, members
from .regularization import first_curvature, leaf_l2
from .rows import Rows
from .settings import FIT, Settings
from .shown import Shown
from .training import Job, Trees, refuse_other_features, warn_of_lost_boosters, warn_of_no_split
from .watch import Watch


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
    """

    booster: Any
    kept: int
    grown: int
    reg_lambda: float
    curves: dict[str, dict[str, list[float]]]
    best_value: float | None


def grow(settings: Settings, trees: Trees, train: Rows, sets: Sequence[Rows], start: Any) -> Grown:
    """Grow what settings ask for on checked rows; a booster to continue is so if there is but one."""
    n = settings.n_boosters or 1
    with bar(settings.progress, "training", n * settings.n_estimators, counts=True) as tell:
        shown = Shown(tell, settings.n_estimators, n) if settings.progress else None
        first, found, splits = _grow(settings, trees, train, sets, start, shown)
    warn_of_no_split(first, trees, found.booster)
    warn_of_lost_boosters(first, trees, splits)
    if sets and (n > 1 or found.best_value is None):
        found = replace(found, best_value=_value(settings, trees, found.booster, sets[-1]))
    return found


def _grow(
    settings: Settings, trees: Trees, train: Rows, sets: Sequence[Rows], start: Any, shown: Shown | None
) -> tuple[Job, Grown, list[int]]:
    """The first training, what all have left, and how many splits there were after each."""
    if start is not None:  # or the draws of its first trees would be made again
        settings = replace(settings, seed=(settings.seed + trees.n_trees(start)) % 2**31)
    first = _job(settings, trees, settings.objective, train, sets, start)
    refuse_other_features(first, trees)
    first = replace(first, data=trees.data(settings, train, sets), shown=shown)
    n = settings.n_boosters or 1
    share = 1.0 / n
    found = _train(trees, replace(first, share=share, settings=_at_rate(settings, share)))
    own = spread_of(train, trees.predict(found.booster, train.features, settings.n_jobs)) / share if n > 1 else 0.0
    kinds = members(n, train.groups.n_docs, bool(settings.random_trees))
    splits = [trees.n_splits(found.booster)]
    for at, member in enumerate(kinds[1:], start=1):
        found = _add(found, trees, first, member, at, share * member.unit(own, _spread_fitted(first, member)))
        splits.append(trees.n_splits(found.booster))
    return first, found, splits


def _job(settings: Settings, trees: Trees, objective: Objective, train: Rows, sets: Sequence[Rows], start: Any) -> Job:
    valid = [(f"valid_{at}", rows) for at, rows in enumerate(sets)]
    watched = [logged_name(metric) for metric in settings.evaluated[: settings.n_watched]]
    before = 0 if start is None else trees.n_trees(start)
    watch = Watch(valid[-1][0] if valid else "", watched, settings.early_stopping_rounds, before)
    with as_booster(settings.n_jobs):
        curvature = first_curvature(objective, train)
    return Job(settings, objective, curvature, train, valid, start, watch)


def _add(found: Grown, trees: Trees, first: Job, member: Member, at: int, share: float) -> Grown:
    """Another booster's trees behind those that are there; none, if they have no split."""
    settings = first.settings
    sets = [rows for _, rows in first.valid]
    its = replace(
        _at_rate(settings, share),
        num_leaves=member.leaves(settings.num_leaves),
        random_trees=bool(settings.random_trees) and not member.plain,
        seed=(settings.seed + at) % 2**31,
    )
    job = _job(its, trees, member.objective(settings.objective), first.train, sets, found.booster)
    if first.shown is not None:
        first.shown.begin(at)
    more = _train(trees, replace(job, data=first.data, shown=first.shown, share=share, later=True))
    curves = {
        name: {metric: [*values, *more.curves.get(name, {}).get(metric, [])] for metric, values in by_metric.items()}
        for name, by_metric in found.curves.items()
    }
    both = replace(found, grown=found.grown + more.grown, curves=curves)
    if trees.n_splits(more.booster) == trees.n_splits(found.booster):
        return both
    return replace(both, booster=more.booster, kept=more.kept)


def _spread_fitted(first: Job, member: Member) -> float:
    """How far the gains of what a booster is trained on are apart."""
    rows = first.train
    queries = member.objective(first.settings.objective).prepare(rows.labels, rows.groups, caller=FIT)
    return spread_of(rows, queries.gains)


def _train(trees: Trees, job: Job) -> Grown:
    """One booster, its trees up to the best value where it is watched."""
    booster, watch = trees.train(job), job.watch
    grown = trees.n_trees(booster)
    stops = job.settings.early_stopping_rounds is not None and watch.best_trees is not None
    kept = min(watch.best_trees or 0, grown) if stops else grown
    return Grown(
        booster if kept == grown else trees.first(booster, kept),
        kept,
        grown - (0 if job.start is None else trees.n_trees(job.start)),
        leaf_l2(job.settings, job.curvature),
        watch.curves,
        (watch.best_value if stops else watch.last) if watch.curves else None,
    )


def _at_rate(settings: Settings, share: float) -> Settings:
    """The settings of trees whose scores are multiplied by ``share``."""
    return replace(settings, learning_rate=share * cast(float, settings.learning_rate))  # the data is known


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
