"""The figures of the page: what is known of one metric of one track, as plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import FloatArray
from ..choices import WorstBy
from ..drawing import as_sentence, value_range
from ..json_text import as_plain
from ..query_groups import QueryGroups
from ..query_means import STILL, mean_error
from ..track_plots.bands import BANDS, band_of_means, best_step
from ..track_plots.changes import change_range, step_kinds
from ..track_plots.curves import twin_of
from ..tracks.effects import TreeEffects, effects_of, resampled_steps
from ..tracks.tree_track import TreeTrack, WorstQuery
from ..tracks.words import amount

N_WORST = 10


@dataclass(frozen=True)
class MetricFigures:
    """One metric of one track.

    Attributes
    ----------
    track, metric : the track, and the metric's position in it.
    effects : what each tree did; None if the metric has none, and ``trouble`` says why.
    value, value_error : the mean at the last step and its standard error over queries.
    best : the step with the highest mean, as a position.
    worst, fallen : the queries of the least value, and of the largest losses at the last step.
    alike : how many queries are left out of both, since no order changes their value.
    resampled : the mean at each step over resampled queries, (n_boot, n_steps).
    """

    track: TreeTrack
    metric: int
    effects: TreeEffects | None
    trouble: str
    value: float
    value_error: float
    best: int
    worst: Sequence[WorstQuery]
    fallen: Sequence[WorstQuery]
    alike: int
    resampled: FloatArray

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.track.names[self.metric]

    @property
    def alike_words(self) -> str:
        """How many queries no order changes, in words."""
        return f"{amount(self.alike, 'query')} with documents of one label only"

    @property
    def advice(self) -> str:
        """How many trees to keep, as a sentence."""
        if self.effects is None:
            return f"No advice: {self.trouble}"
        return f"{as_sentence(self.effects.advice)}."

    @property
    def value_at_best(self) -> float:
        """The mean with the best number of trees, which may be that of the beginning."""
        if self.effects is not None and self.effects.best == self.track.start:
            return float(self.track.beginning_mean[self.metric])
        return float(self.track.mean[self.best, self.metric])

    def effect_cells(self, nothing: str) -> list[str]:
        """Best number of trees, trees to keep and steps that hurt, for a table; ``nothing`` stands where none is."""
        effects = self.effects
        if effects is None:
            return [nothing] * 3
        return [effects.best_in_words, f"{effects.keep:,}", f"{effects.hurting.size:,} of {effects.steps.size:,}"]

    @property
    def twin(self) -> int | None:
        """The position of the hard metric that this one softens, if it was tracked too."""
        return twin_of(self.track, self.metric)

    def plotted(self, level: float) -> dict[str, Any]:
        """What the page's script draws: numbers that are none become null."""
        track, at = self.track, self.metric
        mean = track.mean[:, at]
        hard = [] if self.twin is None else [track.mean[:, self.twin]]
        bands = {kind: band_of_means(track, at, kind, level, self.resampled) for kind in BANDS}
        found: dict[str, Any] = {
            "name": self.name,
            "mean": as_plain(mean),
            "hard": as_plain(hard[0]) if hard else None,
            "hardName": None if self.twin is None else track.names[self.twin],
            "best": self.best,
            "ranges": {kind: list(value_range([mean, *hard, *bands.get(kind, ())])) for kind in (*BANDS, "none")},
            "bands": {kind: [as_plain(end) for end in ends] for kind, ends in bands.items()},
            "effects": None,
        }
        if self.effects is not None:
            columns = {name: as_plain(getattr(self.effects, name)) for name in ("change", "error", "low", "high")}
            kinds = step_kinds(self.effects).tolist()
            found["effects"] = {**columns, "kinds": kinds, "range": list(change_range(self.effects))}
        return found


def metric_figures(track: TreeTrack, metric: int, level: float) -> MetricFigures:
    """Work out what the page says of a metric."""
    effects, trouble, resampled = None, "", resampled_steps(track, metric)
    try:
        effects = effects_of("tree_effects", track, metric, level, resampled=resampled)
    except ValueError as error:  # no query counts, or one is infinite
        trouble = str(error)
    alike = labels_alike(track)
    return MetricFigures(
        track=track,
        metric=metric,
        effects=effects,
        trouble=trouble,
        value=float(track.mean[-1, metric]),
        value_error=mean_error(track.per_query[-1, metric], track.counted(metric)),
        best=best_step(track, metric),
        worst=_worst(track, metric, "value", alike),
        fallen=[query for query in _worst(track, metric, "change", alike) if query.change < -STILL],
        alike=int(alike.sum()),
        resampled=resampled[:, 1:],
    )


def labels_alike(track: TreeTrack) -> NDArray[np.bool_]:
    """Which queries have documents of one label only, so that no order changes their value; none if unknown."""
    groups: QueryGroups | None = track.groups
    if groups is None or track.y_true is None:
        return np.zeros(track.n_queries, dtype=np.bool_)
    return ~groups.differ(track.y_true)


def _worst(track: TreeTrack, metric: int, by: WorstBy, alike: NDArray[np.bool_]) -> list[WorstQuery]:
    found = track.worst_queries(metric=metric, n=N_WORST + int(alike.sum()), by=by)
    return [query for query in found if not alike[query.query]][:N_WORST]
