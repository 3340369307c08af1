"""What the command says: the tables that it shows, and the weights as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from ... import __version__
from ...drawing import metric_title
from ...json_text import json_text
from ...metrics import Metric
from ...statistics import PairedInterval, counted_mean
from ...tracks.words import amount
from ..terminal import ResultTable
from .scores import Scores
from .work import BEST, RIVAL, Blend

_GAIN = " And its gain is the label, where here it is 2^label - 1 (--gain linear is as there)."


def report(blend: Blend, scores: Scores, settings: Mapping[str, Any], folds: int) -> RenderableType:
    """The weights, and how the blend does where it was not trained."""
    metric: Metric = settings["metric"]
    title, plain = _title(metric), metric_title(metric.spec)
    are = "is" if blend.unlabelled == 1 else "are"
    fused = f"; {blend.unlabelled} without labels {are} fused only" if blend.unlabelled else ""
    lines = [f"{blend.queries:,} queries with labels, {blend.documents:,} documents{fused}."]
    if scores.unanswered:
        lines.append(f"Left out: {amount(scores.unanswered, 'judged topic')} of which no run has a document.")
    for name, weight in blend.blender.mix_.items():
        lines.append(f"Queries are few: {weight:.2f} x {metric_title(name)} is maximised beside {plain}.")
    lines += [f"Note: {note}" for note in blend.notes]
    weighted = f"scores normalised by {settings['normalize']}"
    if settings["method"] == "rrf":
        weighted = "reciprocal ranks"
    if np.isnan(scores.S).any():
        lines.append(
            f"{title} alone: documents that a model does not have are ranked by chance below its own, where trec_eval "
            "leaves them out; so a topic that it has not answered earns something too."
            + (_GAIN if metric.options.get("gain") == "exp2" and (scores.y > 1).any() else "")
        )
    parts: list[RenderableType] = [
        Text(f"Weights for {title}, of {weighted}", style="italic"),
        _weights_table(blend, scores, title),
        *(Text(line) for line in lines),
        Text(f"{title} of the blend on the queries that it was trained on: {blend.trained:.4f}.\n"),
    ]
    if blend.held_out:
        parts += [
            Text(f"{title} on held-out queries, {min(folds, blend.queries)} folds", style="italic"),
            _held_out_table(blend),
            Text(_verdict(blend.leads), style="bold"),
        ]
    return Group(*parts)


def _title(metric: Metric) -> str:
    """The metric in prose, with its gain and its least relevant label where they are not the default."""
    gain, least = metric.options.get("gain", "exp2"), metric.options.get("relevant_from", 1)
    title = metric_title(metric.spec) + ("" if gain == "exp2" else f" with {gain} gain")
    return title + ("" if least == 1 else f" from label {least:g}")


def _weights_table(blend: Blend, scores: Scores, title: str) -> ResultTable:
    table = ResultTable(["model"], ["weight", "95 % interval", f"{title} alone"])
    weights = blend.blender.weights_
    for at in np.argsort(-np.abs(weights), kind="stable").tolist():
        low, high = _interval(blend, at)
        table.add_row(
            scores.models[at],
            f"{weights[at]:.4f}",
            "-" if math.isnan(low) else f"{low:.4f} to {high:.4f}",
            f"{blend.alone[at]:.4f}",
        )
    return table


def _held_out_table(blend: Blend) -> ResultTable:
    table = ResultTable(["scores of"], ["mean", "blend less it", "95 % interval"])
    for name, values in blend.held_out.items():
        cells = [f"{counted_mean(values):.4f}"]
        if name in blend.leads:
            found = blend.leads[name]
            cells += [f"{found.mean:+.4f}", f"{found.low:+.4f} to {found.high:+.4f}"]
        table.add_row(name, *cells)
    return table


def _verdict(leads: Mapping[str, PairedInterval]) -> str:
    """Whether blending was worth it: by its least lead over what needs no blend or no training.

    The one that was best in training is no measure alone: what is lucky on all queries but those held out is unlucky on
    these, so that it can stay behind all three that it is chosen among.
    """
    name, found = min(leads.items(), key=lambda item: (item[1].sign >= 0, item[1].low))
    rival = f"the {name}" if name in (BEST, RIVAL) else name
    if found.sign:
        place, side = ("higher", "above") if found.sign > 0 else ("lower", "below")
        among = "all of these" if found.sign > 0 else rival
        if found.too_few:
            return f"The blend is {place} than {among} {found.too_few}."
        return f"The blend is {place} than {among}: {'every' if found.sign > 0 else 'the whole'} interval is {side} 0."
    lead = f"between {found.low:+.4f} and {found.high:+.4f}"
    return f"The blend is not told from {rival} by {found.n} queries: its lead is {lead}."


def _interval(blend: Blend, model: int) -> tuple[float, float]:
    intervals = getattr(blend.blender, "weights_interval_", None)
    return (math.nan, math.nan) if intervals is None else (float(intervals[model][0]), float(intervals[model][1]))


def as_json(blend: Blend, scores: Scores, settings: Mapping[str, Any], seed: int) -> bytes:
    """The weights with all that is needed to use them, and what they are worth."""
    models = []
    for at, name in enumerate(scores.models):
        low, high = _interval(blend, at)
        entry = {"name": name, "weight": float(blend.blender.weights_[at]), "low": low, "high": high}
        models.append(entry | {"alone": float(blend.alone[at])})
    held_out: dict[str, Any] = {}
    for name, values in blend.held_out.items():
        held_out[name] = {"mean": counted_mean(values)}
        if name in blend.leads:
            held_out[name] |= _difference(blend.leads[name])
    document = {
        "boostsoft": __version__,
        "settings": {**settings, **_in_json(settings["metric"]), "random_state": seed},
        "sigma": blend.blender.sigma_,
        "mix": blend.blender.mix_,
        "models": models,
        "training": {"queries": blend.queries, "documents": blend.documents, "value": blend.trained},
        "held_out": held_out,
        "notes": list(blend.notes),
    }
    return json_text(document).encode()


def _in_json(metric: Metric) -> dict[str, Any]:
    chosen = {name: value for name, value in metric.options.items() if name in ("gain", "relevant_from")}
    return {"metric": metric.spec, **chosen}


def _difference(found: PairedInterval) -> dict[str, float]:
    return {"blend_less_it": found.mean, "low": found.low, "high": found.high}
